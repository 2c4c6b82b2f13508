"""Bins for the answer, chosen from the laws alone, such that the bin tells little about a secret."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray
from bnpriv.core.distributions import FUNCTION_ERROR, magnitude
from bnpriv.core.evidence.constraints import Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Mechanism, Search
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.law_decision import LEANS_ON
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal
from bnpriv.mechanisms.optimal.channel import ALONE, Channel
from bnpriv.mechanisms.optimal.program import LawTable, Loss, table_of
from bnpriv.text import number_text

# --------------------------------------------------------------------------------------------------
# The best bins of neighbouring atoms such that the law of the bin is alike under every pair of secrets.
# --------------------------------------------------------------------------------------------------

AtomPlaces = NDArray[np.intp]
Cost = Callable[[FloatArray, FloatArray], tuple[FloatArray, AtomPlaces]]
"""From distances to the first atom, and weights, to what the bins that start there cost, and the atoms released."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """Bins of neighbouring atoms, and the atom that is released for each.

    Parameters
    ----------
    starts : ndarray of shape (B,)
        The first atom of each bin; the first is 0.
    released : ndarray of shape (B,)
        The atom that is released for each bin; it lies in it.
    error : float
        The expected error under the prior, up to rounding.
    """

    starts: AtomPlaces
    released: AtomPlaces
    error: float


def best_bins(
    atoms: FloatArray,
    prior: FloatArray,
    first: FloatArray,
    second: FloatArray,
    epsilon: float,
    measure: Loss = "absolute",
) -> Bins:
    """Return the bins with the least expected error such that no bin is much likelier under one secret of a pair.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Increasing.
    prior : ndarray of shape (K,)
        Probabilities by which errors are weighed.
    first, second : ndarray of shape (P, K)
        Logs of the masses of the atoms under the two secrets of each pair; -inf for none.
    epsilon : float
        Largest log ratio, in either direction, of the masses of a bin. One bin of all atoms is always possible.
    measure : {"absolute", "squared", "zero-one"}

    Returns
    -------
    Bins

    Notes
    -----
    docs/claims/quantization.md. The best bins of the first k atoms are the best of the first i < k of them, and one bin
    of those between: K^2 / 2 bins are tried once each. Masses of bins are sums, never differences, of masses.

    Examples
    --------
    >>> logs = np.log([[0.2, 0.3, 0.3, 0.2]]), np.log([[0.3, 0.2, 0.2, 0.3]])
    >>> found = best_bins(np.arange(4.0), np.full(4, 0.25), *logs, epsilon=0.1)
    >>> found.starts, found.released, found.error
    (array([0, 2]), array([0, 2]), 0.5)
    """
    size, cost = len(atoms), COSTS[measure]
    least = np.full(size + 1, math.inf)
    least[0] = 0.0
    starts, released = np.zeros(size + 1, dtype=np.intp), np.zeros(size + 1, dtype=np.intp)
    for start in range(size):
        if least[start] == math.inf:
            continue
        found, chosen = cost(atoms[start:] - atoms[start], prior[start:])
        found = np.where(_alike(first[:, start:], second[:, start:], epsilon), least[start] + found, math.inf)
        if start == 0:
            found[-1] = cost(atoms - atoms[0], prior)[0][-1]
        better = found < least[start + 1 :]
        least[start + 1 :][better] = found[better]
        starts[start + 1 :][better] = start
        released[start + 1 :][better] = start + chosen[better]
    ends, end = list[int](), size
    while end:
        ends.append(end)
        end = int(starts[end])
    places = np.array(ends[::-1], dtype=np.intp)
    return Bins(starts=starts[places], released=released[places], error=float(least[size]))


def _alike(first: FloatArray, second: FloatArray, epsilon: float) -> NDArray[np.bool_]:
    """Return for every end whether the bin from the first atom to it is alike under all pairs; of shape (K,)."""
    one, other = np.logaddexp.accumulate(first, axis=1), np.logaddexp.accumulate(second, axis=1)
    with np.errstate(invalid="ignore"):
        gaps = np.where(one == other, 0.0, np.abs(one - other))  # neither secret can lead to the bin: alike
    return np.all(gaps <= epsilon, axis=0)


def _absolute(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the median of each bin."""
    mass, sums = np.cumsum(weights), np.cumsum(weights * atoms)
    middle = np.searchsorted(mass, mass / 2)
    below = atoms[middle] * mass[middle] - sums[middle]
    above = sums - sums[middle] - atoms[middle] * (mass - mass[middle])
    return np.maximum(0.0, below + above), middle


def _squared(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the atom that is nearest to the mean of each bin."""
    mass, sums, squares = (np.cumsum(weights * atoms**k) for k in range(3))
    mean = np.divide(sums, mass, out=np.zeros_like(sums), where=mass > 0)
    nearest = np.searchsorted((atoms[1:] + atoms[:-1]) / 2, mean)
    nearest = np.minimum(nearest, np.arange(len(atoms)))
    chosen = atoms[nearest]
    return np.maximum(0.0, squares - 2 * chosen * sums + chosen**2 * mass), nearest


def _zero_one(atoms: FloatArray, weights: FloatArray) -> tuple[FloatArray, AtomPlaces]:
    """Release the likeliest atom of each bin."""
    largest = np.maximum.accumulate(weights)
    return np.cumsum(weights) - largest, np.searchsorted(largest, largest)


COSTS: Mapping[Loss, Cost] = {"absolute": _absolute, "squared": _squared, "zero-one": _zero_one}

MOST_BINNED = 4_000
"""Atoms for which all bins are tried: a few seconds."""

MOST_SAID_BINS = 8
"""Bins that are told in words."""


@dataclass(frozen=True, kw_only=True)
class QuantizationMechanism(Mechanism):
    """Releases a bin of the answer without any noise: the bins are the best that are alike under all secrets.

    Parameters
    ----------
    error : {"absolute", "squared", "zero-one"}
        What an error costs when bins are chosen: its size, its square, or one unless it is zero.
    weights : None
        Not taken: bins are for an answer of one number.

    Raises
    ------
    ParameterError
        If `error` is none of these.

    Notes
    -----
    docs/claims/quantization.md. Lin, Wang, Sekar, Fanti, "Summary Statistic Privacy in Data Sharing" (IEEE Journal on
    Selected Areas in Information Theory, 2024) release the bin of a parameter, against attackers who guess a secret.
    Here the bins bear a guarantee of the kind that all mechanisms give. A channel whose rows are all certain, so that
    `OptimalMechanism` never errs by more. The guarantee is pure: no part of delta is used.

    Examples
    --------
    >>> import bnpriv as bp
    >>> from bnpriv.laws import Atoms
    >>> pair = (Atoms([0, 1, 2, 3], [0.2, 0.3, 0.3, 0.2]), Atoms([0, 1, 2, 3], [0.3, 0.2, 0.2, 0.3]))
    >>> framework = bp.DistributionPrivacy([pair], source="a textbook")
    >>> calibration = bp.mechanisms.QuantizationMechanism().calibrate(framework, epsilon=0.1)
    >>> calibration.noise.outputs, round(calibration.expected_error, 9)
    ((0.0, 2.0), 0.5)
    """

    error: Loss = "absolute"
    claim: ClassVar[str] = "quantization.md"
    compares_laws: ClassVar[bool] = True
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"error": ("absolute", "squared", "zero-one")}
    fixed_shape: ClassVar[bool] = True

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = laws(framework, query)
        if isinstance(evidence, Refusal):
            return evidence
        table = table_of(evidence)
        if isinstance(table, Refusal):
            return table
        if table.size > MOST_BINNED:
            return Refusal(
                required=f"all bins are tried for at most {MOST_BINNED:,} answers",
                found=f"{table.size:,}",
                remedy="Take a coarser grid, or use TightMechanism.",
            )
        return partial(self._search, evidence, table, framework, query, epsilon)

    def _search(self, evidence: Laws, table: LawTable, framework: Framework, query: Query, epsilon: float) -> Found:
        first, second = table.ways[table.ways[:, 0] < table.ways[:, 1]].T
        logs = table.logs[first], table.logs[second]
        bins = best_bins(table.points, table.mean, *logs, epsilon - _lost(table), self.error)
        certificate = Certificate(
            theorem="Bins of the answer that are alike under all secrets",
            claim=self.claim,
            decisions=(),
            sensitivity=Bound(0.0, 0.0, table.kind),
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=evidence.dropped,
            notes=(_bins_text(table, bins), LEANS_ON, ALONE),
            zero_noise_reason="Every bin of the answer is about as likely under either secret of every pair.",
        )
        return Found(_channel(table, bins), certificate, 0.0)


def _lost(table: LawTable) -> float:
    """Return by how much the log ratio of the masses of a bin may be off, rounding included."""
    steps = table.size * (magnitude(table.logs) + 2 * FUNCTION_ERROR)
    return 2 * (float(np.max(table.errors)) + UNIT_ROUNDOFF * steps)


def _channel(table: LawTable, bins: Bins) -> Channel:
    """Return the channel that releases for every answer the atom that stands for its bin."""
    size, count = table.size, len(bins.starts)
    rows = np.zeros((size, count), dtype=np.int64)
    rows[np.arange(size), np.searchsorted(bins.starts, np.arange(size), side="right") - 1] = 1
    return Channel(table.points.tolist(), table.points[bins.released].tolist(), rows, 1, table.mean)


def _bins_text(table: LawTable, bins: Bins) -> str:
    """Return the bins in words; of many the first ones."""
    lasts = np.append(bins.starts[1:], table.size) - 1
    ends = zip(table.points[bins.starts], table.points[lasts], table.points[bins.released], strict=True)
    if len(lasts) == 1:
        only = number_text(float(table.points[bins.released[0]]))
        return f"Whatever the answer is, {only} is released: no finer bins are alike under all secrets."
    texts = [
        f"{number_text(low)}{'' if low == high else f' to {number_text(high)}'} as {number_text(value)}"
        for low, high, value in ends
    ]
    more = f" and {len(texts) - MOST_SAID_BINS:,} more" if len(texts) > MOST_SAID_BINS else ""
    return f"The answer is released as one of {len(texts):,} bins: {', '.join(texts[:MOST_SAID_BINS])}{more}."
