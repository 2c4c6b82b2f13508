"""What a question would cost in a session, at which epsilon, by which mechanism; nothing is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, takewhile
from typing import cast

from bnpriv.checks import LARGEST_EPSILON, LEAST_EPSILON, type_text
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up, typed
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.errors import ParameterError, Refusal, RefusedError, SizeError
from bnpriv.ledger.counted import budget_text
from bnpriv.ledger.history import (
    TOLERATED,
    ReleaseCost,
    budget_bar,
    cost_of,
    lasting,
    left,
    left_text,
    scale_at_cost,
    with_scale,
)
from bnpriv.ledger.values import Budget
from bnpriv.mechanisms.plan import STANDARD, plan
from bnpriv.mechanisms.usefulness import LEVEL, LIMITS
from bnpriv.render.document import Block, Code, Document, Fact, Figure, Paragraph, Section, Table, fact
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import Json, lower_text, number_text, percent_text, upper_text
from bnpriv.views.accountant import PRIVATE_TABLE
from bnpriv.views.calibration import deciding_error, narrowest, verdict_badge
from bnpriv.views.cards import short_guarantee

# --------------------------------------------------------------------------------------------------
# The least epsilon at which an answer is as accurate as it is asked to be.
# --------------------------------------------------------------------------------------------------

CLOSE = 1e-6
"""Relative distance from the least epsilon at which the search ends."""

MOST_CALIBRATED = 60
"""Calibrations of one mechanism for one question."""

MOST_QUESTIONS_SHRUNK = 3
"""Tries to make a release add no more than its own epsilon."""


@dataclass(frozen=True, kw_only=True)
class AskedAccuracy:
    """How accurate an answer is asked to be.

    Parameters
    ----------
    error : float
        What no number of the answer is to miss by more, in its unit.
    probability : float
        How often that is to hold, over the noise.
    """

    error: float
    probability: float

    def ratio(self, calibration: Calibration) -> float:
        """Return the error that is asked for over that of a calibration: at least 1 where it is reached."""
        missed = calibration.quantile(self.probability)
        return self.error / missed if missed > 0 else math.inf


def least_calibration(
    mechanism: Mechanism, framework: Framework, query: Query, accuracy: AskedAccuracy, delta: float = 0.0
) -> Calibration | Refusal:
    """Return the calibration of least epsilon that is accurate enough, or why there is none.

    Parameters
    ----------
    mechanism : Mechanism
    framework : Framework
    query : Query
    accuracy : AskedAccuracy
    delta : float
    """
    best: Calibration | None = None
    refusal: Refusal | None = None

    def ratio(epsilon: float) -> float:
        """How accurate a calibration is; 0 where there is none. The least epsilon that is enough is remembered."""
        nonlocal best, refusal
        try:
            found = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
        except (RefusedError, SizeError) as refused:
            refusal = Refusal.of(refused)
            return 0.0
        reached = accuracy.ratio(found)
        if reached >= 1 and (best is None or epsilon < best.epsilon):
            best = found
        return reached

    high = 1.0
    while ratio(high) < 1:
        if high >= LARGEST_EPSILON:
            return refusal or Refusal(
                required=f"the answer must err by at most {number_text(accuracy.error)}",
                found=f"a larger error up to epsilon {LARGEST_EPSILON:g}",
                remedy="Ask for a larger error.",
            )
        high = min(4 * high, LARGEST_EPSILON)
    low = high / 4
    while low >= LEAST_EPSILON and ratio(low) >= 1:
        low /= 16
    found = cast(Calibration, best)
    if low >= LEAST_EPSILON or ratio(low := LEAST_EPSILON) < 1:
        _narrow(ratio, low, min(high, found.epsilon))
    found = cast(Calibration, best)
    # the same with an epsilon of few digits, rounded up, where that is enough as well
    step = 10.0 ** (math.floor(math.log10(found.epsilon)) - 5)
    epsilon = float(f"{math.ceil(found.epsilon / step) * step:.6g}")
    try:
        short = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
    except (RefusedError, SizeError):
        return found
    return short if accuracy.ratio(short) >= 1 else found


def _narrow(ratio: Callable[[float], float], low: float, high: float) -> None:
    """Ask for ratios between two epsilons: by secants, as they are piecewise linear for quilts, inside a bracket."""
    below, above = ratio(low), ratio(high)
    for step in range(MOST_CALIBRATED):
        if high - low <= CLOSE * high:
            return
        guess = (low + high) / 2
        if step % 3 < 2 and math.isfinite(above) and above > below:
            guess = low + (1 - below) / (above - below) * (high - low)
        guess = min(max(guess, low * (1 + CLOSE / 2)), high * (1 - CLOSE / 2))
        found = ratio(guess)
        if found >= 1:
            high, above = guess, found
        else:
            low, below = guess, found


# --------------------------------------------------------------------------------------------------
# Which mechanism answers the next question of a session: the least error that keeps what was promised.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Chooser:
    """Chooses mechanisms for the next question, after what an accountant counted.

    Parameters
    ----------
    accountant : Accountant
    budget : Budget
    """

    accountant: Accountant
    budget: Budget

    def at_epsilon(self, query: Query | None, epsilon: float, delta: float, mechanism: Mechanism | None) -> ReleaseCost:
        """Return what an answer at an epsilon would cost; the best mechanism of a plan unless one is given.

        The best is the least error among those that compose, and add at most epsilon, or a tenth more, also once other
        releases follow. Where that is useless, or there is none, another that can be counted may be of use.

        Raises
        ------
        RefusedError
            If no mechanism supports the question.
        ParameterError, QueryError, SchemaError
            As `plan`.
        """
        framework = self.accountant.framework
        if mechanism is not None:
            _require_mechanism(mechanism)
            return self.cost(mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta))
        made = plan(framework, query, epsilon, delta)
        _ = made.best
        best, most = min(self._costs(made.calibrations), key=_preferred), typed(epsilon)
        # answers may tell a little more together than apart: a little more noise keeps what was asked for
        for _ in range(MOST_QUESTIONS_SHRUNK):
            if best.after is not None and most < (added := best.after - best.before) <= TOLERATED * most:
                less = float(most / added) * (1 - CLOSE) * best.calibration.epsilon
                best = self.cost(best.calibration.mechanism.calibrate(framework, query, epsilon=less, delta=delta))
        return best

    def at_error(self, query: Query, accuracy: AskedAccuracy, delta: float, mechanism: Mechanism | None) -> ReleaseCost:
        """Return what an answer of an accuracy would cost: the mechanism and epsilon after which the total is least.

        Raises
        ------
        RefusedError
            If no mechanism is accurate enough.
        """
        framework = self.accountant.framework
        groups = [composing_for(framework), [each for each in STANDARD if each.concerns(framework)]]
        if mechanism is not None:
            _require_mechanism(mechanism)
            groups = [[mechanism]]
        costs, refusals = list[ReleaseCost](), list[Refusal]()
        for group in groups:
            for each in group if not any(cost.fits for cost in costs) else ():
                if costs and isinstance(each, WassersteinMechanism):  # it never needs less than TightMechanism
                    continue
                found = least_calibration(each, framework, query, accuracy, delta)
                refusals += [found] if isinstance(found, Refusal) else []
                costs += [] if isinstance(found, Refusal) else [self.cost(found)]
        if not costs:
            raise refusals[0].error()
        return min(costs, key=lambda cost: (cost.after is None, not cost.fits, _after_all(cost)))

    def cost(self, calibration: Calibration) -> ReleaseCost:
        """Return what a release would cost."""
        return cost_of(self.accountant, calibration, self.budget)

    def _costs(self, calibrations: Sequence[Calibration]) -> list[ReleaseCost]:
        """Return the costs up to the first useful one that keeps epsilon; of equal errors those that share quilts.

        A release of `ColumnMechanism` always adds all of its epsilon.
        """
        costs: list[ReleaseCost] = []
        for calibration in sorted(calibrations, key=_rank):
            costs.append(self.cost(calibration))
            if costs[-1].keeps_epsilon and calibration.useful.verdict != "useless":
                break
        return costs


def _rank(calibration: Calibration) -> tuple[bool, float, bool]:
    last, error = calibration.rank
    return last, float(f"{error:.6g}"), isinstance(calibration.mechanism, ColumnMechanism)


def _preferred(cost: ReleaseCost) -> tuple[bool, ...]:
    """What is chosen first, of costs in the order of their errors."""
    useless = cost.calibration.useful.verdict == "useless"
    return cost.after is None, useless, not cost.keeps_epsilon, cost.lasting is None


def composing_for(framework: Framework) -> list[Mechanism]:
    """Return the mechanisms whose releases may be counted together, if any of a framework may.

    Parameters
    ----------
    framework : Framework
    """
    shared = (MarkovQuiltMechanism,) if _by_quilts(framework) else (TightMechanism, WassersteinMechanism)
    return [each for each in STANDARD if isinstance(each, (*shared, ColumnMechanism)) and each.concerns(framework)]


def _by_quilts(framework: Framework) -> bool:
    evidence = influences(framework)
    return isinstance(evidence, Influences) and evidence.no_quilts is None


def _after_all(cost: ReleaseCost) -> float:
    return float("inf") if cost.lasting is None else float(cost.lasting)


# --------------------------------------------------------------------------------------------------
# How many useful answers a budget holds, and what is said of one that is useless.
# --------------------------------------------------------------------------------------------------

USEFUL = {word: limit for limit, word in LIMITS}["useful"]
"""The largest error of a useful answer, as a share of its range."""

OF_USE = ("exact", "sharp", "useful")
"""The verdicts on answers with such an error or a smaller one."""


def questions_within(framework: Framework, query: Query, budget: float) -> tuple[float, Fraction | None]:
    """Count the useful answers like one that a budget holds.

    What several tell together is at most the sum, whether they are repeated or independent given the secret.

    Parameters
    ----------
    framework : Framework
    query : Query
    budget : float
        The epsilon of all together.

    Returns
    -------
    float
        How many; infinite where they tell nothing or it is beyond counting, 1 where none may be added to another.
    Fraction or None
        What one adds to the others at the largest noise that leaves it useful; None where none is added to another.
    """
    known, least = framework.kept.table("questions"), None
    epsilon = min(max(budget, LEAST_EPSILON), LARGEST_EPSILON)
    if (query, budget) not in known:
        for mechanism in composing_for(framework):  # what the noise of the first costs, others' noise of its scale does
            if least is None:
                with suppress(RefusedError, SizeError):
                    least = _least_useful(mechanism.calibrate(framework, query, epsilon=min(epsilon, 1.0)))
        number = math.inf if least == 0 else 0 if least is None else typed(budget) // least
        if not number and any(each.useful.verdict in OF_USE for each in plan(framework, query, epsilon)):
            number, least = 1, None
        known[query, budget] = number if number < 10**15 else math.inf, least
    return known[query, budget]


def questions_text(framework: Framework, query: Query, budget: float, like: str = "this one", whole: str = "") -> str:
    """Say how many useful answers like one a budget holds.

    Parameters
    ----------
    framework, query, budget
        As of `questions_within`.
    like : str
        What the query is called.
    whole : str
        What stands before the epsilon, as that of a budget of which some is spent.

    Examples
    --------
    >>> import bnpriv as bp
    >>> questions_text(bp.example("hospital"), bp.count(bp.col("age_group") == "old"), 1.0)
    'about 14 questions like this one within epsilon 1, if 95 % of answers err by at most 1,000'
    """
    number, least = questions_within(framework, query, budget)
    if least is None:
        both = ", or one stack of questions: two are not counted together"
        return f"{'one' if number else 'no'} useful release within {whole}epsilon {budget:g}{both if number else ''}"
    many = {0: "no question", 1: "one question", math.inf: "any number of questions"}
    found = f"{many.get(number, f'about {number:,.0f} questions')} like {like} within {whole}epsilon {budget:g}"
    if not number:
        return f"{found}: a useful answer takes epsilon {upper_text(rounded_up(least), 2)}"
    errs = f"if 95 % of answers err by at most {_useful_error(framework, query)}"
    return found if math.isinf(number) else f"{found}, {errs}"


def _useful_error(framework: Framework, query: Query) -> str:
    """The largest error of an answer that is useful, in its units if it is one number."""
    lower, upper = answer_range(query, framework.schema)
    (width, *others) = (high - low for low, high in zip(lower, upper, strict=True))
    return (
        number_text(USEFUL * width) if not others and 0 < width < math.inf else f"{percent_text(USEFUL)} of its range"
    )


def questions_fact(calibration: Calibration, budget: float) -> tuple[Fact, ...]:
    """Say how many useful answers like a release a budget holds; nothing where what columns tell is paid once.

    Parameters
    ----------
    calibration : Calibration
    budget : float
    """
    framework, query = calibration.framework, calibration.query
    if isinstance(query, GivenAnswer) or _by_quilts(framework):
        return ()
    return (fact("Useful questions", questions_text(framework, query, budget)),)


def _least_useful(calibration: Calibration) -> Fraction | None:
    """Return what an answer tells with such noise, scaled until it is just useful, once others follow; or None."""
    entry, factor = Entry.of(calibration), calibration.useful.share / USEFUL
    if not math.isfinite(factor):
        return None
    if entry.scale and factor:
        entry = replace(with_scale(entry, entry.scale / factor), epsilon=entry.epsilon * Fraction(factor))
    counted = Accountant(calibration.framework).with_entry(entry)
    return None if isinstance(counted, Refusal) else lasting(counted, Budget(1))


def refuse_useless(calibration: Calibration, entries: Iterable[Entry] = ()) -> None:
    """Refuse a release that is useless by its own verdict, before anything is charged.

    Parameters
    ----------
    calibration : Calibration
    entries : iterable of Entry
        What was released before.

    Raises
    ------
    RefusedError
    """
    if calibration.useful.verdict != "useless":
        return
    found, span = "one that does not depend on the data", narrowest(calibration)
    if not calibration.useful.constant and span is not None:
        found = f"an error of {upper_text(deciding_error(calibration))} in 95 % of releases, beside a range from "
        found += f"{number_text(span[0])} to {number_text(span[1])}"
    raise Refusal(
        required="an answer that is charged must say something: its error is at most half of its range",
        found=found,
        remedy=" ".join(
            [*_helps(calibration, entries), "Or pass even_if_useless=True (--even-if-useless): it is charged as any."]
        ),
    ).error()


def _useful_alone(calibration: Calibration) -> float:
    """Return about the least epsilon at which a mechanism is useful; infinite if there is none."""
    for epsilon in takewhile(LARGEST_EPSILON.__ge__, (2.0**k * calibration.epsilon for k in count(1))):
        with suppress(RefusedError, SizeError):
            found = calibration.mechanism.calibrate(calibration.framework, calibration.query, epsilon=epsilon)
            if found.useful.verdict in OF_USE:
                return epsilon
    return math.inf


def _helps(calibration: Calibration, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield what would help a useless answer."""
    framework, query, useful = calibration.framework, calibration.query, calibration.useful
    number, least = questions_within(framework, query, calibration.epsilon)
    if number and least is None:
        yield "Another mechanism is of use at this epsilon: leave mechanism out."
    elif (about := min(_useful_alone(calibration), math.inf if least is None else rounded_up(least))) < math.inf:
        yield f"It is useful from about epsilon {upper_text(about, 2)} on, with the mechanism that is best then."
    kept = 0 if useful.constant else int(len(useful.parts) * LIMITS[-1][0] / useful.share)
    if 0 < kept < (asked := len(useful.parts)):
        yield f"Or ask about {asked - kept} fewer of the {asked} questions: session.workload([...]) says which."
    if any(entry.mechanism == PRIVATE_TABLE for entry in entries):
        yield "Or ask the private table that was made, for nothing: table.answer(query)."
    elif (table := service("plan.table")(calibration)) is not None and table.error < deciding_error(calibration) / 5:
        yield f"Or make a private table: table.answer(query) errs by about {number_text(table.error)} at this epsilon."


# --------------------------------------------------------------------------------------------------
# What a question would cost, before anything is spent.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class Price(Shown):
    """What a release would cost, beside those that were made; nothing is spent by asking.

    Parameters
    ----------
    cost : ReleaseCost
        What it adds.
    accuracy : AskedAccuracy or None
        What was asked for, where an accuracy was.
    """

    cost: ReleaseCost
    accuracy: AskedAccuracy | None = None

    @property
    def calibration(self) -> Calibration:
        """The mechanism, noise and guarantee; `Session.release` takes it as a question."""
        return self.cost.calibration

    @property
    def epsilon(self) -> float:
        """What it would add to the total, rounded up; infinite where nothing bounds it."""
        return self.cost.epsilon

    @property
    def alone(self) -> float:
        """The epsilon of its own guarantee: what it would cost at most as the only release."""
        return self.calibration.guarantee.epsilon

    @property
    def total(self) -> float:
        """What all releases would tell together then, rounded up; infinite where nothing bounds it."""
        return math.inf if self.cost.after is None else rounded_up(self.cost.after)

    @property
    def remaining(self) -> float:
        """What of the budget would be left, rounded down; negative where it does not fit."""
        return -math.inf if self.cost.after is None else left(self.cost.budget, self.cost.after)

    @property
    def fits(self) -> bool:
        """Whether the budget allows it."""
        return self.cost.fits

    @property
    def document(self) -> Document:
        """Return the price in words."""
        badge = verdict_badge(self.calibration)
        return Document(
            kind="price",
            kicker="bnpriv price: nothing is spent by asking",
            title=f"{self.calibration.query}: what it would cost",
            headline=(Code(str(self.calibration.query)), f" {self._headline()}"),
            verdict=badge.text,
            tone=badge.tone,
            lead=self._lead(),
            short=(
                str(self.calibration.useful if self.fits else self._lead()),
                *short_guarantee(self.calibration.guarantee, "this answer alone"),
                self._lead() if self.fits else "",
                self._next(),
            ),
            number=upper_text(self.epsilon) if math.isfinite(self.epsilon) else "",
            answer=self._bar(),
            facts=self._facts(),
            data={
                "query": str(self.calibration.query),
                "mechanism": str(self.calibration.mechanism),
                "epsilon_alone": self.alone,
                "adds": _finite(self.epsilon),
                "total": _finite(self.total),
                "remaining": _finite(self.remaining),
                "fits": self.fits,
                "scale": self.calibration.scale,
                "error": self.calibration.quantile(self._probability),
                "probability": self._probability,
                "refusal": None if self.cost.refusal is None else str(self.cost.refusal),
            },
        )

    @property
    def _probability(self) -> float:
        return LEVEL if self.accuracy is None else self.accuracy.probability

    def _headline(self) -> str:
        if self.cost.refusal is not None:
            return "cannot be released beside what was released"
        if self.cost.after is None:
            return "would add more than any budget: nothing bounds what all releases tell together"
        if not self.fits:
            return f"would add epsilon {upper_text(self.epsilon)}: more than is left"
        return f"would add epsilon {upper_text(self.epsilon)} and leave {left_text(self.cost.budget, self.cost.after)}"

    def _next(self) -> str:
        if self.fits:
            return "Next: session.release(price) charges it and answers. Nothing is spent yet."
        return "Next: ask for less, or for another question; session.history says what the budget went to."

    def _lead(self) -> str:
        if self.cost.refusal is not None:
            return str(self.cost.refusal)
        followed = self.cost.lasting is not None and self.cost.lasting <= self.cost.budget.epsilon
        if self.fits and not followed and not isinstance(self.calibration.mechanism, ColumnMechanism):
            return (
                "No other release can follow it within the budget, but of ColumnMechanism: ask all at once, as a stack."
            )
        alone = upper_text(self.alone)
        if upper_text(self.epsilon) == alone or self.cost.after is None:
            return ""
        if self.epsilon > self.alone:
            return f"Alone it would cost epsilon {alone}. Columns may tell more together than apart."
        if not self.cost.before:
            return f"Its guarantee is epsilon {alone}; what it tells is less."
        once = "What columns tell is paid once, and each protected attribute is counted for itself."
        if not _by_quilts(self.calibration.framework):
            once = "All answers are counted together by what they tell of one record; that may be less than their sum."
        return f"Alone it would cost epsilon {alone}. {once}"

    def _bar(self) -> tuple[Block, ...]:
        if self.cost.after is None:
            return ()
        return (Figure(budget_bar([self.cost.before], self.cost.budget, next_total=self.cost.after)),)

    def _facts(self) -> tuple[Fact, ...]:
        error = self.calibration.quantile(self._probability)
        often = percent_text(self._probability)
        said = "none: the exact answer" if error == 0 else f"at most {upper_text(error)} with {often} probability"
        return (
            fact("Error", said),
            fact("Of what use", str(self.calibration.useful)),
            fact("Noise", f"scale {number_text(self.calibration.scale)}, {self.calibration.mechanism}"),
            fact("Epsilon alone", upper_text(self.alone, 6)),
            fact("All releases together then", _bounded(self.total)),
            fact("Left of the budget then", lower_text(self.remaining, 6) if self.fits else "it does not fit"),
        )

    def __repr__(self) -> str:
        verdict = self.calibration.useful.verdict
        left_then = lower_text(self.remaining, 6) if self.remaining > 0 else f"{self.remaining:.6g}"
        return f"Price(adds={self.epsilon:.6g}, remaining={left_then}, fits={self.fits}, verdict={verdict!r})"


def as_it_is(given: Calibration | Price, *, delta: float, **others: float | Mechanism | None) -> Calibration:
    """Return a calibration, or that of a price, if nothing else was asked for beside it.

    Parameters
    ----------
    given : Calibration or Price
    delta : float
    **others : float, Mechanism or None
        What else was passed.

    Raises
    ------
    ParameterError
        If something else was asked for.
    """
    named = [name for name, value in others.items() if value is not None] + (["delta"] if delta else [])
    if named:
        raise ParameterError(
            "a calibration or a price is released as it is",
            found=f"{named[0]} beside it",
            remedy=f"Leave {named[0]} out, or pass the query itself.",
        )
    return given if isinstance(given, Calibration) else given.calibration


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _bounded(total: float) -> str:
    return f"epsilon {upper_text(total, 6)}" if math.isfinite(total) else "without bound"


# --------------------------------------------------------------------------------------------------
# What the next query costs in a session: at equal noise, and how little noise it needs at equal cost.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NextCost:
    """What one calibration costs as the next release.

    Parameters
    ----------
    cost : ReleaseCost
        With the noise that it has.
    scale : float or None
        The scale that adds its own epsilon to the total, and no more; None where that is not known.
    """

    cost: ReleaseCost
    scale: float | None

    @property
    def error(self) -> float | None:
        """The mean error at that scale."""
        calibration = self.cost.calibration
        if not self.scale:
            return self.scale
        return calibration.expected_error * self.scale / calibration.scale

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "mechanism": str(self.cost.calibration.mechanism),
            "adds": self.cost.epsilon if math.isfinite(self.cost.epsilon) else None,
            "fits": self.cost.fits,
            "scale_at_equal_cost": self.scale,
            "error_at_equal_cost": self.error,
            "refusal": None if self.cost.refusal is None else str(self.cost.refusal),
        }


@dataclass(frozen=True, kw_only=True)
class NextCosts:
    """What the calibrations of a plan cost as the next release of a session.

    Parameters
    ----------
    costs : tuple of NextCost
    budget : Budget
    """

    costs: tuple[NextCost, ...]
    budget: Budget

    @staticmethod
    def of(accountant: Accountant, budget: Budget, calibrations: Sequence[Calibration]) -> NextCosts:
        """Return the costs of calibrations after what an accountant counted."""
        costs = [cost_of(accountant, each, budget) for each in calibrations]
        return NextCosts(
            costs=tuple(NextCost(cost=cost, scale=_scale_at_equal_cost(accountant, cost)) for cost in costs),
            budget=budget,
        )

    @property
    def section(self) -> Section:
        """Return a table of them."""
        return Section(
            title="What it costs as the next release of the session",
            id="session",
            blocks=(
                Table(
                    caption=f"The budget is {budget_text(self.budget)}",
                    header=(
                        "mechanism",
                        "epsilon alone",
                        "adds with this noise",
                        "fits",
                        "scale",
                        "scale that adds epsilon alone",
                    ),
                    rows=[_row(each) for each in self.costs],
                    numbers=(1, 2, 4, 5),
                ),
                Paragraph(
                    "What the columns of earlier releases tell is paid for. So the next release adds less than its "
                    "epsilon alone, or needs less noise to add as much.",
                    soft=True,
                ),
            ),
        )

    def to_json(self) -> list[Json]:
        """Return them as plain values."""
        return [each.to_json() for each in self.costs]


def _row(found: NextCost) -> tuple[str, ...]:
    cost = found.cost
    adds = "cannot be counted" if cost.refusal else upper_text(cost.epsilon) if cost.after is not None else "no bound"
    return (
        str(cost.calibration.mechanism),
        upper_text(cost.calibration.guarantee.epsilon),
        adds,
        "yes" if cost.fits else "no",
        number_text(cost.calibration.scale),
        "not known" if found.scale is None else number_text(found.scale),
    )


def _scale_at_equal_cost(accountant: Accountant, cost: ReleaseCost) -> float | None:
    """Return the least scale that adds at most the epsilon of the release alone; None where noise is not scaled."""
    entry = Entry.of(cost.calibration)
    if entry.family == "column":
        return cost.calibration.scale
    limit = cost.before + entry.epsilon
    if not entry.scale and cost.after is not None and cost.after <= limit:
        return 0.0
    if entry.noise != "laplace" or cost.budget.delta or cost.after is None or cost.after > limit:
        return None
    factor = Fraction(scale_at_cost(accountant, entry, limit)) / Fraction(entry.scale)
    return cost.calibration.scale * float(factor)


def _require_mechanism(mechanism: object) -> None:
    """Refuse what is passed as a mechanism and is none.

    Raises
    ------
    ParameterError
    """
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(
            "mechanism must be a mechanism",
            found=type_text(mechanism),
            remedy="Pass for example mechanism=bp.ColumnMechanism(), or leave it out: the best is chosen then.",
        )
