"""Framework files: TOML that declares network, columns, number of records, what is protected, and named queries."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, cast, final

from bnpriv.adapters.files import read_network, read_text
from bnpriv.checks import listing, text
from bnpriv.column_laws import DeclaredLaw, DeclaredLaws, NormalDistribution
from bnpriv.errors import DeclarationError, FileError
from bnpriv.frameworks import DistributionalAttributePrivacy, Framework
from bnpriv.networks.discrete import DiscreteNetwork, Level, State
from bnpriv.networks.model_class import model_class
from bnpriv.queries.base import Query
from bnpriv.queries.parser import parse_query
from bnpriv.schema import Categorical, Column, Integer, Real, Schema
from bnpriv.secrets import SecretPairs, Side, pairs

MOST_BYTES = 2**18
"""Largest framework file, 256 KiB."""

NOTIONS = ("distributional",)

_SECTIONS = ("notion", "source", "network", "records", "columns", "protect", "laws", "queries")
_BOUNDED = ("type", "independent", "missing", "lower", "upper")
_COLUMN_KEYS = {
    "real": _BOUNDED,
    "integer": _BOUNDED,
    "categorical": ("type", "independent", "missing", "categories"),
}
_LAWS = ("normal", "bernoulli", "categorical")
_NORMAL = "Write normal = [165, 8]."
# Python's TOML reader takes quadratic time on long dotted keys.
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")


def read_framework(path: str | os.PathLike[str]) -> Framework:
    """Read a framework from a TOML file.

    Parameters
    ----------
    path : str or path
        The file. The network file that it names lies in the same folder or below; a list of files is the model class
        Theta, each file one model on the same graph.

    Returns
    -------
    Framework

    Raises
    ------
    FileError
        If the file is not readable or not TOML, a key is missing, unknown or of the wrong type, or the network file
        lies outside the folder.
    DeclarationError
        If what is declared is not well formed; the subclass says which part.

    Examples
    --------
    >>> from bnpriv.adapters.examples import example_path
    >>> read_framework(example_path("student")).schema.records
    10000
    """
    root = _load(path)
    source = root.string("source")
    _queries(root)
    declared = _network(root)
    schema, independent = _schema(root)
    protect = root.section("protect")
    chosen = {name: _pairs(protect.section(name, ("pairs",))) for name in protect.values}
    laws = _laws(root, declared, schema)
    with root.named():
        return DistributionalAttributePrivacy(
            declared, schema, chosen, source=source, independent=independent, laws=laws
        )


def read_queries(path: str | os.PathLike[str]) -> dict[str, Query]:
    """Read the named queries of a framework file.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict from str to Query
        In the order of the file; empty when it has no section ``[queries]``.

    Raises
    ------
    FileError
        If the file is not readable or not TOML.
    QueryError
        If a query is outside the grammar.

    Examples
    --------
    >>> from bnpriv.adapters.examples import example_path
    >>> sorted(read_queries(example_path("student"))["tall"].columns)
    ['height']
    """
    return _queries(_load(path))


@final
@dataclass(frozen=True)
class _Part:
    """A table of the file, with the words that name it in messages."""

    label: str
    where: str
    values: Mapping[str, object]

    def refusal(self, required: str, *, found: str, remedy: str) -> FileError:
        place = f"{self.label}, {self.where}" if self.where else self.label
        return FileError(f"{place}: {required}", found=found, remedy=remedy)

    @contextmanager
    def named(self, where: str = "") -> Generator[None]:
        """Let refusals from inside say which part of which file they are about."""
        try:
            yield
        except DeclarationError as refused:
            place = ", ".join(filter(None, (self.label, where or self.where)))
            raise type(refused)(f"{place}: {refused.required}", found=refused.found, remedy=refused.remedy) from None

    def section(self, key: str, known: Collection[str] | None = None) -> _Part:
        """Return the table under `key`, whose own keys must be among `known`."""
        where = f"[{'.'.join((*filter(None, (self.where.strip('[]'),)), key))}]"
        value = self.values.get(key)
        if not isinstance(value, dict):
            found = "none" if value is None else _kind(value)
            raise self.refusal(f"a section {where} is needed", found=found, remedy=f"Write it below a line {where}.")
        part = _Part(self.label, where, cast("dict[str, object]", value))
        if known is not None:
            part.only(known)
        return part

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that are not `known`, and name the nearest that is."""
        unknown = next((key for key in self.values if key not in known), None)
        if unknown is not None:
            near = difflib.get_close_matches(unknown, known, n=1)
            raise self.refusal(
                f"the keys must be among {listing(known)}",
                found=f"the unknown {unknown[:80]!r}",
                remedy=f"Did you mean {near[0]!r}?" if near else "Remove it, or check the spelling.",
            )

    def string(self, key: str, default: str | None = None) -> str:
        """Return the text under `key`."""
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value.strip():
            found = "none" if value is None else "an empty string" if value == "" else _kind(value)
            raise self.refusal(f"{key} must be a text", found=found, remedy=f'Write {key} = "...".')
        return value

    def boolean(self, key: str) -> bool:
        """Return the truth value under `key`, false by default."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.refusal(f"{key} must be true or false", found=_kind(value), remedy=f"Write {key} = true.")
        return value

    def need(self, key: str) -> Any:
        """Return the value under `key`, of any type."""
        if key not in self.values:
            raise self.refusal(f"{key} is needed", found="none", remedy=f"Write {key} = ... in this section.")
        return self.values[key]


def _load(path: str | os.PathLike[str]) -> _Part:
    label = str(path)
    if Path(path).suffix.lower() != ".toml":
        raise FileError(f"{label}: a framework file must end in .toml", found="another ending", remedy="Rename it.")
    content = read_text(path, MOST_BYTES)
    values = _toml(label, content)
    root = _Part(label, "", values)
    root.only(_SECTIONS)
    notion = root.string("notion")
    if notion not in NOTIONS:
        raise root.refusal(
            f"notion must be {listing(map(repr, NOTIONS))}",
            found=repr(notion[:80]),
            remedy="Only distributional attribute privacy can be declared in a file.",
        )
    return root


def _toml(label: str, content: str) -> dict[str, Any]:
    long = _LONG_KEY.search(content)
    if long is not None:
        line = content.count("\n", 0, long.start()) + 1
        raise FileError(f"{label}: keys must be short", found=f"a long one on line {line}", remedy="Shorten it.")
    try:
        return tomllib.loads(content)
    except (ValueError, RecursionError) as broken:
        reason = str(broken) if isinstance(broken, tomllib.TOMLDecodeError) else "numbers or brackets without end"
        raise FileError(f"{label}: the file must be TOML", found=reason, remedy="Correct the line.") from None


def _network(root: _Part) -> DiscreteNetwork:
    """Return the network of one file, or the model class Theta of several: one model for each."""
    part = root.section("network", ("file", "level", "normalize"))
    files = _files(part)
    level = cast(Level, part.string("level", "parameters"))
    normalize = part.boolean("normalize")
    paths = [_beside(part, name) for name in files]
    with part.named():
        return model_class([read_network(path, level, normalize=normalize) for path in paths], labels=files)


def _files(part: _Part) -> list[str]:
    listed = _list(part.values.get("file"))
    if listed is None:
        return [part.string("file")]
    files = [name for name in listed if isinstance(name, str) and name.strip()]
    if not files or len(files) != len(listed) or len(set(files)) != len(files):
        raise part.refusal(
            "file must be a text, or a list of different texts",
            found=f"{len(listed)} entries, {len(set(files))} different texts",
            remedy='Write file = ["one.bif", "two.bif"]: each file is one model.',
        )
    return files


def _beside(part: _Part, name: str) -> Path:
    """Return the path of a file that is named relative to the framework file and stays in its folder."""
    folder = Path(part.label).resolve().parent
    plain = PurePosixPath(name)
    outside = plain.is_absolute() or ".." in plain.parts or "\\" in name or bool(PureWindowsPath(name).drive)
    if outside or not (folder / plain).resolve().is_relative_to(folder):
        raise part.refusal(
            "the network file must lie in the folder of the framework file, or below",
            found=repr(name[:80]),
            remedy="Put it there, and name it by a relative path with forward slashes.",
        )
    return Path(part.label).parent / plain


def _schema(root: _Part) -> tuple[Schema, list[str]]:
    count = root.section("records", ("count",)).need("count")
    columns = root.section("columns")
    declared: dict[str, Column] = {}
    independent: list[str] = []
    for name in columns.values:
        part = columns.section(name)
        with part.named():
            declared[name] = _column(part)
        if part.boolean("independent"):
            independent.append(name)
    with root.named("[records] and [columns]"):
        return Schema(records=count, columns=declared), independent


def _column(part: _Part) -> Column:
    kind = part.string("type")
    if kind not in _COLUMN_KEYS:
        raise part.refusal(
            f"type must be one of {listing(_COLUMN_KEYS)}", found=repr(kind[:80]), remedy="Check the spelling."
        )
    part.only(_COLUMN_KEYS[kind])
    missing = cast(Any, part.values.get("missing"))
    if kind == "categorical":
        categories = part.need("categories")
        if not isinstance(categories, list):
            raise part.refusal("categories must be a list", found=_kind(categories), remedy='Write ["a", "b"].')
        return Categorical(cast("list[str]", categories), missing=missing)
    bounded = Real if kind == "real" else Integer
    return bounded(part.need("lower"), part.need("upper"), missing=missing)


def _pairs(part: _Part) -> SecretPairs | None:
    if "pairs" not in part.values:
        return None
    listed = _list(part.values["pairs"])
    couples = [_list(pair) for pair in listed or ()]
    if listed is None or any(pair is None or len(pair) != 2 for pair in couples):
        raise part.refusal(
            "pairs must be a list of pairs of secrets",
            found="something else",
            remedy='Write pairs = [["low", "high"], ["low", ["middle", "high"]]].',
        )
    with part.named():
        return pairs(*((_side(part, pair[0]), _side(part, pair[1])) for pair in couples if pair))


def _side(part: _Part, given: object) -> Side:
    several = _list(given)
    states = [given] if several is None else several
    if not all(isinstance(state, (str, int, float, bool)) for state in states):
        raise part.refusal(
            "a secret must be a state or a list of states", found=_kind(given), remedy="Name states of the network."
        )
    return frozenset(cast("list[State]", states))


def _laws(root: _Part, network: DiscreteNetwork, schema: Schema) -> DeclaredLaws | None:
    """Return the laws of columns: [laws.COLUMN.STATE], or [laws.COLUMN] for an independent column."""
    if "laws" not in root.values:
        return None
    laws: dict[str, DeclaredLaw | dict[Any, DeclaredLaw]] = {}
    part = root.section("laws", tuple(schema.columns))
    for name in part.values:
        own = part.section(name)
        # keys of a TOML file are texts, whatever the states are
        states = {str(state): state for state in network.states.get(name, ())}
        column = schema[name]
        laws[name] = (
            {states.get(key, key): _law(own.section(key, _LAWS), column) for key in own.values}
            if states
            else _law(part.section(name, _LAWS), column)
        )
    return laws


def _law(part: _Part, column: Column) -> DeclaredLaw:
    if len(part.values) != 1:
        raise part.refusal(
            f"a law is given by one of {listing(_LAWS)}", found=str(len(part.values)), remedy="Keep one of them."
        )
    kind, given = next(iter(part.values.items()))
    if kind == "bernoulli":
        return cast(float, given)
    if kind == "categorical":
        return _probabilities(part, given, column)
    ends = _list(given)
    if ends is None or len(ends) != 2:
        raise part.refusal("normal must be a mean and a standard deviation", found=_kind(given), remedy=_NORMAL)
    with part.named():
        return NormalDistribution(cast(float, ends[0]), cast(float, ends[1]))


def _probabilities(part: _Part, given: object, column: Column) -> dict[Any, float]:
    if not isinstance(given, dict):
        remedy = 'Write categorical = { "a" = 0.3, "b" = 0.7 }.'
        raise part.refusal("categorical must be a table of probabilities", found=_kind(given), remedy=remedy)
    categories = column.categories if isinstance(column, Categorical) else ()
    known = {_written(category): category for category in categories}
    return {known.get(key, key): mass for key, mass in cast("dict[str, float]", given).items()}


def _written(category: object) -> str:
    return str(category).lower() if isinstance(category, bool) else str(category)


def _queries(root: _Part) -> dict[str, Query]:
    if "queries" not in root.values:
        return {}
    named: dict[str, Query] = {}
    part = root.section("queries")
    for name in part.values:
        with part.named(f"[queries] {name[:80]}"):
            text("a query's name", name)
            named[name] = parse_query(part.string(name))
    return named


def _list(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
