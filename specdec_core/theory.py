"""What to expect of speculative decoding before it runs: alpha, tokens per block, speed-up, the best tau.

Sources: Leviathan et al. 2023 (definitions 3.1 and 3.5, equation 1, theorems 3.8 and 3.11, corollary 3.6). Where they
write gamma we write tau; their c is ``cost``.

Does not know: models, clocks, the rule in use.
"""

import numpy as np

from specdec_core.distributions import Array


def acceptance_rate(p: Array, q: Array) -> float:
    """alpha = sum_x min(p(x), q(x)) = 1 - TV(p, q), the chance that the random rule accepts a drafted token."""
    return float(np.minimum(p, q).sum())


def _check(alpha: float, tau: int) -> None:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha:g}.")
    if tau < 0 or tau != int(tau):
        raise ValueError(f"tau must be a whole number, 0 or more, not {tau}.")


def expected_tokens(alpha: float, tau: int) -> float:
    """E[tokens emitted per block] = (1 - alpha^(tau+1)) / (1 - alpha), and tau + 1 at alpha = 1 (equation 1).

    Assumes that positions are accepted independently with one rate alpha.
    """
    _check(alpha, tau)
    # The sum is the formula's numerator over its denominator, without the cancellation near alpha = 1.
    return float(sum(alpha**k for k in range(tau + 1)))


def expected_accepted(alpha: float, tau: int) -> float:
    """E[n_a] = alpha (1 - alpha^tau) / (1 - alpha): one less than the tokens emitted."""
    return expected_tokens(alpha, tau) - 1.0


def all_accepted(alpha: float, tau: int) -> float:
    """P(n_a = tau) = alpha^tau."""
    _check(alpha, tau)
    return float(alpha**tau)


def speed_up(alpha: float, tau: int, cost: float) -> float:
    """Wall-clock gain over plain decoding: expected_tokens / (tau cost + 1) (theorem 3.8).

    cost: time of one draft step over the time of one target pass. Assumes a pass over tau + 1 tokens costs what a
    pass over one does.
    """
    if not cost >= 0:
        raise ValueError(f"cost must be 0 or more, not {cost:g}.")
    return expected_tokens(alpha, tau) / (tau * cost + 1.0)


def extra_operations(alpha: float, tau: int, cost: float) -> float:
    """Arithmetic done per token, relative to plain decoding: (tau cost + tau + 1) / expected_tokens (theorem 3.11).

    cost: here the ratio of arithmetic operations (their c-hat), not of time.
    """
    if not cost >= 0:
        raise ValueError(f"cost must be 0 or more, not {cost:g}.")
    return (tau * cost + tau + 1.0) / expected_tokens(alpha, tau)


def best_tau(alpha: float, cost: float, highest: int = 16) -> int:
    """The tau in 0..highest with the largest speed-up; 0 means that plain decoding is best. The smaller on a tie."""
    gains = [speed_up(alpha, tau, cost) for tau in range(highest + 1)]
    return int(np.argmax(gains))
