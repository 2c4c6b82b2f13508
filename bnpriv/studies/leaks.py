"""Which attributes a query talks about, read or not, and how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from bnpriv.checks import closest, listing
from bnpriv.errors import NetworkError, Refusal, SizeError
from bnpriv.evidence import influences
from bnpriv.frameworks import DistributionalAttributePrivacy, bounds_belief, odds, of_parameters
from bnpriv.influence.base import Influence, influence_of
from bnpriv.networks import DiscreteNetwork, IntervalNetwork, Network, drivers
from bnpriv.queries import Query, as_query
from bnpriv.render import Document, Json, Shown
from bnpriv.render.bars import influence_bar
from bnpriv.render.document import Cell, Code, Name, Names, Paragraph, Table
from bnpriv.render.html import Html
from bnpriv.render.plotting import axes, label
from bnpriv.render.text import and_text, name_text, nats_text
from bnpriv.secrets.states import SecretPair, all_pairs, of_states

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@final
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
        the attribute's pairs of secrets is possible, so that there is nothing to tell.
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
    chosen_pairs: bool = False
    bounds_belief: bool = True

    @property
    def belief(self) -> float | None:
        """Return what a belief of 10 % in a state can become at most; None where only odds are bounded."""
        return odds.belief(odds.PRIOR, self.nats) if self.bounds_belief and not math.isnan(self.nats) else None

    @property
    def moved_text(self) -> str:
        """Return the same in words, or the factor by which odds can move."""
        if math.isnan(self.nats):
            return "-"
        if self.bounds_belief:
            return odds.belief_text(odds.PRIOR, self.nats)
        return f"odds times {odds.factor_text(self.nats)}"

    @property
    def reached(self) -> str:
        """Return in words how the most is told."""
        if self.read:
            return "the query reads it"
        if self.influence is None:
            return "it has one state" if self.nats == 0 else "not known: the table would be too large"
        if self.influence.pair is None:
            return "no two of its states are possible"
        if not self.influence.frontier:
            return "no path leads to it"
        left_out = "; pairs with an impossible state left out" if self.influence.dropped else ""
        if not self.influence.assignment:
            return f"an upper bound{left_out}"
        seen = ", ".join(f"{name} = {state}" for name, state in self.influence.assignment.items())
        return f"{seen} for {self.influence.pair}{left_out}"


@final
@dataclass(frozen=True, kw_only=True)
class Leaks(Shown):
    """What a query tells about every attribute of a network, the most first; print it.

    Parameters
    ----------
    query : Query
    rows : tuple of Leak
    """

    query: Query
    rows: tuple[Leak, ...]

    def __getitem__(self, attribute: str) -> Leak:
        """Return the row of an attribute.

        Raises
        ------
        NetworkError
            If it is not one of the network.
        """
        for row in self.rows:
            if row.attribute == attribute:
                return row
        names = listing(row.attribute for row in self.rows)
        raise NetworkError(f"an attribute must be one of {names}", found=repr(attribute), remedy="Check the spelling.")

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per attribute: influence in nats, its kind, whether it is read, the belief, how."""
        import pandas as pd

        return pd.DataFrame(
            {
                "attribute": [row.attribute for row in self.rows],
                "influence": [row.nats for row in self.rows],
                "kind": ["exact" if row.influence is None else row.influence.kind for row in self.rows],
                "read": [row.read for row in self.rows],
                "belief": [row.belief for row in self.rows],
                "reached": [row.reached for row in self.rows],
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
        drawn.set_xlabel("influence in nats (hatched: not bounded)")
        drawn.set_title(label(f"what {self.query} tells"))
        return drawn

    @property
    def document(self) -> Document:
        """Return what is told about every attribute, the most first."""
        longest = max((row.nats for row in self.rows if math.isfinite(row.nats)), default=1.0)
        table = Table(
            caption="What an exact answer tells about every attribute, the most first",
            header=("attribute", "nats", "10 % becomes", "reached at"),
            rows=[((Name(row.attribute),), _nats(row, longest), row.moved_text, row.reached) for row in self.rows],
            numbers=(1, 2),
        )
        return Document(
            kind="leaks",
            kicker="bnpriv leaks",
            headline=("What ", Code(str(self.query)), " tells"),
            lead=("It reads ", Names(tuple(self.query.columns)), "."),
            answer=(table, *map(Paragraph, self._notes())),
            data={"query": str(self.query), "attributes": [_data(row) for row in self.rows]},
        )

    def _notes(self) -> tuple[str, ...]:
        told = (
            "An exact answer moves the log odds between two states of an attribute by at most so many nats; "
            "a belief of 10 % in one of them becomes at most what stands beside it."
        )
        chosen = [name_text(row.attribute) for row in self.rows if row.chosen_pairs]
        pairs = (f"Of {and_text(chosen)} only the protected pairs of secrets are meant.",) if chosen else ()
        unbounded = [name_text(row.attribute) for row in self.rows if not row.bounds_belief]
        beliefs = (f"No belief about {and_text(unbounded)} is bounded by them.",) if unbounded else ()
        return (told, *pairs, *beliefs)


def _nats(row: Leak, longest: float) -> Cell:
    if math.isnan(row.nats):
        return Cell("-")
    bar = influence_bar(row.nats, longest, title=f"What is told about {row.attribute}") if row.nats else Html()
    return Cell(nats_text(row.nats), drawing=bar)


def _data(row: Leak) -> Json:
    return {
        "name": row.attribute,
        "nats": None if math.isnan(row.nats) else "inf" if math.isinf(row.nats) else row.nats,
        "kind": "exact" if row.influence is None else row.influence.kind,
        "read": row.read,
        "belief": row.belief,
        "reached": row.reached,
    }


def leaks(model: Network | DistributionalAttributePrivacy, query: Query | str) -> Leaks:
    """Find out which attributes a query talks about, and how much.

    Parameters
    ----------
    model : DiscreteNetwork, IntervalNetwork or DistributionalAttributePrivacy
        A network; a framework adds columns that are declared independent, and the pairs of secrets that it protects.
    query : Query or str
        What is to be asked.

    Returns
    -------
    Leaks
        For every attribute the influence of the queried columns other than itself, the largest first; infinite for an
        attribute that the query reads, NaN for one none of whose pairs of secrets is possible.

    Raises
    ------
    NetworkError
        If the query reads a column that is no node of the network.
    RefusedError
        If it reads a column that a framework neither has as a node nor declares independent, or if all secrets of an
        attribute that the framework protects are impossible.

    Notes
    -----
    Influence as in `max_influence`. It bounds what an exact answer can tell, whatever is computed from the columns.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = leaks(bp.example("student").network, bp.count(bp.col("height") > 180))
    >>> [(row.attribute, round(row.nats, 3)) for row in found.rows][:2]
    [('height', inf), ('weight', 2.032)]
    """
    if not isinstance(model, (DiscreteNetwork, IntervalNetwork)):
        of_parameters(model, "the leak of a query")
    query = as_query(query)
    if isinstance(model, (DiscreteNetwork, IntervalNetwork)):
        network, chosen = model, dict[str, tuple[SecretPair, ...]]()
        strange = sorted(query.columns.difference(network.attributes, network.reading.columns))
        if strange:
            raise NetworkError(
                "every queried column must be a node of the network",
                found=listing(strange),
                remedy=_remedy(strange[0], network),
            )
    else:
        network = model.discrete
        chosen = {name: of_states(pairs) for name, pairs in model.secrets.items()}
        evidence = influences(model)
        refusal = evidence if isinstance(evidence, Refusal) else evidence.covers(query.columns)
        if refusal is not None:
            raise refusal.error()
    columns = drivers(network, query.columns)
    rows = [
        replace(
            _leak(network, columns, name, chosen.get(name) or all_pairs(network.states[name])),
            chosen_pairs=name in chosen and set(chosen[name]) != set(all_pairs(network.states[name])),
            bounds_belief=name not in chosen or bounds_belief(chosen[name], network.states[name]),
        )
        for name in network.attributes
    ]
    return Leaks(query=query, rows=tuple(sorted(rows, key=_rank)))


def _remedy(name: str, network: Network) -> str:
    near = closest(name, (*network.attributes, *network.reading.columns))
    return "Add it, or pass a framework that declares it independent." if near is None else f"Did you mean {near!r}?"


def _leak(network: Network, columns: frozenset[str], attribute: str, pairs: Sequence[SecretPair]) -> Leak:
    if not pairs:
        return Leak(attribute=attribute, read=attribute in columns, influence=None, nats=0.0)
    if attribute in columns:
        return Leak(attribute=attribute, read=True, influence=None, nats=math.inf)
    try:
        influence = influence_of(network, columns, attribute, pairs)
    except SizeError:
        return Leak(attribute=attribute, read=False, influence=None, nats=math.inf)
    nats = math.nan if influence.pair is None else float(influence)
    return Leak(attribute=attribute, read=False, influence=influence, nats=nats)


def _rank(row: Leak) -> tuple[bool, float, bool, str]:
    return math.isnan(row.nats), -row.nats, not row.read, row.attribute
