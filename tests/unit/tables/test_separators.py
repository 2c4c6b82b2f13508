"""Files of texts with other signs than commas between fields, read where these are declared, and other encodings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.core.schema import Schema
from bnpriv.errors import FileError
from bnpriv.io.starter.header import header_of
from bnpriv.tables.readings import Dialect

SCHEMA = Schema(records=2, columns={"age": bp.Integer(0, 100), "sex": bp.Categorical(["f", "m"])})


def put(path: Path, lines: list[str], encoding: str = "utf-8") -> Path:
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize(("sign", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "upright bars")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_other_signs_between_fields_are_named(tmp_path: Path, sign: str, called: str, quote: str) -> None:
    named = tmp_path / ("ours.tsv" if sign == "\t" else "ours.csv")
    ours = put(named, [sign.join([f"{quote}age{quote}", f"{quote}sex{quote}"]), sign.join(["41", "f"])])
    assert header_of(ours).separator == sign
    with pytest.raises(FileError, match=f"{re.escape(str(ours))}.*separated by commas; found {called}"):
        bp.check_data(SCHEMA, ours)
    declared = Schema(records=1, columns=SCHEMA.columns, dialect=Dialect(separator=sign))
    assert bp.check_data(declared, ours).is_well
    commas = put(tmp_path / "commas.csv", ["age,sex", "41,f"])
    with pytest.raises(FileError, match=f"separated by {called}; found commas"):
        bp.check_data(declared, commas)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_are_named(tmp_path: Path, encoding: str) -> None:
    ours = put(tmp_path / "ours.csv", ["age,sex", "41,f"], encoding)
    for refused in (lambda: header_of(ours), lambda: bp.check_data(SCHEMA, ours)):
        with pytest.raises(FileError, match="must be UTF-8"):
            refused()


def test_names_in_another_encoding_are_refused_and_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="must be UTF-8; found other bytes"):
        header_of(put(tmp_path / "ours.csv", ["age,gr\u00f6\u00dfe", "41,180"], "latin-1"))


def test_one_quoted_name_may_hold_any_sign(tmp_path: Path) -> None:
    one = put(tmp_path / "one.csv", ['"age; years"', "41", "20"])
    assert header_of(one).names == ("age; years",)
    schema = Schema(records=2, columns={"age; years": bp.Integer(0, 100)})
    assert bp.check_data(schema, one).is_well


@pytest.mark.parametrize("which", ["ours.csv", "public.csv"])
def test_each_table_has_its_own_separator(tmp_path: Path, which: str) -> None:
    for rows, name in enumerate(("ours.csv", "public.csv"), start=8):
        sign = ";" if name == which else ","
        put(tmp_path / name, [sign.join(["age", "sex"]), *[sign.join(["4", "f"])] * rows])
    asked = ["init", str(tmp_path / "ours.csv"), "--public", str(tmp_path / "public.csv"), "--notion", "dataset"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    # the framework file says how the private table is written
    assert ('separator = ";"' in done.stdout) == (which == "ours.csv")


def test_names_that_stand_twice_in_a_public_table(tmp_path: Path) -> None:
    ours = put(tmp_path / "ours.csv", ["age,sex", "41,f"])
    twice = put(tmp_path / "twice.csv", ["age,age,sex", *["4,f"] * 9])
    uneven = put(tmp_path / "uneven.csv", ["age,sex,more", *["4,f"] * 9])
    for public, words in (
        (twice, "age more than once in its first line"),
        (uneven, "as its first line, 3; found none"),
    ):
        with pytest.raises(bp.BnprivError, match=words):
            bp.start(ours, learn=public, protect="sex", records=2)


def test_folders_and_places_on_the_web_are_called_so(tmp_path: Path) -> None:
    url = "https://someone:pass-word@example.org/table.csv"
    asked: list[Callable[[object], object]] = [header_of, partial(bp.check_data, SCHEMA)]
    for ask in asked:
        with pytest.raises(FileError, match="folder"):
            ask(tmp_path)
        with pytest.raises(FileError, match=r"found a place on the web, https://[.] Fetch") as refused:
            ask(url)
        assert "pass-word" not in str(refused.value)
