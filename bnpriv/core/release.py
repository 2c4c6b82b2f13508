"""The release, the one step that touches data: evaluate the query, add noise, show nothing else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bnpriv import checks
from bnpriv.core.interrupts import noting
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import IntervalEnds
from bnpriv.core.noise import Noise, Sampler, SecureSampler, intervals, is_none
from bnpriv.core.queries.base import Query, normal_form
from bnpriv.core.queries.builtin import Custom, Derivation, derivation as derivation_of
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, LedgerError, ParameterError, QueryError, RefusedError, UselessAnswerWarning
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import Json, and_text, visible

if TYPE_CHECKING:
    import pandas as pd

    from bnpriv.core.frameworks.guarantee import Guarantee
    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# A released answer with its guarantee; everything in it may be published.
# --------------------------------------------------------------------------------------------------

RELEASE_FORMAT = "bnpriv release 1"
INTERVAL_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(Shown):
    """A released answer with its guarantee; everything in it may be published.

    Its methods are post-processing of the released numbers: they cost no privacy and see no data.

    Parameters
    ----------
    base : tuple of float
        The numbers that the noise was added to: of most questions the answer itself.
    base_labels : tuple of str
        What each of them is.
    calibration : Calibration
        The noise, the guarantee and the reasons.
    missing_rule : str
        What missing values and values out of range counted as; never how many there were.
    margins : tuple of float
        By how much `rounded` may have moved each number of the base away from the exact one.
    mark : bnpriv.ledger.values.Mark, optional
        Where it stands in a ledger.
    others : int
        How many other answers `release_many` released with it.
    """

    base: tuple[float, ...]
    base_labels: tuple[str, ...]
    calibration: Calibration
    missing_rule: str
    margins: tuple[float, ...]
    mark: Any = None
    others: int = 0

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers of the answer; variances, quantiles and the like are computed from the base."""
        return self.base if self.derivation is None else self.derivation.values(self.base)

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each number of the answer."""
        return self.base_labels if self.derivation is None else self.derivation.labels(self.base_labels)

    @property
    def value(self) -> float | tuple[float, ...]:
        """The number if there is one, else the tuple of all; a useless one warns with `UselessAnswerWarning`."""
        if self.calibration.useful.verdict == "useless":
            told = f"{self.calibration.useful} release.explain() says what was known before; docs/useless-answers.md."
            warnings.warn(UselessAnswerWarning(told), stacklevel=2)
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def guarantee(self) -> Guarantee:
        """What the release promises."""
        return self.calibration.guarantee

    def to_pandas(self) -> pd.DataFrame:
        """A table with one row per released number: its label, its value, and the ends of its 95 % interval.

        Examples
        --------
        >>> import bnpriv as bp
        >>> best = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0).best
        >>> bp.release(best, bp.example_data("student")).to_pandas().values.tolist()
        [['count(height > 180)', 1120.0, 1120.0, 1120.0]]
        """
        return service("release.to_pandas")(self)

    def interval(self, level: float = INTERVAL_LEVEL) -> IntervalEnds | tuple[IntervalEnds, ...]:
        """Intervals that contain all exact answers at once, with probability `level` over the noise.

        Parameters
        ----------
        level : float
            Above 0 and below 1.

        Returns
        -------
        (float, float), or a tuple of them if there are several numbers
            A single point where there is no noise; of a quantile always one bin or more.

        Raises
        ------
        ParameterError
            If `level` is out of range.
        """
        found = self.all_intervals(level)
        return found[0] if len(found) == 1 else found

    def clamped(self) -> Release:
        """The release with every number clamped to the range of its exact answer; intervals stay valid."""
        lower, upper = answer_range(self.calibration.query, self.calibration.framework.schema)
        ends = zip(self.base, lower, upper, strict=True)
        # the exact answer is in the range: clamping only brings a number closer to it
        return replace(self, base=tuple(min(max(value, float(low)), float(high)) for value, low, high in ends))

    def rounded(self) -> Release:
        """The release with whole-numbered answers rounded; their intervals widen by a half.

        Raises
        ------
        QueryError
            If no exact answer is certain to be a whole number.
        """
        whole = self._whole_numbered()
        if not any(whole):
            raise QueryError(
                "an answer must be a whole number to be rounded",
                found=str(self.calibration.query),
                remedy="Round the numbers that you print instead.",
            )
        noisy = not is_none(self.calibration.noise)
        base = tuple(float(round(value)) if k else value for value, k in zip(self.base, whole, strict=True))
        margins = tuple(0.5 if k and noisy else margin for margin, k in zip(self.margins, whole, strict=True))
        return replace(self, base=base, margins=margins)

    def to_dict(self) -> Json:
        """The release with its calibration, as plain values."""
        found = zip(self.labels, self.values, self.all_intervals(INTERVAL_LEVEL), strict=True)
        numbers = [_number(*each) for each in found]
        return {
            "format": RELEASE_FORMAT,
            "release": numbers,
            **self._worked_out_of(),
            "missing_rule": self.missing_rule,
            **({"released_with": self.others} if self.others else {}),
            **({} if self.mark is None else {"ledger": self.mark.to_json()}),
            "calibration": self.calibration.to_dict(),
        }

    @property
    def document(self) -> Document:
        """The released numbers, what they are worth, and what was known before, as a document."""
        return service("release.document")(self)

    def statement(self, decided: Mapping[str, str] | None = None, public: object = None) -> Shown:
        """One page for a data-protection officer; as a page, as Markdown or as a .docx.

        Parameters
        ----------
        decided : mapping from str to str, optional
            Who decided what, and why, by "notion", "protected", "apart", "epsilon", "delta" and "model"; the rest is
            as the framework's file says. What begins with "default" nobody decided.
        public : table, str or path, optional
            A public table, with which the model is compared for this query.

        Raises
        ------
        ParameterError
            If a decision has another name, or no text.

        Examples
        --------
        >>> import bnpriv as bp
        >>> best = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0).best
        >>> page = bp.release(best, bp.example_data("student")).statement({"epsilon": "the board on 2026-11-02"})
        >>> "decided: the board on 2026-11-02" in page.to_markdown()
        True
        """
        return service("release.statement")(self, decided, public)

    @property
    def stored(self) -> Json:
        """What a ledger keeps of the answer: the released numbers, and nothing else of the data."""
        return {
            "values": [value.hex() for value in self.base],
            "labels": list(self.base_labels),
            "missing_rule": self.missing_rule,
        }

    @staticmethod
    def from_stored(stored: Mapping[str, object], calibration: Calibration, mark: Any) -> Release:
        """The release of which a ledger kept the answer.

        Parameters
        ----------
        stored : mapping
            What `stored` returned.
        calibration : Calibration
            Of the same question.
        mark : bnpriv.ledger.values.Mark
            Where it stands in the ledger.

        Returns
        -------
        Release

        Raises
        ------
        LedgerError
            If the ledger holds anything else.
        """
        try:
            values = tuple(float.fromhex(cast(str, value)) for value in cast("list[object]", stored["values"]))
            labels = tuple(map(str, cast("list[object]", stored["labels"])))
            if len(values) != len(labels) or len(values) != calibration.noise.dimension:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            raise LedgerError(
                "a stored answer must be what was stored",
                found="a record that cannot be read",
                remedy="Do not edit the ledger; bnpriv ledger verify tells where it was changed.",
            ) from None
        return Release(
            base=values,
            base_labels=labels,
            calibration=calibration,
            missing_rule=str(stored.get("missing_rule", "")),
            margins=(0.0,) * len(values),
            mark=mark,
        )

    @cached_property
    def derivation(self) -> Derivation | None:
        """How the answer is computed from the released numbers; None where they are the answer."""
        return derivation_of(self.calibration.query, self.calibration.framework.schema)

    def _worked_out_of(self) -> Json:
        """The released numbers from which the answer is computed; empty where they are the answer."""
        if self.derivation is None:
            return {}
        numbers = zip(self.base_labels, self.base, self._base_intervals(INTERVAL_LEVEL), strict=True)
        return {"base": [_number(*each) for each in numbers]}

    def _whole_numbered(self) -> tuple[bool, ...]:
        """For each number of the base, whether it is in the answer itself and always a whole number."""
        whole = _whole_numbered(self.calibration.query, self.calibration.framework.schema)
        return whole if self.derivation is None else self.derivation.shown_as_they_are(whole)

    def __repr__(self) -> str:
        shown = ", ".join(f"{label} = {value!r}" for label, value in zip(self.labels, self.values, strict=True))
        useful = self.calibration.useful
        parts = f" in {and_text(useful.useless)}" if useful.useless and len(self.values) > 1 else ""
        poor = f"; useless{parts}" if useful.useless or useful.verdict == "useless" else ""
        return visible(f"Release({shown}{poor})")

    def all_intervals(self, level: float) -> tuple[IntervalEnds, ...]:
        """The ends of `interval` for every number."""
        box = self._base_intervals(level)
        if self.derivation is None:
            return box
        lower, upper = answer_range(self.calibration.query, self.calibration.framework.schema)
        found = self.derivation.intervals(box, list(zip(lower.tolist(), upper.tolist(), strict=True)))
        # a base outside its range gives intervals beside the value: including the value makes them only wider
        return tuple((min(low, value), max(high, value)) for (low, high), value in zip(found, self.values, strict=True))

    def _base_intervals(self, level: float) -> tuple[IntervalEnds, ...]:
        return intervals(self.calibration.noise, self.base, self.margins, level)


def _number(label: str, value: float, interval: IntervalEnds) -> Json:
    return {"label": label, "value": value, f"interval_{100 * INTERVAL_LEVEL:g}": list(interval)}


def _whole_numbered(query: Query, schema: Schema) -> tuple[bool, ...]:
    """For each output, whether its exact answer is a whole number on every table."""
    if isinstance(query, Custom):
        return (False,) * query.size
    form = normal_form(query, schema)
    return tuple(
        all(number.denominator == 1 for number in (*row.values(), shift))
        for row, shift in zip(form.rows, form.offset, strict=True)
    )


# --------------------------------------------------------------------------------------------------
# The release: check everything, evaluate the calibrated query, add the calibrated noise.
# --------------------------------------------------------------------------------------------------

LedgerAccount = Any
"""An account of a ledger: what `bnpriv.Session` and `bnpriv.accounting` keep."""

LedgerBudget = Any
"""The budget for what all releases of an account may tell together."""


def release(
    calibration: Calibration,
    data: object,
    *,
    sampler: Sampler | None = None,
    ledger: str | Path | LedgerAccount | None = None,
    budget: float | LedgerBudget | None = None,
    name: str = "data",
    key: str | None = None,
    public: object = None,
    despite_public: bool = False,
    even_if_useless: bool = False,
) -> Release:
    """Answer the calibrated query on a table, with the calibrated noise.

    Every call draws fresh noise and is a release of its own: two of them cost more privacy than one. A ledger counts
    what all of them tell together, and refuses what would pass its budget.

    Parameters
    ----------
    calibration : Calibration
        What `Mechanism.calibrate` returned.
    data : table, str or path
        pandas, Polars, PyArrow, DuckDB, Dask, Spark, Ibis, or a path to Parquet or CSV; see `evaluate`.
    sampler : Sampler, optional
        Where the noise comes from; the exact, unseeded noise of OpenDP unless a test says otherwise.
    ledger : str or path, optional
        A file such as ``"ledger.db"``, or the URL of a database. The release is charged there before anything is
        computed, and stays charged whatever happens then.
    budget : float or Budget, optional
        What all releases of an account may tell together; needed for a new account, and fixed then.
    name : str
        Names the table in the ledger.
    key : str, optional
        Names this release in the ledger: called again with the same key, the stored answer comes back and nothing is
        charged. Without one every call is a new release.
    public : table, str or path, optional
        A public table: the release is refused where it contradicts the model for this query; see
        `bnpriv.compare_with_public`.
    despite_public : bool
        Waives that refusal.
    even_if_useless : bool
        Waives that of a ledger, which charges no answer that is useless by its own verdict.

    Returns
    -------
    Release

    Raises
    ------
    RefusedError
        If the calibration, or anything in it, was changed after it was calibrated; or if it passes the budget, or
        cannot be counted beside what was released before, or is useless; or if the public table contradicts the model.
    ParameterError
        If `sampler` draws no noise, or a budget or a key is given without a ledger.
    QueryError
        If the query does not fit the schema, or a custom query moves by more than it declares on made-up tables.
    DataError, FileError
        If the data do not fit the schema or cannot be read, or are the table that the models were learned from; never
        with a value of the data.
    LedgerError
        If the ledger cannot be used as it is; nothing is released then.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> calibration = bp.plan(framework, bp.count(bp.col("height") > 180), epsilon=1.0).best
    >>> bp.release(calibration, bp.example_data("student")).value
    1120.0
    """
    _check_order(calibration, data)
    if public is not None:
        service("release.refuse_contradicted")(calibration, public, despite_public, data)
    if ledger is None:
        check_no_ledger(budget, key)
        with noting(lambda: "Nothing was charged. There is no ledger, and no answer was returned."):
            return _released((calibration,), data, sampler)[0]
    counted = {"ledger": ledger, "budget": budget, "name": name, "key": key, "even_if_useless": even_if_useless}
    return service("release.charged")(calibration, data, sampler=sampler, **counted)


def _released(calibrations: Sequence[Calibration], data: object, sampler: Sampler | None) -> tuple[Release, ...]:
    """Check everything that can be checked first, then read the data."""
    for calibration in calibrations:
        check_sampler(sampler, calibration.noise)
        check(calibration)
    for calibration in calibrations:
        service("release.refuse_learned")(calibration.framework, calibrations[0].framework.schema, data)
    return drawn(calibrations, data, sampler)


def drawn(calibrations: Sequence[Calibration], data: object, sampler: Sampler | None) -> tuple[Release, ...]:
    """Read the data once, and draw noise only when every answer is known."""
    schema = calibrations[0].framework.schema
    queries = [calibration.query for calibration in calibrations]
    answers: Sequence[Any] = service("release.evaluate")(queries, schema, data)
    drawing = sampler or SecureSampler()
    return tuple(
        with_values(
            calibration, _with_noise(calibration.noise, answer, drawing), answer.labels, others=len(calibrations) - 1
        )
        for calibration, answer in zip(calibrations, answers, strict=True)
    )


def _with_noise(noise: Noise, answer: Any, drawing: Sampler) -> tuple[float, ...]:
    """Add noise; what goes wrong in a sampler of the caller is withheld, since it saw the exact answer."""
    values: object = None
    with suppress(Exception):
        values = noise.sample([float(value) for value in answer.values], drawing)
    if isinstance(values, tuple) and len(values) == len(answer.values):
        numbers = cast("tuple[object, ...]", values)
        if all(isinstance(value, float) and math.isfinite(value) for value in numbers):
            return cast("tuple[float, ...]", numbers)
    raise ParameterError(
        f"the noise must be {len(answer.values)} finite number{'' if len(answer.values) == 1 else 's'}",
        found="an error of the sampler, or something else, which is withheld because it may tell the answer",
        remedy="Leave the sampler out; noise is then drawn from the random numbers of the operating system.",
    )


def with_values(
    calibration: Calibration, values: tuple[float, ...], labels: tuple[str, ...], others: int = 0
) -> Release:
    """A release of given numbers."""
    schema = calibration.framework.schema
    return Release(
        base=values,
        base_labels=labels,
        calibration=calibration,
        missing_rule=service("release.missing_rule")(schema, calibration.query.columns),
        margins=(0.0,) * len(values),
        others=others,
    )


def release_many(
    calibrations: Sequence[Calibration],
    data: object,
    *,
    separate_guarantees: bool = False,
    sampler: Sampler | None = None,
) -> tuple[Release, ...]:
    """Answer several calibrated queries on a table that is read once, each with its own noise.

    Each guarantee is for its own answer, as if the others were never seen. Such guarantees do not add up: none holds
    for the answers together. A `stack` of the queries, calibrated as one, has a guarantee for all of them.

    Parameters
    ----------
    calibrations : sequence of Calibration
        What `Mechanism.calibrate` returned; frameworks may differ, the schema is the same.
    data : table, str or path
        As `release` takes it.
    separate_guarantees : bool
        Declares that no guarantee for the answers together is needed; without it more than one is refused.
    sampler : Sampler, optional
        As `release` takes it.

    Returns
    -------
    tuple of Release
        In the order of the calibrations; each says with how many others it was released.

    Raises
    ------
    RefusedError
        If it is not declared that the guarantees are separate, or a calibration was changed after it was calibrated.
    ParameterError
        If there is no calibration, or `sampler` draws no noise.
    QueryError
        If the schemas differ, a query does not fit the schema, or a custom query moves by more than it declares.
    DataError, FileError
        As `release`; then nothing is released.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> queries = [bp.count(bp.col("height") > 180), bp.count(bp.col("height") > 190)]
    >>> calibrations = [bp.plan(framework, query, epsilon=1.0).best for query in queries]
    >>> from bnpriv.release import release_many
    >>> both = release_many(calibrations, bp.example_data("student"), separate_guarantees=True)
    >>> [each.value for each in both]
    [1120.0, 103.0]
    """
    if not isinstance(cast(object, calibrations), Iterable):
        raise ParameterError(
            "release_many takes a list of calibrations",
            found=checks.type_text(calibrations),
            remedy="Write release(calibration, data) for one, release_many([first, second], data) for several.",
        )
    checked: tuple[Calibration, ...] = tuple(calibrations)
    if not checked:
        raise ParameterError("there must be something to release", found="no calibration", remedy="Calibrate a query.")
    for calibration in checked:
        _check_order(calibration, data)
    if len(checked) > 1 and not checks.flag("separate_guarantees", separate_guarantees):
        raise RefusedError(
            "several answers on one table need a guarantee for all of them together",
            found=f"{len(checked)} calibrations, each with a guarantee for its own answer; these do not add up",
            remedy="Calibrate stack(...) of the queries as one query; or pass separate_guarantees=True if each answer "
            "needs to be private by itself only.",
        )
    first, *others = (calibration.framework.schema for calibration in checked)
    if any(_described(schema) != _described(first) for schema in others):
        raise QueryError(
            "queries that are released together must have one schema",
            found="several",
            remedy="Declare the frameworks with the same schema, so that a value counts the same in all answers.",
        )
    return _released(checked, data, sampler)


def _described(schema: Schema) -> tuple[int, str]:
    """What identifies a schema; as text, because 0 and 1 as categories equal False and True."""
    return schema.records, repr((sorted(schema.columns.items()), schema.dialect))


def _check_order(calibration: object, data: object) -> None:
    """Refuse what is no calibration, and say what to pass instead."""
    if hasattr(calibration, "certificate"):
        return
    remedy = "Calibrate first, for example calibration = plan(framework, query, epsilon).best."
    if isinstance(data, Calibration):
        remedy = "Write release(calibration, data), or calibration.release(data)."
    elif isinstance(getattr(type(calibration), "best", None), property):  # a plan
        remedy = "Release one of the calibrations of the plan, for example plan.best."
    elif type(calibration) in (list, tuple):
        remedy = "Calibrate stack(...) of the queries as one, or see bnpriv.release.release_many."
    found = f"a {type(calibration).__name__}{' before it' if isinstance(data, Calibration) else ''}"
    raise DataError("a calibration is needed first, then the table", found=found, remedy=remedy)


def check_no_ledger(budget: object, key: object) -> None:
    """Refuse a budget or a key where there is no ledger to keep it."""
    for what, given in (("a budget", budget), ("a key", key)):
        if given is not None:
            raise ParameterError(
                f"{what} is kept in a ledger", found=f"{what} without one", remedy='Pass ledger="ledger.db".'
            )


def check_sampler(sampler: object, noise: Noise) -> None:
    """Refuse a sampler that cannot draw the needed noise, before any data are touched."""
    method = noise.sampler_method
    if sampler is None or (not isinstance(sampler, type) and callable(getattr(sampler, method, None))):
        return
    raise ParameterError(
        f"a sampler draws this noise by its method {method}",
        found=checks.type_text(sampler),
        remedy="Leave it out; noise is then drawn from the random numbers of the operating system.",
    )


def check(calibration: Calibration) -> None:
    """Refuse what can be refused before any data are touched."""
    if calibration.changed():
        raise RefusedError(
            "a calibration must be what its mechanism returned",
            found="another query, noise, framework, guarantee or certificate than it had then",
            remedy="Declare the framework again and calibrate: to change something means to calibrate anew.",
        )
    query, schema, noise = calibration.query, calibration.framework.schema, calibration.noise
    if noise.dimension != query.dimension(schema):
        raise RefusedError(
            f"the noise must be for the {query.dimension(schema)} numbers of {query}",
            found=f"noise for {noise.dimension}",
            remedy="Calibrate this query.",
        )
    reason = calibration.certificate.zero_noise_reason
    if is_none(noise) and not (reason and reason.strip()):
        raise RefusedError(
            "an answer without noise needs a certificate that says why it may be released",
            found="no reason",
            remedy="Use a calibration as its mechanism returned it.",
        )
    if isinstance(query, Custom):
        service("release.try_sensitivity")(query, schema)
