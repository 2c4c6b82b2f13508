"""Functions that draw laws that are made of others: all points at once where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.backend import compiled, of_many, own_generators, replaced, tensor, updates_of
from bnpriv.adapters.pymc.batched import aligned, batched
from bnpriv.bound import FloatArray

Drawer = Callable[..., Any]
"""A function of the number of points and of the values above, with an axis for points, to draws."""

ROUNDS = 1_000
"""Draws of a truncated law are tried again at most so often: of 1 in 100 that fit 4 in 100,000 are left."""


def drawer_of(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    """Return a function that draws a random variable given those above it, and its generators."""
    count, many = tensor().lscalar(), [of_many(each) for each in above]
    points = dict(zip(above, many, strict=True))
    try:
        if type(rv.owner.op).__name__ == "TruncatedRV":
            return _truncated(rv, count, points)
        drawn, generators = own_generators(batched([rv], points, count)[0])
        return compiled([count, *many], drawn), generators
    except NotImplementedError:  # loops, and laws that PyMC draws for one point at a time
        return _one_by_one(rv, above)


def _one_by_one(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    inputs = [each.type() for each in above]
    drawn, generators = own_generators(replaced(rv, dict(zip(above, inputs, strict=True))))
    function = compiled(inputs, drawn, updates=updates_of(inputs, drawn))
    return lambda count, *given: [function(*(each[i] for each in given)) for i in range(count)], generators


def _truncated(rv: Any, count: Any, points: dict[Any, Any]) -> tuple[Drawer, list[Any]]:
    """Draw the law that is not truncated, for every entry until a number lies between the bounds.

    PyMC's own way, by the inverse of the distribution function, loses all digits where both bounds lie far out.
    """
    *inputs, lower, upper = rv.owner.inputs
    whole = rv.owner.op.base_rv_op.make_node(*inputs).default_output()
    drawn, *ends = batched([whole, lower, upper], points, count)
    bounds = [aligned(end, own, whole.ndim) for end, own in zip(ends, (lower, upper), strict=True)]
    parts, generators = own_generators([drawn, *bounds])
    made = [count, *points.values()]
    function = compiled(made, parts, updates=updates_of(made, parts))

    def draw(number: int, *given: FloatArray) -> FloatArray:
        found, low, high = function(number, *given)
        wrong = (found < low) | (found > high)
        for _ in range(ROUNDS):
            rows = np.flatnonzero(wrong.reshape((number, -1)).any(axis=1))
            if not len(rows):
                return found
            again, low, high = function(len(rows), *(each[rows] for each in given))
            found[rows] = np.where(wrong[rows], again, found[rows])
            wrong[rows] &= (again < low) | (again > high)
        raise RuntimeError("bounds that too few draws lie between")

    return draw, generators
