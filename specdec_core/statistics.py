"""Does a histogram follow a law? Pearson's chi-square test, said in words, and how far one may trust its silence.

Policy. A token whose expected count is at least 5 has a bin of its own; all others share one, and where even that
expects fewer than 5 it joins the smallest of the single ones. A token of probability 0 that was seen anyway is the
finding itself, not a division by zero. The verdict is "not this law" when the p-value is below ``LEVEL``.

Does not know: rules, models, where counts come from. Counts must be of independent draws, or the p-value means nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdec_core.distributions import Array
from specdec_core.words import _

#: Expected count below which a token shares a bin: the usual rule of thumb (Cochran 1954).
SMALLEST_BIN = 5.0
#: One false alarm in a thousand runs: a class of thirty that each runs it once is told a falsehood in 3 % of lessons.
LEVEL = 0.001
#: Sums of floats may leave a token of probability 0 with this much; such a token is impossible all the same.
IMPOSSIBLE = 0.0


@dataclass(frozen=True)
class GoodnessOfFit:
    """A chi-square test of ``n`` draws against a law.

    statistic, dof, p_value: Pearson's, over ``bins`` bins; dof 0 and p_value 1 where everything fell into one bin.
    impossible: how many draws gave a token of probability 0. The p-value is then 0.
    impossible_token: the index of the most frequent of them, or None.
    """

    n: int
    bins: int
    statistic: float
    dof: int
    p_value: float
    impossible: int = 0
    impossible_token: int | None = None

    @property
    def rejected(self) -> bool:
        """Whether the counts speak against the law."""
        return self.impossible > 0 or self.p_value < LEVEL

    @property
    def decidable(self) -> bool:
        """Whether there was anything to test: at least two bins, or an impossible token."""
        return self.dof > 0 or self.impossible > 0


@dataclass(frozen=True)
class Bins:
    """Which bin each token falls into: indices shape ``(V,)``, expected counts shape ``(B,)``; -1 is impossible."""

    index: NDArray[np.intp]
    expected: Array

    def observed(self, counts: NDArray[np.integer]) -> Array:
        """Counts per bin; impossible tokens are left out."""
        inside = self.index >= 0
        binned = np.bincount(self.index[inside], weights=counts[inside], minlength=self.expected.size)
        return binned.astype(np.float64)


def bins_for(law: Array, n: int) -> Bins:
    """The bins of the policy above for ``n`` draws from ``law``."""
    expected = law * n
    alone = np.flatnonzero(expected >= SMALLEST_BIN)
    index = np.full(law.size, -1, dtype=np.intp)
    index[alone] = np.arange(alone.size)
    rest = np.flatnonzero((expected < SMALLEST_BIN) & (law > IMPOSSIBLE))
    sizes = expected[alone]
    if rest.size:
        together = float(expected[rest].sum())
        if together >= SMALLEST_BIN or not alone.size:
            index[rest] = alone.size
            sizes = np.append(sizes, together)
        else:
            smallest = int(sizes.argmin())
            index[rest] = smallest
            sizes[smallest] += together
    return Bins(index, sizes)


def goodness_of_fit(counts: NDArray[np.integer], law: Array) -> GoodnessOfFit:
    """Test ``counts``, shape ``(V,)``, of independent draws against ``law``, shape ``(V,)``.

    Raises ValueError when the shapes differ or nothing was drawn.
    """
    if counts.shape != law.shape:
        raise ValueError(f"counts have shape {counts.shape} and the law has {law.shape}.")
    n = int(counts.sum())
    if n == 0:
        raise ValueError("There is nothing to test: no token was drawn.")
    bins = bins_for(law, n)
    observed = bins.observed(counts)
    statistic = float(np.sum((observed - bins.expected) ** 2 / bins.expected))
    dof = bins.expected.size - 1
    foreign = np.where(law <= IMPOSSIBLE, counts, 0)
    impossible = int(foreign.sum())
    if impossible:
        return GoodnessOfFit(n, bins.expected.size, math.inf, dof, 0.0, impossible, int(foreign.argmax()))
    p_value = chi_square_tail(statistic, dof) if dof else 1.0
    return GoodnessOfFit(n, bins.expected.size, statistic, dof, p_value)


def power(law: Array, alternative: Array, n: int, level: float = LEVEL) -> float:
    """P(the test of ``n`` draws from ``alternative`` speaks against ``law``).

    The statistic is then close to non-central chi-square with non-centrality n sum (b - a)^2 / a over the bins
    (Cohen 1988). Impossible tokens are found as soon as one is drawn.
    """
    bins = bins_for(law, n)
    dof = bins.expected.size - 1
    foreign = float(alternative[law <= IMPOSSIBLE].sum())
    found = -math.expm1(n * math.log1p(-foreign)) if foreign < 1 else 1.0
    if dof == 0:
        return found
    inside = bins.index >= 0
    other = n * np.bincount(bins.index[inside], weights=alternative[inside], minlength=bins.expected.size)
    shift = float(np.sum((other - bins.expected) ** 2 / bins.expected))
    return found + (1 - found) * noncentral_tail(chi_square_quantile(level, dof), dof, shift)


def trials_needed(law: Array, alternative: Array, chance: float = 0.95, most: int = 1 << 40) -> int | None:
    """The smallest power of two of draws at which ``power`` reaches ``chance``; None where none up to ``most`` does."""
    n = 2
    while n <= most:
        if power(law, alternative, n) >= chance:
            return n
        n *= 2
    return None


# --- in words -------------------------------------------------------------------------------------------------------


def verdict(test: GoodnessOfFit, symbol: str = "p") -> str:
    """One sentence: what the test says of the hypothesis that the tokens follow ``symbol``, with its sample size."""
    n = f"{test.n:,}"
    if test.impossible:
        return _("Not {law}: in {n} trials a token that {law} makes impossible appeared {times} times.").format(
            law=symbol, n=n, times=f"{test.impossible:,}"
        )
    if not test.decidable:
        return _("{n} trials are too few to say anything: no two outcomes are expected five times.").format(n=n)
    words = {"law": symbol, "n": n, "bins": test.bins, "value": p_value_text(test.p_value)}
    if test.rejected:
        return _("Not {law}: p-value {value} after {n} trials, in {bins} bins.").format(**words)
    return _("Consistent with {law}: p-value {value} after {n} trials, in {bins} bins.").format(**words)


def p_value_text(value: float) -> str:
    """A p-value as people write it: ``0.43``, ``0.0021``, ``below 1e-12``."""
    if value < 1e-12:
        return _("below {bound}").format(bound="1e-12")
    return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


# --- the chi-square distribution ------------------------------------------------------------------------------------


def chi_square_tail(x: float, dof: float) -> float:
    """P(X >= x) for X chi-square with ``dof`` degrees of freedom: Q(dof/2, x/2)."""
    return upper_gamma(dof / 2, x / 2)


def upper_gamma(a: float, x: float) -> float:
    """Q(a, x), the regularised upper incomplete gamma function, for a > 0, x >= 0, to about 1e-10 of its value.

    The series for x < a + 1, Lentz's continued fraction above (Abramowitz and Stegun 6.5.29 and 6.5.31).
    """
    if not a > 0 or not x >= 0:
        raise ValueError(f"Q(a, x) needs a above 0 and x of 0 or more, not a = {a} and x = {x}.")
    if x == 0:
        return 1.0
    if math.isinf(x):
        return 0.0
    log_scale = a * math.log(x) - x - math.lgamma(a)
    if x < a + 1:
        return max(0.0, 1.0 - math.exp(log_scale) * _lower_series(a, x))
    return math.exp(log_scale) * _upper_fraction(a, x)


def _lower_series(a: float, x: float) -> float:
    term = total = 1.0 / a
    k = a
    while term > total * 1e-17:
        k += 1.0
        term *= x / k
        total += term
    return total


def _upper_fraction(a: float, x: float) -> float:
    b = x + 1.0 - a
    c, d = 1e300, 1.0 / b
    h = d
    for k in range(1, 1_000_000):
        numerator = -k * (k - a)
        b += 2.0
        d = 1.0 / _not_zero(numerator * d + b)
        c = _not_zero(b + numerator / c)
        step = c * d
        h *= step
        if abs(step - 1.0) < 1e-16:
            break
    return h


def _not_zero(x: float) -> float:
    return x if abs(x) > 1e-300 else 1e-300


def chi_square_quantile(tail: float, dof: float) -> float:
    """The x with P(X >= x) = ``tail``, by bisection to 1e-10 of its value."""
    low, high = 0.0, dof + 10.0
    while chi_square_tail(high, dof) > tail:
        high *= 2
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if chi_square_tail(middle, dof) > tail else (low, middle)
    return (low + high) / 2


def noncentral_tail(x: float, dof: float, shift: float) -> float:
    """P(X >= x) for X non-central chi-square: a Poisson(shift/2) mixture of central ones with dof + 2 k.

    Far out, where the mixture would need thousands of terms, the normal approximation of the same mean and variance
    is used; both are then 0 or 1 to many digits.
    """
    half = shift / 2
    if half > 2_000:
        mean, deviation = dof + shift, math.sqrt(2 * (dof + 2 * shift))
        return 0.5 * math.erfc((x - mean) / (deviation * math.sqrt(2)))
    reach = 8 * math.sqrt(half) + 12
    terms = range(max(0, int(half - reach)), int(half + reach) + 1)
    weight = (
        [math.exp(-half + (k * math.log(half) if k else 0.0) - math.lgamma(k + 1)) for k in terms] if half else [1.0]
    )
    tails = [chi_square_tail(x, dof + 2 * k) for k in terms] if half else [chi_square_tail(x, dof)]
    return min(1.0, sum(w * t for w, t in zip(weight, tails, strict=True)))
