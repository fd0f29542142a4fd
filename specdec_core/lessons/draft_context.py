"""What each distribution of a block is conditioned on: the draft's, step by step, and the target's, in one pass.

A block here is words, not a model's tokens: input X, verified Y, candidates. One object feeds the brackets, the
formula with the tokens filled in, the two triangles and the sentences.

Does not know: streamlit, figures, models.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _, ngettext

MAX_CANDIDATES, MAX_WORDS = 8, 24
MAX_CHARACTERS = 200


class Part(StrEnum):
    """What a token is for the position that is asked about."""

    INPUT = "input"
    VERIFIED = "verified"
    OWN = "own"
    ITSELF = "itself"
    LATER = "later"


@dataclass(frozen=True)
class Situation:
    """A block in words."""

    x: tuple[str, ...]
    verified: tuple[str, ...]
    candidates: tuple[str, ...]

    @property
    def tau(self) -> int:
        return len(self.candidates)

    def seen(self, t: int) -> tuple[tuple[Part, tuple[str, ...]], ...]:
        """What q and p at position t are given, in order. Parts without tokens are left out."""
        parts = ((Part.INPUT, self.x), (Part.VERIFIED, self.verified), (Part.OWN, self.candidates[: t - 1]))
        return tuple((part, tokens) for part, tokens in parts if tokens)

    def count(self, t: int) -> int:
        """How many tokens position t is given."""
        return sum(len(tokens) for _part, tokens in self.seen(t))

    def sees(self, t: int, column: int) -> bool:
        """Whether position t is given candidate ``column`` (both from 1). Position tau + 1 is the bonus's."""
        return column < t


def read(x: str, verified: str, candidates: str) -> tuple[Situation | None, tuple[str, ...]]:
    """The three typed texts as a situation, or what is wrong with them, a plain sentence each."""
    words = {_("The input"): x.split(), _("The verified text"): verified.split()}
    problems = [
        _("{name} has {n} words; the picture takes at most {high}.").format(name=name, n=len(found), high=MAX_WORDS)
        for name, found in words.items()
        if len(found) > MAX_WORDS
    ]
    drafted = candidates.split()
    if not drafted:
        problems.append(_("There is no candidate. Type at least one word."))
    if len(drafted) > MAX_CANDIDATES:
        problems.append(
            _("There are {n} candidates; the picture takes at most {high}.").format(n=len(drafted), high=MAX_CANDIDATES)
        )
    if not x.split() and not verified.split():
        problems.append(_("Input and verified text are both blank: the draft needs at least one word to begin from."))
    if problems:
        return None, tuple(problems)
    return Situation(tuple(x.split()), tuple(verified.split()), tuple(drafted)), ()


DEFAULTS = {"x": "Tell me a story.", "y": "The cat sat", "c": "on the mat and"}


# --- symbols and formula --------------------------------------------------------------------------------------------

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def subscript(n: int) -> str:
    """``n`` in subscript digits."""
    return str(n).translate(_SUBSCRIPTS)


def candidate_symbol(t: int, notation: Notation = BOOK) -> str:
    """The candidate at t, in letters of the notation: ŷᵢ₊₂, x₂, x̃₂."""
    index = f"ᵢ₊{subscript(t)}" if notation.name == "book" else subscript(t)
    return f"{notation.candidate}{index}"


def part_label(part: Part, notation: Notation = BOOK) -> str:
    """What stands under a bracket."""
    symbols = {"book": ("X", "Y≤ᵢ"), "leviathan": ("prefix", "prefix"), "chen": ("x₁…xₙ", "x₁…xₙ")}
    x, y = symbols[notation.name]
    return {
        Part.INPUT: _("input, {symbol}").format(symbol=x),
        Part.VERIFIED: _("verified, {symbol}").format(symbol=y),
        Part.OWN: _("its own earlier candidates"),
        Part.ITSELF: _("to be drawn"),
        Part.LATER: _("not drafted yet"),
    }[part]


def formula_tex(t: int, notation: Notation = BOOK) -> str:
    """q at position t with all that it is conditioned on, as that publication writes it. TeX without dollar signs."""
    q, y = notation.tex["q"], notation.tex["candidate"]
    book = notation.name == "book"
    own = [f"{y}_{{i+{k}}}" if book else f"{y}_{{{k}}}" for k in range(1, t)]
    if len(own) > 4:
        own = [own[0], own[1], r"\ldots", own[-1]]
    before = {"book": ["X", r"Y_{\le i}"], "leviathan": [r"\mathit{prefix}"], "chen": [r"x_1, \ldots, x_n"]}
    given = ", ".join([*before[notation.name], *own])
    if book:
        return rf"\Pr\nolimits_{{{q}}}(\, y_{{i+{t}}} \mid {given} \,)"
    return rf"{q}_{{{t}}}(x) = {q}(\, x \mid {given} \,)"


def filled(situation: Situation, t: int, notation: Notation = BOOK) -> list[tuple[str, str]]:
    """The formula with the tokens in it, as pieces of text with the part they belong to ("" for the rest)."""
    pieces: list[tuple[str, str]] = [(f"{notation.q}( ? | ", "")]
    for i, (part, tokens) in enumerate(situation.seen(t)):
        joined = " ".join(tokens) if part is not Part.OWN else "”, “".join(tokens)
        pieces += [(", ", "")] if i else []
        pieces.append((f"“{joined}”", part.value))
    return [*pieces, (" )", "")]


# --- in words -------------------------------------------------------------------------------------------------------


def sentence(situation: Situation, t: int, notation: Notation = BOOK) -> str:
    """What the draft sees at position t. Plain text."""
    own = t - 1
    if own == 0:
        return _(
            "For its first candidate the draft sees the input and the verified tokens, {n} in all, and nothing else."
        ).format(n=situation.count(t))
    return ngettext(
        "For candidate {t} it sees all that, and {own} candidate of its own, right or wrong: {n} tokens in all.",
        "For candidate {t} it sees all that, and {own} candidates of its own, right or wrong: {n} tokens in all.",
        own,
    ).format(t=t, own=own, n=situation.count(t))


def triangle_text(situation: Situation, target: bool) -> str:
    """The triangle in words: its text alternative."""
    rows = situation.tau + 1 if target else situation.tau
    lines = [
        _("Row {t}: the input, the verified tokens and candidates: {own}.").format(
            t=t, own=", ".join(f"“{shown(c)}”" for c in situation.candidates[: t - 1]) or _("none")
        )
        for t in range(1, rows + 1)
    ]
    return " ".join(lines)


# --- ask first ------------------------------------------------------------------------------------------------------

ASKED_T = 3


def asked() -> Situation:
    """The worked example of the question: verified “The cat sat”, drafted “on the”, candidate 3 is next."""
    return Situation(("Tell me a story.",), ("The", "cat", "sat"), ("on", "the", "?", "?"))


def choices() -> dict[str, str]:
    """What can be chosen as seen by candidate 3: names and plain texts."""
    s = asked()
    out = {"x": _("the input “{text}”").format(text=s.x[0])}
    out |= {f"y{i}": token for i, token in enumerate(s.verified, start=1)}
    out |= {f"c{i}": token for i, token in enumerate(s.candidates[: ASKED_T - 1], start=1)}
    return out | {"c3": _("candidate 3 itself"), "c4": _("candidate 4")}


def right_choice(chosen: Collection[str]) -> bool:
    """Whether exactly what candidate 3 is conditioned on was chosen."""
    return set(chosen) == set(choices()) - {"c3", "c4"}


def feedback(chosen: Collection[str]) -> str:
    """A word on the choice: the slip that matters most, or why it is right. Plain text."""
    got = set(chosen)
    if not got:
        return _("Choose everything that candidate 3 is conditioned on.")
    if "c4" in got:
        return _("Candidate 4 does not exist yet when candidate 3 is drawn: the draft goes one step at a time.")
    if "c3" in got:
        return _("Candidate 3 is what is being drawn. A distribution is not given its own outcome.")
    if not got & {"c1", "c2"}:
        return _("The draft does not guess each position on its own: it reads what it has drafted so far.")
    if not {"c1", "c2"} <= got:
        return _("One of its own candidates is missing: it reads both, and in their order.")
    if "x" not in got:
        return _("The input is still there: every token of the text is written with it in view.")
    if not {"y1", "y2", "y3"} <= got:
        return _("A verified token is missing: the draft reads all of them, not the last one only.")
    return _("Right: the input, all verified tokens, and its own “on” and “the”, although nobody has verified those.")
