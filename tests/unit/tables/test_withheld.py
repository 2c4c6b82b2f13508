"""Rows 1, 19 and 35: what an engine throws quotes no value, whatever class it has."""

from __future__ import annotations

import traceback

import pytest

from bnpriv.core.columns import Real
from bnpriv.core.queries.asked import mean
from bnpriv.core.queries.builtin import custom
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, QueryError
from bnpriv.tables.evaluate import evaluate, try_sensitivity
from tests.later import Later

pl = Later("polars")

SCHEMA = Schema(records=3, columns={"x": Real(0, 1)})
TABLE = {"x": [0.123456, 0.2, 0.3]}


class Panic(BaseException):
    """Like a panic of Polars, which is no Exception."""


def panics(table: object) -> object:
    raise Panic(str(table))


def test_row_35_a_panic_of_the_engine_is_withheld() -> None:
    with pytest.raises(DataError, match="withheld") as refused:
        evaluate(mean("x"), SCHEMA, pl.LazyFrame(TABLE).map_batches(panics))
    assert "0.123" not in "".join(traceback.format_exception(refused.value))


def test_row_35_a_panic_of_a_custom_query_is_withheld() -> None:
    query = custom(panics, columns=["x"], sensitivity=1)
    with pytest.raises(DataError, match="withheld") as refused:
        evaluate(query, SCHEMA, pl.DataFrame(TABLE))
    assert "0.123" not in "".join(traceback.format_exception(refused.value))
    with pytest.raises(QueryError, match="every table"):
        try_sensitivity(query, SCHEMA)


def test_who_stops_the_work_stops_it() -> None:
    def stopped(table: object) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(custom(stopped, columns=["x"], sensitivity=1), SCHEMA, pl.DataFrame(TABLE))
