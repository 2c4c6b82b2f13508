"""Tables of conditional densities over points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing
from bnpriv.errors import NetworkError, SizeError
from bnpriv.influence.density.axes import Axis
from bnpriv.laws.base import log_sum_exp
from bnpriv.networks.density import DensityNetwork, Parameter
from bnpriv.networks.factors import LogTable

MOST_QUADRATURE_CELLS = 2**25
"""Largest table of a quadrature."""

HIGHEST = 700.0
"""Stands for the log of a density that is infinite at a point."""

LOWEST_LOG_DENSITY = -1e300
"""Stands for the logs of densities of which a few would overflow when added."""


def without_density(network: DensityNetwork, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` and their ancestors whose density cannot be had."""
    needed = network.graph.ancestral(names)
    return tuple(sorted(name for name in needed if network.parameters[name].log_density is None))


def log_density(parameter: Parameter, value: FloatArray, parents: Sequence[FloatArray]) -> FloatArray:
    """Return the log density at arrays that broadcast; -inf where it is no number.

    Raises
    ------
    NetworkError
        If the parameter has none, or its result has another shape.
    """
    if parameter.log_density is None:
        raise NetworkError(
            f"quadrature needs the density of {parameter.name!r} given its parents",
            found="none",
            remedy="Declare the model with scalar parameters that have densities, or ask about other columns.",
        )
    whole = np.broadcast_arrays(value, *parents)
    flat = [np.ascontiguousarray(array, dtype=np.float64).ravel() for array in whole]
    with np.errstate(all="ignore"):
        logs = np.asarray(parameter.log_density(flat[0], *flat[1:]), dtype=np.float64)
    if logs.shape != flat[0].shape:
        raise NetworkError(
            f"the log density of {parameter.name!r} must have the shape of its arguments",
            found=f"shape {logs.shape} for {flat[0].shape}",
            remedy="Return one number for every point.",
        )
    clean = np.clip(logs, LOWEST_LOG_DENSITY, HIGHEST)
    clean[~(logs > -np.inf)] = -np.inf
    return cast(FloatArray, clean.reshape(whole[0].shape))


def density_table(parameter: Parameter, axes: Mapping[str, Axis], most_cells: int = MOST_QUADRATURE_CELLS) -> LogTable:
    """Return log density plus log weight over the points of a parameter and its parents.

    Raises
    ------
    SizeError
        If the table would have more than `most_cells` cells.
    """
    family = (parameter.name, *parameter.parents)
    shape = tuple(axes[name].points for name in family)
    cells = int(np.prod(shape, dtype=np.float64))
    if cells > most_cells:
        raise too_large(cells, family, most_cells)
    spread = [
        axes[name].values.reshape([-1 if k == j else 1 for k in range(len(family))]) for j, name in enumerate(family)
    ]
    logs = log_density(parameter, spread[0], spread[1:])
    weights = axes[parameter.name].log_weights.reshape([-1] + [1] * len(parameter.parents))
    values = np.broadcast_to(logs, shape) + weights
    magnitude = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
    return LogTable(axes=family, values=values[np.newaxis], error=16 * UNIT_ROUNDOFF * magnitude)


def too_large(cells: int, family: Iterable[str], most_cells: int) -> SizeError:
    """Return the refusal of a table."""
    return SizeError(
        f"a table of a quadrature may have at most {most_cells:,} cells",
        found=f"{cells:,} for {listing(family)}",
        remedy="Query fewer columns at once, or declare parameters in steps (of finitely many states).",
    )


def missing_mass(table: LogTable, depths: Sequence[FloatArray]) -> float:
    """Return how far columns of a table are from summing to 1; one counts less the less probable its parents are.

    Parameters
    ----------
    table : LogTable
        Of a parameter with its parents.
    depths : sequence of ndarray
        For the points of every parent how much less probable they are than the most probable ones, in logs.
    """
    sums = np.asarray(log_sum_exp(table.values, 1))[0]
    depth = np.zeros(())
    for k, each in enumerate(depths):
        depth = depth + each.reshape([-1 if j == k else 1 for j in range(len(depths))])
    with np.errstate(over="ignore"):
        return float(np.max(np.abs(np.expm1(np.minimum(sums, HIGHEST))) * np.exp(-depth)))
