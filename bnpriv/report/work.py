"""How much a report may compute: what would take too long is bounded, and says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import final

from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.finite import finite_influence, influence_cells
from bnpriv.networks import DiscreteNetwork, Network
from bnpriv.networks.factors import MOST_WORK
from bnpriv.secrets.states import SecretPair

LEAST_WORK = 2**14
"""Cells that every influence may take, however little work is left."""


@final
@dataclass(kw_only=True)
class Work:
    """The cells of tables that a report may still fill; its rows share them evenly.

    Parameters
    ----------
    left : int
        Cells; about two seconds at first.
    """

    left: int = MOST_WORK

    def influence(
        self,
        network: Network,
        columns: Collection[str],
        protected: str,
        pairs: Sequence[SecretPair],
        rows: int = 1,
    ) -> Influence:
        """Return an influence, a certified bound if its tables take more than its share among so many rows.

        Raises
        ------
        SizeError
            If there is no bound either.
        """
        if not isinstance(network, DiscreteNetwork):
            return influence_of(network, columns, protected, pairs)
        most = max(LEAST_WORK, self.left // rows)
        border = network.graph.frontier(protected, columns)
        self.left -= min(self.left, influence_cells(network, border, protected, pairs, most))
        return finite_influence(network, columns, protected, pairs, most_work=most)
