"""Law evidence where records, or parameters, are jointly normal: linear answers are normal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.core.distributions import Normal
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, Departure, LawPair
from bnpriv.core.evidence.records import rounding_of
from bnpriv.core.queries.base import Indicator, NormalForm, Steps, numeric
from bnpriv.core.secrets import Interval, IntervalPair, Pair, ValuesApart
from bnpriv.errors import Refusal
from bnpriv.kinds.gaussian.intervals import CUT_OFF_MASS, CUT_OFF_NATS, NormalIntervals, NormalSide
from bnpriv.kinds.gaussian.network import GaussianNetwork, farthest_values, value_range

# --------------------------------------------------------------------------------------------------
# How a secret moves the means of the columns, where records or parameters are jointly normal (claim: normal_records).
#
# Given that a weighted sum of normal numbers has the value a, the others are normal with a mean that moves with a, in
# proportion to it, and a covariance that does not depend on a.
# --------------------------------------------------------------------------------------------------

MOST_LOST = 1e-3
"""A covariance that may be off by more than this share of itself, in some direction, is not counted on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """The joint law of normal numbers given the value of a weighted sum of them.

    Parameters
    ----------
    centre, deviation : float
        Mean and standard deviation of that sum.
    mean : ndarray of shape (d,)
        Of the numbers, where the sum has its mean.
    slope : ndarray of shape (d,)
        By how much the mean of each moves when the sum grows by 1.
    slope_error : ndarray of shape (d,)
        How far rounding may have taken each slope off.
    covariance : ndarray of shape (d, d)
        Of the numbers given the sum; the true one is at least this, as quadratic forms are ordered.
    spread : ndarray of shape (d,)
        Standard deviation of each number, whatever the sum is; rounded up.
    error, centre_error : float
        How far rounding may have taken the deviation of the sum off, as a share of it, and its mean.
    """

    centre: float
    deviation: float
    mean: FloatArray
    slope: FloatArray
    slope_error: FloatArray
    covariance: FloatArray
    spread: FloatArray
    error: float
    centre_error: float


def translation(
    network: GaussianNetwork, model: int, weights: FloatArray, names: Sequence[str], fixed: str | None
) -> Translation:
    """Return how a weighted sum of all attributes moves some of them, under one model.

    Parameters
    ----------
    network : GaussianNetwork
    model : int
    weights : ndarray of shape (attributes,)
        Of the sum, not all 0.
    names : sequence of str, length d
        The attributes that are asked about.
    fixed : str, optional
        One of `names` that the sum and the others determine; its own row of the covariance is left at 0.

    Returns
    -------
    Translation
    """
    root = network.root[model]
    rows = root[[network.attributes.index(name) for name in names]]
    sum_row = weights @ root
    scaled, lengths = _scaled(np.vstack([sum_row, rows]))
    # the terms of the sum may cancel what they carry
    carried = float(np.abs(weights) @ np.linalg.norm(root, axis=1)) / float(lengths[0])
    error = 2 * network.rounding + 16 * root.shape[1] ** 2 * UNIT_ROUNDOFF * carried
    slope = scaled[1:] @ scaled[0] * lengths[1:] / lengths[0]
    slope_error = 4 * error * lengths[1:] / lengths[0]
    free = [k for k, name in enumerate(names) if name != fixed]
    covariance = np.zeros((len(names), len(names)))
    if free:
        covariance[np.ix_(free, free)] = _given(scaled[[0, *(1 + k for k in free)]], lengths[1:][free], error)
    return Translation(
        centre=float(weights @ network.mean[model]),
        deviation=float(lengths[0]),
        mean=network.mean[model][[network.attributes.index(name) for name in names]],
        slope=slope,
        slope_error=slope_error,
        covariance=covariance,
        spread=lengths[1:] * (1 + error),
        error=error,
        centre_error=64 * len(weights) * UNIT_ROUNDOFF * float(np.abs(weights) @ np.abs(network.mean[model])),
    )


def _scaled(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    lengths = np.linalg.norm(rows, axis=1)
    return rows / lengths[:, np.newaxis], lengths


def _given(scaled: FloatArray, lengths: FloatArray, error: float) -> FloatArray:
    """Return the covariance of all rows but the first given the first, rounded down in every direction.

    The rows are brought to triangular form: below the first what is left of each is a root of the covariance (the Schur
    complement). Where it cannot be told from a singular one, none is counted on.
    """
    triangle = cast(FloatArray, np.linalg.qr(scaled.T, mode="r"))
    rest = triangle[1:, 1:]
    lost = 8 * error * float(np.linalg.cond(scaled)) if rest.shape[0] == rest.shape[1] else np.inf
    if not lost <= MOST_LOST:
        return np.zeros((len(lengths), len(lengths)))
    return (rest.T @ rest) * np.outer(lengths, lengths) * (1 - lost)


# --------------------------------------------------------------------------------------------------
# Law evidence where records, or parameters, are jointly normal: linear answers are normal (claim: normal_records).
# --------------------------------------------------------------------------------------------------

REACH = 7.5
"""Deviations from its mean within which a normal number lies but for a probability of less than 1e-13."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearForm:
    """Numbers that are linear in the means of columns: ``weights @ means + constant``.

    Parameters
    ----------
    columns : tuple of str, length c
    weights : tuple of tuple of Fraction, shape (d, c)
    constant : tuple of Fraction, length d
    """

    columns: tuple[str, ...]
    weights: tuple[tuple[Fraction, ...], ...]
    constant: tuple[Fraction, ...]

    @classmethod
    def of(cls, form: NormalForm) -> LinearForm | Refusal:
        """Return the linear form of a query, or why it has none."""
        schema = form.schema
        for term in form.terms:
            if not isinstance(term, Steps) or term.exponent != 1:
                found = f"a count of {term.predicate}" if isinstance(term, Indicator) else str(term)
                return Refusal(
                    required="the answer's distribution follows from a normal distribution of the columns where the "
                    "answer is linear in "
                    "them: means, totals, weighted means and stacks of these",
                    found=found,
                    remedy="Ask for such a query, or declare how binned columns depend on each other by "
                    "DiscreteNetwork.from_tables.",
                )
        steps = [term for term in form.terms if isinstance(term, Steps)]
        columns = [numeric(term.column, schema) for term in steps]
        weights = tuple(
            tuple(row.get(k, Fraction(0)) * schema.records / column.grid for k, column in enumerate(columns))
            for row in form.rows
        )
        constant = tuple(
            shift - sum((w * column.origin for w, column in zip(row, columns, strict=True)), Fraction(0))
            for row, shift in zip(weights, form.offset, strict=True)
        )
        return cls(columns=tuple(term.column for term in steps), weights=weights, constant=constant)

    @property
    def matrix(self) -> FloatArray:
        """Return the weights as doubles, shape (d, c)."""
        return np.array([[float(w) for w in row] for row in self.weights]).reshape(len(self.weights), len(self.columns))

    def without(self, column: str, by: Mapping[str, Fraction]) -> LinearForm:
        """Return what is left of the weights once the value of a weighted sum `by` replaces a column of it."""
        k = self.columns.index(column)
        rows = tuple(
            tuple(
                Fraction(0) if j == k else weight - row[k] * by.get(name, Fraction(0)) / by[column]
                for j, (name, weight) in enumerate(zip(self.columns, row, strict=True))
            )
            for row in self.weights
        )
        return LinearForm(columns=self.columns, weights=rows, constant=self.constant)


def are_intervals(pair: Pair) -> bool:
    """Return whether the secrets of a pair are intervals, one of them at least of more than a single value."""
    return isinstance(pair, IntervalPair) and not pair.is_point


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalSecret:
    """A protected number that is normal under every model.

    Parameters
    ----------
    name : str
        The protected attribute.
    weights : mapping from str to Fraction
        Of the number as a sum of attributes, or of their means over the records; none is 0.
    constant : float
        What is added to that sum.
    pairs : tuple of Pair
        Values at most so far apart, chosen values, or intervals of them.
    """

    name: str
    weights: Mapping[str, Fraction]
    constant: float
    pairs: tuple[Pair, ...]

    @property
    def farthest(self) -> Pair:
        """Return the pair whose values are the farthest apart."""
        return max(self.pairs, key=lambda pair: pair.farthest)

    @property
    def compared(self) -> list[Pair]:
        """Return the pairs of intervals, and of the others the one whose values are the farthest apart."""
        wide: list[Pair] = []
        for pair in self.pairs:  # both directions of a pair have the same curve
            if are_intervals(pair) and pair.reverse not in wide:
                wide.append(pair)
        others = [pair for pair in self.pairs if not are_intervals(pair)]
        return [*wide, *([max(others, key=lambda pair: pair.farthest)] if others else [])]

    def reach(self, law: Translation, pair: Pair) -> list[float]:
        """Return how far from its mean the number may be under the secrets for which a pair stands, at the ends."""
        found: list[float] = []
        for each in [pair] if are_intervals(pair) else [pair for pair in self.pairs if not are_intervals(pair)]:
            if isinstance(each, ValuesApart):
                far = REACH * law.deviation + each.farthest
                found += [-far, far]
            else:
                found += [end for side in self.sides(law, each) for end in side]
        return found

    def offsets(self, law: Translation, pair: Pair) -> tuple[float, float]:
        """Return how far from its mean the two values of a pair are that are farthest apart."""
        if isinstance(pair, ValuesApart):
            # far from 0 a mean of the two values would lose their distance
            return farthest_values(pair, 0.0)
        (low, high), (other_low, other_high) = self.sides(law, pair)
        return (low, other_high) if other_high - low >= high - other_low else (high, other_low)

    def sides(self, law: Translation, pair: Pair) -> list[tuple[float, float]]:
        """Return how far from its mean the ends of both secrets are; of an unbounded one, of all but `CUT_OFF_MASS`."""
        at = law.centre + self.constant
        found: list[tuple[float, float]] = []
        for side in (pair.first, pair.second):
            low, high = ((end - at) / law.deviation for end in value_range(side))
            seen = NormalSide(low=low, high=high, start=low, end=high)
            if math.isinf(seen.width):
                seen = seen.counted(CUT_OFF_NATS)
            low, high = value_range(side)
            low = low - at if math.isfinite(low) else seen.low * law.deviation
            found.append((low, high - at if math.isfinite(high) else seen.high * law.deviation))
        return found

    def intervals(self, law: Translation, pair: Pair, moves: FloatArray) -> NormalIntervals | None:
        """Return how the number lies in two intervals; None where both are single values.

        Parameters
        ----------
        law : Translation
        pair : Pair
        moves : ndarray of shape (d,)
            How far each number of an answer moves at most when the secret grows by 1.

        Returns
        -------
        NormalIntervals or None
        """
        if not are_intervals(pair):
            return None
        ends = sorted(value_range(side) for side in (pair.first, pair.second))
        between, at, deviation = ends[0][1], law.centre + self.constant, law.deviation
        lower, upper = (
            NormalSide(
                low=(low - at) / deviation,
                high=(high - at) / deviation,
                start=(low - between) / deviation,
                end=(high - between) / deviation,
            )
            for low, high in ends
        )
        first, second = self.offsets(law, pair)
        known = [abs(end) for side in ends for end in side if math.isfinite(end)]
        off = law.centre_error + 8 * UNIT_ROUNDOFF * (max(known) + abs(law.centre) + abs(self.constant))
        return NormalIntervals(
            lower=lower,
            upper=upper,
            rising=second > first,
            distance=abs(second - first) / deviation * (1 - 2.0**-50),
            moves=moves * deviation,
            shift=off / deviation,
            spread=law.error,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearLaws(ComputedLaws):
    """The laws of a linear answer under secrets of a jointly normal model.

    Parameters
    ----------
    network : GaussianNetwork
    form : NormalForm
        The query.
    linear : LinearForm
        The same, in the means of the columns.
    secrets : tuple of NormalSecret
    assumptions : tuple of str
        What must hold outside the library.
    """

    network: GaussianNetwork
    form: NormalForm
    linear: LinearForm
    secrets: tuple[NormalSecret, ...]
    assumptions: tuple[str, ...]
    dropped: tuple[str, ...] = ()

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        return len(self.linear.weights)

    def told_apart(self, protected: str, model: int, label: str) -> IntervalPair:
        """Return the pair of secrets with these words; of values the two that are the farthest apart."""
        secret = next(each for each in self.secrets if each.name == protected)
        pair = next((each for each in secret.compared if str(each) == label), secret.farthest)
        if isinstance(pair, IntervalPair):
            return pair
        means = self.network.mean[min(model, self.network.models - 1)].tolist()
        known = zip(self.network.attributes, means, strict=True)
        centre = secret.constant + sum(float(secret.weights.get(name, 0)) * mean for name, mean in known)
        first, second = (Interval(value, value) for value in farthest_values(pair, centre))
        return IntervalPair(first, second)

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, grids and doubles can move two answers apart."""
        steps = [numeric(name, self.form.schema) for name in self.linear.columns]
        # a value is off by half a step, and by the rounding of the step that it is found to be nearest to
        moved = [
            float(column.grid) * (1 + 2.0**-40 + 16 * column.steps * UNIT_ROUNDOFF)
            + 8 * UNIT_ROUNDOFF * max(abs(column.lower), abs(column.upper))
            for column in steps
        ]
        return up(float(np.abs(self.linear.matrix).sum(axis=0) @ np.array(moved)) + rounding_of(self.form), 8)

    @property
    def closed_form(self) -> bool:
        """The laws are normal."""
        return True


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalLaws(LinearLaws):
    """The laws where records, or the parameters of columns, are jointly normal.

    Parameters
    ----------
    own : mapping from str to float, or None
        For every queried column the variance of a record about the parameter of its column; None where the network is
        one of records.
    """

    own: Mapping[str, float] | None

    def _compared(self) -> Iterator[Constraint]:
        for secret in self.secrets:
            for model in range(self.network.models):
                pairs = tuple(self._pair(secret, pair, model) for pair in secret.compared)
                yield Constraint(protected=secret.name, model=model, record=None, pairs=pairs)

    def _law(self, secret: NormalSecret, model: int) -> Translation:
        """Return how a secret moves the means of the queried columns."""
        fixed = self._determined(secret, model)
        sums = np.array([float(secret.weights.get(name, 0)) for name in self.network.attributes])
        law = translation(self.network, model, sums, self.linear.columns, fixed)
        return _of_means(law, self.form.schema.records) if self.own is None else law

    def _pair(self, secret: NormalSecret, pair: Pair, model: int) -> LawPair:
        """Return the laws of the answer under the two values of a pair of secrets that are the farthest apart."""
        law, matrix = self._law(secret, model), self.linear.matrix
        base = matrix @ law.mean + np.array([float(shift) for shift in self.linear.constant])
        first, second = secret.offsets(law, pair)
        centres = [base + matrix @ law.slope * offset for offset in (first, second)]
        covariance = self._covariance(law, secret, model)
        if self._independent(secret):
            law_of_both = Normal(base, covariance)
            return LawPair(pair=str(pair), first=law_of_both, second=law_of_both, rounding=0.0)
        moves = np.abs(matrix) @ (np.abs(law.slope) + law.slope_error) * (1 + 16 * len(law.slope) * UNIT_ROUNDOFF)
        inside = secret.intervals(law, pair, moves)
        unsure = float((np.abs(matrix) @ law.slope_error).sum()) * abs(second - first)
        unsure += 8 * UNIT_ROUNDOFF * float(sum(np.abs(centre).sum() for centre in centres))
        return LawPair(
            pair=str(pair),
            first=Normal(centres[0], covariance),
            second=Normal(centres[1], covariance),
            rounding=up(self.rounding + unsure),
            kind="certified",
            departure=Departure(mass=self._clamped(secret, pair, law, inside), moves=moves * pair.farthest),
            intervals=inside,
        )

    def _independent(self, secret: NormalSecret) -> bool:
        """Return whether the graph says that the secret tells nothing of the queried columns, clamped or not."""
        asked = frozenset(self.linear.columns)
        return asked.isdisjoint(secret.weights) and not any(
            self.network.graph.frontier(name, asked) for name in secret.weights
        )

    def _covariance(self, law: Translation, secret: NormalSecret, model: int) -> FloatArray:
        """Return the covariance of the answer given the secret, rounded down in every direction."""
        matrix, fixed = self.linear.matrix, self._determined(secret, model)
        free = matrix if fixed is None else self.linear.without(fixed, secret.weights).matrix
        variances = self._own / self.form.schema.records
        found = free @ law.covariance @ free.T + (matrix * variances) @ matrix.T
        carried = np.abs(free) @ np.sqrt(np.diagonal(law.covariance)) + np.abs(matrix) @ np.sqrt(variances)
        return rounded_down(found, carried)

    def _determined(self, secret: NormalSecret, model: int) -> str | None:
        """Return a queried column that the secret and the others determine, if there is one, the largest."""
        if not set(secret.weights) <= set(self.linear.columns):
            return None
        return max(secret.weights, key=lambda name: abs(secret.weights[name]) * self.network.deviation(name)[model])

    @property
    def _own(self) -> FloatArray:
        """Return the variance of a record about the parameter of its column, for every queried column."""
        return np.array([0.0 if self.own is None else self.own[name] for name in self.linear.columns])

    def _clamped(self, secret: NormalSecret, pair: Pair, law: Translation, inside: NormalIntervals | None) -> float:
        """Return the largest probability, under a secret of a pair, that any record of a queried column is clamped."""
        from scipy.special import ndtr

        total = 0.0
        spread = np.sqrt(law.spread**2 + self._own) * (1 + 8 * UNIT_ROUNDOFF)
        for k, name in enumerate(self.linear.columns):
            column, tails = numeric(name, self.form.schema), list[float]()
            for offset in (0.0, *secret.reach(law, pair)):
                centre = law.mean[k] + law.slope[k] * offset
                lost = law.centre_error + 64 * UNIT_ROUNDOFF * (abs(secret.constant) + abs(offset))
                off = abs(offset) * law.slope_error[k] + abs(law.slope[k]) * lost + 8 * UNIT_ROUNDOFF * abs(centre)
                gaps = np.array([column.upper - centre - off, centre - column.lower - off]) / spread[k]
                tails.append(1.0 if gaps.min() <= 0 else float(cast(FloatArray, ndtr(-gaps)).sum()))
            worst = max(tails[1:])
            if inside is not None and inside.least_mass > 0:
                # the first is that over all values of the secret, of which no more can lie in one interval
                worst = min(worst, tails[0] / inside.least_mass)
            total += self.form.schema.records * worst
        return min(1.0, total * (1 + 1e-9) + (CUT_OFF_MASS if math.isinf(pair.farthest) else 0.0))


def plausible_values(secrets: tuple[NormalSecret, ...]) -> tuple[str, ...]:
    """Return which values count where only their distance, or an interval of them, is declared."""
    pairs = [pair for secret in secrets for pair in secret.pairs]
    far = (
        f"At least one value of a protected pair lies within {REACH:g} deviations of what the model expects. Pairs "
        "further away, with a probability below 1 in 10 trillion, are hidden only by noise for the distance alone."
    )
    within = "Within a protected interval its values are as probable as the model says."
    return (
        *([far] if any(isinstance(pair, ValuesApart) for pair in pairs) else []),
        *([within] if any(map(are_intervals, pairs)) else []),
    )


def _of_means(law: Translation, records: int) -> Translation:
    """Return the law of the means of independent records from that of one record."""
    return replace(law, deviation=law.deviation / math.sqrt(records), covariance=law.covariance / records)


def rounded_down(covariance: FloatArray, carried: FloatArray) -> FloatArray:
    """Return a covariance less what rounding can have added to it in any direction; 0 if that cannot be told.

    Parameters
    ----------
    covariance : ndarray of shape (d, d)
    carried : ndarray of shape (d,)
        The sum of the sizes of the terms of each number, which may have cancelled.
    """
    deviations = np.sqrt(np.diagonal(covariance))
    some = deviations > 0
    found = np.zeros_like(covariance)
    if not some.any():
        return found
    block = np.ix_(some, some)
    least = float(np.linalg.eigvalsh(covariance[block] / np.outer(deviations[some], deviations[some]))[0])
    cancelled = float((carried[some] / deviations[some]).max()) ** 2
    lost = 64 * len(some) * (len(some) + 8) * UNIT_ROUNDOFF * cancelled / max(least, UNIT_ROUNDOFF)
    if lost <= MOST_LOST:
        found[block] = covariance[block] * (1 - lost)
    return found
