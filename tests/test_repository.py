"""The repository is what it says: commands of the README exist, versions are pinned, nothing odd was committed."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
MAX_FILE_BYTES = 40_000_000
# Somebody's home or a folder of one machine. Its own letters do not match it.
MACHINE_PATH = re.compile(rb"(?<![\w.])/(root|work|home/\w+|Users/\w+|opt/\w+)/\w")
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# What the code may import though no requirement names it: packages that come with one that is named.
COMES_WITH = {"pytest": {"packaging"}}


def tracked_files() -> list[Path]:
    """Every file under version control; skips where there is no git, as in an unpacked archive."""
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def script(name: str) -> ModuleType:
    """A file of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(f"project_{name}", ROOT / "scripts" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- requirements ----------------------------------------------------------------------------------------------------


def requirements(name: str) -> list[Requirement]:
    """The requirements a file lists, without options and those of other files."""
    lines = (line.split(" #")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def pins(name: str) -> dict[str, str]:
    """Name to version of a file's requirements; fails where one is not pinned to exactly one version."""
    found: dict[str, str] = {}
    for requirement in requirements(name):
        versions = [(one.operator, one.version) for one in requirement.specifier]
        assert len(versions) == 1 and versions[0][0] == "==" and "*" not in versions[0][1], str(requirement)
        found[canonicalize_name(requirement.name)] = versions[0][1]
    return found


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "constraints.txt"])
def test_every_requirement_is_pinned(name: str) -> None:
    assert pins(name)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_constraints_agree_with_the_requirements(name: str) -> None:
    constraints = pins("constraints.txt")
    assert {key: constraints.get(key) for key in pins(name)} == pins(name)


def test_torch_is_pinned_without_a_build() -> None:
    """``2.13.0+cpu`` would keep a machine with a GPU from getting a build for it."""
    assert not any("+" in version for version in pins("constraints.txt").values())
    assert "+" not in pins("requirements.txt")["torch"]


def closure(names: set[str]) -> dict[str, str]:
    """The installed versions of these packages and of all that they need here, extras included."""
    found: dict[str, str] = {}
    waiting = [(name, frozenset[str]()) for name in names]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        distribution = metadata.distribution(name)
        found[canonicalize_name(name)] = distribution.version
        for text in distribution.requires or []:
            needed = Requirement(text)
            active = [{"extra": extra} for extra in extras | {""}]
            if needed.marker and not any(needed.marker.evaluate(one) for one in active):
                continue
            further = (canonicalize_name(needed.name), frozenset(needed.extras))
            if further not in seen:
                seen.add(further)
                waiting.append(further)
    return found


def test_the_whole_closure_is_pinned_and_installed_as_pinned() -> None:
    constraints = pins("constraints.txt")
    direct = set(pins("requirements-dev.txt")) | set(pins("requirements.txt")) | {"psycopg-binary"}
    for name, version in closure(direct).items():
        assert name in constraints, f"{name} {version} is installed but not pinned in constraints.txt"
        assert version.split("+")[0] == constraints[name], name


def _imported_packages(paths: list[Path]) -> set[str]:
    names: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize(
    ("folders", "files"),
    [
        (["specdec_core", "pages"], ["requirements.txt"]),
        (["tests", "benchmarks", "training", "scripts"], ["requirements.txt", "requirements-dev.txt"]),
    ],
)
def test_what_is_imported_is_required(folders: list[str], files: list[str]) -> None:
    """Not by luck, because another package happens to bring it along."""
    own = {path.stem for path in ROOT.glob("*/*.py")} | {path.name for path in ROOT.iterdir() if path.is_dir()}
    required = {name for file in files for name in pins(file)}
    required |= {extra for name in required for extra in COMES_WITH.get(name, set())}
    by_import = metadata.packages_distributions()
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for name in sorted(_imported_packages(paths) - set(sys.stdlib_module_names) - own):
        distributions = {canonicalize_name(one) for one in by_import.get(name, [name])}
        assert distributions & required, f"{name} is imported in {folders} but is in none of {files}"


# --- the README ------------------------------------------------------------------------------------------------------


def commands() -> list[tuple[str, str]]:
    """(document, command line) for every line that looks like a command inside a fenced block of the documents."""
    found = []
    for path in DOCS:
        text = path.read_text(encoding="utf-8")
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if language not in ("", "sh", "bash"):
                continue
            lines = [line.split(" #")[0].strip() for line in block.replace("\\\n", " ").splitlines()]
            found += [(path.name, line) for line in lines if line]
    return found


def _words_after(line: str, start: str) -> list[str]:
    return line[line.index(start) + len(start) :].split()


def test_the_two_commands_are_in_the_readme() -> None:
    lines = [line for document, line in commands() if document == "README.md"]
    for line in ("make app", "make test", "python3 scripts/setup.py app", "python3 scripts/setup.py test"):
        assert line in lines


def test_make_commands_exist() -> None:
    known = set(script("setup").COMMANDS)
    targets = set(re.findall(r"^([a-z ]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))
    targets = {word for group in targets for word in group.split()}
    assert known <= targets
    for document, line in commands():
        if line.startswith("make "):
            assert line.split()[1] in targets, f"{document}: {line}"
        if "scripts/setup.py " in line:
            assert _words_after(line, "scripts/setup.py ")[0] in known, f"{document}: {line}"


def test_scripts_and_modules_of_the_documents_exist() -> None:
    for document, line in commands():
        for name in re.findall(r"\b((?:scripts|training|benchmarks|tests)/\w+\.py)\b", line):
            assert (ROOT / name).exists(), f"{document}: {line}"
        for name in re.findall(r"-m ((?:specdec_core|training|benchmarks)[\w.]*)", line):
            path = ROOT / name.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), f"{document}: {line}"


def test_command_lines_of_the_documents_are_understood() -> None:
    """Every sub-command of ``python -m specdec_core`` that a document names answers ``--help`` with its options."""
    seen: dict[str, str] = {}
    for document, line in commands():
        if "-m specdec_core " not in line:
            continue
        words = _words_after(line, "-m specdec_core ")
        if words[0] not in seen:
            done = subprocess.run(
                [sys.executable, "-m", "specdec_core", words[0], "--help"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, f"{document}: {line}\n{done.stderr}"
            seen[words[0]] = done.stdout
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            assert option in seen[words[0]], f"{document}: {line} - {option} is not an option of {words[0]}"


def test_ci_runs_the_readmes_test_command() -> None:
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)


# --- files -----------------------------------------------------------------------------------------------------------


def test_no_file_is_too_big() -> None:
    big = {path.name: size for path in tracked_files() if (size := path.stat().st_size) > MAX_FILE_BYTES}
    assert not big


def test_no_file_names_a_folder_of_one_machine() -> None:
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        for match in MACHINE_PATH.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {match.group().decode()}...")
    assert not found, "\n".join(found)


def test_licence_and_notice_are_there() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    notice = (ROOT / "NOTICE").read_text()
    for word in ("SmolLM2-135M-Instruct", "Apache", "assets/draft", "assets/recorded"):
        assert word in notice


# --- the setup script ------------------------------------------------------------------------------------------------


def test_setup_notices_changed_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = script("setup")
    for name in ("requirements.txt", "requirements-dev.txt", "constraints.txt"):
        (tmp_path / name).write_text("a==1\n")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    app, dev = setup.fingerprint(setup.APP), setup.fingerprint(setup.DEV)
    (tmp_path / "requirements-dev.txt").write_text("a==2\n")
    assert setup.fingerprint(setup.APP) == app
    assert setup.fingerprint(setup.DEV) != dev
    (tmp_path / "constraints.txt").write_text("a==2\n")
    assert setup.fingerprint(setup.APP) != app


def _fake_environment(setup: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the script at a made-up environment; returns its folder of packages."""
    packages = folder / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "python").write_text("")
    monkeypatch.setattr(setup, "VENV", folder)
    monkeypatch.setattr(setup, "VENV_PYTHON", folder / "python")
    monkeypatch.setattr(setup, "UNFINISHED", folder / "unfinished")
    return packages


def test_setup_tells_a_stopped_download_from_a_stopped_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = script("setup")
    packages = _fake_environment(setup, tmp_path / "venv", monkeypatch)
    assert setup.is_whole()
    setup.UNFINISHED.write_text(setup.packages_changed())
    assert setup.is_whole()
    (packages / "half").mkdir()
    assert not setup.is_whole()
    setup.UNFINISHED.write_text("being made")
    assert not setup.is_whole()


def test_setup_does_not_trust_its_stamp_over_an_unfinished_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = script("setup")
    packages = _fake_environment(setup, tmp_path / "venv", monkeypatch)
    assert not setup.is_current(setup.APP)
    setup.stamp(setup.DEV).write_text(setup.fingerprint(setup.DEV))
    assert setup.is_current(setup.APP) and setup.is_current(setup.DEV)
    setup.UNFINISHED.write_text(setup.packages_changed())
    (packages / "half").mkdir()
    assert not setup.is_current(setup.APP)


def test_setup_passes_on_what_it_does_not_know() -> None:
    options = script("setup").parse(["test", "--no-models", "-k", "theory", "--", "-x"])
    assert options.no_models and options.rest == ["-k", "theory", "-x"]


# --- the audit -------------------------------------------------------------------------------------------------------


class _Advisories(BaseHTTPRequestHandler):
    """Answers as osv.dev does: the first package of the question has a known vulnerability."""

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        results = [{"vulns": [{"id": "TEST-1"}]}] + [{}] * (len(queries) - 1)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": results}).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_audit_reports_what_the_advisories_say() -> None:
    server = HTTPServer(("127.0.0.1", 0), _Advisories)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        found = script("audit").advisories({"b": "2", "a": "1"}, f"http://127.0.0.1:{server.server_port}/")
    finally:
        server.shutdown()
        server.server_close()
    assert found == ["a 1: https://osv.dev/vulnerability/TEST-1"]


def test_audit_tells_versions_that_are_not_the_pinned_ones() -> None:
    pinned = dict(pins("constraints.txt")) | {"numpy": "0.0.1"}
    del pinned["pytest"]
    assert [line.split()[0] for line in script("audit").wrong_versions(pinned)] == ["numpy", "pytest"]


# --- weights ---------------------------------------------------------------------------------------------------------


def test_every_weight_file_is_the_one_that_was_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its hash beside it, which `make audit` compares; a changed byte is noticed."""
    audit = script("audit")
    weights = [path for path in tracked_files() if path.suffix in (".safetensors", ".bin", ".pt", ".gguf")]
    assert weights
    for path in weights:
        assert path.name in (path.parent / "SHA256SUMS").read_text()
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "no target here"))
    assert audit.altered_weights() == []
    folder = tmp_path / "assets" / "draft"
    folder.mkdir(parents=True)
    (folder / "SHA256SUMS").write_bytes((ROOT / "assets/draft/SHA256SUMS").read_bytes())
    (folder / "draft.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    assert [line for line in audit.altered_weights() if "draft.safetensors" in line]
