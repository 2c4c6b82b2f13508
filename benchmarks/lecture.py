"""Laplace and Gaussian noise on k counts, and "name and shame": ``python benchmarks/lecture.py``.

Prints the page and writes it to docs/laplace-and-gaussian.md.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import bnpriv as bp
from bnpriv.core.gaussian_curve import CONSTANTS, gaussian_ratio
from bnpriv.core.noise import Gaussian, Laplace

PAGE = Path(__file__).resolve().parents[1] / "docs" / "laplace-and-gaussian.md"

EPSILON, DELTA = 1.0, 1e-5
COUNTS = (1, 2, 4, 8, 9, 12, 13, 15, 16, 32, 64, 128)
ASKED = ((0.1, 1e-5), (0.5, 1e-5), (1.0, 1e-3), (1.0, 1e-5), (1.0, 1e-9))
MOST_COUNTS = 1000
LEVEL = 0.95

RECORDS, RUNS, SEED = 1000, 2000, 20261122


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown, all columns but the first to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def error(noise: Laplace | Gaussian) -> float:
    """Return the mean absolute error of one count."""
    return noise.error(1).upper / noise.dimension


def laplace(counts: int, epsilon: float) -> Laplace:
    """Return the noise that hides a change of all counts by one: the 1-norm is k."""
    return Laplace(counts / epsilon, counts)


def gaussian(counts: int, epsilon: float, delta: float, constant: str) -> Gaussian:
    """Return the same with Gaussian noise: the 2-norm is the root of k."""
    return Gaussian(math.sqrt(counts) / gaussian_ratio(epsilon, delta, constant), counts)  # type: ignore[arg-type]


def crossing(epsilon: float, delta: float, constant: str) -> float:
    """Return the number of counts, as a real number, from which on Gaussian noise has the smaller mean error."""
    return 2 / math.pi * (epsilon / gaussian_ratio(epsilon, delta, constant)) ** 2  # type: ignore[arg-type]


def largest_crossing(epsilon: float, delta: float, constant: str) -> int:
    """Return the least number of counts for which Gaussian noise has the smaller largest error, 19 times of 20."""
    return next(
        k
        for k in range(1, MOST_COUNTS)
        if gaussian(k, epsilon, delta, constant).quantile(LEVEL) < laplace(k, epsilon).quantile(LEVEL)
    )


def calibrated(counts: int) -> list[float]:
    """Return the mean absolute error of one count as the package calibrates it, for Laplace and Gaussian noise."""
    names = [f"x{k}" for k in range(counts)]
    network = bp.DiscreteNetwork.from_tables(
        {name: [0.5, 0.5] for name in names}, states={name: ["low", "high"] for name in names}, level="parameters"
    )
    schema = bp.Schema(records=RECORDS, columns={name: bp.Integer(0, 1) for name in names})
    framework = bp.DistributionalAttributePrivacy(network, schema, "x0", source="a lecture")
    query = bp.stack(*(bp.count(bp.col(name) == 1) for name in names))
    baselines = [bp.mechanisms.RecordPrivacyMechanism(noise=noise) for noise in ("laplace", "gaussian")]
    made = [each.calibrate(framework, query, epsilon=EPSILON, delta=DELTA) for each in baselines]
    return [each.error(1).upper / counts for each in made]


def comparison() -> str:
    """Return the table of errors."""
    rows: list[list[str]] = []
    for k in COUNTS:
        errors = [error(laplace(k, EPSILON)), *(error(gaussian(k, EPSILON, DELTA, each)) for each in CONSTANTS)]
        if k <= 4:
            assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(calibrated(k), errors, strict=False))
        best = min(errors[:2])
        rows.append([str(k), *(f"**{e:.2f}**" if e == best else f"{e:.2f}" for e in errors)])
    return table(["counts k", "Laplace", *(f"Gaussian, {each}" for each in CONSTANTS)], rows)


def crossings() -> str:
    """Return the table of crossing points."""
    rows = [
        [
            f"{epsilon:g}, {delta:g}",
            *(f"{crossing(epsilon, delta, each):.2f}" for each in CONSTANTS),
            str(largest_crossing(epsilon, delta, "analytic")),
        ]
        for epsilon, delta in ASKED
    ]
    return table(["epsilon, delta", *CONSTANTS, "largest error, analytic"], rows)


def published(records: Sequence[int], size: int) -> dict[frozenset[tuple[int, int]], Fraction]:
    """Return the law of what "name and shame" publishes: some records drawn at random, each with its number."""
    groups = list(itertools.combinations(range(len(records)), size))
    return {frozenset((k, records[k]) for k in group): Fraction(1, len(groups)) for group in groups}


def excess(records: int, size: int) -> Fraction:
    """Return the least delta, at epsilon 0, for two tables that differ in one record."""
    first, second = (published([value, *[0] * (records - 1)], size) for value in (0, 1))
    return sum((max(Fraction(0), mass - second.get(seen, Fraction(0))) for seen, mass in first.items()), Fraction(0))


def shamed(records: int, chance: float) -> tuple[float, float]:
    """Publish every record with a probability, many times; return the mean number and how often none is published."""
    drawn = random.Random(SEED)
    found = [sum(drawn.random() < chance for _ in range(records)) for _ in range(RUNS)]
    return sum(found) / RUNS, sum(count == 0 for count in found) / RUNS


def enumerated() -> str:
    """Return the table of exact deltas of publishing k records of n."""
    rows = []
    for records, size in ((4, 1), (8, 1), (8, 2), (12, 3)):
        found = excess(records, size)
        assert found == Fraction(size, records)
        rows.append([str(records), str(size), f"{found} = k/n"])
    return table(["records n", "published k", "least delta at epsilon 0"], rows)


def simulated() -> str:
    """Return the table of how many records are published one by one with probability delta."""
    rows = []
    for times in (0.01, 0.1, 1, 5):
        mean, none = shamed(RECORDS, times / RECORDS)
        rows.append([f"{times:g}/n", f"{mean:.2f}", f"{100 * (1 - none):.1f} %"])
    return table(["delta", "records published, mean", "runs that publish somebody"], rows)


def refusal(delta: float) -> str:
    """Return what the package says to a delta."""
    framework = bp.example("student")
    found = bp.ColumnMechanism(noise="gaussian").supports(framework, "count(height > 180)", EPSILON, delta)
    return "accepted" if found is None else str(found)


def page() -> str:
    """Return the page in Markdown."""
    records = bp.example("student").schema.records
    return f"""# Laplace and Gaussian noise on k counts

This page is written by `benchmarks/lecture.py`.

## Which noise for how many counts

One record may change each of k counts by one, so the answer moves by k in the 1-norm, by the root of k in the 2-norm.
Laplace noise has the scale k / epsilon on every count, Gaussian noise the deviation root(k) / ratio, with one of three
ratios: *analytic*, the exact curve of the normal distribution; *textbook*, epsilon / root(2 log(1.25 / delta));
*lecture*, epsilon / root(2 log(2 / delta)). The last two hold for epsilon of at most 1.

Mean absolute error of each count at epsilon {EPSILON:g} and, for Gaussian noise, delta {DELTA:g}; Laplace noise needs
none. The smaller of the first two is bold.

{comparison()}

Laplace noise grows with k, Gaussian noise with its root. They cross at k = (2 / pi) (epsilon / ratio)^2; below it
Laplace noise is better, and is pure. The last column goes by the error that no count passes in 95 % of releases and
gives the least whole k for which Gaussian noise is better.

{crossings()}

The same holds for counts of columns that are hidden as a whole: both norms are then n times as large. `plan` tries both
kinds of noise.

## Name and shame: why delta stays below 1/n

"Publish k records of n, drawn at random" adds no noise and hides nobody it draws. Yet for two tables that differ in one
record it is (0, k/n)-private, since that record is drawn with probability k/n. By enumeration:

{enumerated()}

So every delta of 1/n or more allows to publish somebody in full, every time. Published one by one, each with
probability delta, {RECORDS:,} records look like this ({RUNS:,} runs):

{simulated()}

For a property of the whole table it is no better: with probability delta publish everything, else nothing; that is (0,
delta)-private for every property and every model.

Therefore a delta of 1/n or more is refused, unless `large_delta=True` says that it is meant. With {records:,} records:

* delta {0.5 / records:g}: {refusal(0.5 / records)}
* delta {1 / records:g}: {refusal(1 / records)}
"""


def main() -> int:
    """Print the page and write it."""
    text = page()
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
