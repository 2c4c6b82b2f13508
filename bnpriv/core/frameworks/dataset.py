"""Dataset attribute privacy: hide a property of a protected column of this very table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from bnpriv import checks
from bnpriv.core.column_laws import ColumnLaw, DeclaredLaws, bin_laws, column_laws
from bnpriv.core.frameworks.base import FrameworkFacts, WrittenAsFile, fingerprint, require_columns, require_level
from bnpriv.core.frameworks.protected import ProtectedSecret, property_secret
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import Forward, Network, forward_of, require_network
from bnpriv.core.networks.discrete import require_discrete
from bnpriv.core.queries.base import normal_form
from bnpriv.core.schema import Schema, require_schema
from bnpriv.core.secrets import Apart, Pair, Secret, ValuesApart
from bnpriv.digest import digest
from bnpriv.errors import FrameworkError, SecretError
from bnpriv.kind import kind_of
from bnpriv.services import service

if TYPE_CHECKING:
    pass


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
