"""Time of the search for the noise of a chain, against a plain NumPy loop over its steps.

Run ``python benchmarks/chain.py``. The loop is timed on a sample of steps and scaled to all of them.
"""

from __future__ import annotations

import math
import time

import numpy as np

from bnpriv.kinds.chain.column import ExactInfluence, SpectralBound, chain_scale
from bnpriv.kinds.chain.network import MarkovChain

STEPS, STATES, EPSILON, SAMPLE = 1_000_000, 51, 1.0, 20


def banded(width: int, forget: float, rng: np.random.Generator) -> np.ndarray:
    """Return a matrix whose states move to near ones, or with probability `forget` anywhere."""
    apart = np.abs(np.subtract.outer(np.arange(STATES), np.arange(STATES)))
    near = np.where(apart <= width, rng.uniform(0.5, 1, (STATES, STATES)) * np.exp(-0.5 * apart), 0)
    return (1 - forget) * near / near.sum(axis=1, keepdims=True) + forget / STATES


def plain_loop(matrix: np.ndarray, law: np.ndarray, farthest: int, sample: int) -> tuple[float, float]:
    """Return the largest score of some steps in the middle, and the seconds per step."""
    powers = [np.linalg.matrix_power(matrix, t) for t in range(1, farthest + 1)]
    right = [np.max(np.log(p)[:, None] - np.log(p)[None], axis=2) for p in powers]
    left = [np.max(np.log(p.T)[:, None] - np.log(p.T)[None], axis=2) for p in powers]
    odds = np.log(law)[None] - np.log(law)[:, None]
    start, worst = time.perf_counter(), 0.0
    for _ in range(sample):
        best = math.inf
        for a in range(1, farthest + 1):
            before = left[a - 1] + odds
            for b in range(1, farthest + 2 - a):
                told = float((before + right[b - 1]).max())
                if told < EPSILON:
                    best = min(best, (a + b - 1) / (EPSILON - told))
        worst = max(worst, best)
    return worst, (time.perf_counter() - start) / sample


def main() -> None:
    """Print the table; the goal is 100 times, and the published program took 282 s for a chain of this size."""
    rng = np.random.default_rng(0)
    print(f"{STEPS:,} steps, {STATES} states, epsilon {EPSILON:g}")
    head = ("exact", "seconds", "loop, s", "ratio", "spectral", "published")
    print(f"{'chain':28s}" + "".join(f"{each:>11s}" for each in head))
    for name, width, forget in (("forgets fast", 50, 0.3), ("band of 10", 10, 0.1), ("band of 3", 3, 0.03)):
        matrix = banded(width, forget, rng)
        for start in ("stationary", "given"):
            initial = np.eye(STATES)[3] if start == "given" else start
            begun = time.perf_counter()
            chain = MarkovChain(matrix, initial, STEPS)
            found = chain_scale(chain.length, EPSILON, ExactInfluence(chain, 0))
            spent = time.perf_counter() - begun
            assert found is not None
            law = chain.stationary[0]
            score, each = plain_loop(chain.matrix(0), law, found.near + 1, SAMPLE if found.near < 80 else 1)
            if start == "stationary":
                assert math.isclose(score, found.score, rel_tol=1e-9), (score, found.score)
            bounds = [SpectralBound.of(chain, 0, published=published) for published in (False, True)]
            scores = [chain_scale(chain.length, EPSILON, bound) for bound in bounds]
            print(
                f"{name + ', ' + start:28s}{found.score:11.3f}{spent:11.2f}{each * STEPS:11.0f}"
                f"{each * STEPS / spent:11.0f}" + "".join(f"{row.score if row else 0:11.1f}" for row in scores)
            )


if __name__ == "__main__":
    main()
