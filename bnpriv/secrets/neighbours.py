"""Intervals next to each other, which stand for values so far apart where draws know no single values."""

from __future__ import annotations

import numpy as np

from bnpriv.bound import FloatArray

LEAST_SUGGESTED = 0.02
"""How often a suggested interval must come up among the values."""

MOST_PAIRS = 4


def neighbours_text(values: FloatArray, distance: float, *, touching: bool) -> str:
    """Return a declaration of pairs of intervals next to each other, each as long as a distance.

    Parameters
    ----------
    values : ndarray of shape (draws,)
        As they are drawn; intervals that are rare among them are left out.
    distance : float
    touching : bool
        Whether intervals may have an end in common; otherwise there is a small gap, of one where values are whole.

    Returns
    -------
    str
        Empty if no two intervals next to each other come up often enough.

    Examples
    --------
    >>> neighbours_text(np.linspace(0, 3, 1000), 1.0, touching=True)
    'bnpriv.intervals(((0, 1), (1, 2)), ((1, 2), (2, 3)))'
    >>> neighbours_text(np.arange(100.0), 20.0, touching=False)[:46]
    'bnpriv.intervals(((0, 19), (20, 39)), ((20, 39'
    """
    finite = values[np.isfinite(values) & (np.abs(values) < distance * 2.0**50)]
    cells, counts = np.unique(np.floor(finite / distance), return_counts=True)
    often = {int(cell) for cell, count in zip(cells, counts, strict=True) if count >= LEAST_SUGGESTED * len(values)}
    middle = float(np.median(finite)) / distance if len(finite) else 0.0
    pairs = sorted((cell for cell in often if cell + 1 in often), key=lambda cell: abs(cell + 1 - middle))
    whole = bool((values == np.round(values)).all()) and distance >= 2 and distance == round(distance)
    gap = 0.0 if touching else 1.0 if whole else distance / 1000

    def interval(cell: int) -> str:
        return f"({cell * distance:.9g}, {(cell + 1) * distance - gap:.9g})"

    chosen = (f"({interval(cell)}, {interval(cell + 1)})" for cell in sorted(pairs[:MOST_PAIRS]))
    listed = ", ".join(chosen)
    return f"bnpriv.intervals({listed})" if listed else ""
