"""What a form sends, read as it comes: texts into memory, files into a private folder, never more than a limit."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from bnpriv.app.forms import SentForm
from bnpriv.app.state import CODEBOOKS, TABLES, forget, on_disk
from bnpriv.errors import BnprivError, FileError

MOST_UPLOAD = 2**30
"""Of all that a form with files holds; a larger table is chosen from the folder, where it is not copied."""

MOST_TEXT = 2**20
"""Of a form without files, and of all texts in one with files."""


class _Sent:
    """What came so far: texts in memory, files in the folder under names of ours, and what was refused."""

    def __init__(self, content_type: str, folder: Path, most: int) -> None:
        kind, told = parse_options_header(content_type)
        self.folder = folder
        self.values: dict[str, list[str]] = {}
        self.files: dict[str, Path] = {}
        self.problems: dict[str, BnprivError] = {}
        self._name, self._size, self._texts, self._whole = "", 0, 0, False
        self._headers: list[bytes] = []
        self._sink: Any = io.BytesIO()
        self._parser: MultipartParser | None = None
        if kind == b"multipart/form-data":
            with self._noting():
                self._parser = MultipartParser(told.get(b"boundary", b""), self._events())
        self._most = most if self._parser else MOST_TEXT

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Keep what is refused with the field that it is of, and remove the files."""
        try:
            with on_disk():
                yield
        except (FormParserError, BnprivError) as error:
            field = self._name if isinstance(error, BnprivError) else ""
            whole = FileError("a form must be whole", found="a part of one", remedy="Send it again.")
            self.problems[field] = error if isinstance(error, BnprivError) else whole
            self.drop()

    def take(self, chunk: bytes) -> None:
        """Take a piece; none once something was refused."""
        self._size += len(chunk)
        with self._noting():
            if self._size > self._most and not self.problems:
                raise too_large(self._most)
            if not self.problems:
                (self._parser or self._sink).write(chunk)

    def form(self) -> SentForm:
        """What was sent, if all of it came."""
        with self._noting():
            if self._parser and not self._whole and not self.problems:
                raise FormParserError
        body = b"" if self._parser or self.problems else self._sink.getvalue()
        for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
            self.values.setdefault(name, []).append(value)
        return SentForm(values=self.values, files=self.files, problems=self.problems)

    def drop(self) -> None:
        """Remove the files."""
        with suppress(OSError):  # what was not written yet has no room
            self._sink.close()
        forget(self.files.values())
        self.files = {}

    def _events(self) -> Any:
        """What is done with each thing that the parser finds."""

        def began() -> None:
            self._headers.append(b"")

        def header(data: bytes, start: int, end: int) -> None:
            self._headers[-1] += data[start:end]

        def headed() -> None:
            told = [each for each in self._headers if each.lower().startswith(b"content-disposition")]
            options = parse_options_header(b"".join(told))[1]
            self._name, self._sink = options.get(b"name", b"").decode("utf-8", "replace"), io.BytesIO()
            self._headers = []
            if options.get(b"filename"):
                given = options[b"filename"].decode("utf-8", "replace")
                forget(path for name, path in self.files.items() if name == self._name)  # the last one counts
                path = self.files[self._name] = self.folder / secrets.token_hex(8) / safe_name(given)
                path.parent.mkdir(mode=0o700)
                self._sink = open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")  # noqa: SIM115

        def part(data: bytes, start: int, end: int) -> None:
            self._sink.write(data[start:end])
            self._texts += (end - start) * isinstance(self._sink, io.BytesIO)
            if self._texts > MOST_TEXT:
                raise too_large(MOST_TEXT)

        def part_ended() -> None:
            if isinstance(self._sink, io.BytesIO):
                self.values.setdefault(self._name, []).append(self._sink.getvalue().decode("utf-8", "replace"))
            self._sink.close()

        def ended() -> None:
            self._whole = True

        calls = {"header_begin": began, "header_field": header, "header_value": header, "headers_finished": headed}
        calls |= {"part_data": part, "part_end": part_ended, "end": ended}
        return {f"on_{event}": call for event, call in calls.items()}


def too_large(most: int) -> FileError:
    """What is said of too much."""
    remedy = "Put the file into the folder where the shell was, and choose it there: it is not copied then."
    return FileError(f"what is handed over has at most {most // 2**20:,} MiB", found="more", remedy=remedy)


def safe_name(given: str) -> str:
    """A name for what is handed over that is plain on every system, with an ending that readers know.

    Examples
    --------
    >>> safe_name("../a table;.CSV"), safe_name("adult.data")
    ('a_table_.csv', 'adult.csv')
    """
    stem, ending = os.path.splitext(given.replace("\\", "/").rpartition("/")[2])
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in stem)[:60]
    kept = ending.lower() if ending.lower() in (*TABLES, *CODEBOOKS) else ".csv"
    return (plain if plain.strip("_") else "table") + kept


async def form_of(stream: AsyncIterator[bytes], content_type: str, folder: Path, most: int = MOST_UPLOAD) -> SentForm:
    """What a form sent, its files in the folder; of one that is refused what its field is told, and no file.

    That one is read to its end as well: a browser that is cut off while it sends shows no answer.
    """
    sent = _Sent(content_type, folder, most)
    try:
        async for chunk in stream:
            sent.take(chunk)
        return sent.form()
    except BaseException:  # whoever sent it went away
        sent.drop()
        raise
