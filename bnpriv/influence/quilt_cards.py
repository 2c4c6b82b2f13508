"""What Markov quilts say of themselves: their sides, drawn in the network that they split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bnpriv.influence.quilts import MarkovQuilt
from bnpriv.networks.graph import Graph
from bnpriv.render.document import Document, Figure, Name, Names, Section, Table, Text
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html, quilt_legend
from bnpriv.render.html import Html, join
from bnpriv.render.text import Json


def quilt_document(sides: MarkovQuilt, graph: Graph | None) -> Document:
    """Return a quilt with its sides; drawn where its network is known and small enough to be read."""
    quilt, near, remote = (Names(tuple(side)) for side in (sides.quilt, _others(sides), sides.remote))
    legend = quilt_legend(sides.protected, quilt=sides.quilt, near=sides.near, remote=sides.remote)
    words = ("Quilt: ", quilt, ". Near: ", near, ". Remote: ", remote, ".")
    told, since = "Whoever knows the quilt learns nothing more about ", " from the remote attributes."
    if not sides.quilt:
        told, since = "The remote attributes tell nothing about ", "."
    return Document(
        kind="quilt",
        kicker="bnpriv Markov quilt",
        headline=_headline(sides),
        lead=(told, Name(sides.protected), since),
        answer=(Figure(join(_drawn(sides, graph), legend), words=words),),
        data=_data(sides),
    )


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
        "quilt": sorted(sides.quilt),
        "near": sorted(sides.near),
        "remote": sorted(sides.remote),
    }
