"""The embedded pair judged like the toys: the third token of a block follows p under the exact rule and no other.

With top-k 3 the texts of three tokens are few enough to enumerate, though the models score the whole vocabulary.
"""

from dataclasses import replace

import numpy as np
import pytest

from specdec_core.acceptance import Rule
from specdec_core.decoding import decode
from specdec_core.distributions import Warp, total_variation
from specdec_core.models.protocol import Pair
from specdec_core.statistics import goodness_of_fit, power
from specdec_core.textlaw import position_law, text_law
from specdec_core.trace import Settings
from tests.conftest_models import real_pair  # noqa: F401
from tests.test_textlaw import NO_END, target_law

pytestmark = [pytest.mark.real_pair, pytest.mark.slow, pytest.mark.timeout(1800)]

TEXTS = 300
SETTINGS = Settings("She opened the door slowly and saw", "embedded", tau=4, max_new_tokens=3, top_k=3)
WARP = Warp(1.0, 3, 1.0)


def third_law(pair: Pair, rule: Rule) -> np.ndarray:
    law = text_law(pair, SETTINGS.prompt, rule, SETTINGS.tau, 3, WARP, NO_END)
    return position_law(law, 3, pair.target.vocabulary_size)[:-1]


def third_counts(pair: Pair, rule: Rule) -> np.ndarray:
    counts = np.zeros(pair.target.vocabulary_size, dtype=int)
    for seed in range(TEXTS):
        settings = replace(SETTINGS, rule=rule.name, parameter=rule.parameter, correction=rule.correction, seed=seed)
        emitted = [x.id for block in decode(pair, settings, trace=False, end_ids=NO_END) for x in block.emitted]
        counts[emitted[2]] += 1
    return counts


def test_the_third_token_of_a_block(real_pair):  # noqa: F811
    """Chi-square at level 0.001 over 300 decodings: two tests that could be wrong by chance, seeds fixed. The negative
    control must have a power above 0.97 and be found out.
    """
    target = position_law(target_law(real_pair, SETTINGS.prompt, 3, WARP), 3, real_pair.target.vocabulary_size)[:-1]
    exact = third_law(real_pair, Rule())
    # Enumeration scores each text in one uncached pass, as the other does: only the order of float64 sums differs.
    assert total_variation(exact, target) < 1e-9
    test = goodness_of_fit(third_counts(real_pair, Rule()), target)
    assert test.decidable and not test.rejected, test
    biased = third_law(real_pair, Rule("always"))
    assert power(target, biased, TEXTS) > 0.97
    counts = third_counts(real_pair, Rule("always"))
    assert goodness_of_fit(counts, target).rejected
    assert not goodness_of_fit(counts, biased).rejected
