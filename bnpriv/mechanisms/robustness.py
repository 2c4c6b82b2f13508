"""Models that are off by a factor: which tables matter then, and the intervals around a model.

docs/claims/misspecified.md has the proofs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import NetworkError
from bnpriv.kind import kind_of
from bnpriv.networks.base import Network
from bnpriv.networks.discrete import IntervalNetwork
from bnpriv.networks.graph import Graph
from bnpriv.secrets.states import SecretPair


def counted_tables(network: Network, protected: str, border: Iterable[str], pair: SecretPair) -> Counter[str]:
    """Return how often tables enter P(border | first) : P(border | second), each time in both probabilities.

    Parameters
    ----------
    network : DiscreteNetwork or IntervalNetwork
    protected : str
    border : iterable of str
        What is seen; a frontier.
    pair : SecretPair

    Returns
    -------
    Counter
        Where a table is counted k times, a change of its entries by at most a factor f changes the ratio by at most
        f^(2 k).

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> from bnpriv.secrets.states import all_pairs
    >>> coin, copy = [0.5, 0.5], [[0.7, 0.2], [0.3, 0.8]]
    >>> chain = DiscreteNetwork.from_tables(
    ...     {"a": coin, "b": copy, "c": copy},
    ...     states={name: ["x", "y"] for name in "abc"},
    ...     parents={"b": ["a"], "c": ["b"]},
    ... )
    >>> pair = all_pairs(["x", "y"])[0]
    >>> sorted(counted_tables(chain, "a", ["c"], pair).items()), sorted(counted_tables(chain, "c", ["b"], pair).items())
    ([('b', 1), ('c', 1)], [('a', 1), ('b', 1), ('c', 2)])
    """
    graph, seen = network.graph, frozenset(border)
    if not seen:
        return Counter()
    above = graph.ancestral((protected,))
    inside = graph.ancestral((*seen, protected))
    # whether something seen is connected with a parent of the protected attribute without passing it
    parents = frozenset(graph.parents[protected])
    upper = any(part & parents and part & seen for part in graph.parts(seen, protected))
    chosen = not pair.is_point
    start = {child for child in graph.children[protected] if child in inside}
    if upper or chosen:
        start.add(protected)
    entered = _connected(graph, inside, seen | {protected}, start)
    count = Counter(entered)
    if chosen or upper:
        count.update(above)
    kind = kind_of(network)
    return Counter({name: times for name, times in count.items() if not kind.is_deterministic(network, name)})


def _connected(graph: Graph, inside: frozenset[str], known: frozenset[str], start: set[str]) -> set[str]:
    """Return the attributes whose tables share an unknown attribute, directly or in turn, with those of `start`."""
    entered, todo = set(start), list(start)
    while todo:
        name = todo.pop()
        hidden = {name, *graph.parents[name]} - known
        touching = {other for other in inside if hidden.intersection((other, *graph.parents[other]))}
        todo.extend(touching - entered)
        entered |= touching
    return entered


def within_factor(network: Network, factor: float, model: int = 0) -> IntervalNetwork:
    """Return all networks whose probabilities are within a factor of those of one model; zeros stay zero.

    Raises
    ------
    NetworkError
        If the network has no tables of probabilities.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> coin = DiscreteNetwork.from_tables({"coin": [0.25, 0.75]}, states={"coin": [0, 1]})
    >>> within_factor(coin, 1.5).upper["coin"].round(6).tolist()
    [0.375, 0.833333]
    """
    tables = kind_of(network).table_ends(network, model)
    if tables is None:
        raise NetworkError("tables of probabilities are needed", found=network.kind_text, remedy="Declare them.")
    low, high, missing = tables
    wide = factor * (1 + 8 * UNIT_ROUNDOFF) if factor > 1 else factor
    found = IntervalNetwork.of(
        {name: table / wide for name, table in low.items()},
        {name: np.minimum(table * wide, 1.0) for name, table in high.items()},
        states=network.states,
        parents=network.graph.parents,
        level=network.level,
    )
    return replace(found, missing=missing)
