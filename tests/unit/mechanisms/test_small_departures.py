"""What the theorem of a mechanism does not allow for, and is little: each departure is paid for on the private side."""

from __future__ import annotations

import itertools
import math

import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.gaussian_curve import gaussian_delta
from bnpriv.core.mechanisms.law_mechanisms import _moved, record_loss
from bnpriv.core.noise import NoNoise
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.mechanisms.baselines import GroupPrivacyMechanism, RecordPrivacyMechanism
from bnpriv.mechanisms.directional import DirectionalMechanism, ExpectedValueMechanism
from tests.contract.test_law_mechanisms import hockey_stick, law_loss


def declared(first: Atoms, second: Atoms) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy([(first, second)], source="a test")


@pytest.mark.parametrize("mechanism", [ExpectedValueMechanism(), DirectionalMechanism()], ids=str)
def test_masses_that_differ_by_rounding_are_taken_from_epsilon(mechanism: bp.types.Mechanism) -> None:
    """At the least epsilon a difference of 5e-10 counts: far below all other atoms the two masses stand alone."""
    epsilon, points, masses = 1e-8, [0.0, 1e12], (0.5 + 2.5e-10, 0.5 - 2.5e-10)
    framework = declared(Atoms(points, masses), Atoms([1.0, 1e12 + 1.0], [0.5, 0.5]))
    scale = mechanism.calibrate(framework, epsilon=epsilon).noise.scales[0]
    loss = 1 / scale + math.log(masses[0]) - math.log(0.5)
    assert loss <= epsilon * (1 + 1e-6)


def test_translations_that_are_so_by_rounding_alone_need_noise_for_the_farthest_atom() -> None:
    """Shifts of 3 and 4 count as one where doubles are that coarse; the noise hides the longer one."""
    far = 2.0**51
    first, second = Atoms([0.0, far], [0.5, 0.5]), Atoms([3.0, far + 4.0], [0.5, 0.5])
    for mechanism in (DirectionalMechanism(), ExpectedValueMechanism()):
        refusal = mechanism.supports(framework := declared(first, second), epsilon=1.0)
        assert refusal is None
        scale = mechanism.calibrate(framework, epsilon=1.0).noise.scales[0]
        assert law_loss({(0.0,): 0.5, (far,): 0.5}, {(3.0,): 0.5, (far + 4.0,): 0.5}, scale) <= 1 + 1e-9


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_laws_that_are_no_translations_need_noise_for_the_mass_that_moves(noise: str) -> None:
    """Means are the same, the laws are not."""
    mechanism = DirectionalMechanism(noise=noise, nearly=True)  # type: ignore[arg-type]
    calibration = mechanism.calibrate(declared(Atoms([0, 10], [0.5, 0.5]), Atoms([5], [1])), epsilon=1.0, delta=1e-3)
    assert not isinstance(calibration.noise, NoNoise)
    f, g = {(0.0,): 0.5, (10.0,): 0.5}, {(5.0,): 1.0}
    for one, other in ((f, g), (g, f)):
        assert hockey_stick(one, other, calibration.scale, 1.0, noise) <= 1e-3 * (1 + 1e-6)


def test_answers_that_are_moved_before_gaussian_noise_tell_no_more_than_is_counted() -> None:
    """Sure answers a gap apart, each moved by half of the rounding, one up and the other down."""
    cases = itertools.product((0.1, 1.0, 4.0, 8.0), (0.01, 0.5, 3.0), (0.0, 0.1, 1.0, 5.0), (0.3, 1.0, 10.0))
    for epsilon, rounding, gap, scale in cases:
        sure = [Atoms([answer], [1.0]) for answer in (0.0, gap)]
        pair = LawPair(pair="0 and the gap", first=sure[0], second=sure[1], rounding=rounding)
        told = _moved(pair, gap / scale, scale, epsilon)
        assert min(1.0, told) >= gaussian_delta((gap + rounding) / scale, epsilon) * (1 - 1e-9)


@pytest.mark.parametrize("made", [GroupPrivacyMechanism, RecordPrivacyMechanism])
def test_what_a_baseline_promises_of_secrets_knows_the_weights(made: type) -> None:
    """All records may change: the weaker guarantee that is told adds up what that does to each part."""
    framework, parts = bp.example("hospital"), (bp.mean("days"), bp.count(bp.col("smoker") == "yes"))
    options = {"size": 3} if made is GroupPrivacyMechanism else {}
    for weights in ((1, 1), (64, 1), (1, 64)):
        calibration = made(weights=weights, **options).calibrate(framework, bp.stack(*parts), epsilon=1.0)
        moved = [float(column_sensitivity(part, part.columns, framework.schema)) for part in parts]
        least = math.fsum(move / scale for move, scale in zip(moved, calibration.noise.scales, strict=True))
        assert calibration.guarantee.without_model >= least * (1 - 1e-6)
        for part, scale in zip(parts, calibration.noise.scales, strict=True):
            (constraint,) = laws(framework, part).constraints()
            alone = constraint.record.distance * record_loss(constraint.record)(scale)
            assert calibration.guarantee.epsilon >= alone * (1 - 1e-6)  # all parts tell no less than one of them
