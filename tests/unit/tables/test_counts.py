"""Row 45: many conditions on one column are counted in one pass, with the same answer as one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, histogram, mean, stack
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.queries.predicates import Col, Predicate, col
from bnpriv.core.schema import Schema
from bnpriv.errors import SizeError
from bnpriv.tables import evaluate as counts, evaluate as totals
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

duckdb = Later("duckdb")
dd = Later("dask.dataframe")
pd = Later("pandas")
pl = Later("polars")

ROWS = 6000
CATEGORIES = [f"c{k}" for k in range(80)]
SCHEMA = Schema(
    records=ROWS,
    columns={
        "x": Real(-3, 3, missing=0.25),
        "k": Integer(-50, 50, missing=7),
        "g": Categorical(CATEGORIES, missing="c3"),
        "d": Categorical(list(range(60))),
    },
)
EDGES = np.linspace(-3, 3, 101).tolist()
NEAR = [0.1, math.nextafter(0.1, 1), math.nextafter(0.1, 0), 0.0, 5e-324, -5e-324, 3.0, -3.0, 1e300, -1e300]


def table() -> pl.DataFrame:
    """Many values at the constants, and beside them."""
    random = np.random.default_rng(45)
    special = [*EDGES, *NEAR, -0.0, math.nan, math.inf, -math.inf, None, 4.0]
    drawn = random.choice(len(special), ROWS)
    x = [special[k] if random.random() < 0.7 else float(random.normal()) for k in drawn]
    return pl.DataFrame(
        {
            "x": pl.Series(x, dtype=pl.Float64),
            "k": pl.Series([None if v == 60 else int(v) for v in random.integers(-60, 61, ROWS)], dtype=pl.Int64),
            "g": pl.Series([None if v == 90 else f"c{v}" for v in random.integers(0, 91, ROWS)]),
            "d": pl.Series(
                [None if v == 0 else v / 2 for v in random.integers(-9, 130, ROWS).tolist()], dtype=pl.Float64
            ),
        }
    )


def conditions(column: Col, seed: int) -> list[Predicate]:
    random = np.random.default_rng(seed)
    found: list[Predicate] = []
    for _ in range(50):
        a, b, c = (float(value) for value in random.choice([*EDGES, *NEAR], 3))
        found += [
            (column >= min(a, b)) & (column < max(a, b)),
            ~(column == a) | (column > c),
            column.isin([a, b, c]),
            (column != a) & ~((column <= b) & (column >= c)),
        ]
    return found


QUERIES: dict[str, Query] = {
    "edges": histogram("x", EDGES),
    "whole": histogram("k", list(range(-50, 51))),
    "categories": histogram("g"),
    "numbers": histogram("d"),
    "odd": stack(*(count(condition) for condition in conditions(col("x"), 1))),
    "sets": stack(*(count(~col("g").isin([CATEGORIES[k], CATEGORIES[-k]])) for k in range(1, 50))),
    "mixed": stack(
        mean("x"),
        histogram("x", EDGES),
        count((col("x") > 0) & (col("k") > 0)),
        histogram("g"),
        count(col("k") >= 3),
        *(count(condition) for condition in conditions(col("k"), 2)),
    ),
}
ENGINES: dict[str, Callable[[pl.DataFrame], object]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas objects": lambda frame: frame.to_pandas().astype("object"),
    "dask": lambda frame: dd.from_pandas(frame.to_pandas(), npartitions=3),
    "duckdb": lambda frame: duckdb.sql("FROM frame"),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, tuple[Fraction, ...]]:
    """One condition after the other, by the engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "FEW_CONDITIONS", 10**9)
        return {name: evaluate(query, SCHEMA, table()).values for name, query in QUERIES.items()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", QUERIES)
def test_row_45_one_pass_counts_what_many_passes_count(name, engine, expected, monkeypatch):
    summed: list[int] = []
    plain = totals.integer_terms
    monkeypatch.setattr(totals, "integer_terms", lambda t, *rest: summed.append(len(t)) or plain(t, *rest))
    assert evaluate(QUERIES[name], SCHEMA, ENGINES[engine](table())).values == expected[name]
    assert max(summed, default=0) <= 4  # in each partition


@pytest.mark.parametrize("name", QUERIES)
def test_row_45_cells_are_found_by_nested_conditions_where_an_engine_has_no_search(name, expected, monkeypatch):
    """The road of Spark and Ibis, taken by an engine that is always there."""
    by_groups = lambda clean, terms, cells: totals._by_groups(  # noqa: E731
        clean.select(*terms, *(column.group(float).alias(f"g{k}") for k, column in enumerate(cells))), len(terms), cells
    )
    monkeypatch.setattr(totals, "_in_duckdb", by_groups)
    if counts.wide_columns(normal_form(QUERIES[name], SCHEMA).terms):
        assert evaluate(QUERIES[name], SCHEMA, ENGINES["duckdb"](table())).values == expected[name]


def test_row_45_too_many_bins_are_refused_where_an_engine_has_no_search(monkeypatch):
    monkeypatch.setattr(counts, "MOST_SEARCHED", 100)
    monkeypatch.setattr(totals, "_in_duckdb", lambda clean, terms, cells: [column.group(float) for column in cells])
    with pytest.raises(SizeError, match=r"at most 100 constants.*; found 101"):
        evaluate(QUERIES["edges"], SCHEMA, ENGINES["duckdb"](table()))


@pytest.mark.parametrize("name", QUERIES)
def test_all_parts_of_a_query_take_one_scan(name, expected):
    scans: list[int] = []
    lazy = table().lazy().map_batches(lambda frame: scans.append(len(frame)) or frame, streamable=False)
    assert evaluate(QUERIES[name], SCHEMA, lazy).values == expected[name]
    assert scans == [ROWS]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_row_45_files(suffix, expected, tmp_path):
    path = tmp_path / f"table.{suffix}"
    frame = table()
    frame.write_parquet(path) if suffix == "parquet" else duckdb.sql("FROM frame").write_csv(str(path))
    assert evaluate(QUERIES["mixed"], SCHEMA, path).values == expected["mixed"]


def test_row_45_bins_of_a_histogram_are_counted_as_in_plain_python(expected):
    values = [0.25 if v is None or math.isnan(v) else min(max(v, -3.0), 3.0) for v in table()["x"].to_list()]
    assert sum(expected["edges"]) == ROWS
    for bin_, (low, high) in enumerate(pairwise(EDGES)):
        last = bin_ == len(EDGES) - 2
        assert expected["edges"][bin_] == sum(low <= v < high or (last and v == high) for v in values)


def test_row_45_thousands_of_bins():
    edges = np.linspace(-3, 3, 3001)
    values = np.random.default_rng(1).normal(size=50_000)
    schema = Schema(records=len(values), columns={"x": Real(-3, 3)})
    frame = pd.DataFrame({"x": values})
    answer = evaluate(histogram("x", edges.tolist()), schema, frame).values
    assert np.array_equal(np.array(answer, dtype=float), np.histogram(np.clip(values, -3, 3), edges)[0])
