"""Laws of columns, as values that stand for all that a query can tell apart, with their masses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from bnpriv.verify.forms import Form
from bnpriv.verify.values import HALF, INFINITE, ONE, ZERO, Law, decimal, number, refuse, require, summed

PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679")
MOST_SUMMED_STEPS = 1000
"""Grid steps of a column that is summed under a density."""

StandIns = list[tuple[Any, Decimal]]


def column_values(form: Form, name: str, law: Any) -> StandIns:
    """Return values that stand for all that a column holds under a law, with their masses."""
    if "left_out" in law:
        refuse(law["left_out"])
    if "mixture" in law:
        parts = law["mixture"]
        masses = finite({"values": range(len(parts)), "masses": [mass for mass, _ in parts]})
        found = [(value, mass * p) for k, p in masses.items() for value, mass in column_values(form, name, parts[k][1])]
    elif "uniform" in law:
        found = _of_even(form, name, law["uniform"])
    else:
        found = _of_normal(form, name, law["normal"]) if "normal" in law else list(finite(law).items())
    # what the query does not tell apart is one value
    gathered, stand = summed(), dict[Any, Any]()
    for value, mass in found:
        key = form.told_of(name, value)
        gathered[key] += mass
        stand.setdefault(key, value)
    return [(stand[key], mass) for key, mass in gathered.items() if mass]


def finite(law: Any) -> Law:
    """A law of finitely many values."""
    masses = list(map(number, law["masses"]))
    total = sum(masses)
    require(min(masses) >= 0 and abs(total - 1) < Decimal("1e-8"), "a law of a column")
    return {value: mass / total for value, mass in zip(law["values"], masses, strict=True) if mass}


def _of_normal(form: Form, name: str, parameters: Any) -> StandIns:
    """The cells of a column with a normal law; what lies outside the bounds counts as the bound."""
    column, (mean, deviation) = form.columns[name], map(number, parameters)
    require(deviation > 0 and mean.is_finite() and deviation.is_finite(), "a normal law")
    lower, upper, half = column["lower"], column["upper"], Fraction(column["type"] == "integer", 2)
    found: StandIns = []
    with localcontext(prec=110):
        for low, high in form.ranges(name, [*form.cuts[name], *_between_steps(form, name)]):
            middle, ends = (low if half else (Fraction(low) + Fraction(high)) / 2), (low - half, high + half)
            if not half and low < high:
                ends = _widened(low, high)
            left = -INFINITE if low == lower else (decimal(Fraction(ends[0])) - mean) / deviation
            right = INFINITE if high == upper else (decimal(Fraction(ends[1])) - mean) / deviation
            found.append((middle, normal(left, right)))
    return found


def _of_even(form: Form, name: str, ends: Any) -> StandIns:
    """The cells of numbers that lie evenly between two ends, or on whole numbers from one on."""
    column = form.columns[name]
    whole = column["type"] == "integer"
    first, last = ends if whole else map(float.fromhex, ends)
    require(column["lower"] <= first <= last <= column["upper"], "a bin of a column")
    found: StandIns = []
    for low, high in form.ranges(name, [*form.cuts[name], *_between_steps(form, name), first, last]):
        if whole:
            inside, width = max(0, min(high, last) - max(low, first) + 1), last - first + 1
        else:
            left, right = (low, high) if low == high else _widened(low, high)
            inside = max(Fraction(0), min(Fraction(right), Fraction(last)) - max(Fraction(left), Fraction(first)))
            width = Fraction(last) - Fraction(first)
        middle = low if whole else (Fraction(low) + Fraction(high)) / 2
        found.append((middle, decimal(Fraction(inside) / Fraction(width))))
    return found


def _widened(low: float, high: float) -> tuple[float, float]:
    """The ends of the open interval whose doubles go from one to the other."""
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _between_steps(form: Form, name: str) -> Sequence[float]:
    """Where the grid steps of a column that is summed meet."""
    column = form.columns[name]
    if name not in form.summed:
        return []
    require(column["steps"] <= MOST_SUMMED_STEPS, f"a sum of a density on more than {MOST_SUMMED_STEPS:,} grid steps")
    lower, half = column["lower"], Fraction(column["type"] == "integer", 2)
    grid = (Fraction(column["upper"]) - Fraction(lower)) / column["steps"]
    return [float(lower + (k + Fraction(1, 2) + half) * grid) for k in range(column["steps"])]


def normal(low: Decimal, high: Decimal) -> Decimal:
    """Return P(low < Z < high) for a standard normal Z."""
    if high - low < Decimal("1e-32"):  # the density of the middle is right to twice as many digits
        return (high - low) * (-(((low + high) / 2) ** 2) / 2).exp() / (2 * PI).sqrt()
    if low < 0 < high:
        return ONE - tail(-low) - tail(high)
    return tail(low) - tail(high) if low >= 0 else tail(-high) - tail(-low)


def tail(z: Decimal) -> Decimal:
    """Return P(Z > z) for a standard normal Z and z >= 0: a series of positive terms, or a continued fraction."""
    if z.is_infinite():
        return ZERO
    density = (-z * z / 2).exp() / (2 * PI).sqrt()
    if z > 6:
        under = z
        for k in range(1000, 0, -1):
            under = z + k / under
        return density / under
    term = total = z
    for k in range(3, 1000, 2):
        term *= z * z / k
        total += term
    return HALF - density * total
