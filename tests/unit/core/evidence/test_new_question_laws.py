"""Exact laws of products, cells and binned counts, against the enumeration of all tables in fractions."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.queries.base import normal_form
from bnpriv.errors import Refusal

RECORDS = 3
SHARES = {"s": [3, 5], "x": [[5, 1, 2], [1, 3, 4]], "y": [[[1, 7], [6, 2]], [[4, 4], [3, 5]], [[2, 6], [7, 1]]]}
"""Eighths: of s; of x given s; of y given x and s."""

X, Y = (-1, 0, 1), (2, 5)
SCHEMA = bp.Schema(
    records=RECORDS, columns={"s": bp.Integer(0, 1), "x": bp.Integer(-1, 1), "y": bp.Real(2, 5, steps=6)}
)
Law = dict[tuple[float, ...], float]


def framework(secret: bp.Secret) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {
            "s": np.array(SHARES["s"]) / 8,
            "x": np.array(SHARES["x"]).T / 8,
            "y": np.moveaxis(np.array(SHARES["y"]), 2, 0) / 8,
        },
        states={"s": ["0", "1"], "x": list(map(str, X)), "y": list(map(str, Y))},
        parents={"x": ["s"], "y": ["x", "s"]},
        level="records",
    )
    return bp.DatasetAttributePrivacy(network, SCHEMA, {"s": secret}, source="a fixture")


def records() -> Iterator[tuple[int, int, int, Fraction]]:
    """Every record and its probability."""
    for s, (i, x), (j, y) in itertools.product((0, 1), enumerate(X), enumerate(Y)):
        yield s, x, y, Fraction(SHARES["s"][s] * SHARES["x"][s][i] * SHARES["y"][i][s][j], 8**3)


def of_table(name: str, table: tuple[tuple[int, int, int, Fraction], ...]) -> tuple[float, ...]:
    """The base of a question, by its definition."""
    n = len(table)
    if name == "covariance(x, y)":
        points = [(Fraction(x), y - Fraction(7, 2)) for _, x, y, _ in table]
        sums = (sum(x for x, _ in points), sum(y for _, y in points), sum(x * y for x, y in points))
        return tuple(float(each / n) for each in sums)
    if name == "variance(y)":
        away = [y - Fraction(7, 2) for _, _, y, _ in table]
        return float(sum(away) / n), float(sum(each**2 for each in away) / n)
    if name.startswith("crosstab"):
        cells = itertools.product((lambda x: x < 0, lambda x: x >= 0), (lambda y: y < 5, lambda y: y >= 5))
        return tuple(float(sum(one(x) and other(y) for _, x, y, _ in table)) for one, other in cells)
    if name.startswith("median"):
        return tuple(float(sum(x in chosen for _, x, _, _ in table)) for chosen in ((-1,), (0, 1)))
    return tuple(float(sum(y == 5 and x in chosen for _, x, y, _ in table)) for chosen in ((-1,), (0, 1)))


QUESTIONS = [
    "covariance(x, y)",
    "variance(y)",
    "crosstab(x [-1, 0, 1], y [2, 5, 6])",
    "median(x, [-1, 0, 1])",
    "count(y > 4) by x [-1, 0, 1]",
]


def enumerated(name: str, side: int) -> Law:
    """The law of the base over all tables whose records all have this value of s."""
    chosen, found = [each for each in records() if each[0] == side], defaultdict[tuple[float, ...], Fraction](Fraction)
    for table in itertools.product(chosen, repeat=RECORDS):
        found[of_table(name, table)] += math.prod((each[3] for each in table), start=Fraction(1))
    total = sum(found.values())
    return {point: float(p / total) for point, p in found.items() if p}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_law_of_records_on_one_side_is_that_of_all_such_tables(name: str) -> None:
    query = bp.parse_query(name)
    evidence = laws(framework(bp.Secret(bp.count(bp.col("s") == 1))), query)
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    assert constraint.record is not None
    pair = constraint.record.sums(RECORDS)
    shift = np.array([float(each) for each in normal_form(query, SCHEMA).offset])
    matched = [[_alike(law, enumerated(name, side), shift) for side in (0, 1)] for law in (pair.first, pair.second)]
    assert matched in ([[True, False], [False, True]], [[False, True], [True, False]])


def _alike(found: Atoms, truth: Law, shift: np.ndarray) -> bool:
    seen = dict(zip(map(tuple, np.round(found.points + shift, 9).tolist()), np.exp(found.logs), strict=True))
    rounded = {tuple(np.round(point, 9).tolist()): p for point, p in truth.items()}
    return seen.keys() == rounded.keys() and all(seen[at] == pytest.approx(p, rel=1e-9) for at, p in rounded.items())


def test_the_numbers_inside_bins_count_in_a_product() -> None:
    """A product tells the numbers of a bin apart, as a sum does."""
    y = bp.Binned([2, 4, 6], within="whole numbers")
    schema = bp.Schema(records=1, columns={"s": bp.Integer(0, 1), "x": bp.Integer(-1, 1), "y": y})
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [[0.5, 0.25], [0.25, 0.25], [0.25, 0.5]], "y": [[0.75, 0.25], [0.25, 0.75]]},
        states={"s": ["0", "1"], "x": list(map(str, X)), "y": list(y.labels)},
        parents={"x": ["s"], "y": ["s"]},
        level="records",
    )
    private = bp.DatasetAttributePrivacy(
        network, schema, {"s": bp.Secret(bp.count(bp.col("s") == 1))}, source="made up"
    )
    evidence, query = laws(private, bp.covariance("x", "y")), bp.covariance("x", "y")
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    assert constraint.record is not None
    pair, shift = constraint.record.sums(1), np.array([float(each) for each in normal_form(query, schema).offset])
    inside = {2: (3, 2), 3: (3, 2), 4: (1, 3), 5: (1, 3), 6: (1, 3)}  # the share with s = 0 in quarters; of how many
    truths = [
        {
            (float(x), float(v - 4), float(x * (v - 4))): of_x / 4 * (quarters if not s else 4 - quarters) / 4 / many
            for x, of_x in zip(X, ((2, 1, 1), (1, 1, 2))[s], strict=True)
            for v, (quarters, many) in inside.items()
        }
        for s in (0, 1)
    ]
    matched = [[_alike(law, truth, shift) for truth in truths] for law in (pair.first, pair.second)]
    assert matched in ([[True, False], [False, True]], [[False, True], [True, False]])
