"""The influence report: what it holds, that its numbers are those of the mechanism, and that its page is whole."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import bnpriv as bp
import bnpriv.views.report.analysis as analysis_module
from bnpriv.core.frameworks.guarantee import PRIORS, belief
from bnpriv.core.influence.base import influence_of
from bnpriv.core.influence.finite import RatioTables
from bnpriv.core.networks.base import ImportReport, NodeReading
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import SecretPair, all_pairs
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.kinds.sensitivity import without_edge
from bnpriv.views.report.advice import LIMIT, useful_from
from bnpriv.views.report.analysis import edges_between, leak_path, likely_influence
from bnpriv.views.report.values import epsilon_at, noise_curves
from tests import oracles
from tests.kinds import KINDS
from tests.later import Later
from tests.seeds import seeds

pd = Later("pandas")
ROOT = Path(__file__).resolve().parents[4]
TALL = bp.count(bp.col("height") > 180)
BOTH = bp.stack(TALL, bp.count(bp.col("sat") >= 1200))
UNKNOWN = bp.custom(lambda table: 0.0, columns=["coughs"], sensitivity=1.0)
TWELVE = ("age", "sex", "region", "income", "school", "smoker", "diet", "sport", "illness", "cover", "visits", "cost")


def means(*columns: str) -> bp.types.Query:
    return bp.stack(*(bp.mean(column) for column in columns))


# what it says


def test_headline_says_what_becomes_of_the_answer(student) -> None:
    assert bp.influence_report(student, TALL, 1.0).text.startswith(f"{TALL} can be released without noise")
    assert bp.influence_report(student, BOTH, 1.0).text.startswith(f"{BOTH} is useless with")
    assert bp.influence_report(student, TALL).text.startswith(
        f"{TALL} moves the odds about income by up to 1.27 times (0.2331 nats)"
    )
    assert bp.influence_report(student).text.startswith("Of all columns sat tells most about income: it can turn a")


def test_a_network_in_which_nothing_tells() -> None:
    network = DiscreteNetwork.from_tables({"a": [0.5, 0.5], "b": [0.5, 0.5]}, states={"a": ["x", "y"], "b": ["x", "y"]})
    report = bp.influence_report(network, protect="a")
    assert report.text.startswith("No other column tells anything by itself about a")
    assert report.attributes[0].edges == ()
    alone = DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["x", "y"]})
    report = bp.influence_report(alone, protect="a")
    for text in (report.text, report.to_markdown(), report.to_html(), report.to_json(), report.to_csv()):
        assert "a" in text
    assert report.attributes[0].asked is None
    assert len(report.to_pandas()) == 0


@pytest.mark.parametrize(
    ("name", "query", "epsilon"),
    [
        ("student", bp.count(bp.col("sat") >= 1200), 1.0),
        ("student", bp.count(bp.col("sat") >= 1200), 0.1),
        ("clinic", bp.count(bp.col("antiviral") == 1), 1.0),
    ],
    ids=str,
)
def test_advice_names_the_least_epsilon_of_the_best_mechanism(name: str, query: bp.types.Query, epsilon: float) -> None:
    framework = bp.example(name)
    plan = bp.plan(framework, query, epsilon)
    best, curves = plan.best, noise_curves(framework, query)
    assert curves is not None
    enough = useful_from(plan, curves, best.scale * LIMIT / best.useful.share)
    assert float(f"{enough:.2g}") == pytest.approx(enough)
    assert bp.plan(framework, query, enough).best.useful.verdict in ("exact", "sharp", "useful")
    step = 10.0 ** (math.floor(math.log10(enough)) - 1)
    assert bp.plan(framework, query, enough - step).best.useful.verdict in ("coarse", "useless")


def test_advice_stands_in_the_report(student) -> None:
    found = re.search(r"It would be useful from epsilon ([\d.]+) on", bp.influence_report(student, BOTH, 1.0).text)
    assert found is not None


def test_the_page_answers_its_questions_and_says_the_verdict_once(student) -> None:
    page = bp.influence_report(student, BOTH, 1.0).to_html()
    for question in (
        "What is protected", "From whom", "What leaks most", "What noise it needs, and why",
        "What the model must be trusted for",
    ):  # fmt: skip
        assert f"<dt>{question}</dt>" in page
    assert page[: page.index("</dl>")].count('class="badge') == 1
    assert student.source in page
    assert bp.plan(student, BOTH, 1.0).best.guarantee.sentence.replace("10 %", "10&nbsp;%")[:200] in page
    assert "10,000 / (1 - 0.233094) = 13,039" in page
    assert "P(sat = strong | income = high) = 0.6" in page


def test_beliefs(student) -> None:
    report = bp.influence_report(student, BOTH, 1.0)
    assert tuple(row.prior for row in report.beliefs) == PRIORS
    for row in report.beliefs:
        odds = row.prior / (1 - row.prior)
        assert row.answer == pytest.approx(odds * math.e / (1 + odds * math.e))
        told = odds * math.exp(float(report.attributes[0].asked))
        assert row.columns["income"] == pytest.approx(told / (1 + told))
    assert belief(0.1, 0.0) == pytest.approx(0.1)
    assert belief(0.5, math.inf) == 1.0


def test_a_query_of_the_protected_column_tells_everything(student) -> None:
    report = bp.influence_report(student, bp.count(bp.col("income") == "high"), 1.0)
    assert report.attributes[0].is_queried
    assert all(row.columns["income"] == 1.0 for row in report.beliefs)
    bare = bp.influence_report(student, bp.count(bp.col("income") == "high"))
    assert "can rule out a secret of income" in bare.text


def driven_by_normal_parameters() -> bp.types.GaussianNetwork:
    network = bp.types.GaussianNetwork.linear(
        {"a": 0.0, "b": 0.0, "c": 0.0}, {"a": 1.0, "b": 1.0, "c": 1.0}, {"b": {"a": 0.5}, "c": {"b": 0.5}}
    )
    return network.read_as(ImportReport(columns={"x": ("a", "c"), "y": ("c",)}))


def test_a_column_that_a_normal_secret_drives_tells_without_bound() -> None:
    network = driven_by_normal_parameters()
    schema = bp.Schema(records=10, columns={"x": bp.Real(0, 1), "y": bp.Real(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"a": bp.apart(at_most=1)}, source="a textbook")
    bare = bp.influence_report(framework, bp.mean("x"))
    assert bare.headline == "The queried columns are driven by a directly, and tell about it without bound."
    report = bp.influence_report(framework, bp.mean("x"), 1.0, 1e-6)
    assert "a drives queried columns itself, which tells everything" in report.text
    assert not re.search(r"^(x|c) +0 ", report.text, re.MULTILINE)
    assert {delta for _, delta in report.curve} == {1.0}
    (row,) = report.to_dict()["data"]["protected"]
    assert row["reads_protected"] is True
    other = bp.influence_report(framework, bp.mean("y"), 1.0, 1e-6)
    assert other.attributes[0].asked.mu == pytest.approx(bp.max_influence(network, {"c"}, "a", bp.apart(at_most=1)).mu)
    assert other.to_dict()["data"]["protected"][0]["reads_protected"] is False


def test_a_column_that_a_discrete_secret_drives_is_read() -> None:
    network = DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "t": [0.5, 0.5]}, states={"s": ["a", "b"], "t": ["a", "b"]}, parents={}
    )
    network = replace(network, reading=ImportReport(columns={"x": ("s", "t")}))
    schema = bp.Schema(records=10, columns={"x": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "s", source="a textbook")
    report = bp.influence_report(framework, bp.mean("x"))
    assert report.attributes[0].is_queried
    assert "can rule out a secret of s" in report.text
    assert "s drives queried columns itself, which tells everything" in report.text


def test_zero_and_infinity_differ_without_colour() -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.0, 0.5], [1.0, 0.5]], "z": [0.5, 0.5]},
        states={"x": ["a", "b"], "y": ["a", "b"], "z": ["a", "b"]},
        parents={"y": ["x"]},
    )
    page = bp.influence_report(network, protect="x").to_html()
    assert re.search(r'<td class="ltop"[^>]*>\u221e</td>', page)
    assert re.search(r'<td class="lzero"[^>]*>1</td>', page)
    assert '"nats": "inf"' in bp.influence_report(network, protect="x").to_json()


# its numbers


@pytest.mark.parametrize("seed", range(12))
def test_quilts_come_with_the_noise_they_leave(seed: int) -> None:
    case = oracles.random_case(np.random.default_rng(seed))
    if bp.MarkovQuiltMechanism().supports(case.framework, case.query, epsilon=case.epsilon) is not None:
        with pytest.raises(RefusedError):
            bp.influence_report(case.framework, case.query, case.epsilon)
        return
    calibration = bp.MarkovQuiltMechanism().calibrate(case.framework, case.query, epsilon=case.epsilon)
    report = bp.influence_report(case.framework, case.query, case.epsilon)
    needed = {decision.protected: decision.scale for decision in calibration.certificate.decisions}
    for row in report.attributes:
        winners = [line for line in row.quilts if line.noise.wins]
        assert [line.noise.scale for line in winners] == [needed[row.protected]]
        assert min(line.noise.scale for line in row.quilts) >= needed[row.protected] * (1 - 1e-12)


def test_the_winning_quilt_is_always_among_those_shown(twelve) -> None:
    report = bp.influence_report(twelve, means("visits", "cost", "diet"), 2.0, limit=1)
    for row in report.attributes:
        assert sum(line.noise.wins for line in row.quilts) == 1
        # beside it and the least telling one only what moves the answer less
        moved = [line.noise.sensitivity.upper for line in row.quilts if not line.noise.wins]
        assert moved == sorted(set(moved), reverse=True)
        every = len(list(bp.markov_quilts(twelve.network, row.protected)))
        assert row.more in (every - 1, every - 2)


@pytest.mark.parametrize("seed", seeds(8, slow=25))
def test_curves_give_the_scale_of_the_mechanism(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = oracles.random_network(rng, 6, models=int(rng.integers(1, 4)))
    names = list(network.attributes)
    schema = bp.Schema(records=50, columns={name: bp.Real(0, 1) for name in names})
    chosen = [str(name) for name in rng.choice(names, size=2, replace=False)]
    protect = [name for name in chosen if len(network.states[name]) > 1]
    framework = bp.DistributionalAttributePrivacy(network, schema, protect, source="random numbers")
    asked = [str(name) for name in rng.choice(names, size=4, replace=False)]
    query = bp.linear({name: float(rng.uniform(0.1, 3)) for name in asked})
    curves = noise_curves(framework, query)
    if bp.MarkovQuiltMechanism().supports(framework, query, epsilon=1.0) is not None:
        assert curves is None
        return
    assert curves is not None
    for epsilon in (0.01, 0.1, 0.3, 0.7, 1.0, 1.3, 2.0, 3.0, 5.0, 10.0):
        scale = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon).scale
        assert max(curve.scale(epsilon) for curve in curves) == pytest.approx(scale, rel=1e-9)
        if scale > 0:
            least = epsilon_at(curves, scale)
            assert least == pytest.approx(epsilon, rel=1e-9) or least < epsilon
            enough = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=max(least, 1e-8) * (1 + 1e-9))
            assert enough.scale <= scale * (1 + 1e-6)


def test_too_many_near_sets_mean_no_slider(twelve) -> None:
    query = means(*(column for column in TWELVE if column not in ("income", "illness")))
    assert noise_curves(twelve, query) is None
    page = bp.influence_report(twelve, query).to_html()
    assert "<script" not in page


@pytest.mark.parametrize("seed", range(30))
def test_edges_between_are_those_on_simple_paths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = oracles.random_network(rng, 7).graph
    source, *columns = (str(name) for name in rng.choice(graph.nodes, size=3, replace=False))
    inside = graph.ancestral((source, *columns))
    skeleton = nx.Graph(edge for edge in graph.edges if edge[1] in inside)
    expected = set()
    for column in columns:
        if source in skeleton and column in skeleton:
            for path in nx.all_simple_paths(skeleton, source, column):
                expected |= {frozenset(step) for step in itertools.pairwise(path)}
    assert {frozenset(edge) for edge in edges_between(graph, source, columns)} == expected


def test_edges_come_with_what_is_left_without_them(student) -> None:
    (row,) = bp.influence_report(student, means("weight", "sat")).attributes
    changes = [abs(float(row.asked) - effect.nats) for effect in row.edges]
    assert changes == sorted(changes, reverse=True)
    assert {effect.edge for effect in row.edges} >= {("income", "sat"), ("income", "height"), ("height", "weight")}
    for effect in row.edges:
        cut = without_edge(student.network, *effect.edge)
        assert effect.nats == float(bp.max_influence(cut, {"weight", "sat"}, "income"))


def test_path_of_the_leak_is_open(twelve) -> None:
    for influence in bp.influence_report(twelve).attributes[0].columns:
        if float(influence) > 0:
            path = nx.Graph(leak_path(influence))
            assert nx.has_path(path, "income", *influence.columns)


def test_limits_of_the_arguments(student) -> None:
    with pytest.raises(ParameterError, match="a query needs a framework"):
        bp.influence_report(student.network)
    with pytest.raises(ParameterError, match="an epsilon only with a query"):
        bp.influence_report(student, epsilon=1.0)
    with pytest.raises(ParameterError, match="limit"):
        bp.influence_report(student, limit=0)


# its forms


def test_pandas_and_csv(student) -> None:
    report = bp.influence_report(student)
    table = report.to_pandas()
    assert table["column"].tolist() == ["sat", "height", "weight", "gender"]
    assert table["nats"].tolist() == [float(influence) for influence in report.attributes[0].columns]
    assert (
        report.to_csv().splitlines()[1]
        == f"income,sat,{float(table['nats'][0])!r},exact,sat = strong for high against low"
    )


def test_markdown_tables_are_even(student) -> None:
    report = bp.influence_report(student, BOTH, 1.0)
    for block in re.findall(r"(?:^\|.*\n?)+", report.to_markdown(), re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}) == 1


READ = ImportReport(
    nodes=(NodeReading(name="y", law="Normal", role="column", treatment="draws", reason="driven by x"),),
    columns={"score": ("x", "y")},
    latent=frozenset({"x"}),
    notes=("x is latent.",),
)


def documented() -> dict[str, str]:
    """Return the fields of an influence report that docs/report-schema.md names, with their types."""
    text = (ROOT / "docs/report-schema.md").read_text(encoding="utf-8")
    text = text.partition("## influence report\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", text, re.MULTILINE))


def fields(value: object, place: str = ""):
    """Yield every field of a JSON value with its value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{place}.{name}" if place else name
            yield here, inner
            yield from fields(inner, here)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, (dict, list)):
                yield from fields(inner, f"{place}[]")


def fits(value: object, kind: str) -> bool:
    """Return whether a JSON value is of a documented type."""
    checks = {
        "string": lambda: isinstance(value, str),
        "number": lambda: isinstance(value, (int, float)) and not isinstance(value, bool),
        "integer": lambda: isinstance(value, int) and not isinstance(value, bool),
        "boolean": lambda: isinstance(value, bool),
        "null": lambda: value is None,
        '"inf"': lambda: value == "inf",
        "list": lambda: isinstance(value, list),
        "list of string": lambda: isinstance(value, list) and all(isinstance(inner, str) for inner in value),
        "object": lambda: isinstance(value, dict),
    }
    return any(checks[part]() for part in re.split(r", | or ", kind.strip()))


def test_how_a_model_was_read_is_told_in_every_form(student) -> None:
    report = bp.influence_report(replace(student.network, reading=READ), protect="income")
    for text in (report.text, report.to_markdown(), report.to_html(), report._repr_html_()):
        assert "How the model was read" in text
        assert "driven by x" in text
    assert "How the model was read" not in bp.influence_report(student).text


def test_values_of_a_network_are_reported() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "pill": [[0.8, 0.4], [0.2, 0.6]]},
        states={"ill": [0, 1], "pill": [0, 1]},
        parents={"pill": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=100, columns={"ill": bp.Integer(0, 1), "pill": bp.Integer(0, 1)})
    framework = bp.ValuePrivacy(network, schema, "ill", source="a test")
    report = bp.influence_report(framework, bp.count(bp.col("pill") == 1), 1.5)
    assert "in any one record" in report.text
    assert "pill" in report.to_html()
    assert json.loads(report.to_json())["data"]["network"]["level"] == "records"


def drawn() -> DiscreteNetwork:
    import pandas as pd

    table = pd.DataFrame({"ill": ["no", "yes"] * 20, "pill": ["no", "no", "yes", "yes"] * 10})
    return DiscreteNetwork.posterior({"pill": ["ill"]}, table, public="made up", draws=20, seed=1)


def reports_of_networks(student, twelve, schools) -> list[bp.types.InfluenceReport]:
    """Return reports of all kinds of networks and notions, in which every field occurs."""
    linear = bp.types.GaussianNetwork.linear(
        {"i": 0.0, "x": 0.0, "y": 0.0}, {"i": 1.0, "x": 1.0, "y": 1.0}, {"x": {"i": 1.0}, "y": {"x": 1.0}}
    )
    secrets = {"i": bp.intervals(((0, 1), (2, 3)))}
    framework = bp.DistributionalAttributePrivacy(
        linear, bp.Schema(records=10, columns={"y": bp.Real(0, 1)}), secrets, source="a test"
    )
    shown = [kind() for kind in KINDS.values()]
    return [
        bp.influence_report(replace(student.network, reading=READ), protect="income"),
        bp.influence_report(student, BOTH),
        bp.influence_report(student, BOTH, 1.0),
        bp.influence_report(twelve, means("visits", "cost", "income"), 0.5),
        bp.influence_report(drawn(), protect="ill"),
        bp.influence_report(schools, bp.mean("score")),
        bp.influence_report(linear.read_as(READ), protect=secrets),
        bp.influence_report(framework, bp.mean("y"), 1.0, 1e-3),
        bp.influence_report(KINDS["dataset"]().framework, UNKNOWN),
        *(bp.influence_report(kind.framework) for kind in shown),
        *(kind.report for kind in shown),
    ]


def test_json_is_what_its_page_says(student, twelve, schools) -> None:
    schema = documented()
    assert len(schema) > 100
    seen: set[str] = set()
    for report in reports_of_networks(student, twelve, schools):
        found = list(fields(json.loads(report.to_json())["data"]))
        seen |= {place for place, _ in found}
        assert [place for place, _ in found if place not in schema] == []
        assert [(place, value) for place, value in found if not fits(value, schema[place])] == []
    assert sorted(schema.keys() - seen) == []


# what is told but for a chance


def chances(rng: np.random.Generator) -> tuple[DiscreteNetwork, tuple[SecretPair, ...], float]:
    """Return a network of records, pairs of secrets with sets among them, and a chance."""
    network = replace(oracles.random_network(rng, 4, models=2, deterministic=0.1), level="records")
    states = network.states["v0"]
    sets = [bp.pairs((states[:1], states[1:]))] if len(states) > 2 else []
    every = [*all_pairs(states), *(pair for each in sets for pair in each.ordered("v0", states))]
    return network, tuple(every), float(rng.choice([0.001, 0.02, 0.1, 0.3]))


@pytest.mark.parametrize("seed", seeds(20, 200))
def test_what_is_told_but_for_a_chance_by_its_definition(seed) -> None:
    network, pairs, chance = chances(np.random.default_rng(seed))
    for columns in (("v1",), ("v2", "v3")):
        influence = influence_of(network, columns, "v0", pairs)
        found = likely_influence(influence, chance)
        told, kept = 0.0, False
        for model in range(network.models):
            law = oracles.joint(network, model)
            rest = tuple(k for k, name in enumerate(network.attributes) if name not in ("v0", *columns))
            order = ["v0", *columns]
            names = [name for name in network.attributes if name in order]
            cells = np.transpose(law.sum(axis=rest), [names.index(name) for name in order])
            cells = cells.reshape(len(cells), -1)
            for pair in pairs:
                states = network.states["v0"]
                first, second = (cells[[s in side for s in states]].sum(axis=0) for side in (pair.first, pair.second))
                if min(first.sum(), second.sum()) < chance:
                    continue
                kept = True
                with np.errstate(divide="ignore", invalid="ignore"):
                    losses = np.log(first / first.sum()) - np.log(second / second.sum())
                losses[first == 0] = -np.inf
                # the least level above which there is no more than the chance
                least = min(level for level in (0.0, *losses) if level >= 0 and first[losses > level].sum() <= chance)
                told = max(told, least)
                assert first[losses > found.nats + 1e-9].sum() <= chance
                for size in range(1, len(first) + 1):
                    for some in itertools.combinations(range(len(first)), size):
                        left, right = first[list(some)].sum(), second[list(some)].sum()
                        allowed = math.exp(found.nats) * right * first.sum() / second.sum() if right else 0.0
                        assert math.isinf(found.nats) or left <= allowed + chance + 1e-9
        assert found.nats <= float(influence)
        assert found.nats == pytest.approx(told if kept else float(influence), abs=1e-9)


def test_what_is_told_but_for_a_chance_falls_with_it_and_its_witness_attains_it() -> None:
    law = {"ill": [0.3, 0.699, 0.001], "coughs": [[0.5, 0.1, 0.001], [0.49, 0.895, 0.001], [0.01, 0.005, 0.998]]}
    states = {"ill": ["yes", "no", "other"], "coughs": ["yes", "no", "other"]}
    network = DiscreteNetwork.from_tables(law, states=states, parents={"coughs": ["ill"]}, level="records")
    influence = bp.max_influence(network, {"coughs"}, "ill")
    assert str(influence.pair) == "no against other"
    found = [likely_influence(influence, chance) for chance in (1e-9, 0.0015, 0.01)]
    assert [each.nats for each in found] == sorted((each.nats for each in found), reverse=True)
    assert found[0].nats == pytest.approx(float(influence))
    assert found[1].nats == pytest.approx(math.log(0.5 / 0.1))
    assert (str(found[1].influence.pair), dict(found[1].influence.assignment)) == ("yes against no", {"coughs": "yes"})
    assert found[1].dependence is None


def test_a_chance_is_for_records_that_were_learned_or_by_request(student) -> None:
    assert bp.influence_report(student, delta=0.01).attributes[0].likely == {}
    network = replace(student.network, level="records")
    assert bp.influence_report(network, protect="income").attributes[0].likely == {}
    report = bp.influence_report(network, protect="income", delta=0.2)
    assert "Of all columns" in report.text
    assert "but for 1 record in 5" in report.text
    assert "public records" not in report.text
    with pytest.raises(ParameterError, match="delta must be at least 0 and below 1"):
        bp.influence_report(network, protect="income", delta=1.5)


def test_a_learned_report_ranks_by_what_somebody_can_meet(learned) -> None:
    report = bp.influence_report(learned)
    (row,) = report.attributes
    names = [min(told.columns) for told in row.columns]
    assert names[0] == "smoker"
    assert max(row.columns, key=float).columns != {"smoker"}
    likely = [row.likely[told.columns] for told in row.columns]
    assert [each.dependence for each in likely] == [True, *(False for _ in names[1:])]
    assert [each.nats for each in likely[1:]] == sorted((each.nats for each in likely[1:]), reverse=True)
    assert all(each.nats <= float(told) for each, told in zip(likely, row.columns, strict=True))
    assert row.asked is row.columns[0]
    for text in (report.text, report.to_markdown(), report.to_html()):
        plain = " ".join(re.sub(r"<[^>]*>", " ", text).replace("\\", "").replace("&nbsp;", " ").split())
        assert "Of the columns seen to depend on health, smoker tells most: but for 1 record in 100" in re.sub(
            r"[*`]", "", plain
        )
        assert "no dependence seen in 1,000 public records; odds that move by at most" in plain
        assert "in 95 % of the draws" in plain
        assert "at worst" in plain
    asked = bp.influence_report(learned, bp.count(bp.col("smoker") == "yes"))
    assert "nats), but for 1 record in 100; at worst" in asked.text
    assert asked.attributes[0].asked_likely is asked.attributes[0].likely[frozenset({"smoker"})]
    both = bp.influence_report(learned, bp.stack(*(bp.count(bp.col("town") == name) for name in "AB"), bp.mean("coin")))
    found = both.attributes[0].asked_likely
    assert found is not None
    assert found.dependence is None
    assert found.nats <= both.attributes[0].told
    assert "nats), but for 1 record in 100; at worst" in both.text


def test_fields_of_a_learned_report_are_documented(learned) -> None:
    known = documented()
    data = json.loads(bp.influence_report(learned).to_json())["data"]
    likely = data["protected"][0]["likely"]
    assert {each["columns"][0] for each in likely} == {each["columns"][0] for each in data["protected"][0]["columns"]}
    assert {each["chance"] for each in likely} == {0.01}
    for name, value in fields(likely, "protected[].likely"):
        assert fits(value, known[name]), name


def test_where_no_column_depends_the_report_says_so() -> None:
    rng = np.random.default_rng(5)
    seen = 0
    for seed in range(60):
        table = pd.DataFrame({name: rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2]) for name in "xyzu"})
        states = {name: ["a", "b", "c", "other"] for name in table}
        parents = {name: ["x"] for name in "yzu"}
        network = DiscreteNetwork.posterior(parents, table, public="made up", states=states, draws=20, seed=seed)
        report = bp.influence_report(network, protect="x")
        seen += any(each.dependence for each in report.attributes[0].likely.values())
        if not seen:
            assert "may tell most about x: no dependence seen in 400 public records" in report.headline
            assert "Of no column is a dependence on x seen in 400 public records." in report.text
    assert seen <= 4  # 1 in 100 by its level


def test_few_public_records_tell_of_no_chance() -> None:
    table = pd.DataFrame({"x": ["a", "b"] * 15, "y": ["a", "b"] * 15})
    network = DiscreteNetwork.posterior({"y": ["x"]}, table, public="made up", draws=5, seed=1)
    assert bp.influence_report(network, protect="x").attributes[0].likely == {}


def test_public_records_tell_of_two_columns_what_no_edge_does() -> None:
    """The exclusive or of two columns is the protected one: no search by pairs of columns sees that."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 1000))
    words = np.array(["n", "y"])
    public = pd.DataFrame({"a": words[a], "b": words[b], "ill": words[a ^ b]})
    framework = bp.start(public.head(3), records=800, protect="ill", learn=public, draws=4)
    report = bp.influence_report(framework, query='count((a == "y") & (b == "n"))', epsilon=1.0)
    (row,) = report.attributes
    likely = row.asked_likely
    assert likely is not None
    assert likely.by_table
    # nobody of the other class shows what 250 of the ill show: only the network's one record in 1,001 does
    assert 5 < likely.nats < 20
    assert {name: str(state) for name, state in likely.influence.assignment.items()}.keys() == {"a", "b"}
    assert row.explained is row.asked
    assert "at worst by the network" in report.text
    assert [row.likely[each.columns].dependence for each in row.columns] == [False, False]


def wide_chain(states: int, length: int, seed: int) -> bp.DiscreteNetwork:
    rng = np.random.default_rng(seed)
    names = [f"a{k}" for k in range(length)]
    sizes = [states, *(2,) * (length - 1)]
    tables = {"a0": rng.dirichlet(np.ones(states))}
    for k in range(1, length):
        tables[names[k]] = rng.dirichlet(np.ones(2), size=sizes[k - 1]).T
    return bp.DiscreteNetwork.from_tables(
        tables,
        states={name: list(range(size)) for name, size in zip(names, sizes, strict=True)},
        parents={names[k]: [names[k - 1]] for k in range(1, length)},
    )


@pytest.mark.parametrize("states", [3, 11])
def test_a_table_is_read_once_for_every_secret_and_not_for_every_pair(states: int, monkeypatch) -> None:
    network = wide_chain(states, 6, states)
    reads: list[int] = []
    tables: list[int] = []
    real_given, real_largest = RatioTables.given, RatioTables.largest
    monkeypatch.setattr(RatioTables, "given", lambda *a: reads.append(1) or real_given(*a))
    monkeypatch.setattr(RatioTables, "largest", lambda *a: tables.append(1) or real_largest(*a))
    report = bp.influence_report(network, protect="a0")
    assert len(report.attributes[0].pairs) == states * (states - 1)
    # what tells most is looked for among all pairs once, and then where one of them attains it
    assert len(reads) <= len(tables) * (states + 2)


def test_quilts_that_cannot_be_among_the_least_telling_are_not_looked_at(monkeypatch) -> None:
    asked: list[object] = []
    real = analysis_module._of_quilt
    monkeypatch.setattr(analysis_module, "_of_quilt", lambda *a: asked.append(a[1]) or real(*a))
    chain = wide_chain(3, 8, 0)
    randoms = (oracles.random_network(np.random.default_rng(seed), 8, deterministic=0.0) for seed in range(6))
    for network in (chain, *randoms):
        name = network.attributes[0]
        every = {q.quilt: float(bp.max_influence(network, q.quilt, name)) for q in bp.markov_quilts(network, name)}
        asked.clear()
        report = bp.influence_report(network, protect=name, limit=2).attributes[0]
        assert sorted(every.values())[:2] == [row.nats for row in report.quilts]
        assert report.more == max(0, len(every) - 2)
        assert all(told > report.quilts[-1].nats for quilt, told in every.items() if quilt not in asked)
        assert network is not chain or asked == [{"a6"}, {"a5"}]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_quilts_of_a_calibration_and_a_report_hold_the_used_one_and_the_frontier(student, delta: float) -> None:
    calibration = bp.MarkovQuiltMechanism().calibrate(student, BOTH, 1.0, delta)
    report = bp.influence_report(student, BOTH, 1.0, delta, limit=1)
    for quilts in (calibration.quilts, report.quilts):
        frame = quilts.to_pandas()
        (used,) = (row for row in calibration.certificate.decisions)
        assert frame["used"].sum() == 1
        assert frame.loc[frame["used"], "scale"].to_list() == [used.scale]
        assert frame.loc[frame["used"], "quilt"].to_list() == [tuple(sorted(used.quilt.quilt))]
        assert quilts.to_networkx().graph["quilt"] == tuple(sorted(used.quilt.quilt))
        assert used.quilt.protected in str(quilts)


def test_a_quilt_that_none_beats_in_both_ways_is_listed_however_much_it_tells() -> None:
    beaten = 0
    for seed in range(8):
        network = oracles.random_network(np.random.default_rng(seed), 7, deterministic=0.0)
        name, *others = network.attributes
        columns = {other: bp.Integer(0, 2) for other in others}
        framework = bp.DistributionalAttributePrivacy(
            network, bp.Schema(records=10, columns=columns), name, source="invented"
        )
        every, few = (
            bp.influence_report(framework, means(*others), 5.0, limit=limit).quilts.to_pandas() for limit in (999, 1)
        )
        sizes = [*zip(every["influence"], every["sensitivity"], strict=True)]
        usable = [size for size, scale in zip(sizes, every["scale"], strict=True) if scale < math.inf]
        best = {one for one in usable if not any(o[0] <= one[0] and o[1] <= one[1] and o != one for o in sizes)}
        assert best <= {*zip(few["influence"], few["sensitivity"], strict=True)}
        beaten += len(every) - len(few)
    assert beaten


def test_noise_that_rests_on_no_quilts_has_none(student) -> None:
    with pytest.raises(RefusedError, match="rest on Markov quilts"):
        _ = bp.ColumnMechanism().calibrate(student, BOTH, 1.0).quilts
