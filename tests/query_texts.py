"""Random texts of queries, and of what is almost one."""

from __future__ import annotations

from hypothesis import strategies as st  # noqa: TID253 - tests import this file when they run

from bnpriv.core.queries.asked import count, histogram, linear, mean, moments, proportion, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import CountBy, Crosstab
from bnpriv.core.queries.predicates import OPERATORS, And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.core.queries.spread import covariance, median, quantile, std, variance

NASTY = ["in", "true", "count", "a b", "`", "``", "a`b", '"', "\\", "é", "1x", "x;y", "\n", "and", "~", "_", "a)", "​x"]
NAMES = st.one_of(
    st.sampled_from(["height", "sat", *NASTY]).filter(str.strip), st.text(min_size=1, max_size=8).filter(str.strip)
)
NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False))
CONSTANTS = st.one_of(NUMBERS, st.booleans(), st.text(max_size=8))
LEAVES: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Comparison, NAMES, st.sampled_from(OPERATORS), CONSTANTS),
    st.builds(IsIn, NAMES, st.lists(CONSTANTS, min_size=1, max_size=3).map(tuple)),
)
PREDICATES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(tuple).map(And),
        st.lists(inner, min_size=2, max_size=3).map(tuple).map(Or),
        inner.map(Not),
    ),
    max_leaves=6,
)
EDGES = st.lists(NUMBERS, min_size=1, max_size=5, unique=True).map(sorted)
CATEGORIES = st.one_of(
    st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True), st.just([True]), st.just([False, True])
)
WEIGHTS = st.one_of(NUMBERS, st.fractions()).filter(bool)
SHARES = st.floats(0, 1, exclude_min=True, exclude_max=True)
BINS = st.one_of(st.none(), EDGES, CATEGORIES)
AXES = st.dictionaries(NAMES, BINS, min_size=1, max_size=3).map(lambda axes: tuple(axes.items()))
SIMPLE: st.SearchStrategy[Query] = st.one_of(
    PREDICATES.map(count),
    PREDICATES.map(proportion),
    NAMES.map(total),
    NAMES.map(mean),
    NAMES.map(variance),
    NAMES.map(std),
    st.lists(NAMES, min_size=2, max_size=2, unique=True).map(lambda names: covariance(*names)),
    st.builds(quantile, NAMES, st.lists(SHARES, min_size=1, max_size=3, unique=True), st.one_of(st.none(), EDGES)),
    st.builds(median, NAMES, st.one_of(st.none(), EDGES)),
    st.builds(histogram, NAMES, BINS),
    AXES.filter(lambda axes: len(axes) > 1).map(lambda axes: Crosstab(axes=axes)),
    st.builds(lambda predicate, axes: CountBy(predicate=predicate, axes=axes), PREDICATES, AXES),
    st.dictionaries(NAMES, WEIGHTS, min_size=1, max_size=3).map(linear),
    st.lists(NAMES, min_size=1, max_size=3, unique=True).map(moments),
)
QUERIES = st.one_of(SIMPLE, st.lists(SIMPLE, min_size=1, max_size=3).map(lambda parts: stack(*parts)))
PIECES = st.sampled_from(
    [
        *[
            "count(",
            "proportion(",
            "stack(",
            "total(",
            "histogram(",
            "linear(",
            "moments(",
            "custom(",
            "by",
            "height",
            "sat",
        ],
        *["(", ")", "[", "]", ",", ":", "/", "&", "|", "~", "<", "<=", "==", "!=", "=", "!", "in", "true", "and", "`"],
        *["1", "-1", "1e9", "1e999", ".5", "5.", "--1", "0", '"f"', "'m'", '"', "'", "\\", " ", "\n", "\0", "é"],
    ]
)
GARBAGE = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join))
