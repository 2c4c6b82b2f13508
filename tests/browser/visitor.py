"""Somebody who uses the page of `bnpriv serve` in a real browser: with the mouse, or with the keyboard alone."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.browser.test_html import CHROMIUM, DRIVER, FLAGS

STEPS = ("table", "columns", "secret", "model", "question", "strength", "release", "downloads")
LONGEST = 60


@contextlib.contextmanager
def server(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`bnpriv serve` in a folder, and the address that it printed."""
    command = [sys.executable, "-m", "bnpriv", "serve", *arguments, "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said)
        assert found is not None, said + running.stdout.read()
        try:
            yield running, found[0]
        finally:
            running.kill()


@contextlib.contextmanager
def chromium(webdriver) -> Iterator:
    """Headless Chromium that keeps what is said in the console and what is asked of the network."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(DRIVER, env={**os.environ, "SE_OFFLINE": "true"})
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(LONGEST)
    try:
        yield driver
    finally:
        driver.quit()


def raw_tables(folder: Path, name: str = "income", label: str = "high", file: str = "private.csv") -> None:
    """A private and a public table with gaps, dates, codes and an id; one name, label and file may mean harm."""
    chance = random.Random(7)
    cells = [name.replace('"', '""'), label.replace('"', '""')]

    def rows(count: int) -> str:
        made = [f'id,born,age,smokes,"{cells[0]}"']
        for k in range(count):
            smokes = chance.choice(["1", "2", "2", "9", ""])
            rich = cells[1] if chance.random() < (0.3 if smokes == "1" else 0.5) else "low"
            born = f"19{chance.randint(30, 99)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            made.append(f'P{k:05},{born},{chance.choice([str(chance.randint(18, 80)), "NA"])},{smokes},"{rich}"')
        return "\n".join([*made, ""])

    (folder / "public.csv").write_text(rows(800), encoding="utf-8")
    (folder / file).write_text(rows(1000), encoding="utf-8")


class Visitor:
    """Somebody with a mouse."""

    def __init__(self, driver, address: str, folder: Path = Path()) -> None:
        self.driver = driver
        self.folder = folder
        self.address = address
        self.origin = address.partition("/?")[0]

    def open(self, step: str = "") -> None:
        """Go to a page by its address; first by the one that the shell printed, which leads to the first step."""
        self.driver.get(f"{self.origin}/{step}" if step else self.address)
        self.wait(lambda: step or self.title == "Table", "the first step")

    @property
    def title(self) -> str:
        return self.driver.title.removesuffix(" - bnpriv")

    @property
    def words(self) -> str:
        return self.driver.find_element("tag name", "main").text

    def ask(self, script: str, *arguments: object):
        return self.driver.execute_script(script, *arguments)

    def field(self, id_: str):
        return self.driver.find_element("id", id_)

    def last(self, name: str) -> str:
        """The id of the last box of a name."""
        return self.driver.find_elements("name", name)[-1].get_attribute("id")

    def button(self, text: str):
        """The button or link whose text begins so, of the page before those of the road."""
        every = [
            each
            for part in ("main", "nav")
            for each in self.driver.find_elements("css selector", f"{part} :is(button, a)")
        ]
        found = [each for each in every if each.text.startswith(text)]
        assert found, f"no {text!r} among {[each.text for each in every]}"
        return found[0]

    def wait(self, held, what: str = "what was waited for") -> None:
        """Until a condition on the page holds; while one page gives way to another nothing can be asked."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.wait import WebDriverWait

        waiting = WebDriverWait(self.driver, LONGEST, 0.05, [WebDriverException])
        waiting.until(lambda _: held(), f"{what}: not seen")

    @contextlib.contextmanager
    def leaving(self, where: str = "the next page") -> Iterator[None]:
        """Until another page has been loaded."""
        from selenium.webdriver.support.expected_conditions import staleness_of

        old = staleness_of(self.driver.find_element("tag name", "html"))
        yield
        self.wait(lambda: old(self.driver), where)
        self.wait(lambda: self.ask("return document.readyState") == "complete", where)

    def write(self, id_: str, text: str) -> None:
        self.field(id_).clear()
        self.field(id_).send_keys(text)

    def choose(self, id_: str, text: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.field(id_)).select_by_visible_text(text)

    def tick(self, id_: str) -> None:
        self.field(id_).click()

    def press(self, text: str) -> None:
        """Press a button or a link, and wait for the page it leads to."""
        self.go(self.button(text))

    def send(self, id_: str) -> None:
        """Press the last button of the form that a field is in."""
        self.go(self.field(id_).find_elements("xpath", "ancestor::form//button")[-1])

    def go(self, button) -> None:
        with self.leaving():
            button.click()

    def resize(self, width: int, scheme: str = "light", scale: float = 1, **features: str) -> None:
        """Show the page at a width, light or dark, with what else the reader's system asks for."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": scale, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        asked = {"prefers-color-scheme": scheme} | {key.replace("_", "-"): value for key, value in features.items()}
        media = [{"name": key, "value": value} for key, value in asked.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})

    def complaints(self) -> list[str]:
        """What the browser said, but for pages that are refused on purpose."""
        said = [each["message"] for each in self.driver.get_log("browser")]
        return [each for each in said if not re.search("the server responded with a status of 4[0-9][0-9]", each)]

    def asked_for(self) -> set[str]:
        """Where requests went to, without the path."""
        told = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        sent = [each["params"]["request"]["url"] for each in told if each["method"] == "Network.requestWillBeSent"]
        return {"data" if url.startswith("data:") else "/".join(url.split("/")[:3]) for url in sent}


class Keyboard(Visitor):
    """Somebody who uses the keyboard alone."""

    def reach(self, element) -> None:
        """Press the tab key until the focus is there."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        for _ in range(200):
            if self.ask("return document.activeElement === arguments[0]", element):
                assert self.ask("return getComputedStyle(arguments[0]).outlineStyle", element) != "none"
                return
            # a field for files would take the key for a path
            ActionChains(self.driver).send_keys(Keys.TAB).perform()
        raise AssertionError(f"the tab key does not reach {element.get_attribute('outerHTML')}")

    def type(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def write(self, id_: str, text: str) -> None:
        from selenium.webdriver.common.keys import Keys

        self.reach(self.field(id_))
        self.type(Keys.CONTROL + "a", Keys.NULL, Keys.DELETE, text)

    def choose(self, id_: str, text: str) -> None:
        self.reach(self.field(id_))
        self.type(text)

    def tick(self, id_: str) -> None:
        """Press the space bar on a box; where one of several is on, the tab key reaches one and arrows the others."""
        from selenium.webdriver.common.keys import Keys

        field = self.field(id_)
        if field.get_attribute("type") == "radio":
            group = self.driver.find_elements("name", field.get_attribute("name"))
            self.reach(next((each for each in group if each.is_selected()), group[0]))
            for _ in group:
                if self.driver.switch_to.active_element != field:
                    self.type(Keys.DOWN)
        else:
            self.reach(field)
        if not field.is_selected():
            self.type(Keys.SPACE)

    def go(self, button) -> None:
        from selenium.webdriver.common.keys import Keys

        self.reach(button)
        with self.leaving():
            self.type(Keys.ENTER)


def to_release(visitor: Visitor, table: str = "private.csv", query: str = "count(smokes == 1)") -> Iterator[str]:
    """Go from raw tables to a release; after each page its name."""
    visitor.open()
    yield "table-empty"
    visitor.choose("table", table)
    visitor.choose("public", "public.csv")
    visitor.write("records", "1000")
    yield "table"
    visitor.send("records")
    assert visitor.title == "Columns", visitor.words
    yield "columns"
    visitor.press("Go on")
    assert visitor.title == "Secret", visitor.words
    visitor.tick("single-1")
    visitor.tick("this-0")
    visitor.tick(visitor.last("protect"))
    yield "secret"
    visitor.send("this-0")
    assert visitor.title == "Model", visitor.words
    yield "model-empty"
    visitor.send("graphs")
    assert visitor.title == "Model", visitor.words
    yield "model"
    visitor.press("Go on")
    assert visitor.title == "Question", visitor.words
    visitor.write("query", query)
    visitor.send("query")
    assert visitor.title == "Question", visitor.words
    yield "question"
    visitor.press("Go on")
    assert visitor.title == "Strength", visitor.words
    yield "strength"
    visitor.send("epsilon")
    assert visitor.title == "Release", visitor.words
    visitor.write("budget", "2")
    yield "release"
    visitor.send("budget")
    assert visitor.title == "Release", visitor.words
    yield "released"
    visitor.press("Downloads")
    yield "downloads"
