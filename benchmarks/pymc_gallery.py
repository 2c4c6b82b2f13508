"""Models in the style of PyMC's gallery, from the model to the noise: ``python -m benchmarks.pymc_gallery [names]``.

Prints rows as they are done; without names writes docs/pymc-gallery.md. Posteriors and rows are made once, and
kept in a folder of the system's temporary one: delete it to begin anew. With ``--kept`` the page is written from the
rows that are there.
"""

from __future__ import annotations

import json
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import pymc as pm
import xarray

import bnpriv as bp
from benchmarks.gallery_models import GALLERY, GalleryModel
from benchmarks.lecture import table
from bnpriv.errors import BnprivError, LongDrawingWarning

PAGE = Path(__file__).resolve().parents[1] / "docs" / "pymc-gallery.md"
FOLDER = Path(tempfile.gettempdir()) / "bnpriv-gallery"
SEED, CHAINS, STEPS, TUNED = 7, 2, 1000, 800
EPSILON, DELTA = 1.0, 0.001
LONGER = {
    "admissions": 4,
    "cafes_with_lkj": 2,
    "coal": 4,
    "coal_with_missing_years": 4,
    "coal_switch": 4,
    "stochastic_volatility": 6,
}
"""How many times as many steps are needed where chains move slowly."""

MOST_SECONDS = 20.0
Reading = Literal["prior", "belief", "models"]
READINGS: tuple[Reading, ...] = ("prior", "belief", "models")


@final
@dataclass(frozen=True, kw_only=True)
class Planned:
    """What came of a plan: the best calibration, or why there is none, and how long it took."""

    best: bp.Calibration | None
    refused: str
    seconds: float
    told: float | None

    @property
    def in_time(self) -> bool:
        """Return whether it took at most 20 s, or was told to take longer."""
        return self.seconds <= MOST_SECONDS or self.told is not None


def posterior(name: str, model: Any) -> xarray.Dataset:
    """Return draws of Markov chains, from the last time if there was one."""
    path = FOLDER / f"{name}-{SEED}.npz"
    if not path.exists():
        with model:
            found = pm.sample(
                draws=STEPS * LONGER.get(name, 1),
                tune=TUNED,
                chains=CHAINS,
                cores=1,
                random_seed=SEED,
                target_accept=0.9,
                progressbar=False,
                compute_convergence_checks=False,
            ).posterior
        FOLDER.mkdir(exist_ok=True)
        np.savez(path, **{str(each): found[each].values for each in found.data_vars})
    with np.load(path) as kept:
        return dataset(model, {each: kept[each] for each in kept.files})


def dataset(model: Any, values: Mapping[str, np.ndarray]) -> xarray.Dataset:
    """Return draws with the dimensions and coordinates of the model."""
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for name, drawn in values.items():
        own = model.named_vars_to_dims.get(name) or tuple(f"{name}_{k}" for k in range(drawn.ndim - 2))
        variables[name] = (("chain", "draw", *own), drawn)
    used = {dim for dims, _ in variables.values() for dim in dims}
    coords = {dim: list(labels) for dim, labels in model.coords.items() if dim in used and labels is not None}
    return xarray.Dataset(variables, coords=coords)


def framework(case: GalleryModel, network: Any) -> bp.DistributionalAttributePrivacy:
    """Return the framework that hides the parameter of a model."""
    schema = bp.Schema(records=case.records, columns={case.column: case.values})
    protect = {case.protect: bp.intervals(case.secrets)}
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="the gallery")


def network_of(name: str, reading: Reading, model: Any) -> Any:
    """Return the network of a model by one reading."""
    if reading == "prior":
        return bp.from_pymc(model)
    return bp.from_pymc(model, posterior=posterior(name, model), reading=reading)


def planned(name: str, reading: Reading) -> Planned:
    """Plan the mean of the column; PyMC has been imported, the model has been built and its posterior sampled."""
    case = GALLERY[name]
    model = case.build()
    if reading != "prior":
        posterior(name, model)
    started = time.perf_counter()
    best, refused = None, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            private = framework(case, network_of(name, reading, model))
            plan = bp.plan(private, bp.mean(case.column), EPSILON, DELTA)
            best = plan.best
            if best.scale >= 0.99 * case.span:
                refused = next((str(why) for each, why in plan.refusals if isinstance(each, bp.TightMechanism)), "")
        except BnprivError as error:
            refused = str(error)
    seconds = time.perf_counter() - started
    told = [each.message.seconds for each in caught if isinstance(each.message, LongDrawingWarning)]
    return Planned(best=best, refused=refused, seconds=seconds, told=sum(told) if told else None)


def cells(case: GalleryModel, found: Planned) -> list[str]:
    """Return the scale and its share of the range, the verdict, the mechanism, the kind and the seconds."""
    told = "" if found.told is None else f", told: {found.told:.0f}"
    seconds = f"{found.seconds:.1f}{told}"
    if found.best is None:
        return ["refused", "", "", "", "", seconds]
    best = found.best
    share = best.scale / case.span
    kind = best.guarantee.kind
    noise = type(best.noise).__name__ if best.scale else "no noise"
    mechanism = f"{type(best.mechanism).__name__.removesuffix('Mechanism')}, {noise}"
    return [f"{best.scale:.3g}", f"{100 * share:.1f} %", best.useful.verdict, mechanism, kind, seconds]


def kept_path(name: str, reading: Reading) -> Path:
    """Return where a row is kept."""
    return FOLDER / f"{name}-{reading}-{SEED}.json"


def kept_row(name: str, reading: Reading) -> dict[str, Any]:
    """Return a row and why it was refused, from the last time if there was one."""
    path = kept_path(name, reading)
    if not path.exists():
        done = planned(name, reading)
        row = [f"`{name}`", reading, *cells(GALLERY[name], done)]
        FOLDER.mkdir(exist_ok=True)
        kept = {"row": row, "refused": done.refused, "in time": done.in_time}
        if done.best is not None:
            kept |= {
                "scale": done.best.scale,
                "noise": "Laplace" if done.best.scale == 0 else type(done.best.noise).__name__,
            }
        path.write_text(json.dumps(kept))
    return json.loads(path.read_text())


def rows(name: str, *, kept: bool = False) -> list[list[str]]:
    """Return the rows of one model, and print them as they are done."""
    found: list[list[str]] = []
    for reading in READINGS:
        if kept and not kept_path(name, reading).exists():
            found.append([f"`{name}`", reading, "not run", "", "", "", "", ""])
            continue
        known = kept_row(name, reading)
        print(" | ".join(known["row"]), known["refused"], "" if known["in time"] else LATE, flush=True)
        found.append(known["row"])
        if known["refused"]:
            REFUSALS.setdefault(known["refused"], []).append(f"`{name}`, {reading}")
    return found


LATE = f"took longer than {MOST_SECONDS:g} s, which was not told"

REFUSALS: dict[str, list[str]] = {}
"""Why plans were refused, with the rows that were."""

REFUSED_TEXT = """## What is refused

What is not read, and why nothing but noise that hides the whole column is found:"""

HEAD = ["model", "reading", "scale", "of range", "verdict", "mechanism", "kind", "seconds"]

TEXT = f"""# Models in the style of PyMC's gallery

This page is written by `python -m benchmarks.pymc_gallery`. The models are in
[gallery_models.py](../benchmarks/gallery_models.py): {len(GALLERY)} of the kinds that PyMC's gallery shows, with
made-up data. In each the mean of a column is to be released at epsilon {EPSILON:g} and delta {DELTA:g}, and nobody may
learn in which of two intervals a parameter lies. What the readings mean is in [claims/belief.md](claims/belief.md).

* *prior*: the model as it is written, without data.
* *belief*: the posterior is the distribution that the observer holds. {CHAINS} chains of {STEPS:,} steps after
  {TUNED:,}, by `pm.sample`, more where they move slowly.
* *models*: every one of some draws of the other parameters is a model, and the noise is enough under each.

*Scale* is that of the best mechanism of the plan, *of range* its share of the distance between the ends of the column's
bounds. *Kind*: an estimate was learned from draws and carries no confidence ([claims/draws.md](claims/draws.md)).
*Seconds* are those of the clock, on two cores, for `from_pymc`, the framework and `plan`, without PyMC's import and the
sampling of the posterior. Drawing that was to take over 10 s was told first, with its seconds after "told".

"""


def page(found: list[list[str]]) -> str:
    """Return the page."""
    refused = [f"* {', '.join(who)}: {why}" for why, who in REFUSALS.items()]
    told = "\n".join(textwrap.fill(line, 120, subsequent_indent="  ") for line in refused)
    return TEXT + table(HEAD, found) + (f"\n\n{REFUSED_TEXT}\n\n{told}" if refused else "") + "\n"


def main() -> None:
    """Print the rows; without names write the page."""
    kept = sys.argv[1:] == ["--kept"]
    asked = [] if kept else sys.argv[1:]
    found = [row for name in asked or GALLERY for row in rows(name, kept=kept)]
    text = page(found)
    if not asked:
        PAGE.write_text(text, encoding="ascii")
    print(text)


if __name__ == "__main__":
    main()
