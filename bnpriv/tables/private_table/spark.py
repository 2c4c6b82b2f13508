"""Records of a Spark table, chosen by class and shuffled on the cluster: none but made-up ones pass the driver."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

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
