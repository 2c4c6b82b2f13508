"""A PyMC model becomes the most exact network that it allows, and every variable is told what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from bnpriv.adapters.pymc.column_laws import record_laws
from bnpriv.adapters.pymc.densities import density_network, has_density
from bnpriv.adapters.pymc.evaluation import check_orders
from bnpriv.adapters.pymc.finite import discrete_network, finite_states
from bnpriv.adapters.pymc.gaussian import gaussian_network, is_linear
from bnpriv.adapters.pymc.identity import identity_of
from bnpriv.adapters.pymc.posterior import draws_of, posterior_of
from bnpriv.adapters.pymc.records import record_network
from bnpriv.adapters.pymc.roles import Columns, Roles, roles_of
from bnpriv.adapters.pymc.structure import Variable, structure_of, unsupported
from bnpriv.checks import listing
from bnpriv.errors import NetworkError
from bnpriv.networks import DensityNetwork, DiscreteNetwork, GaussianNetwork
from bnpriv.networks.reading import NodeReading, Reading, Treatment


def network_of(
    model: Any, columns: Columns, posterior: Any, thin: int, fix: Iterable[str] | None
) -> DiscreteNetwork | GaussianNetwork | DensityNetwork:
    """Return the network; see `bnpriv.from_pymc`."""
    structure = structure_of(model)
    check_orders(structure.variables)
    roles = roles_of(structure, columns, draws_of(structure, posterior, thin, fix))
    if not roles.parameters:
        reading = _reading(roles, {}, "exact", "one record, given each draw")
        return replace(record_network(roles), posterior_draws=posterior_of(roles, posterior), reading=reading)
    driven = {column: roles.drivers(column) for column in roles.columns}
    _check_names(roles, driven)
    states = {variable.name: finite_states(variable) for variable in roles.parameters}
    finite = {name: found for name, found in states.items() if found is not None}
    if len(finite) == len(states):
        network = discrete_network(roles, finite)
        reading = _reading(
            roles, driven, "exact", "all parameters have finitely many values", record_laws(roles, driven, finite)
        )
        # without columns that its variables drive, a variable may be a parameter or a column of one record
        reading = replace(reading, level_assumed=not driven)
        return replace(network, posterior_draws=posterior_of(roles, posterior), reading=reading)
    if all(is_linear(roles, variable) for variable in roles.parameters):
        reading = _reading(roles, driven, "exact", "all parameters are normal, with means affine in their parents")
        forward = density_network(roles, reading) if roles.columns and not roles.fixed else None
        return gaussian_network(roles).read_as(reading, posterior_of(roles, posterior), forward)
    if roles.fixed:
        raise NetworkError(
            "models for each draw of a posterior must be discrete or linear-Gaussian",
            found=f"others, for {listing(v.name for v in roles.parameters if not _is_exact(roles, v))}",
            remedy="Pass draws of these too, or leave out posterior= and read the model with its priors.",
        )
    return density_network(roles, _reading(roles, driven, None, ""))


def _is_exact(roles: Roles, variable: Variable) -> bool:
    return finite_states(variable) is not None or is_linear(roles, variable)


def _check_names(roles: Roles, driven: dict[str, tuple[str, ...]]) -> None:
    names = {name for variable in roles.parameters for name in variable.names}
    twice = [column for column, above in driven.items() if column in names and above != (column,)]
    if twice:
        raise NetworkError(
            "a column must not have the name of a parameter that does not govern it",
            found=listing(twice),
            remedy="Rename the column in columns= and in the schema.",
        )


def _reading(
    roles: Roles,
    driven: dict[str, tuple[str, ...]],
    treatment: Treatment | None,
    why: str,
    laws: Mapping[str, tuple[object, ...]] | None = None,
) -> Reading:
    nodes: list[NodeReading] = []
    for variable in roles.structure.variables.values():
        if variable.name in roles.names:
            how, reason = (treatment, why) if treatment is not None else _treatment(variable)
            nodes.append(_node(variable, "parameter", how, reason))
        elif variable.name in roles.fixed:
            nodes.append(_node(variable, "fixed", "exact", f"fixed to {roles.models:,} draws of a posterior"))
        elif variable.name in roles.own:
            column = _column(roles, variable, driven, laws or {}) if driven else _node(variable, "column", "exact", why)
            nodes.append(column)
    return Reading(nodes=tuple(nodes), columns=driven, laws=laws or {}, identity=identity_of(roles))


def _node(variable: Variable, role: Any, treatment: Treatment, reason: str) -> NodeReading:
    entries = f"{variable.name}[{variable.size} entries]" if variable.size > 1 else variable.name
    return NodeReading(name=entries, law=variable.law, role=role, treatment=treatment, reason=reason)


def _treatment(variable: Variable) -> tuple[Treatment, str]:
    refused = unsupported(variable)
    if refused is not None:
        return "refused", refused
    if finite_states(variable) is not None:
        return "quadrature", "finitely many values, below or above continuous ones"
    if has_density(variable):
        return "quadrature", "continuous, known by its density"
    if not str(variable.rv.dtype).startswith("float"):
        return "draws", "whole numbers without end"
    if variable.is_joint:
        return "draws", "its entries are drawn together"
    return "draws", "made of other laws, without a plain density"


def _column(
    roles: Roles, variable: Variable, driven: dict[str, tuple[str, ...]], laws: Mapping[str, object]
) -> NodeReading:
    refused = unsupported(variable)
    if refused is not None:
        return _node(variable, "column", "refused", f"{refused}; noise that hides it whole needs no law of it")
    held = [column for column, elements in roles.columns.items() if elements[0][0] == variable.name]
    above = sorted({name for column in held for name in driven[column]})
    shown = listing(above) if len(above) <= 4 else f"{len(above)} parameters"
    if all(column in laws for column in held):
        return _node(variable, "column", "exact", f"driven by {shown}; its records are independent and alike")
    if roles.fixed:
        return _node(variable, "column", "exact", f"driven by {shown}, by whose influence it is bounded")
    return _node(variable, "column", "draws", f"driven by {shown}; sums of its records are drawn")
