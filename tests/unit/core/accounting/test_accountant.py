"""The accountant against brute force over all near sets, and against the exact joint law of several answers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up, typed
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism, WassersteinMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.errors import ParameterError, Refusal, RefusedError
from tests import oracles
from tests.seeds import seeds


def cases(seed: list[int], count: int):
    """Yield frameworks with a possible secret."""
    rng = np.random.default_rng(seed)
    while count:
        case = oracles.random_case(rng, most_nodes=5)
        if impossibility(case.framework) is None:
            count -= 1
            yield rng, case


def releases_of(case: oracles.Case, rng: np.random.Generator, most: int):
    """Calibrate several questions on one framework, with quilts or laws, some of them the same twice."""
    names = [str(name) for name in case.framework.network.attributes]
    found = []
    for _ in range(int(rng.integers(1, most + 1))):
        chosen = [
            str(name) for name in rng.choice(names, size=int(rng.integers(1, min(3, len(names)) + 1)), replace=False)
        ]
        query = bp.linear({name: float(rng.choice([-2.0, 0.5, 1.0, 3.0])) for name in chosen})
        found.append(MarkovQuiltMechanism().calibrate(case.framework, query, epsilon=float(rng.uniform(0.1, 3))))
        if rng.random() < 0.2:
            found.append(found[-1])
    return found[:most]


def brute_force(framework, calibrations) -> float:
    """Return the total by the formula: the worst over attributes, models and pairs of the best over all near sets."""
    network, schema = framework.network, framework.schema
    queried = sorted(frozenset().union(*(each.query.columns for each in calibrations)))
    worst = 0.0
    for model in range(network.models):
        law = oracles.joint(network, model)
        for protected, chosen in framework.secrets.items():
            for pair in chosen:
                best = math.inf
                for size in range(len(queried) + 1):
                    for near in itertools.combinations(queried, size):
                        if protected in queried and protected not in near:
                            continue
                        far = tuple(name for name in queried if name not in near)
                        total = oracles.influence(network, law, far, protected, pair)
                        for each in calibrations:
                            moved = column_sensitivity(each.query, set(near) & each.query.columns, schema).upper
                            if moved > 0:
                                total += moved / each.scale if each.scale > 0 else math.inf
                        best = min(best, total)
                worst = max(worst, best)
    return worst


@pytest.mark.parametrize("block", seeds(2, slow=4))
def test_totals_are_those_of_brute_force_over_all_near_sets(block: int) -> None:
    unbounded = 0
    for rng, case in cases([18, block], 25):
        calibrations = releases_of(case, rng, 6)
        accountant = Accountant(case.framework)
        for k, each in enumerate(calibrations, start=1):
            accountant = accountant.record(each)
            expected = brute_force(case.framework, calibrations[:k])
            if k == 1:  # its own guarantee holds as well
                expected = min(expected, each.guarantee.epsilon)
            if math.isinf(expected):
                unbounded += 1
                assert math.isinf(accountant.epsilon)
            else:
                assert accountant.epsilon == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert unbounded < 60


def joint_loss(case: oracles.Case, calibrations) -> float:
    """Return the exact privacy loss of several answers together.

    In each answer the log ratio of two mixtures of Laplace laws is monotone between neighbouring atoms, the others
    fixed; so the grid of atoms decides.
    """
    network = case.framework.network
    names = tuple(sorted(frozenset().union(*(each.query.columns for each in calibrations))))
    rows = list(itertools.product((0, 1), repeat=len(names)))
    told = []
    for each in calibrations:
        answers = np.array([oracles.value(each.query, dict(zip(names, row, strict=True))) for row in rows])
        atoms = np.unique(answers)
        gap = np.abs(atoms[:, None] - answers[None, :])
        told.append(np.exp(-gap / each.scale) if each.scale > 0 else (gap == 0).astype(float))
    worst = 0.0
    for model in range(network.models):
        law = oracles.joint(network, model)
        for protected, chosen in case.framework.secrets.items():
            for pair in chosen:
                outputs = [
                    _outputs(network, law, names, rows, protected, side, told, case)
                    for side in (pair.first, pair.second)
                ]
                if outputs[0] is None or outputs[1] is None:
                    continue
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = np.where(outputs[0] > 0, np.log(outputs[0]) - np.log(outputs[1]), -np.inf)
                worst = max(worst, float(ratio.max()))
    return worst


def _outputs(network, law, names, rows, protected, side, told, case):
    parameters = oracles.conditional(network, law, names, protected, side)
    if parameters is None:
        return None
    masses = []
    for row in rows:
        mass = parameters
        for name, cell in zip(names, row, strict=True):
            mass = np.tensordot(case.emission[name][:, cell], mass, axes=(0, 0))
        masses.append(float(mass))
    letters = "abcdef"[: len(told)]
    return np.einsum(f"{','.join(f'{letter}z' for letter in letters)},z->{letters}", *told, np.array(masses))


@pytest.mark.parametrize("block", seeds(2, slow=4))
def test_joint_law_of_several_answers_never_passes_the_total(block: int) -> None:
    close = 0
    for rng, case in cases([181, block], 30):
        emission = {
            name: oracles._emission(rng, len(case.framework.network.states[name]))
            for name in case.framework.network.attributes
        }
        case = oracles.Case(framework=case.framework, query=case.query, epsilon=1.0, emission=emission)
        calibrations = releases_of(case, rng, 3)
        accountant = Accountant(case.framework)
        for each in calibrations:
            accountant = accountant.record(each)
        told = joint_loss(case, calibrations)
        assert told <= accountant.epsilon * (1 + 1e-9) + 1e-12
        close += told > 0.5 * accountant.epsilon
    assert close >= 3  # the total is not merely huge


def test_influence_is_paid_once() -> None:
    framework = bp.example("student")
    one = MarkovQuiltMechanism().calibrate(framework, bp.mean("sat"), epsilon=2.0)
    accountant = Accountant(framework)
    for _ in range(10):
        accountant = accountant.record(one)
    assert accountant.epsilon < 10 * 2.0
    assert accountant.epsilon == pytest.approx(float(accountant.shares[0].influence.upper) + 0.0, abs=1e-9)


def test_releases_that_tell_by_noise_alone_fit_exactly() -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"income": [0.5, 0.5], "sat": [[1.0, 0.0], [0.0, 1.0]]},
        states={"income": ["low", "high"], "sat": ["low", "high"]},
        parents={"sat": ["income"]},
    )
    schema = bp.Schema(records=10, columns={"income": bp.Real(0, 1), "sat": bp.Real(0, 7)})
    framework = bp.DistributionalAttributePrivacy(network, schema, protect="income", source="a copy")
    accountant = Accountant(framework)
    for mechanism in (MarkovQuiltMechanism(), ColumnMechanism(), MarkovQuiltMechanism()):
        accountant = accountant.record(mechanism.calibrate(framework, bp.mean("sat"), epsilon=0.1))
    assert accountant.total is not None
    assert accountant.total <= Fraction(3, 10)
    assert accountant.epsilon == pytest.approx(0.3, rel=1e-12)
    columns = Accountant(framework)
    for _ in range(3):
        columns = columns.record(ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=0.1))
    assert columns.total == Fraction(3, 10)


def test_two_answers_without_noise_that_reveal_a_secret_together_are_unbounded() -> None:
    """A fair coin, and the coin plus the secret: each tells nothing, both tell all."""
    network = bp.DiscreteNetwork.from_tables(
        {"secret": [0.5, 0.5], "coin": [0.5, 0.5], "sum": [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]},
        states={name: ["low", "high"] for name in ("secret", "coin", "sum")},
        parents={"sum": ["secret", "coin"]},
    )
    schema = bp.Schema(records=10, columns={name: bp.Real(0, 1) for name in ("secret", "coin", "sum")})
    framework = bp.DistributionalAttributePrivacy(network, schema, protect="secret", source="a riddle")
    calibrations = [MarkovQuiltMechanism().calibrate(framework, bp.mean(name), epsilon=1.0) for name in ("coin", "sum")]
    assert [each.scale for each in calibrations] == [0.0, 0.0]
    accountant = Accountant(framework).record(calibrations[0])
    assert accountant.epsilon == 0.0
    assert math.isinf(accountant.record(calibrations[1]).epsilon)


def test_a_release_counts_by_its_noise_whatever_mechanism_calibrated_it() -> None:
    rng = np.random.default_rng(5)
    case = oracles.random_case(rng, most_nodes=4)
    framework = bp.example("student")
    wasserstein = WassersteinMechanism().calibrate(framework, bp.count(bp.col("sat") >= 1200), epsilon=1.0)
    quilt = MarkovQuiltMechanism().calibrate(framework, bp.mean("height"), epsilon=1.0)
    accountant = Accountant(framework).record(wasserstein)
    assert accountant.epsilon <= 1.0
    assert accountant.record(quilt).epsilon > 0
    assert case.framework is not framework
    with pytest.raises(RefusedError, match="framework"):
        Accountant(case.framework).record(quilt)


def test_own_laws_are_refused_beside_another_release_whichever_comes_first() -> None:
    pair = (bp.laws.Atoms([0, 1, 2], [0.2, 0.5, 0.3]), bp.laws.Atoms([0, 1, 2], [0.5, 0.3, 0.2]))
    framework = bp.DistributionPrivacy([pair], source="a textbook")
    tight = TightMechanism().calibrate(framework, epsilon=0.2)
    alone = Accountant(framework).record(tight)
    assert alone.epsilon == pytest.approx(0.2)
    with pytest.raises(RefusedError, match="own distribution"):
        alone.record(tight)
    student = bp.example("student")
    channel = (
        bp.mechanisms.OptimalMechanism().calibrate(student, bp.count(bp.col("sat") >= 1200), epsilon=0.1)
        if (bp.mechanisms.OptimalMechanism().supports(student, bp.count(bp.col("sat") >= 1200), epsilon=0.1) is None)
        else None
    )
    quilt = MarkovQuiltMechanism().calibrate(student, bp.mean("height"), epsilon=1.0)
    if channel is not None and channel.scale:
        for first, second in ((channel, quilt), (quilt, channel)):
            with pytest.raises(RefusedError, match="own distribution"):
                Accountant(student).record(first).record(second)


def test_what_is_no_calibration_is_refused() -> None:
    with pytest.raises(ParameterError):
        Accountant(bp.example("student")).record("a calibration")  # type: ignore[arg-type]


def test_a_calibration_that_was_changed_is_refused() -> None:
    framework = bp.example("student")
    calibration = MarkovQuiltMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    accountant = Accountant(framework).record(calibration)
    object.__setattr__(calibration, "noise", bp.noise.Laplace(1e9, 1))
    assert accountant.refusal(calibration) is not None
    with pytest.raises(RefusedError, match="was changed"):
        accountant.record(calibration)


@pytest.mark.parametrize("number", [0.1, 0.3, 1 / 3, 5e-324, 1e300, 2.0**-60, 1.0000000000000002])
def test_exact_numbers_are_never_below(number: float) -> None:
    assert Fraction(rounded_up(Fraction(number))) >= Fraction(number)
    assert rounded_up(typed(number)) == number


def test_entries_that_were_passed_are_counted_again() -> None:
    framework = bp.example("student")
    one = MarkovQuiltMechanism().calibrate(framework, bp.mean("sat"), epsilon=1.0)
    other = MarkovQuiltMechanism().calibrate(framework, bp.mean("height"), epsilon=1.0)
    recorded = Accountant(framework).record(one).record(one)
    again = Accountant(framework, entries=recorded.entries)
    assert again.total == recorded.total
    assert again.record(other).total == recorded.record(other).total


def test_an_estimate_is_counted_alone_and_beside_column_releases_only(monkeypatch: pytest.MonkeyPatch) -> None:
    framework = bp.example("clinic")
    quilt = [
        MarkovQuiltMechanism().calibrate(framework, text, epsilon=1.0)
        for text in ("mean(visits)", "mean(liver_enzyme)")
    ]
    column = ColumnMechanism().calibrate(framework, "mean(visits)", epsilon=0.5)
    monkeypatch.setattr(Accountant, "kind", property(lambda _: "estimate"))
    alone = Accountant(framework).record(quilt[0]).record(column)
    assert len(alone.entries) == 2
    with pytest.raises(RefusedError, match="only what is proved"):
        alone.record(quilt[1])


def test_releases_of_records_are_refused_where_no_theorem_counts_records() -> None:
    """Entries of another framework, as a program may pass them in, get a reason and no other error."""
    framework = bp.example("hospital")
    kept = Entry.of(bp.TightMechanism().calibrate(framework, bp.parse_query('count(smoker == "yes")'), epsilon=0.5))
    assert kept.family == "records"
    found = Accountant(bp.example("student")).with_entry(kept)
    assert isinstance(found, Refusal)
    assert "secrets of another notion" in found.found
