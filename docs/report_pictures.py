"""The pictures of the report on the start page and in the README: ``python docs/report_pictures.py``.

Needs chromium with chromedriver, selenium and Pillow. A picture shows what stands above the first
heading of the report: on a wide and on a narrow screen, in light and in dark.
"""

from __future__ import annotations

import base64
import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

import bnpriv as bp

IMAGES = Path(__file__).resolve().parent / "images"
WIDTHS = {"report": 1100, "report-narrow": 420}
"""Names of the pictures, and how wide their screens are, in CSS pixels."""

COLOURS = 128
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
ANSWER = (
    "return Math.max(...[...document.querySelectorAll('.first :is(.facts, figcaption, table)')]"
    ".map((part) => part.getBoundingClientRect().bottom));"
)


def name(base: str, scheme: str) -> str:
    """Return the file of a picture."""
    return f"{base}-dark.png" if scheme == "dark" else f"{base}.png"


def main() -> None:
    """Write the pictures."""
    from PIL import Image
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"), env={**os.environ, "SE_OFFLINE": "true"})
    report = bp.influence_report(bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0)
    with tempfile.TemporaryDirectory() as folder, webdriver.Chrome(options=options, service=service) as driver:
        page = Path(folder, "report.html")
        report.to_html(page)
        for base, width in WIDTHS.items():
            for scheme in ("light", "dark"):
                screen = {"width": width, "height": 900, "deviceScaleFactor": 1.6, "mobile": False}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
                feature = {"name": "prefers-color-scheme", "value": scheme}
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
                driver.get(page.as_uri())
                clip = {"x": 0, "y": 0, "width": width, "height": driver.execute_script(ANSWER) + 16, "scale": 1}
                taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
                picture = Image.open(BytesIO(base64.b64decode(taken["data"]))).convert("RGB")
                picture.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / name(base, scheme), optimize=True)


if __name__ == "__main__":
    main()
