"""What is known of a table of one's own: its header, and what a codebook and a public table say of its columns."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, cast

from bnpriv.checks import listing, member, type_text
from bnpriv.core.columns import NOT_COUNTED, SPREADS, Binned
from bnpriv.core.networks.base import Level
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Graph
from bnpriv.core.schema import Column
from bnpriv.errors import FileError, FrameworkError, ParameterError
from bnpriv.io.starter.codebook import Described, KnownColumn, choice, node_states, point_masses, read_codebook
from bnpriv.io.starter.header import Header, first_line, header_of, is_text_file, looks_like_a_record, shares_names
from bnpriv.io.starter.learn import (
    LEARNED_MODELS,
    ExpertEdges,
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

StartedNotion = Literal["dataset", "distributional"]
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

    @cached_property
    def ready(self) -> dict[str, Column]:
        """The columns that a framework can have."""
        return {name: each.column for name, each in self.columns.items() if each.column and name not in self.left_out}

    @cached_property
    def out(self) -> dict[str, str]:
        """The other columns, each with the reason."""
        unknown = "nothing public says what it may hold"
        return {name: self.left_out.get(name, unknown) for name in self.columns if name not in self.ready}

    def graph(self, edges: Iterable[tuple[str, str]]) -> Graph:
        """The graph of edges between its columns.

        Raises
        ------
        ParameterError, NetworkError
            If an edge is of a column that is left out, or edges make a cycle.
        """
        parents: dict[str, list[str]] = {name: [] for name in self.ready}
        for above, below in edges:
            for end in (above, below):
                if end not in parents:
                    raise ParameterError(
                        "an edge joins two columns of the model",
                        found=f"{end[:80]!r}: {self.out.get(end, 'no column of the table')}",
                        remedy="Choose another column, or say what this one holds.",
                    )
            parents[below].append(above)
        return Graph(parents)

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
    edges: str | ExpertEdges | None = None,
    strength: float | None = None,
    draws: int = LEARNED_MODELS,
    graphs: int = 1,
    records: int | None = None,
    protect: Iterable[str] = (),
    read_as: Mapping[str, str] | None = None,
    decimal: str = "",
) -> Started:
    """Gather what is known of a table; see `bnpriv.io.starter.start.start`.

    With no draws nothing is learned: what could be learned of, and what is left out and why, is known in no time.
    """
    protect, read_as = tuple(protect), dict(read_as or {})
    member("notion", notion, STARTED_NOTIONS, error=ParameterError)
    refuse_learning(notion, learn, edges if draws else None, public)
    by_hand = edges is not None and learn is None
    refuse_stating(notion, strength, network, learn, by_hand=by_hand)
    if graphs != 1 and learn is None:
        raise ParameterError(
            "graphs are looked for in a public table", found="none to learn from", remedy="Write learn=PUBLIC_TABLE."
        )
    for each in (codebook, public, learn):
        if each is not None:
            refuse_the_same(data, each)
    header, described, given = described_header(data, names, codebook)
    table = learn if learn is not None else public
    if table is None and not given and not is_database(data) and looks_like_a_record(header.names):
        # a frame that was read from a file without names is called by its first record
        raise FileError(
            "the columns of a table must have names",
            found="numbers, gaps or the same text twice, as in a record",
            remedy="Rename them; where the names are really numbers, give a public table or a codebook that has them.",
        )
    if decimal and table is not None:
        raise ParameterError(
            "the public table shows how numbers are written", found=f"decimal={decimal!r} too", remedy="Leave it out."
        )
    _check_read_as(read_as, header.names, told=given or table is not None)
    described = {**described, **{name: _read_as(described.get(name), kind) for name, kind in read_as.items()}}
    labels = [name for name, said in described.items() if said.kind == "categorical"]
    codes = {name: said.codes for name, said in described.items() if said.codes is not None and name in header.names}
    found = _nothing(read_as, header, {name: listed for name, listed in codes.items() if name not in labels}, decimal)
    if table is not None:
        found = found_public(table, header.names, given=given, labels=labels, told=read_as, codes=codes)
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
        left_out = {name: "the codebook has no shares of it" for name in columns if name not in shares} | left_out
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
        if nodes and draws:
            drawn = learned(kept, values, public=told, edges=edges, protect=hubs, draws=draws, graphs=graphs)
    return Started(
        notion=notion,
        columns=columns,
        lacks_names=header.lacks_names,
        records=records,
        public=told,
        network=drawn,
        public_records=public_records(kept, values, 2 * draws) if nodes and draws and not by_hand else None,
        left_out=left_out,
        dialect=replace(found.dialect, separator=header.separator or found.dialect.separator),
        notes=(
            *found.notes,
            *_told_signs(header, columns if table is None and not decimal else {}),
            *_told_points(columns, values),
            *_told_left_out(left_out),
        ),
        by_expert=edges is not None,
        stated=strengths,
        hubs=tuple(hubs),
        learned_from=len(next(iter(values.values()))) if nodes and values and not by_hand else None,
        names_given=given,
    )


def described_header(
    data: object, names: Sequence[str] | None, codebook: str | os.PathLike[str] | None
) -> tuple[Header, Mapping[str, Described], bool]:
    """Return the columns of a table, what a codebook says of them, and whether their names are no record for sure.

    Raises
    ------
    FileError, DataError
        If the codebook, or the first line of the table, is not what it should be.
    """
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


def _nothing(
    read_as: Mapping[str, str], header: Header, codes: Mapping[str, tuple[float, ...]], decimal: str
) -> FoundPublic:
    """Return what is known without a public table: how columns are to be read, and the codes of a codebook."""
    dates = {
        name: kind if kind in DATE_FORMATS else "YYYY-MM-DD"
        for name, kind in read_as.items()
        if kind in ("days", *DATE_FORMATS)
    }
    ids = {name: SAID for name, kind in read_as.items() if kind == "id"}
    dialect = Dialect(decimal=decimal or ".", thousands="." if decimal == "," else "", dates=dates, codes=codes)
    return FoundPublic(values={}, dialect=dialect, left_out=ids, notes=())


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


def _told_signs(header: Header, columns: Mapping[str, KnownColumn]) -> list[str]:
    """Tell that nothing public shows how numbers are written, where commas often stand before decimals."""
    if header.separator != ";" or all(each.kind in ("categorical", "unknown") for each in columns.values()):
        return []
    told = "Fields are separated by semicolons, and numbers are read as 0.5: one that is written 0,5 counts as a gap."
    return [f'{told} Where they are, say so: --decimal ",".']


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


def refuse_learning(notion: str, learn: object, edges: str | ExpertEdges | None, public: object = None) -> None:
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
    if edges is not None and not isinstance(edges, (str, Mapping)):
        remedy = 'Write "age -> income", or {("age", "income"): None}.'
        raise ParameterError("edges are a text or a mapping", found=type_text(edges), remedy=remedy)
    if edges is not None and not (edges.strip(" ,") if isinstance(edges, str) else edges):
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
