"""What a report looks for: columns, quilts and edges that matter for each protected attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, Bound, FloatArray
from bnpriv.core.distributions import Atoms, log_sum_exp
from bnpriv.core.evidence.constraints import AnswerLaw
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.influence.base import Influence, draw_points, influence_of, worst_place
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.influence.quilts import MarkovQuilt, markov_quilts
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision
from bnpriv.core.mechanisms.quilt import approximate_scales, scales
from bnpriv.core.networks.base import Network, driven_by, drivers
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import MOST_ELIMINATION_CELLS
from bnpriv.core.networks.graph import Graph
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.sensitivity import column_sensitivity
from bnpriv.core.secrets import Pair, SecretPair
from bnpriv.errors import BnprivError, DataError, NetworkError, Refusal, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.kinds.draws.estimated_influence import EstimatedInfluence
from bnpriv.kinds.public_records import PublicRecords
from bnpriv.kinds.report_target import ReportTarget, subject_of_network
from bnpriv.mechanisms.plan import Plan
from bnpriv.progress import watched
from bnpriv.render.graph import Edge
from bnpriv.text import in_order
from bnpriv.views.report.values import (
    AnswerInfluence,
    AttributeReport,
    Belief,
    EdgeEffect,
    LikelyInfluence,
    NoiseOfQuilt,
    RankedQuilt,
)

# --------------------------------------------------------------------------------------------------
# Which edges carry an influence, and what would be left of it without each of them.
# --------------------------------------------------------------------------------------------------

MOST_EDGES = 60
"""Edges that are tried; each needs the influence in a network of its own."""


def edges_between(graph: Graph, protected: str, columns: Iterable[str]) -> tuple[Edge, ...]:
    """Return every edge on a path between a protected attribute and one of `columns`, in the order of the graph.

    Attributes that are no ancestor of them make no difference, and are left out. An edge lies on a path between two
    nodes when it shares a cycle with a new edge between them, that is, lies in the same biconnected component.

    Examples
    --------
    >>> graph = Graph({"a": (), "b": ("a",), "c": ("b",), "d": ("b",), "e": ("d",)})
    >>> edges_between(graph, "a", {"d"})
    (('a', 'b'), ('b', 'd'))
    """
    import networkx as nx

    ends = frozenset(columns) - {protected}
    inside = graph.ancestral((protected, *ends))
    between: nx.Graph[object] = nx.Graph()
    between.add_edges_from(edge for edge in graph.edges if edge[1] in inside)
    goal = object()
    between.add_edges_from((name, goal) for name in ends)
    between.add_edge(protected, goal)
    # networkx has no types for this function's result
    parts = cast("Iterable[Iterable[tuple[object, object]]]", nx.biconnected_component_edges(between))
    for part in parts:
        found = {frozenset(edge) for edge in part}
        if frozenset((protected, goal)) in found:
            return tuple(edge for edge in graph.edges if frozenset(edge) in found)
    return ()


def leak_path(influence: Influence) -> tuple[Edge, ...]:
    """Return the edges of one open path to every column that carries an influence."""
    graph = kind_of(influence.network).graph_of(influence.network, influence.model)
    steps: dict[Edge, None] = {}
    unconditional = graph.open_paths(influence.protected, ())
    for name in influence.frontier:
        if name == influence.protected:
            continue  # of a chain: no edge of the network leads from one value of a column to another
        others = set(influence.frontier) - {name}
        # what a model's own graph shields is in the frontier of another one's alone
        path = unconditional.get(name) or graph.open_paths(influence.protected, others).get(name, ())
        steps |= {(a, b) if a in graph.parents[b] else (b, a): None for a, b in pairwise(path)}
    return tuple(steps)


def edge_effects(influence: Influence, elsewhere: Callable[..., Influence]) -> tuple[tuple[EdgeEffect, ...], int]:
    """Return what would be left of an influence without each edge, and how many edges were not tried.

    The edge without which most would change comes first; there are none where no network without an edge is known.

    Parameters
    ----------
    influence : Influence
    elsewhere : callable
        What columns tell in another network, given how many rows share the work.
    """
    network = influence.network
    without = kind_of(network).edge_removal(network)
    if without is None:
        return (), 0
    every = edges_between(network.graph, influence.protected, influence.frontier)
    tried = every[:MOST_EDGES]
    effects = [
        EdgeEffect(edge=edge, influence=_told(without(*edge), influence.columns, elsewhere, len(tried) - place))
        for place, edge in enumerate(tried)
    ]
    now = float(influence)
    effects.sort(key=lambda effect: 0.0 if effect.nats == now else -abs(now - effect.nats))
    return tuple(effects), len(every) - len(effects)


def _told(network: Network, columns: Iterable[str], elsewhere: Callable[..., Influence], rows: int) -> Influence | None:
    try:
        found = elsewhere(network, columns, rows)
    except SizeError:
        return None
    return None if found.too_large else found  # an upper bound would not be comparable


# --------------------------------------------------------------------------------------------------
# What a report looks for: the columns, quilts and edges that matter for each protected attribute.
# --------------------------------------------------------------------------------------------------

MOST_DROPPED = 6
"""Pairs without a constraint that are listed for an attribute."""

MOST_QUILTS = 200
"""Quilts that are looked at; a dense network has too many to count."""

MOST_ESTIMATES, MOST_ESTIMATED_QUILTS = 20, 6
"""Columns and quilts that are looked at where every influence is an estimate, which takes a quadrature."""

MOST_DRAWN_ESTIMATES = 120
"""Columns that are looked at where every influence is estimated from draws, which takes some hundredths of a second."""

LEAST_WORK = 2**14
"""Cells that every influence may take, however little work is left."""


@dataclass(kw_only=True, eq=False)
class InfluenceCache:
    """What sets of columns tell about a protected attribute, within the work that a report may take.

    Parameters
    ----------
    network : Network
    protected : str
    pairs : tuple of Pair
    subject : ReportTarget
    left : int
        Cells of tables that may still be filled; rows of a report share them evenly.
    """

    network: Network
    protected: str
    pairs: tuple[Pair, ...]
    subject: ReportTarget
    left: int
    _known: dict[tuple[str, ...], Influence] = field(default_factory=dict[tuple[str, ...], Influence])

    @classmethod
    def of(cls, subject: ReportTarget, protected: str) -> InfluenceCache:
        """Return nothing known yet, and the share of work of one of the protected attributes."""
        assert subject.network is not None
        left = MOST_ELIMINATION_CELLS // len(subject.secrets)
        pairs = subject.secrets[protected]
        return cls(network=subject.network, protected=protected, pairs=pairs, subject=subject, left=left)

    def influence(self, columns: Iterable[str], rows: int = 1) -> Influence:
        """Return an influence, a certified bound if its tables take more than its share among so many rows.

        Raises
        ------
        SizeError
            If there is no bound either.
        """
        asked = frozenset(columns)
        border = self.network.graph.frontier(self.protected, asked)
        if border not in self._known:
            self._known[border] = self._kept(border, rows)
        found = self._known[border]
        return found if found.columns == asked else replace(found, columns=asked)

    def _kept(self, border: tuple[str, ...], rows: int) -> Influence:
        """Return what the evidence of the framework keeps, where it takes no more than its share of work."""
        evidence = self.subject.influences
        if evidence is not None:
            columns = frozenset(border)
            cells = evidence.work(columns, self.protected)[0]
            if cells <= max(LEAST_WORK, self.left // rows):
                self.left -= min(self.left, cells)
                with suppress(BnprivError):  # a network without limits of its own says below what is not known
                    return evidence.influence(columns, self.protected)
        return self._of(self.network, border, rows)

    def elsewhere(self, network: Network, columns: Iterable[str], rows: int = 1) -> Influence:
        """Return the same in another network, such as one without an edge."""
        return self._of(network, network.graph.frontier(self.protected, frozenset(columns)), rows)

    def _of(self, network: Network, border: tuple[str, ...], rows: int) -> Influence:
        most = max(LEAST_WORK, self.left // rows)
        found, cells = kind_of(network).budgeted(network, border, self.protected, self.pairs, most)
        self.left -= min(self.left, cells)
        return found


# --------------------------------------------------------------------------------------------------
# What is told but for a chance, and whether public records show a dependence at all.
# --------------------------------------------------------------------------------------------------

USUAL_CHANCE = 0.001
"""What fewer records show is left out of what is told first."""

LEAST_SHOWN = 10
"""Of a model learned from N public records: the prior weighs as much, so that what is rarer may be its doing alone."""

MOST_CHANCE = 0.25
"""From fewer public records nothing is told but for a chance."""

FAMILY_LEVEL = 0.01
"""With this probability at most a dependence is seen of any column of a report, if none depends."""


def chance_for(network: Network | None, delta: float) -> float | None:
    """Return the chance but for which influences are told; None where only the largest is.

    Without a `delta`, those of models learned from public records: elsewhere every probability was declared.
    """
    if network is None or network.level != "records" or not kind_of(network).exact_tables:
        return None
    drawn = network.posterior_draws
    records = None if drawn is None else drawn.records
    usual = None if records is None else max(USUAL_CHANCE, LEAST_SHOWN / records)
    return delta or (usual if usual is not None and usual <= MOST_CHANCE else None)


def likely_influence(
    influence: Influence, chance: float, among: int | None = None, public: FloatArray | None = None
) -> LikelyInfluence:
    """Return what columns tell but for a chance; see docs/claims/likely.md.

    Parameters
    ----------
    influence : Influence
        In a network of tables, of level "records".
    chance : float
    among : int, optional
        Of how many columns it is asked whether public records show that they depend on the protected attribute.
    public : ndarray of shape (draws + 1, states, cells), optional
        The shares of the protected attribute and what is seen in the public records: reweighted, and as they are.
    """
    drawn = influence.network.posterior_draws
    records = None if drawn is None else drawn.records
    law = _law(influence) if influence.details is not None and influence.frontier else None
    found = [] if law is None else [_likely_values(law, influence, chance, influence.values)]
    if law is not None and public is not None:
        with np.errstate(divide="ignore"):
            found.append(_likely_values(np.log(public[:-1]), influence, chance, np.inf))
    known = [(values, cells) for values, cells in found if np.isfinite(values).any()]
    if law is None or not known:
        _, at_95, nats = draw_points(influence.values)
        return LikelyInfluence(nats=nats, at_95=at_95, chance=chance, influence=influence, records=records)
    values, cells = max(known, key=lambda each: float(each[0].max()))
    _, at_95, nats = draw_points(values)
    model, k = worst_place(values)
    by_table = values is not found[0][0]
    names = sorted(influence.columns) if by_table else influence.frontier
    states = [influence.network.states[name] for name in names]
    places = np.unravel_index(int(cells[min(model, len(cells) - 1), k]), tuple(map(len, states)))
    shown = {name: each[int(at)] for name, each, at in zip(names, states, places, strict=True)}
    attained = replace(
        influence, pair=influence.pairs[k], model=influence.model if by_table else model, assignment=shown
    )
    seen = None
    if among is not None and records is not None:
        # the mean of so many draws scatters about the table by this much more than the table does about its law
        share, spread = (np.exp(law).mean(axis=0), 1 + 1 / len(law)) if public is None else (public[-1], 1.0)
        seen = _depends(share, records, spread, FAMILY_LEVEL / among)
    return LikelyInfluence(
        nats=nats, at_95=at_95, chance=chance, influence=attained, records=records, dependence=seen, by_table=by_table
    )


def _likely_values(
    law: FloatArray, influence: Influence, chance: float, most: FloatArray | float
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return what is told but for a chance, at most so much, and the cells that attain it, for every model and pair.

    It is -inf where a secret is rarer than the chance.
    """
    states = influence.network.states[influence.protected]
    pairs = cast("tuple[SecretPair, ...]", influence.pairs)
    sides = list(dict.fromkeys(side for pair in pairs for side in (pair.first, pair.second)))
    first, second = [sides.index(pair.first) for pair in pairs], [sides.index(pair.second) for pair in pairs]
    logs = np.stack([log_sum_exp(law[:, [state in side for state in states]], 1) for side in sides], axis=1)
    priors = log_sum_exp(logs, 2)
    with np.errstate(invalid="ignore"):
        given = logs - priors[:, :, np.newaxis]
        losses = given[:, first] - given[:, second]
    losses[np.isneginf(logs[:, first])] = -np.inf
    order = np.argsort(-losses, axis=2)
    # masses are rounded up: no loss is left out that is not as rare
    masses = np.exp(np.take_along_axis(logs[:, first], order, 2) + influence.error).cumsum(axis=2)
    left_out = (masses * (1 + masses.shape[2] * UNIT_ROUNDOFF) <= chance).sum(axis=2, keepdims=True)
    cells = np.take_along_axis(order, np.minimum(left_out, masses.shape[2] - 1), 2)
    told = np.take_along_axis(losses, cells, 2)[:, :, 0] + influence.error
    met = np.exp(priors + influence.error) >= chance
    return np.where(met[:, first] & met[:, second], np.clip(told, 0.0, most), -np.inf), cells[:, :, 0]


def _law(influence: Influence) -> FloatArray:
    """Return the logs of the joint law of the protected attribute and all that is seen, the latter as one axis."""
    law = joint_law(cast(DiscreteNetwork, influence.network), (influence.protected, *influence.frontier)).values
    return law.reshape(*law.shape[:2], -1)


MOST_PUBLIC_CELLS = 10_000
"""The most combinations of states of which the shares in public records are looked at."""


def _of_public(subject: ReportTarget, told: Influence) -> FloatArray | None:
    """Return the shares of the protected attribute and some columns in public records, the latter as one axis.

    Of every draw, and last of the table; with the network as one more record, as in the models. None without any.
    """
    framework, names = subject.framework, (told.protected, *sorted(told.columns))
    if framework is None or framework.public_records is None or len(names) < 2:
        return None
    public, network = cast(PublicRecords, framework.public_records), cast(DiscreteNetwork, told.network)
    states = {name: network.states[name] for name in names}
    if math.prod(map(len, states.values())) > MOST_PUBLIC_CELLS:
        return None
    try:
        shares = public.joint(states, framework.schema)
        beside = np.exp(joint_law(network, names).values)
    except (DataError, SizeError):
        return None
    draws = [beside[draw % len(beside)] for draw in range(public.draws)]
    shares[:-1] += (np.array(draws) - shares[:-1]) / (public.records + 1)
    return shares.reshape(len(shares), shares.shape[1], -1)


def _depends(share: FloatArray, records: int, spread: float, level: float) -> bool:
    """Return whether a G-test on the shares of so many public records rejects independence."""
    from scipy.special import chdtrc, xlogy

    shown = [share.sum(axis=axis) * records >= LEAST_SHOWN for axis in (1, 0)]
    common = share[np.ix_(*shown)]
    freedom = (common.shape[0] - 1) * (common.shape[1] - 1)
    if freedom < 1:
        return False
    expected = np.outer(common.sum(axis=1), common.sum(axis=0)) / common.sum()
    statistic = 2 * records * np.sum(cast(FloatArray, xlogy(common, common / expected)))
    return bool(cast(float, chdtrc(freedom, statistic / spread)) < level)


def attribute_report(
    subject: ReportTarget, protected: str, limit: int, calibration: Calibration | None, delta: float = 0.0
) -> AttributeReport:
    """Return what is known about one protected attribute.

    Parameters
    ----------
    subject : ReportTarget
        With a network.
    protected : str
    limit : int
        Quilts that are shown.
    calibration : Calibration or None
        Of the subject's query by quilts, if an epsilon was given.
    delta : float
        The chance but for which influences are told first, and ranked; 0 for the usual one.
    """
    cache = InfluenceCache.of(subject, protected)
    network, pairs = cache.network, cache.pairs
    every = kind_of(network).alike(network, protected)
    groups = [group for group in every if not network.reading.inner.issuperset(group)]
    alone = list(_alone(cache, groups))
    # a bound at delta 0 and an estimate at another do not rank together: estimates where there are no bounds
    bounded = any(told.unknown is None for told in alone)
    guesses = [] if bounded else [_estimated(told, delta) for told in alone]
    estimated = {found.columns: found for found in guesses if found is not None}
    alike = {group[0]: group for group in groups[: len(alone)]}
    chance, among = chance_for(network, delta), len(alone) * len(subject.secrets)
    likely = (
        {}
        if chance is None
        else {told.columns: likely_influence(told, chance, among, _of_public(subject, told)) for told in alone}
    )
    # what is seen to depend comes first: of the others the public records leave much open, if they are few
    first = {columns: (each.dependence is False, -each.nats) for columns, each in likely.items()}
    guessed = {columns: -each.rank for columns, each in estimated.items()}
    places = {name: place for place, name in enumerate(network.attributes)}
    alone.sort(
        key=lambda told: (
            first.get(told.columns),
            *(-part for part in _size(told)),
            guessed.get(told.columns, 0.0),
            # entries of vectors as the model has them, other names by the alphabet
            places[min(told.columns)] if told.columns in guessed else in_order(told.columns),
        )
    )
    rows, more = _ranked(cache, limit, calibration, *_quilts_looked_at(alone, alike))
    asked = _asked(cache, alone)
    if asked is not None and chance is not None and asked.columns not in likely:
        likely[asked.columns] = likely_influence(asked, chance, public=_of_public(subject, asked))
    edges, more_edges = _edges(cache, asked)
    return AttributeReport(
        protected=protected,
        pairs=pairs,
        columns=tuple(alone),
        quilts=rows,
        more=more,
        asked=asked,
        path=() if asked is None or float(asked) == 0 or asked.unknown is not None else leak_path(asked),
        edges=edges,
        more_edges=more_edges,
        is_queried=subject.reads(protected),
        bounds_belief=_bounds_belief(subject, protected),
        alike={name: group for name, group in alike.items() if len(group) > 1},
        left=sum(map(len, groups[len(alone) :])),
        driven=tuple(_driven(cache)),
        likely=likely,
        estimated=estimated,
        answer=_estimated_answer(subject, protected, asked, pairs, delta),
    )


def _estimated(told: Influence, delta: float) -> EstimatedInfluence | None:
    """Return what columns of which no bound is known tell by draws; None where nothing is drawn."""
    return kind_of(told.network).estimated(told.network, told.columns, told.protected, told.pairs, delta)


def _estimated_answer(
    subject: ReportTarget, protected: str, asked: Influence | None, pairs: tuple[Pair, ...], delta: float
) -> EstimatedInfluence | None:
    """Return the same of the answer to a query, without noise."""
    framework, query, network = subject.framework, subject.query, subject.network
    drawn = None if network is None else network.posterior_draws
    read = drawn is not None and drawn.belief and subject.reads(protected)
    if framework is None or query is None or notion_of(framework).independent(framework):
        return None
    if not read and (asked is None or asked.unknown is None):
        return None
    form = normal_form(query, framework.schema)
    return kind_of(network).estimated(network, query.columns, protected, pairs, delta, form)


def attribute_quilts(
    subject: ReportTarget, protected: str, limit: int, calibration: Calibration | None
) -> tuple[tuple[RankedQuilt, ...], int | None]:
    """Return the quilts of a protected attribute as `attribute_report` lists them, and how many there are besides."""
    cache = InfluenceCache.of(subject, protected)
    groups = kind_of(cache.network).alike(cache.network, protected)
    alone = list(_alone(cache, groups))
    return _ranked(cache, limit, calibration, *_quilts_looked_at(alone, {group[0]: group for group in groups}))


def quilt_influences(network: object, protected: str, quilts: Sequence[frozenset[str]]) -> list[Influence | None]:
    """Return what quilts tell about usual secrets; None where it is not known, as where there is only a graph."""
    if not hasattr(network, "kind"):
        return [None] * len(quilts)
    cache = InfluenceCache.of(subject_of_network(cast(Network, network), protected), protected)
    return [_of_quilt(cache, quilt, len(quilts) - place) for place, quilt in enumerate(quilts)]


def _quilts_looked_at(alone: Sequence[Influence], alike: Mapping[str, tuple[str, ...]]) -> tuple[int, dict[str, float]]:
    """Return how many quilts are looked at, and what each column surely tells."""
    estimates = any(told.kind == "estimate" for told in alone)
    floors = {name: told.bound.lower for told in alone for name in alike[min(told.columns)]}
    return MOST_ESTIMATED_QUILTS if estimates else MOST_QUILTS, floors


def _alone(cache: InfluenceCache, groups: Sequence[tuple[str, ...]]) -> Iterator[Influence]:
    """Yield what one attribute of every group tells alone; where these are estimates, of the first groups."""
    left = range(2 * len(groups), 0, -1)  # half of the work is for quilts and edges
    estimates = False
    every = list(zip(groups, left, strict=False))
    # the others are watched apart, as only what is no estimate goes on to them
    parts = (every[:MOST_ESTIMATES], every[MOST_ESTIMATES:])
    watching = (watched(part, "what is told by {}", "more column") for part in parts)
    for place, (group, rows) in enumerate(chain.from_iterable(watching)):
        if estimates and place >= MOST_ESTIMATES:
            return
        found = cache.influence(group[:1], rows)
        rare(found)  # where nothing bounds it this takes most of the time, and ranks it below
        estimates = estimates or (found.kind == "estimate" and found.unknown is None)
        if place >= MOST_DRAWN_ESTIMATES and found.unknown is not None:
            return
        yield found


def rare(influence: Influence, epsilon: float = 1.0) -> float | None:
    """Return how improbable more than `epsilon` is where nothing bounds what is told; None where it is not known."""
    if math.isfinite(float(influence)):
        return None
    delta = influence.delta(epsilon)
    return None if isinstance(delta, Refusal) else delta


def _size(influence: Influence) -> tuple[float, float, float]:
    """Return what ranks influences: nats, and where they are infinite the distance of laws or the rarity."""
    delta = rare(influence)
    return float(influence), influence.mu or 0.0, 1.0 if delta is None else delta


def _asked(cache: InfluenceCache, alone: Sequence[Influence]) -> Influence | None:
    """Return what the queried columns tell together; without a query, the most telling one of which all is known."""
    if len(cache.network.attributes) == 1:
        return _itself(cache)
    asked = cache.subject.asked(cache.protected)
    if asked is not None:
        return cache.influence(asked)
    return next((told for told in alone if told.unknown is None), alone[0] if alone else None)


def _itself(cache: InfluenceCache) -> Influence | None:
    """Return what the other values of its column tell about a single one; None in a network of independent records."""
    try:
        return influence_of(cache.network, {cache.protected}, cache.protected, cache.pairs)
    except NetworkError:
        return None


def _driven(cache: InfluenceCache) -> list[tuple[str, Influence | None]]:
    """Return what columns tell that are no attribute, the most telling first."""
    found: list[tuple[str, Influence | None]] = []
    for name in cache.network.reading.columns:
        behind = drivers(cache.network, frozenset({name}))
        found.append((name, None if cache.protected in behind else cache.influence(behind)))
    return sorted(found, key=lambda row: (*(-part for part in _rank(row[1])), row[0]))


def _rank(influence: Influence | None) -> tuple[float, float, float]:
    return (math.inf, math.inf, 1.0) if influence is None else _size(influence)


def _edges(cache: InfluenceCache, asked: Influence | None) -> tuple[tuple[EdgeEffect, ...], int]:
    """Return what would be left without each edge, where that can be worked out."""
    if asked is None or float(asked) == 0 or asked.too_large:
        return (), 0
    return edge_effects(asked, cache.elsewhere)


def _ranked(
    cache: InfluenceCache, limit: int, calibration: Calibration | None, most: int, floors: Mapping[str, float]
) -> tuple[tuple[RankedQuilt, ...], int | None]:
    """Return the quilts to be shown, the least telling first, and how many there are besides.

    Those that a mechanism could use, none telling less and moving the answer less, are shown beside the least telling.
    """
    found = list(islice(markov_quilts(cache.network, cache.protected), most + 1))
    counted, found = len(found) <= most, found[:most]
    # a quilt tells no less than each of its columns: what has to tell more than enough others is not looked at
    least = {quilt: max((floors.get(name, 0.0) for name in quilt.quilt), default=0.0) for quilt in found}
    found.sort(key=least.__getitem__)
    hidden = None if calibration is None else _hidden(cache, calibration)
    rows: list[RankedQuilt] = []
    for place, quilt in enumerate(watched(found, "what is told by {}", "more quilt")):
        enough = len(rows) >= limit and least[quilt] > sorted(row.nats for row in rows)[limit - 1]
        if not enough or (hidden is not None and _may_be_used(quilt, least[quilt], rows, hidden)):
            rows.append(RankedQuilt(quilt=quilt, influence=_of_quilt(cache, quilt.quilt, 2 * (len(found) - place))))
    # how rare more is takes long to find where nothing bounds it, and ranks only what may be shown
    most_shown = sorted(row.nats for row in rows)[:limit][-1:]
    shown = [row for row in rows if [row.nats] <= most_shown]
    shown.sort(key=lambda row: (*_quilt_size(row), len(row.quilt.quilt), in_order(row.quilt.quilt)))
    del shown[limit:]
    if calibration is not None and hidden is not None:
        decision = decision_for(calibration, cache.protected)
        beside = [
            _with_noise(row, calibration, decision, hidden) for row in _frontier(rows, hidden) if row not in shown
        ]
        shown = [_with_noise(row, calibration, decision, hidden) for row in shown]
        shown += [row for row in beside if row.noise is not None and row.noise.scale < math.inf]
        if decision is not None and all(row.quilt != decision.quilt for row in shown):
            # The quilt that the mechanism uses is always shown; it need not be a minimal separator.
            used = RankedQuilt(quilt=decision.quilt, influence=_of_quilt(cache, decision.quilt.quilt, 2))
            shown.append(_with_noise(used, calibration, decision, hidden))
        shown.sort(key=_quilt_size)
    return tuple(shown), len(set(found) - {row.quilt for row in shown}) if counted else None


HiddenBy = Callable[[MarkovQuilt], tuple[frozenset[str], Bound]]
"""Which queried columns are near in a quilt, and how far they can move the answer."""


def _hidden(cache: InfluenceCache, calibration: Calibration) -> HiddenBy:
    known: dict[frozenset[str], Bound] = {}

    def found(quilt: MarkovQuilt) -> tuple[frozenset[str], Bound]:
        near = driven_by(cache.network, calibration.query.columns, quilt.near)
        if near not in known:
            schema, norm = calibration.framework.schema, _norm(calibration)
            known[near] = column_sensitivity(calibration.weighted_query, near, schema, norm)
        return near, known[near]

    return found


def _may_be_used(quilt: MarkovQuilt, least: float, rows: Sequence[RankedQuilt], hidden: HiddenBy) -> bool:
    """Return whether no quilt is known that tells no more than this one surely tells, and moves the answer no more."""
    moved = hidden(quilt)[1].upper
    return least < math.inf and not any(row.nats <= least and hidden(row.quilt)[1].upper <= moved for row in rows)


def _frontier(rows: Sequence[RankedQuilt], hidden: HiddenBy) -> Iterator[RankedQuilt]:
    """Yield the quilts that tell less than every other one by which the answer is moved no more."""
    least = math.inf
    for row in sorted(rows, key=lambda row: (hidden(row.quilt)[1].upper, row.nats)):
        if row.nats < least:
            least = row.nats
            yield row


def _quilt_size(row: RankedQuilt) -> tuple[float, float, float]:
    return _rank(row.influence)


def _of_quilt(cache: InfluenceCache, quilt: frozenset[str], rows: int) -> Influence | None:
    try:
        return cache.influence(quilt, rows)
    except SizeError:
        return None


def quilt_calibration(plan: Plan | None) -> Calibration | None:
    """Return the calibration of a plan that rests on quilts, the best mechanism's or another's."""
    if plan is None:
        return None
    for calibration in plan.calibrations:
        if any(isinstance(decision, Decision) for decision in calibration.certificate.decisions):
            return calibration
    return None


def decision_for(calibration: Calibration | None, protected: str) -> Decision | None:
    """Return what decided the noise for a protected attribute."""
    found = () if calibration is None else calibration.certificate.decisions
    return next((row for row in found if isinstance(row, Decision) and row.protected == protected), None)


def _with_noise(row: RankedQuilt, calibration: Calibration, decision: Decision | None, hidden: HiddenBy) -> RankedQuilt:
    if decision is not None and decision.quilt == row.quilt:
        noise = NoiseOfQuilt(
            queried_near=decision.queried_near, sensitivity=decision.sensitivity, scale=decision.scale, wins=True
        )
        return replace(row, noise=noise)
    near, sensitivity = hidden(row.quilt)
    scale = _scale(row, calibration, sensitivity.upper)
    return replace(row, noise=NoiseOfQuilt(queried_near=near, sensitivity=sensitivity, scale=scale, wins=False))


def _norm(calibration: Calibration) -> Literal[1, 2]:
    return 2 if calibration.mechanism.options().get("noise") == "gaussian" else 1


def _scale(row: RankedQuilt, calibration: Calibration, sensitivity: float) -> float:
    """Return the scale of the noise that a quilt would leave; infinite where it tells too much or too many things."""
    if row.influence is None:
        return math.inf
    if calibration.delta == 0:
        return float(scales(sensitivity, row.influence.values, calibration.epsilon).max())
    losses = row.influence.losses
    if isinstance(losses, Refusal):
        return math.inf
    law = "gaussian" if _norm(calibration) == 2 else "laplace"
    shifts = losses.shifts(calibration.epsilon, calibration.delta, law)
    return float(approximate_scales(sensitivity, shifts).max())


def _bounds_belief(subject: ReportTarget, protected: str) -> bool:
    """Return whether all pairs of the secrets of an attribute are protected, as its network counts them."""
    return next((each.bounds_belief for each in subject.protected if each.attribute == protected), False)


def answer_influences(subject: ReportTarget) -> tuple[AnswerInfluence, ...]:
    """Return how much an answer without noise tells about which of two declared laws it has."""
    evidence = laws(subject.framework, subject.query)
    if isinstance(evidence, Refusal):
        return ()
    return tuple(
        AnswerInfluence(
            protected=each.protected, pair=pair.pair, nats=_log_ratio(pair.first, pair.second), kind=pair.kind
        )
        for each in evidence.constraints()
        if not isinstance(each.pairs, Refusal)
        for pair in each.pairs
    )


def _log_ratio(first: AnswerLaw, second: AnswerLaw) -> float:
    """Return the largest log ratio of the masses of two laws, rounded up; infinite for normal laws that differ."""
    if not isinstance(first, Atoms) or not isinstance(second, Atoms):
        return math.inf
    if first.points.shape != second.points.shape or not np.array_equal(first.points, second.points):
        return math.inf
    return float(np.max(np.abs(first.logs - second.logs), initial=0.0)) + first.error + second.error


def beliefs(attributes: Sequence[AttributeReport], plan: Plan | None) -> tuple[Belief, ...]:
    """Return how far beliefs move: by the calibrated answer, and by the columns themselves."""
    guarantee = plan.best.guarantee if plan is not None and plan.calibrations else None
    return tuple(
        Belief(
            prior=prior,
            answer=None if guarantee is None else guarantee.belief(prior),
            columns={
                row.protected: odds.belief(prior, row.told) if row.bounds_belief and not math.isnan(row.told) else None
                for row in attributes
            },
        )
        for prior in odds.PRIORS
    )


def dropped_pairs(attributes: Sequence[AttributeReport]) -> tuple[str, ...]:
    """Return for every attribute, in a sentence, the pairs that are no constraint because a secret is impossible."""
    found: list[str] = []
    for row in attributes:
        dropped = row.columns[0].dropped if row.columns else ()
        if dropped:
            shown = [f"{pair} in model {model}" for pair, model in dropped[:MOST_DROPPED]]
            more = f" and {len(dropped) - MOST_DROPPED:,} more" if len(dropped) > MOST_DROPPED else ""
            told = f"Left out, as a secret has probability zero: {row.protected}: {'; '.join(shown)}{more}."
            found.append(told)
    return tuple(found)
