"""Hand-made cases: read, check, judge. What the command line's ``verify`` and the lessons have in common.

Numbers a person typed are meant in decimal, so verdicts here are those of exact arithmetic: r = 0.3 against
p/q = 0.06/0.2 is a tie, and accepted. Nothing is normalised or repaired.

Does not know: models, files, the screen.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specdec_core.acceptance import RANDOM, Judgement, Rule, Verdict, exactly, judge, residual
from specdec_core.distributions import Array, InvalidDistribution, check_distribution
from specdec_core.foreign import has_surrogate, short
from specdec_core.trace import Block, Next, Position, Token, TopToken

MAX_ROWS = 512
MAX_VOCABULARY = 4096
MAX_BYTES = 2_000_000


class InvalidCase(ValueError):
    """A case cannot be judged. ``str(error)`` is one sentence naming the field and the value."""


@dataclass(frozen=True)
class Row:
    """One candidate as typed: its token, its probabilities and its draw."""

    token: str
    q: float
    p: float
    r: float


@dataclass(frozen=True)
class Case:
    """A hand-made block. With a vocabulary, ``q`` and ``p`` hold a full distribution per row."""

    rows: tuple[Row, ...]
    context: tuple[str, ...] = ()
    title: str = ""
    vocabulary: tuple[str, ...] = ()
    q: tuple[Array, ...] = ()
    p: tuple[Array, ...] = ()
    bonus: Array | None = None


def check_probability(value: Any, field: str, above_zero: bool = False) -> float:
    """``value`` as a probability. Raises InvalidCase naming ``field``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidCase(f"{field} must be a number, not {short(value)}.")
    number = float(value) if abs(value) < 1e300 else float("inf")
    if not np.isfinite(number):
        raise InvalidCase(f"{field} must be a finite number, not {short(value)}.")
    if above_zero and number == 0:
        raise InvalidCase(f"{field} is 0: a token with q = 0 cannot have been drafted.")
    if not 0 <= number <= 1:
        raise InvalidCase(f"{field} must be between 0 and 1, not {number:g}.")
    return number


def check_row(t: int, token: Any, q: Any, p: Any, r: Any) -> Row:
    """One typed candidate, checked. Raises InvalidCase naming position and field."""
    if not isinstance(token, str):
        raise InvalidCase(f"token at t = {t} must be a text, not {short(token)}.")
    if has_surrogate(token):
        raise InvalidCase(f"token at t = {t} is not valid Unicode.")
    return Row(
        token,
        check_probability(q, f"q at t = {t}", above_zero=True),
        check_probability(p, f"p at t = {t}"),
        check_probability(r, f"r at t = {t}"),
    )


def parse_case(text: str | bytes) -> Case:
    """The case in JSON ``text``, scalar or full. Raises InvalidCase."""
    return case_from_plain(load_object(text))


def load_object(text: str | bytes) -> dict[str, Any]:
    """A JSON object of bounded size. NaN and Infinity are no JSON. Raises InvalidCase."""
    if len(text) > MAX_BYTES:
        raise InvalidCase(f"The case is too big: {len(text):,} bytes, at most {MAX_BYTES:,}.")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidCase(f"The case is not JSON: {str(error)[:80]}.") from None
    if not isinstance(data, dict):
        raise InvalidCase(f"The case must be a JSON object, not {short(data)}.")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def case_from_plain(data: Mapping[str, Any]) -> Case:
    """A case from what ``json`` reads. Raises InvalidCase."""
    context = data.get("context", [])
    if isinstance(context, str):
        context = [context]
    if not isinstance(context, list) or not all(isinstance(c, str) for c in context):
        raise InvalidCase("context must be a list of texts.")
    title = data.get("title", "")
    if not isinstance(title, str):
        raise InvalidCase(f"title must be a text, not {short(title)}.")
    if has_surrogate("".join((title, *context))):
        raise InvalidCase("context and title must be valid Unicode.")
    build = _full_case if "positions" in data else _scalar_case
    return build(data, tuple(context), title)


def _list(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if value is None:
        raise InvalidCase(f"The case lacks the field {name!r}.")
    if not isinstance(value, list):
        raise InvalidCase(f"{name} must be a list, not {short(value)}.")
    return value


def _scalar_case(data: Mapping[str, Any], context: tuple[str, ...], title: str) -> Case:
    tokens, q, p, r = (_list(data, name) for name in ("tokens", "q", "p", "r"))
    if not tokens:
        raise InvalidCase("tokens is empty: a block has at least one candidate.")
    if len(tokens) > MAX_ROWS:
        raise InvalidCase(f"tokens has {len(tokens)} entries, at most {MAX_ROWS}.")
    for name, values in (("q", q), ("p", p), ("r", r)):
        if len(values) != len(tokens):
            raise InvalidCase(f"{name} has {len(values)} entries, but tokens has {len(tokens)}.")
    rows = tuple(check_row(t, *row) for t, row in enumerate(zip(tokens, q, p, r, strict=True), start=1))
    return Case(rows, context, title)


def _full_case(data: Mapping[str, Any], context: tuple[str, ...], title: str) -> Case:
    vocabulary = _list(data, "vocabulary")
    if not vocabulary or len(vocabulary) > MAX_VOCABULARY or not all(isinstance(v, str) for v in vocabulary):
        raise InvalidCase(f"vocabulary must be a list of 1 to {MAX_VOCABULARY} texts.")
    if has_surrogate("".join(vocabulary)):
        raise InvalidCase("vocabulary holds a text that is not valid Unicode.")
    if len(set(vocabulary)) != len(vocabulary):
        raise InvalidCase("vocabulary names a token twice.")
    positions = _list(data, "positions")
    if not 1 <= len(positions) <= MAX_ROWS:
        raise InvalidCase(f"positions must have 1 to {MAX_ROWS} entries, not {len(positions)}.")
    rows, qs, ps = [], [], []
    for t, position in enumerate(positions, start=1):
        if not isinstance(position, dict):
            raise InvalidCase(f"positions, t = {t}, must be an object, not {short(position)}.")
        candidate = position.get("candidate")
        if candidate not in vocabulary:
            raise InvalidCase(f"candidate at t = {t} is not in the vocabulary: {short(candidate)}.")
        q, p = (_over(vocabulary, position.get(name), f"{name} at t = {t}") for name in ("q", "p"))
        i = vocabulary.index(candidate)
        rows.append(check_row(t, candidate, float(q[i]), float(p[i]), position.get("r")))
        qs.append(q)
        ps.append(p)
    bonus = data.get("bonus")
    if bonus is not None:
        if not isinstance(bonus, dict):
            raise InvalidCase(f"bonus must be an object with a field 'p', not {short(bonus)}.")
        bonus = _over(vocabulary, bonus.get("p"), "p of bonus")
    return Case(tuple(rows), context, title, tuple(vocabulary), tuple(qs), tuple(ps), bonus)


def _over(vocabulary: Sequence[str], values: Any, field: str) -> Array:
    if not isinstance(values, list):
        raise InvalidCase(f"{field} must be a list of {len(vocabulary)} numbers, not {short(values)}.")
    if len(values) != len(vocabulary):
        raise InvalidCase(f"{field} has {len(values)} entries, but the vocabulary has {len(vocabulary)}.")
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        raise InvalidCase(f"{field} must be a list of numbers.")
    try:
        return check_distribution(values, field)
    except InvalidDistribution as error:
        raise InvalidCase(str(error)) from None


def judge_rows(rows: Sequence[Row], rule: Rule = RANDOM) -> Judgement:
    """Verdicts and n_a by exact arithmetic on the typed decimals."""
    return judge([bool(rule.accepts(exactly(x.p), exactly(x.q), exactly(x.r))) for x in rows])


def judge_case(case: Case, rule: Rule = RANDOM) -> Block:
    """The case as the block it describes. Its next token is named by source and law, not drawn.

    Raises InvalidCase where p/q is too large for a float.
    """
    judged = judge_rows(case.rows, rule)
    positions = tuple(_position(case, i, verdict, rule) for i, verdict in enumerate(judged.verdicts))
    t = judged.first_rejected or len(case.rows) + 1
    emitted = tuple(Token(x.token) for x in case.rows[: judged.n_a])
    return Block(
        index=0,
        start=len(case.context),
        positions=positions,
        n_a=judged.n_a,
        first_rejected=judged.first_rejected,
        next=Next(t, rule.correction if judged.first_rejected else "bonus"),
        emitted=emitted,
    )


def _position(case: Case, i: int, verdict: Verdict, rule: Rule) -> Position:
    row = case.rows[i]
    level = rule.spec.level(exactly(row.r), exactly(rule.threshold) if rule.parameter is not None else None)
    one = np.array([row.p]), np.array([row.q])
    return Position(
        t=i + 1,
        token=Token(row.token),
        q=row.q,
        p=row.p,
        ratio=_ratio(row),
        accept_probability=float(rule.accept_probability(*one)[0]),
        r=row.r,
        level=float(level),
        verdict=verdict,
        alpha=float(np.minimum(case.p[i], case.q[i]).sum()) if case.p else None,
        top=top_of(case.vocabulary, case.p[i], case.q[i]) if case.p else (),
    )


def _ratio(row: Row) -> float:
    try:
        return float(exactly(row.p) / exactly(row.q))
    except OverflowError:
        raise InvalidCase("p/q is too large to be written: some q is almost 0.") from None


def top_of(vocabulary: Sequence[str], p: Array, q: Array) -> tuple[TopToken, ...]:
    """Every token of a small vocabulary with its q, p and residual, in the vocabulary's order."""
    rest = residual(p, q)
    lack = np.zeros_like(p) if rest is None else rest
    return tuple(
        TopToken(Token(text, i), float(q[i]), float(p[i]), float(lack[i])) for i, text in enumerate(vocabulary)
    )


def next_law(case: Case, block: Block, rule: Rule = RANDOM) -> Array | None:
    """The distribution the next token is drawn from, shape ``(V,)``; None for scalar cases."""
    if not case.p:
        return None
    if block.first_rejected is None:
        return case.bonus
    i = block.first_rejected - 1
    return rule.correct(case.p[i], case.q[i])
