"""The page in the browser, asked without one: the whole road, what is refused, and that nothing charged is lost."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.app.state import State, read_state
from bnpriv.io.examples import example_data, example_path
from tests.unit.app.page import HOST, HOSTILE, PORT, TOKEN, Page, key_of, protect, raw_tables, ready, said


@pytest.fixture
def hospital(tmp_path: Path) -> Page:
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    return Page(tmp_path, example_path("hospital")).open()


def test_the_road_on_the_hospital_ends_with_a_statement(hospital: Page) -> None:
    shown = ready(hospital)
    assert "This release alone: epsilon 0.5." in said(shown)
    shown = hospital.send("release", key=key_of(shown), budget="2")
    assert "Statement for the data-protection officer" in said(shown)
    downloads = hospital.get("downloads")
    links = re.findall('href="(/download/[^"]+)"', downloads)
    assert len(links) == 1 + 5
    for link in links:
        answer = hospital.client.get(link)
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment")
    released = hospital.client.get("/download/0/release.json").json()
    with bp.Session(bp.example("hospital"), example_data("hospital"), ledger=hospital.desk.place.ledger) as session:
        assert session.answers[1] == tuple(each["value"] for each in released["release"])
        assert session.spent == pytest.approx(0.5)


def test_the_same_form_sent_again_is_the_same_release(hospital: Page) -> None:
    key = key_of(ready(hospital))
    first = hospital.send("release", key=key, budget="2")
    again = hospital.send("release", key=key, budget="2")
    assert said(first).partition("Released")[2] == said(again).partition("Released")[2]
    assert len(hospital.desk.state.releases) == 1


def test_a_restart_finds_what_was_charged(hospital: Page, tmp_path: Path) -> None:
    shown = hospital.send("release", key=key_of(ready(hospital)), budget="2")
    again = Page(tmp_path, example_path("hospital")).open()
    assert again.desk.state == hospital.desk.state
    assert said(again.get("release")).partition("Released")[2] == said(shown).partition("Released")[2]


def test_what_was_kept_and_never_charged_is_not_charged_by_looking(hospital: Page) -> None:
    from dataclasses import replace

    hospital.send("release", key=key_of(ready(hospital)), budget="2")
    lost = replace(hospital.desk.state.releases[0], key="never-charged")
    hospital.desk.keep(replace(hospital.desk.state, releases=(*hospital.desk.state.releases, lost)))
    assert "it was not charged" in said(hospital.get("release"))
    with bp.Session(bp.example("hospital"), example_data("hospital"), ledger=hospital.desk.place.ledger) as session:
        assert len(session.history.releases) == 1


def test_two_tabs_that_spend_the_last_of_a_budget_at_once(hospital: Page) -> None:
    ready(hospital)
    keys = [key_of(hospital.get("release")) for _ in range(2)]
    answers: list[int] = []

    def ask(key: str) -> None:
        answers.append(hospital.client.post("/release", data={"key": key, "budget": "0.6"}).status_code)

    tabs = [threading.Thread(target=ask, args=(key,)) for key in keys]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(answers) == [200, 422]
    assert len(hospital.desk.state.releases) == 1


@pytest.mark.parametrize(
    ("step", "fields", "field", "told"),
    [
        ("question", {"query": "count(day >= 8)"}, "query", "days"),
        ("question", {"query": "count(("}, "query", "found"),
        ("question", {"what": "count", "subject.0": "5", "value.0": "x"}, "value.0", "number"),
        ("strength", {"epsilon": "-1", "delta": "0"}, "epsilon", "epsilon"),
        ("strength", {"epsilon": "one", "delta": "0"}, "epsilon", "digits"),
        ("strength", {"epsilon": "1", "delta": "0", "mechanism": "NoMechanism"}, "mechanism", "mechanisms"),
        ("release", {"key": "12345678"}, "budget", "budget"),
        ("table", {"table": "../../etc/passwd"}, "table", "list"),
    ],
)
def test_a_refusal_stands_beside_its_field(
    hospital: Page, step: str, fields: dict[str, str], field: str, told: str
) -> None:
    ready(hospital)
    files = {"table-file": ("", b"")} if step == "table" else None
    page = hospital.send(step, 422, files, **fields)
    assert f'id="{field}-refusal"' in page
    beside = page.partition(f'id="{field}-refusal"')[2]
    assert told in said("<main>" + beside)
    assert 'role="alert"' in page
    for name, value in fields.items():  # what was written is still there
        if name not in ("key", "act", "mechanism", "table"):
            assert f'value="{value}"' in page.replace("&gt;", ">").replace("&#x27;", "'")


# --------------------------------------------------------------------------------------------------
# A raw table with gaps, and names that mean harm.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["income", HOSTILE])
def test_the_road_on_a_raw_table_with_gaps(tmp_path: Path, name: str) -> None:
    raw_tables(tmp_path, name)
    page = Page(tmp_path).open()
    shown = page.send(
        "table", files={"table-file": ("", b"")}, table="private.csv", public="public.csv", records="1000"
    )
    assert "smokes" in said(shown)
    page.send("columns", as__0="number")
    protect(page)
    shown = page.send("model", act="find", graphs="1")
    assert "<svg" in shown
    page.send("question", what="count", subject__0="1.1")
    page.send("strength", epsilon="1", delta="0")
    released = page.send("release", key=key_of(page.get("release")), budget="3")
    assert "Released" in said(released)
    for step in ("table", "columns", "secret", "model", "question", "strength", "release", "downloads"):
        text = page.get(step)
        assert "<script>alert" not in text
        assert text.count("<script") == 1
    assert read_state(tmp_path / "kept") == page.desk.state


def test_a_file_that_is_handed_over_lies_in_a_private_folder(tmp_path: Path) -> None:
    raw_tables(tmp_path)
    text = (tmp_path / "private.csv").read_bytes()
    (tmp_path / "private.csv").unlink()
    page = Page(tmp_path).open()
    files = {"table-file": ("../../private.csv", text)}
    page.send("table", files=files, table="", public="public.csv", records="1000")
    held = Path(page.desk.state.table)
    assert held.is_relative_to(tmp_path / "uploads")
    assert held.read_bytes() == text
    assert held.stat().st_mode & 0o077 == 0
    # going back and on without choosing anew keeps it
    page.send("table", files={"table-file": ("", b"")}, table="*", public="public.csv", records="1000")
    assert Path(page.desk.state.table) == held


def test_what_is_too_large_is_refused_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    raw_tables(tmp_path)
    page = Page(tmp_path, most_bytes=10_000).open()
    for told in (True, False):
        sent: Callable[..., object] = page.client.post
        body = b'--x\r\nContent-Disposition: form-data; name="table-file"; filename="a.csv"\r\n\r\n' + b"a" * 20_000
        chunks = body if told else (body[k : k + 1000] for k in range(0, len(body), 1000))
        answer = sent("/table", content=chunks, headers={"content-type": "multipart/form-data; boundary=x"})
        assert answer.status_code == 422  # type: ignore[attr-defined]
    assert not [path for path in (tmp_path / "uploads").rglob("*") if path.is_file()]
    assert page.desk.state == State()


def test_single_persons_are_sent_to_differential_privacy(tmp_path: Path) -> None:
    raw_tables(tmp_path)
    page = Page(tmp_path).open()
    page.send("table", files={"table-file": ("", b"")}, table="private.csv", public="public.csv", records="1000")
    assert "OpenDP" in said(page.send("secret", 422, single="yes"))


def test_a_step_that_cannot_be_shown_yet_leads_to_the_one_before(tmp_path: Path) -> None:
    page = Page(tmp_path).open()
    assert page.client.get("/strength").url == f"{HOST}/table"


# --------------------------------------------------------------------------------------------------
# Who may ask.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/table", {"cookie": ""}),
        ("/table", {"cookie": f"bnpriv-{PORT}=wrong"}),
        ("/?token=wrong", {"cookie": ""}),
        ("/table", {"host": "evil.example"}),
        ("/table", {"host": f"127.0.0.1.evil.example:{PORT}"}),
        ("/table", {"sec-fetch-site": "cross-site"}),
        ("/static/app.js", {"cookie": ""}),
        ("/download/framework/0", {"cookie": ""}),
    ],
)
def test_who_has_no_token_or_comes_from_elsewhere_is_refused(
    hospital: Page, path: str, headers: dict[str, str]
) -> None:
    answer = hospital.client.get(path, headers=headers)
    assert answer.status_code == 403
    assert "patients" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", ""])
def test_a_form_of_another_origin_is_refused(hospital: Page, origin: str) -> None:
    ready(hospital)
    before = hospital.desk.state
    answer = hospital.client.post("/question", data={"query": "mean(days)"}, headers={"origin": origin})
    assert answer.status_code == 403
    assert hospital.desk.state == before


def test_every_answer_has_its_policy_and_the_token_is_kept_from_scripts(hospital: Page) -> None:
    for path in ("/table", "/nothing", "/static/app.js", "/download/9/release.json", "/?token=wrong"):
        headers = hospital.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
    cookie = hospital.client.get("/", params={"token": TOKEN}, follow_redirects=False).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in hospital.get("table")


def test_pages_load_nothing_and_hold_no_style_or_script_of_their_own(hospital: Page) -> None:
    ready(hospital)
    for step in ("table", "columns", "secret", "model", "question", "strength", "release", "downloads"):
        page = hospital.get(step)
        assert "<style" not in page
        assert " style=" not in page
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', page)
        assert page.count("<h1") == 1
        for id_ in re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', page):  # every control has a label
            assert f'for="{id_}"' in page or id_ == "slider", (step, id_)
