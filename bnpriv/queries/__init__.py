"""Queries: predicates, constructors, the normal form, the grammar and column sensitivity."""

from typing import TYPE_CHECKING

from bnpriv.lazy import lazily

if TYPE_CHECKING:
    from bnpriv.queries.asked import as_query, stack
    from bnpriv.queries.base import Query
    from bnpriv.queries.constructors import count, crosstab, histogram, linear, mean, moments, proportion, total
    from bnpriv.queries.constructors import proportion as share
    from bnpriv.queries.constructors import total as sum
    from bnpriv.queries.custom import custom
    from bnpriv.queries.parser import parse_query
    from bnpriv.queries.predicates import Predicate, col
    from bnpriv.queries.quantiles import median, quantile
    from bnpriv.queries.sensitivity import answer_range, column_sensitivity
    from bnpriv.queries.spread import covariance, std, variance

__all__ = [
    "Predicate",
    "Query",
    "answer_range",
    "as_query",
    "col",
    "column_sensitivity",
    "count",
    "covariance",
    "crosstab",
    "custom",
    "histogram",
    "linear",
    "mean",
    "median",
    "moments",
    "parse_query",
    "proportion",
    "quantile",
    "share",
    "stack",
    "std",
    "sum",
    "total",
    "variance",
]

__getattr__, __dir__ = lazily(__name__)
