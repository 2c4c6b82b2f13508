"""Columns of a table that may go out as they are: together they tell little enough about every protected attribute."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray, Kind, weakest
from bnpriv.core.column_laws import ColumnLaw
from bnpriv.core.columns import GAP_MARK, Categorical
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import require_framework
from bnpriv.core.influence.base import Influence
from bnpriv.core.mechanisms.certificate import guarantee_for, posterior_of
from bnpriv.core.mechanisms.quilt import ColumnSet
from bnpriv.core.networks.discrete import require_discrete
from bnpriv.core.networks.factors import LogTable, marginal
from bnpriv.core.queries.asked import histogram
from bnpriv.core.schema import Column, NumberColumn
from bnpriv.errors import BnprivError, LawError, NetworkError, ParameterError, Refusal, RefusedError, SizeError
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import evaluate_many
from bnpriv.tables.private_table.rows import classed_rows
from bnpriv.text import full_text, some_text

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Which sets of columns may go out, and what is said of them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenSet:
    """A set of columns that may go out as they are.

    Parameters
    ----------
    columns : frozenset of str
    influences : tuple of Influence
        What they tell together about each protected attribute.
    worth : float
        The sum of their declared worth.
    """

    columns: ColumnSet
    influences: tuple[Influence, ...]
    worth: float

    @property
    def worst(self) -> Influence:
        """What they tell about the attribute about which they tell most, with the witness."""
        return max(self.influences, key=float)

    @property
    def kind(self) -> Kind:
        """How well all of it is known: as well as the worst."""
        return weakest(each.kind for each in self.influences)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenColumns(Shown):
    """Which sets of columns may go out exactly as they are, the most worthy first.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    epsilon : float
    sets : tuple of OpenSet
        No set holds another. Each is within epsilon of every protected attribute, and no column can be added to it, as
        far as the search looked.
    complete : bool
        Whether these are all such sets; False where the search stopped, so that there are at least these.
    best_is_proven : bool
        Whether no other set is worth more than the first.
    alone : mapping from str to Influence or Refusal
        What each column of the table tells alone about the attribute about which it tells most, or why it never goes
        out.
    assumptions : tuple of str
        What must hold for the influences to be those of the columns.
    notes : tuple of str
        What else a reader must know.

    Notes
    -----
    docs/claims/open_columns.md.
    """

    framework: DistributionalAttributePrivacy
    epsilon: float
    sets: tuple[OpenSet, ...]
    complete: bool
    best_is_proven: bool
    alone: Mapping[str, Influence | Refusal]
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def best(self) -> OpenSet:
        """The set of the largest worth; among equals the one that tells least, then by its names."""
        return self.sets[0]

    @property
    def closed(self) -> tuple[str, ...]:
        """The columns that the best set leaves out."""
        return tuple(name for name in self.alone if name not in self.best.columns)

    @property
    def guarantee(self) -> Guarantee:
        """What handing on the best set promises, for any use of it, any number of times."""
        drawn = posterior_of(self.framework)
        beyond = "" if drawn is None else drawn.fitted_sentence("The choice of columns was")
        made = guarantee_for(self.framework, epsilon=self.epsilon, delta=0.0, kind=self.best.kind, beyond_text=beyond)
        return replace(made, seen="these columns and whatever is made of them")

    @property
    def document(self) -> Document:
        """The sets with what they tell, and what stays closed, as a document."""
        return service("open_columns.document")(self)

    def __repr__(self) -> str:
        few = "" if self.complete else "at least "
        return f"OpenColumns(epsilon={self.epsilon:g}, best={sorted(self.best.columns)}, {few}{len(self.sets)} sets)"


def open_columns(
    framework: DistributionalAttributePrivacy,
    epsilon: float,
    worth: Mapping[str, float] | None = None,
    *,
    limit: int = 4_000,
) -> OpenColumns:
    """Which sets of columns may go out exactly as they are.

    A set may go out when all of its columns together tell at most epsilon about every protected attribute, under every
    model. Nothing is added to it, and it may be used in any way and any number of times; no data are needed to know it.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
        Over a network of any kind.
    epsilon : float
    worth : mapping from str to float, optional
        What a column is worth, at least 0; 1 where nothing is said. It chooses `best` among all sets.
    limit : int
        About how many sets of columns are looked at; fewer where their tables are large.

    Returns
    -------
    OpenColumns
        Its first set is the best; where none may go out it is empty.

    Raises
    ------
    ParameterError
        If epsilon, a worth or the limit does not fit, or a column of `worth` is not in the table.
    RefusedError
        If the secrets are no parameters of a network.

    Notes
    -----
    docs/claims/open_columns.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = open_columns(bp.example("student"), 1.0)
    >>> sorted(found.best.columns), round(float(found.best.worst), 3)
    (['gender', 'height', 'weight'], 0.262)
    """
    work = checks.whole("limit", limit) * TABLE_CELLS
    search = _search(framework, epsilon, worth, work)
    proven = search.walk(work / 2, only_better=True)
    complete = search.walk(work / 2, only_better=False)
    return search.result(framework, proven=proven or complete, complete=complete)


def columns_for_report(framework: object, epsilon: float) -> OpenColumns | None:
    """What a report says of columns that may go out; None where the secrets are no parameters of a network."""
    with suppress(RefusedError):
        return open_columns(framework, epsilon, limit=MOST_FOR_REPORT)  # pyright: ignore[reportArgumentType]
    return None


def _search(
    framework: DistributionalAttributePrivacy, epsilon: float, worth: Mapping[str, float] | None, work: float
) -> _Search:
    """A search that has looked at single columns alone."""
    require_framework(framework, epsilon)
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise replace(PARAMETERS_NEEDED, found=evidence.found).error()
    refusal = evidence.no_quilts or evidence.covers(frozenset())
    if refusal is not None or evidence.network.level != "parameters":
        raise (refusal or PARAMETERS_NEEDED).error()
    given, named = dict(worth or {}), framework.schema.columns
    checks.subset("the columns that have a worth", given, named, error=ParameterError)
    weights = {name: checks.not_negative(f"the worth of {name!r}", given.get(name, 1.0)) for name in named}
    search = _Search(evidence=evidence, epsilon=checks.epsilon(epsilon), worth=weights)
    search.allowed(frozenset())  # without a limit: whatever is looked at, nothing may go out
    search.left = work
    search.alone |= {name: search.look_at(name) for name in named}
    return search


PARAMETERS_NEEDED = Refusal(
    required="columns may go out as they are where secrets are parameters of a network",
    found="secrets of another notion",
    remedy="Use bnpriv.private_table, which hides the number of records that count.",
)

DRIVEN = Refusal(
    required="a column that goes out must not be driven by a protected attribute itself",
    found="one that is",
    remedy="Draw it from the model given the others, or leave it out.",
)

NOT_KNOWN = Refusal(
    required="it must be known what a column tells",
    found="nothing that bounds it",
    remedy="Declare fewer states, or leave it out.",
)

# --------------------------------------------------------------------------------------------------
# The search for all maximal sets: a set that tells too much holds a smallest part that does, and every set that may go
# out leaves out one of its columns.
# --------------------------------------------------------------------------------------------------

TABLE_CELLS = 2**15
"""What looking at a set takes, besides its tables, in their cells; 2^27 cells take about four seconds."""

LARGEST_SHARE = 2**-4
"""The share of all its work that one influence may take in a search: what needs more is passed over."""

ESTIMATE_COSTS = 20
"""An influence that is an estimate takes a quadrature, as long as so many sets more."""

MOST_FOR_REPORT = 400
"""Sets that are looked at for a report: about a third of a second."""

UNPROVED = "Some influences are bounds, estimates or too large: a set that was passed over might be within epsilon too."


@dataclass(kw_only=True)
class _Search:
    """The search for all maximal sets of columns within epsilon; `notes` say where it is not certain."""

    evidence: Influences
    epsilon: float
    worth: Mapping[str, float]
    alone: dict[str, Influence | Refusal] = field(default_factory=dict[str, Any])
    notes: set[str] = field(default_factory=set[str])
    left: float = math.inf
    most: float = math.inf
    told: dict[ColumnSet, tuple[Influence, ...] | None] = field(default_factory=dict[ColumnSet, Any])
    conflicts: list[ColumnSet] = field(default_factory=list[ColumnSet])
    found: list[ColumnSet] = field(default_factory=lambda: [frozenset[str]()])

    def look_at(self, name: str) -> Influence | Refusal:
        """What a column tells alone, or why it never goes out."""
        column = frozenset({name})
        refusal = self.evidence.covers(column)
        if refusal is None and any(self.evidence.driven(column, each) for each in self.evidence.secrets):
            refusal = DRIVEN
        told = None
        try:
            told = None if refusal else self._influences(column)
        except _SearchEndsError:
            self.notes.add(UNPROVED)
        self.told[column] = told if self._within(told) else None
        if not self._within(told):
            self.conflicts.append(column)
        return refusal or (max(told, key=float) if told else NOT_KNOWN)

    def allowed(self, columns: ColumnSet) -> bool:
        """Whether columns tell at most epsilon together about every protected attribute."""
        if columns not in self.told:
            # a set that holds one that tells too much does so too
            known = any(each <= columns for each in self.conflicts)
            told = None if known else self._influences(columns)
            self.told[columns] = told if self._within(told) else None
        return self.told[columns] is not None

    def _within(self, told: tuple[Influence, ...] | None) -> bool:
        return told is not None and all(float(each) <= self.epsilon for each in told)

    def _influences(self, columns: ColumnSet) -> tuple[Influence, ...] | None:
        """What columns tell about each attribute; None where that is not known."""
        if self.evidence.covers(columns) is not None:  # as the quilt mechanism asks of all columns of a query
            return None
        found: list[Influence] = []
        for attribute in self.evidence.secrets:
            cells, told = self.evidence.work(columns, attribute)[0], None
            self._spend(TABLE_CELLS)
            if cells <= self.most:
                self._spend(cells)
                with suppress(BnprivError):
                    told = self.evidence.influence(columns, attribute)
            if told is not None and told.kind == "estimate":
                self._spend(TABLE_CELLS * ESTIMATE_COSTS)
            if told is None or (float(told) > self.epsilon and told.kind != "exact"):
                self.notes.add(UNPROVED)
            if told is None:
                return None
            found.append(replace(told, columns=columns))
        return tuple(found)

    def _spend(self, cells: float) -> None:
        self.left -= cells
        if self.left < 0:
            raise _SearchEndsError

    @cached_property
    def _candidates(self) -> tuple[str, ...]:
        """The columns that may go out alone, those first that tell least for their worth."""

        def rank(name: str) -> tuple[float, float, str]:
            told, worth = max(map(float, self.told[frozenset({name})] or ())), self.worth[name]
            return told / worth if worth else math.inf if told else 0.0, -worth, name

        return tuple(sorted((name for name in self.worth if self.allowed(frozenset({name}))), key=rank))

    def _worth(self, columns: ColumnSet) -> float:
        return math.fsum(self.worth[name] for name in columns)

    def result(self, framework: DistributionalAttributePrivacy, *, proven: bool, complete: bool) -> OpenColumns:
        """The sets that were found, the best first."""
        sets = [OpenSet(columns=each, influences=self.told[each] or (), worth=self._worth(each)) for each in self.found]
        return OpenColumns(
            framework=framework,
            epsilon=self.epsilon,
            sets=tuple(sorted(sets, key=lambda each: (-each.worth, float(each.worst), sorted(each.columns)))),
            complete=complete and not self.notes,
            best_is_proven=proven and not self.notes,
            alone=self.alone,
            assumptions=self.evidence.assumptions,
            notes=tuple(self.notes),
        )

    def walk(self, work: float, *, only_better: bool) -> bool:
        """Look at all sets, or at those alone that are worth more than the best so far; False if that is too much.

        Every branch holds the sets between two. Where the larger one tells too much, a smallest part of it that does
        is split up: its first column stays out, or it is in and the second stays out, and so on.
        """
        self.left, self.most = work, work * LARGEST_SHARE
        todo = [(frozenset[str](), frozenset(self._candidates))]
        with suppress(_SearchEndsError):
            self.add(frozenset())
            while todo:
                self._spend(TABLE_CELLS)
                inside, within = todo.pop()
                best = max(map(self._worth, self.found))
                if (only_better and self._worth(within) <= best) or any(within <= each for each in self.found):
                    continue
                if self.allowed(within):
                    self.add(within)
                    continue
                conflict = self._conflict(inside, within)
                # what tells most for its worth is left out first
                split = [name for name in reversed(self._candidates) if name in conflict - inside]
                todo += reversed([(inside.union(split[:k]), within - {name}) for k, name in enumerate(split)])
            return True
        return False

    def add(self, columns: ColumnSet) -> None:
        """Add a set that may go out, with every column that may still join it."""
        try:
            for name in self._candidates:
                if self.allowed(columns | {name}):
                    columns |= {name}
        finally:
            if self.allowed(columns) and not any(columns <= each for each in self.found):
                self.found = [*(each for each in self.found if not each <= columns), columns]

    def _conflict(self, inside: ColumnSet, within: ColumnSet) -> ColumnSet:
        """A smallest part of a set that tells too much: without any one of its columns it would not."""
        known = [each for each in self.conflicts if each <= within]
        if known:
            return min(known, key=lambda each: len(each - inside))
        kept, rest = frozenset[str](), [name for name in reversed(self._candidates) if name in within]
        while self.allowed(kept):
            # the first place up to which the columns tell too much: that column is part of it
            place = next(k for k in range(len(rest)) if not self.allowed(kept.union(rest[: k + 1])))
            kept, rest = kept | {rest[place]}, rest[:place]
        self.conflicts.append(kept)
        return kept


class _SearchEndsError(Exception):
    """The work that a search may take is done."""


# --------------------------------------------------------------------------------------------------
# The table that is handed on: real values in the open columns, the others drawn given what these show.
#
# All that is drawn is a function of what goes out anyway and of chance, so that it costs nothing; any seed would do.
# --------------------------------------------------------------------------------------------------

FINEST_GRID = 256
"""Into so many bins the values of a column of numbers are counted; whole numbers one by one if they are no more."""

NEVER = -1e4
"""What stands for the log of an impossible value: a table that the model rules out still says which state is nearer."""

BinLogs = tuple[Sequence[Any], FloatArray]
"""Edges or categories, and the log probability of every bin, and of none of them, of shape (states, bins + 1)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenTable(Shown):
    """A table whose open columns went out as they are.

    Parameters
    ----------
    table : table or Path
    found : OpenColumns
        Its best set are the columns whose values are real, with the guarantee.
    made_up : tuple of str
        Those that were drawn from the first model given what went out.
    left_out : mapping from str to str
        Why other columns of the schema are missing.
    """

    table: Any = field(repr=False)
    found: OpenColumns
    made_up: tuple[str, ...]
    left_out: Mapping[str, str]

    @property
    def guarantee(self) -> Guarantee:
        """What nobody can conclude from it, whatever is made of it."""
        return self.found.guarantee

    @property
    def document(self) -> Document:
        """Which columns are real, which are drawn, and what that promises."""
        return service("open_columns.table_document")(self)

    def __repr__(self) -> str:
        return f"OpenTable(real={sorted(self.found.best.columns)}, drawn={sorted(self.made_up)})"


def open_table(
    framework: DistributionalAttributePrivacy,
    data: object,
    epsilon: float,
    columns: Iterable[str] | None = None,
    *,
    output: Path | None = None,
    random: np.random.Generator | None = None,
) -> OpenTable:
    """Hand on a table: real values of columns that may go out, the others drawn from the model given these.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    data : table, str or path
        As `bnpriv.release` takes it; it is read twice.
    epsilon : float
    columns : iterable of str, optional
        Those that go out as they are; by default the best of `open_columns`.
    output : Path, optional
        A Parquet file to be written.
    random : numpy.random.Generator, optional
        Where closed columns are drawn from.

    Returns
    -------
    OpenTable

    Raises
    ------
    RefusedError
        If the columns tell more than epsilon, or none may go out.
    ParameterError
        If an argument does not fit.
    DataError, FileError
        If the data cannot be read, have not the declared number of rows, or the output cannot be written.

    Notes
    -----
    docs/claims/open_columns.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> made = open_table(bp.example("student"), bp.example_data("student"), 1.0, ["height"])
    >>> sorted(made.found.best.columns), sorted(made.made_up), len(made.table)
    (['height'], ['gender', 'income', 'sat', 'weight'], 10000)
    """
    found = open_columns(framework, epsilon) if columns is None else _given(framework, epsilon, columns)
    if not found.best.columns:
        raise RefusedError(
            "some column must be within epsilon for a table to go out",
            found="none",
            remedy="Choose a larger epsilon, or ask a query: bnpriv.plan(framework, query, epsilon).",
        )
    service("release.refuse_learned")(framework, framework.schema, data)
    drawing = np.random.default_rng() if random is None else random
    made_up = tuple(name for name in found.closed if name in framework.column_laws)
    left_out = {name: "No distribution is declared of it." for name in found.closed if name not in made_up}
    places = dict[str, int]()
    try:
        wanted = frozenset(axis for name in made_up for axis in framework.governing(name))
        if wanted:
            places = _drawn_states(framework, wanted, _seen(framework, found.best.columns, data), drawing)
    except (NetworkError, SizeError) as error:  # which does not depend on the data
        made_up, left_out = (), left_out | dict.fromkeys(made_up, str(error))
    beside: dict[str, Callable[[int], Sequence[Any]]] = {
        name: partial(_values, framework.column_laws[name][framework.law_place(name, places)], drawing)
        for name in made_up
    }
    out = [name for name in framework.schema.columns if name in found.best.columns]
    with classed_rows(data, framework.schema, out, (), as_they_count=True) as rows:
        table = rows.handed_on(rows.counts, beside=beside, output=output)
    return OpenTable(table=table, found=found, made_up=made_up, left_out=left_out)


def _given(framework: DistributionalAttributePrivacy, epsilon: float, columns: Iterable[str]) -> OpenColumns:
    """Columns that somebody chose, if they are within epsilon.

    Raises
    ------
    ParameterError
        If one is not in the table.
    RefusedError
        If they tell more, or the model says nothing of one.
    """
    chosen = checks.subset("columns", columns, framework.schema.columns, error=ParameterError)
    search = _search(framework, epsilon, None, math.inf)
    if not search.allowed(chosen):
        raise RefusedError(
            f"columns that go out together must tell at most {full_text(search.epsilon)} about what is protected",
            found=f"more, or the model does not say so, of {some_text(chosen)}",
            remedy="bnpriv.open_columns(framework, epsilon) lists the sets that do.",
        )
    search.found = [chosen]
    return search.result(framework, proven=False, complete=False)


def _seen(framework: DistributionalAttributePrivacy, columns: ColumnSet, data: object) -> list[LogTable]:
    """How likely what the open columns hold is, by the states of the parameters that drive them, as tables of logs."""
    bins: dict[str, BinLogs] = {}
    for name in sorted(columns.intersection(framework.column_laws)):
        with suppress(LawError):  # what no law says to a known accuracy tells nothing here
            if framework.governing(name):
                bins[name] = _bins(framework.schema[name], framework.column_laws[name])
    asked = [histogram(name, edges) for name, (edges, _) in bins.items()]
    found: list[LogTable] = []
    for (name, (_, logs)), answer in zip(bins.items(), evaluate_many(asked, framework.schema, data), strict=True):
        counts, axes = [float(value) for value in answer.values], framework.governing(name)
        told: FloatArray = logs @ np.array([*counts, framework.schema.records - sum(counts)])
        sizes = [len(framework.network.states[axis]) for axis in axes]
        found.append(LogTable(axes=axes, values=told.reshape(1, *sizes)))
    return found


def _bins(column: Column, laws: Sequence[ColumnLaw]) -> BinLogs:
    """BinLogs of a column, of numbers a public grid, and the log probability of each, and of none, in every state."""
    edges: Sequence[Any] = column.categories if isinstance(column, Categorical) else _grid(column)
    count = len(edges) - (not isinstance(column, Categorical))

    def told(value: Any) -> int:
        if isinstance(column, Categorical):
            return edges.index(value) if value in edges else count
        return count if value < edges[0] else min(bisect_right(edges, value), count) - 1

    logs = np.full((len(laws), count + 1), -np.inf)
    for row, law in zip(logs, laws, strict=True):
        cells = law.cells([] if isinstance(column, Categorical) else [*map(float, edges)], told)
        np.logaddexp.at(row, [told(value) for value in cells.values], cells.logs)
    return edges, np.maximum(logs, NEVER)


def _grid(column: NumberColumn) -> Sequence[float]:
    if column.whole and column.upper - column.lower < FINEST_GRID:
        return range(int(column.lower), int(column.upper) + 2)
    return np.linspace(column.lower, column.upper, FINEST_GRID + 1).tolist()


def _drawn_states(
    framework: DistributionalAttributePrivacy, wanted: ColumnSet, seen: Sequence[LogTable], random: np.random.Generator
) -> dict[str, int]:
    """The states of some parameters, drawn from their exact joint law under the first model given what is seen."""
    network = require_discrete(framework.network, "drawing closed columns")
    drawn: dict[str, int] = {}
    for name in (each for each in network.graph.nodes if each in wanted):
        needed = network.graph.ancestral([name, *drawn, *(axis for table in seen for axis in table.axes)])
        tables = [*seen, *(network.tables[each] for each in network.graph.nodes if each in needed)]
        logs = marginal([_fixed(table, drawn) for table in tables], (name,)).values[0]
        masses = np.exp(logs - logs.max())
        drawn[name] = int(random.choice(len(masses), p=masses / masses.sum()))
    return drawn


def _fixed(table: LogTable, drawn: Mapping[str, int]) -> LogTable:
    """A table of the first model without the axes of attributes that are drawn."""
    index = tuple(drawn.get(axis, slice(None)) for axis in table.axes)
    kept = tuple(axis for axis in table.axes if axis not in drawn)
    return LogTable(axes=kept, values=np.array(table.values[:1, *index]))


def _values(law: ColumnLaw, random: np.random.Generator, count: int) -> list[Any]:
    """Values of so many records by the law of a column; None for a gap."""
    return [None if value == GAP_MARK else value for value in law.sample(count, random).tolist()]
