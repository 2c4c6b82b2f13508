"""What columns tell, estimated from draws at a chance delta, for reports alone (docs/claims/belief.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.influence.base import asked_columns
from bnpriv.core.networks.base import drivers
from bnpriv.core.queries.base import NormalForm
from bnpriv.core.queries.contribution import answers
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.errors import BnprivError, Refusal
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.draws.conditions import inside
from bnpriv.kinds.draws.laws import LEAST_EFFECTIVE, MOST_LEARNED_MODELS
from bnpriv.kinds.draws.parameter_draws import ParameterDraws
from bnpriv.text import number_text

ESTIMATED_CHANCE = 0.05
"""Delta of estimates where none is given: what is rarer shows in too few of the usual thousands of draws."""

MOST_BOUNDED = 3.0
"""Nats up to which upper ends were measured: where more is told, the sets that are found are not the best ones."""

COVERS = 0.95
"""How often the stated interval covers, as measured; each of its ends is wrong half as often as not."""

MOST_SEEN = 6
"""Numbers that may be seen together: of more, the nearest draws are all far away."""

PRIOR_DRAWS, DRAWS_OF_A_MODEL = 10_000, 4_000
"""Draws where there is no posterior, and for each model."""

MOST_ESTIMATED_NUMBERS = 2**24
"""Numbers in the tables that are drawn for an answer."""

FOLDS, DEALT_BLOCKS = 5, 20
"""The draws are cut into blocks in the order of their chains; a fifth of them is compared by the others."""

THRESHOLDS = 20
"""Sets that are tried: the best of more would look better than it is."""

NATS_STEP, MOST_NATS = 0.01, 12.0
"""The values that an estimate may take; no draws that fit into memory tell larger ones."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class EstimatedInfluence:
    """The least epsilon with which what is seen is (epsilon, delta)-indistinguishable under two secrets, from draws.

    It is an estimate: it may be shown, and no noise rests on it.

    Parameters
    ----------
    columns : frozenset of str
        What is seen, together.
    protected : str
    delta : float
        The chance that is left out.
    nats : float
        The largest over pairs, directions and models; nan where the draws do not tell it.
    low, high : float
        The ends of an interval of `COVERS`, in nats, each nan where the draws set none.
    pair : IntervalPair or None
        The pair about which most is told; None where nothing is known.
    draws : float
        Independent ones that those in the rarer secret are worth, at least.
    unknown : Refusal or None
        Why the draws do not tell it.
    """

    columns: frozenset[str]
    protected: str
    delta: float
    nats: float = math.nan
    low: float = math.nan
    high: float = math.nan
    pair: IntervalPair | None = None
    draws: float = 0.0
    unknown: Refusal | None = None

    @property
    def rank(self) -> float:
        """By which several are put in order: what is told, or is told at least; below 0 where nothing is known."""
        known = self.low if math.isnan(self.nats) else self.nats
        return -1.0 if math.isnan(known) else known


def estimated_influence(
    network: DensityNetwork,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    delta: float = ESTIMATED_CHANCE,
    form: NormalForm | None = None,
) -> EstimatedInfluence:
    """What columns, or the answer to a query, tell about a protected parameter, estimated from draws.

    Parameters
    ----------
    network : DensityNetwork
        With draws of a posterior, or drawn forward.
    columns : iterable of str
        Parameters, or functions of them that have draws, which are seen together: at most `MOST_SEEN`.
    protected : str
    pairs : sequence of IntervalPair
    delta : float
        Above 0, below 1.
    form : NormalForm, optional
        Of a query that reads the columns of the table of these names: its answer without noise is seen.

    Returns
    -------
    EstimatedInfluence
        With the reason in `unknown` where the draws do not tell it.

    Raises
    ------
    NetworkError
        If a name is unknown or `protected` is among the columns.

    Notes
    -----
    docs/claims/belief.md, "What columns tell, estimated".
    """
    asked = asked_columns(network, columns, protected) if form is None else frozenset(columns)
    nothing = EstimatedInfluence(columns=asked, protected=protected, delta=delta)
    seen = len(asked) if form is None else len(form.rows)
    if not pairs or seen > MOST_SEEN or network.models > MOST_LEARNED_MODELS:
        return replace(nothing, unknown=_too_much(seen, network.models))
    found = nothing
    try:
        for sample in _samples(network, sorted(asked), protected, form):
            for pair in pairs:
                found = _larger(found, _of_pair(sample, pair, nothing))
    except BnprivError as error:
        return replace(nothing, unknown=Refusal.of(error))
    return found


def _too_much(seen: int, models: int) -> Refusal:
    return Refusal(
        required=f"what is told is estimated for at most {MOST_SEEN} numbers that are seen together, under at most "
        f"{MOST_LEARNED_MODELS} models",
        found=f"{seen} under {models:,}",
        remedy="Ask about fewer columns, or thin the draws.",
    )


def _larger(one: EstimatedInfluence, other: EstimatedInfluence) -> EstimatedInfluence:
    """Return the larger of two; nothing above the known ends is known where one of the two is not."""
    if one.pair is None and one.unknown is None:
        return other
    most = max(one, other, key=lambda each: (each.unknown is not None, each.rank))
    low = max((one.low, other.low), key=lambda end: -1.0 if math.isnan(end) else end)
    draws = min(one.draws, other.draws)
    if most.unknown is not None:
        return replace(most, low=low, draws=draws)
    return replace(most, low=low, high=max(one.high, other.high), draws=draws)


# --------------------------------------------------------------------------------------------------
# The draws: those of a posterior, forward ones, or some under each model.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sample:
    """Joint draws of a secret and of what is seen.

    Parameters
    ----------
    secret : ndarray of shape (draws,)
    seen : ndarray of shape (draws, numbers)
    weights : ndarray of shape (draws,)
    effective : callable
        How many independent draws those in an interval are worth, given which of all they are.
    """

    secret: FloatArray
    seen: FloatArray
    weights: FloatArray
    effective: Callable[[Interval, Flags], float]


def _samples(
    network: DensityNetwork, columns: Sequence[str], protected: str, form: NormalForm | None
) -> Iterator[_Sample]:
    """Yield the draws under every model."""
    records = 1 if form is None else form.schema.records
    most = max(1, MOST_ESTIMATED_NUMBERS // (records * len(columns)))
    drawn, names = network.drawn, (protected, *columns)
    believed = drawn if drawn is not None and drawn.reading == "belief" else None
    for model in range(network.models):
        rows, loose = None, frozenset[str]()
        if believed is not None:
            rows = np.arange(0, believed.draws, -(-believed.draws // most))  # evenly spaced where tables are large
            count = len(rows)
        elif drawn is not None:
            count, loose = min(DRAWS_OF_A_MODEL, most), network.between(protected, frozenset(columns))
            rows = np.full(count, model)
        else:
            count = min(PRIOR_DRAWS, most)
        values: Mapping[str, FloatArray]
        if believed is not None and form is None and believed.values.keys() >= set(names):
            values = believed.values
        else:
            seed = network.sampling.seed
            values = network.simulate(names, count, seed=seed, given={}, records=records, rows=rows, loose=loose)
        weights = None if believed is None or believed.weights is None else believed.weights[rows]
        columns_seen = [values[name] for name in columns]
        yield _Sample(
            secret=values[protected],
            seen=np.stack(columns_seen, axis=1)
            if form is None
            else answers(form, dict(zip(columns, columns_seen, strict=True))).reshape(count, -1),
            weights=np.ones(count) if weights is None else weights,
            effective=partial(_effective, network, believed, names, count),
        )


def _effective(
    network: DensityNetwork,
    believed: ParameterDraws | None,
    names: Sequence[str],
    count: int,
    side: Interval,
    flags: Flags,
) -> float:
    """Return how many independent draws those are worth that lie in a secret."""
    if believed is None:
        return float(np.count_nonzero(flags))
    protected, seen = names[0], drivers(network, names[1:])
    part = min(1.0, count / believed.draws)
    if protected in believed.values:
        return part * believed.effective(protected, side.low, side.high, seen)
    behind = network.graph.ancestral({protected, *seen}).intersection(believed.values)
    share = min([1.0, believed.weight_share, *map(believed.share, behind)])
    return believed.size(np.flatnonzero(flags)) * share


def _of_pair(sample: _Sample, pair: IntervalPair, nothing: EstimatedInfluence) -> EstimatedInfluence:
    sides = (pair.first, pair.second)
    first, second = (inside(side, sample.secret) for side in sides)
    sizes = [sample.effective(side, flags) for side, flags in zip(sides, (first, second), strict=True)]
    rarer, side = min(zip(sizes, sides, strict=True), key=lambda each: each[0])
    made = replace(nothing, pair=pair, draws=rarer)
    if rarer < LEAST_EFFECTIVE:
        return replace(made, unknown=_too_few(nothing.protected, side, rarer, len(sample.secret)))
    kept = first | second
    of_first, weights = first[kept], sample.weights[kept]
    scores = cross_scores(sample.seen[kept], of_first, weights)
    both = [
        _one_way(sign * scores, flags, weights, size, other, nothing.delta)
        for sign, flags, (size, other) in ((1, of_first, sizes), (-1, ~of_first, sizes[::-1]))
    ]
    nats, low, high = (max(ends) for ends in zip(*both, strict=True))
    if math.isinf(high) or nats > MOST_BOUNDED:
        return replace(made, low=low or math.nan, unknown=_unbounded(rarer))
    return replace(made, nats=nats, low=low, high=high)


def _too_few(protected: str, side: Interval, size: float, draws: int) -> Refusal:
    more = f"Take about {math.ceil(draws * LEAST_EFFECTIVE / size):,} draws, or choose" if size else "Choose"
    return Refusal(
        required=f"draws in a secret must be worth {LEAST_EFFECTIVE} independent ones",
        found=f"of {draws:,} draws those with {protected} in {side} are worth {number_text(size)}, where "
        f"{LEAST_EFFECTIVE} are needed",
        remedy=f"{more} a wider interval.",
    )


def _unbounded(size: float) -> Refusal:
    return Refusal(
        required="draws of one secret must be met where those of the other lie, and at most "
        f"{MOST_BOUNDED:g} nats told, to bound what is told",
        found=f"of the {number_text(size)} in the rarer one too few lie where those of the other do",
        remedy="Take more draws, or choose secrets that are closer together.",
    )


# --------------------------------------------------------------------------------------------------
# Which of two secrets a draw speaks for, by the draws nearest to it; and what that tells.
# --------------------------------------------------------------------------------------------------


def cross_scores(seen: FloatArray, first: Flags, weights: FloatArray) -> FloatArray:
    """Return for every draw how much the nearest draws of other blocks speak for the first secret.

    Parameters
    ----------
    seen : ndarray of shape (draws, numbers)
    first : ndarray of bool of shape (draws,)
        Whether the draw has the first secret; otherwise it has the second.
    weights : ndarray of shape (draws,)

    Returns
    -------
    ndarray of shape (draws,)
        The share of the first secret among the 2 sqrt(draws) nearest ones, by normal scores of ranks.

    Examples
    --------
    >>> seen = np.arange(1000.0)[:, np.newaxis]
    >>> scores = cross_scores(np.random.default_rng(0).permutation(seen), np.arange(1000) < 500, np.ones(1000))
    >>> bool(abs(scores.mean() - 0.5) < 0.05)
    True
    """
    from scipy.spatial import cKDTree
    from scipy.special import ndtri
    from scipy.stats import rankdata

    count = len(seen)
    ranks = rankdata(seen, axis=0)
    places, near = ndtri((ranks - 0.5) / count), max(1, round(2 * math.sqrt(count)))
    fold = (np.arange(count) * DEALT_BLOCKS // count) % FOLDS
    found = np.zeros(count)
    for each in range(FOLDS):
        own, others = np.flatnonzero(fold == each), np.flatnonzero(fold != each)
        if seen.shape[1] == 1:  # sums over a window, many times as fast as a tree
            order = others[np.argsort(places[others, 0], kind="stable")]
            left, right = (np.searchsorted(places[order, 0], places[own, 0], side) for side in ("left", "right"))
            middle = (left + right) // 2
            # at an end the window is cut off, not moved: otherwise the farthest draws would look alike
            start, stop = np.maximum(middle - near // 2, 0), np.minimum(middle + near - near // 2, len(order))
            sums = [np.concatenate(([0.0], np.cumsum(values[order]))) for values in (weights * first, weights)]
            told = [total[stop] - total[start] for total in sums]
        else:
            chosen = others[np.asarray(cKDTree(places[others]).query(places[own], near)[1])]
            told = [values[chosen].sum(axis=1) for values in (weights * first, weights)]
        found[own] = told[0] / np.maximum(told[1], np.finfo(float).tiny)
    return found


def _one_way(
    scores: FloatArray, flags: Flags, weights: FloatArray, size: float, other: float, delta: float
) -> tuple[float, float, float]:
    """Return an estimate with the ends of its interval, how much more probable a set may be where `flags` hold.

    Sets hold what scores highest. The upper end is infinite where draws set none.
    """
    order = np.argsort(-scores, kind="stable")
    shares = [np.cumsum(weights[order] * own[order]) / weights[own].sum() for own in (flags, ~flags)]
    # a set ends between two scores; the smallest has just more than delta, as others never count
    last = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    wanted = np.searchsorted(shares[0][last], np.geomspace(delta, 1.0, THRESHOLDS))
    ends = last[np.unique(np.minimum(wanted, len(last) - 1))]
    p, q = (np.minimum(share[ends], 1.0) for share in shares)
    (p_low, p_high), (q_low, q_high) = binomial_limits(p, size), binomial_limits(q, other)
    levels = np.arange(0.0, MOST_NATS, NATS_STEP)
    factors = np.exp(levels)[:, np.newaxis]
    smooth = (q * other + 1) / (other + 1)  # one more draw of the other secret in every set
    excess = p - factors * smooth
    down = p - factors * q - np.hypot(p - p_low, factors * (q_high - q))
    up = p - factors * q + np.hypot(p_high - p, factors * (q - q_low))
    nats, low, high = (_crossing(levels, each.max(axis=1), delta) for each in (excess, down, up))
    return max(nats, low), low, max(nats, high)


def _crossing(levels: FloatArray, excess: FloatArray, delta: float) -> float:
    """Return the first level at which nothing exceeds delta; infinite if there is none."""
    below = np.flatnonzero(excess <= delta)
    return float(levels[below[0]]) if len(below) else math.inf


def binomial_limits(shares: FloatArray, size: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals of Clopper and Pearson for some shares of so many draws.

    Examples
    --------
    >>> low, high = binomial_limits(np.array([0.0, 0.5]), 100)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.398], [0.036, 0.602])
    """
    from scipy.special import betaincinv

    seen, missed, tail = shares * size, (1 - shares) * size, (1 - COVERS) / 2
    tiny = np.finfo(float).tiny
    low = np.where(seen > 0, betaincinv(np.maximum(seen, tiny), missed + 1, tail), 0.0)
    high = np.where(missed > 0, betaincinv(seen + 1, np.maximum(missed, tiny), 1 - tail), 1.0)
    return low, high


MOST_KEPT_ESTIMATES = 1_000
"""Estimates that are kept with a network, so that the next report need not find them again; each is small."""


def reported_influence(
    network: DensityNetwork,
    columns: Iterable[str],
    protected: str,
    pairs: Sequence[IntervalPair],
    delta: float,
    form: NormalForm | None = None,
) -> EstimatedInfluence:
    """The same at a given delta, or at the usual one where it is 0; the network keeps the latest."""
    asked, chance = frozenset(columns), checks.delta(delta) or ESTIMATED_CHANCE
    if form is not None:
        return estimated_influence(network, asked, protected, pairs, chance, form)
    return network.kept.latest(
        "estimated influences",
        (asked, protected, tuple(pairs), chance),
        MOST_KEPT_ESTIMATES,
        lambda: estimated_influence(network, asked, protected, pairs, chance),
    )
