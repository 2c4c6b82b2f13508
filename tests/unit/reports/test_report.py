"""The influence report: what it holds, that its numbers are those of the mechanism, and that its page is whole."""

from __future__ import annotations

import itertools
import json
import math
import re
import time
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.inference import without_edge
from bnpriv.networks import DiscreteNetwork, Graph
from bnpriv.render.graph import HEIGHT, Drawing, graph_html
from bnpriv.render.html import style
from bnpriv.render.layout import layout
from bnpriv.render.text import number_text
from bnpriv.reports.curves import noise_curves, scale_at
from bnpriv.reports.edges import edges_between, leak_path
from bnpriv.reports.values import PRIORS, belief
from tests import oracles

ROOT = Path(__file__).resolve().parents[3]
TALL = bp.count(bp.col("height") > 180)
BOTH = bp.stack(TALL, bp.count(bp.col("sat") >= 1200))
TWELVE = ("age", "sex", "region", "income", "school", "smoker", "diet", "sport", "illness", "cover", "visits", "cost")


@pytest.fixture(scope="module")
def student() -> bp.DistributionalAttributePrivacy:
    return bp.example("student")


@pytest.fixture(scope="module")
def twelve() -> bp.DistributionalAttributePrivacy:
    """Twelve attributes, three models, two protected."""
    drawn = oracles.random_network(np.random.default_rng(7), 12, models=3, deterministic=0.05)
    name = dict(zip(drawn.attributes, TWELVE, strict=True))
    network = DiscreteNetwork.from_tables(
        {name[a]: drawn.probabilities(a) for a in drawn.attributes},
        states={name[a]: drawn.states[a] for a in drawn.attributes},
        parents={name[a]: [name[b] for b in drawn.graph.parents[a]] for a in drawn.attributes},
    )
    schema = bp.Schema(records=1000, columns={column: bp.Real(0, 1) for column in TWELVE})
    return bp.DistributionalAttributePrivacy(network, schema, ["income", "illness"], source="random numbers")


def means(*columns: str) -> bp.Query:
    return bp.stack(*(bp.mean(column) for column in columns))


# what it says


def test_headline_says_what_becomes_of_the_answer(student) -> None:
    assert str(bp.influence_report(student, TALL, 1.0)).startswith(f"{TALL} can be released without noise")
    assert str(bp.influence_report(student, BOTH, 1.0)).startswith(f"{BOTH} drowns in the noise")
    assert str(bp.influence_report(student, TALL)).startswith(f"{TALL} tells up to 0.2331 nats about income")
    assert str(bp.influence_report(student)).startswith("Of all columns sat tells most about income: it can turn a")


def test_a_network_in_which_nothing_tells() -> None:
    network = DiscreteNetwork.from_tables({"a": [0.5, 0.5], "b": [0.5, 0.5]}, states={"a": ["x", "y"], "b": ["x", "y"]})
    report = bp.influence_report(network, protect="a")
    assert str(report).startswith("No other column tells anything by itself about a")
    assert report.attributes[0].edges == ()
    alone = DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["x", "y"]})
    report = bp.influence_report(alone, protect="a")
    for text in (str(report), report.to_markdown(), report.to_html(), report.to_json(), report.to_csv()):
        assert "a" in text
    assert report.attributes[0].asked is None
    assert len(report.to_pandas()) == 0


def test_advice_names_an_epsilon_that_is_enough(student) -> None:
    text = str(bp.influence_report(student, BOTH, 1.0))
    found = re.search(r"It would be useful from epsilon ([\d.]+) on", text)
    assert found is not None
    enough = float(found[1])
    mechanism = bp.MarkovQuiltMechanism()
    assert mechanism.calibrate(student, BOTH, epsilon=enough).useful.verdict in ("exact", "sharp", "useful")
    assert mechanism.calibrate(student, BOTH, epsilon=enough - 0.2).useful.verdict in ("coarse", "drowned")


def test_the_page_answers_the_six_questions(student) -> None:
    page = bp.influence_report(student, BOTH, 1.0).to_html()
    for question in (
        "What is protected", "From whom", "What leaks most", "What noise it needs, and why",
        "Is the answer still useful?", "What the model must be trusted for",
    ):  # fmt: skip
        assert f"<dt>{question}</dt>" in page
    assert student.source in page
    assert bp.plan(student, BOTH, 1.0).best.guarantee.sentence.replace("10 %", "10&nbsp;%")[:200] in page
    assert "10,000 / (1 - 0.2331) = 13,039" in page
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
    assert "can rule out a secret of income" in str(bare)


def test_zero_and_infinity_differ_without_colour() -> None:
    network = DiscreteNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [[0.0, 0.5], [1.0, 0.5]], "z": [0.5, 0.5]},
        states={"x": ["a", "b"], "y": ["a", "b"], "z": ["a", "b"]},
        parents={"y": ["x"]},
    )
    page = bp.influence_report(network, protect="x").to_html()
    assert re.search(r'<td class="ltop"[^>]*>\u221e</td>', page)
    assert re.search(r'<td class="lzero"[^>]*>0</td>', page)
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
        assert len(row.quilts) <= 2
        every = len(list(bp.markov_quilts(twelve.network, row.protected)))
        assert row.more in (every - 1, every - 2)


@pytest.mark.parametrize("seed", range(25))
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
        assert scale_at(curves, epsilon) == pytest.approx(scale, rel=1e-9)


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


def documented() -> dict[str, str]:
    """Return the fields of docs/report-schema.md with their types."""
    text = (ROOT / "docs" / "report-schema.md").read_text(encoding="utf-8")
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


def test_json_is_what_its_page_says(student, twelve) -> None:
    schema = documented()
    assert len(schema) > 100
    reports = [
        bp.influence_report(student.network, protect="income"),
        bp.influence_report(student, BOTH),
        bp.influence_report(student, BOTH, 1.0),
        bp.influence_report(twelve, means("visits", "cost", "income"), 0.5),
    ]
    seen: set[str] = set()
    for report in reports:
        found = list(fields(json.loads(report.to_json())))
        seen |= {place for place, _ in found}
        assert [place for place, _ in found if place not in schema] == []
        assert [(place, value) for place, value in found if not fits(value, schema[place])] == []
    assert sorted(schema.keys() - seen) == []


# its page


def test_twelve_attributes_are_fast_and_small(twelve) -> None:
    query = means("visits", "cost", "diet")
    bp.influence_report(twelve, query, 2.0)  # imports and caches are not the report's
    start = time.process_time()
    page = bp.influence_report(twelve, query, 2.0).to_html()
    assert time.process_time() - start < 2
    assert len(page.encode()) < 400_000


def test_pages_load_nothing(student) -> None:
    report = bp.influence_report(student, BOTH, 1.0)
    page = report.to_html()
    for reference in ("src=", "href=", "url(", "@import", "<link", "<iframe", "fetch(", "XMLHttpRequest"):
        assert reference not in page, reference
    assert set(re.findall(r"https?://[^\"' ]*", page)) <= {"http://www.w3.org/2000/svg"}


def test_pages_are_written(student, tmp_path) -> None:
    best = bp.plan(student, TALL, 1.0)
    released = bp.release(best.best, bp.example_data("student"))
    made = (bp.influence_report(student, TALL, 1.0), best, best.best, released)
    for k, thing in enumerate(made):
        file = tmp_path / f"{k}.html"
        assert thing.to_html(file) == file.read_text(encoding="utf-8") == thing.to_html(str(file))


def test_notebooks_show_everything(student) -> None:
    best = bp.plan(student, BOTH, 1.0)
    quilt = next(iter(bp.markov_quilts(student.network, "income")))
    shown = {
        "network": student.network,
        "quilt": quilt,
        "influence": bp.max_influence(student.network, {"sat"}, "income"),
        "calibration": best.best,
        "plan": best,
        "release": bp.release(best.best, bp.example_data("student")),
        "report": bp.influence_report(student, BOTH, 1.0),
    }
    for kind, thing in shown.items():
        text = thing._repr_html_()
        assert text.startswith('<div class="bnpriv fragment">'), kind
        assert "<script" not in text, kind
        assert "income" in text or kind == "network", kind


def test_a_plan_without_mechanisms_has_a_page() -> None:
    refusal = bp.Refusal(required="x", found="y", remedy="z")
    empty = bp.Plan(calibrations=(), refusals=((bp.ColumnMechanism(), refusal),))
    assert "No mechanism supports this query" in empty.to_html()
    assert "No mechanism supports this query" in empty._repr_html_()


def test_a_release_shows_each_number_with_its_interval(student) -> None:
    calibration = bp.MarkovQuiltMechanism().calibrate(student, BOTH, epsilon=1.0)
    released = bp.release(calibration, bp.example_data("student"))
    page = released.to_html()
    for line in str(released).splitlines()[:2]:
        value = line.split(" = ")[1].split(" (")[0]
        assert f">{value}<" in page


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 20, 40])
def test_drawings_are_legible(nodes: int) -> None:
    graph = oracles.random_network(np.random.default_rng(nodes), nodes).graph
    widths = {name: 60.0 + 7 * (k % 5) for k, name in enumerate(graph.nodes)}
    found = layout(widths, graph.edges, height=HEIGHT, gap=16, between=44)
    for a, b in itertools.combinations(graph.nodes, 2):
        (x, y), (u, v) = found.centres[a], found.centres[b]
        assert abs(y - v) >= HEIGHT or abs(x - u) >= (widths[a] + widths[b]) / 2 + 15.9
    for parent, child in graph.edges:
        assert found.centres[parent][1] < found.centres[child][1]
        for x, y in found.routes[parent, child]:
            assert 0 <= x <= found.size[0]
            assert found.centres[parent][1] < y < found.centres[child][1]
    # no layer is so full that the drawing becomes a ribbon
    assert found.size[0] < 300 + 150 * math.sqrt(nodes)


def test_edges_pass_beside_nodes() -> None:
    graph = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("a", "c")})
    widths = dict.fromkeys(graph.nodes, 60.0)
    found = layout(widths, graph.edges, height=HEIGHT, gap=16, between=44)
    for x, y in found.routes["a", "d"]:
        assert all(abs(x - u) > 30 or abs(y - v) > HEIGHT / 2 for u, v in found.centres.values())


def test_drawings_speak(student) -> None:
    network = student.network
    drawing = Drawing(nodes=network.attributes, edges=network.graph.edges, title="A title", desc="What it shows.")
    text = graph_html(drawing)
    labels = re.search(r'aria-labelledby="(\S+) (\S+)"', text)
    assert labels is not None
    assert f'<title id="{labels[1]}">A title</title>' in text
    assert f'<desc id="{labels[2]}">What it shows.</desc>' in text


def palettes() -> list[dict[str, str]]:
    """Return the colours of the light, the dark and the printed page."""
    blocks = re.findall(r"\.bnpriv \{(.*?)\}", style(), re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", block)) for block in blocks if "--page" in block]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


TEXT_ON = [
    ("ink", "page"), ("ink", "panel"), ("soft", "page"), ("soft", "panel"), ("accent", "page"),
    ("good", "good-bg"), ("fair", "fair-bg"), ("poor", "poor-bg"), ("protected-ink", "protected"),
    ("ink", "quilt"), ("ink", "near"), ("ink", "remote"), ("soft", "quilt"), ("soft", "near"), ("soft", "remote"),
    ("ink", "l1"), ("ink", "l2"), ("ink", "l3"), ("ink", "l4"), ("hot-ink", "l5"), ("hot-ink", "l6"),
    ("hot-ink", "top"),
]  # fmt: skip


@pytest.mark.parametrize("palette", range(3))
def test_text_has_contrast(palette: int) -> None:
    colours = palettes()[palette]
    for ink, ground in TEXT_ON:
        bright, dark = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4.5, (ink, ground)


def test_number_text_is_what_the_page_prints() -> None:
    assert [number_text(x) for x in (0.0, 12345.678, 0.00123456, math.inf)] == ["0", "12,346", "0.001235", "infinite"]
