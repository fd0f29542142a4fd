"""``decode`` and ``models``: the commands that need models.

Does not know: how models are loaded or texts decoded.
"""

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path

from specdec_core.cli.hand_made import show
from specdec_core.cli.main import BadInput, rule_of
from specdec_core.decoding import InvalidPrompt, assemble
from specdec_core.decoding import decode as decode_blocks
from specdec_core.models import embedded, huggingface, pairs
from specdec_core.models.protocol import ModelUnavailable
from specdec_core.trace import Settings, to_plain, trace_to_json


def decode(options: argparse.Namespace) -> None:
    """Print the text that follows the prompt; with ``--trace``, write what happened."""
    settings = _settings(options)
    file = None if options.trace is None else _writable(options.trace)
    _quiet()
    pair = pairs.load_pair(settings.pair, options.device, options.dtype)
    try:
        blocks = list(decode_blocks(pair, settings))
    except InvalidPrompt as error:
        raise BadInput(f"prompt: {error}") from None
    trace = assemble(pair, settings, blocks)
    if file is not None:
        _write(file, trace_to_json(trace))
    print(trace.text)


def _settings(options: argparse.Namespace) -> Settings:
    rule, parameter, correction = rule_of(options)
    try:
        return Settings(
            prompt=options.prompt,
            pair=options.pair,
            tau=options.tau,
            max_new_tokens=options.max_new_tokens,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            rule=rule,
            parameter=parameter,
            correction=correction,
            seed=options.seed,
        )
    except ValueError as error:
        raise BadInput(str(error)) from None


def _writable(name: str) -> Path:
    """The path of a file that can be written, found out before minutes of decoding are spent on it."""
    path = Path(name)
    try:
        if path.is_dir() or not path.parent.is_dir():
            raise OSError(0, "not a file in a folder that exists")
        if not os.access(path.parent, os.W_OK):
            raise OSError(0, "the folder cannot be written")
    except (OSError, ValueError) as error:
        raise BadInput(
            f"trace cannot be written: {name[:200]!r}: {getattr(error, 'strerror', None) or error}."
        ) from None
    return path


def _write(path: Path, text: str) -> None:
    """All of the text or nothing: written beside its place first, then moved there."""
    beside = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".trace-", delete=False
        ) as file:
            beside = Path(file.name)
            file.write(text + "\n")
        beside.chmod(0o644)
        os.replace(beside, path)
    except OSError as error:
        if beside is not None:
            beside.unlink(missing_ok=True)
        raise BadInput(f"trace cannot be written: {str(path)[:200]!r}: {error.strerror or error}.") from None


def _quiet() -> None:
    """Libraries' warnings stay off standard error, which is for one line of ours."""
    warnings.simplefilter("ignore")
    for name in ("TRANSFORMERS_VERBOSITY", "HF_HUB_VERBOSITY"):
        os.environ.setdefault(name, "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


def list_models(_: argparse.Namespace) -> None:
    """Print the pairs, the device and the number format that would be used, and whether each pair is ready."""
    device = huggingface.choose_device()
    dtype = str(huggingface.choose_dtype(device)).removeprefix("torch.")
    show({"device": device, "dtype": dtype, "pairs": [to_plain(x) for x in pairs.describe()]})


def install_models(_: argparse.Namespace) -> None:
    """Fetch and convert the embedded pair. Progress goes to standard error, the result to standard output."""
    folder = embedded.install(lambda line: print(line, file=sys.stderr, flush=True))
    problem = embedded.draft_problem()
    if problem:
        raise ModelUnavailable(problem)
    show({"installed": str(folder)})
