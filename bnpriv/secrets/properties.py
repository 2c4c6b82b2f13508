"""Secrets of the table itself: a count, proportion, total or mean of a protected column."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import final

from bnpriv import checks
from bnpriv.errors import SecretError
from bnpriv.queries import Query, as_query
from bnpriv.queries.builtin import Count, Mean, Proportion, Total
from bnpriv.secrets.states import SecretPairs


@final
@dataclass(frozen=True)
class Apart:
    """All pairs of values of a property that are at most this far apart; made by `apart`."""

    at_most: float


@final
@dataclass(frozen=True)
class Secret:
    """A property of a protected column of the table, and which pairs of its values must not be told apart.

    Parameters
    ----------
    property : Query or str
        A `count`, `proportion`, `total` or `mean`, or the text of one, that reads the protected column alone.
    pairs : SecretPairs or Apart, optional
        All pairs of values by default; ``bnpriv.apart(at_most=k)`` for values at most `k` apart, or
        ``bnpriv.pairs((40, 50), ...)`` for chosen ones.

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
    >>> str(Secret(bp.count(bp.col("income") == "high"), pairs=apart(at_most=50)))
    'count(income == "high"), values at most 50 apart'
    """

    property: Query
    pairs: SecretPairs | Apart | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "property", as_query(self.property))
        if not isinstance(self.property, (Count, Proportion, Total, Mean)) or len(self.property.columns) != 1:
            raise SecretError(
                "a secret is a count, proportion, total or mean of one column",
                found=str(self.property),
                remedy='Write Secret(count(col("income") == "high")).',
            )
        if self.pairs is not None and not isinstance(self.pairs, (SecretPairs, Apart)):
            raise SecretError(
                "the pairs of a secret are made by apart or pairs, or left out",
                found=checks.type_text(self.pairs),
                remedy="Write pairs=apart(at_most=50), or pairs=pairs((40, 50)).",
            )

    @functools.cached_property
    def column(self) -> str:
        """Return the protected column."""
        return next(iter(self.property.columns))

    def __str__(self) -> str:
        if self.pairs is None:
            return f"{self.property}, all pairs of values"
        if isinstance(self.pairs, Apart):
            return f"{self.property}, values at most {self.pairs.at_most:g} apart"
        return f"{self.property}, {checks.listing(self.pairs.chosen)}"


def apart(*, at_most: float) -> Apart:
    """Choose all pairs of values of a property that are at most so far apart.

    Parameters
    ----------
    at_most : float
        In the property's own unit, above 0.

    Returns
    -------
    Apart

    Raises
    ------
    ParameterError
        If it is not a finite number above 0.

    Examples
    --------
    >>> apart(at_most=50)
    Apart(at_most=50.0)
    """
    return Apart(checks.positive("at_most", at_most))
