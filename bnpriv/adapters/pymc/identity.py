"""A hash of a PyMC model, by which calibrations tell models apart."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.expressions import ancestors
from bnpriv.adapters.pymc.roles import Roles


def identity_of(roles: Roles) -> str:
    """Return a hash of all expressions, constants and draws of a model."""
    digest = hashlib.sha256(repr(sorted(roles.columns.items())).encode())
    for name in sorted(roles.fixed):
        digest.update(name.encode() + roles.fixed[name].tobytes())
    places: dict[Any, int] = {}
    for here in ancestors([each.rv for each in roles.structure.variables.values()], set()):
        places[here] = len(places)
        if here.owner is not None:
            above = [places[each] for each in here.owner.inputs]
            digest.update(f"{here.owner.op} {here.owner.outputs.index(here)} {above}".encode())
            continue
        held = getattr(here, "data", None) if hasattr(here, "data") else _shared(here)
        digest.update(f"{here.type} {'' if held is None else np.asarray(held).tolist()}".encode())
    return digest.hexdigest()


def _shared(variable: Any) -> Any:
    """Return the value of a Data container or the length of a dimension; nothing for a random generator."""
    return variable.get_value() if hasattr(variable.type, "ndim") and hasattr(variable, "get_value") else None
