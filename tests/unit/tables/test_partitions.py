"""Dask tables are summed partition by partition, and never reach narwhals, which leaves Dask to another package."""

from __future__ import annotations

import functools
import warnings

import narwhals as nw
import pytest

import bnpriv as queries
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

dd = Later("dask.dataframe")
pd = Later("pandas")

ROWS = 101
SCHEMA = Schema(records=ROWS, columns={"x": Real(0, 8), "k": Integer(0, 6), "c": Categorical(["a", "b"], missing="b")})
QUERIES = [
    queries.stack(queries.mean("x"), queries.total("k"), queries.count(queries.col("c") == "b")),
    queries.histogram("x", [edge / 10 for edge in range(81)]),
    queries.custom(
        lambda table: (table["x"] * (table["c"] == "b")).sum() + table["k"].iloc[3],
        columns=["x", "c", "k"],
        sensitivity=1e6,
    ),
]


@functools.cache
def whole_table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "x": [(k * 0.37) % 11 - 2 if k % 7 else float("nan") for k in range(ROWS)],
            "k": pd.array([k % 9 if k % 5 else None for k in range(ROWS)], dtype="Int64"),
            "c": [("a", "b", None, "z")[k % 4] for k in range(ROWS)],
            "unread": range(ROWS),
        }
    )


@pytest.mark.parametrize("query", QUERIES, ids=["sums", "bins", "custom"])
@pytest.mark.parametrize("pieces", [1, 4, 37])
def test_partitions_add_up_without_narwhals(monkeypatch, query, pieces: int) -> None:
    wanted = evaluate(query, SCHEMA, whole_table()).values
    table = dd.from_pandas(whole_table(), npartitions=pieces)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # that narwhals will leave Dask to another package
        held = nw.from_native(table)
    known = nw.from_native

    def never(native: object, *args: object, **kwargs: object) -> object:
        assert not type(native).__module__.startswith("dask"), "narwhals saw a Dask table"
        return known(native, *args, **kwargs)

    monkeypatch.setattr(nw, "from_native", never)
    assert evaluate(query, SCHEMA, table).values == wanted
    assert evaluate(query, SCHEMA, held).values == wanted


def test_a_type_per_partition() -> None:
    first, second = pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": ["3.5", None]})
    table = dd.from_map(lambda part: part, [first, second], meta=pd.DataFrame({"x": pd.Series(dtype=object)}))
    schema = Schema(records=4, columns={"x": Integer(0, 9, missing=0)})
    assert evaluate(queries.total("x"), schema, table) == evaluate(
        queries.total("x"), schema, pd.concat([first, second])
    )


def test_refusals_are_those_of_other_tables() -> None:
    table = dd.from_pandas(whole_table(), npartitions=3)
    with pytest.raises(DataError, match="must have one column 'y'; found none"):
        evaluate(queries.total("y"), Schema(records=ROWS, columns={"y": Real(0, 1)}), table)
    with pytest.raises(DataError, match="row count is not the declared n"):
        evaluate(queries.total("x"), Schema(records=ROWS + 1, columns={"x": Real(0, 1)}), table)
    broken = table.map_partitions(lambda part: 1 / 0, meta=whole_table())
    with pytest.raises(DataError, match="withheld") as refused:
        evaluate(queries.total("x"), SCHEMA, broken)
    assert refused.value.__context__ is None
