"""Members of interval networks, for tests that try many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import bnpriv as bp
from bnpriv.core.networks.discrete import IntervalNetwork, from_weights, vertices


def columns_of(network: IntervalNetwork) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
    for name in network.attributes:
        for place in np.ndindex(network.upper[name].shape[1:]):
            column = (slice(None), *place)
            yield name, place, vertices(network.lower[name][column], network.upper[name][column])


def members(network: IntervalNetwork, rng: np.random.Generator, at_corners: Sequence[bool]) -> bp.DiscreteNetwork:
    """Return random members as the models of one network: a vertex of every column, or a mixture of its vertices."""
    tables = {name: np.empty((len(at_corners), *network.upper[name].shape)) for name in network.attributes}
    columns = list(columns_of(network))
    for k, corner in enumerate(at_corners):
        for name, place, corners in columns:
            size = len(corners)
            weights = np.eye(size)[rng.integers(size)] if corner else rng.dirichlet(np.ones(size))
            tables[name][(k, slice(None), *place)] = weights @ corners
    return from_weights(tables, states=network.states, parents=network.graph.parents)
