"""A calibration in words: what will become of the answer, how much noise it needs, and why."""

from __future__ import annotations

from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.certificate import Decision
from bnpriv.mechanisms.usefulness import UsefulnessWord
from bnpriv.render.document import Tone
from bnpriv.render.text import and_text, excess_text, name_text, nats_text, number_text, percent_text

TONES: dict[UsefulnessWord, Tone] = {
    "exact": "good",
    "sharp": "good",
    "useful": "good",
    "coarse": "fair",
    "useless": "poor",
    "unknown": "plain",
}
"""How each verdict looks: good, fair, poor or plain."""

LEVEL = 0.95


def verdict_text(calibration: Calibrated) -> str:
    """Return the verdict on the answer, as the end of a sentence that begins with the query."""
    budget = f"epsilon {calibration.epsilon:g}"
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
    if calibration.scale == 0 and calibration.noise.spend() is None:
        return "No noise is added."
    return (
        f"{type(calibration.noise).__name__} noise of scale {number_text(calibration.scale)} is added: 19 releases of "
        f"20 err by at most {number_text(calibration.quantile(LEVEL))}, and the mean error is "
        f"{number_text(calibration.expected_error)}."
    )


def reason_text(calibration: Calibrated) -> str:
    """Return in a sentence or two what the noise is for, or why there is none."""
    decisions = [decision for decision in calibration.certificate.decisions if isinstance(decision, Decision)]
    if not decisions:
        return " ".join([*calibration.certificate.reasons, *_notes(calibration)])
    worst = decisions[0]
    protected = name_text(worst.protected)
    told = nats_text(worst.influence.upper)
    if worst.scale == 0 and not worst.queried_near:
        if worst.excess is not None:
            return (
                f"The queried columns together tell more than {calibration.epsilon:g} nats about {protected} so rarely "
                f"that delta is {excess_text(worst.excess)}, which is within the {calibration.delta:g} that is allowed."
            )
        return (
            f"The queried columns together tell at most {told} nats about {protected}, which is within the budget of "
            f"{calibration.epsilon:g}."
        )
    hidden = and_text([name_text(name) for name in sorted(worst.queried_near)])
    moved = f"a change of {hidden} can move the answer by {number_text(worst.sensitivity.upper)}"
    if not worst.quilt.quilt or worst.influence.upper == 0:
        return f"The noise hides all that could tell about {protected}: {moved}."
    seen = and_text([name_text(name) for name in sorted(worst.quilt.quilt)])
    return (
        f"The noise hides {hidden}: {moved}. The rest of the query tells no more about {protected} than "
        f"{seen}, {told} nats, which is taken off the budget of {calibration.epsilon:g}."
    )


def brief_text(calibration: Calibrated) -> str:
    """Return the noise and its reason in one short sentence."""
    if calibration.scale == 0 and calibration.noise.spend() is None:
        return f"None. {reason_text(calibration)}"
    noise = f"{type(calibration.noise).__name__} noise of scale {number_text(calibration.scale)}"
    worst = next((found for found in calibration.certificate.decisions if isinstance(found, Decision)), None)
    if worst is None:
        why = "" if calibration.certificate.decisions else " ".join(_notes(calibration))
        return f"{noise}. {why}".rstrip()
    hidden = and_text([name_text(name) for name in sorted(worst.queried_near)])
    return f"{noise}, to hide {hidden}, which can move the answer by {number_text(worst.sensitivity.upper)}."


def arithmetic_text(decision: Decision, epsilon: float) -> str:
    """Return how the scale comes about.

    It is the column sensitivity, divided by what the quilt leaves of epsilon.
    """
    if decision.excess is not None and decision.scale:
        shift = number_text(decision.sensitivity.upper / decision.scale)
        return f"{number_text(decision.sensitivity.upper)} / {shift} = {number_text(decision.scale)}"
    if decision.scale == 0:
        return f"0, as {nats_text(decision.influence.upper)} <= {epsilon:g}"
    spent = f"({epsilon:g} - {nats_text(decision.influence.upper)})" if decision.influence.upper else f"{epsilon:g}"
    return f"{number_text(decision.sensitivity.upper)} / {spent} = {number_text(decision.scale)}"


def share_text(calibration: Calibrated) -> str:
    """Return how large the error is against the range of the answer."""
    useful = calibration.useful
    if useful.verdict == "exact":
        return "The answer is released as it is."
    error = f"19 releases of 20 err by at most {number_text(calibration.quantile(LEVEL))}"
    return (
        f"{error}." if useful.verdict == "unknown" else f"{error}, {percent_text(useful.share)} of {useful.whole_text}."
    )


def _notes(calibration: Calibrated) -> tuple[str, ...]:
    return calibration.certificate.notes
