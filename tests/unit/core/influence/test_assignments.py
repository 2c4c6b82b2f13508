"""What thinning out assignments leaves: a cone around every table (docs/claims/max_influence.md, statement 7)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import bnpriv.core.influence.largest_ratio as assignments_module
from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.core.influence.largest_ratio import LEAST_WIDTH, Assignments, extreme_rays, merged, most_telling
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable
from tests.seeds import seeds


def assignments(logs, *, slack: float = 0.0, error: float = 0.0) -> Assignments:
    values = np.array(logs, dtype=float)
    table = LogTable(axes=("s",), values=values, error=error)
    return Assignments(table=table, chosen=np.arange(len(values), dtype=np.int32)[:, np.newaxis], slack=slack)


def lies_within(row, kept, apart: float) -> bool:
    """Return whether a row of logs is, up to factors of exp(apart), a sum of positive multiples of kept rows."""
    finite = np.isfinite(row)
    useful = kept[np.isneginf(kept[:, ~finite]).all(axis=1)]
    if not len(useful):
        return False
    with np.errstate(over="ignore"):
        odds = np.exp(useful[:, finite] - useful.max(axis=1, keepdims=True))
    odds = odds * np.exp(-(row[finite] - row.max()))  # the row itself is 1 everywhere
    found = linprog(
        np.zeros(len(odds)),
        A_ub=np.concatenate([odds.T, -odds.T]),
        b_ub=np.concatenate([np.full(finite.sum(), math.exp(apart)), np.full(finite.sum(), -math.exp(-apart))]),
        method="highs",
    )
    return found.status == 0


def random_logs(rng: np.random.Generator, rows: int, cells: int):
    logs = np.log(rng.dirichlet(np.full(cells, rng.choice([0.5, 3.0])), size=rows))
    if rng.random() < 0.4:
        logs[rng.random(logs.shape) < 0.2] = -np.inf
    if rng.random() < 0.5:  # on edges, and multiples of others
        logs[rows // 2] = logs[0] - 1.5
        logs[rows // 2 + 1] = np.logaddexp(logs[1], logs[2])
    return logs - rng.uniform(0, 30, (rows, 1))


@pytest.mark.parametrize("seed", seeds(1, slow=3))
@pytest.mark.parametrize("most", [2**18, 6])
@pytest.mark.parametrize("cells", [2, 3, 4, 5])
def test_every_table_lies_in_the_cone_of_those_kept(cells: int, most: int, seed: int) -> None:
    rng = np.random.default_rng([100 * cells + most % 7, seed])
    fewer = 0
    for _ in range(4):
        logs = random_logs(rng, 25, cells)
        given = assignments(logs, slack=0.125, error=2.0**-40)
        left = given.thinned(most)
        apart = left.table.error - given.table.error + (left.slack - given.slack) / 2
        assert left.slack >= given.slack
        assert left.table.error >= given.table.error
        assert np.array_equal(left.table.values, logs[left.chosen[:, 0]], equal_nan=True)
        fewer += left.count < len(logs)
        for row in logs[(logs > -np.inf).any(axis=1)]:
            assert lies_within(row, left.table.values, apart + 1e-6)
    assert fewer > 1 or cells == 5


def test_of_multiples_of_one_table_one_is_kept() -> None:
    left = assignments([[-np.inf], [-3.0], [-1.0]]).thinned(9)
    assert left.table.values.tolist() == [[-3.0]]
    assert assignments([[-np.inf, -np.inf]]).thinned(9).count == 0


def test_both_ends_of_the_odds_are_kept_with_their_rounding() -> None:
    left = assignments([[-5.0, -1.0], [-2.0, -2.5], [-1e3, -0.1], [-0.7, -3.0]]).thinned(9)
    assert sorted(left.chosen[:, 0].tolist()) == [2, 3]
    assert left.table.error >= 4 * UNIT_ROUNDOFF * 999
    one_sided = assignments([[-5.0, -np.inf], [-2.0, -2.5], [-np.inf, -0.1]]).thinned(9)
    assert sorted(one_sided.chosen[:, 0].tolist()) == [0, 2]


def test_tables_that_merge_add_what_they_differ_by() -> None:
    apart = LEAST_WIDTH / 8
    same = [[0.0, -1.0 - k * apart, -2.0, -0.5, -0.25] for k in range(3)]
    others = [[0.0, *(-float(k + j) for j in range(4))] for k in range(7)]
    left = assignments([*same, *others]).thinned(99)
    assert left.count == 8
    assert left.table.error >= 2 * apart
    assert left.table.error <= 2.0**-41
    assert left.slack == 0


def test_wide_merges_count_on_both_sides() -> None:
    rows = [[0.0, -1.0, -2.0, -3.0, -k / 2**14] for k in range(9)]
    left = assignments(rows, slack=0.25).thinned(1)
    assert left.count == 1
    spread = np.abs(np.array(rows) - left.table.values).max()
    assert spread > 0
    assert left.slack >= 0.25 + 2 * spread


def test_impossible_cells_merge_with_none_else() -> None:
    rows, spread = merged(np.array([[0.0, -np.inf], [0.0, -1e300], [0.0, -700.0]]), 2.0**6)
    assert rows.tolist() == [0, 1, 2]
    assert spread == 0


TRIANGLE = np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])


def test_a_hull_adds_its_rounding() -> None:
    kept, gap = extreme_rays(TRIANGLE)
    assert kept.tolist() == [0, 1, 2]
    assert gap >= 32 * UNIT_ROUNDOFF
    many = np.concatenate([TRIANGLE, TRIANGLE[:1] + np.array([[-0.4, 0.1, 0.2]])])
    left = assignments(many - many.max(axis=1, keepdims=True)).thinned(99)
    assert 3 not in left.chosen
    assert left.table.error >= 32 * UNIT_ROUNDOFF


@pytest.mark.parametrize("share", [0.001, 1e-5, 1e-9, 0.0])
def test_a_false_proposal_of_the_hull_is_not_believed(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside the triangle, by little or by much: no positive multiples sum to it."""
    outside = np.log([0.1, 0.1 - share, 0.8 + share] if share else [0.05, 0.05, 0.9])
    logs = np.concatenate([TRIANGLE[:3], [outside]])

    def proposal(points):
        return np.array([3]), np.array([[0, 1, 2]])

    monkeypatch.setattr(assignments_module, "_simplices", proposal)
    assert extreme_rays(logs)[0].tolist() == [0, 1, 2, 3]


def test_shares_among_the_least_doubles_keep_their_table() -> None:
    """A corner's share of exp(-746) is 0 as a double; the sum of others may then seem to be right."""
    logs = np.array([[0.0, -800.0, -1.0], [0.0, -800.0, -3.0], [-3.0, -800.0, 0.0], [0.0, -660.0, -0.5]])
    assert 3 in extreme_rays(logs)[0]
    with_few_digits = -739.985, -739.988  # the same double after exp
    assert math.exp(with_few_digits[0]) == math.exp(with_few_digits[1])
    on_an_edge = np.log([[0.9, 0.1, 1.0], [0.1, 0.9, 1.0], [0.3, 0.3, 0.4], [0.5, 0.5, 1.0]])
    on_an_edge[[0, 1, 3], 2] = [with_few_digits[0], with_few_digits[0], with_few_digits[1]]
    assert 3 in extreme_rays(on_an_edge)[0]


def test_slack_and_errors_add_over_products() -> None:
    one = assignments([[0.0, -1.0], [-1.0, 0.0]], slack=0.5, error=0.25)
    other = assignments([[0.0, -2.0], [-2.0, 0.0]], slack=0.125, error=0.0625)
    both = one.times(other)
    assert both.count == 4
    assert both.slack == 0.625
    assert both.table.error >= 0.3125
    left = both.thinned(99)
    assert left.slack >= 0.625
    assert left.table.error > both.table.error


def grid(side: int) -> DiscreteNetwork:
    """Return a network in which every attribute hangs on the one above and the one to the left."""
    names = [[f"x{i:02}_{j:02}" for j in range(side)] for i in range(side)]
    parents = {
        names[i][j]: [names[i - 1][j]] * (i > 0) + [names[i][j - 1]] * (j > 0) for i in range(side) for j in range(side)
    }
    shares = [[0.6, 0.4], [[0.6, 0.3], [0.4, 0.7]], [[[0.6, 0.3], [0.5, 0.2]], [[0.4, 0.7], [0.5, 0.8]]]]
    return DiscreteNetwork.from_tables(
        {name: shares[len(above)] for name, above in parents.items()},
        states={name: ["low", "high"] for name in parents},
        parents={name: above for name, above in parents.items() if above},
    )


def test_row_45_a_large_grid_is_ordered_in_few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, costs, side = 0, assignments_module._cost, 9

    def counted(pool, name, sizes):
        nonlocal looks
        looks += len(pool)
        return costs(pool, name, sizes)

    monkeypatch.setattr(assignments_module, "_cost", counted)
    names = grid(side).attributes
    found, _ = most_telling(grid(side), names[0], names[-1:], 0, {}, 2**26)
    assert looks < 3 * len(names) ** 2  # once every one at every one, and then only those that a step changes
    assert found.chosen.tolist() == [[0], [1]]
    assert np.exp(found.table.values).sum() == pytest.approx(1.0)


def test_the_smallest_table_is_always_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    network, without, order = grid(6), Assignments.without, []
    monkeypatch.setattr(Assignments, "without", lambda each, name: [order.append(name), without(each, name)][1])
    *others, last = network.attributes
    most_telling(network, last, (), 0, {}, 2**22)
    scopes = [frozenset(table.axes) for table in network.tables.values()]
    for name in order:
        unions = {each: frozenset().union(*(scope for scope in scopes if each in scope)) for each in others}
        assert name == min(others, key=lambda each: (len(unions[each]), each))
        others.remove(name)
        scopes = [scope for scope in scopes if name not in scope] + [unions[name] - {name}]
    assert not others
