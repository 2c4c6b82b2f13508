"""What a guarantee says is what holds: odds and beliefs against enumerated laws of the answer, for every notion."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.protected import bounds_belief, property_secret
from bnpriv.core.secrets import Apart, SecretPairs, all_pairs
from bnpriv.text import factor_text
from bnpriv.views.cards import short_guarantee
from tests.later import Later

stats = Later("scipy.stats")

ILL = bp.count(bp.col("ill") == "yes")
ROUNDING = 1e-9

Law = Mapping[float, float]


def ill_table(records: int, pairs: Apart | SecretPairs | None) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "coughs": [[0.8, 0.3], [0.2, 0.7]]},
        states={"ill": ["no", "yes"], "coughs": ["no", "yes"]},
        parents={"coughs": ["ill"]},
        level="records",
    )
    columns = {name: bp.Categorical(["no", "yes"]) for name in ("ill", "coughs")}
    schema = bp.Schema(records=records, columns=columns)
    return bp.DatasetAttributePrivacy(network, schema, {"ill": bp.Secret(ILL, pairs=pairs)}, source="a textbook")


def three_states(protect: object) -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"p": [0.2, 0.5, 0.3], "x": [[0.8, 0.4, 0.1], [0.2, 0.6, 0.9]]},
        states={"p": ["a", "b", "c"], "x": ["l", "h"]},
        parents={"x": ["p"]},
        level="parameters",
    )
    column = bp.Categorical(["l", "h"])
    schema = bp.Schema(records=12, columns={"p": column, "x": column})
    return bp.DistributionalAttributePrivacy(
        network, schema, protect, source="a textbook", laws={"x": {"l": 0.3, "h": 0.6}}
    )


def binomials(one: tuple[int, float], other: tuple[int, float]) -> Law:
    """Return the law of a sum of two independent binomial numbers, each (trials, probability)."""
    first, second = (stats.binom.pmf(np.arange(n + 1), n, p) for n, p in (one, other))
    return dict(enumerate(np.convolve(first, second).tolist()))


def mixed(parts: list[tuple[float, Law]]) -> Law:
    total = sum(weight for weight, _ in parts)
    keys = {key for _, law in parts for key in law}
    return {key: sum(weight * law.get(key, 0.0) for weight, law in parts) / total for key in keys}


def seen(law: Law, noise: object, outputs: np.ndarray) -> np.ndarray:
    """Return the density of the released number, or its mass where there is no noise."""
    if isinstance(noise, bp.noise.NoNoise):
        return np.array([law.get(float(w), 0.0) for w in outputs])
    if isinstance(noise, bp.noise.Channel):
        rows = noise.numerators / noise.denominator
        return sum(mass * rows[noise.place(float(value))] for value, mass in law.items())
    kind = stats.laplace if isinstance(noise, bp.noise.Laplace) else stats.norm
    return sum(mass * kind.pdf(outputs, loc=value, scale=noise.scale) for value, mass in law.items())


def outputs_of(laws: list[Law], noise: object) -> np.ndarray:
    atoms = sorted({float(key) for law in laws for key in law})
    if isinstance(noise, bp.noise.NoNoise):
        return np.array(atoms)
    if isinstance(noise, bp.noise.Channel):
        return np.array(noise.outputs)
    reach = 8 * noise.scale
    return np.concatenate([atoms, np.linspace(atoms[0] - reach, atoms[-1] + reach, 801)])


def assert_true(
    calibration: bp.types.Calibration, laws: Mapping[object, tuple[float, Law]], pairs: list[tuple[object, object]]
) -> float:
    """Check every claim against the laws of the answer, (prior, law) by secret; return the largest belief of 10 %."""
    guarantee = calibration.guarantee
    (secret,) = guarantee.secrets
    outputs = outputs_of([law for _, law in laws.values()], calibration.noise)
    density = {name: seen(law, calibration.noise, outputs) for name, (_, law) in laws.items()}
    for a, b in pairs:
        assert np.all(density[a] <= math.exp(guarantee.epsilon) * density[b] * (1 + ROUNDING))
    largest = 0.0
    for k in range(1, len(laws)):
        for chosen in itertools.islice(itertools.combinations(laws, k), 60):
            inside = sum(laws[name][0] * density[name] for name in chosen)
            total = sum(prior * density[name] for name, (prior, _) in laws.items())
            weight = sum(laws[name][0] for name in chosen) / sum(prior for prior, _ in laws.values())
            after = np.max(np.divide(inside, total, out=np.zeros_like(total), where=total > 0))
            moved = math.log(after / (1 - after)) - math.log(weight / (1 - weight)) if after < 1 else math.inf
            largest = max(largest, odds.belief(odds.PRIOR, moved))
            if secret.bounds_belief:
                assert after <= guarantee.belief(weight) * (1 + ROUNDING)
    claims_belief = "a belief of 10 %" in guarantee.sentence
    assert claims_belief == secret.bounds_belief == (guarantee.belief(0.1) is not None)
    return largest


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("at_most", [1, 2, None])
@pytest.mark.parametrize("query", [ILL, bp.count(bp.col("coughs") == "yes")], ids=["itself", "another"])
def test_a_property_of_the_table(epsilon: float, at_most: int | None, query: bp.types.Query) -> None:
    n = 6
    framework = ill_table(n, None if at_most is None else bp.apart(at_most=at_most))
    tight = bp.TightMechanism().calibrate(framework, query, epsilon=epsilon)
    chance = {"yes": 1.0, "no": 0.0} if query is ILL else {"yes": 0.7, "no": 0.2}
    laws = {
        k: (float(stats.binom.pmf(k, n, 0.3)), binomials((k, chance["yes"]), (n - k, chance["no"])))
        for k in range(n + 1)
    }
    near = [(a, b) for a in laws for b in laws if a != b and abs(a - b) <= (at_most or n)]
    assert_true(bp.plan(framework, query, epsilon).best, laws, near)
    largest = assert_true(tight, laws, near)
    if at_most == 1 and query is ILL:
        assert largest > odds.belief(0.1, epsilon)  # what the sentence used to claim does not hold


def test_the_sentence_names_the_property_and_its_distance() -> None:
    near = bp.plan(ill_table(10_000, bp.apart(at_most=1)), ILL, 1.0).best.guarantee
    assert near.sentence.startswith(
        "Protected: the number of records with ill = yes in this table (values at most 1 apart). To somebody who "
        "believes the declared model (source: a textbook) and sees this answer, the odds between the two secrets of a "
        "protected pair move by at most 2.72 times. Of ill only these pairs are protected"
    )
    assert near.to_json()["secrets"] == [
        {
            "attribute": "ill",
            "secret": "the number of records with ill = yes in this table",
            "pairs": "values at most 1 apart",
            "distance": 1.0,
            "bounds_belief": False,
        }
    ]
    every = bp.plan(ill_table(100, None), ILL, 1.0).best.guarantee
    assert "a belief of 10 % in one secret of ill becomes at most 23.2 %" in every.sentence
    far = bp.plan(ill_table(100, bp.apart(at_most=100)), ILL, 1.0).best.guarantee
    assert far.with_belief == ("ill",)
    assert bp.plan(ill_table(100, bp.apart(at_most=99)), ILL, 1.0).best.guarantee.with_belief == ()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.39, 2.0])
@pytest.mark.parametrize(
    ("protect", "pairs", "words"),
    [
        ("p", [("a", "b"), ("a", "c"), ("b", "c")], "all pairs of a, b and c"),
        ({"p": bp.pairs(("a", "b"), ("b", "c"))}, [("a", "b"), ("b", "c")], "a against b and b against c"),
        ({"p": bp.pairs(("a", "c"))}, [("a", "c")], "a against c"),
    ],
)
def test_a_parameter(epsilon: float, protect: object, pairs: list[tuple[str, str]], words: str) -> None:
    framework = three_states(protect)
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.count(bp.col("x") == "h"), epsilon=epsilon)
    assert f"what column p is like as a whole, its parameter ({words})" in calibration.guarantee.sentence
    rows = framework.network.probabilities("x")[0]  # of shape (states of x, states of p)
    low, high = binomials((12, 0.3), (0, 0.0)), binomials((12, 0.6), (0, 0.0))
    chances = np.asarray(rows).reshape(2, 3)
    laws = {
        state: (prior, mixed([(chances[0, k], low), (chances[1, k], high)]))
        for k, (state, prior) in enumerate(zip("abc", (0.2, 0.5, 0.3), strict=True))
    }
    assert_true(calibration, laws, [way for a, b in pairs for way in ((a, b), (b, a))])


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_a_value_of_one_record(epsilon: float) -> None:
    network = ill_table(4, None).network
    columns = {name: bp.Categorical(["no", "yes"]) for name in ("ill", "coughs")}
    framework = bp.ValuePrivacy(network, bp.Schema(records=4, columns=columns), "ill", source="a textbook")
    calibration = bp.plan(framework, bp.count(bp.col("coughs") == "yes"), epsilon).best
    sentence = calibration.guarantee.sentence
    assert "the value of ill in any one record (no against yes)" in sentence
    assert "Single records are not protected" not in sentence
    rest = (3, 0.7 * 0.2 + 0.3 * 0.7)
    laws = {"no": (0.7, binomials((1, 0.2), rest)), "yes": (0.3, binomials((1, 0.7), rest))}
    assert_true(calibration, laws, [("no", "yes"), ("yes", "no")])


def test_a_value_of_one_step() -> None:
    chain = bp.types.MarkovChain([[0.9, 0.1], [0.4, 0.6]], "stationary", 5, states=["rest", "walk"])
    schema = bp.Schema(records=5, columns={"activity": bp.Categorical(["rest", "walk"])})
    framework = bp.ValuePrivacy(chain, schema, "activity", source="a textbook")
    calibration = bp.plan(framework, bp.count(bp.col("activity") == "walk"), 1.0).best
    assert "the value of activity in any one record (rest against walk)" in calibration.guarantee.sentence
    start = np.array([0.8, 0.2])
    step = np.array([[0.9, 0.1], [0.4, 0.6]])
    for place in range(5):
        laws: dict[object, tuple[float, dict[float, float]]] = {0: (0.0, {}), 1: (0.0, {})}
        for path in itertools.product((0, 1), repeat=5):
            mass = start[path[0]] * math.prod(step[a, b] for a, b in itertools.pairwise(path))
            weight, law = laws[path[place]]
            law[sum(path)] = law.get(sum(path), 0.0) + mass
            laws[path[place]] = (weight + mass, law)
        given = {k: (w, {key: mass / w for key, mass in law.items()}) for k, (w, law) in laws.items()}
        assert_true(calibration, given, [(0, 1), (1, 0)])


def atoms(*masses: float) -> bp.laws.Atoms:
    return bp.laws.Atoms(list(range(len(masses))), list(masses))


LAWS = (atoms(0.5, 0.3, 0.2), atoms(0.2, 0.3, 0.5), atoms(0.1, 0.8, 0.1))


@pytest.mark.parametrize(
    ("chosen", "whole"), [([(0, 1)], True), ([(0, 1), (1, 2)], False), ([(0, 1), (1, 2), (2, 0)], True)]
)
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_which_of_the_laws(chosen: list[tuple[int, int]], whole: bool, epsilon: float) -> None:
    framework = bp.DistributionPrivacy([(LAWS[a], LAWS[b]) for a, b in chosen], source="a textbook")
    calibration = bp.TightMechanism().calibrate(framework, epsilon=epsilon)
    (secret,) = calibration.guarantee.secrets
    different = len({k for pair in chosen for k in pair})
    assert secret.secret == f"which of the {different} declared distributions the answer has"
    assert secret.bounds_belief is whole
    laws = {
        k: (prior, dict(enumerate(np.exp(LAWS[k].logs).tolist())))
        for k, prior in enumerate((0.1, 0.6, 0.3)[:different])
    }
    assert_true(calibration, laws, [way for a, b in chosen for way in ((a, b), (b, a))])


# --- delta above 0 --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-3, 0.05])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("mechanism", [bp.TightMechanism(noise="gaussian"), bp.TightMechanism()], ids=str)
def test_with_delta_odds_rise_further_than_twice_only_rarely(
    mechanism: bp.types.Mechanism, epsilon: float, delta: float
) -> None:
    framework = bp.DistributionPrivacy([(atoms(1.0, 0.0, 0.0), atoms(0.0, 0.0, 1.0))], source="a textbook")
    found = mechanism.calibrate(framework, epsilon=epsilon, delta=delta)
    guarantee = found.guarantee
    assert found.scale > 0
    grid = np.linspace(-40 * found.scale, 40 * found.scale + 2, 400_001)
    width = grid[1] - grid[0]
    first, second = (seen({at: 1.0}, found.noise, grid) for at in (0.0, 2.0))
    rises = np.log(np.maximum(first, 1e-300)) - np.log(np.maximum(second, 1e-300))
    assert (width * np.maximum(first - math.exp(epsilon) * second, 0)).sum() <= guarantee.delta * (1 + 1e-3) + 1e-9
    far = rises > guarantee.nats
    assert width * first[far].sum() <= guarantee.failure
    assert width * second[far].sum() <= guarantee.failure
    assert guarantee.nats == pytest.approx(epsilon + math.log(2))
    if isinstance(found.noise, bp.noise.Gaussian):
        # what the sentence used to claim does not hold: further than epsilon with a probability above delta
        assert width * first[rises > epsilon].sum() > 1.05 * guarantee.delta
    assert "except with probability" not in guarantee.sentence
    assert f"{factor_text(epsilon)} p + {delta:g} under the other" in guarantee.sentence
    assert "becomes more than" in guarantee.sentence


def test_with_delta_the_odds_of_a_pair_are_bounded_where_one_of_the_two_is_true() -> None:
    """A third law, not paired with the second, gives the answer that tells the two apart too often."""
    shown = 1 / 32
    laws = [atoms(1 - p, p, 0.0) for p in (shown, shown / 9, 2 * shown)]
    framework = bp.DistributionPrivacy([(laws[0], laws[1]), (laws[0], laws[2])], source="a textbook")
    mechanism = bp.TightMechanism(large_delta=True)
    found = mechanism.calibrate(framework, epsilon=math.log(4.4), delta=0.52 * shown)
    assert found.scale == 0
    assert laws[0].logs[1] - laws[1].logs[1] > found.guarantee.nats
    assert laws[0].probabilities[1] <= found.guarantee.failure < laws[2].probabilities[1]
    assert "if one of the two is true, the odds of one against the other rise" in found.guarantee.sentence
    assert "if one of the two is true" in found.guarantee.odds_text


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.05), (1.0, 1e-6), (3.0, 0.2)])
def test_with_delta_odds_move_far_either_way_more_often_than_they_rise(epsilon: float, delta: float) -> None:
    """Half of the answers that are told apart speak for each of the two, so that the guarantee says "rise"."""
    rare = math.exp(-epsilon) * delta * (1 - 1e-9)
    first = np.array([2 * delta, rare, 1 - 2 * delta - rare])
    second = first[[1, 0, 2]]
    for one, other in ((first, second), (second, first)):
        assert np.maximum(one - math.exp(epsilon) * other, 0).sum() <= delta * (1 + 1e-8)
    far = np.abs(np.log(first / second)) > epsilon + math.log(2)
    assert first[far].sum() == pytest.approx((2 + math.exp(-epsilon)) * delta)
    framework = bp.DistributionPrivacy([(LAWS[0], LAWS[1])], source="a textbook")
    made = bp.TightMechanism().calibrate(framework, epsilon=epsilon).guarantee
    assert "odds move by at most" in short_guarantee(made)[1]
    assert "odds rise by at most" in short_guarantee(replace(made, delta=delta))[1]


def test_numbers_of_a_claim_are_not_rounded_to_a_stronger_one() -> None:
    schema = bp.Schema(records=10, columns={"pay": bp.Integer(0, 10**7), "ill": bp.Integer(0, 1)})
    network = bp.DiscreteNetwork.from_tables(
        {"pay": [0.5, 0.5], "ill": [[0.5, 0.4], [0.5, 0.6]]},
        states={"pay": [0, 10**7], "ill": [0, 1]},
        parents={"ill": ["pay"]},
        level="records",
    )
    secret = bp.Secret(bp.total("pay"), pairs=bp.apart(at_most=12_345_678))
    framework = bp.DatasetAttributePrivacy(network, schema, {"pay": secret}, source="a test")
    assert "values at most 12345678 apart" in framework.protected_secrets[0].pairs
    for nats in (30.000049, 35.12345678, 1234.5678912):
        power = int(factor_text(nats).removeprefix("10^"))
        assert power - 1 < nats / math.log(10) <= power
    guarantee = (
        bp.TightMechanism()
        .calibrate(bp.DistributionPrivacy([(LAWS[0], LAWS[1])], source="a textbook"), epsilon=1.0)
        .guarantee
    )
    for confidence, words in ((0.95, "95 %"), (0.07, "7 %"), (1 - 1e-9, "99.9999999 %")):
        assert f"with confidence {words} over draws" in replace(guarantee, confidence=confidence).sentence


def test_a_delta_of_a_half_bounds_no_belief() -> None:
    framework = bp.DistributionPrivacy([(LAWS[0], LAWS[1])], source="a textbook")
    guarantee = bp.TightMechanism().calibrate(framework, epsilon=1.0).guarantee
    assert "belief" not in replace(guarantee, delta=0.6).sentence
    assert "rise by more" not in replace(guarantee, delta=0.6).sentence
    for tiny in (5e-324, 1e-300):
        assert "under the other" in replace(guarantee, delta=tiny).sentence


# --- which beliefs are bounded ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "whole"),
    [
        (bp.pairs(("a", "b"), ("b", "c")), False),
        (bp.pairs(("a", "b")), False),
        (bp.pairs(("a", "b"), ("b", "c"), ("a", "c")), True),
        (bp.pairs(("a", ["b", "c"])), True),
        (bp.pairs(("a", ["b", "c"]), ("c", ["a", "b"])), True),
        (bp.pairs(("a", "b"), (["a", "b"], "c")), False),
        (bp.pairs(("a", "b"), ("a", "c"), ("b", "c"), ("a", ["b", "c"])), True),
    ],
)
def test_which_chosen_pairs_bound_a_belief(pairs: SecretPairs, whole: bool) -> None:
    assert bounds_belief(pairs.ordered("p", "abc"), "abc") is whole


def test_a_bounded_belief_is_bounded_for_random_pairs_and_likelihoods() -> None:
    generator = np.random.default_rng(5)
    states, held = "abcd", 0
    sides = [frozenset(side) for k in (1, 2, 3) for side in itertools.combinations(states, k)]
    disjoint = [(a, b) for a in sides for b in sides if not a & b]
    for _ in range(4000):
        picked = [disjoint[k] for k in generator.integers(len(disjoint), size=generator.integers(1, 8))]
        ordered = bp.pairs(*picked).ordered("p", states)
        if not bounds_belief(ordered, states):
            continue
        held += 1
        prior = dict(zip(states, generator.dirichlet(np.ones(4)), strict=True))
        chance = dict(zip(states, generator.uniform(size=4), strict=True))

        def given(side: frozenset[object], prior=prior, chance=chance) -> float:
            return sum(prior[s] * chance[s] for s in side) / sum(prior[s] for s in side)

        factor = max(given(pair.first) / given(pair.second) for pair in ordered)
        for pair in ordered:
            assert given(pair.first) <= factor * given(frozenset(states) - pair.first) * (1 + ROUNDING)
    assert held > 100


@pytest.mark.parametrize(
    ("value", "span"),
    [
        (bp.total("x"), 10.0),
        (bp.mean("x"), 2.0),
        (bp.count(bp.col("x") == 1), 5.0),
        (bp.proportion(bp.col("x") == 1), 1.0),
    ],
    ids=str,
)
def test_a_distance_bounds_beliefs_if_no_two_values_are_further_apart(value: bp.types.Query, span: float) -> None:
    schema = bp.Schema(records=5, columns={"x": bp.Integer(1, 3)})
    for at_most, whole in ((0.99 * span, False), (0.3 * span, False), (span, True)):
        found = property_secret(bp.Secret(value, bp.apart(at_most=at_most)), schema)
        assert (found.bounds_belief, found.distance) == (whole, at_most)


def test_all_pairs_bound_every_belief() -> None:
    assert bounds_belief(all_pairs("abcde"), "abcde")


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-12, 0.2, 30.0, 709.0, 710.0, 1000.0, 1e300])
def test_a_sentence_at_every_epsilon_row_42(epsilon: float) -> None:
    framework = bp.DistributionPrivacy([(LAWS[0], LAWS[1])], source="a textbook")
    guarantee = replace(bp.TightMechanism().calibrate(framework, epsilon=1.0).guarantee, epsilon=epsilon)
    assert "at most" in guarantee.sentence
    assert guarantee.belief(0.1) <= 1
    assert "at most" in replace(guarantee, delta=1e-6).sentence
    json.dumps(guarantee.to_json(), allow_nan=False)


def test_what_is_printed_as_at_most_is_not_less() -> None:
    for nats in np.linspace(0.001, 20, 500):
        assert float(factor_text(nats).replace(",", "")) >= math.exp(nats) * (1 - 1e-11)
        assert float(factor_text(nats).replace(",", "")) <= math.exp(nats) * 1.0101
        for prior in odds.PRIORS:
            shown = float(odds.belief_text(prior, nats).removesuffix(" %")) / 100
            assert odds.belief(prior, nats) * (1 - 1e-11) <= shown <= 1.0101 * odds.belief(prior, nats)


# --- one sentence everywhere -----------------------------------------------------------------------------------------


def test_every_place_says_what_is_protected_and_none_claims_a_belief() -> None:
    framework = bp.example("hospital")
    query = bp.count(bp.col("disease") == "yes")
    plan = bp.plan(framework, query, 1.0)
    released = bp.release(plan.best, bp.example_data("hospital"))
    tradeoff = bp.tradeoff(framework, query, [0.5, 1.0])
    places = {
        "calibration": plan.best.text,
        "calibration page": plan.best.to_html(),
        "calibration card": plan.best._repr_html_(),
        "calibration JSON": plan.best.to_json(),
        "plan page": plan.to_html(),
        "plan card": plan._repr_html_(),
        "plan JSON": plan.to_json(),
        "release": released.text,
        "release page": released.to_html(),
        "release JSON": released.to_json(),
    }
    for place, text in places.items():
        assert "the number of records with disease = yes in this table (values at most 100 apart)" in text, place
    for place, text in {**places, "tradeoff": str(tradeoff)}.items():
        assert "10&nbsp;%" not in text, place
        assert "10 %" not in text, place


# --- what is said elsewhere ------------------------------------------------------------------------------------------


def test_one_page_has_one_number_for_a_belief_of_ten_percent() -> None:
    framework, query = bp.example("student"), bp.count(bp.col("height") > 180)
    report = bp.influence_report(framework, query, 1.0)
    for text in (report.text, report.to_markdown(), report.to_html().replace("&nbsp;", " ")):
        moved = re.findall(r"10 %[^.;%]*?([0-9.]+) %", re.sub("<[^>]*>", " ", text.replace("|", " ")))
        assert moved
        assert set(moved) == {"23.2"}


def test_the_heading_of_a_slider_says_whose_noise_it_shows() -> None:
    framework, query = bp.example("student"), bp.count(bp.col("sat") >= 1200)
    page = bp.influence_report(framework, query, 1.0).to_html()
    assert "What another epsilon would do with the best mechanism" in page
    assert '"mechanism":"TightMechanism()"' in page
    quiet = bp.influence_report(framework, bp.count(bp.col("height") > 180), 1.0).to_html()
    assert "What another epsilon would do with the Markov quilt mechanism" in quiet


def test_several_numbers_are_judged_against_their_own_ranges() -> None:
    both = bp.stack(bp.mean("rooms"), bp.mean("rent"))
    best = bp.ColumnMechanism().calibrate(bp.example("survey"), both, epsilon=1.0)
    assert "of the range of each number" in str(best.useful)
    one = bp.ColumnMechanism().calibrate(bp.example("survey"), bp.mean("rooms"), epsilon=1.0)
    assert "of the answer's range" in str(one.useful)


def test_the_report_of_a_chain_speaks_of_the_epsilon_that_was_asked_for() -> None:
    framework, query = bp.example("activity"), bp.count(bp.col("activity") == "running")
    assert bp.influence_report(framework, query, 0.1).headline == (
        'count(activity == "running") can be released at epsilon 0.1, but the answer is coarse.'
    )
    assert "at epsilon 1." in bp.influence_report(framework).headline


def test_a_query_that_talks_about_chosen_pairs_says_so() -> None:
    clinic = bp.leaks(bp.example("clinic"), bp.count(bp.col("antiviral") == 1)).text
    assert "Of infection only the protected pairs of secrets are meant." in clinic
    assert "No belief" not in clinic
    some = bp.leaks(three_states({"p": bp.pairs(("a", "b"), ("b", "c"))}), bp.count(bp.col("x") == "h"))
    assert some["p"].belief is None
    assert "the odds move by at most 4 times" in str(some)
    assert "odds times" not in some.text
    assert "No belief about p is bounded by them." in some.text


def test_reports_of_chosen_pairs_claim_no_belief() -> None:
    framework = three_states({"p": bp.pairs(("a", "b"), ("b", "c"))})
    query = bp.count(bp.col("x") == "h")
    for report in (bp.influence_report(framework, query, 1.0), bp.influence_report(framework, query)):
        for text in (report.text, report.to_markdown(), report.to_html().replace("&nbsp;", " ")):
            assert "belief of 10 %" not in text
        assert all(belief.columns == {"p": None} and belief.answer is None for belief in report.beliefs)
