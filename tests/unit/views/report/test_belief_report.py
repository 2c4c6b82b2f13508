"""Reports of a posterior that is read as a belief: estimates, or not known everywhere alike; the user's own graph."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.influence.base import influence_of
from bnpriv.views.report.words import estimate_text, interval_text
from tests.unit.views.report.conftest import believed

FORMS = ("text", "markdown", "html", "notebook")


def told(report: bp.types.InfluenceReport, form: str) -> str:
    made = {"text": lambda: report.text, "markdown": report.to_markdown, "html": report.to_html}
    return str(made.get(form, report._repr_html_)())


@pytest.fixture(scope="module")
def alone(schools) -> bp.types.InfluenceReport:
    return bp.influence_report(schools)


@pytest.fixture(scope="module")
def few() -> bp.types.InfluenceReport:
    return bp.influence_report(believed(200), protect={"theta[s1]": bp.intervals(((0, 5), (5, 10)))})


def test_the_most_telling_column_is_estimated_with_its_interval(alone) -> None:
    row = alone.attributes[0]
    assert alone.headline.startswith(
        "Of all parameters mu tells most about theta, school = s1: it moves the odds by about"
    )
    assert "but for delta 0.05 (estimate from draws)" in alone.headline
    best = row.estimated[frozenset({"mu"})]
    assert best.low < best.nats < best.high
    assert estimate_text(best) in alone.text
    assert interval_text(best) in alone.text
    assert [row.estimated[each.columns].rank for each in row.columns] == sorted(
        (each.rank for each in row.estimated.values()), reverse=True
    )


def test_what_matters_through_a_listed_function_alone_is_not_listed_beside_it(alone) -> None:
    listed = {name for each in alone.attributes[0].columns for name in each.columns}
    assert listed == {"mu", *(f"theta[s{k}]" for k in range(2, 12))}
    assert "11 entries that matter through a listed function alone are left out" in alone.text


@pytest.mark.parametrize("form", FORMS)
def test_nothing_infinite_is_shown_and_no_delta_of_1(alone, few, form: str) -> None:
    for report in (alone, few):
        text = told(report, form)
        for wrong in ("infinite", "any factor", "without bound", "certainty", "delta is 1"):
            assert wrong not in text
        cells = re.findall(r'<td class="l[^"]*"[^>]*>(.*?)</td>', text)
        assert not any("\u221e" in cell for cell in cells)


def test_what_draws_do_not_tell_is_not_known_everywhere_alike(few) -> None:
    assert "is not known: of 200 draws" in few.headline
    assert "Take about" in few.text
    data: Any = json.loads(few.to_json())["data"]["protected"][0]
    assert {each["nats"] for each in data["columns"]} == {None}
    for each in data["columns"]:
        assert [each["estimate"][end] for end in ("nats", "low", "high")] == [None, None, None]
        assert "independent ones" in each["estimate"]["unknown"]
        assert {step["delta"] for step in each["deltas"]} <= {None}
    frame = few.to_pandas()
    assert frame[["nats", "estimate", "low", "high"]].isna().all(axis=None)
    assert "inf" not in few.to_csv()
    assert few.curve == ()


def test_frames_hold_estimates_apart_from_bounds(alone) -> None:
    frame = alone.to_pandas()
    assert list(frame.columns)[-4:] == ["estimate", "low", "high", "delta"]
    assert frame["nats"].isna().all()
    assert (frame["low"] <= frame["estimate"]).all()
    assert set(frame["delta"]) == {0.05}
    data: Any = json.loads(alone.to_json())["data"]["protected"][0]["columns"][0]
    assert (data["nats"], data["estimate"]["nats"]) == (None, frame["estimate"][0])


def test_the_number_alone_is_a_bound_and_no_estimate(alone) -> None:
    """What `bnpriv report --quiet` prints is read by programs, as what is told at most."""
    assert alone.document.number == "inf"


def test_a_delta_of_the_users_counts(schools) -> None:
    report = bp.influence_report(schools, delta=0.2)
    assert "but for delta 0.2" in report.headline
    assert report.attributes[0].estimated[frozenset({"mu"})].delta == 0.2


def test_the_graph_is_that_of_the_model(alone) -> None:
    page = alone.to_html()
    assert "4 variables, 3 edges" in alone.text
    assert page.count('class="node') == 4 or len(re.findall(r"<g[^>]*node", page)) == 4
    assert "The model as it was declared" in page
    assert "school = s1" in page
    assert "Quilts (shields)" not in page
    assert "4 variables, 3 edges" in str(alone.network)


def test_lists_are_in_natural_order(alone) -> None:
    shown = bp.influence_report(believed(200), protect={"mu": bp.intervals(((0, 5), (5, 10)))})
    names = [name for each in shown.attributes[0].columns for name in sorted(each.columns)]
    assert names == [f"theta[s{k}]" for k in range(1, 12)]
    assert "What theta[s1], theta[s2], theta[s3], and 8 more" in shown.text


def test_the_answer_is_estimated_without_noise_and_noise_does_not_lean_on_it(schools) -> None:
    report = bp.influence_report(schools, bp.mean("score"))
    found = report.attributes[0].answer
    assert found is not None
    assert report.headline.startswith("mean(score) moves the odds about theta, school = s1 by about")
    assert math.isnan(report.attributes[0].told)
    assert json.loads(report.to_json())["data"]["protected"][0]["answer"]["nats"] == found.nats
    told_all = influence_of(schools.network, ["mu"], "theta[s1]", report.attributes[0].pairs)
    assert math.isinf(float(told_all))  # as noise takes it
