"""One budget, many questions: how much noise each gets, and which are asked as one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from bnpriv.bound import FloatArray, down, weakest
from bnpriv.checks import LARGEST_EPSILON, LEAST_EPSILON
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, NoiseCosts, Share, rounded_up, shares_of
from bnpriv.core.evidence.structural import influences
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.noise import Laplace, is_none
from bnpriv.core.queries.asked import parts_of, stack
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.errors import ParameterError, QueryError, Refusal, RefusedError, SizeError
from bnpriv.kind import notion_of
from bnpriv.ledger.history import total_with
from bnpriv.ledger.prices import USEFUL
from bnpriv.ledger.values import Budget
from bnpriv.mechanisms.usefulness import LEVEL, LIMITS
from bnpriv.progress import tracked
from bnpriv.render.document import Code, Document, Fact, Inline, Paragraph, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import Json, and_text, lower_text, number_text, upper_percent, upper_text
from bnpriv.views.cards import short_guarantee

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

MOST_GUESSES = 40
"""Steps of a search for one number."""

MOST_COARSE = LIMITS[-1][0]
"""The largest error of an answer that is not useless, as a share of its range."""

SMALL_EPSILON = 1e-3
"""At this epsilon the shape of noise is found where an equal share needs none."""

AS_CLOSE = 1e-9
"""Relative distance at which a rate, or a total, is as good as another."""


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
    spreads : tuple of float
        At scale 1, for each part the error that no number exceeds in 95 % of releases, as a share of its range.
    """

    query: Query
    asked: tuple[str, ...]
    mechanism: Mechanism
    made: Calibration
    entry: Entry
    unit: float
    spreads: tuple[float, ...]

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
        schema = shaped.framework.schema
        part, sizes = shares(query, schema), [len(each.places) for each in parts_of(query, schema)]
        never = {"unknown": (0.0,), "useless": (math.inf,) if made.useful.constant else ()}
        spread, places = np.asarray(one.quantiles(LEVEL)) * part, np.cumsum([0, *sizes[:-1]])
        return AskedQuestion(
            query=query,
            asked=asked,
            mechanism=shaped.mechanism if parts is None else replace(shaped.mechanism, weights=parts),
            made=made,
            entry=replace(
                entry, noise="laplace", scale=1.0, weights=weights, epsilon=entry.epsilon * Fraction(shaped.scale or 1)
            ),
            unit=float(one.mean_sizes @ part),
            spreads=never.get(made.useful.verdict) or tuple(np.maximum.reduceat(spread, places).tolist()),
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

    def least(self, share: float) -> float:
        """The rate at which the answer errs by a share of its range: if that is coarse, the best of its parts."""
        return (min if share >= MOST_COARSE else max)(self.spreads) / share

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
        made: dict[float, Calibration] = {}

        def reached(epsilon: float) -> float:
            with suppress(RefusedError, SizeError):
                made[epsilon] = self.mechanism.calibrate(self.made.framework, self.query, epsilon=epsilon)
            return rate_of(made[epsilon]) if epsilon in made else math.inf

        guess = min(max(guess, LEAST_EPSILON), LARGEST_EPSILON)
        return made.get(largest_within(reached, rate, guess, NEAR_LIMIT / 2, (LEAST_EPSILON, LARGEST_EPSILON)))


def shares(query: Query, schema: Schema) -> FloatArray:
    """Return one over the range of each number that noise is added to; zeros, or ones for all, where none is known."""
    lower, upper = answer_range(query, schema)
    widths = np.array([float(high - low) for low, high in zip(lower, upper, strict=True)])
    known = (widths > 0) & np.isfinite(widths)
    if not known.any():
        return np.ones(len(widths))
    return np.divide(1.0, widths, out=np.zeros(len(widths)), where=known)


def largest_within(
    value: Callable[[float], float], limit: float, guess: float, close: float, ends: tuple[float, float]
) -> float:
    """Return about the largest number of which a value is within a limit; 0 if none was found.

    Parameters
    ----------
    value : callable
        Rises with the number.
    limit, guess : float
    close : float
        Share of the limit that may be left.
    ends : tuple of (float, float)
        The numbers are between these.
    """
    low, below, high, above = 0.0, 0.0, math.inf, math.inf
    for step in range(MOST_GUESSES):
        found = value(guess)
        if found <= limit:
            # the line through the last two points goes on to the limit, and a little beyond
            rise = (found - below) / (guess - low) if math.isfinite(limit) else 0.0
            low, below = guess, found
            further = low + (limit - found) / rise * (1 + 1e-3) + 1e-13 if rise > 0 else math.inf
            if found >= limit * (1 - close) or low == ends[1]:
                break
        else:
            high, above, further = guess, found, math.inf
            if high == ends[0]:
                break
        if high - low <= 1e-13 * low:
            break
        if math.isinf(high):
            guess = min(8.0 * low, further, ends[1])
        elif not low:
            guess = max(high * (min(max(limit / above, 0.1), 0.9) if step == 0 else 0.1), ends[0])
        else:
            line = (limit - below) / (above - below) if step % 3 < 2 and math.isfinite(above) else 0.5
            guess = low + (high - low) * min(max(line * (1 - close / 4), 1e-6), 1 - 1e-6)
    return low


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

MOST_NUMBERS_SQUARED = 30_000
"""The same times the square of how many numbers independent records are asked for, which is what one total takes."""

FACTORS = (2.0, 1.3, 1.1, 1.03, 1.01, 1.003)
"""Factors by which rates are varied one by one, the largest first."""

NEAR_LIMIT = 5e-7
"""Share of the limit that a search may leave."""

LEAST_BETTER = 1e-6
"""Relative gain below which an error is no less."""

RatedQuestion = tuple[AskedQuestion, float]

Rated = tuple[FloatArray, float]
"""Rates for questions, and the sum of the errors."""


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
    share : float
        No answer is to err by more of its range in 95 % of releases; infinite where any may.
    left : int
        How many totals may still be worked out.
    """

    accountant: Accountant
    questions: Sequence[AskedQuestion]
    most: FloatArray = field(default_factory=lambda: np.zeros(0))
    share: float = math.inf
    left: int = field(init=False)
    _shares: tuple[Share, ...] = ()
    _terms: dict[tuple[tuple[str, bool], ...], NoiseCosts] = field(default_factory=dict[Any, NoiseCosts])

    def __post_init__(self) -> None:
        numbers = sum(each.made.noise.dimension for each in self.questions if each.entry.family == "records")
        self.left = min(MOST_TOTALS, MOST_NUMBERS_SQUARED // max(1, numbers) ** 2)
        # what is calibrated has a little less than its rate
        self.least = np.array([each.least(self.share) for each in self.questions]) * (1 + 1e-6)
        self.most = self.most if len(self.most) else np.array([each.most for each in self.questions])

    def fit(self, rates: FloatArray) -> FloatArray:
        """Return rates of noise that can be had; infinite where there is none for a question."""
        noisy = np.where(self.most > self.least, np.clip(rates, self.least, self.most), math.inf)
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
    rates = costs.fit(rates)
    if not np.any(np.isfinite(rates) & (rates > 0)):
        return rates if costs(rates) <= limit else None
    factor = largest_within(lambda factor: costs(costs.fit(rates * factor)), limit, 1.0, close, (1e-12, 1e12))
    return costs.fit(rates * factor) if factor else None


def best_rates(costs: PlannedCosts, starts: Iterable[FloatArray], limit: float, *, quick: bool = False) -> Rated | None:
    """Return rates of the least sum of errors that keep a limit, as far as a search finds them; None where none do.

    Parameters
    ----------
    costs : PlannedCosts
    starts : iterable of ndarray
        Rates to begin with.
    limit : float
    quick : bool
        Whether to take the best of these, scaled.
    """
    units = np.array([each.unit for each in costs.questions])
    best, least = np.ones(0), math.inf

    def offered(rates: FloatArray) -> bool:
        """Keep rates, scaled to the limit, where their error is less."""
        nonlocal best, least
        found = scaled(costs, rates, limit)
        if found is None or not np.sum(units / found) < least * (1 - LEAST_BETTER):
            return False
        best, least = found, float(np.sum(units / found))
        return True

    for start in starts:
        offered(start)
    if math.isinf(least):
        return None
    for k, asked in enumerate(() if quick else costs.questions):  # without noise where that helps, or with it again
        if costs.left > 0 and (asked.entry.family == "quilt" or is_none(asked.made.noise)):
            offered(_changed(best, k, math.inf if math.isfinite(best[k]) else 0.0, 100 * asked.unit))
    noisy: list[int] = np.flatnonzero(np.isfinite(best)).tolist()
    for factor in () if quick else FACTORS:
        improved = True
        while improved and costs.left > 2 * len(noisy):
            improved = False
            slope = max((costs(best) - costs(_changed(best, noisy, 0.98))) / 0.02, 1e-9 * limit)
            for k, change in itertools.product(noisy, (factor, 1 / factor)):
                tried = _changed(best, k, change)
                # by a straight line first: most changes are no gain, and a look at the total is enough
                tried *= min(max(1 + (limit - costs(tried)) / slope, 0.5), 2.0)
                if np.sum(units / tried) < least * (1 - LEAST_BETTER):
                    improved |= offered(tried)
    return best, least


def _changed(rates: FloatArray, places: int | Sequence[int], factor: float, instead: float = 0.0) -> FloatArray:
    changed = rates.copy()
    changed[places] = changed[places] * factor if factor else instead
    return changed


# --------------------------------------------------------------------------------------------------
# Which questions a budget holds, and the calibrations that answer them with the least sum of errors.
# --------------------------------------------------------------------------------------------------


def held(
    accountant: Accountant, questions: Sequence[AskedQuestion], costs: Sequence[float], limit: Fraction, share: float
) -> list[AskedQuestion]:
    """Return the questions of which all answers may keep an error within a limit, the cheapest first.

    Parameters
    ----------
    accountant : Accountant
    questions : sequence of AskedQuestion
        The cheapest first.
    costs : sequence of float
        About what each adds.
    limit : Fraction
    share : float
        The error, as a share of the range, in 95 % of releases.
    """
    few, most = 0, len(questions)
    tried = max(1, int(np.searchsorted(np.cumsum(costs), down(float(limit)), side="right")))
    while few < most - len(questions) // MOST_NEVER_TRIED:
        together = PlannedCosts(accountant=accountant, questions=questions[:tried], share=share)
        fits = together(together.fit(together.least)) <= down(float(limit))
        few, most = (tried, most) if fits else (few, tried - 1)
        tried = (few + most + 1) // 2
    return list(questions[:few])


MOST_NEVER_TRIED = 16
"""One of so many questions more might be held than are said to be."""


def alone(accountant: Accountant, asked: AskedQuestion, share: float) -> float:
    """Return what a question tells by itself at an error of a share of its range; infinite where it has none."""
    costs = PlannedCosts(accountant=Accountant(accountant.framework), questions=[asked], share=share)
    return costs(costs.fit(costs.least)) if np.isfinite(costs.least).all() else math.inf


def shared(
    accountant: Accountant,
    questions: Sequence[AskedQuestion],
    limit: Fraction,
    share: float = math.inf,
    *,
    quick: bool = False,
) -> Rated | None:
    """Return the best rates of questions of which each answers itself; None where none keep the limit."""
    costs = PlannedCosts(accountant=accountant, questions=questions, share=share)
    return best_rates(costs, starts(costs, questions), down(float(limit)), quick=quick)


def starts(costs: PlannedCosts, questions: Sequence[AskedQuestion]) -> Iterable[FloatArray]:
    """Yield rates to begin with: by what each costs alone, of equal shares, the same with noise everywhere."""
    given = np.array([rate_of(each.made) for each in questions])
    units = np.array([each.unit for each in questions])
    noisy = np.where(np.isfinite(given), given, 100 * units)
    kept, alone = costs.left, [costs(np.where(np.arange(len(noisy)) == k, noisy, 0.0)) for k in range(len(noisy))]
    costs.left = kept
    yield np.sqrt(units * noisy / np.maximum(alone, 1e-6 * max(alone)))
    if costs.left > 2 * len(noisy):
        yield from (given, noisy) if not np.array_equal(given, noisy) else (given,)


def realised(
    accountant: Accountant, questions: Sequence[AskedQuestion], rates: FloatArray, limit: Fraction
) -> tuple[list[Calibration], Fraction] | None:
    """Return calibrations with noise of given rates, or a little more, that keep a limit, and what they tell."""
    alone = Accountant(accountant.framework)
    for _ in range(3):
        made = [
            each.calibrated(rate, PlannedCosts(accountant=alone, questions=[each])(np.array([rate])))
            for each, rate in zip(questions, rates.tolist(), strict=True)
        ]
        kept = [each for each in made if each is not None]
        total = told(accountant, kept) if len(kept) == len(made) else None
        if total is None or total <= limit:
            return None if total is None else (kept, total)
        # a bound may jump where a search for it ended early; by more than in proportion, as not all shrinks
        rates = rates * float(limit / total) ** 3 * (1 - NEAR_LIMIT)
    return None


def told(accountant: Accountant, made: Sequence[Calibration]) -> Fraction | None:
    """Return what releases tell with some more, all counted at once; None where nothing bounds it."""
    entries = list(map(Entry.of, made))
    if sum(entry.family == "records" for entry in entries) < 2:
        return total_with(accountant, entries)
    modelled, framework = [entry for entry in entries if entry.family == "records"], accountant.framework
    found = notion_of(framework).together(framework).total((*accountant.modelled, *modelled))
    beside = sum((each.epsilon for each in (*accountant.entries, *entries) if each.family == "column"), Fraction(0))
    return None if found.epsilon is None or found.kind == "estimate" else found.epsilon + beside


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
    left_out : dict of str to float
        Questions that would get a useless answer, and the epsilon that each would take by itself to be of some use.
    useful : tuple of str
        The questions of which all could be useful within the limit; a plan of these has useful answers only.
    """

    calibrations: tuple[Calibration, ...]
    questions: tuple[tuple[str, ...], ...]
    total: Fraction
    before: Fraction
    limit: Fraction
    error: float
    equal_error: float
    left_out: dict[str, float] = field(default_factory=dict[str, float])
    useful: tuple[str, ...] = ()

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
        many, few, stacked = sum(map(len, self.questions)), len(self.left_out), self.stacked
        out = f"; {few:,} {'is' if few == 1 else 'are'} left out, as {'its answer' if few == 1 else 'their answers'} "
        out = f"{out}would be useless" if few else ""
        return Document(
            kind="budget split",
            kicker="bnpriv plan of a session: nothing is spent by asking",
            headline=f"{many:,} questions for epsilon {upper_text(self.epsilon, 6)}{out}",
            lead=self._lead(),
            short=(*self.short_lines(self.error), self._lead(), SPLIT_NEXT),
            number=upper_text(self.epsilon, 6),
            facts=(
                self.error_fact(self.error),
                fact("Sum of the epsilons alone", upper_text(self.alone)),
                fact("What to stack", *([(Code(f"stack({', '.join(asked)})"),) for asked in stacked] or ("nothing",))),
                *([fact("Left out", *self._left_out())] if few else []),
                *self._could_be_useful(),
                *([fact("Not used", self.unspent)] if self.unspent else []),
            ),
            sections=(
                Section(
                    title="What each question gets",
                    blocks=(self.releases_table(), Paragraph(f"{SPLIT_NEXT} {TOGETHER}", soft=True)),
                    explained=True,
                ),
            ),
            data={
                "epsilon": self.epsilon,
                "total": rounded_up(self.total),
                "error": self.error,
                "equal_error": self.equal_error,
                "left_out": [
                    {"question": text, "epsilon_alone": least if math.isfinite(least) else None}
                    for text, least in self.left_out.items()
                ],
                "useful": list(self.useful),
                "unspent": self.unspent,
                "releases": self.to_rows(),
            },
        )

    def error_fact(self, error: float) -> Fact:
        """How much the answers err."""
        return fact("Summed error", f"{upper_percent(error)} of the ranges of the answers, on average")

    def short_lines(self, error: float) -> tuple[str, ...]:
        """What the answers are worth, what is protected and under which model: what is printed of a plan."""
        verdicts = Counter(made.useful.verdict for made in self.calibrations)
        told = and_text([f"{number:,} {verdict}" for verdict, number in verdicts.items()])
        kind = weakest(each.guarantee.kind for each in self.calibrations)
        protected, _, model = short_guarantee(replace(self.calibrations[0].guarantee, kind=kind), "the answers")
        strength = f"Strength: all releases together tell at most epsilon {upper_text(rounded_up(self.total), 6)} then."
        missed = f"{upper_percent(error)} of the ranges of the answers"
        return f"Releases: {told}. Their errors add up to {missed}, on average.", protected, strength, model

    def _left_out(self) -> list[tuple[Inline, ...]]:
        def why(least: float) -> str:
            if math.isinf(least):
                return ": its answer would not depend on the data"
            return f": it takes epsilon {upper_text(least, 2)} to be of some use"

        return [(Code(text), why(least)) for text, least in self.left_out.items()]

    def _could_be_useful(self) -> tuple[Fact, ...]:
        asked = [*itertools.chain(*self.questions), *self.left_out]
        out = [text for text in asked if text not in self.useful]
        if not out or not self.useful:
            return ()
        text = f"{len(self.useful):,} of {len(asked):,}, with session.plan(plan.useful): leave out "
        codes = itertools.chain.from_iterable((", ", Code(each)) for each in out)
        return (fact("Could be useful", (text, *itertools.islice(codes, 1, None))),)

    def _lead(self) -> str:
        if self.equal_error <= self.error:
            return ""
        equal = upper_percent(self.equal_error)
        return f"If each got an equal part as an epsilon of its own, the summed error would be {equal} of the ranges."

    def releases_table(self, caption: str = "In the order in which they were asked") -> Table:
        """Return what each release costs, and how much it errs."""
        return Table(
            caption=caption,
            header=("release", "epsilon alone", "scale", "95 % of releases err by at most", "verdict"),
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


SPLIT_NEXT = "Next: session.release(calibration) for each of .calibrations, in any order. Nothing is spent yet."

TOGETHER = "Their epsilons alone may add up to more than the budget: together they tell no more than it."
"""Said below a table of releases."""


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
    questions = [AskedQuestion.of(accountant, query, share) for query in tracked(queries, "questions by themselves")]
    if any(each.entry.query is None for each in questions):
        raise RefusedError(
            "questions that share a budget are told apart by their texts",
            found="the caller's own function, or a question too long to be stored",
            remedy="Ask it by itself: session.release(query, epsilon=...).",
        )
    costs = {each: alone(accountant, each, MOST_COARSE) for each in questions}
    cheapest = [each for each in sorted(questions, key=costs.__getitem__) if costs[each] < math.inf]
    kept, useful = (
        held(accountant, cheapest, [costs[each] * MOST_COARSE / share for each in cheapest], limit, share)
        for share in (MOST_COARSE, USEFUL)
    )
    asked = [each for each in questions if each in kept]
    for some, made, total in planned(accountant, asked, limit, USEFUL if len(useful) == len(kept) else MOST_COARSE):
        if all(each.useful.verdict != "useless" for each in made):
            return BudgetSplit(
                calibrations=tuple(made),
                questions=tuple(each.asked for each in some),
                total=total,
                before=before,
                limit=limit,
                error=math.fsum(map(error_of, made)),
                equal_error=math.fsum(error_of(each.made) for each in asked),
                left_out={str(each.query): costs[each] for each in questions if each not in kept},
                useful=tuple(str(each.query) for each in questions if each in useful),
            )
    raise RefusedError(
        "what is left of the budget must hold an answer that is of some use",
        found=f"none: the cheapest takes epsilon {upper_text(min(costs.values()), 2)} by itself",
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


def planned(
    accountant: Accountant, questions: list[AskedQuestion], limit: Fraction, share: float
) -> Iterable[tuple[Sequence[AskedQuestion], list[Calibration], Fraction]]:
    """Yield calibrations of the least errors; by quilts also with some asked as one, as a stack may move less."""
    groups, apart = _groups(questions), questions
    best = shared(accountant, questions, limit, share, quick=True) if groups else None
    for group in tracked(groups, "questions asked as one"):
        chosen = [k for k, each in enumerate(questions) if group & set(each.asked)]
        both = _stacked(accountant, [questions[k] for k in chosen], float(limit) / len(questions) * len(chosen))
        if both is None:
            continue
        tried = [*(each for k, each in enumerate(questions) if k not in chosen), both]
        found = shared(accountant, tried, limit, share, quick=True)
        if found is not None and (best is None or found[1] < best[1] * (1 - STACK_GAIN)):
            best, questions = found, tried
    ways = [apart] if questions is apart else [questions, apart]
    rated = [(asked, found) for asked in ways if asked and (found := shared(accountant, asked, limit, share))]
    for asked, (rates, _) in sorted(rated, key=lambda way: way[1][1]):
        made = realised(accountant, asked, rates, limit)
        if made is not None:
            yield asked, *made


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
