"""The network, coloured by the quilt that matters, with the edges and quilts that carry an influence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, overload

from bnpriv.core.influence.base import told_text
from bnpriv.core.influence.quilts import MarkovQuilt, MarkovQuilts, markov_quilt
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision
from bnpriv.core.networks.base import Network
from bnpriv.errors import RefusedError
from bnpriv.kinds.report_target import subject_of
from bnpriv.render.document import Badge, Block, Cell, Document, Figure, Name, Names, Paragraph, Section, Table, Text
from bnpriv.render.graph import MOST_DRAWN, Drawing, graph_html, quilt_legend
from bnpriv.render.html import join
from bnpriv.shown import HasCard
from bnpriv.text import and_text, element_text, name_text, nats_text, number_text, some_text, visible
from bnpriv.views.cards import graph_nodes, model_graph
from bnpriv.views.influence import quilt_figure, quilt_roles
from bnpriv.views.report.analysis import MOST_QUILTS, attribute_quilts, quilt_influences
from bnpriv.views.report.columns import told_cells, told_header, told_numbers
from bnpriv.views.report.values import Analysis, AttributeReport, EdgeEffect, RankedQuilt
from bnpriv.views.report.words import asked_text, witness_text
from bnpriv.views.words import edge_shares

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# The network, coloured by the quilt that matters for a protected attribute, with the path of the leak.
# --------------------------------------------------------------------------------------------------

MOST_BESIDE = 12
"""Attributes that are drawn beside the answer; of a larger network those that matter."""

MOST_JOINED = 5
"""Attributes that are drawn though each is joined to all others, as those of a posterior are."""

MOST_EDGES_TOLD = 40
"""Edges that the description of a drawing lists."""


def beside(report: Analysis) -> tuple[Block, ...]:
    """Return what a wide screen shows beside the answer: where the leak runs in the network."""
    row = report.worst
    if report.network is not None and report.network.reading.own_graph:
        return _own_model(report, report.network)
    if row is None or not _shown(report):
        return ()
    return (_figure(report, row, _kept(report, row)),)


def network_section(report: Analysis) -> Section | None:
    """Return the drawings that do not stand beside the answer; nothing if there are none."""
    row = report.worst
    if report.network is None or row is None or report.network.reading.own_graph or not _shown(report):
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


def _own_model(report: Analysis, network: Network) -> tuple[Block, ...]:
    """Return the model as its user declared it, where the network's own graph says only that all depends on all."""
    graph, reading = model_graph(network), network.reading
    if not 1 < len(graph.nodes) <= MOST_DRAWN:
        return ()
    protected = [row.protected for row in report.attributes]
    dims = {name: [dim for dim, _ in reading.axes.get(name, ()) if dim] for name in graph.nodes}
    notes = {name: f"by {and_text(named)}" for name, named in dims.items() if named}
    top = [min(row.columns[0].columns) for row in report.attributes if row.columns]
    notes |= dict.fromkeys(graph_nodes(graph, top), "tells most")
    notes |= dict.fromkeys(graph_nodes(graph, () if report.query is None else report.query.columns), "queried")
    entries = {each: element_text(each, reading.axes).partition(", ")[2] for each in protected}
    notes |= {name: entry for each, entry in entries.items() if entry for name in graph_nodes(graph, [each])}
    roles = dict.fromkeys(graph.nodes, "plain") | dict.fromkeys(graph_nodes(graph, protected), "protected")
    title = "The model as it was declared"
    edges = tuple(graph.edges)
    listed = "; ".join(f"{visible(a)} to {visible(b)}" for a, b in edges[:MOST_EDGES_TOLD])
    desc = f"Protected: {some_text(protected, 12)}. Edges from parent to child: {listed}."
    drawing = Drawing(nodes=graph.nodes, edges=edges, roles=roles, notes=notes, title=title, desc=desc)
    return (Figure(graph_html(drawing), f"{title}; what is protected has a double border."),)


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
    part = "The" if len(nodes) == len(report.network.attributes) else "The part that matters of the"
    title = f"{part} network, coloured by {which}"
    inside = frozenset(nodes)
    shares = {edge: share for edge, share in edge_shares(report.network).items() if inside.issuperset(edge)}
    edges = tuple(shares)
    notes = dict.fromkeys(row.columns[0].columns, "tells most") if row.most > 0 else {}
    if report.query is not None:
        notes = dict.fromkeys(report.query.columns, "queried")
    notes |= dict.fromkeys(report.network.reading.latent, "latent")
    drawing = Drawing(
        nodes=nodes,
        edges=edges,
        shares=shares,
        roles={name: role for name, role in quilt_roles(quilt).items() if name in inside},
        notes={name: note for name, note in notes.items() if name in inside},
        path=frozenset(edge for a, b in row.path for edge in ((a, b), (b, a))),
        title=title,
        desc=_description(edges, quilt),
    )
    sides = {"quilt": quilt.quilt & inside, "near": quilt.near & inside, "remote": quilt.remote & inside}
    made = join(graph_html(drawing), quilt_legend(quilt.protected, **sides, path=bool(row.path)))
    left = len(report.network.attributes) - len(nodes)
    rest = f"; {left} more attributes are not drawn here" if left else ""
    rest += "; dashed edges are in so many of the models, or turned in some" if any(shares.values()) else ""
    return Figure(made, f"{title}{rest}.")


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


# --------------------------------------------------------------------------------------------------
# Which dependences matter: what would be told without each edge of the network.
# --------------------------------------------------------------------------------------------------

SPACED_ARROW, MINUS_PLUS = " \u2192 ", ("\u2212", "+")

EDGES_INTRO = (
    "What to question in the model: every edge between the protected attribute and these columns, with what they would "
    "tell if that dependence did not exist. An edge that changes much deserves the best evidence."
)


def edges_section(report: Analysis) -> Section | None:
    """Return what would be left without each edge; nothing where that was not worked out."""
    blocks: tuple[Block, ...] = tuple(_table(report, row) for row in report.attributes if row.edges)
    if blocks:
        blocks = (Paragraph(EDGES_INTRO), *blocks)
    elif report.network is not None and any(row.path for row in report.attributes):
        kind = report.network.kind_text
        blocks = (Paragraph(f"What would be told of {kind} without an edge is not worked out."),)
    else:
        return None
    return Section(title="Which dependences matter", blocks=blocks, id="edges", folded=True)


def _table(report: Analysis, row: AttributeReport) -> Table:
    assert row.asked is not None
    now = float(row.asked)
    whose, worst = name_text(row.protected), "" if row.asked_likely is None else " at worst"
    return Table(
        caption=f"What {asked_text(report, row)} would tell about {whose}; with all edges {_nats(now)} nats{worst}",
        header=("without the edge", "nats", "change"),
        rows=[_edge_row(effect, now) for effect in row.edges],
        numbers=(1, 2),
        more=f"{row.more_edges} more edges were not tried." if row.more_edges else "",
    )


def _edge_row(effect: EdgeEffect, now: float) -> tuple[Text, Text, Text]:
    parent, child = effect.edge
    edge = (Name(parent), SPACED_ARROW, Name(child))
    if effect.influence is None:
        return edge, "too large", ""
    return edge, _nats(effect.nats), _change(now, effect.nats)


def _nats(value: float) -> str:
    return "\u221e" if math.isinf(value) else nats_text(value)


def _change(now: float, then: float) -> str:
    if now == then or abs(now - then) < 1e-12:
        return "none"
    if math.isinf(now):
        return "no longer rules a secret out"
    return "\u221e" if math.isinf(then) else f"{MINUS_PLUS[then > now]}{number_text(abs(then - now), 3)}"


# --------------------------------------------------------------------------------------------------
# The Markov quilts of every protected attribute, with what they tell and the noise that they leave.
# --------------------------------------------------------------------------------------------------

QUILTS_INTRO = (
    "A quilt shields the protected attribute from the remote columns: they tell no more than the quilt does. The less "
    "a quilt tells, the better; the fewer queried columns are near, the less noise has to be hidden."
)


MOST_PRINTED = 5

LISTED_QUILTS = 10
"""Quilts of each attribute that a calibration lists, beside those that could be used."""


def quilts_section(report: Analysis) -> Section | None:
    """Return the quilts, the least telling first; nothing where no attribute can shield another."""
    # in a belief all depends on all: there is no quilt to show
    if report.network is None or len(report.network.attributes) < 2 or report.network.reading.own_graph:
        return None
    blocks = tuple(block for row in report.attributes for block in _of(row))
    return Section(
        title="Quilts (shields), the least telling first",
        blocks=(Paragraph(QUILTS_INTRO), *blocks),
        id="quilts",
        folded=True,
    )


def _of(row: AttributeReport) -> Iterator[Table | Paragraph]:
    if not row.quilts:
        yield Paragraph(("For ", Name(row.protected), " there is none: no column is shielded from it by others."))
        return
    more = f"{row.more} more." if row.more else ""
    if row.more is None:
        more = "There are more quilts; they were not counted."
    yield _quilts_table(row.protected, row.quilts, more)


def _quilts_table(protected: str, quilts: Sequence[RankedQuilt], more: str) -> Table:
    endless = any(line.influence is not None and math.isinf(line.nats) for line in quilts)
    mu = any(line.influence is not None and line.influence.mu is not None for line in quilts)
    noisy = any(line.noise is not None for line in quilts)
    shown = told_header("quilt", endless=endless, mu=mu)
    start = len(shown)
    header = (*shown, *(("queried and near", "answer moves by", "scale") if noisy else ()), "near", "remote")
    numbers = (*told_numbers(endless=endless, mu=mu), *((start + 1, start + 2) if noisy else ()))
    return Table(
        caption=f"Markov quilts for {name_text(protected)}, the least telling first",
        header=header,
        rows=[_quilt_row(line, endless=endless, mu=mu, noisy=noisy) for line in quilts],
        numbers=numbers,
        more=more,
    )


def _quilt_row(row: RankedQuilt, *, endless: bool, mu: bool, noisy: bool) -> tuple[Text | Cell, ...]:
    # of one column the table of columns says how it was found, where no assignment attains it
    alone = row.influence is not None and len(row.quilt.quilt) == 1 and not row.influence.assignment
    found = "" if row.influence is None or alone else witness_text(row.influence)
    reached = f"reached at {found}" if row.influence is not None and row.influence.assignment else found
    first = Cell((Names(tuple(row.quilt.quilt), nothing="no column at all"),), note=reached)
    told = told_cells(first, row.influence, endless=endless, mu=mu)
    if row.influence is None:
        told = (first, "too large", *("" for _ in told[2:]))
    near = Names(tuple(row.quilt.near - {row.quilt.protected}), most=6)
    return (*told, *(_noise(row) if noisy else ()), (near,), (Names(tuple(row.quilt.remote), most=6),))


def _noise(row: RankedQuilt) -> tuple[Text, Text, Text]:
    if row.noise is None:
        return "", "", ""
    scale = number_text(row.noise.scale) if row.noise.scale < math.inf else "tells too much"
    shown: Text = (Badge("used", "good"), " ", scale) if row.noise.wins else scale
    return (Names(tuple(row.noise.queried_near)),), number_text(row.noise.sensitivity.upper), shown


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RankedQuilts(Sequence[RankedQuilt], HasCard):
    """The quilts of every protected attribute with what they tell, and for a query with the noise that they leave.

    A calibration and a report have them as `quilts`; the least telling come first, and those that are used, or that
    tell less than every other one by which the answer is moved no more, are always among them.

    Parameters
    ----------
    rows : tuple of RankedQuilt
        One protected attribute after the other.
    more : bool
        Whether there are others.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.count(bp.col("height") > 180), 0.5)
    >>> calibration.quilts
    RankedQuilts(3)
    >>> calibration.quilts.to_pandas()["quilt"].to_list()
    [(), ('height',), ('gender', 'height')]
    """

    rows: tuple[RankedQuilt, ...]
    more: bool = False

    @overload
    def __getitem__(self, index: int) -> RankedQuilt: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RankedQuilt]: ...

    def __getitem__(self, index: int | slice) -> RankedQuilt | Sequence[RankedQuilt]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"RankedQuilts({len(self)})"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row for each quilt, by protected attribute.

        Returns
        -------
        pandas.DataFrame
            Columns quilt, near and remote: tuples of names; influence: what the quilt tells, in nats, NaN where that is
            not known; sensitivity and scale: how far the queried columns that are near can move the answer, and the
            noise that hides it, NaN without a query; used: whether the noise rests on this quilt; witness: where the
            influence is reached. ``attrs["more"]`` says whether there are other quilts.
        """
        import pandas as pd

        columns = ["quilt", "near", "remote", "influence", "sensitivity", "scale", "used", "witness"]
        index = pd.Index([row.quilt.protected for row in self], name="protected")
        frame = pd.DataFrame([_cells(row) for row in self], columns=columns, index=index)
        frame.attrs["more"] = self.more
        return frame

    def to_networkx(self, place: int | None = None) -> nx.DiGraph[str]:
        """Return the network, every node with its role in a quilt.

        Parameters
        ----------
        place : int, optional
            Which quilt; by default the first that is used, or the first.

        Returns
        -------
        networkx.DiGraph
            Nodes have a role, "protected", "quilt", "near" or "remote", and a color; edges have a side: "near",
            "remote", "quilt" within the quilt, or "blocked" where near and remote meet in what nobody sees.
        """
        return self._drawn(place).to_networkx()

    def _drawn(self, place: int | None) -> MarkovQuilt:
        used = next((k for k, row in enumerate(self) if row.noise is not None and row.noise.wins), 0)
        return self.rows[used if place is None else place].quilt

    @property
    def document(self) -> Document:
        """Return the quilts as tables, and the one that is used in the drawing of its network."""
        names = tuple(dict.fromkeys(row.quilt.protected for row in self))
        of = {name: [row for row in self if row.quilt.protected == name] for name in names}
        more = "There are others." if self.more else ""
        tables = tuple(_quilts_table(name, rows, more) for name, rows in of.items())
        return Document(
            kind="ranked quilts",
            kicker="bnpriv Markov quilts",
            headline="Markov quilts, the least telling first" if self.rows else "No Markov quilts",
            lead=QUILTS_INTRO if self.rows else "No column is shielded from a protected attribute by others.",
            short=tuple(map(_line, self.rows[:MOST_PRINTED])),
            answer=(*tables, *((quilt_figure(self._drawn(None)),) if self.rows else ())),
        )


def _line(row: RankedQuilt) -> Text:
    """Return what is printed of a quilt."""
    told = "is too large to tell" if row.influence is None else told_text(row.influence)
    noise = ""
    if row.noise is not None:
        noise = f"; scale {number_text(row.noise.scale)}" if row.noise.scale < math.inf else "; tells too much"
        noise += ", used" if row.noise.wins else ""
    return Names(tuple(row.quilt.quilt), nothing="The empty quilt"), f" {told}{noise}."


def _cells(row: RankedQuilt) -> list[object]:
    noise, told = row.noise, row.influence
    return [
        *(tuple(sorted(side)) for side in (row.quilt.quilt, row.quilt.near, row.quilt.remote)),
        math.nan if told is None or told.unknown is not None else row.nats,
        math.nan if noise is None else noise.sensitivity.upper,
        math.nan if noise is None else noise.scale,
        noise is not None and noise.wins,
        "" if told is None else witness_text(told),
    ]


def ranked_quilts(quilts: MarkovQuilts) -> RankedQuilts:
    """Return the quilts of one attribute, in their order, with what each tells: behind `MarkovQuilts.to_pandas`."""
    found = list(islice(quilts, MOST_QUILTS + 1))
    told = quilt_influences(quilts.network, quilts.protected, [quilt.quilt for quilt in found[:MOST_QUILTS]])
    rows = (RankedQuilt(quilt=quilt, influence=each) for quilt, each in zip(found, told, strict=False))
    return RankedQuilts(rows=tuple(rows), more=len(found) > MOST_QUILTS)


def calibration_quilts(calibration: Calibration) -> RankedQuilts:
    """Return the quilts behind the noise of a calibration: `Calibration.quilts`.

    Raises
    ------
    RefusedError
        If its noise does not rest on quilts.
    """
    if not any(isinstance(decision, Decision) for decision in calibration.certificate.decisions):
        raise RefusedError(
            "the noise must rest on Markov quilts",
            found=f"a calibration of the {calibration.mechanism}",
            remedy="Calibrate MarkovQuiltMechanism().",
        )
    subject = subject_of(calibration.framework, calibration.query)
    found = [attribute_quilts(subject, name, LISTED_QUILTS, calibration) for name in subject.secrets]
    return RankedQuilts(rows=tuple(row for rows, _ in found for row in rows), more=any(left != 0 for _, left in found))
