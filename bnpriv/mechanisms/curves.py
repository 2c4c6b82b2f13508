"""The privacy curve of a calibration whose laws of the answer are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from bnpriv.divergences.curve import PrivacyCurve
from bnpriv.divergences.loss import PrivacyLoss
from bnpriv.divergences.shown_views import curve_figure, views_table
from bnpriv.errors import LawError, Refusal, RefusedError, SizeError
from bnpriv.evidence.constraints import AnswerLaw, Constraint, LawPair
from bnpriv.evidence.laws import laws
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.normal import Normal, mahalanobis
from bnpriv.mechanisms.alike import ANSWER_RULE
from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.k_fold import SUMS_RULE, sums_of_records
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.law_drawing import channel_drawing
from bnpriv.mechanisms.posterior_draws import model_text
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Laplace, Noise, NoNoise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.discrete import DiscreteLaplace
from bnpriv.noise.words import noise_name
from bnpriv.render.document import Figure, Paragraph, Section

MOST_DRAWN_ATOMS = 2**14
"""Laws of more atoms have no curve in a document; they have one that is asked for."""

MOST_DRAWN_PAIRS = 8
"""Pairs of laws whose curve is in a document."""

MOST_CHANNEL_CELLS = 2**22
"""Exact answers times outputs times pairs of laws up to which a document draws what a channel does."""

OTHER_PAIRS = "Others may tell more in other views: calibration.curve() takes all pairs."


def curve_of(calibration: Calibrated) -> PrivacyCurve:
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


def _known(calibration: Calibrated) -> Iterator[tuple[tuple[PrivacyLoss, ...], str]]:
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
        for pair in _pairs(constraint, evidence.rounding):
            # normal laws that stand for clamped records are not those of the answer
            found = () if pair.departure is not None else _losses(pair.first, pair.second, calibration.noise)
            if not found:
                raise _no_curve(pair, calibration.noise).error()
            kind = "estimate" if pair.sampled is not None else pair.kind
            name = f"{constraint.protected}: {pair.pair}{model_text(constraint.model, calibration.framework.models)}"
            yield tuple(replace(loss, kind=kind) for loss in found), name


def curve_sections(calibration: Calibrated) -> Iterator[Section]:
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
    told = "the pairs of laws" if len(losses) > 2 else "the two laws"
    told += " that decided the noise" if channel is None else " of which it tells most"
    guess = ", an estimate" if curve.epsilon.kind == "estimate" else ""
    yield Section(
        title="How much the answer can tell, and how often",
        id="loss",
        blocks=(Paragraph(f"What is released, under {told}, in both directions{guess}. {OTHER_PAIRS}"), figure, table),
        folded=True,
    )


def _told_most(calibration: Calibrated, channel: Channel) -> list[PrivacyLoss]:
    """Return the losses of the pairs of laws of which a channel tells most; none where there are many."""
    known = [losses for losses, _ in _known(calibration)]
    if channel.numerators.size * len(known) > MOST_CHANNEL_CELLS:
        return []
    known.sort(key=lambda losses: -max(loss.epsilon.upper for loss in losses))
    return [loss for losses in known[:MOST_DRAWN_PAIRS] for loss in losses]


def channel_figures(calibration: Calibrated) -> Iterator[Figure]:
    """Yield what a channel makes of the two laws of the answer that are easiest to tell apart; nothing for noise."""
    channel = calibration.noise
    if not isinstance(channel, Channel):
        return
    known = list(_known(calibration))
    if channel.numerators.size * len(known) > MOST_CHANNEL_CELLS:
        return
    apart = [PrivacyLoss(one.first, one.second).total_variation.upper for (one, *_), _ in known]
    (exact, *_), name = known[max(range(len(apart)), key=apart.__getitem__)]
    figure = channel_drawing(exact.first, exact.second, channel, name)
    yield from () if figure is None else (figure,)


def _deciding(calibration: Calibrated) -> Iterable[PrivacyLoss]:
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
        for loss in _losses(*both, calibration.noise):
            yield replace(loss, kind="estimate" if decision.draws else decision.kind)


def _no_curve(pair: LawPair, noise: Noise) -> Refusal:
    """Return why the privacy loss of two laws behind some noise is not known in every view."""
    name, numbers = noise_name(noise), pair.first.dimension
    stands = "The guarantee holds as it stands."
    if pair.departure is not None:
        return Refusal(
            required="a privacy curve needs the laws of the answer itself",
            found="normal laws that stand for tables whose records are clamped",
            remedy=stands,
        )
    if isinstance(pair.first, Normal):
        return Refusal(
            required="the curve of normal laws is known with Gaussian noise, and where both have one covariance",
            found=f"{name} noise" if isinstance(noise, Laplace) else f"two covariances, or {name} noise",
            remedy=f'Calibrate with noise="gaussian" and a delta. {stands}',
        )
    return Refusal(
        required="a privacy curve needs the laws of one number, and noise that does not depend on them",
        found=f"{numbers} numbers" if numbers > 1 else f"{name} noise",
        remedy=f"Ask for one number. {stands}" if numbers > 1 else stands,
    )


def _pairs(constraint: Constraint, rounding: float) -> Sequence[LawPair]:
    """Return the laws of the answer, or of what the records add that change from one secret to the other."""
    if not isinstance(constraint.pairs, Refusal):
        return constraint.pairs
    sums = None if constraint.record is None else sums_of_records(constraint.record, rounding)
    if sums is None:
        raise constraint.pairs.error()
    return sums


def _losses(first: AnswerLaw, second: AnswerLaw, noise: Noise) -> tuple[PrivacyLoss, ...]:
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
