"""The max-influence report: which columns tell what about a protected attribute, and what noise a query needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast, final

from bnpriv import checks
from bnpriv.errors import BnprivError, ParameterError, Refusal
from bnpriv.evidence.possible import impossibility
from bnpriv.evidence.subject import Subject, subject_of, subject_of_network
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.question import own_query, require_framework
from bnpriv.kind import is_framework, kind_of
from bnpriv.mechanisms.answer import noise_figure, verdict_badge
from bnpriv.mechanisms.curves import curve_sections
from bnpriv.mechanisms.law_decision import LawDecision
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.mechanisms.sections import comparison_section, guarantee_section, noise_section, trust_section
from bnpriv.mechanisms.wasserstein import WassersteinMechanism
from bnpriv.networks.base import Network
from bnpriv.queries.asked import as_query
from bnpriv.queries.base import Query
from bnpriv.render.as_html import document_page
from bnpriv.render.as_text import inline
from bnpriv.render.document import Document, Paragraph, Section, Text
from bnpriv.render.outputs import write_text
from bnpriv.render.text import csv_text, visible
from bnpriv.report.advice import advice
from bnpriv.report.analysis import answer_influences, attribute_report, beliefs, dropped_pairs, quilt_calibration
from bnpriv.report.curves import noise_curves
from bnpriv.report.data import report_data
from bnpriv.report.sections.answer import facts
from bnpriv.report.sections.beliefs import beliefs_section
from bnpriv.report.sections.columns import column_bars, columns_section
from bnpriv.report.sections.curve import curve_of, curve_section, history_section, secrets_section
from bnpriv.report.sections.edges import edges_section
from bnpriv.report.sections.further import further_sections
from bnpriv.report.sections.glossary import glossary_section, long_names_section
from bnpriv.report.sections.laws import laws_section
from bnpriv.report.sections.network import beside, network_section
from bnpriv.report.sections.quilts import quilts_section
from bnpriv.report.sections.reading import reading_section
from bnpriv.report.sections.slider import SLIDER_NOTE, slider_section
from bnpriv.report.slider import slider_of
from bnpriv.report.values import Analysis
from bnpriv.report.words import Enclosing, headline, lead, model_assumptions, setting_text, witness_text
from bnpriv.secrets.declared import Protect

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("protected", "column", "nats", "kind", "reached_at")


@final
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
        return f"{inline(headline(self))}."

    @cached_property
    def advice(self) -> tuple[Text, ...]:
        """What to try next where the answer is coarse or useless; empty otherwise."""
        return advice(self)

    @cached_property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Pairs (epsilon, delta) of what is asked about, without noise; empty where it is bounded."""
        return curve_of(self)

    @property
    def document(self) -> Document:
        """What the report says, apart from its form and from what a page moves."""
        return self._document

    @cached_property
    def _document(self) -> Document:
        badge = None if self.best is None else verdict_badge(self.best)
        return Document(
            kind="influence report",
            kicker=f"bnpriv influence report \u00b7 {setting_text(self)}",
            headline=headline(self),
            verdict="" if badge is None else badge.text,
            tone="plain" if badge is None else badge.tone,
            lead=lead(self),
            answer=() if self.best is None else noise_figure(self.best),
            facts=tuple(facts(self, self.advice)),
            beside=(*beside(self), *column_bars(self)),
            sections=tuple(part for part in self._sections() if part is not None),
            data=report_data(self),
        )

    def _sections(self) -> Iterator[Section | None]:
        yield columns_section(self)
        yield laws_section(self)
        yield from further_sections(self)
        yield network_section(self)
        if self.best is not None:
            yield noise_section(self.best)
            yield from curve_sections(self.best)
            yield Section(title="What another epsilon would do", blocks=(Paragraph(SLIDER_NOTE, soft=True),), id=SLIDER)
        if self.plan is not None:
            yield comparison_section(self.plan.calibrations, self.plan.refusals, self.plan.limit)
        if self.best is not None:
            yield guarantee_section(self.best.guarantee)
        yield beliefs_section(self)
        yield quilts_section(self)
        yield edges_section(self)
        yield secrets_section(self)
        yield curve_section(self)
        yield history_section(self)
        yield reading_section(self)
        certificate = None if self.best is None else self.best.certificate
        yield trust_section(self.source, self.assumptions, certificate)
        yield glossary_section(self)
        yield long_names_section(self)

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
        """Return what every single column tells about every protected attribute, one row each, in nats."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=list(_COLUMNS))

    def to_csv(self) -> str:
        """Return the rows of `to_pandas` as CSV in which no name is taken for a formula by a spreadsheet."""
        return csv_text(_COLUMNS, self._rows())

    def _rows(self) -> list[list[str | float]]:
        if self.network is None:
            return [[told.protected, "the answer", told.nats, told.kind, told.pair] for told in self.answers]
        return [
            [row.protected, name, float(told), told.kind, witness_text(told)]
            for row in self.attributes
            for told in (row.columns or ((row.asked,) if row.asked is not None else ()))
            for column in sorted(told.columns)
            for name in row.alike.get(column, (column,))
        ]

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
        With an epsilon: the failure probability; 0 for a pure guarantee.
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
    limit = checks.whole("limit", limit)
    if not is_framework(model):
        if not hasattr(model, "level"):
            require_framework(model, query)
        if protect is None or query is not None or epsilon is not None:
            raise ParameterError(
                "the report of a network takes protect=..., and a query needs a framework",
                found="no protect" if protect is None else "a query or an epsilon",
                remedy='Pass protect="name", or build a framework first.',
            )
        return _report(subject_of_network(cast(Network, model), protect), limit)
    framework = cast(Framework, model)
    if protect is not None or (epsilon is not None and query is None and own_query(model) is None):
        raise ParameterError(
            "the report of a framework takes a query, and an epsilon only with a query",
            found="protect" if protect is not None else "an epsilon alone",
            remedy="Pass influence_report(framework, query, epsilon).",
        )
    own = own_query(framework) if query is None and epsilon is not None else None
    asked = own if query is None else as_query(query)
    refusal = impossibility(framework)
    if refusal is not None:
        raise refusal.error()
    subject = subject_of(framework, asked)
    made = None
    if epsilon is not None and subject.query is not None:
        made = plan(framework, subject.query, epsilon, delta)
        epsilon = checks.epsilon(epsilon)
    return _report(subject, limit, made, epsilon, delta)


def _report(
    subject: Subject, limit: int, made: Plan | None = None, epsilon: float | None = None, delta: float = 0.0
) -> InfluenceReport:
    by_quilts = quilt_calibration(made)
    found = tuple(attribute_report(subject, name, limit, by_quilts) for name in subject.secrets)
    certified = made.best.certificate.assumptions if made is not None and made.calibrations else ()
    own = () if subject.network is None else model_assumptions(subject.network)
    kinds = "" if subject.framework is None else subject.framework.kinds_text
    own = (*own, kinds) if kinds else own
    # which models an observer may hold is said there already
    said = kind_of(subject.network).assumptions(subject.network) if isinstance(subject.network, Enclosing) else ()
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
        further=() if subject.network is None else kind_of(subject.network).extra_tables(subject.network),
    )


def _laws(subject: Subject, made: Plan | None) -> LawDecision | Refusal | None:
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
