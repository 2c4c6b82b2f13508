"""The three notions that hide attributes of a network: by their parameters, by a property of the table, by values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, cast

from bnpriv import checks
from bnpriv.core.column_laws import ColumnLaw, DeclaredLaws, bin_laws, column_law, column_laws
from bnpriv.core.columns import Binned, Categorical, State
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
from bnpriv.core.frameworks.protected import ProtectedSecret, pairs_secret, property_secret
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import Forward, Network, forward_of, require_network, unfixed_of
from bnpriv.core.networks.discrete import require_discrete
from bnpriv.core.queries.base import normal_form
from bnpriv.core.schema import Column, Schema, require_schema
from bnpriv.core.secrets import Apart, Pair, Protect, Secret, ValuesApart, protected_names, secrets_of
from bnpriv.digest import digest
from bnpriv.errors import FrameworkError, LawError, SecretError
from bnpriv.kind import kind_of
from bnpriv.services import service
from bnpriv.text import and_text, name_text

# --------------------------------------------------------------------------------------------------
# Distributional attribute privacy: hide the parameter that governs a protected column.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Dataset attribute privacy: hide a property of a protected column of this very table.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DatasetAttributePrivacy(FrameworkFacts, WrittenAsFile):
    """Hide a property of a protected column of this table, such as how many patients have a disease.

    Parameters
    ----------
    network : DiscreteNetwork, GaussianNetwork or DensityNetwork
        How the columns of one record depend on each other, of level "records"; several models are the class Theta.
        A node's states are the values of its column, or bins of them with a law declared in `laws`; a node of a
        GaussianNetwork is the column itself. Or a model that draws whole tables, of parameters and the columns that
        they drive, as `bnpriv.from_pymc` reads it: laws given the property are then learned from drawn tables.
    schema : Schema
        The columns of the table and the number of records.
    protect : mapping from str to Secret
        For every protected column the property that is hidden, and which values of it must not be told apart. Over a
        GaussianNetwork a mean, total or linear, as the values are before they are clamped to their bounds. Over a
        model that draws tables chosen pairs of intervals or values, as the table holds them: inside their bounds.
    source : str
        Where the model comes from; printed in every certificate. It must not be the data to be released.
    laws : mapping, optional
        For a column whose states are bins: its law inside each of them. A `Binned` column has its own, which is used
        where none is given here.
    public_records : PublicRecords, optional
        The records of a public table, reweighted: models of one record beside those of the network.

    Raises
    ------
    FrameworkError
        If the network is not of level "records", and draws no tables; or public records lack a column of it.
    NetworkError
        If it is given by intervals.
    SecretError
        If nothing is protected, or a secret is about another column.

    Notes
    -----
    Definition 3 of Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022): records are independent draws. Of a
    model that draws tables they are so given its parameters; docs/claims/conditional_draws.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"ill": [0.9, 0.1], "smokes": [[0.8, 0.4], [0.2, 0.6]]},
    ...     states={"ill": ["no", "yes"], "smokes": ["no", "yes"]},
    ...     parents={"smokes": ["ill"]},
    ...     level="records",
    ... )
    >>> yes_or_no = bp.Categorical(["no", "yes"])
    >>> schema = Schema(records=1000, columns={"ill": yes_or_no, "smokes": yes_or_no})
    >>> hidden = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=20))
    >>> DatasetAttributePrivacy(network, schema, {"ill": hidden}, source="a textbook").protected
    ('ill',)
    """

    network: Network
    schema: Schema
    protect: Mapping[str, Secret]
    source: str = field(kw_only=True)
    laws: DeclaredLaws | None = field(default=None, kw_only=True, repr=False, compare=False)
    public_records: Any = field(default=None, kw_only=True, repr=False)
    column_laws: Mapping[str, tuple[ColumnLaw, ...]] = field(init=False, repr=False)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    notion = "dataset attribute privacy"
    kind = "bnpriv.kinds.notions:DATASET_NOTION"

    def __post_init__(self) -> None:
        require_network(self.network)
        require_schema(self.schema)
        if self.network.states and self.forward is None:
            require_discrete(self.network, self.notion)
        if self.forward is None:
            require_level(self.network, "records", self.notion)
        if self.public_records is not None:
            require_discrete(self.network, "a model of public records beside it")
            checks.subset("the nodes", self.network.attributes, self.public_records.columns, error=FrameworkError)
        checks.text("source", self.source, error=FrameworkError)
        if not isinstance(self.protect, Mapping) or not self.protect:
            raise SecretError(
                "protect maps protected columns to secrets",
                found="nothing" if not self.protect else checks.type_text(self.protect),
                remedy='Write protect={"ill": Secret(count(col("ill") == "yes"))}.',
            )
        if self.network.reading.axes:
            own = service("secrets.renamed")(self.network.reading, self.protect, self.schema.columns)
            object.__setattr__(self, "protect", own)
        object.__setattr__(self, "protect", ReadOnly(self.protect))
        for name, secret in self.protect.items():
            _check_secret(name, secret, self)
        laws = column_laws(self.laws or {}, self.schema, self.network.states, ())
        inside = bin_laws(self.schema, self.network.states, laws)
        object.__setattr__(self, "column_laws", {**inside, **laws})
        require_columns(self.network, self.schema, self.column_laws)

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected columns."""
        return tuple(self.protect)

    @cached_property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """The pairs of values of the property of every protected column: chosen ones both ways, or a distance."""
        return {name: _pairs(secret) for name, secret in self.protect.items()}

    @property
    def protected_secrets(self) -> tuple[ProtectedSecret, ...]:
        """What is protected about every protected column, in words."""
        bounded = self.forward is not None or bool(self.network.states)
        told = (property_secret(secret, self.schema, bounded=bounded) for secret in self.protect.values())
        return tuple(replace(each, attribute=name) for name, each in zip(self.protect, told, strict=True))

    @property
    def forward(self) -> Forward | None:
        """The model that draws whole tables, if the network is one of parameters; None for one of records.

        What single columns tell about a property is then not asked: records tell about each other by the parameters.
        """
        return None if self.network.level == "records" else forward_of(self.network)

    @property
    def from_draws(self) -> bool:
        """Whether the network draws whole tables."""
        return self.forward is not None

    @property
    def properties(self) -> Mapping[str, Secret]:
        """The hidden properties of independent records; none where a network draws whole tables."""
        return self.protect if self.forward is None else {}

    @property
    def linear_gaussian(self) -> bool:
        """Whether records are drawn from a linear-Gaussian network."""
        return bool(kind_of(self.network).centred(self.network))

    @property
    def may_be_normal(self) -> bool:
        """Whether sums over records may be nearly normal: sums of numbers without states."""
        return self.forward is None and not self.network.states

    @property
    def models(self) -> int:
        """How many models the adversary may hold: those of the network, then the draws of public records."""
        return self.network.models + (0 if self.public_records is None else self.public_records.draws)

    def file_parts(self) -> object:
        """The contents of the framework's file.

        Raises
        ------
        FileError
            If no file can.
        """
        return service("framework.file_parts.dataset")(self)

    def fingerprint(self) -> str:
        """A hash of everything that a calibration depends on."""
        secrets = [(name, digest(secret)) for name, secret in sorted(self.protect.items())]
        facts = (self.notion, self.source, self.schema, secrets, sorted(self.column_laws.items()))
        public = () if self.public_records is None else (self.public_records.identity,)
        return fingerprint((*facts, *public), (self.network,))

    def __hash__(self) -> int:
        return hash(self.fingerprint())


def _pairs(secret: Secret) -> tuple[Pair, ...]:
    if isinstance(secret.pairs, Apart):
        return (ValuesApart(secret.pairs.at_most),)
    if secret.pairs is None:
        return (ValuesApart(math.inf),)
    return tuple(dict.fromkeys(way for pair in secret.pairs.chosen for way in (pair, pair.reverse)))


def _refuse_column(name: str, columns: Iterable[str], secret: Secret) -> NoReturn:
    """Refuse a name that is no column; of a secret about another column say which name it takes."""
    columns = tuple(columns)
    about = secret.column if isinstance(secret, Secret) else name
    if about in columns and checks.closest(name, columns) is None:
        raise SecretError(
            "a secret bears the name of the column that it is about",
            found=checks.cut(name),
            remedy=f"This one is about {about!r}: write [protect.{about}], in Python protect={{{about!r}: ...}}.",
        )
    checks.member("a protected column", name, columns, error=SecretError)
    raise AssertionError(name)


def _check_secret(name: str, secret: Secret, framework: DatasetAttributePrivacy) -> None:
    network, schema, forward = framework.network, framework.schema, framework.forward
    known = network.attributes if forward is None else tuple(forward.reading.columns)
    for columns in (known, tuple(schema.columns)):
        if name not in columns:
            _refuse_column(name, columns, secret)
    if not isinstance(secret, Secret) or not secret.is_of(name):
        raise SecretError(
            f"the secret of {name!r} must be a property of that column",
            found=checks.type_text(secret) if not isinstance(secret, Secret) else f"one of {secret.column!r}",
            remedy='Write protect={"ill": Secret(count(col("ill") == "yes"))}.',
        )
    for column in sorted(secret.property.columns):
        checks.member("a column of a secret", column, known, error=SecretError)
    shared = secret.touching if network.states or forward is not None else None
    shared = secret.near if forward is not None and shared is None else shared
    if shared is not None:
        raise SecretError(
            "the secrets of a pair must be disjoint: a property of a table takes single values often",
            found=f"{shared}, which may have a value in common",
            remedy="Leave out the end that two ranges have in common, and numbers that stand for one value.",
        )
    by_states = bool(network.states) and forward is None
    if secret.of_cells or not by_states:
        normal_form(secret.property, schema)
    if not by_states:
        service("secrets.required")(name, secret, schema, forward)


# --------------------------------------------------------------------------------------------------
# Value privacy: hide every single value of a table whose records, or whose columns, are dependent.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ValuePrivacy(FrameworkFacts, WrittenAsFile):
    """Hide every single value of a protected column, whatever else is known to depend on it.

    Over a `MarkovChain` the records are the steps of one chain, or of several one after another, and every step's value
    is hidden. Over a `DiscreteNetwork` the records are independent and the columns of one record depend on each other.

    Parameters
    ----------
    model : MarkovChain or DiscreteNetwork
        A network is of level "records"; several models are the class Theta.
    schema : Schema
        The columns of the table and the number of records; as many as the chain has steps.
    protect : str, iterable of str, or mapping from str to SecretPairs
        For a chain the column that it drives, all pairs of whose values are hidden. For a network the protected
        columns.
    source : str
        Where the model comes from; printed in every certificate. It must not be the data to be released.

    Raises
    ------
    FrameworkError
        If the model is not of level "records", or does not fit the schema.
    SecretError
        If nothing is protected, a column is unknown or has one state, or a pair is not well formed.

    Notes
    -----
    Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017), section 4.

    Examples
    --------
    >>> from bnpriv.kinds.chain.network import MarkovChain
    >>> from bnpriv.core.schema import Categorical
    >>> day = MarkovChain([[0.9, 0.1], [0.2, 0.8]], "stationary", 1440, states=["rest", "walk"])
    >>> schema = Schema(records=1440, columns={"activity": Categorical(["rest", "walk"])})
    >>> ValuePrivacy(day, schema, "activity", source="a study of other people").protected
    ('activity',)
    """

    model: Any
    schema: Schema
    protect: Protect
    source: str = field(kw_only=True)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    notion = "value privacy"
    kind = "bnpriv.kinds.notions:VALUE_NOTION"
    single_values = True

    def __post_init__(self) -> None:
        checks.text("source", self.source, error=FrameworkError)
        require_schema(self.schema)
        if self.chain is not None:
            column = _driven(self.chain, self.schema, self.protect)
            vars(self).update(protect=column, model=self.model.of_column(column))
            require_columns(self.network, self.schema)
            return
        require_network(self.model)
        require_level(self.model, "records", self.notion)
        self.secrets  # noqa: B018  (raises)
        require_columns(self.network, self.schema, self.column_laws)

    @cached_property
    def secrets(self) -> Mapping[str, tuple[Pair, ...]]:
        """The ordered pairs of secrets of every protected column; of a chain all pairs of its states."""
        return ReadOnly(secrets_of(self.network, self.protect))

    @cached_property
    def column_laws(self) -> Mapping[str, tuple[ColumnLaw, ...]]:
        """The laws of numeric columns whose states are bins, given each bin."""
        return bin_laws(self.schema, {} if self.chain is not None else self.network.states)

    @property
    def network(self) -> Any:
        """The model; a chain is the network of the column that it drives."""
        return self.model

    @property
    def chain(self) -> Any:
        """The chain, if the model is one."""
        model: Any = self.model
        return model if kind_of(model).whole_column and not isinstance(model, type) else None

    @property
    def secret_states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute of the network, among which the secrets are."""
        return self.network.states

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected columns."""
        return tuple(self.secrets) if self.chain is None else (cast(str, self.protect),)

    @property
    def protected_secrets(self) -> tuple[ProtectedSecret, ...]:
        """What is protected about every protected column, in words."""
        nouns = {name: f"the value of {name_text(name)} in any one record" for name in self.protected}
        return tuple(pairs_secret(self.network, name, nouns[name], pairs) for name, pairs in self.secrets.items())

    @property
    def models(self) -> int:
        """How many models the adversary may hold."""
        return self.model.models

    def file_parts(self) -> object:
        """The contents of the framework's file.

        Raises
        ------
        FileError
            If no file can.
        """
        return service("framework.file_parts.value")(self)

    def fingerprint(self) -> str:
        """A hash of everything that a calibration depends on."""
        columns = [*sorted(self.schema.columns.items()), *filter(None, [self.schema.dialect])]
        pairs = [] if self.chain is not None else sorted(self.secrets.items())  # of a chain all pairs count
        secrets = [(name, [pair.identity for pair in chosen]) for name, chosen in pairs]
        facts = (self.notion, self.source, self.schema.records, columns, self.protected, secrets)
        return fingerprint(facts, (self.network,))

    def __hash__(self) -> int:
        return hash(self.fingerprint())


def _driven(chain: Any, schema: Schema, protect: Protect) -> str:
    """The column that a chain drives."""
    name = checks.member("the column of a chain", _one(protect), schema.columns, error=FrameworkError)
    if schema.records != chain.steps:
        raise FrameworkError(
            "a table of a chain has one record per step",
            found=f"{schema.records:,} records and {chain.steps:,} steps",
            remedy="Correct the length of the chain or the number of records.",
        )
    if isinstance(schema[name], Binned):
        raise FrameworkError(
            f"the states of a chain are the values of its column {name!r}, not bins of them",
            found="a Binned column",
            remedy="Declare Categorical(labels), or Integer with whole numbers as states.",
        )
    stray = [state for state in chain.state_space if not _fits(state, schema[name])]
    if stray:
        raise FrameworkError(
            f"the states of the chain must be values of the column {name!r}",
            found=checks.listing(map(repr, stray)),
            remedy="Pass states=[...] to MarkovChain, spelt as in the column.",
        )
    return name


def _one(protect: Protect) -> str:
    names = [protect] if isinstance(protect, str) else list(protect)
    if len(names) != 1 or isinstance(protect, Mapping):
        raise FrameworkError(
            "a chain drives one column, all of whose values are hidden",
            found=f"{len(names)} columns" if len(names) != 1 else "pairs of secrets",
            remedy="Name the column.",
        )
    return names[0]


def _fits(state: object, column: Column) -> bool:
    if isinstance(column, Categorical):
        return state in column.outcomes
    return isinstance(state, (int, float)) and column.lower <= state <= column.upper
