"""One person of a census, written in PyMC.

A variable is the column itself in one record, its states are the values or bins of the column. The probabilities were
counted in the public half of the table, as README.md says, so they are read from census.bif and not written out again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

import bnpriv as bp


def model() -> pm.Model:
    """Return the network of census.bif."""
    network = bp.read_network(Path(__file__).with_name("census.bif"))
    coords = {f"{name}_states": states for name, states in network.states.items()}
    with pm.Model(coords=coords) as census:
        variables: dict[str, Any] = {}
        for name in network.attributes:
            table = network.tables[name]
            # by the parents, then the states: a row of probabilities for every combination
            rows = pt.constant(np.moveaxis(table.weights[0], 0, -1))
            variables[name] = pm.Categorical(name, p=rows[tuple(variables[parent] for parent in table.axes[1:])])
    return census
