"""What a guarantee becomes when the probabilities of the model are off by a factor.

The proofs are in docs/claims/misspecified.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF, FloatArray, Kind, halved, up, weakest
from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.influence.base import Influence, influence_of
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import Decision, total_beyond_text
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.core.networks.graph import Graph
from bnpriv.core.noise import Laplace, NoNoise
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import NetworkError, ParameterError, Refusal, SizeError
from bnpriv.kind import kind_of
from bnpriv.kinds.interval import interval_bounds
from bnpriv.kinds.sensitivity import SensitiveRow, influence_gradient
from bnpriv.render.document import Document, Names, Paragraph, fact, json_number
from bnpriv.shown import Shown
from bnpriv.text import full_text, name_text, number_text, upper_text

# --------------------------------------------------------------------------------------------------
# Models that are off by a factor: which tables matter then, and the intervals around a model.
#
# docs/claims/misspecified.md has the proofs.
# --------------------------------------------------------------------------------------------------


def counted_tables(network: Network, protected: str, border: Iterable[str], pair: SecretPair) -> Counter[str]:
    """Return how often tables enter P(border | first) : P(border | second), each time in both probabilities.

    Parameters
    ----------
    network : DiscreteNetwork or IntervalNetwork
    protected : str
    border : iterable of str
        What is seen; a frontier.
    pair : SecretPair

    Returns
    -------
    Counter
        Where a table is counted k times, a change of its entries by at most a factor f changes the ratio by at most
        f^(2 k).

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> from bnpriv.core.secrets import all_pairs
    >>> coin, copy = [0.5, 0.5], [[0.7, 0.2], [0.3, 0.8]]
    >>> chain = DiscreteNetwork.from_tables(
    ...     {"a": coin, "b": copy, "c": copy},
    ...     states={name: ["x", "y"] for name in "abc"},
    ...     parents={"b": ["a"], "c": ["b"]},
    ... )
    >>> pair = all_pairs(["x", "y"])[0]
    >>> sorted(counted_tables(chain, "a", ["c"], pair).items()), sorted(counted_tables(chain, "c", ["b"], pair).items())
    ([('b', 1), ('c', 1)], [('a', 1), ('b', 1), ('c', 2)])
    """
    graph, seen = network.graph, frozenset(border)
    if not seen:
        return Counter()
    above = graph.ancestral((protected,))
    inside = graph.ancestral((*seen, protected))
    # whether something seen is connected with a parent of the protected attribute without passing it
    parents = frozenset(graph.parents[protected])
    upper = any(part & parents and part & seen for part in graph.parts(seen, protected))
    chosen = not pair.is_point
    start = {child for child in graph.children[protected] if child in inside}
    if upper or chosen:
        start.add(protected)
    entered = _connected(graph, inside, seen | {protected}, start)
    count = Counter(entered)
    if chosen or upper:
        count.update(above)
    kind = kind_of(network)
    return Counter({name: times for name, times in count.items() if not kind.is_deterministic(network, name)})


def _connected(graph: Graph, inside: frozenset[str], known: frozenset[str], start: set[str]) -> set[str]:
    """Return the attributes whose tables share an unknown attribute, directly or in turn, with those of `start`."""
    entered, todo = set(start), list(start)
    while todo:
        name = todo.pop()
        hidden = {name, *graph.parents[name]} - known
        touching = {other for other in inside if hidden.intersection((other, *graph.parents[other]))}
        todo.extend(touching - entered)
        entered |= touching
    return entered


def within_factor(network: Network, factor: float, model: int = 0) -> IntervalNetwork:
    """Return all networks whose probabilities are within a factor of those of one model; zeros stay zero.

    Raises
    ------
    NetworkError
        If the network has no tables of probabilities.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> coin = DiscreteNetwork.from_tables({"coin": [0.25, 0.75]}, states={"coin": [0, 1]})
    >>> within_factor(coin, 1.5).upper["coin"].round(6).tolist()
    [0.375, 0.833333]
    """
    tables = kind_of(network).table_ends(network, model)
    if tables is None:
        raise NetworkError("tables of probabilities are needed", found=network.kind_text, remedy="Declare them.")
    low, high, missing = tables
    wide = factor * (1 + 8 * UNIT_ROUNDOFF) if factor > 1 else factor
    found = IntervalNetwork.of(
        {name: table / wide for name, table in low.items()},
        {name: np.minimum(table * wide, 1.0) for name, table in high.items()},
        states=network.states,
        parents=network.graph.parents,
        level=network.level,
    )
    return replace(found, missing=missing)


# --------------------------------------------------------------------------------------------------
# What a guarantee becomes when the probabilities of the model are off by a factor.
#
# docs/claims/misspecified.md has the proofs.
# --------------------------------------------------------------------------------------------------

MOST_NEAR_SETS = 2**8
"""Near sets that are tried; beyond that only those of the decisions and the whole query."""

MOST_BOUNDS = 16
"""Models times near sets for which the intervals around the model are looked at, not the counts alone.

Beyond it only the near set of the decision is looked at in this way.
"""

MOST_NETWORK_CELLS = 10_000
"""Cells of all tables of the network for which they are looked at."""

MOST_FACTOR_COMBINATIONS = 2**18
"""Combinations of vertices that are tried for epsilon at one factor."""

MOST_WHILE_DOUBLING = 2**14
"""The same for each of the many factors that are tried in search of the one that doubles it."""

FACTOR_HALVINGS = 8
"""Halvings of the interval of log factors in which epsilon doubles; the lower end is taken."""

STEPS_BY_COUNTS = 50
"""The same where only counts are looked at, which takes no time."""

LARGEST_FACTOR = 1e6
"""Factors beyond it are not told apart from it."""

LEAST_LOG_FACTOR = 1e-3
"""Where the search for the doubling factor starts, if counts say nothing."""


MOST_NAMED_ROWS = 3
"""Rows of the tables that are named for each protected attribute."""


@dataclass(frozen=True, kw_only=True)
class Misspecified(Shown):
    """The guarantee of a calibration when every probability of the model may be off by a factor.

    Parameters
    ----------
    factor : float
        By how much at most; zeros stay zero, and columns still sum to one.
    epsilon : float
        What then holds, an upper bound; infinite when nothing does.
    asked : float
        The epsilon of the calibration.
    doubling_factor : float
        A factor up to which epsilon is at most twice what was asked for; infinite when that holds for every factor.
    counted : mapping from str to tuple of str
        For every protected attribute the attributes whose tables matter for what decides; a table that enters the log
        ratio of two probabilities twice is there twice.
    kind : {"exact", "certified", "estimate"}
        How well epsilon is known: "certified" for an upper bound, "exact" where the model does not matter.
    sensitive : mapping from str to tuple of SensitiveRow
        For every protected attribute the rows of the tables on which what decides hangs most, where that is known: by
        how much each moves it for every nat by which it is off. Estimates; epsilon does not rest on them.
    beyond_text : str
        A sentence on models that were left out, if any is known to be.
    """

    factor: float
    epsilon: float
    asked: float
    doubling_factor: float
    counted: Mapping[str, tuple[str, ...]]
    kind: Kind
    sensitive: Mapping[str, tuple[SensitiveRow, ...]] = field(default_factory=dict[str, tuple[SensitiveRow, ...]])
    beyond_text: str = ""

    @property
    def document(self) -> Document:
        """Return what is still guaranteed, and which tables matter."""
        most = f"epsilon is at most {upper_text(self.epsilon)}"
        held = "nothing is guaranteed" if math.isinf(self.epsilon) else most
        return Document(
            kind="misspecified model",
            headline=(
                f"If every probability of the model may be off by a factor {self.factor:g}, {held} "
                f"({number_text(self.asked)} was asked for)"
            ),
            lead=self._doubling,
            short=(
                self._doubling,
                *(
                    (f"Tables that matter for {name_text(name)}: ", Names(found))
                    for name, found in self.counted.items()
                ),
                self.beyond_text,
                "Next: .explain() names the rows on which most hangs; bp.check_model(network, public) tests them.",
            ),
            number=upper_text(self.epsilon),
            facts=(
                *(
                    fact(f"Tables that matter for {name_text(name)}", (Names(counted),))
                    for name, counted in self.counted.items()
                ),
                *(
                    fact(f"Rows that matter most for {name_text(name)}", *(row.sentence for row in rows))
                    for name, rows in self.sensitive.items()
                    if rows
                ),
            ),
            answer=(Paragraph(self.beyond_text),) if self.beyond_text else (),
            data={
                "factor": self.factor,
                "epsilon": json_number(self.epsilon),
                "asked": self.asked,
                "doubling_factor": json_number(self.doubling_factor),
                "tables": [{"protected": name, "attributes": list(found)} for name, found in self.counted.items()],
                "rows": [
                    {"protected": name, "attribute": row.attribute, "row": str(row), "nats": row.nats}
                    for name, rows in self.sensitive.items()
                    for row in rows
                ],
                "kind": self.kind,
            },
        )

    @property
    def _doubling(self) -> str:
        if math.isinf(self.doubling_factor):
            return "No factor makes it more than twice what was asked for."
        shown = math.floor(self.doubling_factor * 1000) / 1000
        return f"It is at most twice what was asked for up to a factor {shown:g}."


def misspecified(calibration: Calibration, factor: float) -> Misspecified:
    """Return what a calibration guarantees when probabilities are off by `factor`; see `Calibration.misspecified`."""
    factor = checks.number("factor", factor, remedy="Pass a factor such as 1.2.")
    if factor < 1:
        raise ParameterError("a factor must be at least 1", found=f"{factor:g}", remedy="Pass for example 1.2.")
    guarantee, certificate = calibration.guarantee, calibration.certificate
    if not calibration.mechanism.needs_model:
        # the noise asks for no model, but what a baseline tells of the secrets may be bounded by one
        epsilon = guarantee.epsilon if guarantee.without_model is None else guarantee.without_model
        return Misspecified(
            factor=factor,
            epsilon=epsilon,
            asked=guarantee.epsilon,
            doubling_factor=math.inf if epsilon <= 2 * guarantee.epsilon else 1.0,
            counted={},
            kind=certificate.kind,
        )
    by_attribute = {name: tuple(found) for name, found in _candidates(calibration)}
    worst = {name: _decisive(found, factor) for name, found in by_attribute.items()}
    return Misspecified(
        factor=factor,
        epsilon=max(_epsilon(found, factor) for found in by_attribute.values()),
        asked=guarantee.epsilon,
        doubling_factor=_doubling(tuple(by_attribute.values()), 2 * guarantee.epsilon),
        counted={
            name: tuple(sorted(each[0].counts[each[1]].elements()) if each else ()) for name, each in worst.items()
        },
        sensitive={name: _rows_of(*best) if best else () for name, best in worst.items()},
        kind=weakest(("certified", certificate.kind)),
        beyond_text=total_beyond_text(calibration.framework),
    )


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """A near set for one protected attribute: what the other columns tell, and what the noise leaves of the near ones.

    `counts` says for every pair which tables enter, and how often; `by_intervals` whether to look at the intervals
    around each model too.
    """

    influence: Influence
    spent: float
    counts: tuple[Counter[str], ...]
    by_intervals: bool

    @property
    def weights(self) -> FloatArray:
        """Return how many tables enter for every pair."""
        return np.array([float(count.total()) for count in self.counts])

    def cost(self, factor: float, most: int) -> FloatArray:
        """Return an upper bound of what is told and spent, of shape (models, pairs); -inf for no constraint.

        At most `most` combinations of vertices are tried; with 0 the counts alone are looked at.
        """
        told = self.influence.values + 2 * self.weights * up(math.log(factor))
        if most and self.by_intervals and factor > 1 and bool(self.weights.any()):
            told = np.minimum(told, _around(self.influence, factor, most))
        return (told + self.spent) * (1 + 8 * UNIT_ROUNDOFF)


def _candidates(calibration: Calibration) -> Iterator[tuple[str, Iterator[_Candidate]]]:
    """Yield the near sets of every protected attribute."""
    framework, decisions = calibration.framework, calibration.certificate.decisions
    by_quilts = [decision for decision in decisions if isinstance(decision, Decision)]
    refusal = _refusal(calibration, by_quilts)
    if refusal is not None:
        raise refusal.error()
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    if kind_of(evidence.network).table_ends(evidence.network, 0) is None:
        raise Refusal(
            required="what a factor does is worked out for attributes with finitely many states, each with a "
            "probability",
            found=evidence.network.kind_text,
            remedy="Declare a wider model class and calibrate again.",
        ).error()
    for decision in by_quilts:
        yield decision.protected, _of_attribute(calibration, evidence, decision)


def _refusal(calibration: Calibration, decisions: list[Decision]) -> Refusal | None:
    if not decisions:
        return Refusal(
            required="what a factor does is worked out for Markov quilts and for noise that needs no model",
            found="a guarantee that rests on something else",
            remedy="Calibrate MarkovQuiltMechanism, or declare a wider model class and calibrate again.",
        )
    if calibration.delta == 0 and isinstance(calibration.noise, (Laplace, NoNoise)):
        return None
    noise = "no noise" if isinstance(calibration.noise, NoNoise) else f"{type(calibration.noise).__name__} noise"
    return Refusal(
        required="what a factor does is worked out for Laplace noise and delta 0",
        found=f"{noise} with delta {full_text(calibration.delta)}",
        remedy="Calibrate with delta=0, or declare a wider model class and calibrate again.",
    )


def _of_attribute(calibration: Calibration, evidence: Influences, decision: Decision) -> Iterator[_Candidate]:
    name, query, network = decision.protected, calibration.query, evidence.network
    sets = list(_near_sets(evidence, query.columns, decision))
    axes = ((each, *network.graph.parents[each]) for each in network.attributes)
    small = sum(math.prod(len(network.states[axis]) for axis in each) for each in axes) <= MOST_NETWORK_CELLS
    # where there are too many sets, the one of the decision is worth the most
    close = sets if network.models * len(sets) <= MOST_BOUNDS else [decision.queried_near]
    close = close if small and network.models * len(close) <= MOST_BOUNDS else []
    for near in sets:
        moved = evidence.sensitivity(calibration.weighted_query, near, 1).upper
        if moved > 0 and calibration.scale == 0:
            continue  # without noise nothing hides a change of these columns
        try:
            influence = evidence.influence(query.columns - near, name)
        except SizeError:
            continue
        counts = tuple(_counted(network, name, influence.frontier, cast(SecretPair, p)) for p in influence.pairs)
        spent = up(moved / calibration.scale) if moved else 0.0
        yield _Candidate(influence=influence, spent=spent, counts=counts, by_intervals=near in close)


def _counted(network: Network, name: str, border: tuple[str, ...], pair: SecretPair) -> Counter[str]:
    """How often tables enter at most, over the graphs of the models."""
    found = Counter[str]()
    for part in cast(DiscreteNetwork, network).parts:
        found |= counted_tables(part, name, part.graph.frontier(name, border), pair)
    return found


def _near_sets(evidence: Influences, columns: frozenset[str], decision: Decision) -> Iterator[frozenset[str]]:
    """Yield near sets; any of them gives an upper bound."""
    start = evidence.driven(columns, decision.protected)
    free = sorted(evidence.modelled(columns) - start)
    if 2 ** len(free) > MOST_NEAR_SETS:
        yield from dict.fromkeys((decision.queried_near, columns))
        return
    for chosen in chain.from_iterable(combinations(free, size) for size in range(len(free) + 1)):
        yield start.union(chosen)


def _around(influence: Influence, factor: float, most: int) -> FloatArray:
    """Return bounds of the influence over all networks within the factor of each model."""
    network, pairs = influence.network, cast("tuple[SecretPair, ...]", influence.pairs)
    rows: list[FloatArray] = []
    for model in range(network.models):
        part, index = cast(DiscreteNetwork, network).of_model(model)
        found = interval_bounds(
            within_factor(part, factor, index),
            influence.protected,
            influence.frontier,
            pairs,
            most_combinations=most,
        )
        rows.append(np.maximum(found.values + found.error, np.where(np.isneginf(found.values), -np.inf, 0.0)))
    return np.stack(rows)


def _epsilon(candidates: tuple[_Candidate, ...], factor: float, most: int = MOST_FACTOR_COMBINATIONS) -> float:
    if not candidates:
        return math.inf
    # near sets may differ between models and pairs
    return max(0.0, float(np.minimum.reduce([each.cost(factor, most) for each in candidates]).max()))


def _decisive(candidates: tuple[_Candidate, ...], factor: float) -> tuple[_Candidate, int] | None:
    """Return the near set that is best for the pair that costs most, and the place of that pair."""
    if not candidates:
        return None
    costs = np.stack([candidate.cost(factor, MOST_FACTOR_COMBINATIONS) for candidate in candidates])
    worst = np.unravel_index(int(np.argmax(costs.min(axis=0))), costs.shape[1:])
    best = int(np.argmin(costs[:, worst[0], worst[1]]))
    return candidates[best], int(worst[1])


def _rows_of(candidate: _Candidate, pair: int) -> tuple[SensitiveRow, ...]:
    """Return the rows that matter most for one pair; none where that is not known."""
    asked = candidate.influence
    alone = influence_of(asked.network, asked.frontier, asked.protected, (asked.pairs[pair],))
    found = influence_gradient(alone)
    return () if isinstance(found, Refusal) else found.largest(MOST_NAMED_ROWS)


def _doubling(attributes: tuple[tuple[_Candidate, ...], ...], most: float) -> float:
    """Return a factor up to which epsilon is at most `most`."""
    if all(_holds_always(candidates, most) for candidates in attributes):
        return math.inf

    def holds(log_factor: float, combinations: int = MOST_WHILE_DOUBLING) -> bool:
        return all(_epsilon(found, math.exp(log_factor), combinations) <= most for found in attributes)

    top = math.log(LARGEST_FACTOR)
    low = _largest(lambda log_factor: holds(log_factor, 0), 0.0, top, STEPS_BY_COUNTS)
    high = 2 * max(low, LEAST_LOG_FACTOR)
    while high < top and holds(high):
        low, high = high, 2 * high
    return math.exp(_largest(holds, low, min(high, top), FACTOR_HALVINGS))


def _largest(holds: Callable[[float], bool], low: float, high: float, steps: int) -> float:
    """Return a number for which something holds that holds for `low`, close to where it ends."""
    return high if holds(high) else halved(low, high, lambda factor: not holds(factor), steps)[0]


def _holds_always(candidates: tuple[_Candidate, ...], most: float) -> bool:
    """Whether near sets for which no table matters keep epsilon at most `most`."""
    told = [(each.influence.values, each.weights == 0, each.spent) for each in candidates]
    unmoved = [np.where(untouched | np.isneginf(nats), nats + spent, np.inf) for nats, untouched, spent in told]
    return bool(candidates) and bool(np.all(np.minimum.reduce(unmoved) <= most))
