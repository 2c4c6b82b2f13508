"""Which tables an attribute may have within intervals, as far as the law of what is observed tells them apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, final

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.networks.factors import FUNCTION_ERROR
from bnpriv.networks.interval import SAME_VERTEX, vertices

ChoiceRole = Literal["joint", "apart", "lossy"]
"""How a table's choices enter a ratio of two probabilities.

"joint": one choice for both. "apart": each choice touches one of the two only, so that they are chosen apart without
loss. "lossy": they touch both, and are chosen apart nevertheless, which gives an upper bound.
"""

TableIndex = tuple[int, ...]

ColumnEnds = tuple[float, ...]
"""Lower or upper ends of a column of a table."""

MOST_COLUMNS_KEPT = 2**14
"""Columns whose vertices are kept with a network."""


@final
@dataclass(frozen=True, kw_only=True)
class Choices:
    """The tables that one attribute may have.

    Parameters
    ----------
    name : str
    logs : ndarray
        The logs of the tables, with a leading axis for the choices: the product over groups of columns.
    error : float
        Bound on the error of `logs`.
    role : {"joint", "apart", "lossy"}
    sizes : tuple of int
        The number of choices for every group, whose product is the length of the leading axis.
    in_pieces : tuple of bool
        For every group whether its choices are points in their order on a segment, which can be cut into pieces there.
    """

    name: str
    logs: FloatArray
    error: float
    role: ChoiceRole
    sizes: tuple[int, ...]
    in_pieces: tuple[bool, ...]


@final
@dataclass(frozen=True, kw_only=True)
class IntervalPart:
    """Attributes that are seen, with what of the network their law given the secrets depends on.

    Parameters
    ----------
    network : IntervalNetwork
    middle : DiscreteNetwork
        Its tables stand for those that do not matter.
    protected : str
    seen : tuple of str
        With `points` one of the parts of a frontier that are independent given `protected`.
    points : bool
        Whether secrets are single states.
    most : int
        Combinations that may be tried.
    loose : frozenset of str
        Attributes whose tables are not listed: sums of their lower and upper ends stand in.
    """

    network: IntervalNetwork
    middle: DiscreteNetwork
    protected: str
    seen: tuple[str, ...]
    points: bool
    most: int
    loose: frozenset[str] = frozenset()

    @property
    def listed(self) -> tuple[str, ...]:
        """The attributes whose tables are listed."""
        return tuple(sorted(self.varied - self.loose))

    @cached_property
    def varied(self) -> frozenset[str]:
        """The attributes whose tables matter: the prior of a single state cancels if nothing above is seen."""
        graph = self.network.graph
        if not self.points:
            return graph.ancestral((*self.seen, self.protected))
        inside = next(part for part in graph.parts(self.seen, self.protected) if self.seen[0] in part)
        return inside | {self.protected} if inside.intersection(graph.parents[self.protected]) else inside

    @cached_property
    def above(self) -> frozenset[str]:
        """The protected attribute with its ancestors."""
        return self.network.graph.ancestral((self.protected,))

    def role(self, name: str) -> ChoiceRole:
        """How the tables of an attribute enter a ratio."""
        if name in self.above:
            return "lossy"
        return "apart" if self.protected in self.network.graph.parents[name] else "joint"

    def columns(self, name: str) -> dict[TableIndex, list[tuple[TableIndex, FloatArray]]]:
        """The columns of a table in groups; each column with its place and the values that it may have.

        Columns of one group belong to different cells of the result (other values of what is seen, or another single
        state of the protected attribute), so that one choice may serve them all.
        """
        low, high = self.network.lower[name], self.network.upper[name]
        by_entry = self.by_entry(name)
        groups: dict[TableIndex, list[tuple[TableIndex, FloatArray]]] = {}
        for place in np.ndindex(low.shape[1:]):
            column = (slice(None), *place)
            lower, upper = tuple(low[column].tolist()), tuple(high[column].tolist())
            if by_entry:
                values = np.array([lower] if lower == upper else [lower, upper])
            else:
                values = _vertices(self.network, lower, upper)
            groups.setdefault(self._key(name, place), []).append((place, values))
        return groups

    def by_entry(self, name: str) -> bool:
        """Whether only the entry of one state enters a cell of the result, so that its two ends will do."""
        if name == self.protected:  # two states share one segment, which says more than the ends of each
            return self.points and len(self.network.states[name]) > 2
        return name in self.seen and name not in self.above

    def in_pieces(self, name: str, values: FloatArray) -> bool:
        """Whether the values of a column are the ends of a segment that is worth cutting."""
        return self.role(name) == "lossy" and not self.by_entry(name) and len(values) == 2

    def _key(self, name: str, place: TableIndex) -> TableIndex:
        """The states of those parents whose columns are chosen each by itself."""
        if name in self.above:
            return place
        shared = {*self.seen, self.protected} if self.points else set(self.seen)
        parents = self.network.graph.parents[name]
        return tuple(state for parent, state in zip(parents, place, strict=True) if parent not in shared)


MOST_PIECES = 32
"""Pieces into which a segment is cut at most."""


def loosened(part: IntervalPart) -> IntervalPart | None:
    """The part with as few attributes loose as keep the combinations to `part.most`; None if none do.

    The protected attribute and its ancestors are never loose.
    """
    counts = {name: _log_count(part, name) for name in part.listed}
    loose = part.loose
    for name in sorted(counts.keys() - part.above, key=lambda name: (-counts[name], name)):
        if _fits(part, counts):
            break
        loose |= {name}
        del counts[name]
    return replace(part, loose=loose) if _fits(part, counts) else None


def _fits(part: IntervalPart, counts: Mapping[str, float]) -> bool:
    return part.most > 0 and sum(counts.values()) <= math.log(part.most) + 1e-9


def _log_count(part: IntervalPart, name: str) -> float:
    """The log of the number of tables of an attribute; there may be very many."""
    try:
        return sum(math.log(_most(rows)) for rows in part.columns(name).values())
    except SizeError:
        return math.inf


def _most(rows: Sequence[tuple[TableIndex, FloatArray]]) -> int:
    return max(len(values) for _, values in rows)


def points_of(part: IntervalPart, most: int) -> int:
    """Return into how many points segments may be cut, so that there are at most `most` combinations, or two."""
    segments = sum(part.in_pieces(name, rows[0][1]) for name in part.listed for rows in part.columns(name).values())
    if not segments:
        return 2
    left = math.log(most) - sum(_log_count(part, name) for name in part.listed)
    return max(2, min(MOST_PIECES + 1, int(2 * math.exp(left / segments))))


def choices_of(part: IntervalPart, name: str, points: int) -> Choices:
    """The tables that an attribute may have; segments that enter with a loss are cut at `points` points."""
    shape, role = part.network.upper[name].shape, part.role(name)
    groups = list(part.columns(name).values())
    in_pieces = tuple(part.in_pieces(name, rows[0][1]) for rows in groups)
    if points > 2:
        groups = [
            [(place, _cut(values, points)) for place, values in rows] if cut else rows
            for rows, cut in zip(groups, in_pieces, strict=True)
        ]
    sizes = tuple(_most(rows) for rows in groups)
    digits = np.unravel_index(np.arange(math.prod(sizes)), sizes)
    made = np.empty((len(digits[0]), *shape))
    for rows, digit in zip(groups, digits, strict=True):
        for place, values in rows:
            made[(slice(None), slice(None), *place)] = values[digit % len(values)]
    with np.errstate(divide="ignore"):
        logs = np.log(made)
    finite = np.abs(logs[np.isfinite(logs)])
    error = UNIT_ROUNDOFF * (FUNCTION_ERROR * float(np.max(finite, initial=0.0)) + 16 * shape[0])
    error += SAME_VERTEX if len(made) > 1 else 0.0
    return Choices(name=name, logs=logs, error=error, role=role, sizes=sizes, in_pieces=in_pieces)


def _cut(values: FloatArray, points: int) -> FloatArray:
    """Points on the way between two columns."""
    share = np.linspace(0.0, 1.0, points)[:, np.newaxis]
    return (1 - share) * values[0] + share * values[1]


def _vertices(network: IntervalNetwork, lower: ColumnEnds, upper: ColumnEnds) -> FloatArray:
    """The vertices of a column; the network keeps them, as many parts share them."""
    kept: dict[tuple[ColumnEnds, ColumnEnds], FloatArray] = network.kept.table("vertices")
    if (lower, upper) in kept:
        return kept[lower, upper]
    found = vertices(np.array(lower), np.array(upper))
    if len(kept) < MOST_COLUMNS_KEPT:
        kept[lower, upper] = found
    return found
