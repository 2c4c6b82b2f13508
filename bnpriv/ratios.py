"""Tables of a protected attribute with the columns that are seen, and the log ratios between two secrets in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.errors import SizeError
from bnpriv.factors import FloatArray, LogTable, log_sum_exp
from bnpriv.inference import joint_law
from bnpriv.networks import DiscreteNetwork, Graph, State
from bnpriv.secrets import SecretPair


def independent_parts(graph: Graph, protected: str, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Split `columns` into parts that are independent of each other given `protected`.

    They are the connected components of the moral graph of the ancestors once `protected` is deleted.
    """
    near = graph.moral((*columns, protected))
    left = set(columns)
    parts: list[tuple[str, ...]] = []
    while left:
        reached: set[str] = set()
        todo = [min(left)]
        while todo:
            name = todo.pop()
            if name not in reached and name != protected:
                reached.add(name)
                todo.extend(near[name])
        parts.append(tuple(sorted(left & reached)))
        left -= reached
    return parts


@final
@dataclass(frozen=True, kw_only=True)
class RatioTables:
    """Log P(protected, part) for the parts of a frontier.

    The parts are independent given a single state of the protected attribute, so that for pairs of single states the
    log ratios add; given a set of states they are not, and one table of the whole frontier is needed: `for_sets`,
    None when it would be too large.
    """

    states: tuple[State, ...]
    prior: LogTable
    for_points: tuple[LogTable, ...]
    for_sets: tuple[LogTable, ...] | None

    @classmethod
    def of(
        cls, network: DiscreteNetwork, protected: str, border: tuple[str, ...], pairs: Sequence[SecretPair]
    ) -> RatioTables:
        """Compute the tables of a frontier `border`."""
        split = independent_parts(network.graph, protected, border)
        parts = tuple(joint_law(network, (protected, *part)) for part in split)
        whole: tuple[LogTable, ...] | None = parts
        if len(parts) > 1 and not all(pair.is_point for pair in pairs):
            try:
                whole = (joint_law(network, (protected, *border)),)
            except SizeError:
                whole = None
        return cls(
            states=network.states[protected],
            prior=joint_law(network, (protected,)),
            for_points=parts,
            for_sets=whole,
        )

    def tables(self, pair: SecretPair) -> tuple[LogTable, ...] | None:
        """Return the tables whose log ratios add for `pair`."""
        return self.for_points if pair.is_point else self.for_sets

    def ratios(self, pair: SecretPair) -> FloatArray:
        """Return the influence per model; -inf where a secret has probability zero."""
        tables = self.tables(pair)
        if tables is None:
            return self._largest_singleton(pair)
        first, second = self.side(pair.first), self.side(pair.second)
        total = sum((self.cells(table, pair).max(axis=1) for table in tables), np.zeros(1))
        return np.where(self.impossible(first) | self.impossible(second), -np.inf, total)

    def cells(self, table: LogTable, pair: SecretPair) -> FloatArray:
        """Return log P(q | first) - log P(q | second) of shape (models, cells of q); -inf where P(q | first) = 0."""
        flat = table.values.reshape(*table.values.shape[:2], -1)
        above = self.given(flat, self.side(pair.first))
        below = self.given(flat, self.side(pair.second))
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(above), -np.inf, above - below)

    def side(self, secret: frozenset[State]) -> NDArray[np.intp]:
        """Return the positions of the states of a secret."""
        return np.array([k for k, state in enumerate(self.states) if state in secret], dtype=np.intp)

    def given(self, flat: FloatArray, side: NDArray[np.intp]) -> FloatArray:
        """Return log P(cell | secret) of shape (models, cells) from a table of shape (models, states, cells)."""
        with np.errstate(invalid="ignore"):
            return log_sum_exp(flat[:, side], 1) - log_sum_exp(self.prior.values[:, side], 1)[:, np.newaxis]

    def impossible(self, side: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for every model whether a secret has probability zero."""
        return np.asarray(np.isneginf(self.prior.values[:, side]).all(axis=1))

    def _largest_singleton(self, pair: SecretPair) -> FloatArray:
        """Return the bound that a mixture is never more telling than the most telling pair of its members."""
        singles = [SecretPair(frozenset({a}), frozenset({b})) for a in pair.first for b in pair.second]
        return np.maximum.reduce([np.asarray(self.ratios(single)) for single in singles])

    @cached_property
    def error(self) -> float:
        """Return a bound on the rounding error of a sum of log ratios."""
        total = 0.0
        for table in dict.fromkeys((*self.for_points, *(self.for_sets or ()))):
            finite = table.values[np.isfinite(table.values)]
            largest = float(np.max(np.abs(finite), initial=0.0))
            total += 2 * (table.error + self.prior.error)
            total += UNIT_ROUNDOFF * (8 * largest + 8 * table.values.shape[1] + 64)
        return total
