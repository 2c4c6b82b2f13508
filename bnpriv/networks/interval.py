"""Bayesian networks whose probabilities are known only to lie in intervals: a model class Theta without a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listing, number
from bnpriv.errors import NetworkError, SizeError
from bnpriv.networks.base import Level, NetworkMethods, columns_identity
from bnpriv.networks.declared import SUM_TOLERANCE
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork, from_weights
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.networks.graph import Graph
from bnpriv.networks.reading import NOTHING_READ, Reading
from bnpriv.tables.schema import State

MOST_VERTICES = 2**12
"""Vertices of one column's polytope that are ever listed."""

SAME_VERTEX = 1e-12
"""Relative distance of entries up to which two vertices may be taken for one: rounding makes such twins."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalNetwork(NetworkMethods):
    """All Bayesian networks on one graph whose probabilities lie in given intervals (the model class Theta).

    Build it with `DiscreteNetwork.from_intervals`. Every column of every table varies by itself: a member is any choice
    of columns that lie in their intervals and sum to one.

    Parameters
    ----------
    graph : Graph
        The attributes with their parents.
    states : mapping from str to tuple of states
        The states of every attribute.
    lower, upper : mapping from str to ndarray
        For every attribute the ends of P(attribute | parents), with axes (attribute, *parents), tightened to what some
        member reaches.
    level : {"parameters", "records"}
        What a node means, as in `DiscreteNetwork`.
    reading : Reading, optional
        What drives the columns that are no attribute.
    """

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    lower: Mapping[str, FloatArray]
    upper: Mapping[str, FloatArray]
    level: Level
    reading: Reading = NOTHING_READ

    @classmethod
    def of(
        cls,
        lower: Mapping[str, ArrayLike],
        upper: Mapping[str, ArrayLike],
        *,
        states: Mapping[str, Sequence[State]],
        parents: Mapping[str, Sequence[str]] | None = None,
        level: Level = "parameters",
    ) -> IntervalNetwork:
        """Check intervals and tighten them; see `DiscreteNetwork.from_intervals`."""
        shape = from_weights(upper, states=states, parents=parents, level=level)
        if shape.models > 1 or set(lower) != set(upper):
            raise NetworkError(
                "intervals have one lower and one upper table per attribute",
                found=f"{shape.models} models" if shape.models > 1 else f"lower tables for {listing(lower)}",
                remedy="Give both tables for every attribute, without an axis for models.",
            )
        ends = {name: _ends(shape, name, lower[name], upper[name]) for name in shape.attributes}
        return cls(
            graph=shape.graph,
            states=shape.states,
            lower={name: low for name, (low, _) in ends.items()},
            upper={name: high for name, (_, high) in ends.items()},
            level=level,
        )

    @classmethod
    def around(cls, network: DiscreteNetwork, within: float) -> IntervalNetwork:
        """Return all networks whose probabilities are at most `within` from those of a model of `network`.

        Zeros are widened like every other probability. Of several models the outermost probabilities count, so that
        more than the models and their surroundings is covered.

        Raises
        ------
        NetworkError
            If `within` is no number from 0 to 1.

        Examples
        --------
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> IntervalNetwork.around(coin, 0.25).lower["coin"].tolist()
        [0.25, 0.25]
        """
        width = number("within", within, error=NetworkError, remedy="Pass a distance of probabilities, such as 0.05.")
        if not 0 <= width <= 1:
            raise NetworkError(
                "within must be a distance of probabilities, from 0 to 1",
                found=f"{width:g}",
                remedy="Pass for example 0.05.",
            )
        tables = {name: network.probabilities(name) for name in network.attributes}
        found = cls.of(
            {name: np.maximum(table.min(axis=0) - width, 0.0) for name, table in tables.items()},
            {name: np.minimum(table.max(axis=0) + width, 1.0) for name, table in tables.items()},
            states=network.states,
            parents=network.graph.parents,
            level=network.level,
        )
        return replace(found, reading=network.reading)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes, parents before children."""
        return self.graph.nodes

    @property
    def models(self) -> int:
        """Return 1: bounds hold for all members at once and are given once."""
        return 1

    @property
    def drawn(self) -> None:
        """Return None: nothing was drawn."""
        return None

    @property
    def kind_text(self) -> str:
        """Return what kind of network it is."""
        return "a network given by intervals"

    def identity(self) -> bytes:
        """Return the ends of all intervals, for a hash."""
        parts = [columns_identity(self.reading)]
        for name in sorted(self.attributes):
            low, high = self.lower[name], self.upper[name]
            axes = (name, *self.graph.parents[name])
            parts.append(repr(("intervals", axes, low.shape, self.states[name])).encode())
            parts += [low.tobytes(), high.tobytes()]
        return b"".join(parts)

    def middle(self) -> DiscreteNetwork:
        """Return a member inside: every probability that some member gives a positive value has one.

        Examples
        --------
        >>> wide = DiscreteNetwork.from_intervals({"coin": [0.25, 0.25]}, {"coin": [1, 1]}, states={"coin": [0, 1]})
        >>> wide.middle().probabilities("coin").tolist()
        [[0.5, 0.5]]
        """
        return from_weights(
            {name: _middle(self.lower[name], self.upper[name]) for name in self.attributes},
            states=self.states,
            parents=self.graph.parents,
            level=self.level,
        )

    def __repr__(self) -> str:
        return (
            f"IntervalNetwork(attributes={len(self.attributes)}, edges={len(self.graph.edges)}, level={self.level!r})"
        )


Network = DiscreteNetwork | IntervalNetwork
"""A model class: listed, or given by intervals."""

ContinuousNetwork = GaussianNetwork | DensityNetwork
"""A network whose attributes may be any number."""


def exact_tables(network: Network | ContinuousNetwork, what: str) -> DiscreteNetwork:
    """Return a network if its tables are exact, which `what` needs.

    Raises
    ------
    NetworkError
        If it is given by intervals, or continuous.
    """
    if isinstance(network, DiscreteNetwork):
        return network
    if isinstance(network, ContinuousNetwork):
        raise NetworkError(
            f"{what} needs a network whose attributes have finitely many states",
            found=f"a {type(network).__name__}",
            remedy="Use MarkovQuiltMechanism and influence_report, or declare the parameters in steps.",
        )
    raise NetworkError(
        f"{what} needs exact tables",
        found="an interval for every probability",
        remedy="Choose one model within the intervals, for example network.middle().",
    )


def vertices(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the vertices of {p : lower <= p <= upper, sum of p = 1}, one per row.

    Parameters
    ----------
    lower, upper : ndarray of shape (states,)
        The ends of a column that is not empty.

    Returns
    -------
    ndarray of shape (vertices, states)
        In a vertex all entries but one are at an end. Where rounding alone keeps that one from zero, it is given both
        ways. Every vertex is there up to a relative distance of `SAME_VERTEX` in each entry.

    Raises
    ------
    SizeError
        If there may be more than `MOST_VERTICES`.

    Examples
    --------
    >>> vertices(np.array([0.25, 0.0, 0.25]), np.array([0.5, 0.25, 0.75])).tolist()
    [[0.25, 0.0, 0.75], [0.25, 0.25, 0.5], [0.5, 0.0, 0.5], [0.5, 0.25, 0.25]]
    """
    low, high = _normalized([Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper])
    free = [k for k in range(len(low)) if low[k] < high[k]]
    if not free:
        return np.array([[float(x) for x in low]])
    if len(free) << (len(free) - 1) > MOST_VERTICES:
        raise SizeError(
            f"a column may have at most {MOST_VERTICES:,} vertices",
            found=f"{len(free)} states whose probabilities vary",
            remedy="Merge states, or fix some probabilities.",
        )
    found: dict[tuple[str, ...], tuple[float, ...]] = {}
    for last in free:
        others = [k for k in free if k != last]
        for ends in product(*((low[k], high[k]) for k in others)):
            column = list(low)
            for k, end in zip(others, ends, strict=True):
                column[k] = end
            for vertex in _completed(column, last, low[last], high[last]):
                found.setdefault(tuple(f"{x:.13g}" for x in vertex), vertex)
    return np.array(sorted(found.values()))


def _completed(column: list[Fraction], last: int, low: Fraction, high: Fraction) -> list[tuple[float, ...]]:
    """Return the vertex whose entry `last` makes the sum one, if there is one, and its twin with zero there."""
    rest = 1 - (sum(column) - column[last])
    slack = 8 * len(column) * Fraction(UNIT_ROUNDOFF)
    near = min(max(rest, low), high)
    values = [near] if abs(rest - near) <= slack else []
    if 0 == low < rest <= slack:
        values.append(low)
    return [tuple(float(x) for x in (*column[:last], value, *column[last + 1 :])) for value in values]


def _normalized(low: list[Fraction], high: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """Divide ends that exclude the sum one by a rounding, as a table whose columns sum to one nearly is divided."""
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    if below >= 1 or above <= 1:  # then one column is left
        low = high = [x / below for x in low] if below >= 1 else [x / above for x in high]
    return low, high


def _ends(shape: DiscreteNetwork, name: str, lower: ArrayLike, upper: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the checked and tightened ends of one attribute's table."""
    high = np.array(upper, dtype=np.float64).reshape(shape.tables[name].values.shape[1:])
    try:
        low = np.array(lower, dtype=np.float64)
    except (TypeError, ValueError):
        low = np.full(1, np.nan)
    if low.shape != high.shape or not bool(np.all((low >= 0) & (low <= high) & (high <= 1))):
        raise NetworkError(
            f"the ends of {name!r} must have 0 <= lower <= upper <= 1 throughout",
            found=_first_bad(shape, name, low, high),
            remedy="Correct the intervals.",
        )
    for place in np.ndindex(high.shape[1:]):
        column = (slice(None), *place)
        if low[column].sum() > 1 + SUM_TOLERANCE or high[column].sum() < 1 - SUM_TOLERANCE:
            raise NetworkError(
                f"some column in the intervals of {name!r} must sum to 1",
                found=f"sums between {low[column].sum():.6g} and {high[column].sum():.6g}{_given(shape, name, place)}",
                remedy="Widen the intervals.",
            )
        low[column], high[column] = _tightened(low[column], high[column])
    low.flags.writeable = high.flags.writeable = False
    return low, high


def _tightened(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what members reach: an entry is at least what the others leave of one, and at most that."""
    declared = [Fraction(float(x)) for x in lower], [Fraction(float(x)) for x in upper]
    low, high = _normalized(*declared)
    below, above = sum(low, Fraction(0)), sum(high, Fraction(0))
    # An end that only rounding would move stays where it is, on the wide side.
    slack = 8 * len(low) * Fraction(UNIT_ROUNDOFF)
    least = [1 - above + b if 1 - above + b > a + slack else a for a, b in zip(low, high, strict=True)]
    most = [1 - below + a if 1 - below + a < b - slack else b for a, b in zip(low, high, strict=True)]
    return np.array([float(x) for x in least]), np.array([float(x) for x in most])


def _middle(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the columns on the way from the lower to the upper ends where the sums are one."""
    width = (upper - lower).sum(axis=0)
    missing = np.clip(1 - lower.sum(axis=0), 0.0, None)
    share = np.where(width > 0, missing / np.where(width > 0, width, 1.0), 0.0)
    return lower + np.clip(share, 0.0, 1.0) * (upper - lower)


def _first_bad(shape: DiscreteNetwork, name: str, low: FloatArray, high: FloatArray) -> str:
    if low.shape != high.shape:
        return f"a lower table of shape {low.shape} and an upper one of shape {high.shape}"
    place = tuple(int(k) for k in np.argwhere(~((low >= 0) & (low <= high) & (high <= 1)))[0])
    state = shape.states[name][place[0]]
    return f"{low[place]:g} to {high[place]:g} for {state}{_given(shape, name, place[1:])}"


def _given(shape: DiscreteNetwork, name: str, place: tuple[int, ...]) -> str:
    parents = zip(shape.graph.parents[name], place, strict=True)
    given = ", ".join(f"{parent} = {shape.states[parent][k]}" for parent, k in parents)
    return f" given {given}" if given else ""
