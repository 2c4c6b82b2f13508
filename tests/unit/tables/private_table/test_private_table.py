"""Private tables as users make them: what comes out, what is refused, what is written."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import DataError, FileError, ParameterError, RefusedError
from bnpriv.tables.private_table.private_table import PrivateTable
from tests.unit.tables.private_table.test_rule import ILL, SCHEMA, framework, network

if TYPE_CHECKING:
    import pandas as pd

RECORDS = 10_000


def table(seed: int = 0) -> pd.DataFrame:
    """Return a table of ten thousand records."""
    return bp.simulate(framework(network()), seed=seed)


def made(form: str = "fill", delta: float = 0.0, **given: object) -> PrivateTable:
    """Return a private table of one that was made up."""
    found = bp.private_table(framework(network()), table(), 1.0, delta, form, records_may_be_seen=True, **given)  # type: ignore[arg-type]
    assert isinstance(found, PrivateTable)
    return found


def test_real_records_go_out_only_where_somebody_said_so() -> None:
    with pytest.raises(RefusedError, match="records_may_be_seen=True"):
        bp.private_table(framework(network()), table(), 1.0)
    assert str(made()).startswith("Single persons are not protected, real records are handed on")


def test_a_filled_table_has_as_many_records_and_nearly_the_same_answers() -> None:
    import pandas as pd

    found = made()
    assert isinstance(found.table, pd.DataFrame)
    assert list(found.table.columns) == ["ill", "smokes"]
    assert len(found.table) == sum(found.sizes) == RECORDS
    assert found.weights == {"ill = yes": 1.0, "other records": 1.0}
    true = int((table().ill == "yes").sum())
    assert abs(found.sizes[0] - true) < 200
    assert int((found.table.ill == "yes").sum()) == found.sizes[0]
    assert found.answer('count(ill == "yes")') == (float(found.sizes[0]),)


def test_an_answer_says_what_it_is_and_how_much_it_errs() -> None:
    found = made()
    one, several = found.answer('count(ill == "yes")'), found.answer("histogram(ill)")
    assert one == (one[0],)
    assert one.error is not None
    assert one.error > 0
    planned = bp.plan_table(framework(network()), 1.0, queries=['count(ill == "yes")']).errors["fill"][0]
    assert one.error == pytest.approx(planned)
    lines = str(one).splitlines()
    assert lines[0] == f'count(ill == "yes") = {one[0]:,.0f}'
    assert lines[1].startswith("Mean error: about ")
    assert [line.partition(" = ")[0] for line in str(several).splitlines()[:2]] == [*several.labels]
    assert "of all numbers together" in str(several)
    assert pickle.loads(pickle.dumps(several)) == several
    alone = replace(found, framework=None).answer("histogram(ill)")
    assert alone.error is None
    assert "Mean error" not in str(alone)


def test_answers_of_a_trimmed_table_stand_for_all_records() -> None:
    found = made("trim", 1e-6)
    assert sum(found.sizes) == RECORDS - 2 * 137
    assert found.answer('count(ill == "yes")')[0] == pytest.approx(found.noisy[0])
    assert sum(found.answer("histogram(ill)")) == pytest.approx(RECORDS)
    shares = found.answer('proportion(smokes == "yes")')[0]
    assert shares == pytest.approx(float((table().smokes == "yes").mean()), abs=0.02)


def test_answers_of_several_columns_and_means() -> None:
    import pandas as pd

    records = 3_000
    random = np.random.default_rng(1)
    data = pd.DataFrame({"ill": random.choice(["no", "yes"], records), "days": random.integers(1, 9, records)})
    schema = bp.Schema(records=records, columns={"ill": SCHEMA["ill"], "days": bp.Integer(1, 9)})
    found = bp.private_table(ILL, data, 1.0, 1e-4, schema=schema, records_may_be_seen=True)
    assert isinstance(found, PrivateTable)
    assert found.answer("mean(days)")[0] == pytest.approx(float(data.days.mean()), abs=0.2)
    assert found.answer("total(days)")[0] == pytest.approx(float(data.days.sum()), rel=0.05)
    spread = float(data.days.var(ddof=0))
    assert found.answer("variance(days)") == pytest.approx([spread], rel=0.1)
    assert found.answer("std(days)") == pytest.approx([spread**0.5], rel=0.1)
    assert found.answer("median(days, [1, 3, 5, 7, 9])")[0] == pytest.approx(float(data.days.median()), abs=1)
    kept = bp.private_table(ILL, data, 1.0, 1e-4, schema=schema, hidden=True)
    assert isinstance(kept, bp.types.HiddenTable)
    asked = kept.ask("std(days)", 50.0)
    assert asked.value == pytest.approx(spread**0.5, rel=0.2)
    assert len(asked.labels) == 1
    both = found.answer("stack(mean(days), count(days > 4))")
    assert both[0] == found.answer("mean(days)")[0]
    with pytest.raises(ParameterError, match=r"\.table"):
        found.answer(bp.custom(lambda rows: 1.0, columns=["days"], sensitivity=1.0))


def test_a_report_has_answers_beside_the_promise() -> None:
    found = made()
    told = found.report('count(smokes == "yes")', "histogram(ill)")
    assert "Answers for the true table" in told.text
    data = json.loads(told.to_json())["data"]
    assert data["answers"][1] == {"query": "histogram(ill)", "values": list(found.answer("histogram(ill)"))}
    assert {**data, "answers": []} == json.loads(json.dumps(found.provenance))
    assert "Answers for" not in found.report().text


def test_two_tables_are_never_the_same() -> None:
    first, second = made(), made()
    assert first.table.values.tolist() != second.table.values.tolist()


def test_the_order_of_records_tells_nothing() -> None:
    data = table().sort_values(["ill", "smokes"], ignore_index=True)
    found = bp.private_table(framework(network()), data, 1.0, records_may_be_seen=True)
    ill = (found.table.ill == "yes").to_numpy()  # type: ignore[union-attr]
    half = len(ill) // 2
    first, second = ill[:half].mean(), ill[half:].mean()
    assert abs(first - second) < 6 * math.sqrt(0.3 * 0.7 * 2 / half)


def test_what_is_told_of_it_holds_no_secret_of_the_table() -> None:
    found = made("trim", 1e-6)
    told = json.loads(found.to_json())["data"]
    assert set(told) == {
        "form",
        "guarantee",
        "records",
        "moved",
        "classes",
        "answers",
        "given_up",
        "noise",
        "law",
        "ledger",
    }
    assert [each["size"] for each in told["classes"]] == list(found.sizes)
    assert [each["noisy"] for each in told["classes"]] == list(found.noisy)
    true = int((table().ill == "yes").sum())
    numbers = {found.sizes[0], found.noisy[0]}
    assert str(true) not in found.to_json() or true in numbers
    assert "Single persons" in found.text
    assert repr(found) == (
        f"PrivateTable(single persons not protected; 'trim', {sum(found.sizes):,} records, epsilon=1)"
    )


def test_a_path_gives_a_file_and_another_copy(tmp_path: Path) -> None:
    import pandas as pd

    source, output, copy = (tmp_path / name for name in ("in.parquet", "out.parquet", "copy.parquet"))
    table().to_parquet(source)
    found = bp.private_table(framework(network()), source, 1.0, output=output, records_may_be_seen=True)
    assert isinstance(found, PrivateTable)
    assert found.table == output
    assert len(pd.read_parquet(output)) == RECORDS
    assert found.answer('count(ill == "yes")') == (float(found.sizes[0]),)
    assert found.to_parquet(copy) == copy
    assert pd.read_parquet(copy).equals(pd.read_parquet(output))
    in_memory = made()
    in_memory.to_parquet(copy)
    assert pd.read_parquet(copy).to_numpy().tolist() == in_memory.table.to_numpy().tolist()


def test_output_onto_the_data_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    table().to_parquet(source)
    before = source.read_bytes()
    with pytest.raises((FileError, ParameterError, RefusedError)):
        bp.private_table(framework(network()), source, 1.0, output=source, records_may_be_seen=True)
    assert source.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_data_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError):
        bp.private_table(framework(network()), table().head(50), 1.0, records_may_be_seen=True)
    with pytest.raises(DataError):
        bp.private_table(framework(network()), table()[["ill"]], 1.0, records_may_be_seen=True)


def test_classes_without_a_record() -> None:
    data = table()
    data["ill"] = "no"
    for form, delta in (("fill", 0.0), ("trim", 1e-6)):
        found = bp.private_table(framework(network()), data, 1.0, delta, form, records_may_be_seen=True)
        assert isinstance(found, PrivateTable)
        assert len(found.table) == sum(found.sizes)


def test_gaps_and_values_that_are_not_declared() -> None:
    data = table()
    data["ill"] = data["ill"].astype(object)
    data.loc[:99, "ill"] = None
    data.loc[100:199, "ill"] = "perhaps"
    filled = bp.private_table(framework(network()), data, 1.0, records_may_be_seen=True)
    assert set(filled.table.ill) == {"no", "yes"}  # type: ignore[union-attr]


def test_a_table_of_open_columns_for_parameters() -> None:
    student = bp.example("student")
    found = bp.private_table(student, bp.example_data("student"), 1.0, form="open columns", records_may_be_seen=True)
    assert isinstance(found, bp.types.OpenTable)
    assert sorted(found.found.best.columns) == ["gender", "height", "weight"]
    assert str(found).startswith("Single persons are not protected")
    assert found.guarantee.epsilon == 1.0
    given: dict[str, object] = {"form": "open columns", "records_may_be_seen": True}
    for more in ({"ledger": "ledger.db"}, {"hidden": True}, {"law": network()}, {"shares": "count(a > 1)"}):
        with pytest.raises(ParameterError, match="open columns"):
            bp.private_table(student, bp.example_data("student"), 1.0, **{**given, **more})  # type: ignore[arg-type]
    with pytest.raises(bp.BnprivError, match="open columns"):
        bp.private_table(student, bp.example_data("student"), 1.0, records_may_be_seen=True)
    with pytest.raises(RefusedError, match="private_table"):
        bp.private_table(framework(network()), table(), 1.0, form="open columns", records_may_be_seen=True)


def test_several_counts_by_one_secret() -> None:
    import pandas as pd

    random = np.random.default_rng(3)
    data = pd.DataFrame(
        {"ill": random.choice(["no", "yes"], 9_000), "ward": random.choice(["a", "b", "c", "d"], 9_000)}
    )
    schema = bp.Schema(records=9_000, columns={"ill": SCHEMA["ill"], "ward": bp.Categorical(["a", "b", "c", "d"])})
    hidden = bp.Secret("histogram(ward)", pairs=bp.apart(at_most=5))
    found = bp.private_table(hidden, data, 1.0, 1e-6, schema=schema, records_may_be_seen=True)
    assert isinstance(found, PrivateTable)
    assert len(found.sizes) == 4
    assert sum(found.noisy) == 9_000
    assert all(size == noisy - found.rule.given_up for size, noisy in zip(found.sizes, found.noisy, strict=True))
    assert found.answer("histogram(ward)") == pytest.approx(found.noisy)


def test_the_network_is_not_learned_from_the_very_table() -> None:
    data = table(60)
    learned = bp.DiscreteNetwork.posterior({"smokes": ["ill"]}, data, public="made up", draws=1, seed=1)
    hidden = bp.DatasetAttributePrivacy(learned, SCHEMA, {"ill": ILL}, source="made up")
    with pytest.raises(DataError, match="learned from"):
        bp.private_table(hidden, data.iloc[::-1], 1.0, records_may_be_seen=True)
    assert bp.private_table(hidden, table(61), 1.0, records_may_be_seen=True).rule.form == "fill"
    alone: dict[str, Any] = {"schema": SCHEMA, "law": learned, "records_may_be_seen": True}
    with pytest.raises(DataError, match="learned from"):
        bp.private_table(ILL, data.iloc[::-1], 1.0, **alone)
    assert bp.private_table(ILL, table(61), 1.0, **alone).rule.form == "fill"


@pytest.mark.parametrize("output", ["out.csv", "out", "-", 5, b"out.parquet"])
def test_an_output_is_a_parquet_file_by_its_name(output: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for asked, form in ((framework(network()), None), (bp.example("student"), "open columns")):
        with pytest.raises((FileError, ParameterError), match="parquet"):
            bp.private_table(asked, object(), 1.0, form=form, output=output, records_may_be_seen=True)
    with pytest.raises((FileError, ParameterError), match="parquet"):
        made("trim", 1e-4).to_parquet(output)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["law", "budget", "key", "sampler", "schema", "shares", "ledger", "delta", "hidden"])
def test_open_columns_take_nothing_that_they_would_ignore(name: str) -> None:
    value: Any = {"law": table(), "delta": 1e-6, "hidden": True, "budget": 1.0}.get(name, "text")
    with pytest.raises(ParameterError, match=name):
        bp.private_table(
            bp.example("student"), object(), 1.0, form="open columns", records_may_be_seen=True, **{name: value}
        )


def test_shares_are_of_two_distributions_alone() -> None:
    for asked, given in ((framework(network()), None), (ILL, SCHEMA)):
        with pytest.raises(ParameterError, match="shares"):
            bp.private_table(asked, object(), 1.0, schema=given, shares="count(x == 1)", records_may_be_seen=True)


def test_an_output_that_cannot_be_is_refused_before_the_data_are_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such folder"):
        bp.private_table(
            framework(network()), object(), 1.0, output=tmp_path / "nowhere" / "t.parquet", records_may_be_seen=True
        )


def test_values_of_a_trimmed_table_are_as_they_are_read() -> None:
    import pandas as pd

    schema = bp.Schema(records=200, columns={"ill": SCHEMA["ill"], "age": bp.Integer(0, 9)})
    data = pd.DataFrame({"ill": ["yes", "no", "YES", "gone"] * 50, "age": [-5, 3, 200, None] * 50})
    law = bp.DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "age": [[0.1] * 2] * 10},
        states={"ill": ["no", "yes"], "age": list(range(10))},
        parents={"age": ["ill"]},
        level="records",
    )
    given: dict[str, Any] = {"schema": schema, "law": law, "records_may_be_seen": True}
    trimmed = bp.private_table(ILL, data, 5.0, 0.1, "trim", **given).table
    assert (set(trimmed.ill), set(trimmed.age.dropna())) == ({"yes", "no", "YES", "gone"}, {-5, 3, 200})
    assert trimmed.age.isna().any()
    filled = bp.private_table(ILL, data, 5.0, **given).table
    assert set(filled.ill) == {"yes", "no"}
    assert filled.age.between(0, 9).all()
