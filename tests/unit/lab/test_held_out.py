"""What held-out draws say of models that were not drawn (docs/claims/held_out.md)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.kind import kind_of
from bnpriv.lab.held_out import draws_for, held_out_of_all, keeps, most_broken
from bnpriv.networks import DiscreteNetwork, GaussianNetwork, Posterior, halves
from tests.later import Later

stats = Later("scipy.stats")

QUERY = bp.count(bp.col("b") == "u")


def drawn(shares: np.ndarray, *, independent: bool = True) -> DiscreteNetwork:
    """Models in which b is u with probability .5 + share if a is x, and .5 - share if it is y."""
    above, below = 0.5 + shares, 0.5 - shares
    b = np.stack([np.stack([above, below], axis=1), np.stack([below, above], axis=1)], axis=1)
    network = DiscreteNetwork.from_tables(
        {"a": [0.5, 0.5], "b": b}, states={"a": ["x", "y"], "b": ["u", "v"]}, parents={"b": ["a"]}, level="records"
    )
    facts = Posterior(source="a survey", draws=len(shares), seed=0, independent=independent)
    return replace(network, posterior_draws=facts)


def framework(network: DiscreteNetwork, records: int = 4) -> bp.DatasetAttributePrivacy:
    columns = {"a": bp.Categorical(["x", "y"]), "b": bp.Categorical(["u", "v"])}
    secret = bp.Secret(bp.count(bp.col("a") == "x"), pairs=bp.apart(at_most=1))
    return bp.DatasetAttributePrivacy(network, bp.Schema(records=records, columns=columns), {"a": secret}, source="x")


def test_the_limit_is_that_of_clopper_and_pearson() -> None:
    for draws in (1, 7, 100):
        for broken in range(0, draws, max(1, draws // 5)):
            limit = most_broken(broken, draws, 0.05)
            assert stats.binom.cdf(broken, draws, limit) == pytest.approx(0.05, rel=1e-6)
    assert most_broken(7, 7, 0.05) == 1.0
    for miss in (0.05, 0.05 / 15, 1e-6):
        needed = draws_for(0.01, miss)
        assert most_broken(0, needed, miss) <= 0.01 < most_broken(0, needed - 1, miss)


def test_coverage_over_many_repetitions_where_the_share_is_known() -> None:
    """The noise grows with the share of b, which is uniform: the models above the largest that was drawn are broken."""
    random, repetitions, fitted, held = np.random.default_rng(0), 4000, 10, 40
    largest = random.uniform(size=(repetitions, fitted)).max(axis=1)
    broken = (random.uniform(size=(repetitions, held)) > largest[:, None]).sum(axis=1)
    limits = np.array([most_broken(int(b), held, 0.05) for b in range(held + 1)])[broken]
    missed = float(np.mean(1 - largest > limits))
    assert missed <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
    # the limit is not idle: with a tenth of the confidence that is left it fails more often
    bolder = np.array([most_broken(int(b), held, 0.5) for b in range(held + 1)])[broken]
    assert float(np.mean(1 - largest > bolder)) > 0.2


def test_what_is_broken_is_counted_one_by_one() -> None:
    """Against the definition: the noise that each held-out model alone needs."""
    random = np.random.default_rng(1)
    first, rest = halves(drawn(random.uniform(0.05, 0.4, 24)))
    found = bp.TightMechanism().calibrate(framework(first), QUERY, epsilon=0.5)
    alone = [kind_of(rest).some(rest, [k]) for k in range(rest.models)]
    scales = [bp.TightMechanism().calibrate(framework(each), QUERY, epsilon=0.5).scale for each in alone]
    told = found.held_out(rest)
    assert told.broken == sum(scale > found.scale for scale in scales) > 0
    assert told.draws == 12
    assert told.share == most_broken(told.broken, 12, 0.05)
    assert found.held_out(rest, among=5).share > told.share


def test_channels_break_for_many_models_and_that_is_seen() -> None:
    """What is fitted to few draws by many numbers: `posterior` says nothing of it, held-out draws do."""
    random = np.random.default_rng(2)
    first, rest = halves(drawn(random.uniform(0.1, 0.3, 40)))
    told = bp.mechanisms.OptimalMechanism().calibrate(framework(first, 3), QUERY, epsilon=0.5).held_out(rest)
    assert "nothing is known about models that were not drawn" in told.calibration.guarantee.beyond_text
    assert 0 <= told.broken < 20
    above = kind_of(rest).some(drawn(np.array([0.45, 0.49])), [1])
    assert not keeps(told.calibration, framework(above, 3))


def test_a_plan_says_it_for_all_and_in_the_line_of_the_model() -> None:
    first, rest = halves(drawn(np.random.default_rng(3).uniform(0.1, 0.3, 30)))
    found = bp.plan(framework(first), QUERY, 0.5, held_out=rest)
    assert [each.calibration for each in found.held_out] == list(found.calibrations)
    assert {each.among for each in found.held_out} == {len(found.calibrations)}
    best = found.held_out[0]
    printed = " ".join(str(found).split())
    assert best.brief in printed
    assert len(str(found).splitlines()) <= 8
    assert max(map(len, str(found).splitlines())) <= 100
    assert f"it takes {best.needed:,} held-out draws" in found.text
    assert json.loads(found.to_json())["data"]["held_out"][0]["broken"] == best.broken
    column = next(each for each in found.held_out if isinstance(each.calibration.mechanism, bp.ColumnMechanism))
    assert column.broken == 0
    assert held_out_of_all([], rest) == ()
    assert not bp.plan(framework(first), QUERY, 0.5).held_out


def test_normal_models_are_divided_too() -> None:
    random = np.random.default_rng(4)
    slopes = random.normal(1.0, 0.2, 20)
    network = GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": slopes}})
    network = network.read_as(network.reading, posterior_draws=Posterior(source="a survey", draws=20))
    first, rest = halves(network)

    def asked(models: GaussianNetwork) -> bp.DistributionalAttributePrivacy:
        return bp.DistributionalAttributePrivacy(
            models,
            bp.Schema(records=10, columns={"a": bp.Real(-50, 50), "b": bp.Real(-50, 50)}),
            protect={"a": bp.intervals(((-1, 0), (0, 1)))},
            source="a survey",
            laws={"a": stats.norm(0, 1), "b": stats.norm(0, 1)},
        )

    found = bp.TightMechanism().calibrate(asked(first), bp.mean("b"), epsilon=1.0)
    assert found.held_out(rest).broken == int((slopes[1::2] > slopes[::2].max()).sum())


def test_models_of_single_values_are_looked_at_too() -> None:
    first, rest = halves(drawn(np.random.default_rng(6).uniform(0.1, 0.3, 8)))
    schema = bp.Schema(records=4, columns={"a": bp.Categorical(["x", "y"]), "b": bp.Categorical(["u", "v"])})
    told = bp.plan(bp.ValuePrivacy(first, schema, "a", source="x"), QUERY, 0.5, held_out=rest).held_out
    assert [each.draws for each in told] == [4] * len(told)
    assert any(each.broken == 0 for each in told)


def test_draws_that_say_nothing_are_refused() -> None:
    shares = np.random.default_rng(5).uniform(0.1, 0.3, 6)
    first, rest = halves(drawn(shares))
    found = bp.TightMechanism().calibrate(framework(first), QUERY, epsilon=0.5)
    with pytest.raises(bp.errors.RefusedError, match="fitted to"):
        found.held_out(first)
    with pytest.raises(bp.errors.RefusedError, match="Markov chains"):
        halves(drawn(shares, independent=False))
    with pytest.raises(bp.errors.RefusedError, match="declared"):
        halves(replace(drawn(shares), posterior_draws=None))
    fitted, rest = halves(drawn(shares))
    other = replace(rest, posterior_draws=Posterior(source="another survey", draws=rest.models))
    calibration = bp.ColumnMechanism().calibrate(framework(fitted), QUERY, epsilon=1.0)
    with pytest.raises(bp.errors.RefusedError, match="another source"):
        calibration.held_out(other)
    reseeded = replace(rest, posterior_draws=replace(rest.posterior_draws, seed=1))
    assert calibration.held_out(reseeded).broken == calibration.held_out(rest).broken
    with pytest.raises(bp.errors.ParameterError):
        found.held_out(rest, confidence=1.0)
    with pytest.raises(bp.errors.ParameterError):
        found.held_out(rest, among=0)


def test_noise_that_is_learned_from_draws_shows_nothing() -> None:
    """An estimate for a held-out model is no proof that the noise is enough for it."""
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        rate = pm.Exponential("rate", 1.0)
        pm.Gamma("y", 2.0, rate, observed=np.ones(5))
    above = {"rate": np.random.default_rng(6).uniform(1, 2, (1, 6))}
    network = bp.from_pymc(model, posterior=above, independent=True).with_sampling(draws=500)
    first, rest = halves(network)
    columns = {"y": bp.Real(0, 10)}
    secret = {"rate": bp.intervals(((0.5, 1), (1.1, 2)))}
    asked = bp.DistributionalAttributePrivacy(first, bp.Schema(records=5, columns=columns), secret, source="made up")
    column, learned = (
        mechanism.calibrate(asked, bp.mean("y"), epsilon=1.0)
        for mechanism in (bp.ColumnMechanism(), bp.WassersteinMechanism())
    )
    assert learned.guarantee.kind == "estimate"
    assert [found.broken for found in held_out_of_all([column, learned], rest)] == [0, 3]
