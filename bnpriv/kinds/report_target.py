"""What a report is about: a network, the secrets of its protected attributes, and a query; one reading per notion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, spelling
from bnpriv.core.columns import State
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.frameworks.protected import ProtectedSecret, pairs_secret
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.base import Influence, impossible_secrets, influence_of
from bnpriv.core.networks.base import Network, driven_by, drivers, modelled
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import Apart, Pair, Protect, Secret, pairs, secrets_of, usual_pairs
from bnpriv.errors import BnprivError, NetworkError, Refusal, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.text import name_text

BESIDE_PUBLIC_RECORDS = (
    "What columns tell is told under the models of the network alone: where public records are models too, a value "
    "that only one of them has tells nearly all about it. Noise is found from the distributions of the answer, under "
    "both."
)


@dataclass(frozen=True, kw_only=True)
class ReportTarget:
    """What a report is about.

    Parameters
    ----------
    network : Network or None
        None where laws of an answer are declared without one.
    secrets : mapping from str to tuple of Pair
        The protected attributes of the network.
    protected : tuple of ProtectedSecret
        The same in words.
    source : str or None
        Where the model comes from.
    framework : Framework or None
        None for a network alone.
    query : Query or None
    influences : Influences or None
        Structural evidence that the framework keeps, if it has any.
    without : Refusal or None
        Why there is no network whose columns could be looked at.
    by_laws : bool
        Whether what an answer tells follows from its laws, not from influences of the columns that it reads.
    of_distributions : bool
        Whether the secret is which of several distributions the whole table comes from.
    """

    network: Network | None
    secrets: Mapping[str, tuple[Pair, ...]]
    protected: tuple[ProtectedSecret, ...]
    source: str | None
    framework: Framework | None = None
    query: Query | None = None
    influences: Influences | None = field(default=None, repr=False)
    without: Refusal | None = None
    by_laws: bool = False
    of_distributions: bool = False

    @property
    def beside(self) -> str:
        """Return which models the influences of columns leave out; empty where they leave out none."""
        public = None if self.framework is None else self.framework.public_records
        return "" if public is None else BESIDE_PUBLIC_RECORDS

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Return why the model says nothing about one of `columns`, or None if it covers all."""
        if self.framework is not None:
            evidence = influences(self.framework)
            if not isinstance(evidence, Refusal):
                return evidence.covers(columns)
        if self.network is None:
            return None
        missing = sorted(columns - modelled(self.network, columns))
        if not missing:
            return None
        known = (*self.network.attributes, *self.network.reading.columns)
        return Refusal(
            required="every queried column must be a node of the network",
            found=listing(missing),
            remedy=spelling(missing[0], known),
        )

    def told(self, protected: str, columns: frozenset[str]) -> Influence:
        """Return what queried columns tell about a protected attribute that they do not read.

        Raises
        ------
        SizeError
            If a table would be too large and no cheaper bound holds.
        """
        assert self.network is not None
        if self.influences is not None:
            return self.influences.influence(columns, protected)
        return influence_of(self.network, drivers(self.network, columns), protected, self.secrets[protected])

    def asked(self, protected: str) -> frozenset[str] | None:
        """Return the attributes that stand for the queried columns, but for a protected one; None without a query."""
        if self.query is None or self.network is None:
            return None
        return drivers(self.network, self.query.columns) - {protected}

    def reads(self, protected: str) -> bool:
        """Return whether the query reads what a protected attribute drives itself."""
        if self.query is None or self.network is None:
            return False
        return bool(driven_by(self.network, self.query.columns, {protected}))


def subject_of_network(network: Network, protect: Protect) -> ReportTarget:
    """Return what the report of a network alone is about.

    Raises
    ------
    SecretError
        If nothing is protected, an attribute is unknown, or all pairs of its secrets are impossible.
    """
    given = cast("object", protect)
    if isinstance(given, Mapping):
        # a property of a table is about all values of its column
        declared = cast("Mapping[str, object]", given)
        given = {
            name: _of_column(network, name) if isinstance(each, Secret) else each for name, each in declared.items()
        }
    secrets = secrets_of(network, given)
    _require_possible(network, secrets)
    return ReportTarget(
        network=network,
        secrets=secrets,
        protected=tuple(_in_words(network, name, chosen) for name, chosen in secrets.items()),
        source=None if network.posterior_draws is None else network.posterior_draws.source,
    )


def _require_possible(network: Network, secrets: Mapping[str, Sequence[Pair]]) -> None:
    """Refuse secrets all of whose pairs are impossible in every model.

    Raises
    ------
    SecretError
        If those of one attribute are.
    """
    for name, chosen in secrets.items():
        try:
            possible = influence_of(network, (), name, chosen).pair is not None
        except (NetworkError, SizeError):
            continue  # what needs the law of the attribute refuses its size, or this kind of network
        if not possible:
            raise impossible_secrets(name)


def _of_column(network: Network, name: str) -> Apart | None:
    """Return the secrets of the column of a property: all states, or values as far apart as usual."""
    usual = usual_pairs(network, name)
    return Apart(usual[0].farthest) if usual and name not in network.states else None


def _in_words(network: Network, name: str, chosen: tuple[Pair, ...]) -> ProtectedSecret:
    """Return what is protected of an attribute of a network alone."""
    what = "the parameter" if network.level == "parameters" else "in any one record the value of"
    return pairs_secret(network, name, f"{what} {name_text(name)}", chosen)


def subject_of(framework: Framework, query: Query | None) -> ReportTarget:
    """What the report of a framework is about.

    Raises
    ------
    RefusedError
        If a queried column is outside the model.
    """
    return notion_of(framework).subject(framework, query)


def own_subject(framework: DistributionalAttributePrivacy | ValuePrivacy, query: Query | None) -> ReportTarget:
    """The framework's own network and secrets."""
    evidence = influences(framework)
    found = None if isinstance(evidence, Refusal) or evidence.no_quilts is not None else evidence
    refusal = None if found is None or query is None else found.covers(query.columns)
    if refusal is not None:
        raise refusal.error()
    return ReportTarget(
        network=framework.network,
        secrets=framework.secrets if found is None else {name: tuple(each) for name, each in found.secrets.items()},
        protected=framework.protected_secrets,
        source=framework.source,
        framework=framework,
        query=query,
        influences=found,
    )


def property_subject(framework: DatasetAttributePrivacy, query: Query | None) -> ReportTarget:
    """A property of a table is told by what single records tell about the protected column, if they are independent."""
    network, drawn = framework.network, framework.forward is not None
    return ReportTarget(
        network=None if drawn else network,
        secrets={} if drawn else {name: usual_pairs(network, name) for name in framework.protect},
        without=WHOLE_TABLES_ALONE if drawn else None,
        protected=framework.protected_secrets,
        source=framework.source,
        framework=framework,
        query=query,
        by_laws=True,
    )


def pairs_subject(framework: DistributionPrivacy, query: Query | None) -> ReportTarget:
    """Which of several networks holds is an attribute of one network that holds them all."""
    (name,) = framework.protected
    bare = ReportTarget(
        network=None,
        secrets={},
        protected=framework.protected_secrets,
        source=framework.source,
        framework=framework,
        query=framework.query if query is None else query,
        without=NO_NETWORK,
        by_laws=True,
        of_distributions=True,
    )
    if framework.sampling is not None:
        return replace(bare, without=WHOLE_TABLES_ALONE)
    declared = framework.secrets[name]
    sides = {
        label: side for pair in declared for label, side in zip(pair.sides, (pair.first, pair.second), strict=True)
    }
    networks = {label: cast(DiscreteNetwork, side) for label, side in sides.items() if kind_of(side).exact_tables}
    if not networks:
        return bare
    try:
        network = mixture_network(list(networks.values()), name, list(networks))
    except BnprivError as error:
        return replace(bare, without=Refusal.of(error))
    chosen = pairs(*(pair.sides for pair in declared if pair.sides[0] != pair.sides[1]))
    return replace(bare, network=network, secrets={name: chosen.ordered(name, list(networks))}, without=None)


WHOLE_TABLES_ALONE = Refusal(
    required="what single columns tell needs independent records",
    found="a model of whole tables, whose records tell about each other",
    remedy="Ask for a plan: mechanisms compare distributions of the answer, which are learned from drawn tables.",
)
NO_NETWORK = Refusal(
    required="what single columns tell needs a network of them",
    found="distributions of an answer, which name no columns",
    remedy="Declare record networks, from which the distribution of any answer follows.",
)


# --------------------------------------------------------------------------------------------------
# Several networks as one: a new attribute, on which all others depend, says which of them holds.
# --------------------------------------------------------------------------------------------------


def mixture_network(networks: Sequence[DiscreteNetwork], name: str, labels: Sequence[str]) -> DiscreteNetwork:
    """Return one network that is each of several, given the state of a new attribute.

    Parameters
    ----------
    networks : sequence of DiscreteNetwork
        One model each, over the same attributes; an attribute may have other parents and states in each of them.
    name : str
        The new attribute.
    labels : sequence of str
        Its states, one for every network.

    Raises
    ------
    NetworkError
        If the attributes differ, or the edges of all networks together form a cycle.

    Examples
    --------
    >>> one, two = (
    ...     DiscreteNetwork.from_tables({"ill": law}, states={"ill": ["no", "yes"]}) for law in ([1, 0], [0, 1])
    ... )
    >>> both = mixture_network([one, two], "which", ["one", "two"])
    >>> both.attributes, both.probabilities("ill").tolist()
    (('which', 'ill'), [[[1.0, 0.0], [0.0, 1.0]]])
    """
    first = networks[0]
    if any(set(other.attributes) != set(first.attributes) for other in networks):
        raise NetworkError(
            "networks that are joined must have the same attributes", found="others", remedy="Add what is missing."
        )
    parents = {a: tuple(dict.fromkeys(p for each in networks for p in each.graph.parents[a])) for a in first.attributes}
    states = {a: tuple(dict.fromkeys(s for each in networks for s in each.states[a])) for a in first.attributes}
    tables = {a: _table(networks, a, parents[a], states) for a in first.attributes}
    try:
        return DiscreteNetwork.from_tables(
            {name: np.full(len(networks), 1 / len(networks))} | tables,
            states={name: tuple(labels)} | states,
            parents={a: (name, *above) for a, above in parents.items()},
            level=None if any(network.reading.level_assumed for network in networks) else first.level,
        )
    except BnprivError as error:
        raise NetworkError(
            "networks that are joined must have edges that form no cycle together",
            found="edges that run in opposite directions",
            remedy="Turn the edges of one of them round.",
        ) from error


def _table(
    networks: Sequence[DiscreteNetwork], name: str, parents: Sequence[str], states: dict[str, tuple[State, ...]]
) -> FloatArray:
    """Return P(name | which network, parents), with the states and parents of all networks together."""
    shape = [len(states[each]) for each in (name, *parents)]
    stacked = [_spread(network, name, parents, states, shape) for network in networks]
    return np.stack(stacked, axis=1)


def _spread(
    network: DiscreteNetwork,
    name: str,
    parents: Sequence[str],
    states: dict[str, tuple[State, ...]],
    shape: Sequence[int],
) -> FloatArray:
    """Return the table of one network, repeated over parents that it does not have."""
    own = network.graph.parents[name]
    table = network.probabilities(name)[0]
    axes = (name, *(parent for parent in parents if parent in own))
    table = table.transpose([0, *(1 + own.index(parent) for parent in axes[1:])])
    # States that the network lacks are impossible; given impossible parents any law does.
    full = np.zeros([len(states[axis]) for axis in axes])
    full[0] = 1.0
    places = [[states[axis].index(state) for state in network.states[axis]] for axis in axes]
    full[(slice(None), *np.ix_(*places[1:]))] = 0.0
    full[np.ix_(*places)] = table
    inserted = full.reshape([size if each in axes else 1 for each, size in zip((name, *parents), shape, strict=True)])
    return np.broadcast_to(inserted, shape).copy()
