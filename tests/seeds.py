"""Random searches of which the normal run makes a part, and the run of the slow tests all."""

from __future__ import annotations

import pytest


def seeds(usual: int, slow: int) -> list[object]:
    """Return the seeds from 0 up to `slow`, which those below `usual` are like: other draws of the same search."""
    return [*range(usual), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(usual, slow))]


def examples(usual: int, slow: int) -> list[object]:
    """Return how many cases Hypothesis tries: in the normal run, and in that of the slow tests."""
    return [usual, pytest.param(slow, marks=pytest.mark.slow)]
