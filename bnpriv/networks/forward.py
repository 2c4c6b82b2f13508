"""Networks that can be drawn from forward, as whole tables, whatever else is known of them."""

from __future__ import annotations

from functools import singledispatch

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
