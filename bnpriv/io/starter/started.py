"""From a table of one's own, its codebook and a public table to what is known of its columns, and to a framework."""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from bnpriv.checks import listing, member
from bnpriv.core.columns import NOT_COUNTED, SPREADS, Binned, Categorical, Integer
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.networks.base import Level
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import count
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Column, Schema
from bnpriv.core.secrets import Secret, apart
from bnpriv.errors import FewRecordsWarning, FileError, FoundInPublicWarning, FrameworkError, ParameterError
from bnpriv.io.networks.files import read_network
from bnpriv.io.starter.codebook import Described, KnownColumn, choice, node_states, point_masses, read_codebook
from bnpriv.io.starter.header import Header, first_line, header_of, is_text_file, looks_like_a_record, shares_names
from bnpriv.io.starter.learn import (
    LEARNED_MODELS,
    Strengths,
    check_protected,
    learned,
    public_records,
    stated,
    strengths_of,
)
from bnpriv.io.starter.public import (
    OTHER_LABELS,
    SAID,
    FoundPublic,
    PublicValues,
    enough_records,
    found_public,
    refuse_the_same,
)
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.paths import user_path
from bnpriv.tables.files import is_database
from bnpriv.tables.readings import DATE_FORMATS, PLAIN, Dialect
from bnpriv.text import some_text

HIDDEN_PART = 100
"""By default numbers of records up to one in so many of the table apart are not to be told apart."""


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
    strength: float | None = None,
    draws: int = LEARNED_MODELS,
    graphs: int = 1,
    source: str | None = None,
    read_as: Mapping[str, str] | None = None,
) -> DatasetAttributePrivacy | DistributionalAttributePrivacy:
    """Start a framework for a table of one's own, from its header and what is public about it.

    Parameters
    ----------
    data : table, str or path
        The private table, of which only the names of columns are used.
    records : int
        Number of rows, a public fact.
    protect : str, sequence of str, or mapping from str to Secret
        The protected columns. For a name alone the number of records with its last category, or from its middle bin
        on, is hidden, up to 1 % of the records apart; for the notion "distributional" all states of its parameter.
    learn : table, str or path, optional
        A public table with the same columns, from which a network of records is learned: the graph by hill climbing
        with BIC, the tables as draws from a Dirichlet posterior. Few whole numbers are states, others become bins; rare
        categories, and labels that it lacks, become "other".
    network : DiscreteNetwork, str or path, optional
        In place of `learn`: a network, or its file.
    public : table, str or path, optional
        A public table for bounds and categories alone.
    notion : {"dataset", "distributional"}
        Whether a property of this table is hidden, or the law behind it: docs/choosing-a-notion.md.
    codebook : str or path, optional
        A CSV or TOML file with column, type, lower, upper, categories, edges and shares, or lines like
        ``sex: Female, Male.``
    names : sequence of str, optional
        The columns, for a file whose first line is a record.
    edges : str, optional
        An expert's graph, as "age -> income, sex -> income": for `learn`, or with a strength in place of it.
    strength : float, optional
        Without a public table: how much the edges can say. Whatever the state of the column before an arrow, the odds
        of one state of the column behind it against another are within this factor of those that the codebook's shares
        give. An edge may state its own, "income -> score: 1.5".
    draws : int
        How many networks are drawn; of weights of the public records there are twice as many draws.
    graphs : int
        For `learn`: in how many resamples of the public table (bootstrap) a graph is looked for, among which the draws
        are shared, so that an edge that the table supports but half is missing in half of the models. An estimate, no
        posterior.
    source : str, optional
        Where a given network comes from.
    read_as : mapping from str to str, optional
        What columns are read as, whatever the public table looks like: "number", "category", "days" (dates, which count
        as days since 1970-01-01), a way to write dates such as "DD.MM.YYYY", or "id" (left out).

    Returns
    -------
    DatasetAttributePrivacy or DistributionalAttributePrivacy

    Raises
    ------
    ParameterError
        If there is nothing to learn from, no network and no edges, or a protected column is unknown, or records are to
        teach the law behind a table.
    FileError, DataError
        If a file is not what it should be, the public table is the private one, or has other columns.
    FrameworkError
        If bounds or categories of a column stay unknown.

    Warns
    -----
    FewRecordsWarning
        If the network is learned from fewer than 500 public records.
    FoundInPublicWarning
        If the public table holds dates, signs of another language, codes for missing values, ids, or numbers with much
        mass of their own: what was found, and what was made of it.

    Examples
    --------
    >>> import pandas as pd
    >>> survey = pd.DataFrame({"smokes": ["no", "yes"] * 300, "ill": ["no"] * 330 + ["yes"] * 270})
    >>> ours = pd.DataFrame({"smokes": ["yes"], "ill": ["no"]})
    >>> framework = start(ours, records=5000, protect="ill", learn=survey)
    >>> framework.protected_secrets[0].secret
    'the number of records with ill = yes in this table'
    """
    if (learn is not None and network is not None) or (learn is None and network is None and edges is None):
        raise ParameterError(
            "a framework needs a network: one to be learned, one that is given, or edges with a strength",
            found="none" if learn is None else "both",
            remedy="Write learn=PUBLIC_TABLE, network=... with its source, or codebook=..., edges=... and strength=2.",
        )
    if source is None and network is not None:
        raise ParameterError("a network comes from somewhere", found="no source", remedy='Write source="...".')
    hiding = [protect] if isinstance(protect, str) else protect
    hidden: Mapping[str, Secret | None] = hiding if isinstance(hiding, Mapping) else dict.fromkeys(hiding)
    given = read_network(network, level_of(notion)) if isinstance(network, (str, os.PathLike)) else network
    known = started(
        data,
        notion=notion,
        names=names,
        codebook=codebook,
        public=public,
        learn=learn,
        network=given,
        edges=edges,
        strength=strength,
        draws=draws,
        graphs=graphs,
        protect=hidden,
        read_as=read_as,
    )
    if known.few_records:
        warnings.warn(known.few_records, FewRecordsWarning, stacklevel=2)
    if known.notes:
        warnings.warn("\n".join(["found in the public table:", *known.notes]), FoundInPublicWarning, stacklevel=2)
    schema = _schema(known, records)
    for name in hidden:
        check_protected(name, list(schema.columns))
    return _framework(known, schema, hidden, cast(DiscreteNetwork, given or known.network), source or known.source)


def _schema(known: Started, records: int) -> Schema:
    """Return the schema of all columns but those left out.

    Raises
    ------
    FrameworkError
        If bounds or categories of one stay unknown.
    """
    kept = {name: each.column for name, each in known.columns.items() if name not in known.left_out}
    unknown = [name for name, column in kept.items() if column is None]
    if unknown:
        # names that nothing public has too may be a record
        told = known.names_given or known.public
        raise FrameworkError(
            "every column needs public bounds or categories",
            found=f"none for {listing(unknown)}" if told else "none for any",
            remedy="Give a codebook, or a public table.",
        )
    columns = {name: column for name, column in kept.items() if column is not None}
    return Schema(records=records, columns=columns, dialect=None if known.dialect == PLAIN else known.dialect)


def _framework(
    known: Started, schema: Schema, hidden: Mapping[str, Secret | None], network: DiscreteNetwork, source: str
) -> DatasetAttributePrivacy | DistributionalAttributePrivacy:
    if known.notion == "distributional":
        apart_from = [name for name in schema.columns if name not in network.attributes]
        return DistributionalAttributePrivacy(network, schema, list(hidden), source=source, independent=apart_from)
    near = apart(at_most=usual_distance(schema.records))
    secrets = {
        name: Secret(usual_property(name, schema[name]), pairs=near) if secret is None else secret
        for name, secret in hidden.items()
    }
    made = DatasetAttributePrivacy(network, schema, secrets, source=source, public_records=known.public_records)
    left_open = [name for name, secret in hidden.items() if secret is None]
    object.__setattr__(made, "decisions", usual_decisions(left_open, schema.records))
    return made


def usual_distance(records: int) -> int:
    """How far apart numbers of records are not to be told apart where nobody says it."""
    return max(1, records // HIDDEN_PART)


def usual_decisions(names: Sequence[str], records: int) -> dict[str, str]:
    """What is said of a number that is hidden, and how far apart, where nobody decided it."""
    if not names:
        return {}
    told, near = some_text(names, most=2), usual_distance(records)
    return {
        "protected": f"default for {told}: the column was named, which number of it is hidden was not",
        "apart": f"default for {told}: {near:,}, of {records:,} records",
    }


def usual_property(name: str, column: Column):
    """Return how many records have the last category of a column, or a number from its middle bin on."""
    if isinstance(column, Categorical):
        named = [each for each in column.categories if each not in (column.missing, *OTHER_LABELS)]
        named = named or list(column.categories)
        return count(col(name) == named[-1])
    if isinstance(column, Binned):
        return count(col(name) >= column.edges[len(column.edges) // 2])
    middle = (column.lower + column.upper) / 2
    # as a person would write it: the sum of two decimals may have an end that neither has
    return count(col(name) >= (math.ceil(middle) if isinstance(column, Integer) else float(f"{middle:.12g}")))


StartedNotion = Literal["dataset", "distributional"]
# --------------------------------------------------------------------------------------------------
# What is known of the table: its header, and what a codebook and a public table say of its columns.
# --------------------------------------------------------------------------------------------------

FEW_PUBLIC_RECORDS = 500
"""With fewer public records to learn from than this, it is said that they are few."""

READ_AS = ("days", "number", "category", "id")
"""What a column may be read as, whatever is found in it; or how its dates are written."""

STARTED_NOTIONS: tuple[StartedNotion, ...] = ("dataset", "distributional")


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
        Learned from the public table, or stated.
    public_records : PublicRecords, optional
        The public table itself, as models of one record.
    left_out : mapping from str to str
        Columns that are neither in the schema nor in a learned network, and why.
    dialect : Dialect
        How the texts of the tables are written.
    notes : tuple of str
        What was found in the public table, one sentence each.
    by_expert : bool
        Whether an expert gave its graph.
    stated : mapping from (str, str) to float
        The strength of each edge of a network that is not learned but stated.
    learned_from : int, optional
        How many public records the network is learned from.
    names_given : bool
        Whether somebody gave the names of the columns, or a codebook has them too; else they may be a record.
    hubs : tuple of str
        The protected columns that are nodes.
    """

    notion: StartedNotion
    columns: Mapping[str, KnownColumn]
    lacks_names: bool = False
    records: int | None = None
    public: str = ""
    network: DiscreteNetwork | None = None
    public_records: PublicRecords | None = None
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    dialect: Dialect = PLAIN
    notes: tuple[str, ...] = ()
    by_expert: bool = False
    stated: Strengths = field(default_factory=dict[tuple[str, str], float])
    learned_from: int | None = None
    names_given: bool = False
    hubs: tuple[str, ...] = ()

    @property
    def few_records(self) -> str:
        """That the network is learned from few records, in a sentence; empty where they are not few."""
        if self.learned_from is None or self.learned_from >= FEW_PUBLIC_RECORDS:
            return ""
        return (
            f"Only {self.learned_from:,} public records: so few say little of how columns depend, and a private table "
            "may differ much from what is learned from them."
        )

    @property
    def source(self) -> str:
        """Where the learned or stated network comes from, in a sentence."""
        if self.stated and self.network is not None:
            told = ", ".join(f"{above} -> {below}: {factor:g}" for (above, below), factor in self.stated.items())
            return (
                "somebody's statement, nothing of it learned: shares of a codebook, and edges with the factor by which "
                f"they may move a column's odds from those of its shares ({told}); {self.network.models} models are "
                f"the corners of it, for secrets about {listing(self.hubs)}"
            )
        chosen = f"from {listing(self.hubs)}, which was to be protected, " if self.hubs else ""
        drawn = None if self.network is None else self.network.posterior_draws
        resamples = None if drawn is None else drawn.graphs
        what = "graph" if resamples is None else f"graphs, one in each of {resamples} resamples,"
        graph = (
            "edges by an expert"
            if self.by_expert
            else f"{what} by hill climbing with BIC, which can miss dependences, "
            f"and edges {chosen}to what it left apart"
        )
        records = "" if self.public_records is None else f"; {self.public_records.coverage}"
        return (
            f"learned from public data, {self.public}: {graph}, tables drawn from a posterior; and these records "
            f"themselves, reweighted{records}"
        )


def level_of(notion: StartedNotion) -> Level:
    """Return what a node of a network means for a notion."""
    return "records" if notion == "dataset" else "parameters"


def started(
    data: object,
    *,
    notion: StartedNotion = "dataset",
    names: Sequence[str] | None = None,
    codebook: str | os.PathLike[str] | None = None,
    public: object = None,
    learn: object = None,
    network: DiscreteNetwork | None = None,
    edges: str | None = None,
    strength: float | None = None,
    draws: int = LEARNED_MODELS,
    graphs: int = 1,
    records: int | None = None,
    protect: Iterable[str] = (),
    read_as: Mapping[str, str] | None = None,
) -> Started:
    """Gather what is known of a table; see `bnpriv.io.starter.started.start`."""
    protect, read_as = tuple(protect), dict(read_as or {})
    member("notion", notion, STARTED_NOTIONS, error=ParameterError)
    refuse_learning(notion, learn, edges, public)
    by_hand = edges is not None and learn is None
    refuse_stating(notion, strength, network, learn, by_hand=by_hand)
    if graphs != 1 and learn is None:
        raise ParameterError(
            "graphs are looked for in a public table", found="none to learn from", remedy="Write learn=PUBLIC_TABLE."
        )
    for each in (codebook, public, learn):
        if each is not None:
            refuse_the_same(data, each)
    header, described, given = _described_header(data, names, codebook)
    table = learn if learn is not None else public
    if table is None and not given and not is_database(data) and looks_like_a_record(header.names):
        # a frame that was read from a file without names is called by its first record
        raise FileError(
            "the columns of a table must have names",
            found="numbers, gaps or the same text twice, as in a record",
            remedy="Rename them; where the names are really numbers, give a public table or a codebook that has them.",
        )
    _check_read_as(read_as, header.names, told=given or table is not None)
    described = {**described, **{name: _read_as(described.get(name), kind) for name, kind in read_as.items()}}
    labels = [name for name, said in described.items() if said.kind == "categorical"]
    found = _nothing(read_as, header)
    if table is not None:
        found = found_public(table, header.names, given=given, labels=labels, told=read_as)
    values, left_out = found.values, dict(found.left_out)
    nameless = next((name for name, said in described.items() if said.nameless and name in header.names), None)
    for name in protect:
        # names that nothing public has too may be a record
        check_protected(name, header.names, nameless=nameless, told=given or table is not None)
    told = "" if table is None else _told(table, len(next(iter(values.values()))))
    ready = () if network is None else network.states.items()
    closed = {name for name, states in ready if not set(map(str, states)) & set(OTHER_LABELS)}
    columns = {
        name: choice(
            name, described.get(name), values.get(name), as_states=learn is not None, public=told, closed=name in closed
        )
        for name in header.names
    }
    if learn is not None:
        left_out |= {name: why for name, each in columns.items() if (why := _no_node(each, values[name]))} | left_out
    shares = {name: said.shares for name, said in described.items() if said.shares and name in columns}
    if by_hand:
        left_out |= {name: "the codebook has no shares of it" for name in columns if name not in shares}
    nodes = list(shares) if by_hand else [] if learn is None else _nodes(columns, left_out)
    for name in () if by_hand else set(protect) & set(left_out):
        raise ParameterError(
            "a protected column must be one that statistics can be asked of",
            found=f"{name[:80]!r}, which is left out: {left_out[name]}",
            remedy=f"Say what it is, --as {name[:80]}=number or category, or protect another.",
        )
    kept = {name: column for name in nodes if (column := columns[name].column) is not None}
    hubs = [name for name in protect if name in kept]
    strengths = strengths_of(edges, strength, _with_shares(nodes)) if by_hand and edges else {}
    if strengths:
        drawn = stated(kept, shares, strengths, hubs)
    else:
        drawn = None
        if nodes:
            drawn = learned(kept, values, public=told, edges=edges, protect=hubs, draws=draws, graphs=graphs)
    return Started(
        notion=notion,
        columns=columns,
        lacks_names=header.lacks_names,
        records=records,
        public=told,
        network=drawn,
        public_records=public_records(kept, values, 2 * draws) if nodes and not by_hand else None,
        left_out=left_out,
        dialect=replace(found.dialect, separator=header.separator or found.dialect.separator),
        notes=(*found.notes, *_told_points(columns, values), *_told_left_out(left_out)),
        by_expert=edges is not None,
        stated=strengths,
        hubs=tuple(hubs),
        learned_from=len(next(iter(values.values()))) if nodes and values and not by_hand else None,
        names_given=given,
    )


def _described_header(
    data: object, names: Sequence[str] | None, codebook: str | os.PathLike[str] | None
) -> tuple[Header, Mapping[str, Described], bool]:
    """Return the columns of a table, what a codebook says of them, and whether their names are no record for sure."""
    described: Mapping[str, Described] = {} if codebook is None else read_codebook(codebook)
    listed = _listed_names(data, described) if names is None and described and is_text_file(data) else names
    # in whatever order, or without a codebook, the first line of a file then holds the names
    if names is None and (listed is None or shares_names(first_line(user_path(cast(str, data))), described)):
        listed = None
    header = header_of(data, listed)
    if len(described) == len(header.names) and not set(described) >= set(header.names):
        # a codebook in the order of the columns, which calls some of them otherwise
        order = dict(zip(header.names, described.values(), strict=True))
        described = {name: described.get(name, order[name]) for name in header.names}
    given = names is not None or header.lacks_names or shares_names(header.names, described)
    return header, described, given


def _listed_names(data: object, described: Mapping[str, Described]) -> list[str]:
    """Return the columns that a codebook names: without the classes where the file has no column of them.

    Raises
    ------
    FileError
        If the file has one column more, which the codebook does not name.
    """
    listed, path = list(described), user_path(cast(str, data))
    fields = first_line(path)
    if described[listed[-1]].nameless and len(fields) == len(listed) - 1:
        return listed[:-1]
    if len(fields) == len(listed) + 1 and not shares_names(fields, described):
        raise FileError(
            f"{path}: the codebook must name every column, or list the classes of the last one on a line of its own",
            found=f"{len(listed)} names for {len(fields)} columns",
            remedy=f'Give the option names, "{",".join([*listed, "class"])}", where "class" is the name of the last, '
            "if that is the one without.",
        )
    return listed


def _check_read_as(read_as: Mapping[str, str], names: Sequence[str], *, told: bool) -> None:
    """Refuse to read what is no column, or in a way that there is not."""
    for name, kind in read_as.items():
        check_protected(name, names, told=told, what="a column that is read as something")
        member("what a column is read as", kind, (*READ_AS, *DATE_FORMATS), error=ParameterError)


def _read_as(said: Described | None, kind: str) -> Described:
    """Return what a codebook says of a column, but for what it is read as."""
    usual = {"category": "categorical", "number": "real"}.get(kind, "integer" if kind != "id" else "unknown")
    if said is None:
        return Described(kind=usual)
    return replace(said, kind="integer" if usual == "real" and said.kind == "integer" else usual)


def _nothing(read_as: Mapping[str, str], header: Header) -> FoundPublic:
    """Return what is known without a public table: what columns are to be read as."""
    dates = {
        name: kind if kind in DATE_FORMATS else "YYYY-MM-DD"
        for name, kind in read_as.items()
        if kind in ("days", *DATE_FORMATS)
    }
    ids = {name: SAID for name, kind in read_as.items() if kind == "id"}
    return FoundPublic(values={}, dialect=Dialect(dates=dates), left_out=ids, notes=())


def _no_node(known: KnownColumn, values: PublicValues) -> str:
    """Return why a column cannot be a node of a learned network; empty if it can."""
    different = len({value for value in values if value is not None})
    if known.column is None or not different:
        return "the public table has no value of it"
    if len(set(node_states(known.column)) - {NOT_COUNTED}) > 1:  # a gap alone is no other value
        return ""
    if different == 1:
        return "all public records that have one have the same value"
    least = math.ceil(enough_records(len(values)))
    return f"none of its {different:,} different public values comes {least:,} times or more"


def _told_points(columns: Mapping[str, KnownColumn], values: Mapping[str, PublicValues]) -> list[str]:
    """Tell the numbers with much mass of their own in columns that are bins."""
    found: list[str] = []
    for name, known in columns.items():
        within = known.column.within if isinstance(known.column, Binned) else "uniform"
        if isinstance(within, str):
            continue
        counted = Counter(value for value in values[name] if isinstance(value, float))
        listed = {number for law in within.values() if set(law) & set(SPREADS) for number in law}
        points = [number for number in point_masses(counted) if number in listed]
        if points:
            shares = listing(f"{number:.6g} ({counted[number] / counted.total():.0%})" for number in points)
            found.append(f"{name}: much of its public mass is at {shares}: bins of their own.")
    return found


def _told_left_out(left_out: Mapping[str, str]) -> list[str]:
    return [f"{name}: left out, and no query can read it: {reason}." for name, reason in left_out.items()]


def _nodes(columns: Mapping[str, KnownColumn], left_out: Mapping[str, str]) -> list[str]:
    """Return the columns that are nodes.

    Raises
    ------
    FrameworkError
        If there is none.
    """
    nodes = [name for name in columns if name not in left_out]
    if not nodes:
        raise FrameworkError(
            "a network needs a column with two states in the public table",
            found="none",
            remedy="Give another public table.",
        )
    return nodes


def refuse_learning(notion: str, learn: object, edges: str | None, public: object = None) -> None:
    """Refuse what cannot be learned: the law behind one table, a graph without a table, and what two tables say.

    Raises
    ------
    ParameterError
    """
    if learn is not None and notion == "distributional":
        raise ParameterError(
            "the distribution behind a table is learned from many public groups, each of which has a distribution of "
            "its own; one table of records is a single draw of its parameters and says nothing of how they depend on "
            "each other",
            found="one public table",
            remedy="Choose the notion dataset, or declare a network of parameters; the guide on choosing a notion says "
            "how one comes from public groups.",
        )
    if learn is not None and public is not None:
        raise ParameterError(
            "one public table gives bounds and categories, with a network or without",
            found="one to learn from, and another",
            remedy="Keep the one to learn from, which gives both.",
        )
    if edges is not None and not edges.strip(" ,"):
        raise ParameterError(
            "edges must name at least one", found="none", remedy='Write "age > income", or leave it out for a search.'
        )


def refuse_stating(notion: str, strength: float | None, network: object, learn: object, *, by_hand: bool) -> None:
    """Refuse a strength without edges, beside a network that is learned or given, or of parameters.

    Raises
    ------
    ParameterError
    """
    if by_hand and notion == "distributional":
        raise ParameterError(
            "edges and shares by hand are about the columns of one record",
            found="the notion distributional",
            remedy="Choose the notion dataset, or declare a network of parameters.",
        )
    if by_hand and network is not None:
        raise ParameterError(
            "a network is given, or stated by edges", found="both", remedy="Keep the network, or edges and strength."
        )
    if strength is not None and not by_hand:
        raise ParameterError(
            "a strength is that of edges by hand, where no table is learned from",
            found="no edges" if learn is None else "a table to learn from",
            remedy='Write edges="income -> score" and strength=2, and the shares into a codebook.',
        )


def _with_shares(nodes: Sequence[str]) -> Sequence[str]:
    if nodes:
        return nodes
    raise ParameterError(
        "edges by hand need shares of the categories or bins of their columns, in a codebook",
        found="no column with shares",
        remedy="Write shares = {no = 0.8, yes = 0.2} into its tables, or name a public table to learn from.",
    )


def _told(table: object, records: int) -> str:
    # a URL may hold a password
    is_file = not is_database(table) and isinstance(table, (str, os.PathLike))
    name = Path(cast(str, table)).name if is_file else "a public table"
    return f"{name}, {records:,} public records"
