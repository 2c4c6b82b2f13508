"""Normal records, parameters and answers, and networks of intervals, by the checker: against integrals and members."""

from __future__ import annotations

import importlib
import json
import math
from decimal import Decimal, localcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Normal
from bnpriv.kind import kind_of
from bnpriv.kinds.gaussian.columns import LinearLaws, NormalLaws
from bnpriv.kinds.gaussian.intervals import NormalIntervals
from bnpriv.networks import GaussianNetwork, IntervalNetwork
from tests.replay import interval_case, lowered, normal_case, normal_pair

normal, intervals, networks = (
    importlib.import_module(f"bnpriv.verify.{name}") for name in ("normal", "normal_intervals", "networks")
)
ARITHMETIC = importlib.import_module("bnpriv.verify.check").ARITHMETIC
D = Decimal
SCHEMA = bp.Schema(records=100, columns={"income": bp.Real(-200, 300), "sat": bp.Real(-1000, 4000)})
ROWS = ({"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}})
SPLIT = bp.intervals(((0, 40), (40, 80)))


def records(pairs: Any = SPLIT) -> Any:
    network = GaussianNetwork.linear(*ROWS, level="records")
    secret = bp.Secret(bp.mean("income"), pairs=pairs)
    return bp.DatasetAttributePrivacy(network, SCHEMA, {"income": secret}, source="a book")


def parameters(pairs: Any = None) -> Any:
    from scipy import stats

    laws = {"income": stats.norm(0, 8), "sat": stats.norm(0, 100)}
    protect = {"income": pairs or bp.apart(at_most=5)}
    return bp.DistributionalAttributePrivacy(GaussianNetwork.linear(*ROWS), SCHEMA, protect, source="a book", laws=laws)


def made(mechanism: Any, framework: Any, query: Any, delta: float = 0.0, epsilon: float = 1.0) -> Any:
    return mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)


TIGHT, FAR, QUILT = bp.TightMechanism(), bp.WassersteinMechanism(), bp.MarkovQuiltMechanism()
BOTH = bp.count((bp.col("sat") > 1000) & (bp.col("income") > 30))
CASES = {
    "far values": lambda: made(FAR, parameters(), bp.mean("sat")),
    "far values, several numbers": lambda: made(FAR, parameters(), bp.stack(bp.mean("sat"), bp.mean("income")), 1e-3),
    "intervals": lambda: made(TIGHT, records(), bp.mean("sat")),
    "interval without an end": lambda: made(
        TIGHT, records(bp.intervals(((-math.inf, 40), (40, math.inf)))), bp.stack(bp.mean("sat"), bp.total("income"))
    ),
    "one number with delta": lambda: made(TIGHT, parameters(), bp.mean("sat"), 1e-3),
    "intervals with delta": lambda: made(TIGHT, records(), bp.mean("sat"), 1e-3),
    "a normal number and a certain one": lambda: made(TIGHT, records(), bp.mean("income"), 1e-3),
    "a quilt": lambda: made(QUILT, parameters(), BOTH, 1e-3),
}


@pytest.mark.parametrize("name", CASES)
def test_one_hundredth_too_little_noise_is_found(name: str) -> None:
    calibration = CASES[name]()
    assert bp.verify(calibration).status == "holds"
    assert bp.verify(lowered(calibration.to_json(), 0.99)).status in ("fails", "cannot be shown")


@pytest.mark.parametrize(
    ("case", "number", "part"), [(normal_case, 30, 20261), (normal_pair, 20, 20262), (interval_case, 15, 20263)]
)
def test_no_random_calibration_is_called_false(case: Any, number: int, part: int) -> None:
    statuses = []
    for k in range(number):
        asked = case(np.random.default_rng((part, k)))
        try:
            found = asked.mechanism.calibrate(asked.framework, asked.query, epsilon=asked.epsilon, delta=asked.delta)
        except bp.BnprivError:
            continue
        verdict = bp.verify(found)
        told = ("holds", "too large") if case is interval_case else ("holds", "not covered")
        assert verdict.status in told, (k, str(verdict))
        statuses.append(verdict.status)
    assert statuses.count("holds") > number // 3


def numeric(density: Any, ratio: float, low: float, high: float) -> float:
    """Return the integral of the positive part of a difference of densities, by sums."""
    x, step = np.linspace(low, high, 400_001, retstep=True)
    first, second = density(x)
    return float(np.sum(np.maximum(first - ratio * second, 0)) * step)


@pytest.mark.parametrize(
    ("mu", "moved", "epsilon"), [(0.5, 0.3, 1.0), (1.5, 2.0, 0.4), (0.2, 3.0, 2.5), (3.0, 0.0, 1.0)]
)
def test_a_normal_number_beside_laplace_noise(mu: float, moved: float, epsilon: float) -> None:
    loss, step = np.linspace(mu * mu / 2 - 12 * mu, mu * mu / 2 + 12 * mu, 2_000_001, retstep=True)
    left, mass = epsilon - loss, np.exp(-(((loss - mu * mu / 2) / mu) ** 2) / 2) / (mu * math.sqrt(2 * math.pi))
    with np.errstate(over="ignore"):
        curve = np.where(left > moved, 0.0, np.where(left < -moved, 1 - np.exp(left), 1 - np.exp((left - moved) / 2)))
    with localcontext(ARITHMETIC):
        found = float(normal.beside_laplace(D(mu), D(moved), D(epsilon)))
    assert found == pytest.approx(float(np.sum(curve * mass) * step), rel=1e-6)


@pytest.mark.parametrize(
    ("deviation", "scale", "gap"), [(1.0, 0.5, 2.0), (0.01, 1.0, 3.0), (2.0, 0.05, 1.0), (0.0, 1.0, 2.0)]
)
def test_a_normal_number_with_laplace_noise(deviation: float, scale: float, gap: float) -> None:
    from scipy import stats

    def both(x: Any) -> Any:
        if not deviation:
            return (stats.laplace.pdf(x - centre, scale=scale) for centre in (gap, 0.0))
        r = deviation / scale
        return (
            np.exp(stats.norm.logcdf(z - r) + r * r / 2 - z * r) / (2 * scale)
            + np.exp(stats.norm.logcdf(-z - r) + r * r / 2 + z * r) / (2 * scale)
            for z in ((x - gap) / deviation, x / deviation)
        )

    with localcontext(ARITHMETIC):
        found = float(normal.Blurred(D(deviation), D(scale)).curve(D(gap), D("0.7")))
    reach = 12 * deviation + 30 * scale
    assert found == pytest.approx(numeric(both, math.exp(0.7), -reach, gap + reach), rel=1e-4)


@pytest.mark.parametrize(
    ("low", "high"), [((-1.0, 0.0), (0.0, 2.0)), ((-math.inf, -1.0), (1.0, 1.0)), ((2.0, 2.5), (2.5, math.inf))]
)
@pytest.mark.parametrize(("deviation", "scale"), [(0.7, 0.4), (0.0, 0.3), (0.5, 0.001)])
def test_a_number_in_one_of_two_intervals(low: Any, high: Any, deviation: float, scale: float) -> None:
    from scipy import stats

    whole = stats.norm()
    noise, epsilon = (deviation, scale), 0.8
    x, step = np.linspace(-16, 16, 2**15, retstep=True)
    kernel = np.exp(-np.abs(x) / scale)
    if deviation:
        z, r = np.abs(x) / deviation, deviation / scale
        kernel = np.exp(stats.norm.logcdf(z - r) + r * r / 2 - z * r) + np.exp(
            stats.norm.logcdf(-z - r) + r * r / 2 + z * r
        )
    kernel /= kernel.sum()

    def law(side: Any) -> Any:
        edges = np.clip(np.append(x - step / 2, x[-1] + step / 2), *side) if side[0] < side[1] else None
        own = np.diff(whole.cdf(edges)) if edges is not None else (np.abs(x - side[0]) <= step / 2) * 1.0
        return np.convolve(own / own.sum(), kernel)

    both = law(low), law(high)
    truth = max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum()) for a, b in (both, both[::-1]))
    with localcontext(ARITHMETIC):
        sides = [tuple(map(D, side)) for side in (low, high)]
        found = float(intervals.told_apart(*sides, intervals.LogBlur(*noise), D(epsilon)))
    assert found >= truth * 0.998 - 1e-4
    assert found <= truth * 1.002 + 3e-3


def test_means_of_exponentials_are_those_of_sums() -> None:
    for low, high, tilt in ((-1.0, 2.0, 1.5), (3.0, 3.2, -4.0), (0.5, 0.5, 2.0)):
        s = np.linspace(low, high, 200_001)
        weights = np.exp(-(s**2) / 2)
        with localcontext(ARITHMETIC):
            found = float(intervals.log_mean((D(low), D(high)), D(tilt)))
        assert found == pytest.approx(math.log(np.average(np.exp(tilt * s), weights=weights)), rel=1e-4)


def test_covariances_follow_from_regressions() -> None:
    rng = np.random.default_rng(11)
    names = ["a", "b", "c", "d"]
    slopes = {"c": {"a": rng.normal(size=2), "d": rng.normal(size=2)}, "b": {"c": 0.5}}
    network = GaussianNetwork.linear(dict.fromkeys(names, 1.0), {n: rng.uniform(0.1, 3, 2) for n in names}, slopes)
    stored = kind_of(network).stored(network, names, 10**6)["normal"]
    again = GaussianNetwork(network.attributes, network.mean, network.covariance)
    for facts in (stored, kind_of(again).stored(again, names, 10**6)["normal"]):
        for theta in range(2):
            with localcontext(ARITHMETIC):
                means, covariance = networks.NormalNodes(facts).law(theta)
            place = network.attributes.index
            for x, y in product(names, names):
                assert float(covariance[x, y]) == pytest.approx(
                    network.covariance[theta, place(x), place(y)], rel=1e-12
                )
            assert [float(means[x]) for x in network.attributes] == pytest.approx(network.mean[theta].tolist())


def test_a_normal_pair_of_two_variances_with_a_delta_above_one_half() -> None:
    pair = tuple(Normal([mean], [[variance]]) for mean, variance in ((0.0, 1.0), (30.0, 1.21)))
    framework = bp.DistributionPrivacy([pair], source="a book")
    calibration = made(bp.WassersteinMechanism(large_delta=True), framework, None, 0.6)
    assert bp.verify(calibration).status == "holds"
    assert bp.verify(lowered(calibration.to_json(), 0.99)).status == "cannot be shown"


def test_a_certain_number_shows_the_smallest_gap() -> None:
    with localcontext(ARITHMETIC):
        assert normal.length([D("1e-45")], [[D(0)]]) == D("Infinity")
        assert normal.length([D(1), D(3)], [[D(1), D(3)], [D(3), D(9)]]) == 1


FRAMEWORKS = {
    "records": (records, TIGHT, bp.mean("sat"), 0.0),
    "parameters": (parameters, TIGHT, bp.mean("sat"), 1e-3),
}
EDITS = (
    ("records", "intercept = 880", "intercept = 881"),
    ("records", "deviation = 10", "deviation = 11"),
    ("records", "income = 3", "income = 3.5"),
    ("records", "[[[0, 40], [40, 80]]]", "[[[0, 40], [40, 90]]]"),
    ("records", "mean(income)", "mean(sat)"),
    ("parameters", "at_most = 5", "at_most = 6"),
    ("parameters", "[0, 100]", "[0, 90]"),
    ("parameters", "count = 100", "count = 101"),
)


@pytest.mark.parametrize(("name", "before", "after"), EDITS)
def test_every_change_of_a_framework_file_is_found(tmp_path: Path, name: str, before: str, after: str) -> None:
    framework, mechanism, query, delta = FRAMEWORKS[name]
    calibration = made(mechanism, framework(), query, delta)
    path = tmp_path / "framework.toml"
    framework().to_file(path)
    assert bp.verify(calibration, path).status == "holds"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    assert bp.verify(calibration, path).status == "fails"


SMALLER = {
    "clamped": (NormalLaws, "_clamped", lambda *_: 0.0, lambda: made(TIGHT, narrow(), bp.mean("sat"), 1e-2)),
    "rounding": (LinearLaws, "rounding", property(lambda _: 0.0), lambda: made(FAR, coarse(), bp.mean("sat"))),
    "tilted": (
        NormalIntervals,
        "_tilted",
        lambda self, rate, _own=NormalIntervals._tilted: 0.97 * _own(self, rate),
        CASES["intervals"],
    ),
}


def narrow() -> Any:
    columns = {"income": bp.Real(-10, 90), "sat": bp.Real(450, 1550)}
    secret = bp.Secret(bp.mean("income"), pairs=bp.intervals(((39, 40), (41, 42))))
    schema = bp.Schema(records=2, columns=columns)
    network = GaussianNetwork.linear(*ROWS, level="records")
    return bp.DatasetAttributePrivacy(network, schema, {"income": secret}, source="a book")


def coarse() -> Any:
    columns = {"income": bp.Real(-200, 300, steps=50), "sat": bp.Real(-1000, 4000, steps=50)}
    secret = bp.Secret(bp.mean("income"), pairs=bp.apart(at_most=5))
    schema = bp.Schema(records=100, columns=columns)
    network = GaussianNetwork.linear(*ROWS, level="records")
    return bp.DatasetAttributePrivacy(network, schema, {"income": secret}, source="a book")


@pytest.mark.parametrize("name", SMALLER)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, bug, calibrate = SMALLER[name]
    assert bp.verify(calibrate()).status == "holds"
    monkeypatch.setattr(owner, attribute, bug)
    assert bp.verify(calibrate()).status == "cannot be shown"


def member(rng: np.random.Generator, network: IntervalNetwork) -> Any:
    """Draw a network between the ends: every column is a mixture of its vertices, often one of them."""
    tables = {}
    for name in network.attributes:
        low, high = network.lower[name], network.upper[name]
        table = np.empty_like(low)
        for place in np.ndindex(low.shape[1:]):
            column = (slice(None), *place)
            with localcontext(ARITHMETIC):
                ends = networks.vertices(list(map(D, low[column].tolist())), list(map(D, high[column].tolist())))
            chosen = rng.integers(len(ends)) if rng.random() < 0.7 else None
            weights = rng.dirichlet(np.ones(len(ends))) if chosen is None else np.eye(len(ends))[chosen]
            table[column] = weights @ np.array(ends, dtype=float)
        tables[name] = table[np.newaxis]
    return tables


def told_by(network: IntervalNetwork, tables: Any, name: str, seen: list[str], pair: Any) -> float:
    """Return the largest log ratio under one member, from the sum over all states."""
    axes, joint = list(network.attributes), {}
    for cell in product(*(range(len(network.states[x])) for x in axes)):
        at = dict(zip(axes, cell, strict=True))
        mass = math.prod(tables[x][0][(at[x], *(at[y] for y in network.graph.parents[x]))] for x in axes)
        key = at[name], tuple(at[x] for x in seen)
        joint[key] = joint.get(key, 0.0) + mass
    sides = [{network.states[name].index(s) for s in side} for side in pair]
    parts = [{q: sum(p for (s, r), p in joint.items() if s in side and r == q) for _, q in joint} for side in sides]
    totals = [sum(part.values()) for part in parts]
    if min(totals) <= 0:
        return -math.inf
    ratios = [(parts[0][q] / totals[0], parts[1][q] / totals[1]) for q in parts[0]]
    return max(math.log(a / b) if b else math.inf for a, b in ratios if a)


def test_no_network_between_the_ends_tells_more() -> None:
    reached = 0
    for k in range(12):
        rng = np.random.default_rng((31, k))
        names = ["u", "v", "w"]
        states = {name: ["a", "b", "c"][: int(rng.integers(2, 4))] for name in names}
        parents = [{"v": ["u"], "w": ["v"]}, {"v": ["u"], "w": ["u"]}, {"w": ["u", "v"]}][k % 3]
        sizes = {x: [len(states[y]) for y in parents.get(x, [])] for x in names}
        tables = {x: np.moveaxis(rng.dirichlet(np.full(len(states[x]), 3.0), (1, *sizes[x])), -1, 1) for x in names}
        centre = bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="parameters")
        network = IntervalNetwork.around(centre, 0.05)
        name = names[k % 2]
        seen = [x for x in names if x != name]
        pair = (["a"], ["b"]) if k % 4 else (["a"], states[name][1:])
        stored = kind_of(network).stored(network, names, 10**6)["network"]
        with localcontext(ARITHMETIC):
            nodes = networks.IntervalNodes(stored)
            found = float(nodes.told(name, seen, pair, D(0), lambda _: None))
        members = [told_by(network, member(rng, network), name, seen, pair) for _ in range(150)]
        with localcontext(ARITHMETIC):
            enough = float(nodes.told(name, seen, pair, D(50), lambda _: None))
        assert max(members) <= enough + 1e-9
        reached += max(members) > 0.8 * enough
        assert found > 0
    assert reached >= 4


def test_intervals_are_compared_with_their_file(tmp_path: Path) -> None:
    states = {"u": ["a", "b"], "v": ["c", "d"]}
    centre = bp.DiscreteNetwork.from_tables(
        {"u": [[0.4, 0.6]], "v": [[[0.2, 0.7], [0.8, 0.3]]]}, states=states, parents={"v": ["u"]}, level="parameters"
    )
    network = IntervalNetwork.around(centre, 0.05)
    schema = bp.Schema(records=10, columns={"u": bp.Integer(0, 1), "v": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"u": None}, source="a book")
    calibration = made(QUILT, framework, bp.total("v"), epsilon=3.0)
    path = tmp_path / "framework.toml"
    framework.to_file(path)
    assert bp.verify(calibration, path).status == "holds"
    record = json.loads(calibration.to_json())
    for end, place in product(("lower", "upper"), range(4)):
        changed = json.loads(json.dumps(record))
        ends = changed["model"]["network"]["nodes"]["v"][end]
        ends[place] = (float.fromhex(ends[place]) + 0.01).hex()
        assert bp.verify(json.dumps(changed), path).status == "fails"
    path.write_text(path.read_text().replace("within = 0.05", "within = 0.06"))
    assert bp.verify(calibration, path).status == "fails"


def test_what_is_not_well_formed_is_no_error() -> None:
    record = json.loads(CASES["far values"]().to_json())
    for place, value in (("models", 0), ("models", "1"), ("regressions", {"sat": 3})):
        changed = json.loads(json.dumps(record))
        changed["model"]["normal"][place] = value
        assert bp.verify(json.dumps(changed)).status == "not covered"
    rows = record["model"]["normal"]["regressions"]
    rows["income"]["coefficients"] = {"sat": [(1.0).hex()]}
    assert bp.verify(json.dumps(record)).status == "not covered"


@pytest.mark.parametrize("rows", [[[-1.0, 0.0], [0.0, 1.0]], [[1.0, 0.5], [0.4, 1.0]], [[1.0, 2.0], [2.0, 1.0]]])
def test_a_matrix_that_is_no_covariance_bears_nothing(rows: list[list[float]]) -> None:
    pair = Normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]), Normal([0.1, 0.0], [[1.0, 0.5], [0.5, 1.0]])
    private = bp.DistributionPrivacy([pair], source="made up")
    calibration = bp.TightMechanism(noise="gaussian", large_delta=True).calibrate(private, epsilon=1.0, delta=0.01)
    assert bp.verify(calibration).status == "holds"
    record = json.loads(calibration.to_json())
    for side in record["model"]["sides"]:
        side["normal"]["covariance"] = [[value.hex() for value in row] for row in rows]
    assert bp.verify(json.dumps(record)).status == "not covered"
