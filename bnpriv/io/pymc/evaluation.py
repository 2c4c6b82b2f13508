"""Numbers from a PyMC model, for many points at once: parameters of laws, log densities, draws."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.backend import (
    compiled,
    cores_of,
    is_black_box,
    of_many,
    of_parameters,
    own_generators,
    pymc,
    replaced,
    reseed,
    tensor,
    vectorized,
)
from bnpriv.io.pymc.drawing import DRAWN_AT_ONCE, NothingBetweenError, batched, drawer_of
from bnpriv.io.pymc.expressions import in_double
from bnpriv.io.pymc.structure import Variable, fixed, given_order, in_order

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
        inputs = [of_many(each) for each in above]
        try:
            made: Any = vectorized(own, dict(zip(above, inputs, strict=True)))
        except (NotImplementedError, TypeError, ValueError):  # PyTensor has not all operations for many points
            return self._one_by_one(own, above)
        # every parameter gets an axis for the points, whether it depends on a parent or not
        made = [x if x.ndim > p.ndim else tensor().expand_dims(x, 0) for x, p in zip(made, own, strict=True)]
        return compiled(inputs, made)

    def _one_by_one(self, own: Sequence[Any], above: Sequence[Any]) -> Callable[..., Sequence[Any]]:
        inputs = [each.type() for each in above]
        function = compiled(inputs, replaced(own, dict(zip(above, inputs, strict=True))))

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
        cores = cores_of(self.variable.rv.owner.op)
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
        for value, axes in zip(parameters, cores_of(self.variable.rv.owner.op), strict=True):
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
        except pymc().logprob.utils.ParameterValueError:
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
        inputs = [_core(p, axes, dtype) for p, axes in zip(self.variable.parameters, cores_of(op), strict=True)]
        value = tensor().vector(dtype=dtype)
        logp = pymc().logp(of_parameters(op, inputs), value)
        return compiled([value, *inputs], in_double([logp], {value, *inputs})[0])

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
        if is_black_box(self.variable.rv.owner.op):
            return self._by_function(points, count, random)
        function, generators = self._draw
        reseed(generators, random)
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
            alike = of_parameters(op, inputs) if at_once is None else at_once(inputs[0], None)
        else:
            inputs = [of_many(each) for each in own]
            apart = [each.type() for each in own]
            alone = op.make_node(*rv.owner.inputs[:2], *apart).outputs[1]
            alike = batched([alone], dict(zip(apart, inputs, strict=True)), inputs[0].shape[0])[0]
        drawn, generators = own_generators(alike)
        return compiled(inputs, drawn), generators


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
    return tensor().tensor(dtype=kept, shape=(None,) * (axes + 1))


def _extreme(values: FloatArray) -> str:
    """Return a number, or of an array the entry that is none, or the least and the largest."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    odd = flat[~np.isfinite(flat)]
    shown = odd[:1] if odd.size else np.unique([flat.min(), flat.max()]) if flat.size else flat
    return " to ".join(f"{each:.3g}" for each in shown)
