"""Plan every query of the shipped models: ``python benchmarks/shipped_queries.py``; the target is 1 s for each.

Seconds are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import sys
import time
import tomllib
from pathlib import Path

import bnpriv as bp

MODELS = Path(__file__).resolve().parents[1] / "models"
TARGET = 1.0  # seconds


def main() -> int:
    """Print a table; return 1 if a plan misses the target."""
    slowest = 0.0
    print(f"{'model':<14}{'query':<24}{'seconds':>8}")
    for file in sorted(MODELS.glob("*/*.toml")):
        queries = tomllib.loads(file.read_text(encoding="utf-8")).get("queries", {})
        framework = bp.read_framework(file)
        for name, text in queries.items():
            started = time.process_time()
            bp.plan(framework, bp.parse_query(text), epsilon=1.0)
            took = time.process_time() - started
            slowest = max(slowest, took)
            print(f"{file.parent.name:<14}{name:<24}{took:>8.2f}")
    print(f"slowest {slowest:.2f} s, target {TARGET:g} s")
    return int(slowest > TARGET)


if __name__ == "__main__":
    sys.exit(main())
