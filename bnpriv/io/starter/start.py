"""From a table and what is public about it to a framework."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import cast

from bnpriv.checks import listing, whole
from bnpriv.core.columns import Binned, Categorical, Integer, Real
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.asked import count, histogram
from bnpriv.core.queries.predicates import col
from bnpriv.core.schema import Column, Schema
from bnpriv.core.secrets import Secret, apart
from bnpriv.errors import FewRecordsWarning, FoundInPublicWarning, FrameworkError, ParameterError
from bnpriv.io.networks.files import read_network
from bnpriv.io.query_text import parse_query
from bnpriv.io.starter.learn import LEARNED_MODELS, ExpertEdges, check_protected
from bnpriv.io.starter.public import OTHER_LABELS
from bnpriv.io.starter.started import Started, StartedNotion, level_of, started
from bnpriv.tables.evaluate import require_answerable
from bnpriv.tables.readings import PLAIN, day_text
from bnpriv.text import name_text, some_text, visible

HIDDEN_PART = 100
"""By default numbers of records up to one in so many of the table apart are not to be told apart."""


def start(
    data: object,
    *,
    records: int,
    protect: str | Sequence[str] | Mapping[str, Secret],
    learn: object = None,
    network: DiscreteNetwork | str | os.PathLike[str] | None = None,
    public: object = None,
    notion: StartedNotion = "dataset",
    codebook: str | os.PathLike[str] | None = None,
    names: Sequence[str] | None = None,
    edges: str | ExpertEdges | None = None,
    strength: float | None = None,
    draws: int = LEARNED_MODELS,
    graphs: int = 1,
    source: str | None = None,
    read_as: Mapping[str, str] | None = None,
    decimal: str = "",
) -> DatasetAttributePrivacy | DistributionalAttributePrivacy:
    """Start a framework for a table of one's own, from its header and what is public about it.

    Parameters
    ----------
    data : table, str or path
        The private table, of which only the names of columns are used.
    records : int
        Number of rows, a public fact.
    protect : str, sequence of str, or mapping from str to Secret
        The protected columns. For a name alone the number of records with its last category, or from its middle bin
        on, is hidden, up to 1 % of the records apart; for the notion "distributional" all states of its parameter.
    learn : table, str or path, optional
        A public table with the same columns, from which a network of records is learned: the graph by hill climbing
        with BIC, the tables as draws from a Dirichlet posterior. Few whole numbers are states, others become bins; rare
        categories, and labels that it lacks, become "other".
    network : DiscreteNetwork, str or path, optional
        In place of `learn`: a network, or its file.
    public : table, str or path, optional
        A public table for bounds and categories alone.
    notion : {"dataset", "distributional"}
        Whether a property of this table is hidden, or the law behind it: docs/choosing-a-notion.md.
    codebook : str or path, optional
        A CSV or TOML file with column, type, lower, upper, categories, edges, shares and missing_codes, or lines like
        ``sex: Female, Male.``
    names : sequence of str, optional
        The columns, for a file whose first line is a record.
    edges : str or mapping, optional
        An expert's graph, as "age -> income, sex -> income": for `learn`, or with a strength in place of it. Whatever
        columns are called, as {("age", "income"): None}; in place of None the edge's own strength.
    strength : float, optional
        Without a public table: how much the edges can say. Whatever the state of the column before an arrow, the odds
        of one state of the column behind it against another are within this factor of those that the codebook's shares
        give. An edge may state its own, "income -> score: 1.5".
    draws : int
        How many networks are drawn; of weights of the public records there are twice as many draws.
    graphs : int
        For `learn`: in how many resamples of the public table (bootstrap) a graph is looked for, among which the draws
        are shared, so that an edge that the table supports but half is missing in half of the models. An estimate, no
        posterior.
    source : str, optional
        Where a given network comes from.
    read_as : mapping from str to str, optional
        What columns are read as, whatever the public table looks like: "number", "category", "days" (dates, which count
        as days since 1970-01-01), a way to write dates such as "DD.MM.YYYY", or "id" (left out).
    decimal : {"", ".", ","}
        The sign before decimals, where no public table shows it; with a comma, points stand between thousands.

    Returns
    -------
    DatasetAttributePrivacy or DistributionalAttributePrivacy

    Raises
    ------
    ParameterError
        If there is nothing to learn from, no network and no edges, or a protected column is unknown, or records are to
        teach the law behind a table.
    FileError, DataError
        If a file is not what it should be, the public table is the private one, or has other columns.
    FrameworkError
        If bounds or categories of a column stay unknown.

    Warns
    -----
    FewRecordsWarning
        If the network is learned from fewer than 500 public records.
    FoundInPublicWarning
        If the public table holds dates, signs of another language, codes for missing values, ids, or numbers with much
        mass of their own: what was found, and what was made of it.

    Examples
    --------
    >>> import pandas as pd
    >>> survey = pd.DataFrame({"smokes": ["no", "yes"] * 300, "ill": ["no"] * 330 + ["yes"] * 270})
    >>> ours = pd.DataFrame({"smokes": ["yes"], "ill": ["no"]})
    >>> framework = start(ours, records=5000, protect="ill", learn=survey)
    >>> framework.protected_secrets[0].secret
    'the number of records with ill = yes in this table'
    """
    if (learn is not None and network is not None) or (learn is None and network is None and edges is None):
        raise ParameterError(
            "a framework needs a network: one to be learned, one that is given, or edges with a strength",
            found="none" if learn is None else "both",
            remedy="Write learn=PUBLIC_TABLE, network=... with its source, or codebook=..., edges=... and strength=2.",
        )
    if source is None and network is not None:
        raise ParameterError("a network comes from somewhere", found="no source", remedy='Write source="...".')
    whole("draws", draws)
    hiding = [protect] if isinstance(protect, str) else protect
    hidden: Mapping[str, Secret | None] = hiding if isinstance(hiding, Mapping) else dict.fromkeys(hiding)
    given = read_network(network, level_of(notion)) if isinstance(network, (str, os.PathLike)) else network
    known = started(
        data,
        notion=notion,
        names=names,
        codebook=codebook,
        public=public,
        learn=learn,
        network=given,
        edges=edges,
        strength=strength,
        draws=draws,
        graphs=graphs,
        protect=hidden,
        read_as=read_as,
        decimal=decimal,
    )
    if known.few_records:
        warnings.warn(known.few_records, FewRecordsWarning, stacklevel=2)
    if known.notes:
        found = f"found in the {'public table' if known.public else 'codebook'}:"
        warnings.warn("\n".join([found, *known.notes]), FoundInPublicWarning, stacklevel=2)
    schema = _schema(known, records)
    for name in hidden:
        check_protected(name, list(schema.columns))
    return _framework(known, schema, hidden, cast(DiscreteNetwork, given or known.network), source or known.source)


def _schema(known: Started, records: int) -> Schema:
    """Return the schema of all columns but those left out.

    Raises
    ------
    FrameworkError
        If bounds or categories of one stay unknown.
    """
    unknown = [name for name in known.out if name not in known.left_out]
    if unknown:
        # names that nothing public has too may be a record
        told = known.names_given or known.public
        raise FrameworkError(
            "every column needs public bounds or categories",
            found=f"none for {listing(unknown)}" if told else "none for any",
            remedy="Give a codebook, or a public table.",
        )
    return Schema(records=records, columns=known.ready, dialect=None if known.dialect == PLAIN else known.dialect)


def _framework(
    known: Started, schema: Schema, hidden: Mapping[str, Secret | None], network: DiscreteNetwork, source: str
) -> DatasetAttributePrivacy | DistributionalAttributePrivacy:
    if known.notion == "distributional":
        apart_from = [name for name in schema.columns if name not in network.attributes]
        return DistributionalAttributePrivacy(network, schema, list(hidden), source=source, independent=apart_from)
    near = apart(at_most=usual_distance(schema.records))
    secrets = {
        name: Secret(usual_property(name, schema[name]), pairs=near) if secret is None else secret
        for name, secret in hidden.items()
    }
    made = DatasetAttributePrivacy(network, schema, secrets, source=source, public_records=known.public_records)
    left_open = [name for name, secret in hidden.items() if secret is None]
    object.__setattr__(made, "decisions", usual_decisions(left_open, schema.records))
    return made


def usual_distance(records: int) -> int:
    """How far apart numbers of records are not to be told apart where nobody says it."""
    return max(1, records // HIDDEN_PART)


def usual_decisions(names: Sequence[str], records: int) -> dict[str, str]:
    """What is said of a number that is hidden, and how far apart, where nobody decided it."""
    if not names:
        return {}
    told, near = some_text(names, most=2), usual_distance(records)
    return {
        "protected": f"default for {told}: the column was named, which number of it is hidden was not",
        "apart": f"default for {told}: {near:,}, of {records:,} records",
    }


def properties_of(name: str, column: Column, dates: str = "") -> dict[str, str]:
    """Return what is often hidden of a column: the text of each number, and what it is in words.

    Parameters
    ----------
    name : str
    column : Column
    dates : str
        How its dates are written, which count as days.

    Examples
    --------
    >>> for number, words in properties_of("age", Binned([0, 18, 65, 90])).items():
    ...     print(f"{number}: {words}")
    count(age >= 18.0): how many records have age of 18 or more
    count(age >= 65.0): how many records have age of 65 or more
    histogram(age): how many records lie in each bin of age, all of these numbers
    """
    said = name_text(name)
    if isinstance(column, Categorical):
        labels = {str(count(col(name) == one)): visible(str(one)) for one in column.categories}
        each = {text: f"how many records have {said} = {label}" for text, label in labels.items()}
        return {**each, str(histogram(name)): f"how many records have each label of {said}, all of these numbers"}
    ends = column.edges[1:-1] if isinstance(column, Binned) else (_middle(column),)
    told = [day_text(end, dates) if dates else f"{end:,.10g}" for end in ends]
    counts = {
        str(count(col(name) >= end)): f"how many records have {said} of {words} or more"
        for end, words in zip(ends, told, strict=True)
    }
    if isinstance(column, Binned) and len(ends) > 1:
        counts[str(histogram(name))] = f"how many records lie in each bin of {said}, all of these numbers"
    return counts


def hidden_number(name: str, text: str, at_most: float, schema: Schema) -> Secret:
    """Return the secret that a number about a column is, tables up to some distance apart being alike.

    Parameters
    ----------
    name : str
        The column.
    text : str
        The number, as a query.
    at_most : float
        In records.
    schema : Schema

    Raises
    ------
    QueryError, ParameterError, SecretError
        If it is no number about that column that can be hidden.
    """
    asked = parse_query(text)
    require_answerable(asked, schema)
    secret = Secret(asked, pairs=apart(at_most=at_most))
    if secret.column != name:
        raise ParameterError(
            f"what is hidden of {name!r} is a number about it",
            found=f"one about {secret.column!r}",
            remedy=f"Protect {secret.column!r} for that.",
        )
    return secret


LIKE_GAPS = frozenset(("n/a", "na", "unknown", "?", "-"))
"""Labels that look like gaps, in small letters: how many they are nobody wants to hide."""


def usual_property(name: str, column: Column):
    """Return how many records have the last category of a column, or a number from its middle bin on."""
    if isinstance(column, Categorical):
        named = [each for each in column.categories if each not in (column.missing, *OTHER_LABELS)]
        named = [each for each in named if str(each).lower() not in LIKE_GAPS] or named
        named = named or list(column.categories)
        return count(col(name) == named[-1])
    return count(col(name) >= _middle(column))


def _middle(column: Binned | Integer | Real) -> float:
    """The number from which on records are usually counted."""
    if isinstance(column, Binned):
        return column.edges[len(column.edges) // 2]
    middle = (column.lower + column.upper) / 2
    # as a person would write it: the sum of two decimals may have an end that neither has
    return math.ceil(middle) if isinstance(column, Integer) else float(f"{middle:.12g}")
