"""What one more release would cost, in exact numbers; nothing is spent here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from bnpriv.accounting.accountant import Accountant
from bnpriv.accounting.counted import spent_of, total_of
from bnpriv.accounting.entries import Entry
from bnpriv.accounting.exact import rounded_up
from bnpriv.accounting.ledger_values import Budget
from bnpriv.errors import Refusal
from bnpriv.mechanisms.base import Calibration

TOLERATED = Fraction(11, 10)
"""What a mechanism that is chosen for a user may add, as a multiple of its own epsilon."""

HALVINGS_OF_SCALE = 40
"""Steps of a search for the least noise at a given cost."""


@final
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
        return ReleaseCost(
            calibration=calibration, budget=budget, before=before, after=None, lasting=None, refusal=refusal
        )
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
    alone, worst = accountant.modelled[0], accountant.shares[0].total if accountant.shares else None
    if alone.family == "own law" or worst is None:
        return None
    return total - min(alone.epsilon, worst) + worst  # its own theorem does not count it beside others


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
        if total is not None and total <= limit:
            high = middle
        else:
            low = middle
        if high - low <= 1e-6 * high:
            break
    return high
