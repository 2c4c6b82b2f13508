"""The shipped models in PyMC say what their BIF files say: states, edges, tables, and all that follows from them."""

from __future__ import annotations

import runpy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp

pm = pytest.importorskip("pymc")

MODELS = Path(__file__).resolve().parents[3] / "models"
FILES = [file.relative_to(MODELS).with_suffix("").as_posix() for file in sorted(MODELS.glob("*/*.bif"))]
TOLERANCE = 1e-12


def module(name: str) -> dict[str, Any]:
    """Return what the PyMC module of an example defines."""
    return runpy.run_path(str(MODELS / name / f"{name.replace('-', '_')}_pymc.py"))


def in_pymc(file: str) -> Any:
    """Return the PyMC model of a network file: the only one of its example, or the one of the file's name."""
    name, stem = file.split("/")
    alone = len(list((MODELS / name).glob("*.bif"))) == 1
    return module(name)["model"]() if alone else module(name)["model"](stem)


def in_bif(file: str) -> bp.DiscreteNetwork:
    return bp.read_network(MODELS / f"{file}.bif")


def own_tables(model: Any, network: bp.DiscreteNetwork) -> dict[str, np.ndarray]:
    """Return exp of the model's own log probability of every variable, on the axes of the network's tables."""
    names = [variable.name for variable in model.basic_RVs]
    logs = model.compile_logp(vars=model.basic_RVs, sum=False, mode="FAST_COMPILE")
    tables = {name: np.empty([len(network.states[axis]) for axis in network.tables[name].axes]) for name in names}
    for at, name in enumerate(names):
        for place in product(*map(range, tables[name].shape)):
            point = dict.fromkeys(names, 0) | dict(zip(network.tables[name].axes, place, strict=True))
            tables[name][place] = np.exp(logs({each: np.array(state) for each, state in point.items()})[at])
    return tables


@pytest.mark.parametrize("file", FILES)
def test_the_model_says_what_the_file_says(file: str) -> None:
    model, network = in_pymc(file), in_bif(file)
    assert [variable.name for variable in model.basic_RVs] == list(network.attributes)
    assert dict(model.coords) == {f"{name}_states": states for name, states in network.states.items()}
    assert set(pm.model_to_networkx(model).edges) == set(network.graph.edges)
    assert not model.observed_RVs
    assert not model.potentials
    for name, table in own_tables(model, network).items():
        assert np.abs(table - network.probabilities(name)[0]).max() <= TOLERANCE, name
