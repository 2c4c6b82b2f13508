"""No noise where laws are alike as they are: for all of an answer, and for single pairs of secrets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import bnpriv as bp
from bnpriv import mechanisms
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.constraints import LawPair, log_ratio
from bnpriv.core.evidence.laws import laws
from bnpriv.core.mechanisms.law_decision import decided
from tests import kinds

COIN = Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6])
RATIO = math.log(1.25)
ENDS = Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.5, 0.5, 0.0])

COMPARING = (
    mechanisms.TightMechanism(),
    mechanisms.TightMechanism(noise="gaussian"),
    mechanisms.TightMechanism(noise="discrete_laplace"),
    mechanisms.WassersteinMechanism(),
    mechanisms.WassersteinMechanism(noise="gaussian"),
    mechanisms.OptimalMechanism(),
    mechanisms.QuantizationMechanism(),
    mechanisms.AttributeGaussianMechanism(relaxation=0.01),
    mechanisms.DirectionalMechanism(nearly=True),
)


def declared(*pairs: Any, **asked: Any) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy(list(pairs), source="a textbook", **asked)


@pytest.mark.parametrize("mechanism", COMPARING, ids=str)
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-15, 1e-3])
def test_laws_that_are_alike_ask_for_no_noise(mechanism: bp.types.Mechanism, delta: float) -> None:
    framework = declared(COIN)
    if mechanism.supports(framework, epsilon=1.0, delta=delta) is not None:
        assert delta < 1e-2
        return
    for epsilon in (RATIO * (1 + 1e-9), 1.0, 35.0):
        if mechanism.supports(framework, epsilon=epsilon, delta=delta) is not None:
            continue
        found = mechanism.calibrate(framework, epsilon=epsilon, delta=delta)
        assert found.scale == found.expected_error == found.guarantee.delta == 0
        assert found.certificate.claim == "alike.md"
        assert bp.types.Calibration.from_json(found.to_json(), framework).to_json() == found.to_json()


@pytest.mark.parametrize("mechanism", COMPARING[:6], ids=str)
def test_just_above_epsilon_something_is_hidden(mechanism: bp.types.Mechanism) -> None:
    delta = 1e-9 if "gaussian" in str(mechanism) else 0.0
    found = mechanism.calibrate(declared(COIN), epsilon=RATIO * (1 - 1e-6), delta=delta)
    assert found.expected_error > 0


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("mechanism", [mechanisms.TightMechanism, mechanisms.WassersteinMechanism])
def test_a_pair_that_is_alike_asks_nothing_of_the_noise_of_another(mechanism: Any, noise: str) -> None:
    wide = Atoms([0, 100], [0.5, 0.5]), Atoms([0, 100], [0.4, 0.6])
    asked = {"epsilon": 1.0, "delta": 1e-15 if noise == "gaussian" else 0.0}
    alone = mechanism(noise=noise).calibrate(declared(ENDS), **asked)
    both = mechanism(noise=noise).calibrate(declared(wide, ENDS), **asked)
    assert both.scale == alone.scale > 0
    assert [each.scale for each in both.certificate.decisions] == [alone.scale, 0.0]
    assert sum("no noise is needed" in each.text for each in both.certificate.decisions) == 1


def test_the_ratio_of_two_laws() -> None:
    assert RATIO <= log_ratio(*COIN) <= RATIO * (1 + 1e-13)
    assert log_ratio(*reversed(COIN)) == log_ratio(*COIN)
    assert math.isinf(log_ratio(*ENDS))
    assert math.isinf(log_ratio(COIN[0], Atoms([0, 2], [0.5, 0.5])))
    assert log_ratio(Atoms.from_logs([0, 1], [-0.5, math.log1p(-math.exp(-0.5))], 0.1), COIN[0]) > 0.1
    several = Atoms([[0, 0], [1, 1]], [0.5, 0.5]), Atoms([[0, 0], [1, 1]], [0.25, 0.75])
    assert log_ratio(*several) == pytest.approx(math.log(2))


def test_what_is_not_known_atom_by_atom_is_not_alike() -> None:
    pair = LawPair(pair="a against b", first=COIN[0], second=COIN[1], rounding=0.0)
    assert pair.log_ratio == pytest.approx(RATIO)
    assert math.isinf(replace(pair, rounding=1e-9).log_ratio)
    assert replace(pair, rounding=1e-9, distinct=True).log_ratio == pytest.approx(RATIO)
    same, other = Normal(1.0, 2.0), Normal(1.0, 2.0 * (1 + 2.0**-50))
    assert replace(pair, first=same, second=Normal(1.0, 2.0), rounding=1e-9).log_ratio == 0.0
    assert math.isinf(replace(pair, first=same, second=other).log_ratio)
    assert math.isinf(replace(pair, first=same).log_ratio)


def test_one_record_answers_for_many_pairs_of_counts() -> None:
    """There are too many pairs of counts for the laws of the answer; those of one record are alike."""
    schema = bp.Schema(records=5_000, columns=kinds.HEALTH.columns)
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=3))
    network = kinds.patients(smokers=0.21)
    framework = bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="invented")
    query = bp.count(bp.col("smokes") == "yes")
    (constraint,) = laws(framework, query).constraints()
    ratio = constraint.record.log_ratio
    assert ratio == pytest.approx(3 * math.log(0.21 / 0.2))
    assert constraint.left_to_hide(ratio) is None
    assert constraint.left_to_hide(ratio * (1 - 1e-12)) is constraint
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-9)):
        found = mechanisms.TightMechanism(noise=noise).calibrate(framework, query, epsilon=0.2, delta=delta)
        assert found.scale == found.guarantee.delta == 0
        assert "what one record adds" in found.text


def test_the_constraints_are_sorted_by_what_they_ask() -> None:
    constraints = laws(declared(COIN, ENDS, ENDS), None).constraints()
    asked = iter((2.0, 3.0))

    def decide(left: Any) -> Any:
        assert left.pairs[0].first is ENDS[0]
        (nothing,) = decided(constraints[:1], 1.0, lambda _: pytest.fail("a coin asks for nothing"), lambda _: None)
        return replace(nothing, scale=next(asked))

    assert [each.scale for each in decided(constraints, 1.0, decide, lambda _: None)] == [3.0, 2.0, 0.0]


@pytest.mark.parametrize("nearly", [False, True])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("points", [[40.0], [0.1, 0.3], [[1.0, 2.0], [3.0, 5.0]]])
def test_directions_of_laws_that_do_not_move(nearly: bool, noise: Any, points: Any) -> None:
    """No noise at all was refused as a scale that must be above 0."""
    masses = [1 / len(points)] * len(points)
    pair = Atoms(points, masses), Atoms(points, masses)
    delta = 1e-9 if noise == "gaussian" else 0.0
    found = mechanisms.DirectionalMechanism(noise=noise, nearly=nearly).calibrate(
        declared(pair), epsilon=1e-8, delta=delta
    )
    assert found.scale == found.guarantee.delta == 0


def test_directions_of_laws_of_which_one_alone_moves() -> None:
    still, moved = Atoms([[0.0, 0.0]], [1.0]), Atoms([[3.0, 4.0]], [1.0])
    mechanism = mechanisms.DirectionalMechanism()
    both = mechanism.calibrate(declared((still, still), (still, moved)), epsilon=1.0)
    alone = mechanism.calibrate(declared((still, moved)), epsilon=1.0)
    assert both.expected_error == pytest.approx(alone.expected_error, rel=1e-6)
