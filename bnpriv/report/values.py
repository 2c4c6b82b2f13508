"""What a report found: frozen values that say nothing yet about how they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from bnpriv.bound import Bound, Kind
from bnpriv.errors import Refusal
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.pairs import NO_TABLE
from bnpriv.frameworks.protected import ProtectedSecret
from bnpriv.influence.base import Influence
from bnpriv.influence.further import FurtherTable
from bnpriv.influence.quilts import MarkovQuilt
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.plan import Plan
from bnpriv.networks.base import Network
from bnpriv.queries.base import Query
from bnpriv.render.layout import Edge
from bnpriv.render.shown import Shown
from bnpriv.report.curves import ScaleCurve
from bnpriv.secrets.pair import Pair


@final
@dataclass(frozen=True, kw_only=True)
class NoiseOfQuilt:
    """The noise that a quilt leaves to be added.

    Parameters
    ----------
    queried_near : frozenset of str
        The queried columns that are near: the noise hides any change of them.
    sensitivity : Bound
        How far such a change can move the answer (column sensitivity, in the norm of the noise).
    scale : float
        Scale of the noise; infinite when the quilt tells too much for the epsilon that was asked for.
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
        """Influence of the quilt; infinite when it is not known."""
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
        """Influence without the edge; infinite when it is not known."""
        return math.inf if self.influence is None else float(self.influence)


@final
@dataclass(frozen=True, kw_only=True)
class AttributeReport:
    """What is known about one protected attribute.

    Parameters
    ----------
    protected : str
    pairs : tuple of Pair
        The pairs of secrets; ordered ones of attributes with finitely many states.
    columns : tuple of Influence
        Every other attribute alone, the most telling first; one for all that tell the same.
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
        Whether the protected attribute is itself queried, or drives a queried column, which tells everything about it.
    bounds_belief : bool
        Whether all pairs of its secrets are protected, so that influences bound beliefs, not only the odds between two
        secrets of a pair.
    alike : mapping from str to tuple of str
        For attributes of which others tell the same: all of them, with the attribute itself.
    left : int
        Other attributes that were not looked at.
    driven : tuple of (str, Influence or None)
        Columns that are no attribute with what they tell, the most telling first; None where the protected attribute
        drives them itself, which tells everything.
    """

    protected: str
    pairs: tuple[Pair, ...]
    columns: tuple[Influence, ...]
    quilts: tuple[RankedQuilt, ...]
    more: int | None
    asked: Influence | None = None
    path: tuple[Edge, ...] = ()
    edges: tuple[EdgeEffect, ...] = ()
    more_edges: int = 0
    is_queried: bool = False
    bounds_belief: bool = True
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    left: int = 0
    driven: tuple[tuple[str, Influence | None], ...] = ()

    @property
    def told(self) -> float:
        """What all that the report asks about tells without noise, in nats."""
        if self.is_queried:
            return math.inf
        return 0.0 if self.asked is None else float(self.asked)

    @property
    def most(self) -> float:
        """What the most telling column tells, in nats; -1 without another column."""
        return float(self.columns[0]) if self.columns else -1.0

    @property
    def used(self) -> RankedQuilt | None:
        """The quilt that the noise is based on; None without noise by quilts."""
        return next((row for row in self.quilts if row.noise is not None and row.noise.wins), None)

    @property
    def best(self) -> MarkovQuilt | None:
        """The quilt that the mechanism uses, else the least telling one that is not empty, else any."""
        if self.used is not None:
            return self.used.quilt
        shields = (row.quilt for row in self.quilts if row.quilt.quilt)
        return next(shields, self.quilts[0].quilt if self.quilts else None)


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


@final
@dataclass(frozen=True, kw_only=True)
class AnswerInfluence:
    """How much an answer without noise tells about which of two laws it has.

    Parameters
    ----------
    protected : str
    pair : str
        The two laws.
    nats : float
        Largest log ratio of their masses, rounded up; infinite where an answer rules one of them out.
    kind : {"exact", "certified", "estimate"}
    """

    protected: str
    pair: str
    nats: float
    kind: Kind


@dataclass(frozen=True, kw_only=True, repr=False)
class Analysis(Shown):
    """What leaks about each protected attribute and, for a query, what noise it needs and why.

    Parameters
    ----------
    network : Network or None
        None where laws of an answer are declared without one.
    without : Refusal or None
        Why there is no network.
    source : str or None
        Where the model comes from.
    protected : tuple of ProtectedSecret
        What is protected, in words.
    attributes : tuple of AttributeReport
        One per protected attribute of the network.
    beliefs : tuple of Belief
        How far beliefs in a secret can move.
    assumptions : tuple of str
        What must hold outside the library.
    framework : Framework or None
        None for a network alone.
    query : Query or None
    epsilon : float or None
    delta : float
    plan : Plan or None
        Every mechanism for the query at the given epsilon.
    curves : tuple of Curve or None
        The noise of the Markov quilt mechanism at other epsilons; None without a query, or when they are too many.
    laws : LawDecision, Refusal or None
        The laws of the answer under the two secrets that are told apart best, or why they are not known; None where
        single columns say what is told.
    answers : tuple of AnswerInfluence
        For every pair of declared laws; empty where there is a network.
    further : tuple of FurtherTable
        What is known of this kind of network only.
    """

    network: Network | None
    without: Refusal | None = None
    source: str | None
    protected: tuple[ProtectedSecret, ...]
    attributes: tuple[AttributeReport, ...]
    beliefs: tuple[Belief, ...]
    assumptions: tuple[str, ...]
    framework: Framework | None = None
    query: Query | None = None
    epsilon: float | None = None
    delta: float = 0.0
    plan: Plan | None = None
    curves: tuple[ScaleCurve, ...] | None = None
    laws: LawDecision | Refusal | None = None
    answers: tuple[AnswerInfluence, ...] = ()
    further: tuple[FurtherTable, ...] = ()

    @property
    def best(self) -> Calibration | None:
        """The calibration with the least expected error; None without one."""
        return self.plan.best if self.plan is not None and self.plan.calibrations else None

    @property
    def records(self) -> int | None:
        """The number of records of the table; None where it is not known."""
        schema = None if self.framework is None else self.framework.schema
        return None if schema is None or schema is NO_TABLE else schema.records

    @property
    def worst(self) -> AttributeReport | None:
        """The protected attribute about which all that the report asks about tells most; None without a network."""
        return max(self.attributes, key=lambda row: (row.told, row.most), default=None)
