"""The influence in a network of tables, with the witness that attains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import SizeError
from bnpriv.influence.base import Influence, asked_columns, bound_text, worst_place
from bnpriv.influence.elimination import joint_size
from bnpriv.influence.largest_ratio import MOST_ASSIGNMENT_WORK
from bnpriv.influence.losses import MOST_LOSSES, Losses
from bnpriv.influence.ratios import MOST_SEPARATOR_WORK, RatioTables, independent_parts
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import MOST_ELIMINATION_CELLS
from bnpriv.render.text import rough_text
from bnpriv.secrets.states import SecretPair
from bnpriv.services import service
from bnpriv.tables.schema import State


def influence_losses(influence: Influence) -> Losses:
    """The privacy losses of every model and ordered pair; tables that were small enough are kept with the influence.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    network, pairs = cast(DiscreteNetwork, influence.network), cast("tuple[SecretPair, ...]", influence.pairs)
    if influence.details is None:
        return losses_of(network, influence.frontier, influence.protected, pairs)
    return losses_from(influence.details, pairs, network.models)


def explain_tables(influence: Influence) -> str:
    """The assignment that tells most: probabilities, open paths, and the rows of the tables."""
    if influence.pair is None or not influence.assignment:
        return bound_text(influence)
    network, pair = cast(DiscreteNetwork, influence.network), cast(SecretPair, influence.pair)
    return service("influence.explanation")(network, influence.protected, pair, influence.model, influence.assignment)


def finite_influence(
    network: DiscreteNetwork,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[SecretPair],
    *,
    most_work: int = MOST_ELIMINATION_CELLS,
) -> Influence:
    """Return the influence for ordered `pairs`, from tables of at most `most_work` cells each; see `max_influence`."""
    asked = asked_columns(network, columns, protected)
    border = network.graph.frontier(protected, asked)
    tables = RatioTables.of(network, protected, border, pairs, most_work)
    values = np.stack([np.broadcast_to(tables.ratios(pair), network.models) for pair in pairs], axis=1)
    if border:
        values = np.where(np.isfinite(values), np.maximum(values + tables.error, 0.0), values)
    values.flags.writeable = False
    pair, model, assignment = _witness(network, pairs, values, tables)
    exact = tables.is_exact(pairs)
    kept = tables if exact and loss_cells(network, border, pairs) else None
    return Influence(
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
    """How many cells the tables of an influence take, and how many losses it has; 0 where they are not kept."""
    return influence_cells(network, border, protected, pairs), loss_cells(network, border, pairs)


def budgeted_influence(
    network: DiscreteNetwork, border: tuple[str, ...], protected: str, pairs: Sequence[SecretPair], most_work: int
) -> tuple[Influence, int]:
    """An influence from tables of at most `most_work` cells each, and how many cells they have."""
    cells = influence_cells(network, border, protected, pairs, most_work)
    return finite_influence(network, border, protected, pairs, most_work=most_work), cells


def influence_cells(
    network: DiscreteNetwork,
    border: tuple[str, ...],
    protected: str,
    pairs: Sequence[SecretPair],
    most_work: int = MOST_ELIMINATION_CELLS,
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
            total += min(MOST_ASSIGNMENT_WORK, most_work) + min(MOST_SEPARATOR_WORK, most_work)
    return total


def _witness(
    network: DiscreteNetwork, pairs: Sequence[SecretPair], values: FloatArray, tables: RatioTables
) -> tuple[SecretPair | None, int, dict[str, State]]:
    """Return the pair, model and assignment that attain the maximum."""
    if bool(np.isneginf(values).all()):
        return None, 0, {}
    model, k = worst_place(values)
    found = tables.assignment(pairs[k], model)
    assignment = {name: network.states[name][place] for name, place in found.items()}
    return pairs[k], model, assignment


def losses_of(network: DiscreteNetwork, border: Iterable[str], protected: str, pairs: Sequence[SecretPair]) -> Losses:
    """Return the losses of a frontier for ordered `pairs`.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells, or a table would pass the limit.

    Notes
    -----
    Given a single secret state the parts of the frontier are independent, so that masses multiply and log ratios add.

    Examples
    --------
    >>> from bnpriv.secrets.states import all_pairs
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
    """Return the losses of a frontier for ordered `pairs` from its tables.

    Raises
    ------
    SizeError
        If there would be more than `MOST_LOSSES` cells.
    """
    rows = [_row(tables, pair, models * len(pairs)) for pair in pairs]

    def stacked(part: Callable[[tuple[FloatArray, FloatArray]], FloatArray]) -> FloatArray:
        whole = [np.broadcast_to(part(row), (models, part(row).shape[1])) for row in rows]
        return np.stack(whole, axis=1)

    above, below = stacked(lambda row: row[0]), stacked(lambda row: row[1])
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isneginf(above), -np.inf, above - below + tables.error)
    possible = [~(tables.impossible(tables.side(p.first)) | tables.impossible(tables.side(p.second))) for p in pairs]
    return Losses(
        ratios=np.where(np.isneginf(ratios), 0.0, ratios),
        masses=np.where(np.isneginf(above), 0.0, np.exp(above + tables.error + 2.0**-49)),
        possible=np.stack([np.broadcast_to(each, models) for each in possible], axis=1),
    )


def loss_cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    """Return how many cells the losses of a frontier have, of all models and pairs together; 0 if too many to keep."""
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


def _row(tables: RatioTables, pair: SecretPair, rows: int) -> tuple[FloatArray, FloatArray]:
    """Return log P(cell | first) and log P(cell | second), of shape (models, cells of all parts together)."""
    parts = tables.tables(pair)
    cells = math.prod(math.prod(table.values.shape[2:]) for table in parts or ())
    if parts is None or cells * rows > MOST_LOSSES:
        raise _too_many("a larger table" if parts is None else rough_text(cells * rows))
    above = below = np.zeros((1, 1))
    for table in parts:
        flat = table.values.reshape(*table.values.shape[:2], -1)
        above = _outer(above, tables.given(flat, tables.side(pair.first)))
        below = _outer(below, tables.given(flat, tables.side(pair.second)))
    return above, below


def _outer(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the sums of all cells of two tables of shape (models, cells)."""
    both = left[:, :, np.newaxis] + right[:, np.newaxis, :]
    return both.reshape(both.shape[0], -1)
