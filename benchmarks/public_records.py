"""How many public records are enough: what noise that was found from a public table keeps, under the law behind it.

``python -m benchmarks.public_records [draws] [road] [tables] [speed]`` prints

* draws: for tables whose law is known, in how many of 200 public tables the real loss is at most the promised one, by
  the number of draws of the records' models alone, with the further records and without;
* road: the same for the whole road, a learned network with both kinds of models, at the default number of draws;
* tables: for real tables the loss under the frequencies of both halves, before and after, and the price;
* speed: seconds for the laws of a count over a million public records.

The loss is worked out here and not by bnpriv: k records that change cost at most k times the largest log ratio of what
one record of either class adds with the noise, and beyond all answers just as much.
"""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bnpriv as bp
from bnpriv.core.evidence.laws import law_of_one_record
from bnpriv.core.queries.base import normal_form
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.kinds.public_records import RECORD_DRAWS, PublicRecords, public_records_of

EPSILON = 1.0
REPETITIONS = 200
SAMPLES = (300, 1_000, 10_000)
PRIVATE, APART = 1_000, 10
"""Records of a simulated private table, and how far apart numbers of them are alike."""

FIRST, MOST = (10, 20, 40, 100, 200), 200
"""Numbers of draws that are looked at, and how many are made."""

Frame = pd.DataFrame
Answer = Callable[[Frame], np.ndarray]

# --------------------------------------------------------------------------------------------------
# The real loss of Laplace noise.
# --------------------------------------------------------------------------------------------------


def log_ratios(values: np.ndarray, one: np.ndarray, other: np.ndarray, scale: float) -> np.ndarray:
    """Return for each law the largest |log ratio| of two densities with noise; one number, or cells of a histogram."""
    if scale == 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.abs(np.log(one) - np.log(other)), nan=0.0).max(axis=1)
    if values.ndim == 2:
        corners = np.array(list(product(*(sorted(set(column)) for column in values.T))))
        away = np.abs(corners[:, None, :] - values[None, :, :]).sum(axis=2) / scale
        kernel = np.exp(away.min(axis=1, keepdims=True) - away).T
        return np.abs(np.log(one @ kernel) - np.log(other @ kernel)).max(axis=1)
    fall = np.exp(-np.diff(values) / scale)
    logs = []
    for masses in (one.T, other.T):
        left, right = masses.copy(), masses.copy()
        for k, share in enumerate(fall):
            left[k + 1] += left[k] * share
        for k in reversed(range(len(fall))):
            right[k] += right[k + 1] * fall[k]
        with np.errstate(divide="ignore"):
            logs.append(np.log(left + right - masses))
    return np.abs(logs[0] - logs[1]).max(axis=0)


def least_scale(values: np.ndarray, one: np.ndarray, other: np.ndarray, budget: float) -> float:
    """Return the least scale at which no law has a larger log ratio."""
    if log_ratios(values, one, other, 0.0).max() <= budget:
        return 0.0
    low, high = 0.0, 1e-3
    while log_ratios(values, one, other, high).max() > budget:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        within = log_ratios(values, one, other, middle).max() <= budget
        low, high = (low, middle) if within else (middle, high)
    return high


def by_class(table: Frame, hidden: np.ndarray, answer: Answer, weights: np.ndarray | None = None):
    """Return the values that one record may add, and their masses among those of either class."""
    added = answer(table).astype(float)
    values, places = np.unique(added, axis=0, return_inverse=True)
    masses = np.zeros((2, len(values)))
    np.add.at(masses, (hidden.astype(int), places.reshape(-1)), 1.0 if weights is None else weights)
    return values, masses[1], masses[0]


# --------------------------------------------------------------------------------------------------
# Tables with a known law: every cell of a population, with its probability.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """A table with a known law; the queries as bnpriv reads them, and what one record adds to each."""

    name: str
    cells: Frame
    chances: np.ndarray
    columns: Mapping[str, Any]
    states: Mapping[str, list[Any]]
    parents: Mapping[str, list[str]]
    queries: Mapping[str, Answer]

    @property
    def hidden(self) -> np.ndarray:
        return (self.cells["c"] == "yes").to_numpy()

    def sample(self, records: int, rng: np.random.Generator) -> Frame:
        return self.cells.iloc[rng.choice(len(self.cells), size=records, p=self.chances)].reset_index(drop=True)


def crossed(share: float, columns: Mapping[str, tuple[list[Any], Any, Any]]) -> tuple[Frame, np.ndarray]:
    """Return the cells of a class and columns that are independent given it, by value and its chance in each class."""
    frames, chances = [], []
    for label, part, place in (("no", 1 - share, 2), ("yes", share, 1)):
        laws = [np.asarray(law[place], dtype=float) / np.sum(law[place]) for law in columns.values()]
        grid = list(product(*(law[0] for law in columns.values())))
        frame = pd.DataFrame(grid, columns=list(columns))
        frames.append(frame.assign(c=label))
        masses = laws[0]
        for law in laws[1:]:
            masses = np.multiply.outer(masses, law).ravel()
        chances.append(part * masses)
    total = np.concatenate(chances)
    return pd.concat(frames, ignore_index=True), total / total.sum()


def simulated() -> Iterator[Simulated]:
    """Yield the five tables: the graph that a search ends with is wrong, or bins are, or the tail is long."""
    yes = bp.Categorical(["no", "yes"])
    # 0 for most, and evenly beyond; the network has the bin [0, 1) evenly
    grid = np.arange(0, 12.05, 0.05).round(2).tolist()
    inside = np.full(240, 1 / 240)
    cells, chances = crossed(0.25, {"x": (grid, np.r_[0.4, 0.6 * inside], np.r_[0.9, 0.1 * inside])})
    yield Simulated(
        "zero-inflated",
        cells,
        chances,
        {"x": bp.Binned([0, 1, 3, 7, 12]), "c": yes},
        {"x": ["[0, 1)", "[1, 3)", "[3, 7)", "[7, 12]"], "c": ["no", "yes"]},
        {"x": ["c"]},
        {
            "count(x >= 0.05)": lambda t: (t.x >= 0.05).to_numpy(),
            "count(x >= 11)": lambda t: (t.x >= 11).to_numpy(),
            "total(x)": lambda t: t.x.to_numpy(),
        },
    )
    # visits depend on the class, an edge that the network lacks; the class is rare
    visits = np.arange(13)
    poisson = [np.array([rate**k / np.prod(np.arange(1, k + 1), initial=1.0) for k in visits]) for rate in (4.0, 2.2)]
    cells, chances = crossed(0.05, {"m": (visits.tolist(), *poisson), "z": ([0, 1], [0.5, 0.5], [0.5, 0.5])})
    yield Simulated(
        "missing edge",
        cells,
        chances,
        {"m": bp.Integer(0, 12), "z": bp.Integer(0, 1), "c": yes},
        {"m": visits.tolist(), "z": [0, 1], "c": ["no", "yes"]},
        {"z": ["c"]},
        {
            "count(m >= 3)": lambda t: (t.m >= 3).to_numpy(),
            "count(m >= 9)": lambda t: (t.m >= 9).to_numpy(),
            "total(m)": lambda t: t.m.to_numpy(),
        },
    )
    # the class is the exclusive or of two columns, but for one record in ten: no pair of columns depends
    both = pd.DataFrame(list(product([0, 1], [0, 1], ["no", "yes"])), columns=["a", "b", "c"])
    odd = (both.a != both.b) == (both.c == "yes")
    yield Simulated(
        "xor",
        both,
        np.where(odd, 0.225, 0.025),
        {"a": bp.Integer(0, 1), "b": bp.Integer(0, 1), "c": yes},
        {"a": [0, 1], "b": [0, 1], "c": ["no", "yes"]},
        {},
        {
            "count((a == 1) & (b == 1))": lambda t: ((t.a == 1) & (t.b == 1)).to_numpy(),
            "count((a == 1) | (b == 1))": lambda t: ((t.a == 1) | (t.b == 1)).to_numpy(),
            "crosstab(a, b)": lambda t: np.eye(4)[(2 * t.a + t.b).to_numpy()],
        },
    )
    # the class goes by the product of two columns
    cells = pd.DataFrame(list(product(range(7), range(7), ["no", "yes"])), columns=["a", "b", "c"])
    ill = 0.03 + 0.6 * (cells.a * cells.b / 36) ** 2
    yield Simulated(
        "product",
        cells,
        np.where(cells.c == "yes", ill, 1 - ill) / 49,
        {"a": bp.Integer(0, 6), "b": bp.Integer(0, 6), "c": yes},
        {"a": list(range(7)), "b": list(range(7)), "c": ["no", "yes"]},
        {"a": ["c"], "b": ["c"]},
        {
            "count((a >= 5) & (b >= 5))": lambda t: ((t.a >= 5) & (t.b >= 5)).to_numpy(),
            "count((a == 6) & (b == 6))": lambda t: ((t.a == 6) & (t.b == 6)).to_numpy(),
            "total(a)": lambda t: t.a.to_numpy(),
        },
    )
    # costs with a long tail, longer for the class
    steps = np.arange(300)
    cells, chances = crossed(0.1, {"x": (steps.tolist(), (steps + 1.0) ** -1.6, (steps + 1.0) ** -2.1)})
    yield Simulated(
        "heavy tail",
        cells,
        chances,
        {"x": bp.Binned([0, 1, 2, 10, 299]), "c": yes},
        {"x": ["[0, 1)", "[1, 2)", "[2, 10)", "[10, 299]"], "c": ["no", "yes"]},
        {"x": ["c"]},
        {
            "count(x >= 10)": lambda t: (t.x >= 10).to_numpy(),
            "count(x >= 150)": lambda t: (t.x >= 150).to_numpy(),
            "total(x)": lambda t: t.x.to_numpy(),
        },
    )


def normed(masses: np.ndarray) -> np.ndarray:
    return masses / masses.sum(axis=-1, keepdims=True)


def drawn(counts: np.ndarray, further: bool, values: np.ndarray, rng: np.random.Generator):
    """Draw laws of both classes as `PublicRecords` does; what stands in for the network has no dependence."""
    beyond = np.zeros((2, MOST, counts.shape[1]))
    numbers = values.reshape(len(values), -1).T
    for draw in range(MOST if further else 0):
        number = numbers[draw // 2 % len(numbers)]
        ends = np.flatnonzero(number == number.max())[-1], np.flatnonzero(number == number.min())[0]
        for side, end in enumerate(ends if draw % 2 == 0 else ends[::-1]):
            beyond[side, draw, end] = 1.0
    masses = rng.standard_gamma(counts[:, None, :] + beyond)
    records, sums = counts.sum(), masses.sum(axis=(0, 2))
    alike = normed(counts.sum(axis=0) + 1 / counts.shape[1])
    parts = masses / sums[:, None] * records / (records + 1)
    parts += ((counts.sum(axis=1) + 0.5) / (records + 1) ** 2)[:, None, None] * alike
    return normed(parts[0]), normed(parts[1])


def draws_table(rng: np.random.Generator) -> None:
    """The records' models alone: how many draws until the promise holds in 95 % of public tables."""
    print(f"promise kept, in % of {REPETITIONS} public tables; {APART} records apart, epsilon {EPSILON:g}")
    print(f"{'':51}{'bare draws':^20}  {'with further records':^30}{'median scale / needed':>24}")
    heads = "".join(f"{k:>7}" for k in (20, 50, 200)) + "  " + "".join(f"{k:>6}" for k in FIRST)
    print(f"{'table':14} {'query':28}{'N':>7}{heads}{'bare 20':>12}{f'further {RECORD_DRAWS}':>12}")
    for table in simulated():
        for text, answer in table.queries.items():
            values, one, other = by_class(table.cells, table.hidden, answer, table.chances)
            share, budget = one.sum(), EPSILON / APART
            needed = least_scale(values, normed(one)[None], normed(other)[None], budget)
            for records in (100, *SAMPLES):
                kept: list[list[float]] = [[], []]
                scales: list[list[float]] = [[], []]
                for repetition in range(REPETITIONS):
                    flat = rng.multinomial(records, np.concatenate([one, other]) / (share + other.sum()))
                    counts = flat.reshape(2, -1).astype(float)
                    for further in (False, True):
                        laws = drawn(counts, further, values, rng)
                        enough = log_ratios(values, *laws, needed) >= budget if needed else np.ones(MOST, dtype=bool)
                        kept[further].append(int(np.argmax(enough)) if enough.any() else MOST)
                        if repetition < 20 and needed:
                            made = RECORD_DRAWS if further else 20
                            scales[further].append(least_scale(values, laws[0][:made], laws[1][:made], budget) / needed)
                bare, more = (np.array(each) for each in kept)
                shares = [100 * np.mean(bare < k) for k in (20, 50, 200)], [100 * np.mean(more < k) for k in FIRST]
                prices = "".join(f"{np.median(each):12.2f}" if each else f"{'-':>12}" for each in scales)
                print(
                    f"{table.name:14} {text:28}{records:>7}"
                    + "".join(f"{each:7.1f}" for each in shares[0])
                    + "  "
                    + "".join(f"{each:6.1f}" for each in shares[1])
                    + prices,
                    flush=True,
                )


# --------------------------------------------------------------------------------------------------
# The whole road: what bnpriv.start learns, and the noise of TightMechanism.
# --------------------------------------------------------------------------------------------------

ROAD_SAMPLES, ROAD_TABLES, ROADS = (300, 1_000), 20, 6
"""Public tables of the code itself, and those of them from which a network is learned and noise is looked for."""


def clamped(table: Frame, framework: bp.DatasetAttributePrivacy) -> Frame:
    """Return a table as a release counts it: numbers inside their bounds."""
    bounds = {name: column for name, column in framework.schema.columns.items() if hasattr(column, "lower")}
    return table.assign(**{name: table[name].clip(column.lower, column.upper) for name, column in bounds.items()})


def started(sample: Frame, hides: str = "c") -> tuple[bp.DatasetAttributePrivacy, Any]:
    """Return the learned framework that hides the number of records with a class, and the name of that class."""
    framework = bp.start(sample.head(1), records=PRIVATE, protect=hides, learn=sample)
    labels = framework.schema[hides].categories
    rare = "yes" if "yes" in labels else "other"
    secret = bp.Secret(bp.count(bp.col(hides) == rare), pairs=bp.apart(at_most=APART))
    return replace(framework, protect={hides: secret}), rare


def first_enough(framework: bp.DatasetAttributePrivacy, query: Any, truth: tuple, rare: Any) -> int:
    """Return the first draw of the public records that asks for as much noise as the true law."""
    values, one, other = truth
    needed = least_scale(values, normed(one)[None], normed(other)[None], EPSILON / APART)
    public, network = framework.public_records, framework.network.models
    both = bp.stack(bp.count(bp.col("c") == rare), query)
    for draw in range(public.draws if needed else 0):
        law = law_of_one_record(framework, both, network + draw)
        sides = [law.given([value]) for value in (1, 0)]
        support = np.unique(np.concatenate([np.stack(side.columns, axis=1) for side in sides]), axis=0)
        masses = np.zeros((2, len(support)))
        for mass, side in zip(masses, sides, strict=True):
            places = [tuple(row) for row in support.tolist()]
            known = dict(zip(zip(*(c.tolist() for c in side.columns), strict=True), np.exp(side.logs), strict=True))
            mass[:] = [known.get(place, 0.0) for place in places]
        form = normal_form(query, framework.schema)
        steps = float(form.wholes()[0].denominator)
        found = support.astype(float) / steps
        found = found if found.shape[1] > 1 else found[:, 0]
        if log_ratios(found, masses[:1], masses[1:], needed).max() >= EPSILON / APART:
            return draw
    return 0 if not needed else public.draws


def road_table(rng: np.random.Generator) -> None:
    """The code itself: draws of `PublicRecords` for fresh tables, and for some of them the whole road."""
    print(f"{'':49}records' models of bnpriv{'':8}whole road")
    print(f"{'table':14} {'query':28}{'N':>6}{'20':>8}{RECORD_DRAWS:>8}{'tables':>8}{'kept':>14}")
    for table in simulated():
        for records in ROAD_SAMPLES:
            kept = {text: [] for text in table.queries}
            roads = {text: [] for text in table.queries}
            for repetition in range(ROAD_TABLES):
                sample = table.sample(records, rng)
                if not repetition:
                    first, rare = started(sample)
                else:
                    columns = dict(first.schema.columns)
                    read = {
                        n: [x if x in c.categories else "other" for x in sample[n]]
                        if isinstance(c, bp.Categorical)
                        else sample[n].astype(float).tolist()
                        for n, c in columns.items()
                    }
                    first = replace(first, public_records=public_records_of(read, columns, seed=repetition))
                for text, answer in table.queries.items():
                    truth = by_class(clamped(table.cells, first), table.hidden, answer, table.chances)
                    kept[text].append(first_enough(first, bp.parse_query(text), truth, rare))
                if repetition < ROADS:
                    text = list(table.queries)[repetition % len(table.queries)]
                    learned, _ = started(sample)
                    truth = by_class(clamped(table.cells, learned), table.hidden, table.queries[text], table.chances)
                    scale = bp.TightMechanism().calibrate(learned, bp.parse_query(text), epsilon=EPSILON).scale
                    loss = APART * log_ratios(truth[0], normed(truth[1])[None], normed(truth[2])[None], scale)[0]
                    roads[text].append(loss <= EPSILON * (1 + 1e-6))
            for text, found in kept.items():
                shares = "".join(f"{100 * np.mean(np.array(found) < k):8.1f}" for k in (20, RECORD_DRAWS))
                done = f"{sum(roads[text])} of {len(roads[text])}"
                print(f"{table.name:14} {text:28}{records:>6}{shares}{len(found):>8}{done:>14}", flush=True)


# --------------------------------------------------------------------------------------------------
# Real tables, in two halves of which one is public.
# --------------------------------------------------------------------------------------------------

QUERIES, FEW = 30, 400
POOR = ("useless", "coarse")


def real() -> Iterator[tuple[str, Frame, str]]:
    """Yield tables with a column of two labels that is protected: what is installed, and three of our own."""
    try:
        from statsmodels import datasets as statistical
    except ImportError:
        print("statsmodels is not installed: fair, randhie and anes96 are left out")
    else:
        fair = statistical.fair.load_pandas().data
        yield "fair", fair.assign(had_affair=labels(fair.affairs > 0)), "had_affair"
        health = statistical.randhie.load_pandas().data
        yield "randhie", health.assign(hlthp=labels(health.hlthp > 0)).sample(8000, random_state=0), "hlthp"
        votes = statistical.anes96.load_pandas().data
        yield "anes96", votes.assign(vote=labels(votes.vote > 0)), "vote"
    try:
        from sklearn import datasets as learned
    except ImportError:
        print("scikit-learn is not installed: wine and breast cancer are left out")
    else:
        wine = learned.load_wine(as_frame=True).frame
        yield "wine", wine.assign(target=labels(wine.target == 1)), "target"
        cancer = learned.load_breast_cancer(as_frame=True).frame
        means = [name for name in cancer if name.startswith("mean")]
        found = cancer[means].assign(target=labels(cancer.target == 0))
        yield "breast cancer", found.rename(columns=lambda name: name.replace(" ", "_")), "target"
    place = os.environ.get("BNPRIV_ADULT")
    if place is None:
        print("BNPRIV_ADULT is not set: the census is left out")
    else:
        names = (
            "age workclass weight education years marital occupation relation race sex gain loss hours country income"
        )
        census = pd.read_csv(Path(place) / "adult.data", names=names.split(), skipinitialspace=True)
        kept = census[["age", "years", "marital", "occupation", "sex", "gain", "loss", "hours"]]
        yield "census", kept.assign(income=labels(census.income == ">50K")), "income"
    rng = np.random.default_rng(5)
    for table in simulated():
        if table.name in ("zero-inflated", "product", "heavy tail"):
            yield table.name, table.sample(1200, rng), "c"


def labels(chosen: pd.Series) -> np.ndarray:
    return np.where(chosen, "yes", "no")


def asked(public: Frame, framework: bp.DatasetAttributePrivacy, rng: np.random.Generator) -> list[tuple[Any, Answer]]:
    """Return queries about columns that are not protected: limits at values of public records, totals, and both."""

    def condition() -> tuple[Any, Answer]:
        name = str(rng.choice(names))
        column, value = framework.schema[name], public[name].iloc[rng.integers(len(public))]
        if isinstance(column, bp.Categorical):
            value = value if value in column.categories else column.categories[0]
            return bp.col(name) == value, lambda table: (table[name] == value).to_numpy()
        # a bound itself is a single number of a density
        limit = float(value) + (0.05 if isinstance(column, bp.Binned) and rng.random() < 0.5 else 0.0)
        limit = limit if column.lower < limit < column.upper else (column.lower + column.upper) / 2
        return bp.col(name) >= limit, lambda table: (table[name] >= limit).to_numpy()

    names = [name for name in framework.network.attributes if name not in framework.protect]
    numbers = [name for name in names if not isinstance(framework.schema[name], bp.Categorical)]
    found: list[tuple[Any, Answer]] = []
    for k in range(QUERIES):
        predicate, first = condition()
        if k % 6 == 5 and numbers:
            name = str(rng.choice(numbers))
            found.append((bp.total(name), lambda table, name=name: table[name].to_numpy(dtype=float)))
        elif k % 2:
            also, second = condition()
            both = lambda table, a=first, b=second: a(table) & b(table)  # noqa: E731
            found.append((bp.count(predicate & also), both))
        else:
            found.append((bp.count(predicate), first))
    return found


def real_tables() -> None:
    """Of 30 queries for each table: how many keep the promise under the frequencies of each half, and are useful."""
    print(f"{'':34}{'network alone':^38}{'with public records':^38}{'scale':>9}")
    heads = "".join(f"{head:>8}" for head in ("public", "worst", "other", "worst", "useful")) * 2
    print(f"{'table':14}{'N':>7}{'apart':>7}{heads}{'grows':>9}")
    for name, table, hides in real():
        mixed = table.sample(frac=1, random_state=1).reset_index(drop=True)
        public, private = mixed[::2], mixed[1::2]
        # exact laws of a small table take long for so many queries: it stands for one of 1,000
        records = len(private) if len(private) >= FEW else PRIVATE
        framework = bp.start(private, records=records, protect=hides, learn=public)
        apart = framework.protect[hides].pairs.at_most
        label = framework.protect[hides].property.predicate.value
        losses, useful, scales = np.zeros((QUERIES, 2, 2)), np.zeros((QUERIES, 2)), np.zeros((QUERIES, 2))
        for k, (query, answer) in enumerate(asked(public, framework, np.random.default_rng(2))):
            for after, each in enumerate((replace(framework, public_records=None), framework)):
                calibration = bp.TightMechanism().calibrate(each, query, epsilon=EPSILON)
                scales[k, after] = calibration.scale
                useful[k, after] = calibration.useful.verdict not in POOR
                for other, half in enumerate((public, private)):
                    counted = clamped(half, framework)
                    values, one, rest = by_class(counted, (half[hides] == label).to_numpy(), answer)
                    ratio = log_ratios(values, normed(one)[None], normed(rest)[None], calibration.scale)
                    losses[k, after, other] = apart * ratio[0]
        line = f"{name:14}{len(public):>7}{apart:>7g}"
        for after in (0, 1):
            for other in (0, 1):
                found = losses[:, after, other]
                line += f"{np.sum(found <= EPSILON * (1 + 1e-6)):>8}{found.max():>8.2f}"
            line += f"{int(useful[:, after].sum()):>8}"
        grown = [after / before for before, after in scales if before]
        print(f"{line}{np.median(grown) if grown else math.nan:>9.2f}", flush=True)


def speed() -> None:
    """Seconds of the processor for the laws of a count over a million public records, 20 draws and the default."""
    rng = np.random.default_rng(0)
    public = PublicRecords({"x": 5 * rng.random(10**6), "ill": rng.random(10**6) < 0.3})
    schema = bp.Schema(records=10**6, columns={"x": bp.Real(0, 5), "ill": bp.Categorical([False, True])})
    form = normal_form(bp.stack(bp.count(bp.col("ill") == True), bp.count(bp.col("x") > 2)), schema)  # noqa: E712
    beside = WholeLaw.of([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], np.log(np.full(4, 0.25)), 0.0)
    started = time.process_time()
    for draw in range(RECORD_DRAWS):
        public.law(form, draw, beside)
        if draw in (19, RECORD_DRAWS - 1):
            print(f"a million public records, {draw + 1} draws: {time.process_time() - started:.1f} s for a count")


PARTS = {
    "draws": lambda: draws_table(np.random.default_rng(0)),
    "road": lambda: road_table(np.random.default_rng(7)),
    "tables": real_tables,
    "speed": speed,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
        print()
