"""Thousands of sets of tables of one network: ``python -m benchmarks.many_models``.

The sets are random: every entry of the network's tables times a log-normal factor, rows divided by their sums. Seconds
of the processor are with one thread for linear algebra. pgmpy eliminates variables for each state and column of a
random sample of queries under one set; the rest is extrapolated.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import TypeVar

import joblib
import numpy as np
import threadpoolctl

import bnpriv as bp
from benchmarks.influence import bundled, pgmpy_seconds
from bnpriv.lab.matrix import InfluenceMatrix

REPEATS = 3
Found = TypeVar("Found")


def random_sets(network: bp.DiscreteNetwork, count: int, spread: float = 0.3) -> bp.DiscreteNetwork:
    """Return a network of many models around one."""
    draw = np.random.default_rng(0)
    tables: dict[str, np.ndarray] = {}
    for name in network.attributes:
        table = network.probabilities(name)[0]
        moved = table * np.exp(spread * draw.standard_normal((count, *table.shape)))
        tables[name] = moved / moved.sum(axis=1, keepdims=True)
    parents = {name: list(network.graph.parents[name]) for name in network.attributes}
    return bp.DiscreteNetwork.from_tables(tables, states=network.states, parents=parents, normalize=True)


def best(work: Callable[[], Found], clock: Callable[[], float]) -> tuple[float, Found]:
    """Return the seconds of the fastest of a few runs, and what comes out."""
    seconds = []
    for _ in range(REPEATS):
        started = clock()
        found = work()
        seconds.append(clock() - started)
    return min(seconds), found


def bits(found: InfluenceMatrix) -> str:
    """Return a short digest of all bits of a matrix."""
    return hashlib.sha256(found.values.tobytes()).hexdigest()[:16]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--network", default="alarm", help="one of those inside pgmpy")
    parser.add_argument("--models", type=int, default=1_000, help="sets of tables for the whole matrix")
    parser.add_argument("--row-models", type=int, default=10_000, help="sets for one protected attribute")
    parser.add_argument("--protected", default="HYPOVOLEMIA", help="the protected attribute")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    network = next(found for name, found in bundled() if name == options.network)
    many = random_sets(network, options.models)
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        both, _ = best(lambda: InfluenceMatrix.of(random_sets(network, 1)), time.process_time)
        making, _ = best(lambda: random_sets(network, 1), time.process_time)
        whole, _ = best(lambda: InfluenceMatrix.of(many), time.process_time)
        single, pgmpy = both - making, pgmpy_seconds(network, 20) * options.models
    print(f"{options.network}, every pair of attributes, seconds of the processor")
    print(f"  one new set                      {single:10.4f}")
    print(f"  {options.models:,} sets                       {whole:10.3f}   {whole / single:,.0f} times one new set")
    print(f"  pgmpy, {options.models:,} sets, extrapolated  {pgmpy:10,.0f}   {pgmpy / whole:,.0f} times as long")

    rows = random_sets(network, options.row_models)
    secrets = {options.protected: None}
    print(f"{options.network}, {options.protected} with all others, {options.row_models:,} sets, seconds by the clock")
    alone, found = best(lambda: InfluenceMatrix.of(rows, secrets), time.perf_counter)
    print(f"  one process                      {alone:10.3f}   bits {bits(found)}")
    joblib.Parallel(n_jobs=options.workers)(joblib.delayed(bp.example)("student") for _ in range(8))  # started before
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend):
            shared, found = best(lambda: InfluenceMatrix.of(rows, secrets, workers=options.workers), time.perf_counter)
        name = "processes" if backend == "loky" else "threads"
        print(f"  {options.workers} {name:<31}{shared:10.3f}   bits {bits(found)}   {alone / shared:.2f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
