"""Random variables with finitely many values, and networks of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, product
from math import prod
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.columns import State
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError, SizeError
from bnpriv.io.pymc.evaluation import Evaluation, Points
from bnpriv.io.pymc.expressions import INSERTS, MOVES, Element, ancestors, is_shape
from bnpriv.io.pymc.roles import Roles
from bnpriv.io.pymc.structure import Structure, Variable, fixed
from bnpriv.kinds.gaussian.network import GaussianNetwork, NormalColumn

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


# --------------------------------------------------------------------------------------------------
# Models whose variables are normal around means affine in their parents.
# --------------------------------------------------------------------------------------------------

# --------------------------------------------------------------------------------------------------
# Which expressions of a model are affine in its random variables.
# --------------------------------------------------------------------------------------------------

CONSTANT, AFFINE, OTHER = 0, 1, 2

_SUMS = frozenset({"Add", "Sub", "Neg", "Identity", "Cast"})
_MOVED_ABOUT = frozenset({"Sum", "MakeVector", "Join", "ScalarFromTensor", "TensorFromScalar"})
_PRODUCTS = frozenset({"Dot", "BatchedDot", "Dot22", "MatMul", "Gemv"})


def degrees(roots: Sequence[Any], variables: Collection[Any], stops: Collection[Any]) -> list[int]:
    """Return for expressions whether they are constant, affine in `variables`, or neither as far as can be seen.

    Parameters
    ----------
    roots : sequence of TensorVariable
    variables : collection of TensorVariable
        What may vary.
    stops : collection of TensorVariable
        Where to stop; those that are not among `variables` are constants.
    """
    known: dict[Any, int] = {}
    varies, ends = set(variables), set(stops)
    for here in ancestors(roots, ends, values=True):
        if here in varies:
            known[here] = AFFINE
        elif here.owner is None or here in ends or is_shape(here):
            known[here] = CONSTANT
        else:
            known[here] = _degree(here, [known[above] for above in here.owner.inputs])
    return [known[root] for root in roots]


def _degree(variable: Any, above: Sequence[int]) -> int:
    most = max(above, default=CONSTANT)
    if most in (CONSTANT, OTHER):
        return most
    op = variable.owner.op
    kind = type(op).__name__
    if getattr(variable, "dtype", "float64") != "float64":  # rounded on the way
        return OTHER
    if kind == "Elemwise":
        return _entrywise(type(op.scalar_op).__name__, above)
    one = sum(degree == AFFINE for degree in above) == 1
    if kind == "Blockwise":
        fine = type(op.core_op).__name__ in _PRODUCTS and one
    elif kind in _PRODUCTS:
        fine = one
    elif kind in MOVES or kind in INSERTS:
        fine = all(degree == CONSTANT for degree in above[1 + (kind in INSERTS) :])
    elif kind == "CumOp":
        fine = op.mode == "add"
    else:
        fine = kind in _MOVED_ABOUT
    return AFFINE if fine else OTHER


def _entrywise(scalar: str, above: Sequence[int]) -> int:
    """Return the degree of what a function of numbers makes of arrays that are not all constant."""
    if scalar == "Second":  # the second, with the shape of the first
        return above[1]
    if scalar == "Mul":
        fine = sum(degree == AFFINE for degree in above) == 1
    elif scalar == "TrueDiv":
        fine = above[1] == CONSTANT
    elif scalar == "Switch":
        fine = above[0] == CONSTANT
    else:
        fine = scalar in _SUMS
    return AFFINE if fine else OTHER


_ANALYTIC = frozenset(
    {"ArcTan", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Expm1", "Sigmoid", "Sin", "Sinh", "Softplus", "Sqr", "Tanh"}
)
_RATIONAL = frozenset({"Add", "Sub", "Mul", "Neg", "Identity", "TrueDiv", "CumOp", "Prod"})
_RISING = frozenset({"Exp", "Expm1", "Identity", "Log", "Log1p", "Sigmoid", "Softplus", "Sqrt", "Tanh", "ViewOp"})


def is_analytic(root: Any, stops: Collection[Any]) -> bool:
    """Return whether an expression is, up to an increasing function, a ratio of functions that are analytic everywhere.

    Parameters
    ----------
    root : TensorVariable
    stops : collection of TensorVariable
        What may vary; nothing else random is above the expression.
    """
    while root.owner is not None and type(getattr(root.owner.op, "scalar_op", root.owner.op)).__name__ in _RISING:
        root = root.owner.inputs[0]
    ends, ratios, known = set(stops), set[Any](), set[Any]()
    for here in ancestors([root], ends, values=True):
        if here in ends:
            known.add(here)
        elif here.owner is not None and not is_shape(here) and known.intersection(here.owner.inputs):
            op, moved = here.owner.op, here.owner.inputs
            kind = type(op.scalar_op if type(op).__name__ == "Elemwise" else getattr(op, "core_op", op)).__name__
            rest = moved[1 + (kind in INSERTS) :] if kind in MOVES | INSERTS else ()
            power = fixed(moved[1]) if kind == "Pow" else None  # a whole one is a product, or one over it
            kind = "Mul" if power is not None and bool(np.all(power == np.round(power))) else kind
            ratio = kind == "TrueDiv" or not ratios.isdisjoint(moved) or (power is not None and bool(np.any(power < 0)))
            fine = kind in _RATIONAL | _PRODUCTS | MOVES | INSERTS | _MOVED_ABOUT or (kind in _ANALYTIC and not ratio)
            if not fine or not known.isdisjoint(rest) or getattr(here, "dtype", "float64") != "float64":
                return False
            known.add(here)
            ratios.update([here] if ratio else [])
    return root in known


# --------------------------------------------------------------------------------------------------
# Models whose variables are normal around means affine in their parents: exact linear-Gaussian networks.
# --------------------------------------------------------------------------------------------------

STEP = 2.0**200
"""How far a parent is moved to find its coefficient: far, so that the intercept takes no digits of it."""

GAUSSIAN_PROBES = 4
AGREEMENT = 1e-10
"""Relative difference of a mean from its affine form at random points that is taken for rounding."""


def is_linear(roles: Roles, variable: Variable) -> bool:
    """Return whether a variable is normal with a mean affine in its parents and a constant spread, by its graph."""
    kind = type(variable.rv.owner.op).__name__
    if variable.order or (kind != "NormalRV" and not (kind == "MvNormalRV" and len(variable.shape) == 1)):
        return False
    every = [each.rv for each in roles.structure.variables.values()]
    varies = [each.rv for each in roles.parameters]
    mean, spread = degrees(list(variable.parameters), varies, every)
    return mean in (CONSTANT, AFFINE) and spread == CONSTANT


def gaussian_network(roles: Roles) -> GaussianNetwork:
    """Return the exact network of variables that are all linear.

    Raises
    ------
    NetworkError
        If a mean is not what its graph says, or the joint law is singular.
    """
    intercepts: dict[str, FloatArray] = {}
    deviations: dict[str, FloatArray] = {}
    coefficients: dict[str, dict[str, FloatArray]] = {}
    for variable in roles.parameters:
        above, base, slopes, spread = regression(roles, variable)
        root = _root(variable, spread) if variable.is_joint else spread[:, :, np.newaxis] * np.eye(variable.size)
        for k, name in enumerate(variable.names):
            # entries of a vector with a joint law are regressed on those before them
            before = np.linalg.solve(root[:, :k, :k].swapaxes(1, 2), root[:, k, :k, np.newaxis])[:, :, 0]
            intercepts[name] = base[:, k] - (before * base[:, :k]).sum(axis=1)
            deviations[name] = root[:, k, k]
            own = slopes[:, k] - np.einsum("tj,tjp->tp", before, slopes[:, :k])
            places = set(roles.above((variable.name, k)))
            terms = {roles.structure.element(p): own[:, j] for j, p in enumerate(above) if p in places}
            if variable.is_joint:
                terms |= {variable.names[j]: before[:, j] for j in range(k)}
            coefficients[name] = terms
    return GaussianNetwork.linear(intercepts, deviations, coefficients)


def regression(roles: Roles, variable: Variable) -> tuple[tuple[Element, ...], FloatArray, FloatArray, FloatArray]:
    """Return the parents, the intercepts, the coefficients, and the deviations or, of a joint law, the covariance.

    Their shapes are (models, size), (models, size, parents), and (models, size) or (models, size, size).

    Raises
    ------
    NetworkError
        If the mean is not what its graph says.
    """
    found = set(chain.from_iterable(variable.above))
    above = tuple(sorted(each for each in found if each[0] in roles.names))
    random = np.random.default_rng(0)
    probes = random.normal(scale=10.0, size=(GAUSSIAN_PROBES, len(above)))
    moved = np.concatenate([np.zeros((1, len(above))), STEP * np.eye(len(above)), probes])
    models = roles.models_of(variable)
    points = parent_points(roles, variable, above, [tuple(row) for row in moved.tolist()])
    evaluation = Evaluation(variable, roles.structure.variables)
    mean, spread = evaluation.parameters(points, models * len(moved))
    means = _spread_out(mean, variable, models, len(moved))
    base = means[:, 0]
    slopes = np.moveaxis((means[:, 1 : 1 + len(above)] - means[:, :1]) / STEP, 1, 2)
    _check(variable, means[:, 1 + len(above) :], base, slopes, probes)
    if variable.is_joint:
        return above, base, slopes, spread.reshape((models, len(moved), *spread.shape[1:]))[:, 0]
    return above, base, slopes, _spread_out(spread, variable, models, len(moved))[:, 0]


def _root(variable: Variable, covariance: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise NetworkError(
            f"the covariance of {variable.name!r} must be positive definite",
            found="one that is not",
            remedy="Leave out entries that are functions of others, or give them noise of their own.",
        ) from None


def _spread_out(value: FloatArray, variable: Variable, models: int, count: int) -> FloatArray:
    """Return a parameter with an entry for every element, of shape (models, count, size)."""
    ones = (1,) * (len(variable.shape) + 1 - value.ndim)
    whole = np.broadcast_to(value.reshape((len(value), *ones, *value.shape[1:])), (len(value), *variable.shape))
    return whole.reshape((models, count, variable.size)).astype(np.float64)


def _check(variable: Variable, means: FloatArray, base: FloatArray, slopes: FloatArray, probes: FloatArray) -> None:
    terms = slopes[:, np.newaxis] * probes[np.newaxis, :, np.newaxis, :]
    size = np.abs(base)[:, np.newaxis] + np.abs(terms).sum(axis=3)
    off = np.abs(means - base[:, np.newaxis] - terms.sum(axis=3))
    if not bool(np.all(off <= AGREEMENT * size + 1e-300)):
        raise NetworkError(
            f"the mean of {variable.name!r} must be the same affine function of its parents everywhere",
            found="other values at some points",
            remedy="Report the expression of its mean.",
        )


# --------------------------------------------------------------------------------------------------
# Columns of a PyMC model that are normal about numbers affine in its parameters.
# --------------------------------------------------------------------------------------------------

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
