"""Pages of the site in a real browser: nothing is cut on a phone, and pictures can be seen in the dark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
SITE = Path(__file__).resolve().parents[2] / "build" / "site"

pytestmark = [
    pytest.mark.site,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with chromedriver on the PATH"),
]

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
PAGES = (
    "index", "start", "choosing-a-notion", "choosing-a-mechanism", "your-own-table", "questions", "asking", "check",
    "adult", "benchmarks", "notation", "reference", "genindex", "search", "claims/markov_quilt", "claims/tight",
    "api/declare", "api/names/bnpriv.plan", "api/names/bnpriv.types.Plan", "api/names/bnpriv.types.Framework",
    "project/changelog", "tutorials/01-model-and-report", "examples/clinic",
)  # fmt: skip

CUT = """
const scrolls = (part) => part.tagName !== 'ARTICLE'
    && (['auto', 'scroll'].includes(getComputedStyle(part).overflowX) || scrolls(part.parentElement));
return [...document.querySelectorAll('article *')]
    .filter((part) => part.getBoundingClientRect().right > innerWidth + 1 && part.getBoundingClientRect().width)
    .filter((part) => getComputedStyle(part).visibility !== 'hidden' && !scrolls(part.parentElement))
    .map((part) => part.textContent.slice(0, 60));
"""
"""What stands beyond the right edge, and in nothing that scrolls by itself."""

CONTRAST = """
const light = (color) => Math.max(...color.match(/[\\d.]+/g).slice(0, 3).map(Number));
const ground = (part) => {
    const color = getComputedStyle(part).backgroundColor;
    return color.endsWith(', 0)') && part.parentElement ? ground(part.parentElement) : light(color);
};
return [...document.querySelectorAll('article img')].filter((part) => part.offsetHeight)
    .map((part) => [part.className, ground(part)]);
"""
"""The pictures that are shown, each with how light the ground behind it is."""


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER, env={**os.environ}))
    try:
        yield found
    finally:
        found.quit()


def show(driver: Any, page: str, *, width: int, scheme: str = "light") -> None:
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get((SITE / f"{page}.html").as_uri())


def test_what_is_cut_is_found(driver: Any) -> None:
    show(driver, "start", width=390)
    driver.execute_script(
        "const word = document.createElement('span'); word.style.whiteSpace = 'pre';"
        "word.textContent = 'x '.repeat(99); document.querySelector('article p').append(word);"
    )
    assert driver.execute_script(CUT)


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_cut_on_a_phone(driver: Any, page: str) -> None:
    show(driver, page, width=390)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert driver.execute_script(CUT) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_the_picture_of_the_first_page_fits_the_screen(driver: Any, width: int) -> None:
    show(driver, "index", width=width)
    [(shown, _)] = driver.execute_script(CONTRAST)
    assert ("narrow-only" in shown) is (width == 390)
    assert ("wide-only" in shown) is (width == 1280)


@pytest.mark.parametrize("page", ["benchmarks", "tutorials/01-model-and-report"])
def test_other_pictures_stand_on_a_light_ground_in_the_dark(driver: Any, page: str) -> None:
    show(driver, page, width=1280, scheme="dark")
    pictures = driver.execute_script(CONTRAST)
    assert pictures
    assert [shown for shown in pictures if shown[1] < 180] == []


@pytest.mark.parametrize(("scheme", "least", "most"), [("light", 240, 255), ("dark", 0, 60)])
def test_cards_follow_the_theme(driver: Any, scheme: str, least: int, most: int) -> None:
    show(driver, "tutorials/01-model-and-report", width=1280, scheme=scheme)
    grounds = driver.execute_script(
        "return [...document.querySelectorAll('.bnpriv.fragment')]"
        ".map((card) => Number(getComputedStyle(card).backgroundColor.match(/\\d+/)[0]));"
    )
    assert len(grounds) >= 2
    assert all(least <= ground <= most for ground in grounds)


def test_the_theme_leaves_the_inside_of_cards_alone(driver: Any) -> None:
    show(driver, "tutorials/01-model-and-report", width=1280)
    weights, widths = driver.execute_script(
        "const all = (part) => [...document.querySelectorAll(`.bnpriv.fragment ${part}`)];"
        "return [all('.lead, figcaption').map((part) => getComputedStyle(part).fontWeight),"
        " all('.legend.row li').map((part) => part.offsetWidth)];"
    )
    assert set(weights) == {"400"}
    assert max(widths) < 300
