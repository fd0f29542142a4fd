"""The generators by name, as the families' data files name them. A new one is a function and one entry here."""

from collections.abc import Callable, Mapping
from typing import Any

from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators import (
    block,
    conditioning,
    correction,
    counting,
    how_far,
    one_token,
    threshold,
)
from specdec_core.exercises.generators.base import Draft, Pools

Generator = Callable[[Draws, Mapping[str, Any], Pools], Draft]

GENERATORS: dict[str, Generator] = {
    "one_token": one_token.one_token,
    "two_tokens": one_token.two_tokens,
    "block": block.block,
    "outcomes": counting.outcomes,
    "several_blocks": counting.several_blocks,
    "backwards": counting.backwards,
    "seen_tokens": conditioning.seen_tokens,
    "formula": conditioning.formula,
    "statements": conditioning.statements,
    "small_draft": conditioning.small_draft,
    "correction": correction.correction,
    "bonus": correction.bonus,
    "fixed": threshold.fixed,
    "again_from_p": threshold.again_from_p,
    "choose_threshold": threshold.choose_threshold,
    "one_rate": how_far.one_rate,
    "from_pair": how_far.from_pair,
    "unequal": how_far.unequal,
    "speed": how_far.speed,
}
