"""The independent checker: what it shares with the package, what it finds, and what it does with hostile text."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

import bnpriv as bp
import bnpriv.verify
from bnpriv.adapters.examples import example_path

SOURCE = Path(sys.modules["bnpriv.verify"].__file__ or "")


def test_it_imports_the_standard_library_only() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names
    assert not any("import" in name for name in names)


@pytest.mark.parametrize("model", ["student", "clinic", "survey", "hospital", "four-people"])
def test_shipped_queries_hold_against_their_files(model: str) -> None:
    framework, path = bp.example(model), example_path(model)
    for query in bp.read_queries(path).values():
        mechanism = bp.ColumnMechanism() if model in ("hospital", "four-people") else bp.MarkovQuiltMechanism()
        calibration = mechanism.calibrate(framework, query, epsilon=1.0)
        for verdict in (bp.verify(calibration), bp.verify(calibration.to_json(), path)):
            assert verdict.status == "holds", str(verdict)


def test_an_edited_scale_fails() -> None:
    calibration = bp.ColumnMechanism().calibrate(bp.example("student"), bp.parse_query("mean(sat)"), epsilon=1.0)
    record = json.loads(calibration.to_json())
    record["noise"]["exact_scale"] = (0.9 * calibration.scale).hex()
    assert bp.verify(json.dumps(record)).status == "fails"
