"""Lower bounds of what columns tell, from one assignment that tells much: cheap where tables are large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.influence.elimination import joint_law
from bnpriv.laws.base import log_sum_exp
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import LogTable, elimination, marginal
from bnpriv.secrets.states import SecretPair

MOST_WITNESS_CELLS = 2**18
"""Cells of all tables that the probability of one assignment may take."""

MOST_SWEEPS = 3
"""How often every column is looked at again."""

AtLeast = Callable[[Iterable[str]], float]
"""From attributes to what they tell at least, in nats."""


def at_least(network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, columns: Iterable[str]) -> AtLeast:
    """Lower bounds of what subsets of some columns tell about one pair, under one model.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    pair : SecretPair
    model : int
    columns : iterable of str

    Returns
    -------
    callable
        From a subset of the columns to a lower bound of its influence, rounded down.
    """
    asked = network.graph.frontier(protected, columns)
    chosen: dict[str, int] = {}
    for name in asked:  # every column by itself
        ratios = _ratios(network, protected, pair, model, {}, name)
        if ratios is not None:
            chosen[name] = int(np.argmax(ratios))
    for _ in range(MOST_SWEEPS if len(chosen) > 1 else 0):
        before = dict(chosen)
        for name in chosen:
            rest = {other: state for other, state in chosen.items() if other != name}
            ratios = _ratios(network, protected, pair, model, rest, name)
            if ratios is not None:
                chosen[name] = int(np.argmax(ratios))
        if chosen == before:
            break

    def told(some: Iterable[str]) -> float:
        seen = {name: chosen[name] for name in sorted(some) if name in chosen}
        if not seen:
            return 0.0
        name = next(iter(seen))
        ratios = _ratios(network, protected, pair, model, {k: v for k, v in seen.items() if k != name}, name)
        return 0.0 if ratios is None else max(0.0, float(ratios[seen[name]]))

    return told


def _ratios(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, given: Mapping[str, int], name: str
) -> FloatArray | None:
    """Return lower bounds of log ratios of an assignment with each state of one more column; None if not known."""
    needed = network.graph.ancestral((protected, name, *given))
    pool = [_read(network.tables[each], model, given) for each in network.attributes if each in needed]
    keep = (protected, name)
    if elimination(pool, keep)[1].work > MOST_WITNESS_CELLS:
        return None
    table, prior = marginal(pool, keep), joint_law(network, (protected,))
    sides = [
        [k for k, state in enumerate(network.states[protected]) if state in side] for side in (pair.first, pair.second)
    ]
    row = prior.values[min(model, prior.values.shape[0] - 1)]
    if any(float(np.max(row[side])) == -np.inf for side in sides):
        return None  # the pair is no constraint
    above, below = (log_sum_exp(table.values[0][side], 0) - log_sum_exp(row[side], 0) for side in sides)
    finite = np.abs(table.values[np.isfinite(table.values)]).max(initial=1.0)
    error = 2 * (table.error + prior.error) + UNIT_ROUNDOFF * (16 * float(finite) + 8 * len(row) + 64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below - error)


def _read(table: LogTable, model: int, given: Mapping[str, int]) -> LogTable:
    """Return the table of one model at given states."""
    values = table.values[min(model, table.values.shape[0] - 1)]
    index = tuple(given.get(axis, slice(None)) for axis in table.axes)
    axes = tuple(axis for axis in table.axes if axis not in given)
    return LogTable(axes=axes, values=np.asarray(values[index])[np.newaxis], error=table.error)
