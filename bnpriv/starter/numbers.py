"""Public numbers as states of a network: whole numbers one by one, or bins with the law of the numbers inside each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from bnpriv.queries.bins import MOST_NUMBERS_APART
from bnpriv.starter.public import edges, enough_records, power_of_ten
from bnpriv.tables.bins import Binned, Inside
from bnpriv.tables.columns import Integer

MOST_WHOLE_STATES = MOST_NUMBERS_APART
"""Whole numbers between two bounds that can be states one by one, and that crosstabs count one by one."""

MOST_NUMBERS_LISTED = 64
"""Whole numbers of a bin whose frequencies are written one by one."""

FREQUENCY_UNITS = 10**6
"""Frequencies are rounded to one part in so many, for a file that people read; none to nothing."""

MOST_SUM_STEPS = 1000
"""Steps of the grid to which sums round fractions: mechanisms work out laws of sums over at most so many."""

USUAL_SUM_STEPS = 500
"""Steps where bounds are no few multiples of a power of ten."""

RECORDS_ADDED = 0.5
"""What every number of a bin counts beside its public records: without it one that none has would be impossible."""


def numbers_as_states(known: Sequence[float], lower: float, upper: float, *, whole: bool) -> Integer | Binned:
    """Return the column that has public numbers as states: one by one where each has enough records, else in bins.

    Parameters
    ----------
    known : sequence of float
        The public numbers, at least one; those outside the bounds count as the bounds.
    lower, upper : float
        Whole numbers if `whole`.
    whole : bool
        Whether numbers are rounded to whole ones.

    Examples
    --------
    >>> numbers_as_states([0.0, 1.0, 1.0], 0, 1, whole=True)
    Integer(lower=0, upper=1, missing=0)
    >>> numbers_as_states([1.0] * 50 + [2.0] * 50 + [3.0] * 50 + [4.0], 1, 4, whole=True).labels
    ('[1, 2)', '[2, 3)', '[3, 4]')
    """
    if not whole:
        return Binned(tuple(edges(known, lower, upper)), within="uniform", steps=sum_steps(lower, upper))
    low, high = int(lower), int(upper)
    counted = Counter(math.floor(min(max(number, low), high) + 0.5) for number in known)
    ends = _whole_edges(known, counted, low, high)
    return Integer(low, high) if ends is None else Binned(tuple(ends), within=_within(ends, counted))


def sum_steps(lower: float, upper: float) -> int:
    """Return the steps of a grid between two bounds that are round numbers wide, of at most 1,000.

    Examples
    --------
    >>> sum_steps(0, 33000), sum_steps(11, 14.9), sum_steps(0, 1 / 3)
    (660, 780, 500)
    """
    unit = power_of_ten(lower, upper)
    spread = 0.0 if unit is None else (upper - lower) / unit
    whole = round(spread)
    if not 1 <= whole <= MOST_SUM_STEPS or abs(spread - whole) > 1e-6:
        return USUAL_SUM_STEPS
    return next(whole * parts for parts in (50, 20, 10, 5, 2, 1) if whole * parts <= MOST_SUM_STEPS)


def _whole_edges(known: Sequence[float], counted: Counter[int], low: int, high: int) -> list[int] | None:
    """Return the edges of bins of whole numbers, or None where every number is a state of its own."""
    if high - low == 1:
        return None
    starts = _starts(counted, low, high) if high - low < MOST_WHOLE_STATES else []
    if len(starts) > high - low:
        return None
    common, times = counted.most_common(1)[0]
    if len(starts) < 2 and 2 * times > counted.total():
        starts = [number for number in sorted({low, common, common + 1}) if number <= high]
    if len(starts) < 2:
        return sorted({int(end) for end in edges(known, low, high)})
    # the last bin holds both its edges: a number that fills it alone needs room above
    return [*starts, max(high, starts[-1] + 1)]


def _starts(counted: Counter[int], low: int, high: int) -> list[int]:
    """Return the first numbers of neighbours that have enough public records together."""
    enough = enough_records(counted.total())
    starts, held = [low], 0
    for number in range(low, high + 1):
        if held >= enough:
            starts.append(number)
            held = 0
        held += counted[number]
    return starts[:-1] if held < enough else starts


def _within(ends: Sequence[int], counted: Mapping[int, int]) -> Mapping[str, Inside]:
    labels = Binned(tuple(ends), within="whole numbers").labels
    held = [range(low, high) for low, high in pairwise([*ends[:-1], ends[-1] + 1])]
    return {label: _frequencies(numbers, counted) for label, numbers in zip(labels, held, strict=True)}


def _frequencies(numbers: range, counted: Mapping[int, int]) -> Inside:
    """Return how often each number of a bin comes; evenly where they are too many to be written."""
    if len(numbers) > MOST_NUMBERS_LISTED:
        return "whole numbers"
    weights = {number: counted.get(number, 0) + RECORDS_ADDED for number in numbers}
    total = sum(weights.values())
    units = {number: max(1, round(FREQUENCY_UNITS * weight / total)) for number, weight in weights.items()}
    units[max(units, key=units.__getitem__)] += FREQUENCY_UNITS - sum(units.values())
    return {number: share / FREQUENCY_UNITS for number, share in units.items()}
