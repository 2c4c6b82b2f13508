"""The report as a page: what is protected, what leaks along which path, what noise a query needs, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bnpriv.frameworks import observer_text, odds
from bnpriv.mechanisms import Calibration
from bnpriv.mechanisms.pages import (
    comparison_section,
    from_whom,
    guarantee_quote,
    noise_section,
    protected_list,
    trust_section,
    verdict_badge,
)
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.verdict import brief_text
from bnpriv.networks import IntervalNetwork
from bnpriv.render.html import (
    Html,
    code,
    element,
    facts,
    fragment,
    items,
    join,
    listed,
    name,
    names,
    page,
    section,
)
from bnpriv.render.text import number_text, shorten, visible
from bnpriv.report.beliefs import beliefs_shown
from bnpriv.report.edges import leak_path
from bnpriv.report.html_attribute import drawing, edges_table, heat, quilts_table
from bnpriv.report.reading import reading_tables
from bnpriv.report.slider import slider_script, slider_section
from bnpriv.report.values import AttributeReport
from bnpriv.report.words import (
    WORDS,
    drawn_text,
    draws_text,
    headline,
    lead,
    node_text,
    path_text,
    setting_text,
)

if TYPE_CHECKING:
    from bnpriv.report.influence_report import InfluenceReport


def report_page(report: InfluenceReport) -> Html:
    """Return the whole page."""
    subject, rest = headline(report)
    title = f"{subject} {rest}"
    return page(shorten(visible(title), 120), _head(report), *_sections(report), script=slider_script(report))


def report_fragment(report: InfluenceReport) -> Html:
    """Return what a notebook shows: the same without the slider, which needs a page of its own."""
    last = element("p", "report.to_html(path) writes a page with an epsilon slider.", class_="small soft")
    return fragment(_head(report), *_sections(report, live=False), last)


def _head(report: InfluenceReport) -> Html:
    subject, rest = headline(report)
    if report.query is not None:
        shown = code(subject)
    elif subject in report.network.attributes:
        shown = join("Of all columns ", name(subject))
    else:
        shown = join(subject)
    return join(
        element("p", "bnpriv influence report · ", setting_text(report), class_="kicker"),
        element("h1", shown, " ", rest),
        element("p", lead(report), class_="lead"),
        facts(_facts(report)),
    )


def _facts(report: InfluenceReport) -> list[tuple[str, str]]:
    """Return the six questions that a report answers."""
    best = _best(report.plan)
    sees = "a statistic of these columns" if report.query is None else "the answer"
    by_intervals = isinstance(report.network, IntervalNetwork)
    models = drawn_text(report)
    observer = observer_text(report.network.models, by_intervals=by_intervals, models_text=models)
    rows = [
        ("What is protected", _protected(report) if best is None else protected_list(best.guarantee)),
        ("From whom", from_whom(observer, sees)),
    ]
    rows.append(("What leaks most", join(*(element("div", _leak(row)) for row in report.attributes))))
    if best is not None:
        rows.append(("What noise it needs, and why", brief_text(best)))
        useful = join(verdict_badge(best), " ", str(best.useful))
        rows.append(("Is the answer still useful?", useful))
    source = "not stated" if report.source is None else report.source
    trusted = join("That no dependence is missing in it. Source: ", element("b", source), ".")
    rows.append(("What the model must be trusted for", trusted))
    return rows


ARROW = "\u2192"
SHORTEST = 18
"""Longer names are shortened somewhere on the page."""

MOST_ROWS = 6
"""Rows of the network that are shown without being unfolded."""

MOST_STATES = 8
"""States, or pairs of secrets, that are listed."""


def _best(plan: Plan | None) -> Calibration | None:
    return plan.best if plan is not None and plan.calibrations else None


def _protected(report: InfluenceReport) -> Html:
    lines: list[Html] = []
    for row in report.attributes:
        states = report.network.states[row.protected]
        shown: list[str] = [name(str(state), 24) for state in states[:MOST_STATES]]
        which = listed([*shown, f"and {len(states) - len(shown)} more"] if len(states) > len(shown) else shown)
        every = len(row.pairs) == len(states) * (len(states) - 1)
        pairs = "no two of these may be told apart" if every else f"not to be told apart: {_pairs(row)}"
        lines.append(element("div", name(row.protected), ", which may be ", which, f"; {pairs}."))
    return join(*lines)


def _pairs(row: AttributeReport) -> str:
    """Return the unordered pairs of secrets."""
    once = [pair for k, pair in enumerate(row.pairs) if pair.reverse not in row.pairs[:k]]
    shown = ", ".join(f"{visible(str(pair))}" for pair in once[:MOST_STATES])
    return shown if len(once) <= MOST_STATES else f"{shown} and {len(once) - MOST_STATES} more pairs"


def _leak(row: AttributeReport) -> Html:
    """Return which column tells most, and along which path."""
    if not row.columns or float(row.columns[0]) == 0:
        return join("No single column tells anything about ", name(row.protected), ".")
    top = row.columns[0]
    told = float(top)
    moved = "it can rule out a secret"
    if not math.isinf(told):
        moved = f"{number_text(told)} nats (the odds move by at most a factor {odds.factor_text(told)})"
    path = element("b", path_text(leak_path(top)).replace("->", ARROW))
    return join(names(top.columns), " about ", name(row.protected), f": {moved}, along ", path, ".")


def _sections(report: InfluenceReport, *, live: bool = True) -> Iterable[Html]:
    yield _columns_section(report)
    yield _network_section(report)
    best = _best(report.plan)
    if best is not None:
        yield noise_section(best)
        if live:
            yield slider_section(report)
    if report.plan is not None:
        yield comparison_section(report.plan.calibrations, report.plan.refusals)
    yield _belief_section(report)
    yield _quilt_section(report)
    yield _edge_section(report)
    for made in reading_tables(report.network.reading):
        yield section(made.title, made.html, id_="reading")
    yield trust_section(report.source, report.assumptions, best)
    if best is not None:
        yield section("The guarantee, word for word", guarantee_quote(best), id_="guarantee")
    yield section("Words", element("dl", *(_word(word, meaning) for word, meaning in WORDS), class_="facts"))
    yield _long_names(report)


def _word(word: str, meaning: str) -> Html:
    return element("div", element("dt", word), element("dd", meaning))


def _columns_section(report: InfluenceReport) -> Html:
    parts: list[Html] = [element("p", node_text(report)), *heat(report)]
    for row in report.attributes:
        if row.asked is not None and float(row.asked) > 0:
            parts += _explanation(row)
        if draws_text(row.asked):
            parts.append(element("p", "Over the draws, ", draws_text(row.asked)))
    return section("Which columns tell what, and how", *parts, id_="columns")


def _explanation(row: AttributeReport) -> Sequence[Html]:
    assert row.asked is not None
    verb = "tells" if len(row.asked.columns) == 1 else "tell"
    title = element("h3", "How ", names(row.asked.columns), f" {verb} about ", name(row.protected))
    first, *lines = row.asked.explain().splitlines()
    rows = [line for line in lines if line.startswith("Row: ")]
    carried = items(map(_line, rows))
    if len(rows) > MOST_ROWS:
        carried = element("details", element("summary", f"The {len(rows)} rows of the network that carry it"), carried)
    return (title, element("p", first), items(_line(line) for line in lines if line not in rows), carried)


def _line(line: str) -> Html:
    """Return a path, or a row of a table of the network."""
    kind, _, rest = line.partition(": ")
    if kind == "Path":
        return join("Path: ", element("b", rest.replace("->", ARROW).replace("<-", "\u2190")))
    return join("Row of the network: ", code(rest)) if kind == "Row" else join(line)


def _network_section(report: InfluenceReport) -> Html:
    return section("Where it runs in the network", *(drawing(report, row) for row in report.attributes), id_="network")


def _belief_section(report: InfluenceReport) -> Html:
    made = beliefs_shown(report)
    if not made:
        return Html()
    shown = element("p", made) if isinstance(made, str) else made.html
    return section("What a reader can come to believe", shown, id_="beliefs")


def _quilt_section(report: InfluenceReport) -> Html:
    intro = (
        "A quilt shields the protected attribute from the remote columns: they tell no more than the quilt does. The "
        "less a quilt tells, the better; the fewer queried columns are near, the less noise has to be hidden."
    )
    tables = map(quilts_table, report.attributes)
    return section("Quilts, the least telling first", element("p", intro), *tables, id_="quilts")


def _edge_section(report: InfluenceReport) -> Html:
    made = [edges_table(report, row) for row in report.attributes if row.edges]
    if not made:
        return Html()
    intro = (
        "What to question in the model: every edge between the protected attribute and these columns, with what they "
        "would tell if that dependence did not exist. An edge that changes much deserves the best evidence."
    )
    return section("Which dependences matter", element("p", intro), *made, id_="edges")


def _long_names(report: InfluenceReport) -> Html:
    """Return long names in full: on paper and on a phone nobody can point at them."""
    long = [attribute for attribute in report.network.attributes if len(visible(attribute)) > SHORTEST]
    if not long:
        return Html()
    rows = (element("li", element("bdi", attribute)) for attribute in long)
    return section("Long names in full", element("ul", *rows, class_="small"))
