"""Normal laws that stand for others: what is released is integrated, and the published theorem is shown to be false."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.mechanisms.gaussian.laws as approximations
import bnpriv.mechanisms.gaussian.laws as curves
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.privacy_curves import NormalMixture
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.mechanisms.gaussian.laws import Approximated, NormalPair, delta_left, mixture_excess, normal_excess_bound
from tests.seeds import seeds

Mechanism = bp.mechanisms.AttributeGaussianMechanism
Law = Atoms | Normal


def declared(pairs: Any) -> bp.DistributionPrivacy:
    return bp.DistributionPrivacy(pairs, source="invented")


def parts(law: Law, scale: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return centres, masses and the deviation of the normal parts of a law with noise."""
    if isinstance(law, Atoms):
        return law.support, law.probabilities, scale
    return law.mean, np.ones(1), math.sqrt(float(law.covariance[0, 0]) + scale**2)


def integrated(first: Law, second: Law, scale: float, epsilon: float, cells: int = 20_000) -> float:
    """Return the larger hockey-stick divergence of two released numbers, by Simpson's rule."""
    if scale == 0 and isinstance(first, Atoms) and isinstance(second, Atoms):
        masses = [dict(zip(law.support.tolist(), law.probabilities.tolist(), strict=True)) for law in (first, second)]
        ways = (masses, masses[::-1])
        return max(sum(max(0.0, p - math.exp(epsilon) * b.get(x, 0.0)) for x, p in a.items()) for a, b in ways)
    sides = [parts(law, scale) for law in (first, second)]
    low = min(float(centres.min()) - 12 * deviation for centres, _, deviation in sides)
    high = max(float(centres.max()) + 12 * deviation for centres, _, deviation in sides)
    at = np.linspace(low, high, cells + 1)
    p, q = (
        sum(
            mass * np.exp(-(((at - centre) / deviation) ** 2) / 2) / deviation / math.sqrt(2 * math.pi)
            for centre, mass in zip(centres, masses, strict=True)
        )
        for centres, masses, deviation in sides
    )
    ratio = math.exp(epsilon)
    return float(max(np.trapezoid(np.maximum(a - ratio * b, 0), at) for a, b in ((p, q), (q, p))))


def normal_cdf(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def test_the_published_theorem_is_false_and_this_one_holds() -> None:
    """No noise, gap 1, variance c^2; the upper 0.01 tail of one law is moved to the left."""
    variance = 2 * math.log(1.25 / 1e-3)
    assert variance == pytest.approx(14.262, abs=5e-4)
    deviation, gap, epsilon, delta, eta = math.sqrt(variance), 1.0, 1.0, 1e-3, 0.01
    # with the textbook constant the gap needs no noise
    assert gap <= epsilon / math.sqrt(2 * math.log(1.25 / delta)) * deviation * (1 + 1e-12)
    limit = 8.7854
    assert 1 - normal_cdf(limit / deviation) == pytest.approx(eta, abs=1e-6)
    under_first, under_second = 1 - normal_cdf((limit - gap) / deviation), 0.0
    assert under_first == pytest.approx(0.0196, abs=5e-5)
    # moving a tail of mass eta is closeness (0, eta) in both directions
    published = epsilon, delta + eta
    assert under_first > math.exp(published[0]) * under_second + published[1]
    ours = (1 + math.exp(epsilon)) * eta + delta
    assert ours == pytest.approx(0.0382, abs=5e-5)
    assert delta_left(epsilon, ours, 0.0, eta) == pytest.approx(delta, rel=1e-9)
    assert delta_left(epsilon, delta + eta, 0.0, eta) < 0  # what the published theorem allows is not enough
    assert under_first <= math.exp(epsilon) * under_second + ours


def moved_tail() -> tuple[list[tuple[Atoms, Atoms]], list[tuple[Normal, Normal]]]:
    """Return the same two laws on a fine grid, and the normal laws that stand for them."""
    step, deviation = 0.5, math.sqrt(2 * math.log(1250) - 0.25)
    grid = np.arange(-40, 41) * step
    sides = []
    for mean in (1.0, 0.0):
        ends = [normal_cdf((x - mean) / deviation) for x in (*(grid - step / 2), grid[-1] + step / 2)]
        masses = np.maximum(np.diff(ends), 1e-300)
        sides.append(masses / masses.sum())
    tail = grid > 8.7854
    sides[1][np.searchsorted(grid, -2.0)] += sides[1][tail].sum()
    sides[1][tail] = 0
    first, second = (Atoms(grid, masses / masses.sum()) for masses in sides)
    variance = deviation**2 + step**2 / 12
    return [(first, second)], [(Normal(1.0, variance), Normal(0.0, variance))]


def test_a_moved_tail_is_paid_for() -> None:
    pairs, normals = moved_tail()
    mechanism = Mechanism(relaxation=0.0, approximations=normals)
    calibration = mechanism.calibrate(declared(pairs), epsilon=1.0, delta=0.03)
    assert calibration.guarantee.delta == 0.03
    assert calibration.guarantee.kind == "certified"
    assert integrated(*pairs[0], calibration.scale, 1.0) <= 0.03


def random_pairs(seed: int) -> list[tuple[Law, Law]]:
    rng = np.random.default_rng(seed)
    if rng.random() < 0.4:
        spread = float(rng.gamma(3.0))
        return [(Normal(0.0, spread), Normal(float(rng.normal()), spread * float(rng.uniform(0.9, 1.1))))]
    n, p, q = int(rng.integers(20, 80)), rng.uniform(0.3, 0.6), rng.uniform(0.3, 0.6)
    return [(Atoms.binomial(n, float(p)), Atoms.binomial(n, float(q)))]


@pytest.mark.parametrize("seed", seeds(4, slow=12))
def test_delta_of_what_is_released_is_never_passed(seed: int) -> None:
    pairs = random_pairs(seed)
    rng = np.random.default_rng(seed + 100)
    epsilon, delta = float(rng.uniform(0.3, 3)), float(10 ** rng.uniform(-4, -1))
    served = 0
    for relaxation in (0.0, 0.05 * epsilon, 0.3 * epsilon):
        try:
            calibration = Mechanism(relaxation=relaxation).calibrate(declared(pairs), epsilon=epsilon, delta=delta)
        except RefusedError:  # closeness at such a relaxation is more than delta, whatever the noise
            continue
        served += 1
        assert integrated(*pairs[0], calibration.scale, epsilon) <= calibration.guarantee.delta * (1 + 1e-6)
    assert served > 0


def test_covariances_that_differ_a_little_cost_a_little() -> None:
    """The fitted variances of the Adult study: 18.31 against 18.03."""
    pair = Normal(0.0, 18.31), Normal(10.0, 18.03)
    assert Mechanism().supports(declared([pair]), epsilon=1.0, delta=1e-3) is not None
    plain = Mechanism().calibrate(declared([(pair[0], Normal(10.0, 18.31))]), epsilon=1.0, delta=1e-3).scale
    relaxed = Mechanism(relaxation=0.02).calibrate(declared([pair]), epsilon=1.0, delta=1e-3)
    assert plain < relaxed.scale < 1.2 * plain
    assert integrated(*pair, relaxed.scale, 1.0) <= 1e-3
    assert "close." in relaxed.text


def test_several_numbers_with_two_covariances() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 5))
    first, second = root @ root.T, root @ root.T * 1.02
    pair = Normal(np.zeros(3), first), Normal(np.full(3, 0.3), second)
    calibration = Mechanism(relaxation=0.1).calibrate(declared([pair]), epsilon=1.0, delta=1e-2)
    covariances = [each + calibration.scale**2 * np.eye(3) for each in (first, second)]
    drawn = rng.multivariate_normal(pair[0].mean, covariances[0], size=400_000)
    from scipy.stats import multivariate_normal

    loss = multivariate_normal(pair[0].mean, covariances[0]).logpdf(drawn)
    loss -= multivariate_normal(pair[1].mean, covariances[1]).logpdf(drawn)
    assert np.mean(np.maximum(0, 1 - np.exp(1.0 - loss))) <= 1e-2


@pytest.mark.parametrize("seed", range(6))
def test_closeness_is_an_upper_bound_and_nearly_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    support = np.sort(rng.normal(size=size) * 4) + float(rng.choice([0.0, 1e5]))
    law, scale = Atoms(support, rng.dirichlet(np.ones(size))), float(rng.choice([0.3, 1.0, 3.0]))
    normal = Normal(law.mean + rng.normal(), max(0.1, float(law.covariance[0, 0])))
    for level in (0.0, 0.1, 0.7):
        mixture = NormalMixture(law.support, law.logs, scale**2)
        found = mixture_excess(mixture, float(normal.mean[0]), float(normal.covariance[0, 0]) + scale**2, level)
        exact = integrated(law, normal, scale, level)
        assert exact * (1 - 1e-6) - 1e-9 <= found <= exact * (1 + 2e-3) + 1e-9


def test_bound_for_several_dimensions_holds_in_one() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        first, second = Normal(0.0, 1.0), Normal(float(rng.normal()) / 3, float(rng.uniform(0.7, 1.4)))
        level = float(rng.uniform(0, 0.5))
        sides = (first.mean, first.covariance), (second.mean, second.covariance)
        bound = max(normal_excess_bound(*one, *other, level) for one, other in (sides, sides[::-1]))
        assert integrated(first, second, 0.0, level) <= bound * (1 + 1e-6) + 1e-9


def variation_along(ratio: object) -> float:
    """Return the total variation of two centred normal laws whose variances have a ratio, with many digits."""
    import mpmath as mp

    if abs(ratio - 1) < mp.mpf(10) ** -40:
        return 0.0
    end = mp.sqrt(ratio * mp.log(ratio) / (ratio - 1))
    return float(abs(2 * (mp.ncdf(end) - mp.ncdf(end / mp.sqrt(ratio)))))


def test_bound_for_nearly_singular_covariances() -> None:
    """The variances of one law in units of the other, with many digits: each direction alone tells no more than all."""
    import mpmath as mp

    rng = np.random.default_rng(0)
    worst = 0.0
    with mp.workdps(60):
        for _ in range(150):
            least = float(10 ** rng.uniform(-11.5, -8))
            second = np.array([[1, 1 - least], [1 - least, 1]]) * np.outer(*[rng.uniform(0.5, 2, size=2)] * 2)
            second = (second + second.T) / 2
            first = second.copy()
            first[[0, 1], [0, 1]] *= 1 + least * 10 ** rng.uniform(-8, -3) * rng.normal(size=2)
            mixed = mp.matrix(second.tolist()) ** -1 * mp.matrix(first.tolist())
            half, determinant = (mixed[0, 0] + mixed[1, 1]) / 2, mp.det(mixed)
            apart = mp.sqrt(abs(half * half - determinant))
            told = max(variation_along(half - apart), variation_along(half + apart))
            found = normal_excess_bound(np.zeros(2), first, np.zeros(2), second, 0.0)
            worst = max(worst, told / found)
    assert worst <= 1


def test_a_law_without_spread_is_compared_after_the_noise() -> None:
    framework = declared([(Normal(0.0, 0.0), Normal(1.0, 4.0))])
    assert Mechanism(relaxation=0.05).calibrate(framework, epsilon=1.0, delta=1e-3).scale > 5
    with pytest.raises(RefusedError, match="delta must cover"):
        bp.mechanisms.OptimalGaussianMechanism(relaxation=0.05).calibrate(framework, epsilon=1.0, delta=1e-3)


def test_bounds_of_approximations_are_certified() -> None:
    spread, other = np.eye(2) * 9, np.eye(2) * 9.001
    framework = declared([(Normal([0, 0], spread), Normal([3, 4], other))])
    for kind in (Mechanism, bp.mechanisms.OptimalGaussianMechanism):
        calibration = kind(relaxation=0.05).calibrate(framework, epsilon=1.0, delta=1e-2)
        assert calibration.guarantee.kind == "certified"


COIN = Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.1, 0.9])


def test_refusals() -> None:
    plain = Mechanism(relaxation=0.1)
    assert "below epsilon" in str(plain.supports(declared([COIN]), epsilon=0.2, delta=0.01))
    atoms = Atoms([[0, 0], [1, 1]], [0.5, 0.5])
    assert "one number" in str(plain.supports(declared([(atoms, atoms)]), epsilon=1.0, delta=0.01))
    one, two = (Normal(0.0, 1.0), Normal(1.0, 1.0)), (Normal(0.0, 1.0), Normal(1.0, 2.0))
    three = Normal([0.0, 0.0], np.eye(2)), Normal([0.0, 1.0], np.eye(2))
    for chosen, reason in (
        ([one, one], "2 for 1 pairs"),
        ([two], "same covariance"),
        ([three], "dimension of the answer"),
        ([(Normal(0.0, 0.0), Normal(1.0, 0.0))], "must have an inverse"),
    ):
        mechanism = Mechanism(relaxation=0.1, approximations=chosen)
        assert reason in str(mechanism.supports(declared([COIN]), epsilon=1.0, delta=0.01))
    with pytest.raises(RefusedError, match="use TightMechanism"):
        Mechanism(relaxation=0.0).calibrate(declared([COIN]), epsilon=1.0, delta=1e-40)
    assert "Use TightMechanism" in str(Mechanism().supports(declared([COIN]), epsilon=1.0, delta=0.01))


def test_atoms_get_noise_unless_they_are_alike_as_they_are() -> None:
    """Without noise no normal law is near a coin; a fair coin against itself asks for none."""
    same = COIN[0], COIN[0]
    found = Mechanism(relaxation=0.1).calibrate(declared([same, COIN]), epsilon=1.0, delta=0.01)
    assert found.scale > 0


def test_bad_options() -> None:
    normals = [(Normal(0.0, 1.0), Normal(1.0, 1.0))]
    for options in (
        {"relaxation": -0.1},
        {"relaxation": math.nan},
        {"relaxation": "a"},
        {"approximations": normals},
        {"relaxation": 0.1, "approximations": [Normal(0.0, 1.0)]},
        {"relaxation": 0.1, "approximations": [(1, 2)]},
    ):
        with pytest.raises(ParameterError):
            Mechanism(**options)  # type: ignore[arg-type]


def test_the_common_road() -> None:
    normals = [(Normal(0.5, 0.25), Normal(0.9, 0.25))]
    mechanism = Mechanism(relaxation=0.1, approximations=normals)
    framework = declared([COIN])
    calibration = mechanism.calibrate(framework, epsilon=1.0, delta=0.01)
    text = calibration.to_json()
    assert bp.types.Calibration.from_json(text, framework).to_json() == text
    assert json.loads(text)["certificate"]["claim"] == "normal_approximations.md"
    assert "normal distributions that stand for" in calibration.text
    assert "<" in calibration.to_html()
    assert integrated(*COIN, calibration.scale, 1.0) <= 0.01


@pytest.mark.parametrize("level", [0.01, 0.1, 0.3])
def test_laws_that_are_normal_pay_for_the_level_alone(level: float) -> None:
    """Closeness is 0 there: what is left are epsilon less twice the level and delta over its exponential."""
    framework = declared([(Normal(0.0, 1.0), Normal(3.0, 1.0))])
    found = Mechanism(relaxation=level).calibrate(framework, epsilon=1.0, delta=1e-3).scale
    bare = Mechanism().calibrate(framework, epsilon=1.0 - 2 * level, delta=1e-3 * math.exp(-level)).scale
    assert bare * (1 - 1e-9) <= found <= bare * (1 + 3e-4)


@pytest.mark.parametrize(("epsilon", "level", "closeness"), [(1.0, 0.3, 1e-4), (0.5, 0.1, 1e-5), (5.0, 2.0, 1e-6)])
def test_what_is_left_of_delta_is_that_of_the_theorem(epsilon: float, level: float, closeness: float) -> None:
    left = delta_left(epsilon, 1e-2, level, closeness)
    needed = (1 + math.exp(epsilon - level)) * closeness + math.exp(level) * left
    assert 1e-2 * (1 - 1e-9) <= needed <= 1e-2


def test_the_farther_of_the_two_laws_counts() -> None:
    """One law is normal, the other has two atoms: their closeness is that of the second, whichever comes first."""
    normal, coin = Normal(0.0, 1.0), Atoms([-1.0, 1.0], [0.5, 0.5])
    far = integrated(coin, normal, 0.5, 0.1)
    for first, second in ((normal, coin), (coin, normal)):
        pair = LawPair(pair="a against b", first=first, second=second, rounding=0.0)
        each = Approximated(NormalPair(pair, "x", 0), (normal, normal))
        assert far * (1 - 1e-6) <= each.closeness(0.1, 0.5) <= far * 1.01


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
def test_rounding_an_answer_takes_it_away_from_its_law(share: float) -> None:
    """A sure answer that is rounded by half of what two answers may be apart, against the law of the exact one."""
    rounding, scale = share, 1.0
    sure, normal = Normal(0.0, 1e-18), Normal(0.0, 1e-18)
    each = Approximated(NormalPair(LawPair(pair="", first=sure, second=sure, rounding=rounding), "x", 0), (normal,) * 2)
    for level in (0.0, 0.05):
        true = integrated(Atoms([rounding / 2], [1.0]), Atoms([0.0], [1.0]), scale, level)
        assert true > 0 or level > 0
        assert each.closeness(level, scale) >= true


def test_the_guarantee_names_the_largest_delta_of_all_pairs() -> None:
    """Beyond its proof a constant promises more for pairs that are less close; their order does not matter."""
    exact = Normal(0.0, 1.0), Normal(3.0, 1.0)
    other = Normal(0.0, 1.0), Normal(3.0, 1.002)
    told = {
        Mechanism(constant="textbook", beyond_proof=True, relaxation=0.05)
        .calibrate(declared(pairs), epsilon=12.0, delta=1e-2)
        .guarantee.delta
        for pairs in ([exact, other], [other, exact])
    }
    assert len(told) == 1
    assert told.pop() > 1e-2


def tails_are_paid_for(deltas: tuple[float, ...] = (0.011, 0.0125, 0.015)) -> bool:
    pairs, normals = moved_tail()
    for way in (1, -1):  # the tail is missing under either secret
        turned = [tuple(pairs[0][::way])], [tuple(normals[0][::way])]
        for delta in deltas:
            mechanism = Mechanism(relaxation=0.0, approximations=turned[1])  # type: ignore[arg-type]
            scale = mechanism.calibrate(declared(turned[0]), epsilon=1.0, delta=delta).scale
            if scale == 0 or integrated(*pairs[0], scale, 1.0) > delta:
                return False
    return True


@pytest.mark.mutants
def test_the_sound_rule_survives() -> None:
    assert tails_are_paid_for((0.011,))


@pytest.mark.mutants
@pytest.mark.parametrize("bug", ["published theorem", "closeness forgotten", "one side"])
def test_planted_bugs_are_found(monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    if bug == "published theorem":
        left = staticmethod(lambda epsilon, delta, level, eta: (delta - eta) * math.exp(-level))
        monkeypatch.setattr(approximations, "delta_left", left)
    elif bug == "closeness forgotten":
        left = staticmethod(lambda epsilon, delta, level, eta: delta * math.exp(-level))
        monkeypatch.setattr(approximations, "delta_left", left)
    else:
        monkeypatch.setattr(
            approximations.Approximated,
            "closeness",
            lambda each, level, scale: approximations._closeness(each.laws.pair.first, each.normals[0], level, scale),
        )
    assert not tails_are_paid_for()


@pytest.mark.mutants
@pytest.mark.parametrize("way", [0, 1])
def test_one_direction_of_closeness_alone_is_found(monkeypatch: pytest.MonkeyPatch, way: int) -> None:
    real = curves._cut_up
    monkeypatch.setattr(curves, "_cut_up", lambda *args: [real(*args)[way]])
    wide = Atoms([-4.0, 0.0, 4.0], [0.02, 0.96, 0.02]), Normal(0.0, 0.01)
    narrow = Atoms([0.0], [1.0]), Normal(0.0, 1.0)
    low = []
    for law, normal in (wide, narrow):
        mixture = NormalMixture(law.support, law.logs, 1.0)
        found = mixture_excess(mixture, 0.0, float(normal.covariance[0, 0]) + 1, 0.5)
        low.append(found < integrated(law, normal, 1.0, 0.5) * 0.9)
    assert any(low)
