"""The check of rows in whole numbers, on the edge of what is allowed, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.mechanisms.optimal.program import Constraints, LawTable
from tests.channels import Law, exact_law, ratio_of


def worst(laws: list[tuple[Law, Fraction]], ways: list[tuple[int, int]], rows: np.ndarray, below: int, epsilon: float):
    """Return the least delta that serves all laws whose masses are off by their share, every mass on its bad side."""
    found = Fraction(0)
    for first, second in ways:
        (f, over), (g, under) = laws[first], laws[second]
        passed = [
            sum((f.get(float(x), 0) * (1 + over) * int(row[w]) for x, row in enumerate(rows)), Fraction(0))
            - ratio_of(epsilon)
            * sum((g.get(float(x), 0) * (1 - under) * int(row[w]) for x, row in enumerate(rows)), Fraction(0))
            for w in range(rows.shape[1])
        ]
        found = max(found, sum((each for each in passed if each > 0), Fraction(0)) / below)
    return found


@pytest.mark.parametrize("error", [0.0, 1e-9, 4e-4])
@pytest.mark.parametrize("seed", range(12))
def test_the_check_allows_what_holds_and_nothing_else(seed, error):
    """Rows 8, 14: a delta that is too small by a share of 1e-9 is refused, one that is enough is taken."""
    rng = np.random.default_rng(seed)
    size, outputs, below = int(rng.integers(2, 6)), int(rng.integers(2, 5)), int(rng.integers(7, 2**20))
    epsilon = float(rng.choice([0.05, 0.3, 1.0, 4.0]))
    drawn = [
        Atoms.from_logs(range(size), np.log(rng.dirichlet(np.full(size, 0.6))), error * float(rng.uniform(0.5, 1)))
        for _ in range(3)
    ]
    pairs = [LawPair(pair="a pair", first=drawn[k], second=drawn[k + 1], rounding=0.0) for k in range(2)]
    table = LawTable.of(pairs)
    rows = rng.multinomial(below, rng.dirichlet(np.full(outputs, 0.5)), size=size)
    rows[0] = [below, *[0] * (outputs - 1)]
    rows[-1] = [*[0] * (outputs - 1), below]
    ways = [(0, 1), (1, 0), (1, 2), (2, 1)]
    true = [(exact_law(law), Fraction(law.error)) for law in drawn]
    wide = [(law, 2 * share + Fraction(1, 10**13)) for law, share in true]
    least, enough = worst(true, ways, rows, below, epsilon), worst(wide, ways, rows, below, epsilon)
    if least:
        assert least < enough < least * (1 + 1e-3) + Fraction(1, 500)
        assert not Constraints(table, epsilon, float(least * (1 - Fraction(1, 10**9)))).hold(rows.astype(object), below)
        assert not Constraints(table, epsilon, 0.0).hold(rows.astype(object), below)
    if enough < 1 - Fraction(1, 10**6):
        delta = float(enough * (1 + Fraction(1, 10**9)))
        assert Constraints(table, epsilon, delta).hold(rows.astype(object), below)
    unit = np.eye(size, dtype=int)
    unchanged = worst(true, ways, unit, 1, epsilon)
    if unchanged:
        assert not Constraints(table, epsilon, float(unchanged * (1 - Fraction(1, 10**9)))).hold_unchanged()
    if worst(wide, ways, unit, 1, epsilon) < 1 - Fraction(1, 10**6):
        delta = float(worst(wide, ways, unit, 1, epsilon) * (1 + Fraction(1, 10**9)))
        assert Constraints(table, epsilon, delta).hold_unchanged()
