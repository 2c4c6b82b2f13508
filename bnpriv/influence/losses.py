"""Privacy losses of what columns tell about a secret: the whole law of the log ratio, not its largest value alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.divergences.gaussian import gaussian_excess, gaussian_mu
from bnpriv.errors import SizeError
from bnpriv.influence.ratios import RatioTables
from bnpriv.networks import DiscreteNetwork
from bnpriv.secrets.states import SecretPair

Law = Literal["laplace", "gaussian"]

MOST_LOSSES = 2**20
"""Cells of all pairs and models together whose losses are kept."""

STEPS = 60
"""Halvings of the interval of shifts; the private end is taken."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """The law of the privacy loss, given the first secret, for every model and ordered pair.

    Parameters
    ----------
    ratios : ndarray of shape (models, pairs, cells)
        Upper bounds of log P(cell | first) - log P(cell | second); inf where the second secret rules the cell out.
    masses : ndarray of shape (models, pairs, cells)
        Upper bounds of P(cell | first).
    possible : ndarray of shape (models, pairs)
        False where a secret has probability zero, so that the pair is no constraint.
    """

    ratios: FloatArray
    masses: FloatArray
    possible: NDArray[np.bool_]

    def excess(self, epsilon: float, law: Law = "laplace", shift: FloatArray | float = 0.0) -> FloatArray:
        """Return the hockey-stick divergence at `epsilon` of the cells together with a noisy number.

        Parameters
        ----------
        epsilon : float
        law : {"laplace", "gaussian"}
            The noise of that number.
        shift : float or ndarray of shape (models, pairs)
            By how many scales of the noise the secret moves it; 0 for the cells alone.

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded up; 0 where a pair is no constraint.
        """
        moved = np.broadcast_to(np.asarray(shift, dtype=np.float64), self.possible.shape)[..., np.newaxis]
        left = epsilon - self.ratios
        finite = np.where(np.isfinite(left), left, 0.0)
        level = np.where(np.isfinite(left), finite - 8 * UNIT_ROUNDOFF * (epsilon + np.abs(finite) + moved), left)
        curve = gaussian_excess(moved, level) if law == "gaussian" else laplace_excess(moved, level)
        total = (self.masses * curve).sum(axis=2) * (1 + (self.ratios.shape[2] + 64) * UNIT_ROUNDOFF)
        return np.where(self.possible, np.minimum(total, 1.0), 0.0)

    def shifts(self, epsilon: float, delta: float, law: Law) -> FloatArray:
        """Return the largest shift, in scales of the noise, that keeps every pair (epsilon, delta)-private.

        Parameters
        ----------
        epsilon, delta : float
            Both above 0.
        law : {"laplace", "gaussian"}

        Returns
        -------
        ndarray of shape (models, pairs)
            Rounded down; -inf where the cells alone tell too much, inf where a pair is no constraint.
        """
        low = private_shifts(self.excess, self.possible.shape, epsilon, delta, law)
        if law == "laplace":
            pure = self._pure(epsilon)
            low = np.maximum(low, np.where(pure >= 0, pure, -np.inf))
        return np.where(self.possible, low, np.inf)

    def _pure(self, epsilon: float) -> FloatArray:
        """Return what the largest ratio leaves of epsilon, which needs no delta."""
        return (epsilon - np.maximum(self.ratios.max(axis=2), 0.0)) * (1 - 2.0**-51)


class Excess(Protocol):
    """The hockey-stick divergence of what is told together with a noisy number, as `Losses.excess`."""

    def __call__(self, epsilon: float, law: Law = ..., shift: FloatArray | float = ...) -> FloatArray:
        """Return it for every model and pair."""
        ...


def private_shifts(excess: Excess, shape: tuple[int, ...], epsilon: float, delta: float, law: Law) -> FloatArray:
    """Return the largest shifts whose excess is at most `delta`, rounded down; -inf where there is none."""
    low, high = np.zeros(shape), np.full(shape, largest_shift(epsilon, delta, law))
    for _ in range(STEPS):
        middle = (low + high) / 2
        private = excess(epsilon, law, middle) <= delta
        low, high = np.where(private, middle, low), np.where(private, high, middle)
    return np.where(excess(epsilon, law) <= delta, low, -np.inf)


def largest_shift(epsilon: float, delta: float, law: Law) -> float:
    """Return the shift that is private where the cells tell nothing: no quilt allows a larger one."""
    if law == "gaussian":
        return gaussian_mu(epsilon, delta)
    return (epsilon - 2 * math.log1p(-delta)) * (1 + 8 * UNIT_ROUNDOFF)


def laplace_excess(shift: FloatArray, epsilon: FloatArray) -> FloatArray:
    """Return the privacy curve of Laplace noise of scale 1 moved by `shift`, at levels of either sign.

    Examples
    --------
    >>> laplace_excess(np.array([1.0, 1.0, 0.0]), np.array([0.5, 2.0, -np.inf])).round(6).tolist()
    [0.221199, 0.0, 1.0]
    """
    inside = np.abs(np.expm1(np.minimum((epsilon - shift) / 2, 0.0)))
    return np.where(epsilon <= -shift, np.abs(np.expm1(np.minimum(epsilon, 0.0))), inside)


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
    tables = RatioTables.of(network, protected, tuple(border), pairs)
    rows = [_row(tables, pair, network.models * len(pairs)) for pair in pairs]

    def stacked(part: Callable[[tuple[FloatArray, FloatArray]], FloatArray]) -> FloatArray:
        whole = [np.broadcast_to(part(row), (network.models, part(row).shape[1])) for row in rows]
        return np.stack(whole, axis=1)

    above, below = stacked(lambda row: row[0]), stacked(lambda row: row[1])
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isneginf(above), -np.inf, above - below + tables.error)
    possible = [~(tables.impossible(tables.side(p.first)) | tables.impossible(tables.side(p.second))) for p in pairs]
    return Losses(
        ratios=np.where(np.isneginf(ratios), 0.0, ratios),
        masses=np.where(np.isneginf(above), 0.0, np.exp(above + tables.error + 2.0**-49)),
        possible=np.stack([np.broadcast_to(each, network.models) for each in possible], axis=1),
    )


def loss_cells(network: DiscreteNetwork, border: Iterable[str], pairs: Sequence[SecretPair]) -> int:
    """Return how many cells the losses of a frontier have, of all models and pairs together; 0 if too many to keep."""
    cells = network.models * len(pairs) * math.prod(len(network.states[name]) for name in border)
    return cells if cells <= MOST_LOSSES else 0


def _row(tables: RatioTables, pair: SecretPair, rows: int) -> tuple[FloatArray, FloatArray]:
    """Return log P(cell | first) and log P(cell | second), of shape (models, cells of all parts together)."""
    parts = tables.tables(pair)
    cells = math.prod(math.prod(table.values.shape[2:]) for table in parts or ())
    if parts is None or cells * rows > MOST_LOSSES:
        raise SizeError(
            f"the losses of all pairs and models may have at most {MOST_LOSSES:,} cells",
            found="a larger table" if parts is None else f"{cells * rows:,}",
            remedy="Query fewer columns at once, protect fewer pairs, or ask for delta = 0.",
        )
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
