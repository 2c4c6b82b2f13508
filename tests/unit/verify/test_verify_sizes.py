"""The checker beyond the usual sizes: of hundreds of labels, states, pairs, models and rows the last one counts too."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.verify import answers, answers as one_record, answers as showing
from bnpriv.verify.answers import AnswerLaws
from bnpriv.verify.changes import Changes, Moves
from bnpriv.verify.check import ARITHMETIC
from bnpriv.verify.claim import MOST_WORK, NoisyPair, StoredRows, farthest, pairs_of, smoothed
from bnpriv.verify.columns import column_facts, column_values, laws_of_bins
from bnpriv.verify.declared import _same_tables, bif_nodes, declared
from bnpriv.verify.forms import ZERO, Form, StopError, alike
from bnpriv.verify.networks import Nodes
from bnpriv.verify.normal import ROOT_OF_TWICE_PI, tail

SIZE = 300
PLACES = (0, 32, 64, 100, 128, 255, 256, SIZE - 1)
"""Where one of hundreds may stand."""


def text_of(number: float) -> str:
    return float(number).hex()


def node(states: list[Any], logs: list[list[float]], parents: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a node as a calibration stores it; masses as they are."""
    return {"states": states, "parents": list(parents), "logs": [[Decimal(p) for p in each] for each in logs]}


def form_of(terms: list[Any], columns: Any, matrix: list[Any] | None = None) -> Form:
    """Return a form whose numbers are the terms, or as the matrix says."""
    rows = matrix or [[[k, "1"]] for k in range(len(terms))]
    return Form({"terms": terms, "matrix": rows, "offset": ["0"] * len(rows)}, columns)


def changes_of(form: Form, n: int = 3) -> Changes:
    return Changes(form, [Fraction(1)] * len(form.rows), n, lambda cost: None)


def categories(size: int = SIZE) -> dict[str, Any]:
    return {"c": {"type": "categorical", "categories": [f"c{k}" for k in range(size)]}}


def test_noise_on_a_large_grid_reaches_every_line() -> None:
    rng, shape = np.random.default_rng(3), (70, 90)
    masses = rng.random(shape)
    decays = [rng.uniform(0.2, 0.9, size - 1) for size in shape]
    kernels = []
    for decay in decays:
        place = np.concatenate([[0], np.cumsum(np.log(decay))])
        kernels.append(np.exp(-np.abs(place[:, None] - place)))
    found = smoothed([Decimal(p) for p in masses.ravel()], [[Decimal(r) for r in decay] for decay in decays])
    expected = kernels[0] @ masses @ kernels[1].T
    assert np.array(found, dtype=float).reshape(shape) == pytest.approx(expected, rel=1e-12)


def channel(rows: list[list[tuple[int, int]]], denominator: int, outputs: int = SIZE) -> StoredRows:
    numbers = [text_of(k) for k in range(len(rows))]
    written = [[[k, str(n)] for k, n in row] for row in rows]
    outs = [text_of(k) for k in range(outputs)]
    return StoredRows({"inputs": numbers, "outputs": outs, "denominator": str(denominator), "numerators": written})


@pytest.mark.parametrize("place", PLACES)
def test_every_output_and_every_row_of_a_large_channel_is_read(place: int) -> None:
    even = [[(k, 1) for k in range(SIZE)]] * SIZE
    found = channel(even, SIZE).released({(float(place),): Decimal(1)})
    assert sorted(found) == [(float(k),) for k in range(SIZE)]
    assert float(sum(found.values())) == pytest.approx(1)
    other = 1 if place == 0 else 0
    below = [(k, 1 - 2 * (k == place) + 2 * (k == other)) for k in range(SIZE)]
    for wrong in (below, even[0][:-1]):
        with pytest.raises(StopError, match="fails"):
            channel([*even[:place], wrong, *even[place + 1 :]], SIZE)


def test_what_passes_without_noise_is_summed_over_all_answers() -> None:
    claim: Any = SimpleNamespace(
        scale=ZERO, epsilon=Decimal(1), delta=ZERO, weights=[1], noise="NoNoise", normal=False, covariance=[]
    )
    with localcontext(ARITHMETIC):
        first = {(float(k),): Decimal(1) / SIZE for k in range(SIZE)}
        low, high = NoisyPair(claim).excess(first, {(-1.0,): Decimal(1)})
        assert low < 1 < high
        assert high - low < Decimal("1e-30")


@pytest.mark.parametrize("swapped", [False, True])
def test_delta_counts_in_both_directions(swapped: bool) -> None:
    """Only one of two laws has an answer that the other lacks."""
    laws = ({0.0: 0.7, 1.0: 0.3}, {0.0: 1.0})
    first, second = ({(x,): Decimal(p) for x, p in law.items()} for law in (laws[::-1] if swapped else laws))
    told = list[tuple[str, Decimal]]()
    claim: Any = SimpleNamespace(
        scale=ZERO,
        epsilon=Decimal(1),
        delta=Decimal("0.2"),
        noise="NoNoise",
        normal=False,
        covariance=[],
        weights=[1],
        spend=lambda cost: None,
        held=lambda how, epsilon: told.append((how, epsilon)),
    )
    with localcontext(ARITHMETIC), pytest.raises(StopError, match=r"delta is 0\.3"):
        NoisyPair(claim).compare("a pair", first, second)
    assert not told


@pytest.mark.parametrize("place", [0, 31, 32, 63, 64, 99])
def test_every_pair_of_distributions_is_compared(place: int) -> None:
    side = {"points": [[text_of(0)], [text_of(1)]], "logs": [text_of(math.log(0.5))] * 2}
    other = {**side, "logs": [text_of(math.log(0.9)), text_of(math.log(0.1))]}
    sides = [other if k == 2 * place else side for k in range(200)]
    claim: Any = SimpleNamespace(model={"sides": sides}, network=SimpleNamespace(models=1))
    pairs = list(AnswerLaws(claim).families())
    assert [k for k, (_, a, b) in enumerate(pairs) if a != b] == [place]
    assert len(pairs) == 100


def value_claim(states: int, models: int, told: tuple[int, int], notion: str = "value privacy") -> Any:
    """Return a claim on a count of `c`, which tells one state of `s` in one model, and nothing else."""
    alone, masses = [1 / states] * states, list[list[float]]()
    for theta in range(models):
        ones = [0.5 if (theta, k) != told else 0.125 for k in range(states)]
        masses.append([*(1 - p for p in ones), *ones])
    names = [f"s{k}" for k in range(states)]
    network = {
        "models": models,
        "driven": {},
        "nodes": {"s": node(names, [alone]), "c": node(["c0", "c1"], masses, ("s",))},
    }
    pairs = [[[a], [b]] for k, a in enumerate(names) for b in names[k + 1 :]]
    columns = {**categories(2), "s": {"type": "categorical", "categories": names}}
    model = {"notion": notion, "records": 1, "columns": columns, "network": network, "protect": {"s": pairs}}
    claim: Any = SimpleNamespace(
        model=model,
        n=1,
        network=Nodes(network),
        form=form_of([["indicator", ["==", "c", "c1"]]], columns),
        query={},
        weights=[Fraction(1)],
        scale=ZERO,
        epsilon=Decimal(1),
        delta=ZERO,
        normal=False,
        covariance=[],
        spend=lambda cost: None,
        told=[],
    )
    claim.joint = lambda *names, theta: claim.network.joint(names, theta, claim.spend)
    claim.bounded = lambda how, told: claim.told.append((how, told))
    claim.borne = lambda how: how
    return claim


@pytest.mark.parametrize("told", [(0, 0), (0, 13), (19, 0), (19, 13), (8, 6)])
def test_every_pair_of_secrets_in_every_model_is_compared(told: tuple[int, int]) -> None:
    """14 states have 91 pairs, each in 20 models; 13 of them in one model tell something."""
    with localcontext(ARITHMETIC):
        claim = value_claim(14, 20, told)
        families = list(AnswerLaws(claim).families())
        assert len(families) == 91 * 20
        apart = [label for label, first, second in families if first != second]
        assert len(apart) == 13
        assert all(f"s{told[1]}" in label and label.endswith(f"model {told[0]}") for label in apart)
        Moves(claim).by_quilts()
        apart = [how for how, epsilon in claim.told if 0 < epsilon < 10]
        assert len(apart) == 26 or all(epsilon.is_infinite() for _, epsilon in claim.told)
        assert len(claim.told) == 2 * 91 * 20


@pytest.mark.parametrize("place", PLACES)
def test_a_quilt_reads_every_state_of_the_far_columns(place: int) -> None:
    """A node of hundreds of states tells the secret by one of them, rare under both."""
    masses = [[1 / SIZE] * SIZE, [(1 - 1 / (8 * SIZE)) / (SIZE - 1)] * SIZE]
    masses[1][place] = 1 / (8 * SIZE)
    table = [masses[k][j] for j in range(SIZE) for k in range(2)]
    names = [f"c{k}" for k in range(SIZE)]
    network = {
        "models": 1,
        "driven": {},
        "nodes": {"s": node(["a", "b"], [[0.5, 0.5]]), "c": node(names, [table], ("s",))},
    }
    claim = value_claim(2, 1, (0, 0))
    claim.network, claim.model = Nodes(network), {**claim.model, "protect": {"s": [[["a"], ["b"]]]}}
    with localcontext(ARITHMETIC):
        moves = Moves(claim)
        (first,) = moves.quilt("s", 0, ["a"], ["b"], [(ZERO, set())])
        assert float(first) == pytest.approx(math.log(8))
        claim.epsilon = Decimal("0.5")
        passed = (1 - math.exp(0.5) / 8) / SIZE
        for delta, told in ((passed * 1.01, 0.5), (passed * 0.99, math.log(8))):
            claim.delta = Decimal(delta)
            (first,) = moves.quilt("s", 0, ["a"], ["b"], [(ZERO, set())])
            assert float(first) == pytest.approx(told)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("n", [101, 255, 4097])
def test_sums_of_many_records_have_all_their_mass(size: int, n: int) -> None:
    claim: Any = SimpleNamespace(spend=lambda cost: None, model={}, network=None)
    if size == 3 and n > 300:
        n = 333
    law = {(k,): Decimal(k + 1) / (size * (size + 1) // 2) for k in range(size)}
    with localcontext(ARITHMETIC):
        found = AnswerLaws(claim).power(law, n)
        assert abs(sum(found.values()) - 1) < Decimal("1e-40")
        mean = sum(k * p for (k,), p in found.items())
        assert abs(mean - n * sum(k * p for (k,), p in law.items())) < Decimal("1e-40")
    assert len(found) == n * (size - 1) + 1


@pytest.mark.parametrize("place", PLACES)
def test_a_state_is_the_category_of_its_name(place: int) -> None:
    columns = categories()
    form = form_of([["indicator", ["==", "c", f"c{place}"]]], columns)
    claim: Any = SimpleNamespace(model={}, network=None)
    assert AnswerLaws(claim).option(form, "c", place, f"c{place}") == [(f"c{place}", Decimal(1))]
    assert form.key({"c": f"c{place}"}) == (1,)
    assert f"c{place}" in form.extremes("c", [Fraction(1)])


@pytest.mark.parametrize("place", [0, 255, SIZE - 1])
def test_every_number_of_hundreds_is_moved(place: int) -> None:
    """The number at one place weighs a thousand, all others one."""
    terms = [["indicator", ["==", "c", f"c{k}"]] for k in range(SIZE)]
    rows = [[[k, "1000" if k == place else "1"]] for k in range(SIZE)]
    changes = changes_of(form_of(terms, categories(), rows))
    assert changes.bound({"c"}, 3) == 3 * 1001
    assert changes.bound({"c"}, 1) == 1001
    assert changes.shown(3)[0] == 3 * 1001
    assert changes.limits(place)[:2] == (3 * (1000 if place < SIZE else 1), 0)


@pytest.mark.parametrize("place", PLACES)
def test_every_value_of_a_list_is_looked_at(place: int) -> None:
    """Of the numbers that count one alone can stand in the column, which holds a million others."""
    columns = {"x": {"type": "integer", "lower": 0, "upper": 10**6, "steps": 10**6}}
    values = [4321 if k == place else -1 - k for k in range(SIZE)]
    changes = changes_of(form_of([["indicator", ["in", "x", values]]], columns))
    assert changes.bound({"x"}, 3) == 3
    assert changes.shown(3)[0] == 3
    assert 4321 in changes.form.extremes("x", [Fraction(1)])


def test_every_cut_of_a_column_is_looked_at() -> None:
    """Of hundreds of thresholds the last one alone weighs something."""
    columns = {"x": {"type": "real", "lower": 0.0, "upper": 1e6, "steps": 2**20}}
    terms = [["indicator", [">=", "x", 3000.0 * k + 0.5]] for k in range(SIZE)]
    changes = changes_of(form_of(terms, columns, [[[SIZE - 1, "1"]]]))
    assert changes.bound({"x"}, 3) == 3
    assert len(changes.form.extremes("x", [Fraction(1)])) > 3 * SIZE


def test_every_cell_of_two_columns_is_looked_at() -> None:
    """The last of 400 cells moves the answer."""
    columns = {name: {"type": "categorical", "categories": [f"c{k}" for k in range(20)]} for name in "ab"}
    for last in ("c19", "c0", "c7"):
        both = ["indicator", ["and", ["==", "a", last], ["==", "b", last]]]
        changes = changes_of(form_of([both], columns))
        assert [changes.bound(moving, 3) for moving in ({"a"}, {"b"}, {"a", "b"}, set[str]())] == [3, 3, 3, 0]


def test_every_unit_of_rounding_counts() -> None:
    """Two numbers that move together near 2^52 round by one unit each, unless their ranges say less."""
    columns = {"x": {"type": "integer", "lower": 0, "upper": 2, "steps": 2}}
    rows = [[[0, "1/7"]], [[1, "1/7"]]]
    form = Form({"terms": [["steps", "x", 1], ["steps", "x", 2]], "matrix": rows, "offset": [str(2**52)] * 2}, columns)
    changes = changes_of(form, 70)
    assert changes.exceeded_by((0, 1), {"x"}, 70) == 60 + 2
    assert changes.bound({"x"}, 70) == 60


def test_large_networks_keep_all_their_mass() -> None:
    names = [f"s{k}" for k in range(40)]
    nodes = {
        "a": node(names, [[1 / 40] * 40]),
        "b": node(names, [[1 / 40] * 1600], ("a",)),
        "c": node(["0", "1"], [[0.25] * 40 + [0.75] * 40], ("b",)),
    }
    with localcontext(ARITHMETIC):
        law = Nodes({"models": 1, "driven": {}, "nodes": nodes}).joint(["a", "b", "c"], 0, lambda cost: None)
        assert len(law) == 3200
        assert abs(sum(law.values()) - 1) < Decimal("1e-40")
        assert abs(sum(p for cell, p in law.items() if cell[2]) - Decimal("0.75")) < Decimal("1e-30")


@pytest.mark.parametrize("place", PLACES)
def test_a_column_of_a_table_is_summed_to_its_last_state(place: int) -> None:
    masses = [1 / SIZE] * SIZE
    facts: Any = {"models": 1, "driven": {}, "nodes": {"a": node([f"s{k}" for k in range(SIZE)], [masses])}}
    assert len(Nodes(facts).tables["a"][0]) == SIZE
    masses[place] += 0.05
    facts["nodes"]["a"] = node([f"s{k}" for k in range(SIZE)], [masses])
    with pytest.raises(StopError, match="no distribution"):
        Nodes(facts)


@pytest.mark.parametrize("z", ["1", "3", "5.99", "6", "6.01", "7", "12"])
def test_normal_tails_to_fifty_digits(z: str) -> None:
    """Where the checker sums a series a continued fraction says the same, and the other way round."""
    with localcontext(prec=110):
        low = Decimal(z)
        density = (-low * low / 2).exp() / ROOT_OF_TWICE_PI
        if low > 6:
            term = total = low
            for k in range(3, 3000, 2):
                term *= low * low / k
                total += term
            other = Decimal("0.5") - density * total
        else:
            under = low
            for k in range(6000, 0, -1):
                under = low + k / under
            other = density / under
        assert abs(tail(low) / other - 1) < Decimal("1e-50")
    assert float(tail(Decimal("0.01"))) == pytest.approx(math.erfc(0.01 / math.sqrt(2)) / 2, rel=1e-14)


def test_every_part_of_a_mixture_and_every_bin_has_its_own_law() -> None:
    edges = list(range(0, 2 * SIZE + 1, 2))
    section = {"type": "binned", "edges": edges, "within": "whole numbers"}
    column = column_facts(section)
    inside = laws_of_bins(section, column)
    assert len(inside) == SIZE
    parts = [[text_of(1 / SIZE), inside[label]] for label in column["labels"]]
    for place in PLACES:
        form = form_of([["indicator", [">=", "x", edges[place]]]], {"x": column})
        with localcontext(ARITHMETIC):
            found = column_values(form, "x", {"mixture": parts})
            counted = sum(p for value, p in found if value >= edges[place])
            assert float(counted) == pytest.approx(1 - place / SIZE)


@pytest.mark.parametrize("place", PLACES)
def test_every_label_of_a_rule_is_kept(place: int) -> None:
    labels = [f"raw {k}" for k in range(SIZE)]
    facts = column_facts({"type": "categorical", "categories": ["x", "y"], "coarsen": {"y": labels}})
    assert facts["coarsen"][0][1][place] == labels[place]
    assert len(facts["coarsen"][0][1]) == SIZE


def test_every_pair_of_values_of_a_property_is_told_apart() -> None:
    values = [Fraction(k) for k in range(SIZE)]
    assert len(pairs_of({}, values)) == SIZE * (SIZE - 1) // 2
    near = pairs_of({"at_most": 1}, values)
    assert near[-1] == ((values[-2],), (values[-1],))
    assert len(near) == SIZE - 1


@pytest.mark.parametrize("place", [0, 31, 32, 64, 99])
def test_the_pair_that_is_farthest_apart_counts_wherever_it_stands(place: int) -> None:
    pairs = [[[1], [2 if k != place else 90]] for k in range(100)]
    assert farthest({"pairs": pairs}, 100, Fraction(0), Fraction(1)) == 89


@pytest.mark.parametrize("place", PLACES)
def test_tables_are_alike_to_their_last_cell(place: int) -> None:
    stored = {k: Decimal(1) / SIZE for k in range(SIZE)}
    assert alike(stored, dict(stored))
    assert not alike(stored, stored | {place: Decimal(1) / SIZE * (1 + Decimal("1e-8"))})
    assert not alike(stored, {k: p for k, p in stored.items() if k != place})


@pytest.mark.parametrize("place", [0, 31, 32, 63, 64, 99])
def test_every_model_of_a_file_is_compared(place: int, tmp_path: Any) -> None:
    def network(theta: int, changed: float = 0.0) -> str:
        p = 0.25 + 0.001 * theta + changed
        return (
            "network n { } variable u { type discrete [ 2 ] { a, b }; } variable x { type discrete [ 2 ] { 0, 1 }; }"
            f"probability ( u ) {{ table 0.5, 0.5; }} probability ( x | u ) {{ (a) {p}, {1 - p}; (b) 0.5, 0.5; }}"
        )

    files = [f"m{theta}.bif" for theta in range(100)]
    for theta, name in enumerate(files):
        (tmp_path / name).write_text(network(theta), encoding="utf-8")
    path = tmp_path / "framework.toml"
    path.write_text(
        f'notion = "distributional"\nsource = "a test"\nrecords = {{count = 3}}\nnetwork.file = {json.dumps(files)}\n'
        'network.level = "parameters"\n[columns]\nx = {type = "integer", lower = 0, upper = 1}\n[protect.u]\n',
        encoding="utf-8",
    )
    calibration = bp.MarkovQuiltMechanism().calibrate(bp.read_framework(path), "total(x)", epsilon=1.0)
    facts = json.loads(calibration.to_json())["model"]
    with localcontext(ARITHMETIC):
        assert len(declared(facts, path, [])["network"]["nodes"]["x"]["logs"]) == 100
        (tmp_path / files[place]).write_text(network(place, 0.01), encoding="utf-8")
        with pytest.raises(StopError, match=f"tables of 'x' in model {place}"):
            declared(facts, path, [])


def test_tables_of_hundreds_of_states_are_read_and_compared_to_the_last_number() -> None:
    states = [f"s{k}" for k in range(600)]
    numbers = [(k + 1) * 2 / (600 * 601) for k in range(600)]
    rows = "".join(f"({side}) {', '.join(map(repr, numbers))};" for side in ("a", "b"))
    text = (
        "network n { } variable u { type discrete [ 2 ] { a, b }; }"
        f"variable x {{ type discrete [ 600 ] {{ {', '.join(states)} }}; }}"
        f"probability ( u ) {{ table 0.5, 0.5; }} probability ( x | u ) {{ {rows} }}"
    )
    nodes = bif_nodes(text)
    assert [float(p) for p in nodes["x"]["logs"][0][::2]] == numbers
    facts = {"models": 1, "driven": {}, "nodes": nodes}
    with localcontext(ARITHMETIC):
        _same_tables(facts, facts)
        for place in (0, 255, 511, 512, 599):
            table = list(nodes["x"]["logs"][0])
            table[2 * place] *= Decimal("1.001")
            other = {**nodes, "x": {**nodes["x"], "logs": [table]}}
            with pytest.raises(StopError, match="tables of 'x'"):
                _same_tables(facts, {"models": 1, "driven": {}, "nodes": other})


def test_every_column_is_compared_with_the_file(tmp_path: Any) -> None:
    names = [f"x{k}" for k in range(150)]
    columns = "".join(f'{name} = {{type = "integer", lower = 0, upper = {k + 1}}}\n' for k, name in enumerate(names))
    path = tmp_path / "framework.toml"
    path.write_text(f'notion = "value"\nrecords = {{count = 3}}\n[columns]\n{columns}', encoding="utf-8")
    stored = {name: {"type": "integer", "lower": 0, "upper": k + 1, "steps": k + 1} for k, name in enumerate(names)}
    facts = {"notion": "value privacy", "records": 3, "columns": stored, "left_out": "too large: numbers"}
    assert len(declared(facts, path, [])["columns"]) == 150
    for place in (0, 31, 32, 100, 127, 128, 149):
        changed = {**stored, names[place]: {**stored[names[place]], "upper": 10**6}}
        with pytest.raises(StopError, match=f"column '{names[place]}'"):
            declared({**facts, "columns": changed}, path, [])


def test_work_is_bounded() -> None:
    """Numbers by the hundreds that one column of hundreds of values moves are within it."""
    assert SIZE * SIZE * SIZE // 2 // 16 < MOST_WORK


def test_a_grid_of_a_thousand_million_outputs_is_counted_before_it_is_made() -> None:
    """Three numbers of one column on 1,001 values each: the laws have 1,001 answers, their grid 10^9."""
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5]}, states={"u": ["few", "many"]}, parents={}, level="parameters"
    )
    schema = bp.Schema(records=1000, columns={"u": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(
        network, schema, "u", source="a test", laws={"u": {"few": 0.4, "many": 0.6}}
    )
    thrice = bp.stack(bp.linear({"u": Fraction(1, 10)}), bp.mean("u"), bp.linear({"u": Fraction(3, 10)}))
    calibration = bp.WassersteinMechanism().calibrate(framework, thrice, epsilon=1.0)
    assert bp.verify(calibration).status == "too large"


def limited(most: int) -> Any:
    """Return a claim that stops where more than `most` products of masses are made."""

    def spend(cost: int) -> None:
        if cost > most:
            raise StopError("too large", "more")

    return SimpleNamespace(spend=spend, form=SimpleNamespace(reads=["x", "y", "z"]))


def test_records_and_states_are_counted_before_they_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three columns of eleven values, three parameters of eleven states: 1,331 where 1,330 are the most."""
    laws = SimpleNamespace(claim=limited(1330), model={"laws": {name: [None] for name in "xyz"}})
    monkeypatch.setattr(answers, "column_values", lambda *_: [(k, Decimal(1)) for k in range(11)])
    with pytest.raises(StopError, match="too large"):
        AnswerLaws.given_states(laws, (("x", 0), ("y", 0), ("z", 0)))
    claim = limited(1330)
    states = {"s": ["a", "b"], **{name: list(range(11)) for name in "uvw"}}
    claim.network = SimpleNamespace(states=states, driven={"x": ["u", "v", "w"]})
    claim.joint = lambda *_, theta: {}
    with pytest.raises(StopError, match="too large"):
        showing._showing(claim, "x", "s", ({"a"}, {"b"}), 0, [{"x": 0}, {"x": 1}])


def test_where_memory_ends_quilts_still_bear_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws of the answer are tried first; an error without words is no reason to stop."""
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5], "v": [[0.6, 0.4], [0.4, 0.6]]},
        states={"u": ["0", "1"], "v": ["0", "1"]},
        parents={"v": ["u"]},
        level="records",
    )
    schema = bp.Schema(records=3, columns={"u": bp.Integer(0, 1), "v": bp.Integer(0, 1)})
    framework = bp.ValuePrivacy(network, schema, "u", source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.total("v"), epsilon=1.0)

    def full(self: AnswerLaws) -> Any:
        raise MemoryError

    monkeypatch.setattr(AnswerLaws, "families", full)
    assert bp.verify(calibration).status == "holds"


@pytest.mark.parametrize("place", [0, 99, 100, 149])
def test_the_law_of_one_record_is_compared_in_every_case(place: int, monkeypatch) -> None:
    """One of 150 cases, of a pair or of an attribute in a model, passes the claim."""
    even, steep = {(0,): Decimal("0.5"), (1,): Decimal("0.5")}, {(0,): Decimal("0.05"), (1,): Decimal("0.95")}
    claim = value_claim(2, 1, (0, 0))
    claim.note = lambda told: setattr(claim, "worst", max(claim.worst, told))
    claim.noise = "NoNoise"
    for cases, borne in (
        ([(even, even, 1, True)] * 150, True),
        ([(even, even, 1, True)] * place + [(even, steep, 1, True)], False),
    ):
        claim.worst = ZERO
        monkeypatch.setattr(one_record, "_cases", lambda *args, cases=cases: [*cases, (even, even, 1, True)])
        with localcontext(ARITHMETIC):
            assert one_record.borne_by_records(claim, AnswerLaws(claim), NoisyPair(claim)) is borne


@pytest.mark.parametrize("telling", [0, 3, 7])
def test_laws_that_refute_a_quilt_are_tried_in_every_model(telling: int) -> None:
    """Of eight models one says that the column that is read tells the secret."""
    tables = np.full((8, 2, 2), 0.5)
    tables[telling] = [[0.99, 0.01], [0.01, 0.99]]
    network = bp.DiscreteNetwork.from_tables(
        {"v": np.full((8, 2), 0.5), "t": tables},
        states={"v": ["few", "many"], "t": ["early", "late"]},
        parents={"t": ["v"]},
        level="parameters",
    )
    schema = bp.Schema(records=50, columns={"t": bp.Integer(1900, 2020), "v": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "v", source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, "mean(t)", epsilon=1.0)
    record = json.loads(calibration.to_json())
    record["noise"].update(scale=20.0, exact_scale=text_of(20))
    assert bp.verify(calibration).status == "holds"
    verdict = bp.verify(json.dumps(record))
    assert verdict.status == "fails"
    assert f"in model {telling} where every record of t shows its parameter shows it" in verdict.text
