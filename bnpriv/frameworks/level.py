"""What a node of a network means must suit the notion: the parameter of a column, or the column of one record."""

from __future__ import annotations

import math
import unicodedata

from bnpriv.checks import listing
from bnpriv.errors import FrameworkError
from bnpriv.networks.base import Level, Network
from bnpriv.tables.schema import Binned, Categorical, Column, Schema, State, is_whole

RECORDS_WAY = (
    "if it was fitted to records, as almost every network whose states are the column's own values, use "
    'DatasetAttributePrivacy(network, schema, {"NAME": Secret("proportion(NAME == ...)")}) with level="records" in '
    'Python, and in a file notion = "dataset", level = "records" under [network] and property = '
    '"proportion(NAME == ...)" under [protect.NAME] (ValuePrivacy, notion = "value": the value of a single record)'
)
PARAMETERS_WAY = (
    'only if a state says what the whole column is like, as "most smoke", state level="parameters", or '
    'network.of_level("parameters"), in a file level = "parameters" under [network]'
)
MEANS: dict[Level, str] = {
    "parameters": f"Change the notion: {RECORDS_WAY}. Or declare the network of the columns' parameters.",
    "records": 'Declare the network of the columns of one record, with level="records", in a file level = "records" '
    'under [network]. A network of parameters goes with DistributionalAttributePrivacy, notion = "distributional".',
}

KINDS_NOT_VALUES = (
    "The states of {} are spelt as values of that column and are taken for kinds of the whole column, not for the "
    "values of records: if the network was fitted to records, nothing of this holds for the table."
)
"""What a reader must know where level "parameters" was declared for a network that looks like one of records."""

TRUTH = {"false": 0.0, "no": 0.0, "true": 1.0, "yes": 1.0}
"""How tables spell what is so and what is not, as numbers."""


def require_level(network: Network, level: Level, notion: str) -> None:
    """Refuse a network of the other level.

    Raises
    ------
    FrameworkError
    """
    if network.level != level:
        raise FrameworkError(
            f"{notion} needs a network of level {level!r}", found=f"level {network.level!r}", remedy=MEANS[level]
        )


def require_stated_level(network: Network, schema: Schema) -> None:
    """Refuse a network without a declared level that may be one of records.

    Raises
    ------
    FrameworkError
        If two states of a node are values of the column of that name, and nobody said what a node means.

    Notes
    -----
    A network fitted to records has the values of the columns as states. Taken for a network of parameters it says that
    the whole column hangs on one draw, and guarantees of it say nothing about the table.
    """
    if not network.reading.level_assumed:
        return
    doubtful = spelt_as_values(network, schema)
    if doubtful:
        raise FrameworkError(
            "a network whose states are values of its columns must say what a node means",
            found=f"values of the column as states of {listing(doubtful)}, and no level",
            remedy=f"{RECORDS_WAY[0].upper()}{RECORDS_WAY[1:]}; {PARAMETERS_WAY}.",
        )


def spelt_as_values(network: Network, schema: Schema) -> list[str]:
    """Return the nodes two states of which are, or spell, values of the column of that name."""
    named = [name for name in network.states if name in schema.columns]
    return [name for name in named if sum(_is_value(state, schema[name]) for state in network.states[name]) > 1]


def _is_value(state: State, column: Column) -> bool:
    """Return whether a state is, or spells, a value of a column."""
    value = _spelt(state)
    if isinstance(column, Binned) and value in map(_spelt, column.labels):
        return True
    if isinstance(column, Categorical):
        return value in map(_spelt, column.categories)
    if isinstance(value, str):
        return False
    whole = float(value).is_integer()
    return column.lower <= value <= column.upper and (whole or not is_whole(column))


def _spelt(state: State) -> str | float:
    """Return a value as a table may spell it too: a number, also for yes and no, or a text without case."""
    text = unicodedata.normalize("NFKC", str(state)).strip().casefold()
    try:
        number = TRUTH[text] if text in TRUTH else float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
