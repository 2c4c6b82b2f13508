"""Random queries over three tiny columns."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from hypothesis import strategies as st  # noqa: TID253 - tests import this file when they run

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.queries.asked import count, crosstab, histogram, linear, mean, moments, proportion, stack, total
from bnpriv.core.queries.base import Indicator, Output, Power, Product, Query, Term
from bnpriv.core.queries.predicates import And, Comparison, IsIn, Not, Or, Predicate
from bnpriv.core.queries.spread import covariance, std, variance
from bnpriv.core.schema import Column, Schema

BOUNDS = st.sampled_from([(-2.0, 3.0), (0.0, 1.0), (-0.3, 0.9), (5.0, 6.0), (-1.0, 0.25), (-7.0, -6.5)])
REALS = st.builds(lambda ends, steps: Real(*ends, steps=steps), BOUNDS, st.integers(4, 7))
INTEGERS = st.sampled_from([Integer(-2, 3), Integer(0, 1), Integer(-3, -1), Integer(1, 4)])
CATEGORIES = st.sampled_from([Categorical(["f", "m"]), Categorical(["a", "b", "c"]), Categorical([True, False])])
WEIGHTS = st.sampled_from([1, -1, 2, 0.5, -0.1, 3, Fraction(1, 3), -1e-3, 40])

ABOUT = st.sampled_from([(Fraction(0), Fraction(0)), (Fraction(1, 2), Fraction(-3)), (Fraction(5), Fraction(1, 3))])


@st.composite
def leaf(draw: st.DrawFn, name: str, column: Column) -> Predicate:
    if isinstance(column, Categorical):
        chosen = draw(st.lists(st.sampled_from(column.categories), min_size=1, max_size=2, unique=True))
        operator = draw(st.sampled_from(["==", "!=", "in"]))
        return IsIn(name, tuple(chosen)) if operator == "in" else Comparison(name, operator, chosen[0])
    width = column.upper - column.lower
    points = [column.lower, column.upper, column.lower + width / 2, column.lower - 1, column.upper + 1]
    points += [column.lower + width * share / (2 * column.steps) for share in range(2 * column.steps)]
    if isinstance(column, Integer):
        points += list(range(column.lower, column.upper + 1))
    constant = st.sampled_from(points)
    operator = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "in"]))
    if operator == "in":
        return IsIn(name, tuple(draw(st.lists(constant, min_size=1, max_size=3))))
    return Comparison(name, operator, draw(constant))


@st.composite
def condition(draw: st.DrawFn, schema: Schema) -> Predicate:
    names = draw(st.lists(st.sampled_from(sorted(schema.columns)), min_size=1, max_size=3))
    parts = [draw(leaf(name, schema[name])) for name in names]
    parts = [Not(part) if draw(st.booleans()) else part for part in parts]
    while len(parts) > 1:
        joined = And((parts[0], parts[1])) if draw(st.booleans()) else Or((parts[0], parts[1]))
        parts = [joined, *parts[2:]]
    return parts[0]


@final
@dataclass(frozen=True)
class Raw(Query):
    """Outputs as no constructor makes them: several terms, weights of both signs."""

    given: tuple[Output, ...]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(name for output in self.given for _, term in output.terms for name in term.columns)

    def outputs(self, schema: Schema) -> tuple[Output, ...]:
        return self.given


@st.composite
def raw(draw: st.DrawFn, schema: Schema) -> Query:
    numeric = [name for name in sorted(schema.columns) if not isinstance(schema[name], Categorical)]
    outputs: list[Output] = []
    for place in range(draw(st.integers(1, 2))):
        terms: list[tuple[Fraction, Term]] = []
        for _ in range(draw(st.integers(1, 3))):
            if len(numeric) > 1 and draw(st.integers(0, 3)) == 0:
                terms.append((Fraction(draw(WEIGHTS)), Product(numeric[0], numeric[1], about=draw(ABOUT))))
                continue
            if draw(st.booleans()):
                term: Indicator | Power = Power(draw(st.sampled_from(numeric)), draw(st.integers(1, 2)))
            else:
                term = Indicator(draw(condition(schema)))
            terms.append((Fraction(draw(WEIGHTS)), term))
        outputs.append(Output(str(place), tuple(terms), averaged=draw(st.booleans())))
    return Raw(tuple(outputs))


@st.composite
def edges(draw: st.DrawFn, column: Column) -> list[float] | None:
    if isinstance(column, Categorical):
        return None
    places = st.sampled_from([column.lower + share * (column.upper - column.lower) / 8 for share in range(-1, 10)])
    return sorted(draw(st.lists(places, min_size=2, max_size=4, unique=True)))


@st.composite
def crossed(draw: st.DrawFn, schema: Schema) -> Query:
    """A crosstab, or counts by groups."""
    names = draw(st.lists(st.sampled_from(sorted(schema.columns)), min_size=1, max_size=2, unique=True))
    found = {name: draw(edges(schema[name])) for name in names}
    bins = {name: each for name, each in found.items() if each is not None}
    return crosstab(*names, bins=bins) if len(names) > 1 else count(draw(condition(schema))).by(*names, bins=bins)


@st.composite
def simple(draw: st.DrawFn, schema: Schema) -> Query:
    numeric = [name for name in sorted(schema.columns) if not isinstance(schema[name], Categorical)]
    kinds = ["count", "count", "proportion", "histogram", "crossed"]
    kinds += ["total", "mean", "linear", "moments", "raw", "spread"] if numeric else []
    kind = draw(st.sampled_from(kinds))
    if kind == "crossed":
        return draw(crossed(schema))
    if kind == "raw":
        return draw(raw(schema))
    if kind in ("count", "proportion"):
        predicate = draw(condition(schema))
        return count(predicate) if kind == "count" else proportion(predicate)
    if kind == "histogram":
        name = draw(st.sampled_from(sorted(schema.columns)))
        return histogram(name, draw(edges(schema[name])))
    names = draw(st.lists(st.sampled_from(numeric), min_size=1, max_size=2, unique=True))
    if kind == "linear":
        return linear({name: draw(WEIGHTS) for name in names})
    if kind == "spread":
        return covariance(*names) if len(names) > 1 else draw(st.sampled_from([variance, std]))(names[0])
    if kind == "moments":
        return moments(names)
    return total(names[0]) if kind == "total" else mean(names[0])


@st.composite
def questions(draw: st.DrawFn) -> tuple[Query, Schema]:
    columns: dict[str, Column] = {
        "x": draw(REALS),
        "y": draw(st.one_of(REALS, INTEGERS)),
        "z": draw(st.one_of(INTEGERS, CATEGORIES)),
    }
    schema = Schema(records=draw(st.sampled_from([1, 7, 1000])), columns=columns)
    parts = draw(st.lists(simple(schema), min_size=1, max_size=4))
    return (parts[0] if len(parts) == 1 else stack(*parts)), schema
