"""Numbers from a PyMC model, for many points at once: parameters of laws, log densities, draws."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import NetworkError
from bnpriv.io.pymc import backend
from bnpriv.io.pymc.expressions import ancestors, in_double
from bnpriv.io.pymc.structure import Variable, fixed, given_order, in_order

# --------------------------------------------------------------------------------------------------
# Processes that are drawn step by step, for many points at once.
# --------------------------------------------------------------------------------------------------

Known = dict[Any, Any]
"""What stands for every variable of a graph: itself, or one with an axis for points in front."""


def sizes(array: Any) -> tuple[Any, ...]:
    """Return the lengths of the axes of an array."""
    return tuple(array.shape[k] for k in range(array.ndim))


def aligned(array: Any, own: Any, axes: int) -> Any:
    """Return an array with the axis for points, and `axes` more, to which axes of length 1 are added in front."""
    pt = backend.tensor()
    array = array if array.ndim > own.ndim else pt.expand_dims(array, 0)
    return pt.expand_dims(array, tuple(range(1, 1 + axes - own.ndim)))


def autoregressive(node: Any, known: Known) -> Any:
    """Return draws of x_t = c + sum of rho_i x_(t-i) + sigma e_t, step by step for all points at once."""
    pt, op = backend.tensor(), node.op
    rhos, sigma, start, steps = node.inputs[:4]
    first = known[start]  # its law is drawn for every point and every process
    axes = first.ndim - 1
    weights = aligned(known[rhos], rhos, axes)
    mean, weights = (
        (weights[..., :1], weights[..., 1:]) if op.constant_term else (pt.zeros_like(weights[..., :1]), weights)
    )
    spread = pt.expand_dims(aligned(known[sigma], sigma, axes - 1), -1)
    shocks = pt.random.normal(mean, spread, size=(*sizes(first)[:-1], known[steps]), rng=backend.generator())
    return backend.from_arrays(_recursion, [weights, first, shocks], shocks.ndim)


def _recursion(weights: FloatArray, first: FloatArray, shocks: FloatArray) -> FloatArray:
    order = first.shape[-1]
    found = np.concatenate([first, shocks], axis=-1)
    for t in range(order, found.shape[-1]):
        found[..., t] += (weights * found[..., t - order : t][..., ::-1]).sum(axis=-1)
    return found


def volatile(node: Any, known: Known) -> Any:
    """Return draws of a GARCH(1, 1) process, step by step for all points at once."""
    pt = backend.tensor()
    *parameters, start, steps = node.inputs[:6]
    first = known[start]
    given = [aligned(known[each], each, first.ndim - 1) for each in parameters]
    shocks = pt.random.normal(0.0, 1.0, size=(*sizes(first), known[steps]), rng=backend.generator())
    return backend.from_arrays(_volatility, [*given, first, shocks], shocks.ndim)


def _volatility(
    omega: FloatArray, alpha: FloatArray, beta: FloatArray, spread: FloatArray, first: FloatArray, shocks: FloatArray
) -> FloatArray:
    found = np.concatenate([first[..., np.newaxis], shocks], axis=-1)
    for t in range(1, found.shape[-1]):
        spread = np.sqrt(omega + alpha * found[..., t - 1] ** 2 + beta * spread**2)
        found[..., t] *= spread
    return found


# --------------------------------------------------------------------------------------------------
# Laws that are made of others, drawn for many points at once: their parts become random variables of many points.
#
# PyTensor's own way to many points would share the draws of a part that depends on no point. Here every part is drawn
# anew for each, by a generator of its own.
# --------------------------------------------------------------------------------------------------

MOST_TRUNCATION_ROUNDS = 1_000
"""Draws of a truncated law are tried again at most so often: of 1 in 100 that fit 4 in 100,000 are left."""

SUM_ERROR = 1e-5
"""By how much the sum of probabilities may differ from 1, as PyMC allows."""

BELOW_ZERO = 1e-9
"""How far below zero rounding may take a probability."""


class NothingBetweenError(RuntimeError):
    """Hardly any draw of a law lies between the bounds at which it is cut off."""


def batched(parts: Sequence[Any], points: Mapping[Any, Any], count: Any) -> list[Any]:
    """Return draws of random variables for many points, the parts of their laws included, or what depends on them.

    Parameters
    ----------
    parts : sequence of TensorVariable
    points : mapping from TensorVariable to TensorVariable
        For the variables above them those with an axis for points in front.
    count : TensorVariable
        The number of points.

    Raises
    ------
    NotImplementedError
        If a part can be drawn for one point only.
    """
    made = _through(parts, dict(points), count)
    return [_spread(each, part, count) for each, part in zip(made, parts, strict=True)]


def _spread(made: Any, part: Any, count: Any) -> Any:
    """Return an array with the axis for points also where nothing is random."""
    whole = aligned(made, part, part.ndim)
    return backend.tensor().broadcast_to(whole, (count, *sizes(whole)[1:]))


def categorical(p: Any, size: Any) -> Any:
    """Return draws of whole numbers from 0 on with probabilities along the last axis, by one uniform number each."""
    pt = backend.tensor()
    p = backend.check()(p, pt.all(pt.ge(p, -BELOW_ZERO)), pt.all(pt.le(pt.abs(pt.sum(p, axis=-1) - 1), SUM_ERROR)))
    shape = tuple(sizes(p)[:-1]) if size is None else size
    uniform = pt.random.uniform(0.0, 1.0, size=shape, rng=backend.generator())
    passed = pt.lt(pt.cumsum(p, axis=-1)[..., :-1], pt.expand_dims(uniform, -1))
    return pt.sum(passed, axis=-1, dtype="int64")


def dirichlet(amounts: Any, size: Any) -> Any:
    """Return draws of shares, as Gamma numbers over their sum, by logarithms: small ones do not all become zero.

    If U is uniform and G has the law Gamma(a + 1), then G U^(1/a) has the law Gamma(a).
    """
    pt = backend.tensor()
    valid = pt.all(pt.gt(amounts, 0))
    amounts = backend.check()(amounts, valid)
    shape = sizes(amounts) if size is None else (*(size[k] for k in range(amounts.ndim - 1)), amounts.shape[-1])
    gamma = pt.random.gamma(amounts + 1.0, scale=1.0, size=shape, rng=backend.generator())
    uniform = pt.random.uniform(0.0, 1.0, size=shape, rng=backend.generator())
    logs = pt.log(gamma) + pt.log1p(-uniform) / amounts
    weights = pt.exp(logs - pt.max(logs, axis=-1, keepdims=True))
    return weights / pt.sum(weights, axis=-1, keepdims=True)


DRAWN_AT_ONCE: Mapping[str, Callable[[Any, Any], Any]] = {"CategoricalRV": categorical, "DirichletRV": dirichlet}
"""Laws that PyTensor draws one after the other, by draws of all at once: of the parameter and the size."""


def neighbours(given: Sequence[Any], size: Any) -> Any:
    """Return draws of a conditional autoregression, which has the precision tau (D - alpha W).

    PyMC's own draws have the square of its covariance; its density has not (seen in 5.28).
    """
    pt, (mean, near, *rest, valid) = backend.tensor(), given
    shape = sizes(mean) if size is None else (*(size[k] for k in range(mean.ndim - 1)), mean.shape[-1])
    shocks = pt.random.normal(0.0, 1.0, size=shape, rng=backend.generator())
    checked = backend.check()(mean, pt.all(valid))
    return backend.from_arrays(_field, [checked, near, *rest, shocks], mean.ndim)


def _field(mean: FloatArray, near: FloatArray, alpha: FloatArray, tau: FloatArray, shocks: FloatArray) -> FloatArray:
    matrix = near.reshape(near.shape[-2:])  # one for all points
    root = 1 / np.sqrt(matrix.sum(axis=0))
    values, vectors = np.linalg.eigh(root[:, np.newaxis] * matrix * root)
    if bool((np.abs(alpha) >= 1).any()):
        raise ValueError("alpha beyond 1")
    precision = tau[..., np.newaxis] * (1 - alpha[..., np.newaxis] * values)
    return mean + root * ((shocks / np.sqrt(precision)) @ vectors.T)


FIELDS: Mapping[str, Callable[[Sequence[Any], Any], Any]] = {"CARRV": neighbours}
"""Laws of vectors that PyMC draws one after the other, and not by their density: of the parameters and the size."""


def _through(roots: Sequence[Any], known: Known, count: Any) -> list[Any]:
    """What stands for expressions at `count` points; `known` is filled on the way."""
    for here in ancestors(roots, known):
        if here not in known and type(here.type).__name__ != "RandomGeneratorType":
            _reach(here, known, count)
    return [known[root] for root in roots]


def _reach(here: Any, known: Known, count: Any) -> None:
    node = here.owner
    if node is None:
        known[here] = here
        return
    op, kind = node.op, type(node.op).__name__
    if isinstance(op, backend.random_variables()):
        known[node.outputs[1]] = _random(node, known, count)
    elif kind in ("Shape", "Shape_i"):
        # the shape of one point's array, which is the same for all points
        array = node.inputs[0]
        more = known[array].ndim - array.ndim
        shape = backend.tensor().shape(known[array])
        known[here] = shape[more:] if type(node.op).__name__ == "Shape" else shape[more + node.op.i]
    elif kind in _PROCESSES:
        known[here] = _PROCESSES[kind](node, known)
    elif kind == "TruncatedRV":
        known[here] = _truncated(node, known, count)
    elif kind == "Scan":
        raise NotImplementedError(kind)
    elif hasattr(op, "inner_inputs"):
        _inside(node, known, count)
    else:
        above = {each: known[each] for each in node.inputs}  # no generator goes in: those above are all that draw
        if type(node).__name__ == "Apply" and all(each is kept for each, kept in above.items()):
            made = node.outputs
        else:  # by inputs of its own, as nodes inside an operation may be frozen
            apart = [_apart(each, above[each]) for each in node.inputs]
            alone = op.make_node(*apart).outputs
            pairs = zip(apart, node.inputs, strict=True)
            made = backend.vectorized(
                alone, {own: above[each] for own, each in pairs if own not in (each, above[each])}
            )
        known.update(zip(node.outputs, made, strict=True))


def _inside(node: Any, known: Known, count: Any) -> None:
    """Go through the expressions that an operation is made of."""
    above = zip(node.op.inner_inputs, node.inputs, strict=True)
    inner = {inside: known[given] for inside, given in above if given in known}
    pairs = zip(node.outputs, node.op.inner_outputs, strict=True)
    wanted = [(outer, inside) for outer, inside in pairs if hasattr(outer.type, "ndim")]
    made = _through([inside for _, inside in wanted], inner, count)
    known.update(zip((outer for outer, _ in wanted), made, strict=True))


def _random(node: Any, known: Known, count: Any) -> Any:
    op, pt = node.op, backend.tensor()
    if not (backend.is_basic(op) or backend.is_plain(op) or type(op).__name__ in FIELDS):
        raise NotImplementedError(type(op).__name__)
    own = op.dist_params(node)
    first, *rest = (aligned(backend.dense(known[each]), each, each.ndim) for each in own)
    # a part that depends on no point is drawn for each all the same
    given = [pt.broadcast_to(first, (count, *sizes(first)[1:])), *rest]
    size, sized = None, op.size_param(node)
    if hasattr(sized.type, "ndim"):
        size = pt.stack([count, *(known[sized][k] for k in range(sized.type.shape[0]))])
    if type(op).__name__ in FIELDS:
        return FIELDS[type(op).__name__](given, size)
    if type(op).__name__ in DRAWN_AT_ONCE:
        return DRAWN_AT_ONCE[type(op).__name__](given[0], size)
    return op.make_node(backend.generator(), size, *given).outputs[1]


def _apart(each: Any, stands: Any) -> Any:
    """Return an input of its own for an array; what is none, such as a slice, is the same for all points."""
    if hasattr(each, "data"):
        return each
    return each.type() if hasattr(each.type, "ndim") else stands


_PROCESSES: Mapping[str, Callable[[Any, Known], Any]] = {"AutoRegressiveRV": autoregressive, "GARCH11RV": volatile}


TRIED_FIRST = 20
"""Draws of a law that is cut off that are tried before its distribution function is inverted."""

SURVIVAL: Mapping[str, tuple[str, tuple[int | None, ...]]] = {
    "BetaRV": ("beta", (0, 1)),
    "BinomialRV": ("binom", (0, 1)),
    "CauchyRV": ("cauchy", (0, 1)),
    "ExponentialRV": ("expon", (None, 0)),
    "GammaRV": ("gamma", (0, None, 1)),
    "GeometricRV": ("geom", (0,)),
    "GumbelRV": ("gumbel_r", (0, 1)),
    "HalfCauchyRV": ("halfcauchy", (None, 0)),
    "HalfNormalRV": ("halfnorm", (0, 1)),
    "InvGammaRV": ("invgamma", (0, None, 1)),
    "LaplaceRV": ("laplace", (0, 1)),
    "LogisticRV": ("logistic", (0, 1)),
    "LogNormalRV": ("lognorm", (1, None, 0)),
    "NegBinomialRV": ("nbinom", (0, 1)),
    "ParetoRV": ("pareto", (0, None, 1)),
    "PoissonRV": ("poisson", (0,)),
    "StudentTRV": ("t", (0, 1, 2)),
    "WeibullBetaRV": ("weibull_min", (0, None, 1)),
}
"""Laws of which SciPy knows the chances on both sides of a number with all digits, by the names of PyTensor: its own,
and which of the parameters of PyTensor it takes; None for a location of 0.

PyMC's own way to draw what is cut off, by the inverse of the distribution function, loses all digits far out.
"""


def with_digits(kind: str, parameters: Sequence[FloatArray]) -> Any:
    """Return a distribution of SciPy's by the name of PyTensor's operation and its parameters."""
    name, order = SURVIVAL[kind]
    own = [np.exp(each) if kind == "LogNormalRV" and k == 0 else each for k, each in enumerate(parameters)]
    found: Any = getattr(import_module("scipy.stats"), name)
    return found(*(0.0 if k is None else own[k] for k in order))


def _truncated(node: Any, known: Known, count: Any) -> Any:
    """Return draws of a law that is cut off: for every entry the first draw that lies between the bounds.

    What is rarely between them is drawn by the inverse of the distribution function, given that it is.
    """
    pt, op = backend.tensor(), node.op.base_rv_op
    *inputs, lower, upper = node.inputs
    whole = op.make_node(*inputs)
    if not backend.is_plain(op) or any(op.ndims_params):
        return _truncated_whole(node, known, count)
    own, sized = [*op.dist_params(whole), lower, upper], op.size_param(whole)
    *made, size = _through([*own, sized], known, count)
    axes = node.default_output().ndim
    shape = (count, *(size[k] for k in range(axes)))
    spread = [pt.broadcast_to(aligned(each, one, axes), shape) for each, one in zip(made, own, strict=True)]
    kinds = [each.dtype for each in own]
    vectors = [pt.vector(dtype=kind) for kind in kinds[:-2]]
    drawn, generators = backend.own_generators(backend.of_parameters(op, vectors))
    function = backend.compiled(vectors, drawn)

    def draw(seed: FloatArray, *values: FloatArray) -> FloatArray:
        random = np.random.default_rng(int(seed))
        flat = [each.ravel() for each in values]

        def again(rows: Any) -> FloatArray:
            backend.reseed(generators, random)
            chosen = (each[rows].astype(kind) for each, kind in zip(flat[:-2], kinds, strict=False))
            return np.asarray(function(*chosen), dtype=np.float64)

        *parameters, low, high = flat
        found, rest = np.empty(low.size), np.arange(low.size)
        kind = type(op).__name__
        for _ in range(TRIED_FIRST if kind in SURVIVAL else MOST_TRUNCATION_ROUNDS):
            new = again(rest)
            fits = ~((new < low[rest]) | (new > high[rest]))  # what is no number is told later
            found[rest[fits]], rest = new[fits], rest[~fits]
            if not len(rest):
                break
        if len(rest) and kind not in SURVIVAL:
            raise NothingBetweenError("bounds that too few draws lie between")
        if len(rest):
            rare = with_digits(kind, [each[rest] for each in parameters])
            found[rest] = between(rare, low[rest], high[rest], random.uniform(size=len(rest)), drawn.dtype)
        return found.reshape(values[0].shape).astype(drawn.dtype)

    seed = pt.random.integers(0, 2**31 - 1, rng=backend.generator())
    return backend.from_arrays(draw, [seed, *spread], axes + 1, drawn.dtype)


def between(law: Any, low: FloatArray, high: FloatArray, shares: FloatArray, kind: str) -> FloatArray:
    """Return quantiles of laws given that they lie between bounds, by the tail in which no digits are lost.

    Parameters
    ----------
    law : frozen distribution of SciPy's, of as many numbers
    low, high : ndarray of shape (numbers,)
        Both included.
    shares : ndarray of shape (numbers,)
        Between 0 and 1.
    kind : str
        The type of the numbers.

    Raises
    ------
    NothingBetweenError
        If the chance that one lies between its bounds is zero in double precision.
    """
    whole = not kind.startswith("float")
    before = np.ceil(low) - 1 if whole else low
    below: Callable[[FloatArray], FloatArray] = law.cdf
    over_it: Callable[[FloatArray], FloatArray] = law.sf
    start, end = below(before), below(high)
    beyond, left = over_it(before), over_it(high)
    above = start > 0.5
    mass = np.where(above, beyond - left, end - start)
    if not bool((mass > 0).all()):
        raise NothingBetweenError("bounds that too few draws lie between")
    target = np.where(above, beyond - shares * mass, start + shares * mass)

    def reached(x: FloatArray) -> Any:
        return np.where(above, over_it(x) <= target, below(x) >= target)

    if not whole:
        with np.errstate(all="ignore"):
            ends: tuple[FloatArray, FloatArray] = law.isf(target), law.ppf(target)
        return np.clip(np.where(above, *ends), low, high)
    step, under, over = 1.0, before, np.ceil(low)
    while not bool((done := reached(over) | (over >= high)).all()):
        under, over, step = np.where(done, under, over), np.where(done, over, np.minimum(over + step, high)), 2 * step
    while bool((over - under > 1).any()):
        middle = np.floor((under + over) / 2)
        hit = reached(middle)
        under, over = np.where(hit, under, middle), np.where(hit, middle, over)
    return over


def _truncated_whole(node: Any, known: Known, count: Any) -> Any:
    """Return draws of a law that is made of others and cut off, with all its parts anew."""
    pt, rv = backend.tensor(), node.default_output()
    *inputs, lower, upper = node.inputs
    given = [each for each in (*inputs, lower, upper) if hasattr(each.type, "ndim")]
    apart = {each: each.type() for each in given}
    whole = node.op.base_rv_op.make_node(*(apart.get(each, each) for each in inputs)).default_output()
    # the number of entries is the same for all points
    points = {apart[each]: backend.of_many(each) if known[each].ndim > each.ndim else apart[each] for each in given}
    number = pt.lscalar()
    drawn, *ends = batched([whole, apart[lower], apart[upper]], points, number)
    bounds = [aligned(end, own, whole.ndim) for end, own in zip(ends, (lower, upper), strict=True)]
    parts, generators = backend.own_generators([drawn, *bounds])
    function = backend.compiled([number, *points.values()], parts)
    kinds = [(each.ndim > own.ndim, each.dtype) for own, each in points.items()]

    def draw(seed: FloatArray, many: FloatArray, *values: FloatArray) -> FloatArray:
        random = np.random.default_rng(int(seed))

        def again(rows: Any) -> Any:
            backend.reseed(generators, random)
            chosen = [each[rows] if by_point else each for each, (by_point, _) in zip(values, kinds, strict=True)]
            typed = [each.astype(kind) for each, (_, kind) in zip(chosen, kinds, strict=True)]
            return function(int(many) if isinstance(rows, slice) else len(rows), *typed)

        return _kept(again).astype(rv.dtype)

    seed = pt.random.integers(0, 2**31 - 1, rng=backend.generator())
    return backend.from_arrays(draw, [seed, count, *(known[each] for each in given)], whole.ndim + 1, rv.dtype)


def _kept(again: Callable[[Any], Any]) -> FloatArray:
    found, low, high = again(slice(None))
    wrong = (found < low) | (found > high)
    for _ in range(MOST_TRUNCATION_ROUNDS):
        rows = np.flatnonzero(wrong.reshape((len(wrong), -1)).any(axis=1))
        if not len(rows):
            return np.asarray(found, dtype=np.float64)
        new, low, high = again(rows)
        found[rows] = np.where(wrong[rows], new, found[rows])
        wrong[rows] &= (new < low) | (new > high)
    raise NothingBetweenError("bounds that too few draws lie between")


# --------------------------------------------------------------------------------------------------
# Functions that draw laws that are made of others: all points at once where that is possible.
# --------------------------------------------------------------------------------------------------

Drawer = Callable[..., Any]
"""A function of the number of points and of the values above, with an axis for points, to draws."""


def drawer_of(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    """Return a function that draws a random variable given those above it, and its generators."""
    count, many = backend.tensor().lscalar(), [backend.of_many(each) for each in above]
    points = dict(zip(above, many, strict=True))
    try:
        drawn, generators = backend.own_generators(batched([rv], points, count)[0])
        return backend.compiled([count, *many], drawn), generators
    except NotImplementedError:  # loops, and laws that PyMC draws for one point at a time
        return _one_by_one(rv, above)


def _one_by_one(rv: Any, above: Sequence[Any]) -> tuple[Drawer, list[Any]]:
    inputs = [each.type() for each in above]
    drawn, generators = backend.own_generators(backend.replaced(rv, dict(zip(above, inputs, strict=True))))
    function = backend.compiled(inputs, drawn, updates=backend.updates_of(inputs, drawn))

    def draw(count: int, *given: FloatArray) -> list[Any]:
        return [function(*(each[i] for each in given)) for i in range(count)]

    return draw, generators


Points = Mapping[str, FloatArray]
"""Values of variables, each with a leading axis for points."""

MARKED_AT = 3
"""Points at which parameters of elements are compared."""

_DRAWN_UNCHECKED = frozenset({"AsymmetricLaplace", "DiscreteWeibull", "Kumaraswamy", "Weibull"})
"""Laws of which numbers are drawn whatever their parameters are, valid or not."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Functions compiled from one variable, when they are first needed.

    Parameters
    ----------
    variable : Variable
    variables : mapping from str to Variable
        All of the model.
    """

    variable: Variable
    variables: Mapping[str, Variable]

    def parameters(self, points: Points, count: int) -> tuple[FloatArray, ...]:
        """Return the parameters of the law at `count` points, each with a leading axis for them.

        Parameters
        ----------
        points : mapping from str to ndarray of shape (count, *shape)
            All parents.
        count : int

        Raises
        ------
        NetworkError
            If a matrix on the way is singular.
        """
        try:
            made = self._parameters(*(points[name] for name in self.variable.parents))
        except np.linalg.LinAlgError as error:  # at some point a matrix is singular
            raise self._invalid() from error
        found = [np.asarray(each) for each in made]
        return tuple(np.broadcast_to(value, (count, *value.shape[1:])) for value in found)

    @cached_property
    def _parameters(self) -> Callable[..., Sequence[Any]]:
        own, above = list(self.variable.parameters), [self.variables[name].rv for name in self.variable.parents]
        inputs = [backend.of_many(each) for each in above]
        try:
            made: Any = backend.vectorized(own, dict(zip(above, inputs, strict=True)))
        except (NotImplementedError, TypeError, ValueError):  # PyTensor has not all operations for many points
            return self._one_by_one(own, above)
        # every parameter gets an axis for the points, whether it depends on a parent or not
        made = [x if x.ndim > p.ndim else backend.tensor().expand_dims(x, 0) for x, p in zip(made, own, strict=True)]
        return backend.compiled(inputs, made)

    def _one_by_one(self, own: Sequence[Any], above: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        inputs = [each.type() for each in above]
        function = backend.compiled(inputs, backend.replaced(own, dict(zip(above, inputs, strict=True))))

        def of_points(*points: FloatArray) -> Sequence[Any]:
            found = [function(*point) for point in zip(*points, strict=True)]
            return [np.stack(each) for each in zip(*found, strict=True)]

        return of_points

    @property
    def is_uniform(self) -> bool:
        """Return whether all elements have the same law given the parents: no parameter has an entry of its own."""
        points = {name: np.ones((1, *self.variables[name].shape)) for name in self.variable.parents}
        points = {name: values.astype(self.variables[name].rv.dtype) for name, values in points.items()}
        with np.errstate(all="ignore"):
            found = self.parameters(points, 1)
        cores = backend.cores_of(self.variable.rv.owner.op)
        return all(np.prod(p.shape[1 : p.ndim - axes]) == 1 for p, axes in zip(found, cores, strict=True))

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """Return a mark for every element: those with the same mark have one law where they have the same parents.

        Parameters that agree at some points that were chosen without a look at them agree everywhere, but for chance.
        """
        name, above = self.variable.name, [self.variables[each] for each in self.variable.parents]
        if self.is_uniform:
            return (name,) * self.variable.size
        if not all(str(each.rv.dtype).startswith("float") for each in above):
            return ("",) * self.variable.size
        random = np.random.default_rng(0)
        points = {each.name: random.uniform(0.1, 0.9, (MARKED_AT, *each.shape)) for each in above}
        with np.errstate(all="ignore"):
            found = self._by_element(self.parameters(points, MARKED_AT))
        rows = [np.concatenate([each[:, k].ravel() for each in found]) for k in range(self.variable.size)]
        return tuple(f"{name} {row.tobytes().hex()}" if bool(np.isfinite(row).all()) else "" for row in rows)

    def of_element(self, parameters: Sequence[FloatArray], k: int) -> list[FloatArray]:
        """Return what the law of element `k` alone takes of the parameters; its law must be of single numbers."""
        return [each[:, k] for each in self._by_element(parameters)]

    def _by_element(self, parameters: Sequence[FloatArray]) -> list[FloatArray]:
        """Return parameters of shape (points, size, *core)."""
        shape, spread = self.variable.shape, list[FloatArray]()
        for value, axes in zip(parameters, backend.cores_of(self.variable.rv.owner.op), strict=True):
            core, batch = value.shape[value.ndim - axes :], value.shape[1 : value.ndim - axes]
            aligned = value.reshape((len(value), *(1,) * (len(shape) - len(batch)), *batch, *core))
            whole = np.broadcast_to(aligned, (len(value), *shape, *core))
            spread.append(whole.reshape((len(value), -1, *core)))
        return spread

    def log_density(self, values: FloatArray, parameters: Sequence[Any]) -> FloatArray:
        """Return the log density of one element at many points.

        Parameters
        ----------
        values : ndarray of shape (points,)
        parameters : sequence of ndarray of shape (points, *core)

        Raises
        ------
        NetworkError
            If parameters are not valid.
        """
        dtype = self.variable.rv.dtype
        try:
            with np.errstate(all="ignore"):
                logs = self._log_density(np.asarray(values, dtype=dtype), *parameters)
        except backend.pymc().logprob.utils.ParameterValueError:
            raise self._invalid() from None
        return np.asarray(logs, dtype=np.float64)

    def _invalid(self, found: str = "one that is not") -> NetworkError:
        return NetworkError(
            f"the parameters of {self.variable.name!r} must be valid for all values of its parents",
            found=found,
            remedy="Correct the expression, for example keep a probability within 0 and 1, or a prior from values "
            "whose exponential is no number.",
        )

    @cached_property
    def _log_density(self) -> Any:
        op = self.variable.rv.owner.op
        dtype = str(self.variable.rv.dtype)
        inputs = [_core(p, axes, dtype) for p, axes in zip(self.variable.parameters, backend.cores_of(op), strict=True)]
        value = backend.tensor().vector(dtype=dtype)
        logp = backend.pymc().logp(backend.of_parameters(op, inputs), value)
        return backend.compiled([value, *inputs], in_double([logp], {value, *inputs})[0])

    def draw(self, points: Points, count: int, random: np.random.Generator) -> FloatArray:
        """Return one draw of the whole variable per point, of shape (count, *shape).

        Raises
        ------
        NetworkError
            If parameters are not valid.
        """
        try:
            with np.errstate(all="ignore"):
                drawn = self._in_order(points, count, random)
        except NetworkError:
            raise
        except NothingBetweenError as error:
            raise NetworkError(
                f"{self.variable.name!r} cannot be drawn",
                found="bounds that too few draws of the distribution that is not truncated lie between",
                remedy="Truncate less, or declare the distribution between the bounds itself, such as Uniform.",
            ) from error
        except (NotImplementedError, RuntimeError) as error:
            raise NetworkError(
                f"{self.variable.name!r} cannot be drawn",
                found=f"PyMC has no draws of {self.variable.law}",
                remedy="Take another distribution, or protect and query what lies above it only.",
            ) from error
        except ValueError as error:
            raise self._invalid(self._failing(points, count)) from error
        found = np.asarray(drawn, dtype=np.float64).reshape((count, *self.variable.shape))
        if bool(self._is_none(np.asarray(drawn)).any()):
            raise self._invalid(self._failing(points, count))
        return found

    def _is_none(self, drawn: Any) -> Any:
        """Return which draws are no numbers; of whole numbers the least one stands for that."""
        kind = np.dtype(self.variable.rv.dtype)
        return drawn == np.iinfo(kind).min if kind.kind == "i" else np.isnan(np.asarray(drawn, dtype=np.float64))

    def _in_order(self, points: Points, count: int, random: np.random.Generator) -> Any:
        order = self.variable.order
        if not order:
            return self._drawn(points, count, random)
        shape = self.variable.shape
        if self.is_uniform:
            return in_order(np.asarray(self._drawn(points, count, random)).reshape((count, *shape)), order)

        def draw(number: int) -> FloatArray:
            return np.array(self._drawn({}, number, random)).reshape((number, *shape))

        return given_order(draw, count, order)

    def _failing(self, points: Points, count: int) -> str:
        """Return the values of the parents, and of the parameters, at a point that cannot be drawn."""
        rows = np.arange(count)
        while len(rows) > 1:
            half = rows[: len(rows) // 2]
            rows = half if self._fails(points, half) else rows[len(rows) // 2 :]
        if not self._fails(points, rows):  # it was not the point but the draw
            return "one that is not"
        at = {name: points[name][rows] for name in self.variable.parents}
        above = ", ".join(f"{name} = {_extreme(value)}" for name, value in at.items())
        own = ""
        if self.variable.parameters:
            with np.errstate(all="ignore"):
                own = ", ".join(_extreme(value) for value in self.parameters(at, 1))
        where = f" where {above}" if above else ""
        return f"{self.variable.law}({own}){where}"

    def _fails(self, points: Points, rows: Any) -> bool:
        chosen = {name: points[name][rows] for name in self.variable.parents}
        try:
            with np.errstate(all="ignore"):
                drawn = self._drawn(chosen, len(rows), np.random.default_rng(0))
        except ValueError:
            return True
        return bool(self._is_none(np.asarray(drawn)).any())

    def _by_function(self, points: Points, count: int, random: np.random.Generator) -> FloatArray:
        """Return what a function of the user's draws, point by point: it need not know of more than one."""
        rv, shape = self.variable.rv, self.variable.shape
        sized = rv.owner.op.size_param(rv.owner)
        own = fixed(sized) if hasattr(sized.type, "ndim") else None
        size = None if own is None else tuple(map(int, own))
        parameters, drawn = self.parameters(points, count), np.empty((count, *shape), dtype=rv.dtype)

        def one(i: int, by: np.random.Generator) -> Any:
            try:
                # copies, as a function may write into what it is given
                return np.asarray(rv.owner.op.rng_fn(by, *(np.array(each[i]) for each in parameters), size))
            except Exception as error:  # whatever a function of the user's raises
                shapes = listing([str(each.shape[1:]) for each in parameters])
                raise self._wrong(f"{type(error).__name__} for parameters of shapes {shapes}, size={size}") from error

        start = copy.deepcopy(random)
        for i in range(count):
            found = one(i, random)
            if found.shape != shape:
                raise self._wrong(f"an array of shape {found.shape}, size={size}")
            if i == 0 and not np.array_equal(found, one(i, start), equal_nan=True):
                raise self._wrong("other numbers from an equal rng")
            drawn[i] = found
        return drawn

    def _wrong(self, found: str) -> NetworkError:
        return NetworkError(
            f"the function that draws {self.variable.name!r} must return numbers in the shape {self.variable.shape}, "
            "and take all that is random from rng",
            found=found,
            remedy="Correct it: random(*parameters, rng, size), or fn(rng, *parameters, size) of a Simulator.",
        )

    def _drawn(self, points: Points, count: int, random: np.random.Generator) -> Any:
        if self.variable.is_function:
            return self.parameters(points, count)[0]
        if backend.is_black_box(self.variable.rv.owner.op):
            return self._by_function(points, count, random)
        function, generators = self._draw
        backend.reseed(generators, random)
        if not self.variable.is_plain and not self.variable.is_basic:
            return function(count, *(points[name] for name in self.variable.parents))
        parameters: Sequence[FloatArray] = self.parameters(points, count)
        if self.variable.is_plain:
            parameters = [each.reshape((-1, *each.shape[2:])) for each in self._by_element(parameters)]
        drawn = function(*parameters)
        if self.variable.law in _DRAWN_UNCHECKED and np.isneginf(self._checked(drawn, parameters)).any():
            raise ValueError("a draw outside the support")
        return drawn

    def _checked(self, drawn: Any, parameters: Sequence[FloatArray]) -> FloatArray:
        """Return log densities of draws.

        Raises
        ------
        ValueError
            If a parameter is not valid.
        """
        try:
            return self.log_density(np.asarray(drawn), parameters)
        except NetworkError as error:
            raise ValueError("a parameter is not valid") from error

    @cached_property
    def _draw(self) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function that draws, and its generators.

        Laws of single numbers are drawn element by element, vectors of them all points at once, and so are laws that
        are made of others, with their parts.
        """
        rv, own = self.variable.rv, self.variable.parameters
        op = rv.owner.op
        if not self.variable.is_plain and not self.variable.is_basic:
            return drawer_of(rv, [self.variables[name].rv for name in self.variable.parents])
        if self.variable.is_plain:
            inputs = [_core(p, axes, str(rv.dtype)) for p, axes in zip(own, op.ndims_params, strict=True)]
            at_once = DRAWN_AT_ONCE.get(type(op).__name__)
            alike = backend.of_parameters(op, inputs) if at_once is None else at_once(inputs[0], None)
        else:
            inputs = [backend.of_many(each) for each in own]
            apart = [each.type() for each in own]
            alone = op.make_node(*rv.owner.inputs[:2], *apart).outputs[1]
            alike = batched([alone], dict(zip(apart, inputs, strict=True)), inputs[0].shape[0])[0]
        drawn, generators = backend.own_generators(alike)
        return backend.compiled(inputs, drawn), generators


def check_orders(variables: Mapping[str, Variable]) -> None:
    """Refuse vectors that are kept in order and whose order would change the laws of what lies above them.

    Raises
    ------
    NetworkError
        If entries that depend on others have laws of their own each.
    """
    for variable in variables.values():
        if variable.order and variable.parents and not Evaluation(variable, variables).is_uniform:
            raise NetworkError(
                "entries that are kept in order must be alike, or depend on no other variable",
                found=f"entries of {variable.name!r} with distributions of their own that depend on others",
                remedy="Give them one distribution, or declare a first one and positive differences.",
            )


def _core(parameter: Any, axes: int, dtype: str) -> Any:
    """Return an input for a parameter of many laws; small whole numbers would be converted one by one, slowly."""
    kept = parameter.dtype if not dtype.startswith("float") else "float64"
    return backend.tensor().tensor(dtype=kept, shape=(None,) * (axes + 1))


def _extreme(values: FloatArray) -> str:
    """Return a number, or of an array the entry that is none, or the least and the largest."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    odd = flat[~np.isfinite(flat)]
    shown = odd[:1] if odd.size else np.unique([flat.min(), flat.max()]) if flat.size else flat
    return " to ".join(f"{each:.3g}" for each in shown)
