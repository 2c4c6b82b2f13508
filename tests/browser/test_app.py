"""The local page in a real browser: from a raw table to a statement with the keyboard, at three widths."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.test_html import CHROMIUM, DRIVER, FLAGS
from tests.unit.app.test_server import HOSTILE, raw_tables

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with chromedriver on the PATH"),
    pytest.mark.slow,
]
LONGEST = 300


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`bnpriv serve` in a folder with two raw tables, and the address that it printed."""
    raw_tables(tmp_path, HOSTILE)
    command = [sys.executable, "-m", "bnpriv", "serve", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", server.stdout.readline())
        assert found is not None
        try:
            yield server, found[0]
        finally:
            server.kill()


@pytest.fixture
def driver():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(DRIVER, env={**os.environ, "SE_OFFLINE": "true"})
    made = webdriver.Chrome(options=options, service=service)
    made.set_page_load_timeout(LONGEST)
    try:
        yield made
    finally:
        made.quit()


class Reader:
    """Somebody who uses the keyboard alone."""

    def __init__(self, driver) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        self.driver, self.keys, self.chain = driver, Keys, ActionChains

    def tab_to(self, script: str) -> None:
        """Press the tab key until the focus is where a condition on `e` holds."""
        for _ in range(80):
            # a field for files would take the key for a path
            self.chain(self.driver).send_keys(self.keys.TAB).perform()
            if self.driver.execute_script(f"const e = document.activeElement; return Boolean({script})"):
                return
        raise AssertionError(f"the tab key does not reach {script}")

    def write(self, id_: str, *text: str) -> None:
        self.tab_to(f"e.id === '{id_}'")
        self.driver.switch_to.active_element.send_keys(*text)

    def press(self, script: str = "e.matches('button.go, a.go')") -> None:
        """Go to a button and press it; wait for the page that follows."""
        self.tab_to(script)
        self.driver.execute_script("window.left = true")
        self.driver.switch_to.active_element.send_keys(self.keys.ENTER)
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            if self.driver.execute_script("return !window.left && document.readyState === 'complete'"):
                self.check()
                return
            time.sleep(0.1)
        raise AssertionError("no page followed")

    def check(self) -> None:
        """No width cuts the page, and nothing was stopped by the policy or failed."""
        for width in (390, 900, 1400):
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            assert self.driver.execute_script("return document.documentElement.scrollWidth") <= width
        errors = [row for row in self.driver.get_log("browser") if "422" not in row["message"]]
        assert errors == []

    @property
    def title(self) -> str:
        return self.driver.title


def test_the_whole_road_with_the_keyboard(served, driver) -> None:
    server, address = served
    reader = Reader(driver)
    driver.get(address)
    reader.check()
    reader.write("table", "private.csv")
    reader.write("public", "public.csv")
    reader.write("records", "1000")
    reader.press()
    assert reader.title == "Columns - bnpriv"
    reader.press()
    reader.write("protect-2", reader.keys.SPACE)
    reader.press()
    assert reader.title == "Model - bnpriv"
    reader.press()
    assert driver.find_elements("css selector", "svg")
    reader.press("e.matches('a.go')")
    reader.write("query", "count(smoke == 1)")
    reader.press()
    assert reader.title == "Question (refused) - bnpriv"
    assert driver.switch_to.active_element.get_attribute("id") == "alert"
    assert driver.find_element("id", "query").get_attribute("aria-describedby").endswith("query-refusal")
    reader.write("query", reader.keys.CONTROL + "a", reader.keys.NULL, 'count(smokes == "yes")')
    reader.press()
    reader.press("e.matches('a.go')")
    before = driver.find_element("id", "live").text
    reader.write("slider", *[reader.keys.LEFT] * 5)
    end = time.monotonic() + LONGEST
    while driver.find_element("id", "live").text == before and time.monotonic() < end:
        time.sleep(0.1)
    reader.press()
    reader.write("budget", "2")
    reader.press()
    assert "Statement for the data-protection officer" in driver.page_source
    reader.press("e.textContent === 'Downloads'")
    assert "statement as .docx" in driver.page_source
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=60) == 0


def test_without_scripts_the_road_is_the_same(served, driver) -> None:
    _, address = served
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(address)
    driver.find_element("id", "table").send_keys("private.csv")
    driver.find_element("id", "public").send_keys("public.csv")
    driver.find_element("id", "records").send_keys("1000")
    driver.find_element("css selector", "button.go").click()
    assert driver.title == "Columns - bnpriv"
