"""From a raw table to a first private number: lines that a user types, refusals, and seconds.

``python -m benchmarks.first_number`` runs the shell's road (init, plan, release) on tables that come with scikit-learn,
half of each declared public, and on the census income data where BNPRIV_ADULT names their folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ADULT_NAMES = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
)

Road = tuple[str, str, list[str], str]
"""A name, the private file, the options of init, and how many records there are."""


def installed(folder: Path) -> Iterator[Road]:
    """Write each table in two halves, one of them public."""
    from sklearn import datasets

    for name, target in (("iris", "species"), ("wine", "cultivar"), ("diabetes", "progression")):
        table = getattr(datasets, f"load_{name}")(as_frame=True).frame.rename(columns={"target": target})
        if name != "diabetes":
            table[target] = "kind " + table[target].astype(str)
        mixed = table.sample(frac=1, random_state=0)
        half = len(mixed) // 2
        mixed[:half].to_csv(folder / f"{name}.csv", index=False)
        mixed[half:].to_csv(folder / f"{name}-public.csv", index=False)
        yield name, f"{name}.csv", ["--learn", f"{name}-public.csv", "--protect", target], str(half)


def census(folder: Path) -> Iterator[Road]:
    """Put the line of names in front of the private half, as init says; the public half stays as it is."""
    place = os.environ.get("BNPRIV_ADULT")
    if place is None:
        return
    raw = Path(place)
    (folder / "adult.csv").write_text(ADULT_NAMES + "\n" + (raw / "adult.data").read_text())
    learn = ["--learn", str(raw / "adult.test"), "--codebook", str(raw / "adult.names"), "--protect", "income"]
    yield "adult", "adult.csv", learn, "32561"


def main() -> None:
    """Run every road and print lines, refusals and seconds."""
    print("table      lines  refusals  seconds  last line")
    with tempfile.TemporaryDirectory() as place:
        for name, data, options, records in (*installed(Path(place)), *census(Path(place))):
            file = f"{name}.toml"
            lines = [
                ["init", data, *options, "--notion", "dataset", "--records", records, "-o", file],
                ["plan", file, "--query", "first", "--epsilon", "1"],
                ["release", file, data, "--query", "first", "--epsilon", "1"],
            ]
            began, refused, last = time.perf_counter(), 0, ""
            for words in lines:
                command = [sys.executable, "-m", "bnpriv", *words]
                done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
                refused += done.returncode == 2
                shown = [
                    line for line in (done.stdout or done.stderr).splitlines() if " = " in line or "refused" in line
                ]
                last = shown[0] if shown else last
            seconds = time.perf_counter() - began
            print(f"{name:<9} {len(lines):>6} {refused:>9} {seconds:>8.1f}  {last[:90]}", flush=True)


if __name__ == "__main__":
    main()
