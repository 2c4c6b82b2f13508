"""The pages of the secret and of the model: by questions, and by edges that are removed, turned and added."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bnpriv.app import model
from bnpriv.app.state import read_state
from bnpriv.io.framework_file import read_framework
from bnpriv.text import name_text
from tests.unit.app.page import HOSTILE, Page, protect, raw_tables, said

AGE, SMOKES, INCOME = "0", "1", "2"
CHOSEN = {"single": "no", "this": "yes", "protect": INCOME, "property.2": "0", "apart.2": "10"}
NO_FILE = {"table-file": ("", b"")}


def begun(folder: Path, name: str = "income") -> Page:
    """A raw table with a public one, up to the secret."""
    raw_tables(folder, name)
    page = Page(folder).open()
    page.send("table", files=NO_FILE, table="private.csv", public="public.csv", records="1000")
    return page


def found(folder: Path, name: str = "income") -> Page:
    """The same, up to the edges that are found in the public table."""
    page = begun(folder, name)
    protect(page)
    page.send("model", act="find", graphs="1")
    return page


def edges(page: Page) -> set[tuple[str, str]]:
    return set(read_framework(page.desk.state.framework).network.graph.edges)


def button(page: Page, text: str, place: int = 0) -> str:
    """What a button beside an edge sends."""
    return re.findall(f'value="({text} [0-9a-f]+)"', page.get("model"))[place]


def beside(shown: str, field: str) -> str:
    """The words of the refusal beside a field."""
    assert shown.count(f'id="{field}-refusal"') == 1
    assert f'href="#{field}"' in shown
    assert f'id="{field}"' in shown
    return said("<main>" + shown.partition(f'id="{field}-refusal"')[2].partition("</div>")[0])


# --------------------------------------------------------------------------------------------------
# Secret.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "field", "told"),
    [
        ({"single": "yes"}, "single", "Use differential privacy for that, for example OpenDP"),
        ({"single": "yes", "this": "yes", "behind": "yes"}, "single", "never a single record"),
        ({"single": "no", "this": "no", "behind": "yes"}, "behind", "learned from many public groups"),
        ({"single": "no", "this": "no", "behind": "no"}, "behind", "Publish the answer"),
        ({}, "single", "Answer yes or no"),
        ({"single": "no"}, "this", "Answer yes or no"),
        ({"single": "no", "this": "no"}, "behind", "Answer yes or no"),
        ({**CHOSEN, "protect": ""}, "protect", "Choose at least one"),
        ({**CHOSEN, "protect": "9"}, "protect", "Choose at least one"),
        ({**CHOSEN, "property.2": "9"}, "property.2", "found"),
        ({**CHOSEN, "written.2": "count(income =="}, "written.2", "found"),
        ({**CHOSEN, "written.2": "count(income == 'none')"}, "written.2", "found 'none'"),
        ({**CHOSEN, "written.2": "count(smokes == 'yes')"}, "written.2", "found one about 'smokes'"),
        ({**CHOSEN, "apart.2": "0"}, "apart.2", "from 1 to 1,000; found 0"),
        ({**CHOSEN, "apart.2": "1001"}, "apart.2", "from 1 to 1,000; found 1,001"),
        ({**CHOSEN, "apart.2": ""}, "apart.2", "found none"),
        ({**CHOSEN, "apart.2": "ten"}, "apart.2", "digits"),
    ],
)
def test_an_answer_that_leads_nowhere_is_refused_beside_it(
    tmp_path: Path, answers: dict[str, str], field: str, told: str
) -> None:
    page = begun(tmp_path)
    before = page.desk.state
    assert told in beside(page.send("secret", 422, **answers), field)
    assert page.desk.state == before


def test_what_is_hidden_is_chosen_or_written(tmp_path: Path) -> None:
    page = begun(tmp_path)
    shown = page.get("secret")
    assert "whether 495 or 505 of 1,000 records have it" in said(shown)
    assert "checked" not in shown  # nobody has decided yet
    assert "Of it: how many records have income = low; 10 apart" in said(shown)  # without that it is unfolded
    page.send("secret", **CHOSEN)
    assert page.desk.state.hidden["income"].property == 'count(income == "high")'
    shown = page.get("secret")
    for chosen in ('id="protect-2" value="2" checked', 'id="single-1" value="no" checked', 'value="10"'):
        assert chosen in shown
    page.send("secret", **CHOSEN, **{"written.2": "count(income == 'high') - count(income == 'low')"})
    assert "count(income" in page.get("secret").partition('id="written.2"')[2][:120]
    held = page.desk.state.hidden["income"]
    assert (held.property, held.at_most) == ('count(income == "high") - count(income == "low")', 10)
    page.send("model", act="find", graphs="1")
    secret = read_framework(page.desk.state.framework).protected_secrets[0]
    assert (secret.attribute, secret.distance) == ("income", 10)


def test_only_what_can_be_protected_is_offered_and_the_others_have_a_reason(tmp_path: Path) -> None:
    for name, count in (("public.csv", 800), ("private.csv", 9)):
        rows = "".join(f"{20 + k % 60},{'yes' if k % 3 else 'no'},Ann {k}\n" for k in range(count))
        (tmp_path / name).write_text(f"age,smokes,name\n{rows}", encoding="utf-8")
    page = Page(tmp_path).open()
    page.send("table", files=NO_FILE, table="private.csv", public="public.csv", records="9")
    shown = page.get("secret")
    assert shown.count('name="protect"') == 2
    assert "name cannot be protected: 800 of its 800 public values come once" in said(shown)


# --------------------------------------------------------------------------------------------------
# Model.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["income", HOSTILE])
def test_edges_are_turned_removed_added_and_found_again(tmp_path: Path, name: str) -> None:
    page = found(tmp_path, name)
    first = edges(page)
    assert first == {("smokes", name), (name, "age")}
    shown = page.get("model")
    assert "<svg" in shown
    assert f"smokes → {name_text(name)} shown 1.72 times 1 in 9,090 Remove Turn around" in said(shown)
    assert f"{name_text(name)} → age not shown 1.13 times 0.85" in said(shown)
    page.send("model", act=button(page, "turn"))
    assert edges(page) == {(name, "smokes"), (name, "age")}
    stale = button(page, "remove")
    page.send("model", act=stale)
    assert edges(page) == {(name, "age")}
    before = page.desk.state
    page.send("model", act=stale)  # as another tab does
    assert page.desk.state == before
    page.send("model", act="add", above=AGE, below=SMOKES)
    assert edges(page) == {(name, "age"), ("age", "smokes")}
    assert read_state(tmp_path / "kept") == page.desk.state
    assert "Undo: edges as they were found" in page.get("model")
    page.send("model", act="find", graphs="1")
    assert (edges(page), page.desk.state.edges) == (first, {})


@pytest.mark.parametrize(
    ("sent", "field", "told"),
    [
        ({"act": "add", "above": AGE, "below": SMOKES}, "below", "found the cycle"),
        ({"act": "add", "above": AGE, "below": AGE}, "below", "found the cycle age -> age"),
        ({"act": "add", "above": AGE, "below": ""}, "below", "an edge joins two columns of the model"),
        ({"act": "add", "above": AGE, "below": "7"}, "below", "no column of the table"),
        ({"act": "turn", "place": 2}, "edge-2", "found the cycle"),
    ],
)
def test_what_cannot_be_an_edge_is_refused_beside_it(
    tmp_path: Path, sent: dict[str, str | int], field: str, told: str
) -> None:
    page = found(tmp_path)
    page.send("model", act="add", above=SMOKES, below=AGE)  # smokes -> income -> age, and smokes -> age
    listed = [*page.desk.state.by_hand]
    assert listed[1] == ("smokes", "age")
    if "place" in sent:
        sent = {"act": button(page, "turn", 1)}
        field = "edge-1"
    before = page.desk.state
    assert told in beside(page.send("model", 422, **sent), field)  # type: ignore[arg-type]
    assert page.desk.state == before


def test_the_last_edge_stays(tmp_path: Path) -> None:
    page = found(tmp_path)
    page.send("model", act=button(page, "remove"))
    assert "edges must name at least one" in beside(page.send("model", 422, act=button(page, "remove")), "edge-0")


def test_another_secret_and_other_columns_lose_no_edges(tmp_path: Path) -> None:
    page = found(tmp_path)
    page.send("model", act="add", above=SMOKES, below=AGE)
    mine = page.desk.state.edges
    page.send("secret", **{**CHOSEN, "apart.2": "20"})
    assert (page.desk.state.framework, page.desk.state.edges) == ("", mine)
    shown = page.get("model")
    assert "<svg" in shown  # drawn before it is learned
    assert "Make the model of these edges" in shown
    page.send("model", act="learn")
    assert edges(page) == {*page.desk.state.by_hand}
    page.send("columns", **{"as.1": "id"})
    shown = page.get("model")
    assert "smokes: " in said(shown)
    assert "an edge joins two columns of the model" in beside(page.send("model", 422, act="learn"), "model")
    page.send("columns", **{"as.1": ""})
    page.send("model", act="learn")
    assert page.desk.state.edges == mine


def test_a_large_public_table_is_learned_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = found(tmp_path)
    assert "learned anew at once" in page.get("model")
    monkeypatch.setattr(model, "QUICK_CELLS", 10)
    assert "learned when you ask for it" in page.get("model")
    page.send("model", act="add", above=SMOKES, below=AGE)
    assert page.desk.state.framework == ""
    assert "found the cycle" in beside(page.send("model", 422, act="add", above=AGE, below=SMOKES), "below")
    page.send("model", act="learn")
    assert edges(page) == {("smokes", "income"), ("income", "age"), ("smokes", "age")}


def test_no_page_speaks_of_options_of_the_shell(tmp_path: Path) -> None:
    page = begun(tmp_path)
    rows = (tmp_path / "public.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    coded = [re.sub("^[0-9]+", "999", row) if k % 40 == 5 else row for k, row in enumerate(rows)]
    (tmp_path / "public.csv").write_text("".join(coded), encoding="utf-8")
    protect(page)
    page.send("model", act="find", graphs="1")
    assert "say so under Columns" in said(page.get("model"))
    for step in ("table", "columns", "secret", "model"):
        assert " --" not in said(page.get(step)), step


def test_resamples_and_few_records_are_told(tmp_path: Path) -> None:
    page = begun(tmp_path)
    rows = (tmp_path / "public.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "public.csv").write_text("".join(rows[:90]), encoding="utf-8")
    protect(page)
    shown = said(page.send("model", act="find", graphs="20"))
    assert "Only 89 public records: so few say little" in shown
    assert re.search(r"models: \d+ of 20", shown)
    page.send("model", act=button(page, "turn"))  # of all graphs one is taken
    assert "of 20" not in said(page.get("model")).partition("A resample")[0]


def test_without_a_public_table_every_edge_has_its_strength(tmp_path: Path) -> None:
    raw_tables(tmp_path)
    lines = ["column,categories,shares", "age,,", "smokes,no|yes,0.7|0.3", "income,low|high,0.6|0.4"]
    (tmp_path / "book.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    page = Page(tmp_path).open()
    page.send("table", files=NO_FILE, table="private.csv", book="book.csv", records="1000")
    assert "age cannot be protected: the codebook has no shares of it" in said(page.get("secret"))
    protect(page, 1)
    said_so = beside(page.send("model", 422, act="add", above="1", below="0", strength="0.5"), "strength")
    assert "from 1 (says nothing) to a million; found 0.5" in said_so
    wrong = page.send("model", 422, act="add", above="0", below="1", strength="2")
    assert "Turn it around, income -> smokes" in beside(wrong, "below")
    page.send("model", act="add", above="1", below="0", strength="1.5")
    shown = said(page.get("model"))
    assert "income → smokes 1.5 times" in shown
    assert "public table" not in shown
    assert "Found in the codebook" in shown
    page.send("model", act="add", above="1", below="0", strength="3")
    assert page.desk.state.edges == {"income": {"smokes": 3.0}}
    assert "income -> smokes: 3" in read_framework(page.desk.state.framework).source
