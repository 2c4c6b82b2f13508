"""What `init` finds in a public table: it is said, written into the file, and the private table is read so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.core.columns import Binned
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.errors import FewRecordsWarning, FoundInPublicWarning, ParameterError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.starter.codebook import numbers_as_states
from bnpriv.io.starter.public import found_public
from bnpriv.io.starter.start import start
from bnpriv.tables.evaluate import evaluate
from tests.later import Later

pd = Later("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::bnpriv.errors.FewRecordsWarning")

N = 800


def german(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def newcomer() -> tuple[Any, dict[str, Any]]:
    """Return a table as a spreadsheet writes it, and what its columns mean."""
    rng = np.random.default_rng(5)
    ill = rng.random(N) < 0.3
    days = rng.integers(-11000, 14000, N)
    unknown = rng.random(N) < 0.03
    income = np.where(rng.random(N) < 0.4, 0, rng.lognormal(7.5, 0.6, N) + 300 * ill).round(2)
    ages = rng.triangular(18, 40, 93, N).astype(int)
    texts = pd.Series(pd.to_datetime(np.where(unknown, -25567, days), unit="D")).dt.strftime("%d.%m.%Y")
    table = pd.DataFrame(
        {
            "personnel_nr": rng.permutation(90000)[:N] + 10000,
            "mail": [f"p{k}@example.org" for k in range(N)],
            "born": texts,
            "income": [german(each) for each in income],
            "age": np.where(rng.random(N) < 0.03, 999, ages),
            "town": np.where(rng.random(N) < 0.1, None, rng.choice(["K", "B"], N)),
            "ill": np.where(ill, "yes", "no"),
        }
    )
    half = slice(0, N, 2)
    meant = {
        "days": np.where(unknown, -99999, days)[half],
        "income": income[half],
        "ages": table["age"].to_numpy()[half],
    }
    return table, meant


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("newcomer")
    table, _ = newcomer()
    table.iloc[::2].to_csv(place / "ours.csv", sep=";", index=False)
    table.iloc[1::2].to_csv(place / "public.csv", sep=";", index=False)
    return place


@pytest.fixture(scope="module")
def said(folder: Path) -> str:
    ours, public, out = (str(folder / name) for name in ("ours.csv", "public.csv", "f.toml"))
    asked = ["init", ours, "--learn", public, "--protect", "ill", "--records", "400", "--notion", "dataset", "-o", out]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.exception
    return done.stdout


def test_it_is_said_line_by_line_before_the_file_is_written(said: str, folder: Path) -> None:
    before, _, after = said.partition(f"{folder / 'f.toml'} written.")
    assert before.splitlines() == [
        "Fields are separated by semicolons, decimals behind ',', thousands apart by '.'.",
        "born: dates as DD.MM.YYYY, read as days since 1970-01-01.",
        "born: 1900-01-01 (14 public records) looks like a code, and counts as missing; if it is none, read "
        "it as days: --as born=days.",
        "age: 999 (16 public records) looks like a code, and counts as missing; if it is none, read it as "
        "number: --as age=number.",
        "income: much of its public mass is at 0 (39%): bins of their own.",
        "personnel_nr: left out, and no query can read it: all its 400 public values differ: a running number or "
        "another id.",
        "mail: left out, and no query can read it: 400 of its 400 public values come once: a name, an id or a free "
        "text.",
    ]
    assert "bnpriv check" in after


def test_the_private_table_is_read_as_the_public_one_is_written(said: str, folder: Path) -> None:
    framework = read_framework(folder / "f.toml")
    _, meant = newcomer()
    assert set(framework.schema.columns) == {"born", "income", "age", "town", "ill"}
    asked = {
        "count(born >= 1980-01-01)": int((meant["days"] >= 3652).sum()),
        "count(income > 0)": int((meant["income"] > 0).sum()),
        "count(income >= 1500)": int((meant["income"] >= 1500).sum()),
        "count(age >= 70)": int(((meant["ages"] >= 70) & (meant["ages"] < 999)).sum()),
    }
    for query, truth in asked.items():
        assert evaluate(bp.parse_query(query), framework.schema, folder / "ours.csv").values == (truth,), query
    plan = bp.plan(framework, "mean(income)", 1.0)
    low, high = bp.release(plan.best, folder / "ours.csv").interval(0.999)
    assert low <= meant["income"].mean() <= high
    in_commas = folder / "commas.csv"
    pd.read_csv(folder / "ours.csv", sep=";").to_csv(in_commas, index=False)
    with pytest.raises(bp.BnprivError, match="separated by semicolons; found commas"):
        bp.release(plan.best, in_commas)


def test_the_framework_is_read_back_as_it_was(said: str, folder: Path) -> None:
    with pytest.warns(FoundInPublicWarning, match="income: much of its public mass"):
        framework = start(folder / "ours.csv", records=400, protect="ill", learn=folder / "public.csv")
    assert isinstance(framework, DatasetAttributePrivacy)
    assert read_framework(folder / "f.toml").schema == framework.schema
    *_, file = framework.to_file(folder / "again.toml")
    assert repr(read_framework(file).schema) == repr(framework.schema)


def test_made_up_tables_are_written_as_they_are_read(said: str, folder: Path) -> None:
    framework, made = folder / "f.toml", folder / "made.csv"
    done = CliRunner().invoke(app, ["simulate", str(framework), "-o", str(made)])
    assert done.exit_code == 0, done.exception
    assert made.read_text(encoding="utf-8").startswith("born;income;age;town;ill\n")
    findings = bp.check_data(read_framework(framework), made).findings
    numbers = {each.problem for each in findings if each.column in ("born", "income", "age")}
    assert numbers <= {"missing values"}


def test_no_private_value_changes_what_is_found(folder: Path, tmp_path: Path) -> None:
    header, *records = (folder / "ours.csv").read_text(encoding="utf-8").splitlines()
    texts: set[str] = set()
    for k, lines in enumerate((records, ["x;y;1.5;2020-01-01;-1;z;z"] * 3)):
        private, out = tmp_path / "ours.csv", tmp_path / f"{k}.toml"
        private.write_text("\n".join([header, *lines]), encoding="utf-8")
        asked = ["init", str(private), "--public", str(folder / "public.csv"), "--notion", "dataset", "-o", str(out)]
        done = CliRunner().invoke(app, asked)
        texts.add(done.stdout.replace(str(out), "") + out.read_text(encoding="utf-8"))
    assert len(texts) == 1


def test_a_number_of_a_query_is_no_other_one_in_the_tables(said: str, folder: Path) -> None:
    for query, refused in (
        ("count(income > 2.000)", True),
        ("count(income > 2000.5)", False),
        ("count(age > 40)", False),
    ):
        done = CliRunner().invoke(app, ["plan", str(folder / "f.toml"), "--query", query, "--epsilon", "1"])
        assert (done.exit_code != 0) is refused
        assert not refused or "read as 2000" in str(done.exception)


def test_check_tells_the_owner_what_of_the_private_table_is_no_such_text(said: str, folder: Path) -> None:
    lines = (folder / "ours.csv").read_text(encoding="utf-8").splitlines()
    table, _ = newcomer()
    table = table.iloc[::2].copy()
    table.loc[table.index[:3], "born"] = "1990-01-01"
    table.loc[table.index[:2], "income"] = "1,234.5"
    table.loc[table.index[:5], "age"] = -99
    odd = folder / "odd.csv"
    table.to_csv(odd, sep=";", index=False)
    assert len(lines) == 401
    found = {
        (each.column, each.problem): each.rows
        for each in bp.check_data(read_framework(folder / "f.toml"), odd).findings
    }
    assert found["born", "values that are no dates as DD.MM.YYYY"] == 3
    assert found["income", "values that are no numbers"] == 2
    assert found["age", "far from all other values, which looks like a code for a missing one: -99"] == 5


def public(**columns: list[Any]) -> Any:
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["1.5", "20.25"] * 20, [1.5, 20.25]),
        (["1,5", "20,25"] * 20, [1.5, 20.25]),
        (["1.000,5", "20"] * 20, [1000.5, 20.0]),
        (["1,000.5", "20"] * 20, [1000.5, 20.0]),
        (["1.000.000", "20"] * 20, [1e6, 20.0]),
        (["2020-01-31", "2020-02-01"] * 20, [18292.0, 18293.0]),
        (["01/31/2020", "02/01/2020"] * 20, [18292.0, 18293.0]),
        (["31/01/2020", "01/02/2020"] * 20, [18292.0, 18293.0]),
        (["01/02/2020", "02/03/2020"] * 20, ["01/02/2020", "02/03/2020"]),
        (["a,b", "c.d"] * 20, ["a,b", "c.d"]),
        ([*map(str, range(100)), "n/a"], [0.0, 1.0]),
    ],
)
def test_what_texts_are_read_as(values: list[str], read: list[Any]) -> None:
    table = public(x=values, id=["a", "b"] * (len(values) // 2) + ["a"] * (len(values) % 2))
    found = found_public(table, ["x", "id"])
    assert found.values["x"][:2] == read
    if "/0" in values[0] and read[0] == values[0]:
        assert "day or month may come first" in found.notes[0]


def test_semicolons_decide_where_points_may_part_thousands(tmp_path: Path) -> None:
    for sign, read in ((";", 1500.0), (",", 1.5)):
        file = tmp_path / "public.csv"
        file.write_text(f"x{sign}y\n" + f"1.500{sign}a\n2.250{sign}b\n" * 20, encoding="utf-8")
        assert found_public(file, ["x", "y"]).values["x"][0] == read


def test_numbers_that_name_people_are_ids() -> None:
    """Bins of them had edges at -10,000,000,000,000,000."""
    rng = np.random.default_rng(3)
    long = np.where(rng.random(600) < 0.02, -1, rng.integers(10**16, 10**17, 600))
    chosen = rng.choice(rng.integers(10_000, 10**6, 300), 600)
    table = public(
        personnel=long.tolist(),
        personnel_number=chosen.tolist(),
        number_of_steps=chosen.tolist(),
        room_number=rng.integers(100, 400, 600).tolist(),
        seen=["a", "b"] * 300,
    )
    found = found_public(table, table.columns.tolist())
    assert set(found.left_out) == {"personnel", "personnel_number"}
    assert "16 digits" in found.left_out["personnel"]
    told = {"personnel": "number", "personnel_number": "number"}
    assert found_public(table, table.columns.tolist(), told=told).left_out == {}


def test_what_a_column_is_read_as_can_be_said() -> None:
    rng = np.random.default_rng(2)
    table = public(
        x=[*rng.permutation(200).tolist()[:120]],
        y=["a", "b"] * 60,
        d=["01/02/2020", "03/02/2020"] * 60,
        c=[1, 2, 3] * 40,
    )
    head = table.head(0)
    with pytest.warns(FoundInPublicWarning, match="x: left out"):
        assert set(start(head, records=9, protect="y", learn=table, draws=2).schema.columns) == {"y", "d", "c"}
    told = {"x": "number", "d": "DD/MM/YYYY", "c": "category", "y": "id"}
    framework = start(head, records=9, protect="c", learn=table, draws=2, read_as=told)
    assert isinstance(framework.schema["x"], Binned)
    assert isinstance(framework.schema["d"], Binned)
    assert framework.schema["d"].edges == (18293, 18294, 18295)
    assert framework.schema["c"] == bp.Categorical(["1", "2", "3", "other"], missing="other")
    assert "y" not in framework.schema.columns
    for wrong, words in (
        ({"d": "days"}, "two ways that 'd' may be written in"),
        ({"y": "days"}, "other texts in 'y'"),
        ({"x": "numbers"}, "must be one of"),
        ({"z": "number"}, "must be one of the table"),
        ({"c": "id"}, "which is left out: it was said to be an id"),
    ):
        with pytest.raises(ParameterError, match=words):
            start(head, records=9, protect="c", learn=table, draws=2, read_as=wrong)
    done = CliRunner().invoke(app, ["init", "x.csv", "--as", "born"])
    assert "NAME=KIND" in str(done.exception)


def test_a_column_that_is_dropped_has_its_true_reason() -> None:
    table = public(one=["a"] * 90, rare=[f"r{k // 3}" for k in range(90)], gone=[None] * 90, y=["a", "b"] * 45)
    with pytest.warns(FoundInPublicWarning) as found:
        start(table.head(0), records=9, protect="y", learn=table, draws=2)
    told = str(found[-1].message if found[-1].category is FoundInPublicWarning else found[0].message)
    assert "rare: left out, and no query can read it: none of its 30 different public values comes 22 times" in told
    assert "gone: left out, and no query can read it: the public table has no value of it." in told
    assert FewRecordsWarning in {each.category for each in found}


def test_bins_say_of_their_numbers_what_the_public_table_says() -> None:
    rng = np.random.default_rng(4)
    known = [*([0.0] * 680), *rng.uniform(0.2, 9, 320).tolist()]
    column = numbers_as_states(known, 0, 9, whole=False)
    assert isinstance(column, Binned)
    law = column.inside(column.labels[0])
    assert law == {0: pytest.approx(680 / 680.5, abs=1e-5), "uniform": pytest.approx(0.5 / 680.5, abs=1e-5)}
    assert column.ends(column.labels[0]) == (0, 0.2)
    assert len(column.labels) == 6
    evenly = numbers_as_states(rng.uniform(0, 9, 400).tolist(), 0, 9, whole=False)
    assert isinstance(evenly, Binned)
    assert evenly.within == "uniform"
    top = numbers_as_states([*([1.0] * 500), *rng.uniform(0, 0.9, 500).tolist()], 0, 1, whole=False)
    assert isinstance(top, Binned)
    assert top.inside(top.labels[-1]) == {
        1: pytest.approx(500 / 500.5, abs=1e-5),
        "uniform": pytest.approx(0.001, abs=1e-4),
    }
