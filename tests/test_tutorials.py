"""The tutorials run in a fresh kernel, and what is stored in them is what comes out, and nothing of a machine."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tutorials.execute import METADATA, missing, notebooks

ROOT = Path(__file__).resolve().parents[1]
PATHS = [Path(path) for path in notebooks()]
MOST_BYTES = 400_000
MOST_CELLS = 25
USED = {"bnpriv", "matplotlib", "numpy", "pandas", "pgmpy", "pymc", "scipy", "sklearn", "xarray"}
"""What a tutorial imports beside Python's own modules."""

BESIDE_THE_FACE = {"11-privacy-loss": {"bnpriv.lab.conversions"}}
"""Public sub-modules (docs/reference.md) that are the subject of a tutorial, and that it imports therefore."""

HEADING = re.compile(r"^(#+) ", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")

VALUE = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?|\b(?:inf|True|False|exact|sharp|useful|coarse|useless)\b")
HIDDEN = re.compile(
    r"(?<![\w.:/<>-])/(?:home|root|work|tmp|usr|opt|var|etc|mnt|private|Users|Volumes)/"  # a path of this machine
    r"|\b[A-Za-z]:\\\w"
    r"|file://"
    r"| at 0x[0-9a-f]{6,}"  # where something lies in memory
    r"|\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d"  # when it was run
)

every = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> Iterator[str]:
    """Everything in the outputs of a cell that is no picture."""
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        for kind, content in output.get("data", {}).items():
            if kind != "image/png":
                yield content if isinstance(content, str) else json.dumps(content)


def printed(cell: Any) -> str:
    return "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == "stdout")


def checked(notebook: Any) -> dict[str, list[str]]:
    """The numbers and verdicts that the cells tagged "check" print."""
    return {
        cell.id: VALUE.findall(printed(cell))
        for cell in code_cells(notebook)
        if "check" in cell.metadata.get("tags", ())
    }


def test_all_are_there() -> None:
    names = [
        "00-your-own-table.ipynb",
        "01-model-and-report.ipynb",
        "02-release.ipynb",
        "03-dataset-properties.ipynb",
        "04-the-limit.ipynb",
        "05-time-series.ipynb",
        "06-pymc-first-model.ipynb",
        "06b-pymc-hierarchical-release.ipynb",
        "07-posterior-theta.ipynb",
        "08-many-releases.ipynb",
        "09-large-networks.ipynb",
        "10-adult.ipynb",
        "11-privacy-loss.ipynb",
        "11-private-tables.ipynb",
        "12-check-it-yourself.ipynb",
    ]
    assert [path.name for path in PATHS] == names


@every
def test_numbers_are_stored_to_be_checked(path: Path) -> None:
    stored = checked(nbformat.read(path, as_version=4))
    assert len(stored) >= 3
    assert all(stored.values()), "a cell tagged check prints nothing to be checked"


@pytest.mark.site
@every
def test_the_stored_numbers_come_out_again(path: Path) -> None:
    """The build of the site runs every tutorial; what came out is compared here, so that none runs twice."""
    if reason := missing(path):
        pytest.skip(reason)
    from jupyter_cache import get_cache

    notebook = nbformat.read(path, as_version=4)
    cache = get_cache(ROOT / "build" / "notebooks")
    executed = cache.get_cache_bundle(cache.match_cache_notebook(notebook).pk).nb
    printed_again = {cell.id: VALUE.findall(printed(cell)) for cell in executed.cells}
    stored = checked(notebook)
    assert {cell: printed_again[cell] for cell in stored} == stored


@every
def test_it_is_short_and_well_formed(path: Path) -> None:
    """One idea, from what is learned to where to go next; a heading never skips a level."""
    cells = nbformat.read(path, as_version=4).cells
    assert 10 <= len(cells) <= MOST_CELLS
    first, last = cells[0].source, cells[-1].source
    assert "minutes" in first
    assert re.search(r"^\* ", first, re.MULTILINE), "the first cell lists what is learned"
    assert re.search(r"\]\(.*\)", last), "the last cell says where to go"
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    depths = [len(marks) for marks in HEADING.findall(text)]
    assert depths[0] == 1
    assert depths.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(depths))


@every
def test_links_lead_to_files(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    targets = [found for found in LINK.findall(text) if "://" not in found]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def imported(source: str) -> set[str]:
    """The modules that a cell imports; lines for the notebook alone are left out."""
    code = "\n".join(line for line in source.splitlines() if not line.startswith(("%", "!")))
    statements = list(ast.walk(ast.parse(code)))
    plain = {alias.name for each in statements if isinstance(each, ast.Import) for alias in each.names}
    return plain | {each.module for each in statements if isinstance(each, ast.ImportFrom) and each.module}


@every
def test_everything_is_reached_from_the_face(path: Path) -> None:
    modules = {name for cell in code_cells(nbformat.read(path, as_version=4)) for name in imported(cell.source)}
    assert "bnpriv" in modules
    assert {name for name in modules if name.startswith("bnpriv.")} == BESIDE_THE_FACE.get(path.stem, set())
    assert {name.partition(".")[0] for name in modules} <= USED | sys.stdlib_module_names


@pytest.mark.parametrize("source", ["from bnpriv.networks import x", "def f():\n    import bnpriv.release as r"])
def test_an_import_from_inside_is_seen(source: str) -> None:
    assert any(name.startswith("bnpriv.") for name in imported(source))


@every
def test_the_outputs_are_stored(path: Path) -> None:
    cells = code_cells(nbformat.read(path, as_version=4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run tutorials/execute.py"
    for cell in cells:
        assert not any(out.output_type == "error" or out.get("name") == "stderr" for out in cell.outputs), cell.id
    shown = [cell for cell in cells if cell.outputs]
    assert len(shown) > 0.8 * len(cells)
    assert any("image/png" in out.get("data", {}) for cell in cells for out in cell.outputs)
    assert path.stat().st_size < MOST_BYTES


@every
def test_nothing_of_the_machine_is_stored(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata == METADATA
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}, cell.id
        assert not HIDDEN.search(cell.source), cell.id
    for cell in code_cells(notebook):
        for text in texts(cell):
            found = HIDDEN.search(text)
            assert found is None, f"{cell.id}: {text[max(0, found.start() - 40) : found.end() + 40]!r}"


@pytest.mark.parametrize(
    "text",
    [
        "/tmp/env/lib/python3.11/site-packages/tqdm/auto.py:21: TqdmWarning",
        "PosixPath('/home/me/bnpriv/models/clinic/patients.parquet')",
        r"C:\Users\me\patients.parquet",
        "<object at 0x7f3a5c0d>",
        "run at 2025-01-31 12:00",
    ],
)
def test_what_must_not_be_stored_is_recognized(text: str) -> None:
    assert HIDDEN.search(text)


@pytest.mark.parametrize("text", ["</td></tr>", "http://www.w3.org/2000/svg", "../models/clinic/README.md", "5 / 2"])
def test_what_may_be_stored_is_let_through(text: str) -> None:
    assert not HIDDEN.search(text)


def test_numbers_and_verdicts_are_read_as_they_are_printed() -> None:
    text = "useless: scale 20,054.5, inf nats, 6.5e-07, 10% and {a: 60, b: -3}"
    assert VALUE.findall(text) == ["useless", "20,054.5", "inf", "6.5e-07", "10", "60", "-3"]
