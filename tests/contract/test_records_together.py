"""What several releases of independent records tell together, against exact laws of their transcripts."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry, typed
from bnpriv.errors import Refusal
from bnpriv.kinds.public_records import BITS, PublicRecords, public_records_of
from tests.records_together import (
    Bare,
    Chosen,
    Failing,
    History,
    Hit,
    Law,
    Leaking,
    Noisy,
    Release,
    base,
    decimal,
    delta,
    drawn,
    given,
    given_difference,
    losses,
    merged,
)

KINDS, COLOURS = ("a", "b", "c"), ("u", "v")
PLACES = {"kind": 0, "x": 1, "colour": 2}
SCALES = (0.3, 0.7, 1.0, 1.5, 2.25, 4.0, 11.0)
CLOSE = Decimal("1e-20")
"""The rounding of decimals."""

Record = tuple[int, int, int]
Term = Callable[[Record], int]
Question = tuple[Any, tuple[Term, ...], int]
"""A query, what it adds up over records, and by how much its answer is divided."""


# A framework over few records


def column(rng: Random, states: int) -> list[float]:
    """Probabilities that are exact as doubles; some are 0."""
    while True:
        weights = [0 if rng.random() < 0.15 else rng.choice((1, 1, 2, 5, 20)) for _ in range(states)]
        if sum(weights):
            break
    cuts = [round(64 * sum(weights[:k]) / sum(weights)) for k in range(states + 1)]
    return [(b - a) / 64 for a, b in itertools.pairwise(cuts)]


@dataclass(frozen=True)
class Setting:
    """A framework, the law of a record under each of its models, which kinds count, and pairs of counts."""

    framework: bp.DatasetAttributePrivacy
    laws: tuple[Law, ...]
    counted: frozenset[int]
    pairs: tuple[tuple[int, int], ...]

    @property
    def records(self) -> int:
        return self.framework.schema.records


SHARES = {2: (1 / 4, 3 / 4), 3: (1 / 2, 1 / 8, 3 / 8)}
"""Of the kinds."""


def setting(rng: Random, most_records: int = 4, shares: Sequence[Sequence[float]] = (), how: str = "") -> Setting:
    """A random framework; `shares` are those of the kinds, one for each model, `how` columns depend on each other."""
    numbers, records = rng.choice((2, 2, 3)), rng.randint(1, most_records)
    kinds = len(shares[0]) if shares else rng.choice((2, 2, 3))
    how = how or rng.choice(("any", "any", "exclusive or", "apart"))
    shares = shares or [SHARES[kinds]] * rng.choice((1, 1, 2))
    tables: list[list[Any]] = [list(shares), [], []]
    for _ in shares:
        tables[1].append(np.array([column(rng, numbers) for _ in range(kinds)]).T)
        cells = {(x, k): column(rng, 2) for x in range(numbers) for k in range(kinds)}
        if how == "apart":
            cells = {(x, k): cells[0, k] for x, k in cells}
        if how == "exclusive or":
            tables[1][-1] = np.array([[1 / 2] * kinds, [1 / 2] * kinds, *([[0] * kinds] * (numbers - 2))])
            odd = rng.choice((0.0, 1 / 16, 1 / 4))
            cells = {(x, k): [odd, 1 - odd] if (x + k) % 2 else [1 - odd, odd] for x, k in cells}
        tables[2].append([[[cells[x, k][y] for k in range(kinds)] for x in range(numbers)] for y in range(2)])
    alone = (0,) if how == "apart" else ()
    network = bp.DiscreteNetwork.from_tables(
        {"kind": np.array(tables[0]), "x": np.array(tables[1]), "colour": np.array(tables[2])[:, :, *alone]},
        states={"kind": KINDS[:kinds], "x": [str(x) for x in range(numbers)], "colour": COLOURS},
        parents={"x": ["kind"], "colour": ["kind"] if alone else ["x", "kind"]},
        level="records",
    )
    schema = bp.Schema(
        records=records,
        columns={
            "kind": bp.Categorical(KINDS[:kinds]),
            "x": bp.Integer(0, numbers - 1),
            "colour": bp.Categorical(COLOURS),
        },
    )
    counted = frozenset(rng.choice(((0,), (1,), (0, 2)) if kinds == 3 else ((0,), (1,))))
    far = rng.randint(1, min(3, records))
    near = rng.random() < 0.6 or far == 1
    chosen = bp.apart(at_most=far) if near else bp.pairs((0, far))
    property_ = bp.count(bp.col("kind").isin([KINDS[k] for k in sorted(counted)]))
    framework = bp.DatasetAttributePrivacy(
        network, schema, {"kind": bp.Secret(property_, pairs=chosen)}, source="a random draw"
    )
    laws = tuple(
        {
            (k, x, y): Fraction(float(tables[0][m][k]))
            * Fraction(float(tables[1][m][x][k]))
            * Fraction(float(tables[2][m][y][x][k]))
            for k in range(kinds)
            for x in range(numbers)
            for y in range(2)
            if tables[0][m][k] and tables[1][m][x][k] and tables[2][m][y][x][k]
        }
        for m in range(len(shares))
    )
    steps = range(1, far + 1) if near else (far,)
    pairs = tuple((s, s + j) for j in steps for s in range(records + 1 - j) if near or s == 0)
    return Setting(framework, laws, counted, pairs)


# Random questions


def condition(rng: Random, framework: bp.DatasetAttributePrivacy) -> tuple[Any, Callable[[Record], bool]]:
    kinds = framework.schema["kind"].categories
    most = framework.schema["x"].upper
    least = rng.randint(1, most)
    leaves: list[tuple[Any, Callable[[Record], bool]]] = [
        (bp.col("x") >= least, lambda record: record[1] >= least),
        (bp.col("x") == 0, lambda record: record[1] == 0),
        (bp.col("colour") == "v", lambda record: record[2] == 1),
        (bp.col("kind") == kinds[0], lambda record: record[0] == 0),
    ]
    first, one = rng.choice(leaves[:3] if rng.random() < 0.9 else leaves)
    if rng.random() < 0.5:
        return first, one
    second, two = rng.choice(leaves[:3])
    if rng.random() < 0.5:
        return first & second, lambda record: one(record) and two(record)
    return first | ~second, lambda record: one(record) or not two(record)


def question(rng: Random, framework: bp.DatasetAttributePrivacy) -> Question:
    records, most = framework.schema.records, framework.schema["x"].upper
    kind = rng.choice(("count", "count", "count", "proportion", "total", "mean", "histogram", "stack"))
    if kind in ("count", "proportion"):
        asked, holds = condition(rng, framework)
        query = bp.count(asked) if kind == "count" else bp.proportion(asked)
        return query, (lambda record: int(holds(record)),), records if kind == "proportion" else 1
    if kind in ("total", "mean"):
        return (bp.total("x"), (_x,), 1) if kind == "total" else (bp.mean("x"), (_x,), records)
    if kind == "histogram":
        return bp.histogram("x"), tuple(lambda record, x=x: int(record[1] == x) for x in range(most + 1)), 1
    asked, holds = condition(rng, framework)
    return bp.stack(bp.count(asked), bp.total("x")), (lambda record: int(holds(record)), _x), 1


def _x(record: Record) -> int:
    return record[1]


@dataclass(frozen=True, eq=False)
class Step:
    """A release as the oracle and as the package knows it, and what it reads of a record."""

    release: Release
    entry: Entry
    seen: Callable[[Record], tuple[int, ...]]


MADE_UP = "noise of any scale"


def entry_of(query: Any, scale: float, weights: tuple[float, ...] = ()) -> Entry:
    """An answer with Laplace noise of a scale, or without any."""
    return Entry(
        mechanism=MADE_UP,
        text=str(query),
        columns=query.columns,
        noise="laplace" if scale else None,
        scale=scale,
        weights=weights if scale else (),
        moved=math.inf,
        family="records",
        epsilon=Fraction(10**6),
        delta=Fraction(0),
        kind="exact",
    )


def answered(rng: Random, where: Setting, bare: bool) -> Step:
    query, terms, divided = question(rng, where.framework)
    if len(terms) > 1 and where.records > 2:
        query, terms, divided = bp.total("x"), (_x,), 1
    seen = lambda record: tuple(term(record) for term in terms)  # noqa: E731 - kept with the release
    if bare:
        return Step(Bare(terms), entry_of(query, 0.0), seen)
    if rng.random() < 0.2:
        mechanism = rng.choice((bp.TightMechanism(), bp.WassersteinMechanism()))
        calibration = mechanism.calibrate(where.framework, query, epsilon=rng.choice((0.2, 0.7, 1.5)))
        scales = calibration.noise.scales
        entry = Entry.of(calibration)
        assert entry.family == "records"
        if not min(scales):
            return Step(Bare(terms), entry, seen)
        return Step(Noisy(terms, tuple(base(Fraction(scale) * divided) for scale in scales)), entry, seen)
    scale = rng.choice(SCALES) / divided
    weights = tuple(rng.choice((0.5, 1.0, 4.0)) for _ in terms) if len(terms) > 1 and rng.random() < 0.5 else ()
    bases = tuple(base(Fraction(scale) * divided / Fraction(w)) for w in weights or (1.0,) * len(terms))
    return Step(Noisy(terms, bases), entry_of(query, scale, weights), seen)


def whole_columns(rng: Random, where: Setting) -> Step:
    """A count by `ColumnMechanism`."""
    asked, holds = condition(rng, where.framework)
    calibration = bp.ColumnMechanism().calibrate(where.framework, bp.count(asked), epsilon=rng.choice((0.1, 1.0)))
    terms = (lambda record: int(holds(record)),)
    scales = calibration.noise.scales  # none where all records satisfy the condition
    release = Noisy(terms, tuple(map(base, scales))) if min(scales) else Bare(terms)
    return Step(release, Entry.of(calibration), lambda record: (terms[0](record),))


def elsewhere(rng: Random, where: Setting, beside: Sequence[Step]) -> Step:
    """What another tool released with differential privacy for a record."""
    columns = rng.choice((("x",), ("colour",), ("x", "colour"), ("kind", "x")))
    epsilon = rng.choice((0.25, 1.0, 2.0))
    entry = external(columns, epsilon)
    seen = lambda record: tuple(record[PLACES[name]] for name in columns)  # noqa: E731 - kept with the release
    cells = sorted({seen(record) for law in where.laws for record in law})
    if rng.random() < 0.25:
        half = decimal(epsilon / 2).exp()
        maps = [{cell: rng.choice((Decimal(1), half)) for cell in cells} for _ in range(3)]
        weights = tuple(lambda record, of=of: of.get(seen(record), Decimal(1)) for of in maps)
        return Step(Chosen(weights), entry, seen)
    most = decimal(epsilon).exp()

    def hit(high: tuple[Any, ...]) -> Hit:
        return Hit(lambda record: most if seen(record) in high else Decimal(1), most, where.records)

    # of the mechanisms with one rare output the one that tells most of a single record, beside another release
    subsets = [high for size in range(1, len(cells)) for high in itertools.combinations(cells, size)]
    worst = max(subsets, key=lambda high: told_of_one(where, [*beside, Step(hit(high), entry, seen)]), default=())
    return Step(hit(worst), entry, seen)


def external(columns: Iterable[str], epsilon: float, delta: float = 0.0) -> Entry:
    return Entry(
        mechanism="differential privacy",
        text="another tool",
        columns=frozenset(columns),
        noise=None,
        scale=0.0,
        moved=math.inf,
        family="records",
        epsilon=typed(epsilon),
        delta=typed(delta),
        kind="certified",
        record=(typed(epsilon), typed(delta)),
    )


# What is true, and what is said


def truths(
    where: Setting, steps: Sequence[Step], strategy: Callable[[History], Release | None]
) -> dict[tuple[Release, ...], Decimal]:
    """The largest log ratio of every series of releases over models, pairs and transcripts."""
    found: dict[tuple[Release, ...], Decimal] = {}
    for law in where.laws:
        tables = tables_given(where.records, *laws_given(law, where.counted, steps))
        for series, loss in losses(strategy, tables, where.pairs).items():
            found[series] = max(found.get(series, Decimal(0)), loss)
    return found


def tables_given(records: int, one: Law, other: Law) -> list[dict[Any, Decimal]]:
    """The law of the table given every count."""
    return [drawn([(one, count), (other, records - count)]) for count in range(records + 1)]


def laws_given(law: Law, counted: frozenset[int], steps: Sequence[Step]) -> list[Law]:
    exact = {record: decimal(mass) for record, mass in law.items()}
    seen = merged(given(exact, lambda record: record[0] in counted), lambda r: tuple(s.seen(r) for s in steps))
    return list(seen)


def told_of_one(where: Setting, steps: Sequence[Step]) -> Decimal:
    """What releases one after the other tell of a single record."""
    series = tuple(step.release for step in steps)
    worst = Decimal(0)
    for law in where.laws:
        tables = [drawn([(each, 1)]) for each in laws_given(law, where.counted, steps)]
        worst = max(
            worst, *losses(lambda history: dict(enumerate(series)).get(len(history)), tables, [(0, 1)]).values()
        )
    return worst


def said(framework: bp.DatasetAttributePrivacy, steps: Sequence[Step]) -> Accountant:
    """The accountant after some releases; beside one with a made-up guarantee, which must not count, another of 0."""
    entries = [step.entry for step in steps]
    modelled = [entry for entry in entries if entry.family == "records"]
    if len(modelled) == 1 and modelled[0].mechanism == MADE_UP:
        entries.append(external(["x"], 0.0))
    counted = Accountant(framework)
    for entry in entries:
        stored = Entry.from_json(entry.to_json())
        assert stored.record == entry.record
        found = counted.with_entry(stored)  # as a ledger keeps it
        assert isinstance(found, Accountant), found
        counted = found
    return counted


@dataclass(frozen=True)
class Outcome:
    """What all series of a problem tell at most, what the accountant says, and of what sorts its releases are."""

    truth: Decimal
    total: Fraction | None
    above: tuple[tuple[Decimal, Fraction], ...]
    sorts: frozenset[str]

    @property
    def ratio(self) -> float:
        return float(self.total) / float(self.truth) if self.total is not None else math.inf


def outcome(seed: int) -> Outcome:
    """One random problem: a first release, a second that its answer chooses of two, sometimes a third."""
    rng = Random(seed)
    where = setting(rng, 3 if rng.random() < 0.8 else 4)
    sorts = rng.choices(("noise", "bare", "elsewhere", "columns"), (12, 2, 3, 1), k=4 if where.records < 3 else 3)
    made: list[Step] = []
    for sort in sorts:
        if sort == "elsewhere":
            made.append(elsewhere(rng, where, made[:1]))
        elif sort == "columns":
            made.append(whole_columns(rng, where))
        else:
            made.append(answered(rng, where, bare=sort == "bare"))
    if rng.random() < 0.2:
        made[1] = made[0]
    first, *seconds = made[:3]
    third = made[3] if len(made) > 3 and rng.random() < 0.5 else None

    def strategy(history: History) -> Release | None:
        told = sum(map(ord, str([output for _, output in history])))
        if len(history) < 2:
            return seconds[told % 2].release if history else first.release
        return third.release if third and len(history) == 2 and told % 3 else None

    by_release = {step.release: step for step in made}
    truth = truths(where, made, strategy)
    totals = {series: said(where.framework, [by_release[each] for each in series]).total for series in truth}
    above = [(loss, totals[series]) for series, loss in truth.items()]
    found = [(loss, total) for loss, total in above if total is not None and loss > decimal(total) + CLOSE]
    known = [total for total in totals.values() if total is not None]
    return Outcome(
        truth=max(truth.values()),
        total=max(known) if len(known) == len(totals) else None,
        above=tuple(found),
        sorts=frozenset(sorts),
    )


def check(outcomes: Sequence[Outcome]) -> None:
    assert not [each.above for each in outcomes if each.above]
    compared = [each for each in outcomes if each.truth > Decimal("1e-9") and each.truth.is_finite()]
    noisy = [each.ratio for each in compared if each.sorts <= {"noise", "bare"}]
    ratios = [each.ratio for each in compared]
    print(
        f"{len(outcomes)} problems, {len(compared)} of finite truth; total over truth: median"
        f" {statistics.median(ratios):.4f}, of noise and bare answers {statistics.median(noisy):.4f} ({len(noisy)})"
    )
    assert statistics.median(noisy) <= 1.05


def test_few_series_of_releases() -> None:
    check([outcome(seed) for seed in range(30)])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_series_of_releases(start: int) -> None:
    check([outcome(seed) for seed in range(start, start + 250)])


# With delta


def failing(rng: Random, where: Setting) -> Step:
    """What another tool released with a delta: the worst of differential privacy, or all that it reads."""
    plain, share = elsewhere(rng, where, ()), rng.choice((0.001, 0.05))
    pure = rng.random() < 0.3
    release = Failing(plain.seen, decimal(share), None if pure else plain.release)
    epsilon = 0.0 if pure else float(plain.entry.epsilon)
    return Step(release, external(plain.entry.columns, epsilon, share), plain.seen)


def test_delta_bounds_what_fails() -> None:
    """The hockey-stick divergence of all transcripts, at the largest epsilon that any of them is said to cost."""
    found = 0
    for seed in range(30):
        rng = Random(seed)
        where = setting(rng, 2)
        first, *seconds = made = [failing(rng, where) if rng.random() < 0.6 else answered(rng, where, bare=False)
            for _ in range(3)]  # fmt: skip
        by_release = {step.release: step for step in made}

        def strategy(history: History, first: Step = first, seconds: list[Step] = seconds) -> Release | None:
            told = sum(map(ord, str([output for _, output in history])))
            return (seconds[told % 2] if history else first).release if len(history) < 2 else None

        for asked in (0.01, 0.1, 0.4):
            said_ = [
                Accountant(where.framework, ["kind", "x", "colour"], entries=(first.entry, second.entry))
                for second in seconds
            ]
            totals = [each.total_at(typed(asked)) for each in said_]
            if None in totals:
                continue
            factor = decimal(max(total for total in totals if total is not None)).exp()
            for law in where.laws:
                tables = tables_given(where.records, *laws_given(law, where.counted, list(by_release.values())))
                fails = delta(strategy, tables, where.pairs, factor)
                assert fails <= decimal(typed(asked)) + CLOSE, (seed, asked, float(fails))
            found += 1
    assert found >= 10


def test_a_branch_has_no_delta_of_its_own() -> None:
    """Where x says which column is the kind: what may be read counts, not what was read."""
    half = [1 / 2, 1 / 2]
    network = bp.DiscreteNetwork.from_tables(
        {
            "kind": half,
            "x": half,
            "one": np.array([[[1, 0], [1 / 2, 1 / 2]], [[0, 1], [1 / 2, 1 / 2]]]),  # the kind where x is 0
            "two": np.array([[[1 / 2, 1 / 2], [1, 0]], [[1 / 2, 1 / 2], [0, 1]]]),  # the kind where x is 1
        },
        states={"kind": ["a", "b"], "x": ["0", "1"], "one": ["0", "1"], "two": ["0", "1"]},
        parents={"one": ["x", "kind"], "two": ["x", "kind"]},
        level="records",
    )
    bit = bp.Integer(0, 1)
    schema = bp.Schema(records=1, columns={"kind": bp.Categorical(["a", "b"]), "x": bit, "one": bit, "two": bit})
    secret = bp.Secret(bp.count(bp.col("kind") == "a"), pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(network, schema, {"kind": secret}, source="a riddle")
    law = {(k, x, y, z): Fraction(1, 8) for k, x, y, z in itertools.product((0, 1), repeat=4) if (z if x else y) == k}
    epsilon, share = 5.0, 0.1
    said_x = Noisy((lambda record: record[1],), (base(1 / epsilon),))
    leaks = [Failing(lambda record, c=c: (record[1], record[c]), decimal(share)) for c in (2, 3)]

    def strategy(history: History) -> Release | None:
        if not history:
            return said_x
        (_, output), *rest = history
        return None if rest else leaks[output[0][0]]

    one, other = given({record: decimal(mass) for record, mass in law.items()}, lambda record: record[0] == 0)
    tables = tables_given(1, one, other)
    entries = [(external(["x"], epsilon), external(["x", each], 0.0, share)) for each in ("one", "two")]
    declared = ["x", "one", "two"]
    for columns in (declared, None):
        found = [Accountant(framework, columns, entries=each).total_at(typed(share * 0.99)) for each in entries]
        if None not in found:
            assert delta(strategy, tables, [(0, 1)], decimal(max(found)).exp()) <= decimal(share * 0.99)
    assert delta(strategy, tables, [(0, 1)], decimal(epsilon).exp()) > decimal(0.098)
    within = [Accountant(framework, declared, entries=each).total_at(typed(share * 1.001)) for each in entries]
    assert all(total is not None and total >= 5 for total in within)


# Models of public records


def public_laws(where: Setting, public: PublicRecords, records: Sequence[Record]) -> Iterator[Law]:
    """The laws of a record in every draw, for all that its two further records may be."""
    (network,) = where.laws
    possible = sorted({*network, *records})
    inside = [record for record in possible if record[0] in where.counted]
    outside = [record for record in possible if record[0] not in where.counted]
    share = Fraction(len(records), len(records) + 1)
    for draw in range(public.draws):
        weights = [share * Fraction(int(weight), 2**BITS) for weight in public.weights(draw, 2)]
        for ends in itertools.product(outside, inside):
            law = {record: (1 - share) * mass for record, mass in network.items()}
            for record, weight in zip([*records, *ends], weights, strict=True):
                law[record] = law.get(record, Fraction(0)) + weight
            yield law


def with_public_records(rng: Random, *, alike: bool = False, **options: Any) -> tuple[Setting, tuple[Law, ...]]:
    """A setting of one model beside public records, and all laws that a record may then have.

    Of records that are alike the colour and x together say the kind.
    """
    while True:
        where = setting(rng, 2, **options)
        if len(where.laws) == 1:
            break
    schema = where.framework.schema
    kinds, most = schema["kind"].categories, schema["x"].upper
    records = [(rng.randrange(len(kinds)), rng.randint(0, most), rng.randint(0, 1)) for _ in range(rng.randint(2, 6))]
    if alike:
        records = [(k, x, int((x > 0) == (k == 0))) for k, x, _ in records * 3]
    kind, x, colour = zip(*records, strict=True)
    values = {"kind": [kinds[k] for k in kind], "x": list(map(float, x)), "colour": [COLOURS[y] for y in colour]}
    public = public_records_of(values, schema.columns, draws=2, seed=rng.randrange(100))
    framework = replace(where.framework, public_records=public)
    return replace(where, framework=framework), (*where.laws, *public_laws(where, public, records))


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(20, 100, 20))])
def test_public_records_may_have_any_further_ones(start: int) -> None:
    ratios: list[float] = []
    for seed in range(start, start + 20):
        rng = Random(seed)
        where, laws = with_public_records(rng)
        sorts = rng.choices(("noise", "bare", "elsewhere"), (6, 1, 1), k=2)
        steps = [
            elsewhere(rng, where, ()) if s == "elsewhere" else answered(rng, where, bare=s == "bare") for s in sorts
        ]
        series = dict(enumerate(step.release for step in steps))
        told = truths(replace(where, laws=laws), steps, lambda history, of=series: of.get(len(history)))
        (truth,), total = told.values(), said(where.framework, steps).total
        assert total is None or truth <= decimal(total) + CLOSE, (seed, truth, float(total))
        ratios += [float(total) / float(truth)] if total is not None and truth.is_finite() and truth > CLOSE else []
    print(f"public records: total over truth, median {statistics.median(ratios):.4f} of {len(ratios)}")
    assert statistics.median(ratios) <= 1.3


def test_public_records_show_dependence_that_the_network_does_not_have() -> None:
    for seed in range(6):
        rng = Random(seed)
        where, laws = with_public_records(rng, shares=[SHARES[2]], how="apart", alike=True)
        steps = [
            Step(Noisy((lambda r: int(r[1] == 0),), (base(0.4),)), entry_of(bp.count(bp.col("x") == 0), 0.4), _x_of),
            Step(Noisy((lambda r: r[2],), (base(0.4),)), entry_of(bp.count(bp.col("colour") == "v"), 0.4), _colour_of),
        ]
        series = dict(enumerate(step.release for step in steps))
        (truth,) = truths(replace(where, laws=laws), steps, lambda history, of=series: of.get(len(history))).values()
        total = said(where.framework, steps).total
        assert total is not None
        assert truth <= decimal(total) + CLOSE


def _x_of(record: Record) -> tuple[int, ...]:
    return (record[1],)


def _colour_of(record: Record) -> tuple[int, ...]:
    return (record[2],)


# Several secrets


def test_the_largest_of_several_secrets_counts() -> None:
    """Each with its own distances; a pair of sets of values is all of their pairs."""
    for seed in range(20):
        rng = Random(seed)
        where = setting(rng, 3)
        colours = bp.Secret(bp.count(bp.col("colour") == "v"), pairs=bp.apart(at_most=1))
        n = where.records
        some = bp.pairs((0, frozenset({n}))) if n < 2 else bp.pairs((frozenset({0, 1}), frozenset({n})))
        kinds = replace(where.framework.protect["kind"], pairs=some)
        pairs = tuple((s, n) for s in ((0,) if n < 2 else (0, 1)))
        steps = [answered(rng, where, bare=False) for _ in range(2)]
        series = dict(enumerate(step.release for step in steps))
        strategy = lambda history, of=series: of.get(len(history))  # noqa: E731 - of this seed
        told = [max(truths(replace(where, pairs=pairs), steps, strategy).values())]
        try:
            framework = replace(where.framework, protect={"kind": kinds, "colour": colours})
            total = said(framework, steps).total
        except bp.errors.SecretError:  # a colour that all records have
            continue
        neighbours = tuple((s, s + 1) for s in range(n))
        for law in where.laws:
            exact = {record: decimal(mass) for record, mass in law.items()}
            shares = {record[2] for record in law}
            if shares == {0, 1}:
                both = merged(given(exact, lambda r: r[2] == 1), lambda r, of=steps: tuple(s.seen(r) for s in of))
                told += losses(strategy, tables_given(n, *both), neighbours).values()
        if total is None:  # calibrated for other secrets, to no noise
            assert any(isinstance(step.release, Bare) for step in steps)
            continue
        assert max(told) <= decimal(total) + CLOSE


BIT = bp.Integer(0, 1)


def cut_bin() -> tuple[Any, Any, Any]:
    """Two states, but who is counted is cut out of one: the others are a mixture."""
    schema = bp.Schema(records=1, columns={"age": bp.Binned([0, 40, 80]), "one": BIT, "two": BIT})
    return schema, bp.count(bp.col("age") >= 60), {"[0, 40)": (1 / 2, 0), "[40, 80]": (1 / 4, 1 / 4)}


def set_of_states() -> tuple[Any, Any, Any]:
    """Three states, of which two are counted."""
    schema = bp.Schema(records=1, columns={"age": bp.Categorical(["a", "b", "c"]), "one": BIT, "two": BIT})
    return schema, bp.count(bp.col("age") != "c"), {"a": (0, 1 / 4), "b": (0, 1 / 4), "c": (1 / 2, 0)}


@pytest.mark.parametrize("made", [cut_bin, set_of_states])
def test_columns_that_are_independent_given_a_state_are_not_so_given_a_class(
    made: Callable[[], tuple[Any, ...]],
) -> None:
    schema, counted, shares = made()
    given_state = [(31, 1), (1, 31), (4, 28)][: len(shares)]
    table = np.array(given_state).T / 32
    network = bp.DiscreteNetwork.from_tables(
        {"age": [sum(share) for share in shares.values()], "one": table, "two": table},
        states={"age": list(shares), "one": ["0", "1"], "two": ["0", "1"]},
        parents={"one": ["age"], "two": ["age"]},
        level="records",
    )
    secret = bp.Secret(counted, pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(network, schema, {"age": secret}, source="a test")
    laws: list[dict[tuple[int, int], Decimal]] = []
    for side in (0, 1):
        whole = sum(share[side] for share in shares.values())
        cells = itertools.product((0, 1), repeat=2)
        parts = [(Fraction(share[side] / whole), own) for share, own in zip(shares.values(), given_state, strict=True)]
        laws.append({(x, y): decimal(sum(p * own[x] * own[y] for p, own in parts) / 32**2) for x, y in cells})
    for scales in ((0.5, 0.5), (0.0, 0.5), (0.0, 0.0)):
        releases = [
            Noisy((lambda cell, c=c: cell[c],), (base(scale),)) if scale else Bare((lambda cell, c=c: cell[c],))
            for c, scale in enumerate(scales)
        ]
        asked = [bp.count(bp.col(name) == 1) for name in ("one", "two")]
        entries = tuple(entry_of(query, scale) for query, scale in zip(asked, scales, strict=True))
        series = dict(enumerate(releases))
        tables = tables_given(1, *laws[::-1])
        (told,) = losses(lambda history, of=series: of.get(len(history)), tables, [(0, 1)]).values()
        total = Accountant(framework, entries=entries).total
        assert total is not None
        assert told <= decimal(total) + CLOSE
        assert float(total) <= 1.01 * float(told)


def test_rounding_of_answers_counts_once_for_each_release() -> None:
    """A mean of numbers so large that doubles are halves: what is released is rounded by up to a quarter."""
    low = 2**52 - 1
    network = bp.DiscreteNetwork.from_tables(
        {"kind": [1 / 2, 1 / 2], "x": [[1 / 4, 3 / 4], [3 / 4, 1 / 4]]},
        states={"kind": ["a", "b"], "x": [str(low), str(low + 1)]},
        parents={"x": ["kind"]},
        level="records",
    )
    schema = bp.Schema(records=3, columns={"kind": bp.Categorical(["a", "b"]), "x": bp.Integer(low, low + 1)})
    secret = bp.Secret(bp.count(bp.col("kind") == "a"), pairs=bp.apart(at_most=1))
    framework = bp.DatasetAttributePrivacy(network, schema, {"kind": secret}, source="a test")

    class Rounded(Noisy):
        def chance(self, output: Any, table: Any) -> Decimal:
            ((out, _),) = output
            return self.bases[0] ** decimal(abs(out - (Fraction(float(low + Fraction(sum(table), 3))) - low)))

    laws = [{0: decimal(1 / 4), 1: decimal(3 / 4)}, {0: decimal(3 / 4), 1: decimal(1 / 4)}]
    tables = tables_given(3, *laws)
    for scale, weights in ((2.0, ()), (1.0, ()), (16.0, (16.0,))):
        step = base(Fraction(scale) / Fraction(*weights) if weights else scale)
        entries = [entry_of(bp.mean("x"), scale, weights)] * 2
        series = dict(enumerate([Rounded((lambda x: x,), (step,)) for _ in entries]))
        (told,) = losses(lambda history, of=series: of.get(len(history)), tables, [(0, 1), (1, 2), (2, 3)]).values()
        total = Accountant(framework, entries=tuple(entries)).total
        assert total is not None
        assert told <= decimal(total) + CLOSE
        exact = Accountant(
            framework, entries=tuple(entry_of(bp.count(bp.col("x") > low), 3 * scale, weights) for _ in entries)
        ).total
        assert exact is not None
        assert total - exact >= 2 * Fraction(1, 2) * (Fraction(*weights) if weights else 1) / Fraction(scale)


# Secrets of several classes


def of_kinds(law: Law, steps: Sequence[Step], kinds: int) -> tuple[list[Law], list[Decimal]]:
    """The laws of what is seen of a record of each kind, and the shares of the kinds."""
    exact = {record: decimal(mass) for record, mass in law.items()}
    shares = [sum((mass for record, mass in exact.items() if record[0] == k), Decimal(0)) for k in range(kinds)]
    laws = [{r: mass / shares[k] for r, mass in exact.items() if r[0] == k} for k in range(kinds)]
    return list(merged(laws, lambda record: tuple(step.seen(record) for step in steps))), shares


NO_OTHER = (1 / 4, 3 / 4, 0.0)
FEW_OTHERS = (1 / 2, 1 / 2 - 2.0**-20, 2.0**-20)


@pytest.mark.parametrize("hidden", ["difference", "histogram"])
@pytest.mark.parametrize("shares", [[SHARES[3]], [FEW_OTHERS], [NO_OTHER], [SHARES[3], NO_OTHER]], ids=str)
def test_records_of_several_kinds_are_exchanged(hidden: str, shares: list[tuple[float, ...]]) -> None:
    """A difference of two counts, or all counts at once, up to two records apart, under one model or two."""
    ratios: list[float] = []
    for seed in range(12):
        rng = Random(seed)
        where = setting(rng, 3, shares)
        n = where.records
        counts = [bp.count(bp.col("kind") == kind) for kind in KINDS]
        asked = counts[0] - counts[1] if hidden == "difference" else bp.histogram("kind")
        secret = bp.Secret(asked, pairs=bp.apart(at_most=2))
        framework = replace(where.framework, protect={"kind": secret})
        sorts = rng.choices(("noise", "bare", "elsewhere"), (6, 1, 1), k=2)
        plain = replace(where, framework=where.framework)
        steps = [elsewhere(rng, plain, ()) if s == "elsewhere" else made_up(rng, plain, s == "bare") for s in sorts]
        series = dict(enumerate(step.release for step in steps))
        told = [Decimal(0)]
        for law in where.laws:
            laws, masses = of_kinds(law, steps, 3)
            if hidden == "difference":
                values: list[Any] = list(range(-n, n + 1))
                tables = [given_difference(laws, masses, n, value) for value in values]
                apart = [abs(a - b) for a, b in itertools.combinations(values, 2)]
            else:
                values = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
                tables = [drawn(list(zip(laws, value, strict=True))) for value in values]
                apart = [
                    sum(abs(x - y) for x, y in zip(*each, strict=True)) // 2
                    for each in itertools.combinations(values, 2)
                ]
            places = itertools.combinations(range(len(values)), 2)
            pairs = [
                pair
                for pair, d in zip(places, apart, strict=True)
                if 0 < d <= 2 and tables[pair[0]] and tables[pair[1]]
            ]
            told += losses(lambda history, of=series: of.get(len(history)), tables, pairs).values() if pairs else []
        total = said(framework, steps).total
        assert total is None or max(told) <= decimal(total) + CLOSE, (seed, float(max(told)), float(total))
        ratios += [float(total) / float(max(told))] if total is not None and CLOSE < max(told) < 10**6 else []
    print(f"{hidden}: total over truth, median {statistics.median(ratios):.4f} of {len(ratios)}")
    assert statistics.median(ratios) <= 2.5


def made_up(rng: Random, where: Setting, bare: bool) -> Step:
    """An answer with noise of any scale."""
    while True:
        step = answered(rng, where, bare)
        if step.entry.mechanism == MADE_UP:
            return step


# One by one


def few_records(records: int, apart: int, *hits: float, more: tuple[str, ...] = ()) -> bp.DatasetAttributePrivacy:
    """Records of which none but those of kind a have x = 1, these with some probability: one for each model."""
    network = bp.DiscreteNetwork.from_tables(
        {"kind": [[1 / 2, 1 / 2]] * len(hits), "x": [[[1 - hit, 1], [hit, 0]] for hit in hits]},
        states={"kind": ["a", "b"], "x": ["0", "1"]},
        parents={"x": ["kind"]},
        level="records",
    )
    columns: dict[str, Any] = {"kind": bp.Categorical(["a", "b"]), **{name: bp.Integer(0, 1) for name in ("x", *more)}}
    secret = bp.Secret(bp.count(bp.col("kind") == "a"), pairs=bp.apart(at_most=apart))
    schema = bp.Schema(records=records, columns=columns)
    return bp.DatasetAttributePrivacy(network, schema, {"kind": secret}, source="a test")


ONES = bp.count(bp.col("x") == 1)


def total_of(framework: bp.DatasetAttributePrivacy, *entries: Entry, delta: float = 0.0) -> float:
    """Of some releases, none of which counts by a guarantee of its own."""
    counted = Accountant(framework, ["x"], entries=(*entries, external(["x"], 0.0)))
    return counted.epsilon_at(delta)


@pytest.mark.parametrize("k", [1, 3])
def test_what_is_known_in_closed_form(k: int) -> None:
    """Counts, means of them, several of them, and the worst of another tool: all are reached."""
    framework = few_records(50, k, 1 / 8, 1 / 4)
    for entries, rate in (
        ([entry_of(ONES, 2.0)], 1 / 2),
        ([entry_of(ONES, 0.5), entry_of(ONES, 1.0)], 3),
        ([entry_of(bp.mean("x"), 0.02)], 1),
        ([entry_of(bp.total("x"), 4.0), entry_of(bp.proportion(bp.col("x") == 1), 0.04)], 1 / 4 + 1 / 2),
        ([entry_of(bp.count(bp.col("x") == 0), 2.0), entry_of(ONES, 2.0)], 1),
    ):
        # the count falls below all values, or above
        told = max(math.log1p(math.expm1(rate) / 4), -math.log1p(math.expm1(-rate) / 4))
        assert total_of(framework, *entries) == pytest.approx(k * told, rel=1e-9)
    assert total_of(framework, external(["x"], 1.5)) == pytest.approx(k * math.log1p(math.expm1(1.5) / 4), rel=1e-9)
    two = external(["x"], 1.0), external(["x"], 0.5)
    assert total_of(framework, *two) == pytest.approx(k * math.log1p(math.expm1(1.5) / 4), rel=1e-9)
    assert total_of(framework, external(["kind"], 0.5)) == pytest.approx(k * 0.5, rel=1e-9)
    rarely = external(["x"], 1.0, 1e-12), external(["x"], 0.5)
    assert total_of(framework, *rarely, delta=1e-6) == pytest.approx(k * math.log1p(math.expm1(1.5) / 4), rel=1e-6)
    assert math.isinf(total_of(framework, entry_of(ONES, 0.0)))


def test_a_column_of_which_nothing_is_known_counts_in_full() -> None:
    framework = few_records(50, 3, 1 / 4, more=("note",))
    for columns in (["note"], ["x", "note"]):
        assert total_of(framework, external(columns, 0.5)) == pytest.approx(3 * 0.5, rel=1e-9)
    both = total_of(framework, external(["note"], 0.5), entry_of(ONES, 1.0))
    assert both == pytest.approx(3 * (0.5 + math.log1p(math.expm1(1) / 4)), rel=1e-9)
    counted = Accountant(framework, ["x", "note"], entries=(external(["note"], 0.5, 1e-9), external(["x"], 0.0)))
    assert counted.epsilon_at(1e-3) == pytest.approx(3 * 0.5, rel=1e-9)


def test_what_fails_adds_up() -> None:
    """Over releases, and over records: both are true."""
    certain = few_records(2, 2, 1.0)
    shown = external(["x"], 0.0, 0.01)
    x = {"a": {1: decimal(1)}, "b": {0: decimal(1)}}
    tables = tables_given(2, x["a"], x["b"])
    for releases, pair in ((1, (0, 2)), (2, (0, 1)), (2, (0, 2))):
        of = dict(enumerate([Leaking(decimal(0.01)) for _ in range(releases)]))
        fails = delta(lambda history, of=of: of.get(len(history)), tables, [pair], decimal(1))
        assert fails > decimal(0.0198)
        framework = certain if pair == (0, 2) else few_records(2, 1, 1.0)
        assert math.isinf(total_of(framework, *[shown] * releases, delta=float(fails) * 0.999))
        assert total_of(framework, shown, delta=0.6) < 1e-9


def test_sums_of_several_records_are_put_together() -> None:
    """The largest ratio is in the middle, where that of five records is not five times that of one."""
    network = bp.DiscreteNetwork.from_tables(
        {"kind": [1 / 2, 1 / 2], "x": [[0, 1 / 2], [1, 0], [0, 1 / 2]]},
        states={"kind": ["a", "b"], "x": ["0", "1", "2"]},
        parents={"x": ["kind"]},
        level="records",
    )
    law, other = {1: decimal(1)}, {0: decimal(1 / 2), 2: decimal(1 / 2)}
    for k, only in ((2, True), (3, True), (5, True), (5, False), (7, False)):
        schema = bp.Schema(records=k, columns={"kind": bp.Categorical(["a", "b"]), "x": bp.Integer(0, 2)})
        pairs = bp.pairs((0, k)) if only else bp.apart(at_most=k)
        secret = bp.Secret(bp.count(bp.col("kind") == "a"), pairs=pairs)
        framework = bp.DatasetAttributePrivacy(network, schema, {"kind": secret}, source="a test")
        release = Noisy((lambda x: x,), (base(0.5),))
        tables = tables_given(k, law, other)
        compared = [(0, k)] if only else [(s, s + j) for j in range(1, k + 1) for s in range(k + 1 - j)]
        (told,) = losses(lambda history, of=release: None if history else of, tables, compared).values()
        total = total_of(framework, entry_of(bp.total("x"), 0.5))
        one = total_of(
            replace(framework, protect={"kind": replace(secret, pairs=bp.pairs((0, 1)))}), entry_of(bp.total("x"), 0.5)
        )
        assert float(told) <= total <= k * one
        assert total < 0.9 * k * one
        assert k > 3 or total <= 1.001 * float(told)


def test_a_search_that_ends_early_is_above(monkeypatch: pytest.MonkeyPatch) -> None:
    from bnpriv.kinds import swapped_records

    rng = Random(5)
    found: list[bool] = []
    for _ in range(12):
        where = setting(rng, 1)
        steps = [made_up(rng, where, bare=False) for _ in range(3)]
        whole = said(where.framework, steps).total
        monkeypatch.setattr(swapped_records, "MOST_BOX_WORK", 0)
        early = said(replace(where.framework), steps).total
        monkeypatch.undo()
        assert whole is not None
        assert early is not None
        assert early >= whole * (1 - Fraction(1, 10**9))
        found.append(early > whole * (1 + Fraction(1, 10**6)))
    assert any(found)


def test_only_what_a_theorem_counts_stands_beside_it() -> None:
    framework = few_records(50, 1, 1 / 4)
    own = replace(entry_of(ONES, 1.0), family="own law", alone="a test")
    for first, second in ((own, entry_of(ONES, 1.0)), (entry_of(ONES, 1.0), own), (own, external(["x"], 0.1))):
        assert isinstance(Accountant(framework).with_entry(first), Accountant)
        assert isinstance(Accountant(framework, entries=(first,)).with_entry(second), Refusal)


def test_numbers_of_a_release_are_not_taken_for_those_of_another() -> None:
    """Totals are kept with a framework."""
    framework = few_records(50, 1, 1 / 4)
    found = [total_of(framework, entry_of(ONES, scale)) for scale in (1.0, 0.5)]
    found += [total_of(framework, external(["x"], epsilon)) for epsilon in (0.3, 0.6)]
    stacked = bp.stack(ONES, bp.count(bp.col("kind") == "a"))
    found += [total_of(framework, entry_of(stacked, 1.0, weights)) for weights in ((1.0, 1.0), (1.0, 4.0))]
    again = [
        *(total_of(few_records(50, 1, 1 / 4), entry_of(ONES, scale)) for scale in (1.0, 0.5)),
        *(total_of(few_records(50, 1, 1 / 4), external(["x"], epsilon)) for epsilon in (0.3, 0.6)),
        *(total_of(few_records(50, 1, 1 / 4), entry_of(stacked, 1.0, w)) for w in ((1.0, 1.0), (1.0, 4.0))),
    ]
    assert found == again
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_what_is_too_large_to_be_worked_out_together_is_bounded(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By laws of single answers, or by their noise alone."""
    from bnpriv.kinds import swapped_records

    ratios: list[float] = []
    for seed in range(25):
        rng = Random(seed)
        where = setting(rng, 2)
        sorts = rng.choices(("noise", "elsewhere", "bare"), (8, 1, 1), k=3)
        steps = [elsewhere(rng, where, ()) if s == "elsewhere" else made_up(rng, where, s == "bare") for s in sorts]
        series = dict(enumerate(step.release for step in steps))
        (told,) = truths(where, steps, lambda history, of=series: of.get(len(history))).values()
        most = cells * len(where.laws) * len(where.framework.network.states["kind"])
        monkeypatch.setattr(swapped_records, "MOST_VALUE_CELLS", most)
        total = said(replace(where.framework), steps).total
        monkeypatch.undo()
        assert total is None or told <= decimal(total) + CLOSE, (seed, float(told), float(total))
        ratios += [float(total) / float(told)] if total is not None and told > CLOSE else []
    assert ratios
    print(f"at most {cells} cells of a kind: total over truth, median {statistics.median(ratios):.4f} of {len(ratios)}")
