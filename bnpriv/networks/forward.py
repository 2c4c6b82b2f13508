"""Networks that can be drawn from forward, as whole tables, whatever else is known of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch

from bnpriv.networks.base import Network
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.gaussian import GaussianNetwork


@singledispatch
def forward_of(network: object) -> DensityNetwork | None:
    """Return what draws whole tables from a model of parameters and the columns that they drive; None without such.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> forward_of(DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": [0, 1]})) is None
    True
    """
    return None


@forward_of.register
def _(network: DensityNetwork) -> DensityNetwork | None:
    return network if network.reading.columns else None


@forward_of.register(DiscreteNetwork)
@forward_of.register(GaussianNetwork)
def _(network: DiscreteNetwork | GaussianNetwork) -> DensityNetwork | None:
    return network.forward


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
    unfixed = _unfixed(network)
    if unfixed is None or (network.level == "parameters" and frozenset(network.attributes).issuperset(protected)):
        return network
    return unfixed if frozenset(unfixed.attributes).issuperset(protected) else network


@singledispatch
def _unfixed(network: object) -> DensityNetwork | None:
    return None


@_unfixed.register(DiscreteNetwork)
@_unfixed.register(GaussianNetwork)
def _(network: DiscreteNetwork | GaussianNetwork) -> DensityNetwork | None:
    return network.unfixed
