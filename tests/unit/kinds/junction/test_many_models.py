"""Many models of Theta: one answer, to the bit, for any block of them and any workers; docs/claims/junction.md, 6."""

from __future__ import annotations

import os
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.kinds.junction import rows as junction_ratios
from bnpriv.kinds.junction.rows import NumberedNetwork, Passes, TreeNumbers, junction_rows, ratios_by_blocks
from bnpriv.kinds.junction.tree import CliqueLaws, OutOfRangeError, pair_laws, row_laws, weights_of
from bnpriv.lab.matrix import InfluenceMatrix
from tests.later import Later
from tests.unit.kinds.junction.test_junction import COLUMNS, hostile

joblib = Later("joblib")


def layered(rng: np.random.Generator, nodes: int, models: int) -> DiscreteNetwork:
    """Draw a network whose attributes have up to 17 states, some tables the same in every model."""
    names = [f"v{k}" for k in range(nodes)]
    sizes = {name: int(rng.choice([1, 2, 3, 5, 9, 17])) for name in names}
    parents = {name: [p for p in names[max(0, k - 4) : k] if rng.random() < 0.6][-3:] for k, name in enumerate(names)}
    tables: dict[str, FloatArray] = {}
    for name in names:
        shape = (models if rng.random() < 0.5 else 1, *(sizes[p] for p in parents[name]))
        table = np.moveaxis(rng.dirichlet(np.ones(sizes[name]), size=shape), -1, 1)
        tables[name] = table if len(table) > 1 else table[0]
    states = {name: [f"s{k}" for k in range(sizes[name])] for name in names}
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents)


def cut(logs: list[FloatArray], models: slice) -> list[FloatArray]:
    return [each if len(each) == 1 else each[models] for each in logs]


def all_laws(numbered: NumberedNetwork, logs: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    order = numbered.tree.order
    rows = order[:1] if len(order) == 1 else [order[0], order[-1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = CliqueLaws(numbered.tree, numbered.families, weights_of(logs))
        return pair_laws(laws), row_laws(laws, rows)


def compare_blocks(networks: int) -> None:
    """Compare the joint laws of all pairs in every model with those of blocks of one, two and three models."""
    rng = np.random.default_rng(1)
    compared = 0
    for turn in range(networks):
        models, nodes = int(rng.integers(2, 8)), int(rng.integers(2, 10))
        kind = list(COLUMNS)[turn // 2 % 4]
        network = hostile(rng, COLUMNS[kind], nodes, models) if turn % 2 else layered(rng, nodes, models)
        numbered = NumberedNetwork.of(network)
        if max(clique.cells for clique in numbered.tree.cliques) > 2**17:
            continue
        logs = numbered.logs()
        try:
            whole = all_laws(numbered, logs)
        except OutOfRangeError:
            continue
        for size in (1, 2, 3):
            for start in range(0, models, size):
                block = all_laws(numbered, cut(logs, slice(start, start + size)))
                for part, law in zip(block, whole, strict=True):
                    true = law if len(law) == 1 else law[start : start + size]
                    assert np.array_equal(part, true)
                    compared += len(true)
    assert compared > 20 * networks


def test_every_law_of_a_model_has_the_same_bits_in_any_block() -> None:
    compare_blocks(16)


@pytest.mark.slow
def test_every_law_of_a_model_has_the_same_bits_in_any_block_of_many_networks() -> None:
    compare_blocks(400)


@pytest.mark.parametrize("chosen", [False, True])
def test_no_block_and_no_number_of_workers_changes_an_answer(chosen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        network = hostile(rng, COLUMNS["zeros"], 6, 11)
        pairs = None
        if chosen:
            names = [name for name in network.attributes if len(network.states[name]) == 3]
            pairs = {name: bp.pairs(("s0", frozenset({"s1", "s2"}))) for name in names}
        whole = InfluenceMatrix.of(network, pairs)
        for cells in (1, 2000):
            monkeypatch.setattr(junction_ratios, "BLOCK_CELLS", cells)
            for workers in (1, 2, 3):
                with joblib.parallel_config("threading"):
                    found = InfluenceMatrix.of(network, pairs, workers=workers)
                assert np.array_equal(found.values, whole.values, equal_nan=True)
                assert (found.refused, found.dropped) == (whole.refused, whole.dropped)
        monkeypatch.undo()


def rare(*pairs: tuple[float, float]) -> DiscreteNetwork:
    """A chain of two steps, the probabilities of which are as small as said in every model."""
    return DiscreteNetwork.from_tables(
        {
            "x": [[0.5, 0.5]] * len(pairs),
            "y": [[[1 - a, 0.5], [a, 0.5]] for a, _ in pairs],
            "z": [[[1 - b, 0.5], [b, 0.5]] for _, b in pairs],
        },
        states=dict.fromkeys("xyz", ("a", "b")),
        parents={"y": ["x"], "z": ["y"]},
    )


def test_small_numbers_of_different_models_do_not_meet() -> None:
    """The least product of all models is below the doubles, that of each is not: no block may tell."""
    network = rare((1e-250, 0.5), (0.5, 1e-250), (0.5, 0.5))
    chosen = dict.fromkeys(network.attributes)
    numbered = NumberedNetwork.of(network)
    with pytest.raises(OutOfRangeError):
        all_laws(numbered, numbered.logs())
    found = junction_rows(network, chosen)
    singles = [
        junction_rows(rare(pair), chosen).values for pair in ((1e-250, 0.5), (0.5, 1e-250), (0.5, 0.5))
    ]  # fmt: skip
    assert np.allclose(found.values, np.maximum.reduce(singles), rtol=1e-12, equal_nan=True)
    with joblib.parallel_config("threading"):
        assert np.array_equal(junction_rows(network, chosen, 2).values, found.values, equal_nan=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_one_model_beyond_the_doubles_sends_all_the_other_way(workers: int) -> None:
    network = rare((0.5, 0.5), (0.5, 0.5), (1e-250, 1e-250), (0.5, 0.5))
    with joblib.parallel_config("threading"):
        with pytest.raises(OutOfRangeError):
            junction_rows(network, dict.fromkeys(network.attributes), workers)
        assert np.isfinite(bp.influence_matrix(network, workers=workers).loc["x", "z"])


def test_a_block_holds_no_more_than_was_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    network = hostile(np.random.default_rng(5), COLUMNS["kind"], 10, 400)
    numbered = NumberedNetwork.of(network)
    rows = [k for k, size in enumerate(numbered.sizes) if size > 1]
    cells = 2**17
    monkeypatch.setattr(junction_ratios, "BLOCK_CELLS", cells)
    passes = Passes.of(numbered.tree, rows)
    assert 40 < passes.models < 200
    numbers = TreeNumbers(numbered.tree, numbered.families, {})
    ratios_by_blocks(numbers, passes, numbered.logs())
    tracemalloc.start()
    ratios_by_blocks(numbers, passes, numbered.logs())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * cells + 2**19  # with what Python holds beside the tables


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_counted(workers: object) -> None:
    with pytest.raises(bp.errors.ParameterError, match="number of workers"):
        bp.influence_matrix(bp.example("student").network, workers=workers)  # type: ignore[arg-type]


@contextmanager
def processes() -> Iterator[None]:
    with joblib.parallel_config("loky", n_jobs=2):
        yield


@contextmanager
def dask() -> Iterator[None]:
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster.scheduler_address),
        joblib.parallel_config("dask"),
    ):
        yield


@contextmanager
def ray() -> Iterator[None]:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            yield
    finally:
        ray.shutdown()


@contextmanager
def spark() -> Iterator[None]:
    from joblibspark import register_spark
    from pyspark.sql import SparkSession

    # Spark's workers are started as python3 of the PATH unless they are told which Python is meant
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        register_spark()
        with joblib.parallel_config("spark", n_jobs=2):
            yield
    finally:
        session.stop()


BACKENDS: dict[str, tuple[Callable[[], AbstractContextManager[None]], tuple[str, ...]]] = {
    "processes": (processes, ()),
    "dask": (dask, ("distributed",)),
    "ray": (ray, ("ray",)),
    "spark": (spark, ("pyspark", "joblibspark")),
}


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_two_workers_of_a_local_cluster_give_the_same_bits(backend: str) -> None:
    cluster, libraries = BACKENDS[backend]
    for library in libraries:
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    if backend == "spark" and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    network = layered(np.random.default_rng(5), 8, 200)
    protected = network.attributes[-1]
    whole = InfluenceMatrix.of(network)
    row = InfluenceMatrix.of(network, {protected: None})
    with cluster():
        found = InfluenceMatrix.of(network, workers=None)
        alone = InfluenceMatrix.of(network, {protected: None}, workers=2)
        homes = set(joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(8)))
    assert os.getpid() not in homes
    assert np.array_equal(found.values, whole.values, equal_nan=True)
    assert np.array_equal(alone.values, row.values, equal_nan=True)
