"""What every column tells alone: a map of colours, and the same in numbers with what attains it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence
from bnpriv.influence.heat import LEGEND, heat_cell
from bnpriv.influence.sensitivity import influence_gradient
from bnpriv.render import document as doc
from bnpriv.render.bars import influence_bar
from bnpriv.render.document import Block, Name, Names, Paragraph, Section, Table, Text
from bnpriv.render.heat import HeatCell
from bnpriv.render.html import Html
from bnpriv.render.text import full_text, name_text, number_text, some_text, upper_chance, upper_text
from bnpriv.report.analysis import rare
from bnpriv.report.values import Analysis, AttributeReport
from bnpriv.report.words import draws_text, influence_text, node_text, not_worked_out, setting_text, witness_text

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
    "What is told here is told by one record, about that record; the secret is about the whole table, and the noise "
    "follows from the laws of the answer."
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
    small = report.network is not None and len(report.network.attributes) <= MOST_WITH_BARS
    if row is None or not small or len(told) < 2 or float(told[0]) == 0:
        return ()
    longest = max((float(each) for each in told if math.isfinite(float(each))), default=0.0)
    whose = name_text(row.protected)
    return (
        Table(
            caption=f"What single columns tell about {whose}, in nats",
            header=("column", "nats", ""),
            rows=[(_with_alike(row, each), *_bar(each, longest)) for each in told],
            numbers=(1,),
            more=f"{len(row.columns) - len(told)} more, which tell no more." if len(row.columns) > len(told) else "",
        ),
    )


def _bar(told: Influence, longest: float) -> tuple[str, doc.Cell]:
    if told.unknown is not None and math.isinf(float(told)):
        return "not known", doc.Cell("")
    nats, delta = float(told), rare(told)
    text = "too large" if math.isnan(nats) else upper_text(nats)
    drawn = influence_bar(nats, longest, title=f"{some_text(told.columns)}: {text}") if nats > 0 < longest else Html()
    return text, doc.Cell("" if delta is None else f"over 1 nat with delta {upper_chance(delta)}", drawing=drawn)


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
    for (_, column), influence in told.items():
        most[column] = max(most.get(column, 0.0), float(influence))
    if not most:
        return
    columns = sorted((name for name in report.network.attributes if name in most), key=lambda column: -most[column])
    silent = [column for column in columns if most[column] == 0] if len(columns) > MOST_SILENT_COLUMNS else []
    shown = columns[: len(columns) - len(silent)] or columns[:MOST_SILENT_COLUMNS]
    caption = "Influence of single columns, in nats: rows are protected attributes, columns what is seen"
    if report.epsilon is not None:
        rarely = f" with more than delta {full_text(report.delta)}" if report.delta else ""
        caption += f"; a star marks what tells more than epsilon {report.epsilon:g}{rarely}"
    yield doc.HeatMap(
        caption=caption,
        corner="protected",
        columns=tuple(shown),
        rows=[(row.protected, [_cell(told, row, column, report) for column in shown]) for row in report.attributes],
        legend=LEGEND,
        more=f"{len(columns) - len(shown)} more columns, which tell nothing." if len(shown) < len(columns) else "",
    )


def _cell(told: Mapping[tuple[str, str], Influence], row: AttributeReport, column: str, report: Analysis) -> HeatCell:
    influence = told.get((row.protected, column))
    if influence is None:
        return heat_cell(None if column == row.protected else math.nan, (column,))
    bound = f" ({witness_text(influence)})" if influence.too_large else ""
    return heat_cell(float(influence), influence.columns, marked=_too_much(influence, report), note=bound)


def _too_much(influence: Influence, report: Analysis) -> bool:
    """Return whether an influence is more than the budget allows without noise."""
    if report.epsilon is None or float(influence) <= report.epsilon:
        return False
    delta = influence.delta(report.epsilon) if report.delta else math.inf
    return isinstance(delta, Refusal) or not delta <= report.delta


def _attribute(report: Analysis, row: AttributeReport) -> Iterator[Block]:
    name = Name(row.protected)
    if row.columns or row.driven:
        yield Section(title="In numbers", blocks=(_table(row),), folded=True)
    if report.query is not None:
        yield Section(title=("The queried columns, about ", name), blocks=tuple(_queried(report, row)))
    if row.asked is not None and float(row.asked) > 0:
        yield _explanation(row.asked)
    if draws_text(row.asked):
        yield Paragraph(f"Over the draws, {draws_text(row.asked)}")


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
    more = [f"{left} more, which tell {what}."] if left else []
    more += [f"{'All' if notes[note] == len(lines) else f'{notes[note]} of these'}: {note}" for note in often]
    return Table(
        caption=f"What single columns tell about {name_text(row.protected)}",
        header=told_header("column", endless=endless, mu=mu, last=reached),
        rows=[
            told_cells(_noted(name, told, often), told, endless=endless, mu=mu, last=_last(told) if reached else None)
            for name, told in lines[:MOST_ROWS]
        ],
        numbers=told_numbers(endless=endless, mu=mu),
        more=" ".join(more),
    )


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
    return (first, "nats", *(["mu"] if mu else []), *deltas, *([last] if last else []))


def told_numbers(*, endless: bool, mu: bool) -> tuple[int, ...]:
    """Return which columns of such a table hold numbers."""
    return tuple(range(1, 2 + mu + endless * len(CURVE_EPSILONS)))


def told_cells(
    first: Text | doc.Cell, told: Influence | None, *, endless: bool, mu: bool, last: str | None = None
) -> tuple[Text | doc.Cell, ...]:
    """Return a row of such a table; what the protected attribute drives itself tells without bound."""
    nats = "infinite" if told is None else "too large" if math.isnan(float(told)) else upper_text(float(told))
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
    if row.is_queried:
        others = row.asked is not None and bool(row.asked.columns - {row.protected})
        rest = f"; besides, {influence_text(row.asked)}." if row.asked is not None and others else "."
        itself = report.query is None or row.protected in report.query.columns
        how = "The query reads it" if itself else f"{name_text(row.protected)} drives queried columns itself"
        yield Paragraph(f"{how}, which tells everything{rest}")
        return
    if row.asked is not None:
        yield Paragraph(f"{influence_text(row.asked)}.")
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


def _explanation(asked: Influence) -> Section:
    verb = "tells" if len(asked.columns) == 1 else "tell"
    lines = asked.explain().splitlines()
    rows = [line for line in lines[1:] if line.startswith("Row: ")]
    # how an estimate was refined has a table of its own
    others = [line for line in lines[1:] if line not in rows and not line.startswith("  ")]
    blocks: list[Block] = [Paragraph(lines[0])]
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
    return Section(title=title, blocks=tuple(blocks))


def _line(line: str) -> Text:
    kind, _, rest = line.partition(": ")
    if kind == "Path":
        return "Path: ", doc.Strong(rest.replace("->", "\u2192").replace("<-", "\u2190"))
    return ("Row: ", doc.Code(rest)) if kind == "Row" else line
