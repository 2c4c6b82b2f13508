"""Records of a table, chosen by chance in every class, made up beside, shuffled, and handed on; memory is constant.

A table is read once. Every record is packed into a few bytes and put into a bucket that is drawn for it alone; later
each bucket is shuffled by itself, and the buckets are laid end to end, so that all orders are equally likely (Rao,
1961; Sandelius, 1962). Which records stay behind is drawn when the scan has counted the classes, by their ranks: a
record's place in the output says nothing about its class, nor how many were left out.
"""

from __future__ import annotations

import io
import os
import secrets
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import IntArray
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Categorical, Category
from bnpriv.core.frozen import ReadOnly
from bnpriv.core.queries.base import Indicator
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Column, NumberColumn, Schema, has_gaps, is_whole
from bnpriv.errors import FileError, MissingExtraError, ParameterError, RefusedError
from bnpriv.render.outputs import outputs
from bnpriv.tables.evaluate import Keys, cleaned, guarded, integer_terms, keys_in, require_rows
from bnpriv.tables.files import data_files, quoted
from bnpriv.tables.reader import collected, opened
from bnpriv.tables.readings import Frame, dialect_of, partitions

Rows = NDArray[Any]
"""Packed records: one field for each column, and one for the class."""

MadeUpRows = Mapping[str, Sequence[Any]]
"""Values of records that are made up, by column."""

Beside = Mapping[str, Callable[[int], Sequence[Any]]]
"""What makes so many values of a column anew."""

NOTHING: Mapping[str, Any] = ReadOnly()

ROWS_IN_GROUP = 2**18
"""Rows of a batch that is read, of a bucket, about, and of a row group that is written."""

IN_MEMORY = 2**26
"""Bytes of records that are kept in memory; more go to a file without a name."""

GAP_PLACE, LARGEST_EXACT_WHOLE = -(2**63), 2**53

SPARK_TYPES = {str: "string", bool: "boolean", int: "bigint", float: "double"}


def arrow() -> Any:
    """Return PyArrow.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return [import_module(name) for name in ("pyarrow.parquet", "pyarrow.compute", "pyarrow")][-1]
    except ImportError:
        remedy = 'Install it: pip install "bnpriv[tables]".'
        raise MissingExtraError("handing on a table needs pyarrow", found="no pyarrow", remedy=remedy) from None


# --------------------------------------------------------------------------------------------------
# Columns: how their values are packed, and what type they have in every output, by the schema alone.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackedColumn:
    """How the values of a column are packed: numbers as they are, categories as their place among the outcomes.

    Parameters
    ----------
    column : Column
    as_it_counts : bool
        Whether values are those that count, or those that are read.
    on_grid : bool
        Whether numbers that count are rounded to the column's grid.
    """

    column: Column
    as_it_counts: bool
    on_grid: bool = False

    @cached_property
    def outcomes(self) -> tuple[Category, ...]:
        """Categories, or their labels; none of numbers, which may be categories that are read as they are."""
        column = self.column
        if not isinstance(column, Categorical) or (type(column.categories[0]) is int and not self.as_it_counts):
            return ()
        return tuple(column.categories if self.as_it_counts else column.labels)

    @property
    def gap(self) -> int:
        """The place of a gap; texts that are no outcome come behind it."""
        return len(self.outcomes)

    @property
    def kind(self) -> type:
        """What its values are: texts, truth values, whole numbers or others."""
        if self.outcomes:
            return type(self.outcomes[0])
        return int if isinstance(self.column, Categorical) or is_whole(self.column) else float

    @property
    def is_nullable(self) -> bool:
        """Whether a gap may be handed on."""
        return not self.as_it_counts or has_gaps(self.column)

    @property
    def packed(self) -> str:
        """The type of the packed values."""
        if self.outcomes:
            return "<i4" if self.kind is str and not self.as_it_counts else np.min_scalar_type(self.gap).str
        return "<i8" if self.kind is int else "<f8"

    def field(self, name: str, *, encoded: bool = False) -> Any:
        """Return the column as Arrow declares it; texts are encoded while they are written."""
        pa = arrow()
        kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
        kind = pa.dictionary(pa.int32(), pa.string()) if encoded and self.kind is str else kinds[self.kind]
        return pa.field(name, kind, nullable=self.is_nullable)

    def labels(self, keys: Keys) -> Mapping[Any, Category]:
        """Return which values of the table have which outcome: texts keep their own label, where they may."""
        own = not self.as_it_counts and isinstance(next(iter(keys), None), str)
        return {label: label for label in self.outcomes} if own else keys

    def places(self, categories: Iterable[object]) -> Rows:
        """Return the places of categories, and of gaps."""
        known: dict[object, int] = {each: place for place, each in enumerate(self.outcomes)}
        return np.array([self.gap if is_gap(each) else known[each] for each in categories], dtype=self.packed)

    def numbers(self, numbers: NDArray[np.float64]) -> Rows:
        """Return numbers packed, of which NaN, and what marks a gap, is none."""
        gaps = (numbers == GAP_MARK) | np.isnan(numbers)
        if self.kind is int:
            whole = np.clip(np.floor(numbers + 0.5), -LARGEST_EXACT_WHOLE, LARGEST_EXACT_WHOLE)
            if not gaps.any():
                return whole.astype(np.int64)
            return np.where(gaps, GAP_PLACE, np.where(gaps, 0, whole).astype(np.int64))
        if self.on_grid:  # one rounding for each operation, as `Real.step` says
            column = cast(NumberColumn, self.column)
            steps = np.floor((numbers - column.lower) * column.rate + 0.5)
            numbers = np.minimum(column.lower + steps * float(column.grid), column.upper)
        # a zero has no sign: made-up ones never have the other
        return np.where(gaps, np.nan, numbers + 0.0)

    def made_up(self, values: Sequence[Any]) -> Rows:
        """Return values packed that are numbers or categories, or a gap."""
        if self.outcomes:
            return self.places(values)
        return self.numbers(np.array([np.nan if is_gap(each) else each for each in values], dtype=np.float64))

    def anew(self, make: Callable[[int], Sequence[Any]], count: int) -> Any:
        """Return so many values that are made anew, as an Arrow array of a plain type."""
        return self.unpacked(self.made_up(make(count))).cast(self.field("").type)

    def unpacked(self, packed: Rows, others: Collection[str] = ()) -> Any:
        """Return packed values as an Arrow array; `others` are the texts that are no outcome."""
        pa = arrow()
        if self.kind is float:
            return pa.array(np.ascontiguousarray(packed), from_pandas=True)
        gaps = packed == (self.gap if self.outcomes else GAP_PLACE) if self.is_nullable else np.False_
        gaps = gaps if gaps.any() else None
        if self.kind is not str:
            values = np.array([*self.outcomes, self.outcomes[0]])[packed] if self.outcomes else packed
            return pa.array(np.ascontiguousarray(values), mask=gaps)
        codes, texts = pa.array(packed.astype(np.int32), mask=gaps), pa.array(self.outcomes, pa.string())
        if not others or not (packed > self.gap).any():
            return pa.DictionaryArray.from_arrays(codes, texts)
        # encoded anew: the dictionary must not tell an order, or a text that stays behind
        return pa.array([*self.outcomes, "", *others], pa.string()).take(codes).dictionary_encode()


def is_gap(value: object) -> bool:
    """Whether a value that is made up is none."""
    return value is None or value != value or (isinstance(value, str) and value == NOT_COUNTED)


# --------------------------------------------------------------------------------------------------
# Chance: all of it from the operating system, and every outcome exactly as likely as it is said to be.
# --------------------------------------------------------------------------------------------------


def _below(size: int, count: int) -> NDArray[np.uint64]:
    """Return independent whole numbers, uniform from 0 to below a size."""
    last, found = 2**64 - 1 - 2**64 % size, np.empty(0, dtype=np.uint64)
    while len(found) < count:
        drawn = np.frombuffer(os.urandom(8 * (count - len(found))), dtype=np.uint64)
        found = np.concatenate([found, drawn[drawn <= np.uint64(last)] % np.uint64(size)])
    return found


def _distinct(size: int, count: int) -> IntArray:
    """Return a uniformly random set of whole numbers below a size, in increasing order."""
    if 2 * count > size:
        return np.delete(np.arange(size), _distinct(size, size - count))
    found = np.empty(0, dtype=np.uint64)
    while len(found) < count:  # never more at once than are missing, so that no set is preferred
        found = np.unique(np.concatenate([found, _below(size, count - len(found))]))
    return found.astype(np.int64)


def _permutation(count: int) -> IntArray:
    """Return a uniformly random order of so many rows, fewer than 2^32."""
    places = np.arange(count, dtype=np.uint64)
    last = np.uint64(2 ** max(count - 1, 1).bit_length() - 1)
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64) & ~last | places
        keys.sort()
        if not np.any((keys[1:] ^ keys[:-1]) <= last):  # ties would keep the order that there was
            return (keys & last).view(np.int64)


def _buckets(count: int, buckets: int) -> NDArray[np.uint16]:
    """Return a bucket for every row, uniform among a power of two."""
    return np.frombuffer(os.urandom(2 * count), dtype=np.uint16) & np.uint16(buckets - 1)


# --------------------------------------------------------------------------------------------------
# Records in buckets.
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Scattered:
    """Packed records of a table, each in a bucket of its own chance; of each batch they lie together in the file.

    Texts that are no category are kept in memory, once each.
    """

    columns: Mapping[str, PackedColumn]
    classes: int
    buckets: int
    file: Any

    def __post_init__(self) -> None:
        kinds = [(f"v{k}", column.packed) for k, column in enumerate(self.columns.values())]
        self.dtype = np.dtype([*kinds, ("class", np.min_scalar_type(self.classes - 1))])
        self.counts: IntArray = np.zeros((self.buckets, self.classes), dtype=np.int64)
        self.bounds: list[IntArray] = []
        self.others: dict[str, dict[str, int]] = {name: {} for name in self.columns}

    def packed(self, batch: Any, labels: Labels) -> Rows:
        """Return the rows of a batch packed; p0, p1, ... are the places of values among labels, from 1, or 0."""
        rows = np.empty(batch.num_rows, dtype=self.dtype)
        rows["class"] = batch["class"].to_numpy(zero_copy_only=False)
        for k, (name, column) in enumerate(self.columns.items()):
            values = batch[f"v{k}"]
            if not column.outcomes:
                rows[f"v{k}"] = column.numbers(values.to_numpy(zero_copy_only=False))
                continue
            missing = cast(Categorical, column.column).missing if column.as_it_counts else None
            places = batch[f"p{k}"].to_numpy()
            packed = column.places([missing, *labels[f"v{k}"].values()])[places]
            if column.packed == "<i4" and "string" in str(values.type) and values.null_count < len(values):
                others = (places == 0) & values.is_valid().to_numpy(zero_copy_only=False)
                known, texts = self.others[name], values.filter(arrow().array(others)).dictionary_encode()
                found = [known.setdefault(text, column.gap + 1 + len(known)) for text in texts.dictionary.to_pylist()]
                packed[others] = np.array(found, dtype=np.int32)[texts.indices.to_numpy()]
            rows[f"v{k}"] = packed
        return rows

    def add(self, rows: Rows) -> None:
        """Put packed rows into buckets."""
        bucket = _buckets(len(rows), self.buckets)
        cells = np.bincount(bucket * np.int64(self.classes) + rows["class"], minlength=self.counts.size)
        sizes = cells.reshape(self.counts.shape)
        start = self.file.seek(0, os.SEEK_END) // self.dtype.itemsize
        self.bounds.append(start + np.concatenate([[0], np.cumsum(sizes.sum(axis=1))]))
        self.counts += sizes
        try:
            self.file.write(rows.take(np.argsort(bucket, kind="stable")).view(np.uint8))
        except OSError as error:
            required, found = "the folder of temporary files must have room", error.strerror or "an error"
            raise FileError(required, found=found, remedy="Make room, or name another in TMPDIR.") from None

    def bucket(self, place: int) -> Rows:
        """Return the records of a bucket."""
        rows, filled = np.empty(int(self.counts[place].sum()), dtype=self.dtype), 0
        for bounds in self.bounds:
            self.file.seek(int(bounds[place]) * self.dtype.itemsize)
            piece = rows[filled : filled + int(bounds[place + 1] - bounds[place])]
            if self.file.readinto(piece.view(np.uint8)) != piece.nbytes:
                raise OSError("a temporary file is shorter than it was")
            filled += len(piece)
        return rows

    def unpacked(self, rows: Rows) -> list[Any]:
        """Return the columns of packed rows as arrays of Arrow."""
        columns = enumerate(self.columns.items())
        return [column.unpacked(rows[f"v{k}"], self.others[name]) for k, (name, column) in columns]


# --------------------------------------------------------------------------------------------------
# One scan of a table of any engine, as batches of Arrow.
# --------------------------------------------------------------------------------------------------

Labels = Mapping[str, Mapping[Any, Category]]
"""Of v0, v1, ... which values are which outcome."""


@dataclass(frozen=True, eq=False)
class _Table:
    """A table that is to be handed on, with what is asked of it."""

    data: object
    schema: Schema
    columns: Mapping[str, PackedColumn]
    predicates: Sequence[Predicate]

    @property
    def library(self) -> str:
        """What the data are of."""
        native: object = nw.to_native(cast(Any, self.data), pass_through=True)
        return type(native).__module__.partition(".")[0].lstrip("_")

    def scattered(self, buckets: int, file: Any) -> _Scattered:
        """Return room for its records."""
        return _Scattered(self.columns, max(1, len(self.predicates)), buckets, file)

    @contextmanager
    def frame(self, part: object) -> Generator[tuple[Frame, Labels]]:
        """Open a part of it as columns v0, v1, ..., and the number of the class of every record."""
        asked = frozenset[str]().union(*(each.columns for each in self.predicates))
        names = list(dict.fromkeys([*self.columns, *sorted(asked)])) or list(self.schema.columns)[:1]
        columns = {name: self.schema[name] for name in names}
        with opened(part, columns, doubles=True, dialect=dialect_of(self.schema)) as frame:
            kept = [nw.col(f"c{k}").alias(f"r{k}") for k in range(len(columns))]
            clean, keys = cleaned(frame, columns, kept), keys_in(frame, columns)
            told = [Indicator(each) for each in self.predicates[1:]]
            number = nw.col("c0").is_null().cast(nw.Float64) * 0
            for code, term in enumerate(integer_terms(told, clean, columns, self.schema.records), start=1):
                number = number + term * code
            values = [
                nw.col(f"{'c' if column.as_it_counts else 'r'}{k}").alias(f"v{k}")
                for k, column in enumerate(self.columns.values())
            ]
            coded = enumerate(self.columns.items())
            labels = {f"v{k}": column.labels(keys[name]) for k, (name, column) in coded if column.outcomes}
            yield clean.select(number.alias("class"), *values), labels

    def scan(self, scattered: _Scattered) -> None:
        """Put all records into buckets."""
        for part in partitions(self.data):
            with self.frame(part) as (frame, labels):
                batches = _batches(frame, labels)
                # others are in memory, or tied to a thread
                with closing(_ahead(batches) if frame.implementation.is_duckdb() else batches) as following:
                    for batch in following:
                        scattered.add(scattered.packed(batch, labels))

    def in_spark(self) -> SparkRecords:
        """Return the records of a table of Spark, as they go out."""
        with self.frame(self.data) as (frame, labels):
            types = {f"v{k}": SPARK_TYPES[column.kind] for k, column in enumerate(self.columns.values())}
            return SparkRecords(frame.to_native(), types, partial(replace(self, data=None).converted, labels))

    def converted(self, labels: Labels, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield batches as they go out, on a worker of Spark."""
        pa, scattered = arrow(), self.scattered(1, io.BytesIO())
        for batch in batches:
            arrays = scattered.unpacked(scattered.packed(_with_places(batch, labels), labels))
            plain = [
                each.cast(column.field("").type) for each, column in zip(arrays, self.columns.values(), strict=True)
            ]
            names = ["class", *(f"v{k}" for k in range(len(plain)))]
            yield pa.RecordBatch.from_arrays([batch["class"].cast(pa.int64()), *plain], names=names)


def _batches(frame: Frame, labels: Labels) -> Generator[Any]:
    native: Any = frame.to_native()
    if frame.implementation.is_duckdb():
        batches = _located(native, labels).to_arrow_reader(ROWS_IN_GROUP)
    elif frame.implementation.is_ibis():
        batches = native.to_pyarrow_batches(chunk_size=ROWS_IN_GROUP)
    else:
        batches = cast(Any, collected(frame)).to_arrow().to_batches(max_chunksize=ROWS_IN_GROUP)
    return (_with_places(batch, labels) for batch in batches)


def _located(relation: Any, labels: Labels) -> Any:
    """Return a relation of DuckDB with the places of texts among labels, and only such texts as have none.

    DuckDB looks up each text of a dictionary once, where Arrow would look up every row.
    """
    fields, places = {name: name for name in relation.columns}, list[str]()
    for name, known in labels.items():
        if isinstance(next(iter(known), None), str):
            place = f"list_position([{', '.join(map(quoted, known))}], {name})"
            fields[name] = f"CASE WHEN {place} IS NULL THEN {name} END AS {name}"
            places.append(f"coalesce({place}, 0)::INTEGER AS p{name[1:]}")
    return relation.project(", ".join([*fields.values(), *places]))


def _with_places(batch: Any, labels: Labels) -> Any:
    """Return a batch with the places of values among labels, from 1, where they are not there yet; 0 is none."""
    pa = arrow()
    for name, known in labels.items():
        if f"p{name[1:]}" not in batch.schema.names:
            found = pa.compute.index_in(batch[name], value_set=pa.array(list(known), batch[name].type))
            batch = batch.append_column(f"p{name[1:]}", pa.compute.add(pa.compute.fill_null(found, -1), 1))
    return batch


# --------------------------------------------------------------------------------------------------
# What goes out.
# --------------------------------------------------------------------------------------------------


@contextmanager
def classed_rows(
    data: object,
    schema: Schema,
    columns: Sequence[str],
    predicates: Sequence[Predicate],
    *,
    as_they_count: bool,
    folder: Path | None = None,
    on_grid: Collection[str] = (),
) -> Generator[ClassedRows]:
    """Read a table once, and count the records of every class; nothing goes out yet.

    Parameters
    ----------
    data : table, str or path
        As `bnpriv.release` takes it.
    schema : Schema
        Columns and number of records.
    columns : sequence of str
        Those that are handed on.
    predicates : sequence of Predicate
        One for each class: every record satisfies exactly one. Without any, all records are one class.
    as_they_count : bool
        Whether numbers are clamped, gaps filled and categories canonical, or values are handed on as they are read:
        whole numbers rounded, what is no value of the column a gap, texts as they are.
    folder : Path, optional
        Where records are kept meanwhile that do not fit into memory, in a file without a name.
    on_grid : collection of str
        Columns of numbers that count which are rounded to their grid, as those that are made up are.

    Yields
    ------
    ClassedRows

    Raises
    ------
    DataError, FileError
        If the data cannot be read or have not the declared number of rows; never with a value of them.
    MissingExtraError
        If PyArrow is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> from bnpriv.core.queries.predicates import col
    >>> from bnpriv.core.schema import Integer
    >>> schema = Schema(records=3, columns={"age": Integer(0, 120)})
    >>> table, old = pd.DataFrame({"age": [30, 70, 80]}), col("age") >= 65
    >>> with classed_rows(table, schema, ["age"], [~old, old], as_they_count=True) as rows:
    ...     sorted(rows.handed_on([1, 1], {"age": [64]}).age)[:2]
    [30, 64]
    """
    arrow()
    packed = {name: PackedColumn(schema[name], as_they_count, name in on_grid) for name in columns}
    table = _Table(data, schema, packed, predicates)
    if table.library == "pyspark":
        records = guarded(data, table.in_spark)
        counts = guarded(data, lambda: records.counts(max(1, len(predicates))))
        require_rows(sum(counts), schema)
        yield ClassedRows(counts, partial(_out_of_spark, table, records))
        return
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=folder and str(folder)) as file:
        scattered = table.scattered(2 ** min(16, (schema.records // ROWS_IN_GROUP).bit_length()), file)
        guarded(data, lambda: table.scan(scattered))
        require_rows(int(scattered.counts.sum()), schema)
        yield ClassedRows(tuple(scattered.counts.sum(axis=0).tolist()), partial(_out, table, scattered))


def read_files(data: object, output: Path) -> list[Path]:
    """Return the files of a table, none of which an output may replace."""
    is_path = isinstance(data, (str, os.PathLike))
    return data_files(os.fspath(cast("str | os.PathLike[str]", data)), output) if is_path else []


@dataclass(eq=False)
class ClassedRows:
    """The records of a table by class, to be handed on once.

    Parameters
    ----------
    counts : tuple of int
        The records of every class: private, not shown.
    """

    counts: tuple[int, ...] = field(repr=False)
    _out: Callable[[Sequence[int], MadeUpRows, Beside, Path | None], Any] | None = field(repr=False)

    def handed_on(
        self, keep: Sequence[int], made_up: MadeUpRows = NOTHING, beside: Beside = NOTHING, output: Path | None = None
    ) -> Any:
        """Choose records of every class by chance, add those that are made up, and shuffle all.

        Parameters
        ----------
        keep : sequence of int
            How many records of each class stay, each such set as likely as any other.
        made_up : mapping from str to sequence
            The values of more records, column by column: numbers, categories, None for a gap.
        beside : mapping from str to callable
            Columns of the schema that are made anew for all rows: called with a number of rows, piece by piece.
        output : Path, optional
            A Parquet file to be written, which appears only when it is whole.

        Returns
        -------
        table or Path
            A table of the library that the data are of: of pandas for Dask, of Arrow for a path or a database, eager.
            Or the path of the output.

        Raises
        ------
        FileError
            If the output cannot be written, or is a file of the table.
        ParameterError
            If more records are to be kept than there are.
        RefusedError
            If records were handed on before.
        """
        out, self._out = self._out, None
        if out is None:
            raise RefusedError("records are handed on once", found="a second time", remedy="Open the table again.")
        if len(keep) != len(self.counts) or not all(0 <= kept <= n for kept, n in zip(keep, self.counts, strict=True)):
            found, remedy = "another number", "Count the records that are kept of each."
            raise ParameterError("of each class at most its records are kept", found=found, remedy=remedy)
        return out(keep, made_up, beside, output)


def _out(
    table: _Table, scattered: _Scattered, keep: Sequence[int], made_up: MadeUpRows, beside: Beside, output: Path | None
) -> Any:
    fresh = {name: PackedColumn(table.schema[name], True) for name in beside}
    groups = _groups(
        _pieces(scattered, keep, made_up), {name: partial(fresh[name].anew, beside[name]) for name in beside}
    )
    columns = {**table.columns, **fresh}
    if output is not None:
        return _written(groups, columns, table.data, output)
    return guarded(table.data, lambda: _of_library(table.library, groups, columns))


def _pieces(scattered: _Scattered, keep: Sequence[int], made_up: MadeUpRows) -> Iterator[Any]:
    """Yield every bucket shuffled, as a table of Arrow that begins with a column of nothing."""
    pa, ends = arrow(), np.cumsum(scattered.counts, axis=0)
    starts = ends - scattered.counts
    # ranks among the records of a class, which lie in the order of their buckets
    out = [_distinct(int(n), int(n) - kept) for n, kept in zip(ends[-1], keep, strict=True)]
    new = np.empty(len(next(iter(made_up.values()), ())), dtype=scattered.dtype)
    for k, (name, column) in enumerate(scattered.columns.items() if made_up else ()):
        new[f"v{k}"] = column.made_up(made_up[name])
    where = _buckets(len(new), scattered.buckets)
    for place in range(scattered.buckets):
        rows, added = scattered.bucket(place), new[where == place]
        stays = np.ones(len(rows) + len(added), dtype=np.bool_)
        for code, ranks in enumerate(out):
            low, high = np.searchsorted(ranks, [starts[place, code], ends[place, code]])
            if high > low:
                stays[np.flatnonzero(rows["class"] == code)[ranks[low:high] - starts[place, code]]] = False
        order = _permutation(len(stays))
        chosen = (np.concatenate([rows, added]) if len(added) else rows).take(order[stays[order]])
        yield pa.table([pa.nulls(len(chosen)), *scattered.unpacked(chosen)], names=["", *scattered.columns])


def _groups(pieces: Iterator[Any], fresh: Mapping[str, Callable[[int], Any]]) -> Iterator[Any]:
    """Yield the same rows in tables of one size, but for the last, with the columns that are made anew."""
    waiting = next(pieces)
    for piece in chain(pieces, [None]):
        while waiting.num_rows >= ROWS_IN_GROUP or (piece is None and waiting.num_rows):
            group, waiting = waiting.slice(0, ROWS_IN_GROUP), waiting.slice(ROWS_IN_GROUP)
            for name, make in fresh.items():
                group = group.append_column(name, make(group.num_rows))
            yield group.remove_column(0)
        if piece is not None:
            waiting = arrow().concat_tables([waiting, piece])


def _ahead(items: Iterator[Any], most: int = 2) -> Generator[Any]:
    """Yield the same, some of which are made in another thread meanwhile."""
    pool, following = ThreadPoolExecutor(1), partial(guarded, None, partial(next, items, None))
    try:
        waiting = deque(pool.submit(following) for _ in range(most))
        while (item := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(following))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)


def _written(groups: Iterator[Any], columns: Mapping[str, PackedColumn], data: object, output: Path) -> Path:
    with outputs(output, reading=read_files(data, output)) as out:
        guarded(data, lambda: out.fill(output, lambda path: _write(groups, columns, path)))
    return output


def _write(groups: Iterator[Any], columns: Mapping[str, PackedColumn], path: Path) -> None:
    """Write tables of Arrow to a Parquet file, each as a group of rows."""
    pa = arrow()
    schema = pa.schema([column.field(name, encoded=True) for name, column in columns.items()])
    # the declarations decide it all; least and largest texts are of little use, and take a fifth of the time
    options = {
        "use_dictionary": [name for name, column in columns.items() if column.kind is not float],
        "write_statistics": [name for name, column in columns.items() if column.kind is not str],
        "store_schema": False,
    }
    with path.open("r+b") as file, closing(_ahead(groups)) as ready:
        with pa.parquet.ParquetWriter(file, schema, **options) as writer:
            for group in ready:
                writer.write_table(group.unify_dictionaries().cast(schema), row_group_size=ROWS_IN_GROUP)
        file.flush()
        os.fsync(file.fileno())


FROM_ARROW = {"polars": "from_arrow", "duckdb": "from_arrow", "ibis": "memtable"}
"""What makes a table of a library from one of Arrow."""


def _of_library(library: str, groups: Iterator[Any], columns: Mapping[str, PackedColumn]) -> Any:
    """Return a table of the library that the data are of; Arrow's where they are of none."""
    pa = arrow()
    schema = pa.schema([column.field(name) for name, column in columns.items()])
    table = pa.concat_tables([schema.empty_table(), *(group.cast(schema) for group in groups)])
    if library in FROM_ARROW:
        return getattr(import_module(library), FROM_ARROW[library])(table)
    if library not in ("pandas", "dask", "dask_expr"):
        return table
    import pandas as pd

    gaps = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    kinds = {name: gaps.get if column.is_nullable else None for name, column in columns.items()}
    return pd.DataFrame({name: table[name].to_pandas(types_mapper=kind) for name, kind in kinds.items()})


def _out_of_spark(
    table: _Table, records: SparkRecords, keep: Sequence[int], made_up: MadeUpRows, beside: Beside, output: Path | None
) -> Any:
    pa, fresh = arrow(), {name: PackedColumn(table.schema[name], True) for name in beside}
    makers = {name: (SPARK_TYPES[fresh[name].kind], partial(fresh[name].anew, beside[name])) for name in beside}
    lists = (table.columns[name].anew(lambda _, name=name: made_up[name], 0).to_pylist() for name in table.columns)
    rows = list(zip(*lists, strict=True)) if made_up else None
    found = guarded(table.data, lambda: records.handed_on(keep, rows, list(table.columns), makers))
    if output is None:
        return found
    columns = {**table.columns, **fresh}
    schema = pa.schema([pa.field("", pa.null()), *(each.field(name, encoded=True) for name, each in columns.items())])
    local = found.toLocalIterator()  # one partition after the other
    pieces = iter(lambda: [each.asDict() for each in islice(local, ROWS_IN_GROUP)], [])
    tables = (pa.Table.from_pylist(piece, schema) for piece in chain([[]], pieces))
    return _written(_groups(tables, {}), columns, table.data, output)


# --------------------------------------------------------------------------------------------------
# Spark tables, chosen by class and shuffled on the cluster: no records but made-up ones pass the driver.
# --------------------------------------------------------------------------------------------------

Batches = Iterator[Any]
"""Batches of Arrow."""


class SparkRecords:
    """The records of a Spark table, read once, each with a number of its own.

    Parameters
    ----------
    table : pyspark.sql.DataFrame
        With the number of the class of every record, `class`, and columns v0, v1, ...
    types : mapping from str to str
        What types of Spark these have when they go out.
    convert : callable
        What makes batches of Arrow as they go out, on the workers.
    """

    def __init__(self, table: Any, types: Mapping[str, str], convert: Callable[[Iterable[Any]], Batches]) -> None:
        self._types = types
        # all chance is made of it by SHA-256
        self._seed = secrets.token_bytes(32).hex()
        plain = table.mapInArrow(convert, _declared({"class": "bigint", **types}))
        # kept on the cluster: a plan that is run again might number the records in another order
        self._table = plain.selectExpr("*", "monotonically_increasing_id() AS id").localCheckpoint()

    def counts(self, classes: int) -> tuple[int, ...]:
        """Return the records of every class."""
        found = {row[0]: row[1] for row in self._table.groupBy("class").count().collect()}
        return tuple(found.get(code, 0) for code in range(classes))

    def _key(self, purpose: str) -> str:
        return f"sha2(concat('{self._seed}', '{purpose}', id), 256)"

    def handed_on(
        self,
        keep: Sequence[int],
        made_up: Sequence[Sequence[Any]] | None,
        names: Sequence[str],
        fresh: Mapping[str, tuple[str, Callable[[int], Any]]],
    ) -> Any:
        """Return a table of so many records of each class, those that are made up, and columns that are made anew.

        Parameters
        ----------
        keep : sequence of int
        made_up : sequence of rows, or None where none ever are
        names : sequence of str
            Of the columns v0, v1, ...
        fresh : mapping from str to (str, callable)
            For each column that is made anew its type, and what makes an Arrow array of so many values.
        """
        types = {**self._types, "id": "bigint"}
        most = " ".join(f"WHEN {code} THEN {kept}" for code, kept in enumerate(keep))
        rank = f"row_number() OVER (PARTITION BY class ORDER BY {self._key('keep')}) AS rank"
        rows = self._table.selectExpr("*", rank).where(f"rank <= CASE class {most} END").select(*types)
        if made_up is not None:  # also of no row: the size that Spark expects of the result would tell that
            new = [(*row, -1 - k) for k, row in enumerate(made_up)]
            rows = rows.union(self._table.sparkSession.createDataFrame(new, _declared(types)))
        rows = rows.selectExpr("*", f"{self._key('order')} AS place").orderBy("place").select(*types)
        beside = {f"n{k}": kind for k, (kind, _) in enumerate(fresh.values())}
        added = _maker([make for _, make in fresh.values()], [*self._types, *beside])
        rows = rows.mapInArrow(added, _declared({**self._types, **beside}))
        # kept too: what is made anew would be made again, and the way to the rows tells more than they do
        return rows.toDF(*names, *fresh).localCheckpoint()


def _declared(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


def _maker(makers: Sequence[Callable[[int], Any]], names: Sequence[str]) -> Callable[[Iterable[Any]], Batches]:
    """Return what adds columns that are made anew to batches of Arrow, in the place of the numbers of the records."""

    def made(batches: Iterable[Any]) -> Batches:
        import pyarrow

        pa: Any = pyarrow
        for batch in batches:
            arrays = [*batch.columns[:-1], *(make(batch.num_rows) for make in makers)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))

    return made
