"""What is said first of a calibration: whether its answer is of use, the noise to scale, who is kept from what."""

from __future__ import annotations

import math

from bnpriv.frameworks.guarantee_facts import belief_fact, observer_fact, protected_fact, sureness_fact
from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.certificate import Decision
from bnpriv.mechanisms.noise_words import parts_differ
from bnpriv.mechanisms.verdict import LEVEL, TONES, brief_text, verdict_text
from bnpriv.noise.intervals import is_none
from bnpriv.queries.base import Query
from bnpriv.queries.derived import Derived, derivation
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.bars import bar_legend, cut_text, noise_bar
from bnpriv.render.document import Badge, Block, Code, Fact, Figure, Inline, Text, fact
from bnpriv.render.html import join
from bnpriv.render.text import Json, number_text, upper_percent, upper_text

LONGEST_QUERY = 120
"""Letters of a query that stands in a headline."""


def headline(calibration: Calibrated) -> Text:
    """Return the verdict as a sentence that begins with the query."""
    verdict = verdict_text(calibration)
    if calibration.guarantee.baseline_text:
        budget = f"epsilon {calibration.epsilon:g}"
        verdict = f"at {budget} for records: a baseline, to be compared with what protects the secrets"
    caution = calibration.certificate.caution
    return opened_text(calibration.query, f"{verdict} ({caution})" if caution else verdict)


def opened_text(query: Query, verdict: str) -> Text:
    """Return a sentence that begins with a query, or with declared laws."""
    if isinstance(query, GivenAnswer):
        text = str(query)
        return f"{text[0].upper()}{text[1:]} {verdict}"
    return *query_text(query), f" {verdict}"


def query_text(query: Query) -> tuple[Inline, ...]:
    """Return a query for a headline; one that is too long for it by its columns."""
    if _is_long(query):
        return (f"A query of {len(query.columns)} columns" if len(query.columns) > 1 else "A query of one column",)
    return (Code(str(query)),)


def query_facts(query: Query) -> tuple[Fact, ...]:
    """Return the query where it is too long for a headline."""
    return (fact("The query", (Code(str(query)),)),) if _is_long(query) else ()


def _is_long(query: Query) -> bool:
    return not isinstance(query, GivenAnswer) and len(str(query)) > LONGEST_QUERY


def derived_facts(calibration: Calibrated) -> tuple[Fact, ...]:
    """Return what the noise is added to, where the answer is worked out of other numbers, and what that bounds."""
    schema = calibration.framework.schema
    found = derivation(calibration.query, schema)
    if found is None:
        return ()
    halves, said = calibration.noise.quantiles(LEVEL), list[str]()
    if is_none(calibration.noise):
        said = [f"{query}: of {query.base_text(schema)}." for query, _ in found.pieces if isinstance(query, Derived)]
        what = "These numbers are released as they are; the rest uses no data, and costs no privacy."
        return (fact("The answer is worked out", " ".join([*said, what])),)
    for query, places in found.pieces:
        if isinstance(query, Derived):
            bounds = query.error_bounds([halves[k] for k in places], schema)
            errs = "".join(f"; the answer of 19 of 20 releases errs by at most {upper_text(each)}" for each in bounds)
            said.append(f"{query}: to {query.base_text(schema)}{errs}.")
    what = (
        "Noise, errors and shares of the range are told of these numbers. The answer is worked out of them after the "
    )
    return (fact("Noise is added", " ".join([*said, what + "release, from no data, which costs no privacy."])),)


def verdict_badge(calibration: Calibrated) -> Badge:
    """Return the verdict in one coloured word."""
    verdict = calibration.useful.verdict
    return Badge(verdict, TONES[verdict])


def answer_facts(calibration: Calibrated) -> tuple[Fact, ...]:
    """Return who is kept from learning what, the noise, how sure it is, one belief, the mechanism, and the source."""
    guarantee = calibration.guarantee
    return (
        *query_facts(calibration.query),
        *derived_facts(calibration),
        protected_fact(guarantee.secrets),
        observer_fact(guarantee.observer),
        fact("What noise it needs, and why", brief_text(calibration)),
        sureness_fact(guarantee),
        belief_fact(guarantee),
        fact("Mechanism", (Code(str(calibration.mechanism)),)),
        fact("Source of the model", guarantee.source),
    )


def noise_figure(calibration: Calibrated) -> tuple[Block, ...]:
    """Return the noise against the range of the answer; nothing where there is no noise, or no range."""
    found, reach = narrowest(calibration), deciding_error(calibration)
    if found is None or reach == 0:
        return ()
    low, high, label = found
    span_text = f"range of {label}: {number_text(low)} to {number_text(high)}"
    desc = f"The {span_text}; 19 of 20 releases err by at most {upper_text(reach)}, "
    desc += f"{upper_percent(reach / (high - low))} of the range."
    bar = noise_bar(high - low, reach, title="Noise against the range of the answer", desc=desc)
    legend = bar_legend(span_text, "error of 19 of 20 releases" + cut_text(high - low, reach))
    caption = "Drawn to scale around the middle of the range; no data have been looked at."
    return (Figure(join(bar, legend), caption),)


def narrowest(calibration: Calibrated) -> tuple[float, float, str] | None:
    """Return the range of the output whose error is the largest share of it, and what it is; None without a range.

    Where the noise of all numbers has one scale it is the narrowest range.
    """
    lower, upper = answer_range(calibration.query, calibration.framework.schema)
    ranges = [(float(low), float(high)) for low, high in zip(lower, upper, strict=True) if 0 < high - low < math.inf]
    if not ranges:
        return None
    if parts_differ(calibration) and calibration.shape is not None:
        place = calibration.useful.place
        (part,) = (part for part in calibration.shape.parts if place in part.places)
        return float(lower[place]), float(upper[place]), part.label
    low, high = min(ranges, key=lambda found: found[1] - found[0])
    return low, high, "the answer" if len(lower) == 1 else "the narrowest number of the answer"


def deciding_error(calibration: Calibrated) -> float:
    """Return by how much that output errs at most in 19 releases of 20."""
    return calibration.noise.quantiles(LEVEL)[calibration.useful.place]


def calibration_row(calibration: Calibrated) -> Json:
    """Return the noise of a calibration and what is left of the answer, as plain values."""
    return {
        "mechanism": str(calibration.mechanism),
        "noise": type(calibration.noise).__name__,
        "scale": calibration.scale,
        "expected_error": calibration.expected_error,
        "error_95": calibration.quantile(LEVEL),
        "verdict": calibration.useful.verdict,
        **({"parts": _parts_data(calibration)} if calibration.useful.parts else {}),
    }


def _parts_data(calibration: Calibrated) -> list[Json]:
    return [
        {
            "part": part.label,
            "error_95": part.error,
            "share": None if math.isnan(part.share) else part.share,
            "verdict": part.verdict,
        }
        for part in calibration.useful.parts
    ]


def calibration_data(calibration: Calibrated) -> Json:
    """Return all that was found out by calibrating, as plain values; docs/report-schema.md names every field."""
    certificate = calibration.certificate
    return {
        **calibration_row(calibration),
        "useful": str(calibration.useful),
        "outputs": calibration.noise.dimension,
        "guarantee": calibration.guarantee.to_json(),
        "theorem": certificate.theorem,
        "kind": certificate.kind,
        "zero_noise_reason": certificate.zero_noise_reason,
        "notes": list(certificate.notes),
        "dropped": list(certificate.dropped),
        "reasons": list(certificate.reasons),
        "decisions": [row.to_json() for row in certificate.decisions if isinstance(row, Decision)],
        "assumptions": list(certificate.assumptions),
    }
