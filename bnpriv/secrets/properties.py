"""Secrets of the table itself: a count, proportion, total or (weighted) mean of a protected column."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from bnpriv import checks
from bnpriv.errors import SecretError
from bnpriv.queries.asked import as_query
from bnpriv.queries.base import Query
from bnpriv.queries.builtin import Count, Linear, Mean, Proportion, Total
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.states import SecretPair, SecretPairs
from bnpriv.secrets.values import IntervalPair, IntervalPairs

NEAR = Fraction(1, 10**9)
"""How far, relative to itself, a number may be from the value of a property for which it was written."""


@final
@dataclass(frozen=True)
class Secret:
    """A property of a protected column of the table, and which pairs of its values must not be told apart.

    Parameters
    ----------
    property : Query or str
        A `count`, `proportion`, `total` or `mean` that reads the protected column alone, or a `linear` that may read
        further columns after it; or the text of one.
    pairs : SecretPairs, IntervalPairs or Apart, optional
        All pairs of values by default; ``bnpriv.apart(at_most=k)`` for values at most `k` apart,
        ``bnpriv.pairs((40, 50), ...)`` for chosen ones, or ``bnpriv.intervals(((30, 40), (50, 60)), ...)`` for chosen
        ranges of them.

    Raises
    ------
    SecretError
        If the property is another query or reads several columns.

    Notes
    -----
    Dataset attribute privacy: definition 3 of Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022).

    Examples
    --------
    >>> import bnpriv as bp
    >>> str(Secret(bp.count(bp.col("income") == "high"), pairs=bp.apart(at_most=50)))
    'count(income == "high"), values at most 50 apart'
    """

    property: Query
    pairs: SecretPairs | IntervalPairs | Apart | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "property", as_query(self.property))
        alone = isinstance(self.property, (Count, Proportion, Total, Mean)) and len(self.property.columns) == 1
        if not alone and not isinstance(self.property, Linear):
            raise SecretError(
                "a secret is a count, proportion, total or mean of one column, or a linear of some",
                found=str(self.property),
                remedy='Write Secret(count(col("income") == "high")).',
            )
        if self.pairs is not None and not isinstance(self.pairs, (SecretPairs, IntervalPairs, Apart)):
            raise SecretError(
                "the pairs of a secret are made by apart, pairs or intervals, or left out",
                found=checks.type_text(self.pairs),
                remedy="Write pairs=apart(at_most=50), or pairs=pairs((40, 50)).",
            )

    @functools.cached_property
    def column(self) -> str:
        """Return the protected column; of a `linear` the one that is named first."""
        if isinstance(self.property, Linear):
            return self.property.weights[0][0]
        return next(iter(self.property.columns))

    @functools.cached_property
    def touching(self) -> IntervalPair | None:
        """Return a chosen pair of intervals that have an end in common, or None."""
        chosen = self.pairs.chosen if isinstance(self.pairs, IntervalPairs) else ()
        return next((pair for pair in chosen if pair.touches), None)

    @functools.cached_property
    def near(self) -> SecretPair | None:
        """Return a chosen pair of numbers between which there may be one value that both stand for, or None."""
        chosen = self.pairs.chosen if isinstance(self.pairs, SecretPairs) else ()
        return next((pair for pair in chosen if _meet(pair)), None)

    def __str__(self) -> str:
        if self.pairs is None:
            return f"{self.property}, all pairs of values"
        if isinstance(self.pairs, Apart):
            return f"{self.property}, values at most {self.pairs.at_most:g} apart"
        return f"{self.property}, {checks.listing(self.pairs.chosen)}"


def _meet(pair: SecretPair) -> bool:
    first, second = ([x for x in side if not isinstance(x, (str, bool))] for side in (pair.first, pair.second))
    return any(abs(a - b) <= 2 * float(NEAR) * max(1.0, abs(a), abs(b)) for a in first for b in second)
