"""Time and memory of transport: on the line against sorting, in space against a linear program per threshold.

Run ``python benchmarks/transport.py`` on a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bnpriv.core.distributions import Atoms
from bnpriv.core.transport import closeness, lengths, w_infinity
from bnpriv.kinds.pairs_of_laws import n_fold

LINE = 10**6
SPACE = 500


def seconds(run: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest of several times."""
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def random_law(rng: np.random.Generator, size: int, dimension: int) -> Atoms:
    parts = rng.random(size)
    return Atoms(rng.random((size, dimension)), parts / parts.sum())


def linear_programs(f: Atoms, g: Atoms) -> tuple[float, int]:
    """Return the distance by bisection over all distances with HiGHS at each threshold, and how many there were."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    distances = lengths((a[:, None] - b[None] for a, b in zip(f.points.T, g.points.T, strict=True)), 1)
    masses = np.concatenate([f.probabilities, g.probabilities])
    widths = np.unique(distances)
    low, high, programs = 0, len(widths) - 1, 0
    while low < high:
        middle = (low + high) // 2
        i, j = np.nonzero(distances <= widths[middle])
        rows, columns = np.concatenate([i, f.size + j]), np.tile(np.arange(len(i)), 2)
        sides = coo_array((np.ones(len(rows)), (rows, columns)), shape=(f.size + g.size, len(i))).tocsr()
        result = linprog(-np.ones(len(i)), A_ub=sides, b_ub=masses, method="highs")
        programs += 1
        low, high = (low, middle) if -result.fun >= 1 - 1e-8 else (middle + 1, high)
    return float(widths[low]), programs


def on_the_line(rng: np.random.Generator) -> None:
    """Time the line: the goal is three times the time of sorting one law's atoms."""
    f, g = (random_law(rng, LINE, 1) for _ in range(2))
    atoms = rng.permutation(f.support)
    sort = seconds(lambda: np.sort(atoms))
    print(f"on the line, {LINE:,} atoms each; np.sort of one: {1e3 * sort:.0f} ms")
    equal = Atoms(rng.random(LINE), np.full(LINE, 1 / LINE)), Atoms(rng.random(LINE), np.full(LINE, 1 / LINE))
    half = Atoms(rng.random(LINE // 2), np.full(LINE // 2, 2 / LINE))
    counts = [np.unique(rng.integers(0, 3 * LINE, LINE), return_counts=True) for _ in range(2)]
    samples = tuple(Atoms(values, times / times.sum()) for values, times in counts)
    cases = {
        "random masses": (f, g),
        "equal masses": equal,
        "equal masses, half as many atoms": (equal[0], half),
        "two samples with ties": samples,
        "a law and itself, shifted": (f, Atoms.from_logs(f.support + 0.1, f.logs, f.error)),
        "binomial, p 0.30 and 0.31": (Atoms.binomial(LINE, 0.3), Atoms.binomial(LINE, 0.31)),
    }
    for name, (first, second) in cases.items():
        spent = seconds(lambda pair=(first, second): w_infinity(*pair), 3)
        print(f"  {name:34s}{1e3 * spent:9.0f} ms {spent / sort:8.2f} sorts")
    first, second = cases["binomial, p 0.30 and 0.31"]
    spent = seconds(lambda: closeness(first, second, 1e-9), 1)
    print(f"  {'binomial, closeness 1e-9':34s}{1e3 * spent:9.0f} ms {spent / sort:8.2f} sorts")


def in_space(rng: np.random.Generator) -> None:
    """Time space: the goal is 10 s, and a twentieth of a linear program per threshold."""
    print(f"in space, {SPACE} atoms each, dimension 3, 1-norm, against a linear program per threshold")
    laws = [random_law(rng, SPACE, 3) for _ in range(2)]
    corners = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    sums = [n_fold(Atoms(corners, masses), 30) for masses in ([0.4, 0.3, 0.3], [0.3, 0.4, 0.3])]
    for name, (f, g) in {"random": laws, "multinomial, 496 atoms": sums}.items():
        spent = seconds(lambda pair=(f, g): w_infinity(*pair), 5)
        start = time.perf_counter()
        _, count = linear_programs(f, g)
        programs = time.perf_counter() - start
        print(
            f"  {name:24s}{spent:8.2f} s   {count:3d} programs {programs:7.1f} s {programs / spent:8.0f} times as long"
        )


if __name__ == "__main__":
    on_the_line(np.random.default_rng(0))
    in_space(np.random.default_rng(1))
