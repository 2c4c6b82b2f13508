"""In words: along which path an influence runs, and which rows of the tables carry it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from bnpriv.influence.elimination import joint_law
from bnpriv.influence.ratios import independent_parts
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.render.text import chance_text, lines_text, number_text
from bnpriv.secrets.states import SecretPair, side_text
from bnpriv.tables.schema import State


def explanation(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, assignment: Mapping[str, State]
) -> str:
    """Return, for the assignment that tells most, its probabilities, an open path to each column, and the rows."""
    lines = [_probabilities(network, protected, pair, model, assignment)]
    paths = network.graph.open_paths(protected, ())
    steps: dict[tuple[str, str], None] = {}
    for name in assignment:
        path = paths.get(name) or network.graph.open_paths(protected, set(assignment) - {name})[name]
        lines.append(f"Path: {path_text(network, path)}")
        steps |= dict.fromkeys(pairwise(path))
    children = dict.fromkeys(b if a in network.graph.parents[b] else a for a, b in steps)
    for child in children:
        lines += _rows(network, child, model, assignment.get(child))
    return lines_text(lines)


def path_text(network: DiscreteNetwork, path: tuple[str, ...]) -> str:
    """Return a path with its arrows."""
    text = path[0]
    for a, b in pairwise(path):
        text += f" -> {b}" if a in network.graph.parents[b] else f" <- {b}"
    return text


def _probabilities(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, assignment: Mapping[str, State]
) -> str:
    # Given a single state the parts are independent, and a table of them all might be too large.
    parts = independent_parts(network.graph, protected, tuple(assignment)) if pair.is_point else [tuple(assignment)]
    chances = [1.0, 1.0]
    for part in parts:
        law = joint_law(network, (protected, *part))
        values = np.exp(law.values[min(model, law.values.shape[0] - 1)])
        cell = tuple(network.states[name].index(assignment[name]) for name in part)
        for k, side in enumerate((pair.first, pair.second)):
            inside = [network.states[protected].index(state) for state in side]
            chances[k] *= float(values[(inside, *cell)].sum() / values[inside].sum())
    seen = ", ".join(f"{name} = {state}" for name, state in assignment.items())
    ratio = "infinitely" if chances[1] == 0 else f"{number_text(chances[0] / chances[1])} times"
    return (
        f"{seen} has probability {chance_text(chances[0])} if {protected} is {side_text(pair.first)} and "
        f"{chance_text(chances[1])} if it is {side_text(pair.second)}: {ratio} as likely."
    )


def _rows(network: DiscreteNetwork, child: str, model: int, state: State | None) -> list[str]:
    """Return the column of a table whose entries differ most between parent configurations."""
    table = network.probabilities(child)[model]
    flat = table.reshape(table.shape[0], -1)
    row = int(np.argmax(np.ptp(flat, axis=1))) if state is None else network.states[child].index(state)
    parents = network.graph.parents[child]
    name = f"{child} = {network.states[child][row]}"
    lines: list[str] = []
    for which in dict.fromkeys((int(np.argmin(flat[row])), int(np.argmax(flat[row])))):
        index = np.unravel_index(which, table.shape[1:])
        given = ", ".join(f"{p} = {network.states[p][int(k)]}" for p, k in zip(parents, index, strict=True))
        lines.append(f"Row: P({name} | {given}) = {number_text(float(flat[row, which]))}")
    return lines
