"""Replay random calibrations with hostile numbers by the independent checker: ``python -m tests.replay 5000``.

Bounds with a large offset, years, dates, timestamps, decimal weights, masses down to 1e-300 and their products, secrets
of probability zero, chosen pairs in one order, two protected attributes, several models, delta with every kind of
noise, numbers of records by which a division rounds, stacks, moments, crosstabs, and columns of a hundred values;
Markov chains that forget slowly, never, or in turns, baselines.

With ``--share .97`` each is replayed once more with that share of its noise: how often that is told.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import multiprocessing
import sys
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import bnpriv as bp
from bnpriv.core.distributions import Atoms, Normal
from bnpriv.io.examples import example_path, examples
from bnpriv.io.framework_file import names_pymc

MOST_SHOWN = 10
RECORDS = (1, 2, 3, 5, 6, 7, 9)
MANY_RECORDS = (1000, 10_000)
RANGES = (
    (1900, 2020),
    (18, 90),
    (20200101, 20201231),
    (1_700_000_000, 1_700_086_400),
    (2**33, 2**33 + 2),
    (2**52 - 9, 2**52),
)
TINY = (1e-150, 4.5e-168, 1e-200, 1e-214, 1e-300)
WEIGHTS = (0.1, 0.2, 0.3, -0.1, 0.7, 1.0, 3.0)
STATUSES = ("holds", "fails", "cannot be shown", "too large", "not covered", "crashes")
SHAPES = {"random": 0.8, "copies": 0.1, "tiny": 0.1}
NOTIONS = ("parameters", "dataset", "value", "distribution")
SHARE_NORMAL = 0.15


@dataclass(frozen=True)
class Case:
    """One question to a mechanism."""

    framework: bp.DistributionalAttributePrivacy | bp.DatasetAttributePrivacy | bp.ValuePrivacy | bp.DistributionPrivacy
    query: bp.types.Query | None
    mechanism: bp.types.Mechanism
    epsilon: float
    delta: float


def column(rng: np.random.Generator, size: int) -> tuple[bp.Real | bp.Integer | bp.Categorical, list[str]]:
    """Draw a column that can take `size` values, and these as states."""
    kind = rng.integers(6)
    if kind == 5:
        low, high = wide(rng)
        inner = rng.choice(np.arange(1, high - low), size=min(size, high - low + 1) - 2, replace=False)
        return bp.Integer(low, high), [str(low + k) for k in (0, *sorted(inner.tolist()), high - low)]
    if kind == 0:
        names = [f"c{k}" for k in range(size)]
        return bp.Categorical(names), names
    if kind <= 2:
        low = int(rng.choice([0, -3, 10**6]))
        return bp.Integer(low, low + size - 1), [str(low + k) for k in range(size)]
    if kind == 3:
        low, width = float(rng.choice([0.1, 0.3, 1 / 3])), float(rng.choice([0.1, 0.6, 1.1]))
    else:
        low = 2.0 ** int(rng.integers(40, 61))
        width = low * 2.0**-52 * max(size, float(rng.choice([2, 6, 510])))
    values = [low + width * k / (size - 1) for k in range(size)]
    return bp.Real(low, max(values), steps=int(rng.choice([size - 1, 2 * size, 7]))), [repr(value) for value in values]


def wide(rng: np.random.Generator) -> tuple[int, int]:
    """Draw the bounds of whole numbers far from 0."""
    low, high = RANGES[int(rng.integers(len(RANGES)))]
    return low, high


def row(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw a law on `size` states, often with zeros or tiny masses."""
    law = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 5.0, 30.0])))
    chance = rng.random()
    if chance < 0.15:
        law = np.eye(size)[rng.integers(size)]
    elif chance < 0.4:
        law[rng.integers(size)] = rng.choice(TINY)
    elif chance < 0.5:
        law = np.round(law, 1)
        law[0] = 0.0
    if not law.sum() > 0.01:
        law = np.eye(size)[0]
    largest = int(law.argmax())
    law[largest] = 0.0
    law[largest] = 1 - law.sum()
    return law


def network(rng: np.random.Generator, states: dict[str, list[str]], level: str, models: int, shape: str):
    """Draw a network with at most two parents a node, one of copies of its first node, or a chain of tiny entries."""
    names, tables, parents = list(states), {}, {}
    for k, name in enumerate(names):
        above = [str(each) for each in rng.permutation(names[:k])[: int(rng.integers(0, 3))]]
        if shape != "random":
            above = names[: min(k, 1)] if shape == "copies" else names[max(0, k - 1) : k]
        size, sizes = len(states[name]), [len(states[each]) for each in above]
        rows = [row(rng, size) for _ in range(models * int(np.prod(sizes, dtype=int)))]
        if above and shape == "copies":
            rows = list(np.eye(size)[:: int(rng.choice([1, -1]))]) * models
        elif above and shape == "tiny":
            tiny = float(rng.choice(TINY))
            rows = [np.eye(size)[0], *[np.array([1 - tiny, *[0.0] * (size - 2), tiny])] * (sizes[0] - 1)] * models
        tables[name] = np.moveaxis(np.array(rows).reshape(models, *sizes, -1), -1, 1)
        parents[name] = above
    return bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level=level)


def query(rng: np.random.Generator, columns: dict[str, bp.Real | bp.Integer | bp.Categorical], names: list[str]):
    """Draw a query of some columns: a sum with decimal weights, a count, a histogram, or two of these."""
    chosen = [str(name) for name in rng.permutation(names)[: int(rng.choice([1, 2, 3, 3]))]]
    numeric = [name for name in chosen if not isinstance(columns[name], bp.Categorical)]
    chance = rng.random()
    if chance < 0.1:
        return bp.stack(query(rng, columns, chosen[:1]), query(rng, columns, chosen[:1]))
    if chance < 0.3:
        return several(rng, columns, chosen, numeric)
    if numeric and rng.random() < 0.6:
        if len(numeric) == 1 and rng.random() < 0.6:
            return (bp.mean if rng.random() < 0.6 else bp.total)(numeric[0])
        weights = rng.permutation([0.1, 0.2, 0.3]) if rng.random() < 0.5 else rng.choice(WEIGHTS, size=3)
        exact = Fraction if rng.random() < 0.5 else float  # a double as it is, or the decimal that it is written as
        return bp.linear({name: exact(float(weight)) for name, weight in zip(numeric, weights, strict=False)})
    conditions = [condition(rng, name, columns[name]) for name in chosen]
    both = conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1]
    return (bp.count if rng.random() < 0.7 else bp.proportion)(~both if rng.random() < 0.2 else both)


def several(
    rng: np.random.Generator,
    columns: dict[str, bp.Real | bp.Integer | bp.Categorical],
    chosen: list[str],
    numeric: list[str],
):
    """Draw a query of several numbers: sums beside counts, moments, a spread, a histogram, a crosstab."""
    counted = bp.count(condition(rng, chosen[-1], columns[chosen[-1]]))
    grouped = [name for name in chosen if isinstance(columns[name], bp.Categorical)]
    options = [bp.crosstab(*grouped[:2])] if len(grouped) > 1 else [bp.histogram(grouped[0])] if grouped else []
    if numeric:
        first, last = numeric[0], numeric[-1]
        options += [bp.stack(bp.mean(first), counted), bp.stack(bp.total(first), counted, bp.mean(last))]
        options += [
            bp.moments([first]),
            bp.variance(first),
            bp.stack(bp.linear({first: 0.3, last: 0.1}), bp.mean(last)),
        ]
        options += [bp.stack(bp.mean(first), bp.histogram(grouped[0]))] if grouped else []
    return options[int(rng.integers(len(options)))]


def condition(rng: np.random.Generator, name: str, declared: bp.Real | bp.Integer | bp.Categorical):
    """Draw a condition on one column."""
    if isinstance(declared, bp.Categorical):
        return bp.col(name) == declared.categories[int(rng.integers(len(declared.categories)))]
    middle = declared.lower + (declared.upper - declared.lower) * float(rng.choice([0.0, 0.5, 1.0]))
    return bp.col(name) > middle if rng.random() < 0.5 else bp.col(name) <= middle


def chosen_pairs(rng: np.random.Generator, states: list[str]):
    """Draw which states must not be told apart: all, or one pair in one order, of states or of sets of states."""
    if rng.random() < 0.5:
        return None
    order = [str(state) for state in rng.permutation(states)]
    if len(order) > 2 and rng.random() < 0.4:
        return bp.pairs((order[0], frozenset(order[1:])))
    return bp.pairs((order[0], order[1]))


def laws_of(rng: np.random.Generator, declared: bp.Real | bp.Integer | bp.Categorical, states: list[str]):
    """Draw a law of a yes-or-no column, or of categories, for every state of its parameter."""
    if rng.random() < 0.3:  # the parameter shows in every record
        shown = rng.permutation([0.0, 1.0])
        if declared == bp.Integer(0, 1):
            return {s: float(shown[k % 2]) for k, s in enumerate(states)}
    if isinstance(declared, bp.Categorical):
        categories = list(declared.categories)
        return {s: dict(zip(categories, map(float, row(rng, len(categories))), strict=True)) for s in states}
    if (declared.lower, declared.upper) != (0, 1):
        ends = declared.lower, declared.upper
        return {s: dict(zip(ends, map(float, row(rng, 2)), strict=True)) for s in states}
    return {s: float(row(rng, 2)[0]) for s in states}


def normal_case(rng: np.random.Generator) -> Case:
    """Draw a linear-Gaussian network, records or parameters, a query and a mechanism."""
    from scipy import stats

    names, models = ["a", "b", "c", "d"][: int(rng.integers(2, 5))], int(rng.choice([1, 1, 3]))
    units = 10.0 ** rng.integers(-3, 4, len(names))
    shift = float(rng.choice([0.0, 100.0, 2.0**20]))
    slopes = {}
    for k, name in enumerate(names):
        above = [int(j) for j in rng.permutation(k)[: int(rng.integers(0, 3))]]
        slopes[name] = {names[j]: rng.normal(size=models) * units[k] / units[j] for j in above}
    level = str(rng.choice(["parameters", "records"]))
    deviations = {name: unit * rng.uniform(0.2, 2.0, models) for name, unit in zip(names, units, strict=True)}
    drawn = bp.networks.GaussianNetwork.linear(
        {name: shift * unit for name, unit in zip(names, units, strict=True)}, deviations, slopes, level=level
    )
    if rng.random() < 0.3:  # without a graph
        drawn = bp.networks.GaussianNetwork(names, drawn.mean, drawn.covariance, level=level)
    records, wide = int(rng.choice([1, 5, 100, 1000])), float(rng.choice([3.0, 12.0, 40.0]))
    columns = {}
    for name in names:
        middle, spread = float(drawn.mean[0, drawn.attributes.index(name)]), float(drawn.deviation(name)[0])
        low, high = middle - wide * spread, middle + wide * spread
        if rng.random() < 0.2 and high - low > 10:
            columns[name] = bp.Integer(math.floor(low), math.ceil(high))
        else:
            columns[name] = bp.Real(low, high, steps=int(rng.choice([2**20, 2**30, 50])))
    schema, protected = bp.Schema(records=records, columns=columns), str(rng.choice(names))
    at, size = float(drawn.mean[0, names.index(protected)]), float(drawn.deviation(protected)[0])
    size = size if level == "parameters" else size / math.sqrt(records)
    ends = np.sort(at + size * rng.normal(size=4) * float(rng.choice([1.0, 3.0]))).tolist()
    between = [
        ((ends[0], ends[1]), (ends[2], ends[3])),
        ((ends[0], ends[1]), (ends[1], ends[3])),
        (ends[0], (ends[2], ends[3])),
        ((-math.inf, ends[1]), (ends[1], math.inf)),
    ][int(rng.integers(4))]
    apart = bp.apart(at_most=size * float(rng.uniform(0.1, 3.0)))
    chosen = apart if rng.random() < 0.4 else bp.intervals(between)
    asked = [str(name) for name in rng.permutation(names)[: int(rng.integers(1, 4))]]
    weights = {name: float(rng.choice(WEIGHTS)) for name in asked}
    query = [
        bp.mean(asked[0]),
        bp.total(asked[0]),
        bp.linear(weights),
        bp.stack(*map(bp.mean, asked)),
        bp.count(bp.col(asked[0]) > at),
    ][int(rng.integers(5))]
    delta = float(rng.choice([0.0, 1e-9, 1e-3, 0.05]))
    pool = [bp.TightMechanism(large_delta=True), bp.WassersteinMechanism(large_delta=True)]
    if level == "parameters":
        pool.append(bp.MarkovQuiltMechanism(large_delta=True))
        laws = {name: stats.norm(0, float(unit * rng.uniform(0.1, 3))) for name, unit in zip(names, units, strict=True)}
        framework = bp.DistributionalAttributePrivacy(drawn, schema, {protected: chosen}, source="a draw", laws=laws)
    else:
        secret = bp.Secret(bp.mean(protected), pairs=chosen)
        framework = bp.DatasetAttributePrivacy(drawn, schema, {protected: secret}, source="a draw")
    return Case(framework, query, pool[int(rng.integers(len(pool)))], float(rng.uniform(0.1, 5.0)), delta)


def case(rng: np.random.Generator) -> Case:
    """Draw a framework of any notion, a query and a mechanism."""
    if rng.random() < SHARE_NORMAL:
        return [normal_case, normal_case, normal_pair, interval_case][int(rng.integers(4))](rng)
    notion = str(rng.choice(NOTIONS, p=[0.4, 0.25, 0.2, 0.15]))
    names = ["u", "v", "w", "x"][: int(rng.integers(2, 5))]
    shape = str(rng.choice(list(SHAPES), p=list(SHAPES.values())))
    columns, states = {}, {}
    for name in names:
        columns[name], states[name] = column(rng, int(rng.integers(2, 4)))
        if shape == "copies":
            columns[name], states[name] = bp.Integer(0, 1), ["0", "1"]
        if notion == "parameters":
            chance, size = rng.random(), 3 if rng.random() < 0.9 else 100
            columns[name] = bp.Integer(0, 1) if chance < 0.5 else bp.Categorical([f"c{k}" for k in range(size)])
            columns[name] = bp.Integer(*wide(rng)) if chance < 0.2 else columns[name]
            states[name] = [f"s{k}" for k in range(len(states[name]))]
    records = 9 if shape == "copies" and rng.random() < 0.5 else int(rng.choice(RECORDS))
    records = int(rng.choice(MANY_RECORDS)) if notion == "parameters" and rng.random() < 0.2 else records
    if notion == "value" and shape == "random" and rng.random() < 0.1:
        columns["u"], states["u"] = column(rng, int(rng.integers(100, 140)))
    schema = bp.Schema(records=records, columns=columns)
    models = int(rng.choice([1, 1, 2])) if notion != "distribution" else 1
    level = "parameters" if notion == "parameters" else "records"
    model = network(rng, states, level, models, shape)
    protected = [str(name) for name in rng.permutation(names)[: int(rng.choice([1, 1, 2]))]]
    asked = query(rng, columns, names)
    source = "a random draw"
    if notion == "parameters":
        protect = {name: chosen_pairs(rng, states[name]) for name in protected}
        laws = {name: laws_of(rng, columns[name], states[name]) for name in names}
        framework = bp.DistributionalAttributePrivacy(model, schema, protect, source=source, laws=laws)
    elif notion == "value":
        protect = {name: chosen_pairs(rng, states[name]) for name in protected}
        framework = bp.ValuePrivacy(model, schema, protect, source=source)
    elif notion == "dataset":
        framework = bp.DatasetAttributePrivacy(
            model, schema, {n: secret(rng, n, columns[n]) for n in protected}, source=source
        )
    elif rng.random() < 0.5:
        other = network(rng, states, level, 1, shape)
        framework = bp.DistributionPrivacy([(model, other)], schema=schema, source=source)
    elif rng.random() < 0.5:
        framework, asked = bp.DistributionPrivacy([(atoms(rng), atoms(rng))], source=source), None
    else:
        notion, asked = "normal", None
        framework = bp.DistributionPrivacy(normals(rng), source=source)
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0, 5.0])) * float(rng.uniform(0.9, 1.1))
    delta = float(rng.choice([0.0, 0.0, 1e-9, 1e-3, 0.05, 0.3]))
    return Case(framework, asked, mechanism(rng, notion), epsilon, delta)


def chain_case(rng: np.random.Generator) -> Case:
    """Draw a Markov chain with hostile transitions, a query of its column and a mechanism."""
    size = int(rng.choice([1, 2, 2, 3, 3, 4, 6]))
    declared, names = column(rng, max(2, size))
    states = [name if isinstance(declared, bp.Categorical) else float(name) for name in names][:size]
    size = len(states)
    models, start = int(rng.choice([1, 1, 2])), str(rng.choice(["given", "stationary", "any"]))
    kept = float(rng.choice([0.0, 0.0, 0.9, 0.99]))
    rows = np.array([[row(rng, size) for _ in states] for _ in range(models)])
    rows = kept * np.eye(size) + (1 - kept) * rows if rng.random() < 0.8 else np.eye(size)[:, rng.permutation(size)]
    initial = np.array([row(rng, size) for _ in range(int(rng.choice([1, models])))]) if start == "given" else start
    lengths = [int(n) for n in rng.choice([1, 2, 3, 5, 8, 12, 40], size=int(rng.choice([1, 1, 2])))]
    lengths = [int(rng.choice([300, 3000, 25_000]))] if rng.random() < 0.3 else lengths
    chain = bp.types.MarkovChain(rows, initial, lengths, states=states)
    schema = bp.Schema(records=sum(lengths), columns={"u": declared})
    framework = bp.ValuePrivacy(chain, schema, "u", source="a random draw")
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0, 5.0])) * float(rng.uniform(0.9, 1.1))
    pool = [bp.mechanisms.MarkovChainMechanism(influence=how) for how in ("exact", "exact", "spectral", "published")]
    pool += [bp.mechanisms.RecordPrivacyMechanism(), bp.mechanisms.GroupPrivacyMechanism(size=3)]
    return Case(framework, query(rng, schema.columns, ["u"]), pool[int(rng.integers(len(pool)))], epsilon, 0.0)


def secret(rng: np.random.Generator, name: str, declared: bp.Real | bp.Integer | bp.Categorical) -> bp.Secret:
    """Draw a property of a column and which of its values must not be told apart."""
    if isinstance(declared, bp.Integer) and rng.random() < 0.2:
        return bp.Secret(bp.total(name))
    hidden = bp.count(condition(rng, name, declared))
    chance = rng.random()
    if chance < 0.4:
        return bp.Secret(hidden)
    return bp.Secret(hidden, pairs=bp.apart(at_most=int(rng.integers(1, 4))) if chance < 0.7 else bp.pairs((1, 0)))


def interval_case(rng: np.random.Generator) -> Case:
    """Draw a network of tables between ends: around a network, or with some rows about which nothing is known."""
    names = ["u", "v", "w", "x"][: int(rng.integers(2, 5))]
    states = {name: [f"s{k}" for k in range(int(rng.integers(2, 4)))] for name in names}
    inner = network(rng, states, "parameters", int(rng.choice([1, 1, 2])), "random")
    around = bp.networks.IntervalNetwork.around(inner, float(rng.choice([0.0, 1e-3, 0.02, 0.2])))
    columns = {name: column(rng, int(rng.integers(2, 4)))[0] for name in names}
    schema, protected = bp.Schema(records=int(rng.choice(RECORDS)), columns=columns), str(rng.choice(names))
    protect = {protected: chosen_pairs(rng, states[protected])}
    framework = bp.DistributionalAttributePrivacy(around, schema, protect, source="a random draw")
    return Case(framework, query(rng, columns, names), bp.MarkovQuiltMechanism(), float(rng.uniform(0.1, 5.0)), 0.0)


def normal_pair(rng: np.random.Generator) -> Case:
    """Draw two normal laws of an answer."""
    size, unit = int(rng.choice([1, 1, 2, 3])), 10.0 ** float(rng.integers(-3, 4))
    root = unit * rng.normal(size=(size, size + 1))
    first, second = (Normal(unit * rng.normal(size=size), root @ root.T * rng.choice([1, 1, 4])) for _ in range(2))
    framework = bp.DistributionPrivacy([(first, second)], source="a draw")
    pool = [bp.TightMechanism(large_delta=True), bp.WassersteinMechanism(large_delta=True)]
    delta = float(rng.choice([0.0, 1e-9, 1e-3, 0.05, 0.4]))
    return Case(framework, None, pool[int(rng.integers(2))], float(rng.uniform(0.1, 5.0)), delta)


def atoms(rng: np.random.Generator) -> Atoms:
    """Draw a law of an answer: whole numbers, or doubles that are neighbours."""
    size = int(rng.integers(2, 6))
    points = rng.permutation(8)[:size].astype(float)
    return Atoms(points if rng.random() < 0.6 else 0.3 + points * 2.0**-54, row(rng, size))


def normals(rng: np.random.Generator) -> list[tuple[Normal, Normal]]:
    """Draw pairs of normal laws of one covariance, or of one direction; sometimes of two variances."""
    size, found, direction = int(rng.choice([1, 1, 2, 3])), [], rng.normal(size=3)
    shared = bool(rng.random() < 0.6)
    root = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-2, 2)
    for _ in range(int(rng.choice([1, 1, 2]))):
        root = root if shared else rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-2, 2)
        covariance = root @ root.T + 1e-6 * np.trace(root @ root.T) * np.eye(size)
        covariance = (covariance + covariance.T) / 2
        gap = (direction[:size] if shared else rng.normal(size=size)) * 10.0 ** rng.uniform(-2, 2)
        mean = np.round(rng.normal(size=size) * float(rng.choice([1, 2.0**40])))
        other = covariance * float(rng.uniform(0.9, 1.1)) if size == 1 and rng.random() < 0.2 else covariance
        found.append((Normal(mean, covariance), Normal(mean + gap, other)))
    return found


def mechanism(rng: np.random.Generator, notion: str) -> bp.types.Mechanism:
    """Draw a mechanism that may suit the notion."""
    if notion == "normal":
        noise = str(rng.choice(["laplace", "gaussian"]))
        names = ["OptimalGaussian", "Eigenvector", "DirectionalUncertainty", "AttributeGaussian"]
        relaxed = {"relaxation": float(rng.choice([0.01, 0.1]))} if rng.random() < 0.3 else {}
        known = [getattr(bp.mechanisms, f"{each}Mechanism")(large_delta=True, **relaxed) for each in names]
        known.append(bp.mechanisms.ExpectedValueMechanism(noise=noise, large_delta=True))
        known += [each(noise=noise, large_delta=True) for each in (bp.TightMechanism, bp.WassersteinMechanism)]
        return known[int(rng.integers(len(known)))]
    if rng.random() < 0.3:
        normal = {"noise": "gaussian", "large_delta": True}
        structural = [bp.MarkovQuiltMechanism(**normal), bp.ColumnMechanism(**normal)]
        pool = [bp.TightMechanism(**normal), bp.WassersteinMechanism(**normal), *structural]
        pool = structural if notion == "value" else pool if notion == "parameters" else [*pool[:2], structural[1]]
        return pool[int(rng.integers(len(pool)))]
    structural = [
        bp.MarkovQuiltMechanism(common_quilt=bool(rng.random() < 0.3), large_delta=True),
        bp.ColumnMechanism(),
    ]
    by_laws = [
        bp.TightMechanism(large_delta=True),
        bp.TightMechanism(noise="discrete_laplace", large_delta=True),
        bp.WassersteinMechanism(large_delta=True),
    ]
    pool = {"parameters": structural + by_laws, "value": structural}.get(notion, [*by_laws, *structural[1:]])
    return pool[int(rng.integers(len(pool)))]


MAKERS = (*[case] * 7, chain_case, normal_case, interval_case, normal_pair)
"""What draws cases, in turn."""


def asked_by(*seed: int) -> Case:
    """Return the question that a seed stands for."""
    return MAKERS[seed[-1] % len(MAKERS)](np.random.default_rng(seed))


def calibrated(*seed: int, instead: bp.types.Mechanism | None = None) -> bp.types.Calibration | None:
    """Return a random calibration, by another mechanism if one is given; None where the library refuses."""
    try:
        asked = asked_by(*seed)
        return (instead or asked.mechanism).calibrate(
            asked.framework, asked.query, epsilon=asked.epsilon, delta=asked.delta
        )
    except bp.BnprivError:
        return None


def lowered(text: str, share: float) -> str:
    """Return the JSON of a calibration with a share of its noise."""
    record = json.loads(text)
    noise = record["noise"]
    scale = share * float.fromhex(noise["exact_scale"])
    noise.update(scale=scale, exact_scale=scale.hex())
    if "covariance" in noise:
        noise["covariance"] = [[share * share * x for x in row] for row in noise["covariance"]]
        noise["dithers"] = [share * x for x in noise["dithers"]]
    return json.dumps(record)


def replay(
    seed: int, number: int, instead: bp.types.Mechanism | None = None, share: float | None = None
) -> tuple[collections.Counter[str], list[str], float]:
    """Replay calibrations; return how many of each verdict, what does not hold in words, and the checker's seconds.

    With a share, what comes out of a calibration that holds with that share of its noise is counted by its mechanism.
    """
    found, told, spent, k = collections.Counter[str](), [], 0.0, 0
    while sum(found[status] for status in STATUSES) < number:
        k += 1
        try:
            calibration = calibrated(seed, k, instead=instead)
        except Exception as broken:  # an error that is not the library's own is a finding, not the end of the replay
            found["crashes"] += 1
            told.append(f"calibrated({seed}, {k}): crashes: {broken!r}")
            continue
        if calibration is None:
            continue
        text, started = calibration.to_json(), time.perf_counter()
        verdict = bp.verify(text)
        spent += time.perf_counter() - started
        found[verdict.status] += 1
        if share is not None and verdict.status == "holds" and calibration.scale > 0 and '"channel"' not in text:
            found[f"{type(calibration.mechanism).__name__}: {bp.verify(lowered(text, share)).status}"] += 1
        if verdict.status != "holds":
            told.append(f"calibrated({seed}, {k}): {calibration!r}: {verdict.status}: {verdict.text}")
    return found, told, spent


def shipped() -> tuple[collections.Counter[str], list[str]]:
    """Replay the queries of every shipped example against its framework file; return the verdicts and what fails."""
    found, told = collections.Counter[str](), []
    for name in examples():
        if names_pymc(example_path(name)):
            continue  # laws that are learned from draws have nothing to be replayed
        framework, path = bp.example(name), example_path(name)
        for asked in bp.read_queries(path).values():
            for each in (
                bp.MarkovQuiltMechanism(),
                bp.ColumnMechanism(),
                bp.TightMechanism(),
                bp.WassersteinMechanism(),
            ):
                by_laws = isinstance(each, (bp.TightMechanism, bp.WassersteinMechanism))
                if by_laws != isinstance(framework, bp.DatasetAttributePrivacy) and not isinstance(
                    each, bp.ColumnMechanism
                ):
                    continue
                if each.supports(framework, asked, epsilon=1.0) is None:
                    calibration = each.calibrate(framework, asked, epsilon=1.0)
                    verdict = bp.verify(calibration.to_json(), path)
                    found[verdict.status] += 1
                    told += [f"{name}: {calibration!r}: {verdict.text}"] if verdict.status in STATUSES[1:3] else []
    return found, told


def main() -> int:
    """Replay on all processes, print what came out, and return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int, nargs="?", default=5000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--share", type=float, help="of the noise, with which each is replayed once more")
    parser.add_argument("--mechanism", help="the only one, by its name in bp.mechanisms, such as OptimalMechanism")
    options = parser.parse_args()
    started, each = time.perf_counter(), 50
    instead = getattr(bp.mechanisms, options.mechanism)() if options.mechanism else None
    jobs = [(options.seed + k, each, instead, options.share) for k in range(-(-options.number // each))]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.starmap(replay, jobs)
    total = sum((found for found, _, _ in results), collections.Counter[str]())
    for status in STATUSES[1:]:
        for line in [line for _, lines, _ in results for line in lines if f": {status}: " in line][:MOST_SHOWN]:
            print(line, file=sys.stderr)
    number = sum(total[status] for status in STATUSES)
    shares = ", ".join(f"{100 * total[k] / number:.2f} % {k}" for k in STATUSES[:-1])
    seconds, checking = time.perf_counter() - started, sum(spent for _, _, spent in results)
    print(f"{number:,} calibrations replayed in {seconds:.0f} s ({checking:.0f} s of them the checker's): {shares}")
    for what in sorted(total.keys() - set(STATUSES)):
        print(f"with {options.share:g} of the noise, {what}: {total[what]:,}")
    examples, told = shipped()
    print(f"shipped examples, against their files: {dict(examples)}", *told, sep="\n")
    wrong = ("fails", "cannot be shown", "crashes")
    return int(sum(total[status] + examples[status] for status in wrong) > 0)


if __name__ == "__main__":
    sys.exit(main())
