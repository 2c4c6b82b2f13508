"""Models whose variables are normal around means affine in their parents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.evaluation import Evaluation
from bnpriv.io.pymc.expressions import INSERTS, MOVES, Element, ancestors, is_shape
from bnpriv.io.pymc.finite import parent_points
from bnpriv.io.pymc.roles import Roles
from bnpriv.io.pymc.structure import Variable, fixed
from bnpriv.kinds.gaussian.network import GaussianNetwork, NormalColumn

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
