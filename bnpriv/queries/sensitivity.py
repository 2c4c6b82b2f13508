"""Column sensitivity: how far an answer can move when some columns of a table change arbitrarily.

Noise is fitted to it: its scale is the sensitivity to all queried columns over epsilon or, by a quilt, the sensitivity
to the near columns over epsilon less what the others tell about a secret.

Why it is a question about one record: tables that differ in the columns K have records that differ in K, and the answer
is a sum of one function g over the n records. By the triangle inequality the change is at most n times the largest
``||g(x) - g(x')||`` over records x, x' that agree outside K, and it is exactly that when all n records are x in one
table and x' in the other. The answer here is the one that is released: grid steps are whole numbers, and the exact sum
is rounded once to a double.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import cast, final

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import Bound
from bnpriv.errors import ParameterError, QueryError, SchemaError, SizeError
from bnpriv.queries.asked import as_query
from bnpriv.queries.base import Indicator, Query
from bnpriv.queries.cells import Leaf
from bnpriv.queries.clusters import Cluster, Extent, clusters, combined, sum_of
from bnpriv.queries.custom import Custom
from bnpriv.queries.diameters import Norm
from bnpriv.queries.given import GivenAnswer
from bnpriv.queries.normal_form import NormalForm, normal_form
from bnpriv.queries.records import Contribution, grouped, scale_of, tabulate
from bnpriv.queries.weighted import Weighted
from bnpriv.tables.schema import Column, Schema, require_schema

EXACT_WITHIN = Fraction(1, 10**9)
DOUBLE_BITS = 53

MOST_TRUTHS = 2**26
"""Truth values of all comparisons of a column in all cells between their constants: 64 MiB, or 4,000 bins."""


def column_sensitivity(query: Query | str, columns: Iterable[str], schema: Schema, norm: int = 1) -> Bound:
    """How far the answer can move when only `columns` change, but arbitrarily.

    Parameters
    ----------
    query : Query or str
        Any query.
    columns : iterable of str
        The columns that may change; those that the query does not read make no difference.
    schema : Schema
        What the columns may hold.
    norm : {1, 2}
        The norm of the change of the answer.

    Returns
    -------
    Bound
        Its upper end is never too small: it includes the rounding of this computation and of the released answer. Of
        the kind "exact" when the ends agree to 1e-9, else "certified".

    Raises
    ------
    SchemaError
        If a column is not declared.
    QueryError
        If the query does not fit the schema.
    ParameterError
        If `norm` is neither 1 nor 2.

    Notes
    -----
    docs/claims/column_sensitivity.md.

    Examples
    --------
    >>> from bnpriv.queries.constructors import mean
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=1000, columns={"height": Real(120, 220), "sat": Real(400, 1600)})
    >>> float(column_sensitivity(mean("height"), {"height"}, schema))
    100.0
    >>> float(column_sensitivity(mean("height"), {"sat"}, schema))
    0.0
    """
    return _sensitivity(as_query(query), columns, schema, norm, Fraction(1))


def record_sensitivity(query: Query, columns: Iterable[str], schema: Schema, norm: int = 1) -> Bound:
    """How far the answer can move when `columns` change in one record only, but arbitrarily.

    A custom query need not be a sum over records: what all records may do stands for one.

    Parameters
    ----------
    query : Query
        Any query.
    columns : iterable of str
        The columns that may change.
    schema : Schema
        What the columns may hold, and the number of records.
    norm : {1, 2}
        The norm of the change of the answer.

    Returns
    -------
    Bound
        As of `column_sensitivity`. The change of the exact answer is that of all records divided by their number; the
        rounding of the released answer is not.

    Raises
    ------
    SchemaError
        If a column is not declared.
    QueryError
        If the query does not fit the schema.
    ParameterError
        If `norm` is neither 1 nor 2.

    Examples
    --------
    >>> from bnpriv.queries.constructors import mean
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=1000, columns={"age": Real(0, 64), "stamp": Real(2.0**52, 2.0**52 + 64)})
    >>> round(float(record_sensitivity(mean("age"), {"age"}, schema)), 9)
    0.064
    >>> float(record_sensitivity(mean("stamp"), {"stamp"}, schema))
    1.064
    """
    return _sensitivity(query, columns, schema, norm, Fraction(1, schema.records))


def _sensitivity(query: Query, columns: Iterable[str], schema: Schema, norm: int, share: Fraction) -> Bound:
    """How far the answer can move when `columns` change in a share of the records."""
    require_schema(schema)
    moving = checks.subset("columns", columns, schema.columns, error=SchemaError)
    if isinstance(norm, bool) or norm not in (1, 2):
        raise ParameterError("norm must be 1 or 2", found=repr(norm), remedy="Use 1 for Laplace, 2 for Gaussian noise.")
    if isinstance(query, Custom):
        _check_columns(query, schema)
        declared = query.declared(moving)
        return declared if share == 1 else Bound(0.0, declared.upper, "certified")
    asked = prepared(query, schema)
    key = (moving & query.columns, norm, share)
    if key not in asked.known:
        asked.known[key] = _searched(asked, *key)
    return asked.known[key]


def _searched(asked: Prepared, moving: frozenset[str], norm: int, share: Fraction) -> Bound:
    """Work a sensitivity out: the outputs in clusters that move apart, each with the rounding of its doubles."""
    added = replace(asked.whole, moving=moving)
    extents = [_released(asked, cluster, norm, share) for cluster in clusters(added, range(len(asked.form.labels)))]
    total = combined([extent for extent in extents if extent.upper > 0], cast("Norm", norm))
    close = total.upper - total.lower <= EXACT_WITHIN * total.upper
    return Bound(_double(total.lower, -math.inf), _double(total.upper, math.inf), "exact" if close else "certified")


@final
@dataclass(eq=False)
class Prepared:
    """One query compiled for one schema, with the sensitivities and ranges that were worked out so far.

    Parameters
    ----------
    form : NormalForm
    whole : Contribution
        The query, seen by a change of all columns.
    known : dict
        Sensitivities by columns, norm and share of the records.
    """

    form: NormalForm
    whole: Contribution
    known: dict[tuple[frozenset[str], int, Fraction], Bound] = field(
        default_factory=dict[tuple[frozenset[str], int, Fraction], Bound]
    )
    _outer: dict[int, tuple[Fraction, Fraction]] = field(default_factory=dict[int, "tuple[Fraction, Fraction]"])

    @cached_property
    def ranges(self) -> list[tuple[Fraction, Fraction]]:
        """Numbers between which the outputs lie, as close as they are known."""
        return [self._range(output) for output in range(len(self.form.labels))]

    def _range(self, output: int) -> tuple[Fraction, Fraction]:
        """Enclose one output by the ends of each column alone or, where it fits, by a table of what a record adds."""
        low = high = self.form.offset[output]
        for part in self.whole.parts([output]):
            ends = self.whole.outer(part, output)
            scale = scale_of(self.whole, [part], [output])
            table = tabulate(self.whole, part, [output], scale)
            if table is not None:
                error = 0.0 if table.grain is not None else table.magnitude * (table.summands + 2) * 2.0**-DOUBLE_BITS
                least, most = float(table.values.min()) - error, float(table.values.max()) + error
                ends = (max(ends[0], Fraction(least) * scale), min(ends[1], Fraction(most) * scale))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def outer(self, output: int) -> tuple[Fraction, Fraction]:
        """Numbers between which an output lies."""
        if output not in self._outer:
            parts = [self.whole.outer(part, output) for part in self.whole.parts([output])]
            shift = self.form.offset[output]
            self._outer[output] = sum((low for low, _ in parts), shift), sum((high for _, high in parts), shift)
        return self._outer[output]


_recent: deque[tuple[Query, Schema, tuple[Column, ...], Prepared]] = deque(maxlen=6)


def prepared(query: Query, schema: Schema) -> Prepared:
    """Compile a query, unless it is one of the last few.

    Queries are told apart by identity: equal constants may be of different types, which queries tell apart.
    """
    columns = tuple(schema.columns.values())
    for known, of, seen, found in tuple(_recent):
        if known is query and of is schema and len(seen) == len(columns) and all(map(operator.is_, seen, columns)):
            return found
    form = normal_form(query, schema)
    _check_size(form)
    found = Prepared(form=form, whole=Contribution.of(form))
    _recent.appendleft((query, schema, columns, found))
    return found


def sensitivity_of_numbers(query: Query, schema: Schema, places: Iterable[int]) -> float:
    """How far some numbers of the exact answer can move together, in the 1-norm, by any change of the table.

    Parameters
    ----------
    query : Query
        A built-in query.
    schema : Schema
        What the columns may hold.
    places : iterable of int
        Where the numbers are in the answer.
    """
    return float(sum_of(clusters(prepared(query, schema).whole, list(places)), 1).upper)


def _check_size(form: NormalForm) -> None:
    """Refuse so many comparisons of one column that tables of them take too much memory."""
    leaves: dict[str, set[Leaf]] = {}
    for term in form.terms:
        for leaf in term.predicate.comparisons() if isinstance(term, Indicator) else ():
            leaves.setdefault(leaf.column, set()).add(leaf)
    for name, compared in leaves.items():
        cuts = len({value for leaf in compared for value in leaf.constants})
        size = len(compared) * (2 * cuts + 1)
        if size > MOST_TRUTHS:
            raise SizeError(
                f"the comparisons of a column, each in every cell between them, may be at most {MOST_TRUTHS:,}",
                found=f"{size:,}: {len(compared):,} comparisons of {name!r}",
                remedy="Ask for fewer bins or conditions at once.",
            )


def separate_columns(query: Query, schema: Schema, norm: int = 1) -> tuple[frozenset[str], ...]:
    """The queried columns in blocks whose sensitivities add.

    Parameters
    ----------
    query : Query
        Any query.
    schema : Schema
        What the columns may hold.
    norm : {1, 2}
        The norm of the change of the answer; in the 2-norm sensitivities add for one number only.

    Returns
    -------
    tuple of frozenset of str
        The sensitivity of any set of columns is the sum over the blocks of those of its columns in the block, apart
        from the rounding of the answer, which is counted for every block.

    Examples
    --------
    >>> from bnpriv.queries.constructors import linear
    >>> from bnpriv.tables.schema import Real
    >>> schema = Schema(records=1000, columns={"height": Real(120, 220), "sat": Real(400, 1600)})
    >>> sorted(map(sorted, separate_columns(linear({"height": 1.0, "sat": 0.5}), schema)))
    [['height'], ['sat']]
    """
    together = (query.columns,)
    if isinstance(query, (Custom, GivenAnswer)):
        by_column = isinstance(query, Custom) and isinstance(query.sensitivity, tuple) and norm == 1
        return tuple(frozenset({name}) for name in sorted(query.columns)) if by_column else together
    whole = prepared(query, schema).whole
    if norm != 1 and len(whole.rows) > 1:
        return together
    outputs = range(len(whole.rows))
    fed = {part: frozenset(whole.fed(part, outputs)) for part in whole.parts(outputs)}
    # parts that feed several outputs are searched together where they share one
    blocks = grouped((to if len(to) > 1 else frozenset[int](), whole.columns(part)) for part, to in fed.items())
    return tuple(frozenset(names) for _, names in blocks)


def answer_range(query: Query, schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers between which each output lies, whatever the table holds.

    Parameters
    ----------
    query : Query
        Any query; a custom one has the range that was declared, or none.
    schema : Schema
        What the columns may hold.

    Returns
    -------
    lower, upper : ndarray of float, shape (outputs,)
        As tight as they can be, unless an output reads too many columns at once for their values to be tried.

    Raises
    ------
    QueryError
        If the query does not fit the schema.

    Examples
    --------
    >>> from bnpriv.queries.constructors import moments
    >>> from bnpriv.tables.schema import Real
    >>> lower, upper = answer_range(moments(["x"]), Schema(records=10, columns={"x": Real(-1, 1)}))
    >>> lower.tolist(), upper.tolist()
    ([-1.0, 0.0], [1.0, 1.0])
    """
    if isinstance(query, Weighted):
        lower, upper = answer_range(query.asked, schema)
        return lower * np.array(query.weights), upper * np.array(query.weights)
    if isinstance(query, GivenAnswer):
        return np.full(query.size, -math.inf), np.full(query.size, math.inf)
    if isinstance(query, Custom):
        _check_columns(query, schema)
        low, high = query.span or (-math.inf, math.inf)
        return np.full(query.size, low), np.full(query.size, high)
    ranges = prepared(query, schema).ranges
    # released answers are the nearest doubles, and rounding keeps the order
    return np.array([_nearest(low) for low, _ in ranges]), np.array([_nearest(high) for _, high in ranges])


def _released(asked: Prepared, cluster: Cluster, norm: int, share: Fraction) -> Extent:
    """Scale the change of the exact answer to a share of the records, and add what rounding to doubles can add."""
    of_all = cluster.largest(cast("Norm", norm))
    if of_all.upper == 0:
        return of_all
    found = Extent(of_all.lower * share, of_all.upper * share)
    ranges = [asked.outer(output) for output in cluster.outputs]
    added = [_rounding(asked.form, output, *ends) for output, ends in zip(cluster.outputs, ranges, strict=True)]
    # the 1-norm of what is added is no smaller than its 2-norm
    slack = sum(added, Fraction(0))
    upper = found.upper + slack
    if len(ranges) == 1:
        low, high = ranges[0]  # rounding keeps the order, so no two rounded answers lie further apart than these
        upper = max(found.upper, min(upper, Fraction(_nearest(high)) - Fraction(_nearest(low))))
    return Extent(max(Fraction(0), found.lower - slack), upper)


def _rounding(form: NormalForm, output: int, low: Fraction, high: Fraction) -> Fraction:
    """By how much rounding to doubles can move two answers apart: nothing if all answers are doubles."""
    largest = max(abs(low), abs(high))
    numbers = [weight for weight in (*form.rows[output].values(), form.offset[output]) if weight]
    denominator = max((weight.denominator for weight in numbers), default=1)
    dyadic = all(weight.denominator & (weight.denominator - 1) == 0 for weight in numbers)
    if dyadic and largest * denominator <= 2**DOUBLE_BITS:
        return Fraction(0)
    return Fraction(math.ulp(_nearest(largest)))


def _check_columns(query: Query, schema: Schema) -> None:
    checks.subset("the columns of a query", query.columns, schema.columns, error=SchemaError)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise QueryError(
            "answers must be numbers that fit into a double",
            found="a possible answer above 1e308",
            remedy="Use smaller weights, or measure the columns in a larger unit.",
        ) from None


def _double(value: Fraction, toward: float) -> float:
    """Round a fraction to a double in the direction `toward`."""
    result = _nearest(value)
    wrong = Fraction(result) < value if toward > 0 else Fraction(result) > value
    return math.nextafter(result, toward) if wrong else result
