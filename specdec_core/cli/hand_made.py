"""``verify`` and ``law``: hand-made cases, judged and weighed.

Does not know: models.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np

from specdec_core.acceptance import Rule, typed_law
from specdec_core.cases import MAX_BYTES, InvalidCase, judge_case, load_object, next_law, parse_case
from specdec_core.cli.main import BadInput, rule_of
from specdec_core.distributions import Array, check_pair
from specdec_core.trace import Position, to_plain

#: p and q of `law` may be long, but a file of two megabytes holds no more than this anyway.
MAX_ENTRIES = 200_000


def verify(options: argparse.Namespace) -> None:
    """Print the verdicts, n_a and where the next token comes from."""
    rule = Rule(*rule_of(options))
    case = parse_case(_read(options.case))
    block = judge_case(case, rule)
    law = next_law(case, block, rule)
    assert block.next is not None
    show(
        {
            "tau": block.tau,
            "positions": [_position(x) for x in block.positions],
            "n_a": block.n_a,
            "first_rejected": block.first_rejected,
            "next": {"source": block.next.source, "distribution": None if law is None else _numbers(law)},
        }
    )


def _position(x: Position) -> dict[str, Any]:
    return {
        "t": x.t,
        "token": x.token.text,
        "q": x.q,
        "p": x.p,
        "ratio": x.ratio,
        "accept_probability": x.accept_probability,
        "r": x.r,
        "verdict": x.verdict,
    }


def law(options: argparse.Namespace) -> None:
    """Print the exact law of one emitted token under a rule."""
    rule = Rule(*rule_of(options))
    data = load_object(_read(options.case))
    p, q = check_pair(_list(data, "p"), _list(data, "q"))
    found = typed_law(p, q, rule)
    show(
        {
            "acceptance": found.acceptance,
            "residual": None if found.residual is None else _numbers(found.residual),
            "output": _numbers(found.output),
            "tv": found.tv,
            "kl_output_target": found.kl_output_target,
            "kl_target_output": found.kl_target_output,
        }
    )


def _list(data: dict[str, Any], name: str) -> list[float]:
    if name not in data:
        raise InvalidCase(f"The case lacks the field {name!r}.")
    values = data[name]
    if not isinstance(values, list):
        raise InvalidCase(f"{name} must be a list of numbers, not {repr(values)[:40]}.")
    if len(values) > MAX_ENTRIES:
        raise InvalidCase(f"{name} has {len(values)} entries, at most {MAX_ENTRIES}.")
    for i, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
            raise InvalidCase(f"{name}, entry {i}, must be a number between 0 and 1, not {repr(value)[:40]}.")
    return values


def _numbers(values: Array) -> list[float]:
    return np.asarray(values, dtype=np.float64).tolist()


def _read(source: str) -> bytes:
    """The bytes of a file, or of standard input for ``-``; never more than a case may have, plus one."""
    try:
        if source == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with open(source, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"CASE cannot be read: {source[:200]!r}: {reason}.") from None


def show(value: Any) -> None:
    """Print as JSON."""
    print(json.dumps(to_plain(value), ensure_ascii=False, indent=1, allow_nan=False))
