"""What a new process costs: the package, the shell's help, plans, reports, releases, and a session's first count.

``python -m benchmarks.cold_start [PROCESSES]`` measures the processor time of whole processes, the least of several,
and ends with 1 where a bar is missed. Imports are told as multiples of NumPy's in the same run, so that the bars hold
on slow machines too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

STUDENT = Path(__file__).resolve().parents[1] / "models" / "student"

QUERY = "count(height > 180)"

FIRST_COUNT = """
import sys, tempfile
import bnpriv as bp
with tempfile.TemporaryDirectory() as folder:
    framework = bp.read_framework(sys.argv[1] + "/framework.toml")
    session = bp.Session(framework, sys.argv[1] + "/students.parquet", budget=2, ledger=folder + "/ledger.db")
    session.release(bp.count(bp.col(sys.argv[2]) > int(sys.argv[3])), 0.5, even_if_useless=True)
"""


def planned(model: str, query: str) -> list[str]:
    """What is asked of a shipped model."""
    return [str(STUDENT.parent / model / "framework.toml"), "--query", query, "--epsilon", "1"]


ASKED = planned("student", QUERY)

NUMPY = "import numpy"

COMMANDS: dict[str, list[str]] = {
    NUMPY: ["-c", "import numpy"],
    "import bnpriv": ["-c", "import bnpriv"],
    "bnpriv --help": ["-m", "bnpriv", "--help"],
    "bnpriv report --help": ["-m", "bnpriv", "report", "--help"],
    "bnpriv report": ["-m", "bnpriv", "report", *ASKED],
    "bnpriv plan": ["-m", "bnpriv", "plan", *ASKED],
    "bnpriv plan, hospital": ["-m", "bnpriv", "plan", *planned("hospital", "smokers")],
    "bnpriv plan, four people": ["-m", "bnpriv", "plan", *planned("four-people", "ones")],
    "bnpriv release": ["-m", "bnpriv", "release", ASKED[0], str(STUDENT / "students.parquet"), *ASKED[1:]],
    "first count, no noise": ["-c", FIRST_COUNT, str(STUDENT), "height", "180"],
    "first count, noise": ["-c", FIRST_COUNT, str(STUDENT), "sat", "1200"],
}

MOST_NUMPYS = {"import bnpriv": 3.0, "bnpriv --help": 4.0}
"""Bars as multiples of NumPy's processor time."""

MOST_SECONDS = {
    "bnpriv --help": 0.3,
    "bnpriv report --help": 0.3,
    "bnpriv report": 2.0,
    "bnpriv plan": 1.0,
    "bnpriv plan, hospital": 1.0,
    "bnpriv plan, four people": 1.2,  # of which SciPy's solver takes .25 s to load
    "bnpriv release": 2.0,
    "first count, no noise": 2.0,
    "first count, noise": 2.0,
}
"""Bars in seconds of processor."""


def seconds(arguments: list[str], compiled: str) -> float:
    """Processor time of one process, all its threads together; its modules are compiled in the folder `compiled`."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        env={**variables, "PYTHONPYCACHEPREFIX": compiled},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Print the table; 1 where a bar is missed."""
    processes = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as compiled:
        for arguments in COMMANDS.values():
            seconds(arguments, compiled)  # compiles, as an installation does
        rounds = [
            {name: seconds(arguments, compiled) for name, arguments in COMMANDS.items()} for _ in range(processes)
        ]
    least = {name: min(found[name] for found in rounds) for name in COMMANDS}
    missed = False
    print(f"{'process':<24}{'seconds':>8}{'numpys':>8}  bar")
    for name, taken in least.items():
        times = taken / least[NUMPY]
        over = times > MOST_NUMPYS.get(name, float("inf")) or taken > MOST_SECONDS.get(name, float("inf"))
        missed = missed or over
        bar = f"{MOST_NUMPYS[name]:g} numpys" if name in MOST_NUMPYS else ""
        bar = f"{MOST_SECONDS[name]:g} s" if name in MOST_SECONDS else bar
        print(f"{name:<24}{taken:>8.2f}{times:>8.1f}  {bar}{', missed' if over else ''}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
