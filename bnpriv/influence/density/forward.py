"""Forward draws of what lies behind a set of parameters that is seen, given a secret, and points worth a look."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.influence.density.densities import log_density
from bnpriv.influence.density.lattice import QuadratureGrid
from bnpriv.secrets.values import Interval

FORWARD_DRAWS = 2**12
"""Forward draws under each secret."""

ENOUGH = 64
"""How many draws inside an interval stand for it."""

NODES = 16
"""Values of an interval that stand for it if draws are too rare there."""

SHUFFLES = 3
"""How often hidden values are permuted among the draws, to measure how much the observed ones depend on them."""

ParameterValues = Mapping[str, FloatArray]
"""Values of parameters by name, in arrays that broadcast."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedDraws:
    """Draws of everything that the observed parameters depend on.

    Parameters
    ----------
    values : mapping from str to ndarray of shape (rows,)
        Of all parameters that matter.
    log_weights : ndarray of shape (rows,)
        The sum of their exponentials over `total` is the probability, or density, of the secret.
    total : int
    """

    values: ParameterValues
    log_weights: FloatArray
    total: int


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ForwardDraws:
    """Forward draws for parameters that are observed together, under either secret of a pair.

    Parameters
    ----------
    grid : QuadratureGrid
    names : tuple of str
        What is seen.
    """

    grid: QuadratureGrid
    names: tuple[str, ...]

    @property
    def secrets(self) -> tuple[Interval, Interval]:
        """Return both secrets."""
        return self.grid.pair.first, self.grid.pair.second

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Return all parameters that matter."""
        return tuple(sorted(self.grid.network.graph.ancestral((self.grid.protected, *self.names))))

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """Return those that are neither seen nor protected."""
        return tuple(name for name in self.all if name not in (*self.names, self.grid.protected))

    @cached_property
    def tied(self) -> bool:
        """Return whether something that is not seen lies below what is."""
        graph, seen = self.grid.network.graph, set(self.names)
        return any(graph.ancestral((name,)) & seen for name in (*self.hidden, self.grid.protected))

    def density(self, name: str, values: ParameterValues) -> FloatArray:
        """Return the log density of a parameter given its parents."""
        parameter = self.grid.parameter(name)
        return log_density(parameter, values[name], [values[parent] for parent in parameter.parents])

    def holds_value(self, side: int) -> bool:
        """Return whether a secret is a single value."""
        return self.grid.sides(NODES)[side].points == 1

    def sampled(self, side: int, seen: Mapping[str, float] | None = None) -> WeightedDraws:
        """Return draws given a secret, and with what is seen set to values if there are any."""
        name, secret, axis = self.grid.protected, self.secrets[side], self.grid.sides(NODES)[side]
        if axis.points > 1 and self.grid.parameter(name).states is None:
            free = self._simulated(seen or {}, FORWARD_DRAWS)
            inside = (free[name] >= secret.low) & (free[name] <= secret.high)
            if np.count_nonzero(inside) >= ENOUGH:
                values = {each: found[inside] for each, found in free.items()}
                return WeightedDraws(values=values, log_weights=np.zeros(np.count_nonzero(inside)), total=FORWARD_DRAWS)
        parts = [
            self._simulated({**(seen or {}), name: float(value)}, max(1, FORWARD_DRAWS // axis.points))
            for value in axis.values
        ]
        values = {each: np.concatenate([part[each] for part in parts]) for each in self.all}
        weights = np.repeat(axis.log_weights, len(parts[0][name]))
        total = len(parts[0][name])
        return WeightedDraws(values=values, log_weights=weights + self.density(name, values), total=total)

    def _simulated(self, given: Mapping[str, float], draws: int) -> dict[str, FloatArray]:
        network = self.grid.network
        found = network.simulator(self.all, draws, seed=network.sampling.seed + 1, given=given, records=1)
        return {name: np.asarray(found[name], dtype=np.float64).reshape(draws) for name in self.all}

    @cached_property
    def sides(self) -> tuple[WeightedDraws, WeightedDraws]:
        """Return draws given either secret."""
        return self.sampled(0), self.sampled(1)

    def telling(self, most: int) -> ParameterValues:
        """Return draws of what is seen, of shape (points,): those that tell most, and some as they come.

        What a draw tells is how much more probable it is given its own secret, or given what is hidden behind it, than
        given others.
        """
        rows: list[FloatArray] = []
        for side, drawn in enumerate(self.sides):
            values = drawn.values
            seen = np.stack([values[name] for name in self.names], axis=1)
            scores = (self._about_secret(values, side), self._about_hidden(values))
            found = [np.argsort(-score)[:most] for score in scores]
            chosen = np.unique(np.concatenate([*found, np.arange(min(most, len(seen)))]))
            rows.append(seen[chosen])
        points = np.unique(np.concatenate(rows), axis=0)
        return {name: points[:, k] for k, name in enumerate(self.names)}

    def _about_secret(self, values: ParameterValues, side: int) -> FloatArray:
        """Return the log ratio of whole draws between their own secret and the other."""
        protected, other = self.grid.protected, self.grid.sides(NODES)[1 - side].values
        exchanged = {**values, protected: np.full(len(values[protected]), other[len(other) // 2])}
        below = [n for n in self.all if n != protected and protected in self.grid.parameter(n).parents]
        return _differences([(self.density(n, values), self.density(n, exchanged)) for n in below], values[protected])

    def _about_hidden(self, values: ParameterValues) -> FloatArray:
        """Return the log ratio of what is seen between what is hidden behind it and what is behind other draws."""
        rows, random = len(values[self.grid.protected]), np.random.default_rng(0)
        apart: list[FloatArray] = []
        for _ in range(SHUFFLES):
            order = random.permutation(rows)
            mixed = {name: array if name in self.names else array[order] for name, array in values.items()}
            pairs = [(self.density(n, values), self.density(n, mixed)) for n in self.names]
            apart.append(_differences(pairs, values[self.grid.protected]))
        return np.min(apart, axis=0)


def _differences(pairs: Iterable[tuple[FloatArray, FloatArray]], like: FloatArray) -> FloatArray:
    total = np.zeros(len(like))
    for one, other in pairs:
        with np.errstate(invalid="ignore"):
            total = total + np.where(np.isneginf(one), -math.inf, one - other)
    return np.where(np.isnan(total), -math.inf, total)
