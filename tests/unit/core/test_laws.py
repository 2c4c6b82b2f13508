"""Laws against exact fractions: values, tails far below the range of doubles, the stated error, and refusals."""

from __future__ import annotations

import itertools
import math
import random
import tracemalloc
from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core import whole_numbers as sums, whole_numbers as whole
from bnpriv.errors import BnprivError, LawError, SizeError
from bnpriv.laws import Atoms, Normal, mixture, n_fold

Exact = dict[tuple[Fraction, ...], Fraction]


def log(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return Decimal(value.numerator).ln() - Decimal(value.denominator).ln()


def exact(points: list[tuple[float, ...]], masses: list[float]) -> Exact:
    """Return the declared law: positions as the decimals they are written as, masses as they are, sum one."""
    total = sum(Fraction(mass) for mass in masses)
    law: Exact = {}
    for point, mass in zip(points, masses, strict=True):
        if mass:
            place = tuple(Fraction(repr(float(x))) for x in point)
            law[place] = law.get(place, Fraction(0)) + Fraction(mass) / total
    return law


def add(f: Exact, g: Exact) -> Exact:
    law: Exact = {}
    for (x, p), (y, q) in itertools.product(f.items(), g.items()):
        place = tuple(a + b for a, b in zip(x, y, strict=True))
        law[place] = law.get(place, Fraction(0)) + p * q
    return law


def check(law: Atoms, truth: Mapping[tuple[Fraction, ...], Fraction], limit: float = 1e-12) -> None:
    """Same atoms, sorted, and every log mass within the stated error, and within `limit`."""
    places = sorted(truth)
    assert law.points.tolist() == [[float(x) for x in place] for place in places]
    errors = [abs(float(Decimal(float(a)) - log(truth[place]))) for a, place in zip(law.logs, places, strict=True)]
    assert max(errors) <= law.error
    assert max(errors) <= limit


def random_law(rng: random.Random, dimension: int) -> tuple[Atoms, Exact]:
    grid = rng.choice([(0, 1, 2, 3), (0, 0.1, 0.2, 0.3), (-1, 0, 7), (0.5, 1.75, 1e6), (0, 10007)])
    size = rng.randint(1, 5)
    points = [tuple(float(rng.choice(grid)) for _ in range(dimension)) for _ in range(size)]
    masses = [rng.choice([0.0, 1e-300, 1e-250, 1e-20, 5e-324, 0.1, 0.2, rng.random()]) for _ in points]
    masses[rng.randrange(size)] = 1.0
    total = math.fsum(masses)
    masses = [mass / total for mass in masses]
    support = [point[0] for point in points] if dimension == 1 else points
    return Atoms(support, masses), exact(points, masses)


def test_atoms_are_merged_sorted_and_stripped_of_zeros() -> None:
    law = Atoms([3, 1, 3, 2], [0.25, 0.5, 0.25, 0.0])
    assert law.support.tolist() == [1, 3]
    assert law.probabilities == pytest.approx([0.5, 0.5], rel=1e-15)
    assert (law.size, law.dimension, law.points.shape) == (2, 1, (2, 1))
    assert law.mean == pytest.approx([2.0])
    assert law.covariance == pytest.approx(np.array([[1.0]]))


def test_atoms_in_space_are_sorted_lexicographically() -> None:
    law = Atoms([[1, 0], [0, 5], [0, 2], [1, 0]], [0.25, 0.25, 0.25, 0.25])
    assert law.support.tolist() == [[0, 2], [0, 5], [1, 0]]
    assert law.mean == pytest.approx([0.5, 1.75])
    assert law.covariance == pytest.approx(np.cov(np.array([[1, 0], [0, 5], [0, 2], [1, 0]]).T, bias=True))


def test_one_column_is_the_line_and_minus_zero_is_zero() -> None:
    law = Atoms([[-0.0], [0.0]], [0.5, 0.5])
    assert law.support.shape == (1,)
    assert not np.signbit(law.support[0])


def test_declared_masses_are_kept_to_the_stated_error() -> None:
    rng = random.Random(1)
    for _ in range(500):
        law, truth = random_law(rng, rng.choice([1, 2]))
        check(law, truth)
        assert law.error < 2e-12


def test_sums_within_the_tolerance_are_normalized() -> None:
    check(Atoms([0, 1], [0.5 + 4e-10, 0.5]), exact([(0,), (1,)], [0.5 + 4e-10, 0.5]))
    for masses in ([0.5, 0.5 + 2e-9], [0.5, 0.49], [0.0, 0.0], [1.0, 1.0]):
        with pytest.raises(LawError, match="sum to 1"):
            Atoms([0, 1], masses)


def test_logs_far_below_the_range_of_doubles() -> None:
    law = Atoms.from_logs([0, 1, 2, 1], [0.0, -5000.0, -math.inf, -5000.0])
    assert law.support.tolist() == [0, 1]
    assert law.logs[1] == pytest.approx(-5000 + math.log(2), abs=1e-12)
    assert law.probabilities[1] == 0.0
    stated = Atoms.from_logs([0, 1], np.log([0.5, 0.5]) + 1e-8, error=1e-7)
    assert stated.error >= 1e-7
    with pytest.raises(LawError, match="sum to 1"):
        Atoms.from_logs([0, 1], np.log([0.5, 0.5]) + 1e-6, error=1e-7)


def test_from_logs_normalizes_what_the_error_does_not_explain() -> None:
    law = Atoms.from_logs([0, 1], np.log([0.5, 0.5]) + 5e-10)
    assert law.logs == pytest.approx(np.log([0.5, 0.5]), abs=law.error)
    assert law.error < 1e-13


@pytest.mark.parametrize(
    ("support", "probabilities"),
    [
        ([0, 1], [0.5, math.nan]),
        ([0, 1], [0.5, math.inf]),
        ([0, 1], [1.5, -0.5]),
        ([0, math.nan], [0.5, 0.5]),
        ([0, math.inf], [0.5, 0.5]),
        ([0, 1e300], [0.5, 0.5]),
        ([0, 1], [0.5, 0.25, 0.25]),
        ([0, 1], [[0.5, 0.5]]),
        ([[[0]], [[1]]], [0.5, 0.5]),
        ([], []),
        (0, 1),
        (["0", "1"], [0.5, 0.5]),
        ([0, 1], ["0.5", "0.5"]),
        ([0, 1], [True, False]),
        ([0, 1j], [0.5, 0.5]),
        ([0, None], [0.5, 0.5]),
    ],
)
def test_laws_that_are_not_well_formed_are_refused(support, probabilities) -> None:
    with pytest.raises(LawError):
        Atoms(support, probabilities)


def test_logs_that_are_not_well_formed_are_refused() -> None:
    for logs, error in (([0.0, math.nan], 0.0), ([0.0, math.inf], 0.0), ([-math.inf] * 2, 0.0), ([0.0], 0.0)):
        with pytest.raises(LawError):
            Atoms.from_logs([0, 1], logs, error)
    for error in (-1e-9, math.nan, math.inf, True, "0"):
        with pytest.raises(BnprivError):
            Atoms.from_logs([0], [0.0], error)  # type: ignore[arg-type]


def test_laws_are_frozen() -> None:
    law = Atoms([0, 1], [0.5, 0.5])
    with pytest.raises(FrozenInstanceError):
        law.error = 0.0  # type: ignore[misc]
    for array in (law.support, law.logs, law.points, Normal(0, 1).mean, Normal(0, 1).covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_law_does_not_follow_the_array_it_was_made_of() -> None:
    support, logs = np.array([0.0, 1.0]), np.log([0.5, 0.5])
    first, second = Atoms(support, [0.5, 0.5]), Atoms.from_logs(support, logs)
    support[0], logs[0] = 9.0, 0.0
    assert first.support.tolist() == second.support.tolist() == [0, 1]
    assert second.logs[0] == np.log(0.5)


def test_mixtures() -> None:
    rng = random.Random(2)
    for _ in range(200):
        pairs = [random_law(rng, 2) for _ in range(3)]
        weights = [0.25, 0.75, 0.0] if rng.random() < 0.5 else [1e-200, 0.5, 0.5]
        truth: Exact = {}
        total = sum(map(Fraction, weights))
        for weight, (_, law) in zip(weights, pairs, strict=True):
            for place, mass in law.items():
                truth[place] = truth.get(place, Fraction(0)) + Fraction(weight) / total * mass
        truth = {place: mass for place, mass in truth.items() if mass}
        check(mixture(weights, [law for law, _ in pairs]), truth, 3e-12)


def test_mixtures_that_do_not_fit_are_refused() -> None:
    line, plane = Atoms([0], [1.0]), Atoms([[0, 0]], [1.0])
    for weights, laws in (([0.5, 0.5], [line, plane]), ([1.0], [line, line]), ([], []), ([0.5, 0.6], [line, line])):
        with pytest.raises(LawError):
            mixture(weights, laws)


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.unhurried
def test_sums_against_enumeration(dimension: int) -> None:
    rng = random.Random(dimension)
    for _ in range(150):
        law, truth = random_law(rng, dimension)
        n = rng.randint(1, 6)
        total = truth
        for _ in range(n - 1):
            total = add(total, truth)
        check(n_fold(law, n), total, 1e-11)


def test_sums_to_1e12_with_tails_of_1e250() -> None:
    """The tails are those of a count, (1e-25)^k: relative accuracy all the way down."""
    for masses in ([1 - 1e-25, 1e-25], [0.5, 0.5 - 1e-25, 1e-25], [0.3, 0.0, 0.3, 0.4 - 1e-25, 1e-25]):
        points = [(float(k),) for k in range(len(masses))]
        truth = total = exact(points, masses)
        for _ in range(9):
            total = add(total, truth)
        check(n_fold(Atoms(range(len(masses)), masses), 10), total, 1e-12)
        assert min(log(mass) for mass in total.values()) < Decimal("-575")


@pytest.mark.parametrize("road", ["add_sparse", "add_dense", "blocks", "rows"])
def test_all_roads_to_a_sum_agree(monkeypatch, road: str) -> None:
    """Each road is taken by force; the law spans 3000 nats, so that blocks have to be cut."""
    law = Atoms([0, 1, 2, 4], [0.3, 0.7 - 1e-12, 1e-12, 1e-200])
    if road in ("blocks", "rows"):
        convolve = sums._convolve_logs
        monkeypatch.setattr(sums, "FLAT_STRETCH", 340.0 if road == "blocks" else 1e-3)
        used = []
        monkeypatch.setattr(sums, "_convolve_logs", lambda *args: used.append(1) or convolve(*args))
    add_two = getattr(sums, road if road.startswith("add") else "add_dense")
    monkeypatch.setattr(whole, "power", lambda one, n, length: sums.square(one, n, add_two))
    truth = total = exact([(0,), (1,), (2,), (4,)], [0.3, 0.7 - 1e-12, 1e-12, 1e-200])
    for _ in range(8):
        total = add(total, truth)
    check(n_fold(law, 9), total, 5e-12)
    if road == "rows":
        assert used


def test_long_sums_agree_with_the_binomial() -> None:
    for n, p in ((1000, 0.3), (4097, 1e-3)):
        first, second = n_fold(Atoms([0, 1], [1 - p, p]), n), Atoms.binomial(n, p)
        assert first.support.tolist() == second.support.tolist()
        assert np.max(np.abs(first.logs - second.logs)) <= first.error + second.error
        assert first.error < 1e-8
        assert first.logs[-1] < -1200


def test_steps_are_recognized() -> None:
    """Three tenths is an atom of the sum once, though .1 + .2 is not .3 in doubles; so is one, of thirds."""
    assert n_fold(Atoms([0, 0.1, 0.2, 0.3], [0.25] * 4), 3).support.tolist() == [k / 10 for k in range(10)]
    assert n_fold(Atoms([1 / 3, 2 / 3], [0.5, 0.5]), 3).support.tolist() == [1, 4 / 3, 5 / 3, 2]
    assert n_fold(Atoms([1e-7, 3e-7], [0.5, 0.5]), 2).support.tolist() == [2e-7, 4e-7, 6e-7]
    assert n_fold(Atoms([-2, 4], [0.5, 0.5]), 2).support.tolist() == [-4, 2, 8]
    assert n_fold(Atoms([7], [1.0]), 5).support.tolist() == [35]


def test_sums_in_space_merge_equal_vectors() -> None:
    law = n_fold(Atoms([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0.5, 0.25, 0.25]), 20)
    assert law.size == math.comb(22, 2)
    assert np.all(np.sum(law.support, axis=1) == 20)
    corner = int(np.argmax(law.support[:, 1]))
    assert law.logs[corner] == pytest.approx(20 * math.log(0.25), abs=1e-12)


@pytest.mark.parametrize(
    ("law", "n", "error"),
    [
        (Atoms([0, 1, 1e15], [0.5, 0.25, 0.25]), 10**5, SizeError),
        (Atoms(np.arange(10**4), np.full(10**4, 1e-4)), 100, SizeError),
        (Atoms([[0, 0], [1, 3**10], [1, 5**6]], [0.5, 0.25, 0.25]), 10**4, SizeError),
    ],
)
def test_sums_that_are_too_large_are_refused_before_they_are_made(law: Atoms, n: int, error) -> None:
    tracemalloc.start()
    with pytest.raises(error):
        n_fold(law, n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_numbers_of_draws_that_are_none_are_refused(n) -> None:
    with pytest.raises(BnprivError):
        n_fold(Atoms([0, 1], [0.5, 0.5]), n)
    with pytest.raises(BnprivError):
        Atoms.binomial(n, 0.5)


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.3), (2, 0.5), (15, 0.01), (16, 0.7), (17, 0.5), (50, 1e-12), (400, 0.5), (900, 0.999), (20, 1e-300)],
)
@pytest.mark.unhurried
def test_binomials(n: int, p: float) -> None:
    law = Atoms.binomial(n, p, step=0.5)
    p_exact = Fraction(p)
    counts = sorted({*range(min(n, 30) + 1), *range(0, n + 1, 1 + n // 40), n})
    truth = {k: math.comb(n, k) * p_exact**k * (1 - p_exact) ** (n - k) for k in counts}
    errors = [abs(float(Decimal(float(law.logs[k])) - log(truth[k]))) for k in counts]
    assert law.support.tolist() == [k / 2 for k in range(n + 1)]
    assert max(errors) <= law.error
    assert max(errors) <= 1e-14 * (50 + float(np.max(np.abs(law.logs))))


def test_binomials_at_the_ends_and_beyond() -> None:
    assert Atoms.binomial(5, 0.0).support.tolist() == [0]
    assert Atoms.binomial(5, 1.0, 2.0).support.tolist() == [10]
    for p in (-0.1, 1.1, math.nan, True, "0.5"):
        with pytest.raises(BnprivError):
            Atoms.binomial(5, p)  # type: ignore[arg-type]
    with pytest.raises(BnprivError):
        Atoms.binomial(5, 0.5, 0.0)
    with pytest.raises(SizeError):
        Atoms.binomial(2**40, 0.5)


def test_normal_laws() -> None:
    law = Normal([1, 2], [[2, 1], [1, 2]])
    assert law.dimension == 2
    assert Normal(0.0, 0.0).covariance.tolist() == [[0.0]]
    assert Normal([0, 0], [[1, 1], [1, 1]]).dimension == 2  # singular is fine


@pytest.mark.parametrize(
    ("mean", "covariance"),
    [
        (0, -1),
        (0, math.nan),
        (math.inf, 1),
        ([0, 0], 1),
        ([0, 0], [[1, 0.5], [0.4, 1]]),
        ([0, 0], [[1, 2], [2, 1]]),
        ([0, 0], [1, 1]),
        ([[0, 0]], [[1, 0], [0, 1]]),
        ([], []),
        ("0", 1),
    ],
)
def test_what_is_no_normal_law_is_refused(mean, covariance) -> None:
    with pytest.raises(LawError):
        Normal(mean, covariance)
