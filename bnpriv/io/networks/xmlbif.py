"""The strict core of the XMLBIF format, read as a stream that stops at the first element that does not belong.

A tree is never built from the file: default attributes in a document type, repeated on every element, would fill the
memory without any entity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.parsers import expat

from bnpriv.io.networks.formats import FileTable, ReadTables, Source, States, assemble, clip, declare

_ENTITY = re.compile(r"<!\s*+ENTITY", re.IGNORECASE)
_ENCODING = re.compile(r"""\s*+<\?xml[^>]*?\sencoding\s*+=\s*+["']([^"'>]*+)""")
_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii")
_CHILDREN: dict[str, tuple[str, ...]] = {
    "": ("BIF",),
    "BIF": ("NETWORK",),
    "NETWORK": ("NAME", "PROPERTY", "VARIABLE", "DEFINITION"),
    "VARIABLE": ("NAME", "OUTCOME", "PROPERTY"),
    "DEFINITION": ("FOR", "GIVEN", "TABLE", "PROPERTY"),
}


def scan(source: Source) -> ReadTables:
    """Return what an XMLBIF file declares.

    Raises
    ------
    FileError
        If the file is not well formed, declares an entity or another encoding than UTF-8, or holds anything outside
        the strict core of the format.
    SizeError
        If the tables are too large.
    """
    _check_prolog(source)
    raw = source.text.encode()
    # One character per byte: the parser's positions, which count bytes, then lead to the right line.
    reader = _Reader(Source(source.label, raw.decode("latin-1")))
    try:
        reader.parser.Parse(raw, True)
    except expat.ExpatError as broken:
        raise source.refusal(
            "the file must be well-formed XML",
            found=f"{expat.ErrorString(broken.code)} on line {broken.lineno}",
            remedy="Check that the file is whole.",
        ) from None
    return assemble(source, reader.states, reader.tables, _numbers)


def _check_prolog(source: Source) -> None:
    entity = _ENTITY.search(source.text)
    if entity is not None:
        raise source.refusal(
            "an XML file must not declare entities",
            found="an entity declaration",
            remedy="Remove it, and write out what it stands for.",
            at=entity.start(),
        )
    encoding = _ENCODING.match(source.text)
    if encoding is not None and encoding[1].strip().lower() not in _ENCODINGS:
        raise source.refusal(
            "an XML file must be in UTF-8", found=f"encoding {clip(encoding[1])}", remedy="Save it as UTF-8."
        )


class _Reader:
    """Handlers that collect one VARIABLE or DEFINITION at a time."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.states: States = {}
        self.tables: list[FileTable] = []
        self.path: list[str] = []
        self.parts: dict[str, list[str]] = {}
        self.text: list[str] = []
        self.networks = 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.specified_attributes = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append
        self.parser.SkippedEntityHandler = self.skipped

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Enter an element, if it belongs here."""
        above = self.path[-1] if self.path else ""
        self.networks += tag == "NETWORK"
        if tag not in _CHILDREN.get(above, ()) or self.networks > 1:
            raise self.refusal("elements must be those of XMLBIF, with one NETWORK", f"{clip(tag)} in {clip(above)}")
        if tag == "VARIABLE" and attributes.get("TYPE", "nature") != "nature":
            raise self.refusal("variables must be of the type nature", clip(attributes["TYPE"]))
        self.path.append(tag)
        self.text.clear()
        if tag in ("VARIABLE", "DEFINITION"):
            self.parts = {}

    def end(self, tag: str) -> None:
        """Leave an element: keep its text, or declare what was collected."""
        self.path.pop()
        self.parts.setdefault(tag, []).append("".join(self.text).strip())
        self.text.clear()
        if tag == "VARIABLE":
            declare(self.source, self.states, self.one("NAME"), self.parts.get("OUTCOME", []), at=self.at)
        elif tag == "DEFINITION":
            parents = tuple(self.parts.get("GIVEN", []))
            self.tables.append(FileTable(self.one("FOR"), parents, self.one("TABLE"), self.at))

    def one(self, tag: str) -> str:
        """Return the text of the only element of that name."""
        found = self.parts.get(tag, [])
        if len(found) != 1:
            raise self.refusal(f"there must be one {tag}", str(len(found)))
        return found[0]

    def skipped(self, name: str, parameter: bool) -> None:
        """Refuse a reference to something that is not in the file; nothing outside it is ever fetched."""
        del parameter
        raise self.refusal("everything must stand in the file itself", f"a reference to {clip(name)}")

    @property
    def at(self) -> int:
        """Return where the parser is."""
        return self.parser.CurrentByteIndex

    def refusal(self, required: str, found: str) -> Exception:
        """Return the error for the place where the parser is."""
        remedy = "Compare the file with the XMLBIF 0.3 definition."
        return self.source.refusal(required, found=found, remedy=remedy, at=self.at)


def _numbers(source: Source, table: FileTable, states: States) -> Sequence[str]:
    del source, states
    return table.body.split()
