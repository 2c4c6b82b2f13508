"""The laws of an answer for mechanisms that need all of them at once, number by number."""

from __future__ import annotations

from collections.abc import Iterator

from bnpriv.errors import Refusal
from bnpriv.evidence.constraints import LawPair, Laws
from bnpriv.evidence.laws import laws
from bnpriv.frameworks.framework import Framework
from bnpriv.laws.atoms import Atoms
from bnpriv.mechanisms.optimal_laws import LawTable
from bnpriv.queries.base import Query

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
        cells = f"up to {sum(sizes.values()):,} answers under {len(sizes):,} laws"
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
        return _refusal("have finitely many atoms", "normal laws", "Count, or round the answer to a grid.")
    if pair.sampled is not None:
        return _refusal("be computed", "laws that are learned from draws", "Use TightMechanism.")
    if not pair.free:
        return _refusal("have one atom for every answer", "answers that are rounded together", "Use TightMechanism.")
    return None


def _refusal(required: str, found: str, remedy: str) -> Refusal:
    return Refusal(required=f"the laws of the answer must {required}", found=found, remedy=remedy)
