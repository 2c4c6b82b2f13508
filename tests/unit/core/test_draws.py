"""Draws from laws: how nearby ones are gathered, what they may miss, and queries on many made-up tables at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.distributions as draws_module
from bnpriv.bound import up
from bnpriv.core.distributions import Draws, gathered, gathered_again, missed
from bnpriv.core.evidence.constraints import DrawFacts, LawPair
from bnpriv.core.mechanisms.law_decision import missed_by
from bnpriv.core.privacy_curves import LARGEST_BEND
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.contribution import answers
from bnpriv.core.transport import closeness, w_infinity
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

pd = Later("pandas")


def two_samples(seed: int, size: int = 300, dimension: int = 1) -> tuple[Draws, Draws]:
    rng = np.random.default_rng(seed)
    shape = (size, dimension) if dimension > 1 else size
    first, second = rng.normal(0, 1, shape), rng.gamma(2, 1, shape) - 1.5
    return Draws(first, seed=seed), Draws(second, seed=seed)


# --- draws --------------------------------------------------------------------------------------------------------


def test_draws_are_kept_as_they_are() -> None:
    draws = Draws([[1.0, 2.0], [1.0, 2.0], [0.0, -0.0]], seed=3)
    assert (draws.size, draws.dimension, repr(draws)) == (3, 2, "Draws(size=3, dimension=2, seed=3)")
    law = draws.empirical()
    assert law.points.tolist() == [[0, 0], [1, 2]]
    assert law.probabilities == pytest.approx([1 / 3, 2 / 3], rel=1e-14)
    with pytest.raises(ValueError, match="read-only"):
        draws.values[0] = 9


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf], 3.0, [[[1.0]]], ["a"]])
def test_what_is_no_list_of_numbers_is_refused(values: object) -> None:
    with pytest.raises(bp.errors.LawError):
        Draws(values, seed=0)  # pyright: ignore[reportArgumentType]


def test_few_values_are_not_gathered() -> None:
    first, second = Draws([1, 2, 2], seed=0), Draws([2, 5, 5], seed=1)
    found = gathered(first, second, 2)
    assert (found.moved, found.variance, found.drift) == (0, 0, 0)
    assert found.first.support.tolist() == [1, 2]


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("most", [1, 2, 30])
def test_gathered_draws_keep_their_mean_and_stay_near(dimension: int, most: int) -> None:
    draws = two_samples(most, dimension=dimension)
    found = gathered(*draws, most)
    for one, law in zip(draws, (found.first, found.second), strict=True):
        assert 1 <= law.size <= most
        assert law.mean == pytest.approx(one.empirical().mean, abs=1e-12)
        # the 1-norm of the covariance lost is the mean square of the moves, coordinate by coordinate
        lost = np.trace(one.empirical().covariance) - np.trace(law.covariance)
        assert lost <= found.variance * (1 + 1e-9)
        if dimension == 1:
            assert w_infinity(one.empirical(), law).upper <= found.moved / 2 * (1 + 1e-9)
    assert most < 30 or found.moved < 0.5 * 9 * dimension


def test_a_few_draws_far_out_leave_the_cells_of_the_others_narrow() -> None:
    random = np.random.default_rng(4)
    samples = [np.concatenate([random.normal(size=5000), [-1e6, 1e6]]) for _ in range(2)]
    found = gathered(Draws(samples[0], seed=0), Draws(samples[1], seed=1), 1000)
    assert 800 <= max(found.first.size, found.second.size) <= 1000
    assert found.moved < 0.02


@pytest.mark.parametrize(("fine", "coarse"), [(3, 1), (60, 7), (200, 199), (250, 400)])
def test_what_is_gathered_twice_counts_both_moves(fine: int, coarse: int) -> None:
    draws = two_samples(fine)
    once = gathered(*draws, fine)
    found = gathered_again(once, 300, coarse)
    for one, law in zip(draws, (found.first, found.second), strict=True):
        assert law.size <= max(fine, coarse)
        assert coarse > fine or law.size <= coarse
        # cells keep the order of the draws: which draw is in which follows from the masses
        stands = np.repeat(law.support, np.rint(law.probabilities * 300).astype(int))
        moves = np.sort(one.values) - stands
        assert float(np.abs(moves).max()) <= found.moved / 2
        assert float((moves**2).mean()) <= found.variance
        assert abs(float(moves.mean())) <= found.drift
    assert found.variance < 1.2 * max(
        float(np.var(one.values)) - float(law.probabilities @ (law.support - law.mean[0]) ** 2)
        for one, law in zip(draws, (found.first, found.second), strict=True)
    ) + 1e-3 * (fine > 100)


# --- what gathering costs: bounds that hold for every sample, and each of whose parts is needed -------------------


def excess(f: np.ndarray, g: np.ndarray, p: np.ndarray, q: np.ndarray, ratio: float, noise: str) -> float:
    """Integrate the positive part of the difference of two noisy densities, with noise of scale 1."""
    w = np.linspace(-14, 20, 20_001)

    def density(atoms: np.ndarray, masses: np.ndarray) -> np.ndarray:
        away = w[:, None] - atoms
        kernel = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) if noise == "gaussian" else np.exp(-np.abs(away)) / 2
        return kernel @ masses

    return float(np.maximum(density(f, p) - ratio * density(g, q), 0).sum() * (w[1] - w[0]))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_gathering_at_means_costs_what_is_said(noise: str) -> None:
    bend = LARGEST_BEND if noise == "gaussian" else 1.0
    raised = 0
    for seed in range(20):
        draws = two_samples(seed, 60)
        found = gathered(*draws, 4)
        f, g = (one.empirical() for one in draws)
        for ratio in (1.0, 2.0):
            raw = excess(f.support, g.support, f.probabilities, g.probabilities, ratio, noise)
            laws = found.first, found.second
            near = excess(*(law.support for law in laws), *(law.probabilities for law in laws), ratio, noise)
            assert raw <= near + (1 + ratio) * bend * found.variance / 2 + 1e-6
            raised += raw > near + 1e-6
    assert raised > 2  # without the cost it would be wrong


def test_gathering_moves_masses_as_far_as_is_said() -> None:
    raised = 0
    for seed in range(20):
        places = np.arange(100.0) % 5
        wide = Draws(places + np.random.default_rng(seed).choice([-0.4, 0.0, 0.4], 100), seed=0)
        draws = (wide, Draws(places, seed=0))
        found = gathered(*draws, 5)
        raw = closeness(draws[0].empirical(), draws[1].empirical(), 0.1).upper
        near = closeness(found.first, found.second, 0.1).upper
        assert raw <= up(near + found.moved)
        raised += raw > near * (1 + 1e-9)
    assert raised > 5


# --- what draws miss -----------------------------------------------------------------------------------------------


def failures(ratio: float, p: float, q: float, *, draws: int, miss: float, of: float = 1.0) -> float:
    """Return how often the empirical excess of one set falls short of the true one by more than what is allowed."""
    rng = np.random.default_rng(7)
    found = rng.binomial(draws, p, 100_000) / draws - ratio * rng.binomial(draws, q, 100_000) / draws
    return float(np.mean(found + of * missed(draws, miss, ratio) < p - ratio * q))


@pytest.mark.parametrize("ratio", [1.0, 1.6, 2.7, 20.0, 150.0])
@pytest.mark.parametrize("draws", [10, 300, 10_000])
def test_draws_miss_no_more_than_is_said(ratio: float, draws: int) -> None:
    worst = max(
        failures(ratio, p, max(0.0, p - above) / ratio, draws=draws, miss=0.05)
        for p in (0.02, 0.3, 0.5, (1 + ratio) / 4 if ratio < 3 else 1.0)
        for above in (0.01, 0.1)
    )
    assert worst <= 0.05


@pytest.mark.parametrize("ratio", [1.0, 2.7])
def test_half_of_it_would_not_do(ratio: float) -> None:
    p = (1 + ratio) / 4
    assert failures(ratio, p, (p - 0.01) / ratio, draws=2000, miss=0.05, of=0.5) > 0.08


def test_what_draws_miss_needs_no_cells() -> None:
    """Theory, section 9: with k cells both laws are known to sqrt(k / 4N) + sqrt(log(1 / beta) / 2N), added up."""
    draws, cells, beta = 1_000_000, 100, 0.05
    by_cells = 2 * (math.sqrt(cells / (4 * draws)) + math.sqrt(math.log(1 / beta) / (2 * draws)))
    assert missed(draws, beta) < by_cells / 7


@pytest.mark.parametrize(
    ("draws", "miss", "ratio"), [(0, 0.1, 1), (5, 0, 1), (5, 1, 1), (5, 0.1, 0.5), (5, 0.1, math.inf)]
)
def test_what_cannot_be_asked_is_refused(draws: int, miss: float, ratio: float) -> None:
    with pytest.raises(bp.errors.ParameterError):
        missed(draws, miss, ratio)


def test_the_better_bound_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws_module, "up", lambda value, steps: value)
    draws, nats = 10_000, math.log(20)
    assert missed(draws, 0.05) == math.sqrt(nats / draws)
    assert missed(draws, 0.05, 100.0) < 0.25 * math.sqrt((1 + 100**2) * nats / (2 * draws))


# --- queries on many tables ----------------------------------------------------------------------------------------

SCHEMA = bp.Schema(
    records=7,
    columns={
        "height": bp.Real(120, 220, steps=37),
        "age": bp.Integer(0, 90),
        "group": bp.Categorical([0, 1, 2], missing=1),
        "word": bp.Categorical(["a", "b"]),
    },
)
QUERIES = (
    "count(height > 165 & age >= 30)",
    "count(~(group == 2) | word == 'b')",
    "count(group in [0, 2])",
    "mean(height)",
    "total(age)",
    "histogram(height, [120, 150, 180, 220])",
    "moments(height, age)",
    str(bp.linear({"height": 0.3, "age": 2.0})),
)


@pytest.mark.parametrize("text", QUERIES)
def test_many_tables_have_the_answers_of_each(text: str) -> None:
    rng = np.random.default_rng(5)
    query = bp.parse_query(text)
    form = normal_form(query, SCHEMA)
    tables = {
        "height": rng.normal(170, 40, (9, 7)),
        "age": rng.normal(50, 40, (9, 7)),
        "group": rng.integers(-1, 4, (9, 7)).astype(float),
        "word": rng.choice(["a", "b"], (9, 7)),
    }
    tables["height"][0, 0] = tables["age"][1, 1] = math.nan
    found = answers(form, {name: tables[name] for name in query.columns}).reshape(9, -1)
    for k in range(9):
        frame = pd.DataFrame({name: values[k] for name, values in tables.items()})
        exact = evaluate(query, SCHEMA, frame).values
        assert found[k] == pytest.approx([float(v) for v in exact], rel=1e-15)


def test_large_weights_are_added_exactly() -> None:
    schema = bp.Schema(records=2, columns={"x": bp.Real(0, 1, steps=2**31)})
    form = normal_form(bp.linear({"x": 1e30}), schema)
    found = answers(form, {"x": np.array([[0.25, 0.5], [0.5, 0.25]])})
    assert found[0] == found[1] == pytest.approx(0.375e30, rel=1e-15)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999999])
@pytest.mark.parametrize("ratio", [1.0, 2.7, 20.0])
def test_the_confidence_is_shared_by_all_calibrations_that_a_plan_chooses_among(
    confidence: float, ratio: float
) -> None:
    """Each of the three may miss its share alone: together they fail no more often than is said."""
    laws = [draws.empirical() for draws in two_samples(1)]
    drawn = DrawFacts(draws=5000, confidence=confidence, moved=0.0, variance=0.0, drift=0.0)
    pair = LawPair(pair="a against b", first=laws[0], second=laws[1], rounding=0.0, kind="certified", sampled=drawn)
    assert missed_by(pair, ratio) >= missed(5000, (1 - confidence) / 3, ratio)
    assert missed_by(replace(pair, sampled=replace(drawn, confidence=None)), ratio) == 0
