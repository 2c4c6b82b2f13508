"""The largest change of several outputs together: exact fractions around a search in floating point.

Outputs that share no part move on their own, so their largest changes are attained in one and the same pair of tables.
A part that feeds one output only adds its own largest change to that output, in the direction of whatever else happens
there: it becomes a side of the cluster's box. What remains, parts that feed several outputs, is searched jointly, in
this order: all patterns of signs (1-norm), all pairs of points, all sums of changes, roots of cubics where a column is
squared. Where a search would be too large, bounds that are never too small take its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.queries.diameters import (
    MOST_CUBICS,
    Norm,
    Reach,
    by_signs,
    changes_of,
    farthest,
    lengths,
    quadratic_diameter,
    sums,
    together,
)
from bnpriv.queries.records import (
    MOST_EXACT_BITS,
    ColumnPart,
    Contribution,
    ContributionTable,
    grouped,
    holes,
    scale_of,
    tabulate,
)
from bnpriv.tables.schema import Categorical

MOST_ALONE = 256  # outputs whose own largest changes are searched where they are too many to be searched together
LARGEST_SIDE = 2**400  # in the unit of a cluster; the square of a larger one might overflow
TIGHT = Fraction(1, 10**9)  # relative difference of bounds that are as good as equal
LEAST_DOUBLE = 2.0**-1060  # rather more than the least double above 0
CUBIC_ERROR = 1e-12  # of the roots of a cubic, on the largest value of its quartic; relative


class Extent(NamedTuple):
    """A largest change lies between `lower` and `upper`."""

    lower: Fraction
    upper: Fraction


NO_EXTENT = Extent(Fraction(0), Fraction(0))


def clusters(added: Contribution, outputs: Sequence[int]) -> list[Cluster]:
    """Divide `outputs` into clusters that move apart; outputs that cannot move are left out."""
    box = dict.fromkeys(outputs, NO_EXTENT)
    moved: list[tuple[frozenset[int], tuple[ColumnPart, ...]]] = []
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
        for fed, parts in grouped(moved)
    ]


def alone_in(added: Contribution, part: ColumnPart, output: int) -> Extent:
    """The largest change that one part makes in one output."""
    scale = scale_of(added, [part], [output])
    table = tabulate(added, part, [output], scale)
    if table is None:
        low, high = added.outer(part, output)
        return Extent(Fraction(0), high - low)
    found = by_signs([(table.values, (0,))], 1)
    assert found is not None  # one output has one pattern of signs
    return _extent(scale, found, 0.0 if holes(added, part) else found, _rounding([table], found))


@final
@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Outputs tied by the parts that feed several of them.

    Parameters
    ----------
    added : Contribution
    outputs : tuple of int
    parts : tuple of ColumnPart
        The parts that feed several of the outputs.
    box : mapping from int to Extent
        For each output the largest change of the parts that feed it alone.
    """

    added: Contribution
    outputs: tuple[int, ...]
    parts: tuple[ColumnPart, ...]
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
        """The unit of the tables."""
        return scale_of(self.added, self.parts, self.outputs)

    @cached_property
    def tables(self) -> list[ContributionTable] | None:
        """A table for each part, or None if one is too large."""
        found = [tabulate(self.added, part, self.outputs, self.scale) for part in self.parts]
        tables = [table for table in found if table is not None]
        return tables if len(tables) == len(found) else None

    @property
    def _holes(self) -> bool:
        return any(holes(self.added, part) for part in self.parts)

    def _by_outputs(self, norm: Norm) -> Extent:
        """Bound the change by those of the single outputs; of very many outputs most only by their ranges."""
        alone = [sum_of(clusters(self.added, [output]), 1) for output in self.outputs[:MOST_ALONE]]
        lower = max(extent.lower for extent in alone)
        alone += [self._range(output) for output in self.outputs[MOST_ALONE:]]
        bounds = [combined(alone, norm).upper, *self._by_sizes(norm)]
        return Extent(lower, min(bounds))

    def _range(self, output: int) -> Extent:
        ends = [self.added.outer(part, output) for part in self.added.parts([output])]
        return Extent(Fraction(0), sum((high - low for low, high in ends), Fraction(0)))

    def _by_sizes(self, norm: Norm) -> list[Fraction]:
        """Bound the change by the sizes of what two records can add: cheap for a histogram of very many bins.

        Empty where values are summed, or even a table of sizes is too large.
        """
        total = combined(list(self.box.values()), norm).upper
        for part in self.parts:
            sizes = self.added.sizes(part, self.outputs)
            table = sizes and tabulate(sizes, part, [0], self.scale)
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
        """A length that is reached, and one that is not exceeded because the parts' lengths add up."""
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
        """Widen what a search of 2-norms found by its rounding; without an upper end the 1-norm gives one."""
        found = lower if math.isinf(upper) else upper
        slack = _rounding(self.tables or [], found, box) + error * found
        lower = 0.0 if self._holes else max(0.0, lower - 2 * loose)
        if math.isinf(upper):
            return Extent(_extent(self.scale, lower, lower, slack).lower, self.largest(1).upper)
        return _extent(self.scale, upper, lower, slack)

    def _listed(self, box: FloatArray) -> tuple[float, float]:
        """The largest 2-norm of all sums of changes, one from each part; where they are too many, what bounds it."""
        changes = [changes_of(table.values) for table in self.tables or []]
        known = [change for change in changes if change is not None]
        total = sums(known) if len(known) == len(changes) else None
        if total is None:
            return self._reached(2, box)
        found = float(lengths(total, box, 2).max())
        return found, found

    def _with_square(self, part: ColumnPart, name: str, box: FloatArray, loose: float) -> Extent | None:
        """The largest 2-norm when the squares of one column are summed.

        With the sum of the two grid steps of that column fixed, the change is affine in their difference, so the norm
        is largest when one of the two is at an end of its cell. With that one fixed, the squared norm is a quartic in
        the other.
        """
        lower, _ = self._reached(2, box)
        column = self.added.schema[name]
        opened = tabulate(self.added, part, self.outputs, self.scale, open_column=name)
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

    def _others(self, part: ColumnPart, box: FloatArray) -> FloatArray | None:
        """All changes that come from elsewhere than `part`: other parts, and the sides of the box."""
        tables = [table for table, other in zip(self.tables or [], self.parts, strict=True) if other != part]
        listed = [changes_of(table.values) for table in tables]
        sides = [np.diag(box)[[place]] for place in range(len(box)) if box[place] > 0]
        known = [change for change in listed if change is not None]
        if len(known) < len(listed):
            return None
        signed = [np.concatenate([side, -side]) for side in sides]
        return sums([np.zeros((1, len(box))), *known, *signed], MOST_CUBICS * len(box))


def sum_of(found: Sequence[Cluster], norm: Norm) -> Extent:
    """The largest change of clusters that move apart."""
    extents = [extent for extent in (cluster.largest(norm) for cluster in found) if extent.upper > 0]
    return combined(extents, norm)


def combined(extents: Sequence[Extent], norm: Norm) -> Extent:
    """The largest change of what moves apart: 1-norms add, and so do squared 2-norms."""
    if norm == 1 or len(extents) < 2:
        return Extent(
            sum((extent.lower for extent in extents), Fraction(0)),
            sum((extent.upper for extent in extents), Fraction(0)),
        )
    upper = root_of_squares([extent.upper for extent in extents])
    # root_of_squares rounds up by far less than this
    return Extent(root_of_squares([extent.lower for extent in extents]) * (1 - Fraction(1, 2**48)), upper)


def root_of_squares(values: Sequence[Fraction]) -> Fraction:
    """The root of the sum of squares, rounded up by a few units in the last place of a double."""
    largest = max(values)
    if largest == 0:
        return largest
    shares = [float(value / largest) for value in values]
    return largest * Fraction(math.hypot(*shares)) * (1 + Fraction(1, 2**50))


def _contexts(
    opened: ContributionTable, others: FloatArray
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
    """Turn the ends of a search in units of `scale` into fractions, its rounding error taken into account."""
    return Extent(
        max(Fraction(0), Fraction(lower) - Fraction(error)) * scale, (Fraction(upper) + Fraction(error)) * scale
    )


def _rounding(tables: Sequence[ContributionTable], found: float, box: FloatArray | None = None) -> float:
    """Bound the rounding error of a search; 0 if all numbers in it are whole multiples of one power of two."""
    magnitude = sum(table.magnitude for table in tables)
    grains = [table.grain for table in tables]
    known = [grain for grain in grains if grain is not None]
    outputs = len(tables[0].outputs) if tables else 1
    roots = 0.0 if box is None else (outputs + 8) * found
    exact = len(known) == len(grains) and magnitude <= math.ldexp(1.0, MOST_EXACT_BITS - max(known, default=0))
    if exact and (box is None or not box.any()):
        return UNIT_ROUNDOFF * roots
    summands = max((table.summands for table in tables), default=0) + len(tables) + 4
    sides = 0.0 if box is None else float(box.sum())
    # by numbers, or squares of numbers, that are too small for a double in this unit
    lost = (LEAST_DOUBLE if box is None else math.sqrt(LEAST_DOUBLE)) * summands * outputs
    return UNIT_ROUNDOFF * (2 * summands * (magnitude + sides) + (outputs + 8) * found + roots) + lost
