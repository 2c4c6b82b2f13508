"""Answers that a rehearsal makes up follow their exact laws, for every kind, and no guesser passes the guarantee."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.core.evidence.laws import laws
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, NoNoise
from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack
from bnpriv.lab.attacks.shadow import told_apart
from bnpriv.lab.sampling.game import AttackGame, notion_sampler
from bnpriv.lab.simulate import rehearse
from tests.kinds import COUGHS, HEALTH, KINDS, patients
from tests.later import Later, optional
from tests.unit.lab.sampling.test_simulation_by_kind import FIRST, MATRIX, fits, of_ages, of_densities, sequences
from tests.unit.verify.test_verify_public import framework_of

stats = Later("scipy.stats")

DRAWS = 20_000


def scene(calibration: Calibration) -> AttackGame:
    return notion_sampler(calibration.framework).game(calibration.framework, calibration)


def drawn(found: AttackGame, side: int, draws: int = DRAWS) -> Counter[Any]:
    values = found.sides[side](draws, np.random.default_rng(7))
    assert values.shape[0] == draws
    return Counter(map(tuple, values.tolist()))


def pooled(law: Atoms, draws: int = DRAWS) -> dict[Any, float]:
    """Return a law without atoms that are too rare for a chi-square test."""
    points = law.points.tolist()
    return {tuple(x): p for x, p in zip(points, law.probabilities, strict=True) if p * draws >= 5}


def fits_law(seen: Counter[Any], law: Atoms) -> bool:
    """Return whether draws fit a law; rare atoms are left out, once no other value was seen."""
    common, known = pooled(law), {tuple(x) for x in law.points.tolist()}
    return set(seen) <= known and fits(Counter({x: k for x, k in seen.items() if x in common}), common)


def exact_pair(framework: Any, query: Any, pair: str) -> Any:
    evidence = laws(framework, query)
    assert not isinstance(evidence, bp.errors.Refusal)
    (constraint,) = evidence.constraints()
    assert not isinstance(constraint.pairs, bp.errors.Refusal)
    return constraint.pairs[0] if len(constraint.pairs) == 1 else next(p for p in constraint.pairs if p.pair == pair)


@pytest.mark.parametrize("kind", ["dataset", "laws", "networks"])
def test_answers_follow_the_exact_laws(kind: str) -> None:
    made = KINDS[kind]()
    found = scene(made.calibration)
    exact = exact_pair(made.framework, made.query, str(found.pair))
    assert fits_law(drawn(found, 0), exact.first)
    assert fits_law(drawn(found, 1), exact.second)
    assert not fits_law(drawn(found, 0), exact.second)


def test_the_values_of_a_count_are_as_far_apart_as_the_secret_allows() -> None:
    assert str(scene(KINDS["dataset"]().calibration).pair) == "1 against 6"  # 3 of 30 are likeliest
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.pairs((2, 4), (1, [8, 9])))
    schema = bp.Schema(records=30, columns=HEALTH.columns)
    framework = bp.DatasetAttributePrivacy(patients(), schema, {"ill": secret}, source="x")
    found = scene(bp.WassersteinMechanism().calibrate(framework, COUGHS, epsilon=1.0))
    assert str(found.pair) == "1 against {8, 9}"
    exact = exact_pair(framework, COUGHS, "1 against {8, 9}")
    assert fits_law(drawn(found, 1), exact.second)


def test_answers_given_a_sum_follow_the_exact_laws() -> None:
    framework, query = of_ages(), bp.count(bp.col("ill") == "yes")
    calibration = bp.WassersteinMechanism().calibrate(framework, query, epsilon=1.0)
    found = scene(calibration)
    exact = exact_pair(framework, query, str(found.pair))
    assert fits_law(drawn(found, 0), exact.first)
    assert fits_law(drawn(found, 1), exact.second)


@pytest.mark.parametrize("query", [COUGHS, bp.count((bp.col("coughs") == "yes") & (bp.col("ill") == "yes"))])
def test_of_single_values_one_record_differs(query: Any) -> None:
    framework = bp.ValuePrivacy(patients(), bp.Schema(records=8, columns=HEALTH.columns), "ill", source="x")
    found = scene(bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0))
    coughing = {"yes": 0.4 * 0.1 + 0.6 * 0.6, "no": 0.8 * 0.1 + 0.2 * 0.6}
    if query is COUGHS:
        given, rest = coughing, 0.1 * coughing["yes"] + 0.9 * coughing["no"]
    else:
        given, rest = {"yes": coughing["yes"], "no": 0.0}, 0.1 * coughing["yes"]
    for side, state in enumerate(found.pair.sides):
        one = [1 - given[state], given[state]]
        others = stats.binom.pmf(np.arange(8), 7, rest)
        assert fits_law(drawn(found, side), Atoms(np.arange(9), np.convolve(one, others)))


def test_answers_about_a_chain_follow_the_law_of_its_sequences() -> None:
    chain = bp.types.MarkovChain(MATRIX, FIRST, [4, 2], states=[0, 1, 2])
    framework = bp.ValuePrivacy(chain, bp.Schema(records=6, columns={"x": bp.Integer(0, 2)}), "x", source="invented")
    found = scene(bp.ColumnMechanism().calibrate(framework, bp.total("x"), epsilon=1.0))
    for side, state in enumerate(found.pair.sides):
        law: Counter[Any] = Counter()
        for (one, p), (two, q) in itertools.product(
            sequences({int(state)}, 2).items(), sequences({0, 1, 2}, 0, steps=2).items()
        ):
            law[(float(sum(one) + sum(two)),)] += p * q
        assert fits(drawn(found, side), law)


def test_the_step_and_states_of_a_chain_are_those_that_matter_most() -> None:
    sticky = [[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]
    chain = bp.types.MarkovChain(sticky, [0.5, 0.25, 0.25], 30, states=[0, 1, 5])
    framework = bp.ValuePrivacy(chain, bp.Schema(records=30, columns={"x": bp.Integer(0, 5)}), "x", source="invented")
    calibration = bp.mechanisms.MarkovChainMechanism().calibrate(framework, bp.total("x"), epsilon=5.0)
    found = scene(calibration)
    means = [found.sides[side](4000, np.random.default_rng(1)).mean() for side in (0, 1)]
    assert abs(means[0] - means[1]) > 20
    assert rehearse(calibration, 200).protected == "x"


def test_declared_normal_laws_are_drawn_from() -> None:
    pair = Normal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]), Normal([3.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
    framework = bp.DistributionPrivacy([pair], source="x")
    calibration = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0)
    found = scene(calibration)
    for side, law in enumerate(pair):
        values = found.sides[side](DRAWS, np.random.default_rng(2))
        assert np.allclose(values.mean(axis=0), law.mean, atol=0.06)
        assert np.allclose(np.cov(values.T), law.covariance, atol=0.1)
    assert rehearse(calibration, 100).labels == ("number 1", "number 2")


def test_answers_of_a_model_of_densities_are_drawn_forward() -> None:
    framework = of_densities()
    calibration = bp.ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    found = scene(calibration)
    assert str(found.pair) == "0 against 1"
    for side in (0, 1):
        values = found.sides[side](400, np.random.default_rng(3))[:, 0]
        assert stats.kstest(values, stats.norm(side, math.sqrt(1 + 1 / 50)).cdf).pvalue > 1e-4
    told = rehearse(calibration, 50)
    assert told.correct <= told.bound + told.margin


@pytest.mark.parametrize("kind", ["chain", "records", "dataset", "laws", "networks"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_guesser_passes_the_guarantee(kind: str, epsilon: float) -> None:
    made = KINDS[kind]()
    found = rehearse(bp.plan(made.framework, made.query, epsilon).best, 2000)
    assert found.correct <= found.bound + found.margin
    assert found.correct >= 0.5 - found.margin
    assert "learned both distributions" in found.text
    assert len(found.values) == 2


# --- the guesser who learns -------------------------------------------------------------------------------------------


def best(first: Atoms, second: Atoms, noise: Any) -> float:
    """Return how often the best guesser is right."""
    x = np.linspace(-60, 160, 200_001)
    kernel = stats.laplace if isinstance(noise, Laplace) else stats.norm
    f, g = (
        sum(p * kernel.pdf(x, a, noise.scale) for a, p in zip(law.support, law.probabilities, strict=True))
        for law in (first, second)
    )
    return float(np.sum(np.maximum(f, g)) * (x[1] - x[0]) / 2)


@pytest.mark.parametrize("noise", [Laplace(3.0), Gaussian(5.0)])
def test_the_guesser_is_nearly_the_best_one(noise: Any) -> None:
    first, second = Atoms.binomial(100, 0.5), Atoms.binomial(100, 0.6)
    random = np.random.default_rng(6)

    def answers(law: Atoms, draws: int) -> Any:
        return random.choice(law.support, size=(draws, 1), p=law.probabilities / law.probabilities.sum())

    def noisy(values: Any) -> Any:
        draw = random.laplace if isinstance(noise, Laplace) else random.normal
        return values + draw(0, noise.scale, values.shape)

    released = noisy(answers(first, 10_000)), noisy(answers(second, 10_000))
    correct = told_apart(released, (answers(first, 2000), answers(second, 2000)), noise)
    assert abs(correct - best(first, second, noise)) < 0.015
    turned = told_apart(released[::-1], (answers(first, 2000), answers(second, 2000)), noise)
    assert turned == pytest.approx(1 - correct, abs=0.02)


@pytest.mark.parametrize("noise", [Laplace(1.0), DiscreteLaplace(1.0), Gaussian(1.0), NoNoise()])
def test_equal_laws_are_a_coin_and_distant_ones_are_told_apart(noise: Any) -> None:
    same = np.array([[1.0], [2.0]])
    assert told_apart((same, same), (same, same), noise) == 0.5
    assert told_apart((same, same + 50), (same, same + 50), noise) == 1.0


def test_numbers_with_scales_of_their_own_count_by_them() -> None:
    noise = Laplace(8.0, 2, (1.0, 8.0))
    learned = np.array([[0.0, 0.0]]), np.array([[8.0, -2.0]])
    # by the first number alone it would be the second secret, by the second number, eight times as sure, the first
    released = np.array([[6.0, 0.5]])
    assert told_apart((released, released + np.array([[2.0, -2.5]])), learned, noise) == 1.0


def test_what_does_not_follow_is_refused() -> None:
    own = bp.custom(lambda table: (table["coughs"] == "yes").sum(), columns=["coughs"], sensitivity=1)
    for kind in ("chain", "records", "dataset", "networks"):
        framework = KINDS[kind]().framework
        if kind == "chain":
            own = bp.custom(lambda table: 0.0, columns=["activity"], sensitivity=1)
        with pytest.raises(bp.BnprivError):
            rehearse(bp.ColumnMechanism().calibrate(framework, own, epsilon=1.0))
        own = bp.custom(lambda table: 0.0, columns=["coughs"], sensitivity=1)


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(), bp.ColumnMechanism()], ids=str)
def test_a_column_that_the_secret_drives_itself_follows_its_mixture(mechanism: Any) -> None:
    pm = optional("pymc")
    with pm.Model() as site:
        income = pm.Bernoulli("income", 0.4)
        stress = pm.Bernoulli("stress", 0.3 + 0.4 * income)
        pm.Bernoulli("ill", 0.1 + 0.2 * income + 0.3 * stress, observed=np.zeros(20))
    schema = bp.Schema(records=20, columns={"ill": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(bp.from_pymc(site), schema, "income", source="x")
    found = scene(mechanism.calibrate(framework, bp.count(bp.col("ill") == 1), epsilon=1.0))
    counts = np.arange(21)
    for side, secret in enumerate((found.pair.first, found.pair.second)):
        (low_or_high,) = secret
        stressed = 0.3 + 0.4 * low_or_high
        law = sum(
            weight * stats.binom(20, 0.1 + 0.2 * low_or_high + 0.3 * state).pmf(counts)
            for state, weight in ((0, 1 - stressed), (1, stressed))
        )
        values = found.sides[side](DRAWS, np.random.default_rng(7)).ravel()
        assert values.mean() == pytest.approx(float(law @ counts), abs=0.15)
        for limit in (1, 4, 8):
            assert (values <= limit).mean() == pytest.approx(float(law[: limit + 1].sum()), abs=0.02)


@pytest.mark.parametrize("numbers", [2, 8])
def test_along_one_direction_the_guesser_is_the_best_attacker(numbers: int) -> None:
    """A guesser that learned the laws of eight numbers is right in .50 of the cases, the best one in .57."""
    gap = np.linspace(1.0, 2.0, numbers)
    covariance = 30.0 * (np.eye(numbers) + 0.2)
    pair = bp.laws.Normal(np.zeros(numbers), covariance), bp.laws.Normal(gap, covariance)
    framework = bp.DistributionPrivacy([pair], source="a test")
    calibration = bp.mechanisms.DirectionalMechanism().calibrate(framework, epsilon=0.5)
    best = likelihood_ratio_attack(calibration)
    rehearsal = bp.rehearse(calibration, draws=40_000)
    assert best.answers == 0
    assert abs(rehearsal.correct - best.accuracy) <= rehearsal.margin * 1.5
    assert rehearsal.caveats == ()


def test_a_guesser_that_learned_says_so() -> None:
    """Noise in several directions: the law of what is released has no closed form."""
    eye = np.eye(2)
    pairs = [(bp.laws.Normal([0, 0], eye), bp.laws.Normal(gap, eye)) for gap in ([3.0, 0.0], [2.0, 2.0])]
    framework = bp.DistributionPrivacy(pairs, source="a test")
    calibration = bp.mechanisms.DirectionalMechanism().calibrate(framework, epsilon=1.0)
    told = bp.rehearse(calibration, draws=200).caveats
    assert any("may be right more often" in text for text in told)


@pytest.mark.parametrize("query", ["count(x >= 2)", "total(y)"])
@pytest.mark.parametrize("hidden", ["ill", "y"])
def test_answers_follow_the_laws_of_public_records(hidden: str, query: str) -> None:
    """Also where a draw of weights decides the noise, beyond the models of the network."""
    decided = set[int]()
    for seed in (1, 4):
        framework = framework_of(seed, n=5, hidden=hidden)
        calibration = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
        found = scene(calibration)
        decided.add(found.model)
        evidence = laws(framework, calibration.query)
        assert not isinstance(evidence, bp.errors.Refusal)
        (constraint,) = [each for each in evidence.constraints() if each.model == found.model]
        assert not isinstance(constraint.pairs, bp.errors.Refusal)
        (exact,) = [pair for pair in constraint.pairs if pair.pair == str(found.pair)]
        assert fits_law(drawn(found, 0), exact.first)
        assert fits_law(drawn(found, 1), exact.second)
    assert max(decided) >= 2
