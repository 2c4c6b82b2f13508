"""Random sessions with hostile numbers, and their recount by the checker: ``python -m tests.sessions 2000``.

Frameworks, queries and mechanisms are those of `tests.replay`; what other tools released is added, and budgets with
delta. With ``--share .99`` every total that holds is claimed once more at that share: how often that is told.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from fractions import Fraction

import numpy as np

import bnpriv as bp
from tests.replay import STATUSES, case, mechanism, query

DELTAS = (0.0, 0.0, 0.0, 1e-6, 1e-3, 0.05)


def session(*seed: int) -> tuple[bp.Accountant, float] | None:
    """Return an accountant of one to four releases and a delta; None where nothing was counted."""
    rng = np.random.default_rng(seed)
    asked = case(rng)
    framework, delta = asked.framework, float(rng.choice(DELTAS))
    accountant, notion = bp.Accountant(framework), NOTIONS[type(framework).__name__]
    names = list(framework.schema.columns)
    for _ in range(int(rng.integers(1, 5))):
        try:
            if notion == "dataset" and rng.random() < 0.2:
                read = [str(name) for name in rng.permutation(names)[: int(rng.integers(1, 3))]]
                failing = float(rng.choice([0.0, 0.0, delta / 100]))
                accountant = accountant.record(
                    bp.from_differential_privacy(float(rng.choice([0.1, 0.5])), read, delta=failing)
                )
                continue
            question = query(rng, dict(framework.schema.columns), names)
            # distributions of answers from thousands of records take the library minutes
            pool = notion if framework.schema.records < 10 else "value"
            chosen = mechanism(rng, pool) if rng.random() < 0.8 else bp.ColumnMechanism(noise="gaussian")
            failing = float(rng.choice([0.0, delta / 3]))
            calibration = chosen.calibrate(
                framework, question, epsilon=float(rng.choice([0.1, 0.7, 2.0])), delta=failing
            )
            accountant = accountant.record(calibration)
        except bp.BnprivError:
            continue
    return (accountant, delta) if accountant.entries and accountant.epsilon_at(delta) < np.inf else None


NOTIONS = {
    "DistributionalAttributePrivacy": "parameters",
    "DatasetAttributePrivacy": "dataset",
    "ValuePrivacy": "value",
    "DistributionPrivacy": "distribution",
}


def lowered(text: str, share: float) -> str:
    """Return a transcript that claims a share of its total."""
    record = json.loads(text)
    last = record["charges"][-1]
    last["total"] = str(Fraction(last["total"]) * Fraction(share))
    return json.dumps(record)


def recount(seed: int, number: int, share: float | None = None) -> tuple[collections.Counter[str], list[str]]:
    """Recount sessions; return how many of each verdict, and in words what does not hold."""
    found, told, k = collections.Counter[str](), list[str](), 0
    while sum(found[status] for status in STATUSES) < number:
        k += 1
        made = session(seed, k)
        if made is None:
            continue
        accountant, delta = made
        families = {entry.family for entry in accountant.entries}
        text = accountant.transcript(delta)
        verdict = bp.verify(text)
        found[verdict.status] += 1
        if verdict.status != "holds":
            told.append(f"session({seed}, {k}): {sorted(families)}, delta {delta:g}: {verdict.status}: {verdict.text}")
        elif share is not None and accountant.epsilon_at(delta) > 0:
            status = bp.verify(lowered(text, share)).status
            found[f"{' and '.join(sorted(families))}{' with delta' if delta else ''}: {status}"] += 1
    return found, told


def main() -> int:
    """Recount sessions, print what came out, and return whether one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=20261127)
    parser.add_argument("--share", type=float, help="of the total, which is claimed once more")
    options = parser.parse_args()
    started = time.perf_counter()
    found, told = recount(options.seed, options.number, options.share)
    print(*told, sep="\n", file=sys.stderr)
    print(f"{options.number:,} sessions recounted in {time.perf_counter() - started:.0f} s")
    print(*(f"{what}: {count:,}" for what, count in sorted(found.items())), sep="\n")
    return int(sum(found[status] for status in ("fails", "cannot be shown", "crashes")) > 0)


if __name__ == "__main__":
    sys.exit(main())
