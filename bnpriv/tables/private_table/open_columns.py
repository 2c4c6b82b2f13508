"""Columns of a table that may go out as they are: together they tell little enough about every protected attribute."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

from bnpriv import checks
from bnpriv.bound import Kind, weakest
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import require_framework
from bnpriv.core.influence.base import Influence
from bnpriv.core.mechanisms.certificate import guarantee_for, posterior_of
from bnpriv.errors import BnprivError, ParameterError, Refusal, RefusedError
from bnpriv.render.as_text import inline
from bnpriv.services import service
from bnpriv.shown import Shown

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# Which sets of columns may go out, and what is said of them.
# --------------------------------------------------------------------------------------------------

ColumnSet = frozenset[str]

CLAIM = "open_columns.md"

PARAMETERS_NEEDED = Refusal(
    required="columns may go out as they are where secrets are parameters of a network",
    found="secrets of another notion",
    remedy='Use bnpriv.private_table(..., form="trim"), which hides the number of records that count.',
)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class OpenSet:
    """A set of columns that may go out as they are, to which no other column may be added.

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


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenColumns(Shown):
    """Which sets of columns may go out exactly as they are, the most worthy first.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    epsilon : float
    sets : tuple of OpenSet
        No set holds another; each is within epsilon of every protected attribute, and no column can be added.
    complete : bool
        Whether these are all such sets; False where the search stopped, so that there are at least these.
    best_is_proven : bool
        Whether no other set is worth more than the first.
    alone : mapping from str to Influence or Refusal
        What each column of the table tells alone about the attribute about which it tells most, or why it never goes
        out.
    worth : mapping from str to float
        The worth of each column.
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
    worth: Mapping[str, float]
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
        return self.guarantee_of(self.best)

    def guarantee_of(self, chosen: OpenSet) -> Guarantee:
        """What handing on one of the sets promises."""
        drawn = posterior_of(self.framework)
        beyond = "" if drawn is None else drawn.fitted_sentence("The choice of columns was")
        return guarantee_for(self.framework, epsilon=self.epsilon, delta=0.0, kind=chosen.kind, beyond_text=beyond)

    @property
    def document(self) -> Document:
        """The sets with what they tell, and what stays closed, as a document."""
        return service("open_columns.document")(self)

    def explain(self) -> str:
        """All of it as text."""
        return self.text

    def __str__(self) -> str:
        return f"{inline(self.document.headline)}.\n{inline(self.document.lead)}"

    def __repr__(self) -> str:
        few = "" if self.complete else "at least "
        return f"OpenColumns(epsilon={self.epsilon:g}, best={sorted(self.best.columns)}, {few}{len(self.sets)} sets)"


def open_columns(
    framework: DistributionalAttributePrivacy,
    epsilon: float,
    worth: Mapping[str, float] | None = None,
    *,
    limit: int | None = None,
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
    limit : int, optional
        The most influences and branches that the search looks at.

    Returns
    -------
    OpenColumns
        Its first set is the best; where none may go out it is empty.

    Raises
    ------
    ParameterError
        If epsilon or a worth does not fit, or a column of `worth` is not in the table.
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
    (['gender', 'height'], 0.234)
    """
    require_framework(framework, epsilon)
    level = checks.epsilon(epsilon)
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise PARAMETERS_NEEDED.error()
    refusal = PARAMETERS_NEEDED if evidence.network.level != "parameters" else evidence.no_quilts
    refusal = refusal or evidence.covers(frozenset())
    if refusal is not None:
        raise refusal.error()
    given = {} if worth is None else dict(worth)
    checks.subset("the columns that have a worth", given, framework.schema.columns, error=ParameterError)
    weights = {
        name: checks.not_negative(f"the worth of {name!r}", given.get(name, 1.0)) for name in framework.schema.columns
    }
    search = _Search(evidence=evidence, epsilon=level, worth=weights)
    proven, complete = search.run(MOST_LOOKED_AT if limit is None else checks.whole("limit", limit))
    return OpenColumns(
        framework=framework,
        epsilon=level,
        sets=search.sets(),
        complete=complete,
        best_is_proven=proven,
        alone=search.alone,
        worth=weights,
        assumptions=evidence.assumptions,
        notes=tuple(search.notes),
    )


MOST_FOR_REPORT = 400
"""What a report lets the search look at: about a third of a second."""


def columns_for_report(framework: object, epsilon: float) -> OpenColumns | None:
    """What a report says of columns that may go out; None where the secrets are no parameters of a network."""
    try:
        return open_columns(cast(DistributionalAttributePrivacy, framework), epsilon, limit=MOST_FOR_REPORT)
    except RefusedError:
        return None


# --------------------------------------------------------------------------------------------------
# The search for all maximal sets: a set that tells too much holds a smallest one that does, and every set that may go
# out leaves out one of its columns.
# --------------------------------------------------------------------------------------------------

MOST_LOOKED_AT = 4_000
"""The most influences and branches that are looked at, by default."""

CELLS_EACH = 2**15
"""Table cells that each of them may fill on average: 2^27 in all, about four seconds, by default."""

LARGEST_SHARE = 2**-4
"""The share of all these cells that one influence may take: what needs more is passed over."""

ESTIMATE_COSTS = 50
"""An influence that is an estimate takes a quadrature, as long as so many tables."""

UNPROVED = "Some influences are bounds, estimates or too large: a set that was passed over might be within epsilon too."


class _SearchEndsError(Exception):
    """The work that a search may take is done."""


@dataclass(kw_only=True)
class _Search:
    """The search for all maximal sets of columns within epsilon.

    Parameters
    ----------
    evidence : Influences
    epsilon : float
    worth : mapping from str to float
        Of every column of the table.
    """

    evidence: Influences
    epsilon: float
    worth: Mapping[str, float]
    alone: dict[str, Influence | Refusal] = field(default_factory=dict[str, "Influence | Refusal"])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    _left: float = math.inf
    _cells: float = math.inf
    _most_cells: float = math.inf
    _told: dict[ColumnSet, tuple[Influence, ...] | None] = field(
        default_factory=dict[ColumnSet, "tuple[Influence, ...] | None"]
    )
    _conflicts: list[ColumnSet] = field(default_factory=list[ColumnSet])
    _found: list[ColumnSet] = field(default_factory=list[ColumnSet])

    def run(self, limit: int) -> tuple[bool, bool]:
        """Search; return whether the best set is proven, and whether all sets were found."""
        for name in self.worth:
            self.alone[name] = self._alone(name)
        self._cells = limit * CELLS_EACH
        self._most_cells = self._cells * LARGEST_SHARE
        proven = self._walk(limit / 2, only_better=True)
        complete = self._walk(limit / 2, only_better=False)
        certain = UNPROVED not in self.notes
        return certain and (proven or complete), certain and complete

    def sets(self) -> tuple[OpenSet, ...]:
        """The sets that were found, the best first."""
        made = [
            OpenSet(columns=each, influences=self._told[each] or (), worth=self._worth(each)) for each in self._found
        ]
        return tuple(sorted(made, key=lambda each: (-each.worth, float(each.worst), sorted(each.columns))))

    def _alone(self, name: str) -> Influence | Refusal:
        """What a column tells alone, or why it never goes out."""
        column = frozenset({name})
        refusal = self.evidence.covers(column)
        direct = [each for each in self.evidence.secrets if self.evidence.driven(column, each)]
        if refusal is None and direct:
            refusal = Refusal(
                required="a column that goes out must not be driven by a protected attribute itself",
                found=f"{name!r}, driven by {checks.listing(direct)}",
                remedy="Draw it from the model given the others, or leave it out.",
            )
        if refusal is None:
            told = self._influences(column, stop=False)
            refusal = told if isinstance(told, Refusal) else None
            if not isinstance(told, Refusal):
                within = all(float(each) <= self.epsilon for each in told)
                self._told[column] = told if within else None
                return max(told, key=float)
        self._told[column] = None
        return cast(Refusal, refusal)

    @cached_property
    def _candidates(self) -> tuple[str, ...]:
        """The columns that may go out alone, those first that tell least for their worth."""
        named = [name for name in self.alone if self._told[frozenset({name})] is not None]
        return tuple(sorted(named, key=lambda name: (self._price(name), -self.worth[name], name)))

    def _price(self, name: str) -> float:
        told = float(cast(Influence, self.alone[name]))
        return told / self.worth[name] if self.worth[name] else math.inf if told else 0.0

    def _worth(self, columns: ColumnSet) -> float:
        return math.fsum(self.worth[name] for name in columns)

    def _walk(self, limit: float, *, only_better: bool) -> bool:
        """Look at all sets, or at those alone that are worth more than the best so far; False if that is too much.

        Every branch holds the sets between two. Where the larger one tells too much, a smallest part of it that does
        is split up: its first column stays out, or it is in and the second stays out, and so on.
        """
        todo: list[tuple[ColumnSet, ColumnSet]] = [(frozenset(), frozenset(self._candidates))]
        try:
            self._add(frozenset())  # one set to start with, whatever may be looked at after it
            self._left = limit
            while todo:
                self._spend(1)
                inside, within = todo.pop()
                best = max(map(self._worth, self._found))
                if (only_better and self._worth(within) <= best) or any(within <= each for each in self._found):
                    continue
                if self._allowed(within):
                    self._add(within)
                    continue
                conflict = self._conflict(inside, within)
                # what tells most for its worth is left out first
                split = [name for name in reversed(self._candidates) if name in conflict - inside]
                branches = [(inside.union(split[:k]), within - {name}) for k, name in enumerate(split)]
                todo += reversed(branches)
        except _SearchEndsError:
            return False
        return True

    def _add(self, columns: ColumnSet) -> None:
        """Add a set that may go out, with every column that may still join it."""
        try:
            self._allowed(columns)  # also of the empty set it is to be known what it tells
            for name in self._candidates:
                if name not in columns and self._allowed(columns | {name}):
                    columns |= {name}
        finally:
            if not any(columns <= each for each in self._found):
                self._found.append(columns)

    def _conflict(self, inside: ColumnSet, within: ColumnSet) -> ColumnSet:
        """A smallest part of a set that tells too much: without any one of its columns it would not."""
        known = [each for each in self._conflicts if each <= within]
        if known:
            return min(known, key=lambda each: len(each - inside))
        kept, rest = frozenset[str](), [name for name in reversed(self._candidates) if name in within]
        while self._allowed(kept):
            grown = kept
            for place, name in enumerate(rest):
                grown |= {name}
                if not self._allowed(grown):
                    kept, rest = kept | {name}, rest[:place]
                    break
        self._conflicts.append(kept)
        return kept

    def _allowed(self, columns: ColumnSet) -> bool:
        """Whether columns tell at most epsilon together about every protected attribute."""
        if columns not in self._told:
            # a set that holds one that tells too much does so too
            conflict = any(each <= columns for each in self._conflicts)
            told = None if conflict else self._influences(columns, stop=True)
            self._told[columns] = None if isinstance(told, Refusal) else told
        return self._told[columns] is not None

    def _influences(self, columns: ColumnSet, *, stop: bool) -> tuple[Influence, ...] | Refusal | None:
        """What columns tell about each attribute; with `stop` None as soon as one is more than epsilon."""
        found: list[Influence] = []
        for attribute in self.evidence.secrets:
            cells = self.evidence.work(columns, attribute)[0]
            if stop and cells > self._most_cells:
                self.notes[UNPROVED] = None
                return None
            self._spend(1, cells)
            try:
                told = self.evidence.influence(columns, attribute)
            except BnprivError as error:
                self.notes[UNPROVED] = None
                return Refusal.of(error)
            if told.kind == "estimate":
                self._spend(ESTIMATE_COSTS)
            if float(told) > self.epsilon and told.kind != "exact":
                self.notes[UNPROVED] = None
            if stop and float(told) > self.epsilon:
                return None
            found.append(replace(told, columns=columns))
        return tuple(found)

    def _spend(self, steps: int, cells: int = 0) -> None:
        self._left -= steps
        self._cells -= cells
        if self._left < 0 or self._cells < 0:
            raise _SearchEndsError
