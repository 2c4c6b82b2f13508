"""The pages: whole, fast, small, legible, and complete for whoever sees nothing else."""

from __future__ import annotations

import html
import itertools
import math
import re
import time

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.graph import Graph
from bnpriv.render.graph import HEIGHT, Drawing, graph_html, layout
from bnpriv.render.html import style
from bnpriv.text import number_text
from tests import oracles

TALL = bp.count(bp.col("height") > 180)
BOTH = bp.stack(TALL, bp.count(bp.col("sat") >= 1200))


def means(*columns: str) -> bp.types.Query:
    return bp.stack(*(bp.mean(column) for column in columns))


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
        assert text.startswith('<div class="bnpriv fragment tex2jax_ignore mathjax_ignore">'), kind
        assert "<script" not in text, kind
        assert "income" in text or kind == "network", kind


def test_a_plan_without_mechanisms_has_a_page() -> None:
    refusal = bp.errors.Refusal(required="x", found="y", remedy="z")
    empty = bp.types.Plan(calibrations=(), refusals=((bp.ColumnMechanism(), refusal),))
    assert "No mechanism supports this query" in empty.to_html()
    assert "No mechanism supports this query" in empty._repr_html_()


def test_a_release_shows_each_number_with_its_interval(student) -> None:
    calibration = bp.MarkovQuiltMechanism().calibrate(student, BOTH, epsilon=1.0)
    released = bp.release(calibration, bp.example_data("student"))
    page = released.to_html()
    lines = released.text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("number "))
    for line in lines[start + 1 : start + 3]:
        label, value, between = re.split("  +", line)
        assert f">{html.escape(label)}<" in page
        assert f">{value}<" in page
        assert f">{between}<" in page


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
    both = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);", style())
    light, dark = ({name: pair[k] for name, *pair in both} for k in range(2))
    printed, *_ = re.findall(r"@media print \{\s*\.bnpriv[^{]*\{(.*?)\}", style(), re.DOTALL)
    return [light, dark, light | dict(re.findall(r"--([\w-]+): (#[0-9a-f]+);", printed))]


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
