"""Functions that draw laws that are made of others: all points at once where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bnpriv.adapters.pymc.backend import compiled, of_many, own_generators, replaced, tensor, updates_of
from bnpriv.adapters.pymc.batched import batched
from bnpriv.bound import FloatArray

Drawer = Callable[..., Any]
"""A function of the number of points and of the values above, with an axis for points, to draws."""


def drawer_of(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    """Return a function that draws a random variable given those above it, and its generators."""
    count, many = tensor().lscalar(), [of_many(each) for each in above]
    points = dict(zip(above, many, strict=True))
    try:
        drawn, generators = own_generators(batched([rv], points, count)[0])
        return compiled([count, *many], drawn), generators
    except NotImplementedError:  # loops, and laws that PyMC draws for one point at a time
        return _one_by_one(rv, above)


def _one_by_one(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    inputs = [each.type() for each in above]
    drawn, generators = own_generators(replaced(rv, dict(zip(above, inputs, strict=True))))
    function = compiled(inputs, drawn, updates=updates_of(inputs, drawn))

    def draw(count: int, *given: FloatArray) -> list[Any]:
        return [function(*(each[i] for each in given)) for i in range(count)]

    return draw, generators
