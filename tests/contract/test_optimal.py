"""The channel with the least error: constraints in fractions, errors against a program that was written apart."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.noise import SecureSampler
from bnpriv.mechanisms.optimal.channel import Channel, Meaning
from bnpriv.mechanisms.optimal.mechanism import OptimalMechanism, pairs_of
from bnpriv.mechanisms.optimal.program import RATIO_BITS, Constraints, LawTable, Question, optimum
from bnpriv.verify.check import verify
from tests.channels import (
    EXAMPLE,
    Problem,
    count_of,
    holds,
    least,
    loss_of,
    needed_delta,
    output_law,
    problems,
)
from tests.contract.test_released_doubles import CASES, loss

LARGE_DELTA = OptimalMechanism(large_delta=True)


@pytest.mark.parametrize(("epsilon", "known"), [(0.1, 6.375), (0.5, 2.549), (0.8, 0.3910)])
def test_the_least_error_of_a_count_over_100_records(epsilon, known):
    problem = Problem([EXAMPLE], epsilon)
    calibration = OptimalMechanism().calibrate(problem.framework, epsilon=epsilon)
    error = calibration.expected_error
    facts = calibration.certificate.channel
    assert math.isclose(error, known, rel_tol=2e-4)
    assert math.isclose(error, least(problem), rel_tol=1e-5)
    assert facts.bound <= facts.error
    assert facts.gap < 1e-5
    assert needed_delta(calibration.noise, problem.exact(), epsilon) == 0
    assert error <= bp.TightMechanism().calibrate(problem.framework, epsilon=epsilon).expected_error


@pytest.mark.parametrize("seed", range(6))
def test_the_constraints_hold_in_fractions_whatever_the_numbers_are(seed):
    for problem in problems(seed, 10):
        assert holds(problem, LARGE_DELTA)


@pytest.mark.parametrize("error", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("worst_case", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_the_error_is_that_of_another_program(error, worst_case, delta):
    rng = np.random.default_rng(5)
    mechanism = OptimalMechanism(error=error, worst_case=worst_case, large_delta=True)
    for _ in range(4):
        points = np.sort(rng.choice(40, size=12, replace=False))
        drawn = [Atoms(points, rng.dirichlet(np.full(12, 0.7))) for _ in range(3)]
        problem = Problem([(drawn[0], drawn[1]), (drawn[1], drawn[2])], float(rng.choice([0.2, 1.0])), delta)
        calibration = mechanism.calibrate(problem.framework, epsilon=problem.epsilon, delta=delta)
        facts, value = calibration.certificate.channel, least(problem, error, worst_case=worst_case)
        assert math.isclose(facts.error, value, rel_tol=1e-5, abs_tol=1e-9)
        assert facts.bound <= value * (1 + 1e-7) + 1e-9
        assert facts.gap < 1e-4
        assert needed_delta(calibration.noise, problem.exact(), problem.epsilon) <= Fraction(delta)


def test_the_certificates_error_is_that_of_the_rows():
    problem = Problem([EXAMPLE], 0.5)
    for error in ("absolute", "squared", "zero-one"):
        for worst_case in (False, True):
            mechanism = OptimalMechanism(error=error, worst_case=worst_case)
            calibration = mechanism.calibrate(problem.framework, epsilon=0.5)
            channel, exact = calibration.noise, problem.exact()
            loss = loss_of(error, np.array(channel.inputs), np.array(channel.outputs))
            mean = [
                sum(
                    float(law[x]) * float(n) / channel.denominator * loss[k, w]
                    for k, x in enumerate(channel.inputs)
                    for w, n in enumerate(channel.numerators[k])
                )
                for law in exact[0]
            ]
            wanted = max(mean) if worst_case else sum(mean) / 2
            assert math.isclose(calibration.certificate.channel.error, wanted, rel_tol=1e-9)


@pytest.mark.parametrize("last", [40, 60])
def test_a_given_prior_decides_the_error_and_not_the_privacy(last):
    """Where all of the prior lies among answers that are alike nothing is lost: only others have to move."""
    problem = Problem([EXAMPLE], 0.5)
    places = range(30, last + 1)
    prior = [(float(k), 1 / len(places)) for k in places]
    calibration = OptimalMechanism(prior=prior).calibrate(problem.framework, epsilon=0.5)
    masses = np.zeros(101)
    masses[30 : last + 1] = 1 / len(places)
    assert math.isclose(calibration.expected_error, least(problem, prior=masses), rel_tol=1e-5, abs_tol=1e-9)
    assert needed_delta(calibration.noise, problem.exact(), 0.5) == 0
    stored = bp.types.Calibration.from_json(calibration.to_json(), problem.framework)
    assert stored.noise == calibration.noise


@pytest.mark.parametrize(
    "prior", [[(0.5, 1.0)], [(1.0, 0.5)], [(1.0, 0.5), (1.0, 0.5)], [], "all", [(1.0, -1.0)], [1.0]]
)
def test_what_is_no_prior_over_the_answers_is_refused(prior):
    with pytest.raises(bp.errors.ParameterError):
        OptimalMechanism(prior=prior).calibrate(Problem([EXAMPLE], 0.5).framework, epsilon=0.5)


def test_laws_that_are_alike_are_released_as_they_are():
    calibration = OptimalMechanism().calibrate(Problem([EXAMPLE], 1.0).framework, epsilon=1.0)
    assert isinstance(calibration.noise, bp.noise.NoNoise)
    assert calibration.certificate.zero_noise_reason


@pytest.mark.parametrize("other", [-math.inf, -3000.0, -230.0])
@pytest.mark.parametrize("rare", [-60.0, -145.0, -200.0, -700.0, -744.5, -2000.0])
def test_an_answer_that_is_rare_beyond_all_digits_is_not_released_as_it_is(rare, other):
    """Row 8: one law has it e^30 times as often as the other, or the other has it not at all."""
    if other > rare - 30:
        other = rare - 30
    laws = [Atoms.from_logs([0, 1, 2], [math.log(0.5), math.log(0.5), log]) for log in (rare, other)]
    for pair in (laws, laws[::-1]):
        calibration = OptimalMechanism().calibrate(Problem([tuple(pair)], 1.0).framework, epsilon=1.0)
        assert isinstance(calibration.noise, bp.noise.Channel)
        assert needed_delta(calibration.noise, Problem([tuple(pair)], 1.0).exact(), 1.0) == 0


@pytest.mark.parametrize("epsilon", [1e-8, 0.1, 0.5, 1.0, math.log(2), 3.0, 17.3, 100.0])
def test_the_ratio_of_the_check_is_below_that_of_epsilon(epsilon):
    problem = Problem([EXAMPLE], epsilon)
    table = LawTable.of(pairs_of(laws(problem.framework, None)))
    exact = Fraction(Context(prec=120).exp(Decimal(epsilon)))
    assert exact * (1 - Fraction(1, 10**35)) < Fraction(Constraints(table, epsilon, 0.0).ratio, 2**RATIO_BITS) < exact


@pytest.mark.parametrize("delta", [0.3, 0.6, 0.9])
def test_delta_is_for_all_outputs_together(delta):
    """No answer alone passes by more than a quarter; all of them together tell the secrets apart for sure."""
    pair = Atoms(range(4), [0.25] * 4), Atoms(range(4, 8), [0.25] * 4)
    problem = Problem([pair], 0.1, delta)
    calibration = LARGE_DELTA.calibrate(problem.framework, epsilon=0.1, delta=delta)
    assert isinstance(calibration.noise, bp.noise.Channel)
    assert 0 < needed_delta(calibration.noise, problem.exact(), 0.1) <= Fraction(delta)


def test_the_stated_error_and_bound_enclose_those_of_fractions():
    """Errors are rounded up, for losses between neighbouring doubles and decimals as well."""
    for problem in problems(31, 12):
        if problem.delta > 0 or np.ptp(problem.points) < 1e-12:
            continue
        for error in ("absolute", "zero-one"):
            mechanism = OptimalMechanism(error=error, large_delta=True)
            calibration = mechanism.calibrate(problem.framework, epsilon=problem.epsilon)
            facts, channel = calibration.certificate.channel, calibration.noise
            if facts is None:
                continue
            exact = [law for pair in problem.exact() for law in pair]
            losses = [
                mass
                * Fraction(n, channel.denominator)
                * (abs(Fraction(x) - Fraction(w)) if error == "absolute" else x != w)
                for law in exact
                for x, mass in law.items()
                for w, n in zip(channel.outputs, channel.numerators[channel.inputs.index(x)].tolist(), strict=True)
            ]
            assert Fraction(facts.error) >= sum(losses, Fraction(0)) / len(exact)
            assert facts.bound <= facts.error


def test_an_answer_that_is_released_as_it_is_at_the_cost_of_delta_says_so():
    problem = Problem([(Atoms(range(3), [0.5, 0.5, 0.0]), Atoms(range(3), [0.5, 0.49, 0.01]))], 0.5, 0.05)
    calibration = LARGE_DELTA.calibrate(problem.framework, epsilon=0.5, delta=0.05)
    assert isinstance(calibration.noise, bp.noise.NoNoise)
    assert calibration.guarantee.delta == 0.05
    assert LARGE_DELTA.calibrate(problem.framework, epsilon=0.5).guarantee.delta == 0


def test_what_an_output_means_is_the_odds_of_the_two_secrets():
    problem = Problem([EXAMPLE], 0.5)
    calibration = OptimalMechanism().calibrate(problem.framework, epsilon=0.5)
    first, second = (output_law(calibration.noise, law) for law in problem.exact()[0])
    places = {w: k for k, w in enumerate(calibration.noise.outputs)}
    for each in calibration.certificate.channel.meanings:
        k = places[each.output]
        assert math.isclose(each.factor, first[k] / second[k], rel_tol=1e-6)


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (2.0, "times 2"),
        (0.5, "divided by 2"),
        (math.inf, "the second is ruled out"),
        (0.0, "the first is ruled out"),
        (1.0, "unchanged"),
    ],
)
def test_odds_in_words(factor, said):
    assert Meaning(output=0.0, chance=0.5, pair="a against b", factor=factor).factor_text == said


def test_another_answer_counts_however_near_it_is():
    points = np.arange(5) * 0.1
    pair = Atoms(points, [0.1, 0.2, 0.3, 0.25, 0.15]), Atoms(points, [0.15, 0.3, 0.2, 0.2, 0.15])
    problem = Problem([pair], 0.1)
    facts = OptimalMechanism(error="zero-one").calibrate(problem.framework, epsilon=0.1).certificate.channel
    assert math.isclose(facts.error, least(problem, "zero-one"), rel_tol=1e-5)


def test_laws_that_are_not_known_well_enough_are_refused():
    pair = tuple(Atoms.from_logs(range(2), np.log([p, 1 - p]), 6e-4) for p in (0.4, 0.5))
    assert "known" in OptimalMechanism().supports(Problem([pair], 0.5).framework, epsilon=0.5).required


def test_a_model_that_is_left_out_is_another_problem():
    """Every pair of declared laws is a constraint of its own."""
    other = (count_of(100, (1.0,), (0.2,)), count_of(100, (1.0,), (0.6,)))
    both, one = Problem([EXAMPLE, other], 0.5), Problem([EXAMPLE], 0.5)
    calibration = OptimalMechanism().calibrate(both.framework, epsilon=0.5)
    assert needed_delta(calibration.noise, both.exact(), 0.5) == 0
    alone = OptimalMechanism().calibrate(one.framework, epsilon=0.5)
    assert needed_delta(alone.noise, both.exact(), 0.5) > Fraction(1, 10)


def test_answers_that_rounding_does_not_tell_apart_share_a_row():
    schema = bp.Schema(records=3, columns={"x": bp.Real(0, 1, steps=10)})
    query = bp.mean("x")
    points = [0.1, 0.1 + 1e-16, 0.1 + 0.2, 0.3, 0.7]
    pair = (Atoms(points, [0.3, 0.2, 0.1, 0.2, 0.2]), Atoms(points, [0.1, 0.1, 0.3, 0.4, 0.1]))
    framework = bp.DistributionPrivacy([pair], query=query, schema=schema, source="invented")
    channel = OptimalMechanism().calibrate(framework, epsilon=0.3).noise
    near = [(k, j) for k in range(5) for j in range(k) if abs(channel.inputs[k] - channel.inputs[j]) < 1e-15]
    assert near
    assert all(np.array_equal(channel.numerators[k], channel.numerators[j]) for k, j in near)


def test_the_bound_is_that_of_the_program():
    problem = Problem([EXAMPLE], 0.5)
    found = OptimalMechanism().calibrate(problem.framework, epsilon=0.5).certificate.channel
    assert found.bound <= least(problem) * (1 + 1e-8)
    assert found.error - found.bound < 1e-5 * found.error
    normal = bp.DistributionPrivacy([(bp.laws.Normal(0, 1), bp.laws.Normal(1, 1))], source="invented")
    with pytest.raises(bp.errors.RefusedError, match="finitely many values"):
        OptimalMechanism().calibrate(normal, epsilon=0.5)


@pytest.mark.parametrize("worst_case", [False, True])
def test_answers_as_small_as_doubles_can_be(worst_case):
    """Rows 8, 42: products of a loss of 5e-324 with a mass are 0, and nothing may be divided by them."""
    points = np.arange(3) * 5e-324
    pair = (Atoms.from_logs(points, [-584.0, -645.0, 0.0]), Atoms.from_logs(points[:2], [0.0, -187.0]))
    problem = Problem([pair], 1.0)
    assert holds(problem, OptimalMechanism(worst_case=worst_case))


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_normal_or_has_several_numbers_is_refused(number):
    if number == 1:
        framework = bp.DistributionPrivacy([(bp.laws.Normal(0, 1), bp.laws.Normal(1, 1))], source="invented")
    else:
        points = [[0, 0], [1, 1]]
        framework = bp.DistributionPrivacy([(Atoms(points, [0.5, 0.5]), Atoms(points, [0.4, 0.6]))], source="invented")
    assert OptimalMechanism().supports(framework, epsilon=1.0) is not None


def test_alike_atoms_that_stand_for_several_doubles_are_not_released_unchanged():
    """Two atoms may be alike while the doubles that round to them are not: only the atoms themselves may go out."""
    law = Atoms([0.1, 0.2, 0.7], [0.2, 0.3, 0.5])
    schema = bp.Schema(records=10, columns={"share": bp.Real(0, 1)})
    query = bp.mean("share")
    framework = bp.DistributionPrivacy([(law, law)], query=query, schema=schema, source="invented")
    channel = OptimalMechanism().calibrate(framework, query, epsilon=0.5).noise
    assert isinstance(channel, Channel)
    assert channel.sample([np.nextafter(0.2, 1)], SecureSampler()) == (0.2,)


def test_a_released_answer_is_one_of_the_outputs_and_its_interval_holds_the_exact_one():
    network = bp.DiscreteNetwork.from_tables(
        {"income": [0.6, 0.4], "sat": [[0.7, 0.3], [0.3, 0.7]]},
        states={"income": ["low", "high"], "sat": ["weak", "strong"]},
        parents={"sat": ["income"]},
    )
    schema = bp.Schema(records=20, columns={"sat": bp.Categorical(["fail", "pass"])})
    framework = bp.DistributionalAttributePrivacy(
        network, schema, "income", source="invented", laws={"sat": {"weak": 0.3, "strong": 0.5}}
    )
    query = bp.count(bp.col("sat") == "pass")
    calibration = OptimalMechanism().calibrate(framework, query, epsilon=0.4)
    channel = calibration.noise
    import pandas as pd

    table = pd.DataFrame({"sat": ["pass"] * 7 + ["fail"] * 13})
    inside = 0
    for _ in range(60):
        released = bp.release(calibration, table)
        assert released.value in channel.outputs
        assert released.clamped().value == released.rounded().value == released.value
        low, high = released.interval(0.9)
        inside += low <= 7 <= high
    assert inside >= 44  # below it with probability 4e-5
    assert verify(calibration).status == "holds"
    again = bp.types.Calibration.from_json(calibration.to_json(), framework, query)
    assert again.noise == channel
    assert again.seal == calibration.seal
    text = calibration.text
    assert "takes the place of the exact answer" in text
    assert "What an answer tells: how far it moves the odds of low against high" in text
    assert "leans on the declared distributions" in text
    told = bp.rehearse(calibration, 400)
    assert told.correct <= told.bound + told.margin
    exact = [output_law(channel, law) for law in _binomials(20)]
    apart = float(sum(abs(a - b) for a, b in zip(*exact, strict=True))) / 2
    assert (1 + apart) / 2 <= told.bound


def _binomials(n):
    """Return the laws of the answer under the two secrets, by Bayes' rule and plain sums."""
    found = []
    for weak in (Fraction(7, 10), Fraction(3, 10)):
        law = {}
        for k in range(n + 1):
            parts = [
                weight * math.comb(n, k) * p**k * (1 - p) ** (n - k)
                for weight, p in ((weak, Fraction(3, 10)), (1 - weak, Fraction(1, 2)))
            ]
            law[float(k)] = sum(parts, Fraction(0))
        found.append(law)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", CASES)
def test_no_released_answer_gives_a_secret_away(kind):
    """Row 8: the exact laws of the released doubles, of models with hostile numbers, and of tables with offsets."""
    rng = np.random.default_rng(31)
    served = drawn = 0
    for _ in range(30):
        case = CASES[kind](rng)
        if case is None or OptimalMechanism().supports(case.framework, case.query, epsilon=1.0) is not None:
            continue
        epsilon = float(rng.uniform(0.2, 3))
        channel = OptimalMechanism().calibrate(case.framework, case.query, epsilon=epsilon).noise
        pairs = [tuple(divided_law(law) for law in pair) for pair in case.pairs]
        served += 1
        if isinstance(channel, bp.noise.NoNoise):
            assert max(loss(f, g, 0.0) for f, g in case.pairs) <= epsilon * (1 + 1e-9)
            continue
        drawn += 1
        assert all(x in channel.inputs for pair in pairs for law in pair for x in law)
        assert needed_delta(channel, pairs, epsilon) == 0
    assert served >= 15
    assert drawn >= 5


def divided_law(law):
    total = sum(law.values(), Fraction(0))
    return {x: mass / total for x, mass in law.items()}


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
def test_large_supports(epsilon):
    rng = np.random.default_rng(11)
    chances = np.sort(rng.uniform(0.1, 0.9, size=(20, 3)), axis=1)
    wide = [tuple(count_of(199, rng.dirichlet([3] * 3), each) for _ in range(2)) for each in chances.tolist()]
    calibration = OptimalMechanism().calibrate(Problem(wide, epsilon).framework, epsilon=epsilon)
    assert near(calibration, 1e-3)
    long = [tuple(count_of(1999, rng.dirichlet([3] * 3), chances[0]) for _ in range(2))]
    calibration = OptimalMechanism().calibrate(Problem(long, epsilon).framework, epsilon=epsilon)
    assert near(calibration, 1e-2)


def near(calibration, gap):
    """Return whether error and bound are near: by a share of the error, or 1e-9 of the answers"""
    facts = calibration.certificate.channel
    return facts is None or facts.gap < gap or facts.error - facts.bound < 1e-9 * facts.answers


def test_an_error_below_what_a_solver_tells_apart_is_told_in_the_unit_of_the_answer():
    pair = count_of(60, (1.0,), (0.5,)), count_of(60, (1.0,), (0.55,))
    facts = OptimalMechanism().calibrate(Problem([pair], 4.0).framework, epsilon=4.0).certificate.channel
    assert 0 < facts.error < 1e-3
    tiny = replace(facts, error=3.1e-11, bound=0.0)
    assert "at least 0 (under 0.000001 less, 100 % of it)" in tiny.notes[1]
    assert "is 6.375: the least that" in replace(facts, error=6.3751, bound=6.375).notes[1]
    assert " of it)" not in replace(facts, error=6.3751, bound=6.375).notes[1]
    assert "estimate" not in facts.notes[1]
    assert "if the distributions, which are an estimate, are right" in replace(facts, kind="estimate").notes[1]


def test_the_error_of_answers_beside_their_atoms_is_enclosed():
    """What rounding may add to the error of the atoms is in the error, and off the bound."""
    schema = bp.Schema(records=3, columns={"x": bp.Real(0, 2**40, steps=10)})
    points = (0.0, 2.0**38, 2.0**39, 2.0**40)
    pair = Atoms(points, [0.3, 0.2, 0.2, 0.3]), Atoms(points, [0.1, 0.4, 0.4, 0.1])
    framework = bp.DistributionPrivacy([pair], query=bp.mean("x"), schema=schema, source="invented")
    table = LawTable.of(pairs_of(laws(framework, bp.mean("x"))))
    assert table.rounding > 0
    questions = [
        Question(table=each, error="absolute", priors=table.mean[np.newaxis], epsilon=0.3, delta=0.0)
        for each in (table, replace(table, rounding=0.0))
    ]
    beside, on = map(optimum, questions)
    assert beside.error >= on.error + table.rounding * 0.99
    assert beside.bound <= on.bound - table.rounding * 0.99
