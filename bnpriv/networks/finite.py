"""What networks with finitely many states do alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.networks.base import Level, Network, NetworkMethods, level_of


class _Finite(Network, Protocol):
    def laws(self, attribute: str) -> tuple[FloatArray, ...]: ...


class FiniteMethods(NetworkMethods):
    """A network of tables, exact or by intervals; `laws` gives the numbers of the table of an attribute."""

    def of_level(self, level: Level) -> Self:
        """Return the same network with what a node means.

        Raises
        ------
        NetworkError
            If it is no level.

        Examples
        --------
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> coin.of_level("records").level
        'records'
        """
        network = cast(Any, self)
        reading = replace(network.reading, level_assumed=False)
        return cast(Self, replace(network, level=level_of(level), reading=reading))

    def same_law(self: _Finite, other: Network, attribute: str) -> bool:
        """Return whether another network is of the same kind and has the same table of an attribute."""
        family = (attribute, *self.graph.parents[attribute])
        if type(self) is not type(other) or family != (attribute, *other.graph.parents[attribute]):
            return False
        if any(self.states[name] != other.states[name] for name in family):
            return False
        pairs = zip(self.laws(attribute), cast(_Finite, other).laws(attribute), strict=True)
        # one table may stand for all models where another has it once per model
        return all((len(a) == len(b) or 1 in (len(a), len(b))) and bool(np.all(a == b)) for a, b in pairs)
