"""From a table and what is public about it to a framework."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, final

from bnpriv.adapters.files import read_network
from bnpriv.checks import listing, member
from bnpriv.errors import FrameworkError, ParameterError
from bnpriv.frameworks import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.networks import DiscreteNetwork
from bnpriv.queries import col, count
from bnpriv.secrets.apart import apart
from bnpriv.secrets.properties import Secret
from bnpriv.starter.choice import KnownColumn, choice
from bnpriv.starter.codebook import Described, read_codebook
from bnpriv.starter.header import first_line, header_of, is_text_file, shares_names
from bnpriv.starter.learn import LEARNED_MODELS, check_protected, learned
from bnpriv.starter.public import public_values, refuse_the_same
from bnpriv.tables.bins import Binned
from bnpriv.tables.database_urls import is_database
from bnpriv.tables.schema import Categorical, Column, Schema

StartedNotion = Literal["dataset", "distributional"]
STARTED_NOTIONS: tuple[StartedNotion, ...] = ("dataset", "distributional")

HIDDEN_PART = 100
"""By default numbers of records up to one in so many of the table apart are not to be told apart."""


@final
@dataclass(frozen=True, kw_only=True)
class Started:
    """What is known of a table before its owner has filled in anything.

    Parameters
    ----------
    notion : {"dataset", "distributional"}
    columns : mapping from str to KnownColumn
    lacks_names : bool
        Whether the file of the table has no line of names.
    records : int, optional
    public : str
        What the public table is called; empty without one.
    network : DiscreteNetwork, optional
        Learned from the public table.
    left_out : tuple of str
        Columns that cannot be nodes of the learned network.
    by_expert : bool
        Whether an expert gave its graph.
    names_given : bool
        Whether somebody gave the names of the columns, or a codebook has them too; else they may be a record.
    """

    notion: StartedNotion
    columns: Mapping[str, KnownColumn]
    lacks_names: bool = False
    records: int | None = None
    public: str = ""
    network: DiscreteNetwork | None = None
    left_out: tuple[str, ...] = ()
    by_expert: bool = False
    names_given: bool = False

    @property
    def source(self) -> str:
        """Where the learned network comes from, in a sentence."""
        graph = (
            "edges by an expert" if self.by_expert else "graph by hill climbing with BIC, which can miss dependences"
        )
        return f"learned from public data, {self.public}: {graph}, tables drawn from a posterior"


def started(
    data: object,
    *,
    notion: StartedNotion = "dataset",
    names: Sequence[str] | None = None,
    codebook: str | os.PathLike[str] | None = None,
    public: object = None,
    learn: object = None,
    edges: str | None = None,
    draws: int = LEARNED_MODELS,
    records: int | None = None,
    protect: Iterable[str] = (),
) -> Started:
    """Gather what is known of a table; see `start`."""
    member("notion", notion, STARTED_NOTIONS, error=ParameterError)
    refuse_learning(notion, learn, edges)
    for each in (codebook, public, learn):
        if each is not None:
            refuse_the_same(data, each)
    described: Mapping[str, Described] = {} if codebook is None else read_codebook(codebook)
    listed = list(described) if names is None and described and is_text_file(data) else names
    header = header_of(data, None if names is None and _names_itself(data, described) else listed)
    if len(described) == len(header.types) and not set(described) >= set(header.types):
        # a codebook in the order of the columns, which calls some of them otherwise
        order = dict(zip(header.types, described.values(), strict=True))
        described = {name: described.get(name, order[name]) for name in header.types}
    table = learn if learn is not None else public
    given = names is not None or header.lacks_names or shares_names(list(header.types), described)
    values = None if table is None else public_values(table, list(header.types), given=given)
    nameless = next((name for name, said in described.items() if said.nameless and name in header.types), None)
    for name in protect:
        # names that nothing public has too may be a record
        check_protected(name, list(header.types), nameless=nameless, told=given or values is not None)
    told = "" if values is None else _told(table, len(next(iter(values.values()))))
    columns = {
        name: choice(
            name,
            kind,
            described.get(name),
            None if values is None else values[name],
            as_states=learn is not None,
            public=told,
        )
        for name, kind in header.types.items()
    }
    network, left = None, ()
    if learn is not None and values is not None:
        nodes = {name: each.column for name, each in columns.items() if each.column is not None}
        nodes = {name: column for name, column in nodes.items() if _varied(column)}
        left = tuple(name for name in columns if name not in nodes)
        if not nodes:
            raise FrameworkError(
                "a network needs a column with two states in the public table",
                found="none",
                remedy="Give another public table.",
            )
        network = learned(nodes, values, public=told, edges=edges, draws=draws)
    return Started(
        notion=notion,
        columns=columns,
        lacks_names=header.lacks_names,
        records=records,
        public=told,
        network=network,
        left_out=left,
        by_expert=edges is not None,
        names_given=given,
    )


def refuse_learning(notion: str, learn: object, edges: str | None) -> None:
    """Refuse what cannot be learned: the law behind one table, and a graph without a table.

    Raises
    ------
    ParameterError
    """
    if learn is not None and notion == "distributional":
        raise ParameterError(
            "the law behind a table is learned from many public groups, each of which has a law of its own; one table "
            "of records is a single draw of its parameters and says nothing of how they depend on each other",
            found="one public table",
            remedy="Choose the notion dataset, declare a network of parameters, or call "
            "bnpriv.networks.learning.groups.parameters_by_group on a public table of groups.",
        )
    if edges is not None and learn is None:
        raise ParameterError(
            "edges are a graph whose tables are learned", found="no public table", remedy="Name one to learn from."
        )


def start(
    data: object,
    *,
    records: int,
    protect: str | Sequence[str] | Mapping[str, Secret],
    learn: object = None,
    network: DiscreteNetwork | str | os.PathLike[str] | None = None,
    public: object = None,
    notion: StartedNotion = "dataset",
    codebook: str | os.PathLike[str] | None = None,
    names: Sequence[str] | None = None,
    edges: str | None = None,
    draws: int = LEARNED_MODELS,
    source: str | None = None,
) -> DatasetAttributePrivacy | DistributionalAttributePrivacy:
    """Start a framework for a table of one's own, from its header and what is public about it.

    Parameters
    ----------
    data : table, str or path
        The private table, of which only the names of columns and their declared types are used.
    records : int
        Number of rows, a public fact.
    protect : str, sequence of str, or mapping from str to Secret
        The protected columns. For a name alone the number of records with its last category, or from its middle bin
        on, is hidden, up to 1 % of the records apart; for the notion "distributional" all states of its parameter.
    learn : table, str or path, optional
        A public table with the same columns, from which a network of records is learned: the graph by hill climbing
        with BIC, the tables as draws from a Dirichlet posterior. Numbers become bins, rare categories "other".
    network : DiscreteNetwork, str or path, optional
        In place of `learn`: a network, or its file.
    public : table, str or path, optional
        A public table for bounds and categories alone.
    notion : {"dataset", "distributional"}
        Whether a property of this table is hidden, or the law behind it: docs/choosing-a-notion.md.
    codebook : str or path, optional
        A CSV or TOML file with column, type, lower, upper and categories, or lines like ``sex: Female, Male.``
    names : sequence of str, optional
        The columns, for a file whose first line is a record.
    edges : str, optional
        An expert's graph for `learn`, as "age > income, sex > income".
    draws : int
        How many models are learned.
    source : str, optional
        Where a given network comes from.

    Returns
    -------
    DatasetAttributePrivacy or DistributionalAttributePrivacy

    Raises
    ------
    ParameterError
        If there is nothing to learn from and no network, or a protected column is unknown, or records are to teach the
        law behind a table.
    FileError, DataError
        If a file is not what it should be, the public table is the private one, or has other columns.
    FrameworkError
        If bounds or categories of a column stay unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> survey = pd.DataFrame({"smokes": ["no", "yes"] * 100, "ill": ["no"] * 110 + ["yes"] * 90})
    >>> ours = pd.DataFrame({"smokes": ["yes"], "ill": ["no"]})
    >>> framework = start(ours, records=5000, protect="ill", learn=survey)
    >>> framework.protected_secrets[0].secret
    'the number of records with ill = yes in this table'
    """
    if (learn is None) == (network is None):
        raise ParameterError(
            "a framework needs a network: one to be learned, or one that is given",
            found="none" if learn is None else "both",
            remedy="Write learn=PUBLIC_TABLE, or network=... with its source.",
        )
    hidden = {protect: None} if isinstance(protect, str) else protect
    known = started(
        data,
        notion=notion,
        names=names,
        codebook=codebook,
        public=public,
        learn=learn,
        edges=edges,
        draws=draws,
        protect=hidden,
    )
    level = "records" if notion == "dataset" else "parameters"
    given = read_network(network, level) if isinstance(network, (str, os.PathLike)) else network
    unknown = [name for name, each in known.columns.items() if each.column is None and name not in known.left_out]
    if unknown:
        # names that nothing public has too may be a record
        told = known.names_given or known.public
        raise FrameworkError(
            "every column needs public bounds or categories",
            found=f"none for {listing(unknown)}" if told else "none for any",
            remedy="Give a codebook, or a public table.",
        )
    columns = {name: each.column for name, each in known.columns.items() if each.column is not None}
    schema = Schema(
        records=records, columns={name: column for name, column in columns.items() if name not in known.left_out}
    )
    if source is None and given is not None:
        raise ParameterError("a network comes from somewhere", found="no source", remedy='Write source="...".')
    for name in hidden:
        check_protected(name, list(schema.columns))
    told = source or known.source
    model = cast(DiscreteNetwork, given or known.network)
    if notion == "distributional":
        names_hidden = list(hidden)
        apart_from = [name for name in schema.columns if name not in model.attributes]
        return DistributionalAttributePrivacy(model, schema, names_hidden, source=told, independent=apart_from)
    secrets = {
        name: hidden[name] if isinstance(hidden, Mapping) and hidden[name] is not None else usual_secret(name, schema)
        for name in hidden
    }
    return DatasetAttributePrivacy(model, schema, cast("Mapping[str, Secret]", secrets), source=told)


def usual_secret(name: str, schema: Schema) -> Secret:
    """Return the number of records with the last category, or from the middle bin on, of which 1 % is hidden."""
    near = max(1, schema.records // HIDDEN_PART)
    return Secret(usual_property(name, schema[name]), pairs=apart(at_most=near))


def usual_property(name: str, column: Column):
    """Return how many records have the last category of a column, or a number from its middle bin on."""
    if isinstance(column, Categorical):
        named = [each for each in column.categories if each != column.missing] or list(column.categories)
        return count(col(name) == named[-1])
    middle = column.edges[len(column.edges) // 2] if isinstance(column, Binned) else (column.lower + column.upper) / 2
    return count(col(name) >= middle)


def _varied(column: Column) -> bool:
    if isinstance(column, Categorical):
        return len(column.categories) > 1
    return isinstance(column, Binned) and len(column.labels) > 1


def _names_itself(data: object, described: Mapping[str, Described]) -> bool:
    """Whether the first line of a file holds names of the codebook, in whatever order, or there is no codebook."""
    if not is_text_file(data) or not described:
        return True
    return shares_names(first_line(Path(cast(str, data))), described)


def _told(table: object, records: int) -> str:
    # a URL may hold a password
    is_file = not is_database(table) and isinstance(table, (str, os.PathLike))
    name = Path(cast(str, table)).name if is_file else "a public table"
    return f"{name} ({records:,} public records)"
