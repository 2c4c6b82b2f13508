"""The ledger on a real PostgreSQL server: several processes, connections that are cut, a server that crashes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bnpriv.errors import BudgetError, LedgerError
from bnpriv.ledger import ledger as ledger_room
from bnpriv.ledger.ledger import LEDGER_STEPS, Ledger
from bnpriv.ledger.values import Budget
from tests import postgres
from tests.interrupts import Interrupted
from tests.ledgers import (
    TENTH,
    at_step,
    check_against,
    child,
    ended,
    kill_self,
    opened,
    release_until_spent,
    released,
    seen,
    show,
    summed,
)

pytestmark = pytest.mark.skipif(bool(postgres.why_none()), reason=postgres.why_none())

CHARGED = LEDGER_STEPS.index("5 charge committed")
STORED = LEDGER_STEPS.index("9 answer committed")
UNDER_LOCK = (
    "2 account locked",
    "3 counted",
    "4 charge written",
    "7 account locked for the answer",
    "8 answer written",
)


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.server() as started:
        yield started


@pytest.fixture
def where(server: postgres.Server) -> str:
    return server.place()


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    return tmp_path / "shown"


def test_budgets_keys_exports_and_heads_are_as_in_a_file(where: str, server: postgres.Server) -> None:
    with pytest.raises(LedgerError, match="must have its tables"):
        Ledger.open(where)
    ledger, account = opened(where, 0.3)
    first = released(ledger, account, key="order 7")
    again = Ledger.open(where).charge(account, TENTH, admit=summed, key="order 7")
    assert again.answer is not None
    assert (again.charge.hash, dict(again.answer.content)) == (first.charge.hash, {"value": 17.25})
    ledger.store(ledger.charge(account, TENTH, admit=summed), {"text": "\ud800\0 \u00fc", "value": -0.0})
    released(ledger, account)
    with pytest.raises(BudgetError):
        released(ledger, account)
    head = ledger.head(account)
    assert Ledger.open(where, create=True).verify(seen=[head]).charges == 3
    assert ledger.export().count("\n") == 8
    with pytest.raises(LedgerError, match="none that is"):
        ledger.verify(seen=["0" * 64])
    for budget, name in ((Budget(0.4), "survey"), (Budget(0.3), "again")):
        with pytest.raises(LedgerError):
            ledger.account(name, framework="f1", data="d1", budget=budget)


def test_eight_processes_share_a_budget_for_a_hundred_answers(where: str, shown: Path) -> None:
    """Row 21."""
    ledger, account = opened(where, 10.0)
    children = [child(lambda: release_until_spent(where, shown, 10.0)) for _ in range(8)]
    assert [ended(number) for number in children] == [0] * 8
    assert len(seen(shown)) == check_against(ledger, account, shown) == 100


def test_eight_processes_that_begin_at_once_make_one_ledger(where: str, shown: Path) -> None:
    def work() -> None:
        ledger, account = opened(where, 1.0)
        with contextlib.suppress(BudgetError):
            while True:
                show(shown, released(ledger, account))

    assert [ended(number) for number in [child(work) for _ in range(8)]] == [0] * 8
    assert len(seen(shown)) == Ledger.open(where).verify().charges == 10


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_a_process_is_killed_at_every_step(where: str, shown: Path, step: str) -> None:
    """Row 20."""
    ledger, account = opened(where)

    def work() -> None:
        with at_step(step, kill_self):
            show(shown, released(Ledger.open(where), account))

    assert ended(child(work)) == -signal.SIGKILL
    reached = LEDGER_STEPS.index(step)
    assert seen(shown) == []
    assert check_against(Ledger.open(where), account, shown) == (reached >= CHARGED)
    assert Ledger.open(where).verify().answers == (reached >= STORED)
    released(ledger, account)


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_the_connection_is_cut_at_every_step(where: str, shown: Path, server: postgres.Server, step: str) -> None:
    """Nothing is shown whose charge and answer are not there."""
    ledger, account = opened(where)
    with at_step(step, server.cut_all):
        if step in UNDER_LOCK:
            with pytest.raises(LedgerError, match="must be readable and writable"):
                show(shown, released(ledger, account))
        else:  # between transactions there is no connection
            show(shown, released(ledger, account))
    reached = LEDGER_STEPS.index(step)
    assert check_against(ledger, account, shown) == (step not in UNDER_LOCK or reached >= CHARGED)
    released(ledger, account)
    check_against(Ledger.open(where), account, shown)


@pytest.mark.parametrize("deliver", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_the_reply_to_a_commit_is_lost(
    where: str, shown: Path, server: postgres.Server, times: int, deliver: bool
) -> None:
    """Whether it was committed cannot be known: nothing is shown, and a charge that is there stays."""
    opened(where)
    ledger, account = Ledger.open(where, patience=20), Ledger.open(where).accounts()[0]
    wire = postgres.Wire(server, b"COMMIT\0", deliver=deliver)
    try:
        remote = Ledger.open(where.replace(f":{server.port}/", f":{wire.port}/"))
        wire.times = times
        with pytest.raises(LedgerError, match="must be readable and writable"):
            show(shown, released(remote, account, key="order 7"))
    finally:
        wire.close()
    assert seen(shown) == []
    expected = (times == 2 or deliver, times == 2 and deliver)
    for _ in range(100):  # the server may still be at it
        check = ledger.verify()
        if (check.charges, check.answers) == expected:
            break
        time.sleep(0.05)
    assert (check.charges, check.answers) == expected
    if check.charges and not check.answers:
        with pytest.raises(LedgerError, match="its charge stays"):
            released(ledger, account, key="order 7")
    else:
        assert released(ledger, account, key="order 7").charge.key == "order 7"


def test_a_server_that_crashes_keeps_every_charge(where: str, shown: Path, server: postgres.Server) -> None:
    ledger, account = opened(where)
    for _ in range(3):
        show(shown, released(ledger, account))

    def crash() -> None:
        server.stop("immediate")

    with at_step("4 charge written", crash), pytest.raises(LedgerError):
        show(shown, released(ledger, account))
    with pytest.raises(LedgerError):
        show(shown, released(ledger, account))
    server.start()
    assert check_against(Ledger.open(where), account, shown) == 3
    with at_step("5 charge committed", crash), pytest.raises(LedgerError):
        show(shown, released(ledger, account))
    server.start()
    assert check_against(ledger, account, shown) == 4
    assert len(seen(shown)) == 3


def test_who_waits_waits_for_the_lock_and_is_told_in_the_end(where: str) -> None:
    ledger, account = opened(where)
    hurried = Ledger.open(where, patience=0.05)

    def admit(entries, new):
        with pytest.raises(LedgerError, match="lock timeout"):
            released(hurried, account)
        return summed(entries, new)

    ledger.charge(account, TENTH, admit=admit)
    assert ledger.verify().charges == 1


def test_who_reads_sees_one_state(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others charge while a ledger is read: nothing is missing, and nothing is taken for an edit."""
    ledger, account = opened(where)
    plain = ledger_room.chain_state

    def state(connection, chain, **how):
        found = plain(connection, chain, **how)
        if chain == account.number and not how.get("lock"):
            released(Ledger.open(where), account)
        return found

    released(ledger, account)
    monkeypatch.setattr(ledger_room, "chain_state", state)
    assert len(ledger.book(account).charges) == 1
    monkeypatch.undo()
    assert ledger.verify().charges == 2


def edited(server: postgres.Server, where: str, statement: str) -> None:
    schema = where.rpartition("%3D")[2]
    server.do(
        f"SET search_path = {schema}; ALTER TABLE bnpriv_entries DISABLE TRIGGER USER; {statement}; "
        "ALTER TABLE IF EXISTS bnpriv_entries ENABLE TRIGGER USER"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bnpriv_entries SET payload = replace(payload, '1/10', '1/99')",
        "DELETE FROM bnpriv_entries WHERE chain = 1 AND sequence = 1",
        "DELETE FROM bnpriv_entries WHERE chain = 1",
        "DELETE FROM bnpriv_entries; DELETE FROM bnpriv_chains",
        "UPDATE bnpriv_chains SET length = 0",
        "UPDATE bnpriv_ledger SET version = 2",
        "DROP TABLE bnpriv_chains",
        "DROP TABLE bnpriv_entries",
        "DROP TABLE bnpriv_ledger",
    ],
)
def test_edited_rows_are_refused(server: postgres.Server, where: str, statement: str) -> None:
    """Row 22: in the process that knows them and in a new one."""
    ledger, account = opened(where)
    released(ledger, account)
    edited(server, where, statement)
    for work in (
        lambda: Ledger.open(where, create=True).verify(),
        lambda: Ledger.open(where).charge(account, TENTH, admit=summed),
        lambda: ledger.verify(),
    ):
        with pytest.raises(LedgerError):
            work()


def test_rows_are_never_changed_even_by_others(server: postgres.Server, where: str) -> None:
    import psycopg

    ledger, account = opened(where)
    released(ledger, account)
    schema = where.rpartition("%3D")[2]
    for statement in ("UPDATE {}.bnpriv_entries SET kind = 'x'", "DELETE FROM {}.bnpriv_entries",
                      "TRUNCATE {}.bnpriv_entries"):  # fmt: skip
        with pytest.raises(psycopg.Error, match="never changed"):
            server.do(statement.format(schema))
    assert ledger.verify().charges == 1


def test_what_cannot_be_written_or_reached_is_refused(server: postgres.Server, where: str, shown: Path) -> None:
    """Row 22; and no message holds a password."""
    _, account = opened(where)
    with pytest.raises(LedgerError, match="read-only"):
        released(Ledger.open(f"{where}%20-cdefault_transaction_read_only%3Don"), account)
    nowhere = f"postgresql://somebody:geheim@127.0.0.1:{postgres.free_port()}/postgres"
    with pytest.raises(LedgerError) as caught:
        Ledger.open(nowhere)
    assert "geheim" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert Ledger.open(where).verify().charges == 0


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_a_release_is_interrupted_at_every_step(where: str, step: str) -> None:
    """Nobody waits for who was interrupted, though the traceback is kept."""
    ledger, account = opened(where, 1.0)
    with at_step(step, interrupt), pytest.raises(Interrupted) as kept:
        released(ledger, account)
    charged = LEDGER_STEPS.index(step) >= CHARGED
    if LEDGER_STEPS.index(step) <= CHARGED:
        assert kept.value.__notes__[0].startswith("Release") == charged
    released(Ledger.open(where, patience=1.0), account)
    assert ledger.verify().charges == 1 + charged


def test_a_wait_for_others_is_heard(where: str, tmp_path: Path) -> None:
    ledger, account = opened(where, 1.0)

    def hold() -> None:
        with at_step("4 charge written", lambda: (Path(tmp_path, "held").touch(), time.sleep(60))):
            released(Ledger.open(where), account)

    holder = child(hold)
    while not Path(tmp_path, "held").exists():
        time.sleep(0.01)
    started, plain = time.monotonic(), signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.6)
        with pytest.raises(KeyboardInterrupt) as kept:
            ledger.charge(account, TENTH, admit=summed)
        assert time.monotonic() - started < 2.5
        assert kept.value.__notes__ == ["Nothing was charged."]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, plain)
        kill(holder)
    released(ledger, account)
    assert ledger.verify().charges == 1


def interrupt() -> None:
    raise Interrupted


def kill(number: int) -> None:
    os.kill(number, signal.SIGKILL)
    ended(number)


def test_a_commit_is_on_the_disk_whatever_the_server_says(where: str) -> None:
    """A server may be told to say so before it is."""
    opened(where)
    ledger = Ledger.open(f"{where}%20-csynchronous_commit%3Doff")
    asked = ledger._store.write(lambda connection: connection.exec_driver_sql("SHOW synchronous_commit").scalar())
    assert asked == "on"


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_databases_of_any_encoding_keep_a_ledger(server: postgres.Server, encoding: str) -> None:
    """A server that was made without a locale has SQL_ASCII."""
    server.do(f"CREATE DATABASE d{encoding} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    ledger, account = opened(f"postgresql://{postgres.NAME}@127.0.0.1:{server.port}/d{encoding.lower()}", 0.1)
    released(ledger, account, key="\u00fc")
    assert ledger.verify().answers == 1


def test_the_ledger_hides_a_password(where: str) -> None:
    opened(where)
    text = repr(Ledger.open(where.replace("@127", ":geheim@127")))
    assert "geheim" not in text
    assert "***" in text
