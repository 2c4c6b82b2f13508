"""Networks that can be drawn from forward, as whole tables, whatever else is known of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bnpriv.networks.base import Network

Forward = Any
"""A network of densities with columns that its parameters drive, so that it draws whole tables."""


def forward_of(network: object) -> Forward | None:
    """Return what draws whole tables from a model of parameters and the columns that they drive; None without such.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> forward_of(DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": [0, 1]})) is None
    True
    """
    forward: Forward | None = getattr(network, "forward", None)
    return forward


def unfixed_of(network: Network, protected: Collection[object]) -> Network:
    """Return the network in which none of some parameters is fixed to draws of a posterior, if there is one.

    Parameters
    ----------
    network : network
        Where all that has draws may be fixed, so that what stays has exact laws, or is a network of records.
    protected : collection of str
        Those that must keep their laws.

    Returns
    -------
    network
        The same where nothing of the kind is fixed.
    """
    unfixed: Network | None = getattr(network, "unfixed", None)
    if unfixed is None or (network.level == "parameters" and frozenset(network.attributes).issuperset(protected)):
        return network
    return unfixed if frozenset(unfixed.attributes).issuperset(protected) else network
