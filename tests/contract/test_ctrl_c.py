"""Ctrl-C in child processes, at random moments of long work: an end within two seconds, in known words."""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bnpriv.io.examples import example_path

SECONDS = 2.0
"""Of processor between Ctrl-C and the end, as other work on the machine does not count."""

PYTHON = {
    "plan": "f = bp.example('hospital')\nwork = lambda: bp.plan(f, 'mean(days)', random() + 0.5).document.sections",
    "report": "f = bp.example('four-people')\nwork = lambda: bp.influence_report(f, 'count(x2 == 1)', 1.0).to_html()",
    "workload": """
session = bp.Session(bp.example('hospital'), bp.example_data('hospital'), budget=3.0, ledger=folder + '/ledger.db')
work = lambda: session.workload(["mean(days)", "count(days >= 8)", 'count(smoker == "yes")'])""",
    "ask": """
session = bp.Session(bp.example('clinic'), bp.example_data('clinic'), budget=3.0, ledger=folder + '/ledger.db')
work = lambda: session.ask('mean(bmi)', 0.1)""",
    "simulate": "f = bp.example('hospital')\nwork = lambda: bp.simulate(f, 300_000)",
    "release": """
session = bp.Session(bp.example('hospital'), bp.example_data('hospital'), budget=3e4, ledger=folder + '/ledger.db')
work = lambda: session.release('count(smoker == "yes")', 0.5, even_if_useless=True)""",
    "table": """
f, data = bp.example('hospital'), bp.example_data('hospital')
work = lambda: bp.private_table(f, data, 1.0, 1e-6, records_may_be_seen=True)""",
    "a connection of the user's": """
import duckdb
rows = duckdb.connect().sql("SELECT range % 7 + 0.5 AS x FROM range(1000000000000000)")
schema = bp.Schema(records=3, columns={'x': bp.Real(0, 10)})
from bnpriv.tables.evaluate import evaluate
work = lambda: evaluate(bp.mean('x'), schema, rows)""",
}
"""Work in Python that goes on for as long as the test wants."""

CHARGES = ("release", "table")
"""What says in its last line what was charged."""

HEAD = """
import warnings, tempfile
from random import random
warnings.simplefilter("ignore")
import bnpriv as bp
folder = tempfile.mkdtemp()
"""

HOSPITAL = str(example_path("hospital"))
MOMENTS = 2
"""Of each work."""


def started(arguments: list[str]) -> subprocess.Popen[str]:
    """Start a process that hears Ctrl-C as one in a terminal does, wherever the tests run."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def used(process: subprocess.Popen[str]) -> float:
    words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def stopped(process: subprocess.Popen[str], before: float) -> tuple[float, str]:
    """Press Ctrl-C; the processor time until the end, and what stderr says.

    Python drops what is raised in the callback of a weak reference, and says so: one presses again.
    """
    for _ in range(3):
        at_once = used(process)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=20)
            break
        except subprocess.TimeoutExpired as late:
            said = late.stderr or b""
            assert "Exception ignored in" in (said if isinstance(said, str) else said.decode()), said
    else:
        raise AssertionError("three signals were not heard")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before - at_once, err


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor times where Linux keeps them")
@pytest.mark.slow
@pytest.mark.parametrize("name", PYTHON)
def test_python_ends_with_keyboard_interrupt(name: str) -> None:
    draw = random.Random(name)
    for _ in range(MOMENTS):
        before = children()
        loop = "\nprint('ready', flush=True)\nwhile True: work()"
        process = started(["-c", HEAD + PYTHON[name] + loop])
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(3 * draw.random())
        seconds, err = stopped(process, before)
        assert seconds < SECONDS, err
        lines = err.strip().splitlines()
        assert "KeyboardInterrupt" in lines, err
        assert process.returncode not in (0, 2)
        after = lines[len(lines) - lines[::-1].index("KeyboardInterrupt") :]
        if name in CHARGES:
            assert not after or "charged" in after[-1]
        assert not [line for line in lines if line.startswith("bnpriv.errors")], err


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor times where Linux keeps them")
@pytest.mark.slow
@pytest.mark.parametrize("command", ["plan", "report", "release", "table", "simulate"])
def test_the_shell_ends_with_130_and_says_what_was_charged(command: str, tmp_path: Path) -> None:
    data = str(example_path("hospital").parent / "patients.parquet")
    asked = ["--query", "mean_days", "--epsilon", "1"]
    words = {
        "plan": ["plan", HOSPITAL, *asked, "--html", str(tmp_path / "plan.html")],
        "report": ["report", HOSPITAL, *asked, "--html", str(tmp_path / "report.html")],
        "release": ["release", HOSPITAL, data, *asked, "--ledger", str(tmp_path / "l.db"), "--budget", "9"],
        "table": ["table", HOSPITAL, data, "-o", str(tmp_path / "t.parquet"), "--epsilon", "1", "--delta", "1e-6"],
        "simulate": ["simulate", HOSPITAL, "--records", "1000000", "-o", str(tmp_path / "made-up.csv")],
    }[command]
    words += ["--records-may-be-seen"] if command == "table" else []
    begins = "import sys; from bnpriv.cli import main; print('ready', file=sys.stderr, flush=True); main()"
    draw = random.Random(command)
    for _ in range(MOMENTS):
        before = children()
        process = started(["-c", begins, *words])
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.1 + 0.6 * draw.random())
        if process.poll() is not None:
            continue  # it was done before
        seconds, err = stopped(process, before)
        assert seconds < SECONDS, err
        if process.returncode == 0:
            continue  # the last lines were printed already
        # Python dies by the signal itself where it was heard inside an import; a shell says 130 of both
        assert process.returncode in (130, -signal.SIGINT), err
        assert "stopped by Ctrl-C." in err
        if command in ("release", "table"):
            # nothing more is said where the command had not begun
            assert "charged" in err.strip().splitlines()[-1] or not list(tmp_path.iterdir()), err


def test_a_program_ends_soon_though_an_engine_goes_on() -> None:
    """An engine that nothing stops is not waited for until it is done, nor taken down; what was printed is seen."""
    code = """
import sys, time
from bnpriv.core import interrupts
sys.stdout.reconfigure(write_through=False)
interrupts.ENGINE_PATIENCE = interrupts.ENGINE_PATIENCE_AT_END = 0.1
print("ready", flush=True)
try:
    interrupts.interruptible("table.csv", lambda: time.sleep(600))
except KeyboardInterrupt:
    print("caught")
"""
    process = started(["-c", code])
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert not select.select([process.stdout], [], [], 0.3)[0]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert (out, err) == ("caught\n", "")
