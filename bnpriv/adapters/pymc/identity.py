"""A hash of a PyMC model, by which calibrations tell models apart."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from bnpriv.adapters.pymc.expressions import ancestors
from bnpriv.adapters.pymc.roles import Roles


def identity_of(roles: Roles) -> str:
    """Return a hash of all names, expressions, constants and draws of a model."""
    structure = roles.structure
    digest = hashlib.sha256(repr(sorted(roles.columns.items())).encode())
    for name in sorted(roles.fixed):
        digest.update(name.encode() + roles.fixed[name].tobytes())
    for name, variable in structure.variables.items():
        digest.update(repr((name, variable.names, structure.coords.get(f"{name}_states"), variable.order)).encode())
    _add(digest, [each.rv for each in structure.variables.values()])
    return digest.hexdigest()


def _add(digest: Any, roots: Sequence[Any]) -> None:
    """Add expressions to a hash; what an operation is made of inside counts too."""
    places: dict[Any, int] = {}
    for here in ancestors(roots, set()):
        places[here] = len(places)
        if here.owner is not None:
            above = [places[each] for each in here.owner.inputs]
            digest.update(repr((str(here.owner.op), here.owner.outputs.index(here), above)).encode())
            digest.update(_code(here.owner.op))
            inside = getattr(here.owner.op, "fgraph", None)
            if inside is not None:
                _add(digest, [*inside.inputs, *inside.outputs])
            continue
        held = getattr(here, "data", None) if hasattr(here, "data") else _shared(here)
        array = np.asarray(held) if hasattr(here.type, "ndim") and held is not None else None
        digest.update(repr((str(here.type), None if array is not None else repr(held))).encode())
        digest.update(b"" if array is None else repr(array.shape).encode() + array.tobytes())
    digest.update(repr([places[root] for root in roots]).encode())


def _code(op: Any) -> bytes:
    """Return what tells an operation of the user's from others of its name: its code, and where it is in memory."""
    function = getattr(op, "_FromFunctionOp__fn", None)
    if function is None and type(op).__module__.split(".")[0] in ("pytensor", "pymc", "abc"):
        return b""
    code = getattr(function or cast(Any, type(op)).perform, "__code__", None)
    return repr((_PROCESS, id(op))).encode() + getattr(code, "co_code", b"")


_PROCESS = os.urandom(16)
"""Places in memory tell operations apart within one process only."""


def _shared(variable: Any) -> Any:
    """Return the value of a Data container or the length of a dimension; nothing for a random generator."""
    return variable.get_value() if hasattr(variable.type, "ndim") and hasattr(variable, "get_value") else None
