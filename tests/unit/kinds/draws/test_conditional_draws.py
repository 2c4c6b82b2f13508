"""Properties of drawn tables, and pairs of models: against laws that are known exactly (conditional_draws.md)."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.kinds.draws.answers as forward_module
import bnpriv.kinds.draws.conditions as conditions_module
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import ImportReport
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.core.secrets import Interval
from bnpriv.errors import FrameworkError, NetworkError, SecretError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.conditions import inside, side_words
from bnpriv.kinds.draws.laws import SampledLaws
from tests.later import Later

stats = Later("scipy.stats")

TIGHT, WASSERSTEIN = bp.TightMechanism(), bp.WassersteinMechanism()
Tables = dict[str, np.ndarray]
N = 12


@dataclass(frozen=True)
class Drawn:
    """A simulator: what is drawn, by name, from a generator, for so many tables of so many records."""

    draw: Callable[[np.random.Generator, int, int], Tables]

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> Tables:
        assert not given
        found = self.draw(np.random.default_rng(seed), draws, records)
        return {name: found[name] for name in names}


def network(
    draw: Callable[[np.random.Generator, int, int], Tables],
    columns: Iterable[str],
    parameters: Iterable[str] = (),
    mark: str = "drawn",
    **sampling: object,
) -> DensityNetwork:
    named = tuple(parameters)
    return DensityNetwork(
        parameters={name: Parameter(name=name, lower=-math.inf, upper=math.inf) for name in named},
        model_hash=mark,
        simulator=Drawn(draw),
        reading=ImportReport(columns=dict.fromkeys(columns, named)),
    ).with_sampling(**sampling)


def ward(prior: tuple[float, float], **sampling: object) -> DensityNetwork:
    """How common an illness is, is Beta; being ill, and coughing, have that probability; the ill smoke more often."""

    def draw(random: np.random.Generator, draws: int, records: int) -> Tables:
        theta = random.beta(*prior, (draws, 1))
        ill, coughs = (random.random((draws, records)) < theta for _ in range(2))
        smokes = random.random((draws, records)) < np.where(ill, 0.6, 0.2)
        return {"ill": ill.astype(float), "coughs": coughs.astype(float), "smokes": smokes.astype(float)}

    return network(draw, ("ill", "coughs", "smokes"), ("theta",), f"ward {prior}", **sampling)


def patients(**sampling: object) -> DensityNetwork:
    """The same records as `records()` has, drawn: independent, with known probabilities."""

    def draw(random: np.random.Generator, draws: int, size: int) -> Tables:
        ill = random.random((draws, size)) < 0.3
        smokes = random.random((draws, size)) < np.where(ill, 0.6, 0.2)
        return {"ill": ill.astype(float), "smokes": smokes.astype(float)}

    return network(draw, ("ill", "smokes"), mark="patients", **sampling)


def records(share: float = 0.3) -> bp.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables(
        {"ill": [1 - share, share], "smokes": [[0.8, 0.4], [0.2, 0.6]]},
        states={"ill": [0, 1], "smokes": [0, 1]},
        parents={"smokes": ["ill"]},
        level="records",
    )


SCHEMA = bp.Schema(records=N, columns={name: bp.Integer(0, 1) for name in ("ill", "smokes", "coughs")})
ILL, SMOKES, COUGHS = (bp.count(bp.col(name) == 1) for name in ("ill", "smokes", "coughs"))


def hidden(model: object, pairs: object, protect: bp.types.Query = ILL, schema: bp.Schema = SCHEMA) -> object:
    secret = bp.Secret(protect, pairs=pairs)
    return bp.DatasetAttributePrivacy(model, schema, {secret.column: secret}, source="invented")


def pair_of(framework: object, query: object, k: int = 0) -> object:
    evidence = laws(framework, query)
    assert isinstance(evidence, SampledLaws), str(evidence)
    return evidence.constraints()[k].pairs[0]


def fits(drawn: Atoms, exact: Mapping[float, float], draws: int) -> bool:
    """Return whether draws are likely under an exact law (chi-squared, rare values taken together)."""
    counted = dict(zip(drawn.support.tolist(), (drawn.probabilities * draws).tolist(), strict=True))
    assert set(counted) <= set(exact), "a value of probability zero"
    often = [value for value, mass in exact.items() if mass * draws > 15]
    rest = draws - sum(exact[value] * draws for value in often)
    seen = [counted.get(value, 0.0) for value in often]
    terms = [(c - exact[v] * draws) ** 2 / (exact[v] * draws) for c, v in zip(seen, often, strict=True)]
    if rest > 5:
        terms.append((draws - sum(seen) - rest) ** 2 / rest)
    freedom = len(often) - (rest <= 5)
    return freedom == 0 or stats.chi2.sf(sum(terms), freedom) > 1e-4


def beta_binomial(a: float, b: float, n: int = N) -> dict[float, float]:
    return {float(k): float(stats.betabinom.pmf(k, n, a, b)) for k in range(n + 1)}


def mixed(parts: Mapping[int, Mapping[float, float]], weights: Mapping[int, float]) -> dict[float, float]:
    total = sum(weights[s] for s in parts)
    values = {value for law in parts.values() for value in law}
    return {v: sum(weights[s] * law.get(v, 0.0) for s, law in parts.items()) / total for v in sorted(values)}


def atoms(law: Mapping[float, float]) -> Atoms:
    masses = np.array(list(law.values()))
    return Atoms(list(law), masses / masses.sum())


# --- the kept draws have the conditional law ------------------------------------------------------------------------


def coughs_given(prior: tuple[float, float], members: Iterable[int]) -> dict[float, float]:
    """Return the law of the number that cough given how many are ill: the illness tells of theta, theta of coughs."""
    a, b = prior
    parts = {s: beta_binomial(a + s, b + N - s) for s in members}
    return mixed(parts, {int(s): mass for s, mass in beta_binomial(a, b).items()})


@pytest.mark.parametrize("prior", [(2, 8), (0.5, 0.5)])
def test_a_property_tells_of_the_parameter_and_so_of_other_columns(prior: tuple[float, float]) -> None:
    pair = pair_of(hidden(ward(prior, draws=20_000), bp.intervals(((0, 2), (4, 9)))), COUGHS)
    assert fits(pair.first, coughs_given(prior, range(3)), 20_000)
    assert fits(pair.second, coughs_given(prior, range(4, 10)), 20_000)


def test_values_of_a_property_one_or_several() -> None:
    model = ward((4, 6), draws=10_000)
    pair = pair_of(hidden(model, bp.pairs(({3, 7}, 5))), COUGHS)
    assert fits(pair.first, coughs_given((4, 6), [3, 7]), 10_000)
    assert fits(pair.second, coughs_given((4, 6), [5]), 10_000)
    shares = pair_of(hidden(model, bp.pairs((0.333333333333, 0.5)), bp.proportion(bp.col("ill") == 1)), COUGHS)
    assert fits(shares.first, coughs_given((4, 6), [4]), 10_000)
    assert fits(shares.second, coughs_given((4, 6), [6]), 10_000)


def test_the_property_and_the_answer_may_read_the_same_column() -> None:
    pair = pair_of(hidden(ward((4, 6), draws=4000), bp.intervals(((2, 4), (6, 7)))), ILL)
    assert set(pair.first.support.tolist()) == {2, 3, 4}
    assert set(pair.second.support.tolist()) == {6, 7}


def test_independent_records_have_the_law_of_the_exact_road() -> None:
    schema = bp.Schema(records=N, columns={name: bp.Integer(0, 1) for name in ("ill", "smokes")})
    chosen = bp.intervals(((1, 2), (4, 6)))
    exact = laws(hidden(records(), chosen, schema=schema), SMOKES).constraints()[0].pairs[0]
    drawn = pair_of(hidden(patients(draws=20_000), chosen, schema=schema), SMOKES)
    for known, found in ((exact.first, drawn.first), (exact.second, drawn.second)):
        law = dict(zip(known.support.tolist(), known.probabilities.tolist(), strict=True))
        assert fits(found, law, 20_000)


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_scale_is_that_of_the_exact_road(delta: float) -> None:
    schema = bp.Schema(records=N, columns={name: bp.Integer(0, 1) for name in ("ill", "smokes")})
    chosen = bp.intervals(((1, 2), (4, 6)))
    wanted = TIGHT.calibrate(hidden(records(), chosen, schema=schema), SMOKES, epsilon=0.5, delta=delta)
    found = TIGHT.calibrate(hidden(patients(draws=100_000), chosen, schema=schema), SMOKES, epsilon=0.5, delta=delta)
    assert wanted.guarantee.kind == "exact"
    assert found.guarantee.kind == "estimate"
    assert found.scale == pytest.approx(wanted.scale, rel=0.05)


@pytest.mark.parametrize("wide", [False, True])
def test_normal_records_with_a_normal_mean(wide: bool) -> None:
    """Given the mean of height, weight has a normal law: theta is N(0, 1), height N(theta, 1), weight N(theta, 1/4)."""
    size, low, high = 9, 0.4, (1.6 if wide else 0.5)

    def draw(random: np.random.Generator, draws: int, records: int) -> Tables:
        theta = random.normal(size=(draws, 1))
        noise = random.normal(size=(2, draws, records))
        return {"height": theta + noise[0], "weight": theta + noise[1] / 2}

    schema = bp.Schema(records=size, columns={name: bp.Real(-50, 50) for name in ("height", "weight")})
    model = network(draw, ("height", "weight"), ("theta",), draws=20_000, cells=20_000)
    framework = hidden(model, bp.intervals(((-1, -0.5), (low, high))), bp.mean("height"), schema)
    law = pair_of(framework, bp.mean("weight")).second
    spread = 1 + 1 / size
    given = stats.truncnorm(low / math.sqrt(spread), high / math.sqrt(spread), scale=math.sqrt(spread))
    slope = 1 / spread  # the covariance of both means is 1
    variance = slope**2 * given.var() + 1 + 0.25 / size - slope
    assert law.mean[0] == pytest.approx(slope * given.mean(), abs=5 * math.sqrt(variance / 20_000))
    assert law.covariance[0, 0] == pytest.approx(variance, rel=0.05)


def small_model(random: np.random.Generator) -> tuple[Callable, Callable]:
    """Return draws of a random model of two columns with values 0, 1, 2, and the masses of all its tables."""
    sizes = 3, 3
    theta = random.dirichlet([1, 1])
    floor = 10.0 ** -random.integers(1, 4)  # some values are rare
    y = random.dirichlet([0.5] * 3, size=2) + floor
    y /= y.sum(axis=1, keepdims=True)
    z = random.dirichlet([0.5] * 3, size=(2, 3)) + floor
    z /= z.sum(axis=2, keepdims=True)

    def draw(generator: np.random.Generator, draws: int, records: int) -> Tables:
        state = (generator.random((draws, 1)) > theta[0]).astype(int)
        first = (generator.random((draws, records, 1)) > np.cumsum(y[state], axis=-1)[..., :-1]).sum(axis=-1)
        second = (generator.random((draws, records, 1)) > np.cumsum(z[state, first], axis=-1)[..., :-1]).sum(axis=-1)
        return {"y": first.astype(float), "z": second.astype(float)}

    def masses(records: int) -> Iterable[tuple[tuple[int, ...], tuple[int, ...], float]]:
        rows = list(itertools.product(range(sizes[0]), range(sizes[1])))
        for table in itertools.product(rows, repeat=records):
            mass = sum(theta[t] * math.prod(y[t, a] * z[t, a, b] for a, b in table) for t in range(2))
            yield tuple(a for a, _ in table), tuple(b for _, b in table), mass

    return draw, masses


@pytest.mark.parametrize("seed", range(12))
def test_random_small_models_against_enumeration(seed: int) -> None:
    random = np.random.default_rng(seed)
    draw, masses = small_model(random)
    size, draws = 3, 4000
    low, scale = random.choice([0.0, -7.0, 1e6]), random.choice([1.0, 2.0])
    # bounds cut the values 0, 1, 2 of y, and the answer is read between others
    schema = bp.Schema(
        records=size, columns={"y": bp.Real(0.0, scale, steps=2), "z": bp.Integer(int(low), int(low) + 1)}
    )

    def column(generator: np.random.Generator, many: int, records: int) -> Tables:
        found = draw(generator, many, records)
        return {"y": found["y"], "z": found["z"] + low}

    exact: dict[tuple[float, float], float] = {}
    for y, z, mass in masses(size):
        # Real(0, 1, steps=2) rounds to halves, of which whole numbers are some; Real(0, 2, steps=2) to whole ones
        key = sum(min(value, scale) for value in y), sum(min(value, 1) + low for value in z)
        exact[key] = exact.get(key, 0.0) + mass
    totals = sorted({total for total, _ in exact})
    shares = {total: sum(mass for (t, _), mass in exact.items() if t == total) for total in totals}
    a, b = sorted(totals, key=lambda total: -shares[total])[:2]
    framework = hidden(network(column, ("y", "z"), ("theta",), draws=draws), bp.pairs((a, b)), bp.total("y"), schema)
    pair = pair_of(framework, bp.total("z"))
    for value, law in ((a, pair.first), (b, pair.second)):
        expected = {f: mass / shares[value] for (t, f), mass in exact.items() if t == value}
        assert fits(law, expected, draws)


# --- two models ------------------------------------------------------------------------------------------------------


def two(*sides: object, **sampling: object) -> object:
    drawn = [ward(side, **sampling) if isinstance(side, tuple) else side for side in sides]
    return bp.DistributionPrivacy([tuple(drawn)], schema=SCHEMA, source="invented")


def test_the_laws_under_two_models_are_the_exact_ones() -> None:
    pair = pair_of(two((2, 8), (4, 6), draws=20_000), ILL)
    assert fits(pair.first, beta_binomial(2, 8), 20_000)
    assert fits(pair.second, beta_binomial(4, 6), 20_000)
    assert (pair.pair, pair.kind, pair.sampled.share) == ("1 against 2", "estimate", 1.0)


def test_one_side_may_be_a_network_of_records() -> None:
    for sides in ((records(), (2, 8)), ((2, 8), records())):
        pair = pair_of(two(*sides, draws=20_000), ILL)
        exact = {float(k): float(stats.binom.pmf(k, N, 0.3)) for k in range(N + 1)}
        first, second = (beta_binomial(2, 8), exact) if sides[0] == (2, 8) else (exact, beta_binomial(2, 8))
        assert fits(pair.first, first, 20_000)
        assert fits(pair.second, second, 20_000)


def test_a_model_in_several_pairs_is_drawn_once_and_no_two_models_with_one_seed() -> None:
    a, b, c = (ward(prior, draws=3000) for prior in ((2, 8), (4, 6), (5, 5)))
    framework = bp.DistributionPrivacy([(a, b), (a, c), (c, b)], schema=SCHEMA, source="invented")
    found = [constraint.pairs[0] for constraint in laws(framework, ILL).constraints()]
    assert [pair.pair for pair in found] == ["1 against 2", "1 against 3", "3 against 2"]
    assert np.array_equal(found[0].first.logs, found[1].first.logs)
    # two models with the same laws are drawn apart
    same = network(ward((2, 8)).simulator.draw, ("ill", "coughs", "smokes"), ("theta",), "again", draws=3000)
    pair = pair_of(bp.DistributionPrivacy([(a, same)], schema=SCHEMA, source="invented"), ILL)
    assert not np.array_equal(pair.first.logs, pair.second.logs)


def test_no_two_exact_laws_are_drawn_with_one_seed() -> None:
    """Two networks with hardly another law, beside a model that is drawn: their draws are independent all the same."""
    one, other, drawn = records(0.3), records(0.3 + 1e-9), ward((2, 8), draws=3000)
    framework = bp.DistributionPrivacy([(drawn, one), (one, other)], schema=SCHEMA, source="invented")
    pair = laws(framework, ILL).constraints()[1].pairs[0]
    assert not np.array_equal(pair.first.logs, pair.second.logs)


def test_the_scale_between_two_models_is_near_that_of_the_exact_laws() -> None:
    exact = bp.DistributionPrivacy(
        [(atoms(beta_binomial(2, 8)), atoms(beta_binomial(4, 6)))], query=ILL, schema=SCHEMA, source="exact"
    )
    for mechanism, delta in ((TIGHT, 0.0), (TIGHT, 0.01), (WASSERSTEIN, 0.01)):
        wanted = mechanism.calibrate(exact, epsilon=1.0, delta=delta).scale
        found = mechanism.calibrate(two((2, 8), (4, 6), draws=100_000), ILL, epsilon=1.0, delta=delta).scale
        assert found == pytest.approx(wanted, rel=0.05, abs=1.01 if mechanism is WASSERSTEIN else 0.1)


# --- guarantees with a confidence ------------------------------------------------------------------------------------


def certified(seed: int, *, property_too: bool) -> tuple[object, tuple[Atoms, Atoms]]:
    if property_too:
        known = tuple(atoms(coughs_given((4, 6), side)) for side in (range(2, 5), range(6, 8)))
        model = ward((4, 6), draws=20_000, confidence=0.95, seed=seed)
        return hidden(model, bp.intervals(((2, 4), (6, 7)))), known
    known = tuple(atoms(beta_binomial(*prior)) for prior in ((4, 6), (6, 6)))
    return two((4, 6), (6, 6), draws=20_000, confidence=0.95, seed=seed), known


@pytest.mark.parametrize("property_too", [True, False], ids=["property", "models"])
@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_certified_noise_is_enough_for_the_exact_laws(mechanism: object, property_too: bool) -> None:
    scales = []
    for seed in range(8):
        framework, known = certified(seed, property_too=property_too)
        found = mechanism.calibrate(framework, COUGHS, epsilon=0.5, delta=0.04)
        assert (found.guarantee.kind, found.guarantee.confidence) == ("certified", 0.95)
        assert LaplacePair.of(*known).delta(found.scale, 0.5) <= 0.04
        scales.append(found.scale)
    exact = bp.DistributionPrivacy([known], query=COUGHS, schema=SCHEMA, source="exact")
    least = mechanism.calibrate(exact, epsilon=0.5, delta=0.04).scale
    assert 0.999 * least < np.mean(scales) < 2 * least


def test_without_delta_a_confidence_is_refused() -> None:
    framework, _ = certified(0, property_too=True)
    assert "delta above 0" in str(TIGHT.supports(framework, COUGHS, epsilon=1.0))


# --- planted faults --------------------------------------------------------------------------------------------------


def test_answers_from_other_tables_than_the_property_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = forward_module.AnswerSampler._answers

    def shuffled(self, drawn, count, path):
        return real(self, {name: values[::-1] for name, values in drawn.items()}, count, path)

    monkeypatch.setattr(forward_module.AnswerSampler, "_answers", shuffled)
    pair = pair_of(hidden(ward((2, 8), draws=20_000), bp.intervals(((0, 2), (4, 9)))), COUGHS)
    assert not fits(pair.second, coughs_given((2, 8), range(4, 10)), 20_000)


def test_a_wider_secret_than_was_declared_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        forward_module, "inside", lambda side, values, near: inside(Interval(side.low - 1, side.high), values, near)
    )
    pair = pair_of(hidden(ward((2, 8), draws=20_000), bp.intervals(((0, 2), (4, 9)))), COUGHS)
    assert not fits(pair.second, coughs_given((2, 8), range(4, 10)), 20_000)


def test_one_seed_for_both_models_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_module.AnswerSampler, "_path", lambda self, path: path)
    with pytest.raises(AssertionError):
        test_a_model_in_several_pairs_is_drawn_once_and_no_two_models_with_one_seed()


# --- what is held by a secret ----------------------------------------------------------------------------------------


def test_what_a_secret_holds() -> None:
    tiny, huge = 5e-324, 1.7e308
    values = np.array([0.0, tiny, 1 / 3, 1.0, huge, math.nan])
    assert inside(Interval(0.0, 1.0), values).tolist() == [True, True, True, True, False, False]
    assert inside(Interval(tiny, tiny), values).tolist() == [False, True, False, False, False, False]
    assert inside(frozenset({0.333333333}), values).tolist() == [False, False, True, False, False, False]
    assert inside(frozenset({huge, 1}), values).tolist() == [False, False, False, True, True, False]
    assert (side_words(Interval(2, 3)), side_words(frozenset({5, 2.5}))) == ("[2, 3]", "2.5 or 5")
    with pytest.raises(SecretError):
        inside(frozenset({"many"}), values)


def test_the_property_is_that_of_the_table_as_it_is_declared() -> None:
    """Values outside the bounds count as the bounds, for the property as for the answer."""

    def draw(random: np.random.Generator, draws: int, records: int) -> Tables:
        return {"y": np.where(random.random((draws, records)) < 0.5, -1e9, 1e9)}

    schema = bp.Schema(records=4, columns={"y": bp.Real(0, 10)})
    framework = hidden(network(draw, ("y",), draws=500), bp.pairs((2.5, 7.5)), bp.mean("y"), schema)
    pair = pair_of(framework, bp.total("y"))
    assert (pair.first.support.tolist(), pair.second.support.tolist()) == ([10.0], [30.0])


# --- what is told and refused ----------------------------------------------------------------------------------------


def test_how_rare_a_secret_is_is_told() -> None:
    framework = hidden(ward((2, 8), draws=3000), bp.intervals(((0, 2), (8, 12))))
    calibration = TIGHT.calibrate(framework, COUGHS, epsilon=1.0)
    share = sum(beta_binomial(2, 8)[float(k)] for k in range(8, 13))
    assert pair_of(framework, COUGHS).sampled.share == pytest.approx(share, rel=0.2)
    (note,) = [note for note in calibration.certificate.notes if "independent draws" in note]
    assert "tables were drawn until so many had each secret, the rarer one of [0, 2] against [8, 12] came up in" in note
    assert any("as unknown to the observer as the model says" in each for each in calibration.certificate.assumptions)
    assert json.loads(calibration.to_json())["guarantee"]["kind"] == "estimate"
    again = bp.types.Calibration.from_json(calibration.to_json(), framework, COUGHS)
    assert again.seal == calibration.seal


def test_what_comes_up_too_seldom_is_refused() -> None:
    rare = hidden(ward((2, 8), draws=1000), bp.intervals(((0, 2), (12, 12))))
    refusal = str(TIGHT.supports(rare, COUGHS, epsilon=1.0))
    assert "at least 2 of 4,000 tables" in refusal
    assert "in [12, 12] in" in refusal or "in 12 in" in refusal
    never = hidden(ward((2, 8), draws=1000), bp.pairs((2, 2.5)))
    assert "in 2.5 in 0" in str(TIGHT.supports(never, COUGHS, epsilon=1.0))
    # the column mechanism asks for no law
    assert bp.ColumnMechanism().calibrate(rare, COUGHS, epsilon=1.0).scale == pytest.approx(N)


def test_fewer_tables_are_tried_where_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions_module, "MOST_TRIED_NUMBERS", 300 * N)
    rare = hidden(ward((2, 8), draws=1000), bp.pairs((2, 2.5)))
    assert "at least 2 of 300 tables" in str(TIGHT.supports(rare, COUGHS, epsilon=1.0))
    monkeypatch.setattr(conditions_module, "MOST_TRIED_NUMBERS", 1)
    rare = hidden(ward((2, 8), draws=1000), bp.pairs((2, 2.5)))
    assert "at least 2 of 200 tables" in str(TIGHT.supports(rare, COUGHS, epsilon=1.0))


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward_module, "MOST_SAMPLED_NUMBERS", 1e5)
    framework = hidden(ward((4, 6), draws=4000), bp.intervals(((2, 4), (6, 7))))
    assert "1 table of" in str(TIGHT.supports(framework, COUGHS, epsilon=1.0))
    assert "may hold 1e+05 numbers" in str(TIGHT.supports(two((4, 6), (6, 6), draws=40_000), COUGHS, epsilon=1.0))


@pytest.mark.parametrize("pairs", [None, bp.apart(at_most=3)])
def test_pairs_of_drawn_tables_are_chosen_one_by_one(pairs: object) -> None:
    with pytest.raises(SecretError, match=r"must be chosen one by one: the distribution .* come up in no table"):
        hidden(ward((2, 8)), pairs)


def test_a_distance_of_a_property_is_refused_with_ranges_that_work_as_they_stand() -> None:
    with pytest.raises(SecretError, match="come up often enough") as refused:
        hidden(ward((2, 8), draws=500), bp.apart(at_most=3))
    declared = re.search(r"pairs=bnpriv\.(intervals\(.*\)), or", str(refused.value)).group(1)
    pairs = eval(declared, {"intervals": bp.intervals})
    first, second = pairs.chosen[0].first, pairs.chosen[0].second
    assert (second.low - first.low, second.low - first.high) == (3, 1)
    assert TIGHT.supports(hidden(ward((2, 8), draws=500), pairs), COUGHS, epsilon=1.0) is None


def test_secrets_that_the_model_does_not_draw_are_refused() -> None:
    with pytest.raises(SecretError, match="a protected column"):
        hidden(
            ward((2, 8)),
            bp.intervals((1, 2)),
            bp.total("theta"),
            bp.Schema(records=N, columns={"theta": bp.Real(0, 1)}),
        )
    with pytest.raises(SecretError, match="values of a property are numbers"):
        hidden(ward((2, 8)), bp.pairs(("few", "many")))
    words = bp.Schema(records=N, columns={"ill": bp.Integer(0, 1), "coughs": bp.Categorical(["no", "yes"])})
    framework = hidden(ward((2, 8)), bp.intervals(((0, 2), (4, 9))), schema=words)
    assert "categories in words for coughs" in str(
        TIGHT.supports(framework, bp.count(bp.col("coughs") == "yes"), epsilon=1.0)
    )
    plain = DensityNetwork(parameters={}, model_hash="none", simulator=Drawn(lambda *_: {}))
    with pytest.raises(FrameworkError, match="level 'records'"):
        hidden(plain, bp.intervals((1, 2)))


def test_models_of_a_pair_are_drawn_alike() -> None:
    with pytest.raises(FrameworkError, match="in the same way"):
        two(ward((2, 8), draws=1000), ward((4, 6), draws=2000))
    with pytest.raises(FrameworkError, match="both networks"):
        two(ward((2, 8)), Atoms.binomial(N, 0.5))
    plain = DensityNetwork(parameters={}, model_hash="none", simulator=Drawn(lambda *_: {}))
    with pytest.raises(FrameworkError, match="a model that draws tables"):
        two(ward((2, 8)), plain)
    with pytest.raises(NetworkError, match="a network is needed"):
        two("ward", "ward")
    assert "networks need a query" in str(laws(two((2, 8), (4, 6)), None))
    missing = str(TIGHT.supports(two((2, 8), records()), COUGHS, epsilon=1.0))
    assert "a node of both record networks" in missing


def test_fingerprints_follow_model_sampling_and_secrets() -> None:
    chosen = bp.intervals(((0, 2), (4, 9)))
    known = [
        hidden(ward((2, 8)), chosen),
        hidden(ward((2, 9)), chosen),
        hidden(ward((2, 8), draws=999), chosen),
        hidden(ward((2, 8)), bp.intervals(((0, 2), (5, 9)))),
        two((2, 8), (4, 6)),
        two((4, 6), (2, 8)),
        two((2, 8), (4, 6), seed=1),
    ]
    assert len({framework.fingerprint() for framework in known}) == len(known)


def test_made_up_tables_have_the_property() -> None:
    framework = hidden(ward((2, 8)), bp.intervals(((0, 2), (4, 9))))
    table = bp.simulate(framework, secret={"ill": (4, 9)}, seed=3)
    assert 4 <= table["ill"].sum() <= 9
    share = sum(beta_binomial(2, 8)[float(k)] for k in range(4, 10))
    assert table.attrs["probability of the secret"] == pytest.approx(share, abs=0.03)
    assert bp.simulate(framework, 40, secret={"ill": 8})["ill"].sum() == 8
    assert len(bp.simulate(framework)) == N
    with pytest.raises(bp.errors.RefusedError, match="tables"):
        bp.simulate(framework, secret={"ill": 2.5})
    with pytest.raises(SecretError, match="two ends"):
        bp.simulate(framework, secret={"ill": (9, 4)})
    either = two((1, 99), (99, 1))
    sums = [bp.simulate(either, 50, secret={"the distribution": f"distribution {k}"})["ill"].sum() for k in (1, 2)]
    assert sums[0] < 10 < 40 < sums[1]


def test_a_rehearsal_is_within_what_is_allowed() -> None:
    for framework in (hidden(ward((2, 8)), bp.intervals(((0, 2), (4, 9)))), two((2, 8), (4, 6))):
        calibration = TIGHT.calibrate(framework, COUGHS, epsilon=1.0, delta=0.001)
        rehearsal = bp.rehearse(calibration, 1000)
        assert 0.5 < rehearsal.correct <= rehearsal.bound + 2 * rehearsal.margin
