"""Derived queries, such as variances and quantiles: noise is added to sums, and the answer is computed from these.

What a mechanism sees of such a question is its base: numbers that are sums over records, like those of every other
query. The rest is post-processing of what was released: it sees no data and costs no privacy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, TypeVar

from bnpriv.core.queries.base import GivenAnswer, Query
from bnpriv.core.queries.builtin import Stack
from bnpriv.core.schema import Schema

Number = TypeVar("Number")

Span = tuple[float, float]
"""The least and the greatest value that a number may have."""


class Derived(Query):
    """A query whose `outputs` are a base of sums; the answer is computed from the noisy base."""

    own_units: ClassVar[bool] = True
    """Whether every number of the base has its own unit, and therefore its own weight."""

    certain: ClassVar[bool] = True
    """Whether a base without noise determines the answer, rather than an interval around it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each number of the answer; a single one is named by the query's text."""
        return (str(self),)

    @abstractmethod
    def base_text(self, schema: Schema) -> str:
        """What the noise is added to, in words."""

    @abstractmethod
    def ranges(self, schema: Schema) -> tuple[Span, ...]:
        """The range of each number of the answer, whatever the table holds."""

    @abstractmethod
    def derive(self, base: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """Compute the answer from a released base, and clamp it to its range."""

    @abstractmethod
    def enclose(self, box: Sequence[Span], schema: Schema) -> tuple[Span, ...]:
        """Intervals that contain the answer if each exact number of the base lies in its span."""

    @abstractmethod
    def error_bounds(self, halves: Sequence[float], schema: Schema) -> tuple[float, ...]:
        """The largest error of each number of the answer if the base errs by at most the given halves.

        Empty where nothing but the range bounds it.
        """


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """How the numbers of an answer are computed from the released ones, query by query.

    Parameters
    ----------
    pieces : tuple of (Query, range)
        Each question, and where its numbers are in the base.
    schema : Schema
    """

    pieces: tuple[tuple[Query, range], ...]
    schema: Schema

    def labels(self, base: Sequence[str]) -> tuple[str, ...]:
        """The name of each number of the answer, from the names of the base."""
        return self._gathered(lambda query, _: query.labels, base.__getitem__)

    def values(self, base: Sequence[float]) -> tuple[float, ...]:
        """The answer computed from a released base."""
        return self._gathered(lambda query, own: query.derive([base[k] for k in own], self.schema), base.__getitem__)

    def intervals(self, box: Sequence[Span], ranges: Sequence[Span]) -> tuple[Span, ...]:
        """Intervals of the answer from intervals of the base, each cut to its range."""
        return self._gathered(
            lambda query, own: query.enclose([_inside(box[k], ranges[k]) for k in own], self.schema), box.__getitem__
        )

    def ranges(self, base: Sequence[Span]) -> tuple[Span, ...]:
        """The ranges of the answer, from those of the base."""
        return self._gathered(lambda query, _: query.ranges(self.schema), base.__getitem__)

    def shown_as_they_are(self, base: Sequence[bool]) -> tuple[bool, ...]:
        """A property of the base's numbers, passed on to those that are in the answer themselves; else False."""
        return self._gathered(lambda _, own: [False] * len(own), base.__getitem__)

    def _gathered(
        self, derived: Callable[[Derived, range], Iterable[Number]], plain: Callable[[int], Number]
    ) -> tuple[Number, ...]:
        """Apply `derived` to each derived query with its places, and `plain` to every place of the others."""
        found: list[Number] = []
        for query, places in self.pieces:
            found += derived(query, places) if isinstance(query, Derived) else map(plain, places)
        return tuple(found)

    @property
    def uncertain(self) -> tuple[bool, ...]:
        """Whether even a base without noise leaves a number of the answer open."""
        return self._gathered(lambda query, _: [not query.certain] * len(query.labels), lambda _: False)

    @property
    def groups(self) -> tuple[range, ...]:
        """The places in the answer of each query."""
        found: list[range] = []
        for query, places in self.pieces:
            start = found[-1].stop if found else 0
            found.append(range(start, start + (len(query.labels) if isinstance(query, Derived) else len(places))))
        return tuple(found)


def derivation(query: Query, schema: Schema) -> Derivation | None:
    """How an answer is computed from what is released; None where they are the same.

    Examples
    --------
    >>> from bnpriv.io.query_text import parse_query
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=100, columns={"height": Real(120, 220)})
    >>> derivation(parse_query("mean(height)"), schema) is None
    True
    >>> found = derivation(parse_query("stack(mean(height), variance(height))"), schema)
    >>> found.values([171.0, 2.0, 104.0])
    (171.0, 100.0)
    """
    leaves = query.parts if isinstance(query, Stack) else () if isinstance(query, GivenAnswer) else (query,)
    if not any(isinstance(leaf, Derived) for leaf in leaves):
        return None
    pieces: list[tuple[Query, range]] = []
    for leaf in leaves:
        start = pieces[-1][1].stop if pieces else 0
        pieces.append((leaf, range(start, start + leaf.dimension(schema))))
    return Derivation(pieces=tuple(pieces), schema=schema)


def widened(low: Fraction, high: Fraction, ends: Span) -> Span:
    """The smallest doubles around an interval, clamped to a range."""
    down, up = math.nextafter(float(low), -math.inf), math.nextafter(float(high), math.inf)
    return clipped(down, ends), clipped(up, ends)


def clipped(value: float, ends: Span) -> float:
    """A value clamped to a range."""
    return min(max(value, ends[0]), ends[1])


def _inside(span: Span, ends: Span) -> Span:
    """The intersection of an interval, widened by its rounding, with a range."""
    low, high = math.nextafter(span[0], -math.inf), math.nextafter(span[1], math.inf)
    return clipped(low, ends), clipped(high, ends)
