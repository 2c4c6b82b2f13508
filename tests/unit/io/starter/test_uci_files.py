"""Files as in the UCI repository: no names, a codebook with the classes first, comments, full stops at line ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.queries.predicates import Predicate
from bnpriv.errors import FileError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.starter.files import files_to_start
from bnpriv.io.starter.started import started
from bnpriv.tables.evaluate import evaluate

CANARY = "CANARY-7f3a"
BOOK = "| a comment\n>50K, <=50K.\n\nage: continuous.\nsex: Female, Male.\n"
DATA = f"39, Female, >50K\n40, Male, <=50K\n41, {CANARY}, <=50K\n"
TEST = "|1x3 Cross validator\n" + "25, Male, <=50K.\n52, Female, >50K.\n\n" * 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "a.data": DATA,
        "a.test": TEST,
        "a.names": BOOK,
        "b.names": BOOK.replace(">50K, <=50K.", ""),
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def written(folder: Path, data: str, learn: str, book: str | None, names: list[str] | None = None) -> Path:
    place = folder / f"{data}.toml"
    text, files = files_to_start(
        str(folder / data),
        place,
        notion="dataset",
        codebook=None if book is None else folder / book,
        learn=folder / learn,
        names=names,
        protect=["class"],
        records=3,
    )
    for path, content in {**files, place: text}.items():
        path.write_text(content, encoding="utf-8")
    assert CANARY not in text
    return place


def counted(framework: bp.DatasetAttributePrivacy, lines: str, folder: Path, condition: Predicate) -> float:
    copy = folder / "copy.csv"
    copy.write_text(f"age,sex,class\n{lines}", encoding="utf-8")
    return float(evaluate(bp.count(condition), framework.schema, copy).values[0])


def test_both_spellings_of_the_classes_are_read(folder: Path) -> None:
    for data, learn, lines in (
        ("a.data", "a.test", DATA),
        ("stops.data", "plain.test", DATA.replace("50K\n", "50K.\n")),
    ):
        (folder / "stops.data").write_text(DATA.replace("50K\n", "50K.\n"), encoding="utf-8")
        (folder / "plain.test").write_text(TEST.replace("50K.", "50K"), encoding="utf-8")
        framework = read_framework(written(folder, data, learn, "a.names"))
        assert isinstance(framework, bp.DatasetAttributePrivacy)
        assert list(framework.schema["class"].categories) == [">50K", "<=50K"]  # type: ignore[union-attr]
        assert counted(framework, lines, folder, bp.col("class") == ">50K") == 1
        assert counted(framework, lines, folder, bp.col("class") == "<=50K") == 2
        assert framework.network.models == 20


def test_full_stops_of_a_public_table_alone(folder: Path) -> None:
    framework = read_framework(written(folder, "a.data", "a.test", None, ["age", "sex", "class"]))
    assert isinstance(framework, bp.DatasetAttributePrivacy)
    assert counted(framework, DATA, folder, bp.col("class") == "<=50K.") == 2
    assert counted(framework, DATA, folder, bp.col("class") == "other") == 0


def test_a_codebook_without_the_classes_says_what_to_type(folder: Path) -> None:
    with pytest.raises(FileError, match='option names, "age,sex,class"') as refused:
        started(folder / "a.data", codebook=folder / "b.names")
    assert CANARY not in str(refused.value)
    (folder / "two.data").write_text("39, Female\n40, Male\n", encoding="utf-8")
    assert list(started(folder / "two.data", codebook=folder / "a.names").columns) == ["age", "sex"]


def test_a_private_table_that_begins_with_a_comment(folder: Path) -> None:
    (folder / "a.data").write_text(f"|{CANARY}\n{DATA}", encoding="utf-8")
    for names in (None, ["age", "sex", "class"]):
        with pytest.raises(FileError, match=r"tail -n \+2 .*a.data > COPY.csv") as refused:
            started(folder / "a.data", codebook=folder / "a.names", names=names)
        assert CANARY not in str(refused.value)
