"""A calibration as HTML: in a notebook, as a page, and as part of other pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bnpriv.frameworks import Guarantee, odds
from bnpriv.mechanisms.certificate import Decision
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.law_drawing import law_drawing
from bnpriv.mechanisms.verdict import (
    LEVEL,
    TONES,
    arithmetic_text,
    brief_text,
    noise_text,
    reason_text,
    share_text,
    verdict_text,
)
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.bars import bar_legend, noise_bar
from bnpriv.render.html import (
    Html,
    badge,
    code,
    element,
    facts,
    fragment,
    items,
    join,
    name,
    names,
    page,
    section,
    table,
)
from bnpriv.render.text import number_text, percent_text

if TYPE_CHECKING:
    from bnpriv.errors import Refusal
    from bnpriv.mechanisms.base import Calibration, Mechanism

    Refusals = Sequence[tuple[Mechanism, Refusal]]


def calibration_page(calibration: Calibration) -> Html:
    """Return a page about one calibration."""
    return page(
        f"{calibration.query}: noise and guarantee",
        _head(calibration, "bnpriv calibration"),
        *calibration_sections(calibration),
    )


def calibration_fragment(calibration: Calibration) -> Html:
    """Return what a notebook shows of a calibration."""
    parts = (element("p", str(calibration.mechanism), class_="kicker"), headline(calibration))
    noise = element("p", noise_text(calibration), " ", reason_text(calibration))
    return fragment(*parts, noise, range_bar(calibration), guarantee_quote(calibration))


def headline(calibration: Calibration) -> Html:
    """Return the verdict as a heading."""
    return element("h1", code(str(calibration.query)), " ", verdict_text(calibration))


def _head(calibration: Calibration, kicker: str) -> Html:
    return join(
        element("p", kicker, class_="kicker"),
        headline(calibration),
        element("p", share_text(calibration), class_="lead"),
        calibration_facts(calibration),
    )


def calibration_facts(calibration: Calibration) -> Html:
    """Return who is kept from learning what, the noise, and whether the answer is of use."""
    return facts(
        (
            ("Protected", protected_list(calibration.guarantee)),
            ("From whom", from_whom(calibration.guarantee.observer)),
            ("Noise", brief_text(calibration)),
            ("Still useful?", join(verdict_badge(calibration), " ", str(calibration.useful))),
            ("Mechanism", code(str(calibration.mechanism))),
            ("Model from", calibration.guarantee.source),
        )
    )


def protected_list(guarantee: Guarantee) -> Html:
    """Return what is protected, one line for every attribute."""
    return join(*(element("div", f"{secret}.") for secret in guarantee.secrets))


def from_whom(observer: str, sees: str = "the answer") -> str:
    """Return who must not learn the secrets."""
    return f"Anybody who sees {sees} and believes {observer}, whatever they do with it."


def calibration_sections(calibration: Calibration) -> Sequence[Html]:
    """Return the sections of a page that are about the calibration."""
    return (
        noise_section(calibration),
        belief_section(calibration.guarantee),
        trust_section(calibration.certificate.source, calibration.certificate.assumptions, calibration),
        section("The guarantee", guarantee_quote(calibration)),
    )


def verdict_badge(calibration: Calibration) -> Html:
    """Return the verdict in one coloured word."""
    verdict = calibration.useful.verdict
    return badge(verdict, TONES[verdict])


def noise_section(calibration: Calibration) -> Html:
    """Return how much noise there is, why, and how large it is against the answer's range."""
    certificate = calibration.certificate
    further = [*certificate.notes, *(f"No constraint: {pair}." for pair in certificate.dropped)]
    return section(
        "What noise it needs, and why",
        element("p", noise_text(calibration), " ", reason_text(calibration)),
        range_bar(calibration),
        decisions(calibration),
        items(further) if further else "",
        id_="noise",
    )


def decisions(calibration: Calibration) -> Html:
    """Return what decided the noise, for every protected attribute."""
    found = calibration.certificate.decisions
    rows = [_decision(decision, calibration) for decision in found if isinstance(decision, Decision)]
    by_laws = [decision for decision in found if isinstance(decision, LawDecision)]
    others = () if rows else calibration.certificate.reasons
    header = (
        "protected",
        "worst pair of secrets",
        "noise hides",
        "answer moves by",
        "quilt",
        "it tells (nats)",
        "scale",
    )
    made = table(header, rows, "What decided the noise", numbers=(3, 5)) if rows else Html()
    return join(made, items(others) if others else "", law_drawing(by_laws[0]) if by_laws else "")


def _decision(decision: Decision, calibration: Calibration) -> Sequence[str]:
    return (
        name(decision.protected),
        str(decision.pair) + (f", model {decision.model}" if calibration.guarantee.models > 1 else ""),
        names(decision.queried_near, nothing="nothing"),
        number_text(decision.sensitivity.upper),
        names(decision.quilt.quilt, nothing="none needed"),
        number_text(decision.influence.upper) + (f", excess {decision.excess:.2g}" if decision.excess else ""),
        element("span", arithmetic_text(decision, calibration.epsilon), class_="calc"),
    )


def range_bar(calibration: Calibration, *, live: bool = False) -> Html:
    """Return the noise against the range of the answer, drawn to scale."""
    found = narrowest(calibration)
    reach = calibration.quantile(LEVEL)
    if found is None:
        return element("p", "The range of the answer is not declared, so the noise cannot be drawn against it.")
    low, high, label = found
    span_text = f"range of {label}: {number_text(low)} to {number_text(high)}"
    reach_text = f"19 of 20 releases err by at most {number_text(reach)}" if reach else "no noise"
    shown = percent_text(reach / (high - low))
    desc = f"The {span_text}; {reach_text}, {shown} of the range."
    bar = noise_bar(high - low, reach, title="Noise against the range of the answer", desc=desc, live=live)
    return element(
        "figure",
        bar,
        bar_legend(span_text, reach_text, live=live),
        element(
            "figcaption",
            "Drawn to scale around the middle of the range; no data have been looked at.",
            class_="small soft",
        ),
    )


def narrowest(calibration: Calibration) -> tuple[float, float, str] | None:
    """Return the range of the output with the narrowest one, and what it is; None when no range is declared."""
    schema = calibration.framework.schema
    lower, upper = answer_range(calibration.query, schema)
    ranges = [
        (float(low), float(high), k)
        for k, (low, high) in enumerate(zip(lower, upper, strict=True))
        if 0 < high - low < math.inf
    ]
    if not ranges:
        return None
    low, high, _ = min(ranges, key=lambda found: found[1] - found[0])
    return low, high, "the answer" if len(lower) == 1 else "the narrowest number of the answer"


def belief_section(guarantee: Guarantee) -> Html:
    """Return how far beliefs in a secret can move, or the odds where no belief is bounded."""
    if guarantee.with_belief:
        header = ("before", "at most after")
        made = table(header, odds.belief_rows(guarantee.nats), guarantee.belief_caption, numbers=(1,))
    else:
        made = element("p", guarantee.odds_text)
    return section("What a reader can come to believe", made, id_="beliefs")


def guarantee_quote(calibration: Calibration) -> Html:
    """Return the guarantee, word for word."""
    return element("blockquote", element("p", calibration.guarantee.sentence))


def trust_section(source: str | None, assumptions: Sequence[str], calibration: Calibration | None) -> Html:
    """Return where the model comes from and what must hold outside the library."""
    origin = "not stated" if source is None else source
    theorem: Sequence[str] = ()
    if calibration is not None:
        certificate = calibration.certificate
        theorem = (element("p", f"Theorem: {certificate.theorem}. Its numbers are {certificate.known}."),)
    return section(
        "What the model must be trusted for",
        element("p", "Source of the model: ", element("b", origin), "."),
        items(assumptions),
        *theorem,
        id_="trust",
    )


def comparison_page(calibrations: Sequence[Calibration], refusals: Refusals) -> Html:
    """Return a page that compares what every mechanism would do for one query."""
    if not calibrations:
        text = element("h1", "No mechanism supports this query")
        return page("No mechanism", element("p", "bnpriv plan", class_="kicker"), text, _refusals(refusals))
    best = calibrations[0]
    return page(
        f"{best.query}: mechanisms compared",
        _head(best, "bnpriv plan"),
        comparison_section(calibrations, refusals),
        *calibration_sections(best),
    )


def comparison_fragment(calibrations: Sequence[Calibration], refusals: Refusals) -> Html:
    """Return what a notebook shows of a plan."""
    head = headline(calibrations[0]) if calibrations else element("h1", "No mechanism supports this query")
    promise = guarantee_quote(calibrations[0]) if calibrations else Html()
    return fragment(head, comparison_table(calibrations), _refusals(refusals), promise)


def comparison_section(calibrations: Sequence[Calibration], refusals: Refusals) -> Html:
    """Return the comparison as a section."""
    intro = "Every mechanism that gives this guarantee, the one with the least expected error first."
    return section(
        "The mechanisms compared", element("p", intro), comparison_table(calibrations), _refusals(refusals), id_="plan"
    )


def comparison_table(calibrations: Sequence[Calibration]) -> Html:
    """Return one row per mechanism, with its noise drawn against the range of the answer, to one scale."""
    if not calibrations:
        return Html()
    reaches = [calibration.quantile(LEVEL) for calibration in calibrations]
    found = narrowest(calibrations[0])
    header = ("mechanism", "noise", "scale", "mean error", "answer", "19 of 20 releases err by at most")
    rows = [
        (
            _mechanism(calibration),
            "none" if reach == 0 else type(calibration.noise).__name__,
            number_text(calibration.scale),
            number_text(calibration.expected_error),
            verdict_badge(calibration),
            _reach(reach, max(reaches), found),
        )
        for calibration, reach in zip(calibrations, reaches, strict=True)
    ]
    caption = "Bars: the range of the answer (tall) and the error (short), all to one scale" if found else "All errors"
    return table(header, rows, caption, numbers=(2, 3))


def _mechanism(calibration: Calibration) -> Html:
    caution = calibration.certificate.caution
    shown = code(str(calibration.mechanism))
    return join(shown, element("div", caution, class_="small soft")) if caution else shown


def _reach(reach: float, longest: float, found: tuple[float, float, str] | None) -> Html:
    shown = element("div", number_text(reach))
    if found is None:
        return shown
    length = found[1] - found[0]
    desc = f"{percent_text(reach / length)} of the range of {found[2]}"
    bar = noise_bar(length, reach, title="Error against range", desc=desc, whole=max(length, 2 * longest))
    return join(shown, bar)


def _refusals(refusals: Refusals) -> Html:
    if not refusals:
        return Html()
    rows = [join(code(str(mechanism)), f": {reason}") for mechanism, reason in refusals]
    return join(element("p", "Not possible:"), items(rows))
