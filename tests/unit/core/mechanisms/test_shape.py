"""Weights of the parts of an answer: which are tried, which are taken, and what is said of each part."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.mechanisms.weights as shape_module
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.laws import laws
from bnpriv.core.gaussian_curve import gaussian_mu
from bnpriv.core.noise import Laplace
from bnpriv.core.queries.asked import AnswerPart, Weighted, parts_of
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.mechanisms.usefulness import usefulness
from bnpriv.verify.check import verify

STUDENT = bp.example("student")
DAYS, SMOKERS = bp.mean("days"), bp.count(bp.col("smoker") == "yes")
HOSPITAL, STAY = bp.example("hospital"), bp.stack(DAYS, SMOKERS)
TALL = bp.count(bp.col("height") > 180)


def scales(mechanism: bp.types.Mechanism, query: bp.types.Query, framework: object = HOSPITAL) -> tuple[float, ...]:
    return mechanism.calibrate(framework, query, epsilon=1.0).noise.scales


def test_parts_are_operands_bins_stay_together_and_moments_are_apart() -> None:
    query = bp.stack(TALL, bp.histogram("height", [120, 150, 220]), bp.moments(["height", "sat"]))
    parts = parts_of(query, STUDENT.schema)
    assert [list(part.places) for part in parts] == [[0], [1, 2], [3], [4], [5], [6]]
    assert parts[0].label == str(TALL)
    assert len(parts_of(bp.histogram("height", [120, 150, 220]), STUDENT.schema)) == 1


@pytest.mark.parametrize("query", [TALL, bp.histogram("height", [120, 150, 220]), bp.linear({"height": 1, "sat": 2})])
def test_an_answer_of_one_part_is_calibrated_once_and_has_no_shape(monkeypatch, query) -> None:
    asked: list[bp.types.Query] = []
    real = bp.ColumnMechanism._decide
    monkeypatch.setattr(bp.ColumnMechanism, "_decide", lambda *args: asked.append(args[2]) or real(*args))
    calibration = bp.ColumnMechanism().calibrate(STUDENT, query, epsilon=1.0)
    assert asked == [query]
    assert calibration.shape is None
    assert "shape" not in calibration.to_dict()
    assert not calibration.useful.parts


def test_shapes_that_are_the_same_are_calibrated_once(monkeypatch) -> None:
    asked: list[bp.types.Query] = []
    real = bp.ColumnMechanism._decide
    monkeypatch.setattr(bp.ColumnMechanism, "_decide", lambda *args: asked.append(args[2]) or real(*args))
    bp.ColumnMechanism().calibrate(STUDENT, bp.stack(TALL, bp.count(bp.col("sat") > 1000)), epsilon=1.0)
    assert len(asked) == 1
    bp.ColumnMechanism().calibrate(STUDENT, bp.stack(TALL, bp.mean("height")), epsilon=1.0)
    assert len(asked) == 3  # one over the range is also one over the root of range times sensitivity


def test_weighted_sensitivity_is_the_largest_weighted_sum_of_changes() -> None:
    query = bp.stack(TALL, bp.mean("height"))
    weighted = Weighted(asked=query, weights=(1.0, 128.0))
    wide = float(column_sensitivity(bp.mean("height"), {"height"}, STUDENT.schema))
    n = STUDENT.schema.records
    assert float(column_sensitivity(weighted, {"height"}, STUDENT.schema)) == pytest.approx(n + 128 * wide, rel=1e-9)
    root = math.hypot(n, 128 * wide)
    assert float(column_sensitivity(weighted, {"height"}, STUDENT.schema, 2)) == pytest.approx(root, rel=1e-9)


def test_the_stack_of_the_hospital() -> None:
    """Each part of the stack errs about twice as much as alone; with equal weights the mean was useless."""
    alone = [scales(bp.TightMechanism(), query)[0] for query in (DAYS, SMOKERS)]
    equal = scales(bp.TightMechanism(weights=(1, 1)), STAY)
    both = scales(bp.TightMechanism(), STAY)
    assert [round(scale, 3) for scale in alone] == [0.016, 23.391]
    assert equal[0] == equal[1] == pytest.approx(23.4, abs=0.1)
    assert both[0] < 3 * alone[0]
    assert both[1] < 2.1 * alone[1]
    calibration = bp.TightMechanism().calibrate(HOSPITAL, STAY, epsilon=1.0)
    assert [part.verdict for part in calibration.useful.parts] == ["sharp", "sharp"]
    assert calibration.shape is not None
    assert calibration.shape.equal == equal
    assert "where equal weights would give" in calibration.text


def test_a_stack_is_useless_only_if_all_its_parts_are() -> None:
    some = bp.TightMechanism(weights=(1, 1)).calibrate(HOSPITAL, STAY, epsilon=1.0)
    assert some.useful.verdict == "coarse"
    assert [part.verdict for part in some.useful.parts] == ["useless", "sharp"]
    assert "but mean(days) is useless" in some.text.splitlines()[0]
    assert "Of the answer mean(days) is useless" in str(some.useful)
    every = bp.ColumnMechanism(weights=(1, 1)).calibrate(HOSPITAL, STAY, epsilon=1.0)
    assert every.useful.verdict == "useless"
    assert not every.useful.useless


def test_verdicts_on_parts() -> None:
    noise = Laplace(1.0, 3, (1, 1, 128))
    parts = (AnswerPart("first", range(1)), AnswerPart("bins", range(1, 3)))
    found = usefulness(noise, [1000.0, 50.0, math.inf], parts)
    far = noise.quantiles(0.95)
    assert [part.share for part in found.parts] == [far[0] / 1000, far[1] / 50]
    assert (found.share, found.place) == (far[1] / 50, 1)
    assert usefulness(noise, [math.inf] * 3, parts).verdict == "unknown"


def test_chosen_weights_are_powers_of_two_of_which_the_least_is_one() -> None:
    calibration = bp.ColumnMechanism(weights=[3, 700]).calibrate(HOSPITAL, STAY, epsilon=1.0)
    assert calibration.shape is not None
    assert (calibration.shape.name, calibration.shape.weights) == ("chosen", (1.0, 256.0))
    assert calibration.noise.scales == (calibration.scale, calibration.scale / 256)


@pytest.mark.parametrize("bad", [(1,), (1, 2, 3)])
def test_weights_for_another_number_of_parts_are_refused(bad) -> None:
    refusal = bp.ColumnMechanism(weights=bad).supports(HOSPITAL, STAY, epsilon=1.0)
    assert refusal is not None
    assert "2 parts" in refusal.required
    with pytest.raises(bp.errors.RefusedError):
        bp.ColumnMechanism(weights=bad).calibrate(HOSPITAL, STAY, epsilon=1.0)


@pytest.mark.parametrize("bad", [(0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), (True, 1), ("2", 1)])
def test_bad_weights_are_refused(bad) -> None:
    with pytest.raises(bp.errors.ParameterError):
        bp.ColumnMechanism(weights=bad)


WEIGHABLE = [kind for kind in bp.types.Mechanism.__subclasses__() if not kind.fixed_shape]


@pytest.mark.parametrize("kind", WEIGHABLE)
def test_every_mechanism_checks_its_weights_and_keeps_them(kind) -> None:
    for bad in ((0, 1), (-1, 1), (math.nan, 1), "12"):
        with pytest.raises(bp.errors.ParameterError):
            kind(weights=bad)
    assert kind(weights=[1, 8]).options()["weights"] == (1.0, 8.0)
    assert "weights=(1.0, 8.0)" in str(kind(weights=[1, 8]))


@pytest.mark.parametrize("relaxation", [None, 0.1])
@pytest.mark.unhurried
def test_normal_noise_comes_back_with_its_weights_and_approximations(relaxation) -> None:
    spread, other = [[4.0, 1.0], [1.0, 2.0]], [[4.0, 1.0], [1.0, 2.1]]
    two = Normal([0, 0], spread), Normal([3, 4], spread if relaxation is None else [[4.0, 1.0], [1.0, 2.2]])
    framework = bp.DistributionPrivacy([two], source="a textbook")
    chosen = () if relaxation is None else [(Normal([0, 0], other), Normal([3, 4], other))]
    mechanism = bp.mechanisms.AttributeGaussianMechanism(relaxation=relaxation, approximations=chosen, weights=[1, 8])
    calibration = mechanism.calibrate(framework, epsilon=2.0, delta=1e-2)
    assert calibration.noise.scales == (calibration.scale, calibration.scale / 8)
    assert bp.types.Calibration.from_json(calibration.to_json(), framework).noise == calibration.noise


def test_a_part_that_never_moves_gets_the_largest_weight() -> None:
    assert shape_module._scaled([0.5, math.inf, 2.0]) == (1.0, 4.0, 4.0)
    assert shape_module._scaled([1.0, 1e300])[1] == 2.0**200
    assert shape_module._scaled([1e-308, 1e308]) == (1.0, 2.0**200)  # their ratio is no double


@pytest.mark.parametrize(
    "mechanism", [bp.TightMechanism(), bp.WassersteinMechanism(weights=(64, 1)), bp.ColumnMechanism()]
)
def test_stored_calibrations_come_back_with_their_weights(mechanism) -> None:
    calibration = mechanism.calibrate(HOSPITAL, STAY, epsilon=1.0)
    text = calibration.to_json()
    again = bp.types.Calibration.from_json(text, HOSPITAL)
    assert again.noise == calibration.noise
    assert again.shape == calibration.shape
    changed = json.loads(text)
    changed["noise"]["weights"] = changed["noise"]["weights"][::-1]
    with pytest.raises(bp.errors.CertificateError, match="weights"):
        bp.types.Calibration.from_json(json.dumps(changed), HOSPITAL)


def test_the_checker_knows_the_scale_of_each_number() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.6, 0.4], "x": [[0.7, 0.2], [0.3, 0.8]]},
        states={"s": [0, 1], "x": [0, 1]},
        parents={"x": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=3, columns={"s": bp.Integer(0, 1), "x": bp.Integer(0, 1)})
    secret = bp.Secret(bp.count(bp.col("s") == 1))
    framework = bp.DatasetAttributePrivacy(network, schema, protect={"s": secret}, source="a test")
    query = bp.stack(bp.linear({"x": 30.0}), bp.count(bp.col("x") == 1), bp.proportion(bp.col("s") == 1))
    for mechanism in (bp.TightMechanism(), bp.ColumnMechanism()):
        calibration = mechanism.calibrate(framework, query, epsilon=0.7)
        assert calibration.shape is not None
        assert not calibration.shape.is_equal
        assert verify(calibration).status == "holds"
        stored = json.loads(calibration.to_json())
        for weights in (stored["noise"]["weights"][::-1], [4 * w for w in stored["noise"]["weights"]], [1, 8]):
            stored["noise"]["weights"] = weights
            assert verify(json.dumps(stored)).status == "fails", weights


class NoNoiseAtAll:
    """A sampler that adds nothing."""

    def laplace(self, values, scale):
        return tuple(values)

    gaussian = discrete_laplace = laplace


def test_intervals_have_the_width_of_each_part() -> None:
    calibration = bp.TightMechanism().calibrate(HOSPITAL, STAY, epsilon=1.0)
    released = calibration.release(bp.example_data("hospital"), sampler=NoNoiseAtAll())
    for (low, high), reach in zip(released.interval(0.9), calibration.noise.quantiles(0.9), strict=True):
        assert high - low == pytest.approx(2 * reach)
    assert "of the range" not in repr(released)


def test_a_wrong_model_is_counted_in_weighted_units() -> None:
    query = bp.stack(bp.count(bp.col("sat") > 1200), bp.mean("sat"))
    calibration = bp.MarkovQuiltMechanism().calibrate(STUDENT, query, epsilon=1.0)
    assert calibration.shape is not None
    assert not calibration.shape.is_equal
    assert calibration.misspecified(1.0).epsilon <= 1 + 1e-9
    assert calibration.misspecified(1.2).epsilon > 0.9


def test_declared_laws_of_a_vector_take_weights_and_stay_equal_without_ranges() -> None:
    pair = (Atoms([[0, 0], [1, 100]], [0.5, 0.5]), Atoms([[0, 0], [1, 100]], [0.4, 0.6]))
    framework = bp.DistributionPrivacy([(pair[0], Atoms([[0, 0], [2, 300]], [0.4, 0.6]))], source="a test")
    equal = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0)
    assert len(set(equal.noise.scales)) == 1
    weighted = bp.WassersteinMechanism(weights=(128, 1)).calibrate(framework, epsilon=1.0)
    # all mass of the second atom moves from (1, 100) to (2, 300) at the least, in weighted units 128 + 200
    assert weighted.noise.scales[1] == 128 * weighted.noise.scales[0]
    assert weighted.noise.scales[1] >= 328


def test_laws_of_weighted_answers_are_the_laws_scaled_without_an_error() -> None:
    plain, weights = laws(HOSPITAL, STAY), (2.0**20, 1.0)
    scaled = laws(HOSPITAL, Weighted(asked=STAY, weights=weights))
    assert not isinstance(plain, bp.errors.Refusal)
    assert not isinstance(scaled, bp.errors.Refusal)
    for one, other in zip(plain.constraints(), scaled.constraints(), strict=True):
        assert one.record is not None
        assert other.record is not None
        assert np.array_equal(one.record.first.points * weights, other.record.first.points)
        assert np.array_equal(one.record.second.logs, other.record.second.logs)
    assert plain.rounding <= scaled.rounding <= 2.0**20 * plain.rounding


@pytest.mark.parametrize("weights", [(1, 1), (1, 64), (1024, 1)])
def test_noise_with_a_covariance_hides_the_gap_whatever_the_weights(weights) -> None:
    covariance, gap = np.array([[22.0, -6.0], [-6.0, 13.0]]), np.array([3.0, -80.0])
    framework = bp.DistributionPrivacy([(Normal(gap, covariance), Normal([0, 0], covariance))], source="a test")
    for mechanism in (bp.mechanisms.OptimalGaussianMechanism, bp.mechanisms.AttributeGaussianMechanism):
        noise = mechanism(weights=weights).calibrate(framework, epsilon=1.0, delta=1e-3).noise
        far = math.sqrt(gap @ np.linalg.solve(covariance + noise.covariance, gap))
        assert 0.9 * gaussian_mu(1.0, 1e-3) <= far <= gaussian_mu(1.0, 1e-3) * (1 + 1e-9), (mechanism, weights)


def test_noise_along_directions_takes_no_weights() -> None:
    covariance = np.eye(2)
    framework = bp.DistributionPrivacy([(Normal([1, 2], covariance), Normal([0, 0], covariance))], source="a test")
    refusal = bp.mechanisms.DirectionalMechanism(weights=(1, 2)).supports(framework, epsilon=1.0)
    assert refusal is not None
    assert "shape of its own" in refusal.required


@pytest.mark.unhurried
def test_plans_rank_stacks_of_different_units_by_shares_of_their_ranges() -> None:
    plan = bp.plan(HOSPITAL, STAY, epsilon=1.0)
    ranked = [calibration.ranked_error for calibration in plan.calibrations]
    assert ranked == sorted(ranked)
    assert "The parts of the answer" in plan.text
    assert (
        bp.plan(HOSPITAL, DAYS, epsilon=1.0).best.ranked_error
        == bp.plan(HOSPITAL, DAYS, epsilon=1.0).best.expected_error
    )
