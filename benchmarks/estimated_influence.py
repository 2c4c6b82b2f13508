"""What columns tell, estimated from draws, against quadrature: bias, and how often the stated interval covers.

    python benchmarks/estimated_influence.py            # 200 repetitions of 12 models, 4,000 draws each
    python benchmarks/estimated_influence.py 20 1000    # 20 repetitions of 1,000 draws

Every model draws a secret theta and what is seen; two intervals of theta are the secrets. The truth is the least
epsilon at which no set of what is seen is more than exp(epsilon) times as probable, plus delta, under one secret as
under the other: from the density of what is seen given either, by sums over grids. An upper end that the draws do not
set covers, and is counted; bias and spread are those of the estimates that were told.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.signal import lfilter

from bnpriv.bound import FloatArray
from bnpriv.core.networks.base import Posterior
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.estimated_influence import ESTIMATED_CHANCE, EstimatedInfluence, estimated_influence
from bnpriv.kinds.draws.parameter_draws import ParameterDraws

Random = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Known:
    """A model whose answer is known.

    Parameters
    ----------
    draw : callable
        From the number of draws and a generator to theta and what is seen, of shape (draws,) or (draws, numbers).
    given : callable
        From theta to the frozen law of what is seen; of several numbers to a tuple of independent ones.
    prior : frozen law
        Of theta.
    first, second : (float, float)
        The secrets.
    grids : tuple of ndarray
        Of every number that is seen.
    chains : int
        0 for independent draws.
    """

    draw: Callable[[int, Random], tuple[FloatArray, FloatArray]]
    given: Callable[[FloatArray], Any]
    prior: Any
    first: tuple[float, float]
    second: tuple[float, float]
    grids: tuple[FloatArray, ...] = (np.linspace(-12, 12, 6001),)
    chains: int = 0

    def network(self, draws: int, random: Random) -> DensityNetwork:
        """Return a network that knows the model by draws alone."""
        secret, seen = self.draw(draws, random)
        columns = seen.reshape(draws, -1).T
        values = {"theta": secret, **{f"seen{k}": column for k, column in enumerate(columns)}}
        parameters = {
            name: Parameter(name=name, parents=tuple(values)[:k], lower=-math.inf, upper=math.inf)
            for k, name in enumerate(values)
        }
        posterior = Posterior(source="a benchmark", draws=draws, independent=not self.chains, belief=True)
        drawn = ParameterDraws(values=values, reading="belief", chains=self.chains or 1, posterior=posterior)
        return DensityNetwork(parameters=parameters, model_hash="known", simulator=_none, drawn=drawn)

    def truth(self, delta: float) -> float:
        """Return the answer, by sums over grids."""
        first, second = (self._law(interval) for interval in (self.first, self.second))
        low, high = 0.0, 30.0
        for _ in range(60):
            middle = (low + high) / 2
            gaps = (np.maximum(a - math.exp(middle) * b, 0).sum() for a, b in ((first, second), (second, first)))
            low, high = (middle, high) if max(gaps) > delta else (low, middle)
        return high

    def _law(self, interval: tuple[float, float]) -> FloatArray:
        """Return the law of what is seen given theta in an interval, on the grids, of sum 1."""
        edges = np.linspace(*interval, 801)
        theta = (edges[:-1] + edges[1:]) / 2
        weights = self.prior.pdf(theta)
        laws = self.given(theta[:, np.newaxis])
        laws = laws if isinstance(laws, tuple) else (laws,)
        parts = [
            (law.pmf if hasattr(law, "pmf") else law.pdf)(grid) for law, grid in zip(laws, self.grids, strict=True)
        ]
        found = np.einsum("t,ti->i" if len(parts) == 1 else "t,ti,tj->ij", weights, *parts)
        return found / found.sum()


def _none(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is drawn forward")


@dataclass(frozen=True)
class Mixture:
    """A law that is one of two normal ones, as often."""

    places: tuple[FloatArray, FloatArray]
    scale: float

    def pdf(self, x: FloatArray) -> FloatArray:
        """Return its density."""
        return sum(stats.norm.pdf(x, place, self.scale) for place in self.places) / 2


def _of(prior: Any, below: Callable[[FloatArray, Random], FloatArray]) -> Callable[[int, Random], Any]:
    def draw(draws: int, random: Random) -> tuple[FloatArray, FloatArray]:
        theta = prior.rvs(draws, random_state=random)
        return theta, np.asarray(below(theta, random), dtype=np.float64)

    return draw


def _known(
    prior: Any, given: Callable[[FloatArray], Any], below: Callable[[FloatArray, Random], FloatArray], **how: Any
):
    return Known(draw=_of(prior, below), given=given, prior=prior, **how)


def _chain(draws: int, random: Random) -> tuple[FloatArray, FloatArray]:
    """Return four chains of two correlated normal numbers, each step .8 of the one before."""
    steps = random.normal(0, 0.6, (2, 4, draws // 4))
    steps[:, :, 0] = random.normal(size=(2, 4))
    theta, other = lfilter([1.0], [1.0, -0.8], steps, axis=2).reshape(2, -1)
    return theta, 0.6 * theta + 0.8 * other


STANDARD, SMALL = stats.norm(0, 1), stats.norm(0, 0.7)
TWO_GRIDS = (np.linspace(-7, 7, 281), np.linspace(-7, 7, 281))

MODELS = {
    "normal mean, one seen": _known(
        STANDARD, lambda t: stats.norm(t, 1), lambda t, r: r.normal(t, 1), first=(-1.5, 0), second=(0, 1.5)
    ),
    "three levels, normal": _known(
        STANDARD,
        lambda t: stats.norm(t, math.sqrt(2)),
        lambda t, r: r.normal(r.normal(t, 1), 1),
        first=(-1.5, 0),
        second=(0, 1.5),
    ),
    "beta-binomial": _known(
        stats.beta(2, 3),
        lambda t: stats.binom(6, t),
        lambda t, r: r.binomial(6, t),
        first=(0.15, 0.4),
        second=(0.4, 0.65),
        grids=(np.arange(7.0),),
    ),
    "gamma-Poisson": _known(
        stats.gamma(3),
        lambda t: stats.poisson(t),
        lambda t, r: r.poisson(t),
        first=(1, 2.5),
        second=(2.5, 5),
        grids=(np.arange(60.0),),
    ),
    "mixture of two normals": _known(
        STANDARD,
        lambda t: Mixture((t - 2, t + 2), 0.8),
        lambda t, r: r.normal(t + r.choice([-2.0, 2.0], len(t)), 0.8),
        first=(-1, 0),
        second=(0, 1),
    ),
    "Student, 3 degrees": _known(
        STANDARD,
        lambda t: stats.t(3, t),
        lambda t, r: t + r.standard_t(3, len(t)),
        first=(-1.5, 0),
        second=(0, 1.5),
        grids=(np.linspace(-200, 200, 40001),),
    ),
    "correlated normals, .6, a chain": Known(
        draw=_chain,
        given=lambda t: stats.norm(0.6 * t, 0.8),
        prior=STANDARD,
        first=(-1.5, 0),
        second=(0, 1.5),
        chains=4,
    ),
    "its square": _known(
        STANDARD, lambda t: stats.norm(t**2, 1), lambda t, r: r.normal(t**2, 1), first=(-0.7, 0.7), second=(0.7, 1.5)
    ),
    "its spread": _known(
        stats.norm(0, 0.6),
        lambda t: stats.norm(0, np.exp(t)),
        lambda t, r: r.normal(0, np.exp(t)),
        first=(-0.6, 0),
        second=(0, 0.6),
    ),
    "gamma around exp(theta)": _known(
        SMALL,
        lambda t: stats.gamma(2, scale=np.exp(t) / 2),
        lambda t, r: r.gamma(2, np.exp(t) / 2),
        first=(-1, 0),
        second=(0, 1),
        grids=(np.linspace(0.001, 30, 30001),),
    ),
    "two seen together": _known(
        STANDARD,
        lambda t: (stats.norm(t, 1.2), stats.norm(t, 1.5)),
        lambda t, r: np.stack([r.normal(t, 1.2), r.normal(t, 1.5)], axis=1),
        first=(-1, 0),
        second=(0, 1),
        grids=TWO_GRIDS,
    ),
    "independent": _known(
        STANDARD, lambda t: stats.norm(0 * t, 1), lambda t, r: r.normal(0 * t, 1), first=(-1, 0), second=(0, 1)
    ),
}


def estimates(model: Known, draws: int, repetitions: int, delta: float) -> list[EstimatedInfluence]:
    """Return the estimates from as many samples."""
    pair = IntervalPair(Interval(*model.first), Interval(*model.second))
    found: list[EstimatedInfluence] = []
    for seed in range(repetitions):
        network = model.network(draws, np.random.default_rng(seed))
        found.append(estimated_influence(network, network.attributes[1:], "theta", [pair], delta))
    return found


def main() -> None:
    """Print the table."""
    repetitions, draws = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (200, 4000)
    delta = ESTIMATED_CHANCE
    print(f"{repetitions} repetitions, {draws:,} draws, delta {delta:g}; all in nats\n")
    print("| model | truth | told | bias | spread | median interval | covers | ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name, model in MODELS.items():
        truth, started = model.truth(delta), time.perf_counter()
        found = estimates(model, draws, repetitions, delta)
        took = 1000 * (time.perf_counter() - started) / repetitions
        told = np.array([each.nats for each in found if each.unknown is None])
        ends = np.array([(each.low, math.inf if math.isnan(each.high) else each.high) for each in found])
        covers = np.mean((ends[:, 0] <= truth + 0.01) & (truth <= ends[:, 1] + 0.01))
        low, high = np.median(ends, axis=0)
        bias, spread = (f"{told.mean() - truth:+.2f}", f"{told.std():.2f}") if len(told) else ("", "")
        print(
            f"| {name} | {truth:.2f} | {len(told) / repetitions:.0%} | {bias} | {spread} | {low:.2f} to {high:.2f} "
            f"| {covers:.1%} | {took:.0f} |"
        )


if __name__ == "__main__":
    main()
