"""Names are data: whatever they hold, no format takes them for markup, and a reader still recognises them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.render.as_markdown import name_of
from bnpriv.render.html import Html, data_block, element, escape, join, name, names, page
from bnpriv.text import csv_text, shorten, table_text, visible, width

HEBREW = "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd"
HOSTILE = (
    "<script>alert(1)</script>",
    "\\input{x}",
    "=cmd()",
    HEBREW,
    "\u202egnp.exe",
    "x" * 200,
    "line\nGuarantee: none\r\x1b[31mred",
    "double\" single' back`tick",
    "</script><img src=x onerror=alert(1)>",
    "--><svg/onload=alert(1)>",
    "a|b",
    "[link](javascript:alert(1))",
    "&lt;b&gt; &amp;",
    "# *bold* _it_ $x$ www.example.org",
    "{{7*7}} ${7*7} %s",
    "]]>\u2028\u2029\u200b",
)
STATES = ("</td><script>", '"=1+1\n')
WORD = re.compile("\\S+")
ELEMENTS = frozenset(
    WORD.findall(
        "html head meta title style body main div section h1 h2 h3 p b span code bdi dfn ul li dl dt dd table caption "
        "thead tbody tr th td details summary blockquote figure figcaption label input noscript script br "
        "svg desc g rect line path text"
    )
)
ATTRIBUTES = frozenset(
    WORD.findall(
        "lang charset http-equiv content name class id title scope tabindex role aria-label aria-labelledby "
        "aria-hidden data-label for type min max step hidden open "
        "viewbox width height preserveaspectratio xmlns transform d x y x1 y1 x2 y2 rx"
    )
)
VOID = frozenset({"meta", "input", "br"})


class Checker(HTMLParser):
    """Collects what a browser would see, and insists that every element is closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self.values: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        found = dict(attrs)
        assert found.keys() <= ATTRIBUTES, found
        assert len(found) == len(attrs), attrs
        self.values += [value for value in found.values() if value]
        if tag == "script":
            self.scripts.append((found, ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/> is not written")

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts.pop()
            self.scripts.append((attributes, text + data))
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("there are no comments")

    def handle_pi(self, data: str) -> None:
        raise AssertionError("there are no processing instructions")


@pytest.fixture(scope="module")
def framework() -> bp.DistributionalAttributePrivacy:
    """A chain of hostile names; the first is protected."""
    rng = np.random.default_rng(3)
    tables = {HOSTILE[0]: [0.4, 0.6]}
    tables |= {column: rng.dirichlet([1.0, 1.0], size=2).T for column in HOSTILE[1:]}
    network = DiscreteNetwork.from_tables(
        tables,
        states=dict.fromkeys(HOSTILE, STATES),
        parents={b: [a] for a, b in pairwise(HOSTILE)},
    )
    schema = bp.Schema(records=100, columns={column: bp.Real(0, 1) for column in HOSTILE})
    return bp.DistributionalAttributePrivacy(network, schema, HOSTILE[:2], source="<b>somebody</b>\n\x1b[2J said so")


@pytest.fixture(scope="module")
def query() -> bp.types.Query:
    return bp.stack(*(bp.mean(column) for column in HOSTILE[2:5]), bp.count(bp.col(HOSTILE[8]) > 0.5))


@pytest.fixture(scope="module")
def things(framework, query) -> dict[str, object]:
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=0.5)
    import pandas as pd

    table = pd.DataFrame({column: np.full(100, 0.25) for column in HOSTILE})
    return {
        "network report": bp.influence_report(framework.network, protect=HOSTILE[0]),
        "report": bp.influence_report(framework, query, 0.5),
        "calibration": calibration,
        "plan": bp.plan(framework, query, 0.5),
        "release": bp.release(calibration, table),
        "network": framework.network,
        "quilt": next(iter(bp.markov_quilts(framework.network, HOSTILE[0]))),
        "influence": bp.max_influence(framework.network, {HOSTILE[5], HOSTILE[8]}, HOSTILE[0]),
        "quilts": bp.markov_quilts(framework.network, HOSTILE[0]),
        "matrix": bp.types.InfluenceMatrix.of(framework.network),
        "framework": framework,
        "schema": framework.schema,
        "query": query,
        "guarantee": calibration.guarantee,
        "certificate": calibration.certificate,
        "leaks": bp.leaks(framework, query),
        "tradeoff": bp.tradeoff(framework, query, [0.5, 1.0]),
        "comparison": bp.compare(framework, framework, query, 0.5),
    }


SHOWN = ("network report", "report", "calibration", "plan", "release", "matrix", "leaks", "tradeoff", "comparison")
CARDS = ("network", "quilt", "influence", "quilts", "framework", "schema", "query", "guarantee", "certificate")


@pytest.mark.parametrize("kind", [*SHOWN, *CARDS])
def test_no_element_is_injected_into_a_notebook(things, kind: str) -> None:
    found = Checker(things[kind]._repr_html_())
    assert found.scripts == []
    assert_neutral("".join(found.texts + found.values))


@pytest.mark.parametrize("kind", SHOWN)
def test_no_element_is_injected_into_a_page(things, kind: str) -> None:
    text = things[kind].to_html()
    found = Checker(text)
    assert len(found.scripts) == (2 if kind == "report" else 0)
    assert_neutral("".join(found.texts + found.values))
    text.encode("utf-8")


def test_the_only_script_that_may_run_is_ours(things) -> None:
    text = things["report"].to_html()
    (data_attributes, data), (attributes, script) = Checker(text).scripts
    assert data_attributes["type"] == "application/json"
    assert "type" not in attributes
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert f"script-src &#x27;sha256-{digest}&#x27;" in policy[1]
    assert "default-src &#x27;none&#x27;" in policy[1]
    json.loads(data)


def test_every_name_can_be_read_in_full(things) -> None:
    found = Checker(things["network report"].to_html())
    seen = {*found.texts, *found.values}
    for column in HOSTILE:
        assert visible(column) in seen, column


def test_names_stand_in_their_own_direction(things) -> None:
    assert f'<bdi class="name">{HEBREW}</bdi>' in things["network report"].to_html()


def assert_neutral(text: str) -> None:
    """Nothing that steers a terminal or turns the direction, apart from line breaks and balanced isolates."""
    bad = [
        letter
        for letter in text
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in "\n\u2068\u2069"
    ]
    assert bad == []


@pytest.mark.parametrize("kind", SHOWN)
def test_plain_text_is_harmless(things, kind: str) -> None:
    text = str(things[kind])
    assert_neutral(text)
    # no name begins a line of its own
    assert not re.search(r"^Guarantee: none", text, re.MULTILINE)


@pytest.mark.parametrize("kind", ["release", "quilt", "influence", "quilts"])
def test_reprs_are_harmless(things, kind: str) -> None:
    assert_neutral(repr(things[kind]))
    assert "\n" not in repr(things[kind])


def test_explanations_are_harmless(things) -> None:
    assert_neutral(things["influence"].explain())
    assert len(things["influence"].explain().splitlines()) < 20


@pytest.mark.parametrize("kind", SHOWN)
def test_markdown_holds_no_markup_of_names(things, kind: str) -> None:
    text = things[kind].to_markdown()
    assert_neutral(text)
    outside = re.sub(r"(?<!\\)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)[<`$]", outside)
    assert not re.search(r"(?<!\\)\]\(", outside)
    assert not re.search(r"(?<!\\)\\input", outside)
    assert "www.example" not in outside
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}) == 1
    assert name_of(HOSTILE[1]) == "\\\\input\\{x\\}"
    assert name_of(HOSTILE[1]) in text or kind == "tradeoff"  # which names no attribute


def test_json_keeps_names_as_they_are(things, framework) -> None:
    found = json.loads(things["report"].to_json())["data"]
    assert [attribute["name"] for attribute in found["network"]["attributes"]] == list(framework.network.attributes)
    assert found["source"] == framework.source


def test_csv_holds_no_formula(things) -> None:
    rows = list(csv.reader(io.StringIO(things["network report"].to_csv())))
    assert len({len(row) for row in rows}) == 1
    for row in rows[1:]:
        for cell in (row[0], row[1], row[3], row[4]):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "|", "%"))
        float(row[2])
    assert "'=cmd()" in {row[1] for row in rows}


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "  =1", "\t=1", "|x", "%x"])
def test_formulas_become_text(cell: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_text([cell], [])))
    assert row[0].startswith(("'", "\\"))


def test_a_table_cannot_be_broken() -> None:
    text = table_text(["name", "nats"], [["a\nb", "1"], [HEBREW, "2"], ["x" * 500, "3"], ["\u6771\u4eac", "4"]])
    lines = text.splitlines()
    assert len(lines) == 5
    assert {width(line[: line.rindex(line.split()[-1])]) for line in lines[1:]} == {len("x" * 60) + 2}


@pytest.mark.parametrize("most", [5, 10, 40])
def test_short_names_differ_where_long_ones_do(most: int) -> None:
    long = "abcdefghij" * 20
    assert len(shorten(long, most)) <= most
    assert shorten(f"1{long}", most) != shorten(f"2{long}", most)
    assert shorten(f"{long}1", most) != shorten(f"{long}2", most)
    assert shorten("short", most) == "short"


def test_text_is_escaped_and_markup_is_not() -> None:
    assert escape("<b>") == "&lt;b&gt;"
    assert escape(Html("<b>")) == "<b>"
    assert join("<", Html("<br>")) == "&lt;<br>"
    assert element("p", "<", title='">') == '<p title="&quot;&gt;">&lt;</p>'
    # what is put together with a str is text again
    assert escape(Html("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;"
    assert escape(f"{Html('<b>')}") == "&lt;b&gt;"


def test_long_names_show_themselves() -> None:
    found = Checker(name("x" * 200))
    assert "x" * 200 in found.values
    assert len(found.texts[0]) < 50
    assert "and 3 more" in names([f"column {k}" for k in range(5)], most=2)


def test_data_cannot_leave_its_element() -> None:
    value = {"</script><script>alert(1)</script>": ["<!--", "]]>", "\u2028"]}
    text = page("title", data_block("data", value))
    ((_, data),) = Checker(text).scripts
    assert json.loads(data) == value
    assert "<" not in data
