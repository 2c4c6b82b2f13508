"""The max-influence report: which columns tell what about a protected attribute, and what noise a query needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bnpriv import checks
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.frameworks.question import Framework, asked_of, own_query, require_framework
from bnpriv.core.influence.base import Influence
from bnpriv.core.mechanisms.law_decision import LawDecision
from bnpriv.core.mechanisms.law_mechanisms import WassersteinMechanism
from bnpriv.core.networks.base import CONFIDENCE, ImportReport, Network, Posterior
from bnpriv.core.queries.base import Query
from bnpriv.core.secrets import Protect
from bnpriv.errors import BnprivError, ParameterError, Refusal
from bnpriv.kind import FurtherTable, is_framework, kind_of
from bnpriv.kinds.draws.estimated_influence import EstimatedInfluence
from bnpriv.kinds.report_target import ReportTarget, subject_of, subject_of_network
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.progress import progress
from bnpriv.render.as_html import document_page
from bnpriv.render.as_text import inline
from bnpriv.render.document import Document, Paragraph, Section, Text, json_number, later
from bnpriv.render.outputs import write_text
from bnpriv.services import service
from bnpriv.text import Json, csv_text, in_order, visible
from bnpriv.views import calibration as calibrated
from bnpriv.views.curves import curve_sections
from bnpriv.views.private_table import open_columns_data, open_columns_section
from bnpriv.views.report import columns as tables, sections
from bnpriv.views.report.advice import advice
from bnpriv.views.report.analysis import answer_influences, attribute_report, beliefs, dropped_pairs, quilt_calibration
from bnpriv.views.report.sections import SLIDER_NOTE, slider_of, slider_section
from bnpriv.views.report.values import Analysis, AttributeReport, RankedQuilt, known_nats, noise_curves
from bnpriv.views.report.words import headline, lead, model_assumptions, setting_text, witness_text

if TYPE_CHECKING:
    import pandas as pd

# --------------------------------------------------------------------------------------------------
# The report as plain values; docs/report-schema.md names every field, and a test holds the two together.
# --------------------------------------------------------------------------------------------------


def report_data(report: Analysis) -> Json:
    """Return the report as values that JSON knows; "inf" stands for infinity."""
    plan, best = report.plan, report.best
    return {
        "source": report.source,
        "records": report.records,
        "network": None if report.network is None else _network(report.network),
        "without": None if report.without is None else str(report.without),
        "secrets": [secret.to_json() for secret in report.protected],
        "query": None if report.query is None else str(report.query),
        "queried": [] if report.query is None else in_order(report.query.columns),
        "epsilon": report.epsilon,
        "delta": report.delta,
        "protected": [_attribute(attribute) for attribute in report.attributes],
        "curve": [{"epsilon": epsilon, "delta": delta} for epsilon, delta in tables.curve_of(report)],
        "laws": {"refused": str(report.laws)}
        if isinstance(report.laws, Refusal)
        else None
        if report.laws is None
        else report.laws.to_json(),
        "further": [_further(made) for made in report.further],
        "open_columns": None if report.open_columns is None else open_columns_data(report.open_columns),
        "beliefs": [
            {
                "prior": each.prior,
                "answer": each.answer,
                "columns": [{"protected": name, "belief": value} for name, value in each.columns.items()],
            }
            for each in report.beliefs
        ],
        "assumptions": list(report.assumptions),
        "answer": None if best is None else calibrated.calibration_data(best),
        "plan": [] if plan is None else [calibrated.calibration_row(calibration) for calibration in plan.calibrations],
        "refusals": []
        if plan is None
        else [{"mechanism": str(mechanism), "reason": str(reason)} for mechanism, reason in plan.refusals],
    }


def _network(network: Network) -> Json:
    return {
        "kind": network.kind_text,
        "level": network.level,
        "models": network.models,
        "drawn": None if network.posterior_draws is None else _posterior(network.posterior_draws),
        "attributes": [
            {"name": name, "states": [str(state) for state in network.states.get(name, ())]}
            for name in network.attributes
        ],
        "edges": [
            {"parent": a, "child": b} | ({} if models == network.models else {"models": models})
            for (a, b), models in kind_of(network).edges(network).items()
        ],
        "reading": _reading(network.reading),
    }


def _reading(reading: ImportReport) -> Json:
    return {
        "variables": [
            {"name": node.name, "law": node.law, "role": node.role, "treatment": node.treatment, "reason": node.reason}
            for node in reading.nodes
        ],
        "columns": [{"name": name, "driven_by": list(above)} for name, above in sorted(reading.columns.items())],
        "latent": sorted(reading.latent),
        "notes": list(reading.notes),
    }


def _posterior(drawn: Posterior) -> Json:
    return {
        "public": drawn.source,
        "draws": drawn.draws,
        "seed": drawn.seed,
        "prior": drawn.prior,
        "confidence": CONFIDENCE if drawn.independent else None,
        "beyond": drawn.beyond() if drawn.independent else None,
        "sentence": drawn.sentence,
    }


def _influence(influence: Influence) -> Json:
    return {
        "columns": in_order(influence.columns),
        "nats": json_number(known_nats(influence)),
        "kind": influence.kind,
        "how": influence.how,
        "settled": influence.settled,
        **_witness(influence),
        "mu": influence.mu if influence.mu is None else json_number(influence.mu),
        "deltas": _deltas(influence),
    }


def _estimate(found: EstimatedInfluence | None) -> Json | None:
    """Return what is told at a chance delta by draws, which no noise rests on."""
    if found is None:
        return None
    return {
        "nats": json_number(found.nats),
        "low": json_number(found.low),
        "high": json_number(found.high),
        "delta": found.delta,
        "draws": found.draws,
        "pair": None if found.pair is None else str(found.pair),
        "unknown": None if found.unknown is None else str(found.unknown),
    }


def _deltas(influence: Influence) -> list[Json]:
    """Return delta at some epsilons where no factor bounds the odds."""
    if math.isfinite(float(influence)):
        return []
    found = [(epsilon, influence.delta(epsilon)) for epsilon in tables.CURVE_EPSILONS]
    return [{"epsilon": epsilon, "delta": None if isinstance(delta, Refusal) else delta} for epsilon, delta in found]


def _witness(influence: Influence) -> Json:
    return {
        "pair": None if influence.pair is None else str(influence.pair),
        "model": influence.model,
        "assignment": [{"attribute": name, "state": str(state)} for name, state in influence.assignment.items()],
    }


def _attribute(report: AttributeReport) -> Json:
    points = None if report.asked is None else report.asked.over_draws
    return {
        "name": report.protected,
        "pairs": [str(pair) for pair in report.pairs],
        "columns": [
            {
                **_influence(told),
                "alike": list(report.alike.get(min(told.columns), ())),
                "estimate": _estimate(report.estimated.get(told.columns)),
            }
            for told in report.columns
        ],
        "driven": [
            {"name": name, "influence": None if told is None else _influence(told)} for name, told in report.driven
        ],
        "not_looked_at": report.left,
        "asked": None if report.asked is None else _asked(report.asked),
        "answer": _estimate(report.answer),
        "path": [{"parent": a, "child": b} for a, b in report.path],
        "edges": [
            {"parent": parent, "child": child, "nats": None if told is None else json_number(float(told))}
            for (parent, child), told in ((effect.edge, effect.influence) for effect in report.edges)
        ],
        "more_edges": report.more_edges,
        "quilts": [_quilt(row) for row in report.quilts],
        "more_quilts": report.more,
        "reads_protected": report.is_queried,
        # what half, 95 % and all of the draws tell at most; None if the models are no draws
        # what is told but for a chance; empty where the models were not learned from public records
        "likely": [
            {
                "columns": in_order(columns),
                "chance": found.chance,
                "records": found.records,
                "nats": json_number(found.nats),
                "at_95": json_number(found.at_95),
                **_witness(found.influence),
                "dependence": found.dependence,
            }
            for columns, found in report.likely.items()
        ],
        "draws": None
        if points is None
        else dict(zip(("at_50", "at_95", "at_100"), map(json_number, points), strict=True)),
    }


def _asked(influence: Influence) -> Json:
    """Return what is asked about, with the steps of a refinement if there was one."""
    steps = [
        {
            "pair": str(pair),
            "points": step.points,
            "nats": json_number(step.influence),
            "change": json_number(step.change),
            "lost": step.lost,
        }
        for pair, history in zip(influence.pairs, influence.history, strict=False)
        for step in history
    ]
    return {**_influence(influence), "history": steps}


def _quilt(row: RankedQuilt) -> Json:
    noise = row.noise
    return {
        "quilt": in_order(row.quilt.quilt),
        "near": in_order(row.quilt.near),
        "remote": in_order(row.quilt.remote),
        "influence": None if row.influence is None else _influence(row.influence),
        "noise": None
        if noise is None
        else {
            "queried_near": in_order(noise.queried_near),
            "sensitivity": noise.sensitivity.upper,
            "sensitivity_kind": noise.sensitivity.kind,
            "scale": json_number(noise.scale),
            "wins": noise.wins,
        },
    }


def _further(made: FurtherTable) -> Json:
    rows = [[cell if isinstance(cell, str) else json_number(cell) for cell in row] for row in made.rows]
    return {"title": made.title, "header": list(made.header), "rows": rows}


_COLUMNS = ("protected", "column", "nats", "kind", "reached_at")

_ESTIMATES = ("estimate", "low", "high", "delta")
"""Further ones where no bound is known and draws tell something at a chance delta."""


@dataclass(frozen=True, kw_only=True, repr=False)
class InfluenceReport(Analysis):
    """What leaks about each protected attribute and, for a query, what noise it needs and why.

    Print it for plain text; a notebook shows it by itself. It is the same for every kind of network and every notion
    of privacy; `Analysis` names its fields.

    Examples
    --------
    >>> import bnpriv as bp
    >>> report = bp.influence_report(bp.example("student"))
    >>> sorted(report.attributes[0].columns[0].columns)
    ['sat']
    """

    @property
    def headline(self) -> str:
        """The finding in one plain sentence."""
        return f"{inline(self.document.headline)}."

    @cached_property
    def advice(self) -> tuple[Text, ...]:
        """What to try next where the answer is coarse or useless; empty otherwise."""
        return advice(self)

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Pairs (epsilon, delta) of what is asked about, without noise; empty where it is bounded."""
        return tables.curve_of(self)

    @cached_property
    def quilts(self) -> tables.RankedQuilts:
        """The quilts of every protected attribute, as a table and as a graph."""
        rows = tuple(line for row in self.attributes for line in row.quilts)
        return tables.RankedQuilts(rows=rows, more=any(row.more != 0 for row in self.attributes))

    @property
    def document(self) -> Document:
        """What the report says, apart from its form and from what a page moves."""
        return self._document

    @cached_property
    def _document(self) -> Document:
        badge = None if self.best is None else calibrated.verdict_badge(self.best)
        made = Document(
            kind="influence report",
            kicker=f"bnpriv influence report \u00b7 {setting_text(self)}",
            headline=headline(self),
            verdict="" if badge is None else badge.text,
            tone="plain" if badge is None else badge.tone,
            lead=lead(self),
            short=sections.short(self, self.advice),
            number=sections.number(self),
            answer=() if self.best is None else later(lambda best=self.best: calibrated.noise_figure(best)),
            facts=later(lambda: tuple(sections.facts(self, self.advice))),
            beside=later(lambda: (*tables.beside(self), *tables.column_bars(self))),
            sections=later(lambda: tuple(part for part in self._sections() if part is not None)),
            data=later(lambda: report_data(self)),
        )
        return calibrated.after_lack(made, "" if self.plan is None else self.plan.too_few)

    def _sections(self) -> Iterator[Section | None]:
        yield tables.columns_section(self)
        yield sections.laws_section(self)
        yield open_columns_section(self.open_columns)
        yield from map(tables.further_section, self.further)
        yield tables.network_section(self)
        if self.best is not None:
            yield calibrated.noise_section(self.best)
            yield from curve_sections(self.best)
            yield Section(title="What another epsilon would do", blocks=(Paragraph(SLIDER_NOTE, soft=True),), id=SLIDER)
        if self.plan is not None:
            yield calibrated.comparison_section(self.plan.calibrations, self.plan.refusals, self.plan.limit)
            if self.plan.table is not None:
                yield self.plan.table.section
        if self.best is not None:
            yield calibrated.guarantee_section(self.best.guarantee)
        yield sections.beliefs_section(self)
        yield tables.quilts_section(self)
        yield tables.edges_section(self)
        yield tables.secrets_section(self)
        yield tables.curve_section(self)
        yield tables.history_section(self)
        yield sections.reading_section(self)
        certificate = None if self.best is None else self.best.certificate
        yield calibrated.trust_section(self.source, self.assumptions, certificate)
        yield sections.long_names_section(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as a page of its own, with a slider for epsilon; it loads nothing from anywhere.

        Parameters
        ----------
        path : str or Path, optional
            Also write the page to this file.

        Raises
        ------
        FileError
            If the file cannot be written; what was there before stays.

        Examples
        --------
        >>> import bnpriv as bp
        >>> page = bp.influence_report(bp.example("student")).to_html()
        >>> page.startswith("<!doctype html>"), len(page) < 400_000
        (True, True)
        """
        slider = slider_of(self)
        made = self.document
        if slider is not None:
            live = slider_section(slider)
            made = replace(made, sections=tuple(live if part.id == SLIDER else part for part in made.sections))
        page = str(document_page(made))
        if path is not None:
            write_text(path, page)
        return page

    def to_pandas(self) -> pd.DataFrame:
        """Return what every single column tells about every protected attribute, one row each, in nats.

        Where no bound is known `nats` is nan, and what draws tell but for a chance `delta` follows: `estimate`, with
        the ends of its interval.
        """
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(self._columns))

    def to_csv(self) -> str:
        """Return the rows of `to_pandas` as CSV in which no name is taken for a formula by a spreadsheet."""
        return csv_text(self._columns, self._rows())

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*_COLUMNS, *(_ESTIMATES if any(row.estimated for row in self.attributes) else ()))

    def _rows(self) -> list[list[str | float]]:
        if self.network is None:
            return [[told.protected, "the answer", told.nats, told.kind, told.pair] for told in self.answers]
        return [
            [row.protected, name, known_nats(told), told.kind, witness_text(told), *self._estimates(row, told)]
            for row in self.attributes
            for told in (row.columns or ((row.asked,) if row.asked is not None else ()))
            for column in in_order(told.columns)
            for name in row.alike.get(column, (column,))
        ]

    def _estimates(self, row: AttributeReport, told: Influence) -> tuple[float, ...]:
        found = row.estimated.get(told.columns)
        if len(self._columns) == len(_COLUMNS):
            return ()
        return (math.nan,) * 4 if found is None else (found.nats, found.low, found.high, found.delta)

    def __repr__(self) -> str:
        return visible(f"InfluenceReport({', '.join(secret.attribute for secret in self.protected)})")


SLIDER = "slider-section"


def influence_report(
    model: Network | Framework,
    query: Query | str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    *,
    protect: Protect | None = None,
    limit: int = 10,
) -> InfluenceReport:
    """Report what leaks about the protected attributes and, with a query, what noise it needs and why.

    Parameters
    ----------
    model : network or framework
        A network of any kind, with `protect`; or a framework of any notion, with an optional `query`, `epsilon` and
        `delta`.
    query : Query or str, optional
        What is to be released from a framework.
    epsilon : float, optional
        With a query: the guarantee that is asked for; all mechanisms are calibrated.
    delta : float
        With an epsilon: the failure probability; 0 for a pure guarantee. Without one, of networks of records with
        finitely many states: the share of records that is left out of what is told first. By default that is 0.001,
        or 10 of the public records if that is more, where the network was learned from them; elsewhere it is 0.
    protect : str, iterable of str, or mapping from str to secrets
        The protected attributes of a network.
    limit : int
        Quilts shown per protected attribute.

    Returns
    -------
    InfluenceReport
        Print it, or see its methods.

    Raises
    ------
    BnprivError
        If names, secrets, query or epsilon do not fit, or all secrets of a protected attribute are impossible.

    Examples
    --------
    >>> import bnpriv as bp
    >>> print(bp.influence_report(bp.example("student"), limit=1))  # doctest: +ELLIPSIS
    Of all columns sat tells most about income: ...
    """
    limit, delta = checks.whole("limit", limit), checks.delta(delta)
    if not is_framework(model):
        if not hasattr(model, "level"):
            require_framework(model, query)
        if protect is None or query is not None or epsilon is not None:
            raise ParameterError(
                "the report of a network takes protect=..., and a query needs a framework",
                found="no protect" if protect is None else "a query or an epsilon",
                remedy='Pass protect="name", or build a framework first.',
            )
        with progress("computing influences"):
            return _report(subject_of_network(cast(Network, model), protect), limit, delta=delta)
    framework = cast(Framework, model)
    if protect is not None or (epsilon is not None and query is None and own_query(model) is None):
        raise ParameterError(
            "the report of a framework takes a query, and an epsilon only with a query",
            found="protect" if protect is not None else "an epsilon alone",
            remedy="Pass influence_report(framework, query, epsilon).",
        )
    asked = None if query is None and epsilon is None else asked_of(framework, query)
    refusal = impossibility(framework)
    if refusal is not None:
        raise refusal.error()
    subject = subject_of(framework, asked)
    made = None
    with progress("computing influences"):
        if epsilon is not None and subject.query is not None:
            made = plan(framework, subject.query, epsilon, delta)
            epsilon = checks.epsilon(epsilon)
        return _report(subject, limit, made, epsilon, delta)


def _report(
    subject: ReportTarget, limit: int, made: Plan | None = None, epsilon: float | None = None, delta: float = 0.0
) -> InfluenceReport:
    by_quilts = quilt_calibration(made)
    chance = delta if made is None else 0.0
    found = tuple(attribute_report(subject, name, limit, by_quilts, chance) for name in subject.secrets)
    certified = made.best.certificate.assumptions if made is not None and made.calibrations else ()
    own = () if subject.network is None else model_assumptions(subject.network)
    kinds = "" if subject.framework is None else subject.framework.kinds_text
    own = (*own, *filter(None, (kinds, subject.beside)))
    # which models an observer may hold is said there already
    kind = kind_of(subject.network)
    said = kind.assumptions(subject.network) if kind.models_text(subject.network) else ()
    certified = tuple(each for each in certified if each not in said)
    approximate = made is not None and any(calibration.delta > 0 for calibration in made.calibrations)
    curves = None
    if subject.query is not None and subject.framework is not None and not approximate:
        curves = noise_curves(subject.framework, subject.query)
    return InfluenceReport(
        network=subject.network,
        without=subject.without,
        source=subject.source,
        protected=subject.protected,
        attributes=found,
        beliefs=beliefs(found, made),
        assumptions=tuple(dict.fromkeys((*own, *dropped_pairs(found), *certified))),
        framework=subject.framework,
        query=subject.query,
        epsilon=epsilon,
        delta=delta,
        plan=made,
        curves=curves,
        laws=_laws(subject, made),
        answers=() if subject.network is not None or subject.framework is None else answer_influences(subject),
        further=() if subject.network is None else kind.extra_tables(subject.network),
        open_columns=None if epsilon is None else service("report.open_columns")(subject.framework, epsilon),
    )


def _laws(subject: ReportTarget, made: Plan | None) -> LawDecision | Refusal | None:
    """Return the laws of the answer under the two worst secrets, where no influences say what the answer tells."""
    if not subject.by_laws or subject.framework is None or subject.query is None:
        return None
    calibrations = () if made is None else made.calibrations
    found = [row for each in calibrations for row in each.certificate.decisions if isinstance(row, LawDecision)]
    if found:
        return max(found, key=lambda row: (row.distance is not None, row.scale))
    try:
        # the distance between two laws does not depend on epsilon
        alone = WassersteinMechanism().calibrate(subject.framework, subject.query, epsilon=1.0)
    except BnprivError as error:
        return Refusal.of(error)
    decided = [row for row in alone.certificate.decisions if isinstance(row, LawDecision)]
    return decided[0] if decided else None
