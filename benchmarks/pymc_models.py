"""Reading PyMC models and reporting on them, cold (a new process) and warm (a second time in it).

    python benchmarks/pymc_models.py

Prints seconds: importing PyMC, `from_pymc`, the report in all formats. The goal for the eight hyperparameters is
20 s cold, PyMC's import included, and 3 s warm.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import bnpriv as bp


def eight() -> tuple[Any, dict[str, Any]]:
    """Return a tree of eight continuous hyperparameters, of several kinds."""
    import pymc as pm

    with pm.Model() as model:
        a = pm.Beta("a", 2, 3)
        b = pm.Beta("b", 1 + 4 * a, 3)
        c = pm.Gamma("c", 2 + a, 1)
        d = pm.Normal("d", b, 0.5)
        e = pm.Normal("e", d, 1 + c)
        f = pm.LogNormal("f", d, 0.5)
        g = pm.StudentT("g", nu=5, mu=e, sigma=1)
        pm.Beta("h", 2 + f, 2)
        del g
    return model, {"a": bp.intervals(((0.1, 0.3), (0.5, 0.7)))}


def schools() -> tuple[Any, dict[str, Any]]:
    """Return the eight schools, centred."""
    import pymc as pm

    with pm.Model(coords={"school": range(8)}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        errors = pm.Data("errors", np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), dims="school")
        pm.Normal("obs", theta, errors, observed=np.zeros(8), dims="school")
    return model, {"mu": bp.intervals((-2.0, 2.0))}


def radon() -> tuple[Any, dict[str, Any]]:
    """Return a varying-intercept regression with 85 counties and 919 homes."""
    import pymc as pm

    county = np.sort(np.random.default_rng(0).integers(85, size=919))
    with pm.Model(coords={"county": range(85), "home": range(919)}) as model:
        floor = pm.Data("floor", county % 2 * 1.0, dims="home")
        mu, sd = pm.Normal("mu", 0, 10), pm.Exponential("sd", 1)
        alpha = pm.Normal("alpha", mu, sd, dims="county")
        beta, noise = pm.Normal("beta", 0, 10), pm.Exponential("noise", 1)
        place = pm.Data("place", county, dims="home")
        pm.Normal("y", alpha[place] + beta * floor, noise, observed=np.zeros(919), dims="home")
    return model, {"mu": bp.intervals((0.5, 1.5))}


MODELS: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {"eight": eight, "schools": schools, "radon": radon}


def once(name: str) -> list[float]:
    """Return the seconds that reading and reporting take."""
    model, protect = MODELS[name]()
    started = time.perf_counter()
    network = bp.from_pymc(model)
    read = time.perf_counter()
    report = bp.influence_report(network, protect=protect)
    str(report), report.to_html(), report.to_markdown(), report.to_json()
    return [read - started, time.perf_counter() - read]


def main() -> None:
    """Print the table; with a name measure that model in this process."""
    if len(sys.argv) > 1:
        started = time.perf_counter()
        import pymc  # noqa: F401

        print(time.perf_counter() - started, *once(sys.argv[1]), *once(sys.argv[1]))
        return
    print(f"{'model':10} {'import':>8} {'read':>8} {'report':>8} {'read':>8} {'report':>8}")
    print(f"{'':10} {'cold':>8} {'':>8} {'':>8} {'warm':>8}")
    for name in MODELS:
        out = subprocess.run([sys.executable, __file__, name], check=True, capture_output=True, text=True).stdout
        print(f"{name:10} " + " ".join(f"{float(value):8.2f}" for value in out.split()))


if __name__ == "__main__":
    main()
