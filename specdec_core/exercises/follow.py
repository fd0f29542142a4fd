"""Follow-through: what a step's answer would be, had the person's own earlier answer been right.

One registry of small functions; a question names one and gives it numbers, so that follow-through travels in files.

Does not know: points, feedback.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from specdec_core.exercises.question import Answer, Follow, Step

Numbers = Mapping[str, Fraction]
Function = Callable[[Step, list[Answer], Numbers], Answer]


def _decide(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """accepted where the own ratio reaches ``r``."""
    ratio = own[0]
    return ("accepted" if ratio >= numbers["r"] else "rejected") if isinstance(ratio, Fraction) else None


def _clip(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The smaller of 1 and the own ratio."""
    value = own[0]
    return min(Fraction(1), value) if isinstance(value, Fraction) else None


def _linear(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """factor * own + add."""
    value = own[0]
    if not isinstance(value, Fraction):
        return None
    return numbers.get("factor", Fraction(1)) * value + numbers.get("add", Fraction(0))


def _sum(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The own answers added up, plus ``add``."""
    values = [v for v in own if isinstance(v, Fraction)]
    return sum(values, numbers.get("add", Fraction(0))) if len(values) == len(own) else None


def _quotient(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """numerator / own."""
    value = own[0]
    return numbers["numerator"] / value if isinstance(value, Fraction) and value != 0 else None


def _power(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """own to the power of ``exponent``."""
    value = own[0]
    return value ** int(numbers["exponent"]) if isinstance(value, Fraction) and _sane(value) else None


def _powers(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """1 + own + own^2 + ... up to ``exponent``."""
    value = own[0]
    if not isinstance(value, Fraction) or not _sane(value):
        return None
    return sum((value**k for k in range(int(numbers["exponent"]) + 1)), Fraction(0))


def _divided(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """own / ``denominator``."""
    value = own[0]
    return value / numbers["denominator"] if isinstance(value, Fraction) else None


def _product(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The own answers multiplied."""
    result = Fraction(1)
    for value in own:
        if not isinstance(value, Fraction):
            return None
        result *= value
    return result


def _count_before(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """n_a from the own first rejected position: options t1, t2, ...; "none" gives ``tau``."""
    t = _position(own[0])
    if own[0] == "none":
        return numbers["tau"]
    return Fraction(t - 1) if t else None


def _positions_after(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The positions after the own first rejected one; the option "none" where there are none."""
    t = numbers["tau"] if own[0] == "none" else _position(own[0])
    if t is None:
        return None
    after = tuple(o.id for o in step.options if (_position(o.id) or 0) > t)
    return after or (("none",) if any(o.id == "none" for o in step.options) else None)


def _first_after(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The first rejected position from the own n_a."""
    n = own[0]
    if not isinstance(n, Fraction) or not 0 <= n <= numbers["tau"]:
        return None
    return "none" if n == numbers["tau"] else f"t{n + 1}"


def _source_of_next(step: Step, own: list[Answer], numbers: Numbers) -> Answer:
    """The next token's source from the own n_a: bonus where it is ``tau``, residual below."""
    n = own[0]
    if not isinstance(n, Fraction) or not 0 <= n <= numbers["tau"]:
        return None
    return "bonus" if n == numbers["tau"] else "residual"


def _position(id_: Answer) -> int | None:
    return int(id_[1:]) if isinstance(id_, str) and id_[:1] == "t" and id_[1:].isdecimal() else None


def _sane(value: Fraction) -> bool:
    # A probability is raised here; anything else would be a number nobody follows.
    return 0 <= value <= 2


#: name: (function, names of the numbers it needs)
FOLLOWS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "decide": (_decide, ("r",)),
    "clip": (_clip, ()),
    "linear": (_linear, ()),
    "sum": (_sum, ()),
    "quotient": (_quotient, ("numerator",)),
    "divided": (_divided, ("denominator",)),
    "power": (_power, ("exponent",)),
    "powers": (_powers, ("exponent",)),
    "product": (_product, ()),
    "count_before": (_count_before, ("tau",)),
    "positions_after": (_positions_after, ("tau",)),
    "first_after": (_first_after, ("tau",)),
    "source_of_next": (_source_of_next, ("tau",)),
}


def followed(step: Step, follow: Follow, own: Mapping[str, Answer]) -> Answer:
    """The answer that follows from the person's own earlier ones; None where one is missing or nothing follows."""
    values = [own.get(name) for name in follow.uses]
    if any(value is None for value in values):
        return None
    return FOLLOWS[follow.rule][0](step, values, follow.numbers)
