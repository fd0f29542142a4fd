"""Positions of recorded real blocks that a lesson can show: their names in a link, their labels, and themselves.

Does not know: the screen, what a lesson does with a position.
"""

from functools import lru_cache

from specdec_core.models import recorded
from specdec_core.numbers import probability
from specdec_core.steps import verdict_word
from specdec_core.tokens import shown
from specdec_core.trace import InvalidTrace, Position
from specdec_core.words import BOOK, Notation, _

MOST = 60


@lru_cache(maxsize=1)
def positions() -> dict[str, tuple[str, int, Position]]:
    """Up to ``MOST`` recorded positions with their distributions, by name: (title of the trace, block, position).

    Rejected ones first, because there a correction was drawn.
    """
    found: list[tuple[str, str, int, Position]] = []
    for name in recorded.names():
        try:
            trace = recorded.load(name)
        except InvalidTrace:
            continue
        for block in trace.blocks:
            for x in block.positions[: block.judged]:
                if x.top and x.alpha is not None:
                    found.append((f"{name}.{block.index + 1}.{x.t}", trace.title or name, block.index + 1, x))
    found.sort(key=lambda entry: entry[3].verdict.value != "rejected")
    return {name: (title, block, x) for name, title, block, x in found[:MOST]}


def labels(notation: Notation = BOOK) -> dict[str, str]:
    """Names and what stands in the list. Plain text; tokens in it are literal."""
    return {
        name: _("{title}, block {block}, t = {t}: “{token}”, {p}/{q} = {ratio}, {verdict}").format(
            title=title,
            block=block,
            t=x.t,
            token=shown(x.token.text),
            p=notation.p,
            q=notation.q,
            ratio=probability(x.ratio) if x.ratio < 1 else f"{x.ratio:.2f}",
            verdict=verdict_word(x.verdict),
        )
        for name, (title, block, x) in positions().items()
    }


def find(name: str) -> Position | None:
    """The position of that name, None for an unknown one."""
    entry = positions().get(name)
    return entry[2] if entry else None
