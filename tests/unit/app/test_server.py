"""The page in the browser, asked without one: the whole road, what is refused, and that nothing charged is lost."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.app import server
from bnpriv.app.forms import SentForm
from bnpriv.app.state import Draft, Place, read_state, write_state
from bnpriv.io.examples import example_data, example_path
from tests.unit.app.page import (
    HOST,
    HOSTILE,
    PORT,
    SERVE,
    TOKEN,
    Page,
    Served,
    key_of,
    protect,
    raw_tables,
    ready,
    said,
)


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
    assert len(links) == 2 + 5 + 4
    for link in links:
        answer = hospital.client.get(link)
        assert answer.status_code == 200
        assert answer.headers["content-disposition"].startswith("attachment")
    released = hospital.client.get("/download/release-1/release.json").json()
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
    assert page.desk.state == Draft()


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
        ("/table", {"sec-fetch-site": "same-site"}),
        ("/table", {"host": ""}),
        ("/?token=", {"cookie": ""}),
        (f"/table?token={TOKEN}", {"cookie": ""}),
        ("/nothing", {"cookie": ""}),
        ("/static/app.css", {"cookie": f"bnpriv-{PORT + 1}={TOKEN}"}),
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


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/table", 200),
        ("GET", "/", 200),
        ("GET", "/nothing", 404),
        ("GET", "/%2e%2e/%2e%2e/etc/passwd", 404),
        ("GET", "/static/..%2fserver.py", 404),
        ("GET", "/static/server.py", 404),
        ("GET", "/download/all/..%2fstate.json", 404),
        ("GET", "/download/all/x%22%0d%0a.exe", 404),
        ("GET", "/download/all/%E2%82%AC.zip", 404),
        ("GET", "/download/9/release.json", 404),
        ("GET", "/download/-1/release.json", 404),
        ("GET", f"/{'n' * 5000}", 404),
        ("GET", "/%00", 404),
        ("GET", "/table/", 307),
        ("POST", "/nothing", 404),
        ("OPTIONS", "/table", 405),
        ("PUT", "/table", 405),
        ("DELETE", "/table", 405),
        ("POST", "/strength/live", 405),
        ("GET", "/?token=wrong", 200),
    ],
)
def test_every_answer_has_its_policy(hospital: Page, method: str, path: str, status: int) -> None:
    answer = hospital.client.request(method, path, follow_redirects=False)
    assert answer.status_code == status
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "unsafe" not in answer.headers["content-security-policy"]
    for each in ("frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"):
        assert each in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
    assert TOKEN not in answer.text


def test_the_token_is_kept_from_scripts_and_from_other_pages(hospital: Page) -> None:
    answer = hospital.client.get("/", params={"token": TOKEN}, headers={"sec-fetch-site": "cross-site"})
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert answer.headers["refresh"] == "0; url=/table"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert TOKEN not in answer.text
    assert TOKEN not in hospital.get("table")


def test_what_goes_wrong_shows_only_its_kind(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    def show(*_: object) -> None:
        raise ZeroDivisionError("Ann earns 99999")

    monkeypatch.setitem(server.BY_NAME, "table", replace(server.BY_NAME["table"], show=show))
    client = TestClient(hospital.app, base_url=HOST, cookies=hospital.client.cookies, raise_server_exceptions=False)
    answer = client.get("/table")
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.text
    assert "99999" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


# --------------------------------------------------------------------------------------------------
# One session: a page does not wait for what another tab asked for, and what is handed over does not pile up.
# --------------------------------------------------------------------------------------------------


def test_a_page_does_not_wait_for_what_another_tab_asked_for(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, may_end = threading.Event(), threading.Event()
    before = hospital.desk.state

    def take(place: Place, state: Draft, form: SentForm) -> Draft:
        under_way.set()
        assert may_end.wait(30)
        return replace(state, query="mean(days)")

    monkeypatch.setitem(server.BY_NAME, "question", replace(server.BY_NAME["question"], take=take))
    tab = threading.Thread(target=hospital.client.post, args=("/question",))
    tab.start()
    assert under_way.wait(30)
    for step in ("table", "columns", "model"):
        hospital.get(step)
    assert hospital.desk.state == before
    may_end.set()
    tab.join()
    assert hospital.desk.state == replace(before, query="mean(days)")


def test_one_tab_changes_the_session_after_the_other(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way, second = threading.Event(), threading.Event()

    def take(place: Place, state: Draft, form: SentForm) -> Draft:
        if under_way.is_set():
            second.set()
        else:
            under_way.set()
            assert not second.wait(0.3), "two forms change the session at once"
        return replace(state, queries=(*state.queries, form.text("query")))

    monkeypatch.setitem(server.BY_NAME, "question", replace(server.BY_NAME["question"], take=take))
    tabs = [
        threading.Thread(target=hospital.client.post, args=("/question",), kwargs={"data": {"query": query}})
        for query in ("mean(days)", "count(days >= 8)")
    ]
    tabs[0].start()
    assert under_way.wait(30)
    tabs[1].start()
    for tab in tabs:
        tab.join()
    assert hospital.desk.state.queries == ("mean(days)", "count(days >= 8)")


def test_what_is_released_is_what_its_page_showed(hospital: Page) -> None:
    key = key_of(ready(hospital))
    hospital.send("strength", epsilon="1.5", delta="0")  # in another tab
    refused = hospital.send("release", 422, key=key, budget="2")
    assert "what is released is what its page showed" in said(refused)
    assert hospital.desk.state.releases == ()
    assert not Path(hospital.desk.place.ledger).exists()
    hospital.send("strength", epsilon="0.5", delta="0")
    hospital.send("release", key=key, budget="2")
    assert [each.state.epsilon for each in hospital.desk.state.releases] == [0.5]


def test_a_full_disk_is_refused_and_changes_nothing(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import os

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    ready(hospital)
    before = hospital.desk.state
    monkeypatch.setattr("bnpriv.app.state.os.fsync", full)
    page = said(hospital.send("strength", 422, epsilon="0.25", delta="0"))
    assert "No space left on device" in page
    assert hospital.desk.state == before == read_state(hospital.desk.place.kept)


def test_what_is_no_longer_chosen_is_not_kept(tmp_path: Path) -> None:
    raw_tables(tmp_path)
    page = Page(tmp_path).open()
    text = (tmp_path / "private.csv").read_bytes()

    def held() -> list[Path]:
        return sorted(path for path in (tmp_path / "uploads").rglob("*") if path.is_file())

    fields = {"table": "", "public": "public.csv", "records": "1000"}
    page.send("table", files={"table-file": ("a.csv", text)}, **fields)
    first = held()
    assert [str(path) for path in first] == [page.desk.state.table]
    page.send("table", 422, files={"table-file": ("b.csv", b"no table")}, **(fields | {"records": "none"}))
    assert held() == first
    page.send("table", files={"table-file": ("c.csv", text)}, **fields)
    assert [path.name for path in held()] == ["c.csv"]
    page.send("table", files={"table-file": ("", b"")}, **(fields | {"table": "private.csv"}))
    assert held() == []
    assert list((tmp_path / "uploads").iterdir()) == []


def test_a_step_keeps_what_it_kept_though_it_fails(hospital: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state in memory is the one on the disk, as after a charge whose answer fails."""
    kept = replace(hospital.desk.state, query="mean(days)")

    def take(place: Place, state: Draft, form: SentForm) -> Draft:
        write_state(kept, place.kept)
        raise ZeroDivisionError

    monkeypatch.setitem(server.BY_NAME, "question", replace(server.BY_NAME["question"], take=take))
    with pytest.raises(ZeroDivisionError):
        hospital.client.post("/question")
    assert hospital.desk.state == kept


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


# --------------------------------------------------------------------------------------------------
# The program itself: how it begins, who reaches it, and how it ends.
# --------------------------------------------------------------------------------------------------

OTHER_SIGNALS = ("SIGINT", "SIGHUP")

SLOW_PAGE = """
import sys, time
from dataclasses import replace
from pathlib import Path
from bnpriv.app import server
from bnpriv.cli import main

def show(place, state, form):
    (place.folder / "under-way").touch()
    time.sleep(60)

server.BY_NAME["columns"] = replace(server.BY_NAME["columns"], show=show)
sys.argv = ["bnpriv", "serve", "--no-browser"]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", ["SIGTERM", *(pytest.param(each, marks=pytest.mark.slow) for each in OTHER_SIGNALS)])
def test_a_signal_ends_it_and_nothing_that_was_handed_over_stays(tmp_path: Path, name: str) -> None:
    raw_tables(tmp_path)
    (tmp_path / "ledger.db.session").mkdir(mode=0o755)  # as somebody else's version or an unpacked copy left it
    with Served(tmp_path) as served:
        files = {"table-file": ("a.csv", (tmp_path / "private.csv").read_bytes())}
        sent = {"table": "", "public": "public.csv", "records": "1000"}
        assert served.client.post("/table", data=sent, files=files).status_code == 303
        kept = tmp_path / "ledger.db.session"
        assert kept.stat().st_mode & 0o077 == 0
        assert len(list((kept / "uploads").rglob("a.csv"))) == 1
        out, wrong = served.ended(getattr(signal, name), within=10)
    assert "Ended" in out
    assert wrong == ""
    assert not (kept / "uploads").exists()
    assert served.token not in "".join(path.read_text("utf-8", "replace") for path in kept.rglob("*") if path.is_file())


OPENING = """
import json, os, sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

opened = Path(unquote(urlsplit(sys.argv[1]).path))
told = {"words": sys.argv[1:], "text": opened.read_text(), "mode": opened.stat().st_mode, "path": str(opened)}
Path("told.new").write_text(json.dumps(told))
os.replace("told.new", "told.json")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of Unix")
def test_the_browser_is_started_without_the_token_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opening.py").write_text(OPENING)
    monkeypatch.setenv("BROWSER", f"{sys.executable} opening.py %s")
    with Served(tmp_path, program=[word for word in SERVE if word != "--no-browser"]) as served:
        until = time.monotonic() + 30
        while not (tmp_path / "told.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        told = json.loads((tmp_path / "told.json").read_text())
        assert served.token not in str(told["words"])
        assert f"url={served.address}" in told["text"]
        assert told["mode"] & 0o077 == 0
        assert "Ended" in served.ended(signal.SIGINT, within=10)[0]
    assert not Path(told["path"]).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGTERM", marks=pytest.mark.slow)])
def test_it_ends_in_time_while_a_page_is_being_made(tmp_path: Path, name: str) -> None:
    raw_tables(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW_PAGE)
    with Served(tmp_path, program=["slow.py"]) as served:
        sent = {"table": "private.csv", "public": "public.csv", "records": "1000"}
        assert served.client.post("/table", data=sent).status_code == 303
        tab = threading.Thread(target=_ask, args=(served, "/columns"))
        tab.start()
        until = time.monotonic() + 30
        while not (tmp_path / "under-way").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert "Ended" in served.ended(getattr(signal, name), within=10)[0]
        tab.join()


def _ask(served: Served, path: str) -> None:
    import httpx

    with contextlib.suppress(httpx.HTTPError):  # it may be answered that nothing comes
        served.client.get(path)


def test_only_this_machine_reaches_it_and_it_speaks_nothing_but_pages(tmp_path: Path) -> None:
    with Served(tmp_path) as served:
        with (
            pytest.raises(ConnectionRefusedError),
            socket.create_connection((_other_address(), served.port), timeout=5),
        ):
            pass
        raw = [f"GET /table HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nCookie: {_cookie(served)}\r\n"]
        upgrade = raw[0] + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        assert " 200 " in _spoken(served, f"{upgrade}Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n")
        assert " 400 " in _spoken(served, f"GET /{'n' * 200_000} HTTP/1.1\r\n\r\n")
        assert " 403 " in _spoken(served, "GET /table HTTP/1.0\r\n\r\n")
        false = f"POST /table HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: 9999999999\r\n\r\n"
        assert " 403 " in _spoken(served, false)
        out, wrong = served.ended(signal.SIGINT, within=10)
    assert wrong == ""
    assert served.token not in out


def _other_address() -> str:
    """An address of this machine that is not the loopback one, or one of the loopback ones that is not served."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.2"
        return asked.getsockname()[0]


def _cookie(served: Served) -> str:
    return f"bnpriv-{served.port}={served.token}"


def _spoken(served: Served, request: str) -> str:
    """The first line of an answer."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as spoken:
        spoken.sendall(request.encode())
        return spoken.makefile("rb").readline().decode()


@pytest.mark.slow
def test_a_ledger_is_served_once_and_two_ledgers_are_two_sessions(tmp_path: Path) -> None:
    with Served(tmp_path) as one:
        second = _run(tmp_path)
        assert second.returncode == 2
        assert "another that is open" in second.stderr
        with Served(tmp_path, "--ledger", "other.db") as other:
            assert other.client.get("/table", headers={"cookie": _cookie(one)}).status_code == 403
        taken = _run(tmp_path, "--ledger", "third.db", "--port", str(one.port))
        assert taken.returncode == 2
        assert f"port {one.port} must be free" in taken.stderr
        one.program.kill()  # by force: nothing keeps the next one out, and it clears up
        one.program.wait()
        assert (tmp_path / "ledger.db.session" / "uploads").exists()
    with Served(tmp_path) as again:
        assert "Ended" in again.ended(signal.SIGINT, within=10)[0]


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bnpriv", "serve", "--no-browser", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("model.py",), "must end in .toml"),
        (("none.toml",), "none.toml"),
        (("broken.toml",), "broken.toml"),
        (("--ledger", "model.py"), "not a database"),
        (("--ledger", "none/ledger.db"), "can be written"),
        (("--ledger", "mysql://root:hunter2@host/base"), "SQLite file or on a PostgreSQL server"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    (tmp_path / "model.py").write_text("model = None")
    (tmp_path / "broken.toml").write_text("= 1")
    (tmp_path / "folder").mkdir()
    made = _run(tmp_path, *words)
    assert made.returncode == 2
    assert made.stderr.startswith("refused: ")
    assert told in made.stderr
    assert "hunter2" not in made.stderr
    assert "Traceback" not in made.stderr


def test_a_session_folder_that_is_a_link_is_refused_and_nothing_behind_it_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "other" / "uploads").mkdir(parents=True)
    (tmp_path / "ledger.db.session").symlink_to(tmp_path / "other")
    assert "found a link" in _run(tmp_path).stderr
    assert (tmp_path / "other" / "uploads").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('none', name='uvicorn')")
    made = _run(tmp_path)
    assert made.returncode == 2
    assert 'pip install "bnpriv[app]"' in made.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("told", ["length", "chunks"])
def test_two_gigabytes_are_read_as_they_come_and_refused_in_words(tmp_path: Path, told: str) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="table-file"; filename="a.csv"\r\n\r\n'
    piece, count, most = b"1234567\n" * 2**17, 2048, 0
    with Served(tmp_path) as served:

        def coming() -> Iterator[bytes]:
            nonlocal most
            yield head
            for k in range(count):
                yield piece
                if k % 64 == 0:
                    status = Path(f"/proc/{served.program.pid}/status").read_text()
                    most = max(most, int(re.findall(r"VmRSS:\s+(\d+)", status)[0]))
            yield b"\r\n--x--\r\n"

        size = {"content-length": str(len(head) + count * len(piece) + 9)} if told == "length" else {}
        kind = {"content-type": "multipart/form-data; boundary=x"}
        answer = served.client.post("/table", content=coming(), headers=kind | size)
        assert answer.status_code == 422
        assert "has at most 1,024 MiB" in said(answer.text)
        assert most < 300 * 1024
        assert list((tmp_path / "ledger.db.session" / "uploads").iterdir()) == []
        served.ended(signal.SIGINT, within=10)
