"""The whole influence matrix of published networks, by bnpriv, pyAgrum and pgmpy: ``python benchmarks/influence.py``.

The networks are those inside pgmpy and 97 of the R package bnRep, whose file ``networks.json.gz`` is looked for in
``BNPRIV_PUBLISHED_NETWORKS``, then in ``../shared/data/bnrep`` beside the project. pyAgrum gets the same doubles, and
makes one propagation for each state of each attribute; pgmpy eliminates variables for each state and column. Where a
whole matrix would take them longer than ``--seconds``, rows (or queries) are drawn at random and the rest is
extrapolated: such times are marked by ~. ``--plot FILE`` draws the cost of chains, trees and grids against their
size; ``--reports`` times a report of every attribute instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import bnpriv as bp
from bnpriv.lab.matrix import InfluenceMatrix

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = Path(
    os.environ.get("BNPRIV_PUBLISHED_NETWORKS", ROOT.parent / "shared" / "data" / "bnrep" / "networks.json.gz")
)
REPEATS = 5
MOST_CELLS_OF_A_TABLE = 2**24
SAMPLED_QUERIES = 20


@dataclass
class Result:
    """Seconds of the whole matrix by each library; None where it was not tried."""

    source: str
    name: str
    attributes: int
    seconds: float
    agrum: float | None = None
    agrum_sampled: bool = False
    pgmpy: float | None = None
    away: float | None = None
    other_zeros: int = 0

    @property
    def ratio(self) -> float | None:
        """How many times longer pyAgrum takes."""
        return None if self.agrum is None else self.agrum / self.seconds


def bundled() -> Iterator[tuple[str, bp.DiscreteNetwork]]:
    """Yield the networks inside pgmpy, small files first."""
    import pgmpy

    folder = Path(pgmpy.__file__).parent / "utils" / "example_models"
    for path in sorted(folder.glob("*.bif.gz"), key=lambda path: path.stat().st_size):
        with tempfile.TemporaryDirectory() as made:
            plain = Path(made) / path.stem
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            yield path.name.split(".")[0], bp.read_network(plain, normalize=True)


def published(path: Path) -> Iterator[tuple[str, bp.DiscreteNetwork]]:
    """Yield the networks of a file of bnRep, those with entries that are no numbers left out."""
    for name, nodes in json.loads(gzip.decompress(path.read_bytes())).items():
        tables = {node: np.array(each["prob"], dtype=float) for node, each in nodes.items()}
        try:
            yield (
                name,
                bp.DiscreteNetwork.from_tables(
                    tables,
                    states={node: each["states"][0] for node, each in nodes.items()},
                    parents={node: each["parents"] for node, each in nodes.items()},
                    normalize=True,
                ),
            )
        except bp.errors.NetworkError as error:
            print(f"{name}: left out, {error.found}"[:110])


def seconds_of(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few runs, or of a single long one."""
    best = math.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
        if best > 1:
            break
    return best


def report_line(name: str, network: bp.DiscreteNetwork) -> str:
    """Return the processor time of a report of the attribute with most states, and of the slowest of the others."""
    bp.influence_report(bp.example("student"))  # imports are not counted
    found: list[tuple[float, int, str]] = []
    for protected in sorted(network.attributes, key=lambda each: -len(network.states[each])):
        started = time.process_time()
        bp.influence_report(replace(network), protect=protected)
        found.append((time.process_time() - started, len(network.states[protected]), protected))
    shown = "".join(
        f"{seconds:>9.2f} s  {protected[:16]:<17}{states:>3}" for seconds, states, protected in (found[0], max(found))
    )
    return f"{name:<16}{len(found):>6}{sum(seconds for seconds, *_ in found):>10.2f} s{shown}"


class Agrum:
    """A network in pyAgrum, from the same doubles."""

    def __init__(self, network: bp.DiscreteNetwork) -> None:
        import pyagrum as gum

        self.network = network
        self.library: Any = gum
        self.net: Any = gum.BayesNet()
        names = network.attributes
        self.ids = [
            self.net.add(gum.RangeVariable(f"v{k}", "", 0, len(network.states[name]) - 1))
            for k, name in enumerate(names)
        ]
        place = {name: k for k, name in enumerate(names)}
        for name in names:
            for parent in network.graph.parents[name]:
                self.net.addArc(self.ids[place[parent]], self.ids[place[name]])
        for name in names:
            axes = [place[name], *(place[parent] for parent in network.graph.parents[name])]
            table = self.net.cpt(self.ids[place[name]])
            order = [axes.index(int(axis[1:])) for axis in reversed(table.names)]
            table[:] = np.ascontiguousarray(np.transpose(network.probabilities(name)[0], order))

    def row(self, place: int) -> list[list[np.ndarray] | None]:
        """Return the laws of all attributes given each state of one; None for a state that is impossible."""
        engine = self.library.LazyPropagation(self.net)
        laws: list[list[np.ndarray] | None] = []
        for state in range(len(self.network.states[self.network.attributes[place]])):
            if state:
                engine.chgEvidence(self.ids[place], state)
            else:
                engine.addEvidence(self.ids[place], state)
            try:
                engine.makeInference()
                laws.append([engine.posterior(each).toarray() for each in self.ids])
            except self.library.GumException:
                laws.append(None)
        return laws

    def matrix(self, seconds: float, found: np.ndarray) -> tuple[float, bool, float, int]:
        """Return the seconds of the matrix, whether they are extrapolated, and how far its values are from `found`."""
        names = self.network.attributes
        order = list(range(len(names)))
        random.Random(0).shuffle(order)
        states = [len(self.network.states[name]) for name in names]
        spent, done, away, zeros = 0.0, 0, 0.0, 0
        rows: dict[int, list[list[np.ndarray] | None]] = {}
        for place in order:
            started = time.perf_counter()
            rows[place] = self.row(place)
            spent += time.perf_counter() - started
            done += states[place]
            if spent > seconds:
                break
        for place, laws in rows.items():
            if states[place] > 1:
                worst, other = difference([law for law in laws if law is not None], found[place], place)
                away, zeros = max(away, worst), zeros + other
        return spent * sum(states) / done, len(rows) < len(names), away, zeros


def difference(laws: list[list[np.ndarray]], found: np.ndarray, row: int) -> tuple[float, int]:
    """Return the largest difference of finite values, relative above 1, and how many are infinite in one only."""
    worst, other = 0.0, 0
    for column, value in enumerate(found):
        if column == row or len(laws) < 2 or math.isnan(value):
            continue
        both = np.array([law[column] for law in laws])
        with np.errstate(divide="ignore", invalid="ignore"):
            told = math.log(np.nanmax(both.max(axis=0) / both.min(axis=0)))
        if math.isinf(told) or math.isinf(value):
            other += math.isinf(told) != math.isinf(value)
        else:
            worst = max(worst, abs(value - told) / max(1.0, told))
    return worst, other


def pgmpy_seconds(network: bp.DiscreteNetwork, seconds: float) -> float:
    """Return the seconds of all laws of one attribute given a state of another, from a random sample of them."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

    names = {name: f"v{k}" for k, name in enumerate(network.attributes)}
    model = DiscreteBayesianNetwork([(names[a], names[b]) for a, b in network.graph.edges])
    model.add_nodes_from(names.values())
    for name in network.attributes:
        table = network.probabilities(name)[0]
        above = network.graph.parents[name]
        flat = table.reshape(table.shape[0], -1)
        model.add_cpds(
            TabularCPD(
                names[name],
                table.shape[0],
                flat,
                [names[each] for each in above],
                [len(network.states[a]) for a in above],
            )
        )
    engine = VariableElimination(model)
    draw = random.Random(0)
    states = [(name, k) for name in network.attributes for k in range(len(network.states[name]))]
    spent, done = 0.0, 0
    while done < SAMPLED_QUERIES and spent < seconds:
        given, state = draw.choice(states)
        asked = draw.choice([name for name in network.attributes if name != given])
        started = time.perf_counter()
        engine.query([names[asked]], evidence={names[given]: state}, show_progress=False)
        spent += time.perf_counter() - started
        done += 1
    return spent / done * len(states) * (len(network.attributes) - 1)


def matrix_of(network: bp.DiscreteNetwork) -> InfluenceMatrix:
    """Return the matrix of a network that keeps nothing from questions before."""
    return InfluenceMatrix.of(replace(network))


def measured(source: str, name: str, network: bp.DiscreteNetwork, options: argparse.Namespace) -> Result:
    """Run all three libraries on one network."""
    matrix: list[InfluenceMatrix] = []
    result = Result(source, name, len(network.attributes), seconds_of(lambda: matrix.append(matrix_of(network))))
    largest = max(math.prod(network.tables[each].values.shape) for each in network.attributes)
    if largest > MOST_CELLS_OF_A_TABLE or options.alone:
        return result
    rows = {each: matrix[0].values[k] for k, each in enumerate(matrix[0].protected)}
    missing = np.full(len(network.attributes), np.nan)
    found = np.array([rows.get(each, missing) for each in network.attributes])
    result.agrum, result.agrum_sampled, result.away, result.other_zeros = Agrum(network).matrix(options.seconds, found)
    if source == "pgmpy" and len(network.attributes) > 1:
        result.pgmpy = pgmpy_seconds(network, options.seconds)
    return result


def line(result: Result) -> str:
    """Return one row of the table."""
    mark = "~" if result.agrum_sampled else " "
    agrum = "" if result.agrum is None else f"{mark}{result.agrum * 1e3:,.2f}"
    ratio = "" if result.ratio is None else f"{result.ratio:,.1f}"
    pgmpy = "" if result.pgmpy is None else f"~{result.pgmpy / result.seconds:,.0f}"
    away = "" if result.away is None else f"{result.away:.0e}"
    other = f"  {result.other_zeros} infinite in one only" if result.other_zeros else ""
    own = f"{result.name:<24}{result.attributes:>6}{result.seconds * 1e3:>12,.2f}"
    return f"{own}{agrum:>16}{ratio:>10}{pgmpy:>14}{away:>9}{other}"


def summary(results: list[Result]) -> None:
    """Print medians and what is slowest, for each source."""
    for source in dict.fromkeys(each.source for each in results):
        own = [each for each in results if each.source == source]
        seconds = [each.seconds for each in own]
        median = statistics.median(seconds) * 1e3
        print(f"{source}: {len(own)} networks, median {median:.2f} ms, slowest {max(seconds):.2f} s")
        ratios = sorted((each.ratio, each.name) for each in own if each.ratio is not None)
        if ratios:
            median = statistics.median(ratio for ratio, _ in ratios)
            print(f"  against pyAgrum: median {median:.1f} times, least {ratios[0][0]:.1f} ({ratios[0][1]})")
            print(f"  largest difference from pyAgrum: {max(each.away or 0 for each in own):.1e}")


def shape(kind: str, size: int) -> bp.DiscreteNetwork:
    """Return a chain, a tree or a grid of about so many attributes of two states."""
    draw = np.random.default_rng(0)
    side = round(math.sqrt(size))
    parents: dict[str, list[str]] = {}
    for k in range(side * side if kind == "grid" else size):
        if kind == "grid":
            above = [k - side] * (k >= side) + [k - 1] * (k % side > 0)
        else:
            above = [(k - 1) // (1 if kind == "chain" else 2)] * (k > 0)
        parents[f"v{k}"] = [f"v{j}" for j in above]
    tables = {name: draw.uniform(0.1, 0.9, (1, *(2 for _ in above))) for name, above in parents.items()}
    return bp.DiscreteNetwork.from_tables(
        {name: np.concatenate([table, 1 - table]) for name, table in tables.items()},
        states=dict.fromkeys(parents, ("a", "b")),
        parents=parents,
    )


SHAPES = {
    "chain": ((4, 16, 64, 256, 1024), "#0b5cad", (8, 5)),
    "tree": ((4, 16, 64, 256, 1024), "#1a6e37", (8, -5)),
    "grid": ((4, 16, 36, 64, 100, 144, 196), "#bf4a17", (8, 0)),
}
"""Numbers of attributes, a colour, and where the name stands beside the last point."""

TICKS = {1e-3: "1 ms", 1e-2: "10 ms", 0.1: "0.1 s", 1.0: "1 s", 10.0: "10 s"}


def draw_costs(path: Path) -> None:
    """Draw the seconds of the matrix against the number of attributes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cost", "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for kind, (counts, colour, beside) in SHAPES.items():
        seconds = [seconds_of(partial(matrix_of, shape(kind, n))) for n in counts]
        axes.loglog(counts, seconds, marker="o", markersize=4, color=colour)
        axes.annotate(kind, (counts[-1], seconds[-1]), beside, textcoords="offset points", color=colour, va="center")
        print(f"{kind}: " + ", ".join(f"{n} {each * 1e3:.1f} ms" for n, each in zip(counts, seconds, strict=True)))
    axes.set_xticks(SHAPES["chain"][0], map(str, SHAPES["chain"][0]))
    axes.set_yticks(list(TICKS), list(TICKS.values()))
    axes.minorticks_off()
    axes.grid(color="#d3dae3", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("attributes")
    axes.set_title("Time of the whole influence matrix", loc="left", fontsize="medium")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None}, facecolor="white")


def main() -> int:
    """Print a table of all networks, then medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--published", type=Path, default=PUBLISHED, help="networks.json.gz of bnRep")
    parser.add_argument("--only", help="names of networks, with commas")
    parser.add_argument("--most", type=int, default=10**6, help="leave out networks of more attributes")
    parser.add_argument("--seconds", type=float, default=20, help="after which the others are extrapolated")
    parser.add_argument("--alone", action="store_true", help="run only bnpriv")
    parser.add_argument("--reports", action="store_true", help="time reports of every attribute instead")
    parser.add_argument("--plot", type=Path, help="draw chains, trees and grids into this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = None if options.only is None else set(options.only.split(","))
    results: list[Result] = []
    if options.reports:
        print(f"{'network':<16}{'nodes':>6}{'all of them':>12}{'most states':>23}{'slowest':>27}")
        for name, network in bundled():
            if (wanted is None or name in wanted) and len(network.attributes) <= options.most:
                print(report_line(name, network), flush=True)
        return 0
    print(
        f"{'network':<24}{'nodes':>6}{'bnpriv, ms':>12}{'pyAgrum, ms':>16}{'times':>10}{'pgmpy, times':>14}{'away':>9}"
    )
    for source, networks in (
        ("pgmpy", bundled()),
        ("bnRep", published(options.published) if options.published.is_file() else iter(())),
    ):
        for name, network in networks:
            if (wanted is None or name in wanted) and len(network.attributes) <= options.most:
                results.append(measured(source, name, network, options))
                print(line(results[-1]), flush=True)
    if options.only is not None and not results:
        parser.error(f"no network is called {options.only}")
    summary(results)
    if options.plot is not None:
        draw_costs(options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
