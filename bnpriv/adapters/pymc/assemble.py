"""A PyMC model becomes the most exact network that it allows, and every variable is told what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

from bnpriv.adapters.pymc.column_laws import record_laws
from bnpriv.adapters.pymc.densities import density_network, has_density
from bnpriv.adapters.pymc.evaluation import check_orders
from bnpriv.adapters.pymc.finite import discrete_network, finite_states
from bnpriv.adapters.pymc.gaussian import gaussian_network, is_linear
from bnpriv.adapters.pymc.identity import identity_of
from bnpriv.adapters.pymc.normal_columns import normal_columns
from bnpriv.adapters.pymc.posterior import (
    check_thin,
    drawn_variables,
    parameter_draws,
    posterior_of,
    variables_of,
    weights_of,
)
from bnpriv.adapters.pymc.records import alike_records, record_network
from bnpriv.adapters.pymc.roles import Columns, Roles, declared_columns, roles_of
from bnpriv.adapters.pymc.structure import Structure, Variable, structure_of, unsupported
from bnpriv.adapters.pymc.summed_out import refuse_lost, with_summed_out
from bnpriv.adapters.pymc.work import models_that_fit
from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member
from bnpriv.errors import NetworkError
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.networks.parameter_draws import READINGS, DrawReading
from bnpriv.networks.reading import NodeReading, Reading, Treatment


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class AskedDraws:
    """What the user said about a posterior.

    Parameters
    ----------
    posterior : InferenceData, DataTree or Dataset
        None for the model with its priors.
    thin : int
    fix : iterable of str, optional
    reading : {"belief", "models"}
    independent : bool
    log_weights : str, optional
    """

    posterior: Any
    thin: int
    fix: Iterable[str] | None
    reading: DrawReading
    independent: bool
    log_weights: str | None = None


def network_of(model: Any, columns: Columns, asked: AskedDraws) -> DiscreteNetwork | GaussianNetwork | DensityNetwork:
    """Return the network; see `bnpriv.from_pymc`."""
    member("reading", asked.reading, READINGS, error=NetworkError)
    given, model = model, with_summed_out(model)
    structure = structure_of(model)
    check_orders(structure.variables)
    if asked.posterior is None and (asked.reading == "belief" or asked.independent):
        raise NetworkError(
            "a belief, and independent draws, go with posterior=", found="one alone", remedy="Pass posterior=idata."
        )
    if asked.reading == "models" and asked.log_weights is not None:
        raise NetworkError(
            "weights go with a belief: as models all draws count alike",
            found='log_weights= with the reading "models"',
            remedy='Pass reading="belief", or leave log_weights out.',
        )
    if asked.reading == "belief":
        if asked.fix is not None:
            raise NetworkError("a belief fixes nothing", found="fix=", remedy="Leave it out.")
        refuse_lost(given, model, variables_of(asked.posterior))
        return _with_draws(model, structure, columns, asked)
    roles = roles_of(structure, columns, _fixed(structure, columns, asked))
    if not roles.parameters:
        return _of_records(model, roles, columns, asked)
    driven = _driven(roles)
    states = {variable.name: finite_states(variable) for variable in roles.parameters}
    finite = {name: found for name, found in states.items() if found is not None}
    # laws of columns below discrete parameters and draws have no tables: such columns are drawn
    drawn_below = bool(roles.columns and roles.fixed) and asked.fix is None
    if len(finite) == len(states) and not drawn_below:
        return _discrete(model, roles, driven, finite, columns, asked)
    if all(is_linear(roles, variable) for variable in roles.parameters):
        return _linear(model, roles, driven, columns, asked)
    if roles.fixed:
        return _with_draws(model, structure, columns, asked)
    return density_network(roles, _reading(roles, driven, None, ""))


def _fixed(structure: Structure, columns: Columns, asked: AskedDraws) -> dict[str, FloatArray]:
    """Return the draws of what is fixed before it is known what is protected: of all that has draws.

    In a network of parameters without columns those with finitely many values stay, with their laws.
    """
    check_thin(asked.thin)
    if asked.posterior is None:
        if asked.thin != 1 or asked.fix is not None:
            raise NetworkError("thin and fix go with posterior=", found="one alone", remedy="Leave it out.")
        return {}
    finite = bool(declared_columns(structure, columns))
    return drawn_variables(structure, asked.posterior, asked.thin, asked.fix, finite=finite)


def _unfixed(model: Any, structure: Structure, columns: Columns, asked: AskedDraws) -> DensityNetwork | None:
    """Return the model in which what is protected keeps its law, whatever it is; None without draws, or with `fix`."""
    if asked.posterior is None or asked.fix is not None:
        return None
    return _with_draws(model, structure, columns, asked)


def _driven(roles: Roles, functions: frozenset[str] = frozenset()) -> dict[str, tuple[str, ...]]:
    driven = {column: roles.drivers(column) for column in roles.columns}
    _check_names(roles, driven, functions)
    return driven


def _discrete(
    model: Any,
    roles: Roles,
    driven: dict[str, tuple[str, ...]],
    finite: Mapping[str, tuple[float, ...]],
    columns: Columns,
    asked: AskedDraws,
) -> DiscreteNetwork:
    """Return the exact network of parameters with finitely many values."""
    network, laws = discrete_network(roles, finite), record_laws(roles, driven, finite)
    reading = _reading(roles, driven, "exact", "all parameters have finitely many values", laws)
    # without columns that its variables drive, a variable may be a parameter or a column of one record
    reading = replace(reading, level_assumed=not driven)
    return replace(
        network,
        models=roles.models if roles.columns else network.models,
        posterior_draws=posterior_of(roles, asked.posterior),
        reading=reading,
        forward=_forward(model, roles, columns, asked, reading) if roles.columns else None,
        unfixed=_unfixed(model, roles.structure, columns, asked),
    )


def _of_records(model: Any, roles: Roles, columns: Columns, asked: AskedDraws) -> DiscreteNetwork | DensityNetwork:
    """The network of one record, where there are no parameters or all have draws; else of what draws whole tables."""
    if not roles.fixed:
        records = alike_records(roles)
        if records is None:
            return density_network(roles, _reading(roles, _driven(roles), None, ""))
        return replace(records, reading=_reading(roles, {}, "exact", "one record"))
    reading = _reading(roles, {}, "exact", "one record, given each draw")
    try:
        network = record_network(roles)
    except NetworkError:
        if asked.fix is not None:
            raise
        return _with_draws(model, roles.structure, columns, asked)
    drawn, unfixed = posterior_of(roles, asked.posterior), _unfixed(model, roles.structure, columns, asked)
    return replace(network, posterior_draws=drawn, reading=reading, unfixed=unfixed)


def _with_draws(
    model: Any, structure: Structure, columns: Columns, asked: AskedDraws, *, every: bool = False
) -> DensityNetwork:
    """Return the network of all parameters, with those draws of a posterior from which they are taken."""
    known = drawn_variables(structure, asked.posterior, asked.thin, asked.fix)
    roles = roles_of(structure, columns, {}, known)
    drawn = parameter_draws(
        roles, model, asked.posterior, known, asked.thin, asked.reading, own=asked.independent, every=every
    )
    if asked.log_weights is not None:
        drawn = replace(drawn, log_weights=weights_of(structure, asked.posterior, asked.log_weights, asked.thin))
    driven = _driven(roles, drawn.functions)
    count = len(next(iter(known.values())))
    some = f"{drawn.draws:,} of {count:,}" if drawn.draws < count else f"{count:,}"
    how = "has the law of" if asked.reading == "belief" else "is fixed, unless it tells of the secret, to"
    reading = _reading(roles, driven, "draws", f"{how} {some} draws of a posterior", drawn=frozenset(known))
    network = density_network(roles, reading, drawn)
    return network if asked.reading == "belief" else network.with_sampling(draws=models_that_fit(roles).tables)


def _linear(
    model: Any, roles: Roles, driven: dict[str, tuple[str, ...]], columns: Columns, asked: AskedDraws
) -> GaussianNetwork:
    """Return the network of normal parameters; laws of answers are exact where all columns are normal about them.

    Other columns have laws that are learned for every draw, so that fewer draws are models unless `thin` is given.
    """
    normal = normal_columns(roles, driven)
    every = roles.columns.keys() == normal.keys()
    fit = models_that_fit(roles).models
    if roles.columns and not every and asked.thin == 1 and roles.models > fit:
        thinned = replace(asked, thin=-(-roles.models // fit))
        fewer = roles_of(roles.structure, columns, _fixed(roles.structure, columns, thinned))
        network = _linear(model, fewer, driven, columns, thinned)
        drawn = replace(network.posterior_draws, of=roles.models) if network.posterior_draws is not None else None
        return network.read_as(network.reading, posterior_draws=drawn)
    reading = _reading(roles, driven, "exact", "all parameters are normal, with means affine in their parents")
    forward = _forward(model, roles, columns, asked, reading) if roles.columns else None
    return gaussian_network(roles).read_as(
        reading,
        posterior_draws=posterior_of(roles, asked.posterior),
        forward=forward,
        unfixed=_unfixed(model, roles.structure, columns, asked),
        normal_columns=normal,
    )


def _forward(model: Any, roles: Roles, columns: Columns, asked: AskedDraws, reading: Reading) -> DensityNetwork:
    """Return forward draws of an exact model, given every draw of a posterior where there are some."""
    if not roles.fixed:
        return density_network(roles, reading)
    return _with_draws(model, roles.structure, columns, replace(asked, fix=sorted(roles.fixed)), every=True)


def _check_names(roles: Roles, driven: dict[str, tuple[str, ...]], functions: frozenset[str]) -> None:
    names = {name for variable in roles.parameters for name in variable.names}
    twice = [name for name, above in driven.items() if name in functions or (name in names and above != (name,))]
    if twice:
        raise NetworkError(
            "a column must not have the name of a parameter that does not govern it, or of a function of some",
            found=listing(twice),
            remedy="Rename the column in columns= and in the schema.",
        )


def _reading(
    roles: Roles,
    driven: dict[str, tuple[str, ...]],
    treatment: Treatment | None,
    why: str,
    laws: Mapping[str, tuple[object, ...]] | None = None,
    drawn: frozenset[str] = frozenset(),
) -> Reading:
    nodes: list[NodeReading] = []
    for variable in roles.structure.variables.values():
        if drawn and variable.name in roles.names - drawn:
            nodes.append(_node(variable, "parameter", *_treatment(variable)))
        elif variable.name in roles.names:
            how, reason = (treatment, why) if treatment is not None else _treatment(variable)
            nodes.append(_node(variable, "parameter", how, reason))
        elif variable.name in roles.fixed:
            nodes.append(_node(variable, "fixed", "exact", f"fixed to {roles.models:,} draws of a posterior"))
        elif variable.name in roles.own:
            column = _column(roles, variable, driven, laws or {}) if driven else _node(variable, "column", "exact", why)
            nodes.append(column)
    functions, identity = roles.structure.functions, identity_of(roles)
    return Reading(nodes=tuple(nodes), columns=driven, laws=laws or {}, identity=identity, functions=functions)


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
