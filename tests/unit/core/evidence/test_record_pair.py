"""What one record adds to an answer, summed over several records and scaled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence import laws as counts
from bnpriv.core.evidence.constraints import RecordPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.evidence.records import released
from bnpriv.core.queries.base import NormalForm, normal_form
from bnpriv.core.whole_numbers import WholeLaw, summed
from bnpriv.errors import Refusal
from bnpriv.kinds.pairs_of_laws import MOST_DRAWS_IN_DOUBLES, laws_by_count


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


def coin(log_p: float, log_q: float, values: tuple[int, ...] = (0, 1)) -> WholeLaw:
    """Return a law of two values from the logs of both probabilities, the second one first."""
    return WholeLaw(columns=(np.array(values),), logs=np.array([log_q, log_p]), error=1e-15)


def form_of(query: bp.types.Query, records: int) -> NormalForm:
    """Return a query of a bit in normal form."""
    return normal_form(query, bp.Schema(records=records, columns={"a": bp.Integer(0, 1)}))


@pytest.mark.parametrize("records", [1, 2, 7, 40, 300, MOST_DRAWS_IN_DOUBLES])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((math.log(0.8), math.log(0.2)), (math.log(0.01), math.log(0.99))),
        ((math.log(0.3), math.log(0.7)), (math.log(0.3), math.log(0.7))),
        ((-27.6, -math.exp(-27.6)), (-math.exp(-27.6), -27.6)),
        ((-math.exp(-700), -700.0), (math.log(0.5), math.log(0.5))),
        ((0.0, -3000.0), (-2000.0, 0.0)),
    ],
    ids=["apart", "alike", "opposite", "nearly certain", "far below doubles"],
)
def test_the_laws_given_all_counts_at_once_are_those_given_each(
    records: int, first: tuple[float, float], second: tuple[float, float]
) -> None:
    for f, g in ((coin(*first), coin(*second)), (coin(*second), coin(*first))):
        form = form_of(bp.proportion(bp.col("a") == 1), records)
        found = laws_by_count(form, f, g)
        assert found is not None
        assert len(found) == records + 1
        largest = 0.0
        for s in {0, 1, records // 3, records // 2, records - 1, records}:
            one = released(form, summed((f, s), (g, records - s)))
            assert np.array_equal(one.support, found[s].support)
            # both are bounds: neither may be off by more than it says
            assert np.max(np.abs(one.logs - found[s].logs)) <= one.error + found[s].error
            largest = max(largest, one.error)
        assert found[0].error <= 4 * largest + 1e-11


def test_the_laws_given_all_counts_are_those_of_whole_numbers() -> None:
    """Three quarters and one quarter, by fractions: no rounding is left out of the error."""
    quarter = coin(math.log(0.25), math.log(0.75))
    found = laws_by_count(form_of(bp.count(bp.col("a") == 1), 30), coin(math.log(0.75), math.log(0.25)), quarter)
    assert found is not None
    for s in range(31):
        ways = [
            sum(
                math.comb(s, i) * math.comb(30 - s, k - i) * 3 ** (30 - s - k + 2 * i)
                for i in range(max(0, k + s - 30), min(s, k) + 1)
            )
            for k in range(31)
        ]
        exact = np.array([math.log(way) - 30 * math.log(4) for way in ways])
        assert np.max(np.abs(found[s].logs - exact)) <= found[s].error


def test_the_laws_given_all_counts_need_two_atoms_that_are_shared() -> None:
    half, form = math.log(0.5), form_of(bp.count(bp.col("a") == 1), 20)
    assert laws_by_count(form, coin(half, half), coin(half, half, (0, 2))) is None
    certain = WholeLaw(columns=(np.array([0]),), logs=np.array([0.0]), error=0.0)
    assert laws_by_count(form, coin(half, half), certain) is None
    many = form_of(bp.count(bp.col("a") == 1), MOST_DRAWS_IN_DOUBLES + 1)
    assert laws_by_count(many, coin(half, half), coin(half, half)) is None
