"""Joint laws by variable elimination on the pruned ancestral graph."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import MOST_TABLE_CELLS, LogTable, Size, elimination, marginal

MOST_CELLS_KEPT = 2**14
"""Cells of a joint law that is kept with its network: parts of many questions share it."""

MOST_LAWS = 1024
"""Joint laws that are kept with a network."""

MOST_SIZES = 2**14
"""Sizes of joint laws that are kept with a network."""


def joint_law(network: DiscreteNetwork, attributes: Sequence[str], *, most_cells: int = MOST_TABLE_CELLS) -> LogTable:
    """Return log P(attributes), with the axes in the order given.

    Attributes that are no ancestor of `attributes` sum to one and are left out.

    Raises
    ------
    SizeError
        If a table on the way would have more than `most_cells` cells, or all of them together too many.
    """
    kept: dict[tuple[str, ...], LogTable] = network.kept.table("joint laws")
    names = tuple(attributes)
    if most_cells != MOST_TABLE_CELLS:  # what is kept was made under the usual limit, and another one may refuse it
        return marginal(_needed(network, names), names, most_cells=most_cells)
    if names not in kept:
        found = marginal(_needed(network, names), names)
        if found.values.size > MOST_CELLS_KEPT or len(kept) >= MOST_LAWS:
            return found
        kept[names] = found
    return kept[names]


def joint_size(network: DiscreteNetwork, attributes: Sequence[str]) -> Size:
    """Return how large the tables on the way to log P(attributes) are, without making them."""
    sizes: dict[tuple[str, ...], Size] = network.kept.table("sizes of joint laws")
    names = tuple(attributes)
    if names not in sizes:
        found = elimination(_needed(network, names), names)[1]
        if len(sizes) >= MOST_SIZES:
            return found
        sizes[names] = found
    return sizes[names]


def _needed(network: DiscreteNetwork, attributes: Sequence[str]) -> list[LogTable]:
    needed = network.graph.ancestral(attributes)
    return [network.tables[name] for name in network.attributes if name in needed]
