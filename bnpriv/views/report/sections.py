"""The sections of a report that stand around its tables: answer, beliefs, laws, reading."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from bnpriv import text as texts
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.influence.base import LEAST_MARGIN
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.certificate import models_text
from bnpriv.core.mechanisms.law_decision import LawDecision
from bnpriv.core.noise import Laplace
from bnpriv.errors import Refusal
from bnpriv.kinds.draws.laws import WHOLE_TABLES
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import LEVEL, LIMITS, Usefulness, UsefulnessWord
from bnpriv.render import document as doc, html
from bnpriv.render.as_text import inline
from bnpriv.render.figures import bar_ends, bar_legend, noise_bar
from bnpriv.render.html import Html, data_block, element, join
from bnpriv.services import service
from bnpriv.views import cards
from bnpriv.views.calibration import TRUST, brief_text, is_weighted, narrowest, next_step, query_facts, short_lines
from bnpriv.views.cards import belief_fact as of_guarantee
from bnpriv.views.curves import law_drawing
from bnpriv.views.report import words
from bnpriv.views.report.advice import is_costly, least_noise
from bnpriv.views.report.analysis import leak_path, quilt_calibration
from bnpriv.views.report.values import Analysis, AttributeReport, ScaleCurve

# --------------------------------------------------------------------------------------------------
# How far a reader's beliefs can move: after the calibrated answer or, without one, after learning all the columns.
# --------------------------------------------------------------------------------------------------


def belief_fact(report: Analysis) -> doc.Fact:
    """Return one number: what a belief of 10 % becomes, or by what factor odds move."""
    question = "What it can change"
    if report.best is not None:
        return of_guarantee(report.best.guarantee)
    row = report.worst
    if row is None:
        return doc.fact(question, "Give an epsilon to learn how far the answer can move a belief.")
    what, rarely = words.asked_text(report, row), words.rarely_text(row)
    if math.isnan(row.told):
        found = row.answer or (None if row.asked is None else row.estimated.get(row.asked.columns))
        if found is None or found.unknown is not None:
            seen = "columns by themselves" if row.answer is None else what
            remedy = "" if found is None or found.unknown is None else f" {found.unknown.remedy}"
            return doc.fact(question, f"How far {seen} can move the odds is {words.estimate_text(found)}.{remedy}")
        delta = words.but_for_delta(found.delta)
        if found.nats == 0:
            return doc.fact(question, f"The odds are not seen to move, {delta}, by all that {what} can tell.")
        became = cards.even_text(found.nats).replace("at most", "about")
        return doc.fact(question, f"{became}, {delta}, by all that {what} can tell (estimate).")
    if row.bounds_belief:
        became = odds.belief_text(odds.PRIOR, row.told_first)
        told = f"A belief of 10 % in one secret becomes at most {became} by all that {what} can tell{rarely}."
        return doc.fact(question, told)
    return doc.fact(question, f"{cards.even_text(row.told_first)}, by all that {what} can tell{rarely}.")


def beliefs_section(report: Analysis) -> doc.Section | None:
    """A table of beliefs before and after, or a sentence where none is bounded."""
    rows = [row for row in report.attributes if row.bounds_belief and row.asked and not math.isnan(row.told)]
    if report.best is None and not rows:
        return None
    block = _after_columns(report, rows) if report.best is None else cards.belief_table(report.best.guarantee)
    return doc.Section(title="What a reader can come to believe", blocks=(block,), id="beliefs", folded=True)


def _after_columns(report: Analysis, rows: list[AttributeReport]) -> doc.Table:
    what = words.asked_text(report, rows[0])
    return doc.Table(
        caption=f"A belief in one secret, before, and at most after learning all that {what} can tell",
        header=("before", *(f"about {texts.name_text(row.protected)}" for row in rows)),
        rows=[
            (texts.percent_text(prior), *(odds.belief_text(prior, row.told) for row in rows)) for prior in odds.PRIORS
        ],
        numbers=tuple(range(1, len(rows) + 1)),
    )


# --------------------------------------------------------------------------------------------------
# What words mean, and long names in full.
# --------------------------------------------------------------------------------------------------

SHORTEST = 18
"""Longer names are shortened somewhere on the page."""


def long_names_section(report: Analysis) -> doc.Section | None:
    """Return long names in full: on paper and on a phone nobody can point at them."""
    names = () if report.network is None else report.network.attributes
    long = [name for name in names if len(texts.visible(name)) > SHORTEST]
    if not long:
        return None
    most = max(map(len, long))
    return doc.Section(
        title="Long names in full",
        blocks=(doc.Items(tuple((doc.Name(name, most * 10),) for name in long)),),
        id="names",
        folded=True,
    )


# --------------------------------------------------------------------------------------------------
# The laws of the answer under the two secrets that are told apart best, drawn.
# --------------------------------------------------------------------------------------------------


def laws_section(report: Analysis) -> doc.Section | None:
    """Return what tells the two worst secrets apart in the answer; nothing where the noise shows it already."""
    if report.laws is None:
        return None
    if isinstance(report.laws, Refusal):
        blocks: tuple[doc.Block, ...] = (words.not_worked_out(report.laws),)
    else:
        noise = None if report.best is None else report.best.noise
        decided = () if report.best is None else report.best.certificate.decisions
        if isinstance(noise, Channel) or any(isinstance(each, LawDecision) for each in decided):
            return None  # the section on the noise draws them: one picture, with what is released
        drawn = law_drawing(replace(report.laws, scale=0.0), str(report.query))
        # without columns the facts tell the distance
        told = (doc.Paragraph(distance_text(report.laws)),) if report.attributes else ()
        blocks = (*told, *([] if drawn is None else [drawn]))
    return doc.Section(title="The answer under the two worst secrets", blocks=blocks, id="laws")


def distance_text(decision: LawDecision) -> str:
    """Return how far apart the two laws are."""
    which = decision.secrets
    if decision.distance is None:
        return f"The noise keeps {decision.rule} alike under {which}."
    return (
        f"Between {which} the distribution of the answer moves by at most {texts.upper_text(decision.distance.upper)}."
    )


# --------------------------------------------------------------------------------------------------
# What is said first, for every kind of model alike: the questions that a report answers below its verdict.
# --------------------------------------------------------------------------------------------------

MOST_TELLING, MOST_FREE = 4, 3
"""Columns that are printed with how far they move the odds, or that may go out."""

ASK = "Next: ask a query: bp.influence_report(framework, query, epsilon), or bnpriv report --query."
SAY_EPSILON = "Next: give an epsilon, to learn what noise the answer needs; .explain() tells how it leaks."
RELEASE_FOUND = "Next: bp.release(report.plan.best, data), in the shell bnpriv release; .to_html() draws what leaks."


def short(report: Analysis, tries: Sequence[doc.Text]) -> tuple[doc.Text, ...]:
    """What is printed below the headline: the noise or what tells most, who is kept from what, and what to do next."""
    best = report.best
    tried = next((("Next: ", *doc.parts_of(each)) for each in tries if len(inline(each)) < cards.MOST_SAID), None)
    if best is not None:
        return short_lines(best, tried or next_step(best, RELEASE_FOUND))
    secrets = doc.Kept(cards.fitted("To be protected: ", report.protected))
    if report.plan is not None:
        return ("No mechanism supports this query.", secrets, tried or ASK)
    told = [*_telling(report), *_open(report)] if report.query is None else []
    model = doc.Kept(cards.model_line(_observer(report), report.source))
    return (*told, secrets, model, ASK if report.query is None else SAY_EPSILON)


def number(report: Analysis) -> str:
    """By how much 95 % of releases err at most; without an epsilon how many nats are told at most."""
    if report.best is not None:
        return str(report.best.quantile(LEVEL))
    row = report.worst
    if row is None or math.isnan(row.told):
        return "" if row is None else str(math.inf)  # an estimate is no bound
    return str(row.told_first if report.query is not None else max(row.most, row.told_first))


def _telling(report: Analysis) -> Iterator[doc.Text]:
    """Yield how far single columns move the odds on what is told about most, the most telling first."""
    row = report.worst
    told = () if row is None else [each for each in row.columns if 0 < row.shown(each) < math.inf][:MOST_TELLING]
    if row is not None and told:
        factors = [f"{texts.some_text(each.columns)} {texts.factor_text(row.shown(each))}" for each in told]
        if row.estimated:
            chance = words.but_for_delta(row.estimated[told[0].columns].delta)
            yield f"Times the odds on {texts.name_text(row.protected)}, {chance}: {', '.join(factors)} (estimates)."
            return
        rarely = words.rarely_text(row) + " (estimates)" * any(each.kind == "estimate" for each in told)
        yield f"Times the odds on {texts.name_text(row.protected)}, at most: {', '.join(factors)}{rarely}."


def _open(report: Analysis) -> Iterator[doc.Text]:
    """Yield which columns may go out as they are at epsilon 1, or tell nothing."""
    found = None if report.framework is None else service("report.open_columns")(report.framework, 1.0)
    rows = [
        frozenset(name for each in row.columns if float(each) == 0 for name in each.columns)
        for row in report.attributes
    ]
    silent = frozenset[str]().union(*rows[:1]).intersection(*rows)
    if found is not None and found.sets and found.best.columns:
        free = texts.some_text(found.best.columns, MOST_FREE)
        yield f"May go out as they are, together, at epsilon 1, with single records open: {free}."
    elif silent:
        yield f"Each by itself tells nothing: {texts.some_text(silent, MOST_FREE)}."


UNBOUNDED = " is not known: nothing bounds it, and the noise does not lean on it being little."

ARROW = "\u2192"


def facts(report: Analysis, tries: Sequence[doc.Text]) -> Iterator[doc.Fact]:
    """Yield the questions that a report answers; `tries` is what to try next."""
    best = report.best
    secrets = report.protected if best is None else best.guarantee.secrets
    useless = best is not None and best.useful.verdict == "useless"
    if tries and useless:
        yield doc.fact("What to try next", *tries)
    if report.query is not None:
        yield from query_facts(report.query)
    yield cards.protected_fact(secrets)
    yield cards.observer_fact(
        _observer(report), "a statistic of these columns" if report.query is None else "the answer"
    )
    if best is not None:
        yield doc.fact("What noise it needs, and why", brief_text(best))
        yield cards.sureness_fact(best.guarantee)
    yield belief_fact(report)
    leaks = [_leak(row) for row in report.attributes if row.columns or row.asked or row.driven]
    if not leaks and isinstance(report.laws, LawDecision):
        leaks = [distance_text(report.laws)]
    if leaks:
        yield doc.fact("What leaks most", *leaks)
    unseen = [line for row in report.attributes for line in _unseen(row)]
    if unseen:
        yield doc.fact("Where no dependence is seen", *unseen)
    if tries and not useless:
        yield doc.fact("What to try next", *tries)
    source = "not stated" if report.source is None else report.source
    yield doc.fact(TRUST, (_trusted(report), " Source: ", doc.Strong(source), "."))


def _trusted(report: Analysis) -> str:
    if report.network is None:
        drawn = report.best is not None and WHOLE_TABLES in report.best.certificate.assumptions
        return (
            "That tables are drawn as it says." if drawn else "That the declared distributions are those of the answer."
        )
    return "That no dependence is missing in it."


def _observer(report: Analysis) -> str:
    """Return what somebody who must not learn the secrets may believe."""
    if report.best is not None:
        return report.best.guarantee.observer
    if report.network is None or not report.attributes:
        return "one of the declared distributions"
    framework = report.framework
    if framework is not None and framework.public_records is not None:
        return models_text(framework)
    return words.observed_text(report.network)


def _leak(row: AttributeReport) -> doc.Text:
    """Return which column tells most, and along which path."""
    direct = tuple(name for name, told in row.driven if told is None)
    if direct and not row.estimated:
        return doc.Names(direct), " about ", doc.Name(row.protected), ": driven by it directly, which tells everything."
    top = row.columns[0] if row.columns else row.asked
    if top is None or float(top) == 0:
        return "No single column tells anything about ", doc.Name(row.protected), "."
    if top.unknown is not None and math.isinf(float(top)):
        found = row.estimated.get(top.columns)
        if found is not None and found.unknown is None:
            return f"{words.estimate_sentence(texts.some_text(top.columns), texts.name_text(row.protected), found)}."
        unknown = tuple(name for each in row.columns if math.isnan(row.shown(each)) for name in each.columns)
        verb = "tells" if len(unknown or top.columns) == 1 else "tell"
        return (
            "What ",
            doc.Names(unknown or tuple(top.columns), most=3),
            f" {verb} about ",
            doc.Name(row.protected),
            UNBOUNDED,
        )
    told, likely = float(top), row.likely.get(top.columns)
    if likely is not None and likely.dependence is False:
        return (
            "Of no column is a dependence on ",
            doc.Name(row.protected),
            f" seen in {likely.records:,} public records.",
        )
    if top.columns == frozenset({row.protected}):
        between = "" if math.isinf(told) else f": the odds move {texts.by_times(told)}"
        return "The other values of ", doc.Name(row.protected), f" tell about each of them{between}."
    if math.isinf(told):
        moved = f"it {words.endless_text(top)}"
    elif likely is not None:
        moved = f"the odds move by at most {words.likely_text(likely)}, {texts.times_text(told)} {likely.worst}"
    else:
        moved = f"the odds move {texts.by_times(told)}"
    edges = leak_path(top)
    path: doc.Text = (", along ", doc.Strong(words.path_text(edges).replace("->", ARROW))) if edges else ()
    return (doc.Names(tuple(top.columns)), " about ", doc.Name(row.protected), f": {moved}", *path, ".")


def _unseen(row: AttributeReport) -> Iterator[doc.Text]:
    """Yield the columns of which public records show no dependence, with what the draws leave open."""
    found = {min(columns): each for columns, each in row.likely.items() if each.dependence is False}
    if found:
        most, each = max(found.values(), key=lambda each: each.at_95), "" if len(found) == 1 else ", each"
        yield doc.Names(tuple(found)), f" about {texts.name_text(row.protected)}: {words.unseen_text(most)}{each}."


# --------------------------------------------------------------------------------------------------
# How a model of another library was read.
# --------------------------------------------------------------------------------------------------

MOST_VARIABLES = 60
"""Variables that the table names; the others are counted."""


def reading_section(report: Analysis) -> doc.Section | None:
    """Return what became of every variable, and what was noted; nothing for a network that was declared here."""
    if report.network is None or not (report.network.reading.nodes or report.network.reading.notes):
        return None
    nodes = report.network.reading.nodes
    left = len(nodes) - MOST_VARIABLES
    made = doc.Table(
        caption="Every variable of the model" if left <= 0 else "Variables of the model",
        header=("variable", "law", "role", "reckoned with", "why"),
        rows=[
            ((doc.Name(each.name),), each.law, each.role, each.treatment, each.reason)
            for each in nodes[:MOST_VARIABLES]
        ],
        more="" if left <= 0 else "1 more variable." if left == 1 else f"{left:,} more variables.",
    )
    said = tuple(doc.Paragraph(note) for note in report.network.reading.notes)
    blocks = (*said, made) if nodes else said
    return doc.Section(title="How the model was read", blocks=blocks, id="reading", folded=True)


# --------------------------------------------------------------------------------------------------
# What the epsilon slider of a page needs, and its section.
# --------------------------------------------------------------------------------------------------

# --------------------------------------------------------------------------------------------------
# What the slider of a page needs: the noise at other epsilons, as curves or as a table.
# --------------------------------------------------------------------------------------------------

SLIDER_DIGITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""What a slider of curves goes through in every power of ten."""

TABLE_EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""What a slider of a table goes through: every epsilon is a calibration."""

SLOW_EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""The same where every calibration takes quadratures or many draws."""


@dataclass(frozen=True, kw_only=True)
class Slider:
    """The noise at other epsilons.

    Parameters
    ----------
    best : Calibration
        Whose noise is shown at the epsilon that was asked for.
    curves : tuple of Curve
        From which the noise of quilts follows at every epsilon; empty where there is a table.
    rows : tuple of Calibration
        By growing epsilon, at each the calibration with the least expected error; empty where there are curves.
    """

    best: Calibration
    curves: tuple[ScaleCurve, ...] = ()
    rows: tuple[Calibration, ...] = ()

    @property
    def epsilons(self) -> list[float]:
        """The values of the slider, the one that was asked for among them."""
        if self.rows:
            return [row.epsilon for row in self.rows]
        steps = {round(step * 10.0**power, 10) for power in (-2, -1, 0) for step in SLIDER_DIGITS}
        return sorted(steps | {10.0, self.best.epsilon})


def slider_of(report: Analysis) -> Slider | Refusal | None:
    """Return what a slider shows, why there is none, or None where no noise was calibrated."""
    if report.plan is None or report.best is None:
        return None
    by_quilts = quilt_calibration(report.plan)
    weighted = is_weighted(report.best)  # other epsilons may have other weights
    if report.curves is not None and by_quilts is report.best and by_quilts is not None and not weighted:
        return Slider(best=by_quilts, curves=report.curves)
    rows = _rows(report.plan, report.best)
    if len(rows) < 2:
        return Refusal(
            required="a slider needs noise at more than one epsilon",
            found="one epsilon at which any mechanism gives a guarantee",
            remedy="Calibrate at the epsilon that you need.",
        )
    return Slider(best=report.best, rows=rows)


def _rows(plan: Plan, best: Calibration) -> tuple[Calibration, ...]:
    """Return the best calibration at every step; only mechanisms that support what was asked are tried."""
    costly = is_costly(plan)
    levels = sorted({*(SLOW_EPSILONS if costly else TABLE_EPSILONS), best.epsilon})
    found = [
        best if level == best.epsilon else least_noise(plan, best.framework, best.query, level, best.delta)
        for level in levels
    ]
    return tuple(row for row in found if row is not None)


# --------------------------------------------------------------------------------------------------
# The epsilon slider: what a page needs to show noise, belief and usefulness at other epsilons by itself.
# --------------------------------------------------------------------------------------------------

VERDICTS: tuple[UsefulnessWord, ...] = ("exact", "sharp", "useful", "coarse", "useless", "unknown")

SLIDER_NOTE = "The HTML page of this report has an epsilon slider."


def slider_section(slider: Slider | Refusal) -> doc.Section:
    """Return the slider with all that it moves, or why there is none."""
    title = "What another epsilon would do"
    if isinstance(slider, Refusal):
        return doc.Section(title=title, blocks=(words.not_worked_out(slider),), id="slider-section")
    whose = " with the Markov quilt mechanism" if slider.curves else " with the best mechanism"
    script = files("bnpriv.views.report").joinpath("slider.js").read_text(encoding="utf-8")
    blocks = (doc.Live(_body(slider), script), doc.Paragraph(_note(slider), soft=True))
    return doc.Section(title=f"{title}{whose}", blocks=blocks, id="slider-section")


def _body(slider: Slider) -> Html:
    best = slider.best
    outputs = {
        "scale": "Scale of the noise",
        "reason": "Decided by" if slider.curves else "Mechanism",
        "error": "Error",
        "belief": "A belief of 10 % becomes" if best.guarantee.with_belief else "Odds within a protected pair move by",
        "verdict": "Still useful?",
    }
    made = (
        element("label", "Epsilon, the budget in nats", for_="epsilon"),
        element("input", type="number", id="epsilon-number", min=0.001, max=100, step="any", aria_label="Epsilon"),
        element("input", type="range", id="epsilon", min=0, max=len(slider.epsilons) - 1, step=1),
        _bar(best),
        html.facts((question, element("span", id=f"out-{key}")) for key, question in outputs.items()),
    )
    return join(
        element("noscript", element("p", "The slider needs JavaScript; the tables do not.")),
        element("div", *made, class_="slider", hidden=True, id="slider"),
        data_block("slider-data", slider_data(slider)),
    )


def _note(slider: Slider) -> str:
    best = slider.best
    last = "A release uses the calibrated noise that is printed above; another epsilon needs another calibration."
    if slider.rows:
        between = "between them it shows the noise of the next smaller one"
        return f"The page knows the noise at {len(slider.rows)} epsilons, calibrated as above; {between}. {last}"
    return (
        "An illustration: the page itself recomputes the Laplace noise of the Markov quilt mechanism, to a few digits. "
        f"The calibrated scale of that mechanism is {texts.number_text(best.scale)} at epsilon {best.epsilon:g}. {last}"
    )


def _bar(best: Calibration) -> Html:
    found = narrowest(best)
    if found is None:
        return Html()
    low, high, label = found
    ends = bar_ends(texts.number_text(low), f"range of {label}", texts.number_text(high))
    title, desc = "Noise at the chosen epsilon", "The noise against the range of the answer; it moves with the slider."
    return join(noise_bar(high - low, 0.0, title=title, desc=desc, live=True), ends, bar_legend("", live=True))


def slider_data(slider: Slider) -> texts.Json:
    """Return what the script computes with."""
    best = slider.best
    dimension = best.noise.dimension
    unit = Laplace(1.0, dimension)
    found = narrowest(best)
    return {
        "asked": best.epsilon,
        "prior": odds.PRIOR if best.guarantee.with_belief else None,
        "models": best.guarantee.models,
        "epsilons": slider.epsilons,
        "margin": LEAST_MARGIN,
        "width": None if found is None else found[1] - found[0],
        "quantile": unit.quantile(0.95),
        "mean": unit.error().upper,
        "limits": [[limit, verdict] for limit, verdict in LIMITS],
        "words": {verdict: _sentence(verdict, best.useful) for verdict in VERDICTS},
        "curves": [
            {
                "who": texts.name_text(curve.protected),
                "pair": str(curve.pair),
                "model": curve.model,
                "rows": [
                    [each.sensitivity, each.told, ", ".join(texts.name_text(name) for name in sorted(each.near))]
                    for each in curve.candidates
                ],
            }
            for curve in slider.curves
        ],
        "rows": [_row(row) for row in slider.rows],
    }


def _sentence(verdict: UsefulnessWord, useful: Usefulness) -> list[str]:
    """Return what comes before and after the share in the sentence of a verdict."""
    parts = tuple(replace(part, verdict="unknown") for part in useful.parts)
    share = math.nan if verdict == "unknown" else 0.5
    return str(Usefulness(verdict, share, useful.outputs, parts)).split("50 %")


def _row(row: Calibration) -> texts.Json:
    return {
        "scale": row.scale,
        "mean": row.expected_error,
        "reach": row.quantile(0.95),
        "share": None if math.isnan(row.useful.share) else row.useful.share,
        "verdict": row.useful.verdict,
        "moved": row.guarantee.moved_text(),
        "mechanism": str(row.mechanism),
    }
