"""How far changes of columns move the released doubles, by the checker: against tables that are tried one by one."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import pytest

import bnpriv as bp
from bnpriv.core.queries.asked import Weighted
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Schema
from bnpriv.mechanisms.serialize import _column, query_facts
from bnpriv.verify.changes import Changes
from bnpriv.verify.forms import Form, StopError, united
from tests.seeds import examples

STAMP = 1_700_000_000
COLUMNS = {
    "timestamps": (STAMP, STAMP + 86_400),
    "dates": (20200101, 20201231),
    "years": (1900, 2020),
    "ages": (18, 90),
    "2^33": (2**33, 2**33 + 2),
    "2^52": (2**52 - 9, 2**52),
}


def changes_of(query: Query, schema: Schema, weights: list[int] | None = None) -> Changes:
    """Return what the checker makes of a query."""
    facts = json.loads(json.dumps(query_facts(query, schema)))
    columns = {name: json.loads(json.dumps(_column(column))) for name, column in schema.columns.items()}
    form = Form(facts, columns)
    return Changes(form, [Fraction(w) for w in weights or [1] * len(form.rows)], schema.records, lambda cost: None)


def values_of(form: Form, name: str) -> list[object]:
    """Return values of a column that show all that a query tells apart: steps, constants, and doubles beside them."""
    column = form.columns[name]
    if column["type"] == "categorical":
        return column["categories"]
    low, high = column["lower"], column["upper"]
    points = [low + k * (high - low) / column["steps"] for k in range(column["steps"] + 1)] + form.cuts[name]
    if column["type"] == "integer":
        return sorted({min(max(end, low), high) for p in points for end in (math.floor(p), math.ceil(p))})
    near = {q for p in points for q in (p, math.nextafter(p, -math.inf), math.nextafter(p, math.inf))}
    return sorted({min(max(float(q), low), high) for q in near})


def tables_apart(changes: Changes, moving: set[str], records: int) -> Fraction:
    """Return how far the doubles of n equal records lie from those where so many of them change: by trying them all."""
    form, n, seen = changes.form, changes.n, dict[tuple[object, ...], set[tuple[int, ...]]]()
    for cell in product(*(values_of(form, name) for name in form.reads)):
        record = dict(zip(form.reads, cell, strict=True))
        resting = tuple(value for name, value in record.items() if name not in moving)
        seen.setdefault(resting, set()).add(form.key(record))
    most = Fraction(0)
    for keys in seen.values():
        points = sorted(keys)[:: 1 + len(keys) // 24]
        for first, second in product(points, repeat=2):
            mixed = [(n - records) * a + records * b for a, b in zip(first, second, strict=True)]
            ends = [list(map(float, form.exact(sums))) for sums in ([n * a for a in first], mixed)]
            gaps = (abs(Fraction(a) - Fraction(b)) for a, b in zip(*ends, strict=True))
            most = max(most, sum((w * gap for w, gap in zip(changes.weights, gaps, strict=True)), Fraction(0)))
    return most


@pytest.mark.parametrize("cases", examples(20, slow=60))
def test_no_tables_are_farther_apart_and_the_bound_is_no_larger_than_the_noise(cases: int) -> None:
    from hypothesis import HealthCheck, given, settings, strategies as st

    from tests.tiny_queries import questions

    @given(questions(), st.data())
    @settings(derandomize=True, deadline=None, max_examples=cases, suppress_health_check=list(HealthCheck))
    def agrees(asked: tuple[Query, Schema], data: st.DataObject) -> None:
        query, schema = asked
        schema = Schema(records=data.draw(st.integers(1, 7)), columns=schema.columns)
        weights = [2 ** data.draw(st.integers(0, 3)) for _ in range(query.dimension(schema))]
        changes = changes_of(query, schema, weights)
        moving = set(data.draw(st.lists(st.sampled_from(sorted(schema.columns)), unique=True)))
        try:
            bounds = {records: changes.bound(moving, records) for records in (1, schema.records)}
        except StopError:  # squares of a column beside its product with another
            return
        for records, bound in bounds.items():
            assert tables_apart(changes, moving, records) <= bound
        weighted = Weighted(asked=query, weights=tuple(map(float, weights)))
        assert bounds[schema.records] <= Fraction(bp.column_sensitivity(weighted, moving, schema).upper)

    agrees()


def test_sets_that_another_one_joins_are_one_set() -> None:
    apart = [{1}, {2}, {3}, {4, 5}, {6}]
    assert united(apart) == apart
    assert united([*apart, {1, 2, 3, 5}]) == [{6}, {1, 2, 3, 4, 5}]


def test_every_number_that_moves_is_rounded() -> None:
    """Two means near 2^33 that move together: the doubles of each may be off by a unit of their own."""
    schema = Schema(records=7, columns={"t": bp.Integer(2**33, 2**33 + 2)})
    changes = changes_of(bp.parse_query("stack(mean(t), mean(t))"), schema, [1, 4])
    units = [changes.limits(k)[1] for k in (0, 1)]
    assert units == [Fraction(math.ulp(2.0**33)), 4 * Fraction(math.ulp(2.0**33))]
    assert changes.exceeded_by((0, 1), {"t"}, 7) == 2 * (1 + 4) + sum(units)


def framework_of(low: int, high: int, n: int, **options) -> bp.DistributionalAttributePrivacy:
    """Return a framework whose `v` is protected and tells something of `t`."""
    network = bp.DiscreteNetwork.from_tables(
        {"t": [0.5, 0.5], "v": [[0.9, 0.1], [0.1, 0.9]]},
        states={"t": ["early", "late"], "v": ["few", "many"]},
        parents={"v": ["t"]},
        level="parameters",
    )
    schema = bp.Schema(records=n, columns={"t": bp.Integer(low, high), "v": bp.Integer(0, 1)})
    return bp.DistributionalAttributePrivacy(network, schema, "v", source="a test", **options)


def lowered(calibration: bp.types.Calibration, share: float) -> str:
    """Return the JSON of a calibration with a share of its noise."""
    record = json.loads(calibration.to_json())
    scale = float.fromhex(record["noise"]["exact_scale"]) * share
    record["noise"].update(scale=scale, exact_scale=scale.hex())
    return json.dumps(record)


QUESTIONS = ("mean(t)", "stack(mean(t), count(v == 1))", "moments(t)", "stack(total(t), mean(v), count(t > {}))")


@pytest.mark.parametrize("kind", COLUMNS)
def test_offsets_and_ranges_of_every_size_hold(kind: str) -> None:
    """A mean near 2^33 rounds to a millionth: each number is bounded by its own range."""
    low, high = COLUMNS[kind]
    for n, text in product((7, 1000), QUESTIONS):
        query = bp.parse_query(text.format(high - 1))
        framework = framework_of(low, high, n)
        for mechanism in (bp.ColumnMechanism(), bp.MarkovQuiltMechanism()):
            calibration = mechanism.calibrate(framework, query, epsilon=1.0)
            verdict = bp.verify(calibration)
            assert verdict.status == "holds", (text, n, str(verdict))
            assert bp.verify(lowered(calibration, 0.9)).status in ("fails", "cannot be shown")


@pytest.mark.parametrize("text", ["mean(t)", "stack(mean(t), count(v == 1))", "histogram(t, [1900, 1950, 2021])"])
def test_two_tables_show_that_noise_for_columns_is_too_small(text: str) -> None:
    calibration = bp.ColumnMechanism().calibrate(framework_of(1900, 2020, 1000), bp.parse_query(text), epsilon=1.0)
    verdict = bp.verify(lowered(calibration, 0.99))
    assert verdict.status == "fails"
    assert "shown by 1,000 records of t " in verdict.text
    assert " against those of t " in verdict.text


def test_columns_that_show_their_parameters_show_that_a_quilt_bears_too_little() -> None:
    """The protected column is read, and its table may be all 0 or all 1."""
    calibration = bp.MarkovQuiltMechanism().calibrate(framework_of(18, 90, 1000), "count(v == 1)", epsilon=1.0)
    verdict = bp.verify(lowered(calibration, 0.99))
    assert verdict.status == "fails"
    assert verdict.text.endswith("where every record of v shows its parameter shows it")


def test_a_bound_that_does_not_suffice_shows_nothing() -> None:
    """The column that is read tells the secret in 9 of 10 cases: no law of it tells as much as the quilt allows."""
    calibration = bp.MarkovQuiltMechanism().calibrate(framework_of(18, 90, 1000), "mean(t)", epsilon=1.0)
    verdict = bp.verify(lowered(calibration, 0.99))
    assert (verdict.status, verdict.code) == ("cannot be shown", 2)
    assert verdict.text.startswith("epsilon may be 1.01010101 where 1 is claimed, by the best quilt for v, few")
    assert bp.verify(lowered(calibration, 0.5)).status == "fails"


def test_declared_laws_refute_a_claim_and_do_not_bear_it() -> None:
    """A quilt is to bear a claim whatever the laws of columns are: where declared ones would do, nothing is shown."""
    laws = {"t": {"early": 0.25, "late": 0.75}, "v": {"few": 0.4, "many": 0.6}}
    framework = framework_of(0, 1, 4, laws=laws)
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, "count(t == 1)", epsilon=1.0)
    assert bp.verify(lowered(calibration, 0.9)).status == "cannot be shown"
    verdict = bp.verify(lowered(calibration, 0.05))
    assert verdict.status == "fails"
    assert "shows its parameter" not in verdict.text


def test_with_delta_two_tables_refute_nothing() -> None:
    """What passes epsilon may be within delta, which is not worked out for columns."""
    calibration = bp.ColumnMechanism().calibrate(framework_of(1900, 2020, 1000), "mean(t)", epsilon=1.0)
    record = json.loads(lowered(calibration, 0.9))
    record["guarantee"]["delta"] = 0.3
    assert bp.verify(json.dumps(record)).status == "cannot be shown"
