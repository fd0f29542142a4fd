"""Sets the project up and runs it: ``python scripts/setup.py app`` or ``test``; ``--help`` lists the rest.

Makes a virtual environment in ``.venv``, installs the pinned requirements when they changed, fetches the embedded
model, and starts what was asked for. Whatever is interrupted half-way can be started again.

Does not know: the app. Uses the standard library only, and only syntax that an old Python can read, so that an old
Python can say that it is too old.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Iterator, List, Optional

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "build" / "setup.lock"
DISCARDED = ROOT / "build" / "discarded"
# Stands in the environment while it is being changed, and says how it was before: see is_whole.
UNFINISHED = VENV / ".specdec-unfinished"
OLDEST, NEWEST = (3, 11), (3, 14)
APP, DEV = "requirements.txt", "requirements-dev.txt"
FILES = {APP: [APP, "constraints.txt"], DEV: [APP, "constraints.txt", DEV]}
HEARTBEAT_SECONDS = 20
# Tests run side by side, one process a core (one more was tried and brought nothing); four are enough, because each
# holds the models. One that is done takes over from the others: the tests with a browser come last and take longest.
WORKERS = ["--numprocesses={}".format(min(4, os.cpu_count() or 1)), "--dist=worksteal"]
CACHES = [".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "build", "screenshots"]


class Stop(Exception):
    """Ends the command with one plain sentence and exit status 1."""


def say(text: str) -> None:
    """One line of progress. Flushed, so that it stands before what a child process prints."""
    print("==> " + text, flush=True)


# --- the environment -------------------------------------------------------------------------------------------------


def check_python() -> None:
    """Stop when this Python cannot run the project."""
    found = "{}.{}".format(*sys.version_info[:2])
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    raise Stop(
        "Python 3.11 to 3.14 is needed, and this is Python {}: install one of them and name it, as in "
        "`make app PYTHON=python3.12` or `python3.12 scripts/setup.py app`.".format(found)
    )


def stamp(requirements: str) -> Path:
    """The file that holds the fingerprint of what was installed last."""
    return VENV / ".specdec-{}.sha256".format(Path(requirements).stem)


def fingerprint(requirements: str) -> str:
    """Changes with every file the requirements are read from, with the Python and with the place."""
    digest = hashlib.sha256("{} {}".format(sys.version_info[:2], VENV).encode())
    for name in FILES[requirements]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_current(requirements: str) -> bool:
    """Whether exactly these requirements were installed, to the end. The tests' requirements contain the app's."""
    if not is_whole():
        return False
    return any(stamp(name).is_file() and stamp(name).read_text() == fingerprint(name) for name in (requirements, DEV))


def ensure_environment(requirements: str) -> None:
    """Make ``.venv`` hold the requirements. Costs nothing when it does already."""
    with lock() as held:
        if is_current(requirements):
            return
        if not is_usable():
            make_venv()
        UNFINISHED.write_text(packages_changed())
        install(requirements, held)
        UNFINISHED.unlink()
        # Last, and in one step: an interruption before this line means "not installed".
        draft = stamp(requirements).with_suffix(".tmp")
        draft.write_text(fingerprint(requirements))
        os.replace(str(draft), str(stamp(requirements)))


def is_whole() -> bool:
    """Whether nothing stopped half-way in changing the environment. A pip that was stopped while it still downloaded
    has changed nothing, so that one who loses the network keeps what worked.
    """
    if not VENV_PYTHON.exists():
        return False
    return not UNFINISHED.exists() or UNFINISHED.read_text() == packages_changed()


def packages_changed() -> str:
    """When a package was last added to the environment or removed from it."""
    folders = list(VENV.glob("lib/python*/site-packages")) + list(VENV.glob("Lib/site-packages"))
    return " ".join(str(folder.stat().st_mtime_ns) for folder in folders)


def is_usable() -> bool:
    """Whether packages can be added to the environment: whole, and its Python still there and of our version."""
    if not is_whole():
        return False
    code = "import sys, pip; print(*sys.version_info[:2])"
    done = subprocess.run([str(VENV_PYTHON), "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().split() == [str(number) for number in sys.version_info[:2]]


def make_venv() -> None:
    """A new environment. What an interrupted pip left is thrown away, not repaired: half a package can look whole."""
    if VENV.exists():
        if Path(sys.prefix).resolve() == VENV.resolve():
            raise Stop("The environment must be made anew: run this with the system's Python, not the one in .venv.")
        say("Starting the environment over: the one in .venv is unfinished or made by another Python")
        discard(VENV)
    say("Making a virtual environment in .venv with Python {}.{}.{}".format(*sys.version_info[:3]))
    with_pip = importlib.util.find_spec("ensurepip") is not None
    if not with_pip and importlib.util.find_spec("pip") is None:
        raise Stop("This Python has no pip: install it (Debian and Ubuntu: apt install python3-venv python3-pip).")
    VENV.mkdir()
    UNFINISHED.write_text("being made")
    run_quietly([sys.executable, "-m", "venv", str(VENV)] + ([] if with_pip else ["--without-pip"]), "venv failed")
    if not with_pip:  # Debian's Python without python3-venv: its own pip installs one
        command = [sys.executable, "-m", "pip", "--python", str(VENV_PYTHON), "install", "--quiet", "pip"]
        run_quietly(command, "pip could not be installed (is there a network?)")


def discard(folder: Path) -> None:
    """Delete a folder such that it is never seen half-deleted under its own name."""
    shutil.rmtree(str(DISCARDED), ignore_errors=True)
    os.replace(str(folder), str(DISCARDED))
    shutil.rmtree(str(DISCARDED), ignore_errors=True)


def install(requirements: str, held: IO[bytes]) -> None:
    """Let pip install the requirements. Wheels only: nothing is compiled, and no package's code runs meanwhile."""
    say("Installing {} (once; some minutes and 1 to 2 GB, more where torch comes with CUDA)".format(requirements))
    command = [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--only-binary=:all:", "-r", str(ROOT / requirements)]
    if not sys.stdout.isatty():
        command += ["-qq", "--progress-bar=off"]
    # pip inherits the lock: if we are killed and it is not, the next start waits for it.
    inherited = [] if os.name == "nt" else [held.fileno()]
    child = subprocess.Popen(command, cwd=str(ROOT), pass_fds=inherited)
    status = wait(child, "still installing")
    if status != 0:
        raise Stop("pip could not install {} (is there a network?). Above is what it says.".format(requirements))


def wait(child: "subprocess.Popen[bytes]", what: str) -> int:
    """The child's exit status; where nobody sees its progress bar, a line now and then. Ends it when we are stopped."""
    started = time.monotonic()
    try:
        while True:
            try:
                return child.wait(timeout=HEARTBEAT_SECONDS)
            except subprocess.TimeoutExpired:
                if not sys.stdout.isatty():
                    say("{} ({:.0f} s)".format(what, time.monotonic() - started))
    except BaseException:
        child.terminate()
        child.wait()
        raise


@contextlib.contextmanager
def lock() -> Iterator[IO[bytes]]:
    """Keep a second setup out of the environment. The system lets go when the holder ends, however it ends."""
    LOCK.parent.mkdir(exist_ok=True)
    with open(str(LOCK), "a+b") as file:
        told = False
        while not try_lock(file):
            if not told:
                say("Another setup is at work in this folder: waiting for it")
                told = True
            time.sleep(0.5)
        yield file


def try_lock(file: IO[bytes]) -> bool:
    """Take the lock if nobody has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


# --- running things --------------------------------------------------------------------------------------------------


def run(command: List[str]) -> int:
    """Run it in the project's folder; its exit status."""
    child = subprocess.Popen(command, cwd=str(ROOT))
    try:
        return child.wait()
    except KeyboardInterrupt:
        # A terminal tells the child too: let it finish in its own way.
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=10)
        raise
    finally:
        if child.poll() is None:
            child.kill()


def run_quietly(command: List[str], sentence: str) -> None:
    """Run it; when it fails, show what it said and Stop with the sentence."""
    done = subprocess.run(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout.decode(errors="replace"), file=sys.stderr)
        raise Stop(sentence + ".")


def python(*arguments: str) -> List[str]:
    """A command line for the environment's Python."""
    return [str(VENV_PYTHON)] + list(arguments)


def install_models(without: str) -> None:
    """Fetch, check and convert the embedded target. Not having it stops nothing that does not need it."""
    if run(python("-m", "specdec_core", "models", "install")) == 0:
        return
    say("The embedded model is not ready; the reason stands above. " + without)
    say("Everything else works. To try again: run the same command again.")


# --- the commands ----------------------------------------------------------------------------------------------------


def app(options: argparse.Namespace) -> int:
    """Set everything up and open the app."""
    ensure_environment(APP)
    if not options.no_models:
        install_models("The page Live models and `python -m specdec_core decode` need it.")
    say("Starting the app; stop it with Ctrl+C")
    # Without the first flag Streamlit asks for an e-mail address on its first start and waits; without the second it
    # listens on every network this machine is in. Flags given by hand come later and win.
    flags = ["--server.showEmailPrompt=false", "--server.address=localhost"]
    command = python("-m", "streamlit", "run", "app.py") + flags + options.rest
    if os.name == "nt":
        return run(command)
    os.chdir(str(ROOT))
    os.execv(command[0], command)  # so that whoever stops us stops the server


def test(options: argparse.Namespace) -> int:
    """Set everything up, the tests' own requirements too, and run the checks and the tests."""
    ensure_environment(DEV)
    if not options.no_models:
        install_models("The tests that need it are skipped.")
    failed = run_checks()
    say("Tests: pytest " + " ".join(WORKERS + options.rest))
    status = run(python("-m", "pytest") + WORKERS + options.rest)
    if failed:
        say("Failed, see above: " + ", ".join(failed))
    return status or bool(failed)


def check(_: argparse.Namespace) -> int:
    """Style and types only: ruff and mypy."""
    ensure_environment(DEV)
    return bool(run_checks())


def run_checks() -> List[str]:
    """Run ruff and mypy, both in any case; the names of those that failed."""
    failed = []
    for name, command in (("ruff", ["ruff", "check", "--output-format=concise"]), ("mypy", ["mypy"])):
        say("Checks: " + " ".join(command))
        if run(python("-m", *command)) != 0:
            failed.append(name)
    return failed


def bench(options: argparse.Namespace) -> int:
    """Run the benchmarks, or those whose names are given."""
    ensure_environment(DEV)
    names = options.rest or sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    status = 0
    for name in names:
        say("Benchmark: " + name)
        status = run(python("-m", "benchmarks." + name)) or status
    return status


def audit(options: argparse.Namespace) -> int:
    """Compare what is installed with what is pinned, file by file, and look for known vulnerabilities."""
    ensure_environment(DEV)
    return run(python("scripts/audit.py", *options.rest))


def screenshots(options: argparse.Namespace) -> int:
    """Make the pictures of the README."""
    ensure_environment(DEV)
    return run(python("-m", "scripts.screenshots") + options.rest)


def clean(_: argparse.Namespace) -> int:
    """Remove the environment and every cache in this folder. Answers of a class and fetched models lie elsewhere."""
    with lock():
        if VENV.exists():
            discard(VENV)
        for path in [ROOT / name for name in CACHES] + list(ROOT.glob("*/**/__pycache__")):
            shutil.rmtree(str(path), ignore_errors=True)
    return 0


COMMANDS = {
    "app": app,
    "test": test,
    "check": check,
    "bench": bench,
    "audit": audit,
    "screenshots": screenshots,
    "clean": clean,
}


def parse(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    """The command, its one option, and everything else for the program that it starts."""
    parser = argparse.ArgumentParser(
        prog="python scripts/setup.py",
        description="Sets the project up and runs it.",
        epilog="Anything more on the line goes to streamlit, pytest, or the benchmarks.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, function in COMMANDS.items():
        command = commands.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
        if name in ("app", "test"):
            command.add_argument("--no-models", action="store_true", help="do not fetch the embedded model")
    options, rest = parser.parse_known_args(arguments)
    if options.command is None:
        parser.error("say what to do: " + ", ".join(COMMANDS))
    options.rest = [word for word in rest if word != "--"]
    return options


def main() -> int:
    """Run one command; returns the exit status."""
    options = parse()
    try:
        check_python()
        return COMMANDS[options.command](options)
    except Stop as stop:
        print(str(stop), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run the same command again to go on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
