"""Networks of densities from scipy laws, with a small simulator, and direct integration to compare with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bnpriv.kinds.density.network import DensityNetwork, Parameter
from tests.later import Later

integrate = Later("scipy.integrate")
optimize = Later("scipy.optimize")

FloatArray = NDArray[np.float64]
Curve = Callable[[float], float]


@dataclass(frozen=True)
class Node:
    """A parameter with its law given its parents: a function to a frozen distribution of scipy.stats."""

    law: Callable
    parents: tuple[str, ...] = ()
    lower: float = -math.inf
    upper: float = math.inf
    states: tuple[float, ...] | None = None

    def log_density(self, value: FloatArray, *parents: FloatArray) -> FloatArray:
        law = self.law(*parents)
        return law.logpdf(value) if self.states is None else law.logpmf(value)


def density_network(nodes: Mapping[str, Node]) -> DensityNetwork:
    """Return the network of nodes that are listed parents first."""

    def simulate(
        names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, FloatArray]:
        rng = np.random.default_rng(seed)
        found: dict[str, FloatArray] = {}
        for name, node in nodes.items():
            drawn = node.law(*(found[parent] for parent in node.parents)).rvs(size=draws, random_state=rng)
            found[name] = np.full(draws, float(given[name])) if name in given else np.asarray(drawn, dtype=np.float64)
        return {name: found[name] for name in names}

    parameters = {
        name: Parameter(
            name=name,
            parents=node.parents,
            lower=node.lower,
            upper=node.upper,
            states=node.states,
            log_density=node.log_density,
        )
        for name, node in nodes.items()
    }
    return DensityNetwork(parameters=parameters, model_hash="made up", simulator=simulate)


def integral(function: Curve, *edges: float) -> float:
    """Integrate piece by piece."""
    parts = itertools.pairwise(sorted(edges))
    return sum(integrate.quad(function, a, b, epsabs=1e-14, epsrel=1e-12, limit=200)[0] for a, b in parts)


def smooth_integral(function: Callable[[FloatArray], FloatArray], *edges: float) -> float:
    """Integrate a function of arrays that has no kink between the edges: 40 panels of 20 Gauss points in each part."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    total = 0.0
    for low, high in itertools.pairwise(sorted(edges)):
        half = (high - low) / 80
        places = low + half * (2 * np.arange(40)[:, None] + 1 + nodes)
        total += half * float(np.sum(function(places) @ weights))
    return total


def hockey_stick(first: Curve, second: Curve, epsilon: float, low: float, high: float, steps: int = 2000) -> float:
    """Integrate max(0, first - exp(epsilon) second) between its changes of sign."""

    def left(x: float) -> float:
        return first(x) - math.exp(epsilon) * second(x)

    places = np.linspace(low, high, steps + 1)[1:-1]
    values = [left(x) for x in places]
    crossed = [k for k in range(len(values) - 1) if values[k] * values[k + 1] < 0]
    roots = [optimize.brentq(left, places[k], places[k + 1], xtol=1e-14) for k in crossed]
    return sum(max(0.0, integral(left, a, b)) for a, b in itertools.pairwise([low, *roots, high]))


def largest_log_ratio(first: Curve, second: Curve, places: FloatArray) -> float:
    """Return the largest absolute log ratio, by a look and golden section."""
    from scipy.optimize import minimize_scalar

    def size(x: float) -> float:
        return -abs(math.log(first(x) / second(x)))

    k = int(np.argmin([size(x) for x in places]))
    ends = places[max(k - 1, 0)], places[min(k + 1, places.size - 1)]
    return -float(minimize_scalar(size, bounds=ends, method="bounded", options={"xatol": 1e-9}).fun)
