"""The sections ``[protect.NAME]`` of a framework file."""

from __future__ import annotations

from typing import cast

from bnpriv.adapters.gaussian_section import chosen_intervals
from bnpriv.adapters.toml_file import TomlTable, listed_or_none
from bnpriv.adapters.toml_words import kind_of
from bnpriv.queries.parser import parse_query
from bnpriv.render.text import and_text
from bnpriv.secrets.apart import Apart, apart
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import SecretPairs, Side, pairs
from bnpriv.tables.schema import State

_STATES = ('pairs = [["low", "high"], ["low", ["middle", "high"]]]', "a state or a list of states", "Name states.")
_VALUES = ("pairs = [[40, 50], [40, [60, 70]]]", "a value or a list of values", "Name values of the property.")


def secret_of_parameter(part: TomlTable) -> SecretPairs | None:
    """Return which states of a parameter must not be told apart; None for all."""
    part = part.only(("pairs",))
    return _pairs(part, *_STATES)


def secret_of_table(part: TomlTable) -> Secret:
    """Return the property of a column that is hidden, and which of its values must not be told apart."""
    part = part.only(("property", "at_most", "pairs", "intervals"))
    given = [key for key in ("at_most", "pairs", "intervals") if key in part.values]
    if len(given) > 1:
        raise part.refusal(
            "values are chosen by at_most, by pairs or by intervals",
            found=and_text(given),
            remedy="Keep one of them, or none for all values.",
        )
    if "property" not in part.values:
        raise part.refusal(
            "property must be a text",
            found="none",
            remedy="Write for example property = \"proportion(NAME == 'STATE')\", with the column's own name and "
            "category; a count, total or mean of the column does too.",
            key="property",
        )
    with part.named():
        pairs = _apart(part) or _pairs(part, *_VALUES) or chosen_intervals(part)
        return Secret(parse_query(part.string("property")), pairs=pairs)


def _apart(part: TomlTable) -> Apart | None:
    return apart(at_most=part.need("at_most")) if "at_most" in part.values else None


def _pairs(part: TomlTable, example: str, members: str, remedy: str) -> SecretPairs | None:
    if "pairs" not in part.values:
        return None
    listed = listed_or_none(part.values["pairs"])
    couples = [listed_or_none(pair) for pair in listed or ()]
    if listed is None or any(pair is None or len(pair) != 2 for pair in couples):
        raise part.refusal(
            "pairs must be a list of pairs of secrets", found="something else", remedy=f"Write {example}."
        )

    def side(given: object) -> Side:
        several = listed_or_none(given)
        chosen = [given] if several is None else several
        if not all(isinstance(each, (str, int, float, bool)) for each in chosen):
            raise part.refusal(f"a secret must be {members}", found=kind_of(given), remedy=remedy)
        return frozenset(cast("list[State]", chosen))

    with part.named():
        return pairs(*((side(pair[0]), side(pair[1])) for pair in couples if pair))
