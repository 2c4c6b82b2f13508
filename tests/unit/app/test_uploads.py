"""What a form sends: read as it comes, never more than a limit, and nothing of what is refused is left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from bnpriv.app import uploads
from bnpriv.app.forms import SentForm
from bnpriv.app.uploads import MOST_TEXT, form_of, safe_name

KIND = "multipart/form-data; boundary=x"


def part(name: str, content: bytes, file: str | None = None) -> bytes:
    named = f'; filename="{file}"' if file is not None else ""
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + content + b"\r\n"


def form(
    folder: Path, body: bytes | Iterable[bytes], kind: str = KIND, most: int = 2**20, pace: int = 1000
) -> SentForm:
    """What is read of a body that comes in pieces; the whole body must be read, whatever is made of it."""
    pieces = [body[k : k + pace] for k in range(0, len(body), pace)] if isinstance(body, bytes) else list(body)
    read: list[bytes] = []

    async def coming() -> AsyncIterator[bytes]:
        for piece in pieces:
            read.append(piece)
            yield piece

    made = asyncio.run(form_of(coming(), kind, folder, most))
    assert read == pieces
    return made


def left(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


@pytest.mark.parametrize("pace", [1, 7, 1000])
def test_texts_and_files_arrive_in_whatever_pieces(tmp_path: Path, pace: int) -> None:
    content = bytes(range(256)) * 3
    body = part("records", b"1000") + part("tick", b"a") + part("tick", "\u00e4".encode())
    body += part("table-file", content, "people.csv") + part("public-file", b"", "") + b"--x--\r\n"
    made = form(tmp_path, body, pace=pace)
    assert made.values == {"records": ["1000"], "tick": ["a", "\u00e4"], "public-file": [""]}
    assert set(made.files) == {"table-file"}
    assert made.problems == {}
    path = made.files["table-file"]
    assert path.name == "people.csv"
    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o077 == path.parent.stat().st_mode & 0o077 == 0


def test_a_form_without_files_is_plain(tmp_path: Path) -> None:
    made = form(tmp_path, b"query=count%28days+%3E%3D+8%29&act=&tick=a&tick=b", "application/x-www-form-urlencoded")
    assert made.values == {"query": ["count(days >= 8)"], "act": [""], "tick": ["a", "b"]}
    assert "MiB" in str(form(tmp_path, b"a" * (MOST_TEXT + 1), "text/plain").problems[""])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd.csv"),
        ("..\\..\\boot.ini", "boot.csv"),
        ("..", "table.csv"),
        ("/", "table.csv"),
        ("a\0b.parquet", "a_b.parquet"),
        ("=1+1;'<script>.TSV", "_1_1___script_.tsv"),
        ("\u202evsc.exe", "_vsc.csv"),
        ("n" * 5000 + ".toml", "n" * 60 + ".toml"),
        (".names", "_names.csv"),
    ],
)
def test_a_hostile_name_becomes_a_plain_one_in_the_folder(tmp_path: Path, given: str, kept: str) -> None:
    assert safe_name(given) == kept
    made = form(tmp_path, part("table-file", b"a", given) + b"--x--\r\n")
    if len(given) < 4000:  # the parser refuses a longer line
        assert made.files["table-file"].name == kept
        assert made.files["table-file"].parent.parent == tmp_path
    else:
        assert "whole" in str(made.problems[""])


def test_what_is_too_large_is_refused_beside_its_field_and_what_was_written_stays(tmp_path: Path) -> None:
    body = part("records", b"1000") + part("table-file", b"a" * 20_000, "a.csv") + b"--x--\r\n"
    made = form(tmp_path, body, most=10_000)
    assert list(made.problems) == ["table-file"]
    assert "choose it there" in str(made.problems["table-file"])
    assert made.values == {"records": ["1000"]}
    assert made.files == {}
    assert left(tmp_path) == []


def test_a_text_that_is_too_large_is_no_way_around_the_limit_of_memory(tmp_path: Path) -> None:
    made = form(tmp_path, part("names", b"a" * (MOST_TEXT + 1)) + b"--x--\r\n", most=2**30, pace=2**16)
    assert list(made.problems) == ["names"]
    several = b"".join(part(f"names{k}", b"a" * (MOST_TEXT // 2)) for k in range(3))
    assert list(form(tmp_path, several + b"--x--\r\n", most=2**30, pace=2**16).problems) == ["names2"]


def test_of_two_files_in_one_field_the_last_one_is_left(tmp_path: Path) -> None:
    made = form(tmp_path, part("table-file", b"1", "a.csv") + part("table-file", b"2", "b.csv") + b"--x--\r\n")
    assert [path for path in left(tmp_path) if path.is_file()] == [made.files["table-file"]]
    assert made.files["table-file"].read_bytes() == b"2"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (part("table-file", b"a,b\r\n1,2", "a.csv"), KIND),
        (part("table-file", b"a", "a.csv")[:-20], KIND),
        (b"nothing of a form", KIND),
        (b"", KIND),
        (part("table-file", b"a", "a.csv") + b"--x--\r\n", "multipart/form-data"),
        (part("table-file", b"a", "a.csv") + b"--x--\r\n", f"multipart/form-data; boundary={'x' * 1000}"),
        (b"--x\r\nContent-Disposition: form-data; na\0me\r\n", KIND),
    ],
)
def test_a_form_that_is_not_whole_is_refused(tmp_path: Path, body: bytes, kind: str) -> None:
    made = form(tmp_path, body, kind)
    assert "whole" in str(made.problems[""])
    assert made.files == {}
    assert left(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is needed")
@pytest.mark.parametrize("size", [10, 100_000])
def test_a_full_disk_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Also where it is the end of the file that finds no room."""
    full = SimpleNamespace(**{**vars(os), "open": lambda *_: os.open("/dev/full", os.O_WRONLY)})
    monkeypatch.setattr(uploads, "os", full)
    body = part("table-file", b"a" * size, "a.csv") + b"--x--\r\n"
    made = form(tmp_path, body)
    assert "with room" in made.problems["table-file"].required
    assert "No space left" in made.problems["table-file"].found
    assert left(tmp_path) == []


def test_nothing_is_left_of_what_somebody_stopped_sending(tmp_path: Path) -> None:
    async def coming() -> AsyncIterator[bytes]:
        yield part("table-file", b"a" * 100_000, "a.csv")
        assert left(tmp_path)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        asyncio.run(form_of(coming(), KIND, tmp_path))
    assert left(tmp_path) == []
