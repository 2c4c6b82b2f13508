"""A model made of records: the law of one record is a public table, reweighted by draws of the Bayesian bootstrap.

docs/claims/public_records.md. The weights are whole numbers over 2^62, by a hash that every computer has, so that a law
is known to the last digit and can be worked out again, with no other tool, from the table and two numbers.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Binned, Categorical, State
from bnpriv.core.distributions import FUNCTION_ERROR, magnitude
from bnpriv.core.evidence.records import numerator
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.queries.base import NormalForm, columns_of
from bnpriv.core.queries.contribution import cleaned, term_totals
from bnpriv.core.schema import Column, Schema
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.digest import sha256
from bnpriv.errors import DataError, FileError, FrameworkError

BITS = 62
"""Weights are whole numbers that sum to 2^BITS: their sums fit in 64 bits."""

RECORD_DRAWS, FEWEST_TRIED = 40, 30
"""Draws of weights by default, and the fewest records from which they suffice in 95 % of public tables, as simulated:
docs/claims/public_records.md."""

MOST_RECORD_DRAWS = 10_000
"""More draws, which a file may ask for, would keep every plan waiting."""

MOST_KEPT_WEIGHTS = 2**22
"""Weights are kept up to so many; more are drawn again for every query."""

KEPT_FORMS = 8


@dataclass(frozen=True, eq=False)
class PublicRecords:
    """The records of a public table as models of one record: each model is a draw of their weights.

    Parameters
    ----------
    columns : mapping from str to ndarray of shape (records,)
        Numbers, NaN where one is missing; or categories.
    draws : int
        How many models there are.
    seed : int
        With which the weights are drawn.

    Raises
    ------
    DataError
        If there are no records, or columns of different lengths.

    Notes
    -----
    Rubin, "The Bayesian bootstrap" (Annals of Statistics 1981).

    Examples
    --------
    >>> public = PublicRecords({"ill": np.array(["no", "no", "yes"])}, draws=2, seed=0)
    >>> [sum(public.weights(draw).tolist()) == 2**BITS for draw in range(2)]
    [True, True]
    """

    columns: Mapping[str, NDArray[Any]]
    draws: int = RECORD_DRAWS
    seed: int = 0
    kept: Cache = field(default_factory=Cache, init=False, repr=False)

    def __post_init__(self) -> None:
        if checks.whole("draws", self.draws, error=FrameworkError) > MOST_RECORD_DRAWS:
            raise FrameworkError(
                f"public records are weighted anew in at most {MOST_RECORD_DRAWS:,} draws",
                found=f"{self.draws:,}",
                remedy=f"{RECORD_DRAWS} are usual.",
            )
        checks.whole("seed", self.seed, least=0, error=FrameworkError)
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) != 1 or not min(lengths):
            raise DataError(
                "public records need one value or gap in every column",
                found=f"columns of {checks.listing(sorted(lengths)) or 'no'} records",
                remedy="Give a table with records.",
            )
        frozen = {name: np.array(values) for name, values in sorted(self.columns.items())}
        for values in frozen.values():
            values.flags.writeable = False
        object.__setattr__(self, "columns", ReadOnly(frozen))

    @property
    def records(self) -> int:
        """How many public records there are."""
        return len(next(iter(self.columns.values())))

    @property
    def coverage(self) -> str:
        """In how many public tables like this the noise suffices for the law behind them, as simulated.

        Examples
        --------
        >>> PublicRecords({"age": np.arange(268.0)}).coverage.partition(" the noise ")[0]
        'with 268 public records: in 95 % of such tables'
        """
        with_these = f"with {self.records:,} public records"
        if self.records >= FEWEST_TRIED and self.draws >= RECORD_DRAWS:
            enough = "the noise of one answer of up to 4 numbers suffices for the distribution behind them"
            return f"{with_these}: in 95 % of such tables {enough}"
        return (
            f"{with_these} and {self.draws:,} draws of their weights: that noise suffices for the distribution behind "
            f"them was tried with {FEWEST_TRIED} and {RECORD_DRAWS} or more"
        )

    @cached_property
    def identity(self) -> str:
        """A hash of all values, the number of draws and the seed."""
        parts: list[str | NDArray[Any]] = []
        for name, values in self.columns.items():
            parts += [f"{name!r} {values.dtype.str} ", repr(values.tolist()) if values.dtype == object else values]
        return sha256(f"{self.records} {self.draws} {self.seed} ", *parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicRecords) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def weights(self, draw: int, further: int = 0) -> IntArray:
        """The weights of the records, and of some further ones behind them, in one draw; they sum to 2^62.

        They are the gaps between uniform whole numbers: a draw from the Dirichlet law with parameters 1. After the last
        draw come equal weights: the table as it is.
        """
        if draw == self.draws:
            share, rest = divmod(1 << BITS, self.records)
            return share + (np.arange(self.records) < rest)
        held: dict[tuple[int, int], IntArray] = self.kept.table("weights")
        if (draw, further) in held:
            return held[draw, further]
        size = 8 * (self.records + further - 1)
        raw = hashlib.shake_256(f"bnpriv records {self.seed} {draw}".encode()).digest(size)
        cuts = np.sort(np.frombuffer(raw, dtype="<u8") >> np.uint64(64 - BITS)).astype(np.int64)
        found = np.diff(cuts, prepend=np.int64(0), append=np.int64(1 << BITS))
        if len(found) * self.draws <= MOST_KEPT_WEIGHTS:
            while held and len(found) * (len(held) + 1) > MOST_KEPT_WEIGHTS:
                held.pop(next(iter(held)))
            held[draw, further] = found
        return found

    def law(self, form: NormalForm, draw: int, beside: WholeLaw) -> WholeLaw:
        """The law of what one record adds to the numerators of an answer.

        Parameters
        ----------
        form : NormalForm
            The query, without the shifts of its outputs; of several outputs the first is the property that is hidden.
        draw : int
        beside : WholeLaw
            That of a network, which counts as one more record: for what no public record shows.
        """
        columns, order, starts = self._grouped(form)
        joined = [np.concatenate([a, b]) for a, b in zip(columns, beside.columns, strict=True)]
        ends = further_records(joined, draw) if draw < self.draws else [column[:0] for column in joined]
        weights = self.weights(draw, len(ends[0]))
        # sums of whole numbers below 2^63: exact in any order
        masses = [np.add.reduceat(weights[order], starts), weights[self.records :]]
        with np.errstate(divide="ignore"):
            own = np.log(np.concatenate(masses).astype(np.float64))
        part, rest = math.log(self.records / (self.records + 1)) - BITS * math.log(2), -math.log1p(self.records)
        logs = np.concatenate([own + part, beside.logs + rest])
        # a log of up to 43, two roundings of numbers that size, and the ends; the network's own error
        steps = FUNCTION_ERROR * (BITS + magnitude(logs)) + 4 * magnitude(logs) + 8
        joined = [np.concatenate(each) for each in zip(columns, ends, beside.columns, strict=True)]
        return WholeLaw.of(joined, logs, beside.error + UNIT_ROUNDOFF * steps)

    def counts(self, form: NormalForm) -> tuple[Sequence[NDArray[Any]], IntArray]:
        """What records add to the numerators of an answer, and how many add each."""
        columns, order, starts = self._grouped(form)
        return columns, np.diff(starts, append=len(order))

    def joint(self, states: Mapping[str, Sequence[State]], schema: Schema) -> FloatArray:
        """The shares of the states of some nodes, of shape (draws + 1, *states): in every draw, and in the table.

        Parameters
        ----------
        states : mapping from str to sequence
            Of the nodes of a network of records.
        schema : Schema

        Raises
        ------
        DataError
            If a record has a value that is no state.
        """
        shape = tuple(map(len, states.values()))
        codes = [state_places(schema[name], self.columns[name], known) for name, known in states.items()]
        cells = np.ravel_multi_index(tuple(codes), shape)
        weights = (self.weights(draw) / 2.0**BITS for draw in range(self.draws + 1))
        return np.array(
            [np.bincount(cells, each, math.prod(shape)).reshape(shape) for each in weights], dtype=np.float64
        )

    def _grouped(self, form: NormalForm) -> tuple[Sequence[NDArray[Any]], IntArray, IntArray]:
        """What each record adds, once for all that add the same; the records in that order, and where each starts."""
        asked = sorted(set[str]().union(*map(columns_of, form.terms)))
        key = (form.terms, form.wholes(), tuple(form.schema[name] for name in asked))
        return self.kept.latest("forms", key, KEPT_FORMS, lambda: self._group(form, asked))

    def _group(self, form: NormalForm, asked: Sequence[str]) -> tuple[Sequence[NDArray[Any]], IntArray, IntArray]:
        totals = [
            total.reshape(-1)
            for total in term_totals(form, {name: self.columns[name][:, np.newaxis] for name in asked})
        ]
        added = [numerator(whole, totals, (self.records,)) for whole in form.wholes()]
        ranks = ranked(added)
        order = np.argsort(ranks, kind="stable")
        starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))
        return [column[order[starts]] for column in added], order, starts

    def text(self) -> str:
        """The records as a table of comma-separated values, from which `public_records_in` reads them.

        Raises
        ------
        FileError
            If a label has a carriage return, which is read as the end of a line.
        """
        written = io.StringIO(newline="")
        lines = csv.writer(written, lineterminator="\n")
        lines.writerow(self.columns)
        lines.writerows(zip(*map(_written, self.columns.values()), strict=True))
        text = written.getvalue()
        if "\r" in text:
            raise FileError(
                "labels of public records must be written on one line",
                found="a carriage return in one",
                remedy="Rename it in the public table.",
            )
        return text


def state_places(column: Column, values: NDArray[Any], states: Sequence[State]) -> IntArray:
    """The place among the states of a node of what every value counts as."""
    found, places = np.unique(cleaned(column, values), return_inverse=True)
    known = {str(state): place for place, state in enumerate(states)}

    def state(counted: float) -> str:
        if isinstance(column, Categorical):
            return str(column.outcomes[int(counted)])
        if counted == GAP_MARK:
            return NOT_COUNTED
        if isinstance(column, Binned):
            return column.bin_of(counted)
        return str(int(counted)) if counted.is_integer() else repr(counted)

    named = list(map(state, found.tolist()))
    if not known.keys() >= set(named):
        raise DataError(
            "what public records count as must be states of the network",
            found="another value",
            remedy="Add it to the states of its node.",
        )
    return np.array([known[each] for each in named])[places.reshape(-1)]


def ranked(columns: Sequence[NDArray[Any]]) -> IntArray:
    """The place of every vector among the distinct ones in lexicographic order; of each a coordinate is in a column."""
    ranks: IntArray = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        ranks = np.unique(ranks * len(values) + places.reshape(-1), return_inverse=True)[1].reshape(-1)
    return ranks


def further_records(columns: Sequence[NDArray[Any]], draw: int) -> list[NDArray[Any]]:
    """The records that a draw has beyond those of the table, where they make an answer tell more of the property.

    Of all that is possible for a record with the largest value of the property the one with the largest number in the
    answer, and with the smallest value the one with the smallest number; in every other draw the other way round. Of
    several numbers the draws take one after the other.

    Parameters
    ----------
    columns : sequence of ndarray
        What one record may add: to the property, then to the numbers of an answer.
    draw : int

    Returns
    -------
    list of ndarray
        Two records, or none where nothing is asked beside the property, or that has one value.

    Examples
    --------
    >>> possible = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    >>> further_records(possible, 0), further_records(possible, 1)
    ([array([0, 1]), array([0, 1])], [array([0, 1]), array([1, 0])])
    """
    possible = WholeLaw.of(columns, np.zeros(len(columns[0])), 0.0).columns
    hidden, numbers = possible[0], possible[1:]
    if not numbers or hidden[0] == hidden[-1]:
        return [column[:0] for column in possible]
    number = numbers[draw // 2 % len(numbers)]
    chosen: list[int] = []
    for value, largest in ((hidden[0], draw % 2 == 1), (hidden[-1], draw % 2 == 0)):
        places = np.flatnonzero(hidden == value)
        end = number[places].max() if largest else number[places].min()
        # atoms are sorted: of those with this number the last is the largest as a whole, the first the smallest
        chosen.append(int(places[number[places] == end][-1 if largest else 0]))
    return [column[chosen] for column in possible]


def _written(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind != "f":
        return list(map(str, values.tolist()))
    return ["" if x != x else repr(int(x)) if x.is_integer() and abs(x) < 2**53 else repr(x) for x in values.tolist()]


def public_records_in(text: str, columns: Mapping[str, Column], *, draws: int, seed: int) -> PublicRecords:
    """Public records as `PublicRecords.text` wrote them.

    Raises
    ------
    DataError
        If a column is missing, a record has other fields, or one of numbers is none.
    """
    try:
        names, *rows = csv.reader(io.StringIO(text, newline=""))
    except (csv.Error, ValueError):
        names, rows = list[str](), list[list[str]]()
    if sorted(names) != sorted(columns) or not rows or any(len(row) != len(names) for row in rows):
        raise DataError(
            f"public records need the columns {checks.listing(columns)}, and one field of each in every line",
            found="others, or no records",
            remedy="Write the framework's files again.",
        )
    held = dict(zip(names, zip(*rows, strict=True), strict=True))
    try:
        numbers = {
            name: [float(x) if x else None for x in held[name]]
            for name, column in columns.items()
            if not isinstance(column, Categorical)
        }
    except ValueError:
        raise DataError(
            "numbers of public records must be written as numbers",
            found="other text",
            remedy="Write the framework's files again.",
        ) from None
    return public_records_of({**held, **numbers}, columns, draws=draws, seed=seed)


def public_records_of(
    values: Mapping[str, Sequence[Any]], columns: Mapping[str, Column], *, draws: int = RECORD_DRAWS, seed: int = 0
) -> PublicRecords:
    """Public records from the values of their columns: numbers, and categories or texts that write them, or None.

    Parameters
    ----------
    values : mapping from str to sequence
    columns : mapping from str to Column
        Those that are kept.
    draws, seed : int
        As of `PublicRecords`.
    """
    return PublicRecords(
        {name: _array(values[name], column) for name, column in columns.items()}, draws=draws, seed=seed
    )


def _array(values: Sequence[Any], column: Column) -> NDArray[Any]:
    if isinstance(column, Categorical):
        known: dict[Any, Any] = {str(label): category for label, category in column.labels.items()} | dict(
            column.labels
        )
        counted = [known.get(value, known.get(str(value), column.missing)) for value in values]
        # a gap among truth values or numbers is a text, and would make texts of them
        return np.array(counted, dtype=None if len(set(map(type, column.outcomes))) == 1 else object)
    return np.array([float(value) if isinstance(value, (int, float)) else math.nan for value in values])
