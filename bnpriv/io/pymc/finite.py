"""Random variables with finitely many values, and networks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.columns import State
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError, SizeError
from bnpriv.io.pymc.evaluation import Evaluation, Points
from bnpriv.io.pymc.expressions import Element
from bnpriv.io.pymc.roles import Roles
from bnpriv.io.pymc.structure import Structure, Variable

# --------------------------------------------------------------------------------------------------
# Random variables with finitely many values, and networks of them: tables from the model's own log densities.
# --------------------------------------------------------------------------------------------------

MOST_SET_STATES = 1000
MOST_TABLE_ENTRIES = 2**22

SINGLE_PRECISION_ERROR = 1e-6
"""What probabilities given in single precision can take from their sum."""


def finite_states(variable: Variable) -> tuple[float, ...] | None:
    """Return the values of every element of a variable, or None if they are not finitely many, and known to be."""
    ends = _ends(variable) if variable.is_plain and not variable.is_joint else None
    if ends is None or ends[1] - ends[0] >= MOST_SET_STATES:
        return None
    return tuple(float(k) for k in range(ends[0], ends[1] + 1))


def _ends(variable: Variable) -> tuple[int, int] | None:
    if variable.law == "Bernoulli":
        return 0, 1
    if variable.law == "Categorical":
        width = variable.parameters[0].type.shape[-1]
        values = np.empty(width) if width is not None else variable.constant(0)
        return None if values is None else (0, values.shape[-1] - 1)
    if variable.law == "DiscreteUniform":
        low, high = variable.constant(0), variable.constant(1)
        return None if low is None or high is None else (int(low.min()), int(high.max()))
    if variable.law in ("Binomial", "BetaBinomial"):
        trials = variable.constant(0)
        return None if trials is None else (0, int(trials.max()))
    return None


def state_names(structure: Structure, variable: Variable, states: tuple[float, ...]) -> tuple[State, ...]:
    """Return the names of the states: those of the coord NAME_states, else whole numbers.

    PyMC 6 refuses a coord that is called like a variable, so the names stand under a name of their own.

    Raises
    ------
    NetworkError
        If the coord has another number of names.
    """
    named = structure.coords.get(f"{variable.name}_states")
    if named is None:
        return tuple(int(state) for state in states)
    if len(named) != len(states):
        raise NetworkError(
            f"the coord '{variable.name}_states' must name the {len(states)} states of {variable.name!r}",
            found=f"{len(named)} names",
            remedy="Name all states, in the order of their numbers, or leave the coord out.",
        )
    return tuple(cast(Any, each).item() if isinstance(each, np.generic) else cast("State", each) for each in named)


def discrete_network(roles: Roles, states: Mapping[str, tuple[float, ...]]) -> DiscreteNetwork:
    """Return the exact network of variables that all have finitely many values.

    Raises
    ------
    NetworkError
        If a law does not sum to one for some values of its parents.
    SizeError
        If a table would be too large.
    """
    tables: dict[str, FloatArray] = {}
    named: dict[str, tuple[State, ...]] = {}
    parents: dict[str, list[str]] = {}
    for variable in roles.parameters:
        evaluation = Evaluation(variable, roles.structure.variables)
        for k in range(variable.size):
            name = variable.names[k]
            tables[name] = _table(roles, evaluation, k, states)
            named[name] = state_names(roles.structure, variable, states[variable.name])
            parents[name] = [roles.structure.element(above) for above in roles.above((variable.name, k))]
    return DiscreteNetwork.from_tables(tables, states=named, parents=parents)


def _table(roles: Roles, evaluation: Evaluation, k: int, states: Mapping[str, tuple[float, ...]]) -> FloatArray:
    variable = evaluation.variable
    above = roles.above((variable.name, k))
    own = states[variable.name]
    axes = [states[name] for name, _ in above]
    size = roles.models_of(variable) * len(own) * prod(len(axis) for axis in axes)
    if size > MOST_TABLE_ENTRIES:
        raise SizeError(
            f"the table of a variable may have at most {MOST_TABLE_ENTRIES:,} entries",
            found=f"{size:,} for {variable.names[k]!r}",
            remedy="Declare fewer parents or states, or pass fewer draws with thin=.",
        )
    combinations = list(product(*axes))
    models = roles.models_of(variable)
    points = parent_points(roles, variable, above, combinations)
    parameters = evaluation.of_element(evaluation.parameters(points, models * len(combinations)), k)
    told = f"the probabilities of {variable.names[k]!r} must sum to 1 for all values of its parents"
    table = np.moveaxis(probability_table(evaluation, parameters, own, models, told), 2, 1)
    return table.reshape((models, len(own), *(len(axis) for axis in axes)))


def probability_table(
    evaluation: Evaluation, parameters: list[FloatArray], states: tuple[float, ...], models: int, required: str
) -> FloatArray:
    """The probabilities of an element's states, of shape (models, combinations, states), divided by their sums.

    Parameters
    ----------
    evaluation : Evaluation
    parameters : list of ndarray of shape (models * combinations, *core)
        Of the law of the element.
    states : tuple of float
    models : int
    required : str
        What a sum that is not 1 is told with.

    Raises
    ------
    NetworkError
        If a sum is off by more than single precision takes from it.
    """
    count = len(parameters[0])
    repeated = [np.repeat(value, len(states), axis=0) for value in parameters]
    logs = evaluation.log_density(np.tile(states, count), repeated)
    with np.errstate(under="ignore"):
        table = np.exp(logs).reshape((models, count // models, len(states)))
    sums = table.sum(axis=2, keepdims=True)
    if not bool(np.all(np.abs(sums - 1) <= SINGLE_PRECISION_ERROR)):
        raise NetworkError(required, found="another sum", remedy="Correct the expression of its probabilities.")
    return table / sums


def parent_points(
    roles: Roles, variable: Variable, above: tuple[Element, ...], combinations: list[tuple[float, ...]]
) -> Points:
    """Return values of all parents: draws of the fixed ones, and for each all combinations of the elements `above`."""
    repeats, variables, models = len(combinations), roles.structure.variables, roles.models_of(variable)
    points: dict[str, FloatArray] = {}
    for name in variable.parents:
        dtype = variables[name].rv.dtype
        if name in roles.fixed:
            points[name] = np.repeat(roles.fixed[name], repeats, axis=0).astype(dtype)
        else:
            points[name] = np.zeros((models * repeats, *variables[name].shape), dtype=dtype)
    for j, (name, k) in enumerate(above):
        column = np.tile([combination[j] for combination in combinations], models)
        points[name].reshape((len(column), -1))[:, k] = column
    return points


# --------------------------------------------------------------------------------------------------
# Laws of one record of a column given discrete parameters, where PyMC's law is one that the field has a name for.
# --------------------------------------------------------------------------------------------------


def record_laws(
    roles: Roles, drivers: Mapping[str, tuple[str, ...]], states: Mapping[str, tuple[float, ...]]
) -> dict[str, tuple[object, ...]]:
    """Return the laws of those columns whose records are independent and alike, for every state of their drivers.

    A column whose law has no counterpart, or differs between records, is left out.
    """
    found: dict[str, tuple[object, ...]] = {}
    for column, elements in roles.columns.items():
        if elements[0][0] in roles.own and not roles.fixed:
            laws = _laws(roles, elements, drivers[column], states)
            if laws is not None:
                found[column] = laws
    return found


def _laws(
    roles: Roles, elements: tuple[Element, ...], drivers: tuple[str, ...], states: Mapping[str, tuple[float, ...]]
) -> tuple[object, ...] | None:
    structure = roles.structure
    variable = structure.variables[elements[0][0]]
    make = _MADE.get(variable.law) if variable.is_plain else None
    above = tuple(structure.elements[name] for name in drivers)
    axes = [states[name] for name, _ in above]
    size = prod(len(axis) for axis in axes) * variable.size
    if make is None or size > MOST_TABLE_ENTRIES or any(parent in roles.own for parent in variable.parents):
        return None
    combinations = list(product(*axes))
    evaluation = Evaluation(variable, structure.variables)
    parameters = evaluation.parameters(parent_points(roles, variable, above, combinations), len(combinations))
    kept = [evaluation.of_element(parameters, k) for _, k in elements]
    if not all(np.array_equal(a, b) for each in kept[1:] for a, b in zip(kept[0], each, strict=True)):
        return None
    evaluation.log_density(np.zeros(len(combinations)), kept[0])  # raises if parameters are not valid
    names = structure.coords.get(f"{variable.name}_states")
    return tuple(make([each[row] for each in kept[0]], names) for row in range(len(combinations)))


def _bernoulli(parameters: list[FloatArray], names: object) -> object:
    p = float(parameters[0])
    return p if names is None else _named([1 - p, p], names)


def _categorical(parameters: list[FloatArray], names: object) -> object:
    from scipy.stats import rv_discrete

    p = parameters[0] / parameters[0].sum()
    if names is not None:
        return _named(p.tolist(), names)
    return rv_discrete(values=(np.arange(len(p)), p))()


def _named(probabilities: list[float], names: object) -> dict[object, float]:
    return dict(zip(cast("tuple[object, ...]", names), probabilities, strict=True))


def _family(name: str, arguments: Callable[[list[float]], Mapping[str, float]]) -> Callable[..., object]:
    def make(parameters: list[FloatArray], names: object) -> object:
        import scipy.stats

        return getattr(scipy.stats, name)(**arguments([float(each) for each in parameters]))

    return make


_MADE: Mapping[str, Callable[[list[FloatArray], object], object]] = {
    "Bernoulli": _bernoulli,
    "Categorical": _categorical,
    "Binomial": _family("binom", lambda p: {"n": p[0], "p": p[1]}),
    "BetaBinomial": _family("betabinom", lambda p: {"n": p[0], "a": p[1], "b": p[2]}),
    "DiscreteUniform": _family("randint", lambda p: {"low": p[0], "high": p[1] + 1}),
    "Poisson": _family("poisson", lambda p: {"mu": p[0]}),
    "Normal": _family("norm", lambda p: {"loc": p[0], "scale": p[1]}),
    "Exponential": _family("expon", lambda p: {"scale": p[0]}),
    "Beta": _family("beta", lambda p: {"a": p[0], "b": p[1]}),
    "StudentT": _family("t", lambda p: {"df": p[0], "loc": p[1], "scale": p[2]}),
}
