"""A place in the bias lab: two distributions of one next token, and what is computed of them, kept while it is used.

What depends on the place alone (a sort over the vocabulary, sweeps) is computed once, so that moving a threshold costs
one pass over the vocabulary.

Does not know: the screen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from specdec_core.acceptance import RULES, Law, Rule, output_law, typed_law
from specdec_core.bias import Comparison, Sweep, Trade, compare, sweep, trade
from specdec_core.contexts import pair_at, token_texts
from specdec_core.distributions import Array, Warp
from specdec_core.lessons.typed_pair import TypedPair
from specdec_core.theory import acceptance_rate

#: How many tokens the picture shows by name.
SHOWN = 8
#: Typed numbers are meant in decimal: 0.07/0.1 is 0.7 on paper and a little more or less in floats. A threshold that is
#: lower by this share lets every such tie fall as on paper, and nothing else that a person could type.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Place:
    """p and q, each of shape ``(V,)``. ``key`` says which they are: places of one key are the same.

    labels: the texts of token ids. typed: the numbers were typed by a person, so ties count as on paper.
    """

    key: str
    p: Array
    q: Array
    labels: Callable[[Sequence[int]], list[str]]
    typed: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def alpha(self) -> float:
        """sum min(p, q), never above 1."""
        return min(1.0, acceptance_rate(self.p, self.q))

    def in_floats(self, rule: Rule) -> Rule:
        """The rule to calculate with in floats, so that typed ties fall as on paper."""
        if self.typed and rule.name == "fixed" and rule.parameter:
            return Rule("fixed", rule.parameter * (1 - _TIE), rule.correction)
        return rule


def typed_place(pair: TypedPair, key: str) -> Place:
    """A place of typed numbers."""
    tokens = pair.tokens
    return Place(f"typed {key}", pair.p_array, pair.q_array, lambda ids: [tokens[i] for i in ids], typed=True)


@lru_cache(maxsize=16)
def recorded_place(name: str, temperature: float) -> Place:
    """A recorded place at a temperature; shared by all visitors. Raises InvalidContext."""
    p, q = pair_at(name, Warp(temperature))
    for array in (p, q):
        array.flags.writeable = False
    return Place(f"recorded {name} {temperature:g}", p, q, token_texts)


# --- what is computed -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def law(place: Place, rule: Rule) -> Law:
    """The exact law of one emitted token."""
    return typed_law(place.p, place.q, rule) if place.typed else output_law(place.p, place.q, rule)


def comparison(place: Place, rules: Sequence[Rule], k: int = SHOWN) -> Comparison:
    """The laws of all rules beside p and q."""
    return compare(place.p, place.q, rules, k, [law(place, rule) for rule in rules])


@lru_cache(maxsize=96)
def swept(place: Place, rule: str, correction: str) -> Sweep:
    """Bias and acceptance for every value of a rule's number; fewer values where each costs a pass of its own."""
    known = RULES[rule].parameter
    assert known is not None
    at = np.linspace(known.low, known.high, 101 if rule == "fixed" or place.typed else 20)
    if place.typed and rule == "fixed":
        found = sweep(place.p, place.q, rule, correction, at * (1 - _TIE))
        return Sweep(rule, correction, at, found.acceptance, found.tv)
    return sweep(place.p, place.q, rule, correction, at)


def trades(place: Place, rules: Sequence[Rule], tau: int) -> tuple[Trade, ...]:
    """What each rule buys, and its price."""
    found = trade(place.p, place.q, [place.in_floats(rule) for rule in rules], tau)
    return tuple(Trade(rule, x.tau, x.acceptance, x.tokens, x.tv) for rule, x in zip(rules, found, strict=True))
