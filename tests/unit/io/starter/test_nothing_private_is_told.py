"""Records that pass for names, and public numbers at the ends of what a double holds."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError, FewRecordsWarning, FileError
from bnpriv.io.starter.files import files_to_start, next_steps
from bnpriv.io.starter.header import header_of
from bnpriv.io.starter.public import bounds, common_categories, edges, public_values, refuse_the_same
from bnpriv.io.starter.start import start
from tests.later import Later

pd = Later("pandas")

CANARY = "CANARY-7f3a"
PUBLIC = "age,sex,ill\n" + "".join(f"{20 + k % 50},{'fm'[k % 2]},{'yes' if k % 3 else 'no'}\n" for k in range(90))
LINES = "yes, no.\n\nage: continuous.\nsex: f, m.\n"


def refused(run: Any, *args: Any, **options: Any) -> str:
    """Return all that a refusal says, with what its attributes and its traceback hold."""
    with pytest.raises(BnprivError) as found:
        run(*args, **options)
    error = found.value
    shown = [str(error), repr(error), repr(vars(error)), repr(error.args), repr(error.__cause__)]
    return " ".join([*shown, *traceback.format_exception_only(error)])


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A table without names whose records look like names."""
    path = tmp_path / "ours.csv"
    path.write_text(f"Private,Bachelors,{CANARY}\nState,Masters,x\n", encoding="utf-8")
    return path


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    path.write_text(PUBLIC, encoding="utf-8")
    return path


def test_a_record_of_words_is_not_taken_for_names(words: Path, public: Path, tmp_path: Path) -> None:
    place = tmp_path / "f.toml"
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b,c\n" * 40, encoding="utf-8")
    for table in (public, bare):
        for learn, other in ((table, None), (None, table)):
            said = refused(files_to_start, str(words), place, notion="dataset", learn=learn, public=other)
            assert "option names" in said
            assert CANARY not in said
            assert "Private" not in said
    frame = pd.read_csv(words)
    said = refused(start, frame, records=9, protect="ill", learn=pd.read_csv(public))
    assert "option names" in said
    assert CANARY not in said


def test_a_record_with_one_value_called_like_a_public_column(words: Path, public: Path) -> None:
    words.write_text(f"sex,{CANARY},Private\n", encoding="utf-8")
    said = refused(files_to_start, str(words), None, notion="dataset", public=public)
    assert "option names" in said
    assert CANARY not in said


def test_few_public_records_make_no_category_of_their_own() -> None:
    assert common_categories(["a"] * 171 + ["b"] * 29, []) == ("a",)
    assert common_categories(["a"] * 170 + ["b"] * 30, []) == ("a", "b")


def test_a_record_of_words_is_not_listed_beside_a_misspelt_column(words: Path, tmp_path: Path) -> None:
    said = refused(files_to_start, str(words), None, notion="dataset", protect=["CANARY-7f3"])
    assert "--names" in said
    assert CANARY not in said
    book = tmp_path / "book.csv"
    book.write_text("column,type,lower,upper,categories\nage,real,0,9,\n", encoding="utf-8")
    table, network = pd.read_csv(words), bp.example("hospital").network
    for options in ({}, {"codebook": book}):
        said = refused(start, table, records=9, protect=[], network=network, source="x", **options)
        assert "public bounds or categories" in said
        assert CANARY not in said


def test_one_value_called_like_a_column_makes_no_header(words: Path, tmp_path: Path) -> None:
    words.write_text(f"sex,{CANARY},b\n1,2,3\n", encoding="utf-8")
    book = tmp_path / "a.names"
    book.write_text(LINES, encoding="utf-8")
    text, _ = files_to_start(str(words), None, notion="dataset", codebook=book)
    assert CANARY not in text
    assert "[columns.age]" in text


@pytest.mark.parametrize(
    "content",
    [
        f'age,"sex,ill\n39,{CANARY},no\n',
        f"39;{CANARY};no\n",
        f"39\t{CANARY}\tno\n",
        f"2020-01-31,{CANARY},no\n",
        f"$1.50,{CANARY}\n",
        f"12:30,{CANARY}\n",
        f"{CANARY},a@b.org\n",
        f"{CANARY},NA\n",
        f"true,{CANARY}\n",
        f"\r39,{CANARY}\r",
        f"39,{CANARY}\r40,b\r",
        f"\ufeff39,{CANARY}\n",
    ],
)
def test_first_lines_that_hold_no_names(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8", newline="")
    assert CANARY not in refused(header_of, path)


@pytest.mark.parametrize("content", ["\ufeffage,sex\r1,2\r", 'age,"sex"\r\n1,2,3\r\n', '"age" , sex\n'])
def test_first_lines_that_hold_names(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8", newline="")
    assert [name.strip('"') for name in header_of(path).names] == ["age", "sex"]


def test_the_codebook_is_not_the_private_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"column,type\nage,{CANARY}\n", encoding="utf-8")
    with pytest.raises(FileError) as found:
        files_to_start(str(path), None, notion="dataset", codebook=path)
    assert CANARY not in str(found.value)


def test_one_file_is_the_same_before_it_is_read(public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("bnpriv.io.starter.public._digest")
    with pytest.raises(FileError, match="another than the private one"):
        refuse_the_same(str(public), public)


def test_a_column_without_a_name_in_the_codebook(words: Path, tmp_path: Path) -> None:
    book = tmp_path / "a.names"
    book.write_text(LINES, encoding="utf-8")
    said = refused(files_to_start, str(words), None, notion="dataset", codebook=book, protect=["ill"])
    assert "column 3, which is called 'class' here" in said
    assert '--names "age,...,ill"' in said
    names = ["age", "sex", "ill"]
    text, _ = files_to_start(str(words), None, notion="dataset", codebook=book, protect=["ill"], names=names)
    assert "[protect.ill]" in text
    assert CANARY not in text


NUMBERS = [
    [1e20],
    [-1e20],
    [1.7976931348623157e308],
    [-1.7976931348623157e308, 1.7976931348623157e308],
    [5e-324, 0.0],
    [1e-12, 3e-12],
    [-7.5, -7.25],
    [1e6 + 1e-7, 1e6 + 9e-7],
    [1.7e18, 1.7e18 + 2**20],
    [-0.123456789012345, 0.987654321098765],
    [0.0],
]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_bounds_lie_outside_and_edges_rise(numbers: list[float]) -> None:
    low, high = bounds(numbers)
    assert low <= min(numbers)
    assert max(numbers) <= high
    assert low < high
    found = edges(numbers * 20, low, high)
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (low, high)


def test_public_columns_of_dates_and_of_numbers_without_a_double() -> None:
    dates = pd.to_datetime(["2020-01-31", "2021-02-28"])
    table = pd.DataFrame({"day": dates.date, "huge": pd.Series([10**400, 1], dtype=object), "gone": [None, None]})
    found = public_values(table, ["day", "huge", "gone"])
    assert found["day"] == [18292.0, 18686.0]
    assert found["gone"] == [None, None]
    assert len(found["huge"]) == 2


HEADER = "age,sex,ill\n"


@pytest.mark.parametrize(
    ("name", "first", "copied"),
    [
        ("a.data", "", True),
        ("a.csv", "", True),
        ("b.data", HEADER, True),
        ("b.csv", HEADER, False),
        ("b.tsv", HEADER, False),
    ],
)
def test_the_next_steps_name_a_file_that_a_release_reads(tmp_path: Path, name: str, first: str, copied: bool) -> None:
    path = tmp_path / name
    path.write_text(f"{first}20,f,yes\n30,m,no\n", encoding="utf-8")
    names = None if first else ["age", "sex", "ill"]
    text, _ = files_to_start(str(path), None, notion="dataset", names=names)
    *_, copy, last = ["", *next_steps(text, tmp_path / "f.toml", str(path))]
    assert copy.startswith(f"Copy {path} to a file that ends in .csv") is copied
    assert ("line of names" in copy) == (not first)
    # nothing is protected yet: a plan would be refused
    assert "bnpriv check" in last
    assert last.endswith("COPY.csv") is copied
    assert last.endswith(str(path)) is not copied


def test_the_next_steps_of_a_whole_file_start_with_a_check(tmp_path: Path) -> None:
    private, public = tmp_path / "ours.csv", tmp_path / "public.csv"
    private.write_text(f"{HEADER}20,f,yes\n", encoding="utf-8")
    public.write_text(HEADER + "".join(f"{20 + k % 40},{'fm'[k % 2]},{'yes' if k % 3 else 'no'}\n" for k in range(90)))
    text, _ = files_to_start(
        str(private), tmp_path / "f.toml", notion="dataset", learn=public, protect=["ill"], records=9
    )
    steps = next_steps(text, tmp_path / "f.toml", str(private))
    assert steps[0].startswith("Only 90 public records: ")
    assert [step.split("bnpriv ")[1].split()[0] for step in steps[1:4]] == ["check", "plan", "release"]
    assert steps[4].startswith("How far apart (at_most) is a default: decide it")


@pytest.mark.parametrize("records", [4, 499, 500])
def test_few_public_records_are_told(records: int) -> None:
    public = pd.DataFrame({"sex": ["f", "m"] * 250, "ill": ["no", "yes", "yes", "no"] * 125}).head(records)
    private = pd.DataFrame({"sex": ["f"], "ill": ["no"]})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        start(private, records=5, protect="ill", learn=public, draws=2)
    found = [str(each.message) for each in told if each.category is FewRecordsWarning]
    assert [text.split(":")[0] for text in found] == [f"Only {records} public records"] * (records < 500)
