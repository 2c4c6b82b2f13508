"""What the next query costs in a session: at equal noise, and how little noise it needs at equal cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from bnpriv.accounting.accountant import Accountant
from bnpriv.accounting.counted import budget_text
from bnpriv.accounting.entries import Entry
from bnpriv.accounting.ledger_values import Budget
from bnpriv.mechanisms.base import Calibration
from bnpriv.render.document import Paragraph, Section, Table
from bnpriv.render.text import Json, number_text, upper_text
from bnpriv.session.cost import ReleaseCost, cost_of, scale_at_cost


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
