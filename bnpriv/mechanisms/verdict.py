"""A calibration in words: what will become of the answer, how much noise it needs, and why."""

from __future__ import annotations

from collections.abc import Callable

from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.certificate import Decision
from bnpriv.mechanisms.channel_facts import OVER_ALL
from bnpriv.mechanisms.noise_words import MOST_SAID_PARTS, from_to, named_scales_text, parts_differ, scales_text
from bnpriv.mechanisms.usefulness import LEVEL, WITHOUT_DATA, UsefulnessWord
from bnpriv.noise.channel import Channel
from bnpriv.noise.intervals import is_none
from bnpriv.noise.words import sized_noise
from bnpriv.render.document import Tone
from bnpriv.render.text import (
    and_text,
    full_text,
    name_text,
    number_text,
    of_nats,
    upper_chance,
    upper_percent,
    upper_text,
)

TONES: dict[UsefulnessWord, Tone] = {
    "exact": "good",
    "sharp": "good",
    "useful": "good",
    "coarse": "fair",
    "useless": "poor",
    "unknown": "plain",
}
"""How each verdict looks: good, fair, poor or plain."""


def verdict_text(calibration: Calibrated) -> str:
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


def noise_text(calibration: Calibrated) -> str:
    """Return the noise in a sentence."""
    if is_none(calibration.noise):
        return "No noise is added."
    noise = sized_noise(calibration.noise, named_scales_text(calibration))
    many = " to the parts" if parts_differ(calibration) and len(calibration.useful.parts) > MOST_SAID_PARTS else ""
    done = "takes the place of the exact answer" if isinstance(calibration.noise, Channel) else f"is added{many}"
    some = f"err by at most {errors_text(calibration)}" if calibration.quantile(LEVEL) else "are exact"
    errors = f"{noise} {done}: 19 releases of 20 {some}"
    if parts_differ(calibration):
        return f"{errors}."
    return f"{errors}, and the mean error is {number_text(calibration.expected_error)}{averaged_text(calibration)}."


def averaged_text(calibration: Calibrated) -> str:
    """Return over what a channel's errors are averaged; nothing for noise that is added, whose errors are all alike."""
    if not isinstance(calibration.noise, Channel):
        return ""
    facts = calibration.certificate.channel
    return f", {OVER_ALL if facts is None else facts.prior}"


def is_weighted(calibration: Calibrated) -> bool:
    """Return whether the parts of the answer were weighed differently, and noise is added."""
    return calibration.shape is not None and not calibration.shape.is_equal and calibration.scale > 0


def errors_text(calibration: Calibrated, most: int = MOST_SAID_PARTS) -> str:
    """Return by how much 19 releases of 20 err at most: each part by its own where they differ."""
    if parts_differ(calibration):
        errors = [part.error for part in calibration.useful.parts]
        return from_to(errors, [upper_text(error) for error in errors], most)
    return upper_text(calibration.quantile(LEVEL))


def reason_text(calibration: Calibrated) -> str:
    """Return in a sentence or two what the noise is for, or why there is none."""
    decisions = [decision for decision in calibration.certificate.decisions if isinstance(decision, Decision)]
    if not decisions:
        return " ".join([*calibration.certificate.reasons, *calibration.certificate.notes])
    worst = decisions[0]
    protected = name_text(worst.protected)
    told = of_nats(upper_text(worst.influence.upper))
    if worst.scale == 0 and not worst.queried_near:
        if worst.excess is not None:
            budget = of_nats(f"{calibration.epsilon:g}")
            return (
                f"The queried columns together tell more than {budget} about {protected} so rarely that delta is "
                f"{upper_chance(worst.excess)}, which is within the {full_text(calibration.delta)} that is allowed."
            )
        return (
            f"The queried columns together tell at most {told} about {protected}, which is within the budget of "
            f"{calibration.epsilon:g}."
        )
    hidden = and_text([name_text(name) for name in sorted(worst.queried_near)])
    moved = f"a change of {hidden} can move the {_answer(calibration)} by {number_text(worst.sensitivity.upper)}"
    if not worst.quilt.quilt or worst.influence.upper == 0:
        return f"The noise hides all that could tell about {protected}: {moved}."
    seen = and_text([name_text(name) for name in sorted(worst.quilt.quilt)])
    return (
        f"The noise hides {hidden}: {moved}. The rest of the query tells no more about {protected} than "
        f"{seen}, {told}, which is taken off the budget of {calibration.epsilon:g}."
    )


def brief_text(calibration: Calibrated) -> str:
    """Return the noise and its reason in one short sentence."""
    if is_none(calibration.noise):
        return f"None. {reason_text(calibration)}"
    noise = sized_noise(calibration.noise, scales_text(calibration))
    worst = next(iter(calibration.certificate.decisions), None)
    if not isinstance(worst, Decision):
        weights = "" if calibration.shape is None else calibration.shape.text
        # the first note is the reason; who is taken for the observer stands in a row of its own
        reasons = [note for note in calibration.certificate.notes if note != weights] if worst is None else [worst.why]
        return f"{noise}. {' '.join(reasons[:1])}".rstrip()
    hidden = and_text([name_text(name) for name in sorted(worst.queried_near)])
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


def share_text(calibration: Calibrated) -> str:
    """Return how large the error is against the range of the answer."""
    useful = calibration.useful
    if useful.verdict == "exact":
        return "The answer is released as it is."
    averaged = averaged_text(calibration)
    if useful.constant:
        return f"{WITHOUT_DATA[0].upper()}{WITHOUT_DATA[1:]}"
    if not calibration.quantile(LEVEL):
        return f"19 releases of 20 are exact{averaged}."
    error = "19 releases of 20 err by at most"
    if useful.verdict == "unknown":
        return f"{error} {errors_text(calibration)}{averaged}."
    share = f"{upper_percent(useful.share)} of {useful.whole_text}"
    many = parts_differ(calibration) and len(useful.parts) > MOST_SAID_PARTS
    return f"{error} {share}." if many else f"{error} {errors_text(calibration)}, {share}{averaged}."


def _answer(calibration: Calibrated) -> str:
    return "weighted answer" if is_weighted(calibration) else "answer"
