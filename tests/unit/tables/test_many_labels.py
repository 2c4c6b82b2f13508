"""Evaluation with hundreds of labels, values, bins and rows: every one of them counts, wherever it stands."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

duckdb = Later("duckdb")
pa = Later("pyarrow")
pd = Later("pandas")
pl = Later("polars")

SIZE = 300
RAW = [f"country {k}" for k in range(SIZE)]


def tables(columns: dict[str, list[object]]):
    """Yield the same table in four engines."""
    yield pd.DataFrame(columns)
    yield pl.DataFrame(columns)
    yield pa.table(columns)
    frame = pa.table(columns)
    yield duckdb.from_arrow(frame)


@pytest.mark.parametrize("missing", ["us", "other"])
def test_every_raw_label_of_a_category_counts(missing: str) -> None:
    column = bp.Categorical(["us", "other"], coarsen={"other": RAW}, missing=missing)
    rows = [*RAW, "us", "us", "unheard of", None]
    others = len(RAW) + 2 * (missing == "other")
    schema = bp.Schema(records=len(rows), columns={"c": column})
    for table in tables({"c": rows}):
        assert evaluate(bp.count(bp.col("c") == "other"), schema, table).values == (others,)
        assert evaluate(bp.count(bp.col("c") != "other"), schema, table).values == (len(rows) - others,)
        assert evaluate(bp.count(bp.col("c").isin(["us"])), schema, table).values == (len(rows) - others,)


@pytest.mark.parametrize("kind", [str, int])
def test_every_category_of_hundreds_is_counted(kind: type) -> None:
    """The k-th category occurs k + 1 times modulo 7."""
    categories = [f"c{k:03}" if kind is str else 7 * k for k in range(SIZE)]
    times = [1 + k % 7 for k in range(SIZE)]
    rows = [category for category, each in zip(categories, times, strict=True) for _ in range(each)]
    schema = bp.Schema(records=len(rows), columns={"c": bp.Categorical(categories)})
    odd = categories[1::2]
    for table in tables({"c": rows}):
        assert evaluate(bp.histogram("c"), schema, table).values == tuple(times)
        assert evaluate(bp.count(bp.col("c").isin(odd)), schema, table).values == (sum(times[1::2]),)
        assert evaluate(bp.count(~bp.col("c").isin(odd)), schema, table).values == (sum(times[::2]),)


def test_every_bin_of_hundreds_is_counted() -> None:
    """Numbers at both ends of all bins, and between them."""
    edges = list(range(SIZE + 1))
    rows = [value for k in edges[:-1] for value in (float(k), k + 0.25, np.nextafter(k + 1, 0))] + [float(SIZE)]
    schema = bp.Schema(records=len(rows), columns={"x": bp.Real(0, SIZE, steps=SIZE * 4)})
    expected = Counter(min(int(value), SIZE - 1) for value in rows)
    for table in tables({"x": rows}):
        answer = evaluate(bp.histogram("x", edges), schema, table)
        assert answer.values == tuple(expected[k] for k in range(SIZE))


def test_binned_columns_of_hundreds_of_bins_are_read_by_their_edges() -> None:
    column = bp.Binned(list(range(SIZE + 1)))
    rows = [k + 0.5 for k in range(SIZE)]
    schema = bp.Schema(records=SIZE, columns={"x": column})
    for table in tables({"x": rows}):
        for k in (0, 31, 32, 99, 100, 127, 128, 255, 256, SIZE - 1):
            assert evaluate(bp.count(bp.col("x") < k), schema, table).values == (k,)


def test_every_cell_of_a_large_crosstab_and_every_column_of_many_is_counted() -> None:
    first, second = [f"a{k}" for k in range(17)], [f"b{k}" for k in range(19)]
    cells = [(a, b) for a in first for b in second]
    rows = [cell for k, cell in enumerate(cells) for _ in range(1 + k % 3)]
    columns = {"a": bp.Categorical(first), "b": bp.Categorical(second)}
    schema = bp.Schema(records=len(rows), columns=columns)
    for table in islice(tables({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), 2):
        assert evaluate(bp.crosstab("a", "b"), schema, table).values == tuple(1 + k % 3 for k in range(len(cells)))


def test_every_one_of_hundreds_of_columns_is_summed() -> None:
    names = [f"x{k}" for k in range(270)]
    schema = bp.Schema(records=3, columns={name: bp.Integer(0, 10**6) for name in names})
    rows = {name: [k, 2 * k, 5] for k, name in enumerate(names)}
    weights = {name: Fraction(1 + k % 5, 3) for k, name in enumerate(names)}
    expected = sum(weights[name] * Fraction(sum(rows[name]), 3) for name in names)
    for table in islice(tables(rows), 1):
        found = evaluate(bp.stack(*(bp.total(name) for name in names)), schema, table).values
        assert found == tuple(sum(rows[name]) for name in names)
        assert evaluate(bp.linear(weights), schema, table).values == (expected,)


def test_every_number_of_a_long_list_counts() -> None:
    many = 2_000  # an engine that goes down a chain of so many would pass Python's limit of recursion
    schema = bp.Schema(records=many, columns={"x": bp.Integer(0, 10**6)})
    numbers = [7 * k for k in range(many)]
    for table in tables({"x": numbers}):
        assert evaluate(bp.count(bp.col("x").isin(numbers)), schema, table).values == (many,)
