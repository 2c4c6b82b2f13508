"""Networks of pyAgrum, read and compared with its own inference; refusals of what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError, FileError, NetworkError
from bnpriv.io.pgmpy import to_pgmpy
from tests.later import Later, optional

gum = optional("pyagrum")
inference = Later("pgmpy.inference")


def marginal(network: DiscreteNetwork, name: str) -> np.ndarray:
    """Return the distribution of one attribute by pgmpy's variable elimination."""
    return inference.VariableElimination(to_pgmpy(network)).query([name], show_progress=False).values


@pytest.mark.parametrize("seed", range(5))
def test_marginals_are_those_of_pyagrum(seed: int) -> None:
    gum.initRandom(seed)
    bn = gum.fastBN("a{low|high}->b[3]<-c[2];b->d{x|y|z};c->d;a->e[4]<-d", 2)
    network = bp.from_pyagrum(bn, "records")
    assert network.level == "records"
    assert set(network.graph.edges) == {(bn.variable(a).name(), bn.variable(b).name()) for a, b in bn.arcs()}
    engine = gum.LazyPropagation(bn)
    for name in network.attributes:
        assert marginal(network, name) == pytest.approx(engine.posterior(name).toarray(), abs=1e-12)


@pytest.mark.parametrize("suffix", [".bif", ".net"])
def test_files_of_pyagrum_say_the_same(tmp_path: Path, suffix: str) -> None:
    gum.initRandom(7)
    bn = gum.fastBN("a[2]->b[3]<-c[2];b->d[4];c->d", 2)
    file = tmp_path / f"n{suffix}"
    gum.saveBN(bn, str(file))
    network, engine = bp.read_network(file, normalize=True), gum.LazyPropagation(bn)
    for name in network.attributes:
        assert marginal(network, name) == pytest.approx(engine.posterior(name).toarray(), abs=1e-6)


def test_uai_files_of_pyagrum_are_refused(tmp_path: Path) -> None:
    """Their tables run through the parents the other way round, which nothing but the comments gives away."""
    gum.saveBN(gum.fastBN("a->b<-c"), str(tmp_path / "n.uai"))
    with pytest.raises(FileError, match="as pyAgrum writes them"):
        bp.read_network(tmp_path / "n.uai")


def test_axes_go_by_name() -> None:
    bn = gum.fastBN("a[2]->b[2]<-c[2]")  # all of one size: only names tell the axes apart
    bn.cpt("b").fillWith([0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6])
    network = bp.from_pyagrum(bn)
    axes = network.tables["b"].axes
    for a in (0, 1):
        for c in (0, 1):
            place = tuple({"b": 1, "a": a, "c": c}[axis] for axis in axes)
            assert network.probabilities("b")[0][place] == pytest.approx(bn.cpt("b")[{"a": a, "c": c}][1], abs=1e-15)


def test_labels_are_states_of_their_type() -> None:
    bn = gum.fastBN("a[2,5];b{1|3|7};c[0,1.5,3];d{1.25:3.5:4};e{x|y}")
    states = bp.from_pyagrum(bn).states
    assert states["a"] == (2, 3, 4, 5)
    assert states["b"] == (1, 3, 7)
    assert states["c"] == ("[0;1.5[", "[1.5;3]")
    assert states["d"] == (1.25, 2.0, 2.75, 3.5)
    assert states["e"] == ("x", "y")
    assert [type(each) for each in (*states["a"], *states["d"])] == [int] * 4 + [float] * 4


def test_is_a_copy_and_may_be_a_class() -> None:
    bn = gum.fastBN("a->b")
    first = bp.from_pyagrum(bn, "records")
    before = first.probabilities("b").copy()
    bn.generateCPTs()
    second = bp.from_pyagrum(bn, "records")
    assert np.array_equal(first.probabilities("b"), before)
    assert bp.model_class([first, second]).models == 2


def one(values: list[float]) -> Any:
    bn = gum.BayesNet()
    bn.add(gum.LabelizedVariable("a", "a", ["x", "y"]))
    bn.cpt("a").fillWith(values)
    return bn


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.0, 0.0], "sum to 1"),
        ([1.1, -0.1], "at least 0"),
        ([float("nan"), 1.0], "finite"),
        ([0.6, 0.400002], "normalize=True"),
    ],
)
def test_tables_that_are_none(values: list[float], words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        bp.from_pyagrum(one(values))


def test_sums_off_by_rounding_are_told() -> None:
    network = bp.from_pyagrum(one([0.6, 0.4000001]))
    assert network.reading.notes == (
        "Columns of the table of a sum to 1 within 1e-07 only: each was divided by its sum.",
    )
    assert bp.from_pyagrum(one([0.6, 0.405]), normalize=True).models == 1


@pytest.mark.parametrize("name", ['q"uote', "a\x1b[31mred", "line\nbreak"])
def test_hostile_names_come_through_harmless(name: str) -> None:
    bn = gum.BayesNet()
    bn.add(gum.LabelizedVariable(name, "a", ["x\n", "y'\x1b"]))
    bn.cpt(name).fillWith([0.6, 0.4000001])
    network = bp.from_pyagrum(bn)
    assert network.states == {name: ("x\n", "y'\x1b")}
    assert "\x1b" not in str(network) + "".join(network.reading.notes)


def test_a_table_of_a_million_cells_is_read() -> None:
    bn = gum.BayesNet()
    child = bn.add(gum.RangeVariable("child", "", 0, 1))
    for k in range(19):
        bn.addArc(bn.add(gum.RangeVariable(f"p{k}", "", 0, 1)), child)
        bn.cpt(f"p{k}").fillWith([0.25, 0.75])
    bn.cpt("child").fillWith([0.125, 0.875] * 2**19)
    assert np.allclose(bp.from_pyagrum(bn).probabilities("child")[0, 0], 0.125, rtol=0, atol=1e-15)


def others() -> dict[str, Any]:
    net = gum.fastBN("a->b")
    return {
        "utilities": gum.InfluenceDiagram(),
        "conditional probabilities": gum.MarkovRandomField(),
        "from_intervals": gum.CredalNet(net, net),
        "toBN": gum.BayesNetFragment(net),
        "Pass the network itself": gum.LabelizedVariable("a", "a", 2),
    }


@pytest.mark.parametrize("words", ["utilities", "conditional probabilities", "from_intervals", "toBN", "itself"])
def test_others_are_refused_by_name(words: str) -> None:
    given = next(given for said, given in others().items() if words in said)
    with pytest.raises(NetworkError, match=f"found an? {type(given).__name__}.*{words}"):
        bp.from_pyagrum(given)


def test_a_network_that_is_passed_as_it_is_is_told_how_to_read_it() -> None:
    with pytest.raises(BnprivError, match=r"Copy it with bnpriv\.from_pyagrum"):
        bp.influence_report(gum.fastBN("a->b"), protect="a")  # type: ignore[arg-type]
