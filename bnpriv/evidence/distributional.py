"""Structural evidence of distributional attribute privacy: the nodes of the network are the columns' parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Literal, final

from bnpriv.bound import Bound
from bnpriv.errors import Refusal
from bnpriv.evidence.base import Influences
from bnpriv.evidence.columns import assumed, uncovered
from bnpriv.evidence.density import DensityInfluences
from bnpriv.evidence.gaussian import GaussianInfluences
from bnpriv.evidence.intervals import IntervalInfluences
from bnpriv.evidence.possible import impossibility
from bnpriv.frameworks import DistributionalAttributePrivacy
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.finite import influence_cells, loss_cells
from bnpriv.influence.losses import PrivacyLosses
from bnpriv.networks import DensityNetwork, DiscreteNetwork, GaussianNetwork, drivers, require_discrete
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import column_sensitivity
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import of_states


@final
class DistributionalInfluences:
    """Influences of sets of columns on the protected parameters; remembers what it has computed."""

    def __init__(self, framework: DistributionalAttributePrivacy) -> None:
        self._framework = framework
        self._network = require_discrete(framework.network, "this evidence")
        self._known: dict[tuple[str, tuple[str, ...]], Influence] = {}

    @property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """Return the protected attributes with their ordered pairs."""
        return self._framework.secrets

    @property
    def network(self) -> DiscreteNetwork:
        """Return the network behind the influences."""
        return self._network

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold for the influences to be those of the columns."""
        return assumed(self.network)

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        return uncovered(self._framework, columns)

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Return those of `columns` that the protected `attribute` drives itself."""
        return self.network.reading.driven(columns, attribute)

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """Return the influence of `columns` on the protected `attribute`, per model and ordered pair."""
        border = self.network.graph.frontier(attribute, drivers(self.network, columns))
        key = (attribute, border)
        if key not in self._known:
            self._known[key] = influence_of(self.network, border, attribute, self.secrets[attribute])
        return self._known[key]

    def cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the tables behind an influence have that is not known yet."""
        border = self.network.graph.frontier(attribute, drivers(self.network, columns))
        if (attribute, border) in self._known:
            return 0
        return influence_cells(self.network, border, attribute, of_states(self.secrets[attribute]))

    def loss_cells(self, columns: frozenset[str], attribute: str) -> int:
        """Return how many cells the losses have, of all models and pairs together."""
        border = self.network.graph.frontier(attribute, drivers(self.network, columns))
        return loss_cells(self.network, border, of_states(self.secrets[attribute]))

    def losses(self, columns: frozenset[str], attribute: str) -> PrivacyLosses | Refusal:
        """Return the privacy losses of `columns` about the protected `attribute`, per model and ordered pair."""
        return self.influence(columns, attribute).losses

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """Return how far any change of `columns` in all records can move the answer."""
        return column_sensitivity(query, columns, self._framework.schema, norm)


@singledispatch
def influences(framework: object) -> Influences | Refusal:
    """Return the structural evidence of a framework, or why there is none.

    Parameters
    ----------
    framework : Framework

    Returns
    -------
    Influences or Refusal
        ``influence(columns, attribute)`` of the evidence is per model and ordered pair; one registration per notion.

    Examples
    --------
    >>> import bnpriv as bp
    >>> evidence = influences(bp.example("student"))
    >>> round(float(evidence.influence(frozenset({"sat"}), "income")), 3)
    1.792
    """
    return Refusal(
        required="the mechanism needs structural evidence",
        found=f"a {type(framework).__name__}",
        remedy="Use a framework over a network, such as DistributionalAttributePrivacy.",
    )


@influences.register
def _(framework: DistributionalAttributePrivacy) -> Influences | Refusal:
    if isinstance(framework.network, GaussianNetwork):
        return GaussianInfluences(framework, framework.network)
    if isinstance(framework.network, DensityNetwork):
        return impossibility(framework) or DensityInfluences(framework, framework.network)
    return discrete_influences(framework)


def discrete_influences(
    framework: DistributionalAttributePrivacy,
) -> DistributionalInfluences | IntervalInfluences | Refusal:
    """Return the structural evidence over a network whose attributes have finitely many states, or why there is none.

    Raises
    ------
    FrameworkError
        If the network is continuous.
    """
    refusal = impossibility(framework)
    if refusal is not None:
        return refusal
    return IntervalInfluences(framework) if framework.by_intervals else DistributionalInfluences(framework)
