"""What is said of channels, of the limit and of curves: what they lean on, and when an answer says nothing."""

from __future__ import annotations

import re

import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.mechanisms.law_decision import LEANS_ON
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.mechanisms.optimal.channel import ALONE, Channel
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism
from bnpriv.mechanisms.proved_limit import Limit
from bnpriv.mechanisms.quantization import QuantizationMechanism
from bnpriv.mechanisms.usefulness import usefulness


def counts(records: int = 8, *shares: float) -> bp.DistributionPrivacy:
    pairs = [(Atoms.binomial(records, 0.3), Atoms.binomial(records, share)) for share in shares or (0.6,)]
    return bp.DistributionPrivacy(pairs, source="a textbook")


def school(records: int = 20) -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"income": [0.5, 0.5], "meals": [[0.3, 0.7], [0.7, 0.3]]},
        states={"income": ["low", "high"], "meals": ["few", "many"]},
        parents={"meals": ["income"]},
        level="parameters",
    )
    schema = bp.Schema(records=records, columns={"meals": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(
        network, schema, "income", source="invented", laws={"meals": {"few": 0.2, "many": 0.4}}
    )


def test_what_does_not_depend_on_the_data_is_useless() -> None:
    calibration = QuantizationMechanism().calibrate(counts(20), epsilon=0.1)
    assert isinstance(calibration.noise, Channel)
    assert calibration.noise.is_constant
    assert calibration.quantile(0.95) <= 0.5 * 20  # an error for which other answers are called coarse
    assert calibration.useful.verdict == "useless"
    assert str(calibration.useful) == "The answer is useless: what is released does not depend on the data."
    assert calibration.document.lead == "What is released does not depend on the data."
    assert "One and the same output takes the place of the exact answer" in calibration.text
    assert "no finer bins are alike under all secrets" in calibration.text
    varied = Channel([0, 1], [0, 1], [[3, 1], [1, 3]], 4, [0.5, 0.5])
    assert not varied.is_constant
    assert usefulness(varied, [100.0]).verdict == "sharp"


@pytest.mark.parametrize("mechanism", [OptimalMechanism(), QuantizationMechanism()], ids=str)
def test_a_channel_says_what_it_leans_on_and_that_it_is_for_one_release(mechanism: bp.types.Mechanism) -> None:
    calibration = mechanism.calibrate(counts(8, 0.36), epsilon=0.4)
    for text in (calibration.text, calibration.to_markdown(), calibration.to_html()):
        assert LEANS_ON in text
        assert text.count(ALONE) == 1
    assert "averaged over the distributions under both secrets of every pair" in calibration.document.lead
    assert "Calibration(" in repr(calibration)
    assert "error=" in repr(calibration)
    assert "scale=" in repr(bp.TightMechanism().calibrate(counts(20), epsilon=1.0))


def test_over_what_errors_are_averaged_is_said() -> None:
    given = OptimalMechanism(prior={2: 0.5, 6: 0.5}).calibrate(counts(), epsilon=0.2)
    assert "averaged over the given prior." in given.document.lead
    worst = OptimalMechanism(worst_case=True).calibrate(counts(), epsilon=0.2)
    assert "under the secret where it is largest." in worst.document.lead


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_the_least_error_is_said_once_and_with_its_condition(loss: str) -> None:
    calibration = OptimalMechanism(error=loss).calibrate(counts(), epsilon=0.5)
    (least,) = (note for note in calibration.certificate.notes if "any mechanism can have" in note)
    assert ("releases one of its values" in least) == (loss == "squared")
    assert calibration.text.count(least) == 1


def test_one_pair_of_secrets_is_named_once() -> None:
    one = OptimalMechanism().calibrate(counts(), epsilon=0.5)
    assert "secrets  " not in one.text.partition("What an answer tells")[2]
    several = OptimalMechanism().calibrate(counts(8, 0.5, 0.6), epsilon=0.5)
    assert "the two secrets whose odds it moves most" in several.text


def test_pages_draw_what_a_channel_makes_of_the_answer_and_its_curve() -> None:
    calibration = OptimalMechanism().calibrate(counts(20), epsilon=0.5)
    page = calibration.to_html()
    assert "how likely each exact answer is" in page
    assert "how likely each released answer is: alike tells little" in page
    assert page.count("needles first") == page.count("needles second") == 2
    assert "How much the answer can tell, and how often" in page
    assert "What is released, under the two distributions of which it tells most, in both directions" in page
    assert f"{calibration.curve().epsilon.upper:.4g}" == "0.5"


def test_a_bound_is_not_taken_for_the_least_error() -> None:
    exact, bound = Limit(least=2.0, kind="exact"), Limit(least=2.0, kind="certified")
    assert "may be larger" in str(bound)
    assert "may be larger" not in str(exact)
    small, large = bp.plan(school(), bp.total("meals"), epsilon=0.5), bp.plan(counts(5_000, 0.4), None, epsilon=0.2)
    assert (small.limit.kind, large.limit.kind) == ("exact", "certified")
    assert "times the least, at most" in large.text
    assert "times the least" in small.text
    assert "times the least, at most" not in small.text
    assert "bars: " in small.to_html()
    assert "bars: " not in small.text + small.to_markdown()  # which draw none


def test_an_answer_that_is_seldom_changed_is_not_said_to_be_released_as_it_is() -> None:
    points = Atoms([0, 1, 2], [0.49, 0.5, 0.01]), Atoms([0, 1, 2], [0.5, 0.5, 0.0])
    calibration = OptimalMechanism().calibrate(bp.DistributionPrivacy([points], source="a textbook"), epsilon=0.5)
    assert calibration.quantile(0.95) == 0
    assert calibration.expected_error > 0
    assert "as it is" not in calibration.text
    assert "without noise" not in calibration.text
    assert usefulness(calibration.noise, [2.0]).verdict == "sharp"
    assert "95 % of releases are exact" in str(usefulness(calibration.noise, [2.0]))
    assert usefulness(Channel([0, 1], [0, 1], [[1, 0], [0, 1]], 1, [0.5, 0.5]), [1.0]).verdict == "exact"
    # it errs for the answer that its prior leaves out
    assert usefulness(Channel([0, 1], [0], [[1], [1]], 1, [1.0, 0.0]), [1.0]).verdict == "useless"


def test_a_reason_is_given_where_nothing_has_to_be_changed() -> None:
    calibration = OptimalMechanism().calibrate(counts(8, 0.33), epsilon=3.0)
    assert "the distributions of the answer must stay alike; no noise is needed." in calibration.text
    assert (
        calibration.certificate.theorem
        == "The distributions of the answer are alike enough without noise, at every single value"
    )
    assert LEANS_ON in calibration.text


@pytest.mark.parametrize("prior", [{1: 0.5, 2: 0.5}, [(1, 0.5), (2, 0.5)], Atoms([1, 2], [0.5, 0.5])], ids=str)
def test_a_prior_may_be_written_in_several_ways(prior: object) -> None:
    mechanism = OptimalMechanism(prior=prior)
    assert mechanism.prior == ((1.0, 0.5), (2.0, 0.5))


@pytest.mark.parametrize(
    ("prior", "found"),
    [
        ("uniform", "a str"),
        ([0.5, 0.5], "a list of other things"),
        (Atoms([[0, 1]], [1.0]), "an Atoms"),
        ({1: 0.5}, "a sum of 0.5"),
    ],
    ids=str,
)
def test_what_is_no_prior_is_named(prior: object, found: str) -> None:
    with pytest.raises(ParameterError, match=found):
        OptimalMechanism(prior=prior)


def test_a_prior_of_a_channel_that_is_none_is_told_why() -> None:
    for prior, why in (([1.5, -0.5], "at least 0"), ([0.5, 0.6], "add up to 1"), ([1.0], "one for each input")):
        with pytest.raises(ParameterError, match=why):
            Channel([0, 1], [0, 1], [[1, 0], [0, 1]], 1, prior)


def test_curves_that_are_not_known_say_what_is_in_the_way() -> None:
    normal = bp.DistributionPrivacy([(Normal(0, 1), Normal(1, 1))], source="a textbook")
    with pytest.raises(RefusedError, match=r"found Laplace noise.*gaussian"):
        bp.TightMechanism().calibrate(normal, epsilon=1.0).curve()
    pair = Atoms([[0, 0], [1, 1]], [0.5, 0.5]), Atoms([[0, 0], [1, 1]], [0.4, 0.6])
    plane = bp.DistributionPrivacy([pair], source="a textbook")
    with pytest.raises(RefusedError, match="found 2 numbers"):
        bp.WassersteinMechanism().calibrate(plane, epsilon=0.1).curve()


def test_a_curve_names_its_worst_pair_and_is_plotted() -> None:
    curve = bp.TightMechanism().calibrate(counts(20, 0.4, 0.6), epsilon=1.0).curve()
    assert len(set(curve.names)) == len(curve.losses) == 4
    assert curve.worst.epsilon.upper == curve.epsilon.upper
    assert repr(curve) == "PrivacyCurve(4 ordered pairs, epsilon=1)"
    assert "the odds move by at most 2.72 times (1 nat)\n" in curve.text.replace(".\n", "\n")
    assert f"most about {curve.names[curve.losses.index(curve.worst)]}" in curve.text
    pyplot = pytest.importorskip("matplotlib.pyplot")
    drawn = curve.plot()
    assert (drawn.get_xlabel(), drawn.get_ylabel(), drawn.get_yscale()) == ("epsilon (nats)", "delta", "log")
    across, up = drawn.lines[0].get_data()
    assert up[0] == pytest.approx(curve.total_variation.upper)
    assert across[-1] < 1.0
    pyplot.close(drawn.figure)


def test_weights_are_refused_by_what_they_are() -> None:
    with pytest.raises(RefusedError, match="takes no weights"):
        OptimalMechanism(weights=[1.0]).calibrate(counts(), epsilon=1.0)


def test_a_mechanism_of_a_plan_is_taken_by_its_name() -> None:
    plan = bp.plan(school(), bp.total("meals"), epsilon=0.5)
    assert plan.of("TightMechanism") is plan.of("TightMechanism()")
    assert isinstance(plan.of("TightMechanism").mechanism, bp.TightMechanism)
    with pytest.raises(RefusedError, match="delta above 0"):
        plan.of("TightMechanism(noise='gaussian')")
    with pytest.raises(ParameterError, match=r"OptimalMechanism.*Did you mean 'TightMechanism'"):
        plan.of("TigthMechanism")


def test_the_middle_of_a_loss_is_written_without_rounding() -> None:
    page = OptimalMechanism().calibrate(school(), bp.total("meals"), epsilon=0.5).curve().worst.to_html()
    assert ">0</text>" in page
    assert not re.search(r">-?[0-9.]+e-[0-9]+</text>", page)
