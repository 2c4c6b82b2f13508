"""Which table, and what its columns may hold: what is found, what is said by hand, and what is refused where."""

from __future__ import annotations

import csv
import random
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.app.columns import known_of
from bnpriv.app.memory import declared
from bnpriv.app.state import Draft
from bnpriv.io.framework_text import write_framework
from bnpriv.tables.evaluate import evaluate
from tests.unit.app.page import Page, key_of, protect, said

NAMES = ["id", "age", "smokes", "visited", "score", "<script>alert('1')</script>", '=HYPERLINK("1")', "x" * 300]
NO_FILE = {"table-file": ("", b"")}


def write(path: Path, rows: int, names: Sequence[str] | None = NAMES, sign: str = ";", seed: int = 1) -> None:
    chance = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter=sign)
        table.writerows([] if names is None else [names])
        for _ in range(rows):
            age = chance.choice([str(chance.randint(18, 80))] * 8 + ["", "NA", "999"])
            day = f"{chance.randint(1, 28):02d}.{chance.randint(1, 12):02d}.20{chance.randint(10, 22)}"
            plain = chance.choice("ab"), str(chance.randint(0, 3)), chance.choice("uvw")
            score = f"{chance.random() * 50:.1f}"
            table.writerow([f"P{chance.randrange(10**9)}", age, chance.choice("1229"), day, score, *plain])


@pytest.fixture
def page(tmp_path: Path) -> Page:
    write(tmp_path / "private.csv", 300)
    write(tmp_path / "public.csv", 400, seed=2)
    return Page(tmp_path).open()


def choose(page: Page, table: str = "private.csv", status: int = 200, public: str = "public.csv", **more: str) -> str:
    return page.send("table", status, NO_FILE, table=table, public=public, **{"records": "300", **more})


def beside(shown: str) -> tuple[str, str]:
    """The field that caused a refusal, and what is said there."""
    field, rest = re.findall('id="([^"]+)-refusal"(.*)', shown, flags=re.S)[-1]
    return field, said(f"<main{rest}")


def line(shown: str, name: str) -> str:
    """What the page says of a column."""
    lines = [said(f"<main{each}") for each in re.findall("<summary>(.*?)</summary>", shown)]
    return next(each for each in lines if each.startswith(name))


# --------------------------------------------------------------------------------------------------
# Table.
# --------------------------------------------------------------------------------------------------


def test_what_the_columns_are_and_what_is_left_out_and_why(page: Page) -> None:
    for shown in (choose(page), page.get("table")):
        assert "private.csv has 8 columns; 7 can be asked about" in said(shown)
        assert "Fields are separated by semicolons." in said(shown)
        assert "id: left out, and no query can read it: 400 of its 400 public values come once" in said(shown)
        assert "999" in said(shown)
        assert "read it as number: say so under Columns." in said(shown)
        assert "--as" not in shown
        assert "<script>alert" not in shown
    shown = page.get("columns")
    assert "What meets no condition is in no count." in said(shown)
    assert line(shown, "id") == "id left out 400 of its 400 public values come once: a name, an id or a free text."
    assert re.fullmatch(
        r"age whole numbers 18 to 80, in 5 bins cut at .* A gap, or 999, meets no condition\. "
        r"From the values in public\.csv, 400 public records\.",
        line(shown, "age"),
    )
    assert line(shown, "visited").startswith("visited dates 2009-12-")
    assert line(shown, "<script>").startswith("<script>alert('1')</script> 3 labels: a, b, other A gap, or a label")


@pytest.mark.parametrize(
    ("content", "field", "told"),
    [
        ("age;gr\u00f6\u00dfe\n1;2\n".encode("latin-1"), "table", "must be UTF-8"),
        ("age;size\n1;2\n".encode("utf-16"), "table", "must be UTF-8"),
        (b"", "table", "must start with a line of fields"),
        (b"age,age\n1,2\n", "names", "the same text twice"),
        (b"age,,sex\n1,2,3\n", "names", "gaps"),
        (b"39,canary,yes\n", "names", "the first line must name the columns"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_beside_its_field(
    page: Page, content: bytes, field: str, told: str
) -> None:
    (page.desk.place.folder / "odd.csv").write_bytes(content)
    found, words = beside(choose(page, "odd.csv", 422))
    assert found == field
    assert told in words
    assert "canary" not in words
    assert page.desk.state == Draft()


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"table": ""}, "table", "a private table is needed"),
        ({"table": "no.csv"}, "table", "Choose"),
        ({"table": "broken.parquet"}, "table", "a Parquet file must be readable"),
        ({"records": ""}, "records", "is needed; found none"),
        ({"records": "0"}, "records", "at least 1"),
        ({"records": "2.5"}, "records", "whole number"),
        ({"records": "many"}, "records", "digits"),
        ({"public": "other.csv"}, "public", "must have the columns of the private one"),
        ({"public": "latin.csv"}, "public", "UTF-8"),
        ({"public": "private.csv"}, "public", "another than the private one"),
        ({"book": "book.csv"}, "book", "the lower bound must be below the upper one"),
        ({"names": "a, b"}, "names", "2 names for 8 columns"),
        ({"names": 'a, "b'}, "names", "commas"),
    ],
)
def test_what_stands_beside_the_table_is_refused_beside_its_field(
    page: Page, fields: dict[str, str], field: str, told: str
) -> None:
    folder = page.desk.place.folder
    (folder / "broken.parquet").write_text("hello")
    (folder / "other.csv").write_text("a;b\nc;d\n")
    (folder / "book.csv").write_text("column,type,lower,upper,categories\nage,real,9,3,\n")
    (folder / "latin.csv").write_bytes(";".join(NAMES).encode() + b"\n" + b";".join([b"\xf6"] * 8) + b"\n")
    found, words = beside(choose(page, **{"status": 422, **fields}))  # type: ignore[arg-type]
    assert found == field
    assert told in words
    assert page.desk.state == Draft()


def test_a_table_without_a_line_of_names_goes_on_as_a_copy_with_one(page: Page) -> None:
    write(page.desk.place.folder / "plain.csv", 300, None, ",")
    original = (page.desk.place.folder / "plain.csv").read_bytes()
    (page.desk.place.folder / "plain.csv").write_bytes(b"\xef\xbb\xbf" + original)
    names = 'id, age, "smokes, or not", visited, score, a, b, c'
    choose(page, "plain.csv", public="", names=names)
    copy = Path(page.desk.state.table)
    assert copy.read_bytes() == b'"id","age","smokes, or not","visited","score","a","b","c"\n' + original
    assert copy.stat().st_mode & 0o077 == 0
    # going back and on keeps it; other names are for the table itself
    assert 'value="*" selected' in page.get("table")
    choose(page, "*", public="", names=names)
    assert Path(page.desk.state.table) == copy
    assert beside(choose(page, "*", 422, public="", names="a,b,c,d,e,f,g,h"))[0] == "names"


def test_another_private_table_of_the_same_columns(page: Page) -> None:
    """A model that was made holds for another private table, and not for one that is read otherwise."""
    choose(page)
    page.send("columns", as__7="id")  # no network file holds so long a name
    state = page.desk.state
    made = bp.start(state.table, records=300, protect="smokes", learn=state.public, read_as=state.read_as)
    path = page.desk.place.new_model()
    write_framework(made, path)
    page.desk.keep(replace(state, framework=str(path)))
    # the bins were right before the model was learned
    assert {name: known_of(state).columns[name].column for name in made.schema.columns} == dict(made.schema.columns)
    assert "A change here makes the model anew" in said(page.get("columns"))
    write(page.desk.place.folder / "second.csv", 300, seed=3)
    choose(page, "second.csv")
    assert page.desk.state.framework == str(path)
    write(page.desk.place.folder / "third.tsv", 300, sign="\t", seed=3)
    choose(page, "third.tsv")
    assert not page.desk.state.framework
    choose(page, "second.csv", records="301")
    assert not page.desk.state.framework


def test_a_table_of_a_framework_file_must_have_its_columns(tmp_path: Path) -> None:
    from bnpriv.io.examples import example_path

    write(tmp_path / "private.csv", 3)
    page = Page(tmp_path, example_path("hospital")).open()
    field, told = beside(page.send("table", 422, NO_FILE, table="private.csv"))
    assert field == "table"
    assert "none of that name" in told


# --------------------------------------------------------------------------------------------------
# Columns.
# --------------------------------------------------------------------------------------------------

BY_HAND = {
    "as__1": "whole", "holds__1": "0, 18, 65, 90", "shares__1": "0.2, 0.6, 0.2", "codes__1": "99, 999",
    "as__2": "category", "holds__2": "1, 2", "shares__2": "0.3, 0.7",
    "as__3": "DD.MM.YYYY", "holds__3": "2009-01-01, 2015-01-01, 2023-12-31", "shares__3": "0.4, 0.6",
    "codes__3": "1900-01-01",
    "as__4": "id",
}  # fmt: skip


def test_how_numbers_are_written_is_said_where_no_public_table_shows_it(tmp_path: Path) -> None:
    marks = [f"{k % 6},{k % 10}" for k in range(300)]
    rows = ["mark;passed", *(f"{mark};{'yes' if k % 3 else 'no'}" for k, mark in enumerate(marks)), ""]
    (tmp_path / "private.csv").write_text("\n".join(rows), encoding="utf-8")
    page = Page(tmp_path).open()
    by_hand = {"holds__0": "0, 2, 6", "shares__0": "0.5, 0.5", "as__1": "category", "holds__1": "no, yes"}
    for decimal, told in (("", True), (",", False)):
        choose(page, public="", decimal=decimal)
        shown = page.send("columns", as__0="number", shares__1="0.5, 0.5", **by_hand)
        shown = page.get("columns")
        assert ("counts as a gap. Where they are, say so under Table." in said(shown)) is told
    protect(page, 1)
    page.send("model", act="add", above="1", below="0", strength="2")
    schema = declared(page.desk.state).schema
    exact = evaluate(bp.total("mark"), schema, tmp_path / "private.csv").values[0]
    assert exact == sum(Fraction(mark.replace(",", ".")) for mark in marks)
    page.send("question", query="total(mark)")
    assert "decimal=','" in said(page.get("downloads"))


def test_what_is_said_by_hand_is_a_codebook_that_the_shell_takes_too(page: Page) -> None:
    choose(page, public="")
    assert line(page.get("columns"), "age") == "age left out nothing public says what it may hold."
    page.send("columns", **BY_HAND)
    state = page.desk.state
    made = bp.start(
        state.table, records=300, protect="age", codebook=state.codebook, read_as=state.read_as,
        edges="age -> smokes", strength=2,
    )  # fmt: skip
    assert made.schema["age"] == bp.Binned([0, 18, 65, 90], within="whole numbers")
    assert made.schema["smokes"] == bp.Categorical(["1", "2"])
    assert made.schema.dialect.codes["age"] == (99, 999)
    shown = page.get("columns")
    assert line(shown, "age") == (
        "age whole numbers 0 to 90, in 3 bins cut at 18 and 65 A gap, or 99 or 999, counts as 45. "
        "From what you wrote, read as you said."
    )
    assert line(shown, "visited").startswith(
        "visited dates 2009-01-01 to 2023-12-31, in 2 bins cut at 2015-01-01 A gap, or 1900-01-01, counts as"
    )
    assert "one that is written 0,5 counts as a gap" in said(shown)  # nothing public shows it
    assert line(shown, "score") == "score left out it was said to be an id."
    assert line(shown, "id") == "id left out what you wrote has no shares of it."
    assert 'value="0, 18, 65, 90"' in shown
    # what is emptied is as it looks again
    page.send("columns", **dict.fromkeys(BY_HAND, ""))
    assert (page.desk.state.codebook, page.desk.state.read_as, page.desk.state.facts) == ("", {}, {})


@pytest.mark.parametrize(("name", "names"), [("plain.csv", "id, age, smokes, d, e, f, g, h"), ("tabs.tsv", "")])
def test_the_road_without_anything_public_but_what_is_said_by_hand(page: Page, name: str, names: str) -> None:
    write(page.desk.place.folder / name, 300, None if names else NAMES, "," if names else "\t")
    choose(page, name, public="", names=names)
    page.send("columns", **BY_HAND)
    protect(page, 0)
    page.send("model", act="add", above="0", below="1", strength="2")
    page.send("question", act="ask", query='count(smokes == "2")')
    page.send("strength", epsilon="1", delta="0")
    released = said(page.send("release", key=key_of(page.get("release")), budget="3"))
    assert "Spent: epsilon 1 of 3" in released
    assert page.desk.state.releases


def test_what_is_said_by_hand_goes_before_what_is_public(page: Page) -> None:
    (page.desk.place.folder / "book.toml").write_text('[columns.smokes]\ncategories = ["1", "2", "9"]\n')
    choose(page, book="book.toml")
    shown = page.send("columns", holds__1="0, 100", codes__1="none", as__5="id", act="look")
    assert line(shown, "age").startswith("age whole numbers 0 to 100, in ")
    assert "999" not in line(shown, "age")
    assert "3 labels: 1, 2, 9" in line(shown, "smokes")
    assert Path(page.desk.state.book).name == "book.toml"


@pytest.mark.parametrize(
    ("field", "text", "told"),
    [
        ("holds.4", "9, 1", "below the upper one"),
        ("holds.4", "0, 5, 3, 9", "edges"),
        ("holds.4", "5", "two numbers"),
        ("holds.4", "inf, 2", "finite number"),
        ("holds.4", "0, 9o", "finite number"),
        ("holds.5", "a, a", "must differ"),
        ("holds.5", '"a', "commas"),
        ("holds.5", "0, 1", "must hold numbers in the public table"),
        ("shares.5", "0.5, 0.5", "one share for each"),
        ("shares.5", "half", "finite number"),
        ("codes.1", "x", "finite number"),
        ("as.1", "nonsense", "read as"),
    ],
)
def test_what_is_said_by_hand_is_refused_beside_its_field(page: Page, field: str, text: str, told: str) -> None:
    choose(page)
    before = page.desk.state
    shown = page.send("columns", 422, **{field.replace(".", "__"): text, "as__6": "number"})
    found, words = beside(shown)
    assert found == field
    assert told in words
    assert page.desk.state == before
    assert shown.count('<details class="folded column" open>') == 1


def test_a_column_that_was_protected_and_is_left_out_now_is_told_and_comes_back(page: Page) -> None:
    choose(page)
    protect(page, 1)
    page.send("columns", as__2="id")
    assert "Protected before, and not possible now: smokes." in said(page.get("columns"))
    page.send("columns", as__2="")
    assert "Protected before" not in said(page.get("columns"))
    assert page.desk.state.hidden["smokes"].at_most == 10


def test_what_was_said_of_another_table_stays_and_is_told_where_it_does_not_fit(page: Page) -> None:
    folder = page.desk.place.folder
    write(folder / "other.csv", 300, [f"other {k}" for k in range(8)])
    (folder / "three.toml").write_text('[columns.smokes]\ncategories = ["1", "2", "9"]\n')
    (folder / "two.toml").write_text('[columns.smokes]\ncategories = ["1", "2"]\n')
    choose(page, public="", book="three.toml")
    page.send("columns", shares__2="0.2, 0.5, 0.3", as__1="number")
    choose(page, "other.csv", public="")
    assert page.desk.state.read_as == {}
    choose(page, public="", book="three.toml")
    assert page.desk.state.read_as == {"age": "number"}
    choose(page, public="", book="two.toml")
    field, told = beside(page.get("columns"))
    assert field == "shares.2"
    assert "one share for each" in told


def test_a_page_about_another_table_is_refused(page: Page) -> None:
    choose(page)
    of = re.findall('name="of" value="([^"]+)"', page.get("columns"))[0]
    write(page.desk.place.folder / "other.csv", 300, [f"other {k}" for k in range(8)])
    choose(page, "other.csv", public="")
    before = page.desk.state
    assert "the table that was chosen last" in said(page.send("columns", 422, of=of, as__1="number"))
    assert page.desk.state == before


def test_many_columns_are_a_page_that_can_be_used(page: Page) -> None:
    names = [f"question {k}" for k in range(40)]
    for name, seed in (("many.csv", 3), ("survey.csv", 4)):
        chance = random.Random(seed)
        rows = [",".join(chance.choice("abc") for _ in names) for _ in range(500)]
        (page.desk.place.folder / name).write_text("\n".join([",".join(names), *rows, ""]))
    choose(page, "many.csv", public="survey.csv")
    start = time.process_time()
    shown = page.get("columns")
    assert time.process_time() - start < 3
    assert shown.count('<details class="folded column">') == 40
    for id_ in re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', shown):
        assert f'for="{id_}"' in shown


def test_a_table_of_a_thousand_columns_is_shown_at_once(tmp_path: Path) -> None:
    """In proportion to their number: by its third power it would take half a minute."""
    (tmp_path / "wide.csv").write_text(",".join(f"c{k}" for k in range(1000)) + "\n", encoding="utf-8")
    page = Page(tmp_path).open()
    page.send("table", files={"table-file": ("", b"")}, table="wide.csv", records="100")
    begun = time.process_time()
    page.get("columns")
    assert time.process_time() - begun < 5
