"""The one step that touches data: evaluate the calibrated query, add the calibrated noise, show nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bnpriv import checks
from bnpriv.errors import DataError, ParameterError, QueryError, RefusedError
from bnpriv.mechanisms.base import Calibration
from bnpriv.noise.continuous import Noise
from bnpriv.noise.intervals import is_none
from bnpriv.noise.sampling import Sampler, SecureSampler
from bnpriv.queries.custom import Custom
from bnpriv.release.result import Release
from bnpriv.release.wording import missing_rule
from bnpriv.services import service
from bnpriv.tables.interrupts import noting
from bnpriv.tables.schema import Schema

if TYPE_CHECKING:
    from bnpriv.release.evaluate import Answer


LedgerAccount = Any
"""An account of a ledger: what `bnpriv.Session` and `bnpriv.accounting` keep."""

LedgerBudget = Any
"""What all releases of an account may tell together."""


def release(
    calibration: Calibration,
    data: object,
    *,
    sampler: Sampler | None = None,
    ledger: str | Path | LedgerAccount | None = None,
    budget: float | LedgerBudget | None = None,
    name: str = "data",
    key: str | None = None,
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

    Returns
    -------
    Release

    Raises
    ------
    RefusedError
        If the calibration, or anything in it, was changed after it was calibrated; or if it passes the budget, or
        cannot be counted beside what was released before.
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
    if ledger is None:
        _check_no_ledger(budget, key)
        with noting(lambda: "Nothing was charged. There is no ledger, and no answer was returned."):
            return _released((calibration,), data, sampler)[0]
    charged: Release = service("release.charged")(
        calibration, data, sampler=sampler, ledger=ledger, budget=budget, name=name, key=key
    )
    return charged


def _released(calibrations: Sequence[Calibration], data: object, sampler: Sampler | None) -> tuple[Release, ...]:
    """Check everything, then read the data."""
    for calibration in calibrations:
        _check_order(calibration, data)
        check_sampler(sampler, calibration.noise)
        check(calibration)
    for calibration in calibrations:
        service("release.refuse_learned")(calibration.framework, calibrations[0].framework.schema, data)
    return drawn(calibrations, data, sampler)


def drawn(calibrations: Sequence[Calibration], data: object, sampler: Sampler | None) -> tuple[Release, ...]:
    """Read the data once, and draw noise only when every answer is known."""
    schema = calibrations[0].framework.schema
    queries = [calibration.query for calibration in calibrations]
    answers: Sequence[Answer] = service("release.evaluate")(queries, schema, data)
    drawing = sampler or SecureSampler()
    return tuple(
        with_values(
            calibration,
            _with_noise(calibration.noise, answer, drawing),
            answer.labels,
            others=len(calibrations) - 1,
        )
        for calibration, answer in zip(calibrations, answers, strict=True)
    )


def _with_noise(noise: Noise, answer: Answer, drawing: Sampler) -> tuple[float, ...]:
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
    """The release of these numbers."""
    schema = calibration.framework.schema
    return Release(
        base=values,
        base_labels=labels,
        calibration=calibration,
        missing_rule=missing_rule({name: schema[name] for name in sorted(calibration.query.columns)}),
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
    """Answer several calibrated queries on a table whose data are read once, each with its own noise.

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
    given: object = calibrations
    if not isinstance(given, Iterable):
        raise ParameterError(
            "release_many takes a list of calibrations",
            found=checks.type_text(given),
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
    """Return what makes a schema; 0 and 1 as categories equal False and True, but texts count differently as these."""
    return schema.records, repr(sorted(schema.columns.items()))


def _check_order(calibration: object, data: object) -> None:
    """Refuse what is no calibration, and say what to pass instead."""
    if hasattr(calibration, "certificate"):
        return
    remedy = "Calibrate first, for example calibration = plan(framework, query, epsilon).best."
    if isinstance(data, Calibration):
        remedy = "Write release(calibration, data), or calibration.release(data)."
    elif hasattr(calibration, "best"):
        remedy = "Release one of the calibrations of the plan, for example plan.best."
    elif type(calibration) in (list, tuple):
        remedy = "Calibrate stack(...) of the queries as one, or see bnpriv.release.release_many."
    found = f"a {type(calibration).__name__}{' before it' if isinstance(data, Calibration) else ''}"
    raise DataError("a calibration is needed first, then the table", found=found, remedy=remedy)


def _check_no_ledger(budget: object, key: object) -> None:
    for what, given in (("a budget", budget), ("a key", key)):
        if given is not None:
            raise ParameterError(
                f"{what} is kept in a ledger", found=f"{what} without one", remedy='Pass ledger="ledger.db".'
            )


def check_sampler(sampler: object, noise: Noise) -> None:
    """Refuse what draws no noise of the kind that is needed, before any data are touched."""
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
