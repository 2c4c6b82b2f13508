"""The privacy curve of a calibration whose laws of the answer are known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import cast

from bnpriv.divergences.curve import PrivacyCurve
from bnpriv.divergences.loss import PrivacyLoss
from bnpriv.divergences.shown_views import curve_figure, views_table
from bnpriv.divergences.with_noise import Rows
from bnpriv.errors import LawError, Refusal, RefusedError, SizeError
from bnpriv.evidence import LawPair, laws
from bnpriv.evidence.constraints import AnswerLaw, Constraint
from bnpriv.frameworks import DistributionPrivacy
from bnpriv.laws import Atoms, Normal
from bnpriv.mechanisms.calibrated import Calibrated
from bnpriv.mechanisms.k_fold import SUMS_RULE, sums_of_records
from bnpriv.mechanisms.law_decision import LawDecision, model_text
from bnpriv.mechanisms.normal_laws import mahalanobis
from bnpriv.noise import CorrelatedGaussian, DiscreteLaplace, Gaussian, Laplace, Noise, NoNoise
from bnpriv.render.document import Paragraph, Section

MOST_DRAWN_ATOMS = 2**14
"""Laws of more atoms have no curve in a document; they have one that is asked for."""

MOST_DRAWN_PAIRS = 8
"""Pairs of laws whose curve is in a document."""

ANSWER_RULE = "the laws of the answer"
"""Names decisions that compare the laws of the answer themselves."""

OTHER_PAIRS = "Others may tell more in other views: calibration.curve() takes all pairs."

NO_CURVE = Refusal(
    required="a privacy curve needs the laws of one number, with independent noise",
    found="laws of another kind, or noise with a shape of its own",
    remedy="Ask for one number, or read the guarantee, which holds as it stands.",
)


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
    query = calibration.weighted_query
    evidence = laws(calibration.framework, query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    losses: list[PrivacyLoss] = []
    names: list[str] = []
    for constraint in evidence.constraints():
        for pair in _pairs(constraint, evidence.rounding):
            # normal laws that stand for clamped records are not those of the answer
            found = () if pair.departure is not None else _losses(pair.first, pair.second, calibration.noise)
            if not found:
                raise NO_CURVE.error()
            kind = "estimate" if pair.sampled is not None else pair.kind
            losses += [replace(loss, kind=kind) for loss in found]
            names += [f"{constraint.protected} ({pair.pair}{model_text(constraint.model, 2)})"] * len(found)
    return PrivacyCurve(losses, names, (calibration.epsilon, calibration.guarantee.delta))


def curve_sections(calibration: Calibrated) -> Iterator[Section]:
    """Yield the curve of the pairs that decided the noise, where it is known and quickly drawn."""
    try:
        losses = list(_deciding(calibration))
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
    told = "the pairs of laws that decided the noise" if len(losses) > 2 else "the two laws that decided the noise"
    guess = ", an estimate" if curve.epsilon.kind == "estimate" else ""
    yield Section(
        title="How much the answer can tell, and how often",
        id="loss",
        blocks=(Paragraph(f"What is released, under {told}, in both directions{guess}. {OTHER_PAIRS}"), figure, table),
        folded=True,
    )


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
        if isinstance(both[0], Normal) and not isinstance(calibration.framework, DistributionPrivacy):
            continue
        for loss in _losses(*both, calibration.noise):
            yield replace(loss, kind="estimate" if decision.draws else decision.kind)


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
    known = isinstance(noise, (NoNoise, Laplace, Gaussian, DiscreteLaplace, Rows))
    if not known or first.dimension > 1:
        return ()
    loss = PrivacyLoss(cast(Atoms, first), cast(Atoms, second), noise)
    return loss, loss.reversed


def _normal_losses(first: Normal, second: Normal, noise: Noise) -> tuple[PrivacyLoss, ...]:
    """Return the loss of two normal answers with Gaussian noise, which is that of two numbers with noise of scale 1."""
    known = isinstance(noise, (NoNoise, Gaussian, CorrelatedGaussian))
    if not known or (first.covariance != second.covariance).any():
        return ()
    mu = mahalanobis(second.mean - first.mean, first.covariance + noise.covariance)
    if not math.isfinite(mu):
        return ()
    loss = PrivacyLoss(Atoms([0.0], [1.0]), Atoms([mu], [1.0]), Gaussian(1.0))
    return loss, loss.reversed
