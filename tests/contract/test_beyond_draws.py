"""What guarantees say of models of a posterior that were not drawn, against fresh draws (docs/claims/posterior.md)."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.base import Mechanism
from bnpriv.core.mechanisms.certificate import APPROXIMATE_SCALES, PURE_SCALES, WEIGHTINGS
from bnpriv.core.noise import is_none
from bnpriv.mechanisms.plan import STANDARD
from tests.later import Later
from tests.oracles import loss

pd = Later("pandas")

RECORDS, VALUES, DRAWS = 2, 6, 30
FRESH = 300
TOLD = re.compile(r"With confidence 95 % at most (\S+) % of the posterior")
UNKNOWN = "nothing is known about models that were not drawn"
STACK = bp.stack(bp.count(bp.col("y") >= 3), bp.total("y"))
SEEDS = 8
MOST_FAILURES = 3
"""Of eight statements with confidence 95 % more than three fail with probability 4e-4."""


@cache
def census(seed: int) -> tuple[Any, dict[str, list[Any]]]:
    """Return public records of which y hangs on x, from tables that are themselves random."""
    rng = np.random.default_rng(seed)
    x = rng.random(150) < 0.5
    base = rng.dirichlet(np.full(VALUES, 3.0))
    other = base * np.exp(rng.normal(size=VALUES) * 0.5)
    y = np.where(x, rng.choice(VALUES, 150, p=other / other.sum()), rng.choice(VALUES, 150, p=base))
    return pd.DataFrame({"x": np.where(x, "yes", "no"), "y": y}), {"x": ["no", "yes"], "y": list(range(VALUES))}


def drawn(seed: int, draws: int, other: int) -> bp.DiscreteNetwork:
    table, states = census(seed)
    return bp.DiscreteNetwork.posterior(
        {"x": [], "y": ["x"]}, table, public="older", draws=draws, seed=1000 * seed + other, states=states
    )


@cache
def framework(seed: int) -> bp.DatasetAttributePrivacy:
    schema = bp.Schema(records=RECORDS, columns={"x": bp.Categorical(["no", "yes"]), "y": bp.Integer(0, VALUES - 1)})
    secret = bp.Secret("count(x == 'yes')", pairs=bp.pairs((0.0, float(RECORDS))))
    return bp.DatasetAttributePrivacy(drawn(seed, DRAWS, 1), schema, {"x": secret}, source="older")


@cache
def fresh(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the laws of y given x in models that were not drawn before, each of shape (models, values)."""
    laws = drawn(seed, FRESH, 2)
    table, order = laws.probabilities("y"), [list(laws.states["y"]).index(k) for k in range(VALUES)]
    yes = list(laws.states["x"]).index("yes")
    return table[:, order, yes], table[:, order, 1 - yes]


def answers(law: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the law of the sum over all records of values, shape (VALUES, d), by enumeration."""
    found: dict[tuple[float, ...], float] = {(0.0,) * values.shape[1]: 1.0}
    for _ in range(RECORDS):
        further: dict[tuple[float, ...], float] = {}
        for total, mass in found.items():
            for value, chance in zip(values, law, strict=True):
                key = tuple(np.add(total, value).tolist())
                further[key] = further.get(key, 0.0) + mass * chance
        found = further
    return np.array(list(found)), np.array(list(found.values()))


def densities(noise: Any, atoms: np.ndarray) -> np.ndarray:
    """Return how probable outputs are that lie in narrow cells, shape (cells, atoms)."""
    ends = np.linspace(atoms[0] - 30 * noise.scale, atoms[-1] + 30 * noise.scale, 6001)
    z = ((ends[1:] + ends[:-1])[:, None] / 2 - atoms) / noise.scale
    normal = isinstance(noise, bp.noise.Gaussian)
    return (np.exp(-z * z / 2) / math.sqrt(2 * math.pi) if normal else np.exp(-np.abs(z)) / 2) * (
        (ends[1] - ends[0]) / noise.scale
    )


def is_broken(
    noise: Any, first: np.ndarray, second: np.ndarray, values: np.ndarray, epsilon: float, delta: float
) -> bool:
    """Return whether an answer tells more than (epsilon, delta) under one model, from its laws alone."""
    points, f = answers(first, values)
    _, g = answers(second, values)
    limit = epsilon * (1 + 1e-9)
    if isinstance(noise, bp.noise.Channel):
        rows = np.array([noise.numerators[noise.place(float(x))] / noise.denominator for x in points[:, 0]])
        f, g = f @ rows, g @ rows
        return max(_excess(f, g, limit), _excess(g, f, limit)) > delta * (1 + 1e-9) + 1e-12
    if is_none(noise):
        return max(_excess(f, g, limit), _excess(g, f, limit)) > delta * (1 + 1e-9) + 1e-12
    if values.shape[1] == 1:
        order = np.argsort(points[:, 0])
        atoms, f, g = points[order, 0], f[order], g[order]
        if delta == 0:
            return max(loss(atoms, f, g, noise.scale), loss(atoms, g, f, noise.scale)) > limit
        kernel = densities(noise, atoms)
        return max(_excess(kernel @ f, kernel @ g, limit), _excess(kernel @ g, kernel @ f, limit)) > delta * (1 + 1e-3)
    # of a product of Laplace laws the largest ratio lies on the grid of the coordinates
    grid = np.stack(np.meshgrid(*(np.unique(points[:, k]) for k in range(2)), indexing="ij"), axis=-1).reshape(-1, 2)
    kernel = np.exp(-(np.abs(grid[:, None] - points[None]) / np.array(noise.scales)).sum(axis=-1))
    return float(np.max(np.abs(np.log(kernel @ f) - np.log(kernel @ g)))) > limit


def _excess(f: np.ndarray, g: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(f - math.exp(epsilon) * g, 0).sum())


def terms(query: Any) -> np.ndarray:
    y = np.arange(VALUES, dtype=float)
    return np.stack([y >= 3, y], axis=1).astype(float) if query is STACK else y[:, None]


def share_broken(calibration: Any, seed: int, query: Any) -> float:
    guarantee = calibration.guarantee
    pairs = zip(*fresh(seed), strict=True)
    return float(
        np.mean(
            [is_broken(calibration.noise, *pair, terms(query), guarantee.epsilon, guarantee.delta) for pair in pairs]
        )
    )


QUESTIONS = {"pure": ("sum(y)", 0.5, 0.0), "delta": ("sum(y)", 0.5, 0.01), "stack": (STACK, 0.5, 0.0)}


def calibrated(mechanism: Mechanism, seed: int, question: str) -> Any:
    query, epsilon, delta = QUESTIONS[question]
    return mechanism.calibrate(framework(seed), query, epsilon=epsilon, delta=delta)


@cache
def possible(question: str) -> tuple[Mechanism, ...]:
    """Return the mechanisms that answer a question, those of a plan and the others."""
    query, epsilon, delta = QUESTIONS[question]
    others = (bp.mechanisms.QuantizationMechanism(), bp.mechanisms.ExpectedValueMechanism())
    every = (*STANDARD, *others)
    return tuple(each for each in every if each.supports(framework(0), query, epsilon=epsilon, delta=delta) is None)


@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_is_told_of_models_not_drawn_holds_for_fresh_ones(question: str) -> None:
    covered = 0
    for mechanism in possible(question):
        failures = 0
        for seed in range(SEEDS):
            calibration = calibrated(mechanism, seed, question)
            text = calibration.guarantee.beyond_text
            told = TOLD.search(text)
            if not mechanism.needs_model:
                assert text == ""
                continue
            if told is None:
                assert UNKNOWN in text, (mechanism, text)
                continue
            covered += 1
            failures += share_broken(calibration, seed, QUESTIONS[question][0]) > float(told[1]) / 100
        assert failures <= MOST_FAILURES, (mechanism, failures)
    assert covered >= 2 * SEEDS


def test_a_channel_would_not_keep_what_is_told_of_one_scale() -> None:
    """The statement of one scale is false for a channel in nearly every posterior, so that it must not be made."""
    channel, scale = bp.mechanisms.OptimalMechanism(), bp.TightMechanism()
    wrong = 0
    for seed in range(4):
        calibration = calibrated(channel, seed, "pure")
        assert calibration.free_numbers == calibration.noise.numerators.size > 1
        told = TOLD.search(calibrated(scale, seed, "pure").guarantee.beyond_text)
        assert told is not None
        wrong += share_broken(calibration, seed, "sum(y)") > float(told[1]) / 100
        assert UNKNOWN in calibration.guarantee.sentence
        assert "at most" not in calibration.guarantee.beyond_text
    assert wrong >= 3


def test_a_plan_puts_what_holds_for_drawn_models_only_last() -> None:
    made = bp.plan(framework(0), "sum(y)", 0.5)
    last = [calibration.holds_for_draws_only for calibration in made]
    assert last == sorted(last)
    assert last[-1]
    assert not last[0]
    assert made.calibrations[-1].expected_error < made.best.expected_error
    assert re.search(r"^OptimalMechanism\(\): .*; for the models drawn only$", made.text, re.MULTILINE)
    assert "the least expected error first; after them what holds for the models drawn only\n" in made.text


def test_where_no_draw_needs_noise_none_decides_it() -> None:
    free = bp.TightMechanism().calibrate(framework(0), "sum(y)", 50.0)
    assert free.scale == 0
    assert "draws from a posterior" in free.text
    assert "decides the noise" not in free.text
    assert len(free.certificate.reasons) == 2
    assert free.certificate.reasons[1].endswith("more decisions, for which no more noise is needed.")
    assert "decides the noise" in bp.TightMechanism().calibrate(framework(0), "sum(y)", 0.5).text


def test_the_share_is_that_of_the_best_of_all_scales_of_a_plan() -> None:
    """A plan has no more kinds of noise with one scale than are counted, and weighs parts in no more ways."""
    kinds: dict[str, set[tuple[str, float]]] = {name: set() for name in QUESTIONS}
    for question in QUESTIONS:
        for mechanism in possible(question):
            made = calibrated(mechanism, 0, question)
            if made.free_numbers == 1 and mechanism in STANDARD and made.scale:
                kinds[question].add((type(made.noise).__name__, made.guarantee.delta))
    assert len(kinds["pure"]) <= PURE_SCALES
    assert len(kinds["delta"]) <= APPROXIMATE_SCALES
    for question, among in (("pure", PURE_SCALES), ("delta", APPROXIMATE_SCALES), ("stack", PURE_SCALES * WEIGHTINGS)):
        told = TOLD.search(calibrated(bp.TightMechanism(), 0, question).guarantee.beyond_text)
        assert told is not None
        share = math.log(among / 0.05) / DRAWS
        assert share <= float(told[1]) / 100 <= share + 0.01
        assert made_of(question) <= {0.0, QUESTIONS[question][2]}


def made_of(question: str) -> set[float]:
    """Return the deltas that are promised: what was asked for or none, never one that was read off the draws."""
    return {calibrated(each, 0, question).guarantee.delta for each in possible(question) if each.needs_model}


def test_totals_of_several_answers_and_wrong_models_say_that_nothing_is_known() -> None:
    made = calibrated(bp.TightMechanism(), 0, "pure")
    accountant = bp.Accountant(framework(0)).record(made)
    assert UNKNOWN in accountant.guarantee().beyond_text
    query = bp.count(bp.col("y") >= 3)
    value = bp.ValuePrivacy(drawn(0, DRAWS, 1), framework(0).schema, "x", source="older")
    quilt = bp.MarkovQuiltMechanism().calibrate(value, query, epsilon=2.0)
    assert UNKNOWN in quilt.misspecified(1.1).beyond_text
