"""Calibrate a count and a histogram over a million records: ``python benchmarks/tight.py``.

The secret is how many records have a disease, any two values at most 1 % of the table apart; the target is less than
five seconds for both mechanisms together.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import bnpriv as bp

N = 1_000_000
BINS = [f"bin{k}" for k in range(10)]
TARGET = 5.0  # seconds


def framework() -> bp.DatasetAttributePrivacy:
    """Return a disease, a smoker and a column of ten bins that both depend on it."""
    random = np.random.default_rng(20261121)
    ill, well = random.dirichlet(np.full(10, 5.0)), random.dirichlet(np.full(10, 5.0))
    network = bp.DiscreteNetwork.from_tables(
        {
            "disease": [0.9, 0.1],
            "smoker": [[0.8, 0.55], [0.2, 0.45]],
            "group": np.stack([well, ill], axis=1).tolist(),
        },
        states={"disease": ["no", "yes"], "smoker": ["no", "yes"], "group": BINS},
        parents={"smoker": ["disease"], "group": ["disease"]},
        level="records",
    )
    columns = {name: bp.Categorical([str(state) for state in network.states[name]]) for name in network.attributes}
    secret = bp.Secret(bp.count(bp.col("disease") == "yes"), pairs=bp.apart(at_most=N // 100))
    return bp.DatasetAttributePrivacy(
        network, bp.Schema(records=N, columns=columns), {"disease": secret}, source="a benchmark"
    )


def main() -> int:
    """Print a table; return 1 if the target is missed."""
    declared = framework()
    smokers, groups = bp.count(bp.col("smoker") == "yes"), bp.histogram("group", BINS)
    queries = {"count": smokers, "histogram": groups, "count and histogram": bp.stack(smokers, groups)}
    total = 0.0
    print(f"{N:,} records, secrets up to {N // 100:,} apart, epsilon 1")
    print(f"{'query':<22}{'numbers':>8}  {'mechanism':<22}{'scale':>12}{'seconds':>10}")
    for name, query in queries.items():
        for mechanism in (bp.TightMechanism(), bp.WassersteinMechanism()):
            started = time.perf_counter()
            try:
                scale = f"{mechanism.calibrate(declared, query, epsilon=1.0).scale:,.1f}"
            except bp.BnprivError as refused:
                scale = type(refused).__name__
            took = time.perf_counter() - started
            total += took
            row = f"{name:<22}{query.dimension(declared.schema):>8}  {type(mechanism).__name__:<22}"
            print(f"{row}{scale:>12}{took:>10.3f}")
    print(f"{'together':<66}{total:>8.3f}   target {TARGET:g}")
    return int(total > TARGET)


if __name__ == "__main__":
    sys.exit(main())
