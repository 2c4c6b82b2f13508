"""What several answers of independent records tell together: a stand-in until the theorem's code is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from bnpriv.bound import Kind
from bnpriv.core.accounting.entries import Entry
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal
from bnpriv.kind import NOT_BY_RECORDS


@final
@dataclass(frozen=True, kw_only=True)
class RecordsTotal:
    """The total."""

    epsilon: Fraction | None
    kind: Kind = "exact"
    shares: tuple[Any, ...] = ()


@final
@dataclass(frozen=True)
class SwappedRecords:
    """Of one framework."""

    framework: DatasetAttributePrivacy

    def covers(self, query: Query) -> Refusal | None:
        """Whether a query is a sum over records."""
        return None

    def total(
        self, entries: Sequence[Entry], delta: Fraction = Fraction(0), columns: frozenset[str] = frozenset()
    ) -> RecordsTotal:
        """The total."""
        return RecordsTotal(epsilon=sum((entry.epsilon for entry in entries), Fraction(0)))


def swapped_records(framework: Any) -> SwappedRecords | Refusal:
    """The evidence of a framework."""
    return SwappedRecords(framework) if framework.forward is None else NOT_BY_RECORDS
