"""The one step that touches data: evaluate the calibrated query, add the calibrated noise, show nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast, final

from bnpriv import checks
from bnpriv.errors import DataError, ParameterError, QueryError, RefusedError
from bnpriv.mechanisms import Calibration
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.released import IntervalEnds, released
from bnpriv.noise.channel import Channel
from bnpriv.noise.continuous import Gaussian, Laplace, Noise
from bnpriv.noise.correlated import CorrelatedGaussian
from bnpriv.noise.directional import DirectionalLaplace
from bnpriv.noise.discrete import DiscreteLaplace
from bnpriv.noise.intervals import intervals, is_none
from bnpriv.noise.sampling import Sampler, SecureSampler
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.normal_form import normal_form
from bnpriv.release.document import ShownNumber, release_document
from bnpriv.release.evaluate import evaluate, try_sensitivity
from bnpriv.release.public import refuse_learned
from bnpriv.render import Document, Json, Shown
from bnpriv.render.text import visible
from bnpriv.tables.schema import Categorical, Column, Schema

if TYPE_CHECKING:
    from bnpriv.frameworks import Guarantee

RELEASE_FORMAT = "bnpriv release 1"
INTERVAL_LEVEL = 0.95


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Release(Shown):
    """A released answer with its guarantee; everything in it may be published.

    Its methods are post-processing of the released numbers: they cost no privacy and see no data.

    Parameters
    ----------
    values : tuple of float
        The released numbers.
    labels : tuple of str
        What each of them is.
    calibration : Calibration
        The noise, the guarantee and the reasons.
    missing_rule : str
        What missing values and values out of range counted as; never how many there were.
    margins : tuple of float
        By how much `rounded` may have moved each number away from the exact one.
    """

    values: tuple[float, ...]
    labels: tuple[str, ...]
    calibration: Calibration
    missing_rule: str
    margins: tuple[float, ...]

    @property
    def value(self) -> float | tuple[float, ...]:
        """Return the number if there is one, else the tuple of all."""
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def guarantee(self) -> Guarantee:
        """Return what the release promises."""
        return self.calibration.guarantee

    def interval(self, level: float = INTERVAL_LEVEL) -> IntervalEnds | tuple[IntervalEnds, ...]:
        """Return intervals that hold all the exact answers at once, with probability `level` over the noise.

        Parameters
        ----------
        level : float
            Above 0 and below 1.

        Returns
        -------
        (float, float), or a tuple of them if there are several numbers
            A single point where there is no noise.

        Raises
        ------
        ParameterError
            If `level` is out of range.
        """
        found = self._intervals(level)
        return found[0] if len(found) == 1 else found

    def clamped(self) -> Release:
        """Return the release with every number moved into the range of its exact answer; intervals stay valid."""
        from bnpriv.queries.sensitivity import answer_range

        lower, upper = answer_range(self.calibration.query, self.calibration.framework.schema)
        ends = zip(self.values, lower, upper, strict=True)
        # the exact answer lies in the range, so a number outside only comes nearer to it
        return replace(self, values=tuple(min(max(value, float(low)), float(high)) for value, low, high in ends))

    def rounded(self) -> Release:
        """Return the release with counts and other whole-numbered answers rounded; their intervals widen by a half.

        Raises
        ------
        QueryError
            If no exact answer is certain to be a whole number.
        """
        whole = _whole_numbered(self.calibration.query, self.calibration.framework.schema)
        if not any(whole):
            raise QueryError(
                "an answer must be a whole number to be rounded",
                found=str(self.calibration.query),
                remedy="Round the numbers that you print instead.",
            )
        noisy = not is_none(self.calibration.noise)
        values = tuple(float(round(value)) if k else value for value, k in zip(self.values, whole, strict=True))
        margins = tuple(0.5 if k and noisy else margin for margin, k in zip(self.margins, whole, strict=True))
        return replace(self, values=values, margins=margins)

    def to_dict(self) -> Json:
        """Return the release with its calibration as plain values."""
        numbers = [
            {"label": label, "value": value, f"interval_{100 * INTERVAL_LEVEL:g}": list(interval)}
            for label, value, interval in zip(self.labels, self.values, self._intervals(INTERVAL_LEVEL), strict=True)
        ]
        return {
            "format": RELEASE_FORMAT,
            "release": numbers,
            "missing_rule": self.missing_rule,
            "calibration": self.calibration.to_dict(),
        }

    @property
    def document(self) -> Document:
        """Return the released numbers, what they are worth, and what was known before."""
        return release_document(self.calibration, self._shown(), self.missing_rule, self.to_dict())

    def _shown(self) -> list[ShownNumber]:
        from bnpriv.queries.sensitivity import answer_range

        noisy = not is_none(self.calibration.noise)
        ranges = zip(*answer_range(self.calibration.query, self.calibration.framework.schema), strict=True)
        numbers = zip(self.labels, self.values, self._intervals(INTERVAL_LEVEL), ranges, strict=True)
        found: list[ShownNumber] = []
        for label, value, whole, (least, most) in numbers:
            width = whole[1] - whole[0]
            low, high = _common(whole, (float(least), float(most)))
            ends = (_shown(low, width), _shown(high, width)) if noisy else ("", "")
            shown = ShownNumber(
                label=label, value=value, interval=(low, high), text=_shown(value, width), low=ends[0], high=ends[1]
            )
            found.append(shown)
        return found

    def __repr__(self) -> str:
        shown = ", ".join(f"{label} = {value!r}" for label, value in zip(self.labels, self.values, strict=True))
        return visible(f"Release({shown})")

    def _intervals(self, level: float) -> tuple[IntervalEnds, ...]:
        return intervals(self.calibration.noise, self.values, self.margins, level)


def release(calibration: Calibration, data: object, *, sampler: Sampler | None = None) -> Release:
    """Answer the calibrated query on a table, with the calibrated noise.

    Every call draws fresh noise and is a release of its own: two of them cost more privacy than one.

    Parameters
    ----------
    calibration : Calibration
        What `Mechanism.calibrate` returned.
    data : table, str or path
        pandas, Polars, PyArrow, DuckDB, Dask, Spark, or a path to Parquet or CSV; see `evaluate`.
    sampler : Sampler, optional
        Where the noise comes from; the exact, unseeded noise of OpenDP unless a test says otherwise.

    Returns
    -------
    Release

    Raises
    ------
    RefusedError
        If the calibration, or anything in it, was changed after it was calibrated.
    ParameterError
        If `sampler` draws no noise.
    QueryError
        If the query does not fit the schema, or a custom query moves by more than it declares on made-up tables.
    DataError, FileError
        If the data do not fit the schema or cannot be read, or are the table that the models were learned from; never
        with a value of the data.

    Examples
    --------
    >>> import bnpriv as bp
    >>> framework = bp.example("student")
    >>> calibration = bp.plan(framework, bp.count(bp.col("height") > 180), epsilon=1.0).best
    >>> bp.release(calibration, bp.example_data("student")).value
    1120.0
    """
    _check_order(calibration, data)
    query, schema, noise = calibration.query, calibration.framework.schema, calibration.noise
    _check_sampler(sampler, noise)
    _check(calibration)
    refuse_learned(calibration.framework, schema, data)
    answer = evaluate(query, schema, data)
    values = noise.sample([float(value) for value in answer.values], sampler or SecureSampler())
    return Release(
        values=values,
        labels=answer.labels,
        calibration=calibration,
        missing_rule=_missing_rule({name: schema[name] for name in sorted(query.columns)}),
        margins=(0.0,) * len(values),
    )


@released.register
def _(calibration: Calibration, data: object, sampler: Sampler | None) -> Release:
    return release(calibration, data, sampler=sampler)


def _check_order(calibration: object, data: object) -> None:
    """Refuse what is no calibration, and say what to pass instead."""
    if hasattr(calibration, "certificate"):
        return
    remedy = "Calibrate first, for example calibration = plan(framework, query, epsilon).best."
    if isinstance(data, Calibration):
        remedy = "Write release(calibration, data), or calibration.release(data)."
    elif isinstance(calibration, Plan):
        remedy = "Release one of the calibrations of the plan, for example plan.best."
    found = f"a {type(calibration).__name__}{' before it' if isinstance(data, Calibration) else ''}"
    raise DataError("a calibration is needed first, then the table", found=found, remedy=remedy)


_DRAWS: dict[type[Noise], str] = {
    Laplace: "laplace",
    Gaussian: "gaussian",
    CorrelatedGaussian: "gaussian",
    DirectionalLaplace: "laplace",
    DiscreteLaplace: "discrete_laplace",
    Channel: "below",
}
"""The method of a sampler that each noise calls."""


def _check_sampler(sampler: object, noise: Noise) -> None:
    """Refuse what draws no noise of the kind that is needed, before any data are touched."""
    method = _DRAWS.get(type(noise), "laplace")
    if sampler is None or (not isinstance(sampler, type) and callable(getattr(sampler, method, None))):
        return
    raise ParameterError(
        f"a sampler draws this noise by its method {method}",
        found=checks.type_text(sampler),
        remedy="Leave it out; noise is then drawn from the random numbers of the operating system.",
    )


def _check(calibration: Calibration) -> None:
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
        try_sensitivity(query, schema)


def _whole_numbered(query: Query, schema: Schema) -> tuple[bool, ...]:
    """Return for each output whether its exact answer is a whole number on every table."""
    if isinstance(query, Custom):
        return (False,) * query.size
    form = normal_form(query, schema)
    return tuple(
        all(number.denominator == 1 for number in (*row.values(), shift))
        for row, shift in zip(form.rows, form.offset, strict=True)
    )


def _missing_rule(columns: dict[str, Column]) -> str:
    return "; ".join(f"{name}: {_column_rule(column)}" for name, column in columns.items()) + "."


def _column_rule(column: Column) -> str:
    if isinstance(column, Categorical):
        return f"a missing or undeclared category counts as {column.missing!r}"
    return (
        f"a missing value counts as {_shown(float(cast(float, column.missing)), 0)}, "
        f"one outside {_shown(float(column.lower), 0)} to {_shown(float(column.upper), 0)} as the nearest bound"
    )


def _common(interval: IntervalEnds, ends: IntervalEnds) -> IntervalEnds:
    """Return the part of an interval that lies in the range of the answer; all of it where none does."""
    low, high = max(interval[0], ends[0]), min(interval[1], ends[1])
    return (low, high) if low < high else interval


def _shown(value: float, width: float) -> str:
    """Return a number with the digits that the noise leaves meaningful, all of them if there is none."""
    if not width > 0 or not math.isfinite(width):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    digits = max(0, 2 - math.floor(math.log10(width)))
    return f"{value:,.{digits}f}" if abs(value) < 1e15 and digits <= 15 else repr(value)
