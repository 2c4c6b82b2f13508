"""Mechanisms on normal laws of tables: what they claim against the exact law of answers, clamped and with noise.

The oracle knows the law of one whole table (tests/normal_tables.py) and the definition of the guarantee, nothing else.
Tables of one record are followed through their clamping exactly; larger ones where bounds are far away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.later import Later
from tests.normal_tables import NAMES, Question, question, whole_table

stats = Later("scipy.stats")

CELLS = 2**11
MECHANISMS = (
    (bp.WassersteinMechanism(), 0.0),
    (bp.WassersteinMechanism(large_delta=True), 0.01),
    (bp.WassersteinMechanism(noise="gaussian", large_delta=True), 0.01),
    (bp.TightMechanism(), 0.0),
    (bp.TightMechanism(large_delta=True), 0.01),
    (bp.TightMechanism(noise="gaussian", large_delta=True), 0.01),
)
IDS = [f"{mechanism} {delta:g}" for mechanism, delta in MECHANISMS]


def excess(first: np.ndarray, second: np.ndarray, epsilon: float, step: float) -> float:
    """Return the hockey-stick divergence of two densities on a grid, the larger of both directions."""
    ratio = math.exp(epsilon)
    sides = ((first, second), (second, first))
    return max(float(np.maximum(p - ratio * q, 0.0).sum()) * step for p, q in sides)


def noisy_density(grid: np.ndarray, points: np.ndarray, masses: np.ndarray, noise: Any) -> np.ndarray:
    """Return the density of atoms with noise."""
    z = (grid[:, None] - points[None, :]) / noise.scale
    if isinstance(noise, bp.noise.Gaussian):
        return np.exp(-z * z / 2) @ masses / (noise.scale * math.sqrt(2 * math.pi))
    return np.exp(-np.abs(z)) @ masses / (2 * noise.scale)


def atoms_of(centre: float, deviation: float, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return many small atoms of a normal law that is clamped to two bounds."""
    edges = np.clip(np.linspace(centre - 9 * deviation, centre + 9 * deviation, 401), low, high)
    edges = np.unique(np.concatenate([[low], edges, [high]]))
    below = stats.norm.cdf(edges, centre, deviation)
    points = np.concatenate([[low], (edges[1:] + edges[:-1]) / 2, [high]])
    return points, np.concatenate([[below[0]], np.diff(below), [1 - below[-1]]])


def holds(pairs: Iterator[tuple[Any, Any]], noise: Any, epsilon: float, delta: float) -> bool:
    """Return whether answers under every two secrets, each a list of atoms, are private with noise."""
    for first, second in pairs:
        scale = getattr(noise, "scale", 0.0)
        if scale < 0.02 * np.ptp(first[0]) / 18:  # hardly any noise: the answers themselves are nearly private
            edges = np.linspace(min(first[0].min(), second[0].min()), max(first[0].max(), second[0].max()), 100)
            binned = [np.histogram(points, edges, weights=masses)[0] for points, masses in (first, second)]
            if excess(*binned, epsilon, 1.0) > delta * 1.02 + 1e-3:
                return False
            continue
        ends = np.concatenate([first[0], second[0]])
        grid = np.linspace(ends.min() - 12 * scale, ends.max() + 12 * scale, CELLS)
        densities = [noisy_density(grid, *law, noise) for law in (first, second)]
        found = excess(*densities, epsilon, float(grid[1] - grid[0]))
        slack = 1e-3 * scale**-1 * float(grid[1] - grid[0])
        if delta == 0 and found > slack * 1e-2 + 1e-6:
            return False
        if delta > 0 and found > delta * 1.02 + 1e-6:
            return False
    return True


def calibrated(asked: Question, mechanism: Any, epsilon: float, delta: float) -> Any:
    if mechanism.supports(asked.framework, asked.query, epsilon=epsilon, delta=delta) is not None:
        return None
    return mechanism.calibrate(asked.framework, asked.query, epsilon=epsilon, delta=delta).noise


def of_one_record(random: np.random.Generator) -> Question:
    """Return a question about one column of one record, another column being the secret, with near bounds."""
    correlation, wide = random.uniform(0.2, 0.95) * random.choice([-1, 1]), random.uniform(2.2, 5)
    columns = {"a": bp.Real(-50, 50), "b": bp.Real(-wide, wide, steps=2**30)}
    schema = bp.Schema(records=1, columns=columns)
    matrix = np.array([[1.0, correlation], [correlation, 1.0]])
    network = bp.types.GaussianNetwork(NAMES[:2], [0, 0], matrix, level="records")
    apart = float(random.uniform(0.1, 0.6))
    values = random.uniform(-1, 1)
    chosen = bp.pairs((values, values + apart)) if random.random() < 0.5 else bp.intervals((values, values + apart))
    framework = bp.DatasetAttributePrivacy(
        network, schema, {"a": bp.Secret(bp.mean("a"), pairs=chosen)}, source="invented"
    )
    return Question(
        framework=framework,
        query=bp.mean("b"),
        records=1,
        mean=np.zeros(2),
        covariance=matrix,
        own=None,
        secret=np.array([values, values + apart]),
        weights=np.array([[0.0, 1.0]]),
        apart=apart,
    )


def clamped_holds(asked: Question, mechanism: Any, epsilon: float, delta: float) -> bool:
    noise = calibrated(asked, mechanism, epsilon, delta)
    if noise is None:
        return True
    slope, (low, high) = asked.covariance[0, 1], (asked.framework.schema["b"].lower, asked.framework.schema["b"].upper)
    laws = [atoms_of(slope * value, math.sqrt(1 - slope**2), low, high) for value in asked.secret]
    return holds(iter([(laws[0], laws[1])]), noise, epsilon, delta)


def whole_holds(asked: Question, mechanism: Any, epsilon: float, delta: float) -> bool:
    """Whether tables of several records keep the claim, where bounds are too far away to count."""
    noise = calibrated(asked, mechanism, epsilon, delta)
    if noise is None:
        return True
    table = whole_table(asked)
    gap = float((table.answers @ table.slope)[0]) * asked.apart
    variance = float((table.answers @ table.covariance @ table.answers.T)[0, 0])
    deviation = math.sqrt(max(variance, 0.0)) + 1e-12 * abs(gap)
    far = 12 * deviation + abs(gap)
    laws = [atoms_of(centre, deviation, -far, far) for centre in (0.0, gap)]
    return holds(iter([(laws[0], laws[1])]), noise, epsilon, delta)


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS, ids=IDS)
def test_clamped_answers_are_as_private_as_claimed(mechanism: Any, delta: float) -> None:
    random = np.random.default_rng(11)
    assert all(clamped_holds(of_one_record(random), mechanism, 0.8, delta) for _ in range(25))


@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS, ids=IDS)
@pytest.mark.parametrize("level", ["records", "parameters"])
def test_tables_of_several_records_are_as_private_as_claimed(mechanism: Any, delta: float, level: str) -> None:
    random = np.random.default_rng(12)
    asked = (question(random, level=level, numbers=1, wide=30.0) for _ in range(12))
    assert all(whole_holds(each, mechanism, 0.8, delta) for each in asked)


def test_tight_noise_is_never_more_than_that_for_the_distance() -> None:
    random = np.random.default_rng(13)
    for _ in range(20):
        asked = question(random, numbers=1, wide=float(random.uniform(4, 30)))
        for noise, delta in (("laplace", 0.0), ("laplace", 1e-3), ("gaussian", 1e-3)):
            tight, distance = (
                calibrated(asked, kind(noise=noise, large_delta=True), 0.7, delta)
                for kind in (bp.TightMechanism, bp.WassersteinMechanism)
            )
            assert tight.scale <= distance.scale * (1 + 1e-9)


def test_several_numbers_with_gaussian_noise_are_as_close_as_their_mahalanobis_distance() -> None:
    random = np.random.default_rng(14)
    for _ in range(20):
        asked = question(random, numbers=2, wide=30.0)
        mechanism = bp.TightMechanism(noise="gaussian", large_delta=True)
        noise = mechanism.calibrate(asked.framework, asked.query, epsilon=1.0, delta=1e-3).noise
        table = whole_table(asked)
        gap = table.answers @ table.slope * asked.apart
        spread = table.answers @ table.covariance @ table.answers.T + noise.scale**2 * np.eye(2)
        mu = math.sqrt(gap @ np.linalg.solve(spread, gap))
        delta = stats.norm.cdf(mu / 2 - 1 / mu) - math.e * stats.norm.cdf(-mu / 2 - 1 / mu)
        assert delta <= 1e-3


def test_the_largest_model_decides() -> None:
    def scale(*slopes: float) -> float:
        network = bp.types.GaussianNetwork.linear(
            {"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": np.array(slopes)}}, level="records"
        )
        schema = bp.Schema(records=50, columns={name: bp.Real(-100, 100) for name in "ab"})
        hidden = {"a": bp.Secret("mean(a)", pairs=bp.apart(at_most=0.1))}
        framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
        return bp.WassersteinMechanism().calibrate(framework, "mean(b)", 1.0).scale

    assert scale(0.5, -3.0, 1.0) == pytest.approx(scale(3.0), rel=1e-9)
    assert scale(3.0) > scale(0.5)


def test_a_column_that_the_secret_says_nothing_of_needs_no_noise() -> None:
    network = bp.types.GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, level="records")
    schema = bp.Schema(records=50, columns={name: bp.Real(-1, 1) for name in "ab"})
    hidden = {"a": bp.Secret("mean(a)", pairs=bp.apart(at_most=0.1))}
    framework = bp.DatasetAttributePrivacy(network, schema, hidden, source="invented")
    calibration = bp.TightMechanism().calibrate(framework, "mean(b)", 1.0)
    assert calibration.scale == 0
    assert calibration.certificate.kind == "exact"


def test_near_bounds_leave_only_noise_for_the_distance() -> None:
    asked = of_one_record(np.random.default_rng(15))
    near = replace(asked, framework=replace_bounds(asked.framework, 0.5))
    tight = calibrated(near, bp.TightMechanism(noise="gaussian", large_delta=True), 0.8, 0.01)
    far = calibrated(near, bp.WassersteinMechanism(noise="gaussian", large_delta=True), 0.8, 0.01)
    assert tight.scale == pytest.approx(far.scale)


def replace_bounds(framework: Any, wide: float) -> Any:
    columns = {**framework.schema.columns, "b": bp.Real(-wide, wide)}
    schema = bp.Schema(records=1, columns=columns)
    return bp.DatasetAttributePrivacy(framework.network, schema, framework.protect, source="invented")


def test_whatever_grids_do_to_answers_is_covered() -> None:
    """Steps of a third of the gap, which move answers under either secret wherever that tells most."""
    random = np.random.default_rng(16)
    for _ in range(3):
        asked = of_one_record(random)
        columns = {"a": bp.Real(-50, 50), "b": bp.Real(-30, 30, steps=int(random.integers(300, 3000)))}
        schema = bp.Schema(records=1, columns=columns)
        framework = bp.DatasetAttributePrivacy(
            asked.framework.network, schema, asked.framework.protect, source="invented"
        )
        coarse = replace(asked, framework=framework)
        slope, half = asked.covariance[0, 1], float(columns["b"].grid) / 2
        laws = [atoms_of(slope * value, math.sqrt(1 - slope**2), -30, 30) for value in asked.secret]
        for mechanism, delta in MECHANISMS:
            noise = calibrated(coarse, mechanism, 0.8, delta)
            for period in (2 * half, 0.5, 1e9):
                moved = []
                for sign, (points, masses) in zip((1, -1), laws, strict=True):
                    moved.append((points + sign * half * np.sign(np.sin(points / period + 0.1)), masses))
                assert holds(iter([(moved[0], moved[1])]), noise, 0.8, delta)
