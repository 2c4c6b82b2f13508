"""Model classes whose models have graphs of their own: two experts, two graphs.

Every number is that of each model in its own graph. Where one graph must serve all models it is the common graph, in
which each of them factorizes: docs/claims/graphs.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, type_text
from bnpriv.core.columns import State
from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.influence.base import Influence, Losses, asked_columns, influence_of, worst_place
from bnpriv.core.influence.finite import (
    budgeted_influence,
    explain_tables,
    finite_influence,
    influence_losses,
    influence_work,
    joint_law,
    lower_bound,
    tree_choice,
)
from bnpriv.core.networks.base import NOTHING_READ, ImportReport, Level, Posterior
from bnpriv.core.networks.discrete import DeclaredNumbers, DiscreteNetwork, FiniteMethods, require_discrete
from bnpriv.core.networks.factors import MOST_TABLE_CELLS, LogTable
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import Declared, SecretPair, pairs_of
from bnpriv.errors import NetworkError, SizeError
from bnpriv.kind import NetworkKind
from bnpriv.kinds.density.influence import two_conditionals
from bnpriv.kinds.finite import FINITE_KIND
from bnpriv.kinds.junction.rows import InfluenceRows, finite_rows
from bnpriv.kinds.sensitivity import tables_gradient, without_edge

# --------------------------------------------------------------------------------------------------
# One graph in which every model factorizes, and the tables of all models along it.
# --------------------------------------------------------------------------------------------------

MOST_ATTRIBUTE_ORDERS = 8
"""The most orders of attributes that are tried where the graphs contradict each other on directions."""


def common_graph(graphs: Sequence[Graph]) -> Graph:
    """A graph whose separations hold in all of several graphs over the same nodes.

    Their union, where that has no cycle. Else, in an order of the nodes, each has as parents those before it that in
    one of the graphs the others before it do not separate from it; of the graphs' own orders the one with the fewest
    edges.

    Parameters
    ----------
    graphs : sequence of Graph
        At least one.

    Returns
    -------
    Graph

    Examples
    --------
    >>> common_graph([Graph({"a": (), "b": ("a",), "c": ()}), Graph({"a": (), "b": (), "c": ("a", "b")})]).edges
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    >>> common_graph([Graph({"a": (), "b": ("a",), "c": ("b",)}), Graph({"a": ("b",), "b": ("c",), "c": ()})]).edges
    (('a', 'b'), ('b', 'c'))
    """
    names = tuple(graphs[0].parents)
    try:
        return Graph({name: tuple(dict.fromkeys(p for each in graphs for p in each.parents[name])) for name in names})
    except NetworkError:  # one says a -> b where another says b -> a, at once or along a path
        orders = list(dict.fromkeys(each.nodes for each in graphs))[:MOST_ATTRIBUTE_ORDERS]
        return min((_along(graphs, order) for order in orders), key=lambda graph: len(graph.edges))


def _along(graphs: Sequence[Graph], order: Sequence[str]) -> Graph:
    """The smallest graph along an order of the nodes whose separations hold in all graphs."""
    place = {name: k for k, name in enumerate(order)}
    parents: dict[str, dict[str, None]] = {name: {} for name in order}
    for graph in graphs:
        fits = all(place[above] < place[name] for above, name in graph.edges)
        for k, name in enumerate(order):
            parents[name] |= dict.fromkeys(graph.parents[name] if fits else graph.frontier(name, order[:k]))
    return Graph({name: tuple(above) for name, above in parents.items()})


class CommonTables(Mapping[str, LogTable]):
    """The tables of all models along the common graph, each made when it is first asked for."""

    def __init__(self, graph: Graph, members: Sequence[DiscreteNetwork]) -> None:
        self._graph, self._members, self._made = graph, members, dict[str, LogTable]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._graph.nodes)

    def __len__(self) -> int:
        return len(self._graph.nodes)

    def __getitem__(self, name: str) -> LogTable:
        if name not in self._made:
            self._made[name] = self._joined((name, *self._graph.parents[name]))
        return self._made[name]

    def _joined(self, family: tuple[str, ...]) -> LogTable:
        sizes = tuple(len(self._members[0].states[name]) for name in family)
        cells = math.prod(sizes) * sum(member.models for member in self._members)
        if cells > MOST_TABLE_CELLS:
            raise SizeError(
                f"a table of all models along one graph may have at most {MOST_TABLE_CELLS:,} cells",
                found=f"{cells:,}, for {family[0]!r} given all that it depends on in any of the graphs",
                remedy="Ask this of each of network.parts.",
            )
        found = [_conditional(member, family) for member in self._members]
        spread = ((table, (member.models, *sizes)) for table, member in zip(found, self._members, strict=True))
        values = np.concatenate([np.broadcast_to(table.values, shape) for table, shape in spread])
        return LogTable(axes=family, values=values, error=max(table.error for table in found))


def _conditional(network: DiscreteNetwork, family: tuple[str, ...]) -> LogTable:
    """The log of P(attribute | others before it), which hold all its parents or all that shields it from the rest."""
    name, *above = family
    graph = network.graph
    if set(graph.parents[name]) <= set(above) and not any(name in graph.ancestral((each,)) for each in above):
        table = network.tables[name]  # given its parents it is independent of all that is not below it
        return LogTable(axes=family, values=table.aligned(family), error=table.error)
    joint = joint_law(network, family)
    possible = np.isfinite(log_sum_exp(joint.values, 1))[:, np.newaxis]
    # a row that never occurs may hold any distribution
    table = LogTable.from_logs(family, np.where(possible, joint.values, 0.0))
    return replace(table, error=table.error + 2 * joint.error)


# --------------------------------------------------------------------------------------------------
# The class itself: its members, each with the models of one graph.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphsNetwork(FiniteMethods):
    """A model class Theta of networks with different edges over the same attributes and states.

    Build it with `bnpriv.model_class`. Its ``graph`` is the common graph: what is separated there is so in every model.

    Parameters
    ----------
    members : tuple of DiscreteNetwork
        In the order of the models, each with the models of one graph; all with the same states in the same order.
    graph, states, level, posterior_draws, reading
        As of `DiscreteNetwork`.
    """

    kind = "bnpriv.kinds.graphs:GRAPHS_KIND"

    graph: Graph
    states: Mapping[str, tuple[State, ...]]
    level: Level
    members: tuple[DiscreteNetwork, ...]
    posterior_draws: Posterior | None = None
    reading: ImportReport = NOTHING_READ
    kept: Cache = field(default_factory=Cache, init=False, compare=False)
    forward = unfixed = None

    def __post_init__(self) -> None:
        members = tuple(
            replace(each, states=self.states, level=self.level, reading=self.reading) for each in self.members
        )
        vars(self).update(states=ReadOnly(self.states), members=members)

    @cached_property
    def tables(self) -> Mapping[str, LogTable]:
        """The tables of all models along the common graph."""
        return CommonTables(self.graph, self.members)

    @property
    def models(self) -> int:
        """Number of models in Theta."""
        return sum(member.models for member in self.members)

    def probabilities(self, attribute: str) -> FloatArray:
        """P(attribute | parents in the common graph), of shape (models, states, *states of the parents)."""
        return np.exp(self.tables[self.require(attribute)].values)

    def laws(self, attribute: str) -> tuple[FloatArray, ...]:
        """The log table of an attribute along the common graph."""
        return (self.tables[attribute].values,)

    @property
    def parts(self) -> tuple[DiscreteNetwork, ...]:
        """The networks of one graph each, with the models in their order."""
        return self.members

    @property
    def declared(self) -> tuple[DeclaredNumbers, ...]:
        """The tables of every model in its own graph as they were declared, for files; empty if they were not."""
        each = [member.declared for member in self.members]
        drawn = self.posterior_draws
        known = all(each) and (drawn is None or drawn.in_file)
        return tuple(tables for found in each for tables in found) if known else ()

    @property
    def kind_text(self) -> str:
        """The kind of network, with its article."""
        return f"a discrete network with {len({frozenset(member.graph.edges) for member in self.members})} graphs"

    def identity(self) -> bytes:
        """Bytes of all graphs with their tables, and of their provenance, for a hash."""
        parts = [repr(("graphs", [member.models for member in self.members])).encode()]
        parts += [member.identity() for member in self.members]
        return b"".join([*parts, b"" if self.posterior_draws is None else repr(self.posterior_draws).encode()])

    def same_law(self, other: object, attribute: str) -> bool:
        """Whether another class has the same graphs, and in each the same table of an attribute."""
        parts = getattr(other, "parts", ())
        return len(parts) == len(self.parts) and all(
            mine.models == theirs.models and mine.same_law(theirs, attribute)
            for mine, theirs in zip(self.parts, parts, strict=True)
        )

    def __repr__(self) -> str:
        return (
            f"GraphsNetwork(attributes={len(self.attributes)}, graphs={len(self.members)}, models={self.models}, "
            f"level={self.level!r})"
        )


def of_graphs(members: Sequence[DiscreteNetwork]) -> GraphsNetwork:
    """Networks of different graphs as one class; all have the same states in the same order."""
    first = members[0]
    return GraphsNetwork(
        graph=common_graph([member.graph for member in members]),
        states=first.states,
        level=first.level,
        reading=first.reading,
        members=tuple(members),
    )


# --------------------------------------------------------------------------------------------------
# Joining networks into one model class: attributes and states are matched by name.
# --------------------------------------------------------------------------------------------------

_REMEDY = "Models of one class speak of the same attributes, with the same states."


def model_class(networks: Sequence[DiscreteNetwork], *, labels: Sequence[str] = ()) -> DiscreteNetwork:
    """Join networks of the same attributes into one model class Theta, whatever their graphs.

    Parameters
    ----------
    networks : sequence of DiscreteNetwork
        At least one; each brings all its models, in this order.
    labels : sequence of str, optional
        What messages call the networks, for example their files; "network 0", "network 1", ... by default.

    Returns
    -------
    DiscreteNetwork
        With states in the order of the first network. Of one graph, a table on which all agree is kept once, and
        networks with the same numbers throughout are one model. Of several graphs, each model keeps its own: ``parts``
        has them, and ``graph`` is one whose separations hold in all of them.

    Raises
    ------
    NetworkError
        If there is no network, or they differ in level, attributes or states; the message names the first difference;
        or if one is given by intervals, or holds draws from a posterior beside others.

    Examples
    --------
    >>> states = {"income": ["low", "high"]}
    >>> first = DiscreteNetwork.from_tables({"income": [0.6, 0.4]}, states=states)
    >>> second = DiscreteNetwork.from_tables({"income": [0.1, 0.9]}, states={"income": ["high", "low"]})
    >>> model_class([first, second]).probabilities("income").round(3).tolist()
    [[0.6, 0.4], [0.9, 0.1]]

    Two experts, two graphs:

    >>> states = {"smokes": [0, 1], "ill": [0, 1]}
    >>> apart = DiscreteNetwork.from_tables({"smokes": [0.7, 0.3], "ill": [0.8, 0.2]}, states=states)
    >>> tables = {"smokes": [0.7, 0.3], "ill": [[0.9, 0.6], [0.1, 0.4]]}
    >>> joined = DiscreteNetwork.from_tables(tables, states=states, parents={"ill": ["smokes"]})
    >>> model_class([apart, joined])
    GraphsNetwork(attributes=2, graphs=2, models=2, level='parameters')
    """
    if not isinstance(networks, Iterable):
        raise NetworkError(
            "a model class is made of several networks",
            found=type_text(networks),
            remedy="Pass a list: model_class([one, other]).",
        )
    if not networks:
        raise NetworkError("a model class needs a network", found="none", remedy="Give at least one.")
    for network in networks:
        require_discrete(network, "a model class of several networks")
    names = [labels[k] if k < len(labels) else f"network {k}" for k in range(len(networks))]
    first = networks[0]
    if len(networks) == 1:
        return first  # draws of a posterior stay known as such
    drawn = [label for label, network in zip(names, networks, strict=True) if network.posterior_draws is not None]
    if drawn:  # what lies above the draws, and from which table they were learned, is said of them alone
        raise NetworkError(
            "models drawn from a posterior must stay a model class of their own",
            found=f"draws in {listing(drawn)}, beside others",
            remedy="Calibrate for each class, and use the larger noise.",
        )
    for network, label in zip(networks[1:], names[1:], strict=True):
        _check_same(first, network, names[0], label)
    # the laws of columns may differ between models: declare them in the framework
    reading = replace(
        first.reading,
        laws={},
        identity=" ".join(network.reading.identity for network in networks).strip(),
        level_assumed=any(network.reading.level_assumed for network in networks),
        latent=frozenset().union(*(network.reading.latent for network in networks)),
        notes=tuple(dict.fromkeys(note for network in networks for note in network.reading.notes)),
    )
    several = groupby(
        (part for network in networks for part in network.parts), lambda part: frozenset(part.graph.edges)
    )
    parts = [_of_one_graph(first, list(alike), reading) for _, alike in several]
    return parts[0] if len(parts) == 1 else cast(DiscreteNetwork, of_graphs(parts))


def _of_one_graph(
    first: DiscreteNetwork, networks: Sequence[DiscreteNetwork], reading: ImportReport
) -> DiscreteNetwork:
    """Networks of one graph as one, with states in the order of `first`."""
    tables = {name: _joined(first, networks, name) for name in networks[0].attributes}
    models = max(table.values.shape[0] for table in tables.values())
    return DiscreteNetwork(
        graph=networks[0].graph, states=first.states, tables=tables, level=first.level, models=models, reading=reading
    )


def _check_same(first: DiscreteNetwork, other: DiscreteNetwork, known: str, label: str) -> None:
    if other.level != first.level:
        raise NetworkError(
            f"all networks must be of one level, {first.level!r} as in {known}",
            found=f"level {other.level!r} in {label}",
            remedy="Declare what a node means in the same way for all.",
        )
    if {name: set(above) for name, above in first.reading.columns.items()} != {
        name: set(above) for name, above in other.reading.columns.items()
    }:
        raise NetworkError(
            f"all networks must have the columns of {known}, driven by the same attributes",
            found=f"others in {label}",
            remedy=_REMEDY,
        )
    missing = [name for name in first.attributes if name not in other.states]
    strange = [name for name in other.attributes if name not in first.states]
    if missing or strange:
        lacks, adds = f"without {listing(missing)}" if missing else "", f"with {listing(strange)}" if strange else ""
        raise NetworkError(
            f"all networks must have the attributes of {known}",
            found=f"{label} {' and '.join(filter(None, (lacks, adds)))}",
            remedy=_REMEDY,
        )
    for name in first.attributes:
        if set(map(state_key, first.states[name])) != set(map(state_key, other.states[name])):
            raise NetworkError(
                f"{name!r} must have the same states in all networks, {listing(first.states[name])} as in {known}",
                found=f"{listing(other.states[name])} in {label}",
                remedy="Name the states alike; their order is free.",
            )


def _joined(first: DiscreteNetwork, networks: Sequence[DiscreteNetwork], name: str) -> LogTable:
    """Stack one attribute's tables of all models, or keep one where all are the same."""
    axes = networks[0].tables[name].axes
    held = [(network, network.tables[name]) for network in networks]
    stacked = np.concatenate([_aligned(network, table, axes, first) for network, table in held])
    # files are written from what was declared, if all of it is known
    declared = [
        _aligned(network, replace(table, values=table.weights), axes, first)
        for network, table in held
        if table.weights is not None
    ]
    weights = np.concatenate(declared) if len(declared) == len(held) else None
    if bool(np.all(stacked == stacked[:1])):
        stacked, weights = stacked[:1], None if weights is None else weights[:1]
    return LogTable(axes=axes, values=stacked, error=max(table.error for _, table in held), weights=weights)


def _aligned(network: DiscreteNetwork, table: LogTable, axes: Sequence[str], first: DiscreteNetwork) -> FloatArray:
    """The values of a table for all models of its network, with axes and states in the order of `first`."""
    values = table.aligned(axes)
    for position, axis in enumerate(axes):
        here = [state_key(state) for state in network.states[axis]]
        values = np.take(values, [here.index(state_key(state)) for state in first.states[axis]], axis=position + 1)
    return np.broadcast_to(values, (network.models, *values.shape[1:]))


def state_key(state: State) -> tuple[str, str]:
    """A key that tells 1, 1.0, True and "1" apart, which are equal or print alike."""
    return type(state).__name__, repr(state)


# --------------------------------------------------------------------------------------------------
# What columns tell: of each member in its own graph, the largest over all.
# --------------------------------------------------------------------------------------------------


def _influence(
    network: GraphsNetwork, columns: Iterable[str], protected: str, pairs: Sequence[SecretPair]
) -> Influence:
    """The influence per model and pair, each model in its own graph."""
    asked = asked_columns(network, columns, protected)
    return _gathered(network, asked, [finite_influence(each, asked, protected, pairs) for each in network.members])


def _gathered(network: GraphsNetwork, asked: frozenset[str], found: Sequence[Influence]) -> Influence:
    first, values = found[0], np.concatenate([each.values for each in found])
    values.flags.writeable = False
    model = worst_place(values)[0] if values.size else 0
    worst = found[_place(network, model)]
    bounded = next((each for each in found if each.kind != "exact"), first)
    return replace(
        first,
        columns=asked,
        frontier=network.graph.frontier(first.protected, asked),
        values=values,
        error=max(each.error for each in found),
        kind=bounded.kind,
        pair=worst.pair,
        model=model if worst.pair is not None else 0,
        network=network,
        details=tuple(found),
        assignment=worst.assignment,
        how=bounded.how,
        too_large=" and ".join(dict.fromkeys(each.too_large for each in found if each.too_large)),
    )


def _place(network: GraphsNetwork, model: int) -> int:
    """The place of the member that holds a model."""
    return network.members.index(network.of_model(model)[0])


def _worst(influence: Influence) -> Influence:
    """The influence in the member that attains it."""
    place = _place(cast(GraphsNetwork, influence.network), influence.model)
    return cast("tuple[Influence, ...]", influence.details)[place]


def _losses(influence: Influence) -> Losses:
    """The losses of all members, with empty cells where one has fewer.

    Raises
    ------
    SizeError
        If those of a member would have too many cells.
    """
    each = [influence_losses(found) for found in cast("tuple[Influence, ...]", influence.details)]
    most = max(losses.ratios.shape[2] for losses in each)

    def padded(cells: FloatArray) -> FloatArray:
        return np.pad(cells, ((0, 0), (0, 0), (0, most - cells.shape[2])))

    return Losses(
        ratios=np.concatenate([padded(losses.ratios) for losses in each]),
        masses=np.concatenate([padded(losses.masses) for losses in each]),
        possible=np.concatenate([losses.possible for losses in each]),
    )


def _explain(influence: Influence) -> str:
    """The most telling assignment in words, in the graph of the model under which it is."""
    place = _place(cast(GraphsNetwork, influence.network), influence.model)
    found = explain_tables(_worst(influence))
    where = f"Model {influence.model}, in graph {place + 1} of {len(influence.details)}:"
    return found if influence.pair is None else f"{where}\n{found}"


def _work(
    network: GraphsNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair]
) -> tuple[int, int]:
    found = [influence_work(each, each.graph.frontier(protected, border), protected, pairs) for each in network.members]
    kept = all(losses for _, losses in found)
    return sum(cells for cells, _ in found), sum(losses for _, losses in found) if kept else 0


def _budgeted(
    network: GraphsNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair], most_work: int
) -> tuple[Influence, int]:
    found = [
        budgeted_influence(each, each.graph.frontier(protected, border), protected, pairs, most_work)
        for each in network.members
    ]
    return _gathered(network, frozenset(border), [each for each, _ in found]), sum(cells for _, cells in found)


def _rows(network: GraphsNetwork, chosen: Mapping[str, Declared | None], workers: int | None) -> InfluenceRows:
    """The largest over the members; a secret that is impossible in one of them is no constraint there alone."""
    found = [finite_rows(member, chosen, workers) for member in network.members]
    # of a member where no secret of an attribute is possible there is no number
    values = np.full_like(found[0].values, np.nan)
    for member, each in zip(network.members, found, strict=True):  # whose attributes come in another order
        values = np.fmax(values, each.values[:, [member.attributes.index(name) for name in network.attributes]])
    touched = {name for each in found for name in (*each.refused, *each.dropped)}
    refused = {name: why for name, why in found[0].refused.items() if all(name in each.refused for each in found)}
    dropped = {
        name: [f"{pair} in model {model}" for pair, model in alone.dropped]
        for name in found[0].protected
        if name in touched and name not in refused
        for alone in [influence_of(network, (), name, pairs_of(network, name, chosen[name]))]
    }
    return InfluenceRows(protected=found[0].protected, values=values, refused=refused, dropped=dropped)


def _in_worst(way: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked of an influence, asked of that in the member that attains it."""

    def asked(influence: Influence, *others: Any) -> Any:
        return way(_worst(influence), *others)

    return asked


def _in_its_graph(way: Callable[..., Any]) -> Callable[..., Any]:
    """What is asked of one model, asked of the member that holds it."""

    def asked(network: GraphsNetwork, protected: str, pair: SecretPair, model: int, *others: Any) -> Any:
        part, model = network.of_model(model)
        return way(part, protected, pair, model, *others)

    return asked


def _edge_removal(network: GraphsNetwork) -> Callable[[str, str], DiscreteNetwork]:
    """From the ends of an edge to the class in which no model has it, in whatever direction."""

    def without(parent: str, child: str) -> DiscreteNetwork:
        ends = {(parent, child), (child, parent)}
        cut: list[DiscreteNetwork] = []
        for member in network.members:
            found = next((edge for edge in member.graph.edges if edge in ends), None)
            cut.append(member if found is None else without_edge(member, *found))
        return model_class(cut)

    return without


def _edges(network: GraphsNetwork) -> dict[tuple[str, str], int]:
    """Every edge of a member, with the number of models that have it."""
    found: dict[tuple[str, str], int] = {}
    for member in network.members:
        for edge in member.graph.edges:
            found[edge] = found.get(edge, 0) + member.models
    return found


def _graph_of(network: GraphsNetwork, model: int) -> Graph:
    return network.of_model(model)[0].graph


_WAYS: dict[str, Any] = {**vars(FINITE_KIND)}
GRAPHS_KIND = NetworkKind(
    **_WAYS
    | {
        "influence": _influence,
        "losses": _losses,
        "explain": _explain,
        "conditional": _in_worst(two_conditionals),
        "work": _work,
        "budgeted": _budgeted,
        "rows": _rows,
        "lower_bound": _in_its_graph(lower_bound),
        "tree_choice": _in_its_graph(tree_choice),
        "gradient": _in_worst(tables_gradient),
        "edge_removal": _edge_removal,
        "edges": _edges,
        "some": NetworkKind().some,
        "graph_of": _graph_of,
    }
)
