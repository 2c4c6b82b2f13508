"""What several answers of independent records tell together: that of one record which is swapped (theorems 4 and 5).

docs/claims/accountant.md. Three steps: the largest log ratio that weights of noise can make of two laws; the laws of one
record on the combinations of values that queries tell apart; the sum over swaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray, Kind, down, up
from bnpriv.core.accounting.entries import Entry, rounded_up
from bnpriv.core.accounting.total import gaussian_epsilon
from bnpriv.core.column_laws import law_kind
from bnpriv.core.columns import Categorical
from bnpriv.core.distributions import FUNCTION_ERROR, magnitude
from bnpriv.core.evidence.dataset import Counts, unknown_law
from bnpriv.core.evidence.laws import CUSTOM
from bnpriv.core.evidence.records import added_by, node_cells, rounding_of, told_by
from bnpriv.core.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.core.influence.ratios import independent_parts
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import MOST_TABLE_CELLS, LogTable, marginal
from bnpriv.core.networks.model_class import require_discrete
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.contribution import cleaned
from bnpriv.core.queries.custom import Custom
from bnpriv.core.queries.normal_form import NormalForm, columns_of, normal_form
from bnpriv.core.queries.sensitivity import record_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Secret
from bnpriv.core.whole_numbers import WholeLaw, summed, sums_bound
from bnpriv.errors import BnprivError, Refusal, SizeError
from bnpriv.kind import NOT_BY_RECORDS
from bnpriv.kinds.public_records import BITS

Array = NDArray[Any]

# --------------------------------------------------------------------------------------------------
# The largest log ratio that weights of noise can make of two laws on finitely many atoms.
#
# A number of the answer with Laplace noise has a u, one of its values ("places"). A box leaves u an interval of places.
# The steps between neighbouring places in the interval are free, all others known: a step below u raises an atom above
# it by rate * length, one above u lowers it.
# --------------------------------------------------------------------------------------------------

MOST_WORK = 2**25
"""The most boxes times atoms times numbers that are looked at; then the bounds of those that are left count."""

AT_ONCE = 2**21
"""Boxes times atoms that are looked at in one step."""

CLOSED = 2.0**-46
"""Log ratios closer than this are taken for one; it is added to the result."""

LARGEST_LOG = 300.0
"""Weights whose logs may differ by more are bounded by the largest ratio of single atoms alone."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """The numbers of an answer that have noise.

    Parameters
    ----------
    places : ndarray of shape (atoms, numbers)
        Which of its values every number has at an atom, in ascending order.
    steps : sequence of ndarray
        For each number the lengths of the steps between neighbouring values, over the scale of the noise.
    """

    places: IntArray
    steps: Sequence[FloatArray]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LawPairs:
    """Pairs of laws on common atoms, of which log ratios are sought; arrays have an axis of B pairs last.

    Parameters
    ----------
    above, below : ndarray of shape (atoms, B)
        Log masses of the law in the numerator, and in the denominator.
    ends : tuple of two ndarrays of shape (B,)
        The masses of a further record of either law.
    possible : tuple of two ndarrays of bool, shape (atoms, B)
        At which atoms it may be.
    bare : ndarray of shape (atoms,)
        Atoms with the same numbers without noise have the same one.
    bands : ndarray of shape (atoms,)
        Atoms with the same values of the columns that other releases read have the same one, ascending.
    band : float
        The epsilon of these releases.
    """

    above: FloatArray
    below: FloatArray
    ends: tuple[FloatArray, FloatArray]
    possible: tuple[Array, Array]
    bare: IntArray
    bands: IntArray
    band: float


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Boxes of u: of which pair of laws and bare answer, the first and last place of each number, and a bound."""

    pair: IntArray
    bare: IntArray
    low: IntArray
    high: IntArray
    bound: FloatArray

    def __getitem__(self, chosen: Any) -> Boxes:
        return Boxes(**{name: values[chosen] for name, values in vars(self).items()})

    @staticmethod
    def joined(*parts: Boxes) -> Boxes:
        """All boxes of several parts."""
        return Boxes(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in vars(parts[0])})


@final
class Search:
    """The search for the largest log ratio of pairs of laws, by branch and bound.

    Parameters
    ----------
    laws : LawPairs
    numbers : Numbers
    together : bool
        Whether only the largest of all pairs is wanted: others are then bounded by it.
    """

    def __init__(self, laws: LawPairs, numbers: Numbers, *, together: bool) -> None:
        self.laws, sizes = laws, np.array([len(steps) + 1 for steps in numbers.steps])
        atoms, count = numbers.places.shape
        self.last, self.starts = sizes - 1, np.cumsum(sizes) - sizes
        self.of = np.repeat(np.arange(count), sizes)
        self.place = (np.arange(sizes.sum()) - self.starts[self.of])[:, None]
        self.length = np.concatenate([np.append(0.0, steps) for steps in numbers.steps])[:, None]
        entries = np.ones(atoms * count), (numbers.places + self.starts).ravel(), np.arange(atoms + 1) * count
        self.at = csr_array(entries, shape=(atoms, sizes.sum()))
        self.within = csr_array(self.at.T)
        # any place does for what steps are measured from; most atoms are near the middle one
        self.middle = np.sort(numbers.places, axis=0)[atoms // 2]
        self.beyond = self.place > self.middle[self.of][:, None]
        self.rival = np.arange(laws.above.shape[1]) * (not together)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(np.isneginf(laws.above), -math.inf, laws.above - laws.below)
            ended = np.logaddexp(laws.above, np.where(laws.possible[0], np.log(laws.ends[0]), -math.inf))
            self.most = np.max(np.where(np.isneginf(ended), -math.inf, ended - laws.below), axis=0)
        self.order = np.argsort(-ratio, axis=0, kind="stable")
        self.bands = np.flatnonzero(np.diff(laws.bands, prepend=-1))

    def largest(self) -> Found:
        """The largest log ratio of every pair of laws."""
        laws, pairs, values = self.laws, self.laws.above.shape[1], np.unique(self.laws.bare)
        pair, bare = (each.ravel() for each in np.meshgrid(np.arange(pairs), values, indexing="ij"))
        low = np.zeros((len(pair), len(self.last)), dtype=np.int64)
        left = Boxes(pair=pair, bare=bare, low=low, high=low + self.last, bound=np.full(len(pair), math.inf))
        best, closed, corner, work = np.zeros(pairs), np.zeros(pairs), np.ones(pairs, dtype=np.bool_), 0
        while len(left.pair) and work <= MOST_WORK:
            order = np.argsort(best[self.rival[left.pair]] - left.bound, kind="stable")
            chosen = order[: max(1, AT_ONCE // len(laws.above))]
            boxes, left = left[chosen], left[np.delete(order, np.arange(len(chosen)))]
            work += len(chosen) * len(laws.above) * (len(self.last) + 16)
            boxes, linear, gains = self._bounded(boxes)
            top = np.maximum.reduceat(gains, self.starts, axis=0)
            point = np.maximum.reduceat(np.where(gains >= top[self.of], self.place, -1), self.starts, axis=0).T
            points = self._bounded(Boxes(**{**vars(boxes), "low": point, "high": point}))[0]
            reached = _most_of(points.bound, points.pair, pairs)
            at_end = np.isin(points.bare, (values[0], values[-1]))
            at_end &= np.all((point == 0) | (point == self.last), axis=1)
            found = (points.bound >= reached[points.pair]) & (points.bound > best[points.pair])
            corner[points.pair[found]] = at_end[found]
            best = np.maximum(best, reached)
            enough = _most_of(best, self.rival, pairs)[self.rival] + CLOSED
            closed = np.maximum(closed, _most_of(np.minimum(boxes.bound, enough[boxes.pair]), boxes.pair, pairs))
            left = Boxes.joined(left, self._divided(boxes, gains, top - (linear - enough[boxes.pair])))
            left = left[left.bound > enough[left.pair]]
        bound = np.maximum(np.maximum(best, closed), _most_of(left.bound, left.pair, pairs))
        return Found(bound=bound + self._error, reached=best, corner=corner, closed=not len(left.pair))

    @property
    def _error(self) -> float:
        """A bound on the rounding of a bound: of weights, which both laws share, of exponentials, and of sums."""
        steps = 8 * (len(self.laws.above) + 8 * FUNCTION_ERROR)
        steps += 4 * (magnitude(self.laws.above) + magnitude(self.laws.below) + self.laws.band)
        return CLOSED + UNIT_ROUNDOFF * (steps + 4 * (len(self.place) + 4) * float(self.length.sum()))

    def _bounded(self, boxes: Boxes) -> tuple[Boxes, FloatArray, FloatArray]:
        """Boxes with their bounds, the one of them that is linear in u, and what each place of u adds to it."""
        laws, low, high = self.laws, boxes.low.T[self.of], boxes.high.T[self.of]
        free = np.where((self.place > low) & (self.place <= high), self.length, 0.0)
        known = np.where(self.place <= low, self.length, np.where(self.place > high, -self.length, 0.0))
        lift, steps = self.at @ np.cumsum(known, axis=0), np.cumsum(free, axis=0)
        reach = self.at @ np.abs(steps - steps[self.starts + self.middle][self.of])
        inside = laws.bare[:, None] == boxes.bare
        furthest = np.max(np.where(inside, reach, 0.0), axis=0)
        lifts = np.where(inside, lift, -math.inf)
        mixed: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for k, masses in enumerate((laws.above, laws.below)):
            # a further record is wherever the weight is largest, in the denominator where it is least
            possible, out = laws.possible[k][:, boxes.pair], (-math.inf, math.inf)[k]
            end = (np.max, np.min)[k](np.where(possible, lifts, out), axis=0)
            mixed.append(_tilted(masses[:, boxes.pair] + lifts, laws.ends[k][boxes.pair], end))
        (p, p_end, p_log), (q, q_end, q_log) = mixed
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            middle = np.where(np.isneginf(p_log), -math.inf, p_log - q_log)
            gains = np.cumsum(free * (self._above(p) - self._above(q)), axis=0)
            gains = 2 * gains - (gains[self.starts] + gains[self.starts + self.last])[self.of]
            gains[(self.place < low) | (self.place > high)] = -math.inf
            span = np.minimum(2 * furthest, free.sum(axis=0))
            square = (p * reach**2).sum(axis=0) + p_end * furthest**2
            curved = np.fmin(span**2 / 8, square * np.where(span < 1e-3, 0.5 + span / 5, _bennett(span)))
            linear = middle + np.maximum.reduceat(gains, self.starts, axis=0).sum(axis=0)
            linear += (p_end + q_end) * furthest + curved + laws.band
            bound = np.fmin(np.fmin(boxes.bound, linear), self.most[boxes.pair])
            near = np.flatnonzero(furthest <= LARGEST_LOG)
            grown, shrunk, band = np.exp(reach[:, near]), np.exp(-reach[:, near]), math.exp(min(laws.band, LARGEST_LOG))
            p, q, order = p[:, near], q[:, near], self.order[:, boxes.pair[near]]
            ends = p_end[near] * np.exp(furthest[near]) * band, q_end[near] * np.exp(-furthest[near])
            # whatever weights lie within the reach of each atom, and values of what other releases read
            sides = (p * grown * band, q * grown * band, p * shrunk, q * shrunk)
            loose = _threshold(*(np.take_along_axis(each, order, 0) for each in sides), *ends)
            if laws.band:
                p, q = (np.add.reduceat(each, self.bands, axis=0) for each in (p * grown, q * shrunk))
                order = np.argsort(np.where(p > 0, -p / q, 0.0), axis=0, kind="stable")
                p, q = (np.take_along_axis(each, order, 0) for each in (p, q))
                loose = np.fmin(loose, _threshold(p * band, q * band, p, q, *ends))
            bound[near] = np.fmin(bound[near], middle[near] + loose)
        bound[np.isneginf(middle)] = -math.inf
        return Boxes(**{**vars(boxes), "bound": bound}), linear, gains

    def _above(self, masses: FloatArray) -> FloatArray:
        """The mass above each step less that at the middle: of steps below it minus the mass that is below."""
        sums = self.within @ masses
        under = np.cumsum(sums, axis=0) - sums
        under -= under[self.starts][self.of]
        return np.where(self.beyond, masses.sum(axis=0) - under, -under)

    def _divided(self, boxes: Boxes, gains: FloatArray, least: FloatArray) -> Boxes:
        """Boxes without ends of u that cannot pass what was reached; in halves where that takes little away."""
        kept = gains >= least[self.of]
        low = np.minimum.reduceat(np.where(kept, self.place, 2**31), self.starts, axis=0).T
        high = np.maximum.reduceat(np.where(kept, self.place, -1), self.starts, axis=0).T
        some = np.all(low <= high, axis=1) & np.any(boxes.low < boxes.high, axis=1)
        before, boxes = boxes[some], Boxes(**{**vars(boxes), "low": low, "high": high})[some]
        sums = np.cumsum(self.length[:, 0])
        spans = [sums[self.starts + each.high] - sums[self.starts + each.low] for each in (before, boxes)]
        widest, rows = np.argmax(spans[1], axis=1), np.arange(len(boxes.pair))
        half = 2 * spans[1].sum(axis=1) > spans[0].sum(axis=1)
        first, second = boxes[:], boxes[half]
        lower, upper = first.high.copy(), second.low.copy()
        middle = (boxes.low[rows, widest] + boxes.high[rows, widest]) // 2
        lower[rows[half], widest[half]] = middle[half]
        upper[np.arange(len(upper)), widest[half]] = middle[half] + 1
        return Boxes.joined(Boxes(**{**vars(first), "high": lower}), Boxes(**{**vars(second), "low": upper}))


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The largest log ratio of each pair of laws.

    Parameters
    ----------
    bound, reached : ndarray of shape (B,)
        An upper bound of it, and what some weight reaches.
    corner : ndarray of bool, shape (B,)
        Whether that weight has all u, and the numbers without noise, at their ends.
    closed : bool
        Whether the two are one but for rounding, for the largest of all pairs.
    """

    bound: FloatArray
    reached: FloatArray
    corner: Array
    closed: bool


def _most_of(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """The largest of the values, and 0, at each place."""
    found = np.zeros(size)
    np.maximum.at(found, places, values)
    return found


def _tilted(logs: FloatArray, mass: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses, that of a further record, and the log of their sum, by which they are divided."""
    with np.errstate(divide="ignore"):
        end = np.where(mass > 0, np.log(mass) + end, -math.inf)
    top = np.maximum(np.max(logs, axis=0), end)
    top = np.where(np.isfinite(top), top, 0.0)
    masses, further = np.exp(logs - top), np.exp(end - top)
    total = masses.sum(axis=0) + further
    with np.errstate(divide="ignore"):
        log = np.log(total) + top
    total = np.where(total > 0, total, 1.0)
    return masses / total, further / total, log


def _bennett(span: FloatArray) -> FloatArray:
    """What multiplies a variance in Bennett's inequality."""
    with np.errstate(divide="ignore"):
        return (np.expm1(span) - span) / span**2


def _threshold(
    p_high: FloatArray,
    q_high: FloatArray,
    p_low: FloatArray,
    q_low: FloatArray,
    p_end: FloatArray,
    q_end: FloatArray,
) -> FloatArray:
    """The largest log ratio of sums whose first terms are high and whose others are low."""
    ratios: list[FloatArray] = []
    for high, low, end in ((p_high, p_low, p_end), (q_high, q_low, q_end)):
        rise = np.cumsum(high - low, axis=0)
        ratios.append(np.concatenate([np.zeros_like(rise[:1]), rise]) + low.sum(axis=0) + end)
    with np.errstate(divide="ignore"):
        return np.log(np.nanmax(ratios[0] / ratios[1], axis=0))


# --------------------------------------------------------------------------------------------------
# The laws of one record of each class, on the combinations of values that queries tell apart.
# --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Swap:
    """Records that secrets of a pair exchange: how many, from which class of records to which.

    Parameters
    ----------
    pair : str
        In words.
    distances : sequence of int
        How many records may be exchanged, in ascending order.
    classes : tuple of two whole numbers
        What a record adds to the property in either class.
    """

    pair: str
    distances: Sequence[int]
    classes: tuple[int, int]


def swaps(framework: DatasetAttributePrivacy, secret: Secret, values: Sequence[int]) -> list[Swap]:
    """The exchanges of records between two secrets of a pair.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    secret : Secret
    values : sequence of int
        What one record may add to the property, in ascending order.
    """
    low, high = values
    counts = Counts.of(normal_form(secret.property, framework.schema).wholes()[0], framework.schema.records, low, high)
    distances, pair = counts.apart(secret, counts.pairs(secret))
    return [Swap(pair=pair, distances=distances, classes=(high, low))]


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """The laws of one record by its class.

    Parameters
    ----------
    values : list of int
        What a record of each class adds to the property.
    places : ndarray of shape (atoms, 1 + numbers)
        Which of its values each number of the queries has; the first one is always 0.
    levels : list of ndarray
        What one record may add to these numbers, in whole numbers over their denominators.
    logs : ndarray of shape (classes, models, atoms)
        Log probabilities given the class; NaN under a model in which no record is of it.
    ends : ndarray of shape (classes, models)
        The probability of a further record.
    bands : ndarray of shape (atoms,)
        Equal where the columns of other releases are.
    error : float
        Of a log probability.
    """

    values: list[int]
    places: IntArray
    levels: list[Array]
    logs: FloatArray
    ends: FloatArray
    bands: IntArray
    error: float


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Told:
    """A column in cells that nobody can tell apart: a value of each, log P(cell | state), cells of public records."""

    values: Array
    logs: FloatArray
    error: float
    rows: IntArray


def told(framework: DatasetAttributePrivacy, forms: Sequence[NormalForm], seen: frozenset[str]) -> dict[str, Told]:
    """The columns that queries read, in cells that none of these can tell apart, nor who sees the columns `seen`."""
    schema, network, public = framework.schema, _network(framework), framework.public_records
    terms = tuple(dict.fromkeys(term for form in forms for term in form.terms))
    form = NormalForm(schema=schema, terms=terms, rows=(), offset=(), labels=())
    names = sorted(set[str]().union(seen, *map(columns_of, terms)))
    found: dict[str, Told] = {}
    for name, cells in node_cells(form, names, network.states, framework.column_laws).items():
        by_query, column, marks = told_by(form, name), schema[name], dict[Any, tuple[int, Any]]()
        public_values: list[Any] = []
        rows = np.zeros(0, dtype=np.int64)
        if public is not None:
            held, rows = np.unique(cleaned(column, public.columns[name]), return_inverse=True)
            public_values = (
                [column.outcomes[int(x)] for x in held] if isinstance(column, Categorical) else held.tolist()
            )
        places = [
            marks.setdefault((by_query(value), value if name in seen else None), (len(marks), value))[0]
            for value in (*cells.values, *public_values)
        ]
        logs = np.full((len(cells.logs), len(marks)), -math.inf)
        for place, given in zip(places, cells.logs.T, strict=False):
            logs[:, place] = np.logaddexp(logs[:, place], given)
        values = np.empty(len(marks), dtype=object)
        values[:] = [value for _, value in marks.values()]
        error = cells.error + UNIT_ROUNDOFF * len(places) * (FUNCTION_ERROR + 4 + magnitude(logs))
        found[name] = Told(
            values=values, logs=logs, error=error, rows=np.array(places)[len(cells.values) :][rows.ravel()]
        )
    return found


def classes_of(
    framework: DatasetAttributePrivacy, secret: Secret, forms: Sequence[NormalForm], seen: frozenset[str]
) -> Classes:
    """The laws of one record of each class that a secret tells apart.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    secret : Secret
    forms : sequence of NormalForm
        Of the queries.
    seen : frozenset of str
        Columns that other releases read.

    Raises
    ------
    SizeError
        If there are too many combinations of values.
    """
    network, public = _network(framework), framework.public_records
    hidden = normal_form(secret.property, framework.schema)
    held = told(framework, (hidden, *forms), frozenset() if public is None else seen)
    # without public records the laws inside a state are the same in every class
    states = sorted(seen) if public is None else []
    marks = [f"cell of {name}" for name in held]
    needed = network.graph.ancestral((*held, *states))
    tables = [network.tables[name] for name in network.attributes if name in needed]
    for mark, (name, each) in zip(marks, held.items(), strict=True):
        tables.append(LogTable(axes=(name, mark), values=each.logs[np.newaxis], error=each.error))
    shape = (*(len(each.values) for each in held.values()), *(len(network.states[name]) for name in states))
    if math.prod(shape) * framework.models > MOST_TABLE_CELLS:
        raise SizeError(
            f"the laws of one record may have at most {MOST_TABLE_CELLS:,} combinations of values",
            found=f"{math.prod(shape):,} under {framework.models:,} models",
            remedy="Query fewer columns at once.",
        )
    joint = marginal(tables, (*marks, *states))
    logs = np.broadcast_to(joint.values, (network.models, *shape)).reshape(network.models, -1)
    error, further = joint.error, np.full((2, framework.models), -math.inf)
    if public is not None:
        logs, further, lost = _with_records(framework, logs, [each.rows for each in held.values()], shape)
        error += lost
    axes, cells = [*held, *states], math.prod(shape)

    def spread(values: Array, names: Iterable[str]) -> Array:
        """Values by the cells of some of the queried columns, for every combination of all."""
        own = {list(held).index(name) for name in names}
        return np.broadcast_to(values.reshape([n if k in own else 1 for k, n in enumerate(shape)]), shape).ravel()

    def added(form: NormalForm) -> list[Array]:
        names = sorted(set[str]().union(*map(columns_of, form.terms)))
        return [spread(each, names) for each in added_by(form, {name: held[name].values for name in names})]

    numbers = [np.unique(each, return_inverse=True) for form in forms for each in added(form)]
    bands = np.zeros(cells, dtype=np.int64)
    for k, name in enumerate(axes):
        if name in seen:
            bands = bands * shape[k] + np.arange(cells) // math.prod(shape[k + 1 :]) % shape[k]
    atom, chosen = _ranked([bands, *(places.ravel() for _, places in numbers)])
    (counted,) = added(hidden)
    possible = np.any(logs > -math.inf, axis=0)
    values = np.unique(counted[possible])
    laws = np.full((len(values), framework.models, len(chosen)), -math.inf)
    for law, value in zip(laws, values, strict=True):
        mine = np.flatnonzero(possible & (counted == value))
        order = mine[np.argsort(atom[mine], kind="stable")]
        starts = np.flatnonzero(np.diff(atom[order], prepend=-1))
        law[:, atom[order[starts]]] = np.logaddexp.reduceat(logs[:, order], starts, axis=1)
    ends = np.full((len(values), framework.models), -math.inf)
    ends[[0, -1]] = further
    totals = np.logaddexp(np.logaddexp.reduce(laws, axis=2), ends)
    steps = 2 * (cells + len(chosen)) * (FUNCTION_ERROR + 4 + magnitude(laws))
    with np.errstate(invalid="ignore"):
        return Classes(
            values=list(map(int, values)),
            places=np.stack([np.zeros_like(chosen), *(places.ravel()[chosen] for _, places in numbers)], axis=1),
            levels=[np.zeros(1, dtype=np.int64), *(found for found, _ in numbers)],
            logs=laws - totals[:, :, np.newaxis],
            ends=np.exp(ends - totals),
            bands=bands[chosen],
            error=2 * error + UNIT_ROUNDOFF * steps,
        )


def _with_records(
    framework: DatasetAttributePrivacy, own: FloatArray, rows: Sequence[IntArray], shape: tuple[int, ...]
) -> tuple[FloatArray, FloatArray, float]:
    """The log probabilities of cells with those of draws of public records, the logs of further ones, and the error."""
    public = framework.public_records
    cells = np.ravel_multi_index(tuple(rows), shape)
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    part, rest = math.log(public.records / (public.records + 1)) - BITS * math.log(2), -math.log1p(public.records)
    logs, further = np.empty((framework.models, len(own[0]))), np.full((2, framework.models), -math.inf)
    logs[: len(own)] = own
    for draw in range(public.draws):
        weights, row = public.weights(draw, 2), logs[len(own) + draw]
        row[:] = own[draw % len(own)] + rest
        with np.errstate(divide="ignore"):
            # sums of whole numbers below 2^63: exact in any order
            masses = np.log(np.add.reduceat(weights[order], starts).astype(np.float64)) + part
            further[:, len(own) + draw] = np.log(weights[-2:].astype(np.float64)) + part
        row[cells[order[starts]]] = np.logaddexp(row[cells[order[starts]]], masses)
    return logs, further, UNIT_ROUNDOFF * (2 * FUNCTION_ERROR * (BITS + magnitude(logs)) + 8 * magnitude(logs) + 16)


def _ranked(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """The place of every row among the distinct ones in lexicographic order, and where each distinct one is first."""
    keys, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if size * width >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            size = int(keys.max()) + 1
        keys, size = keys * width + column, size * width
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return places.ravel(), first


# --------------------------------------------------------------------------------------------------
# What several releases tell together.
# --------------------------------------------------------------------------------------------------

MOST_KEPT = 32
"""The most laws of one record, and totals, that are cached with a framework."""

MOST_EPSILON = 8.0
"""Theorem 5 counts up to this epsilon."""

MOST_EXPONENT = 700.0
"""Above this a sum of epsilons tells all that there is."""


@final
@dataclass(frozen=True, kw_only=True)
class RecordShare:
    """What all releases tell about one protected property.

    Parameters
    ----------
    protected : str
    pair : str
        The secrets that are furthest apart, in words.
    model : int
        Under which it is most.
    distance : int
        How many records are swapped.
    one : float
        What one swap tells, rounded up.
    total : Fraction
        What all swaps and the rounding of answers tell.
    """

    protected: str
    pair: str
    model: int
    distance: int
    one: float
    total: Fraction


@final
@dataclass(frozen=True, kw_only=True)
class RecordsTotal:
    """What all releases tell together: an epsilon, None where nothing bounds it, and the shares, most first."""

    epsilon: Fraction | None
    kind: Kind
    shares: tuple[RecordShare, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Release:
    """One release as theorem 4 sees it.

    Parameters
    ----------
    entry : Entry
    form : NormalForm or None
        None of what counts as differentially private for single records.
    rates : tuple of Fraction
        One over the scale of each number; empty without noise.
    """

    entry: Entry
    form: NormalForm | None
    rates: tuple[Fraction, ...] = ()


@final
@dataclass(frozen=True)
class SwappedRecords:
    """What several answers of independent records tell together, by theorems 4 and 5 of docs/claims/accountant.md.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
        Whose secrets are numbers of records.
    """

    framework: DatasetAttributePrivacy

    def covers(self, query: Query) -> Refusal | None:
        """Why a query is no sum of terms of single records whose law is known; None if it is.

        Parameters
        ----------
        query : Query
        """
        return CUSTOM if isinstance(query, Custom) else unknown_law(self.framework, query)

    def total(
        self, entries: Sequence[Entry], delta: Fraction = Fraction(0), columns: frozenset[str] = frozenset()
    ) -> RecordsTotal:
        """What all releases tell together.

        Parameters
        ----------
        entries : sequence of Entry
            In the order of the releases.
        delta : Fraction
            The delta that may be spent; 0 for theorem 4.
        columns : frozenset of str
            With delta, what may be read beside the columns of the first release.

        Returns
        -------
        RecordsTotal
        """
        asked = [(e.text, e.columns, e.noise, e.scale, e.weights, e.record, e.delta) for e in entries]
        make = (lambda: self._with_delta(entries, delta, columns)) if delta else (lambda: self._without_delta(entries))
        return self._kept("totals of records", (*asked, delta, columns), make)

    def _without_delta(self, entries: Sequence[Entry]) -> RecordsTotal:
        """The total by theorem 4."""
        protect, laws = self.framework.protect, self.framework.column_laws
        read = frozenset(protect).union(*(entry.columns for entry in entries))
        kind = law_kind(law for name in read for law in laws.get(name, ()))
        releases = [release for entry in entries if (release := self._release(entry)) is not None]
        if len(releases) < len(entries):
            return RecordsTotal(epsilon=None, kind=kind)
        try:
            found = [self._share(name, secret, releases) for name, secret in protect.items()]
        except OverflowError:  # something is infinite
            return RecordsTotal(epsilon=None, kind=kind)
        shares = sorted((share for share in found if share), key=lambda share: share.total, reverse=True)
        return RecordsTotal(epsilon=shares[0].total if shares else Fraction(0), kind=kind, shares=tuple(shares))

    def _with_delta(self, entries: Sequence[Entry], delta: Fraction, columns: frozenset[str]) -> RecordsTotal:
        """The total by theorem 5."""
        fixed, unbounded = columns | entries[0].columns, RecordsTotal(epsilon=None, kind="certified")
        if not all(each.columns <= fixed and (each.record or (each.query and each.noise)) for each in entries):
            return unbounded
        shares: list[RecordShare] = []
        for name, secret in self.framework.protect.items():
            values = self._classes(secret, ()).values
            for swap in swaps(self.framework, secret, values) if len(values) == 2 else ():
                k, apart = swap.distances[-1], self._apart(secret, swap, fixed)
                grown = up(math.expm1(MOST_EPSILON) / math.expm1(MOST_EPSILON / k)) * apart
                epsilons, deltas = list[float](), list[Fraction]()
                for entry in entries:
                    if entry.record is not None:
                        epsilons.append(rounded_up(entry.record[0]))
                        deltas.append(entry.record[1] * Fraction(up(grown)))
                    elif entry.noise == "gaussian":
                        shift = up(self._moved(entry, 2) / entry.scale)
                        epsilons.append(gaussian_epsilon(shift, down(float(entry.delta) / up(grown), 8)))
                        deltas.append(entry.delta)
                    else:
                        epsilons.append(up(self._moved(entry, 1) / entry.scale))
                told = up(math.fsum(epsilons))
                one = min(told, up(math.log1p(apart * up(math.expm1(told), 16)), 16)) if told < MOST_EXPONENT else told
                if not k * one <= MOST_EPSILON or sum(deltas) > delta:
                    return unbounded
                total = Fraction(up(k * one))
                shares.append(RecordShare(protected=name, pair=swap.pair, model=0, distance=k, one=one, total=total))
        shares.sort(key=lambda share: share.total, reverse=True)
        return RecordsTotal(epsilon=shares[0].total if shares else Fraction(0), kind="certified", shares=tuple(shares))

    def _apart(self, secret: Secret, swap: Swap, columns: frozenset[str]) -> float:
        """The total variation of what columns hold in one class and in the other, rounded up."""
        if not self._are_seen(columns):
            return 1.0
        try:
            classes = self._kept(
                "laws of records", (secret, (), columns), lambda: classes_of(self.framework, secret, (), columns)
            )
        except SizeError:
            return 1.0
        first, second = (classes.values.index(value) for value in swap.classes)
        with np.errstate(invalid="ignore"):
            p, q = np.exp(classes.logs[first]), np.exp(classes.logs[second])
            more = (
                np.fmax(p - q, 0.0).sum(axis=1) + classes.ends[first],
                np.fmax(q - p, 0.0).sum(axis=1) + classes.ends[second],
            )
        lost = 2 * math.expm1(classes.error) + UNIT_ROUNDOFF * (4 * FUNCTION_ERROR + 2 * p.shape[1] + 8)
        return min(1.0, float(np.nanmax(more)) + lost)

    def _release(self, entry: Entry) -> Release | None:
        """An entry as theorem 4 sees it; None where it does not count it."""
        if entry.record is not None:
            return None if entry.record[1] else Release(entry, None)
        if entry.query is None or entry.noise == "gaussian":
            return None
        form = self._kept("forms of records", entry.text, lambda: normal_form(cast(Query, entry.query), self.schema))
        weights = [Fraction(weight) for weight in entry.weights or [1.0] * len(form.offset)]
        return Release(entry, form, tuple(w / Fraction(entry.scale) for w in weights) if entry.noise else ())

    @property
    def schema(self) -> Schema:
        """The columns and the number of records."""
        return self.framework.schema

    def _kept(self, table: str, key: Any, make: Callable[[], Any]) -> Any:
        """What was worked out before, or is now; the last few are kept."""
        kept = self.framework.kept.table(table)
        if key not in kept:
            found = make()
            while len(kept) >= MOST_KEPT:
                kept.pop(next(iter(kept)))
            kept[key] = found
        return kept[key]

    def _alone(self, release: Release) -> float:
        """What a release tells of one record whatever the laws, rounded up."""
        entry = release.entry
        if release.form is None:
            return rounded_up(cast("tuple[Fraction, Fraction]", entry.record)[0])
        return up(self._moved(entry, 1) / entry.scale) if release.rates else math.inf

    def _moved(self, entry: Entry, norm: int) -> float:
        """How far one record moves a weighted answer, rounded up."""
        query = cast(Query, entry.counted)
        key = entry.text, entry.weights, norm
        make = lambda: record_sensitivity(query, entry.columns, self.schema, norm).upper  # noqa: E731
        return float(self._kept("moves of records", key, make))

    def _classes(self, secret: Secret, releases: Iterable[Release]) -> Classes:
        """The laws of one record on what some releases tell apart."""
        forms = {each.entry.text: each.form for each in releases if each.form is not None}
        seen = frozenset[str]().union(*(each.entry.columns for each in releases if each.form is None))
        key = secret, tuple(forms), seen
        return self._kept(
            "laws of records", key, lambda: classes_of(self.framework, secret, list(forms.values()), seen)
        )

    def _share(self, name: str, secret: Secret, releases: Sequence[Release]) -> RecordShare | None:
        """What all releases tell about one property; None where it has one value."""
        values = self._classes(secret, ()).values
        if len(values) == 1:
            return None
        rounding = sum(
            (Fraction(rounding_of(each.form)) * max(each.rates) for each in releases if each.rates), Fraction(0)
        )
        # what other releases promise is exact
        exact = [each.entry.record[0] if each.entry.record else self._alone(each) for each in releases]
        whole = math.inf if math.inf in exact else sum(map(Fraction, exact), Fraction(0))
        shares: list[RecordShare] = []
        for swap in swaps(self.framework, secret, values):
            groups = list[tuple[FloatArray, FloatArray, FloatArray]]()
            beside = [self._alone(each) for each in releases if not self._is_seen(each)]
            parts = self._parts(name, secret, [each for each in releases if self._is_seen(each)])
            for part in parts:
                inside, outside = self._fitting(secret, part)
                beside += map(self._alone, outside)
                groups.append(self._swapped(swap, self._classes(secret, inside), inside, together=len(parts) == 1))
            ones, totals, reached = (sum(each) for each in zip(*groups, strict=True)) if groups else np.zeros((3, 1))
            worst, size, steps = int(np.lexsort((reached, totals))[-1]), swap.distances[-1], 4 + 2 * len(releases)
            told = Fraction(up(float(totals[worst]), steps)) + size * Fraction(up(math.fsum(beside)))
            shares.append(
                RecordShare(
                    protected=name,
                    pair=swap.pair,
                    model=worst % self.framework.models,
                    distance=size,
                    one=up(math.fsum([float(ones[worst]), *beside]), steps),
                    total=min(told, size * whole) + rounding,
                )
            )
        return max(shares, key=lambda share: share.total)

    def _is_seen(self, release: Release) -> bool:
        """Whether the law of all that a release reads is known."""
        return release.form is not None or self._are_seen(release.entry.columns)

    def _are_seen(self, names: frozenset[str]) -> bool:
        """Whether the law of whole columns is known: by states, and of public records by categories."""
        if self.framework.public_records is None:
            return names <= set(self.framework.network.attributes)
        laws = self.framework.column_laws
        return all(isinstance(self.schema[name], Categorical) and name not in laws for name in names)

    def _parts(self, name: str, secret: Secret, releases: Sequence[Release]) -> list[list[Release]]:
        """The releases in groups of which the columns are independent of those of other groups in either class."""
        network, columns = _network(self.framework), set[str]().union(*(each.entry.columns for each in releases))
        parts = [frozenset(columns)]
        # a class is one state of the protected column, and in draws of public records nothing is independent
        if (
            self.framework.public_records is None
            and len(network.states[name]) == 2
            and secret.property.columns == {name}
        ):
            parts = list(map(frozenset, independent_parts(network.graph, name, sorted(columns - {name}))))
        found: list[tuple[frozenset[str], list[Release]]] = []
        for release in releases:
            read = frozenset[str]().union(*(part for part in parts if part & release.entry.columns))
            beside = [each for each in found if each[0] & read or each[0] == read]
            found = [each for each in found if each not in beside]
            found.append((read.union(*(names for names, _ in beside)), [*(r for _, rs in beside for r in rs), release]))
        return [releases for _, releases in found]

    def _fitting(self, secret: Secret, releases: Sequence[Release]) -> tuple[list[Release], list[Release]]:
        """The releases whose laws are worked out together, and those that are left out: the cheapest, if there are too many."""
        try:
            self._classes(secret, releases)
        except SizeError:
            inside, outside = list[Release](), list[Release]()
            for release in sorted(releases, key=self._alone, reverse=True):
                try:
                    self._classes(secret, [*inside, release])
                    inside.append(release)
                except SizeError:
                    outside.append(release)
            return inside, outside
        return list(releases), []

    def _swapped(
        self, swap: Swap, classes: Classes, releases: Sequence[Release], *, together: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What one swap and all swaps tell, at most, and what one does at least: of both directions of all models."""
        columns = dict[str, range]()
        noises, bare, band = list[tuple[int, float]](), list[int](), 0.0
        for each in releases:
            text, form = each.entry.text, each.form
            if form is None:
                band = up(band + self._alone(each))
                continue
            start = 1 + sum(map(len, columns.values()))
            numbers = columns.setdefault(text, range(start, start + len(form.offset)))
            below = self._kept(
                "denominators of records", text, lambda form=form: [w.denominator for w in form.wholes()]
            )
            noises += [(c, float(rate / d)) for c, rate, d in zip(numbers, each.rates, below, strict=False)]
            bare += [] if each.rates else numbers
        sides = [classes.values.index(value) for value in swap.classes]
        models = np.flatnonzero(np.isfinite(classes.logs.max(axis=2)[sides]).all(axis=0))
        logs = classes.logs[sides][:, models]
        ends, possible = classes.ends[sides][:, models], np.any(classes.logs[sides] > -math.inf, axis=1)
        laws = LawPairs(
            above=np.concatenate(logs, axis=0).T,
            below=np.concatenate(logs[::-1], axis=0).T,
            ends=(np.concatenate(ends), np.concatenate(ends[::-1])),
            possible=(np.repeat(possible, len(models), axis=0).T, np.repeat(possible[::-1], len(models), axis=0).T),
            bare=_ranked([classes.places[:, c] for c in (0, *bare)])[0],
            bands=classes.bands,
            band=band,
        )
        together = together and len(models) > MOST_SUMMED
        found = Search(laws, numbers_of(classes.places, classes.levels, noises), together=together).largest()
        ones, k = found.bound + 2 * classes.error, swap.distances[-1]
        totals = k * ones
        sought = np.flatnonzero(~found.corner & (ones < math.inf))
        if k > 1 and not band and self.framework.public_records is None and len(models) <= MOST_SUMMED:
            used = sorted({*bare, *(c for c, _ in noises)})
            for place in sought:
                pair = [
                    WholeLaw.of([classes.levels[c][classes.places[:, c]] for c in used], each[:, place], classes.error)
                    for each in (laws.above, laws.below)
                ]
                sums = self._sums(pair, {c: n for n, c in enumerate(used)}, noises, bare, k)
                totals[place] = over(swap.distances, {1: float(ones[place]), **sums})
        spread = [np.zeros(2 * self.framework.models) for _ in range(3)]
        for whole, part in zip(spread, (ones, totals, found.reached), strict=True):
            whole[np.concatenate([models, self.framework.models + models])] = part
        return spread[0], spread[1], spread[2]

    def _sums(
        self,
        pair: Sequence[WholeLaw],
        at: Mapping[int, int],
        noises: Sequence[tuple[int, float]],
        bare: Sequence[int],
        most: int,
    ) -> dict[int, float]:
        """What swaps of several records at once tell, at most, while their sums are few."""
        found: dict[int, float] = {}
        for records in (j for j in AT_ONCE_SWAPPED if j <= most):
            if sums_bound(pair, records) > MOST_SUMS:
                break
            sums = [summed((law, records)) for law in pair]
            joined = [
                np.unique(np.concatenate(each), return_inverse=True)
                for each in zip(*(x.columns for x in sums), strict=True)
            ]
            places = np.stack([each.ravel() for _, each in joined], axis=1)
            atom, first = _ranked(places.T)
            logs = np.full((2, len(first), 1), -math.inf)
            for side, law, own in zip(logs, sums, np.split(atom, [sums[0].size]), strict=True):
                side[own, 0] = law.logs
            places = places[first]
            numbers = numbers_of(places, [levels for levels, _ in joined], [(at[c], rate) for c, rate in noises])
            nothing = np.zeros(1), np.zeros((len(first), 1), dtype=np.bool_)
            laws = LawPairs(
                above=logs[0],
                below=logs[1],
                ends=(nothing[0], nothing[0]),
                possible=(nothing[1], nothing[1]),
                bare=_ranked([np.zeros_like(first), *(places[:, at[c]] for c in bare)])[0],
                bands=np.zeros(len(first), dtype=np.int64),
                band=0.0,
            )
            bound = Search(laws, numbers, together=True).largest().bound[0]
            found[records] = float(bound) + sum(law.error for law in sums)
        return found


AT_ONCE_SWAPPED = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""The numbers of records whose sums are compared; other numbers are put together from these."""

MOST_SUMS = 2**12
"""The most values of a sum of records."""

MOST_SUMMED = 8
"""The most models under which sums of records are compared."""

MOST_DISTANCES = 2**12
"""More distances of secrets are bounded by the largest one alone."""


def numbers_of(places: IntArray, levels: Sequence[Array], noises: Iterable[tuple[int, float]]) -> Numbers:
    """The numbers that have noise, each with a column of places and one over its scale; equal counts are one."""
    found: dict[object, tuple[IntArray, FloatArray]] = {None: (np.zeros(len(places), dtype=np.int64), np.zeros(0))}
    for k, (column, rate) in enumerate(noises):
        steps, own = np.diff(levels[column]).astype(np.float64) * rate, places[:, column]
        key: object = k
        if len(steps) == 1:  # a count of what does not meet a condition is that of what does
            own = own ^ own[0]
            key = own.tobytes()
        if len(steps):
            found[key] = own, steps + found[key][1] if key in found else steps
    return Numbers(
        places=np.stack([own for own, _ in found.values()], axis=1), steps=[steps for _, steps in found.values()]
    )


def over(distances: Sequence[int], bounds: Mapping[int, float]) -> float:
    """A bound for the largest of several numbers of records, from bounds for some of which they are sums.

    Examples
    --------
    >>> over(range(1, 8), {1: 1.0, 2: 1.5}), over([3], {1: 1.0})
    (5.5, 3.0)
    """
    least, most = [0.0], max(bounds)
    if len(distances) > MOST_DISTANCES or most == 1:
        return distances[-1] * bounds[1]
    for records in range(1, most):
        least.append(min(least[records - j] + bound for j, bound in bounds.items() if j <= records))
    return max(j // most * bounds[most] + least[j % most] for j in distances)


def _network(framework: DatasetAttributePrivacy) -> DiscreteNetwork:
    return require_discrete(framework.network, framework.notion)


def swapped_records(framework: DatasetAttributePrivacy) -> SwappedRecords | Refusal:
    """What counts several answers together where secrets are numbers of records of a network of tables.

    Parameters
    ----------
    framework : DatasetAttributePrivacy

    Returns
    -------
    SwappedRecords or Refusal
    """
    kept: dict[str, SwappedRecords | Refusal] = framework.kept.table("swapped records")
    if "found" not in kept:
        kept["found"] = _swapped_records(framework)
    return kept["found"]


def _swapped_records(framework: DatasetAttributePrivacy) -> SwappedRecords | Refusal:
    if framework.forward is not None or not framework.network.states:
        return NOT_BY_RECORDS
    try:
        for secret in framework.protect.values():
            values = classes_of(framework, secret, (), frozenset()).values
            if len(values) > 2:
                return NOT_BY_RECORDS
            if len(values) == 2:
                swaps(framework, secret, values)
    except BnprivError as error:
        return Refusal.of(error)
    return SwappedRecords(framework)
