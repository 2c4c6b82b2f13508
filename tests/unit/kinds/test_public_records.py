"""Models made of public records: their weights, their laws against enumeration, and their files."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import law_of_one_record
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.contribution import term_totals
from bnpriv.core.whole_numbers import WholeLaw, summed
from bnpriv.errors import DataError, FileError, FrameworkError
from bnpriv.io.framework_file import framework_files
from bnpriv.kinds.public_records import BITS, PublicRecords, further_records, public_records_in, public_records_of
from bnpriv.tables.evaluate import evaluate
from tests.seeds import examples

SCHEMA = bp.Schema(
    records=40,
    columns={
        "x": bp.Binned([0, 1, 5]),
        "y": bp.Integer(0, 3),
        "ill": bp.Categorical(["no", "yes"]),
    },
)
NETWORK = bp.DiscreteNetwork.from_tables(
    {
        "ill": [0.75, 0.25],
        "x": [[0.5, 0.25], [0.5, 0.75]],
        "y": [[0.25, 0.5], [0.25, 0.25], [0.25, 0.125], [0.25, 0.125]],
    },
    states={"ill": ["no", "yes"], "x": ["[0, 1)", "[1, 5]"], "y": [0, 1, 2, 3]},
    parents={"x": ["ill"], "y": ["ill"]},
    level="records",
)
HIDDEN = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=2))


def declared(public: PublicRecords | None) -> bp.DatasetAttributePrivacy:
    return bp.DatasetAttributePrivacy(NETWORK, SCHEMA, {"ill": HIDDEN}, source="made up", public_records=public)


def drawn(records: int, seed: int, draws: int = 3) -> PublicRecords:
    generator = np.random.default_rng(seed)
    values = {
        "x": [None if k % 5 == 4 else float(value) for k, value in enumerate(generator.integers(-1, 12, records) / 2)],
        "y": generator.integers(0, 4, records).astype(float).tolist(),
        "ill": generator.choice(["no", "yes", "unheard of"], records).tolist(),
    }
    return public_records_of(values, SCHEMA.columns, draws=draws, seed=seed)


def counted(row: dict[str, object]) -> tuple[float, float, str]:
    """What a record counts as: gaps as the middle, numbers within their bounds, strange labels as the first."""
    x = 2.5 if row["x"] is None or row["x"] != row["x"] else min(max(row["x"], 0.0), 5.0)
    return x, row["y"], row["ill"]


QUERIES = {
    "count(x >= 2)": lambda x, y, ill: (int(x >= 2),),
    "count((x >= 2) & (y != 1))": lambda x, y, ill: (int(x >= 2 and y != 1),),
    "total(y)": lambda x, y, ill: (int(y),),
    'count((ill == "yes") | (y == 3))': lambda x, y, ill: (int(ill == "yes" or y == 3),),
}


@pytest.mark.parametrize("seed", examples(4, slow=40))
@pytest.mark.parametrize("query", QUERIES)
def test_a_law_is_the_weighted_table_and_one_record_of_the_network(query: str, seed: int) -> None:
    public = drawn(1 + seed % 7 * 3, seed)
    framework = declared(public)
    assert framework.models == 1 + public.draws
    asked = bp.parse_query(query)
    beside = law_of_one_record(framework, asked, 0)
    for draw in range(public.draws):
        weights = public.weights(draw).tolist()
        assert sum(weights) == 2**BITS
        assert min(weights) >= 0
        exact = Counter[tuple[int, ...]]()
        for k, weight in enumerate(weights):
            row = {name: values[k].item() for name, values in public.columns.items()}
            exact[QUERIES[query](*counted(row))] += Fraction(weight, 2**BITS) * Fraction(len(weights), len(weights) + 1)
        for *values, log in zip(*(column.tolist() for column in beside.columns), beside.logs.tolist(), strict=True):
            exact[tuple(values)] += Fraction(math.exp(log)) / (len(weights) + 1)
        law = law_of_one_record(framework, asked, 1 + draw)
        found = dict(
            zip(zip(*(column.tolist() for column in law.columns), strict=True), law.logs.tolist(), strict=True)
        )
        assert set(found) == {value for value, mass in exact.items() if mass}
        for value, log in found.items():
            assert abs(log - math.log(exact[value])) <= law.error + 1e-15 * (1 + abs(log))
        assert law.error < 1e-11


def test_weights_are_those_of_the_hash_that_is_documented() -> None:
    import hashlib

    public = drawn(4, seed=9)
    raw = hashlib.shake_256(b"bnpriv records 9 1").digest(24)
    cuts = sorted(int.from_bytes(raw[k : k + 8], "little") >> 2 for k in (0, 8, 16))
    assert public.weights(1).tolist() == [b - a for a, b in zip([0, *cuts], [*cuts, 2**62], strict=True)]


@pytest.mark.parametrize("draw", range(4))
def test_further_records_stand_at_the_ends(draw: int) -> None:
    public = drawn(12, seed=5, draws=4)
    framework = declared(public)
    query = bp.stack(HIDDEN.property, bp.total("y"), bp.count(bp.col("x") >= 1))
    beside = law_of_one_record(framework, query, 0)
    possible = set(zip(*(column.tolist() for column in beside.columns), strict=True))
    assert len(possible) == 16
    # y from 0 to 3, x >= 1 or not: upwards the ill have the largest, the others the smallest; first by y, then by x
    ends = [(0, 0, 0), (1, 3, 1)] if draw % 2 == 0 else [(0, 3, 1), (1, 0, 0)]
    weights = public.weights(draw, 2).tolist()
    assert sum(weights) == 2**BITS
    assert weights != [*public.weights(draw).tolist(), 0, 0]
    exact = Counter[tuple[int, ...]]()
    for k, weight in enumerate(weights):
        if k < 12:
            x, y, ill = counted({name: values[k].item() for name, values in public.columns.items()})
            end = (int(ill == "yes"), int(y), int(x >= 1))
        else:
            end = ends[k - 12]
        exact[end] += Fraction(weight, 2**BITS) * Fraction(12, 13)
    for *values, log in zip(*(column.tolist() for column in beside.columns), beside.logs.tolist(), strict=True):
        exact[tuple(values)] += Fraction(math.exp(log)) / 13
    law = law_of_one_record(framework, query, 1 + draw)
    for *values, log in zip(*(column.tolist() for column in law.columns), law.logs.tolist(), strict=True):
        assert abs(log - math.log(exact.pop(tuple(values)))) <= law.error + 1e-15 * (1 + abs(log))
    assert not exact


def test_further_records_are_possible_ones() -> None:
    # nobody without the property adds 2, nobody with it 0: an impossible record would hide what the answer tells
    possible = [np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])]
    for draw, ends in enumerate([[[0, 1], [0, 2]], [[0, 1], [1, 1]]]):
        assert [column.tolist() for column in further_records(possible, draw)] == ends
    for fixed in ([np.array([0, 1])], [np.array([1, 1]), np.array([0, 1])]):
        assert not any(map(len, further_records(fixed, 0)))


def test_further_records_of_a_histogram_take_its_cells_in_turn() -> None:
    cells = np.eye(3, dtype=int)
    possible = [np.repeat([0, 1], 3), *np.tile(cells, 2)]
    found = [np.stack(further_records(possible, draw))[1:, ::-1].T.tolist() for draw in (0, 2, 4, 6)]
    # a record with the property in each cell, and one without it outside
    assert [each[0] for each in found] == [*cells.tolist(), cells[0].tolist()]
    assert all(np.dot(*each) == 0 for each in found)


def test_one_proportion_lies_below_its_draws_as_exact_limits_say() -> None:
    # a draw for a class with x of n records, and one more that counts, is Beta(x + 1, n - x): the p-value of Clopper
    # and Pearson is how often it lies above p, and k draws all lie below p in at most one of k + 1 tables
    n, p, draws = 8, 0.2, 20
    missed = 0.0
    for x in range(n + 1):
        chance = math.comb(n, x) * p**x * (1 - p) ** (n - x)
        above = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(x + 1))
        missed += chance * (1 - above) ** draws
    assert missed <= 1 / (draws + 1)
    rows = {"y": [1.0] + [0.0] * 7 + [0.0] * 4, "ill": ["yes"] * 8 + ["no"] * 4}
    public = PublicRecords({name: np.array(each) for name, each in rows.items()}, draws=8000)
    beside = WholeLaw.of([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], np.full(4, -60.0), 0.0)
    form = normal_form(bp.stack(HIDDEN.property, bp.count(bp.col("y") == 1)), SCHEMA)
    shares = [math.exp(public.law(form, draw, beside).given([1]).logs[-1]) for draw in range(0, 8000, 2)]
    # Beta(2, 7): mean 2/9, and P(> .2) = P(Bin(8, .2) <= 1) = .5033
    assert abs(np.mean(shares) - 2 / 9) < 0.007
    assert abs(np.mean(np.array(shares) > p) - 0.5033) < 0.03


def test_weights_are_draws_from_the_uniform_dirichlet_law() -> None:
    public = public_records_of({"y": [0.0] * 4}, {"y": bp.Integer(0, 3)}, draws=4000, seed=1)
    shares = np.array([public.weights(draw) for draw in range(4000)]) / 2.0**BITS
    # mean 1/4, variance 3/80; the largest of four has mean (1 + 1/2 + 1/3 + 1/4)/4
    assert np.abs(shares.mean(axis=0) - 0.25).max() < 0.015
    assert np.abs(shares.var(axis=0) - 3 / 80).max() < 0.004
    assert abs(shares.max(axis=1).mean() - 25 / 48) < 0.01


def answer_law(one: WholeLaw, other: WholeLaw, ill: int, n: int) -> dict[int, float]:
    total = summed(*((one, ill), (other, n - ill)))
    return dict(zip(total.columns[0].tolist(), total.logs.tolist(), strict=True))


def test_noise_suffices_for_every_draw_where_the_network_is_wrong() -> None:
    # in the table x tells the illness; by the network it nearly does not
    rows = {"x": [0.5] * 30 + [3.0] * 10, "y": [0.0] * 40, "ill": ["no"] * 30 + ["yes"] * 10}
    framework = declared(public_records_of(rows, SCHEMA.columns, draws=5))
    query = bp.count(bp.col("x") >= 1)
    with_records = bp.TightMechanism().calibrate(framework, query, epsilon=1.0)
    without = bp.TightMechanism().calibrate(replace(framework, public_records=None), query, epsilon=1.0)
    assert with_records.scale > 1.5 * without.scale
    assert with_records.guarantee.models == 6
    assert "public records" in with_records.text
    both = bp.stack(HIDDEN.property, query)
    for model in range(framework.models):
        law = law_of_one_record(framework, both, model)
        one, other = law.given([1]), law.given([0])
        for ill in range(0, 39, 6):
            near, far = answer_law(one, other, ill, 40), answer_law(one, other, ill + 2, 40)
            for first, second in ((near, far), (far, near)):
                for y in np.arange(-5, 46, 0.5):
                    density = [
                        sum(math.exp(log - abs(y - value) / with_records.scale) for value, log in side.items())
                        for side in (first, second)
                    ]
                    assert math.log(density[0] / density[1]) <= 1 + 1e-9


def test_files_hold_the_records_and_their_hash(tmp_path: Path) -> None:
    public = drawn(25, seed=3)
    framework = declared(public)
    written = framework.to_file(tmp_path / "ours.toml")
    *_, records, file = written
    assert records.name == "ours-public-records.csv"
    assert {*framework_files(file)} == {*written}  # no output replaces one of them
    again = bp.read_framework(file)
    assert again.public_records == public
    assert again.fingerprint() == framework.fingerprint() != declared(None).fingerprint()
    records.write_text(records.read_text().replace("yes", "no", 1))
    with pytest.raises(FileError, match="the one that was written"):
        bp.read_framework(file)
    records.unlink()
    with pytest.raises(FileError, match="must be there"):
        bp.read_framework(file)


def test_a_fingerprint_sees_values_draws_and_seed() -> None:
    public = drawn(6, seed=1)
    others = [replace(public, draws=4), replace(public, seed=2), drawn(6, seed=2), drawn(7, seed=1)]
    assert len({declared(each).fingerprint() for each in (public, *others)}) == 5
    assert public == drawn(6, seed=1)
    assert hash(public) == hash(drawn(6, seed=1))


@pytest.mark.parametrize("text", ["x,y\n1,2\n", "x,y,ill\n1,2\n", "x,y,ill\none,2,no\n"])
def test_strange_files_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="public records"):
        public_records_in(text, SCHEMA.columns, draws=2, seed=0)


@pytest.mark.parametrize(("records", "draws", "tried"), [(30, 40, True), (29, 40, False), (5000, 39, False)])
def test_coverage_is_said_where_it_was_tried(records: int, draws: int, tried: bool) -> None:
    text = PublicRecords({"y": np.zeros(records)}, draws=draws).coverage
    assert text.startswith(f"with {records:,} public records")
    assert ("in 95 % of such tables" in text) is tried


def test_what_is_no_model_of_records_is_refused() -> None:
    with pytest.raises(DataError, match="one value or gap"):
        PublicRecords({"x": np.zeros(0)})
    with pytest.raises(DataError, match="one value or gap"):
        PublicRecords({"x": np.zeros(2), "y": np.zeros(3)})
    with pytest.raises(FrameworkError, match="draws"):
        PublicRecords({"x": np.zeros(2)}, draws=0)
    with pytest.raises(FrameworkError, match="nodes"):
        declared(PublicRecords({"x": np.zeros(2)}))


def test_a_learned_framework_holds_the_public_table_as_a_release_reads_it() -> None:
    import pandas as pd

    survey = pd.DataFrame({"y": [0, 1, 2, None] * 100, "ill": ["no", "yes", "no", "no"] * 100})
    framework = bp.start(survey.head(3), records=900, protect="ill", learn=survey, draws=2)
    public = framework.public_records
    assert public is not None
    assert (public.records, public.draws, framework.models) == (400, 4, 6)
    assert public.coverage in framework.source
    calibration = bp.TightMechanism().calibrate(framework, bp.parse_query("count(y >= 1)"), epsilon=1.0)
    assert f"W{public.coverage[1:]}. Noise of scale" in " ".join(calibration.certificate.notes)
    for text in ("count(y >= 1)", 'count((y != 1) & (ill == "yes"))', "count(~(y < 2))"):
        query = bp.parse_query(text)
        form = normal_form(query, replace(framework.schema, records=400))
        (total,) = term_totals(form, {name: public.columns[name][np.newaxis, :] for name in sorted(query.columns)})
        assert form.answer(total.tolist()) == evaluate(query, form.schema, survey).values


@pytest.mark.slow
def test_a_million_records_take_seconds() -> None:
    import time

    generator = np.random.default_rng(0)
    values = {"x": generator.random(10**6) * 5, "ill": generator.random(10**6) < 0.3}
    public = PublicRecords(values, draws=20)
    schema = bp.Schema(records=10**6, columns={"x": bp.Real(0, 5), "ill": bp.Categorical([False, True])})
    form = normal_form(bp.count(bp.col("x") > 2), schema)
    started = time.process_time()
    beside = WholeLaw.of([np.array([0, 1])], np.log([0.6, 0.4]), 0.0)
    for draw in range(20):
        law = public.law(form, draw, beside)
    assert law.size == 2
    assert time.process_time() - started < 20


@pytest.mark.parametrize("categories", [[0, 1], [False, True], ["a", "b"]])
def test_a_gap_among_categories_of_any_type_leaves_the_others_what_they_are(categories: list[object]) -> None:
    column = bp.Categorical(categories, missing="not counted")
    public = public_records_of({"k": [*map(str, categories), None] * 2}, {"k": column})
    schema = bp.Schema(records=6, columns={"k": column})
    for category in categories:
        form = normal_form(bp.count(bp.col("k") == category), schema)
        (total,) = term_totals(form, {"k": public.columns["k"][np.newaxis, :]})
        assert total.tolist() == [2]
    states = {"k": [*map(str, categories), "not counted"]}
    assert public.joint(states, schema)[-1] == pytest.approx([1 / 3] * 3)


def test_shares_of_states_are_those_of_the_table_and_of_every_draw() -> None:
    schema = bp.Schema(records=4, columns={"n": bp.Integer(1_000_001, 1_000_003), "x": bp.Binned([0, 1, 5])})
    values = {"n": [1_000_001.0, 1_000_003.0, 1_000_003.0, 1_000_002.0], "x": [0.5, 3.0, 0.5, 5.0]}
    public = public_records_of(values, schema.columns, draws=2)
    states = {"n": ["1000001", "1000002", "1000003"], "x": ["[0, 1)", "[1, 5]"]}
    joint = public.joint(states, schema)
    assert joint[2] == pytest.approx(np.array([[1, 0], [0, 1], [1, 1]]) / 4)
    weights = public.weights(1) / 2.0**BITS
    assert joint[1] == pytest.approx(np.array([[weights[0], 0], [0, weights[3]], [weights[2], weights[1]]]))
    with pytest.raises(DataError, match="states of the network"):
        public.joint({**states, "n": ["1000001", "1000002"]}, schema)


def test_what_a_record_adds_depends_on_what_its_columns_are_declared_as() -> None:
    public = PublicRecords({"y": np.array([0.0, 2.0, 9.0, math.nan])}, draws=1)
    query = bp.count(bp.col("y") >= 3)
    for column, counted in ((bp.Integer(0, 2), 0), (bp.Integer(0, 4), 1), (bp.Integer(0, 4, missing=4), 2)):
        form = normal_form(query, bp.Schema(records=4, columns={"y": column}))
        columns, counts = public.counts(form)
        assert dict(zip(columns[0].tolist(), counts.tolist(), strict=True)).get(1, 0) == counted


def test_the_rounding_of_a_law_is_bounded_by_its_error() -> None:
    # the log of a sum of weights is up to 43, by a function that is off by 8 units in the last place; the network's own
    # law is exact here
    public = PublicRecords({"y": np.arange(2000.0)}, draws=1)
    schema = bp.Schema(records=4, columns={"y": bp.Integer(0, 1999)})
    beside = WholeLaw.of([np.array([0, 1])], np.log([0.5, 0.5]), 0.0)
    law = public.law(normal_form(bp.count(bp.col("y") >= 1990), schema), 0, beside)
    assert law.error >= 43 * 8 * 2.0**-53


@pytest.mark.parametrize("text", ["", "x,y,ill\n", '"x\n'])
def test_files_without_records_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="public records"):
        public_records_in(text, SCHEMA.columns, draws=2, seed=0)


def test_very_many_draws_are_refused() -> None:
    with pytest.raises(FrameworkError, match="at most 10,000 draws"):
        PublicRecords({"x": np.zeros(2)}, draws=10**11)


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_a_table_with_gaps_is_told_from_the_public_one_in_any_engine(engine: str) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    framework = declared(drawn(40, seed=2))
    table = {"x": [None, *[3.0] * 39], "y": [1] * 40, "ill": ["no"] * 40}
    made = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[engine](table)
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("x") >= 2), epsilon=1.0)
    assert math.isfinite(bp.release(calibration, made).value)
    public = framework.public_records
    assert public is not None
    same = {name: [None if x != x else x for x in values.tolist()] for name, values in public.columns.items()}
    with pytest.raises(DataError, match="must not be the one"):
        bp.release(calibration, {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[engine](same))
