"""What one record adds to an answer, summed over several records and scaled."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence import dataset as counts
from bnpriv.core.evidence.constraints import RecordPair
from bnpriv.core.evidence.laws import laws
from bnpriv.errors import Refusal


def record_of(query: bp.types.Query, pairs: object = None, records: int = 12) -> RecordPair:
    """Return the record pair of a secret that halves the chance of a bit."""
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.6, 0.4], "a": np.array([[0.65, 0.45], [0.35, 0.55]])},
        states={"s": ["0", "1"], "a": ["0", "1"]},
        parents={"a": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={name: bp.Integer(0, 1) for name in "sa"})
    secret = {"s": bp.Secret(bp.count(bp.col("s") == 1), pairs=pairs)}
    evidence = laws(bp.DatasetAttributePrivacy(network, schema, secret, source="a fixture"), query)
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    assert constraint.record is not None
    return constraint.record


def test_sums_of_records_are_binomial() -> None:
    record = record_of(bp.count(bp.col("a") == 1)).sums(5)
    for law, p in ((record.first, 0.55), (record.second, 0.35)):
        expected = bp.laws.Atoms.binomial(5, p)
        assert np.array_equal(law.support, expected.support)
        assert law.logs == pytest.approx(expected.logs, rel=1e-12)
    assert record.distinct
    assert record.distance == 1


def test_distances_are_those_between_the_secrets() -> None:
    query = bp.count(bp.col("a") == 1)
    assert list(record_of(query).distances) == list(range(1, 13))
    assert list(record_of(query, bp.apart(at_most=3)).distances) == [1, 2, 3]
    assert list(record_of(query, bp.pairs((2, 7), (4, 6))).distances) == [2, 5]
    sets = bp.pairs((frozenset({0, 1}), frozenset({4, 9})))
    assert list(record_of(query, sets).distances) == [3, 4, 8, 9]


def test_many_distances_are_all_up_to_the_largest(monkeypatch) -> None:
    monkeypatch.setattr(counts, "MOST_GAPS", 3)
    sets = bp.pairs((frozenset({0, 1}), frozenset({4, 9})))
    assert list(record_of(bp.count(bp.col("a") == 1), sets).distances) == list(range(1, 10))


@pytest.mark.parametrize("exponents", [(3, -2), (0, 0), (-70, 70)])
def test_scaling_by_powers_of_two_is_exact(exponents: tuple[int, int]) -> None:
    record = record_of(bp.stack(bp.mean("a"), bp.count(bp.col("a") == 1)))
    scaled = record.scaled(exponents)
    factors = 2.0 ** np.array(exponents)
    assert scaled.distinct == record.distinct
    for before, after in ((record.first, scaled.first), (record.sums(7).second, scaled.sums(7).second)):
        assert np.array_equal(before.points * factors, after.points)
        assert np.array_equal(before.logs, after.logs)
