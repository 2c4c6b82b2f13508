"""Joint laws by variable elimination on the pruned ancestral graph."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.factors import MOST_CELLS, LogTable, marginal
from bnpriv.networks import DiscreteNetwork


def joint_law(network: DiscreteNetwork, attributes: Sequence[str], *, most_cells: int = MOST_CELLS) -> LogTable:
    """Return log P(attributes), with the axes in the order given.

    Attributes that are no ancestor of `attributes` sum to one and are left out.

    Raises
    ------
    SizeError
        If a table on the way would have more than `most_cells` cells.
    """
    needed = network.graph.ancestral(attributes)
    tables = [network.tables[name] for name in network.attributes if name in needed]
    return marginal(tables, attributes, most_cells=most_cells)
