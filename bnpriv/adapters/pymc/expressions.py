"""Walks over the expressions of a model, and the same expressions in double precision."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.backend import tensor
from bnpriv.errors import NetworkError

MOVES = frozenset(
    {"DimShuffle", "Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "Reshape", "SpecifyShape", "ViewOp", "Alloc"}
)
"""Operations that move the elements of what they are given first, to places that the rest tells."""

INSERTS = frozenset({"IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1"})
"""Operations that put the elements of what they are given second among those of the first, or add them to these."""

_LOW = ("float16", "float32")


def ancestors(roots: Sequence[Any], stops: Collection[Any], *, values: bool = False) -> list[Any]:
    """Return everything above `roots` and themselves, inputs first, not going beyond `stops`.

    Parameters
    ----------
    roots : sequence of Variable
    stops : set or mapping of Variable
    values : bool
        Leave out what matters for its shape only.

    Raises
    ------
    NetworkError
        If there is a cycle.
    """
    done: dict[Any, None] = {}
    open_: set[Any] = set()
    todo: list[tuple[Any, bool]] = [(root, False) for root in reversed(roots)]
    while todo:
        here, left = todo.pop()
        if left:
            open_.discard(here)
            done[here] = None
            continue
        if here in done:
            continue
        if here in open_:
            raise NetworkError(
                "the dependence graph must have no cycle",
                found=f"one through {here.name or 'a deterministic expression'!r}",
                remedy="Declare every variable before it is used, and change none afterwards.",
            )
        open_.add(here)
        todo.append((here, True))
        if here.owner is not None and here not in stops and not (values and is_shape(here)):
            todo += [(above, False) for above in reversed(here.owner.inputs) if above not in done]
    return list(done)


def is_shape(variable: Any) -> bool:
    """Return whether a variable is the shape, or a part of it, of an array whose shape no random number changes."""
    return type(variable.owner.op).__name__ in ("Shape", "Shape_i") and _fixed(variable.owner.inputs[0])


def _fixed(array: Any) -> bool:
    if array.owner is None or None not in array.type.shape or hasattr(array.owner.op, "ndim_supp"):
        return True
    return type(array.owner.op).__name__ in ("Elemwise", "DimShuffle") and all(map(_fixed, array.owner.inputs))


def in_double(roots: Sequence[Any], stops: Collection[Any]) -> tuple[Any, ...]:
    """Return the same expressions computed in double precision.

    Whole numbers and short decimals are kept in the smallest type that holds them exactly, and what is computed from
    them alone would be so in single precision.
    """
    known: dict[Any, Any] = {}
    for here in ancestors(roots, stops):
        owner: Any = here.owner
        if owner is None or here in stops:
            single = getattr(here, "dtype", "") in _LOW and hasattr(here, "data")
            known[here] = tensor().constant(np.asarray(here.data, dtype=np.float64)) if single else here
            continue
        above = [known[each] for each in owner.inputs]
        low = getattr(here, "dtype", "") in _LOW
        same = not low and all(a is b for a, b in zip(above, owner.inputs, strict=True))
        known[here] = here if same else _again(owner, owner.outputs.index(here), above, low=low)
    return tuple(known[root] for root in roots)


def _again(owner: Any, place: int, above: Sequence[Any], *, low: bool) -> Any:
    """Return what an operation makes of other inputs, in double precision if it made single."""
    op, kind = owner.op, type(owner.op).__name__
    if low:
        above = [_wide(each, whole=kind == "Elemwise") for each in above]
        if kind == "Elemwise" and type(op.scalar_op).__name__ == "Cast":
            return above[0]
        if kind == "MakeVector":
            op = type(op)(dtype="float64")
        elif kind in ("Sum", "Prod"):
            op = type(op)(axis=op.axis)
    try:
        return op.make_node(*above).outputs[place]
    except TypeError:  # a law made of others, or a loop, takes its numbers as they were
        pairs = zip(above, owner.inputs, strict=True)
        alike = (a if a.type == b.type or not hasattr(b, "dtype") else tensor().cast(a, b.dtype) for a, b in pairs)
        return op.make_node(*alike).outputs[place]


def _wide(variable: Any, *, whole: bool) -> Any:
    """Return a variable in double precision if it has single, or, with `whole`, holds whole numbers."""
    kinds = ("int", "uint", "float") if whole else _LOW
    return tensor().cast(variable, "float64") if str(getattr(variable, "dtype", "")).startswith(kinds) else variable
