"""The best bins against all partitions of small supports, and what is hard about them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from bnpriv.mechanisms.quantization import best_bins

MEASURES = ("absolute", "squared", "zero-one")


def partitions(size: int) -> Iterator[list[range]]:
    """Yield all partitions of so many atoms into bins of neighbours."""
    for count in range(size):
        for inner in combinations(range(1, size), count):
            ends = [0, *inner, size]
            yield [range(a, b) for a, b in pairwise(ends)]


def loss(measure: str, x: float, w: float) -> Fraction:
    gap = abs(Fraction(x) - Fraction(w))
    return {"absolute": gap, "squared": gap**2, "zero-one": Fraction(gap != 0)}[measure]


def by_brute_force(atoms, prior, first, second, epsilon: float, measure: str) -> float:
    """Return the least expected error over all partitions, each bin released as the best of its atoms."""
    ratio, least = Fraction(math.exp(epsilon)), Fraction(10**30)
    laws = [[[Fraction(float(p)) for p in law] for law in side] for side in (first, second)]
    for bins in partitions(len(atoms)):
        masses = [
            (sum((f[k] for k in each), Fraction(0)), sum((g[k] for k in each), Fraction(0)))
            for each in bins
            for f, g in zip(*laws, strict=True)
        ]
        if len(bins) == 1 or all(a <= ratio * b and b <= ratio * a for a, b in masses):
            cost = sum(
                min(sum(Fraction(float(prior[k])) * loss(measure, atoms[k], atoms[m]) for k in each) for m in each)
                for each in bins
            )
            least = min(least, cost)
    return float(least)


@pytest.mark.parametrize("measure", MEASURES)
def test_the_bins_are_the_best_of_all_partitions(measure) -> None:
    rng = np.random.default_rng(16)
    several = 0
    for _ in range(60):
        size, pairs = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        atoms = np.sort(rng.choice([0.0, 0.1, 0.3, 1.0, 2.0, 3.0, 7.0, 50.0, -2.0, -0.3], size, replace=False))
        first, second = (rng.dirichlet(np.full(size, rng.choice([0.5, 3.0])), pairs) for _ in range(2))
        if rng.random() < 0.3:
            first[0, int(rng.integers(size))] = 0.0
        prior = (first.mean(axis=0) + second.mean(axis=0)) / 2
        epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
        with np.errstate(divide="ignore"):
            found = best_bins(atoms, prior, np.log(first), np.log(second), epsilon, measure)
        expected = by_brute_force(atoms, prior, first, second, epsilon, measure)
        assert found.error == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert np.all(found.starts <= found.released)
        assert np.all(found.released < np.append(found.starts[1:], size))
        several += len(found.starts) > 1
    assert several > 20


def test_tiny_masses_are_compared_by_their_ratio() -> None:
    """Row 8: two atoms of mass 1e-400 and 1e-404: no bin of them alone, and none with an impossible one alone."""
    tiny = -400 * math.log(10)
    first = np.array([[math.log(0.5), math.log(0.5), tiny, -math.inf]])
    second = np.array([[math.log(0.5), math.log(0.5), tiny - 9.0, tiny]])
    found = best_bins(np.arange(4.0), np.array([0.5, 0.5, 0.0, 0.0]), first, second, 1.0)
    assert list(found.starts) == [0, 1]
    found = best_bins(np.arange(4.0), np.array([0.5, 0.5, 0.0, 0.0]), first[:, ::-1], second[:, ::-1], 9.5)
    assert found.starts[0] == 0
    assert 1 not in found.starts


def test_one_bin_is_always_there() -> None:
    """Rounding may leave the masses of all atoms a little apart: they are one all the same."""
    first = np.log([[0.1] * 10])
    found = best_bins(np.arange(10.0), np.full(10, 0.1), first, first[:, ::-1] + 1e-13, 1e-14)
    assert list(found.starts) == [0]
    assert found.error == pytest.approx(2.5)
