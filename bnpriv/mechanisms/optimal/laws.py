"""The laws that a channel must keep alike, as arrays over all exact answers that are possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray, Kind, weakest
from bnpriv.core.distributions import FUNCTION_ERROR, Atoms
from bnpriv.core.evidence.constraints import LawPair, Laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal

# --------------------------------------------------------------------------------------------------
# The laws that a channel must keep alike, as arrays over all exact answers that are possible under one of them.
# --------------------------------------------------------------------------------------------------

Loss = Literal["absolute", "squared", "zero-one"]
"""What the expected error of a channel counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LawTable:
    """The distinct laws of an answer, and which of them must be alike.

    Parameters
    ----------
    points : ndarray of shape (K,)
        Every exact answer that some law allows, increasing.
    masses : ndarray of shape (L, K)
        One row per law; each true mass is within a factor of ``1 + error`` and its inverse of it, or both are below
        the range of doubles.
    logs : ndarray of shape (L, K)
        The logs of the masses, which lie in any range; -inf for none.
    possible : ndarray of shape (L, K)
        Which answers each law allows, some with a mass below the range of doubles.
    errors : ndarray of shape (L,)
        How far masses of each law may be off, as a share of themselves.
    ways : ndarray of shape (2 J, 2)
        Ordered pairs of laws: the first must be at most exp(epsilon) times the second, at every output.
    mean : ndarray of shape (K,)
        The mean of the laws over all pairs.
    kind : {"exact", "certified", "estimate"}
    rounding : float
        How far from its atom, at most, an exact answer may be.
    order : mapping from int to int
        The row of each law, by its identity.
    """

    points: FloatArray
    masses: FloatArray
    logs: FloatArray
    possible: NDArray[np.bool_]
    errors: FloatArray
    ways: IntArray
    mean: FloatArray
    kind: Kind
    rounding: float
    order: Mapping[int, int]

    @classmethod
    def of(cls, pairs: Iterable[LawPair]) -> LawTable:
        """Gather the laws of pairs, all of one number with finitely many atoms; a law that stands in many pairs once.

        Parameters
        ----------
        pairs : iterable of LawPair
            Each in one direction; both count.
        """
        listed = list(pairs)
        known: dict[int, int] = {}
        laws: list[Atoms] = []
        ways: dict[tuple[int, int], None] = {}
        for pair in listed:
            first, second = (_place(law, known, laws) for law in (pair.first, pair.second))
            ways.update({(first, second): None, (second, first): None})
        points = np.unique(np.concatenate([law.support for law in laws]))
        masses = np.zeros((len(laws), len(points)))
        logs = np.full(masses.shape, -np.inf)
        for row, row_logs, law in zip(masses, logs, laws, strict=True):
            places = np.searchsorted(points, law.support)
            row[places], row_logs[places] = law.probabilities, law.logs
        often = np.bincount([known[id(law)] for pair in listed for law in (pair.first, pair.second)])
        mean = often / (2 * len(listed)) @ masses
        # np.exp is off by a few units, and 1 + 2 x bounds exp(x) for an x of at most 1
        errors = 2 * np.array([law.error for law in laws]) + 2 * FUNCTION_ERROR * UNIT_ROUNDOFF
        return cls(
            points=points,
            masses=masses,
            logs=logs,
            possible=logs > -np.inf,
            errors=errors,
            ways=np.array(list(ways), dtype=np.int64),
            mean=mean / np.sum(mean),
            kind=weakest(pair.kind for pair in listed),
            rounding=max(pair.rounding for pair in listed),
            order=known,
        )

    @property
    def size(self) -> int:
        """Return the number of exact answers K."""
        return len(self.points)

    @cached_property
    def largest(self) -> FloatArray:
        """Return the largest mass of every answer under any law, of shape (K,)."""
        return np.max(self.masses, axis=0)

    def losses(self, error: Loss, outputs: FloatArray) -> FloatArray:
        """Return what releasing each output for each exact answer costs, of shape (K, M)."""
        away = np.abs(np.subtract.outer(self.points, outputs))
        if error == "zero-one":
            return (away > 0).astype(np.float64)
        return away if error == "absolute" else away**2

    def prior(self, given: Sequence[tuple[float, float]] | None) -> FloatArray:
        """Return a prior over the answers: that which is given, or the mean of the laws.

        Raises
        ------
        ParameterError
            If an answer of the given one is no answer that a law allows.
        """
        if given is None:
            return self.mean
        chances: Mapping[float, float] = dict(given)
        found = np.array([chances.get(x, 0.0) for x in self.points.tolist()])
        if len(set(chances).difference(self.points.tolist())) > 0:
            raise ParameterError(
                "a prior speaks of answers that some distribution allows",
                found="another answer in it",
                remedy="Leave it out; the mean of the distributions is then the prior.",
            )
        return found / float(np.sum(found))


def _place(law: object, known: dict[int, int], laws: list[Atoms]) -> int:
    assert isinstance(law, Atoms)
    if id(law) not in known:
        known[id(law)] = len(laws)
        laws.append(law)
    return known[id(law)]


# --------------------------------------------------------------------------------------------------
# The laws of an answer for mechanisms that need all of them at once, number by number.
# --------------------------------------------------------------------------------------------------

MOST_MASSES = 2**22
"""Atoms of all laws times laws, at most, of a table of laws."""


def law_table(framework: Framework, query: Query) -> LawTable | Refusal:
    """Return the laws of an answer under all secrets and models on common atoms, or why there is no such table."""
    evidence = laws(framework, query)
    return evidence if isinstance(evidence, Refusal) else table_of(evidence)


def table_of(evidence: Laws) -> LawTable | Refusal:
    """The laws of an answer on common atoms, or why there is no such table."""
    if evidence.dimension != 1:
        return _refusal("be of one number", f"{evidence.dimension} numbers", "Ask for one number.")
    pairs = list[LawPair]()
    for each in _pairs(evidence):
        refusal = each if isinstance(each, Refusal) else _unknown(each)
        if refusal is not None:
            return refusal
        if isinstance(each, LawPair):
            pairs.append(each)
    sizes = {id(law): law.size for pair in pairs for law in (pair.first, pair.second) if isinstance(law, Atoms)}
    if sum(sizes.values()) * len(sizes) > MOST_MASSES:
        cells = f"up to {sum(sizes.values()):,} answers under {len(sizes):,} distributions"
        return _refusal(
            f"have at most {MOST_MASSES:,} masses", cells, "Take a coarser grid, or fewer pairs of secrets."
        )
    return LawTable.of(pairs)


def _pairs(evidence: Laws) -> Iterator[LawPair | Refusal]:
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            yield constraint.pairs
        else:
            yield from constraint.pairs


def _unknown(pair: LawPair) -> Refusal | None:
    """Return what is not known of the laws of a pair, number by number; None if all is."""
    if not isinstance(pair.first, Atoms) or not isinstance(pair.second, Atoms) or pair.departure is not None:
        return _refusal("have finitely many atoms", "normal distributions", "Count, or round the answer to a grid.")
    if pair.sampled is not None:
        return _refusal("be computed", "distributions that are learned from draws", "Use TightMechanism.")
    if not pair.free:
        return _refusal("have one atom for every answer", "answers that are rounded together", "Use TightMechanism.")
    return None


def _refusal(required: str, found: str, remedy: str) -> Refusal:
    return Refusal(required=f"the distributions of the answer must {required}", found=found, remedy=remedy)
