"""Columns and their laws as a framework file declares them, in the form of the facts that a calibration stores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from bnpriv.verify.column_laws import finite
from bnpriv.verify.values import alike, require

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
        usual = _middle(found)
    else:
        lower, upper = given["lower"], given["upper"]
        steps = given.get("steps", REAL_STEPS) if given["type"] == "real" else upper - lower
        found = {"type": given["type"], "lower": lower, "upper": upper, "steps": steps}
        usual = _middle(found)
    missing = given.get("missing", usual)
    return found if missing == usual else {**found, "missing": missing}


def _middle(column: Any) -> Any:
    total = column["lower"] + column["upper"]
    return total // 2 if column["type"] == "integer" else total / 2


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
    if isinstance(inside, str):
        return inside == "whole numbers"
    return all(float(number).is_integer() for number in inside)


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
        if not isinstance(inside, str):
            found[label] = _listed(inside)
        elif inside == "whole numbers":
            found[label] = _whole_numbers(edges[k], edges[k + 1] - (k < last))
        else:
            require(inside == "uniform", f"numbers that lie in a bin as {inside!r:.40}")
            found[label] = {"uniform": [float(end).hex() for end in edges[k : k + 2]]}
    return found


def _whole_numbers(first: int, last: int) -> Any:
    count = last - first + 1
    if count > MOST_WRITTEN_OUT:
        return {"uniform": [first, last]}
    return {"values": list(range(first, last + 1)), "masses": [(1 / count).hex()] * count}


def _listed(given: Mapping[str, float]) -> Any:
    numbers = sorted((float(value), mass) for value, mass in given.items())
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
        return {"mixture": [[float(masses.get(label, 0)).hex(), inside[label]] for label in column["labels"]]}
    values = column.get("categories", [0, 1])
    if "bernoulli" in given:
        masses = [1 - given["bernoulli"], given["bernoulli"]]
    else:
        masses = [given["categorical"].get(str(v).lower() if isinstance(v, bool) else str(v), 0) for v in values]
    return {"values": values, "masses": [float(mass).hex() for mass in masses]}


def same_law(stored: Any, declared: Any) -> bool:
    """Whether a law is the declared one, but for rounding of its masses."""
    if "masses" in stored and "masses" in declared:
        return alike(finite(stored), finite(declared))
    if "mixture" not in stored or "mixture" not in declared:
        return stored == declared
    pairs = list(zip(stored["mixture"], declared["mixture"], strict=True))
    close = all(math.isclose(float.fromhex(p), float.fromhex(q), rel_tol=1e-9) for (p, _), (q, _) in pairs)
    return close and all(same_law(a, b) for (_, a), (_, b) in pairs)
