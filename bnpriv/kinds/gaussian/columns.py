"""Law evidence where records or parameters are jointly normal, or columns normal about functions of such."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, up
from bnpriv.core.column_laws import NumberLaw
from bnpriv.core.distributions import Normal
from bnpriv.core.evidence.constraints import ComputedLaws, Constraint, Departure, LawPair, Laws
from bnpriv.core.evidence.laws import missing_node
from bnpriv.core.evidence.records import rounding_of
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.queries.base import Indicator, NormalForm, Query, Steps, normal_form, numeric
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Interval, IntervalPair, Pair, Secret, ValuesApart
from bnpriv.errors import Refusal
from bnpriv.kinds.draws.laws import laws_of_draws
from bnpriv.kinds.gaussian.intervals import CUT_OFF_MASS, CUT_OFF_NATS, NormalIntervals, NormalSide
from bnpriv.kinds.gaussian.network import GaussianNetwork, NormalColumn, farthest_values, value_range

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


# --------------------------------------------------------------------------------------------------
# Of normal laws under many models those that ask for the most noise: the others need not be looked at.
# --------------------------------------------------------------------------------------------------

LIKE_GAP = 1e-9
"""How far, for its length, a gap of several numbers may be from another that counts as the same."""

SHRUNK = 1e-6
"""Share that is taken off the covariance of what stands for others: far above what rounding adds to a comparison."""


def dominant_pairs(pairs: Sequence[LawPair]) -> dict[int, LawPair]:
    """Return those pairs of normal laws, by place, of which none asks for at least as much noise as another.

    Of one number a pair asks for no more than another if its means are no further apart, its variance is no smaller,
    and clamping, moves and rounding are no larger; of several if the gap is the same up to rounding, and the covariance
    is no smaller in any direction. Secrets in intervals are compared where they lie in them alike. What stands for
    others of several numbers is made a little harder than all of them (docs/claims/belief.md).
    """
    if not pairs:
        return {}
    if pairs[0].first.dimension > 1:
        sizes = [float(np.trace(_normal(pair).covariance)) for pair in pairs]
        kept: dict[int, LawPair] = {}
        for k in sorted(range(len(pairs)), key=lambda k: sizes[k]):
            above = next((j for j in kept if _outdoes(pairs[j], pairs[k])), None)
            if above is None:
                kept[k] = pairs[k]
            elif kept[above] is pairs[above]:
                kept[above] = _harder(pairs[above])
        return dict(sorted(kept.items()))
    alike: dict[object, list[int]] = {}
    for k, pair in enumerate(pairs):
        alike.setdefault(pair.intervals, []).append(k)
    kept = {}
    for places in alike.values():
        facts = np.array([_hardness(pairs[k]) for k in places])
        _, first = np.unique(facts, axis=0, return_index=True)
        rows = facts[first]
        beaten = [bool(((rows >= row).all(axis=1) & (rows > row).any(axis=1)).any()) for row in rows]
        kept |= {places[j]: pairs[places[j]] for j, worse in zip(first.tolist(), beaten, strict=True) if not worse}
    return dict(sorted(kept.items()))


def _hardness(pair: LawPair) -> list[float]:
    """Return numbers of which larger ones ask for more noise."""
    return [abs(float(_gap(pair)[0])), -float(_normal(pair).covariance[0, 0]), *_others(pair)]


def _normal(pair: LawPair) -> Normal:
    assert isinstance(pair.first, Normal)
    return pair.first


def _gap(pair: LawPair) -> FloatArray:
    assert isinstance(pair.second, Normal)
    return pair.second.mean - _normal(pair).mean


def _others(pair: LawPair) -> list[float]:
    """Return rounding, and the probability and the lengths of moves where records are clamped."""
    departure, inside = pair.departure, pair.intervals
    far = [0.0] * (1 + pair.first.dimension) if departure is None else [departure.mass, *departure.moves.tolist()]
    if isinstance(inside, NormalIntervals):
        far += [*inside.moves.tolist(), inside.shift, inside.spread]
    return [pair.rounding, *far]


def _outdoes(pair: LawPair, other: LawPair) -> bool:
    """Return whether what `_harder` makes of a pair asks for at least as much noise as another pair."""
    gap, covariance, larger = _gap(pair), _normal(pair).covariance, _normal(other).covariance
    if float(np.abs(_gap(other) - gap).sum()) > LIKE_GAP * float(np.abs(gap).sum()):
        return False
    if pair.intervals != other.intervals or any(a < b for a, b in zip(_others(pair), _others(other), strict=True)):
        return False
    if not covariance.any():
        return True
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    scaled = np.linalg.solve(root, np.linalg.solve(root, larger).T)
    return float(np.linalg.eigvalsh((scaled + scaled.T) / 2)[0]) >= 1 - SHRUNK / 2


def _harder(pair: LawPair) -> LawPair:
    """Return a pair that asks for as much noise as all that differ from it by rounding, or have more variance."""
    shrunk = _normal(pair).covariance * (1 - SHRUNK)
    first, second = (Normal(law.mean, shrunk) for law in (_normal(pair), pair.second) if isinstance(law, Normal))
    return replace(
        pair, first=first, second=second, rounding=up(pair.rounding + LIKE_GAP * float(np.abs(_gap(pair)).sum()), 8)
    )


# --------------------------------------------------------------------------------------------------
# Law evidence where columns are normal about affine functions of normal parameters (claim: normal_records).
# --------------------------------------------------------------------------------------------------

COLUMNS_FROM_MODEL = (
    "The records are those of the declared model: normal about the means that it gives them, before they are clamped "
    "to their bounds, and none is missing."
)

LEAST_CLAMPED = 1e-15
"""Probabilities that a record is clamped count as at least this."""

SUMMED = 2.0**-40
"""What adding up the coefficients of all records may take from their mean, as a share of the mean of their sizes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Below:
    """The queried columns under one model: numbers that are affine in parameters, and how their records are.

    Parameters
    ----------
    drivers : tuple of str, length p
    mean, error : ndarray of shape (c, p)
        The coefficients of the mean of each column, and how far adding them up may have taken them off.
    base : ndarray of shape (c,)
    variance : ndarray of shape (c,)
        Of the mean of each column about that; at most the true one.
    columns : tuple of NormalColumn
        Under this model alone.
    places : tuple of list of int
        Where the drivers of each column stand.
    """

    drivers: tuple[str, ...]
    mean: FloatArray
    error: FloatArray
    base: FloatArray
    variance: FloatArray
    columns: tuple[NormalColumn, ...]
    places: tuple[list[int], ...]

    @classmethod
    def of(cls, columns: tuple[NormalColumn, ...], model: int, records: int) -> _Below:
        """Return it for one model and a number of records."""
        chosen = tuple(column.under(model) for column in columns)
        drivers = tuple(dict.fromkeys(name for column in chosen for name in column.drivers))
        places = tuple([drivers.index(name) for name in column.drivers] for column in chosen)
        mean = np.zeros((len(chosen), len(drivers)))
        error = np.zeros_like(mean)
        for k, (column, place) in enumerate(zip(chosen, places, strict=True)):
            mean[k, place] = column.slopes[0].mean(axis=0)
            error[k, place] = SUMMED * np.abs(column.slopes[0]).mean(axis=0)
        squares = [float((column.deviation[0] ** 2).mean()) for column in chosen]
        return cls(
            drivers=drivers,
            mean=mean,
            error=error,
            base=np.array([float(column.base[0].mean()) for column in chosen]),
            variance=np.array(squares) / records * (1 - SUMMED),
            columns=chosen,
            places=places,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalColumnLaws(LinearLaws):
    """The laws of an answer that is linear in columns which are normal about affine functions of normal parameters.

    Parameters
    ----------
    columns : tuple of NormalColumn
        Those of `linear`, in its order.
    """

    columns: tuple[NormalColumn, ...]

    def _compared(self) -> Iterator[Constraint]:
        lengths = [len(each) for column in self.columns for each in (column.base, column.slopes, column.deviation)]
        models = max([self.network.models, *lengths])
        below = [_Below.of(self.columns, model, self.form.schema.records) for model in range(models)]
        for secret in self.secrets:
            found: dict[int, list[LawPair]] = {}
            for asked in secret.compared:
                pairs = [self._pair(secret, asked, self._model(k), below[k]) for k in range(models)]
                for k, pair in dominant_pairs(pairs).items():
                    found.setdefault(k, []).append(pair)
            for k in sorted(found):
                yield Constraint(protected=secret.name, model=k, record=None, pairs=tuple(found[k]))

    def _model(self, k: int) -> int:
        """Return the model of the network that goes with a model of the columns: the only one, or the same."""
        return k if self.network.models > 1 else 0

    def _pair(self, secret: NormalSecret, pair: Pair, model: int, below: _Below) -> LawPair:
        """Return the laws of the answer under the two values of a pair of secrets that are the farthest apart."""
        matrix = self.linear.matrix
        weights = np.array([float(name == secret.name) for name in self.network.attributes])
        fixed = secret.name if secret.name in below.drivers else None
        law = translation(self.network, model, weights, below.drivers, fixed)
        centre = below.base + below.mean @ law.mean
        base = matrix @ centre + np.array([float(shift) for shift in self.linear.constant])
        covariance = self._covariance(law, below)
        if not below.drivers or (
            fixed is None and not self.network.graph.frontier(secret.name, frozenset(below.drivers))
        ):
            one = Normal(base, covariance)  # the graph separates the secret from all records, clamped or not
            return LawPair(pair=str(pair), first=one, second=one, rounding=0.0)
        slope = below.mean @ law.slope
        off = np.abs(below.mean) @ law.slope_error + below.error @ (np.abs(law.slope) + law.slope_error)
        off += SUMMED * np.abs(below.mean) @ np.abs(law.slope)
        offsets = secret.offsets(law, pair)
        centres = [base + matrix @ slope * offset for offset in offsets]
        carried = np.abs(matrix) @ (np.abs(below.base) + np.abs(below.mean) @ np.abs(law.mean))
        unsure = float((np.abs(matrix) @ off).sum()) * abs(offsets[1] - offsets[0])
        unsure += 64 * UNIT_ROUNDOFF * float(sum(np.abs(each).sum() for each in (*centres, carried)))
        moved = [self._moved(law, below, k)[1].mean() for k in range(len(below.columns))]
        moves = np.abs(matrix) @ np.array(moved) * (1 + SUMMED)
        inside = secret.intervals(law, pair, moves)
        mass = self._clamped(secret, pair, law, below, model, inside)
        return LawPair(
            pair=str(pair),
            first=Normal(centres[0], covariance),
            second=Normal(centres[1], covariance),
            rounding=up(self.rounding + unsure),
            kind="certified",
            departure=Departure(mass=_rounded_up(mass), moves=moves * pair.farthest),
            intervals=inside,
        )

    def _covariance(self, law: Translation, below: _Below) -> FloatArray:
        """Return the covariance of the answer given the secret, rounded down in every direction."""
        matrix = self.linear.matrix
        free = matrix @ below.mean
        found = free @ law.covariance @ free.T + (matrix * below.variance) @ matrix.T
        sizes = np.abs(matrix) @ (np.abs(below.mean) + below.error)
        carried = sizes @ np.sqrt(np.diagonal(law.covariance)) + np.abs(matrix) @ np.sqrt(below.variance)
        return rounded_down(found, carried)

    def _moved(self, law: Translation, below: _Below, k: int) -> tuple[FloatArray, FloatArray]:
        """Return by how much every record of a column moves when the secret grows by 1, and at most, in size."""
        slopes, place = below.columns[k].slopes[0], below.places[k]
        moved = slopes @ law.slope[place]
        off = np.abs(slopes) @ (law.slope_error[place] + SUMMED * np.abs(law.slope[place]))
        return moved, np.abs(moved) + off

    def _spread(self, below: _Below, k: int, law: Translation, model: int) -> FloatArray:
        """Return the standard deviation of every record of a column, whatever the secret is; rounded up."""
        column, place = below.columns[k], below.places[k]
        rows = [self.network.attributes.index(below.drivers[j]) for j in place]
        slopes = column.slopes[0]
        about = np.linalg.norm(slopes @ self.network.root[model][rows], axis=1)
        about += (8 * self.network.rounding + SUMMED) * (np.abs(slopes) @ law.spread[place])
        return np.hypot(about, column.deviation[0]) * (1 + SUMMED)

    def _clamped(
        self,
        secret: NormalSecret,
        pair: Pair,
        law: Translation,
        below: _Below,
        model: int,
        inside: NormalIntervals | None,
    ) -> float:
        """Return the largest probability, under a secret of a pair, that any record of a queried column is clamped."""
        from scipy.special import ndtr

        total, records = 0.0, self.form.schema.records
        for k, name in enumerate(self.linear.columns):
            bounds, column, place = numeric(name, self.form.schema), below.columns[k], below.places[k]
            slopes = column.slopes[0]
            moved, most = self._moved(law, below, k)
            centre = column.base[0] + slopes @ law.mean[place]
            spread = self._spread(below, k, law, model)
            lost = SUMMED * (np.abs(column.base[0]) + np.abs(slopes) @ np.abs(law.mean[place]))
            found: list[FloatArray] = []
            for offset in (0.0, *secret.reach(law, pair)):
                at = centre + moved * offset
                off = lost + (most - np.abs(moved)) * abs(offset) + SUMMED * most * (abs(offset) + abs(law.centre))
                above, under = (bounds.upper - at - off) / spread, (at - bounds.lower - off) / spread
                both = cast(FloatArray, ndtr(-above) + ndtr(-under))
                found.append(np.where(np.minimum(above, under) <= 0, 1.0, both))
            worst = np.max(found[1:], axis=0)
            if inside is not None and inside.least_mass > 0:
                # no more of what happens over all values of the secret can happen in one interval
                worst = np.minimum(worst, found[0] / inside.least_mass)
            total += records * float(worst.mean())
        return min(1.0, total * (1 + 1e-9) + (CUT_OFF_MASS if math.isinf(pair.farthest) else 0.0))


def _rounded_up(mass: float) -> float:
    """Return the next of a few probabilities, so that models with about the same one can be compared."""
    return min(1.0, 10.0 ** (math.ceil(20 * math.log10(max(mass, LEAST_CLAMPED))) / 20) * (1 + 1e-9))


def normal_column_laws(
    framework: DistributionalAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalColumnLaws | None:
    """Return the laws of a linear answer given a parameter, where the model's own columns are normal about parameters.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    network : GaussianNetwork
        Of its parameters.
    query : Query

    Returns
    -------
    NormalColumnLaws or None
        None where they must be learned from draws.
    """
    known = network.normal_columns or {}
    if not query.columns <= known.keys():
        return None
    form = normal_form(query, framework.schema)
    linear = LinearForm.of(form)
    if isinstance(linear, Refusal):
        return None
    columns = tuple(known[name] for name in linear.columns)
    if any(column.rows not in (1, framework.schema.records) for column in columns):
        return None
    secrets = tuple(
        NormalSecret(name=name, weights={name: Fraction(1)}, constant=0.0, pairs=pairs)
        for name, pairs in framework.secrets.items()
    )
    return NormalColumnLaws(
        network=network,
        form=form,
        linear=linear,
        columns=columns,
        secrets=secrets,
        assumptions=(COLUMNS_FROM_MODEL, *plausible_values(secrets)),
    )


# --------------------------------------------------------------------------------------------------
# Which laws are normal: records with a joint normal law, and columns that are normal about normal parameters.
# --------------------------------------------------------------------------------------------------

NORMAL_RECORDS = (
    "The records are independent draws from the declared normal distribution, before they are clamped to their bounds, "
    "and none is missing; the property is that of these values."
)
NORMAL_COLUMNS = (
    "All parameters together are normal; given them the records are independent, normal about the parameter of their "
    "column, before they are clamped to their bounds, and none is missing."
)


def normal_record_laws(
    framework: DatasetAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalLaws | Refusal:
    """Return the laws of a linear answer given a linear property of the table, or why they are not known.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    network : GaussianNetwork
        Of its records.
    query : Query

    Returns
    -------
    NormalLaws or Refusal
    """
    missing = missing_node(network, query)
    if missing is not None:
        return missing
    form = normal_form(query, framework.schema)
    linear = LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    secrets = [
        _property(name, secret, framework.schema, framework.secrets[name]) for name, secret in framework.protect.items()
    ]
    refused = next((each for each in secrets if isinstance(each, Refusal)), None)
    if refused is not None:
        return refused
    found = tuple(each for each in secrets if isinstance(each, NormalSecret))
    return NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=found,
        own=None,
        assumptions=(NORMAL_RECORDS, *plausible_values(found)),
    )


def _property(name: str, secret: Secret, schema: Schema, pairs: tuple[Pair, ...]) -> NormalSecret | Refusal:
    linear = LinearForm.of(normal_form(secret.property, schema))
    if isinstance(linear, Refusal):
        return linear
    (weights,), (constant,) = linear.weights, linear.constant
    named = {column: weight for column, weight in zip(linear.columns, weights, strict=True) if weight}
    if not named:
        return Refusal(required=f"the secret of {name!r} must vary", found="weights of 0", remedy="Correct them.")
    return NormalSecret(name=name, weights=named, constant=float(constant), pairs=pairs)


def normal_parameter_laws(
    framework: DistributionalAttributePrivacy, network: GaussianNetwork, query: Query
) -> NormalLaws | Refusal:
    """Return the laws of a linear answer given a parameter, or why they are not known.

    Parameters
    ----------
    framework : DistributionalAttributePrivacy
    network : GaussianNetwork
        Of its parameters.
    query : Query

    Returns
    -------
    NormalLaws or Refusal
    """
    form = normal_form(query, framework.schema)
    linear = LinearForm.of(form)
    if isinstance(linear, Refusal):
        return linear
    own: dict[str, float] = {}
    for name in linear.columns:
        law = next(iter(framework.column_laws.get(name, ())), None)
        if name not in network.attributes or not isinstance(law, NumberLaw) or law.name != "norm":
            return Refusal(
                required="the distribution of every queried column about its parameter must be declared as normal",
                found=f"none for {name!r}",
                remedy="Pass laws={column: scipy.stats.norm(0, 8), ...}: a record is its parameter plus such a number. "
                "Or use MarkovQuiltMechanism with delta above 0.",
            )
        own[name] = dict(law.parameters)["scale"] ** 2
    secrets = tuple(
        NormalSecret(name=name, weights={name: Fraction(1)}, constant=0.0, pairs=pairs)
        for name, pairs in framework.secrets.items()
    )
    return NormalLaws(
        network=network,
        form=form,
        linear=linear,
        secrets=secrets,
        own=own,
        assumptions=(NORMAL_COLUMNS, *plausible_values(secrets)),
    )


# --------------------------------------------------------------------------------------------------
# Laws of answers of linear-Gaussian networks: normal where the query is linear, learned from draws otherwise.
# --------------------------------------------------------------------------------------------------


def laws_of_normal_records(framework: DatasetAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given a linear property of normal records."""
    return normal_record_laws(framework, cast(GaussianNetwork, framework.network), query)


def laws_of_normal_parameters(framework: DistributionalAttributePrivacy, query: Query) -> Laws | Refusal:
    """The laws given normal parameters: normal where the query is linear, learned from draws otherwise."""
    network = cast(GaussianNetwork, framework.network)
    if network.forward is None:
        return normal_parameter_laws(framework, network, query)
    found = normal_column_laws(framework, network, query)
    return found or laws_of_draws(framework, network.forward, query)
