"""What a private table would be like, told beforehand: against simulated tables."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.tables.private_table.private_table import TableBeside, expected_error, plan_table, table_beside
from tests.unit.tables.private_table.test_rule import ILL, SCHEMA, framework, network

QUERIES = ['count(smokes == "yes")', 'count(ill == "yes")', "histogram(smokes)"]


@pytest.mark.parametrize(("form", "delta"), [("fill", 0.0), ("trim", 1e-4)])
def test_expected_errors_are_those_of_simulated_tables(form: str, delta: float) -> None:
    declared = framework(network(), records=2_000)
    planned = plan_table(declared, 1.0, delta, queries=QUERIES)
    said = dict(zip(QUERIES, planned.errors[form], strict=True))  # type: ignore[index]
    errors: dict[str, list[float]] = {query: [] for query in QUERIES}
    runs = 120
    for seed in range(runs):
        table = bp.simulate(declared, seed=seed)
        made = bp.private_table(declared, table, 1.0, delta, form, records_may_be_seen=True)
        assert made.rule.form == form
        for query in QUERIES:
            exact = bp.ColumnMechanism().calibrate(declared, query, epsilon=1.0)
            true = [float(x) for x in _answer(exact.query, table)]
            errors[query].append(math.dist(made.answer(query), true))  # type: ignore[union-attr]
    for query, found in errors.items():
        # rare large errors may be missing from all runs: then the spread that was seen is too small
        spread = max(float(np.std(found)), said[query]) / math.sqrt(runs)
        assert abs(float(np.mean(found)) - said[query]) < 5 * spread + 0.03 * said[query], query


def _answer(query: bp.types.Query, table: object) -> tuple[object, ...]:
    from bnpriv.tables.evaluate import evaluate

    return evaluate(query, framework(network(), records=2_000).schema, table).values


def test_what_is_left_out_and_made_up() -> None:
    planned = plan_table(framework(network()), 1.0, 1e-6)
    assert planned.best.form == "trim"
    assert planned.left_out("trim") == 2 * 137
    assert planned.made_up("trim") == 0
    assert planned.left_out("fill") == pytest.approx(10, rel=0.01)
    assert planned.made_up("fill") == pytest.approx(10, rel=0.01)
    assert repr(planned) == "TablePlan(fill, trim)"


def test_a_plan_without_a_model_has_no_errors() -> None:
    planned = plan_table(ILL, 1.0, 1e-6, queries=QUERIES, schema=SCHEMA)
    assert planned.errors == {}
    assert planned.best.form == "trim"
    assert "fill" in planned.text


def test_a_plan_says_why_nothing_can_be_done() -> None:
    planned = plan_table(ILL, 1.0, schema=SCHEMA)
    assert repr(planned) == "TablePlan(no form)"
    assert "No private table of this kind" in planned.text
    with pytest.raises(RefusedError):
        _ = planned.best
    assert json.loads(planned.to_json())["data"]["forms"][0]["refused"]


def test_an_error_is_infinite_where_a_class_may_be_empty() -> None:
    from bnpriv.tables.private_table.made_up import moments

    declared = framework(network(0.02))
    planned = plan_table(declared, 1.0, 1e-6)
    rule = planned.forms["trim"]
    assert not isinstance(rule, bp.errors.Refusal)
    known = moments(declared, bp.parse_query(QUERIES[0]), rule.classes.predicates)
    assert expected_error(rule, known) == math.inf


def test_a_plan_of_releases_names_the_private_table() -> None:
    plan = bp.plan(framework(network()), QUERIES[0], 1.0)
    assert isinstance(plan.table, TableBeside)
    assert "Hand on a table instead" in plan.text
    assert plan.table.error == pytest.approx(
        plan_table(framework(network()), 1.0, queries=QUERIES[:1]).errors["fill"][0]
    )
    data = json.loads(plan.to_json())["data"]["private_table"]
    assert data["form"] == "fill"
    assert data["error"] == plan.table.error
    report = bp.influence_report(framework(network()), QUERIES[0], 1.0)
    assert "Hand on a table instead" in report.text


def test_other_notions_have_no_table_beside() -> None:
    student = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), 1.0)
    assert student.table is None
    assert table_beside(student.best) is None
    assert "private_table" not in json.loads(student.to_json())["data"]


def test_queries_that_are_none_are_refused() -> None:
    with pytest.raises(ParameterError, match="queries are listed"):
        bp.plan_table(bp.example("hospital"), 1.0, queries=5)  # type: ignore[arg-type]
