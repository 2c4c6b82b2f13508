"""A hash of a PyMC model, by which calibrations tell models apart."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from bnpriv.adapters.pymc.expressions import ancestors
from bnpriv.adapters.pymc.roles import Roles
from bnpriv.digest import sha256


def identity_of(roles: Roles) -> str:
    """A hash of all names, expressions, constants and draws of a model."""
    structure = roles.structure
    return sha256(
        repr(sorted(roles.columns.items())),
        *(part for name in sorted(roles.fixed) for part in (name, roles.fixed[name])),
        *(
            repr((name, variable.names, structure.coords.get(f"{name}_states"), variable.order))
            for name, variable in structure.variables.items()
        ),
        *_parts([each.rv for each in structure.variables.values()]),
    )


def _parts(roots: Sequence[Any]) -> Iterator[str | bytes]:
    """Yield what tells expressions apart; what an operation is made of inside counts too."""
    places: dict[Any, int] = {}
    for here in ancestors(roots, set()):
        places[here] = len(places)
        if here.owner is not None:
            above = [places[each] for each in here.owner.inputs]
            yield repr((str(here.owner.op), here.owner.outputs.index(here), above))
            yield _code(here.owner.op)
            inside = getattr(here.owner.op, "fgraph", None)
            if inside is not None:
                yield from _parts([*inside.inputs, *inside.outputs])
            continue
        held = getattr(here, "data", None) if hasattr(here, "data") else _shared(here)
        array = np.asarray(held) if hasattr(here.type, "ndim") and held is not None else None
        yield repr((str(here.type), None if array is not None else repr(held)))
        if array is not None:
            yield repr(array.shape)
            yield array.tobytes()
    yield repr([places[root] for root in roots])


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
