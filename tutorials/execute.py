"""Run the tutorials and store their outputs: ``python tutorials/execute.py``."""

from __future__ import annotations

import os
import sys
import tempfile
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


def notebooks() -> list[Path]:
    return sorted(FOLDER.glob("*.ipynb"))


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
            "PYTHONWARNINGS": ",".join(f"ignore:{start}" for start in OF_NO_CONCERN),
        }
        client.execute(env=os.environ | own)
    notebook.metadata = nbformat.from_dict(METADATA)
    return notebook


def main() -> None:
    import nbformat

    for path in notebooks():
        nbformat.write(execute(path), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
