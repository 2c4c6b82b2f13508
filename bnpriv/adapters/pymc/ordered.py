"""Vectors whose entries PyMC keeps in order by a transform: the law that this makes of the declared one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from bnpriv.adapters.pymc.backend import usual_transform
from bnpriv.bound import FloatArray

Order = Literal["", "ascending", "descending"]

MOST_REDRAWS = 10_000
"""Vectors are drawn again at most so often until their entries are in order."""

_INCREASING = frozenset({"LogTransform", "LogExpM1", "LogOddsTransform", "Interval"})


def order_of(model: Any, rv: Any) -> Order | None:
    """Return in which order the entries of a variable are kept, or None if its transform is another."""
    chosen, usual = model.rvs_to_transforms.get(rv), usual_transform(rv)
    names = [type(each).__name__ for each in getattr(chosen, "transform_list", [chosen])]
    own = type(usual).__name__
    if names in ([own], ["NoneType"]) or ({names[0], own} == {"LogTransform", "LogExpM1"} and len(names) == 1):
        return ""
    # an increasing transform before keeps the order
    if names[-1] != "Ordered" or not set(names[:-1]) <= _INCREASING & {own}:
        return None
    last = getattr(chosen, "transform_list", [chosen])[-1]
    if getattr(last, "positive", False):
        return None
    return "ascending" if getattr(last, "ascending", True) else "descending"


def in_order(drawn: FloatArray, order: Order) -> FloatArray:
    """Return vectors with their entries in order: independent and alike ones have the law given the order."""
    found = np.sort(drawn, axis=-1)
    return found if order == "ascending" else found[..., ::-1]


def given_order(draw: Callable[[int], FloatArray], count: int, order: Order) -> FloatArray:
    """Return `count` draws of whole vectors, each the first of which the entries are in order."""
    found = draw(count)
    wrong = _wrong(found, order)
    for _ in range(MOST_REDRAWS):
        rows = np.flatnonzero(wrong.reshape((count, -1)).any(axis=1))
        if not len(rows):
            return found
        again = draw(len(rows))
        found[rows] = np.where(wrong[rows][..., np.newaxis], again, found[rows])
        wrong[rows] &= _wrong(again, order)
    raise ValueError("entries that are hardly ever in order")


def _wrong(drawn: FloatArray, order: Order) -> Any:
    steps = np.diff(drawn, axis=-1)
    return (steps < 0 if order == "ascending" else steps > 0).any(axis=-1)
