"""Two frameworks side by side, what the same query costs under each; and one framework at several epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import numpy as np

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.question import Framework, require_framework, require_query
from bnpriv.core.influence.base import Influence
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.base import Network, drivers
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError, Refusal, SizeError
from bnpriv.kind import kind_of, notion_of
from bnpriv.kinds.report_target import BESIDE_PUBLIC_RECORDS, ReportTarget, subject_of
from bnpriv.mechanisms.optimal.channel import comparable
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.progress import progress, tracked
from bnpriv.render.document import Code, Document, Items, Paragraph, Table, json_number
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.text import and_text, by_times, full_text, number_text, shorten, times_text, upper_chance
from bnpriv.views.calibration import calibration_row, verdict_badge

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


# --------------------------------------------------------------------------------------------------
# What privacy costs: the best mechanism and its error for many epsilons.
# --------------------------------------------------------------------------------------------------

_OTHERWISE = {"coarse": "is coarse", "useless": "is useless", "unknown": "cannot be judged: its range is not declared"}


@dataclass(frozen=True, kw_only=True)
class Tradeoff(Shown):
    """The plan for one query at many epsilons; print it.

    Parameters
    ----------
    query : Query
    epsilons : tuple of float
        Increasing.
    plans : tuple of Plan
        One per epsilon.
    """

    query: Query
    epsilons: tuple[float, ...]
    plans: tuple[Plan, ...]

    @property
    def best(self) -> tuple[Calibration, ...]:
        """Return the calibration with the least expected error for each epsilon."""
        return tuple(chosen.best for chosen in self.plans)

    @property
    def noiseless_from(self) -> float | None:
        """Return the least of the epsilons from which on no noise is needed, None if noise always is."""
        return self._from([best.scale == 0 for best in self.best])

    @property
    def useful_from(self) -> float | None:
        """Return the least of the epsilons from which on the answer is useful or better, None if it never is."""
        return self._from([best.useful.verdict not in _OTHERWISE for best in self.best])

    def _from(self, holds: list[bool]) -> float | None:
        """The first of the last epsilons for all of which something holds."""
        last = list(takewhile(lambda each: each[1], zip(self.epsilons[::-1], holds[::-1], strict=True)))
        return last[-1][0] if last else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """In words from where on the answer is useful, and released as it is."""
        verdicts = [_OTHERWISE.get(best.useful.verdict, "") for best in self.best]
        useful, noiseless = self.useful_from, self.noiseless_from
        if useful is None and noiseless is None:
            return (self._sentence(None, "", [f"{verdict}, and needs noise" for verdict in verdicts]),)
        without = "the answer is released without noise"
        if useful == noiseless:
            return (self._sentence(noiseless, without, verdicts),)
        return (
            self._sentence(useful, "the answer is useful", verdicts),
            self._sentence(noiseless, without, ["needs noise"] * len(self.plans)),
        )

    def _sentence(self, found: float | None, then: str, otherwise: Sequence[str]) -> str:
        """From where on `then` holds, and what the answer does before, which is told for every epsilon."""
        if found is None:
            return f"Even at epsilon {self.epsilons[-1]:g}, the largest tried, the answer {otherwise[-1]}."
        place = self.epsilons.index(found)
        if place == 0:
            return f"At every epsilon tried, from {found:g} on, {then}."
        return f"From epsilon {found:g} on {then}; at {self.epsilons[place - 1]:g} it still {otherwise[place - 1]}."

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per epsilon: mechanism, scale, mean error, error of 19 in 20, verdict, belief."""
        import pandas as pd

        best = self.best
        return pd.DataFrame(
            {
                "epsilon": list(self.epsilons),
                "mechanism": [str(one.mechanism) for one in best],
                "scale": [one.scale for one in best],
                "expected_error": [one.expected_error for one in best],
                "quantile_95": [one.quantile(0.95) for one in best],
                "verdict": [one.useful.verdict for one in best],
                "belief": [one.guarantee.belief(odds.PRIOR) for one in best],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean error of the best mechanism over epsilon, both on logarithmic axes.

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
        errors = zip(self.epsilons, (one.expected_error for one in self.best), strict=True)
        noisy = [(epsilon, error) for epsilon, error in errors if error > 0]
        if noisy:
            drawn.plot(*zip(*noisy, strict=True), marker="o", label="mean error")
            drawn.set_yscale("log")
        drawn.set_xscale("log")
        if self.noiseless_from is not None:
            drawn.axvspan(self.noiseless_from, self.epsilons[-1], alpha=0.2, color="tab:green", label="no noise")
        drawn.set_xlabel("epsilon")
        drawn.set_ylabel("mean error")
        drawn.set_title(label(str(self.query)))
        drawn.legend()
        return drawn

    @property
    def document(self) -> Document:
        """Return the best mechanism at every epsilon, and from where on the answer is useful."""
        rows = [
            (
                f"{epsilon:g}",
                one.guarantee.moved_text(),
                (Code(str(one.mechanism)),),
                number_text(one.scale),
                number_text(one.expected_error),
                (verdict_badge(one),),
            )
            for epsilon, one in zip(self.epsilons, self.best, strict=True)
        ]
        every = [*zip(self.epsilons, self.best, strict=True)]
        few = [every[k] for k in sorted({0, len(every) // 2, len(every) - 1})]
        moved = "10 % becomes" if self.best[0].guarantee.with_belief else "odds move by"
        table = Table(
            caption="The mechanism that errs least at every epsilon",
            header=("epsilon", moved, "mechanism", "scale", "mean error", "answer"),
            rows=rows,
            numbers=(0, 1, 3, 4),
        )
        return Document(
            kind="tradeoff",
            headline=("What privacy costs ", Code(str(self.query))),
            lead=" ".join(self.sentences),
            short=(
                *self.sentences,
                *(_line(epsilon, one) for epsilon, one in few),
                f"Protected: {shorten(self.best[0].guarantee.protected_text, 80)}.",
                "Next: bp.plan(framework, query, epsilon) at the epsilon that you choose; .explain() has the table.",
            ),
            number="" if self.useful_from is None else f"{self.useful_from:g}",
            answer=(table,),
            data={
                "query": str(self.query),
                "useful_from": self.useful_from,
                "noiseless_from": self.noiseless_from,
                "epsilons": [
                    {"epsilon": epsilon, "best": calibration_row(one)}
                    for epsilon, one in zip(self.epsilons, self.best, strict=True)
                ],
            },
        )


def _line(epsilon: float, one: Calibration) -> str:
    """What an epsilon buys, in a line of what is printed."""
    guarantee = one.guarantee
    belief = f"10 % becomes at most {guarantee.moved_text()}"
    told = belief if guarantee.with_belief else f"the odds move {by_times(guarantee.nats)}"
    return f"Epsilon {epsilon:g} ({told}): {one.useful.verdict}, mean error {number_text(one.expected_error)}."


def tradeoff(
    framework: Framework, query: Query | str | None, epsilons: Iterable[float], delta: float = 0.0
) -> Tradeoff:
    """Plan one query at many epsilons.

    Parameters
    ----------
    framework : Framework
        Network, schema and secrets.
    query : Query or str or None
        What is to be released; None where the framework has a query of its own.
    epsilons : iterable of float
        Above 0, in any order.
    delta : float
        The failure probability that is allowed at every epsilon.

    Returns
    -------
    Tradeoff
        Print it, or plot it.

    Raises
    ------
    ParameterError
        If there is no epsilon, or one is out of range.
    RefusedError
        If no mechanism supports the query.
    QueryError, SchemaError
        If the query does not fit the schema.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = tradeoff(bp.example("student"), bp.count(bp.col("height") > 180), [0.1, 0.5, 1.0])
    >>> found.noiseless_from
    0.5
    >>> print(found.sentences[0])
    From epsilon 0.5 on the answer is released without noise; at 0.1 it still is coarse.
    """
    require_framework(framework, query)
    query = require_query(framework, query)
    if not isinstance(epsilons, Iterable):
        raise ParameterError("epsilons is a list", found=checks.type_text(epsilons), remedy="Pass [0.1, 0.5, 1.0].")
    asked = tuple(sorted({checks.epsilon(epsilon) for epsilon in epsilons}))
    if not asked:
        raise ParameterError("at least one epsilon is needed", found="none", remedy="Pass [0.1, 0.5, 1.0].")
    with progress("planning"):
        plans = tuple(plan(framework, query, epsilon, delta) for epsilon in tracked(asked, f"{len(asked)} epsilons"))
    for chosen in plans:
        _ = chosen.best  # refuses here, not when the table is printed
    return Tradeoff(query=query, epsilons=asked, plans=plans)
