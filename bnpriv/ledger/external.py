"""What another tool released with differential privacy for single records, counted for secrets of the whole table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from bnpriv import checks
from bnpriv.bound import up
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, rounded_up, typed
from bnpriv.core.frameworks.guarantee import Guarantee
from bnpriv.core.frameworks.question import Framework, require_framework
from bnpriv.errors import ParameterError, Refusal, RefusedError
from bnpriv.kind import notion_of
from bnpriv.render.document import Document, fact
from bnpriv.shown import Shown
from bnpriv.tables.private_table.hidden import loss_of_measurement, twice
from bnpriv.text import and_text, by_times, full_text, name_text, set_text, upper_chance, upper_text, visible
from bnpriv.views.calibration import guarantee_section
from bnpriv.views.cards import short_guarantee

DIFFERENTIAL_PRIVACY = "differential privacy"
"""The mechanism of an entry that stands for what another tool released."""

UNITS = ("replace one", "add or remove one")
"""The changes of one record for which differential privacy may be promised."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ExternalRelease(Shown):
    """What another tool released of a table, with differential privacy for single records; as a value, without answer.

    Parameters
    ----------
    name : str
        What released it.
    promise : str
        What it promises, as it was stated.
    epsilon, delta : Fraction
        Of differential privacy for replacing one record.
    columns : frozenset of str
        All that it reads of a record.
    """

    name: str
    promise: str
    epsilon: Fraction
    delta: Fraction
    columns: frozenset[str]

    @property
    def provenance(self) -> str:
        """Where it comes from, what it promises and what it reads, in words."""
        return f"{self.name}: {self.promise}; reads {set_text(self.columns)}"

    def entry_for(self, framework: Framework) -> Entry:
        """What an accountant keeps of it.

        Parameters
        ----------
        framework : Framework

        Raises
        ------
        RefusedError
            If no theorem says what it tells of the secrets.
        ParameterError
            If it reads a column that is not declared.
        """
        require_framework(framework, "")
        counted = notion_of(framework).together(framework)
        if isinstance(counted, Refusal):
            raise counted.error()
        checks.subset("the columns that it reads", self.columns, framework.schema.columns, error=ParameterError)
        return Entry(
            mechanism=DIFFERENTIAL_PRIVACY,
            text=self.provenance,
            columns=self.columns,
            noise=None,
            scale=0.0,
            moved=math.inf,
            family="records",
            epsilon=self.epsilon,
            delta=self.delta,
            kind="certified",
            record=(self.epsilon, self.delta),
        )

    def report(self, framework: Framework, delta: float = 0.0) -> ExternalReport:
        """What it tells of the secrets of a framework, if nothing else is released.

        Parameters
        ----------
        framework : Framework
        delta : float
            At least 0 and below 1; above 0 where its own promise has a delta.

        Returns
        -------
        ExternalReport

        Raises
        ------
        RefusedError
            If nothing bounds it at this delta, or no theorem says what it tells of the secrets.
        ParameterError
            If delta is out of range, or it reads a column that is not declared.
        """
        counted = Accountant(framework).record(self)
        rests = f"This rests on what is promised for single records: {self.promise}."
        guarantee = replace(counted.guarantee(delta), seen="this release", baseline_text=rests)
        return ExternalReport(release=self, guarantee=guarantee, counted=counted)

    @property
    def document(self) -> Document:
        """What it is, apart from any secret."""
        return Document(
            kind="external release",
            kicker="bnpriv external release",
            headline=self.provenance,
            lead="This is promised for single records; it tells more about a property of the whole table.",
            short=(
                "This is promised for single records; it tells more about a property of the whole table.",
                "Next: .report(framework) says how much; session.record_external(release) counts it beside others.",
            ),
            facts=(
                fact(
                    "What to do next",
                    ".report(framework) says how much; session.record_external(release) counts it beside others.",
                ),
            ),
            data={
                "name": self.name,
                "promise": self.promise,
                "epsilon_records": rounded_up(self.epsilon),
                "delta_records": rounded_up(self.delta),
                "columns": sorted(self.columns),
            },
        )

    def __repr__(self) -> str:
        return visible(f"ExternalRelease({self.provenance})")


@dataclass(frozen=True, kw_only=True, repr=False)
class ExternalReport(Shown):
    """What a release with differential privacy for single records tells of the secrets, if nothing else is released.

    Parameters
    ----------
    release : ExternalRelease
    guarantee : Guarantee
        For the secrets.
    counted : Accountant
        Of this release alone.
    """

    release: ExternalRelease
    guarantee: Guarantee
    counted: Accountant

    @property
    def document(self) -> Document:
        """How far it moves the odds on each secret, and what would hold without looking at what it reads."""
        release, promised = self.release, self.guarantee
        moves = "raises" if promised.delta else "moves"
        moved = f"{moves} the odds on {and_text(promised.protected)} {by_times(promised.nats)}"
        moved += f", except with probability {upper_chance(promised.failure)}" if 0 < promised.failure < 1 else ""
        about = [
            fact(
                f"About {name_text(share.protected)}",
                f"epsilon {upper_text(rounded_up(share.total))} for secrets {share.distance:,} records apart; "
                f"{upper_text(rounded_up(share.distance * release.epsilon))} whatever it reads",
            )
            for share in self.counted.records
        ]
        beside = fact(
            "Beside other releases", "This does not add to what they tell: session.record_external counts it."
        )
        return Document(
            kind="external report",
            kicker="bnpriv external release",
            headline=f"{release.name} ({release.promise}) {moved}",
            lead=f"It reads {set_text(release.columns)}.",
            short=(
                *short_guarantee(promised, "this release alone"),
                "Not protected by this: single records beyond what the tool promises of them.",
                "Next: session.record_external(release) counts it beside other releases; they do not simply add up.",
            ),
            number=upper_text(promised.epsilon, 6),
            facts=(*about, beside),
            sections=(guarantee_section(promised),),
            data={
                **release.document.data,
                "epsilon": promised.epsilon,
                "delta": promised.delta,
                "attributes": [
                    {"protected": each.protected, "records_apart": each.distance, "epsilon": rounded_up(each.total)}
                    for each in self.counted.records
                ],
            },
        )

    def __repr__(self) -> str:
        return visible(f"ExternalReport({self.release.name}: epsilon {self.guarantee.epsilon:.6g} for the secrets)")


def from_differential_privacy(
    epsilon: Any, columns: Iterable[str], unit: str = "replace one", delta: float = 0.0, name: str = ""
) -> ExternalRelease:
    """Describe what another tool released with differential privacy for single records, so that it can be counted.

    Tumult Analytics, Opacus and synthesizers of tables state an epsilon, and perhaps a delta: pass these.

    Parameters
    ----------
    epsilon : float, opendp.mod.Measurement or dp_accounting.DpEvent
        What is promised for one record. A measurement of OpenDP says it itself, by its map; an event of dp-accounting
        by the accountant of that library, at `delta`.
    columns : iterable of str
        All columns that it reads, also to filter or to group. The model is of values as they count: the tool must read
        them so, within their bounds and with gaps filled in.
    unit : {"replace one", "add or remove one"}
        What it is promised for. Adding or removing one record is what most tools mean; replacing one is two of that.
    delta : float
        Its failure probability; above 0 for an event.
    name : str
        What released it, for people.

    Returns
    -------
    ExternalRelease
        `Session.record_external` charges it; `ExternalRelease.report` says what it tells of the secrets.

    Raises
    ------
    ParameterError
        If a number is out of range, or the columns or the unit are none.
    RefusedError
        If a measurement or an event does not say a finite epsilon for one record.

    Notes
    -----
    docs/claims/accountant.md, theorems 4 and 5. The tool must be trusted for its own promise.

    Examples
    --------
    >>> import bnpriv as bp
    >>> bp.from_differential_privacy(1.0, columns=["smoker"], name="Tumult", unit="add or remove one")
    ExternalRelease(Tumult: epsilon 1, add or remove one; reads {smoker})
    """
    checks.member("unit", unit, UNITS, error=ParameterError)
    names = (columns,) if isinstance(columns, str) else columns if isinstance(columns, Iterable) else ()
    read = frozenset(checks.text("the name of a column", each, error=ParameterError) for each in names)
    if not read:
        remedy = "Name all columns that it reads; of a whole table, list(schema.columns)."
        raise ParameterError("a release reads at least one column", found="none", remedy=remedy)
    # by name: a library that made no object here is not imported
    sorts = {f"{each.__module__.partition('.')[0]}.{each.__name__}" for each in type(epsilon).__mro__}
    failing = checks.delta(delta)
    if "opendp.Measurement" in sorts:
        if failing or unit != "replace one":
            remedy = "Leave out unit and delta."
            raise ParameterError("a measurement says itself what it promises", found="a unit or a delta", remedy=remedy)
        tool, (stated, failing) = "OpenDP", loss_of_measurement(epsilon)
        promised, failed = Fraction(stated), Fraction(failing)
    elif "dp_accounting.DpEvent" in sorts:
        tool, stated = "dp-accounting", _of_event(epsilon, unit, failing)
        promised, failed = Fraction(up(stated)), typed(failing)
    else:
        given = rounded_up(epsilon) if isinstance(epsilon, Fraction) else epsilon
        tool, stated = "another tool", checks.not_negative("epsilon", given)
        promised, failed = typed(stated), typed(failing)
    words = f"epsilon {upper_text(stated)}" + (f", delta {full_text(failing)}" if failing else "")
    if unit == "add or remove one":
        promised, failed = twice(promised, failed)
    if failed >= 1:
        remedy = "Pass what it promises for replacing one record."
        raise ParameterError("delta must stay below 1 for replacing one record", found="1 or more", remedy=remedy)
    return ExternalRelease(
        name=checks.text("name", name or tool, error=ParameterError),
        promise=f"{words}, {unit}",
        epsilon=promised,
        delta=failed,
        columns=read,
    )


def _of_event(event: Any, unit: str, delta: float) -> float:
    """The epsilon of an event by the accountant of dp-accounting."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import PLDAccountant

    one = NeighboringRelation.REPLACE_ONE if unit == "replace one" else NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant: Any = PLDAccountant(one)
    if not accountant.supports(event):
        raise RefusedError(
            f"the accountant of dp-accounting must know the event, {unit}",
            found=type(event).__name__,
            remedy='Try unit="add or remove one"; or pass the epsilon and delta that your tool states.',
        )
    found = float(accountant.compose(event).get_epsilon(delta))
    if not found < math.inf:
        raise RefusedError(
            "an event must have a finite epsilon",
            found=f"none at delta {delta:g}",
            remedy="Pass a delta above 0; or the epsilon that your tool states.",
        )
    return found
