"""The law of an answer: sums of independent records, and mixtures of such sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import Refusal
from bnpriv.factors import FloatArray
from bnpriv.laws import Atoms, add, mixture, n_fold
from bnpriv.queries.normal_form import NormalForm, Steps, numeric

MOST_ATOMS = 2**20
"""Atoms of the law of an answer; beyond that it is refused."""

MOST_TOTAL = 2**24
"""Atoms of all laws that are compared."""


def repeated(law: Atoms, n: int) -> Atoms:
    """Return the law of the sum of `n` independent draws; a binomial law in closed form where there are two atoms."""
    if law.dimension == 1 and law.size == 2:
        (low, high), p = law.support.tolist(), float(np.exp(law.logs[1]))
        count = Atoms.binomial(n, p)
        return Atoms.from_logs(n * low + (high - low) * count.support, count.logs, count.error + 2 * n * law.error)
    return n_fold(law, n)


def sum_law(first: Atoms, count: int, second: Atoms, other: int) -> Atoms:
    """Return the law of the sum of `count` draws of one law and `other` draws of a second, all independent."""
    parts = [repeated(law, draws) for law, draws in ((first, count), (second, other)) if draws]
    return parts[0] if len(parts) == 1 else add(parts[0], parts[1])


def denominators(form: NormalForm) -> FloatArray:
    """Return for every output a whole number of which it is a fraction, up to a shift that all answers share."""
    return np.array([float(math.lcm(*(weight.denominator for weight in row))) for row in form.matrix])


def canonical(law: Atoms, units: FloatArray) -> Atoms:
    """Return the same law with equal answers as equal doubles: whole numbers over `units`, divided once.

    Sums that were rounded on different roads would split an atom in two, and so hide that no noise is needed.
    """
    whole = np.rint(law.points * units)
    if not (np.abs(whole) < 2.0**52).all():
        return law
    points = whole / units
    return Atoms.from_logs(points[:, 0] if law.dimension == 1 else points, law.logs, law.error)


def mixture_of(weights: FloatArray, laws: Sequence[Atoms]) -> Atoms:
    """Return a mixture; the law itself where there is one."""
    return laws[0] if len(laws) == 1 else mixture(weights / weights.sum(), list(laws))


def too_large(law: Atoms, n: int, laws: int = 1) -> Refusal | None:
    """Return why so many laws of sums of `n` draws would have too many atoms, or None if they have not."""
    steps = np.ptp(law.points, axis=0)
    gaps = [np.diff(np.unique(law.points[:, k])) for k in range(law.dimension)]
    size = 1.0
    for width, gap in zip(steps, gaps, strict=True):
        size *= 1 + (n * width / float(np.min(gap)) if gap.size else 0.0)
    if size <= MOST_ATOMS and size * laws <= MOST_TOTAL:
        return None
    return Refusal(
        required=f"the law of the answer may have at most {MOST_ATOMS:,} atoms",
        found=f"about {size:.3g} over {n:,} records" + (f", for {laws:,} secrets" if laws > 1 else ""),
        remedy="Ask for one count, or declare the summed column with fewer grid steps: Real(lower, upper, steps=20).",
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
        most = numeric(term.column, form.schema).steps ** term.exponent if isinstance(term, Steps) else 1
        total += abs(weight) * most * n
    return total
