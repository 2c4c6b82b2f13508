"""End to end for the mechanisms on laws: every table of a few records is enumerated, and the exact loss compared.

Nothing here uses the package's own inference, laws of records, sums, distances or privacy curves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from tests import oracles
from tests.seeds import seeds

SLACK = 1 + 1e-9
MOST_TABLES = 5000

Law = dict[tuple[float, ...], float]
Pair = tuple[Law, Law]


@dataclass(frozen=True)
class Question:
    """A query, and independently of it the numbers that one record adds to its answer."""

    query: bp.types.Query
    adds: Callable[[dict[str, int]], tuple[float, ...]]


@dataclass(frozen=True)
class LawCase:
    """A framework with the exact laws of the answer under the two secrets of every pair, per model."""

    framework: object
    query: bp.types.Query
    epsilon: float
    pairs: list[list[Pair]]

    def loss(self, scale: float | Sequence[float]) -> float:
        """Return the exact pure loss over all models, pairs and outputs."""
        return max((law_loss(f, g, scale) for model in self.pairs for f, g in model), default=0.0)

    def delta(self, scale: float, noise: str) -> float:
        """Return the exact delta at the epsilon of the case, to about 1e-9 of itself."""
        return max(
            hockey_stick(*way, scale, self.epsilon, noise)
            for model in self.pairs
            for f, g in model
            for way in _ways(f, g)
        )


def _ways(f: Law, g: Law) -> tuple[Pair, Pair]:
    return (f, g), (g, f)


def _table(f: Law, g: Law) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    atoms = sorted(set(f) | set(g))
    return np.array(atoms), np.array([f.get(a, 0.0) for a in atoms]), np.array([g.get(a, 0.0) for a in atoms])


def law_loss(f: Law, g: Law, scale: float | Sequence[float]) -> float:
    """Return the largest log ratio of the two output densities; for vectors on the grid of all coordinates.

    Numbers may have noise of one scale, or each of its own.
    """
    atoms, first, second = _table(f, g)
    if np.min(scale) > 0:
        grid = np.array(list(itertools.product(*(np.unique(column) for column in atoms.T))))
        away = (np.abs(grid[:, None, :] - atoms[None, :, :]) / scale).sum(axis=2)
        kernel = np.exp(away.min(axis=1, keepdims=True) - away)
        first, second = kernel @ first, kernel @ second
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(first) - np.log(second))
    return float(ratio.max())


def hockey_stick(f: Law, g: Law, scale: float, epsilon: float, noise: str) -> float:
    """Integrate the positive part of the difference of the densities by Gauss's rule on many short cells."""
    atoms, first, second = _table(f, g)
    masses = first - math.exp(epsilon) * second
    if scale == 0:
        return float(np.maximum(masses, 0).sum())
    x = atoms[:, 0] / scale
    far = 9.0 if noise == "gaussian" else 40.0
    ends = itertools.pairwise([x[0] - far, *x, x[-1] + far])
    edges = np.unique(np.concatenate([np.linspace(a, b, 2001) for a, b in ends]))

    def density(w: np.ndarray) -> np.ndarray:
        away = w.reshape(-1, 1) - x
        kernel = np.exp(-(away**2) / 2) / math.sqrt(2 * math.pi) if noise == "gaussian" else np.exp(-np.abs(away)) / 2
        return (kernel @ masses).reshape(w.shape)

    sign = np.sign(density(edges))
    for k in np.flatnonzero(sign[:-1] * sign[1:] < 0):  # cells that hold a change of sign are cut once more
        edges = np.append(edges, np.linspace(edges[k], edges[k + 1], 2001)[1:-1])
    edges.sort()
    nodes, weights = np.polynomial.legendre.leggauss(4)
    half = np.diff(edges) / 2
    value = np.maximum(density((edges[:-1] + half)[:, None] + half[:, None] * nodes), 0)
    return float((value * weights * half[:, None]).sum())


# --- enumeration ---------------------------------------------------------------------------------------------------


def sums(records: Sequence[tuple[float, tuple[float, ...]]], n: int) -> Law:
    """Return the law of the sum over n records by listing every table; each entry is (probability, what it adds)."""
    possible = [(p, adds) for p, adds in records if p > 0]
    chance, total = np.ones(1), np.zeros((1, len(possible[0][1])))
    for _ in range(n):
        chance = np.multiply.outer(chance, [p for p, _ in possible]).ravel()
        total = (total[:, None, :] + np.array([adds for _, adds in possible])[None, :, :]).reshape(-1, total.shape[1])
    law: Law = {}
    for p, key in zip(chance.tolist(), np.round(total, 13).tolist(), strict=True):
        law[tuple(key)] = law.get(tuple(key), 0.0) + p
    return law


def given(joint: Law, side: Callable[[float], bool]) -> Law | None:
    """Return the law of the later coordinates given that the first is in a side."""
    kept: Law = {}
    for key, p in joint.items():
        if side(key[0]):
            kept[key[1:]] = kept.get(key[1:], 0.0) + p
    mass = math.fsum(kept.values())
    return {key: p / mass for key, p in kept.items()} if mass > 0 else None


def record_network(
    rng: np.random.Generator, values: dict[str, Sequence[int]], models: int, *, chance: float = 0.15
) -> tuple[bp.DiscreteNetwork, list[list[tuple[float, dict[str, int]]]]]:
    """Draw a network of one record in which every column depends on all before; some rows put all mass on one value.

    Returns the network, and per model every record with its probability.
    """
    names, tables, plain = list(values), {}, {}
    for k, name in enumerate(names):
        shape = (models, *(len(values[above]) for above in names[:k]), len(values[name]))
        table = rng.dirichlet(np.full(shape[-1], rng.choice([1.0, 5.0, 30.0])), size=shape[:-1])
        fixed = rng.random(shape[:-1]) < (chance if k else chance / 3)
        table[fixed] = np.eye(shape[-1])[rng.integers(0, shape[-1], size=int(fixed.sum()))]
        plain[name] = table / table.sum(axis=-1, keepdims=True)
        tables[name] = np.moveaxis(plain[name], -1, 1)
    network = bp.DiscreteNetwork.from_tables(
        tables,
        states={name: [str(value) for value in column] for name, column in values.items()},
        parents={name: names[:k] for k, name in enumerate(names)},
        level="records",
    )
    listed = []
    for model in range(models):
        records = []
        for index in np.ndindex(*(len(column) for column in values.values())):
            p = math.prod(float(plain[name][(model, *index[: k + 1])]) for k, name in enumerate(names))
            records.append((p, {name: values[name][i] for name, i in zip(names, index, strict=True)}))
        listed.append(records)
    return network, listed


def draw_question(rng: np.random.Generator, values: dict[str, Sequence[int]], n: int, *, numbers: int = 1) -> Question:
    """Draw a query of one number, or of several."""
    names = list(values)
    if numbers > 1 and rng.random() < 0.5:
        name = str(rng.choice(names))
        return Question(
            bp.stack(*(bp.count(bp.col(name) == v) for v in values[name])),
            lambda r: tuple(float(r[name] == v) for v in values[name]),
        )
    if numbers > 1:
        parts = [draw_question(rng, values, n) for _ in range(2)]
        return Question(bp.stack(*(part.query for part in parts)), lambda r: tuple(part.adds(r)[0] for part in parts))
    name = str(rng.choice(names))
    other, v = str(rng.choice(names)), int(rng.choice(values[name]))
    u = int(rng.choice(values[other]))
    kind = str(rng.choice(["count", "both", "either", "proportion", "total", "mean", "linear"]))
    # "up to a shift": numeric columns count from their lower bound, which changes nothing here
    return {
        "count": Question(bp.count(bp.col(name) == v), lambda r: (float(r[name] == v),)),
        "both": Question(
            bp.count((bp.col(name) == v) & (bp.col(other) == u)), lambda r: (float(r[name] == v and r[other] == u),)
        ),
        "either": Question(
            bp.count((bp.col(name) == v) | (bp.col(other) >= u)), lambda r: (float(r[name] == v or r[other] >= u),)
        ),
        "proportion": Question(bp.proportion(bp.col(name) == v), lambda r: (float(r[name] == v) / n,)),
        "total": Question(bp.total(name), lambda r: (float(r[name]),)),
        "mean": Question(bp.mean(name), lambda r: (float(r[name]) / n,)),
        "linear": Question(bp.linear(dict.fromkeys(names, 0.5)), lambda r: (sum(0.5 * r[each] for each in names) / n,)),
    }[kind]


def draw_columns(rng: np.random.Generator, most: int = 3) -> tuple[dict[str, Sequence[int]], bp.Schema, int]:
    """Draw columns of two or three whole numbers, and a number of records few enough to list every table."""
    values: dict[str, Sequence[int]] = {}
    for k in range(int(rng.integers(2, most + 1))):
        low = int(rng.integers(0, 3)) if rng.random() < 0.3 else 0
        values[f"c{k}"] = range(low, low + int(rng.integers(2, 4)))
    cells = math.prod(len(column) for column in values.values())
    n = next(n for n in (6, 5, 4, 3, 2, 1) if cells**n <= MOST_TABLES)
    n = int(rng.integers(max(1, n - 1), n + 1))
    schema = bp.Schema(records=n, columns={name: bp.Integer(min(c), max(c)) for name, c in values.items()})
    return values, schema, n


def property_of(kind: str, name: str, v: int, n: int) -> Question:
    """Return a property of one column."""
    return {
        "count": Question(bp.count(bp.col(name) == v), lambda r: (float(r[name] == v),)),
        "proportion": Question(bp.proportion(bp.col(name) == v), lambda r: (float(r[name] == v) / n,)),
        "total": Question(bp.total(name), lambda r: (float(r[name]),)),
    }[kind]


def dataset_case(rng: np.random.Generator, *, numbers: int = 1) -> LawCase:
    """Draw a dataset framework; pairs are chosen among values that are possible in every model."""
    while True:
        values, schema, n = draw_columns(rng)
        network, listed = record_network(rng, values, int(rng.integers(1, 3)))
        question = draw_question(rng, values, n, numbers=numbers)
        name = str(rng.choice(list(values)))
        v = int(rng.choice(values[name]))
        kind = str(rng.choice(["count", "proportion", "total"]))
        hidden = property_of(kind, name, v, n)
        joints = [sums([(p, (*hidden.adds(r), *question.adds(r))) for p, r in records], n) for records in listed]
        possible = [sorted({key[0] for key in joint}) for joint in joints]
        shared = sorted(set.intersection(*map(set, possible)))
        if len(shared) >= 2:
            break
    choice, pairs, sides = rng.random(), None, [[(a, b) for a, b in itertools.combinations(p, 2)] for p in possible]
    sides = [[({a}, {b}) for a, b in each] for each in sides]
    if choice < 0.3:
        steps = [min(b - a for a, b in itertools.pairwise(p)) for p in possible if len(p) > 1]
        far = max(steps) * int(rng.integers(1, 4)) * (1 + 1e-7)
        pairs = bp.apart(at_most=far)
        sides = [[(a, b) for a, b in each if min(b) - min(a) <= far + 1e-9] for each in sides]
    elif choice < 0.75:
        chosen = []
        for _ in range(int(rng.integers(1, 3))):
            order = list(rng.permutation(shared))
            cut = int(rng.integers(1, len(order)))
            left, right = order[:cut][: int(rng.integers(1, 4))], order[cut:][: int(rng.integers(1, 4))]
            chosen.append((frozenset(map(float, left)), frozenset(map(float, right))))
        pairs = bp.pairs(*chosen)
        sides = [[(set(a), set(b)) for a, b in chosen]] * len(joints)
    framework = bp.DatasetAttributePrivacy(
        network, schema, {name: bp.Secret(hidden.query, pairs=pairs)}, source="a random draw"
    )
    found = [
        [(given(joint, lambda x, a=a: x in a), given(joint, lambda x, b=b: x in b)) for a, b in each]
        for joint, each in zip(joints, sides, strict=True)
    ]
    return LawCase(framework, question.query, float(rng.uniform(0.1, 3)), [model for model in found if model])


def distribution_case(rng: np.random.Generator, *, numbers: int = 1) -> LawCase:
    """Draw pairs of record networks, or the laws of an answer that follow from them."""
    values, schema, n = draw_columns(rng)
    question = draw_question(rng, values, n, numbers=numbers)
    sides, exact = [], []
    for _ in range(int(rng.integers(1, 3))):
        both = [record_network(rng, values, 1) for _ in range(2)]
        sides.append(tuple(network for network, _ in both))
        exact.append(tuple(sums([(p, question.adds(r)) for p, r in listed[0]], n) for _, listed in both))
    if rng.random() < 0.5:
        declared = [tuple(bp.laws.Atoms(list(law), list(law.values())) for law in pair) for pair in exact]
        framework = bp.DistributionPrivacy(declared, question.query, schema, source="a random draw")
    else:
        framework = bp.DistributionPrivacy(sides, schema=schema, source="a random draw")
    return LawCase(framework, question.query, float(rng.uniform(0.1, 3)), [[pair] for pair in exact])


def mixed(tables: dict[tuple[int, ...], Law], weights: np.ndarray | None) -> Law | None:
    """Return the mixture of laws with these weights; None when the secret has no mass."""
    if weights is None:
        return None
    law: Law = {}
    for index, table in tables.items():
        for key, p in table.items():
            if weights[index] > 0:
                law[key] = law.get(key, 0.0) + float(weights[index]) * p
    return law


def distributional_case(rng: np.random.Generator, *, numbers: int = 1) -> LawCase:
    """Draw a network of parameters with a law of every column, and mix over the parameters of the queried columns."""
    while True:
        network = oracles.random_network(rng, int(rng.integers(2, 4)), models=int(rng.integers(1, 3)))
        n = int(rng.integers(1, 5))
        names = list(network.attributes)
        values: dict[str, Sequence[int]] = dict.fromkeys(names, (0, 1))
        ones = {
            name: [float(rng.choice([0.0, 1.0, rng.random()], p=[0.1, 0.1, 0.8])) for _ in network.states[name]]
            for name in names
        }
        question = draw_question(rng, values, n, numbers=numbers)
        protected = str(rng.choice(names))
        states = network.states[protected]
        chosen = None
        if len(states) > 2 and rng.random() < 0.5:
            chosen = bp.pairs((frozenset(states[:1]), frozenset(states[1:])))
        framework = bp.DistributionalAttributePrivacy(
            network,
            bp.Schema(records=n, columns={name: bp.Integer(0, 1) for name in names}),
            {protected: chosen},
            source="a random draw",
            laws={name: dict(zip(network.states[name], ones[name], strict=True)) for name in names},
        )
        tables: dict[tuple[int, ...], Law] = {}
        for index in np.ndindex(*(len(network.states[name]) for name in names)):
            chance = {name: ones[name][k] for name, k in zip(names, index, strict=True)}
            records = []
            for row in itertools.product((0, 1), repeat=len(names)):
                record = dict(zip(names, row, strict=True))
                p = math.prod(chance[name] if record[name] else 1 - chance[name] for name in names)
                records.append((p, question.adds(record)))
            tables[index] = sums(records, n)
        found = []
        for model in range(network.models):
            joint = oracles.joint(network, model)
            sides = {side for pair in framework.secrets[protected] for side in (pair.first, pair.second)}
            answers = {
                side: mixed(tables, oracles.conditional(network, joint, tuple(names), protected, side))
                for side in sides
            }
            both = [(answers[pair.first], answers[pair.second]) for pair in framework.secrets[protected]]
            found.append([(f, g) for f, g in both if f is not None and g is not None])
        if any(found):
            return LawCase(framework, question.query, float(rng.uniform(0.1, 3)), [model for model in found if model])


CASES = {"dataset": dataset_case, "distribution": distribution_case, "distributional": distributional_case}


def cases(kind: str, seed: int, count: int, *, numbers: int = 1):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield CASES[kind](rng, numbers=numbers)


# --- what must hold ------------------------------------------------------------------------------------------------


def _shifted(atoms: Sequence[Sequence[float]], masses: Sequence[float], origin: np.ndarray) -> Law:
    """Move a law so that the lower end of a pair is 0; atoms that rounding alone tells apart are added up."""
    law: Law = {}
    for atom, p in zip(atoms, masses, strict=True):
        key = tuple((np.round(np.array(atom) - origin, 6) + 0.0).tolist())
        law[key] = law.get(key, 0.0) + float(p)
    return law


def _close(f: Law, g: Law) -> bool:
    return all(abs(f.get(key, 0.0) - g.get(key, 0.0)) <= 1e-12 for key in set(f) | set(g))


def same_pair(found, f: Law, g: Law) -> bool:
    """Return whether a pair of the package has these two laws, up to one shift of both, in either order."""
    origin = np.min(np.array([*f, *g]), axis=0)
    wanted = [_shifted(list(law), list(law.values()), origin) for law in (f, g)]
    low = np.min(np.concatenate([found.first.points, found.second.points]), axis=0)
    first, second = (_shifted(law.points, np.exp(law.logs), low) for law in (found.first, found.second))
    return any(_close(first, a) and _close(second, b) for a, b in (wanted, wanted[::-1]))


def claim_holds(case: LawCase, mechanism: bp.types.Mechanism) -> bool:
    calibration = mechanism.calibrate(case.framework, case.query, epsilon=case.epsilon)
    return case.loss(calibration.noise.scales) <= case.epsilon * SLACK + 1e-13


@pytest.mark.parametrize("kind", CASES)
def test_laws_agree_with_all_tables(kind: str) -> None:
    for k, case in enumerate(cases(kind, 5, 60)):
        evidence = laws(case.framework, case.query)
        assert not isinstance(evidence, bp.errors.Refusal), (k, evidence)
        constraints = evidence.constraints()
        assert len(constraints) == len(case.pairs), k
        for constraint, exact in zip(constraints, case.pairs, strict=True):
            assert not isinstance(constraint.pairs, bp.errors.Refusal), (k, constraint.pairs)
            for f, g in exact:
                assert any(same_pair(found, f, g) for found in constraint.pairs), (k, constraint.protected)
            for found in constraint.pairs:
                assert any(same_pair(found, f, g) for f, g in exact), (k, found.pair)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("seed", seeds(1, slow=2))
def test_the_loss_never_passes_the_claim(kind: str, seed: int) -> None:
    for k, case in enumerate(cases(kind, seed, 50)):
        ask = {"epsilon": case.epsilon}
        tight = bp.TightMechanism().calibrate(case.framework, case.query, **ask)
        far = bp.WassersteinMechanism().calibrate(case.framework, case.query, **ask)
        assert case.loss(tight.noise.scales) <= case.epsilon * SLACK + 1e-13, (seed, k)
        assert case.loss(far.noise.scales) <= case.epsilon * SLACK + 1e-13, (seed, k)
        assert tight.scale <= far.scale * SLACK, (seed, k)
        # declared laws of fractions get noise for the rounding alone where their atoms need none
        if tight.scale > 1e-9 and "two distributions" in tight.certificate.decisions[0].rule:
            assert case.loss(tight.noise.scales) >= case.epsilon - 1e-9, (seed, k)


@pytest.mark.parametrize("kind", CASES)
def test_several_numbers_at_once(kind: str) -> None:
    served = 0
    for k, case in enumerate(cases(kind, 3, 25, numbers=2)):
        for mechanism in (bp.TightMechanism(), bp.WassersteinMechanism()):
            if mechanism.supports(case.framework, case.query, epsilon=case.epsilon) is None:
                served += 1
                assert claim_holds(case, mechanism), (k, mechanism)
    assert served >= 20


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", CASES)
def test_delta_never_passes_the_claim(kind: str, noise: str) -> None:
    rng = np.random.default_rng(11)
    for k, case in enumerate(cases(kind, 13, 16 if noise == "laplace" else 6)):
        if sum(map(len, case.pairs)) > 12:
            continue
        delta, case = float(10 ** rng.uniform(-6, -0.5)), replace(case, epsilon=float(rng.uniform(0.3, 2)))
        scales = []
        for mechanism in (bp.TightMechanism, bp.WassersteinMechanism):
            calibration = mechanism(noise=noise, large_delta=True).calibrate(
                case.framework, case.query, epsilon=case.epsilon, delta=delta
            )
            spent = calibration.guarantee.delta
            assert case.delta(calibration.scale, noise) <= spent * (1 + 1e-6) + 1e-12, (k, mechanism, spent)
            scales.append(calibration.scale)
        assert scales[0] <= scales[1] * (SLACK if noise == "laplace" else 1 + 1e-6), k
