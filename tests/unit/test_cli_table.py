"""The command `table` of the shell: files with and without a network, plans, ledgers, and how it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.cli import main
from bnpriv.errors import FileError, FileProblemsError
from bnpriv.io.examples import example_path
from bnpriv.io.framework_file import read_hidden
from bnpriv.ledger import charged
from bnpriv.ledger.ledger import Ledger
from bnpriv.tables.private_table import private_table as tables
from tests.later import Later

pd = Later("pandas")

Shell = Callable[..., tuple[int, str, str]]
ASKED, SEEN = ("--epsilon", "1", "--delta", "1e-6"), "--records-may-be-seen"
WARDS = '["surgery", "internal", "lungs", "children", "other"]'


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the hospital: its table, its framework, and the same without a network."""
    for file in example_path("hospital").parent.iterdir():
        shutil.copy(file, tmp_path)
    text = (tmp_path / "framework.toml").read_text(encoding="utf-8")
    start, end = text.index("[network]"), text.index("[records]")
    without = (text[:start] + text[end:]).replace("at_most = 100", "at_most = 10")
    (tmp_path / "none.toml").write_text(without, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hiding(file: Path, secret: str, name: str) -> str:
    """Write a framework file that hides something else; return its name."""
    text = file.read_text(encoding="utf-8")
    start, end = text.index("[protect.disease]"), text.index("[queries]")
    file.with_name(name).write_text(text[:start] + secret + text[end:], encoding="utf-8")
    return name


def test_a_table_is_handed_on_without_a_network(shell: Shell, here: Path) -> None:
    words = ("table", "none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--html", "t.html")
    code, out, err = shell(*words, "--json", "t.json")
    assert (code, err) == (0, "")
    assert out.startswith("Single persons are not protected, real records are handed on: a private table of 9,7")
    assert "real records are handed on" in out.lower()
    found = json.loads((here / "t.json").read_text(encoding="utf-8"))["data"]
    handed, before = pd.read_parquet(here / "out.parquet"), pd.read_parquet(here / "patients.parquet")
    assert len(handed) == sum(each["size"] for each in found["classes"]) == 10_000 - 2 * found["given_up"]
    assert list(handed.columns) == list(before.columns)
    assert (here / "t.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert shell("verify", "t.json", "--framework", "none.toml")[:1] == (0,)
    found = json.loads((here / "t.json").read_text(encoding="utf-8"))
    found["data"]["noise"]["scale"] *= 0.99
    (here / "t.json").write_text(json.dumps(found), encoding="utf-8")
    code, out, _ = shell("verify", "t.json", "--framework", "none.toml")
    assert (code, out[:5]) == (1, "fails")


def test_it_is_filled_by_the_network_of_the_file(shell: Shell, here: Path) -> None:
    words = ("table", "framework.toml", "patients.parquet", "-o", "out.parquet", "--epsilon", "1", SEEN, "--json", "-")
    code, out, _ = shell(*words)
    assert code == 0
    assert json.loads(out)["data"]["form"] == "fill"
    assert len(pd.read_parquet(here / "out.parquet")) == 10_000


def test_it_is_filled_from_a_public_table(shell: Shell, here: Path) -> None:
    public = pd.read_parquet(here / "patients.parquet").sample(300, random_state=1)
    public.to_parquet(here / "public.parquet")
    words = ("table", "none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--law", "public.parquet")
    code, out, err = shell(*words, "--form", "trim", "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["data"]["form"] == "trim"
    code, _, err = shell(*words[:-2], "--law", "public.parquet", "-o", "public.parquet", "--form", "trim")
    assert (code, "an output must be a file of its own" in err) == (2, True)


def test_a_plan_touches_no_data(shell: Shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "made_by", None)
    code, out, err = shell("table", "framework.toml", "--plan", *ASKED, "--html", "plan.html", "--json", "plan.json")
    assert (code, err) == (0, "")
    for part in ("Forms of the table", "mean(days)", "Forms that cannot be", "fill and trim"):
        assert part in out
    assert json.loads((here / "plan.json").read_text(encoding="utf-8"))["document"] == "table plan"
    code, out, _ = shell("table", "none.toml", "--plan", *ASKED)
    assert (code, "trim" in out) == (0, True)


def test_several_counts_at_once(shell: Shell, here: Path) -> None:
    """With a network too, which is then the law that records are made up from."""
    wards = f"[protect.ward]\nproperty = 'histogram(ward, {WARDS})'\nat_most = 5\n\n"
    crossed = "[protect.disease]\nproperty = 'crosstab(disease, smoker)'\nat_most = 5\n\n"
    for secret, classes in ((wards, 5), (crossed, 4)):
        for file in ("none.toml", "framework.toml"):
            name = hiding(here / file, secret, "cells.toml")
            code, out, err = shell(
                "table", name, "patients.parquet", "-o", "out.parquet", *ASKED, "--form", "trim", SEEN, "--json", "-"
            )
            assert (code, err) == (0, "")
            assert len([each for each in json.loads(out)["data"]["classes"] if each["size"]]) == classes
    code, _, err = shell("plan", "cells.toml", "--query", "mean(days)", "--epsilon", "1")
    assert code == 2
    assert "private" in err


def test_a_ledger_counts_it_once(shell: Shell, here: Path) -> None:
    words = ("table", "none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--ledger", "l.db")
    code, out, err = shell(*words, "--budget", "1", "--key", "a", "--account", "survey")
    assert (code, err) == (0, "")
    assert "Release 1 of the account 'survey'" in out
    written = (here / "out.parquet").read_bytes()
    code, again, _ = shell(*words, "--key", "a", "--account", "survey")
    assert (code, again) == (0, out)
    assert (here / "out.parquet").read_bytes() == written
    code, _, err = shell(*words, "--account", "survey")
    assert code == 2
    assert "table.answer(query), which costs nothing" in err
    assert Ledger.open(here / "l.db").verify().charges == 1
    code, shown, _ = shell("ledger", "show", "l.db")
    assert (code, "PrivateTable" in shown) == (0, True)
    (here / "out.parquet").unlink()
    code, _, err = shell(*words, "--key", "a", "--account", "survey")
    assert code == 2
    assert "the file that was written, unchanged" in err


def test_what_fails_after_the_charge_says_so(shell: Shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, output: Path, **__: object) -> None:
        output.write_bytes(b"half")
        raise FileError("a disk must have room", found="none", remedy="Make room.")

    monkeypatch.setattr(charged, "made_by", full)
    words = ("table", "none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN)
    code, out, err = shell(*words, "--ledger", "l.db", "--budget", "1")
    assert (code, out) == (2, "")
    assert "Release 1 of the account 'data' was charged, and stays so" in err
    assert not (here / "out.parquet").exists()
    assert not [file for file in here.iterdir() if file.name.startswith(".bnpriv")]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("none.toml", *ASKED), "a private table is made of a table"),
        (("none.toml", "patients.parquet", *ASKED, SEEN), "found no file"),
        (("none.toml", "patients.parquet", "-o", "out.parquet", *ASKED), "Add --records-may-be-seen"),
        (("none.toml", "patients.parquet", "--plan", *ASKED), "a plan touches no data"),
        (("none.toml", "patients.parquet", "-o", "patients.parquet", *ASKED, SEEN), "a file of its own"),
        (("none.toml", "patients.parquet", "-o", "none.toml", *ASKED, SEEN), "a file of its own"),
        (("none.toml", "patients.parquet", "-o", "l.db", *ASKED, SEEN, "--ledger", "l.db"), "a file of its own"),
        (("none.toml", "patients.parquet", "-o", "a.html", *ASKED, SEEN, "--html", "a.html"), "a file of its own"),
        (("none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--form", "cut"), "must be one of"),
        (("none.toml", "patients.parquet", "-o", "out.parquet", "--epsilon", "1", SEEN), "law"),
        (("none.toml", "patients.parquet", "-o", "no/out.parquet", *ASKED, SEEN), "no such folder"),
        (("none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--key", "a"), "kept in a ledger"),
    ],
)
def test_it_refuses_in_one_line(shell: Shell, here: Path, words: tuple[str, ...], reason: str) -> None:
    before = {file: file.read_bytes() for file in here.iterdir()}
    code, out, err = shell("table", *words)
    assert (code, out) == (2, "")
    assert err.startswith("refused: ")
    assert err.count("\n") == 1
    assert reason in err
    assert {file: file.read_bytes() for file in here.iterdir()} == before


def test_every_other_command_needs_a_network(shell: Shell, here: Path) -> None:
    for words in (
        ("report", "none.toml"),
        ("plan", "none.toml", "--query", "mean(days)", "--epsilon", "1"),
        ("check", "none.toml", "patients.parquet"),
        ("simulate", "none.toml", "-o", "made-up.parquet"),
    ):
        code, _, err = shell(*words)
        assert (code, "a section [network] is needed" in err) == (2, True), words


def test_a_file_without_a_network_is_read_whole(here: Path) -> None:
    (secret,), schema, network = read_hidden(here / "none.toml")  # type: ignore[misc]
    assert (str(secret), network) == ('count(disease == "yes"), values at most 10 apart', None)
    assert schema == bp.example("hospital").schema
    whole = read_hidden(here / "framework.toml")
    assert isinstance(whole[0], bp.DatasetAttributePrivacy)
    assert whole[1:] == (None, None)


def test_what_is_wrong_with_it_is_told_at_once(here: Path) -> None:
    text = (here / "none.toml").read_text(encoding="utf-8")
    wrong = text.replace('notion = "dataset"', 'notion = "value"').replace("count = 10_000", "count = 0")
    (here / "wrong.toml").write_text(wrong.replace("at_most", "at_mots"), encoding="utf-8")
    with pytest.raises(FileProblemsError) as kept:
        read_hidden(here / "wrong.toml")
    for part in ("notion = 'value'", "at_mots", "records"):
        assert part in str(kept.value)
    (here / "wrong.toml").write_text(text + "\n[laws.days]\nnormal = [3, 1]\n", encoding="utf-8")
    with pytest.raises(FileError, match="laws"):
        read_hidden(here / "wrong.toml")
    (here / "wrong.toml").write_text(text[: text.index("[protect")] + "[protect]\n", encoding="utf-8")
    with pytest.raises(FileError, match="something must be protected"):
        read_hidden(here / "wrong.toml")
    (here / "wrong.toml").write_text(text[: text.index("[protect")], encoding="utf-8")
    with pytest.raises(FileError, match="protect"):
        read_hidden(here / "wrong.toml")
