"""The command line: what it understands, and how it fails.

JSON (for ``decode`` the text) to standard output. On bad input exit status 2, one plain line on standard error that
names the field and the value, no traceback, nothing written.

Does not know: what the commands do. Neither torch nor transformers is loaded unless a model is asked for.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from specdec_core import __version__
from specdec_core.acceptance import CORRECTIONS, RULES
from specdec_core.cases import InvalidCase
from specdec_core.distributions import InvalidDistribution
from specdec_core.models.protocol import ModelUnavailable

BAD_INPUT = 2


class BadInput(ValueError):
    """The command cannot be carried out. ``str(error)`` is one sentence naming the field and the value."""


class _Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line, without the usage above it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        # Our own readers name the field already.
        raise BadInput(re.sub(r"^argument \S+: (?=.* must be )", "", message))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        options.run(options)
        sys.stdout.flush()
    except (BadInput, InvalidCase, InvalidDistribution, ModelUnavailable) as error:
        return _fail(str(error))
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return _fail("Stopped.", 130)
    except MemoryError:
        return _fail("There is not enough memory for this.")
    return 0


def _fail(message: str, status: int = BAD_INPUT) -> int:
    line = "".join(c if c.isprintable() else " " for c in " ".join(message.split()))
    print(line, file=sys.stderr)
    return status


def _lazily(module: str, function: str) -> Callable[[argparse.Namespace], None]:
    """The command's function, imported when it is called: ``law`` must not wait for what ``decode`` needs."""

    def run(options: argparse.Namespace) -> None:
        from importlib import import_module

        getattr(import_module(f"specdec_core.cli.{module}"), function)(options)

    return run


# --- what is understood ----------------------------------------------------------------------------------------------


def _whole(name: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            return int(text) if len(text) <= 20 and "_" not in text else int("")
        except ValueError:
            raise argparse.ArgumentTypeError(f"{name} must be a whole number, not {text[:40]!r}.") from None

    return read


def _number(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            return float(text) if "_" not in text else float("")
        except ValueError:
            raise argparse.ArgumentTypeError(f"{name} must be a number, not {text[:40]!r}.") from None

    return read


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m specdec_core", description="Speculative decoding's acceptance step, without a screen."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", dest="command", required=True, parser_class=_Parser)
    _add_verify(commands)
    _add_law(commands)
    _add_decode(commands)
    _add_models(commands)
    return parser


def _add_rule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rule", default="random", help=f"one of {', '.join(RULES)}")
    for spec in RULES.values():
        known = spec.parameter
        if known:
            text = f"for the {spec.name} rule, {known.low:g} to {known.high:g} (default {known.default:g})"
            parser.add_argument(f"--{known.name}", type=_number(known.name), default=None, help=text)
    parser.add_argument("--correction", default="residual", help=f"one of {', '.join(CORRECTIONS)}")


def _add_verify(commands: Any) -> None:
    parser = commands.add_parser("verify", help="judge a hand-made block")
    parser.add_argument("case", metavar="CASE", help="a JSON file; - reads standard input")
    _add_rule(parser)
    parser.set_defaults(run=_lazily("hand_made", "verify"))


def _add_law(commands: Any) -> None:
    parser = commands.add_parser("law", help="the exact law of one emitted token")
    parser.add_argument("case", metavar="CASE", help='a JSON file with "p" and "q"; - reads standard input')
    _add_rule(parser)
    parser.set_defaults(run=_lazily("hand_made", "law"))


def _add_decode(commands: Any) -> None:
    parser = commands.add_parser("decode", help="continue a prompt and print the text")
    parser.add_argument("--prompt", required=True, metavar="TEXT")
    parser.add_argument("--pair", default="embedded", metavar="NAME", help="see `models list`")
    parser.add_argument("--tau", type=_whole("tau"), default=4, help="candidates per block")
    parser.add_argument("--max-new-tokens", type=_whole("max-new-tokens"), default=32)
    parser.add_argument("--temperature", type=_number("temperature"), default=1.0)
    parser.add_argument("--top-k", type=_whole("top-k"), default=0, help="0 switches it off")
    parser.add_argument("--top-p", type=_number("top-p"), default=1.0, help="1 switches it off")
    _add_rule(parser)
    parser.add_argument("--seed", type=_whole("seed"), default=0)
    parser.add_argument("--trace", metavar="FILE", help="write everything that happened as JSON")
    parser.add_argument("--device", help="cpu, cuda, cuda:N or mps; chosen by default")
    parser.add_argument("--dtype", help="bfloat16, float16 or float32; chosen for the device by default")
    parser.set_defaults(run=_lazily("text", "decode"))


def _add_models(commands: Any) -> None:
    parser = commands.add_parser("models", help="the pairs of models")
    actions = parser.add_subparsers(title="actions", dest="action", required=True, parser_class=_Parser)
    actions.add_parser("list", help="the pairs, the device, whether they are ready").set_defaults(
        run=_lazily("text", "list_models")
    )
    actions.add_parser("install", help="fetch and convert the embedded pair").set_defaults(
        run=_lazily("text", "install_models")
    )


def rule_of(options: argparse.Namespace) -> tuple[str, float | None, str]:
    """Name, parameter and correction that the options ask for; parameters of other rules are checked and left aside.

    Raises BadInput.
    """
    from specdec_core.acceptance import Rule

    asked: dict[str, float] = {}
    for spec in RULES.values():
        value = getattr(options, spec.parameter.name, None) if spec.parameter else None
        if value is not None:
            asked[spec.name] = value
    try:
        for name, value in asked.items():
            Rule(name, value)
        rule = Rule(options.rule, asked.get(options.rule), options.correction)
    except ValueError as error:
        raise BadInput(str(error)) from None
    return rule.name, rule.parameter, rule.correction
