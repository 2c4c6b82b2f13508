"""Members of interval networks, for tests that try many of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import bnpriv as bp
from bnpriv.networks import IntervalNetwork, from_weights
from bnpriv.networks.interval import vertices


def columns_of(network: IntervalNetwork) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
    for name in network.attributes:
        for place in np.ndindex(network.upper[name].shape[1:]):
            column = (slice(None), *place)
            yield name, place, vertices(network.lower[name][column], network.upper[name][column])


def member(network: IntervalNetwork, rng: np.random.Generator, *, corner: bool) -> bp.DiscreteNetwork:
    """Return a random member: a vertex of every column, or a mixture of its vertices."""
    tables = {name: np.empty_like(network.upper[name]) for name in network.attributes}
    for name, place, corners in columns_of(network):
        weights = np.eye(len(corners))[rng.integers(len(corners))] if corner else rng.dirichlet(np.ones(len(corners)))
        tables[name][(slice(None), *place)] = weights @ corners
    return from_weights(tables, states=network.states, parents=network.graph.parents)
