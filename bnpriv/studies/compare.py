"""Two frameworks side by side: what the same query costs under each, and in what they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import Refusal
from bnpriv.evidence import discrete_influences, impossibility
from bnpriv.frameworks import DistributionalAttributePrivacy, of_parameters
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.networks import Network
from bnpriv.queries import Query, as_query
from bnpriv.render import Document, Shown
from bnpriv.render.document import Code, Items, Table
from bnpriv.render.plotting import axes, label
from bnpriv.render.text import nats_text, number_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SIDES = ("A", "B")


@final
@dataclass(frozen=True, kw_only=True)
class Comparison(Shown):
    """One query under two frameworks; print it.

    Parameters
    ----------
    frameworks : (DistributionalAttributePrivacy, DistributionalAttributePrivacy)
        A and B.
    query : Query
    epsilon : float
    plans : (Plan, Plan)
        Every mechanism under A and under B.
    influences : tuple of mapping from str to float
        For A and for B: what the queried columns tell about each protected attribute, in nats; infinite where the query
        reads it or the model does not cover the query.
    differences : tuple of str
        In what the frameworks differ, in words; empty if in nothing that matters here.
    """

    frameworks: tuple[DistributionalAttributePrivacy, DistributionalAttributePrivacy]
    query: Query
    epsilon: float
    plans: tuple[Plan, Plan]
    influences: tuple[dict[str, float], dict[str, float]]
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
            values = [found.get(name, 0.0) for name in self.protected]
            lengths = [min(value, 1.15 * longest) for value in values]
            bars = drawn.bar(places + 0.4 * k - 0.2, lengths, width=0.35, label=side)
            for value, bar in zip(values, bars, strict=True):
                bar.set(hatch=None if math.isfinite(value) else "//")
        drawn.axhline(self.epsilon, color="black", linestyle=":", label="epsilon")
        drawn.set_xticks(places, [label(name) for name in self.protected])
        drawn.set_ylabel("influence in nats (hatched: not bounded)")
        drawn.set_title(label(str(self.query)))
        drawn.legend()
        return drawn

    @property
    def document(self) -> Document:
        """Return both frameworks side by side, and in what they differ."""
        rows = [[f"influence on {name}", *(_nats(found, name) for found in self.influences)] for name in self.protected]
        facts = [_best(chosen) for chosen in self.plans]
        rows += [[key, *(_shown(fact.get(key, "")) for fact in facts)] for key in facts[0]]
        differ = tuple(f"They differ: {difference}" for difference in self.differences)
        table = Table(caption="What they have and what they give", header=("", *SIDES), rows=rows)
        told = [
            [{"protected": name, "nats": _number(nats)} for name, nats in found.items()] for found in self.influences
        ]
        return Document(
            kind="comparison",
            kicker="bnpriv comparison",
            headline=(Code(str(self.query)), f" at epsilon {self.epsilon:g} under two frameworks"),
            lead=self._verdict(),
            answer=(table, Items(differ or ("They differ in nothing that matters here.",))),
            data={
                "query": str(self.query),
                "epsilon": self.epsilon,
                "sides": [
                    {"influences": influences, "best": {key: _number(value) for key, value in fact.items()}}
                    for influences, fact in zip(told, facts, strict=True)
                ],
                "differences": list(self.differences),
            },
        )

    def _verdict(self) -> str:
        errors = [chosen.best.expected_error if chosen.calibrations else math.inf for chosen in self.plans]
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


def _number(value: object) -> object:
    """Return a value for JSON: infinite numbers as a word, undefined ones as nothing."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "inf" if math.isinf(value) else None


def compare(
    framework_a: DistributionalAttributePrivacy,
    framework_b: DistributionalAttributePrivacy,
    query: Query | str,
    epsilon: float = 1.0,
) -> Comparison:
    """Set two frameworks side by side for one query: what leaks, the best mechanism, its error, and why.

    Parameters
    ----------
    framework_a, framework_b : DistributionalAttributePrivacy
        For example with two networks, or with other secrets.
    query : Query or str
        What is to be released.
    epsilon : float
        The guarantee that is asked of both.

    Returns
    -------
    Comparison
        Print it.

    Raises
    ------
    ParameterError
        If epsilon is out of range.
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
    query, epsilon = as_query(query), checks.epsilon(epsilon)
    both = (of_parameters(framework_a, "a comparison"), of_parameters(framework_b, "a comparison"))
    for framework in both:
        refusal = impossibility(framework)
        if refusal is not None:
            raise refusal.error()
    plans = tuple(plan(framework, query, epsilon) for framework in both)
    told = tuple(_told(framework, query) for framework in both)
    return Comparison(
        frameworks=both,
        query=query,
        epsilon=epsilon,
        plans=(plans[0], plans[1]),
        influences=(told[0], told[1]),
        differences=tuple(_differences(framework_a, framework_b, query)),
    )


def _told(framework: DistributionalAttributePrivacy, query: Query) -> dict[str, float]:
    evidence = discrete_influences(framework)
    if isinstance(evidence, Refusal) or evidence.covers(query.columns) is not None:
        return dict.fromkeys(framework.secrets, math.inf)
    return {
        name: math.inf if name in query.columns else float(evidence.influence(query.columns, name))
        for name in framework.secrets
    }


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


def _nats(found: dict[str, float], name: str) -> str:
    return nats_text(found[name]) if name in found else "not protected"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else number_text(value)
    return str(value)


def _differences(a: DistributionalAttributePrivacy, b: DistributionalAttributePrivacy, query: Query) -> Iterator[str]:
    facts = {
        "notion": (a.notion, b.notion),
        "protected": (listing(a.secrets), listing(b.secrets)),
        "number of records": (f"{a.schema.records:,}", f"{b.schema.records:,}"),
        "models": (str(a.network.models), str(b.network.models)),
        "source": (a.source, b.source),
        "declared independent": (listing(sorted(a.independent)), listing(sorted(b.independent))),
    }
    for what, (one, other) in facts.items():
        if one != other:
            yield f"{what}: {one} in A, {other} in B."
    for name in a.secrets:
        if name in b.secrets and set(a.secrets[name]) != set(b.secrets[name]):
            yield f"pairs of secrets of {name}: {len(a.secrets[name])} ordered pairs in A, {len(b.secrets[name])} in B."
    for name in sorted(query.columns):
        one, other = a.schema.columns.get(name), b.schema.columns.get(name)
        if one != other:
            yield f"column {name}: {one} in A, {other} in B."
    yield from _network_differences(a.discrete, b.discrete)


def _network_differences(a: Network, b: Network) -> Iterator[str]:
    for what, one, other in (
        ("attributes", set(a.attributes), set(b.attributes)),
        ("edges", {f"{p} -> {c}" for p, c in a.graph.edges}, {f"{p} -> {c}" for p, c in b.graph.edges}),
    ):
        if one - other:
            yield f"{what} only in A: {listing(sorted(one - other))}."
        if other - one:
            yield f"{what} only in B: {listing(sorted(other - one))}."
    other_numbers = [
        name
        for name in a.attributes
        if name in b.attributes and a.graph.parents[name] == b.graph.parents[name] and not a.same_law(b, name)
    ]
    if other_numbers:
        yield f"other numbers or states in the tables of {listing(other_numbers)}."
