"""The shipped models in PyMC say what their BIF files say: states, edges, tables, and all that follows from them."""

from __future__ import annotations

import re
import runpy
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from tests.later import optional

pm = optional("pymc")

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


def agrees(read: bp.DiscreteNetwork, network: bp.DiscreteNetwork) -> None:
    """Check that two networks say the same, whatever the order of parents."""
    assert read.level == network.level
    assert read.models == network.models
    assert read.attributes == network.attributes
    assert dict(read.states) == dict(network.states)
    assert set(read.graph.edges) == set(network.graph.edges)
    for name in network.attributes:
        axes = [0, *(1 + read.tables[name].axes.index(axis) for axis in network.tables[name].axes)]
        off = np.abs(read.probabilities(name).transpose(axes) - network.probabilities(name))
        assert off.max() <= TOLERANCE, name


@pytest.mark.parametrize("name", sorted({file.split("/")[0] for file in FILES}))
def test_the_reader_gives_what_the_files_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page of the example says: all its models at once, at its level."""
    text = (MODELS / name / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## In PyMC\n.*?^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    monkeypatch.syspath_prepend(str(MODELS / name))
    namespace: dict[str, Any] = {"bp": bp}
    exec(section, namespace)
    agrees(namespace["network"], bp.example(name).network)


@pytest.fixture(scope="module")
def students() -> tuple[bp.DistributionalAttributePrivacy, bp.DistributionalAttributePrivacy]:
    """Return the framework of the student example, and the same with the network from PyMC."""
    framework = bp.example("student")
    return framework, replace(framework, network=bp.from_pymc(in_pymc("student/student")).of_level("parameters"))


def same(one: Any, other: Any) -> None:
    """Check that two dictionaries of a report say the same: every word, and every number to 1e-12."""
    assert type(one) is type(other), (one, other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            same(left, right)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=TOLERANCE, abs=TOLERANCE)
    else:
        assert one == other


def network_of(report: dict[str, Any]) -> dict[str, Any]:
    """Return what a report says of its network, the edges sorted: the order of parents is that of the declaration."""
    network = report["data"]["network"]
    network["edges"].sort(key=lambda edge: (edge["child"], edge["parent"]))
    return network


QUERIES = bp.read_queries(MODELS / "student" / "framework.toml")


@pytest.mark.parametrize("asked", [{}, {"query": QUERIES["tall"], "epsilon": 1.0}], ids=["alone", "with a query"])
def test_the_report_on_students_is_the_same(students, asked: dict[str, Any]) -> None:
    one, other = (bp.influence_report(each, **asked).to_dict() for each in students)
    # only that it was read, and how, is another matter
    assert network_of(one).pop("reading") == {"variables": [], "columns": [], "latent": [], "notes": []}
    read = network_of(other).pop("reading")["variables"]
    assert {each["name"]: each["treatment"] for each in read} == dict.fromkeys(students[0].network.attributes, "exact")
    same(one, other)


def test_the_plan_for_students_is_the_same(students) -> None:
    one, other = (bp.plan(each, QUERIES["tall"], epsilon=1.0) for each in students)
    assert len(one.calibrations) > 1
    same(without_digest(one.to_dict()), without_digest(other.to_dict()))


@pytest.mark.parametrize("query", QUERIES)
def test_calibrations_for_students_are_the_same(students, query: str) -> None:
    one, other = (bp.MarkovQuiltMechanism().calibrate(each, QUERIES[query], epsilon=1.0) for each in students)
    assert (one.scale > 0) == (query != "tall")
    same(without_digest(one.to_dict()), without_digest(other.to_dict()))
    assert one.explain() == other.explain()


def without_digest(record: Any) -> Any:
    """Return a record without what changes with the last bit of a table, or with the order of parents.

    The tables themselves are compared where the reader is tried.
    """
    if isinstance(record, dict):
        kept = {key: without_digest(value) for key, value in record.items() if key not in ("framework", "model")}
        return kept | ({"exact_scale": float.fromhex(kept["exact_scale"])} if "exact_scale" in kept else {})
    return [without_digest(each) for each in record] if isinstance(record, list) else record


def test_names_of_states_must_be_complete() -> None:
    with pm.Model(coords={"coin_states": ["heads"]}) as model:
        pm.Bernoulli("coin", p=0.5)
    with pytest.raises(bp.errors.NetworkError, match="must name the 2 states of 'coin'; found 1 names"):
        bp.from_pymc(model)


def test_states_without_names_are_numbers() -> None:
    with pm.Model(coords={"size_states": np.array([1, 2, 4])}) as model:
        pm.Categorical("size", p=[0.2, 0.3, 0.5])
        pm.Bernoulli("coin", p=0.5)
    assert dict(bp.from_pymc(model).states) == {"size": (1, 2, 4), "coin": (0, 1)}
