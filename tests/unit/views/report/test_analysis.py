"""Leaks, comparisons and trade-offs: right numbers in the right order, in every form in which they are shown."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import MissingExtraError, NetworkError, ParameterError, RefusedError
from bnpriv.lab.compare import compare, tradeoff
from bnpriv.lab.leaks import leaks
from tests import kinds, oracles

NASTY = "<script>alert(1)</script>"


def network(tilt: float = 0.3, **extra: Any) -> DiscreteNetwork:
    """Return income -> sat, (income, gender) -> height -> weight; `tilt` moves the table of sat."""
    tables: dict[str, Any] = {
        "income": [0.6, 0.4],
        "gender": [0.7, 0.3],
        "sat": [[1 - tilt, tilt], [tilt, 1 - tilt]],
        "height": [[[0.55, 0.3], [0.5, 0.25]], [[0.45, 0.7], [0.5, 0.75]]],
        "weight": [[0.8, 0.2], [0.2, 0.8]],
        "region": [1.0],
    }
    names = {name: [f"{name}0", f"{name}1"] for name in tables} | {"region": ["here"]}
    parents = {"sat": ["income"], "height": ["income", "gender"], "weight": ["height"]}
    return DiscreteNetwork.from_tables(tables | extra, states=names, parents=parents)


SCHEMA = bp.Schema(
    records=1000,
    columns={"height": bp.Real(120, 220), "sat": bp.Integer(400, 1600), "shoe": bp.Integer(30, 50)},
)


def framework(protect: Any = "income", tilt: float = 0.3, **changes: Any) -> DistributionalAttributePrivacy:
    arguments: dict[str, Any] = {"source": "invented", "independent": ["shoe"]}
    return DistributionalAttributePrivacy(network(tilt), SCHEMA, protect, **(arguments | changes))


TALL = bp.count(bp.col("height") > 180)
HIGH = bp.count(bp.col("sat") >= 1200)
BOTH = bp.stack(TALL, HIGH)


# --- leaks ------------------------------------------------------------------------------------------------------------


def test_leaks_are_the_influences_by_definition_in_order() -> None:
    model_network = network()
    found = leaks(model_network, TALL)
    law = oracles.joint(model_network, 0)
    for name in ("income", "gender", "sat", "weight"):
        states = model_network.states[name]
        pairs = bp.pairs((states[0], states[1])).ordered(name, states)
        exact = max(oracles.influence(model_network, law, ("height",), name, pair) for pair in pairs)
        assert math.isclose(found[name].nats, exact, rel_tol=1e-9, abs_tol=1e-9)
    assert found["height"].nats == math.inf
    assert found["height"].read
    assert found["region"].nats == 0
    nats = [row.nats for row in found.rows]
    assert nats == sorted(nats, reverse=True)
    assert {row.attribute for row in found.rows} == set(model_network.attributes)


def test_a_query_of_two_columns_tells_about_others_through_both() -> None:
    found = leaks(network(), BOTH)
    assert found["sat"].read
    assert found["height"].read
    alone = [leaks(network(), query)["income"].nats for query in (TALL, HIGH)]
    assert max(alone) < found["income"].nats
    assert math.isclose(found["income"].nats, sum(alone), rel_tol=1e-9)  # independent given the income


def test_a_framework_adds_independent_columns_and_its_own_pairs() -> None:
    query = bp.stack(TALL, bp.total("shoe"))
    assert math.isclose(leaks(framework(), query)["income"].nats, leaks(network(), TALL)["income"].nats)
    three = DiscreteNetwork.from_tables(
        {"a": [0.4, 0.3, 0.3], "b": [[0.9, 0.5, 0.4], [0.1, 0.5, 0.6]]},
        states={"a": [0, 1, 2], "b": [0, 1]},
        parents={"b": ["a"]},
        level="parameters",
    )
    schema = bp.Schema(records=10, columns={"b": bp.Integer(0, 1)})
    narrow = DistributionalAttributePrivacy(three, schema, {"a": bp.pairs((1, 2))}, source="invented")
    query = bp.count(bp.col("b") == 1)
    assert math.isclose(leaks(narrow, query)["a"].nats, math.log(0.5 / 0.4), rel_tol=1e-9)
    assert math.isclose(leaks(three, query)["a"].nats, math.log(6), rel_tol=1e-9)


@pytest.mark.parametrize("kind", [kinds.records, kinds.dataset])
def test_values_of_one_record_leak_as_their_network_says(kind: Callable[[], kinds.Kind]) -> None:
    subject = kind()
    of_framework, of_network = leaks(subject.framework, subject.query), leaks(subject.network, subject.query)
    assert {row.attribute: row.nats for row in of_framework.rows} == {
        row.attribute: row.nats for row in of_network.rows
    }
    assert "two values of an attribute in one record" in of_framework.text
    assert of_framework["ill"].nats == pytest.approx(float(bp.max_influence(subject.network, ["coughs"], "ill")))


@pytest.mark.parametrize(("kind", "school"), [(kinds.gaussian, math.inf), (kinds.density, math.nan)])
def test_of_numbers_what_is_told_depends_on_the_secrets(kind: Callable[[], kinds.Kind], school: float) -> None:
    """Where nothing is declared of an attribute, two values of a normal law that are near are meant, or nothing."""
    subject = kind()
    found = leaks(subject.framework, subject.query)
    assert {row.attribute for row in found.rows} == {"sat", "income", "school"}
    assert (found["income"].nats, found["income"].belief, found["income"].chosen_pairs) == (math.inf, None, True)
    for each in (found, leaks(subject.network, subject.query)):
        assert each["school"].nats == school or (math.isnan(each["school"].nats) and math.isnan(school))
        assert not each["school"].chosen_pairs


def test_normal_laws_are_as_far_apart_as_their_influence_says() -> None:
    subject = kinds.gaussian()
    mu = bp.max_influence(subject.network, ["sat"], "income", bp.apart(at_most=5)).mu
    assert (
        leaks(subject.framework, subject.query)["income"].reached
        == f"no bound: normal distributions {mu:.4g} deviations apart"
    )


def test_what_the_model_does_not_cover_is_refused() -> None:
    with pytest.raises(NetworkError, match="shoe"):
        leaks(network(), bp.total("shoe"))
    with pytest.raises(RefusedError, match="shoe"):
        leaks(framework(independent=[]), bp.total("shoe"))
    with pytest.raises(NetworkError):
        _ = leaks(network(), TALL)["hight"]


def test_a_belief_of_ten_percent() -> None:
    row = leaks(network(), HIGH)["income"]
    odds = math.exp(row.nats) / 9
    assert math.isclose(row.belief, odds / (1 + odds))
    assert leaks(network(), HIGH)["sat"].belief == 1
    assert leaks(network(), HIGH)["gender"].belief == 0.1


def test_leaks_as_text_table_and_plot() -> None:
    found = leaks(network(), TALL)
    lines = found.text.splitlines()
    assert lines[:2] == ["What count(height > 180) tells.", "It reads height."]
    assert lines[4].split()[:3] == ["attribute", "odds", "move"]
    assert lines[5].split()[:3] == ["height", "any", "factor"]
    assert "height = height0 for" in found.text
    assert "one state" in found.text
    assert "no path leads to it" in leaks(network(), HIGH).text
    table = found.to_pandas()
    assert table["attribute"].tolist() == [row.attribute for row in found.rows]
    assert table["influence"].tolist() == [row.nats for row in found.rows]
    assert table["read"].sum() == 1
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    drawn = found.plot()
    assert [text.get_text() for text in drawn.get_yticklabels()] == [row.attribute for row in found.rows[::-1]]
    widths = [patch.get_width() for patch in drawn.patches]
    assert widths == sorted(widths)
    assert drawn.patches[-1].get_hatch() == "//"
    assert math.isclose(widths[-2], found.rows[1].nats)
    pyplot.close("all")


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_a_comparison_holds_both_plans() -> None:
    found = compare(framework(), framework(tilt=0.05), HIGH)
    assert [chosen.best.scale for chosen in found.plans] == [0.0, pytest.approx(1000)]
    assert math.isclose(found.influences[0]["income"], math.log(0.7 / 0.3), rel_tol=1e-9)
    assert math.isclose(found.influences[1]["income"], math.log(0.95 / 0.05), rel_tol=1e-9)
    assert found.differences == ("other numbers or states in the tables of sat (by more than 1e-09 of a number).",)
    assert "A needs no noise." in found.text
    assert found.epsilon == 1.0


@pytest.mark.parametrize(("rounding", "told"), [(1e-12, False), (1e-7, True)])
def test_a_comparison_takes_rounded_numbers_for_the_same(rounding: float, told: bool) -> None:
    """A network that went through a file has other last digits."""
    found = compare(framework(), framework(tilt=0.3 * (1 + rounding)), HIGH)
    exact = compare(framework(), framework(tilt=0.3), HIGH)
    assert exact.differences == ()
    assert bool(found.differences) == told
    assert told or "may by 1e-09 of themselves" in found.text


def test_a_comparison_with_itself_finds_nothing() -> None:
    found = compare(framework(), framework(), BOTH, 0.5)
    assert found.differences == ()
    assert "Both give the same error." in found.text
    assert "differ in nothing" in found.text


def test_the_ratio_of_the_errors_is_named() -> None:
    found = compare(framework("gender"), framework("gender", independent=[]), TALL, 0.2)
    assert found.differences == ("declared independent: shoe in A, nothing in B.",)
    wide = DistributionalAttributePrivacy(
        network(), bp.Schema(records=2000, columns={**SCHEMA.columns}), "gender", source="invented"
    )
    assert "The error is 2 times as large under B." in compare(framework("gender"), wide, TALL, 0.2).text


def test_every_difference_is_named() -> None:
    other_network = DiscreteNetwork.from_tables(
        {"income": [[0.6, 0.4], [0.5, 0.5]], "sat": [0.5, 0.5], "height": [0.5, 0.5], "age": [0.5, 0.5]},
        states={name: [f"{name}0", f"{name}1"] for name in ("income", "sat", "height", "age")},
        parents={},
    )
    schema = bp.Schema(records=50, columns={"height": bp.Real(100, 220), "sat": bp.Integer(400, 1600)})
    other = DistributionalAttributePrivacy(
        other_network, schema, {"income": bp.pairs(("income0", "income1")), "age": None}, source="guessed"
    )
    said = " ".join(compare(framework(), other, TALL).differences)
    for words in (
        "protected: income in A, income, age in B.",
        "number of records: 1,000 in A, 50 in B.",
        "models: 1 in A, 2 in B.",
        "source: invented in A, guessed in B.",
        "declared independent: shoe in A, nothing in B.",
        "column height: Real(lower=120.0",
        "attributes only in A: gender, region, weight.",
        "attributes only in B: age.",
        "edges only in A: gender -> height, height -> weight, income -> height, income -> sat.",
        "tables of income (by",
    ):
        assert words in said
    assert "column sat" not in said  # the query does not read it


def test_fewer_pairs_are_a_difference() -> None:
    three = DiscreteNetwork.from_tables({"a": [0.4, 0.3, 0.3]}, states={"a": [0, 1, 2]})
    schema = bp.Schema(records=10, columns={"x": bp.Integer(0, 1)})
    every, one = (
        DistributionalAttributePrivacy(three, schema, {"a": chosen}, source="invented", independent=["x"])
        for chosen in (None, bp.pairs((0, 1)))
    )
    found = compare(every, one, bp.total("x"))
    assert found.differences == ("pairs of secrets of a: 6 ordered pairs in A, 2 in B.",)


def test_one_table_for_all_models_is_no_difference() -> None:
    twice = DiscreteNetwork.from_tables({"a": [[0.4, 0.6], [0.4, 0.6]]}, states={"a": [0, 1]})
    once = DiscreteNetwork.from_tables({"a": [0.4, 0.6]}, states={"a": [0, 1]})
    schema = bp.Schema(records=10, columns={"x": bp.Integer(0, 1)})
    found = compare(
        *(DistributionalAttributePrivacy(n, schema, "a", source="s", independent=["x"]) for n in (twice, once)),
        bp.total("x"),
    )
    assert found.differences == ("models: 2 in A, 1 in B.",)


def test_an_attribute_that_only_one_protects() -> None:
    found = compare(framework(), framework(["income", "gender"]), TALL)
    assert found.protected == ("income", "gender")
    assert "not protected" in found.text
    table = found.to_pandas()
    assert math.isnan(table.loc["influence on gender", "A"])
    assert table.loc["influence on gender", "B"] > 0
    assert table.loc["error", "A"] == found.plans[0].best.expected_error
    assert list(table.columns) == ["A", "B"]


def test_a_comparison_as_plot() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    found = compare(framework(), framework("sat"), HIGH)
    drawn = found.plot()
    assert [text.get_text() for text in drawn.get_xticklabels()] == ["income", "sat"]
    heights = [patch.get_height() for patch in drawn.patches]
    assert math.isclose(heights[0], found.influences[0]["income"])
    assert drawn.patches[3].get_hatch() == "//"  # B protects sat, which the query reads
    pyplot.close("all")


# --- trade-offs -------------------------------------------------------------------------------------------------------


def test_a_tradeoff_is_the_plan_at_each_epsilon() -> None:
    found = tradeoff(framework(), HIGH, [2.0, 0.1, 0.5, 2.0])
    assert found.epsilons == (0.1, 0.5, 2.0)
    for epsilon, chosen in zip(found.epsilons, found.plans, strict=True):
        assert chosen.best.scale == bp.plan(framework(), HIGH, epsilon).best.scale
    table = found.to_pandas()
    assert table["scale"].tolist() == [best.scale for best in found.best]
    assert np.all(np.diff(table["expected_error"]) <= 0)


def test_the_epsilon_from_which_on_no_noise_is_needed() -> None:
    """The influence of sat on income is log(7/3) = 0.847."""
    found = tradeoff(framework(), HIGH, [0.5, 0.84, 0.85, 3])
    assert found.noiseless_from == 0.85
    assert found.sentences == (
        "From epsilon 0.85 on the answer is released without noise; at 0.84 it still is useless.",
    )
    assert found.sentences[0] in found.text


def test_never_and_always_are_said() -> None:
    never = tradeoff(framework("sat"), HIGH, [0.1, 0.5])
    assert never.noiseless_from is None
    assert never.sentences == ("Even at epsilon 0.5, the largest tried, the answer is useless, and needs noise.",)
    always = tradeoff(framework(), HIGH, [1.0, 2.0])
    assert always.sentences == ("At every epsilon tried, from 1 on, the answer is released without noise.",)
    noisy = tradeoff(framework("sat"), HIGH, [0.1, 50.0])
    assert (noisy.useful_from, noisy.noiseless_from) == (50.0, None)


def test_what_the_row_calls_coarse_the_sentence_does_not_call_useful() -> None:
    found = tradeoff(framework("sat"), HIGH, [0.1, 10.0, 50.0])
    assert [best.useful.verdict for best in found.best] == ["useless", "coarse", "useful"]
    assert found.useful_from == 50.0
    assert found.sentences[0] == "From epsilon 50 on the answer is useful; at 10 it still is coarse."
    assert (
        tradeoff(framework("sat"), HIGH, [10.0])
        .sentences[0]
        .endswith("the largest tried, the answer is coarse, and needs noise.")
    )


@pytest.mark.parametrize("epsilons", [[], [0.0], [math.nan], [1.0, -1.0]])
def test_epsilons_out_of_range_are_refused(epsilons: list[float]) -> None:
    with pytest.raises(ParameterError):
        tradeoff(framework(), HIGH, epsilons)


def test_a_tradeoff_as_text_and_plot() -> None:
    found = tradeoff(framework(), HIGH, [0.1, 0.5, 1.0])
    lines = found.text.splitlines()
    assert lines[4].split()[0] == "epsilon"
    assert [line.split()[0] for line in lines[5:8]] == ["0.1", "0.5", "1"]
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    drawn = found.plot()
    assert drawn.lines[0].get_xdata().tolist() == [0.1, 0.5]  # none is drawn where there is no error
    assert drawn.get_yscale() == "log"
    assert len(drawn.patches) == 1  # where no noise is needed
    tradeoff(framework(), HIGH, [1.0]).plot(drawn)
    pyplot.close("all")


# --- shown ------------------------------------------------------------------------------------------------------------


def nasty() -> tuple[DistributionalAttributePrivacy, bp.types.Query]:
    model = DiscreteNetwork.from_tables(
        {"income $x$": [0.5, 0.5], NASTY: [[0.6, 0.4], [0.4, 0.6]]},
        states={"income $x$": ["a", "<b>"], NASTY: ["=cmd()", "\x1b[31m"]},
        parents={NASTY: ["income $x$"]},
    )
    schema = bp.Schema(records=100, columns={NASTY: bp.Integer(0, 1)})
    made = DistributionalAttributePrivacy(model, schema, "income $x$", source="<i>x</i>")
    return made, bp.count(bp.col(NASTY) == 1)


def results() -> list[Any]:
    made, query = nasty()
    return [leaks(made, query), compare(made, made, query), tradeoff(made, query, [0.1, 1.0])]


@pytest.mark.parametrize("place", range(3))
def test_names_do_no_harm(place: int) -> None:
    found = results()[place]
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert "\x1b" not in found.text


@pytest.mark.parametrize("place", range(3))
def test_names_do_no_harm_in_plots(place: int) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    results()[place].plot().figure.canvas.draw()
    pyplot.close("all")


@pytest.mark.parametrize("place", range(3))
def test_without_matplotlib_the_extra_is_named(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"bnpriv\[plot\]"):
        results()[place].plot()
