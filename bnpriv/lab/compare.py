"""Two frameworks side by side: what the same query costs under each, and in what they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.frameworks.question import Framework, require_framework, require_query
from bnpriv.core.influence.base import Influence
from bnpriv.core.networks.base import Network, drivers
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.base import Query
from bnpriv.errors import Refusal, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.kinds.report_target import BESIDE_PUBLIC_RECORDS, ReportTarget, subject_of
from bnpriv.mechanisms.optimal.channel import comparable
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.progress import progress
from bnpriv.render.document import Code, Document, Items, Paragraph, Table, json_number
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.text import and_text, full_text, number_text, shorten, times_text, upper_chance

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SIDES = ("A", "B")

ROUNDED = 1e-9
"""Share of itself by which a number of a table may differ from another and be the same: what files and sums round."""


@dataclass(frozen=True, kw_only=True)
class FrameworkComparison(Shown):
    """One query under two frameworks; print it.

    Parameters
    ----------
    frameworks : (Framework, Framework)
        A and B, of any notion.
    query : Query
    epsilon, delta : float
        What is asked of both.
    plans : (Plan, Plan)
        Every mechanism under A and under B.
    influences : tuple of mapping from str to float
        For A and for B: what the queried columns tell about each protected attribute, in nats; infinite where the query
        reads it or the model does not cover the query. Columns of one record if the network is one of records; nothing
        for laws that are declared without a network, which name no columns.
    rarities : tuple of mapping from str to float
        For A and for B: how improbable more than `epsilon` is, as a delta, where the influence is infinite and this is
        known.
    one_record : tuple of bool
        For A and for B: whether the influences are those of the columns of one record.
    differences : tuple of str
        In what the frameworks differ, in words; empty if in nothing that matters here. Numbers of tables that differ by
        at most 1e-9 of themselves, as a file may round them, are the same.
    """

    frameworks: tuple[Framework, Framework]
    query: Query
    epsilon: float
    delta: float
    plans: tuple[Plan, Plan]
    influences: tuple[dict[str, float], dict[str, float]]
    rarities: tuple[dict[str, float], dict[str, float]]
    one_record: tuple[bool, bool]
    differences: tuple[str, ...]

    @property
    def protected(self) -> tuple[str, ...]:
        """Return the attributes that A or B protects."""
        return tuple(dict.fromkeys(name for found in self.influences for name in found))

    def to_pandas(self) -> pd.DataFrame:
        """Return a column per framework and a row per fact: influences in nats, then the best calibration."""
        import pandas as pd

        facts = {
            side: {f"influence on {name}": found.get(name, math.nan) for name in self.protected} | _best(chosen)
            for side, found, chosen in zip(SIDES, self.influences, self.plans, strict=True)
        }
        return pd.DataFrame(facts, dtype=object)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the influence on each protected attribute under A and B; hatched where it is not bounded.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        every = [value for found in self.influences for value in found.values() if math.isfinite(value)]
        longest = max(every, default=0.0) or self.epsilon
        places = np.arange(len(self.protected))
        for k, (side, found) in enumerate(zip(SIDES, self.influences, strict=True)):
            values = np.array([found.get(name, 0.0) for name in self.protected])
            hatches = ["" if math.isfinite(value) else "//" for value in values]
            lengths = np.minimum(values, 1.15 * longest)
            drawn.bar(places + 0.4 * k - 0.2, lengths, width=0.35, label=side, hatch=hatches)
        drawn.axhline(self.epsilon, color="black", linestyle=":", label="epsilon")
        drawn.set_xticks(places, [label(name) for name in self.protected])
        drawn.set_ylabel("the log odds move by at most so many nats (hatched: not bounded)")
        drawn.set_title(label(str(self.query)))
        drawn.legend()
        return drawn

    @property
    def document(self) -> Document:
        """Return both frameworks side by side, and in what they differ."""
        sides = tuple(zip(self.influences, self.rarities, strict=True))
        rows = [
            [f"odds about {name} move by at most", *(self._nats(*side, name) for side in sides)]
            for name in self.protected
        ]
        facts = [_best(chosen) for chosen in self.plans]
        rows += [[key, *(_shown(fact.get(key, "")) for fact in facts)] for key in facts[0]]
        named = [SIDES[k] for k in (0, 1) if self.influences[k] and self.one_record[k]]
        note = f"Influences under {and_text(named)} are those of the columns of one record." if named else ""
        if any(framework.public_records is not None for framework in self.frameworks):
            note = f"{note} {BESIDE_PUBLIC_RECORDS}".lstrip()
        differ = tuple(f"They differ: {difference}" for difference in self.differences)
        table = Table(caption="What they have and what they give", header=("", *SIDES), rows=rows)
        told = [
            [{"protected": name, "nats": _number(nats), "delta": rare.get(name)} for name, nats in found.items()]
            for found, rare in sides
        ]
        told_apart = Items(differ or (NO_DIFFERENCE,))
        asked = f"at epsilon {self.epsilon:g}" + (f" and delta {full_text(self.delta)}" if self.delta else "")
        return Document(
            kind="comparison",
            headline=(Code(str(self.query)), f" {asked} under two frameworks"),
            lead=self._verdict(),
            short=(
                self._verdict(),
                *(f"{side}: {_short(chosen)}" for side, chosen in zip(SIDES, self.plans, strict=True)),
                *((note,) if note else ()),
                shorten(" ".join(differ), 180) or NO_DIFFERENCE,
                "Next: .explain() sets them side by side; bp.plan(framework, query, epsilon) for the one you believe.",
            ),
            answer=(table, *((Paragraph(note),) if note else ()), told_apart),
            data={
                "query": str(self.query),
                "epsilon": self.epsilon,
                "delta": self.delta,
                "sides": [
                    {"influences": influences, "best": {key: _number(value) for key, value in fact.items()}}
                    for influences, fact in zip(told, facts, strict=True)
                ],
                "differences": list(self.differences),
            },
        )

    def _nats(self, found: dict[str, float], rare: dict[str, float], name: str) -> str:
        if name not in found:
            return "not protected"
        shown = times_text(found[name])
        return f"{shown}, delta {upper_chance(rare[name])} at epsilon {self.epsilon:g}" if name in rare else shown

    def _verdict(self) -> str:
        errors = [chosen.best.expected_error if chosen.calibrations else math.inf for chosen in self.plans]
        if all(map(math.isfinite, errors)) and not comparable(*(chosen.best.averaged_over for chosen in self.plans)):
            return "Each error is averaged over answers of its own, so that the two are not compared."
        if errors[0] == errors[1]:
            return (
                "Both give the same error." if math.isfinite(errors[0]) else "Under neither can the query be answered."
            )
        better = int(errors[1] < errors[0])
        least, most = errors[better], errors[1 - better]
        if least == 0:
            return f"{SIDES[better]} needs no noise."
        if math.isinf(most):
            return f"Only under {SIDES[better]} can the query be answered."
        return f"The error is {number_text(most / least)} times as large under {SIDES[1 - better]}."


def _short(chosen: Plan) -> str:
    """The best mechanism, and what its answer is worth."""
    if not chosen.calibrations:
        return "the query cannot be answered."
    best = chosen.best
    return f"{best.mechanism}, mean error {number_text(best.expected_error)}. {best.useful}"


NO_DIFFERENCE = f"They differ in nothing that matters here; numbers of tables may by {ROUNDED:g} of themselves."


def _number(value: object) -> object:
    """Return a value for JSON: infinite numbers as a word, undefined ones as nothing."""
    return json_number(value) if isinstance(value, float) else value


def compare(
    framework_a: Framework, framework_b: Framework, query: Query | str | None, epsilon: float = 1.0, delta: float = 0.0
) -> FrameworkComparison:
    """Set two frameworks side by side for one query: what leaks, the best mechanism, its error, and why.

    Parameters
    ----------
    framework_a, framework_b : Framework
        Of any notion and kind of network; for example with two networks, or with other secrets.
    query : Query or str or None
        What is to be released; None where the first framework has a query of its own.
    epsilon, delta : float
        The guarantee that is asked of both.

    Returns
    -------
    FrameworkComparison
        Print it.

    Raises
    ------
    ParameterError
        If epsilon or delta is out of range.
    RefusedError
        If all secrets of a protected attribute are impossible.
    QueryError, SchemaError
        If the query does not fit a schema.

    Examples
    --------
    >>> import bnpriv as bp
    >>> student = bp.example("student")
    >>> other = bp.DistributionalAttributePrivacy(student.network, student.schema, "gender", source=student.source)
    >>> found = compare(student, other, bp.count(bp.col("height") > 180))
    >>> print(found.differences[0])
    protected: income in A, gender in B.
    """
    both = (framework_a, framework_b)
    for framework in both:
        require_framework(framework)
    query, epsilon = require_query(framework_a, query), checks.epsilon(epsilon)
    for framework in both:
        refusal = impossibility(framework)
        if refusal is not None:
            raise refusal.error()
    a, b = (subject_of(framework, None) for framework in both)
    with progress("comparing two frameworks"):
        plans = plan(framework_a, query, epsilon, delta), plan(framework_b, query, epsilon, delta)
        told = _told(a, query), _told(b, query)
    nats = [{name: math.inf if each is None else float(each) for name, each in found.items()} for found in told]
    one_record = [subject.network is not None and subject.network.level == "records" for subject in (a, b)]
    return FrameworkComparison(
        frameworks=both,
        query=query,
        epsilon=epsilon,
        delta=delta,
        plans=plans,
        influences=(nats[0], nats[1]),
        rarities=(_rarities(told[0], epsilon), _rarities(told[1], epsilon)),
        one_record=(one_record[0], one_record[1]),
        differences=tuple(_differences(a, b, query)),
    )


def _told(subject: ReportTarget, query: Query) -> dict[str, Influence | None]:
    """What the queried columns tell about every protected attribute; None where nothing bounds it."""
    network = subject.network
    if network is None:
        return {}
    told: dict[str, Influence | None] = dict.fromkeys(subject.secrets)
    if subject.covers(query.columns) is None:
        driven = drivers(network, query.columns)
        for name in subject.secrets:
            with suppress(SizeError):
                told[name] = None if name in driven else subject.told(name, query.columns)
    return told


def _rarities(told: dict[str, Influence | None], epsilon: float) -> dict[str, float]:
    """How improbable more than epsilon is, where an influence is infinite and that is known."""
    deltas = {
        name: found.delta(epsilon) for name, found in told.items() if found is not None and math.isinf(float(found))
    }
    return {name: delta for name, delta in deltas.items() if not isinstance(delta, Refusal)}


def _best(chosen: Plan) -> dict[str, object]:
    if not chosen.calibrations:
        return {"mechanism": str(chosen.refusals[0][1]), "scale": math.nan, "error": math.nan, "answer": "refused"}
    best = chosen.best
    return {
        "mechanism": str(best.mechanism),
        "scale": best.scale,
        "error": best.expected_error,
        "answer": best.useful.verdict,
    }


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else number_text(value)
    return str(value)


def _differences(a: ReportTarget, b: ReportTarget, query: Query) -> Iterator[str]:
    one, other = a.framework, b.framework
    assert one is not None
    assert other is not None
    left, right = _facts(one), _facts(other)
    for what in left:
        if left[what] != right[what]:
            yield f"{what}: {left[what]} in A, {right[what]} in B."
    yield from _secret_differences(one, other)
    for name in sorted(query.columns):
        column, other_column = one.schema.columns.get(name), other.schema.columns.get(name)
        if column != other_column:
            yield f"column {name}: {column} in A, {other_column} in B."
    if a.network is not None and b.network is not None:
        yield from _network_differences(a.network, b.network)


def _facts(framework: Framework) -> dict[str, str]:
    public = framework.public_records
    known = "" if public is None else public.identity[:8]
    return {
        "notion": framework.notion,
        "protected": listing(framework.protected),
        "number of records": f"{framework.schema.records:,}",
        "models": str(framework.models),
        "public records": "none" if public is None else f"{public.records:,} in {public.draws:,} draws ({known})",
        "source": framework.source,
        "declared independent": listing(sorted(notion_of(framework).independent(framework) or ())),
    }


def _secret_differences(a: Framework, b: Framework) -> Iterator[str]:
    """Yield what is protected of attributes that both protect, but not in the same way."""
    words = [{each.attribute: each for each in framework.protected_secrets} for framework in (a, b)]
    for name in a.secrets:
        if name not in b.secrets:
            continue
        left, right = words[0][name], words[1][name]
        if left.secret != right.secret:
            yield f"secret of {name}: {left.secret} in A, {right.secret} in B."
        one, other = (frozenset(pair.identity for pair in framework.secrets[name]) for framework in (a, b))
        if one == other:
            continue
        if len(one) != len(other):
            yield f"pairs of secrets of {name}: {len(one)} ordered pairs in A, {len(other)} in B."
        elif left.pairs != right.pairs:
            yield f"pairs of secrets of {name}: {left.pairs} in A, {right.pairs} in B."
        else:
            yield f"pairs of secrets of {name}: others in A than in B."


def _same_law(a: Network, b: Network, name: str) -> bool:
    """Whether two networks have the same law of an attribute, numbers of tables but for rounding."""
    if a.same_law(b, name):
        return True
    if not (kind_of(a).exact_tables and kind_of(b).exact_tables):
        return False
    if any(a.states[each] != b.states[each] for each in (name, *a.graph.parents[name])):
        return False
    one, other = (cast("DiscreteNetwork", network).tables[name].values for network in (a, b))
    if len(one) != len(other) and 1 not in (len(one), len(other)):
        return False
    # logs of numbers; those of impossible states are equal and infinite
    with np.errstate(invalid="ignore"):
        return bool(np.all((one == other) | (np.abs(one - other) <= ROUNDED)))


def _network_differences(a: Network, b: Network) -> Iterator[str]:
    if a.kind_text != b.kind_text:
        yield f"kind of network: {a.kind_text} in A, {b.kind_text} in B."
    for what, one, other in (
        ("attributes", set(a.attributes), set(b.attributes)),
        ("edges", {f"{p} -> {c}" for p, c in a.graph.edges}, {f"{p} -> {c}" for p, c in b.graph.edges}),
    ):
        if one - other:
            yield f"{what} only in A: {listing(sorted(one - other))}."
        if other - one:
            yield f"{what} only in B: {listing(sorted(other - one))}."
    if a.kind_text != b.kind_text:
        return
    shared = [name for name in a.attributes if name in b.attributes and a.graph.parents[name] == b.graph.parents[name]]
    other_numbers = [name for name in shared if not _same_law(a, b, name)]
    if other_numbers:
        what = "numbers or states in the tables" if a.states else "distributions"
        by = f" (by more than {ROUNDED:g} of a number)" if a.states else ""
        yield f"other {what} of {listing(other_numbers)}{by}."
