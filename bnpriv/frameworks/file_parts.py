"""The columns, secrets and laws of a framework as sections of a framework file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from bnpriv.errors import FileError, QueryError
from bnpriv.frameworks.file_network import IN_PYTHON
from bnpriv.queries.base import Query
from bnpriv.queries.parser import parse_query
from bnpriv.render.toml import short_number, toml_section
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.pair import Pair
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import SecretPair, SecretPairs, all_pairs
from bnpriv.secrets.values import Interval, IntervalPair, ValuesApart
from bnpriv.tables.bins import Inside
from bnpriv.tables.column_laws import ColumnLaw, FiniteLaw, MixedLaw, NumberLaw
from bnpriv.tables.schema import Binned, Categorical, Column, Integer, Real, Schema, State

Values = dict[str, object]


def column_sections(schema: Schema, independent: Iterable[str]) -> Iterator[str]:
    """Yield the number of records, and every column in its order.

    Raises
    ------
    FileError
        If a column is declared as files cannot say it.
    """
    yield toml_section(["records"], {"count": schema.records})
    alone = frozenset(independent)
    for name, column in schema.columns.items():
        values = _column(name, column)
        plain = column.numbers if isinstance(column, Binned) else column
        if column.missing != replace(plain, missing=None).missing:
            values["missing"] = _missing(column)
        if name in alone:
            values["independent"] = True
        yield toml_section(["columns", name], values)


def _column(name: str, column: Column) -> Values:
    if isinstance(column, Categorical):
        return _categories(name, column)
    plain = column.numbers if isinstance(column, Binned) else column
    own_grid = isinstance(plain, Real) and plain.steps != Real(plain.lower, plain.upper).steps
    steps: Values = {"steps": column.steps} if own_grid else {}
    if isinstance(column, Binned):
        return _bins(column, steps)
    kind = "real" if isinstance(column, Real) else "integer"
    return {"type": kind, "lower": short_number(column.lower), "upper": short_number(column.upper), **steps}


def _categories(name: str, column: Categorical) -> Values:
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
    return law if isinstance(law, str) else {repr(short_number(number)): mass for number, mass in law.items()}


def _missing(column: Column) -> object:
    return column.missing if isinstance(column, (Categorical, Integer)) else short_number(cast(float, column.missing))


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
            labels = column.labels if isinstance(column, Binned) else ()
            return {"values": {_key(cast(float, value), labels): short_number(mass) for value, mass in masses}}
        return {"categorical": {category_text(category): short_number(mass) for category, mass in masses}}
    if isinstance(law, MixedLaw) and isinstance(column, Binned):
        bins = zip(column.labels, law.probabilities, strict=True)
        return {"values": {label: short_number(mass) for label, mass in bins}}
    if isinstance(law, NumberLaw) and law.name == "norm" and not law.quantiles:
        given = dict(law.parameters)
        return {"normal": [short_number(given["loc"]), short_number(given["scale"])]}
    raise FileError(
        "framework files hold normal laws, and probabilities of categories, numbers and bins",
        found=f"another law of {name!r}" if not isinstance(law, NumberLaw) else f"the law {law.name!r} of {name!r}",
        remedy=IN_PYTHON,
    )


def _key(number: float, labels: Sequence[str]) -> str:
    """Return a number as a key that is no label of a bin: blanks around it change nothing."""
    text = repr(short_number(number))
    while text in labels:
        text += " "
    return text


def category_text(category: object) -> str:
    """A category as a key of a file, where all keys are texts."""
    return str(category).lower() if isinstance(category, bool) else str(category)
