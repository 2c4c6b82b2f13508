"""Files whose structure is whole and whose values are hostile: only our own errors come out, or a valid result.

Framework files, stored calibrations and releases, and ledgers; JSON and ledgers through the shell too. A few of each
are in every run. This tries 20,000 of them, in order, and prints what came out of each kind:

    python -m tests.unit.io.test_hostile_files 20000 7
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv import cli
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import BnprivError, NetworkError, SchemaError
from bnpriv.io.examples import example_path
from bnpriv.io.framework_file import framework_files, read_framework, read_queries
from bnpriv.verify.check import verify
from tests.mutation import limited, mutate

SECONDS = 20.0
FEW = {"framework": 250, "own": 150, "calibration": 150, "release": 100, "ledger": 60, "bytes": 40}
SEED = 20261123
EXAMPLES = ("student", "hospital", "activity", "clinic")

OWN = {
    "chain": """
notion = "value"
source = "made up"
[chain]
transition = [[0.75, 0.25], [0.25, 0.75]]
initial = [0.5, 0.5]
length = [20, 30]
states = ["rest", "walk"]
[records]
count = 50
[columns.activity]
type = "categorical"
categories = ["rest", "walk"]
[protect.activity]
[queries]
walks = 'count(activity == "walk")'
""",
    "normal": """
notion = "dataset"
source = "made up"
[network.attributes.age]
intercept = 40
deviation = 10
[network.attributes.income]
intercept = 1000.5
deviation = 300
coefficients = { age = 20.0 }
[records]
count = 100
[columns.age]
type = "integer"
lower = 0
upper = 120
[columns.income]
type = "real"
lower = 0
upper = 5e3
steps = 4096
[protect.income]
property = "mean(income)"
pairs = [[[900, 1000], [1100, 1200]]]
""",
    "binned": """
notion = "dataset"
source = "made up"
[network]
file = ["n.bif"]
level = "records"
normalize = true
[records]
count = 100
[columns.income]
type = "binned"
edges = [0, 1000, 5000]
labels = ["low", "high"]
within = "uniform"
[columns.sat]
type = "categorical"
categories = ["weak", "strong"]
missing = "weak"
[protect.income]
property = 'count(income < 1000)'
at_most = 50
[queries]
both = 'stack(count(sat == "weak"), histogram(income))'
""",
}

BIF = """variable income { type discrete [ 2 ] { low, high }; }
variable sat { type discrete [ 2 ] { weak, strong }; }
probability ( income ) { table 0.6, 0.4; }
probability ( sat | income ) { (low) 0.5, 0.5; (high) 0.1, 0.9; }
"""

NUMBERS: tuple[object, ...] = (
    *(0, 1, -1, 2, 7, 0.5, -0.0, 1e308, -1e308, 1.7976931348623157e308, 5e-324, 1e-320, 1e-300, 1e-17, 1e16),
    *(float("nan"), float("inf"), float("-inf"), 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 2**1024),
    *(10**400, -(10**400), 10**4400),
)
TEXTS: tuple[object, ...] = (
    *("", " ", "\0", "a\0b.bif", "x" * 300, "x" * 300 + ".bif", "y" * 70_000, "a/" * 3000 + "n.bif", "n.bif/n.bif"),
    *("..", "/", "~", "~/n.bif", "~nobody/n.bif", ".", "C:n.bif", "n.bif\n", "\u202e", "\ud800", "\x7f", "nan", "inf"),
    *("1e999", "9" * 5000, "count(sat > 1)", "count(" * 500, "mean(age) + " * 900, "any", "stationary", "normal"),
    *("-0x1p-1074", "0x1p1024", "1/0", "1" * 4400 + "/3", "Infinity", "true", "records", "bnpriv release 1"),
)
OTHERS: tuple[object, ...] = (True, False, [], {}, [[]], [{}], {"": {}}, [0.5] * 40, ["a"] * 3, [[1, [2, [3]]]], None)
DATES = ("1979-05-27T07:32:00Z", "1979-05-27", "07:32:00")


class Written(str):
    """What stands in a TOML file as it is."""


def hostile(rng: random.Random) -> object:
    return deepcopy(rng.choice(rng.choice((NUMBERS, NUMBERS, TEXTS, OTHERS))))  # what is put in is changed in its turn


def changed(rng: random.Random, root: Any) -> None:
    """Put a hostile value, a value from elsewhere, or nothing in a place of a tree; or rename or double a key."""
    node, above = root, root
    while True:
        key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        below = node[key]
        if not isinstance(below, (dict, list)) or not below or rng.random() < 0.15:
            break
        above, node = node, below
    kind = rng.random()
    if kind < 0.7:
        node[key] = hostile(rng)
    elif kind < 0.8:
        node[key] = deepcopy(rng.choice(list(above.values() if isinstance(above, dict) else above)))
    elif kind < 0.9:
        del node[key]
    elif isinstance(node, dict):
        node[str(rng.choice(TEXTS))] = deepcopy(node[key])
    else:
        node.insert(rng.randrange(len(node) + 1), deepcopy(node[key]))


def toml_text(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, str) and not isinstance(value, Written):
        return json.dumps(value)
    return "07:32:00" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def long_number(value: object) -> object:
    """Write numbers of more digits than Python prints by itself."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**4000:
        return Written("-" * (value < 0) + "9" * 4400)
    if isinstance(value, dict):
        return {key: long_number(each) for key, each in value.items()}
    return [long_number(each) for each in value] if isinstance(value, list) else value


def read_toml(rng: random.Random, folder: Path, text: str) -> str:
    root = tomllib.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changed(rng, root)
    path = folder / "f.toml"
    lines = (f"{json.dumps(str(key))} = {toml_text(long_number(value))}\n" for key, value in root.items())
    path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
    assert path in framework_files(path)
    read_queries(path)
    framework = read_framework(path)
    return "framework" if framework.fingerprint() and framework.schema.records >= 1 else "wrong"


def of_framework(rng: random.Random, folder: Path) -> str:
    path = example_path(rng.choice(EXAMPLES))
    for each in path.parent.iterdir():
        if each.suffix in (".bif", ".xml", ".net") and not (folder / each.name).exists():
            shutil.copy(each, folder)
    return read_toml(rng, folder, path.read_text(encoding="utf-8"))


def of_own(rng: random.Random, folder: Path) -> str:
    (folder / "n.bif").write_text(BIF, encoding="utf-8")
    return read_toml(rng, folder, OWN[rng.choice(list(OWN))])


def few_students(folder: Path) -> Path:
    """Declare a table of so few students that everything stored about it is verified at once."""
    whole = example_path("student")
    shutil.copy(whole.parent / "student.bif", folder)
    path = folder / "few.toml"
    path.write_text(whole.read_text(encoding="utf-8").replace("count = 10_000", "count = 20"), encoding="utf-8")
    return path


@cache
def stored() -> tuple[Framework, tuple[str, ...], tuple[str, ...]]:
    """Return a framework, its calibrations by every mechanism, and releases, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        framework = read_framework(few_students(Path(folder)))
    import polars as pl

    data = pl.read_parquet(bp.example_data("student")).head(20)
    found: list[Calibration] = []
    for query in (bp.count(bp.col("height") > 180), bp.stack(bp.mean("sat"), bp.histogram("gender"))):
        for delta in (0.0, 1e-6):
            found += bp.plan(framework, query, 1.0, delta).calibrations
    released = [bp.release(each, data).to_json() for each in found[:2]]
    return framework, tuple(each.to_json() for each in found), tuple(released)


def broken_json(rng: random.Random, text: str) -> str:
    if rng.random() < 0.25:
        return mutate(rng, text.encode()).decode("utf-8", errors="replace")
    root = json.loads(text)
    for _ in range(rng.choice((1, 1, 2))):
        changed(rng, root)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # to write numbers that Python would not read
    try:
        return json.dumps(root)
    finally:
        sys.set_int_max_str_digits(limit)


def shell(*words: str) -> int:
    """Run a command, and return its exit code; an error that is not ours is let through."""
    before, sys.argv = sys.argv, ["bnpriv", *words]
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as stopped:
        code = stopped.code
        return code if isinstance(code, int) else 0
    finally:
        sys.argv = before
    return 0


def of_calibration(rng: random.Random, folder: Path) -> str:
    framework, calibrations, _ = stored()
    text = broken_json(rng, rng.choice(calibrations))
    status = verify(text, few_students(folder) if rng.random() < 0.3 else None).status
    if rng.random() < 0.3:
        (folder / "c.json").write_text(text, encoding="utf-8", errors="replace")
        return f"shell {shell('verify', str(folder / 'c.json'))}"
    if rng.random() < 0.5:
        Calibration.from_json(text, framework)
    return status


def of_release(rng: random.Random, folder: Path) -> str:
    path = folder / "r.json"
    path.write_text(broken_json(rng, rng.choice(stored()[2])), encoding="utf-8", errors="replace")
    words = ["--framework", str(few_students(folder))] if rng.random() < 0.5 else []
    return f"shell {shell('verify', str(path), *words)}"


@cache
def whole_ledger() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ledger.db")
        with bp.Session(bp.example("student"), bp.example_data("student"), budget=2.0, ledger=path) as session:
            for query in ("count(height > 180)", "mean(sat)"):
                session.release(query, epsilon=0.5, key=query, even_if_useless=True)
        return path.read_bytes()


def of_ledger(rng: random.Random, folder: Path) -> str:
    """Change a value in a table of a ledger, or in the JSON of a row."""
    path = folder / "ledger.db"
    path.write_bytes(whole_ledger())
    path.chmod(0o600)
    with contextlib.closing(sqlite3.connect(path)) as connection, contextlib.suppress(*REFUSED):
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'bnpriv_no_update'").fetchone()
        connection.execute("DROP TRIGGER bnpriv_no_update")  # as by somebody who means it, and puts it back
        table = rng.choice(tables)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column, rows = rng.choice(columns), connection.execute(f"SELECT rowid, * FROM {table}").fetchall()
        row = rng.choice(rows)
        value: object = row[1 + columns.index(column)]
        new = hostile(rng)
        if isinstance(value, str) and value.startswith("{"):
            new = broken_json(rng, value)
        elif isinstance(new, (list, dict)):
            new = b"\xff\xfe"
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row[0]))
        connection.execute(trigger)
        connection.commit()
    return asked(rng, path)


def of_bytes(rng: random.Random, folder: Path) -> str:
    path = folder / "ledger.db"
    content = whole_ledger()
    for _ in range(rng.choice((1, 2, 5))):
        content = mutate(rng, content)
    path.write_bytes(content)
    path.chmod(0o600)
    return asked(rng, path)


def asked(rng: random.Random, path: Path) -> str:
    command = rng.choice(("verify", "show", "export"))
    return f"{command} {shell('ledger', command, str(path))}"


KINDS: dict[str, Callable[[random.Random, Path], str]] = {
    "framework": of_framework,
    "own": of_own,
    "calibration": of_calibration,
    "release": of_release,
    "ledger": of_ledger,
    "bytes": of_bytes,
}
CODES = {"0", "1", "2"}
REFUSED = (sqlite3.Error, OverflowError, UnicodeEncodeError)
"""What SQLite's driver makes of values that it cannot write."""


@pytest.mark.parametrize("name", OWN)
def test_the_files_are_whole_before(tmp_path: Path, name: str) -> None:
    (tmp_path / "n.bif").write_text(BIF, encoding="utf-8")
    (tmp_path / "f.toml").write_text(OWN[name], encoding="utf-8")
    assert read_framework(tmp_path / "f.toml").schema.records >= 50


def attack(kind: str, folder: Path, count: int, seed: int, *, go_on: bool = False) -> Counter[str]:
    """Read files and count what came out; whatever is not ours is let through, or counted as foreign."""
    rng = random.Random(f"{seed}{kind}")
    found: Counter[str] = Counter()
    for _ in range(count):
        try:
            with limited(SECONDS):
                found[KINDS[kind](rng, folder)] += 1
        except BnprivError as refused:
            complete = refused.required and refused.found and refused.remedy
            found[type(refused).__name__ if complete else "wrong"] += 1
        except BaseException as error:
            if not go_on or isinstance(error, KeyboardInterrupt):
                raise
            found[f"FOREIGN {type(error).__name__}: {error!s:.60}"] += 1
            if found.total() < 10**9 and sum(each.startswith("FOREIGN") for each in found) <= 12:
                import traceback

                last = traceback.extract_tb(error.__traceback__)[-3:]
                print(kind, type(error).__name__, f"{error!s:.80}", [f"{at.filename[-40:]}:{at.lineno}" for at in last])
    return found


HUGE = 10**400


@pytest.mark.parametrize(
    ("error", "make"),
    [
        (NetworkError, lambda: bp.types.MarkovChain([[HUGE, 0], [0, 1]], "stationary", 5)),
        (NetworkError, lambda: bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], [HUGE, 0], 5)),
        (NetworkError, lambda: bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "any", 5, states=7)),
        (NetworkError, lambda: bp.types.MarkovChain([[0.5, 0.5], [0.5, 0.5]], "any", 5, states=[["a"], ["b"]])),
        (SchemaError, lambda: bp.Binned([0, 1, 2], labels=[["a"], "b"])),
        (SchemaError, lambda: bp.Binned([0, 1, 2], labels=[{}, {}])),
        (SchemaError, lambda: bp.Binned([0, 1, HUGE])),
        (NetworkError, lambda: bp.DiscreteNetwork.from_tables({"a": [HUGE, 1]}, states={"a": ["x", "y"]})),
    ],
)
def test_values_that_files_may_hold_are_refused_in_words(error: type[BnprivError], make: Callable[[], object]) -> None:
    with pytest.raises(error) as refused:
        make()
    assert refused.value.required
    assert refused.value.remedy


def test_states_beyond_doubles_are_infinitely_far_apart() -> None:
    assert SecretPair(frozenset({HUGE}), frozenset({0})).farthest == float("inf")


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_values(tmp_path: Path, kind: str) -> None:
    tmp_path.chmod(0o700)
    found = attack(kind, tmp_path, FEW[kind], SEED)
    assert found.total() == FEW[kind]
    assert not found["wrong"]
    assert {name.partition(" ")[2] for name in found if " " in name} <= CODES | {"large", "covered"}
    assert len(found) > 1  # not everything ends alike


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_hostile_values(tmp_path: Path, kind: str) -> None:
    assert not attack(kind, tmp_path, 10 * FEW[kind], SEED + 1)["wrong"]


def main() -> int:
    """Try as many files as the first argument says, with the seed of the second, and print the counts."""
    count, seed = (int(text) for text in (*sys.argv[1:], "20000", "1")[:2])
    kinds = sys.argv[3:] or list(KINDS)
    foreign = 0
    for kind in kinds:
        share = round(count * FEW[kind] / sum(FEW[each] for each in kinds))
        with tempfile.TemporaryDirectory() as folder:
            found = attack(kind, Path(folder), share, seed, go_on=True)
        foreign += sum(number for name, number in found.items() if name.startswith("FOREIGN") or name == "wrong")
        print(f"{kind}: {found.total():,} files: {dict(found.most_common())}", flush=True)
    print(f"foreign exceptions: {foreign}")
    return foreign > 0


if __name__ == "__main__":
    sys.exit(main())
