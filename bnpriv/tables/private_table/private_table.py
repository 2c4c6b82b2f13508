"""Private tables: a whole table that may be handed on, because what is hidden was made private once."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import narwhals as nw
import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.interrupts import noting
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import Sampler, SecureSampler
from bnpriv.core.queries.asked import as_query, number_labels
from bnpriv.core.queries.base import Indicator, IntegerTerm, Query, columns_of, normal_form
from bnpriv.core.queries.builtin import Custom, derivation
from bnpriv.core.release import LedgerAccount, LedgerBudget, check_no_ledger
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, FileError, ParameterError, Refusal, RefusedError
from bnpriv.paths import user_path
from bnpriv.progress import progress
from bnpriv.render.outputs import outputs, require_writable
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import cleaned, integer_terms
from bnpriv.tables.private_table.counts import MoveNoise
from bnpriv.tables.private_table.hidden import HiddenTable, for_records
from bnpriv.tables.private_table.made_up import ClassMoments, moments
from bnpriv.tables.private_table.open_columns import OpenTable, open_table
from bnpriv.tables.private_table.rows import arrow, classed_rows, read_files
from bnpriv.tables.private_table.rule import FORMS, Hidden, TableForm, TableRule, chosen_rule, hidden_by, rules_of
from bnpriv.tables.reader import collected, opened
from bnpriv.text import number_text, shorter, visible

if TYPE_CHECKING:
    from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
    from bnpriv.render.document import Document, Section
    from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# Private tables: a whole table that may be handed on, because what is hidden was made private once.
# --------------------------------------------------------------------------------------------------

OPEN_COLUMNS = "open columns"
"""The form of a table of which some columns go out as they are, for secrets that are parameters of a network."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PrivateTable(Shown):
    """A table that may be handed on, for any use, any number of times.

    Parameters
    ----------
    table : table or Path
        Of the engine of the data; or the file that was written.
    rule : TableRule
        How it was made.
    sizes : tuple of int
        How many records of each class it has.
    noisy : tuple of int
        How many records of each class the true table has, with noise.
    mark : bnpriv.ledger.values.Mark, optional
        Where it stands in a ledger.
    framework : Framework, optional
        By whose first model it is estimated how much its answers err.
    """

    table: Any = field(repr=False)
    rule: TableRule
    sizes: tuple[int, ...]
    noisy: tuple[int, ...]
    mark: Any = None
    framework: Any = field(default=None, repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """What nobody can conclude from it, whatever is made of it."""
        return self.rule.guarantee

    @property
    def schema(self) -> Schema:
        """The columns of the table, and its number of records."""
        declared = self.rule.classes.schema
        return Schema(records=sum(self.sizes), columns=declared.columns, dialect=declared.dialect)

    @property
    def weights(self) -> Mapping[str, float]:
        """How many records of the true table each one of a class stands for: 1 in a filled table."""
        labels = self.rule.classes.labels
        return {label: float(weight) for label, weight in zip(labels, self._weights, strict=True)}

    @cached_property
    def _weights(self) -> tuple[Fraction, ...]:
        # where nothing is left of a class nothing stands for it
        both = zip(self.noisy, self.sizes, strict=True)
        return tuple(Fraction(noisy, size) if size else Fraction(1) for noisy, size in both)

    def answer(self, query: Query | str) -> TableAnswer:
        """An answer for the true table, estimated from this one; it costs nothing.

        Every record counts as often as the true table has records of its class for each one here.

        Parameters
        ----------
        query : Query or str
            Of the built-in ones.

        Returns
        -------
        TableAnswer
            The numbers, as a tuple; print it for their labels and how much they err.

        Raises
        ------
        QueryError
            If the query does not fit the schema.
        ParameterError
            If it is a function of the caller's own: apply it to `table`.
        """
        asked = as_query(query)
        if isinstance(asked, Custom):
            raise ParameterError(
                "an answer is estimated by counting records",
                found="a function of your own",
                remedy="Apply it to .table.",
            )
        derived, base = derivation(asked, self.rule.classes.schema), self.base_answer(asked)
        return TableAnswer(self, asked, base if derived is None else derived.values(base))

    def base_answer(self, query: Query) -> tuple[float, ...]:
        """The sums that an answer is computed from, estimated for the true table.

        Parameters
        ----------
        query : Query
        """
        form = normal_form(query, self.rule.classes.schema)
        sums = _sums_by_class(self, form.terms)
        weighted = [
            sum((weight * each for weight, each in zip(self._weights, row, strict=True)), Fraction(0)) for row in sums
        ]
        return tuple(float(number) for number in form.answer(weighted))

    def to_parquet(self, path: str | Path) -> Path:
        """Write the table to a Parquet file.

        Raises
        ------
        ParameterError, FileError
            If its name does not end in .parquet, or it cannot be written; what was there before stays.
        """
        target = parquet_file(path)
        with outputs(target, reading=[self.table] if isinstance(self.table, Path) else []) as out:
            out.fill(target, lambda place: _written(self.table, place))
        return target

    def report(self, *queries: Query | str) -> TableReport:
        """The same with answers for the true table, estimated from this one.

        Parameters
        ----------
        *queries : Query or str
            As `answer` takes them.
        """
        asked = [as_query(query) for query in queries]
        return TableReport(made=self, answers={str(query): self.answer(query) for query in asked})

    @property
    def provenance(self) -> Json:
        """How it was made, as plain values that may be published, and that `bnpriv.verify` replays."""
        return self.document.data

    @property
    def document(self) -> Document:
        """How it was made, and what it promises."""
        return service("table.document")(self)

    def statement(self, decided: Mapping[str, str] | None = None, framework: object = None) -> Shown:
        """One page for a data-protection officer, as `Release.statement`.

        Parameters
        ----------
        decided : mapping from str to str, optional
            Who decided what, and why.
        framework : Framework, optional
            What it was made of, whose file says the rest.
        """
        return service("table.statement")(self, decided, framework)

    def __repr__(self) -> str:
        told = f"{sum(self.sizes):,} records, epsilon={self.guarantee.epsilon:g}"
        return f"PrivateTable(single persons not protected; {self.rule.form!r}, {told})"


class TableAnswer(tuple[float, ...]):
    """The numbers of an answer for the true table; print it for their labels and how much they err.

    Parameters
    ----------
    made : PrivateTable
    query : Query
    values : iterable of float

    Examples
    --------
    >>> import bnpriv as bp
    >>> made = private_table(bp.example("hospital"), bp.example_data("hospital"), epsilon=1.0, records_may_be_seen=True)
    >>> made.answer("mean(days)").labels, round(made.answer("mean(days)").error, 3)
    (('mean(days)',), 0.016)
    """

    made: PrivateTable
    query: Query

    def __new__(cls, made: PrivateTable, query: Query, values: Iterable[float]) -> Self:  # noqa: D102
        answer = super().__new__(cls, values)
        answer.made, answer.query = made, query
        return answer

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (tuple(self),)  # copies and pickles are the numbers, without the table

    @property
    def labels(self) -> tuple[str, ...]:
        """What each number is."""
        schema = self.made.rule.classes.schema
        labels, derived = number_labels(self.query, schema), derivation(self.query, schema)
        return labels if derived is None else derived.labels(labels)

    @property
    def error(self) -> float | None:
        """The mean error, of several numbers in the 2-norm: an estimate by the first model; None without one."""
        rule, framework = self.made.rule, self.made.framework
        if framework is None:
            return None
        try:
            return expected_error(rule, moments(framework, self.query, rule.classes.predicates))
        except BnprivError:
            return None

    def __str__(self) -> str:
        both = zip(self.labels, self, strict=True)
        lines = [*shorter([f"{visible(label)} = {number_text(value)}" for label, value in both], TABLE_NUMBERS)]
        if (error := self.error) is not None:
            whole = " of all numbers together" if len(self) > 1 else ""
            lines.append(f"Mean error{whole}: about {number_text(error, 2)}, estimated by the first model.")
        return "\n".join([*lines, "It is worked out of the private table, and costs nothing."])


TABLE_NUMBERS = 5
"""Numbers of an answer that are printed."""


@dataclass(frozen=True, kw_only=True)
class TableReport(Shown):
    """A private table with some answers for the true one.

    Parameters
    ----------
    made : PrivateTable
    answers : mapping from str to tuple of float
        By the texts of the queries.
    """

    made: PrivateTable
    answers: Mapping[str, tuple[float, ...]]

    @property
    def document(self) -> Document:
        """How the table was made, what it promises, and the answers."""
        return service("table.report_document")(self)


def private_table(
    framework_or_secret: object,
    data: object,
    epsilon: float,
    delta: float = 0.0,
    form: str | None = None,
    *,
    schema: Schema | None = None,
    law: object = None,
    shares: Query | str | None = None,
    records_may_be_seen: bool = False,
    hidden: bool = False,
    output: str | Path | None = None,
    sampler: Sampler | None = None,
    ledger: str | Path | LedgerAccount | None = None,
    budget: float | LedgerBudget | None = None,
    name: str = "data",
    key: str | None = None,
) -> PrivateTable | HiddenTable | OpenTable:
    """Make the numbers of records of some classes private once, and hand on a whole table.

    Given the class of every record, nothing else in a table of independent records depends on how many there are of
    each. So the table may be used for anything, any number of times: statistics, regressions, trained models, itself.
    That is for one table of a data set: the promises of two, or of a table and other releases, do not add up. A ledger
    counts them, and refuses a second.

    Parameters
    ----------
    framework_or_secret : DatasetAttributePrivacy, Secret, or sequence of Secret
        What is hidden; of a DistributionPrivacy whose distributions differ in one share, with `shares`. The classes are
        the cells of all secrets together.
    data : table, str or path
        As of `release`.
    epsilon, delta : float
    form : {"fill", "trim", "fill and trim", "open columns"}, optional
        "fill" makes up records that are missing, by the law of a record given its class; "trim" makes up nothing and
        needs no model, but a delta, and leaves out more. None takes "trim" where there is a delta, else "fill". Of a
        DistributionalAttributePrivacy "open columns": those that may go out as they are, the others drawn given these.
    schema : Schema, optional
        The columns that are handed on and the number of records, for secrets by themselves.
    law : network, optional
        The law of a record, for secrets by themselves: a network of records, learned from other data.
    shares : Query or str, optional
        For a DistributionPrivacy: the count whose share the distributions differ in.
    records_may_be_seen : bool
        Declares that single persons need no protection: real records are handed on.
    hidden : bool
        Keep the table inside; it is asked with record-level differential privacy.
    output : str or path, optional
        A Parquet file to write.
    sampler : Sampler, optional
        As of `release`; which records are kept is always drawn from the system's randomness.
    ledger, budget, name, key
        As of `release`. With the same key, and `output` as it was written, the table is opened again and nothing is
        charged.

    Returns
    -------
    PrivateTable, HiddenTable or OpenTable

    Raises
    ------
    RefusedError
        If the form cannot be, or real records may not be seen; or if it passes the budget, or cannot be counted beside
        what was released before.
    ParameterError, SecretError, FrameworkError
        If an argument does not fit.
    DataError, FileError
        If the data cannot be read, have not the declared columns and number of records, or the output cannot be
        written; then nothing is.
    LedgerError
        If the ledger cannot be used as it is, or a key names another release or a table whose file is not there.

    Notes
    -----
    docs/claims/private_table.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> made = private_table(bp.example("hospital"), bp.example_data("hospital"), epsilon=1.0, records_may_be_seen=True)
    >>> made.rule.form, sum(made.sizes), made.table.column_names == list(bp.example("hospital").schema.columns)
    ('fill', 10000, True)
    """
    if not (checks.flag("hidden", hidden) or checks.flag("records_may_be_seen", records_may_be_seen)):
        raise RefusedError(
            "real records are handed on, so that single persons are not protected",
            found="records_may_be_seen=False",
            remedy="Pass records_may_be_seen=True, or hidden=True for a table that stays inside.",
        )
    file = None if output is None else parquet_file(output)
    arrow()  # what is not installed is found out before anything is charged
    if form == OPEN_COLUMNS:
        others = {"law": law, "shares": shares, "schema": schema, "sampler": sampler}
        others |= {"ledger": ledger, "budget": budget, "key": key, "hidden": hidden or None, "delta": delta or None}
        if given := [name for name, value in others.items() if value is not None]:
            raise ParameterError(
                "a table of open columns takes a framework, data and epsilon", found=given[0], remedy="Leave it out."
            )
        return open_table(cast("DistributionalAttributePrivacy", framework_or_secret), data, epsilon, output=file)
    if hidden and output is not None:
        raise ParameterError("a hidden table stays inside", found="an output", remedy="Leave output or hidden out.")
    asked = hidden_by(framework_or_secret, schema, law, shares)
    with progress("choosing a form"):
        rule = chosen_rule(asked, form, epsilon, delta)
    rule = for_records(rule, share=asked.share) if hidden else rule
    for method in () if sampler is None else ("discrete_laplace", "below"):
        if isinstance(sampler, type) or not callable(getattr(sampler, method, None)):
            raise ParameterError(
                f"a sampler draws by its method {method}", found=checks.type_text(sampler), remedy="Leave it out."
            )
    if ledger is None:
        check_no_ledger(budget, key)
        untold = "Nothing was charged. There is no ledger, and no table was returned."
        with noting(lambda: untold), progress("making the table"):
            service("table.refuse_learned")(asked, data)
            made = made_by(rule, data, output=file, sampler=sampler)
    else:
        counted: Mapping[str, Any] = {"ledger": ledger, "budget": budget, "name": name, "key": key}
        with progress("making the table"):
            made = service("table.charged")(rule, asked, data, output=file, inside=hidden, sampler=sampler, **counted)
    return HiddenTable(made, sampler) if hidden else replace(made, framework=asked.framework)


def parquet_file(output: object) -> Path:
    """The path of an output, whose name says what it is: by its end it is known what a file of a table holds."""
    if not isinstance(output, (str, os.PathLike)):
        raise ParameterError(
            "an output is a path", found=checks.type_text(output), remedy="Write output='out.parquet'."
        )
    file = user_path(cast("str | os.PathLike[str]", output))
    if file.suffix.lower() != ".parquet":
        raise FileError("a private table is written as .parquet", found=file.name, remedy="Rename the output.")
    return file


def made_by(rule: TableRule, data: object, *, output: Path | None, sampler: Sampler | None) -> PrivateTable:
    """Make a private table by a rule; the one place that reads the data."""
    schema, drawing = rule.classes.schema, sampler or SecureSampler()
    if output is not None:
        require_writable(output, read_files(data, output))
    names, predicates = tuple(schema.columns), rule.classes.predicates
    on_grid = frozenset[str]() if rule.law is None else rule.law.rounded
    with classed_rows(data, schema, names, predicates, as_they_count=rule.as_they_count, on_grid=on_grid) as rows:
        noisy = rule.noise.noisy(rows.counts, drawing)
        keep, missing = rule.counts(rows.counts, noisy)
        made_up = {} if rule.law is None else rule.law.draw(missing, drawing)
        table = rows.handed_on(keep, made_up, output=output)
    return PrivateTable(table=table, rule=rule, sizes=rule.sizes(noisy), noisy=noisy)


def _sums_by_class(made: PrivateTable, terms: Sequence[IntegerTerm]) -> list[list[int]]:
    """The sum of every term over the records of each class."""
    classes = made.rule.classes
    told = [Indicator(predicate) for predicate in classes.predicates]
    asked = set[str]().union(*(columns_of(term) for term in (*terms, *told)))
    columns = {name: column for name, column in classes.schema.columns.items() if name in asked}
    if not sum(made.sizes):
        return [[0] * len(told) for _ in terms]
    with opened(made.table, columns, doubles=True) as frame:
        clean = cleaned(frame, columns)
        numbers = clean.select(*integer_terms([*terms, *told], clean, columns, classes.schema.records))
        products = [
            (nw.col(f"t{j}").cast(nw.Int64) * nw.col(f"t{len(terms) + a}").cast(nw.Int64)).sum().alias(f"s{j}_{a}")
            for j in range(len(terms))
            for a in range(len(told))
        ]
        found = collected(numbers.select(*products)).row(0)
    return [[int(each) for each in found[j * len(told) : (j + 1) * len(told)]] for j in range(len(terms))]


def _written(table: object, place: Path) -> None:
    if isinstance(table, Path):
        shutil.copyfile(table, place)
        return
    frame = cast("nw.DataFrame[Any] | nw.LazyFrame[Any]", nw.from_native(cast(Any, table)))
    (collected(frame) if isinstance(frame, nw.LazyFrame) else frame).write_parquet(place)


# --------------------------------------------------------------------------------------------------
# What a private table would be like, of every form: told from declarations alone, before any data are read.
# --------------------------------------------------------------------------------------------------

DRAWS = 1_000
"""Draws of the noise that expected errors are averaged over."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TablePlan(Shown):
    """What each form of a private table would leave out, make up and err by.

    Parameters
    ----------
    hidden : Hidden
    epsilon, delta : float
    forms : mapping from str to TableRule or Refusal
    best : TableRule
        What `private_table` takes if no form is asked for.
    queries : tuple of Query
        What the table is to answer.
    """

    hidden: Hidden
    epsilon: float
    delta: float
    forms: Mapping[TableForm, TableRule | Refusal]
    queries: tuple[Query, ...] = ()

    @property
    def best(self) -> TableRule:
        """What `private_table` takes if no form is asked for.

        Raises
        ------
        RefusedError
            If no form can be.
        """
        return chosen_rule(self.hidden, None, self.epsilon, self.delta)

    def left_out(self, form: TableForm) -> float:
        """How many records are left out on average, as far as that is known."""
        rule = self.forms[form]
        assert isinstance(rule, TableRule)
        return rule.given_up * len(rule.classes) if rule.given_up else rule.noise.mean_moves

    def made_up(self, form: TableForm) -> float:
        """How many records are made up on average."""
        rule = self.forms[form]
        assert isinstance(rule, TableRule)
        if rule.law is None:
            return 0.0
        return rule.noise.beyond(rule.given_up) if isinstance(rule.noise, MoveNoise) else rule.noise.mean_moves

    @cached_property
    def errors(self) -> Mapping[TableForm, tuple[float, ...]]:
        """How far the answer to every query is from the true one on average, estimated by the first model.

        Of several numbers the mean 2-norm, as of a calibration; nothing where no model is known.
        """
        known = self.hidden.framework
        if known is None or not self.queries:
            return {}
        found = [moments(known, query, self.hidden.classes.predicates) for query in self.queries]
        rules: dict[TableForm, TableRule] = {
            form: rule for form, rule in self.forms.items() if isinstance(rule, TableRule)
        }
        return {form: tuple([expected_error(rule, each) for each in found]) for form, rule in rules.items()}

    @property
    def document(self) -> Document:
        """The forms side by side."""
        return service("table.plan_document")(self)

    def __repr__(self) -> str:
        possible = [form for form in FORMS if isinstance(self.forms[form], TableRule)]
        return f"TablePlan({', '.join(possible) or 'no form'})"


def plan_table(
    framework_or_secret: object,
    epsilon: float,
    delta: float = 0.0,
    *,
    queries: Iterable[Query | str] = (),
    schema: Schema | None = None,
    law: object = None,
    shares: Query | str | None = None,
) -> TablePlan:
    """Say what a private table would be like; no data are touched.

    Parameters
    ----------
    framework_or_secret, epsilon, delta, schema, law, shares
        As of `private_table`.
    queries : iterable of Query or str
        What the table is to answer: the expected error of each is worked out.

    Returns
    -------
    TablePlan

    Raises
    ------
    ParameterError, SecretError, FrameworkError
        If an argument does not fit.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = plan_table(bp.example("hospital"), epsilon=1.0, queries=["mean(days)"])
    >>> found.best.form, round(found.made_up("fill"))
    ('fill', 100)
    """
    epsilon, delta = checks.epsilon(epsilon), checks.delta(delta)
    if not isinstance(queries, (str, Query, Iterable)):
        raise ParameterError(
            "queries are listed", found=checks.type_text(queries), remedy="Write queries=['mean(days)']."
        )
    hidden = hidden_by(framework_or_secret, schema, law, shares)
    with progress("working out every form"):
        forms = rules_of(hidden, epsilon, delta)
    return TablePlan(
        hidden=hidden,
        epsilon=epsilon,
        delta=delta,
        forms=forms,
        queries=tuple(as_query(query) for query in ([queries] if isinstance(queries, (str, Query)) else queries)),
    )


@dataclass(frozen=True, kw_only=True)
class TableBeside:
    """What a private table of the same strength would be, beside the release of one answer.

    Parameters
    ----------
    calibration : Calibration
        Of the answer.
    rule : TableRule
        Of the table.
    error : float
        How far the answer from the table is from the true one on average.
    """

    calibration: Calibration
    rule: TableRule
    error: float

    @property
    def section(self) -> Section:
        """The table in words, beside the release."""
        return service("table.beside_section")(self)

    def to_json(self) -> Json:
        """The same as plain values."""
        guarantee = self.rule.guarantee
        return {"form": self.rule.form, "epsilon": guarantee.epsilon, "delta": guarantee.delta, "error": self.error}


def table_beside(calibration: Calibration) -> TableBeside | None:
    """The private table that promises as much as a release; None where there is none, or a class would be empty.

    Parameters
    ----------
    calibration : Calibration
    """
    try:
        found = plan_table(calibration.framework, calibration.epsilon, calibration.delta, queries=[calibration.query])
        rule = found.best
        error = found.errors[rule.form][0]
    except BnprivError:
        return None
    return TableBeside(calibration=calibration, rule=rule, error=error) if math.isfinite(error) else None


def expected_error(rule: TableRule, known: ClassMoments, model: int = 0) -> float:
    """How far an answer from the table is from that of the true one, on average over noise and tables of a model.

    Given the noise the error is nearly normal: records that are made up, or that others stand for, add their spread.
    """
    records = rule.classes.schema.records
    counts = _rounded(known.shares[model] * records, records)
    noisy = rule.noise.usual(counts, DRAWS)
    moved = noisy - np.array(counts)
    sizes = np.array([rule.sizes(each) for each in noisy.tolist()])
    if (sizes.min(axis=1) == 0).any() and rule.given_up:
        return math.inf
    missing = np.maximum(0, sizes - counts)
    absent = np.maximum(0, np.array(counts) - sizes)
    # a record that is left out is stood for by the others of its class, which spread by as much
    spread = missing + (absent * (np.array(counts) / np.maximum(1, sizes)) if rule.given_up else absent)
    shift = (moved if rule.given_up else sizes - np.array(counts)) @ known.means[model]
    variance: FloatArray = spread @ known.variances[model]
    lengths = np.sqrt((shift**2 + variance).sum(axis=1))
    if shift.shape[1] > 1:
        return float(lengths.mean())
    # the mean size of a normal number with this mean and deviation
    return math.fsum(map(_mean_size, shift[:, 0].tolist(), np.sqrt(variance[:, 0]).tolist())) / DRAWS


def _mean_size(mean: float, deviation: float) -> float:
    if not deviation:
        return abs(mean)
    ratio = mean / deviation
    return deviation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + mean * math.erf(ratio / math.sqrt(2))


def _rounded(numbers: FloatArray, total: int) -> list[int]:
    """Whole numbers near some that have a sum."""
    found = np.floor(numbers).astype(int)
    found[int(np.argmax(numbers))] += total - int(found.sum())
    return found.tolist()
