"""Which laws are known to give no single number a positive probability."""

from __future__ import annotations

from typing import Any

from bnpriv.adapters.pymc.backend import is_custom, is_plain, is_random, random_variables
from bnpriv.adapters.pymc.expressions import MOVES

_CONTINUOUS_IF_PARTS_ARE = frozenset(
    {
        "AutoRegressiveRV",
        "GARCH11RV",
        "KroneckerNormalRV",
        "LKJCorrRV",
        "MixtureRV",
        "MvStudentTRV",
        "PrecisionMvNormalRV",
        "RandomWalkRV",
        "ZeroSumNormalRV",
        "_LKJCholeskyCovRV",
    }
)


def has_no_atoms(rv: Any) -> bool:
    """Return whether a random variable is known to take every number with probability zero."""
    op = rv.owner.op
    if not str(rv.dtype).startswith("float") or is_custom(op):
        return False
    if isinstance(op, random_variables()) or is_plain(op):
        return True
    if type(op).__name__ == "TruncatedRV":
        return is_plain(op.base_rv_op)
    parts = [each for each in map(_unmoved, rv.owner.inputs) if each.owner is not None and is_random(each.owner.op)]
    return type(op).__name__ in _CONTINUOUS_IF_PARTS_ARE and all(map(has_no_atoms, parts))


def _unmoved(part: Any) -> Any:
    while part.owner is not None and type(part.owner.op).__name__ in MOVES:
        part = part.owner.inputs[0]
    return part
