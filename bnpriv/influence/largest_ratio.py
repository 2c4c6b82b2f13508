"""The largest log ratio over all assignments of many columns, by branch and bound."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.assignments import most_telling
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import LogTable

MOST_ASSIGNMENT_WORK = 2**22
"""Cells of all tables of one branch and bound over assignments."""

CLOSED = 2.0**-36
"""Bounds that are closer, in nats, besides rounding, are taken for one value."""

StatePair = tuple[int, int]
"""The positions of two states of the protected attribute."""

_Node = tuple[float, int, Mapping[str, int], FloatArray]
"""All assignments that agree with some fixed states: less how far they may exceed what was found, a number, the states,
and what the assignments tell at most."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class LargestRatios:
    """What the assignments of some columns tell at most about pairs of single states.

    Parameters
    ----------
    columns : tuple of str
    upper, lower : ndarray of shape (models, states, states)
        Bounds of the largest log P(columns | first) / P(columns | second); -inf for pairs that were not asked for.
    chosen : ndarray of int, shape (models, states, states, columns)
        The positions of the states of the columns that attain the lower bound.
    is_exact : bool
        Whether the bounds meet, but for rounding.
    """

    columns: tuple[str, ...]
    upper: FloatArray
    lower: FloatArray
    chosen: NDArray[np.int32]
    is_exact: bool

    @property
    def error(self) -> float:
        """By how much the upper bounds may be too high, at most, where the bounds meet; else 0."""
        finite = np.isfinite(self.upper)
        gap = np.max(self.upper[finite] - self.lower[finite], initial=0.0)
        return float(gap) if self.is_exact else 0.0


def largest_ratios(
    network: DiscreteNetwork,
    protected: str,
    columns: tuple[str, ...],
    prior: LogTable,
    sides: Collection[StatePair],
    most_work: int = MOST_ASSIGNMENT_WORK,
) -> LargestRatios | None:
    """Bounds of the largest log ratios of columns, for pairs of states of a protected attribute.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    columns : tuple of str
    prior : LogTable
        Log P(protected).
    sides : collection of (int, int)
        The pairs of states.
    most_work : int
        Cells of tables, of all models together.

    Returns
    -------
    LargestRatios or None
        None where not even one pass over the columns fits.

    Examples
    --------
    >>> from bnpriv.influence.elimination import joint_law
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.6, 0.3], [0.4, 0.7]], "car": [[0.2, 0.1], [0.8, 0.9]]},
    ...     states=dict.fromkeys(["income", "sat", "car"], ["low", "high"]),
    ...     parents={"sat": ["income"], "car": ["income"]},
    ... )
    >>> found = largest_ratios(network, "income", ("car", "sat"), joint_law(network, ("income",)), [(0, 1)])
    >>> round(float(found.upper[0, 0, 1]), 6), found.is_exact, found.chosen[0, 0, 1].tolist()
    (1.386294, True, [0, 0])
    """
    searches: list[_BranchAndBound] = []
    for model in range(network.models):
        row = prior.values[min(model, prior.values.shape[0] - 1)]
        asked = [(a, b) for a, b in sides if row[a] > -np.inf and row[b] > -np.inf]
        search = _BranchAndBound(
            network=network,
            protected=protected,
            columns=columns,
            model=model,
            prior=row,
            prior_error=prior.error,
            sides=asked,
            left=most_work // network.models,
        )
        if not search.run():
            return None
        searches.append(search)
    return LargestRatios(
        columns=columns,
        upper=np.stack([search.upper for search in searches]),
        lower=np.stack([search.lower for search in searches]),
        chosen=np.stack([search.chosen for search in searches]),
        is_exact=all(search.closed for search in searches),
    )


@dataclass(kw_only=True, eq=False)
class _BranchAndBound:
    """Branch and bound over the states of columns, for one model and all pairs at once."""

    network: DiscreteNetwork
    protected: str
    columns: tuple[str, ...]
    model: int
    prior: FloatArray
    prior_error: float
    sides: list[StatePair]
    left: int
    closed: bool = False
    tolerance: float = CLOSED
    _heap: list[_Node] = field(default_factory=list[_Node])
    _ended: list[FloatArray] = field(default_factory=list[FloatArray])

    def __post_init__(self) -> None:
        states = len(self.prior)
        self.lower = np.full((states, states), -np.inf)
        self.upper = np.full((states, states), -np.inf)
        self.chosen = np.zeros((states, states, len(self.columns)), dtype=np.int32)
        self._number = count()

    def run(self) -> bool:
        """Search; return False if not even one bound was found."""
        if not self._add({}):
            return False
        order = self._order()
        while self._heap:
            _, _, fixed, upper = heapq.heappop(self._heap)
            if not self._open(upper).size:
                self._ended.append(upper)
                continue
            name = next((each for each in order if each not in fixed), None)
            states = range(0 if name is None else len(self.network.states[name]))
            if name is None or not all(self._add({**fixed, name: state}) for state in states):
                self._ended.append(upper)
                break
        bounds = [*self._ended, *(upper for *_, upper in self._heap)]
        self.closed = all(not self._open(upper).size for upper in bounds)
        self.upper = np.maximum.reduce([self.upper, *bounds])
        return True

    def _open(self, upper: FloatArray) -> FloatArray:
        """By how much a bound exceeds what was found, where it does."""
        with np.errstate(invalid="ignore"):
            gap = upper - self.lower
        return gap[gap > self.tolerance]

    def _add(self, fixed: Mapping[str, int]) -> bool:
        """Bound what is left with some states fixed; return False if that takes too much work."""
        try:
            found, work = most_telling(self.network, self.protected, self.columns, self.model, fixed, self.left)
        except SizeError:
            return False
        self.left -= work
        upper = np.full(self.lower.shape, -np.inf)
        finite = np.abs(found.table.values[np.isfinite(found.table.values)]).max(initial=1.0)
        rounding = 2 * (found.table.error + self.prior_error) + 16 * UNIT_ROUNDOFF * float(finite)
        self.tolerance = max(self.tolerance, CLOSED + 4 * rounding)
        for first, second in self.sides if found.count else ():
            above, below = found.table.values[:, first], found.table.values[:, second]
            with np.errstate(invalid="ignore"):
                ratio = np.where(np.isneginf(above), -np.inf, above - below)
            best = int(np.argmax(ratio))
            value = float(ratio[best] - (self.prior[first] - self.prior[second]))
            upper[first, second] = value + rounding + found.slack
            if value - rounding > self.lower[first, second]:
                self.lower[first, second] = value - rounding
                self.chosen[first, second] = [
                    fixed.get(name, state) for name, state in zip(self.columns, found.chosen[best], strict=True)
                ]
        most = float(self._open(upper).max(initial=0.0))
        heapq.heappush(self._heap, (-most, next(self._number), fixed, upper))
        return True

    def _order(self) -> list[str]:
        """The columns, those with most neighbours first: fixing them takes most connections apart."""
        moral = self.network.graph.moral((self.protected, *self.columns))
        return sorted(self.columns, key=lambda name: (-len(moral.adj[name]), name))
