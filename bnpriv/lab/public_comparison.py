"""Does a public table contradict the model where one query looks? Exact tests of what one record adds, given its class.

docs/claims/public_comparison.md has the proof that a true model is contradicted in at most 1 % of tables.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray, IntArray
from bnpriv.core.evidence.constraints import Constraint, RecordPair, log_ratio
from bnpriv.core.evidence.laws import OTHERS, cells_of, class_laws, class_query, constraints_of, laws, moves
from bnpriv.core.evidence.records import rounding_of
from bnpriv.core.frameworks.question import Framework, require_framework, require_query
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.law_mechanisms import record_loss
from bnpriv.core.noise import Laplace, NoNoise
from bnpriv.core.queries.asked import stack
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.secrets import Secret
from bnpriv.core.whole_numbers import nearest_doubles
from bnpriv.errors import BnprivError, ParameterError, Refusal, RefusedError
from bnpriv.kind import notion_of
from bnpriv.kinds.public_records import PublicRecords, public_records_of, ranked
from bnpriv.mechanisms.plan import plan
from bnpriv.render.document import Cell, Code, Document, Paragraph, Section, Table, fact
from bnpriv.render.figures import interval_bar
from bnpriv.shown import Shown
from bnpriv.tables.evaluate import guarded, values_as_they_count
from bnpriv.tables.readings import dialect_of
from bnpriv.text import factor_text, full_text, nats_text, number_text, percent_text
from bnpriv.views.curves import law_pairs, losses_of

if TYPE_CHECKING:
    import pandas as pd

FIT_LEVEL = 0.01
"""In at most this share of tables a true model is contradicted anywhere."""

MOST_SHOWN, MOST_JSON_ROWS = 12, 1000
"""Rows that are shown, and that JSON lists."""

CHANCE_ROUNDING = 1e-12
"""Relative rounding of chances beside the error that their law knows."""


RULE = (
    "Records are taken as independent, gaps and values out of range as a release counts them. A true model is "
    "contradicted in at most 1 % of tables, over all tests together, and a class of "
    "models only where what lies between its models is too. "
    "Ranges are those of 20 draws of the table's weights. What is not contradicted is not thereby true."
)

LEAST_P_VALUE = 1e-9
"""P-values below it are not told apart from it in words."""


class Estimate(NamedTuple):
    """A number with the ends between which sampling leaves it."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        between = f"{number_text(self.low)} to {number_text(self.high)}"
        return f"{number_text(self.value)} ({'sampling error not known' if math.isnan(self.low) else between})"


class EventRow(NamedTuple):
    """How often records of a class do something, in the public table and in the model.

    The ends are exact 99 % limits (Clopper and Pearson) of the share, for all rows at once; `adjusted` is the p-value
    times the number of rows.
    """

    protected: str
    given: str
    adds: str
    records: int
    seen: int
    share: float
    low: float
    high: float
    model: float
    log_ratio: float
    p_value: float
    adjusted: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassLaw:
    """What a record of one class adds to an answer, in a public table and under every model.

    Parameters
    ----------
    protected, name : str
        The protected column, and the class in words.
    records : int
        Public records of this class.
    values : ndarray of shape (events, numbers)
        What a record adds.
    at_most : ndarray of bool, shape (events,)
        Whether the event is to add at most that, and not just that.
    seen : ndarray of int, shape (events,)
        Public records that do.
    chances : ndarray of shape (models, events)
        How probable it is under each model.
    errors : ndarray of shape (models, 1)
        Their largest relative errors.
    """

    protected: str
    name: str
    records: int
    values: FloatArray
    at_most: NDArray[np.bool_]
    seen: IntArray
    chances: FloatArray
    errors: FloatArray

    @cached_property
    def p_values(self) -> FloatArray:
        """Twice the smaller tail of the binomial law under each model, of shape (models, events), rounded up."""
        return self._tails(*self._ends)

    @cached_property
    def p_values_between(self) -> FloatArray:
        """The same under any model between those that are declared, of shape (events,)."""
        low, high = self._ends
        return self._tails(low.min(axis=0), high.max(axis=0))

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        return np.maximum(self.chances * (1 - self.errors), 0.0), np.minimum(self.chances * (1 + self.errors), 1.0)

    def _tails(self, low: FloatArray, high: FloatArray) -> FloatArray:
        from scipy.special import betainc

        more, less = self.seen, self.records - self.seen
        # the tail with no end is certain; its place is taken by numbers that the function takes
        above = np.where(more == 0, 1.0, betainc(np.maximum(more, 1), less + 1, high))
        below = np.where(less == 0, 1.0, betainc(np.maximum(less, 1), more + 1, 1 - low))
        return np.minimum(2 * (1 + CHANCE_ROUNDING) * np.minimum(above, below), 1.0)

    def limits(self, miss: float) -> tuple[FloatArray, FloatArray]:
        """Exact limits of every share, which miss it with probability `miss` at most."""
        from scipy.special import betaincinv

        more, less = self.seen, self.records - self.seen
        low = np.where(more == 0, 0.0, betaincinv(np.maximum(more, 1), less + 1, miss / 2))
        high = np.where(less == 0, 0.0, betaincinv(np.maximum(less, 1), more + 1, miss / 2))
        return low, 1 - high

    def adds(self, event: int) -> str:
        """What an event is, in words."""
        shown = [number_text(value) for value in self.values[event].tolist()]
        return ("at most " if self.at_most[event] else "") + (shown[0] if len(shown) == 1 else f"({', '.join(shown)})")

    def rows(self, model: int, tests: int) -> Iterator[EventRow]:
        """The events under one model."""
        shares, chances = self.seen / self.records, self.chances[model]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.nan_to_num(np.log(shares) - np.log(chances), nan=0.0, posinf=np.inf, neginf=-np.inf)
        p_values = self.p_values[model]
        ends = self.limits(FIT_LEVEL / tests)
        parts = self.seen, shares, *ends, chances, logs, p_values, np.minimum(tests * p_values, 1.0)
        for event, (seen, *numbers) in enumerate(zip(*(part.tolist() for part in parts), strict=True)):
            yield EventRow(self.protected, self.name, self.adds(event), self.records, seen, *numbers)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PublicComparison(Shown):
    """One query under the model and in a public table; print it.

    Parameters
    ----------
    query : Query
    records : int
        Of the public table.
    classes : tuple of ClassLaw
        What is compared.
    networks : int
        How many of the models are those of the network; the others are draws of public records.
    ratios : mapping from str to (Estimate, Estimate)
        For each protected column that is counted the largest log ratio of what one record adds if it is counted and if
        it is not: the largest and the least of all models, and that of the table.
    told : Estimate or None
        The epsilon of the calibration if the table's frequencies were true, rounded up; None where it is not known. As
        for the ratio of the table, the ends are those of draws of the Bayesian bootstrap.
    calibration : Calibration or None
        The best one under the framework.
    """

    query: Query
    records: int
    classes: tuple[ClassLaw, ...]
    networks: int
    ratios: Mapping[str, tuple[Estimate, Estimate]]
    told: Estimate | None
    calibration: Calibration | None

    @property
    def tests(self) -> int:
        """How many events are tested under each model."""
        return sum(len(each.seen) for each in self.classes)

    @cached_property
    def p_values(self) -> tuple[float, ...]:
        """For every model how often tables of it deviate as much anywhere, at most (Bonferroni)."""
        least = np.min([each.p_values.min(axis=1) for each in self.classes], axis=0)
        return tuple(np.minimum(self.tests * least, 1.0).tolist())

    @property
    def contradicted(self) -> bool:
        """Whether some share is, at level 1 %, outside what the models and all that lies between them say."""
        return self.tests * min(float(each.p_values_between.min()) for each in self.classes) <= FIT_LEVEL

    @property
    def best_model(self) -> int:
        """The model of the network that the table contradicts least."""
        return int(np.argmax(self.p_values[: self.networks]))

    @cached_property
    def rows(self) -> tuple[EventRow, ...]:
        """All events under the best model, the most doubtful first."""
        every = [row for each in self.classes for row in each.rows(self.best_model, self.tests)]
        return tuple(sorted(every, key=lambda row: (row.p_value, -abs(row.log_ratio))))

    @property
    def farthest(self) -> tuple[EventRow, ...]:
        """For each class what was seen and has the largest absolute log ratio."""
        ordered = sorted(self.rows, key=lambda row: (row.seen > 0, abs(row.log_ratio)))
        return tuple({(row.protected, row.given): row for row in ordered}.values())

    def require(self, *, despite: bool) -> None:
        """Refuse to release under a model that the table contradicts.

        Raises
        ------
        RefusedError
            Unless that is waived, or the noise needs no model.
        """
        needed = self.calibration is None or self.calibration.mechanism.needs_model
        if self.contradicted and needed and not despite:
            raise RefusedError(
                "the public table must not contradict the model for this query",
                found="; ".join(self._findings),
                remedy="Correct the model, or let these records be one (bnpriv init --learn); despite_public=True, in "
                "the shell --despite-public, waives this.",
            )

    @property
    def section(self) -> Section:
        """What a plan says of it."""
        told = Paragraph(f"{self._headline}. {self._lead}")
        return Section(title="The model and the public table", blocks=(told, *self.document.answer))

    def __repr__(self) -> str:
        return f"PublicComparison({self.query}, contradicted={self.contradicted}, told={self.told})"

    def to_pandas(self) -> pd.DataFrame:
        """A table of `rows`."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=EventRow._fields)

    @property
    def document(self) -> Document:
        """What both say, how far they differ, and what that would cost."""
        shown = Table(
            caption="What one record adds, the most doubtful first",
            header=("records", "add", "of", "public table", "99 % limits", "model", "log ratio", "adjusted p"),
            rows=[_cells(row) for row in self.rows[:MOST_SHOWN]],
            numbers=(2, 3, 5, 6, 7),
            more=f"{len(self.rows) - MOST_SHOWN:,} more; see to_pandas()." if len(self.rows) > MOST_SHOWN else "",
            drawn="drawn from 0 to 100 %: the limits of the table, and a line where the model is",
        )
        return Document(
            kind="public comparison",
            kicker=("bnpriv comparison with a public table: ", Code(str(self.query))),
            headline=self._headline,
            tone="poor" if self.contradicted else "good",
            lead=self._lead,
            short=(self._lead, _next(self)),
            answer=(shown, Paragraph(RULE, soft=True)),
            facts=(
                *(
                    fact(f"Largest log ratio of what one record adds, {name}", f"Models: {model}. Table: {table}.")
                    for name, (model, table) in self.ratios.items()
                ),
                fact("Largest log ratio of table and model", *map(_farthest, self.farthest)),
            ),
            data=self._data,
        )

    @property
    def _headline(self) -> str:
        if max(self.p_values[: self.networks]) > FIT_LEVEL:
            return f"{self.records:,} public records do not contradict the model"
        which = "model" if self.contradicted else "network, beside which they are models themselves"
        return f"{self.records:,} public records contradict the {which}"

    @property
    def _lead(self) -> str:
        return " ".join(f"{each[0].upper()}{each[1:]}." for each in self._findings)

    @property
    def _findings(self) -> list[str]:
        """What was seen most against the model, and what that would cost where this is known."""
        row = self.rows[0]
        found = [
            f"of {row.records:,} records {row.given}, {percent_text(row.share)} add {row.adds}; "
            f"{percent_text(row.model)} in the model (p {_chance(row.adjusted)} over {self.tests:,} tests)"
        ]
        if self.told is not None and self.calibration is not None:
            found.append(
                "if the table's frequencies were true, the answer would move the odds by up to "
                f"{factor_text(self.told.value)} times, in nats {self.told}, where epsilon "
                f"{full_text(self.calibration.epsilon)} is promised"
            )
        return found

    @property
    def _data(self) -> dict[str, object]:
        return {
            "query": str(self.query),
            "records": self.records,
            "epsilon": None if self.calibration is None else self.calibration.epsilon,
            "level": FIT_LEVEL,
            "contradicted": self.contradicted,
            "p_values": list(self.p_values),
            "best_model": self.best_model,
            "tests": self.tests,
            "told": None if self.told is None else _plain(self.told),
            "ratios": [
                {"protected": name, "models": _plain(model), "table": _plain(table)}
                for name, (model, table) in self.ratios.items()
            ],
            "rows": [_plain(row) for row in self.rows[:MOST_JSON_ROWS]],
        }


def _next(found: PublicComparison) -> str:
    if not found.contradicted:
        return "What is not contradicted is not thereby true. Next: bp.plan(framework, query, epsilon)."
    return "Next: correct the model, or let these records be one (bnpriv init --learn); .explain() lists all tests."


def _plain(numbers: Estimate | EventRow) -> dict[str, object]:
    """Values for JSON: infinite numbers as a word."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers._asdict().items()
    }


def _chance(p_value: float) -> str:
    return nats_text(max(p_value, LEAST_P_VALUE), 2)


def _cells(row: EventRow) -> tuple[str | Cell, ...]:
    limits = f"{percent_text(row.low)} to {percent_text(row.high)}"
    ends = (0.0, 1.0)
    drawing = interval_bar(ends, ends, row.model, (row.low, row.high), title=f"{row.given}: {row.adds}", desc=limits)
    shares = percent_text(row.share), Cell(limits, drawing=drawing), percent_text(row.model)
    return row.given, row.adds, f"{row.records:,}", *shares, number_text(row.log_ratio, 3), _chance(row.adjusted)


def _farthest(row: EventRow) -> str:
    low, high = (math.log(end / row.model) if end * row.model else math.inf for end in (row.low, row.high))
    low = low if row.low else -math.inf
    return f"{row.given}, add {row.adds}: {Estimate(row.log_ratio, low, high)}."


def compare_with_public(
    framework: Framework, public: object, query: Query | str, epsilon: float = 1.0, delta: float = 0.0
) -> PublicComparison:
    """Compare what a framework's models say of one query with the frequencies in a public table.

    The table must be public: what this prints is computed from it without any protection. Never pass the table that is
    to be released.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
        Its network is of tables of probabilities.
    public : table, str or path
        Whatever a release takes, with the columns that the query and the protected properties read, and any number of
        rows; None for the public records that the framework itself holds.
    query : Query or str
        What is to be released.
    epsilon, delta : float
        At which it would be.

    Returns
    -------
    PublicComparison

    Raises
    ------
    RefusedError
        If the framework is of another notion, or the law of one record is not known.
    DataError, FileError
        If the table is none, has no rows, or lacks a column.
    ParameterError
        If epsilon or delta is out of range; or there is no public table.
    QueryError, SchemaError
        If the query does not fit the schema.

    Notes
    -----
    docs/claims/public_comparison.md. What is tested are the laws that mechanisms use: what one record adds to the
    answer, given that the protected property counts it or not.

    Examples
    --------
    >>> import bnpriv as bp
    >>> hospital = bp.example("hospital")
    >>> found = compare_with_public(hospital, bp.simulate(hospital, 500), "count(days >= 8)")
    >>> found.contradicted
    False
    """
    require_framework(framework, query)
    asked = require_query(framework, query)
    found = plan(framework, asked, epsilon, delta)
    return compared(framework, public, asked, next(iter(found), None))


def compared(framework: Framework, public: object, query: Query, best: Calibration | None) -> PublicComparison:
    """The comparison for a calibration that is there; with a file it is kept until the file changes."""
    if not (isinstance(public, (str, Path)) and os.path.isfile(public)):
        return _compared(framework, public, query, best)
    file = os.stat(public)
    key = query, best, str(public), file.st_mtime_ns, file.st_size
    return framework.kept.latest("public files", key, 8, lambda: _compared(framework, public, query, best))


def _compared(framework: Framework, public: object, query: Query, best: Calibration | None) -> PublicComparison:
    notion_of(framework).record_law(framework, query, 0)  # refused where there is none
    evidence, given = laws(framework, query), cast(Any, framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    records = _records(given, public, query)
    of_models: dict[str, list[float]] = {}
    for each in evidence.constraints():
        if each.record is not None:
            of_models.setdefault(each.protected, []).append(log_ratio(each.record.first, each.record.second))
    ratios, told = _in_the_table(given, query, best, records)
    return PublicComparison(
        query=query,
        records=records.records,
        classes=tuple(
            each for name, secret in given.protect.items() for each in classes_of(given, query, name, secret, records)
        ),
        networks=framework.models - (0 if given.public_records is None else given.public_records.draws),
        ratios={name: (_spread(sorted(of_models[name])), ratios[name]) for name in ratios if name in of_models},
        told=told,
        calibration=best,
    )


def refuse_contradicted(calibration: Calibration, public: object, despite: bool, data: object) -> None:
    """Refuse a release under a model that a public table contradicts for its query.

    Raises
    ------
    RefusedError
        If it does, unless that is waived or the noise needs no model.
    FileError
        If the public table is the one to be released.
    """
    from bnpriv.io.starter.public import refuse_the_same

    refuse_the_same(data, public)
    compared(calibration.framework, public, calibration.query, calibration).require(despite=despite)


def _records(framework: Any, public: object, query: Query) -> PublicRecords:
    """The columns that are asked of, read as a release reads them; the other nodes are not looked at."""
    if public is None:
        if framework.public_records is None:
            raise ParameterError("a public table is needed", found="none", remedy="Pass a table that anybody may see.")
        return framework.public_records
    names = sorted(query.columns.union(*(secret.property.columns for secret in framework.protect.values())))
    columns = {name: framework.schema[name] for name in names}
    dialect = dialect_of(framework.schema)
    table = public_records_of(guarded(public, lambda: values_as_they_count(public, columns, dialect)), columns)
    unread = dict.fromkeys(framework.network.attributes, np.zeros(table.records))
    return PublicRecords({**unread, **table.columns}, draws=table.draws, seed=table.seed)


def classes_of(framework: Any, query: Query, name: str, secret: Secret, records: PublicRecords) -> Iterator[ClassLaw]:
    """What records of every class add, where the table has any."""
    asked = stack(class_query(secret, framework.schema), query)
    form = normal_form(asked, framework.schema)
    columns, counts = records.counts(form)
    known = [notion_of(framework).record_law(framework, asked, model) for model in range(framework.models)]
    joined = [np.concatenate(parts) for parts in zip(columns, *(law.columns for law in known), strict=True)]
    ranks = ranked(joined)
    first = np.unique(ranks, return_index=True)[1]
    places = np.split(ranks, np.cumsum([len(counts), *(law.size for law in known)])[:-1])
    seen, logs = np.zeros(len(first), dtype=np.int64), np.full((len(known), len(first)), -math.inf)
    seen[places[0]] = counts
    for model, law in enumerate(known):
        logs[model, places[1 + model]] = law.logs
    # what each of the records adds of the shift of the answer
    added = [
        nearest_doubles(column[first], whole.denominator) + whole.shift / whole.denominator / form.schema.records
        for column, whole in zip(joined, form.wholes(), strict=True)
    ]
    errors = np.array([[2 * law.error + CHANCE_ROUNDING + 1e-15 * law.size] for law in known])
    numbers = np.unique(added[0]).tolist()
    cells = [OTHERS, *(cell for cell, _ in cells_of(secret, framework.schema))] if secret.of_cells else []
    for number in numbers:
        kept = added[0] == number
        if seen[kept].any():
            counted = f"{'' if number == numbers[-1] else 'not '}counted by {secret.property}"
            other = f"adding {number_text(number)} to {secret.property}"
            values = np.stack([column[kept] for column in added[1:]], axis=1)
            given = cells[int(number)] if cells else other if numbers[2:] else counted
            yield _events(name, given, values, seen[kept], logs[:, kept], errors)


def _events(
    name: str, given: str, values: FloatArray, seen: IntArray, logs: FloatArray, errors: FloatArray
) -> ClassLaw:
    """What is tested: of two outputs one, else each of them, and of numbers whether one is exceeded."""
    tops = logs.max(axis=1, keepdims=True)
    masses = np.exp(logs - np.where(tops > -math.inf, tops, 0.0))
    # of a class that a model holds impossible all chances are 0
    chances = masses / np.maximum(masses.sum(axis=1, keepdims=True), 1.0)
    alone = np.arange(len(seen)) if len(seen) != 2 else np.array([1])
    below = np.arange(1, len(seen) - 2) if values.shape[1] == 1 else np.arange(0)
    return ClassLaw(
        protected=name,
        name=given,
        records=int(seen.sum()),
        values=np.concatenate([values[alone], values[below]]),
        at_most=np.repeat([False, True], [len(alone), len(below)]),
        seen=np.concatenate([seen[alone], np.cumsum(seen)[below]]),
        chances=np.minimum(np.concatenate([chances[:, alone], np.cumsum(chances, axis=1)[:, below]], axis=1), 1.0),
        errors=errors,
    )


def _in_the_table(
    framework: Any, query: Query, best: Calibration | None, records: PublicRecords
) -> tuple[dict[str, Estimate], Estimate | None]:
    """The log ratios of one record and what a calibration tells, for the table and for draws of its weights."""
    known = replace(framework, public_records=records)
    asked = query if best is None else best.weighted_query
    rounding = rounding_of(normal_form(asked, known.schema))
    ratios, told = dict[str, Estimate](), [Estimate(0.0, 0.0, 0.0)]
    for name, secret in known.protect.items():
        constraints = constraints_of(known, asked, name, secret, known.models)
        drawn = _drawn(known, secret, asked, constraints)
        for found, ways in zip(constraints, drawn, strict=True):
            if ways:
                ratio = _spread([log_ratio(each.first, each.second) for each in ways])
                ratios[name] = max(ratio, ratios.get(name, ratio))
            if best is not None:
                losses = [_by_record(each, best) for each in ways] or [math.nan]
                value = _least(found, best, rounding, losses[-1])
                # where exact laws of the answer tell less than its records one by one, draws do so by the same share
                losses = [value * loss / losses[-1] for loss in losses[:-1]] if losses[-1] else losses[:-1]
                told.append(_spread([*losses, value]))
    # an unknown one is the largest
    return ratios, None if best is None or any(math.isnan(each.value) for each in told) else max(told)


def _drawn(known: Any, secret: Secret, query: Query, constraints: Sequence[Constraint]) -> list[list[RecordPair]]:
    """Of every constraint the two laws of one record for every draw of the weights, then for the table as it is."""
    found: list[list[RecordPair]] = [[] for _ in constraints]
    for model in range(known.models - known.public_records.draws, known.models + 1):
        both, between = class_laws(known, query, secret, model)
        ways = moves(secret, known.schema, [int(value) for value in np.unique(both.columns[0])])
        for records, each in zip(found, constraints, strict=True):
            if ways is not None and each.record is not None and each.record.pair in ways.classes:
                laws = between(ways.classes[each.record.pair])
                records.append(replace(each.record, numerators=laws, mixed=()))
    return found


def _spread(values: Sequence[float]) -> Estimate:
    """The last value, and between which ends all lie."""
    return Estimate(values[-1], min(values), max(values))


def _by_record(record: RecordPair, best: Calibration) -> float:
    """What a calibration tells at most of all records that change, one by one; not a number where that is not known."""
    return record.distance * record_loss(record)(best.scale) if isinstance(best.noise, (Laplace, NoNoise)) else math.nan


def _least(found: Constraint, best: Calibration, rounding: float, by_record: float) -> float:
    """What a calibration tells at most: by the records, or by laws of the answer where these are needed."""
    if isinstance(found.pairs, Refusal) and best.delta == 0 and not math.isnan(by_record):
        return by_record
    with suppress(BnprivError):
        pairs = law_pairs(found, rounding)
        losses = [loss for pair in pairs for loss in losses_of(pair.first, pair.second, best.noise)]
        if losses:
            return float(np.fmin(by_record, max(loss.epsilon_at(best.delta).upper for loss in losses)))
    return by_record
