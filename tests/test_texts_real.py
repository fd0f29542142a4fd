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

SETTINGS = Settings("She opened the door slowly and saw", "embedded", tau=4, max_new_tokens=3, top_k=3)
WARP = Warp(1.0, 3, 1.0)
#: How many texts are made: the fewest that find a rule out with this power; the exact rule has to stand the most.
MANY = (100, 300, 600)
POWER = 0.97
BIASED = [
    Rule("always"),
    Rule("fixed"),
    Rule("lenient"),
    Rule("ensemble"),
    Rule("never"),
    Rule("random", correction="target"),
    Rule("random", correction="argmax"),
]


def third_law(pair: Pair, rule: Rule) -> np.ndarray:
    law = text_law(pair, SETTINGS.prompt, rule, SETTINGS.tau, 3, WARP, NO_END)
    return position_law(law, 3, pair.target.vocabulary_size)[:-1]


def target_third_law(pair: Pair) -> np.ndarray:
    return position_law(target_law(pair, SETTINGS.prompt, 3, WARP), 3, pair.target.vocabulary_size)[:-1]


def third_counts(pair: Pair, rule: Rule, texts: int) -> np.ndarray:
    counts = np.zeros(pair.target.vocabulary_size, dtype=int)
    for seed in range(texts):
        settings = replace(SETTINGS, rule=rule.name, parameter=rule.parameter, correction=rule.correction, seed=seed)
        emitted = [x.id for block in decode(pair, settings, trace=False, end_ids=NO_END) for x in block.emitted]
        counts[emitted[2]] += 1
    return counts


def test_the_third_token_follows_p(real_pair):  # noqa: F811
    """Chi-square at level 0.001 over 600 decodings: wrong by chance once in a thousand seeds, and these are fixed."""
    target = target_third_law(real_pair)
    # Enumeration scores each text in one uncached pass, as the other does: only the order of float64 sums differs.
    assert total_variation(third_law(real_pair, Rule()), target) < 1e-9
    test = goodness_of_fit(third_counts(real_pair, Rule(), MANY[-1]), target)
    assert test.decidable and not test.rejected, test


@pytest.mark.parametrize("rule", BIASED, ids=lambda rule: f"{rule.name}-{rule.correction}")
def test_no_biased_rule_passes(real_pair, rule):  # noqa: F811
    """The negative control: the same test must reject each biased rule, and does so with a probability above 0.97; what
    came out must fit the rule's own law, which at level 0.001 fails by chance once in a thousand seeds.
    """
    target, biased = target_third_law(real_pair), third_law(real_pair, rule)
    texts = next(n for n in MANY if power(target, biased, n) > POWER)
    counts = third_counts(real_pair, rule, texts)
    assert goodness_of_fit(counts, target).rejected
    assert not goodness_of_fit(counts, biased).rejected
