"""Networks that are written to files are read back bit for bit, whatever their numbers and names are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.errors import FileError, SizeError
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.kinds.gaussian.network import GaussianNetwork

SUFFIXES = (".bif", ".xml", ".xmlbif", ".net")

TAME = (
    "low",
    "high",
    "not ill",
    "x-1",
    "body height",
    "50 %",
    "it's",
    "\u00e9t\u00e9",
    "<a & b>",
    "table",
    "default",
    "1e5",
)
HOSTILE = (
    "a  b", " a", "b ", "a,b", "x|y", "{z}", '"q"', "a//b", "/*", "]]>", "&amp;", "a\x1bb", "\u202eb", "(1)", "-",
    "a;b", "y\u00a0z", "<!ENTITY", "property x", "\t", "a\nb", "x" * 257,
)  # fmt: skip


def made_up(random: np.random.Generator, pool: tuple[str, ...]) -> DiscreteNetwork:
    """Return a network of up to four attributes with tiny and large numbers, and sums that are not quite 1."""
    names = [str(name) for name in random.choice(pool, size=random.integers(1, 5), replace=False) if name.strip()]
    names = names or ["x"]
    states = {
        name: [str(state) for state in random.choice(pool, random.integers(1, 4), replace=False)] for name in names
    }
    parents = {name: [other for other in names[:k] if random.random() < 0.5] for k, name in enumerate(names)}
    tables: dict[str, FloatArray] = {}
    models = int(random.choice([1, 1, 3]))
    for name in names:
        shape = (models, *(len(states[each]) for each in (name, *parents[name])))
        weights = random.random(shape) ** random.choice([1, 40])
        weights[:, -1] += 1e-3
        table = weights / weights.sum(axis=1, keepdims=True)
        tables[name] = np.minimum(table * (1 + random.choice([0, 3e-10])), 1)
    return DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records")


def read_again(network: DiscreteNetwork, folder: Path, suffix: str) -> DiscreteNetwork:
    files = network.to_file(folder / f"n{suffix}", overwrite=True)
    return bp.model_class([bp.read_network(file, network.level) for file in files])


def assert_same(one: DiscreteNetwork, other: DiscreteNetwork) -> None:
    assert one.attributes == other.attributes
    assert dict(one.states) == dict(other.states)
    for name in one.attributes:
        assert one.graph.parents[name] == other.graph.parents[name]
        # models that are all the same are one
        assert bool(np.all(one.probabilities(name) == other.probabilities(name)))
        assert one.same_law(other, name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_back_or_refused_by_its_name(suffix: str, tmp_path: Path) -> None:
    random = np.random.default_rng(20261123)
    written = 0
    for k in range(60):
        network = made_up(random, TAME if k % 2 else TAME + HOSTILE)
        try:
            same = read_again(network, tmp_path, suffix)
        except FileError as error:
            refused = str(error)
        else:
            assert_same(network, same)
            assert network.models > 1 or network.identity() == same.identity()
            written += 1
            continue
        assert "hold every name" in refused
    assert written >= (30 if suffix != ".net" else 3)


def plain(states: tuple[str, ...] = ("no", "yes"), name: str = "ill") -> DiscreteNetwork:
    return DiscreteNetwork.from_tables({name: [0.1, 0.9]}, states={name: states})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_states_with_blanks_are_written(suffix: str, tmp_path: Path) -> None:
    network = plain(("not ill", "very ill"))
    assert read_again(network, tmp_path, suffix).identity() == network.identity()


@pytest.mark.parametrize("suffix", [".bif", ".xml"])
@pytest.mark.parametrize("name", ["body height", "table", "\u00e9tat", "probability", "<a & b>", "50 %", "it's"])
def test_names_with_signs_are_written(name: str, suffix: str, tmp_path: Path) -> None:
    network = plain(name=name)
    assert read_again(network, tmp_path, suffix).identity() == network.identity()


def test_numbers_that_few_digits_do_not_tell_are_read_bit_for_bit(tmp_path: Path) -> None:
    numbers = np.array([0.1 + 0.2, 5e-324, 1 - (0.1 + 0.2) + 7e-10])
    network = DiscreteNetwork.from_tables({"x": numbers}, states={"x": ["a", "b", "c"]})
    same = read_again(network, tmp_path, ".bif")
    assert np.array_equal(same.declared[0]["x"], numbers)
    assert same.identity() == network.identity()


def test_sums_that_were_printed_with_few_decimals_are_written_as_declared(tmp_path: Path) -> None:
    network = DiscreteNetwork.from_tables({"x": [0.333, 0.666]}, states={"x": ["a", "b"]}, normalize=True)
    (file,) = network.to_file(tmp_path / "n.bif")
    assert bp.read_network(file, normalize=True).identity() == network.identity()


def test_rows_without_data_are_written_as_such(tmp_path: Path) -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.1, np.nan], [0.9, np.nan]]},
        states={"x": ["a", "b"], "y": ["a", "b"]},
        parents={"y": ["x"]},
        missing_rows="any",
    )
    (file,) = network.to_file(tmp_path / "n.bif")
    same = bp.read_network(file, missing_rows="any")
    assert isinstance(same, IntervalNetwork)
    assert same.identity() == network.identity()
    assert same.missing == ("y given x = b",)


def test_each_model_has_a_file_of_its_own(tmp_path: Path) -> None:
    theta = DiscreteNetwork.from_tables({"x": [[0.1, 0.9], [0.2, 0.8]]}, states={"x": ["a", "b"]}, level="parameters")
    files = theta.to_file(tmp_path / "n.bif")
    assert [file.name for file in files] == ["n-1.bif", "n-2.bif"]
    assert bp.model_class([bp.read_network(file, "parameters") for file in files]).identity() == theta.identity()


def test_a_joined_class_knows_what_was_declared_in_any_order_of_states(tmp_path: Path) -> None:
    one = DiscreteNetwork.from_tables({"x": [0.1, 0.9]}, states={"x": ["a", "b"]}, level="records")
    other = DiscreteNetwork.from_tables({"x": [0.7, 0.3]}, states={"x": ["b", "a"]}, level="records")
    theta = bp.model_class([one, other])
    assert [model["x"].tolist() for model in theta.declared] == [[0.1, 0.9], [0.3, 0.7]]
    assert read_again(theta, tmp_path, ".xml").identity() == theta.identity()


def test_a_file_that_is_there_is_kept_unless_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "n.bif"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match="overwrite=True"):
        plain().to_file(file)
    assert file.read_text(encoding="utf-8") == "mine"
    plain().to_file(file, overwrite=True)
    assert bp.read_network(file).identity() == plain().identity()
    assert [each.name for each in tmp_path.iterdir()] == ["n.bif"]


def test_one_file_of_several_that_is_there_keeps_all_from_being_written(tmp_path: Path) -> None:
    (tmp_path / "n-2.bif").write_text("mine", encoding="utf-8")
    theta = DiscreteNetwork.from_tables({"x": [[0.1, 0.9], [0.2, 0.8]]}, states={"x": ["a", "b"]})
    with pytest.raises(FileError, match=r"n-2\.bif"):
        theta.to_file(tmp_path / "n.bif")
    assert not (tmp_path / "n-1.bif").exists()


def test_what_no_file_can_say_is_refused_by_name(tmp_path: Path) -> None:
    states = {"x": ["a", "b"]}
    wide = DiscreteNetwork.from_intervals({"x": [0.1, 0.1]}, {"x": [0.9, 0.9]}, states=states)
    around = IntervalNetwork.around(plain(), 0.1)
    for network in (wide, around):
        with pytest.raises(FileError, match="given by intervals"):
            network.to_file(tmp_path / "n.bif")
    for numbers in ([1, 2], [True, False], [0.5, 1.5]):
        with pytest.raises(FileError, match="must be texts"):
            plain(numbers).to_file(tmp_path / "n.bif")  # pyright: ignore[reportArgumentType]
    with pytest.raises(FileError, match="ends in"):
        plain().to_file(tmp_path / "n.json")
    assert list(tmp_path.iterdir()) == []


def test_draws_of_a_posterior_are_no_declared_tables(tmp_path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"x": ["a", "b", "b"]})
    learned = DiscreteNetwork.posterior({"x": []}, table, public="made up", draws=3, seed=1)
    with pytest.raises(FileError, match="3 draws of a posterior"):
        learned.to_file(tmp_path / "n.bif")


def test_a_network_too_large_to_be_read_is_not_written(tmp_path: Path) -> None:
    states = {f"x{k}": [f"s{j}" for j in range(11)] for k in range(7)}
    parents = {"x6": [f"x{k}" for k in range(5)]}
    tables = {name: np.full((11,) * (1 + len(parents.get(name, []))), 1 / 11) for name in states}
    with pytest.raises(SizeError, match="cells in the tables"):
        DiscreteNetwork.from_tables(tables, states=states, parents=parents).to_file(tmp_path / "n.bif")


def test_a_chain_and_regressions_keep_what_was_declared() -> None:
    thirds = [[1 / 3 + 1e-10, 2 / 3], [0.3, 0.7]]
    chain = MarkovChain(thirds, [0.25, 0.75], 5)
    assert chain.declared[0][0].tolist() == thirds
    network = GaussianNetwork.linear({"x": 1.0, "y": 0.1}, {"x": 2.0, "y": 0.3}, {"y": {"x": 0.7}})
    assert network.regressions is not None
    assert network.regressions.coefficients["y"]["x"].tolist() == [0.7]
    assert GaussianNetwork(("x",), np.zeros(1), np.eye(1)).regressions is None


def test_an_attribute_may_be_called_intercept() -> None:
    named = GaussianNetwork.linear(
        {"x": 5.0, "intercept": 1.0}, {"x": 1.0, "intercept": 1.0}, {"intercept": {"x": 2.0}}
    )
    other = GaussianNetwork.linear({"x": 5.0, "y": 1.0}, {"x": 1.0, "y": 1.0}, {"y": {"x": 2.0}})
    assert named.mean.tolist() == other.mean.tolist() == [[5.0, 11.0]]
