"""The answer of a query that is known by its laws alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.errors import QueryError
from bnpriv.queries.base import Output, Query
from bnpriv.tables.schema import Schema


@final
@dataclass(frozen=True, kw_only=True)
class GivenAnswer(Query):
    """An answer whose laws were declared without the query; it can be calibrated, not released.

    Parameters
    ----------
    size : int
        How many numbers the answer has.
    """

    size: int = 1

    @property
    def columns(self) -> frozenset[str]:
        """None: what is read is not known."""
        return frozenset()

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        """Refuse: there is no query to be evaluated."""
        raise QueryError(
            "a query is needed to evaluate an answer",
            found="laws without a query",
            remedy="Pass query=... and schema=... to DistributionPrivacy.",
        )

    def dimension(self, schema: Schema) -> int:
        """How many numbers the answer has."""
        return self.size

    def __str__(self) -> str:
        return "the answer of the declared laws"
