"""Structural evidence of value privacy over a network: the nodes are the columns of one record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, final

from bnpriv.bound import Bound
from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.evidence.base import Influences
from bnpriv.evidence.distributional import influences
from bnpriv.evidence.possible import impossibility
from bnpriv.frameworks import ValuePrivacy
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.finite import influence_cells, loss_cells
from bnpriv.influence.losses import PrivacyLosses
from bnpriv.networks import DiscreteNetwork
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import record_sensitivity
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import of_states


@final
class ValueInfluences:
    """Influences of columns of a record on protected columns of that record; remembers what it has computed."""

    def __init__(self, framework: ValuePrivacy, network: DiscreteNetwork) -> None:
        self._framework = framework
        self._network = network
        self._known: dict[tuple[str, tuple[str, ...]], Influence] = {}

    @property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """Return the protected columns with their ordered pairs."""
        return self._framework.secrets

    @property
    def network(self) -> DiscreteNetwork:
        """Return the network of one record."""
        return self._network

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold for the influences to be those of the columns."""
        return ("Records are independent draws from the network.",)

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        missing = columns.difference(self._network.attributes)
        if not missing:
            return None
        return Refusal(
            required="every queried column must be a node of the network",
            found=listing(sorted(missing)),
            remedy="Add it to the network.",
        )

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Return those of `columns` that are the protected `attribute` itself."""
        return columns & {attribute}

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected column `attribute`, per model and ordered pair."""
        border = self._network.graph.frontier(attribute, columns)
        key = (attribute, border)
        if key not in self._known:
            self._known[key] = influence_of(self._network, border, attribute, self.secrets[attribute])
        return self._known[key]

    def cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the tables behind an influence have that is not known yet."""
        border = self._network.graph.frontier(attribute, columns)
        if (attribute, border) in self._known:
            return 0
        return influence_cells(self._network, border, attribute, of_states(self.secrets[attribute]))

    def loss_cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the losses have, of all models and pairs together."""
        border = self._network.graph.frontier(attribute, columns)
        return loss_cells(self._network, border, of_states(self.secrets[attribute]))

    def losses(self, columns: frozenset[str], attribute: str) -> PrivacyLosses | Refusal:
        """Return the privacy losses of `columns` about the protected column `attribute`, per model and ordered pair."""
        return self.influence(columns, attribute).losses

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far any change of `columns` in one record can move the answer."""
        return record_sensitivity(query, columns, self._framework.schema, norm)


@influences.register
def _(framework: ValuePrivacy) -> Influences | Refusal:
    if isinstance(framework.model, DiscreteNetwork):
        return impossibility(framework) or ValueInfluences(framework, framework.model)
    return Refusal(
        required="quilts of a network need a DiscreteNetwork", found="a MarkovChain", remedy="Use MarkovChainMechanism."
    )
