"""The influence of every single attribute on every other one, by one pass over a junction tree.

What is computed and why its numbers are upper bounds is in docs/claims/junction.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.junction_blocks import ratios_of_models
from bnpriv.influence.junction_network import NumberedNetwork, common_ancestors
from bnpriv.influence.junction_ratios import PairStates, Passes, TreeNumbers
from bnpriv.influence.junction_weights import OutOfRangeError
from bnpriv.influence.maximum import impossible_secrets
from bnpriv.influence.rows import InfluenceRows, rows_one_by_one
from bnpriv.laws.base import FUNCTION_ERROR
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.secrets.declared import Declared, pairs_of
from bnpriv.secrets.states import BETWEEN, SecretPair, of_states


def finite_rows(
    network: DiscreteNetwork, chosen: Mapping[str, Declared | None], workers: int | None = 1
) -> InfluenceRows:
    """What every attribute tells, from one pass over a junction tree; one by one where it would be too large."""
    try:
        return junction_rows(network, chosen, workers)
    except (OutOfRangeError, SizeError):
        return rows_one_by_one(network, chosen)


def junction_rows(
    network: DiscreteNetwork, chosen: Mapping[str, Declared | None], workers: int | None = 1
) -> InfluenceRows:
    """What every attribute tells about the protected ones.

    Raises
    ------
    SizeError
        If the tables of the junction tree would be too large.
    OutOfRangeError
        If probabilities are too small for doubles.
    """
    numbered = NumberedNetwork.of(network)
    number = {name: k for k, name in enumerate(network.attributes)}
    pairs = {
        number[name]: of_states(pairs_of(network, name, given)) for name, given in chosen.items() if given is not None
    }
    rows = [number[name] for name in chosen if len(network.states[name]) > 1]
    sides: dict[int, list[PairStates]] = {
        row: [(_places(states, pair.first), _places(states, pair.second)) for pair in pairs[row]]
        for row in pairs
        for states in [numbered.states(row)]
    }
    numbers = TreeNumbers(numbered.tree, numbered.families, sides)
    worst, impossible = ratios_of_models(numbers, Passes.of(numbered.tree, rows), numbered.logs(), workers)
    return _rounded_up(numbered, rows, pairs, worst, impossible)


def _places(states: Sequence[object], secret: frozenset[object]) -> list[int]:
    return [k for k, state in enumerate(states) if state in secret]


def _rounded_up(
    numbered: NumberedNetwork,
    rows: Sequence[int],
    pairs: Mapping[int, Sequence[SecretPair]],
    worst: Mapping[int, FloatArray],
    impossible: Mapping[int, NDArray[np.bool_]],
) -> InfluenceRows:
    """Return logs that are rounded up, and which secrets are impossible."""
    network, names = numbered.network, numbered.network.attributes
    ratios = np.array([worst[row] for row in rows]).reshape(len(rows), len(names))
    if numbered.families is not numbered.declared:  # independent, though not by the graph alone
        ratios[~common_ancestors(numbered.families)[rows]] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ratios)
        steps = 4 + 4 * max(numbered.sizes) + (FUNCTION_ERROR + 2) * np.abs(logs)
        raised = np.maximum(logs + (4 * numbered.error + UNIT_ROUNDOFF * steps), 0.0)
    nats = np.where(np.isfinite(logs), raised, logs)
    nats[~numbered.connected()[rows]] = 0.0
    nats[range(len(rows)), rows] = np.nan
    refused: dict[str, str] = {}
    dropped: dict[str, list[str]] = {}
    for k, row in enumerate(rows):
        found = numbered.impossible(row, impossible[row])
        if not found.any():
            continue
        states = network.states[names[row]]
        never = np.broadcast_to(found, (network.models, len(states)))
        gone = _dropped(never, states, pairs[row]) if row in pairs else _dropped_states(never, states)
        if gone is None:
            refused[names[row]] = str(impossible_secrets(names[row]))
            nats[k] = np.nan
        elif gone:
            dropped[names[row]] = gone
    return InfluenceRows(protected=tuple(names[row] for row in rows), values=nats, refused=refused, dropped=dropped)


def _dropped_states(impossible: NDArray[np.bool_], states: Sequence[object]) -> list[str] | None:
    """What `_dropped` does for all ordered pairs of single states."""
    left_out = impossible[:, :, np.newaxis] | impossible[:, np.newaxis, :]
    apart = ~np.eye(len(states), dtype=np.bool_)
    if left_out[:, apart].all():
        return None
    places = zip(*np.nonzero(left_out & apart), strict=True)
    return [f"{states[a]}{BETWEEN}{states[b]} in model {model}" for model, a, b in places]


def _dropped(impossible: NDArray[np.bool_], states: Sequence[object], pairs: Sequence[SecretPair]) -> list[str] | None:
    """The pairs that are no constraint under a model, in words; None if none is under any."""

    def gone(secret: frozenset[object]) -> NDArray[np.bool_]:
        return np.asarray(impossible[:, _places(states, secret)].all(axis=1))

    left_out = np.stack([gone(pair.first) | gone(pair.second) for pair in pairs], axis=1)
    if left_out.all():
        return None
    return [f"{pairs[int(k)]} in model {int(model)}" for model, k in zip(*np.nonzero(left_out), strict=True)]
