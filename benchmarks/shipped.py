"""Plan and report of every query that ships with the models: ``python benchmarks/shipped.py``.

The target is less than two seconds for each, reading the framework left out.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bnpriv as bp
from bnpriv.core.frameworks.question import Framework

MODELS = Path(__file__).resolve().parents[1] / "models"
EPSILON = 1.0
TARGET = 2.0  # seconds


def shipped() -> Iterator[tuple[str, str, Framework, bp.types.Query]]:
    """Yield every model's name, its query's name, its framework and the query; PyMC models where PyMC is installed."""
    for path in sorted(MODELS.glob("*/framework.toml")):
        try:
            framework = bp.example(path.parent.name)
        except bp.errors.MissingExtraError as missing:
            print(f"{path.parent.name:<14}left out: {missing}")
            continue
        for name, query in bp.read_queries(path).items():
            yield path.parent.name, name, framework, query


def timed(work: Callable[[], object]) -> tuple[float, str]:
    """Return the seconds of processor time that some work takes, and the error that it ends with."""
    started = time.process_time()
    try:
        work()
    except bp.BnprivError as error:
        return time.process_time() - started, type(error).__name__
    return time.process_time() - started, ""


def main() -> int:
    """Print a table; return 1 if the target is missed."""
    print(f"{'model':<14}{'query':<20}{'plan, s':>10}{'report, s':>12}  ends with")
    missed = False
    for model, name, framework, query in shipped():
        plan, refused = timed(lambda framework=framework, query=query: bp.plan(framework, query, epsilon=EPSILON))
        report, unreported = timed(
            lambda framework=framework, query=query: bp.influence_report(framework, query, EPSILON).to_html()
        )
        missed |= max(plan, report) > TARGET
        print(f"{model:<14}{name:<20}{plan:>10.2f}{report:>12.2f}  {', '.join(filter(None, (refused, unreported)))}")
    print(f"target {TARGET:g} s each: {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
