"""What ties the columns of a table to the parameters in a network."""

from __future__ import annotations

from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.frameworks import DistributionalAttributePrivacy

COLUMNS_ASSUMPTION = (
    "Given all parameters the columns are independent, and each column is driven by its own parameter alone."
)


def uncovered(framework: DistributionalAttributePrivacy, columns: frozenset[str]) -> Refusal | None:
    """Return why the model says nothing about one of `columns`, or None if it covers all."""
    missing = columns.difference(framework.network.attributes, framework.independent)
    if not missing:
        return None
    return Refusal(
        required="every queried column must be a node of the network or declared independent",
        found=listing(sorted(missing)),
        remedy="Add it to the network, or list it in `independent` if it depends on no parameter and no column.",
    )
