"""What of a framework file does not fit its columns is told when it is read: queries, properties and states."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnpriv.errors import BnprivError, FileProblemsError, FrameworkError, QueryError, SecretError
from bnpriv.io.framework_file import read_framework

NETWORK = """
variable ill { type discrete [ 2 ] { no, yes }; }
variable town { type discrete [ 3 ] { north, south, west }; }
probability ( ill ) { table 0.9, 0.1; }
probability ( town | ill ) { (no) 0.3, 0.3, 0.4; (yes) 0.2, 0.4, 0.4; }
"""

TEXT = """notion = "dataset"
source = "a survey"
[network]
file = "network.bif"
[records]
count = 100
[columns.ill]
type = "categorical"
categories = ["no", "yes"]
[columns.town]
type = "categorical"
categories = ["north", "south", "west"]
[columns.age]
type = "real"
lower = 0
upper = 100
[protect.ill]
property = 'count(ill == "yes")'
at_most = 5
[queries]
first = 'count(town == "north")'
old = 'stack(count(age >= 65), median(age, [0, 50, 100]))'
"""


def read(folder: Path, *changes: tuple[str, str]) -> object:
    (folder / "network.bif").write_text(NETWORK, encoding="utf-8")
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "f.toml"
    path.write_text(text, encoding="utf-8")
    return read_framework(path)


def test_what_fits_is_read(tmp_path: Path) -> None:
    read(tmp_path)


TOWNS = '["north", "south", "west"]'
UNFIT: dict[str, tuple[str, str, type[BnprivError], str]] = {
    "a property's label": ('"yes")', '"Yes")', QueryError, "line 18, [protect.ill]: 'ill' is compared with its cat"),
    "a property's column": ("ill ==", "towns ==", SecretError, "line 18, [protect.ill]: the secret of 'ill' must be"),
    "another column": ('ill == "yes"', 'town == "west"', SecretError, "write the section [protect.town]"),
    "a query's column": ("(town", "(townn", QueryError, "line 21, [queries] first: the columns must be among"),
    "a query's label": ('"north")', '"Nort")', QueryError, "line 21, [queries] first: 'town' is compared with its"),
    "a mean of texts": ("count(age >= 65)", "mean(town)", QueryError, "line 22, [queries] old: the column 'town' must"),
    "a number as a text": ("65", '"old"', QueryError, "line 22, [queries] old: 'age' holds numbers"),
    "edges that end early": ("50, 100]", "50]", QueryError, "line 22, [queries] old: the edges of a quantile"),
    "no category of a state": (TOWNS, '["north", "south"]', FrameworkError, "line 12, [columns.town]: the states of"),
    "a category without a state": (TOWNS, '["north", "south", "west", "x"]', FrameworkError, "found 'x', which no"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_is_told_by_its_line(tmp_path: Path, case: str) -> None:
    old, new, error, words = UNFIT[case]
    with pytest.raises(error) as refused:
        read(tmp_path, (old, new))
    assert words in str(refused.value)


def test_all_of_it_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileProblemsError) as refused:
        read(tmp_path, ('"yes")', '"Yes")'), ("(town", "(townn"), ("65", '"old"'))
    assert len(refused.value.problems) == 3


def test_states_that_are_bins_with_laws_need_not_be_categories(tmp_path: Path) -> None:
    laws = "".join(
        f'[laws.town.{state}]\ncategorical = {{ "a" = {mass}, "b" = {1 - mass} }}\n'
        for state, mass in (("north", 0.25), ("south", 0.5), ("west", 0.75))
    )
    read(tmp_path, (TOWNS, '["a", "b"]'), ('"north")', '"a")'), ("[queries]", laws + "[queries]"))


PLAIN: dict[str, tuple[str, str, str]] = {
    "a count in quotes": ("= 100\n[c", '= "100"\n[c', "found a text. Declare the number of rows."),
    "a count with a point": ("= 100\n[c", "= 100.5\n[c", "found a number with a decimal point"),
    "categories as a text": (TOWNS, '"north"', "found a text. Write ["),
    "a distance as a text": ("= 5", '= "five"', "at_most must be a number; found a text in quotes. Pass"),
    "a notion that is a number": ('"dataset"', "3", "found a whole number"),
    "a truth value": ("upper = 100", "upper = true", "found a truth value"),
    "a table": ("upper = 100", "upper = {a = 1}", "found a table"),
    "edges that fall": ('"real"\nlower = 0\nupper = 100', '"binned"\nedges = [3, 1]', "Write edges = [17, 25, 45, 90]"),
}


@pytest.mark.parametrize("case", PLAIN)
def test_what_was_found_is_named_as_in_a_file(tmp_path: Path, case: str) -> None:
    old, new, words = PLAIN[case]
    with pytest.raises(BnprivError) as refused:
        read(tmp_path, (old, new))
    assert words in str(refused.value)


def test_an_edge_too_many_is_no_slip_of_a_label(tmp_path: Path) -> None:
    laws = '[columns.age.within]\n"[0, 50)" = "uniform"\n"[50, 100]" = "uniform"\n[protect.ill]'
    binned = 'type = "binned"\nedges = [0, 65, 100]'
    with pytest.raises(BnprivError, match="Give every bin that the edges make one distribution"):
        read(tmp_path, ('type = "real"\nlower = 0\nupper = 100', binned), ("[protect.ill]", laws))
