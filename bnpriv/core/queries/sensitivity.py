"""Column sensitivity: how far an answer can move when some columns of a table change arbitrarily."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray
from bnpriv.core.columns import Categorical
from bnpriv.core.queries import contribution
from bnpriv.core.queries.asked import Weighted, as_query
from bnpriv.core.queries.base import GivenAnswer, Indicator, NormalForm, Query, normal_form
from bnpriv.core.queries.builtin import Custom
from bnpriv.core.schema import Column, Schema, require_schema
from bnpriv.errors import ParameterError, QueryError, SchemaError, SizeError

# --------------------------------------------------------------------------------------------------
# The diameter of a finite set of points: the geometry behind column sensitivity, on plain arrays.
#
# A cloud is what a record can add to some outputs, of shape (moving, resting, outputs): along the first axis the
# columns that change, along the second those that rest. A change goes from one point of a cloud to another with the
# same resting index. The largest length is looked for in all pairs where they are few; else it is enclosed by a bound
# and an example.
# --------------------------------------------------------------------------------------------------

Norm = Literal[1, 2]

MOST_PAIRED = 50_000_000  # numbers looked at when all pairs are compared
MOST_SIGNED_NUMBERS = 1_000_000  # numbers held when all patterns of signs are tried
MOST_CHANGES = 4_000_000  # numbers held when all changes are listed
MOST_CUBICS = 20_000  # roots of cubics that are looked for
MOST_SORTED = 500_000  # numbers of points that are sorted to find those that are alike
DISTANCES_AT_ONCE = 1_000_000  # numbers held when pairs are compared block by block


@dataclass(frozen=True)
class Reach:
    """What is known of a largest length: `change` attains `lower`, and no change exceeds `upper`."""

    lower: float
    upper: float
    change: FloatArray


def lengths(changes: FloatArray, box: FloatArray, norm: Norm) -> FloatArray:
    """The length of each change when every output may move by a further `box`, in either direction."""
    stretched = np.abs(changes) + box
    return stretched.sum(axis=-1) if norm == 1 else np.sqrt(np.square(stretched).sum(axis=-1))


def by_signs(clouds: Sequence[tuple[FloatArray, Sequence[int]]], outputs: int) -> float | None:
    """The largest 1-norm of a sum of changes, one from each cloud, or None if there are too many signs.

    The 1-norm is the largest signed sum over the patterns of signs, and a signed sum is largest in each cloud apart.

    Parameters
    ----------
    clouds : sequence of (ndarray, sequence of int)
        Each with the outputs that it adds to.
    outputs : int
        How many outputs there are.
    """
    largest = max(cloud[..., 0].size for cloud, _ in clouds)
    if outputs > 20 or (outputs > 1 and 2 ** (outputs - 1) * max(largest, outputs) > MOST_SIGNED_NUMBERS):
        return None
    signs: FloatArray = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=outputs - 1)])
    total: FloatArray = np.zeros(len(signs))
    for cloud, places in clouds:
        signed: FloatArray = np.einsum("mro,so->smr", cloud, signs[:, list(places)])
        total += (signed.max(axis=1) - signed.min(axis=1)).max(axis=1)
    return float(total.max())


def farthest(cloud: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    """The largest length of a change within one cloud; over all pairs if they are few enough."""
    best = Reach(0.0, 0.0, np.zeros_like(box))
    work = 0
    for points in _slices(cloud):
        work += points.size * len(points)
        few = work <= MOST_PAIRED or len(points) == 1
        found = _all_pairs(points, box, norm) if few else _some_pairs(points, box, norm)
        change = found.change if found.lower > best.lower else best.change
        best = Reach(max(best.lower, found.lower), max(best.upper, found.upper), change)
    return best


def changes_of(cloud: FloatArray) -> FloatArray | None:
    """All changes within a cloud, each once, or None if there are too many.

    The zero change is left out when there are others: it lies between a change and its opposite, and lengths are
    convex.
    """
    found: list[FloatArray] = []
    room = MOST_CHANGES
    for points in _slices(cloud):
        room -= points.size * len(points)
        if room < 0:
            return None
        found.append((points[:, None] - points[None]).reshape(-1, cloud.shape[2]))
    listed = np.unique(np.concatenate(found), axis=0)
    moved = listed[np.any(listed != 0, axis=1)]
    return moved if len(moved) else listed


def sums(parts: Sequence[FloatArray], most: int = MOST_CHANGES) -> FloatArray | None:
    """All sums of one row from each of `parts`, or None if they take more than `most` numbers."""
    total = parts[0]
    for part in parts[1:]:
        if len(total) * part.size > most:
            return None
        total = (total[:, None] + part[None]).reshape(-1, part.shape[1])
    return total


def together(reaches: Sequence[Reach], box: FloatArray, norm: Norm) -> FloatArray:
    """Add up changes, one from each reach, with the sign that lengthens the sum: an example, not the optimum."""
    total: FloatArray = np.zeros_like(box)
    for reach in reaches:
        options = np.stack([total + reach.change, total - reach.change])
        total = options[int(lengths(options, box, norm).argmax())]
    return total


def quadratic_diameter(
    shift: FloatArray,
    low: FloatArray,
    high: FloatArray,
    fixed: FloatArray,
    *,
    steps: int,
    slope: FloatArray,
    bend: FloatArray,
) -> float | None:
    """The largest 2-norm of ``shift + f(k) - f(fixed)`` over the whole numbers k from `low` to `high`.

    ``f(k) = slope * z + bend * z**2`` with ``z = 2 * k / steps - 1`` between -1 and 1. The square of the norm is a
    quartic in z, so it is largest at an end or beside a root of its derivative.

    Parameters
    ----------
    shift : ndarray, shape (problems, outputs)
    low, high, fixed : ndarray, shape (problems,)
        Grid steps.
    steps : int
        Number of grid steps of the column.
    slope, bend : ndarray, shape (outputs,)

    Returns
    -------
    float or None
        None if the quartics are too badly scaled for their roots to be trusted.
    """
    held = (2.0 * fixed / steps - 1.0)[:, None]
    start = shift - slope * held - bend * held**2
    lead = 2.0 * float(bend @ bend)
    rest = np.stack(
        [
            np.full(len(shift), 3.0 * float(slope @ bend)),
            (slope**2 + 2.0 * start * bend).sum(axis=1),
            (start * slope).sum(axis=1),
        ],
        axis=1,
    )
    if not lead > 1e-30 or not np.abs(rest).max() < 1e30 * lead:
        return None
    roots = _roots(rest / lead)
    # the root lies between two whole numbers, and may be off by one more through rounding: four are tried
    near = np.floor((roots + 1.0) / 2.0 * steps)
    tried = np.concatenate([near - 1, near, near + 1, near + 2, low[:, None], high[:, None]], axis=1)
    z = (2.0 * np.clip(tried, low[:, None], high[:, None]) / steps - 1.0)[:, :, None]
    moved = shift[:, None, :] + (z - held[:, None]) * (slope + bend * (z + held[:, None]))
    return float(lengths(moved, np.zeros_like(slope), 2).max())


def _roots(monic: FloatArray) -> FloatArray:
    """The real parts of the roots of ``z**3 + a z**2 + b z + c``; values that are no root do no harm."""
    companion = np.zeros((len(monic), 3, 3))
    companion[:, 0] = -monic
    companion[:, 1, 0] = companion[:, 2, 1] = 1.0
    z = np.clip(np.asarray(np.linalg.eigvals(companion).real, dtype=np.float64), -2.0, 2.0)
    a, b, c = (monic[:, [place]] for place in range(3))
    slope = (3.0 * z + 2.0 * a) * z + b
    with np.errstate(over="ignore"):  # one step of Newton's method; it leads nowhere where the slope is 0
        step = np.divide(((z + a) * z + b) * z + c, slope, out=np.zeros_like(z), where=np.abs(slope) > 0)
    return np.concatenate([z, np.clip(z - step, -2.0, 2.0)], axis=1)


def _slices(cloud: FloatArray) -> Iterator[FloatArray]:
    """Yield the points that share a resting index, each once; equal slices once."""
    slices: FloatArray = np.ascontiguousarray(cloud.transpose(1, 0, 2))
    flat = slices.reshape(len(slices), -1)
    different = flat if len(flat) == 1 else np.unique(flat, axis=0)
    for row in different:
        yield _distinct(row.reshape(cloud.shape[0], cloud.shape[2]))


def _distinct(points: FloatArray) -> FloatArray:
    """Each point once; in no order if they are long, because sorting them would be slow."""
    if points.size <= MOST_SORTED:
        return np.unique(points, axis=0)
    places = {point.tobytes(): place for place, point in enumerate(points)}
    return points[sorted(places.values())]


def _all_pairs(points: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    best, change = -1.0, np.zeros(points.shape[1])
    block = max(1, DISTANCES_AT_ONCE // points.size)
    for start in range(0, len(points), block):
        differences = points[start : start + block, None] - points[None]
        found = lengths(differences, box, norm)
        first, second = np.unravel_index(int(found.argmax()), found.shape)
        if found[first, second] > best:
            best, change = float(found[first, second]), differences[first, second]
    return Reach(best, best, change)


def _some_pairs(points: FloatArray, box: FloatArray, norm: Norm) -> Reach:
    """Bound the largest length by the triangle inequality through a common point, and find a long change."""
    none = np.zeros_like(box)
    upper = math.inf
    # any center gives a bound |x - y| <= |x - c| + |y - c|, so the smaller of two is one as well
    for center in (none, (points.max(axis=0) + points.min(axis=0)) / 2):
        away = points - center
        first, second = np.partition(lengths(away, none, norm), -2)[-2:]
        # vectors in one orthant are at most at right angles, hence the hypotenuse
        square = norm == 2 and bool(np.all(away >= 0))
        upper = min(upper, float(math.hypot(first, second) if square else first + second))
    start = points[int(lengths(points, none, norm).argmax())]
    change = none
    # from the farthest point to the one farthest from it, a few times: a good example in linear time
    for _ in range(3):
        found = points[int(lengths(points - start, box, norm).argmax())]
        change, start = found - start, found
    lower = float(lengths(change, box, norm))
    upper += float(lengths(none, box, norm))
    return Reach(lower, max(upper, lower), change)


# --------------------------------------------------------------------------------------------------
# The largest change of several outputs together: exact fractions around a search in floating point.
#
# Outputs that share no part move on their own, so their largest changes are attained in one and the same pair of
# tables. A part that feeds one output only adds its own largest change to that output, in the direction of whatever
# else happens there: it becomes a side of the cluster's box. What remains, parts that feed several outputs, is
# searched jointly, in this order: all patterns of signs (1-norm), all pairs of points, all sums of changes, roots of
# cubics where a column is squared. Where a search would be too large, bounds that are never too small take its place.
# --------------------------------------------------------------------------------------------------

MOST_ALONE = 256  # outputs whose own largest changes are searched where they are too many to be searched together
LARGEST_SIDE = 2**400  # in the unit of a cluster; the square of a larger one might overflow
TIGHT = Fraction(1, 10**9)  # relative difference of bounds that are as good as equal
LEAST_DOUBLE = 2.0**-1060  # rather more than the least double above 0
CUBIC_ERROR = 1e-12  # of the roots of a cubic, on the largest value of its quartic; relative


class Extent(NamedTuple):
    """Bounds of a largest change: it lies between `lower` and `upper`."""

    lower: Fraction
    upper: Fraction


NO_EXTENT = Extent(Fraction(0), Fraction(0))


def clusters(added: contribution.Contribution, outputs: Sequence[int]) -> list[Cluster]:
    """Group `outputs` into clusters that move independently; outputs that cannot move are left out."""
    box = dict.fromkeys(outputs, NO_EXTENT)
    moved: list[tuple[frozenset[int], tuple[contribution.ColumnPart, ...]]] = []
    for part in added.parts(outputs):
        fed = added.fed(part, outputs)
        if len(fed) == 1:
            (output,) = fed
            alone = alone_in(added, part, output)
            box[output] = Extent(box[output].lower + alone.lower, box[output].upper + alone.upper)
            if alone.upper > 0:
                moved.append((frozenset(fed), ()))
        else:
            moved.append((frozenset(fed), (part,)))
    return [
        Cluster(added=added, outputs=tuple(sorted(fed)), parts=parts, box={output: box[output] for output in fed})
        for fed, parts in contribution.grouped(moved)
    ]


def alone_in(added: contribution.Contribution, part: contribution.ColumnPart, output: int) -> Extent:
    """The largest change that one part makes in one output."""
    scale = contribution.scale_of(added, [part], [output])
    table = contribution.tabulate(added, part, [output], scale)
    if table is None:
        low, high = added.outer(part, output)
        return Extent(Fraction(0), high - low)
    found = by_signs([(table.values, (0,))], 1)
    assert found is not None  # one output has one pattern of signs
    # where a corner may be the step of no double, it bounds the change from above, but need not be attained
    return _extent(scale, found, 0.0 if contribution.holes(added, part) else found, _rounding([table], found))


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Outputs tied together by parts that feed several of them.

    Parameters
    ----------
    added : Contribution
    outputs : tuple of int
    parts : tuple of ColumnPart
        The parts that feed several of the outputs.
    box : mapping from int to Extent
        For each output the largest change of the parts that feed it alone.
    """

    added: contribution.Contribution
    outputs: tuple[int, ...]
    parts: tuple[contribution.ColumnPart, ...]
    box: Mapping[int, Extent]

    def largest(self, norm: Norm) -> Extent:
        """The largest change of the outputs, in the 1-norm or 2-norm."""
        if len(self.outputs) == 1:
            return self.box[self.outputs[0]]
        found = self._largest_sum() if norm == 1 else self._largest_root()
        if found is not None and found.upper - found.lower <= found.upper * TIGHT:
            return found
        bounds = [self._by_outputs(norm)] + ([found] if found is not None else [])
        if norm == 2:
            # no 2-norm exceeds the 1-norm
            bounds.append(Extent(Fraction(0), self.largest(1).upper))
        return Extent(max(bound.lower for bound in bounds), min(bound.upper for bound in bounds))

    @cached_property
    def scale(self) -> Fraction:
        """The unit of the tables: a power of two."""
        return contribution.scale_of(self.added, self.parts, self.outputs)

    @cached_property
    def tables(self) -> list[contribution.ContributionTable] | None:
        """A table for each part, or None if one is too large."""
        found = [contribution.tabulate(self.added, part, self.outputs, self.scale) for part in self.parts]
        tables = [table for table in found if table is not None]
        return tables if len(tables) == len(found) else None

    @property
    def _holes(self) -> bool:
        return any(contribution.holes(self.added, part) for part in self.parts)

    def _by_outputs(self, norm: Norm) -> Extent:
        """Bound the change through single outputs; of very many outputs, most through their ranges only."""
        alone = [sum_of(clusters(self.added, [output]), 1) for output in self.outputs[:MOST_ALONE]]
        lower = max(extent.lower for extent in alone)
        alone += [self._range(output) for output in self.outputs[MOST_ALONE:]]
        bounds = [combined(alone, norm).upper, *self._by_sizes(norm)]
        return Extent(lower, min(bounds))

    def _range(self, output: int) -> Extent:
        ends = [self.added.outer(part, output) for part in self.added.parts([output])]
        return Extent(Fraction(0), sum((high - low for low, high in ends), Fraction(0)))

    def _by_sizes(self, norm: Norm) -> list[Fraction]:
        """Bound the change by the sizes of what two records add: cheap for a histogram of very many bins.

        Empty where values are summed, or even a table of sizes is too large.
        """
        total = combined(list(self.box.values()), norm).upper
        for part in self.parts:
            sizes = self.added.sizes(part, self.outputs)
            table = sizes and contribution.tabulate(sizes, part, [0], self.scale)
            if table is None or len(table.values) < 2:
                return []
            first, second = np.partition(table.values[..., 0], -2, axis=0)[-2:]
            # counts with weights above 0 add points of one orthant, at most at right angles from each other
            weights = (weight for output in self.outputs for _, weight in self.added.weights(part, output))
            square = norm == 2 and all(weight > 0 for weight in weights)
            longest = float((np.hypot(first, second) if square else first + second).max())
            total += _extent(self.scale, longest, 0.0, _rounding([table], longest) + 4 * UNIT_ROUNDOFF * longest).upper
        return [total]

    def _largest_sum(self) -> Extent | None:
        """The largest 1-norm; the box adds to it whatever the signs are."""
        if self.tables is None:
            return None
        every = range(len(self.outputs))
        signed = by_signs([(table.values, every) for table in self.tables], len(self.outputs))
        lower = upper = signed
        if lower is None or upper is None:
            lower, upper = self._reached(1, np.zeros(len(self.outputs)))
        found = _extent(self.scale, upper, 0.0 if self._holes else lower, _rounding(self.tables, upper))
        sides = self.box.values()
        return Extent(
            found.lower + sum((side.lower for side in sides), Fraction(0)),
            found.upper + sum((side.upper for side in sides), Fraction(0)),
        )

    def _reached(self, norm: Norm, box: FloatArray) -> tuple[float, float]:
        """A length that is attained, and one that is not exceeded, because the lengths of the parts add up."""
        tables = self.tables or []
        nothing = np.zeros_like(box)
        if len(tables) == 1:
            reach = farthest(tables[0].values, box, norm)
            return reach.lower, reach.upper
        reaches: list[Reach] = [farthest(table.values, nothing, norm) for table in tables]
        upper = sum(reach.upper for reach in reaches) + float(lengths(nothing, box, norm))
        return float(lengths(together(reaches, box, norm), box, norm)), upper

    def _largest_root(self) -> Extent | None:
        """The largest 2-norm: among the corners if nothing is squared, else with the help of cubics."""
        if self.tables is None:
            return None
        if max(side.upper for side in self.box.values()) > self.scale * LARGEST_SIDE:
            return None
        box = np.array([float(self.box[output].upper / self.scale) for output in self.outputs])
        loose = sum(float((side.upper - side.lower) / self.scale) for side in self.box.values())
        squared = [(part, name) for part in self.parts for name in sorted(self.added.squared(part))]
        if len(squared) == 1:
            return self._with_square(*squared[0], box, loose)
        lower, upper = self._reached(2, box) if len(self.tables) == 1 else self._listed(box)
        if squared:
            upper = math.inf  # the corners do not suffice
        return self._rounded(lower, upper, box, loose)

    def _rounded(self, lower: float, upper: float, box: FloatArray, loose: float, error: float = 0.0) -> Extent | None:
        """Widen the result of a 2-norm search by its rounding; without an upper end the 1-norm supplies one."""
        found = lower if math.isinf(upper) else upper
        slack = _rounding(self.tables or [], found, box) + error * found
        lower = 0.0 if self._holes else max(0.0, lower - 2 * loose)
        if math.isinf(upper):
            return Extent(_extent(self.scale, lower, lower, slack).lower, self.largest(1).upper)
        return _extent(self.scale, upper, lower, slack)

    def _listed(self, box: FloatArray) -> tuple[float, float]:
        """The largest 2-norm of all sums of changes, one from each part; bounds where these are too many."""
        changes = [changes_of(table.values) for table in self.tables or []]
        known = [change for change in changes if change is not None]
        total = sums(known) if len(known) == len(changes) else None
        if total is None:
            return self._reached(2, box)
        found = float(lengths(total, box, 2).max())
        return found, found

    def _with_square(self, part: contribution.ColumnPart, name: str, box: FloatArray, loose: float) -> Extent | None:
        """The largest 2-norm when the squares of one column are summed.

        With the sum of the two grid steps of that column fixed, the change is affine in their difference, so the norm
        is largest when one of the two is at an end of its cell. With that one fixed, the squared norm is a quartic in
        the other.
        """
        lower, _ = self._reached(2, box)
        column = self.added.schema[name]
        opened = contribution.tabulate(self.added, part, self.outputs, self.scale, open_column=name)
        others = self._others(part, box)
        if opened is None or others is None or isinstance(column, Categorical):
            return self._rounded(lower, math.inf, box, loose)
        found = _contexts(opened, others)
        if found is None:
            return self._rounded(lower, math.inf, box, loose)
        shift, low, high, fixed = found
        # slope and bend of each output in z = 2 k / steps - 1
        half = Fraction(column.steps, 2)
        pairs = [self.added.parabola(name, part, output) for output in self.outputs]
        slope = np.array([float((slope + 2 * bend * half) * half / self.scale) for slope, bend in pairs])
        bend = np.array([float(bend * half**2 / self.scale) for _, bend in pairs])
        value = quadratic_diameter(shift, low, high, fixed, steps=column.steps, slope=slope, bend=bend)
        if value is None:
            return self._rounded(lower, math.inf, box, loose)
        wide = np.append(box, float(np.abs(slope).sum() + np.abs(bend).sum()))
        return self._rounded(value, value, wide, loose, CUBIC_ERROR)

    def _others(self, part: contribution.ColumnPart, box: FloatArray) -> FloatArray | None:
        """All changes that come from outside `part`: from other parts, and from the sides of the box."""
        tables = [table for table, other in zip(self.tables or [], self.parts, strict=True) if other != part]
        listed = [changes_of(table.values) for table in tables]
        sides = [np.diag(box)[[place]] for place in range(len(box)) if box[place] > 0]
        known = [change for change in listed if change is not None]
        if len(known) < len(listed):
            return None
        signed = [np.concatenate([side, -side]) for side in sides]
        return sums([np.zeros((1, len(box))), *known, *signed], MOST_CUBICS * len(box))


def sum_of(found: Sequence[Cluster], norm: Norm) -> Extent:
    """The largest change of clusters that move independently."""
    extents = [extent for extent in (cluster.largest(norm) for cluster in found) if extent.upper > 0]
    return combined(extents, norm)


def combined(extents: Sequence[Extent], norm: Norm) -> Extent:
    """The largest change of independent movements: 1-norms add, and so do squared 2-norms."""
    if norm == 1 or len(extents) < 2:
        return Extent(
            sum((extent.lower for extent in extents), Fraction(0)),
            sum((extent.upper for extent in extents), Fraction(0)),
        )
    upper = root_of_squares([extent.upper for extent in extents])
    # root_of_squares rounds up by far less than this
    return Extent(root_of_squares([extent.lower for extent in extents]) * (1 - Fraction(1, 2**48)), upper)


def root_of_squares(values: Sequence[Fraction]) -> Fraction:
    """The root of a sum of squares, rounded up by a few units in the last place of a double."""
    largest = max(values)
    if largest == 0:
        return largest
    shares = [float(value / largest) for value in values]
    return largest * Fraction(math.hypot(*shares)) * (1 + Fraction(1, 2**50))


def _contexts(
    opened: contribution.ContributionTable, others: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """All cases in which one column moves freely inside a cell.

    Returns
    -------
    ndarray of shape (cases, outputs)
        How all else changes the outputs.
    ndarray of shape (cases,), three times
        The first and last grid step of the cell that the column moves in, and the step, an end of a cell, that it
        comes from. None instead of all where the cases are too many.
    """
    low, high = np.array(opened.low, dtype=float), np.array(opened.high, dtype=float)
    found: list[FloatArray] = []
    for place in range(opened.values.shape[1]):
        points: FloatArray = np.column_stack([opened.values[:, place], low, high])
        points = np.unique(points, axis=0)
        if 2 * len(points) ** 2 * len(others) > MOST_CUBICS or len(found) > MOST_CUBICS:
            return None
        outputs = len(opened.outputs)
        change = (points[:, None, None, :outputs] - points[None, :, None, :outputs]) + others
        shape = change.shape[:3]
        cell_low = np.broadcast_to(points[:, None, None, outputs], shape)
        cell_high = np.broadcast_to(points[:, None, None, outputs + 1], shape)
        for end in (outputs, outputs + 1):
            held = np.broadcast_to(points[None, :, None, end], shape)
            rows = [change.reshape(-1, outputs), cell_low.reshape(-1), cell_high.reshape(-1), held.reshape(-1)]
            found.append(np.column_stack(rows))
    listed: FloatArray = np.unique(np.concatenate(found), axis=0)
    if len(listed) > MOST_CUBICS:
        return None
    return listed[:, :-3], listed[:, -3], listed[:, -2], listed[:, -1]


def _extent(scale: Fraction, upper: float, lower: float, error: float) -> Extent:
    """The ends of a search in units of `scale`, widened by its rounding error, as fractions."""
    return Extent(
        max(Fraction(0), Fraction(lower) - Fraction(error)) * scale, (Fraction(upper) + Fraction(error)) * scale
    )


def _rounding(tables: Sequence[contribution.ContributionTable], found: float, box: FloatArray | None = None) -> float:
    """A bound on the rounding error of a search; 0 if all its numbers are multiples of one power of two."""
    magnitude = sum(table.magnitude for table in tables)
    grains = [table.grain for table in tables]
    known = [grain for grain in grains if grain is not None]
    outputs = len(tables[0].outputs) if tables else 1
    roots = 0.0 if box is None else (outputs + 8) * found
    # sums of such numbers are exact in doubles, so that 1-norms carry no error at all
    exact = len(known) == len(grains) and magnitude <= math.ldexp(
        1.0, contribution.MOST_EXACT_BITS - max(known, default=0)
    )
    if exact and (box is None or not box.any()):
        return UNIT_ROUNDOFF * roots
    summands = max((table.summands for table in tables), default=0) + len(tables) + 4
    sides = 0.0 if box is None else float(box.sum())
    # by numbers, or their squares, that underflow in this unit
    lost = (LEAST_DOUBLE if box is None else math.sqrt(LEAST_DOUBLE)) * summands * outputs
    return UNIT_ROUNDOFF * (2 * summands * (magnitude + sides) + (outputs + 8) * found + roots) + lost


# --------------------------------------------------------------------------------------------------
# Column sensitivity: how far an answer can move when some columns of a table change arbitrarily.
#
# Noise is fitted to it: its scale is the sensitivity to all queried columns over epsilon or, by a quilt, the
# sensitivity to the near columns over epsilon less what the others tell about a secret.
#
# Why it is a question about one record: tables that differ in the columns K have records that differ in K, and the
# answer is a sum of one function g over the n records. By the triangle inequality the change is at most n times the
# largest ``||g(x) - g(x')||`` over records x, x' that agree outside K, and it is exactly that when all n records are
# x in one table and x' in the other. The answer here is the one that is released: grid steps are whole numbers, and
# the exact sum is rounded once to a double.
# --------------------------------------------------------------------------------------------------

EXACT_WITHIN = Fraction(1, 10**9)
DOUBLE_BITS = 53

MOST_TRUTHS = 2**26
"""The most truth values of a column's comparisons in all its cells: 64 MiB, or about 4,000 bins."""


def column_sensitivity(query: Query | str, columns: Iterable[str], schema: Schema, norm: int = 1) -> Bound:
    """The column sensitivity: how far the answer can move when only `columns` change, but arbitrarily.

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
    >>> from bnpriv.core.queries.asked import mean
    >>> from bnpriv.core.schema import Real
    >>> schema = Schema(records=1000, columns={"height": Real(120, 220), "sat": Real(400, 1600)})
    >>> float(column_sensitivity(mean("height"), {"height"}, schema))
    100.0
    >>> float(column_sensitivity(mean("height"), {"sat"}, schema))
    0.0
    """
    return _sensitivity(as_query(query), columns, schema, norm, Fraction(1))


def record_sensitivity(query: Query, columns: Iterable[str], schema: Schema, norm: int = 1) -> Bound:
    """The record sensitivity: how far the answer can move when `columns` change in one record only.

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
    >>> from bnpriv.core.queries.asked import mean
    >>> from bnpriv.core.schema import Real
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
    # only the queried columns move the answer, so the others need not be part of the key
    key = (moving & query.columns, norm, share)
    if key not in asked.known:
        asked.known[key] = _searched(asked, *key)
    return asked.known[key]


def _searched(asked: Prepared, moving: frozenset[str], norm: int, share: Fraction) -> Bound:
    """Compute a sensitivity cluster by cluster, each with the rounding of its released doubles."""
    added = replace(asked.whole, moving=moving)
    extents = [
        _with_rounding(asked, cluster, norm, share) for cluster in clusters(added, range(len(asked.form.labels)))
    ]
    total = combined([extent for extent in extents if extent.upper > 0], cast("Norm", norm))
    close = total.upper - total.lower <= EXACT_WITHIN * total.upper
    return Bound(_double(total.lower, -math.inf), _double(total.upper, math.inf), "exact" if close else "certified")


@dataclass(eq=False)
class Prepared:
    """A query compiled for a schema, with the sensitivities and ranges computed so far.

    Parameters
    ----------
    form : NormalForm
    whole : Contribution
        The query, seen by a change of all columns.
    known : dict
        Sensitivities by columns, norm and share of the records.
    """

    form: NormalForm
    whole: contribution.Contribution
    known: dict[tuple[frozenset[str], int, Fraction], Bound] = field(
        default_factory=dict[tuple[frozenset[str], int, Fraction], Bound]
    )
    _outer: dict[int, tuple[Fraction, Fraction]] = field(default_factory=dict[int, "tuple[Fraction, Fraction]"])

    @cached_property
    def ranges(self) -> list[tuple[Fraction, Fraction]]:
        """Ranges of the outputs, as close as they are known."""
        return [self._range(output) for output in range(len(self.form.labels))]

    def _range(self, output: int) -> tuple[Fraction, Fraction]:
        """The range of one output, by the ends of each column alone or, where it fits, by a table."""
        low = high = self.form.offset[output]
        for part in self.whole.parts([output]):
            ends = self.whole.outer(part, output)
            scale = contribution.scale_of(self.whole, [part], [output])
            table = contribution.tabulate(self.whole, part, [output], scale)
            if table is not None:
                error = 0.0 if table.grain is not None else table.magnitude * (table.summands + 2) * 2.0**-DOUBLE_BITS
                least, most = float(table.values.min()) - error, float(table.values.max()) + error
                ends = (max(ends[0], Fraction(least) * scale), min(ends[1], Fraction(most) * scale))
            low, high = low + ends[0], high + ends[1]
        return low, high

    def outer(self, output: int) -> tuple[Fraction, Fraction]:
        """A loose range of an output."""
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
    found = Prepared(form=form, whole=contribution.Contribution.of(form))
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
    """Refuse so many comparisons of one column that their tables take too much memory."""
    leaves: dict[str, set[contribution.Leaf]] = {}
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
    >>> from bnpriv.core.queries.asked import linear
    >>> from bnpriv.core.schema import Real
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
    blocks = contribution.grouped(
        (to if len(to) > 1 else frozenset[int](), whole.columns(part)) for part, to in fed.items()
    )
    return tuple(frozenset(names) for _, names in blocks)


def answer_range(query: Query, schema: Schema) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The range of each output, whatever the table holds.

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
    >>> from bnpriv.core.queries.asked import moments
    >>> from bnpriv.core.schema import Real
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


def _with_rounding(asked: Prepared, cluster: Cluster, norm: int, share: Fraction) -> Extent:
    """The change of the exact answer in a share of the records, plus what rounding to doubles can add."""
    of_all = cluster.largest(cast("Norm", norm))
    if of_all.upper == 0:
        return of_all
    found = Extent(of_all.lower * share, of_all.upper * share)
    ranges = [asked.outer(output) for output in cluster.outputs]
    added = [
        _rounding_of_answers(asked.form, output, *ends) for output, ends in zip(cluster.outputs, ranges, strict=True)
    ]
    # the 1-norm of what is added is no smaller than its 2-norm
    slack = sum(added, Fraction(0))
    upper = found.upper + slack
    if len(ranges) == 1:
        low, high = ranges[0]  # rounding keeps the order, so no two rounded answers lie further apart than these
        upper = max(found.upper, min(upper, Fraction(_nearest(high)) - Fraction(_nearest(low))))
    return Extent(max(Fraction(0), found.lower - slack), upper)


def _rounding_of_answers(form: NormalForm, output: int, low: Fraction, high: Fraction) -> Fraction:
    """How far rounding to doubles can move two answers apart; 0 if all answers are doubles."""
    largest = max(abs(low), abs(high))
    numbers = [weight for weight in (*form.rows[output].values(), form.offset[output]) if weight]
    denominator = max((weight.denominator for weight in numbers), default=1)
    dyadic = all(weight.denominator & (weight.denominator - 1) == 0 for weight in numbers)
    if dyadic and largest * denominator <= 2**DOUBLE_BITS:
        return Fraction(0)
    # each of two answers is off by at most half a unit in the last place
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
    """A fraction rounded to a double in the direction `toward`."""
    result = _nearest(value)
    wrong = Fraction(result) < value if toward > 0 else Fraction(result) > value
    return math.nextafter(result, toward) if wrong else result
