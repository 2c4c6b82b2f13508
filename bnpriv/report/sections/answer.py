"""What is said first, for every kind of model alike: the questions that a report answers below its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bnpriv.evidence.draws import WHOLE_TABLES
from bnpriv.frameworks import odds
from bnpriv.frameworks.guarantee_facts import observer_fact, protected_fact, sureness_fact
from bnpriv.mechanisms.answer import query_facts
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.verdict import brief_text
from bnpriv.render.document import Fact, Name, Names, Strong, Text, fact
from bnpriv.render.text import of_nats, upper_text
from bnpriv.report.edges import leak_path
from bnpriv.report.sections.beliefs import belief_fact
from bnpriv.report.sections.laws import distance_text
from bnpriv.report.values import Analysis, AttributeReport
from bnpriv.report.words import endless_text, observed_text, path_text

UNBOUNDED = " is not known: nothing bounds it, and the noise does not lean on it being little."

ARROW = "\u2192"


def facts(report: Analysis, tries: Sequence[Text]) -> Iterator[Fact]:
    """Yield the questions that a report answers; `tries` is what to try next."""
    best = report.best
    secrets = report.protected if best is None else best.guarantee.secrets
    useless = best is not None and best.useful.verdict == "useless"
    if tries and useless:
        yield fact("What to try next", *tries)
    if report.query is not None:
        yield from query_facts(report.query)
    yield protected_fact(secrets)
    yield observer_fact(_observer(report), "a statistic of these columns" if report.query is None else "the answer")
    if best is not None:
        yield fact("What noise it needs, and why", brief_text(best))
        yield sureness_fact(best.guarantee)
    yield belief_fact(report)
    leaks = [_leak(row) for row in report.attributes if row.columns or row.asked or row.driven]
    if not leaks and isinstance(report.laws, LawDecision):
        leaks = [distance_text(report.laws)]
    if leaks:
        yield fact("What leaks most", *leaks)
    if tries and not useless:
        yield fact("What to try next", *tries)
    source = "not stated" if report.source is None else report.source
    yield fact("What the model must be trusted for", (_trusted(report), " Source: ", Strong(source), "."))


def _trusted(report: Analysis) -> str:
    if report.network is None:
        drawn = report.best is not None and WHOLE_TABLES in report.best.certificate.assumptions
        return "That tables are drawn as it says." if drawn else "That the declared laws are those of the answer."
    return "That no dependence is missing in it."


def _observer(report: Analysis) -> str:
    """Return what somebody who must not learn the secrets may believe."""
    if report.best is not None:
        return report.best.guarantee.observer
    if report.network is None or not report.attributes:
        return "one of the declared distributions"
    return observed_text(report.network)


def _leak(row: AttributeReport) -> Text:
    """Return which column tells most, and along which path."""
    direct = tuple(name for name, told in row.driven if told is None)
    if direct:
        return Names(direct), " about ", Name(row.protected), ": driven by it directly, which tells everything."
    top = row.columns[0] if row.columns else row.asked
    if top is None or float(top) == 0:
        return "No single column tells anything about ", Name(row.protected), "."
    if top.unknown is not None and math.isinf(float(top)):
        unknown = tuple(name for each in row.columns if each.unknown is not None for name in sorted(each.columns))
        verb = "tells" if len(unknown or top.columns) == 1 else "tell"
        return "What ", Names(unknown or tuple(top.columns), most=3), f" {verb} about ", Name(row.protected), UNBOUNDED
    told = float(top)
    if top.columns == frozenset({row.protected}):
        between = "" if math.isinf(told) else f", {of_nats(upper_text(told))}"
        return "The other values of ", Name(row.protected), f" tell about each of them{between}."
    if math.isinf(told):
        moved = f"it {endless_text(top)}"
    else:
        moved = f"{of_nats(upper_text(told))} (the odds move {odds.multiplied_text(told)})"
    edges = leak_path(top)
    path: Text = (", along ", Strong(path_text(edges).replace("->", ARROW))) if edges else ()
    return (Names(tuple(top.columns)), " about ", Name(row.protected), f": {moved}", *path, ".")
