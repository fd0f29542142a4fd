"""What a rule costs and what it buys, exactly: laws side by side, a sweep over a rule's number, the trade.

Does not know: random numbers, models, the screen.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from specdec_core.acceptance import CORRECTIONS, RULES, Law, Rule, output_law, residual
from specdec_core.distributions import Array, top_tokens, total_variation
from specdec_core.tables import spreadsheet_safe
from specdec_core.theory import expected_tokens
from specdec_core.words import BOOK, Notation, _, ngettext

#: A share that moved by less than this is called unchanged: float sums over a vocabulary move the last digits.
UNCHANGED = 1e-9


class Change(StrEnum):
    """What a rule did to one token, against p. The values are the words on the screen."""

    SAME = "same"
    GAINED = "gained"
    LOST = "lost"
    VANISHED = "vanished"
    APPEARED = "appeared"


@dataclass(frozen=True)
class Comparison:
    """p, q and the exact law of each rule over the tokens shown, with all others in one last entry.

    tokens: ids of the shown tokens, shape ``(K,)``, most likely first. p, q: shape ``(K + 1,)``; the last entry holds
    all others. outputs: per rule the same. changes: per rule and entry. laws: per rule, over the whole vocabulary.
    others: how many tokens the last entry stands for (0: it is empty and need not be drawn). gone: per rule, how many
    tokens of the vocabulary have p > 0 and can no longer be emitted.
    """

    tokens: NDArray[np.intp]
    p: Array
    q: Array
    rules: tuple[Rule, ...]
    laws: tuple[Law, ...]
    outputs: tuple[Array, ...]
    changes: tuple[tuple[Change, ...], ...]
    others: int
    gone: tuple[int, ...] = ()


def compare(p: Array, q: Array, rules: Sequence[Rule], k: int = 10, laws: Sequence[Law] | None = None) -> Comparison:
    """The rules' exact laws beside p and q, for the ``k`` tokens that are most likely under any of them.

    laws: given by a caller who knows them better than floats do (``typed_law``).
    """
    found = tuple(laws) if laws is not None else tuple(output_law(p, q, rule) for rule in rules)
    highest = np.maximum(p, q)
    for law in found:
        highest = np.maximum(highest, law.output)
    shown = top_tokens(highest, k)
    shown = shown[highest[shown] > 0]

    def gathered(law: Array) -> Array:
        # The others are summed, not taken as 1 minus the shown: a difference would leave rounding in an empty entry.
        rest = np.ones(law.size, dtype=bool)
        rest[shown] = False
        return np.append(law[shown], law[rest].sum())

    a, outputs = gathered(p), tuple(gathered(law.output) for law in found)
    changes = tuple(tuple(change(float(x), float(y)) for x, y in zip(a, out, strict=True)) for out in outputs)
    gone = tuple(int(np.sum((p > 0) & (law.output == 0))) for law in found)
    return Comparison(shown, a, gathered(q), tuple(rules), found, outputs, changes, int(p.size - shown.size), gone)


def change(before: float, after: float) -> Change:
    """What became of a token with probability ``before`` under p and ``after`` under a rule."""
    if (before == 0) != (after == 0):
        return Change.APPEARED if before == 0 else Change.VANISHED
    if abs(after - before) <= UNCHANGED:
        return Change.SAME
    return Change.GAINED if after > before else Change.LOST


def count_changes(p: Array, law: Law) -> dict[Change, int]:
    """How many tokens of the vocabulary gained, lost, vanished, appeared."""
    out = law.output
    both = (p > 0) & (out > 0)
    found = {
        Change.GAINED: int(np.sum(both & (out > p + UNCHANGED))),
        Change.LOST: int(np.sum(both & (out < p - UNCHANGED))),
        Change.VANISHED: int(np.sum((p > 0) & (out == 0))),
        Change.APPEARED: int(np.sum((p == 0) & (out > 0))),
    }
    return found | {Change.SAME: p.size - sum(found.values())}


def rule_label(rule: Rule) -> str:
    """A rule's name on the screen, with its number and, where it is not the residual, its correction."""
    label = _(rule.spec.title)
    if rule.spec.parameter is not None:
        label = _("{rule}, {symbol} = {value}").format(
            rule=label, symbol=rule.spec.parameter.symbol, value=f"{rule.threshold:g}"
        )
    if rule.correction != "residual":
        label = _("{rule}; {correction}").format(rule=label, correction=_(CORRECTIONS[rule.correction].title))
    return label


def closing(found: Comparison, index: int, notation: Notation = BOOK) -> str:
    """What rule ``index`` does at this place, in one or two sentences with the numbers just seen."""
    law, rule = found.laws[index], found.rules[index]
    words = {"rule": rule_label(rule), "p": notation.p, "a": f"{law.acceptance:.3f}", "tv": f"{law.tv:.3f}"}
    if law.tv < UNCHANGED:
        return _("{rule} accepts {a} of the candidates, and what is emitted follows {p} exactly.").format(**words)
    gone = found.gone[index]
    lost = ngettext(
        "{n} token that {p} allows can no longer appear.", "{n} tokens that {p} allows can no longer appear.", gone
    ).format(n=f"{gone:,}", p=notation.p)
    first = _(
        "{rule} accepts {a} of the candidates, and the price is a bias of {tv}: so much of the probability lies on the"
        " wrong tokens."
    ).format(**words)
    return f"{first} {lost}" if gone else first


def law_csv(found: Comparison, labels: Sequence[str]) -> str:
    """The comparison as CSV: one row per shown token and one for all others, with p, q and a column per rule."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["token", "id", "p", "q", *(rule_label(rule) for rule in found.rules)])
    names = [*map(spreadsheet_safe, labels), _("{n} others").format(n=f"{found.others:,}")]
    ids: list[int | str] = [*found.tokens.tolist(), ""]
    for i, (name, token) in enumerate(zip(names, ids, strict=True)):
        writer.writerow([name, token, found.p[i], found.q[i], *(x[i] for x in found.outputs)])
    return out.getvalue()


# --- a sweep over a rule's number ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """A rule for every value of its number: values, acceptance and tv = TV(output, p), each of shape ``(N,)``."""

    rule: str
    correction: str
    values: Array
    acceptance: Array
    tv: Array


def sweep(p: Array, q: Array, rule: str = "fixed", correction: str = "residual", values: Array | None = None) -> Sweep:
    """Acceptance and bias against a rule's number, by default 101 values over its range.

    The fixed threshold is answered from one sort of p/q and cumulative sums (0.02 s on 49,152 tokens); any other rule
    by its law at each value. Raises ValueError for a rule without a number.
    """
    parameter = RULES[rule].parameter
    if parameter is None:
        raise ValueError(f"rule {rule!r} has no number to sweep over.")
    at = np.linspace(parameter.low, parameter.high, 101) if values is None else np.asarray(values, dtype=np.float64)
    if rule == "fixed":
        return _sweep_fixed(p, q, correction, at)
    acceptance, tv = np.empty(at.size), np.empty(at.size)
    for i, value in enumerate(at.tolist()):
        acceptance[i], tv[i] = _acceptance_and_tv(p, q, Rule(rule, value, correction))
    return Sweep(rule, correction, at, acceptance, tv)


def _acceptance_and_tv(p: Array, q: Array, rule: Rule) -> tuple[float, float]:
    """As ``output_law``, without the divergences, whose logarithms cost more than all the rest."""
    stays = q * rule.accept_probability(p, q)
    accepted = float(stays.sum())
    return accepted, total_variation(stays + max(0.0, 1.0 - accepted) * rule.correct(p, q), p)


def _sweep_fixed(p: Array, q: Array, correction: str, values: Array) -> Sweep:
    """out = q [in A] + rho corr with A = {p/q >= c} and rho = q(not A): A is a suffix of the tokens sorted by p/q."""
    drafted = (q > 0) & (p > 0)
    ratio = np.divide(p, q, out=np.full_like(p, np.inf), where=q > 0)
    ratio[(q > 0) & (p == 0)] = 0.0
    order = np.argsort(ratio)
    ratio = ratio[order]
    sums = _Prefix(ratio, p[order], q[order])
    # c = 0 keeps every token but those with p = 0.
    start = np.searchsorted(ratio, np.maximum(values, np.nextafter(0.0, 1.0)), side="left")
    accepted = sums.q[-1] - sums.q[start]
    rejected = sums.q[start]
    if not drafted.any():
        accepted, rejected = np.zeros_like(accepted), np.ones_like(rejected)
    tv = {"residual": _tv_residual, "target": _tv_target, "argmax": _tv_argmax}[correction](p, q, sums, start, rejected)
    return Sweep("fixed", correction, values, accepted, tv)


class _Prefix:
    """Sums of p and q over the first i tokens in the order of p/q, shape ``(V + 1,)``."""

    def __init__(self, ratio: Array, p: Array, q: Array) -> None:
        self.ratio = ratio
        self.p = np.concatenate([[0.0], np.cumsum(p)])
        self.q = np.concatenate([[0.0], np.cumsum(q)])

    def gap(self, start: NDArray[np.intp], scale: Array) -> Array:
        """sum over the tokens from ``start`` on of |q - scale p|: the sign changes where p/q passes 1/scale."""
        with np.errstate(divide="ignore"):
            turn = np.maximum(start, np.searchsorted(self.ratio, 1.0 / scale, side="left"))
        below = (self.q[turn] - self.q[start]) - scale * (self.p[turn] - self.p[start])
        above = scale * (self.p[-1] - self.p[turn]) - (self.q[-1] - self.q[turn])
        return below + above


def _tv_residual(p: Array, q: Array, sums: _Prefix, start: NDArray[np.intp], rejected: Array) -> Array:
    if residual(p, q) is None:
        return _tv_target(p, q, sums, start, rejected)
    # For c <= 1 all tokens with p >= q are in A; the residual lives on them, and there out - p = (p - q)(rho/Z - 1).
    equal = np.searchsorted(sums.ratio, 1.0, side="left")
    start = np.minimum(start, equal)
    lack = (sums.p[-1] - sums.p[equal]) - (sums.q[-1] - sums.q[equal])
    kept = (sums.q[equal] - sums.q[start]) - (sums.p[equal] - sums.p[start])
    return 0.5 * (np.abs(rejected - lack) + kept + sums.p[start])


def _tv_target(p: Array, q: Array, sums: _Prefix, start: NDArray[np.intp], rejected: Array) -> Array:
    scale = 1.0 - rejected
    return 0.5 * (sums.gap(start, scale) + scale * sums.p[start])


def _tv_argmax(p: Array, q: Array, sums: _Prefix, start: NDArray[np.intp], rejected: Array) -> Array:
    top = int(p.argmax())
    ratio = p[top] / q[top] if q[top] > 0 else np.inf
    inside = sums.ratio[np.minimum(start, sums.ratio.size - 1)] <= ratio
    before = np.where(inside & (start < sums.ratio.size), np.abs(q[top] - p[top]), p[top])
    after = np.abs(np.where(inside & (start < sums.ratio.size), q[top], 0.0) + rejected - p[top])
    return 0.5 * (sums.gap(start, np.ones_like(rejected)) + sums.p[start] - before + after)


# --- the trade -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trade:
    """What a rule buys and what it costs. tokens: expected per block of ``tau`` at this acceptance; tv: its bias."""

    rule: Rule
    tau: int
    acceptance: float
    tokens: float
    tv: float


def trade(p: Array, q: Array, rules: Sequence[Rule], tau: int = 4) -> tuple[Trade, ...]:
    """Bias against expected tokens per block, as if every position of a block were like this one."""
    out = []
    for rule in rules:
        accepted, tv = _acceptance_and_tv(p, q, rule)
        out.append(Trade(rule, tau, accepted, expected_tokens(min(1.0, accepted), tau), tv))
    return tuple(out)


def trade_curve(line: Sweep, tau: int = 4) -> tuple[Array, Array]:
    """A sweep as points (expected tokens per block, TV), each of shape ``(N,)``."""
    tokens = np.array([expected_tokens(min(1.0, max(0.0, a)), tau) for a in line.acceptance.tolist()])
    return tokens, line.tv


def frontier(alpha: float, tau: int = 4) -> tuple[Array, Array]:
    """The least bias that any rule can have: points (expected tokens per block, TV), each of shape ``(101,)``.

    A rule that accepts a share a >= alpha has TV >= a - alpha: what it keeps, s <= q with sum s = a, exceeds p by
    sum max(0, s - p) >= sum (s - min(p, q)) = a - alpha, and drawing more never takes that away. Lenient acceptance and
    the ensemble lie on the line; a fixed threshold lies above it.
    """
    accepted = np.linspace(alpha, 1.0, 101)
    return np.array([expected_tokens(min(1.0, a), tau) for a in accepted.tolist()]), accepted - alpha
