"""Models of single records: observed variables, all of whose parameters are fixed to draws of a posterior."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError, NetworkError, SizeError
from bnpriv.io.pymc.evaluation import Evaluation
from bnpriv.io.pymc.finite import finite_states, probability_table, state_names
from bnpriv.io.pymc.roles import Roles
from bnpriv.io.pymc.structure import Variable

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
    states = {variable.name: finite_states(variable) for variable in variables}
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
        states={names[v.name]: state_names(roles.structure, v, finite[v.name]) for v in variables},
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
    return probability_table(evaluation, entries[0], own, chosen, told)
