"""The network, coloured by the quilt that matters for a protected attribute, with the path of the leak."""

from __future__ import annotations

from collections.abc import Sequence

from bnpriv.influence.quilt_cards import quilt_roles
from bnpriv.influence.quilts import MarkovQuilt, markov_quilt
from bnpriv.mechanisms.certificate import Decision
from bnpriv.render.document import Block, Figure, Paragraph, Section
from bnpriv.render.graph import Drawing, graph_html, quilt_legend
from bnpriv.render.html import join
from bnpriv.render.text import name_text, some_text, visible
from bnpriv.report.values import Analysis, AttributeReport

MOST_BESIDE = 12
"""Attributes that are drawn beside the answer; of a larger network those that matter."""

MOST_JOINED = 5
"""Attributes that are drawn though each is joined to all others, as those of a posterior are."""

MOST_EDGES_TOLD = 40
"""Edges that the description of a drawing lists."""


def beside(report: Analysis) -> tuple[Block, ...]:
    """Return what a wide screen shows beside the answer: where the leak runs in the network."""
    row = report.worst
    if row is None or not _shown(report):
        return ()
    return (_figure(report, row, _kept(report, row)),)


def network_section(report: Analysis) -> Section | None:
    """Return the drawings that do not stand beside the answer; nothing if there are none."""
    row = report.worst
    if report.network is None or row is None or not _shown(report):
        return None
    small = len(report.network.attributes) <= MOST_BESIDE
    shown: set[frozenset[str]] = {_roles_of(report, row)} if small else set()
    figures: list[Figure] = []
    for other in (row, *(each for each in report.attributes if each is not row)):
        roles = _roles_of(report, other)
        if roles not in shown:
            shown.add(roles)
            figures.append(_figure(report, other, report.network.attributes))
    if not figures:
        return None
    blocks: list[Block] = [*figures]
    same = len(report.attributes) - len(figures)
    if same and len(report.attributes) > 1:
        blocks.insert(0, Paragraph("One drawing for protected attributes with the same quilt.", soft=True))
    return Section(title="Where it runs in the network", blocks=tuple(blocks), id="network", folded=True)


def _shown(report: Analysis) -> bool:
    """Whether a drawing tells anything: nothing without edges, nor where all are joined, and many or unknown."""
    if report.network is None:
        return False
    nodes, edges = len(report.network.attributes), len(report.network.graph.edges)
    if edges < nodes * (nodes - 1) // 2:
        return edges > 0
    return nodes <= MOST_JOINED and any(told.unknown is None for row in report.attributes for told in row.columns)


def _roles_of(report: Analysis, row: AttributeReport) -> frozenset[str]:
    """What is coloured as quilt, and not protected, by which drawings are told apart."""
    return _quilt(report, row).quilt - {each.protected for each in report.attributes}


def _quilt(report: Analysis, row: AttributeReport) -> MarkovQuilt:
    assert report.network is not None
    return row.best or markov_quilt(report.network.graph, row.protected, ())


def _kept(report: Analysis, row: AttributeReport) -> Sequence[str]:
    """Return the attributes that are drawn beside the answer, parents before children."""
    assert report.network is not None
    every = report.network.attributes
    if len(every) <= MOST_BESIDE:
        return every
    import networkx as nx

    around: nx.Graph[str] = nx.Graph(report.network.graph.edges)
    near = list(nx.single_source_shortest_path(around, row.protected).values())
    queried = frozenset[str]() if row.asked is None else row.asked.columns
    wanted = _quilt(report, row).quilt | queried
    kept = {row.protected, *(name for edge in row.path for name in edge)}
    # first what leads to the quilt and to what is queried, then whatever is nearest
    for road in (*(road for road in near if road[-1] in wanted), *near):
        if len(kept.union(road)) <= MOST_BESIDE:
            kept.update(road)
    return [name for name in every if name in kept]


def _figure(report: Analysis, row: AttributeReport, nodes: Sequence[str]) -> Figure:
    """Return the network, or a part of it, coloured by the quilt that matters for a protected attribute."""
    assert report.network is not None
    quilt = _quilt(report, row)
    shown = name_text(row.protected)
    which = f"{_which(report, row)} for {shown}"
    part = "" if len(nodes) == len(report.network.attributes) else "the part that matters of "
    title = f"The network, coloured by {which}"
    inside = frozenset(nodes)
    edges = tuple(edge for edge in report.network.graph.edges if inside.issuperset(edge))
    notes = dict.fromkeys(row.columns[0].columns, "tells most") if row.most > 0 else {}
    if report.query is not None:
        notes = dict.fromkeys(report.query.columns, "queried")
    drawing = Drawing(
        nodes=nodes,
        edges=edges,
        roles={name: role for name, role in quilt_roles(quilt).items() if name in inside},
        notes={name: note for name, note in notes.items() if name in inside},
        path=frozenset(row.path),
        title=title,
        desc=_description(edges, quilt),
    )
    sides = {"quilt": quilt.quilt & inside, "near": quilt.near & inside, "remote": quilt.remote & inside}
    made = join(graph_html(drawing), quilt_legend(quilt.protected, **sides, path=bool(row.path)))
    left = len(report.network.attributes) - len(nodes)
    rest = f"; {left} more attributes are not drawn here" if left else ""
    caption = f"{part}the network, coloured by {which}{rest}."
    return Figure(made, caption[0].upper() + caption[1:])


def _which(report: Analysis, row: AttributeReport) -> str:
    """Return which quilt is drawn: the best mechanism need not be one that rests on quilts."""
    if row.used is None:
        return "the least telling quilt"
    chosen = () if report.plan is None else report.plan.calibrations[:1]
    if any(isinstance(decision, Decision) for made in chosen for decision in made.certificate.decisions):
        return "the quilt that the noise is based on"
    return "the quilt that MarkovQuiltMechanism would use"


def _description(edges: Sequence[tuple[str, str]], quilt: MarkovQuilt) -> str:
    listed = "; ".join(f"{visible(a)} to {visible(b)}" for a, b in edges[:MOST_EDGES_TOLD])
    more = f" and {len(edges) - MOST_EDGES_TOLD} more" if len(edges) > MOST_EDGES_TOLD else ""
    return (
        f"Protected: {visible(quilt.protected)}. Quilt: {some_text(quilt.quilt, 12)}. Near: "
        f"{some_text(quilt.near - {quilt.protected}, 12)}. Remote: {some_text(quilt.remote, 12)}. "
        f"Edges from parent to child: {listed}{more}."
    )
