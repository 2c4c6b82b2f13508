"""What the README shows is run: its Python here, in order and in one namespace; its commands by .ci/run."""

from __future__ import annotations

import random
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from bnpriv.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
CI = ROOT / ".ci" / "run"

FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[int, str]]:
    """Return the README's blocks in one language, each with the line on which its text starts."""
    text = README.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, block.start("body")) + 1, block["body"])
        for block in FENCE.finditer(text)
        if block["language"] == language
    ]


def test_python_blocks_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {"__name__": "readme"}
    found = blocks("python")
    assert found
    for line, body in found:
        # blank lines in front make a traceback point at the line of the README
        exec(compile("\n" * (line - 1) + body, str(README), "exec"), namespace)
    printed = capsys.readouterr().out
    assert 'count(age_group == "old") released' in printed


def run(command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of the shell prints."""
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as stopped:
        main()
    shown = capsys.readouterr()
    assert not stopped.value.code, shown.err
    return shown.out


def commands(body: str) -> list[str]:
    return body.replace("\\\n", " ").strip().splitlines()


def test_the_output_that_is_shown_is_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (_, shown), (_, command) = blocks("text")[0], blocks("sh")[0]
    printed = run(commands(command)[-1].strip().removeprefix(".venv/bin/"), monkeypatch, capsys)
    noisy = re.compile(r"[\d,]+ \(95 %: [\d,]+ to [\d,]+\)")
    assert noisy.search(shown)
    assert noisy.sub("", printed).splitlines() == noisy.sub("", shown).splitlines()
    assert len(shown.splitlines()) <= 8


def test_the_commands_for_a_table_of_ones_own_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(30)
    for name, records in (("table.csv", 5000), ("public.csv", 800)):
        rows = [
            f"{income},{draw.gauss(50 + 5 * income, 9):.0f},{draw.choice('fm')}"
            for income in draw.choices(range(3), k=records)
        ]
        Path(name).write_text("\n".join(["income,score,sex", *rows, ""]), encoding="utf-8")
    own, _, trimmed, handed = (commands(body) for _, body in blocks("console"))
    assert [command.split()[1] for command in own] == ["init", "plan", "release"]
    printed = [run(command, monkeypatch, capsys) for command in [*own, *handed]]
    assert "(95 %: " in printed[2]
    assert "not protected" in Path("statement.html").read_text(encoding="utf-8")
    assert "holds" in printed[-1]

    Path("secret.toml").write_text(blocks("toml")[-1][1], encoding="utf-8")
    rows = [f"{draw.choice(['no', 'yes'])},{draw.randrange(90)}" for _ in range(5000)]
    Path("table.csv").write_text("\n".join(["smokes,age", *rows, ""]), encoding="utf-8")
    for command in trimmed:
        run(command, monkeypatch, capsys)
    assert Path("private.parquet").exists()


def test_quick_start_is_at_most_ten_lines() -> None:
    _, body = blocks("python")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10


def test_two_commands_each_make_their_environment() -> None:
    commands = [body for _, body in blocks("sh")]
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python3 -m venv .venv &&\n")
    release, tests = commands
    assert ".venv/bin/bnpriv release models/hospital/framework.toml" in release
    assert tests.rstrip().endswith(".venv/bin/python -m pytest -n 2")


def test_ci_runs_the_commands_of_the_readme() -> None:
    text = CI.read_text(encoding="utf-8")
    assert "readme_command 1" in text
    assert "readme_command 2" in text
    assert "-m pytest -n 2 -m 'mutants or slow'" in text


def test_ci_runs_both_ends_of_what_pyproject_allows() -> None:
    """Row 51."""
    _, _, loop = CI.read_text(encoding="utf-8").partition("for each in lowest-direct highest; do\n")
    body = loop.partition("\ndone\n")[0]
    assert '--resolution "$each" --upgrade --editable ".[test,pymc]"' in body
    assert "-m pytest -q -n 2 tests/test_readme.py tests/golden" in body


def test_every_extra_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [line.split("|")[1] for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    assert set(project["optional-dependencies"]) <= told


def test_links_lead_to_files() -> None:
    links = re.findall(r"(?:\]\(|src=\"|srcset=\")(?!https?:)([^)#\"]+)", README.read_text(encoding="utf-8"))
    assert "docs/images/first.svg" in links
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing
