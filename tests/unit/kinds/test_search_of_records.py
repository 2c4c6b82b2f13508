"""The search for the largest log ratio of one swapped record: what is dropped, what is split, and that it ends."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.total import Entry
from bnpriv.kinds import swapped_records
from bnpriv.kinds.swapped_records import LawPairs, RatioSearch


def laws_of(
    rng: np.random.Generator, atoms: int, steps: list[np.ndarray], pairs: int, *, sparse: bool = False
) -> LawPairs:
    """Return random laws on random values of some numbers, each of which is somewhere."""
    places = np.stack([rng.integers(0, len(each) + 1, atoms) for each in steps], axis=1)
    for column, each in zip(places.T, steps, strict=True):
        column[: len(each) + 1] = np.arange(len(each) + 1)
    shares = [rng.dirichlet(np.full(atoms, 0.3 if sparse else 1.0), pairs).T + 1e-12 for _ in range(2)]
    above, below = (np.log(each / each.sum(axis=0)) for each in shares)
    nothing, nowhere = np.zeros(pairs), np.zeros((atoms, pairs), dtype=np.bool_)
    return LawPairs(
        places=places,
        steps=steps,
        above=above,
        below=below,
        bare=np.zeros(atoms, dtype=np.int64),
        ends=(nothing, nothing),
        possible=(nowhere, nowhere),
        bands=np.zeros(atoms, dtype=np.int64),
    )


def on_the_grid(laws: LawPairs) -> float:
    """Return the largest log ratio of all grid points and pairs."""
    values, best = [np.append(0.0, np.cumsum(each)) for each in laws.steps], 0.0
    for point in itertools.product(*values):
        away = sum(abs(u - own[at]) for u, own, at in zip(point, values, laws.places.T, strict=True))
        sums = [np.log(np.exp(side - np.reshape(away, (-1, 1))).sum(axis=0)) for side in (laws.above, laws.below)]
        best = max(best, float(np.max(sums[0] - sums[1])))
    return best


@pytest.mark.parametrize("seed", range(30))
def test_of_many_pairs_no_box_of_one_point_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swapped_records, "MOST_CLIMBS", 1)
    rng = np.random.default_rng([29, seed])
    laws = laws_of(rng, 25, [rng.exponential(3, 4) for _ in range(2)], 20, sparse=True)
    found, truth = RatioSearch(laws, together=True).largest().bound.max(), on_the_grid(laws)
    assert truth - 1e-12 <= found <= truth + 1e-9


@pytest.mark.parametrize("rate", [1e8, 3e8, 1e12, 1e200])
def test_rates_far_apart_are_searched_to_an_end(rate: float) -> None:
    for seed in range(50):
        laws = laws_of(np.random.default_rng(seed), 12, [np.full(2, rate), np.full(4, 1 / rate)], 1)
        assert RatioSearch(laws, together=False).largest().bound[0] < math.inf


LOW_AND_HIGH = {"low": {0: 0.5, 1: 0.5}, "high": {2: 0.5, 3: 0.5}}
JOINT = {
    (x, a, b): 0.125 * (0.9 if a == (x > 1) else 0.1) * (0.9 if b == (x > 1) else 0.1) * 2
    for x, a, b in itertools.product(range(4), range(2), range(2))
}


def entry(text: str, scale: float) -> Entry:
    query = bp.parse_query(text)
    return Entry(
        mechanism="a test",
        text=str(query),
        columns=query.columns,
        noise="laplace",
        scale=scale,
        moved=math.inf,
        family="records",
        epsilon=Fraction(0),
        delta=Fraction(0),
        kind="exact",
    )


@pytest.mark.parametrize(
    ("hidden", "inside", "texts", "asked"),
    [
        # the class cuts a state
        (
            "count(x >= 3)",
            lambda x: x == 3,
            ('count(a == "y")', 'count(b == "y")'),
            (lambda x, a, b: a, lambda x, a, b: b),
        ),
        # the queries cut it
        (
            "count(x >= 2)",
            lambda x: x >= 2,
            ('count(x in [1, 2] & a == "y")', "count(x in [0, 2])"),
            (lambda x, a, b: (x in (1, 2)) * a, lambda x, a, b: x in (0, 2)),
        ),
    ],
)
def test_columns_that_are_independent_given_a_state_are_counted_together_where_a_class_is_none(
    hidden: str, inside: object, texts: tuple[str, ...], asked: tuple[object, ...]
) -> None:
    states = {"x": ["low", "high"], "a": ["n", "y"], "b": ["n", "y"]}
    tables = {"x": [0.5, 0.5], "a": [[0.9, 0.1], [0.1, 0.9]], "b": [[0.9, 0.1], [0.1, 0.9]]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"a": ["x"], "b": ["x"]}, level="records")
    columns = {"x": bp.Integer(0, 3), "a": bp.Categorical(["n", "y"]), "b": bp.Categorical(["n", "y"])}
    secret = bp.Secret(bp.parse_query(hidden), pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(
        network, bp.Schema(records=10, columns=columns), {"x": secret}, source="a test", laws={"x": LOW_AND_HIGH}
    )
    counted = swapped_records.swapped_records(framework).total([entry(text, 0.5) for text in texts])
    truth = 0.0
    for corner in itertools.product((0, 1), repeat=2):
        sums = [0.0, 0.0, 0.0, 0.0]
        for record, mass in JOINT.items():
            weight = math.exp(-sum(abs(u - ask(*record)) / 0.5 for u, ask in zip(corner, asked, strict=True)))
            side = 2 * bool(inside(record[0]))
            sums[side] += mass
            sums[side + 1] += mass * weight
        truth = max(truth, abs(math.log(sums[3] / sums[2]) - math.log(sums[1] / sums[0])))
    assert truth - 1e-12 <= float(counted.epsilon) <= truth + 1e-9


def test_a_large_epsilon_of_another_tool_counts_in_full() -> None:
    """Beside a query, and where the class is nearly never seen: log(1 + tau (exp(epsilon) - 1)) is at least 54."""
    rare = 1e-150
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5], "a": [[1, 1 - rare], [0, rare]]},
        states={"u": ["n", "y"], "a": ["n", "y"]},
        parents={"a": ["u"]},
        level="records",
    )
    yes = bp.Categorical(["n", "y"])
    secret = bp.Secret('count(u == "y")', pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(
        network, bp.Schema(records=9, columns={"u": yes, "a": yes}), {"u": secret}, source="a test"
    )
    other = bp.from_differential_privacy(400.0, columns=["a"]).entry_for(framework)
    found = swapped_records.swapped_records(framework).total([other, entry('count(a == "y")', 1.0)])
    assert float(found.epsilon) >= 54.6
