"""One budget, many questions: how much noise each gets, and which are asked as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from bnpriv.accounting.accountant import Accountant
from bnpriv.accounting.entries import Entry
from bnpriv.accounting.exact import rounded_up
from bnpriv.accounting.ledger_values import Budget
from bnpriv.checks import LARGEST_EPSILON
from bnpriv.errors import ParameterError, Refusal, RefusedError
from bnpriv.evidence.structural import Influences, influences
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.noise.continuous import Laplace
from bnpriv.queries.asked import stack
from bnpriv.queries.base import Query
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.document import Code, Document, Inline, Paragraph, Section, Table, fact
from bnpriv.render.shown import Shown
from bnpriv.render.text import Json, number_text, upper_percent, upper_text
from bnpriv.session.cost import total_with
from bnpriv.session.shares import Sharing, best_sharing, rows_of

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
    if evidence.quilts is not None:
        raise evidence.quilts.error()
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
