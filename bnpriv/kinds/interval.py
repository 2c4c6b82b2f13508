"""Networks whose probabilities lie within intervals: bounds hold for all members at once."""

from __future__ import annotations

import numpy as np

from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.kind import NetworkKind, TableEnds
from bnpriv.networks.discrete import IntervalNetwork

NO_LOSSES = Refusal(
    required="delta above 0 needs exact tables",
    found="an interval for every probability",
    remedy="Ask for delta=0, or declare the models one by one.",
)
NO_INTERVAL_CONDITIONALS = Refusal(
    required="the law of a column given a secret needs exact tables",
    found="an interval for every probability",
    remedy="Choose one model within the intervals, for example network.middle().",
)


def _losses(influence: object) -> Refusal:
    """A bound of the largest loss says nothing of how rare it is."""
    return NO_LOSSES


def _conditional(influence: object, column: str) -> Refusal:
    return NO_INTERVAL_CONDITIONALS


def _assumptions(network: IntervalNetwork) -> tuple[str, ...]:
    within = "The law of the parameters is that of some model within the declared intervals."
    if not network.missing:
        return (within,)
    return (within, f"Rows without data may be any law: {listing(network.missing)}.")


def _ends(network: IntervalNetwork, model: int) -> TableEnds:
    return network.lower, network.upper, network.missing


def _is_deterministic(network: IntervalNetwork, name: str) -> bool:
    low, high = network.lower[name], network.upper[name]
    return bool(np.all((low == high) & ((low == 0) | (low == 1))))


INTERVAL_KIND = NetworkKind(
    by_intervals=True,
    influence="bnpriv.influence.interval:interval_influence",
    losses=_losses,
    conditional=_conditional,
    assumptions=_assumptions,
    table_ends=_ends,
    is_deterministic=_is_deterministic,
    section="bnpriv.frameworks.file_network:intervals_section",
)
