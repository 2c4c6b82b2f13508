"""Laws that do not depend on epsilon are worked out once for a framework, and change no number."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import Refusal
from bnpriv.evidence import constraints, laws
from bnpriv.mechanisms import departures, k_fold

EPSILONS = (0.3, 1.0, 3.0)


def framework(models: int = 3, records: int = 3000, at_most: int = 7) -> bp.DatasetAttributePrivacy:
    """Return several models of a bit that follows a secret: too many pairs for exact laws of the answer."""
    chances = [[0.35, 0.55 + 0.01 * k] for k in range(models)]
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.6, 0.4], "a": np.array([[[1 - low, 1 - high], [low, high]] for low, high in chances])},
        states={"s": ["0", "1"], "a": ["0", "1"]},
        parents={"a": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={name: bp.Integer(0, 1) for name in "sa"})
    secret = {"s": bp.Secret(bp.count(bp.col("s") == 1), pairs=bp.apart(at_most=at_most))}
    return bp.DatasetAttributePrivacy(network, schema, secret, source="a test")


def test_sums_and_their_distances_are_worked_out_once_for_all_epsilons(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"sums": 0, "distances": 0}
    summed, bounds = constraints.summed, departures.w_infinity_bounds
    monkeypatch.setattr(constraints, "summed", lambda *parts: (made.update(sums=made["sums"] + 1), summed(*parts))[1])
    monkeypatch.setattr(
        departures,
        "w_infinity_bounds",
        lambda *laws: (made.update(distances=made["distances"] + 1), bounds(*laws))[1],
    )
    declared, query = framework(), bp.count(bp.col("a") == 1)
    found = [bp.WassersteinMechanism().calibrate(declared, query, epsilon=epsilon) for epsilon in EPSILONS]
    assert made == {"sums": 3 * 7 * 2, "distances": 3 * 7}
    for epsilon, kept in zip(EPSILONS, found, strict=True):
        assert bp.WassersteinMechanism().calibrate(framework(), query, epsilon=epsilon).to_json() == kept.to_json()


@pytest.mark.parametrize(("at_most", "few"), [(7, True), (360, True), (361, False)])
def test_the_largest_sum_alone_tells_that_all_of_them_are_few(
    at_most: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    bound = k_fold.sums_bound
    monkeypatch.setattr(k_fold, "sums_bound", lambda laws, draws: (asked.append(draws), bound(laws, draws))[1])
    evidence = laws(framework(1, at_most=at_most), bp.count(bp.col("a") == 1))
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    assert constraint.record is not None
    assert (k_fold.sums_of_records(constraint.record, 0.0) is not None) == few
    assert few == (sum(range(2, at_most + 2)) <= k_fold.MOST_SUMS)
    assert (len(asked) == 1) == (at_most == 7)
