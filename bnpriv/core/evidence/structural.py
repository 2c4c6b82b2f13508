"""Structural evidence: how much sets of columns tell about the protected attributes of a framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bnpriv.bound import Bound
from bnpriv.checks import closest, listing
from bnpriv.core.columns import Binned
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.influence.base import Influence, impossible_secrets, influence_of
from bnpriv.core.networks.base import Network, driven_by, drivers, modelled
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import column_sensitivity, record_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Pair
from bnpriv.digest import first_digest
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.text import name_text

# --------------------------------------------------------------------------------------------------
# Assumptions that tie the columns of a table to the parameters of a network.
# --------------------------------------------------------------------------------------------------

COLUMNS_ASSUMPTION = (
    "Given all parameters the columns are independent, and each column is driven by its own parameter alone."
)


OWN_COLUMNS_ASSUMPTION = (
    "Given the parameters that drive them, the columns that are no attribute say nothing more of any parameter."
)


def numbers_in_bins(schema: Schema, columns: Iterable[str]) -> tuple[str, ...]:
    """What is assumed of the numbers inside bins where the law of an answer is computed."""
    return tuple(
        f"Inside its bin a number of {name_text(name)} lies {_within_text(column)}, whatever the other columns hold."
        for name in sorted(columns)
        if isinstance(column := schema.columns.get(name), Binned)
    )


def _within_text(column: Binned) -> str:
    if column.observed:
        return "as often at each value as in a public table"
    if isinstance(column.within, str):
        return "evenly" if column.within == "uniform" else "evenly on whole numbers"
    return "as it was declared"


def assumed(network: Network) -> tuple[str, ...]:
    """The assumptions under which influences of parameters are influences of columns."""
    return (COLUMNS_ASSUMPTION, OWN_COLUMNS_ASSUMPTION) if network.reading.columns else (COLUMNS_ASSUMPTION,)


def uncovered(framework: DistributionalAttributePrivacy, columns: frozenset[str]) -> Refusal | None:
    """Why the model says nothing about one of `columns`, or None if it covers all."""
    known = framework.network.reading.columns
    missing = columns.difference(framework.network.attributes, framework.independent, known)
    if not missing:
        return None
    near = closest(min(missing), {*framework.network.attributes, *known} - set(framework.schema.columns))
    remedy = "Add it to the network, or list it in `independent` if it depends on no parameter and no column."
    if near is not None:
        remedy = f"Is {near!r} in the network the same column? Give both one name."
    return Refusal(
        required="every queried column must be a node of the network or declared independent",
        found=listing(sorted(missing)),
        remedy=remedy,
    )


# --------------------------------------------------------------------------------------------------
# The influences of sets of columns on the protected attributes of a framework over a network.
# --------------------------------------------------------------------------------------------------

CHAIN_REFUSAL = Refusal(
    required="quilts of a network need a DiscreteNetwork", found="a MarkovChain", remedy="Use MarkovChainMechanism."
)

RECORDS_FROM_NETWORK = "Records are independent draws from the network."

Moved = Callable[[Query, frozenset[str], Schema, Literal[1, 2]], Bound]
"""The sensitivity that goes with a notion: how far what a secret may change in some columns moves the answer."""

Outside = Callable[[frozenset[str]], Refusal | None]
"""The test of a notion for columns that its model says nothing about."""

MOST_INFLUENCES_KEPT = 2**13
"""The most influences that are cached."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Influences:
    """The influences of sets of columns on the protected attributes of a framework, for any kind of network.

    Each influence is computed once, when it is first asked for, and kept with the framework.

    Parameters
    ----------
    network : Network
    secrets : mapping from str to tuple of Pair
        The protected attributes with their pairs of secrets.
    schema : Schema
    assumptions : tuple of str
        What must hold for the influences to be those of the columns.
    outside : callable
        From columns to why the model says nothing about one of them, or None.
    moved : callable
        From a query, columns, the schema and the norm (1 or 2) to how far the answer moves where they change.
    no_quilts : Refusal or None
        Why noise must not rest on quilts of columns, where the influences are no such quilts.
    """

    network: Network
    secrets: Mapping[str, tuple[Pair, ...]]
    schema: Schema
    assumptions: tuple[str, ...]
    outside: Outside = field(repr=False)
    moved: Moved = field(repr=False)
    no_quilts: Refusal | None = None
    _known: dict[tuple[str, tuple[str, ...]], Influence] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], Influence], repr=False
    )

    def border(self, columns: frozenset[str], attribute: str) -> tuple[str, ...]:
        """The frontier: attributes behind `columns` that the other columns do not separate from `attribute`."""
        return kind_of(self.network).frontier(self.network, attribute, drivers(self.network, columns))

    def covers(self, columns: frozenset[str]) -> Refusal | None:
        """Why the model says nothing about one of `columns`, or None if it covers all."""
        needed = drivers(self.network, columns).union(self.secrets)
        return self.outside(columns) or kind_of(self.network).unsupported(self.network, sorted(needed))

    def modelled(self, columns: frozenset[str]) -> frozenset[str]:
        """Those of `columns` that tell something; independent ones never need to be hidden by noise."""
        return modelled(self.network, columns)

    def driven(self, columns: frozenset[str], attribute: str) -> frozenset[str]:
        """Those of `columns` that `attribute` itself is, or drives: they must be near."""
        return driven_by(self.network, columns, {attribute})

    def influence(self, columns: frozenset[str], attribute: str) -> Influence:
        """The influence of `columns` on the protected `attribute`, per model and pair.

        Raises
        ------
        SizeError
            If tables or grids would be too large, and no cheaper bound holds.
        """
        # what lies behind the frontier adds nothing, so that all sets with one frontier share one result
        key = attribute, self.border(columns, attribute)
        if key in self._known:
            return self._known[key]
        found = influence_of(self.network, key[1], attribute, self.secrets[attribute])
        if len(self._known) < MOST_INFLUENCES_KEPT:
            self._known[key] = found
        return found

    def work(self, columns: frozenset[str], attribute: str) -> tuple[int, int]:
        """The table cells and the losses that an influence takes, known or not."""
        border = self.border(columns, attribute)
        return kind_of(self.network).work(self.network, border, attribute, self.secrets[attribute])

    def impossible(self) -> Refusal | None:
        """Why all pairs of secrets of an attribute are impossible in every model, or None if some are possible."""
        for name in self.secrets:
            try:
                possible = self.influence(frozenset(), name).pair is not None
            except SizeError:
                continue  # what needs the law of the attribute refuses its size
            if not possible:
                return Refusal.of(impossible_secrets(name))
        return None

    def sensitivity(self, query: Query, columns: frozenset[str], norm: Literal[1, 2]) -> Bound:
        """How far a secret can move the answer through `columns`."""
        return self.moved(query, columns, self.schema, norm)


def influences(framework: object) -> Influences | Refusal:
    """The structural evidence of a framework, or a refusal.

    Parameters
    ----------
    framework : Framework

    Returns
    -------
    Influences or Refusal
        ``influence(columns, attribute)`` of the evidence is per model and pair. The evidence stays with the framework.

    Examples
    --------
    >>> import bnpriv as bp
    >>> evidence = influences(bp.example("student"))
    >>> round(float(evidence.influence(frozenset({"sat"}), "income")), 3)
    1.792
    """
    return notion_of(framework).influences(framework)


def no_influences(secrets: str) -> Refusal:
    """The refusal of secrets about which the influence of columns cannot be bounded."""
    return Refusal(
        required="a secret that columns tell about must be an attribute of a network",
        found=secrets,
        remedy="Use a mechanism that compares distributions of the answer, such as TightMechanism.",
    )


def impossibility(framework: object) -> Refusal | None:
    """Why the secrets of a protected attribute are impossible in every model, or None if some are possible.

    Parameters
    ----------
    framework : Framework

    Returns
    -------
    Refusal or None
        Of the first attribute all of whose pairs hold a secret of probability zero, under every model.

    Examples
    --------
    >>> import bnpriv as bp
    >>> impossibility(bp.example("student")) is None
    True
    """
    return notion_of(framework).impossibility(framework)


def possible_influences(framework: DistributionalAttributePrivacy | ValuePrivacy) -> Influences | Refusal:
    """The structural evidence of a framework whose secrets are possible.

    Mechanisms have asked `impossibility` before; this is for whoever has not.
    """
    evidence = structural_evidence(framework)
    return evidence.impossible() or evidence


def structural_evidence(framework: DistributionalAttributePrivacy | ValuePrivacy) -> Influences:
    """The structural evidence that is cached with a framework, whether its secrets are possible or not."""
    kept: dict[str, Influences] = framework.kept.table("influences")
    if not kept:
        first_digest(framework)  # the hash is taken now: what is cached is about the framework as it is
        kept["evidence"] = notion_of(framework).structure(framework)
    return kept["evidence"]


def structure_of_parameters(framework: DistributionalAttributePrivacy) -> Influences:
    """Evidence where nodes are parameters of columns: a secret may change a near column in all records."""
    network = framework.network
    return Influences(
        network=network,
        secrets=framework.secrets,
        schema=framework.schema,
        assumptions=(*assumed(network), *kind_of(network).assumptions(network)),
        outside=lambda columns: uncovered(framework, columns),
        moved=column_sensitivity,
    )


def structure_of_values(framework: ValuePrivacy) -> Influences:
    """Evidence where nodes are the columns of one record: a secret may change near columns of that record only."""
    network = framework.network
    if framework.chain is not None:
        # evidence for a chain, whose one node is its column; other steps are no quilt of columns. Given the value of
        # one step all the others may change, so that the column moves the answer as if it changed in all records
        return Influences(
            network=framework.network,
            secrets=framework.secrets,
            schema=framework.schema,
            assumptions=("The records are the steps of one of the declared chains.",),
            outside=lambda columns: _no_nodes(framework.network, columns),
            moved=column_sensitivity,
            no_quilts=CHAIN_REFUSAL,
        )
    return Influences(
        network=network,
        secrets=framework.secrets,
        schema=framework.schema,
        assumptions=(
            RECORDS_FROM_NETWORK,
            *(
                f"Given its bin, a number of {name_text(name)} says nothing more about any other column."
                for name in sorted(network.attributes)
                if isinstance(framework.schema.columns.get(name), Binned)
            ),
            *kind_of(network).assumptions(network),
        ),
        outside=lambda columns: _no_nodes(network, columns),
        moved=record_sensitivity,
    )


def _no_nodes(network: Network, columns: frozenset[str]) -> Refusal | None:
    missing = columns.difference(network.attributes)
    if not missing:
        return None
    return Refusal(
        required="every queried column must be a node of the network",
        found=listing(sorted(missing)),
        remedy="Add it to the network.",
    )
