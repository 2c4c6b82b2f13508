"""What a network would say without one of its edges, and several networks as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import State
from bnpriv.core.influence.ratios import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.model_class import from_weights
from bnpriv.errors import BnprivError, NetworkError

# --------------------------------------------------------------------------------------------------
# What a network would say without one of its edges.
# --------------------------------------------------------------------------------------------------


def edge_removal(network: DiscreteNetwork) -> Callable[[str, str], DiscreteNetwork]:
    """From the ends of an edge to the network without it."""
    return partial(without_edge, network)


def without_edge(network: DiscreteNetwork, parent: str, child: str) -> DiscreteNetwork:
    """Return the network in which `child` no longer depends on `parent`.

    The child's new table is the mean of the old one over the parent's own law.

    Parameters
    ----------
    network : DiscreteNetwork
    parent, child : str
        An edge of it.

    Returns
    -------
    DiscreteNetwork

    Raises
    ------
    NetworkError
        If there is no such edge.

    Examples
    --------
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> without_edge(network, "income", "sat").probabilities("sat").tolist()
    [[0.5, 0.5]]
    """
    above = network.graph.parents[network.require(child)]
    if parent not in above:
        raise NetworkError(
            f"{parent!r} must be a parent of {child!r}",
            found=f"the parents {listing(above)}",
            remedy="Name an edge of the network.",
        )
    weights = np.exp(joint_law(network, (parent,)).values)
    weights = np.broadcast_to(weights, (network.models, weights.shape[1]))
    old = np.moveaxis(network.probabilities(child), 2 + above.index(parent), -1)
    new = np.einsum("m...p,mp->m...", old, weights)
    tables = {name: network.probabilities(name) for name in network.attributes} | {child: new}
    parents = dict(network.graph.parents) | {child: tuple(name for name in above if name != parent)}
    return from_weights(tables, states=network.states, parents=parents, level=network.level)


# --------------------------------------------------------------------------------------------------
# Several networks as one: a new attribute, on which all others depend, says which of them holds.
# --------------------------------------------------------------------------------------------------


def mixture_network(networks: Sequence[DiscreteNetwork], name: str, labels: Sequence[str]) -> DiscreteNetwork:
    """Return one network that is each of several, given the state of a new attribute.

    Parameters
    ----------
    networks : sequence of DiscreteNetwork
        One model each, over the same attributes; an attribute may have other parents and states in each of them.
    name : str
        The new attribute.
    labels : sequence of str
        Its states, one for every network.

    Raises
    ------
    NetworkError
        If the attributes differ, or the edges of all networks together form a cycle.

    Examples
    --------
    >>> one, two = (
    ...     DiscreteNetwork.from_tables({"ill": law}, states={"ill": ["no", "yes"]}) for law in ([1, 0], [0, 1])
    ... )
    >>> both = mixture_network([one, two], "which", ["one", "two"])
    >>> both.attributes, both.probabilities("ill").tolist()
    (('which', 'ill'), [[[1.0, 0.0], [0.0, 1.0]]])
    """
    first = networks[0]
    if any(set(other.attributes) != set(first.attributes) for other in networks):
        raise NetworkError(
            "networks that are joined must have the same attributes", found="others", remedy="Add what is missing."
        )
    parents = {a: tuple(dict.fromkeys(p for each in networks for p in each.graph.parents[a])) for a in first.attributes}
    states = {a: tuple(dict.fromkeys(s for each in networks for s in each.states[a])) for a in first.attributes}
    tables = {a: _table(networks, a, parents[a], states) for a in first.attributes}
    try:
        return DiscreteNetwork.from_tables(
            {name: np.full(len(networks), 1 / len(networks))} | tables,
            states={name: tuple(labels)} | states,
            parents={a: (name, *above) for a, above in parents.items()},
            level=None if any(network.reading.level_assumed for network in networks) else first.level,
        )
    except BnprivError as error:
        raise NetworkError(
            "networks that are joined must have edges that form no cycle together",
            found="edges that run in opposite directions",
            remedy="Turn the edges of one of them round.",
        ) from error


def _table(
    networks: Sequence[DiscreteNetwork], name: str, parents: Sequence[str], states: dict[str, tuple[State, ...]]
) -> FloatArray:
    """Return P(name | which network, parents), with the states and parents of all networks together."""
    shape = [len(states[each]) for each in (name, *parents)]
    stacked = [_spread(network, name, parents, states, shape) for network in networks]
    return np.stack(stacked, axis=1)


def _spread(
    network: DiscreteNetwork,
    name: str,
    parents: Sequence[str],
    states: dict[str, tuple[State, ...]],
    shape: Sequence[int],
) -> FloatArray:
    """Return the table of one network, repeated over parents that it does not have."""
    own = network.graph.parents[name]
    table = network.probabilities(name)[0]
    axes = (name, *(parent for parent in parents if parent in own))
    table = table.transpose([0, *(1 + own.index(parent) for parent in axes[1:])])
    # States that the network lacks are impossible; given impossible parents any law does.
    full = np.zeros([len(states[axis]) for axis in axes])
    full[0] = 1.0
    places = [[states[axis].index(state) for state in network.states[axis]] for axis in axes]
    full[(slice(None), *np.ix_(*places[1:]))] = 0.0
    full[np.ix_(*places)] = table
    inserted = full.reshape([size if each in axes else 1 for each, size in zip((name, *parents), shape, strict=True)])
    return np.broadcast_to(inserted, shape).copy()
