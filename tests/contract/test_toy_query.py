"""A new query says which sums over records it is; sensitivity, laws, calibration and release follow from that alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import pytest

import bnpriv as bp
from bnpriv.core.queries.base import Indicator, Output, Query
from bnpriv.core.queries.predicates import Predicate
from tests.later import Later


class Quiet:
    """A sampler that adds nothing, so that the answer can be seen."""

    def laplace(self, values, scale):
        return tuple(values)

    gaussian = discrete_laplace = laplace


# the new query
@dataclass(frozen=True)
class Majority(Query):
    """By how many records one condition is met more often than another."""

    more: Predicate
    less: Predicate

    @property
    def columns(self) -> frozenset[str]:
        return self.more.columns | self.less.columns

    def outputs(self, schema: bp.Schema) -> tuple[Output, ...]:
        return (Output(str(self), ((Fraction(1), Indicator(self.more)), (Fraction(-1), Indicator(self.less)))),)

    def __str__(self) -> str:
        return f"majority({self.more}, {self.less})"


pd = Later("pandas")

STATES = ("low", "high")
SCHEMA = bp.Schema(records=2, columns={name: bp.Categorical(STATES) for name in ("a", "b")})
ASKED = Majority(bp.col("a") == "high", bp.col("b") == "high")
RECORDS = tuple(itertools.product(STATES, STATES))
TABLES = [pd.DataFrame(rows, columns=["a", "b"]) for rows in itertools.product(RECORDS, repeat=2)]


def answer(table) -> int:
    return int((table.a == "high").sum() - (table.b == "high").sum())


@pytest.mark.parametrize("moved", [("a",), ("b",), ("a", "b")])
def test_its_sensitivity_is_that_of_all_tables(moved: tuple[str, ...]) -> None:
    kept = [name for name in ("a", "b") if name not in moved]
    pairs = itertools.product(TABLES, repeat=2)
    most = max(abs(answer(x) - answer(y)) for x, y in pairs if x[kept].equals(y[kept]))
    assert bp.column_sensitivity(ASKED, set(moved), SCHEMA).upper == pytest.approx(most)


def test_it_is_planned_and_released() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[0.9, 0.2], [0.1, 0.8]]},
        states=dict.fromkeys(("a", "b"), STATES),
        parents={"b": ["a"]},
        level="records",
    )
    secret = bp.Secret(bp.count(bp.col("a") == "high"), pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(network, SCHEMA, protect={"a": secret}, source="a toy")
    plan = bp.plan(framework, ASKED, 1.0)
    names = {type(each.mechanism).__name__ for each in plan}
    assert {"TightMechanism", "WassersteinMechanism", "ColumnMechanism"} <= names
    for table in TABLES:
        assert bp.release(plan.of("ColumnMechanism"), table, sampler=Quiet()).value == answer(table)
