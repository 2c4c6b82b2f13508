"""Gaussian noise for normal laws: what is released is integrated, and the length of gaps taken in fractions."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.mechanisms.gaussian.mechanisms as attribute_gaussian
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_ratio
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.gaussian.laws import covariance_departure

Mechanism = bp.mechanisms.AttributeGaussianMechanism
Pairs = list[tuple[Normal, Normal]]


def declared(pairs: Any, **options: Any) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy(pairs, source="invented", **options)


def exact_length(gap: list[Fraction], matrix: list[list[Fraction]]) -> Fraction:
    """Return the square of a gap's length by elimination in fractions."""
    rows = [[*row, entry] for row, entry in zip(matrix, gap, strict=True)]
    for k in range(len(rows)):
        for other in rows[k + 1 :]:
            factor = other[k] / rows[k][k]
            for column in range(k, len(rows) + 1):
                other[column] -= factor * rows[k][column]
    solved = [Fraction(0)] * len(rows)
    for k in reversed(range(len(rows))):
        rest = sum((rows[k][j] * solved[j] for j in range(k + 1, len(rows))), Fraction(0))
        solved[k] = (rows[k][-1] - rest) / rows[k][k]
    return sum((x * y for x, y in zip(gap, solved, strict=True)), Fraction(0))


def longest(pairs: Pairs, scale: float) -> float:
    """Return the largest length of a gap in deviations of what is released."""
    found = []
    for first, second in pairs:
        gap = [Fraction(a) - Fraction(b) for a, b in zip(first.mean.tolist(), second.mean.tolist(), strict=True)]
        rows = [list(map(Fraction, row)) for row in first.covariance.tolist()]
        for k, row in enumerate(rows):
            row[k] += Fraction(scale) ** 2
        found.append(math.sqrt(exact_length(gap, rows)))
    return max(found)


def integrated(first: Normal, second: Normal, scale: float, epsilon: float) -> float:
    """Return delta of two released numbers by Gauss's rule on short cells."""
    deviation = math.sqrt(float(first.covariance[0, 0]) + scale**2)
    means = float(first.mean[0]), float(second.mean[0])
    edges = np.linspace(min(means) - 12 * deviation, max(means) + 12 * deviation, 20001)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    half = np.diff(edges)[:, None] / 2
    at = edges[:-1, None] + half * (1 + nodes)
    p, q = (np.exp(-(((at - mean) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi) for mean in means)
    ways = (
        np.sum(np.maximum(p - np.exp(epsilon) * q, 0) * half * weights),
        np.sum(np.maximum(q - np.exp(epsilon) * p, 0) * half * weights),
    )
    return float(max(ways))


def hostile(seed: int, count: int, *, most: int = 4) -> Iterator[tuple[Pairs, float, float]]:
    """Yield pairs with one covariance each, with epsilon and delta, some of them with numbers of hostile size."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        size, pairs = int(rng.integers(1, most + 1)), []
        units = 10.0 ** rng.uniform(-6, 6, size) if rng.random() < 0.3 else np.ones(size)
        offset = float(rng.choice([0.0, 0.0, 2.0**40, -(2.0**52)]))
        for _ in range(int(rng.integers(1, 5))):
            root = rng.normal(size=(size, size + 1)) * float(rng.choice([1e-3, 0.3, 1.0, 3.0]))
            covariance = root @ root.T * np.outer(units, units)
            mean = offset + rng.normal(size=size) * units
            gap = rng.normal(size=size) * units * float(rng.choice([0.0, 0.1, 1.0, 30.0]))
            if np.linalg.eigvalsh(covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))))[0] > 1e-9:
                pairs.append((Normal(mean, covariance), Normal(mean + gap, covariance)))
        if pairs:
            yield pairs, float(10 ** rng.uniform(-3, 1.5)), float(10 ** rng.uniform(-12, -1))


def claims_hold(number: int, seed: int = 1) -> bool:
    """Return whether no gap is longer than the curve allows, taken in fractions."""
    for pairs, epsilon, delta in hostile(seed, number):
        calibration = Mechanism().calibrate(declared(pairs), epsilon=epsilon, delta=delta)
        if longest(pairs, calibration.scale) > gaussian_ratio(epsilon, delta):
            return False
    return True


@pytest.mark.parametrize("seed", range(3))
def test_never_too_little_noise_and_never_much_more_than_the_least(seed: int) -> None:
    noisy = 0
    for pairs, epsilon, delta in hostile(seed, 150):
        calibration = Mechanism().calibrate(declared(pairs), epsilon=epsilon, delta=delta)
        ratio, scale = gaussian_ratio(epsilon, delta), calibration.scale
        assert longest(pairs, scale) <= ratio
        if scale > 0:
            noisy += 1
            assert longest(pairs, scale * (1 - 1e-6)) > ratio * (1 - 1e-9)
    assert noisy > 50


@pytest.mark.parametrize("seed", range(4))
def test_delta_of_what_is_released(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(15):
        variances = rng.gamma(2.0, size=3)
        pairs = [(Normal(rng.normal(), v), Normal(rng.normal() * 3, v)) for v in variances]
        epsilon, delta = float(rng.uniform(0.05, 4)), float(10 ** rng.uniform(-6, -1))
        scale = Mechanism().calibrate(declared(pairs), epsilon=epsilon, delta=delta).scale
        worst = max(integrated(*pair, scale, epsilon) for pair in pairs)
        assert worst <= delta * (1 + 1e-6)
        assert scale == 0 or worst >= delta * (1 - 1e-3)


def test_numbers_of_the_theory() -> None:
    ratios = {0.1: 17.40440, 0.2: 9.89820, 0.5: 4.61013, 1.0: 2.57466, 2.0: 1.44524, 5.0: 0.68984, 10.0: 0.40606}
    for epsilon, ratio in ratios.items():
        pair = Normal(3.0, 9.0), Normal(8.0, 9.0)
        scale = Mechanism().calibrate(declared([pair]), epsilon=epsilon, delta=1e-3).scale
        assert max(9.0, scale**2 + 9) == pytest.approx(max(9.0, (5 * ratio) ** 2), rel=3e-5)
    covariance = [[22, -6], [-6, 13]]
    pair = Normal([100, 101], covariance), Normal([99, 102], covariance)
    assert Mechanism().calibrate(declared([pair]), epsilon=1.0, delta=1e-3).scale == 0
    textbook = Mechanism(constant="textbook").calibrate(declared([pair]), epsilon=1.0, delta=1e-3).scale
    assert textbook**2 == pytest.approx(6.16963, rel=1e-5)
    assert textbook**2 < 2 * 2 * math.log(1250) - 10  # what the least eigenvalue would ask for


def test_one_number_has_a_closed_form() -> None:
    for constant in ("analytic", "textbook", "lecture"):
        ratio = gaussian_ratio(0.7, 1e-4, constant)
        pairs = [(Normal(0.0, 4.0), Normal(1.0, 4.0)), (Normal(0.0, 1.0), Normal(0.9, 1.0))]
        scale = Mechanism(constant=constant).calibrate(declared(pairs), epsilon=0.7, delta=1e-4).scale
        assert scale**2 == pytest.approx(max((1 / ratio) ** 2 - 4, (0.9 / ratio) ** 2 - 1), rel=1e-9)


def test_accuracy() -> None:
    """Theorem 2 of the paper: with probability 1 - beta the error is at most sigma Phi^-1(1 - beta / 2)."""
    calibration = Mechanism().calibrate(declared([(Normal(0.0, 1.0), Normal(2.0, 1.0))]), epsilon=1.0, delta=1e-3)
    assert calibration.quantile(0.95) == pytest.approx(calibration.scale * 1.959963985, rel=1e-8)


def test_secrets_that_are_sets_need_the_gap_between_members() -> None:
    """Means of the two mixtures .01 apart would need nothing; the members are 10 apart."""
    members = [(Normal(float(a), 1.0), Normal(0.0, 1.0)) for a in (0, 10)]
    scale = Mechanism().calibrate(declared(members), epsilon=1.0, delta=1e-5).scale
    of_means = Mechanism().calibrate(declared([(Normal(0.01, 1.0), Normal(0.0, 1.0))]), epsilon=1.0, delta=1e-5)
    assert of_means.scale == 0

    def excess(scale: float) -> float:
        deviation = math.sqrt(1 + scale**2)
        edges = np.linspace(-12 * deviation, 10 + 12 * deviation, 200_001)
        p, q = (
            np.exp(-(((edges - mean) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi) for mean in (10, 0)
        )
        mixed = 0.999 * q + 0.001 * p
        return float(np.trapezoid(np.maximum(mixed - math.e * q, 0), edges))

    assert excess(0.0) > 9e-4
    assert excess(scale) <= 1e-5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mechanism", [Mechanism(), Mechanism(relaxation=1e-3)], ids=str)
def test_numbers_of_hostile_size(mechanism: bp.types.Mechanism) -> None:
    """Row 42: a scale that holds, or a refusal of ours, for the smallest and the largest numbers there are."""
    sizes = (5e-324, 1e-300, 1.0, 2.0**500)
    asked = ((1e-8, 1e-3), (1.0, 5e-324), (100.0, 1e-3), (50.0, 0.5), (1.0, 0.999))
    served = 0
    for variance, gap in itertools.product(sizes, (0.0, *sizes)):
        pair = Normal(0.0, variance), Normal(gap, variance)
        for epsilon, delta in asked:
            try:
                scale = mechanism.calibrate(declared([pair]), epsilon=epsilon, delta=delta).scale
            except bp.BnprivError:
                continue
            served += 1
            ratio = Fraction(gaussian_ratio(epsilon, delta))
            assert Fraction(gap) ** 2 <= ratio**2 * (Fraction(variance) + Fraction(scale) ** 2)
    assert served >= (70 if mechanism.options()["relaxation"] is None else 20)


def test_variances_of_few_digits() -> None:
    covariance = np.diag([1e-320, 1e10])
    pair = Normal([0.0, 0.0], covariance), Normal([1.0, 1e-5], covariance)
    scale = Mechanism().calibrate(declared([pair]), epsilon=1.0, delta=1e-3).scale
    assert scale == pytest.approx(2.57466, rel=1e-5)


def test_rounding_of_the_answer_is_paid_for_where_noise_is_added() -> None:
    schema = bp.Schema(records=1000, columns={"x": bp.Real(-(2.0**52), 2.0**52)})
    query = bp.mean("x")
    for gap in (1.0, 1e-3):
        pair = Normal(0.0, 1e-8), Normal(gap, 1e-8)
        plain = Mechanism().calibrate(declared([pair]), epsilon=1.0, delta=1e-4).scale
        asked = Mechanism().calibrate(declared([pair], query=query, schema=schema), epsilon=1.0, delta=1e-4).scale
        assert asked >= plain + 0.2 / gaussian_ratio(1.0, 1e-4)  # doubles of that size are 1 apart
    quiet = Normal(0.0, 1.0), Normal(1e-6, 1.0)
    assert Mechanism().calibrate(declared([quiet], query=query, schema=schema), epsilon=1.0, delta=1e-4).scale == 0


def test_beyond_its_proof_the_guarantee_names_the_delta_that_holds() -> None:
    framework = declared([(Normal(0.0, 1e-6), Normal(1.0, 1e-6))])
    assert "proved for epsilon of at most 1" in str(
        Mechanism(constant="textbook").supports(framework, epsilon=5.0, delta=1e-3)
    )
    for epsilon in (5.0, 10.0):
        mechanism = Mechanism(constant="textbook", beyond_proof=True)
        calibration = mechanism.calibrate(framework, epsilon=epsilon, delta=1e-3)
        holds = integrated(*framework.pairs[0], calibration.scale, epsilon)  # type: ignore[arg-type]
        assert holds <= calibration.guarantee.delta * (1 + 1e-6)
        assert (calibration.guarantee.delta > 1e-3) == (epsilon == 10.0)


@pytest.mark.parametrize("kind", [Mechanism, bp.mechanisms.OptimalGaussianMechanism])
def test_beyond_its_proof_differing_covariances_are_in_the_delta_that_holds(kind: Any) -> None:
    first, second, epsilon, delta = Normal(0.0, 1.0), Normal(30.0, 1 + 9.9e-13), 18.0, 0.2
    mechanism = kind(constant="textbook", beyond_proof=True, large_delta=True)
    found = mechanism.calibrate(declared([(first, second)]), epsilon=epsilon, delta=delta).guarantee.delta
    paid = math.exp(epsilon) * covariance_departure(first, second) / 2
    told = gaussian_delta(gaussian_ratio(epsilon, delta - paid, "textbook"), epsilon)
    assert told + paid <= found * (1 + 1e-12) <= 1 + 1e-12


SINGULAR = Normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]), Normal([1.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
FINE = Normal(0.0, 1.0), Normal(9.0, 1.0)
REFUSED = {
    "delta 0": ([FINE], {"delta": 0.0}, "delta above 0"),
    "singular": ([SINGULAR], {}, "must have an inverse"),
    "no variance": ([(Normal(0.0, 0.0), Normal(1.0, 0.0))], {}, "must have an inverse"),
    "other variance": ([(Normal(0.0, 4.0), Normal(0.0, 1.0))], {}, "covariances that differ by 3 of themselves"),
    "nearly one": ([(Normal(0.0, 18.31), Normal(1.0, 18.03))], {}, "differ by 0.015"),
    "atoms": ([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))], {}, "Use TightMechanism"),
    "differs by rounding": (
        [(Normal(0.0, 1.0), Normal(1.0, 1 + 1e-13))],
        {"delta": 1e-14},
        "delta must cover that the covariances of a pair differ by rounding",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason(case: str) -> None:
    pairs, asked, reason = REFUSED[case]
    refusal = Mechanism().supports(declared(pairs), **{"epsilon": 1.0, "delta": 1e-3, **asked})
    assert reason in str(refusal)


def test_delta_of_one_over_the_number_of_records_is_refused() -> None:
    schema = bp.Schema(records=100, columns={"x": bp.Real(0, 1)})
    framework = declared([FINE], query=bp.mean("x"), schema=schema)
    assert "one over the number of records" in str(Mechanism().supports(framework, epsilon=1.0, delta=0.01))
    assert Mechanism(large_delta=True).supports(framework, epsilon=1.0, delta=0.01) is None


@pytest.mark.parametrize(
    "covariance", [[[1.0, 0.5], [0.4, 1.0]], [[1.0, math.nan], [math.nan, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]
)
def test_no_covariance_at_all(covariance: list[list[float]]) -> None:
    with pytest.raises(bp.errors.LawError):
        Normal([0.0, 0.0], covariance)


def test_bad_options() -> None:
    for options in ({"constant": "best"}, {"beyond_proof": 1}, {"large_delta": "yes"}):
        with pytest.raises(ParameterError):
            Mechanism(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("pair", [FINE, (Normal([0.0, 1.0], np.eye(2)), Normal([5.0, 1.0], np.eye(2)))])
def test_the_common_road(pair: tuple[Normal, Normal]) -> None:
    framework = declared([pair])
    mechanism = Mechanism(constant="lecture")
    calibration = mechanism.calibrate(framework, epsilon=0.5, delta=1e-4)
    text = calibration.to_json()
    assert bp.types.Calibration.from_json(text, framework).to_json() == text
    assert json.loads(text)["mechanism"]["options"]["constant"] == "lecture"
    assert "the two normal distributions of the answer must stay alike" in calibration.text
    assert "<" in calibration.to_html()
    assert calibration.to_markdown()
    scales = {str(each.mechanism): each.scale for each in bp.plan(framework, None, 0.5, 1e-4).calibrations}
    assert scales["AttributeGaussianMechanism()"] < scales["WassersteinMechanism(noise='gaussian')"]


@pytest.mark.mutants
def test_the_sound_mechanism_survives() -> None:
    assert claims_hold(40)


@pytest.mark.mutants
@pytest.mark.parametrize(
    "bug", ["root forgotten", "variance for deviation", "largest variance", "least gap", "no rounding up"]
)
def test_planted_bugs_are_found(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    real, length = attribute_gaussian._decided, attribute_gaussian.mahalanobis

    def decided(each: Any, ratio: float, *, declared: bool) -> Any:
        return real(each, ratio, declared=declared)

    if bug == "root forgotten":
        monkeypatch.setattr(attribute_gaussian, "mahalanobis", lambda gap, covariance: length(gap, covariance) ** 2)
    elif bug == "variance for deviation":
        monkeypatch.setattr(attribute_gaussian, "mahalanobis", lambda gap, covariance: length(gap, covariance) ** 0.5)
    elif bug == "largest variance":

        def flat(gap: Any, covariance: Any) -> float:
            return float(np.linalg.norm(gap) / math.sqrt(np.linalg.eigvalsh(covariance)[-1]))

        monkeypatch.setattr(attribute_gaussian, "mahalanobis", flat)
    elif bug == "least gap":
        monkeypatch.setattr(
            attribute_gaussian, "sorted", lambda found, key: sorted(found, key=lambda d: d.scale), raising=False
        )
    else:

        def low(gap: Any, covariance: Any) -> float:
            return 0.0 if not np.any(gap) else length(gap, covariance) * (1 - 1e-9)

        monkeypatch.setattr(attribute_gaussian, "mahalanobis", low)
    assert not claims_hold(150)
