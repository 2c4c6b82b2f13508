"""Networks whose probabilities lie within intervals: bounds hold for all members at once."""

from __future__ import annotations

import numpy as np

from bnpriv.checks import listing
from bnpriv.kind import NetworkKind, TableEnds, method
from bnpriv.networks.discrete import IntervalNetwork


class IntervalKind(NetworkKind):
    """An `IntervalNetwork`."""

    by_intervals = True

    influence = method("bnpriv.influence.interval:interval_influence")
    section = method("bnpriv.frameworks.file_network:intervals_section")

    def assumptions(self, network: IntervalNetwork) -> tuple[str, ...]:
        """That the law is that of a member; rows without data may hold any law."""
        within = "The law of the parameters is that of some model within the declared intervals."
        if not network.missing:
            return (within,)
        return (within, f"Rows without data may be any law: {listing(network.missing)}.")

    def table_ends(self, network: IntervalNetwork, model: int) -> TableEnds:
        """The ends of all intervals."""
        return network.lower, network.upper, network.missing

    def is_deterministic(self, network: IntervalNetwork, name: str) -> bool:
        """Whether all intervals of a table are zero or one alone."""
        low, high = network.lower[name], network.upper[name]
        return bool(np.all((low == high) & ((low == 0) | (low == 1))))


INTERVAL_KIND = IntervalKind()
