"""A normal secret in one of two intervals (docs/claims/normal_intervals.md), against quadrature and draws."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.kinds.gaussian.intervals import Kernel, NormalIntervals, NormalSide, log_integral
from bnpriv.networks import GaussianNetwork
from tests.later import Later

mp = Later("mpmath")
stats = Later("scipy.stats")
optimize = Later("scipy.optimize")

Ends = tuple[float, float]
INF = math.inf

TOUCHING: tuple[Ends, Ends] = ((-1.0, 0.0), (0.0, 1.0))
PAIRS: dict[str, tuple[Ends, Ends]] = {
    "touching": TOUCHING,
    "apart": ((0.0, 1.0), (2.0, 3.0)),
    "tails": ((-INF, -1.0), (1.0, INF)),
    "the line": ((-INF, 0.0), (0.0, INF)),
    "far out": ((8.0, 8.5), (8.5, 9.0)),
    "far below": ((-9.0, -8.0), (-8.0, INF)),
    "narrow": ((0.5, 0.5 + 1e-9), (0.5 + 1e-9, 0.5 + 2e-9)),
    "huge": ((-1e5, 0.0), (0.0, 1e5)),
    "a value": ((0.3, 0.3), (0.5, 2.0)),
    "either tail": ((-30.0, -20.0), (20.0, 30.0)),
}


def made(lower: Ends, upper: Ends) -> NormalIntervals:
    """Two intervals of a standard normal secret, and an answer of one number that moves with it."""
    between = lower[1]
    sides = [NormalSide(low=a, high=b, start=a - between, end=b - between) for a, b in (lower, upper)]
    return NormalIntervals(
        lower=sides[0], upper=sides[1], rising=True, distance=1.0, moves=np.array([1.0]), shift=1e-15, spread=1e-15
    )


def below(z: Any) -> Any:
    """The normal distribution function, exact in the lower tail."""
    return mp.erfc(-z / mp.sqrt(2)) / 2


def mass(low: Any, high: Any) -> Any:
    """The probability of an interval, from the tail in which it lies."""
    return below(-low) - below(-high) if low > 0 else below(high) - below(low)


def exponential_mean(ends: Ends, tilt: Any) -> Any:
    """The log mean of exp(tilt s) of a standard normal number in an interval, by the definition in closed form."""
    low, high = (mp.mpf(end) for end in ends)
    if low == high:
        return tilt * low
    return mp.log(mass(low - tilt, high - tilt) / mass(low, high)) + tilt**2 / 2


@pytest.mark.parametrize("c", [0.0, 1e-12, 0.3, 8.0, -3.0, -1e3, 1e6])
@pytest.mark.parametrize("width", [1e-12, 1e-3, 0.7, 5.0, 40.0, INF])
def test_the_integral_against_quadrature(c: float, width: float) -> None:
    found, error = log_integral(c, width)
    with mp.workdps(50 if abs(c) < 100 else 600):
        start, end = mp.mpf(c), mp.mpf(c) + mp.mpf(width)
        want = (
            mp.log(mp.sqrt(2 * mp.pi) * mass(start, end)) + start**2 / 2
            if width > 1e-6
            else mp.log(mp.quad(lambda x: mp.exp(-c * x - x * x / 2), [0, width]))
        )
        assert abs(want - found) <= error
    assert error <= 1e-13 * (1 + abs(found))


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("tilt", [1e-3, 0.2, 1.0, 7.0, 1e6])
def test_the_pure_loss_in_fifty_digits(name: str, tilt: float) -> None:
    lower, upper = PAIRS[name]
    with mp.workdps(50 if tilt < 100 and name != "huge" else 400):
        ways = [exponential_mean(upper, way * tilt) - exponential_mean(lower, way * tilt) for way in (mp.mpf(1), -1)]
        want = max(ways[0], -ways[1])
        found = made(lower, upper).loss(1 / tilt)
        assert want <= found
        assert found - want <= 1e-11 * (1 + want)


def test_no_output_tells_more_than_the_pure_loss_and_far_ones_tell_as_much() -> None:
    """The ratio of the two densities of secret, rest and Laplace noise, at many outputs."""
    lower, upper, scale, rest = (-1.0, 0.2), (0.2, 2.0), 0.8, 0.6
    kernel = stats.norm(0, rest)
    r, weight = np.linspace(-8 * rest, 8 * rest, 401), 16 * rest / 400

    def density(ends: Ends, outputs: np.ndarray) -> np.ndarray:
        nodes, weights = np.polynomial.legendre.leggauss(20)
        s = ends[0] + (ends[1] - ends[0]) * (nodes + 1) / 2
        masses = weights * np.exp(-s * s / 2)
        apart = np.abs(outputs[:, None, None] - s[None, :, None] - r[None, None, :])
        noisy = np.exp(-(apart - np.abs(outputs)[:, None, None]) / scale) @ (kernel.pdf(r) * weight)
        return noisy @ (masses / masses.sum())

    outputs = np.linspace(-25, 25, 41)
    ratios = np.abs(np.log(density(upper, outputs) / density(lower, outputs)))
    found = made(lower, upper).loss(scale)
    assert ratios.max() <= found * (1 + 1e-9)
    assert ratios.max() >= found * (1 - 1e-5)


# --------------------------------------------------------------------------------------------------
# The curve, by quadrature with SciPy alone: P(V > t | upper) - exp(epsilon) P(V > t | lower) at its largest.
# --------------------------------------------------------------------------------------------------


def tail(kernel: Kernel, x: np.ndarray) -> np.ndarray:
    """The probability that noise exceeds x: a normal number, plus or less an exponential one for Laplace noise."""
    if kernel.scale == 0:
        return stats.norm.sf(x / kernel.deviation)
    if kernel.deviation == 0:
        return stats.laplace.sf(x / kernel.scale)
    z, ratio = x / kernel.deviation, kernel.scale / kernel.deviation
    return (stats.exponnorm.sf(z, ratio) + stats.exponnorm.cdf(-z, ratio)) / 2


def exceeded(kernel: Kernel, ends: Ends, t: float) -> float:
    low, high = (min(max(end, -12.0), 12.0) for end in ends)
    if low == high:
        return float(tail(kernel, np.array([t - low]))[0])
    cuts = [low, *sorted(c for k in (-4, -1, 0, 1, 4) if low < (c := t + k * kernel.size) < high), high]
    nodes, weights = np.polynomial.legendre.leggauss(40)
    found = total = 0.0
    for start, end in itertools.pairwise(cuts):
        s = start + (end - start) * (nodes + 1) / 2
        masses = weights * (end - start) * np.exp(-(s * s - min(low**2, high**2) * (low * high > 0)) / 2)
        found, total = found + float(masses @ tail(kernel, t - s)), total + float(masses.sum())
    return found / total


def least_delta(kernel: Kernel, lower: Ends, upper: Ends, epsilon: float) -> float:
    worst = 0.0
    for (a, b), (c, d) in ((lower, upper), ((-upper[1], -upper[0]), (-lower[1], -lower[0]))):

        def short(t: float, low: Ends = (a, b), high: Ends = (c, d)) -> float:
            return math.exp(epsilon) * exceeded(kernel, low, t) - exceeded(kernel, high, t)

        # the ratio of the densities grows with the output, so that there is one valley
        ends = max(a, -9.0) - 8 * kernel.size, min(d, 9.0) + 30 * kernel.size
        worst = max(worst, -optimize.minimize_scalar(short, bounds=ends, method="bounded", options={"xatol": 1e-7}).fun)
    return worst


CURVES = [
    (Kernel(1.0, 0.0), "touching", 0.5),
    (Kernel(0.3, 0.0), "apart", 2.0),
    (Kernel(1.0, 0.0), "the line", 1.0),
    (Kernel(2.0, 0.0), "tails", 1.0),
    (Kernel(0.5, 0.0), "far out", 0.1),
    (Kernel(0.0, 1.0), "touching", 0.5),
    (Kernel(0.5, 1.0), "apart", 1.0),
    (Kernel(0.02, 0.3), "a value", 2.0),
    (Kernel(3.0, 0.2), "touching", 0.1),
    (Kernel(1e-9, 0.7), "the line", 1.5),
    (Kernel(1e-5, 0.7), "the line", 1.5),
]


@pytest.mark.parametrize(("kernel", "name", "epsilon"), CURVES, ids=str)
def test_the_curve_is_above_the_true_one_and_close_to_it(kernel: Kernel, name: str, epsilon: float) -> None:
    lower, upper = PAIRS[name]
    found = made(lower, upper).curve(kernel, epsilon)
    want = least_delta(kernel, lower, upper, epsilon)
    assert want * (1 - 1e-6) - 1e-13 <= found <= want * (1 + 1e-3) + 1e-9


def test_a_tiny_delta_keeps_its_relative_accuracy() -> None:
    """Far out in the tail of Gaussian noise, in thirty digits."""
    lower, upper = TOUCHING
    kernel, epsilon = Kernel(1.0, 0.0), 7.0
    found = made(lower, upper).curve(kernel, epsilon)
    with mp.workdps(30):

        def short(t: Any) -> Any:
            above = [
                mp.quad(lambda s: mp.npdf(s) * below(s - t), [a, b]) / mass(mp.mpf(a), mp.mpf(b))
                for a, b in (lower, upper)
            ]
            return above[1] - mp.exp(epsilon) * above[0]

        # the ratio of the densities is exp(epsilon) at the worst threshold
        want = max(short(mp.mpf(t) / 1000) for t in range(7720, 7729))
    assert 0 < want < 1e-12
    assert want <= found <= want * mp.mpf(1.01)


def test_a_bound_that_cannot_be_trusted_is_not_given() -> None:
    """Noise of no account beside the intervals, a secret that is nearly independent, and the smallest epsilon."""
    intervals = made(*TOUCHING)
    assert intervals.loss(0.0) == INF
    assert intervals.loss(1e-300) == INF or intervals.loss(1e-300) > 1e290
    assert intervals.curve(Kernel(1e-7, 0.0), 1.0) >= 0.99
    assert intervals.gaussian_delta(0.0, 1.0) == 0
    assert intervals.gaussian_delta(1e-9, 1e-6) <= 1
    assert intervals.laplace_delta(1e-9, 1.0, 1.0, 1e-6) == 0


# --------------------------------------------------------------------------------------------------
# Mechanisms: on clamped tables, and the least noise.
# --------------------------------------------------------------------------------------------------


def network(slope: float, rest: float, level: Any = "parameters") -> GaussianNetwork:
    return GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": rest}, {"b": {"a": slope}}, level=level)


def asked(
    pair: tuple[Ends, Ends], *, slope: float = 1.0, rest: float = 1.0, own: float = 1.0, bound: float = 1e3
) -> bp.DistributionalAttributePrivacy:
    """A standard normal secret a, b = slope a + N(0, rest^2), and one record about it."""
    columns = {"a": bp.Real(-bound, bound, steps=10**8), "b": bp.Real(-bound, bound, steps=10**8)}
    return bp.DistributionalAttributePrivacy(
        network(slope, rest),
        bp.Schema(records=1, columns=columns),
        protect={"a": bp.intervals(pair)},
        source="a test",
        laws={"a": stats.norm(0, own), "b": stats.norm(0, own)},
    )


def test_pure_noise_holds_where_most_records_are_clamped() -> None:
    """The law of one record that is clamped to [-1, 1], by draws of the secret, the parameter and the record."""
    pair = ((-2.0, 0.0), (0.0, 1.5))
    scale = bp.TightMechanism().calibrate(asked(pair, bound=1.0), bp.mean("b"), epsilon=1.0).scale
    free = bp.TightMechanism().calibrate(asked(pair), bp.mean("b"), epsilon=1.0).scale
    assert scale == pytest.approx(free, rel=1e-4)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    outputs, laws_of = np.linspace(-12, 12, 401), []
    for low, high in pair:
        s = low + (high - low) * (nodes + 1) / 2
        masses = weights * stats.norm.pdf(s)
        values = np.linspace(-1, 1, 401)
        edges = np.concatenate([[-INF], (values[1:] + values[:-1]) / 2, [INF]])
        atoms = masses @ np.diff(stats.norm.cdf(edges[None, :], s[:, None], math.sqrt(2)), axis=1) / masses.sum()
        laws_of.append(np.exp(-np.abs(outputs[:, None] - values) / scale) @ atoms)
    assert np.abs(np.log(laws_of[0] / laws_of[1])).max() <= 1.0


def test_draws_do_not_tell_more_than_is_promised() -> None:
    """Released answers of drawn tables: no threshold catches more than epsilon and delta allow."""
    pair, epsilon, delta, draws = ((-INF, -0.5), (0.5, INF)), 1.0, 0.01, 400_000
    framework = asked(pair, slope=2.0, rest=0.5, own=0.3)
    for mechanism in (bp.TightMechanism(large_delta=True), bp.TightMechanism(noise="gaussian", large_delta=True)):
        found = mechanism.calibrate(framework, bp.mean("b"), epsilon=epsilon, delta=delta)
        random = np.random.default_rng(0)
        released = []
        for low, high in pair:
            secret = stats.truncnorm.rvs(low, high, size=draws, random_state=random)
            answer = 2 * secret + random.normal(0, math.hypot(0.5, 0.3), draws)
            noise = random.laplace if mechanism.noise == "laplace" else random.normal
            released.append(np.sort(answer + noise(0, found.scale, draws)))
        thresholds = np.linspace(-30, 30, 301)
        below_it = [np.searchsorted(each, thresholds) / draws for each in released]
        caught = [(1 - below_it[1]) - math.exp(epsilon) * (1 - below_it[0])]
        caught.append(below_it[0] - math.exp(epsilon) * below_it[1])
        assert max(each.max() for each in caught) <= delta + 4 * math.exp(epsilon) / math.sqrt(draws)
        assert max(each.max() for each in caught) >= 0.5 * delta


def test_several_numbers_and_cancelling_columns() -> None:
    framework = asked(TOUCHING)
    both = bp.stack(bp.mean("a"), bp.mean("b"))
    one = bp.TightMechanism(weights=(1, 1)).calibrate(framework, both, epsilon=1.0)
    alone = bp.TightMechanism().calibrate(framework, bp.linear({"a": 1.0, "b": 1.0}), epsilon=1.0)
    # the sum of both moves as far as both together
    assert one.scale == pytest.approx(alone.scale, rel=1e-6)
    difference = bp.linear({"a": 1.0, "b": -1.0})
    # without clamping the difference moves by nothing, which delta may count on
    pure, close = (
        bp.TightMechanism(large_delta=True).calibrate(framework, difference, epsilon=1.0, delta=delta).scale
        for delta in (0.0, 1e-6)
    )
    assert close < pure / 100


def test_every_pair_counts_and_the_hardest_decides() -> None:
    near, far = ((-1.0, 0.0), (0.0, 1.0)), ((-0.1, 0.0), (1.0, 1.1))

    def scale(*pairs: tuple[Ends, Ends]) -> float:
        framework = bp.DistributionalAttributePrivacy(
            network(1.0, 1.0),
            bp.Schema(records=1, columns={"a": bp.Real(-1e3, 1e3), "b": bp.Real(-1e3, 1e3)}),
            protect={"a": bp.intervals(*pairs)},
            source="a test",
            laws={"a": stats.norm(0, 1), "b": stats.norm(0, 1)},
        )
        return bp.TightMechanism().calibrate(framework, bp.mean("b"), epsilon=1.0).scale

    # the second pair is not farther apart, and needs more noise
    assert scale(far) > scale(near)
    assert scale(near, far) == pytest.approx(max(scale(near), scale(far)), rel=1e-9)
    assert scale(near, (3.0, 0.0)) == pytest.approx(max(scale(near), scale((3.0, 0.0))), rel=1e-9)


def test_properties_of_tables_and_clamping_in_an_interval_without_an_end() -> None:
    """Clamping counts by how probable it is within the interval, not at its far end."""
    columns = {"a": bp.Real(-60, 60), "b": bp.Real(-60, 60)}
    secret = bp.Secret(bp.mean("a"), pairs=bp.intervals(((-INF, -0.1), (0.1, INF))))
    framework = bp.DatasetAttributePrivacy(
        network(1.0, 1.0, "records"),
        bp.Schema(records=100, columns=columns),
        protect={"a": secret},
        source="a test",
    )
    evidence = laws(framework, bp.mean("b"))
    assert not isinstance(evidence, bp.errors.Refusal)
    (pair,) = evidence.constraints()[0].pairs
    assert pair.departure is not None
    assert pair.departure.mass < 1e-15
    pure = bp.TightMechanism().calibrate(framework, bp.mean("b"), epsilon=1.0).scale
    # the mean of a has deviation .1; beyond either value it exceeds it by about .058
    assert 0.2 < pure < 0.4
    with pytest.raises(bp.errors.RefusedError):
        bp.WassersteinMechanism().calibrate(framework, bp.mean("b"), epsilon=1.0)
    told = bp.rehearse(bp.TightMechanism().calibrate(framework, bp.mean("b"), epsilon=1.0), draws=2000)
    assert 0.5 < told.correct < math.e / (1 + math.e)


TABLE: list[tuple[str, tuple[Ends, Ends], float, float, float, float, str]] = [
    ("touching, epsilon 1", TOUCHING, 1.0, 1.0, 1.0, 0.0, "laplace"),
    ("touching, epsilon .1", TOUCHING, 1.0, 1.0, 0.1, 0.0, "laplace"),
    ("touching, epsilon 4", TOUCHING, 1.0, 1.0, 4.0, 0.0, "laplace"),
    ("half lines", ((-INF, 0.0), (0.0, INF)), 1.0, 1.0, 1.0, 0.0, "laplace"),
    ("tails", ((-INF, -1.0), (1.0, INF)), 2.0, 0.5, 1.0, 0.0, "laplace"),
    ("far out", ((8.0, 8.5), (8.5, 9.0)), 1.0, 1.0, 1.0, 0.0, "laplace"),
    ("almost independent", TOUCHING, 1e-2, 1.0, 1.0, 0.0, "laplace"),
    ("correlation .999999", TOUCHING, 1.0, 1.4142e-3, 1.0, 0.0, "laplace"),
    ("huge", ((-900.0, 0.0), (0.0, 900.0)), 1.0, 1.0, 1.0, 0.0, "laplace"),
    ("touching, delta .001", TOUCHING, 1.0, 1.0, 1.0, 1e-3, "laplace"),
    ("touching, delta .05", TOUCHING, 1.0, 1.0, 0.5, 0.05, "laplace"),
    ("half lines, delta .01", ((-INF, 0.0), (0.0, INF)), 1.0, 1.0, 1.0, 0.01, "laplace"),
    ("touching, Gaussian", TOUCHING, 1.0, 1.0, 1.0, 1e-3, "gaussian"),
    ("touching, Gaussian, 1e-7", TOUCHING, 1.0, 1.0, 1.0, 1e-7, "gaussian"),
    ("half lines, Gaussian", ((-INF, 0.0), (0.0, INF)), 1.0, 1.0, 1.0, 1e-3, "gaussian"),
    ("correlation .999999, Gaussian", ((0.0, 1.0), (2.0, 3.0)), 1.0, 1.4142e-3, 1.0, 1e-3, "gaussian"),
]


def least(pair: tuple[Ends, Ends], slope: float, rest: float, epsilon: float, delta: float, noise: str) -> float:
    """The least scale by quadrature: without delta from a far output, else from the tails."""
    rest = math.hypot(rest, 1e-4)

    def short(log_scale: float) -> float:
        scale = math.exp(log_scale) / slope
        if delta == 0:
            with mp.workdps(40):
                ways = [exponential_mean(pair[1], w / scale) - exponential_mean(pair[0], w / scale) for w in (1, -1)]
                return float(max(ways[0], -ways[1])) - epsilon
        kernel = Kernel(rest / slope, scale) if noise == "laplace" else Kernel(math.hypot(rest / slope, scale), 0.0)
        return least_delta(kernel, *pair, epsilon) - delta

    return math.exp(optimize.brentq(short, math.log(1e-5), math.log(1e3), xtol=1e-5))


def pair_of(framework: Any, query: Any) -> Any:
    evidence = laws(framework, query)
    assert not isinstance(evidence, bp.errors.Refusal)
    return evidence.constraints()[0].pairs[0]


@pytest.mark.parametrize("slope", [2.0, -2.0])
@pytest.mark.parametrize("pair", [((-INF, -0.5), (0.2, 2.0)), ((0.2, 2.0), (-INF, -0.5))])
def test_answers_are_drawn_under_the_secret_that_is_asked_for(pair: tuple[Ends, Ends], slope: float) -> None:
    found, draws = pair_of(asked(pair, slope=slope, rest=0.3, own=0.4), bp.mean("b")), 20_000
    for place, ends in enumerate(pair):
        answers = found.intervals.drawn(found.first, found.second, place, draws, np.random.default_rng(place))
        law = stats.truncnorm(*ends)
        spread = math.hypot(slope * law.std(), 0.5)
        assert abs(answers.mean() - slope * law.mean()) <= 5 * spread / math.sqrt(draws)
        assert answers.std() == pytest.approx(spread, rel=0.03)


def test_the_rarer_interval_counts() -> None:
    for pair in (((-INF, -3.0), (0.0, 1.0)), ((-1.0, 0.0), (3.0, INF))):
        assert made(*pair).least_mass == pytest.approx(stats.norm.sf(3), rel=1e-9)
    assert made((0.3, 0.3), (0.5, 2.0)).least_mass == 0


@pytest.mark.parametrize("name", ["touching", "apart", "far out", "tails"])
def test_what_rounding_may_have_moved_is_added(name: str) -> None:
    off, pair = 1e-4, PAIRS[name]
    told = replace(made(*pair), shift=off)
    for way in (-off, off):
        moved = made(*((low + way, high + way) for low, high in pair))
        for scale in (0.2, 1.0, 5.0):
            assert told.loss(scale) >= moved.loss(scale)


def test_the_mean_is_known_to_its_last_digits_only() -> None:
    far = GaussianNetwork.linear({"a": 1e9, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": 1.0}})
    columns = {name: bp.Real(-1e12, 1e12) for name in "ab"}
    framework = bp.DistributionalAttributePrivacy(
        far,
        bp.Schema(records=1, columns=columns),
        protect={"a": bp.intervals(((1e9 - 1, 1e9), (1e9, 1e9 + 1)))},
        source="a test",
        laws={name: stats.norm(0, 1) for name in "ab"},
    )
    assert pair_of(framework, bp.mean("b")).intervals.shift >= 1e9 * 2.0**-53


def test_clamping_counts_at_the_worst_end_and_what_is_cut_off_counts() -> None:
    near_the_bound = pair_of(asked(((-1.0, 0.0), (999.0, 999.5))), bp.mean("b"))
    assert near_the_bound.departure.mass >= stats.norm.sf(0.5, scale=math.sqrt(2))
    half_lines = pair_of(asked(((-INF, 0.0), (0.0, INF)), bound=1e6), bp.mean("b"))
    assert half_lines.departure.mass >= 1e-21


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_with_delta_too_the_hardest_pair_decides(noise: Any) -> None:
    pairs = ((-1.0, 0.0), (0.0, 1.0)), ((-0.1, 0.0), (1.0, 1.1)), ((2.0, 2.1), (2.5, 2.6))

    def scale(*chosen: tuple[Ends, Ends]) -> float:
        framework = replace(asked(TOUCHING), protect={"a": bp.intervals(*chosen)})
        mechanism = bp.TightMechanism(noise=noise, large_delta=True)
        return mechanism.calibrate(framework, bp.mean("b"), epsilon=0.5, delta=0.01).scale

    alone = [scale(pair) for pair in pairs]
    assert len({round(each, 2) for each in alone}) == len(pairs)
    for order in itertools.permutations(pairs):
        assert scale(*order) == pytest.approx(max(alone), rel=1e-3)


def test_a_coarse_grid_is_paid_for() -> None:
    framework = asked(TOUCHING)
    coarse = {name: bp.Real(-1000, 1000, steps=1000) for name in "ab"}
    framework = replace(framework, schema=bp.Schema(records=1, columns=coarse))
    pair = pair_of(framework, bp.mean("b"))
    found = bp.TightMechanism().calibrate(framework, bp.mean("b"), epsilon=1.0).scale
    assert pair.rounding >= 1.0
    assert pair.intervals.loss(found) + pair.rounding / found <= 1.0 + 1e-9


@pytest.mark.slow
def test_the_noise_is_at_most_one_per_cent_above_the_least() -> None:
    rows = []
    for name, pair, slope, rest, epsilon, delta, noise in TABLE:
        framework = asked(pair, slope=slope, rest=rest, own=1e-4)
        mechanism = bp.TightMechanism(noise=noise, large_delta=True)
        found = mechanism.calibrate(framework, bp.mean("b"), epsilon=epsilon, delta=delta).scale
        want = least(pair, slope, rest, epsilon, delta, noise)
        rows.append((name, found, want, found / want))
        print(f"{name:32} {found:12.6g} {want:12.6g} {found / want:9.5f}")
    assert len(rows) >= 12
    assert all(0.9999 <= ratio <= 1.01 for *_, ratio in rows)
