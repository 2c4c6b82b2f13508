"""The local page in a real browser: the road with mouse, keyboard and no script, who is kept out, and how it looks."""

from __future__ import annotations

import http.server
import importlib.util
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.io.examples import example_data, example_path
from tests.browser.test_html import CHROMIUM, DRIVER
from tests.browser.visitor import STEPS, Keyboard, Visitor, chromium, raw_tables, server, to_release

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with chromedriver on the PATH"),
    pytest.mark.slow,
]
SCRIPT = "<script>window.harmed=1</script>"
HOSTILE = f"{SCRIPT}\"'=HYPERLINK(1)"
LABEL = "=1+1</option></script><img src=x onerror=window.harmed=1>"
FILE = "\"'><img src=x onerror=window.harmed=1>.csv"


@pytest.fixture
def driver() -> Iterator:
    with chromium(pytest.importorskip("selenium.webdriver")) as made:
        yield made


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[str]:
    """A session in a folder with raw tables."""
    raw_tables(tmp_path)
    with server(tmp_path) as (_, address):
        yield address


@pytest.fixture
def hospital(tmp_path: Path) -> Iterator[str]:
    """A session with the framework of the hospital, in a folder with its table."""
    shutil.copy(example_data("hospital"), tmp_path / "patients.parquet")
    with server(tmp_path, str(example_path("hospital"))) as (_, address):
        yield address


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Somebody who has gone the whole road, and looks at pages only."""
    folder = tmp_path_factory.mktemp("finished")
    raw_tables(folder)
    with (
        server(folder) as (_, address),
        chromium(pytest.importorskip("selenium.webdriver")) as driver,
    ):
        visitor = Visitor(driver, address, folder)
        assert list(to_release(visitor))[-1] == "downloads"
        yield visitor


def hospital_to_release(visitor: Visitor, epsilon: str = "0.5", budget: str = "0.6") -> None:
    """Go to the release of a question on the hospital, and stop before it is asked for."""
    visitor.open()
    visitor.choose("table", "patients.parquet")
    visitor.send("table")
    visitor.press("Question")
    visitor.choose("subject.0", "days (1 to 13)")
    visitor.choose("sign.0", "is at least")
    visitor.write("value.0", "8")
    visitor.send("what")
    assert "count(days >= 8)" in visitor.words
    visitor.press("Go on")
    visitor.write("epsilon", epsilon)
    visitor.send("epsilon")
    assert visitor.title == "Release", visitor.words
    visitor.write("budget", budget)


def held(folder: Path) -> dict[str, bytes]:
    """All that a session has kept: its state and its ledger."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def spent(folder: Path) -> tuple[int, float]:
    """How many releases the ledger holds of the hospital, and what they cost."""
    with bp.Session(bp.example("hospital"), example_data("hospital"), ledger=str(folder / "ledger.db")) as session:
        return len(session.history.releases), session.spent


# --------------------------------------------------------------------------------------------------
# The road.
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [Visitor, Keyboard])
def test_the_whole_road_on_raw_tables(driver, tmp_path: Path, how: type[Visitor]) -> None:
    raw_tables(tmp_path)
    with server(tmp_path) as (running, address):
        visitor = how(driver, address)
        for name in to_release(visitor):
            assert visitor.complaints() == [], name
        assert ".docx" in visitor.words
        visitor.press("Release")
        assert "Statement for the data-protection officer" in visitor.words
        assert visitor.origin in (asked := visitor.asked_for())
        assert asked <= {visitor.origin, "data"}  # no request leaves the machine
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 0


@pytest.mark.parametrize("how", [Visitor, Keyboard])
def test_the_whole_road_on_the_hospital(driver, hospital: str, tmp_path: Path, how: type[Visitor]) -> None:
    visitor = how(driver, hospital)
    hospital_to_release(visitor)
    visitor.send("budget")
    assert "Statement for the data-protection officer" in visitor.words
    assert spent(tmp_path) == (1, pytest.approx(0.5))
    assert visitor.complaints() == []


def test_a_file_that_is_handed_over(driver, raw: str, tmp_path: Path) -> None:
    (tmp_path / "private.csv").rename(tmp_path / "handed.txt")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "handed.txt").rename(tmp_path / "elsewhere" / "mine.csv")
    visitor = Visitor(driver, raw)
    visitor.open()
    visitor.field("table-file").send_keys(str(tmp_path / "elsewhere" / "mine.csv"))
    visitor.choose("public", "public.csv")
    visitor.write("records", "1000")
    visitor.send("records")
    assert visitor.title == "Columns"
    visitor.open("table")
    assert "mine.csv" in visitor.words


def test_without_scripts_the_road_is_the_same(driver, raw: str) -> None:
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    visitor = Visitor(driver, raw)
    for _ in to_release(visitor):
        pass
    assert ".docx" in visitor.words


def test_the_slider_moves_the_belief_and_is_not_kept_before_it_is_sent(driver, hospital: str) -> None:
    visitor = Keyboard(driver, hospital)
    hospital_to_release(visitor)
    visitor.open("strength")
    before, slider = visitor.field("said").text, driver.find_element("css selector", "input[type=range]")
    visitor.reach(slider)
    visitor.type(*[driver_key("LEFT")] * 5)
    visitor.wait(lambda: "odds" in visitor.field("said").text and visitor.field("said").text != before, "a belief")
    assert float(visitor.field("epsilon").get_attribute("value")) < 0.5
    assert slider.get_attribute("aria-valuetext").startswith("epsilon 0.")
    assert visitor.field("said").get_attribute("role") == "status"
    visitor.open("strength")
    assert visitor.field("said").text == before
    assert visitor.complaints() == []


def driver_key(name: str) -> str:
    from selenium.webdriver.common.keys import Keys

    return getattr(Keys, name)


def test_a_refusal_has_the_focus_and_leads_to_its_field(driver, hospital: str) -> None:
    visitor = Keyboard(driver, hospital)
    hospital_to_release(visitor)
    visitor.open("question")
    visitor.write("query", "count(day >= 8)")
    with visitor.leaving():
        visitor.type(driver_key("ENTER"))
    assert visitor.title == "Question (refused)"
    assert driver.switch_to.active_element.get_attribute("id") == "alert"
    field = visitor.field("query")
    assert field.get_attribute("value") == "count(day >= 8)"
    assert field.get_attribute("aria-invalid") == "true"
    told = [visitor.field(id_).text for id_ in field.get_attribute("aria-describedby").split()]
    assert "days" in told[-1]
    visitor.reach(driver.find_element("css selector", "#alert a"))
    visitor.type(driver_key("ENTER"))
    # the next tab stop is the field
    visitor.wait(lambda: visitor.driver.current_url.endswith("#query"), "the field")
    visitor.reach(field)


# --------------------------------------------------------------------------------------------------
# What means harm.
# --------------------------------------------------------------------------------------------------


def test_hostile_names_run_nothing_and_break_nothing(driver, tmp_path: Path) -> None:
    raw_tables(tmp_path, HOSTILE, LABEL, FILE)
    with server(tmp_path) as (_, address):
        visitor = Visitor(driver, address)
        seen: dict[str, str] = {}
        for name in to_release(visitor, FILE):
            seen[name] = visitor.words
            assert visitor.ask("return window.harmed === undefined && document.images.length === 0")
            assert visitor.ask("return document.scripts.length") == 1
            assert visitor.complaints() == []
            assert visitor.asked_for() <= {visitor.origin, "data"}
        assert FILE in seen["table-empty"]
        assert SCRIPT[:16] in seen["columns"]
        assert SCRIPT[:16] in seen["secret"]
        assert FILE[:12] in seen["release"]
        for each in driver.find_elements("css selector", "a[download]"):
            assert each.get_attribute("href").startswith(f"{visitor.origin}/download/")


def test_who_has_no_token_sees_nothing(driver, hospital: str) -> None:
    visitor = Visitor(driver, hospital)
    for path in ("?token=wrong", "?token=", "table", "static/app.js", "download/framework/all"):
        visitor.open(path)
        assert visitor.title == "Refused", path
        assert "patients" not in driver.page_source


def test_an_address_reaches_no_file(driver, hospital: str, tmp_path: Path) -> None:
    visitor = Visitor(driver, hospital)
    visitor.open()
    kept = next(tmp_path.rglob("state.json")).relative_to(tmp_path)
    for path in (
        "static/..%2f..%2fserver.py", "static/../server.py", "download/framework/..%2f..%2fledger.db",
        "download/0/..%2fstate.json", "..%2fpatients.parquet", "patients.parquet",
        str(kept), f"static/..%2f..%2f{kept}",
    ):  # fmt: skip
        asked = "const done = arguments[1]; fetch(arguments[0]).then(async (a) => done([a.status, await a.text()]))"
        status, text = driver.execute_async_script(asked, f"/{path}")
        assert status == 404, path
        assert not any(each in text for each in ("import", "PAR1", "bnpriv app")), path


def test_a_table_outside_the_folder_is_refused(driver, hospital: str, tmp_path: Path) -> None:
    (tmp_path / "out.csv").symlink_to("/etc/passwd")
    visitor = Visitor(driver, hospital)
    visitor.open()
    assert "out.csv" not in visitor.words
    for name in ("../../../../etc/passwd", "/etc/passwd", "out.csv"):
        visitor.open("table")
        visitor.ask(
            "const s = document.getElementById('table'); s.options[0].value = arguments[0]; s.selectedIndex = 0",
            name,
        )
        visitor.send("table")
        assert visitor.title == "Table (refused)"
        assert visitor.field("table-refusal").is_displayed()
        assert "root:" not in driver.page_source


ELSEWHERE = """<!doctype html><title>elsewhere</title><script>
const at = "{origin}", sent = new URLSearchParams({{ query: "mean(days)" }}), all = [];
const tried = async (what, path, more) => {{
  try {{
    const answer = await fetch(at + path, {{ credentials: "include", ...more }});
    all.push(what + " " + answer.type + " " + (await answer.text()));
  }} catch (e) {{ all.push(what + " stopped"); }}
}};
(async () => {{
  await tried("read", "/release");
  await tried("write", "/question", {{ method: "POST", body: sent }});
  await tried("opaque", "/question", {{ method: "POST", body: sent, mode: "no-cors" }});
  document.title = all.join("; ");
}})();
</script><iframe src="{origin}/table"></iframe>
<form method="post" action="{origin}/question"><input name="query" value="mean(days)"><button>Send</button></form>
<a href="{origin}/table">Look</a>"""


def test_a_page_of_another_origin_reads_and_changes_nothing(driver, hospital: str, tmp_path: Path) -> None:
    visitor = Visitor(driver, hospital)
    hospital_to_release(visitor)
    before = held(tmp_path)
    page = ELSEWHERE.format(origin=visitor.origin).encode()

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{other.server_port}/"
        driver.get(address)
        visitor.wait(lambda: "opaque" in driver.title, "the answers")
        assert driver.title.split("; ") == ["read stopped", "write stopped", "opaque stopped"]
        for text in ("Send", "Look"):
            driver.get(address)
            with visitor.leaving():
                driver.find_element("xpath", f"//*[.='{text}'][self::button or self::a]").click()
            assert visitor.title == "Refused", text
        driver.get(address)
        driver.switch_to.frame(driver.find_element("tag name", "iframe"))
        assert "patients" not in driver.page_source
        other.shutdown()
    assert held(tmp_path) == before


def test_two_tabs_that_spend_the_last_of_a_budget_at_once(driver, hospital: str, tmp_path: Path) -> None:
    visitor = Visitor(driver, hospital)
    hospital_to_release(visitor)
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    visitor.open("release")
    visitor.write("budget", "0.6")
    tabs = (driver.current_window_handle, first)
    for tab in tabs:
        driver.switch_to.window(tab)
        visitor.ask("setTimeout(() => [...document.querySelectorAll('main button')].at(-1).click(), 300)")
    titles: list[str] = []
    released = "Statement for the data-protection officer"
    for tab in tabs:
        driver.switch_to.window(tab)
        visitor.wait(lambda: "refused" in visitor.title or released in visitor.words, "an answer")
        titles.append(visitor.title)
    assert sorted(titles) == ["Release", "Release (refused)"]
    assert spent(tmp_path) == (1, pytest.approx(0.5))


# --------------------------------------------------------------------------------------------------
# Looking at pages.
# --------------------------------------------------------------------------------------------------


def test_back_forward_and_reload_lose_nothing_and_charge_nothing(finished: Visitor) -> None:
    driver = finished.driver
    filled = (
        "return [...document.querySelectorAll('main :is(input, select)')].filter((e) => e.type !== 'hidden' && "
        "e.type !== 'range').map((e) => [e.id, e.value, Boolean(e.checked)])"
    )

    def seen() -> tuple[str, object]:
        return finished.words, finished.ask(filled)

    finished.resize(1400)
    pages: dict[str, tuple[str, object]] = {}
    finished.open("release")
    kept = held(finished.folder)
    for step in STEPS:
        finished.open(step)
        pages[step] = seen()
        driver.refresh()
        assert seen() == pages[step], step
    for step in reversed(STEPS[:-1]):
        driver.back()
        assert seen() == pages[step], step
    for step in STEPS[1:]:
        driver.forward()
        assert seen() == pages[step], step
    assert held(finished.folder) == kept


@pytest.mark.parametrize(("width", "scale"), [(320, 4), (390, 1), (700, 2), (768, 1), (1400, 1)])
def test_no_page_is_wider_than_its_window(finished: Visitor, width: int, scale: float) -> None:
    """Twice the size in a window of 1400 is 700 wide, four times in one of 1280 is 320."""
    finished.resize(width, scale=scale)
    for step in STEPS:
        finished.open(step)
        finished.ask("for (const each of document.querySelectorAll('details')) each.open = true")
        over = finished.ask(
            "return [...document.querySelectorAll('main *, nav *')].filter((e) => e.getBoundingClientRect().right > "
            "innerWidth + 1 && !e.closest('.scroll, pre, svg, .skip')).map((e) => e.outerHTML.slice(0, 90))"
        )
        assert finished.ask("return document.documentElement.scrollWidth") <= width, (step, over)
        assert over == [], step


def test_what_the_system_of_the_reader_asks_for_is_done(finished: Visitor) -> None:
    moving = (
        "return [...document.querySelectorAll('*')].filter((e) => "
        "parseFloat(getComputedStyle(e).transitionDuration) > 0).length"
    )
    finished.resize(900, prefers_reduced_motion="reduce")
    finished.open("strength")
    assert finished.ask(moving) == 0
    ground = "return getComputedStyle(document.querySelector('.page')).backgroundColor"
    light = finished.ask(ground)
    finished.resize(900, "dark")
    assert sum(map(int, finished.ask(ground)[4:-1].split(","))) < 150 < sum(map(int, light[4:-1].split(",")))
    # with colours that the system forces, edges remain that say what is a button, a field, and the page one is on
    finished.resize(900, forced_colors="active")
    finished.open("strength")
    bare = (
        "return [...document.querySelectorAll('main :is(button, a.go, select, input:not([type=range], [type=radio], "
        "[type=checkbox], [type=hidden])), [aria-current]')].filter((e) => !['Top', 'Bottom'].some((side) => "
        "parseFloat(getComputedStyle(e)['border' + side + 'Width']) > 0)).map((e) => e.outerHTML)"
    )
    assert finished.ask("return matchMedia('(forced-colors: active)').matches")
    assert finished.ask(bare) == []


def axe() -> str:
    """The script of axe-core: the file that BNPRIV_AXE names, or the one of a package of the extra `test`."""
    named = os.environ.get("BNPRIV_AXE")
    if named is None:
        spec = importlib.util.find_spec("selenium_axe_python")
        if spec is None or spec.origin is None:
            pytest.skip("no selenium-axe-python")
        named = str(Path(spec.origin).parent / "axe-core" / "axe.min.js")
    return Path(named).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_axe_finds_nothing_serious(finished: Visitor, width: int, scheme: str) -> None:
    script = axe()
    finished.resize(width, scheme)
    found: dict[str, object] = {}
    for step in (*STEPS, "refused"):
        finished.open("question" if step == "refused" else step)
        if step == "refused":
            finished.write("query", "count(smokes == yes")
            finished.send("query")
            assert finished.title == "Question (refused)"
        finished.ask("for (const each of document.querySelectorAll('details')) each.open = true")
        finished.ask(script)
        told = finished.driver.execute_async_script(
            "axe.run().then(arguments[0], (error) => arguments[0](String(error)))"
        )
        assert told["passes"], told
        for each in told["violations"]:
            if each["impact"] in ("serious", "critical"):
                found[f"{step}: {each['id']}"] = [
                    (node["html"][:200], node["failureSummary"]) for node in each["nodes"]
                ][:3]
    assert found == {}


def test_every_page_has_its_landmarks_and_one_heading(finished: Visitor) -> None:
    for step in STEPS:
        finished.open(step)
        count = {each: len(finished.driver.find_elements("css selector", each)) for each in ("main", "nav", "h1")}
        assert count == {"main": 1, "nav": 1, "h1": 1}, step
        assert finished.ask("return document.documentElement.lang") == "en"
        current = finished.driver.find_elements("css selector", "nav [aria-current=step]")
        assert [each.text for each in current] == [finished.title], step
        filled = "return [...document.querySelectorAll('main :is(button, a)')].filter((e) => getComputedStyle(e)"
        filled += ".backgroundColor === getComputedStyle(e).borderTopColor).map((e) => e.textContent)"
        primary = finished.ask(filled)
        assert len(primary) == 1 or (not primary and step in ("release", "downloads")), (step, primary)
