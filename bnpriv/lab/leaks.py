"""Which attributes a query talks about, read or not, and how much."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bnpriv.checks import closest, member
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.protected import pairs_secret
from bnpriv.core.frameworks.question import Framework, require_query
from bnpriv.core.influence.base import Influence, influence_of
from bnpriv.core.networks.base import Level, Network, drivers, modelled, require_network
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import by_own_names, usual_pairs
from bnpriv.errors import NetworkError, Refusal, SizeError
from bnpriv.kind import is_framework
from bnpriv.kinds.report_target import ReportTarget, subject_of
from bnpriv.progress import progress, tracked
from bnpriv.render.document import Cell, Code, Document, Inline, Name, Names, Paragraph, Table, json_number
from bnpriv.render.figures import axes, influence_bar, label
from bnpriv.render.html import Html
from bnpriv.shown import Shown
from bnpriv.text import and_text, by_times, name_text, number_text, times_text, upper_chance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


LEAK_FACTS = ("kind", "read", "belief", "reached")
"""What a frame and JSON say of an attribute beside its influence."""


@dataclass(frozen=True, kw_only=True)
class Leak:
    """How much a query can tell about one attribute.

    Parameters
    ----------
    attribute : str
    read : bool
        Whether the query reads it; then nothing bounds what it tells.
    influence : Influence or None
        Of the other queried columns; None if the query reads the attribute, if it has one state, or if the table would
        be too large.
    nats : float
        The influence in nats; infinite if the query reads the attribute or the influence is not known; NaN if none of
        the attribute's pairs of secrets is possible, or none is declared, so that there is nothing to tell.
    delta : float or None
        Where the influence is infinite, how improbable more than 1 nat is; None where that is not known.
    others : Influence or None
        What the other values of a column tell about one of them, where records depend on each other.
    stands_in : bool
        Whether it is about values that stand in for secrets, as none are declared.
    chosen_pairs : bool
        Whether it is about chosen pairs of secrets instead of all pairs of states.
    bounds_belief : bool
        Whether it is about all pairs of the attribute's secrets, and so bounds beliefs, not only the odds between two
        secrets of a chosen pair.
    """

    attribute: str
    read: bool
    influence: Influence | None
    nats: float
    delta: float | None = None
    others: Influence | None = None
    stands_in: bool = False
    chosen_pairs: bool = False
    bounds_belief: bool = True

    @property
    def kind(self) -> str:
        """How well the influence is known."""
        return "exact" if self.influence is None else self.influence.kind

    @property
    def belief(self) -> float | None:
        """Return what a belief of 10 % in a state can become at most; None where only odds are bounded."""
        return odds.belief(odds.PRIOR, self.nats) if self.bounds_belief and not math.isnan(self.nats) else None

    @property
    def moved_text(self) -> str:
        """Return the same in words."""
        if math.isnan(self.nats):
            return "-"
        if self.bounds_belief:
            return odds.belief_text(odds.PRIOR, self.nats)
        return "no bound"

    @property
    def reached(self) -> str:
        """Return in words how the most is told."""
        if self.read:
            told = "" if self.others is None else f"; the other values move the odds {by_times(float(self.others))}"
            return f"the query reads it{told}"
        if self.influence is None and math.isnan(self.nats):
            return "no secrets of it are declared"
        if self.influence is None:
            return "it has one state" if self.nats == 0 else "not known: the table would be too large"
        if self.influence.pair is None:
            return "no two of its states are possible"
        if not self.influence.frontier:
            return "no path leads to it"
        left_out = "; pairs with an impossible state left out" if self.influence.dropped else ""
        if self.influence.mu is not None:
            return f"no bound: normal distributions {number_text(self.influence.mu)} deviations apart"
        if self.influence.unknown is not None:
            return f"not known: {self.influence.unknown.found}"
        if not self.influence.assignment:
            return f"{'an estimate' if self.influence.kind == 'estimate' else 'an upper bound'}{left_out}"
        seen = ", ".join(f"{name} = {state}" for name, state in self.influence.assignment.items())
        return f"{seen} for {self.influence.pair}{left_out}"


@dataclass(frozen=True, kw_only=True)
class Leaks(Shown):
    """What a query tells about every attribute of a network, the most first; print it.

    Parameters
    ----------
    query : Query
    rows : tuple of Leak
    level : {"parameters", "records"}
        What the attributes are: parameters of columns, or the values in one record.
    single : tuple of Influence
        What each column of one record tells about which of several distributions holds, the most first; empty where
        that is not the secret.
    records : int
        The number of records, where the secret is about all of them and the rows about one; else 1.
    beside : str
        Which models the rows leave out; empty if none.
    """

    query: Query
    rows: tuple[Leak, ...]
    level: Level = "parameters"
    single: tuple[Influence, ...] = ()
    records: int = 1
    beside: str = ""

    def __getitem__(self, attribute: str) -> Leak:
        """Return the row of an attribute.

        Raises
        ------
        NetworkError
            If it is not one of the network.
        """
        found = {row.attribute: row for row in self.rows}
        return found[member("an attribute", attribute, found, error=NetworkError)]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per attribute: influence in nats, its kind, whether it is read, the belief, how."""
        import pandas as pd

        return pd.DataFrame(
            {
                "attribute": [row.attribute for row in self.rows],
                "influence": [row.nats for row in self.rows],
                **{fact: [getattr(row, fact) for row in self.rows] for fact in LEAK_FACTS},
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar per attribute; hatched and as long as the axis where nothing bounds what the query tells.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        rows = self.rows[::-1]  # bars are stacked upwards
        longest = max((row.nats for row in rows if math.isfinite(row.nats)), default=0.0) or 1.0
        lengths = [0.0 if math.isnan(row.nats) else min(row.nats, 1.15 * longest) for row in rows]
        bars = drawn.barh(range(len(rows)), lengths, color="tab:blue")
        drawn.set_yticks(range(len(rows)), [label(row.attribute) for row in rows])
        for row, bar in zip(rows, bars, strict=True):
            if math.isinf(row.nats):
                bar.set(hatch="//", facecolor="tab:red")
        drawn.set_xlabel("the log odds move by at most so many nats (hatched: not bounded)")
        drawn.set_title(label(f"what {self.query} tells"))
        return drawn

    @property
    def document(self) -> Document:
        """Return what is told about every attribute, the most first."""
        longest = max((row.nats for row in self.rows if math.isfinite(row.nats)), default=1.0)
        more = len(self.rows) - LEAKS_PRINTED
        what = "an exact answer tells about every attribute" if self.records == 1 else "one record's columns tell"
        rows: list[tuple[tuple[Name], Cell, str, str]] = []
        for row in self.rows:
            rare = "" if row.delta is None else f" (delta {upper_chance(row.delta)})"
            nats = Cell("-") if math.isnan(row.nats) else _cell(row.nats, longest, row.attribute, rare)
            rows.append(((Name(row.attribute),), nats, row.moved_text, row.reached))
        table = Table(
            caption=f"What {what}, the most first",
            header=("attribute", "odds move by at most", "10 % becomes", "reached at"),
            rows=rows,
            numbers=(2,),
        )
        return Document(
            kind="leaks",
            headline=("What ", Code(str(self.query)), " tells"),
            lead=("It reads ", Names(tuple(self.query.columns)), "."),
            short=(
                *(leak_line(row) for row in self.rows[: LEAKS_PRINTED + (more == 1)]),
                *((f"and {more:,} more attributes, about which no more is told",) if more > 1 else ()),
                f"That is what {'an exact answer' if self.records == 1 else 'one record'} tells; noise tells less.",
                "Next: bp.plan(framework, query, epsilon) finds the noise that hides it.",
            ),
            answer=(table, *self._columns(), *map(Paragraph, self._notes())),
            data={
                "query": str(self.query),
                "attributes": [
                    {
                        "name": row.attribute,
                        "nats": json_number(row.nats),
                        "delta": row.delta,
                        **{fact: getattr(row, fact) for fact in LEAK_FACTS},
                    }
                    for row in self.rows
                ],
                "columns": [{"name": min(told.columns), "nats": json_number(float(told))} for told in self.single],
            },
        )

    def _columns(self) -> tuple[Table, ...]:
        if not self.single:
            return ()
        longest = max((float(told) for told in self.single if math.isfinite(float(told))), default=1.0)
        return (
            Table(
                caption=f"What one column of one record tells about {self.single[0].protected}",
                header=("column", "odds move by at most"),
                rows=[
                    ((Name(name),), _cell(float(told), longest, name)) for told in self.single for name in told.columns
                ],
            ),
        )

    def _notes(self) -> tuple[str, ...]:
        known = any(row.delta is not None for row in self.rows)
        rare = (
            ("Where no factor bounds the odds, delta says how improbable more than 2.72 times (1 nat) is.",)
            if known
            else ()
        )
        stand_in = tuple(
            f"Of {name_text(row.attribute)} {row.influence.pairs[0]} are meant, as no secrets of it are declared."
            for row in self.rows
            if row.stands_in and row.influence is not None
        )
        chosen = [name_text(row.attribute) for row in self.rows if row.chosen_pairs]
        pairs = (f"Of {and_text(chosen)} only the protected pairs of secrets are meant.",) if chosen else ()
        unbounded = [name_text(row.attribute) for row in self.rows if not row.bounds_belief]
        beliefs = (f"No belief about {and_text(unbounded)} is bounded by them.",) if unbounded else ()
        return (self._told(), *rare, *pairs, *stand_in, *beliefs, *filter(None, [self.beside]))

    def _told(self) -> str:
        states = "states of an attribute" if self.level == "parameters" else "values of an attribute in one record"
        belief = "a belief of 10 % in one of them becomes at most what stands beside it."
        if self.records == 1:
            return (
                f"An exact answer moves the odds between two {states} by at most so many times; {belief} A "
                "guarantee speaks of its epsilon instead, which may allow more than an exact answer tells."
            )
        return (
            "The queried columns of one record move the odds between two distributions by at most so many times; "
            f"{belief} Of all {self.records:,} records together the nats are at most {self.records:,} times as many."
        )


def leak_line(row: Leak) -> tuple[Inline, ...]:
    """What is told about an attribute, in a line of what is printed."""
    if math.isnan(row.nats):
        return Name(row.attribute), f": {row.reached}"
    if math.isinf(row.nats):
        return Name(row.attribute), f": no bound; {row.reached}"
    belief = f", 10 % becomes at most {row.moved_text}" if row.bounds_belief and row.nats else ""
    return Name(row.attribute), f": the odds move {by_times(row.nats)}{belief}."


def _cell(nats: float, longest: float, name: str, more: str = "") -> Cell:
    bar = influence_bar(nats, longest, title=f"What is told about {name}") if nats else Html()
    return Cell(times_text(nats) + more, drawing=bar)


LEAKS_PRINTED = 4
"""Attributes that are printed."""


def leaks(model: Network | Framework, query: Query | str) -> Leaks:
    """Find out which attributes a query talks about, and how much.

    Parameters
    ----------
    model : network or framework
        Of any kind. A framework adds columns that are declared independent, and the pairs of secrets that it protects.
    query : Query or str
        What is to be asked.

    Returns
    -------
    Leaks
        For every attribute the influence of the queried columns other than itself, the largest first; infinite for an
        attribute that the query reads, NaN for one none of whose pairs of secrets is possible or declared.

    Raises
    ------
    NetworkError
        If the query reads a column that is no node of the network.
    RefusedError
        If it reads a column that a framework neither has as a node nor declares independent, if all secrets of an
        attribute that the framework protects are impossible, or if laws of an answer are declared without a network:
        they name no columns.

    Notes
    -----
    Influence as in `max_influence`. It bounds what an exact answer can tell, whatever is computed from the columns.

    Secrets that a framework protects count as declared. Of other attributes all pairs of states are meant; of those of
    a linear-Gaussian network two values one standard deviation apart; of a parameter with a density nothing, unless it
    has states. No factor bounds the odds between normal laws that differ: there `Leak.delta` says how improbable more
    than 1 nat is.

    Over records the rows are about the values in one record, also where a property of the whole table is hidden
    (`DatasetAttributePrivacy`), of which more may be told. Which of several record networks holds
    (`DistributionPrivacy`) is one row, about one record, with what each column alone tells.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = leaks(bp.example("student").network, bp.count(bp.col("height") > 180))
    >>> [(row.attribute, round(row.nats, 3)) for row in found.rows][:2]
    [('height', inf), ('weight', 2.032)]
    """
    if is_framework(model):
        subject = subject_of(cast("Framework", model), None)
        query = require_query(cast("Framework", model), query)
    else:
        require_network(model)
        query = by_own_names(cast("Network", model), as_query(query))
        subject = ReportTarget(network=cast("Network", model), secrets={}, protected=(), source=None)
    network, framework = subject.network, subject.framework
    refusal = subject.without if network is None else subject.covers(query.columns)
    if framework is not None:
        refusal = refusal or impossibility(framework)
    elif network is not None and refusal is not None:
        known = modelled(network, query.columns)
        near = closest(min(query.columns - known), (*network.attributes, *network.reading.columns))
        add = "Add it, or pass a framework that declares it independent."
        raise NetworkError(refusal.required, found=refusal.found, remedy=f"Did you mean {near!r}?" if near else add)
    if network is None or refusal is not None:
        assert refusal is not None
        raise refusal.error()
    columns = drivers(network, query.columns)
    names, single, records = network.attributes, list[Influence](), 1
    if subject.of_distributions and framework is not None:
        # one row, about one record: which distribution holds, and what each column alone tells of it
        ((name, pairs),) = subject.secrets.items()
        names, records = (name,), framework.schema.records
        single = [influence_of(network, {other}, name, pairs) for other in network.attributes if other != name]
    with progress("computing influences"):
        rows = [_leak(subject, network, columns, name) for name in tracked(names, f"{len(names):,} columns")]
    return Leaks(
        query=query,
        rows=tuple(sorted(rows, key=_rank)),
        level=network.level,
        single=tuple(sorted(single, key=lambda told: (-float(told), min(told.columns)))),
        records=records,
        beside=subject.beside,
    )


def _leak(subject: ReportTarget, network: Network, columns: frozenset[str], attribute: str) -> Leak:
    usual = usual_pairs(network, attribute)
    pairs = subject.secrets.get(attribute, usual)
    read, has_states = attribute in columns, attribute in network.states
    influence, others, delta = None, None, None
    if not pairs and (has_states or not read):
        nats = 0.0 if has_states else math.nan
    else:
        nats = math.inf
        with suppress(SizeError):  # then it is not known
            if not read:
                influence = influence_of(network, columns, attribute, pairs)
            elif len(network.attributes) == 1 and pairs:  # what the other values of a column tell about one
                with suppress(NetworkError):
                    others = influence_of(network, {attribute}, attribute, pairs)
    if influence is not None:
        nats = math.nan if influence.pair is None else float(influence)
        rare = influence.delta(1.0) if not math.isfinite(float(influence)) else None
        delta = None if isinstance(rare, Refusal) else rare
    return Leak(
        attribute=attribute,
        read=read,
        influence=influence,
        nats=nats,
        delta=delta,
        others=others,
        stands_in=bool(pairs) and attribute not in subject.secrets and not has_states,
        chosen_pairs=attribute in subject.secrets and set(pairs) != set(usual),
        bounds_belief=not pairs or pairs_secret(network, attribute, attribute, pairs).bounds_belief,
    )


def _rank(row: Leak) -> tuple[bool, float, bool, float, str]:
    rare = 1.0 if row.delta is None else row.delta
    return math.isnan(row.nats), 0.0 if math.isnan(row.nats) else -row.nats, not row.read, -rare, row.attribute
