"""What a release says, all of which may be published; and the one page of it for a data-protection officer."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bnpriv import checks
from bnpriv.core.frameworks.base import DECISIONS, MOST_REASON
from bnpriv.core.frameworks.guarantee import CHOSEN, Guarantee, belief_text, factor_text, percent_of
from bnpriv.core.frameworks.protected import ProtectedSecret, property_text
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import posterior_of
from bnpriv.core.noise import is_none
from bnpriv.core.queries.asked import parts_of
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Count, Difference, Mean, Proportion, Span, Total, derivation
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.release import INTERVAL_LEVEL, Release
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, ParameterError
from bnpriv.kind import notion_of
from bnpriv.render import document as doc
from bnpriv.render.as_text import inline
from bnpriv.render.figures import bar_ends, interval_bar, interval_legend
from bnpriv.render.html import Html, join
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.text import (
    and_text,
    by_times,
    full_text,
    name_text,
    number_text,
    rounded_up,
    shorter,
    shown_number,
    some_text,
    upper_chance,
    upper_text,
    visible,
)
from bnpriv.views import calibration as calibrated
from bnpriv.views.accountant import PRIVATE_TABLE
from bnpriv.views.cards import short_guarantee, sureness_fact

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


def release_document(release: Release) -> doc.Document:
    """What a release says: its numbers, what they are worth, what was known before, and what came with it."""
    calibration, numbers = release.calibration, shown_numbers(release)
    badge, useful = calibrated.verdict_badge(calibration), calibration.useful

    def facts() -> tuple[doc.Fact, ...]:
        said = [*service("release.questions")(calibration, 1.0 if release.mark is None else release.mark.budget)]
        said += [] if release.mark is None else [release.mark.fact]
        said += [beside_fact(release.others)] if release.others else []
        return (*calibrated.answer_facts(calibration), doc.fact("Missing values", release.missing_rule), *said)

    def sections() -> tuple[doc.Section, ...]:
        noise, *others = calibrated.calibration_sections(calibration)
        return (*others, replace(noise, folded=True))

    return doc.Document(
        kind="release",
        title=f"{calibration.query}: released",
        headline=(*calibrated.query_text(calibration.query), " released"),
        verdict=badge.text,
        tone=badge.tone,
        lead=f"{useful.words}. {calibrated.share_text(calibration)}"
        if calibrated.averaged_text(calibration)
        else str(useful),
        short=(
            f"{_short_numbers(numbers)}. {useful.words}.{_beside(numbers)}",
            *short_guarantee(calibration.guarantee),
            *(() if release.mark is None else (release.mark.fact.lines[0],)),
            calibrated.next_step(calibration, STATEMENT),
        ),
        number="\n".join(str(value) for value in release.values),
        answer=(*_numbers(calibration, numbers), doc.Paragraph(RELEASE_INTRO, soft=True)),
        facts=doc.later(facts),
        sections=doc.later(sections),
        data=doc.later(release.to_dict),
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


def beside_fact(answers: int) -> doc.Fact:
    """Return what must be known of other answers that were released with one."""
    them = "another answer" if answers == 1 else f"{answers} other answers"
    text = f"{them}. The guarantee is for this answer by itself: for the answers together none is stated, and the "
    return doc.fact("Released with", text + "guarantees of each do not add up to one.")


def _numbers(calibration: Calibration, numbers: Sequence[ShownNumber]) -> tuple[doc.Block, ...]:
    """Return the numbers, each with its interval drawn on the range of its answer."""
    schema = calibration.framework.schema
    ranges, found = answer_ranges(calibration.query, schema), derivation(calibration.query, schema)
    groups = [part.places for part in parts_of(calibration.query, schema)] if found is None else found.groups
    of_units = [[ranges[k] for k in places] for places in groups]
    axes = [(min(ends)[0], max(high for _, high in ends)) for ends in of_units for _ in ends]  # a scale for each unit
    bars = [_bar(number, ends, axis) for number, ends, axis in zip(numbers, ranges, axes, strict=True)]
    legend = interval_legend() if any(bars) else Html()
    beside = any(number.is_beside for number in numbers)
    beyond = (doc.Paragraph(NOISE_IS_NOT_CUT),) if beside else ()
    if len(numbers) == 1:
        (number,) = numbers
        between = f"The exact answer lies between {number.low} and {number.high} with 95 % probability."
        said = between if number.low else "This is the exact answer: no noise was needed."
        ends = bar_ends(number_text(axes[0][0], 6), "range of the answer", number_text(axes[0][1], 6))
        figure = (doc.Figure(join(bars[0], ends, legend)),) if bars[0] else ()
        return doc.Big(number.text, words=number.words), doc.Paragraph(said), *beyond, *figure
    return (
        doc.Table(
            caption=f"The released numbers; {ALL_AT_ONCE}",
            header=("number", "released", "between"),
            rows=[
                (
                    (doc.Code(number.label),),
                    number.text,
                    doc.Cell(f"{number.low} and {number.high}" if number.low else "no noise", drawing=bar),
                )
                for number, bar in zip(numbers, bars, strict=True)
            ],
            numbers=(1,),
            drawn=f"drawn from {number_text(axes[0][0], 6)} to {number_text(axes[0][1], 6)}"
            if any(bars) and len(set(axes)) == 1
            else "",
        ),
        *beyond,
        doc.Figure(legend),
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


# --------------------------------------------------------------------------------------------------
# One page for a data-protection officer: what was published, what nobody can conclude from it, who decided what.
# --------------------------------------------------------------------------------------------------

MOST_ASKED_SHOWN = 8
"""Releases of an account that are listed."""

BLANK = "_" * 40
"""A line to be filled in by hand."""

NO_LEDGER = doc.fact("Where it is recorded", "in no ledger: what else was released of the table is counted nowhere")

SINGLE_RECORDS = (
    "Single records: whether somebody is in the table, and what their record holds. Differential privacy for single "
    "records is the tool for that."
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Statement(Shown):
    """One page for a data-protection officer: of what, what was promised, who decided it and how it was checked."""

    lines: Sequence[doc.Text]
    it: str
    schema: Any
    guarantee: Guarantee
    said: Mapping[str, str]
    checked: Sequence[doc.Fact]
    framework: Any = None
    needs_model: bool = True
    real_records: bool = False
    outside: bool = False
    when: str = ""
    asked: str = "asked for with the release"

    @property
    def document(self) -> doc.Document:
        """The page, the same for whatever was published."""
        rows, limits = list(_decisions(self)), list(_limits(self))
        out_of = f"a table of {self.schema.records:,} records of {some_text(self.schema.columns, 12)}"
        when = " ".join(filter(None, (self.when, BLANK)))
        asked = doc.fact("Published", *self.lines), doc.fact("Out of", out_of), doc.fact("When, by whom, to whom", when)
        model = [doc.fact("The model", _believed(self), self.guarantee.source)] if self.needs_model else []
        by: list[doc.Inline] = [f"bnpriv {version('bnpriv')}"]
        if self.framework is not None:
            by += [", framework ", doc.Code(self.framework.fingerprint()[:16])]
        header = "what", "as it is", "decided, as declared and not checked"
        decisions = doc.Table(caption="", header=header, rows=[row[1:4] for row in rows])
        criteria = doc.Table(
            caption="The criteria of opinion 05/2014 of the Article 29 Working Party",
            header=("criterion", "what this page says of it", "what it does not"),
            rows=_criteria(self),
            more="This page is no finding that what was published is anonymous in the sense of that opinion.",
        )
        facts = doc.Facts((*model, *self.checked, doc.fact("Made by", tuple(by))))
        parts: dict[str, Sequence[doc.Block]] = {
            "What was published": (doc.Facts(asked),),
            "What can be concluded from it at most": [*map(doc.Paragraph, limits)],
            "What is not protected": (doc.Items(tuple(_open(self))),),
            "Who decided what": (decisions,),
            "Singling out, linkability, inference": (criteria,),
            "What it rests on, what was checked, and how to check it again": (facts,),
        }
        return doc.Document(
            kind="statement",
            kicker="Statement for the data-protection officer",
            headline="What was published, and what can be concluded from it at most",
            short=(
                f"Published: {'; '.join(map(inline, self.lines))}",
                *short_guarantee(self.guarantee, self.it.rstrip(",")),
                "Next: .to_docx(FILE) or .to_html(FILE), which is one page to hand over.",
            ),
            sections=tuple(
                doc.Section(title=title, id=None if place else "statement", blocks=tuple(blocks), explained=True)
                for place, (title, blocks) in enumerate(parts.items())
            ),
            data={
                "published": [inline(line) for line in self.lines],
                "guarantee": self.guarantee.to_json(),
                "odds": factor_text(self.guarantee.nats),
                "example": _example(self),
                "decisions": [dict(zip(DECISION_FIELDS, row, strict=True)) for row in rows],
                "source": self.guarantee.source,
            },
        )


DECISION_FIELDS = ("name", "what", "value", "decided", "status")


def release_statement(release: Any, decided: Any = None, public: object = None, replay: str = "") -> Statement:
    """The statement on a released answer; see `Release.statement`."""
    made, numbers = release.calibration, shown_numbers(release)
    lines = shorter(
        [
            f"{each.label}: {each.text}" + (f" (95 %: {each.low} to {each.high})" if each.low else ", the exact answer")
            for each in numbers
        ]
    )
    if any(each.low for each in numbers):
        told = "the exact answer lies" if len(numbers) == 1 else "all exact answers at once lie"
        lines.append(f"{told} between these ends with 95 % probability")
    if isinstance(made.query, (Count, Mean, Proportion, Total)):
        lines.insert(0, property_text(made.query))
    return Statement(
        lines=lines,
        it="this answer" if len(numbers) == 1 else "these answers",
        schema=made.framework.schema,
        guarantee=made.guarantee,
        said=_said(made.framework, decided),
        checked=(
            *([beside_fact(release.others)] if release.others else []),
            sureness_fact(made.guarantee),
            _public_fact(made, public),
            *_kept(release, replay, "release"),
        ),
        framework=made.framework,
        asked="asked for with the release" if made.guarantee.epsilon == made.epsilon else "worked out, not asked for",
        needs_model=made.mechanism.needs_model or made.guarantee.without_model is not None,
    )


def table_statement(made: Any, decided: Any = None, framework: Any = None, replay: str = "") -> Statement:
    """The statement on a private table; see `PrivateTable.statement`."""
    rule = made.rule
    return Statement(
        lines=(f"a whole table of {sum(made.sizes):,} real records, of persons who are not protected, for any use",),
        it="the table, or whatever is made of it,",
        schema=rule.classes.schema,
        guarantee=rule.guarantee,
        said=_said(framework, decided),
        checked=(sureness_fact(rule.guarantee), *_kept(made, replay, "table")),
        framework=framework,
        needs_model=rule.law is not None,
        real_records=True,
        asked="at most what was asked for",
    )


def _answered(values: Sequence[float] | None, scale: float) -> str:
    """The numbers that a ledger keeps of a release, in the digits that its noise leaves meaningful."""
    if values is None:
        return ""
    noise = f", noise of scale {number_text(scale)}" if scale else ""
    return f": {', '.join(shorter([shown_number(value, 6 * scale) for value in values]))}{noise}"


def session_statement(account: Any, history: Any, where: str, decided: Any = None) -> Statement:
    """The statement on all that was released within one budget; see `Session.statement`."""
    releases, answers, budget = history.releases, account.answers, account.budget
    guarantee = account.accountant.guarantee(float(budget.delta))
    asked = [
        f"{made.number}. {visible(made.entry.text)}{_answered(answers.get(made.number), made.entry.scale)}"
        for made in releases[:MOST_ASKED_SHOWN]
    ]
    more = [f"and {len(releases) - MOST_ASKED_SHOWN:,} more"] if len(releases) > MOST_ASKED_SHOWN else []
    days = sorted({made.time[: len("2026-01-01")] for made in releases})
    kept = Path(where).name.partition("?")[0]  # no folder, no password
    ledger = (
        doc.fact("Hash of the ledger's last row", (doc.Code(account.head),)),
        doc.fact("To check the ledger again", (doc.Code(shlex.join(["bnpriv", "ledger", "verify", kept])),)),
    )
    outside = sum(made.entry.record is not None for made in releases)
    if outside:
        promised = f"{outside:,} of the releases, taken as declared: what those tools promise is not checked here"
        ledger = doc.fact("Of other tools", promised), *ledger
    questions = "1 question" if len(releases) == 1 else f"{len(releases):,} questions"
    return Statement(
        lines=(f"answers to {questions}, kept in the ledger", *asked, *more),
        it="all that was released",
        schema=account.framework.schema,
        guarantee=guarantee,
        said=_said(account.framework, decided),
        checked=(sureness_fact(guarantee), *ledger),
        framework=account.framework,
        needs_model=any(made.entry.family != "column" for made in releases),
        real_records=any(made.entry.mechanism == PRIVATE_TABLE for made in releases),
        outside=outside > 0,
        asked=f"added up over all of it, within a budget of epsilon {full_text(float(budget.epsilon))}",
        when=days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
    )


# --------------------------------------------------------------------------------------------------
# What nobody can conclude, in odds and in an example, and what is not protected.
# --------------------------------------------------------------------------------------------------


def _limits(page: Statement) -> Iterable[str]:
    guarantee = page.guarantee
    yield f"Protected: {_some([str(secret) for secret in guarantee.secrets])}."
    whoever = f"To somebody who sees {page.it} and believes "
    whoever += "a model that is named below" if page.needs_model else _believed(page)
    # with a delta only one way is bounded: down they may move further a little more often
    moved = f"{'rise' if guarantee.delta else 'move'} {by_times(guarantee.nats)}{_rare(guarantee)}"
    if guarantee.failure < 1:
        yield f"{whoever}, the odds between two such values {moved}. {_example(page)}"
    else:
        bound = f"{factor_text(guarantee.epsilon)} p + {upper_text(guarantee.delta)}"
        told = "any set of outcomes that has probability p under one of two such values has at most"
        yield f"{whoever}, {told} {bound} under the other: odds are not bounded."
    if guarantee.kind == "estimate":
        yield "This rests on an estimate, not on a proof."
    if guarantee.confidence is not None:
        yield f"This holds with confidence {percent_of(guarantee.confidence)} % over draws from the model. {CHOSEN}"
    if guarantee.failure == 1:
        return
    if guarantee.with_belief:
        names = " or of ".join(map(name_text, guarantee.with_belief))
        rare = f", except with probability at most {upper_chance(guarantee.failure)}" if guarantee.failure else ""
        yield f"A belief of 10 % in one value of {names} becomes at most {belief_text(0.1, guarantee.nats)}{rare}."
    rest = [name_text(secret.attribute) for secret in guarantee.secrets if not secret.bounds_belief]
    if rest:
        yield (
            f"Of {and_text(rest)} only these pairs are protected: the odds between other values, and a belief in one "
            "value against all others, may move further."
        )


def _some(texts: Sequence[str], most: int = 3) -> str:
    return "; ".join([*texts[:most], *([f"and {len(texts) - most:,} more"] if len(texts) > most else [])])


def _believed(page: Statement) -> str:
    """What somebody may believe, without the source, which stands once on the page."""
    drawn = None if page.framework is None else posterior_of(page.framework)
    return page.guarantee.observer.replace("" if drawn is None else f" (public data: {drawn.source})", "")


def _rare(guarantee: Guarantee) -> str:
    rare = f", except with probability at most {upper_chance(guarantee.failure)} if one of the two is true"
    return rare if 0 < guarantee.failure < 1 else ""


def _example(page: Statement) -> str:
    """The limit for one pair of values of the first secret, which nothing of the data chose."""
    guarantee, secret = page.guarantee, page.guarantee.secrets[0]
    if guarantee.failure == 1:
        return ""
    first, second = example_pair(secret, page.framework)
    odds = f"at most {factor_text(guarantee.nats)} to 1, that is at most {belief_text(0.5, guarantee.nats)}"
    return (
        f"Example, with made-up values: who held it for even odds that {secret.secret} is {first} rather than {second} "
        f"will afterwards hold it for {odds}{_rare(guarantee)}."
    )


def example_pair(secret: ProtectedSecret, framework: Any) -> tuple[str, str]:
    """Two values that are a protected pair of a secret, by its declaration alone."""
    if secret.distance is None:
        with suppress(AttributeError, LookupError, ValueError):  # what lists no pairs, or none of two sides
            first, second = str(framework.secrets[secret.attribute][0]).split(" against ")
            return visible(first), visible(second)
        return "one of two such values", "the other"
    asked = getattr(getattr(framework, "chosen_secrets", {}).get(secret.attribute), "property", None)
    generally = "one value", f"another that is {full_text(secret.distance)} away"
    if asked is None:
        return generally
    low, high = (float(end[0]) for end in answer_range(asked, framework.schema))
    # a tenth of the range in one digit, as people think of numbers
    start, step = float(f"{low + (high - low) / 10:.1g}"), min(secret.distance, high - low)
    if isinstance(asked.parts[0] if isinstance(asked, Difference) else asked, Count) or step >= 1:
        start, step = float(math.ceil(start)), float(math.floor(step))
    start = start if low <= start and start + step <= high else low
    end = float(f"{start + step:.12g}")
    if not 0 < end - start <= secret.distance * (1 + 1e-9):  # too few digits for these two
        return generally
    return shown_number(float(start), 0), shown_number(end, 0)


def _open(page: Statement) -> Iterable[doc.Text]:
    guarantee, framework = page.guarantee, page.framework
    if guarantee.baseline_text:
        yield guarantee.baseline_text
    elif framework is not None and framework.single_values:
        yield "Whether somebody is in the table, and what their record holds in other columns."
    elif not page.real_records:
        yield SINGLE_RECORDS
    elif not guarantee.beyond_text:
        yield "Single persons: real records are handed on."
    others = {*page.schema.columns} - {*guarantee.protected}
    if others:
        yield f"What the table as a whole holds in other columns: {some_text(others, 12)}."
    yield "What it holds in the protected columns, but for what is named above."
    if page.needs_model:
        yield "What somebody concludes who believes another model; if the model is false, the limit may be passed."
    yield "Further numbers or tables out of the same data: what they tell comes on top of this."
    if guarantee.beyond_text:
        yield guarantee.beyond_text


def _criteria(page: Statement) -> Sequence[Sequence[doc.Text]]:
    """What the page says, and does not, of each way in which data may fail to be anonymous."""
    said, alone = "only the numbers above are published, no records", "whether they tell something of one person alone"
    linked = "whether they can be joined with other data on the same persons"
    if page.outside:
        said = "nothing: other tools released some of it"
    if page.real_records:
        said, alone = "nothing: real records are handed on", "whether a person can be found by what is known of them"
        linked = "whether records can be joined with other data"
    single = "other values" if getattr(page.framework, "single_values", False) else "values"
    others = f"{single} of single persons, other columns, other pairs of values, other models"
    rows = [("Singling out", said, alone), ("Linkability", said, linked)]
    return [*rows, ("Inference", "it is limited for what is protected above, as said there", others)]


# --------------------------------------------------------------------------------------------------
# Who decided what, and what was checked.
# --------------------------------------------------------------------------------------------------


def _said(framework: Any, decided: Any) -> Mapping[str, str]:
    """Who decided what: as the caller says, else as the framework's file says."""
    given: Any = {} if decided is None else decided
    if not isinstance(given, Mapping):
        found, remedy = checks.type_text(decided), 'Write decided={"epsilon": "the board, because ..."}.'
        raise ParameterError("decisions are given by their names", found=found, remedy=remedy)
    told: dict[str, str] = dict(getattr(framework, "decisions", None) or {})
    for name, said in cast("Mapping[Any, Any]", given).items():
        checks.member("a decision", name, DECISIONS, error=ParameterError)
        told[name] = checks.text(name, said, error=ParameterError)
        if len(said) > MOST_REASON:
            required, found = f"who decided {name} is said in at most {MOST_REASON} letters", f"{len(said):,}"
            raise ParameterError(required, found=found, remedy="Shorten it, and name where more is written.")
    return told


def _decisions(page: Statement) -> Iterable[tuple[str, str, str, str, str]]:
    """For each choice its name, what it is, its value, who made it, and in a word whether somebody did."""
    guarantee, secrets = page.guarantee, page.guarantee.secrets
    given = "given with the framework" if getattr(page.framework, "decisions", None) is not None else "given"
    pairs = _some([name_text(each, 120) for each in dict.fromkeys(each.pairs for each in secrets)])
    several = f"{guarantee.models:,} model{'s' if guarantee.models > 1 else ''}, named below"
    kind = ""
    if page.framework is not None:
        hidden = notion_of(page.framework).secret_text or "what columns are like as a whole"
        kind = f"{hidden} ({page.framework.notion})"
    delta = full_text(rounded_up(guarantee.delta)) if guarantee.delta else "0, none"
    for name, what, value, source in (
        ("notion", "kind of fact that is hidden", kind, given),
        ("protected", "what is protected", _some([name_text(each.secret, 120) for each in secrets]), given),
        ("apart", "how far apart (k)", pairs, given),
        ("epsilon", "strength (epsilon)", upper_text(guarantee.epsilon, 6), page.asked),
        ("delta", "leeway (delta)", delta, page.asked),
        ("model", "the model, and what it rests on", several if page.needs_model else "", given),
    ):
        told = visible(page.said.get(name, "")).strip()
        if told[: len("default")].lower() == "default":
            why = told[len("default") :].strip(" :")
            yield name, what, value, "a default that nobody decided" + (f" ({why})" if why else ""), "default"
        elif value:
            stated = f"decided: {told}" if told else f"{source}; no reason is stated"
            yield name, what, value, stated, "decided" if told else "not stated"


def _public_fact(calibration: Any, public: object) -> doc.Fact:
    """What a public table says of the model for this query, where one was given."""
    if public is None:
        return doc.fact("The model against a public table", "not compared for this page")
    try:
        compared = service("plan.compared")(calibration.framework, public, calibration.query, calibration)
    except BnprivError as refused:
        return doc.fact("The model against a public table", f"could not be compared: {refused}")
    only = "that checks something only if the model was not learned from this very table"
    return doc.fact("The model against a public table", compared.document.headline, only)


def _kept(made: Any, replay: str, what: str) -> Sequence[doc.Fact]:
    """Where it stands in a ledger, and how other code replays it."""
    command = doc.Code(replay or f"bnpriv verify {what}.json --framework framework.toml")
    stored = "" if replay else f"; {what}.json is what --json or .to_json() writes, not written with this page"
    again = doc.fact("To check it again by other code", (command, f", which exits with 0 if all of it holds{stored}"))
    return (NO_LEDGER if made.mark is None else made.mark.fact, again)
