"""The privacy curve of a calibration, and the two laws that decided its noise, drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.core.distributions import Atoms, Normal, mahalanobis
from bnpriv.core.evidence.constraints import AnswerLaw, Constraint, LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.pairs import DISTRIBUTION
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import model_text
from bnpriv.core.mechanisms.k_fold import SUMS_RULE, sums_of_records
from bnpriv.core.mechanisms.law_decision import ANSWER_RULE, GAP_RULE, MOVED_RULE, LawDecision
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise
from bnpriv.core.secrets import BETWEEN
from bnpriv.errors import LawError, Refusal, RefusedError, SizeError
from bnpriv.loss.loss import PrivacyCurve, PrivacyLoss, curve_figure, views_table
from bnpriv.mechanisms.gaussian.laws import RELAXED_RULE
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.render.document import Figure, Paragraph, Section
from bnpriv.render.figures import Panel, TwoLaws, axes, label, two_laws
from bnpriv.render.html import BOTH_SECRETS
from bnpriv.text import number_text, shorten, visible
from bnpriv.views.words import noise_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# The two laws that decided the noise, drawn for a page or by matplotlib.
# --------------------------------------------------------------------------------------------------

NORMAL_DRAWN = 4.0
"""A normal law is drawn so many standard deviations to either side."""

DRAWN_COLUMNS = 161
"""Columns that draw a normal law."""

COLUMNS = 300
"""Places at which masses are drawn; atoms between two of them are added up."""

PLOTTED_SCALES = 4.0
"""The axis goes so many scales of the noise beyond the atoms that are drawn."""

LEAST_STEP = 2.0**-1000
"""Laws that lie closer together are not drawn: doubles between them have few digits."""

OF_THE_ANSWER = (ANSWER_RULE, GAP_RULE, MOVED_RULE, RELAXED_RULE)
PLOTTED_OF: dict[str, str] = dict.fromkeys(OF_THE_ANSWER, "how likely each exact answer is") | {
    SUMS_RULE: "how likely each sum of the records that change is"
}
"""What is plotted of the laws of a rule, where they are of more than what one record adds."""

UNSEEN = 1e-4
"""Mass of each tail that is not drawn."""


def law_drawing(decision: LawDecision, answer: str) -> Figure | None:
    """The drawing for a page; None for laws of several numbers, or that lie too close together.

    Parameters
    ----------
    decision : LawDecision
    answer : str
        What was asked for.
    """
    drawn = decided_laws(decision, answer)
    if drawn is None:
        return None
    worst = f"; of {decision.models:,} models number {decision.model} needs most noise" if decision.models > 1 else ""
    learned = f"; learned from {decision.draws:,} draws of each" if decision.draws else ""
    return Figure(two_laws(drawn), f"{drawn.title}: {decision.pair}{worst}{learned}.")


def plot_decision(decision: LawDecision, ax: Axes | None) -> Axes:
    """Draw the same by matplotlib, as `LawDecision.plot` says.

    Raises
    ------
    LawError
        If the laws are not of one number, or lie too close together.
    MissingExtraError
        If matplotlib is not installed.
    """
    laws, dimension = decided_laws(decision, "answer"), decision.first.dimension
    if laws is None:
        kind = type(decision.first).__name__
        raise LawError(
            "only distributions of one number are drawn",
            found=f"{kind} in dimension {dimension}" if dimension > 1 else "numbers too close together for doubles",
            remedy="Look at to_json() instead.",
        )
    drawn, known = axes(ax), "from draws" if decision.draws else "exact"
    # what each kernel of `_noisy` sums up to, which a picture without numbers does without
    mass = decision.scale * (np.sqrt(2 * np.pi) if decision.noise == "gaussian" else 2.0)
    for panel in laws.panels:
        for law, colour, name in zip(panel.heights, ("tab:blue", "tab:orange"), BOTH_SECRETS, strict=True):
            x, heights = np.transpose(law)
            if panel.masses:
                drawn.vlines(x, 0, heights, color=colour, alpha=0.5, label=f"{name} secret, {known}")
            else:
                drawn.plot(x, heights / mass, color=colour, label=f"{name} secret, with noise")
    drawn.set_xlabel(label(laws.across))
    drawn.set_ylabel("probability, or density with noise")
    drawn.set_title(f"{decision.protected}: {decision.pair}{model_text(decision.model, decision.models)}")
    drawn.legend()
    return drawn


def decided_laws(decision: LawDecision, answer: str) -> TwoLaws | None:
    """The two laws that decided the noise and what is released of them, as pages and matplotlib draw them.

    Some are those of a part of the records alone, so that only differences mean anything: 0 is the middle of the means.
    """
    first, second = drawable(decision.first), drawable(decision.second)
    if first is None or second is None:
        return None
    (low, high), scale = _span(first, second), decision.scale
    margin = PLOTTED_SCALES * scale or 0.05 * (high - low) or 1.0
    places = _places(low - margin, high + margin)
    if places is None:
        return None
    means = float(first.mean[0]), float(second.mean[0])
    around = places - (means[0] / 2 + means[1] / 2)
    words = PLOTTED_OF.get(decision.rule, "how likely each amount is that one record adds")
    binned = [_binned(law, places) for law in (first, second)]
    exact = [_heights(around, masses, thin=True) for masses in binned]
    told = f"the same, with noise of scale {number_text(scale)}"
    panels = [Panel(heights=exact, words=words, masses=True)]
    if scale > 0:
        noisy = [_heights(around, _noisy(masses, places, decision)) for masses in binned]
        panels.append(Panel(heights=noisy, words=told, masses=False))
    sides = tuple(decision.pair.split(BETWEEN))
    if decision.protected == DISTRIBUTION:
        sides = tuple(f"distribution {side}" for side in sides)
    most = "decided the noise" if scale > 0 else "differ most"
    return TwoLaws(
        ends=(float(around[0]), float(around[-1])),
        panels=panels,
        names=sides if len(sides) == 2 else ("one secret", f"the other one: {decision.pair}"),
        across=f"difference in {shorten(visible(answer), 24)} from the middle of both",
        title=f"The two distributions that {most} for {visible(decision.protected)}",
        desc=f"{words}, under each secret; the means are {number_text(abs(means[0] - means[1]))} apart"
        + (f"; below, {told}" if scale > 0 else ""),
        signed=True,
    )


def drawable(law: AnswerLaw) -> Atoms | None:
    """Return the atoms that are drawn for a law, a normal one by its density on a grid; None for several numbers."""
    if law.dimension > 1:
        return None
    if isinstance(law, Atoms):
        return law
    deviations = np.linspace(-NORMAL_DRAWN, NORMAL_DRAWN, DRAWN_COLUMNS)
    spread = float(np.sqrt(law.covariance[0, 0]))
    if spread == 0:
        return Atoms(law.mean, [1.0])
    masses = np.exp(-0.5 * deviations**2)
    return Atoms(law.mean[0] + spread * deviations, masses / masses.sum())


def channel_drawing(first: Atoms, second: Atoms, channel: Channel, name: str, answer: str) -> Figure | None:
    """Two laws of the answer, and those of what a channel releases; None where all mass is on one number."""
    exact = first, second
    places = _places(*_span(first, second))
    if places is None:
        return None
    rows = channel.numerators / channel.denominator
    masses = [_given(channel, law) @ rows for law in exact]
    released = [Atoms(channel.outputs, each / np.sum(each)) for each in masses]
    title = f"The answer and what is released of it, for {visible(name)}"
    drawn = TwoLaws(
        ends=(float(places[0]), float(places[-1])),
        panels=[
            Panel(heights=[_heights(places, _binned(law, places), thin=True) for law in laws], words=words, masses=True)
            for laws, words in (
                (exact, "how likely each exact answer is"),
                (released, "how likely each released answer is: alike tells little"),
            )
        ],
        names=("one secret", "the other one"),
        across=shorten(visible(answer), 40),
        title=title,
        desc="Above the distribution of the exact answer under each secret, below that of what is released: the more "
        "alike two needles are, the less that number tells.",
        whole=all(float(value).is_integer() for law in exact for value in law.support),
    )
    return Figure(two_laws(drawn), title)


def _places(low: float, high: float) -> FloatArray | None:
    """Where masses are drawn; None where doubles between the ends have few digits."""
    places = np.linspace(low, high, COLUMNS + 1)
    return places if places[1] - places[0] > LEAST_STEP else None


def _given(channel: Channel, law: Atoms) -> FloatArray:
    """Return the mass that takes each row of a channel, of shape (K,)."""
    places = [channel.place(value) for value in law.support.tolist()]
    return np.asarray(np.bincount(places, law.probabilities, len(channel.inputs)), dtype=np.float64)


def _span(*laws: Atoms) -> tuple[float, float]:
    """Between which atoms nearly all mass of every law lies."""
    ends: list[float] = []
    for law in laws:
        below = np.cumsum(law.probabilities)
        inside = np.flatnonzero((below >= UNSEEN) & (below - law.probabilities <= 1 - UNSEEN))
        ends += law.support[inside[[0, -1]]].tolist()
    return min(ends), max(ends)


def _binned(law: Atoms, places: FloatArray) -> FloatArray:
    nearest = np.rint((law.support - places[0]) / (places[1] - places[0]))
    column = np.clip(nearest, 0, len(places) - 1).astype(int)
    return np.asarray(np.bincount(column, law.probabilities, len(places)), dtype=np.float64)


def _noisy(masses: FloatArray, places: FloatArray, decision: LawDecision) -> FloatArray:
    with np.errstate(over="ignore"):  # whose exponential is 0
        z = (places[:, None] - places[None, :]) / decision.scale
        kernel = np.exp(-0.5 * z * z) if decision.noise == "gaussian" else np.exp(-np.abs(z))
    return kernel @ masses


def _heights(places: FloatArray, heights: FloatArray, *, thin: bool = False) -> list[tuple[float, float]]:
    rows = zip(places.tolist(), heights.tolist(), strict=True)
    return [(x, height) for x, height in rows if height > 0 or not thin]


# --------------------------------------------------------------------------------------------------
# The privacy curve of a calibration whose laws of the answer are known.
# --------------------------------------------------------------------------------------------------

MOST_DRAWN_ATOMS = 2**14
"""Laws of more atoms have no curve in a document; they have one that is asked for."""

MOST_DRAWN_PAIRS = 8
"""Pairs of laws whose curve is in a document."""

MOST_CHANNEL_CELLS = 2**22
"""Exact answers times outputs times pairs of laws up to which a document draws what a channel does."""

OTHER_PAIRS = "Others may tell more in other views: calibration.curve() takes all pairs."


def curve_of(calibration: Calibration) -> PrivacyCurve:
    """Return the privacy curve of what a calibration releases, over all pairs of secrets and models.

    Parameters
    ----------
    calibration : Calibration

    Returns
    -------
    PrivacyCurve

    Raises
    ------
    RefusedError
        If the laws of the answer are not known, or are of several numbers.
    SizeError
        If they have too many atoms.
    """
    known = list(_known(calibration))
    losses = [loss for found, _ in known for loss in found]
    names = [which for _, name in known for which in (name, f"{name}, the other way round")]
    return PrivacyCurve(losses, names, (calibration.epsilon, calibration.guarantee.delta))


def _known(calibration: Calibration) -> Iterator[tuple[tuple[PrivacyLoss, ...], str]]:
    """Yield for every pair of laws of the answer the losses of both orders, and what it is in words.

    Raises
    ------
    RefusedError
        If the laws are not known, or nothing is known of such laws with such noise.
    """
    evidence = laws(calibration.framework, calibration.weighted_query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    for constraint in evidence.constraints():
        for pair in law_pairs(constraint, evidence.rounding):
            # normal laws that stand for clamped records are not those of the answer
            found = () if pair.departure is not None else losses_of(pair.first, pair.second, calibration.noise)
            if not found:
                raise _no_curve(pair, calibration.noise).error()
            kind = "estimate" if pair.sampled is not None else pair.kind
            name = f"{constraint.protected}: {pair.pair}{model_text(constraint.model, calibration.framework.models)}"
            yield tuple(replace(loss, kind=kind) for loss in found), name


def curve_sections(calibration: Calibration) -> Iterator[Section]:
    """Yield the curve of the pairs that decided the noise, or tell most, where it is known and quickly drawn."""
    try:
        channel = calibration.noise if isinstance(calibration.noise, Channel) else None
        losses = list(_deciding(calibration) if channel is None else _told_most(calibration, channel))
        if not losses:
            return
        curve = PrivacyCurve(losses)
        figure = curve_figure(
            curve,
            asked=(calibration.epsilon, calibration.guarantee.delta),
            title="The privacy curve of what is released",
        )
        table = views_table(curve, "The privacy loss in every view")
    except (SizeError, LawError, RefusedError):
        return
    told = "the pairs of distributions" if len(losses) > 2 else "the two distributions"
    told += " that decided the noise" if channel is None else " of which it tells most"
    guess = ", an estimate" if curve.epsilon.kind == "estimate" else ""
    yield Section(
        title="How much the answer can tell, and how often",
        id="loss",
        blocks=(Paragraph(f"What is released, under {told}, in both directions{guess}. {OTHER_PAIRS}"), figure, table),
        folded=True,
    )


def _told_most(calibration: Calibration, channel: Channel) -> list[PrivacyLoss]:
    """Return the losses of the pairs of laws of which a channel tells most; none where there are many."""
    known = [losses for losses, _ in _known(calibration)]
    if channel.numerators.size * len(known) > MOST_CHANNEL_CELLS:
        return []
    known.sort(key=lambda losses: -max(loss.epsilon.upper for loss in losses))
    return [loss for losses in known[:MOST_DRAWN_PAIRS] for loss in losses]


def channel_figures(calibration: Calibration) -> Iterator[Figure]:
    """Yield what a channel makes of the two laws of the answer that are easiest to tell apart; nothing for noise."""
    channel = calibration.noise
    if not isinstance(channel, Channel):
        return
    known = list(_known(calibration))
    if channel.numerators.size * len(known) > MOST_CHANNEL_CELLS:
        return
    apart = [PrivacyLoss(one.first, one.second).total_variation.upper for (one, *_), _ in known]
    (exact, *_), name = known[max(range(len(apart)), key=apart.__getitem__)]
    figure = channel_drawing(exact.first, exact.second, channel, name, str(calibration.query))
    yield from () if figure is None else (figure,)


def _deciding(calibration: Calibration) -> Iterable[PrivacyLoss]:
    """Yield the losses of the laws that decided the noise, for each protected attribute and model."""
    decisions = [one for one in calibration.certificate.decisions if isinstance(one, LawDecision)]
    for decision in decisions[:MOST_DRAWN_PAIRS]:
        if decision.rule not in (ANSWER_RULE, SUMS_RULE):
            continue
        both = (decision.first, decision.second)
        if any(isinstance(law, Atoms) and law.size > MOST_DRAWN_ATOMS for law in both):
            continue
        # other normal laws stand for those of tables whose records are clamped
        if isinstance(both[0], Normal) and not calibration.framework.answer_laws:
            continue
        for loss in losses_of(*both, calibration.noise):
            yield replace(loss, kind="estimate" if decision.draws else decision.kind)


def _no_curve(pair: LawPair, noise: Noise) -> Refusal:
    """Return why the privacy loss of two laws behind some noise is not known in every view."""
    name, numbers = noise_name(noise), pair.first.dimension
    stands = "The guarantee holds as it stands."
    if pair.departure is not None:
        return Refusal(
            required="a privacy curve needs the distributions of the answer itself",
            found="normal distributions that stand for tables whose records are clamped",
            remedy=stands,
        )
    if isinstance(pair.first, Normal):
        return Refusal(
            required="the curve of normal distributions is known with Gaussian noise, and where both have one "
            "covariance",
            found=f"{name} noise" if isinstance(noise, Laplace) else f"two covariances, or {name} noise",
            remedy=f'Calibrate with noise="gaussian" and a delta. {stands}',
        )
    return Refusal(
        required="a privacy curve needs the distributions of one number, and noise that does not depend on them",
        found=f"{numbers} numbers" if numbers > 1 else f"{name} noise",
        remedy=f"Ask for one number. {stands}" if numbers > 1 else stands,
    )


def law_pairs(constraint: Constraint, rounding: float) -> Sequence[LawPair]:
    """Return the laws of the answer, or of what the records add that change from one secret to the other."""
    if not isinstance(constraint.pairs, Refusal):
        return constraint.pairs
    sums = None if constraint.record is None else sums_of_records(constraint.record, rounding)
    if sums is None:
        raise constraint.pairs.error()
    return sums


def losses_of(first: AnswerLaw, second: AnswerLaw, noise: Noise) -> tuple[PrivacyLoss, ...]:
    """Return the losses of both orders; none where the laws are of several numbers or the noise has a shape."""
    if isinstance(first, Normal) and isinstance(second, Normal):
        return _normal_losses(first, second, noise)
    known = isinstance(noise, (NoNoise, Laplace, Gaussian, DiscreteLaplace, Channel))
    if not known or first.dimension > 1:
        return ()
    loss = PrivacyLoss(cast(Atoms, first), cast(Atoms, second), noise)
    return loss, loss.reversed


def _normal_losses(first: Normal, second: Normal, noise: Noise) -> tuple[PrivacyLoss, ...]:
    """Return the loss of two normal answers with Gaussian noise, which is that of two numbers with noise of scale 1."""
    known = isinstance(noise, (NoNoise, Gaussian, CorrelatedGaussian))
    if not known or (first.covariance != second.covariance).any():
        return ()
    with np.errstate(over="ignore"):
        covariance = first.covariance + noise.covariance
    mu = mahalanobis(second.mean - first.mean, covariance) if np.isfinite(covariance).all() else math.nan
    if not math.isfinite(mu):
        return ()
    loss = PrivacyLoss(Atoms([0.0], [1.0]), Atoms([mu], [1.0]), Gaussian(1.0))
    return loss, loss.reversed
