"""Forms that hold files: read as they come, written to a private folder at once, never larger than a limit."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from bnpriv.app.forms import Form
from bnpriv.errors import FileError

MOST_BYTES = 2**30
"""Of all that a form holds; a larger table is chosen from the folder, where it is not copied."""

MOST_FORM_BYTES = 2**20
"""Of a form without files, and of all its texts."""


def too_large(most: int) -> FileError:
    """What is said of too much."""
    return FileError(
        f"what is handed over has at most {most // 2**20:,} MiB",
        found="more",
        remedy="Put the file into the folder where the shell was, and choose it there: it is not copied then.",
    )


async def plain_form(stream: AsyncIterator[bytes]) -> Form:
    """A form without files."""
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > MOST_FORM_BYTES:
            raise too_large(MOST_FORM_BYTES)
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20_000):
        values.setdefault(name, []).append(value)
    return Form(values=values)


class _Parts:
    """What the parts of a form hold: texts in memory, files in the folder, under names of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.values: dict[str, list[str]] = {}
        self.files: dict[str, Path] = {}
        self.texts = 0
        self._header, self._value = bytearray(), bytearray()
        self._told: dict[str, str] = {}
        self._file: Any = None
        self._body = bytearray()
        self._name = ""

    def on_part_begin(self) -> None:
        self._told, self._body, self._file, self._name = {}, bytearray(), None, ""

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def on_header_end(self) -> None:
        self._told[self._header.decode("latin-1").lower()] = self._value.decode("utf-8", "replace")
        self._header, self._value = bytearray(), bytearray()

    def on_headers_finished(self) -> None:
        from python_multipart.multipart import parse_options_header

        _, told = parse_options_header(self._told.get("content-disposition", ""))
        self._name = told.get(b"name", b"").decode("utf-8", "replace")
        if told.get(b"filename"):
            given = told[b"filename"].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
            path = self.folder / secrets.token_hex(8) / safe_name(given)
            path.parent.mkdir(mode=0o700)
            self._file = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: SIM115
            self.files[self._name] = path

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])
            return
        self.texts += end - start
        if self.texts > MOST_FORM_BYTES:
            raise too_large(MOST_FORM_BYTES)
        self._body += data[start:end]

    def on_part_end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        else:
            self.values.setdefault(self._name, []).append(self._body.decode("utf-8", "replace"))

    def drop(self) -> None:
        """Remove what was written of a form that is refused."""
        if self._file is not None:
            self._file.close()
        for path in self.files.values():
            path.unlink(missing_ok=True)


def safe_name(given: str) -> str:
    """A name for what is handed over that is plain on every system, with an ending that readers know.

    Examples
    --------
    >>> safe_name("../a table;.CSV"), safe_name("adult.data")
    ('a_table_.csv', 'adult.csv')
    """
    stem, _, ending = given.rpartition("/")[2].rpartition(".")
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in stem)[:60]
    kept = ending.lower() if ending.lower() in ("csv", "parquet", "toml", "names") else "csv"
    return f"{(plain.strip('_') and plain) or 'table'}.{kept}"


async def form_with_files(
    stream: AsyncIterator[bytes], content_type: str, length: str | None, folder: Path, most: int = MOST_BYTES
) -> Form:
    """A form with files, which lie in the folder afterwards; nothing of a refused one is left.

    Raises
    ------
    FileError
        If it is larger than the limit, or no form.
    """
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import MultipartParser, parse_options_header

    if length is not None and length.isdecimal() and int(length) > most:
        raise too_large(most)
    boundary = parse_options_header(content_type)[1].get(b"boundary")
    parts = _Parts(folder)
    try:
        if not boundary:
            raise FormParserError
        names = (
            "part_begin",
            "header_field",
            "header_value",
            "header_end",
            "headers_finished",
            "part_data",
            "part_end",
        )
        calls: Any = {f"on_{name}": getattr(parts, f"on_{name}") for name in names}
        parser, size = MultipartParser(boundary, calls), 0
        async for chunk in stream:
            size += len(chunk)
            if size > most:
                raise too_large(most)
            parser.write(chunk)
        parser.finalize()
    except FormParserError:
        parts.drop()
        raise FileError("a form must be whole", found="a part of one", remedy="Send it again.") from None
    except BaseException:
        parts.drop()
        raise
    return Form(values=parts.values, files=parts.files)
