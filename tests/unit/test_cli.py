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
from bnpriv import progress as pace
from bnpriv.cli import main
from bnpriv.errors import FileError
from bnpriv.io.examples import example_path
from bnpriv.ledger.ledger import Ledger
from bnpriv.tables.private_table import private_table as tables
from tests.later import Later

pd = Later("pandas")

STUDENT = str(example_path("student"))
DATA = str(bp.example_data("student"))
ANYHOW = "--even-if-useless"


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
    code, out, err = shell("report", STUDENT, "--query", "both", "--epsilon", "1", "--full")
    assert (code, err) == (0, "")
    for part in ("income", "height and sat", "quilt", "13,039", "belief of 10 %", "invented for illustration"):
        assert part in out


def test_the_number_alone_and_the_version(shell) -> None:
    asked = (STUDENT, "--query", "count(height > 180)", "--epsilon", "1", "--quiet")
    assert shell("release", STUDENT, DATA, *asked[1:]) == (0, "1120.0\n", "")
    plan = bp.plan(bp.example("student"), "count(height > 180)", 1.0)
    assert shell("plan", *asked) == (0, f"{plan.best.quantile(0.95)}\n", "")
    assert shell("--version")[1].startswith("bnpriv ")


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
    assert out.startswith("count(height > 180) released.\n1,120 (no noise).")
    assert len(out.splitlines()) <= 8


def test_release_with_a_mechanism_that_is_named(shell) -> None:
    words = ("release", STUDENT, DATA, "--query", "tall", "--epsilon", "1", "--mechanism", "ColumnMechanism")
    code, out, _ = shell(*words, ANYHOW, "--full")
    assert code == 0
    assert ": ColumnMechanism()\n" in out


def test_two_lengths_are_refused_before_anything_is_charged(shell, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    counted = ("--epsilon", "1", "--ledger", str(ledger), "--budget", "3", "--full", "--quiet")
    release = ("release", STUDENT, DATA, "--query", "tall", ANYHOW)
    table = ("table", STUDENT, DATA, "-o", str(tmp_path / "t.parquet"), "--records-may-be-seen")
    for words in (release, table):
        code, out, err = shell(*words, *counted)
        assert (code, out) == (2, "")
        assert "one length is printed" in err
        assert not list(tmp_path.iterdir())


def test_ctrl_c_before_a_command_begins_is_no_traceback(shell, monkeypatch) -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bnpriv.cli.app", stopped)
    code, out, err = shell("report", STUDENT)
    assert (code, out, err) == (130, "", "stopped by Ctrl-C.\n")


def test_a_release_with_a_large_delta_is_refused_before_anything_is_charged(shell, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    words = ("release", STUDENT, DATA, "--query", "tall", "--epsilon", "1", "--delta", "0.01")
    code, out, err = shell(*words, "--ledger", str(ledger), "--budget", "3")
    assert (code, out) == (2, "")
    assert "delta must be below one over the number of records" in err
    assert "large_delta" not in err
    assert not ledger.exists()
    code, out, _ = shell(*words, "--mechanism", "ColumnMechanism", ANYHOW, "--full")
    assert code == 0
    assert ": ColumnMechanism()\n" in out


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


def test_init_says_how_many_useful_questions_there_are(shell, tmp_path: Path) -> None:
    (tmp_path / "ours.csv").write_text("smokes,ill\n", encoding="utf-8")
    (tmp_path / "public.csv").write_text("smokes,ill\n" + "no,yes\nyes,no\n" * 300, encoding="utf-8")
    words = ["init", str(tmp_path / "ours.csv"), "--learn", str(tmp_path / "public.csv"), "--protect", "ill"]
    code, out, _ = shell(*words, "--records", "5000", "-o", str(tmp_path / "framework.toml"))
    assert code == 0
    last = out.splitlines()[-1]
    assert re.fullmatch(r"Useful questions: about \d+ questions like count\(.+\) within epsilon 1, if .+\.", last), out


def test_row_54_a_useless_answer_is_refused_with_and_without_a_ledger(shell, tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    words = ("release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5")
    for given in ((), ("--ledger", str(place), "--budget", "2")):
        code, out, err = shell(*words, *given)
        assert (code, out) == (2, "")
        assert "an error of 7,190 in 95 % of releases, beside a range from 400 to 1,600" in err
        assert "useful from about epsilon 1.8 on" in err
    assert bp.Session(bp.example("student"), DATA, ledger=place).remaining == 2.0
    code, _, err = shell(*words, ANYHOW, "--ledger", str(place), "--budget", "2", "--account", "Data")
    assert (code, "--new-name" in err) == (2, True)
    assert shell(*words, ANYHOW, "--ledger", str(place), "--budget", "2", "--account", "Data", "--new-name")[0] == 0


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
    done = subprocess.run([*words, "--epsilon", "1", "--full"], capture_output=True, text=True, check=True)
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
        assert any("To work out the distributions of the answer under 1 more model takes" in note for note in notes), (
            err
        )
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
    asked = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", ANYHOW, "--full", "--ledger", place]
    code, out, err = shell(*asked, "--budget", "0.9", "--key", "week 1")
    assert (code, err) == (0, "")
    assert "Release 1 of the account 'data'; together epsilon 0.5 at most, of a budget of 0.9." in out
    assert shell(*asked, "--key", "week 1") == (0, out, "")  # the stored answer
    code, out, err = shell(*asked)
    assert (code, out) == (2, "")
    assert err.startswith("refused: all releases together must stay within the budget")
    code, out, err = shell(
        "release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", ANYHOW, "--key", "week 1"
    )
    assert (code, out) == (2, "")
    assert "Add --ledger FILE." in err


def test_a_refusal_after_the_charge_names_it(shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise bp.errors.DataError("a table must be readable", found="one that is not", remedy="Look at it.")

    monkeypatch.setattr(import_module("bnpriv.tables.evaluate"), "evaluate_many", broken)
    asked = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", ANYHOW]
    code, _, err = shell(*asked, "--ledger", str(tmp_path / "ledger.db"), "--budget", "0.9")
    told = "Release 1 of the account 'data' was charged, and stays so; its answer was not shown."
    assert (code, err.splitlines()[-1]) == (2, told)
    code, _, err = shell(*asked)
    assert (code, len(err.splitlines())) == (2, 1)


def test_ledger_record(shell, tmp_path: Path) -> None:
    """What another tool releases is charged without the table, once for a key."""
    place, hospital = str(tmp_path / "ledger.db"), str(example_path("hospital"))
    asked = ["ledger", "record", hospital, "--ledger", place, "--columns", "smoker, ward", "--key", "wards"]
    code, out, err = shell(*asked, "--epsilon", "0.01", "--name", "Tumult", "--budget", "2")
    assert (code, err) == (0, "")
    assert out.startswith(
        "Recorded: Tumult: epsilon 0.01, replace one; reads {smoker, ward}.\nRelease 1 of the account"
    )
    assert "is not counted." in out
    head = out.rstrip("\n").rpartition("Hash of the ledger's last row: ")[2]
    again = shell(*asked, "--epsilon", "0.01", "--name", "Tumult")
    assert (again[0], head in again[1]) == (0, True)
    code, out, _ = shell("ledger", "verify", place, "--seen", head)
    assert (code, out) == (0, f"The ledger is whole: 1 account, 1 charge, 0 answers.\ndata: {head}\n")
    code, _, err = shell(*asked[:-2], "--epsilon", "0.01", "--unit", "add one user")
    assert (code, "unit must be one of replace one, add or remove one" in err) == (2, True)
    code, _, err = shell(*asked[:-2], "--epsilon", "50")
    assert (code, "must stay within the budget of epsilon 2" in err) == (2, True)


def test_ledger_show_verify_export(shell, tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    words = ["--query", "mean(sat)", "--epsilon", "0.5", ANYHOW, "--ledger", str(place), "--budget", "2", "--json", "-"]
    _, out, _ = shell("release", STUDENT, DATA, *words)
    head = json.loads(out)["ledger"]["head"]
    code, out, _ = shell("ledger", "show", str(place), "--full")
    assert code == 0
    for part in ("A ledger of 1 account.", "Account 'data'", "1.5 is left", "mean(sat)", head):
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
    words = ["release", STUDENT, DATA, "--query", "mean(sat)", "--epsilon", "0.5", ANYHOW, "--budget", "2"]
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


# --------------------------------------------------------------------------------------------------
# Private tables: files with and without a network, plans, ledgers, and how they are refused.
# --------------------------------------------------------------------------------------------------

ASKED, SEEN = ("--epsilon", "1", "--delta", "1e-6"), "--records-may-be-seen"
WARDS = '["surgery", "internal", "lungs", "children", "other"]'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the hospital: its table, its framework, and the same without a network."""
    for file in example_path("hospital").parent.glob("*.*"):
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


def test_a_table_is_handed_on_without_a_network(shell, here: Path) -> None:
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


def test_it_is_filled_by_the_network_of_the_file(shell, here: Path) -> None:
    words = ("table", "framework.toml", "patients.parquet", "-o", "out.parquet", "--epsilon", "1", SEEN, "--json", "-")
    code, out, _ = shell(*words)
    assert code == 0
    assert json.loads(out)["data"]["form"] == "fill"
    assert len(pd.read_parquet(here / "out.parquet")) == 10_000


def test_a_plan_touches_no_data(shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "made_by", None)
    code, out, err = shell(
        "table", "framework.toml", "--plan", *ASKED, "--html", "plan.html", "--json", "plan.json", "--full"
    )
    assert (code, err) == (0, "")
    for part in ("Forms of the table", "mean(days)", "Forms that cannot be", "fill and trim"):
        assert part in out
    assert json.loads((here / "plan.json").read_text(encoding="utf-8"))["document"] == "table plan"
    code, out, _ = shell("table", "none.toml", "--plan", *ASKED, "--full")
    assert (code, "trim" in out) == (0, True)


def test_several_counts_at_once(shell, here: Path) -> None:
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
    code, out, err = shell("plan", "cells.toml", "--query", "mean(days)", "--epsilon", "1", "--full")
    assert (code, err) == (0, "")
    assert "TightMechanism" in out


def test_a_ledger_counts_it_once(shell, here: Path) -> None:
    words = ("table", "none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--ledger", "l.db", "--full")
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
    code, shown, _ = shell("ledger", "show", "l.db", "--full")
    assert (code, "PrivateTable" in shown) == (0, True)
    (here / "out.parquet").unlink()
    code, _, err = shell(*words, "--key", "a", "--account", "survey")
    assert code == 2
    assert "the file that was written, unchanged" in err


def test_what_fails_after_the_charge_says_so(shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, output: Path, **__: object) -> None:
        output.write_bytes(b"half")
        raise FileError("a disk must have room", found="none", remedy="Make room.")

    monkeypatch.setattr(tables, "made_by", full)
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
        (("none.toml", "patients.parquet", "-o", "out.parquet", *ASKED, SEEN, "--key", "a"), "Add --ledger FILE"),
    ],
)
def test_it_refuses_in_one_line(shell, here: Path, words: tuple[str, ...], reason: str) -> None:
    before = {file: file.read_bytes() for file in here.iterdir()}
    code, out, err = shell("table", *words)
    assert (code, out) == (2, "")
    assert err.startswith("refused: ")
    assert err.count("\n") == 1
    assert reason in err
    assert {file: file.read_bytes() for file in here.iterdir()} == before


def test_every_other_command_needs_a_network(shell, here: Path) -> None:
    for words in (
        ("report", "none.toml"),
        ("plan", "none.toml", "--query", "mean(days)", "--epsilon", "1"),
        ("check", "none.toml", "patients.parquet"),
        ("simulate", "none.toml", "-o", "made-up.parquet"),
    ):
        code, _, err = shell(*words)
        assert (code, "a section [network] is needed" in err) == (2, True), words


STATED = ("release", STUDENT, DATA, "--query", "tall", "--epsilon", "1")


def test_a_statement_is_written_in_every_form(shell, tmp_path: Path) -> None:
    for name, begins in (("page.docx", b"PK"), ("page.html", b"<!doctype html>"), ("page.md", b"# What was published")):
        code, _, err = shell(*STATED, "--statement", str(tmp_path / name), "--json", str(tmp_path / "kept name.json"))
        assert (code, err) == (0, "")
        assert (tmp_path / name).read_bytes().startswith(begins)
    told = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "bnpriv verify 'kept name.json' --framework framework.toml" in told
    assert str(tmp_path) not in told
    assert "given with the framework; no reason is stated" in told


@pytest.mark.parametrize("name", ["page.pdf", "page", "none/page.md"])
def test_a_statement_that_cannot_be_written_is_refused_before_anything_is_charged(
    shell, tmp_path: Path, name: str
) -> None:
    ledger = tmp_path / "ledger.db"
    code, out, err = shell(*STATED, "--statement", str(tmp_path / name), "--ledger", str(ledger), "--budget", "2")
    assert (code, out) == (2, "")
    assert err.startswith("refused: ")
    assert not ledger.exists()


def test_a_statement_in_word_without_its_package_is_refused_before_anything_is_charged(
    shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "ledger.db"
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setitem(sys.modules, "docx.oxml", None)
    words = ("--statement", str(tmp_path / "page.docx"), "--ledger", str(ledger), "--budget", "2")
    code, out, err = shell(*STATED, *words)
    assert (code, out) == (2, "")
    assert "bnpriv[docx]" in err
    assert not ledger.exists()


def test_a_statement_replaces_nothing_that_is_read(shell, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.md"
    code, _, err = shell(*STATED, "--statement", str(ledger), "--ledger", str(ledger), "--budget", "2")
    assert code == 2
    assert "a file of its own" in err
    assert not ledger.exists()


def test_what_init_left_at_a_default_is_told_until_somebody_decides(shell, tmp_path: Path) -> None:
    hostile = '<script>alert(1)</script>" long' + "g" * 150
    names = f'smokes,"{hostile.replace(chr(34), chr(34) * 2)}"\n'
    (tmp_path / "ours.csv").write_text(names + "no,yes\n" * 600, encoding="utf-8")
    (tmp_path / "public.csv").write_text(names + "no,yes\nyes,no\n" * 300, encoding="utf-8")
    framework, page = tmp_path / "framework.toml", tmp_path / "page.html"
    words = ["init", str(tmp_path / "ours.csv"), "--learn", str(tmp_path / "public.csv"), "--protect", hostile]
    assert shell(*words, "--records", "600", "-o", str(framework))[0] == 0
    assert bp.read_framework(framework).decisions.keys() == {"notion", "protected", "apart"}
    asked = ("release", str(framework), str(tmp_path / "ours.csv"), "--query", "first", "--epsilon", "2", ANYHOW)
    code, _, err = shell(*asked, "--statement", str(page))
    assert (code, err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert text.count("a default that nobody decided") == 3
    assert "<script>alert" not in text
    told = framework.read_text(encoding="utf-8")
    decided = re.sub(r'^apart = ".*"$', 'apart = "the board, on 2026-11-02"', told, flags=re.MULTILINE)
    framework.write_text(decided, encoding="utf-8")
    assert shell(*asked, "--statement", str(page))[0] == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("a default that nobody decided") == 2
    assert "decided: the board, on 2026-11-02" in text


def test_a_private_table_has_a_statement(shell, tmp_path: Path) -> None:
    hospital = str(example_path("hospital"))
    page = tmp_path / "page.md"
    words = ["--epsilon", "1", "--statement", str(page)]
    made = [str(bp.example_data("hospital")), "-o", str(tmp_path / "private.parquet"), "--records-may-be-seen"]
    code, _, err = shell("table", hospital, *made, *words)
    assert (code, err) == (0, "")
    told = page.read_text(encoding="utf-8")
    assert "real records are handed on" in told
    assert "bnpriv verify table.json --framework framework.toml" in told
    for more, found in ((["--plan"], "a plan"), ([*made, "--form", "open columns"], "open columns")):
        code, out, err = shell("table", hospital, *more, *words)
        assert (code, out) == (2, "")
        assert found in err
