"""How many useful answers a newcomer gets within epsilon 1: hospital, census, Adult, a list of 30 questions each.

Run: python -m benchmarks.useful_answers [hospital] [census] [adult]

An answer is useful here if each of its numbers errs by at most a tenth of its range in 95 % of releases (the verdicts
exact, sharp and useful). The lists, and the networks, are those of private_table_errors.py. Three ways through a list:

* one by one: each question is asked for at just that error, in the order of the list; what does not fit is passed over,
* planned: ``Session.plan`` says which of the list could be useful, and splits the budget over these,
* table: one private table is charged once, and asked everything; its errors are those of so many tables.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bnpriv as bp
from benchmarks import adult_study
from benchmarks.private_table_errors import CENSUS, EPSILON, HOSPITAL, Case, adult, example, number, parts_of
from bnpriv.bound import FloatArray
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.errors import RefusedError
from bnpriv.tables.evaluate import evaluate

TABLES, LEVEL, SHARE, COARSE = 40, 0.95, 0.1, 0.5
CASES: dict[str, Callable[[], Case]] = {
    "hospital": lambda: example("hospital", HOSPITAL),
    "census": lambda: example("census", CENSUS),
    "adult": adult,
}


@dataclass(frozen=True)
class Way:
    """What one way through a list of questions gave.

    Parameters
    ----------
    shares : list of float
        The error that each answer keeps in 95 % of releases, over the range of its number that it is largest for.
    spent : float
    seconds : float
    """

    shares: list[float]
    spent: float
    seconds: float

    def within(self, most: float) -> int:
        """How many answers err by at most a share of their range."""
        return sum(share <= most for share in self.shares)


def ranges(case: Case, query: bp.types.Query) -> FloatArray:
    """How wide the range of each number of an answer is."""
    low, high = answer_range(query, case.framework.schema)
    return np.subtract(high, low)


def shares_of(case: Case, queries: Sequence[bp.types.Query], found: Calibration) -> list[float]:
    """The errors of the answers of a release, as shares of their ranges."""
    errors = np.array(found.noise.quantiles(LEVEL))
    parts = zip(queries, parts_of(queries, case.framework.schema), strict=True)
    return [float((errors[part] / ranges(case, query)).max()) for query, part in parts]


@contextmanager
def session(case: Case, data: Any) -> Iterator[bp.Session]:
    """A session with a ledger of its own."""
    with tempfile.TemporaryDirectory() as folder:
        yield bp.Session(case.framework, data, budget=EPSILON, ledger=Path(folder) / "ledger.db")


def one_by_one(case: Case, data: Any) -> Way:
    """Each question at the error that is just useful, while the budget lasts."""
    shares, start = [np.inf] * len(case.asked), time.process_time()
    with session(case, data) as opened:
        for place, query in enumerate(case.asked):
            try:
                price = opened.ask(query, error=SHARE * ranges(case, query).min(), probability=LEVEL)
                opened.release(price)
            except RefusedError:
                continue
            (shares[place],) = shares_of(case, [query], price.calibration)
        return Way(shares, opened.spent, time.process_time() - start)


def planned(case: Case, data: Any) -> Way:
    """A plan for what could be useful, and all its releases."""
    found: dict[str, float] = {}
    with session(case, data) as opened:
        start = time.process_time()
        plan = opened.plan(opened.plan(case.asked).useful)
        seconds = time.process_time() - start
        for calibration, texts in zip(plan.calibrations, plan.questions, strict=True):
            opened.release(calibration)
            shares = shares_of(case, [bp.parse_query(text) for text in texts], calibration)
            found.update(zip(texts, shares, strict=True))
        return Way([found.get(str(query), np.inf) for query in case.asked], opened.spent, seconds)


def from_table(case: Case) -> Way:
    """Everything from one private table: the errors that 19 tables of 20 keep."""
    import polars as pl

    errors: list[list[float]] = []
    for seed in range(TABLES):
        data, start = pl.from_pandas(case.drawn(seed)), time.process_time()
        with session(case, data) as opened:
            made = opened.table(EPSILON, records_may_be_seen=True)
            answers = [np.array(made.answer(query)) for query in case.asked]
            spent, seconds = opened.spent, time.process_time() - start
        exact = (evaluate(query, case.framework.schema, data).values for query in case.asked)
        errors.append(
            [
                float((np.abs(answer - np.array(true, dtype=float)) / ranges(case, query)).max())
                for query, answer, true in zip(case.asked, answers, exact, strict=True)
            ]
        )
    return Way(np.quantile(errors, LEVEL, axis=0, method="higher").tolist(), spent, seconds)


def percent(share: float) -> str:
    """A share as a text; a dash for an answer that was not given."""
    return "-" if not np.isfinite(share) else f"{number(100 * share)} %"


def table(case: Case) -> str:
    """The three ways through a list as text."""
    (secret,) = case.framework.protect.values()
    data = case.drawn(0)
    ways = {"one by one": one_by_one(case, data), "planned": planned(case, data), "table": from_table(case)}
    lines = [
        f"{case.name}: {case.framework.schema.records:,} records, hidden is {secret.property} up to "
        f"{secret.pairs.at_most:g} apart, epsilon {EPSILON:g}; errors in % of the range, in 95 % of releases"
    ]
    texts = [str(query) for query in case.asked]
    width = max(map(len, texts))
    lines.append(" ".join([" " * width, *(f"{name:>11}" for name in ways)]))
    for place, text in enumerate(texts):
        lines.append(" ".join([f"{text:{width}}", *(f"{percent(way.shares[place]):>11}" for way in ways.values())]))
    for told, row in (
        (f"useful, of {len(texts)}", [way.within(SHARE) for way in ways.values()]),
        (f"useful or coarse (at most {percent(COARSE)})", [way.within(COARSE) for way in ways.values()]),
        ("epsilon spent", [f"{way.spent:.3f}" for way in ways.values()]),
        ("seconds of the processor", [f"{way.seconds:.1f}" for way in ways.values()]),
    ):
        lines.append(" ".join([f"{told:{width}}", *(f"{each:>11}" for each in row)]))
    return "\n".join(lines)


def main() -> None:
    for name in sys.argv[1:] or CASES:
        if name == "adult" and not adult_study.available():
            print(f"adult: skipped; {adult_study.NO_DATA}")
            continue
        print(table(CASES[name]()), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
