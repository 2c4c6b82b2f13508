"""The influence in a network of tables, with the assignment that attains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.core.columns import State
from bnpriv.core.distributions import log_sum_exp
from bnpriv.core.influence import base
from bnpriv.core.influence.base import MOST_LOSSES, Losses
from bnpriv.core.influence.largest_ratio import MOST_ASSIGNMENT_WORK
from bnpriv.core.influence.ratios import (
    MOST_SEPARATOR_WORK,
    RatioTables,
    independent_parts,
    joint_law,
    joint_size,
    numbered,
)
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import MOST_ELIMINATION_CELLS, LogTable, elimination, marginal
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import SizeError
from bnpriv.services import service
from bnpriv.text import rough_text

# --------------------------------------------------------------------------------------------------
# Lower bounds on influences, from one assignment that tells much: cheap where tables are large.
# --------------------------------------------------------------------------------------------------

MOST_WITNESS_CELLS = 2**18
"""The most cells of all tables for the probability of one assignment."""

MOST_SWEEPS = 3
"""Number of passes in which every column is optimized again."""

AtLeast = Callable[[Iterable[str]], float]
"""Maps attributes to a lower bound on what they tell, in nats."""


def lower_bound(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, columns: Iterable[str]
) -> AtLeast:
    """Lower bounds on what subsets of some columns tell about one pair, under one model.

    Parameters
    ----------
    network : DiscreteNetwork
    protected : str
    pair : SecretPair
    model : int
    columns : iterable of str

    Returns
    -------
    callable
        From a subset of the columns to a lower bound of its influence, rounded down.
    """
    asked = network.graph.frontier(protected, columns)
    chosen: dict[str, int] = {}
    for name in asked:  # every column by itself
        ratios = _ratios(network, protected, pair, model, {}, name)
        if ratios is not None:
            chosen[name] = int(np.argmax(ratios))
    # coordinate ascent: any assignment gives a lower bound, so a local optimum is good enough
    for _ in range(MOST_SWEEPS if len(chosen) > 1 else 0):
        before = dict(chosen)
        for name in chosen:
            rest = {other: state for other, state in chosen.items() if other != name}
            ratios = _ratios(network, protected, pair, model, rest, name)
            if ratios is not None:
                chosen[name] = int(np.argmax(ratios))
        if chosen == before:
            break

    def told(some: Iterable[str]) -> float:
        seen = {name: chosen[name] for name in sorted(some) if name in chosen}
        if not seen:
            return 0.0
        name = next(iter(seen))
        ratios = _ratios(network, protected, pair, model, {k: v for k, v in seen.items() if k != name}, name)
        return 0.0 if ratios is None else max(0.0, float(ratios[seen[name]]))

    return told


def _ratios(
    network: DiscreteNetwork, protected: str, pair: SecretPair, model: int, given: Mapping[str, int], name: str
) -> FloatArray | None:
    """Lower bounds on the log ratios of an assignment with each state of one more column; None if unknown."""
    needed = network.graph.ancestral((protected, name, *given))
    pool = [_read(network.tables[each], model, given) for each in network.attributes if each in needed]
    keep = (protected, name)
    if elimination(pool, keep)[1].work > MOST_WITNESS_CELLS:
        return None
    table, prior = marginal(pool, keep), joint_law(network, (protected,))
    sides = [
        [k for k, state in enumerate(network.states[protected]) if state in side] for side in (pair.first, pair.second)
    ]
    row = prior.values[min(model, prior.values.shape[0] - 1)]
    if any(float(np.max(row[side])) == -np.inf for side in sides):
        return None  # the pair is no constraint
    above, below = (log_sum_exp(table.values[0][side], 0) - log_sum_exp(row[side], 0) for side in sides)
    finite = np.abs(table.values[np.isfinite(table.values)]).max(initial=1.0)
    # subtracted, not added: here the bound must not be too high
    error = 2 * (table.error + prior.error) + UNIT_ROUNDOFF * (16 * float(finite) + 8 * len(row) + 64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(above), -np.inf, above - below - error)


def _read(table: LogTable, model: int, given: Mapping[str, int]) -> LogTable:
    """The table of one model at given states."""
    values = table.values[min(model, table.values.shape[0] - 1)]
    index = tuple(given.get(axis, slice(None)) for axis in table.axes)
    axes = tuple(axis for axis in table.axes if axis not in given)
    return LogTable(axes=axes, values=np.asarray(values[index])[np.newaxis], error=table.error)


def influence_losses(influence: base.Influence) -> Losses:
    """The privacy losses of every model and ordered pair; small tables are taken from the influence.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    network, pairs = cast(DiscreteNetwork, influence.network), cast("tuple[SecretPair, ...]", influence.pairs)
    if influence.details is None:
        return losses_of(network, influence.frontier, influence.protected, pairs)
    return losses_from(influence.details, pairs, network.models)


def explain_tables(influence: base.Influence) -> str:
    """The most telling assignment in words: its probabilities, the open paths, and the table rows."""
    if influence.pair is None or not influence.assignment:
        return base.bound_text(influence)
    network, pair = cast(DiscreteNetwork, influence.network), cast(SecretPair, influence.pair)
    return service("influence.explanation")(network, influence.protected, pair, influence.model, influence.assignment)


def finite_influence(
    network: DiscreteNetwork,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[SecretPair],
    *,
    most_work: int = MOST_ELIMINATION_CELLS,
) -> base.Influence:
    """The influence for ordered `pairs`, from tables of at most `most_work` cells each; see `max_influence`."""
    asked = base.asked_columns(network, columns, protected)
    # only the frontier counts: given it, the other columns are independent of the protected attribute
    border = network.graph.frontier(protected, asked)
    tables = RatioTables.of(network, protected, border, pairs, most_work)
    values = np.broadcast_to(tables.ratios(pairs), (network.models, len(pairs)))
    # rounded up by the error of all sums; never below 0, which the largest log ratio of two laws cannot be; an infinite
    # ratio comes from a declared zero, and is exact
    if border:
        values = np.where(np.isfinite(values), np.maximum(values + tables.error, 0.0), values)
    values.flags.writeable = False
    pair, model, assignment = _witness(network, pairs, values, tables)
    exact = tables.is_exact(pairs)
    kept = tables if exact and loss_cells(network, border, pairs) else None
    return base.Influence(
        columns=asked,
        protected=protected,
        frontier=border,
        pairs=tuple(pairs),
        values=values,
        error=tables.error if border else 0.0,
        kind="exact" if exact else "certified",
        pair=pair,
        model=model,
        assignment=assignment,
        network=network,
        details=kept,
        how="exact" if exact else "a bound: a table would be too large",
        too_large=tables.too_large,
    )


def influence_work(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair]
) -> tuple[int, int]:
    """The cells that the tables of an influence take, and the number of its losses (0 where these are not kept)."""
    return influence_cells(network, border, protected, pairs), loss_cells(network, border, pairs)


def budgeted_influence(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair], most_work: int
) -> tuple[base.Influence, int]:
    """An influence from tables of at most `most_work` cells each, and the cells that they have."""
    cells = influence_cells(network, border, protected, pairs, most_work)
    return finite_influence(network, border, protected, pairs, most_work=most_work), cells


def influence_cells(
    network: DiscreteNetwork,
    border: tuple[str, ...],
    protected: str,
    pairs: Sequence[SecretPair],
    most_work: int = MOST_ELIMINATION_CELLS,
) -> int:
    """The cells of the tables behind the influence of a frontier, those of their ratios included.

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
            total += min(MOST_ASSIGNMENT_WORK, most_work) + min(MOST_SEPARATOR_WORK, most_work)
    return total


def _witness(
    network: DiscreteNetwork, pairs: Sequence[SecretPair], values: FloatArray, tables: RatioTables
) -> tuple[SecretPair | None, int, dict[str, State]]:
    """The pair, model and assignment that attain the maximum."""
    if bool(np.isneginf(values).all()):
        return None, 0, {}
    model, k = base.worst_place(values)
    found = tables.assignment(pairs[k], model)
    assignment = {name: network.states[name][place] for name, place in found.items()}
    return pairs[k], model, assignment


def losses_of(network: DiscreteNetwork, border: Iterable[str], protected: str, pairs: Sequence[SecretPair]) -> Losses:
    """The privacy losses of a frontier for ordered `pairs`.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells, or a table would pass the limit.

    Notes
    -----
    Given a single secret state the parts of the frontier are independent, so that masses multiply and log ratios add.

    Examples
    --------
    >>> from bnpriv.core.secrets import all_pairs
    >>> network = DiscreteNetwork.from_tables(
    ...     {"income": [0.5, 0.5], "sat": [[1.0, 0.9], [0.0, 0.1]]},
    ...     states={"income": ["low", "high"], "sat": ["low", "high"]},
    ...     parents={"sat": ["income"]},
    ... )
    >>> losses_of(network, ("sat",), "income", all_pairs(["low", "high"])).excess(0.2).round(6).tolist()
    [[0.0, 0.1]]
    """
    names = tuple(border)
    if not loss_cells(network, names, pairs):
        raise _too_many(rough_text(_cells(network, names, pairs)))
    return losses_from(RatioTables.of(network, protected, names, pairs), pairs, network.models)


def losses_from(tables: RatioTables, pairs: Sequence[SecretPair], models: int) -> Losses:
    """The privacy losses of a frontier for ordered `pairs`, from its tables.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    sides, first, second = numbered(pairs)
    found = [_law(tables, secret, point, models * len(pairs)) for secret, point in sides]
    laws = np.stack([np.broadcast_to(law, (models, law.shape[1])) for law in found], axis=1)
    # ratios and masses are both rounded up, since a larger loss or a larger mass only raises the divergence
    masses = np.where(np.isneginf(laws), 0.0, np.exp(laws + tables.error + 2.0**-49))
    with np.errstate(invalid="ignore"):
        ratios = laws[:, first] - laws[:, second] + tables.error
    ratios[np.isneginf(laws)[:, first]] = 0.0
    return Losses(
        ratios=ratios,
        masses=masses[:, first],
        possible=np.broadcast_to(tables.possible(pairs), (models, len(pairs))),
    )


def loss_cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    """The cells of the losses of a frontier over all models and pairs; 0 if they are too many to keep."""
    cells = _cells(network, border, pairs)
    return cells if cells <= MOST_LOSSES else 0


def _cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    return network.models * len(pairs) * math.prod(len(network.states[name]) for name in border)


def _too_many(found: str) -> SizeError:
    return SizeError(
        f"the losses of all pairs and models may have at most {rough_text(MOST_LOSSES)} cells",
        found=found,
        remedy="Query fewer columns at once, protect fewer pairs, or ask for delta = 0.",
    )


def _law(tables: RatioTables, secret: frozenset[State], point: bool, rows: int) -> FloatArray:
    """The logs of P(cell | secret), of shape (models, cells of all parts together)."""
    parts = tables.tables(point)
    cells = math.prod(math.prod(table.values.shape[2:]) for table in parts or ())
    if parts is None or cells * rows > MOST_LOSSES:
        raise _too_many("a larger table" if parts is None else rough_text(cells * rows))
    law = np.zeros((1, 1))
    for table in parts:
        flat = table.values.reshape(*table.values.shape[:2], -1)
        law = _outer(law, tables.given(flat, tables.side(secret)))
    return law


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """The sums over all pairs of cells of two tables of shape (models, cells)."""
    both = left[:, :, np.newaxis] + right[:, np.newaxis, :]
    return both.reshape(both.shape[0], -1)
