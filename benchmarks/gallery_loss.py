"""What the noise of a gallery model really loses, by PyMC alone: ``python -m benchmarks.gallery_loss [names]``.

Nothing of the library's reading of models is used: the model's own random draws give pairs of the protected value and
the mean of the column, those with the value in each of the two intervals are kept, and noise is added to them by its
distribution function. The loss is the epsilon at which the difference is delta, on an event that one half of the draws
chooses and the other half counts, so that it is not too large by chance. For *belief* a posterior
of its own is sampled.
"""

from __future__ import annotations

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import fftconvolve
from scipy.stats import laplace, norm

from benchmarks.gallery_models import GALLERY, GalleryModel
from benchmarks.lecture import table
from benchmarks.pymc_gallery import CHAINS, DELTA, EPSILON, FOLDER, LONGER, STEPS, TUNED

Floats = NDArray[np.float64]
OWN_SEED = 20261127
WANTED, MOST_DRAWS, MOST_SECONDS = 20_000, 2_000_000, 150.0
BATCHES = 20
BINS = 4_000
SMOOTH = 0.05
"""Of the deviation of the answers: over so much what chooses an event is made smooth."""


@final
@dataclass(frozen=True, kw_only=True)
class Loss:
    """The loss at a scale with its standard error, the least scale, and the draws in the rarer secret."""

    loss: float
    error: float
    least: float
    draws: int


def element(model: Any, name: str) -> Any:
    """Return the variable that a name like level[female] means, or the column of a table of vectors."""
    found = re.fullmatch(r"(.*?)(?:\[(.*)\])?", name)
    assert found is not None
    variable, labels = model[found[1]], found[2]
    if labels is None:
        return variable
    dims = model.named_vars_to_dims.get(found[1]) or ()
    wanted = [label.strip() for label in labels.split(",")]
    places: list[int] = []
    for label, dim in zip(wanted, [*dims][-len(wanted) :] or [None] * len(wanted), strict=True):
        known = [] if dim is None else [str(each) for each in model.coords[dim] or ()]
        places.append(known.index(label) if label in known else int(label))
    return variable[(..., *places)]


def answer(model: Any, case: GalleryModel) -> Any:
    """Return the mean of the column, clamped to its bounds."""
    column = element(model, case.column)
    return pt.mean(pt.clip(pt.cast(column, "float64"), case.values.lower, case.values.upper))


def prior_pairs(case: GalleryModel) -> Iterator[tuple[Floats, Floats]]:
    """Yield parts of draws of the protected value and of the answer, from the model alone."""
    model = case.build()
    both = [pt.cast(element(model, case.protect), "float64"), answer(model, case)]
    draw: Callable[[], list[Any]] = pm.pytensorf.compile([], both, random_seed=OWN_SEED)
    while True:
        values = np.array([[float(each) for each in draw()] for _ in range(2_000)])
        yield values[:, 0], values[:, 1]


def belief_pairs(name: str, case: GalleryModel) -> Iterator[tuple[Floats, Floats]]:
    """Yield parts of draws of the protected value and of the answer, from a posterior of its own."""
    model = case.build()
    column = case.column.partition("[")[0]
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chains = pm.sample(
            draws=STEPS * LONGER.get(name, 1),
            tune=TUNED,
            chains=CHAINS,
            cores=1,
            random_seed=OWN_SEED,
            target_accept=0.9,
            progressbar=False,
            compute_convergence_checks=False,
        )
        secret = protected_draws(model, chains.posterior, case.protect)
        k = 0
        while True:
            new = pm.sample_posterior_predictive(
                chains, var_names=[column], progressbar=False, random_seed=OWN_SEED + k, predictions=True
            )
            rows = columns_of(model, new.predictions[column].values, case)
            yield secret, np.clip(rows, case.values.lower, case.values.upper).mean(axis=1)
            k += 1


def protected_draws(model: Any, posterior: Any, name: str) -> Floats:
    """Return the draws of the protected value, one chain after the other."""
    base, _, labels = name.partition("[")
    values = posterior[base].values
    values = values.reshape(-1, *values.shape[2:])
    if not labels:
        return values.astype(float)
    known = model.coords.get((model.named_vars_to_dims.get(base) or [None])[-1]) or ()
    label = labels.rstrip("]")
    at = [str(each) for each in known].index(label) if label in map(str, known) else int(label)
    return values[..., at].astype(float)


def columns_of(model: Any, values: Floats, case: GalleryModel) -> Floats:
    """Return the values of the column, shape (draws, records)."""
    base, _, labels = case.column.partition("[")
    values = values.reshape(-1, *values.shape[2:]).astype(float)
    if labels:
        known = [str(each) for each in model.coords[model.named_vars_to_dims[base][-1]]]
        values = values[..., known.index(labels.rstrip("]"))]
    return values.reshape(len(values), -1)


def sides(pairs: Iterator[tuple[Floats, Floats]], case: GalleryModel) -> list[Floats]:
    """Return the answers in either secret, as many as are wanted, or as the time allows."""
    found: list[list[Floats]] = [[], []]
    seen, began = 0, time.perf_counter()
    for secret, answers in pairs:
        seen += len(secret)
        for side, (low, high) in zip(found, case.secrets, strict=True):
            side.append(answers[(secret >= low) & (secret <= high)])
        enough = min(sum(map(len, side)) for side in found) >= WANTED
        if enough or seen >= MOST_DRAWS or time.perf_counter() - began > MOST_SECONDS:
            break
    return [np.concatenate(side) for side in found]


Noise = Literal["Laplace", "Gaussian"]


def chances(answers: list[Floats], scale: float, noise: Noise) -> list[Floats]:
    """Return for either secret the chance of every cell of a grid in each batch of draws, shape (batches, cells)."""
    both = np.concatenate(answers)
    low, width = both.min() - 12 * scale, (np.ptp(both) + 24 * scale) / BINS or 1.0
    cells = [((each - low) / width).astype(int) for each in answers]
    response = np.ones(1)
    if scale:
        below = {"Laplace": laplace.cdf, "Gaussian": norm.cdf}[noise]
        steps = np.arange(-BINS, BINS + 1) * width / scale
        response = np.diff(below(np.concatenate([steps - width / scale / 2, [np.inf]])))
    return [_batches(each, response) for each in cells]


def _batches(cells: NDArray[np.int64], response: Floats) -> Floats:
    order = np.random.default_rng(1).permutation(len(cells)) % BATCHES
    shares = [
        np.bincount(cells[order == batch], minlength=BINS + 1) / (order == batch).sum() for batch in range(BATCHES)
    ]
    return np.array([fftconvolve(each, response, mode="same") if len(response) > 1 else each for each in shares])


def excess(first: Floats, second: Floats, epsilon: float, smooth: float) -> tuple[float, float, float]:
    """Return the difference at epsilon on events of the other half, its standard error, and the second's chance.

    Events are chosen by what one half tells, made smooth over so many cells: any event gives a lower bound.
    """
    halves = [slice(0, BATCHES // 2), slice(BATCHES // 2, BATCHES)]
    parts, chance = [], []
    for chooses, counts in (halves, halves[::-1]):
        one, two = (gaussian_filter1d(each[chooses].mean(axis=0), smooth) for each in (first, second))
        event = one > np.exp(epsilon) * two
        one, two = first[counts][:, event].sum(axis=1), second[counts][:, event].sum(axis=1)
        parts += list(one - np.exp(epsilon) * two)
        chance += list(two)
    return float(np.mean(parts)), float(np.std(parts, ddof=1) / np.sqrt(len(parts))), float(np.mean(chance))


def worst(tables: list[Floats], epsilon: float) -> tuple[float, float, float]:
    """Return the larger difference of the two directions at epsilon."""
    shares = (tables[0].mean(axis=0) + tables[1].mean(axis=0)) / 2
    places = np.arange(len(shares))
    smooth = SMOOTH * np.sqrt(max(shares @ places**2 - (shares @ places) ** 2, 0.0))
    return max(excess(tables[0], tables[1], epsilon, smooth), excess(tables[1], tables[0], epsilon, smooth))


def loss_of(answers: list[Floats], scale: float, noise: Noise) -> tuple[float, float]:
    """Return the epsilon at which the difference is delta, and its standard error."""
    tables = chances(answers, scale, noise)
    low, high = 0.0, 30.0
    if worst(tables, 0.0)[0] <= DELTA:
        return 0.0, 0.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if worst(tables, middle)[0] > DELTA else (low, middle)
    _, error, chance = worst(tables, low)
    return high, error / max(np.exp(low) * chance, 1e-12)


def least_scale(answers: list[Floats], span: float, noise: Noise) -> float:
    """Return the least scale at which the difference at epsilon is at most delta; 0 where none is needed."""
    if worst(chances(answers, 0.0, noise), EPSILON)[0] <= DELTA:
        return 0.0
    low, high = 1e-6 * span, 2 * span
    while high / low > 1.005:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if worst(chances(answers, middle, noise), EPSILON)[0] > DELTA else (low, middle)
    return high


def simulated(name: str, reading: str, scale: float, noise: Noise) -> Loss:
    """Simulate one row; draws are kept in the gallery's folder."""
    case = GALLERY[name]
    path = FOLDER / f"{name}-{reading}-own.npz"
    if path.exists():
        with np.load(path) as kept:
            answers = [kept["one"], kept["two"]]
    else:
        pairs = prior_pairs(case) if reading == "prior" else belief_pairs(name, case)
        answers = sides(pairs, case)
        FOLDER.mkdir(exist_ok=True)
        np.savez(path, one=answers[0], two=answers[1])
    loss, error = loss_of(answers, scale, noise)
    return Loss(loss=loss, error=error, least=least_scale(answers, case.span, noise), draws=min(map(len, answers)))


def main() -> None:
    """Simulate the rows that the gallery has worked out, those that are named or all, and print them as a table."""
    asked, rows, ratios = sys.argv[1:], [], []
    for path in sorted(FOLDER.glob("*.json")):
        kept = json.loads(path.read_text())
        name, reading = kept["row"][0].strip("`"), kept["row"][1]
        drawn = (FOLDER / f"{name}-{reading}-own.npz").exists() or reading == "prior"
        if (asked and name not in asked) or reading == "models" or "scale" not in kept or not drawn:
            continue
        found = simulated(name, reading, kept["scale"], kept["noise"])
        ratios.append(kept["scale"] / found.least if found.least else (np.inf if kept["scale"] else 1.0))
        cells = [f"{kept['scale']:.3g}", f"{found.least:.3g}", f"{ratios[-1]:.2f}", f"{found.draws:,}"]
        rows.append([name, reading, f"{found.loss:.3f}", f"{found.error:.3f}", *cells])
    print(table(["model", "reading", "loss", "error", "scale", "least", "scale / least", "draws"], rows))
    above = max((float(row[2]) - EPSILON) / float(row[3]) for row in rows if float(row[3]))
    print(f"\n{len(rows)} rows; the loss is at most {above:.1f} standard errors above {EPSILON:g}")
    within = np.mean(np.array(ratios) <= 1.15)
    print(f"scale / least: median {np.median(ratios):.2f}, at most 1.15 in {within:.0%} of rows")


if __name__ == "__main__":
    main()
