"""What a question would cost in a session, at which epsilon, by which mechanism; nothing is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast, final

from bnpriv.checks import LARGEST_EPSILON, LEAST_EPSILON, type_text
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.entries import Entry, rounded_up
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration, Mechanism
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal, RefusedError, SizeError
from bnpriv.ledger.counted import budget_text
from bnpriv.ledger.history import ReleaseCost, budget_bar, cost_of, left, scale_at_cost
from bnpriv.ledger.values import Budget
from bnpriv.mechanisms.plan import STANDARD, plan
from bnpriv.mechanisms.usefulness import LEVEL
from bnpriv.render.document import Block, Code, Document, Fact, Figure, Paragraph, Section, Table, fact
from bnpriv.shown import Shown
from bnpriv.text import Json, lower_text, number_text, percent_text, upper_text
from bnpriv.views.calibration import verdict_badge

# --------------------------------------------------------------------------------------------------
# The least epsilon at which an answer is as accurate as it is asked to be.
# --------------------------------------------------------------------------------------------------

CLOSE = 1e-6
"""Relative distance from the least epsilon at which the search ends."""

MOST_CALIBRATED = 60
"""Calibrations of one mechanism for one question."""


@final
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


@final
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

        The best is the least error among those that add at most epsilon, or a tenth more, also once other releases
        follow. Where there is none, it is the least error among those that can be counted.

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
        costs = self._costs(made.calibrations)
        counted = next((cost for cost in costs if cost.after is not None), costs[0])
        return next((cost for cost in costs if cost.keeps_epsilon), counted)

    def at_error(self, query: Query, accuracy: AskedAccuracy, delta: float, mechanism: Mechanism | None) -> ReleaseCost:
        """Return what an answer of an accuracy would cost: the mechanism and epsilon after which the total is least.

        Raises
        ------
        RefusedError
            If no mechanism is accurate enough.
        """
        framework = self.accountant.framework
        if mechanism is not None:
            _require_mechanism(mechanism)
            found = least_calibration(mechanism, framework, query, accuracy, delta)
            if isinstance(found, Refusal):
                raise found.error()
            return self.cost(found)
        composing = [each for each in STANDARD if isinstance(each, (MarkovQuiltMechanism, ColumnMechanism))]
        others = [each for each in STANDARD if each not in composing and each.concerns(framework)]
        refusals: list[Refusal] = []
        for group in (composing, others):
            costs: list[ReleaseCost] = []
            for each in group:
                found = least_calibration(each, framework, query, accuracy, delta)
                if isinstance(found, Refusal):
                    refusals.append(found)
                else:
                    costs.append(self.cost(found))
            if costs:
                counted = [cost for cost in costs if cost.after is not None]
                return min(counted, key=_after_all, default=costs[0])
        raise refusals[0].error()

    def cost(self, calibration: Calibration) -> ReleaseCost:
        """Return what a release would cost."""
        return cost_of(self.accountant, calibration, self.budget)

    def _costs(self, calibrations: Sequence[Calibration]) -> list[ReleaseCost]:
        """Return the costs up to the first that keeps epsilon; of equal errors, releases that share quilts first.

        A release of `ColumnMechanism` always adds all of its epsilon.
        """
        costs: list[ReleaseCost] = []
        for calibration in sorted(calibrations, key=_rank):
            costs.append(self.cost(calibration))
            if costs[-1].keeps_epsilon:
                break
        return costs


def _rank(calibration: Calibration) -> tuple[bool, float, bool]:
    last, error = calibration.rank
    return last, float(f"{error:.6g}"), isinstance(calibration.mechanism, ColumnMechanism)


def _after_all(cost: ReleaseCost) -> float:
    return float("inf") if cost.lasting is None else float(cost.lasting)


# --------------------------------------------------------------------------------------------------
# What a question would cost, before anything is spent.
# --------------------------------------------------------------------------------------------------


@final
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
        return f"would add epsilon {upper_text(self.epsilon)}"

    def _lead(self) -> str:
        if self.cost.refusal is not None:
            return str(self.cost.refusal)
        alone = upper_text(self.alone)
        if upper_text(self.epsilon) == alone or self.cost.after is None:
            return ""
        if self.epsilon > self.alone:
            return f"Alone it would cost epsilon {alone}. Columns may tell more together than apart."
        if not self.cost.before:
            return f"Its guarantee is epsilon {alone}; what it tells is less."
        once = "What columns tell is paid once, and each protected attribute is counted for itself."
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
            fact("Noise", f"scale {number_text(self.calibration.scale)}, {self.calibration.mechanism}"),
            fact("Epsilon alone", upper_text(self.alone, 6)),
            fact("All releases together then", _bounded(self.total)),
            fact("Left of the budget then", lower_text(self.remaining, 6) if self.fits else "it does not fit"),
        )

    def __repr__(self) -> str:
        left_then = lower_text(self.remaining, 6) if self.remaining > 0 else f"{self.remaining:.6g}"
        return f"Price(adds={self.epsilon:.6g}, remaining={left_then}, fits={self.fits})"


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


@final
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


@final
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
