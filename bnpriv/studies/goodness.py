"""How well counts fit a law: p-values that hold their level for small counts and far out in the tails."""

from __future__ import annotations

import math

import numpy as np

from bnpriv.bound import FloatArray, IntArray

MOST_OUTCOMES = 20_000
"""Outcomes that the exact multinomial test enumerates."""

LEAST_EXPECTED = 5.0
"""Expected count from which on a state is tested by chi-square."""


def fit(counts: IntArray, law: FloatArray) -> tuple[float, str]:
    """Return the p-value of counts under a law, and which test gave it.

    Parameters
    ----------
    counts : ndarray of int, shape (states,)
        Not all zero.
    law : ndarray of float, shape (states,)
        Probabilities.

    Returns
    -------
    p_value : float
        0 if a state of probability zero was seen.
    test : {"impossible", "certain", "exact", "chi-square", "split"}

    Examples
    --------
    >>> p_value, test = fit(np.array([10, 0]), np.array([0.5, 0.5]))
    >>> round(p_value, 9), test
    (0.001953125, 'exact')
    """
    if np.any(counts[law == 0] > 0):
        return 0.0, "impossible"
    counts, law = counts[law > 0], law[law > 0] / law.sum()
    n, states = int(counts.sum()), len(law)
    if states == 1 or n == 0:
        return 1.0, "certain"
    if states == 2:
        from scipy.stats import binomtest

        return float(binomtest(int(counts[0]), n, float(law[0])).pvalue), "exact"
    if math.comb(n + states - 1, states - 1) <= MOST_OUTCOMES:
        return _multinomial(counts, law), "exact"
    if float(np.min(n * law)) >= LEAST_EXPECTED:
        return _chi_square(counts, law), "chi-square"
    return _split(counts, law), "split"


def _multinomial(counts: IntArray, law: FloatArray) -> float:
    """Return the probability of all outcomes that are at most as likely as the one seen."""
    from scipy.special import gammaln

    outcomes = _compositions(int(counts.sum()), len(law))
    logs: FloatArray = outcomes @ np.log(law) - np.asarray(gammaln(outcomes + 1.0), dtype=np.float64).sum(axis=1)
    seen = float(counts @ np.log(law)) - float(np.sum(gammaln(counts + 1.0)))
    logs += math.lgamma(int(counts.sum()) + 1)
    seen += math.lgamma(int(counts.sum()) + 1)
    # rounding must not leave out outcomes that are exactly as likely
    return min(1.0, float(np.exp(logs[logs <= seen + 1e-9 * max(1.0, abs(seen))]).sum()))


def _compositions(n: int, parts: int) -> IntArray:
    """Return all ways to write n as an ordered sum of `parts` whole numbers, of shape (ways, parts)."""
    found = np.arange(n + 1).reshape(-1, 1)
    for _ in range(parts - 2):
        left = n - found.sum(axis=1)
        rows = np.repeat(np.arange(len(found)), left + 1)
        first = np.arange(len(rows)) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        found = np.column_stack([found[rows], first])
    return np.column_stack([found, n - found.sum(axis=1)])


def _chi_square(counts: IntArray, law: FloatArray) -> float:
    """Return the larger of two p-values: Pearson's is too small far out, the likelihood ratio's near the middle."""
    from scipy.special import chdtrc, xlogy

    expected = counts.sum() * law
    pearson = float(np.sum((counts - expected) ** 2 / expected))
    terms: FloatArray = np.asarray(xlogy(counts, counts / expected), dtype=np.float64)
    ratio = 2 * float(terms.sum())
    return float(chdtrc(len(law) - 1, min(pearson, ratio)))


def _split(counts: IntArray, law: FloatArray) -> float:
    """Test rare states against the others, then each group in itself.

    Given how many fall into a group, what happens inside it is independent of the rest, so that the least of k such
    p-values p has itself the p-value 1 - (1 - p)^k.
    """
    rare = counts.sum() * law < LEAST_EXPECTED
    if rare.all():
        rare = np.zeros(len(law), dtype=bool)
        rare[np.argsort(law, kind="stable")[: len(law) // 2]] = True
    total = np.array([counts[rare].sum(), counts[~rare].sum()])
    shares = np.array([law[rare].sum(), law[~rare].sum()])
    parts = [fit(total, shares), *(fit(counts[side], law[side]) for side in (rare, ~rare) if counts[side].sum() > 0)]
    p_values = [p for p, test in parts if test != "certain"]
    return -math.expm1(len(p_values) * math.log1p(-min(p_values))) if min(p_values) < 1 else 1.0
