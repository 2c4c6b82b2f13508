"""Frameworks as files that `bnpriv.read_framework` and the shell read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PureWindowsPath
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import text
from bnpriv.core.column_laws import ColumnLaw, FiniteLaw, MixedLaw, NumberLaw
from bnpriv.core.columns import GAP_MARK, NOT_COUNTED, Binned, Categorical, Inside, Integer, Real, State
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.base import FrameworkFacts, WrittenAsFile
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.declared import FLOAT_NOISE
from bnpriv.core.networks.discrete import DiscreteNetwork, FiniteNetwork, IntervalNetwork
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Column, Schema, has_gaps
from bnpriv.core.secrets import (
    Apart,
    Interval,
    IntervalPair,
    Pair,
    Secret,
    SecretPair,
    SecretPairs,
    ValuesApart,
    all_pairs,
)
from bnpriv.digest import sha256
from bnpriv.errors import FileError, ParameterError, QueryError, SizeError
from bnpriv.io.networks.texts import WrittenTable, WrittenTables, can_be_written, network_text, written_models
from bnpriv.io.query_text import parse_query
from bnpriv.kind import kind_of
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.paths import user_path
from bnpriv.render.outputs import numbered, write_new
from bnpriv.tables.readings import PLAIN, Dialect, dialect_of
from bnpriv.toml import short_number, toml_section

# --------------------------------------------------------------------------------------------------
# A network as a framework file holds it: a section, and the files of its tables beside it.
# --------------------------------------------------------------------------------------------------

IN_PYTHON = "Keep the framework in Python: write there what made it, and calibrate there."


@dataclass(frozen=True)
class NetworkPart:
    """What stands in a framework file of a network, and the texts of other files by their names."""

    section: str
    files: Mapping[str, str]


def not_held(network: Network) -> FileError:
    """Why no framework file holds a network of such a kind."""
    return _refused(network, "networks of tables, linear-Gaussian networks and Markov chains")


def tables_section(network: DiscreteNetwork, stem: str) -> NetworkPart:
    """The section of a network of tables, which stand in files of their own beside the framework file `stem`.

    Raises
    ------
    SizeError
        If a file would be larger than one that is read.
    """
    return _of_tables(network, network.level if not network.reading.level_assumed else None, stem, {})


def records_section(public: PublicRecords, stem: str) -> tuple[str, Mapping[str, str]]:
    """The section of public records, and the table beside the framework file `stem`."""
    name, text = f"{stem}-public-records.csv", public.text()
    values = {"file": name, "sha256": sha256(text), "draws": public.draws, "seed": public.seed}
    return toml_section(["network", "records"], values), {name: text}


def intervals_section(network: IntervalNetwork, stem: str) -> NetworkPart:
    """The section of intervals, where they lie around a network that stands in files of its own.

    Raises
    ------
    FileError
        If they were declared otherwise.
    """
    level = network.level if not network.reading.level_assumed else None
    centre, width = network.around_it or (network, None)
    if kind_of(centre).by_intervals and not centre.declared:
        raise _refused(network, "intervals around the numbers of network files, and rows without data")
    more: dict[str, object] = {} if width is None else {"within": width}
    if kind_of(centre).by_intervals:
        more["missing_rows"] = "any"
    return _of_tables(centre, level, stem, more)


def regressions_section(network: GaussianNetwork, stem: str) -> NetworkPart:
    """The section of a linear-Gaussian network: the regression of every attribute.

    Raises
    ------
    FileError
        If it was not declared by its regressions.
    """
    rows = network.regressions
    drawn = network.posterior_draws is not None or network.forward is not None or network.reading.columns
    if rows is None or drawn:
        raise _refused(network, "linear-Gaussian networks that were declared by their regressions")
    sections = [toml_section(["network"], {"level": network.level})]
    for name in network.attributes:
        values = {"intercept": _per_model(rows.intercepts[name]), "deviation": _per_model(rows.deviations[name])}
        slopes = {parent: _per_model(slope) for parent, slope in rows.coefficients[name].items()}
        sections.append(
            toml_section(["network", "attributes", name], values | ({"coefficients": slopes} if slopes else {}))
        )
    return NetworkPart("\n\n".join(sections), {})


def chain_section(network: MarkovChain, stem: str) -> NetworkPart:
    """The section of a Markov chain."""
    transition, initial = network.declared
    lengths = list(network.length)
    values: dict[str, object] = {
        "transition": _nested(transition),
        "initial": network.start if initial is None else _nested(initial),
        "length": lengths[0] if len(lengths) == 1 else lengths,
        "states": list(network.state_space),
    }
    return NetworkPart(toml_section(["chain"], values), {})


def _of_tables(
    network: DiscreteNetwork | IntervalNetwork, level: str | None, stem: str, more: dict[str, object]
) -> NetworkPart:
    whole = [name for name in network.attributes if _are_whole(network.states[name])]
    models = [[_in_texts(table, whole) for table in model] for model in written_models(cast(FiniteNetwork, network))]
    suffix = next((each for each in (".bif", ".xml") if all(can_be_written(tables, each) for tables in models)), ".xml")
    names = [path.name for path in numbered(Path(stem + suffix), len(models))]
    texts = dict(zip(names, (network_text(tables, suffix) for tables in models), strict=True))
    values: dict[str, object] = {"file": names[0] if len(names) == 1 else names}
    if level is not None:
        values["level"] = level
    if whole:
        values["whole_numbers"] = whole
    if any(_is_rough(tables) for tables in models):
        values["normalize"] = True
    section = toml_section(["network"], values | more)
    drawn = network.posterior_draws
    if drawn is not None:
        said = {"source": drawn.source, "prior": drawn.prior or None, "records": drawn.records, "graphs": drawn.graphs}
        known = {key: value for key, value in said.items() if value is not None}
        section += "\n\n" + toml_section(["network", "posterior"], known)
    return NetworkPart(section, texts)


def _are_whole(states: tuple[State, ...]) -> bool:
    return all(type(state) is int for state in states)


def _in_texts(table: WrittenTable, whole: Sequence[str]) -> WrittenTable:
    """Return a table as a network file, whose states are texts, holds whole numbers."""
    return replace(table, states=tuple(map(str, table.states))) if table.name in whole else table


def _is_rough(tables: WrittenTables) -> bool:
    """Whether a sum is further from 1 than is read without leave."""
    with np.errstate(invalid="ignore"):
        return any(bool((np.abs(table.numbers.sum(axis=0) - 1) > FLOAT_NOISE).any()) for table in tables)


def _per_model(numbers: FloatArray) -> object:
    found = [short_number(number) for number in numbers.tolist()]
    return found[0] if len(found) == 1 else found


def _nested(laws: FloatArray) -> object:
    return laws[0].tolist() if len(laws) == 1 else laws.tolist()


def _refused(network: Network, holds: str) -> FileError:
    return FileError(f"framework files hold {holds}", found=network.kind_text, remedy=IN_PYTHON)


# --------------------------------------------------------------------------------------------------
# The columns, secrets and laws of a framework as sections of a framework file.
# --------------------------------------------------------------------------------------------------

Values = dict[str, object]


def column_sections(schema: Schema, independent: Iterable[str]) -> Iterator[str]:
    """Yield the number of records, and every column in its order.

    Raises
    ------
    FileError
        If a column is declared as files cannot say it.
    """
    yield toml_section(["records"], {"count": schema.records})
    dialect, alone = dialect_of(schema), frozenset(independent)
    signs = table_values(dialect)
    if signs:
        yield toml_section(["table"], signs)
    for name, column in schema.columns.items():
        values = _column(name, column)
        plain = column.numbers if isinstance(column, Binned) else column
        if column.missing != replace(plain, missing=None).missing:
            values["missing"] = _missing(column)
        if name in alone:
            values["independent"] = True
        values |= read_values(dialect, name)
        yield toml_section(["columns", name], values)


def table_values(dialect: Dialect) -> Values:
    """Return what a section ``[table]`` says of how texts are written; nothing of what is usual."""
    signs = {"separator": dialect.separator, "decimal": dialect.decimal, "thousands": dialect.thousands}
    return {key: sign for key, sign in signs.items() if sign != getattr(PLAIN, key)}


def read_values(dialect: Dialect, name: str) -> Values:
    """Return what a section of a column says of its dates, and of numbers that stand for a missing value."""
    written = dialect.of(name)
    values: Values = {"dates": written.dates} if written.dates else {}
    codes = [short_number(code) for code in written.codes]
    return values | ({"missing_codes": codes} if codes else {})


def _column(name: str, column: Column) -> Values:
    if isinstance(column, Categorical):
        values: Values = {"type": "categorical", "categories": list(column.categories)}
        if not column.coarsen:
            return values
        if not isinstance(column.categories[0], str):
            raise FileError(
                "framework files hold labels of categories that are texts",
                found=f"numbers for {name!r}",
                remedy="Declare the categories as texts.",
            )
        return values | {"coarsen": {category: list(labels) for category, labels in column.coarsen.items()}}
    plain = column.numbers if isinstance(column, Binned) else column
    own_grid = isinstance(plain, Real) and plain.steps != Real(plain.lower, plain.upper).steps
    steps: Values = {"steps": column.steps} if own_grid else {}
    if isinstance(column, Binned):
        return _bins(column, steps)
    kind = "real" if isinstance(column, Real) else "integer"
    return {"type": kind, "lower": short_number(column.lower), "upper": short_number(column.upper), **steps}


def _bins(column: Binned, steps: Values) -> Values:
    values: Values = {"type": "binned", "edges": [short_number(edge) for edge in column.edges], **steps}
    if column.labels != Binned(column.edges).labels:
        values["labels"] = list(column.labels)
    if column.observed:
        values["observed"] = True
    within = column.within
    if isinstance(within, str):
        return values | {"within": within}
    return values | {"within": {label: _inside(law) for label, law in within.items()}}


def _inside(law: Inside) -> object:
    if isinstance(law, str):
        return law
    return {key if isinstance(key, str) else repr(short_number(key)): mass for key, mass in law.items()}


def _missing(column: Column) -> object:
    plain = isinstance(column, (Categorical, Integer)) or has_gaps(column)
    return column.missing if plain else short_number(cast(float, column.missing))


def secrets_of_parameter(pairs: Sequence[Pair], states: Sequence[State]) -> Values:
    """Return what a section ``[protect.NAME]`` says of pairs of states or of values."""
    if states:
        chosen = [pair for pair in pairs if isinstance(pair, SecretPair)]
        return {} if tuple(chosen) == all_pairs(states) else {"pairs": [_sides(pair) for pair in _one_way(chosen)]}
    return _of_values([pair for pair in pairs if isinstance(pair, (ValuesApart, IntervalPair))])


def secret_of_table(secret: Secret) -> Values:
    """Return what a section ``[protect.NAME]`` says of a property of the table.

    Raises
    ------
    FileError
        If the property is none that is read from its text.
    """
    values: Values = {"property": query_text(secret.property)}
    if isinstance(secret.pairs, Apart):
        return values | {"at_most": short_number(secret.pairs.at_most)}
    if isinstance(secret.pairs, SecretPairs):
        return values | {"pairs": [_sides(pair) for pair in secret.pairs.chosen]}
    return values if secret.pairs is None else values | _of_values(secret.pairs.chosen)


def _of_values(pairs: Sequence[ValuesApart | IntervalPair]) -> Values:
    if isinstance(pairs[0], ValuesApart):
        return {"at_most": short_number(pairs[0].farthest)}
    chosen = [pair for pair in pairs if isinstance(pair, IntervalPair)]
    return {"intervals": [[_ends(pair.first), _ends(pair.second)] for pair in chosen]}


def _ends(side: Interval) -> list[float]:
    return [short_number(side.low), short_number(side.high)]


def _one_way(pairs: Iterable[SecretPair]) -> list[SecretPair]:
    found: dict[SecretPair, None] = {}
    for pair in pairs:
        if pair.reverse not in found:
            found[pair] = None
    return list(found)


def _sides(pair: SecretPair) -> list[object]:
    return [_side(pair.first), _side(pair.second)]


def _side(states: frozenset[State]) -> object:
    listed = sorted(states, key=lambda state: (str(type(state)), cast(Any, state)))
    return listed[0] if len(listed) == 1 else listed


def query_text(query: Query) -> str:
    """Return the text from which a query is read.

    Raises
    ------
    FileError
        If there is none.
    """
    text = str(query)
    try:
        same = parse_query(text) == query
    except QueryError:
        same = False
    if not same:
        raise FileError("files hold queries that are read from their text", found=text[:80], remedy=IN_PYTHON)
    return text


def law_sections(
    laws: Mapping[str, Sequence[ColumnLaw]], schema: Schema, states: Callable[[str], Sequence[State]]
) -> Iterator[str]:
    """Yield the laws of every column, given each of the states of its node or, of other columns, the one law.

    Raises
    ------
    FileError
        If a law is none that files can say.
    """
    for name, several in laws.items():
        given = states(name)
        if given:
            values = {str(state): _law(name, law, schema[name]) for state, law in zip(given, several, strict=True)}
        else:
            values = _law(name, several[0], schema[name])
        yield toml_section(["laws", name], values)


def _law(name: str, law: ColumnLaw, column: Column) -> Values:
    if isinstance(law, FiniteLaw):
        masses = zip(law.values, law.probabilities, strict=True)
        if not isinstance(column, Categorical):
            p = law.probabilities[-1]
            if column.steps == 1 and law == FiniteLaw(values=(0, 1), probabilities=(1 - p, p)):
                return {"bernoulli": short_number(p)}
            labels = column.outcomes if isinstance(column, Binned) else ()
            return {"values": {_key(cast(float, value), labels): short_number(mass) for value, mass in masses}}
        return {"categorical": {category_text(category): short_number(mass) for category, mass in masses}}
    if isinstance(law, MixedLaw) and isinstance(column, Binned):
        bins = zip(column.outcomes, law.probabilities, strict=True)
        return {"values": {label: short_number(mass) for label, mass in bins}}
    if isinstance(law, NumberLaw) and law.name == "norm" and not law.quantiles:
        given = dict(law.parameters)
        return {"normal": [short_number(given["loc"]), short_number(given["scale"])]}
    raise FileError(
        "framework files hold normal distributions, and probabilities of categories, numbers and bins",
        found=f"another distribution of {name!r}"
        if not isinstance(law, NumberLaw)
        else f"the distribution {law.name!r} of {name!r}",
        remedy=IN_PYTHON,
    )


def _key(number: float, labels: Sequence[str]) -> str:
    """Return a number as a key that is no label of a bin: blanks around it change nothing."""
    if number == GAP_MARK:
        return NOT_COUNTED
    text = repr(short_number(number))
    while text in labels:
        text += " "
    return text


def category_text(category: object) -> str:
    """A category as a key of a file, where all keys are texts."""
    return str(category).lower() if isinstance(category, bool) else str(category)


# --------------------------------------------------------------------------------------------------
# Frameworks as files that `bnpriv.read_framework` and the shell read: what was made in a notebook runs there.
# --------------------------------------------------------------------------------------------------

MOST_FRAMEWORK_BYTES = 2**18
"""Largest framework file, 256 KiB."""


@dataclass(frozen=True, kw_only=True)
class FileParts:
    """What a framework file says.

    Parameters
    ----------
    notion : str
        As a file names it.
    source : str
    network : Network
    schema : Schema
    protect : mapping from str to mapping
        What every section ``[protect.NAME]`` says.
    independent : iterable of str
        Columns that are no node.
    laws : sequence of str
        The sections of laws.
    public_records : PublicRecords, optional
    decisions : mapping from str to str
        Who decided what, and why.
    """

    notion: str
    source: str
    network: Network
    schema: Schema
    protect: Mapping[str, Mapping[str, object]]
    independent: Iterable[str] = ()
    laws: Iterable[str] = ()
    public_records: PublicRecords | None = None
    decisions: Mapping[str, str] = field(default_factory=dict[str, str])

    def texts(self, path: Path, queries: Mapping[str, str]) -> dict[Path, str]:
        """Return the texts of all files, those of the network first."""
        network: NetworkPart = kind_of(self.network).section(self.network, path.stem)
        if self.public_records is not None:
            section, files = records_section(self.public_records, path.stem)
            network = NetworkPart(f"{network.section}\n\n{section}", {**network.files, **files})
        found = {path.with_name(name): content for name, content in network.files.items()}
        content = "\n\n".join(self._sections(network.section, queries)) + "\n"
        if not len(content.encode()) <= MOST_FRAMEWORK_BYTES:
            raise SizeError(
                f"a framework file may have at most {MOST_FRAMEWORK_BYTES:,} bytes",
                found=f"{len(content.encode()):,}",
                remedy="Keep the framework in Python.",
            )
        return found | {path: content}

    def _sections(self, network: str, queries: Mapping[str, str]) -> Iterator[str]:
        yield toml_section([], {"notion": self.notion, "source": self.source})
        yield network
        yield from column_sections(self.schema, self.independent)
        for name, values in self.protect.items():
            yield toml_section(["protect", name], values)
        yield from self.laws
        for name, said in (("queries", queries), ("decisions", self.decisions)):
            if said:
                yield toml_section([name], said)


def write_framework(
    framework: WrittenAsFile,
    path: str | os.PathLike[str],
    *,
    queries: Mapping[str, Query | str] | None = None,
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write a framework to a TOML file, with its network beside it: `DistributionalAttributePrivacy.to_file`."""
    file = user_path(path)
    if file.suffix.lower() != ".toml" or "\\" in file.stem or PureWindowsPath(file.stem).drive:
        raise FileError(
            "a framework file must end in .toml, with a plain name before it",
            found=repr(file.name[:80]),
            remedy="Name it for example framework.toml.",
        )
    parts = replace(cast(FileParts, framework.file_parts()), decisions=cast(FrameworkFacts, framework).decisions or {})
    texts = parts.texts(file, _query_texts({} if queries is None else queries))
    write_new(texts, overwrite=overwrite)
    return tuple(texts)


def dataset_parts(framework: DatasetAttributePrivacy) -> FileParts:
    """Return what a file says of dataset attribute privacy."""
    states = framework.network.states
    # what follows from the bins of a column is declared there
    declared = {name: laws for name, laws in framework.column_laws.items() if name in (framework.laws or {})}
    return FileParts(
        notion="dataset",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={name: secret_of_table(secret) for name, secret in framework.protect.items()},
        laws=law_sections(declared, framework.schema, lambda name: states.get(name, ())),
        public_records=cast("PublicRecords | None", framework.public_records),
    )


def distributional_parts(framework: DistributionalAttributePrivacy) -> FileParts:
    """Return what a file says of distributional attribute privacy."""
    states = framework.network.states
    return FileParts(
        notion="distributional",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={name: secrets_of_parameter(pairs, states.get(name, ())) for name, pairs in framework.secrets.items()},
        independent=framework.independent,
        laws=law_sections(framework.column_laws, framework.schema, lambda name: states.get(name, ())),
    )


def value_parts(framework: ValuePrivacy) -> FileParts:
    """Return what a file says of the privacy of single values."""
    # of a chain all pairs are hidden
    secrets: Mapping[str, tuple[Pair, ...]] = framework.secrets if framework.chain is None else {}
    states = framework.network.states
    return FileParts(
        notion="value",
        source=framework.source,
        network=framework.network,
        schema=framework.schema,
        protect={
            name: secrets_of_parameter(secrets[name], states[name]) if name in secrets else {}
            for name in framework.protected
        },
    )


def _query_texts(queries: object) -> dict[str, str]:
    if not isinstance(queries, Mapping):
        raise ParameterError(
            "queries are given by their names", found="no mapping", remedy='Write {"tall": "count(height > 180)"}.'
        )
    named = cast("Mapping[object, object]", queries)
    return {text("a query's name", name): query_text(as_query(query)) for name, query in named.items()}
