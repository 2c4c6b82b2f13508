"""Value privacy: hide every single value of a table whose records, or whose columns, are dependent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from bnpriv import checks
from bnpriv.core.column_laws import ColumnLaw, bin_laws
from bnpriv.core.columns import Binned, Categorical, State
from bnpriv.core.frameworks.base import FrameworkFacts, WrittenAsFile, fingerprint, require_columns, require_level
from bnpriv.core.frameworks.protected import ProtectedSecret, pairs_secret
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import require_network
from bnpriv.core.schema import Column, Schema, require_schema
from bnpriv.core.secrets import Pair, Protect, secrets_of
from bnpriv.errors import FrameworkError
from bnpriv.kind import kind_of
from bnpriv.services import service
from bnpriv.text import name_text

if TYPE_CHECKING:
    pass


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
