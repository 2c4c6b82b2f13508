"""What the README shows is run: its Python here, in order and in one namespace; its commands by .ci/run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

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
    assert "income" in printed


def test_quick_start_is_at_most_ten_lines() -> None:
    _, body = blocks("python")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10


def test_two_commands_each_make_their_environment() -> None:
    commands = [body for _, body in blocks("sh")]
    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python3 -m venv .venv &&\n")
    release, tests = commands
    assert ".venv/bin/bnpriv release models/student/framework.toml" in release
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
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README.read_text(encoding="utf-8"))
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing
