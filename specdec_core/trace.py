"""What happened, block by block: frozen dataclasses, and their JSON both ways.

A trace is the return value of decoding, never a log. Per position it keeps the scalars that decided and the most
likely tokens, because full p and q would be megabytes a block. Units: probabilities 0 to 1, times in seconds.

Does not know: how tokens were made, models beyond their description, the screen.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from specdec_core.acceptance import Rule, Verdict, exactly, judge
from specdec_core.foreign import has_surrogate, short

SCHEMA = 1
MAX_BYTES = 8_000_000
MAX_BLOCKS = 4096
MAX_TAU = 16
MAX_NEW_TOKENS = 2048


class InvalidTrace(ValueError):
    """A trace cannot be read. ``str(error)`` is one sentence naming the field and the value."""


@dataclass(frozen=True)
class Token:
    """A token as drawn and as shown. ``id`` is None for hand-made tokens; ``text`` is literal."""

    text: str
    id: int | None = None


@dataclass(frozen=True)
class TopToken:
    """One of the most likely tokens at a position, with its three probabilities."""

    token: Token
    q: float
    p: float
    residual: float


@dataclass(frozen=True)
class Position:
    """One candidate and what decided about it.

    ratio is p/q, accept_probability P(accepted) under the rule, level what p/q had to reach (r_t for the random rule,
    c for a fixed one). alpha = sum min(p, q) over the whole vocabulary; None for hand-made cases without one.
    top: the union of the most likely tokens under q, p and the residual; others hold the rest of the mass.
    """

    t: int
    token: Token
    q: float
    p: float
    ratio: float
    accept_probability: float
    r: float
    level: float
    verdict: Verdict
    alpha: float | None = None
    top: tuple[TopToken, ...] = ()


@dataclass(frozen=True)
class Next:
    """The token drawn after judging: at ``t`` from ``source``, with probability ``probability`` there.

    source: bonus, or the correction's name (residual, target, argmax). u: the uniform draw that selected it.
    For hand-made cases without distributions the token is unknown and ``token`` is None.
    """

    t: int
    source: str
    token: Token | None = None
    probability: float | None = None
    u: float | None = None
    top: tuple[TopToken, ...] = ()


@dataclass(frozen=True)
class Block:
    """Draft, verify, judge, correct: one turn. ``start`` counts the tokens verified before it, the prompt included.

    next is None when the text ended inside the block. emitted: the tokens the block added to the text.
    seconds: wall time by part (draft, verify, judge, correct). ends: "" or why the text ended ("end of text",
    "token budget", "context length").
    """

    index: int
    start: int
    positions: tuple[Position, ...]
    n_a: int
    first_rejected: int | None
    next: Next | None
    emitted: tuple[Token, ...]
    ends: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def tau(self) -> int:
        """How many candidates were drafted: the block's own, which the budget or an end token may have cut short."""
        return len(self.positions)

    @property
    def judged(self) -> int:
        """How many positions were judged: the accepted ones and the first rejected one."""
        return self.n_a + (self.first_rejected is not None)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a decoding does. There are no other, hidden defaults.

    Raises ValueError, one sentence naming the field and the value.
    """

    prompt: str
    pair: str = "embedded"
    tau: int = 4
    max_new_tokens: int = 32
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    rule: str = "random"
    parameter: float | None = None
    correction: str = "residual"
    seed: int = 0

    def __post_init__(self) -> None:
        from specdec_core.distributions import Warp

        _whole("tau", self.tau, 1, MAX_TAU)
        _whole("max-new-tokens", self.max_new_tokens, 1, MAX_NEW_TOKENS)
        _whole("seed", self.seed, 0, 2**32 - 1)
        Warp(self.temperature, self.top_k, self.top_p)
        object.__setattr__(self, "parameter", self.acceptance.parameter)

    @property
    def acceptance(self) -> Rule:
        return Rule(self.rule, self.parameter, self.correction)


def _whole(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number between {low} and {high}, not {value}.")


@dataclass(frozen=True)
class ModelRecord:
    """A model as the trace remembers it."""

    name: str
    device: str
    dtype: str
    parameters: int | None = None
    layers: int | None = None


@dataclass(frozen=True)
class Trace:
    """A whole text. ``prompt``: the prompt's tokens. ``text``: what was generated, from all ids at once."""

    settings: Settings
    draft: ModelRecord
    target: ModelRecord
    prompt: tuple[Token, ...]
    blocks: tuple[Block, ...]
    text: str = ""
    title: str = ""
    schema: int = SCHEMA

    @property
    def emitted(self) -> tuple[Token, ...]:
        return tuple(token for block in self.blocks for token in block.emitted)

    def verified_before(self, index: int) -> tuple[Token, ...]:
        """The verified tokens at the start of block ``index``: prompt and all that earlier blocks emitted."""
        return self.prompt + tuple(token for block in self.blocks[:index] for token in block.emitted)


@dataclass(frozen=True)
class Totals:
    """Running totals over blocks. accepted/judged, accepted/drafted and tokens/block are three numbers."""

    blocks: int
    drafted: int
    judged: int
    accepted: int
    emitted: int
    alpha: float | None
    seconds: dict[str, float]

    @property
    def accepted_per_judged(self) -> float:
        return self.accepted / self.judged if self.judged else 0.0

    @property
    def accepted_per_drafted(self) -> float:
        return self.accepted / self.drafted if self.drafted else 0.0

    @property
    def tokens_per_block(self) -> float:
        return self.emitted / self.blocks if self.blocks else 0.0

    @property
    def passes_saved(self) -> int:
        """Target passes that plain decoding would have needed on top: one per emitted token, less one per block."""
        return self.emitted - self.blocks


def totals(blocks: Iterable[Block]) -> Totals:
    """Totals over ``blocks``. alpha: mean of sum min(p, q) over the judged positions, None without any."""
    blocks = list(blocks)
    alphas = [x.alpha for b in blocks for x in b.positions[: b.judged] if x.alpha is not None]
    seconds: dict[str, float] = {}
    for block in blocks:
        for part, value in block.seconds.items():
            seconds[part] = seconds.get(part, 0.0) + value
    return Totals(
        blocks=len(blocks),
        drafted=sum(b.tau for b in blocks),
        judged=sum(b.judged for b in blocks),
        accepted=sum(b.n_a for b in blocks),
        emitted=sum(len(b.emitted) for b in blocks),
        alpha=sum(alphas) / len(alphas) if alphas else None,
        seconds=seconds,
    )


# --- JSON -----------------------------------------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """Dataclasses, tuples and enums as what ``json`` writes. Infinite numbers become the strings "inf" and "-inf"."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [to_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: to_plain(v) for k, v in value.items()}
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def trace_to_json(trace: Trace) -> str:
    """The trace as JSON text that ``trace_from_json`` reads back unchanged."""
    return json.dumps(to_plain(trace), ensure_ascii=False, allow_nan=False)


def trace_from_json(text: str | bytes) -> Trace:
    """The trace in ``text``, checked: schema, types, ranges, and that each verdict follows from its own numbers.

    Raises InvalidTrace. The text may come from anybody.
    """
    if len(text) > MAX_BYTES:
        raise InvalidTrace(f"The trace is too big: {len(text):,} bytes, at most {MAX_BYTES:,}.")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidTrace("The trace is not JSON.") from None
    if not isinstance(data, dict) or "blocks" not in data:
        raise InvalidTrace("The JSON is not a trace: it has no field 'blocks'.")
    if data.get("schema") != SCHEMA:
        raise InvalidTrace(f"The trace has schema {short(data.get('schema'))}; this version reads {SCHEMA}.")
    trace = _read(Trace, data, "trace")
    _check_trace(trace)
    return trace


def _no_constant(name: str) -> float:
    raise ValueError(name)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _read(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return _read_dataclass(kind, value, where)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(kind):
            return None
        return _read(next(k for k in get_args(kind) if k is not NoneType), value, where)
    if origin is tuple:
        if not isinstance(value, list) or len(value) > MAX_NEW_TOKENS * 4:
            raise InvalidTrace(f"{where} must be a list of reasonable length.")
        return tuple(_read(get_args(kind)[0], v, f"{where}[{i}]") for i, v in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict) or len(value) > 32 or any(has_surrogate(k) for k in value):
            raise InvalidTrace(f"{where} must be a small object.")
        return {k[:40]: _read(get_args(kind)[1], v, f"{where}.{short(k)}") for k, v in value.items()}
    return _read_scalar(kind, value, where)


def _read_dataclass(cls: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise InvalidTrace(f"{where} must be an object, not {short(value)}.")
    hints = _hints(cls)
    known = {f.name: f for f in fields(cls) if f.init}
    unknown = next((k for k in value if k not in known), None)
    if unknown is not None:
        raise InvalidTrace(f"{where} has an unknown field {short(unknown)}.")
    read = {k: _read(hints[k], v, f"{where}.{k}") for k, v in value.items()}
    try:
        return cls(**read)
    except TypeError:
        missing = [k for k in known if k not in value]
        raise InvalidTrace(f"{where} lacks the field {missing[0]!r}.") from None
    except ValueError as error:
        raise InvalidTrace(f"{where}: {error}") from None


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise InvalidTrace(f"{where} has an unknown value {short(value)}.") from None
    if kind is float:
        if value in ("inf", "-inf"):
            return float(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
            return float(value)
    elif kind is int:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53:
            return value
    elif kind is str and isinstance(value, str) and len(value) <= 200_000 and not has_surrogate(value):
        return value
    raise InvalidTrace(f"{where} must be a {kind.__name__}, not {short(value)}.")


def _check_trace(trace: Trace) -> None:
    if len(trace.blocks) > MAX_BLOCKS:
        raise InvalidTrace(f"The trace has {len(trace.blocks)} blocks, at most {MAX_BLOCKS}.")
    if not trace.prompt:
        raise InvalidTrace("trace.prompt is empty.")
    start = len(trace.prompt)
    for i, block in enumerate(trace.blocks):
        _check_block(block, trace.settings.acceptance, f"trace.blocks[{i}]")
        if (block.index, block.start) != (i, start):
            raise InvalidTrace(f"trace.blocks[{i}] does not continue the block before it.")
        start += len(block.emitted)


def _check_block(block: Block, rule: Rule, where: str) -> None:
    if block.tau > MAX_TAU:
        raise InvalidTrace(f"{where} has {block.tau} positions, at most {MAX_TAU}.")
    for i, x in enumerate(block.positions):
        _check_position(x, i + 1, f"{where}.positions[{i}]")
        level = rule.spec.level(x.r, rule.threshold)
        if x.level != level and not abs(x.level - level) <= 1e-9 * max(1.0, abs(level)):
            raise InvalidTrace(f"{where}.positions[{i}].level is {x.level:g}, but the rule gives {level:g}.")
    stays = [bool(rule.accepts(x.p, x.q, x.r)) for x in block.positions]
    # A typed tie can fall differently in floats than on paper; either reading of the numbers is an honest one.
    paper = [bool(rule.accepts(exactly(x.p), exactly(x.q), exactly(x.r))) for x in block.positions]
    found = (tuple(x.verdict for x in block.positions), block.n_a, block.first_rejected)
    if all(found != (j.verdicts, j.n_a, j.first_rejected) for j in (judge(stays), judge(paper))):
        raise InvalidTrace(f"{where} contradicts itself: its verdicts do not follow from its q, p and r.")
    if len(block.emitted) != block.n_a + (block.next is not None):
        raise InvalidTrace(f"{where} emits {len(block.emitted)} tokens, which n_a = {block.n_a} does not give.")
    if block.next is not None:
        _check_next(block.next, block, rule, f"{where}.next")


def _check_position(x: Position, t: int, where: str) -> None:
    if x.t != t:
        raise InvalidTrace(f"{where}.t must be {t}, not {x.t}.")
    if not 0 < x.q <= 1 + 1e-9:
        raise InvalidTrace(f"{where}.q must be above 0 and at most 1, not {x.q:g}.")
    for name in ("p", "r", "accept_probability", "alpha"):
        _check_probability(getattr(x, name), f"{where}.{name}")
    _check_top(x.top, where)
    if abs(x.ratio - x.p / x.q) > 1e-9 * max(1.0, x.p / x.q):
        raise InvalidTrace(f"{where}.ratio is {x.ratio:g}, but p/q is {x.p / x.q:g}.")


def _check_next(x: Next, block: Block, rule: Rule, where: str) -> None:
    source = "bonus" if block.first_rejected is None else rule.correction
    if (x.t, x.source) != (block.n_a + 1, source):
        raise InvalidTrace(f"{where} must come from {source} at t = {block.n_a + 1}.")
    _check_probability(x.probability, f"{where}.probability")
    _check_probability(x.u, f"{where}.u")
    _check_top(x.top, where)


def _check_top(top: Iterable[TopToken], where: str) -> None:
    for i, y in enumerate(top):
        for name in ("q", "p", "residual"):
            _check_probability(getattr(y, name), f"{where}.top[{i}].{name}")


def _check_probability(value: float | None, where: str) -> None:
    if value is not None and not 0 <= value <= 1 + 1e-9:
        raise InvalidTrace(f"{where} must be between 0 and 1, not {value:g}.")
