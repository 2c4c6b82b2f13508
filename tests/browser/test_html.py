"""The pages in a real browser: the slider computes what the mechanism computes, and every width is readable."""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks.base import DECISIONS
from bnpriv.core.frameworks.guarantee import belief_text
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.io.examples import example_path
from bnpriv.text import number_text, upper_text
from bnpriv.views.report.sections import slider_of
from tests import oracles
from tests.kinds import KINDS, dataset

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium with chromedriver on the PATH: apt-get install chromium chromium-driver",
)

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--window-size=900,900",
)  # fmt: skip
TALL = bp.count(bp.col("height") > 180)
BOTH = bp.stack(TALL, bp.count(bp.col("sat") >= 1200))
HOSTILE = ("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\u05e9\u05dc\u05d5\u05dd", "x" * 200)


class Browser:
    """Chromium with what the tests do with it."""

    def __init__(self, driver, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def show(self, page: str, *, width: int = 900, scheme: str = "light") -> None:
        file = self.folder / "page.html"
        file.write_text(page, encoding="utf-8")
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        self.driver.get(file.as_uri())
        assert self.driver.get_log("browser") == []

    def ask(self, script: str, *arguments: object):
        return self.driver.execute_script(script, *arguments)

    def text(self, id_: str) -> str:
        return self.ask("return document.getElementById(arguments[0]).textContent", id_)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    # named here, so that nothing is looked for elsewhere
    service = webdriver.ChromeService(DRIVER, env={**os.environ, "SE_OFFLINE": "true"})
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield Browser(driver, tmp_path_factory.mktemp("pages"))
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def student() -> bp.DistributionalAttributePrivacy:
    return bp.example("student")


def random_framework(names: tuple[str, ...], *, models: int = 3) -> bp.DistributionalAttributePrivacy:
    drawn = oracles.random_network(np.random.default_rng(11), len(names), models=models, deterministic=0.0)
    name = dict(zip(drawn.attributes, names, strict=True))
    network = DiscreteNetwork.from_tables(
        {name[a]: drawn.probabilities(a) for a in drawn.attributes},
        states={name[a]: drawn.states[a] for a in drawn.attributes},
        parents={name[a]: [name[b] for b in drawn.graph.parents[a]] for a in drawn.attributes},
    )
    schema = bp.Schema(records=1000, columns={column: bp.Real(0, 1) for column in names})
    return bp.DistributionalAttributePrivacy(network, schema, names[:2], source="random numbers")


@pytest.fixture(scope="module")
def cases(student) -> dict[str, tuple[bp.DistributionalAttributePrivacy, bp.types.Query]]:
    drawn = random_framework(tuple("abcdefgh"))
    weights = {name: 0.5 + k for k, name in enumerate("acdgh")}
    return {
        "no noise": (student, TALL),
        "two numbers": (student, BOTH),
        "two protected, three models": (drawn, bp.linear(weights)),
        "hostile names": (random_framework(HOSTILE), bp.stack(*(bp.mean(name) for name in HOSTILE[1:]))),
    }


CASES = ("no noise", "two numbers", "two protected, three models", "hostile names")
EPSILONS = ("0.05", "0.2", "0.2331", "0.5", "0.77", "1", "1.3", "2", "2.026", "3.7", "8")


def assert_shows(
    browser: Browser, framework: bp.DistributionalAttributePrivacy, query: bp.types.Query, epsilon: float
) -> None:
    """What the page shows is what the mechanism computes, to the digits that are shown."""
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon)
    assert browser.text("out-scale") == number_text(calibration.scale)
    assert browser.text("out-verdict") == str(calibration.useful)
    assert browser.text("out-belief") == f"at most {belief_text(0.1, epsilon)}"
    if calibration.scale:
        error = browser.text("out-error")
        assert error.startswith(f"{number_text(calibration.expected_error)} in the mean")
        assert error.endswith(f"at most {upper_text(calibration.quantile(0.95))}")
    else:
        assert browser.text("out-error") == "none"


@pytest.mark.parametrize("case", CASES)
def test_typing_an_epsilon(browser: Browser, cases, case: str) -> None:
    framework, query = cases[case]
    browser.show(bp.influence_report(framework, query, 1.0).to_html())
    assert_shows(browser, framework, query, 1.0)
    field = browser.driver.find_element("id", "epsilon-number")
    for epsilon in EPSILONS:
        field.clear()
        field.send_keys(epsilon)
        assert_shows(browser, framework, query, float(epsilon))
    assert browser.driver.get_log("browser") == []


def test_a_table_of_epsilons_shows_the_next_smaller_one(browser: Browser) -> None:
    """Never less noise than the epsilon that is shown needs, and nothing below the least one."""
    kind = dataset()
    report = bp.influence_report(kind.framework, kind.query, 1.0)
    rows = {row.epsilon: row for row in slider_of(report).rows}
    steps = sorted(rows)
    browser.show(report.to_html())
    field = browser.driver.find_element("id", "epsilon-number")
    asked = {step: step for step in steps} | {1.01 * step: step for step in steps} | {50.0: steps[-1]}
    for epsilon, step in asked.items():
        field.clear()
        field.send_keys(f"{epsilon:.6g}")
        assert browser.text("out-scale") == number_text(rows[step].scale), epsilon
        assert browser.text("out-belief") == f"at most {rows[step].guarantee.moved_text()}"
    field.clear()
    field.send_keys(f"{0.99 * steps[0]:.6g}")
    assert browser.text("out-scale") == "\u2013"
    assert "not calibrated below" in browser.text("out-reason")
    assert browser.driver.get_log("browser") == []


def test_moving_the_slider(browser: Browser, cases) -> None:
    framework, query = cases["two protected, three models"]
    browser.show(bp.influence_report(framework, query, 0.9).to_html())
    slider = browser.driver.find_element("id", "epsilon")
    seen = set()
    for key in ("\ue012", "\ue012", "\ue011", "\ue014", "\ue014", "\ue010"):  # left, left, home, right, right, end
        slider.send_keys(key)
        epsilon = float(browser.ask("return document.getElementById('epsilon-number').value"))
        seen.add(epsilon)
        assert_shows(browser, framework, query, epsilon)
        assert slider.get_attribute("aria-valuetext") == f"epsilon {epsilon:g}"
    assert {0.01, 10.0} <= seen
    assert len(seen) == 6


def test_the_bar_is_to_scale(browser: Browser, student) -> None:
    browser.show(bp.influence_report(student, BOTH, 1.0).to_html())
    field = browser.driver.find_element("id", "epsilon-number")
    for epsilon, is_cut in (("0.5", True), ("2.02", True), ("3.5", False), ("5", False)):
        field.clear()
        field.send_keys(epsilon)
        calibration = bp.MarkovQuiltMechanism().calibrate(student, BOTH, epsilon=float(epsilon))
        span, reach = (
            browser.ask("return document.querySelector(arguments[0]).getBoundingClientRect().width", part)
            for part in ("#slider .span", "#bar-reach")
        )
        # what is longer than the bar, which is as long as the range, ends in a mark
        share = 2 * calibration.quantile(0.95) / 10_000
        assert (share > 1) == is_cut
        assert reach / span == pytest.approx(min(share, 1), rel=0.02)
        assert browser.ask("return getComputedStyle(document.getElementById('bar-cut')).display !== 'none'") == is_cut


@pytest.mark.parametrize("nonsense", ["0", "-1", "", "e"])
def test_nonsense_changes_nothing(browser: Browser, student, nonsense: str) -> None:
    browser.show(bp.influence_report(student, BOTH, 1.0).to_html())
    before = browser.text("out-scale")
    field = browser.driver.find_element("id", "epsilon-number")
    field.clear()
    field.send_keys(nonsense)
    assert browser.text("out-scale") == before
    assert browser.driver.get_log("browser") == []


@pytest.fixture(scope="module")
def pages(cases) -> dict[str, str]:
    framework, query = cases["two numbers"]
    hostile, asked = cases["hostile names"]
    plan = bp.plan(framework, query, 1.0, delta=1e-6)
    return {
        "report": bp.influence_report(framework, query, 1.0).to_html(),
        "report of a network": bp.influence_report(framework.network, protect="income").to_html(),
        "report with hostile names": bp.influence_report(hostile, asked, 1.0).to_html(),
        "plan": plan.to_html(),
        "calibration": plan.best.to_html(),
        "release": bp.release(plan.best, bp.example_data("student")).to_html(),
        "leaks": bp.leaks(framework, query).to_html(),
        "influence matrix": bp.types.InfluenceMatrix.of(framework.network).to_html(),
    }


PAGES = (
    "report", "report of a network", "report with hostile names", "plan", "calibration", "release", "leaks",
    "influence matrix",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 900, 1400])
@pytest.mark.parametrize("page", PAGES)
def test_no_page_scrolls_sideways(browser: Browser, pages, page: str, width: int, scheme: str) -> None:
    browser.show(pages[page], width=width, scheme=scheme)
    assert browser.ask("return document.documentElement.scrollWidth") <= width
    ground = browser.ask("return getComputedStyle(document.querySelector('.bnpriv')).backgroundColor")
    red = int(ground.removeprefix("rgb(").split(",")[0])
    assert red > 200 if scheme == "light" else red < 60


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("report")])
def test_no_table_is_cut_on_a_phone(browser: Browser, pages, page: str) -> None:
    browser.show(pages[page], width=360)
    cut = browser.ask(
        "return [...document.querySelectorAll('.scroll:has(table:not(.heat))')]"
        ".filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent)"
    )
    assert cut == []


@pytest.mark.parametrize("page", PAGES)
def test_pages_load_nothing_and_run_nothing_of_a_name(browser: Browser, pages, page: str) -> None:
    browser.show(pages[page])
    assert browser.ask("return performance.getEntriesByType('resource').length") == 0
    assert browser.ask("return document.images.length + document.links.length") == 0
    assert browser.ask("return document.scripts.length") == (2 if page.startswith("report") and page != PAGES[1] else 0)
    # an alert would have made every question above fail


def test_every_part_has_text_large_enough(browser: Browser, pages) -> None:
    browser.show(pages["report"], width=360)
    smallest = browser.ask(
        "return Math.min(...[...document.querySelectorAll('p, li, td, th, dd, dt, h1, h2, h3, code')]"
        ".map((part) => parseFloat(getComputedStyle(part).fontSize)))"
    )
    assert smallest >= 12


def test_labels_fit_their_boxes(browser: Browser) -> None:
    names = ("HYPOVOLEMIA", "ERRLOWOUTPUT", "WWWWWWWWWWWW", "iiiiiii", "mostly_lower_case", "\u6771\u4eac\u90fd", "a")
    browser.show(bp.influence_report(random_framework(names, models=1).network, protect=names[0]).to_html())
    overflowing = browser.ask(
        "return [...document.querySelectorAll('svg .node')].filter((node) => node.querySelector('.label')"
        ".getBBox().width > node.querySelector('.box').getBBox().width - 4).map((node) => node.textContent)"
    )
    assert overflowing == []


def test_paper_shows_everything_but_the_slider(browser: Browser, pages) -> None:
    browser.show(pages["report"])
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.ask("return getComputedStyle(document.getElementById('slider-section')).display")
    folded = browser.ask(
        "return [...document.querySelectorAll('details.folded')]"
        ".filter((part) => part.getBoundingClientRect().height < 60).map((part) => part.textContent)"
    )
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown == "none"
    assert folded == []  # what is folded on a screen is open on paper
    assert len(browser.driver.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000


@pytest.mark.parametrize("example", ["student", "hospital", "clinic", "activity"])
def test_a_statement_is_one_page_of_paper(browser: Browser, example: str) -> None:
    """Whatever may be said of who decided what, in as many letters as there may be."""
    query = next(iter(bp.read_queries(example_path(example)).values()))
    made = bp.release(bp.plan(bp.example(example), query, 1.0).best, bp.example_data(example))
    browser.show(made.statement(dict.fromkeys(DECISIONS, "the board, for a reason that is long " * 5)).to_html())
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert re.findall(rb"/Count (\d+)", base64.b64decode(printed)) == [b"1"]
    wide = browser.ask("return document.documentElement.scrollWidth <= innerWidth")
    assert wide


@pytest.mark.parametrize("kind", ["gaussian", "laws", "chain"])
def test_no_table_is_cut_off_on_paper(browser: Browser, kind: str) -> None:
    browser.show(KINDS[kind]().report.to_html(), width=718)  # A4 without its margins
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    wider = browser.ask(
        "const most = document.querySelector('main').getBoundingClientRect().right + 1;"
        "document.querySelectorAll('details').forEach((part) => { part.open = true; });"
        "return [...document.querySelectorAll('table')].filter((part) => part.getBoundingClientRect().right > most)"
        ".map((part) => part.caption.textContent)"
    )
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert wider == []


@pytest.mark.parametrize("kind", ["discrete", "networks"])
def test_a_wide_screen_shows_what_columns_tell_beside_the_answer(browser: Browser, kind: str) -> None:
    page = KINDS[kind]().report.to_html()
    script = "return [...document.querySelectorAll('.aside > .scroll')].map((part) => part.offsetHeight > 0)"
    for width, seen in ((360, False), (900, False), (1400, True)):
        browser.show(page, width=width)
        assert browser.ask(script) == [seen]
    assert browser.ask("return document.querySelectorAll('.aside > .scroll svg.bar').length") >= 2


@pytest.mark.parametrize(("theme", "system"), [("false", "light"), ("true", "dark")])
def test_a_card_follows_the_notebook_and_not_the_system(browser: Browser, student, theme: str, system: str) -> None:
    card = f"<!doctype html><body data-jp-theme-light='{theme}'>{student._repr_html_()}</body>"
    browser.show(card, scheme=system)
    ground = browser.ask("return getComputedStyle(document.querySelector('.bnpriv')).backgroundColor")
    red = int(ground.removeprefix("rgb(").split(",")[0])
    assert red > 200 if theme == "true" else red < 60


CONTRAST = """
const parts = (color) => color.match(/[\\d.]+/g).map(Number);
const light = (color) => {
    const linear = (k) => k <= 0.04045 ? k / 12.92 : ((k + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = parts(color).map((k) => linear(k / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (part) => {
    const color = getComputedStyle(part).backgroundColor;
    return parts(color)[3] === 0 && part.parentElement ? ground(part.parentElement) : color;
};
const behind = (part) => {
    const node = part.closest('.node');
    return node ? getComputedStyle(node.querySelector('.box')).fill : ground(part);
};
document.querySelectorAll('details').forEach((part) => { part.open = true; });
return [...document.querySelectorAll('main *')]
    .filter((part) => [...part.childNodes].some((each) => each.nodeType === 3 && each.data.trim()))
    .filter((part) => !part.closest('script, noscript, title, desc, .ltop') && part.getClientRects().length)
    .map((part) => {
        const style = getComputedStyle(part);
        const both = [light(part.closest('svg') ? style.fill : style.color), light(behind(part))];
        return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), part.textContent.slice(0, 40)];
    })
    .filter(([ratio]) => ratio < 4.5);
"""
"""Texts that are too faint on what stands behind them, with their contrast."""

UNNAMED = """
document.querySelectorAll('details').forEach((part) => { part.open = true; });
const named = (part) => (part.getAttribute('aria-label') || '').trim()
    || (part.getAttribute('aria-labelledby') || '').split(' ')
        .every((id) => (document.getElementById(id) || {}).textContent);
const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((part) => Number(part.tagName[1]));
const regions = [...document.querySelectorAll('[role=region]')];
const ids = new Set([...document.querySelectorAll('[id]')].map((part) => part.id));
const labels = regions.map((part) => part.getAttribute('aria-label'));
return [
    ...[...document.querySelectorAll('svg, [role=region]')].filter((part) => !named(part)),
    ...[...document.querySelectorAll('input')].filter((part) => !part.labels.length && !named(part)),
    ...[...document.querySelectorAll('table')]
        .filter((part) => !part.caption || part.querySelector('th:empty, th:not([scope])')),
    ...[...document.querySelectorAll('.scroll')].filter((part) => part.tabIndex !== 0),
].map((part) => part.outerHTML.slice(0, 200)).concat(
    levels.filter((level, k) => k ? level > levels[k - 1] + 1 : level !== 1).map((level) => `heading ${level}`),
    labels.filter((label, k) => labels.indexOf(label) !== k),
    document.querySelectorAll('main, h1').length === 2 ? [] : ['not one main part with one heading'],
    ids.size === document.querySelectorAll('[id]').length ? [] : ['an id twice'],
);
"""
"""What a screen reader, or a keyboard, could not tell or reach."""


@pytest.mark.parametrize("page", PAGES)
def test_everything_has_a_name_and_a_place_for_a_screen_reader(browser: Browser, pages, page: str) -> None:
    browser.show(pages[page])
    assert browser.ask("return document.documentElement.lang") == "en"
    assert browser.ask(UNNAMED) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_every_text_has_contrast(browser: Browser, pages, page: str, scheme: str) -> None:
    browser.show(pages[page], scheme=scheme)
    assert browser.ask(CONTRAST) == []
