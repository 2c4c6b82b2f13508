"""What was chosen: kept as it is, read again or refused, and never a file from outside the folder."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from bnpriv.app.state import (
    TABLES,
    Asked,
    Draft,
    HiddenColumn,
    Place,
    folder_of,
    forget,
    lacking,
    read_state,
    write_state,
)
from bnpriv.errors import FileError, LedgerError


def place(folder: Path) -> Place:
    for name in ("kept", "uploads"):
        (folder / name).mkdir()
    return Place(folder=folder, kept=folder / "kept", uploads=folder / "uploads", ledger="ledger.db")


def full(folder: Path) -> Draft:
    """A state in which nothing is as at the beginning, but for what lies in no file."""
    table = folder / "table.csv"
    table.write_text("a\n1\n")
    hidden = {"na\u202eme": HiddenColumn(property="mean(a)", at_most=3)}
    state = Draft(
        table=str(table),
        records=10,
        hidden=hidden,
        edges={"a": {"b": 2.5}},
        queries=("a",),
        query="mean(a)",
        epsilon=0.25,
    )
    return replace(state, releases=(Asked(key="a-key-of-it", state=state),))


def test_a_state_is_read_as_it_was_written_for_nobody_else(tmp_path: Path) -> None:
    state = full(tmp_path)
    assert read_state(tmp_path) == Draft()
    write_state(state, tmp_path)
    assert read_state(tmp_path) == state
    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100_000,
        lambda text: "[]",
        lambda text: "null",
        lambda text: "{}",
        lambda text: text.replace("bnpriv app 1", "bnpriv app 0"),
        lambda text: text.replace('"query"', '"other"'),
        lambda text: text.replace('"query": "mean(a)"', '"query": 7'),
        lambda text: text.replace('"epsilon": 0.25', '"epsilon": "much"'),
        lambda text: text.replace('"key"', '"lock"'),
        lambda text: text.replace('"at_most"', '"at_least"'),
        lambda text: text.replace('"hidden": {', '"hidden": [], "other": {'),
    ],
)
def test_a_state_that_was_changed_is_refused(tmp_path: Path, change) -> None:
    write_state(full(tmp_path), tmp_path)
    path = tmp_path / "state.json"
    text = path.read_text("utf-8")
    assert change(text) != text
    path.write_text(change(text), "utf-8")
    with pytest.raises(FileError, match="Remove the file"):
        read_state(tmp_path)


def test_a_state_of_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_bytes(b"\xff\xfe\0")
    with pytest.raises(FileError, match="Remove the file"):
        read_state(tmp_path)


def test_a_state_that_lacks_what_came_later_is_read(tmp_path: Path) -> None:
    state = full(tmp_path)
    held = {"format": "bnpriv app 1", **asdict(state)}
    del held["graphs"]
    (tmp_path / "state.json").write_text(json.dumps(held))
    assert read_state(tmp_path) == state


def test_a_file_that_is_gone_must_be_chosen_again(tmp_path: Path) -> None:
    state = full(tmp_path)
    write_state(state, tmp_path)
    os.remove(state.table)
    assert read_state(tmp_path) == replace(state, table="")


def test_what_cannot_be_written_is_refused_and_leaves_the_old_state(tmp_path: Path) -> None:
    write_state(Draft(query="mean(a)"), tmp_path)
    (tmp_path / "state.json.new").mkdir()
    with pytest.raises(FileError, match="with room"):
        write_state(Draft(), tmp_path)
    assert read_state(tmp_path) == Draft(query="mean(a)")


def test_only_tables_of_the_folder_itself_are_listed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "here", tmp_path / "outside.csv"
    (folder / "below").mkdir(parents=True)
    made = place(folder)
    for path in (outside, folder / "a.csv", folder / "b.PARQUET", folder / "c.py", folder / "below" / "d.csv"):
        path.write_text("a\n1\n")
    (folder / "folder.csv").mkdir()
    (folder / "inside.csv").symlink_to("a.csv")
    (folder / "outside.csv").symlink_to(outside)
    (folder / "below.csv").symlink_to(folder / "below" / "d.csv")
    (folder / "circle.csv").symlink_to("circle.csv")
    (folder / "passwd.csv").symlink_to("/etc/passwd")
    assert made.listed(TABLES) == ["a.csv", "b.PARQUET", "inside.csv"]
    assert made.chosen("a.csv", TABLES) == str(folder.resolve() / "a.csv")
    wrong = ["../outside.csv", "outside.csv", "below/d.csv", str(outside), "c.py", "", ".", "a.csv\0", "n" * 5000]
    for name in [*wrong, "./a.csv", "here/../a.csv", "passwd.csv", "A.csv"]:
        with pytest.raises(FileError, match="folder where the shell was"):
            made.chosen(name, TABLES)


def test_what_was_handed_over_stays_while_a_release_needs_it(tmp_path: Path) -> None:
    made, state = place(tmp_path), full(tmp_path)
    one, other = (made.uploads / name / "a.csv" for name in ("one", "other"))
    for path in (one, other):
        path.parent.mkdir()
        path.touch()
    chosen = replace(state, public=str(one), releases=(Asked(key="a-key-of-it", state=Draft(table=str(other))),))
    assert made.handed(chosen) == {one, other}
    written = f"{made.uploads}/../kept/a.csv"  # is never taken for a file
    assert made.handed(Draft(table=str(tmp_path / "table.csv"), query=written, names=written)) == set()
    forget([one, tmp_path / "uploads" / "never" / "a.csv"])
    assert sorted(made.uploads.iterdir()) == [other.parent]


def test_the_folder_lies_beside_the_ledger_and_tells_no_password(tmp_path: Path) -> None:
    assert folder_of(str(tmp_path / "a.db")) == tmp_path / "a.db.session"
    assert folder_of(f"sqlite:///{tmp_path}/a.db") == tmp_path / "a.db.session"
    names = {folder_of(f"postgresql://me:{word}@host/{base}").name for word in ("x", "y") for base in ("one", "two")}
    assert len(names) == 2
    with pytest.raises(LedgerError):
        folder_of("https://host/ledger")


@pytest.mark.parametrize(
    ("state", "first"),
    [
        (
            Draft(),
            {"columns": "table", "model": "table", "question": "model", "release": "table", "downloads": "model"},
        ),
        (Draft(table="t"), {"columns": "table", "secret": "table"}),
        (Draft(table="t", records=1), {"columns": "", "model": "secret", "strength": "model"}),
        (
            Draft(table="t", records=1, framework="f"),
            {"strength": "question", "release": "question", "downloads": ""},
        ),
        (Draft(framework="f", given=True), {"columns": "", "model": "", "question": "", "release": "table"}),
        (Draft(framework="f", given=True, table="t", query="q"), {"strength": "", "release": ""}),
        (
            Draft(releases=(Asked(key="a-key-of-it", state=Draft()),)),
            {"release": "", "downloads": "", "model": "table"},
        ),
    ],
)
def test_a_step_waits_for_what_it_needs(state: Draft, first: dict[str, str]) -> None:
    assert {step: lacking(state, step) for step in first} == first
    assert lacking(state, "table") == ""
