"""All laws of one query's answer on common atoms: what a mechanism that sees only the answer must keep alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, Kind, weakest
from bnpriv.errors import Refusal
from bnpriv.evidence import LawPair, Laws
from bnpriv.laws import Atoms

MOST_MASSES = 2**22
"""Atoms times laws of a table of laws."""


class _AtomPair(NamedTuple):
    """A pair of laws with finitely many atoms."""

    first: Atoms
    second: Atoms
    facts: LawPair


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawTable:
    """The laws of an answer of one number under all secrets and models, on common atoms.

    Parameters
    ----------
    atoms : ndarray of shape (K,)
        Increasing; all that has mass under some law.
    logs : ndarray of shape (L, K)
        Logs of the masses under each law; -inf for none.
    pairs : ndarray of shape (P, 2)
        The laws that must be alike, by their places; both directions count.
    error : float
        Largest absolute error of a log.
    rounding : float
        How far an answer may be from the atom that stands for it.
    kind : {"exact", "certified", "estimate"}
    """

    atoms: FloatArray
    logs: FloatArray
    pairs: NDArray[np.intp]
    error: float
    rounding: float
    kind: Kind

    @property
    def prior(self) -> FloatArray:
        """Return the mean of the laws of all pairs, of shape (K,): by which errors are weighed."""
        shares = np.bincount(self.pairs.ravel(), minlength=len(self.logs)) / self.pairs.size
        weighed = shares @ np.exp(self.logs)
        return weighed / np.sum(weighed)

    @property
    def first(self) -> FloatArray:
        """Return the logs of the first law of every pair, of shape (P, K)."""
        return self.logs[self.pairs[:, 0]]

    @property
    def second(self) -> FloatArray:
        """Return the logs of the second law of every pair, of shape (P, K)."""
        return self.logs[self.pairs[:, 1]]


def law_table(evidence: Laws) -> LawTable | Refusal:
    """Return the laws of an answer on common atoms, or why there is no such table."""
    if evidence.dimension != 1:
        return _refusal("one number", f"{evidence.dimension} numbers", "Ask for one number.")
    pairs = list[_AtomPair]()
    for each in _pairs(evidence):
        if isinstance(each, Refusal):
            return each
        if not isinstance(each.first, Atoms) or not isinstance(each.second, Atoms) or each.departure is not None:
            return _refusal("laws with finitely many atoms", "normal laws", "Count, or round the answer to a grid.")
        if each.sampled is not None:
            return _refusal("computed laws", "laws that are learned from draws", "Use TightMechanism.")
        if not each.free:
            return _refusal("one atom for every answer", "answers that are rounded together", "Use TightMechanism.")
        pairs.append(_AtomPair(each.first, each.second, each))
    kept = {id(law): law for pair in pairs for law in (pair.first, pair.second)}
    places, laws = {key: k for k, key in enumerate(kept)}, list(kept.values())
    atoms = np.unique(np.concatenate([law.support for law in laws]))
    if len(atoms) * len(laws) > MOST_MASSES:
        cells = f"{len(atoms):,} atoms times {len(laws):,} laws"
        return _refusal(f"at most {MOST_MASSES:,} masses", cells, "Take a coarser grid, or fewer pairs of secrets.")
    logs = np.full((len(laws), len(atoms)), -np.inf)
    for k, law in enumerate(laws):
        logs[k, np.searchsorted(atoms, law.support)] = law.logs
    return LawTable(
        atoms=atoms,
        logs=logs,
        pairs=np.array([[places[id(pair.first)], places[id(pair.second)]] for pair in pairs], dtype=np.intp),
        error=max(law.error for law in laws),
        rounding=max(pair.facts.rounding for pair in pairs),
        kind=weakest(pair.facts.kind for pair in pairs),
    )


def _pairs(evidence: Laws) -> Iterator[LawPair | Refusal]:
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            yield constraint.pairs
        else:
            yield from constraint.pairs


def _refusal(required: str, found: str, remedy: str) -> Refusal:
    return Refusal(required=f"a mechanism without added noise needs {required}", found=found, remedy=remedy)
