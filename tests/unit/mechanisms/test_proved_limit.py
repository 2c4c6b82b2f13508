"""The least error of any mechanism: a bound that always holds, and is reached where atoms are few."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import bnpriv as bp
from bnpriv.core.frameworks.question import own_query
from bnpriv.kinds.public_records import public_records_of
from bnpriv.laws import Atoms, mixture
from bnpriv.mechanisms.optimal.channel import Averaged, Channel
from bnpriv.mechanisms.optimal.program import LawTable, law_table
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.proved_limit import Limit, _Program, few_pairs, limit_of, proved_limit, reached_limit


def table(atoms: Any, laws: Any, pairs: Any = None, error: float = 0.0, rounding: float = 0.0) -> LawTable:
    laws = np.asarray(laws, dtype=float)
    listed = np.arange(len(laws)).reshape(-1, 2) if pairs is None else np.array(pairs)
    with np.errstate(divide="ignore"):
        logs = np.log(laws)
    return LawTable(
        points=np.asarray(atoms, dtype=float),
        masses=laws,
        logs=logs,
        possible=laws > 0,
        errors=np.full(len(laws), error),
        ways=np.concatenate([listed, listed[:, ::-1]]),
        mean=np.mean(laws[listed.ravel()], axis=0),
        kind="exact",
        rounding=rounding,
        order={},
    )


def least_by_program(laws: LawTable, epsilon: float, delta: float, outputs: Any = None) -> float:
    """Return the least error by a plain linear program, dense and without groups, over some outputs."""
    masses, atoms = laws.masses, laws.points
    outputs = atoms if outputs is None else np.asarray(outputs)
    size, count = len(atoms), len(outputs)
    ways = laws.ways
    extra = len(ways) * count if delta else 0
    cost = np.concatenate([(laws.mean[:, None] * np.abs(atoms[:, None] - outputs)).ravel(), np.zeros(extra)])
    upper, limits = [], []
    for k, (a, b) in enumerate(ways):
        for w in range(count):
            row = np.zeros((size, count))
            row[:, w] = masses[a] - math.exp(epsilon) * masses[b]
            slack = np.zeros(extra)
            if delta:
                slack[k * count + w] = -1
            upper.append(np.concatenate([row.ravel(), slack]))
            limits.append(0.0)
        if delta:
            slack = np.zeros(extra)
            slack[k * count : (k + 1) * count] = 1
            upper.append(np.concatenate([np.zeros(size * count), slack]))
            limits.append(delta)
    equal = np.zeros((size, size * count + extra))
    for x in range(size):
        equal[x, x * count : (x + 1) * count] = 1
    found = linprog(cost, A_ub=np.array(upper), b_ub=limits, A_eq=equal, b_eq=np.ones(size), method="highs-ipm")
    assert found.status == 0
    return found.fun


def random_table(rng: np.random.Generator, size: int, pairs: int) -> LawTable:
    atoms = np.cumsum(rng.choice([0.1, 0.3, 1.0, 5.0], size)) - 3
    if rng.random() < 0.5:
        places, widths = rng.uniform(0.3, 0.7, (2 * pairs, 1)), rng.uniform(0.1, 0.4, (2 * pairs, 1))
        laws = np.exp(-(((np.arange(size) / size - places) / widths) ** 2))
    else:
        laws = rng.dirichlet(np.full(size, rng.choice([0.3, 3.0])), 2 * pairs)
        laws[0, int(rng.integers(size))] = 0.0
    return table(atoms, laws / laws.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_without_groups_it_is_the_value_of_the_program(delta: float) -> None:
    rng = np.random.default_rng(20)
    for _ in range(12):
        laws, epsilon = random_table(rng, int(rng.integers(1, 12)), int(rng.integers(1, 4))), float(rng.uniform(0.1, 2))
        found, value = proved_limit(laws, epsilon, delta), least_by_program(laws, epsilon, delta)
        assert found.least == pytest.approx(value, rel=1e-6, abs=1e-9)
        assert found.kind == "exact"
        assert found.least is not None
        assert found.least <= value * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_with_groups_it_is_never_above_the_program(delta: float) -> None:
    rng, shares = np.random.default_rng(21), list[float]()
    for _ in range(15):
        laws = random_table(rng, int(rng.integers(14, 24)), int(rng.integers(1, 3)))
        epsilon = float(rng.uniform(0.2, 2))
        value = least_by_program(laws, epsilon, delta)
        for groups in (4, 9):
            found = proved_limit(laws, epsilon, delta, groups=groups)
            assert found.least is not None
            assert found.least <= value * (1 + 1e-7) + 1e-12
            assert found.kind == "certified"
        if value > 0.01:
            shares.append(found.least / value)
    assert np.median(shares) > 0.5


def test_any_dual_variables_prove_a_bound() -> None:
    """Whatever a solver returns, the bound holds; random variables are far from good ones."""
    rng, above = np.random.default_rng(22), 0
    for _ in range(60):
        laws, epsilon = random_table(rng, 8, 2), float(rng.uniform(0.2, 2))
        delta = float(rng.choice([0.0, 0.05]))
        program, value = _Program.of(laws, epsilon, delta, 8), least_by_program(laws, epsilon, delta)
        solved = program.solved()
        assert solved is not None
        noisy = solved[1] * rng.lognormal(0, 0.3, solved[1].shape) + rng.exponential(1e-3, solved[1].shape)
        found = program.bound(noisy)
        assert found <= value + 1e-12
        above += found > 0
    assert above > 10


def test_outputs_between_atoms_gain_nothing() -> None:
    """The bound covers outputs of any size, not only those of the program."""
    rng = np.random.default_rng(23)
    for _ in range(8):
        laws = random_table(rng, 7, 1)
        fine = np.linspace(laws.points[0] - 1, laws.points[-1] + 1, 90)
        finer = least_by_program(laws, 0.5, 0.0, np.union1d(fine, laws.points))
        assert proved_limit(laws, 0.5).least == pytest.approx(finer, rel=1e-6, abs=1e-9)


def mixed(*weights: float) -> Atoms:
    return mixture(weights, [Atoms.binomial(100, p) for p in (0.3, 0.4, 0.5)])


@pytest.mark.parametrize(("epsilon", "least"), [(0.1, 6.375), (0.5, 2.549), (0.8, 0.391)])
def test_a_count_over_a_hundred_records(epsilon: float, least: float) -> None:
    framework = bp.DistributionPrivacy([(mixed(0.5, 0.3, 0.2), mixed(0.2, 0.3, 0.5))], source="a test")
    tight = bp.TightMechanism().calibrate(framework, epsilon=epsilon)
    found = limit_of(framework, tight.query, epsilon, 0.0)
    assert found.least == pytest.approx(least, abs=5e-4)
    assert found.kind == "exact"
    over = found.over(tight)
    assert over is not None
    assert over > 4


def test_a_large_law_is_bounded_within_a_few_percent() -> None:
    """20,001 atoms, whose limit is that of a hundred times fewer to within what the steps between them are."""
    framework, query = bp.example("student"), bp.count(bp.col("sat") >= 1200)
    found = limit_of(framework, query, 1.0, 0.0)
    assert found.kind == "certified"
    assert found.least == pytest.approx(357.7, rel=0.01)


def test_what_is_known_of_masses_and_answers_is_taken_off() -> None:
    laws = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    exact, rough = (proved_limit(table([0, 1, 2], laws, error=error), 0.2).least for error in (0.0, 1e-3))
    moved = proved_limit(table([0, 1, 2], laws, rounding=0.01), 0.2).least
    assert exact is not None
    assert rough is not None
    assert exact * 0.98 < rough < exact
    assert moved == pytest.approx(exact - 0.01, rel=1e-6)


def test_tiny_masses_and_impossible_answers() -> None:
    """Row 8: an answer that one secret makes impossible costs what it takes to hide it, however rare."""
    rare = 1e-300
    found = proved_limit(table([0, 1e6], [[1.0, rare], [1.0, 0.0]]), 1.0)
    assert found.least is not None
    assert found.least <= 0.5 * rare * 1e6 * (1 + 1e-6)
    even = proved_limit(table([0, 1], [[0.5, 0.5], [1.0, 0.0]]), 1.0)
    released = 0.5 / (math.e - 0.5)  # how often 0 must be released as 1, so that 1 does not show the first secret
    assert even.least == pytest.approx(0.75 * released, rel=1e-6)


def test_equal_laws_need_no_error() -> None:
    found = proved_limit(table([0, 1], [[0.5, 0.5], [0.5, 0.5]], pairs=[[0, 0]]), 0.1)
    assert found.least == 0.0
    assert found.kind == "exact"


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 50.0, 100.0])
def test_extreme_epsilon(epsilon: float) -> None:
    """Row 42."""
    framework = bp.DistributionPrivacy([(Atoms([0, 1], [0.5, 0.5]), Atoms([0, 1], [0.4, 0.6]))], source="a test")
    query = bp.TightMechanism().calibrate(framework, epsilon=1.0).query
    found = limit_of(framework, query, epsilon, 0.0)
    assert found.least is not None
    assert 0 <= found.least <= 0.5


@pytest.mark.parametrize("rare", [1e-7, 1e-8, 1e-9, 1e-20, 1e-300])
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_what_a_solver_overlooks_is_not_released_as_it_is(rare: float, epsilon: float) -> None:
    """Rows 6 and 8: an answer that one secret rules out, however rare, is no answer to be released unchanged."""
    law = Atoms.from_logs([0, 1, 2], [math.log(0.5), math.log1p(-2 * rare) - math.log(2), math.log(rare)], 1e-15)
    framework = bp.DistributionPrivacy([(law, Atoms([0, 1], [0.5, 0.5]))], source="a test")
    for found in (limit_of(framework, own_query(framework), epsilon, 0.0), bp.plan(framework, None, epsilon).limit):
        assert "as it is" not in found.text
        assert found.least is not None
        assert found.least <= 1.01 * rare / 2
        assert found.least > 0 or found.kind == "certified"
        assert limit_of(framework, own_query(framework), epsilon, 1e-3).unchanged == (rare < 1e-3)


def test_an_answer_below_the_range_of_doubles_is_not_released_as_it_is() -> None:
    """Bins that merge it have no error in doubles; they still change the answer."""
    law = Atoms.from_logs([0, 1, 2], [math.log(0.5), math.log(0.5), -800.0], 1e-15)
    framework = bp.DistributionPrivacy([(law, Atoms([0, 1], [0.5, 0.5]))], source="a test")
    calibration = bp.mechanisms.QuantizationMechanism().calibrate(framework, epsilon=1.0)
    assert calibration.expected_error == 0
    assert "as it is" not in Plan(calibrations=(calibration,), refusals=()).limit.text


def test_exact_is_what_a_channel_reaches() -> None:
    """A rare answer that lies far out counts in the error, and not in what a solver looks at."""
    rare, far = 1e-9, 1e9
    laws = [[0.5, 0.3, 0.2 - rare, rare], [0.2, 0.3, 0.5, 0.0]]
    found = proved_limit(table([0, 1, 2, far], laws), 0.5)
    assert found.least is not None
    # the last answer must be mixed with another one, half a unit of error in all, which the solver leaves out
    assert found.kind == "certified" or found.least > rare * far / 4


def test_the_limit_of_laws_that_are_estimates_is_one() -> None:
    """The accuracy of some families was not tried: what rests on them is no fact about all mechanisms."""
    import scipy.stats as stats

    states = {"s": ["x", "y"], "a": ["x", "y"]}
    tables = {"s": [0.6, 0.4], "a": [[0.9, 0.3], [0.1, 0.7]]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"a": ["s"]}, level="records")
    schema = bp.Schema(records=4, columns={"a": bp.Real(0, 10, steps=20), "s": bp.Categorical(["x", "y"])})
    framework = bp.DatasetAttributePrivacy(
        network,
        schema,
        {"s": bp.Secret(bp.count(bp.col("s") == "x"))},
        laws={"a": {"x": stats.loggamma(2, loc=3), "y": stats.loggamma(3, loc=4)}},
        source="a test",
    )
    query = bp.count(bp.col("a") > 4)
    assert limit_of(framework, query, 0.5, 0.0).kind == "estimate"
    for epsilon, text in (
        (0.5, "an estimate, as these distributions are"),
        (20.0, "as far as distributions that are estimates tell"),
    ):
        found = bp.plan(framework, query, epsilon).limit
        assert found.kind == "estimate"
        assert text in found.text


def test_what_is_not_shown_says_why() -> None:
    framework = bp.example("clinic")
    found = limit_of(framework, bp.mean("bmi"), 1.0, 0.0)
    assert found.least is None
    assert found.text.startswith("The least error of any mechanism is not shown: ")
    assert found.over(bp.ColumnMechanism().calibrate(framework, bp.mean("bmi"), epsilon=1.0)) is None
    pair = (Atoms([[0, 1], [1, 0]], [0.5, 0.5]), Atoms([[0, 1], [1, 0]], [0.4, 0.6]))
    framework = bp.DistributionPrivacy([pair], source="a test")
    query = bp.WassersteinMechanism().calibrate(framework, epsilon=1.0).query
    assert "2 numbers" in limit_of(framework, query, 1.0, 0.0).reason


def test_few_pairs_bound_what_hides_all_pairs() -> None:
    """The best channel that hides all values three apart errs by no less, over the laws of the few values."""
    states = {"ill": ["no", "yes"], "seen": ["no", "yes"]}
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.6, 0.4], "seen": [[0.9, 0.2], [0.1, 0.8]]}, states=states, parents={"seen": ["ill"]}, level="records"
    )
    schema = bp.Schema(records=9, columns={name: bp.Categorical(each) for name, each in states.items()})
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=2))
    framework = bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a test")
    query = bp.count(bp.col("seen") == "yes")
    every, fewer = law_table(framework, query), few_pairs(framework, query)
    assert fewer is not None
    few = law_table(fewer.framework, query)
    assert isinstance(every, LawTable)
    assert isinstance(few, LawTable)
    assert fewer.text == "5 likely values of the secret, 0 to 8"
    masses, prior, size = every.masses, few.mean, every.size
    upper = [
        np.outer(masses[a] - math.e * masses[b], np.eye(size)[w]).ravel() for a, b in every.ways for w in range(size)
    ]
    cost = (prior[:, None] * np.abs(every.points[:, None] - every.points)).ravel()
    equal = np.kron(np.eye(size), np.ones(size))
    found = linprog(cost, A_ub=upper, b_ub=np.zeros(len(upper)), A_eq=equal, b_eq=np.ones(size), method="highs-ipm")
    bound = proved_limit(few, 1.0).least
    assert bound is not None
    assert 0.5 * found.fun < bound <= found.fun * (1 + 1e-7)


def test_a_count_with_a_million_pairs_of_secrets_has_a_bound() -> None:
    framework = bp.example("hospital")
    query = bp.read_queries(bp.example_data("hospital").parent / "framework.toml")["inhalers"]
    found = limit_of(framework, query, 1.0, 0.0)
    assert found.least == pytest.approx(32.47, rel=0.01)
    assert "averaged over the distributions of the answer under 5 likely values of the secret" in found.text


def made(name: str, text: str, epsilon: float = 1.0) -> Plan:
    return bp.plan(bp.example(name), bp.parse_query(text), epsilon)


def test_the_plan_shows_it_beside_every_mechanism() -> None:
    plan = made("four-people", "count(x2 == 1)")
    limit = plan.limit
    assert limit.kind == "exact"
    assert limit.least is not None
    assert "times the least" in plan.text
    assert limit.text in plan.text
    frame = plan.to_pandas()
    assert list(frame["times_the_least"]) == pytest.approx([c.expected_error / limit.least for c in plan.calibrations])
    data = plan.document.data["limit"]
    assert data["least_error"] == limit.least
    assert [each["mechanism"] for each in data["mechanisms"]] == [str(each.mechanism) for each in plan.calibrations]
    assert data["mechanisms"][0]["times_the_least"] == pytest.approx(plan.best.expected_error / limit.least)


def test_a_plan_looks_at_the_size_of_programs_also_where_answers_are_rounded() -> None:
    """Row 45: laws whose answers are rounded together have a program all the same, which took minutes in a plan."""
    laws = [Atoms.binomial(300, p) for p in (0.4, 0.42, 0.44, 0.46)]
    means = [Atoms.from_logs(law.support / 300, law.logs, law.error) for law in laws]
    given = bp.DistributionPrivacy(
        [(means[0], other) for other in means[1:]],
        schema=bp.Schema(records=300, columns={"b": bp.Integer(0, 1)}),
        query=bp.mean("b"),
        source="a test",
    )
    plan = bp.plan(given, None, 0.5)
    assert any("a plan seeks the best channel" in str(why) for _, why in plan.refusals)


def test_an_answer_without_noise_is_at_the_limit() -> None:
    plan = made("student", "count(height > 180)")
    assert plan.best.scale == 0
    assert plan.limit == Limit(least=0.0, kind="exact", unchanged=True)
    assert "times the least" not in plan.text
    assert plan.limit.over(plan.best) == 1.0


def test_a_channel_that_reaches_the_limit_is_asked_first() -> None:
    framework = bp.DistributionPrivacy([(mixed(0.5, 0.3, 0.2), mixed(0.2, 0.3, 0.5))], source="a test")
    for options, reached in (({}, True), ({"worst_case": True}, False), ({"error": "squared"}, False)):
        optimal = bp.mechanisms.OptimalMechanism(**options).calibrate(framework, epsilon=0.5)
        found = reached_limit(optimal)
        assert (found is not None) == reached
        if found is not None:
            limit = Plan(calibrations=(optimal,), refusals=()).limit
            assert limit == found
            assert found.least == pytest.approx(2.5494, abs=1e-4)
            over = limit.over(optimal)
            assert over is not None
            assert over == pytest.approx(1.0, abs=1e-4)
    assert reached_limit(bp.TightMechanism().calibrate(framework, epsilon=0.5)) is None


PAIR = (Atoms([0, 1, 2], [0.2, 0.5, 0.3]), Atoms([0, 1, 2], [0.5, 0.5, 0.0]))
MEAN = {0: 0.35, 1: 0.5, 2: 0.15}
ELSEWHERE = [{"prior": {0: 1.0}}, {"prior": {0: 0.36, 1: 0.49, 2: 0.15}}, {"worst_case": True}]
SAME = [{}, {"prior": MEAN}, {"error": "squared"}, {"error": "zero-one"}]


def mean_error(channel: Channel, prior: dict[float, float]) -> float:
    """Return the mean error of a channel over given answers, term by term."""
    return sum(
        chance * channel.numerators[x, w] / channel.denominator * abs(channel.inputs[x] - channel.outputs[w])
        for x, chance in enumerate(prior.values())
        for w in range(len(channel.outputs))
    )


@pytest.mark.parametrize("options", ELSEWHERE, ids=str)
def test_errors_over_other_answers_are_not_compared_with_the_least(options) -> None:
    framework = bp.DistributionPrivacy([PAIR], source="a test")
    other = bp.mechanisms.OptimalMechanism(**options)
    plan = bp.plan(framework, None, 0.5, baselines=[other])
    (found,) = plan.baselines
    assert plan.limit.over(found) is None
    assert math.isnan(plan.to_pandas()["times_the_least"].tolist()[-1])
    (row,) = [line for line in plan.to_markdown().splitlines() if line.startswith(f"| `{other}`")]
    _, _, noise, _, error, times, *_ = row.split("|")
    assert times.strip(" \\") == "-"
    assert noise.strip() == "table of outputs"
    assert any(told in error for told in ("(averaged over the given prior)", "(under the secret where it is largest)"))


@pytest.mark.parametrize("options", SAME, ids=str)
def test_errors_over_the_mean_of_the_pairs_are_compared(options) -> None:
    framework = bp.DistributionPrivacy([PAIR], source="a test")
    plan = bp.plan(framework, None, 0.5, baselines=[bp.mechanisms.OptimalMechanism(**options)])
    (found,) = plan.baselines
    assert isinstance(found.noise, Channel)
    assert found.expected_error == pytest.approx(mean_error(found.noise, MEAN), rel=1e-12)
    over, least = plan.limit.over(found), plan.limit.least
    assert over is not None
    assert least is not None
    assert over == pytest.approx(found.expected_error / least, rel=1e-4)


def test_the_limit_is_of_the_mean_in_which_a_secret_counts_as_often_as_it_is_in_a_pair() -> None:
    one, two, three = (Atoms([0, 1, 2], masses) for masses in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]))
    limit = bp.plan(bp.DistributionPrivacy([(one, two), (one, three)], source="a test"), None, 0.2).limit
    assert limit.averaged_over is not None
    assert limit.averaged_over.alike(Averaged((0.0, 1.0, 2.0), np.array([0.375, 0.3, 0.325])))
    assert not limit.averaged_over.alike(Averaged((0.0, 1.0, 2.0), np.array([1 / 3, 0.3, 1.1 / 3])))
    assert "under both secrets of every pair" in limit.text


def test_errors_of_two_frameworks_are_not_compared_where_they_are_averaged_over_other_answers() -> None:
    query, schema = bp.count(bp.col("b") == 1), bp.Schema(records=2, columns={"b": bp.Integer(0, 1)})
    turned = Atoms([0, 1, 2], [0.3, 0.5, 0.2]), Atoms([0, 1, 2], [0.0, 0.5, 0.5])
    one, other = (bp.DistributionPrivacy([pair], query=query, schema=schema, source="x") for pair in (PAIR, turned))
    assert bp.plan(one, query, 0.5).best.averaged_over is not None
    assert "are not compared" in bp.compare(one, other, query, 0.5).text
    assert "are not compared" not in bp.compare(one, one, query, 0.5).text


def test_a_plan_without_mechanisms_has_no_limit() -> None:
    assert Plan(calibrations=(), refusals=()).limit.least is None


def test_public_records_count_for_the_limit() -> None:
    """The network knows no dependence, so that by it alone the answer may go out as it is; the table shows one."""
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "coughs": [0.5, 0.5]},
        states={"ill": ["no", "yes"], "coughs": ["no", "yes"]},
        level="records",
    )
    rows = {"ill": ["no"] * 9 + ["yes"] * 3, "coughs": ["no"] * 9 + ["yes"] * 3}
    schema = bp.Schema(records=40, columns={name: bp.Categorical(["no", "yes"]) for name in rows})
    public = public_records_of(rows, schema.columns, draws=2)
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=5))
    framework = bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="x", public_records=public)
    query = bp.count(bp.col("coughs") == "yes")
    alone = few_pairs(replace(framework, public_records=None), query)
    fewer = few_pairs(framework, query)
    assert alone is not None
    assert fewer is not None
    assert "10 to 30" in alone.text  # around 20, one half of the records
    share = float(public.weights(0)[9:].sum()) / 2**62 * 12 / 13 + 0.5 / 13
    first, _, last = fewer.text.split("secret, ")[1].split()
    assert abs((float(first) + float(last)) / 2 - 40 * share) <= 2.5
    assert limit_of(alone.framework, query, 1.0, 0.0).least == 0
    found = limit_of(fewer.framework, query, 1.0, 0.0)
    best = bp.mechanisms.OptimalMechanism().calibrate(fewer.framework, query, epsilon=1.0)
    assert found.least is not None
    assert 0 < found.least <= best.expected_error * (1 + 1e-9)
