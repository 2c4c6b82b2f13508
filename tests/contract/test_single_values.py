"""Single values with hostile numbers: the exact law of the doubles that are released, worked out apart.

Bounds lie up to 2^61 from zero with a range of a few units in the last place, weights have no short binary form, and
the numbers of records do not divide: rounding then moves an answer by more than a record does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

import bnpriv as bp
from bnpriv.core.queries.sensitivity import record_sensitivity

Record = Mapping[str, Fraction]
Table = Sequence[Record]
Released = tuple[float, ...]

OFFSETS = (0.1, 1.0, 2.0**40 + 0.1, 2.0**52, 2.0**53, 1.7e18, 2.0**60, -(2.0**52))
RARE = (1e-15, 1e-9, 1e-3, 0.3)


@dataclass(frozen=True)
class Asked:
    """A query with its answer, written down a second time: exact, and rounded to doubles at the very end."""

    query: bp.types.Query
    answer: Callable[[Table], Released]
    known: dict[tuple[int, ...], tuple[Table, Released]] = field(default_factory=dict)

    def released(self, table: Table) -> Released:
        """Return the answer, remembered by which records are in the table: exact sums do not depend on their order."""
        records = tuple(sorted(map(id, table)))
        if records not in self.known:
            self.known[records] = table, self.answer(table)  # a record that is kept alive keeps its identity
        return self.known[records][1]


def column(rng: np.random.Generator) -> bp.Real:
    low = float(rng.choice(OFFSETS))
    steps = int(rng.choice([1, 2, 3, 7]))
    width = math.ulp(low) * float(rng.choice([1, 3, 10, 510])) if rng.random() < 0.8 else abs(low) / 3
    return bp.Real(low, low + width, steps=steps)


def meant(number: float) -> Fraction:
    """Return what a declared number stands for: itself if it is whole, otherwise its shortest decimal."""
    return Fraction(number) if number == math.floor(number) else Fraction(repr(number))


def ends(column: bp.Real) -> tuple[Fraction, Fraction]:
    return meant(column.lower), meant(column.upper)


def mean_of(table: Table, value: Callable[[Record], Fraction]) -> float:
    return float(sum(map(value, table), Fraction(0)) / len(table))


def asked(rng: np.random.Generator, names: Sequence[str], high: Mapping[str, Fraction]) -> Asked:
    """Draw a query of some columns; `high` are the values that a count counts."""
    name = str(rng.choice(names))
    kind = int(rng.integers(6))
    counted = bp.col(name) == float(high[name])

    def mean(table: Table) -> float:
        return mean_of(table, lambda record: record[name])

    def share(table: Table) -> float:
        return mean_of(table, lambda record: Fraction(record[name] == high[name]))

    if kind == 0:
        return Asked(bp.mean(name), lambda table: (mean(table),))
    if kind == 1:
        return Asked(bp.total(name), lambda table: (float(sum(record[name] for record in table)),))
    if kind == 2:
        return Asked(bp.moments([name]), lambda table: (mean(table), mean_of(table, lambda record: record[name] ** 2)))
    if kind == 3:
        return Asked(bp.stack(bp.mean(name), bp.proportion(counted)), lambda table: (mean(table), share(table)))
    if kind == 4:
        return Asked(bp.proportion(counted), lambda table: (share(table),))
    weights = dict(zip(names, (0.1, 0.2, 0.3), strict=False))

    def weighted(record: Record) -> Fraction:
        return sum((meant(weight) * record[each] for each, weight in weights.items()), Fraction(0))

    return Asked(bp.linear(weights), lambda table: (mean_of(table, weighted),))


def kernel_logs(answers: np.ndarray, outputs: np.ndarray, scale: float) -> np.ndarray:
    """Return the log density, up to a constant, of outputs (rows) given answers (columns)."""
    away = np.abs(outputs[:, None, :] - answers[None, :, :]).sum(axis=2)
    return -away / scale


def loss(laws: Sequence[Mapping[Released, float]], scale: float) -> float:
    """Return the largest log ratio of two output densities, for laws of answers given as logs of masses.

    In every coordinate the log ratio is monotone between neighbouring atoms, so the grid of their coordinates decides.
    """
    atoms = sorted({atom for law in laws for atom in law})
    axes = [sorted({atom[k] for atom in atoms}) for k in range(len(atoms[0]))]
    outputs = np.array(list(itertools.product(*axes)))
    logs = []
    for law in laws:
        masses = np.array([law.get(atom, -math.inf) for atom in atoms])
        if scale == 0:
            logs.append(np.array([law.get(tuple(output), -math.inf) for output in outputs.tolist()]))
        else:
            logs.append(logsumexp(kernel_logs(np.array(atoms), outputs, scale) + masses, axis=1))
    worst = 0.0
    for first, second in itertools.permutations(logs, 2):
        inside = first > -math.inf
        worst = max(worst, float((first[inside] - second[inside]).max()))
    return worst


def add(law: dict[Released, float], answer: Released, mass: float) -> None:
    law[answer] = float(np.logaddexp(law.get(answer, -math.inf), mass))


@pytest.mark.parametrize("norm", [1, 2])
def test_a_record_moves_the_released_doubles_by_no_more_than_is_claimed(norm: int) -> None:
    rng = np.random.default_rng(101)
    for _ in range(60):
        names = ["t", "u"][: int(rng.integers(1, 3))]
        columns = {name: column(rng) for name in names}
        n = int(rng.choice([2, 3, 5, 7]))
        schema = bp.Schema(records=n, columns=columns)
        question = asked(rng, names, {name: ends(columns[name])[1] for name in names})
        records = [dict(zip(names, row, strict=True)) for row in itertools.product(*map(ends, columns.values()))]
        moving = frozenset(rng.choice(names, size=int(rng.integers(1, len(names) + 1)), replace=False).tolist())
        one = every = 0.0
        for others in itertools.combinations_with_replacement(records, n - 1):
            for first, second in itertools.permutations(records, 2):
                if all(first[name] == second[name] for name in names if name not in moving):
                    one = max(one, apart(question, [first, *others], [second, *others], norm))
                    every = max(every, apart(question, [first] * n, [second] * n, norm))
        for first, second in itertools.permutations(itertools.product(records, repeat=n) if n == 2 else [], 2):
            if all(
                a[name] == b[name] for a, b in zip(first, second, strict=True) for name in names if name not in moving
            ):
                every = max(every, apart(question, first, second, norm))
        assert one <= record_sensitivity(question.query, moving, schema, norm).upper * (1 + 1e-15)
        assert every <= bp.column_sensitivity(question.query, moving, schema, norm).upper * (1 + 1e-15)


def apart(question: Asked, first: Table, second: Table, norm: int) -> float:
    pairs = zip(question.released(first), question.released(second), strict=True)
    return float(np.linalg.norm([float(Fraction(a) - Fraction(b)) for a, b in pairs], norm))


def test_values_of_a_network_are_hidden_in_the_released_doubles() -> None:
    rng = np.random.default_rng(102)
    tight = 0.0
    for _ in range(150):
        columns = {"t": column(rng), "u": column(rng)}
        chance = float(rng.choice(RARE))
        link = rng.dirichlet(np.ones(2), size=2)
        network = bp.DiscreteNetwork.from_tables(
            {"t": [1 - chance, chance], "u": link.T},
            states={name: [repr(c.lower), repr(c.upper)] for name, c in columns.items()},
            parents={"u": ["t"]},
            level="records",
        )
        n = int(rng.choice([2, 3, 6, 7]))
        schema = bp.Schema(records=n, columns=columns)
        protect = str(rng.choice(["t", "u"]))
        question = asked(rng, ["t", "u"], {name: ends(c)[1] for name, c in columns.items()})
        epsilon = float(10 ** rng.uniform(-1, 0.7))
        calibration = bp.MarkovQuiltMechanism().calibrate(
            bp.ValuePrivacy(network, schema, protect, source="a test"), question.query, epsilon=epsilon
        )
        joint = {(t, u): math.log([1 - chance, chance][t]) + math.log(link[t, u]) for t, u in np.ndindex(2, 2)}
        laws = list(network_laws(joint, columns, n, protect, question))
        found = loss(laws, calibration.scale)
        assert found <= epsilon * (1 + 1e-9), (question.query, columns, n)
        tight = max(tight, found / epsilon)
    assert tight > 0.6  # the bound is reached, or nearly, somewhere


def network_laws(
    joint: Mapping[tuple[int, int], float], columns: Mapping[str, bp.Real], n: int, protect: str, question: Asked
) -> Iterator[dict[Released, float]]:
    """Yield the law of the released answer for each value of the protected column of the first record."""
    rows = {places: {"t": ends(columns["t"])[places[0]], "u": ends(columns["u"])[places[1]]} for places in joint}
    others: list[tuple[list[Record], float]] = []
    for counts in itertools.product(range(n), repeat=len(joint)):
        if sum(counts) == n - 1:
            table = [rows[places] for places, count in zip(joint, counts, strict=True) for _ in range(count)]
            ways = math.lgamma(n) - sum(math.lgamma(count + 1) for count in counts)
            others.append((table, ways + sum(count * p for count, p in zip(counts, joint.values(), strict=True))))
    axis = ["t", "u"].index(protect)
    for value in range(2):
        own = {places: mass for places, mass in joint.items() if places[axis] == value}
        total = float(logsumexp(list(own.values())))
        law: dict[Released, float] = {}
        for places, mass in own.items():
            for table, weight in others:
                add(law, question.released([rows[places], *table]), mass - total + weight)
        yield law


@pytest.mark.parametrize("influence", ["exact", "spectral", "published"])
def test_values_of_a_chain_are_hidden_in_the_released_doubles(influence: str) -> None:
    rng = np.random.default_rng(103)
    for _ in range(60):
        held = column(rng)
        n = int(rng.choice([2, 3, 5, 6, 7]))
        chance = float(rng.choice(RARE))
        transition = [[1 - chance, chance], [float(rng.uniform(0.2, 0.9)), 0.0]]
        transition[1][1] = 1 - transition[1][0]
        start = "stationary" if rng.random() < 0.5 else [1 - chance, chance]
        chain = bp.types.MarkovChain(transition, start, n, states=[held.lower, held.upper])  # type: ignore[list-item]
        schema = bp.Schema(records=n, columns={"t": held})
        question = asked(rng, ["t"], {"t": ends(held)[1]})
        epsilon = float(10 ** rng.uniform(-1, 0.7))
        calibration = bp.mechanisms.MarkovChainMechanism(influence=influence).calibrate(  # type: ignore[arg-type]
            bp.ValuePrivacy(chain, schema, "t", source="a test"), question.query, epsilon=epsilon
        )
        for step in range(n):
            laws = chain_laws(np.log(chain.first(0)), np.log(chain.matrix(0)), n, step, ends(held), question)
            assert loss(laws, calibration.scale) <= epsilon * (1 + 1e-9), (question.query, held, n)


def chain_laws(
    first: np.ndarray, matrix: np.ndarray, n: int, step: int, values: Sequence[Fraction], question: Asked
) -> list[dict[Released, float]]:
    """Return the law of the released answer for each value at a step."""
    laws: list[dict[Released, float]] = [{}, {}]
    records = [{"t": value} for value in values]
    for path in itertools.product(range(2), repeat=n):
        mass = float(first[path[0]] + sum(matrix[a, b] for a, b in itertools.pairwise(path)))
        add(laws[path[step]], question.released([records[place] for place in path]), mass)
    return [{answer: mass - float(logsumexp(list(law.values()))) for answer, mass in law.items()} for law in laws]


@pytest.mark.parametrize(
    ("low", "width", "n", "chance"),
    [(2.0**52, 510.0, 1000, 1e-9), (1.7e18, 1.3e8, 1_000_000, 1e-15), (2.0**60, 2.0**12, 999_983, 1e-15)],
)
@pytest.mark.parametrize("chained", [True, False])
def test_one_record_of_many_moves_the_mean_by_a_unit_in_the_last_place(
    low: float, width: float, n: int, chance: float, chained: bool
) -> None:
    """The mean moves by less than a unit in the last place, its double by a whole one."""
    held = bp.Real(low, low + width, steps=2)
    schema = bp.Schema(records=n, columns={"t": held})
    if chained:
        model = bp.types.MarkovChain(
            [[1 - chance, chance]] * 2, [1 - chance, chance], n, states=[held.lower, held.upper]
        )
        mechanism: bp.mechanisms.MarkovChainMechanism | bp.MarkovQuiltMechanism = bp.mechanisms.MarkovChainMechanism()
    else:
        model = bp.DiscreteNetwork.from_tables(
            {"t": [1 - chance, chance]}, states={"t": [repr(held.lower), repr(held.upper)]}, level="records"
        )
        mechanism = bp.MarkovQuiltMechanism()
    framework = bp.ValuePrivacy(model, schema, "t", source="a test")
    calibration = mechanism.calibrate(framework, bp.mean("t"), epsilon=1.0)
    laws: list[dict[Released, float]] = [{}, {}]
    for own in range(2):
        for k in range(12):
            # so many others are high with this probability; more of them with all but none
            mass = math.log(math.comb(n - 1, k)) + k * math.log(chance) + (n - 1 - k) * math.log1p(-chance)
            add(laws[own], (float(Fraction(low) + Fraction(width) * (k + own) / n),), mass)
    assert loss(laws, calibration.scale) <= 1 + 1e-6
