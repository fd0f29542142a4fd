"""The acceptance step: rules, corrections, verdicts, n_a, and the exact law of one emitted token.

One registry of rules and one of corrections; a new rule is one entry and appears wherever rules are listed.
Sources: Leviathan et al. 2023 (algorithm 1, appendix A.1), Chen et al. 2023 (algorithm 2, theorem 1).

Does not know: models, random generators, the screen. Functions take floats, numpy arrays and, where a person typed
the numbers, ``fractions.Fraction``, for which arithmetic is that of paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdec_core.distributions import Array, kl_divergence, total_variation

Number = float | Fraction


class Verdict(StrEnum):
    """What became of one candidate. The values are the words on the screen and in exports."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Parameter:
    """The one number a rule may have. ``low`` and ``high`` are included."""

    name: str
    symbol: str
    default: float
    low: float
    high: float


@dataclass(frozen=True)
class RuleSpec:
    """A way to decide, as the registry holds it.

    level(r, parameter): the height that p/q must reach: the token is rejected when level > p/q.
    probability(ratio, parameter): P(accepted) over r ~ U(0,1), for arrays of p/q.
    exact: whether, with the residual correction, the emitted token follows p exactly.
    uses_r: whether r_t plays any part. keeps_impossible: whether a token with p = 0 may be accepted.
    """

    name: str
    title: str
    says: str
    level: Callable[[Any, Any], Any]
    probability: Callable[[Array, float], Array]
    exact: bool = False
    uses_r: bool = True
    keeps_impossible: bool = False
    parameter: Parameter | None = None
    sources: tuple[str, ...] = ()


_SGLANG = (
    "SGLang's --speculative-accept-threshold-acc divides the bar in the same way, and"
    " --speculative-accept-threshold-single keeps any token the target gives at least that probability"
)
_MEDUSA = (
    "Medusa's typical acceptance (Cai et al. 2024) compares p with a threshold that follows the target's entropy,"
    " without drawing r"
)
_ENSEMBLE = (
    "transformers' assistant_ensemble_weight, called static ensemble verification there (after arXiv 2604.07622),"
    " accepts with exactly this probability"
)

RULES: dict[str, RuleSpec] = {
    spec.name: spec
    for spec in (
        RuleSpec(
            name="random",
            title="Random threshold",
            says="Draws r anew from U(0,1) for every candidate and rejects when r > p/q. Exact.",
            level=lambda r, _: r,
            probability=lambda ratio, _: np.minimum(1.0, ratio),
            exact=True,
            sources=("Leviathan et al. 2023, section 2.3", "Chen et al. 2023, algorithm 2"),
        ),
        RuleSpec(
            name="fixed",
            title="Fixed threshold",
            says="Rejects when c > p/q, with the same c for every candidate. Biased.",
            level=lambda r, c: c + 0 * r,
            probability=lambda ratio, c: (ratio >= c).astype(np.float64),
            uses_r=False,
            parameter=Parameter("threshold", "c", 0.5, 0.0, 1.0),
            sources=(_MEDUSA,),
        ),
        RuleSpec(
            name="lenient",
            title="Lenient",
            says="Accepts with probability min(1, p/(l q)): below l = 1 more than it should. Biased unless l = 1.",
            level=lambda r, lenience: r * lenience,
            probability=lambda ratio, lenience: np.minimum(1.0, ratio / lenience),
            parameter=Parameter("lenience", "l", 0.5, 0.05, 1.0),
            sources=("Leviathan et al. 2023, appendix A.5", _SGLANG),
        ),
        RuleSpec(
            name="ensemble",
            title="Ensemble",
            says="Accepts with probability min(1, 1 - w + w p/q): tokens follow (1 - w) q + w p. Biased below w = 1.",
            level=lambda r, w: (r - (1 - w)) / w,
            probability=lambda ratio, w: np.minimum(1.0, 1.0 - w + w * ratio),
            keeps_impossible=True,
            parameter=Parameter("weight", "w", 0.5, 0.05, 1.0),
            sources=(_ENSEMBLE,),
        ),
        RuleSpec(
            name="always",
            title="Always accept",
            says="Keeps every candidate, whatever p says. The text is the draft's.",
            level=lambda r, _: 0 * r,
            probability=lambda ratio, _: np.ones_like(ratio),
            uses_r=False,
            keeps_impossible=True,
        ),
        RuleSpec(
            name="never",
            title="Never accept",
            says="Throws every candidate away and draws the correction instead.",
            level=lambda r, _: float("inf") + 0 * r,
            probability=lambda ratio, _: np.zeros_like(ratio),
            uses_r=False,
        ),
    )
}


@dataclass(frozen=True)
class CorrectionSpec:
    """What is drawn after a rejection: a distribution made of p and q."""

    name: str
    title: str
    says: str
    distribution: Callable[[Array, Array], Array]


def residual(p: Array, q: Array) -> Array | None:
    """norm(max(0, p - q)), shape ``(V,)``; None where p = q, because then there is nothing left to correct.

    Impossible tokens get exactly 0: no floor is added before the division.
    """
    lack = np.maximum(0.0, p - q)
    total = lack.sum()
    return lack / total if total > 0 else None


def _residual_or_target(p: Array, q: Array) -> Array:
    # A rule may reject although p = q (never accept does). Then p is the only sensible thing to draw from.
    rest = residual(p, q)
    return p if rest is None else rest


def _argmax(p: Array, _: Array) -> Array:
    out = np.zeros_like(p)
    out[int(p.argmax())] = 1.0
    return out


CORRECTIONS: dict[str, CorrectionSpec] = {
    spec.name: spec
    for spec in (
        CorrectionSpec(
            "residual", "Residual", "Draws from what p still lacks: max(0, p - q), scaled to one.", _residual_or_target
        ),
        CorrectionSpec("target", "Again from p", "Draws from p itself, as if nothing had been tried.", lambda p, _: p),
        CorrectionSpec("argmax", "Argmax of p", "Takes the target's most likely token, without drawing.", _argmax),
    )
}


@dataclass(frozen=True)
class Rule:
    """A rule with its number and its correction: everything that decides one token.

    Raises ValueError, one sentence naming the field and the value, when a name is unknown or a number is out of range.
    """

    name: str = "random"
    parameter: float | None = None
    correction: str = "residual"
    spec: RuleSpec = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, not {self.name[:40]!r}.")
        if self.correction not in CORRECTIONS:
            raise ValueError(f"correction must be one of {', '.join(CORRECTIONS)}, not {self.correction[:40]!r}.")
        spec = RULES[self.name]
        object.__setattr__(self, "spec", spec)
        object.__setattr__(self, "parameter", _checked(spec, self.parameter))

    @property
    def exact(self) -> bool:
        """Whether an emitted token follows p exactly."""
        at_one = self.name in ("lenient", "ensemble") and self.parameter == 1
        plain_decoding = self.name == "never" and self.correction == "target"
        return plain_decoding or ((self.spec.exact or at_one) and self.correction == "residual")

    @property
    def threshold(self) -> float:
        """The parameter, for rules that have one; NaN for the others."""
        return float("nan") if self.parameter is None else self.parameter

    def accepts(self, p: Any, q: Any, r: Any) -> Any:
        """Whether a candidate with probabilities p and q stays under draw r. Elementwise on arrays; exact on Fractions.

        Rejected when level > p/q; equality accepts. A token with p = 0 is rejected even at r = 0.
        Raises ValueError for q = 0: such a token cannot have been drafted.
        """
        if np.any(np.asarray(q) <= 0):
            raise ValueError("q of a candidate must be above 0: a token with q = 0 cannot have been drafted.")
        number: Any = self.parameter
        if isinstance(p, Fraction) and number is not None:
            number = Fraction(repr(number))
        stays = ~_above(self.spec.level(r, number), p / q)
        return stays if self.spec.keeps_impossible else (p > 0) & stays

    def accept_probability(self, p: Array, q: Array) -> Array:
        """P(accepted | drafted) for every token, over r ~ U(0,1); 0 where q = 0, as nothing is drafted there."""
        ratio = np.divide(p, q, out=np.zeros_like(p), where=q > 0)
        kept = self.spec.probability(ratio, self.threshold)
        kept = np.where(q > 0, kept, 0.0)
        return kept if self.spec.keeps_impossible else np.where(p > 0, kept, 0.0)

    def correct(self, p: Array, q: Array) -> Array:
        """The distribution that is drawn from after a rejection, shape ``(V,)``."""
        return CORRECTIONS[self.correction].distribution(p, q)


def _above(level: Any, ratio: Any) -> Any:
    above = level > ratio
    return np.bool_(above) if isinstance(above, bool) else above


def _checked(spec: RuleSpec, value: float | None) -> float | None:
    known = spec.parameter
    if known is None:
        return None
    if value is None:
        return known.default
    if isinstance(value, bool) or not isinstance(value, int | float) or not known.low <= value <= known.high:
        raise ValueError(f"{known.name} must be between {known.low:g} and {known.high:g}, not {value}.")
    return float(value)


RANDOM = Rule()


def exactly(value: Number | str) -> Fraction:
    """A typed number as the decimal it was meant as: ``exactly(0.1) == Fraction(1, 10)``."""
    return value if isinstance(value, Fraction) else Fraction(repr(value) if isinstance(value, float) else str(value))


@dataclass(frozen=True)
class Judgement:
    """The verdicts of one block. ``first_rejected`` is the 1-based t, or None when no position was rejected."""

    verdicts: tuple[Verdict, ...]
    n_a: int
    first_rejected: int | None


def judge(stays: Sequence[bool]) -> Judgement:
    """Verdicts and n_a from the outcome of the comparison at each position.

    n_a = min{t - 1 : position t is rejected}, and tau when none is. Positions after the first rejection are not
    reached, whatever their comparison would have said.
    """
    n_a = next((i for i, kept in enumerate(stays) if not kept), len(stays))
    rejected = n_a < len(stays)
    verdicts = [Verdict.ACCEPTED] * n_a
    if rejected:
        verdicts += [Verdict.REJECTED] + [Verdict.NOT_REACHED] * (len(stays) - n_a - 1)
    return Judgement(tuple(verdicts), n_a, n_a + 1 if rejected else None)


@dataclass(frozen=True)
class Law:
    """The exact law of one emitted token under a rule.

    acceptance: P(the candidate is accepted). residual: norm(max(0, p - q)), None where p = q.
    output: shape ``(V,)``. kl_output_target = KL(output || p), kl_target_output = KL(p || output), in nats.
    """

    acceptance: float
    residual: Array | None
    output: Array
    tv: float
    kl_output_target: float
    kl_target_output: float


def output_law(p: Array, q: Array, rule: Rule = RANDOM, kept: Array | None = None) -> Law:
    """out(x) = q(x) a(x) + (1 - sum q a) correction(x), with a(x) the rule's acceptance probability.

    For the random rule q a = min(p, q), and out = min(p, q) + (1 - alpha) residual = p (Leviathan et al., A.1).
    kept: a(x), when the caller knows it better than floats do (see ``typed_law``).
    """
    a = rule.accept_probability(p, q) if kept is None else kept
    stays = q * a
    acceptance = float(stays.sum())
    rejected = max(0.0, float((q * (1.0 - a)).sum()))
    output = stays + rejected * rule.correct(p, q) if rejected > 0 else stays
    return Law(
        acceptance=acceptance,
        residual=residual(p, q),
        output=output,
        tv=total_variation(output, p),
        kl_output_target=kl_divergence(output, p),
        kl_target_output=kl_divergence(p, output),
    )


def typed_law(p: Array, q: Array, rule: Rule = RANDOM) -> Law:
    """As ``output_law`` for numbers that a person typed: ties such as 0.07 against 0.7 * 0.1 fall as on paper."""
    if rule.name != "fixed":
        return output_law(p, q, rule)
    kept: NDArray[np.float64] = np.array(
        [
            float(b > 0 and bool(rule.accepts(exactly(float(a)), exactly(float(b)), Fraction(0))))
            for a, b in zip(p, q, strict=True)
        ]
    )
    return output_law(p, q, rule, kept)
