"""Which attributes a query talks about, read or not, and how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from bnpriv.checks import closest, listing, member
from bnpriv.errors import FrameworkError, NetworkError, Refusal, SizeError
from bnpriv.evidence import impossibility, influences
from bnpriv.frameworks import (
    DatasetAttributePrivacy,
    DistributionalAttributePrivacy,
    DistributionPrivacy,
    Framework,
    ValuePrivacy,
    odds,
)
from bnpriv.influence.base import Influence, influence_of
from bnpriv.networks import Level, Network, drivers
from bnpriv.networks.foreign import require_network
from bnpriv.queries import Query, as_query
from bnpriv.render import Document, Json, Shown
from bnpriv.render.bars import influence_bar
from bnpriv.render.document import Cell, Code, Name, Names, Paragraph, Table
from bnpriv.render.html import Html
from bnpriv.render.plotting import axes, label
from bnpriv.render.text import and_text, name_text, nats_text, number_text
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.states import all_pairs

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
        if self.influence.mu is not None:
            return f"no bound: normal laws {number_text(self.influence.mu)} deviations apart"
        if self.influence.unknown is not None:
            return f"not known: {self.influence.unknown.found}"
        if not self.influence.assignment:
            return f"{'an estimate' if self.influence.kind == 'estimate' else 'an upper bound'}{left_out}"
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
    level : {"parameters", "records"}
        What the attributes are: parameters of columns, or the values in one record.
    """

    query: Query
    rows: tuple[Leak, ...]
    level: Level = "parameters"

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
        states = "states of an attribute" if self.level == "parameters" else "values of an attribute in one record"
        told = (
            f"An exact answer moves the log odds between two {states} by at most so many nats; "
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


def leaks(model: Network | Framework, query: Query | str) -> Leaks:
    """Find out which attributes a query talks about, and how much.

    Parameters
    ----------
    model : network or framework
        A network whose attributes have states; a framework adds columns that are declared independent, and the pairs of
        secrets that it protects. Of attributes that may be any number only those that a framework protects are told of.
    query : Query or str
        What is to be asked.

    Returns
    -------
    Leaks
        For every attribute the influence of the queried columns other than itself, the largest first; infinite for an
        attribute that the query reads, NaN for one none of whose pairs of secrets is possible. What a framework hides
        of a whole table (`DatasetAttributePrivacy`) is no attribute: the rows are about the values in one record.

    Raises
    ------
    FrameworkError
        If the model is a framework of pairs of distributions, which are no attributes.
    NetworkError
        If the query reads a column that is no node of the network, or no attribute has states or protected secrets.
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
    query = as_query(query)
    network, chosen, whole = _declared(model, query)
    names = [name for name in network.attributes if name in chosen or name in network.states]
    if not names:
        raise NetworkError(
            "what is told of attributes that may be any number depends on their secrets",
            found=f"{network.kind_text} alone",
            remedy="Pass a framework that protects one of them.",
        )
    columns = drivers(network, query.columns)
    rows: list[Leak] = []
    for name in names:
        every = all_pairs(network.states[name]) if name in network.states else ()
        row = _leak(network, columns, name, chosen.get(name, every))
        some = name in chosen and set(chosen[name]) != set(every)
        rows.append(replace(row, chosen_pairs=some, bounds_belief=name not in chosen or name in whole))
    return Leaks(query=query, rows=tuple(sorted(rows, key=_rank)), level=network.level)


def _declared(
    model: Network | Framework, query: Query
) -> tuple[Network, Mapping[str, tuple[Pair, ...]], frozenset[str]]:
    """Return the network, the chosen pairs of secrets, and the attributes whose pairs bound beliefs."""
    if isinstance(model, DistributionPrivacy):
        raise FrameworkError(
            "what a query tells about attributes needs a network of attributes",
            found="pairs of distributions",
            remedy="Use `influence_report` or `plan`, which say how far apart the laws of the answer are.",
        )
    if isinstance(model, (DistributionalAttributePrivacy, ValuePrivacy)):
        evidence = influences(model)
        refusal = evidence if isinstance(evidence, Refusal) else evidence.covers(query.columns)
        if refusal is not None:
            raise refusal.error()
        whole = frozenset(secret.attribute for secret in model.protected_secrets if secret.bounds_belief)
        return model.network, model.secrets, whole
    network = model.network if isinstance(model, DatasetAttributePrivacy) else model
    require_network(network)
    impossible = impossibility(model)
    if impossible is not None:
        raise impossible.error()
    strange = sorted(query.columns.difference(network.attributes, network.reading.columns))
    if strange:
        raise NetworkError(
            "every queried column must be a node of the network",
            found=listing(strange),
            remedy=_remedy(strange[0], network),
        )
    return network, {}, frozenset()


def _remedy(name: str, network: Network) -> str:
    near = closest(name, (*network.attributes, *network.reading.columns))
    return "Add it, or pass a framework that declares it independent." if near is None else f"Did you mean {near!r}?"


def _leak(network: Network, columns: frozenset[str], attribute: str, pairs: Sequence[Pair]) -> Leak:
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
