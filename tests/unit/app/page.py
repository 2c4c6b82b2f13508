"""The page as the tests of the app use it: asked without a browser, with what they do on it."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

from bnpriv.app.server import Desk, application
from bnpriv.app.state import Place

TOKEN, PORT = "a-token-of-the-tests", 8000
HOST = f"http://127.0.0.1:{PORT}"
HOSTILE = "<script>alert('1')</script>\"=HYPERLINK(1)"


class Page:
    """The page as somebody with a browser sees it, with what the tests do with it."""

    def __init__(self, folder: Path, framework: Path | None = None, most_bytes: int = 2**20) -> None:
        from starlette.testclient import TestClient

        for name in ("kept", "uploads"):
            (folder / name).mkdir(exist_ok=True)
        place = Place(folder=folder, kept=folder / "kept", uploads=folder / "uploads", ledger=str(folder / "ledger.db"))
        self.desk = Desk(place, framework)
        self.app = application(self.desk, token=TOKEN, port=PORT, most_bytes=most_bytes)
        self.client = TestClient(self.app, base_url=HOST, headers={"origin": HOST})

    def open(self) -> Page:
        assert self.client.get("/", params={"token": TOKEN}).headers["refresh"] == "0; url=/table"
        return self

    def get(self, step: str) -> str:
        answer = self.client.get(f"/{step}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def send(self, step: str, status: int = 200, files=None, **fields: str) -> str:
        data = {name.replace("__", "."): value for name, value in fields.items()}
        answer = self.client.post(f"/{step}", data=data, files=files)
        assert answer.status_code == status, said(answer.text)
        return answer.text


def said(page: str) -> str:
    """The words of a page."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", page.partition("<main")[2])).split())


def key_of(page: str) -> str:
    found = re.search('name="key" value="([^"]+)"', page)
    assert found is not None
    return found[1]


def ready(page: Page, epsilon: str = "0.5") -> str:
    """Go to the release of a question on the hospital."""
    page.send("table", files={"table-file": ("", b"")}, table="patients.parquet")
    page.send("question", act="ask", query="count(days >= 8)")
    return page.send("strength", epsilon=epsilon, delta="0")


def raw_tables(folder: Path, hostile: str = "income") -> None:
    """Two tables with gaps, one of them private, whose values nothing may show before a release."""
    chance = random.Random(7)
    header = ",".join('"' + name.replace('"', '""') + '"' for name in ("age", "smokes", hostile))

    def rows(count: int) -> str:
        made: list[str] = []
        for _ in range(count):
            smokes = chance.choice(["yes", "no", "no", ""])
            rich = "high" if chance.random() < (0.3 if smokes == "yes" else 0.5) else "low"
            made.append(f"{chance.randint(18, 80)},{smokes},{rich}")
        return "\n".join([header, *made, ""])

    (folder / "public.csv").write_text(rows(800), encoding="utf-8")
    (folder / "private.csv").write_text(rows(1000), encoding="utf-8")


def protect(page: Page, place: int = 2) -> str:
    """Protect a column as the page proposes, at a distance of 10 records."""
    listed = page.get("secret").partition(f'name="property.{place}"')[2].partition("</select>")[0]
    offered = re.search('value="([^"]*)" selected', listed)
    assert offered is not None, listed
    fields = {"protect": str(place), f"property__{place}": unescape(offered[1]), f"apart__{place}": "10"}
    return page.send("secret", single="no", this="yes", **fields)


SERVE = ("-m", "bnpriv", "serve", "--no-browser")


class Served:
    """`bnpriv serve` as a program of its own, asked by somebody with its token."""

    def __init__(self, folder: Path, *words: str, program: Sequence[str] = SERVE) -> None:
        import httpx

        command = [sys.executable, *program, *words]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.program = subprocess.Popen(command, cwd=folder, **pipes)
        assert self.program.stdout is not None
        self.address = self.program.stdout.readline().removeprefix("Open ").strip()
        self.host, _, self.token = self.address.partition("/?token=")
        self.port = int(self.host.rpartition(":")[2])
        self.client = httpx.Client(base_url=self.host, headers={"origin": self.host}, timeout=120)

    def __enter__(self) -> Served:
        assert self.client.get(self.address).status_code == 200
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.program.kill()
        self.program.communicate()

    def ended(self, number: int, within: float) -> tuple[str, str]:
        """End it by a signal, and return what it printed; it must end of itself, in time, with 0."""
        self.program.send_signal(number)
        printed = self.program.communicate(timeout=within)
        assert self.program.returncode == 0, printed
        return printed
