"""Which expressions of a model are affine in its random variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bnpriv.adapters.pymc.expressions import MOVES, ancestors

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
    for here in ancestors(roots, ends):
        if here in varies:
            known[here] = AFFINE
        elif here.owner is None or here in ends:
            known[here] = CONSTANT
        else:
            known[here] = _degree(here.owner.op, [known[above] for above in here.owner.inputs])
    return [known[root] for root in roots]


def _degree(op: Any, above: Sequence[int]) -> int:
    most = max(above, default=CONSTANT)
    if most in (CONSTANT, OTHER):
        return most
    kind = type(op).__name__
    scalar = type(getattr(op, "scalar_op", None)).__name__
    if scalar == "Second":  # the second, with the shape of the first
        return above[1]
    if kind == "Elemwise":
        one = sum(degree == AFFINE for degree in above) == 1
        fine = scalar in _SUMS or (scalar == "Mul" and one) or (scalar == "TrueDiv" and above[1] == CONSTANT)
    elif kind == "Blockwise":
        fine = type(op.core_op).__name__ in _PRODUCTS and sum(degree == AFFINE for degree in above) == 1
    elif kind in _PRODUCTS:
        fine = sum(degree == AFFINE for degree in above) == 1
    elif kind in MOVES:
        fine = all(degree == CONSTANT for degree in above[1:])
    else:
        fine = kind in ("Sum", "MakeVector", "Join", "ScalarFromTensor", "TensorFromScalar")
    return AFFINE if fine else OTHER
