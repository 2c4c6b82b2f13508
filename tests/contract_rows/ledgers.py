"""Rows about what is charged: crashes, several processes, changed files, keys, budgets, paths."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import bnpriv as bp
from bnpriv.errors import BudgetError, DataError, LedgerError, RefusedError
from bnpriv.ledger.ledger import LEDGER_STEPS, Ledger
from tests.contract_rows.evidence import ROOT, STUDENT, calibrated, framework, pair_of_nodes, refusal, row, shell
from tests.later import Later
from tests.ledgers import (
    TENTH,
    at_step,
    check_against,
    child,
    ended,
    kill_self,
    opened,
    refused,
    release_until_spent,
    released,
    seen,
    show,
    summed,
)

pd = Later("pandas")

CHARGED, STORED = LEDGER_STEPS.index("5 charge committed"), LEDGER_STEPS.index("9 answer committed")
DATA = bp.example_data("student")


@row(19, "an exception in the middle of a release")
def _(folder: Path) -> str:
    frame = framework(pair_of_nodes(), records=3)
    table = pd.DataFrame({"x": [7.123456, 1.0, 2.0]})

    def fails(columns: pd.DataFrame) -> float:
        if columns["x"].round(3).tolist() == [7.123, 1.0, 2.0]:  # on no made-up table
            raise ValueError(str(columns["x"].iloc[0]))
        return 0.0

    own = bp.custom(fails, columns=["x"], sensitivity=1.0)
    calibration = bp.ColumnMechanism().calibrate(frame, own, epsilon=0.5)
    ledger = folder / "l.db"
    error = refusal(lambda: bp.release(calibration, table, ledger=ledger, budget=1.0, even_if_useless=True))
    assert isinstance(error, DataError), error
    assert "7.12" not in str(error)
    found = Ledger.open(ledger).verify()
    assert (found.charges, found.answers) == (1, 0)
    return "1 charge, 0 answers; the message withholds the value"


@row(20, "crash, kill -9, full disk")
def _(folder: Path) -> str:
    for k, step in enumerate(LEDGER_STEPS):
        place, shown = folder / f"{k}.db", folder / f"{k}"
        ledger, account = opened(place, 0.3)

        def work(step: str = step, place: Path = place, account: object = account, shown: Path = shown) -> None:
            with at_step(step, kill_self):
                show(shown, released(Ledger.open(place), account))  # type: ignore[arg-type]

        assert ended(child(work)) == -signal.SIGKILL
        assert seen(shown) == []
        assert check_against(Ledger.open(place), account, shown) == (k >= CHARGED)
        assert Ledger.open(place).verify().answers == (k >= STORED)
    place, shown = folder / "full.db", folder / "full"
    ledger, account = opened(place, 100.0)
    released(ledger, account)
    size = place.stat().st_size

    def fill() -> None:
        mine = Ledger.open(place)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096))
        while not refused(lambda: show(shown, released(mine, account))):
            pass

    assert ended(child(fill)) == 0
    charges = check_against(Ledger.open(place), account, shown)
    killed = f"killed at {len(LEDGER_STEPS)} steps: charged from step {CHARGED + 1} on, nothing shown"
    return f"{killed}; disk full after {charges} charges, {len(seen(shown))} shown"


@row(21, "two processes, one ledger")
def _(folder: Path) -> str:
    place, shown = folder / "l.db", folder / "shown"
    ledger, account = opened(place, 10.0)
    children = [child(lambda: release_until_spent(place, shown, 10.0)) for _ in range(4)]
    assert [ended(number) for number in children] == [0] * 4
    assert len(seen(shown)) == check_against(ledger, account, shown) == 100
    refusal(lambda: released(ledger, account), kind=BudgetError)
    return "4 processes, budget for 100: 100 shown, 100 charged"


@row(22, "ledger truncated, edited, unreadable, read-only")
def _(folder: Path) -> str:
    place = folder / "l.db"
    ledger, account = opened(place, 5.0)
    for _ in range(3):
        released(ledger, account)
    whole = place.read_bytes()
    tried = 0
    for end in (0, 1, 100, 4096, len(whole) // 2, len(whole) - 1):
        place.write_bytes(whole[:end])
        refusal(lambda: released(Ledger.open(place, create=True), account), kind=LedgerError)
        tried += 1
    for edit in ("UPDATE {} SET payload = replace(payload, '1/10', '0')", "DELETE FROM {}"):
        place.write_bytes(whole)
        with closing(sqlite3.connect(place)) as connection, connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            triggers = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
            for name in triggers:  # who edits the file is not held up by them
                connection.execute(f"DROP TRIGGER {name}")
            done = 0
            for name in tables:
                columns = [c[1] for c in connection.execute(f"PRAGMA table_info({name})")]
                if "payload" in columns:
                    connection.execute(edit.format(name))
                    done += 1
        connection.close()
        assert done
        refusal(lambda: released(Ledger.open(place), account), kind=LedgerError)
        tried += 1
    place.write_bytes(whole)
    place.chmod(0o400)
    refusal(lambda: released(Ledger.open(place), account), kind=LedgerError)
    return f"{tried + 1} of {tried + 1} refused, none made anew"


@row(23, "a retry after a lost answer")
def _(folder: Path) -> str:
    ledger = folder / "l.db"
    order: dict[str, Any] = {"ledger": ledger, "budget": 1.0, "key": "order 7", "even_if_useless": True}
    first, again = (bp.release(calibrated(), DATA, **order) for _ in range(2))
    assert first.value == again.value
    assert Ledger.open(ledger).verify().charges == 1
    return f"the same answer twice ({first.value:g}), 1 charge"


@row(24, "budgets compared in floats")
def _(folder: Path) -> str:
    ledger, account = opened(folder / "l.db", 1.0)
    for _ in range(10):
        released(ledger, account)
    refusal(lambda: released(ledger, account), kind=BudgetError)
    total = sum([0.1] * 10)
    return f"ten times 0.1 fit into 1.0 exactly (floats say {total!r}), the eleventh is refused"


@row(25, "copying or recreating the session")
def _(folder: Path) -> str:
    ledger = folder / "l.db"
    with bp.Session(STUDENT, DATA, budget=1.0, ledger=ledger) as one:
        one.release(calibrated(), even_if_useless=True)
        with bp.Session(STUDENT, DATA, budget=1.0, ledger=ledger) as two:
            left = two.remaining
            refusal(lambda: two.release("count(sat >= 1200)", 1.0), kind=RefusedError)
        assert one.remaining == left
    assert left < 0.01, left
    told = (ROOT / "docs" / "claims" / "ledger.md").read_text(encoding="utf-8")
    assert "anew" in told or "new ledger" in told
    return f"opened again: {left:g} of 1 left, refused; docs/claims/ledger.md says what a new file means"


@row(26, "composition across releases")
def _(folder: Path) -> str:
    states = {name: [0, 1] for name in "sxy"}
    xor = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.5, 0.5], "x": [0.5, 0.5], "y": xor}, states=states, parents={"y": ["s", "x"]}, level="parameters"
    )
    schema = bp.Schema(records=10, columns={"x": bp.Real(0, 8), "y": bp.Real(0, 8)})
    frame = bp.DistributionalAttributePrivacy(network, schema, "s", source="made up")
    mechanism = bp.MarkovQuiltMechanism()
    one, two = (mechanism.calibrate(frame, bp.total(name), epsilon=0.5) for name in "xy")
    assert one.scale == two.scale == 0  # each column alone tells nothing, both tell everything
    first = bp.Accountant(frame).record(one)
    assert first.epsilon <= 0.5
    try:
        both = first.record(two).epsilon
    except RefusedError as error:
        found = f"refused: {error.required[:60]}"
    else:
        assert both > 100, both
        found = f"counted as {both:g}"
    column = bp.Accountant(STUDENT)
    for _ in range(3):
        column = column.record(calibrated(0.5))
    assert abs(column.epsilon - 1.5) < 1e-9
    return f"two answers of .5 that tell all together: {found}; three column releases of .5: {column.epsilon:g}"


@row(32, "world-writable or symlinked ledger")
def _(folder: Path) -> str:
    os.chmod(folder, 0o700)
    place = folder / "l.db"
    opened(place)
    link, hard = folder / "link.db", folder / "hard.db"
    link.symlink_to(place)
    refusal(lambda: Ledger.open(link, create=True), "symbolic link", kind=LedgerError)
    place.chmod(0o666)
    refusal(lambda: Ledger.open(place), "writable for everybody", kind=LedgerError)
    place.chmod(0o600)
    os.link(place, hard)
    refusal(lambda: Ledger.open(place), "hard links", kind=LedgerError)
    return "3 of 3 refused: a symbolic link, a mode of 666, a second name"


@row(48, "a subnormal or NaN charge after a budget is used up")
def _(folder: Path) -> str:
    ledger, account = opened(folder / "l.db", 0.1)
    released(ledger, account)
    before = (folder / "l.db").read_bytes()
    tried = ("1/" + "1" + "0" * 320, "nan", "-1/10", "inf", "1e-320", "0.0", "")
    for epsilon in tried:
        refusal(lambda epsilon=epsilon: ledger.charge(account, {**TENTH, "epsilon": epsilon}, admit=summed))
    for epsilon in (5e-324, float("nan"), -1.0):
        refusal(lambda epsilon=epsilon: ledger.charge(account, {**TENTH, "epsilon": epsilon}, admit=summed))
    assert (folder / "l.db").read_bytes() == before
    return f"{len(tried) + 3} of {len(tried) + 3} refused, no byte of the ledger changed"


SCAN = """
import duckdb, signal, sys
import bnpriv as bp
rows = 50_000_000
network = bp.DiscreteNetwork.from_tables(
    {"s": [0.5, 0.5], "x": [[0.8, 0.2], [0.2, 0.8]]}, states={"s": [0, 1], "x": [0, 1]},
    parents={"x": ["s"]}, level="parameters")
schema = bp.Schema(records=rows, columns={"x": bp.Real(0, 8)})
frame = bp.DistributionalAttributePrivacy(network, schema, "s", source="made up")
query = bp.stack(*(bp.count(bp.col("x") > k / 100) for k in range(400)))
calibration = bp.ColumnMechanism().calibrate(frame, query, epsilon=1.0)
duckdb.execute("PRAGMA threads=2")
relation = duckdb.sql("SELECT random() * 8 AS x FROM range(50000000)")
print("ready", flush=True)
bp.release(calibration, relation, ledger="l.db", budget=2.0, even_if_useless=True)
"""

OWN_SCAN = (
    SCAN.replace("duckdb.execute", "own = duckdb.connect()\nown.execute")
    .replace("duckdb.sql", "own.sql")
    .replace("bp.release(", "try:\n    bp.release(")
    + "except KeyboardInterrupt:\n    print('heard', flush=True)\n    raise\n"
)
"""A connection of one's own cannot be stopped: Ctrl-C is heard, and the query ends behind."""

WAIT = """
import bnpriv as bp
from tests.ledgers import opened, released
ledger, account = opened("l.db", create=False)
print("ready", flush=True)
released(ledger, account)
"""


def interrupted(program: str, after: float) -> tuple[float, int, str]:
    """Press Ctrl-C some time after a program has its ledger; return the seconds to its end, its code and its errors."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    while not Path("l.db").exists() and time.monotonic() - begun < 45:  # a crowded machine takes longer to come there
        time.sleep(0.05)
    time.sleep(after)
    assert process.poll() is None, "it ended before Ctrl-C"
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    if program == OWN_SCAN:
        assert process.stdout.readline() == "heard\n"
        heard = time.monotonic() - started
        return heard, process.wait(45), process.communicate()[1]
    try:
        _, said = process.communicate(timeout=45)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        return 45.0, process.returncode, said
    return time.monotonic() - started, process.returncode, said


@row(49, "Ctrl-C during a long scan or wait for a lock")
def _(folder: Path) -> str:
    seconds, _, said = interrupted(SCAN, 2.0)
    last = said.strip().splitlines()[-1] if said.strip() else ""
    assert "KeyboardInterrupt" in said, f"scan: {seconds:.1f} s, then {last[:100]}"
    assert seconds < 2 * slowness(), f"scan: {seconds:.1f} s"
    with_charge = "charge" in last
    (folder / "l.db").unlink()
    own, _, said = interrupted(OWN_SCAN, 1.0)
    assert "KeyboardInterrupt" in said, f"scan by a connection of one's own: {own:.1f} s"
    assert own < 2 * slowness(), f"scan by a connection of one's own: {own:.1f} s"
    (folder / "l.db").unlink(missing_ok=True)
    opened(folder / "l.db")
    holder = sqlite3.connect(folder / "l.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    waited, _, said = interrupted(WAIT, 1.0)
    holder.rollback()
    assert "KeyboardInterrupt" in said, f"lock: {waited:.1f} s, then {said[-100:]}"
    assert waited < 2 * slowness(), f"lock: {waited:.1f} s"
    assert with_charge, f"the last line does not say what was charged: {last[:100]}"
    scans = f"scan {seconds:.1f} s, by a connection of one's own {own:.1f} s"
    return f"{scans}, wait {waited:.1f} s, KeyboardInterrupt; last line: {last[:60]}"


def slowness() -> float:
    """Return by how much a crowded machine takes longer: processes that want to run for each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@row(50, "two paths of one call that are one file")
def _(folder: Path) -> str:
    student = (
        str(bp.examples_path) if hasattr(bp, "examples_path") else str(ROOT / "models" / "student" / "framework.toml")
    )
    tried = 0
    (folder / "sub").mkdir()
    (folder / "alias").symlink_to(folder)
    for output in ("l.db", "./l.db", "sub/../l.db", str(folder / "l.db"), "alias/l.db", "l.db-journal", "l.db-wal"):
        done = shell(
            folder, "release", student, str(DATA), "--query", "count(height > 180)", "--epsilon", ".5",
            "--ledger", "l.db", "--budget", "1", "--json" if tried % 2 else "--html", output,
        )  # fmt: skip
        assert done.returncode == 2, f"--json {output}: exit {done.returncode}"
        assert not (folder / "l.db").exists() or Ledger.open(folder / "l.db").verify().charges == 0
        (folder / "l.db").unlink(missing_ok=True)
        tried += 1
    return f"{tried} of {tried} spellings refused, exit 2, nothing charged"


@row(54, "an answer that is useless by its own verdict")
def _(folder: Path) -> str:
    useless, ledger = calibrated(), folder / "l.db"
    example = str(ROOT / "models" / "student" / "framework.toml")
    words = ("release", example, str(DATA), "--query", "tall", "--epsilon", "1", "--mechanism", "ColumnMechanism")
    charged = ("--ledger", str(ledger), "--budget", "1")
    for given in ((), charged):
        done = shell(folder, *words, *given)
        assert done.returncode == 2, done.stderr
        assert "beside a range from 0 to 10,000" in done.stderr, done.stderr
    refusal(lambda: bp.release(useless, DATA, ledger=ledger, budget=1.0), "even_if_useless", kind=RefusedError)
    assert Ledger.open(ledger).verify().charges == 0  # the shell opens the account, and charges nothing
    with bp.Session(STUDENT, DATA, budget=1.0, ledger=ledger) as session:
        refusal(lambda: session.release(useless, key="a"), "even_if_useless", kind=RefusedError)
        assert session.remaining == 1.0
        first = session.release(useless, key="a", even_if_useless=True)
        assert session.release(useless, key="a").value == first.value
    return "5 ways refused before a charge; the waiver charges; a key opens what was answered"


@row(56, "entries that come back from a file")
def _(folder: Path) -> str:
    clinic, data = bp.example("clinic"), bp.example_data("clinic")
    query = bp.linear({"liver_enzyme": 1, "infection": 2})
    with bp.Session(clinic, data, budget=6.0, ledger=folder / "l.db") as session:
        for epsilon in (0.5, 0.7):
            session.release(query, epsilon=epsilon, even_if_useless=True)
        spent = session.spent
    with bp.Session(clinic, data, ledger=folder / "l.db") as again:
        assert again.spent == spent, (again.spent, spent)
        total = again.accountant.epsilon
    assert abs(total - spent) < 1e-9, (total, spent)
    return f"recounted {total:.4f} = last total {spent:.4f}"
