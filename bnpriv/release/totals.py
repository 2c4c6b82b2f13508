"""Sums of whole-number terms over the records of a table of any engine, all of them in one scan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import narwhals as nw
import numpy as np

from bnpriv.bound import FloatArray, IntArray
from bnpriv.queries.base import Indicator
from bnpriv.queries.normal_form import IntegerTerm
from bnpriv.release.counts import CutColumn, cells_of, wide_columns
from bnpriv.release.expressions import Frame, cleaned, integer_terms
from bnpriv.tables.expressions import constants
from bnpriv.tables.partitions import over_partitions
from bnpriv.tables.reader import collected, opened
from bnpriv.tables.schema import Column

Scanned = tuple[int, Sequence[int], Sequence[IntArray]]
"""The number of rows, the sum of every term, and the rows in every cell of every wide column."""


def totals(
    terms: Sequence[IntegerTerm], columns: Mapping[str, Column], records: int, data: object
) -> tuple[int, tuple[int, ...]]:
    """Return the number of rows and the sum of every term; of a Dask table partition by partition.

    Parameters
    ----------
    terms : sequence of Indicator or Steps
    columns : mapping from str to Column
        All that the terms read.
    records : int
        The declared number; if there are more, the sums may be wrong.
    data : table, str or path

    Returns
    -------
    int, tuple of int

    Raises
    ------
    DataError, FileError
        If the data are no table, or lack a column.
    SizeError
        If there are more conditions on one column than its engine can take.
    """
    parts = over_partitions(data, partial(_part_totals, terms, columns, records))
    sums = zip(*(found for _, found in parts), strict=True)
    return sum(rows for rows, _ in parts), tuple(map(sum, sums))


def _part_totals(
    terms: Sequence[IntegerTerm], columns: Mapping[str, Column], records: int, data: object
) -> tuple[int, tuple[int, ...]]:
    """Return the same of a table or partition: terms one by one, or by cells where many read one column."""
    wide = wide_columns(terms)
    together = {place for places in wide.values() for place in places}
    apart = [place for place in range(len(terms)) if place not in together]
    with opened(data, columns, doubles=True) as frame:
        clean = cleaned(frame, columns)
        asked = {name: [cast(Indicator, terms[place]) for place in places] for name, places in wide.items()}
        cells = {name: cells_of(some, name, clean, columns) for name, some in asked.items()}
        summed = integer_terms([terms[place] for place in apart], clean, columns, records)
        rows, sums, counts = _scanned(clean, summed, list(cells.values()))
    found = dict(zip(apart, sums, strict=True))
    for (name, places), count in zip(wide.items(), counts, strict=True):
        found |= zip(places, cells[name].sums(asked[name], count), strict=True)
    return rows, tuple(found[place] for place in range(len(terms)))


def _scanned(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Scanned:
    engine = clean.implementation
    if engine.is_duckdb():
        return _in_duckdb(clean, terms, cells)
    if not cells:
        return *_sums(clean, terms), ()
    if engine.is_pandas_like() or engine.is_pyarrow():
        return *_sums(clean, terms), [_in_memory(clean, column) for column in cells]
    return _by_groups(_with_cells(clean, terms, cells), len(terms), cells)


def _names(terms: Sequence[nw.Expr]) -> list[str]:
    return [f"t{place}" for place in range(len(terms))]


def _sums(clean: Frame, terms: Sequence[nw.Expr]) -> tuple[int, tuple[int, ...]]:
    frame = clean.select(*terms) if terms else clean
    # where SQL would widen the sum to a decimal, which pandas takes for a double
    sums = (nw.col(name).sum().cast(nw.Int64) for name in _names(terms))
    rows, *found = collected(frame.select(nw.len().alias("rows"), *sums)).row(0)
    return int(rows), tuple(map(int, found))


def _in_memory(clean: Frame, column: CutColumn) -> IntArray:
    """Count the cells of a table that is in memory."""
    if column.texts:
        groups = clean.select(column.text.alias("g")).group_by("g").agg(nw.len().alias("rows"))
        return column.counts(_grouped(collected(groups).iter_rows()))
    values = collected(clean.select(nw.col(column.name).cast(nw.Float64)))[column.name].to_numpy()
    return np.bincount(column.places(cast(FloatArray, values)), minlength=column.size)


def _grouped(rows: Iterable[Sequence[Any]]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for group, count in rows:
        found[group] = found.get(group, 0) + int(count)
    return found


def _in_duckdb(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Scanned:
    """Ask for sums and histograms at once; sums of whole numbers come back as whole numbers of Python."""
    named = [
        (column.text if column.texts else nw.col(column.name).cast(nw.Float64)).alias(f"g{k}")
        for k, column in enumerate(cells)
    ]
    frame = clean.select(*terms, *named) if terms or cells else clean
    asked = ["count(*)", *(f"coalesce(sum({name}), 0)" for name in _names(terms))]
    for k, column in enumerate(cells):
        # as a text, in which every double is read exactly
        cuts = f"'[{', '.join(map(repr, column.cuts.tolist()))}]'::DOUBLE[]"
        asked += (
            [f"histogram(g{k})"] if column.texts else [f"histogram(g{k}, {cuts})", f"histogram_exact(g{k}, {cuts})"]
        )
    native: Any = frame.to_native()
    rows, *found = native.aggregate(", ".join(asked)).fetchone()
    maps = iter(found[len(terms) :])
    return rows, [int(value) for value in found[: len(terms)]], [_duckdb_cells(column, rows, maps) for column in cells]


def _duckdb_cells(column: CutColumn, rows: int, maps: Any) -> IntArray:
    if column.texts:
        return column.counts(next(maps) or {})
    up_to: dict[Any, int] = next(maps) or {}
    at: dict[Any, int] = next(maps) or {}
    counts: IntArray = np.zeros(column.size, dtype=np.int64)
    counts[1::2] = [at.get(cut, 0) for cut in column.cuts.tolist()]
    counts[:-1:2] = [up_to.get(cut, 0) for cut in column.cuts.tolist()]
    counts[:-1:2] -= counts[1::2]
    counts[-1] = rows - counts[:-1].sum()
    return counts


def _with_cells(clean: Frame, terms: Sequence[nw.Expr], cells: Sequence[CutColumn]) -> Frame:
    """Return the terms, and the cell of every wide column as a text, called g0, g1, ..."""
    if not clean.implementation.is_polars():
        constant = constants(clean.implementation)
        return clean.select(*terms, *(column.group(constant).alias(f"g{k}") for k, column in enumerate(cells)))
    import polars as pl

    found = [
        column.text.alias(f"g{k}") if column.texts else nw.col(column.name).cast(nw.Float64).alias(f"g{k}")
        for k, column in enumerate(cells)
    ]
    native: pl.LazyFrame = clean.select(*terms, *found).to_native()
    searched: list[pl.Expr] = []
    for k, column in enumerate(cells):
        if not column.texts:
            cuts, value = pl.lit(pl.Series(column.cuts)), pl.col(f"g{k}").fill_null(np.inf)
            searched.append(
                (cuts.search_sorted(value, "left") + cuts.search_sorted(value, "right")).cast(pl.String).alias(f"g{k}")
            )
    return cast(Frame, nw.from_native(native.with_columns(*searched)))


def _by_groups(frame: Frame, terms: int, cells: Sequence[CutColumn]) -> Scanned:
    """Count the rows in cells and sum the terms over the groups of the first column, in one scan for all columns."""
    names, groups = [f"t{place}" for place in range(terms)], [f"g{k}" for k in range(len(cells))]
    sums = (nw.col(name).sum().cast(nw.Int64) for name in names)
    if len(groups) == 1:
        long = frame.with_columns(nw.lit("g0").alias("column")).rename({"g0": "cell"})
    else:
        long = frame.unpivot(on=groups, index=names, variable_name="column", value_name="cell")
    found = collected(long.group_by("column", "cell").agg(nw.len().alias("rows"), *sums)).rows()
    counts = [
        column.counts(_grouped((row[1], row[2]) for row in found if row[0] == name))
        for name, column in zip(groups, cells, strict=True)
    ]
    first = [row for row in found if row[0] == "g0"]
    return sum(int(row[2]) for row in first), [sum(int(row[3 + k]) for row in first) for k in range(terms)], counts
