"""A release against plain SQL: the exact answer to a query over a large Parquet file, in time and memory.

    python benchmarks/release.py [--rows 50000000] [--rounds 5]

Makes the file in a temporary directory (about 17 bytes a row) and removes it. Each measurement is a process of its own,
so that peak memory is that of one road alone; the two roads take turns, and the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

TARGET_RATIO, TARGET_MEMORY = 1.2, 1024.0

MAKE = """
COPY (
    SELECT
        CASE WHEN i % 1000 = 0 THEN NULL WHEN i % 1000 = 1 THEN 'nan'::DOUBLE ELSE 110 + 120 * random() END AS height,
        900 + 800 * random() AS sat,
        CASE WHEN random() < 0.5 THEN 'f' ELSE 'm' END AS gender
    FROM range({rows}) AS t(i)
) TO '{path}'
"""

# the same sums as a user would write them: clamped, but missing values not filled and nothing rounded to a grid
RAW = """
SELECT
    count(*),
    sum(greatest(120.0::DOUBLE, least(220.0::DOUBLE, height))),
    sum(CASE WHEN height > 170 THEN 1 ELSE 0 END),
    avg(greatest(400.0::DOUBLE, least(1600.0::DOUBLE, sat)))
FROM read_parquet('{path}')
"""


def make(path: Path, rows: int) -> None:
    """Write the table."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)")
        connection.execute(MAKE.format(rows=rows, path=path))


def raw(path: Path, rows: int) -> None:
    """Ask DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        connection.sql(RAW.format(path=path)).fetchone()


def bnpriv(path: Path, rows: int) -> None:
    """Ask bnpriv."""
    from bnpriv.core.columns import Real
    from bnpriv.core.queries.asked import count, mean, stack, total
    from bnpriv.core.queries.predicates import col
    from bnpriv.core.schema import Schema
    from bnpriv.tables.evaluate import evaluate

    schema = Schema(records=rows, columns={"height": Real(120, 220), "sat": Real(400, 1600)})
    evaluate(stack(total("height"), count(col("height") > 170), mean("sat")), schema, path)


TASKS = {"make": make, "raw": raw, "bnpriv": bnpriv}


@dataclass(frozen=True)
class Cost:
    """What one process took: seconds of the clock and of the processors, and peak memory in MiB."""

    clock: float
    processor: float
    memory: float


def run(task: str, path: Path, rows: int) -> Cost:
    """Do a task in this process."""
    # Both roads pay for their imports before the clock starts; duckdb itself imports pandas at the first expression.
    ours = ("pandas", "bnpriv.tables.evaluate", "bnpriv.tables.reader", "bnpriv.core.queries.asked")
    for module in ("duckdb", *(ours if task == "bnpriv" else ())):
        importlib.import_module(module)
    clock, processor = time.perf_counter(), time.process_time()
    TASKS[task](path, rows)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return Cost(clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def measured(task: str, path: Path, rows: int) -> Cost:
    """Do a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--path", str(path), "--rows", str(rows)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cost(**json.loads(output))


def compare(rows: int, rounds: int) -> bool:
    """Print the table; return whether the targets are met."""
    found: dict[str, list[Cost]] = {"raw": [], "bnpriv": []}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "table.parquet"
        measured("make", path, rows)
        size = path.stat().st_size / 2**20
        measured("raw", path, rows)  # brings the file into the page cache
        for _ in range(rounds):
            for task, costs in found.items():
                costs.append(measured(task, path, rows))
    best = {
        task: Cost(min(c.clock for c in costs), min(c.processor for c in costs), max(c.memory for c in costs))
        for task, costs in found.items()
    }
    print(f"{rows:,} rows, {size:,.0f} MiB of Parquet; total, count and mean; best of {rounds}")
    print(f"{'road':<10}{'clock s':>10}{'processor s':>13}{'peak MiB':>10}")
    for task, cost in best.items():
        print(f"{task:<10}{cost.clock:>10.3f}{cost.processor:>13.3f}{cost.memory:>10.0f}")
    ratio, busy = best["bnpriv"].clock / best["raw"].clock, best["bnpriv"].processor / best["raw"].processor
    print(f"{'ratio':<10}{ratio:>10.2f}{busy:>13.2f}")
    print(f"targets: ratio {TARGET_RATIO} by the clock, {TARGET_MEMORY:,.0f} MiB")
    return ratio <= TARGET_RATIO and best["bnpriv"].memory <= TARGET_MEMORY


def main() -> int:
    """Compare, or do one task when this is a process of its own."""
    parser = argparse.ArgumentParser(description="A release against plain SQL over a large Parquet file.")
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task is None:
        return 0 if compare(arguments.rows, arguments.rounds) else 1
    print(json.dumps(asdict(run(arguments.task, arguments.path, arguments.rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
