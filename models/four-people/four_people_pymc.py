"""One of four people, written in PyMC.

A variable is the column itself in one record: x1 is the column whose sum is hidden, x2 the one whose sum is published.
The numbers are those of low_low.bif, low_high.bif, high_low.bif and high_high.bif, the corners of a rectangle of
probabilities; they are invented, and README.md says why there are four.
"""

from __future__ import annotations

import pymc as pm
import pytensor.tensor as pt

COORDS = {"x1_states": ["0", "1"], "x2_states": ["0", "1"]}

# P(x2 = 1 | x1 = 0) and P(x2 = 1 | x1 = 1)
CORNERS = {
    "low_low": pt.constant([0.2, 0.6]),
    "low_high": pt.constant([0.2, 0.7]),
    "high_low": pt.constant([0.3, 0.6]),
    "high_high": pt.constant([0.3, 0.7]),
}


def model(corner: str = "low_low") -> pm.Model:
    """Return the network of a corner's file, one of CORNERS."""
    with pm.Model(coords=COORDS) as one_person:
        x1 = pm.Bernoulli("x1", p=0.5)
        pm.Bernoulli("x2", p=CORNERS[corner][x1])
    return one_person
