"""The release and the downloads: asked once, kept for good, never charged by looking, and the same by program."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.app import release
from bnpriv.cli import app
from bnpriv.io.examples import example_data, example_path
from tests.unit.app.page import HOSTILE, Page, key_of, protect, raw_tables, ready, said


@pytest.fixture
def hospital(tmp_path: Path) -> Page:
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    return Page(tmp_path, example_path("hospital")).open()


def session_of(page: Page) -> bp.Session:
    return bp.Session(bp.example("hospital"), example_data("hospital"), ledger=page.desk.place.ledger)


def got(page: Page, path: str) -> bytes:
    answer = page.client.get(f"/download/{path}")
    assert answer.status_code == 200, said(answer.text)
    return answer.content


def ask(page: Page, status: int = 200, **fields: str) -> str:
    return page.send("release", status, key=key_of(page.get("release")), **fields)


def raw(folder: Path, name: str = "income", **facts: str) -> Page:
    """Go with a raw table to the release of a question."""
    raw_tables(folder, name)
    page = Page(folder).open()
    shown = page.send(
        "table", files={"table-file": ("", b"")}, table="private.csv", public="public.csv", records="1000"
    )
    listed = re.search('name="of" value="([^"]+)"', shown)
    assert listed is not None
    page.send("columns", of=listed[1], as__0="number", **facts)
    protect(page)
    page.send("model", act="find", graphs="1")
    page.send("question", what="count", subject__0="1.1")
    page.send("strength", epsilon="1", delta="0")
    return page


# --------------------------------------------------------------------------------------------------
# Asked once, charged once.
# --------------------------------------------------------------------------------------------------


def test_the_page_says_what_is_asked_and_costs_without_reading_the_table(hospital: Page, tmp_path: Path) -> None:
    ready(hospital)
    (tmp_path / "patients.parquet").write_bytes(b"no table at all")
    shown = said(hospital.get("release"))
    assert "count(days >= 8) of patients.parquet, with TightMechanism()" in shown
    assert "This release alone: epsilon 0.5. Odds move by at most 1.65 times (0.5 nats)" in shown
    assert "Fixed with the first release, for good. About 2 for four releases like this one." in shown
    assert "Protected: The number of records with" in shown
    assert "no single person" in shown
    refused = ask(hospital, 422, budget="2")
    assert 'id="ask-refusal"' in refused
    assert not Path(hospital.desk.place.ledger).exists()
    assert hospital.desk.state.releases == ()


def test_what_was_released_stands_first_until_something_else_is_asked(hospital: Page) -> None:
    ready(hospital)
    ask(hospital, budget="2")
    shown = hospital.get("release")
    assert shown.index(">Released<") < shown.index("Release it once more") < shown.index('name="key"')
    hospital.send("strength", epsilon="0.4", delta="0")
    shown = hospital.get("release")
    assert shown.index('name="key"') < shown.index(">Released<")
    assert "Release it once more" not in shown


def test_the_price_stands_beside_what_is_left(hospital: Page) -> None:
    ready(hospital)
    ask(hospital, budget="2")
    shown = said(hospital.get("release"))
    assert "count(days >= 8) would add epsilon 0.5 and leave 1" in shown
    assert "budget" not in re.findall('name="([^"]+)"', hospital.get("release"))


@pytest.mark.parametrize(("budget", "found"), [("", "none"), ("0.4", "0.4"), ("-1", "-1"), ("two", "something else")])
def test_a_budget_that_does_not_hold_the_first_release_opens_no_account(
    hospital: Page, budget: str, found: str
) -> None:
    ready(hospital)
    page = ask(hospital, 422, budget=budget)
    assert f"found {found}" in said("<main>" + page.partition('id="budget-refusal"')[2])
    assert not Path(hospital.desk.place.ledger).exists()


def test_two_tabs_that_spend_what_is_left_at_once(hospital: Page) -> None:
    ready(hospital, "0.4")
    ask(hospital, budget="1")
    keys = [key_of(hospital.get("release")) for _ in range(3)]
    before, answers = session_of(hospital).spent, list[int]()

    def send(key: str) -> None:
        answers.append(hospital.client.post("/release", data={"key": key}).status_code)

    tabs = [threading.Thread(target=send, args=(key,)) for key in keys]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(answers) == [200, 422, 422]
    assert len(hospital.desk.state.releases) == len(session_of(hospital).history.releases) == 2
    assert before == pytest.approx(0.4)
    assert session_of(hospital).spent <= 1
    shown = said(hospital.get("release"))
    assert shown.count("Statement for the data-protection officer") >= 2  # nothing of the first is lost


def test_the_name_of_a_file_cannot_break_out(hospital: Page, tmp_path: Path) -> None:
    name = "<script>&.parquet"
    shutil.move(tmp_path / "patients.parquet", tmp_path / name)
    hospital.send("table", files={"table-file": ("", b"")}, table=name)
    hospital.send("question", act="ask", query="count(days >= 8)")
    ask(hospital, budget="2")
    for step in ("table", "release", "downloads"):
        shown = hospital.get(step)
        assert name in said(shown)
        assert name not in shown


@pytest.mark.parametrize("key", ["", "short", "../../../etc/passwd", "a/b/c/d/e/f", "k" * 65, "naïve-key-1"])
def test_a_key_is_one_of_a_page(hospital: Page, key: str) -> None:
    ready(hospital)
    assert 'id="ask-refusal"' in hospital.send("release", 422, key=key, budget="2")
    assert not Path(hospital.desk.place.ledger).exists()


def test_a_useless_answer_is_ticked_before_it_is_charged(hospital: Page) -> None:
    ready(hospital)
    hospital.send("strength", epsilon="0.5", delta="0", mechanism="ColumnMechanism()")
    assert 'id="useless-refusal"' in ask(hospital, 422, budget="2")
    assert not Path(hospital.desk.place.ledger).exists()
    ask(hospital, budget="2", useless="yes")
    assert session_of(hospital).spent == pytest.approx(0.5)


def test_what_a_session_takes_is_offered_where_the_least_error_cannot_be_counted(hospital: Page) -> None:
    ready(hospital)
    hospital.send("strength", epsilon="0.5", delta="1e-6")
    hospital.send("release", key=key_of(hospital.get("release")), budget="2")
    account = session_of(hospital)
    assert repr(account).startswith("Session('data', budget=2")
    assert account.history.releases[0].entry.mechanism == "TightMechanism()"
    assert hospital.desk.state.releases[0].state.mechanism == "TightMechanism()"


def test_a_public_table_that_contradicts_the_model_is_refused_before(tmp_path: Path) -> None:
    page = raw(tmp_path)
    lines = (tmp_path / "public.csv").read_text("utf-8").replace("high", "low").replace(",no,", ",yes,")
    (tmp_path / "public.csv").write_text(lines.replace("low", "high", 300), encoding="utf-8")
    assert "The public table contradicts the model" in said(page.get("release"))
    assert 'id="despite-refusal"' in ask(page, 422, budget="3")
    assert page.desk.state.releases == ()
    ask(page, budget="3", despite="yes")
    assert len(page.desk.state.releases) == 1
    assert any("--despite-public" in line for line in release.commands(page.desk.place, page.desk.state)[0])


# --------------------------------------------------------------------------------------------------
# What was released stays.
# --------------------------------------------------------------------------------------------------


def test_what_was_released_stays_when_table_and_model_go(tmp_path: Path) -> None:
    page = raw(tmp_path)
    first = said(ask(page, budget="3")).partition("Released")[2]
    (tmp_path / "private.csv").unlink()
    (tmp_path / "public.csv").unlink()
    again = Page(tmp_path).open()
    assert again.desk.state.table == ""
    shown = said(again.get("release"))
    assert "To ask for more, go on with the table" in shown
    numbers = re.findall(r"[\d,.]+", first)[:6]
    assert re.findall(r"[\d,.]+", shown.partition("Released")[2])[:6] == numbers
    assert json.loads(got(again, "release-1/release.json"))["release"]
    page.desk.keep(replace(page.desk.state, framework="", hidden={}))
    assert said(page.get("release")).partition("Released")[2].startswith(" count(smokes")
    assert 'id="ask-refusal"' in page.send("release", 422, key="another-key")


def test_a_framework_file_that_was_given_and_changed_later_takes_nothing_back(tmp_path: Path) -> None:
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    shutil.copytree(example_path("hospital").parent, tmp_path / "given")
    given = tmp_path / "given" / example_path("hospital").name
    page = Page(tmp_path, given).open()
    ready(page)
    ask(page, budget="2")
    given.write_text(given.read_text("utf-8").replace("at_most = ", "at_most = 1"), encoding="utf-8")
    shown = page.get("release")
    assert "Statement for the data-protection officer" in said(shown)
    assert "bnpriv serve --ledger other.db" in said(shown)  # the changed one is another framework
    page.send("release", act="back")
    assert "would add epsilon" in said(page.get("release"))
    assert session_of(page).spent == pytest.approx(0.5)


@pytest.mark.parametrize("when", ["before", "while it is kept"])
def test_a_framework_file_that_changed_since_its_page_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Less noise than the page promised would be charged as if it were as much."""
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    shutil.copytree(example_path("hospital").parent, tmp_path / "given")
    given = tmp_path / "given" / example_path("hospital").name
    page = Page(tmp_path, given).open()
    key = key_of(ready(page))

    def change(*asked: Any) -> Any:
        given.write_text(given.read_text("utf-8").replace("at_most = 100", "at_most = 1"), encoding="utf-8")
        return kept(*asked) if asked else None

    kept = release._kept
    if when == "before":
        change()
    else:
        monkeypatch.setattr(release, "_kept", change)
    assert release.CHANGED in said(page.send("release", 422, key=key, budget="2"))
    assert page.desk.state.releases == ()
    assert not Path(page.desk.place.ledger).exists()


def test_a_price_that_another_program_changed_since_its_page_is_refused(hospital: Page) -> None:
    ready(hospital)
    ask(hospital, budget="2")
    key = key_of(hospital.get("release"))
    session_of(hospital).release("mean(days)", epsilon=0.5)
    spent = session_of(hospital).spent
    assert release.CHANGED in said(hospital.send("release", 422, key=key))
    assert session_of(hospital).spent == spent


def test_a_budget_beyond_counting_is_shown(hospital: Page) -> None:
    ready(hospital)
    assert "any number of questions" in said(ask(hospital, budget="1e308"))


class StoppedError(Exception):
    """What ends a process in a test."""


def test_a_crash_after_the_charge_loses_nothing(
    hospital: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(hospital)

    def stopping(*given: object) -> None:
        made(*given)  # type: ignore[arg-type]
        raise StoppedError

    made = release._release
    monkeypatch.setattr(release, "_release", stopping)
    with pytest.raises(StoppedError):
        ask(hospital, budget="2")
    monkeypatch.undo()
    (tmp_path / "patients.parquet").unlink()
    again = Page(tmp_path, example_path("hospital")).open()
    assert "Statement for the data-protection officer" in said(again.get("release"))
    told = json.loads(got(again, "release-1/release.json"))
    assert session_of(again).answers[1] == tuple(each["value"] for each in told["release"])
    assert session_of(again).spent == pytest.approx(0.5)


@pytest.mark.parametrize("wrong", [StoppedError(), bp.errors.DataError("a", found="b", remedy="c")])
def test_a_charge_without_an_answer_is_told_and_charged_once(
    hospital: Page, monkeypatch: pytest.MonkeyPatch, wrong: Exception
) -> None:
    ready(hospital)

    def stopping(*_: object) -> None:
        raise wrong

    monkeypatch.setattr("bnpriv.ledger.charged.drawn", stopping)
    with pytest.raises(StoppedError) if isinstance(wrong, StoppedError) else nullcontext():
        ask(hospital, 422, budget="2")
    monkeypatch.undo()
    for _ in range(2):
        shown = said(hospital.get("release"))
        assert "count(days >= 8)" in shown.partition("Released")[2]
        assert "Statement for the data-protection officer" not in shown
    assert hospital.get("downloads")
    assert session_of(hospital).spent == pytest.approx(0.5)


def test_who_decided_what_is_said_afterwards_and_kept(hospital: Page, tmp_path: Path) -> None:
    ready(hospital)
    ask(hospital, budget="2")
    shown = hospital.send("release", act="decide", epsilon="the board <i>", apart="")
    assert "decided: the board <i>" in said(shown)
    assert "<i>" not in shown
    page = hospital.send("release", 422, act="decide", epsilon="x" * 300)
    assert 'id="epsilon-refusal"' in page
    again = Page(tmp_path, example_path("hospital")).open()
    assert again.desk.state.decided == {"epsilon": "the board <i>"}
    for where in ("release-1", "together"):
        assert "the board" in got(again, f"{where}/statement.md").decode()
    assert "decided: the board" not in said(hospital.send("release", act="decide"))


# --------------------------------------------------------------------------------------------------
# A private table.
# --------------------------------------------------------------------------------------------------


def test_a_private_table_is_made_once(hospital: Page, tmp_path: Path) -> None:
    from bnpriv.tables.files import data_files

    ready(hospital)
    hospital.desk.keep(replace(hospital.desk.state, form="table"))
    shown = said(hospital.get("release"))
    assert "A whole private table for patients.parquet, by the form 'fill'." in shown
    assert 'id="seen-refusal"' in ask(hospital, 422, budget="2")
    assert not Path(hospital.desk.place.ledger).exists()
    key = key_of(hospital.get("release"))
    shown = hospital.send("release", key=key, budget="2", seen="yes")
    assert said(hospital.send("release", key=key, budget="2", seen="yes")) == said(shown)
    assert "Single persons are not protected" in said(shown)
    (tmp_path / "patients.parquet").unlink()
    again = Page(tmp_path, example_path("hospital")).open()
    assert "Single persons are not protected" in said(again.get("release"))
    (kept,) = (tmp_path / "kept").glob("*.parquet")
    assert kept.stat().st_mode & 0o077 == 0
    assert got(again, "release-1/table.parquet") == kept.read_bytes()
    assert data_files(str(kept))
    (tmp_path / "table.json").write_bytes(got(again, "release-1/release.json"))
    verdict = bp.verify((tmp_path / "table.json").read_text("utf-8"), example_path("hospital"))
    assert verdict.code == 0, str(verdict)
    with session_of(again) as session:
        assert [made.entry.mechanism for made in session.history.releases] == ["PrivateTable"]
        assert session.spent == pytest.approx(0.5)
    # a second one, and an answer beside it, are refused in words
    (tmp_path / "patients.parquet").write_bytes(example_data("hospital").read_bytes())
    again.desk.keep(replace(again.desk.state, table=str(tmp_path / "patients.parquet"), epsilon=1.9))
    assert "Of the budget of 2, 1.5 is left." in said(again.get("release"))
    assert 'id="ask-refusal"' in ask(again, 422, seen="yes")


def test_a_private_table_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    shutil.copy(example_data("student"), tmp_path / "students.parquet")
    page = Page(tmp_path, example_path("student")).open()
    page.send("table", files={"table-file": ("", b"")}, table="students.parquet")
    page.send("question", act="ask", query="count(height > 180)")
    page.send("strength", epsilon="1", delta="0")
    page.desk.keep(replace(page.desk.state, form="table"))
    shown = page.get("release")
    assert 'class="refusal"' in shown
    assert 'name="key"' not in shown


# --------------------------------------------------------------------------------------------------
# Downloads.
# --------------------------------------------------------------------------------------------------


def test_what_is_downloaded_is_verified(tmp_path: Path) -> None:
    page = raw(tmp_path)
    ask(page, budget="3")
    out = tmp_path / "out"
    with zipfile.ZipFile(io.BytesIO(got(page, "all/bnpriv.zip"))) as held:
        held.extractall(out)
        names = held.namelist()
    assert "framework/framework-public-records.csv" in names
    assert {"release-1/release.json", "release-1/statement.docx", "together/statement.md", "same.sh"} <= {*names}
    for file in ("release-1/release.json", "together/ledger.json"):
        verdict = bp.verify((out / file).read_text("utf-8"), out / "framework" / "framework.toml")
        assert verdict.code == 0, (file, str(verdict))
    with zipfile.ZipFile(io.BytesIO(got(page, "all/framework.zip"))) as held:
        assert {*held.namelist()} == {name for name in names if name.startswith("framework/")}
    assert page.client.get("/download/release-2/release.json").status_code == 404
    assert page.client.get("/download/framework/..%2f..%2fledger.db").status_code == 404


def test_without_python_docx_the_page_says_so(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    ready(hospital)
    ask(hospital, budget="2")
    assert "statement.docx" in hospital.get("downloads")
    monkeypatch.setitem(sys.modules, "docx", None)
    shown = hospital.get("downloads")
    assert "statement.docx" not in shown
    assert "python-docx" in shown
    assert hospital.client.get("/download/release-1/statement.docx").status_code == 404


def test_a_ledger_on_a_server_is_shown_without_its_password(hospital: Page) -> None:
    place = replace(hospital.desk.place, ledger="postgresql://me:secret@host/base")
    lines = [line for lines in release.commands(place, hospital.desk.state) for line in lines]
    assert not [line for line in lines if "secret" in line]


def test_a_copy_with_a_line_of_names_is_named_as_one(hospital: Page) -> None:
    ready(hospital)
    state = replace(hospital.desk.state, table="/tmp/a\nrm -r *-with-names.csv")
    for lines in release.commands(hospital.desk.place, state):
        assert lines[1] == "# a\\nrm -r *-with-names.csv: your table with a line of the names of its columns in front"


def run(folder: Path, program: str, *, apart: bool) -> None:
    """Run a program of the downloads: in processes of its own, or each command here."""
    text = (folder / program).read_text("utf-8")
    if apart:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        given = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
        words = ("sh", program) if program.endswith(".sh") else (sys.executable, program)
        done = subprocess.run(words, cwd=folder, env=given, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
    elif program.endswith(".py"):
        exec(compile(text, program, "exec"), {})
    else:
        for line in text.splitlines()[1:]:
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, (line, done.output, done.exception)


@pytest.mark.parametrize(
    ("column", "near", "form", "apart", "facts"),
    [
        ("income", 10, "answer", False, {}),
        ("it's", 10, "table", False, {"holds__0": "10, 90"}),
        pytest.param(HOSTILE, 7, "answer", True, {}, marks=pytest.mark.slow),
        pytest.param(HOSTILE, 10, "answer", True, {"codes__0": "99"}, marks=pytest.mark.slow),
    ],
)
def test_the_commands_and_the_python_do_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    near: int,
    form: str,
    apart: bool,
    facts: dict[str, str],
) -> None:
    here = tmp_path / "-here"
    here.mkdir()
    page = raw(here, column, **facts)
    assert page.desk.state.read_as == {"age": "number"}
    monkeypatch.chdir(here)
    page.desk.place = replace(page.desk.place, ledger="ledger.db")
    if near != 10:
        hidden = {name: replace(each, at_most=near) for name, each in page.desk.state.hidden.items()}
        page.desk.keep(replace(page.desk.state, hidden=hidden))
        page.send("model", act="learn")
    page.send("strength", epsilon="1.5", delta="1e-6")
    page.desk.keep(replace(page.desk.state, form=form))
    ask(page, budget="3", seen="yes")
    if apart:
        page.send("strength", epsilon="0.25", delta="1e-6", mechanism="TightMechanism()")
        ask(page)
    held = zipfile.ZipFile(io.BytesIO(got(page, "all/bnpriv.zip")))
    for name in ("same.sh", "same.py"):
        fresh = tmp_path / f"fresh of {name}"
        fresh.mkdir()
        held.extractall(fresh)
        for file in ("public.csv", "private.csv"):
            shutil.copy(here / file, fresh)
        monkeypatch.chdir(fresh)
        assert ("bnpriv init" in (fresh / name).read_text("utf-8")) == (near == 10 and name == "same.sh")
        run(fresh, name, apart=apart)
        made = fresh if (fresh / "framework.toml").exists() else fresh / "framework"
        framework = bp.read_framework(made / "framework.toml")
        assert framework.fingerprint() == bp.read_framework(page.desk.state.framework).fingerprint()
        again = bp.Session(framework, str(fresh / "private.csv"), ledger=fresh / "ledger.db")
        first = bp.Session(framework, str(here / "private.csv"), ledger=here / "ledger.db")
        assert asked_for(again) == asked_for(first)
        assert again.spent == first.spent
        assert "Who decided what" in (fresh / "release-1.html").read_text("utf-8")
        if name == "same.sh":  # what has a key is charged once
            head = again.head
            lines = (fresh / name).read_text("utf-8").splitlines()
            (fresh / "last.sh").write_text("\n".join(["set -e", lines[-1]]), encoding="utf-8")
            run(fresh, "last.sh", apart=apart)
            assert again.head == head


def asked_for(session: bp.Session) -> list[object]:
    return [made.entry.to_json() for made in session.history.releases]
