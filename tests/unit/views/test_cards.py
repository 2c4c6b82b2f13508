"""Cards in notebooks: what a user declares and gets back shows itself, in the theme of the notebook."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.protected import ProtectedSecret
from bnpriv.core.influence.quilts import MarkovQuilt
from bnpriv.core.networks.graph import Graph
from bnpriv.render.as_text import block, screen_text, short_text
from bnpriv.render.document import Document
from bnpriv.render.html import style
from bnpriv.text import times_text, width
from bnpriv.views.calibration import guarantee_section
from bnpriv.views.cards import column_words, short_guarantee
from tests.kinds import KINDS

TALL = bp.count(bp.col("height") > 180)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_framework_has_a_card(kind: str) -> None:
    framework = KINDS[kind]().framework
    text = framework._repr_html_()
    assert framework.source in text.replace("&#x27;", "'")
    for name in framework.protected:
        assert f">{name}<" in text
    network = getattr(framework, "network", None)
    drawn = network is not None and len(network.attributes) > 1
    assert ('class="node protected"' in text) == drawn


def test_a_schema_says_what_each_column_may_hold() -> None:
    columns = {"height": bp.Real(120, 220), "code": bp.Categorical([str(k) for k in range(20)])}
    text = bp.Schema(records=12_345, columns=columns)._repr_html_()
    assert "12,345 records of 2 columns" in text
    assert "120 to 220" in text
    assert "and 8 more" in text


def test_a_query_shows_its_text_and_what_it_reads() -> None:
    text = bp.stack(TALL, bp.mean("sat"))._repr_html_()
    assert "count(height &gt; 180)" in text
    assert ">sat<" in text


def test_a_quilt_is_drawn_in_its_network() -> None:
    quilt = bp.markov_quilts(bp.example("student").network, "income")[1]
    text = quilt._repr_html_()
    assert text.count('class="node quilt"') == len(quilt.quilt)
    assert text.count('class="node remote"') == len(quilt.remote)
    alone = MarkovQuilt(protected=quilt.protected, quilt=quilt.quilt, near=quilt.near, remote=quilt.remote)
    assert alone == quilt
    assert "<svg" not in alone._repr_html_()


def test_quilts_are_a_sequence_that_is_found_as_it_is_asked_for() -> None:
    parents = {"a": (), **{f"u{k}": ("a",) for k in range(20)}, **{f"v{k}": (f"u{k}",) for k in range(20)}}
    many = Graph(parents | {"z": tuple(f"v{k}" for k in range(20))})
    quilts = bp.markov_quilts(many, "a")  # more than a million
    assert quilts[3] == quilts[:5][3]
    assert repr(quilts).startswith("MarkovQuilts(protected='a', {")
    assert repr(quilts).endswith(", ...)")
    assert "More are found" in quilts._repr_html_()
    few = bp.markov_quilts(Graph({"a": (), "b": ("a",), "c": ("b",)}), "a")
    assert few
    assert len(few) == len(list(few)) == len(list(few)) == 1  # it can be read again
    assert few[-1].quilt == {"b"}
    with pytest.raises(IndexError):
        few[1]
    assert not bp.markov_quilts(Graph({"a": ()}), "a")


def test_guarantee_and_certificate_have_cards() -> None:
    calibration = bp.plan(bp.example("student"), TALL, 0.1).best
    assert "becomes at most" in calibration.guarantee._repr_html_()
    shown = re.sub("</?dfn[^>]*>", "", calibration.guarantee._repr_html_())
    assert calibration.guarantee.sentence[:60] in shown
    assert f"docs/claims/{calibration.certificate.claim}" in calibration.certificate._repr_html_()


def test_the_influence_matrix_is_a_heat_map_of_the_same_numbers() -> None:
    network = bp.example("student").network
    matrix = bp.types.InfluenceMatrix.of(network)
    frame = bp.influence_matrix(network)
    assert list(frame.index) == list(matrix.protected)
    assert np.array_equal(frame.to_numpy(), matrix.values, equal_nan=True)
    text = matrix._repr_html_()
    assert 'class="heat"' in text
    assert ">6<" in text
    assert " 6\n" in matrix.text
    assert matrix.document.data["nats"][0][0] is None  # itself


def test_a_large_influence_matrix_is_a_picture_with_what_tells_most() -> None:
    names = [f"v{k}" for k in range(70)]
    tables = {name: [[0.9, 0.2], [0.1, 0.8]] for name in names}
    network = bp.DiscreteNetwork.from_tables(
        {**tables, "v0": [0.5, 0.5]},
        states=dict.fromkeys(names, ("few", "many")),
        parents={below: [above] for above, below in itertools.pairwise(names)},
    )
    matrix = bp.types.InfluenceMatrix.of(network)
    page = matrix.to_html()
    assert len(page) < 100_000
    assert 'class="l4"' in page
    assert '<table class="heat"' not in page
    text = matrix.text
    assert "A picture of 70 protected attributes, 70 that are seen." in text
    assert "more tell something; to_pandas() has the numbers." in text
    listed = text.split("What tells most", 1)[1].splitlines()
    assert listed[2].endswith(times_text(float(np.nanmax(matrix.values))))
    assert len(text.splitlines()) < 40
    assert len(matrix.document.data["nats"]) == 70


@pytest.mark.unhurried
def test_a_long_query_stands_below_the_headline() -> None:
    import pandas as pd

    names = [f"answer_number_{k}" for k in range(10)]
    network = bp.DiscreteNetwork.from_tables(
        {"secret": [0.5, 0.5], **{name: [[0.9, 0.2], [0.1, 0.8]] for name in names}},
        states=dict.fromkeys(["secret", *names], ("few", "many")),
        parents={name: ["secret"] for name in names},
    )
    schema = bp.Schema(records=3, columns={name: bp.Real(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, "secret", source="invented")
    short, query = bp.mean(names[0]), bp.linear(dict.fromkeys(names, 1.0))
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=1.0)
    released = bp.release(calibration, pd.DataFrame({name: [0.0, 1.0, 1.0] for name in names}))
    reports = [bp.influence_report(framework, query), bp.influence_report(framework, query, 1.0)]
    for shown in (calibration, bp.plan(framework, query, epsilon=1.0), released, *reports):
        first, text = shown.text.split("\n", 1)
        assert first.startswith("A query of 10 columns ")
        assert f"The query: {query}" in text
    first, text = bp.influence_report(framework, short).text.split("\n", 1)
    assert first.startswith(str(short))
    assert "The query: " not in text


def test_cards_follow_the_notebook_and_pages_the_system() -> None:
    rules = re.findall(r"([^{}]+)\{([^{}]*color-scheme:[^{}]*)\}", style())
    by_scheme = {re.search(r"color-scheme: ([^;]+);", body)[1]: selector for selector, body in rules}
    assert by_scheme["light dark"].strip() == ".bnpriv.page"
    assert '[data-jp-theme-light="false"] .bnpriv.fragment' in by_scheme["dark"]
    assert "prefers-color-scheme" not in style()


@pytest.mark.parametrize("delta", [0.0, 1 / 3e6])
@pytest.mark.parametrize(
    "name", ["a column with a name of many words", "column_without_a_space" * 4, "\u6771\u4eac" * 30]
)
def test_what_is_promised_is_printed_whatever_the_names(name: str, delta: float) -> None:
    for many in (1, 2, 12):
        secrets = [
            ProtectedSecret(attribute=f"{name}{k}", secret=f"what {name[:40]}{k} is", pairs="all", bounds_belief=k > 0)
            for k in range(many)
        ]
        promised = Guarantee(
            epsilon=2 / 3,
            delta=delta,
            secrets=tuple(secrets),
            models=1,
            source=name * 9,
            kind="estimate",
            confidence=0.95,
        )
        short = (
            f"{name} = 12; " * 9,
            *short_guarantee(promised, "the table, or whatever is made of it"),
            "Next: none.",
        )
        lines = short_text(Document(kind="release", headline=name * 9, short=short)).splitlines()
        text = " ".join(lines)
        assert len(lines) <= 8
        assert max(map(width, lines)) <= 100
        rare = "except with probability 1 in 1.5 million if one of the two is true"
        for said in ("single records are not", "an estimate, not proved", "confidence 95 %", "epsilon 0.6667", "Next"):
            assert said in text
        assert (rare in text, "rise by at most 3.9 times" in text) == ((True, True) if delta else (False, False))


def test_a_guarantee_that_fills_a_screen_is_explained_in_short() -> None:
    few, many = (
        Guarantee(
            epsilon=1.0,
            delta=0.0,
            secrets=(ProtectedSecret(attribute="a", secret="what a is", pairs="all pairs"),) * count,
            models=1,
            source="a book",
            kind="exact",
        )
        for count in (1, 200)
    )
    assert few.sentence in block(guarantee_section(few))
    section = guarantee_section(many)
    explained = screen_text(Document(kind="release", headline="A finding", sections=(section,)))
    assert "200 secrets" in explained
    assert "single records are not" in explained.replace("\n", " ")
    assert many.sentence in block(section)


ALL = ProtectedSecret(attribute="ill", secret="what ill is", pairs="all pairs", bounds_belief=True)
SOME = ProtectedSecret(attribute="age", secret="age", pairs="near")


def strength(*secrets: ProtectedSecret, **given: Any) -> str:
    said: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "models": 1, "source": "a book", "kind": "exact", **given}
    return " ".join(short_guarantee(Guarantee(secrets=secrets or (SOME,), **said)))


def test_the_strength_in_short_leaves_nothing_out() -> None:
    assert "odds move by at most 2.72 times (epsilon 1)." in strength()
    rare = strength(delta=1e-4)
    assert "odds rise by at most 5.44 times, except with probability 1 in 5,000 if one of the two is true" in rare
    assert "(epsilon 1, delta 0.0001)." in rare
    assert "with confidence 95 %)" in strength(kind="certified", confidence=0.95)
    assert "no factor bounds the odds (epsilon 1, delta 0.6)" in strength(delta=0.6)
    assert "with confidence 95 %" in strength(delta=0.6, confidence=0.95, kind="certified")
    assert "(epsilon 0.3334)" in strength(epsilon=0.33333333333)
    assert "at most 1.4 times" in strength(epsilon=0.33333333333)


def test_beliefs_in_short_are_those_that_are_bounded() -> None:
    assert "belief" not in strength()
    assert "a belief of 10 % to at most 23.2 %" in strength(ALL)
    assert "a belief of 10 % in a secret of ill to at most" in strength(ALL, SOME)


def test_how_sure_it_is_and_under_which_model_stand_in_short() -> None:
    assert "Under the model: a book; worked out exactly." in strength()
    assert "; a proved bound." in strength(kind="certified")
    assert "; an estimate, not proved." in strength(kind="estimate")
    assert "any one of the 3 declared models; a book" in strength(models=3)
    assert "single records are not" in strength()
    assert "single records" not in strength(single_values=True)
    assert "single records" not in strength(baseline_text="It hides single records.")


def test_more_secrets_than_have_room_are_counted() -> None:
    secrets = [replace(SOME, attribute=f"c{k}", secret=f"the number of records with c{k} = 1") for k in range(200)]
    assert "200 secrets, of c0, c1, c2 and 197 more" in strength(*secrets)


@pytest.mark.parametrize(
    ("column", "dates", "codes", "what", "gap"),
    [
        (bp.Integer(0, 1200), False, (), "whole numbers 0 to 1,200", "A gap counts as 600"),
        (bp.Real(0.5, 2, missing="not counted"), False, (9.0,), "numbers 0.5 to 2", "A gap, or 9, meets no condition"),
        (bp.Binned([0, 1], steps=2), False, (), "numbers 0 to 1, in one bin", "A gap counts as 0.5"),
        (bp.Integer(0, 60), True, (-1.0,), "dates 1970-01-01 to 1970-03-02", "A gap, or 1969-12-31, counts as"),
        (bp.Categorical(["a\u202e", "b"]), False, (), "2 labels: a\\u202e, b", "A gap, or a label that is not listed,"),
    ],
)
def test_a_column_in_words(column: Any, dates: bool, codes: tuple[float, ...], what: str, gap: str) -> None:
    found, counted = column_words(column, dates=dates, codes=codes)
    assert found == what
    assert counted.startswith(gap)
