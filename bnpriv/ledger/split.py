"""One budget, many questions: how much noise each gets, and which are asked as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any, final

import numpy as np

from bnpriv.bound import FloatArray, down
from bnpriv.checks import LARGEST_EPSILON, LEAST_EPSILON
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.entries import Entry, rounded_up
from bnpriv.core.accounting.total import NoiseCosts, Share, shares_of
from bnpriv.core.evidence.structural import influences
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.mechanisms.tight import TightMechanism
from bnpriv.core.mechanisms.wasserstein import WassersteinMechanism
from bnpriv.core.noise import Laplace, is_none
from bnpriv.core.queries.asked import stack
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError, QueryError, Refusal, RefusedError, SizeError
from bnpriv.kind import notion_of
from bnpriv.ledger.history import total_with
from bnpriv.ledger.values import Budget
from bnpriv.render.document import Code, Document, Inline, Paragraph, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import Json, lower_text, number_text, upper_percent, upper_text

# --------------------------------------------------------------------------------------------------
# Questions with noise of a rate: one over its scale, 0 for a question that is not asked, infinite for none.
#
# Numbers of a question have fixed weights, so that one rate says all of its noise: what is planned, what is calibrated
# and what is compared have the same shape.
# --------------------------------------------------------------------------------------------------

MOST_QUESTIONS = 200
"""Questions that share a budget at once."""

COMPOSING = (MarkovQuiltMechanism(), TightMechanism(), WassersteinMechanism(), ColumnMechanism())
"""Mechanisms whose releases may count beside others, the most useful first."""

SMALL_EPSILON = 1e-3
"""At this epsilon the shape of noise is found where an equal share needs none."""

CALIBRATED = 40
"""Calibrations of one question in search of a rate."""

AS_CLOSE = 1e-9
"""Relative distance at which a rate, or a total, is as good as another."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class AskedQuestion:
    """A question, or several that are asked as one, whose noise has one shape at every scale.

    Parameters
    ----------
    query : Query
    asked : tuple of str
        The texts of the questions in it.
    mechanism : Mechanism
        With the weights of the shape.
    made : Calibration
        One of its calibrations.
    entry : Entry
        It with Laplace noise of scale 1.
    unit : float
        Its error at scale 1.
    """

    query: Query
    asked: tuple[str, ...]
    mechanism: Mechanism
    made: Calibration
    entry: Entry
    unit: float

    @staticmethod
    def of(
        accountant: Accountant,
        query: Query,
        epsilon: float,
        asked: tuple[str, ...] = (),
        weights: tuple[float, ...] | None = None,
    ) -> AskedQuestion:
        """Return a question with the noise that suits it at an epsilon, by the first mechanism that counts.

        Raises
        ------
        RefusedError, SizeError
            If no mechanism answers it beside what was released.
        """
        refused: list[RefusedError | SizeError] = []
        # the exact search for one scale of many numbers takes long, and here others decide the scale
        for mechanism in COMPOSING if weights is None else (COMPOSING[0], *COMPOSING[2:]):
            try:
                mechanism = mechanism if weights is None else replace(mechanism, weights=weights)
                made = shaped = mechanism.calibrate(accountant.framework, query, epsilon=epsilon)
                if is_none(made.noise):
                    shaped = mechanism.calibrate(accountant.framework, query, epsilon=SMALL_EPSILON)
            except (RefusedError, SizeError) as error:
                refused.append(error)
                continue
            counted = accountant.with_entry(Entry.of(made))
            if isinstance(counted, Refusal):
                refused.append(counted.error())
            elif counted.entries[-1].family != "own law":
                return AskedQuestion._shaped(query, asked or (str(query),), made, shaped)
        raise refused[0]

    @staticmethod
    def _shaped(query: Query, asked: tuple[str, ...], made: Calibration, shaped: Calibration) -> AskedQuestion:
        noise, entry = shaped.noise.accounted_noise(), Entry.of(shaped)
        weights = noise.weights if isinstance(noise, Laplace) else ()
        parts = None if shaped.shape is None else shaped.shape.weights
        one = Laplace(1.0, shaped.noise.dimension, weights)
        return AskedQuestion(
            query=query,
            asked=asked,
            mechanism=shaped.mechanism if parts is None else replace(shaped.mechanism, weights=parts),
            made=made,
            entry=replace(
                entry, noise="laplace", scale=1.0, weights=weights, epsilon=entry.epsilon * Fraction(shaped.scale or 1)
            ),
            unit=float(one.mean_sizes @ shares(query, shaped.framework.schema)),
        )

    @cached_property
    def most(self) -> float:
        """The highest rate of noise: where a higher one costs as much, quilts need none; 0 where they never do."""
        if self.entry.family != "quilt":
            return math.inf
        costs = PlannedCosts(accountant=Accountant(self.made.framework), questions=[self], most=np.array([math.inf]))
        bare = costs(np.array([math.inf]))
        if bare == 0 or math.isinf(bare):
            return bare
        found = scaled(costs, np.array([1 / self.unit]), bare * (1 - 2 * AS_CLOSE), AS_CLOSE)
        return 0.0 if found is None else float(found[0])

    def at(self, rate: float) -> Entry:
        """Return it with noise of a rate."""
        if math.isinf(rate):
            return replace(self.entry, noise=None, scale=0.0, weights=())
        return replace(self.entry, scale=1 / rate, epsilon=self.entry.epsilon * Fraction(rate))

    def calibrated(self, rate: float, guess: float) -> Calibration | None:
        """Return the calibration with as much noise as a rate asks for, or a little more; None if there is none.

        Parameters
        ----------
        rate : float
        guess : float
            Its epsilon, as far as it is known.
        """
        best: Calibration | None = None
        low = below = 0.0
        high, above = math.inf, math.inf
        epsilon = guess
        for _ in range(CALIBRATED):
            epsilon = min(max(epsilon, LEAST_EPSILON), LARGEST_EPSILON)
            try:
                made = self.mechanism.calibrate(self.made.framework, self.query, epsilon=epsilon)
            except (RefusedError, SizeError):
                return best
            found = rate_of(made)
            if found <= rate and (best is None or found > rate_of(best)):
                best = made
            if rate * (1 - AS_CLOSE) <= found <= rate or (found <= rate and epsilon == LARGEST_EPSILON):
                break
            if found <= rate:
                low, below = epsilon, found
            else:
                high, above = epsilon, found
            if high - low <= AS_CLOSE * low:
                break
            if math.isinf(high):
                epsilon *= min(4.0, rate / found) * (1 + AS_CLOSE) if math.isfinite(rate) else 2.0
            elif math.isinf(above) or math.isinf(rate):
                epsilon = (low + high) / 2
            else:  # a little below what a straight line says, so that the next one is not above again
                epsilon = low + (high - low) * (rate - below) / (above - below) * (1 - AS_CLOSE / 4)
        return best


def shares(query: Query, schema: Schema) -> FloatArray:
    """Return one over the range of each number that noise is added to; zeros, or ones for all, where none is known."""
    lower, upper = answer_range(query, schema)
    widths = np.array([float(high - low) for low, high in zip(lower, upper, strict=True)])
    known = (widths > 0) & np.isfinite(widths)
    if not known.any():
        return np.ones(len(widths))
    return np.divide(1.0, widths, out=np.zeros(len(widths)), where=known)


def error_of(made: Calibration) -> float:
    """Return the sum of the mean errors of a calibration, each as a share of the range of its number."""
    return float(np.asarray(made.noise.mean_sizes) @ shares(made.query, made.framework.schema))


def rate_of(made: Calibration) -> float:
    """Return one over the scale of a calibration; infinite without noise."""
    noise = made.noise.accounted_noise()
    return 1 / noise.scale if isinstance(noise, Laplace) else math.inf


# --------------------------------------------------------------------------------------------------
# The least sum of errors that keeps a total: rates go the way of what they cost and what they help.
# --------------------------------------------------------------------------------------------------

MOST_TOTALS = 300
"""Totals that are worked out for one choice of questions."""

MOST_RATES_TRIED = 10_000
"""The same times the number of questions."""

FACTORS = (2.0, 1.3, 1.1, 1.03, 1.01, 1.003)
"""Factors by which rates are varied one by one, the largest first."""

PLAN_ROUNDS = 4
"""Times that all rates are set anew by what they cost."""

NEAR_LIMIT = 1e-5
"""Share of the limit that a search may leave."""

LEAST_GAIN = 1e-6
"""Relative gain below which an error is no less."""

RatedQuestion = tuple[AskedQuestion, float]

Errors = Callable[[FloatArray], tuple[float, FloatArray]]
"""From rates to the summed error, and for each question what it falls by for a rise of its rate, times its square."""


@final
@dataclass(kw_only=True)
class PlannedCosts:
    """What earlier releases and questions tell together, all at once: the accountant counts one after the other.

    Parameters
    ----------
    accountant : Accountant
        Of what was released.
    questions : sequence of AskedQuestion
    most : ndarray, optional
        The highest rate of each, if it is not that of the question.
    left : int
        How many totals may still be worked out.
    """

    accountant: Accountant
    questions: Sequence[AskedQuestion]
    most: FloatArray = field(default_factory=lambda: np.zeros(0))
    left: int = field(init=False)
    _shares: tuple[Share, ...] = ()
    _terms: dict[tuple[tuple[str, bool], ...], NoiseCosts] = field(default_factory=dict[Any, NoiseCosts])

    def __post_init__(self) -> None:
        self.left = min(MOST_TOTALS, MOST_RATES_TRIED // len(self.questions))
        self.most = self.most if len(self.most) else np.array([each.most for each in self.questions])

    def fit(self, rates: FloatArray) -> FloatArray:
        """Return rates of noise that can be had; infinite where there is none for a question."""
        noisy = np.where(self.most > 0, np.minimum(rates, self.most), math.inf)
        return np.where(np.isfinite(rates) & (rates > 0), noisy, rates)

    def __call__(self, rates: FloatArray) -> float:
        """Return the total, rounded up; infinite where nothing bounds it."""
        self.left -= 1
        asked = [(each, float(rate)) for each, rate in zip(self.questions, rates, strict=True) if rate > 0]
        added = sum((each.at(rate).epsilon for each, rate in asked if each.entry.family == "column"), Fraction(0))
        modelled = [(each, rate) for each, rate in asked if each.entry.family != "column"]
        if not modelled:
            told = self.accountant.total
        else:
            told = self._by_records(modelled) if modelled[0][0].entry.family == "records" else self._by_quilts(modelled)
            added += sum((entry.epsilon for entry in self.accountant.entries if entry.family == "column"), Fraction(0))
        return math.inf if told is None else rounded_up(told + added)

    def _by_records(self, asked: Sequence[RatedQuestion]) -> Fraction | None:
        framework, entries = self.accountant.framework, [each.at(rate) for each, rate in asked]
        return notion_of(framework).together(framework).total((*self.accountant.modelled, *entries)).epsilon

    def _by_quilts(self, asked: Sequence[RatedQuestion]) -> Fraction | None:
        bare = tuple((each.entry.key, math.isinf(rate)) for each, rate in asked)
        if bare not in self._terms:
            evidence: Any = influences(self.accountant.framework)
            noisy = [each.at(rate if math.isinf(rate) else 1.0) for each, rate in asked]
            self._terms[bare] = reduce(
                NoiseCosts.plus, (*self.accountant.modelled, *noisy), NoiseCosts(evidence=evidence)
            )
        terms = self._terms[bare]
        # the same terms with other rates: only these are new
        rates: dict[str, Fraction] = {}
        earlier = [(each.key, 1 / each.scale) for each in self.accountant.modelled if each.noise is not None]
        for key, rate in (*earlier, *((each.entry.key, rate) for each, rate in asked if math.isfinite(rate))):
            rates[key] = rates.get(key, Fraction(0)) + Fraction(rate)
        rated = {key: (entry, None if known is None else rates[key]) for key, (entry, known) in terms.terms.items()}
        self._shares = shares_of(replace(terms, terms=rated, _last=None, _earlier={}, _costs={}), self._shares)
        return self._shares[0].total


def scaled(costs: PlannedCosts, rates: FloatArray, limit: float, close: float = NEAR_LIMIT) -> FloatArray | None:
    """Return rates times the largest common factor that keeps a limit; None where none does.

    Parameters
    ----------
    costs : PlannedCosts
    rates : ndarray
    limit : float
    close : float
        Share of the limit that may be left.
    """
    low, below, high, above, factor = 0.0, 0.0, math.inf, math.inf, 1.0
    rates = costs.fit(rates)
    if not np.any(np.isfinite(rates) & (rates > 0)):
        return rates if costs(rates) <= limit else None
    for step in range(40):
        total = costs(costs.fit(rates * factor))
        if total <= limit:
            # the line through the last two points goes on to the limit, and a little beyond
            rise = (total - below) / (factor - low)
            low, below = factor, total
            if total >= limit * (1 - close):
                break
            further = low + (limit - total) / rise * (1 + 1e-3) + 1e-13 if rise > 0 else math.inf
        else:
            high, above, further = factor, total, math.inf
        if high - low <= 1e-13 * low or not 1e-12 < factor < 1e12:
            break
        if math.isinf(high):
            factor = min(8.0 * low, further)
        elif not low:
            factor = high * (min(max(limit / above, 0.1), 0.9) if step == 0 else 0.1)
        else:
            line = (limit - below) / (above - below) if step % 3 < 2 and math.isfinite(above) else 0.5
            factor = low + (high - low) * min(max(line * (1 - close / 4), 1e-6), 1 - 1e-6)
    return costs.fit(rates * low) if low else None


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Sharing:
    """Rates for questions, and the sum of the errors."""

    rates: FloatArray
    error: float


def best_sharing(
    errors: Errors, costs: PlannedCosts, starts: Iterable[FloatArray], limit: float, *, quick: bool = False
) -> Sharing | None:
    """Return rates of the least sum of errors that keep a limit, as far as a search finds them; None where none do.

    Parameters
    ----------
    errors : callable
        From rates to the sum, and how fast it falls with each.
    costs : PlannedCosts
    starts : iterable of ndarray
        Rates to begin with.
    limit : float
    quick : bool
        Whether to take the best of these, scaled.
    """
    search = _PlanSearch(errors=errors, costs=costs, limit=limit)
    for start in starts:
        search.offer(start)
    if search.best is not None and not quick:
        search.follow_costs()
        search.without_noise()
        search.vary()
    return search.best


@dataclass(kw_only=True)
class _PlanSearch:
    """The best rates so far, and the steps that better them."""

    errors: Errors
    costs: PlannedCosts
    limit: float
    best: Sharing | None = None

    def offer(self, rates: FloatArray) -> bool:
        """Keep rates, scaled to the limit, where their error is less."""
        found = scaled(self.costs, rates, self.limit)
        if found is None:
            return False
        error = self.errors(found)[0]
        if self.best is not None and not error < self.best.error * (1 - LEAST_GAIN):
            return False
        self.best = Sharing(rates=found, error=error)
        return True

    @property
    def rates(self) -> FloatArray:
        """The best rates."""
        return np.ones(0) if self.best is None else self.best.rates

    @property
    def noisy(self) -> list[int]:
        """The questions with noise."""
        return np.flatnonzero(np.isfinite(self.rates) & (self.rates > 0)).tolist()

    def follow_costs(self) -> None:
        """Set each rate to the root of what it helps over what it costs, which is best where costs are sums."""
        for _ in range(PLAN_ROUNDS):
            rates, noisy = self.rates, self.noisy
            if self.costs.left < len(noisy):
                return
            full, helps = self.costs(rates), self.errors(rates)[1]
            cost = np.array([full - self.costs(_changed(rates, k, 0.9)) for k in noisy]) / (0.1 * rates[noisy])
            least = 1e-3 * float(np.max(cost * rates[noisy], initial=0.0)) or 1.0
            wanted = np.sqrt(helps[noisy] / np.maximum(cost, least / rates[noisy]))
            for part in (1.0, 0.4):
                tried = rates.copy()
                tried[noisy] *= (wanted / rates[noisy]) ** part
                if self.offer(tried):
                    break
            else:
                return

    def without_noise(self) -> None:
        """Leave away the noise of a question where that helps, or put it back."""
        for k in range(len(self.rates)):
            if self.costs.left <= 0:
                return
            asked, tried = self.costs.questions[k], self.rates.copy()
            tried[k] = math.inf if math.isfinite(tried[k]) else 100 * asked.unit
            if asked.entry.family == "quilt" or is_none(asked.made.noise):
                self.offer(tried)

    def vary(self) -> None:
        """Vary one rate after the other as long as the error shrinks."""
        for factor in FACTORS:
            improved = True
            while improved and self.costs.left > 2 * len(self.noisy):
                improved = False
                rates, noisy = self.rates, self.noisy
                slope = max((self.costs(rates) - self.costs(_changed(rates, noisy, 0.98))) / 0.02, 1e-9 * self.limit)
                for k, change in itertools.product(noisy, (factor, 1 / factor)):
                    tried = _changed(self.rates, k, change)
                    # by a straight line first: most changes are no gain, and a look at the total is enough
                    fit = min(max(1 + (self.limit - self.costs(tried)) / slope, 0.5), 2.0)
                    if self.errors(tried * fit)[0] < self.rate_error * (1 - LEAST_GAIN):
                        improved |= self.offer(tried * fit)

    @property
    def rate_error(self) -> float:
        """The error of the best rates."""
        return math.inf if self.best is None else self.best.error


def _changed(rates: FloatArray, places: int | Sequence[int], factor: float) -> FloatArray:
    changed = rates.copy()
    changed[places] *= factor
    return changed


def summed_errors(questions: Sequence[AskedQuestion]) -> Errors:
    """Return the sum of the errors of questions of which each answers itself."""
    units = np.array([each.unit for each in questions])
    return lambda rates: (float(np.sum(np.divide(units, rates))), units)


# --------------------------------------------------------------------------------------------------
# Several ways to ask, of which the one is taken whose calibrations err least.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Way:
    """Calibrations that answer questions, and the sum of their errors.

    Parameters
    ----------
    calibrations : tuple of Calibration
    questions : tuple of tuple of str
        What each of them answers.
    error : float
    """

    calibrations: tuple[Calibration, ...]
    questions: tuple[tuple[str, ...], ...]
    error: float

    @staticmethod
    def of(made: Sequence[Calibration], questions: Sequence[tuple[str, ...]]) -> Way:
        """Return the way of calibrations that answer for themselves."""
        return Way(calibrations=tuple(made), questions=tuple(questions), error=math.fsum(map(error_of, made)))


def shared(
    accountant: Accountant, questions: Sequence[AskedQuestion], limit: Fraction, *, quick: bool = False
) -> Sharing | None:
    """Return the best rates of questions of which each answers itself; None where none keep the limit."""
    costs = PlannedCosts(accountant=accountant, questions=questions)
    found = starts(costs, questions)
    return best_sharing(summed_errors(questions), costs, found, down(float(limit)), quick=quick)


def starts(costs: PlannedCosts, questions: Sequence[AskedQuestion]) -> Iterable[FloatArray]:
    """Yield rates to begin with: of equal shares, the same with noise everywhere, and by what each costs alone."""
    given = np.array([rate_of(each.made) for each in questions])
    units = np.array([each.unit for each in questions])
    noisy = np.where(np.isfinite(given), given, 100 * units)
    yield from (given, noisy) if not np.array_equal(given, noisy) else (given,)
    kept, alone = costs.left, [costs(np.where(np.arange(len(noisy)) == k, noisy, 0.0)) for k in range(len(noisy))]
    costs.left = kept
    yield np.sqrt(units * noisy / np.maximum(alone, 1e-6 * max(alone)))


def realised(
    accountant: Accountant, questions: Sequence[AskedQuestion], rates: FloatArray, limit: Fraction
) -> list[Calibration] | None:
    """Return calibrations with noise of given rates that use a limit up; None where there are none."""
    costs = PlannedCosts(accountant=accountant, questions=questions)
    alone = Accountant(accountant.framework)
    epsilons = [
        PlannedCosts(accountant=alone, questions=[each])(np.array([rate]))
        for each, rate in zip(questions, rates, strict=True)
    ]
    for _ in range(3):
        found = scaled(costs, rates, down(float(limit)), AS_CLOSE)
        if found is None:
            return None
        made = [
            each.calibrated(float(rate), guess) for each, rate, guess in zip(questions, found, epsilons, strict=True)
        ]
        kept = [each for each in made if each is not None]
        if len(kept) < len(questions):
            return None
        total = total_with(accountant, map(Entry.of, kept))
        if total is not None and total <= limit:
            return kept
        limit *= 1 - Fraction(1, 10**8)
    return None


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class BudgetSplit(Shown):
    """How a budget is split over questions; nothing is spent yet.

    Parameters
    ----------
    calibrations : tuple of Calibration
        One for each release, to be passed to `Session.release`.
    questions : tuple of tuple of str
        What each of them answers; where there are several, they are asked as one `stack`.
    total : Fraction
        What all releases together tell then.
    before : Fraction
        What those that were made tell.
    limit : Fraction
        What all may tell together then.
    error : float
        The sum of the mean errors, each as a share of the range of its number.
    equal_error : float
        The same if each question got an equal part of the budget as an epsilon of its own.
    """

    calibrations: tuple[Calibration, ...]
    questions: tuple[tuple[str, ...], ...]
    total: Fraction
    before: Fraction
    limit: Fraction
    error: float
    equal_error: float

    @property
    def stacked(self) -> tuple[tuple[str, ...], ...]:
        """The questions that are better asked as one."""
        return tuple(each for each in self.questions if len(each) > 1)

    @property
    def epsilon(self) -> float:
        """What they add to the total, rounded up."""
        return rounded_up(self.total - self.before)

    @property
    def alone(self) -> float:
        """The sum of what each would cost as the only release."""
        return math.fsum(made.guarantee.epsilon for made in self.calibrations)

    @property
    def useless(self) -> int:
        """How many of the questions get an answer that says nothing."""
        return sum(
            len(asked) if made.useful.verdict == "useless" else min(len(asked), len(made.useful.useless))
            for asked, made in zip(self.questions, self.calibrations, strict=True)
        )

    @property
    def unspent(self) -> str:
        """Why some of the limit is not used; empty where it is used up."""
        unused = self.limit - self.total
        if unused <= self.limit * Fraction(1, 10**6):
            return ""
        exact = all(made.scale == 0 for made in self.calibrations)
        why = "all answers go out without noise" if exact else "no calibration that was found errs less for it"
        return f"epsilon {lower_text(float(unused))}: {why}"

    def to_rows(self) -> list[Json]:
        """Return the releases as plain values."""
        return [
            {
                "questions": list(asked),
                "mechanism": str(made.mechanism),
                "epsilon_alone": made.guarantee.epsilon,
                "scale": made.scale,
                "expected_error": made.expected_error,
                "verdict": made.useful.verdict,
            }
            for asked, made in zip(self.questions, self.calibrations, strict=True)
        ]

    @property
    def document(self) -> Document:
        """Return what each question gets."""
        many = sum(map(len, self.questions))
        return Document(
            kind="budget split",
            kicker="bnpriv plan of a session: nothing is spent by asking",
            headline=f"{many:,} questions for epsilon {upper_text(self.epsilon, 6)}{self._useless_text}",
            lead=self._lead(),
            facts=(
                fact("Summed error", f"{upper_percent(self.error)} of the ranges of the answers, on average"),
                fact("Sum of the epsilons alone", upper_text(self.alone)),
                fact("What to stack", *(self._stacks() or ("nothing",))),
                *([fact("Not used", self.unspent)] if self.unspent else []),
            ),
            sections=(Section(title="What each question gets", blocks=(self._table(), Paragraph(ORDER, soft=True))),),
            data={
                "epsilon": self.epsilon,
                "total": rounded_up(self.total),
                "error": self.error,
                "equal_error": self.equal_error,
                "useless": self.useless,
                "unspent": self.unspent,
                "releases": self.to_rows(),
            },
        )

    @property
    def _useless_text(self) -> str:
        if not self.useless:
            return ""
        return f"; {self.useless:,} of the answers {'is' if self.useless == 1 else 'are'} useless"

    def _lead(self) -> str:
        if self.equal_error <= self.error:
            return ""
        equal = upper_percent(self.equal_error)
        return f"If each got an equal part as an epsilon of its own, the summed error would be {equal} of the ranges."

    def _stacks(self) -> list[tuple[Inline, ...]]:
        return [(Code(f"stack({', '.join(asked)})"),) for asked in self.stacked]

    def _table(self) -> Table:
        return Table(
            caption="In the order in which they were asked",
            header=("release", "epsilon alone", "scale", "19 of 20 releases err by at most", "verdict"),
            rows=[
                (
                    (Code(str(made.query)),),
                    upper_text(made.guarantee.epsilon),
                    number_text(made.scale),
                    upper_text(made.quantile(0.95)),
                    made.useful.verdict,
                )
                for made in self.calibrations
            ],
            numbers=(1, 2, 3),
        )

    def __repr__(self) -> str:
        return f"BudgetSplit(releases={len(self.calibrations)}, epsilon={self.epsilon:.6g})"


ORDER = (
    "Release them in any order: session.release(calibration) for each. The sum of their epsilons alone may be above "
    "the budget, because what their columns tell is paid once."
)


def split(accountant: Accountant, queries: Sequence[Query], limit: Fraction, budget: Budget) -> BudgetSplit:
    """Split what is left up to a limit over questions.

    Parameters
    ----------
    accountant : Accountant
        Of what was released.
    queries : sequence of Query
    limit : Fraction
        What all releases may tell together then.
    budget : Budget

    Raises
    ------
    ParameterError
        If there are no questions, or too many.
    RefusedError
        If nothing is left, the budget has a delta, or the limit is too small for them whatever their noise.
    """
    before = _checked(accountant, queries, limit, budget)
    share = float(limit - before) / len(queries) * (1 - 1e-15)
    questions = [AskedQuestion.of(accountant, query, share) for query in queries]
    equal = _equal(accountant, questions, share)
    ways = [*_planned(accountant, questions, limit), equal, *_one_stack(accountant, questions, limit - before)]
    for way in sorted(ways, key=lambda way: way.error):
        total = total_with(accountant, map(Entry.of, way.calibrations))
        if total is not None and total <= limit:
            return BudgetSplit(
                calibrations=way.calibrations,
                questions=way.questions,
                total=total,
                before=before,
                limit=limit,
                error=way.error,
                equal_error=equal.error,
            )
    raise RefusedError(
        "the questions must fit into what is left of the budget",
        found="no noise with which they do",
        remedy="Ask fewer questions, or of columns that tell less; Session.what_if tells the cost of one.",
    )


def _checked(accountant: Accountant, queries: Sequence[Query], limit: Fraction, budget: Budget) -> Fraction:
    if not 0 < len(queries) <= MOST_QUESTIONS:
        raise ParameterError(
            f"a budget is split over 1 to {MOST_QUESTIONS} questions",
            found=f"{len(queries)}",
            remedy="Pass the questions as a list.",
        )
    if budget.delta:
        raise RefusedError("only a budget with delta 0 is split", found="a delta", remedy="Ask one by one.")
    before = accountant.total
    if before is None or limit - before < LEAST_EPSILON * len(queries):
        spent = budget.epsilon if before is None else before
        raise RefusedError(
            "something must be left of the budget to be split",
            found=f"less than epsilon {LEAST_EPSILON:g} for each question: epsilon {upper_text(rounded_up(spent))} of "
            f"{float(budget.epsilon):g} is spent",
            remedy="What was released answers for free; Session.history lists it. A budget is fixed once it is opened.",
        )
    return before


def _planned(accountant: Accountant, questions: list[AskedQuestion], limit: Fraction) -> Iterable[Way]:
    """The questions with their best rates; by quilts also with some asked as one, as a stack may move less."""
    best, apart = shared(accountant, questions, limit, quick=True), questions
    for group in _groups(questions):
        chosen = [k for k, each in enumerate(questions) if group & set(each.asked)]
        both = _stacked(accountant, [questions[k] for k in chosen], float(limit) / len(questions) * len(chosen))
        if both is None:
            continue
        tried = [*(each for k, each in enumerate(questions) if k not in chosen), both]
        found = shared(accountant, tried, limit, quick=True)
        if found is not None and (best is None or found.error < best.error * (1 - STACK_GAIN)):
            best, questions = found, tried
    for asked in [apart] if questions is apart else [apart, questions]:
        sharing = shared(accountant, asked, limit)
        made = None if sharing is None else realised(accountant, asked, sharing.rates, limit)
        if made is not None:
            yield Way.of(made, [each.asked for each in asked])


STACK_GAIN = 0.01
"""By which share the summed error must shrink for questions to be asked as one."""


def _groups(questions: Sequence[AskedQuestion]) -> list[frozenset[str]]:
    """The texts of questions that count by quilts and read a column in common, the most first."""
    quilts = [each for each in questions if each.entry.family == "quilt"]
    columns = frozenset[str]().union(*(each.entry.columns for each in quilts))
    reading = {
        frozenset(text for each in quilts if name in each.entry.columns for text in each.asked) for name in columns
    }
    return sorted((group for group in reading if len(group) > 1), key=lambda group: (-len(group), sorted(group)))


def _stacked(accountant: Accountant, questions: Sequence[AskedQuestion], epsilon: float) -> AskedQuestion | None:
    try:
        asked = tuple(text for each in questions for text in each.asked)
        return AskedQuestion.of(accountant, stack(*(each.query for each in questions)), epsilon, asked)
    except (RefusedError, SizeError, QueryError):
        return None


def _one_stack(accountant: Accountant, questions: Sequence[AskedQuestion], left: Fraction) -> Iterable[Way]:
    """All questions as one, with all that is left as its epsilon."""
    both = _stacked(accountant, questions, down(float(left))) if len(questions) > 1 else None
    return () if both is None else (Way.of([both.made], [both.asked]),)


def _equal(accountant: Accountant, questions: Sequence[AskedQuestion], share: float) -> Way:
    """Each question with an equal part of the budget as an epsilon of its own; infinite where one is refused."""
    made: list[Calibration] = []
    for each in questions:
        try:
            alone = ColumnMechanism().calibrate(accountant.framework, each.query, epsilon=share)
        except (RefusedError, SizeError):
            alone = each.made
        made.append(min(each.made, alone, key=error_of))
    return Way.of(made, [each.asked for each in questions])
