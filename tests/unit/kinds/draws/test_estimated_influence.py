"""What columns tell, estimated from draws, against quadrature; and where draws do not tell it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.bound import FloatArray
from bnpriv.core.influence.base import influence_of, max_influence
from bnpriv.core.networks.base import ImportReport, Posterior, unfixed_of
from bnpriv.core.queries.base import normal_form
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.errors import NetworkError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.estimated_influence import (
    MOST_SEEN,
    EstimatedInfluence,
    binomial_limits,
    cross_scores,
    estimated_influence,
    reported_influence,
)
from bnpriv.kinds.draws.laws import LEAST_EFFECTIVE
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from tests.later import Later, optional

stats = Later("scipy.stats")
pm = optional("pymc")

PAIR = IntervalPair(Interval(-1.0, 0.0), Interval(0.0, 1.0))


def network_of(
    values: Mapping[str, FloatArray], *, chains: int = 0, log_weights: FloatArray | None = None, **how: Any
) -> DensityNetwork:
    """Return a network that is known by draws alone, independent ones where there are no chains."""
    names, drawer = tuple(values), how.pop("simulator", None)
    drawn = ParameterDraws(
        values=values,
        reading="belief",
        chains=chains or 1,
        posterior=Posterior(source="a test", draws=len(values[names[0]]), independent=not chains, belief=True),
        log_weights=log_weights,
    )
    parameters = {
        name: Parameter(name=name, parents=names[:k], lower=-math.inf, upper=math.inf) for k, name in enumerate(names)
    }
    return DensityNetwork(parameters=parameters, model_hash="test", simulator=drawer, drawn=drawn, **how)


def of(
    seen: Callable[[FloatArray, np.random.Generator], FloatArray], draws: int = 4000, seed: int = 0
) -> DensityNetwork:
    """Return the network of a standard normal secret and what is seen given it."""
    random = np.random.default_rng(seed)
    theta = random.normal(size=draws)
    return network_of({"theta": theta, "seen": seen(theta, random)})


def truth(density: Callable[[FloatArray, FloatArray], FloatArray], delta: float = 0.05) -> float:
    """Return the least epsilon by sums over grids, as plain as can be."""
    grid = np.linspace(-12, 12, 4001)
    laws: list[FloatArray] = []
    for side in (PAIR.first, PAIR.second):
        theta = np.linspace(side.low, side.high, 401)
        law = stats.norm.pdf(theta) @ density(grid[np.newaxis, :], theta[:, np.newaxis])
        laws.append(law / law.sum())
    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        over = max(np.maximum(a - math.exp(middle) * b, 0).sum() for a, b in (laws, laws[::-1]))
        low, high = (middle, high) if over > delta else (low, middle)
    return high


KNOWN = {
    "mean": (lambda t, r: r.normal(t, 1), lambda y, t: stats.norm.pdf(y, t, 1)),
    "spread": (lambda t, r: r.normal(0, np.exp(t / 2)), lambda y, t: stats.norm.pdf(y, 0, np.exp(t / 2))),
    "mixture": (
        lambda t, r: r.normal(t + r.choice([-2.0, 2.0], len(t)), 0.8),
        lambda y, t: (stats.norm.pdf(y, t - 2, 0.8) + stats.norm.pdf(y, t + 2, 0.8)) / 2,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_estimates_are_near_quadrature_and_their_intervals_cover(name: str) -> None:
    draw, density = KNOWN[name]
    answer = truth(density)
    found = [estimated_influence(of(draw, seed=seed), ["seen"], "theta", [PAIR]) for seed in range(30)]
    nats = np.array([each.nats for each in found])
    assert abs(np.nanmean(nats) - answer) < 0.25
    covers = [each.low <= answer + 0.01 and not each.high < answer - 0.01 for each in found]
    assert np.mean(covers) >= 0.85
    # wide enough to be worth having: the ends are not those of everything
    assert np.median([each.low for each in found]) > answer / 2


def test_what_is_independent_is_not_seen_to_tell() -> None:
    found = estimated_influence(of(lambda t, r: r.normal(size=len(t))), ["seen"], "theta", [PAIR])
    assert found.unknown is None
    assert found.nats == 0.0
    assert found.high < 0.2


def test_both_directions_and_all_pairs_count() -> None:
    network = of(KNOWN["mean"][0])
    near, far = (
        IntervalPair(Interval(-0.5, 0.0), Interval(0.0, 0.5)),
        IntervalPair(Interval(-1.5, -0.5), Interval(0.5, 1.5)),
    )
    alone = [estimated_influence(network, ["seen"], "theta", [pair]).rank for pair in (near, far)]
    together = estimated_influence(network, ["seen"], "theta", [near, far])
    assert alone[0] < alone[1] == together.rank
    turned = [IntervalPair(pair.second, pair.first) for pair in (near, far)]
    assert estimated_influence(network, ["seen"], "theta", turned).rank == pytest.approx(together.rank, abs=0.02)


def test_too_few_draws_in_a_secret_tell_nothing() -> None:
    found = estimated_influence(of(KNOWN["mean"][0], draws=200), ["seen"], "theta", [PAIR])
    assert found.unknown is not None
    assert "where 100 are needed" in found.unknown.found
    assert "Take about" in found.unknown.remedy
    assert all(map(math.isnan, (found.nats, found.low, found.high)))
    assert found.rank < 0


def test_what_draws_do_not_bound_is_told_at_least() -> None:
    found = estimated_influence(of(lambda t, r: t), ["seen"], "theta", [PAIR])
    assert found.unknown is not None
    assert math.isnan(found.nats)
    assert math.isnan(found.high)
    assert 3 < found.low < 8  # a thousand draws of one secret, none where the other lies


def test_one_pair_that_is_not_known_leaves_all_unknown() -> None:
    network = of(KNOWN["mean"][0])
    rare = IntervalPair(Interval(-5.0, -4.0), Interval(4.0, 5.0))
    found = estimated_influence(network, ["seen"], "theta", [PAIR, rare])
    assert found.unknown is not None
    assert math.isnan(found.nats)
    assert found.low > 0  # of the pair that is known


def test_draws_of_chains_count_as_fewer() -> None:
    random = np.random.default_rng(3)
    steps = np.repeat(random.normal(size=(4, 100)), 10, axis=1)
    theta = (steps + 0.05 * random.normal(size=steps.shape)).ravel()
    values = {"theta": theta, "seen": theta + random.normal(size=theta.size)}
    chain, independent = network_of(values, chains=4), network_of(values)
    assert estimated_influence(independent, ["seen"], "theta", [PAIR]).draws > 1000
    slow = estimated_influence(chain, ["seen"], "theta", [PAIR])
    assert slow.draws < 300
    assert not slow.high < estimated_influence(independent, ["seen"], "theta", [PAIR]).high


def test_weighted_draws_stand_for_those_of_the_posterior() -> None:
    random = np.random.default_rng(4)
    theta = random.normal(0, 2, 20_000)
    weights = stats.norm.logpdf(theta) - stats.norm.logpdf(theta, 0, 2)
    network = network_of({"theta": theta, "seen": random.normal(theta)}, log_weights=weights)
    found = estimated_influence(network, ["seen"], "theta", [PAIR])
    assert found.low <= truth(KNOWN["mean"][1]) <= found.high


def test_several_numbers_together_tell_more_than_one() -> None:
    random = np.random.default_rng(5)
    theta = random.normal(size=4000)
    network = network_of({"theta": theta, "one": random.normal(theta, 1.5), "other": random.normal(theta, 1.5)})
    together = estimated_influence(network, ["one", "other"], "theta", [PAIR])
    assert together.nats > estimated_influence(network, ["one"], "theta", [PAIR]).nats
    # their mean is all that the two tell
    answer = truth(lambda y, t: stats.norm.pdf(y, t, 1.5 / math.sqrt(2)))
    assert together.low <= answer <= together.high


def test_more_numbers_than_neighbours_can_tell_are_refused() -> None:
    random = np.random.default_rng(6)
    network = network_of({f"x{k}": random.normal(size=1000) for k in range(MOST_SEEN + 2)})
    found = estimated_influence(network, network.attributes[1:], "x0", [PAIR])
    assert found.unknown is not None
    assert f"at most {MOST_SEEN} numbers" in found.unknown.required


def test_no_estimate_is_an_influence() -> None:
    """What a mechanism asks stays unknown and infinite: noise that leaned on an estimate would promise too much."""
    network = of(KNOWN["mean"][0])
    influence = influence_of(network, ["seen"], "theta", [PAIR])
    assert math.isinf(float(influence))
    assert influence.delta(1.0) is influence.unknown
    assert "not known" in repr(influence)
    assert "not known" in influence.explain()
    with pytest.raises(NetworkError):
        max_influence(network, ["seen"], "theta", bp.intervals(((-1, 0), (0, 1))))


def test_the_answer_to_a_query_is_seen_without_noise() -> None:
    def drawn(names: Any, draws: int, *, seed: int, given: Any, records: int) -> Mapping[str, FloatArray]:
        noise = np.random.default_rng(seed).normal(0, 4, (draws, records))
        known = {"x": given["theta"][:, np.newaxis] + noise, "theta": given["theta"]}
        return {name: known[name] for name in names}

    theta = np.random.default_rng(7).normal(size=4000)
    reading = ImportReport(columns={"x": ("theta",)})
    network = network_of({"theta": theta}, simulator=drawn, reading=reading)
    form = normal_form(bp.mean("x"), bp.Schema(records=16, columns={"x": bp.Real(-40, 40)}))
    found = estimated_influence(network, ["x"], "theta", [PAIR], form=form)
    assert found.low <= truth(KNOWN["mean"][1]) <= found.high


def test_reports_keep_what_they_found_and_take_the_usual_delta() -> None:
    network = of(KNOWN["mean"][0])
    first = reported_influence(network, ["seen"], "theta", (PAIR,), 0.0)
    assert isinstance(first, EstimatedInfluence)
    assert first.delta == 0.05
    assert reported_influence(network, ["seen"], "theta", (PAIR,), 0.05) is first
    assert reported_influence(network, ["seen"], "theta", (PAIR,), 0.1).nats < first.nats


def test_scores_come_from_other_blocks() -> None:
    """A label that hangs on nothing cannot be told: scores from the draw itself would find it."""
    random = np.random.default_rng(8)
    first = random.random(4000) < 0.5
    scores = cross_scores(random.normal(size=(4000, 1)), first, np.ones(4000))
    assert abs(scores[first].mean() - scores[~first].mean()) < 0.02
    both = cross_scores(random.normal(size=(4000, 2)), first, np.ones(4000))
    assert abs(both[first].mean() - both[~first].mean()) < 0.02


def test_limits_of_shares_are_those_of_clopper_and_pearson() -> None:
    low, high = binomial_limits(np.array([0.0, 0.03, 0.5, 1.0]), 200)
    seen = np.array([0, 6, 100, 200])
    with np.errstate(invalid="ignore"):
        assert low[1:] == pytest.approx(stats.beta.ppf(0.025, seen[1:], 201 - seen[1:]))
        assert high[:-1] == pytest.approx(stats.beta.ppf(0.975, seen[:-1] + 1, 200 - seen[:-1]))
    assert (low[0], high[-1]) == (0.0, 1.0)


def test_as_many_draws_as_are_needed_are_enough() -> None:
    random = np.random.default_rng(7)
    for each, enough in ((LEAST_EFFECTIVE, True), (LEAST_EFFECTIVE - 1, False)):
        theta = random.permutation(np.concatenate([random.uniform(0.1, 0.9, 900), random.uniform(-0.9, -0.1, each)]))
        found = estimated_influence(
            network_of({"theta": theta, "seen": random.normal(theta)}), ["seen"], "theta", [PAIR]
        )
        assert found.draws == pytest.approx(each)
        assert (found.unknown is None) == enough


def test_several_pairs_keep_the_largest_ends_and_the_fewest_draws() -> None:
    network = of(KNOWN["mean"][0])
    other = IntervalPair(Interval(-1.5, -0.8), Interval(-0.1, 0.1))
    alone = [estimated_influence(network, ["seen"], "theta", [pair]) for pair in (PAIR, other)]
    for pairs in ([PAIR, other], [other, PAIR]):
        both = estimated_influence(network, ["seen"], "theta", pairs)
        assert both.nats == max(each.nats for each in alone)
        assert both.low == max(each.low for each in alone)
        assert both.high == max(each.high for each in alone)
        assert both.draws == min(each.draws for each in alone)


def test_draws_without_weight_tell_nothing() -> None:
    random = np.random.default_rng(6)
    theta, counts = random.normal(size=8000), random.random(8000) < 0.5
    seen = np.where(counts, random.normal(size=8000), theta)
    network = network_of({"theta": theta, "seen": seen}, log_weights=np.where(counts, 0.0, -40.0))
    assert estimated_influence(network, ["seen"], "theta", [PAIR]).high < 0.3


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_every_model_counts_with_what_lies_between_drawn_anew(order: tuple[int, int]) -> None:
    with pm.Model() as model:
        theta, spread = pm.Normal("theta", 0, 1), pm.HalfNormal("spread", 5)
        pm.Normal("seen", pm.Normal("between", theta, 0.1), spread)
    draws = {"theta": [0.2, 0.3], "between": [0.2, 0.3], "spread": [9.0, 0.1]}
    posterior = {name: np.array([values])[:, list(order)] for name, values in draws.items()}
    network = bp.from_pymc(model, posterior=posterior, reading="models", columns=[])
    network = unfixed_of(network, ["theta"])
    found = estimated_influence(network, ["seen"], "theta", [PAIR])
    assert found.low > 1.5


def test_where_much_is_told_only_the_lower_end_is() -> None:
    random = np.random.default_rng(4)
    theta = np.concatenate([random.uniform(0.1, 0.9, 2000), random.uniform(-0.9, -0.1, 2000)])
    seen = random.normal(np.where(theta > 0, 3.0, 0.0))
    found = estimated_influence(network_of({"theta": theta, "seen": seen}), ["seen"], "theta", [PAIR])
    assert found.unknown is not None
    assert 3 < found.low < 8.65
    assert math.isnan(found.nats)
    assert math.isnan(found.high)
