"""What influences and quilts say of themselves: colours, paths, drawings."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bnpriv.core.columns import State
from bnpriv.core.influence.base import Influence, draw_points, plain_text
from bnpriv.core.influence.finite import independent_parts, joint_law
from bnpriv.core.influence.quilts import MarkovQuilt
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import SecretPair, side_text
from bnpriv.errors import NetworkError, Refusal
from bnpriv.render import figures as plotting
from bnpriv.render.document import Document, Figure, Items, Name, Names, Section, Table, Text, json_number
from bnpriv.render.figures import HeatCell
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html, quilt_legend
from bnpriv.render.html import Html, join
from bnpriv.text import Json, by_times, chance_text, factor_text, in_order, lines_text, number_text, some_text

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# Which factor on the odds which colour stands for.
# --------------------------------------------------------------------------------------------------

HEAT_LEVELS = ((1.1, "1"), (1.5, "2"), (3.0, "3"), (10.0, "4"), (50.0, "5"))
"""Colours of a heat map: up to such a factor on the odds."""

DASH, INFINITY_SIGN = "\u2013", "\u221e"

LEGEND: tuple[tuple[str, str], ...] = (
    ("zero", "1: tells nothing"),
    *(
        (level, f"{low:g} to {most:g}")
        for (most, level), low in zip(HEAT_LEVELS, (1.0, *dict(HEAT_LEVELS)), strict=False)
    ),
    ("6", f"over {HEAT_LEVELS[-1][0]:g}"),
    ("top", f"{INFINITY_SIGN}: no factor bounds the odds"),
)
"""What the colours mean."""


def heat_cell(nats: float | None, columns: Collection[str], *, marked: bool = False, note: str = "") -> HeatCell:
    """Return the cell of an influence; None stands for an attribute that meets itself.

    Parameters
    ----------
    nats : float or None
    columns : collection of str
        What is seen.
    marked : bool
        Whether it tells more than is allowed.
    note : str
        More for whoever points at the cell.
    """
    if nats is None:
        return HeatCell(text=DASH, level="none", title="the attribute itself")
    if math.isnan(nats):
        return HeatCell(text=DASH, level="none", title="not looked at")
    level = "zero" if nats == 0 else next((level for most, level in HEAT_LEVELS if nats <= math.log(most)), "6")
    return HeatCell(
        text=INFINITY_SIGN if math.isinf(nats) else factor_text(nats),
        level="top" if math.isinf(nats) else level,
        title=f"{some_text(columns)}: moves the odds {by_times(nats)}{note}",
        marked=marked,
    )


# --------------------------------------------------------------------------------------------------
# In words: along which path an influence runs, and which rows of the tables carry it.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# An influence as a card and as drawings.
# --------------------------------------------------------------------------------------------------


def influence_document(influence: Influence) -> Document:
    """How much is told, how well that is known, and how it is told."""
    said, nats = plain_text(influence), float(influence)
    first, *lines = influence.explain().splitlines()
    if first == said:  # which is the headline
        first, *lines = lines or [""]
    return Document(
        kind="influence",
        kicker=f"bnpriv influence, {influence.kind}",
        headline=said[:-1],
        lead=first,
        answer=(Items(tuple(lines)),) if lines else (),
        data={
            "columns": in_order(influence.columns),
            "protected": influence.protected,
            "nats": None if influence.unknown is not None else json_number(nats),
            "kind": influence.kind,
            "pair": None if influence.pair is None else str(influence.pair),
            "model": influence.model,
        },
    )


def plot_secrets(influence: Influence, column: str | None, ax: Axes | None) -> Axes:
    """Draw the law of a column given each of the two secrets: `Influence.plot_secrets`."""
    curves = influence.conditional(column)
    if isinstance(curves, Refusal):
        raise curves.error()
    return plotting.draw_curves(ax, curves, column or influence.frontier[0])


def plot_draws(influence: Influence, ax: Axes | None) -> Axes:
    """Draw how many of the models tell how much: `Influence.plot_draws`."""
    drawing = plotting.axes(ax)
    told = np.maximum(influence.values.max(axis=1), 0.0)
    drawing.hist(told[np.isfinite(told)], bins=40, color="#4a78b0")
    for share, point in zip((50, 95, 100), draw_points(influence.values), strict=True):
        if np.isfinite(point):
            drawing.axvline(point, color="black", linewidth=1, linestyle=":" if share < 100 else "-")
            drawing.annotate(f"{share} %", (point, 0.97), xycoords=("data", "axes fraction"), rotation=90, va="top")
    names = ", ".join(plotting.label(name) for name in in_order(influence.columns))
    drawing.set_xlabel(f"what {names} tells about {plotting.label(influence.protected)}, in nats")
    drawing.set_ylabel("models")
    return drawing


# --------------------------------------------------------------------------------------------------
# What Markov quilts say of themselves: their sides, drawn in the network that they split.
# --------------------------------------------------------------------------------------------------


def quilt_document(sides: MarkovQuilt) -> Document:
    """Return a quilt with its sides."""
    told, since = "Whoever knows the quilt learns nothing more about ", " from the remote attributes."
    if not sides.quilt:
        told, since = "The remote attributes tell nothing about ", "."
    return Document(
        kind="quilt",
        kicker="bnpriv Markov quilt",
        headline=_headline(sides),
        lead=(told, Name(sides.protected), since),
        answer=(quilt_figure(sides),),
        data=_data(sides),
    )


def quilt_figure(sides: MarkovQuilt) -> Figure:
    """Return the drawing of a quilt, where its network is known and small enough to be read, with its legend."""
    quilt, near, remote = (Names(tuple(side)) for side in (sides.quilt, _others(sides), sides.remote))
    legend = quilt_legend(sides.protected, quilt=sides.quilt, near=sides.near, remote=sides.remote)
    words = ("Quilt: ", quilt, ". Near: ", near, ". Remote: ", remote, ".")
    return Figure(join(_drawn(sides, sides.graph), legend), words=words)


LISTED = 6
"""Quilts that are printed."""


def quilts_document(protected: str, quilts: Sequence[MarkovQuilt], graph: Graph, *, more: bool) -> Document:
    """Return several quilts of one attribute."""
    rows = [[(Names(tuple(side)),) for side in (each.quilt, _others(each), each.remote)] for each in quilts]
    table = Table(
        caption="Whoever knows a quilt learns nothing more from the remote attributes",
        header=("quilt", "near", "remote"),
        rows=rows,
        more="More are found as they are asked for." if more else "",
    )
    which = "The first Markov quilts" if more else "All Markov quilts" if quilts else "No Markov quilts"
    return Document(
        kind="quilts",
        kicker="bnpriv Markov quilts",
        headline=(f"{which} of ", Name(protected)),
        lead="" if quilts else "No attribute is shielded from it by others.",
        short=tuple(
            (
                Names(tuple(each.quilt), nothing="the empty quilt"),
                ": near ",
                near,
                "; remote ",
                Names(tuple(each.remote)),
            )
            for each in quilts[:LISTED]
            for near in (Names(tuple(_others(each))),)
        ),
        answer=(table,) if quilts else (),
        sections=tuple(
            Section(title=_headline(each), blocks=(Figure(_drawn(each, graph)),), folded=True) for each in quilts
        ),
        data={"protected": protected, "quilts": [_data(each) for each in quilts], "more": more},
    )


def quilt_roles(sides: MarkovQuilt) -> Mapping[str, str]:
    """Return the role of every attribute in the drawing of a quilt."""
    by_side = {"near": sides.near, "quilt": sides.quilt, "remote": sides.remote}
    roles = {member: role for role, side in by_side.items() for member in side}
    return roles | {sides.protected: "protected"}


def _headline(sides: MarkovQuilt) -> Text:
    if not sides.quilt:
        return "The empty quilt of ", Name(sides.protected)
    verb = " shields " if len(sides.quilt) == 1 else " shield "
    return Names(tuple(sides.quilt)), verb, Name(sides.protected)


def _drawn(sides: MarkovQuilt, graph: Graph | None) -> Html:
    if graph is None or len(graph.nodes) > MOST_DRAWN:
        return Html()
    drawing = Drawing(
        nodes=graph.nodes,
        edges=graph.edges,
        roles=quilt_roles(sides),
        title="The network, coloured by the quilt",
        desc="The legend names the attributes on each side.",
    )
    return graph_html(drawing)


def _others(sides: MarkovQuilt) -> frozenset[str]:
    return sides.near - {sides.protected}


def _data(sides: MarkovQuilt) -> Json:
    return {
        "protected": sides.protected,
        "quilt": in_order(sides.quilt),
        "near": in_order(sides.near),
        "remote": in_order(sides.remote),
    }


ROLE_COLOURS = {"protected": "#d98bbd", "quilt": "#8fb8f0", "near": "#fbe4a6", "remote": "#cfe8d5"}
"""Of nodes that networkx draws, with black names on them."""


def quilt_graph(sides: MarkovQuilt) -> nx.DiGraph[str]:
    """Return the network with the role of every node in a quilt: `MarkovQuilt.to_networkx`.

    Raises
    ------
    NetworkError
        If the network of the quilt is not known.
    """
    import networkx as nx

    if sides.graph is None:
        raise NetworkError(
            "a quilt is drawn in its network",
            found="a quilt that was made without one",
            remedy="Build it with markov_quilt(network, protected, quilt).",
        )
    roles = quilt_roles(sides)
    graph: nx.DiGraph[str] = nx.DiGraph(protected=sides.protected, quilt=tuple(sorted(sides.quilt)))
    graph.add_nodes_from(
        (name, {"role": roles[name], "color": ROLE_COLOURS[roles[name]]}) for name in sides.graph.nodes
    )
    for ends in sides.graph.edges:
        beside = {"near" if roles[end] == "protected" else roles[end] for end in ends} - {"quilt"}
        # what is near and what is remote may meet in a child that nobody sees: nothing is told through it
        graph.add_edge(*ends, side="blocked" if len(beside) > 1 else next(iter(beside), "quilt"))
    return graph
