"""The public face: sorted, complete, documented with examples, and quick to import."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
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
        # what is refused
        "BnprivError",
    }
)  # fmt: skip
"""The names on top that users may rely on; one that goes is a breaking change."""

PROMISED_BELOW = frozenset(
    {
        "errors.DataError", "errors.QueryError", "errors.Refusal", "errors.RefusedError", "laws.Atoms", "laws.Draws",
        "laws.Normal", "noise.Gaussian", "noise.Laplace", "noise.NoNoise", "types.Bound", "types.Calibration",
        "types.DiscreteNetwork", "types.Influence", "types.InfluenceReport", "types.MarkovQuilt", "types.Plan",
        "types.Query", "types.Release",
    }
)  # fmt: skip
"""The names one floor below that users may rely on."""

ROOMS = ("errors", "laws", "mechanisms", "noise", "types")
"""The modules on top, on purpose."""

MOST = 74
"""Names on top: what a user types; one reader for each library that models are written in (the 73rd is pyAgrum's), and
one verb for each thing that people do (the 74th is `audit`). What
is met without typing its name lies below: `types.GaussianNetwork`, which `from_pgmpy` makes, and
`mechanisms.MarkovChainMechanism`, which `plan` tries by itself."""

CONSTRUCTED = frozenset(
    {
        "Accountant", "Binned", "Categorical", "ColumnMechanism", "DatasetAttributePrivacy", "DiscreteNetwork",
        "DistributionPrivacy", "DistributionalAttributePrivacy", "Integer", "MarkovQuiltMechanism",
        "Real", "Schema", "Secret", "Session", "TightMechanism", "ValuePrivacy", "WassersteinMechanism",
    }
)  # fmt: skip
"""The classes on top: users call them themselves."""

SLOW = frozenset(
    {"pandas", "pgmpy", "opendp", "duckdb", "scipy.stats", "matplotlib", "sklearn", "typer", "rich", "pymc"}
)


def exported() -> dict[str, object]:
    return {name: getattr(bnpriv, name, None) for name in bnpriv.__all__}


def test_all_is_sorted_and_without_repetition() -> None:
    assert list(bnpriv.__all__) == sorted(set(bnpriv.__all__))


def test_every_name_resolves() -> None:
    assert [name for name in bnpriv.__all__ if not hasattr(bnpriv, name)] == []


def test_the_face_is_small() -> None:
    assert len(bnpriv.__all__) <= MOST


def test_completion_shows_what_is_public_and_nothing_else() -> None:
    assert {name for name in dir(bnpriv) if not name.startswith("_")} == set(bnpriv.__all__)
    assert {name for name, value in exported().items() if inspect.ismodule(value)} == set(ROOMS)


def test_everything_public_is_listed() -> None:
    """What is re-exported without being listed in `__all__` is public by accident."""
    ours = {
        name
        for name, value in vars(bnpriv).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").startswith("bnpriv.")
    }
    assert ours - set(bnpriv.__all__) == set()


def test_promised_names_are_there() -> None:
    assert PROMISED - set(bnpriv.__all__) == set()


@pytest.mark.parametrize("name", sorted(PROMISED_BELOW))
def test_promised_names_below_are_there(name: str) -> None:
    room, _, inner = name.partition(".")
    assert inspect.isclass(getattr(getattr(bnpriv, room), inner))


def test_the_classes_on_top_are_those_that_users_construct() -> None:
    """What only comes back from a call is for annotations, and lies in `bnpriv.types`."""
    classes = {name for name, value in exported().items() if inspect.isclass(value)}
    assert classes == CONSTRUCTED | {"BnprivError"}


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    program = """
import importlib, pkgutil, bnpriv
for each in pkgutil.walk_packages(bnpriv.__path__, "bnpriv."):
    if "pymc" not in each.name and "__main__" not in each.name:
        importlib.import_module(each.name)
print(callable(bnpriv.release), callable(bnpriv.verify))
print({name for name in dir(bnpriv) if name[0] != "_"} == set(bnpriv.__all__))
"""
    assert run(program).split() == ["True", "True", "True"]


@pytest.mark.parametrize("name", sorted(set(bnpriv.__all__) - set(ROOMS)))
def test_every_name_has_a_docstring_with_an_example(name: str) -> None:
    value = getattr(bnpriv, name)
    text = inspect.getdoc(value) or ""
    assert text.strip()
    # a dataclass without a docstring gets its signature
    assert not text.startswith(f"{name}(")
    assert "\nExamples\n--------\n" in text
    assert ">>> " in text.split("\nExamples\n--------\n")[1]


@pytest.mark.parametrize("name", sorted(bnpriv.types.__all__))
def test_every_type_has_a_docstring(name: str) -> None:
    value = getattr(bnpriv.types, name)
    text = inspect.getdoc(value) or ""
    assert text.strip()
    assert not text.startswith(f"{name}(")


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
    """Compiled once, as an installed package is; on a slow or busy machine half as long again as pandas, in turns."""
    compiled = {"PYTHONPYCACHEPREFIX": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}

    def seconds(name: str) -> float:
        program = f"from time import process_time as now; start = now(); import {name}; print(now() - start)"
        return float(run(program, **compiled))

    peer, ours = zip(*((seconds("pandas"), seconds("bnpriv")) for _ in range(7)), strict=True)
    assert min(ours) < max(0.5, 1.5 * min(peer))
