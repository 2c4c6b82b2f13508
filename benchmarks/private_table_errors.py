"""Errors of 30 queries that are asked of one private table, beside one release each and all of them as one release.

Run: python -m benchmarks.private_table_errors [tables]

The tables of hospital and census are drawn anew from the declared network each time; that of Adult is the private half
of the real one, and its network is learned from the other half: what is planned for it is as right as that network. All
answers of a table share its noise. Planned errors of several numbers are upper ends, a little above the mean 2-norm.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

import bnpriv as bp
from benchmarks import adult_study
from bnpriv.bound import FloatArray
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.errors import RefusedError
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.tables.evaluate import evaluate

TABLES, DRAWS = 250, 20_000
EPSILON, DELTA = 1.0, 1e-6
FORMS = ("fill", "trim")

HOSPITAL = """
count(smoker == "yes")
count(inhaler == "yes")
count(ward == "surgery")
count(ward == "internal")
count(ward == "lungs")
count(ward == "children")
count(ward == "other")
count(ward == "lungs" & age_group == "old")
count(smoker == "yes" & inhaler == "yes")
count(inhaler == "yes" & ward != "lungs")
count(days >= 8)
mean(days)

count(age_group == "child")
count(age_group == "young")
count(age_group == "middle")
count(age_group == "old")
count(ward == "internal" & smoker == "yes")
count(age_group == "old" & smoker == "yes")
count(days == 1)
count(days >= 5)
count(days >= 8 & ward == "lungs")
count(days <= 2)
proportion(inhaler == "yes" & age_group == "old")
count(disease == "yes")
count(disease == "yes" & smoker == "yes")
histogram(ward)
histogram(age_group)
crosstab(ward, age_group)
crosstab(smoker, inhaler)
crosstab(disease, ward)
"""
"""The queries that are asked of a table; those of the first block are also asked as one release."""

CENSUS = """
count(hours > 40)
count(age < 25)
count(sex == "Female")
count(education == "basic")
count(education == "middle")
count(education == "bachelor")
count(education == "advanced")
count(occupation == "office")
count(occupation == "service")
count(occupation == "manual")
count(occupation == "office" & sex == "Female")
count(education == "advanced" & hours > 40)

mean(age)
count(age >= 35 & age < 45)
mean(hours)
count(hours == 40)
count(hours < 20)
count(age >= 65)
count(occupation == "unknown")
count(occupation == "manual" & sex == "Female")
count(age >= 45 & hours > 40)
proportion(sex == "Female" & hours > 40)
count(income == ">45k")
count(income == ">45k" & sex == "Female")
histogram(education)
histogram(occupation)
crosstab(sex, age)
crosstab(sex, education)
crosstab(sex, occupation)
crosstab(income, education)
"""

ADULT = """
count(income == ">50K")
count(hours > 40)
count(age < 25)
count(years >= 13)
count(marital == "Never-married")
count(marital == "Divorced")
count(marital == "Married-civ-spouse")
count(occupation == "Craft-repair")
count(occupation == "Adm-clerical")
count(occupation == "Exec-managerial")
count(years >= 13 & income == ">50K")

mean(age)
count(age >= 30)
mean(hours)
mean(years)
count(hours < 20)
count(age >= 65)
count(years < 9)
count(relationship == "Unmarried")
count(relationship == "Own-child")
count(relationship == "Wife")
count(occupation == "Other-service")
count(workclass == "Private")
count(workclass == "State-gov")
count(marital == "Never-married" & age >= 30)
count(sex == "Female")
count(sex == "Female" & income == ">50K")
histogram(workclass)
histogram(marital)
crosstab(income, marital)
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A framework, what is asked, and where true tables come from."""

    name: str
    framework: Any
    queries: str
    drawn: Callable[[int], Any]

    @property
    def asked(self) -> list[bp.types.Query]:
        """The queries."""
        return [bp.parse_query(line) for line in self.queries.splitlines() if line]

    @property
    def at_once(self) -> list[bp.types.Query]:
        """Those that are asked as one release too."""
        return [bp.parse_query(line) for line in self.queries.strip().partition("\n\n")[0].splitlines()]


def example(name: str, queries: str) -> Case:
    """A shipped example, whose tables are drawn from its network."""
    framework = bp.example(name)
    return Case(name=name, framework=framework, queries=queries, drawn=lambda seed: bp.simulate(framework, seed=seed))


def adult_halves() -> tuple[Any, Any]:
    """The census income study in two halves, the first of which is public."""
    kept = adult_study.census().drop(columns=["weight", "education", "gain", "loss", "country"])
    mixed = kept.sample(frac=1, random_state=0).reset_index(drop=True)
    half = len(mixed) // 2
    return mixed[:half], mixed[half : 2 * half].reset_index(drop=True)


def adult_framework(records: int, moved: int) -> bp.DatasetAttributePrivacy:
    """The number of women is hidden, so many apart; one network is learned from the public half."""
    public, private = adult_halves()
    women = bp.Secret('count(sex == "Female")', pairs=bp.apart(at_most=moved))
    started = bp.start(private, learn=public, protect={"sex": women}, records=records, draws=2)
    learned = started.network
    assert isinstance(started, bp.DatasetAttributePrivacy)
    assert isinstance(learned, bp.DiscreteNetwork)
    one = bp.DiscreteNetwork.from_tables(
        {name: learned.probabilities(name)[0] for name in learned.attributes},
        states=learned.states,
        parents={name: learned.tables[name].axes[1:] for name in learned.attributes},
        level="records",
    )
    return replace(started, network=one, public_records=None, source="a network learned from the public half")


def adult() -> Case:
    """The private half of the census income study."""
    private = adult_halves()[1]
    framework = adult_framework(len(private), 200)
    return Case(name="adult", framework=framework, queries=ADULT, drawn=lambda seed: private)


def parts_of(queries: Sequence[bp.types.Query], schema: bp.Schema) -> list[slice]:
    """Which numbers of the answer to a stack belong to each query."""
    ends = np.cumsum([0, *(len(query.outputs(schema)) for query in queries)]).tolist()
    return [slice(first, last) for first, last in pairwise(ends)]


def lengths(errors: FloatArray, parts: Sequence[slice]) -> FloatArray:
    """The 2-norm of the error of each query, shape (draws, queries)."""
    return np.stack([np.linalg.norm(errors[:, part], axis=1) for part in parts], axis=1)


def of_tables(case: Case, forms: Sequence[str], tables: int) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Mean error of each query asked of one private table, and its standard error, over so many tables, by form."""
    import polars as pl

    schema, stack = case.framework.schema, bp.stack(*case.asked)
    found: dict[str, list[FloatArray]] = {form: [] for form in forms}
    for seed in range(tables):
        data = pl.from_pandas(case.drawn(seed))
        exact = [float(value) for value in evaluate(stack, schema, data).values]
        for form in forms:
            delta = DELTA if form == "trim" else 0.0
            made = bp.private_table(case.framework, data, EPSILON, delta, form, records_may_be_seen=True)
            errors = np.subtract(made.answer(stack), exact)
            found[form].append(lengths(errors[np.newaxis], parts_of(case.asked, schema))[0])
    every = {form: np.array(each) for form, each in found.items()}
    return {form: (each.mean(axis=0), each.std(axis=0, ddof=1) / math.sqrt(tables)) for form, each in every.items()}


def one_release(case: Case, query: bp.types.Query) -> Calibration | None:
    """The best release of one query, if there is any."""
    try:
        return bp.plan(case.framework, query, EPSILON).best
    except RefusedError:
        return None


def one_stack(case: Case) -> tuple[str, Sequence[float]]:
    """The errors of the queries of the first block in the best single release of all of them."""
    found = one_release(case, bp.stack(*case.at_once))
    if found is None:
        return "no mechanism", [math.nan] * len(case.asked)
    sampler, zeros = NumpySampler(np.random.default_rng(0)), [0.0] * found.noise.dimension
    drawn = np.array([found.noise.sample(zeros, sampler) for _ in range(DRAWS)])
    errors = lengths(drawn, parts_of(case.at_once, case.framework.schema)).mean(axis=0).tolist()
    return short(found), [*errors, *[math.nan] * (len(case.asked) - len(errors))]


def short(found: Calibration) -> str:
    """The name of a mechanism."""
    return str(found.mechanism).partition("(")[0].removesuffix("Mechanism")


def number(value: float | None) -> str:
    """An error as a text of three digits."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(case: Case, tables: int) -> str:
    """The errors of one case as text."""
    schema, asked = case.framework.schema, case.asked
    (secret,) = case.framework.protect.values()
    plan = bp.plan_table(case.framework, EPSILON, DELTA, queries=asked)
    forms = [form for form in FORMS if form in plan.errors]
    by, stacked = one_stack(case)
    lines = [
        f"{case.name}: {schema.records:,} records, hidden is {secret.property} up to {secret.pairs.at_most:g} apart, "
        f"epsilon {EPSILON:g}; mean errors over {tables} tables"
    ]
    for form in FORMS:
        if form in forms:
            some = f"{plan.left_out(form):,.0f} records left out, {plan.made_up(form):,.0f} made up on average"
            lines.append(f"{form}{'' if form == 'fill' else f', delta {DELTA:g}'}: {some}")
        else:
            lines.append(f"{form}: refused: {plan.forms[form].required}; found {plan.forms[form].found}")
    measured = of_tables(case, forms, tables)
    singles = [one_release(case, query) for query in asked]
    alone = [math.nan if single is None else single.expected_error for single in singles]
    head = ["query", *forms, *(f"{form}, planned" for form in forms), "one alone", "by", f"{len(case.at_once)} at once"]
    body = [
        [
            str(query),
            *(number(measured[form][0][place]) for form in forms),
            *(number(plan.errors[form][place]) for form in forms),
            number(alone[place]),
            "-" if single is None else short(single),
            number(stacked[place]),
        ]
        for place, (query, single) in enumerate(zip(asked, singles, strict=True))
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for first, *others in (head, *body):
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:{widths[0]}}", *cells]))
    lines.append(f"At once: by {by}, the queries above that have a number there.")
    for form in forms:
        mean, deviation = measured[form]
        planned = np.array(plan.errors[form])
        away, ratio = np.abs(mean - planned) / deviation, np.abs(mean / planned - 1)
        several = np.array([len(query.outputs(schema)) > 1 for query in asked])
        for what, chosen in (("one number", ~several), ("several numbers", several)):
            places = np.flatnonzero(chosen)
            far, off = places[away[places].argmax()], places[ratio[places].argmax()]
            lines.append(
                f"{form}, measured against planned, answers of {what}: at most {away[far]:.1f} standard errors apart "
                f"({asked[far]}), {np.mean(away[places] <= 2):.0%} within 2; at most {ratio[off]:.0%} ({asked[off]})"
            )
        one, all_at_once = (float(np.nanmedian(other / mean)) for other in (alone, stacked))
        lines.append(
            f"{form}, against the others: the error alone is {one:.2f} times as large, at once {all_at_once:.3g} times "
            f"in the median; alone it is larger for {np.sum(mean <= alone)} of {len(asked)} queries"
        )
    return "\n".join(lines)


def cases() -> list[Case]:
    """Hospital, census, and Adult where it is there."""
    found = [example("hospital", HOSPITAL), example("census", CENSUS)]
    return [*found, adult()] if adult_study.available() else found


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    for case in cases():
        print(table(case, tables), end="\n\n", flush=True)
    if not adult_study.available():
        print(f"adult: skipped; {adult_study.NO_DATA}")


if __name__ == "__main__":
    main()
