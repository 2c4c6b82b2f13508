"""Does public data contradict the model? Every row of every table tested."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray, IntArray
from bnpriv.core.columns import State
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.base import Network
from bnpriv.core.networks.discrete import DiscreteNetwork, require_discrete
from bnpriv.errors import DataError, ParameterError
from bnpriv.kinds.public_records import PublicRecords, state_places
from bnpriv.progress import progress, tracked
from bnpriv.render.document import Document, Paragraph, Table
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.text import chance_text, nats_text, number_text, percent_text
from bnpriv.views.words import edge_shares

if TYPE_CHECKING:
    import narwhals as nw
    import pandas as pd
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# How well counts fit a law: p-values that hold their level for small counts and far out in the tails.
# --------------------------------------------------------------------------------------------------

MOST_OUTCOMES = 20_000
"""Outcomes that the exact multinomial test enumerates."""

LEAST_EXPECTED = 5.0
"""Expected count from which on a state is tested by chi-square."""


def fit(counts: IntArray, law: FloatArray) -> tuple[float, str]:
    """Return the p-value of counts under a law, and which test gave it.

    Parameters
    ----------
    counts : ndarray of int, shape (states,)
        Not all zero.
    law : ndarray of float, shape (states,)
        Probabilities.

    Returns
    -------
    p_value : float
        0 if a state of probability zero was seen.
    test : {"impossible", "certain", "exact", "chi-square", "split"}

    Examples
    --------
    >>> p_value, test = fit(np.array([10, 0]), np.array([0.5, 0.5]))
    >>> round(p_value, 9), test
    (0.001953125, 'exact')
    """
    if np.any(counts[law == 0] > 0):
        return 0.0, "impossible"
    counts, law = counts[law > 0], law[law > 0] / law.sum()
    n, states = int(counts.sum()), len(law)
    if states == 1 or n == 0:
        return 1.0, "certain"
    if states == 2:
        from scipy.stats import binomtest

        return float(binomtest(int(counts[0]), n, float(law[0])).pvalue), "exact"
    if math.comb(n + states - 1, states - 1) <= MOST_OUTCOMES:
        # the probability of all outcomes that are at most as likely as the one seen
        from scipy.special import gammaln

        outcomes = _compositions(int(counts.sum()), len(law))
        logs: FloatArray = outcomes @ np.log(law) - np.asarray(gammaln(outcomes + 1.0), dtype=np.float64).sum(axis=1)
        seen = float(counts @ np.log(law)) - float(np.sum(gammaln(counts + 1.0)))
        logs += math.lgamma(int(counts.sum()) + 1)
        seen += math.lgamma(int(counts.sum()) + 1)
        # rounding must not leave out outcomes that are exactly as likely
        return min(1.0, float(np.exp(logs[logs <= seen + 1e-9 * max(1.0, abs(seen))]).sum())), "exact"
    if float(np.min(n * law)) >= LEAST_EXPECTED:
        # the larger of two p-values: Pearson's is too small far out, the likelihood ratio's near the middle
        from scipy.special import chdtrc, xlogy

        expected = counts.sum() * law
        pearson = float(np.sum((counts - expected) ** 2 / expected))
        terms: FloatArray = np.asarray(xlogy(counts, counts / expected), dtype=np.float64)
        ratio = 2 * float(terms.sum())
        return float(chdtrc(len(law) - 1, min(pearson, ratio))), "chi-square"
    return _split(counts, law), "split"


def _compositions(n: int, parts: int) -> IntArray:
    """Return all ways to write n as an ordered sum of `parts` whole numbers, of shape (ways, parts)."""
    found = np.arange(n + 1).reshape(-1, 1)
    for _ in range(parts - 2):
        left = n - found.sum(axis=1)
        rows = np.repeat(np.arange(len(found)), left + 1)
        first = np.arange(len(rows)) - np.repeat(np.cumsum(left + 1) - left - 1, left + 1)
        found = np.column_stack([found[rows], first])
    return np.column_stack([found, n - found.sum(axis=1)])


def _split(counts: IntArray, law: FloatArray) -> float:
    """Test rare states against the others, then each group in itself.

    Given how many fall into a group, what happens inside it is independent of the rest, so that the least of k such
    p-values p has itself the p-value 1 - (1 - p)^k.
    """
    rare = counts.sum() * law < LEAST_EXPECTED
    if rare.all():
        rare = np.zeros(len(law), dtype=bool)
        rare[np.argsort(law, kind="stable")[: len(law) // 2]] = True
    total = np.array([counts[rare].sum(), counts[~rare].sum()])
    shares = np.array([law[rare].sum(), law[~rare].sum()])
    parts = [fit(total, shares), *(fit(counts[side], law[side]) for side in (rare, ~rare) if counts[side].sum() > 0)]
    p_values = [p for p, test in parts if test != "certain"]
    return -math.expm1(len(p_values) * math.log1p(-min(p_values))) if min(p_values) < 1 else 1.0


Tested = TypeVar("Tested", "RowCheck", "EdgeCheck")

# --------------------------------------------------------------------------------------------------
# Does public data contradict the model? Every row of every table tested, with the level held over all rows.
# --------------------------------------------------------------------------------------------------

ROWS_PRINTED = 3
"""Contradicted rows that are printed."""

MOST_SHOWN_ROWS = 20

LEVEL_SHOWN = 0.01
"""What comes by chance in at most this part of tables is said to be shown."""

MOST_LACKING = 4
"""Models without an edge that are named."""

ROW_FACTS = ("attribute", "row", "model", "observations", "p_value", "adjusted", "finding", "test")
"""What a table or JSON holds of every row."""


@dataclass(frozen=True, kw_only=True)
class RowCheck:
    """One row of a conditional probability table against the public data, under one model.

    Parameters
    ----------
    attribute : str
    given : mapping from str to state
        The states of the parents.
    model : int
        Index in Theta.
    observations : int
        How many rows of the data have these parents.
    p_value : float
        How often data of the model deviate at least as much; 0 if a state of probability zero was seen.
    adjusted : float
        The same, corrected for the number of rows (Holm).
    impossible : tuple of states
        States that were seen although the model gives them probability zero.
    farthest : state
        The state whose share is farthest from its probability, in standard deviations.
    expected, observed : float
        Its probability, and its share in the data.
    test : str
        Which test gave the p-value.
    """

    attribute: str
    given: Mapping[str, State]
    model: int
    observations: int
    p_value: float
    adjusted: float
    impossible: tuple[State, ...]
    farthest: State
    expected: float
    observed: float
    test: str

    @property
    def row(self) -> str:
        """Return what the row is about."""
        given = ", ".join(f"{name} = {state}" for name, state in self.given.items())
        return f"{self.attribute} given {given}" if given else self.attribute

    @property
    def finding(self) -> str:
        """Return in words what deviates most."""
        if self.impossible:
            return f"seen, though impossible in the model: {checks.listing(self.impossible)}"
        return f"{self.farthest}: {percent_text(self.observed)} seen, {percent_text(self.expected)} in the model"


@dataclass(frozen=True, kw_only=True)
class EdgeCheck:
    """An edge that some models of a class have and others have not, against the public data.

    Parameters
    ----------
    ends : tuple of str
        Parent and child, as in the first model that has it.
    models : int
        How many models have it, in either direction.
    lacking : tuple of int
        The models that have it not.
    given : tuple of str
        The other parents of the child in that model.
    statistic : float
        G, twice the log likelihood ratio of dependence given these against independence.
    p_value : float
        How often independent columns show as much, by chi-square.
    adjusted : float
        The same, corrected for the number of edges (Holm).
    """

    ends: tuple[str, str]
    models: int
    lacking: tuple[int, ...]
    given: tuple[str, ...]
    statistic: float
    p_value: float
    adjusted: float

    def sentence(self, models: int, level: float) -> str:
        """What the data say for or against the edge, in one sentence."""
        given = f" given {checks.listing(self.given)}" if self.given else ""
        found = "the data show it" if self.adjusted <= level else "the data do not show it"
        few, model = len(self.lacking) <= MOST_LACKING, "model" if len(self.lacking) == 1 else "models"
        without = f" (not in {model} {checks.listing(self.lacking)})" if few else ""
        return (
            f"{self.ends[0]} - {self.ends[1]}, in {self.models:,} of {models:,} models{without}: {found} "
            f"(G-test{given}: adjusted p {nats_text(self.adjusted, 2)})"
        )


@dataclass(frozen=True, kw_only=True)
class ModelCheck(Shown):
    """What public data say against a network; print it.

    Parameters
    ----------
    level : float
        The probability that a true model is contradicted in any row is at most this.
    rows : tuple of RowCheck
        One per model and row with data: contradicted ones first, then by p-value.
    log_likelihoods : tuple of float
        One per model.
    left_out : mapping from str to int
        For every tested attribute how many observations have a missing or unknown state in it or in a parent.
    untested : tuple of str
        Attributes that are not in the data, or of whose parents one is not, or without an observation.
    observations : int
        Rows of the data.
    edges : tuple of EdgeCheck
        The edges that divide the models, those that the data show first; arrows that only point differently do not.
    """

    level: float
    rows: tuple[RowCheck, ...]
    log_likelihoods: tuple[float, ...]
    left_out: Mapping[str, int]
    untested: tuple[str, ...]
    observations: int
    edges: tuple[EdgeCheck, ...] = ()

    @property
    def models(self) -> int:
        """Return the number of models in Theta."""
        return len(self.log_likelihoods)

    def contradicted(self, model: int) -> tuple[RowCheck, ...]:
        """Return the rows that the data contradict under one model."""
        return tuple(row for row in self.rows if row.model == model and row.adjusted <= self.level)

    @property
    def best_model(self) -> int:
        """Return the model with the fewest contradicted rows; among equals the one with the largest likelihood."""
        return min(range(self.models), key=lambda k: (len(self.contradicted(k)), -self.log_likelihoods[k], k))

    @property
    def surviving(self) -> tuple[int, ...]:
        """Return the models that no row contradicts; the class Theta is contradicted when there is none."""
        return tuple(k for k in range(self.models) if not self.contradicted(k))

    @property
    def incomplete(self) -> tuple[int, ...]:
        """Return the models without an edge that the data show: they know the dependence by another path, or not."""
        return tuple(sorted({k for edge in self.edges if edge.adjusted <= self.level for k in edge.lacking}))

    @property
    def always_contradicted(self) -> tuple[str, ...]:
        """Return the rows that are contradicted under every model: no member of Theta explains them."""
        named = [[row.row for row in self.contradicted(k)] for k in range(self.models)]
        return tuple(name for name in named[0] if all(name in other for other in named[1:]))

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per model and table row, in the order of `rows`."""
        import pandas as pd

        frame = pd.DataFrame({name: [getattr(row, name) for row in self.rows] for name in ROW_FACTS})
        frame.insert(ROW_FACTS.index("finding"), "contradicted", [row.adjusted <= self.level for row in self.rows])
        return frame

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the adjusted p-values under the best model against the level, the least at the top.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        shown = [row for row in self.rows if row.model == self.best_model][:MOST_SHOWN_ROWS][::-1]
        least = 1e-12  # a p-value of zero has no place on a logarithmic axis
        colors = ["tab:red" if row.adjusted <= self.level else "tab:blue" for row in shown]
        drawn.scatter([max(row.adjusted, least) for row in shown], range(len(shown)), c=colors)
        drawn.set_yticks(range(len(shown)), [label(row.row) for row in shown])
        drawn.set_xscale("log")
        drawn.axvline(self.level, color="black", linestyle=":")
        drawn.set_xlabel("adjusted p-value (left of the line: contradicted)")
        return drawn

    @property
    def document(self) -> Document:
        """Return the rows that the data contradict, and how far."""
        shown = [row for row in self.rows if row.model == self.best_model]
        whole = set(self.surviving) - set(self.incomplete)
        mend = "give models the edges that they lack" if self.surviving else "mend these rows"
        following = "bp.plan(...)" if whole else f"{mend}, or add a model that fits"
        table = Table(
            caption="Rows of the network under the best model, the most doubtful first",
            header=("row", "observations", "adjusted p", "", "farthest"),
            rows=[self._line(row) for row in shown[:MOST_SHOWN_ROWS]],
            numbers=(1, 2),
            more=f"{len(shown) - MOST_SHOWN_ROWS} more rows; see to_pandas()." if len(shown) > MOST_SHOWN_ROWS else "",
        )
        return Document(
            kind="model check",
            headline=self._verdict().removesuffix("."),
            tone="plain" if not self.rows or (self.surviving and not whole) else "good" if whole else "poor",
            short=(
                *(f"{row.row}: {row.finding}" for row in shown[:ROWS_PRINTED] if row.adjusted <= self.level),
                *([*self._notes()][:-1]),
                *(edge.sentence(self.models, self.level) for edge in self.edges[:ROWS_PRINTED]),
                f"What is not contradicted is not thereby true. Next: {following}.",
            ),
            answer=(
                *((table,) if shown else ()),
                *map(Paragraph, self._notes()),
                *(Paragraph(f"{edge.sentence(self.models, self.level)}.") for edge in self.edges),
            ),
            data={
                "level": self.level,
                "observations": self.observations,
                "models": self.models,
                "best_model": self.best_model,
                "surviving": list(self.surviving),
                "untested": list(self.untested),
                "left_out": [{"attribute": name, "observations": lost} for name, lost in self.left_out.items()],
                "rows": [{name: getattr(row, name) for name in ROW_FACTS} for row in self.rows],
                "edges": [asdict(edge) for edge in self.edges],
            },
        )

    def _line(self, row: RowCheck) -> tuple[str, ...]:
        contradicted = "contradicted" if row.adjusted <= self.level else ""
        return row.row, f"{row.observations:,}", nats_text(row.adjusted, 2), contradicted, row.finding

    def _verdict(self) -> str:
        if not self.rows:
            return "The data test no row of the network."
        tested = sum(row.model == self.best_model for row in self.rows)
        if self.models == 1:
            wrong = len(self.contradicted(0))
            found = f"contradict {wrong}" if wrong else "contradict none"
            return f"The data {found} of {tested} tested rows of the network, at level {self.level:g} over all of them."
        if self.surviving:
            kept = f"{len(self.surviving)} of {self.models} models stand: {checks.listing(self.surviving)}"
            if set(self.surviving) <= set(self.incomplete):
                kept += ", but each lacks an edge that the data show"
        else:
            kept = f"All {self.models} models are contradicted, so the truth is hardly among them"
        wrong = len(self.contradicted(self.best_model))
        return f"{kept}. The best one, model {self.best_model}, has {wrong} of {tested} tested rows contradicted."

    def _notes(self) -> Iterator[str]:
        if self.models > 1 and self.rows:
            counts = [f"model {k}: {len(rows)}" for k in range(self.models) if (rows := self.contradicted(k))]
            if counts:
                yield f"Contradicted rows by model: {checks.listing(counts)}."
            if self.always_contradicted:
                yield f"Contradicted under every model: {checks.listing(self.always_contradicted)}."
        lost = [f"{name} {count:,}" for name, count in self.left_out.items() if count]
        if lost:
            yield f"Left out for a missing or unknown state, of {self.observations:,}: {checks.listing(lost)}."
        if self.untested:
            yield f"Not tested, for lack of data in the states of the network: {checks.listing(self.untested)}."
        yield "Observations are taken as independent. What is not contradicted is not thereby true."


def check_model(network: DiscreteNetwork, public_table: object, *, level_of_significance: float = 0.01) -> ModelCheck:
    """Test every row of a network's tables against public data.

    The table must be public: what this prints is computed from it without any protection. Never pass the table that is
    to be released.

    Parameters
    ----------
    network : DiscreteNetwork
        One or several models.
    public_table : table, str or path
        Whatever narwhals takes, or a Parquet or CSV file; columns are called like attributes and hold states. One row
        is one observation of the attributes: a record for a network of level "records", a whole population for one of
        level "parameters". Attributes without a column are not tested, nor are their children.
    level_of_significance : float
        How likely a true model may be contradicted in any of its rows.

    Returns
    -------
    ModelCheck
        Print it; rows that are contradicted come first.

    Raises
    ------
    DataError, FileError
        If the table is none or cannot be read, or has none of the attributes as a column.
    ParameterError
        If the level is not between 0 and 1.
    NetworkError
        If the network is given by intervals.

    Notes
    -----
    For every parent configuration with observations: the exact multinomial (for two states binomial) test where its
    outcomes can be enumerated, else the larger of the chi-square p-values of Pearson's and the likelihood-ratio
    statistic, after states with an expected count below 5 have been split off and tested among themselves. Holm,
    "A simple sequentially rejective multiple test procedure" (1979), over all rows of one model. Each model is tested
    alone, because the truth is one of them: a class is contradicted if every model is.

    Examples
    --------
    >>> import pandas as pd
    >>> network = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["head", "tail"]})
    >>> found = check_model(network, pd.DataFrame({"coin": ["head"] * 30 + ["tail"] * 5 + [None]}))
    >>> found.rows[0].finding, found.surviving, found.left_out
    ('head: 86 % seen, 50 % in the model', (), {'coin': 1})
    """
    level = checks.number("level_of_significance", level_of_significance)
    if not 0 < level < 1:
        raise ParameterError(
            "level_of_significance must be above 0 and below 1", found=f"{level:g}", remedy="Pass for example 0.01."
        )
    from bnpriv.tables.public import public_table as opened

    network = require_discrete(network, "a check against data")
    table = opened(public_table, network.attributes)
    columns = frozenset(table.columns)
    if not columns:
        raise DataError(
            "the public table must have attributes of the network as columns",
            found="none of them",
            remedy=f"Call columns like attributes: {checks.listing(network.attributes)}.",
        )
    # each model by its own graph
    counts = [_family_counts(table, part, columns) for part in network.parts]
    found = [(part, seen, k) for part, seen in zip(network.parts, counts, strict=True) for k in range(part.models)]
    with progress("comparing models with the table"):
        every = tracked(list(enumerate(found)), f"{network.models:,} models")
        rows = [replace(row, model=model) for model, each in every for row in _holm(list(_rows(*each)))]
    rows.sort(key=lambda row: (row.adjusted > level, row.adjusted, row.p_value, row.row, row.model))
    tested = {row.attribute for row in rows}
    return ModelCheck(
        level=level,
        rows=tuple(rows),
        log_likelihoods=tuple(_log_likelihood(*each) for each in found),
        left_out={
            name: max(len(table) - int(seen[name].sum()) for seen in counts if name in seen)
            for name in network.attributes
            if any(name in seen for seen in counts)
        },
        untested=tuple(name for name in network.attributes if name not in tested),
        observations=len(table),
        edges=_dividing(table, network, columns),
    )


def _family_counts(
    table: nw.DataFrame[Any], network: DiscreteNetwork, columns: frozenset[str]
) -> dict[str, NDArray[np.int64]]:
    families = {name: (name, *network.graph.parents[name]) for name in network.attributes}
    return {name: _counts(table, network, each) for name, each in families.items() if columns.issuperset(each)}


def _dividing(table: nw.DataFrame[Any], network: DiscreteNetwork, columns: frozenset[str]) -> tuple[EdgeCheck, ...]:
    """The edges that some models have and others have not, each by a G-test in a model that has it."""
    held: dict[frozenset[str], set[int]] = {}
    first: dict[frozenset[str], tuple[str, ...]] = {}
    before = 0
    for part in network.parts:
        for parent, child in part.graph.edges:
            held.setdefault(frozenset((parent, child)), set()).update(range(before, before + part.models))
            others = (name for name in part.graph.parents[child] if name != parent)
            first.setdefault(frozenset((parent, child)), (parent, child, *others))
        before += part.models
    tested: list[EdgeCheck] = []
    for edge, (parent, child, *given) in first.items():
        lacking = tuple(k for k in range(network.models) if k not in held[edge])
        if not lacking or not columns.issuperset((parent, child, *given)):
            continue
        seen = _counts(table, network, (parent, child, *given))
        if seen.any():  # else no row has states that the network knows
            statistic, p_value = g_test(seen)
            ends, others, models = (parent, child), tuple(given), len(held[edge])
            found = EdgeCheck(
                ends=ends,
                models=models,
                lacking=lacking,
                given=others,
                statistic=statistic,
                p_value=p_value,
                adjusted=p_value,
            )
            tested.append(found)
    return tuple(_holm(tested))


def g_test(counts: NDArray[np.int64]) -> tuple[float, float]:
    """Twice the log likelihood ratio of the dependence of two columns given others, and its p-value.

    Parameters
    ----------
    counts : ndarray of int, shape (states of one, states of the other, *states of what is given)

    Returns
    -------
    statistic, p_value : float
        By chi-square, with degrees of freedom from the rows and columns that occur: the larger of two p-values, since
        where counts are few that of the ratio is often far too small, and Pearson's where some states are rare.

    Examples
    --------
    >>> statistic, p_value = g_test(np.array([[30, 10], [10, 30]]))
    >>> round(statistic, 2), f"{p_value:.1e}"
    (20.93, '8.8e-06')
    """
    from scipy.special import chdtrc, xlogy

    cells = counts.reshape(*counts.shape[:2], -1)
    rows, above = cells.sum(axis=1), cells.sum(axis=0)
    total = rows.sum(axis=0)
    terms = (xlogy(each, each).sum() for each in (cells, rows, above, total))
    joint, left, right, both = map(float, terms)
    statistic = max(0.0, 2 * (joint - left - right + both))
    free = int((((rows > 0).sum(axis=0) - 1) * ((above > 0).sum(axis=0) - 1))[total > 0].sum())
    size: FloatArray = np.maximum(total, 1)
    expected = rows[:, None] * (above / size)
    squares: FloatArray = (cells - expected) ** 2 / np.where(expected > 0, expected, 1)
    pearson = float((squares.sum(axis=(0, 1)) * (1 - 1 / size)).sum())  # of its mean where all sums are given
    return statistic, float(chdtrc(free, min(statistic, pearson))) if free else 1.0


@dataclass(frozen=True, kw_only=True)
class EdgeShown:
    """What a public table shows of an edge: estimates of that table, which prove nothing of another one.

    Parameters
    ----------
    models : str
        How many models have the edge, where not all do.
    strength : float, optional
        By how many times the odds of one state of the column below against another differ at most from those of its
        shares, whatever the state of the column above; other columns aside. As a table shows it by chance alone where
        there is no dependence it is above 1 too, the more so the more states there are. None without a public table.
    chance : float, optional
        How often columns that do not depend on each other, given the other parents, show as much; of this edge alone,
        as if it had not been searched for.
    """

    models: str = ""
    strength: float | None = None
    chance: float | None = None

    @property
    def in_words(self) -> tuple[str, str, str]:
        """Whether the table shows it, by how many times it moves odds, and the chance; empty without a table."""
        if self.strength is None or self.chance is None:
            return "", "", ""
        shown = "shown" if self.chance <= LEVEL_SHOWN else "not shown"
        moves, chance = f"{number_text(self.strength, 3)} times", max(self.chance, sys.float_info.min)
        return shown, moves, chance_text(float(f"{chance:.2g}"))


def edges_shown(framework: Framework) -> dict[tuple[str, str], EdgeShown]:
    """Return what the public records of a framework show of every edge of its models.

    Parameters
    ----------
    framework : Framework
        As `bnpriv.start` makes it of a public table; without public records only the edges are told.

    Returns
    -------
    dict from (str, str) to EdgeShown
        By the ends of the edges, along the order of the attributes.

    Notes
    -----
    The strength is that of the counts, with one more record for every state of the column above, which has the shares;
    the chance is the p-value of `g_test`.
    """
    network, schema = (
        require_discrete(cast(Network, framework.network), "what a table shows of edges"),
        framework.schema,
    )
    found = {edge: EdgeShown(models=models) for edge, models in edge_shares(network).items()}
    if framework.public_records is None:
        return found
    columns = cast(PublicRecords, framework.public_records).columns
    places = {name: state_places(schema[name], columns[name], known) for name, known in network.states.items()}
    for part in network.parts:
        for above, below in part.graph.edges:
            edge = (above, below) if (above, below) in found else (below, above)
            if found[edge].strength is not None:
                continue  # as it points in the first model that has it
            names = [below, above, *(each for each in part.graph.parents[below] if each != above)]
            shape = [len(network.states[name]) for name in names]
            cells = np.ravel_multi_index(tuple(places[name] for name in names), shape)
            seen = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
            pairs = seen.sum(axis=tuple(range(2, len(shape))))
            pairs = pairs[pairs.any(axis=1)]
            shares = pairs.sum(axis=1, keepdims=True) / pairs.sum()
            lifts = np.log((pairs / shares + 1) / (pairs.sum(axis=0) + 1))
            strength = math.exp(float(np.ptp(lifts, axis=0).max()))
            found[edge] = replace(found[edge], strength=strength, chance=g_test(seen)[1])
    return found


def _counts(table: nw.DataFrame[Any], network: DiscreteNetwork, names: Sequence[str]) -> NDArray[np.int64]:
    """How often every combination of states occurs, of shape (states of each name)."""
    import narwhals as nw

    places = [_places(network.states[name]) for name in names]
    seen = np.zeros([len(network.states[name]) for name in names], dtype=np.int64)
    keys = [f"k{k}" for k in range(len(names))]
    renamed = table.select(*(nw.col(name).alias(key) for name, key in zip(names, keys, strict=True)))
    for *values, count in renamed.group_by(*keys).agg(nw.len().alias("n")).iter_rows():
        cell = [_place(known, value) for known, value in zip(places, values, strict=True)]
        if None not in cell:
            seen[tuple(cast("list[int]", cell))] += int(count)
    return seen


def _places(states: Sequence[State]) -> dict[object, int]:
    """Where states stand, by themselves and, where that is clear, by their text."""
    texts = [str(state) for state in states]
    clear = {text: k for k, text in enumerate(texts) if texts.count(text) == 1}
    return {**clear, **{state: k for k, state in enumerate(states)}}


def _place(known: Mapping[object, int], value: object) -> int | None:
    """Where the state stands that a value means; a table may hold 1 or 1.0 for the state "1"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (str, int, float)) and value in known:
        return known[value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return known.get(str(value))


def _rows(network: DiscreteNetwork, counts: Mapping[str, NDArray[np.int64]], model: int) -> Iterator[RowCheck]:
    """The rows of the tables that have observations, each tested under one model."""
    for name, seen in counts.items():
        parents, states = network.graph.parents[name], network.states[name]
        laws = network.probabilities(name)[model]
        for places in product(*(range(len(network.states[parent])) for parent in parents)):
            column: NDArray[np.int64] = seen[:, *places]
            law: FloatArray = laws[:, *places]
            total = int(column.sum())
            if total == 0:
                continue
            p_value, test = fit(column, law)
            shares = column / total
            spread = np.sqrt(np.maximum(law * (1 - law), 1 / total**2) / total)  # of a certain state: half a count
            # rounded, so that of two states that are equally far the first is named
            place = int(np.argmax(np.round(np.abs(shares - law) / spread, 9)))
            yield RowCheck(
                attribute=name,
                given={parent: network.states[parent][k] for parent, k in zip(parents, places, strict=True)},
                model=model,
                observations=total,
                p_value=p_value,
                adjusted=p_value,
                impossible=tuple(state for state, k, p in zip(states, column, law, strict=True) if k > 0 and p == 0),
                farthest=states[place],
                expected=float(law[place]),
                observed=float(shares[place]),
                test=test,
            )


def _holm(rows: Sequence[Tested]) -> list[Tested]:
    """The rows of one model, or edges, with p-values that hold the level over all of them, the least first."""
    adjusted, largest = list[Tested](), 0.0
    for place, row in enumerate(sorted(rows, key=lambda row: row.p_value)):
        largest = max(largest, min(1.0, (len(rows) - place) * row.p_value))
        adjusted.append(replace(row, adjusted=largest))
    return adjusted


def _log_likelihood(network: DiscreteNetwork, counts: Mapping[str, NDArray[np.int64]], model: int) -> float:
    total = 0.0
    for name, seen in counts.items():
        logs = network.tables[name].values
        chosen = logs[min(model, len(logs) - 1)][seen > 0]
        total += float(np.sum(seen[seen > 0] * chosen))
    return total
