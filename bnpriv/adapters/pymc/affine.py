"""Which expressions of a model are affine in its random variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bnpriv.adapters.pymc.expressions import INSERTS, MOVES, ancestors, is_shape

CONSTANT, AFFINE, OTHER = 0, 1, 2

_SUMS = frozenset({"Add", "Sub", "Neg", "Identity", "Cast"})
_PRODUCTS = frozenset({"Dot", "BatchedDot", "Dot22", "MatMul", "Gemv"})


def degrees(roots: Sequence[Any], variables: Collection[Any], stops: Collection[Any]) -> list[int]:
    """Return for expressions whether they are constant, affine in `variables`, or neither as far as can be seen.

    Parameters
    ----------
    roots : sequence of TensorVariable
    variables : collection of TensorVariable
        What may vary.
    stops : collection of TensorVariable
        Where to stop; those that are not among `variables` are constants.
    """
    known: dict[Any, int] = {}
    varies, ends = set(variables), set(stops)
    for here in ancestors(roots, ends, values=True):
        if here in varies:
            known[here] = AFFINE
        elif here.owner is None or here in ends or is_shape(here):
            known[here] = CONSTANT
        else:
            known[here] = _degree(here, [known[above] for above in here.owner.inputs])
    return [known[root] for root in roots]


def _degree(variable: Any, above: Sequence[int]) -> int:
    most = max(above, default=CONSTANT)
    if most in (CONSTANT, OTHER):
        return most
    op = variable.owner.op
    kind = type(op).__name__
    if getattr(variable, "dtype", "float64") != "float64":  # rounded on the way
        return OTHER
    if kind == "Elemwise":
        return _entrywise(type(op.scalar_op).__name__, above)
    one = sum(degree == AFFINE for degree in above) == 1
    if kind == "Blockwise":
        fine = type(op.core_op).__name__ in _PRODUCTS and one
    elif kind in _PRODUCTS:
        fine = one
    elif kind in MOVES or kind in INSERTS:
        fine = all(degree == CONSTANT for degree in above[1 + (kind in INSERTS) :])
    elif kind == "CumOp":
        fine = op.mode == "add"
    else:
        fine = kind in ("Sum", "MakeVector", "Join", "ScalarFromTensor", "TensorFromScalar")
    return AFFINE if fine else OTHER


def _entrywise(scalar: str, above: Sequence[int]) -> int:
    """Return the degree of what a function of numbers makes of arrays that are not all constant."""
    if scalar == "Second":  # the second, with the shape of the first
        return above[1]
    if scalar == "Mul":
        fine = sum(degree == AFFINE for degree in above) == 1
    elif scalar == "TrueDiv":
        fine = above[1] == CONSTANT
    elif scalar == "Switch":
        fine = above[0] == CONSTANT
    else:
        fine = scalar in _SUMS
    return AFFINE if fine else OTHER
