"""Row 41 of the reliability contract: outputs are opened first, appear together or not at all, and destroy nothing."""

from __future__ import annotations

import errno
import json
import os
import resource
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv import cli
from bnpriv.errors import FileError
from bnpriv.io.examples import example_path
from bnpriv.render import outputs

STUDENT = str(example_path("student"))
DATA = str(bp.example_data("student"))
ASKED = ["--query", "count(height > 180)", "--epsilon", "1"]
COMMANDS = {
    "release": ["release", STUDENT, DATA, *ASKED],
    "plan": ["plan", STUDENT, *ASKED],
    "report": ["report", STUDENT, *ASKED],
}

WORKING = {
    import_module("bnpriv.mechanisms.plan"): "plan",
    import_module("bnpriv.core.release"): "release",
    import_module("bnpriv.views.report.report"): "influence_report",
}
"""What works for minutes, by its module, which the shell asks for it."""

import_module("bnpriv.ledger.session")  # it keeps what it imports: it must not be loaded while that is taken away


@pytest.fixture
def shell(monkeypatch, capsys):
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Return a folder of places where nothing can be written, and of what must survive."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "good.html").write_text("good", encoding="utf-8")
    return tmp_path


UNWRITABLE = (
    "none/x.json",
    "folder",
    "pipe",
    "device",
    "loop",
    "~nobody-there/x.json",
    "x" * 300,
    "good.html/x.json",
    "good.html",
)


@pytest.mark.parametrize("place", UNWRITABLE)
@pytest.mark.parametrize("command", COMMANDS)
def test_row_41_nothing_is_drawn_for_what_cannot_be_written(shell, places, monkeypatch, command, place) -> None:
    for module, name in WORKING.items():
        monkeypatch.setattr(module, name, None)
    monkeypatch.chdir(places)
    before = sorted(places.iterdir())
    code, out, err = shell(*COMMANDS[command], "--html", "good.html", "--json", place)
    assert (code, out) == (2, "")
    assert err.startswith("refused: ")
    assert "must be writable" in err
    assert (places / "good.html").read_text(encoding="utf-8") == "good"
    assert sorted(places.iterdir()) == before


def test_row_41_simulate_opens_its_output_first(shell, places, monkeypatch) -> None:
    monkeypatch.setattr(import_module("bnpriv.lab.simulate"), "simulate", None)
    (places / "folder.csv").mkdir()
    for output in (places / "none" / "x.csv", places / "folder.csv"):
        code, out, err = shell("simulate", STUDENT, "-o", str(output))
        assert (code, out) == (2, "")
        assert "must be writable" in err


def test_row_41_what_is_read_is_not_written_over(shell, tmp_path: Path) -> None:
    data = tmp_path / "students.parquet"
    data.write_bytes(Path(DATA).read_bytes())
    (tmp_path / "link.json").hardlink_to(data)
    for name in ("students.parquet", "link.json"):
        code, out, err = shell("release", STUDENT, str(data), *ASKED, "--json", str(tmp_path / name))
        assert (code, out) == (2, "")
        assert "an output must be a file of its own; found the ledger, a file beside it, or a file that is read" in err
    assert data.read_bytes() == Path(DATA).read_bytes()


def test_row_41_a_read_only_file_is_not_replaced(shell, tmp_path: Path, monkeypatch) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("good", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != kept)  # root may write everything
    code, out, _ = shell(*COMMANDS["plan"], "--json", str(kept))
    assert (code, out, kept.read_text(encoding="utf-8")) == (2, "", "good")


def test_row_41_written_files_keep_links_and_modes(shell, tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    code, out, _ = shell(
        *COMMANDS["release"], "--json", str(tmp_path / "link.json"), "--html", str(tmp_path / "a.html")
    )
    assert code == 0
    assert "1,120" in out
    assert (tmp_path / "link.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert json.loads(real.read_text(encoding="utf-8"))["release"][0]["value"] == 1120
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "link.json", "real.json"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from importlib import import_module
from bnpriv.cli import main
room = import_module("bnpriv.core.release")
real = room.release
def told(*arguments):
    print("touched", file=sys.stderr)
    return real(*arguments)
room.release = told
main()
"""


def test_row_41_a_full_disk_leaves_what_was_there_and_draws_nothing(tmp_path: Path) -> None:
    page, record = tmp_path / "page.html", tmp_path / "record.json"
    for path in (page, record):
        path.write_text("good", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "4096", *COMMANDS["release"], "--html", str(page), "--json", str(record)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("refused: ")
    assert "File too large" in done.stderr
    assert "touched" not in done.stderr
    assert sorted(tmp_path.iterdir()) == [page, record]
    assert page.read_text(encoding="utf-8") == record.read_text(encoding="utf-8") == "good"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_row_41_simulate_on_a_full_disk_leaves_the_old_table(tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"table{suffix}"
    table.write_text("good", encoding="utf-8")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "4096", "simulate", STUDENT, "-o", str(table)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("refused: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [table]
    assert table.read_text(encoding="utf-8") == "good"


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_row_41_files_appear_together_or_not_at_all(tmp_path: Path, monkeypatch, failing: int) -> None:
    paths = [tmp_path / name for name in "abc"]
    paths[0].write_text("old", encoding="utf-8")
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if target == paths[failing] and self.suffix != ".before":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)

    def write() -> None:
        with outputs.outputs(*paths) as out:
            for path in paths:
                out.put(path, "new")

    with pytest.raises(FileError, match=f"{paths[failing].name}: the file must be writable"):
        write()
    assert list(tmp_path.iterdir()) == [paths[0]]
    assert paths[0].read_text(encoding="utf-8") == "old"
    monkeypatch.undo()
    write()
    assert sorted(tmp_path.iterdir()) == paths
    assert {path.read_text(encoding="utf-8") for path in paths} == {"new"}


def test_row_41_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "page.html"

    def stopped() -> None:
        with outputs.outputs(path) as out:
            out.put(path, "half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


def test_row_41_a_database_that_is_made_meanwhile_stays(tmp_path: Path) -> None:
    path, ledger = tmp_path / "page.html", b"SQLite format 3\0 and what was charged"

    def write() -> None:
        with outputs.outputs(path) as out:
            out.put(path, "lost")
            path.write_bytes(ledger)

    with pytest.raises(FileError, match="a database"):
        write()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == ledger


@pytest.mark.parametrize("other", ["PAGE.html", "./page.html", "page.html."])
def test_row_41_two_outputs_never_take_one_place(tmp_path: Path, other: str) -> None:
    with (
        pytest.raises(FileError, match="the place of another output"),
        outputs.outputs(tmp_path / "page.html", Path(f"{tmp_path}/{other}")),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is needed")
def test_row_41_a_full_standard_output_takes_the_files_back(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "from bnpriv.cli import main; main()"]
    with open("/dev/full", "w") as full:
        for command in (COMMANDS["release"], ["init", DATA, "--notion", "dataset"]):
            extra = [] if command[0] == "init" else ["--json", str(tmp_path / "record.json")]
            done = subprocess.run(
                [*words, *command, *extra], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
            assert done.returncode == 2
            assert done.stderr.startswith("refused: standard output must be writable")
            assert done.stderr.count("\n") == 1
            assert list(tmp_path.iterdir()) == []
        counted = ["--ledger", str(tmp_path / "l.db"), "--budget", "2"]
        done = subprocess.run(
            [*words, *COMMANDS["release"], *counted], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
        assert done.returncode == 2
        assert "was charged" in done.stderr.splitlines()[1]
        assert "the ledger keeps its answer." in done.stderr.splitlines()[1]


def test_row_41_pages_of_the_library_too(tmp_path: Path) -> None:
    path = tmp_path / "none" / "page.html"
    with pytest.raises(FileError, match="must be writable"):
        bp.plan(bp.example("student"), bp.parse_query("count(height > 180)"), 1.0).to_html(path)
    with pytest.raises(FileError, match="no path"):
        outputs.write_text("a\0b", "text")


def test_a_missing_folder_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"found no such folder\. Make the folder"):
        outputs.write_text(tmp_path / "missing" / "page.html", "x")
