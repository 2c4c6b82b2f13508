"""What all privacy notions have in common: the facts that mechanisms ask for, files, and the network's level."""

from __future__ import annotations

import math
import os
import unicodedata
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Binned, Categorical, State
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.networks.base import Level, Network
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Column, Schema, has_gaps, is_whole
from bnpriv.core.secrets import Secret
from bnpriv.digest import sha256
from bnpriv.errors import FrameworkError
from bnpriv.services import service
from bnpriv.shown import HasCard

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# The facts that a mechanism asks a framework for, and framework files.
# --------------------------------------------------------------------------------------------------

DECISIONS = ("notion", "protected", "apart", "epsilon", "delta", "model")
"""What somebody decides, or leaves at a default, before anything is released."""

MOST_REASON = 200
"""Letters of who decided something, and why: a statement is one page."""


def fingerprint(facts: object, networks: Iterable[Network] = ()) -> str:
    """The hash of the representation of `facts` and of everything that tells networks apart."""
    return sha256(repr(facts), *(network.identity() for network in networks))


class FrameworkFacts(HasCard):
    """The facts that a mechanism asks for, so that it need not know the notion; with the usual answers."""

    single_values: ClassVar[bool] = False
    """Whether secrets are values of single records."""

    public_records: ClassVar[Any] = None
    """Models of one record beside those of a network."""

    decisions: ClassVar[Mapping[str, str] | None] = None
    """Who decided what, and why, as the framework's file says; None of no file. No part of what the framework is."""

    pairs_name_models: ClassVar[bool] = False
    """Whether a pair of secrets already says which model it is about."""

    @property
    def document(self) -> Document:
        """What is declared, as a document: who must not learn what, the network and the columns."""
        return service("framework.document")(self)

    @property
    def by_intervals(self) -> bool:
        """Whether the adversary may hold any model within intervals."""
        return False

    @property
    def chain(self) -> Any:
        """The Markov chain whose steps are the records; None without one."""
        return None

    @property
    def kinds_text(self) -> str:
        """A warning where states look like values of records; empty where none do."""
        return ""

    @property
    def properties(self) -> Mapping[str, Secret]:
        """The hidden properties of a table of independent records."""
        return {}

    @property
    def answer_laws(self) -> Sequence[tuple[Atoms | Normal, Atoms | Normal]]:
        """The declared pairs of laws of the exact answer; none where they follow from a model of the table."""
        return ()

    @property
    def linear_gaussian(self) -> bool:
        """Whether the laws of answers follow from a linear-Gaussian network."""
        return False

    @property
    def may_be_normal(self) -> bool:
        """Whether some law of an answer may be normal, or nearly so."""
        return self.linear_gaussian or any(isinstance(law, Normal) for pair in self.answer_laws for law in pair)

    @property
    def chosen_secrets(self) -> Mapping[str, object]:
        """What `protect` says of each attribute; empty where it leaves the choice to the network."""
        protect: object = getattr(self, "protect", None)
        return cast("Mapping[str, object]", protect) if isinstance(protect, Mapping) else {}

    @property
    def secret_states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute of the network, where secrets are states; else empty."""
        return {}

    @property
    def from_draws(self) -> bool:
        """Whether the laws of an answer are learned from tables that a model draws."""
        return False


class WrittenAsFile:
    """Framework files, for all notions that a file can hold."""

    @abstractmethod
    def file_parts(self) -> object:
        """The contents of the framework's file.

        Raises
        ------
        FileError
            If no file can.
        """

    def to_file(
        self, path: str | os.PathLike[str], *, queries: Mapping[str, Query | str] | None = None, overwrite: bool = False
    ) -> tuple[Path, ...]:
        """Write the framework to a TOML file, with the network in a file of its own beside it.

        `bnpriv.read_framework` reads the same framework from it, every number bit for bit, and the shell runs it.

        Parameters
        ----------
        path : str or path
            A file that ends in .toml. The network stands beside it: ``student.bif`` for ``student.toml``, in XMLBIF
            where a name needs it, and one file for each of several models.
        queries : mapping from str to Query or str, optional
            Queries that are written with it, by their names: ``bnpriv plan student.toml --query NAME`` finds them.
        overwrite : bool
            Whether files that are there already are replaced.

        Returns
        -------
        tuple of Path
            The files that were written, this one last.

        Raises
        ------
        FileError
            If a file is there already or cannot be written, or the framework says what no file can: models of PyMC,
            draws of a posterior, intervals other than around a network, a covariance, laws that are neither normal
            nor of categories, states that are no texts, custom queries.
        ParameterError
            If `queries` is no mapping from names.
        QueryError
            If the text of a query is outside the grammar.
        SizeError
            If a file would be larger than one that is read.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import bnpriv as bp
        >>> framework = bp.example("student")
        >>> with TemporaryDirectory() as folder:
        ...     files = framework.to_file(Path(folder, "mine.toml"), queries={"tall": "count(height > 180)"})
        ...     same = bp.read_framework(files[-1]).fingerprint() == framework.fingerprint()
        >>> [file.name for file in files], same
        (['mine.bif', 'mine.toml'], True)
        """
        return service("framework.to_file")(self, path, queries=queries, overwrite=overwrite)


# --------------------------------------------------------------------------------------------------
# The level of a network must suit the notion: a node is the parameter of a column, or the column in one record.
# --------------------------------------------------------------------------------------------------

RECORDS_WAY = (
    "if it was fitted to records, as almost every network whose states are the column's own values, use "
    'DatasetAttributePrivacy(network, schema, {"NAME": Secret("proportion(NAME == ...)")}) with level="records" in '
    'Python, and in a file notion = "dataset", level = "records" under [network] and property = '
    '"proportion(NAME == ...)" under [protect.NAME] (ValuePrivacy, notion = "value": the value of a single record)'
)
PARAMETERS_WAY = (
    'only if a state says what the whole column is like, as "most smoke", state level="parameters", or '
    'network.of_level("parameters"), in a file level = "parameters" under [network]'
)
MEANS: dict[Level, str] = {
    "parameters": f"Change the notion: {RECORDS_WAY}. Or declare the network of the columns' parameters.",
    "records": 'Declare the network of the columns of one record, with level="records", in a file level = "records" '
    'under [network]. A network of parameters goes with DistributionalAttributePrivacy, notion = "distributional".',
}

KINDS_NOT_VALUES = (
    "The states of {} are spelt as values of that column and are taken for kinds of the whole column, not for the "
    "values of records: if the network was fitted to records, nothing of this holds for the table."
)
"""The warning where level "parameters" was declared for a network that looks like one of records."""

TRUTH = {"false": 0.0, "no": 0.0, "true": 1.0, "yes": 1.0}
"""Words for true and false in tables, as numbers."""


def require_level(network: Network, level: Level, notion: str) -> None:
    """Refuse a network of the other level.

    Raises
    ------
    FrameworkError
    """
    if network.level != level:
        raise FrameworkError(
            f"{notion} needs a network of level {level!r}", found=f"level {network.level!r}", remedy=MEANS[level]
        )


def require_stated_level(network: Network, schema: Schema) -> None:
    """Refuse a network without a declared level that may be one of records.

    Raises
    ------
    FrameworkError
        If two states of a node are values of the column of that name, and nobody said what a node means.

    Notes
    -----
    A network fitted to records has the values of the columns as states. Taken for a network of parameters it says that
    the whole column hangs on one draw, and guarantees of it say nothing about the table.
    """
    if not network.reading.level_assumed:
        return
    doubtful = spelt_as_values(network, schema)
    if doubtful:
        raise FrameworkError(
            "a network whose states are values of its columns must say what a node means",
            found=f"values of the column as states of {listing(doubtful)}, and no level",
            remedy=f"{RECORDS_WAY[0].upper()}{RECORDS_WAY[1:]}; {PARAMETERS_WAY}.",
        )


def require_columns(network: Any, schema: Schema, laws: Mapping[str, Sequence[ColumnLaw]] | None = None) -> None:
    """Refuse columns of latent attributes, and a model of values that has none for gaps which are a state of their own.

    Of a network of parameters only columns are asked about whose records it draws, or that have `laws`.

    Raises
    ------
    FrameworkError
    """
    observed = sorted(network.reading.latent.intersection(schema.columns))
    if observed:
        raise FrameworkError(
            "a latent attribute must have no column",
            found=f"columns of {listing(observed)}, which the model calls latent",
            remedy="Leave them out of the schema, or out of the latent nodes of the model that was read.",
        )
    laws = laws or {}
    named = {*network.reading.columns, *(laws if network.level == "parameters" else network.attributes)}
    for name in sorted(name for name in named.intersection(schema.columns) if has_gaps(schema[name])):
        parts = [part for law in laws.get(name, ()) for part in (law.parts if isinstance(law, MixedLaw) else (law,))]
        held = [value for part in parts if isinstance(part, FiniteLaw) for value in part.values]
        if not {GAP_MARK, NOT_COUNTED}.intersection(held if parts else map(str, network.states.get(name, ()))):
            raise FrameworkError(
                f'where gaps of {name!r} are "{NOT_COUNTED}" the model must say how often there is one',
                found=f"no state or value {NOT_COUNTED!r}",
                remedy=f"Add the state {NOT_COUNTED!r} to its node, in a distribution of values that key, or declare "
                "what a gap "
                "counts as, missing=VALUE.",
            )


def spelt_as_values(network: Network, schema: Schema) -> list[str]:
    """The nodes with at least two states that are, or spell, values of the column of that name."""
    named = [name for name in network.states if name in schema.columns]
    # one such state may be a coincidence
    return [name for name in named if sum(_is_value(state, schema[name]) for state in network.states[name]) > 1]


def _is_value(state: State, column: Column) -> bool:
    """Whether a state is, or spells, a value of a column."""
    value = _spelt(state)
    if isinstance(column, Binned) and value in map(_spelt, column.labels):
        return True
    if isinstance(column, Categorical):
        return value in map(_spelt, column.outcomes)
    if isinstance(value, str):
        return False
    whole = float(value).is_integer()
    return column.lower <= value <= column.upper and (whole or not is_whole(column))


def _spelt(state: State) -> str | float:
    """A value as tables may spell it: a number (also for yes and no), or a text without case."""
    text = unicodedata.normalize("NFKC", str(state)).strip().casefold()
    try:
        number = TRUTH[text] if text in TRUTH else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
