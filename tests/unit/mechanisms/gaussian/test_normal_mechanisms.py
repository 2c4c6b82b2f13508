"""Mechanisms that add a covariance to that of a normal answer: published numbers, refusals, and what rounding costs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.attacks import likelihood_ratio_attack
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_mu
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.core.noise import Gaussian, NoNoise
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.mechanisms.directional import DirectionalMechanism
from bnpriv.mechanisms.gaussian import mechanisms as covariance_noise
from bnpriv.mechanisms.gaussian.mechanisms import (
    DirectionalUncertaintyMechanism,
    EigenvectorMechanism,
    OptimalGaussianMechanism,
)
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from tests.normal_tables import question
from tests.unit.mechanisms.gaussian.test_added_covariance import squared_length

FAMILY = (EigenvectorMechanism, DirectionalUncertaintyMechanism, OptimalGaussianMechanism)
SPREAD = [[22.0, -6.0], [-6.0, 13.0]]
EXAMPLE = bp.DistributionPrivacy([(Normal([100, 101], SPREAD), Normal([99, 102], SPREAD))], source="a textbook")


def with_table(offset: float = 0.0, spread: float = 1.0) -> bp.DistributionPrivacy:
    """Return laws of two means of a table, whose gap needs noise across both."""
    low, high = offset - 40.0, offset + 60.0
    schema = bp.Schema(records=100, columns={"a": bp.Real(low, high), "b": bp.Real(low, high)})
    covariance = np.array([[3.0, -1.0], [-1.0, 2.0]]) * spread
    laws = (Normal([offset + 10, offset + 20], covariance), Normal([offset + 9, offset + 22], covariance))
    query = bp.stack(bp.mean("a"), bp.mean("b"))
    return bp.DistributionPrivacy([laws], query=query, schema=schema, source="a textbook")


# --- published numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "trace"),
    [(EigenvectorMechanism, 22.05), (DirectionalUncertaintyMechanism, 6.7845), (OptimalGaussianMechanism, 6.170)],
)
def test_theorem_4_5_example(mechanism: type[Mechanism], trace: float) -> None:
    textbook = mechanism(constant="textbook").calibrate(EXAMPLE, epsilon=1.0, delta=1e-3)
    assert textbook.noise.covariance.trace() == pytest.approx(trace, rel=2e-4)
    analytic = mechanism().calibrate(EXAMPLE, epsilon=1.0, delta=1e-3)
    assert analytic.noise == NoNoise(2)
    assert analytic.noise.covariance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert analytic.guarantee.delta == 1e-3
    assert analytic.certificate.zero_noise_reason is not None


def test_one_number_is_plain_gaussian_noise() -> None:
    framework = bp.DistributionPrivacy([(Normal(0.0, 4.0), Normal(3.0, 4.0))], source="a textbook")
    needed = math.sqrt((3 / gaussian_mu(0.5, 1e-3)) ** 2 - 4)
    for mechanism in FAMILY:
        noise = mechanism().calibrate(framework, epsilon=0.5, delta=1e-3).noise
        assert isinstance(noise, Gaussian)
        assert needed < noise.scale < needed * (1 + 1e-5)


def test_all_gaps_of_all_models_count() -> None:
    one = (Normal([0, 0], np.eye(2)), Normal([4, 0], np.eye(2)))
    two = (Normal([0, 0], np.eye(2) / 4), Normal([0, 3], np.eye(2) / 4))
    both = bp.DistributionPrivacy([one, two], source="a textbook")
    noise = OptimalGaussianMechanism().calibrate(both, epsilon=1.0, delta=1e-3).noise
    ratio = Fraction(gaussian_mu(1.0, 1e-3)) ** 2
    for first, second in both.pairs:
        assert squared_length(first.mean - second.mean, first.covariance, np.array(noise.needed)) <= ratio


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", FAMILY)
def test_refusals(mechanism: type[Mechanism]) -> None:
    ask = {"epsilon": 1.0, "delta": 1e-3}
    atoms = bp.DistributionPrivacy([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))], source="a textbook")
    assert "normal distribution" in mechanism().supports(atoms, **ask).required
    uneven = bp.DistributionPrivacy([(Normal(0, 4), Normal(0, 1))], source="a textbook")
    assert "differ by" in mechanism().supports(uneven, **ask).found
    singular = bp.DistributionPrivacy([(Normal([0, 0], np.ones((2, 2))), Normal([1, 0], np.ones((2, 2))))], source="x")
    assert "singular" in mechanism().supports(singular, **ask).found
    assert "delta above 0" in mechanism().supports(EXAMPLE, epsilon=1.0).required
    assert "is proved" in mechanism(constant="textbook").supports(EXAMPLE, epsilon=2.0, delta=1e-3).required
    beyond = mechanism(constant="textbook", beyond_proof=True).calibrate(EXAMPLE, epsilon=10.0, delta=1e-3)
    assert beyond.guarantee.delta > 1e-3
    table = with_table()
    assert "number of records" in mechanism().supports(table, epsilon=1.0, delta=0.1).required
    assert mechanism(large_delta=True).supports(table, epsilon=1.0, delta=0.1) is None
    for wrong in ({"constant": "exact"}, {"weights": (0.0, 1.0)}, {"relaxation": -1.0}, {"large_delta": 1}):
        with pytest.raises(ParameterError):
            mechanism(**wrong)
    with pytest.raises(bp.errors.LawError):
        Normal([0, math.nan], SPREAD)
    with pytest.raises(bp.errors.LawError):
        Normal([0, 0], [[1.0, 0.5], [0.2, 1.0]])


def test_what_an_assumption_lacks_is_measured() -> None:
    pairs = [
        (Normal([0, 0], np.eye(2)), Normal([4, 0], np.eye(2))),
        (Normal([0, 0], np.eye(2)), Normal([3, 4], np.eye(2))),
    ]
    framework = bp.DistributionPrivacy(pairs, source="a textbook")
    assert "0.64" in DirectionalUncertaintyMechanism().supports(framework, epsilon=1.0, delta=1e-3).found
    turned = np.array([[2.0, 1.0], [1.0, 2.0]])
    pairs = [pairs[0], (Normal([0, 0], turned), Normal([4, 0], turned)), (Normal([0, 0], np.diag([1.0, 9.0])),) * 2]
    framework = bp.DistributionPrivacy(pairs, source="a textbook")
    refusal = EigenvectorMechanism().supports(framework, epsilon=1.0, delta=1e-3)
    assert "eigenvectors" in refusal.required
    with pytest.raises(RefusedError, match="of themselves"):
        EigenvectorMechanism().calibrate(framework, epsilon=1.0, delta=1e-3)


# --- what rounding costs ---------------------------------------------------------------------------------------------


def told(framework: bp.DistributionPrivacy, epsilon: float, delta: float, mechanism: Mechanism) -> float:
    """Return delta of the doubles that are released, by docs/claims/noise_with_a_covariance.md."""
    noise = mechanism.calibrate(framework, framework.query, epsilon=epsilon, delta=delta).noise
    assert isinstance(noise, CorrelatedGaussian)
    [(first, second)] = framework.pairs
    needed = np.array(noise.needed)
    gap = first.mean - second.mean
    main = float(squared_length(gap, first.covariance, needed))
    reach = max(abs(column.lower) for column in framework.schema.columns.values()) + 100
    farthest = 2 + math.sqrt(2 * (math.log(2**41 / delta) + epsilon))
    moved = [2 * 2.0**-53 * (reach + 2 * farthest * math.sqrt(needed[k, k])) for k in range(len(gap))]
    rounded = 2 * 2.0**-53 * reach  # the answer itself is a double
    spare = 1 + 2.0**-20  # so much of the last noise is set aside
    last = sum((spare * (each + rounded) / dither) ** 2 for each, dither in zip(moved, noise.dithers, strict=True))
    return gaussian_delta(math.sqrt(main + last), epsilon) + delta * 2.0**-40


HOSTILE = [(0.0, 1.0), (2.0**40, 1.0), (2.0**48, 0.01), (2.0**30, 1e3)]


@pytest.mark.parametrize(("offset", "spread"), HOSTILE)
@pytest.mark.parametrize("mechanism", [DirectionalUncertaintyMechanism(), OptimalGaussianMechanism()])
def test_rounding_is_paid_for(offset: float, spread: float, mechanism: Mechanism) -> None:
    framework = with_table(offset, spread)
    assert told(framework, 0.05 if spread <= 1 else 0.01, 1e-4, mechanism) <= 1e-4


def test_a_part_of_the_last_noise_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes up for what the factor of the covariance loses: 2^-20 of each deviation, where rounding decides them."""
    monkeypatch.setattr(CorrelatedGaussian, "moved", lambda *_: np.array([1e6, 2e6]))
    pair = Normal([0, 0], np.eye(2)), Normal([3, 4], np.eye(2))
    noise = (
        OptimalGaussianMechanism()
        .calibrate(bp.DistributionPrivacy([pair], source="a textbook"), epsilon=0.5, delta=1e-4)
        .noise
    )
    assert isinstance(noise, CorrelatedGaussian)
    shares = [
        math.sqrt(2) * 2 * far / (dither * gaussian_mu(0.5, 1e-4))
        for far, dither in zip((1e6, 2e6), noise.dithers, strict=True)
    ]
    assert shares[0] == pytest.approx(shares[1], rel=1e-12)
    share = 2.0 ** round(math.log2(shares[0]))
    assert shares[0] * (1 + 2.0**-20) <= share * (1 + 1e-9)


def _paid(offset: float, spread: float) -> bool:
    framework = with_table(offset, spread)
    return told(framework, 0.05 if spread <= 1 else 0.01, 1e-4, OptimalGaussianMechanism()) <= 1e-4


@pytest.mark.mutants
def test_mutant_that_does_not_pay_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covariance_noise, "kept", lambda share: 1.0)
    assert not all(_paid(offset, spread) for offset, spread in HOSTILE)


@pytest.mark.mutants
def test_mutant_whose_last_step_does_not_grow_with_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = covariance_noise.CovarianceChoice._noise_for
    monkeypatch.setattr(covariance_noise.CovarianceChoice, "_noise_for", lambda *a: CorrelatedGaussian(real(*a).needed))
    assert not all(_paid(offset, spread) for offset, spread in HOSTILE)


@pytest.mark.mutants
@pytest.mark.parametrize("mechanism", FAMILY)
def test_mutant_with_the_constant_inverted(monkeypatch: pytest.MonkeyPatch, mechanism: type[Mechanism]) -> None:
    real = covariance_noise.normal_ratio
    monkeypatch.setattr(covariance_noise, "normal_ratio", lambda *a: 1 / real(*a))
    with pytest.raises(AssertionError):
        test_one_number_is_plain_gaussian_noise()


# --- covariances that differ ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", FAMILY)
def test_other_normal_laws_stand_for_those_whose_covariances_differ(mechanism: type[Mechanism]) -> None:
    """Released numbers are compared as they are, by drawing; the census income study has such covariances."""
    first, second = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([[4.06, 1.0], [1.0, 3.0]])
    framework = bp.DistributionPrivacy([(Normal([0, 0], first), Normal([1, 2], second))], source="a textbook")
    assert mechanism().supports(framework, epsilon=1.0, delta=1e-3) is not None
    calibration = mechanism(relaxation=0.05).calibrate(framework, epsilon=1.0, delta=1e-3)
    assert "(0.05, " in calibration.certificate.notes[0]
    same = bp.DistributionPrivacy([(Normal([0, 0], first), Normal([1, 2], first))], source="a textbook")
    least = mechanism().calibrate(same, epsilon=1.0, delta=1e-3).noise.covariance.trace()
    assert least < calibration.noise.covariance.trace() < 2 * least
    rng = np.random.default_rng(11)
    noise = calibration.noise.covariance
    sides = [(np.zeros(2), first + noise), (np.array([1.0, 2.0]), second + noise)]
    for (mean, one), (other_mean, other) in (sides, sides[::-1]):
        draws = rng.multivariate_normal(mean, one, 400_000)
        log_ratio = _log_normal(draws, mean, one) - _log_normal(draws, other_mean, other)
        excess = np.maximum(0.0, -np.expm1(1.0 - log_ratio)).mean()
        assert excess <= 1e-3
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.noise == calibration.noise


def _log_normal(x: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    z = np.linalg.solve(np.linalg.cholesky(covariance), (x - mean).T)
    return -0.5 * np.sum(z * z, axis=0) - 0.5 * np.linalg.slogdet(covariance)[1]


def test_relaxations_that_do_not_do_are_refused_with_the_departure() -> None:
    framework = bp.DistributionPrivacy([(Normal(0, 4), Normal(0, 1))], source="a textbook")
    refusal = OptimalGaussianMechanism(relaxation=0.1).supports(framework, epsilon=1.0, delta=1e-3)
    assert "-close to such" in refusal.found
    refusal = OptimalGaussianMechanism(relaxation=0.5).supports(framework, epsilon=1.0, delta=1e-3)
    assert "twice the relaxation" in refusal.required
    with pytest.raises(ParameterError):
        OptimalGaussianMechanism(relaxation=-1.0)
    atoms = bp.DistributionPrivacy([(Atoms([0, 1], [0.5, 0.5]), Atoms([1, 2], [0.5, 0.5]))], source="a textbook")
    assert OptimalGaussianMechanism(relaxation=0.1).supports(atoms, epsilon=1.0, delta=1e-3) is not None


# --- the common road -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", FAMILY)
def test_release_and_stored_calibrations(mechanism: type[Mechanism]) -> None:
    framework = with_table()
    calibration = mechanism().calibrate(framework, framework.query, epsilon=0.1, delta=1e-3)
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.noise == calibration.noise
    assert again.to_json() == calibration.to_json()
    table = {"a": [0.0, 20.0] * 50, "b": [5.0, 35.0] * 50}
    import pandas as pd

    released = bp.release(calibration, pd.DataFrame(table))
    assert len(released.value) == 2
    for (low, high), exact in zip(released.interval(0.999999), (10.0, 20.0), strict=True):
        assert low <= exact <= high
    assert "Correlated" in calibration.to_html() or isinstance(calibration.noise, Gaussian)


def test_changed_noise_is_refused() -> None:
    import dataclasses

    framework = with_table()
    calibration = OptimalGaussianMechanism().calibrate(framework, framework.query, epsilon=0.1, delta=1e-3)
    smaller = CorrelatedGaussian(np.array(calibration.noise.needed) / 4)
    with pytest.raises(RefusedError, match="what its mechanism returned"):
        bp.release(dataclasses.replace(calibration, noise=smaller), None)


def test_plan_finds_them() -> None:
    framework = with_table()
    plan = bp.plan(framework, framework.query, epsilon=0.1, delta=1e-3)
    ranked = [type(calibration.mechanism) for calibration in plan.calibrations]
    assert {*ranked[:3]} == {DirectionalMechanism, DirectionalUncertaintyMechanism, OptimalGaussianMechanism}
    assert plan.to_pandas().expected_error.is_monotonic_increasing


# --- tables whose records are normal before they are clamped and rounded to a grid ------------------------------------


@pytest.mark.parametrize("level", ["records", "parameters"])
def test_answers_of_tables_pay_for_grids_and_clamping(level: str) -> None:
    """What is told of the normal law and of the grid add up as squares; clamping is in delta."""
    rng, served = np.random.default_rng(8), 0
    for _ in range(30):
        asked = question(rng, level=level)
        [constraint] = asked.laws.constraints()
        [pair] = constraint.pairs
        # equal weights: the bound on what a grid moves is for all numbers together
        mechanism = OptimalGaussianMechanism(large_delta=True, weights=(1.0, 1.0))
        if mechanism.supports(asked.framework, asked.query, epsilon=0.5, delta=1e-3) is not None:
            continue
        noise = mechanism.calibrate(asked.framework, asked.query, epsilon=0.5, delta=1e-3).noise
        served += 1
        gap = pair.first.mean - pair.second.mean
        # plain noise is all for the grid: the answer hides the gap by itself
        correlated = isinstance(noise, CorrelatedGaussian)
        needed, dithers = (np.array(noise.needed), noise.dithers) if correlated else (np.zeros((2, 2)), noise.scales)
        main = float(squared_length(gap, pair.first.covariance, needed))
        last = sum((pair.rounding / dither) ** 2 for dither in dithers)
        lost = (1 + math.exp(0.5)) * pair.departure.mass
        assert gaussian_delta(math.sqrt(main + last), 0.5) + lost <= 1e-3
    assert served >= 10


def test_a_table_is_never_released_without_noise() -> None:
    asked = question(np.random.default_rng(9), level="parameters", wide=40.0)
    calibration = OptimalGaussianMechanism(large_delta=True).calibrate(
        asked.framework, asked.query, epsilon=5, delta=0.1
    )
    assert min(calibration.noise.scales) > 0


def test_coarse_bounds_are_refused() -> None:
    asked = question(np.random.default_rng(10), level="records", wide=1.0)
    refusal = OptimalGaussianMechanism(large_delta=True).supports(asked.framework, asked.query, epsilon=0.5, delta=1e-3)
    assert "clamped" in refusal.required


# --- attacks and rehearsals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [*(each() for each in FAMILY), DirectionalMechanism()])
def test_no_guesser_beats_the_guarantee(mechanism: Mechanism) -> None:
    framework = with_table(spread=9.0)
    calibration = mechanism.calibrate(framework, framework.query, epsilon=0.4, delta=1e-3)
    attack = likelihood_ratio_attack(calibration)
    assert 0.5 < attack.accuracy <= attack.bound
    rehearsal = bp.rehearse(calibration, draws=400)
    assert rehearsal.correct <= attack.accuracy + rehearsal.margin
    assert rehearsal.correct >= attack.accuracy - 0.05 - rehearsal.margin


def test_what_is_told_along_one_direction_is_that_of_made_up_answers() -> None:
    """The closed form leaves out what does not tell: compare it with the rule that sees everything."""
    from bnpriv.lab.attacks.likelihood_ratio import accuracy

    rng = np.random.default_rng(12)
    first, second = Normal([0.0, 0.0], SPREAD), Normal([3.0, 4.0], SPREAD)
    framework = bp.DistributionPrivacy([(first, second)], source="a textbook")
    noise = DirectionalMechanism().calibrate(framework, epsilon=1.5).noise
    inverse = np.linalg.inv(np.array(SPREAD))
    way = np.array([0.6, 0.8]) @ inverse
    draws = rng.multivariate_normal([0.0, 0.0], SPREAD, 200_000)
    draws += np.outer(rng.laplace(scale=noise.scale, size=200_000), [0.6, 0.8])
    # by symmetry the threshold of the only number that tells lies in the middle
    right = float(np.mean(draws @ way < way @ [1.5, 2.0]))
    assert accuracy(first, second, noise, 100, rng).value == pytest.approx(right, abs=0.005)


# --- gaps and covariances that leave what is assumed by very little ------------------------------------------------


def hidden_enough(mechanism: Mechanism, *pairs: tuple[Normal, Normal]) -> bool:
    """Return whether every gap is short enough in deviations of answer and noise, worked out in fractions."""
    framework = bp.DistributionPrivacy(list(pairs), source="a test")
    noise = mechanism.calibrate(framework, epsilon=0.5, delta=1e-4).noise
    least = gaussian_mu(0.5, 1e-4)
    lengths = [squared_length(a.mean - b.mean, a.covariance, noise.covariance) for a, b in pairs]
    return all(length <= Fraction(least) ** 2 * (1 + Fraction(1, 10**9)) for length in lengths)


UNEVEN = np.array([[2.0**80, 0.0], [0.0, 1.0]])
NEARLY = np.array([[2.0**80, 2.0**41], [2.0**41, 2.0**3]])


@pytest.mark.parametrize("mechanism", [*(each() for each in FAMILY), DirectionalMechanism(noise="gaussian")])
def test_gaps_that_leave_the_direction_of_the_longest_are_hidden_too(mechanism: Mechanism) -> None:
    """Hostile numbers: in units far apart a gap of 5 deviations is less than a billionth of the longest."""
    long = Normal([0.0, 0.0], np.eye(2)), Normal([1e12, 0.0], np.eye(2))
    short = Normal([0.0, 0.0], np.eye(2)), Normal([1.0, 5.0], np.eye(2))
    assert hidden_enough(mechanism, long, short)
    assert hidden_enough(mechanism, short, long)
    one = Normal([0.0, 0.0], UNEVEN), Normal([2.0**43, 5.0], UNEVEN)
    assert hidden_enough(mechanism, one, (Normal([0.0, 0.0], UNEVEN), Normal([2.0**40, -7.0], UNEVEN)))


def test_covariances_that_leave_their_eigenvectors_by_little_are_hidden_too() -> None:
    for other in (NEARLY, np.diag([2.0**80, 2.0**-20])):
        sides = (UNEVEN, 5.0), (other, 3.0)
        pairs = [(Normal([0.0, 0.0], spread), Normal([2.0**43, gap], spread)) for spread, gap in sides]
        assert hidden_enough(EigenvectorMechanism(), *pairs)
