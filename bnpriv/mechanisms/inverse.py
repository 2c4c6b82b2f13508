"""The other way round: the least epsilon at which a mechanism needs no more than a given scale of Laplace noise."""

from __future__ import annotations

import math

from bnpriv.bound import up
from bnpriv.divergences.laplace import LaplacePair
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import Constraint, LawPair
from bnpriv.evidence.laws import laws
from bnpriv.laws.atoms import Atoms
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.column import ColumnMechanism
from bnpriv.mechanisms.departures import are_normal, distance_of
from bnpriv.mechanisms.from_draws import moved_by
from bnpriv.mechanisms.tight import TightMechanism, record_loss
from bnpriv.mechanisms.wasserstein import WassersteinMechanism
from bnpriv.noise.continuous import Laplace


def least_epsilon(calibration: Calibration, scale: float) -> float:
    """Return about the least epsilon at which a mechanism needs Laplace noise of at most this scale.

    Parameters
    ----------
    calibration : Calibration
        Of the mechanism, with Laplace noise, for delta 0 and any epsilon.
    scale : float
        Above 0, in the answer's unit.

    Returns
    -------
    float
        Right but for rounding; infinite where nothing is known.
    """
    if not isinstance(calibration.noise, Laplace) or calibration.delta > 0:
        return math.inf
    if isinstance(calibration.mechanism, (ColumnMechanism, WassersteinMechanism)):
        return calibration.epsilon * calibration.scale / scale
    if isinstance(calibration.mechanism, TightMechanism):
        evidence = laws(calibration.framework, calibration.query)
        if not isinstance(evidence, Refusal):
            return max(laplace_loss(constraint, scale, evidence.rounding) for constraint in evidence.constraints())
    return math.inf


def laplace_loss(constraint: Constraint, scale: float, rounding: float) -> float:
    """Return what an answer with Laplace noise tells of a secret, rounded up: by one record, or by its own laws.

    Parameters
    ----------
    constraint : Constraint
    scale : float
        Above 0.
    rounding : float
        By how much, in the 1-norm, rounding the answer can move two answers apart.

    Raises
    ------
    SizeError
        If the grid of one record's answer of several numbers is too large.
    """
    found = [math.inf]
    if constraint.record is not None:
        found.append(constraint.record.distance * record_loss(constraint.record)(scale))
    if not isinstance(constraint.pairs, Refusal):
        found.append(max(_of_pair(pair, scale) for pair in constraint.pairs))
    return up(min(found) + rounding / scale, 8)


def _of_pair(pair: LawPair, scale: float) -> float:
    if are_normal([pair]):
        return distance_of(pair, 1).upper / scale
    if not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms) or pair.first.dimension > 1:
        return math.inf
    return LaplacePair.of(pair.first, pair.second).epsilon(scale) + moved_by(pair) / scale
