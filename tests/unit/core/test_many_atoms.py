"""Sums of laws beyond the usual sizes: of hundreds of atoms, draws or coordinates every one counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnpriv.core.distributions import Atoms
from bnpriv.core.whole_numbers import Masses, WholeLaw, add_dense, most_sums, summed
from bnpriv.laws import add, n_fold

SIZE = 300


def test_sums_of_hundreds_of_atoms_are_the_convolution() -> None:
    masses = np.random.default_rng(4).dirichlet(np.full(SIZE, 0.5))
    found = n_fold(Atoms(range(SIZE), masses), 3)
    expected = np.convolve(np.convolve(masses, masses), masses)
    assert found.probabilities == pytest.approx(expected, rel=1e-9)
    assert found.support.tolist() == list(range(3 * SIZE - 2))


def test_sums_of_atoms_whose_masses_span_hundreds_of_powers() -> None:
    """Masses from 1 to 1e-300: no stretch of them can be taken as plain numbers."""
    logs = -np.linspace(0, 690, SIZE)
    law = Atoms.from_logs(np.arange(SIZE, dtype=float)[:, None], logs - np.logaddexp.reduce(logs))
    found = add(law, law)
    for place in (0, 31, 150, 299, 400, 598):
        low, high = max(0, place - SIZE + 1), min(place, SIZE - 1)
        terms = [float(law.logs[k] + law.logs[place - k]) for k in range(low, high + 1)]
        assert float(found.logs[place]) == pytest.approx(float(np.logaddexp.reduce(terms)), rel=1e-9)


def test_forty_thousand_draws_of_two_atoms() -> None:
    found = n_fold(Atoms([0, 1], [0.75, 0.25]), 40_000)
    assert found.support.tolist() == list(range(40_001))
    assert float((found.support * found.probabilities).sum()) == pytest.approx(10_000, rel=1e-9)


def test_atoms_that_differ_in_their_last_coordinate_alone() -> None:
    columns = [np.zeros(SIZE, dtype=np.int64)] * 5 + [np.arange(SIZE)]
    law = WholeLaw.of(columns, np.full(SIZE, -math.log(SIZE)), 0.0)
    assert law.size == SIZE
    assert summed((law, 2)).size == 2 * SIZE - 1


def test_numbers_that_need_many_words() -> None:
    """The last of hundreds of atoms is beyond 64 bits; sums of several of such coordinates carry from word to word."""
    points = [float(k) for k in range(SIZE - 1)] + [2.0**80]
    found = n_fold(Atoms(points, np.full(SIZE, 1 / SIZE)), 2)
    assert found.support[-1] == 2.0**81
    assert found.probabilities[-1] == pytest.approx(1 / SIZE**2)
    wide = [np.array([0, 2**61 - 1, 2**62 - 3], dtype=np.int64)] * 3
    three = summed((WholeLaw.of(wide, np.log([0.5, 0.25, 0.25]), 0.0), 3))
    sums = {(3 - j - k) * 0 + j * (2**61 - 1) + k * (2**62 - 3) for j in range(4) for k in range(4 - j)}
    for column in three.columns:
        assert set(map(int, column)) == sums
    assert three.size == len(sums)


@pytest.mark.parametrize("kind", ["slope", "late", "jagged"])
def test_dense_sums_count_every_term_of_hundreds(kind: str) -> None:
    """Masses that fall slowly, that fall at the end alone, and that jump between neighbours."""
    rng = np.random.default_rng(8)
    logs = {
        "slope": -np.linspace(0, 3000, SIZE),
        "late": np.where(np.arange(SIZE) < 260, 0.0, -40.0 * (np.arange(SIZE) - 259)),
        "jagged": rng.uniform(-3000, 0, SIZE),
    }[kind]
    law = Masses(np.arange(SIZE), logs, 0.0)
    found = add_dense(law, law)
    assert found.keys.tolist() == list(range(2 * SIZE - 1))
    for place in range(2 * SIZE - 1):
        low, high = max(0, place - SIZE + 1), min(place, SIZE - 1)
        expected = np.logaddexp.reduce(logs[low : high + 1] + logs[place - high : place - low + 1][::-1])
        assert float(found.logs[place]) == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


def test_the_number_of_sums_is_bounded_however_many_atoms_there_are() -> None:
    for size, draws in ((300, 2), (2, 300), (100, 100), (70, 200), (200, 70)):
        assert most_sums(size, draws, 10**200) == math.comb(size + draws - 1, draws)
        assert most_sums(size, draws, 77) == 77


def test_sums_that_pass_64_bits_by_their_origin_alone() -> None:
    law = WholeLaw.of([np.array([2**61, 2**61 + 1])], np.log([0.5, 0.5]), 0.0)
    (column,) = summed((law, 8)).columns
    assert [int(value) for value in column] == [8 * 2**61 + k for k in range(9)]
