"""Many models of Theta, in blocks that fit into memory, by one process or by many: the answers are the same bits.

Why the bits are the same is statement 6 of docs/claims/junction.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.influence.junction_ratios import Passes, TreeNumbers, largest_ratios
from bnpriv.influence.junction_weights import OutOfRangeError

TASKS_PER_WORKER = 4
"""Tasks for each worker: one that is slow then holds up the others by little."""

MOST_SENT_CELLS = 2**22
"""Cells of the tables that are sent to a worker at once: 32 MiB."""

RowRatios = dict[int, FloatArray]
ImpossibleStates = dict[int, NDArray[np.bool_]]


def ratios_of_models(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray], workers: int | None
) -> tuple[RowRatios, ImpossibleStates]:
    """What `largest_ratios` does, of any number of models.

    Parameters
    ----------
    numbers : TreeNumbers
    passes : Passes
    logs : sequence of ndarray
        The tables of the models, of shape (models, *sizes); one model where all agree.
    workers : int, optional
        Among how many workers of joblib the models are shared out; None for what `joblib.parallel_config` says.

    Raises
    ------
    OutOfRangeError
        If probabilities of one model are too small for doubles.
    """
    models = _count(logs)
    if models == 1:
        return largest_ratios(numbers, passes, logs)
    with _one_thread():
        if workers == 1:
            found = [ratios_by_blocks(numbers, passes, logs)]
        else:
            found = _shared_out(numbers, passes, logs, workers)
    parts = [each for each in found if each is not None]
    if len(parts) < len(found):
        raise OutOfRangeError
    return _joined(parts)


def ratios_by_blocks(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray]
) -> tuple[RowRatios, ImpossibleStates] | None:
    """What `largest_ratios` does, in blocks; None where probabilities of one model are too small for doubles.

    This is what a worker does. The libraries of linear algebra share a product out among threads in ways that may show
    in its last bit, and would do so by as many as the worker happens to have: here each has one.
    """
    parts: list[tuple[RowRatios, ImpossibleStates]] = []
    with _one_thread():
        for start in range(0, _count(logs), passes.models):
            part = _block(numbers, passes, _cut(logs, start, start + passes.models))
            if part is None:
                return None
            parts.append(part)
    return _joined(parts)


def _block(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray]
) -> tuple[RowRatios, ImpossibleStates] | None:
    try:
        return largest_ratios(numbers, passes, logs)
    except OutOfRangeError:
        models = _count(logs)
        if models == 1:
            return None
    # the smallest entries of two tables may be those of two models, and their product may not happen in either
    first = _block(numbers, passes, _cut(logs, 0, models // 2))
    second = None if first is None else _block(numbers, passes, _cut(logs, models // 2, models))
    return None if first is None or second is None else _joined([first, second])


def _shared_out(
    numbers: TreeNumbers, passes: Passes, logs: Sequence[FloatArray], workers: int | None
) -> list[tuple[RowRatios, ImpossibleStates] | None]:
    import joblib

    library: Any = joblib  # without types
    models, cells = _count(logs), sum(each[0].size for each in logs)
    share = math.ceil(models / (TASKS_PER_WORKER * max(1, library.effective_n_jobs(workers))))
    share = min(share, max(1, MOST_SENT_CELLS // cells))
    work = library.delayed(ratios_by_blocks)
    tasks: Iterator[object] = (
        work(numbers, passes, _cut(logs, start, start + share)) for start in range(0, models, share)
    )
    return list(library.Parallel(n_jobs=workers)(tasks))


def _joined(parts: Sequence[tuple[RowRatios, ImpossibleStates]]) -> tuple[RowRatios, ImpossibleStates]:
    rows = list(parts[0][0])
    worst = {row: np.fmax.reduce([ratios[row] for ratios, _ in parts]) for row in rows}
    gone = [impossible for _, impossible in parts]
    return worst, {row: np.concatenate([impossible[row] for impossible in gone]) for row in rows}


def _count(logs: Sequence[FloatArray]) -> int:
    return max(len(each) for each in logs)


def _cut(logs: Sequence[FloatArray], start: int, stop: int) -> list[FloatArray]:
    return [each if len(each) == 1 else each[start:stop] for each in logs]


def _one_thread() -> AbstractContextManager[object]:
    import threadpoolctl

    library: Any = threadpoolctl  # without types
    return library.threadpool_limits(limits=1, user_api="blas")
