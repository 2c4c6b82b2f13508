"""The sections of a framework file that declare a linear-Gaussian network and what it must hide."""

from __future__ import annotations

from typing import Any, cast

from bnpriv.adapters.toml_file import TomlTable, listed_or_none
from bnpriv.adapters.toml_words import kind_of
from bnpriv.networks.base import Level
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.secrets.apart import Apart, apart
from bnpriv.secrets.values import IntervalPairs, intervals

_KEYS = ("intercept", "deviation", "coefficients")


def declared_gaussian(part: TomlTable, usual: Level) -> GaussianNetwork:
    """Return the network of ``[network.attributes.NAME]``; a list of numbers has one for each model."""
    part = part.only(("attributes", "level"))
    level = cast(Level, part.string("level")) if "level" in part.values else usual
    attributes = part.section("attributes")
    rows = {name: attributes.section(name, _KEYS) for name in attributes.values}
    slopes = {name: row.section("coefficients").values for name, row in rows.items() if "coefficients" in row.values}
    with part.named():
        return GaussianNetwork.linear(
            {name: row.need("intercept") for name, row in rows.items()},
            {name: row.need("deviation") for name, row in rows.items()},
            cast(Any, slopes),
            level=level,
        )


def secret_of_continuous(part: TomlTable) -> Apart | IntervalPairs | None:
    """Return which values of a continuous parameter must not be told apart."""
    part = part.only(("at_most", "intervals"))
    if "at_most" in part.values and "intervals" in part.values:
        raise part.refusal("values are chosen by at_most or by intervals", found="both", remedy="Keep one of them.")
    with part.named():
        if "at_most" in part.values:
            return apart(at_most=part.need("at_most"))
        return chosen_intervals(part)


def chosen_intervals(part: TomlTable) -> IntervalPairs | None:
    """Return the pairs of intervals of a section; None where there are none."""
    if "intervals" not in part.values:
        return None
    chosen = listed_or_none(part.values["intervals"])
    if chosen is None:
        found = kind_of(part.values["intervals"])
        remedy = "Write intervals = [[[30, 40], [50, 60]]]."
        raise part.refusal("intervals must be a list of pairs", found=found, remedy=remedy)
    with part.named():
        return intervals(*cast(Any, chosen))
