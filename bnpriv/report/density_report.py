"""The report of a network of densities: what columns tell by quadrature, how that was found, and what it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import final

from bnpriv.checks import listing
from bnpriv.errors import BnprivError, Refusal
from bnpriv.frameworks import observer_text
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.density.influence import unknown_because
from bnpriv.influence.quilts import MarkovQuilt, markov_quilts
from bnpriv.mechanisms.pages import from_whom
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.verdict import verdict_text
from bnpriv.networks import DensityNetwork, drivers
from bnpriv.queries.base import Query
from bnpriv.render import Json, html
from bnpriv.render.chart import line_chart
from bnpriv.render.graph import network_html
from bnpriv.render.text import and_text, name_text, number_text, set_text
from bnpriv.render.two_curves import two_curves
from bnpriv.report.parts import Parts, ShortReport, Table, answer_dict
from bnpriv.report.reading import reading_dict, reading_tables
from bnpriv.secrets.values import IntervalPair

FORMAT = "bnpriv density influence report 1"

SHOWN = (0.1, 0.5, 1.0, 2.0)
"""Where curves are tabulated."""

STEPS = 40
FARTHEST = 4.0
"""Where curves are drawn, and how many points of them."""

MOST_COLUMNS = 20
"""Parameters that are looked at alone; a vector may have hundreds."""

MOST_QUILTS = 6
"""Quilts that are looked at: every one takes a quadrature."""

MEANING = (
    "Influence is in nats: seeing the columns moves the log odds between two protected secrets by at most this. Where "
    "it is infinite no factor bounds the odds, but a large factor is improbable: delta says how improbable. These "
    "numbers are estimates by quadrature, on grids that were refined until they did not change; only a 0 that follows "
    "from the graph is exact."
)


@final
@dataclass(frozen=True, kw_only=True)
class DensityAttribute:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of IntervalPair
        What must not be told apart.
    columns : tuple of Influence
        Other parameters alone, the most telling first; one for all that tell the same.
    alike : mapping from str to tuple of str
        For every parameter among `columns` all that tell the same as it, with itself.
    left : int
        Other parameters that were not looked at.
    quilts : tuple of (MarkovQuilt, Influence)
        The least telling first.
    asked : Influence or None
        What drives the queried columns together, the protected one left out; without a query, the most telling
        parameter that is known.
    reads : bool
        Whether the protected parameter itself drives a queried column; without a query, any column.
    """

    protected: str
    pairs: tuple[IntervalPair, ...]
    columns: tuple[Influence, ...]
    alike: Mapping[str, tuple[str, ...]]
    left: int
    quilts: tuple[tuple[MarkovQuilt, Influence], ...]
    asked: Influence | None
    reads: bool = False


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class DensityReport(ShortReport):
    """What leaks about each protected attribute of a network of densities and what noise a query needs.

    Print it for plain text; a notebook shows it by itself.

    Parameters
    ----------
    network : DensityNetwork
    source : str or None
        Where the model comes from.
    attributes : tuple of DensityAttribute
        One per protected attribute.
    assumptions : tuple of str
        What must hold outside the library.
    query : Query or None
    plan : Plan or None
        Every mechanism for the query at the given epsilon and delta.
    """

    network: DensityNetwork
    source: str | None
    attributes: tuple[DensityAttribute, ...]
    assumptions: tuple[str, ...]
    query: Query | None = None
    plan: Plan | None = None

    @property
    def headline(self) -> str:
        """Return what becomes of the query, or what leaks most without one."""
        if self.query is None or self.plan is None or not self.plan.calibrations:
            return self.leak
        best = self.plan.best
        estimate = " (an estimate)" if best.guarantee.kind == "estimate" else ""
        return f"{self.query} {verdict_text(best)}{estimate}."

    @property
    def leak(self) -> str:
        """Return what leaks most."""
        read = [row.protected for row in self.attributes if row.reads]
        if read:
            who = "The queried columns are" if self.query is not None else "Columns are"
            return f"{who} driven by {and_text(sorted(map(name_text, read)))} directly."
        found = [row.asked for row in self.attributes if row.asked is not None and row.asked.columns]
        if not found:
            return "There is no other parameter."
        most = max(found, key=_size)
        names = sorted(map(name_text, most.columns))
        who = and_text(names) if len(names) <= 4 else f"{len(names)} parameters together"
        tell = "tells" if len(names) == 1 else "tell"
        about = name_text(most.protected)
        if float(most) == 0:
            return f"{who} {tell} nothing about {about}."
        if math.isfinite(float(most)):
            return f"{who} {tell} at most {number_text(float(most))} nats about {about} (estimate)."
        delta = _delta(most, 1.0)
        if delta is None:
            return f"Nothing is known to bound what {who} {tell} about {about}."
        return f"{who} {tell} about {about} without bound; delta at epsilon 1 is {number_text(delta)} (estimate)."

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Return (epsilon, delta) of what the queried columns' parameters tell, at the worst protected attribute.

        Empty where nothing bounds it, because a protected parameter drives a queried column itself.
        """
        if self.query is not None and any(row.reads for row in self.attributes):
            return ()
        told = [row.asked for row in self.attributes if row.asked is not None and _tells(row.asked)]
        levels = [FARTHEST * (k + 1) / STEPS for k in range(STEPS)]
        rows = [(level, [delta for each in told if (delta := _delta(each, level)) is not None]) for level in levels]
        return tuple((level, max(deltas)) for level, deltas in rows if deltas)

    def __repr__(self) -> str:
        return f"DensityReport({', '.join(row.protected for row in self.attributes)})"

    def to_dict(self) -> Json:
        """Return the report as plain values; docs/density-report-schema.md names every field."""
        return {
            "format": FORMAT,
            "source": self.source,
            "attributes": list(self.network.attributes),
            "edges": [{"parent": a, "child": b} for a, b in self.network.graph.edges],
            "reading": reading_dict(self.network.reading),
            "query": None if self.query is None else str(self.query),
            "protected": [_attribute(row) for row in self.attributes],
            "curve": [{"epsilon": epsilon, "delta": delta} for epsilon, delta in self.curve],
            "assumptions": list(self.assumptions),
            "answer": answer_dict(self.plan),
        }

    @property
    def parts(self) -> Parts:
        """Return the report without its form."""
        sees = "a statistic of these columns" if self.query is None else "the answer"
        protected = (f"{row.protected}: {listing(row.pairs)} must not be told apart" for row in self.attributes)
        return Parts(
            headline=self.headline,
            lead=MEANING,
            facts=[
                ("What is protected", "; ".join(protected)),
                *([] if self.query is None else [("What leaks", self.leak.rstrip("."))]),
                ("From whom", from_whom(observer_text(1), sees).rstrip(".")),
                ("Model from", "not stated" if self.source is None else self.source),
                *self._unknown(),
            ],
            tables=[table for row in self.attributes for table in _tables(row)] + reading_tables(self.network.reading),
            figures=[*self._curves(), *self._chart(), ("The network", self._drawing())],
            plan=self.plan,
            assumptions=self.assumptions,
        )

    def _unknown(self) -> Iterable[tuple[str, str]]:
        """Yield why nothing is known of what the queried columns tell."""
        for row in self.attributes:
            if row.asked is not None and row.asked.unknown is not None:
                name = name_text(row.protected)
                yield f"Why nothing is known about {name}", row.asked.how.removeprefix("not settled: ").rstrip(".")

    def _drawing(self) -> html.Html:
        network = self.network
        size = f"{len(network.attributes)} parameters, {len(network.graph.edges)} edges"
        return network_html(network.attributes, network.graph.edges, title="Network of densities", facts=size)

    def _curves(self) -> Iterable[tuple[str, html.Html]]:
        for row in self.attributes:
            told = row.asked
            if told is not None and _tells(told) and float(told) > 0:
                name = max(told.frontier, key=lambda each: _alone(row, each))
                drawn = told.conditional(name)
                if isinstance(drawn, Refusal):
                    continue
                yield f"{name} given two secrets", two_curves(drawn)

    def _chart(self) -> Iterable[tuple[str, html.Html]]:
        if not self.curve:
            return
        at_one = next(delta for epsilon, delta in self.curve if epsilon >= 1)
        chart = line_chart(
            self.curve,
            across="epsilon (nats)",
            up="delta",
            title="Privacy curve without noise",
            desc=f"It falls with epsilon; at epsilon 1 delta is {number_text(at_one)}.",
            marks=(0.0, 1.0, 2.0, 3.0, 4.0),
        )
        told = "the parameters of the queried columns tell" if self.query is not None else "the most telling one tells"
        note = html.element(
            "p",
            f"With what {told}, a set of observations that has probability p under one secret has at most "
            "exp(epsilon) p + delta under the other (estimate):",
        )
        yield "How improbable a large move is", html.join(note, html.scroller(chart, "Privacy curve"))


def density_report(
    network: DensityNetwork,
    secrets: Sequence[tuple[str, tuple[IntervalPair, ...]]],
    *,
    source: str | None = None,
    query: Query | None = None,
    plan: Plan | None = None,
    limit: int = 10,
) -> DensityReport:
    """Return the report; `bnpriv.influence_report` is the way in."""
    certified = plan.best.certificate.assumptions if plan is not None and plan.calibrations else ()
    own = (
        "The model is the law of parameters and columns.",
        "No dependence is missing from the model: one too many costs accuracy, one too few costs privacy.",
        "The model was not learned from the table that is to be protected.",
    )
    return DensityReport(
        network=network,
        source=source,
        attributes=tuple(_row(network, name, pairs, query, min(limit, MOST_QUILTS)) for name, pairs in secrets),
        assumptions=tuple(dict.fromkeys((*own, *certified))),
        query=query,
        plan=plan,
    )


def _row(
    network: DensityNetwork, protected: str, pairs: tuple[IntervalPair, ...], query: Query | None, limit: int
) -> DensityAttribute:
    groups = network.alike(protected)
    alone = [_told(network, group[:1], protected, pairs) for group in groups[:MOST_COLUMNS]]
    alone.sort(key=lambda told: (*(-part for part in _size(told)), sorted(told.columns)))
    quilts = [
        (quilt, _told(network, quilt.quilt, protected, pairs))
        for quilt in islice(markov_quilts(network, protected), limit)
    ]
    quilts.sort(key=lambda row: (_size(row[1]), len(row[0].quilt), sorted(row[0].quilt)))
    known = [told for told in alone if _tells(told)] or alone
    asked = known[0] if known else None
    reads = bool(network.reading.driven(frozenset(network.reading.columns), protected))
    if query is not None:
        behind = drivers(network, query.columns)
        reads = protected in behind
        asked = _told(network, behind - {protected}, protected, pairs)
    return DensityAttribute(
        protected=protected,
        pairs=pairs,
        columns=tuple(alone),
        alike={group[0]: group for group in groups[:MOST_COLUMNS]},
        left=sum(map(len, groups[MOST_COLUMNS:])),
        quilts=tuple(quilts),
        asked=asked,
        reads=reads,
    )


def _told(
    network: DensityNetwork, columns: Iterable[str], protected: str, pairs: tuple[IntervalPair, ...]
) -> Influence:
    """Return an influence; where it cannot be computed one without bound that says why."""
    return _known(network, tuple(sorted(columns)), protected, pairs)


@lru_cache(maxsize=256)
def _known(
    network: DensityNetwork, names: tuple[str, ...], protected: str, pairs: tuple[IntervalPair, ...]
) -> Influence:
    try:
        return influence_of(network, names, protected, pairs)
    except BnprivError as error:
        return unknown_because(network, names, protected, pairs, error)


@lru_cache(maxsize=4096)
def _delta(told: Influence, epsilon: float) -> float | None:
    """Return the privacy curve, or None where it cannot be computed."""
    if not _tells(told):
        return 0.0 if float(told) == 0 else None
    delta = told.delta(epsilon)
    return None if isinstance(delta, Refusal) else delta


def _tells(told: Influence) -> bool:
    """Return whether the columns depend on the protected parameter, and what they tell was computed."""
    return bool(told.frontier) and told.unknown is None


def _size(told: Influence) -> tuple[float, float]:
    """Return how much is told: the influence, and delta among those without bound."""
    delta = _delta(told, 1.0) if math.isinf(float(told)) else 0.0
    return float(told), 1.0 if delta is None else delta


def _alone(row: DensityAttribute, name: str) -> tuple[float, float]:
    return next((_size(told) for told in row.columns if name in row.alike[min(told.columns)]), (0.0, 0.0))


def _tables(row: DensityAttribute) -> list[Table]:
    deltas = tuple(f"delta at {epsilon:g}" for epsilon in SHOWN)
    header, words = ("nats", *deltas, "how found"), 2 + len(deltas)
    made: list[Table] = []
    about = name_text(row.protected)
    if row.asked is not None and len(row.asked.columns) > 1:
        title = f"The parameters of the queried columns together, about {about}"
        if row.reads:
            title = f"The other parameters of the queried columns; {about} drives these too, which tell without bound"
        made.append(Table(title=title, header=("parameters", *header), rows=[_cells(row.asked)], words=words))
    more = f" ({row.left} more were not looked at)" if row.left else ""
    title = f"Single parameters, about {about}{more}"
    rows = [[_with_alike(row, told), *_cells(told)[1:]] for told in row.columns]
    made.append(Table(title=title, header=("parameter", *header), rows=rows, words=words))
    quilts = [[*_cells(told), set_text(quilt.near), set_text(quilt.remote)] for quilt, told in row.quilts]
    if quilts:
        title = f"Markov quilts for {about}, the least telling first"
        made.append(Table(title=title, header=("quilt", *header, "near", "remote"), rows=quilts, words=words))
    if row.asked is not None and any(row.asked.history):
        made.append(_history(row.asked))
    return made


def _with_alike(row: DensityAttribute, told: Influence) -> str:
    """Return a parameter and how many tell the same."""
    name = min(told.columns)
    more = len(row.alike[name]) - 1
    return f"{name_text(name)} and {more} alike" if more else name_text(name)


def _history(told: Influence) -> Table:
    rows = [
        [str(pair), f"{step.points}", number_text(step.influence), f"{step.change:.2g}", f"{step.lost:.2g}"]
        for pair, history in zip(told.pairs, told.history, strict=True)
        for step in history
    ]
    return Table(
        title=f"How the grids were refined for {set_text(told.columns)}",
        header=("secrets", "points per axis", "nats", "change", "mass lost"),
        rows=rows,
        words=5,
    )


def _cells(told: Influence) -> list[str]:
    deltas = [_delta(told, epsilon) for epsilon in SHOWN]
    shown = ["not known" if delta is None else number_text(delta) for delta in deltas]
    return [set_text(told.columns), number_text(float(told)), *shown, told.how]


def _attribute(row: DensityAttribute) -> Json:
    return {
        "name": row.protected,
        "pairs": [str(pair) for pair in row.pairs],
        "drives_the_query": row.reads,
        "columns": [{**_influence(told), "alike": list(row.alike[min(told.columns)])} for told in row.columns],
        "not_looked_at": row.left,
        "asked": None if row.asked is None else _influence(row.asked),
        "quilts": [
            {
                "quilt": sorted(quilt.quilt),
                "near": sorted(quilt.near),
                "remote": sorted(quilt.remote),
                "nats": _number(float(told)),
                "kind": told.kind,
            }
            for quilt, told in row.quilts
        ],
    }


def _influence(told: Influence) -> Json:
    return {
        "columns": sorted(told.columns),
        "nats": _number(float(told)),
        "kind": told.kind,
        "settled": told.settled,
        "how": told.how,
        "deltas": [{"epsilon": epsilon, "delta": _delta(told, epsilon)} for epsilon in SHOWN],
        "history": [
            {
                "pair": str(pair),
                "points": step.points,
                "nats": _number(step.influence),
                "change": _number(step.change),
                "lost": step.lost,
            }
            for pair, history in zip(told.pairs, told.history, strict=True)
            for step in history
        ],
    }


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
