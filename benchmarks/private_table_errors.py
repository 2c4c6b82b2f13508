"""Errors of 30 queries that are asked of one private table, beside one release each and all of them as one release.

Run: python -m benchmarks.private_table_errors [tables]

The tables of hospital and census are drawn anew from the declared network each time; that of Adult is the private half of
the real one, and its network is learned from the other half.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import bnpriv as bp
from benchmarks import adult_study
from bnpriv.bound import FloatArray
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.errors import RefusedError
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.tables.evaluate import evaluate

TABLES, DRAWS = 200, 20_000
EPSILON, DELTA = 1.0, 1e-6

HOSPITAL = """
count(smoker == "yes")
count(inhaler == "yes")
count(ward == "surgery")
count(ward == "internal")
count(ward == "lungs")
count(ward == "children")
count(ward == "other")
count(age_group == "child")
count(age_group == "young")
count(age_group == "middle")
count(age_group == "old")
count(ward == "lungs" & age_group == "old")
count(ward == "internal" & smoker == "yes")
count(smoker == "yes" & inhaler == "yes")
count(inhaler == "yes" & ward != "lungs")
count(age_group == "old" & smoker == "yes")
count(days == 1)
count(days >= 5)
count(days >= 8)
count(days >= 8 & ward == "lungs")
mean(days)
variance(days)
proportion(inhaler == "yes" & age_group == "old")
count(disease == "yes")
count(disease == "yes" & smoker == "yes")
histogram(ward)
histogram(age_group)
crosstab(ward, age_group)
crosstab(smoker, inhaler)
crosstab(disease, ward)
"""

CENSUS = """
mean(age)
variance(age)
mean(hours)
variance(hours)
covariance(age, hours)
count(hours > 40)
count(hours < 20)
count(age >= 65)
count(age < 25)
count(sex == "Female")
count(education == "basic")
count(education == "middle")
count(education == "bachelor")
count(education == "advanced")
count(occupation == "office")
count(occupation == "service")
count(occupation == "manual")
count(occupation == "unknown")
count(occupation == "office" & sex == "Female")
count(occupation == "manual" & sex == "Female")
count(education == "advanced" & hours > 40)
count(age >= 45 & hours > 40)
proportion(sex == "Female" & hours > 40)
count(income == ">45k")
count(income == ">45k" & sex == "Female")
histogram(education)
histogram(occupation)
crosstab(sex, age)
crosstab(sex, occupation)
crosstab(income, education)
"""

ADULT = """
mean(age)
variance(age)
mean(hours)
mean(years)
covariance(years, hours)
count(income == ">50K")
count(hours > 40)
count(hours < 20)
count(age >= 65)
count(age < 25)
count(years >= 13)
count(years < 9)
count(marital == "Never-married")
count(marital == "Divorced")
count(marital == "Married-civ-spouse")
count(relationship == "Unmarried")
count(relationship == "Own-child")
count(occupation == "Craft-repair")
count(occupation == "Adm-clerical")
count(occupation == "Exec-managerial")
count(workclass == "Private")
count(workclass == "State-gov")
count(relationship == "Wife")
count(occupation == "Other-service")
count(years >= 13 & income == ">50K")
count(marital == "Never-married" & age >= 30)
count(sex == "Female")
count(sex == "Female" & income == ">50K")
histogram(workclass)
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
        return [bp.parse_query(line) for line in self.queries.split("\n") if line]


def example(name: str, queries: str) -> Case:
    """A shipped example, whose tables are drawn from its network."""
    framework = bp.example(name)
    return Case(name=name, framework=framework, queries=queries, drawn=lambda seed: bp.simulate(framework, seed=seed))


def adult() -> Case:
    """The census income study: the number of women among the records of its private half is hidden, up to 200 apart."""
    kept = adult_study.census().drop(columns=["weight", "education", "gain", "loss", "country"])
    mixed = kept.sample(frac=1, random_state=0).reset_index(drop=True)
    half = len(mixed) // 2
    public, private = mixed[:half], mixed[half : 2 * half].reset_index(drop=True)
    women = bp.Secret('count(sex == "Female")', pairs=bp.apart(at_most=200))
    started = bp.start(private, learn=public, protect={"sex": women}, records=half, draws=2)
    learned = started.network
    assert isinstance(started, bp.DatasetAttributePrivacy) and isinstance(learned, bp.DiscreteNetwork)
    one = bp.DiscreteNetwork.from_tables(
        {name: learned.probabilities(name)[0] for name in learned.attributes},
        states=learned.states,
        parents={name: learned.tables[name].axes[1:] for name in learned.attributes},
        level="records",
    )
    framework = replace(started, network=one, public_records=None, source="a network learned from the public half")
    return Case(name="adult", framework=framework, queries=ADULT, drawn=lambda seed: private)


def parts_of(queries: Sequence[bp.types.Query], schema: bp.Schema) -> list[slice]:
    """Which numbers of the answer to a stack belong to each query."""
    ends = np.cumsum([0, *(len(query.outputs(schema)) for query in queries)]).tolist()
    return [slice(first, last) for first, last in zip(ends, ends[1:], strict=False)]


def lengths(errors: FloatArray, parts: Sequence[slice]) -> FloatArray:
    """The 2-norm of the error of each query, shape (draws, queries)."""
    return np.stack([np.linalg.norm(errors[:, part], axis=1) for part in parts], axis=1)


def of_tables(case: Case, rule_form: str, tables: int) -> tuple[FloatArray, FloatArray]:
    """Mean error of each query asked of one private table, and its standard error, over so many tables."""
    schema, queries = case.framework.schema, case.asked
    found = list[FloatArray]()
    for seed in range(tables):
        data = case.drawn(seed)
        made = bp.private_table(
            case.framework, data, EPSILON, 0.0 if rule_form == "fill" else DELTA, rule_form, records_may_be_seen=True
        )
        stack = bp.stack(*queries)
        errors = np.subtract(made.answer(stack), [float(value) for value in evaluate(stack, schema, data).values])
        found.append(lengths(errors[np.newaxis], parts_of(queries, schema))[0])
    every = np.array(found)
    return every.mean(axis=0), every.std(axis=0, ddof=1) / math.sqrt(tables)


def one_release(case: Case, query: bp.types.Query) -> Calibration | None:
    """The best release of one query, if there is any."""
    try:
        return bp.plan(case.framework, query, EPSILON).best
    except RefusedError:
        return None


def one_stack(case: Case) -> tuple[str, Sequence[float]]:
    """The errors of all queries in the best single release of all of them."""
    found = one_release(case, bp.stack(*case.asked))
    if found is None:
        return "no mechanism", [math.nan] * len(case.asked)
    sampler, zeros = NumpySampler(np.random.default_rng(0)), [0.0] * found.noise.dimension
    drawn = np.array([found.noise.sample(zeros, sampler) for _ in range(DRAWS)])
    return str(found.mechanism), lengths(drawn, parts_of(case.asked, case.framework.schema)).mean(axis=0).tolist()


def number(value: float | None) -> str:
    """An error as a text of three digits."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def rows(case: Case, tables: int) -> list[list[str]]:
    """Print the errors of one case, and return the rows."""
    schema, k = case.framework.schema, max(s.pairs.at_most for s in case.framework.protect.values())
    plan = bp.plan_table(case.framework, EPSILON, DELTA, queries=case.asked)
    forms = [form for form in ("fill", "trim") if form in plan.errors]
    stack_by, stacked = one_stack(case)
    (secret,) = case.framework.protect.values()
    print(
        f"{case.name}: {schema.records:,} records, hidden is {secret.property} up to {k} apart, epsilon {EPSILON:g}; "
        f"{tables} tables\n"
        f"all as one release: {stack_by}"
    )
    for form in forms:
        off = f", delta {DELTA:g}" if form == "trim" else ""
        print(f"{form}{off}: {plan.left_out(form):,.0f} records left out, {plan.made_up(form):,.0f} made up on average")
    for form, refusal in plan.forms.items():
        if form not in forms and form == "trim":
            print(f"{form}: refused, {refusal.required}; found {refusal.found}")
    measured = {form: of_tables(case, form, tables) for form in forms}
    singles = [one_release(case, query) for query in case.asked]
    head = [
        "query",
        *(f"{form}" for form in forms),
        *(f"{form}, planned" for form in forms),
        "one alone",
        "by",
        "all at once",
    ]
    body = [
        [
            str(query),
            *(number(measured[form][0][place]) for form in forms),
            *(number(plan.errors[form][place]) for form in forms),
            number(None if single is None else single.expected_error),
            "" if single is None else str(single.mechanism).partition("(")[0].removesuffix("Mechanism"),
            number(stacked[place]),
        ]
        for place, (query, single) in enumerate(zip(case.asked, singles, strict=True))
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    for line in (head, *body):
        cells = [f"{line[0]:{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(line[1:], widths[1:], strict=True))]
        print("  ".join(cells))
    for form in forms:
        mean, deviation = measured[form]
        planned = np.array(plan.errors[form])
        away = (mean - planned) / deviation
        worst, far = int(np.argmax(np.abs(away))), int(np.argmax(np.abs(mean / planned - 1)))
        print(
            f"{form}: measured against planned errors: at most {abs(away[worst]):.1f} standard errors apart "
            f"({case.asked[worst]}), {100 * abs(mean[far] / planned[far] - 1):.0f} % ({case.asked[far]}); "
            f"{np.mean(np.abs(away) <= 2):.0%} are within 2 standard errors"
        )
        alone = [single.expected_error if single else math.inf for single in singles]
        better = [float(own / other) for own, other in zip(mean, alone, strict=True)]
        print(
            f"{form}: {sum(ratio <= 1 for ratio in better)} of {len(better)} queries err less than alone; against all "
            f"at once the error is smaller by a factor of {number(float(np.median(np.array(stacked) / mean)))} in the middle"
        )
    print(flush=True)
    return body


def cases() -> list[Case]:
    """Hospital, census, and Adult where it is there."""
    found = [example("hospital", HOSPITAL), example("census", CENSUS)]
    return [*found, adult()] if adult_study.available() else found


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    for case in cases():
        rows(case, tables)
    if not adult_study.available():
        print(f"adult: skipped; {adult_study.NO_DATA}")


if __name__ == "__main__":
    main()
