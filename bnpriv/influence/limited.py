"""Influences within a limit of work, for whoever looks at very many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.finite import finite_influence, influence_cells
from bnpriv.kind import by_kind
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import SecretPair


@by_kind
def limited_influence(
    network: object, border: tuple[str, ...], protected: str, pairs: Sequence[Pair], most_work: int
) -> tuple[Influence, int]:
    """Return an influence, and how many cells of tables it took; by default nothing is limited or counted.

    Parameters
    ----------
    network : network
        Of any kind.
    border : tuple of str
        The attributes that are seen, none of which the others separate from the protected one.
    protected : str
    pairs : sequence of Pair
    most_work : int
        Cells of a table; above them a certified bound stands in.

    Raises
    ------
    SizeError
        If there is no bound either.
    """
    return influence_of(network, border, protected, pairs), 0


@limited_influence.register
def _(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[Pair], most_work: int
) -> tuple[Influence, int]:
    chosen = cast("Sequence[SecretPair]", pairs)
    cells = influence_cells(network, border, protected, chosen, most_work)
    return finite_influence(network, border, protected, chosen, most_work=most_work), cells
