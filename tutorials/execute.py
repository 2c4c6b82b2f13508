"""Run the tutorials and store their outputs: ``python tutorials/execute.py``, or with the names of some of them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
TIMEOUT = 300  # seconds for a cell

OF_NO_CONCERN = (
    "IProgress not found",  # pgmpy would like progress bars from ipywidgets
    "PyTensor could not link to a BLAS",  # which makes it slower, not wrong
)
"""How warnings begin that tell of this machine, not of the tutorials."""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


ADULT = Path(os.environ.get("BNPRIV_ADULT", FOLDER.parent.parent / "shared" / "data" / "adult"))
"""Where the census income files are, which are not part of the project."""


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


def missing(path: Path) -> str | None:
    """Return which data a notebook misses here, or None if it can run."""
    if path.stem != "10-adult" or (ADULT / "adult.data").is_file():
        return None
    return "no census income files: let BNPRIV_ADULT name the folder with adult.data and adult.test"


def execute(path: Path) -> Any:
    """Return a notebook, run from the first cell to the last in a fresh kernel; nothing of this machine is kept.

    The kernel imports the bnpriv beside the tutorials.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    ways = [str(FOLDER.parent), os.environ.get("PYTHONPATH")]
    with tempfile.TemporaryDirectory() as home:
        own = {
            "PYTHONPATH": os.pathsep.join(filter(None, ways)),
            "IPYTHONDIR": home,
            "BNPRIV_PROGRESS": "off",  # bars depend on the machine
            "PYTHONWARNINGS": ",".join(f"ignore:{start}" for start in OF_NO_CONCERN),
        }
        client.execute(env=os.environ | own)
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def main(names: Sequence[str] = ()) -> None:
    """Run the tutorials whose file names begin with one of some names, such as "04"; all where none is given."""
    import nbformat

    chosen = [path for path in notebooks() if not names or path.name.startswith(tuple(names))]
    if not chosen:
        sys.exit(f"No tutorial is called so; there are {', '.join(path.stem for path in notebooks())}.")
    for path in chosen:
        if reason := missing(path):
            print(f"{path.name}: skipped, {reason}")
            continue
        nbformat.write(execute(path), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
