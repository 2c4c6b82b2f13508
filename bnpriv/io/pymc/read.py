"""The way in: a PyMC model becomes the most exact network that it allows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from math import prod
from typing import Any, Literal, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member
from bnpriv.core.networks.base import ImportReport, NodeReading, Treatment, drivers
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError, NetworkError, SizeError
from bnpriv.io.pymc import gaussian, posterior as posteriors
from bnpriv.io.pymc.evaluation import Evaluation, check_orders
from bnpriv.io.pymc.expressions import ancestors
from bnpriv.io.pymc.roles import (
    Columns,
    Roles,
    declared_columns,
    drawing_seconds,
    identity_of,
    models_that_fit,
    roles_of,
    sources_of,
)
from bnpriv.io.pymc.structure import Structure, Variable, refuse_potential, structure_of, unsupported
from bnpriv.kinds.density.network import DensityNetwork, Sampling
from bnpriv.kinds.draws.parameter_draws import READINGS, DrawReading
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.progress import LONG_SECONDS, progress
from bnpriv.text import number_text

# --------------------------------------------------------------------------------------------------
# Models of single records: observed variables, all of whose parameters are fixed to draws of a posterior.
# --------------------------------------------------------------------------------------------------


MOST_RECORD_CELLS = 2**26
MOST_RECORDS_AT_ONCE = 2**22


def alike_records(roles: Roles) -> DiscreteNetwork | None:
    """Return the network of one record of columns without parameters, or None if their tables must be drawn as a whole.

    That is where records differ, by covariates, or a column has values without end.
    """
    observed = frozenset(name for name, variable in roles.structure.variables.items() if variable.observed)
    if observed != roles.own:
        return None
    try:
        return record_network(roles)
    except BnprivError:
        return None


def record_network(roles: Roles) -> DiscreteNetwork:
    """Return the network of one record, with a model for every draw.

    Raises
    ------
    NetworkError
        If a variable has no finite support, or its law differs between records.
    SizeError
        If there are too many draws, records or states.
    """
    variables = [variable for variable in roles.structure.variables.values() if variable.observed]
    states = {variable.name: gaussian.finite_states(variable) for variable in variables}
    endless = [name for name, found in states.items() if found is None]
    if endless or not variables:
        raise NetworkError(
            "a parameter must be left to protect, or columns of finitely many values, as a network of records",
            found=f"draws of every parameter, and {listing(endless)}" if endless else "draws of every variable",
            remedy="Pass draws of the variables at the top only, as in idata.posterior[['mu', 'tau']].",
        )
    finite = {name: found for name, found in states.items() if found is not None}
    parents = {variable.name: _parents(roles, variable) for variable in variables}
    renamed = {elements[0][0]: column for column, elements in roles.columns.items()}
    names = {variable.name: renamed.get(variable.name, variable.name) for variable in variables}
    return DiscreteNetwork.from_tables(
        {names[v.name]: _table(roles, v, parents[v.name], finite) for v in variables},
        states={names[v.name]: gaussian.state_names(roles.structure, v, finite[v.name]) for v in variables},
        parents={names[name]: [names[parent] for parent in above] for name, above in parents.items()},
        level="records",
    )


def _parents(roles: Roles, variable: Variable) -> list[str]:
    """Return the columns that a column depends on, in the same record."""
    known = roles.structure.variables
    beside = [[(name, k) for name, k in above if known[name].observed] for above in variable.above]
    same = all(k == place for place, above in enumerate(beside) for _, k in above)
    found = [{name for name, _ in above} for above in beside]
    if len(variable.shape) > 1 or not same or any(names != found[0] for names in found):
        raise _unlike(variable.name)
    return sorted(found[0], key=list(known).index)


def _unlike(name: str) -> NetworkError:
    return NetworkError(
        f"the records of {name!r} must be independent and alike, to make a network of one record",
        found="others",
        remedy="Leave covariates out, or pass draws of the variables at the top only.",
    )


def _table(roles: Roles, variable: Variable, parents: list[str], states: dict[str, tuple[float, ...]]) -> FloatArray:
    own, axes = states[variable.name], [states[name] for name in parents]
    count = prod(len(axis) for axis in axes)
    combinations = np.array(list(product(*axes)), dtype=np.float64).reshape(count, len(parents))
    models = roles.models_of(variable)
    size = count * len(own) * variable.size
    if models * size > 64 * MOST_RECORD_CELLS or size > MOST_RECORD_CELLS:
        raise SizeError(
            "the tables of all draws and records together must not be too large",
            found=f"{models * size:,} cells for {variable.name!r}",
            remedy="Pass fewer draws with thin=, or sample from a model of fewer records.",
        )
    evaluation = Evaluation(variable, roles.structure.variables)
    step = max(1, MOST_RECORDS_AT_ONCE // size)
    parts = [
        _part(roles, evaluation, parents, combinations, own, slice(start, min(start + step, models)))
        for start in range(0, models, step)
    ]
    table = np.moveaxis(np.concatenate(parts), 2, 1)
    return table.reshape((models, len(own), *(len(axis) for axis in axes)))


def _part(
    roles: Roles,
    evaluation: Evaluation,
    parents: list[str],
    combinations: FloatArray,
    own: tuple[float, ...],
    draws: slice,
) -> FloatArray:
    """Return the probabilities under some draws, of shape (draws, combinations, states)."""
    variable, variables, count = evaluation.variable, roles.structure.variables, len(combinations)
    chosen = draws.stop - draws.start
    points: dict[str, FloatArray] = {}
    for name in variable.parents:
        shape, dtype = variables[name].shape, variables[name].rv.dtype
        if name in roles.fixed:
            points[name] = np.repeat(roles.fixed[name][draws], count, axis=0).astype(dtype)
        else:
            column = np.tile(combinations[:, parents.index(name)], chosen).reshape((-1, *(1,) * len(shape)))
            points[name] = np.broadcast_to(column, (chosen * count, *shape)).astype(dtype)
    parameters = evaluation.parameters(points, chosen * count)
    entries = [evaluation.of_element(parameters, k) for k in range(variable.size)]
    if not all(np.array_equal(a, b) for each in entries[1:] for a, b in zip(entries[0], each, strict=True)):
        raise _unlike(variable.name)
    told = f"the probabilities of {variable.name!r} must sum to 1 under every draw"
    return gaussian.probability_table(evaluation, entries[0], own, chosen, told)


# --------------------------------------------------------------------------------------------------
# The way in.
# --------------------------------------------------------------------------------------------------


# --------------------------------------------------------------------------------------------------
# Discrete variables that pymc_extras has summed out of a model: they are read with the law that they had.
# --------------------------------------------------------------------------------------------------

SUMMED_OUT = "MarginalRV"
"""What the operation derives from that pymc_extras puts in the place of a variable and all below it."""

RESTORING = "pymc_extras.model.marginal.marginal_model"
"""Where pymc_extras has the function that undoes it."""


def with_summed_out(model: Any) -> Any:
    """Return a model with the variables that were summed out of it; the same where none was.

    Raises
    ------
    NetworkError
        If the version of pymc_extras that made it cannot undo it.
    """
    if not any(_is_summed(rv) for rv in getattr(model, "basic_RVs", ())):
        return model
    try:
        return cast(Any, import_module(RESTORING)).unmarginalize(model)
    except (ImportError, AttributeError) as error:
        raise NetworkError(
            "a model from which variables were summed out must be restored before it is read",
            found="a version of pymc_extras that cannot do so",
            remedy="Pass the model as it was before pymc_extras.marginalize.",
        ) from error


def refuse_lost(model: Any, restored: Any, drawn: Collection[str]) -> None:
    """Refuse a belief in which a variable that was summed out has no draws: what the data tell of it would be lost.

    Raises
    ------
    NetworkError
    """
    if restored is model:
        return
    before = {str(rv.name) for rv in model.basic_RVs}
    lost = [str(rv.name) for rv in restored.basic_RVs if rv.name not in before and rv.name not in drawn]
    if lost:
        raise NetworkError(
            "a belief needs draws of what was summed out of the model: the data behind the posterior tell of it too",
            found=f"none of {listing(lost)}",
            remedy="Pass pymc_extras.recover_marginals(idata, model=model). If the table to be released has others in "
            "their place, as of other people, pass the model as it was before pymc_extras.marginalize.",
        )


def _is_summed(rv: Any) -> bool:
    return any(base.__name__ == SUMMED_OUT for base in type(rv.owner.op).__mro__)


# --------------------------------------------------------------------------------------------------
# A PyMC model becomes the most exact network that it allows, and every variable is told what became of it.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class AskedDraws:
    """What the user said about a posterior.

    Parameters
    ----------
    posterior : InferenceData, DataTree, Dataset, DataArray or mapping from str to array, later TakenDraws
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
    structure = structure_of(model).with_columns(sources_of(columns).values())
    _check_potentials(model, structure, columns, drawn=asked.posterior is not None)
    check_orders(structure.variables)
    if asked.posterior is None and (asked.reading == "belief" or asked.independent):
        raise NetworkError(
            "a belief, and independent draws, go with posterior=", found="one alone", remedy="Pass posterior=idata."
        )
    if asked.posterior is not None:
        drawn = posteriors.draws_of(asked.posterior, structure, independent=asked.independent)
        asked = replace(asked, posterior=drawn)
    if asked.reading == "models" and asked.log_weights is not None:
        raise NetworkError(
            "weights go with a belief: as models all draws count alike",
            found='log_weights= with the reading "models"',
            remedy='Pass reading="belief", or leave log_weights out.',
        )
    if asked.reading == "belief":
        if asked.fix is not None:
            raise NetworkError("a belief fixes nothing", found="fix=", remedy="Leave it out.")
        refuse_lost(given, model, cast("posteriors.TakenDraws", asked.posterior).posterior)
        return _with_draws(model, structure, columns, asked)
    roles = roles_of(structure, columns, _fixed(structure, columns, asked))
    if asked.posterior is None:
        _refuse_undrawn(roles)
    if not roles.parameters:
        return _of_records(model, roles, columns, asked)
    driven = _driven(roles)
    states = {variable.name: gaussian.finite_states(variable) for variable in roles.parameters}
    finite = {name: found for name, found in states.items() if found is not None}
    # laws of columns below discrete parameters and draws have no tables: such columns are drawn
    drawn_below = bool(roles.columns and roles.fixed) and asked.fix is None
    if any(variable.changed for variable in roles.parameters):
        return _with_draws(model, structure, columns, asked)
    if len(finite) == len(states) and not drawn_below:
        return _discrete(model, roles, driven, finite, columns, asked)
    if all(gaussian.is_linear(roles, variable) for variable in roles.parameters):
        return _linear(model, roles, driven, columns, asked)
    if roles.fixed:
        return _with_draws(model, structure, columns, asked)
    return _told_refusals(posteriors.density_network(roles, _reading(roles, driven, None, "")))


def _check_potentials(model: Any, structure: Structure, columns: Columns, *, drawn: bool) -> None:
    """Refuse a Potential that is no factor of a posterior's density alone, as it changes the law of a column.

    Raises
    ------
    NetworkError
    """
    changed = {variable.name: variable.changed for variable in structure.variables.values() if variable.changed}
    if not changed:
        return
    queried = {name for held in declared_columns(structure, columns).values() for name, _ in held}
    known = structure.variables
    for name in queried & structure.functions:  # what a column is computed from is drawn anew with it
        queried.update(above for above in known[name].parents if known[above].observed)
    column = next((name for name in changed if name in queried and structure.is_column(name)), "")
    if column or not drawn:
        refuse_potential(model, changed[column] if column else next(iter(changed.values())), column)


def _refuse_undrawn(roles: Roles) -> None:
    """Refuse a model all of whose columns lie below a parameter that has no law: nothing could be said of any table.

    Raises
    ------
    NetworkError
    """
    undrawn = {v.name: reason for v in roles.parameters if (reason := unsupported(v)) is not None}
    below: set[str] = set()
    for name, variable in roles.structure.variables.items():  # parents come first
        if name in undrawn or not below.isdisjoint(variable.parents):
            below.add(name)
    if undrawn and roles.own and roles.own <= below:
        name, reason = next(iter(undrawn.items()))
        raise NetworkError(
            "every parameter above the columns needs a distribution that can be drawn",
            found=f"{name!r}: {reason}",
            remedy="Correct the model, or pass draws of all parameters given public data by posterior=.",
        )


def _fixed(structure: Structure, columns: Columns, asked: AskedDraws) -> dict[str, FloatArray]:
    """Return the draws of what is fixed before it is known what is protected: of all that has draws.

    In a network of parameters without columns those with finitely many values stay, with their laws.
    """
    posteriors.check_thin(asked.thin)
    if asked.posterior is None:
        if asked.thin != 1 or asked.fix is not None:
            raise NetworkError("thin and fix go with posterior=", found="one alone", remedy="Leave it out.")
        return {}
    finite = bool(declared_columns(structure, columns))
    return posteriors.drawn_variables(structure, asked.posterior, asked.thin, asked.fix, finite=finite)


def _unfixed(
    model: Any, structure: Structure, columns: Columns, asked: AskedDraws, forward: DensityNetwork | None = None
) -> DensityNetwork | None:
    """Return the model in which what is protected keeps its law, whatever it is, also a function of parameters.

    Without draws of a posterior that is what draws tables, if anything does; with `fix` there is none.
    """
    if asked.posterior is None or asked.fix is not None:
        return forward if asked.posterior is None else None
    return _with_draws(model, structure, columns, asked)


def _driven(roles: Roles, functions: frozenset[str] = frozenset()) -> dict[str, tuple[str, ...]]:
    driven = {column: roles.drivers(column) for column in roles.columns}
    names = {name for variable in roles.parameters for name in variable.names}
    twice = [name for name, above in driven.items() if name in functions or (name in names and above != (name,))]
    if twice:
        raise NetworkError(
            "a column must not have the name of a parameter that does not govern it, or of a function of some",
            found=listing(twice),
            remedy="Rename the column in columns= and in the schema.",
        )
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
    network, laws = gaussian.discrete_network(roles, finite), gaussian.record_laws(roles, driven, finite)
    reading = _reading(roles, driven, "exact", "all parameters have finitely many values", laws)
    # without columns that its variables drive, a variable may be a parameter or a column of one record
    reading = replace(reading, level_assumed=not driven)
    forward = _forward(model, roles, columns, asked, reading) if roles.columns else None
    unfixed = _unfixed(model, roles.structure, columns, asked, forward)
    return replace(
        network,
        models=roles.models if roles.columns else network.models,
        posterior_draws=posteriors.posterior_of(roles, asked.posterior, independent=asked.independent),
        reading=_with_secrets(reading, unfixed),
        forward=forward,
        unfixed=unfixed,
    )


def _of_records(model: Any, roles: Roles, columns: Columns, asked: AskedDraws) -> DiscreteNetwork | DensityNetwork:
    """The network of one record, where there are no parameters or all have draws; else of what draws whole tables."""
    if not roles.fixed:
        records = alike_records(roles)
        if records is None:
            return posteriors.density_network(roles, _reading(roles, _driven(roles), None, ""))
        return replace(records, reading=_reading(roles, {}, "exact", "one record"))
    reading = _reading(roles, {}, "exact", "one record, given each draw")
    try:
        network = record_network(roles)
    except NetworkError:
        if asked.fix is not None:
            raise
        return _with_draws(model, roles.structure, columns, asked)
    drawn = posteriors.posterior_of(roles, asked.posterior, independent=asked.independent)
    unfixed = _unfixed(model, roles.structure, columns, asked)
    return replace(network, posterior_draws=drawn, reading=_with_secrets(reading, unfixed), unfixed=unfixed)


def _with_secrets(reading: ImportReport, unfixed: DensityNetwork | None) -> ImportReport:
    """Return a reading that says of what is fixed, and of functions, whether they can be protected where it is not."""
    told = {} if unfixed is None else {node.name: node.secret for node in unfixed.reading.nodes}
    nodes = (
        replace(node, secret=node.secret or told.get(node.name, "it is fixed by fix=, or no column is drawn below it"))
        if node.role in ("fixed", "function")
        else node
        for node in reading.nodes
    )
    return replace(reading, nodes=tuple(nodes))


def _with_draws(
    model: Any, structure: Structure, columns: Columns, asked: AskedDraws, *, every: bool = False
) -> DensityNetwork:
    """Return the network of all parameters, with those draws of a posterior from which they are taken."""
    known = posteriors.drawn_variables(structure, asked.posterior, asked.thin, asked.fix)
    roles = roles_of(structure, columns, {}, known)
    drawn = posteriors.parameter_draws(
        roles, model, asked.posterior, known, asked.thin, asked.reading, own=asked.independent, every=every
    )
    if asked.log_weights is not None:
        drawn = replace(
            drawn, log_weights=posteriors.weights_of(structure, asked.posterior, asked.log_weights, asked.thin)
        )
    driven = _driven(roles, drawn.functions)
    count = len(next(iter(known.values())))
    some = f"{drawn.draws:,} of {count:,}" if drawn.draws < count else f"{count:,}"
    how = "has the distribution of" if asked.reading == "belief" else "is fixed, unless it tells of the secret, to"
    tables = Sampling().draws if asked.reading == "belief" else models_that_fit(roles).tables
    every_table = tables if asked.reading == "belief" else tables * drawn.draws
    why = f"{how} {some} draws of a posterior"
    reading = _reading(roles, driven, "draws", why, drawn=frozenset(known), tables=every_table)
    if asked.reading == "belief":  # whose parameters depend on each other as the data made them
        graph = posteriors.own_graph(model)
        without = [name for name in structure.variables if name in roles.names - known.keys()]
        notes = (f"No draws of {listing(without)}: what the model says of it stands.",) if without else ()
        reading = replace(
            reading, own_graph=graph, inner=posteriors.inner_variables(graph, structure, drawn), notes=notes
        )
    return _told_refusals(posteriors.density_network(roles, reading, drawn).with_sampling(draws=tables))


def _linear(
    model: Any, roles: Roles, driven: dict[str, tuple[str, ...]], columns: Columns, asked: AskedDraws
) -> GaussianNetwork:
    """Return the network of normal parameters; laws of answers are exact where all columns are normal about them.

    Other columns have laws that are learned for every draw, so that fewer draws are models unless `thin` is given.
    """
    normal = gaussian.normal_columns(roles, driven)
    every = roles.columns.keys() == normal.keys()
    fit = models_that_fit(roles).models
    if roles.columns and not every and asked.thin == 1 and roles.models > fit:
        thinned = replace(asked, thin=-(-roles.models // fit))
        fewer = roles_of(roles.structure, columns, _fixed(roles.structure, columns, thinned))
        network = _linear(model, fewer, driven, columns, thinned)
        drawn = replace(network.posterior_draws, of=roles.models) if network.posterior_draws is not None else None
        return network.read_as(network.reading, posterior_draws=drawn)
    why, tables = "all parameters are normal, with means affine in their parents", Sampling().draws
    if roles.fixed:
        tables = roles.models * models_that_fit(roles).tables
    reading = _reading(roles, driven, "exact", why, tables=tables, normal=normal)
    forward = _forward(model, roles, columns, asked, reading) if roles.columns else None
    unfixed = _unfixed(model, roles.structure, columns, asked, forward)
    return gaussian.gaussian_network(roles).read_as(
        _with_secrets(reading, unfixed),
        posterior_draws=posteriors.posterior_of(roles, asked.posterior, independent=asked.independent),
        forward=forward,
        unfixed=unfixed,
        normal_columns=normal,
    )


def _forward(model: Any, roles: Roles, columns: Columns, asked: AskedDraws, reading: ImportReport) -> DensityNetwork:
    """Return forward draws of an exact model, given every draw of a posterior where there are some."""
    if not roles.fixed:
        return posteriors.density_network(roles, reading)
    return _with_draws(model, roles.structure, columns, replace(asked, fix=sorted(roles.fixed)), every=True)


def _reading(
    roles: Roles,
    driven: dict[str, tuple[str, ...]],
    treatment: Treatment | None,
    why: str,
    laws: Mapping[str, tuple[object, ...]] | None = None,
    drawn: frozenset[str] = frozenset(),
    tables: int = Sampling().draws,
    normal: Collection[str] = (),
) -> ImportReport:
    """Return what became of every variable; `tables` are drawn for each secret, and laws of `normal` columns known."""
    nodes: list[NodeReading] = []
    exact = {*(laws or {}), *normal}
    for variable in roles.structure.variables.values():
        if drawn and variable.name in roles.names - drawn:
            nodes.append(_node(variable, "parameter", *_treatment(variable)))
        elif variable.name in roles.names:
            how, reason = (treatment, why) if treatment is not None else _treatment(variable)
            nodes.append(_node(variable, "parameter", how, reason))
        elif variable.name in roles.fixed:
            nodes.append(_node(variable, "fixed", "exact", f"fixed to {roles.models:,} draws of a posterior"))
        elif variable.name in roles.own:
            column = _column(roles, variable, driven, exact, why, tables)
            nodes += [column] if column.columns else ()
    nodes += [_function(roles, name) for name in roles.structure.expressions if name not in roles.own]
    axes = dict(roles.structure.axes)
    for column, elements in roles.columns.items():
        if elements[0][0] in roles.own and len(roles.structure.variables[elements[0][0]].shape) > 1:
            # the columns of a table are those of its last dimension
            axes[column.partition("[")[0]] = roles.structure.axes[elements[0][0]][-1:]
    return ImportReport(
        nodes=tuple(nodes),
        columns=driven,
        laws=laws or {},
        identity=identity_of(roles),
        functions=roles.structure.functions,
        axes=axes,
    )


def _node(variable: Variable, role: Any, treatment: Treatment, reason: str) -> NodeReading:
    entries = f"{variable.name}[{variable.size} entries]" if variable.size > 1 else variable.name
    return NodeReading(name=entries, law=variable.law, role=role, treatment=treatment, reason=reason)


def _treatment(variable: Variable) -> tuple[Treatment, str]:
    refused = unsupported(variable)
    if refused is not None:
        return "refused", refused
    if gaussian.finite_states(variable) is not None:
        return "quadrature", "finitely many values, below or above continuous ones"
    if posteriors.has_density(variable):
        return "quadrature", "continuous, known by its density"
    if not str(variable.rv.dtype).startswith("float"):
        return "draws", "whole numbers without end"
    if variable.is_joint:
        return "draws", "its entries are drawn together"
    return "draws", "made of other distributions, without a plain density"


def _column(
    roles: Roles, variable: Variable, driven: dict[str, tuple[str, ...]], exact: Collection[str], why: str, tables: int
) -> NodeReading:
    held = tuple(column for column, elements in roles.columns.items() if elements[0][0] == variable.name)
    if not driven:
        return replace(_node(variable, "column", "exact", why), columns=held)
    above = sorted({name for column in held for name in driven[column]})
    shown = f"driven by {listing(above) if len(above) <= 4 else f'{len(above)} parameters'}"
    refused, seconds = unsupported(variable), 0.0
    if refused is not None:
        node = _node(variable, "column", "refused", f"{refused}; {HIDDEN_WHOLE}")
    elif held and set(held).issubset(exact):
        node = _node(variable, "column", "exact", f"{shown}; the distribution of sums of its records is known")
    else:
        seconds = drawing_seconds(roles, variable, 2 * tables)
        long = f", in about {number_text(seconds)} s for a pair of secrets" if seconds >= LONG_SECONDS else ""
        node = _node(variable, "column", "draws", f"{shown}; sums of its records are drawn{long}")
    return replace(node, columns=held, seconds=seconds)


def _function(roles: Roles, name: str) -> NodeReading:
    """Return what becomes of a Deterministic: it can be protected, unless it reads a column or what is fixed alone."""
    variables = roles.structure.variables
    rvs = {v.rv: each for each, v in variables.items() if not v.is_function}
    above = [rvs[each] for each in ancestors([roles.structure.expressions[name]], rvs, values=True) if each in rvs]
    loose = [each for each in above if each not in roles.unused]
    own = [each for each in loose if each in roles.own]
    told = f"it is computed from the column {own[0]!r}" if own else "" if loose else "it is computed from data"
    return NodeReading(
        name=name,
        law="Deterministic",
        role="function",
        treatment="draws",
        reason=f"computed from {listing(above)}",
        secret=told,
    )


def _told_refusals(network: DensityNetwork) -> DensityNetwork:
    """Return a network whose reading says which columns, and which secrets, lie below or above what has no law."""
    if not any(parameter.refused for parameter in network.parameters.values()):
        return network
    columns = frozenset(network.reading.columns)
    known = frozenset[str]() if network.drawn is None else network.drawn.parameters
    nodes: list[NodeReading] = []
    for node in network.reading.nodes:
        stem = node.name.partition("[")[0]
        entry = next((each for each in network.attributes if each.partition("[")[0] == stem), "")
        if node.columns:
            why = network.refusal(drivers(network, node.columns), known)
            if why is not None and node.treatment != "refused":
                node = replace(node, treatment="refused", reason=f"{why.found}; {HIDDEN_WHOLE}", seconds=0.0)
        elif entry:
            loose = network.between(entry, columns)
            why = network.refusal(drivers(network, columns) | {entry}, known - loose)
            node = replace(node, secret=node.secret if why is None else why.found)
        nodes.append(node)
    return replace(network, reading=replace(network.reading, nodes=tuple(nodes)))


HIDDEN_WHOLE = "noise that hides it whole needs no distribution of it"


def from_pymc(
    model: Any,
    *,
    columns: Mapping[str, str] | Iterable[str] | str | None = None,
    posterior: Any = None,
    thin: int = 1,
    fix: Iterable[str] | None = None,
    reading: Literal["belief", "models"] = "models",
    independent: bool = False,
    log_weights: str | None = None,
) -> DiscreteNetwork | GaussianNetwork | DensityNetwork:
    """Read a PyMC model of the columns' parameters, with or without the columns under them.

    Parameters
    ----------
    model : pymc.Model, or bambi.Model after build()
        Read only; what pymc_extras summed out of it is read with its law. Its random variables are the parameters,
        named as in the model; vectors are split by their dims and coordinates, as in ``theta[Choate]``. A
        Deterministic can be protected, and be a column; Data are passed through. The coord ``income_states`` names the
        states of a variable ``income`` with finitely many values, which are whole numbers without it.
    columns : mapping from str to str, or iterable of str, optional
        For columns of the table the random variable or Deterministic that holds their records, or one entry of it; or
        the parameter that governs the column, if others depend on it. By default the observed variables at the end of
        the graph. Data that were observed of a column are not used: they are what is to be protected.
    posterior : InferenceData, DataTree, Dataset, DataArray or mapping from str to ndarray, optional
        Draws given *public* data, as ``pm.sample`` and ``az.extract`` return them, or by name as arrays of shape
        (chains, draws, *shape) or (draws, *shape); of a group named prior draws of the priors. Leave out what is to
        stay a parameter, as in ``idata.posterior[["mu", "tau"]]``. A release from a table that is among its
        ``observed_data`` is refused; ``idata.posterior`` alone does not hold these.
    thin : int
        Take every so many draws of each chain.
    fix : iterable of str, optional
        With "models" the variables to fix to their draws, as ``["mu", "tau"]``; by default all that have draws, but
        for a protected one and those between it and the queried columns.
    reading : {"belief", "models"}
        "belief": the posterior is the observer's law, and any parameter or Deterministic that has draws can be
        protected, entries of vectors too. "models": every draw of the other parameters is a model of Theta; the noise
        is enough under each. Where what has no draws is linear-Gaussian, or what `fix` leaves is discrete, the models
        are exact; where the model has no columns, discrete variables stay. If no parameter stays and the records of
        the observed variables are alike, these make a network of level "records". A framework that protects a fixed
        parameter takes the model in which it has its law.
        Otherwise at most 25 draws are models, evenly spaced, and fewer where tables are large, unless `thin` is given.
    independent : bool
        Declares that the draws are independent draws of the posterior itself, as those of a conjugate one are. Those of
        ``pm.sample`` are not.
    log_weights : str, optional
        With "belief" the variable of the posterior that holds, for draws of a wider law, the log of the posterior's
        density over that law's, up to one constant: every draw then counts by its weight.

    Returns
    -------
    DiscreteNetwork, GaussianNetwork or DensityNetwork
        Exact if all parameters have finitely many values, or all are normal around affine functions of their parents;
        else by densities and draws. Columns without parameters make a network of level "records" if their records are
        alike, with finitely many values; else a model that draws whole tables. ``network.reading`` says for every
        variable what became of it and why.

    Raises
    ------
    MissingExtraError
        If PyMC is not installed.
    NetworkError
        If the model has a Potential that draws of a posterior do not hold, a cycle or a variable without a name,
        observed data lie among the parameters, columns or draws do not fit, or a law is not well formed.
    SizeError
        If a table would be too large.

    Notes
    -----
    docs/claims/pymc.md, belief.md. A node stands for the parameter of the column of its name unless `columns` says
    otherwise; a model of one record is ``from_pymc(model).of_level("records")``. Over a model with columns a property
    of the drawn table may be secret (`bnpriv.DatasetAttributePrivacy`), or which of two models it comes from
    (`bnpriv.DistributionPrivacy`).

    Examples
    --------
    >>> import pymc as pm
    >>> with pm.Model() as model:
    ...     income = pm.Bernoulli("income", 0.4)
    ...     sat = pm.Bernoulli("sat", 0.2 + 0.6 * income)
    >>> from_pymc(model)
    DiscreteNetwork(attributes=2, edges=1, models=1, level='parameters')
    """
    backend = getattr(model, "backend", None)
    model = model if backend is None else backend.model  # Bambi keeps the model of PyMC that it builds behind its own
    asked = AskedDraws(
        posterior=posterior, thin=thin, fix=fix, reading=reading, independent=independent, log_weights=log_weights
    )
    with progress("reading the model"):
        return network_of(model, columns, asked)
