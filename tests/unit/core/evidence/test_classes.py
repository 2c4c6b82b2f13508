"""Secrets by classes of records (differences, several counts, properties of two columns) against enumeration."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import MOST_COMPARED_CLASSES, ClassMoves, class_laws, constraints_of, laws, moves
from bnpriv.core.noise import Gaussian
from bnpriv.errors import QueryError, Refusal, SecretError
from bnpriv.kinds.graphs import model_class
from bnpriv.kinds.public_records import public_records_of
from tests import oracles

STATES = {"race": ["A", "B", "C"], "ward": ["x", "y"], "ill": ["no", "yes"]}
COLUMNS = {name: bp.Categorical(states) for name, states in STATES.items()}
MORE = 'count(race == "A") - count(race == "B")'
ILL = 'count(ill == "yes")'


def network(tables: object = None) -> bp.DiscreteNetwork:
    ill = [[[0.9, 0.7], [0.8, 0.6], [0.85, 0.5]], [[0.1, 0.3], [0.2, 0.4], [0.15, 0.5]]]
    known = {"race": [0.5, 0.2, 0.3], "ward": [[0.6, 0.3, 0.2], [0.4, 0.7, 0.8]], "ill": np.array(ill)}
    return bp.DiscreteNetwork.from_tables(
        tables or known, states=STATES, parents={"ward": ["race"], "ill": ["race", "ward"]}, level="records"
    )


def framework(
    text: str, pairs: object, records: int = 40, model: bp.DiscreteNetwork | None = None, **more: object
) -> bp.DatasetAttributePrivacy:
    secret = bp.Secret(text, pairs=pairs)  # type: ignore[arg-type]
    schema = bp.Schema(records=records, columns=COLUMNS)
    return bp.DatasetAttributePrivacy(model or network(), schema, {secret.column: secret}, source="a test", **more)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------
# The true laws of the answer given each value of the secret, from all tables.
# --------------------------------------------------------------------------------------------------

Value = tuple[float, ...]
Joint = Mapping[tuple[Value, Value], float]


def value(query: bp.types.Query, record: Mapping[str, str], records: int) -> Value:
    """Return what one record adds."""
    found: list[float] = []
    for output in query.outputs(bp.Schema(records=records, columns=COLUMNS)):
        terms = (float(weight) * holds(term.predicate, record) for weight, term in output.terms)
        found.append(sum(terms) / (records if output.averaged else 1))
    return tuple(found)


def holds(condition: object, record: Mapping[str, str]) -> bool:
    parts = getattr(condition, "parts", None)
    if parts is not None:
        return (all if type(condition).__name__ == "And" else any)(holds(part, record) for part in parts)
    part = getattr(condition, "part", None)
    if part is not None:
        return not holds(part, record)
    column, known = getattr(condition, "column"), getattr(condition, "constants")  # noqa: B009
    assert getattr(condition, "operator", "==") == "=="
    return record[column] in known


def joint_law(model: bp.DiscreteNetwork, secret: str, query: str, records: int) -> Joint:
    """Return the law of the secret and the answer in tables of independent records."""
    law = oracles.joint(model, 0)
    one: dict[tuple[Value, Value], float] = defaultdict(float)
    for cell in product(*(range(len(STATES[name])) for name in model.attributes)):
        record = {name: STATES[name][k] for name, k in zip(model.attributes, cell, strict=True)}
        both = value(bp.parse_query(secret), record, records), value(bp.parse_query(query), record, records)
        one[both] += float(law[cell])
    total: dict[tuple[Value, Value], float] = {((0.0,) * len(both[0]), (0.0,) * len(both[1])): 1.0}
    for _ in range(records):
        grown: dict[tuple[Value, Value], float] = defaultdict(float)
        for (s, f), p in total.items():
            for (a, b), q in one.items():
                if p * q > 0:
                    grown[_sum(s, a), _sum(f, b)] += p * q
        total = grown
    return total


def _sum(a: Value, b: Value) -> Value:
    return tuple(round(x + y, 9) for x, y in zip(a, b, strict=True))


def hidden_pairs(joint: Joint, at_most: float, *, cells: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield atoms and both laws of the answer for every ordered pair of values that are to be hidden."""
    parts: dict[Value, dict[Value, float]] = defaultdict(lambda: defaultdict(float))
    for (s, f), p in joint.items():
        parts[s][f] += p
    atoms = sorted({f for _, f in joint})
    for a, b in combinations(parts, 2):
        apart = sum(abs(x - y) for x, y in zip(a, b, strict=True))
        # a record in none of the cells leaves the counts alone: the moves are the larger of what is added and taken
        more = max(sum(max(0, x - y) for x, y in zip(*two, strict=True)) for two in ((a, b), (b, a)))
        if (more if cells else apart) > at_most + 1e-9:
            continue
        both = [np.array([parts[s].get(f, 0.0) for f in atoms]) / sum(parts[s].values()) for s in (a, b)]
        yield np.array(atoms), both[0], both[1]
        yield np.array(atoms), both[1], both[0]


def told(atoms: np.ndarray, first: np.ndarray, second: np.ndarray, scale: float) -> float:
    """Return the largest log ratio after Laplace noise on every number: on the grid of the atoms' coordinates."""
    points = np.array(list(product(*(sorted(set(column)) for column in atoms.T))))
    kernel = (
        np.exp(-np.abs(points[:, None, :] - atoms[None, :, :]).sum(axis=2) / scale) if scale else np.eye(len(atoms))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(kernel @ first) - np.log(kernel @ second)
    return float(np.nanmax(ratio))


def random_network(random: np.random.Generator, *, without: bool = False) -> bp.DiscreteNetwork:
    """Return a model whose classes may be rare, and whose columns hang together; `without` the third race."""

    def columns(states: int, *above: int) -> np.ndarray:
        found = random.dirichlet(np.full(states, random.choice([0.3, 1.0, 5.0])), size=above or None) + 1e-6
        found = np.moveaxis(found, -1, 0)
        return found / found.sum(axis=0)

    races = np.append(columns(2), 0.0) if without else columns(3)
    return network({"race": races, "ward": columns(2, 3), "ill": columns(2, 3, 2)})


SECRETS = [
    (MORE, 1.0, False),
    (MORE, 2.0, False),
    ('share(race == "A") - share(race == "B" & ward == "x")', 0.5, False),
    ('count(race == "A") - count(ward == "x")', 1.0, False),
    ("histogram(race)", 1.0, True),
    ("histogram(race)", 2.0, True),
    ('histogram(race, ["A", "B"])', 2.0, True),
    ("crosstab(race, ward)", 1.0, True),
    ('count(ill == "yes") by ward', 2.0, True),
    ('count(race == "A" & ward == "x")', 2.0, False),
]
BOTH = f'stack({ILL}, count(ward == "x" & race == "C"))'


@pytest.mark.parametrize(("text", "at_most", "cells"), SECRETS)
@pytest.mark.parametrize("query", [ILL, BOTH])
def test_laplace_noise_keeps_the_laws_of_all_tables_alike(text: str, at_most: float, cells: bool, query: str) -> None:
    random, records, epsilon, weights = np.random.default_rng(29), 3, 0.7, [1.0] * (2 if query == BOTH else 1)
    worst: list[float] = []
    for _ in range(5):
        model = random_network(random)
        asked = framework(text, bp.apart(at_most=at_most), records, model)
        pairs = list(hidden_pairs(joint_law(model, text, query, records), at_most, cells=cells))
        for mechanism in (bp.TightMechanism(weights=weights), bp.WassersteinMechanism(weights=weights)):
            calibration = mechanism.calibrate(asked, query, epsilon=epsilon)
            worst.append(max(told(*each, calibration.scale) for each in pairs))
    assert max(worst) <= epsilon + 1e-9
    assert max(worst) > 0.5 * epsilon  # and it is not far too much everywhere


@pytest.mark.parametrize(("text", "at_most", "cells"), [each for each in SECRETS if "crosstab" not in each[0]])
def test_a_delta_covers_records_that_move_between_different_classes(text: str, at_most: float, cells: bool) -> None:
    random, records, epsilon, delta = np.random.default_rng(30), 3, 0.5, 0.02
    for _ in range(2):
        model = random_network(random)
        asked = framework(text, bp.apart(at_most=at_most), records, model)
        pairs = list(hidden_pairs(joint_law(model, text, ILL, records), at_most, cells=cells))
        for mechanism in (
            bp.TightMechanism(noise="gaussian", large_delta=True),
            bp.TightMechanism(large_delta=True),
            bp.WassersteinMechanism(large_delta=True),
            bp.WassersteinMechanism(noise="gaussian", large_delta=True),
        ):
            calibration = mechanism.calibrate(asked, ILL, epsilon=epsilon, delta=delta)
            noise = "gaussian" if isinstance(calibration.noise, Gaussian) else "laplace"
            for atoms, first, second in pairs:
                lost = oracles.excess(atoms.ravel(), first, second, calibration.scale, epsilon, noise)
                assert lost <= delta * (1 + 1e-6)


@pytest.mark.parametrize(("text", "at_most", "cells"), SECRETS)
def test_two_answers_tell_no_more_together_than_is_counted(text: str, at_most: float, cells: bool) -> None:
    """Also where no record can be in one of the classes under one of two models."""
    random, records, second = np.random.default_rng(32), 3, 'count(ward == "x" & race == "C")'
    for without in (False, True):
        models = [random_network(random, without=without), random_network(random)]
        asked = framework(text, bp.apart(at_most=at_most), records, model_class(models))
        found = [bp.TightMechanism().calibrate(asked, query, epsilon=0.5) for query in (ILL, second)]
        counted = bp.accounting.Accountant(asked).record(found[0]).record(found[1])
        scales = np.array([each.scale for each in found])
        worst = [
            told(atoms / np.maximum(scales, 1e-12), *both, 1.0)
            for model in models
            for atoms, *both in hidden_pairs(joint_law(model, text, BOTH, records), at_most, cells=cells)
        ]
        assert max(worst) <= float(counted.epsilon) + 1e-9


def test_one_unit_of_a_difference_is_one_record() -> None:
    """Counts given a difference d and d + 1 have a coupling in which one record moves, whatever the probabilities."""
    random = np.random.default_rng(31)
    for n, _ in product(range(1, 7), range(8)):
        weights = [Fraction(int(random.choice([1, 2, 7, 1000]))) for _ in range(3)]

        def given(d: int, n: int = n, weights: list[Fraction] = weights) -> list[Fraction]:
            """The law of how many records are in the class that is taken off."""
            ways = [Fraction(0)] * (n + 2)
            for j in range(max(0, -d), (n - d) // 2 + 1):
                counts = (j, n - d - 2 * j, d + j)
                ways[j] = Fraction(math.factorial(n)) * math.prod(
                    w**k / math.factorial(k) for w, k in zip(weights, counts, strict=True)
                )
            return [way / sum(ways) for way in ways]

        for d in range(-n, n):
            here, above = given(d), given(d + 1)
            for t in range(n + 2):  # as many records in the class above, or one fewer
                assert sum(above[t:]) <= sum(here[t:]) <= sum(above[max(0, t - 1) :])


# --------------------------------------------------------------------------------------------------
# What is compared, and what is said.
# --------------------------------------------------------------------------------------------------


def ways(asked: bp.DatasetAttributePrivacy, model: int = 0) -> ClassMoves:
    (secret,) = asked.protect.values()
    told, _ = class_laws(asked, bp.parse_query(ILL), secret, model)
    found = moves(secret, asked.schema, [int(each) for each in np.unique(told.columns[0])])
    assert found is not None
    return found


def test_a_constraint_for_every_two_classes() -> None:
    apart = bp.apart(at_most=5)
    named = {
        MORE: {"race = B against other records", "race = A against other records"},
        "histogram(race)": {f"race = {b} against race = {a}" for a, b in combinations("ABC", 2)},
        'histogram(race, ["A", "B"])': {
            "race = A against other records",
            "race = B against other records",
            "race = B against race = A",
        },
    }
    for text, classes in named.items():
        asked = framework(text, apart)
        found = ways(asked)
        assert {pair.partition(", ")[2] for pair in found.classes} == classes
        assert (list(found.distances), len(found.mixed)) == ([1, 2, 3, 4, 5], 3)
        constraints = constraints_of(asked, bp.parse_query(ILL), "race", asked.protect["race"], 0)
        assert [each.record.pair for each in constraints if each.record is not None] == list(found.classes)
    alone = ways(framework('count(race == "A")', apart))
    assert (alone.classes, alone.mixed) == ({"values 5 apart": (1, 0)}, ())


def test_impossible_classes_are_left_out() -> None:
    never = {"race": [0.6, 0.4, 0.0], "ward": np.full((2, 3), 0.5), "ill": np.full((2, 3, 2), 0.5)}
    asked = framework("histogram(race)", bp.apart(at_most=5), model=network(never))
    assert list(ways(asked).classes) == ["5 records in other cells, race = B against race = A"]
    # without other records the difference is a count in steps of two
    two = framework(MORE, bp.apart(at_most=5), model=network(never))
    assert (list(ways(two).classes.values()), list(ways(two).distances)) == ([(1, -1)], [1, 2])


def test_a_secret_of_many_values_has_no_classes() -> None:
    model = bp.DiscreteNetwork.from_tables({"k": [0.25] * 4}, states={"k": [0, 1, 2, 3]}, level="records")
    schema = bp.Schema(records=5, columns={"k": bp.Integer(0, 3)})
    asked = bp.DatasetAttributePrivacy(model, schema, {"k": bp.Secret("total(k)")}, source="a test")
    assert moves(asked.protect["k"], schema, range(4)) is None
    states = [f"s{k}" for k in range(MOST_COMPARED_CLASSES + 1)]
    many = bp.DiscreteNetwork.from_tables(
        {"c": np.full(len(states), 1 / len(states))}, states={"c": states}, level="records"
    )
    wide = bp.Schema(records=5, columns={"c": bp.Categorical(states)})
    secret = bp.Secret("histogram(c)", pairs=bp.apart(at_most=1))
    found = laws(bp.DatasetAttributePrivacy(many, wide, {"c": secret}, source="a test"), bp.parse_query("histogram(c)"))
    assert isinstance(found, Refusal)
    assert f"at most {MOST_COMPARED_CLASSES} classes" in found.required


def test_a_secret_of_two_columns_may_stand_under_either() -> None:
    secret = bp.Secret('count(race == "A" & ward == "x")', pairs=bp.apart(at_most=5))
    schema = bp.Schema(records=40, columns=COLUMNS)
    for name in ("race", "ward"):
        asked = bp.DatasetAttributePrivacy(network(), schema, {name: secret}, source="a test")
        assert asked.protected_secrets[0].attribute == name
    with pytest.raises(SecretError, match="property of that column"):
        bp.DatasetAttributePrivacy(network(), schema, {"ill": secret}, source="a test")


def test_the_words_say_what_is_hidden() -> None:
    ten = bp.apart(at_most=10)
    assert [str(framework(text, ten).protected_secrets[0]) for text in (MORE, "crosstab(ward, race)")] == [
        "how many more records have race = A than race = B in this table (values at most 10 apart)",
        "how many records of this table fall into each cell of race and ward (at most 10 records in other cells)",
    ]
    assert framework("histogram(race)", None).protected_secrets[0].bounds_belief
    with pytest.raises(SecretError, match="one distance"):
        bp.Secret("histogram(race)", pairs=bp.pairs((1, 2)))
    with pytest.raises(QueryError, match="two counts, or of two shares"):
        bp.count(bp.col("race") == "A") - bp.proportion(bp.col("race") == "B")


@pytest.mark.parametrize("text", [MORE, "histogram(race)", 'count(ill == "yes") by ward', "crosstab(ward, race)"])
def test_files_checks_and_made_up_tables_follow(text: str, tmp_path: Path) -> None:
    asked = framework(text, bp.apart(at_most=3), records=12)
    (name,) = asked.protected
    asked.to_file(tmp_path / "framework.toml")
    read = bp.read_framework(tmp_path / "framework.toml")
    assert read.fingerprint() == asked.fingerprint()
    calibration = bp.TightMechanism().calibrate(asked, ILL, epsilon=1.0)
    assert bp.verify(calibration, tmp_path / "framework.toml").status == "holds"
    cheaper = calibration.to_json().replace(repr(calibration.scale), repr(calibration.scale * 0.9))
    assert bp.verify(cheaper).status != "holds"
    assert "told apart" in bp.rehearse(calibration, draws=200, seed=1).text
    counts = {MORE: 2, "histogram(race)": (4, 3, 5)}.get(text)
    if counts is not None:
        table = bp.simulate(asked, 12, secret={name: counts}, seed=1)
        found = table["race"].value_counts()
        assert found["A"] - found["B"] == (2 if text == MORE else 1)
    if text == "histogram(race)":
        with pytest.raises(SecretError, match="must be possible"):
            bp.simulate(asked, 12, secret={name: (13, 0, 0)}, seed=1)


@pytest.mark.parametrize("text", [MORE, "histogram(race)", 'histogram(race, ["A", "B"])'])
def test_public_records_are_models_too(text: str) -> None:
    public = bp.simulate(framework(ILL, None), 200, seed=3)
    asked = framework(text, bp.apart(at_most=3), public_records=public_records_of(public, COLUMNS, draws=3))
    alone = framework(text, bp.apart(at_most=3))
    noise = [bp.TightMechanism().calibrate(each, ILL, epsilon=1.0).scale for each in (asked, alone)]
    assert noise[0] >= noise[1] > 0
    assert len(ways(asked, 2).classes) == (2 if text == MORE else 3)


@pytest.mark.parametrize("text", [MORE, "histogram(race)"])
def test_several_models_need_the_noise_of_the_worst(text: str) -> None:
    random = np.random.default_rng(5)
    models = [random_network(random) for _ in range(3)]
    together = model_class(models)
    scales = [
        bp.TightMechanism().calibrate(framework(text, bp.apart(at_most=3), model=each), ILL, epsilon=1.0).scale
        for each in (*models, together)
    ]
    assert scales[-1] == pytest.approx(max(scales[:-1]), rel=1e-9)
