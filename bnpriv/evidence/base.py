"""The protocol of structural evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.influence import Influence
from bnpriv.losses import Losses
from bnpriv.networks import Network
from bnpriv.queries.base import Query
from bnpriv.secrets import SecretPair

COLUMNS_ASSUMPTION = (
    "Given all parameters the columns are independent, and each column is driven by its own parameter alone."
)


class Influences(Protocol):
    """How much sets of columns tell about the protected attributes of a framework."""

    @property
    def secrets(self) -> Mapping[str, tuple[SecretPair, ...]]:
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

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected `attribute`, per model and ordered pair."""
        ...

    def losses(self, columns: frozenset[str], attribute: str) -> Losses | Refusal:
        """Return the privacy losses of `columns` about the protected `attribute`, or why there are none."""
        ...

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far what may change in `columns` can move the answer."""
        ...
