"""Distributional attribute privacy: hide the parameter that governs a protected column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bnpriv import checks
from bnpriv.core.column_laws import ColumnLaw, DeclaredLaws, column_law, column_laws
from bnpriv.core.columns import State
from bnpriv.core.frameworks.base import (
    KINDS_NOT_VALUES,
    FrameworkFacts,
    WrittenAsFile,
    fingerprint,
    require_columns,
    require_level,
    require_stated_level,
    spelt_as_values,
)
from bnpriv.core.frameworks.protected import ProtectedSecret, pairs_secret
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import Network, require_network, unfixed_of
from bnpriv.core.schema import Schema, require_schema
from bnpriv.core.secrets import Pair, Protect, protected_names, secrets_of
from bnpriv.errors import FrameworkError, LawError
from bnpriv.kind import kind_of
from bnpriv.services import service
from bnpriv.text import and_text, name_text

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class DistributionalAttributePrivacy(FrameworkFacts, WrittenAsFile):
    """Hide the parameter that governs a protected column (distributional attribute privacy).

    Parameters
    ----------
    network : DiscreteNetwork, IntervalNetwork, GaussianNetwork or DensityNetwork
        How the columns' parameters depend on each other, of level "parameters"; several models, or all within
        intervals, are the class Theta.
    schema : Schema
        The columns of the table and the number of records.
    protect : str, iterable of str, or mapping from str to secrets
        The protected attributes; all pairs of their states unless `bnpriv.pairs` chooses some. For a GaussianNetwork
        a mapping from str to ``bnpriv.apart(at_most=r)`` or ``bnpriv.intervals(...)``; for a DensityNetwork the latter.
    source : str
        Where the model comes from; printed in every certificate. It must not be the data to be released.
    independent : iterable of str
        Columns that are no node of the network and are declared independent of all parameters and all other columns,
        jointly; independence of the protected attributes alone would not do.
    laws : mapping from str to laws, optional
        What records are made up from (`bnpriv.simulate`, `bnpriv.rehearse`): for a column the law given each state of
        its parameter, for an independent column one law; over a GaussianNetwork the law of a record less its
        parameter, ``scipy.stats.norm(0, 8)``, from which laws of means follow. A law is a frozen distribution of
        scipy.stats, a probability for ``Integer(0, 1)`` or two categories, or a mapping from categories to
        probabilities, of numbers too, and for a `Binned` column also of labels of its bins.

    Raises
    ------
    FrameworkError
        If the network is not of level "parameters", or has values of its columns as states and no declared level; an
        independent column is unknown or a node, or laws do not fit.
    LawError
        If the law of a column is not well formed.
    SecretError
        If nothing is protected, an attribute is unknown or has one state, or a pair is not well formed.

    Notes
    -----
    Definition 4 of Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022). Given all parameters the columns are
    independent, and each is driven by its own parameter alone.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> from bnpriv.core.schema import Real
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "height": [[0.5, 0.4], [0.5, 0.6]]},
    ...     states={"income": ["low", "high"], "height": ["short", "tall"]},
    ...     parents={"height": ["income"]},
    ... )
    >>> schema = Schema(records=100, columns={"height": Real(120, 220)})
    >>> framework = DistributionalAttributePrivacy(network, schema, "income", source="a textbook")
    >>> [str(pair) for pair in framework.secrets["income"]]
    ['low against high', 'high against low']
    """

    network: Network
    schema: Schema
    protect: Protect
    source: str = field(kw_only=True)
    independent: Iterable[str] = field(default=(), kw_only=True)
    laws: DeclaredLaws | None = field(default=None, kw_only=True, repr=False, compare=False)
    secrets: Mapping[str, tuple[Pair, ...]] = field(init=False, repr=False)
    """The ordered pairs of secrets of every protected attribute: of states in both directions, of values once."""
    column_laws: Mapping[str, tuple[ColumnLaw, ...]] = field(init=False, repr=False)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    notion = "distributional attribute privacy"
    kind = "bnpriv.kinds.notions:PARAMETER_NOTION"

    def __post_init__(self) -> None:
        require_network(self.network)
        require_schema(self.schema)
        object.__setattr__(self, "network", unfixed_of(self.network, protected_names(self.network, self.protect)))
        require_level(self.network, "parameters", self.notion)
        require_stated_level(self.network, self.schema)
        checks.text("source", self.source, error=FrameworkError)
        independent = checks.subset("independent", self.independent, self.schema.columns, error=FrameworkError)
        nodes = independent.intersection((*self.network.attributes, *self.network.reading.columns))
        if nodes:
            raise FrameworkError(
                "an independent column must not be a node of the network",
                found=checks.listing(sorted(nodes)),
                remedy="Leave it out of `independent`: the network already says what it depends on.",
            )
        vars(self).update(independent=independent, secrets=ReadOnly(secrets_of(self.network, self.protect)))
        about = kind_of(self.network).centred(self.network)
        laws = column_laws(self.laws or {}, self.schema, self.network.states, independent, about)
        object.__setattr__(self, "column_laws", {**self._read_laws(), **laws})
        require_columns(self.network, self.schema, self.column_laws)

    def _read_laws(self) -> dict[str, tuple[ColumnLaw, ...]]:
        """The laws of columns that came with the network, where they suit the declared columns."""
        found: dict[str, tuple[ColumnLaw, ...]] = {}
        for name, laws in self.network.reading.laws.items():
            if name in self.schema.columns:
                with suppress(LawError):  # mechanisms that need the law say that there is none
                    found[name] = tuple(column_law(law, self.schema[name], f"{name!r} in the model") for law in laws)
        return found

    def law_place(self, column: str, places: Mapping[str, int]) -> int:
        """The index of the law of a column that holds, given the indices of the attributes' states.

        Attributes without a place count as in their first state; an independent column has one law.

        Parameters
        ----------
        column : str
        places : mapping of str to int
            For each attribute, the place of its state among its states.
        """
        place = 0
        for name in self.governing(column):
            place = place * len(self.network.states[name]) + places.get(name, 0)
        return place

    def governing(self, column: str) -> tuple[str, ...]:
        """The attributes that govern a column, in the order in which its laws are indexed by their states."""
        own = (column,) if column in self.network.attributes else ()
        return self.network.reading.columns.get(column, own)

    @property
    def secret_states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute of the network, among which the secrets are."""
        return self.network.states

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected attributes."""
        return tuple(self.secrets)

    @property
    def protected_secrets(self) -> tuple[ProtectedSecret, ...]:
        """What is protected about every protected attribute, in words."""
        records = ", not the values of its records" if self.kinds_text else ""
        nouns = {
            name: f"what column {name_text(name)} is like as a whole, its parameter{records}"
            if name in self.schema.columns
            else f"the parameter {name_text(name)}"
            for name in self.protected
        }
        return tuple(pairs_secret(self.network, name, nouns[name], pairs) for name, pairs in self.secrets.items())

    @property
    def kinds_text(self) -> str:
        """A warning where states look like values of records; empty where laws say what a state means."""
        named = [name for name in spelt_as_values(self.network, self.schema) if name not in self.column_laws]
        return KINDS_NOT_VALUES.format(and_text([name_text(name) for name in named])) if named else ""

    @property
    def models(self) -> int:
        """How many models the adversary may hold; 1 for intervals, whose bounds hold for all at once."""
        return self.network.models

    @property
    def by_intervals(self) -> bool:
        """Whether the adversary may hold any model within intervals."""
        return kind_of(self.network).by_intervals

    @property
    def linear_gaussian(self) -> bool:
        """Whether the parameters are jointly normal, and records are declared to be centred at them."""
        return bool(kind_of(self.network).centred(self.network) and self.column_laws)

    def file_parts(self) -> object:
        """The contents of the framework's file.

        Raises
        ------
        FileError
            If no file can.
        """
        return service("framework.file_parts.distributional")(self)

    def fingerprint(self) -> str:
        """A hash of everything that a calibration depends on."""
        columns = [*sorted(self.schema.columns.items()), *filter(None, [self.schema.dialect])]
        secrets = [(name, [pair.identity for pair in chosen]) for name, chosen in sorted(self.secrets.items())]
        laws = sorted(self.column_laws.items())
        facts = (self.notion, self.source, self.schema.records, columns, secrets, sorted(self.independent), laws)
        return fingerprint(facts, (self.network,))

    def __hash__(self) -> int:
        return hash(self.fingerprint())
