"""A private table that stays inside: asked with record-level differential privacy, it protects single persons too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import narwhals as nw

from bnpriv import checks
from bnpriv.bound import up
from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.guarantee import Guarantee, factor_text
from bnpriv.core.noise import DiscreteLaplace, Laplace, Sampler, SecureSampler
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query, most_of, normal_form
from bnpriv.core.queries.builtin import Custom, derivation
from bnpriv.core.queries.sensitivity import record_sensitivity
from bnpriv.core.schema import Column, has_gaps, is_whole
from bnpriv.errors import DataError, ParameterError, RefusedError
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import canonical_table, evaluate, guarded
from bnpriv.tables.private_table.counts import MoveNoise
from bnpriv.tables.private_table.rule import TableRule, scale_of
from bnpriv.tables.reader import collected
from bnpriv.text import number_text, rounded_up, visible

if TYPE_CHECKING:
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# What single records lose: the theorem of docs/claims/private_table_hidden.md in numbers.
# --------------------------------------------------------------------------------------------------

RecordLoss = tuple[Fraction, Fraction, int]
"""Epsilon, delta, and how many answers they are for."""


def shows_counts(rule: TableRule) -> bool:
    """Whether the noisy numbers of records are shown, because answers need them as weights.

    They stay inside where the table is filled: all records count once, and two tables that differ in one record become
    two that differ in one.
    """
    return rule.form != "fill" or not isinstance(rule.noise, MoveNoise)


def _sum(one: RecordLoss, other: RecordLoss) -> RecordLoss:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def twice(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """What is promised for two changes, one after the other, by a computation that promises these for one.

    Examples
    --------
    >>> twice(Fraction(1, 2), Fraction(0))
    (Fraction(1, 1), Fraction(0, 1))
    """
    # each of four roundings, and that of exp, by an ulp or two
    factor = 1 + math.exp(up(float(epsilon))) if epsilon < 700 else math.inf
    return 2 * epsilon, Fraction(min(1.0, up(factor * float(delta), 8))) if delta else delta


def loss_of_counts(rule: TableRule) -> RecordLoss:
    """What single records lose to the noisy numbers of records, once for all answers.

    Raises
    ------
    RefusedError
        If it is not known for the noise of a calibration.
    """
    noise = rule.noise
    if not shows_counts(rule):
        return Fraction(0), Fraction(0), 0
    if isinstance(noise, MoveNoise):
        return Fraction(up(1 / noise.scale)), Fraction(0.0 if noise.most is None else noise.delta(1)), 0
    drawn = cast(Any, noise).calibration.noise
    if isinstance(drawn, (Laplace, DiscreteLaplace)):
        return Fraction(up(1 / min(drawn.scales))), Fraction(0), 0
    raise RefusedError(
        "a hidden table needs noise on the number of records that protects single ones",
        found=f"{type(drawn).__name__}, which is made for the two distributions alone",
        remedy="Hide a count: pass a bp.Secret.",
    )


def for_records(rule: TableRule, *, share: bool) -> TableRule:
    """A rule that protects single records too: with noise on moves where the least noise on a count was made otherwise.

    Raises
    ------
    RefusedError
        As `loss_of_counts`, where the secret is a share.
    """
    if share or isinstance(rule.noise, MoveNoise):
        loss_of_counts(rule)
        return rule
    return replace(rule, noise=MoveNoise(classes=2, scale=scale_of(rule.classes.moved, rule.guarantee.epsilon)))


@dataclass(frozen=True, kw_only=True)
class RecordPrivacy:
    """How well single records of the true table are protected, whatever the law of records is.

    Parameters
    ----------
    epsilon, delta : float
        Of differential privacy for replacing one record.
    answers : int
        How many answers are seen.
    """

    epsilon: float
    delta: float
    answers: int

    @classmethod
    def of(cls, lost: RecordLoss) -> RecordPrivacy:
        """An exact loss, rounded up."""
        epsilon, delta, answers = lost
        return cls(epsilon=up(float(epsilon)), delta=min(1.0, up(float(delta))), answers=answers)

    @property
    def numbers(self) -> str:
        """Epsilon and delta, in words."""
        told = f", delta {number_text(rounded_up(self.delta), 3)}" if self.delta else ""
        return f"epsilon {number_text(rounded_up(self.epsilon, 4))}{told}"

    @property
    def sentence(self) -> str:
        """The promise, in words."""
        seen = "one answer" if self.answers == 1 else f"{self.answers:,} answers"
        factor, rare = factor_text(self.epsilon), number_text(rounded_up(self.delta), 3)
        told = f"the odds between any two values of one record move by at most {factor} times"
        if self.delta:
            told = (
                "any set of answers that has probability p where one record has one value has at most "
                f"{factor} p + {rare} where it has another"
            )
        return f"Single records: to somebody who knows all others of the true table and sees {seen}, {told}."


@dataclass(frozen=True, kw_only=True, repr=False)
class HiddenAnswer(Shown):
    """An answer of a hidden table; all of it may be published.

    Parameters
    ----------
    asked : str
        What was asked.
    value : object
        A number, or a tuple of them, one for each label; of a measurement what it returned.
    labels : tuple of str
        Empty for a measurement.
    scale : float or None
        Of the Laplace noise on each number; None for a measurement.
    epsilon_records, delta_records : float
        What it tells of one record of the table that stays inside.
    guarantee : Guarantee
        For what is hidden of the true table as a whole: of all answers together, once.
    alone : RecordPrivacy
        For single records of the true table, where this answer is the only one.
    records : RecordPrivacy
        The same of this answer and all that were asked before.
    """

    asked: str
    value: Any
    labels: tuple[str, ...]
    scale: float | None
    epsilon_records: float
    delta_records: float
    guarantee: Guarantee
    alone: RecordPrivacy
    records: RecordPrivacy

    @property
    def numbers(self) -> tuple[float, ...]:
        """The answer to a query, one number for each label; none of a measurement."""
        return () if not self.labels else (self.value,) if len(self.labels) == 1 else self.value

    @property
    def document(self) -> Document:
        """The answer, and both promises."""
        return service("table.answer_document")(self)

    def __repr__(self) -> str:
        shown = visible(str(self.value)) if self.labels else type(self.value).__name__
        return f"HiddenAnswer(single persons protected: {self.records.numbers}; {shown})"


# --------------------------------------------------------------------------------------------------
# The table, which nothing hands on.
# --------------------------------------------------------------------------------------------------


class _Kept:
    """A private table that no text, copy or pickle holds."""

    __slots__ = ("made",)

    def __init__(self, made: Any) -> None:
        # a table of Arrow never changes, is read by several threads at once, and leaves nothing in the caller's engine
        frame: Any = nw.from_native(made.table)
        whole: Any = collected(frame) if hasattr(frame, "collect") else frame
        self.made: Any = replace(made, table=whole.to_arrow())

    def __repr__(self) -> str:
        return "<a table that stays inside>"

    def __reduce__(self) -> NoReturn:
        raise RefusedError("a hidden table stays inside", found="an attempt to copy or store it", remedy="Ask it.")


class _Question(NamedTuple):
    """What is asked, found right before anything is charged or read."""

    asked: str
    labels: tuple[str, ...]
    scale: float | None
    epsilon: float
    delta: float
    answer: Callable[[], Any]


class HiddenTable(Shown):
    """A private table that nobody sees, which answers with differential privacy for single records.

    Whatever is asked, one guarantee holds for what the table as a whole hides. What single records lose adds up:
    `spent_records` says how much it is by now. Several threads may ask at once: each answer is charged before it is
    computed, as if they had asked in turn. The records are kept in memory.

    Parameters
    ----------
    made : PrivateTable
    sampler : Sampler, optional
        As of `bnpriv.release`.

    Notes
    -----
    docs/claims/private_table_hidden.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> kept = bp.private_table(bp.example("hospital"), bp.example_data("hospital"), epsilon=1.0, hidden=True)
    >>> answer = kept.ask("mean(days)", epsilon_records=0.5)
    >>> 2 < answer.value < 4, kept.spent_records.numbers
    (True, 'epsilon 0.5')
    """

    def __init__(self, made: Any, sampler: Sampler | None = None) -> None:
        self.rule: TableRule = made.rule
        self._base = loss_of_counts(self.rule)
        self._kept = _Kept(made)
        self._sampler: Sampler = sampler or SecureSampler()
        self._spent, self._lock = self._base, Lock()

    def __reduce__(self) -> NoReturn:
        return self._kept.__reduce__()

    def __repr__(self) -> str:
        promised = f"epsilon={self.guarantee.epsilon:g}"
        return f"HiddenTable(single persons protected: {self.spent_records.numbers}; {promised})"

    @property
    def guarantee(self) -> Guarantee:
        """What nobody can conclude from all answers together, however many there are."""
        return replace(self.rule.guarantee, beyond_text="", seen="all that is answered on the hidden table")

    @property
    def spent_records(self) -> RecordPrivacy:
        """What single records of the true table have lost to all answers so far."""
        return RecordPrivacy.of(self._spent)

    @property
    def document(self) -> Document:
        """How it was made, and what its answers promise."""
        return service("table.hidden_document")(self)

    def ask(
        self,
        asked: object,
        epsilon_records: float | None = None,
        *,
        columns: str | None = None,
        query: Query | str | None = None,
    ) -> HiddenAnswer:
        """Answer a query, or let a measurement of OpenDP answer; single records are protected too.

        Parameters
        ----------
        asked : Query, str or opendp.mod.Measurement
            A built-in query, answered for the true table with Laplace noise; or a measurement of the values of a
            column, or of the answer to a query.
        epsilon_records : float, optional
            The epsilon of the answer as a computation on the table that stays inside. Needed for a query; a measurement
            says it by its map, and is refused where it needs more.
        columns : str, optional
            The column that goes into a measurement, values as they count.
        query : Query or str, optional
            Whose exact answer goes into a measurement of a number, or of a vector by its 1-norm.

        Returns
        -------
        HiddenAnswer

        Raises
        ------
        ParameterError, QueryError
            If an argument does not fit; nothing is charged.
        RefusedError
            If a measurement is of other values than the schema allows, of another metric or measure, or needs a larger
            epsilon; nothing is charged.
        DataError
            If a measurement fails, without its own error, which may quote the table. It stays charged.
        """
        from opendp.mod import Measurement

        if isinstance(asked, Measurement):
            found = _of_measurement(self, asked, columns, query)
            if epsilon_records is not None and found.epsilon > checks.epsilon(epsilon_records):
                raise _refused(f"an epsilon of at most {epsilon_records:g}", f"{found.epsilon:g}", "Build it anew.")
        elif columns is None and query is None:
            found = _of_query(self, as_query(asked), checks.epsilon(epsilon_records))
        else:
            raise _refused("a measurement where columns or query are given", checks.type_text(asked), "Leave them out.")
        loss = self._loss(found.epsilon, found.delta)
        with self._lock:
            self._spent = spent = _sum(self._spent, loss)
        return HiddenAnswer(
            asked=found.asked,
            value=found.answer(),
            labels=found.labels,
            scale=found.scale,
            epsilon_records=found.epsilon,
            delta_records=found.delta,
            guarantee=self.guarantee,
            alone=RecordPrivacy.of(_sum(self._base, loss)),
            records=RecordPrivacy.of(spent),
        )

    def _loss(self, epsilon: float, delta: float) -> RecordLoss:
        """What records of the true table lose to an answer: where counts are shown, what two of the kept one do."""
        if not shows_counts(self.rule):
            return Fraction(epsilon), Fraction(delta), 1
        return *twice(Fraction(epsilon), Fraction(delta)), 1


def _withheld(work: Callable[[], Any]) -> Any:
    """Do what may fail with an error that quotes the table."""
    with suppress(Exception):
        return work()
    # raised here, not in a handler: an error that is handled stays reachable as __context__
    raise DataError(
        "what is asked must be answered, whatever the table holds",
        found="an error, which is withheld because it may quote the table",
        remedy="Try it on made-up records with the same columns. It counts as asked.",
    )


# --------------------------------------------------------------------------------------------------
# Queries: the exact answer for the true table, as far as the hidden one tells it, with Laplace noise.
# --------------------------------------------------------------------------------------------------


LEAST_SCALE = 1e-300
"""Of noise on what no record moves."""


class AnswerEstimate(NamedTuple):
    """The answer to a query for the true table, and how far a record of the hidden one moves it in the 1-norm.

    Where records have weights, half as far as two of them do, of two classes.
    """

    labels: tuple[str, ...]
    reach: float
    exact: Callable[[], list[float]]


def _of_query(table: HiddenTable, query: Query, epsilon: float) -> _Question:
    labels, reach, exact = estimate(table, query)
    noise = Laplace(max(up(reach / epsilon), LEAST_SCALE), len(labels))
    derived = derivation(query, table.rule.classes.schema)

    def answer() -> Any:
        values = exact()
        noisy = _withheld(lambda: noise.sample(values, table._sampler))  # pyright: ignore[reportPrivateUsage]
        found = noisy if derived is None else derived.values(noisy)
        return found[0] if len(found) == 1 else found

    told = labels if derived is None else derived.labels(labels)
    return _Question(str(query), told, noise.scale, epsilon, 0.0, answer)


def estimate(table: HiddenTable, query: Query) -> AnswerEstimate:
    """Work out how a query is answered from a hidden table, without reading it.

    Raises
    ------
    ParameterError, QueryError
        If the query does not fit.
    """
    if isinstance(query, Custom):
        raise ParameterError(
            "a hidden table answers sums of what records add",
            found="a function of your own",
            remedy="Make it a measurement of OpenDP, which says what it tells of one record.",
        )
    schema, made = table.rule.classes.schema, table._kept.made  # pyright: ignore[reportPrivateUsage]
    form, moved = normal_form(query, schema), record_sensitivity(query, schema.columns, schema).upper
    if not shows_counts(table.rule):
        return AnswerEstimate(
            form.labels, moved, lambda: [float(x) for x in evaluate(query, schema, made.table).values]
        )
    # weights are known, and at most one record of each of two classes is replaced; answers are rounded to doubles
    left = [(noisy, size) for noisy, size in zip(made.noisy, made.sizes, strict=True) if size]
    weights, law = sorted(Fraction(*each) for each in left)[-2:], table.rule.law
    if law is not None and not law.rounded.isdisjoint(table.rule.classes.columns):
        weights = [max(weights)] * 2 if weights else []  # a number on the grid may be one of another class
    weight, records = sum(weights, Fraction()) / 2, sum(noisy for noisy, _ in left)
    largest = [
        abs(shift)
        + sum((abs(weight) * records * most_of(form.terms[j], schema) for j, weight in row.items()), Fraction())
        for row, shift in zip(form.rows, form.offset, strict=True)
    ]
    reach = weight * Fraction(moved) + sum(Fraction(math.ulp(up(float(each)))) for each in largest)
    exact = partial(guarded, made.table, lambda: list(made.base_answer(query)))
    return AnswerEstimate(form.labels, up(float(reach)), exact)


# --------------------------------------------------------------------------------------------------
# Measurements of OpenDP: what may go in is decided by the schema, never by the records.
# --------------------------------------------------------------------------------------------------

REPLACED = {"ChangeOneDistance": 1, "HammingDistance": 1, "SymmetricDistance": 2, "InsertDeleteDistance": 2}
"""How far two tables are that differ in one record."""

OF_ANSWERS = ("AbsoluteDistance<f64>", "L1Distance<f64>")

ATOMS = ("f64", "f32", "i64", "i32", "String", "bool")
"""The types of values that go in."""


def _refused(needed: str, found: object, remedy: str) -> RefusedError:
    return RefusedError(
        f"differential privacy of single records needs {needed}", found=visible(str(found)), remedy=remedy
    )


def loss_of_measurement(asked: Any, moved: float | None = None) -> tuple[float, float]:
    """Epsilon and delta of a measurement of OpenDP by its own map: of replacing a record, or of moving its input.

    Raises
    ------
    RefusedError
        If it is of another metric or measure, or of no finite epsilon.
    """
    metric, measure = str(asked.input_metric.type), str(asked.output_measure.type)
    known = (*REPLACED,) if moved is None else OF_ANSWERS
    if metric not in known:
        remedy = "Build the measurement with symmetric_distance()."
        raise _refused(f"one of the metrics {checks.listing(known)}", metric, remedy)
    if measure not in ("MaxDivergence", "Approximate<MaxDivergence>"):
        remedy = "Convert it, for example by make_zCDP_to_approxDP and make_fix_delta."
        raise _refused("a measurement of MaxDivergence or Approximate(MaxDivergence)", measure, remedy)
    told: Any = None
    with suppress(Exception):
        told = asked.map(REPLACED[metric] if moved is None else moved)
    epsilon, delta = cast("tuple[Any, Any]", told if isinstance(told, tuple) else (told, 0.0))
    if not isinstance(epsilon, float) or not 0 <= epsilon < math.inf:
        raise _refused("a measurement of finite epsilon for one record", epsilon, "Bound its input, or add noise.")
    return epsilon, checks.delta(delta)


def _of_measurement(table: HiddenTable, asked: Any, columns: object, query: object) -> _Question:
    if query is None:
        loss, going_in = loss_of_measurement(asked), _column(table, asked.input_domain, columns)
    else:
        found = estimate(table, as_query(query))
        loss, going_in = loss_of_measurement(asked, found.reach), _answer(found, asked.input_domain)
    told = f"a measurement on {asked.input_domain}"
    return _Question(told, (), None, *loss, lambda: _at_once(_withheld(lambda: asked(going_in()))))


def _at_once(value: Any) -> Any:
    """Refuse what holds the table and goes on answering."""
    parts = (value, *(checks.listed(value) or ()))
    if any(type(part).__name__ in ("Queryable", "OdometerQueryable") for part in parts):
        raise _refused("measurements that answer at once", "a queryable", "Ask one by one. It counts as asked.")
    return value


def _answer(found: AnswerEstimate, domain: Any) -> Callable[[], Any]:
    """The answer to a query, to go into a measurement of a number or a vector."""
    single, numbers = not hasattr(domain, "element_domain"), len(found.labels)
    size = 1 if single else domain.size or numbers
    if size != numbers or not _fits(domain if single else domain.element_domain, [-1e300, 1e300]):
        remedy = "Build it on atom_domain(T=float, nan=False), in a vector_domain for several."
        raise _refused(f"a domain of {numbers:,} doubles without bounds", domain, remedy)
    return lambda: found.exact()[0] if single else found.exact()


def _column(table: HiddenTable, domain: Any, given: object) -> Callable[[], Any]:
    """A column, to go into a measurement; every value that the schema allows must be in its domain."""
    from opendp.mod import VectorDomain

    schema, made = table.rule.classes.schema, table._kept.made  # pyright: ignore[reportPrivateUsage]
    listed = [given] if isinstance(given, str) else list(checks.listed(given) or ())
    names = cast("list[str]", listed)
    checks.subset("columns", names, schema.columns, error=ParameterError)
    records = sum(made.sizes)
    fits = isinstance(domain, VectorDomain) and len(names) == 1 and domain.size in (None, records)
    if not fits or not _holds(domain.element_domain, schema[names[0]]):
        remedy = f"Build it on a vector of all that the schema allows, for {records:,} records, and pass columns=."
        raise _refused("a domain of all that one column may hold", domain, remedy)
    name, column, kind = names[0], schema[names[0]], str(domain.element_domain.carrier_type)
    return lambda: _atoms(canonical_table({name: column}, made.table)[name].tolist(), column, kind)


def _holds(element: Any, column: Column) -> bool:
    """Whether every value of a column, as it counts, is a member of a domain; a gap is NaN, or its mark."""
    ends = column.outcomes if isinstance(column, Categorical) else [column.lower, column.upper]
    gap = [math.nan] if has_gaps(column) and not isinstance(column, Categorical) else []
    kind = str(element.carrier_type)
    with suppress(ValueError):
        return kind in ATOMS and _fits(element, _atoms([*ends, *gap], column, kind))
    return False


def _fits(element: Any, values: Sequence[Any]) -> bool:
    """Whether declared values are members of a domain of atoms: bounds are intervals, so that ends tell for all."""
    from opendp import domains
    from opendp.mod import AtomDomain

    opendp = cast(Any, domains)
    with suppress(Exception):
        return isinstance(element, AtomDomain) and bool(opendp._member(opendp.vector_domain(element), list(values)))
    return False


def _atoms(values: Iterable[Any], column: Column, kind: str) -> list[Any]:
    """Values in the type of an atom."""
    if kind in ("f64", "f32"):
        return list(map(float, values))
    return list(map(int, values)) if is_whole(column) and kind in ("i64", "i32") else list(values)
