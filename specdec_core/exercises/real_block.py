"""Questions from a block that really happened: of the live page, a recording or a lesson.

Real numbers are long. They are shown rounded, and the question is decided from what is shown; a block (or a candidate)
whose verdicts would come out otherwise from the rounded numbers is refused, never quietly changed.

Does not know: where the block came from, the screen.
"""

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction

from specdec_core.acceptance import Verdict
from specdec_core.exercises.bank import EDITION, build, checked_seed, family_named
from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import Draft, stays
from specdec_core.exercises.generators.block import Row, block_draft
from specdec_core.exercises.generators.conditioning import seen_draft
from specdec_core.exercises.generators.one_token import token_draft
from specdec_core.exercises.question import Question
from specdec_core.exercises.values import decimal
from specdec_core.trace import Block, Position
from specdec_core.words import _

FAMILY = "real_block"
#: Places after the point that are tried, fewest first.
PLACES = (2, 3, 4, 5)
#: A comparison closer than this, as shown, is no fair question.
_NEAR = Fraction(1, 200)
_FINEST = 8
_MOST = 8
_CONTEXT = 4


class UnsuitableBlock(ValueError):
    """No question of this level can be made from the block. ``str(error)`` is one sentence saying why."""


def from_block(block: Block, level: int, seed: int = 0, context: Sequence[str] = ()) -> Question:
    """A question of family 8 from ``block``. context: texts of the verified tokens before it (the last few are shown).

    The same block, level and seed give the same question. Raises UnsuitableBlock when none can be made, ValueError for
    an unknown level or a seed out of range.
    """
    spec = family_named(FAMILY)
    chosen = spec.level(level)
    draws = Draws(EDITION, FAMILY, level, checked_seed(seed))
    draft = _MAKERS[chosen.generator](draws, block, tuple(context)[-_CONTEXT:])
    return build(spec, chosen, seed, draft, source=fingerprint(block))


def suitable_levels(block: Block, context: Sequence[str] = ()) -> tuple[int, ...]:
    """The levels for which ``from_block`` makes a question of this block."""
    found = []
    for level in family_named(FAMILY).levels:
        try:
            from_block(block, level.level, 0, context)
        except UnsuitableBlock:
            continue
        found.append(level.level)
    return tuple(found)


def fingerprint(block: Block) -> str:
    """Eight hex digits that tell blocks apart by what decided them."""
    facts = [(x.t, x.token.text, repr(x.q), repr(x.p), repr(x.r)) for x in block.positions]
    return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()[:8]


def _by_the_random_rule(block: Block) -> None:
    if any(x.level != x.r for x in block.positions):
        raise UnsuitableBlock(
            _("This block was judged by another rule than the random one; the questions ask about the random rule.")
        )
    if not 1 <= block.tau <= _MOST:
        raise UnsuitableBlock(
            _("This block has {tau} candidates; a question shows 1 to {most}.").format(tau=block.tau, most=_MOST)
        )


def _rounded(value: Fraction, places: int) -> Fraction:
    """So many places, or as many as two significant digits of a small number need; below 10^-8 it is 0."""
    while places < _FINEST and 0 < value < Fraction(10, 10**places):
        places += 1
    return Fraction(decimal(value, places))


def _shown(x: Position, places: int) -> Row | None:
    """The candidate as shown with so many places; None where that is not fair to the real numbers."""
    q, p, r = (_rounded(Fraction(value), places) for value in (x.q, x.p, x.r))
    if q == 0:
        return None
    near = abs(r - p / q) < _NEAR and p > 0
    real = stays(Fraction(x.p), Fraction(x.q), Fraction(x.r))
    # The ratio as shown must also be the real one to within the two places that are asked for.
    drifted = min(p / q, Fraction(2)) - min(Fraction(x.p) / Fraction(x.q), Fraction(2))
    if near or stays(p, q, r) != real or abs(drifted) > Fraction(1, 20):
        return None
    return Row(x.token.text, q, p, r)


def _rows(block: Block) -> list[Row]:
    _by_the_random_rule(block)
    for places in PLACES:
        rows = [_shown(x, places) for x in block.positions]
        if all(rows):
            return [row for row in rows if row]
    raise UnsuitableBlock(
        _("Rounded for reading, this block would be decided otherwise or too narrowly; choose another block.")
    )


def _token(draws: Draws, block: Block, context: Sequence[str]) -> Draft:
    _by_the_random_rule(block)
    judged = [x for x in block.positions if x.verdict is not Verdict.NOT_REACHED]
    for x in draws.shuffled(judged):
        for places in PLACES:
            row = _shown(x, places)
            if row:
                before = (*context, *(y.token.text for y in block.positions[: x.t - 1]))
                return token_draft(draws, before, row.token, row.q, row.p, row.r, lenient=True)
    raise UnsuitableBlock(_("No candidate of this block can be judged from rounded numbers; choose another block."))


def _table(draws: Draws, block: Block, context: Sequence[str]) -> Draft:
    return block_draft(draws, context, _rows(block), lenient=True)


def _counterfactual(draws: Draws, block: Block, context: Sequence[str]) -> Draft:
    if block.first_rejected is None:
        raise UnsuitableBlock(_("Nothing was rejected in this block, so there is no smaller draw to ask about."))
    return block_draft(draws, context, _rows(block), lenient=True)


def _seen(draws: Draws, block: Block, context: Sequence[str]) -> Draft:
    if not 3 <= block.tau <= _MOST:
        raise UnsuitableBlock(_("This question needs a block of three to eight candidates."))
    tokens = [x.token.text for x in block.positions]
    return seen_draft(context, tokens, draws.between(2, block.tau - 1))


_MAKERS: dict[str, Callable[[Draws, Block, Sequence[str]], Draft]] = {
    "real_token": _token,
    "real_table": _table,
    "real_seen": _seen,
    "real_counterfactual": _counterfactual,
}
