"""The sections of documents that are about calibrations: the noise and its reasons, beliefs, trust, comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from bnpriv.errors import Refusal
from bnpriv.frameworks.guarantee import Guarantee
from bnpriv.frameworks.guarantee_facts import belief_section
from bnpriv.mechanisms import answer, verdict
from bnpriv.mechanisms.calibrated import Calibrated, Method
from bnpriv.mechanisms.certificate import Certificate, Decision
from bnpriv.mechanisms.certificate_document import MOST_REASONS
from bnpriv.mechanisms.curves import channel_figures, curve_sections
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.law_drawing import law_drawing
from bnpriv.mechanisms.noise_words import scales_text, together
from bnpriv.mechanisms.posterior_draws import model_text
from bnpriv.mechanisms.proved_limit import Limit
from bnpriv.mechanisms.shape import RULES
from bnpriv.noise.channel import Channel
from bnpriv.noise.intervals import is_none
from bnpriv.noise.words import noise_name
from bnpriv.render import document as doc
from bnpriv.render.bars import noise_bar
from bnpriv.render.document import Block, Inline, Paragraph, Section, Table, Text
from bnpriv.render.text import full_text, number_text, upper_chance, upper_percent, upper_text

Refusals = Sequence[tuple[Method, Refusal]]

MOST_IN_CELL = 2
"""Of more parts a table of mechanisms shows the least and the largest number."""


def calibration_document(calibration: Calibrated) -> doc.Document:
    """Return what a calibration says: its noise, why, and the guarantee."""
    badge = answer.verdict_badge(calibration)
    return doc.Document(
        kind="calibration",
        kicker="bnpriv calibration",
        title=f"{calibration.query}: noise and guarantee",
        headline=answer.headline(calibration),
        verdict=badge.text,
        tone=badge.tone,
        lead=verdict.share_text(calibration),
        answer=answer.noise_figure(calibration),
        facts=answer.answer_facts(calibration),
        sections=calibration_sections(calibration),
        data=answer.calibration_data(calibration),
    )


def calibration_sections(calibration: Calibrated) -> tuple[Section, ...]:
    """Return all sections that are about one calibration."""
    channel = calibration.certificate.channel
    return (
        noise_section(calibration),
        *(() if channel is None else (channel.section,)),
        *curve_sections(calibration),
        guarantee_section(calibration.guarantee),
        belief_section(calibration.guarantee),
        trust_section(calibration.certificate.source, calibration.certificate.assumptions, calibration.certificate),
    )


def noise_section(calibration: Calibrated) -> Section:
    """Return how much noise there is, and why."""
    certificate = calibration.certificate
    further = (*certificate.notes, *(f"No constraint: {pair}." for pair in certificate.dropped))
    by_quilts = any(isinstance(decision, Decision) for decision in certificate.decisions)
    reason = f" {verdict.reason_text(calibration)}" if by_quilts else ""
    return Section(
        title="What noise it needs, and why",
        id="noise",
        blocks=(
            Paragraph(f"{verdict.noise_text(calibration)}{reason}"),
            *_parts(calibration),
            *together(calibration.noise, calibration.query, calibration.framework.schema),
            *_decisions(calibration),
            *((doc.Items(further),) if further else ()),
        ),
    )


def _parts(calibration: Calibrated) -> Iterable[Block]:
    """Yield what becomes of each part of an answer of several parts, where there is noise."""
    shape = calibration.shape
    if shape is None or calibration.scale == 0:
        return
    rows = zip(shape.parts, shape.weights, shape.scales, calibration.useful.parts, strict=True)
    equal = "" if shape.equal is None or shape.is_equal else f"; equal weights: scale {number_text(max(shape.equal))}"
    yield Table(
        caption=f"The parts of the answer, weighed {RULES[shape.name]}{equal}",
        header=("part", "weight", "scale", "19 of 20 releases err by at most", "of its range", "verdict"),
        rows=[
            (
                (doc.Code(part.label),),
                number_text(weight),
                number_text(scale),
                upper_text(use.error),
                "not declared" if math.isnan(use.share) else upper_percent(use.share),
                (doc.Badge(use.verdict, verdict.TONES[use.verdict]),),
            )
            for part, weight, scale, use in rows
        ],
        numbers=(1, 2, 3, 4),
    )


def _decisions(calibration: Calibrated) -> Iterable[Block]:
    """Yield what decided the noise, for every protected attribute."""
    found = calibration.certificate.decisions
    rows = [_decision(decision, calibration) for decision in found[:MOST_REASONS] if isinstance(decision, Decision)]
    left = len(found) - MOST_REASONS
    if rows:
        yield Table(
            caption="What decided the noise",
            header=(
                "protected",
                "pair of secrets",
                "noise hides",
                "answer moves by",
                "quilt",
                "it tells (nats)",
                "scale",
            ),
            rows=rows,
            numbers=(3, 5),
            more=f"{left:,} more decisions, for which no more noise is needed." if left > 0 else "",
        )
    elif calibration.certificate.reasons:
        yield doc.Items(calibration.certificate.reasons)
    by_laws = next((decision for decision in found if isinstance(decision, LawDecision)), None)
    drawn = None if by_laws is None else law_drawing(by_laws)
    if drawn is not None:
        yield drawn
    yield from channel_figures(calibration)


def _decision(decision: Decision, calibration: Calibrated) -> tuple[tuple[Inline, ...] | str, ...]:
    quilt = tuple(decision.quilt.quilt)
    passed = f", more with delta {upper_chance(decision.excess)}" if decision.excess else ""
    nothing = "the trivial quilt" if decision.queried_near else "none needed"
    return (
        (doc.Name(decision.protected),),
        str(decision.pair) + model_text(decision.model, decision.models),
        (doc.Names(tuple(decision.queried_near), nothing="nothing"),),
        number_text(decision.sensitivity.upper),
        (doc.Names(quilt, nothing=nothing),),
        upper_text(decision.influence.upper) + passed,
        verdict.arithmetic_text(decision, calibration.epsilon),
    )


def guarantee_section(guarantee: Guarantee) -> Section:
    """Return the guarantee, word for word."""
    return Section(title="The guarantee, word for word", id="guarantee", blocks=(doc.Quote(guarantee.sentence),))


def trust_section(source: str | None, assumptions: Iterable[str], certificate: Certificate | None) -> Section:
    """Return where the model comes from, and what must hold outside the library."""
    theorem: tuple[Block, ...] = ()
    if certificate is not None:
        theorem = (Paragraph(f"Theorem: {certificate.theorem}. Its numbers are {certificate.known}."),)
    origin = Paragraph(("Source of the model: ", doc.Strong("not stated" if source is None else source), "."))
    assumed = tuple(f"Assumed: {assumption}" for assumption in assumptions)
    return Section(
        title="What the model must be trusted for",
        id="trust",
        blocks=(origin, *((doc.Items(assumed),) if assumed else ()), *theorem),
        folded=True,
    )


def comparison_section(calibrations: Sequence[Calibrated], refusals: Refusals, limit: Limit) -> Section:
    """Return what every mechanism would do, the one with the least expected error first, and which ones cannot."""
    compared: tuple[Block, ...] = ()
    if calibrations:
        compared = (comparison_table(calibrations, limit), Paragraph(limit.text), *_smaller_delta(calibrations))
    return Section(title="The mechanisms compared", id="plan", blocks=(*compared, *refused(refusals)))


def _smaller_delta(calibrations: Sequence[Calibrated]) -> Iterable[Block]:
    """Yield that some mechanisms were calibrated for less delta than was asked for, where they were."""
    deltas = sorted({calibration.delta for calibration in calibrations})
    if len(deltas) > 1:
        yield Paragraph(
            f"Mechanisms that refuse a delta of one over the number of records or more, as {full_text(deltas[-1])} is, "
            f"were calibrated for {number_text(deltas[0])}."
        )


def comparison_table(calibrations: Sequence[Calibrated], limit: Limit) -> Table:
    """Return one row per mechanism, with its error drawn against the range of the answer, to one scale."""
    drawn = answer.narrowest(calibrations[0]) is not None and any(calibration.scale for calibration in calibrations)
    bars = "bars: the range of the answer (tall) and the error (short), all to one scale" if drawn else ""
    shape = calibrations[0].shape
    by_share = shape is not None and shape.by_share
    # what stands at the end of the table, though its error may be less
    last = "; after them what holds for the models drawn only" * any(each.holds_for_draws_only for each in calibrations)
    last += "; last baselines, which give another" * any(bool(each.guarantee.baseline_text) for each in calibrations)
    order = "mean error, as a share of the range of each part," if by_share else "expected error"
    return Table(
        caption=f"Every mechanism that gives this guarantee, the least {order} first{last}",
        drawn=bars,
        header=(
            *("mechanism", "noise", "scale", "mean error"),
            *((f"times the least{'' if limit.kind == 'exact' else ', at most'}",) if limit.least else ()),
            *("answer", "19 of 20 releases err by at most"),
        ),
        rows=[_compared(calibration, limit) for calibration in calibrations],
        numbers=(2, 3, 4) if limit.least else (2, 3),
    )


def _compared(calibration: Calibrated, limit: Limit) -> tuple[Text | doc.Cell, ...]:
    reach, found = answer.deciding_error(calibration), answer.narrowest(calibration)
    note = calibration.certificate.caution
    if calibration.guarantee.baseline_text:
        note = f"a baseline: epsilon {upper_text(calibration.guarantee.epsilon)} for the secrets"
    if calibration.holds_for_draws_only:
        note = "for the models drawn only"
    error: doc.Cell | str = verdict.errors_text(calibration, MOST_IN_CELL)
    over = limit.over(calibration)
    unlike = verdict.averaged_text(calibration).removeprefix(", ") if limit.least and over is None else ""
    if reach and found is not None:
        length = found[1] - found[0]
        desc = f"{upper_percent(reach / length)} of the range of {found[2]}"
        error = doc.Cell(error, drawing=noise_bar(length, reach, title="Error against range", desc=desc))
    return (
        doc.Cell((doc.Code(str(calibration.mechanism)),), note=note),
        "none" if is_none(calibration.noise) else noise_name(calibration.noise),
        "-" if isinstance(calibration.noise, Channel) else scales_text(calibration, MOST_IN_CELL),
        doc.Cell(_mean_error(calibration), note=unlike),
        *(("-" if over is None else upper_text(over),) if limit.least else ()),
        (answer.verdict_badge(calibration),),
        error,
    )


def _mean_error(calibration: Calibrated) -> str:
    """Return the mean error; where parts have different ranges its share of them, averaged over the parts."""
    shape = calibration.shape
    if shape is None or not shape.by_share:
        return number_text(calibration.expected_error)
    ranged = sum(0 < width < math.inf for width in shape.ranges)
    return upper_percent(shape.relative_error(calibration.noise) / ranged)


def refused(refusals: Refusals) -> tuple[Section, ...]:
    """Return which mechanisms cannot answer, those with the same reason together."""
    if not refusals:
        return ()
    by_reason: dict[Refusal, list[Inline]] = {}
    for mechanism, reason in refusals:
        by_reason.setdefault(reason, []).extend([", ", doc.Code(str(mechanism))])
    many = "1 mechanism" if len(refusals) == 1 else f"{len(refusals)} mechanisms"
    items = tuple((*names[1:], f": {reason}") for reason, names in by_reason.items())
    return (Section(title=f"Not possible: {many}", blocks=(doc.Items(items),), folded=True),)
