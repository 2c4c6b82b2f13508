"""The noise for gallery models against laws of their answers that were drawn apart: enough, at the kind it claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from tests.gallery_truths import TRUTHS, excess
from tests.later import optional

pm = optional("pymc")
xarray = optional("xarray")
gallery = optional("benchmarks.gallery_models")

pytestmark = pytest.mark.filterwarnings("ignore::bnpriv.errors.LongDrawingWarning")

FEW, MANY = 100_000, 1_000_000
MOST_NUMBERS = 100_000_000
"""In the tables of one truth; of models with many records fewer than a million are drawn."""

QUICK = ("eight_schools", "batting")
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TRUTHS]
EPSILON = 1.0


TIGHT = bp.TightMechanism(large_delta=True)


def framework(name: str, network: Any) -> bp.DistributionalAttributePrivacy:
    case = gallery.GALLERY[name]
    schema = bp.Schema(records=case.records, columns={case.column: case.values})
    protect = {case.protect: bp.intervals(case.secrets)}
    return bp.DistributionalAttributePrivacy(network, schema, protect, source="the gallery")


def worst(scale: float, first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return the larger excess of both directions, and the chances of the set that shows it."""
    if scale == 0:
        return max(bare_excess(a, b) for a, b in ((first, second), (second, first)))
    return max(excess(a, b, "Laplace", scale, EPSILON) for a, b in ((first, second), (second, first)))


def bare_excess(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return the same for answers that are released without noise, as no more than a few hundred values are."""
    values, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    assert len(values) < 2_000
    p = np.bincount(places[: len(first)], minlength=len(values)) / len(first)
    q = np.bincount(places[len(first) :], minlength=len(values)) / len(second)
    more = p > np.exp(EPSILON) * q
    inside = float(p[more].sum()), float(q[more].sum())
    return inside[0] - float(np.exp(EPSILON)) * inside[1], *inside


def deviation(p: float, q: float, draws: int) -> float:
    """Return the standard deviation of the excess that draws show on one set."""
    p, q = max(p, 0.0), max(q, 0.0)
    return float(np.sqrt((p * (1 - p) + np.exp(2 * EPSILON) * q * (1 - q)) / draws))


def answers(name: str) -> list[np.ndarray]:
    truth, random = TRUTHS[name], np.random.default_rng(99)
    count = min(FEW if name in QUICK else MANY, MOST_NUMBERS // truth.records)
    return [truth.prior(random, count, side) for side in gallery.GALLERY[name].secrets]


@pytest.mark.parametrize("name", CASES)
def test_an_estimate_from_the_prior_misses_by_chance_alone(name: str) -> None:
    draws = 10_000
    network = bp.from_pymc(gallery.GALLERY[name].build()).with_sampling(draws=draws)
    private = framework(name, network)
    calibration = TIGHT.calibrate(private, bp.mean(gallery.GALLERY[name].column), epsilon=EPSILON, delta=0.01)
    assert calibration.guarantee.kind == "estimate"
    truth = answers(name)
    found, p, q = worst(calibration.scale, *truth)
    assert found <= 0.01 + 4 * deviation(p, q, draws)
    # that both are about the same model
    (constraint,) = laws(private, bp.mean(gallery.GALLERY[name].column)).constraints()
    (pair,) = constraint.pairs
    for law, drawn in zip((pair.first, pair.second), truth, strict=True):
        assert law.mean[0] == pytest.approx(drawn.mean(), abs=6 * drawn.std() / np.sqrt(draws))


@pytest.mark.parametrize("name", CASES)
def test_what_is_certified_holds(name: str) -> None:
    network = bp.from_pymc(gallery.GALLERY[name].build()).with_sampling(draws=20_000, seed=5, confidence=0.95)
    calibration = TIGHT.calibrate(
        framework(name, network), bp.mean(gallery.GALLERY[name].column), epsilon=EPSILON, delta=0.05
    )
    assert calibration.guarantee.kind == "certified"
    assert worst(calibration.scale, *answers(name))[0] <= 0.05


BELOW = {"eight_schools": {"tau": "tau", "z": "z"}, "batting": {"log": "log_kappa"}, "censored": {"sd": "sd"}}
"""By model, what the numbers that its truth is drawn from are called in the model."""


def made_up(name: str, random: np.random.Generator, count: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return draws of a made-up posterior in which the other parameters depend on the protected one."""
    (low, middle), (_, high) = gallery.GALLERY[name].secrets
    root = random.uniform(low, high, count)
    others = TRUTHS[name].others(random, count)
    lift = np.exp((root - middle) / (high - low))
    spread = {
        "tau": np.minimum(others["tau"], 20) * lift if "tau" in others else None,
        "z": others.get("z"),
        "log": np.log(20 + 40 * random.random(count) * lift),
        "sd": 3 * lift + 0.2 * random.random(count),
    }
    return root, {each: spread[each] for each in BELOW[name]}


@pytest.mark.parametrize("name", [n if n == QUICK[0] else pytest.param(n, marks=pytest.mark.slow) for n in BELOW])
def test_noise_below_a_posterior_is_enough(name: str) -> None:
    """As a belief, and under each of four draws, against tables that NumPy draws."""
    case, truth, called = gallery.GALLERY[name], TRUTHS[name], BELOW[name]
    random = np.random.default_rng(17)
    root, others = made_up(name, random, 20_000)
    values = {case.protect: root, **{called[each]: found for each, found in others.items()}}
    variables = {
        each: (("chain", "draw", *(f"{each}_{k}" for k in range(found.ndim - 1))), found[None])
        for each, found in values.items()
    }
    posterior, query = xarray.Dataset(variables), bp.mean(case.column)
    belief = bp.from_pymc(case.build(), posterior=posterior, reading="belief")
    found = TIGHT.calibrate(framework(name, belief), query, epsilon=EPSILON, delta=0.01)
    fresh, rest = made_up(name, np.random.default_rng(18), FEW)
    means = truth.means(random, fresh, rest)
    sides = [means[(fresh >= low) & (fresh <= high)] for low, high in case.secrets]
    excess_found, p, q = worst(found.scale, *sides)
    assert excess_found <= 0.01 + 4 * deviation(p, q, 10_000)
    models = bp.from_pymc(case.build(), posterior=posterior, thin=5000).with_sampling(draws=4000)
    evidence = laws(framework(name, models), query).constraints()
    assert len(evidence) == 4
    scale = TIGHT.calibrate(framework(name, models), query, epsilon=EPSILON, delta=0.01).scale
    for k, constraint in enumerate(evidence):
        own = {each: np.repeat(drawn[5000 * k : 5000 * k + 1], 20_000, axis=0) for each, drawn in others.items()}
        tables = [truth.means(random, truth.inside(random, 20_000, side), own) for side in case.secrets]
        (pair,) = constraint.pairs
        for law, drawn in zip((pair.first, pair.second), tables, strict=True):
            assert law.mean[0] == pytest.approx(drawn.mean(), abs=6 * drawn.std() / np.sqrt(4000))
        excess_found, p, q = worst(scale, *tables)
        assert excess_found <= 0.01 + 4 * deviation(p, q, 4000)
