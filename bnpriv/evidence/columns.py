"""What ties the columns of a table to the parameters in a network."""

from __future__ import annotations

from collections.abc import Iterable

from bnpriv.checks import closest, listing
from bnpriv.errors import Refusal
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.networks.base import Network
from bnpriv.render.text import name_text
from bnpriv.tables.schema import Binned, Schema

COLUMNS_ASSUMPTION = (
    "Given all parameters the columns are independent, and each column is driven by its own parameter alone."
)


OWN_COLUMNS_ASSUMPTION = (
    "Given the parameters that drive them, the columns that are no attribute say nothing more of any parameter."
)


def given_its_bin(schema: Schema, columns: Iterable[str]) -> tuple[str, ...]:
    """Return what must hold for the influences of bins to be those of the numbers in them, however these lie there."""
    return tuple(
        f"Given its bin, a number of {name_text(name)} says nothing more about any other column."
        for name in sorted(columns)
        if isinstance(schema.columns.get(name), Binned)
    )


def numbers_in_bins(schema: Schema, columns: Iterable[str]) -> tuple[str, ...]:
    """Return what is assumed of the numbers inside bins where the law of an answer is computed from it."""
    return tuple(
        f"Inside its bin a number of {name_text(name)} lies {_within_text(column)}, whatever the other columns hold."
        for name in sorted(columns)
        if isinstance(column := schema.columns.get(name), Binned)
    )


def _within_text(column: Binned) -> str:
    if column.observed:
        return "as often at each value as in a public table"
    if isinstance(column.within, str):
        return "evenly" if column.within == "uniform" else "evenly on whole numbers"
    return "as it was declared"


def assumed(network: Network) -> tuple[str, ...]:
    """Return what must hold for the influences of parameters to be those of columns."""
    return (COLUMNS_ASSUMPTION, OWN_COLUMNS_ASSUMPTION) if network.reading.columns else (COLUMNS_ASSUMPTION,)


def uncovered(framework: DistributionalAttributePrivacy, columns: frozenset[str]) -> Refusal | None:
    """Return why the model says nothing about one of `columns`, or None if it covers all."""
    known = framework.network.reading.columns
    missing = columns.difference(framework.network.attributes, framework.independent, known)
    if not missing:
        return None
    near = closest(min(missing), {*framework.network.attributes, *known} - set(framework.schema.columns))
    remedy = "Add it to the network, or list it in `independent` if it depends on no parameter and no column."
    if near is not None:
        remedy = f"Is {near!r} in the network the same column? Give both one name."
    return Refusal(
        required="every queried column must be a node of the network or declared independent",
        found=listing(sorted(missing)),
        remedy=remedy,
    )
