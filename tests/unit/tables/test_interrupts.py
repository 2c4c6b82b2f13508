"""Row 49 of the reliability contract: Ctrl-C is heard at once in every engine, nothing stays open, and what was
charged is told last."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType

import pytest

import bnpriv as bp
from bnpriv import cli
from bnpriv.core import interrupts
from bnpriv.core.columns import Real
from bnpriv.core.interrupts import interruptible, noting, stoppable
from bnpriv.core.schema import Schema
from bnpriv.io.examples import example_path
from bnpriv.ledger.ledger import Ledger
from bnpriv.tables.data_check import check_data
from bnpriv.tables.evaluate import evaluate
from bnpriv.tables.public import public_table
from tests.interrupts import Interrupted, interrupted_at

SECONDS = 2.0
ENDLESS = "SELECT range % 7 + 0.5 AS x FROM range(1000000000000000)"
SMALL = "SELECT 0.5 AS x FROM range(3)"
SCHEMA = Schema(records=3, columns={"x": Real(0, 10)})


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def seconds_to_stop(work: Callable[[], object], after: float = 0.3) -> float:
    """Press Ctrl-C in work that would never end, and return how long it took to be heard."""
    pressed: list[float] = []

    def pressing() -> None:
        pressed.append(time.monotonic())
        press()

    timer = threading.Timer(after, pressing)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        timer.cancel()
    return time.monotonic() - pressed[0]


def left_behind() -> list[threading.Thread]:
    """The threads that go on, not for their last step alone; Python also lists one whose start was cut off."""
    found = [thread for thread in threading.enumerate() if thread.name == "bnpriv-table" and thread.is_alive()]
    for thread in found:
        thread.join(SECONDS)
    return [thread for thread in found if thread.is_alive()]


@pytest.fixture(autouse=True)
def engines_are_imported() -> None:
    """An import that is cut off leaves half a module, whoever presses Ctrl-C."""
    import duckdb
    import pandas as pd
    import polars as pl

    held = {"x": [0.5, 1.0, 2.0]}
    for data in (pd.DataFrame(held), pl.LazyFrame(held), pl.DataFrame(held).to_arrow(), duckdb.sql(SMALL)):
        evaluate(bp.mean("x"), SCHEMA, data)
    check_data(SCHEMA, pd.DataFrame(held))


@pytest.fixture
def endless_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return a table in a file over which a query of DuckDB would take days."""
    import duckdb

    from bnpriv.tables import files

    def endless(connection: duckdb.DuckDBPyConnection, path: Path) -> object:
        import narwhals as nw

        return nw.from_native(connection.sql(ENDLESS))

    path = tmp_path / "table.parquet"
    duckdb.sql(SMALL).write_parquet(str(path))
    monkeypatch.setattr(files, "_parquet", endless)
    return str(path)


@pytest.mark.parametrize(
    "work",
    [
        partial(evaluate, bp.mean("x"), SCHEMA),
        partial(evaluate, bp.custom(lambda table: 0.0, columns=["x"], sensitivity=1), SCHEMA),
        partial(check_data, SCHEMA),
        lambda path: public_table(path, ["x"]),
    ],
    ids=["evaluate", "custom", "check", "public"],
)
def test_row_49_a_file_is_read_no_more(endless_file: str, work: Callable[[str], object]) -> None:
    assert seconds_to_stop(lambda: work(endless_file)) < SECONDS
    assert not left_behind()


def test_row_49_a_table_of_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, duckdb.sql(ENDLESS))) < SECONDS
    assert not left_behind()
    assert duckdb.sql("SELECT 42").fetchone() == (42,)  # the connection of the user is free again
    own = duckdb.connect()
    monkeypatch.setattr(interrupts, "ENGINE_PATIENCE", 0.1)
    monkeypatch.setattr(interrupts, "under_way", set())
    assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, own.sql(ENDLESS))) < SECONDS
    assert len(interrupts.under_way) == 1  # it goes on, and the end of the program knows
    own.interrupt()
    assert not left_behind()
    assert not interrupts.under_way
    assert own.sql("SELECT 42").fetchone() == (42,)


@pytest.mark.parametrize("engine", ["pandas", "polars", "arrow"])
def test_row_49_engines_in_memory(engine: str) -> None:
    """Polars runs a function of ours for days; the others sum so fast that the wait stands in the way to them."""
    import pandas as pd
    import polars as pl

    from bnpriv.tables import evaluate as totals

    def slow(table: object) -> object:
        for _ in range(10**9):
            time.sleep(0.01)
        return table

    held = {"x": [0.5, 1.0, 2.0]}
    if engine == "polars":
        data: object = pl.LazyFrame(held).map_batches(slow)
        assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, data)) < SECONDS
        return
    table = pd.DataFrame(held) if engine == "pandas" else pl.DataFrame(held).to_arrow()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(totals, "collected", slow)
        assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, table)) < SECONDS
    assert not left_behind()


def test_row_49_a_csv_file_leaves_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.tables import files

    path = tmp_path / "table.csv"
    path.write_bytes(b"x\n1\n\xff\n2\n")  # what is no UTF-8 is copied first
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    real = files.shutil.copyfileobj
    begun: list[int] = []

    def slow(*arguments: object) -> None:
        begun.append(len(list(tmp_path.iterdir())))
        for _ in range(10**9):
            time.sleep(0.01)
        real(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(files.shutil, "copyfileobj", slow)
    assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, path)) < SECONDS
    assert begun == [2]
    assert list(tmp_path.iterdir()) == [path]


# what ends the thread may be raised in a finalizer, where Python drops it; the engine ends the thread then
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_row_49_a_database(tmp_path: Path) -> None:
    import sqlite3

    file = tmp_path / "people.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "CREATE VIEW people AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x % 9 + 1 FROM n) SELECT x FROM n"
        )
    assert seconds_to_stop(lambda: evaluate(bp.mean("x"), SCHEMA, f"sqlite:///{file}#people")) < SECONDS
    assert not left_behind()


class Elsewhere:
    """A table of an engine that is read in the thread it is in, and makes an error of its own of Ctrl-C."""


def test_an_engine_that_makes_an_error_of_ctrl_c() -> None:
    def work() -> None:
        try:
            time.sleep(100)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    before = signal.getsignal(signal.SIGINT)
    assert seconds_to_stop(lambda: interruptible(Elsewhere(), work)) < SECONDS
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ZeroDivisionError):
        interruptible(Elsewhere(), lambda: 1 / 0)


def test_what_work_returns_and_raises_comes_back() -> None:
    where: list[threading.Thread] = []

    def work() -> int:
        where.append(threading.current_thread())
        return interruptible("t.csv", lambda: 3)  # in a thread already: no other one

    assert interruptible("t.csv", work) == 3
    assert where[0] is not threading.main_thread()
    assert not left_behind()
    with pytest.raises(ZeroDivisionError):
        interruptible("t.csv", lambda: 1 / 0)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(interruptible("t.csv", lambda: len(left_behind()))))
    thread.start()
    thread.join()
    assert found == [0]


def test_a_stop_is_called_until_the_work_ends() -> None:
    stopped: list[int] = []
    free = threading.Event()

    def stop() -> None:
        stopped.append(1)
        if len(stopped) == 3:  # what was waited for began only then
            free.set()

    def work() -> None:
        with stoppable(stop):
            while not free.is_set():
                try:
                    free.wait(10)
                except SystemExit:
                    free.wait(10)

    assert seconds_to_stop(lambda: interruptible("t.csv", work), 0.1) < SECONDS
    assert len(stopped) == 3


def endless() -> None:
    for _ in range(10**9):
        time.sleep(0.001)


SLOW_MODULE = """
import time
from pathlib import Path

def step(depth):
    if depth:
        step(depth - 1)
    else:
        time.sleep(0.01)

for _ in range(1000):
    if Path(__file__).with_name("go on").exists():
        break
    step(5)
whole = True
"""


@pytest.fixture
def slow_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Return a module whose import ends once a file named "go on" is beside it, or after ten seconds."""
    name = f"slow_module_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SLOW_MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(interrupts, "under_way", set())
    monkeypatch.setattr(interrupts, "ENGINE_PATIENCE", 0.1)
    return name


@pytest.mark.parametrize("presses", [1, 2])
def test_row_49_an_import_is_not_cut_off(
    slow_module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, presses: int
) -> None:
    """It would leave half a module, or take away the lock without which no thread imports anything again.

    The second Ctrl-C is not kept waiting, and the work is not done once the import has ended.
    """
    monkeypatch.setattr(interrupts, "IMPORT_PATIENCE", 30.0)
    imported: list[bool] = []

    def work() -> None:
        imported.append(import_module(slow_module).whole)
        endless()

    def then() -> None:
        while not any(doing.stopped for doing in interrupts.under_way):
            time.sleep(0.01)
        time.sleep(0.3)
        if presses == 2:
            press()
        else:
            (tmp_path / "go on").touch()

    threading.Thread(target=then, daemon=True).start()
    assert seconds_to_stop(lambda: interruptible("t.csv", work)) < 1 + SECONDS
    if presses == 2:
        assert not imported
        (tmp_path / "go on").touch()
    assert not left_behind()
    assert imported == [True]
    assert not interrupts.under_way


def test_row_49_an_import_that_does_not_end_is_cut_off(slow_module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "IMPORT_PATIENCE", 0.1)
    ended: list[bool] = []

    def work() -> None:
        try:
            import_module(slow_module)
        finally:
            ended.append(slow_module in sys.modules)

    seconds_to_stop(lambda: interruptible("t.csv", work), 0.2)
    assert not left_behind()
    assert ended == [False]


def test_an_import_that_waits_for_the_same_one_elsewhere_is_one(slow_module: str, tmp_path: Path) -> None:
    threads = [threading.Thread(target=import_module, args=(slow_module,), daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + SECONDS
    while (seen := [interrupts._imports(thread.ident) for thread in threads]) != [True, True]:
        assert time.monotonic() < until, seen
        time.sleep(0.01)
    (tmp_path / "go on").touch()
    for thread in threads:
        thread.join()
    assert not any(interrupts._imports(thread.ident) for thread in threads)


def test_nothing_is_collected_while_the_threads_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the first releases of Python 3.11 that could hang for good, and no Ctrl-C was heard."""
    collects: list[bool] = []

    def current_frames(real: Callable[[], dict[int, FrameType]] = sys._current_frames) -> dict[int, FrameType]:
        collects.append(gc.isenabled())
        return real()

    monkeypatch.setattr(sys, "_current_frames", current_frames)
    seconds_to_stop(lambda: interruptible("t.csv", endless))
    assert set(collects) == {False}
    assert gc.isenabled()


@pytest.mark.usefixtures("few_objects")
def test_row_49_ctrl_c_at_every_call_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while the thread is started, from where it went on until the end of the program tore it down."""
    monkeypatch.setattr(interrupts, "under_way", set())
    monkeypatch.setattr(interrupts, "LISTENING_STEP", 0.005)
    monkeypatch.setattr(interrupts, "ENGINE_PATIENCE", 10.0)
    during: Counter[str] = Counter()
    steps: list[int] = []

    def work() -> None:
        for step in range(10**9):
            steps.append(step)
            time.sleep(0.001)

    for place in range(100):
        # Python's own locks raise a RuntimeError of it at some places
        with pytest.raises((Interrupted, RuntimeError)) as stopped, interrupted_at(place):
            interruptible("t.csv", work)
        during.update({frame.name for frame in traceback.extract_tb(stopped.value.__traceback__)})
        assert not interrupts.under_way
        before = len(steps)
        time.sleep(0.01)
        assert len(steps) == before, place
    assert during["start"] > 3
    assert during["ends"] > 20


def test_row_49_ctrl_c_before_the_thread_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does nothing then, whenever it begins."""
    begun: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        begun.append(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupts, "under_way", set())
    done: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(KeyboardInterrupt):
            interruptible("t.csv", lambda: done.append(1))
    assert not interrupts.under_way
    begun[0].start()
    begun[0].join()
    assert not done


def test_work_that_is_stopped_as_it_begins_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    doing = interrupts._Work(lambda: done.append(1))

    def get_ident() -> int:
        doing.stopped = True  # from here on nothing stops the thread any more
        return 1

    with monkeypatch.context() as patched:
        patched.setattr(threading, "get_ident", get_ident)
        doing.run()
    assert not done


def test_row_49_ctrl_c_twice_at_once_stops_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one ends the wait for the engine, which was told to stop before it was waited for."""
    free, before = threading.Event(), set(interrupts.under_way)

    def work() -> None:
        with stoppable(free.set):
            press()
            while not free.wait(10):
                pass

    def ends(doing: interrupts._Work[None], real: Callable[..., bool] = interrupts._Work.ends) -> bool:
        if doing.stopped:
            raise Interrupted
        return real(doing)

    monkeypatch.setattr(interrupts._Work, "ends", ends)
    with pytest.raises(Interrupted):
        interruptible("t.csv", work)
    assert free.wait(SECONDS)
    until = time.monotonic() + SECONDS
    while interrupts.under_way > before and time.monotonic() < until:
        time.sleep(0.01)
    assert interrupts.under_way == before


def test_nothing_waits_once_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "LISTENING_STEP", 30.0)
    started = time.monotonic()
    for _ in range(3):
        interruptible("t.csv", lambda: time.sleep(0.01))
    assert time.monotonic() - started < 25


class Held:
    """Stands for a table."""


def fails(table: object) -> None:
    raise ZeroDivisionError


def goes_on(table: object) -> None:
    press()
    endless()


@pytest.mark.parametrize(("work", "error"), [(fails, ZeroDivisionError), (goes_on, KeyboardInterrupt)])
def test_nothing_holds_the_table_afterwards(work: Callable[[object], None], error: type[BaseException]) -> None:
    table = Held()
    alive = weakref.ref(table)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(error):
            interruptible("t.csv", partial(work, table))
        del table
        assert alive() is None
    finally:
        gc.enable()


def test_the_end_of_a_program_leaves_signals_alone_where_nothing_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "under_way", set())
    before = signal.getsignal(signal.SIGINT)
    interrupts._end()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_waits_for_no_thread_of_its_parent() -> None:
    thread = threading.Thread(target=(doing := interrupts._Work(endless)).run)
    interrupts.under_way.add(doing)
    thread.start()
    try:
        if (child := os.fork()) == 0:
            os._exit(0 if not interrupts.under_way and doing.ended(5.0) else 1)  # a child without this thread
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert doing in interrupts.under_way
    finally:
        assert doing.ended(SECONDS)
    thread.join()


def test_the_innermost_note_counts() -> None:
    with pytest.raises(KeyboardInterrupt) as stopped, noting(lambda: "outer"), noting(lambda: "inner"):
        raise KeyboardInterrupt
    assert stopped.value.__notes__ == ["inner"]
    with pytest.raises(ValueError, match="other") as other, noting(lambda: "outer"):
        raise ValueError("other")
    assert not hasattr(other.value, "__notes__")


FRAMEWORK = bp.example("student")
QUERY = bp.count(bp.col("height") > 180)


def _stopping(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Press Ctrl-C at one place of a release."""

    def stop(*_: object, **__: object) -> None:
        press()
        time.sleep(5)

    if place == "store":
        monkeypatch.setattr(Ledger, "store", stop)
    else:
        module = {"check_rows": "bnpriv.ledger.charged", "evaluate_many": "bnpriv.tables.evaluate"}[place]
        monkeypatch.setattr(import_module(module), place, stop)


CHARGED = "Release 1 of the account 'data' was charged, and stays so; its answer was not shown."
PLACES = {
    "check_rows": ("Nothing was charged.", 0),
    "evaluate_many": (CHARGED, 1),
    "store": (CHARGED, 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_row_49_the_last_line_says_what_was_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    told, charges = PLACES[place]
    ledger, data = tmp_path / "ledger.db", str(bp.example_data("student"))
    with monkeypatch.context() as patched:
        _stopping(patched, place)
        session = bp.Session(FRAMEWORK, data, budget=2.0, ledger=ledger)
        with pytest.raises(KeyboardInterrupt) as stopped:
            session.release(QUERY, epsilon=0.5)
        assert stopped.value.__notes__ == [told]
        words = ["release", str(example_path("student")), data, "--query", "count(height > 180)", "--epsilon", "1"]
        words += ["--ledger", str(ledger), "--account", "data", "--json", str(tmp_path / "out.json")]
        patched.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert ended.value.code == cli.STOPPED
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert line == "stopped by Ctrl-C. " + told.replace("Release 1", "Release 2")
    assert Ledger.open(ledger).verify().charges == 2 * charges
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.db"]


def test_row_49_without_a_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = bp.plan(FRAMEWORK, QUERY, 0.5).best
    _stopping(monkeypatch, "evaluate_many")
    with pytest.raises(KeyboardInterrupt) as stopped:
        bp.release(calibration, bp.example_data("student"))
    assert stopped.value.__notes__ == ["Nothing was charged. There is no ledger, and no answer was returned."]
