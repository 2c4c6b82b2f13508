"""The shell: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.cli import main
from bnpriv.core import progress as pace
from bnpriv.io.examples import example_path

STUDENT = str(example_path("student"))
DATA = str(bp.example_data("student"))


@pytest.fixture
def shell(monkeypatch, capsys):
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return run


def test_report_names_what_a_query_talks_about(shell) -> None:
    code, out, err = shell("report", STUDENT, "--query", "both", "--epsilon", "1")
    assert (code, err) == (0, "")
    for part in ("income", "height and sat", "quilt", "13,039", "belief of 10 %", "invented for illustration"):
        assert part in out


@pytest.mark.parametrize(("example", "query"), [("four-people", "ones"), ("activity", "")])
def test_report_is_made_for_every_notion(shell, example: str, query: str, tmp_path: Path) -> None:
    """What one record tells, and what noise an answer needs, as `influence_report` says it."""
    framework, page = example_path(example), tmp_path / "report.html"
    query = query or next(iter(bp.read_queries(framework)))
    code, out, err = shell("report", str(framework), "--query", query, "--epsilon", "1", "--html", str(page))
    assert (code, err) == (0, "")
    read = bp.read_framework(framework), bp.read_queries(framework)[query]
    assert out == f"{bp.influence_report(*read, 1.0)}\n"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, out, err = shell("report", str(framework))
    assert (code, err) == (0, ""), out


def test_report_writes_every_format(shell, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("html", "markdown", "json")}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    code, _, _ = shell("report", STUDENT, "--query", "tall", "--epsilon", "1", *words)
    assert code == 0
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "income" in files["markdown"].read_text(encoding="utf-8")
    assert json.loads(files["json"].read_text(encoding="utf-8"))["data"]["query"]


def test_json_on_standard_output_is_json_alone(shell) -> None:
    for words in (
        ["report", STUDENT],
        ["plan", STUDENT, "--query", "both", "--epsilon", "1"],
        ["release", STUDENT, DATA, "--query", "tall", "--epsilon", "1"],
    ):
        code, out, _ = shell(*words, "--json", "-")
        assert code == 0
        assert json.loads(out)


def test_release_of_a_noiseless_count(shell) -> None:
    code, out, _ = shell("release", STUDENT, DATA, "--query", "count(height > 180)", "--epsilon", "1")
    assert code == 0
    assert out.startswith("count(height > 180) released.\n")
    assert "\ncount(height > 180) = 1,120 (no noise)\n" in out


def test_release_with_a_mechanism_that_is_named(shell) -> None:
    words = ("release", STUDENT, DATA, "--query", "tall", "--epsilon", "1", "--mechanism", "ColumnMechanism")
    code, out, _ = shell(*words)
    assert code == 0
    assert "\nMechanism: ColumnMechanism()\n" in out


def test_a_release_with_a_large_delta_is_refused_before_anything_is_charged(shell, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    words = ("release", STUDENT, DATA, "--query", "tall", "--epsilon", "1", "--delta", "0.01")
    code, out, err = shell(*words, "--ledger", str(ledger), "--budget", "3")
    assert (code, out) == (2, "")
    assert "delta must be below one over the number of records" in err
    assert "large_delta" not in err
    assert not ledger.exists()
    code, out, _ = shell(*words, "--mechanism", "ColumnMechanism")
    assert code == 0
    assert "\nMechanism: ColumnMechanism()\n" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["report", "missing.toml"], "must be there"),
        (["plan", STUDENT, "--query", "tll", "--epsilon", "1"], "tall, high_sat"),
        (["plan", STUDENT, "--query", "count(shoe > 1)", "--epsilon", "1"], "shoe"),
        (["plan", STUDENT, "--query", "both", "--epsilon", "-1"], "epsilon must be above 0"),
        (["plan", STUDENT, "--query", "both", "--epsilon", "nan"], "epsilon must be finite"),
        (["plan", STUDENT, "--query", "both", "--epsilon", "1", "--delta", "2"], "delta"),
        (
            ["release", STUDENT, DATA, "--query", "tall", "--epsilon", "1", "--mechanism", "TigthMechanism"],
            "Did you mean 'TightMechanism'",
        ),
        (["release", STUDENT, "missing.csv", "--query", "tall", "--epsilon", "1"], "missing.csv"),
        (["plan", STUDENT, "--query", "mean(income)", "--epsilon", "1"], "declare it as a column of numbers"),
        (["simulate", STUDENT, "-o", "table.xlsx"], ".parquet or .csv"),
        (["init", "missing.csv"], "missing.csv"),
    ],
)
def test_refuses_in_one_line_with_exit_code_2(shell, words: list[str], reason: str) -> None:
    code, out, err = shell(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("refused: ")
    assert err.count("\n") == 1
    assert reason in err


def test_a_table_in_place_of_a_calibration_is_called_no_json(shell) -> None:
    code, out, _ = shell("verify", STUDENT)
    assert code == 2
    assert out.startswith("not covered: the text is no JSON")


def test_nothing_that_cannot_be_written(shell, tmp_path: Path) -> None:
    code, _, err = shell("report", STUDENT, "--json", str(tmp_path / "none" / "report.json"))
    assert code == 2
    assert "must be writable" in err


def test_simulate_writes_what_release_reads(shell, tmp_path: Path) -> None:
    clinic = str(example_path("clinic"))
    records = bp.example("clinic").schema.records
    for name in ("table.csv", "table.parquet"):
        table = tmp_path / name
        code, out, _ = shell("simulate", clinic, "-o", str(table), "--seed", "3")
        assert code == 0
        assert f"{records:,}" in out
        query = next(iter(bp.read_queries(clinic)))
        code, _, err = shell("release", clinic, str(table), "--query", query, "--epsilon", "1")
        assert code == 0, err


def test_init_starts_a_framework_that_says_what_is_missing(shell, tmp_path: Path) -> None:
    table = tmp_path / 'odd "name".csv'
    table.write_text('age,"a ""b"" c",ü\n1,2,3\n', encoding="utf-8")
    code, out, _ = shell("init", str(table))
    assert code == 0
    assert "[columns.age]" in out
    assert "1,2,3" not in out
    started = tmp_path / "framework.toml"
    started.write_text(out, encoding="utf-8")
    code, _, err = shell("report", str(started))
    assert code == 2
    assert "source" in err


def test_row_46_verify_waits_for_no_pipe(shell, tmp_path: Path) -> None:
    stored, pipe = tmp_path / "calibration.json", tmp_path / "pipe.toml"
    made = bp.ColumnMechanism().calibrate(bp.example("student"), bp.parse_query("count(height > 180)"), epsilon=1.0)
    stored.write_text(made.to_json(), encoding="utf-8")
    os.mkfifo(pipe)
    for path in (pipe, "x" * 300, "/dev/zero"):
        code, out, _ = shell("verify", str(stored), "--framework", str(path))
        assert code == 2
        assert "not covered" in out


def test_help_has_examples(shell) -> None:
    for command in ("report", "plan", "release", "simulate", "init"):
        code, out, _ = shell(command, "--help")
        assert code == 0
        assert f"bnpriv {command}" in " ".join(out.split())


def test_runs_as_a_program_without_progress_in_a_pipe() -> None:
    words = [sys.executable, "-c", "from bnpriv.cli import main; main()", "plan", STUDENT, "--query", "tall"]
    done = subprocess.run([*words, "--epsilon", "1"], capture_output=True, text=True, check=True)
    assert "MarkovQuiltMechanism" in done.stdout
    assert done.stderr == ""


def test_what_takes_long_is_noted_before_it_is_done_in_the_words_of_the_shell(
    shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models of records, as `init --learn` writes twenty: every note of a plan and of a report is read aloud."""
    for model, low in (("one", "0.3"), ("two", "0.4")):
        text = f"""network n {{ }}
        variable ill {{ type discrete [ 2 ] {{ no, yes }}; }}
        variable old {{ type discrete [ 2 ] {{ no, yes }}; }}
        probability ( ill ) {{ table 0.7, 0.3; }}
        probability ( old | ill ) {{ (no) 0.{10 - int(low[-1])}, {low}; (yes) 0.5, 0.5; }}
        """
        (tmp_path / f"{model}.bif").write_text(text)
    framework = tmp_path / "framework.toml"
    framework.write_text(
        'notion = "dataset"\nsource = "a test"\n[network]\nfile = ["one.bif", "two.bif"]\nlevel = "records"\n'
        '[records]\ncount = 30\n[columns.ill]\ntype = "categorical"\ncategories = ["no", "yes"]\n'
        '[columns.old]\ntype = "categorical"\ncategories = ["no", "yes"]\n'
        "[protect.ill]\nproperty = 'count(ill == \"yes\")'\nat_most = 3\n"
    )
    monkeypatch.setattr(pace, "LONG_SECONDS", 0.0)
    words = (str(framework), "--query", 'count(old == "yes")', "--epsilon", "1")
    for command in ("plan", "report"):
        code, _, err = shell(command, *words)
        assert code == 0
        notes = err.splitlines()
        assert any("To work out the laws of the answer under 1 more model takes" in note for note in notes), err
        for note in notes:
            assert re.fullmatch(
                r"note: To [^/=]+ takes? about \d+ s\.( Fewer files .* of \[network\] take less\.)?", note
            )


def run(*words: str, module: str = "bnpriv", **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the shell as a process of its own."""
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, text=True, stderr=subprocess.PIPE, check=False, **settings)


PLAN = ("plan", STUDENT, "--query", "tall", "--epsilon", "1")


@pytest.mark.parametrize("module", ["bnpriv", "bnpriv.cli"])
def test_the_module_is_the_shell(module: str, shell) -> None:
    done = run(*PLAN, module=module, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout, done.stderr) == shell(*PLAN)


def test_the_shell_loads_what_a_command_needs_when_it_runs() -> None:
    code = "import sys, bnpriv.cli; print(*sorted(set(sys.argv) & set(sys.modules)))"
    heavy = [
        "numpy",
        "scipy",
        "pandas",
        "duckdb",
        "narwhals",
        "pgmpy",
        "networkx",
        "sqlalchemy",
        "bnpriv.io.networks.files",
    ]
    done = subprocess.run([sys.executable, "-c", code, *heavy], text=True, stdout=subprocess.PIPE, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("words", [PLAN, ("--help",)])
def test_a_reader_who_leaves_is_no_error(words: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        done = run(*words, stdout=theirs)
    finally:
        os.close(theirs)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")


def test_files_are_kept_when_the_reader_leaves(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    record = tmp_path / "record.json"
    try:
        done = run("release", STUDENT, DATA, *PLAN[2:], "--json", str(record), stdout=theirs)
    finally:
        os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(record.read_text(encoding="utf-8"))["release"][0]["value"] == 1120


@pytest.mark.skipif(os.name == "nt", reason="a shell that closes a stream is needed")
def test_a_closed_standard_output_is_refused() -> None:
    command = f'exec "{sys.executable}" -m bnpriv plan "{STUDENT}" --query tall --epsilon 1 >&-'
    done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "refused: standard output must be open; found it closed. Print to a terminal or a file.\n"


def test_odd_names_are_quoted_where_the_file_is_named(tmp_path: Path, shell) -> None:
    text = Path(STUDENT).read_text(encoding="utf-8")
    shutil.copy(Path(STUDENT).with_name("student.bif"), tmp_path)
    for name, key in (("body height", '"body height"'), ("a]b.c", '"a]b.c"'), ('say "x"', '"say \\u0022x\\u0022"')):
        file = tmp_path / "framework.toml"
        file.write_text(text + f"\n[columns.{key}]\ntype = 'rael'\n", encoding="utf-8")
        code, _, err = shell("report", str(file))
        assert code == 2
        assert f"[columns.{key}]: type must be one of" in err, name
        assert "Did you mean 'real'?" in err


@pytest.mark.parametrize(("name", "meant"), [("tal", "tall"), ("Both", "both")])
def test_a_slip_in_the_name_of_a_query(shell, name: str, meant: str) -> None:
    code, _, err = shell("plan", STUDENT, "--query", name, "--epsilon", "1")
    assert code == 2
    assert f"found '{name}'. Did you mean '{meant}'?" in err


def test_release_with_a_ledger(shell, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    asked = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", "--ledger", place]
    code, out, err = shell(*asked, "--budget", "0.9", "--key", "week 1")
    assert (code, err) == (0, "")
    assert "Release 1 of the account 'data'; all of them together: epsilon 0.5 at most, of a budget of 0.9." in out
    assert shell(*asked, "--key", "week 1") == (0, out, "")  # the stored answer
    code, out, err = shell(*asked)
    assert (code, out) == (2, "")
    assert err.startswith("refused: all releases together must stay within the budget")
    code, out, err = shell("release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", "--key", "week 1")
    assert (code, out) == (2, "")
    assert "Add --ledger FILE." in err


def test_a_refusal_after_the_charge_names_it(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise bp.errors.DataError("a table must be readable", found="one that is not", remedy="Look at it.")

    monkeypatch.setattr(import_module("bnpriv.tables.evaluate"), "evaluate_many", broken)
    asked = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5"]
    code, _, err = shell(*asked, "--ledger", str(tmp_path / "ledger.db"), "--budget", "0.9")
    told = "Release 1 of the account 'data' was charged, and stays so; its answer was not shown."
    assert (code, err.splitlines()[-1]) == (2, told)
    code, _, err = shell(*asked)
    assert (code, len(err.splitlines())) == (2, 1)


def test_ledger_show_verify_export(shell, tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    words = ["--query", "mean(sat)", "--epsilon", "0.5", "--ledger", str(place), "--budget", "2", "--json", "-"]
    _, out, _ = shell("release", STUDENT, DATA, *words)
    head = json.loads(out)["ledger"]["head"]
    code, out, _ = shell("ledger", "show", str(place))
    assert code == 0
    for part in ("A ledger of 1 account.", "Account 'data'", "Left: epsilon 1.5", "mean(sat)", head):
        assert part in out
    code, out, _ = shell("ledger", "show", str(place), "--json", "-")
    assert json.loads(out)["data"]["accounts"][0]["head"] == head
    code, out, _ = shell("ledger", "verify", str(place), "--seen", head)
    assert code == 0
    assert out == f"The ledger is whole: 1 account, 1 charge, 1 answer.\ndata: {head}\n"
    code, _, err = shell("ledger", "verify", str(place), "--seen", "0" * 64)
    assert code == 2
    assert "releases are missing" in err
    code, out, _ = shell("ledger", "export", str(place))
    assert [json.loads(row)["kind"] for row in out.splitlines()] == ["ledger", "account", "charge", "answer"]
    code, out, _ = shell("ledger", "export", str(place), "-o", str(tmp_path / "rows.jsonl"))
    assert out == f"4 rows written to {tmp_path / 'rows.jsonl'}\n"
    code, _, err = shell("ledger", "show", str(tmp_path / "none.db"))
    assert code == 2
    assert not (tmp_path / "none.db").exists()
    code, _, err = shell("ledger", "show", str(place), "--account", "dat")
    assert (code, err.startswith("refused: an account must be one of")) == (2, True)


def test_no_output_replaces_the_ledger(shell, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    words = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", "--budget", "2"]
    assert shell(*words, "--ledger", place)[0] == 0
    before = Path(place).read_bytes()
    for each in (
        [*words, "--ledger", place, "--json", place],
        [*words, "--ledger", f"sqlite:///{place}", "--html", place],
        ["ledger", "show", place, "--json", place],
        ["ledger", "export", place, "-o", place],
    ):
        assert shell(*each)[0] == 2
        assert Path(place).read_bytes() == before
