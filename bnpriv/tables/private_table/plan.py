"""What a private table would be like, of every form: told from declarations alone, before any data are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.asked import as_query
from bnpriv.core.queries.base import Query
from bnpriv.core.schema import Schema
from bnpriv.errors import BnprivError, ParameterError, Refusal
from bnpriv.progress import progress
from bnpriv.services import service
from bnpriv.shown import Shown
from bnpriv.tables.private_table.counts import MoveNoise
from bnpriv.tables.private_table.made_up import ClassMoments, moments
from bnpriv.tables.private_table.rule import FORMS, Hidden, TableForm, TableRule, chosen_rule, hidden_by, rules_of

if TYPE_CHECKING:
    from bnpriv.render.document import Document, Section
    from bnpriv.text import Json

DRAWS = 1_000
"""Draws of the noise that expected errors are averaged over."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TablePlan(Shown):
    """What each form of a private table would leave out, make up and err by.

    Parameters
    ----------
    hidden : Hidden
    epsilon, delta : float
    forms : mapping from str to TableRule or Refusal
    best : TableRule
        What `private_table` takes if no form is asked for.
    queries : tuple of Query
        What the table is to answer.
    """

    hidden: Hidden
    epsilon: float
    delta: float
    forms: Mapping[TableForm, TableRule | Refusal]
    queries: tuple[Query, ...] = ()

    @property
    def best(self) -> TableRule:
        """What `private_table` takes if no form is asked for.

        Raises
        ------
        RefusedError
            If no form can be.
        """
        return chosen_rule(self.hidden, None, self.epsilon, self.delta)

    def left_out(self, form: TableForm) -> float:
        """How many records are left out on average, as far as that is known."""
        rule = self.forms[form]
        assert isinstance(rule, TableRule)
        return rule.given_up * len(rule.classes) if rule.given_up else rule.noise.mean_moves

    def made_up(self, form: TableForm) -> float:
        """How many records are made up on average."""
        rule = self.forms[form]
        assert isinstance(rule, TableRule)
        if rule.law is None:
            return 0.0
        return rule.noise.beyond(rule.given_up) if isinstance(rule.noise, MoveNoise) else rule.noise.mean_moves

    @cached_property
    def errors(self) -> Mapping[TableForm, tuple[float, ...]]:
        """How far the answer to every query is from the true one on average, estimated by the first model.

        Of several numbers the mean 2-norm, as of a calibration; nothing where no model is known.
        """
        known = self.hidden.framework
        if known is None or not self.queries:
            return {}
        found = [moments(known, query, self.hidden.classes.predicates) for query in self.queries]
        rules: dict[TableForm, TableRule] = {
            form: rule for form, rule in self.forms.items() if isinstance(rule, TableRule)
        }
        return {form: tuple([expected_error(rule, each) for each in found]) for form, rule in rules.items()}

    @property
    def document(self) -> Document:
        """The forms side by side."""
        return service("table.plan_document")(self)

    def __repr__(self) -> str:
        possible = [form for form in FORMS if isinstance(self.forms[form], TableRule)]
        return f"TablePlan({', '.join(possible) or 'no form'})"


def plan_table(
    framework_or_secret: object,
    epsilon: float,
    delta: float = 0.0,
    *,
    queries: Iterable[Query | str] = (),
    schema: Schema | None = None,
    law: object = None,
    shares: Query | str | None = None,
) -> TablePlan:
    """Say what a private table would be like; no data are touched.

    Parameters
    ----------
    framework_or_secret, epsilon, delta, schema, law, shares
        As of `private_table`.
    queries : iterable of Query or str
        What the table is to answer: the expected error of each is worked out.

    Returns
    -------
    TablePlan

    Raises
    ------
    ParameterError, SecretError, FrameworkError
        If an argument does not fit.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = plan_table(bp.example("hospital"), epsilon=1.0, queries=["mean(days)"])
    >>> found.best.form, round(found.made_up("fill"))
    ('fill', 100)
    """
    epsilon, delta = checks.epsilon(epsilon), checks.delta(delta)
    if not isinstance(queries, (str, Query, Iterable)):
        raise ParameterError(
            "queries are listed", found=checks.type_text(queries), remedy="Write queries=['mean(days)']."
        )
    hidden = hidden_by(framework_or_secret, schema, law, shares)
    with progress("working out every form"):
        forms = rules_of(hidden, epsilon, delta)
    return TablePlan(
        hidden=hidden,
        epsilon=epsilon,
        delta=delta,
        forms=forms,
        queries=tuple(as_query(query) for query in ([queries] if isinstance(queries, (str, Query)) else queries)),
    )


@dataclass(frozen=True, kw_only=True)
class TableBeside:
    """What a private table of the same strength would be, beside the release of one answer.

    Parameters
    ----------
    calibration : Calibration
        Of the answer.
    rule : TableRule
        Of the table.
    error : float
        How far the answer from the table is from the true one on average.
    """

    calibration: Calibration
    rule: TableRule
    error: float

    @property
    def section(self) -> Section:
        """The table in words, beside the release."""
        return service("table.beside_section")(self)

    def to_json(self) -> Json:
        """The same as plain values."""
        guarantee = self.rule.guarantee
        return {"form": self.rule.form, "epsilon": guarantee.epsilon, "delta": guarantee.delta, "error": self.error}


def table_beside(calibration: Calibration) -> TableBeside | None:
    """The private table that promises as much as a release; None where there is none, or a class would be empty.

    Parameters
    ----------
    calibration : Calibration
    """
    try:
        found = plan_table(calibration.framework, calibration.epsilon, calibration.delta, queries=[calibration.query])
        rule = found.best
        error = found.errors[rule.form][0]
    except BnprivError:
        return None
    return TableBeside(calibration=calibration, rule=rule, error=error) if math.isfinite(error) else None


def expected_error(rule: TableRule, known: ClassMoments, model: int = 0) -> float:
    """How far an answer from the table is from that of the true one, on average over noise and tables of a model.

    Given the noise the error is nearly normal: records that are made up, or that others stand for, add their spread.
    """
    records = rule.classes.schema.records
    counts = _rounded(known.shares[model] * records, records)
    noisy = rule.noise.usual(counts, DRAWS)
    moved = noisy - np.array(counts)
    sizes = np.array([rule.sizes(each) for each in noisy.tolist()])
    if (sizes.min(axis=1) == 0).any() and rule.given_up:
        return math.inf
    missing = np.maximum(0, sizes - counts)
    absent = np.maximum(0, np.array(counts) - sizes)
    # a record that is left out is stood for by the others of its class, which spread by as much
    spread = missing + (absent * (np.array(counts) / np.maximum(1, sizes)) if rule.given_up else absent)
    shift = (moved if rule.given_up else sizes - np.array(counts)) @ known.means[model]
    variance: FloatArray = spread @ known.variances[model]
    lengths = np.sqrt((shift**2 + variance).sum(axis=1))
    if shift.shape[1] > 1:
        return float(lengths.mean())
    # the mean size of a normal number with this mean and deviation
    return math.fsum(map(_mean_size, shift[:, 0].tolist(), np.sqrt(variance[:, 0]).tolist())) / DRAWS


def _mean_size(mean: float, deviation: float) -> float:
    if not deviation:
        return abs(mean)
    ratio = mean / deviation
    return deviation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + mean * math.erf(ratio / math.sqrt(2))


def _rounded(numbers: FloatArray, total: int) -> list[int]:
    """Whole numbers near some that have a sum."""
    found = np.floor(numbers).astype(int)
    found[int(np.argmax(numbers))] += total - int(found.sum())
    return found.tolist()
