"""The privacy curve of calibrations: within what was asked for, over all pairs, and drawn where the laws are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.render.figures import MOST_TICK_LETTERS, MOST_TICKS, ticks
from bnpriv.text import number_text
from bnpriv.views.curves import curve_sections, decided_laws

MECHANISMS = (
    (bp.TightMechanism(), 0.0),
    (bp.TightMechanism(), 1e-6),
    (bp.TightMechanism(noise="gaussian"), 1e-6),
    (bp.TightMechanism(noise="discrete_laplace"), 0.0),
    (bp.WassersteinMechanism(), 0.0),
    (bp.WassersteinMechanism(noise="gaussian"), 1e-6),
)
TITLE = "How much the answer can tell, and how often"


def counts(*shares: float, records: int = 30) -> bp.DistributionPrivacy:
    pairs = [(Atoms.binomial(records, shares[0]), Atoms.binomial(records, share)) for share in shares[1:]]
    return bp.DistributionPrivacy(pairs, source="a textbook")


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS, ids=str)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_the_curve_is_within_the_guarantee(mechanism: bp.types.Mechanism, delta: float, epsilon: float) -> None:
    calibration = mechanism.calibrate(counts(0.4, 0.45, 0.5), epsilon=epsilon, delta=delta)
    curve = calibration.curve()
    assert len(curve.losses) == 4
    # whole-number noise has the scale of continuous noise, and rounding of its own
    assert curve.delta(epsilon).lower <= delta
    assert curve.delta(epsilon).upper <= delta * (1 + 1e-4) + 1e-12
    if delta == 0:
        assert curve.epsilon.upper <= epsilon * (1 + 1e-9)


def test_tight_noise_leaves_nothing_of_the_curve_unused() -> None:
    calibration = bp.TightMechanism().calibrate(counts(0.4, 0.5), epsilon=0.5)
    assert calibration.curve().epsilon.lower == pytest.approx(0.5, rel=1e-9)
    calibration = bp.TightMechanism(noise="gaussian").calibrate(counts(0.4, 0.5), epsilon=0.5, delta=1e-5)
    assert calibration.curve().delta(0.5).lower == pytest.approx(1e-5, rel=1e-3)


def test_the_curve_takes_the_worst_pair() -> None:
    framework = counts(0.4, 0.41, 0.6)
    calibration = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0)
    worst = max(LaplacePair.of(*pair).delta(calibration.scale, 0.3) for pair in framework.pairs)
    assert calibration.curve().delta(0.3).upper == pytest.approx(worst, abs=1e-10)


def test_answers_without_noise_have_a_curve_too() -> None:
    calibration = bp.TightMechanism().calibrate(counts(0.4, 0.402, records=10), epsilon=1.0)
    assert calibration.scale == 0
    curve = calibration.curve()
    assert 0 < curve.epsilon.lower <= curve.epsilon.upper < 1.0
    assert curve.epsilon.kind == "exact"
    assert TITLE in calibration.text


def test_normal_answers_in_closed_form() -> None:
    framework = bp.DistributionPrivacy([(Normal(0.0, 4.0), Normal(1.0, 4.0))], source="a textbook")
    calibration = bp.TightMechanism(noise="gaussian").calibrate(framework, epsilon=0.5, delta=1e-4)
    mu = 1 / math.sqrt(4 + calibration.scale**2)
    curve = calibration.curve()
    for epsilon in (0.0, 0.5, 1.0):
        bound = curve.delta(epsilon)
        assert bound.lower <= gaussian_delta(mu, epsilon) * (1 + 1e-9)
        assert bound.upper >= gaussian_delta(mu, epsilon) * (1 - 1e-9)
    assert TITLE in calibration.text


def test_vectors_of_normal_answers() -> None:
    covariance = np.array([[22.0, -6.0], [-6.0, 13.0]])
    framework = bp.DistributionPrivacy([(Normal([100, 101], covariance), Normal([99, 102], covariance))], source="x")
    calibration = bp.TightMechanism(noise="gaussian").calibrate(framework, epsilon=1.0, delta=1e-3)
    assert calibration.curve().delta(1.0).upper <= 1e-3 * (1 + 1e-4)


def test_counts_of_a_secret_take_all_pairs_of_the_framework() -> None:
    """The laws of the answer serve every mechanism, also one that asked for influences."""
    found = bp.plan(bp.example("student"), bp.count(bp.col("sat") >= 1200), 1.0).calibrations
    for calibration in found:
        try:
            curve = calibration.curve()
        except bp.errors.RefusedError:
            continue
        assert curve.delta(1.0).lower <= 1e-12
        assert curve.largest(lambda loss: loss.epsilon).upper <= 1.0 + 1e-9
    assert any(TITLE in calibration.text for calibration in found)


def test_what_has_no_curve_says_why() -> None:
    student = bp.example("student")
    custom = bp.custom(lambda table: 0.0, columns=["height"], sensitivity=1.0)
    with pytest.raises(bp.errors.RefusedError, match="distribution of the answer"):
        bp.ColumnMechanism().calibrate(student, custom, epsilon=1.0).curve()
    both = bp.stack(bp.count(bp.col("sat") >= 1200), bp.count(bp.col("height") > 180))
    with pytest.raises(bp.errors.RefusedError):
        bp.ColumnMechanism().calibrate(student, both, epsilon=1.0).curve()


def test_a_plan_and_a_page_show_the_curve() -> None:
    plan = bp.plan(counts(0.4, 0.5), None, 0.5)
    page = plan.to_html()
    assert TITLE in page
    assert "asked: epsilon 0.5" in page
    assert "Delta at every epsilon" in plan.text
    assert "mutual information" in plan.to_markdown()


def test_the_curve_of_a_channel_is_that_of_the_pairs_it_tells_most_of() -> None:
    laws = [Atoms.binomial(6, p) for p in (0.3, 0.4, 0.6)]
    framework = bp.DistributionPrivacy([(laws[0], laws[1]), (laws[0], laws[2])], source="a test")
    for mechanism in (bp.mechanisms.OptimalMechanism(), bp.mechanisms.QuantizationMechanism()):
        calibration = mechanism.calibrate(framework, epsilon=0.5)
        (section,) = curve_sections(calibration)
        assert "under the pairs of distributions of which it tells most" in section.blocks[0].text
        assert calibration.curve().epsilon.upper <= 0.5 * (1 + 1e-9)


def test_a_curve_is_not_said_to_be_how_often_epsilon_is_exceeded() -> None:
    """Delta at epsilon is not the probability of a larger loss, which is larger."""
    text = bp.TightMechanism().calibrate(counts(0.4, 0.5), epsilon=0.5).text
    assert "at most exp(epsilon) p + delta under the other" in text
    curve = bp.TightMechanism().calibrate(counts(0.4, 0.5), epsilon=0.5).curve()
    assert curve.delta(0.25).upper < curve.largest(lambda loss: loss.exceeds(0.25)).lower


def test_one_picture_shows_what_decided_the_noise() -> None:
    """The page of a model class drew two pictures with one caption, of two models and two scales."""
    chances = np.linspace(0.1, 0.4, 4).tolist()
    network = bp.DiscreteNetwork.from_tables(
        {"s": [[0.6, 0.4]] * 4, "a": [[[1 - chance, 0.4], [chance, 0.6]] for chance in chances]},
        states={"s": ["0", "1"], "a": ["0", "1"]},
        parents={"a": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=40, columns={name: bp.Integer(0, 1) for name in "sa"})
    secret = {"s": bp.Secret(bp.count(bp.col("s") == 1), pairs=bp.apart(at_most=3))}
    framework = bp.DatasetAttributePrivacy(network, schema, secret, source="a fixture")
    report = bp.influence_report(framework, bp.count(bp.col("a") == 1), 0.3)
    page = report.to_html()
    assert page.count("The two distributions that") == 2  # the name of one picture, and its caption
    scale = max(decision.scale for decision in report.best.certificate.decisions)
    assert f"the same, with noise of scale {number_text(scale)}" in page
    assert "of 4 models number" in page
    assert "from the middle of both" in page
    assert "up to a shift" not in page


def test_a_law_is_drawn_around_the_middle_in_units_of_the_answer() -> None:
    framework = bp.DistributionPrivacy([(Atoms([1000.0], [1.0]), Atoms([1010.0], [1.0]))], source="a textbook")
    (decision,) = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0).certificate.decisions
    drawn = decided_laws(decision, "mean(days)")
    assert drawn is not None
    exact, released = drawn.panels
    assert [x for law in exact.heights for x, _ in law] == pytest.approx([-5.0, 5.0], abs=0.3)
    assert [max(law, key=lambda place: place[1])[0] for law in released.heights] == pytest.approx([-5, 5], abs=0.3)
    assert drawn.names == ("distribution 1", "distribution 2")
    assert drawn.across == "difference in mean(days) from the middle of both"


@pytest.mark.parametrize("seed", range(40))
def test_ticks_are_round_and_within(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = float(rng.normal() * 10.0 ** rng.integers(-12, 20))
    high = low + float(10.0 ** rng.uniform(-3, 3)) * abs(low)
    found = ticks(low, high)
    places = np.array([x for x, _ in found])
    assert 1 <= len(found) <= MOST_TICKS
    assert sum(len(text) for _, text in found) <= MOST_TICK_LETTERS or len(found) <= 2
    assert low - 1e-6 * (high - low) <= places[0] <= places[-1] <= high + 1e-6 * (high - low)
    if len(found) > 1:
        step = (places[-1] - places[0]) / (len(found) - 1)
        assert np.diff(places) == pytest.approx(step, rel=1e-6)
        assert f"{step:.3e}"[:5] in ("1.000", "2.000", "5.000")
        assert len({text for _, text in found}) == len(found)


def test_ticks_of_whole_numbers_are_whole() -> None:
    assert [text for _, text in ticks(-0.5, 2.5, least=1.0)] == ["0", "1", "2"]
    assert [text for _, text in ticks(-1500.0, 1500.0, signed=True)] == [
        "-1,500",
        "-1,000",
        "-500",
        "0",
        "+500",
        "+1,000",
        "+1,500",
    ]
