"""Remedies that can be followed as they stand: the value to pass, the key to write."""

from __future__ import annotations

from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError, NetworkError, ParameterError
from bnpriv.io.examples import example_path
from bnpriv.lab.laws_by_property import laws_by_property
from tests.later import Later

pd = Later("pandas")


def test_a_share_of_records_comes_with_the_nearest_one_and_with_what_the_public_table_has() -> None:
    public = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0] * 50, "rich": [0, 0, 1, 1] * 50})
    asked = bp.mean("age"), bp.proportion(bp.col("rich") == 1)
    with pytest.raises(ParameterError, match=r"nearest share is 27 of 89 records: pass 27 / 89\."):
        laws_by_property(public, *asked, [0.3], records=89)
    laws_by_property(public, *asked, [27 / 89], records=89)
    with pytest.raises(ParameterError, match="From this table 50 to 100 of 150 records can count"):
        laws_by_property(public, *asked, [0.2], records=150)
    laws_by_property(public, *asked, [50 / 150, 100 / 150], records=150)
    with pytest.raises(ParameterError, match="Take a larger public table"):
        laws_by_property(public, *asked, [0.5], records=300)


def test_a_table_of_few_decimals_is_told_both_ways_to_be_normalized() -> None:
    with pytest.raises(NetworkError, match=r"pass normalize=True, in a framework file normalize = true under"):
        bp.DiscreteNetwork.from_tables({"a": [0.5, 0.5001]}, states={"a": ["x", "y"]})


def test_a_property_that_is_missing_comes_with_an_example(tmp_path: Path) -> None:
    source = example_path("four-people")
    for file in source.parent.glob("*.bif"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "framework.toml"
    path.write_text(source.read_text(encoding="utf-8").replace("property =", "# property ="), encoding="utf-8")
    with pytest.raises(BnprivError, match=r"property = .proportion\(NAME == 'STATE'\)"):
        bp.read_framework(path)


def test_a_useless_release_says_so_where_it_is_shown_in_short() -> None:
    framework = bp.example("student")
    poor = bp.mechanisms.ColumnMechanism().calibrate(framework, "count(height > 180)", epsilon=0.001)
    assert poor.useful.verdict == "useless"
    assert repr(bp.release(poor, bp.example_data("student"))).endswith("; useless)")
    good = bp.plan(framework, "count(height > 180)", 1.0).best
    assert "useless" not in repr(bp.release(good, bp.example_data("student")))
