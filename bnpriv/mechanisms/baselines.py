"""Baselines, for comparison only: record-level and group differential privacy, fitted to records and to no secret."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, final

from bnpriv import checks
from bnpriv.bound import Bound, up
from bnpriv.errors import Refusal
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.base import Found, Mechanism, Promise, Search
from bnpriv.mechanisms.bridge import ToldOfCounts, told_of_counts
from bnpriv.mechanisms.certificate import Certificate
from bnpriv.mechanisms.column import columns_refusal, noise_for
from bnpriv.noise.continuous import ContinuousNoise, Gaussian, Laplace, Noise
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import column_sensitivity, record_sensitivity
from bnpriv.render.text import full_text, number_text, rounded_up
from bnpriv.tables.schema import Schema


class _HidesRecords:
    """What both baselines do with the number of records that they hide."""

    noise: ContinuousNoise
    large_delta: bool
    claim: ClassVar[str]
    needs_model: ClassVar[bool] = False
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"noise": ("laplace", "gaussian")}

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
        told = _told(framework, query, noise, delta, most)
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


@final
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


@final
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


def _told(framework: Framework, query: Query, noise: Noise, delta: float, most: float) -> ToldOfCounts | None:
    """Return what follows from the model for secrets that are numbers of records; None where nothing does."""
    if not isinstance(noise, (Laplace, Gaussian)):
        return None
    one = record_sensitivity(query, query.columns, framework.schema, 1).upper
    return told_of_counts(framework, query, noise, up(one / noise.scale), delta, most)


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
