"""What a release says; everything in it may be published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.noise import is_none
from bnpriv.core.queries.asked import parts_of
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Span, derivation
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.release import INTERVAL_LEVEL, Release
from bnpriv.core.schema import Schema
from bnpriv.render.document import (
    Big,
    Block,
    Cell,
    Code,
    Document,
    Fact,
    Figure,
    Paragraph,
    Section,
    Table,
    fact,
    later,
)
from bnpriv.render.figures import bar_ends, interval_bar, interval_legend
from bnpriv.render.html import Html, join
from bnpriv.services import service
from bnpriv.text import name_text, number_text, shown_number
from bnpriv.views.calibration import (
    answer_facts,
    averaged_text,
    calibration_sections,
    next_step,
    query_text,
    share_text,
    verdict_badge,
)
from bnpriv.views.cards import short_guarantee

if TYPE_CHECKING:
    import pandas as pd

RELEASE_INTRO = "All of this may be published: the released numbers, and what was known before the data were touched."

NOISE_IS_NOT_CUT = (
    "Noise is not cut, so a released number may lie beyond what any table could give, and beside its interval."
)
"""Said only where a released number does: the intervals that are shown are cut to what an answer may be."""

ALL_AT_ONCE = "the intervals hold all the exact answers at once with 95 % probability"


@dataclass(frozen=True)
class ShownNumber:
    """A released number as it is shown.

    Parameters
    ----------
    label : str
        What it is.
    value : float
    interval : (float, float)
    text, low, high : str
        The number and the ends of its interval in the digits that the noise leaves meaningful; the ends are "" without
        noise.
    """

    label: str
    value: float
    interval: tuple[float, float]
    text: str
    low: str
    high: str

    @property
    def is_beside(self) -> bool:
        """Whether it lies outside its interval, which is cut to what the answer may be."""
        return bool(self.low) and not self.interval[0] <= self.value <= self.interval[1]

    @property
    def words(self) -> str:
        """Return the number with its interval in a line."""
        between = f"95 %: {self.low} to {self.high}" if self.low else "no noise"
        return f"{self.label} = {self.text} ({between})"


def release_document(release: Release) -> Document:
    """What a release says: its numbers, what they are worth, what was known before, and what came with it."""
    calibration, numbers = release.calibration, shown_numbers(release)
    badge, useful = verdict_badge(calibration), calibration.useful

    def facts() -> tuple[Fact, ...]:
        said = [*service("release.questions")(calibration, 1.0 if release.mark is None else release.mark.budget)]
        said += [] if release.mark is None else [release.mark.fact]
        said += [beside_fact(release.others)] if release.others else []
        return (*answer_facts(calibration), fact("Missing values", release.missing_rule), *said)

    def sections() -> tuple[Section, ...]:
        noise, *others = calibration_sections(calibration)
        return (*others, replace(noise, folded=True))

    return Document(
        kind="release",
        title=f"{calibration.query}: released",
        headline=(*query_text(calibration.query), " released"),
        verdict=badge.text,
        tone=badge.tone,
        lead=f"{useful.words}. {share_text(calibration)}" if averaged_text(calibration) else str(useful),
        short=(
            f"{_short_numbers(numbers)}. {useful.words}.{_beside(numbers)}",
            *short_guarantee(calibration.guarantee),
            *(() if release.mark is None else (release.mark.fact.lines[0],)),
            next_step(calibration, STATEMENT),
        ),
        number="\n".join(str(value) for value in release.values),
        answer=(*_numbers(calibration, numbers), Paragraph(RELEASE_INTRO, soft=True)),
        facts=later(facts),
        sections=later(sections),
        data=later(release.to_dict),
    )


STATEMENT = "Next: .statement(), in the shell --statement, makes a page to hand over; .explain() tells more."


def _short_numbers(numbers: Sequence[ShownNumber]) -> str:
    """The released number with its interval; of several as many as stand in a line, with what they are."""
    if len(numbers) == 1:
        return numbers[0].words.removeprefix(f"{numbers[0].label} = ")
    said = [replace(number, label=name_text(number.label, 60)).words for number in numbers]
    kept = max(k for k in range(1, len(said) + 1) if k == 1 or len("; ".join(said[:k])) <= 100)
    return "; ".join([*said[:kept], *([f"and {len(said) - kept:,} more"] if kept < len(said) else [])])


def _beside(numbers: Sequence[ShownNumber]) -> str:
    return " Noise is not cut." if any(number.is_beside for number in numbers) else ""


def shown_numbers(release: Release) -> list[ShownNumber]:
    """The numbers of a release as they are shown."""
    calibration = release.calibration
    noisy = not is_none(calibration.noise)
    uncertain = (False,) * len(release.base) if release.derivation is None else release.derivation.uncertain
    ranges = answer_ranges(calibration.query, calibration.framework.schema)
    ends = release.all_intervals(INTERVAL_LEVEL)
    found: list[ShownNumber] = []
    every = zip(release.labels, release.values, ends, ranges, uncertain, strict=True)
    for label, value, (start, end), (least, largest), is_open in every:
        width = end - start
        # the part that lies in the range of the answer; all of it where none does
        low, high = max(start, least), min(end, largest)
        low, high = (low, high) if low < high else (start, end)
        shown = (shown_number(low, width), shown_number(high, width)) if noisy or is_open else ("", "")
        found.append(ShownNumber(label, value, (low, high), shown_number(value, width), *shown))
    return found


def beside_fact(answers: int) -> Fact:
    """Return what must be known of other answers that were released with one."""
    them = "another answer" if answers == 1 else f"{answers} other answers"
    text = f"{them}. The guarantee is for this answer by itself: for the answers together none is stated, and the "
    return fact("Released with", text + "guarantees of each do not add up to one.")


def _numbers(calibration: Calibration, numbers: Sequence[ShownNumber]) -> tuple[Block, ...]:
    """Return the numbers, each with its interval drawn on the range of its answer."""
    schema = calibration.framework.schema
    ranges, found = answer_ranges(calibration.query, schema), derivation(calibration.query, schema)
    groups = [part.places for part in parts_of(calibration.query, schema)] if found is None else found.groups
    of_units = [[ranges[k] for k in places] for places in groups]
    axes = [(min(ends)[0], max(high for _, high in ends)) for ends in of_units for _ in ends]  # a scale for each unit
    bars = [_bar(number, ends, axis) for number, ends, axis in zip(numbers, ranges, axes, strict=True)]
    legend = interval_legend() if any(bars) else Html()
    beside = any(number.is_beside for number in numbers)
    beyond = (Paragraph(NOISE_IS_NOT_CUT),) if beside else ()
    if len(numbers) == 1:
        (number,) = numbers
        between = f"The exact answer lies between {number.low} and {number.high} with 95 % probability."
        said = between if number.low else "This is the exact answer: no noise was needed."
        ends = bar_ends(number_text(axes[0][0], 6), "range of the answer", number_text(axes[0][1], 6))
        figure = (Figure(join(bars[0], ends, legend)),) if bars[0] else ()
        return Big(number.text, words=number.words), Paragraph(said), *beyond, *figure
    return (
        Table(
            caption=f"The released numbers; {ALL_AT_ONCE}",
            header=("number", "released", "between"),
            rows=[
                (
                    (Code(number.label),),
                    number.text,
                    Cell(f"{number.low} and {number.high}" if number.low else "no noise", drawing=bar),
                )
                for number, bar in zip(numbers, bars, strict=True)
            ],
            numbers=(1,),
            drawn=f"drawn from {number_text(axes[0][0], 6)} to {number_text(axes[0][1], 6)}"
            if any(bars) and len(set(axes)) == 1
            else "",
        ),
        *beyond,
        Figure(legend),
    )


def answer_ranges(query: Query, schema: Schema) -> list[Span]:
    """Return between which numbers each number of an answer lies, whatever the table holds."""
    lower, upper = answer_range(query, schema)
    base: list[Span] = list(zip(lower.tolist(), upper.tolist(), strict=True))
    found = derivation(query, schema)
    return base if found is None else list(found.ranges(base))


def _bar(number: ShownNumber, ends: tuple[float, float], axis: tuple[float, float]) -> Html:
    """Return the drawing of a released number; nothing without noise, or where no range is declared."""
    if not all(map(math.isfinite, axis)) or not number.low:
        return Html()
    desc = f"Released {number.text}, between {number.low} and {number.high}, "
    desc += f"range {number_text(ends[0], 6)} to {number_text(ends[1], 6)}."
    return interval_bar(axis, ends, number.value, number.interval, title=f"{number.label} on its range", desc=desc)


def as_pandas(release: Release) -> pd.DataFrame:
    """Return a table with one row per released number; see `Release.to_pandas`."""
    import pandas as pd

    ends = release.all_intervals(INTERVAL_LEVEL)
    return pd.DataFrame(
        {
            "label": list(release.labels),
            "value": list(release.values),
            "lower": [low for low, _ in ends],
            "upper": [high for _, high in ends],
        }
    )
