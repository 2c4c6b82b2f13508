"""The question and its strength: what can be chosen, what is refused where, and what follows the slider."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from bnpriv.app import question
from bnpriv.app.forms import FieldError, SentForm
from bnpriv.app.question import WHATS, live_strength, show_question, show_strength, take_question, take_strength
from bnpriv.app.state import Draft, Place, read_state
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.io.examples import example_data, example_path
from tests.unit.app.page import HOSTILE, Page, ready, said


def form(**fields: str) -> SentForm:
    return SentForm(values={name.replace("__", "."): [value] for name, value in fields.items()})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(folder=tmp_path, kept=tmp_path, uploads=tmp_path, ledger=str(tmp_path / "ledger.db"))


HOSPITAL = Draft(framework=str(example_path("hospital")), given=True)
"""Its columns are age_group, smoker, disease, ward, inhaler and days, from 1 to 13."""


def built(place: Place, state: Draft = HOSPITAL, **fields: str) -> str:
    return take_question(place, state, form(**fields)).query


def refused(place: Place, state: Draft, **fields: str) -> tuple[str, str]:
    """The field that is refused, and what stands beside it."""
    with pytest.raises(FieldError) as wrong:
        take_question(place, state, form(**fields))
    page = show_question(place, state, SentForm(form(**fields).values, problems={wrong.value.field: wrong.value.error}))
    assert page.count(f'id="{wrong.value.field}-refusal"') == 1
    return wrong.value.field, str(wrong.value.error)


# --------------------------------------------------------------------------------------------------
# The question.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"what": "count", "subject__0": "3.2"}, 'count(ward == "lungs")'),
        ({"what": "count", "subject__2": "3.2", "sign__2": "!="}, 'count(ward != "lungs")'),
        (
            {"what": "count", "subject__0": "3.2", "subject__1": "5", "sign__1": ">=", "value__1": "8", "join": "|"},
            'count(ward == "lungs" | days >= 8)',
        ),
        ({"what": "share", "subject__0": "5", "sign__0": "<", "value__0": "2.5"}, "proportion(days < 2.5)"),
        ({"what": "mean", "column": "5"}, "mean(days)"),
        ({"what": "median", "column": "5", "edges": "1, 5;13"}, "median(days, [1, 5, 13])"),
        ({"what": "quantile", "column": "5", "edges": "1,13", "shares": "0.1"}, "quantile(days, [0.1], [1, 13])"),
        ({"what": "total", "column": "5"}, "total(days)"),
        ({"what": "std", "column": "5"}, "std(days)"),
        ({"what": "variance", "column": "5"}, "variance(days)"),
        ({"what": "histogram", "column": "5", "edges": "1, 5, 13"}, "histogram(days, [1, 5, 13])"),
        ({"what": "histogram", "column": "3", "edges": "lungs, other"}, 'histogram(ward, ["lungs", "other"])'),
        ({"what": "histogram", "column": "3", "edges": ""}, "histogram(ward)"),
        ({"what": "groups", "column": "3", "subject__0": "0.0"}, 'count(age_group == "child") by ward'),
        ({"what": "crosstab", "column": "3", "other": "0"}, "crosstab(ward, age_group)"),
        ({"query": "stack(mean(days), histogram(ward))"}, "stack(mean(days), histogram(ward))"),
    ],
)
def test_a_question_is_built_by_choosing(place: Place, fields: dict[str, str], text: str) -> None:
    assert built(place, **fields) == text


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"what": "count"}, "subject.0", "condition"),
        ({"what": "count", "subject__0": "3.9"}, "subject.0", "chosen"),
        ({"what": "count", "subject__1": "5", "value__1": "x"}, "value.1", "days (1 to 13)"),
        ({"what": "count", "subject__1": "5", "value__1": "14"}, "value.1", "column may hold"),
        ({"what": "count", "subject__1": "5", "value__1": "nan"}, "value.1", "number"),
        ({"what": "count", "subject__0": "3.2", "sign__0": ">="}, "sign.0", "categorical"),
        ({"what": "count", "subject__0": "3.2", "sign__0": "; drop"}, "sign.0", "character"),
        ({"what": "mean", "column": "3"}, "column", "numbers"),
        ({"what": "median", "column": "3"}, "column", "numbers"),
        ({"what": "mean", "column": "6"}, "column", "chosen"),
        ({"what": "median", "column": "5", "edges": ""}, "edges", "edges"),
        ({"what": "median", "column": "5", "edges": "3, 2"}, "edges", "increase"),
        ({"what": "histogram", "column": "5", "edges": "1, b"}, "edges", "number"),
        ({"what": "histogram", "column": "3", "edges": "lung"}, "edges", "lungs"),
        ({"what": "quantile", "column": "5", "edges": "1, 13", "shares": "2"}, "shares", "below 1"),
        ({"what": "crosstab", "column": "3", "other": "3"}, "other", "once"),
        ({"what": "covariance", "column": "5", "other": "0"}, "other", "numbers"),
        ({"what": "nothing"}, "what", "chosen"),
        ({"query": "count(day >= 8)"}, "query", "days"),
        ({"query": "count(("}, "query", "character"),
        ({"query": ""}, "query", "queries"),
        ({"again": "3"}, "again", "chosen"),
    ],
)
def test_what_is_no_question_is_refused_beside_its_field(
    place: Place, fields: dict[str, str], field: str, told: str
) -> None:
    found, why = refused(place, replace(HOSPITAL, query="total(days)", queries=("mean(days)",)), **fields)
    assert found == field
    assert told in why


def test_every_question_to_choose_shows_only_fields_that_it_uses(place: Place) -> None:
    page = show_question(place, HOSPITAL, SentForm())
    for what, (_, text) in WHATS.items():
        shown = {
            field
            for used, inner in re.findall(
                'data-if="what" data-in="([^"]+)">(.*?)(?=data-if="what"|</form>)', page, re.S
            )
            if re.search(used, what)
            for field in re.findall(' name="([a-z]+)', inner)
        }
        wanted = set(re.findall("{(.*?)}", text))
        assert shown - {"together"} == (wanted - {"condition"}) | (
            {"subject", "sign", "value", "join"} if "condition" in wanted else set()
        ), what


def test_questions_asked_before_are_taken_again_or_asked_together(place: Place) -> None:
    first = take_question(place, HOSPITAL, form(query="mean(days)"))
    assert "Take it again" not in show_question(place, first, SentForm())
    second = take_question(place, first, form(what="histogram", column="3", together="yes"))
    assert second.query == "stack(mean(days), histogram(ward))"
    assert "Take it again" in show_question(place, second, SentForm())
    again = take_question(place, second, form(again="1"))
    assert again.query == "mean(days)"
    assert again.queries == ("mean(days)", "stack(mean(days), histogram(ward))")


def test_a_mechanism_is_kept_for_its_question_only(place: Place) -> None:
    chosen = Draft(framework=HOSPITAL.framework, query="mean(days)", mechanism="WassersteinMechanism()")
    assert take_question(place, chosen, form(query="mean(days)")).mechanism
    assert not take_question(place, chosen, form(query="total(days)")).mechanism


def test_what_it_would_leak_is_told_of_what_is_hidden_first(place: Place) -> None:
    page = said("<main" + show_question(place, take_question(place, HOSPITAL, form(query="mean(days)")), SentForm()))
    told = page.partition("must stay hidden")[2]
    assert re.search(r"disease : the odds move by at most [\d.]+ times \([\d.]+ nats\)", told)
    assert told.index("disease") < told.index("days")


def invented(folder: Path) -> Draft:
    """A framework with a hostile name, hostile labels, dates, and a column of more labels than are listed."""
    import bnpriv as bp
    from bnpriv.io.framework_text import write_framework
    from bnpriv.tables.readings import Dialect

    labels = ["<b>", '"', "a`b"]
    columns = {
        HOSTILE: bp.Categorical(labels),
        "born": bp.Integer(0, 20_000),
        "town": bp.Categorical([f"town {k}" for k in range(100)]),
    }
    schema = bp.Schema(records=50, columns=columns, dialect=Dialect(dates={"born": "DD.MM.YYYY"}))
    network = bp.DiscreteNetwork.from_tables({HOSTILE: [0.2, 0.3, 0.5]}, states={HOSTILE: labels}, level="records")
    secret = bp.Secret(bp.count(bp.col(HOSTILE) == "<b>"), pairs=bp.apart(at_most=5))
    made = bp.DatasetAttributePrivacy(network, schema, protect={HOSTILE: secret}, source="invented")
    write_framework(made, folder / "framework.toml")
    return Draft(framework=str(folder / "framework.toml"))


def test_names_and_labels_that_mean_harm_stay_text(place: Place) -> None:
    state = invented(place.folder)
    for k, label in enumerate(('"<b>"', r'"\""', '"a`b"')):
        asked = take_question(place, state, form(what="count", subject__0=f"0.{k}"))
        assert asked.query.endswith(f"== {label})")
        page = show_question(place, asked, SentForm()) + show_strength(place, asked, SentForm())
        assert "<script" not in page
        assert "<b>" not in page


def test_dates_are_told_and_written_as_dates(place: Place) -> None:
    state = invented(place.folder)
    assert "born (1970-01-01 to 2024-10-04)" in show_question(place, state, SentForm())
    since = {"what": "count", "subject__0": "1", "sign__0": ">="}
    assert built(place, state, **since, value__0="1990-12-31") == "count(born >= 1990-12-31)"
    asked = built(place, state, what="histogram", column="1", edges="1970-01-01, 1999-12-31, 2024-10-04")
    assert asked == "histogram(born, [1970-01-01, 1999-12-31, 2024-10-04])"
    for wrong in ("1990-02-31", "7000", "1969-12-31", "yesterday"):
        assert refused(place, state, **since, value__0=wrong)[0] == "value.0"


def test_a_label_of_very_many_is_written(place: Place) -> None:
    state = invented(place.folder)
    page = show_question(place, state, SentForm())
    assert "town (100 labels)" in page
    assert ">town: town 77<" not in page
    assert built(place, state, what="count", subject__0="2", value__0="town 77") == 'count(town == "town 77")'
    assert "town 7" in refused(place, state, what="count", subject__0="2", value__0="town7")[1]


# --------------------------------------------------------------------------------------------------
# The strength.
# --------------------------------------------------------------------------------------------------

ASKED = Draft(framework=HOSPITAL.framework, given=True, query="count(days >= 8)")


def strength(place: Place, state: Draft = ASKED, **fields: str) -> Draft:
    return take_strength(place, state, form(**{"delta": "0", **fields}))


def words(markup: str) -> str:
    return said("<main" + markup)


@pytest.mark.parametrize("typed", ["0.123456789", "1e-3", "9.999", "2", "0.30000000000000004"])
def test_what_is_typed_is_kept_exactly_and_shown_again(place: Place, typed: str) -> None:
    state = strength(place, epsilon=typed, slide="-1")
    assert state.epsilon == float(typed)
    shown = re.search('id="epsilon" value="([^"]+)"', show_strength(place, state, SentForm()))
    assert shown is not None
    assert float(shown[1]) == float(typed)


@pytest.mark.parametrize("typed", ["", "0", "-1", "nan", "inf", "1e400", "1e-30", "1e9", "one", "1,5"])
def test_an_epsilon_that_cannot_be_is_refused_beside_its_field(place: Place, typed: str) -> None:
    with pytest.raises(FieldError) as wrong:
        strength(place, epsilon=typed)
    assert wrong.value.field == "epsilon"
    live = live_strength(ASKED, form(epsilon=typed, delta="0"))
    assert 'id="epsilon-refusal"' in live
    assert "A belief" not in live
    problems: dict[str, BnprivError] = {"epsilon": wrong.value.error}
    page = show_strength(place, ASKED, SentForm(form(epsilon=typed, delta="0").values, problems=problems))
    assert page.count('id="epsilon-refusal"') == 1
    assert 'aria-invalid="true"' in page


@pytest.mark.parametrize("typed", ["-1", "1", "nan", "x"])
def test_a_delta_that_cannot_be_is_refused_beside_its_field(typed: str) -> None:
    assert 'id="delta-refusal"' in live_strength(ASKED, form(epsilon="1", delta=typed))


def test_the_slider_without_a_script_is_taken_by_its_button(place: Place) -> None:
    assert strength(place, epsilon="0.7", slide="-0.5", act="slide").epsilon == 0.32
    assert strength(place, epsilon="0.7", slide="-0.5", act="look").epsilon == 0.7
    assert strength(place, epsilon="0.7", slide="-0.5").epsilon == 0.7
    with pytest.raises(FieldError):
        strength(place, epsilon="0.7", slide="nan", act="slide")


def test_error_and_belief_follow_epsilon(place: Place) -> None:
    odds, errors = [], []
    for epsilon in ("0.1", "1", "3"):
        told = words(live_strength(ASKED, form(epsilon=epsilon, delta="0")))
        moved = re.search(r"become at most ([\d.,]+) to 1", told)
        off = re.search(r"off by ([\d.,]+) on average", told)
        assert moved is not None
        assert off is not None
        odds.append(float(moved[1].replace(",", "")))
        errors.append(float(off[1].replace(",", "")))
    assert odds == sorted(odds)
    assert errors == sorted(errors, reverse=True)


def test_what_is_said_aloud_is_short_and_only_that_is_live() -> None:
    live = live_strength(ASKED, form(epsilon="1", delta="0"))
    aloud, _, rest = live.partition('<div id="live">')
    assert 'role="status"' in aloud
    assert len(words(aloud)) < 400
    assert "role=" not in rest
    assert "aria-live" not in live


def test_every_mechanism_is_there_with_its_error_or_why_not() -> None:
    from bnpriv.app.memory import plan_at

    made = plan_at(ASKED.framework, ASKED.query, 1.0, 0.0)
    live = live_strength(ASKED, form(epsilon="1", delta="0"))
    for each in made.calibrations:
        assert f'value="{each.mechanism}"' in live
    for mechanism, _ in made.refusals:
        assert str(mechanism) in words(live)
    assert "useless" in words(live)


def test_of_an_answer_that_is_worked_out_the_errors_are_those_of_its_numbers() -> None:
    asked = replace(ASKED, query="std(days)")
    live = words(live_strength(asked, form(epsilon="1", delta="0")))
    assert "The answer is worked out of numbers off by" in live
    assert "the answer of 95 % of releases errs by at most" in live


def test_the_way_to_release_that_was_chosen_is_said_and_kept(place: Place) -> None:
    picked = {"epsilon": "0.3", "mechanism": "WassersteinMechanism()"}
    live = live_strength(ASKED, form(delta="0", **picked))
    assert re.search(r'value="WassersteinMechanism\(\)" checked', live)
    assert strength(place, **picked).mechanism == "WassersteinMechanism()"
    table = strength(place, epsilon="0.3", form="table")
    assert table.form == "table"
    assert "private table" in words(live_strength(table, SentForm()).partition('<div id="live">')[0])
    assert strength(place, table, epsilon="0.3", form="answer").form == "answer"


def test_what_an_epsilon_makes_impossible_is_refused_only_when_one_goes_on(place: Place) -> None:
    gone = {"epsilon": "1", "mechanism": "TightMechanism(noise='gaussian')"}
    assert strength(place, act="look", **gone).mechanism
    with pytest.raises(FieldError) as wrong:
        strength(place, **gone)
    assert wrong.value.field == "mechanism"
    assert strength(place, delta="0.00001", **gone).mechanism == gone["mechanism"]


def test_where_no_private_table_is_possible_that_is_said(place: Place) -> None:
    student = Draft(framework=str(example_path("student")), query="count(height > 180)")
    assert "Why no private table" in live_strength(student, form(epsilon="1", delta="0"))
    with pytest.raises(FieldError) as wrong:
        strength(place, student, epsilon="1", form="table")
    assert wrong.value.field == "form"


def test_the_table_is_told_where_nothing_hides_the_answer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.app.memory import plan_at
    from bnpriv.mechanisms.plan import Plan

    def none(*asked: object) -> Plan:
        return Plan(calibrations=(), refusals=plan_at(ASKED.framework, ASKED.query, 1.0, 0.0).refusals)

    monkeypatch.setattr(question, "plan_at", none)
    assert strength(place, epsilon="1", form="table").form == "table"
    with pytest.raises(FieldError) as wrong:
        strength(place, epsilon="1")
    assert wrong.value.field == "form"
    live = live_strength(ASKED, form(epsilon="1", delta="0"))
    assert re.search('name="form" id="form-0" value="table" checked', live)
    assert "mechanism-0" not in live


# --------------------------------------------------------------------------------------------------
# On the page.
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def hospital(tmp_path: Path) -> Page:
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    return Page(tmp_path, example_path("hospital")).open()


def test_to_look_stays_and_to_go_on_leads_to_the_release(hospital: Page) -> None:
    ready(hospital)
    look = hospital.client.post("/strength", data={"epsilon": "0.25", "delta": "0", "act": "look"})
    assert look.url.path == "/strength"
    assert hospital.desk.state.epsilon == 0.25
    assert read_state(hospital.desk.place.kept) == hospital.desk.state
    on = hospital.client.post("/strength", data={"epsilon": "0.25", "delta": "0"}, follow_redirects=False)
    assert on.headers["location"] == "/release"


def test_a_slow_plan_keeps_no_other_page_waiting(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(hospital)
    under_way, may_end, waited = Event(), Event(), list[bool]()

    def slow(*asked: object) -> object:
        under_way.set()
        waited.append(may_end.wait(30))
        raise ParameterError("a plan", found="a slow one", remedy="Wait.")

    monkeypatch.setattr(question, "plan_at", slow)
    ask = Thread(target=lambda: hospital.client.get("/strength/live", params={"epsilon": "1", "delta": "0"}))
    ask.start()
    assert under_way.wait(30)
    hospital.get("question")
    may_end.set()
    ask.join()
    assert waited == [True]
