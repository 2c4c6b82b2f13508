"""The rule for k records together against tables that are listed one by one, and integrals that use nothing of it."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence import laws as counts
from bnpriv.core.evidence.constraints import Constraint, RecordPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.gaussian_curve import gaussian_delta, gaussian_excess, gaussian_mu
from bnpriv.core.mechanisms.k_fold import Coupled, composed_delta, sums_of_records
from bnpriv.core.transport import w_infinity
from bnpriv.errors import Refusal
from tests.contract.test_law_mechanisms import Law, LawCase, dataset_case, given, sums

FEW, MANY = 20, pytest.param(150, marks=pytest.mark.slow)

TIGHT = [bp.TightMechanism(noise=noise, large_delta=True) for noise in ("gaussian", "laplace")]
WASSERSTEIN = [bp.WassersteinMechanism(noise=noise, large_delta=True) for noise in ("gaussian", "laplace")]

# two laws with one mean and one variance: the more records change, the less their sums differ
EVEN, ODD = {0: 0.125, 2: 0.75, 4: 0.125}, {1: 0.5, 3: 0.5}


def framework_of(
    tables: dict[str, tuple[dict[int, float], dict[int, float]]], records: int, pairs: object = None
) -> bp.DatasetAttributePrivacy:
    """Return a framework whose secret is a count, from the laws of columns given that a record does not count or does.

    Given that, the columns are independent.
    """
    values = {name: sorted({*one, *other}) for name, (one, other) in tables.items()}
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.6, 0.4]}
        | {
            name: np.array([[side.get(value, 0.0) for side in sides] for value in values[name]])
            for name, sides in tables.items()
        },
        states={"s": ["0", "1"]} | {name: [str(value) for value in each] for name, each in values.items()},
        parents={name: ["s"] for name in tables},
        level="records",
    )
    columns = {"s": bp.Integer(0, 1)} | {name: bp.Integer(min(v), max(v)) for name, v in values.items()}
    secret = bp.Secret(bp.count(bp.col("s") == 1), pairs=pairs)
    return bp.DatasetAttributePrivacy(
        network, bp.Schema(records=records, columns=columns), {"s": secret}, source="a fixture"
    )


def bits(p0: float, p1: float) -> tuple[dict[int, float], dict[int, float]]:
    return {0: 1 - p0, 1: p0}, {0: 1 - p1, 1: p1}


def constraint_of(framework: bp.DatasetAttributePrivacy, query: bp.types.Query) -> Constraint:
    evidence = laws(framework, query)
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    return constraint


def record_of(framework: bp.DatasetAttributePrivacy, query: bp.types.Query) -> RecordPair:
    record = constraint_of(framework, query).record
    assert record is not None
    return record


@pytest.fixture
def only_records(monkeypatch) -> None:
    """Let no exact laws of the answer be computed."""
    monkeypatch.setattr(counts, "MOST_EXACT_PAIRS", 0)


def line_excess(f: Law, g: Law, scale: float, epsilon: float, noise: str) -> float:
    """Integrate the positive part of the difference of two densities by midpoints, to about 1e-5 of itself."""
    atoms = np.array(sorted(set(f) | set(g)))[:, 0]
    masses = np.array([f.get((x,), 0.0) - math.exp(epsilon) * g.get((x,), 0.0) for x in atoms.tolist()])
    if scale == 0:
        return float(np.maximum(masses, 0).sum())
    step, far = scale / 150, 8.0 if noise == "gaussian" else 25.0
    w = np.arange(atoms.min() - far * scale, atoms.max() + far * scale, step)
    away = np.abs(w[:, None] - atoms) / scale
    kernel = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) if noise == "gaussian" else np.exp(-away) / 2
    return float(np.maximum(kernel @ masses, 0).sum()) / 150


def told_by(case: LawCase, scale: float, noise: str) -> float:
    """Return the largest delta over all models, pairs and directions."""
    ways = [way for model in case.pairs for pair in model for way in (pair, pair[::-1])]
    return max(line_excess(*way, scale, case.epsilon, noise) for way in ways)


CLOSE = 1 + 1e-4
"""What the integrals above may be off by."""


# --- the theorem ----------------------------------------------------------------------------------------------------


def answer_law(one: dict[int, float], zero: dict[int, float], s: int, n: int) -> Law:
    """Return the law of a sum over n records of which s count."""
    law: dict[int, float] = {0: 1.0}
    for part in [one] * s + [zero] * (n - s):
        found: dict[int, float] = {}
        for (x, p), (y, q) in itertools.product(law.items(), part.items()):
            found[x + y] = found.get(x + y, 0.0) + p * q
        law = found
    return {(float(x),): p for x, p in law.items()}


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_two_answers_differ_no_more_than_the_sums_that_change(noise: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        one, zero = (dict(zip(range(3), rng.dirichlet(np.full(3, 0.7)).tolist(), strict=True)) for _ in range(2))
        n, scale, epsilon = 5, float(rng.uniform(0.3, 3)), float(rng.uniform(0.05, 1))
        for j in range(1, n + 1):
            parts = answer_law(one, zero, j, j), answer_law(one, zero, 0, j)
            for way in (parts, parts[::-1]):
                bound = line_excess(*way, scale, epsilon, noise)
                found = []
                for s in range(n - j + 1):
                    both = answer_law(one, zero, s + j, n), answer_law(one, zero, s, n)
                    found.append(line_excess(*(both if way is parts else both[::-1]), scale, epsilon, noise))
                assert max(found) <= bound * CLOSE + 1e-7
                assert j < n or found == pytest.approx([bound])


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_fewer_records_may_differ_more(noise: str) -> None:
    """One record that changes can tell more than two: all j up to k count."""
    told = [
        max(
            line_excess(*way, 0.5, 0.2, noise)
            for way in itertools.permutations((answer_law(ODD, EVEN, j, j), answer_law(ODD, EVEN, 0, j)))
        )
        for j in (1, 2, 3)
    ]
    assert told[0] > 5 * told[1]
    assert told[2] > 5 * told[1]


# --- calibrations against all tables --------------------------------------------------------------------------------


def random_cases(seed: int, number: int) -> list[LawCase]:
    """Draw frameworks with secrets that are numbers of records, and the laws of their answers from all tables."""
    rng = np.random.default_rng(seed)
    found: list[LawCase] = []
    while len(found) < number:
        case = dataset_case(rng)
        evidence = laws(case.framework, case.query)
        assert not isinstance(evidence, Refusal)
        if all(constraint.record is not None for constraint in evidence.constraints()):
            found.append(case)
    return found


@pytest.mark.parametrize("number", [FEW, MANY])
@pytest.mark.parametrize("mechanism", [*TIGHT, *WASSERSTEIN], ids=str)
def test_no_table_tells_more_than_delta(only_records, mechanism: bp.types.Mechanism, number: int) -> None:
    noisy = 0
    for case in random_cases(8, number):
        for delta in (0.1, 1e-3):
            found = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon, delta=delta)
            assert told_by(case, found.scale, mechanism.noise) <= delta * CLOSE + 5e-6
            noisy += found.scale > 0
    assert noisy > number // 2


@pytest.mark.parametrize("mechanism", [*TIGHT, *WASSERSTEIN], ids=str)
def test_all_distances_are_compared(only_records, mechanism: bp.types.Mechanism) -> None:
    """Two records that change tell little; one of them tells much."""
    framework = framework_of({"a": (EVEN, ODD)}, 4, bp.apart(at_most=2))
    epsilon, delta = 0.2, 0.1
    found = mechanism.calibrate(framework, bp.total("a"), epsilon=epsilon, delta=delta)
    worst = max(
        line_excess(*way, found.scale, epsilon, mechanism.noise)
        for j in (1, 2)
        for s in range(5 - j)
        for way in itertools.permutations((answer_law(ODD, EVEN, s + j, 4), answer_law(ODD, EVEN, s, 4)))
    )
    assert worst <= delta * CLOSE


def plane_excess(f: Law, g: Law, scale: float, epsilon: float) -> float:
    """Integrate the positive part of the difference of two densities with Gaussian noise over the plane."""
    atoms = np.array(sorted(set(f) | set(g)))
    masses = np.array([f.get(tuple(a), 0.0) - math.exp(epsilon) * g.get(tuple(a), 0.0) for a in atoms.tolist()])
    lines = [np.arange(x.min() - 7 * scale, x.max() + 7 * scale, scale / 12) for x in atoms.T]
    kernels = [np.exp(-0.5 * ((line[:, None] - x) / scale) ** 2) for line, x in zip(lines, atoms.T, strict=True)]
    density = np.einsum("ik,jk,k->ij", *kernels, masses, optimize=True) / (2 * math.pi)
    return float(np.maximum(density, 0).sum()) / 144


@pytest.mark.parametrize("mechanism", [TIGHT[0], WASSERSTEIN[0]], ids=str)
def test_no_table_tells_more_than_delta_in_the_plane(only_records, mechanism: bp.types.Mechanism) -> None:
    rng = np.random.default_rng(21)
    query, n = bp.stack(bp.count(bp.col("a") == 1), bp.total("b")), 7
    for _ in range(6):
        tables = {
            "a": bits(*rng.uniform(0.05, 0.95, size=2).tolist()),
            "b": tuple(dict(zip(range(3), rng.dirichlet([1.0] * 3).tolist(), strict=True)) for _ in range(2)),
        }
        epsilon, delta = float(rng.uniform(0.1, 1.5)), float(rng.choice([0.05, 1e-3]))
        most = int(rng.integers(1, 5))
        framework = framework_of(tables, n, bp.apart(at_most=most))
        scale = mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta).scale
        assert scale > 0
        weights = [
            [(side, {"a": x, "b": y}) for x, y in itertools.product(tables["a"][side], tables["b"][side])]
            for side in (0, 1)
        ]
        records = [
            ((0.6, 0.4)[side] * tables["a"][side][r["a"]] * tables["b"][side][r["b"]], (float(side), r["a"], r["b"]))
            for each in weights
            for side, r in each
        ]
        joint = sums([(p, tuple(map(float, adds))) for p, adds in records], 4)
        given_counts = {s: given(joint, lambda x, s=s: x == s) for s in range(5)}
        for a, b in itertools.permutations(given_counts, 2):
            if abs(a - b) <= most:
                told = plane_excess(given_counts[a], given_counts[b], scale, epsilon)
                assert told <= delta * (1 + 1e-3)


# --- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "epsilon", "delta", "tight", "distance"),
    [(3, 0.5, 1e-5, 4.0939, 21.095), (20, 0.5, 1e-5, 28.187, 140.64), (100, 1.0, 1e-6, 84.549, 422.47)],
)
def test_standard_deviations_for_fifty_thousand_records(
    k: int, epsilon: float, delta: float, tight: float, distance: float
) -> None:
    framework = framework_of({"a": bits(0.35, 0.55)}, 50_000, bp.apart(at_most=k))
    query = bp.count(bp.col("a") == 1)
    started = time.process_time()
    found = bp.TightMechanism(noise="gaussian").calibrate(framework, query, epsilon=epsilon, delta=delta)
    assert time.process_time() - started < 5  # a third of a second where nothing else runs
    assert found.scale == pytest.approx(tight, rel=1e-4)
    moved = bp.WassersteinMechanism(noise="gaussian").calibrate(framework, query, epsilon=epsilon, delta=delta)
    assert found.scale < moved.scale < distance / 2
    assert k / gaussian_mu(epsilon, delta) == pytest.approx(distance, rel=1e-4)
    mean = bp.TightMechanism(noise="gaussian").calibrate(framework, bp.mean("a"), epsilon=epsilon, delta=delta)
    assert mean.scale * 50_000 == pytest.approx(found.scale, rel=1e-4)


def test_a_plan_shows_all_four() -> None:
    framework = framework_of({"a": bits(0.35, 0.55)}, 50_000, bp.apart(at_most=20))
    plan = bp.plan(framework, bp.count(bp.col("a") == 1), epsilon=0.5, delta=1e-5)
    rules = {each.certificate.decisions[0].rule for each in plan.calibrations if each.certificate.decisions}
    assert "the sums of the records that change" in rules
    shown = {str(each.mechanism) for each in plan.calibrations}
    assert {str(bp.TightMechanism(noise="gaussian")), str(bp.WassersteinMechanism(noise="gaussian"))} <= shown


@pytest.mark.parametrize("number", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_never_above_the_distance_of_one_record_times_k(number: int) -> None:
    """Wasserstein noise for one record times k was all that there was."""
    rng = np.random.default_rng(77)
    for _ in range(number):
        size = int(rng.integers(2, 5))
        shape = float(rng.choice([0.05, 1.0, 30.0]))
        sides = [rng.dirichlet(np.full(size, shape)) + 1e-12 for _ in range(4)]
        tables = {
            name: tuple(dict(enumerate((side / side.sum()).tolist())) for side in sides[2 * at : 2 * at + 2])
            for at, name in enumerate("ab")
        }
        k = int(rng.integers(1, 25))
        framework = framework_of(tables, 5000, bp.apart(at_most=k))
        query = [bp.total("a"), bp.mean("b"), bp.stack(bp.count(bp.col("a") == 1), bp.mean("b"))][rng.integers(0, 3)]
        epsilon, delta = float(np.exp(rng.uniform(-3, 1.5))), float(10.0 ** rng.uniform(-8, -4))
        record = record_of(framework, query)
        most = k * w_infinity(record.first, record.second, 2).upper / gaussian_mu(epsilon, delta)
        for mechanism in (TIGHT[0], WASSERSTEIN[0]):
            equal = replace(mechanism, weights=(1.0,) * query.dimension(framework.schema))
            found = equal.calibrate(framework, query, epsilon=epsilon, delta=delta)
            assert found.scale <= most * (1 + 1e-9)


def test_many_atoms_need_no_more_than_their_distance() -> None:
    """Sums that are too long for their curve with Gaussian noise are not too long for their distance."""
    values = np.arange(81)
    laws_of = [np.exp(-(((values - mean) / spread) ** 2) / 2) + 1e-4 for mean, spread in ((45, 14), (38, 12))]
    sides = tuple(dict(enumerate((law / law.sum()).tolist())) for law in laws_of)
    framework = framework_of({"a": sides}, 50_000, bp.pairs((100, 138)))
    scales = [
        mechanism.calibrate(framework, bp.total("a"), epsilon=0.5, delta=1e-6).scale
        for mechanism in (TIGHT[0], WASSERSTEIN[0])
    ]
    assert 0 < scales[0] <= scales[1]


def test_chosen_pairs_compare_their_own_distances_only() -> None:
    query = bp.count(bp.col("a") == 1)
    record = record_of(framework_of({"a": bits(0.35, 0.55)}, 50_000, bp.pairs((100, 140), (7, 9))), query)
    pairs = sums_of_records(record, 0.0)
    assert pairs is not None
    assert [pair.first.size for pair in pairs] == [41, 3]


# --- any number of records, and of numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "gap", "records"), [(0.3, 0.7, 2), (0.9, 0.2, 2), (0.05, 2.5, 2), (1.0, 1.0, 2)])
def test_composition_of_two_against_the_plane(part: float, gap: float, records: int) -> None:
    """The pair is worse than the mixture against one normal law in both directions, and hardly worse than needed."""
    mixture = {(x, y): p * q for (x, p), (y, q) in itertools.product([(0.0, 1 - part), (gap, part)], repeat=2) if p * q}
    normal = {(0.0, 0.0): 1.0}
    for epsilon in (0.1, 0.5):
        exact = max(plane_excess(f, g, 1.0, epsilon) for f, g in ((mixture, normal), (normal, mixture)))
        found = composed_delta(part, gap, records, epsilon, 1e-6)
        assert exact * (1 - 1e-4) <= found <= 1.25 * exact + 1e-6


@pytest.mark.parametrize("records", [1, 7, 64, 1000, 50_000])
def test_records_that_always_differ_compose_like_normal_laws(records: int) -> None:
    for mu, epsilon in ((0.1, 0.1), (0.5, 1.0), (2.0, 3.0)):
        exact = gaussian_delta(mu, epsilon)
        found = composed_delta(1.0, mu / math.sqrt(records), records, epsilon, exact)
        assert exact <= found <= 1.02 * exact


def test_bounds_for_many_records_are_no_lower_than_their_sums() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        k, p = int(rng.integers(1, 40)), rng.uniform(0.02, 0.98, size=2).tolist()
        framework = framework_of({"a": bits(*p)}, 1000, bp.apart(at_most=k))
        coupled = Coupled.of(record_of(framework, bp.count(bp.col("a") == 1)), 2)
        assert coupled.part == pytest.approx(abs(p[0] - p[1]), abs=1e-12)
        assert coupled.part >= abs(p[0] - p[1])
        one, zero = ({0: 1 - each, 1: each} for each in p)
        scale, epsilon = float(rng.uniform(0.5, 3) * (1 + k * coupled.part)), float(rng.uniform(0.05, 1))
        exact = max(
            line_excess(*way, scale, epsilon, "gaussian")
            for way in itertools.permutations((answer_law(one, zero, k, k), answer_law(one, zero, 0, k)))
        )
        for curve in (coupled.coupled_curve(epsilon, 1e-9), coupled.composed_curve(epsilon, 1e-9)):
            assert curve(scale) * CLOSE + 1e-9 >= exact


def test_how_far_sums_move_but_for_delta() -> None:
    framework = framework_of({"a": bits(0.35, 0.55)}, 50_000, bp.apart(at_most=20))
    coupled = Coupled.of(record_of(framework, bp.count(bp.col("a") == 1)), 1)
    chance = [math.comb(20, m) * 0.2**m * 0.8 ** (20 - m) for m in range(21)]
    for delta in (1e-2, 1e-5, 1e-12):
        far = round(coupled.moved(delta))
        assert sum(chance[far + 1 :]) <= delta < sum(chance[far:])


@pytest.mark.parametrize("norm", [1, 2])
def test_units_whose_squares_are_no_doubles(norm: int) -> None:
    """Hostile numbers: a mean of records in units of 1e-165 needs noise in these units, of several numbers too."""
    framework = framework_of({"a": bits(0.4, 0.6), "b": bits(0.4, 0.6)}, 200_000, bp.apart(at_most=20))
    usual, tiny = (
        Coupled.of(record_of(framework, bp.stack(bp.linear({"a": unit}), bp.linear({"b": unit}))), norm)
        for unit in (1.0, 1e-165)
    )
    assert tiny.apart == pytest.approx(usual.apart * 1e-165, rel=1e-9)
    assert tiny.reach == pytest.approx(usual.reach * 1e-165, rel=1e-9)


def test_a_curve_of_tiny_gaps_is_small() -> None:
    """Logs whose sum is no double counted as if everything were told, and a search for noise stopped there."""
    gaps = np.array([1e-160, 7.3e-155, 7.45e-155, 7.5e-155, 1e-154, 1e-3])
    assert np.all(gaussian_excess(gaps, np.array(1.0)) == 0)
    assert gaussian_excess(np.array(1e160), np.array(1.0)) == 1


def test_all_records_may_change() -> None:
    """Secrets as far apart as there are records: no sums of so many are computed, and one bound serves them all."""
    framework = framework_of({"a": bits(0.35, 0.55)}, 50_000)
    started = time.process_time()
    found = TIGHT[0].calibrate(framework, bp.count(bp.col("a") == 1), epsilon=1.0, delta=1e-6)
    assert time.process_time() - started < 5
    least = 50_000 * 0.2 / gaussian_mu(1.0, 1e-6)
    assert least < found.scale < 1.01 * least


def test_histograms_need_no_grid() -> None:
    sides = tuple(dict(enumerate(p)) for p in ([0.2, 0.2, 0.2, 0.2, 0.2], [0.1, 0.3, 0.2, 0.25, 0.15]))
    framework = framework_of({"a": sides}, 50_000, bp.apart(at_most=40))
    query = bp.stack(*(bp.count(bp.col("a") == value) for value in range(5)))
    found = bp.TightMechanism(noise="gaussian").calibrate(framework, query, epsilon=0.5, delta=1e-6)
    least = 40 * math.sqrt(0.1**2 + 0.1**2 + 0.05**2 + 0.05**2) / gaussian_mu(0.5, 1e-6)
    assert least < found.scale < 1.5 * least
    distance = 40 * math.sqrt(2) / gaussian_mu(0.5, 1e-6)
    assert found.scale < distance / 4


def test_equal_laws_need_no_noise(only_records) -> None:
    framework = framework_of({"a": bits(0.35, 0.35), "b": bits(0.2, 0.2)}, 500, bp.apart(at_most=9))
    for query in (bp.count(bp.col("a") == 1), bp.stack(bp.mean("a"), bp.mean("b"))):
        for mechanism in (TIGHT[0], WASSERSTEIN[0]):
            assert mechanism.calibrate(framework, query, epsilon=0.1, delta=1e-4).scale == 0


@pytest.mark.parametrize("masses", [(1e-300, 0.3), (1 - 1e-15, 0.5), (0.5, 0.5 + 1e-16), (0.0, 1.0), (0.0, 1e-12)])
@pytest.mark.parametrize("mechanism", [*TIGHT, *WASSERSTEIN], ids=str)
def test_hostile_masses(mechanism: bp.types.Mechanism, masses: tuple[float, float]) -> None:
    """Masses next to 0 and 1 and laws that hardly differ: less than k records apart, more than nothing."""
    framework = framework_of({"a": bits(*masses)}, 5000, bp.apart(at_most=6))
    for query in (bp.count(bp.col("a") == 1), bp.mean("a"), bp.stack(bp.mean("a"), bp.total("a"))):
        found = mechanism.calibrate(framework, query, epsilon=0.3, delta=1e-5)
        assert 0 <= found.scale < math.inf


@pytest.mark.parametrize("part", [1e-300, 1e-3, 1 - 1e-16, 1.0])
@pytest.mark.parametrize("gap", [1e-300, 1e-5, 1.0, 59.0, 1e300])
@pytest.mark.parametrize("records", [1, 10**7])
@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 700.0])
def test_compositions_at_the_ends_of_the_range(part: float, gap: float, records: int, epsilon: float) -> None:
    found = composed_delta(part, gap, records, epsilon, 1e-8)
    assert 0 < found <= 1
    if 1e-9 < gap < 1e3:
        # the mixture of one record, and normal laws where all differ
        higher = epsilon - math.log(part) if epsilon > 100 else math.log1p(math.expm1(epsilon) / part)
        assert found >= part * min(1.0, gaussian_delta(gap, higher)) * (1 - 1e-9)
        assert part < 1 or found >= min(1.0, gaussian_delta(gap * math.sqrt(records), epsilon)) * (1 - 1e-9)


def test_every_record_that_changes_pays_for_its_own_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where sums are too long the k records are coupled one by one, each but for the tolerance of a comparison."""
    monkeypatch.setattr("bnpriv.core.mechanisms.law_mechanisms.sums_of_records", lambda *_: None)
    query = bp.count(bp.col("a") == 1)
    scales = []
    for slack in (1e-12, 0.01):
        monkeypatch.setattr("bnpriv.core.mechanisms.law_mechanisms.tolerance", lambda *_, slack=slack: slack)
        framework = framework_of({"a": bits(0.35, 0.55)}, 50_000, bp.apart(at_most=20))
        scales.append(bp.WassersteinMechanism().calibrate(framework, query, epsilon=0.5).scale)
    assert scales[0] == pytest.approx(20 / 0.5)
    assert scales[1] == pytest.approx(20 / (0.5 + math.log1p(-20 * 0.01)))
