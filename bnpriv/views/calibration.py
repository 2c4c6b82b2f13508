"""A calibration and its certificate in words and as a document; and several compared, as a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.distributions import missed
from bnpriv.core.evidence.constraints import Laws, plain_laws
from bnpriv.core.evidence.structural import influences
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.base import draw_points
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.certificate import Certificate, Decision, model_text, posterior_of, posteriors_of
from bnpriv.core.mechanisms.law_decision import CALIBRATIONS, DELTA_MARGIN, LawDecision, sampling_of
from bnpriv.core.mechanisms.weights import RULES
from bnpriv.core.networks.base import Posterior, drivers
from bnpriv.core.noise import is_none
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.queries.builtin import Derived, derivation
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.errors import Refusal, SizeError
from bnpriv.kinds.density.network import MOST_DRAWS
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from bnpriv.mechanisms.optimal.channel import OVER_ALL, Channel
from bnpriv.mechanisms.plan import Plan, draws_needed
from bnpriv.mechanisms.proved_limit import Limit
from bnpriv.mechanisms.usefulness import LEVEL, WITHOUT_DATA, UsefulnessWord
from bnpriv.render import document as doc
from bnpriv.render.figures import bar_ends, bar_legend, cut_text, noise_bar
from bnpriv.render.html import join
from bnpriv.text import (
    Json,
    and_text,
    by_times,
    factor_text,
    full_text,
    in_order,
    name_text,
    number_text,
    percent_text,
    rough_text,
    shorten,
    times_text,
    upper_chance,
    upper_percent,
    upper_text,
)
from bnpriv.views import words
from bnpriv.views.cards import (
    belief_fact,
    belief_section,
    observer_fact,
    protected_fact,
    short_guarantee,
    sureness_fact,
)
from bnpriv.views.curves import channel_figures, curve_sections, law_drawing

# --------------------------------------------------------------------------------------------------
# What certificates say about draws: models from a posterior, laws from tables (docs/claims/posterior.md, draws.md).
# --------------------------------------------------------------------------------------------------


def with_draws(framework: Framework, query: Query, certificate: Certificate) -> Certificate:
    """Return a certificate that says what it owes to draws; the same if the models are no draws."""
    drawn = posterior_of(framework)
    certificate = replace(certificate, notes=(*certificate.notes, *_beside_records(framework, certificate)))
    if drawn is None:  # of several networks each may be the law of its own draws
        notes = list(dict.fromkeys(each.sentence for each in posteriors_of(framework) if each.belief))
    else:
        notes = [drawn.sentence] if drawn.belief else [*_facts(drawn, certificate), *_told(framework, query)]
    return replace(certificate, notes=(*certificate.notes, *notes)) if notes else certificate


def points_text(values: FloatArray) -> str:
    """Return what half, 95 % and all of the draws tell at most, and which draw tells most."""
    half, most, every = map(by_times, draw_points(values))
    return (
        f"half of the draws move the odds {half}, 95 % {most}, all {every} (draw {int(np.argmax(values.max(axis=1)))})."
    )


def _facts(drawn: Posterior, certificate: Certificate) -> list[str]:
    seed = "" if drawn.seed is None else f", seed {drawn.seed}"
    prior = f", prior {drawn.prior}" if drawn.prior else ""
    records = "" if drawn.table is None else f" given {drawn.table.records:,} public records"
    first = next(iter(certificate.decisions), None)
    # where no draw needs noise, none decides it; models beyond the draws are public records, of which more is said
    own = first is not None and first.scale and first.model < drawn.draws
    decides = f" Draw {first.model} decides the noise, for {first.protected}." if first and own else ""
    some = "" if drawn.of is None else f" of {drawn.of:,}"
    spaced = "" if drawn.of is None else ", evenly spaced: as many as time allows, 25 or so at most"
    if drawn.graphs is not None:
        records += f" {'and' if records else 'given'} graphs found in {drawn.graphs:,} resamples of them"
    made = f"The models are {drawn.draws:,}{some} draws from a posterior{records}{prior}{seed}{spaced}.{decides}"
    return [made, *_needed(certificate)]


def _beside_records(framework: Framework, certificate: Certificate) -> list[str]:
    """Return which noise the network's models and the public records each need: how far the two differ."""
    public = framework.public_records
    if public is None:
        return []
    networks = framework.models - public.draws
    scales: tuple[dict[int, float], dict[int, float]] = ({}, {})
    for decision in certificate.decisions:
        beyond = decision.model >= networks
        scales[beyond][decision.model - networks * beyond] = decision.scale
    made = (
        f"Beside the network {public.draws:,} models are the {public.records:,} public records themselves, their "
        f"weights drawn anew for each (Bayesian bootstrap). {public.coverage[0].upper()}{public.coverage[1:]}."
    )
    if not all(scales):
        return [made]
    network, records = (max(each.values()) for each in scales)
    draw = max(scales[1], key=lambda k: scales[1][k])
    decides = f"; draw {draw} of the weights decides the noise" if records > network else ""
    return [
        f"{made} Noise of scale {number_text(network)} is enough for the network's models, of {number_text(records)} "
        f"for the public records{decides}."
    ]


def _needed(certificate: Certificate) -> list[str]:
    """Return which noise half, 95 % and all of the draws need, where the laws of the answer were learned for each."""
    scales: dict[int, float] = {}
    for decision in certificate.decisions:
        if isinstance(decision, LawDecision) and decision.draws:
            scales[decision.model] = max(decision.scale, scales.get(decision.model, 0.0))
    if len(scales) < 2:
        return []
    half, most, every = (number_text(point) for point in draw_points(np.array([list(scales.values())]).T))
    return [f"Half of the draws need noise of at most scale {half}, 95 % at most {most}, all at most {every}."]


def _told(framework: Framework, query: Query) -> list[str]:
    """Return what the queried columns tell over the draws, without noise, for every protected attribute."""
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        return []
    notes: list[str] = []
    for name in evidence.secrets:
        asked = drivers(evidence.network, query.columns) - {name}
        try:
            told = evidence.influence(asked, name)
        except SizeError:
            continue
        if told.mu is None and asked and told.unknown is None:
            notes.append(f"Of {name}, without noise, by the other queried columns: {points_text(told.values)}")
    return notes


def too_few_draws(evidence: Laws, delta: float, epsilon: float) -> Refusal | None:
    """Return why certified laws from so many draws do not do for delta, or None if they do.

    The curve at `epsilon` is what is compared; closeness is the curve at 0.
    """
    sampling = sampling_of(evidence)
    if sampling is None or sampling.confidence is None:
        return None
    if delta == 0:
        return Refusal(
            required="a guarantee with a confidence needs delta above 0: draws say nothing of answers so rare that "
            "none was drawn",
            found="delta 0",
            remedy="Pass a delta below one over the number of records, or leave out the confidence for an estimate.",
        )
    share = (1 - sampling.confidence) / CALIBRATIONS
    ratio = math.exp(epsilon)
    error = missed(sampling.draws, share, ratio)
    if error * (1 + DELTA_MARGIN) < delta:
        return None
    needed = draws_needed(delta / (1 + DELTA_MARGIN), share, ratio)
    return Refusal(
        required=f"what {sampling.draws:,} draws may miss with confidence {100 * sampling.confidence:g} % must be "
        f"below delta, {full_text(delta)}",
        found=_found(error, evidence),
        remedy=_more_draws(needed),
        headline=f"{sampling.draws:,} tables drawn under each secret where {needed:,} are needed for a confidence",
    )


def _found(error: float, evidence: Laws) -> str:
    plain = plain_laws(evidence)
    assert isinstance(plain, SampledLaws)
    records = plain.form.schema.records
    above = (
        f", which passes one over the number of records, {number_text(1 / records)}, too"
        if error >= 1 / records
        else ""
    )
    return f"{number_text(error)}{above}"


def _more_draws(needed: int) -> str:
    instead = "Or leave out the confidence, for an estimate."
    if needed > MOST_DRAWS:
        return (
            f"It takes {rough_text(needed)} draws, above the limit of {MOST_DRAWS:,}: ask for a larger delta. {instead}"
        )
    return f"Take at least {needed:,} draws, better four times as many: network.with_sampling(draws=...). {instead}"


def _waited(evidence: Laws) -> str:
    """Return how rare the rarest secret is among draws of which those with the secret were kept."""
    listed = [pair for each in evidence.constraints() if not isinstance(each.pairs, Refusal) for pair in each.pairs]
    met = {pair.pair: pair.sampled.share for pair in listed if pair.sampled is not None}
    rarest = min(met, key=lambda name: met[name], default="")
    if not met or met[rarest] == 1:
        return ""
    often = percent_text(met[rarest])
    return f"; tables were drawn until so many had each secret, the rarer one of {rarest} came up in {often} of them"


def _posterior_of(evidence: Laws) -> tuple[ParameterDraws | None, float]:
    """Return the draws of a posterior that laws rest on, and what those in the rarest secret are worth."""
    plain = plain_laws(evidence)
    if not isinstance(plain, SampledLaws):
        return None, math.inf
    pairs = [pair for each in plain.constraints() if not isinstance(each.pairs, Refusal) for pair in each.pairs]
    known = [each for pair in pairs if pair.sampled is not None and (each := pair.sampled.effective) is not None]
    return plain.drawn, min(known, default=math.inf)


def learned_notes(evidence: Laws) -> tuple[str, ...]:
    """Return how the laws were learned from draws, for a certificate."""
    sampling = sampling_of(evidence)
    if sampling is None:
        return ()
    apart = sampling.told_apart(evidence.dimension)
    how = (
        f"The distributions of the answer were learned from {sampling.draws:,} independent draws under each secret "
        f"(seed {sampling.seed}; at most {apart:,} values are told apart){_waited(evidence)}."
    )
    drawn, effective = _posterior_of(evidence)
    if drawn is not None and drawn.reading == "belief":
        kind = "draws" if drawn.log_weights is None else "weighted draws"
        how = (
            f"The distributions of the answer were learned from {sampling.draws:,} tables under each secret, drawn "
            f"below the {drawn.draws:,} {kind} of a posterior (seed {sampling.seed}; at most {apart:,} values are told "
            f"apart); those in the rarest secret count as {number_text(effective)} independent ones."
        )
    if sampling.confidence is None:
        return how, "Answers that are rare may be missing among the draws: the noise is an estimate, not a bound."
    return how, (
        f"With confidence {100 * sampling.confidence:g} % over these draws the noise is enough, for all mechanisms "
        "of a plan at once, not for several epsilons or deltas; what the draws may have missed is taken off delta."
    )


# --------------------------------------------------------------------------------------------------
# What a certificate says: its reasons in words, and its document.
# --------------------------------------------------------------------------------------------------

MOST_REASONS, MOST_OF_A_PAIR = 20, 3
"""Decisions that are told in words; there may be one for every model."""


def certificate_reasons(certificate: Certificate) -> tuple[str, ...]:
    """In words what decided the noise, the most noise first; of many decisions the first ones."""
    decisions, most = certificate.decisions, MOST_REASONS
    laws = [decision for decision in decisions if isinstance(decision, LawDecision)]
    if len(laws) == len(decisions) and len({(each.protected, str(each.pair)) for each in laws}) == 1:
        # one pair of secrets under many models; where none of these needs noise all say the same
        most = MOST_OF_A_PAIR if any(decision.scale for decision in laws) else 1
    told = decisions[:most] if len(decisions) > most + 1 else decisions
    texts = tuple(decision.text for decision in told)
    left = len(decisions) - len(texts)
    return (*texts, f"{left:,} more decisions, for which no more noise is needed.") if left else texts


def certificate_document(certificate: Certificate) -> doc.Document:
    """Return the theorem, what decided the noise, and what must hold outside the library."""
    reasons = certificate.reasons
    if certificate.zero_noise_reason and not reasons:
        reasons = (certificate.zero_noise_reason,)
    lists = {
        "What decided the noise": (*reasons, *certificate.notes),
        "No constraint": certificate.dropped,
        "Assumed": certificate.assumptions,
    }
    return doc.Document(
        kind="certificate",
        headline=certificate.theorem,
        facts=(
            doc.fact("Proved in", (doc.Code(f"docs/claims/{certificate.claim}"),)),
            doc.fact("Its numbers are", certificate.known),
            doc.fact("Source of the model", certificate.source),
        ),
        sections=tuple(doc.Section(title=title, blocks=(doc.Items(items),)) for title, items in lists.items() if items),
        data=certificate.to_json(),
    )


# --------------------------------------------------------------------------------------------------
# A calibration in words: what will become of the answer, how much noise it needs, and why.
# --------------------------------------------------------------------------------------------------

TONES: dict[UsefulnessWord, doc.Tone] = {
    "exact": "good",
    "sharp": "good",
    "useful": "good",
    "coarse": "fair",
    "useless": "poor",
    "unknown": "plain",
}
"""How each verdict looks: good, fair, poor or plain."""


def verdict_text(calibration: Calibration) -> str:
    """Return the verdict on the answer, as the end of a sentence that begins with the query."""
    budget = f"epsilon {calibration.epsilon:g}"
    useless = calibration.useful.useless
    if useless:
        return f"can be released at {budget}, but {and_text(useless)} {'is' if len(useless) == 1 else 'are'} useless"
    return {
        "exact": f"can be released without noise at {budget}",
        "sharp": f"can be released at {budget}, and the answer stays sharp",
        "useful": f"can be released at {budget}, and the answer stays useful",
        "coarse": f"can be released at {budget}, but the answer is coarse",
        "useless": f"is useless with the noise that it needs at {budget}",
        "unknown": f"can be released with noise at {budget}; whether it is of use cannot be judged",
    }[calibration.useful.verdict]


def further_text(calibration: Calibration) -> str:
    """Return what `brief_text` leaves open: the mean error, and of a quilt what the shielded columns still tell."""
    said = list[str]()
    if not is_none(calibration.noise) and not words.parts_differ(calibration):
        averaged = averaged_text(calibration)
        said.append(f"The mean error is {number_text(calibration.expected_error)}{averaged}.")
    worst = next(iter(calibration.certificate.decisions), None)
    if isinstance(worst, Decision) and worst.scale:
        said.append(_shielded(calibration, worst))
    return " ".join(said)


def averaged_text(calibration: Calibration) -> str:
    """Return over what a channel's errors are averaged; nothing for noise that is added, whose errors are all alike."""
    if not isinstance(calibration.noise, Channel):
        return ""
    facts = calibration.certificate.channel
    return f", {OVER_ALL if facts is None else facts.prior}"


def is_weighted(calibration: Calibration) -> bool:
    """Return whether the parts of the answer were weighed differently, and noise is added."""
    return calibration.shape is not None and not calibration.shape.is_equal and calibration.scale > 0


def errors_text(calibration: Calibration, most: int = words.MOST_SAID_PARTS) -> str:
    """Return by how much 95 % of releases err at most: each part by its own where they differ."""
    if words.parts_differ(calibration):
        errors = [part.error for part in calibration.useful.parts]
        return words.from_to(errors, [upper_text(error) for error in errors], most)
    return upper_text(calibration.quantile(LEVEL))


def reason_text(calibration: Calibration) -> str:
    """Return why there is no noise."""
    worst = next(iter(calibration.certificate.decisions), None)
    if not isinstance(worst, Decision):
        return " ".join([*calibration.certificate.reasons, *calibration.certificate.notes])
    protected, near = name_text(worst.protected), [name_text(name) for name in in_order(worst.queried_near)]
    read = "Together the queried columns move"
    if near:
        read = f"No change of {and_text(near)} moves the answer; together the other queried columns move"
    if worst.excess is not None:
        return (
            f"{read} the odds about {protected} by more than {times_text(calibration.epsilon)} so rarely that delta is "
            f"{upper_chance(worst.excess)}, which is within the {full_text(calibration.delta)} that is allowed."
        )
    return (
        f"{read} the odds about {protected} {by_times(worst.influence.upper)}, which is within the budget of "
        f"{factor_text(calibration.epsilon)} times (epsilon {calibration.epsilon:g})."
    )


def _shielded(calibration: Calibration, worst: Decision) -> str:
    """Return what the columns that are not hidden tell, which is taken off the budget."""
    protected = name_text(worst.protected)
    if not worst.quilt.quilt or worst.influence.upper == 0:
        return f"It hides all that could tell about {protected}."
    seen = and_text([name_text(name) for name in in_order(worst.quilt.quilt)])
    return (
        f"The rest of the query tells no more about {protected} than {seen}, which moves the odds "
        f"{by_times(worst.influence.upper)}; that is taken off the budget of epsilon {calibration.epsilon:g}."
    )


def brief_text(calibration: Calibration) -> str:
    """Return the noise and its reason in one short sentence."""
    if is_none(calibration.noise):
        return f"None. {reason_text(calibration)}"
    noise = words.sized_noise(calibration.noise, words.scales_text(calibration))
    noise += " takes the place of the exact answer" if isinstance(calibration.noise, Channel) else ""
    worst = next(iter(calibration.certificate.decisions), None)
    if not isinstance(worst, Decision):
        weights = "" if calibration.shape is None else calibration.shape.text
        # the first note is the reason; who is taken for the observer stands in a row of its own
        reasons = [note for note in calibration.certificate.notes if note != weights] if worst is None else [worst.why]
        return f"{noise}. {' '.join(reasons[:1])}".rstrip()
    hidden = and_text([name_text(name) for name in in_order(worst.queried_near)])
    moved = number_text(worst.sensitivity.upper)
    return f"{noise}, to hide {hidden}, which can move the {_answer(calibration)} by {moved}."


def arithmetic_text(decision: Decision, epsilon: float) -> str:
    """Return how the scale comes about.

    It is the column sensitivity, divided by what the quilt leaves of epsilon.
    """
    moved, scale, told = decision.sensitivity.upper, decision.scale, decision.influence.upper
    if scale == 0:
        return f"0, as {upper_text(told)} <= {epsilon:g}" if decision.excess is None else "0, as it is rare enough"
    if decision.excess is not None:
        return _quotient_text(moved, scale, lambda digits: number_text(moved / scale, digits))
    if not told:
        return _quotient_text(moved, scale, lambda digits: f"{epsilon:g}")
    return _quotient_text(moved, scale, lambda digits: f"({epsilon:g} - {upper_text(told, digits)})")


def _quotient_text(moved: float, scale: float, divisor: Callable[[int], str]) -> str:
    """Return a quotient with as many digits of its divisor as it takes to come out."""
    for digits in range(4, 16):
        by = divisor(digits)
        parts = by.strip("()").replace(",", "").split(" - ")
        whole = float(parts[0]) - sum(map(float, parts[1:]))
        if whole and number_text(moved / whole) == number_text(scale):
            return f"{number_text(moved)} / {by} = {number_text(scale)}"
    return f"{number_text(moved)} / {divisor(4)}, rounded up to {number_text(scale)}"


def share_text(calibration: Calibration) -> str:
    """Return how large the error is against the range of the answer."""
    useful = calibration.useful
    if useful.verdict == "exact":
        return "The answer is released as it is."
    averaged = averaged_text(calibration)
    if useful.constant:
        return f"{WITHOUT_DATA[0].upper()}{WITHOUT_DATA[1:]}"
    if not calibration.quantile(LEVEL):
        return f"95 % of releases are exact{averaged}."
    error = "95 % of releases err by at most"
    if useful.verdict == "unknown":
        return f"{error} {errors_text(calibration)}{averaged}."
    share = f"{upper_percent(useful.share)} of {useful.whole_text}"
    many = words.parts_differ(calibration) and len(useful.parts) > words.MOST_SAID_PARTS
    return f"{error} {share}." if many else f"{error} {errors_text(calibration)}, {share}{averaged}."


def _answer(calibration: Calibration) -> str:
    return "weighted answer" if is_weighted(calibration) else "answer"


# --------------------------------------------------------------------------------------------------
# What is said first of a calibration: whether its answer is of use, the noise to scale, who is kept from what.
# --------------------------------------------------------------------------------------------------

LONGEST_QUERY = 120
"""Letters of a query that stands in a headline."""


def headline(calibration: Calibration) -> doc.Text:
    """Return the verdict as a sentence that begins with the query."""
    verdict = verdict_text(calibration)
    if calibration.guarantee.baseline_text:
        budget = f"epsilon {calibration.epsilon:g}"
        verdict = f"at {budget} for records: a baseline, to be compared with what protects the secrets"
    caution = calibration.certificate.caution
    return opened_text(calibration.query, f"{verdict} ({caution})" if caution else verdict)


def opened_text(query: Query, verdict: str) -> doc.Text:
    """Return a sentence that begins with a query, or with declared laws."""
    if isinstance(query, GivenAnswer):
        text = str(query)
        return f"{text[0].upper()}{text[1:]} {verdict}"
    return *query_text(query), f" {verdict}"


def query_text(query: Query) -> tuple[doc.Inline, ...]:
    """Return a query for a headline; one that is too long for it by its columns."""
    if _is_long(query):
        return (f"A query of {len(query.columns)} columns" if len(query.columns) > 1 else "A query of one column",)
    return (doc.Code(str(query)),)


def query_facts(query: Query) -> tuple[doc.Fact, ...]:
    """Return the query where it is too long for a headline."""
    return (doc.fact("The query", (doc.Code(str(query)),)),) if _is_long(query) else ()


def _is_long(query: Query) -> bool:
    return not isinstance(query, GivenAnswer) and len(str(query)) > LONGEST_QUERY


def derived_facts(calibration: Calibration) -> tuple[doc.Fact, ...]:
    """Return what the noise is added to, where the answer is worked out of other numbers, and what that bounds."""
    schema = calibration.framework.schema
    found = derivation(calibration.query, schema)
    if found is None:
        return ()
    halves, said = calibration.noise.quantiles(LEVEL), list[str]()
    if is_none(calibration.noise):
        said = [f"{query}: of {query.base_text(schema)}." for query, _ in found.pieces if isinstance(query, Derived)]
        what = "These numbers are released as they are; the rest uses no data, and costs no privacy."
        return (doc.fact("The answer is worked out", " ".join([*said, what])),)
    for query, places in found.pieces:
        if isinstance(query, Derived):
            bounds = query.error_bounds([halves[k] for k in places], schema)
            errs = "".join(f"; the answer of 95 % of releases errs by at most {upper_text(each)}" for each in bounds)
            said.append(f"{query}: to {query.base_text(schema)}{errs}.")
    what = (
        "Noise, errors and shares of the range are told of these numbers. The answer is worked out of them after the "
    )
    return (doc.fact("Noise is added", " ".join([*said, what + "release, from no data, which costs no privacy."])),)


def verdict_badge(calibration: Calibration) -> doc.Badge:
    """Return the verdict in one coloured word."""
    verdict = calibration.useful.verdict
    return doc.Badge(verdict, TONES[verdict])


def answer_facts(calibration: Calibration) -> tuple[doc.Fact, ...]:
    """Return who is kept from learning what, the noise, how sure it is, one belief, the mechanism, and the source."""
    guarantee = calibration.guarantee
    return (
        *query_facts(calibration.query),
        *derived_facts(calibration),
        protected_fact(guarantee.secrets),
        observer_fact(guarantee.observer),
        doc.fact("What noise it needs, and why", brief_text(calibration)),
        sureness_fact(guarantee),
        belief_fact(guarantee),
        doc.fact("Mechanism", words.mechanism_text(calibration.mechanism)),
        doc.fact("Source of the model", guarantee.source),
    )


def noise_figure(calibration: Calibration) -> tuple[doc.Block, ...]:
    """Return the noise against the range of the answer; nothing where there is no noise, or no range."""
    found, reach = narrowest(calibration), deciding_error(calibration)
    if found is None or reach == 0:
        return ()
    low, high, label = found
    error = f"95 % of releases err by at most {upper_text(reach)}{averaged_text(calibration)}"
    desc = f"The range of {label}: {number_text(low)} to {number_text(high)}; {error}, "
    desc += f"{upper_percent(reach / (high - low))} of the range."
    bar = noise_bar(high - low, reach, title="Noise against the range of the answer", desc=desc)
    drawn = bar_legend(f"{error}{cut_text(high - low, reach)}; drawn around the middle, no data were looked at")
    return (doc.Figure(join(bar, bar_ends(number_text(low), f"range of {label}", number_text(high)), drawn)),)


def narrowest(calibration: Calibration) -> tuple[float, float, str] | None:
    """Return the range of the output whose error is the largest share of it, and what it is; None without a range.

    Where the noise of all numbers has one scale it is the narrowest range.
    """
    lower, upper = answer_range(calibration.query, calibration.framework.schema)
    ranges = [(float(low), float(high)) for low, high in zip(lower, upper, strict=True) if 0 < high - low < math.inf]
    if not ranges:
        return None
    if words.parts_differ(calibration) and calibration.shape is not None:
        place = calibration.useful.place
        (part,) = (part for part in calibration.shape.parts if place in part.places)
        return float(lower[place]), float(upper[place]), part.label
    low, high = min(ranges, key=lambda found: found[1] - found[0])
    return low, high, "the answer" if len(lower) == 1 else "the narrowest number of the answer"


def deciding_error(calibration: Calibration) -> float:
    """Return by how much that output errs at most in 95 % of releases."""
    place: int = calibration.useful.place
    return calibration.noise.quantiles(LEVEL)[place]


def calibration_row(calibration: Calibration) -> Json:
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


def _parts_data(calibration: Calibration) -> list[Json]:
    return [
        {
            "part": part.label,
            "error_95": part.error,
            "share": None if math.isnan(part.share) else part.share,
            "verdict": part.verdict,
        }
        for part in calibration.useful.parts
    ]


def calibration_data(calibration: Calibration) -> Json:
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


# --------------------------------------------------------------------------------------------------
# The sections of documents that are about calibrations: the noise and its reasons, beliefs, trust, comparison.
# --------------------------------------------------------------------------------------------------

Refusals = Sequence[tuple[Mechanism, Refusal]]

MOST_IN_CELL = 2
"""Of more parts a table of mechanisms shows the least and the largest number."""


def calibration_document(calibration: Calibration) -> doc.Document:
    """Return what a calibration says: its noise, why, and the guarantee."""
    badge = verdict_badge(calibration)
    return doc.Document(
        kind="calibration",
        title=f"{calibration.query}: noise and guarantee",
        headline=headline(calibration),
        verdict=badge.text,
        tone=badge.tone,
        lead=share_text(calibration),
        short=short_lines(calibration, next_step(calibration, RELEASE_IT)),
        number=str(calibration.quantile(LEVEL)),
        answer=doc.later(lambda: noise_figure(calibration)),
        facts=doc.later(lambda: answer_facts(calibration)),
        sections=doc.later(lambda: calibration_sections(calibration)),
        data=doc.later(lambda: calibration_data(calibration)),
    )


RELEASE_IT = "Next: bp.release(calibration, data) releases it; .explain() tells why it needs this noise."
HELP = "Next: bp.influence_report(framework, query, epsilon) works out what would make it useful."


def short_lines(calibration: Calibration, further: doc.Text, undrawn: str = "") -> tuple[doc.Text, ...]:
    """What is printed of a calibration: its noise and error, or why it has none, its guarantee, and what to do next.

    `undrawn` says in a few words what is known of models that were not drawn.
    """
    share = share_text(calibration)
    noise = f"{words.sized_noise(calibration.noise, words.scales_text(calibration))}: {share[0].lower()}{share[1:]}"
    found = reason_text(calibration) if is_none(calibration.noise) else noise
    return (found, *short_guarantee(calibration.guarantee, undrawn=undrawn), further)


def next_step(calibration: Calibration, useful: str) -> str:
    """What to do next: where the answer is useless, to find out what would help."""
    return HELP if calibration.useful.verdict == "useless" else useful


def calibration_sections(calibration: Calibration) -> tuple[doc.Section, ...]:
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


def noise_section(calibration: Calibration) -> doc.Section:
    """Return how large the noise is on average, what of the budget it leaves, and every decision behind it."""
    certificate, first = calibration.certificate, brief_text(calibration)
    further = [*certificate.notes, *(f"No constraint: {pair}." for pair in certificate.dropped)]
    further = [each for each in further if each not in first]
    said = further_text(calibration)
    return doc.Section(
        title="More on the noise",
        id="noise",
        blocks=(
            *((doc.Paragraph(said),) if said else ()),
            *_parts(calibration),
            *words.together(calibration.noise, calibration.query, calibration.framework.schema),
            *_decisions(calibration),
            *((doc.Items(tuple(further)),) if further else ()),
        ),
    )


def _parts(calibration: Calibration) -> Iterable[doc.Block]:
    """Yield what becomes of each part of an answer of several parts, where there is noise."""
    shape = calibration.shape
    if shape is None or calibration.scale == 0:
        return
    rows = zip(shape.parts, shape.weights, shape.scales, calibration.useful.parts, strict=True)
    equal = "" if shape.equal is None or shape.is_equal else f"; equal weights: scale {number_text(max(shape.equal))}"
    yield doc.Table(
        caption=f"The parts of the answer, weighed {RULES[shape.name]}{equal}",
        header=("part", "weight", "scale", "95 % of releases err by at most", "of its range", "verdict"),
        rows=[
            (
                (doc.Code(part.label),),
                number_text(weight),
                number_text(scale),
                upper_text(use.error),
                "not declared" if math.isnan(use.share) else upper_percent(use.share),
                (doc.Badge(use.verdict, TONES[use.verdict]),),
            )
            for part, weight, scale, use in rows
        ],
        numbers=(1, 2, 3, 4),
    )


def _decisions(calibration: Calibration) -> Iterable[doc.Block]:
    """Yield what decided the noise, for every protected attribute."""
    found = calibration.certificate.decisions
    rows = [_decision(decision, calibration) for decision in found[:MOST_REASONS] if isinstance(decision, Decision)]
    left = len(found) - MOST_REASONS
    if rows:
        yield doc.Table(
            caption="What decided the noise",
            header=(
                "protected",
                "pair of secrets",
                "noise hides",
                "answer moves by",
                "quilt (shield)",
                "it moves the odds by",
                "scale",
            ),
            rows=rows,
            numbers=(3, 5),
            more=f"{left:,} more decisions, for which no more noise is needed." if left > 0 else "",
        )
    elif len(found) > 1 or any(isinstance(each, LawDecision) and each.distance is not None for each in found):
        yield doc.Items(calibration.certificate.reasons)
    by_laws = next((decision for decision in found if isinstance(decision, LawDecision)), None)
    drawn = None if by_laws is None else law_drawing(by_laws, str(calibration.query))
    if drawn is not None:
        yield drawn
    yield from channel_figures(calibration)


def _decision(decision: Decision, calibration: Calibration) -> tuple[tuple[doc.Inline, ...] | str, ...]:
    quilt = tuple(decision.quilt.quilt)
    passed = f", more with delta {upper_chance(decision.excess)}" if decision.excess else ""
    nothing = "the trivial quilt" if decision.queried_near else "none needed"
    return (
        (doc.Name(decision.protected),),
        str(decision.pair) + model_text(decision.model, decision.models),
        (doc.Names(tuple(decision.queried_near), nothing="nothing"),),
        number_text(decision.sensitivity.upper),
        (doc.Names(quilt, nothing=nothing),),
        times_text(decision.influence.upper) + passed,
        arithmetic_text(decision, calibration.epsilon),
    )


LONG_GUARANTEE = 2_500
"""Letters of a guarantee that leave room for more on a screen."""


def guarantee_section(guarantee: Guarantee) -> doc.Section:
    """Return the guarantee, word for word; what fills a screen is explained in short."""
    sentence = guarantee.sentence
    fits = len(sentence) <= LONG_GUARANTEE
    sees = guarantee.seen or ("the answer" if guarantee.answers == 1 else "all answers")
    return doc.Section(
        title="The guarantee, word for word" if fits else "The guarantee",
        id="guarantee",
        blocks=(doc.Quote(sentence),),
        explained=True,
        in_short=() if fits else tuple(map(doc.Paragraph, short_guarantee(guarantee, sees))),
        answers=("What is protected", "From whom", "What it can change", "Source of the model"),
    )


TRUST = "What the model must be trusted for"


def trust_section(source: str | None, assumptions: Iterable[str], certificate: Certificate | None) -> doc.Section:
    """Return where the model comes from, and what must hold outside the library."""
    assumed = tuple(f"Assumed: {assumption}" for assumption in assumptions)
    blocks: tuple[doc.Block, ...] = (doc.Items(assumed),) if assumed else ()
    if certificate is not None:
        blocks = (*blocks, doc.Paragraph(f"Theorem: {certificate.theorem}. Its numbers are {certificate.known}."))
    # facts name the source, and the guarantee where there is a certificate
    origin = () if certificate is not None or source is None else (doc.Paragraph(f"Source of the model: {source}."),)
    return doc.Section(
        title=TRUST,
        id="trust",
        blocks=blocks,
        folded=True,
        explained=True,
        in_short=(*blocks, *origin),
        answers=(TRUST,),
    )


def comparison_section(calibrations: Sequence[Calibration], refusals: Refusals, limit: Limit) -> doc.Section:
    """Return what every mechanism would do, the one with the least expected error first, and which ones cannot."""
    compared: tuple[doc.Block, ...] = ()
    if calibrations:
        compared = (comparison_table(calibrations, limit), doc.Paragraph(limit.text), *_smaller_delta(calibrations))
    return doc.Section(
        title="The mechanisms compared",
        id="plan",
        blocks=(*compared, *refused(refusals)),
        explained=bool(calibrations),
        in_short=(_few_columns(calibrations),) if calibrations else (),
    )


MOST_EXPLAINED = 5
"""Mechanisms that are compared on one screen."""


def _few_columns(calibrations: Sequence[Calibration]) -> doc.Table:
    """The comparison in few columns, for one screen."""
    left = len(calibrations) - MOST_EXPLAINED
    return doc.Table(
        caption="The least error first",
        header=("mechanism", "noise", "scale", "95 % err by at most", "answer"),
        rows=[
            (
                (doc.Code(shorten(str(each.mechanism), 34)),),
                "none" if is_none(each.noise) else words.noise_name(each.noise),
                "-" if isinstance(each.noise, Channel) else words.scales_text(each, MOST_IN_CELL),
                errors_text(each, MOST_IN_CELL),
                "; ".join(filter(None, (each.useful.verdict, _note(each)))),
            )
            for each in calibrations[:MOST_EXPLAINED]
        ],
        numbers=(2, 3),
        more=f"{left} more." if left > 0 else "",
    )


def _smaller_delta(calibrations: Sequence[Calibration]) -> Iterable[doc.Block]:
    """Yield that some mechanisms were calibrated for less delta than was asked for, where they were."""
    deltas = sorted({calibration.delta for calibration in calibrations})
    if len(deltas) > 1:
        yield doc.Paragraph(
            f"Mechanisms that refuse a delta of one over the number of records or more, as {full_text(deltas[-1])} is, "
            f"were calibrated for {number_text(deltas[0])}."
        )


def comparison_table(calibrations: Sequence[Calibration], limit: Limit) -> doc.Table:
    """Return one row per mechanism, with its error drawn against the range of the answer, to one scale."""
    drawn = narrowest(calibrations[0]) is not None and any(calibration.scale for calibration in calibrations)
    bars = "bars: the range of the answer (tall) and the error (short), all to one scale" if drawn else ""
    shape = calibrations[0].shape
    by_share = shape is not None and shape.by_share
    # what stands at the end of the table, though its error may be less
    last = "; after them what holds for the models drawn only" * any(each.holds_for_draws_only for each in calibrations)
    last += "; last baselines, which give another" * any(bool(each.guarantee.baseline_text) for each in calibrations)
    order = "mean error, as a share of the range of each part," if by_share else "expected error"
    return doc.Table(
        caption=f"Every mechanism that gives this guarantee, the least {order} first{last}",
        drawn=bars,
        header=(
            *("mechanism", "noise", "scale", "mean error"),
            *((f"times the least{'' if limit.kind == 'exact' else ', at most'}",) if limit.least else ()),
            *("answer", "95 % of releases err by at most"),
        ),
        rows=[_compared(calibration, limit) for calibration in calibrations],
        numbers=(2, 3, 4) if limit.least else (2, 3),
    )


def _compared(calibration: Calibration, limit: Limit) -> tuple[doc.Text | doc.Cell, ...]:
    reach, found = deciding_error(calibration), narrowest(calibration)
    doing = words.MECHANISMS.get(type(calibration.mechanism).__name__, "")
    error: doc.Cell | str = errors_text(calibration, MOST_IN_CELL)
    over = limit.over(calibration)
    unlike = averaged_text(calibration).removeprefix(", ") if limit.least and over is None else ""
    if reach and found is not None:
        length = found[1] - found[0]
        desc = f"{upper_percent(reach / length)} of the range of {found[2]}"
        error = doc.Cell(error, drawing=noise_bar(length, reach, title="Error against range", desc=desc))
    return (
        doc.Cell((doc.Code(str(calibration.mechanism)),), note="; ".join(filter(None, (doing, _note(calibration))))),
        "none" if is_none(calibration.noise) else words.noise_name(calibration.noise),
        "-" if isinstance(calibration.noise, Channel) else words.scales_text(calibration, MOST_IN_CELL),
        doc.Cell(_mean_error(calibration), note=unlike),
        *(("-" if over is None else upper_text(over),) if limit.least else ()),
        (verdict_badge(calibration),),
        error,
    )


def _note(calibration: Calibration) -> str:
    """Return what must be known of a mechanism beside others: how sure it is, or that it promises something else."""
    if calibration.holds_for_draws_only:
        return "for the models drawn only"
    if calibration.guarantee.baseline_text:
        return f"a baseline: epsilon {upper_text(calibration.guarantee.epsilon)} for the secrets"
    return calibration.certificate.caution


def _mean_error(calibration: Calibration) -> str:
    """Return the mean error; where parts have different ranges its share of them, averaged over the parts."""
    shape = calibration.shape
    if shape is None or not shape.by_share:
        return number_text(calibration.expected_error)
    ranged = sum(0 < width < math.inf for width in shape.ranges)
    return upper_percent(shape.relative_error(calibration.noise) / ranged)


def refused(refusals: Refusals) -> tuple[doc.Section, ...]:
    """Return which mechanisms cannot answer, those with the same reason together."""
    if not refusals:
        return ()
    by_reason: dict[Refusal, list[doc.Inline]] = {}
    for mechanism, reason in refusals:
        by_reason.setdefault(reason, []).extend([", ", doc.Code(str(mechanism))])
    many = "1 mechanism" if len(refusals) == 1 else f"{len(refusals)} mechanisms"
    items = tuple((*names[1:], f": {reason}") for reason, names in by_reason.items())
    return (doc.Section(title=f"Not possible: {many}", blocks=(doc.Items(items),), folded=True),)


RELEASE_BEST = "Next: bp.release(plan.best, data), in the shell bnpriv release; .explain() compares the mechanisms."


def plan_document(found: Plan) -> doc.Document:
    """The comparison of a plan, and the document of its best calibration."""
    if not found.calibrations:
        none = "No mechanism supports this query"
        return doc.Document(
            kind="plan",
            headline=found.too_few or none,
            lead=f"{none}." if found.too_few else "",
            sections=(_comparison(found),),
            data=doc.later(lambda: _plan_data(found)),
        )
    best = after_lack(calibration_document(found.calibrations[0]), found.too_few)

    def sections() -> tuple[doc.Section, ...]:
        ahead = () if found.closer is None else (found.closer.section,)
        told = (*found.held_out[:1], found.table, found.public, found.session, found.draws)
        asides = [each.section for each in told if each is not None]
        return (*ahead, _comparison(found), *asides, *best.sections)

    undrawn = found.held_out[0].brief if found.held_out else ""
    return replace(
        best,
        kind="plan",
        title=f"{found.calibrations[0].query}: mechanisms compared",
        short=best.short if found.too_few else short_lines(found.best, next_step(found.best, RELEASE_BEST), undrawn),
        answer=doc.later(lambda: best.answer),
        facts=doc.later(lambda: best.facts),
        sections=doc.later(sections),
        data=doc.later(lambda: _plan_data(found)),
    )


def after_lack(made: doc.Document, lack: str) -> doc.Document:
    """A document that says first what the better mechanisms lack, where they do, and then what it would say."""
    if not lack:
        return made
    found = (*doc.parts_of(made.headline), ".")
    *short, _ = made.short  # what to do next stands in front
    return replace(made, headline=lack, lead=(*found, " ", *doc.parts_of(made.lead)), short=(found, *short))


def _comparison(found: Plan) -> doc.Section:
    return comparison_section((*found.calibrations, *found.baselines), found.refusals, found.limit)


def _plan_data(found: Plan) -> Json:
    data: dict[str, object] = {
        "calibrations": [calibration.to_dict() for calibration in found.calibrations],
        "limit": found.limit.to_json(found.calibrations),
        "refusals": [{"mechanism": str(mechanism), "reason": str(why)} for mechanism, why in found.refusals],
    }
    if found.baselines:
        data["baselines"] = [calibration.to_dict() for calibration in found.baselines]
    if found.held_out:
        data["held_out"] = [each.data for each in found.held_out]
    if found.draws is not None:
        data["draws"] = found.draws.to_json()
    if found.session is not None:
        data["session"] = found.session.to_json()
    if found.public is not None:
        data["public"] = found.public.document.data
    if found.closer is not None:
        data["closer_secrets"] = [step.to_json() for step in found.closer.steps]
    if found.table is not None:
        data["private_table"] = found.table.to_json()
    return data
