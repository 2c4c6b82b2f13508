"""What a report consists of: values that say nothing yet about how they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from bnpriv.bound import Bound
from bnpriv.influence.base import Influence
from bnpriv.influence.quilts import MarkovQuilt
from bnpriv.mechanisms import Calibration, Decision
from bnpriv.mechanisms.plan import Plan
from bnpriv.secrets.states import SecretPair

Edge = tuple[str, str]


@final
@dataclass(frozen=True, kw_only=True)
class NoiseOfQuilt:
    """The noise that a quilt leaves to be added.

    Parameters
    ----------
    queried_near : frozenset of str
        The queried columns that are near: the noise hides any change of them.
    sensitivity : Bound
        How far such a change can move the answer (column sensitivity, 1-norm).
    scale : float
        Scale of the Laplace noise; infinite when the quilt tells too much for the epsilon that was asked for.
    wins : bool
        Whether the Markov quilt mechanism uses this quilt.
    """

    queried_near: frozenset[str]
    sensitivity: Bound
    scale: float
    wins: bool


@final
@dataclass(frozen=True, kw_only=True)
class RankedQuilt:
    """A Markov quilt with what it tells.

    Parameters
    ----------
    quilt : MarkovQuilt
    influence : Influence or None
        None when its table would have been too large.
    noise : NoiseOfQuilt or None
        None without a query and an epsilon.
    """

    quilt: MarkovQuilt
    influence: Influence | None
    noise: NoiseOfQuilt | None = None

    @property
    def nats(self) -> float:
        """Return the influence, infinite when it is not known."""
        return math.inf if self.influence is None else float(self.influence)


@final
@dataclass(frozen=True, kw_only=True)
class EdgeEffect:
    """What would be told if an edge of the network were not there.

    Parameters
    ----------
    edge : (str, str)
        Parent and child.
    influence : Influence or None
        Of the same columns in the network without the edge; None when its table would have been too large.
    """

    edge: Edge
    influence: Influence | None

    @property
    def nats(self) -> float:
        """Return the influence without the edge, infinite when it is not known."""
        return math.inf if self.influence is None else float(self.influence)


@final
@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of SecretPair
        The ordered pairs of secrets.
    columns : tuple of Influence
        Every other attribute alone, the most telling first.
    quilts : tuple of RankedQuilt
        The least telling first.
    more : int or None
        How many quilts are not shown; None when they were not counted.
    asked : Influence or None
        What the queried columns tell together, the protected one left out; without a query, what the most telling
        column tells. None when there is no other attribute.
    path : tuple of (str, str)
        The edges along which it runs.
    edges : tuple of EdgeEffect
        What would be left of it without each edge between them, the largest change first.
    more_edges : int
        How many edges were not tried.
    is_queried : bool
        Whether the query reads the protected column itself, which tells everything about it.
    bounds_belief : bool
        Whether all pairs of its secrets are protected, so that influences bound beliefs, not only the odds between two
        secrets of a pair.
    """

    protected: str
    pairs: tuple[SecretPair, ...]
    columns: tuple[Influence, ...]
    quilts: tuple[RankedQuilt, ...]
    more: int | None
    asked: Influence | None = None
    path: tuple[Edge, ...] = ()
    edges: tuple[EdgeEffect, ...] = ()
    more_edges: int = 0
    is_queried: bool = False
    bounds_belief: bool = True

    @property
    def told(self) -> float:
        """Return in nats what is told by all that the report asks about, without noise."""
        if self.is_queried:
            return math.inf
        return 0.0 if self.asked is None else float(self.asked)

    @property
    def best(self) -> MarkovQuilt | None:
        """Return the quilt that the mechanism uses, else the least telling one that is not empty, else any."""
        for row in self.quilts:
            if row.noise is not None and row.noise.wins:
                return row.quilt
        for row in self.quilts:
            if row.quilt.quilt:
                return row.quilt
        return self.quilts[0].quilt if self.quilts else None


def quilt_calibration(plan: Plan | None) -> Calibration | None:
    """Return the calibration of a plan that rests on quilts, the best mechanism's or another's."""
    if plan is None:
        return None
    for calibration in plan.calibrations:
        if any(isinstance(decision, Decision) for decision in calibration.certificate.decisions):
            return calibration
    return None


def decision_for(calibration: Calibration | None, protected: str) -> Decision | None:
    """Return what decided the noise for a protected attribute."""
    found = () if calibration is None else calibration.certificate.decisions
    return next((row for row in found if isinstance(row, Decision) and row.protected == protected), None)


@final
@dataclass(frozen=True, kw_only=True)
class Belief:
    """How far a belief in a secret can move.

    Parameters
    ----------
    prior : float
        The belief before.
    answer : float or None
        The largest belief after the calibrated answer, as `Guarantee.belief`; None without a query and an epsilon.
    columns : mapping from str to float or None
        For every protected attribute the largest belief of somebody who learns all that the columns tell that the
        report asks about, without any noise; None where only some pairs of its secrets are protected.
    """

    prior: float
    answer: float | None
    columns: Mapping[str, float | None]
