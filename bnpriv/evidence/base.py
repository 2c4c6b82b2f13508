"""The protocol of structural evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from bnpriv.bound import Bound, FloatArray, Kind
from bnpriv.errors import Refusal
from bnpriv.influence.losses import Law
from bnpriv.influence.quilts import HasGraph
from bnpriv.networks.reading import Reading
from bnpriv.queries.base import Query
from bnpriv.secrets.states import SecretPair
from bnpriv.secrets.values import ContinuousPair

Pair = SecretPair | ContinuousPair
"""A pair of secrets of a discrete or of a continuous parameter."""


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


class Told(Protocol):
    """What a set of columns tells about a protected attribute; `Influence` is one."""

    @property
    def protected(self) -> str:
        """Return the protected attribute."""
        ...

    @property
    def frontier(self) -> tuple[str, ...]:
        """Return the columns that carry it all."""
        ...

    @property
    def pairs(self) -> Sequence[Pair]:
        """Return the pairs of secrets."""
        ...

    @property
    def values(self) -> FloatArray:
        """Return upper bounds in nats, of shape (models, pairs); -inf where a pair is no constraint."""
        ...

    @property
    def error(self) -> float:
        """Return the largest rounding error of the values."""
        ...

    @property
    def kind(self) -> Kind:
        """Return how well they are known."""
        ...

    @property
    def dropped(self) -> Sequence[tuple[Pair, int]]:
        """Return the pairs, with the model, that are no constraint."""
        ...


class PrivacyLosses(Protocol):
    """The whole law of what a set of columns tells; `Losses` is one."""

    def excess(self, epsilon: float, law: Law = ..., shift: FloatArray | float = ...) -> FloatArray:
        """Return the hockey-stick divergence together with a noisy number, of shape (models, pairs)."""
        ...

    def shifts(self, epsilon: float, delta: float, law: Law) -> FloatArray:
        """Return the largest private shift in scales of the noise, of shape (models, pairs); -inf where none is."""
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

    def influence(self, columns: frozenset[str], attribute: str) -> Told:
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
