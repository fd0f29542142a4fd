"""Why the threshold is random: the same p, q and candidates under r ~ U(0,1) and under a fixed c, side by side.

Typed numbers are compared as on paper (fractions), so that p/q = 0.1/0.2 against c = 0.5 is a tie, and kept.

Does not know: streamlit, figures.
"""

import csv
import io
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from specdec_core.acceptance import Law, Rule, exactly, output_law, typed_law
from specdec_core.distributions import draw, total_variation, uniforms
from specdec_core.lessons.typed_pair import Preset, TypedPair, preset
from specdec_core.numbers import probability, ratio
from specdec_core.tables import spreadsheet_safe
from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _

SAMPLES = 20
EXACT = 1e-12


class Fate(StrEnum):
    """What a fixed threshold does to a token whenever the draft proposes it."""

    KEPT = "kept"
    THROWN = "thrown away"
    IMPOSSIBLE = "impossible"
    NEVER_DRAFTED = "never drafted"


@dataclass(frozen=True)
class TokenRow:
    """One token under both rules. ratio is p/q, None where q = 0; often is P(kept) under the random rule."""

    token: str
    q: float
    p: float
    ratio: float | None
    often: float
    fate: Fate
    fixed: float

    @property
    def off(self) -> float:
        """How much more (or less) often than p the fixed threshold lets the token come."""
        return self.fixed - self.p


@dataclass(frozen=True)
class Comparison:
    """Both rules on one pair. best_c: the threshold in [0, 1] whose law is nearest to p, and how near (best_tv)."""

    pair: TypedPair
    c: float
    rows: tuple[TokenRow, ...]
    random: Law
    fixed: Law
    best_c: float
    best_tv: float

    @property
    def exact(self) -> bool:
        """Whether this c gives p after all."""
        return self.fixed.tv < EXACT

    @property
    def keeps_all(self) -> bool:
        """Whether c throws nothing away that the draft can propose."""
        return all(x.fate in (Fate.KEPT, Fate.NEVER_DRAFTED) for x in self.rows)

    @property
    def keeps_none(self) -> bool:
        return not any(x.fate is Fate.KEPT for x in self.rows)

    @property
    def vanished(self) -> tuple[TokenRow, ...]:
        """Tokens that p allows and that can no longer appear."""
        return tuple(x for x in self.rows if x.p > 0 and x.fixed == 0)


def compare(pair: TypedPair, c: float) -> Comparison:
    """The laws of one emitted token under the random rule and under the fixed threshold ``c``."""
    p, q = pair.p_array, pair.q_array
    random, fixed = typed_law(p, q), typed_law(p, q, Rule("fixed", c))
    fates = [fate(a, b, exactly(c)) for a, b in zip(pair.p, pair.q, strict=True)]
    # The fates above and the law come from one comparison: exact fractions, ties kept.
    fixed = output_law(p, q, Rule("fixed", c), np.array([float(f is Fate.KEPT) for f in fates]))
    rows = tuple(
        TokenRow(
            token=token,
            q=float(b),
            p=float(a),
            ratio=float(a / b) if b else None,
            often=float(min(Fraction(1), a / b)) if b else 0.0,
            fate=f,
            fixed=float(out),
        )
        for token, a, b, f, out in zip(pair.tokens, pair.p, pair.q, fates, fixed.output, strict=True)
    )
    best_c, best_tv = best_threshold(pair)
    return Comparison(pair, c, rows, random, fixed, best_c, best_tv)


def fate(p: Fraction, q: Fraction, c: Fraction) -> Fate:
    """What threshold ``c`` does to a token with these probabilities. Equality keeps."""
    if q == 0:
        return Fate.NEVER_DRAFTED
    if p == 0:
        return Fate.IMPOSSIBLE
    return Fate.KEPT if p >= c * q else Fate.THROWN


def best_threshold(pair: TypedPair) -> tuple[float, float]:
    """The fixed threshold whose law is nearest to p, and the distance that remains. The larger c on a tie.

    The law only changes where c passes some p/q, so trying those, and 1, tries every c there is.
    """
    ratios = {a / b for a, b in zip(pair.p, pair.q, strict=True) if b and 0 < a / b <= 1}
    found = []
    for c in sorted(ratios | {Fraction(1)}, reverse=True):
        kept = np.array([float(fate(a, b, c) is Fate.KEPT) for a, b in zip(pair.p, pair.q, strict=True)])
        out = output_law(pair.p_array, pair.q_array, Rule("fixed", 0.5), kept).output
        found.append((total_variation(out, pair.p_array), -float(c)))
    tv, negative = min(found)
    return -negative, tv


# --- the same candidates under both rules ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """One drafted candidate, its draw, and what each rule does with it. bar is min(1, p/q)."""

    n: int
    token: str
    bar: float
    r: float
    random_keeps: bool
    fixed_keeps: bool


def samples(comparison: Comparison, seed: int, n: int = SAMPLES) -> tuple[Sample, ...]:
    """``n`` candidates drawn from q, each with its own r. Draft draws and r come from two separate streams."""
    pair = comparison.pair
    draft, second = (np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(2))
    drawn = [draw(pair.q_array, u) for u in uniforms(draft, n)]
    found = []
    for i, (x, r) in enumerate(zip(drawn, uniforms(second, n), strict=True), start=1):
        p, q = pair.p[x], pair.q[x]
        stays = bool(Rule().accepts(p, q, exactly(float(r))))
        row = comparison.rows[x]
        found.append(Sample(i, pair.tokens[x], row.often, float(r), stays, row.fate is Fate.KEPT))
    return tuple(found)


# --- in words -------------------------------------------------------------------------------------------------------


def random_words(row: TokenRow) -> str:
    """What the random rule does to a token, in words."""
    if row.fate is Fate.NEVER_DRAFTED:
        return _("never drafted")
    if row.often == 1:
        return _("always kept")
    if row.often == 0:
        return _("never kept")
    return _("stays with {often}").format(often=probability(row.often))


def fixed_words(row: TokenRow) -> str:
    """What the fixed threshold does to a token, in words."""
    return {
        Fate.KEPT: _("always kept"),
        Fate.THROWN: _("always thrown away"),
        Fate.IMPOSSIBLE: _("never kept"),
        Fate.NEVER_DRAFTED: _("never drafted"),
    }[row.fate]


def ratio_words(row: TokenRow) -> str:
    """p/q as shown in the table; a token that is never drafted has none."""
    return "–" if row.ratio is None else ratio(row.ratio)


def conclusion(x: Comparison, notation: Notation = BOOK) -> str:
    """What the numbers on the page say, true for every c and every pair. Plain text; tokens in it are literal."""
    names = {"p": notation.p, "q": notation.q, "c": f"{x.c:g}", "tv": probability(x.fixed.tv)}
    if x.pair.p == x.pair.q:
        return _("{p} = {q}: every ratio is 1, so every threshold keeps every candidate, and nothing is lost.").format(
            **names
        )
    if x.exact:
        return _(
            "Here c = {c} gives {p} exactly, but only because chance has no part in it: every token that the draft"
            " proposes has {p}/{q} = 0 or at least 1, so the random rule, too, keeps it never or always."
        ).format(**names)
    if x.keeps_all:
        return _(
            "c = {c} lies so low that it keeps everything the draft proposes. What comes out is the draft's {q},"
            " at total variation {tv} from {p}: the target has no say."
        ).format(**names)
    if x.keeps_none:
        return _(
            "c = {c} throws every candidate away. What comes out is the residual, at total variation {tv} from {p}:"
            " a token that {q} gives at least as much as {p} can no longer appear."
        ).format(**names)
    return _between(x, names)


def _between(x: Comparison, names: dict[str, str]) -> str:
    often = max(x.rows, key=lambda row: row.off)
    more = names | {"often": shown(often.token), "got": probability(often.fixed), "meant": probability(often.p)}
    if x.vanished:
        gone = max(x.vanished, key=lambda row: row.p)
        return _(
            "c = {c} throws “{gone}” away every time, so it never appears, although the target gives it {lost}."
            " “{often}” comes with {got} instead of {meant}. Total variation from {p}: {tv}."
        ).format(gone=shown(gone.token), lost=probability(gone.p), **more)
    rare = min(x.rows, key=lambda row: row.off)
    return _(
        "“{often}” comes with {got} instead of {meant}, and “{rare}” with {less} instead of {due}."
        " Total variation from {p}: {tv}."
    ).format(rare=shown(rare.token), less=probability(rare.fixed), due=probability(rare.p), **more)


def best_words(x: Comparison, notation: Notation = BOOK) -> str:
    """Whether another c would do. Plain text."""
    names = {"p": notation.p, "q": notation.q, "best": ratio(x.best_c), "tv": probability(x.best_tv)}
    if x.best_tv < EXACT:
        text = _("Change the table so that some {p}/{q} lies between 0 and 1, and no c gives {p} any more.")
    else:
        text = _("No c mends it: even the best one for this table, c = {best}, misses {p} by {tv}.")
    return text.format(**names)


# --- CSV ------------------------------------------------------------------------------------------------------------

COLUMNS = ("token", "q", "p", "ratio", "kept_random", "kept_fixed", "output_random", "output_fixed")


def to_csv(x: Comparison) -> str:
    """One row per token: what both rules do to it, and how often it comes out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row, random in zip(x.rows, x.random.output, strict=True):
        ratio_cell = "" if row.ratio is None else row.ratio
        kept = float(row.fate is Fate.KEPT)
        writer.writerow(
            [spreadsheet_safe(row.token), row.q, row.p, ratio_cell, row.often, kept, float(random), row.fixed]
        )
    return out.getvalue()


# --- examples -------------------------------------------------------------------------------------------------------


def presets() -> dict[str, Preset]:
    """Examples by name; the first loses a token at c = 0.5."""
    found = (
        preset("vanishes", "mat sofa moon", "0.5 0.3 0.2", "0.1 0.6 0.3"),
        preset("drafts", "mat sofa moon", "0.6 0.25 0.15", "0.4 0.35 0.25"),
        preset("tie", "mat sofa moon", "0.4 0.3 0.3", "0.2 0.4 0.4"),
        preset("between", "mat sofa moon sea sky", "0.4 0.3 0.2 0.1 0", "0.1 0.2 0.2 0.3 0.2"),
        preset("residual", "mat sofa moon sea", "0.5 0.5 0 0", "0.2 0.2 0.3 0.3"),
        preset("equal", "mat sofa moon", "0.2 0.5 0.3", "0.2 0.5 0.3"),
        preset("certain", "mat sofa moon", "0.5 0.3 0.2", "0 0.6 0.4"),
    )
    return {x.name: x for x in found}


def preset_title(name: str, notation: Notation = BOOK) -> str:
    """The example's name on the screen."""
    return {
        "vanishes": _("At c = 0.5 a token vanishes"),
        "drafts": _("At c = 0.5 the draft's text comes out"),
        "tie": _("A tie at c = 0.5"),
        "between": _("Five tokens, a bit of everything"),
        "residual": _("At c = 0.5 everything is thrown away"),
        "equal": _("{p} = {q}").format(p=notation.p, q=notation.q),
        "certain": _("No chance involved"),
    }[name]
