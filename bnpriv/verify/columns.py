"""Columns and their laws as a framework file declares them, in the form that a calibration stores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

from bnpriv.verify import forms
from bnpriv.verify.forms import middle
from bnpriv.verify.normal import TOTAL_DIGITS, between

# --------------------------------------------------------------------------------------------------
# Laws of columns, as values that stand for all that a query can tell apart, with their masses.
# --------------------------------------------------------------------------------------------------

MOST_SUMMED_STEPS = 1000
"""Grid steps of a column that is summed under a density."""

StandIns = list[tuple[Any, Decimal]]


def column_values(form: forms.Form, name: str, law: Any) -> StandIns:
    """Return values that stand for all that a column holds under a law, with their masses."""
    if "left_out" in law:
        forms.refuse(law["left_out"])
    if "mixture" in law:
        parts = law["mixture"]
        masses = finite({"values": range(len(parts)), "masses": [mass for mass, _ in parts]})
        found = [(value, mass * p) for k, p in masses.items() for value, mass in column_values(form, name, parts[k][1])]
    elif "uniform" in law:
        found = _of_even(form, name, law["uniform"])
    else:
        found = _of_normal(form, name, law["normal"]) if "normal" in law else list(finite(law).items())
    # what the query does not tell apart is one value
    gathered, stand = forms.summed(), dict[Any, Any]()
    for value, mass in found:
        key = form.told_of(name, value)
        gathered[key] += mass
        stand.setdefault(key, value)
    return [(stand[key], mass) for key, mass in gathered.items() if mass]


def finite(law: Any) -> forms.Law:
    """A law of finitely many values."""
    masses = list(map(forms.number, law["masses"]))
    total = sum(masses)
    forms.require(min(masses) >= 0 and abs(total - 1) < Decimal("1e-8"), "a distribution of a column")
    return {value: mass / total for value, mass in zip(law["values"], masses, strict=True) if mass}


def _of_normal(form: forms.Form, name: str, parameters: Any) -> StandIns:
    """The cells of a column with a normal law; what lies outside the bounds counts as the bound."""
    column, (mean, deviation) = form.columns[name], map(forms.number, parameters)
    forms.require(deviation > 0 and mean.is_finite() and deviation.is_finite(), "a normal distribution")
    lower, upper, half = column["lower"], column["upper"], Fraction(column["type"] == "integer", 2)
    found: StandIns = []
    with localcontext(prec=TOTAL_DIGITS):
        for low, high in form.ranges(name, [*form.cuts[name], *_between_steps(form, name)]):
            middle, ends = (low if half else (Fraction(low) + Fraction(high)) / 2), (low - half, high + half)
            if not half and low < high:
                ends = _widened(low, high)
            left = -forms.INFINITE if low == lower else (forms.decimal(Fraction(ends[0])) - mean) / deviation
            right = forms.INFINITE if high == upper else (forms.decimal(Fraction(ends[1])) - mean) / deviation
            found.append((middle, between(left, right)))
    return found


def _of_even(form: forms.Form, name: str, ends: Any) -> StandIns:
    """The cells of numbers that lie evenly between two ends, or on whole numbers from one on."""
    column = form.columns[name]
    whole = column["type"] == "integer"
    first, last = ends if whole else map(float.fromhex, ends)
    forms.require(column["lower"] <= first <= last <= column["upper"], "a bin of a column")
    found: StandIns = []
    for low, high in form.ranges(name, [*form.cuts[name], *_between_steps(form, name), first, last]):
        if whole:
            inside, width = max(0, min(high, last) - max(low, first) + 1), last - first + 1
        else:
            left, right = (low, high) if low == high else _widened(low, high)
            inside = max(Fraction(0), min(Fraction(right), Fraction(last)) - max(Fraction(left), Fraction(first)))
            width = Fraction(last) - Fraction(first)
        middle = low if whole else (Fraction(low) + Fraction(high)) / 2
        found.append((middle, forms.decimal(Fraction(inside) / Fraction(width))))
    return found


def _widened(low: float, high: float) -> tuple[float, float]:
    """The ends of the open interval whose doubles go from one to the other."""
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _between_steps(form: forms.Form, name: str) -> Sequence[float]:
    """Where the grid steps of a column that is summed meet."""
    column = form.columns[name]
    if name not in form.summed:
        return []
    forms.require(
        column["steps"] <= MOST_SUMMED_STEPS, f"a sum of a density on more than {MOST_SUMMED_STEPS:,} grid steps"
    )
    lower, half = column["lower"], Fraction(column["type"] == "integer", 2)
    grid = (Fraction(column["upper"]) - Fraction(lower)) / column["steps"]
    return [float(lower + (k + Fraction(1, 2) + half) * grid) for k in range(column["steps"])]


# --------------------------------------------------------------------------------------------------
# Columns and their laws as a framework file declares them, in the form of the facts that a calibration stores.
# --------------------------------------------------------------------------------------------------

MOST_WRITTEN_OUT = 4096
"""Whole numbers of a bin that are listed one by one."""

REAL_STEPS = 2**20


def column_facts(given: Any) -> Any:
    """What a section [columns.NAME] says: what may stand in the column, and how a raw value is read."""
    if given["type"] == "categorical":
        found = {"type": "categorical", "categories": given["categories"]}
        coarsen = [[c, labels] for c in given["categories"] if (labels := _labels(given.get("coarsen", {}), c))]
        usual = given["categories"][0]
        found |= {"coarsen": coarsen} if coarsen else {}
    elif given["type"] == "binned":
        found = _bins(given)
        usual = middle(found)
    else:
        lower, upper = given["lower"], given["upper"]
        steps = given.get("steps", REAL_STEPS) if given["type"] == "real" else upper - lower
        found = {"type": given["type"], "lower": lower, "upper": upper, "steps": steps}
        usual = middle(found)
    missing = given.get("missing", usual)
    return found if missing == usual else {**found, "missing": missing}


def _labels(coarsen: Mapping[str, Any], category: Any) -> list[Any]:
    """The raw labels of a category besides its own name: a list, or one text with bars between them."""
    given = coarsen.get(str(category), [])
    listed = [each.strip() for each in given.split("|")] if isinstance(given, str) else given
    texts = [str(each) if isinstance(category, str) else each for each in listed]
    return [each for each in dict.fromkeys(texts) if each != category]


def _bins(given: Any) -> Any:
    """Return bins as a column of numbers: whole ones where the file says so of every bin, and names no grid."""
    edges = [float(edge) + 0.0 for edge in given["edges"]]
    within: Any = given.get("within", "uniform")
    inside: list[Any] = [within] if isinstance(within, str) else [*within.values()]
    whole = "steps" not in given and all(edge.is_integer() for edge in edges) and all(map(_is_whole, inside))
    numbers: list[Any] = list(map(int, edges)) if whole else edges
    steps = numbers[-1] - numbers[0] if whole else given.get("steps", REAL_STEPS)
    kind = {"type": "integer" if whole else "real", "lower": numbers[0], "upper": numbers[-1], "steps": steps}
    return {**kind, "edges": numbers, "labels": given.get("labels", _usual_labels(edges))}


def _is_whole(inside: Any) -> bool:
    keys = [inside] if isinstance(inside, str) else inside
    return all(key == "whole numbers" or (key != "uniform" and float(key).is_integer()) for key in keys)


def _usual_labels(edges: list[float]) -> list[str]:
    texts = [str(int(edge)) if edge.is_integer() and abs(edge) < 1e15 else repr(edge) for edge in edges]
    found = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return [*found[:-1], found[-1][:-1] + "]"]


def laws_of_bins(given: Any, column: Any) -> dict[str, Any]:
    """For every label of a column of bins how numbers lie inside it."""
    within, edges = given.get("within", "uniform"), column["edges"]
    found, last = dict[str, Any](), len(edges) - 2
    for k, label in enumerate(column["labels"]):
        inside: Any = within if isinstance(within, str) else within[label]
        found[label] = _inside(inside, edges[k], edges[k + 1], closed=k == last)
    if forms.gaps(column):
        found[forms.UNCOUNTED] = {"values": forms.gaps(column), "masses": [(1.0).hex()]}
    return found


def _inside(given: Any, lower: Any, upper: Any, *, closed: bool) -> Any:
    """How numbers lie in a bin: one by one, evenly, or some one by one and all others evenly."""
    if not isinstance(given, str):
        spreads = [key for key in given if key in ("uniform", "whole numbers")]
        if not spreads:
            return _listed(given)
        one_by_one = _listed({key: mass for key, mass in given.items() if key not in spreads})
        parts = [[m, {"values": [x], "masses": [(1.0).hex()]}] for x, m in zip(*one_by_one.values(), strict=True)]
        return {"mixture": parts + [[float(given[s]).hex(), _inside(s, lower, upper, closed=closed)] for s in spreads]}
    if given == "whole numbers":
        return _whole_numbers(lower, upper - (not closed))
    forms.require(given == "uniform", f"numbers that lie in a bin as {given!r:.40}")
    return {"uniform": [float(end).hex() for end in (lower, upper)]}


def _whole_numbers(first: int, last: int) -> Any:
    count = last - first + 1
    if count > MOST_WRITTEN_OUT:
        return {"uniform": [first, last]}
    return {"values": list(range(first, last + 1)), "masses": [(1 / count).hex()] * count}


def _listed(given: Mapping[str, float]) -> Any:
    numbers = sorted(
        (forms.UNDER_ALL if value == forms.UNCOUNTED else float(value), mass) for value, mass in given.items()
    )
    return {"values": [value for value, _ in numbers], "masses": [float(mass).hex() for _, mass in numbers]}


def law_facts(given: Any, column: Any, section: Any) -> Any:
    """A law of a column as a file declares it, in the form of a calibration's."""
    if "normal" in given:
        return {"normal": [float(each).hex() for each in given["normal"]]}
    if "values" in given:
        named = set(given["values"]) & set(column.get("labels", ()))
        if not named:
            return _listed(given["values"])
        inside, masses = laws_of_bins(section, column), given["values"]
        return {"mixture": [[float(masses.get(label, 0)).hex(), law] for label, law in inside.items()]}
    values = [*column["categories"], *forms.gaps(column)] if "categories" in column else [0, 1]
    if "bernoulli" in given:
        masses = [1 - given["bernoulli"], given["bernoulli"]]
    else:
        masses = [given["categorical"].get(str(v).lower() if isinstance(v, bool) else str(v), 0) for v in values]
    return {"values": values, "masses": [float(mass).hex() for mass in masses]}


def same_law(stored: Any, declared: Any) -> bool:
    """Whether a law is the declared one, but for rounding of its masses."""
    if "masses" in stored and "masses" in declared:
        return forms.alike(finite(stored), finite(declared))
    if "mixture" not in stored or "mixture" not in declared:
        return stored == declared
    pairs = list(zip(stored["mixture"], declared["mixture"], strict=True))
    close = all(math.isclose(float.fromhex(p), float.fromhex(q), rel_tol=1e-9) for (p, _), (q, _) in pairs)
    return close and all(same_law(a, b) for (_, a), (_, b) in pairs)
