"""What is said of noise: its kind, the scales of many parts, how numbers go together, and by what plans are ordered."""

from __future__ import annotations

import pytest

import bnpriv as bp
from bnpriv.core.distributions import Normal
from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack
from bnpriv.mechanisms.baselines import GroupPrivacyMechanism, RecordPrivacyMechanism
from bnpriv.mechanisms.directional import DirectionalMechanism, ExpectedValueMechanism
from bnpriv.mechanisms.gaussian.mechanisms import OptimalGaussianMechanism
from bnpriv.text import upper_text

DELTA = 1e-4
UNITS = bp.stack("mean(rooms)", "total(rooms)", "mean(rent)", "total(rent)")


def laws() -> bp.DistributionPrivacy:
    covariance = [[22.0, -6.0], [-6.0, 13.0]]
    pair = (Normal([100, 101], covariance), Normal([99, 102], covariance))
    return bp.DistributionPrivacy([pair], source="invented")


def test_noise_is_named_in_words_and_its_size_too() -> None:
    framework = laws()
    optimal = OptimalGaussianMechanism(constant="textbook").calibrate(framework, epsilon=1.0, delta=DELTA).text
    assert "Correlated Gaussian noise of standard deviation 2.241 and 3.158" in optimal
    directional = DirectionalMechanism().calibrate(framework, epsilon=1.0).text
    assert "Directional Laplace noise of scale 1" in directional
    assert "CorrelatedGaussian" not in optimal
    assert "DirectionalLaplace" not in directional


def test_correlations_are_shown() -> None:
    framework = laws()
    text = DirectionalMechanism().calibrate(framework, epsilon=1.0).text
    assert "How the noise of the numbers goes together" in text
    rows = [line.split() for line in text.splitlines() if line.startswith(("1: ", "2: "))]
    assert [row[-2:] for row in rows] == [["1.000", "-1.000"], ["-1.000", "1.000"]]
    assert "goes together" not in ExpectedValueMechanism().calibrate(framework, epsilon=1.0).text


def test_the_error_said_first_is_that_of_the_parts() -> None:
    """One number for both parts was less than what the table said of the second."""
    calibration = OptimalGaussianMechanism(constant="textbook").calibrate(laws(), epsilon=1.0, delta=DELTA)
    first, second = (part.error for part in calibration.useful.parts)
    assert f"err by at most {upper_text(first)} and {upper_text(second)}" in calibration.document.lead


def test_many_scales_are_said_from_the_least_to_the_largest() -> None:
    calibration = bp.ColumnMechanism().calibrate(bp.example("survey"), UNITS, epsilon=1.0)
    (noise,) = [line for line in calibration.text.splitlines() if line.startswith("What noise it needs, and why: ")]
    assert noise.startswith("What noise it needs, and why: Laplace noise of scale 35.89 to 75,274,368. The noise hides")
    assert calibration.document.lead == "95 % of releases err by at most 2,376 % of the range of each number."


def test_a_plan_says_by_what_it_is_ordered() -> None:
    made = bp.plan(bp.example("survey"), bp.stack("mean(rooms)", "mean(rent)"), epsilon=1.0, delta=1e-5)
    ranked = [calibration.ranked_error for calibration in made.calibrations]
    assert ranked == sorted(ranked)
    assert "the least mean error, as a share of the range of each part, first" in made.text
    (header,) = [line for line in made.text.splitlines() if line.startswith("mechanism ")]
    rows = [line for line in made.text.splitlines() if line.startswith("ColumnMechanism") and "): " not in line]
    assert all(line[header.index("mean error") :].split()[1] == "%" for line in rows)


@pytest.mark.unhurried
def test_a_plan_of_one_unit_goes_by_the_error() -> None:
    made = bp.plan(bp.example("student"), "count(height > 180)", epsilon=0.1, delta=1e-5)
    errors = [calibration.expected_error for calibration in made.calibrations]
    assert errors == sorted(errors)
    assert "the least expected error first" in made.text


def test_declared_laws_begin_a_sentence() -> None:
    text = DirectionalMechanism().calibrate(laws(), epsilon=1.0).text
    assert text.startswith("The answer of the declared distributions can be released")
    assert (
        "Distributions 1 and 2: the two distributions of the answer must stay alike, their means are at most 2 apart"
        in text
    )
    assert "the two secrets of the distribution" not in text


@pytest.mark.parametrize("mechanism", [RecordPrivacyMechanism(), GroupPrivacyMechanism(size=20)])
def test_a_baseline_does_not_look_like_a_promise(mechanism: bp.types.Mechanism) -> None:
    text = mechanism.calibrate(bp.example("student"), "count(height > 180)", epsilon=1.0).text
    assert "can be released" not in text.splitlines()[0]
    assert "can become as good as certainty" in text or "becomes at most 100 %" in text


def test_verbs_take_the_query_of_a_framework() -> None:
    framework = laws()
    assert "noise" in str(bp.tradeoff(framework, None, [0.1, 1.0], DELTA))
    assert "Both give the same error" in str(bp.compare(framework, framework, None, 0.3, DELTA))


def test_a_report_of_laws_alone_keeps_its_epsilon() -> None:
    text = bp.influence_report(laws(), None, 0.3, DELTA).text
    assert text.startswith("The answer of the declared distributions can be released with noise at epsilon 0.3")
    assert "Give an epsilon" not in text


def test_a_refusal_of_many_pairs_names_a_mechanism_that_serves_them() -> None:
    framework, query = bp.example("hospital"), "count(inhaler == 'yes')"
    refusal = ExpectedValueMechanism().supports(framework, query, epsilon=1.0)
    assert refusal is not None
    assert refusal.remedy.startswith("Use TightMechanism")
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
    with pytest.raises(bp.errors.RefusedError, match="Choose fewer pairs of secrets"):
        likelihood_ratio_attack(calibration)


def test_the_parts_have_the_scales_of_the_noise_that_is_added() -> None:
    """Noise of a step of every sum was in the errors of the parts, and not in their scales."""
    cov = [[22.0, -6.0], [-6.0, 13.0]]
    schema = bp.Schema(records=500, columns={"a": bp.Integer(0, 5), "b": bp.Integer(0, 5)})
    pair = (Normal([100, 101], cov), Normal([99, 102], cov))
    framework = bp.DistributionPrivacy([pair], query=bp.stack("total(a)", "total(b)"), schema=schema, source="invented")
    calibration = OptimalGaussianMechanism(constant="textbook").calibrate(framework, epsilon=1.0, delta=DELTA)
    assert calibration.shape is not None
    assert calibration.shape.scales == calibration.noise.scales
