"""Files that are no ledger, no longer one, or not to be trusted: refused, never repaired, never made anew."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnpriv.errors import BnprivError, LedgerError, MissingExtraError
from bnpriv.ledger import values as ledger_schema
from bnpriv.ledger.ledger import Ledger
from tests.ledgers import TENTH, check_against, child, ended, kill_self, opened, refused, released, show, summed

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger of some pages: five answers, of which one is long."""
    place = tmp_path_factory.mktemp("whole") / "ledger.db"
    ledger, account = opened(place, 2.0)
    for k in range(4):
        released(ledger, account, k / 3)
    receipt = ledger.charge(account, TENTH, admit=summed, key="histogram")
    ledger.store(receipt, {"values": [k / 7 for k in range(400)]})
    return place


def test_a_file_is_made_on_purpose_only(place: Path) -> None:
    with pytest.raises(LedgerError, match="must be there"):
        Ledger.open(place)
    assert not place.exists()
    opened(place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in place.parent.iterdir()] == ["ledger.db"]
    before = place.read_bytes()
    assert len(Ledger.open(place, create=True).accounts()) == 1
    assert place.read_bytes() == before


def test_places_have_several_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(place)
    monkeypatch.chdir(place.parent)
    monkeypatch.setenv("HOME", str(place.parent))
    for name in (str(place), "ledger.db", "sqlite:///ledger.db", f"sqlite:///{place}", "~/ledger.db"):
        assert len(Ledger.open(name).accounts()) == 1
    strange = place.with_name("a b%20?#'\"\u00fc;.db")
    opened(strange)
    assert len(Ledger.open(strange).accounts()) == 1


@pytest.mark.parametrize(
    "where",
    [
        "", " ", ":memory:", "sqlite://", "sqlite:///:memory:", "file:x.db?mode=memory", "mysql://host/db", "a\0b",
        "x" * 5000, "/", ".", "/dev/null", "/no/such/folder/ledger.db", None, 7, b"ledger.db",
        "postgresql://[", "postgresql://host:port/db",
    ],
)  # fmt: skip
@pytest.mark.parametrize("create", [False, True])
def test_what_is_no_place_is_refused(where, create: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 46."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((LedgerError, MissingExtraError)):
        Ledger.open(where, create=create)
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_a_pipe_is_refused_at_once(place: Path) -> None:
    os.mkfifo(place)
    with pytest.raises(LedgerError, match="regular file"):
        Ledger.open(place, create=True)


@POSIX
def test_links_and_what_everybody_may_write_are_refused(place: Path) -> None:
    """Row 32; also while it is open."""
    ledger, account = opened(place)
    link = place.with_name("link.db")
    link.symlink_to(place)
    with pytest.raises(LedgerError, match="symbolic link"):
        Ledger.open(link, create=True)
    dangling = place.with_name("dangling.db")
    dangling.symlink_to("nowhere.db")
    with pytest.raises(LedgerError, match="symbolic link"):
        Ledger.open(dangling, create=True)
    for mode, words in ((0o602, "writable for everybody"), (0o666, "writable for everybody"), (0o400, "read-only")):
        place.chmod(mode)
        for work in (lambda: Ledger.open(place), lambda: released(ledger, account)):
            with pytest.raises(LedgerError, match=words):
                work()
    place.chmod(0o600)
    for mode in (0o777, 0o1777):  # also as /tmp: a journal beside the file is played back into it
        place.parent.chmod(mode)
        with pytest.raises(LedgerError, match="everybody can replace"):
            released(ledger, account)
    place.parent.chmod(0o700)
    inner = place.parent / "inner"
    inner.mkdir()
    deep, its = opened(inner / "ledger.db")
    place.parent.chmod(0o777)
    with pytest.raises(LedgerError, match="everybody can replace its folder"):
        released(deep, its)
    place.parent.chmod(0o1777)  # as /tmp: nobody can replace what is not theirs
    released(deep, its)
    place.parent.chmod(0o700)


@POSIX
def test_a_file_with_two_names_is_refused(place: Path) -> None:
    """Row 32: the journal of who is killed under one name is not found under the other."""
    ledger, account = opened(place)
    other = place.with_name("other.db")
    os.link(place, other)
    for work in (lambda: Ledger.open(place), lambda: Ledger.open(other), lambda: released(ledger, account)):
        with pytest.raises(LedgerError, match="hard links"):
            work()
    other.unlink()
    os.link(place, place.with_name(".0123456789abcdef.new"))  # left by who was killed while the ledger was made
    released(ledger, account)
    assert Ledger.open(place).verify().charges == 1


def test_what_is_not_a_ledger_is_refused_and_left_alone(place: Path) -> None:
    """Row 22."""
    for content in (b"", b"x", b"budget: 1.0\n" * 500, b"SQLite format 3\0", b"\0" * 4096):
        place.write_bytes(content)
        for create in (False, True):
            with pytest.raises(LedgerError):
                Ledger.open(place, create=create)
        assert place.read_bytes() == content
    place.unlink()
    with closing(sqlite3.connect(place)) as other, other:
        other.execute("CREATE TABLE people (name TEXT)")
    with pytest.raises(LedgerError, match="must have its tables"):
        Ledger.open(place, create=True)


def test_a_ledger_that_goes_away_is_not_made_again(place: Path) -> None:
    ledger, account = opened(place)
    place.unlink()
    with pytest.raises(LedgerError, match="must be there"):
        released(ledger, account)
    assert not place.exists()


def outcome(copy: Path, expected: str) -> bool:
    """Say whether a damaged copy is refused; if it is not, it must hold what the whole one holds."""
    try:
        ledger = Ledger.open(copy)
        text = ledger.export()
        released(ledger, ledger.accounts()[0])
        assert ledger.verify().charges == 6
    except LedgerError:
        return True
    assert text == expected
    return False


def truncated(whole: Path, folder: Path, step: int, start: int = 0) -> None:
    content, copy = whole.read_bytes(), folder / "copy.db"
    for end in range(start, len(content), step):
        copy.write_bytes(content[:end])
        copy.chmod(0o600)
        assert outcome(copy, ""), f"cut at {end}"
        assert copy.read_bytes() == content[:end]


def test_a_ledger_that_is_cut_is_refused(whole: Path, tmp_path: Path) -> None:
    """Row 22, at some boundaries of 512 bytes."""
    size = whole.stat().st_size
    truncated(whole, tmp_path, 512 * 7)
    truncated(whole, tmp_path, 512, size - 1024)


@pytest.mark.slow
def test_a_ledger_that_is_cut_anywhere_is_refused(whole: Path, tmp_path: Path) -> None:
    """Row 22, at every boundary of 512 bytes."""
    truncated(whole, tmp_path, 512)


def flipped(whole: Path, folder: Path, count: int, seed: int) -> None:
    """Flip single bits, most of them where something is written."""
    rng = np.random.default_rng(seed)
    content, copy = whole.read_bytes(), folder / "copy.db"
    written = np.flatnonzero(np.frombuffer(content, dtype=np.uint8))
    expected, found = Ledger.open(whole).export(), 0
    for k in range(count):
        place = int(rng.integers(100)) if k % 5 == 0 else int(rng.choice(written))
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        copy.write_bytes(damaged)
        copy.chmod(0o600)
        for name in ("copy.db-wal", "copy.db-shm", "copy.db-journal"):
            (folder / name).unlink(missing_ok=True)
        found += outcome(copy, expected)
    assert found > count // 2


def test_flipped_bits_are_refused_or_change_nothing(whole: Path, tmp_path: Path) -> None:
    """Row 22."""
    flipped(whole, tmp_path, 40, seed=1)


@pytest.mark.slow
def test_many_flipped_bits_are_refused_or_change_nothing(whole: Path, tmp_path: Path) -> None:
    """Row 22."""
    flipped(whole, tmp_path, 1500, seed=2)


def edited(place: Path, *statements: str) -> None:
    """Change rows as somebody would who knows SQL: take the triggers away, and put them back."""
    with closing(sqlite3.connect(place, isolation_level=None)) as connection, connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, text in triggers:
            connection.execute(text)
    connection.close()


EDITS = [
    ("UPDATE bnpriv_entries SET payload = replace(payload, '1/10', '1/99') WHERE chain = 1 AND sequence = 0",),
    ("UPDATE bnpriv_entries SET payload = replace(payload, 'survey', 'census') WHERE chain = 0",),
    ("UPDATE bnpriv_entries SET payload = replace(payload, '\"epsilon\":\"2\"', '\"epsilon\":\"9\"') WHERE chain = 0",),
    ("UPDATE bnpriv_entries SET payload = payload || ' ' WHERE chain = 1 AND sequence = 2",),
    ("UPDATE bnpriv_entries SET kind = 'answer' WHERE chain = 1 AND sequence = 0",),
    ("UPDATE bnpriv_entries SET previous = hash WHERE chain = 1 AND sequence = 3",),
    ("UPDATE bnpriv_entries SET payload = x'ff' WHERE chain = 1 AND sequence = 3",),
    ("UPDATE bnpriv_entries SET hash = NULL WHERE 0", "UPDATE bnpriv_entries SET hash = 5 WHERE chain = 1"),
    ("DELETE FROM bnpriv_entries WHERE chain = 1 AND sequence = 4",),
    ("DELETE FROM bnpriv_entries WHERE chain = 1 AND sequence = 9",),
    ("DELETE FROM bnpriv_entries WHERE chain = 1",),
    ("DELETE FROM bnpriv_entries WHERE chain = 1", "DELETE FROM bnpriv_chains WHERE number = 1"),
    ("DELETE FROM bnpriv_entries WHERE chain = 0 AND sequence = 1",),
    ("DELETE FROM bnpriv_entries",),
    ("DELETE FROM bnpriv_chains WHERE number = 0",),
    ("UPDATE bnpriv_chains SET length = 4 WHERE number = 1",),
    ("UPDATE bnpriv_chains SET head = 'x' WHERE number = 0",),
    ("INSERT INTO bnpriv_chains VALUES (2, 0, 'x')",),
    ("INSERT INTO bnpriv_entries SELECT chain, 10, kind, payload, previous, hash FROM bnpriv_entries "
     "WHERE chain = 1 AND sequence = 0",),
    ("INSERT INTO bnpriv_entries SELECT 5, sequence, kind, payload, previous, hash FROM bnpriv_entries "
     "WHERE chain = 1",),
    ("DELETE FROM bnpriv_ledger",),
    ("UPDATE bnpriv_ledger SET version = 0",),
    ("DROP TABLE bnpriv_chains",),
    ("CREATE TABLE more (x INTEGER)",),
    ("CREATE TRIGGER lose AFTER INSERT ON bnpriv_entries BEGIN DELETE FROM bnpriv_chains; END",),
]  # fmt: skip


@pytest.mark.parametrize("statements", EDITS)
def test_edited_rows_are_refused(whole: Path, place: Path, statements: tuple[str, ...]) -> None:
    """Row 22: by a new process, and nothing is repaired."""
    shutil.copy(whole, place)
    edited(place, *statements)
    assert outcome(place, "")
    with pytest.raises(LedgerError):
        Ledger.open(place).verify()


def test_a_last_row_that_was_edited_is_refused_by_who_knows_it(place: Path) -> None:
    """Row 22: before anything follows it."""
    ledger, account = opened(place)
    released(ledger, account)
    edited(place, "UPDATE bnpriv_entries SET hash = 'x' WHERE chain = 1 AND sequence = 1")
    with pytest.raises(LedgerError, match="older copy, or another ledger"):
        released(ledger, account)


def test_rows_are_never_changed_even_by_others(whole: Path, place: Path) -> None:
    shutil.copy(whole, place)
    connection = sqlite3.connect(place)
    for statement in ("UPDATE bnpriv_entries SET kind = 'x'", "DELETE FROM bnpriv_entries"):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute(statement)
    connection.close()
    assert not outcome(place, Ledger.open(whole).export())


def test_triggers_that_were_taken_away_are_missed(whole: Path, place: Path) -> None:
    shutil.copy(whole, place)
    connection = sqlite3.connect(place)
    connection.execute("DROP TRIGGER bnpriv_no_delete")
    connection.close()
    with pytest.raises(LedgerError, match="other tables"):
        Ledger.open(place)


def test_another_journal_is_refused(whole: Path, place: Path) -> None:
    """A write-ahead log with fewer syncs could lose a charge with the power."""
    shutil.copy(whole, place)
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with pytest.raises(LedgerError, match="journal"):
        Ledger.open(place)


@pytest.mark.parametrize("content", [b"", b"x" * 4096])
def test_a_write_ahead_log_is_neither_read_nor_cleared_away(whole: Path, place: Path, content: bytes) -> None:
    """SQLite plays such a file back into the ledger, and deletes it."""
    shutil.copy(whole, place)
    log = place.with_name("ledger.db-wal")
    log.write_bytes(content)
    with pytest.raises(LedgerError, match="write-ahead log"):
        Ledger.open(place)
    assert (place.read_bytes(), log.read_bytes()) == (whole.read_bytes(), content)


def test_a_newer_version_is_refused(place: Path) -> None:
    ledger, account = opened(place)
    edited(place, "UPDATE bnpriv_ledger SET version = 2")
    for work in (
        lambda: Ledger.open(place),
        lambda: Ledger.open(place, upgrade=True),
        lambda: released(ledger, account),
    ):
        with pytest.raises(LedgerError, match="version 2, which is newer"):
            work()


def test_an_older_version_is_brought_up_on_purpose(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, account = opened(place)
    released(ledger, account)
    monkeypatch.setattr(ledger_schema, "LEDGER_VERSION", 2)
    statement = "ALTER TABLE bnpriv_chains ADD COLUMN remark TEXT"
    monkeypatch.setattr(ledger_schema, "MIGRATIONS", {1: (statement,)})
    with pytest.raises(LedgerError, match=r"version 1, which is older.*upgrade=True"):
        Ledger.open(place)
    with pytest.raises(LedgerError, match="older"):
        released(ledger, account)
    newer = Ledger.open(place, upgrade=True)
    released(newer, account)
    assert newer.verify().charges == 2
    assert Ledger.open(place, upgrade=True).verify().charges == 2
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="newer"):
        released(ledger, account)


def limited(size: int) -> None:
    """Let no file of this process grow above a size, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@POSIX
@pytest.mark.parametrize("spare", [0, 1, 512, 1500, 4096, 9000])
def test_on_a_full_disk_nothing_is_shown_without_its_charge(place: Path, tmp_path: Path, spare: int) -> None:
    """Rows 20 and 41."""
    shown = tmp_path / "shown"
    ledger, account = opened(place, 100.0)
    released(ledger, account)
    size = place.stat().st_size

    def work() -> None:
        mine = Ledger.open(place)
        limited(size + spare)
        while not refused(lambda: show(shown, released(mine, account))):
            pass

    assert ended(child(work)) == 0
    charges = check_against(Ledger.open(place), account, shown)
    assert 1 <= charges < 100
    released(Ledger.open(place), account)


@POSIX
def test_a_new_ledger_on_a_full_disk_is_none(place: Path) -> None:
    def work() -> None:
        limited(5000)
        with pytest.raises(LedgerError):
            Ledger.open(place, create=True)

    assert ended(child(work)) == 0
    assert list(place.parent.iterdir()) == []


@POSIX
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only the superuser can become somebody else")
def test_where_only_others_may_write_nothing_is_shown() -> None:
    """Row 22: a file or a folder that is read-only for who releases."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = folder / "ledger.db"
        _, account = opened(place)
        for file_mode, folder_mode in ((0o644, 0o755), (0o664, 0o755), (0o600, 0o755)):
            place.chmod(file_mode)
            folder.chmod(folder_mode)

            def work() -> None:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                with pytest.raises(LedgerError):
                    released(Ledger.open(place), account)
                with pytest.raises(LedgerError):
                    Ledger.open(folder / "new.db", create=True)

            assert ended(child(work)) == 0
        place.chmod(0o600)
        assert Ledger.open(place).verify().charges == 0


def test_a_process_that_is_killed_while_it_makes_a_ledger_leaves_none(place: Path) -> None:
    from bnpriv.ledger import store as ledger_store

    for name in ("make_tables", "_sync_folder"):
        plain = getattr(ledger_store, name)

        def work(name: str = name, plain: Callable[..., object] = plain) -> None:
            def killed(*arguments: object) -> None:
                if name == "make_tables":
                    plain(*arguments)
                kill_self()

            setattr(ledger_store, name, killed)
            Ledger.open(place, create=True)

        assert ended(child(work)) == -signal.SIGKILL
        assert place.exists() == (name == "_sync_folder")
    assert Ledger.open(place).verify().accounts == 0


def test_a_journal_without_its_ledger_is_not_taken_for_a_new_place(place: Path) -> None:
    journal = place.with_name("ledger.db-journal")
    journal.write_bytes(b"left by a process that was killed")
    with pytest.raises(LedgerError, match="without its ledger"):
        Ledger.open(place, create=True)
    assert not place.exists()
    journal.unlink()
    Ledger.open(place, create=True)


def test_only_our_errors_come_out(place: Path) -> None:
    """A file that is there and not readable as one of ours, with every kind of place."""
    place.mkdir()
    with pytest.raises(BnprivError):
        Ledger.open(place, create=True)
