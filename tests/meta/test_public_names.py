"""The public face: sorted, complete, documented with examples, and quick to import."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bnpriv

PROMISED = frozenset(
    {
        # declare
        "Categorical", "DiscreteNetwork", "DistributionalAttributePrivacy", "Integer", "Real", "Schema",
        "example", "from_pgmpy", "pairs", "read_framework", "read_network",
        # analyse
        "influence_matrix", "influence_report", "markov_quilts", "max_influence",
        # ask
        "col", "column_sensitivity", "count", "custom", "histogram", "linear", "mean", "moments", "parse_query",
        "proportion", "stack", "total",
        # calibrate
        "ColumnMechanism", "MarkovQuiltMechanism", "plan",
        # release
        "release",
        # what comes back, and what is refused
        "BnprivError", "Bound", "Calibration", "Influence", "InfluenceReport", "MarkovQuilt", "Plan", "Refusal",
    }
)  # fmt: skip
"""The names that users may rely on; one that goes is a breaking change."""

CONSTRUCTED = frozenset(
    {
        "Atoms", "Categorical", "ColumnMechanism", "DatasetAttributePrivacy", "DistributionPrivacy",
        "DistributionalAttributePrivacy", "GaussianNetwork", "Integer", "MarkovChain", "MarkovChainMechanism",
        "MarkovQuiltMechanism", "Normal", "Real", "Schema", "Secret", "TightMechanism", "ValuePrivacy",
        "WassersteinMechanism",
    }
)  # fmt: skip
"""The classes that users call themselves."""

SLOW = frozenset(
    {"pandas", "pgmpy", "opendp", "duckdb", "scipy.stats", "matplotlib", "sklearn", "typer", "rich", "pymc"}
)


def exported() -> dict[str, object]:
    return {name: getattr(bnpriv, name, None) for name in bnpriv.__all__}


def needs_example(value: object) -> bool:
    """Return whether users call it: a function, or one of the classes that they construct."""
    return inspect.isfunction(value) or (inspect.isclass(value) and value.__name__ in CONSTRUCTED)


def test_all_is_sorted_and_without_repetition() -> None:
    assert list(bnpriv.__all__) == sorted(set(bnpriv.__all__))


def test_every_name_resolves() -> None:
    assert [name for name in bnpriv.__all__ if not hasattr(bnpriv, name)] == []


def test_everything_public_is_listed() -> None:
    """What is re-exported without being listed in `__all__` is public by accident."""
    ours = {
        name
        for name, value in vars(bnpriv).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("bnpriv.")
    }
    assert ours - set(bnpriv.__all__) == set()


def test_promised_names_are_there() -> None:
    assert PROMISED - set(bnpriv.__all__) == set()


def test_every_mechanism_is_among_the_constructed() -> None:
    found = {
        name
        for name, value in exported().items()
        if inspect.isclass(value) and issubclass(value, bnpriv.Mechanism) and not inspect.isabstract(value)
    }
    assert found <= CONSTRUCTED


@pytest.mark.parametrize("name", sorted(bnpriv.__all__))
def test_every_name_has_a_docstring(name: str) -> None:
    value = getattr(bnpriv, name)
    text = inspect.getdoc(value) or ""
    assert text.strip()
    # a dataclass without a docstring gets its signature
    assert not text.startswith(f"{name}(")
    if needs_example(value):
        assert "\nExamples\n--------\n" in text
        assert ">>> " in text.split("\nExamples\n--------\n")[1]


def run(program: str, **environment: str) -> str:
    """Run a program in a fresh interpreter and return what it prints."""
    known = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=known)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_slow() -> None:
    program = f"import sys, bnpriv; print(sorted(set(sys.modules) & {set(SLOW)!r}))"
    assert run(program).strip() == "[]"


@pytest.mark.slow
def test_import_takes_less_than_half_a_second(tmp_path: Path) -> None:
    """Compiled once, as an installed package is."""
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    program = "import time; start = time.perf_counter(); import bnpriv; print(time.perf_counter() - start)"
    seconds = []
    for _ in range(5):
        seconds.append(float(run(program, **compiled)))
        time.sleep(0.1)
    assert min(seconds) < 0.5
