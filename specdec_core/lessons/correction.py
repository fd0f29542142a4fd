"""The correction, token by token: what is kept, what is cut, what is lacking, what the residual is, what comes out.

One object feeds the picture, the table, the sentences and the CSV. It comes from two typed distributions, in exact
arithmetic, or from a recorded position, whose unlisted tokens stand in one last row.

Does not know: streamlit, figures, where the numbers come from.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from specdec_core.acceptance import Law, Rule, typed_law
from specdec_core.lessons.typed_pair import Preset, TypedPair, preset
from specdec_core.numbers import probability
from specdec_core.tables import spreadsheet_safe
from specdec_core.tokens import shown
from specdec_core.trace import Position, TopToken
from specdec_core.words import BOOK, Notation, _

WRONG = ("target", "argmax")
LISTED = 8


@dataclass(frozen=True)
class Piece:
    """One token's share of everything. ``others``: the row that stands for all tokens that are not listed."""

    token: str
    q: float
    p: float
    kept: float
    cut: float
    lack: float
    residual: float
    others: bool = False


@dataclass(frozen=True)
class Correction:
    """alpha = sum min(p, q) is kept; the rest of the mass goes where the residual says.

    nothing_left: p = q, so that there is no residual; ``rejected`` is 0 then. candidate: index of the piece that was
    proposed, where a position was recorded.
    """

    pieces: tuple[Piece, ...]
    alpha: float
    rejected: float
    candidate: int | None = None

    @property
    def nothing_left(self) -> bool:
        return self.rejected == 0

    @property
    def listed(self) -> tuple[Piece, ...]:
        """The pieces that are single tokens."""
        return tuple(x for x in self.pieces if not x.others)

    def share(self, piece: Piece) -> float:
        """(1 - alpha) residual(x): what the corrections add to this token."""
        return self.rejected * piece.residual

    def back(self, piece: Piece) -> float:
        """min(p, q) + (1 - alpha) residual, which is p."""
        return piece.kept + self.share(piece)


def of_pair(pair: TypedPair) -> Correction:
    """The correction of two typed distributions, exact until the last step."""
    kept = [min(a, b) for a, b in zip(pair.p, pair.q, strict=True)]
    alpha = sum(kept, Fraction(0))
    rest = 1 - alpha
    pieces = tuple(
        Piece(
            token,
            q=float(q),
            p=float(p),
            kept=float(k),
            cut=float(q - k),
            lack=float(p - k),
            residual=float((p - k) / rest) if rest else 0.0,
        )
        for token, q, p, k in zip(pair.tokens, pair.q, pair.p, kept, strict=True)
    )
    return Correction(pieces, float(alpha), float(rest))


def of_position(position: Position) -> Correction | None:
    """The correction at a recorded position; None where its distributions were not recorded.

    The last row holds every token that is not listed: the parts it needs to make each column whole.
    """
    if not position.top or position.alpha is None:
        return None
    rejected = max(0.0, 1.0 - position.alpha)
    listed = _listed(position)
    pieces = [
        Piece(x.token.text, x.q, x.p, min(x.p, x.q), max(0.0, x.q - x.p), max(0.0, x.p - x.q), x.residual)
        for x in listed
    ]
    q, p = _missing(1.0, [x.q for x in pieces]), _missing(1.0, [x.p for x in pieces])
    kept = min(_missing(position.alpha, [x.kept for x in pieces]), q, p)
    residual = _missing(1.0, [x.residual for x in pieces]) if rejected > 0 else 0.0
    if q > 0 or p > 0:
        pieces.append(Piece(_("all others"), q, p, kept, q - kept, p - kept, residual, others=True))
    candidate = next((i for i, x in enumerate(listed) if x.token.id == position.token.id), None)
    return Correction(tuple(pieces), position.alpha, rejected, candidate)


def _listed(position: Position) -> list[TopToken]:
    """The ``LISTED`` most likely tokens, and those that the sentences speak of: the candidate and two maxima."""
    top = position.top
    always = {max(top, key=lambda x: x.p).token, max(top, key=lambda x: x.residual).token, position.token}
    return [x for i, x in enumerate(top) if i < LISTED or x.token in always]


def _missing(whole: float, parts: Sequence[float]) -> float:
    rest = whole - sum(parts)
    return rest if rest > 1e-9 else 0.0  # what is left of rounding is no token


# --- what goes wrong ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """The law that one way to correct leads to. ``at_least``: tv sees listed tokens only, the true one may be more."""

    name: str
    output: tuple[float, ...]
    tv: float
    at_least: bool = False

    @property
    def exact(self) -> bool:
        return self.tv < 1e-12


def law(pair: TypedPair, correction: str) -> Law:
    """The exact law of one emitted token under the random rule with that correction."""
    return typed_law(pair.p_array, pair.q_array, Rule("random", correction=correction))


def outcome(correction: Correction, name: str) -> Outcome:
    """kept + (1 - alpha) what is drawn instead: the residual, p again ("target"), or the argmax of p."""
    pieces = correction.pieces
    drawn = _drawn(correction, name)
    output = tuple(x.kept + correction.rejected * d for x, d in zip(pieces, drawn, strict=True))
    off = np.array([a - x.p for a, x in zip(output, pieces, strict=True)])
    at_least = name == "target" and any(x.others and x.p > 0 for x in pieces)
    return Outcome(name, output, float(0.5 * np.abs(off).sum()), at_least)


def _drawn(correction: Correction, name: str) -> list[float]:
    pieces = correction.pieces
    if name == "residual":
        return [x.residual for x in pieces]
    if name == "target":
        return [x.p for x in pieces]
    best = int(np.argmax([x.p if not x.others else -1.0 for x in pieces]))
    return [float(i == best) for i in range(len(pieces))]


# --- in words -------------------------------------------------------------------------------------------------------


def summary(correction: Correction, notation: Notation = BOOK) -> str:
    """The picture in a sentence or two. Plain text; tokens in it are literal."""
    names = {"p": notation.p, "q": notation.q, "alpha": probability(correction.alpha)}
    if correction.nothing_left:
        return _("{p} = {q}: every candidate stays, and there is nothing left to correct.").format(**names)
    if correction.alpha == 0:
        return _("{p} and {q} share no token: every candidate falls, and the residual is {p} itself.").format(**names)
    lacking = [x for x in correction.listed if x.lack > 0]
    most = max(lacking, key=lambda x: x.lack, default=None)
    text = _("A candidate stays with probability α = {alpha}; otherwise one token is drawn from the residual.")
    if most is None:
        return text.format(**names)
    if len(lacking) == 1 and not any(x.others and x.lack > 0 for x in correction.pieces):
        only = _("{stays} That can only be “{token}”, the one token that {p} gives more than {q}.")
        return only.format(stays=text.format(**names), token=shown(most.token), **names)
    most_often = _("{stays} That is most often “{token}”, with {share}: there {p} exceeds {q} the most.")
    return most_often.format(
        stays=text.format(**names), token=shown(most.token), share=probability(most.residual), **names
    )


def wrong_sentence(correction: Correction, result: Outcome, notation: Notation = BOOK) -> str:
    """What drawing something else after a rejection does to the text. Plain text."""
    names = {"p": notation.p, "q": notation.q}
    if correction.nothing_left:
        return _("Nothing is ever corrected here, so nothing can go wrong.").format(**names)
    if result.name == "residual":
        return _("The kept parts and the residual's share add up to {p} for every token. Distance: 0.").format(**names)
    if result.exact:
        return _("With these numbers it happens to give {p} exactly.").format(**names)
    off = [(a - x.p, x) for a, x in zip(result.output, correction.pieces, strict=True) if not x.others]
    worst_off, worst = max(off, key=lambda pair: abs(pair[0]))
    got = probability(worst.p + worst_off)
    text = (
        _("“{token}” now comes with {got} instead of {p} = {meant}: too often. Total variation {tv}.")
        if worst_off > 0
        else _("“{token}” now comes with {got} instead of {p} = {meant}: too rarely. Total variation {tv}.")
    )
    tv = _("at least {value}") if result.at_least else "{value}"
    return text.format(
        token=shown(worst.token),
        got=got,
        meant=probability(worst.p),
        tv=tv.format(value=probability(result.tv)),
        **names,
    )


def identity_tex(notation: Notation = BOOK) -> str:
    """min(p, q) + (1 - alpha) residual = p, with names under its two parts."""
    p, q = notation.tex["p"], notation.tex["q"]
    kept, residual = (rf"\text{{{word}}}" for word in (_("kept"), _("residual")))
    return (
        rf"\underbrace{{\min({p}, {q})}}_{{{kept}}}"
        rf" + (1 - \alpha)\,\underbrace{{\frac{{\max(0, {p} - {q})}}{{1 - \alpha}}}}_{{{residual}}} = {p}"
    )


# --- CSV ------------------------------------------------------------------------------------------------------------

COLUMNS = ("token", "q", "p", "kept", "cut", "lack", "residual", "share", "sum")


def to_csv(correction: Correction) -> str:
    """One row per token: the numbers of the picture and of the table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for x in correction.pieces:
        row = [x.q, x.p, x.kept, x.cut, x.lack, x.residual, correction.share(x), correction.back(x)]
        writer.writerow([spreadsheet_safe(x.token), *row])
    return out.getvalue()


# --- examples -------------------------------------------------------------------------------------------------------


def presets() -> dict[str, Preset]:
    """Examples by name, the classic first."""
    found = (
        preset("classic", "mat sofa moon", "0.5 0.3 0.2", "0.1 0.6 0.3"),
        preset("equal", "mat sofa moon", "0.2 0.5 0.3", "0.2 0.5 0.3"),
        preset("disjoint", "mat sofa moon sea", "0.7 0.3 0 0", "0 0 0.4 0.6"),
        preset("greedy", "mat sofa moon", "1 0 0", "0 1 0"),
        preset("overconfident", "mat sofa moon sea", "0.9 0.05 0.03 0.02", "0.4 0.3 0.2 0.1"),
        preset("timid", "mat sofa moon sea", "0.25 0.25 0.25 0.25", "0.85 0.05 0.05 0.05"),
        preset(
            "eight",
            "a the one my his her our its",
            "0.3 0.2 0.15 0.1 0.1 0.05 0.05 0.05",
            "0.1 0.25 0.05 0.2 0.05 0.15 0.05 0.15",
        ),
    )
    return {x.name: x for x in found}


def preset_title(name: str, notation: Notation = BOOK) -> str:
    """The example's name on the screen."""
    return {
        "classic": _("Three tokens, the classic"),
        "equal": _("{p} = {q}: nothing left to correct").format(p=notation.p, q=notation.q),
        "disjoint": _("No token in common"),
        "greedy": _("Both sure, of different tokens"),
        "overconfident": _("An overconfident draft"),
        "timid": _("A timid draft"),
        "eight": _("Eight tokens"),
    }[name]
