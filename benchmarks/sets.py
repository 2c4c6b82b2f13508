"""Sets of many columns: what they tell together, and the best quilt: ``python benchmarks/sets.py [draws]``.

Stars of 40 children, trees of 500 attributes that are all queried, and random queries of 20 columns of andes, the
network inside pgmpy. Times are seconds of the processor, of one calibration with the network already read; a search
that ended at its limit of work is marked.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import bnpriv as bp

EPSILON = 1.0


def framework_of(network: bp.DiscreteNetwork, protected: str) -> bp.DistributionalAttributePrivacy:
    """Return a framework whose columns run from 0 to 1."""
    schema = bp.Schema(records=100, columns={name: bp.Real(0, 1) for name in network.attributes})
    return bp.DistributionalAttributePrivacy(network, schema, protected, source="a benchmark")


def star(children: int, states: int) -> bp.DiscreteNetwork:
    """Return a star with a middle s and children c00, c01, ..."""
    rng = np.random.default_rng(1)
    names = [f"c{k:02d}" for k in range(children)]
    tables = {"s": rng.dirichlet(np.ones(states))}
    tables |= {name: rng.dirichlet(np.full(states, 5.0), size=states).T for name in names}
    return bp.DiscreteNetwork.from_tables(
        tables,
        states={name: [f"s{k}" for k in range(states)] for name in tables},
        parents={name: ["s"] for name in names},
    )


def tree(size: int) -> bp.DiscreteNetwork:
    """Return a tree in which every attribute has two states and two children."""
    rng = np.random.default_rng(3)
    names = [f"v{k}" for k in range(size)]
    tables = {names[0]: [0.5, 0.5]} | {name: rng.dirichlet([1.0, 1.0], size=2).T for name in names[1:]}
    parents = {f"v{k}": [f"v{(k - 1) // 2}"] for k in range(1, size)}
    return bp.DiscreteNetwork.from_tables(tables, states=dict.fromkeys(names, ("few", "many")), parents=parents)


def andes() -> bp.DiscreteNetwork:
    """Return the network of that name inside pgmpy."""
    import pgmpy

    packed = Path(pgmpy.__file__).parent / "utils" / "example_models" / "andes.bif.gz"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "andes.bif"
        file.write_bytes(gzip.decompress(packed.read_bytes()))
        return bp.read_network(str(file), level="parameters", normalize=True)


def measure(label: str, network: bp.DiscreteNetwork, protected: str, columns: Iterable[str]) -> None:
    """Print how long the influence of all columns and the best quilt take."""
    names = sorted(set(columns) - {protected})
    started = time.process_time()
    told = bp.max_influence(network, names, protected)
    influence = time.process_time() - started
    framework = framework_of(network, protected)
    query = bp.linear(dict.fromkeys(columns, 1.0))
    started = time.process_time()
    found = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=EPSILON)
    taken = time.process_time() - started
    ended = "optimal" if not found.certificate.notes else "limit"
    print(
        f"{label:36} influence {influence:6.2f} s ({told.kind}, {float(told):.6g})   "
        f"quilt {taken:6.2f} s ({ended}, scale {found.scale:.6g})",
        flush=True,
    )


def main(draws: int = 4) -> None:
    """Measure all."""
    warnings.simplefilter("ignore")
    for states in (2, 3):
        whole = star(40, states)
        children = [name for name in whole.attributes if name != "s"]
        measure(f"star of 40, {states} states, s protected", whole, "s", children)
        measure(f"star of 40, {states} states, a child protected", whole, "c00", children)
    wood = tree(500)
    for protected in ("v0", "v7", "v300"):
        measure(f"tree of 500, {protected} protected", wood, protected, wood.attributes)
    large = andes()
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        protected, *asked = (str(name) for name in rng.choice(large.attributes, 21, replace=False))
        measure(f"andes, 20 columns, {protected} protected", large, protected, asked)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
