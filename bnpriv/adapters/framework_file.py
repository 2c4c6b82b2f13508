"""Framework files: TOML that declares network, columns, number of records, what is protected, and named queries."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Set
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, cast

from bnpriv.adapters.files import path_text, read_network, read_text
from bnpriv.adapters.framework_secrets import secret_of_parameter, secret_of_table
from bnpriv.adapters.gaussian_section import declared_gaussian, secret_of_continuous
from bnpriv.adapters.toml_file import TomlTable, kind_of, listed_or_none, parse_toml
from bnpriv.checks import listing, spelling, text
from bnpriv.errors import FileError
from bnpriv.frameworks import DatasetAttributePrivacy, DistributionalAttributePrivacy, Framework, ValuePrivacy
from bnpriv.networks import IntervalNetwork, MarkovChain, Network, require_discrete
from bnpriv.networks.discrete import Level
from bnpriv.networks.missing_rows import MissingRows
from bnpriv.networks.model_class import model_class
from bnpriv.queries.base import Query
from bnpriv.queries.parser import parse_query
from bnpriv.render.text import toml_key
from bnpriv.tables.column_laws import DeclaredLaw, DeclaredLaws
from bnpriv.tables.distributions import NormalDistribution
from bnpriv.tables.schema import Categorical, Column, Integer, Real, Schema

MOST_FRAMEWORK_BYTES = 2**18
"""Largest framework file, 256 KiB."""

NOTION_LEVELS: dict[str, Level] = {"distributional": "parameters", "dataset": "records", "value": "records"}
"""What a file may declare, and the level of the network that it needs."""

_SECTIONS = ("notion", "source", "network", "chain", "records", "columns", "protect", "laws", "queries")
_BOUNDED = ("type", "independent", "missing", "lower", "upper")
_COLUMN_KEYS = {
    "real": _BOUNDED,
    "integer": _BOUNDED,
    "categorical": ("type", "independent", "missing", "categories"),
}
_LAWS = ("normal", "bernoulli", "categorical")
_NORMAL = "Write normal = [165, 8]."


def read_framework(path: str | os.PathLike[str], *, network: Network | None = None) -> Framework:
    """Read a framework from a TOML file.

    Parameters
    ----------
    path : str or path
        The file. The network file that it names lies in the same folder or below; a list of files is the model class
        Theta, each file one model on the same graph. With ``within = 0.05`` in section ``[network]`` the class holds
        every model whose probabilities are at most 0.05 from theirs; zeros are widened too. With
        ``missing_rows = "any"`` rows of nan in the one file may be any law. ``level`` says what a node means, and must
        be there if states of a network of parameters are values of its columns. A linear-Gaussian network stands in the
        file itself, as ``[network.attributes.NAME]`` with ``intercept``, ``deviation`` and
        ``coefficients = { PARENT = 3.0 }``: of the columns of one record for ``notion = "dataset"``, else of
        parameters, about which records may lie as ``[laws.COLUMN]`` with ``normal = [0, 8]``.
    network : Network, optional
        The network of a file that names a PyMC module, as ``pymc = "schools_pymc.py"`` in section ``[network]``. Such a
        module is Python, and is never run because a file names it.

    Returns
    -------
    Framework
        `DistributionalAttributePrivacy` for ``notion = "distributional"``, `DatasetAttributePrivacy` for ``"dataset"``,
        `ValuePrivacy` for ``"value"``, over a network or over ``[chain]`` with transition, initial, length and states.

    Raises
    ------
    FileError
        If the file is not readable or not TOML, a key is missing, unknown or of the wrong type, or the network file
        lies outside the folder, or `network` is missing, or given to a file that names its own.
    DeclarationError
        If what is declared is not well formed; the subclass says which part.

    Examples
    --------
    >>> from bnpriv.adapters.examples import example_path
    >>> read_framework(example_path("student")).schema.records
    10000
    """
    root = _load(path)
    _filled(root)
    source = root.string("source")
    _queries(root)
    notion = root.string("notion")
    if notion == "value" and "chain" in root.values:
        _only_its_own(root, network)
        return _chain(root, source)
    declared = _network(root, notion, network)
    schema, independent = _schema(root, notion)
    protect = root.section("protect")
    parts = {name: protect.section(name) for name in protect.values}
    laws = _laws(root, declared, schema)
    if notion == "dataset":
        secrets = {name: secret_of_table(part) for name, part in parts.items()}
        with root.named():
            return DatasetAttributePrivacy(declared, schema, secrets, source=source, laws=laws)
    if notion == "value":
        hidden = {name: secret_of_parameter(part) for name, part in parts.items()}
        with root.named():
            return ValuePrivacy(require_discrete(declared, "value privacy"), schema, hidden, source=source)
    secret = secret_of_parameter if declared.states else secret_of_continuous
    chosen = cast(Any, {name: secret(part) for name, part in parts.items()})
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


def names_pymc(path: str | os.PathLike[str]) -> bool:
    """Whether the network of a framework file is a PyMC module, which is to be passed to `read_framework`."""
    return "pymc" in _inside(_load(path), "network")


def _load(path: str | os.PathLike[str]) -> TomlTable:
    label = path_text(path)
    if Path(path).suffix.lower() != ".toml":
        remedy = "Rename it."
        if Path(path).is_dir():
            remedy = "Give the file in this folder."
        elif not Path(path).exists():
            remedy = "Give the path of a framework file; the examples are read with bnpriv.example(name)."
        raise FileError(f"{label}: a framework file must end in .toml", found="another ending", remedy=remedy)
    content = read_text(path, MOST_FRAMEWORK_BYTES)
    values = parse_toml(label, content)
    root = TomlTable(label, "", values)
    root.only(_SECTIONS)
    notion = root.string("notion")
    if notion not in NOTION_LEVELS:
        raise root.refusal(
            f"notion must be {listing(map(repr, NOTION_LEVELS))}",
            found=repr(notion[:80]),
            remedy="Other notions are declared in Python.",
        )
    return root


def _filled(root: TomlTable) -> None:
    """Refuse a file in which several lines are still to be filled in, naming all of them at once."""
    missing = list(_unfilled(root))
    if len(missing) > 1:
        raise root.refusal(
            "every line that ends in three dots must be filled in",
            found=f"nothing yet for {listing(missing)}",
            remedy="Fill them in, and remove the # in front of them.",
        )


def _unfilled(root: TomlTable) -> Iterator[str]:
    """Yield the keys that the file lacks, whatever else may be wrong with it."""
    if "source" not in root.values:
        yield "source"
    if "chain" not in root.values:
        network = _inside(root, "network")
        if network.isdisjoint(("file", "attributes", "pymc")):
            yield "file in [network]"
    if "count" not in _inside(root, "records"):
        yield "count in [records]"
    columns = _inside(root, "columns")
    for name in sorted(columns):
        if "type" not in _inside(root, "columns", name):
            yield f"type in [columns.{toml_key(name)}]"
    if not _inside(root, "protect"):
        yield "[protect.NAME]"


def _inside(root: TomlTable, *path: str) -> Set[str]:
    """Return the keys of a table in a table; none where there is no such table."""
    found: Mapping[str, object] = root.values
    for key in path:
        inner = found.get(key)
        found = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else {}
    return found.keys()


def _chain(root: TomlTable, source: str) -> ValuePrivacy:
    """Return the framework over ``[chain]``, whose column is the one under ``[protect]``."""
    part = root.section("chain", ("transition", "initial", "length", "states"))
    schema, _ = _schema(root, "value")
    protect = root.section("protect")
    for name in protect.values:
        protect.section(name, ())
    with part.named():
        chain = MarkovChain(
            part.need("transition"),
            part.need("initial"),
            part.need("length"),
            states=cast(Any, part.values.get("states", ())),
        )
    with root.named():
        return ValuePrivacy(chain, schema, list(protect.values), source=source)


def _network(root: TomlTable, notion: str, given: Network | None) -> Network:
    """Return the declared network: linear-Gaussian if its attributes stand in the file itself, or the one given."""
    part = root.section("network")
    if "pymc" in part.values:
        part.only(("pymc",))
        module = part.string("pymc")
        if given is None:
            raise part.refusal(
                "the network is written in PyMC, and no file makes bnpriv run Python code",
                found=f"the module {module[:80]!r}",
                remedy="The shell cannot read such a model. In Python write "
                "bnpriv.read_framework(path, network=bnpriv.from_pymc(model)), then bnpriv.plan(...) and the like.",
            )
        return given
    _only_its_own(part, given)
    if notion != "value" and "attributes" in part.values:
        return declared_gaussian(part, NOTION_LEVELS[notion])
    # without a level in the file a network of parameters has none that was declared: see the framework
    return _files_network(part, None if notion == "distributional" else NOTION_LEVELS[notion])


def _only_its_own(part: TomlTable, given: Network | None) -> None:
    if given is not None:
        raise part.refusal(
            "a network is passed only for a file that names a PyMC module",
            found="a file that declares its own",
            remedy='Leave network= out, or write pymc = "model_pymc.py" in [network].',
        )


def _files_network(part: TomlTable, usual: Level | None) -> Network:
    """Return the network of one file, or the model class Theta: a model for each file, or all models close to them."""
    part.only(("file", "level", "normalize", "within", "missing_rows"))
    files = _files(part)
    level = cast(Level, part.string("level")) if "level" in part.values else usual
    normalize = part.boolean("normalize")
    paths = [_beside(part, name) for name in files]
    gaps = part.values.get("missing_rows")
    if gaps is not None and len(files) > 1:
        raise part.refusal(
            "rows without data are read in a network of one model", found=f"{len(files)} files", remedy="Name one file."
        )
    with part.named():
        models = (
            read_network(paths[0], level, normalize=normalize, missing_rows=cast(MissingRows, gaps))
            if gaps is not None
            else model_class([read_network(path, level, normalize=normalize) for path in paths], labels=files)
        )
        if "within" not in part.values:
            return models
        return IntervalNetwork.around(models, cast(float, part.values["within"]))


def _files(part: TomlTable) -> list[str]:
    listed = listed_or_none(part.values.get("file"))
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


def _beside(part: TomlTable, name: str) -> Path:
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


def _schema(root: TomlTable, notion: str) -> tuple[Schema, list[str]]:
    count = root.section("records", ("count",)).need("count")
    columns = root.section("columns")
    declared: dict[str, Column] = {}
    independent: list[str] = []
    for name in columns.values:
        part = columns.section(name)
        with part.named():
            declared[name] = _column(part, notion)
        if part.boolean("independent"):
            independent.append(name)
    with root.named("[records] and [columns]"):
        return Schema(records=count, columns=declared), independent


def _column(part: TomlTable, notion: str) -> Column:
    kind = part.string("type")
    if kind not in _COLUMN_KEYS:
        remedy = spelling(kind, _COLUMN_KEYS)
        raise part.refusal(f"type must be one of {listing(_COLUMN_KEYS)}", found=repr(kind[:80]), remedy=remedy)
    # in a table whose records are the network's own, every column is a node
    part.only([key for key in _COLUMN_KEYS[kind] if notion == "distributional" or key != "independent"])
    missing = cast(Any, part.values.get("missing"))
    if kind == "categorical":
        categories = part.need("categories")
        if not isinstance(categories, list):
            raise part.refusal("categories must be a list", found=kind_of(categories), remedy='Write ["a", "b"].')
        return Categorical(cast("list[str]", categories), missing=missing)
    bounded = Real if kind == "real" else Integer
    return bounded(part.need("lower"), part.need("upper"), missing=missing)


def _laws(root: TomlTable, network: Network, schema: Schema) -> DeclaredLaws | None:
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


def _law(part: TomlTable, column: Column) -> DeclaredLaw:
    if len(part.values) != 1:
        raise part.refusal(
            f"a law is given by one of {listing(_LAWS)}", found=str(len(part.values)), remedy="Keep one of them."
        )
    kind, given = next(iter(part.values.items()))
    if kind == "bernoulli":
        return cast(float, given)
    if kind == "categorical":
        return _probabilities(part, given, column)
    ends = listed_or_none(given)
    if ends is None or len(ends) != 2:
        raise part.refusal("normal must be a mean and a standard deviation", found=kind_of(given), remedy=_NORMAL)
    with part.named():
        return NormalDistribution(cast(float, ends[0]), cast(float, ends[1]))


def _probabilities(part: TomlTable, given: object, column: Column) -> dict[Any, float]:
    if not isinstance(given, dict):
        remedy = 'Write categorical = { "a" = 0.3, "b" = 0.7 }.'
        raise part.refusal("categorical must be a table of probabilities", found=kind_of(given), remedy=remedy)
    categories = column.categories if isinstance(column, Categorical) else ()
    known = {_written(category): category for category in categories}
    return {known.get(key, key): mass for key, mass in cast("dict[str, float]", given).items()}


def _written(category: object) -> str:
    return str(category).lower() if isinstance(category, bool) else str(category)


def _queries(root: TomlTable) -> dict[str, Query]:
    if "queries" not in root.values:
        return {}
    named: dict[str, Query] = {}
    part = root.section("queries")
    for name in part.values:
        with part.named(f"[queries] {toml_key(name[:80])}"):
            text("a query's name", name)
            named[name] = parse_query(part.string(name))
    return named
