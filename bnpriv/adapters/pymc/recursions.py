"""Processes that are drawn step by step, for many points at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from bnpriv.adapters.pymc.backend import from_arrays, generator, tensor
from bnpriv.bound import FloatArray

Known = dict[Any, Any]
"""What stands for every variable of a graph: itself, or one with an axis for points in front."""


def sizes(array: Any) -> tuple[Any, ...]:
    """Return the lengths of the axes of an array."""
    return tuple(array.shape[k] for k in range(array.ndim))


def aligned(array: Any, own: Any, axes: int) -> Any:
    """Return an array with the axis for points, and `axes` more, to which axes of length 1 are added in front."""
    pt = tensor()
    array = array if array.ndim > own.ndim else pt.expand_dims(array, 0)
    return pt.expand_dims(array, tuple(range(1, 1 + axes - own.ndim)))


def autoregressive(node: Any, known: Known) -> Any:
    """Return draws of x_t = c + sum of rho_i x_(t-i) + sigma e_t, step by step for all points at once."""
    pt, op = tensor(), node.op
    rhos, sigma, start, steps = node.inputs[:4]
    first = known[start]  # its law is drawn for every point and every process
    axes = first.ndim - 1
    weights = aligned(known[rhos], rhos, axes)
    mean, weights = (
        (weights[..., :1], weights[..., 1:]) if op.constant_term else (pt.zeros_like(weights[..., :1]), weights)
    )
    spread = pt.expand_dims(aligned(known[sigma], sigma, axes - 1), -1)
    shocks = pt.random.normal(mean, spread, size=(*sizes(first)[:-1], known[steps]), rng=generator())
    return from_arrays(_recursion, [weights, first, shocks], shocks.ndim)


def _recursion(weights: FloatArray, first: FloatArray, shocks: FloatArray) -> FloatArray:
    order = first.shape[-1]
    found = np.concatenate([first, shocks], axis=-1)
    for t in range(order, found.shape[-1]):
        found[..., t] += (weights * found[..., t - order : t][..., ::-1]).sum(axis=-1)
    return found


def volatile(node: Any, known: Known) -> Any:
    """Return draws of a GARCH(1, 1) process, step by step for all points at once."""
    pt = tensor()
    *parameters, start, steps = node.inputs[:6]
    first = known[start]
    given = [aligned(known[each], each, first.ndim - 1) for each in parameters]
    shocks = pt.random.normal(0.0, 1.0, size=(*sizes(first), known[steps]), rng=generator())
    return from_arrays(_volatility, [*given, first, shocks], shocks.ndim)


def _volatility(
    omega: FloatArray, alpha: FloatArray, beta: FloatArray, spread: FloatArray, first: FloatArray, shocks: FloatArray
) -> FloatArray:
    found = np.concatenate([first[..., np.newaxis], shocks], axis=-1)
    for t in range(1, found.shape[-1]):
        spread = np.sqrt(omega + alpha * found[..., t - 1] ** 2 + beta * spread**2)
        found[..., t] *= spread
    return found
