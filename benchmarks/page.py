"""What docs/benchmarks.md shows, printed anew: ``python -m benchmarks.page``, or with the names of some parts.

Every part is what one command prints, below a line that says when and on what it ran.
"""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = {
    "limit": "benchmarks/limit.py examples",
    "audit": "-m benchmarks.audit",
    "misspecified": "benchmarks/misspecified.py",
    "tight": "benchmarks/tight.py",
    "chain": "benchmarks/chain.py",
    "transport": "benchmarks/transport.py",
    "first_number": "-m benchmarks.first_number",
    "public_records": "-m benchmarks.public_records",
    "private_table_errors": "-m benchmarks.private_table_errors",
    "private_table_learning": "-m benchmarks.private_table_learning",
    "useful_answers": "-m benchmarks.useful_answers",
    "estimated_influence": "benchmarks/estimated_influence.py",
    "gallery_loss": "-m benchmarks.gallery_loss",
}
"""The parts of the page, by the names of their files, and the command of each."""


def ran_on() -> str:
    """Return the day, the versions and the processors, and nothing that names the machine."""
    parts = [f"{name} {version(name)}" for name in ("bnpriv", "numpy", "scipy")]
    load = os.getloadavg()[0]
    return (
        f"{datetime.date.today()}, Python {platform.python_version()}, {', '.join(parts)}; "
        f"{os.cpu_count()} processors, {load:.1f} programs at work on them at the start"
    )


def main(names: list[str]) -> None:
    """Run the commands and write what they print."""
    for name in names or PARTS:
        head = ran_on()
        command = [sys.executable, *PARTS[name].split()]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        (ROOT / "docs" / "benchmarks" / f"{name}.txt").write_text(f"{head}\n\n{done.stdout}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
