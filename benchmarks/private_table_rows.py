"""The rows of a private table against a plain copy of the file by DuckDB, in time and memory.

    python benchmarks/private_table_rows.py [--rows 10000000] [--rounds 3] [--path table.parquet]

Makes a Parquet file of three columns of texts and three of numbers in a temporary directory (about 8 bytes a row), or
takes one that was made so. Each measurement is a process of its own, so that peak memory is that of one road alone;
the roads take turns, and the best of the rounds counts. `trim` hands records on as they are read, `fill` as they count,
with 10,000 that are made up; both choose records of two classes and shuffle all.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

TARGET_RATIO, TARGET_MEMORY = 2.5, 500.0

MAKE = """
COPY (
    SELECT
        CASE WHEN random() < 0.1 THEN 'yes' ELSE 'no' END AS ill,
        CASE WHEN random() < 0.3 THEN 'yes' ELSE 'no' END AS smokes,
        'ward' || CAST(floor(random() * 5) AS INTEGER) AS ward,
        CAST(floor(random() * 100) AS INTEGER) AS age,
        CAST(floor(random() * 30) AS INTEGER) AS days,
        round(random() * 50000, 2) AS income
    FROM range({rows})
) TO '{path}'
"""


def make(path: Path, rows: int) -> None:
    """Write the table."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(MAKE.format(rows=rows, path=path))


def copy(path: Path, rows: int) -> None:
    """Let DuckDB write the table again."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("SET memory_limit = '400MB'")
        connection.execute(f"COPY (SELECT * FROM '{path}') TO '{path.with_suffix('.copied')}' (FORMAT parquet)")


def hand_on(path: Path, rows: int, *, as_they_count: bool) -> None:
    """Leave some records of each class out, and hand the others on."""
    from bnpriv.core.columns import Categorical, Integer, Real
    from bnpriv.core.queries.predicates import col
    from bnpriv.core.schema import Schema
    from bnpriv.tables.private_table.rows import classed_rows

    words, wards = Categorical(["no", "yes"]), Categorical([f"ward{k}" for k in range(5)])
    numbers = {"age": Integer(0, 120), "days": Integer(0, 365), "income": Real(0, 100_000)}
    schema = Schema(records=rows, columns={"ill": words, "smokes": words, "ward": wards, **numbers})
    new = {"ill": "no", "smokes": "no", "ward": "ward0", "age": 40, "days": 3, "income": 25_000.0}
    made_up = {name: [value] * 10_000 for name, value in new.items()} if as_they_count else {}
    classes = [col("ill") == "no", col("ill") == "yes"]
    opening = classed_rows(path, schema, [*schema.columns], classes, as_they_count=as_they_count, folder=path.parent)
    with opening as found:
        found.handed_on([size - 137 for size in found.counts], made_up, output=path.with_suffix(".handed-on"))


def trim(path: Path, rows: int) -> None:
    """Hand records on as they are read."""
    hand_on(path, rows, as_they_count=False)


def fill(path: Path, rows: int) -> None:
    """Hand records on as they count, and some that are made up."""
    hand_on(path, rows, as_they_count=True)


TASKS = {"make": make, "copy": copy, "trim": trim, "fill": fill}


@dataclass(frozen=True)
class Cost:
    """What one process took: seconds of the clock and of the processors, and peak memory in MiB."""

    clock: float
    processor: float
    memory: float


def run(task: str, path: Path, rows: int) -> Cost:
    """Do a task in this process."""
    clock, processor = time.perf_counter(), time.process_time()
    TASKS[task](path, rows)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return Cost(clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measured(task: str, path: Path, rows: int) -> Cost:
    """Do a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--path", str(path), "--rows", str(rows)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cost(**json.loads(output))


def compare(rows: int, rounds: int, given: Path | None) -> bool:
    """Print the table; return whether the targets are met."""
    found: dict[str, list[Cost]] = {"copy": [], "trim": [], "fill": []}
    with tempfile.TemporaryDirectory(dir=given.parent if given else None) as directory:
        path = Path(directory) / "table.parquet"
        if given is None:
            measured("make", path, rows)
        else:
            path.symlink_to(given.absolute())
        for _ in range(rounds):
            for task, costs in found.items():
                costs.append(measured(task, path, rows))
        size = path.stat().st_size / 2**20
    best = {
        task: Cost(min(c.clock for c in costs), min(c.processor for c in costs), max(c.memory for c in costs))
        for task, costs in found.items()
    }
    print(f"{rows:,} rows, {size:,.0f} MiB of Parquet; best of {rounds}")
    print(f"{'road':<8}{'clock s':>10}{'ratio':>8}{'processor s':>14}{'ratio':>8}{'peak MiB':>10}")
    for task, cost in best.items():
        ratio, busy = cost.clock / best["copy"].clock, cost.processor / best["copy"].processor
        print(f"{task:<8}{cost.clock:>10.2f}{ratio:>8.2f}{cost.processor:>14.2f}{busy:>8.2f}{cost.memory:>10.0f}")
    print(f"targets: ratio {TARGET_RATIO} by the clock, {TARGET_MEMORY:,.0f} MiB")
    ours = [best["trim"], best["fill"]]
    return all(c.clock <= TARGET_RATIO * best["copy"].clock and c.memory <= TARGET_MEMORY for c in ours)


def main() -> int:
    """Compare, or do one task when this is a process of its own."""
    parser = argparse.ArgumentParser(description="The rows of a private table against a copy of the file by DuckDB.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--path", type=Path, help="a Parquet file that this script made")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task is None:
        return 0 if compare(arguments.rows, arguments.rounds, arguments.path) else 1
    print(json.dumps(asdict(run(arguments.task, arguments.path, arguments.rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
