"""A query may be given as its text, wherever one is taken; what is no query is refused with what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.queries.asked import as_query

TEXT = "count(height > 180)"
QUERY = bp.count(bp.col("height") > 180)
STUDENT = bp.example("student")
PAIR = (bp.laws.Atoms([0, 1], [0.5, 0.5]), bp.laws.Atoms([0, 1], [0.4, 0.6]))
MARKOV = bp.MarkovQuiltMechanism()

VERBS: dict[str, Callable[[Any], object]] = {
    "plan": lambda query: bp.plan(STUDENT, query, 1.0).text,
    "calibrate": lambda query: MARKOV.calibrate(STUDENT, query, 1.0).to_json(),
    "supports": lambda query: MARKOV.supports(STUDENT, query, 1.0),
    "influence_report": lambda query: bp.influence_report(STUDENT, query, 1.0).text,
    "leaks of a network": lambda query: bp.leaks(STUDENT.network, query).text,
    "leaks of a framework": lambda query: bp.leaks(STUDENT, query).text,
    "compare": lambda query: bp.compare(STUDENT, STUDENT, query).text,
    "tradeoff": lambda query: bp.tradeoff(STUDENT, query, [0.5, 1.0]).text,
    "column_sensitivity": lambda query: bp.column_sensitivity(query, {"height"}, STUDENT.schema),
    "stack": lambda query: bp.stack(query, "mean(sat)"),
    "a secret": lambda query: str(bp.Secret(query)),
    "distribution privacy": lambda query: bp.DistributionPrivacy(
        [PAIR], query=query, schema=STUDENT.schema, source="a textbook"
    ).fingerprint(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_query_may_be_its_text(verb: str) -> None:
    assert VERBS[verb](TEXT) == VERBS[verb](QUERY)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (bp.col("body-height"), "found the column 'body-height'. Ask for its mean, mean(`body-height`), or compare it"),
        (bp.col("height") > 3, "found a condition. Count the records for which it holds: count(height > 3)."),
        (bp.count, "found the function count. Call it. Write for example count(col("),
        (bp.types.Query, "found the class Query. Call it. Write for example count(col("),
        (1.0, "found a float. The query comes first, then epsilon and delta."),
        (np.float64(1), "found a float64. The query comes first, then epsilon and delta."),
        (["height"], "found a list. Write for example count(col("),
        ("heigt > 180", "a query's text needs one of the queries count, "),
    ],
    ids=["column", "condition", "function", "class", "number", "NumPy's number", "list", "condition as text"],
)
def test_what_is_no_query_is_refused_with_what_was_meant(verb: str, asked: object, says: str) -> None:
    with pytest.raises(bp.errors.QueryError) as refused:
        VERBS[verb](asked)
    assert says in str(refused.value)


def test_a_query_is_itself() -> None:
    assert as_query(QUERY) is QUERY
    assert as_query(TEXT) == QUERY
