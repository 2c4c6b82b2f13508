"""All two-way cross tables of five columns as one workload, against one release of each with an equal part of epsilon.

Run: python -m benchmarks.workloads [draws]

Summed mean errors, each as a share of the range of its number: what is stated, and what draws of the noise give around
the exact tables of one made-up table, where all counts are brought into their ranges in both.
"""

from __future__ import annotations

import itertools
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np

import bnpriv as bp
from benchmarks import adult_study
from benchmarks.private_table_errors import Case, adult, example
from bnpriv.bound import FloatArray
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.errors import RefusedError
from bnpriv.ledger.split import shares
from bnpriv.ledger.values import Budget
from bnpriv.ledger.workload import Workload, within, workload
from bnpriv.tables.evaluate import evaluate

EPSILON, DRAWS = 1.0, 50
COLUMNS = {
    "hospital": ("age_group", "smoker", "disease", "ward", "inhaler"),
    "census": ("age", "education", "occupation", "sex", "income"),
    "adult": ("workclass", "marital", "relationship", "sex", "income"),
}
"""The columns of each table of which all pairs are crossed."""


def alone(framework: Any, query: bp.types.Query, epsilon: float) -> Calibration:
    """The best release of one table; `ColumnMechanism` where no other serves."""
    try:
        return bp.plan(framework, query, epsilon).best
    except RefusedError:
        return bp.ColumnMechanism().calibrate(framework, query, epsilon=epsilon)


def measured(case: Case, chosen: Workload, singles: list[Calibration], draws: int) -> tuple[float, float]:
    """Mean errors of the workload and of the single tables over draws of their noise."""
    schema, rng = case.framework.schema, np.random.default_rng(29)
    data = case.drawn(0)

    def exact(query: bp.types.Query) -> FloatArray:
        return np.array([float(value) for value in evaluate(query, schema, data).values])

    asked = np.concatenate([exact(each.query) for each in chosen.calibrations])
    scales = np.concatenate([each.noise.scales for each in chosen.calibrations])
    true = np.concatenate([exact(query) for query in chosen.queries])
    worth = np.concatenate([shares(query, schema) for query in chosen.queries])
    apart = np.concatenate([each.noise.scales for each in singles])
    lower, upper = np.zeros(len(true)), np.full(len(true), float(schema.records))
    errors = np.zeros(2)
    for _ in range(draws):
        found = chosen.found @ (asked + scales * rng.laplace(size=len(asked))) + chosen.shift
        errors[0] += np.abs(within(found, chosen.spread, lower, upper) - true) @ worth / draws
        single = np.clip(true + apart * rng.laplace(size=len(true)), lower, upper)
        errors[1] += np.abs(single - true) @ worth / draws
    return float(errors[0]), float(errors[1])


def row(case: Case, draws: int) -> str:
    """The figures of one table as text."""
    asked = [bp.crosstab(*pair) for pair in itertools.combinations(COLUMNS[case.name], 2)]
    framework = case.framework
    singles = [alone(framework, query, EPSILON / len(asked)) for query in asked]
    independent = sum(float(np.dot(each.noise.mean_sizes, shares(each.query, framework.schema))) for each in singles)
    start = time.process_time()
    chosen = workload(Accountant(framework), asked, Fraction(1), Budget(EPSILON))
    seconds = time.process_time() - start
    mine, others = measured(case, chosen, singles, draws)
    return (
        f"{case.name:9} {len(chosen.errors):7} {len(chosen.calibrations):9} {independent:12.3f} {chosen.alone:9.3f} "
        f"{chosen.error:9.3f} {chosen.error / independent:6.2f} {others:12.3f} {mine:9.3f} {mine / others:6.2f} "
        f"{seconds:8.1f}"
    )


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print(f"all two-way tables of five columns, epsilon {EPSILON:g}; summed errors as shares of the ranges")
    print(
        f"{'':9} {'numbers':>7} {'releases':>9} {'independent':>12} {'plan':>9} {'workload':>9} {'ratio':>6} "
        f"{'independent,':>12} {'workload,':>9} {'ratio':>6} {'seconds':>8}"
    )
    print(f"{'':9} {'':7} {'':9} {'stated':>12} {'stated':>9} {'stated':>9} {'':6} {'measured':>12} {'measured':>9}")
    cases = [example("hospital", ""), example("census", "")]
    for case in [*cases, adult()] if adult_study.available() else cases:
        print(row(case, draws), flush=True)
    if not adult_study.available():
        print(f"adult: skipped; {adult_study.NO_DATA}")


if __name__ == "__main__":
    main()
