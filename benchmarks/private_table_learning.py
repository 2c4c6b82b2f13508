"""Property inference against models that were trained on a table as it is, on a filled and on a trimmed one.

Run: python -m benchmarks.private_table_learning [shadow tables] [tables]

Two secrets that are as far apart as is hidden; for each of them shadow tables, on which the attacker learns, and other
tables, on which he is tried. He sees one of several things: a stored pipeline of scikit-learn with all that it has
learned, what it answers about other records, a stored naive Bayes model, or the table.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import bnpriv as bp
from benchmarks import adult_study
from benchmarks.private_table_errors import adult_framework, adult_halves
from bnpriv.bound import FloatArray
from bnpriv.tables.private_table.private_table import made_by
from bnpriv.tables.private_table.rule import Classes, TableRule, chosen_rule, hidden_by

SHADOWS, TABLES, EPSILON, DELTA, PROBES, SEED = 100, 100, 1.0, 1e-6, 300, 7
RECORDS, MOVED, RECORDS_TESTED = 10_000, 100, 5_000
FORMS = ("as it is", "filled", "trimmed")
SEEN = ("the stored pipeline", "its answers", "naive Bayes, stored", "the table itself")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, what is hidden of it, and what a model is to predict.

    Parameters
    ----------
    name : str
    rules : mapping from str to TableRule
        How a table is filled, and how it is trimmed.
    drawn : callable
        A table in which so many records count for the secret.
    secrets : (int, int)
    target, positive : str
        The column that is predicted, and the value of it.
    features : tuple of str
        What it is predicted from; the column that is hidden is not among them.
    test : DataFrame
        Other records.
    """

    name: str
    rules: Mapping[str, TableRule]
    drawn: Callable[[int, np.random.Generator], pd.DataFrame]
    secrets: tuple[int, int]
    target: str
    positive: str
    features: tuple[str, ...]
    test: pd.DataFrame

    def handed_on(self, form: str, data: pd.DataFrame) -> tuple[pd.DataFrame, FloatArray]:
        """A table and how many records of the true one each of its own stands for."""
        if form == "as it is":
            return data, np.ones(len(data))
        made = made_by(self.rules[form], data, output=None, sampler=None)
        weights = list(made.weights.values())
        inside = self.members(made.table)
        return made.table, np.where(inside, weights[0], weights[1])

    @property
    def classes(self) -> Classes:
        """The classes of records whose numbers are hidden."""
        return self.rules["filled"].classes

    def members(self, table: pd.DataFrame) -> Any:
        """Which records count for the secret."""
        condition = self.classes.predicates[0]
        return (table[condition.column] == condition.value).to_numpy(bool)

    def labels(self, table: pd.DataFrame) -> Any:
        """What is to be predicted."""
        return (table[self.target] == self.positive).to_numpy(bool)

    @cached_property
    def encoder(self) -> ColumnTransformer:
        """Categories as zeros and ones; it is made from public records and tells nothing of a table."""
        texts = [name for name in self.features if isinstance(self.classes.schema[name], bp.Categorical)]
        held = [list(self.classes.schema[name].categories) for name in texts]
        hot = OneHotEncoder(categories=held, sparse_output=False, handle_unknown="ignore")
        return ColumnTransformer([("texts", hot, texts)], remainder="passthrough").fit(self.test[list(self.features)])

    def encoded(self, table: pd.DataFrame) -> FloatArray:
        """The features as numbers."""
        return np.asarray(self.encoder.transform(table[list(self.features)]), dtype=float)

    @cached_property
    def held_out(self) -> tuple[FloatArray, Any]:
        """Features and labels of the other records."""
        return self.encoded(self.test), self.labels(self.test)


def rules(framework: bp.DatasetAttributePrivacy) -> dict[str, TableRule]:
    """How a table is filled, and trimmed."""
    hidden = hidden_by(framework, None, None, None)
    return {
        "filled": chosen_rule(hidden, "fill", EPSILON, 0.0),
        "trimmed": chosen_rule(hidden, "trim", EPSILON, DELTA),
    }


def adult() -> Case:
    """How many are women; income is predicted. Tables are of real records, made-up ones of a network of others."""
    framework, private = adult_framework(RECORDS, MOVED), adult_halves()[1]
    for name, column in framework.schema.columns.items():
        if isinstance(column, bp.Categorical):  # rare labels count as one, in true tables as in filled ones
            private[name] = private[name].where(private[name].isin(column.categories), column.missing)
    pool, test = private[:-RECORDS_TESTED], private[-RECORDS_TESTED:]
    women = np.flatnonzero(pool["sex"] == "Female"), np.flatnonzero(pool["sex"] != "Female")

    def drawn(count: int, random: np.random.Generator) -> pd.DataFrame:
        rows = [random.choice(side, some) for side, some in zip(women, (count, RECORDS - count), strict=True)]
        return pool.iloc[np.concatenate(rows)].reset_index(drop=True)

    return Case(
        name="adult, income predicted, the number of women hidden",
        rules=rules(framework),
        drawn=drawn,
        secrets=(3_200, 3_200 + MOVED),
        target="income",
        positive=">50K",
        features=("age", "workclass", "years", "marital", "occupation", "relationship", "hours"),
        test=test,
    )


def hospital() -> Case:
    """How many are ill; who has an inhaler is predicted. Tables are drawn from the declared network."""
    shipped = bp.example("hospital")
    schema = bp.Schema(records=2 * RECORDS, columns=shipped.schema.columns)
    framework = replace(shipped, schema=schema)

    def drawn(count: int, random: np.random.Generator) -> pd.DataFrame:
        return bp.simulate(framework, secret={"disease": count}, seed=int(random.integers(2**31)))

    return Case(
        name="hospital, inhalers predicted, the number of ill patients hidden",
        rules=rules(framework),
        drawn=drawn,
        secrets=(1_900, 1_900 + MOVED),
        target="inhaler",
        positive="yes",
        features=("age_group", "smoker", "ward", "days"),
        test=bp.simulate(framework, RECORDS_TESTED, seed=SEED),
    )


def seen_of(case: Case, table: pd.DataFrame, weights: FloatArray) -> tuple[Sequence[FloatArray], Sequence[float]]:
    """Train models; return what an attacker may see, in the order of SEEN, and how often the models are right."""
    values, labels = case.encoded(table), case.labels(table)
    test, truth = case.held_out
    pipeline = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression(solver="newton-cholesky"))])
    pipeline.fit(values, labels, scale__sample_weight=weights, model__sample_weight=weights)
    bayes = GaussianNB().fit(values, labels, sample_weight=weights)
    scale, model = pipeline["scale"], pipeline["model"]
    stored = np.concatenate([scale.mean_, scale.var_, model.coef_[0], model.intercept_])
    answers = pipeline.predict_proba(test[:PROBES])[:, 1]
    naive = np.concatenate([bayes.class_count_, bayes.theta_.ravel()])
    counted = np.array([np.average(case.members(table), weights=weights)])
    right = [float(np.mean(each.predict(test) == truth)) for each in (pipeline, bayes)]
    return (stored, answers, naive, counted), right


def attacked(case: Case, shadows: int, tables: int) -> str:
    """The attacks on one case as text."""
    random = np.random.default_rng(SEED)
    numbers: Mapping[tuple[str, int], list[Sequence[FloatArray]]] = {(f, side): [] for f in FORMS for side in (0, 1)}
    right: Mapping[str, list[Sequence[float]]] = {form: [] for form in FORMS}
    for _ in range(shadows + tables):
        for side, count in enumerate(case.secrets):
            data = case.drawn(count, random)
            for form in FORMS:
                seen, accuracy = seen_of(case, *case.handed_on(form, data))
                numbers[form, side].append(seen)
                right[form].append(accuracy)
    bound = bp.attacks.accuracy_bound(EPSILON, DELTA)
    made_up, given_up = case.rules["filled"].noise.mean_moves, case.rules["trimmed"].given_up
    one, other = case.secrets
    lines = [
        f"{case.name}",
        f"{case.classes.schema.records:,} records, {one:,} against {other:,}, epsilon {EPSILON:g} and delta {DELTA:g} "
        f"where trimmed; {shadows} shadow tables and {tables} others for each",
        f"filled: {made_up:,.0f} records made up on average; trimmed: {2 * given_up:,} left out",
        f"{'right guesses, %':22}" + "".join(f"{form:>22}" for form in FORMS),
    ]
    for place, what in enumerate(SEEN):
        cells = list[str]()
        for form in FORMS:
            sides = [np.array([each[place] for each in numbers[form, side]]) for side in (0, 1)]
            attack = bp.attacks.property_inference(
                (sides[0][:shadows], sides[1][:shadows]),
                (sides[0][shadows:], sides[1][shadows:]),
                seen=what,
                secrets=f"{case.secrets[0]} against {case.secrets[1]}",
                classifier=LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
                if sides[0].shape[1] > 1
                else None,
            )
            low, high = attack.interval
            cells.append(f"{100 * attack.accuracy:.1f} ({100 * low:.1f} to {100 * high:.1f})")
        lines.append(f"{what:22}" + "".join(f"{cell:>22}" for cell in cells))
    # whoever knows the noise guesses the likelier of two discrete Laplace laws that are the whole distance apart
    best = 1 - math.exp(-EPSILON / 2) / 2
    for what, share in (("best from the number", best), ("allowed", bound)):
        lines.append(f"{what:22}" + "".join(f"{cell:>22}" for cell in ("", *[f"{100 * share:.1f}"] * 2)))
    lines.append("labels right, %")
    for place, what in enumerate(("logistic regression", "naive Bayes")):
        cells = [f"{100 * np.mean([each[place] for each in right[form]]):.2f}" for form in FORMS]
        lines.append(f"{what:22}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    shadows, tables = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (SHADOWS, TABLES)
    with threadpool_limits(1):  # small matrices: threads would only wait for each other
        for case in [*([adult()] if adult_study.available() else []), hospital()]:
            print(attacked(case, shadows, tables), end="\n\n", flush=True)
    if not adult_study.available():
        print(f"adult: skipped; {adult_study.NO_DATA}")


if __name__ == "__main__":
    main()
