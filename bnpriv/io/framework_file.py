"""Framework files: TOML that declares network, columns, number of records, what is protected, and queries."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from bnpriv.checks import listing, spelling, subset, text
from bnpriv.core.column_laws import DeclaredLaw, DeclaredLaws, NormalDistribution
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.evidence.records import state_cells
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.base import DECISIONS, MOST_REASON
from bnpriv.core.frameworks.question import AttributeFramework, Framework
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.discrete import require_discrete
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.schema import Column, Schema
from bnpriv.core.secrets import Secret
from bnpriv.errors import BnprivError, FileError, FrameworkError, QueryError, SecretError, SizeError
from bnpriv.io import framework_sections as sections
from bnpriv.io.framework_text import MOST_FRAMEWORK_BYTES, category_text
from bnpriv.io.networks.files import path_text, read_text
from bnpriv.io.query_text import parse_query
from bnpriv.io.toml import TomlTable, key_lines, kind_of, listed_or_none, parse_toml
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.paths import user_path
from bnpriv.tables.readings import PLAIN, Dialect, Writing, number
from bnpriv.toml import toml_key

# --------------------------------------------------------------------------------------------------
# Which part of a framework file is at fault where network, columns, secrets and laws do not fit together.
# --------------------------------------------------------------------------------------------------

Assembler = Callable[[Mapping[str, Any], DeclaredLaws | None], AttributeFramework]
"""Makes a framework of secrets and laws."""


def assembled(
    root: TomlTable, made: Assembler, secrets: Mapping[str, tuple[TomlTable, Any]], laws: DeclaredLaws | None
) -> AttributeFramework | None:
    """Make a framework, or note what is wrong with each of its secrets and laws, tried one by one.

    Parameters
    ----------
    root : TomlTable
        The file.
    made : callable
    secrets : mapping from str to (TomlTable, object)
        For every protected attribute its section, and what is hidden of it.
    laws : mapping, optional

    Returns
    -------
    Framework or None
        None where something was noted.
    """
    hidden = {name: chosen for name, (_, chosen) in secrets.items()}
    whole = _refusal(made, hidden, laws)
    if not isinstance(whole, BnprivError):
        return whole
    alone = {name: _refusal(made, {name: chosen}, None) for name, chosen in hidden.items()}
    faults = {name: each for name, each in alone.items() if isinstance(each, BnprivError)}
    for name, fault in faults.items():
        # what is no fault of a secret is one of the whole, and told once
        _note(secrets[name][0] if isinstance(fault, SecretError) else root, fault)
    sound = {name: chosen for name, chosen in hidden.items() if name not in faults}
    blamed = bool(faults)
    for name, law in (laws or {}).items() if sound else ():
        fault = _refusal(made, sound, {name: law})
        if isinstance(fault, BnprivError):
            _note(root.section("laws").section(name), fault)
            blamed = True
    if not blamed:
        _note(root, whole)
    return None


def _refusal(
    made: Assembler, secrets: Mapping[str, Any], laws: DeclaredLaws | None
) -> AttributeFramework | BnprivError:
    """Return the framework, or why it is refused."""
    try:
        return made(secrets, laws)
    except BnprivError as refused:
        return refused


def _note(part: TomlTable, fault: BnprivError) -> None:
    with part.problems.gathered(), part.named():
        raise fault


# --------------------------------------------------------------------------------------------------
# What of a framework file does not fit its columns: queries, hidden properties, and states of the network.
# --------------------------------------------------------------------------------------------------


def named_queries(root: TomlTable) -> dict[str, Query]:
    """Return the named queries that can be read; what is wrong with the others is noted."""
    part = root.problems.tried(root.section, "queries") if "queries" in root.values else None
    if part is None:
        return {}
    read = {name: root.problems.tried(_named_query, part, name) for name in part.values}
    return {name: query for name, query in read.items() if query is not None}


def note_queries(root: TomlTable, schema: Schema | None) -> None:
    """Note what is wrong with each named query, and each that can be asked of no table with these columns."""
    queries = named_queries(root)
    if schema is None or not queries:
        return
    part = root.section("queries")
    for name, query in queries.items():
        with root.problems.gathered(), part.named(_place(name), key=name):
            _require_askable(query, schema)


def note_unfit_properties(secrets: Mapping[str, tuple[TomlTable, object]], schema: Schema | None) -> frozenset[str]:
    """Note each hidden property that is none of its column as it is declared; return of which columns."""
    unfit: set[str] = set()
    for name, (part, secret) in secrets.items():
        if schema is None or not isinstance(secret, Secret) or name not in schema.columns:
            continue  # what is wrong with names is told with the network
        known = len(part.problems)
        with part.problems.gathered(), part.named(key="property"):
            if not secret.is_of(name):
                raise SecretError(
                    f"the secret of {name!r} must be a property of that column",
                    found=f"one of {secret.column!r}",
                    remedy=f"Name {name!r} in the property, or write the section [protect.{toml_key(secret.column)}].",
                )
            _require_askable(secret.property, schema)
        if len(part.problems) > known:
            unfit.add(name)
    return frozenset(unfit)


def note_strange_states(root: TomlTable, framework: AttributeFramework | None) -> None:
    """Note each categorical column whose categories are not the states of its node, where no law ties the two."""
    if framework is None or framework.network.level != "records":
        return
    for name, column in framework.schema.columns.items():
        states = framework.network.states.get(name, ())
        if not states or not isinstance(column, Categorical) or name in framework.column_laws:
            continue
        part = root.section("columns").section(name)
        with root.problems.gathered(), part.named(key="categories"):
            found = set(state_cells(name, column, states).values)
            without = [category for category in column.outcomes if category not in found]
            if without:
                raise FrameworkError(
                    f"the categories of {name!r} must be the states of its node: {listing(map(repr, states))}",
                    found=f"{listing(map(repr, without))}, which no model gives a probability",
                    remedy="Leave it out, or add it to the network; coarsen lets several labels count as one category.",
                )


def _named_query(part: TomlTable, name: str) -> Query:
    with part.named(_place(name), key=name):
        text("a query's name", name)
        return parse_query(part.string(name))


def _place(name: str) -> str:
    return f"[queries] {toml_key(name[:80])}"


def _require_askable(query: Query, schema: Schema) -> None:
    subset("the columns", query.columns, schema.columns, error=QueryError)
    try:
        normal_form(query, schema)
    except SizeError:  # what is too large for one mechanism may not be for another
        return


# --------------------------------------------------------------------------------------------------
# Framework files: TOML that declares network, columns, number of records, what is protected, and named queries.
# --------------------------------------------------------------------------------------------------

_GROUPED = re.compile(r"(?<![\w.])[1-9][0-9]{0,2}([.][0-9]{3})+(?![\w.])")
_SECTIONS = (
    "notion",
    "source",
    "network",
    "chain",
    "records",
    "table",
    "columns",
    "protect",
    "laws",
    "queries",
    "decisions",
)
_READ = ("dates", "missing_codes")
_BOUNDED = ("type", "independent", "missing", "lower", "upper", *_READ)
_COLUMN_KEYS = {
    "real": (*_BOUNDED, "steps"),
    "integer": _BOUNDED,
    "binned": ("type", "independent", "missing", "edges", "labels", "within", "observed", "steps", *_READ),
    "categorical": ("type", "independent", "missing", "categories", "coarsen"),
}
_LAWS = ("normal", "bernoulli", "categorical", "values")
_NORMAL = "Write normal = [165, 8]."
_NOTIONS = (
    'Write notion = "dataset" (hide a property of this table), notion = "value" (single values), or notion = '
    '"distributional" (parameters of the population).'
)
_NO_SOURCE = "not said yet"
"""In place of a source whose lack is noted, so that the rest is checked too."""


def read_framework(path: str | os.PathLike[str], *, network: Network | None = None) -> Framework:
    """Read a framework from a TOML file.

    Parameters
    ----------
    path : str or path
        The file. The network file that it names lies in the same folder or below; a list of files is the model class
        Theta, each file one model on the same graph. With ``within = 0.05`` in section ``[network]`` the class holds
        every model whose probabilities are at most 0.05 from theirs; zeros are widened too. With
        ``missing_rows = "any"`` rows of nan in the one file may be any law. States are texts in network files; of the
        attributes in ``whole_numbers = ["rooms"]`` they are the whole numbers that these write. ``level`` says what a
        node means, and must be there if states of a network of parameters are values of its columns. A linear-Gaussian
        network stands in the file itself, as ``[network.attributes.NAME]`` with ``intercept``, ``deviation`` and
        ``coefficients = { PARENT = 3.0 }``: of the columns of one record for ``notion = "dataset"``, else of
        parameters, about which records may lie as ``[laws.COLUMN]`` with ``normal = [0, 8]``. Who decided what, and
        why, may stand in ``[decisions]``, which is no part of the framework: docs/statement.md.
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
    FileProblemsError
        If several things are wrong: it lists all of them, each with its line. What follows is raised as it is where it
        stands alone.
    FileError
        If the file is not readable or not TOML, a key is missing, unknown or of the wrong type, or the network file
        lies outside the folder, or `network` is missing, or given to a file that names its own.
    DeclarationError
        If what is declared is not well formed; the subclass says which part.

    Examples
    --------
    >>> from bnpriv.io.examples import example_path
    >>> read_framework(example_path("student")).schema.records
    10000
    """
    root = _load(path)
    problems = root.problems
    notion = problems.tried(_notion, root)
    source = problems.tried(root.string, "source")
    if notion == "value" and "chain" in root.values:
        framework = _chain(root, source, network)
    else:
        framework = _over_network(root, notion, source, network)
    decisions = _decisions(root)
    problems.settle(root.label)
    assert framework is not None
    object.__setattr__(framework, "decisions", decisions)
    return framework


def read_hidden(path: str | os.PathLike[str]) -> tuple[Framework | tuple[Secret, ...], Schema | None, Network | None]:
    """Read what a private table is to hide, also of a file without a network, or of several counts at once.

    Parameters
    ----------
    path : str or path
        A framework file; or one of the notion "dataset" with ``[records]``, ``[columns]``, ``[protect.NAME]`` and
        perhaps ``[network]``, whose properties may be histograms and crosstabs.

    Returns
    -------
    Framework, None and None; or tuple of Secret, Schema, and Network or None

    Raises
    ------
    FileProblemsError, FileError, DeclarationError
        As `read_framework`.

    Examples
    --------
    >>> import tempfile
    >>> text = '''notion = "dataset"
    ... [records]
    ... count = 100
    ... [columns.ill]
    ... type = "categorical"
    ... categories = ["no", "yes"]
    ... [protect.ill]
    ... property = 'histogram(ill, ["no", "yes"])'
    ... at_most = 5'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "framework.toml")
    ...     _ = file.write_text(text)
    ...     print(*read_hidden(file)[0])
    histogram(ill, ["no", "yes"]), values at most 5 apart
    """
    root = _load(path)
    modelled = not {"network", "chain"}.isdisjoint(root.values)
    if modelled and not _hides_cells(root):
        return read_framework(path), None, None
    root = root.only([each for each in _SECTIONS if each not in ("chain", "laws")])
    problems = root.problems
    notion = problems.tried(_notion, root)
    if notion not in (None, "dataset") or "records" in _inside(root, "network"):
        problems.note(
            root.refusal(
                "without a framework numbers of records of this table are hidden, and no public records are a model",
                found=f"notion = {notion!r}" if notion != "dataset" else "[network.records]",
                remedy='Write notion = "dataset", and leave [network.records] out.',
                key="notion",
            )
        )
    network = problems.tried(sections.declared_network, root, "dataset", None) if modelled else None
    schema, _ = _schema(root, "dataset")
    note_queries(root, schema)
    secrets = _secrets(root, _sections(root, "protect"), sections.secret_of_table)
    note_unfit_properties(secrets, schema)
    _decisions(root)
    problems.settle(root.label)
    return tuple(chosen for _, chosen in secrets.values()), schema, network


def _hides_cells(root: TomlTable) -> bool:
    """Whether a protected section says a histogram or a crosstab, which no framework hides."""
    said = root.values.get("protect")
    parts = cast("Mapping[str, object]", said).values() if isinstance(said, Mapping) else ()
    properties = [cast("Mapping[str, object]", part).get("property") for part in parts if isinstance(part, Mapping)]
    return any(str(each).lstrip().startswith(("histogram(", "crosstab(")) for each in properties)


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
    >>> from bnpriv.io.examples import example_path
    >>> sorted(read_queries(example_path("student"))["tall"].columns)
    ['height']
    """
    root = _load(path)
    root.problems.tried(_notion, root)
    named = named_queries(root)
    root.problems.settle(root.label)
    return named


def read_decisions(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read who decided what, and why, as a framework file says it in its section ``[decisions]``.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict from str to str
        By what was decided; empty when there is no such section.

    Raises
    ------
    FileError, FileProblemsError
        If the file is not readable or not TOML, or a decision has another name, no text or a long one.

    Examples
    --------
    >>> from bnpriv.io.examples import example_path
    >>> read_decisions(example_path("student"))
    {}
    """
    root = _load(path)
    found = _decisions(root)
    root.problems.settle(root.label)
    return found


def _decisions(root: TomlTable) -> dict[str, str]:
    """Return the decisions that can be read; what is wrong with the others is noted."""
    if "decisions" not in root.values:
        return {}
    part = root.problems.tried(root.section, "decisions", DECISIONS)
    if part is None:
        return {}
    return {name: said for name in part.values if (said := root.problems.tried(_decision, part, name))}


def _decision(part: TomlTable, name: str) -> str:
    said = part.string(name)
    if len(said) > MOST_REASON:
        required, found = (
            f"{name} must have at most {MOST_REASON} letters, so that a statement is one page",
            f"{len(said):,}",
        )
        raise part.refusal(required, found=found, remedy="Shorten it, and name where more is written.", key=name)
    return said


def refuse_grouped_numbers(path: str | os.PathLike[str], text: str) -> None:
    """Refuse a number in a query's text that the tables of a framework file would read as another one.

    Raises
    ------
    FileError
        If the framework file is not readable or not TOML.
    QueryError
        If tables have decimal commas, and the text has a number such as 2.000.
    """
    found = _GROUPED.search(text) if "decimal" in _inside(_load(path), "table") else None
    if found:
        raise QueryError(
            "numbers in a query are written with a decimal point, without groups of digits",
            found=f"{found.group()}, which the tables of this framework read as {found.group().replace('.', '')}",
            remedy=f"Write {found.group().replace('.', '')}, or {found.group().rstrip('0').rstrip('.')}.",
        )


def framework_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return a framework file and the files that it names, of networks and of public records: no output replaces them.

    What is wrong with the file is not told here; then it is listed alone.
    """
    found = [user_path(path)]
    with suppress(BnprivError):
        network = _load(path).section("network")
        found += sections.network_paths(network)
        found += sections.record_paths(network)
    return found


def copy_framework(path: str | os.PathLike[str], folder: Path) -> Path:
    """Copy a framework file, and all files that it names, into a folder; return the copy of the framework file."""
    file = user_path(path)
    for each in framework_files(file):
        copy = folder / each.relative_to(file.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(each, copy)
    return folder / file.name


def names_pymc(path: str | os.PathLike[str]) -> bool:
    """Whether the network of a framework file is a PyMC module, which is to be passed to `read_framework`."""
    return "pymc" in _inside(_load(path), "network")


def _load(path: str | os.PathLike[str]) -> TomlTable:
    label = path_text(path)
    if Path(path).suffix.lower() != ".toml":
        remedy = "Rename it."
        if os.path.isdir(user_path(path)):
            remedy = "Give the file in this folder."
        elif not os.path.exists(user_path(path)):
            remedy = "Give the path of a framework file; the examples are read with bnpriv.example(name)."
        raise FileError(f"{label}: a framework file must end in .toml", found="another ending", remedy=remedy)
    content = read_text(path, MOST_FRAMEWORK_BYTES)
    return TomlTable(label, "", parse_toml(label, content), lines=key_lines(content)).only(_SECTIONS)


def _notion(root: TomlTable) -> str:
    if not isinstance(root.values.get("notion"), str):
        given = root.values.get("notion")
        raise root.refusal(
            "notion must be a text", found="none" if given is None else kind_of(given), remedy=_NOTIONS, key="notion"
        )
    notion = root.string("notion")
    if notion not in sections.NOTION_LEVELS:
        raise root.refusal(
            f"notion must be {listing(map(repr, sections.NOTION_LEVELS))}",
            found=repr(notion[:80]),
            remedy="Other notions are declared in Python.",
            key="notion",
        )
    return notion


def _inside(root: TomlTable, *path: str) -> Set[str]:
    """Return the keys of a table in a table; none where there is no such table."""
    found: Mapping[str, object] = root.values
    for key in path:
        inner = found.get(key)
        found = cast("Mapping[str, object]", inner) if isinstance(inner, Mapping) else {}
    return found.keys()


def _chain(root: TomlTable, source: str | None, network: Network | None) -> ValuePrivacy | None:
    """Return the framework over ``[chain]``, whose column is the one under ``[protect]``; None if it cannot be read."""
    problems = root.problems
    part = problems.tried(root.section, "chain", ("transition", "initial", "length", "states"))
    if part is not None:
        problems.tried(sections.only_its_own, part, network)
    chain = None if part is None else problems.tried(_markov_chain, part)
    schema, _ = _schema(root, "value")
    note_queries(root, schema)
    protect = {name: part.only(()) for name, part in _sections(root, "protect").items()}
    if chain is None or schema is None or problems:
        return None
    with problems.gathered(), root.named():
        return ValuePrivacy(chain, schema, list(protect), source=source or _NO_SOURCE)


def _markov_chain(part: TomlTable) -> MarkovChain:
    transition, initial, length = part.needs("transition", "initial", "length")
    with part.named():
        return MarkovChain(transition, initial, length, states=cast(Any, part.values.get("states", ())))


def _over_network(root: TomlTable, notion: str | None, source: str | None, given: Network | None) -> Framework | None:
    """Return the framework over a network; None if something in the file keeps it from being made."""
    problems = root.problems
    network = problems.tried(sections.declared_network, root, notion or "distributional", given)
    schema, independent = _schema(root, notion or "distributional")
    note_queries(root, schema)
    protect = _sections(root, "protect")
    laws = _laws(root, network, schema)
    if notion is None:
        return None
    secret = sections.secret_of_table if notion == "dataset" else sections.secret_of_parameter
    if network is not None and not network.states and notion == "distributional":
        secret = sections.secret_of_continuous
    secrets = _secrets(root, protect, secret)
    if (
        not protect
        or sections.note_other_level(root, notion, network)
        or network is None
        or schema is None
        or not secrets
    ):
        return None

    public = problems.tried(sections.declared_records, root, network, schema) if notion == "dataset" else None

    def made(hidden: Mapping[str, Any], known: DeclaredLaws | None) -> AttributeFramework:
        told = source or _NO_SOURCE
        if notion == "dataset":
            return DatasetAttributePrivacy(network, schema, hidden, source=told, laws=known, public_records=public)
        if notion == "value":
            return ValuePrivacy(require_discrete(network, "value privacy"), schema, hidden, source=told)
        return DistributionalAttributePrivacy(network, schema, hidden, source=told, independent=independent, laws=known)

    unfit = note_unfit_properties(secrets, schema)
    sound = {name: chosen for name, chosen in secrets.items() if name not in unfit}
    if unfit and not sound:
        return None
    framework = assembled(root, made, sound, laws)
    note_strange_states(root, framework)
    return framework


def _secrets(
    root: TomlTable, protect: Mapping[str, TomlTable], secret: Callable[[TomlTable], Any]
) -> dict[str, tuple[TomlTable, Any]]:
    """Return every section [protect.NAME] that can be read, with what is hidden; that there is none is noted."""
    if "protect" in root.values and not root.values["protect"]:
        found, remedy = "no section below [protect]", "Write a section [protect.NAME], with the name of a column."
        root.problems.note(root.refusal("something must be protected", found=found, remedy=remedy, key="protect"))

    def read(part: TomlTable) -> tuple[TomlTable, Any]:
        return part, secret(part)

    # None stands for all pairs
    found = {name: root.problems.tried(read, part) for name, part in protect.items()}
    return {name: each for name, each in found.items() if each is not None}


def _sections(root: TomlTable, key: str) -> dict[str, TomlTable]:
    """Return the tables in a table; what is none is noted."""
    problems = root.problems
    whole = problems.tried(root.section, key)
    found = {name: problems.tried(whole.section, name) for name in whole.values} if whole is not None else {}
    return {name: part for name, part in found.items() if part is not None}


def _schema(root: TomlTable, notion: str) -> tuple[Schema | None, list[str]]:
    """Return the schema, None if some of it cannot be read, and the columns that are declared independent."""
    problems = root.problems
    records = problems.tried(root.section, "records", ("count",))
    count = None if records is None else problems.tried(records.need, "count")
    parts = _sections(root, "columns")
    read = {name: problems.tried(_column, part, notion) for name, part in parts.items()}
    declared = {name: column for name, column in read.items() if column is not None}
    independent = [name for name, part in parts.items() if problems.tried(part.boolean, "independent")]
    dialect = problems.tried(_dialect, root, parts)
    if records is None or count is None:
        return None, independent
    with problems.gathered(), records.named(key="count") if parts else root.named("[records] and [columns]"):
        # the number of records is checked beside any column
        columns = declared or {name: Integer(0, 1) for name in parts}
        schema = Schema(records=count, columns=columns, dialect=None if dialect == PLAIN else dialect)
        return (schema if len(declared) == len(parts) and "columns" in root.values else None), independent
    return None, independent


def _dialect(root: TomlTable, columns: Mapping[str, TomlTable]) -> Dialect:
    """Return how the texts of the table are written: ``[table]``, and the dates and codes of its columns."""
    signs = ("separator", "decimal", "thousands")
    part = root.section("table", signs) if "table" in root.values else None
    said = {} if part is None else {key: str(sign) for key, sign in part.values.items()}
    dates = {name: own.string("dates") for name, own in columns.items() if "dates" in own.values}
    codes = {name: _codes(own) for name, own in columns.items() if "missing_codes" in own.values}
    with (root if part is None else part).named():
        return Dialect(**cast(Any, said), dates=dates, codes=codes)


def _codes(part: TomlTable) -> tuple[float, ...]:
    """Return the numbers that stand for a missing value; a date as its day."""
    listed = listed_or_none(part.values["missing_codes"]) or [None]
    codes = [number(code, Writing(dates="YYYY-MM-DD")) for code in listed if not isinstance(code, (str, bool))]
    if len(codes) < len(listed) or not all(map(math.isfinite, codes)):
        remedy = "Write missing_codes = [99, -1], or [1900-01-01] for dates."
        found = "something else"
        raise part.refusal("missing_codes must list numbers, or dates", found=found, remedy=remedy, key="missing_codes")
    return tuple(codes)


def _column(part: TomlTable, notion: str) -> Column:
    if "type" not in part.values:  # perhaps a slip of it
        part = part.only(sorted({key for keys in _COLUMN_KEYS.values() for key in keys}))
    kind = part.string("type")
    if kind not in _COLUMN_KEYS:
        remedy = spelling(kind, _COLUMN_KEYS)
        raise part.refusal(
            f"type must be one of {listing(_COLUMN_KEYS)}", found=repr(kind[:80]), remedy=remedy, key="type"
        )
    # in a table whose records are the network's own, every column is a node
    part = part.only([key for key in _COLUMN_KEYS[kind] if notion == "distributional" or key != "independent"])
    with part.named():
        missing = cast(Any, part.values.get("missing"))
        if kind == "categorical":
            categories = part.need("categories")
            if not isinstance(categories, list):
                raise part.refusal(
                    "categories must be a list", found=kind_of(categories), remedy='Write ["a", "b"].', key="categories"
                )
            return Categorical(cast("list[str]", categories), coarsen=sections.coarsened(part), missing=missing)
        if kind == "binned":
            return sections.binned(part, missing)
        if kind == "integer":
            return Integer(*part.needs("lower", "upper"), missing=missing)
        steps = sections.grid_steps(part)
        usual = {} if steps is None else {"steps": steps}
        return Real(*part.needs("lower", "upper"), missing=missing, **usual)


def _laws(root: TomlTable, network: Network | None, schema: Schema | None) -> DeclaredLaws | None:
    """Return the laws of columns: [laws.COLUMN.STATE], or [laws.COLUMN] for an independent column."""
    if "laws" not in root.values:
        return None
    problems = root.problems
    laws: dict[str, DeclaredLaw | dict[Any, DeclaredLaw]] = {}
    if schema is not None:
        problems.tried(root.section, "laws", tuple(schema.columns))
    for name, own in _sections(root, "laws").items():
        if network is None or schema is None or name not in schema.columns:
            continue  # what a law is about is not known
        column = schema[name]
        # keys of a TOML file are texts, whatever the states are
        states = {str(state): state for state in network.states.get(name, ())}
        if states:
            found = {key: problems.tried(_law_of_state, own, key, column) for key in own.values}
            if None not in found.values():
                laws[name] = cast("dict[Any, DeclaredLaw]", {states.get(key, key): law for key, law in found.items()})
        else:
            law = problems.tried(_law, own.only(_LAWS), column)
            if law is not None:
                laws[name] = law
    return laws


def _law_of_state(own: TomlTable, key: str, column: Column) -> DeclaredLaw:
    return _law(own.section(key, _LAWS), column)


def _law(part: TomlTable, column: Column) -> DeclaredLaw:
    if len(part.values) != 1:
        raise part.refusal(
            f"a distribution is given by one of {listing(_LAWS)}",
            found=str(len(part.values)),
            remedy="Keep one of them.",
        )
    kind, given = next(iter(part.values.items()))
    if kind == "bernoulli":
        return cast(float, given)
    if kind == "categorical":
        if not isinstance(given, dict):
            remedy = 'Write categorical = { "a" = 0.3, "b" = 0.7 }.'
            raise part.refusal("categorical must be a table of probabilities", found=kind_of(given), remedy=remedy)
        categories = column.outcomes if isinstance(column, Categorical) else ()
        known = {category_text(category): category for category in categories}
        return {known.get(key, key): mass for key, mass in cast("dict[str, float]", given).items()}
    if kind == "values":
        return sections.value_law(part, column)
    ends = listed_or_none(given)
    if ends is None or len(ends) != 2:
        raise part.refusal("normal must be a mean and a standard deviation", found=kind_of(given), remedy=_NORMAL)
    with part.named():
        return NormalDistribution(cast(float, ends[0]), cast(float, ends[1]))
