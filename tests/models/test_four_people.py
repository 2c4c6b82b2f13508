"""The example four-people: all tables of four records, enumerated in plain Python, against what the library says."""

from __future__ import annotations

import math
import runpy
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import Constraint, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.transport import w_infinity
from bnpriv.io.examples import example_path
from tests.later import Later

duckdb = Later("duckdb")

N = 4
CORNERS = tuple(product((0.2, 0.3), (0.6, 0.7)))
PAIRS = [(a, b) for a in range(N + 1) for b in range(a + 1, N + 1)]
ONES = bp.count(bp.col("x2") == 1)


@cache
def framework() -> bp.DatasetAttributePrivacy:
    found = bp.example("four-people")
    assert isinstance(found, bp.DatasetAttributePrivacy)
    return found


@cache
def enumerated(p0: float, p1: float) -> tuple[tuple[float, ...], ...]:
    """Return P(F = f | g = s), row s, from all 4^4 tables and a prior of x1 that is not the one of the files."""
    prior, joint = (0.65, 0.35), [[0.0] * (N + 1) for _ in range(N + 1)]
    for table in product(product((0, 1), repeat=2), repeat=N):
        chance = math.prod(prior[x1] * ((p0, p1)[x1] if x2 else 1 - (p0, p1)[x1]) for x1, x2 in table)
        joint[sum(x1 for x1, _ in table)][sum(x2 for _, x2 in table)] += chance
    return tuple(tuple(value / math.fsum(row) for value in row) for row in joint)


def moved(f: tuple[float, ...], g: tuple[float, ...]) -> int:
    """Return the least w for which no set of answers has more mass under f than its neighbours under g (Strassen)."""
    sets = [[k for k in range(N + 1) if bits >> k & 1] for bits in range(1, 2 ** (N + 1))]
    for w in range(N + 1):
        near = ({y for x in some for y in range(N + 1) if abs(x - y) <= w} for some in sets)
        if all(sum(f[x] for x in some) <= sum(g[y] for y in ys) + 1e-12 for some, ys in zip(sets, near, strict=True)):
            return w
    raise AssertionError


def loss(f: tuple[float, ...], g: tuple[float, ...], scale: float) -> float:
    """Return the largest log ratio after Laplace noise; it is reached at an atom."""

    def density(law: tuple[float, ...], w: int) -> float:
        return math.fsum(mass * math.exp(-abs(w - x) / scale) for x, mass in enumerate(law))

    return max(abs(math.log(density(f, w) / density(g, w))) for w in range(N + 1))


def evidence() -> Laws:
    found = laws(framework(), ONES)
    assert not isinstance(found, bp.errors.Refusal)
    return found


def constraint(model: int) -> Constraint:
    (found,) = [each for each in evidence().constraints() if each.model == model]
    return found


@pytest.mark.parametrize("model", range(4))
def test_the_laws_are_those_of_all_tables(model: int) -> None:
    pairs = constraint(model).pairs
    assert not isinstance(pairs, bp.errors.Refusal)
    assert len(pairs) == len(PAIRS)
    expected = enumerated(*CORNERS[model])
    for pair in pairs:
        a, b = (int(part) for part in pair.pair.split(" against "))
        for law, row in ((pair.first, expected[a]), (pair.second, expected[b])):
            assert isinstance(law, Atoms)
            assert law.support.tolist() == list(range(N + 1))
            assert np.exp(law.logs) == pytest.approx(row, abs=1e-14)


@pytest.mark.parametrize("corner", CORNERS)
def test_w_infinity_is_the_least_distance_that_any_set_allows(corner: tuple[float, float]) -> None:
    table = enumerated(*corner)
    for a, b in PAIRS:
        f, g = (Atoms(range(N + 1), table[s]) for s in (a, b))
        assert w_infinity(f, g).upper == moved(table[a], table[b]) == moved(table[b], table[a])


def test_noise_is_as_enumerated() -> None:
    worst = max(moved(enumerated(*corner)[a], enumerated(*corner)[b]) for corner in CORNERS for a, b in PAIRS)
    assert worst == 3
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        wasserstein = bp.WassersteinMechanism().calibrate(framework(), ONES, epsilon=epsilon).scale
        assert wasserstein == pytest.approx(worst / epsilon, rel=1e-9)
        tight = bp.TightMechanism().calibrate(framework(), ONES, epsilon=epsilon).scale
        tables = [enumerated(*corner) for corner in CORNERS]
        reached = max(loss(table[a], table[b], tight) for table in tables for a, b in PAIRS)
        assert reached == pytest.approx(epsilon, abs=1e-9)
        assert reached <= epsilon + 1e-13
        assert tight < wasserstein


def test_the_inside_of_the_intervals_needs_no_more_than_the_corners() -> None:
    grid = list(product(np.linspace(0.2, 0.3, 21).tolist(), np.linspace(0.6, 0.7, 21).tolist()))
    corners = {(a, b): max(moved(enumerated(*c)[a], enumerated(*c)[b]) for c in CORNERS) for a, b in PAIRS}
    scales = {e: bp.TightMechanism().calibrate(framework(), ONES, epsilon=e).scale for e in (0.5, 2.0)}
    for point in grid:
        table = enumerated(*point)
        for epsilon, scale in scales.items():
            assert max(loss(table[a], table[b], scale) for a, b in PAIRS) <= epsilon + 1e-12
    for point in grid[::8]:
        table = enumerated(*point)
        assert all(moved(table[a], table[b]) <= far for (a, b), far in corners.items())


def test_the_page_prints_the_laws_and_the_scales() -> None:
    text = (example_path("four-people").parent / "README.md").read_text(encoding="utf-8")
    for p0, p1 in CORNERS:
        for s, row in enumerate(enumerated(p0, p1)):
            assert f"| {p0} | {p1} | {s} | " + " | ".join(f"{value:.4f}" for value in row) + " |" in text
    scales = [bp.TightMechanism().calibrate(framework(), ONES, epsilon=e).scale for e in (0.5, 1.0, 2.0, 4.0)]
    assert "| tight | " + " | ".join(f"{scale:.3f}" for scale in scales) + " |" in text


def test_the_query_and_the_table() -> None:
    assert list(bp.read_queries(example_path("four-people"))) == ["ones"]
    stored = duckdb.sql(f"SELECT * FROM read_parquet('{bp.example_data('four-people')}')").df()
    made = runpy.run_path(str(Path(example_path("four-people")).parent / "simulate.py"))["simulate"]()
    assert stored.equals(made)
    assert len(stored) == framework().schema.records
    calibration = bp.TightMechanism().calibrate(framework(), ONES, epsilon=1.0)
    assert len(np.atleast_1d(bp.release(calibration, stored).value)) == 1


def test_further_apart_means_more_to_move() -> None:
    table = enumerated(0.2, 0.7)
    far = [moved(table[0], table[s]) for s in range(N + 1)]
    assert all(a <= b for a, b in pairwise(far))
    assert far == [0, 1, 2, 2, 3]
