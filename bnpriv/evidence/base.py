"""The protocol of structural evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence
from bnpriv.influence.losses import PrivacyLosses
from bnpriv.influence.quilts import HasGraph
from bnpriv.networks.reading import Reading
from bnpriv.queries.base import Query
from bnpriv.secrets.pair import Pair


class Network(HasGraph, Protocol):
    """What is read of the network behind influences."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes."""
        ...

    @property
    def models(self) -> int:
        """Return the number of models in Theta."""
        ...

    @property
    def reading(self) -> Reading:
        """Return how it was read."""
        ...


class Influences(Protocol):
    """How much sets of columns tell about the protected attributes of a framework."""

    @property
    def secrets(self) -> Mapping[str, Sequence[Pair]]:
        """Return the protected attributes with their ordered pairs."""
        ...

    @property
    def network(self) -> Network:
        """Return the network behind the influences."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold for the influences to be those of the columns."""
        ...

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        ...

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Return those of `columns` that depend on the protected `attribute` itself: they must be near."""
        ...

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected `attribute`, per model and ordered pair."""
        ...

    def cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the tables behind an influence have that is not known yet; 0 where there are none."""
        ...

    def loss_cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the losses have, of all models and pairs together; 0 where none are kept."""
        ...

    def losses(self, columns: frozenset[str], attribute: str) -> PrivacyLosses | Refusal:
        """Return the privacy losses of `columns` about the protected `attribute`, or why there are none."""
        ...

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far what may change in `columns` can move the answer."""
        ...
