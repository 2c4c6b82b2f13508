"""All paths of one call are told apart by what they will be, before anything is charged or written."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv import cli
from bnpriv.errors import BnprivError
from bnpriv.io.examples import example_path
from bnpriv.ledger.ledger import Ledger
from bnpriv.render import outputs

ASKED = ["--query", "count(height > 180)", "--epsilon", "1"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with everything that a release reads; it is the working and the home folder too."""
    folder = tmp_path / "here"
    shutil.copytree(example_path("student").parent, folder)
    (folder / "parts").mkdir()
    shutil.copy(bp.example_data("student"), folder / "parts" / "one.parquet")
    shutil.copy(bp.example_data("student"), folder / "table.parquet")
    (folder / "below").mkdir()
    (tmp_path / "door").symlink_to(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return int(stopped.value.code or 0), capsys.readouterr().err

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


SPELLINGS = {
    "plain": "ledger.db",
    "dot": "./ledger.db",
    "above": "below/../ledger.db",
    "absolute": "{here}/ledger.db",
    "linked folder": "../door/ledger.db",
    "home": "~/ledger.db",
    "link to nothing": "to-be.db",
    "other case": "Ledger.DB",
    "composed letters": "ledger\u0301.db",
}

LEDGERS = ("ledger.db", "sqlite:///ledger.db", "sqlite://ledger.db", "~/ledger.db", "sqlite:///{here}/ledger.db")


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_new_ledger_is_no_output(shell, place: Path, option: str, spelling: str, ending: str) -> None:
    target = SPELLINGS[spelling].format(here=place) + ending
    ledger = "ledge\u0155.db" if spelling == "composed letters" else "ledger.db"  # one sign for both letters
    if spelling == "link to nothing":
        (place / target).symlink_to(f"ledger.db{ending}")
    before = contents(place)
    charged = ["--ledger", ledger, "--budget", "2"]
    code, told = shell("release", "framework.toml", "table.parquet", *ASKED, *charged, option, target)
    assert code == 2
    assert "must be a file of its own; found the ledger" in told
    assert contents(place) == before


@pytest.mark.parametrize("ledger", LEDGERS)
def test_however_the_ledger_is_written(shell, place: Path, ledger: str) -> None:
    before = contents(place)
    charged = ["--ledger", ledger.format(here=place), "--budget", "2", "--json", "ledger.db"]
    code, told = shell("release", "framework.toml", "table.parquet", *ASKED, *charged)
    assert (code, contents(place)) == (2, before), told


@pytest.mark.parametrize(
    "words",
    [
        ["table.parquet", "--json", "framework.toml"],
        ["table.parquet", "--json", "student.bif"],
        ["table.parquet", "--html", "below/../student.bif"],
        ["table.parquet", "--json", "../door/table.parquet"],
        ["~/table.parquet", "--json", "table.parquet"],
        ["parts", "--json", "parts/one.parquet"],
        ["parts", "--json", "parts/two.parquet"],
        ["table.parquet", "--json", "one.out", "--html", "./one.out"],
        ["table.parquet", "--json", "one.out", "--html", "~/one.out"],
        ["table.parquet", "--json", "one.out", "--html", "ONE.out"],
        ["table.parquet", "--ledger", "table.parquet", "--budget", "2"],
        ["table.parquet", "--ledger", "student.bif", "--budget", "2"],
        ["table.parquet", "--ledger", "parts/one.parquet-wal", "--budget", "2"],
    ],
)
def test_what_is_read_and_what_is_written_are_told_apart(shell, place: Path, words: list[str]) -> None:
    before = contents(place)
    code, told = shell("release", "framework.toml", words[0], *ASKED, *words[1:])
    assert (code, contents(place)) == (2, before), told
    assert told.startswith("refused: ")


@pytest.mark.parametrize(
    "words",
    [
        ["report", "framework.toml", "--json", "student.bif"],
        ["report", "framework.toml", "--markdown", "one.out", "--html", "below/../one.out"],
        ["plan", "framework.toml", *ASKED, "--html", "student.bif"],
        ["check", "framework.toml", "parts", "--json", "parts/one.parquet"],
        ["check", "framework.toml", "table.parquet", "--json", "student.bif"],
    ],
)
def test_every_command_tells_them_apart(shell, place: Path, words: list[str]) -> None:
    before = contents(place)
    code, told = shell(*words)
    assert (code, contents(place)) == (2, before), told
    assert "must be a file of its own" in told or "must be writable" in told


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_no_output_replaces_a_database(shell, place: Path, ending: str) -> None:
    """Also one that the call does not name, and from Python, where nothing else names the ledger."""
    framework = bp.read_framework("framework.toml")
    with bp.Session(framework, "table.parquet", budget=2.0, ledger="ledger.db") as session:
        released = session.release(bp.count(bp.col("height") > 180), epsilon=0.5)
    before = contents(place)
    with pytest.raises(BnprivError, match="a database"):
        released.to_html(f"ledger.db{ending}")
    code, _ = shell("plan", "framework.toml", *ASKED, "--json", f"ledger.db{ending}")
    assert (code, contents(place)) == (2, before)


def test_a_database_that_is_made_meanwhile_stays(place: Path) -> None:
    def write() -> None:
        with outputs.outputs(Path("new.out"), Path("a.out")) as out:
            Ledger.open("new.out", create=True)
            for path in ("new.out", "a.out"):
                out.put(Path(path), "lost")

    with pytest.raises(BnprivError, match="a database"):
        write()
    assert Ledger.open("new.out").accounts() == ()
    assert not (place / "a.out").exists()


def test_two_files_that_are_there_may_differ_in_case_alone(shell, place: Path) -> None:
    if not (place / "FRAMEWORK.toml").exists():  # where a file system tells them apart
        (place / "FRAMEWORK.toml").write_text("old", encoding="utf-8")
        code, told = shell("plan", "framework.toml", *ASKED, "--json", "FRAMEWORK.toml")
        assert code == 0, told


def test_home_is_the_home_folder_in_every_path(shell, place: Path) -> None:
    os.chdir("/")
    release = ["release", "~/framework.toml", "~/table.parquet", *ASKED, "--ledger", "~/ledger.db", "--budget", "2"]
    code, told = shell(*release, "--json", "~/out.json", "--html", "~/out.html")
    assert code == 0, told
    assert {"ledger.db", "out.json", "out.html"} <= contents(place).keys()
    for words in (
        ["verify", "~/out.json", "--framework", "~/framework.toml"],
        ["check", "~/framework.toml", "~/parts"],
        ["simulate", "~/framework.toml", "-o", "~/made-up.csv"],
        ["ledger", "export", "sqlite:///~/ledger.db", "-o", "~/rows"],
        ["init", "~/table.parquet", "--notion", "dataset", "--codebook", "~/codes.toml", "-o", "~/started.toml"],
    ):
        (place / "codes.toml").write_text('[columns.height]\ntype = "real"\nlower = 0\nupper = 300\n')
        code, told = shell(*words)
        assert code in (0, 1), told
    assert {"made-up.csv", "rows", "started.toml"} <= contents(place).keys()
    framework = bp.read_framework("~/framework.toml")
    framework.to_file("~/copied.toml")
    bp.read_network("~/student.bif").to_file("~/other.bif")
    assert {"copied.toml", "other.bif"} <= contents(place).keys()
    assert Ledger.open("~/ledger.db").verify().charges == 1
