"""Comparisons with a public table: exact tests, true models that are left in peace, and false ones that are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError, DataError, FileError, ParameterError, RefusedError
from bnpriv.kinds.public_records import PublicRecords, public_records_of
from bnpriv.lab.public_comparison import FIT_LEVEL, ClassLaw, PublicComparison, classes_of, compared
from bnpriv.tables.readings import Dialect
from tests.later import Later

pd = Later("pandas")

VISITS = [[0.3, 0.2], [0.2, 0.2], [0.2, 0.1], [0.1, 0.1], [0.1, 0.2], [0.1, 0.2]]
INDEPENDENT = [[0.28, 0.28], [0.2, 0.2], [0.18, 0.18], [0.1, 0.1], [0.12, 0.12], [0.12, 0.12]]


def visits(*tables: list[list[float]], at_most: int = 5, records: int = 500) -> bp.DatasetAttributePrivacy:
    """Visits to a doctor of the ill and the others: a model for each table."""
    networks = [
        bp.DiscreteNetwork.from_tables(
            {"ill": [0.8, 0.2], "visits": table},
            states={"ill": ["no", "yes"], "visits": list(range(6))},
            parents={"visits": ["ill"]},
            level="records",
        )
        for table in tables
    ]
    columns = {"visits": bp.Integer(0, 5), "ill": bp.Categorical(["no", "yes"])}
    return bp.DatasetAttributePrivacy(
        networks[0] if len(networks) == 1 else bp.model_class(networks),
        bp.Schema(records=records, columns=columns),
        {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=at_most))},
        source="made up",
    )


def drawn(table: list[list[float]], records: int, seed: int) -> dict[str, list[Any]]:
    """Records of the model with one table."""
    random = np.random.default_rng(seed)
    ill = random.random(records) < 0.2
    below = np.cumsum(table, axis=0).T[ill.astype(int)]
    seen = (random.random((records, 1)) > below[:, :-1]).sum(axis=1)
    return {"ill": ["yes" if each else "no" for each in ill], "visits": seen.astype(float).tolist()}


def compared_alone(framework: bp.DatasetAttributePrivacy, query: str, values: dict[str, list[Any]]) -> PublicComparison:
    """The tests alone."""
    records = public_records_of(values, framework.schema.columns)
    return PublicComparison(
        query=bp.parse_query(query),
        records=records.records,
        classes=tuple(classes_of(framework, bp.parse_query(query), "ill", framework.protect["ill"], records)),
        networks=framework.network.models,
        ratios={},
        told=None,
        calibration=None,
    )


def test_a_public_table_is_read_in_the_dialect_of_the_schema(tmp_path: Path) -> None:
    dialect = Dialect(separator=";", codes={"visits": (5,)})
    framework = visits(VISITS)
    framework = replace(framework, schema=replace(framework.schema, dialect=dialect))
    values = drawn(VISITS, 400, seed=2)
    coded = sum(each == 5 for each in values["visits"])
    file = tmp_path / "public.csv"
    pd.DataFrame(values).to_csv(file, sep=";", index=False)
    assert coded > 30
    for table in (pd.DataFrame(values), file):
        found = 0
        for each in bp.compare_with_public(framework, table, "count(visits == 2)").classes:
            (place,) = np.flatnonzero(each.values[:, 0] == 1)
            found += int(each.seen[place])
        # what a code stands for is missing, and counts as the middle, 2
        assert found == coded + sum(each == 2 for each in values["visits"])


# --- one test ---------------------------------------------------------------------------------------------------------


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


@pytest.mark.parametrize("chance", ["0", "1/1000", "1/3", "9/10", "1"])
def test_p_values_are_twice_the_smaller_tail_and_limits_agree_with_them(chance: str) -> None:
    n, p = 12, Fraction(chance)
    law = ClassLaw(
        protected="ill",
        name="",
        records=n,
        values=np.zeros((n + 1, 1)),
        at_most=np.zeros(n + 1, dtype=bool),
        seen=np.arange(n + 1),
        chances=np.full((1, n + 1), float(p)),
        errors=np.array([[1e-12]]),
    )
    masses = binomial(n, p)
    for k, found in enumerate(law.p_values[0].tolist()):
        exact = min(1.0, 2 * float(min(sum(masses[k:]), sum(masses[: k + 1]))))
        assert exact <= found <= exact * (1 + 1e-9) + 1e-9
        low, high = (float(ends[k]) for ends in law.limits(0.05))
        assert (low <= p <= high) == (exact > 0.05)


# --- true models ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "records"),
    [("total(visits)", 400), ("count(visits >= 3)", 60), ("stack(count(visits >= 1), count(visits == 5))", 200)],
)
def test_a_true_model_is_contradicted_in_at_most_one_table_of_a_hundred(query: str, records: int) -> None:
    models = visits(INDEPENDENT, VISITS)
    alone = visits(VISITS)
    found = [compared_alone(models, query, drawn(VISITS, records, seed)) for seed in range(300)]
    assert sum(each.p_values[1] <= FIT_LEVEL for each in found) <= 300 * FIT_LEVEL
    assert sum(each.contradicted for each in found) <= 300 * FIT_LEVEL
    # of one model alone as of that model among others, and small p-values do occur
    assert [compared_alone(alone, query, drawn(VISITS, records, seed)).p_values[0] for seed in range(5)] == [
        each.p_values[1] for each in found[:5]
    ]
    assert min(each.p_values[1] for each in found) < 0.2


def test_a_false_model_is_contradicted_and_among_others_it_does_not_count() -> None:
    values = drawn(VISITS, 3000, 1)
    false = compared_alone(visits(INDEPENDENT), "total(visits)", values)
    assert false.contradicted
    row = false.rows[0]
    assert row.adjusted <= FIT_LEVEL
    assert not row.low <= row.model <= row.high
    assert not compared_alone(visits(INDEPENDENT, VISITS), "total(visits)", values).contradicted
    assert compared_alone(visits(INDEPENDENT, VISITS), "total(visits)", values).best_model == 1


def test_what_the_model_holds_impossible() -> None:
    never = [[0.5, 0.5], [0.5, 0.5], *[[0.0, 0.0]] * 4]
    values = {"ill": ["no"] * 5 + ["yes"], "visits": [0.0, 1.0, 0.0, 1.0, 1.0, 4.0]}
    found = compared_alone(visits(never), "total(visits)", values)
    assert found.p_values == (0.0,)
    assert (found.rows[0].adds, found.rows[0].log_ratio) == ("4", math.inf)


def test_the_largest_log_ratio_of_each_class() -> None:
    values = {"ill": ["no"] * 400 + ["yes"] * 100, "visits": [0.0] * 300 + [1.0] * 100 + [5.0] * 100}
    rows = compared_alone(visits(VISITS), "count(visits >= 1)", values).farthest
    no, yes = sorted(rows, key=lambda row: row.given, reverse=True)
    assert (no.given, yes.given) == ('not counted by count(ill == "yes")', 'counted by count(ill == "yes")')
    assert (no.records, no.seen, yes.records, yes.seen) == (400, 100, 100, 100)
    assert math.isclose(no.log_ratio, math.log(0.25 / 0.7))
    assert math.isclose(yes.log_ratio, math.log(1 / 0.8))
    assert no.low < 0.25 < no.high
    assert yes.high == 1.0


# --- what a release would tell ----------------------------------------------------------------------------------------


def zero_inflated(rows: int, seed: int = 0) -> pd.DataFrame:
    """Zero for all who have no affair; evenly in [0, 1) or beyond for the others."""
    random = np.random.default_rng(seed)
    had = random.random(rows) < 0.32
    some = np.where(random.random(rows) < 0.3, random.uniform(0.05, 1, rows), random.uniform(1, 60, rows))
    return pd.DataFrame({"affairs": np.where(had, some, 0.0), "had": np.where(had, "yes", "no")})


AFFAIRS = bp.DiscreteNetwork.from_tables(
    {"had": [0.68, 0.32], "affairs": [[0.999, 0.3], [0.001, 0.7]]},
    states={"had": ["no", "yes"], "affairs": ["[0, 1)", "[1, 60]"]},
    parents={"affairs": ["had"]},
    level="records",
)


def affairs(records: int = 500) -> bp.DatasetAttributePrivacy:
    """Evenly in the bin [0, 1), as a file starts."""
    columns = {"affairs": bp.Binned([0, 1, 60]), "had": bp.Categorical(["no", "yes"])}
    hidden = {"had": bp.Secret(bp.count(bp.col("had") == "yes"), pairs=bp.apart(at_most=31))}
    return bp.DatasetAttributePrivacy(AFFAIRS, bp.Schema(records=records, columns=columns), hidden, source="by hand")


def told_by(first: float, second: float, scale: float, changed: int) -> float:
    """The loss of a count with Laplace noise, record by record: at the two values of what one record adds."""
    far = math.exp(-1 / scale)
    ends = [(first + (1 - first) * far, second + (1 - second) * far)]
    ends.append((first * far + 1 - first, second * far + 1 - second))
    return changed * max(abs(math.log(a / b)) for a, b in ends)


def test_a_zero_inflated_column_that_was_declared_even_is_refused_with_its_nats() -> None:
    framework, table = affairs(), zero_inflated(3000)
    found = bp.compare_with_public(framework, table, "count(affairs >= 0.05)")
    assert found.contradicted
    assert found.calibration is not None
    assert found.told is not None
    yes = int((table["had"] == "yes").sum())
    # the network counts as one record more: 95 % of those without an affair, by its bin
    first, second = (
        (yes + 0.32 * (0.3 * 0.95 + 0.7)) / (yes + 0.32),
        0.68 * (0.999 * 0.95 + 0.001) / (3000 - yes + 0.68),
    )
    assert math.isclose(found.told.value, told_by(first, second, found.calibration.scale, 31), rel_tol=1e-9)
    assert found.told.low <= found.told.value <= found.told.high
    assert found.told.low > 15
    # an independent bound: the model's own law gives what was asked for
    assert math.isclose(told_by(0.3 * 0.95 + 0.7, 0.999 * 0.95 + 0.001, found.calibration.scale, 31), 1.0, rel_tol=1e-6)
    told = rf"would move the odds by up to [0-9.,]+ times, in nats {found.told.value:.2f} \("
    with pytest.raises(RefusedError, match=told):
        bp.plan(framework, "count(affairs >= 0.05)", 1.0, public=table)
    waived = bp.plan(framework, "count(affairs >= 0.05)", 1.0, public=table, despite_public=True)
    assert waived.public.contradicted
    assert "public records contradict the model" in waived.text
    assert json.loads(waived.to_json())["data"]["public"]["contradicted"] is True


def test_a_missing_edge_is_refused() -> None:
    framework, values = visits(INDEPENDENT, at_most=31), drawn([[0.6, 0.3], *VISITS[1:4], *VISITS[4:]], 4000, 3)
    found = bp.compare_with_public(framework, pd.DataFrame(values), "count(visits >= 1)")
    assert found.contradicted
    # without an edge the answer goes out as it is: one record alone, 31 of them together
    assert found.calibration is not None
    assert found.calibration.scale == 0
    assert found.told is not None
    assert found.told.value > 31 * 0.3
    model, table = found.ratios["ill"]
    assert (model.value, model.low, model.high) == (0.0, 0.0, 0.0) or model.value < 1e-9
    assert table.low <= table.value <= table.high
    assert math.isclose(found.told.value, 31 * table.value, rel_tol=1e-9)


def test_a_true_table_is_released_from() -> None:
    framework = visits(VISITS)
    public, private = (pd.DataFrame(drawn(VISITS, rows, seed)) for rows, seed in ((2000, 5), (500, 6)))
    best = bp.plan(framework, "count(visits >= 3)", 1.0, public=public).best
    assert best.scale > 0
    assert len(bp.release(best, private, public=public).values) == 1
    with pytest.raises(FileError, match="must be another than the private one"):
        bp.release(best, private, public=private)


def test_a_contradicted_release_charges_nothing(tmp_path: Path) -> None:
    framework, ledger = affairs(), tmp_path / "ledger.db"
    best = bp.plan(framework, "count(affairs >= 0.05)", 1.0).best
    public, private = zero_inflated(3000), zero_inflated(500, 1)
    with pytest.raises(RefusedError, match="must not contradict the model"):
        bp.release(best, private, ledger=ledger, budget=2.0, public=public)
    assert not ledger.exists()
    assert bp.release(best, private, ledger=ledger, budget=2.0, public=public, despite_public=True).mark is not None
    # noise that needs no model is not refused
    column = bp.ColumnMechanism().calibrate(framework, "count(affairs >= 0.05)", epsilon=1.0)
    assert bp.release(column, private, public=public).values


def test_a_framework_with_public_records_is_compared_with_them() -> None:
    records = public_records_of(drawn(VISITS, 3000, 2), visits(VISITS).schema.columns)
    learned = replace(visits(INDEPENDENT), public_records=records)
    found = bp.compare_with_public(learned, None, "count(visits >= 4)")
    assert not found.contradicted
    assert found.p_values[0] <= FIT_LEVEL
    assert "3,000 public records contradict the network, beside which" in found.text
    assert found.told is not None
    assert found.told.value <= 1.2  # the records decided the noise
    assert len(found.p_values) == 1 + records.draws


# --- what is read -----------------------------------------------------------------------------------------------------


def test_a_table_is_read_as_a_release_reads_it(tmp_path: Path) -> None:
    columns = {"x": bp.Integer(0, 3, missing=2), "ill": bp.Categorical(["no", "yes"], coarsen={"yes": ["ja"]})}
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "x": [[0.25] * 2] * 4, "unread": [0.5, 0.5]},
        states={"ill": ["no", "yes"], "x": [0, 1, 2, 3], "unread": ["a", "b"]},
        parents={"x": ["ill"]},
        level="records",
    )
    framework = bp.DatasetAttributePrivacy(
        network,
        bp.Schema(records=10, columns=columns),
        {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=1))},
        source="made up",
    )
    table = pd.DataFrame({"x": [None, 9.0, -4.0, 1.2], "ill": ["ja", " yes", None, "strange"]})
    path = tmp_path / "public.csv"
    table.to_csv(path, index=False)
    for public in (table, path, str(path)):
        found = bp.compare_with_public(framework, public, "total(x)").rows
        assert {(row.given[:3], row.adds): row.seen for row in found if row.seen and "most" not in row.adds} == {
            ("cou", "2"): 1,
            ("cou", "3"): 1,
            ("not", "0"): 1,
            ("not", "1"): 1,
        }


def test_a_property_that_is_a_sum_has_a_class_for_each_value() -> None:
    framework = visits(VISITS, records=10)
    framework = replace(framework, protect={"visits": bp.Secret(bp.total("visits"), pairs=bp.apart(at_most=3))})
    found = bp.compare_with_public(framework, pd.DataFrame(drawn(VISITS, 500, 4)), 'count(ill == "yes")')
    assert {row.given for row in found.rows} == {f"adding {k} to total(visits)" for k in range(6)}
    assert found.ratios == {}
    assert found.told is not None


@pytest.mark.parametrize(
    ("framework", "public", "error"),
    [
        (lambda: bp.example("student"), {"height": [170.0]}, RefusedError),
        (lambda: visits(VISITS), {"visits": [1]}, DataError),
        (lambda: visits(VISITS), {"visits": [], "ill": []}, DataError),
        (lambda: visits(VISITS), None, ParameterError),
        (lambda: visits(VISITS), 3, DataError),
        (lambda: visits(VISITS), "nowhere.csv", FileError),
    ],
    ids=["parameters", "a column is missing", "no rows", "no table", "a number", "no file"],
)
def test_what_cannot_be_compared_is_refused(framework: Any, public: Any, error: type[BnprivError]) -> None:
    query = "count(height > 180)" if error is RefusedError else "count(visits >= 3)"
    with pytest.raises(error):
        bp.compare_with_public(framework(), pd.DataFrame(public) if isinstance(public, dict) else public, query)


def test_every_form_says_it() -> None:
    found = bp.compare_with_public(affairs(), zero_inflated(1000), "count(affairs >= 0.05)")
    assert str(found).count("\n") < 8
    assert len(found.explain()) > len(str(found))
    page = found.to_html()
    assert page.count("<svg") == len(found.rows) == 2
    assert found.to_pandas()["adjusted"].is_monotonic_increasing


def test_draws_of_weights_end_with_the_table_as_it_is() -> None:
    records = PublicRecords({"x": np.zeros(7)}, draws=3)
    assert records.weights(3).tolist() == [2**62 // 7 + (k < 2**62 % 7) for k in range(7)]
    assert sum(records.weights(3).tolist()) == 2**62


def test_an_answer_of_several_numbers_is_bounded_record_by_record() -> None:
    framework = visits(VISITS)
    best = bp.plan(framework, "stack(count(visits >= 1), total(visits))", 1.0).best
    table = pd.DataFrame(drawn(VISITS, 20_000, 8))
    found = compared(framework, table, best.query, best)
    assert found.told is not None
    assert abs(found.told.value - 1) < 0.25


def test_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bnpriv.cli import app, main

    framework, public, private = (tmp_path / name for name in ("framework.toml", "public.csv", "private.csv"))
    affairs().to_file(framework)
    zero_inflated(3000).to_csv(public, index=False)
    zero_inflated(500, 1).to_csv(private, index=False)
    assert app
    asked = ["--query", "count(affairs >= 0.05)", "--epsilon", "1", "--public", str(public)]
    for command in (["plan", str(framework)], ["release", str(framework), str(private)]):
        assert ran(main, [*command, *asked]) == 2
        assert "refused: the public table must not contradict the model" in capsys.readouterr().err
        assert ran(main, [*command, *asked, "--despite-public"]) == 0
        capsys.readouterr()
    assert ran(main, ["plan", str(framework), *asked, "--json", str(public)]) == 2
    assert "affairs" in public.read_text()


def ran(main: Any, words: list[str]) -> int:
    """The exit code of a command."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sys.argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)
