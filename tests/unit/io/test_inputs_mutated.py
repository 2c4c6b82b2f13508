"""Mutated framework files, stored calibrations and tables: only our own errors, or a valid result, soon.

A few hundred of each are in every run. The large run is marked slow; `BNPRIV_MUTANTS` sets how many it tries, 20,000
by default, and `BNPRIV_SEED` which.
"""

from __future__ import annotations

import json
import os
import random
import resource
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.errors import BnprivError
from bnpriv.io.framework_file import read_framework, read_queries
from bnpriv.io.starter.files import files_to_start
from bnpriv.tables.evaluate import evaluate
from tests.mutation import limited, mutate

SECONDS = 20.0
ROOM = 300
FEW = {"framework": 300, "calibration": 300, "table": 60}
MANY = int(os.environ.get("BNPRIV_MUTANTS", "20000"))
SEED = int(os.environ.get("BNPRIV_SEED", "20261122"))

BIF = """variable income { type discrete [ 2 ] { low, high }; }
variable sat { type discrete [ 2 ] { weak, strong }; }
probability ( income ) { table 0.6, 0.4; }
probability ( sat | income ) { (low) 0.5, 0.5; (high) 0.1, 0.9; }
"""

TOML = b"""notion = "distributional"
source = "made up"
[network]
file = ["n.bif"]
level = "parameters"
normalize = true
within = 0.01
[records]
count = 100
[columns.income]
type = "categorical"
categories = ["low", "high"]
[columns.sat]
type = "real"
lower = 400
upper = 1_600.5
missing = 1e3
[columns."other one"]
type = "integer"
lower = 0
upper = 1
independent = true
[protect.income]
pairs = [["low", "high"]]
[laws.sat]
weak = { normal = [900, 180] }
strong = { normal = [1100.0, 180] }
[laws.income]
low = { categorical = { low = 0.5, high = 0.5 } }
high = { categorical = { low = 0.25, high = 0.75 } }
[laws."other one"]
bernoulli = 0.5
[queries]
tall = "count(sat > 1000 & `other one` == 1)"
both = 'stack(mean(sat), histogram(income, ["low", "high"]))'
"""

CSV = b'''income,sat,"other ""one"""
low,1000.5,1
high,NaN,0
,1e999,"x
y"
'''

HOSTILE: tuple[object, ...] = (
    *(float("inf"), float("-inf"), float("nan"), 1e308, 5e-324, -1.0, 0, 10**400, 2**63, True, None, "", "x" * 1000),
    *("\x00", "a\nb", [], {}, [[]], [None] * 100, {"": {}}, "count(sat > 1)", "total(x)", "gaussian", [float("inf")]),
)


@cache
def stored() -> tuple[Framework, str]:
    framework = bp.DistributionalAttributePrivacy(
        bp.DiscreteNetwork.from_tables(
            {"income": [0.6, 0.4], "sat": [[0.5, 0.1], [0.5, 0.9]]},
            states={"income": ["low", "high"], "sat": ["weak", "strong"]},
            parents={"sat": ["income"]},
        ),
        bp.Schema(records=100, columns={"sat": bp.Real(400, 1600)}),
        "income",
        source="made up",
    )
    return framework, bp.plan(framework, bp.mean("sat"), 1.0).calibrations[-1].to_json()


def mutated_json(rng: random.Random) -> str:
    """Change the text, or put a hostile value, as JSON writes it or not, in a place of the tree."""
    text = stored()[1]
    if rng.random() < 0.5:
        return mutate(rng, text.encode()).decode("utf-8", errors="replace")
    root: Any = json.loads(text)
    node = root
    while True:
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        below = node[key]
        if not isinstance(below, (dict, list)) or not below or rng.random() < 0.2:
            break
        node = below
    node[key] = rng.choice(HOSTILE)
    return json.dumps(root)


def framework_file(rng: random.Random, folder: Path) -> str:
    content = TOML
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = mutate(rng, content)
    (folder / "n.bif").write_text(BIF, encoding="utf-8")
    path = folder / "f.toml"
    path.write_bytes(content)
    framework = read_framework(path)
    read_queries(path)
    return "framework" if framework.schema.records >= 1 else "wrong"


def calibration(rng: random.Random, folder: Path) -> str:
    del folder
    text = mutated_json(rng)
    again = Calibration.from_json(text, stored()[0])
    # another option that calibrates the same noise is another calibration, and a good one
    kept = [{**json.loads(each), "mechanism": None} for each in (again.to_json(), stored()[1])]
    return "calibration" if kept[0] == kept[1] else "wrong"


def table(rng: random.Random, folder: Path) -> str:
    content = CSV
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = mutate(rng, content)
    path = folder / "t.csv"
    path.write_bytes(content)
    if rng.random() < 0.3:
        return "columns" if "[records]" in files_to_start(path, None, notion="dataset")[0] else "wrong"
    schema = bp.Schema(records=3, columns={"sat": bp.Real(0, 10), "income": bp.Categorical(["low", "high"])})
    query = bp.stack(bp.total("sat"), bp.count(bp.col("income") == "high"))
    total, high = evaluate(query, schema, path).values
    return "answer" if 0 <= total <= 31 and 0 <= high <= 3 else "wrong"


KINDS = {"framework": framework_file, "calibration": calibration, "table": table}


def attack(read: Callable[[random.Random, Path], str], folder: Path, count: int, seed: int) -> Counter[str]:
    """Read mutants and count what came out; whatever is not ours is let through."""
    rng = random.Random(f"{seed}{read.__name__}")
    found: Counter[str] = Counter()
    for _ in range(count):
        try:
            with limited(SECONDS):
                found[read(rng, folder)] += 1
        except BnprivError as refused:
            complete = refused.required and refused.found and refused.remedy
            found[type(refused).__name__ if complete else "wrong"] += 1
    assert not found["wrong"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_mutants(tmp_path: Path, kind: str) -> None:
    found = attack(KINDS[kind], tmp_path, FEW[kind], SEED)
    refused = sum(count for name, count in found.items() if name.endswith("Error"))
    assert FEW[kind] / 10 < refused < FEW[kind]  # some come through: the mutations are not too wild


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_mutants(tmp_path: Path, kind: str) -> None:
    attack(KINDS[kind], tmp_path, 10, SEED)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = attack(KINDS[kind], tmp_path, MANY // len(KINDS), SEED + 1)
    print(kind, dict(found))
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < ROOM
