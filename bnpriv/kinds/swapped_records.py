"""What several answers of independent records tell together: that of one record which is swapped (theorems 4 and 5).

docs/claims/accountant.md. Three steps: the largest log ratio that weights of noise can make of two laws; the laws of
one record on the combinations of values that queries tell apart; the sum over swaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, IntArray, Kind, down, up
from bnpriv.core.accounting.total import Entry, gaussian_epsilon, rounded_up
from bnpriv.core.column_laws import law_kind
from bnpriv.core.columns import Categorical
from bnpriv.core.distributions import FUNCTION_ERROR, magnitude
from bnpriv.core.evidence.laws import CUSTOM, class_query, moves, unknown_law
from bnpriv.core.evidence.records import added_by, node_cells, rounding_of, told_by
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.influence.finite import independent_parts
from bnpriv.core.networks.discrete import DiscreteNetwork, require_discrete
from bnpriv.core.networks.factors import LogTable, marginal
from bnpriv.core.queries.base import NormalForm, Query, columns_of, normal_form
from bnpriv.core.queries.builtin import Custom
from bnpriv.core.queries.contribution import cleaned
from bnpriv.core.queries.sensitivity import record_sensitivity
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Secret
from bnpriv.core.whole_numbers import WholeLaw, summed, sums_bound
from bnpriv.errors import BnprivError, LawError, Refusal, SecretError, SizeError
from bnpriv.kind import NOT_BY_RECORDS
from bnpriv.kinds.public_records import BITS

Array = NDArray[Any]

# --------------------------------------------------------------------------------------------------
# The largest log ratio that weights of noise can make of two laws on finitely many atoms.
#
# A number of the answer with Laplace noise has a u, one of its values ("places"). A box leaves u an interval of places.
# The steps between neighbouring places in the interval are free, all others known: a step below u raises the atoms
# above it by rate * length, one above u lowers them.
# --------------------------------------------------------------------------------------------------

MOST_BOX_WORK = 2**25
"""The most boxes times atoms times numbers that are looked at; then the bounds of those that are left count."""

BOXES_AT_ONCE, MOST_CLIMBS = 2**21, 16
"""Boxes times atoms that are looked at in one step, and boxes where a grid point is tried if one for all will do."""

SHORTEST_STEP = 2.0**-1000
"""A length of a step that is shorter than any other."""

CLOSED_LOG = 2.0**-46
"""Log ratios closer than this are taken for one; it is added to the result."""

LARGEST_REACH, FLAT_SPAN = 300.0, 2.0**-7
"""Weights whose logs may differ by more, and bounds whose curvature is a smaller share, need no second bound."""


class LawPairs(NamedTuple):
    """Pairs of laws of one record, of which log ratios are sought; B pairs along the last axis.

    Parameters
    ----------
    places : ndarray of shape (atoms, numbers)
        Which of its values every number with noise has at an atom, in ascending order.
    steps : sequence of ndarray
        For each number the lengths of the steps between neighbouring values, over the scale of the noise.
    above, below : ndarray of shape (atoms, B)
        Log masses of the law in the numerator, and in the denominator.
    bare : ndarray of shape (atoms,)
        Atoms with the same numbers without noise have the same one.
    ends, possible : tuple of two ndarrays of shape (B,), and of shape (atoms, B)
        The mass of a further record of either law, and the atoms where it may be.
    bands : ndarray of shape (atoms,)
        Ascending; equal where the columns that other releases read are.
    band : float
        The epsilon of these releases.
    """

    places: IntArray
    steps: Sequence[FloatArray]
    above: FloatArray
    below: FloatArray
    bare: IntArray
    ends: tuple[FloatArray, FloatArray]
    possible: tuple[Array, Array]
    bands: IntArray
    band: float = 0.0


class FoundRatios(NamedTuple):
    """For each pair of laws a bound of the largest log ratio, what some weight reaches, and whether at a corner."""

    bound: FloatArray
    reached: FloatArray
    corner: Array


class Boxes(NamedTuple):
    """Boxes of u: of which pair of laws and bare answer, the first and last place of each number, and a bound."""

    pair: IntArray
    bare: IntArray
    low: IntArray
    high: IntArray
    bound: FloatArray

    def some(self, chosen: Any) -> Boxes:
        """Those at some places."""
        return Boxes(*cast(Any, [each[chosen] for each in self]))


class RatioSearch:
    """The search for the largest log ratio of pairs of laws, by branch and bound.

    Parameters
    ----------
    laws : LawPairs
    together : bool
        Whether only the largest of all pairs is wanted: others are then bounded by it.
    """

    def __init__(self, laws: LawPairs, *, together: bool) -> None:
        self.laws, self.together = laws, together
        sizes: IntArray = np.array([len(steps) + 1 for steps in laws.steps])
        atoms, count = map(int, laws.places.shape)
        self.last, self.starts = sizes - 1, np.cumsum(sizes) - sizes
        self.of: IntArray = np.repeat(np.arange(count), sizes)
        self.place: IntArray = (np.arange(len(self.of)) - self.starts[self.of])[:, np.newaxis]
        self.length = np.concatenate([np.append(0.0, steps) for steps in laws.steps])[:, np.newaxis]
        entries: Any = np.ones(atoms * count), (laws.places + self.starts).ravel(), np.arange(atoms + 1) * count
        self.at: Any = csr_array(entries, shape=(atoms, len(self.of)))
        self.within: Any = csr_array(self.at.T)
        # any place does for what steps are measured from; most atoms are near the middle one
        self.middle = np.sort(laws.places, axis=0)[atoms // 2]
        self.rival: IntArray = np.arange(laws.above.shape[1]) * (not together)
        with np.errstate(invalid="ignore", divide="ignore"):
            ended = np.logaddexp(laws.above, np.where(laws.possible[0], np.log(laws.ends[0]), -math.inf))
            self.most = np.max(np.where(np.isneginf(ended), -math.inf, ended - laws.below), axis=0)
        self.bands = np.flatnonzero(np.diff(laws.bands, prepend=-1))

    def largest(self) -> FoundRatios:
        """The largest log ratio of every pair of laws."""
        laws, pairs, values = self.laws, int(self.laws.above.shape[1]), np.unique(self.laws.bare)
        pair: IntArray = np.repeat(np.arange(pairs), len(values))
        bare: IntArray = np.tile(values, pairs)
        low = np.zeros((len(pair), len(self.last)), dtype=np.int64)
        left = Boxes(pair, bare, low, low + self.last, np.full(len(pair), math.inf))
        best, closed, corner, work = np.zeros(pairs), np.zeros(pairs), np.ones(pairs, dtype=np.bool_), 0
        while len(left.pair) and (work <= MOST_BOX_WORK or np.isinf(left.bound).any()):
            order = np.argsort(best[self.rival[left.pair]] - left.bound, kind="stable")
            size = max(1, BOXES_AT_ONCE // len(laws.above))
            boxes, left = left.some(order[:size]), left.some(order[size:])
            work += len(boxes.pair) * len(laws.above) * (len(self.last) + 16)
            boxes, linear, gains = self._bounded(boxes)
            top = np.maximum.reduceat(gains, self.starts, axis=0)
            point = np.maximum.reduceat(np.where(gains >= top[self.of], self.place, -1), self.starts, axis=0).T
            tried = np.argsort(-boxes.bound, kind="stable")[: MOST_CLIMBS if self.together else None]
            points = self._bounded(boxes._replace(low=point, high=point).some(tried))[0]
            reached = _most_of(points.bound, points.pair, pairs)
            at_end = np.isin(points.bare, (values[0], values[-1]))
            at_end &= np.all((points.low == 0) | (points.low == self.last), axis=1)
            found = (points.bound >= reached[points.pair]) & (points.bound > best[points.pair])
            corner[points.pair[found]] = at_end[found]
            # a box of one point is as large as its bound, whether that point was among those that were tried or not
            single = np.all(boxes.low == boxes.high, axis=1)
            best = np.maximum(best, np.maximum(reached, _most_of(boxes.bound[single], boxes.pair[single], pairs)))
            enough = _most_of(best, self.rival, pairs)[self.rival] + CLOSED_LOG
            closed = np.maximum(closed, _most_of(np.minimum(boxes.bound, enough[boxes.pair]), boxes.pair, pairs))
            over = boxes.bound > enough[boxes.pair]
            boxes = boxes.some(over)
            parts = left, *self._divided(boxes, gains[:, over], top[:, over] - (linear[over] - enough[boxes.pair]))
            left = Boxes(*cast(Any, [np.concatenate(each) for each in zip(*parts, strict=True)]))
            left = left.some(left.bound > enough[left.pair])
        bound = np.maximum(np.maximum(best, closed), _most_of(left.bound, left.pair, pairs))
        # of weights, which both laws share, of exponentials and of sums
        steps = 8 * (len(laws.above) + 8 * FUNCTION_ERROR) + 4 * (len(self.place) + 4) * float(self.length.sum())
        steps += 4 * (magnitude(laws.above) + magnitude(laws.below) + laws.band)
        return FoundRatios(bound + CLOSED_LOG + UNIT_ROUNDOFF * steps, best, corner)

    def _bounded(self, boxes: Boxes) -> tuple[Boxes, FloatArray, FloatArray]:
        """Boxes with their bounds, the one of them that is linear in u, and what each place of u adds to it."""
        laws, low, high = self.laws, boxes.low.T[self.of], boxes.high.T[self.of]
        free = np.where((self.place > low) & (self.place <= high), self.length, 0.0)
        known = np.where(self.place <= low, self.length, np.where(self.place > high, -self.length, 0.0))
        steps: FloatArray = np.cumsum(free, axis=0)
        lift: FloatArray = self.at @ np.cumsum(known, axis=0)
        reach: FloatArray = self.at @ np.abs(steps - steps[self.starts + self.middle][self.of])
        inside = laws.bare[:, None] == boxes.bare
        furthest = np.max(np.where(inside, reach, 0.0), axis=0)
        lifts = np.where(inside, lift, -math.inf)
        # a further record is wherever the weight is largest, in the denominator where it is least
        sides = ((laws.above, np.max, -math.inf), (laws.below, np.min, math.inf))
        mixed = [
            _tilted(
                masses[:, boxes.pair] + lifts,
                laws.ends[k][boxes.pair],
                extreme(np.where(laws.possible[k][:, boxes.pair], lifts, out), axis=0),
            )
            for k, (masses, extreme, out) in enumerate(sides)
        ]
        (p, p_end, p_log), (q, q_end, q_log) = mixed
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            middle = np.where(np.isneginf(p_log), -math.inf, p_log - q_log)
            gains = np.cumsum(free * (self._above(p) - self._above(q)), axis=0)
            gains = 2 * gains - (gains[self.starts] + gains[self.starts + self.last])[self.of]
            gains[(self.place < low) | (self.place > high)] = -math.inf
            span = np.minimum(2 * furthest, free.sum(axis=0))
            square = (p * reach**2).sum(axis=0) + p_end * furthest**2
            curved = _curved(span, square)
            linear = middle + np.maximum.reduceat(gains, self.starts, axis=0).sum(axis=0) + laws.band
            linear += (p_end + q_end) * furthest + curved
            bound = np.fmin(np.fmin(boxes.bound, linear), self.most[boxes.pair])
            near = (furthest <= LARGEST_REACH) & (laws.band <= LARGEST_REACH)
            near = np.flatnonzero(near & ((curved > FLAT_SPAN * linear) | (laws.band > 0)))
            grown, shrunk = np.exp(reach[:, near]), np.exp(-reach[:, near])
            band = math.exp(min(laws.band, LARGEST_REACH))
            p, q = p[:, near], q[:, near]
            ends = p_end[near] * np.exp(furthest[near]) * band, q_end[near] * np.exp(-furthest[near])
            # whatever weights lie within the reach of each atom, and values of what other releases read
            order = self._order[:, boxes.pair[near]]
            sorted_ = [np.take_along_axis(each, order, 0) for each in (p, q, grown * band, shrunk)]
            loose = _threshold(sorted_[0], sorted_[1], sorted_[2], sorted_[3], *ends)
            if laws.band:
                p, q = (np.add.reduceat(each, self.bands, axis=0) for each in (p * grown, q * shrunk))
                order = np.argsort(np.where(p > 0, -p / q, 0.0), axis=0, kind="stable")
                p, q = (np.take_along_axis(each, order, 0) for each in (p, q))
                loose = np.fmin(loose, _threshold(p, q, band, 1.0, *ends))
            bound[near] = np.fmin(bound[near], middle[near] + loose)
        bound[np.isneginf(middle)] = -math.inf
        return boxes._replace(bound=bound), linear, gains

    @cached_property
    def _order(self) -> IntArray:
        """The atoms by the ratio of the two laws of each pair, the largest first."""
        with np.errstate(invalid="ignore"):
            ratio = np.where(np.isneginf(self.laws.above), -math.inf, self.laws.above - self.laws.below)
        return np.argsort(-ratio, axis=0, kind="stable")

    def _above(self, masses: FloatArray) -> FloatArray:
        """The mass above each step less that at the middle: of steps below it minus the mass that is below."""
        sums: FloatArray = self.within @ masses
        under: FloatArray = np.cumsum(sums, axis=0) - sums
        under = under - under[self.starts][self.of]
        return np.where(self.place > self.middle[self.of][:, None], masses.sum(axis=0) - under, -under)

    def _divided(self, boxes: Boxes, gains: FloatArray, least: FloatArray) -> tuple[Boxes, Boxes]:
        """Boxes without ends of u that cannot pass what was reached; in halves where that takes little away."""
        kept = (gains >= least[self.of]) & (gains > -math.inf)
        low = np.minimum.reduceat(np.where(kept, self.place, 2**31), self.starts, axis=0).T
        high = np.maximum.reduceat(np.where(kept, self.place, -1), self.starts, axis=0).T
        some = np.all(low <= high, axis=1) & np.any(boxes.low < boxes.high, axis=1)
        before, boxes = boxes.some(some), boxes._replace(low=low, high=high).some(some)
        sums = np.cumsum(self.length[:, 0])
        # short steps may be absorbed by long ones: they count by their number
        was, span = (
            sums[self.starts + each.high] - sums[self.starts + each.low] + (each.high - each.low) * SHORTEST_STEP
            for each in (before, boxes)
        )
        same = np.all((before.low == boxes.low) & (before.high == boxes.high), axis=1)
        half = np.flatnonzero((2 * span.sum(axis=1) > was.sum(axis=1)) | same)
        half = half[np.any(boxes.low[half] < boxes.high[half], axis=1)]
        widest = np.argmax(span, axis=1)[half]
        middle = (boxes.low[half, widest] + boxes.high[half, widest]) // 2
        second = boxes.some(half)
        second.low[np.arange(len(half)), widest] = middle + 1
        boxes.high[half, widest] = middle
        return boxes, second


def _most_of(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    """The largest of the values, and 0, at each place."""
    found = np.zeros(size)
    np.maximum.at(found, places, values)
    return found


def _curved(span: FloatArray, variance: FloatArray) -> FloatArray:
    """A bound of the log of the mean of exp(h), less the mean of h, by the span and the variance of h."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        bennett = np.where(span < 1e-3, 0.5 + span / 5, (np.expm1(span) - span) / span**2)
        return np.fmin(span**2 / 8, variance * bennett)


def _tilted(logs: FloatArray, mass: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses, that of a further record, and the log of their sum, by which they are divided."""
    with np.errstate(divide="ignore", invalid="ignore"):
        end = np.where(mass > 0, np.log(mass) + end, -math.inf)
        top = np.maximum(np.max(logs, axis=0), end)
        top = np.where(np.isfinite(top), top, 0.0)
        masses, further = np.exp(logs - top), np.exp(end - top)
        total = masses.sum(axis=0) + further
        log = np.log(total) + top
    total = np.where(total > 0, total, 1.0)
    return masses / total, further / total, log


def _threshold(p: FloatArray, q: FloatArray, high: Any, low: Any, p_end: FloatArray, q_end: FloatArray) -> FloatArray:
    """The largest log ratio of sums of p and q, where the first terms count by `high` and the others by `low`."""
    ratios: list[FloatArray] = []
    for side, end in ((p, p_end), (q, q_end)):
        rise = np.cumsum(side * high - side * low, axis=0)
        ratios.append(np.concatenate([np.zeros_like(rise[:1]), rise]) + (side * low).sum(axis=0) + end)
    return np.log(np.fmax.reduce(ratios[0] / ratios[1], axis=0))


# --------------------------------------------------------------------------------------------------
# The laws of one record of each class, on the combinations of values that queries tell apart.
# --------------------------------------------------------------------------------------------------

MOST_VALUE_CELLS = 2**20
"""The most combinations of values, times models or numbers, that are searched together."""


class Swap(NamedTuple):
    """Records that secrets exchange: the pair in words, how many, their classes after and before, and in which models.

    `only` says that all records of a table change in this way, and `cells` that secrets are several counts at once.
    """

    pair: str
    distances: Sequence[int]
    classes: tuple[int, int]
    models: IntArray
    only: bool
    cells: bool


class RecordClasses(NamedTuple):
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
        Log probabilities.
    further : ndarray of shape (2, models)
        The log probabilities of the further records of a draw.
    bands : ndarray of shape (atoms,)
        Ascending; equal where the columns of other releases are.
    error : float
        Of a log probability.
    """

    values: list[int]
    places: IntArray
    levels: list[Array]
    logs: FloatArray
    further: FloatArray
    bands: IntArray
    error: float

    def given(self, swap: Swap) -> tuple[FloatArray, FloatArray]:
        """Log probabilities given the two classes of a swap in its models, and the probability of a further record."""
        sides = [self.values.index(value) for value in swap.classes]
        logs, none = self.logs[sides][:, swap.models], np.full(len(swap.models), -math.inf)
        low, high = self.further[:, swap.models]
        # one in either class; of a difference in the outer ones
        outer = [high if k == len(self.values) - 1 else none if k else low for k in sides]
        ends = np.array([high, low] if swap.cells else outer)
        totals = np.logaddexp(np.logaddexp.reduce(logs, axis=2), ends)
        return logs - totals[:, :, np.newaxis], np.exp(ends - totals)


def swaps(secret: Secret, schema: Schema, classes: RecordClasses) -> list[Swap] | None:
    """The exchanges of records between two secrets of a pair; None for a sum of many values."""
    found: list[Swap] = []
    refused: list[SecretError] = []
    possible = np.any(classes.logs > -math.inf, axis=2)
    # which classes there are may differ between models, and with them the ways in which records change
    for pattern in np.unique(possible, axis=1).T:
        try:
            ways = moves(secret, schema, [value for value, kept in zip(classes.values, pattern, strict=True) if kept])
        except SecretError as error:  # under these models no two values that are to be hidden are possible
            refused.append(error)
            continue
        if ways is None:
            return None
        models, only = np.flatnonzero(np.all(pattern == possible.T, axis=1)), len(ways.classes) == 1
        for pair, both in ways.classes.items():
            found.append(Swap(pair, ways.distances, both, models, only, secret.of_cells))
    if refused and not found:
        raise refused[0]
    return found


class Told(NamedTuple):
    """A column in cells that nobody tells apart: a value of each, log P(cell | state), its error, cells of records."""

    values: Array
    logs: FloatArray
    error: float
    rows: IntArray


def told(framework: DatasetAttributePrivacy, forms: Iterable[NormalForm], seen: frozenset[str]) -> dict[str, Told]:
    """The columns that queries read, in cells that none of these can tell apart, nor who sees the columns `seen`."""
    schema, public = framework.schema, framework.public_records
    terms = tuple(dict.fromkeys(term for form in forms for term in form.terms))
    form = NormalForm(schema=schema, terms=terms, rows=(), offset=(), labels=())
    names = sorted(seen.union(*map(columns_of, terms)))
    found: dict[str, Told] = {}
    for name, cells in node_cells(form, names, _network(framework).states, framework.column_laws).items():
        by_query, column, marks = told_by(form, name), schema[name], dict[Any, tuple[int, Any]]()
        shown, rows = list[Any](), np.zeros(0, dtype=np.int64)
        if public is not None:
            held, rows = np.unique(cleaned(column, public.columns[name]), return_inverse=True)
            shown = [column.outcomes[int(x)] for x in held] if isinstance(column, Categorical) else held.tolist()
        places = [
            marks.setdefault((by_query(value), value if name in seen else None), (len(marks), value))[0]
            for value in (*cells.values, *shown)
        ]
        logs = np.full((len(cells.logs), len(marks)), -math.inf)
        for place, given in zip(places, cells.logs.T, strict=False):
            logs[:, place] = np.logaddexp(logs[:, place], given)
        values = np.empty(len(marks), dtype=object)
        values[:] = [value for _, value in marks.values()]
        error = cells.error + UNIT_ROUNDOFF * len(places) * (FUNCTION_ERROR + 4 + magnitude(logs))
        found[name] = Told(values, logs, error, np.array(places)[len(cells.values) :][rows.ravel()])
    return found


def classes_of(
    framework: DatasetAttributePrivacy, secret: Secret, forms: Sequence[NormalForm], seen: frozenset[str]
) -> RecordClasses:
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
        If there are too many combinations of values; found out before they are tabulated.
    """
    network, public = _network(framework), framework.public_records
    hidden = normal_form(class_query(secret, framework.schema), framework.schema)
    held = told(framework, (hidden, *forms), frozenset() if public is None else seen)
    # without public records a column has one law in each of its states, whatever the class
    states = sorted(seen) if public is None else []
    axes, marks = [*held, *states], [f"cell of {name}" for name in held]
    shape = (*(len(each.values) for each in held.values()), *(len(network.states[name]) for name in states))
    cells = math.prod(shape)
    if cells * max(framework.models, sum(len(form.offset) for form in forms)) > MOST_VALUE_CELLS:
        raise SizeError(
            f"distributions of one record may have {MOST_VALUE_CELLS:,} combinations of values, times models or "
            "numbers",
            found=f"{cells:,} of one record",
            remedy="Query fewer columns at once.",
        )
    needed = network.graph.ancestral(axes)
    tables = [network.tables[name] for name in network.attributes if name in needed]
    tables += [
        LogTable(axes=(name, mark), values=each.logs[np.newaxis], error=each.error)
        for mark, (name, each) in zip(marks, held.items(), strict=True)
    ]
    joint = marginal(tables, (*marks, *states))
    logs = np.broadcast_to(joint.values, (network.models, *shape)).reshape(network.models, cells)
    error, further = joint.error, np.full((2, framework.models), -math.inf)
    if public is not None:
        where = np.ravel_multi_index(tuple(each.rows for each in held.values()), shape)
        logs, further, lost = _with_records(public, logs, where, framework.models)
        error += lost

    def added(form: NormalForm) -> list[Array]:
        """What every combination of values adds to the numbers of a query."""
        names = sorted(set[str]().union(*map(columns_of, form.terms)))
        own = [n if k < len(held) and axes[k] in names else 1 for k, n in enumerate(shape)]
        found = added_by(form, {name: held[name].values for name in names})
        return [np.broadcast_to(each.reshape(own), shape).ravel() for each in found]

    numbers = [np.unique(each, return_inverse=True) for form in forms for each in added(form)]
    places = [np.zeros(cells, dtype=np.int64), *(each.ravel() for _, each in numbers)]
    bands = places[0]
    for k, name in enumerate(axes):
        if name in seen:
            bands = bands * shape[k] + np.arange(cells) // math.prod(shape[k + 1 :]) % shape[k]
    atom, first = _ranked([bands, *places])
    (counted,), possible = added(hidden), np.any(logs > -math.inf, axis=0)
    values = np.unique(counted[possible])
    laws = np.full((len(values), framework.models, len(first)), -math.inf)
    for law, value in zip(laws, values, strict=True):
        mine = np.flatnonzero(possible & (counted == value))
        order = mine[np.argsort(atom[mine], kind="stable")]
        starts = np.flatnonzero(np.diff(atom[order], prepend=-1))
        law[:, atom[order[starts]]] = np.logaddexp.reduceat(logs[:, order], starts, axis=1)
    error = 2 * error + UNIT_ROUNDOFF * 2 * (cells + len(first)) * (FUNCTION_ERROR + 4 + magnitude(laws))
    levels = [np.zeros(1, dtype=np.int64), *(found for found, _ in numbers)]
    chosen = np.stack([each[first] for each in places], axis=1)
    found = list(map(int, values))
    bands = bands[first]
    return RecordClasses(
        values=found, places=chosen, levels=levels, logs=laws, further=further, bands=bands, error=error
    )


def _with_records(public: Any, own: FloatArray, where: IntArray, models: int) -> tuple[FloatArray, FloatArray, float]:
    """The log probabilities of cells with those of draws of public records, the logs of further ones, and the error."""
    order = np.argsort(where, kind="stable")
    starts = np.flatnonzero(np.diff(where[order], prepend=-1))
    part, rest = math.log(public.records / (public.records + 1)) - BITS * math.log(2), -math.log1p(public.records)
    logs, further = np.concatenate([own, np.empty((public.draws, len(own[0])))]), np.full((2, models), -math.inf)
    for draw, row in enumerate(logs[len(own) :]):
        weights = public.weights(draw, 2)
        with np.errstate(divide="ignore"):
            # sums of whole numbers below 2^63: exact in any order
            masses = np.log(np.add.reduceat(weights[order], starts).astype(np.float64)) + part
            further[:, len(own) + draw] = np.log(weights[-2:].astype(np.float64)) + part
        row[:] = own[draw % len(own)] + rest
        row[where[order[starts]]] = np.logaddexp(row[where[order[starts]]], masses)
    return logs, further, UNIT_ROUNDOFF * (2 * FUNCTION_ERROR * (BITS + magnitude(logs)) + 8 * magnitude(logs) + 16)


def _ranked(columns: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """The place of every row among the distinct ones in lexicographic order, and where each of these is first."""
    keys, size = np.zeros(1, dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if size * width >= 2**62:
            keys = np.unique(keys, return_inverse=True)[1].ravel()
            size = int(keys.max()) + 1
        keys, size = keys * width + column, size * width
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return places.ravel(), first


# --------------------------------------------------------------------------------------------------
# Sums of several records, and bounds for any number of them.
# --------------------------------------------------------------------------------------------------

SWAPPED_AT_ONCE = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""The numbers of records whose sums are compared; other numbers are put together from these."""

MOST_SUM_ATOMS, MOST_MODELS_SUMMED = 2**12, 8
"""The most values of a sum of records, and the most models under which sums are compared."""

MOST_SWAPPED = 2**12
"""More distances of secrets are bounded by the largest one alone."""

Noises = Sequence[tuple[int, float]]
"""The columns of numbers with noise, each with one over its scale."""


def law_pairs(
    places: IntArray, levels: Sequence[Array], noises: Noises, bare: Iterable[int], logs: tuple[FloatArray, FloatArray]
) -> LawPairs:
    """Pairs of laws without further records, from columns of places and the values that these stand for."""
    # equal counts are one, and a count of what does not meet a condition is that of what does
    found: dict[object, tuple[IntArray, FloatArray]] = {None: (np.zeros(len(places), dtype=np.int64), np.zeros(0))}
    for k, (column, rate) in enumerate(noises):
        steps, own, key = np.diff(levels[column]).astype(np.float64) * rate, places[:, column], cast(object, k)
        if len(steps) == 1:
            own = own ^ own[0]
            key = own.tobytes()
        if len(steps):
            found[key] = own, steps + found[key][1] if key in found else steps
    apart = _ranked([np.zeros(len(places), dtype=np.int64), *(places[:, column] for column in bare)])[0]
    nowhere, nothing = np.zeros(logs[0].shape, dtype=np.bool_), np.zeros(logs[0].shape[1])
    stacked, steps = np.stack([own for own, _ in found.values()], axis=1), [steps for _, steps in found.values()]
    bands = np.zeros(len(places), dtype=np.int64)
    return LawPairs(stacked, steps, *logs, apart, (nothing, nothing), (nowhere, nowhere), bands)


def bounds_of_sums(pair: Sequence[WholeLaw], noises: Noises, bare: Sequence[int], most: int) -> dict[int, float]:
    """What swaps of several records at once tell, at most, while their sums are few."""
    found: dict[int, float] = {}
    for records in SWAPPED_AT_ONCE:
        if records > most or sums_bound(pair, records) > MOST_SUM_ATOMS:
            break
        sums = [summed((law, records)) for law in pair]
        both = [np.concatenate(each) for each in zip(*(law.columns for law in sums), strict=True)]
        joined = [np.unique(each, return_inverse=True) for each in both]
        atom, first = _ranked(places.ravel() for _, places in joined)
        logs = np.full((2, len(first), 1), -math.inf)
        for side, law, own in zip(logs, sums, np.split(atom, [sums[0].size]), strict=True):
            side[own, 0] = law.logs
        places = np.stack([each.ravel()[first] for _, each in joined], axis=1)
        laws = law_pairs(places, [levels for levels, _ in joined], noises, bare, (logs[0], logs[1]))
        found[records] = float(RatioSearch(laws, together=True).largest().bound[0]) + sum(law.error for law in sums)
    return found


def over(distances: Sequence[int], bounds: Mapping[int, float]) -> float:
    """A bound for the largest of several numbers of records, from bounds for some of which they are sums.

    Examples
    --------
    >>> over(range(1, 8), {1: 1.0, 2: 1.5}), over([3], {1: 1.0})
    (5.5, 3.0)
    """
    least, most = [0.0], max(bounds)
    if len(distances) > MOST_SWAPPED or most == 1:
        return distances[-1] * bounds[1]
    for records in range(1, most):
        least.append(min(least[records - j] + bound for j, bound in bounds.items() if j <= records))
    return max(j // most * bounds[most] + least[j % most] for j in distances)


def linear_parts(laws: LawPairs, error: float) -> tuple[FloatArray, FloatArray, float]:
    """What answers add to the bound that is linear in u: gains, a standard deviation, and the span of weights."""
    p, q, reach, span = np.exp(laws.above), np.exp(laws.below), np.zeros(len(laws.above)), 0.0
    gains, deviation = np.zeros((2, p.shape[1]))
    for places, steps in zip(laws.places.T[1:], laws.steps[1:], strict=True):
        beyond = (places > np.arange(len(steps))[:, np.newaxis]).astype(np.float64)
        tails, length = beyond @ p, steps[:, np.newaxis]
        gain = np.cumsum(length * (tails - beyond @ q), axis=0)
        gains += np.maximum(np.max(2 * gain - gain[-1], axis=0), -gain[-1])
        deviation += (length * np.sqrt(np.maximum(tails * (1 - tails), 0))).sum(axis=0)
        line, span = np.append(0.0, np.cumsum(steps)), span + float(steps.sum())
        reach += np.abs(line[places] - line[np.sort(places)[len(places) // 2]])
    rounding = span * (4 * error + UNIT_ROUNDOFF * (8 * len(p) + 16 * FUNCTION_ERROR))
    deviation = np.minimum(deviation, np.sqrt(reach**2 @ p)) * (1 + 2**-30) + rounding
    return gains + rounding, deviation, up(min(span, 2 * float(reach.max())), 64)


# --------------------------------------------------------------------------------------------------
# What several releases tell together.
# --------------------------------------------------------------------------------------------------

MOST_KEPT_LAWS = 256
"""The most results of a kind that are cached with a framework."""

MOST_CLASS_LAWS = 32
"""The most laws of one record, of several answers together, that are cached with it."""

MOST_WITH_DELTA, MOST_EXPONENT = 8.0, 700.0
"""Theorem 5 counts up to this epsilon; above the other one a sum of epsilons has an infinite exponential."""


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


@dataclass(frozen=True, kw_only=True)
class RecordsTotal:
    """What all releases tell together: an epsilon, None where nothing bounds it, and the shares, most first."""

    epsilon: Fraction | None
    kind: Kind
    shares: tuple[RecordShare, ...] = ()

    @staticmethod
    def of(shares: Iterable[RecordShare], kind: Kind) -> RecordsTotal:
        """The largest of some shares."""
        ordered = tuple(sorted(shares, key=lambda share: share.total, reverse=True))
        return RecordsTotal(epsilon=ordered[0].total if ordered else Fraction(0), kind=kind, shares=ordered)


class CountedRelease(NamedTuple):
    """A release as theorem 4 sees it.

    The form is None of what counts as private for single records; `rates` are what one more of each numerator costs,
    none without noise; `rounding` is what the rounding of the answer costs.
    """

    entry: Entry
    form: NormalForm | None = None
    rates: tuple[float, ...] = ()
    rounding: Fraction = Fraction(0)


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
        unknown = CUSTOM if isinstance(query, Custom) else unknown_law(self.framework, query)
        if unknown is None:
            try:
                told(self.framework, [normal_form(query, self.framework.schema)], frozenset())
            except BnprivError as error:
                return Refusal.of(error)
        return unknown

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

    def _kept(self, table: str, key: Any, make: Callable[[], Any], most: int = MOST_KEPT_LAWS) -> Any:
        """What was worked out before, or is now; the last few are kept."""
        return self.framework.kept.latest(table, key, most, make)

    def _without_delta(self, entries: Sequence[Entry]) -> RecordsTotal:
        """The total by theorem 4."""
        protect, laws = self.framework.protect, self.framework.column_laws
        read = frozenset[str]().union(*(each.property.columns for each in protect.values()))
        read = read.union(*(entry.columns for entry in entries))
        kind = law_kind(law for name in read for law in laws.get(name, ()))
        releases = [release for entry in entries if (release := self._release(entry)) is not None]
        if len(releases) < len(entries):
            return RecordsTotal(epsilon=None, kind=kind)
        try:
            found = [self._share(*way, releases) for way in self.ways() or ()]
        except (OverflowError, SizeError, LawError):  # what is infinite is no fraction
            return RecordsTotal(epsilon=None, kind=kind)
        return RecordsTotal.of(found, kind)

    def ways(self) -> list[tuple[str, Secret, Swap]] | None:
        """The exchanges of records of every protected property; None where one is a sum of many values."""
        return self._kept("exchanges of records", None, self._ways)

    def _ways(self) -> list[tuple[str, Secret, Swap]] | None:
        found: list[tuple[str, Secret, Swap]] = []
        for name, secret in self.framework.protect.items():
            own = swaps(secret, self.framework.schema, self._laws(secret, {}, frozenset()))
            if own is None:
                return None
            found += [(name, secret, swap) for swap in own]
        return found

    def _release(self, entry: Entry) -> CountedRelease | None:
        """An entry as theorem 4 sees it; None where it does not count it."""
        if entry.record is not None:
            return None if entry.record[1] else CountedRelease(entry)
        if entry.query is None or entry.noise == "gaussian":
            return None

        def facts(query: Query = entry.query) -> tuple[NormalForm, float, list[int]]:
            form = normal_form(query, self.framework.schema)
            return form, rounding_of(form), [whole.denominator for whole in form.wholes()]

        form, rounding, below = self._kept("forms of records", entry.text, facts)
        if not entry.noise:
            return CountedRelease(entry, form)
        weights = entry.weights or (1.0,) * len(below)
        moved = Fraction(rounding) * Fraction(max(weights)) / Fraction(entry.scale) if rounding else Fraction(0)
        return CountedRelease(
            entry, form, tuple(w / entry.scale / d for w, d in zip(weights, below, strict=True)), moved
        )

    def _alone(self, release: CountedRelease) -> float:
        """What a release tells of one record whatever the laws, rounded up."""
        entry = release.entry
        if entry.record is not None:
            return rounded_up(entry.record[0])
        return up(self._moved(entry, 1) / entry.scale) if entry.noise else math.inf

    def _moved(self, entry: Entry, norm: int) -> float:
        """How far one record moves a weighted answer, rounded up."""
        query, schema = cast(Query, entry.counted), self.framework.schema
        key = entry.text, entry.weights, norm
        make = lambda: record_sensitivity(query, entry.columns, schema, norm).upper  # noqa: E731
        return float(self._kept("moves of records", key, make))

    def _laws(self, secret: Secret, forms: Mapping[str, NormalForm], seen: frozenset[str]) -> RecordClasses:
        make = lambda: classes_of(self.framework, secret, list(forms.values()), seen)  # noqa: E731
        table, most = (
            ("distributions of records", MOST_CLASS_LAWS)
            if len(forms) > 1
            else ("distributions of one answer", MOST_KEPT_LAWS)
        )
        return self._kept(table, (secret, tuple(forms), seen), make, most)

    def _classes(self, secret: Secret, releases: Iterable[CountedRelease]) -> RecordClasses:
        """The laws of one record on what some releases tell apart."""
        forms = {each.entry.text: each.form for each in releases if each.form is not None}
        seen = frozenset[str]().union(*(each.entry.columns for each in releases if not each.form))
        return self._laws(secret, forms, seen)

    def _share(self, name: str, secret: Secret, swap: Swap, releases: Sequence[CountedRelease]) -> RecordShare:
        """What all releases tell about one property by one exchange of records."""
        seen = [each for each in releases if each.form or self._is_seen(each.entry.columns)]
        beside = [self._alone(each) for each in releases if each not in seen]
        groups, parts = [np.zeros((3, 2 * self.framework.models))], self._parts(name, secret, seen)
        for part in parts:
            try:
                groups.append(self._of_part(secret, swap, part, together=len(parts) == 1))
            except (SizeError, LawError):
                bare = [each for each in part if each.form and not each.rates]
                beside += [self._alone(each) for each in part if bare and each not in bare]
                groups.append(self._of_part(secret, swap, bare) if bare else self._linear(secret, swap, part))
        ones, totals, reached = cast(FloatArray, np.sum(groups, axis=0))
        worst, size, steps = int(np.lexsort((reached, totals))[-1]), swap.distances[-1], 4 + 2 * len(groups)
        told = Fraction(up(float(totals[worst]), steps)) + size * Fraction(up(math.fsum(beside)))
        # what other releases promise for every record is exact
        exact = [each.entry.record[0] for each in releases if each.entry.record]
        told = told if len(exact) < len(releases) else min(told, size * sum(exact, Fraction(0)))
        return RecordShare(
            protected=name,
            pair=swap.pair,
            model=worst % self.framework.models,
            distance=size,
            one=up(math.fsum([float(ones[worst]), *beside]), steps),
            total=sum((each.rounding for each in releases), told),
        )

    def _is_seen(self, names: frozenset[str]) -> bool:
        """Whether the law of whole columns is known: by states, and of public records by categories."""
        schema, laws = self.framework.schema, self.framework.column_laws
        if self.framework.public_records is None:
            return names <= set(self.framework.network.attributes)
        return all(isinstance(schema[name], Categorical) and name not in laws for name in names)

    def _parts(self, name: str, secret: Secret, releases: Sequence[CountedRelease]) -> list[list[CountedRelease]]:
        """The releases in groups of which the columns are independent of those of other groups in either class."""
        network, several = _network(self.framework), self.framework.public_records or name in self.framework.column_laws
        columns = set[str]().union(*(each.entry.columns for each in releases))
        parts = [frozenset(columns)]
        # a class is one state of the protected column; in draws of public records nothing is independent
        if not several and len(network.states[name]) == 2 and secret.property.columns == frozenset({name}):
            parts = list(map(frozenset, independent_parts(network.graph, name, sorted(columns - {name}))))
        found: list[tuple[frozenset[str], list[CountedRelease]]] = []
        for release in releases:
            read = frozenset[str]().union(*(part for part in parts if part & release.entry.columns))
            near = [each for each in found if each[0] & read or each[0] == read]
            found = [each for each in found if each not in near]
            found.append((read.union(*(names for names, _ in near)), [*(r for _, rs in near for r in rs), release]))
        return [releases for _, releases in found]

    def _pairs(
        self, swap: Swap, classes: RecordClasses, releases: Sequence[CountedRelease]
    ) -> tuple[IntArray, LawPairs, Any]:
        """The models with both classes, the laws of both directions, and the columns of numbers with noise or none."""
        columns, noises, bare, band = dict[str, range](), list[tuple[int, float]](), list[int](), 0.0
        for each in releases:
            if each.form is None:
                band = up(band + self._alone(each))
                continue
            form, start = each.form, 1 + sum(map(len, columns.values()))
            numbers = columns.setdefault(each.entry.text, range(start, start + len(form.offset)))
            noises += zip(numbers, each.rates, strict=False)
            bare += [] if each.rates else numbers
        models, (logs, ends) = swap.models, classes.given(swap)
        first, second = (
            np.repeat(each, len(models), axis=0).T for each in np.any(logs > -math.inf, axis=1, keepdims=True)
        )
        laws = law_pairs(
            classes.places, classes.levels, noises, bare, (np.concatenate(logs).T, np.concatenate(logs[::-1]).T)
        )
        ended = np.concatenate(ends), np.concatenate(ends[::-1])
        both = np.hstack([first, second]), np.hstack([second, first])
        laws = laws._replace(ends=ended, possible=both, bands=classes.bands, band=band)
        return models, laws, (noises, bare)

    def _of_part(
        self, secret: Secret, swap: Swap, releases: Sequence[CountedRelease], together: bool = False
    ) -> FloatArray:
        """What one swap and all tell, at most, and one at least: 3 rows, for both directions of all models."""
        classes = self._classes(secret, releases)
        models, laws, (noises, bare) = self._pairs(swap, classes, releases)
        found = RatioSearch(laws, together=together and len(models) > MOST_MODELS_SUMMED).largest()
        ones, k, public = found.bound + 2 * classes.error, swap.distances[-1], self.framework.public_records
        totals, used = k * ones, sorted({*bare, *(column for column, _ in noises)})
        places, at = classes.places[:, used].T, {column: place for place, column in enumerate(used)}
        sought = np.flatnonzero(~found.corner & (ones < math.inf))
        few = k > 1 and swap.only and not laws.band and public is None and len(models) <= MOST_MODELS_SUMMED
        for pair in sought if few else ():
            added: list[Array] = [classes.levels[column][own] for column, own in zip(used, places, strict=True)]
            both = [WholeLaw.of(added, each[:, pair], classes.error) for each in (laws.above, laws.below)]
            sums = bounds_of_sums(both, [(at[c], rate) for c, rate in noises], [at[c] for c in bare], k)
            totals[pair] = over(swap.distances, {1: float(ones[pair]), **sums})
        return self._spread(models, (ones, totals, found.reached))

    def _spread(self, models: IntArray, values: Sequence[FloatArray]) -> FloatArray:
        """Values of both directions of some models, for all models."""
        spread = np.zeros((len(values), 2, self.framework.models))
        spread[:, :, models] = np.reshape(values, (len(values), 2, len(models)))
        return spread.reshape(len(values), -1)

    def _linear(self, secret: Secret, swap: Swap, releases: Sequence[CountedRelease]) -> FloatArray:
        """The same where laws of all answers are too large: the bound that is linear in u needs those of few columns.

        What cannot be in it, as it has no noise or is too large by itself, is counted alone.
        """
        first, deviation, spans, ends = np.zeros((4, 2 * self.framework.models))
        beside, alone, by_columns = 0.0, up(math.fsum(map(self._alone, releases))), dict[Any, list[CountedRelease]]()
        for each in releases:
            by_columns.setdefault(each.entry.columns if each.rates else each.entry, []).append(each)
        left = list(by_columns.values())
        while left:
            part = left.pop()
            try:
                classes = self._classes(secret, part) if part[0].rates else None
            except (SizeError, LawError):
                classes = None
            if classes is None:
                left += [[each] for each in part] if len(part) > 1 else []
                beside = up(beside + self._alone(part[0])) if len(part) == 1 else beside
                continue
            models, laws, _ = self._pairs(swap, classes, part)
            gains, spread, span = linear_parts(laws, classes.error)
            added = self._spread(models, (gains, spread, np.full_like(gains, span), laws.ends[0] + laws.ends[1]))
            first, deviation, spans = first + added[0], deviation + added[1], spans + added[2]
            ends = np.maximum(ends, added[3])
        curved = _curved(spans, deviation**2 + ends * spans**2) * (1 + 2**-30)
        ones = np.minimum(first + ends * spans + curved + beside, alone)
        return np.stack([ones, swap.distances[-1] * ones, ones])

    def _with_delta(self, entries: Sequence[Entry], delta: Fraction, columns: frozenset[str]) -> RecordsTotal:
        """The total by theorem 5."""
        fixed, unbounded = columns | entries[0].columns, RecordsTotal(epsilon=None, kind="certified")
        if not all(each.columns <= fixed and (each.record or (each.query and each.noise)) for each in entries):
            return unbounded
        shares: list[RecordShare] = []
        for name, secret, swap in self.ways() or ():
            k, apart = swap.distances[-1], self._apart(secret, swap, fixed)
            grown = up(up(math.expm1(MOST_WITH_DELTA) / math.expm1(MOST_WITH_DELTA / k)) * apart)
            epsilons, deltas = list[float](), list[Fraction]()
            for entry in entries:
                own = entry.delta if entry.record is None else entry.record[1] * Fraction(grown)
                deltas.append(own if entry.record or entry.noise == "gaussian" else Fraction(0))
                if entry.record is None and entry.noise == "gaussian":
                    shift = up(self._moved(entry, 2) / entry.scale)
                    epsilons.append(gaussian_epsilon(shift, down(float(own) / grown, 8)))
                else:
                    epsilons.append(self._alone(CountedRelease(entry)))
            one = up(math.fsum(epsilons))
            if one < MOST_EXPONENT:
                one = min(one, up(math.log1p(up(apart * math.expm1(one), 16)), 16))
            if not k * one <= MOST_WITH_DELTA or sum(deltas) > delta:
                return unbounded
            total = Fraction(up(k * one))
            shares.append(RecordShare(protected=name, pair=swap.pair, model=0, distance=k, one=one, total=total))
        return RecordsTotal.of(shares, "certified")

    def _apart(self, secret: Secret, swap: Swap, columns: frozenset[str]) -> float:
        """The total variation of what columns hold in one class and in the other, rounded up."""
        try:
            classes = self._laws(secret, {}, columns) if self._is_seen(columns) else None
        except SizeError:
            classes = None
        if classes is None:
            return 1.0
        logs, ends = classes.given(swap)
        p, q = np.exp(logs)
        far = [np.maximum(x - y, 0.0).sum(axis=1) + end for x, y, end in ((p, q, ends[0]), (q, p, ends[1]))]
        lost = 2 * math.expm1(classes.error) + UNIT_ROUNDOFF * (4 * FUNCTION_ERROR + 2 * len(classes.bands) + 8)
        return min(1.0, float(np.max(far)) + lost)


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
    if framework.forward is not None or not framework.network.states:
        return NOT_BY_RECORDS
    evidence = SwappedRecords(framework)
    try:
        return NOT_BY_RECORDS if evidence.ways() is None else evidence
    except BnprivError as error:
        return Refusal.of(error)
