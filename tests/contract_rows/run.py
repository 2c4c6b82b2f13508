"""Run the evidence of the rows, and print one line for each."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.contract_rows import data, ledgers, models, numbers, outputs  # noqa: F401  each registers its rows
from tests.contract_rows.evidence import ROWS, NotShownError

LAST = 56
NOT_BUILT: dict[int, str] = {}
"""Rows of the contract that no program stands for yet."""


@dataclass(frozen=True)
class Outcome:
    """What came of one row."""

    number: int
    status: str
    fault: str
    figure: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.number:2}  {self.status:13}  {self.seconds:5.1f} s  {self.fault}: {self.figure}"


def outcomes(chosen: Sequence[int]) -> Iterator[Outcome]:
    """Yield what comes of every chosen row."""
    for number in chosen:
        if number in NOT_BUILT:
            yield Outcome(number, "not built yet", NOT_BUILT[number], "-", 0.0)
            continue
        one = ROWS[number]
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = Path.cwd()
            os.chdir(name)
            try:
                status, figure = "pass", one.work(Path(name))
            except NotShownError as error:
                status, figure = "not shown", str(error)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # what pytest.raises says is no Exception
                status, figure = "FAIL", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            finally:
                os.chdir(before)
        yield Outcome(number, status, one.fault, figure, time.monotonic() - started)


def main(words: Sequence[str]) -> int:
    """Print the rows, and return 1 if one of them does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract_rows", description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows; all by default")
    chosen = parser.parse_args(words).rows or range(1, LAST + 1)
    found: list[Outcome] = []
    for outcome in outcomes(chosen):
        print(outcome, flush=True)
        found.append(outcome)
    counted = {
        status: sum(each.status == status for each in found)
        for status in ("pass", "FAIL", "not shown", "not built yet")
    }
    print(
        ", ".join(f"{count} {status}" for status, count in counted.items()) + f"; {sum(e.seconds for e in found):.0f} s"
    )
    return 1 if counted["FAIL"] else 0
