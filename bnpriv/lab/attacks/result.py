"""What came out of an attack; noise for made-up answers; tables with a given share of a property."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.noise import Noise
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import NormalForm, Query, normal_form
from bnpriv.core.queries.builtin import Count, Custom, Proportion
from bnpriv.core.queries.contribution import answers, term_totals
from bnpriv.core.queries.predicates import Predicate
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema, require_schema
from bnpriv.errors import DataError, ParameterError, QueryError, SizeError
from bnpriv.render.document import Code, Document, fact
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import canonical_table
from bnpriv.tables.public import inferred_schema
from bnpriv.text import full_text, number_text, percent_text, rounded_up, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --------------------------------------------------------------------------------------------------
# What came out of an attack: how often it named the right secret, and how often any attack may.
# --------------------------------------------------------------------------------------------------

SHARE_CONFIDENCE = 0.95
"""How sure the intervals of counted shares are."""

TOLD = (
    *("method", "query", "secrets", "accuracy", "interval", "answers"),
    *("bound", "epsilon", "delta", "mechanism", "error"),
)
"""What the JSON of an attack holds."""


def accuracy_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return how often any attacker may be right, who guesses one of two equally likely secrets.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee; an infinite epsilon bounds nothing.

    Returns
    -------
    float
        ``(exp(epsilon) + delta) / (1 + exp(epsilon))``, at most 1.

    Examples
    --------
    >>> round(accuracy_bound(1.0), 4), accuracy_bound(math.inf)
    (0.7311, 1.0)
    """
    if not (epsilon >= 0 and 0 <= delta <= 1):
        raise ParameterError(
            "epsilon must be at least 0 and delta between 0 and 1", found="others", remedy="Pass those of a guarantee."
        )
    odds = math.exp(-epsilon)
    return min(1.0, (1 + delta * odds) / (1 + odds))


def share_interval(share: float, answers: int, level: float = SHARE_CONFIDENCE) -> tuple[float, float]:
    """Return where the true share of right guesses lies, by Clopper and Pearson.

    Parameters
    ----------
    share : float
        Of right guesses; ties count half.
    answers : int
    level : float
        How sure that is.

    Examples
    --------
    >>> low, high = share_interval(0.75, 1000)
    >>> round(low, 3), round(high, 3)
    (0.722, 0.777)
    """
    from scipy.stats import binomtest

    found = binomtest(round(share * answers), answers).proportion_ci(level, method="exact")
    return float(found.low), float(found.high)


TIE = 1e-9
"""Log densities that are closer than this are equal: the guesser throws a coin."""


def share_right(sides: Iterable[tuple[FloatArray, FloatArray]]) -> float:
    """Return how often the secret under which an answer is likelier is the right one; a tie counts half.

    Parameters
    ----------
    sides : iterable of (ndarray, ndarray)
        Of answers under the first secret, then of answers under the second: the log densities under either.
    """
    shares: list[float] = []
    for one, other in sides:
        with np.errstate(invalid="ignore"):
            apart = np.where(one == other, 0.0, one - other)
        shares.append(float(np.mean(np.where(np.abs(apart) <= TIE, 0.5, apart > 0))))
    return (shares[0] + 1 - shares[1]) / 2


@dataclass(frozen=True, kw_only=True)
class Attack(Shown):
    """How often an attacker named the right one of two equally likely secrets from one released answer.

    Print it.

    Parameters
    ----------
    method : str
        How the attacker guesses.
    query : str
    secrets : str
        The two secrets, in words.
    accuracy : float
        The share of right guesses.
    interval : (float, float)
        Where that share lies with 95 % confidence, for one that was counted; twice the share for one that was computed.
    answers : int
        From how many answers it was counted; 0 if it was computed.
    epsilon, delta : float or None
        What the release guarantees; None without a guarantee.
    mechanism : str
        What added the noise; "no defence" without any.
    error : float or None
        The mean error of the released answer; None where something else is seen, such as a trained model.
    """

    method: str
    query: str
    secrets: str
    accuracy: float
    interval: tuple[float, float]
    answers: int
    epsilon: float | None
    delta: float | None
    mechanism: str
    error: float | None

    @property
    def bound(self) -> float:
        """Return how often any attacker may be right under the guarantee; 1 without one."""
        return 1.0 if self.epsilon is None else accuracy_bound(self.epsilon, self.delta or 0.0)

    @property
    def document(self) -> Document:
        """Return how often the attack was right, and how often any may be."""
        counted = ""
        if self.answers:
            low, high = self.interval
            counted = (
                f" (between {percent_text(low)} and {percent_text(high)} with {100 * SHARE_CONFIDENCE:g} % confidence, "
                f"counted on {self.answers:,} answers)"
            )
        allowed = "Nothing is guaranteed"
        if self.epsilon is not None:
            asked = f"epsilon {self.epsilon:g}" + (f" and delta {full_text(self.delta)}" if self.delta else "")
            allowed = f"The guarantee, {asked}, allows {rounded_up(100 * self.bound):g} %"
        return Document(
            kind="attack",
            headline=("Attack on ", Code(self.query), f": right in {percent_text(self.accuracy)} of the cases"),
            lead=(
                f"By {self.method} the attacker names the right one of two equally likely secrets in "
                f"{percent_text(self.accuracy)} of the cases{counted}. {allowed}; a coin is right in 50 %."
            ),
            short=(
                f"{allowed}; a coin is right in 50 %.",
                f"By {self.method}{counted or ', worked out without draws'}.",
                f"Secrets: {shorten(self.secrets, 150)}. Defence: {self.mechanism}.",
                "Next: a smaller epsilon allows less; bp.plan(framework, query, epsilon) names mechanisms.",
            ),
            number=percent_text(self.accuracy),
            facts=(
                fact("Secrets", self.secrets),
                fact("Defence", self.mechanism),
                *(() if self.error is None else (fact("Mean error", number_text(self.error)),)),
            ),
            data={name: getattr(self, name) for name in TOLD} | {"interval": list(self.interval)},
        )

    def __repr__(self) -> str:
        return f"Attack({self.mechanism}: right in {self.accuracy:.3g}, allowed {self.bound:.3g})"


def plot_attacks(attacks: Sequence[Attack], ax: Axes | None = None) -> Axes:
    """Draw how often attacks were right, with confidence, beside how often any attack may be.

    Parameters
    ----------
    attacks : sequence of Attack
        A row each, the first at the top.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ParameterError
        If there is none.
    MissingExtraError
        If matplotlib is not installed.
    """
    if not attacks:
        raise ParameterError("there must be attacks to draw", found="none", remedy="Pass a list of them.")
    checks.whole("the number of attacks", len(attacks))
    drawn = axes(ax)
    places = range(len(attacks), 0, -1)
    for place, attack in zip(places, attacks, strict=True):
        low, high = attack.interval
        off = [[attack.accuracy - low], [high - attack.accuracy]]
        drawn.errorbar([attack.accuracy], [place], xerr=off, fmt="o", color="tab:blue", capsize=3)
        if attack.epsilon is not None:
            drawn.plot([attack.bound], [place], marker="|", markersize=14, color="tab:red", linestyle="none")
    drawn.axvline(0.5, color="black", linestyle=":", linewidth=1)
    drawn.set_yticks(list(places), [label(f"{attack.mechanism}, {attack.method}") for attack in attacks])
    drawn.set_xlim(0.45, 1.02)
    drawn.set_ylim(0.5, len(attacks) + 0.5)
    drawn.set_xlabel("right guesses (dots, with 95 % confidence) and what the guarantee allows (red marks)")
    return drawn


# --------------------------------------------------------------------------------------------------
# Noise from NumPy's generator, for made-up answers only.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumpySampler:
    """Noise for made-up answers: it is neither exact nor secret."""

    random: np.random.Generator

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus Laplace noise."""
        return tuple((np.asarray(values) + self.random.laplace(0.0, scale, len(values))).tolist())

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus normal noise."""
        return tuple((np.asarray(values) + self.random.normal(0.0, scale, len(values))).tolist())

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        """Return `values` plus whole-number noise."""
        p = -np.expm1(-1 / scale)
        drawn = self.random.geometric(p, len(values)) - self.random.geometric(p, len(values))
        return tuple((np.asarray(values) + drawn).tolist())

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to ``limit - 1``."""
        return int(self.random.integers(limit))


def noisy(noise: Noise, exact: FloatArray, sampler: NumpySampler) -> FloatArray:
    """Return answers, of shape (draws, outputs), each with noise of its own."""
    return np.array([noise.sample(row, sampler) for row in exact.tolist()])


# --------------------------------------------------------------------------------------------------
# A public table split by a property of its records: tables with a given share of it, drawn or worked out.
# --------------------------------------------------------------------------------------------------

MOST_DRAWN_RECORDS = 2**27
"""Records of all tables that are drawn for one value of the property."""

MOST_SHARE_ERROR = 1e-9
"""How far a share times the number of records may be from a whole number."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Strata:
    """The records of a public table, those that count for a property apart from the others.

    Parameters
    ----------
    form : NormalForm
        The query, for tables of as many records as are drawn.
    reads : tuple of str
        The columns that the query reads.
    columns : mapping from str to ndarray of shape (N,)
        The public table.
    members : ndarray of bool, shape (N,)
        Which records count for the property.
    hidden : Query
        A count or a proportion.
    """

    form: NormalForm
    reads: tuple[str, ...]
    columns: Mapping[str, NDArray[Any]]
    members: NDArray[np.bool_]
    hidden: Count | Proportion

    @property
    def records(self) -> int:
        """Return how many records a drawn table has."""
        return self.form.schema.records

    def count(self, value: object) -> int:
        """Return how many records of a drawn table count for the property when it has a value.

        Raises
        ------
        ParameterError
            If that is no whole number, or more than the public table has.
        """
        number = checks.number("a value of the property", value, remedy="Pass for example 0.45.")
        records, share = self.records, isinstance(self.hidden, Proportion)
        wanted = number * records if share else number
        whole = round(wanted)
        counting, others = int(np.count_nonzero(self.members)), int(np.count_nonzero(~self.members))
        if abs(wanted - whole) > MOST_SHARE_ERROR * records or not 0 <= whole <= records:
            near = min(max(whole, 0), records)
            nearest = f"share is {near:,} of {records:,} records: pass {near} / {records}"
            raise ParameterError(
                f"a value of the property must be that of a whole number of {records:,} records",
                found=f"{number:g}",
                remedy=f"The nearest {nearest if share else f'number of records is {near:,}'}.",
            )
        if whole > counting or records - whole > others:
            low, high = max(0, records - others), min(records, counting)
            some = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            remedy = (
                f"From this table {some} of {records:,} records can count, as none is drawn twice: ask for that, draw "
                "tables of fewer records, or take a larger public table."
            )
            if low > high:
                remedy = "Take a larger public table, or draw tables of fewer records: none is drawn twice."
            raise ParameterError(
                f"the public table must have {whole:,} records that count for the property and "
                f"{records - whole:,} that do not",
                found=f"{counting:,} and {others:,}",
                remedy=remedy,
            )
        return whole

    def drawn(self, value: object, tables: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers to tables that are drawn without replacement, of shape (tables, outputs).

        Parameters
        ----------
        value : float
            The value of the property in each of them.
        tables : int
        random : numpy.random.Generator

        Raises
        ------
        SizeError
            If so many records would take too much memory.
        """
        count = self.count(value)
        if tables * self.records > MOST_DRAWN_RECORDS:
            raise SizeError(
                f"at most {MOST_DRAWN_RECORDS:,} records are drawn for one value of the property",
                found=checks.shown(tables * self.records),
                remedy="Ask for fewer tables.",
            )
        kinds = ((np.flatnonzero(self.members), count), (np.flatnonzero(~self.members), self.records - count))
        places = np.array(
            [
                np.concatenate([random.choice(records, some, replace=False) for records, some in kinds])
                for _ in range(tables)
            ]
        )
        found = answers(self.form, {name: self.columns[name][places] for name in self.reads})
        return found.reshape(tables, -1)

    def moments(self, value: object) -> tuple[FloatArray, FloatArray]:
        """Return mean, shape (outputs,), and covariance of the answer to such a table, exact but for rounding."""
        count = self.count(value)
        totals = term_totals(self.form, {name: self.columns[name][:, np.newaxis] for name in self.reads})
        sums = np.stack(totals, axis=1).astype(np.float64)
        matrix = np.array([[float(weight) for weight in row] for row in self.form.matrix])
        mean = np.array([float(shift) for shift in self.form.offset])
        # answers are translated near 0 first, so that variances do not cancel
        centre = sums.mean(axis=0)
        mean = mean + self.records * (matrix @ centre)
        covariance = np.zeros((len(matrix), len(matrix)))
        for inside, drawn in ((self.members, count), (~self.members, self.records - count)):
            if not drawn:
                continue
            terms = (sums[inside] - centre) @ matrix.T
            size = len(terms)
            mean = mean + drawn * terms.mean(axis=0)
            if size > 1:
                spread = np.atleast_2d(np.cov(terms, rowvar=False))
                covariance += drawn * (1 - drawn / size) * spread
        return mean, covariance


def values_of(values: object) -> tuple[object, ...]:
    """Return the values of a property that were passed, in their order.

    Raises
    ------
    ParameterError
        If they are no list, or there are none.

    Examples
    --------
    >>> values_of([0.45, 0.55])
    (0.45, 0.55)
    """
    found = checks.listed(values)
    if not found:
        raise ParameterError(
            "values of the property must be given in a list",
            found=checks.type_text(values) if found is None else "an empty one",
            remedy="Pass for example (0.45, 0.55).",
        )
    return found


def strata(
    public_table: object,
    query: Query | str,
    property: Query | Predicate | str,
    records: int,
    schema: Schema | None = None,
) -> Strata:
    """Split a public table by a property of its records.

    Parameters
    ----------
    public_table : table, str or path
        Whatever `bnpriv.release` reads; public.
    query : Query or str
        What is asked of a table of `records` records.
    property : Query, Predicate or str
        A count or proportion, or a condition on a record, which stands for its proportion.
    records : int
        Of a table that is drawn.
    schema : Schema, optional
        Bounds and categories of the columns; those of the public table by default.

    Raises
    ------
    DataError, FileError
        If the table cannot be read.
    QueryError
        If the query has no normal form, or the property is neither a count nor a proportion.
    """
    query = as_query(query)
    if isinstance(query, Custom):
        raise QueryError(
            "distributions by a property are worked out for built-in queries",
            found="a custom query",
            remedy="Use means, counts, totals, histograms, or a stack of them.",
        )
    hidden = Proportion(predicate=property) if isinstance(property, Predicate) else as_query(property)
    if not isinstance(hidden, (Count, Proportion)):
        raise QueryError(
            "the property must be a count or a proportion of records",
            found=str(hidden),
            remedy='Pass a condition, for example col("income") == ">50K".',
        )
    names = sorted(query.columns | hidden.columns)
    records = checks.whole("records", records)
    if schema is not None:
        require_schema(schema)
    declared = schema if schema is not None else inferred_schema(public_table, names, records)
    table = canonical_table({name: declared[name] for name in names}, public_table)
    columns = {name: table[name].to_numpy() for name in names}
    if table.empty:
        raise DataError("the public table must have records", found="none", remedy="Pass the whole public table.")
    each = {name: columns[name][:, np.newaxis] for name in hidden.columns}
    members = answers(normal_form(Count(predicate=hidden.predicate), replace(declared, records=1)), each) > 0
    drawn = replace(declared, records=records)
    answer_range(query, drawn)  # refuses answers that no double holds
    form = normal_form(query, drawn)
    return Strata(form=form, reads=tuple(sorted(query.columns)), columns=columns, members=members, hidden=hidden)
