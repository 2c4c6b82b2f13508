"""The releases of an account, in order, with what each of them added, and a budget drawn to scale."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.errors import Refusal
from bnpriv.ledger.counted import beside_table, budget_text, spent_of, total_of
from bnpriv.ledger.values import Budget, Charge
from bnpriv.render import html
from bnpriv.render.document import Code, Document, Figure, Inline, Table, Text
from bnpriv.render.figures import LENGTH, THICK, bar_ends
from bnpriv.render.html import Html, element, join, legend
from bnpriv.shown import Shown
from bnpriv.text import Json, lower_text, name_text, shorten, upper_text
from bnpriv.views.accountant import alone_text, below_text, scale_text

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# What one more release would cost, in exact numbers; nothing is spent here.
# --------------------------------------------------------------------------------------------------

TOLERATED = Fraction(11, 10)
"""What a mechanism that is chosen for a user may add, as a multiple of its own epsilon."""

HALVINGS_OF_SCALE = 40
"""Steps of a search for the least noise at a given cost."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseCost:
    """What a release adds to what was released before.

    Parameters
    ----------
    calibration : Calibration
        The release.
    budget : Budget
    before : Fraction
        What all earlier releases tell together.
    after : Fraction or None
        The same with this one; None where it cannot be counted beside them, or nothing bounds it.
    lasting : Fraction or None
        The same once another release follows: a single release may count by its own theorem, two may not.
    lasting_before : Fraction
        The same of all earlier releases.
    refusal : Refusal or None
        Why it cannot be counted.
    """

    calibration: Calibration
    budget: Budget
    before: Fraction
    after: Fraction | None
    lasting: Fraction | None
    lasting_before: Fraction = Fraction(0)
    refusal: Refusal | None = None

    @property
    def epsilon(self) -> float:
        """What is added, rounded up; infinite where nothing bounds it."""
        return float("inf") if self.after is None else rounded_up(self.after - self.before)

    @property
    def fits(self) -> bool:
        """Whether the budget allows it."""
        return self.after is not None and self.after <= self.budget.epsilon

    @property
    def keeps_epsilon(self) -> bool:
        """Whether it adds its own epsilon at most, or a tenth more, also once other releases follow.

        Columns may tell a little more together than apart.
        """
        entry = Entry.of(self.calibration)
        if entry.family == "column":
            return self.refusal is None
        return self.lasting is not None and self.lasting <= self.lasting_before + TOLERATED * entry.epsilon


def cost_of(accountant: Accountant, calibration: Calibration, budget: Budget) -> ReleaseCost:
    """Return what a release adds to those that were counted.

    Parameters
    ----------
    accountant : Accountant
        Of all earlier releases.
    calibration : Calibration
    budget : Budget
    """
    before = spent_of(accountant, budget)
    refusal = accountant.refusal(calibration)
    if refusal is not None:
        why = beside_table(refusal, accountant.entries)
        return ReleaseCost(calibration=calibration, budget=budget, before=before, after=None, lasting=None, refusal=why)
    counted = accountant.record(calibration)
    return ReleaseCost(
        calibration=calibration,
        budget=budget,
        before=before,
        after=total_of(counted, budget),
        lasting=lasting(counted, budget),
        lasting_before=lasting(accountant, budget) or before,
    )


def lasting(accountant: Accountant, budget: Budget) -> Fraction | None:
    """Return what releases tell together once another one follows; None where nothing bounds it."""
    total = total_of(accountant, budget)
    if total is None or budget.delta or len(accountant.modelled) != 1:
        return total
    if accountant.composed is None:
        return None  # its own theorem does not count it beside others
    return accountant.composed + sum(entry.epsilon for entry in accountant.entries if entry.family == "column")


def with_scale(entry: Entry, scale: float) -> Entry:
    """Return a release with the same Laplace noise, scaled."""
    return replace(entry, scale=scale)


def total_with(accountant: Accountant, entries: Iterable[Entry]) -> Fraction | None:
    """Return what releases tell together with some more; None where nothing bounds it, or they cannot be counted."""
    for entry in entries:
        counted = accountant.with_entry(entry)
        if isinstance(counted, Refusal):
            return None
        accountant = counted
    return accountant.total


def scale_at_cost(accountant: Accountant, entry: Entry, limit: Fraction) -> float:
    """Return the least scale at which one more release keeps the total within a limit, rounded up.

    Parameters
    ----------
    accountant : Accountant
    entry : Entry
        Counts by its Laplace noise; its own scale keeps the limit.
    limit : Fraction
    """
    low, high = 0.0, entry.scale
    for _ in range(HALVINGS_OF_SCALE):
        middle = (low + high) / 2
        total = total_with(accountant, [with_scale(entry, middle)]) if middle > 0 else None
        low, high = (low, middle) if total is not None and total <= limit else (middle, high)
        if high - low <= 1e-6 * high:
            break
    return high


# --------------------------------------------------------------------------------------------------
# A budget drawn to scale: what each release added, and what is left.
# --------------------------------------------------------------------------------------------------

MOST_MARKS = 200
"""Releases whose ends are marked; beyond that only the last total is drawn."""

SHOWN_SHARE = 1e-6
"""Share of a budget below which what is left is said to be nothing."""


def left(budget: Budget, total: Fraction) -> float:
    """Return what is left of a budget, rounded down; negative where the total passes it.

    Examples
    --------
    >>> left(Budget(0.3), Fraction(1, 10))
    0.2
    """
    exact = budget.epsilon - total
    near = float(exact)
    if Fraction(repr(near)) == exact:
        return near
    return near if Fraction(near) <= exact else math.nextafter(near, -math.inf)


def left_text(budget: Budget, total: Fraction, digits: int = 4) -> str:
    """Return what is left of a budget as text, rounded down; what rounding leaves of it is nothing.

    Examples
    --------
    >>> left_text(Budget(2.0), Fraction(2) - Fraction(1, 10**9)), left_text(Budget(2.0), Fraction(1, 3))
    ('0', '1.666')
    """
    exact = left(budget, total)
    return lower_text(exact if exact > SHOWN_SHARE * float(budget.epsilon) else 0.0, digits)


def budget_bar(totals: Sequence[Fraction], budget: Budget, *, next_total: Fraction | None = None) -> Html:
    """Return a bar of the budget with the totals after each release, and what the next one would add.

    Parameters
    ----------
    totals : sequence of Fraction
        After each release, in order.
    budget : Budget
    next_total : Fraction, optional
        The total with one more release.
    """
    spent = totals[-1] if totals else Fraction(0)
    end = LENGTH * _share(spent, budget)
    parts = [html.rect((0, 5), (LENGTH, THICK - 10), "span")]
    if spent:
        parts.append(html.rect((0, 5), (end, THICK - 10), "reach"))
    if next_total is not None:
        until = LENGTH * _share(next_total, budget)
        parts.append(html.rect((end, 14), (max(2.0, until - end), THICK - 28), "reach"))
    if len(totals) <= MOST_MARKS:
        marks = [LENGTH * _share(total, budget) for total in totals]
        parts += [html.line((x, 0), (x, THICK), "middle") for x in marks]
    desc = f"Spent: epsilon {upper_text(float(spent))} of {float(budget.epsilon):g}"
    desc += "." if next_total is None else f"; with the next release {upper_text(float(next_total))}."
    bar = html.drawing((LENGTH, THICK), *parts, title="The budget", desc=desc, class_="bar", stretch=True)
    spent_text = f"spent: epsilon {upper_text(float(spent))}"
    if next_total is not None:
        spent_text += "; narrow: the next release"
    elif 1 < len(totals) <= MOST_MARKS:
        spent_text += "; a dashed line after each release"
    left_over = f"left: {left_text(budget, spent)} of {float(budget.epsilon):g}"
    ends = bar_ends("0", "budget, epsilon", f"{float(budget.epsilon):g}")
    return join(bar, ends, legend([("reach", element("span", spent_text)), ("span", element("span", left_over))]))


def _share(total: Fraction, budget: Budget) -> float:
    return float(min(Fraction(1), max(Fraction(0), total / budget.epsilon)))


# --------------------------------------------------------------------------------------------------
# The releases of an account, in order, with what each of them added.
# --------------------------------------------------------------------------------------------------

MOST_ROWS_OF_HISTORY = 50
"""Releases that are listed, the last ones."""

RELEASES_PRINTED = 6
"""Of them that are printed."""

MOST_KEY_LETTERS = 20
"""Of a key that is listed."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """A release that was charged.

    Parameters
    ----------
    number : int
        From 1.
    entry : Entry
        What was asked, with which noise.
    total : Fraction
        What all releases up to this one tell together.
    before : Fraction
        The same without this one.
    time : str
        When, in UTC.
    key : str or None
        The caller's name for it.
    """

    number: int
    entry: Entry
    total: Fraction
    before: Fraction
    time: str
    key: str | None

    @property
    def added(self) -> float:
        """What it added to the total, rounded up."""
        return rounded_up(self.total - self.before)

    @property
    def called(self) -> str:
        """On which day it was charged, and its key."""
        when = self.time[: len("2026-01-01")]
        return when if self.key is None else f"{when}, key {name_text(self.key, MOST_KEY_LETTERS)}"

    def to_json(self) -> Json:
        """Return it as plain values."""
        return {
            "number": self.number,
            "query": self.entry.text,
            "mechanism": self.entry.mechanism,
            "scale": self.entry.scale,
            "epsilon_alone": float(self.entry.epsilon),
            "delta_alone": float(self.entry.delta),
            "added": self.added,
            "total": rounded_up(self.total),
            "time": self.time,
            "key": self.key,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class History(Shown):
    """What was released, in order, and what it cost; a charge counts whether or not its answer was shown.

    Parameters
    ----------
    releases : tuple of Made
    budget : Budget
    """

    releases: tuple[Made, ...]
    budget: Budget

    @staticmethod
    def of(charges: Sequence[Charge], budget: Budget) -> History:
        """Return the history of charges.

        Parameters
        ----------
        charges : sequence of Charge
        budget : Budget
        """
        made: list[Made] = []
        before = Fraction(0)
        for number, charge in enumerate(charges, start=1):
            made.append(
                Made(
                    number=number,
                    entry=Entry.from_json(charge.entry),
                    total=charge.total,
                    before=before,
                    time=charge.time,
                    key=charge.key,
                )
            )
            before = charge.total
        return History(releases=tuple(made), budget=budget)

    def __len__(self) -> int:
        return len(self.releases)

    @property
    def spent(self) -> Fraction:
        """What all of them tell together."""
        return self.releases[-1].total if self.releases else Fraction(0)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each release."""
        import pandas as pd

        names = list(Made.to_json(self.releases[0])) if self.releases else ["number", "query", "added", "total"]
        return pd.DataFrame([made.to_json() for made in self.releases], columns=names)

    @property
    def several(self) -> str:
        """How many there are, in words."""
        return "1 release" if len(self) == 1 else f"{len(self):,} releases"

    @property
    def headline(self) -> str:
        """What is spent, in a sentence."""
        if not self.releases:
            return f"Nothing was released; the budget is {budget_text(self.budget)}"
        spent = f"{upper_text(rounded_up(self.spent), 6)} of {budget_text(self.budget)} is spent"
        return f"{self.several}: {spent}, {self.remaining} is left"

    @property
    def remaining(self) -> str:
        """What is left, as text, rounded down."""
        return left_text(self.budget, self.spent, 6)

    @property
    def bar(self) -> Figure:
        """The budget, drawn."""
        totals = [made.total for made in self.releases]
        return Figure(budget_bar(totals, self.budget))

    @property
    def table(self) -> Table:
        """The releases, with what each of them added."""
        shown = self.releases[-MOST_ROWS_OF_HISTORY:]
        return Table(
            caption="What each release added to the total",
            header=("release, day", "query", "mechanism", "scale", "epsilon alone", "added", "total"),
            rows=[
                (
                    f"{made.number}, {made.called}",
                    (Code(made.entry.text),),
                    made.entry.mechanism,
                    scale_text(made.entry),
                    alone_text(made.entry),
                    upper_text(made.added),
                    upper_text(rounded_up(made.total)),
                )
                for made in shown
            ],
            numbers=(3, 4, 5, 6),
            more=below_text([made.entry for made in shown], len(self) - len(shown)),
        )

    @property
    def listed(self) -> tuple[Text, ...]:
        """The last releases, in a line of what is printed each."""
        return tuple(map(_listed, self.releases[-RELEASES_PRINTED:]))

    @property
    def document(self) -> Document:
        """Return the releases with a bar of the budget."""
        return Document(
            kind="history",
            kicker="bnpriv history",
            headline=self.headline,
            short=(*self.listed, "Next: .explain() lists them, .to_pandas() all."),
            number=self.remaining,
            answer=(self.bar, *((self.table,) if self.releases else ())),
            data={
                "budget": {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)},
                "spent": rounded_up(self.spent),
                "releases": [made.to_json() for made in self.releases],
            },
        )

    def __repr__(self) -> str:
        return f"History(releases={len(self)}, spent={rounded_up(self.spent):.6g})"


def _listed(made: Made) -> tuple[Inline, ...]:
    """A release in a line of what is printed."""
    return f"{made.number:,}, {made.called}: ", Code(shorten(made.entry.text, 50)), f" added {upper_text(made.added)}"
