"""A budget drawn to scale: what each release added, and what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from bnpriv.accounting.ledger_values import Budget
from bnpriv.render import svg
from bnpriv.render.bars import LENGTH, THICK
from bnpriv.render.html import Html, element, join, legend
from bnpriv.render.text import lower_text, upper_text

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
    parts = [svg.rect((0, 5), (LENGTH, THICK - 10), "span")]
    if spent:
        parts.append(svg.rect((0, 5), (end, THICK - 10), "reach"))
    if next_total is not None:
        until = LENGTH * _share(next_total, budget)
        parts.append(svg.rect((end, 14), (max(2.0, until - end), THICK - 28), "reach"))
    if len(totals) <= MOST_MARKS:
        marks = [LENGTH * _share(total, budget) for total in totals]
        parts += [svg.line((x, 0), (x, THICK), "middle") for x in marks]
    desc = f"Spent: epsilon {upper_text(float(spent))} of {float(budget.epsilon):g}"
    desc += "." if next_total is None else f"; with the next release {upper_text(float(next_total))}."
    bar = svg.drawing((LENGTH, THICK), *parts, title="The budget", desc=desc, class_="bar", stretch=True)
    spent_text = f"spent: epsilon {upper_text(float(spent))}"
    left_over = f"left: {left_text(budget, spent)} of {float(budget.epsilon):g}"
    return join(bar, legend([("reach", element("span", spent_text)), ("span", element("span", left_over))]))


def _share(total: Fraction, budget: Budget) -> float:
    return float(min(Fraction(1), max(Fraction(0), total / budget.epsilon)))
