"""Dask tables, taken apart: every partition is a table of pandas, and whole-number sums of partitions add exactly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")


def over_partitions(data: object, work: Callable[[object], T]) -> Sequence[T]:
    """Return what `work` makes of every partition of a Dask table, where Dask runs it; or of any other table, whole.

    Parameters
    ----------
    data : table, str or path
    work : callable
        From a table to a value that is small.

    Returns
    -------
    sequence
        In the order of the partitions; one value for a table that is not Dask's.
    """
    native = _dask(data)
    if native is None:
        return [work(data)]
    import dask

    engine = cast(Any, dask)
    return engine.compute(*(engine.delayed(work)(part) for part in native.to_delayed()))


def in_memory(data: object, columns: Collection[str]) -> object:
    """Return the columns that are asked for of a Dask table as a table of pandas; any other table as it is."""
    native = _dask(data)
    if native is None:
        return data
    return native.iloc[:, [place for place, name in enumerate(native.columns) if name in columns]].compute()


def _dask(data: object) -> Any:
    """Return the Dask table that `data` is or holds, or None."""
    native = cast(Any, data).to_native() if type(data).__module__.startswith("narwhals.") else data
    return native if type(native).__module__.split(".")[0] in ("dask", "dask_expr") else None
