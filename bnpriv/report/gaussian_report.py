"""The report of a linear-Gaussian network: Mahalanobis numbers and the privacy curves that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import final

import numpy as np

from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.frameworks import observer_text
from bnpriv.influence.base import Influence, influence_of
from bnpriv.influence.quilts import MarkovQuilt, markov_quilts
from bnpriv.mechanisms.pages import from_whom
from bnpriv.mechanisms.plan import Plan
from bnpriv.networks import GaussianNetwork, drivers
from bnpriv.queries.base import Query
from bnpriv.render import Json, html
from bnpriv.render.chart import line_chart
from bnpriv.render.graph import network_html
from bnpriv.render.text import and_text, number_text, set_text
from bnpriv.report.parts import Parts, ShortReport, Table, answer_dict
from bnpriv.report.reading import reading_dict, reading_tables
from bnpriv.secrets.values import ContinuousPair

FORMAT = "bnpriv gaussian influence report 1"

EPSILONS = tuple(float(epsilon) for epsilon in np.linspace(0.0, 4.0, 81)[1:])
"""Where curves are computed."""

SHOWN = (0.1, 0.5, 1.0, 2.0)
"""Where curves are tabulated."""

MOST_COLUMNS = 40
"""Columns that are tabulated, the most telling first."""

MOST_QUILTS = 200
"""Quilts that are looked at; a dense network has too many to count."""

MEANING = (
    "mu is a Mahalanobis distance: seeing the columns, two protected values are told apart as well as two normal "
    "numbers of deviation 1 whose means are mu apart. The log odds may move by any amount; large ones are improbable, "
    "as delta shows. With the Markov quilt mechanism a pure guarantee (delta 0) needs mu = 0 or noise that hides all "
    "queried columns. What a secret drives itself tells about it without bound: mu is infinite."
)


@final
@dataclass(frozen=True, kw_only=True)
class GaussianAttribute:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of ValuesApart or IntervalPair
        What must not be told apart.
    columns : tuple of Influence
        Every other attribute alone, the most telling first.
    quilts : tuple of (MarkovQuilt, Influence)
        The least telling first.
    asked : Influence or None
        What the queried columns tell together; without a query, the most telling parameter. None where `reads` of a
        query: nothing bounds what its columns tell.
    reads : bool
        Whether the protected parameter itself drives a queried column, or any column if there is no query.
    driven : tuple of (str, Influence or None)
        Columns that are no parameter with what they tell, None where the protected one itself drives them.
    """

    protected: str
    pairs: tuple[ContinuousPair, ...]
    columns: tuple[Influence, ...]
    quilts: tuple[tuple[MarkovQuilt, Influence], ...]
    asked: Influence | None
    reads: bool = False
    driven: tuple[tuple[str, Influence | None], ...] = ()


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class GaussianReport(ShortReport):
    """What leaks about each protected attribute of a linear-Gaussian network and what noise a query needs.

    Print it for plain text; a notebook shows it by itself.

    Parameters
    ----------
    network : GaussianNetwork
    source : str or None
        Where the model comes from.
    attributes : tuple of GaussianAttribute
        One per protected attribute.
    assumptions : tuple of str
        What must hold outside the library.
    query : Query or None
    plan : Plan or None
        Every mechanism for the query at the given epsilon and delta.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.GaussianNetwork.linear(
    ...     {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
    ... )
    >>> report = bp.influence_report(network, protect={"income": bp.apart(at_most=5)})
    >>> round(report.attributes[0].columns[0].mu, 6)
    0.1
    """

    network: GaussianNetwork
    source: str | None
    attributes: tuple[GaussianAttribute, ...]
    assumptions: tuple[str, ...]
    query: Query | None = None
    plan: Plan | None = None

    @property
    def headline(self) -> str:
        """Return which columns tell most about what."""
        read = [row.protected for row in self.attributes if row.reads]
        if read:
            who = "The queried columns are" if self.query is not None else "Columns are"
            return f"{who} driven by {and_text(sorted(read))} directly, and tell about it without bound."
        found = [row.asked for row in self.attributes if row.asked is not None]
        if not found:
            return "There is no other attribute."
        most = max(found, key=lambda told: _mu(told))
        who = f"{and_text(sorted(most.columns))} {'tells' if len(most.columns) == 1 else 'tell'}"
        if _mu(most) == 0:
            return f"{who} nothing about {most.protected}."
        return f"{who} about {most.protected}: mu = {number_text(_mu(most))}."

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Return (epsilon, delta) of what the queried columns tell, at the worst protected attribute."""
        if any(row.reads for row in self.attributes):
            return tuple((epsilon, 1.0) for epsilon in EPSILONS)
        told = [row.asked for row in self.attributes if row.asked is not None]
        return tuple((epsilon, max((_delta(each, epsilon) for each in told), default=0.0)) for epsilon in EPSILONS)

    def __repr__(self) -> str:
        return f"GaussianReport({', '.join(row.protected for row in self.attributes)})"

    def to_dict(self) -> Json:
        """Return the report as plain values; docs/gaussian-report-schema.md names every field."""
        return {
            "format": FORMAT,
            "source": self.source,
            "models": self.network.models,
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
        network, size = self.network, f"{len(self.network.attributes)} attributes, models: {self.network.models}"
        drawing = network_html(network.attributes, network.graph.edges, title="Linear-Gaussian network", facts=size)
        return Parts(
            headline=self.headline,
            lead=MEANING,
            facts=[
                ("What is protected", "; ".join(protected)),
                ("From whom", from_whom(_observer(self.network), sees).rstrip(".")),
                ("Model from", "not stated" if self.source is None else self.source),
            ],
            tables=[
                *(table for row in self.attributes for table in _tables(row, self.query)),
                *reading_tables(network.reading),
            ],
            figures=[("How improbable a large move is", self._chart()), ("The network", drawing)],
            plan=self.plan,
            assumptions=self.assumptions,
        )

    def _chart(self) -> html.Html:
        told = "the queried columns tell" if self.query is not None else "the most telling column tells"
        at_one = next(delta for epsilon, delta in self.curve if epsilon >= 1)
        chart = line_chart(
            self.curve,
            across="epsilon (nats)",
            up="delta",
            title="Privacy curve without noise",
            desc=f"It falls with epsilon; at epsilon 1 delta is {number_text(at_one)}.",
            marks=(0.0, 1.0, 2.0, 3.0, 4.0),
        )
        note = html.element(
            "p",
            f"With what {told}, a set of observations that has probability p under one secret has at most "
            "exp(epsilon) p + delta under the other:",
        )
        return html.join(note, html.scroller(chart, "Privacy curve"))


def gaussian_report(
    network: GaussianNetwork,
    secrets: Sequence[tuple[str, tuple[ContinuousPair, ...]]],
    *,
    source: str | None = None,
    query: Query | None = None,
    plan: Plan | None = None,
    limit: int = 10,
) -> GaussianReport:
    """Return the report; `bnpriv.influence_report` is the way in."""
    certified = plan.best.certificate.assumptions if plan is not None and plan.calibrations else ()
    own = (
        "All parameters together are normal under every model.",
        "No dependence is missing from the network: an edge too many costs accuracy, an edge too few costs privacy.",
        "The network was not learned from the table that is to be protected.",
    )
    return GaussianReport(
        network=network,
        source=source,
        attributes=tuple(_row(network, name, pairs, query, limit) for name, pairs in secrets),
        assumptions=tuple(dict.fromkeys((*own, *certified))),
        query=query,
        plan=plan,
    )


def _observer(network: GaussianNetwork) -> str:
    """Return what somebody who must not learn the secrets may believe."""
    return observer_text(network.models, models_text="" if network.drawn is None else network.drawn.models_text)


def _row(
    network: GaussianNetwork, protected: str, pairs: tuple[ContinuousPair, ...], query: Query | None, limit: int
) -> GaussianAttribute:
    others = [name for name in network.attributes if name != protected]
    alone = [influence_of(network, (name,), protected, pairs) for name in others]
    alone.sort(key=lambda told: (-_mu(told), sorted(told.columns)))
    quilts = [
        (quilt, influence_of(network, quilt.quilt, protected, pairs))
        for quilt in islice(markov_quilts(network, protected), MOST_QUILTS)
    ]
    quilts.sort(key=lambda row: (_mu(row[1]), len(row[0].quilt), sorted(row[0].quilt)))
    reading = network.reading
    asked = alone[0] if alone else None
    reads = bool(reading.driven(frozenset(reading.columns), protected))
    if query is not None:
        reads = bool(reading.driven(query.columns, protected))
        behind = drivers(network, query.columns)
        asked = None if reads else influence_of(network, behind, protected, pairs)
    driven = [(name, _by_column(network, name, protected, pairs)) for name in reading.columns]
    driven.sort(key=lambda row: (-math.inf if row[1] is None else -_mu(row[1]), row[0]))
    return GaussianAttribute(
        protected=protected,
        pairs=pairs,
        columns=tuple(alone),
        quilts=tuple(quilts[:limit]),
        asked=asked,
        reads=reads,
        driven=tuple(driven),
    )


def _by_column(
    network: GaussianNetwork, column: str, protected: str, pairs: tuple[ContinuousPair, ...]
) -> Influence | None:
    """Return what a column that is no parameter tells; None where the protected one itself drives it."""
    behind = drivers(network, frozenset({column}))
    return None if protected in behind else influence_of(network, behind, protected, pairs)


def _tables(row: GaussianAttribute, query: Query | None) -> list[Table]:
    deltas = tuple(f"delta at {epsilon:g}" for epsilon in SHOWN)
    words = 2 + len(deltas)
    made: list[Table] = []
    if query is not None and (row.reads or (row.asked is not None and len(row.asked.columns) > 1)):
        title = f"The queried columns together, about {row.protected}"
        rows = [_cells(query.columns, row.asked)]
        made.append(Table(title=title, header=("columns", "mu", *deltas), rows=rows, words=words))
    if row.driven:
        title = f"Single columns, about {row.protected}"
        rows = [_cells((name,), told) for name, told in row.driven[:MOST_COLUMNS]]
        made.append(Table(title=title, header=("column", "mu", *deltas), rows=rows, words=words))
    what = "parameter" if row.driven else "column"
    title = f"Single {what}s, about {row.protected}"
    rows = [_cells(told.columns, told) for told in row.columns]
    made.append(Table(title=title, header=(what, "mu", *deltas), rows=rows, words=words))
    quilts = [[*_cells(told.columns, told), set_text(quilt.near), set_text(quilt.remote)] for quilt, told in row.quilts]
    if quilts:
        title = f"Markov quilts for {row.protected}, the least telling first"
        header = ("quilt", "mu", *deltas, "near", "remote")
        made.append(Table(title=title, header=header, rows=quilts, words=words))
    return made


def _mu(told: Influence) -> float:
    return math.inf if told.mu is None else told.mu


def _delta(told: Influence, epsilon: float) -> float:
    delta = told.delta(epsilon)
    return 1.0 if isinstance(delta, Refusal) else delta


def _cells(columns: Iterable[str], told: Influence | None) -> list[str]:
    """Return a row of a table; what the protected parameter itself drives tells without bound."""
    if told is None:
        return [set_text(columns), number_text(math.inf), *("1" for _ in SHOWN)]
    return [set_text(columns), number_text(_mu(told)), *(number_text(_delta(told, epsilon)) for epsilon in SHOWN)]


def _attribute(row: GaussianAttribute) -> Json:
    return {
        "name": row.protected,
        "pairs": [str(pair) for pair in row.pairs],
        "columns": [_influence(told) for told in row.columns],
        "drives_the_query": row.reads,
        "asked": None if row.asked is None else _influence(row.asked),
        "quilts": [
            {"quilt": sorted(quilt.quilt), "near": sorted(quilt.near), "remote": sorted(quilt.remote), "mu": _mu(told)}
            for quilt, told in row.quilts
        ],
    }


def _influence(told: Influence) -> Json:
    return {"columns": sorted(told.columns), "mu": _mu(told), "kind": told.kind}
