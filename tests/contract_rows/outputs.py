"""Rows about files: models that are read, pages and tables that are written, names in them."""

from __future__ import annotations

import csv
import io
import pickle
import random
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import bnpriv as bp
from bnpriv.errors import BnprivError, FileError
from bnpriv.render.figures import axes, label
from tests.contract_rows.evidence import ROOT, refusal, row, shell
from tests.mutation import mutate

MODELS = ROOT / "models"
FRAMEWORK, DATA = str(MODELS / "student" / "framework.toml"), str(bp.example_data("student"))


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
sys.path.insert(0, sys.argv.pop(1))
from bnpriv.cli import main
main()
"""


class Evil:
    """Something that a reader of pickles would run."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("ran"),))


@row(29, "pickle as a model file")
def _(folder: Path) -> str:
    for suffix in ("pkl", "pickle", "bif", "xmlbif", "toml", "npz", "json", "parquet"):
        file = folder / f"model.{suffix}"
        file.write_bytes(pickle.dumps(Evil()))
        for reader in (bp.read_network, bp.read_framework):
            refusal(lambda r=reader, f=file: r(f))
    assert not (folder / "ran").exists()
    return "8 suffixes, 2 readers: refused, nothing ran"


@row(30, "XML entities, giant or broken BIF")
def _(folder: Path) -> str:
    entities = '<!DOCTYPE BIF [<!ENTITY a "x"><!ENTITY b "&a;&a;&a;&a;">]>'
    bomb = f'<?xml version="1.0"?>{entities}<BIF VERSION="0.3"><NETWORK>&b;</NETWORK></BIF>'
    (folder / "bomb.xmlbif").write_text(bomb)
    refusal(lambda: bp.read_network(folder / "bomb.xmlbif"), "entit", kind=FileError)
    rng = random.Random(30)
    text = (MODELS / "student" / "student.bif").read_bytes()
    read = wrong = 0
    for k in range(1500):
        file = folder / ("m.bif" if k % 2 else "m.xmlbif")
        file.write_bytes(mutate(rng, text if k % 2 else bomb.encode()))
        try:
            bp.read_network(file)
            read += 1
        except BnprivError:
            wrong += 1
    return (
        f"entities refused; of 1,500 mutated files {read} are valid networks, {wrong} refused by us, 0 other exceptions"
    )


NAMES = ("<script>alert(1)</script>", "=cmd()", "$\\input{x}$", "| a | [b](javascript:c)", "\\frac$ ^{")


class Tags(HTMLParser):
    """Collects the elements of a page, with the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


@row(31, "script, LaTeX or formula in names")
def _(folder: Path) -> str:
    states = ["=1+1", "</td><script>", "$_x$"]
    third = [1 / 3] * 3
    rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    network = bp.DiscreteNetwork.from_tables(
        {NAMES[0]: third} | dict.fromkeys(NAMES[1:], rows),
        states=dict.fromkeys(NAMES, states),
        parents={name: [NAMES[0]] for name in NAMES[1:]},
    )
    report = bp.influence_report(network, protect=NAMES[0])
    page, card, text = report.to_html(), report._repr_html_(), report.to_markdown()
    assert Tags(card).tags.count("script") == 0
    assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)&lt;/script&gt;", "", page.split("<script", 1)[0])
    # a notebook typesets what stands between dollar signs, unless a class says not to
    assert re.match(r'<div class="[^"]*\bmathjax_ignore\b[^"]*"', card)
    assert "](javascript:" not in text.replace("\\](", "")
    assert "<script>" not in re.sub(r"`[^`\n]*`", "", text)  # between backquotes nothing is markup
    cells = [cell for line in csv.reader(io.StringIO(report.to_csv())) for cell in line]
    numbers = [cell for cell in cells if re.fullmatch(r"-?[\d.e+-]+", cell)]
    formulas = [
        cell for cell in cells if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) and cell not in numbers
    ]
    assert formulas == [], formulas
    drawn = "none without matplotlib"
    try:
        import matplotlib
    except ImportError:
        pass
    else:
        matplotlib.use("Agg")
        drawing = axes()
        drawing.set_xlabel(" ".join(label(name) for name in NAMES))
        drawing.set_xticks(range(len(states)), [label(state) for state in states])
        drawing.figure.savefig(folder / "plot.png")
        drawn = "drawn as they are"
    text = f"{len(NAMES)} names: page, card, Markdown hold no script or formula"
    return f"{text}; of {len(cells)} cells of CSV none is one; plots: {drawn}"


@row(41, "the output cannot be written")
def _(folder: Path) -> str:
    (folder / "old.html").write_text("old")
    (folder / "dir").mkdir()
    asked = ("release", FRAMEWORK, DATA, "--query", "count(height > 180)", "--epsilon", "1", "--html", "old.html")
    places = ("none/x.json", "dir", "old.html/x.json", "x" * 300)
    for place in places:
        done = shell(folder, *asked, "--ledger", "l.db", "--budget", "2", "--json", place)
        assert done.returncode == 2, done
        assert done.stdout == ""
        assert (folder / "old.html").read_text() == "old"
        assert not (folder / "l.db").exists()
    full = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(ROOT), *asked], cwd=folder, capture_output=True, text=True
    )
    assert full.returncode != 0
    assert (folder / "old.html").read_text() == "old"
    return f"{len(places)} places refused before anything is drawn or charged; a full disk leaves the old page"
