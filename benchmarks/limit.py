"""What mechanisms leave on the table: ``python benchmarks/limit.py [examples] [random] [families]``.

Expected errors are divided by the least that any mechanism can have that sees the data only through the answer:

* `examples`: all queries of the shipped examples whose laws are computed, at epsilon 0.5 and 1;
* `random`: 300 random problems of up to 200 answers; there the target is an `OptimalMechanism` within 0.1 % of it;
* `families`: binomial, Poisson, normal and exponential answers, where the secret is a mean or a quantile; bins of the
  literature on summary statistics beside additive noise and the optimal channel, at equal epsilon.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.io.examples import examples
from bnpriv.mechanisms.optimal.program import LawTable, Optimum, Question, law_table, optimum

PROBLEMS = 300
MOST_ANSWERS = 200
TARGET = 1.001  # times the least error, for the optimal mechanism
EPSILONS = (0.1, 0.5, 1.0, 2.0)
DRAWN = ("admissions", "counties", "schools")
"""Examples whose laws are learned from draws: their limit is not known."""

NOTHING = 1e-9
"""Errors below this share of the range are those of answers that may be released as they are."""

MECHANISMS = {
    "Wasserstein": bp.WassersteinMechanism(),
    "Tight": bp.TightMechanism(),
    "Quantization": bp.mechanisms.QuantizationMechanism(),
}

ANSWERS = np.arange(101.0)
SPREADS = (0.8, 1.0, 1.2)
"""What is not the secret multiplies the parameter by one of these, each as likely."""


def quantiles_text(numbers: Sequence[float]) -> str:
    """Return the median and the largest of some numbers."""
    return f"median {np.median(numbers):.4g}, worst {np.max(numbers):.4g}"


def of_examples() -> None:
    """Print for every query of an example the least error and how many times that the best mechanisms err."""
    added, best = list[float](), list[float]()
    print(f"{'example':<13}{'query':<20}{'epsilon':>8}{'least':>11}{'kind':>10}{'noise':>8}{'best':>8}  mechanism")
    for name in sorted(set(examples()) - set(DRAWN)):
        framework = bp.example(name)
        for key, query in bp.read_queries(bp.example_data(name).parent / "framework.toml").items():
            for epsilon in (0.5, 1.0):
                plan = bp.plan(framework, query, epsilon)
                limit = plan.limit
                if limit.least is None:
                    print(f"{name:<13}{key:<20}{epsilon:>8g}  not shown: {limit.reason[:70]}")
                    continue
                noise = next(c for c in plan.calibrations if type(c.noise).__name__ != "Channel")
                times = [limit.over(each) for each in (noise, plan.best)]
                shown = ["-" if each is None else f"{each:.4g}" for each in times]
                row = f"{name:<13}{key:<20}{epsilon:>8g}{limit.least:>11.4g}{limit.kind:>10}{shown[0]:>8}{shown[1]:>8}"
                print(f"{row}  {plan.best.mechanism}", flush=True)
                added += [] if times[0] is None else [times[0]]
                best += [] if times[1] is None else [times[1]]
    print(f"times the least error: best additive noise {quantiles_text(added)}; best of all {quantiles_text(best)}")


def problems(count: int) -> Iterator[tuple[bp.DistributionPrivacy, float]]:
    """Yield random laws of an answer under the secrets of one to four pairs, and an epsilon."""
    for k in range(count):
        rng = np.random.default_rng((20261122, k))
        size, pairs = int(rng.integers(2, MOST_ANSWERS + 1)), int(rng.choice([1, 1, 2, 3, 4]))
        points = np.arange(float(size)) if rng.random() < 0.7 else np.cumsum(rng.exponential(1.0, size))
        kind = rng.choice(["smooth", "binomial", "wild"], p=[0.5, 0.3, 0.2])
        listed = [tuple(Atoms(points, law(rng, str(kind), size)) for _ in range(2)) for _ in range(pairs)]
        yield bp.DistributionPrivacy(listed, source="a benchmark"), float(rng.choice(EPSILONS))


def law(rng: np.random.Generator, kind: str, size: int) -> NDArray[np.float64]:
    """Draw a law on so many answers: with one or two peaks, a mixture of binomial laws, or without any order."""
    if kind == "wild":
        masses = rng.dirichlet(np.full(size, rng.choice([0.5, 2.0])))
    elif kind == "smooth":
        places, widths = rng.uniform(0.2, 0.8, (2, 1)), rng.uniform(0.05, 0.4, (2, 1))
        peaks = np.exp(-(((np.arange(size) / size - places) / widths) ** 2))
        masses = rng.dirichlet([1.0, 1.0]) @ peaks + 1e-12
    else:
        chances = rng.uniform(0.2, 0.8, 3)
        masses = rng.dirichlet(np.ones(3)) @ stats.binom.pmf(np.arange(size), size - 1, chances[:, np.newaxis])
    return masses / masses.sum()


def of_random(count: int) -> bool:
    """Print by how much mechanisms pass the least error on random problems; return whether the target is met."""
    times: dict[str, list[float]] = {"Wasserstein": [], "Tight": [], "Quantization": [], "Optimal": []}
    free = unknown = 0
    slowest, started = 0.0, time.perf_counter()
    for framework, epsilon in problems(count):
        tight = bp.TightMechanism().calibrate(framework, epsilon=epsilon)
        begun = time.perf_counter()
        best = solved(framework, tight.query, epsilon)
        slowest = max(slowest, time.perf_counter() - begun)
        if best.error < NOTHING * float(np.ptp(best.channel.inputs)):
            free += 1
            continue
        if not best.bound:
            unknown += 1
            continue
        bins = MECHANISMS["Quantization"].calibrate(framework, epsilon=epsilon)
        errors = {
            "Wasserstein": MECHANISMS["Wasserstein"].calibrate(framework, epsilon=epsilon).expected_error,
            "Tight": tight.expected_error,
            "Quantization": bins.expected_error,
            "Optimal": best.error,
        }
        for name, error in errors.items():
            times[name].append(error / best.bound)
    print(f"{count} random problems of up to {MOST_ANSWERS} answers: {free} need no error, {unknown} have no bound")
    for name, found in times.items():
        print(f"  {name:<14} times the least error: {quantiles_text(found)}")
    within = sum(each <= TARGET for each in times["Optimal"])
    print(f"  Optimal within .1 % of the limit: {within} of {len(times['Optimal'])}; slowest {slowest:.1f} s, ", end="")
    print(f"all {time.perf_counter() - started:.0f} s")
    return within == len(times["Optimal"]) and not unknown


FAMILIES: dict[str, Callable[[float], NDArray[np.float64]]] = {
    "binomial": lambda mean: stats.binom.pmf(ANSWERS, 100, min(1.0, mean / 100)),
    "Poisson": lambda mean: capped(stats.poisson.cdf(ANSWERS, mean)),
    "normal": lambda mean: gridded(stats.norm(mean, 10)),
    "exponential": lambda mean: gridded(stats.expon(scale=mean)),
}
"""The law of an answer from 0 to 100 by its mean; continuous ones are rounded to whole numbers and clamped."""


def capped(reached: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return masses from a distribution function; the last answer stands for all beyond."""
    return np.diff(np.append(reached[:-1], 1.0), prepend=0.0)


def gridded(continuous: object) -> NDArray[np.float64]:
    """Return the masses of a continuous law that is rounded to whole numbers and clamped."""
    return capped(continuous.cdf(ANSWERS + 0.5))  # type: ignore[attr-defined]


def mixed(family: str, mean: float) -> NDArray[np.float64]:
    """Return the law of an answer given its parameter: a mixture over what is not the secret."""
    return np.mean([FAMILIES[family](mean * spread) for spread in SPREADS], axis=0)


def given_secret(family: str, secret: str, value: float) -> Atoms:
    """Return the law whose mean, or .9-quantile, interpolated, is a value."""

    def statistic(mean: float) -> float:
        masses = mixed(family, mean)
        if secret == "mean":
            return float(masses @ ANSWERS)
        return float(np.interp(0.9, np.cumsum(masses), ANSWERS))

    found = brentq(lambda mean: statistic(float(mean)) - value, 1.0, 75.0)
    masses = mixed(family, float(found))
    return Atoms(ANSWERS, masses / masses.sum())


def of_families() -> None:
    """Print errors on laws of four families, where three values of a mean or of a quantile must not be told apart."""
    names = (*MECHANISMS, "Optimal", "limit")
    print(f"{'answer':<13}{'secret':<14}{'epsilon':>8}" + "".join(f"{name:>14}" for name in names))
    for family in FAMILIES:
        for secret, values in (("mean", (30.0, 33.0, 36.0)), ("quantile", (44.0, 48.0, 52.0))):
            laws = [given_secret(family, secret, value) for value in values]
            pairs = [(a, b) for k, a in enumerate(laws) for b in laws[k + 1 :]]
            framework = bp.DistributionPrivacy(pairs, source="a benchmark")
            for epsilon in (0.1, 0.5, 1.0):
                found = [each.calibrate(framework, epsilon=epsilon) for each in MECHANISMS.values()]
                best = solved(framework, found[0].query, epsilon)
                errors = [*(each.expected_error for each in found), best.error, best.bound]
                row = f"{family:<13}{secret:<14}{epsilon:>8g}"
                print(row + "".join(f"{error:>14.3f}" for error in errors), flush=True)


def solved(framework: bp.DistributionPrivacy, query: bp.types.Query, epsilon: float) -> Optimum:
    """Return the optimal channel with the bound that proves how good it is."""
    table = law_table(framework, query)
    assert isinstance(table, LawTable)
    priors = table.mean[np.newaxis]
    return optimum(Question(table=table, error="absolute", priors=priors, epsilon=epsilon, delta=0.0))


def main() -> int:
    """Print the tables that are asked for; return 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["examples", "random", "families"])
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    asked = parser.parse_args()
    if "examples" in asked.parts:
        of_examples()
    if "families" in asked.parts:
        of_families()
    return int("random" in asked.parts and not of_random(asked.problems))


if __name__ == "__main__":
    sys.exit(main())
