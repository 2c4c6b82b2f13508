"""Laws that are made of others, drawn for many points at once: their parts become random variables of many points.

PyTensor's own way to many points would share the draws of a part that depends on no point. Here every part is drawn
anew for each, by a generator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from bnpriv.adapters.pymc.backend import from_arrays, generator, is_basic, is_plain, random_variables, tensor, vectorized
from bnpriv.adapters.pymc.expressions import ancestors
from bnpriv.bound import FloatArray

Known = dict[Any, Any]
"""What stands for every variable of a graph: itself, or one with an axis for points in front."""


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
    made = _Batch(count).through(parts, dict(points))
    return [_spread(each, part, count) for each, part in zip(made, parts, strict=True)]


def _spread(made: Any, part: Any, count: Any) -> Any:
    """Return an array with the axis for points also where nothing is random."""
    whole = aligned(made, part, part.ndim)
    return tensor().broadcast_to(whole, (count, *_sizes(whole)[1:]))


def categorical(p: Any, size: Any) -> Any:
    """Return draws of whole numbers from 0 on with probabilities along the last axis, by one uniform number each."""
    pt = tensor()
    shape = tuple(_sizes(p)[:-1]) if size is None else size
    uniform = pt.random.uniform(0.0, 1.0, size=shape, rng=generator())
    passed = pt.lt(pt.cumsum(p, axis=-1)[..., :-1], pt.expand_dims(uniform, -1))
    return pt.sum(passed, axis=-1, dtype="int64")


@final
@dataclass(frozen=True)
class _Batch:
    """What makes random variables of one point into ones of `count` points."""

    count: Any

    def through(self, roots: Sequence[Any], known: Known) -> list[Any]:
        """Return what stands for expressions; `known` is filled on the way."""
        for here in ancestors(roots, known):
            if here not in known and type(here.type).__name__ != "RandomGeneratorType":
                self._reach(here, known)
        return [known[root] for root in roots]

    def _reach(self, here: Any, known: Known) -> None:
        node = here.owner
        if node is None:
            known[here] = here
            return
        op, kind = node.op, type(node.op).__name__
        if isinstance(op, random_variables()):
            known[node.outputs[1]] = self._random(node, known)
        elif kind in ("Shape", "Shape_i"):
            known[here] = _shape(node, known)
        elif kind in _KERNELS:
            known[node.outputs[1]] = _KERNELS[kind](node, known)
        elif kind == "Scan":
            raise NotImplementedError(kind)
        elif hasattr(op, "inner_inputs"):
            self._inside(node, known)
        else:
            above = {each: known[each] for each in node.inputs}  # no generator goes in: those above are all that draw
            changed = any(each is not kept for each, kept in above.items())
            made = vectorized(list(node.outputs), above) if changed else node.outputs
            known.update(zip(node.outputs, made, strict=True))

    def _inside(self, node: Any, known: Known) -> None:
        """Go through the expressions that an operation is made of."""
        above = zip(node.op.inner_inputs, node.inputs, strict=True)
        inner = {inside: known[given] for inside, given in above if given in known}
        pairs = zip(node.outputs, node.op.inner_outputs, strict=True)
        wanted = [(outer, inside) for outer, inside in pairs if hasattr(outer.type, "ndim")]
        made = self.through([inside for _, inside in wanted], inner)
        known.update(zip((outer for outer, _ in wanted), made, strict=True))

    def _random(self, node: Any, known: Known) -> Any:
        op, pt = node.op, tensor()
        if not (is_basic(op) or is_plain(op)):
            raise NotImplementedError(type(op).__name__)
        own = op.dist_params(node)
        first, *rest = (aligned(known[each], each, each.ndim) for each in own)
        # a part that depends on no point is drawn for each all the same
        given = [pt.broadcast_to(first, (self.count, *_sizes(first)[1:])), *rest]
        size, sized = None, op.size_param(node)
        if hasattr(sized.type, "ndim"):
            size = pt.stack([self.count, *(known[sized][k] for k in range(sized.type.shape[0]))])
        if type(op).__name__ == "CategoricalRV":
            return categorical(given[0], size)
        return op.make_node(generator(), size, *given).outputs[1]


def _shape(node: Any, known: Known) -> Any:
    """Return the shape of one point's array, which is the same for all points."""
    array = node.inputs[0]
    more = known[array].ndim - array.ndim
    shape = tensor().shape(known[array])
    return shape[more:] if type(node.op).__name__ == "Shape" else shape[more + node.op.i]


def _sizes(array: Any) -> tuple[Any, ...]:
    return tuple(array.shape[k] for k in range(array.ndim))


def aligned(array: Any, own: Any, axes: int) -> Any:
    """Return an array with the axis for points, and `axes` more, to which axes of length 1 are added in front."""
    pt = tensor()
    array = array if array.ndim > own.ndim else pt.expand_dims(array, 0)
    return pt.expand_dims(array, tuple(range(1, 1 + axes - own.ndim)))


def _autoregressive(node: Any, known: Known) -> Any:
    """Return draws of x_t = c + sum of rho_i x_(t-i) + sigma e_t, step by step for all points at once."""
    pt, op = tensor(), node.op
    rhos, sigma, start, steps = node.inputs[:4]
    first = known[start]  # its law is drawn for every point and every process
    axes = first.ndim - 1
    weights = aligned(known[rhos], rhos, axes)
    mean, weights = (weights[..., :1], weights[..., 1:]) if op.constant_term else (pt.zeros_like(weights[..., :1]), weights)
    spread = pt.expand_dims(aligned(known[sigma], sigma, axes - 1), -1)
    shocks = pt.random.normal(mean, spread, size=(*_sizes(first)[:-1], known[steps]), rng=generator())
    return from_arrays(_recursion, [weights, first, shocks], shocks.ndim)


def _recursion(weights: FloatArray, first: FloatArray, shocks: FloatArray) -> FloatArray:
    order = first.shape[-1]
    found = np.concatenate([first, shocks], axis=-1)
    for t in range(order, found.shape[-1]):
        found[..., t] += (weights * found[..., t - order : t][..., ::-1]).sum(axis=-1)
    return found


def _volatile(node: Any, known: Known) -> Any:
    """Return draws of a GARCH(1, 1) process, step by step for all points at once."""
    pt = tensor()
    *parameters, start, steps = node.inputs[:6]
    first = known[start]
    given = [aligned(known[each], each, first.ndim - 1) for each in parameters]
    shocks = pt.random.normal(0.0, 1.0, size=(*_sizes(first), known[steps]), rng=generator())
    return from_arrays(_volatility, [*given, first, shocks], shocks.ndim)


def _volatility(
    omega: FloatArray, alpha: FloatArray, beta: FloatArray, spread: FloatArray, first: FloatArray, shocks: FloatArray
) -> FloatArray:
    found = np.concatenate([first[..., np.newaxis], shocks], axis=-1)
    for t in range(1, found.shape[-1]):
        spread = np.sqrt(omega + alpha * found[..., t - 1] ** 2 + beta * spread**2)
        found[..., t] *= spread
    return found


_KERNELS: Mapping[str, Callable[[Any, Known], Any]] = {
    "AutoRegressiveRV": _autoregressive,
    "GARCH11RV": _volatile,
}
