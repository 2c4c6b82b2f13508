"""One budget, many questions: how much noise each gets, and which are asked as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import LARGEST_EPSILON
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.entries import Entry, Near, rounded_up
from bnpriv.core.accounting.total import NoiseCosts
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.mechanisms.quilt_search import independent_groups
from bnpriv.core.noise import Laplace
from bnpriv.core.queries.asked import stack
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.errors import ParameterError, Refusal, RefusedError, SizeError
from bnpriv.ledger.history import total_with
from bnpriv.ledger.values import Budget
from bnpriv.render.document import Code, Document, Inline, Paragraph, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import Json, number_text, upper_percent, upper_text

# --------------------------------------------------------------------------------------------------
# How noise is best shared out over questions: the least sum of relative errors that keeps a total.
#
# A release with Laplace noise of rate r (one over its scale) costs r times the column sensitivity of the near set,
# beside what the other columns tell. Errors are weights over rates. Near sets are chosen apart for every model and
# pair.
# --------------------------------------------------------------------------------------------------

MOST_SUBSETS = 64
"""Near sets of which all are looked at; beyond that only natural ones."""

MOST_SHARES = 6
"""Questions of which every choice may go without noise; beyond that one after the other is tried."""

RATE_FACTORS = (4.0, 2.0, 1.4, 1.15, 1.05, 1.015, 1.004)
"""Factors by which rates are varied, the largest first."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class NearCosts:
    """What a total must keep for one protected attribute, model and pair: it may choose among near sets.

    Parameters
    ----------
    fixed : ndarray of shape (rows, sets)
        What other columns tell and earlier noise lets through; infinite where a set may not be chosen.
    moved : ndarray of shape (questions, rows, sets)
        How far each answer moves; what its noise costs is this times its rate.
    """

    fixed: FloatArray
    moved: FloatArray


@final
@dataclass(frozen=True, kw_only=True)
class Sharing:
    """Rates for questions, and the sum of the errors.

    Parameters
    ----------
    rates : tuple of float
        One over each scale; infinite for an answer without noise.
    error : float
        The sum of weight over rate.
    """

    rates: tuple[float, ...]
    error: float


def rows_of(evidence: Influences, earlier: Sequence[Entry], asked: Sequence[Entry]) -> list[NearCosts]:
    """Return what a total must keep, with near sets that suit the questions; an upper bound of the exact total.

    Parameters
    ----------
    evidence : Influences
    earlier : sequence of Entry
        Releases that count by quilts already.
    asked : sequence of Entry
        The questions, with noise of scale 1.
    """
    before = NoiseCosts(evidence=evidence)
    for entry in earlier:
        before = before.plus(entry)
    queried = before.queried.union(*(entry.columns for entry in asked))
    found: list[NearCosts] = []
    for name in evidence.secrets:
        driven = evidence.driven(queried, name)
        fixed: list[FloatArray] = []
        moved: list[list[float]] = []
        for near in _near_sets(evidence, name, queried, driven, asked):
            try:
                told = evidence.influence(queried - near, name).values
            except SizeError:
                continue
            paid = before.rough(near & before.queried) if before.terms else 0.0
            fixed.append(np.where(np.isneginf(told), -np.inf, np.maximum(told, 0.0) + paid).ravel())
            moved.append([entry.moves(evidence, near) for entry in asked])
        if fixed:
            table = np.stack(fixed, axis=1)
            costs = np.array(moved).T[:, None, :]
            found.append(NearCosts(fixed=table, moved=np.broadcast_to(costs, (len(asked), *table.shape))))
    return found


def _near_sets(evidence: Influences, name: str, queried: Near, driven: Near, asked: Sequence[Entry]) -> Iterable[Near]:
    free = sorted(evidence.modelled(queried) - driven)
    if 2 ** len(free) <= MOST_SUBSETS:
        for size in range(len(free) + 1):
            for chosen in itertools.combinations(free, size):
                yield driven | frozenset(chosen)
        return
    groups = independent_groups(evidence.network, name, frozenset(free))
    natural = [*groups, *(entry.columns for entry in asked), *(frozenset({column}) for column in free)]
    yield from dict.fromkeys(
        (driven, queried, *(driven | each for each in natural), *(queried - each for each in natural))
    )


def best_sharing(rows: Sequence[NearCosts], weights: Sequence[float], limit: float) -> Sharing | None:
    """Return the rates of the least sum of errors that keep a limit; None where no rates keep it.

    Parameters
    ----------
    rows : sequence of NearCosts
    weights : sequence of float
        The error of each question at rate 1.
    limit : float
    """
    count = len(weights)
    if count <= MOST_SHARES:
        choices = (frozenset(each) for size in range(count + 1) for each in itertools.combinations(range(count), size))
        found = [_with_bare(rows, weights, limit, bare) for bare in choices]
        return min((each for each in found if each is not None), key=lambda each: each.error, default=None)
    bare: frozenset[int] = frozenset()
    best = _with_bare(rows, weights, limit, bare)
    for k in range(count):
        tried = _with_bare(rows, weights, limit, bare | {k})
        if tried is not None and (best is None or tried.error < best.error):
            best, bare = tried, bare | {k}
    return best


def _with_bare(
    rows: Sequence[NearCosts], weights: Sequence[float], limit: float, bare: frozenset[int]
) -> Sharing | None:
    """Return the best rates where some questions have no noise."""
    noisy = [k for k in range(len(weights)) if k not in bare]
    without = [
        np.where(np.any(each.moved[sorted(bare)] > 0, axis=0), np.inf, each.fixed) if bare else each.fixed
        for each in rows
    ]
    if any(np.any(fixed.min(axis=1) > limit) for fixed in without):
        return None
    given = np.asarray([weights[k] for k in noisy])
    moved = [each.moved[noisy] for each in rows]
    if not noisy:
        return Sharing(rates=(math.inf,) * len(weights), error=0.0)
    best, rates = math.inf, np.ones(len(noisy))
    for start in _starts(moved, given):
        error, found = _descended(without, moved, given, limit, start)
        if error < best:
            best, rates = error, found
    if not math.isfinite(best):
        return None
    every = np.full(len(weights), np.inf)
    every[noisy] = rates
    return Sharing(rates=tuple(map(float, every)), error=best)


def _starts(moved: Sequence[FloatArray], weights: FloatArray) -> Iterable[FloatArray]:
    """Yield rates that are best for one near set alone."""
    patterns = {tuple(each[:, 0, place]) for each in moved for place in range(each.shape[2])}
    largest = np.max([each.max(axis=(1, 2)) for each in moved], axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    for pattern in sorted(patterns):
        yield np.sqrt(weights / np.maximum(np.asarray(pattern), 1e-3 * largest))


def _descended(
    fixed: Sequence[FloatArray], moved: Sequence[FloatArray], weights: FloatArray, limit: float, start: FloatArray
) -> tuple[float, FloatArray]:
    """Vary one rate after the other as long as the error shrinks."""
    rates = start * _scaling(fixed, moved, start, limit)
    error = float(np.sum(weights / rates)) if np.all(rates > 0) else math.inf
    for factor in RATE_FACTORS:
        improved = math.isfinite(error)
        while improved:
            improved = False
            for k, change in itertools.product(range(len(rates)), (factor, 1 / factor)):
                tried = rates.copy()
                tried[k] *= change
                tried = tried * _scaling(fixed, moved, tried, limit)
                found = float(np.sum(weights / tried)) if np.all(tried > 0) else math.inf
                if found < error * (1 - 1e-6):
                    rates, error, improved = tried, found, True
    return error, rates


def _scaling(fixed: Sequence[FloatArray], moved: Sequence[FloatArray], rates: FloatArray, limit: float) -> float:
    """Return the largest factor for all rates that keeps the limit."""
    least = math.inf
    for before, each in zip(fixed, moved, strict=True):
        cost = np.tensordot(rates, each, axes=(0, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(before <= limit, np.where(cost > 0, (limit - before) / cost, np.inf), 0.0)
        least = min(least, float(np.max(factor, axis=1).min()))
    return min(least, 1e12 / float(rates.max()))


MOST_QUESTIONS = 40
"""Questions that share a budget at once."""

STACK_GAIN = 0.01
"""By which share the summed error must shrink for two questions to be asked as one."""

EPSILON_TRIES = 50
"""Halvings of a search for the epsilon of a scale."""

ROUNDING_SHARE = 1e-9
"""Share of what is left that rounding may take."""


@final
@dataclass(frozen=True, kw_only=True)
class AskedQuestion:
    """A question, or several that are asked as one.

    Parameters
    ----------
    query : Query
    asked : tuple of str
        The texts of the questions in it.
    entry : Entry
        It with Laplace noise of scale 1.
    weight : float
        The mean error at scale 1 as a share of the range of its number, summed over its numbers.
    """

    query: Query
    asked: tuple[str, ...]
    entry: Entry
    weight: float

    @staticmethod
    def of(framework: Framework, query: Query, asked: tuple[str, ...] = ()) -> AskedQuestion:
        """Return a question with the noise that `MarkovQuiltMechanism` shapes for it."""
        made = MarkovQuiltMechanism().calibrate(framework, query, epsilon=1e-3)
        entry, noise = Entry.of(made), made.noise.accounted_noise()
        weights = noise.weights if isinstance(noise, Laplace) else ()
        lower, upper = answer_range(query, framework.schema)
        widths = [float(high - low) for low, high in zip(lower, upper, strict=True)]
        per_scale = weights or (1.0,) * len(widths)
        shares = [1 / (width * per) for width, per in zip(widths, per_scale, strict=True) if 0 < width < math.inf]
        return AskedQuestion(
            query=query,
            asked=asked or (str(query),),
            entry=replace(entry, noise="laplace", scale=1.0, weights=weights),
            weight=math.fsum(shares) if shares else 1 / max(entry.moved, 1e-300),
        )


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
    error : float
        The sum of the mean errors, each as a share of the range of its number.
    equal_error : float
        The same if each question got an equal part of the budget as an epsilon of its own; infinite where one of them
        cannot be answered so.
    """

    calibrations: tuple[Calibration, ...]
    questions: tuple[tuple[str, ...], ...]
    total: Fraction
    before: Fraction
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
            headline=f"{many:,} questions for epsilon {upper_text(self.epsilon, 6)}",
            lead=self._lead(),
            facts=(
                fact("Summed error", f"{upper_percent(self.error)} of the ranges of the answers, on average"),
                fact("Sum of the epsilons alone", upper_text(self.alone)),
                fact("What to stack", *(self._stacks() or ("nothing",))),
            ),
            sections=(Section(title="What each question gets", blocks=(self._table(), Paragraph(ORDER, soft=True))),),
            data={
                "epsilon": self.epsilon,
                "total": rounded_up(self.total),
                "error": self.error,
                "equal_error": self.equal_error if math.isfinite(self.equal_error) else None,
                "releases": self.to_rows(),
            },
        )

    def _lead(self) -> str:
        if not math.isfinite(self.equal_error) or self.equal_error <= self.error:
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
        If there are no questions, or too many, or the budget has a delta.
    RefusedError
        If the limit is too small for them, or they do not count by quilts.
    """
    evidence = _checked(accountant, queries, budget)
    framework = accountant.framework
    asked = [AskedQuestion.of(framework, query) for query in queries]
    before = accountant.total or Fraction(0)
    shared, questions = _stacked(accountant, evidence, asked, limit)
    if shared is None:
        raise RefusedError(
            "the questions must fit into what is left of the budget",
            found="no noise with which they do",
            remedy="Ask fewer questions, or of columns that tell less; Session.what_if tells the cost of one.",
        )
    made = [_calibrated(framework, each, rate) for each, rate in zip(questions, shared.rates, strict=True)]
    total = total_with(accountant, map(Entry.of, made))
    if total is None or total > limit:
        raise RefusedError(
            "the questions must fit into what is left of the budget",
            found="a total that passes it",
            remedy="Pass a smaller budget to plan, or ask for fewer questions.",
        )
    errors = [question.weight * _scale(each) for question, each in zip(questions, made, strict=True)]
    return BudgetSplit(
        calibrations=tuple(made),
        questions=tuple(question.asked for question in questions),
        total=total,
        before=before,
        error=math.fsum(errors),
        equal_error=_equal_error(framework, queries, asked, limit - before),
    )


def _checked(accountant: Accountant, queries: Sequence[Query], budget: Budget) -> Influences:
    if not 0 < len(queries) <= MOST_QUESTIONS:
        raise ParameterError(
            f"a budget is split over 1 to {MOST_QUESTIONS} questions",
            found=f"{len(queries)}",
            remedy="Pass the questions as a list.",
        )
    evidence = influences(accountant.framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    if evidence.no_quilts is not None:
        raise evidence.no_quilts.error()
    if budget.delta:
        raise RefusedError("only a budget with delta 0 is split", found="a delta", remedy="Ask one by one.")
    return evidence


def _stacked(
    accountant: Accountant, evidence: Influences, questions: list[AskedQuestion], limit: Fraction
) -> tuple[Sharing | None, list[AskedQuestion]]:
    """Ask questions as one wherever the summed error shrinks by that: many that read one column, then two."""
    best = _shared(accountant, evidence, questions, limit)
    again = best is not None
    while again and best is not None:
        again = False
        for group in _groups(questions, best):
            chosen = [questions[k] for k in sorted(group)]
            asked = tuple(text for each in chosen for text in each.asked)
            both = AskedQuestion.of(accountant.framework, stack(*(each.query for each in chosen)), asked)
            tried = [*(each for k, each in enumerate(questions) if k not in group), both]
            found = _shared(accountant, evidence, tried, limit)
            if found is not None and found.error < best.error * (1 - STACK_GAIN):
                best, questions, again = found, tried, True
                break
    return best, questions


def _groups(questions: Sequence[AskedQuestion], shared: Sharing) -> Iterable[frozenset[int]]:
    """Yield sets of questions with noise that read a column in common, the largest first."""
    noisy = [k for k, rate in enumerate(shared.rates) if rate != math.inf]
    columns = frozenset[str]().union(*(questions[k].entry.columns for k in noisy))
    reading = {frozenset(k for k in noisy if name in questions[k].entry.columns) for name in columns}
    pairs = {frozenset(pair) for group in reading for pair in itertools.combinations(sorted(group), 2)}
    found = {group for group in {*reading, *pairs} if len(group) > 1}
    yield from sorted(found, key=lambda group: (-len(group), sorted(group)))


def _shared(
    accountant: Accountant, evidence: Influences, questions: Sequence[AskedQuestion], limit: Fraction
) -> Sharing | None:
    earlier = [entry for entry in accountant.entries if entry.family == "quilt"]
    columns = sum((entry.epsilon for entry in accountant.entries if entry.family == "column"), Fraction(0))
    most = float(limit - columns) * (1 - ROUNDING_SHARE)
    rows = rows_of(evidence, earlier, [each.entry for each in questions])
    return best_sharing(rows, [each.weight for each in questions], most)


def _calibrated(framework: Framework, question: AskedQuestion, rate: float) -> Calibration:
    """The calibration of largest epsilon with as much noise as a rate asks for, of least epsilon where that is none."""
    bare, mechanism = rate == math.inf, MarkovQuiltMechanism()

    def at(epsilon: float) -> Calibration:
        return mechanism.calibrate(framework, question.query, epsilon=epsilon)

    low, high = 1e-6, LARGEST_EPSILON
    best = at(high if bare else low)
    for _ in range(EPSILON_TRIES):
        middle = math.sqrt(low * high) if high > 4 * low else (low + high) / 2
        made = at(middle)
        noisy = made.scale != 0 if bare else _scale(made) >= 1 / rate
        low, high = (middle, high) if noisy else (low, middle)
        if noisy != bare:
            best = made
        if high - low <= ROUNDING_SHARE * high:
            break
    return best


def _scale(calibration: Calibration) -> float:
    noise = calibration.noise.accounted_noise()
    return noise.scale if isinstance(noise, Laplace) else 0.0


def _equal_error(
    framework: Framework, queries: Sequence[Query], questions: Sequence[AskedQuestion], limit: Fraction
) -> float:
    """Return the summed error if each question got an equal part of the budget as an epsilon of its own."""
    each = float(limit) / len(queries)
    try:
        made = [MarkovQuiltMechanism().calibrate(framework, query, epsilon=each) for query in queries]
    except (RefusedError, ParameterError):
        return math.inf
    return math.fsum(question.weight * _scale(one) for question, one in zip(questions, made, strict=True))
