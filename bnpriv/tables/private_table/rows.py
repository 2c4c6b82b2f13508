"""Records of a table, chosen by chance in every class, made up beside, shuffled, and handed on; memory is constant.

A table is read once. Every record is packed into a few bytes and put into a bucket that is drawn for it alone; later
each bucket is shuffled by itself, and the buckets are laid end to end, so that all orders are equally likely (Rao,
1961; Sandelius, 1962). Which records stay behind is drawn when the scan has counted the classes, by their ranks: a
record's place in the output says nothing about its class, nor how many were left out.
"""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, cast, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import IntArray
from bnpriv.core.columns import GAP_MARK, Categorical, Category
from bnpriv.core.queries.base import Indicator
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.schema import Column, Schema, has_gaps, is_whole
from bnpriv.errors import FileError, MissingExtraError, ParameterError, RefusedError
from bnpriv.render.outputs import outputs
from bnpriv.tables.evaluate import Keys, cleaned, guarded, integer_terms, keys_in, require_rows
from bnpriv.tables.files import data_files, quoted
from bnpriv.tables.reader import collected, opened
from bnpriv.tables.readings import Frame, dialect_of, partitions

Rows = NDArray[Any]
"""Packed records: one field for each column, and one for the class."""

ROWS_AT_ONCE = 2**18
"""Rows of a batch that is read, and of a row group that is written."""

BUCKET = 2**18
"""About so many records are shuffled at once."""

IN_MEMORY = 2**26
"""Bytes of records that are kept in memory; more go to a file without a name."""

GAP, LARGEST_WHOLE = -(2**63), 2**53

MADE_UP_GAPS = (None, "not counted")


# --------------------------------------------------------------------------------------------------
# Columns: how their values are packed, and what type they have in every output, by the schema alone.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class PackedColumn:
    """How the values of a column are packed: numbers as they are, texts and truth values as the place of an outcome.

    Parameters
    ----------
    column : Column
    as_it_counts : bool
        Whether values are those that count, or those that are read.
    """

    column: Column
    as_it_counts: bool

    @cached_property
    def outcomes(self) -> tuple[Category, ...]:
        """Texts or truth values that have a place; none for numbers. Labels that are coarsened come last."""
        column = self.column
        if not isinstance(column, Categorical) or type(column.categories[0]) is int:
            return ()
        return tuple(column.categories) if self.as_it_counts else tuple(column.labels)

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return bool(self.outcomes) and isinstance(self.outcomes[0], str)

    @property
    def is_nullable(self) -> bool:
        """Whether a gap may be handed on."""
        return not self.as_it_counts or has_gaps(self.column)

    @property
    def gap(self) -> int:
        """The place of a gap; what is no outcome comes behind it."""
        return len(self.outcomes)

    @property
    def is_coded(self) -> bool:
        """Whether values are looked up among labels when they are read."""
        return bool(self.outcomes) or (self.as_it_counts and isinstance(self.column, Categorical))

    @property
    def packed(self) -> str:
        """The type of the packed values."""
        if self.outcomes:
            return np.min_scalar_type(self.gap + 1).str
        return "<i8" if isinstance(self.column, Categorical) or is_whole(self.column) else "<f8"

    def labels(self, keys: Keys) -> dict[Category | float, Category]:
        """Return which values of the table have which outcome: as texts they keep their own label, if they may."""
        own = not self.as_it_counts and isinstance(next(iter(keys), None), str)
        return {label: label for label in self.outcomes} if own else dict(keys)

    def coded(self, places: Rows, labels: Mapping[Category | float, Category]) -> Rows:
        """Return categories packed that are given by their places among the labels, from 1; 0 is none of them."""
        missing = self._packed_category(self.column.missing if self.as_it_counts else None)
        lookup = [missing, *(self._packed_category(category) for category in labels.values())]
        return np.array(lookup, dtype=self.packed)[places]

    def _packed_category(self, category: object) -> int:
        if category in MADE_UP_GAPS:
            return self.gap if self.outcomes else GAP
        return self.outcomes.index(cast(Category, category)) if self.outcomes else int(cast(int, category))

    def numbers(self, numbers: NDArray[np.float64]) -> Rows:
        """Return numbers packed, of which NaN, and what marks a gap, is none."""
        gaps = numbers == GAP_MARK if self.as_it_counts else np.isnan(numbers)
        if self.packed == "<f8":
            return np.where(gaps, np.nan, numbers)
        whole = np.where(gaps, 0, np.floor(numbers + 0.5))
        return np.where(gaps, GAP, np.clip(whole, -LARGEST_WHOLE, LARGEST_WHOLE).astype(np.int64))

    def made_up(self, values: Sequence[Any]) -> Rows:
        """Return values packed that are numbers or categories, or a gap."""
        if isinstance(self.column, Categorical):
            places = {value: self._packed_category(value) for value in (*self.column.categories, *MADE_UP_GAPS)}
            return np.array([places[value] for value in values], dtype=self.packed)
        gap = GAP_MARK if self.as_it_counts else np.nan
        return self.numbers(np.array([gap if x in MADE_UP_GAPS else x for x in values], dtype=np.float64))

    @property
    def arrow_type(self) -> Any:
        """The type of the column in Arrow; texts are encoded until they are handed on."""
        import pyarrow as pa

        arrow = cast(Any, pa)
        if self.is_text:
            return arrow.dictionary(arrow.int32(), arrow.string())
        return arrow.bool_() if self.outcomes else {"<i8": arrow.int64(), "<f8": arrow.float64()}[self.packed]

    def unpacked(self, packed: Rows, others: Any = None) -> Any:
        """Return packed values as an Arrow array; `others` are the texts without a place, in their order."""
        import pyarrow as pa

        arrow = cast(Any, pa)
        if self.packed == "<f8":
            return arrow.array(np.ascontiguousarray(packed), from_pandas=True)
        gaps = packed == (self.gap if self.outcomes else GAP) if self.is_nullable else None
        if not self.is_text:
            values = np.array([*self.outcomes, False])[packed] if self.outcomes else np.ascontiguousarray(packed)
            return arrow.array(values, mask=gaps)
        codes = packed.astype(np.int32)
        if others is None:
            return arrow.DictionaryArray.from_arrays(arrow.array(codes, mask=gaps), arrow.array(self.outcomes))
        codes[codes > self.gap] = self.gap + np.arange(len(others))
        texts = arrow.concat_arrays([arrow.array(self.outcomes), others.cast(arrow.string())])
        # encoded by itself: the dictionary must not tell an order, or a text that is not there
        return texts.take(arrow.array(codes, mask=gaps)).dictionary_encode()


# --------------------------------------------------------------------------------------------------
# Chance: all of it from the operating system, and every outcome exactly as likely as it is said to be.
# --------------------------------------------------------------------------------------------------


def _below(size: int, count: int) -> NDArray[np.uint64]:
    """Return independent whole numbers, uniform from 0 to below a size."""
    last = 2**64 - 1 - 2**64 % size
    found = np.empty(0, dtype=np.uint64)
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
    bits = np.uint64(max(count - 1, 1).bit_length())
    places = np.arange(count, dtype=np.uint64)
    while True:
        keys = np.frombuffer(os.urandom(8 * count), dtype=np.uint64) >> bits
        ordered = np.sort(keys << bits | places)
        if not np.any(ordered[1:] >> bits == ordered[:-1] >> bits):  # ties would keep the order that there was
            return (ordered & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)


def _buckets(count: int, buckets: int) -> NDArray[np.uint16]:
    """Return a bucket for every row, uniform among a power of two."""
    return np.frombuffer(os.urandom(2 * count), dtype=np.uint16) & np.uint16(buckets - 1)


# --------------------------------------------------------------------------------------------------
# Records in buckets.
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Scattered:
    """Packed records of a table, each in a bucket of its own chance."""

    columns: Mapping[str, PackedColumn]
    classes: int
    buckets: int
    file: Any
    bounds: list[IntArray] = field(default_factory=list[IntArray])
    texts: dict[int, list[tuple[str, IntArray, int, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = [(f"c{k}", column.packed) for k, column in enumerate(self.columns.values())]
        self.dtype = np.dtype([*kinds, ("class", np.min_scalar_type(self.classes - 1))])
        self.counts: IntArray = np.zeros((self.buckets, self.classes), dtype=np.int64)

    def add(self, batch: Any, keys: Mapping[str, Keys]) -> None:
        """Put the rows of a batch into buckets."""
        rows = np.empty(batch.num_rows, dtype=self.dtype)
        others: dict[str, tuple[Any, Any]] = {}
        for k, (name, column) in enumerate(self.columns.items()):
            values = batch.column(k)
            if not column.is_coded:
                rows[f"c{k}"] = column.numbers(values.to_numpy(zero_copy_only=False))
                continue
            labels = column.labels(keys[name])
            places = batch[f"p{k}"].to_numpy() if f"p{k}" in batch.schema.names else _places(values, list(labels))
            rows[f"c{k}"] = column.coded(places, labels)
            if column.is_text and not column.as_it_counts and values.null_count < len(values):
                found = (places == 0) & values.is_valid().to_numpy(zero_copy_only=False)
                rows[f"c{k}"][found] = column.gap + 1
                others[name] = values, found
        rows["class"] = batch.column(len(self.columns)).to_numpy(zero_copy_only=False)
        bucket = _buckets(len(rows), self.buckets)
        order = np.argsort(bucket, kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=self.buckets))
        starts = np.concatenate([[0], ends])
        for name, (values, found) in others.items():
            self._add_texts(name, values, found[order], order, starts)
        start = self.file.seek(0, os.SEEK_END)
        self._write(rows.take(order))
        self.bounds.append(start + starts * self.dtype.itemsize)
        cells = np.bincount(bucket * np.int64(self.classes) + rows["class"], minlength=self.counts.size)
        self.counts += cells.reshape(self.counts.shape)

    def _write(self, content: Any) -> None:
        try:
            self.file.write(memoryview(content).cast("B") if len(content) else b"")
        except OSError as error:
            raise FileError(
                "the folder of temporary files must have room for the table",
                found=error.strerror or "an error",
                remedy="Make room, or name another folder in the variable TMPDIR.",
            ) from None

    def _add_texts(self, name: str, values: Any, found: Any, order: IntArray, starts: IntArray) -> None:
        """Write texts that have no place behind the records, bucket by bucket, with their places in it."""
        for bucket in np.unique(np.searchsorted(starts, np.flatnonzero(found), "right") - 1).tolist():
            low, high = starts[bucket], starts[bucket + 1]
            places = np.flatnonzero(found[low:high])
            content = _serialized(values.take(_arrow(order[low:high][places])))
            start = self.file.seek(0, os.SEEK_END)
            self._write(content)
            place = places + int(self.counts[bucket].sum())
            self.texts.setdefault(bucket, []).append((name, place, start, len(content)))

    def bucket(self, place: int) -> tuple[Rows, dict[str, tuple[IntArray, Any]]]:
        """Return the records of a bucket, and of each column the texts that have no place, with where they are."""
        rows = np.empty(int(self.counts[place].sum()), dtype=self.dtype)
        content, filled = memoryview(rows).cast("B") if len(rows) else memoryview(b""), 0
        for bounds in self.bounds:
            low, high = int(bounds[place]), int(bounds[place + 1])
            self.file.seek(low)
            filled += self.file.readinto(content[filled : filled + high - low])
        assert filled == len(content)
        texts: dict[str, list[tuple[IntArray, Any]]] = {}
        for name, places, start, size in self.texts.get(place, ()):
            self.file.seek(start)
            texts.setdefault(name, []).append((places, _deserialized(self.file.read(size))))
        return rows, {name: _joined(parts) for name, parts in texts.items()}


def _places(values: Any, labels: Sequence[Category | float]) -> Rows:
    """Return the places of values among labels, from 1, and 0 for those that are none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = cast(Any, pc).index_in(values, value_set=cast(Any, pa).array(labels, values.type))
    return cast(Any, pc).fill_null(found, -1).to_numpy() + 1


def _arrow(values: Any) -> Any:
    import pyarrow as pa

    return cast(Any, pa).array(values)


def _serialized(texts: Any) -> bytes:
    import pyarrow as pa

    arrow = cast(Any, pa)
    batch = arrow.record_batch([texts.cast(arrow.large_string())], names=["texts"])
    return batch.serialize().to_pybytes()


def _deserialized(content: bytes) -> Any:
    import pyarrow as pa

    arrow = cast(Any, pa)
    return arrow.ipc.read_record_batch(content, arrow.schema([("texts", arrow.large_string())])).column(0)


def _joined(parts: Sequence[tuple[IntArray, Any]]) -> tuple[IntArray, Any]:
    import pyarrow as pa

    return np.concatenate([places for places, _ in parts]), cast(Any, pa).concat_arrays([texts for _, texts in parts])


# --------------------------------------------------------------------------------------------------
# One scan of a table of any engine, as batches of Arrow.
# --------------------------------------------------------------------------------------------------


def _scan(
    data: object, schema: Schema, names: Sequence[str], predicates: Sequence[Predicate], scattered: _Scattered
) -> None:
    read = dict.fromkeys([*names, *sorted(frozenset[str]().union(*(each.columns for each in predicates)))])
    columns = {name: schema[name] for name in read}
    kept = [nw.col(f"c{k}").alias(f"r{k}") for k in range(len(names))]
    for part in partitions(data):
        with opened(part, columns, doubles=True, dialect=dialect_of(schema)) as frame:
            keys = keys_in(frame, columns)
            clean = cleaned(frame, columns, kept)
            terms = integer_terms([Indicator(each) for each in predicates[1:]], clean, columns, schema.records)
            number = [term * (k + 1) for k, term in enumerate(terms)]
            code = reduce(lambda left, right: left + right, number) if number else nw.lit(0.0)
            letter = "c" if next(iter(scattered.columns.values())).as_it_counts else "r"
            values = [nw.col(f"{letter}{k}").alias(f"v{k}") for k in range(len(names))]
            texts = {
                f"v{k}": [label for label in column.labels(keys[name]) if isinstance(label, str)]
                for k, (name, column) in enumerate(scattered.columns.items())
                if column.is_coded
            }
            for batch in _ahead(_batches(clean.select(*values, code.alias("class")), texts)):
                scattered.add(batch, keys)


def _batches(frame: Frame, texts: Mapping[str, Sequence[str]]) -> Iterator[Any]:
    engine, native = frame.implementation, cast(Any, frame.to_native())
    if engine.is_duckdb():
        return iter(_with_places(native, texts).to_arrow_reader(ROWS_AT_ONCE))
    if engine.is_ibis():
        return iter(native.to_pyarrow_batches(chunk_size=ROWS_AT_ONCE))
    return iter(cast(Any, collected(frame).to_arrow()).to_batches(max_chunksize=ROWS_AT_ONCE))


def _with_places(relation: Any, texts: Mapping[str, Sequence[str]]) -> Any:
    """Return a relation of DuckDB with the places of texts among labels, from 1, and only such texts as have none.

    DuckDB looks up each text of a dictionary once, where Arrow would look up every row.
    """
    places = {
        name: f"list_position([{', '.join(map(quoted, labels))}], {name})" for name, labels in texts.items() if labels
    }
    fields = [
        f"CASE WHEN {places[name]} IS NULL THEN {name} END AS {name}" if name in places else name
        for name in relation.columns
    ]
    added = (f"coalesce({place}, 0)::INTEGER AS p{name[1:]}" for name, place in places.items())
    return relation.project(", ".join([*fields, *added]))


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
) -> Generator[ClassedRows]:
    """Read a table once, and count the records of every class; nothing goes out yet.

    Parameters
    ----------
    data : table, str or path
        As `bnpriv.release` takes it.
    schema : Schema
        Columns and number of records.
    columns : sequence of str
        Those that are handed on, at least one.
    predicates : sequence of Predicate
        One for each class: every record satisfies exactly one. Without any, all records are one class.
    as_they_count : bool
        Whether numbers are clamped, gaps filled and categories canonical, or values are handed on as they are read:
        whole numbers rounded, what is no value of the column a gap, texts as they are.
    folder : Path, optional
        Where records are kept meanwhile that do not fit into memory, in a file without a name.

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
    require_arrow()
    packed = {name: PackedColumn(schema[name], as_they_count) for name in columns}
    buckets = 2 ** min(16, max(0, (schema.records // BUCKET).bit_length()))
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY, dir=folder) as file:
        scattered = _Scattered(packed, max(1, len(predicates)), buckets, file)
        guarded(data, lambda: _scan(data, schema, columns, predicates, scattered))
        require_rows(int(scattered.counts.sum()), schema)
        yield ClassedRows(data, schema, scattered)


def require_arrow() -> None:
    """Refuse to go on without PyArrow.

    Raises
    ------
    MissingExtraError
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "a table that is handed on needs pyarrow",
            found="no pyarrow",
            remedy='Install it: pip install "bnpriv[tables]".',
        ) from None


def read_files(data: object, output: Path) -> list[Path]:
    """Return the files of a table, none of which an output may replace."""
    if not isinstance(data, (str, os.PathLike)):
        return []
    return data_files(os.fspath(cast("str | os.PathLike[str]", data)), output)


@final
class ClassedRows:
    """The records of a table by class, to be handed on once.

    Parameters
    ----------
    data : object
    schema : Schema
    scattered : object
        The packed records.

    Attributes
    ----------
    counts : tuple of int
        The records of every class: private, not shown.
    """

    def __init__(self, data: object, schema: Schema, scattered: _Scattered) -> None:
        self._data, self._schema = data, schema
        self._scattered: _Scattered | None = scattered
        self.counts: tuple[int, ...] = tuple(scattered.counts.sum(axis=0).tolist())

    def handed_on(
        self,
        keep: Sequence[int],
        made_up: Mapping[str, Sequence[Any]] = {},
        beside: Mapping[str, Callable[[int], Sequence[Any]]] = {},
        output: Path | None = None,
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
            A table of the kind that came in, of Arrow for a path or a database; or the path of the output.

        Raises
        ------
        FileError
            If the output cannot be written, or is a file of the table.
        RefusedError
            If records were handed on before.
        """
        scattered, self._scattered = self._scattered, None
        if scattered is None:
            raise RefusedError(
                "the records of a table are handed on once", found="a second time", remedy="Open the table again."
            )
        if len(keep) != len(self.counts) or not all(0 <= kept <= n for kept, n in zip(keep, self.counts, strict=True)):
            raise ParameterError(
                "keep must be a number of records for each class that it has", found="another", remedy="Correct it."
            )
        fresh = {name: (PackedColumn(self._schema[name], True), make) for name, make in beside.items()}
        groups = _groups(_pieces(scattered, keep, made_up), fresh)
        columns = scattered.columns | {name: column for name, (column, _) in fresh.items()}
        if output is None:
            return guarded(self._data, lambda: _of_engine(_table(groups, columns), columns, self._data))
        with outputs(output, reading=read_files(self._data, output)) as out:
            guarded(self._data, lambda: out.fill(output, lambda path: _write(groups, columns, path)))
        return output


def _pieces(scattered: _Scattered, keep: Sequence[int], made_up: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    """Yield every bucket shuffled, as a table of Arrow."""
    import pyarrow as pa

    ends = np.cumsum(scattered.counts, axis=0)
    # ranks among the records of a class, which lie in the order of their buckets
    out = [_distinct(int(n), int(n) - kept) for n, kept in zip(ends[-1], keep, strict=True)]
    new = np.empty(len(next(iter(made_up.values()), ())), dtype=scattered.dtype)
    for k, (name, column) in enumerate(scattered.columns.items() if made_up else ()):
        new[f"c{k}"] = column.made_up(made_up[name])
    where = _buckets(len(new), scattered.buckets)
    for place in range(scattered.buckets):
        rows, texts = scattered.bucket(place)
        stays = np.ones(len(rows), dtype=np.bool_)
        for code, ranks in enumerate(out):
            end = ends[place, code]
            low, high = np.searchsorted(ranks, [end - scattered.counts[place, code], end])
            if high > low:
                first = end - scattered.counts[place, code]
                stays[np.flatnonzero(rows["class"] == code)[ranks[low:high] - first]] = False
        added = new[where == place]
        order = _permutation(len(rows) + len(added))
        order = order[np.concatenate([stays, np.ones(len(added), dtype=np.bool_)])[order]]
        chosen = np.concatenate([rows, added]).take(order)
        arrays = [
            column.unpacked(chosen[f"c{k}"], _texts_of(column, chosen[f"c{k}"], order, texts.get(name)))
            for k, (name, column) in enumerate(scattered.columns.items())
        ]
        yield cast(Any, pa).table(arrays, names=list(scattered.columns))


def _texts_of(column: PackedColumn, packed: Rows, order: IntArray, texts: tuple[IntArray, Any] | None) -> Any:
    """Return the texts without a place among the rows that are handed on, in their new order."""
    if texts is None:
        return None
    places, values = texts
    sorting = np.argsort(places)
    wanted = order[packed == column.gap + 1]
    return values.take(_arrow(sorting[np.searchsorted(places, wanted, sorter=sorting)]))


def _groups(pieces: Iterable[Any], fresh: Mapping[str, tuple[PackedColumn, Any]]) -> Iterator[Any]:
    """Yield the same rows in tables of one size, but for the last, with the columns that are made anew."""
    import pyarrow as pa

    arrow = cast(Any, pa)
    waiting: Any = None
    for piece in pieces:
        waiting = piece if waiting is None else arrow.concat_tables([waiting, piece])
        while waiting.num_rows >= ROWS_AT_ONCE:
            yield _with_fresh(waiting.slice(0, ROWS_AT_ONCE), fresh)
            waiting = waiting.slice(ROWS_AT_ONCE)
    if waiting.num_rows:
        yield _with_fresh(waiting, fresh)


def _with_fresh(group: Any, fresh: Mapping[str, tuple[PackedColumn, Any]]) -> Any:
    for name, (column, make) in fresh.items():
        group = group.append_column(name, column.unpacked(column.made_up(make(group.num_rows))))
    return group


def _ahead(groups: Iterator[Any], most: int = 2) -> Iterator[Any]:
    """Yield the same, some of which are made in another thread meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, groups, None) for _ in range(most))
        while (group := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, groups, None))
            yield group


def _schema_of(columns: Mapping[str, PackedColumn]) -> Any:
    import pyarrow as pa

    arrow = cast(Any, pa)
    return arrow.schema([arrow.field(name, c.arrow_type, nullable=c.is_nullable) for name, c in columns.items()])


def _write(groups: Iterator[Any], columns: Mapping[str, PackedColumn], path: Path) -> None:
    import pyarrow.parquet as pq

    schema, parquet = _schema_of(columns), cast(Any, pq)
    texts = [name for name, column in columns.items() if column.is_text]
    with path.open("r+b") as file:
        with parquet.ParquetWriter(file, schema, store_schema=False, use_dictionary=texts) as writer:
            for group in _ahead(groups):
                writer.write_table(group.unify_dictionaries().cast(schema), row_group_size=ROWS_AT_ONCE)
        file.flush()
        os.fsync(file.fileno())


def _table(groups: Iterator[Any], columns: Mapping[str, PackedColumn]) -> Any:
    """Return one Arrow table, of plain types."""
    import pyarrow as pa

    arrow = cast(Any, pa)
    schema = _schema_of(columns)
    plain = arrow.schema([each.with_type(arrow.string()) if columns[each.name].is_text else each for each in schema])
    return arrow.concat_tables([plain.empty_table(), *(group.cast(plain) for group in groups)])


def _of_engine(table: Any, columns: Mapping[str, PackedColumn], data: object) -> Any:
    """Return a table of the library that the data are of; Arrow's for a path or a database."""
    native = cast(Any, data).to_native() if type(data).__module__.startswith("narwhals.") else data
    match type(native).__module__.partition(".")[0].lstrip("_"):
        case "pandas":
            return _pandas(table, columns)
        case "polars":
            import polars as pl

            found = cast(Any, pl).from_arrow(table)
            return found.lazy() if type(native).__name__ == "LazyFrame" else found
        case "duckdb":
            import duckdb

            return duckdb.from_arrow(table)
        case "dask" | "dask_expr":
            import dask.dataframe as dd

            return cast(Any, dd).from_pandas(_pandas(table, columns), npartitions=1 + table.num_rows // ROWS_AT_ONCE)
        case "ibis":
            import ibis

            return cast(Any, ibis).memtable(table)
        case _:
            return table


def _pandas(table: Any, columns: Mapping[str, PackedColumn]) -> Any:
    import pandas as pd
    import pyarrow as pa

    arrow = cast(Any, pa)
    gaps = {arrow.int64(): pd.Int64Dtype(), arrow.bool_(): pd.BooleanDtype()}
    return pd.DataFrame(
        {
            name: table[name].to_pandas(types_mapper=gaps.get if column.is_nullable else None)
            for name, column in columns.items()
        }
    )
