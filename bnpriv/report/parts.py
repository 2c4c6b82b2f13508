"""What a short report consists of, and how it looks as text, Markdown and HTML."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from bnpriv.mechanisms.pages import comparison_section, guarantee_quote
from bnpriv.mechanisms.plan import Plan
from bnpriv.render import Json, html
from bnpriv.render import markdown as md
from bnpriv.render.text import lines_text, table_text, visible


@final
@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with its title; the columns from the second to the one before `words` hold numbers."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    words: int

    @property
    def numbers(self) -> range:
        """Return the columns that hold numbers."""
        return range(1, self.words)

    @property
    def text(self) -> str:
        """Return it as plain text."""
        return f"{visible(self.title)}\n{table_text(self.header, self.rows)}"

    @property
    def markdown(self) -> str:
        """Return it as Markdown under its title."""
        rows = [[md.prose(cell) for cell in row] for row in self.rows]
        return f"## {md.prose(self.title)}\n\n{md.table(self.header, rows, numbers=self.numbers)}"

    @property
    def html(self) -> html.Html:
        """Return it as HTML."""
        return html.table(self.header, self.rows, visible(self.title), numbers=self.numbers)


@final
@dataclass(frozen=True, kw_only=True)
class Parts:
    """A report without its form.

    Parameters
    ----------
    headline : str
        The finding, as a sentence.
    lead : str
        What its numbers mean.
    facts : sequence of (str, str)
        Questions with answers.
    tables : sequence of Table
    figures : sequence of (str, Html)
        Titles with drawings; in HTML only.
    plan : Plan or None
    assumptions : sequence of str
    """

    headline: str
    lead: str
    facts: Sequence[tuple[str, str]]
    tables: Sequence[Table]
    figures: Sequence[tuple[str, html.Html]]
    plan: Plan | None
    assumptions: Sequence[str]

    @property
    def text(self) -> str:
        """Return plain text; no name in it can steer a terminal."""
        parts = [lines_text([self.headline, self.lead, *(f"{what}: {answer}." for what, answer in self.facts)])]
        parts += [table.text for table in self.tables]
        if self.plan is not None:
            parts.append(str(self.plan))
            if self.plan.calibrations:
                parts.append(self.plan.best.explain())
        parts.append(lines_text(f"Assumed: {assumption}" for assumption in self.assumptions))
        return "\n\n".join(parts)

    @property
    def markdown(self) -> str:
        """Return Markdown; no name in it is markup."""
        parts = [f"# {md.prose(self.headline)}", md.prose(self.lead)]
        parts.append("\n".join(f"- {md.prose(f'{what}: {answer}')}" for what, answer in self.facts))
        parts += [table.markdown for table in self.tables]
        if self.plan is not None and self.plan.calibrations:
            parts += ["## The guarantee", md.prose(self.plan.best.guarantee.sentence)]
        parts.append("\n".join(f"- Assumed: {md.prose(assumption)}" for assumption in self.assumptions))
        return "\n\n".join(parts) + "\n"

    @property
    def page(self) -> html.Html:
        """Return a page of its own, which loads nothing from anywhere."""
        return html.page(visible(self.headline), *self._body())

    @property
    def fragment(self) -> html.Html:
        """Return what a notebook shows."""
        return html.fragment(*self._body())

    def _body(self) -> Sequence[html.Html]:
        body = [
            html.element("p", "bnpriv influence report", class_="kicker"),
            html.element("h1", visible(self.headline)),
            html.element("p", self.lead, class_="lead"),
            html.facts([(what, visible(answer)) for what, answer in self.facts]),
        ]
        body.append(html.section("What tells how much", *(table.html for table in self.tables)))
        body += [html.section(title, figure) for title, figure in self.figures]
        if self.plan is not None:
            body.append(comparison_section(self.plan.calibrations, self.plan.refusals))
            if self.plan.calibrations:
                body.append(html.section("The guarantee, word for word", guarantee_quote(self.plan.best)))
        body.append(html.section("What the model must be trusted for", html.items(self.assumptions)))
        return body


class ShortReport(ABC):
    """A report that is shown by its parts: print it for plain text; a notebook shows it by itself."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """Return the report without its form."""

    @abstractmethod
    def to_dict(self) -> Json:
        """Return the report as plain values."""

    @property
    def text(self) -> str:
        """Return the whole report as plain text."""
        return self.parts.text

    def __str__(self) -> str:
        return self.text

    def to_json(self) -> str:
        """Return the values of `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_markdown(self) -> str:
        """Return the report as Markdown, without the drawings."""
        return self.parts.markdown

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as a page of its own, which loads nothing from anywhere.

        Parameters
        ----------
        path : str or Path, optional
            Also write it to this file.
        """
        return html.write(self.parts.page, path)

    def _repr_html_(self) -> str:
        return self.parts.fragment


def answer_dict(plan: Plan | None) -> Json | None:
    """Return the best mechanism of a plan as plain values; None without one."""
    if plan is None or not plan.calibrations:
        return None
    best = plan.best
    return {
        "mechanism": str(best.mechanism),
        "scale": best.scale,
        "epsilon": best.guarantee.epsilon,
        "delta": best.guarantee.delta,
        "guarantee": best.guarantee.sentence,
        "secrets": [secret.to_json() for secret in best.guarantee.secrets],
        "kind": best.guarantee.kind,
        "confidence": best.guarantee.confidence,
    }
