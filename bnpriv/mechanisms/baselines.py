"""Baselines, for comparison only: record-level and group differential privacy, and what they tell of a secret."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from bnpriv import checks
from bnpriv.bound import Bound, Kind, halved, up, weakest
from bnpriv.core.accounting.total import Entry, rounded_up as least_double
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import Constraint, LawPair, RecordPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration, Mechanism, Promise, Search
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.column import ColumnMechanism, columns_refusal, noise_for
from bnpriv.core.mechanisms.k_fold import Coupled
from bnpriv.core.mechanisms.law_decision import are_normal, distance_of, moved_by
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism, record_loss
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise, Gaussian, Laplace, Noise
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import column_sensitivity, record_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.digest import digest
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import notion_of
from bnpriv.text import full_text, number_text, rounded_up

# --------------------------------------------------------------------------------------------------
# The other way round: the least epsilon at which a mechanism needs no more than a given scale of Laplace noise.
# --------------------------------------------------------------------------------------------------


def epsilon_for_scale(calibration: Calibration, scale: float) -> float:
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


# --------------------------------------------------------------------------------------------------
# What noise that hides records tells of a secret that is a number of records: the price of one in the other.
#
# docs/claims/baselines.md. Records are independent draws from a model of one record, given which of them count.
# --------------------------------------------------------------------------------------------------

LEVEL_STEPS = 40
"""Halvings of the range in which the least epsilon of a privacy curve is sought."""


class ToldOfCounts(NamedTuple):
    """What an answer tells of secrets that are numbers of records.

    Parameters
    ----------
    epsilon : float
        At the delta of the noise; rounded up.
    kind : {"exact", "certified", "estimate"}
    assumptions : tuple of str
        What it rests on.
    """

    epsilon: float
    kind: Kind
    assumptions: tuple[str, ...]


def told_of_counts(
    framework: Framework, query: Query, noise: Laplace | Gaussian, delta: float, most: float
) -> ToldOfCounts | None:
    """Return what noise that hides records tells of the secrets; None unless all of them are numbers of records.

    Parameters
    ----------
    framework : Framework
    query : Query
        The weighted one.
    noise : Laplace or Gaussian
    delta : float
        That of Gaussian noise.
    most : float
        An epsilon that holds for any change of all records, at the same delta.
    """
    evidence = laws(framework, query)
    if isinstance(evidence, Refusal):
        return None
    by_records = _by_records(framework, query, noise) if isinstance(noise, Laplace) else None
    if by_records is not None:
        return ToldOfCounts(min(by_records[0], most), by_records[1], evidence.assumptions)
    found: list[float] = []
    kinds: list[Kind] = []
    for each in evidence.constraints():
        if each.record is None:
            return None
        if isinstance(noise, Laplace):
            told = _of_laplace(each, each.record, noise, evidence.rounding)
        else:
            told = _of_gaussian(Coupled.of(each.record, 2), noise, delta, evidence.rounding, most)
        found.append(min(told, most))
        kinds.append(each.record.kind)
    return ToldOfCounts(max(found), weakest(kinds), evidence.assumptions)


def _by_records(framework: Framework, query: Query, noise: Laplace) -> tuple[float, Kind] | None:
    """Return what is told of numbers of records, by theorem 4 of accountant.md; None where that does not count."""
    together = notion_of(framework).together(framework)
    asked, weights = (query.asked, query.weights) if isinstance(query, Weighted) else (query, ())
    if isinstance(together, Refusal) or together.covers(asked) is not None:
        return None
    entry = Entry(
        mechanism="",
        text=str(asked),
        columns=asked.columns,
        noise="laplace",
        scale=noise.scale,
        weights=weights,
        moved=math.inf,
        family="records",
        epsilon=Fraction(0),
        delta=Fraction(0),
        kind="exact",
    )
    if entry.query is None or digest(entry.query) != digest(asked):
        return None
    total = together.total([entry])
    return None if total.epsilon is None else (least_double(total.epsilon), total.kind)


def _of_laplace(constraint: Constraint, record: RecordPair, noise: Laplace, rounding: float) -> float:
    """Return what is told behind Laplace noise, of two networks or where an accountant does not count records."""
    try:
        return min(record.log_ratio, laplace_loss(constraint, noise.scale, rounding))
    except SizeError:
        return record.log_ratio


def _of_gaussian(coupled: Coupled, noise: Gaussian, delta: float, rounding: float, most: float) -> float:
    """Return what is told behind Gaussian noise: the least epsilon at which one of two curves is at most delta."""
    scale = noise.scale

    def excess(level: float) -> float:
        curves = (coupled.coupled_curve(level, delta), coupled.composed_curve(level, delta))
        # moving an answer moves a normal law by at most this in total variation, under both secrets
        return min(curve(scale) for curve in curves) + (1 + math.exp(min(level, 700.0))) * rounding / scale

    return least_level(excess, delta, most)


def least_level(excess: Callable[[float], float], delta: float, most: float) -> float:
    """Return an epsilon at which a privacy curve is at most delta, hardly above the least; `most` if none is below it.

    Examples
    --------
    >>> round(least_level(lambda level: math.exp(-level), 0.1, 50.0), 6) == round(math.log(10), 6)
    True
    """
    # what rounding adds grows with the level: the least one is sought from below, where large ones pass delta again
    low, high = 0.0, min(1.0, most)
    while high < most and excess(high) > delta:
        low, high = high, min(1.5 * high, most)
    return halved(low, high, lambda level: excess(level) <= delta, LEVEL_STEPS)[1]


# --------------------------------------------------------------------------------------------------
# Baselines, for comparison only: record-level and group differential privacy, fitted to records and to no secret.
# --------------------------------------------------------------------------------------------------


class _HidesRecords:
    """What both baselines do with the number of records that they hide."""

    noise: ContinuousNoise
    large_delta: bool
    claim: ClassVar[str]
    needs_model: ClassVar[bool] = False

    @abstractmethod
    def _hidden(self, framework: Framework) -> int:
        """How many records change at once."""

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        size, schema = self._hidden(framework), framework.schema

        def search() -> Found:
            moved = group_sensitivity(query, schema, size, 1 if self.noise == "laplace" else 2)
            hidden = _group(size, schema)
            certificate = Certificate(
                theorem=f"Differential privacy for {hidden}, a baseline",
                claim=self.claim,
                decisions=(),
                sensitivity=moved,
                source=framework.source,
                assumptions=query.assumptions,
                notes=(f"For comparison only: the noise hides any change of {hidden}, by no model.",),
                zero_noise_reason=None if moved.upper else "the answer does not depend on the data",
            )
            noise, spent = noise_for(moved, self.noise, query.dimension(schema), epsilon, delta)
            return Found(noise, certificate, spent)

        return columns_refusal(self.noise, framework, query, delta, large_delta=self.large_delta) or search

    def _promise(self, framework: Framework, query: Query, noise: Noise, epsilon: float, delta: float) -> Promise:
        """What follows for the secrets: what holds if all records change."""
        size, schema = self._hidden(framework), framework.schema
        hidden = f"This is a baseline. It hides any change of {_group(size, schema)} from anybody, whatever they "
        hidden += f"believe (epsilon {epsilon:g}" + (f", delta {full_text(delta)})" if delta else ")")
        if size >= schema.records:
            return Promise(epsilon, f"{hidden}, and with them every property of the table.")
        most = _of_all_records(framework, query, noise, epsilon, delta)
        known = isinstance(noise, (Laplace, Gaussian))
        told = told_of_counts(framework, query, noise, delta, most) if known else None
        if told is None or not told.epsilon < most:
            text = "it does not protect properties of the table: all that follows for the secrets is said above."
            return Promise(most, f"{hidden}; {text}")
        text = f"{hidden}. What is said above of the secrets rests on the model of one record; whatever "
        return Promise(
            told.epsilon,
            f"{text}the model is, only epsilon {number_text(rounded_up(most))} holds for them.",
            without_model=most,
            kind=told.kind,
            assumptions=told.assumptions,
        )


@dataclass(frozen=True, kw_only=True)
class GroupPrivacyMechanism(_HidesRecords, Mechanism):
    """Noise that hides any change of a group of records; a baseline, which `plan` shows only when it is passed.

    With all records in the group it is `ColumnMechanism`, the noise that a property costs without a model. With fewer
    it hides those records; the guarantee says what follows for the secrets, which for numbers of records and pairs of
    networks rests on the model.

    Parameters
    ----------
    size : int, optional
        How many records change at once; all of them by default.
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm, or Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/baselines.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework, query = bp.example("student"), bp.count(bp.col("height") > 180)
    >>> mechanism = bp.mechanisms.GroupPrivacyMechanism(size=100)
    >>> round(mechanism.calibrate(framework, query, epsilon=1.0).scale)
    100
    """

    size: int | None = None
    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "baselines.md"
    checked: ClassVar[Mapping[str, Callable[[str, object], object]]] = {"size": checks.whole}

    def _hidden(self, framework: Framework) -> int:
        return framework.schema.records if self.size is None else self.size


@dataclass(frozen=True, kw_only=True)
class RecordPrivacyMechanism(_HidesRecords, Mechanism):
    """Noise that hides any change of one record; a baseline, which `plan` shows only when it is passed.

    It is record-level differential privacy, and fitted to no property of the table; the guarantee says what follows for
    the secrets, which for numbers of records and pairs of networks rests on the model.

    Parameters
    ----------
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm, or Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If an option is none of these.

    Notes
    -----
    docs/claims/baselines.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework, query = bp.example("student"), bp.count(bp.col("height") > 180)
    >>> calibration = bp.mechanisms.RecordPrivacyMechanism().calibrate(framework, query, epsilon=1.0)
    >>> round(calibration.scale), round(calibration.guarantee.epsilon)
    (1, 10000)
    """

    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "baselines.md"

    def _hidden(self, framework: Framework) -> int:
        return 1


def group_sensitivity(query: Query, schema: Schema, size: int, norm: int) -> Bound:
    """Return how far the answer can move when some records change, arbitrarily, in all queried columns.

    Parameters
    ----------
    query : Query
    schema : Schema
    size : int
        How many records change at once.
    norm : {1, 2}

    Returns
    -------
    Bound
        As of `column_sensitivity`.
    """
    whole = column_sensitivity(query, query.columns, schema, norm)
    if size >= schema.records:
        return whole
    one = record_sensitivity(query, query.columns, schema, norm)
    # the answer is rounded once, not once for each record, so that this may be a little loose
    most = min(whole.upper, up(size * one.upper))
    return Bound(min(size * one.lower, most), most, "certified" if size > 1 else one.kind)


def _group(size: int, schema: Schema) -> str:
    """Return which records are hidden, in words."""
    if size >= schema.records:
        return "all records together"
    return "one record" if size == 1 else f"any {size:,} records"


def _of_all_records(framework: Framework, query: Query, noise: Noise, epsilon: float, delta: float) -> float:
    """Return the epsilon, at the same delta, that holds if all records change."""
    if isinstance(noise, Laplace):
        moved = column_sensitivity(query, query.columns, framework.schema, 1).upper
        return max(epsilon, up(moved / noise.scale))
    if not isinstance(noise, Gaussian):
        return epsilon
    moved = column_sensitivity(query, query.columns, framework.schema, 2).upper / noise.scale
    # the privacy loss is normal with mean moved^2 / 2 and deviation moved: docs/claims/baselines.md
    return max(epsilon, up(moved**2 / 2 + moved * math.sqrt(-2 * math.log(delta)), 16))
