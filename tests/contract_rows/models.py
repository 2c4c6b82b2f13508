"""Rows about models: networks, secrets, quilts, what is read from other libraries."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from importlib import metadata
from pathlib import Path

import numpy as np

import bnpriv as bp
from bnpriv.core.influence.quilts import markov_quilt
from bnpriv.errors import FileError, NetworkError, SecretError, SeparationError, SizeError
from tests.contract_rows.evidence import ROOT, NotShownError, all_refused, framework, pair_of_nodes, refusal, row

YES_NO = ["no", "yes"]
Network = bp.DiscreteNetwork.from_tables


def three(impossible: float) -> bp.DiscreteNetwork:
    """Return a network whose secret has a third state of some chance."""
    return Network(
        {"s": [0.5, 0.5 - impossible, impossible], "x": [[0.8, 0.2, 0.5], [0.2, 0.8, 0.5]]},
        states={"s": ["a", "b", "c"], "x": YES_NO},
        parents={"x": ["s"]},
        level="parameters",
    )


@row(5, "secret of probability zero")
def _(folder: Path) -> str:
    with_zero, without = three(0.0), three(0.25)
    assert float(bp.max_influence(without, {"x"}, "s")) > 0
    told = float(bp.max_influence(with_zero, {"x"}, "s"))
    assert abs(told - math.log(4)) < 1e-12
    frame = framework(with_zero)
    report = bp.influence_report(frame).text
    calibration = bp.ColumnMechanism().calibrate(frame, bp.total("x"), epsilon=1.0)
    assert "Left out, as a secret has probability zero" in report
    none = Network(
        {"s": [1.0, 0.0], "x": [[0.8, 0.2], [0.2, 0.8]]},
        states={"s": YES_NO, "x": YES_NO},
        parents={"x": ["s"]},
        level="parameters",
    )
    error = refusal(lambda: bp.max_influence(none, {"x"}, "s"), kind=SecretError)
    return f"pairs with c left out and listed, scale {calibration.scale:g}; none left: {type(error).__name__}"


@row(6, "deterministic CPD: one-sided zero in the quilt")
def _(folder: Path) -> str:
    network = Network(
        {"s": [0.5, 0.5], "x": [[1.0, 0.5], [0.0, 0.5]]},
        states={"s": YES_NO, "x": YES_NO},
        parents={"x": ["s"]},
        level="parameters",
    )
    told = bp.max_influence(network, {"x"}, "s")
    assert math.isinf(float(told))
    calibration = bp.MarkovQuiltMechanism().calibrate(framework(network), bp.total("x"), epsilon=1.0)
    assert calibration.scale >= 80
    report = str(bp.influence_report(framework(network)))
    assert "x" in report
    return f"influence inf, delta at epsilon 1 is {told.delta(1.0):g}, scale {calibration.scale:g} = the whole range"


@row(7, "influence close to eps")
def _(folder: Path) -> str:
    scales = []
    for off in (-1e-12, -1e-10, -1e-6, 0.0, 1e-12, 1e-6, 0.1):
        calibration = bp.MarkovQuiltMechanism().calibrate(
            framework(pair_of_nodes()), bp.total("x"), epsilon=math.log(4) + off
        )
        scales.append(calibration.scale)
        assert 0 <= calibration.scale <= 80 / (math.log(4) - 1e-5)
    return f"7 epsilons around log 4: scales {min(scales):.3g} to {max(scales):.3g}, none above that of the column"


@row(8, "underflow to a false zero")
def _(folder: Path) -> str:
    worst = 0.0
    for tiny in (1e-300, 1e-150, 5e-324):
        network = Network(
            {"s": [0.5, 0.5], "x": [[tiny, 0.5], [1.0, 0.5]], "y": [[tiny, 0.25], [1.0, 0.75]]},
            states={"s": YES_NO, "x": YES_NO, "y": YES_NO}, parents={"x": ["s"], "y": ["s"]},
        )  # fmt: skip
        exact = (
            math.log(Fraction(1, 2) / Fraction(tiny)) + math.log(Fraction(1, 4) / Fraction(tiny))
            if tiny > 1e-308
            else None
        )
        told = float(bp.max_influence(network, {"x", "y"}, "s"))
        assert math.isfinite(told)
        if exact is not None:
            assert told >= exact
            worst = max(worst, told / exact - 1)
    assert worst < 1e-12
    return f"products down to 5e-324 squared are finite; against fractions at most {worst:.1e} above, never below"


@row(9, "CPD that does not sum to one")
def _(folder: Path) -> str:
    for excess in (1e-8, -1e-8, 0.01):
        refusal(lambda e=excess: Network({"a": [0.5, 0.5 + e]}, states={"a": YES_NO}), "sum", kind=NetworkError)
    Network({"a": [0.5, 0.5 + 5e-10]}, states={"a": YES_NO})
    Network({"a": [0.5, 0.505]}, states={"a": YES_NO}, normalize=True)
    return "off by 1e-8 and .01 refused, 5e-10 taken, .005 with normalize=True"


@row(10, "negative, NaN, wrong-shape CPD, parents in another order")
def _(folder: Path) -> str:
    sizes = {"s": [0.5, 0.5], "t": [1 / 3] * 3}
    states = {"s": YES_NO, "t": ["a", "b", "c"], "x": YES_NO}
    parents = {"x": ["s", "t"]}
    good = np.full((2, 2, 3), 0.5)
    tries = [good.transpose(0, 2, 1), good[:, :, :2], good * np.nan, good - 1, np.full((2, 6), 0.5)]
    for bad in tries:
        refusal(lambda bad=bad: Network(sizes | {"x": bad}, states=states, parents=parents), "'x'", kind=NetworkError)
    bad = good.copy()
    bad[:, 1, 2] = (-0.5, 1.5)
    refusal(lambda: Network(sizes | {"x": bad}, states=states, parents=parents), "s = yes", "t = c", "-0.5")
    return f"{len(tries) + 1} refused, with the node and the configuration of its parents"


@row(11, "cycle, self loop, unknown node")
def _(folder: Path) -> str:
    half = [[0.5, 0.5], [0.5, 0.5]]
    for parents, words in (
        ({"a": ["b"], "b": ["a"]}, "cycle"),
        ({"a": ["a"]}, "the cycle a -> a"),
        ({"a": ["z"]}, "unknown z"),
    ):
        tables = {name: half if name in parents else [0.5, 0.5] for name in "ab"}
        refusal(
            lambda t=tables, p=parents: Network(t, states={"a": YES_NO, "b": YES_NO}, parents=p),
            words,
            kind=NetworkError,
        )
    apart = Network({"a": [0.5, 0.5], "b": [0.5, 0.5]}, states={"a": YES_NO, "b": YES_NO})
    assert float(bp.max_influence(apart, {"b"}, "a")) == 0
    return "3 refused, the cycle named; a disconnected graph tells 0"


@row(12, "a claimed quilt that does not separate")
def _(folder: Path) -> str:
    graph = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}
    error = refusal(lambda: markov_quilt(graph, "a", {"c"}, remote={"b"}), "the open path a - b", kind=SeparationError)
    assert isinstance(error, SeparationError)
    return f"refused with the open path {' - '.join(error.path)}"


@row(27, "model learned from the private data")
def _(folder: Path) -> str:
    network = pair_of_nodes()
    schema = bp.Schema(records=10, columns={"x": bp.Real(0, 8)})
    refusal(lambda: bp.DistributionalAttributePrivacy(network, schema, "s", source=""))
    calibration = bp.ColumnMechanism().calibrate(framework(network), bp.total("x"), epsilon=1.0)
    assert "made up" in calibration.explain()
    table = folder / "own.csv"
    rng = np.random.default_rng(7)
    income, smokes = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    table.write_text(
        "income,smokes\n" + "\n".join(f"{'lh'[i]},{'ny'[s]}" for i, s in zip(income, smokes, strict=True)) + "\n"
    )
    error = refusal(lambda: bp.start(table, learn=table, protect="income", records=200))
    return f"the source is printed with every answer; learning from the table itself: {error.required[:60]}"


@row(28, "40 parents, 10^6 states, large treewidth")
def _(folder: Path) -> str:
    started = time.monotonic()
    names = [f"p{k}" for k in range(40)]
    tables: dict[str, object] = {name: [0.5, 0.5] for name in names}
    tables["x"] = np.broadcast_to(0.5, (2,) * 32)
    kinds = dict.fromkeys([*names, "x"], YES_NO)
    refusal(lambda: Network(tables, states=kinds, parents={"x": names}))
    text = "".join(f"variable {n} {{ type discrete [ 2 ] {{ no, yes }}; }}\n" for n in [*names, "x"])
    file = folder / "wide.bif"
    chances = "".join(f"probability ( {n} ) {{ table 0.5, 0.5; }}\n" for n in names)
    file.write_text(f"network w {{ }}\n{text}{chances}probability ( x | {', '.join(names)} ) {{ table 0.5, 0.5; }}\n")
    error = refusal(lambda: bp.read_network(file))
    assert isinstance(error, (SizeError, FileError)), error
    side = 30
    grid = {(i, j): [(i - 1, j)] * (i > 0) + [(i, j - 1)] * (j > 0) for i in range(side) for j in range(side)}
    label = {place: f"n{place[0]}_{place[1]}" for place in grid}
    half = {1: [0.5, 0.5], 2: [[0.6, 0.3], [0.4, 0.7]], 3: [[[0.6, 0.3], [0.5, 0.2]], [[0.4, 0.7], [0.5, 0.8]]]}
    network = Network(
        {label[place]: half[len(above) + 1] for place, above in grid.items()},
        states=dict.fromkeys(label.values(), YES_NO),
        parents={label[place]: [label[one] for one in above] for place, above in grid.items()},
    )
    told = "a bound"
    corner, most = label[side - 1, side - 1], 240
    try:
        told = f"{float(bp.max_influence(network, {label[3, 3], corner}, label[0, 0])):.3g} nats"
    except SizeError as error:
        told = f"refused: {error.found[:50]}"
    seconds = time.monotonic() - started
    assert seconds < most
    return f"40 parents: {type(error).__name__} with the size; a 30 x 30 grid: {told}; {seconds:.0f} s in all"


@row(36, "pgmpy or PyMC renames")
def _(folder: Path) -> str:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork([("s", "x")])
    states = {"s": YES_NO, "x": YES_NO}
    model.add_cpds(
        TabularCPD("s", 2, [[0.5], [0.5]], state_names={"s": YES_NO}),
        TabularCPD("x", 2, [[0.8, 0.2], [0.2, 0.8]], ["s"], [2], state_names=states),
    )
    told = float(bp.max_influence(bp.from_pgmpy(model, "parameters"), {"x"}, "s"))
    assert abs(told - math.log(4)) < 1e-12
    versions = [f"pgmpy {metadata.version('pgmpy')}"]
    try:
        import pymc as pm
    except ImportError:
        versions.append("no PyMC")
    else:
        with pm.Model() as drawn:
            s = pm.Bernoulli("s", 0.5)
            pm.Normal("x", s, 1.0, observed=np.zeros(3))
        assert bp.from_pymc(drawn) is not None
        versions.append(f"PyMC {metadata.version('pymc')}")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    loop = ci.partition("for each in lowest-direct highest; do\n")[2].partition("\ndone\n")[0]
    assert "tests/unit/io" in loop
    assert ".[test,pymc]" in loop
    return f"read with {', '.join(versions)}; .ci/run reads with the oldest and the newest allowed"


@row(43, "all secrets of an attribute impossible")
def _(folder: Path) -> str:
    network = Network(
        {"s": [1.0, 0.0], "x": [[0.8, 0.2], [0.2, 0.8]]},
        states={"s": YES_NO, "x": YES_NO},
        parents={"x": ["s"]},
        level="parameters",
    )
    frame = framework(network)
    works = [
        lambda: bp.influence_report(frame),
        lambda: bp.leaks(frame, bp.total("x")),
        lambda: bp.max_influence(network, {"x"}, "s"),
        lambda: bp.ColumnMechanism().calibrate(frame, bp.total("x"), epsilon=1.0),
        lambda: bp.MarkovQuiltMechanism().calibrate(frame, bp.total("x"), epsilon=1.0),
    ]
    shown = all_refused(works)
    matrix = bp.influence_matrix(network)
    assert not (matrix.loc["s"].fillna(1.0) == 0).any() if hasattr(matrix, "loc") else True
    return f"{shown}: report, leaks, influence, 2 mechanisms; no 0 in the row of the matrix"


@row(44, "column sums far from 1 with normalize=True")
def _(folder: Path) -> str:
    for factor in (1.02, 0.98, 7.0):
        refusal(
            lambda f=factor: Network({"a": [0.5 * f, 0.5 * f]}, states={"a": YES_NO}, normalize=True), kind=NetworkError
        )
    transposed = [[0.9, 0.1], [0.3, 0.7]]
    for normalize in (False, True):
        refusal(
            lambda n=normalize: Network(
                {"s": [0.5, 0.5], "x": transposed}, states={"s": YES_NO, "x": YES_NO}, parents={"x": ["s"]}, normalize=n
            ),
            "Transpose the table",
        )
    return "2 % off and more refused, a transposed table is named as one"


@row(47, "a model that hides a dependence")
def _(folder: Path) -> str:
    try:
        import pymc as pm
    except ImportError:
        raise NotShownError("needs PyMC") from None
    with pm.Model() as hidden:
        s = pm.Bernoulli("s", 0.5)
        pm.CustomDist("x", logp=lambda value: -0.5 * (value - s) ** 2, observed=np.zeros(3))
    error = refusal(lambda: bp.from_pymc(hidden))
    return f"refused: {error.found[:80]}"
