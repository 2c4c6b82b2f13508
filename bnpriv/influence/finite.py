"""Max-influence: how much a set of attributes can tell about a protected one, with the witness that attains it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from bnpriv import checks
from bnpriv.bound import Bound, FloatArray, Kind
from bnpriv.errors import NetworkError, SecretError
from bnpriv.influence.conditionals import TellsApart, two_conditionals
from bnpriv.influence.elimination import joint_size
from bnpriv.influence.explanation import explanation
from bnpriv.influence.interval import interval_bounds
from bnpriv.influence.ratios import MOST_SEPARATOR_WORK, RatioTables, independent_parts
from bnpriv.networks import DiscreteNetwork, Graph, IntervalNetwork, Network, State
from bnpriv.networks.factors import MOST_WORK
from bnpriv.render import html, number_text, plotting, set_text
from bnpriv.render.text import visible
from bnpriv.render.two_curves import TwoCurves
from bnpriv.secrets.states import SecretPair, SecretPairs, pairs_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Influence(TellsApart):
    """The max-influence of a set of columns on a protected attribute.

    ``float(influence)`` is an upper bound in nats: seeing the columns moves the log odds between two protected secrets
    by at most this. 0 means that they tell nothing, inf that some assignment rules a secret out.

    Parameters
    ----------
    columns : frozenset of str
        The set that was asked about.
    protected : str
        The protected attribute.
    frontier : tuple of str
        The members of `columns` that the others do not separate from `protected`; they alone carry the influence.
    pairs : tuple of SecretPair
        The ordered pairs of secrets.
    values : ndarray of shape (models, pairs)
        Upper bounds, one per model and ordered pair; -inf where a secret of the pair has probability zero under the
        model, so that the pair is no constraint.
    error : float
        Largest rounding error: ``values - 2 * error`` is a lower bound where the kind is "exact".
    kind : {"exact", "certified"}
        "certified" when a cheaper upper bound stands in, because a table would have been too large, or because the
        network is given by intervals and no single model need attain the bound.
    pair : SecretPair or None
        The pair that attains the maximum; None when no pair is a constraint.
    model : int
        The index in Theta of the model that attains it.
    assignment : mapping from str to state
        The values of the frontier that attain it; empty where a certified bound stands in.
    network : DiscreteNetwork or IntervalNetwork
        The network that was asked.
    too_large : str
        Where a bound stands in for tables that would be too large: their cells, of how many there may be.
    """

    columns: frozenset[str]
    protected: str
    frontier: tuple[str, ...]
    pairs: tuple[SecretPair, ...]
    values: FloatArray
    error: float
    kind: Kind
    pair: SecretPair | None
    model: int
    assignment: Mapping[str, State]
    network: Network
    too_large: str = ""

    @cached_property
    def bound(self) -> Bound:
        """Return the largest influence over models and pairs, between its ends."""
        top = max(0.0, float(np.max(self.values, initial=0.0)))
        low = top if np.isinf(top) else max(0.0, top - 2 * self.error)
        return Bound(low if self.kind == "exact" else 0.0, top, self.kind)

    def __float__(self) -> float:
        return self.bound.upper

    @property
    def over_draws(self) -> tuple[float, float, float] | None:
        """Return what half, 95 % and all of the draws tell at most; None if the models are no draws of a posterior."""
        drawn = isinstance(self.network, DiscreteNetwork) and self.network.drawn is not None
        return draw_points(self.values) if drawn else None

    @property
    def dropped(self) -> tuple[tuple[SecretPair, int], ...]:
        """Return the pairs, with the model, that are no constraint because a secret has probability zero."""
        models, columns = np.nonzero(np.isneginf(self.values))
        return tuple((self.pairs[int(k)], int(model)) for model, k in zip(models, columns, strict=True))

    def explain(self) -> str:
        """Return in words what attains the influence: probabilities, open paths, and the rows of the tables."""
        if self.pair is None or not self.assignment or isinstance(self.network, IntervalNetwork):
            return f"{set_text(self.columns)} tells {number_text(float(self))} nats about {self.protected}."
        return explanation(self.network, self.protected, self.pair, self.model, self.assignment)

    def conditional(self, column: str | None = None) -> TwoCurves:
        """Return the law of one column's parameter given each of the two secrets that are told apart best.

        Parameters
        ----------
        column : str, optional
            A member of the frontier; by default its first.

        Raises
        ------
        NetworkError
            If nothing is told, `column` is not in the frontier, or the network is given by intervals.
        """
        name = self.drawn_column(column)
        if self.pair is None:
            raise NetworkError(
                "there must be something to compare",
                found="secrets of probability zero only",
                remedy="Choose other secrets.",
            )
        return two_conditionals(self.network, self.protected, name, self.pair, self.model)

    def plot_draws(self, ax: Axes | None = None) -> Axes:
        """Draw how many of the models tell how much; with the extra `plot`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawing = plotting.axes(ax)
        told = np.maximum(self.values.max(axis=1), 0.0)
        drawing.hist(told[np.isfinite(told)], bins=40, color="#4a78b0")
        for share, point in zip((50, 95, 100), draw_points(self.values), strict=True):
            if np.isfinite(point):
                drawing.axvline(point, color="black", linewidth=1, linestyle=":" if share < 100 else "-")
                drawing.annotate(f"{share} %", (point, 0.97), xycoords=("data", "axes fraction"), rotation=90, va="top")
        names = ", ".join(plotting.label(name) for name in sorted(self.columns))
        drawing.set_xlabel(f"what {names} tells about {plotting.label(self.protected)}, in nats")
        drawing.set_ylabel("models")
        return drawing

    def __repr__(self) -> str:
        return visible(f"Influence({set_text(self.columns)} on {self.protected}: {float(self):.6g} nats, {self.kind})")

    def _repr_html_(self) -> str:
        told = f": {number_text(float(self))} nats about "
        title = html.element("h1", html.names(self.columns), told, html.name(self.protected))
        lines = self.explain().splitlines()
        return html.fragment(title, html.element("p", f"{self.kind}; {lines[0]}"), html.items(lines[1:]))


def max_influence(
    network: Network, columns: Iterable[str], protected: str, pairs: SecretPairs | None = None
) -> Influence:
    """Return how much a set of attributes can tell about a protected one.

    Parameters
    ----------
    network : DiscreteNetwork or IntervalNetwork
        One or several models, or all within intervals.
    columns : iterable of str
        The attributes that are seen.
    protected : str
        The protected attribute; must not be among `columns`.
    pairs : SecretPairs, optional
        The pairs of secrets; all pairs of single states by default.

    Returns
    -------
    Influence
        The largest log ratio P(columns = q | a) / P(columns = q | b) over assignments, ordered pairs and models.

    Raises
    ------
    NetworkError
        If a name is unknown or `protected` is among `columns`.
    SecretError
        If the secrets do not fit, or all have probability zero.
    SizeError
        If a table would pass the limit and no cheaper bound holds.

    Notes
    -----
    Definition of max-influence: Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD
    2017), definition 4.1; see docs/claims/max_influence.md for the frontier and the independent parts, and
    docs/claims/intervals.md for networks given by intervals.

    Examples
    --------
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.6, 0.4], "sat": [[0.8, 0.2], [0.2, 0.8]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> influence = max_influence(network, {"sat"}, "income")
    >>> round(float(influence), 6)
    1.386294
    >>> str(influence.pair), dict(influence.assignment)
    ('low against high', {'sat': 'low'})
    """
    require_states(network)
    network.require(protected)
    chosen = pairs_of(protected, network.states[protected], pairs)
    influence = influence_of(network, columns, protected, chosen)
    if influence.pair is None:
        raise impossible_secrets(protected)
    return influence


def impossible_secrets(protected: str) -> SecretError:
    """Return the refusal of secrets all of whose pairs are impossible under every model."""
    return SecretError(
        f"some pair of secrets of {protected!r} must have positive probability",
        found="none in any model",
        remedy="Correct the table of the protected attribute, or choose other secrets.",
    )


def require_states(network: object) -> None:
    """Refuse a network whose attributes may be any number.

    Raises
    ------
    NetworkError
        If they may.
    """
    if not isinstance(network, (DiscreteNetwork, IntervalNetwork)):
        raise NetworkError(
            "max-influence needs a network whose attributes have finitely many states",
            found=f"a {type(network).__name__}",
            remedy="For a GaussianNetwork use gaussian_influence, for a DensityNetwork density_influence.",
        )


class HasAttributes(Protocol):
    """A network that knows its attributes."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes."""
        ...

    def require(self, attribute: str) -> str:
        """Return `attribute` if it is one of the network."""
        ...


def asked_columns(network: HasAttributes, columns: Iterable[str], protected: str) -> frozenset[str]:
    """Return the columns that are asked about.

    Raises
    ------
    NetworkError
        If a name is unknown or `protected` is among them.
    """
    asked = checks.subset("columns", columns, network.attributes, error=NetworkError)
    if network.require(protected) in asked:
        raise NetworkError(
            "the columns must not hold the protected attribute",
            found=repr(protected),
            remedy="Ask about the other columns; a column tells everything about itself.",
        )
    return asked


def influence_of(
    network: Network,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[SecretPair],
    *,
    most_work: int = MOST_WORK,
) -> Influence:
    """Return the influence for ordered `pairs`, from tables of at most `most_work` cells each; see `max_influence`."""
    asked = asked_columns(network, columns, protected)
    border = frontier(network.graph, protected, asked)
    if isinstance(network, IntervalNetwork):
        return _within(network, asked, protected, border, pairs)
    tables = RatioTables.of(network, protected, border, pairs, most_work)
    values = np.stack([np.broadcast_to(tables.ratios(pair), network.models) for pair in pairs], axis=1)
    if border:
        values = np.where(np.isfinite(values), np.maximum(values + tables.error, 0.0), values)
    values.flags.writeable = False
    pair, model, assignment = _witness(network, pairs, values, tables)
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=tables.error if border else 0.0,
        kind="exact" if tables.is_exact(pairs) else "certified",
        pair=pair,
        model=model,
        assignment=assignment,
        network=network,
        too_large=tables.too_large,
    )


def influence_cells(
    network: DiscreteNetwork,
    border: tuple[str, ...],
    protected: str,
    pairs: Sequence[SecretPair],
    most_work: int = MOST_WORK,
) -> int:
    """Return how many cells the tables behind the influence of a frontier have, and what their ratios take.

    A table that would be too large is not made; what bounds it has few cells.
    """
    parts = independent_parts(network.graph, protected, border)
    if not all(pair.is_point for pair in pairs) and len(parts) > 1:
        parts.append(border)
    total = 0
    for part in parts:
        size = joint_size(network, (protected, *part))
        if size.fits and size.work <= most_work:
            cells = network.models * math.prod(len(network.states[name]) for name in part)
            total += size.work + 2 * len(pairs) * cells
        else:
            total += min(MOST_SEPARATOR_WORK, most_work)
    return total


def _within(
    network: IntervalNetwork,
    asked: frozenset[str],
    protected: str,
    border: tuple[str, ...],
    pairs: Sequence[SecretPair],
) -> Influence:
    """Return the influence over all members of an interval network."""
    found = interval_bounds(network, protected, border, pairs)
    values = np.where(np.isfinite(found.values), np.maximum(found.values + found.error, 0.0), found.values)
    values = values[np.newaxis]
    values.flags.writeable = False
    worst = None if bool(np.isneginf(values).all()) else pairs[int(np.argmax(values))]
    return Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=found.error,
        kind="exact" if found.exact else "certified",
        pair=worst,
        model=0,
        assignment={},
        network=network,
    )


def draw_points(values: FloatArray) -> tuple[float, float, float]:
    """Return what half, 95 % and all of the models tell at most, from values of shape (models, pairs).

    Examples
    --------
    >>> draw_points(np.array([[0.1], [0.4], [0.2], [0.3]]))
    (0.2, 0.4, 0.4)
    """
    told = np.sort(np.maximum(values.max(axis=1), 0.0))
    half, most, every = (float(told[math.ceil(share * told.size) - 1]) for share in (0.5, 0.95, 1.0))
    return half, most, every


def frontier(graph: Graph, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
    """Return the members of `columns` that the others do not separate from `protected`, sorted."""
    return graph.frontier(protected, columns)


def _witness(
    network: DiscreteNetwork, pairs: Sequence[SecretPair], values: FloatArray, tables: RatioTables
) -> tuple[SecretPair | None, int, dict[str, State]]:
    """Return the pair, model and assignment that attain the maximum."""
    if bool(np.isneginf(values).all()):
        return None, 0, {}
    model, k = (int(x) for x in np.unravel_index(int(np.argmax(values)), values.shape))
    assignment: dict[str, State] = {}
    for table in tables.tables(pairs[k]) or ():
        ratio = tables.cells(table, pairs[k])
        cell = int(np.argmax(ratio[min(model, ratio.shape[0] - 1)]))
        index = np.unravel_index(cell, table.values.shape[2:])
        for name, position in zip(table.axes[1:], index, strict=True):
            assignment[name] = network.states[name][int(position)]
    return pairs[k], model, assignment
