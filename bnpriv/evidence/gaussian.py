"""Structural evidence of distributional attribute privacy over a linear-Gaussian network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, final

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.evidence.columns import assumed, uncovered
from bnpriv.frameworks import DistributionalAttributePrivacy
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.losses import PrivacyLosses
from bnpriv.networks import GaussianNetwork, drivers
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import column_sensitivity
from bnpriv.secrets.pair import Pair


@final
class GaussianInfluences:
    """Influences of sets of columns on the protected parameters; remembers what it has computed."""

    def __init__(self, framework: DistributionalAttributePrivacy, network: GaussianNetwork) -> None:
        self._framework = framework
        self._network = network
        self._known: dict[tuple[str, tuple[str, ...]], Influence] = {}

    @property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """Return the protected attributes with their pairs."""
        return self._framework.secrets

    @property
    def network(self) -> GaussianNetwork:
        """Return the network behind the influences."""
        return self._network

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold for the influences to be those of the columns."""
        return (*assumed(self._network), "All parameters together are normal under every model.")

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        return uncovered(self._framework, columns)

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Return those of `columns` that the protected `attribute` drives itself."""
        return self._network.reading.driven(columns, attribute)

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected `attribute`, per model and pair."""
        border = self._network.graph.frontier(attribute, drivers(self._network, columns))
        key = (attribute, border)
        if key not in self._known:
            self._known[key] = influence_of(self._network, border, attribute, self.secrets[attribute])
        return self._known[key]

    def cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return 0: covariances take no tables."""
        return 0

    def loss_cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return 0: the losses have a closed form."""
        return 0

    def losses(self, columns: frozenset[str], attribute: str) -> PrivacyLosses | Refusal:
        """Return the privacy losses of `columns` about the protected `attribute`, per model and pair."""
        return self.influence(columns, attribute).losses

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far any change of `columns` in all records can move the answer."""
        return column_sensitivity(query, columns, self._framework.schema, norm)
