"""Structural evidence where the probabilities of the network are known only to lie in intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, final

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.evidence.columns import assumed, uncovered
from bnpriv.frameworks import DistributionalAttributePrivacy
from bnpriv.influence.base import Influence, influence_of
from bnpriv.networks import Network, drivers
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import column_sensitivity
from bnpriv.secrets.pair import Pair

INTERVALS_ASSUMPTION = "The law of the parameters is that of some model within the declared intervals."
NO_LOSSES = Refusal(
    required="delta above 0 needs exact tables",
    found="an interval for every probability",
    remedy="Ask for delta=0, or declare the models one by one.",
)
NO_LAWS = Refusal(
    required="the law of the answer needs exact tables",
    found="an interval for every probability",
    remedy="Use MarkovQuiltMechanism or ColumnMechanism, or declare the models one by one.",
)


@final
class IntervalInfluences:
    """Upper bounds of influences over every model within intervals; remembers what it has computed.

    Notes
    -----
    docs/claims/intervals.md. There is one row of values, which holds for all models.
    """

    def __init__(self, framework: DistributionalAttributePrivacy) -> None:
        self._framework = framework
        self._known: dict[tuple[str, tuple[str, ...]], Influence] = {}

    @property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """Return the protected attributes with their ordered pairs."""
        return self._framework.secrets

    @property
    def network(self) -> Network:
        """Return the network behind the influences."""
        return self._framework.network

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold for the influences to be those of the columns."""
        return (*assumed(self.network), INTERVALS_ASSUMPTION)

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        return uncovered(self._framework, columns)

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Return those of `columns` that the protected `attribute` drives itself."""
        return self.network.reading.driven(columns, attribute)

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected `attribute`, per ordered pair."""
        border = self.network.graph.frontier(attribute, drivers(self.network, columns))
        key = (attribute, border)
        if key not in self._known:
            self._known[key] = influence_of(self.network, border, attribute, self.secrets[attribute])
        return self._known[key]

    def cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return 0: the bounds have limits of their own."""
        return 0

    def loss_cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return 0: there are no losses."""
        return 0

    def losses(self, columns: frozenset[str], attribute: str) -> Refusal:
        """Return why there are no privacy losses: a bound of the largest one says nothing of how rare it is."""
        return NO_LOSSES

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far any change of `columns` in all records can move the answer."""
        return column_sensitivity(query, columns, self._framework.schema, norm)
