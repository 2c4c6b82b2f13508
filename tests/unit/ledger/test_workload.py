"""Workloads: rows against evaluated tables, exact errors against draws, and answers that hold together."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import DataError, ParameterError, RefusedError
from bnpriv.ledger.split import shares
from bnpriv.ledger.workload import QueryMatrix, estimator, mean_errors, tables, within
from bnpriv.tables.evaluate import evaluate

HOSPITAL, DATA = bp.example("hospital"), bp.example_data("hospital")
MIXED = [
    bp.parse_query(text)
    for text in (
        "crosstab(disease, ward)",
        "histogram(ward)",
        "mean(days)",
        "histogram(days, [1, 4, 13])",
        'count(ward == "lungs" & smoker == "yes")',
        'count(days > 5 | ward == "lungs")',
        'proportion(~(smoker == "yes"))',
        "variance(days)",
    )
]


@pytest.fixture
def session(tmp_path: Path) -> bp.Session:
    return bp.Session(HOSPITAL, DATA, budget=1.0, ledger=tmp_path / "ledger.db")


def test_rows_say_what_queries_evaluate_to() -> None:
    """On a table whose unknown counts are found from the tables, all other queries follow to the last digits."""
    schema = HOSPITAL.schema
    asked = [*MIXED, *tables(schema, MIXED)]
    matrix = QueryMatrix(schema=schema, queries=asked)
    for query in asked:
        matrix.rows(query)
    constants, rows = matrix.matrix(asked)
    assert np.linalg.matrix_rank(rows) < len(rows) - 10
    exact = np.array([float(value) for query in asked for value in evaluate(query, schema, DATA).values])
    found = np.linalg.lstsq(rows, exact - constants, rcond=None)[0]
    assert rows @ found + constants == pytest.approx(exact, abs=1e-6)


def test_edges_of_tables_are_where_conditions_change() -> None:
    schema = bp.Schema(records=9, columns={"x": bp.Real(0, 10), "k": bp.Integer(0, 9, missing="not counted")})
    asked = [bp.parse_query(text) for text in ("count(x > 5)", "count(k >= 3 & x == 10)", "count(k != 9)")]
    assert [str(each) for each in tables(schema, asked)] == [
        "crosstab(k [0, 3, 9, 10], x [0.0, 5.000000000000001, 10.0, 11.0])",
        "histogram(k, [0, 3, 9, 10])",
        "histogram(x, [0.0, 5.000000000000001, 10.0, 11.0])",
    ]


@pytest.mark.parametrize("seed", range(6))
def test_the_best_linear_answers_have_the_least_variance_and_exact_mean_errors(seed: int) -> None:
    rng = np.random.default_rng([29, seed])
    asked, wanted = rng.integers(-2, 3, (7, 4)).astype(float), rng.integers(-2, 3, (3, 4)).astype(float)
    scales = rng.uniform(0.5, 3, 7)
    if seed % 2:
        scales[0] = 0.0
    found = estimator(wanted, asked, scales)
    assert found is not None
    assert found @ asked == pytest.approx(wanted, abs=1e-9)
    least = ((found * scales) ** 2).sum(axis=1)
    null = np.linalg.svd(asked.T)[2][np.linalg.matrix_rank(asked) :]
    for _ in range(50):
        other = found + rng.normal(0, 0.1, (3, len(null))) @ null
        assert np.all(((other * scales) ** 2).sum(axis=1) >= least * (1 - 1e-9))
    drawn = np.abs(rng.laplace(size=(200_000, 7)) * scales @ found.T).mean(axis=0)
    assert mean_errors(found, scales) == pytest.approx(drawn, rel=0.02)


def test_what_is_not_asked_has_no_answer() -> None:
    assert estimator(np.eye(2), np.array([[1.0, 1.0]]), np.ones(1)) is None


@pytest.mark.parametrize("seed", range(6))
def test_answers_in_their_ranges_are_nearest_and_keep_sums(seed: int) -> None:
    rng = np.random.default_rng([2929, seed])
    asked = np.concatenate([np.eye(4), np.ones((1, 4))])
    found = estimator(asked, asked, np.ones(5))
    assert found is not None
    values = asked @ rng.normal(0, 3, 4)
    lower, upper = np.zeros(5), np.array([5.0, 5, 5, 5, 20])
    inside = within(values, found, lower, upper)
    assert np.all(inside >= lower)
    assert np.all(inside <= upper)
    assert inside[:4].sum() == pytest.approx(inside[4], abs=1e-9)
    for _ in range(300):  # no other consistent answers in the ranges need less change
        other = asked @ rng.uniform(0, 5, 4)
        assert np.sum((other - values) ** 2) >= np.sum((inside - values) ** 2) * (1 - 1e-9)


@pytest.mark.unhurried
def test_all_two_way_tables_err_at_most_two_thirds_of_independent_ones(session: bp.Session) -> None:
    columns = ("age_group", "smoker", "disease", "ward", "inhaler")
    asked = [bp.crosstab(*pair) for pair in itertools.combinations(columns, 2)]
    chosen = session.workload(asked)
    assert session.remaining == 1.0
    assert len(chosen.queries) == len(asked)
    alone = [bp.TightMechanism().calibrate(HOSPITAL, query, epsilon=1.0 / len(asked)) for query in asked]
    independent = sum(each.scale * shares(each.query, HOSPITAL.schema).sum() for each in alone)
    assert chosen.error <= independent * 2 / 3
    answers = session.release_workload(chosen, key="tables")
    assert session.history.spent == chosen.split.total
    assert session.remaining < 1e-6
    for answer in answers:
        assert min(answer.values) >= 0
        assert sum(answer.values) == pytest.approx(HOSPITAL.schema.records, abs=1e-6)
    wards = [np.reshape(each.values, (2, 5)).sum(axis=0) for each in (answers[5], answers[7])]
    assert wards[0] == pytest.approx(wards[1], abs=1e-6)
    with pytest.raises(RefusedError, match="must fit"):
        session.release_workload(chosen)
    assert [each.values for each in session.release_workload(chosen, key="tables")] == [each.values for each in answers]
    assert "age_group" in chosen.text


@pytest.mark.unhurried
def test_overlapping_counts_are_asked_apart_and_added(session: bp.Session) -> None:
    wards = ("surgery", "internal", "lungs", "children", "other")
    asked = [bp.count(bp.col("ward").isin(each)) for each in itertools.combinations(wards, 2)]
    chosen = session.workload(asked)
    assert chosen.error < 0.9 * chosen.alone
    assert len({column for each in chosen.calibrations for column in each.query.columns}) == 1


@pytest.mark.unhurried
def test_a_count_and_its_complement_are_asked_once(session: bp.Session) -> None:
    chosen = session.workload(["count(age_group == 'old')", "count(age_group != 'old')"])
    (asked,) = chosen.calibrations
    assert asked.query.dimension(HOSPITAL.schema) == 1
    once = bp.TightMechanism().calibrate(HOSPITAL, "count(age_group == 'old')", epsilon=1.0)
    assert chosen.errors.tolist() == pytest.approx([once.scale] * 2, rel=1e-6)
    old, others = (answer.value for answer in session.release_workload(chosen))
    assert old + others == pytest.approx(HOSPITAL.schema.records)


@pytest.mark.unhurried
def test_answers_are_of_the_releases_of_a_workload(session: bp.Session) -> None:
    chosen = session.workload(MIXED[1:4], budget=0.5)
    other = session.release("mean(days)", epsilon=0.1)
    with pytest.raises(ParameterError, match="own calibrations"):
        chosen.answers([other])
    answers = session.release_workload(chosen)
    assert answers[1].value == answers[1].values[0]
    assert "(mean error at most " in str(answers[1])
    assert "Release them in any order" not in chosen.text
    assert sum(answers[0].values) == pytest.approx(HOSPITAL.schema.records)


@pytest.mark.unhurried
def test_a_workload_counts_by_quilts_too(tmp_path: Path) -> None:
    clinic = bp.example("clinic")
    session = bp.Session(clinic, bp.example_data("clinic"), budget=2.0, ledger=tmp_path / "ledger.db")
    value = bp.col("liver_enzyme")
    chosen = session.workload([bp.count(value > 20), bp.count(value > 40), bp.count((value > 20) & (value <= 40))])
    assert chosen.error <= chosen.alone
    first, second, between = (answer.values[0] for answer in session.release_workload(chosen))
    assert first - second == pytest.approx(between, abs=1e-6)


@pytest.mark.parametrize("key", [None, "two"])
def test_no_part_of_a_workload_is_charged_where_a_later_one_is_refused(tmp_path: Path, key: str | None) -> None:
    asked = ["mean(days)", 'count(smoker == "yes")', 'count(disease == "yes")']
    session = bp.Session(HOSPITAL, DATA, budget=1.0, ledger=tmp_path / "useless.db")
    chosen = session.workload(asked, budget=0.9)
    *others, last = chosen.calibrations
    worse = last.mechanism.calibrate(HOSPITAL, last.query, epsilon=1e-4)
    assert worse.useful.verdict == "useless"
    chosen = replace(chosen, split=replace(chosen.split, calibrations=(*others, worse)))
    with pytest.raises(RefusedError, match="must say something") as refused:
        session.release_workload(chosen, key=key)
    assert session.spent == 0
    assert "even_if_useless=True" in str(refused.value)
    assert len(session.release_workload(chosen, key=key, even_if_useless=True)) == 3
    if key is not None:  # what was charged before is given again
        spent = session.spent
        assert len(session.release_workload(chosen, key=key)) == 3
        assert session.spent == spent
    import pandas as pd

    table = pd.read_parquet(DATA).drop(columns=["smoker"])
    without = bp.Session(HOSPITAL, table, budget=1.0, ledger=tmp_path / "column.db")
    with pytest.raises(DataError, match="smoker"):
        without.release_workload(without.workload(asked[:2], budget=0.5), key=key)
    assert without.spent == 0


def test_a_workload_has_a_type_and_a_key_of_text(session: bp.Session) -> None:
    chosen = session.workload(["mean(days)"], budget=0.1)
    for other in (None, 5, "mean(days)", chosen.split):
        with pytest.raises(ParameterError, match="a workload is released"):
            session.release_workload(other)  # type: ignore[arg-type]
    for key in ("", 5, True):
        with pytest.raises(ParameterError, match="key"):
            session.release_workload(chosen, key=key)  # type: ignore[arg-type]
    assert session.spent == 0


def test_a_workload_that_is_a_little_too_large_is_refused_whole(session: bp.Session) -> None:
    """Each of its parts would fit by itself: none may be charged."""
    chosen = session.workload(["mean(days)", 'count(smoker == "yes")'], budget=0.7)
    session.release("count(days >= 8)", epsilon=0.4)
    spent = session.spent
    with pytest.raises(RefusedError, match="must fit into the budget"):
        session.release_workload(chosen)
    assert session.spent == spent


def test_no_more_is_planned_than_what_is_left(session: bp.Session) -> None:
    session.release("count(days >= 8)", epsilon=0.4)
    for made in (session.plan(["mean(days)"], budget=0.9), session.workload(["mean(days)"], budget=0.9).split):
        assert made.limit == 1
        assert made.total <= 1


def test_questions_that_do_not_depend_on_the_data_are_a_workload(session: bp.Session) -> None:
    chosen = session.workload(["count(days >= 0)"], budget=0.1)
    assert chosen.errors.tolist() == [0]
    assert [each.value for each in session.release_workload(chosen, even_if_useless=True)] == [HOSPITAL.schema.records]


def test_what_is_spent_is_said_where_too_little_is_left(tmp_path: Path) -> None:
    small = bp.Session(HOSPITAL, DATA, budget=1e-9, ledger=tmp_path / "ledger.db")
    with pytest.raises(RefusedError, match="epsilon 0 of 1e-09 is spent"):
        small.plan(["mean(days)"])
