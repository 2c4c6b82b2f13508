"""Hostile numbers, end to end: the exact law of the doubles that are released, by convolution in fractions.

Rows 8 and 16 of the reliability contract. Nothing here uses the package's own normal form, laws, sums or curves:
values of columns, weights and masses are fractions, an answer is rounded once, and a claim of no noise is checked on
the law of the doubles themselves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

pd = Later("pandas")

SLACK = 1 + 1e-9

Record = dict[str, int]
"""The grid step of every column."""

Exact = dict[tuple[Fraction, ...], Fraction]
"""A law in fractions."""


@dataclass(frozen=True)
class Column:
    """A column of a few grid steps: what step k stands for is origin + k * width, in fractions."""

    declared: bp.Real | bp.Integer
    origin: Fraction
    width: Fraction
    steps: int

    @property
    def states(self) -> list[str]:
        """One double per grid step, as states of the node."""
        return [repr(self.double(k)) for k in range(self.steps + 1)]

    def double(self, k: int) -> float:
        low, high = float(self.declared.lower), float(self.declared.upper)
        return min(max(float(self.origin + k * self.width), low), high)

    def value(self, k: int) -> Fraction:
        return self.origin + k * self.width


def written(number: float) -> Fraction:
    """What a declared double stands for: itself if it is whole, else its shortest decimal."""
    return Fraction(number) if number == int(number) else Fraction(repr(number))


def draw_column(rng: np.random.Generator) -> Column:
    kind = rng.choice(["bit", "decimal", "far", "whole"])
    steps = int(rng.integers(1, 3))
    if kind == "bit":
        return Column(bp.Integer(0, 1), Fraction(0), Fraction(1), 1)
    if kind == "whole":
        low = int(rng.choice([0, 3, -(2**40), 2**51]))
        return Column(bp.Integer(low, low + steps), Fraction(low), Fraction(1), steps)
    if kind == "decimal":
        low, high = float(rng.choice([0.0, 0.1, -0.3, 1.7])), float(rng.choice([2.1, 1.9, 3.3]))
    else:
        low = float(2.0 ** rng.integers(40, 61))
        high = low + float(rng.choice([512.0, 4096.0])) * max(1.0, math.ulp(low))
    width = (written(high) - written(low)) / steps
    return Column(bp.Real(low, high, steps=steps), written(low), width, steps)


def draw_weights(rng: np.random.Generator, names: Sequence[str]) -> tuple[dict[str, object], dict[str, Fraction]]:
    """Draw weights of a linear query, as they are declared and as fractions."""
    kind = rng.choice(["decimals", "binary", "thirds", "drawn"])
    declared: dict[str, object] = {}
    for name in names:
        number = float(rng.choice([0.1, 0.2, 0.3, 0.7, -0.1, 1.1]))
        if kind == "decimals":
            declared[name] = number
        elif kind == "binary":  # the double itself: .1 + .2 is not .3 then
            declared[name] = Fraction(number)
        elif kind == "thirds":
            declared[name] = Fraction(int(rng.integers(1, 5)), 3)
        else:
            declared[name] = float(rng.random())
    exact = {name: w if isinstance(w, Fraction) else written(float(w)) for name, w in declared.items()}  # type: ignore[arg-type]
    return declared, exact


@dataclass(frozen=True)
class Asked:
    """A query, what one record adds to its exact answer, and whether the answer is divided by the records."""

    query: bp.types.Query
    adds: dict[str, Fraction]
    averaged: bool

    def of(self, record: Record, columns: dict[str, Column], n: int) -> Fraction:
        total = sum((w * columns[name].value(record[name]) for name, w in self.adds.items()), Fraction(0))
        return total / n if self.averaged else total


def draw_query(rng: np.random.Generator, names: Sequence[str]) -> Asked:
    chosen = [str(name) for name in rng.choice(names, size=int(rng.integers(1, len(names) + 1)), replace=False)]
    kind = rng.choice(["linear", "linear", "total", "mean"])
    if kind == "linear":
        declared, exact = draw_weights(rng, chosen)
        return Asked(bp.linear(declared), exact, True)  # type: ignore[arg-type]
    query = bp.total(chosen[0]) if kind == "total" else bp.mean(chosen[0])
    return Asked(query, {chosen[0]: Fraction(1)}, kind == "mean")


def draw_row(rng: np.random.Generator, size: int) -> list[float]:
    """Draw probabilities: often all on one value, sometimes tiny."""
    kind = rng.choice(["one", "one", "plain", "tiny"])
    row = np.zeros(size)
    if kind == "one" or size == 1:
        row[int(rng.integers(size))] = 1.0
    elif kind == "plain":
        row = rng.dirichlet(np.ones(size))
    else:
        row[:] = 10.0 ** rng.uniform(-300, -150, size)
        row[int(rng.integers(size))] = 1.0
    return list(map(float, row))


@dataclass(frozen=True)
class Model:
    """A record network with its tables as fractions; every column hangs on the first one, or on none."""

    network: bp.DiscreteNetwork
    records: list[tuple[Fraction, Record]]


def draw_model(rng: np.random.Generator, columns: dict[str, Column]) -> Model:
    first, *rest = columns
    size = columns[first].steps + 1
    start = list(map(float, rng.dirichlet(np.ones(size)))) if rng.random() < 0.7 else draw_row(rng, size)
    tables: dict[str, list[list[float]]] = {}
    for name in rest:
        tables[name] = [draw_row(rng, columns[name].steps + 1) for _ in range(size)]
    network = bp.DiscreteNetwork.from_tables(
        {first: start, **{name: np.array(rows).T.tolist() for name, rows in tables.items()}},
        states={name: column.states for name, column in columns.items()},
        parents={name: [first] for name in rest},
        level="records",
    )
    records = []
    exact = {name: [divided(row) for row in rows] for name, rows in tables.items()}
    for index in itertools.product(*(range(column.steps + 1) for column in columns.values())):
        record = dict(zip(columns, index, strict=True))
        p = divided(start)[record[first]] * math.prod(exact[name][record[first]][record[name]] for name in rest)
        if p:
            records.append((p, record))
    return Model(network, records)


def divided(row: Sequence[float]) -> list[Fraction]:
    total = sum(map(Fraction, row), Fraction(0))
    return [Fraction(p) / total for p in row]


def summed(one: Exact, n: int) -> Exact:
    """Return the law of the sum of n independent draws."""
    size = len(next(iter(one)))
    total: Exact = {(Fraction(0),) * size: Fraction(1)}
    for _ in range(n):
        longer: Exact = {}
        for x, p in total.items():
            for y, q in one.items():
                key = tuple(a + b for a, b in zip(x, y, strict=True))
                longer[key] = longer.get(key, Fraction(0)) + p * q
        total = longer
    return total


def of_record(records: Sequence[tuple[Fraction, Record]], *asked: Asked, columns: dict[str, Column], n: int) -> Exact:
    law: Exact = {}
    for p, record in records:
        key = tuple(each.of(record, columns, n) for each in asked)
        law[key] = law.get(key, Fraction(0)) + p
    return law


Released = dict[float, Fraction]


def rounded(law: Exact) -> Released:
    """Return the law of the doubles; the masses need not sum to one."""
    found: Released = {}
    for key, p in law.items():
        found[float(key[-1])] = found.get(float(key[-1]), Fraction(0)) + p
    return found


def log(p: Fraction) -> float:
    return math.log(p.numerator) - math.log(p.denominator) if p else -math.inf


def loss(f: Released, g: Released, scale: float) -> float:
    """Return the largest log ratio of the two laws with Laplace noise of a scale."""
    atoms = sorted({*f, *g})
    total = [log(sum(law.values(), Fraction(0))) for law in (f, g)]
    logs = np.array([[log(law.get(x, Fraction(0))) - t for x in atoms] for law, t in zip((f, g), total, strict=True)])
    if scale > 0:
        away = np.array([[float(abs(Fraction(x) - Fraction(y))) / scale for y in atoms] for x in atoms])
        logs = np.logaddexp.reduce(logs[:, None, :] - away[None, :, :], axis=2)
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(logs[0] - logs[1])))


@dataclass(frozen=True)
class Case:
    framework: object
    query: bp.types.Query
    pairs: list[tuple[Released, Released]]


def dataset_case(rng: np.random.Generator) -> Case | None:
    columns = {name: draw_column(rng) for name in "sab"[: int(rng.integers(2, 4))]}
    n = int(rng.integers(2, 10 if len(columns) == 2 else 6))
    model = draw_model(rng, columns)
    asked = draw_query(rng, list(columns))
    schema = bp.Schema(records=n, columns={name: column.declared for name, column in columns.items()})
    protected = str(rng.choice(list(columns)))
    hidden = Asked(bp.mean(protected), {protected: Fraction(1)}, True)
    joint = summed(of_record(model.records, hidden, asked, columns=columns, n=n), n)
    values = sorted({key[0] for key in joint})
    if len(values) < 2:
        return None
    framework = bp.DatasetAttributePrivacy(model.network, schema, {protected: bp.Secret(hidden.query)}, source="drawn")
    given = {value: rounded({key: p for key, p in joint.items() if key[0] == value}) for value in values}
    return Case(framework, asked.query, [(given[a], given[b]) for a, b in itertools.combinations(values, 2)])


def distribution_case(rng: np.random.Generator) -> Case:
    columns = {name: draw_column(rng) for name in "ab"}
    n = int(rng.integers(2, 10))
    models = [draw_model(rng, columns) for _ in range(2)]
    asked = draw_query(rng, list(columns))
    schema = bp.Schema(records=n, columns={name: column.declared for name, column in columns.items()})
    laws = [rounded(summed(of_record(model.records, asked, columns=columns, n=n), n)) for model in models]
    framework = bp.DistributionPrivacy([(models[0].network, models[1].network)], schema=schema, source="drawn")
    return Case(framework, asked.query, [(laws[0], laws[1])])


def distributional_case(rng: np.random.Generator) -> Case:
    """A chain phi -> x (and y) of parameters, each of which fixes the chances of a bit."""
    n, names = int(rng.integers(2, 7)), ["x", "y"]
    bits = dict.fromkeys(names, Column(bp.Integer(0, 1), Fraction(0), Fraction(1), 1))
    start, tables = draw_row(rng, 2), {name: [draw_row(rng, 2) for _ in range(2)] for name in names}
    start = [0.5, 0.5] if min(start) == 0 else start
    chances = {name: [float(rng.choice([0.0, 1.0, 0.3, 1e-200])) for _ in range(2)] for name in names}
    network = bp.DiscreteNetwork.from_tables(
        {"phi": start, **{name: np.array(rows).T.tolist() for name, rows in tables.items()}},
        states={name: ["0", "1"] for name in ("phi", *names)},
        parents={"x": ["phi"], "y": ["x"]},
        level="parameters",
    )
    schema = bp.Schema(records=n, columns={name: bp.Integer(0, 1) for name in ("phi", *names)})
    laws = {name: dict(zip("01", chances[name], strict=True)) for name in names}
    framework = bp.DistributionalAttributePrivacy(network, schema, "phi", source="drawn", laws=laws)
    asked = draw_query(rng, names)
    sides: list[Released] = []
    for phi in range(2):
        total: Exact = {}
        for x, y in itertools.product(range(2), repeat=2):
            weight = divided(tables["x"][phi])[x] * divided(tables["y"][x])[y]
            one = [(Fraction(chances["x"][x]), Fraction(chances["y"][y]))]
            records = [
                ((p if i else 1 - p) * (q if j else 1 - q), {"x": i, "y": j})
                for p, q in one
                for i, j in itertools.product(range(2), repeat=2)
            ]
            kept = [(p, record) for p, record in records if p]
            for key, p in summed(of_record(kept, asked, columns=bits, n=n), n).items() if weight else ():
                total[key] = total.get(key, Fraction(0)) + weight * p
        sides.append(rounded(total))
    return Case(framework, asked.query, [(sides[0], sides[1])])


CASES = {"dataset": dataset_case, "distribution": distribution_case, "distributional": distributional_case}


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(), bp.WassersteinMechanism()], ids=["tight", "wasserstein"])
@pytest.mark.parametrize("kind", CASES)
def test_no_claim_gives_a_secret_away(kind: str, mechanism: bp.types.Mechanism) -> None:
    """Row 8: a mass is 0 only where it is; row 16: two different released doubles are two atoms."""
    rng = np.random.default_rng(29)
    served = free = told = 0
    for k in range(40):
        case = CASES[kind](rng)
        if case is None or mechanism.supports(case.framework, case.query, epsilon=1.0) is not None:  # type: ignore[arg-type]
            continue
        epsilon = float(rng.uniform(0.2, 3))
        scale = mechanism.calibrate(case.framework, case.query, epsilon=epsilon).scale  # type: ignore[arg-type]
        found = max(loss(f, g, scale) for f, g in case.pairs)
        assert found <= epsilon * SLACK + 1e-12, (k, kind, scale, found)
        served, free = served + 1, free + (scale == 0)
        told += not all(loss(f, g, 0.0) <= epsilon for f, g in case.pairs)
    assert served >= 20
    assert free >= 1 or kind == "distribution"
    assert told >= 8


def test_sums_that_meet_on_paper_but_not_as_doubles() -> None:
    """Three tenths, and a tenth and two tenths: one answer as decimals; two as the doubles they are."""
    bits, yes = bp.Integer(0, 1), {name: ["0", "1"] for name in "uabc"}
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5], "a": [[1, 0], [0, 1]], "b": [[1, 0], [0, 1]], "c": [[0, 1], [1, 0]]},
        states=yes,
        parents={name: ["u"] for name in "abc"},
        level="records",
    )
    schema = bp.Schema(records=9, columns=dict.fromkeys("uabc", bits))
    framework = bp.DatasetAttributePrivacy(network, schema, {"u": bp.Secret(bp.count(bp.col("u") == 1))}, source="x")
    decimals = bp.linear({"a": 0.1, "b": 0.2, "c": 0.3})
    doubles = bp.linear({"a": Fraction(0.1), "b": Fraction(0.2), "c": Fraction(0.3)})
    answers = {query: set() for query in (decimals, doubles)}
    for yes_records in range(10):
        u = [1] * yes_records + [0] * (9 - yes_records)
        table = pd.DataFrame({"u": u, "a": u, "b": u, "c": [1 - k for k in u]})
        for query, seen in answers.items():
            seen.update(map(float, evaluate(query, schema, table).values))
    assert answers[decimals] == {0.3}
    assert len(answers[doubles]) == 2
    for mechanism in (bp.TightMechanism(), bp.WassersteinMechanism()):
        assert mechanism.calibrate(framework, decimals, epsilon=1.0).scale == 0
        assert mechanism.calibrate(framework, doubles, epsilon=1.0).scale > 0


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(), bp.WassersteinMechanism()], ids=["tight", "wasserstein"])
def test_declared_laws_of_fractions_pay_for_rounding(mechanism: bp.types.Mechanism) -> None:
    """Declared atoms need not be the doubles that are released: no noise at all only for whole numbers."""
    schema = bp.Schema(records=9, columns={"a": bp.Integer(0, 1)})
    pair = (bp.laws.Atoms([0.1, 0.3], [0.5, 0.5]), bp.laws.Atoms([0.1, 0.3], [0.5, 0.5]))
    scales = [
        mechanism.calibrate(bp.DistributionPrivacy([pair], query, schema, source="x"), query, epsilon=1.0).scale
        for query in (bp.mean("a"), bp.total("a"))
    ]
    assert 0 < scales[0] < 1e-14
    assert scales[1] == 0


def test_a_secret_stands_for_every_value_that_is_rounded_to_it() -> None:
    """A mean over numbers so large that a double of it stands for many totals."""
    from bnpriv.core.evidence.laws import Counts, meant

    counts = Counts(n=1000, low=Fraction(2**50), unit=Fraction(1, 1000))
    assert len(counts.possible(frozenset({2.0**50 + 0.5}))) > 200
    assert counts.possible(frozenset({2.0**50 + 0.5})).isdisjoint(counts.possible(frozenset({2.0**50 + 0.75})))
    thirds = [Fraction(k, 3) for k in range(4)]
    assert meant([1 / 3], thirds) == {Fraction(1, 3)}
    assert meant([0.3333333333], thirds) == {Fraction(1, 3)}
    assert meant([0.3333], thirds) == frozenset()


def bits(tables: dict[str, object], parents: dict[str, list[str]], level: str = "records") -> bp.DiscreteNetwork:
    names = list(tables)
    states = {name: ["0", "1"] for name in names}
    return bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level=level)  # type: ignore[arg-type]


def tiny(chance: float) -> list[list[float]]:
    """The second state has a chance given the second state of the parent, and none given the first."""
    return [[1.0, 1 - chance], [0.0, chance]]


BOTH = [bp.TightMechanism(), bp.WassersteinMechanism()]


@pytest.mark.parametrize("mechanism", BOTH, ids=["tight", "wasserstein"])
@pytest.mark.parametrize(("first", "second"), [(1e-200, 1e-200), (4.5e-168, 1e-214), (1e-300, 0.5), (1e-10, 1e-320)])
def test_products_of_small_masses_are_no_zeros_in_a_record(
    mechanism: bp.types.Mechanism, first: float, second: float
) -> None:
    """Row 8: the joint chance is no double, the conditional one is: what one secret can show and the other not."""
    network = bits({"a": [1 - first, first], "b": tiny(second)}, {"b": ["a"]})
    schema = bp.Schema(records=10, columns=dict.fromkeys("ab", bp.Integer(0, 1)))
    secret = bp.Secret(bp.count(bp.col("a") == 1), pairs=bp.apart(at_most=2))
    framework = bp.DatasetAttributePrivacy(network, schema, {"a": secret}, source="x")
    scale = mechanism.calibrate(framework, bp.total("b"), epsilon=1.0).scale
    chance = Fraction(second)
    laws = [
        rounded(summed({(Fraction(0),): 1 - chance, (Fraction(1),): chance}, k) if k else {(Fraction(0),): Fraction(1)})
        for k in range(11)
    ]
    worst = max(loss(laws[a], laws[b], scale) for a in range(11) for b in range(a + 1, min(a + 3, 11)))
    assert 0 < worst <= SLACK


@pytest.mark.parametrize("mechanism", BOTH, ids=["tight", "wasserstein"])
def test_products_of_small_masses_are_no_zeros_between_parameters(mechanism: bp.types.Mechanism) -> None:
    network = bits({"phi": [0.5, 0.5], "x": tiny(1e-200), "y": tiny(1e-200)}, {"x": ["phi"], "y": ["x"]}, "parameters")
    schema = bp.Schema(records=10, columns=dict.fromkeys(("phi", "x", "y"), bp.Integer(0, 1)))
    laws = {"y": {"0": 0.0, "1": 1.0}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "phi", source="x", laws=laws)
    scale = mechanism.calibrate(framework, bp.total("y"), epsilon=1.0).scale
    rare = Fraction(1, 10**400)
    assert loss({0.0: Fraction(1)}, {0.0: 1 - rare, 10.0: rare}, scale) <= SLACK
    assert scale > 0


@pytest.mark.parametrize("mechanism", BOTH, ids=["tight", "wasserstein"])
def test_products_of_small_masses_are_no_zeros_between_distributions(mechanism: bp.types.Mechanism) -> None:
    schema = bp.Schema(records=3, columns=dict.fromkeys("ab", bp.Integer(0, 1)))
    never = bits({"a": [1 - 1e-200, 1e-200], "b": [[1.0, 1.0], [0.0, 0.0]]}, {"b": ["a"]})
    rarely = bits({"a": [1 - 1e-200, 1e-200], "b": tiny(1e-200)}, {"b": ["a"]})
    framework = bp.DistributionPrivacy([(never, rarely)], schema=schema, source="x")
    scale = mechanism.calibrate(framework, bp.total("b"), epsilon=1.0).scale
    rare = Fraction(1, 10**400)
    law = rounded(summed({(Fraction(0),): 1 - rare, (Fraction(1),): rare}, 3))
    assert loss({0.0: Fraction(1)}, law, scale) <= SLACK
    assert scale > 0


@pytest.mark.parametrize("mechanism", BOTH, ids=["tight", "wasserstein"])
@pytest.mark.parametrize("chance", [1e-300, 5e-324, 1 - 2.0**-53])
def test_declared_laws_with_tiny_chances(mechanism: bp.types.Mechanism, chance: float) -> None:
    """Three records all of which are rare: (1e-300)^3 under one state, nothing under the other."""
    network = bits({"x": [0.5, 0.5]}, {}, "parameters")
    schema = bp.Schema(records=3, columns={"x": bp.Integer(0, 1)})
    laws = {"x": {"0": 0.0 if chance < 0.5 else 1.0, "1": chance}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="x", laws=laws)
    scale = mechanism.calibrate(framework, bp.total("x"), epsilon=1.0).scale
    p = Fraction(chance)
    law = rounded(summed({(Fraction(0),): 1 - p, (Fraction(1),): p}, 3))
    assert 0 < loss({0.0 if chance < 0.5 else 3.0: Fraction(1)}, law, scale) <= SLACK


@pytest.mark.parametrize("mechanism", BOTH, ids=["tight", "wasserstein"])
@pytest.mark.parametrize("width", [5e-18, 1e-15, 1e-9])
def test_narrow_cells_of_a_density(mechanism: bp.types.Mechanism, width: float) -> None:
    """Row 8: N(0, 1) against N(20, 1) in a cell that a difference of distribution functions loses."""
    import scipy.stats as ss

    network = bits({"x": [0.5, 0.5]}, {}, "parameters")
    schema = bp.Schema(records=5, columns={"x": bp.Real(-10.0, 30.0)})
    laws = {"x": {"0": ss.norm(0, 1), "1": ss.norm(20, 1)}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="x", laws=laws)
    found = mechanism.calibrate(framework, bp.count((bp.col("x") >= 0.0) & (bp.col("x") < width)), epsilon=1.0)
    assert {decision.kind for decision in found.certificate.decisions} == {"certified"}  # type: ignore[union-attr]
    laws_of = []
    for mean in (0, 20):
        p = Fraction(width) * Fraction(math.exp(-(mean**2) / 2) / math.sqrt(2 * math.pi))
        laws_of.append(rounded(summed({(Fraction(0),): 1 - p, (Fraction(1),): p}, 5)))
    assert 0 < loss(laws_of[0], laws_of[1], found.scale) <= 1 + 1e-6
