"""What is worked out once: again only when the file has changed, and by one tab at a time."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.app.memory import declared, framework_at, plan_at
from bnpriv.app.state import Draft
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.io.examples import example_path


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = Path(example_path("hospital")).parent
    shutil.copytree(folder, tmp_path / "hospital")
    return str(tmp_path / "hospital" / "framework.toml")


def test_a_framework_is_read_again_when_its_file_has_changed(path: str) -> None:
    first = framework_at(path)
    assert framework_at(path) is first
    assert declared(Draft(framework=path)) is first
    Path(path).write_text(Path(path).read_text() + "\n# another line\n")
    assert framework_at(path) is not first


def test_a_file_that_is_no_text_any_more_is_refused_in_words(path: str) -> None:
    framework_at(path)
    Path(path).write_bytes(Path(path).read_bytes() + b"# \xff\n")
    with pytest.raises(BnprivError):
        framework_at(path)


def test_a_model_is_needed_first() -> None:
    with pytest.raises(ParameterError, match="a model is needed first"):
        declared(Draft())


def test_two_tabs_that_ask_for_one_plan_wait_for_one(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.mechanisms import plan as module

    made: list[object] = []
    real = bp.plan  # loaded before it is replaced: what the package has loaded it keeps

    def plan(*given):
        made.append(given)
        return real(*given)

    monkeypatch.setattr(module, "plan", plan)
    found: list[object] = []
    tabs = [
        threading.Thread(target=lambda: found.append(plan_at(path, "count(days >= 8)", 0.5, 0.0))) for _ in range(3)
    ]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert len(made) == 1
    assert found[0] is found[1] is found[2]
    assert plan_at(path, "count(days >= 8)", 0.25, 0.0) is not found[0]
    assert bp.plan(bp.example("hospital"), "count(days >= 8)", 0.5).best.epsilon == found[0].best.epsilon  # type: ignore[attr-defined]
