"""Laws of answers learned from forward draws: end to end against laws that are known exactly."""

from __future__ import annotations

import gc
import json
import math
import re
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.special import betainc, betaln, gammaln

import bnpriv as bp
import bnpriv.core.distributions as draws_module
import bnpriv.kinds.draws.answers as forward_module
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.constraints import Constraint, LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.mechanisms.law_mechanisms import foretold_scale
from bnpriv.core.networks.base import ImportReport
from bnpriv.core.privacy_curves import LaplacePair, gaussian_mixture_delta
from bnpriv.core.transport import closeness
from bnpriv.errors import BnprivError, NetworkError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.laws import SampledLaws
from tests.later import Later

stats = Later("scipy.stats")

TIGHT, WASSERSTEIN = bp.TightMechanism(), bp.WassersteinMechanism()


@dataclass
class Coins:
    """Theta is Beta(2, 3); given theta, the records of x are heads with probability theta."""

    calls: list[tuple[tuple[str, ...], int, int]] = field(default_factory=list)

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, np.ndarray]:
        asked = tuple(names)
        self.calls.append((asked, draws, seed))
        random = np.random.default_rng(seed)
        theta = np.full(draws, given["theta"]) if "theta" in given else random.beta(2, 3, draws)
        tables = (random.random((draws, records)) < theta[:, None]).astype(float) if "x" in asked else None
        return {name: theta if name == "theta" else tables for name in asked}


class Means:
    """A mean is N(0, 1), another is N(the first, 1); given it, the records of y are N(it, 1)."""

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        top = np.full(draws, given["top"]) if "top" in given else random.normal(size=draws)
        mean = np.full(draws, given["mean"]) if "mean" in given else top + random.normal(size=draws)
        kind = (mean > 0).astype(float)
        y = mean[:, None] + random.normal(size=(draws, records)) if "y" in set(names) else None
        return {name: {"top": top, "mean": mean, "kind": kind, "y": y}[name] for name in names}


def coins(simulator: object = None, *, records: int = 20, secrets: object = None, **sampling: object) -> tuple:
    """Return a framework over coins, and the number of heads."""
    network = DensityNetwork(
        parameters={"theta": Parameter(name="theta", lower=0, upper=1)},
        model_hash="coins",
        simulator=simulator or Coins(),
        reading=ImportReport(columns={"x": ("theta",)}),
    ).with_sampling(**sampling)
    schema = bp.Schema(records=records, columns={"x": bp.Integer(0, 1), "noise": bp.Categorical(["a", "b"])})
    protect = {"theta": secrets or bp.intervals((0.3, 0.5))}
    framework = bp.DistributionalAttributePrivacy(
        network, schema, protect, source="invented", independent=["noise"], laws={"noise": {"a": 0.5, "b": 0.5}}
    )
    return framework, bp.count(bp.col("x") == 1)


def means(secrets: Mapping[str, object], *, records: int = 10, **sampling: object) -> bp.DistributionalAttributePrivacy:
    parameters = {
        "top": Parameter(name="top", lower=-math.inf, upper=math.inf),
        "mean": Parameter(name="mean", parents=("top",), lower=-math.inf, upper=math.inf),
        "kind": Parameter(name="kind", parents=("mean",), lower=0, upper=1, states=(0.0, 1.0)),
    }
    network = DensityNetwork(
        parameters=parameters, model_hash="means", simulator=Means(), reading=ImportReport(columns={"y": ("mean",)})
    ).with_sampling(**sampling)
    schema = bp.Schema(records=records, columns={"y": bp.Real(-5, 5)})
    return bp.DistributionalAttributePrivacy(network, schema, secrets, source="invented")


def heads_within(low: float, high: float, records: int) -> Atoms:
    """Return the exact law of the number of heads given theta in an interval: a ratio of incomplete beta integrals."""
    if low == high:
        return Atoms.binomial(records, low)
    k = np.arange(records + 1)
    choose = gammaln(records + 1) - gammaln(k + 1) - gammaln(records - k + 1)
    inside = betainc(2 + k, 3 + records - k, high) - betainc(2 + k, 3 + records - k, low)
    whole = betainc(2, 3, high) - betainc(2, 3, low)
    masses = np.exp(choose + betaln(2 + k, 3 + records - k) - betaln(2, 3)) * inside / whole
    return Atoms(k, masses / masses.sum())


def pair_of(framework: object, query: object) -> object:
    evidence = laws(framework, query)
    assert isinstance(evidence, SampledLaws)
    return evidence.constraints()[0].pairs[0]


# --- the draws are from the exact law ------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.3), (0.2, 0.4)])
def test_draws_follow_the_exact_law_given_a_secret(low: float, high: float) -> None:
    framework, query = coins(records=20, secrets=bp.intervals(((low, high), (0.6, 0.9))), draws=40_000)
    drawn, exact = pair_of(framework, query).first, heads_within(low, high, 20)
    expected = np.zeros(21)
    expected[exact.support.astype(int)] = exact.probabilities * 40_000
    counted = np.zeros(21)
    counted[drawn.support.astype(int)] = drawn.probabilities * 40_000
    often = expected > 20
    statistic = float(((counted - expected) ** 2 / np.maximum(expected, 1e-9))[often].sum())
    assert 1e-4 < stats.chi2.sf(statistic, often.sum()) < 1 - 1e-4
    assert counted.sum() == pytest.approx(40_000)


def test_an_interval_of_a_parameter_with_parents_is_conditioned_exactly() -> None:
    framework = means({"mean": bp.intervals(((-2, -1), (1, 2)))}, draws=20_000, cells=20_000)
    drawn = pair_of(framework, bp.mean("y")).second
    inside = stats.truncnorm(1 / math.sqrt(2), 2 / math.sqrt(2), scale=math.sqrt(2))
    assert drawn.mean[0] == pytest.approx(inside.mean(), abs=5 * math.sqrt((inside.var() + 0.1) / 20_000))
    assert drawn.covariance[0, 0] == pytest.approx(inside.var() + 0.1, rel=0.05)


def test_a_state_of_a_parameter_with_parents_is_conditioned_exactly() -> None:
    pair = pair_of(means({"kind": bp.intervals((0, 1))}, draws=20_000), bp.mean("y"))
    # the mean is N(0, 2), and above 0 given kind 1
    assert pair.second.mean[0] - pair.first.mean[0] == pytest.approx(4 / math.sqrt(math.pi), abs=0.05)


def test_a_secret_above_the_column_is_conditioned_exactly() -> None:
    pair = pair_of(means({"top": bp.intervals((-1, 1))}, draws=20_000), bp.mean("y"))
    assert pair.second.mean[0] - pair.first.mean[0] == pytest.approx(2, abs=0.06)


def test_independent_columns_are_drawn_too() -> None:
    framework, _ = coins(records=20, draws=20_000)
    query = bp.count((bp.col("x") == 1) & (bp.col("noise") == "b"))
    law = pair_of(framework, query).second
    assert law.mean[0] == pytest.approx(20 * 0.5 * 0.5, abs=0.08)
    assert law.covariance[0, 0] == pytest.approx(20 * 0.25 * 0.75, rel=0.05)


# --- estimates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sides", [((0.3, 0.3), (0.5, 0.5)), ((0.2, 0.3), (0.4, 0.6))])
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_an_estimate_is_close_to_the_exact_scale(sides: tuple, delta: float) -> None:
    framework, query = coins(records=20, secrets=bp.intervals(sides), draws=100_000)
    known = [heads_within(*side, 20) for side in sides]
    exact = bp.DistributionPrivacy([tuple(known)], query=query, schema=framework.schema, source="exact")
    for mechanism in (TIGHT, WASSERSTEIN) if delta else (TIGHT,):
        wanted = mechanism.calibrate(exact, epsilon=1.0, delta=delta).scale
        found = mechanism.calibrate(framework, query, epsilon=1.0, delta=delta)
        assert found.scale == pytest.approx(wanted, rel=0.1, abs=1.01 if mechanism is WASSERSTEIN else 0.2)
        assert (found.guarantee.kind, found.guarantee.confidence) == ("estimate", None)


def test_gathered_draws_need_a_little_more_noise() -> None:
    query = bp.mean("y")
    scales = [
        TIGHT.calibrate(
            means({"top": bp.intervals((-1, 1))}, draws=3000, cells=cells), query, epsilon=1.0, delta=delta
        ).scale
        for delta in (0.0, 0.05)
        for cells in (5000, 100, 20)
    ]
    assert scales[0] < scales[1] < scales[2] < 1.3 * scales[0]
    assert scales[3] == pytest.approx(scales[4], rel=0.01)  # the second order alone counts
    assert scales[3] * 0.99 < scales[5] < 1.1 * scales[3]


class Tails:
    """One record, with tails of a Cauchy law about t."""

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, np.ndarray]:
        return {"y": given["t"] + np.random.default_rng(seed).standard_cauchy((draws, records))}


def test_heavy_tails_cost_little_noise_by_default() -> None:
    """Most draws are within 10 of the middle, and some a thousand away."""
    network = DensityNetwork(
        parameters={"t": Parameter(name="t", lower=-1, upper=1)},
        model_hash="tails",
        simulator=Tails(),
        reading=ImportReport(columns={"y": ("t",)}),
    )
    schema = bp.Schema(records=1, columns={"y": bp.Real(-10_000, 10_000)})

    def scale(known: DensityNetwork, noise: str = "laplace") -> float:
        secrets = {"t": bp.intervals((-0.75, 0.75))}
        framework = bp.DistributionalAttributePrivacy(known, schema, secrets, source="invented")
        mechanism = bp.TightMechanism(noise=noise, large_delta=True)
        return mechanism.calibrate(framework, bp.total("y"), epsilon=1.0, delta=0.03).scale

    everything = scale(network.with_sampling(cells=20_000))
    assert everything <= scale(network) < 1.15 * everything
    # more cells are no reason to refuse Gaussian noise
    assert scale(network.with_sampling(cells=20_000), "gaussian") == pytest.approx(scale(network, "gaussian"), rel=0.05)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_several_numbers_at_once(noise: str) -> None:
    framework, _ = coins(records=12, draws=500, cells=60)
    query = bp.stack(bp.count(bp.col("x") == 1), bp.count(bp.col("noise") == "a"))
    found = bp.WassersteinMechanism(noise=noise).calibrate(framework, query, epsilon=1.0, delta=0.05)
    assert 0 < found.scale < 40
    assert found.noise.dimension == 2
    assert "several numbers at once" in str(TIGHT.supports(framework, query, epsilon=1.0, delta=0.05))


def test_discrete_noise_needs_whole_numbers() -> None:
    framework, query = coins(draws=5000)
    found = bp.TightMechanism(noise="discrete_laplace").calibrate(framework, query, epsilon=1.0)
    assert found.guarantee.kind == "estimate"
    sure, _ = coins(draws=50_000, confidence=0.9)
    refusal = bp.TightMechanism(noise="discrete_laplace").supports(sure, query, epsilon=1.0, delta=0.04)
    assert "delta above 0" in str(refusal)


# --- guarantees with a confidence ----------------------------------------------------------------------------------


def needed(
    mechanism: bp.types.Mechanism, sides: tuple, records: int, epsilon: float, delta: float, scale: float
) -> bool:
    """Return whether the exact laws of the answer with so much noise are private."""
    first, second = (heads_within(*side, records) for side in sides)
    if mechanism.noise == "gaussian" and scale > 0:
        return gaussian_mixture_delta(first, second, scale, epsilon) <= delta * (1 + 1e-4)
    return LaplacePair.of(first, second).delta(scale, epsilon) <= delta


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN, bp.TightMechanism(noise="gaussian")], ids=str)
def test_certified_noise_is_enough_for_the_exact_laws(mechanism: bp.types.Mechanism) -> None:
    sides, epsilon, delta = ((0.3, 0.3), (0.5, 0.5)), 0.5, 0.04
    times = 15 if mechanism.noise == "gaussian" else 60
    private, scales = 0, []
    for seed in range(times):
        framework, query = coins(secrets=bp.intervals(sides), draws=20_000, confidence=0.95, seed=seed)
        found = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
        assert found.guarantee.kind == "certified"
        scales.append(found.scale)
        private += needed(mechanism, sides, 20, epsilon, delta, found.scale)
    assert private == times
    exact = bp.DistributionPrivacy(
        [tuple(heads_within(*side, 20) for side in sides)], query=query, schema=framework.schema, source="exact"
    )
    least = mechanism.calibrate(exact, epsilon=epsilon, delta=delta).scale
    assert least < np.mean(scales) < 2 * least  # not far more than is needed


def failing(mechanism: bp.types.Mechanism, times: int = 300) -> int:
    """Return how often noise is too small where nothing is lost but by chance: one record, one fixed best set."""
    sides, epsilon = ((0.5, 0.5), (0.45, 0.45)), 0.001
    delta = 0.9999 * LaplacePair.of(*(heads_within(*side, 1) for side in sides)).delta(0.0, epsilon)
    failed = 0
    for seed in range(times):
        framework, query = coins(records=1, secrets=bp.intervals(sides), draws=20_000, confidence=0.95, seed=seed)
        found = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta)
        failed += not needed(mechanism, sides, 1, epsilon, delta, found.scale)
    return failed


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_noise_is_too_small_as_seldom_as_is_said_at_the_hardest(mechanism: bp.types.Mechanism) -> None:
    # a third of 5 % each; stats.binom.sf(12, 300, 0.05 / 3) is 0.2 %
    assert failing(mechanism) <= 12


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_half_of_what_draws_may_miss_would_be_found_out(monkeypatch: pytest.MonkeyPatch, mechanism) -> None:
    real = draws_module.missed
    monkeypatch.setattr(draws_module, "missed", lambda *args: 0.5 * real(*args))
    assert failing(mechanism) > 12


class Shapes:
    """The one record of y is spread around whole numbers if t is 0, and at them if t is 1."""

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> dict[str, np.ndarray]:
        random = np.random.default_rng(seed)
        places = random.integers(0, 5, (draws, records)).astype(float)
        return {"y": places + (1 - given["t"]) * random.choice([-0.4, 0.4], (draws, records))}


def shapes_scale(mechanism: bp.types.Mechanism, cells: int, seed: int) -> float:
    network = DensityNetwork(
        parameters={"t": Parameter(name="t", lower=0, upper=1)},
        model_hash="shapes",
        simulator=Shapes(),
        reading=ImportReport(columns={"y": ("t",)}),
    ).with_sampling(draws=300, seed=seed, cells=cells, confidence=0.5)
    schema = bp.Schema(records=1, columns={"y": bp.Real(-1, 5, steps=60)})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"t": bp.intervals((0, 1))}, source="invented")
    return mechanism.calibrate(framework, bp.total("y"), epsilon=0.5, delta=0.4).scale


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN, bp.TightMechanism(noise="gaussian")], ids=str)
def test_gathered_draws_never_need_less_noise_than_the_draws_themselves(mechanism: bp.types.Mechanism) -> None:
    """Five cells hide all that there is to hide: only what they moved keeps the noise up."""
    for seed in range(2 if mechanism.noise == "gaussian" else 5):
        assert shapes_scale(mechanism, 5, seed) >= shapes_scale(mechanism, 5000, seed) > 0


def test_a_guarantee_with_a_confidence_needs_delta() -> None:
    framework, query = coins(draws=20_000, confidence=0.95)
    for mechanism in (TIGHT, WASSERSTEIN):
        assert "draws say nothing of answers so rare" in str(mechanism.supports(framework, query, epsilon=1.0))
    refusal = bp.WassersteinMechanism(noise="gaussian").supports(framework, query, epsilon=1.0, delta=0.04)
    assert "farthest" in str(refusal)


def test_too_few_draws_are_refused_with_the_number_that_is_needed() -> None:
    simulator = Coins()
    framework, query = coins(simulator, draws=1000, confidence=0.95)
    refusal = WASSERSTEIN.supports(framework, query, epsilon=1.0, delta=0.04)
    assert refusal is not None
    assert "passes one over the number of records, 0.05, too" in refusal.found
    number = int(refusal.remedy.split()[3].replace(",", ""))
    enough, _ = coins(draws=number, confidence=0.95)
    short, _ = coins(draws=number - 1, confidence=0.95)
    assert WASSERSTEIN.supports(enough, query, epsilon=1.0, delta=0.04) is None
    assert WASSERSTEIN.supports(short, query, epsilon=1.0, delta=0.04) is not None
    assert simulator.calls == []  # refused before anything is drawn
    for epsilon, delta in ((1.0, 1e-5), (100.0, 0.04)):
        many = TIGHT.supports(framework, query, epsilon=epsilon, delta=delta)
        assert many is not None
        assert "above the limit" in many.remedy


# --- what is drawn, and how often -----------------------------------------------------------------------------------


def test_what_was_drawn_serves_all_mechanisms_and_is_let_go() -> None:
    simulator = Coins()
    framework, query = coins(simulator, draws=5000)
    first = TIGHT.calibrate(framework, query, epsilon=1.0)
    drawn = len(simulator.calls)
    again = TIGHT.calibrate(framework, query, epsilon=1.0)
    WASSERSTEIN.calibrate(framework, query, epsilon=2.0)
    assert len(simulator.calls) == drawn == 2
    assert first.to_json() == again.to_json()
    other, _ = coins(Coins(), draws=5000)
    assert TIGHT.calibrate(other, query, epsilon=1.0).to_json() == first.to_json()
    assert bp.types.Calibration.from_json(first.to_json(), other, query).scale == first.scale
    sampled_laws = [
        weakref.ref(law) for each in (framework, other) for law in each.kept.table("drawn distributions").values()
    ]
    assert len(sampled_laws) == 2
    del framework, other, first, again
    gc.collect()
    assert all(law() is None for law in sampled_laws)


def test_seeds_differ_between_batches_sides_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_module, "MOST_NUMBERS_AT_ONCE", 20 * 300)
    simulator = Coins()
    for seed in (0, 1):
        sides = bp.intervals((0.3, 0.5), ((0.1, 0.2), (0.6, 0.7)))
        framework, query = coins(simulator, secrets=sides, draws=1000, seed=seed)
        assert sum(c.pairs[0].sampled.draws for c in laws(framework, query).constraints()) == 1000
    seeds = [seed for _, _, seed in simulator.calls]
    assert len(seeds) == len(set(seeds)) > 20
    assert all(draws <= 300 for names, draws, _ in simulator.calls if "x" in names)


# --- refusals ------------------------------------------------------------------------------------------------------


def refusal_of(framework: object, query: object) -> str:
    return str(TIGHT.supports(framework, query, epsilon=1.0))


def test_what_cannot_be_drawn_exactly_is_refused() -> None:
    y = bp.mean("y")
    assert "a single value of a parameter that depends on others" in refusal_of(
        means({"mean": bp.intervals((0, 1))}), y
    )
    assert "mean in [8, 9] in 0" in refusal_of(means({"mean": bp.intervals(((8, 9), (0, 1)))}), y)
    with pytest.raises(BnprivError, match="must be intervals"):
        means({"top": bp.apart(at_most=1)})
    assert "positive probability" in refusal_of(means({"kind": bp.intervals((0.5, 1))}), y)
    assert "a custom query" in refusal_of(
        means({"top": bp.intervals((0, 1))}), bp.custom(lambda table: 0.0, columns=["y"], sensitivity=1)
    )


def test_pairs_that_are_impossible_are_dropped_and_named() -> None:
    framework, query = coins(secrets=bp.intervals((0.3, 0.5), (0.3, 1.5)), draws=2000)
    found = TIGHT.calibrate(framework, query, epsilon=1.0)
    assert found.certificate.dropped == ("theta: 0.3 against 1.5, a secret has probability zero",)


def test_columns_that_the_model_does_not_draw_are_refused() -> None:
    framework, _ = coins()
    schema = bp.Schema(
        records=5, columns={"theta": bp.Real(0, 1), "x": bp.Categorical(["no", "yes"]), "z": bp.Real(0, 1)}
    )
    other = bp.DistributionalAttributePrivacy(
        framework.network, schema, {"theta": bp.intervals((0.2, 0.4))}, source="invented", independent=["z"]
    )
    assert "theta, a parameter without a column" in refusal_of(other, bp.mean("theta"))
    assert "none for z" in refusal_of(other, bp.mean("z"))
    assert "categories in words for x" in refusal_of(other, bp.count(bp.col("x") == "yes"))


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_module, "MOST_SAMPLED_NUMBERS", 1e6)
    framework, query = coins(draws=60_000)
    assert "may hold 1e+06 numbers" in refusal_of(framework, query)
    rare, _ = coins(secrets=bp.intervals(((0.3, 0.301), (0.5, 0.6))), draws=4000)
    assert "1 table of" in refusal_of(rare, query)


def test_what_a_simulator_refuses_is_a_refusal() -> None:
    def refusing(names: Iterable[str], draws: int, **rest: object) -> dict[str, np.ndarray]:
        raise NetworkError("a column needs as many records as it has", found="another number", remedy="Change it.")

    framework, query = coins(refusing)
    assert "as many records" in refusal_of(framework, query)


# --- words ---------------------------------------------------------------------------------------------------------


def test_an_estimate_says_so_everywhere() -> None:
    framework, query = coins(draws=4000, seed=9)
    found = TIGHT.calibrate(framework, query, epsilon=1.0)
    text, page, record = (
        found.text,
        re.sub("<[^>]*>", "", found.to_html()).replace("&nbsp;", " "),
        json.loads(found.to_json()),
    )
    for words in ("rests on an estimate", "4,000 independent draws under each secret (seed 9;"):
        assert words in text
        assert words in page
    assert "exact distribution" not in page
    assert "each learned from 4,000 draws" in page
    assert (record["guarantee"]["kind"], record["guarantee"]["confidence"]) == ("estimate", None)
    assert record["certificate"]["kind"] == "estimate"
    assert record["certificate"]["decisions"][0]["draws"] == 4000
    assert "rests on an estimate" in found._repr_html_()
    plan = bp.types.Plan(calibrations=(found,), refusals=())
    assert "(an estimate)" in plan.text
    assert "an estimate" in plan.to_html()
    drawn = found.certificate.decisions[0].plot()
    assert "first secret, from draws" in [text.get_text() for text in drawn.get_legend().get_texts()]


def test_a_confidence_is_named_everywhere() -> None:
    framework, query = coins(draws=40_000, confidence=0.975)
    found = WASSERSTEIN.calibrate(framework, query, epsilon=1.0, delta=0.04)
    text, page, record = (
        found.text,
        re.sub("<[^>]*>", "", found.to_html()).replace("&nbsp;", " "),
        json.loads(found.to_json()),
    )
    for words in (
        "holds with confidence 97.5 % over draws from the model",
        "certified, with confidence 97.5 %",
        "That is for an epsilon and a delta fixed beforehand",
        "not for several epsilons or deltas",
    ):
        assert words in text
        assert words in page
    guarantee, _, curve = text.partition("How much the answer can tell, and how often")
    assert "estimate" not in guarantee
    assert "an estimate" in curve  # what the laws that were drawn tell is not what the true ones do
    assert (record["guarantee"]["kind"], record["guarantee"]["confidence"]) == ("certified", 0.975)
    assert record["certificate"]["confidence"] == 0.975
    plan = bp.types.Plan(calibrations=(found,), refusals=())
    assert "(confidence 97.5 %)" in plan.text
    assert found.certificate.sensitivity.kind == "certified"


def test_no_channel_is_sought_for_laws_from_draws() -> None:
    """Rows that keep drawn laws alike say nothing of answers that were not drawn."""
    framework, query = coins(draws=2_000)
    refusal = bp.mechanisms.OptimalMechanism().supports(framework, query, epsilon=1.0)
    assert refusal is not None
    assert refusal.found == "distributions that are learned from draws"


def test_exact_laws_speak_of_no_draws() -> None:
    exact = bp.DistributionPrivacy([(Atoms.binomial(9, 0.3), Atoms.binomial(9, 0.5))], source="exact")
    assert TIGHT.supports(exact, epsilon=90.0) is None
    found = TIGHT.calibrate(exact, epsilon=0.5)
    assert found.certificate.confidence is None
    assert "without draws" in found.text
    assert "learned" not in found.text
    assert found.certificate.known == "exact"


def test_many_pairs_fail_no_more_often_than_the_worst_of_them() -> None:
    """There is no union bound over pairs: the noise for all is too small only if that for the worst pair is."""
    sides = [(low, low + 0.2) for low in (0.2, 0.3, 0.4, 0.5)]
    failed = 0
    for seed in range(40):
        framework, query = coins(secrets=bp.intervals(*sides), draws=20_000, confidence=0.8, seed=seed)
        found = WASSERSTEIN.calibrate(framework, query, epsilon=1.0, delta=0.04).scale
        least = max(closeness(*(heads_within(side, side, 20) for side in pair), 0.04).upper for pair in sides)
        failed += found < least * (1 - 1e-9)
    assert failed <= 40 * 0.2


def test_estimates_from_draws_err_on_the_side_of_more_noise() -> None:
    # heavy tails: the answer is 2^k with probability about 2^-k, or 2^(-k / 1.3)
    points = np.concatenate([[0.0], 2.0 ** np.arange(10)])
    laws_of = [np.concatenate([[1.0], rate ** np.arange(1, 11)]) for rate in (0.5, 0.6)]
    first, second = (Atoms(points, masses / masses.sum()) for masses in laws_of)
    delta, draws, random = 0.01, 2_000, np.random.default_rng(3)

    def needed(one: Atoms, other: Atoms) -> float:
        pair = LawPair(pair="a pair", first=one, second=other, rounding=0.0, kind="estimate")
        constraint = Constraint(protected="x", model=0, record=None, pairs=(pair,))
        return foretold_scale(constraint, epsilon=0.5, delta=delta, rounding=0.0)

    def again(law: Atoms) -> Atoms:
        met = random.multinomial(draws, law.probabilities / law.probabilities.sum())
        return Atoms(points[met > 0], met[met > 0] / draws)

    least = needed(first, second)
    samples = [(again(first), again(second)) for _ in range(200)]
    excess = np.array([LaplacePair.of(*each).delta(least, 0.5) for each in samples])
    assert excess.mean() > delta - 2 * excess.std() / math.sqrt(200)
    scales = np.array([needed(*each) for each in samples])
    true = np.array([LaplacePair.of(first, second).delta(scale, 0.5) for scale in scales])
    assert np.mean(scales < least) < 0.57  # half of them, and three standard errors
    assert true.mean() < delta * (1 + 2 * true.std() / delta / math.sqrt(200))
