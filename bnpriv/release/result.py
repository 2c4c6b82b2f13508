"""A released answer with its guarantee; everything in it may be published."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

from bnpriv.errors import LedgerError, QueryError, UselessAnswerWarning
from bnpriv.mechanisms.base import Calibration
from bnpriv.mechanisms.released import IntervalEnds
from bnpriv.noise.intervals import intervals, is_none
from bnpriv.queries.base import Query
from bnpriv.queries.custom import Custom
from bnpriv.queries.derived import Derivation
from bnpriv.queries.derived import derivation as derivation_of
from bnpriv.queries.normal_form import normal_form
from bnpriv.queries.sensitivity import answer_range
from bnpriv.render.shown import Shown
from bnpriv.render.text import Json, and_text, visible
from bnpriv.services import service
from bnpriv.tables.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from bnpriv.accounting.mark import Mark
    from bnpriv.frameworks.guarantee import Guarantee
    from bnpriv.render.document import Document

RELEASE_FORMAT = "bnpriv release 1"
INTERVAL_LEVEL = 0.95


@final
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
    mark : Mark, optional
        Where it stands in a ledger.
    others : int
        How many other answers `release_many` released with it.
    """

    base: tuple[float, ...]
    base_labels: tuple[str, ...]
    calibration: Calibration
    missing_rule: str
    margins: tuple[float, ...]
    mark: Mark | None = None
    others: int = 0

    @property
    def values(self) -> tuple[float, ...]:
        """Return the numbers of the answer; a variance or a quantile is worked out of the base."""
        return self.base if self.derivation is None else self.derivation.values(self.base)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return what each number of the answer is."""
        return self.base_labels if self.derivation is None else self.derivation.labels(self.base_labels)

    @property
    def value(self) -> float | tuple[float, ...]:
        """The number if there is one, else the tuple of all; where it is useless a `UselessAnswerWarning` says so."""
        if self.calibration.useful.verdict == "useless":
            told = f"{self.calibration.useful} print(release) says what was known before; docs/useless-answers.md."
            warnings.warn(UselessAnswerWarning(told), stacklevel=2)
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def guarantee(self) -> Guarantee:
        """Return what the release promises."""
        return self.calibration.guarantee

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per released number: its label, its value, and the ends of the interval at 95 %.

        Examples
        --------
        >>> import bnpriv as bp
        >>> best = bp.plan(bp.example("student"), bp.count(bp.col("height") > 180), epsilon=1.0).best
        >>> bp.release(best, bp.example_data("student")).to_pandas().values.tolist()
        [['count(height > 180)', 1120.0, 1120.0, 1120.0]]
        """
        import pandas as pd

        ends = self.all_intervals(INTERVAL_LEVEL)
        return pd.DataFrame(
            {
                "label": list(self.labels),
                "value": list(self.values),
                "lower": [low for low, _ in ends],
                "upper": [high for _, high in ends],
            }
        )

    def interval(self, level: float = INTERVAL_LEVEL) -> IntervalEnds | tuple[IntervalEnds, ...]:
        """Return intervals that hold all the exact answers at once, with probability `level` over the noise.

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
        """Return the release with every number moved into the range of its exact answer; intervals stay valid."""
        lower, upper = answer_range(self.calibration.query, self.calibration.framework.schema)
        ends = zip(self.base, lower, upper, strict=True)
        # the exact answer lies in the range, so a number outside only comes nearer to it
        return replace(self, base=tuple(min(max(value, float(low)), float(high)) for value, low, high in ends))

    def rounded(self) -> Release:
        """Return the release with counts and other whole-numbered answers rounded; their intervals widen by a half.

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
        """Return the release with its calibration as plain values."""
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
        """Return the released numbers, what they are worth, and what was known before."""
        return service("release.document")(self)

    @property
    def stored(self) -> Json:
        """Return what a ledger keeps of the answer: the released numbers, never anything of the data beside them."""
        return {
            "values": [value.hex() for value in self.base],
            "labels": list(self.base_labels),
            "missing_rule": self.missing_rule,
        }

    @staticmethod
    def from_stored(stored: Mapping[str, object], calibration: Calibration, mark: Mark) -> Release:
        """Return the release of which a ledger kept the answer.

        Parameters
        ----------
        stored : mapping
            What `stored` returned.
        calibration : Calibration
            Of the same question.
        mark : Mark
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
        """How the answer is worked out of the released numbers; None where they are the answer."""
        return derivation_of(self.calibration.query, self.calibration.framework.schema)

    def _worked_out_of(self) -> Json:
        """Return the released numbers of which the answer is worked out; nothing where they are the answer."""
        if self.derivation is None:
            return {}
        numbers = zip(self.base_labels, self.base, self._base_intervals(INTERVAL_LEVEL), strict=True)
        return {"base": [_number(*each) for each in numbers]}

    def _whole_numbered(self) -> tuple[bool, ...]:
        """Return for each number of the base whether its exact value is whole, and it is a number of the answer."""
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
        # a box outside the range of the base gives intervals beside the value; with it they hold no less
        return tuple((min(low, value), max(high, value)) for (low, high), value in zip(found, self.values, strict=True))

    def _base_intervals(self, level: float) -> tuple[IntervalEnds, ...]:
        return intervals(self.calibration.noise, self.base, self.margins, level)


def _number(label: str, value: float, interval: IntervalEnds) -> Json:
    return {"label": label, "value": value, f"interval_{100 * INTERVAL_LEVEL:g}": list(interval)}


def _whole_numbered(query: Query, schema: Schema) -> tuple[bool, ...]:
    """Return for each output whether its exact answer is a whole number on every table."""
    if isinstance(query, Custom):
        return (False,) * query.size
    form = normal_form(query, schema)
    return tuple(
        all(number.denominator == 1 for number in (*row.values(), shift))
        for row, shift in zip(form.rows, form.offset, strict=True)
    )
