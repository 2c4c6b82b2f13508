"""Single values: influences against all paths, scales against all quilts, outputs against the exact density."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.kinds.chain.column import ExactInfluence, SpectralBound, chain_scale
from bnpriv.kinds.chain.network import MarkovChain

Starts = ("given", "stationary", "any")


def random_chain(rng: np.random.Generator, k: int, length: int, start: str, *, zeros: float = 0.0) -> MarkovChain:
    transition = rng.dirichlet(np.ones(k), size=k)
    holes = rng.random((k, k)) < zeros
    holes[np.arange(k), rng.integers(k, size=k)] = False
    transition = np.where(holes, 0, transition)
    transition /= transition.sum(axis=1, keepdims=True)
    initial = rng.dirichlet(np.ones(k)) * (rng.random(k) > zeros)
    initial = initial / initial.sum() if initial.sum() > 0 else np.eye(k)[0]
    return MarkovChain(transition, initial if start == "given" else start, length)  # type: ignore[arg-type]


def paths(chain: MarkovChain, initial: np.ndarray) -> np.ndarray:
    """Return the probability of every path, one axis per step."""
    joint = initial.copy()
    for _ in range(chain.steps - 1):
        joint = joint[..., np.newaxis] * chain.matrix(0)
    return joint


def told(joint: np.ndarray, step: int, others: tuple[int, ...]) -> float:
    """Return the influence of some steps on one, all counted from 0, by enumeration."""
    rest = tuple(k for k in range(joint.ndim) if k not in (step, *others))
    table = np.moveaxis(joint.sum(axis=rest), sorted((step, *others)).index(step), 0)
    rows = table.reshape(len(table), -1)
    most = 0.0
    for x, y in itertools.permutations(np.flatnonzero(rows.sum(axis=1) > 0), 2):
        first, second = rows[x] / rows[x].sum(), rows[y] / rows[y].sum()
        inside = first > 0
        if bool((second[inside] == 0).any()):
            return math.inf
        most = max(most, float(np.log(first[inside] / second[inside]).max()))
    return most


def quilts(length: int, step: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield quilts of a step with the number of near steps, counted from 0."""
    for before in [None, *range(step)]:
        for after in [None, *range(step + 1, length)]:
            near = (length if after is None else after) - (-1 if before is None else before) - 1
            yield tuple(other for other in (before, after) if other is not None), near


def brute_force(chain: MarkovChain, initial: np.ndarray, epsilon: float) -> float:
    joint, worst = paths(chain, initial), 0.0
    for step in range(chain.steps):
        rest = tuple(k for k in range(chain.steps) if k != step)
        if np.count_nonzero(joint.sum(axis=rest)) < 2:
            continue
        scores = [math.inf]
        for quilt, near in quilts(chain.steps, step):
            influence = told(joint, step, quilt) if quilt else 0.0
            if influence < epsilon - 1e-9:
                scores.append(near / (epsilon - influence))
        worst = max(worst, min(scores))
    return worst


@pytest.mark.parametrize("start", ["given", "stationary"])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_scores_equal_all_quilts_on_all_paths(start: str, zeros: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        try:
            chain = random_chain(rng, int(rng.integers(2, 4)), int(rng.integers(1, 7)), start, zeros=zeros)
        except bp.errors.NetworkError:
            continue  # several stationary laws
        epsilon = float(10 ** rng.uniform(-1, 1))
        found = chain_scale(chain.length, epsilon, ExactInfluence(chain, 0))
        wanted = brute_force(chain, chain.first(0), epsilon)
        assert (found.score if found else 0.0) == pytest.approx(wanted, rel=1e-9)


def test_any_start_covers_every_start() -> None:
    rng = np.random.default_rng(2)
    for _ in range(15):
        chain = random_chain(rng, 3, int(rng.integers(2, 6)), "any")
        epsilon = float(10 ** rng.uniform(-0.5, 1))
        found = chain_scale(chain.length, epsilon, ExactInfluence(chain, 0))
        for _ in range(10):
            assert found is not None
            assert found.score >= brute_force(chain, rng.dirichlet(np.ones(3) * 0.3), epsilon) * (1 - 1e-12)


@pytest.mark.parametrize("start", Starts)
@pytest.mark.parametrize("published", [True, False])
def test_spectral_bounds_are_never_below_exact(start: str, published: bool) -> None:
    rng = np.random.default_rng(3)
    for k in range(60):
        chain = random_chain(rng, int(rng.integers(2, 5)), 40, start)
        if k % 2:  # reversible: a random walk on a weighted graph
            weights = rng.random((3, 3))
            weights += weights.T
            initial = chain.initial[0][:3] if start == "given" else start
            initial = initial / initial.sum() if isinstance(initial, np.ndarray) and len(initial) == 3 else initial
            if isinstance(initial, np.ndarray) and len(initial) != 3:
                continue
            chain = MarkovChain(weights / weights.sum(axis=1, keepdims=True), initial, 40)  # type: ignore[arg-type]
        exact, bound = ExactInfluence(chain, 0), SpectralBound.of(chain, 0, published=published)
        for step in itertools.islice(exact.steps(40), 5):
            for distance in range(1, min(step.first, 6)):
                assert exact.left(step, distance).max() <= bound.left(step, distance).max() + 1e-12
            for distance in range(1, 6):
                assert exact.right(step, distance).max() <= bound.right(step, distance).max() + 1e-12


@pytest.mark.parametrize("published", [True, False])
def test_the_spectral_bound_pays_twice_to_the_left_of_a_start_that_is_not_stationary(published: bool) -> None:
    """Once for the value before, once for the law of the step itself; too rare to be seen in random chains."""
    matrix = [[0.8, 0.2], [0.3, 0.7]]
    for start in ([0.9, 0.1], "any", "stationary"):
        bound = SpectralBound.of(MarkovChain(matrix, start, 40), 0, published=published)  # type: ignore[arg-type]
        (step,) = bound.steps(40)
        times = 1 if start == "stationary" and not published else 2
        assert bound.left(step, 12) == pytest.approx(times * bound.right(step, 12))
        assert 0 < bound.right(step, 12)[0] < np.inf


def output_epsilon(joint: np.ndarray, step: int, scale: float) -> float:
    """Return the largest log ratio of the density of count + Laplace noise given two values of a step."""
    count = sum(np.meshgrid(*[np.arange(joint.shape[0]) == 1] * joint.ndim, indexing="ij"))
    grid = np.linspace(-3 * scale, joint.ndim + 3 * scale, 400)
    laws = []
    for state in range(joint.shape[0]):
        inside = np.take(joint, state, axis=step)
        if inside.sum() > 0:
            masses = np.bincount(np.take(count, state, axis=step).ravel(), inside.ravel() / inside.sum())
            laws.append(np.exp(-np.abs(grid[:, None] - np.arange(len(masses))) / scale) @ masses)
    return max((float(np.log(a / b).max()) for a, b in itertools.permutations(laws, 2)), default=0.0)


@pytest.mark.parametrize("influence", ["exact", "spectral", "published"])
@pytest.mark.parametrize("start", Starts)
def test_the_output_never_tells_more_than_epsilon(influence: str, start: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(12):
        length = int(rng.integers(2, 8))
        chain = random_chain(rng, 2, length, start)
        named = MarkovChain(chain.transition[0], chain.initial[0] if start == "given" else start, length, states=[0, 1])  # type: ignore[arg-type]
        schema = bp.Schema(records=length, columns={"x": bp.Integer(0, 1)})
        framework = bp.ValuePrivacy(named, schema, "x", source="a test")
        epsilon = float(10 ** rng.uniform(-0.5, 0.7))
        mechanism = bp.mechanisms.MarkovChainMechanism(influence=influence)  # type: ignore[arg-type]
        scale = mechanism.calibrate(framework, bp.count(bp.col("x") == 1), epsilon=epsilon).scale
        starts = [rng.dirichlet(np.ones(2)) for _ in range(3)] if start == "any" else [chain.first(0)]
        for first in starts:
            joint = paths(chain, first)
            assert max(output_epsilon(joint, step, scale) for step in range(length)) <= epsilon * (1 + 1e-9)


def test_settled_laws_stand_for_all_later_steps() -> None:
    rng = np.random.default_rng(5)
    chain = random_chain(rng, 3, 3000, "given")
    steps = list(ExactInfluence(chain, 0).steps(3000))
    settled, *alone = steps
    assert settled.last == 3000
    assert sorted(step.first for step in alone) == list(range(1, settled.first))
    assert len(alone) < 400
    law = chain.first(0)
    for _ in range(settled.first + 50):
        law = law @ chain.matrix(0)
    odds = np.log(law)[np.newaxis] - np.log(law)[:, np.newaxis]
    off = ~np.eye(3, dtype=bool)
    assert bool(np.all(settled.odds[off] >= odds[off]))
    assert bool(np.all(settled.odds[off] <= odds[off] + 1e-10))


def test_several_chains_and_models_need_what_the_worst_needs() -> None:
    rng = np.random.default_rng(6)
    first, second = (rng.dirichlet(np.ones(2), size=2) for _ in range(2))

    def scale(transition: object, length: object) -> float:
        chain = MarkovChain(transition, "stationary", length, states=[0, 1])  # type: ignore[arg-type]
        schema = bp.Schema(records=chain.steps, columns={"x": bp.Integer(0, 1)})
        framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
        return bp.mechanisms.MarkovChainMechanism().calibrate(framework, bp.total("x"), epsilon=0.5).scale

    alone = [scale(matrix, 60) for matrix in (first, second)]
    assert scale([first, second], 60) == max(alone)
    assert scale(first, [60, 7, 3]) == max(scale(first, length) for length in (60, 7, 3))
    assert scale(first, [3, 3, 3]) < scale(first, 9)


def network() -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "pill": [[0.8, 0.4], [0.2, 0.6]], "visits": [[0.6, 0.5], [0.4, 0.5]]},
        states={"ill": [0, 1], "pill": [0, 1], "visits": [0, 1]},
        parents={"pill": ["ill"], "visits": ["pill"]},
        level="records",
    )


def test_values_of_a_network_by_enumeration_of_two_records() -> None:
    schema = bp.Schema(records=2, columns={name: bp.Integer(0, 1) for name in ("ill", "pill", "visits")})
    framework = bp.ValuePrivacy(network(), schema, ["ill", "pill"], source="a test")
    joint = np.einsum(
        "i,pi,vp->ipv", *(network().probabilities(name)[0] for name in ("ill", "pill", "visits")), optimize=True
    )
    for epsilon in (0.2, 0.5, 1.0, 2.0):
        query = bp.linear({"pill": 2.0, "visits": 2.0})
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=epsilon)
        scale = calibration.scale
        assert scale < bp.ColumnMechanism().calibrate(framework, query, epsilon=epsilon).scale
        grid = np.linspace(-3 - 3 * scale, 7 + 3 * scale, 500)
        answer = np.arange(2)[None, :, None] + np.arange(2)[None, None, :] + 0 * joint
        for axis in (0, 1):
            densities = []
            for value in range(2):
                own = np.take(joint, value, axis=axis)
                masses = [(np.take(answer, value, axis=axis), own / own.sum()), (answer, joint)]
                densities.append(
                    sum(
                        p * q * np.exp(-np.abs(grid - a - b) / scale)
                        for a, p in zip(masses[0][0].ravel(), masses[0][1].ravel(), strict=True)
                        for b, q in zip(masses[1][0].ravel(), masses[1][1].ravel(), strict=True)
                    )
                )
            ratio = np.log(densities[0] / densities[1])
            assert float(np.abs(ratio).max()) <= epsilon * (1 + 1e-9)


def day(length: int = 100) -> bp.ValuePrivacy:
    chain = MarkovChain([[0.9, 0.1], [0.3, 0.7]], "stationary", length, states=["rest", "walk"])
    schema = bp.Schema(records=length, columns={"activity": bp.Categorical(["rest", "walk"])})
    return bp.ValuePrivacy(chain, schema, "activity", source="a study")


def test_a_chain_is_planned_stored_shown_and_released() -> None:
    import pandas as pd

    framework = day()
    query = bp.histogram("activity", ["rest", "walk"])
    plan = bp.plan(framework, query, 1.0)
    best = plan.best
    assert str(best.mechanism) == "MarkovChainMechanism()"
    assert "step 50 of 100" in best.explain()
    assert "in any one record" in best.guarantee.sentence
    assert "step 50 of 100" in best.to_html()
    assert bp.types.Calibration.from_json(best.to_json(), framework).scale == best.scale
    table = pd.DataFrame({"activity": ["rest", "walk"] * 50})
    assert bp.release(best, table).calibration is best
    report = bp.influence_report(framework, query, 1.0)
    assert "step 50 of 100" in report.text
    assert "50 before" not in report.to_markdown()
    assert "<table" in report.to_html()
    rehearsal = bp.rehearse(best)
    assert rehearsal.correct <= rehearsal.bound + 2 * rehearsal.margin


def value_privacy(model, schema: bp.Schema) -> bp.ValuePrivacy:
    return bp.ValuePrivacy(model, schema, "activity", source="x")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MarkovChain([[0.5, 0.4], [0.5, 0.5]], "any", 3), "sum to 1"),
        (lambda: MarkovChain([[0.9, 0.3], [0.1, 0.7]], "any", 3), "the columns sum to 1. Transpose"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.4], 3), "the sum 0.9"),
        (lambda: MarkovChain([[1.5, -0.5], [0.5, 0.5]], "any", 3), "probabilities"),
        (lambda: MarkovChain([[0.5, 0.5]], "any", 3), "square"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], [1.0], 3), "2 entries"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], "never", 3), "initial"),
        (lambda: MarkovChain([[0.5, 0.5], [0.5, 0.5]], "any", 0), "length"),
        (lambda: MarkovChain(np.eye(2), "stationary", 3), "one stationary distribution"),
        (lambda: MarkovChain(np.eye(2), "any", 3, states=["a", "a"]), "distinct"),
        (lambda: MarkovChain(np.full((600, 600), 1 / 600), "any", 3), "512"),
        (lambda: value_privacy(day().model, bp.Schema(records=9, columns=day().schema.columns)), "one record per step"),
        (lambda: value_privacy(MarkovChain(np.eye(2), "any", 100), day().schema), "values of the column"),
        (lambda: bp.mechanisms.MarkovChainMechanism(influence="fast"), "influence"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(make, message: str) -> None:
    with pytest.raises(bp.BnprivError, match=message):
        make()


@pytest.mark.parametrize(
    ("transition", "message"),
    [([[0.0, 1.0], [1.0, 0.0]], "period 2"), ([[1.0, 0.0], [0.5, 0.5]], "reducible")],
)
def test_spectral_bounds_need_a_chain_that_mixes(transition: list[list[float]], message: str) -> None:
    chain = MarkovChain(transition, "any", 100, states=["rest", "walk"])
    framework = bp.ValuePrivacy(chain, day().schema, "activity", source="x")
    query = bp.count(bp.col("activity") == "walk")
    for influence in ("spectral", "published"):
        refusal = bp.mechanisms.MarkovChainMechanism(influence=influence).supports(framework, query, epsilon=1.0)
        assert message in str(refusal)
    assert bp.mechanisms.MarkovChainMechanism().calibrate(framework, query, epsilon=1.0).scale <= 100 * (1 + 1e-12)


def test_other_queries_and_frameworks_are_refused() -> None:
    mechanism = bp.mechanisms.MarkovChainMechanism()
    student = bp.example("student")
    assert "Markov chain" in str(mechanism.supports(student, bp.mean("height"), epsilon=1.0))
    two = bp.Schema(records=100, columns={**day().schema.columns, "age": bp.Integer(0, 120)})
    framework = bp.ValuePrivacy(day().model, two, "activity", source="x")
    assert "age" in str(mechanism.supports(framework, bp.mean("age"), epsilon=1.0))
    assert "MarkovChainMechanism" not in bp.plan(student, bp.mean("height"), 1.0).text


def test_a_law_that_settles_early_is_never_below_all_paths(monkeypatch) -> None:
    """Also where the first steps visit states to which the chain never comes back."""
    from bnpriv.kinds.chain import column

    monkeypatch.setattr(column, "SETTLED", 50.0)
    rng = np.random.default_rng(7)
    settled = 0
    for k in range(150):
        chain = random_chain(rng, 3, int(rng.integers(3, 7)), "given", zeros=0.4)
        if k % 2:  # one state leads elsewhere and is never met again
            transition = chain.transition[0].copy()
            transition[1:, 0] = 0
            transition[:, 1] += 0.1
            transition[:, 2] += 0.1
            transition[0, 0] *= k % 4 == 1
            transition /= transition.sum(axis=1, keepdims=True)
            chain = MarkovChain(transition, rng.dirichlet(np.ones(3)), chain.steps)  # type: ignore[arg-type]
        epsilon = float(10 ** rng.uniform(-1, 1))
        told = ExactInfluence(chain, 0)
        settled += any(step.last > step.first for step in told.steps(chain.steps))
        found = chain_scale(chain.length, epsilon, told)
        assert (found.score if found else 0.0) >= brute_force(chain, chain.first(0), epsilon) * (1 - 1e-12), k
    assert settled > 30


def test_a_probability_below_the_range_of_doubles_is_no_zero() -> None:
    """Two rare steps lead to the state 2, with probability 1e-400 at the third step."""
    transition = [[1 - 1e-200, 1e-200, 0.0], [0.5, 0.5 - 1e-200, 1e-200], [0.5, 0.25, 0.25]]
    told = ExactInfluence(MarkovChain(transition, [1.0, 0.0, 0.0], 5), 0)
    third = next(step for step in told.steps(5) if step.first == step.last == 3)
    assert third.odds[0, 2] == third.odds[2, 0] == math.inf
    assert bool(third.seen(0)[2])
    with pytest.raises(bp.errors.NetworkError, match="1e-280"):
        MarkovChain(transition, "stationary", 5)
