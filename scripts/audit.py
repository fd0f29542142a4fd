"""Is what is installed what was pinned, unaltered, and without known vulnerabilities? ``make audit`` runs it.

Looks at: versions against constraints.txt; every installed file against the hash its package gives; the converted
target and the draft against their hashes; every pinned version against the advisories of osv.dev (the only question
that needs the network, and the only thing that leaves: names and versions of packages). Exit status 1 when anything
is wrong or could not be looked at; ``--offline`` leaves the advisories out.

Does not know: how to repair. ``make clean`` and ``make app`` install anew.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import urllib.error
import urllib.request
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADVISORIES = "https://api.osv.dev/v1/querybatch"
TIMEOUT_SECONDS = 30
CHUNK = 1 << 20
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)")
# What every virtual environment begins with.
TOOLS = {"pip", "setuptools", "wheel"}


def pins() -> dict[str, str]:
    """Name to version of everything in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {plain_name(found[1]): found[2] for line in lines if (found := PIN.match(line))}


def plain_name(name: str) -> str:
    """A package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wrong_versions(pinned: dict[str, str]) -> list[str]:
    """Installed packages whose version is not the pinned one, or that nothing pins."""
    found = []
    for distribution in metadata.distributions():
        name, version = plain_name(distribution.name), distribution.version
        if name in TOOLS:
            continue
        if name not in pinned:
            found.append(f"{name} {version} is installed but not pinned")
        elif version.split("+")[0] != pinned[name]:
            found.append(f"{name} {version} is installed, pinned is {pinned[name]}")
    return sorted(found)


def altered_files() -> list[str]:
    """Installed files that are missing or differ from the hash in their package's list."""
    found = []
    for distribution in metadata.distributions():
        for file in distribution.files or []:
            if file.hash is None:
                continue
            path = Path(str(file.locate()))
            if not path.is_file():
                found.append(f"{distribution.name}: {file} is missing")
            elif _record_hash(path, file.hash.mode) != file.hash.value:
                found.append(f"{distribution.name}: {file} was altered")
    return found


def _record_hash(path: Path, mode: str) -> str:
    digest = hashlib.new(mode)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def altered_weights() -> list[str]:
    """The model's files against their hashes. A target that was never fetched is nothing to complain of."""
    sys.path.insert(0, str(ROOT))
    from specdec_core.models import embedded

    problem = embedded.target_problem(verify=True) if embedded.target_dir().exists() else None
    found = [problem] if problem else []
    for sums in sorted((ROOT / "assets").rglob("SHA256SUMS")):
        for line in sums.read_text(encoding="utf-8").splitlines():
            wanted, name = line.split(maxsplit=1)
            path = sums.parent / name.lstrip("*")
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
                found.append(f"{path.relative_to(ROOT)} is missing or was altered")
    return found


def advisories(pinned: dict[str, str], address: str = ADVISORIES) -> list[str]:
    """Known vulnerabilities of the pinned versions, by identifier. Raises OSError or ValueError without an answer."""
    names = sorted(pinned)
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": pinned[name]} for name in names]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        results = json.load(answer)["results"]
    if len(results) != len(names):
        raise ValueError("the answer does not fit the question")
    return [
        f"{name} {pinned[name]}: https://osv.dev/vulnerability/{one['id']}"
        for name, result in zip(names, results, strict=True)
        for one in result.get("vulns", [])
    ]


def report(title: str, found: list[str]) -> bool:
    """Print one finding a line; whether there was any."""
    print(f"{title}: {'nothing' if not found else len(found)}", flush=True)
    for line in found:
        print(f"  {line}")
    return bool(found)


def main(arguments: list[str] | None = None) -> int:
    """Look at everything; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares what is installed with what is pinned.")
    parser.add_argument("--offline", action="store_true", help="do not ask for known vulnerabilities")
    options = parser.parse_args(arguments)
    pinned = pins()
    bad = report("Versions that are not the pinned ones", wrong_versions(pinned))
    bad |= report("Installed files that were altered", altered_files())
    bad |= report("Model files that were altered", altered_weights())
    if options.offline:
        print("Known vulnerabilities: not asked")
        return int(bad)
    try:
        bad |= report("Known vulnerabilities in pinned versions", advisories(pinned))
    except (OSError, ValueError, KeyError) as error:
        print(f"Known vulnerabilities could not be asked for ({error}): try again with a network, or --offline.")
        bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
