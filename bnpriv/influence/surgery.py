"""What a network would say without one of its edges."""

from __future__ import annotations

import numpy as np

from bnpriv.checks import listing
from bnpriv.errors import NetworkError
from bnpriv.influence.elimination import joint_law
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import from_weights


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
