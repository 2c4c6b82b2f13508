"""The law of an answer: sums of independent records, and mixtures of such sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind
from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import RecordPair
from bnpriv.laws.atoms import Atoms, log_mixture
from bnpriv.laws.base import FUNCTION_ERROR, log_sum, magnitude
from bnpriv.laws.whole import LARGEST_WHOLE, WholeLaw, nearest_doubles, sums_bound
from bnpriv.queries.normal_form import NormalForm, most_of
from bnpriv.render.text import rough_text

MOST_ANSWER_ATOMS = 2**20
"""Atoms of the law of an answer; beyond that it is refused."""

MOST_TOTAL = 2**24
"""Atoms of all laws that are compared."""

MOST_TOTAL_PRODUCTS = 2**34
"""Products of two masses in all sums of the laws that are compared: half a minute, with what the comparison takes."""


def released(form: NormalForm, total: WholeLaw) -> Atoms:
    """Return the law of the released doubles from that of the numerators that all records together add."""
    columns = [
        nearest_doubles(_shifted(column, whole.shift), whole.denominator)
        for column, whole in zip(total.columns, form.wholes(), strict=True)
    ]
    return Atoms.from_logs(np.stack(columns, axis=1), total.logs, total.error)


def _shifted(numerators: NDArray[Any], shift: int) -> NDArray[Any]:
    fits = numerators.dtype != object and abs(shift) < LARGEST_WHOLE
    return (numerators if fits else numerators.astype(object)) + shift


def record_pair(
    form: NormalForm, pair: str, laws: tuple[WholeLaw, WholeLaw], distances: Sequence[int], kind: Kind
) -> RecordPair:
    """Return two laws of what one record adds to the numerators of an answer, and how many records change."""
    below = tuple(whole.denominator for whole in form.wholes())
    return RecordPair(pair=pair, numerators=laws, denominators=below, distances=distances, kind=kind)


def mixture_of(log_weights: FloatArray, error: float, laws: Sequence[Atoms]) -> Atoms:
    """Return a mixture by log weights that are off by at most `error`; the law itself where there is one."""
    return laws[0] if len(laws) == 1 else log_mixture(log_weights, laws, error)


def normalized(logs: FloatArray, error: float) -> tuple[FloatArray, float]:
    """Divide masses by their sum: their logs are off by at most `error`; return the error of the result too."""
    total = log_sum(logs)
    rounding = 2 * len(logs) + FUNCTION_ERROR * (1 + math.log(len(logs))) + 3 * magnitude(logs)
    return logs - total, 2 * error + UNIT_ROUNDOFF * rounding


def too_large(parts: Sequence[WholeLaw], n: int, laws: int = 1) -> Refusal | None:
    """Return why so many laws of sums of `n` draws, each from one of `parts`, would have too many atoms, if they do."""
    size = sums_bound(parts, n)
    if size <= MOST_ANSWER_ATOMS and size * laws <= MOST_TOTAL:
        return None
    return Refusal(
        required=f"the law of the answer may have at most {rough_text(MOST_ANSWER_ATOMS)} atoms",
        found=f"up to {rough_text(size)} over {n:,} records" + (f", for {laws:,} secrets" if laws > 1 else ""),
        remedy="Ask for one count, or declare the summed column with fewer grid steps: Real(lower, upper, steps=20).",
    )


def too_slow(parts: Sequence[WholeLaw], n: int, laws: int, pairs: int, models: int) -> Refusal | None:
    """Return why comparing pairs of laws of sums under all models would take long, if it would.

    Parameters
    ----------
    parts : sequence of WholeLaw
        What each draw of a sum comes from.
    n : int
        Draws of a sum.
    laws, pairs, models : int
        How many different sums, and pairs of them, there are under each of so many models.
    """
    size = sums_bound(parts, n)
    # a sum of s draws of one law and n - s of another takes as many products as both have atoms: a sixth on average
    products = size * size * laws * models // 6
    if size * pairs * models <= MOST_TOTAL and products <= MOST_TOTAL_PRODUCTS:
        return None
    under = f"{models:,} model{'' if models == 1 else 's'}"
    return Refusal(
        required="exact laws of the answer are compared where that takes less than about a minute",
        found=f"up to {rough_text(size)} atoms, for {pairs:,} pairs of secrets under {under}",
        remedy="Ask for a count, declare the summed column with fewer grid steps, or declare fewer models.",
    )


def rounding_of(form: NormalForm) -> float:
    """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
    weights = [weight for row in (*form.matrix, form.offset) for weight in row]
    largest = [_largest(form, output) for output in range(len(form.matrix))]
    if all(weight.denominator == 1 for weight in weights) and max(largest) < 2**52:
        return 0.0
    return float(4 * Fraction(UNIT_ROUNDOFF) * sum(largest))


def _largest(form: NormalForm, output: int) -> Fraction:
    n = form.schema.records
    total = abs(form.offset[output])
    for weight, term in zip(form.matrix[output], form.terms, strict=True):
        total += abs(weight) * most_of(term, form.schema) * n
    return total
