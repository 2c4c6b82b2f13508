"""Law evidence: the laws of an answer that a guarantee must keep alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, final

from bnpriv.bound import Kind
from bnpriv.errors import Refusal
from bnpriv.laws import Atoms, Normal

Law = Atoms | Normal


@final
@dataclass(frozen=True, kw_only=True)
class Drawn:
    """How two laws were learned from independent draws (docs/claims/draws.md).

    Parameters
    ----------
    draws : int
        Of each law.
    confidence : float or None
        That of the guarantees; None for estimates.
    moved : float
        How far apart, in the 1-norm, gathering nearby draws can have moved two answers, each by half of it at most.
    variance : float
        The larger mean square of such a move, to the mean of the draws that are gathered.
    drift : float
        How far rounding may have taken such a mean off.
    """

    draws: int
    confidence: float | None
    moved: float
    variance: float
    drift: float


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawPair:
    """The laws of the answer given the two secrets of a pair; both directions count.

    Parameters
    ----------
    pair : str
        The two secrets in words.
    first, second : Atoms or Normal
        In the unit of the answer.
    rounding : float
        By how much, in the 1-norm, two answers may be further apart than the atoms that stand for them; 0 where the
        atoms are the doubles that are released, one for one. Only then may there be no noise.
    kind : {"exact", "certified", "estimate"}
    drawn : Drawn, optional
        How they were learned from draws; None for laws that were computed.
    """

    pair: str
    first: Law
    second: Law
    rounding: float
    kind: Kind = "exact"
    drawn: Drawn | None = None


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class RecordPair:
    """Two laws of what one record adds, and how many independent records change from one to the other.

    Parameters
    ----------
    pair : str
        The secrets that are furthest apart, in words.
    first, second : Atoms
        In the unit of the answer, rounded to doubles.
    distance : int
        At least 1.
    distinct : bool
        Whether different exact numbers are different atoms; only then may there be no noise.
    kind : {"exact", "certified", "estimate"}
    """

    pair: str
    first: Atoms
    second: Atoms
    distance: int
    distinct: bool
    kind: Kind


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Constraint:
    """What one protected attribute asks under one model: by the per-record rule, by exact laws, or by either.

    Parameters
    ----------
    protected : str
        The protected attribute.
    model : int
        The index in Theta.
    record : RecordPair or None
        None where the answer is no sum of records that a secret changes one by one.
    pairs : sequence of LawPair, or Refusal
        The exact laws, or why they are not computed.
    served : frozenset of int, optional
        Which of the chosen pairs of secrets are possible under the model; None for all.
    """

    protected: str
    model: int
    record: RecordPair | None
    pairs: Sequence[LawPair] | Refusal
    served: frozenset[int] | None = None


class Laws(Protocol):
    """The laws of one query's answer under the secrets of a framework."""

    @property
    def dimension(self) -> int:
        """Return how many numbers the answer has."""
        ...

    @property
    def rounding(self) -> float:
        """Return by how much, in the 1-norm, rounding the answer to doubles can move two answers apart."""
        ...

    @property
    def dropped(self) -> tuple[str, ...]:
        """Return the pairs that are no constraint, with the reason."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what must hold outside the library."""
        ...

    def constraints(self) -> tuple[Constraint, ...]:
        """Return one constraint per protected attribute and model."""
        ...
