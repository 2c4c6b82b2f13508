"""What an influence hangs on: which edges, by leaving one out, and which rows of the tables, by its gradient.

The gradient takes one calibration of a junction tree. Where columns tell most, at an assignment q, secrets a and b and
one model, the influence is

    log P(q, a) - log P(a) - log P(q, b) + log P(b),

and each P(e) is linear in every entry t(x|u) of a table, so that d log P(e) / d log t(x|u) = P(x, u | e): the posterior
of a family (Darwiche, "A differential approach to inference in Bayesian networks", JACM 2003). All four come out of one
pass of messages, the four kinds of evidence side by side as models are elsewhere. A row is the law of one attribute
given states of its parents; it stays a law when an entry moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import State
from bnpriv.core.influence.base import Influence
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.declared import DeclaredTables
from bnpriv.core.networks.discrete import DiscreteNetwork, from_weights, of_tables
from bnpriv.core.networks.factors import LogTable
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import NetworkError, Refusal
from bnpriv.kind import kind_of
from bnpriv.kinds.junction.tree import CliqueLaws, JunctionTree, OutOfRangeError, summed, weights_of
from bnpriv.text import number_text, visible

MOST_GRADIENT_CELLS = 2**21
"""Cells of all cliques for which a gradient is computed: each is held a dozen times, 200 MiB, in about a second."""

LEAST_SENSITIVITY = 1e-12
"""Rows that matter less do not matter: this is rounding."""


@dataclass(frozen=True)
class SensitiveRow:
    """A row of a table, and how much an influence hangs on it.

    Parameters
    ----------
    attribute : str
        Whose table it is.
    given : mapping from str to state
        The states of the parents.
    nats : float
        As in `InfluenceGradient.rows`.
    """

    attribute: str
    given: Mapping[str, State]
    nats: float

    def __str__(self) -> str:
        given = ", ".join(f"{name} = {state}" for name, state in self.given.items())
        return f"{self.attribute} given {given}" if given else self.attribute

    @property
    def sentence(self) -> str:
        """Return in words what an error of this row does."""
        moved = number_text(self.nats / 100, 2)
        return visible(f"{self}: 1 % more or less moves what is told by up to {moved} nats")


@dataclass(frozen=True, kw_only=True, eq=False)
class InfluenceGradient:
    """How an influence moves with every entry of every table; estimates, on which no guarantee rests.

    Where several assignments, pairs or models tell the same, it is the gradient at one of them, a subgradient.

    Parameters
    ----------
    influence : Influence
        Whose gradient it is, at its pair, model and assignment.
    entries : mapping from str to ndarray of shape (states, *states of parents)
        Derivative in the log odds of an entry t, while the others of its row keep their proportions: the derivative in
        t is this over t (1 - t).
    rows : mapping from str to ndarray of shape states of parents
        By how much the influence moves at most, to first order, for each nat by which the entries of one row alone may
        be off: with a factor f, by this times log f.
    """

    influence: Influence
    entries: Mapping[str, FloatArray]
    rows: Mapping[str, FloatArray]

    def largest(self, count: int = 5) -> tuple[SensitiveRow, ...]:
        """Return the rows that matter most, the first most; rows that do not matter at all are left out."""
        network = cast(DiscreteNetwork, self.influence.network)
        found: list[SensitiveRow] = []
        for name, table in self.rows.items():
            parents = network.graph.parents[name]
            for place in zip(*np.nonzero(np.atleast_1d(table > LEAST_SENSITIVITY)), strict=True):
                given = {each: network.states[each][int(k)] for each, k in zip(parents, place, strict=False)}
                nats = float(table[place] if parents else table)
                found.append(SensitiveRow(name, given, nats))
        # rows that matter alike stay in the order of the network, whatever the last digits are
        return tuple(sorted(found, key=lambda row: -float(f"{row.nats:.9g}"))[:count])


_NO_WITNESS = Refusal(
    required="a gradient needs an assignment that attains the influence",
    found="an upper bound, or an influence without one",
    remedy="Ask about fewer columns.",
)

_INFINITE = Refusal(
    required="a gradient needs a finite influence",
    found="inf: an assignment is possible under one secret and impossible under the other",
    remedy="Look at what `explain` says: the zeros of the tables decide.",
)

_TOO_LARGE = Refusal(
    required="the cliques of the network must fit into memory, and its probabilities into doubles",
    found="tables that are too large, or numbers that are too small",
    remedy="Ask about fewer columns.",
)


def influence_gradient(influence: Influence) -> InfluenceGradient | Refusal:
    """Return how an influence moves with every entry of every table, or why that is not known.

    Parameters
    ----------
    influence : Influence
        As `bnpriv.max_influence` returns it.

    Examples
    --------
    >>> import bnpriv as bp
    >>> network = bp.DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.8, 0.4], [0.2, 0.6]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> found = influence_gradient(bp.max_influence(network, {"sat"}, "income"))
    >>> [(row.attribute, dict(row.given), round(row.nats, 3)) for row in found.largest()]
    [('sat', {'income': 'low'}, 1.0), ('sat', {'income': 'high'}, 0.667)]

    The influence is log(.6 / .2), with .2 from the first row and .6 from the second. Rows sum to one: where .4 may be
    off by a factor, .6 can move by two thirds of that.
    """
    return kind_of(influence.network).gradient(influence)


def tables_gradient(influence: Influence) -> InfluenceGradient | Refusal:
    """The gradient in a network of tables."""
    network = cast(DiscreteNetwork, influence.network)
    if not np.isfinite(float(influence)):
        return _INFINITE
    if influence.pair is None or set(influence.assignment) != set(influence.frontier):
        return _NO_WITNESS
    tables = {name: _of_model(network, name, influence.model) for name in network.attributes}
    entries = {name: np.zeros(table.shape) for name, table in tables.items()}
    rows = {name: np.zeros(table.shape[1:]) for name, table in tables.items()}
    if influence.frontier:
        try:
            moved = _moved(network, influence, tables)
        except OutOfRangeError:
            return _TOO_LARGE
        if moved is None:
            return _TOO_LARGE
        for name, change in moved.items():
            law = np.exp(tables[name])
            entries[name] = change - law * change.sum(axis=0)
            # the largest sum of change * d over log factors d between -1 and 1 that keep the sum of each row. By
            # duality this is the least sum of abs(change - c * law) over numbers c, and a median of change / law, each
            # weighted by its probability, is such a c
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(law > 0, change / law, 0.0)
            order = np.argsort(ratio, axis=0)
            mass = np.cumsum(np.take_along_axis(law, order, axis=0), axis=0)
            middle = np.argmax(mass >= mass[-1:] / 2, axis=0)[np.newaxis]
            median = np.take_along_axis(np.take_along_axis(ratio, order, axis=0), middle, axis=0)
            found: FloatArray = np.abs(change - median * law).sum(axis=0)
            rows[name] = found
    return InfluenceGradient(influence=influence, entries=entries, rows=rows)


def _of_model(network: DiscreteNetwork, name: str, model: int) -> FloatArray:
    values = network.tables[name].values
    return values[min(model, len(values) - 1)]


def _moved(
    network: DiscreteNetwork, influence: Influence, tables: Mapping[str, FloatArray]
) -> dict[str, FloatArray] | None:
    """Return the derivative in the log of every entry, rows not kept; None where cliques are too large.

    Tables of attributes that are no ancestors of what is seen and what is protected are left out: their rows sum to one
    whatever happens to them.
    """
    needed = network.graph.ancestral((*influence.frontier, influence.protected))
    names = [name for name in network.attributes if name in needed]
    number = {name: k for k, name in enumerate(names)}
    families = [(number[name], *(number[parent] for parent in network.graph.parents[name])) for name in names]
    tree = JunctionTree.of(families, [len(network.states[name]) for name in names])
    cells = [clique.cells for clique in tree.cliques]
    if sum(cells) > MOST_GRADIENT_CELLS:
        return None
    possible = _evidence(network, influence)
    logs = [_allowed(tables[name], possible[name]) if name in possible else tables[name][np.newaxis] for name in names]
    with np.errstate(divide="ignore", invalid="ignore"):
        laws = CliqueLaws(tree, families, weights_of(logs))
    found: dict[str, FloatArray] = {}
    for clique, law in zip(tree.cliques, laws.laws, strict=True):
        for node in clique.tables:
            with_a, a, with_b, b = _posteriors(law.values, clique.axes, families[node], tree.sizes)
            found[names[node]] = with_a - a - with_b + b
    return found


def _evidence(network: DiscreteNetwork, influence: Influence) -> dict[str, NDArray[np.bool_]]:
    """Return which states are possible given q and a, a, q and b, and b, of shape (4, states), where not all are."""
    pair = cast(SecretPair, influence.pair)
    found: dict[str, NDArray[np.bool_]] = {}
    for name, seen in influence.assignment.items():
        hit = np.array([state == seen for state in network.states[name]])
        found[name] = np.stack([hit, np.ones_like(hit), hit, np.ones_like(hit)])
    states = network.states[influence.protected]
    first, second = (np.array([state in side for state in states]) for side in (pair.first, pair.second))
    return found | {influence.protected: np.stack([first, first, second, second])}


def _allowed(table: FloatArray, possible: NDArray[np.bool_]) -> FloatArray:
    spread = possible.reshape(*possible.shape, *(1 for _ in table.shape[1:]))
    return np.where(spread, table, -np.inf)


def _posteriors(law: FloatArray, axes: Sequence[int], family: Sequence[int], sizes: Sequence[int]) -> FloatArray:
    """Return the law of a family under each of the four kinds of evidence, of shape (4, *sizes of the family)."""
    kept = [k for k, node in enumerate(axes) if node in family]
    small = summed(law, kept)
    small = small / small.sum(axis=1, keepdims=True)
    split = small.reshape(-1, *(sizes[axes[k]] for k in kept))
    ordered = split.transpose([0, *(1 + [axes[k] for k in kept].index(node) for node in family)])
    return np.broadcast_to(ordered, (4, *ordered.shape[1:]))


# --------------------------------------------------------------------------------------------------
# What a network would say without one of its edges.
# --------------------------------------------------------------------------------------------------


def edge_removal(network: DiscreteNetwork) -> Callable[[str, str], DiscreteNetwork]:
    """From the ends of an edge to the network without it."""
    return partial(without_edge, network)


def without_edge(network: DiscreteNetwork, parent: str, child: str) -> DiscreteNetwork:
    """Return the network in which `child` no longer depends on `parent`.

    The child's new table is the mean of the old one over the parent's own law.

    Parameters
    ----------
    network : DiscreteNetwork
    parent, child : str
        An edge of it.

    Returns
    -------
    DiscreteNetwork

    Raises
    ------
    NetworkError
        If there is no such edge.

    Examples
    --------
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> without_edge(network, "income", "sat").probabilities("sat").tolist()
    [[0.5, 0.5]]
    """
    above = network.graph.parents[network.require(child)]
    if parent not in above:
        raise NetworkError(
            f"{parent!r} must be a parent of {child!r}",
            found=f"the parents {listing(above)}",
            remedy="Name an edge of the network.",
        )
    weights = np.exp(joint_law(network, (parent,)).values)
    weights = np.broadcast_to(weights, (network.models, weights.shape[1]))
    old = np.moveaxis(network.probabilities(child), 2 + above.index(parent), -1)
    new = np.einsum("m...p,mp->m...", old, weights)
    # every edge is tried: the tables of the other attributes are made once
    known: dict[str, LogTable] = network.kept.table("tables again")
    if not known:
        every = {name: network.probabilities(name) for name in network.attributes}
        known |= from_weights(every, states=network.states, parents=network.graph.parents).tables
    left = tuple(name for name in above if name != parent)
    own = replace(LogTable.from_columns((child, *left), new), weights=new)
    graph = Graph({name: network.graph.parents[name] for name in network.attributes} | {child: left})
    tables = known | {child: own}
    return of_tables(
        DeclaredTables(graph=graph, states=network.states, tables=tables, models=network.models), network.level
    )
