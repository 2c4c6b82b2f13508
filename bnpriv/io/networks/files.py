"""Network files: BIF, XMLBIF, NET and UAI, read behind checks that a hostile or broken file cannot pass.

All patterns are possessive, so that a scan never goes back over what it has read.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import cast, overload
from xml.parsers import expat

from bnpriv.checks import listing, type_text
from bnpriv.core.networks.base import Level, foreign_remedy, level_of
from bnpriv.core.networks.declared import MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.errors import FileError
from bnpriv.io.networks import formats
from bnpriv.paths import NO_PATH, user_path

# --------------------------------------------------------------------------------------------------
# BIF: variable blocks, and probability blocks of rows or one table.
# --------------------------------------------------------------------------------------------------

_BIF_QUOTE_OR_COMMENT = re.compile(r'"[^"]*+(?:"|\Z)|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*+')
_BIF_BLOCK = re.compile(
    r"\s*+(?:(?P<network>network\b[^{}]*+\{[^{}]*+\})"
    r"|variable\b(?P<variable>[^{}]*+)\{(?P<before>[^{}]*+)\{(?P<states>[^{}]*+)\}(?P<after>[^{}]*+)\}"
    r"|probability\s*+\((?P<header>[^(){}]*+)\)\s*+\{(?P<body>[^{}]*+)\})"
)
_PROPERTIES = r"(?:\s*+property\b[^;]*+;)*+\s*+"
_BEFORE = re.compile(_PROPERTIES + r"type\s++discrete\s*+\[\s*+([0-9]{1,9})\s*+\]\s*+")
_AFTER = re.compile(r"\s*+;" + _PROPERTIES)
_ROW = re.compile(r"\(([^()]*+)\)([^()]*+)")
# What has a meaning outside quotes must have none inside; a blank inside quotes does not separate names.
_INSIDE_QUOTES = str.maketrans({**dict.fromkeys(formats.BIF_BARRED + "\n", "\0"), " ": "\1"})


def scan_bif(source: formats.Source) -> formats.ReadTables:
    """Return what a BIF file declares.

    Raises
    ------
    FileError
        If anything is outside the strict core of the format.
    SizeError
        If the tables are too large.
    """
    plain = formats.Source(source.label, _BIF_QUOTE_OR_COMMENT.sub(_plain_bif, source.text))
    states: formats.States = {}
    headers: list[tuple[str, str, int]] = []
    for block, at in formats.blocks(plain, _BIF_BLOCK, partial(_outside, plain)):
        if block["variable"] is not None:
            _variable(plain, states, block, at)
        elif block["header"] is not None:
            headers.append((block["header"], block["body"], at))
    tables = [_bif_table(plain, header, body, states, at) for header, body, at in headers]
    return formats.assemble(plain, states, tables, _bif_numbers)


def _plain_bif(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"'):
        return " " + found.strip('"').translate(_INSIDE_QUOTES) + " "
    return " " + "\n" * found.count("\n")


def _outside(source: formats.Source, found: str, at: int) -> FileError:
    return source.refusal(
        "a BIF file is made of network, variable and probability blocks",
        found=formats.clip(_name(found.replace("\0", "_"))),
        remedy="Check that the file is whole, that every block and statement is closed, and that no name holds quotes.",
        at=at,
    )


def _variable(source: formats.Source, states: formats.States, block: re.Match[str], at: int) -> None:
    before, after = _BEFORE.fullmatch(block["before"]), _AFTER.fullmatch(block["after"])
    if before is None or after is None:
        raise source.refusal(
            "a variable block must read `type discrete [ count ] { states };`",
            found=formats.clip((block["before"] if before is None else block["after"]).strip()),
            remedy="Only discrete variables are read.",
            at=at,
        )
    named = _split(block["states"], int(before[1]))
    if len(named) != int(before[1]):
        raise source.refusal(
            f"the variable must have the {before[1]} states that it declares",
            found=str(len(named)),
            remedy="Correct the count or the list; separate states by commas.",
            at=at,
        )
    formats.declare(source, states, _name(block["variable"]), named, at=at, barred=formats.BIF_BARRED)


def _bif_table(source: formats.Source, header: str, body: str, states: formats.States, at: int) -> formats.FileTable:
    own, bar, given = header.partition("|")
    if not bar and _name(own) not in states:
        own, *words = own.replace(",", " ").split() or [""]  # the old style: the first name is conditioned on the rest
        return formats.FileTable(_name(own), tuple(map(_name, words)), body, at)
    if not given.strip():
        return formats.FileTable(_name(own), (), body, at)
    parts = [given] if _name(given) in states else _split(given, given.count(",") + 1)
    if len(parts) == 1 and _name(parts[0]) not in states:
        parts = given.split()
    return formats.FileTable(_name(own), tuple(map(_name, parts)), body, at)


def _bif_numbers(source: formats.Source, table: formats.FileTable, states: formats.States) -> Sequence[str]:
    *statements, rest = table.body.split(";")
    if rest.strip():
        raise _outside(source, rest.strip(), table.at)
    kept = [each for each in map(str.strip, statements) if each.split(None, 1)[:1] != ["property"]]
    if len(kept) == 1 and kept[0].split(None, 1)[:1] == ["table"]:
        numbers = kept[0].replace(",", " ").split()[1:]
        columns = prod(len(states[parent]) for parent in table.parents)
        if len(numbers) != columns * len(states[table.name]):
            return numbers
        return [number for k in range(columns) for number in numbers[k::columns]]
    return _rows(source, table, kept, states)


def _rows(
    source: formats.Source, table: formats.FileTable, statements: Sequence[str], states: formats.States
) -> Sequence[str]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for statement in statements:
        row = _ROW.fullmatch(statement)
        if row is None:
            raise source.refusal(
                f"the table of {formats.clip(table.name)} must be one `table`, or one row per configuration of its "
                "parents",
                found=formats.clip(statement),
                remedy="Write out every row; `default` is not read.",
                at=table.at,
            )
        labels = tuple(_split(row[1], len(table.parents)))
        if labels in rows:
            raise source.refusal(
                f"each row of {formats.clip(table.name)} may stand once",
                found=f"{formats.clip(', '.join(labels))} again",
                remedy="Remove one.",
                at=table.at,
            )
        rows[labels] = row[2].replace(",", " ").split()
    numbers: list[str] = []
    for labels in product(*(states[parent] for parent in table.parents)):
        row = rows.pop(labels, None)
        if row is None or len(row) != len(states[table.name]):
            raise source.refusal(
                f"the table of {formats.clip(table.name)} must have a row of {len(states[table.name])} numbers for "
                f"{formats.clip(', '.join(labels))}",
                found="none" if row is None else str(len(row)),
                remedy="Write out every row; separate the parents' states by commas.",
                at=table.at,
            )
        numbers += row
    if rows:
        raise source.refusal(
            f"the rows of {formats.clip(table.name)} must be for states of its parents",
            found=formats.clip(", ".join(next(iter(rows)))),
            remedy="Check the spelling.",
            at=table.at,
        )
    return numbers


def _split(text: str, count: int) -> list[str]:
    """Split names at commas or, where that does not give `count` of them, at blanks."""
    parts = [_name(part) for part in text.split(",")]
    return parts if len(parts) == count else [_name(part) for part in text.replace(",", " ").split()]


def _name(text: str) -> str:
    return " ".join(text.replace("\1", " ").split())


# --------------------------------------------------------------------------------------------------
# The strict core of Hugin's NET format: node blocks with states, potential blocks with data.
# --------------------------------------------------------------------------------------------------

_NET_QUOTE_OR_COMMENT = re.compile(r'"[^"]*+(?:"|\Z)|/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*+|%[^\n]*+')
_BODY = r'\{(?P<%s>(?:[^"{}]++|"[^"]*+")*+)\}'
_NET_BLOCK = re.compile(
    rf"\s*+(?:(?:net|class\s++[\w-]++)\s*+{_BODY % 'network'}"
    rf"|(?:discrete\s++)?node\s++(?P<node>[\w-]++)\s*+{_BODY % 'about'}"
    rf"|potential\s*+\((?P<header>[^(){{}}]*+)\)\s*+{_BODY % 'body'})",
    re.ASCII,
)
_STATEMENT = re.compile(r'\s*+(?P<key>\w++)\s*+=\s*+(?P<value>(?:[^";]++|"[^"]*+")*+);', re.ASCII)
_STATE = re.compile(r'[\s,]*+(?:"([^"]*+)"|([^\s"(),]++))')


def scan_net(source: formats.Source) -> formats.ReadTables:
    """Return what a NET file declares.

    Raises
    ------
    FileError
        If anything is outside the strict core of the format.
    SizeError
        If the tables are too large.
    """
    plain = formats.Source(source.label, _NET_QUOTE_OR_COMMENT.sub(_without_comment, source.text))
    states: formats.States = {}
    tables: list[formats.FileTable] = []

    def outside(found: str, at: int) -> FileError:
        remedy = "Only discrete nodes are read; check that the file is whole and every block is closed."
        required = "a NET file is made of net, node and potential blocks"
        return plain.refusal(required, found=formats.clip(found), remedy=remedy, at=at)

    for block, at in formats.blocks(plain, _NET_BLOCK, outside):
        if block["node"] is not None:
            named = _net_states(plain, _statement(plain, block["about"], "states", at), at)
            formats.declare(plain, states, block["node"], named, at=at)
        elif block["header"] is not None:
            tables.append(_net_table(plain, block["header"], _statement(plain, block["body"], "data", at), at))
    return formats.assemble(plain, states, tables, _net_numbers)


def _without_comment(match: re.Match[str]) -> str:
    found = match[0]
    return found if found.startswith('"') else " " + "\n" * found.count("\n")


def _statement(source: formats.Source, body: str, wanted: str, at: int) -> str:
    """Return the value of the one statement `wanted`; others, such as labels and positions, are passed over."""
    values: list[str] = []
    position, end = 0, len(body.rstrip())
    while position < end:
        statement = _STATEMENT.match(body, position)
        if statement is None or statement["key"].startswith("model_"):
            raise source.refusal(
                "a block must be made of statements `name = value;`, and tables must be written out",
                found=formats.clip(body[position : position + 80].strip()),
                remedy="Close every statement with a semicolon; expressions are not read.",
                at=at,
            )
        if statement["key"] == wanted:
            values.append(statement["value"].strip())
        position = statement.end()
    if len(values) != 1:
        raise source.refusal(
            f"the block must have one statement `{wanted} = (...);`",
            found=str(len(values)),
            remedy="Write the states of every node and the data of every potential out, once.",
            at=at,
        )
    return values[0]


def _net_states(source: formats.Source, value: str, at: int) -> list[str]:
    inner = value[1:-1].rstrip(" \t\n,")
    named: list[str] = []
    position = 0
    while position < len(inner):
        state = _STATE.match(inner, position)
        if state is None:
            break
        named.append(state[1] if state[1] is not None else state[2])
        position = state.end()
    if not value.startswith("(") or not value.endswith(")") or position < len(inner):
        raise source.refusal(
            'states must be written as `states = ("a" "b");`',
            found=formats.clip(value),
            remedy="Correct the list.",
            at=at,
        )
    return named


def _net_table(source: formats.Source, header: str, body: str, at: int) -> formats.FileTable:
    own, bar, given = header.partition("|")
    names = own.split()
    if len(names) != 1 or (given.strip() and not bar):
        raise source.refusal(
            "a potential must be of one node given others",
            found=formats.clip(header.strip()),
            remedy="Write `potential (a | b c)`.",
            at=at,
        )
    return formats.FileTable(names[0], tuple(given.split()), body, at)


def _net_numbers(source: formats.Source, table: formats.FileTable, states: formats.States) -> Sequence[str]:
    value = table.body.replace(",", " ")
    numbers = value.replace("(", " ").replace(")", " ").split()
    shape = [len(states[name]) for name in (*table.parents, table.name)]
    skeleton = re.sub(r"\s++", "", re.sub(r"[^()\s]++", "x", value))
    if skeleton not in (_nested(shape), f"({'x' * len(numbers)})"):
        raise source.refusal(
            f"the data of {formats.clip(table.name)} must be nested as its parents' states and its own, {tuple(shape)}",
            found=formats.clip(skeleton),
            remedy="Put parentheses around the numbers of each configuration of the parents, in their order.",
            at=table.at,
        )
    return numbers


def _nested(shape: Sequence[int]) -> str:
    skeleton = "x"
    for size in reversed(shape):
        skeleton = f"({skeleton * size})"
    return skeleton


# --------------------------------------------------------------------------------------------------
# The strict core of the XMLBIF format, read as a stream that stops at the first element that does not belong.
# --------------------------------------------------------------------------------------------------

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


def scan_xmlbif(source: formats.Source) -> formats.ReadTables:
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
    reader = _Reader(formats.Source(source.label, raw.decode("latin-1")))
    try:
        reader.parser.Parse(raw, True)
    except expat.ExpatError as broken:
        raise source.refusal(
            "the file must be well-formed XML",
            found=f"{expat.ErrorString(broken.code)} on line {broken.lineno}",
            remedy="Check that the file is whole.",
        ) from None
    return formats.assemble(source, reader.states, reader.tables, _words_of)


def _check_prolog(source: formats.Source) -> None:
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
            "an XML file must be in UTF-8", found=f"encoding {formats.clip(encoding[1])}", remedy="Save it as UTF-8."
        )


class _Reader:
    """Handlers that collect one VARIABLE or DEFINITION at a time."""

    def __init__(self, source: formats.Source) -> None:
        self.source = source
        self.states: formats.States = {}
        self.tables: list[formats.FileTable] = []
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
            raise self.refusal(
                "elements must be those of XMLBIF, with one NETWORK", f"{formats.clip(tag)} in {formats.clip(above)}"
            )
        if tag == "VARIABLE" and attributes.get("TYPE", "nature") != "nature":
            raise self.refusal("variables must be of the type nature", formats.clip(attributes["TYPE"]))
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
            formats.declare(self.source, self.states, self.one("NAME"), self.parts.get("OUTCOME", []), at=self.at)
        elif tag == "DEFINITION":
            parents = tuple(self.parts.get("GIVEN", []))
            self.tables.append(formats.FileTable(self.one("FOR"), parents, self.one("TABLE"), self.at))

    def one(self, tag: str) -> str:
        """Return the text of the only element of that name."""
        found = self.parts.get(tag, [])
        if len(found) != 1:
            raise self.refusal(f"there must be one {tag}", str(len(found)))
        return found[0]

    def skipped(self, name: str, parameter: bool) -> None:
        """Refuse a reference to something that is not in the file; nothing outside it is ever fetched."""
        del parameter
        raise self.refusal("everything must stand in the file itself", f"a reference to {formats.clip(name)}")

    @property
    def at(self) -> int:
        """Return where the parser is."""
        return self.parser.CurrentByteIndex

    def refusal(self, required: str, found: str) -> Exception:
        """Return the error for the place where the parser is."""
        remedy = "Compare the file with the XMLBIF 0.3 definition."
        return self.source.refusal(required, found=found, remedy=remedy, at=self.at)


def _words_of(source: formats.Source, table: formats.FileTable, states: formats.States) -> Sequence[str]:
    del source, states
    return table.body.split()


# --------------------------------------------------------------------------------------------------
# The UAI format of Bayesian networks: numbers alone, without names.
# --------------------------------------------------------------------------------------------------

_UAI_WORD = re.compile(r"\s*+(\S++)")
_UAI_WHOLE = re.compile(r"[0-9]{1,9}")


def scan_uai(source: formats.Source) -> formats.ReadTables:
    """Return what a UAI file of type BAYES declares: variables, their sizes, scopes with the child last, tables.

    Raises
    ------
    FileError
        If the file is of another type, too short or too long, or holds something else than whole numbers and tables.
    SizeError
        If the tables are too large.
    """
    text, words = source.text, _Words(source)
    if "#" in text:  # only pyAgrum writes such, and runs through the parents in another order than the format says
        raise source.refusal(
            "a UAI file must hold numbers alone",
            found="comments, as pyAgrum writes them, whose tables have their parents in another order",
            remedy="Pass the network itself to bnpriv.from_pyagrum, or save it as BIF.",
            at=text.index("#"),
        )
    kind = words.word("the type of the network")
    if kind != "BAYES":
        raise source.refusal(
            "a UAI file must be of type BAYES: tables of conditional probabilities",
            found="MARKOV, whose factors are none" if kind == "MARKOV" else formats.clip(kind),
            remedy="Write the Bayesian network itself: UAI of type BAYES, or BIF.",
        )
    count = words.whole("the number of variables")
    formats.check_size(source, "attributes in one file", count, formats.MOST_ATTRIBUTES)
    sizes = [words.whole("the number of states of a variable") for _ in range(count)]
    formats.check_size(source, "states", sum(sizes), formats.MOST_FILE_NAMES)
    states: formats.States = {f"var_{k}": tuple(map(str, range(size))) for k, size in enumerate(sizes)}
    scopes: list[list[str]] = []
    for _ in range(words.whole("the number of tables")):
        named = [f"var_{words.whole('a variable of a scope')}" for _ in range(words.whole("the size of a scope"))]
        if not named:
            raise words.refusal("a table must be over at least one variable", "none")
        scopes.append(named)
    tables: list[formats.FileTable] = []
    for *parents, child in scopes:
        size, at = words.whole(f"the number of entries of {formats.clip(child)}"), words.position
        for _ in range(size):
            words.word(f"an entry of {formats.clip(child)}")
        tables.append(formats.FileTable(child, tuple(parents), text[at : words.position], at))
    if text[words.position :].strip():
        raise words.refusal("nothing must follow the last table", formats.clip(text[words.position :].strip()))
    return formats.assemble(source, states, tables, _words_of)


class _Words:
    """The words of a file, one after the other."""

    def __init__(self, source: formats.Source) -> None:
        self.source, self.position = source, 0

    def word(self, what: str) -> str:
        found = _UAI_WORD.match(self.source.text, self.position)
        if found is None:
            raise self.refusal(f"the file must hold {what}", "its end")
        self.position = found.end()
        return found[1]

    def whole(self, what: str) -> int:
        found = self.word(what)
        if not _UAI_WHOLE.fullmatch(found):
            raise self.refusal(f"{what} must be a whole number", formats.clip(found))
        return int(found)

    def refusal(self, required: str, found: str) -> FileError:
        remedy = "Check that the file is whole: type, sizes, scopes with the child last, tables."
        return self.source.refusal(required, found=found, remedy=remedy, at=self.position)


# --------------------------------------------------------------------------------------------------
# A file: what is refused before it is read, and the grammar that its ending names.
# --------------------------------------------------------------------------------------------------

_PICKLES = (".pkl", ".pickle", ".joblib", ".npy", ".npz", ".dill", ".pt", ".pth")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz")
_MAGIC = {b"\x80": "a pickle", b"\x93NUMPY": "a NumPy file", b"\x1f\x8b": "a gzip file", b"PK": "a zip file"}


@overload
def read_network(
    path: str | os.PathLike[str], level: Level | None = None, *, normalize: bool = False, missing_rows: None = None
) -> DiscreteNetwork: ...


@overload
def read_network(
    path: str | os.PathLike[str],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None,
) -> DiscreteNetwork | IntervalNetwork: ...


def read_network(
    path: str | os.PathLike[str],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None = None,
) -> DiscreteNetwork | IntervalNetwork:
    """Read a network from a BIF, XMLBIF, NET or UAI file.

    Parameters
    ----------
    path : str or path
        A file that ends in .bif, .xml, .xmlbif, .net or .uai, in UTF-8, of at most 8 MiB. A UAI file holds no names:
        its attributes are called var_0, var_1, ..., their states 0, 1, ...
    level : {"parameters", "records"}, optional
        What a node means: the parameter that governs the column of that name, or the column itself in one record. By
        default "parameters", but then a framework refuses a network whose states are values of its columns.
    normalize : bool
        Divide every column of every table by its sum, for tables printed with few decimals: a sum may then be 1 % off.
    missing_rows : {"any"}, optional
        Let every row without data (nan throughout) be any law; by default it is refused. It is never filled in.

    Returns
    -------
    DiscreteNetwork or IntervalNetwork
        All its states are strings. By intervals only where a row is missing.

    Raises
    ------
    FileError
        If the file is missing, no regular file, too large, of another format, or not whole.
    SizeError
        If its tables are too large; found out from what the file declares, before a table is allocated.
    NetworkError
        If the network has a cycle, a column does not sum to 1 within 1e-6, or rows are missing without leave.

    Notes
    -----
    Only the strict core of each format is understood; whatever else a file holds is refused with its line. Pickles are
    never opened, XML entities are refused, and nothing outside the file is fetched. Columns whose sums are off by the
    printed decimals are divided by them, and ``network.reading.notes`` says which.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "coin.bif")
    ...     _ = file.write_text(
    ...         "variable coin { type discrete [ 2 ] { heads, tails }; } probability ( coin ) { table 0.5, 0.5; }"
    ...     )
    ...     network = read_network(file)
    >>> network.states
    {'coin': ('heads', 'tails')}
    """
    level_of(level)
    scan = _SCANS[_suffix(path)]
    read = scan(formats.Source(str(path), read_text(path, formats.MOST_NETWORK_BYTES)))
    return formats.network_of(read, level, normalize, missing_rows)


def read_text(path: str | os.PathLike[str], most_bytes: int) -> str:
    """Return the text of a regular file in UTF-8, of a size that is checked before it is read.

    Raises
    ------
    FileError
        If the path is missing, a link, no regular file, or unreadable; if the file is too large, packed, or no text.
    """
    label = path_text(path)
    raw = _read_bytes(user_path(path), label, most_bytes)
    kind = next((kind for magic, kind in _MAGIC.items() if raw.startswith(magic)), None)
    if kind is not None:
        raise FileError(f"{label}: the file must be text", found=kind, remedy="Export it as text first.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise FileError(
            f"{label}: the file must be in UTF-8", found=f"another byte at {broken.start}", remedy="Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise FileError(f"{label}: the file must be text", found="a NUL character", remedy="Save it as UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def path_text(path: object) -> str:
    """Return a path as a text.

    Raises
    ------
    FileError
        If it is none.
    """
    if isinstance(path, (str, os.PathLike)):
        return str(cast("str | os.PathLike[str]", path))
    remedy = foreign_remedy(path) or "Pass the path of a file, as text or Path."
    raise FileError("a path is needed", found=type_text(path), remedy=remedy)


def _read_bytes(path: Path, label: str, most_bytes: int) -> bytes:
    remedy = "Give the path of a readable, regular file."
    # Neither follows a link, nor waits for the other end of a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise FileError(f"{label}: a file must not be a symbolic link", found="a link", remedy=remedy)
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise FileError(f"{label}: a regular file is needed", found="something else", remedy=remedy)
            if not about.st_size <= most_bytes:
                raise FileError(
                    f"{label}: the file may have at most {most_bytes:,} bytes",
                    found=f"{about.st_size:,}",
                    remedy="Check that it is the right file.",
                )
            return file.read(most_bytes)
    except (OSError, ValueError) as broken:
        if isinstance(broken, FileError):
            raise
        if isinstance(broken, (FileNotFoundError, NotADirectoryError)):
            absent = "Check the path, or put the file there."
            raise FileError(f"{label}: the file must be there", found="no such file", remedy=absent) from None
        reason = (broken.strerror if isinstance(broken, OSError) else None) or NO_PATH
        raise FileError(f"{label}: the file must be readable", found=reason, remedy=remedy) from None


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path_text(path)).suffix.lower()
    if suffix in _SCANS:
        return suffix
    remedy = "Export the model as BIF, for example with pgmpy's BIFWriter."
    if suffix in _PICKLES:
        raise FileError(
            f"{path}: a model file must not be a pickle, because opening one can run any program",
            found=suffix,
            remedy=remedy,
        )
    if suffix in _PACKED:
        raise FileError(f"{path}: a model file must not be packed", found=suffix, remedy="Unpack it first.")
    raise FileError(f"{path}: a model file must end in {listing(_SCANS)}", found=suffix or "no ending", remedy=remedy)


_SCANS: Mapping[str, Callable[[formats.Source], formats.ReadTables]] = {
    ".bif": scan_bif,
    ".xml": scan_xmlbif,
    ".xmlbif": scan_xmlbif,
    ".net": scan_net,
    ".uai": scan_uai,
}
