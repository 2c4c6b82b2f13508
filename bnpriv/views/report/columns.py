"""What every column, every edge and every Markov quilt tells: the map of colours, the network, and tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, overload

from bnpriv.core.influence.base import Influence, told_text
from bnpriv.core.influence.quilts import MarkovQuilt, MarkovQuilts, markov_quilt
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision
from bnpriv.core.networks.base import Network
from bnpriv.errors import Refusal, RefusedError
from bnpriv.kind import FurtherTable
from bnpriv.kinds.draws.estimated_influence import EstimatedInfluence
from bnpriv.kinds.report_target import subject_of
from bnpriv.kinds.sensitivity import influence_gradient
from bnpriv.render import document as doc
from bnpriv.render.document import Badge, Block, Cell, Document, Figure, Name, Names, Paragraph, Section, Table, Text
from bnpriv.render.figures import HeatCell, influence_bar, line_chart, two_curves
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html, quilt_legend
from bnpriv.render.html import Html, join, scroller
from bnpriv.shown import HasCard
from bnpriv.text import (
    and_text,
    element_text,
    factor_text,
    full_text,
    lower_text,
    name_text,
    nats_text,
    number_text,
    shorten,
    some_text,
    times_text,
    upper_chance,
    visible,
)
from bnpriv.views.cards import graph_nodes, model_graph
from bnpriv.views.influence import DASH, LEGEND, heat_cell, quilt_figure, quilt_roles
from bnpriv.views.report import words
from bnpriv.views.report.analysis import MOST_QUILTS, attribute_quilts, quilt_influences, rare
from bnpriv.views.report.values import Analysis, AttributeReport, EdgeEffect, RankedQuilt
from bnpriv.views.report.words import (
    asked_text,
    draws_text,
    influence_text,
    node_text,
    not_worked_out,
    setting_text,
    witness_text,
)
from bnpriv.views.words import edge_shares

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# What every column tells alone: a map of colours, and the same in numbers with what attains it.
# --------------------------------------------------------------------------------------------------

MOST_SILENT_COLUMNS = 12
"""Columns of a map that are shown though they tell nothing."""

MOST_ROWS = 15
"""Rows of a table of columns; those that follow tell least."""

MOST_LINES = 6
"""Rows of the network that are shown without being unfolded."""

MOST_SENSITIVE_ROWS = 3
"""Rows of the network of which it is said what an error in them does."""

MOST_BARS = 6
"""Columns whose influence is drawn beside the answer."""

MOST_WITH_BARS = 8
"""Attributes of a network whose drawing leaves room for bars."""

CURVE_EPSILONS = (0.1, 0.5, 1.0, 2.0)
"""Where curves are tabulated."""

OF_ONE_RECORD = (
    "These numbers say what one record tells about itself; the secret is about the whole table, and the noise "
    "follows from the distributions of the answer."
)


def columns_section(report: Analysis) -> Section | None:
    """Return which columns tell what, and how; nothing where there is no network."""
    if report.network is None:
        if report.without is None:
            return None
        return Section(title="Which columns tell what, and how", blocks=(not_worked_out(report.without),), id="columns")
    blocks: list[Block] = [Paragraph(f"The model: {setting_text(report)}. {node_text(report.network)}")]
    if report.laws is not None:
        blocks.append(Paragraph(OF_ONE_RECORD))
    blocks += _heat(report)
    for row in report.attributes:
        blocks += _attribute(report, row)
    return Section(title="Which columns tell what, and how", blocks=tuple(blocks), id="columns")


def column_bars(report: Analysis) -> tuple[Table, ...]:
    """Return what the most telling columns tell about the worst protected attribute, as bars for a wide screen.

    Nothing where the drawing above them fills the place.
    """
    row = report.worst
    told = () if row is None else row.columns[:MOST_BARS]
    small = report.network is not None and len(model_graph(report.network).nodes) <= MOST_WITH_BARS
    known = row is not None and (not row.estimated or any(each.rank > 0 for each in row.estimated.values()))
    if row is None or not small or not known or len(told) < 2 or row.shown(told[0]) == 0:
        return ()
    longest = max((shown for each in told if math.isfinite(shown := row.shown(each))), default=0.0)
    whose, guesses = name_text(words.spoken(report.network, row.protected)), [*row.estimated.values()]
    rarely, moved, last, what = words.rarely_text(row), "odds move by at most", "", "column"
    if guesses:
        what = "parameter"
        rarely, moved, last = f", {words.but_for_delta(guesses[0].delta)}", "odds move", "95 % interval, times"
    return (
        Table(
            caption=f"What single {what}s tell about {whose}{rarely}",
            header=(what, moved, last),
            rows=[(_with_alike(row, each), *_bar(row, each, longest)) for each in told],
            numbers=(1,),
            more=_more(row, len(row.columns) - len(told), "no more"),
        ),
    )


def _more(row: AttributeReport, left: int, what: str) -> str:
    """Return that so many columns are not listed; of those without a dependence some may tell more than listed ones."""
    return "" if left <= 0 else f"{left} more." if row.likely else f"{left} more, which tell {what}."


def _bar(row: AttributeReport, told: Influence, longest: float) -> tuple[str, doc.Cell]:
    if told.unknown is not None:
        found = row.estimated.get(told.columns)
        drawn = influence_bar(found.nats, longest, title="") if found is not None and found.nats > 0 else Html()
        said = "" if found is None or found.unknown is not None else words.interval_text(found)
        return words.estimate_text(found), doc.Cell(said, drawing=drawn)
    nats, delta, likely = row.shown(told), rare(told), row.likely.get(told.columns)
    text = "too large" if math.isnan(nats) else times_text(nats)
    drawn = influence_bar(nats, longest, title=f"{some_text(told.columns)}: {text}") if nats > 0 < longest else Html()
    said = "" if delta is None else f"over 2.72 times with delta {upper_chance(delta)}"
    if likely is not None:
        unseen = ", no dependence seen" if likely.dependence is False else ""
        said = f"{likely.worst} {times_text(float(told))}{unseen}"
    return text, doc.Cell(said, drawing=drawn)


def _heat(report: Analysis) -> Iterator[Block]:
    """Yield the influence of every single column on every protected attribute, with the legend."""
    assert report.network is not None
    told = {
        (row.protected, column): influence
        for row in report.attributes
        for influence in row.columns
        for name in influence.columns
        for column in row.alike.get(name, (name,))
    }
    most: dict[str, float] = {}
    by_name = {row.protected: row for row in report.attributes}
    for (protected, column), influence in told.items():
        row = by_name[protected]
        guess = row.estimated.get(influence.columns)
        shown_first = row.shown(influence) if guess is None else guess.rank
        most[column] = max(most.get(column, 0.0), 0.0 if math.isnan(shown_first) else shown_first)
    if not most:
        return
    columns = sorted((name for name in report.network.attributes if name in most), key=lambda column: -most[column])
    silent = [column for column in columns if most[column] == 0] if len(columns) > MOST_SILENT_COLUMNS else []
    shown = columns[: len(columns) - len(silent)] or columns[:MOST_SILENT_COLUMNS]
    guesses = [found for row in report.attributes for found in row.estimated.values()]
    left, told_less = len(columns) - len(shown), "tell nothing"
    if guesses:
        shown = columns[:MOST_SILENT_COLUMNS]
        left, told_less = len(columns) - len(shown), "tell no more"
    rarely, about = words.rarely_text(report.worst), "By how many times"
    if guesses:
        rarely, about = f", {words.but_for_delta(guesses[0].delta)} (estimates from draws)", "By about how many times"
    caption = f"{about} one column moves the odds{rarely}: rows are protected attributes, columns what is seen"
    if report.epsilon is not None:
        delta = f" with more than delta {full_text(report.delta)}" if report.delta else ""
        worst = " at worst" if rarely else ""
        budget = f"epsilon {report.epsilon:g} ({factor_text(report.epsilon)} times)"
        caption += f"; a star marks what tells more than {budget}{delta}{worst}"
    yield doc.HeatMap(
        caption=caption,
        corner="protected",
        columns=tuple(shown),
        rows=[(row.protected, [_cell(told, row, column, report) for column in shown]) for row in report.attributes],
        legend=(("zero", "1: not seen to tell"), *LEGEND[1:-1], ("none", f"{DASH}: not known")) if guesses else LEGEND,
        more=f"{left} more columns, which {told_less}." if left else "",
    )


def _cell(told: Mapping[tuple[str, str], Influence], row: AttributeReport, column: str, report: Analysis) -> HeatCell:
    influence = told.get((row.protected, column))
    if influence is None:
        return heat_cell(None if column == row.protected else math.nan, (column,))
    if influence.unknown is not None:
        return _estimated_cell(row.estimated.get(influence.columns), influence)
    bound = f" ({witness_text(influence)})" if influence.too_large else ""
    return heat_cell(row.shown(influence), influence.columns, marked=_too_much(influence, report), note=bound)


def _estimated_cell(found: EstimatedInfluence | None, influence: Influence) -> HeatCell:
    """Return the cell of what is estimated, or known at least, or not at all."""
    network = influence.network
    column, about = (words.spoken(network, name) for name in (min(influence.columns), influence.protected))
    if found is None or found.rank < 0:
        why = influence.unknown if found is None else found.unknown
        return HeatCell(text=DASH, level="none", title=f"{column}: not known{'' if why is None else f' ({why.found})'}")
    cell = heat_cell(found.rank, (column,))
    text = cell.text if found.unknown is None else f">{lower_text(math.exp(found.low), 2)}"
    return replace(cell, text=text, title=words.estimate_sentence(column, about, found))


def _too_much(influence: Influence, report: Analysis) -> bool:
    """Return whether an influence is more than the budget allows without noise."""
    if report.epsilon is None or float(influence) <= report.epsilon:
        return False
    delta = influence.delta(report.epsilon) if report.delta else math.inf
    return isinstance(delta, Refusal) or not delta <= report.delta


def _attribute(report: Analysis, row: AttributeReport) -> Iterator[Block]:
    name = Name(row.protected)
    if row.columns or row.driven:
        table = _estimates(row) if row.estimated else _table(row)
        yield Section(title="In numbers", blocks=(table,), folded=True)
    if report.query is not None:
        yield Section(title=("The queried columns, about ", name), blocks=tuple(_queried(report, row)))
    if row.explained is not None and row.explained.unknown is None and float(row.explained) > 0:
        # what all of the queried columns tell is said above
        yield from _explanation(row.explained, f"{influence_text(row.asked)}." if report.query and row.asked else "")
    if draws_text(row.asked):
        yield Paragraph(f"{'At worst, over' if row.likely else 'Over'} the draws, {draws_text(row.asked)}")


def _estimates(row: AttributeReport) -> Table:
    """Return what the most telling columns tell by draws, with intervals and what they rest on."""
    network, found = row.columns[0].network, list(row.estimated.values())
    ranked = [row.estimated[told.columns] for told in row.columns if told.columns in row.estimated]
    reasons = Counter(each.unknown for each in ranked if each.unknown is not None)
    often = [why for why, count in reasons.items() if count > 1]  # said once, below the table
    rows = [
        (
            (Name(words.spoken(network, min(each.columns))),),
            words.estimate_text(each),
            words.interval_text(each) if each.unknown is None else "" if each.unknown in often else each.unknown.found,
            number_text(each.draws),
        )
        for each in ranked[:MOST_ROWS]
    ]
    left = max(0, len(ranked) - MOST_ROWS) + row.left
    more = [f"{'All' if reasons[why] == len(ranked) else f'{reasons[why]} of these'}: {why.found}." for why in often]
    inner = len(network.reading.inner - {row.protected})
    more += [f"{left} more, which tell no more{', or were not looked at' if row.left else ''}."] if left else []
    more += [f"{inner} entries that matter through a listed function alone are left out."] if inner else []
    return Table(
        caption=f"What single columns tell about {name_text(words.spoken(network, row.protected))}, estimated from "
        f"draws, {words.but_for_delta(found[0].delta)}",
        header=("column", "odds move", "95 % interval, times", "draws in the rarer secret"),
        rows=rows,
        numbers=(3,),
        more=" ".join(more),
    )


def _table(row: AttributeReport) -> Table:
    """Return what the most telling columns tell; where it is infinite for one, how improbable that is for all."""
    lines = [(_with_alike(row, told), told) for told in row.columns]
    lines = [*(((Name(name),), told) for name, told in row.driven), *lines]
    endless = any(told is None or math.isinf(float(told)) for _, told in lines)
    mu = any(told is not None and told.mu is not None for _, told in lines)
    left = max(0, len(lines) - MOST_ROWS) + row.left
    what = "no more" if not row.left else "no more, or were not looked at"
    reached = "reached at" if any(_last(told) for _, told in lines) else ""
    notes = Counter(witness_text(told) for _, told in lines if told is not None and told.unknown is not None)
    often = [note for note, count in notes.items() if count > 1]  # said once, below the table
    more = [_more(row, left, what)] if left else []
    more += [f"{'All' if notes[note] == len(lines) else f'{notes[note]} of these'}: {note}" for note in often]
    header = told_header("column", endless=endless, mu=mu, last=reached)
    rows = [
        told_cells(_noted(name, told, often), told, endless=endless, mu=mu, last=_last(told) if reached else None)
        for name, told in lines[:MOST_ROWS]
    ]
    numbers = told_numbers(endless=endless, mu=mu)
    if row.likely:
        likely = next(iter(row.likely.values()))
        shown = "public records" if likely.records else ""
        worst = next((each.worst for each in row.likely.values() if each.by_table), likely.worst)
        header = ("column", f"odds move by at most, {words.but_for(likely)}", "reached at", shown, worst, *header[2:])
        rows = [(own[0], *_likely_cells(row, told), *own[1:]) for (_, told), own in zip(lines, rows, strict=False)]
        numbers = (1, *(place + 3 for place in numbers))
    return Table(
        caption=f"What single columns tell about {name_text(row.protected)}, in numbers",
        header=header,
        rows=rows,
        numbers=numbers,
        more=" ".join(more),
    )


def _likely_cells(row: AttributeReport, told: Influence | None) -> tuple[str, str, str]:
    """Return what a column tells but for a chance, and whether public records show that it depends."""
    likely = None if told is None else row.likely.get(told.columns)
    if likely is None:
        return "", "", ""
    seen = "" if likely.dependence is None else "a dependence" if likely.dependence else words.unseen_text(likely)
    return times_text(likely.nats), witness_text(likely.influence), seen


def _with_alike(row: AttributeReport, told: Influence) -> Text:
    (name,) = told.columns
    more = len(row.alike.get(name, (name,))) - 1
    return (Name(name), f" and {more} alike") if more else (Name(name),)


def _last(told: Influence | None) -> str:
    if told is None:
        return "driven by the protected one itself"
    return witness_text(told) if told.assignment or told.too_large else ""


def _noted(name: Text, told: Influence | None, said: Sequence[str]) -> Text | doc.Cell:
    """Return the name of a column, with a note on how it was found where no assignment attains what it tells."""
    if told is None or told.assignment or told.too_large or not witness_text(told) or witness_text(told) in said:
        return name
    return doc.Cell(name, note=witness_text(told))


def told_header(first: str, *, endless: bool, mu: bool, last: str = "") -> tuple[str, ...]:
    """Return the headings of a table of influences."""
    deltas = [f"delta at {epsilon:g}" for epsilon in CURVE_EPSILONS] if endless else []
    return (first, "odds move by at most", *(["mu"] if mu else []), *deltas, *([last] if last else []))


def told_numbers(*, endless: bool, mu: bool) -> tuple[int, ...]:
    """Return which columns of such a table hold numbers."""
    return tuple(range(1, 2 + mu + endless * len(CURVE_EPSILONS)))


def told_cells(
    first: Text | doc.Cell, told: Influence | None, *, endless: bool, mu: bool, last: str | None = None
) -> tuple[Text | doc.Cell, ...]:
    """Return a row of such a table; what the protected attribute drives itself tells without bound."""
    nats = "too large" if told is not None and math.isnan(float(told)) else times_text(float(told or math.inf))
    nats = "not known" if told is not None and told.unknown is not None else nats
    distance = number_text(math.inf) if told is None or told.mu is None else number_text(told.mu)
    deltas = [_delta(told, epsilon) for epsilon in CURVE_EPSILONS] if endless else []
    return (first, nats, *([distance] if mu else []), *deltas, *([] if last is None else [last]))


def _delta(told: Influence | None, epsilon: float) -> str:
    if told is None:
        return "1"
    if float(told) <= epsilon:
        return "0"
    delta = told.delta(epsilon)
    return "not known" if isinstance(delta, Refusal) else upper_chance(delta)


def _queried(report: Analysis, row: AttributeReport) -> Iterator[Block]:
    """Yield what the queried columns tell together."""
    if row.answer is not None:
        about = name_text(words.spoken(report.network, row.protected))
        yield Paragraph(f"{words.estimate_sentence('The answer without noise', about, row.answer)}.")
        return
    if row.is_queried:
        others = row.asked is not None and bool(row.asked.columns - {row.protected})
        rest = f"; besides, {influence_text(row.asked)}." if row.asked is not None and others else "."
        itself = report.query is None or row.protected in report.query.columns
        how = "The query reads it" if itself else f"{name_text(row.protected)} drives queried columns itself"
        yield Paragraph(f"{how}, which tells everything{rest}")
        return
    if row.asked is not None:
        likely = row.asked_likely
        first = "" if likely is None else f"The odds move by at most {words.likely_text(likely)}; {likely.worst} "
        yield Paragraph(f"{first}{influence_text(row.asked)}.")
    if row.asked is None or not math.isinf(row.told):
        return
    mu = row.asked.mu is not None
    together: Text = (Names(tuple(() if report.query is None else report.query.columns)),)
    yield Table(
        caption=f"The queried columns together, about {name_text(row.protected)}",
        header=told_header("columns", endless=True, mu=mu),
        rows=[told_cells(together, row.asked, endless=True, mu=mu)],
        numbers=told_numbers(endless=True, mu=mu),
    )


def _explanation(asked: Influence, said: str) -> Iterator[Section]:
    verb = "tells" if len(asked.columns) == 1 else "tell"
    lines = asked.explain().splitlines()
    rows = [line for line in lines[1:] if line.startswith("Row: ")]
    # how an estimate was refined has a table of its own
    others = [line for line in lines[1:] if line not in rows and not line.startswith("  ")]
    if len(asked.columns) == 1:  # the table of columns says how it was found
        others = [line.removesuffix(f" {asked.how.partition('. ')[2]}") for line in others]
    blocks: list[Block] = [] if lines[0] == said else [Paragraph(lines[0])]
    blocks += [doc.Items(tuple(map(_line, others)))] if others else []
    if len(rows) > MOST_LINES:
        title = f"The {len(rows)} rows of the network that carry it"
        blocks.append(Section(title=title, blocks=(doc.Items(tuple(map(_line, rows))),), folded=True))
    elif rows:
        blocks.append(doc.Items(tuple(map(_line, rows))))
    gradient = influence_gradient(asked)
    if not isinstance(gradient, Refusal) and (sensitive := gradient.largest(MOST_SENSITIVE_ROWS)):
        blocks.append(Paragraph("The rows of the network that matter most, if they are off:"))
        blocks.append(doc.Items(tuple(row.sentence for row in sensitive)))
    title: Text = ("How ", Names(tuple(asked.columns)), f" {verb} about ", Name(asked.protected))
    if asked.protected in asked.columns:
        title = ("How the other values of ", Name(asked.protected), " tell about one of them")
    if blocks:
        yield Section(title=title, blocks=tuple(blocks))


def _line(line: str) -> Text:
    kind, _, rest = line.partition(": ")
    if kind == "Path":
        return "Path: ", doc.Strong(rest.replace("->", "\u2192").replace("<-", "\u2190"))
    return ("Row: ", doc.Code(rest)) if kind == "Row" else line


# --------------------------------------------------------------------------------------------------
# How improbable a large move of the odds is, where nothing bounds it; and how estimates were found.
# --------------------------------------------------------------------------------------------------

STEPS, FARTHEST = 40, 4.0
"""How many points of a curve are drawn, and up to which epsilon."""


def curve_of(report: Analysis) -> tuple[tuple[float, float], ...]:
    """Return (epsilon, delta) of what is asked about, without noise, at the worst protected attribute.

    Empty where it is bounded, so that no curve is needed, and where nothing is known of it. Where a protected attribute
    drives what is read delta is 1.
    """
    levels = [FARTHEST * (k + 1) / STEPS for k in range(STEPS)]
    if report.query is not None and any(row.is_queried for row in report.attributes):
        return tuple((level, 1.0) for level in levels)
    told = [row.asked for row in report.attributes if row.asked is not None and math.isinf(float(row.asked))]
    rows = [
        (level, [delta for each in told if not isinstance(delta := each.delta(level), Refusal)]) for level in levels
    ]
    return tuple((level, max(deltas)) for level, deltas in rows if deltas)


def curve_section(report: Analysis) -> Section | None:
    """Return the privacy curve of what is told without noise; nothing where it is bounded."""
    blocks = tuple(_chart(report))
    return Section(title="How improbable a large move is", blocks=blocks, id="curve", folded=True) if blocks else None


def _chart(report: Analysis) -> Iterator[Block]:
    if report.query is not None and any(row.is_queried for row in report.attributes):
        return
    curve = curve_of(report)
    if not curve:
        return
    at_one = next(delta for epsilon, delta in curve if epsilon >= 1)
    chart = line_chart(
        curve,
        across="epsilon (nats)",
        up="delta",
        title="Privacy curve without noise",
        desc=f"It falls with epsilon; at epsilon 1 delta is {upper_chance(at_one)}.",
    )
    guess = any(row.asked is not None and row.asked.kind == "estimate" for row in report.attributes)
    told = "the queried columns tell" if report.query is not None else "the most telling column tells"
    yield Paragraph(
        f"With what {told}, a set of observations that has probability p under one secret has at most exp(epsilon) p + "
        f"delta under the other{' (estimate)' if guess else ''}; at epsilon 1 delta is {upper_chance(at_one)}."
    )
    yield Figure(scroller(chart, "Privacy curve"))


def secrets_section(report: Analysis) -> Section | None:
    """Return the law of a column given each of two secrets, for every attribute about which something is told."""
    found = [each for row in report.attributes if row.explained is not None for each in _drawn(row.explained)]
    if not found:
        return None
    return Section(title="What is seen under two secrets", blocks=tuple(found), id="secrets", folded=True)


def _drawn(told: Influence) -> Iterator[Block]:
    if float(told) == 0 or told.unknown is not None:
        return
    curves = told.conditional()
    if not isinstance(curves, Refusal):
        yield Figure(two_curves(curves, shorten(name_text(told.frontier[0]), 40)), curves.title)


def history_section(report: Analysis) -> Section | None:
    """Return how the grids of estimates were refined; nothing where there are none."""
    told = [row.asked for row in report.attributes if row.asked is not None and any(row.asked.history)]
    if not told:
        return None
    blocks = (*map(_history, told),)
    return Section(title="How the estimates were found", blocks=blocks, id="history", folded=True)


def _history(told: Influence) -> Table:
    rows = [
        (
            str(pair),
            f"{step.points}",
            nats_text(step.influence),
            "" if math.isinf(step.change) else nats_text(step.change, 2),  # the first grid has none before it
            nats_text(step.lost, 2),
        )
        for pair, history in zip(told.pairs, told.history, strict=True)
        for step in history
    ]
    return Table(
        caption=f"How the grids were refined for {some_text(told.columns)}, about {name_text(told.protected)}",
        header=("secrets", "points per axis", "nats", "change", "mass lost"),
        rows=rows,
        numbers=(1, 2, 3, 4),
    )


# --------------------------------------------------------------------------------------------------
# Tables that only one kind of network has.
# --------------------------------------------------------------------------------------------------


def further_section(made: FurtherTable) -> Section:
    """Return the section of such a table."""
    numbers = tuple(k for k in range(1, len(made.header)) if not isinstance(made.rows[0][k], str)) if made.rows else ()
    rows = [tuple(cell if isinstance(cell, str) else nats_text(float(cell)) for cell in row) for row in made.rows]
    table = Table(caption=made.title, header=made.header, rows=rows, numbers=numbers)
    return Section(title=made.title, blocks=(Paragraph(made.intro), table))


# --------------------------------------------------------------------------------------------------
# The network, coloured by the quilt that matters for a protected attribute, with the path of the leak.
# --------------------------------------------------------------------------------------------------

MOST_BESIDE = 12
"""Attributes that are drawn beside the answer; of a larger network those that matter."""

MOST_JOINED = 5
"""Attributes that are drawn though each is joined to all others, as those of a posterior are."""

MOST_EDGES_TOLD = 40
"""Edges that the description of a drawing lists."""


def beside(report: Analysis) -> tuple[Block, ...]:
    """Return what a wide screen shows beside the answer: where the leak runs in the network."""
    row = report.worst
    if report.network is not None and report.network.reading.own_graph:
        return _own_model(report, report.network)
    if row is None or not _shown(report):
        return ()
    return (_figure(report, row, _kept(report, row)),)


def network_section(report: Analysis) -> Section | None:
    """Return the drawings that do not stand beside the answer; nothing if there are none."""
    row = report.worst
    if report.network is None or row is None or report.network.reading.own_graph or not _shown(report):
        return None
    small = len(report.network.attributes) <= MOST_BESIDE
    shown: set[frozenset[str]] = {_roles_of(report, row)} if small else set()
    figures: list[Figure] = []
    for other in (row, *(each for each in report.attributes if each is not row)):
        roles = _roles_of(report, other)
        if roles not in shown:
            shown.add(roles)
            figures.append(_figure(report, other, report.network.attributes))
    if not figures:
        return None
    blocks: list[Block] = [*figures]
    same = len(report.attributes) - len(figures)
    if same and len(report.attributes) > 1:
        blocks.insert(0, Paragraph("One drawing for protected attributes with the same quilt.", soft=True))
    return Section(title="Where it runs in the network", blocks=tuple(blocks), id="network", folded=True)


def _own_model(report: Analysis, network: Network) -> tuple[Block, ...]:
    """Return the model as its user declared it, where the network's own graph says only that all depends on all."""
    graph, reading = model_graph(network), network.reading
    if not 1 < len(graph.nodes) <= MOST_DRAWN:
        return ()
    protected = [row.protected for row in report.attributes]
    dims = {name: [dim for dim, _ in reading.axes.get(name, ()) if dim] for name in graph.nodes}
    notes = {name: f"by {and_text(named)}" for name, named in dims.items() if named}
    top = [min(row.columns[0].columns) for row in report.attributes if row.columns]
    notes |= dict.fromkeys(graph_nodes(graph, top), "tells most")
    notes |= dict.fromkeys(graph_nodes(graph, () if report.query is None else report.query.columns), "queried")
    entries = {each: element_text(each, reading.axes).partition(", ")[2] for each in protected}
    notes |= {name: entry for each, entry in entries.items() if entry for name in graph_nodes(graph, [each])}
    roles = dict.fromkeys(graph.nodes, "plain") | dict.fromkeys(graph_nodes(graph, protected), "protected")
    title = "The model as it was declared"
    edges = tuple(graph.edges)
    listed = "; ".join(f"{visible(a)} to {visible(b)}" for a, b in edges[:MOST_EDGES_TOLD])
    desc = f"Protected: {some_text(protected, 12)}. Edges from parent to child: {listed}."
    drawing = Drawing(nodes=graph.nodes, edges=edges, roles=roles, notes=notes, title=title, desc=desc)
    return (Figure(graph_html(drawing), f"{title}; what is protected has a double border."),)


def _shown(report: Analysis) -> bool:
    """Whether a drawing tells anything: nothing without edges, nor where all are joined, and many or unknown."""
    if report.network is None:
        return False
    nodes, edges = len(report.network.attributes), len(report.network.graph.edges)
    if edges < nodes * (nodes - 1) // 2:
        return edges > 0
    return nodes <= MOST_JOINED and any(told.unknown is None for row in report.attributes for told in row.columns)


def _roles_of(report: Analysis, row: AttributeReport) -> frozenset[str]:
    """What is coloured as quilt, and not protected, by which drawings are told apart."""
    return _quilt(report, row).quilt - {each.protected for each in report.attributes}


def _quilt(report: Analysis, row: AttributeReport) -> MarkovQuilt:
    assert report.network is not None
    return row.best or markov_quilt(report.network.graph, row.protected, ())


def _kept(report: Analysis, row: AttributeReport) -> Sequence[str]:
    """Return the attributes that are drawn beside the answer, parents before children."""
    assert report.network is not None
    every = report.network.attributes
    if len(every) <= MOST_BESIDE:
        return every
    import networkx as nx

    around: nx.Graph[str] = nx.Graph(report.network.graph.edges)
    near = list(nx.single_source_shortest_path(around, row.protected).values())
    queried = frozenset[str]() if row.asked is None else row.asked.columns
    wanted = _quilt(report, row).quilt | queried
    kept = {row.protected, *(name for edge in row.path for name in edge)}
    # first what leads to the quilt and to what is queried, then whatever is nearest
    for road in (*(road for road in near if road[-1] in wanted), *near):
        if len(kept.union(road)) <= MOST_BESIDE:
            kept.update(road)
    return [name for name in every if name in kept]


def _figure(report: Analysis, row: AttributeReport, nodes: Sequence[str]) -> Figure:
    """Return the network, or a part of it, coloured by the quilt that matters for a protected attribute."""
    assert report.network is not None
    quilt = _quilt(report, row)
    shown = name_text(row.protected)
    which = f"{_which(report, row)} for {shown}"
    part = "The" if len(nodes) == len(report.network.attributes) else "The part that matters of the"
    title = f"{part} network, coloured by {which}"
    inside = frozenset(nodes)
    shares = {edge: share for edge, share in edge_shares(report.network).items() if inside.issuperset(edge)}
    edges = tuple(shares)
    notes = dict.fromkeys(row.columns[0].columns, "tells most") if row.most > 0 else {}
    if report.query is not None:
        notes = dict.fromkeys(report.query.columns, "queried")
    notes |= dict.fromkeys(report.network.reading.latent, "latent")
    drawing = Drawing(
        nodes=nodes,
        edges=edges,
        shares=shares,
        roles={name: role for name, role in quilt_roles(quilt).items() if name in inside},
        notes={name: note for name, note in notes.items() if name in inside},
        path=frozenset(edge for a, b in row.path for edge in ((a, b), (b, a))),
        title=title,
        desc=_description(edges, quilt),
    )
    sides = {"quilt": quilt.quilt & inside, "near": quilt.near & inside, "remote": quilt.remote & inside}
    made = join(graph_html(drawing), quilt_legend(quilt.protected, **sides, path=bool(row.path)))
    left = len(report.network.attributes) - len(nodes)
    rest = f"; {left} more attributes are not drawn here" if left else ""
    rest += "; dashed edges are in so many of the models, or turned in some" if any(shares.values()) else ""
    return Figure(made, f"{title}{rest}.")


def _which(report: Analysis, row: AttributeReport) -> str:
    """Return which quilt is drawn: the best mechanism need not be one that rests on quilts."""
    if row.used is None:
        return "the least telling quilt"
    chosen = () if report.plan is None else report.plan.calibrations[:1]
    if any(isinstance(decision, Decision) for made in chosen for decision in made.certificate.decisions):
        return "the quilt that the noise is based on"
    return "the quilt that MarkovQuiltMechanism would use"


def _description(edges: Sequence[tuple[str, str]], quilt: MarkovQuilt) -> str:
    listed = "; ".join(f"{visible(a)} to {visible(b)}" for a, b in edges[:MOST_EDGES_TOLD])
    more = f" and {len(edges) - MOST_EDGES_TOLD} more" if len(edges) > MOST_EDGES_TOLD else ""
    return (
        f"Protected: {visible(quilt.protected)}. Quilt: {some_text(quilt.quilt, 12)}. Near: "
        f"{some_text(quilt.near - {quilt.protected}, 12)}. Remote: {some_text(quilt.remote, 12)}. "
        f"Edges from parent to child: {listed}{more}."
    )


# --------------------------------------------------------------------------------------------------
# Which dependences matter: what would be told without each edge of the network.
# --------------------------------------------------------------------------------------------------

SPACED_ARROW, MINUS_PLUS = " \u2192 ", ("\u2212", "+")

EDGES_INTRO = (
    "What to question in the model: every edge between the protected attribute and these columns, with what they would "
    "tell if that dependence did not exist. An edge that changes much deserves the best evidence."
)


def edges_section(report: Analysis) -> Section | None:
    """Return what would be left without each edge; nothing where that was not worked out."""
    blocks: tuple[Block, ...] = tuple(_effects(report, row) for row in report.attributes if row.edges)
    if blocks:
        blocks = (Paragraph(EDGES_INTRO), *blocks)
    elif report.network is not None and any(row.path for row in report.attributes):
        kind = report.network.kind_text
        blocks = (Paragraph(f"What would be told of {kind} without an edge is not worked out."),)
    else:
        return None
    return Section(title="Which dependences matter", blocks=blocks, id="edges", folded=True)


def _effects(report: Analysis, row: AttributeReport) -> Table:
    assert row.asked is not None
    now = float(row.asked)
    whose, worst = name_text(row.protected), "" if row.asked_likely is None else " at worst"
    return Table(
        caption=f"What {asked_text(report, row)} would tell about {whose}; with all edges {_nats(now)} nats{worst}",
        header=("without the edge", "nats", "change"),
        rows=[_edge_row(effect, now) for effect in row.edges],
        numbers=(1, 2),
        more=f"{row.more_edges} more edges were not tried." if row.more_edges else "",
    )


def _edge_row(effect: EdgeEffect, now: float) -> tuple[Text, Text, Text]:
    parent, child = effect.edge
    edge = (Name(parent), SPACED_ARROW, Name(child))
    if effect.influence is None:
        return edge, "too large", ""
    return edge, _nats(effect.nats), _change(now, effect.nats)


def _nats(value: float) -> str:
    return "\u221e" if math.isinf(value) else nats_text(value)


def _change(now: float, then: float) -> str:
    if now == then or abs(now - then) < 1e-12:
        return "none"
    if math.isinf(now):
        return "no longer rules a secret out"
    return "\u221e" if math.isinf(then) else f"{MINUS_PLUS[then > now]}{number_text(abs(then - now), 3)}"


# --------------------------------------------------------------------------------------------------
# The Markov quilts of every protected attribute, with what they tell and the noise that they leave.
# --------------------------------------------------------------------------------------------------

QUILTS_INTRO = (
    "A quilt shields the protected attribute from the remote columns: they tell no more than the quilt does. The less "
    "a quilt tells, the better; the fewer queried columns are near, the less noise has to be hidden."
)


MOST_PRINTED = 5

LISTED_QUILTS = 10
"""Quilts of each attribute that a calibration lists, beside those that could be used."""


def quilts_section(report: Analysis) -> Section | None:
    """Return the quilts, the least telling first; nothing where no attribute can shield another."""
    # in a belief all depends on all: there is no quilt to show
    if report.network is None or len(report.network.attributes) < 2 or report.network.reading.own_graph:
        return None
    blocks = tuple(block for row in report.attributes for block in _of(row))
    return Section(
        title="Quilts (shields), the least telling first",
        blocks=(Paragraph(QUILTS_INTRO), *blocks),
        id="quilts",
        folded=True,
    )


def _of(row: AttributeReport) -> Iterator[Table | Paragraph]:
    if not row.quilts:
        yield Paragraph(("For ", Name(row.protected), " there is none: no column is shielded from it by others."))
        return
    more = f"{row.more} more." if row.more else ""
    if row.more is None:
        more = "There are more quilts; they were not counted."
    yield _quilts_table(row.protected, row.quilts, more)


def _quilts_table(protected: str, quilts: Sequence[RankedQuilt], more: str) -> Table:
    endless = any(line.influence is not None and math.isinf(line.nats) for line in quilts)
    mu = any(line.influence is not None and line.influence.mu is not None for line in quilts)
    noisy = any(line.noise is not None for line in quilts)
    shown = told_header("quilt", endless=endless, mu=mu)
    start = len(shown)
    header = (*shown, *(("queried and near", "answer moves by", "scale") if noisy else ()), "near", "remote")
    numbers = (*told_numbers(endless=endless, mu=mu), *((start + 1, start + 2) if noisy else ()))
    return Table(
        caption=f"Markov quilts for {name_text(protected)}, the least telling first",
        header=header,
        rows=[_quilt_row(line, endless=endless, mu=mu, noisy=noisy) for line in quilts],
        numbers=numbers,
        more=more,
    )


def _quilt_row(row: RankedQuilt, *, endless: bool, mu: bool, noisy: bool) -> tuple[Text | Cell, ...]:
    # of one column the table of columns says how it was found, where no assignment attains it
    alone = row.influence is not None and len(row.quilt.quilt) == 1 and not row.influence.assignment
    found = "" if row.influence is None or alone else witness_text(row.influence)
    reached = f"reached at {found}" if row.influence is not None and row.influence.assignment else found
    first = Cell((Names(tuple(row.quilt.quilt), nothing="no column at all"),), note=reached)
    told = told_cells(first, row.influence, endless=endless, mu=mu)
    if row.influence is None:
        told = (first, "too large", *("" for _ in told[2:]))
    near = Names(tuple(row.quilt.near - {row.quilt.protected}), most=6)
    return (*told, *(_noise(row) if noisy else ()), (near,), (Names(tuple(row.quilt.remote), most=6),))


def _noise(row: RankedQuilt) -> tuple[Text, Text, Text]:
    if row.noise is None:
        return "", "", ""
    scale = number_text(row.noise.scale) if row.noise.scale < math.inf else "tells too much"
    shown: Text = (Badge("used", "good"), " ", scale) if row.noise.wins else scale
    return (Names(tuple(row.noise.queried_near)),), number_text(row.noise.sensitivity.upper), shown


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RankedQuilts(Sequence[RankedQuilt], HasCard):
    """The quilts of every protected attribute with what they tell, and for a query with the noise that they leave.

    A calibration and a report have them as `quilts`; the least telling come first, and those that are used, or that
    tell less than every other one by which the answer is moved no more, are always among them.

    Parameters
    ----------
    rows : tuple of RankedQuilt
        One protected attribute after the other.
    more : bool
        Whether there are others.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.count(bp.col("height") > 180), 0.5)
    >>> calibration.quilts
    RankedQuilts(3)
    >>> calibration.quilts.to_pandas()["quilt"].to_list()
    [(), ('height',), ('gender', 'height')]
    """

    rows: tuple[RankedQuilt, ...]
    more: bool = False

    @overload
    def __getitem__(self, index: int) -> RankedQuilt: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RankedQuilt]: ...

    def __getitem__(self, index: int | slice) -> RankedQuilt | Sequence[RankedQuilt]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"RankedQuilts({len(self)})"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each quilt, by protected attribute.

        Returns
        -------
        pandas.DataFrame
            Columns quilt, near and remote: tuples of names; influence: what the quilt tells, in nats, NaN where that is
            not known; sensitivity and scale: how far the queried columns that are near can move the answer, and the
            noise that hides it, NaN without a query; used: whether the noise rests on this quilt; witness: where the
            influence is reached. ``attrs["more"]`` says whether there are other quilts.
        """
        import pandas as pd

        columns = ["quilt", "near", "remote", "influence", "sensitivity", "scale", "used", "witness"]
        index = pd.Index([row.quilt.protected for row in self], name="protected")
        frame = pd.DataFrame([_cells(row) for row in self], columns=columns, index=index)
        frame.attrs["more"] = self.more
        return frame

    def to_networkx(self, place: int | None = None) -> nx.DiGraph[str]:
        """Return the network, every node with its role in a quilt.

        Parameters
        ----------
        place : int, optional
            Which quilt; by default the first that is used, or the first.

        Returns
        -------
        networkx.DiGraph
            Nodes have a role, "protected", "quilt", "near" or "remote", and a color; edges have a side: "near",
            "remote", "quilt" within the quilt, or "blocked" where near and remote meet in what nobody sees.
        """
        return self._drawn(place).to_networkx()

    def _drawn(self, place: int | None) -> MarkovQuilt:
        used = next((k for k, row in enumerate(self) if row.noise is not None and row.noise.wins), 0)
        return self.rows[used if place is None else place].quilt

    @property
    def document(self) -> Document:
        """Return the quilts as tables, and the one that is used in the drawing of its network."""
        names = tuple(dict.fromkeys(row.quilt.protected for row in self))
        of = {name: [row for row in self if row.quilt.protected == name] for name in names}
        more = "There are others." if self.more else ""
        tables = tuple(_quilts_table(name, rows, more) for name, rows in of.items())
        return Document(
            kind="ranked quilts",
            kicker="bnpriv Markov quilts",
            headline="Markov quilts, the least telling first" if self.rows else "No Markov quilts",
            lead=QUILTS_INTRO if self.rows else "No column is shielded from a protected attribute by others.",
            short=tuple(map(_quilt_line, self.rows[:MOST_PRINTED])),
            answer=(*tables, *((quilt_figure(self._drawn(None)),) if self.rows else ())),
        )


def _quilt_line(row: RankedQuilt) -> Text:
    """Return what is printed of a quilt."""
    told = "is too large to tell" if row.influence is None else told_text(row.influence)
    noise = ""
    if row.noise is not None:
        noise = f"; scale {number_text(row.noise.scale)}" if row.noise.scale < math.inf else "; tells too much"
        noise += ", used" if row.noise.wins else ""
    return Names(tuple(row.quilt.quilt), nothing="The empty quilt"), f" {told}{noise}."


def _cells(row: RankedQuilt) -> list[object]:
    noise, told = row.noise, row.influence
    return [
        *(tuple(sorted(side)) for side in (row.quilt.quilt, row.quilt.near, row.quilt.remote)),
        math.nan if told is None or told.unknown is not None else row.nats,
        math.nan if noise is None else noise.sensitivity.upper,
        math.nan if noise is None else noise.scale,
        noise is not None and noise.wins,
        "" if told is None else witness_text(told),
    ]


def ranked_quilts(quilts: MarkovQuilts) -> RankedQuilts:
    """Return the quilts of one attribute, in their order, with what each tells: behind `MarkovQuilts.to_pandas`."""
    found = list(islice(quilts, MOST_QUILTS + 1))
    told = quilt_influences(quilts.network, quilts.protected, [quilt.quilt for quilt in found[:MOST_QUILTS]])
    rows = (RankedQuilt(quilt=quilt, influence=each) for quilt, each in zip(found, told, strict=False))
    return RankedQuilts(rows=tuple(rows), more=len(found) > MOST_QUILTS)


def calibration_quilts(calibration: Calibration) -> RankedQuilts:
    """Return the quilts behind the noise of a calibration: `Calibration.quilts`.

    Raises
    ------
    RefusedError
        If its noise does not rest on quilts.
    """
    if not any(isinstance(decision, Decision) for decision in calibration.certificate.decisions):
        raise RefusedError(
            "the noise must rest on Markov quilts",
            found=f"a calibration of the {calibration.mechanism}",
            remedy="Calibrate MarkovQuiltMechanism().",
        )
    subject = subject_of(calibration.framework, calibration.query)
    found = [attribute_quilts(subject, name, LISTED_QUILTS, calibration) for name in subject.secrets]
    return RankedQuilts(rows=tuple(row for rows, _ in found for row in rows), more=any(left != 0 for _, left in found))
