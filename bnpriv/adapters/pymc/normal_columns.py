"""Columns of a PyMC model that are normal about numbers affine in its parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bnpriv.adapters.pymc.gaussian import is_linear, regression
from bnpriv.adapters.pymc.roles import Roles
from bnpriv.adapters.pymc.sets import Element
from bnpriv.errors import NetworkError
from bnpriv.networks.normal_columns import NormalColumn

MOST_COEFFICIENTS = 2**25
"""Coefficients of all records of a column under all models."""


def normal_columns(roles: Roles, driven: Mapping[str, tuple[str, ...]]) -> dict[str, NormalColumn]:
    """Return the columns whose records are independent and normal about affine functions of parameters, by name."""
    found: dict[str, NormalColumn] = {}
    for column, elements in roles.columns.items():
        known = _column(roles, elements, driven[column])
        if known is not None:
            found[column] = known
    return found


def _column(roles: Roles, elements: tuple[Element, ...], drivers: tuple[str, ...]) -> NormalColumn | None:
    variable = roles.structure.variables[elements[0][0]]
    given = roles.names | roles.fixed.keys()
    plain = variable.name in roles.own and not variable.is_joint and given.issuperset(variable.parents)
    size = roles.models_of(variable) * variable.size * (len(drivers) + 1)
    if not plain or not is_linear(roles, variable) or size > MOST_COEFFICIENTS:
        return None
    try:
        above, base, slopes, deviation = regression(roles, variable)
    except NetworkError:  # draws can still tell
        return None
    places = [k for _, k in elements]
    names = tuple(roles.structure.element(each) for each in above)
    known = NormalColumn(drivers=names, base=base[:, places], slopes=slopes[:, places], deviation=deviation[:, places])
    finite = all(bool(np.isfinite(each).all()) for each in (known.base, known.slopes, known.deviation))
    return known if finite and bool((known.deviation > 0).all()) else None
