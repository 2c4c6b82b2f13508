"""The answer box of every page: the same rows in the same order, and how sure the noise is."""

from __future__ import annotations

import pytest

import bnpriv as bp
from tests.kinds import KINDS

SURE = "How sure that is"
SHARED = ("What is protected", "From whom", "What noise it needs, and why", SURE, "What it can change")
WORDS = {"exact": "Exact", "certified": "Certified", "estimate": "An estimate"}


def _box(page: str) -> str:
    return page[page.index("<dl") : page.index("</dl>")]


@pytest.mark.parametrize("kind", ["discrete", "density", "normal", "laws", "tables"])
def test_report_and_plan_say_the_same_rows_in_one_order_and_how_sure_they_are(kind: str) -> None:
    made = KINDS[kind]()
    report, plan = made.report, made.plan
    for page in (made.page, plan.to_html(), plan.best.to_html()):
        box = _box(page)
        places = [box.index(f"<dt>{row}</dt>") for row in SHARED]
        assert places == sorted(places)
        assert f"<b>{WORDS[plan.best.guarantee.kind]}</b>" in box[places[3] : places[4]]
    assert ("(an estimate)" in report.headline) == (plan.best.guarantee.kind == "estimate")
    assert plan.text.splitlines()[0] == report.text.splitlines()[0] == report.headline


def test_a_release_says_how_sure_it_is(student) -> None:
    plan = bp.plan(student, bp.count(bp.col("height") > 180), 1.0)
    page = bp.release(plan.best, bp.example_data("student")).to_html()
    assert "<b>Exact</b>" in _box(page)
