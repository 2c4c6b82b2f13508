"""All rows of the reliability contract, each fault provoked: ``python -m tests.contract_rows [number ...]``."""

from __future__ import annotations

import sys

from tests.contract_rows import run

if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
