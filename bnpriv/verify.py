"""Replay a stored calibration apart from the code that made it (docs/verify.md): nothing of bnpriv is imported.

Sums over records are whole numbers, released answers are the doubles nearest to exact fractions, and masses are
decimals of 60 digits without a least exponent. Masses are only added, multiplied and divided: all digits but the last
few are right, and a mass is 0 only where it is.
"""

from __future__ import annotations

import json
import math
import operator
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, Literal

from bnpriv.verify_files import (
    DATASET,
    INFINITE,
    ONE,
    VALUE,
    ZERO,
    Form,
    Law,
    Nodes,
    StopError,
    decimal,
    declared,
    farthest,
    merged,
    number,
    pairs_of,
    refuse,
    require,
    shown,
    summed,
)
from bnpriv.verify_noise import StoredRows, laplace_excess, recursions, smoothed, weights_of

Status = Literal["holds", "fails", "too large", "not covered"]

ARITHMETIC = Context(prec=60, Emin=-(10**17), Emax=10**17)
SLACK = Decimal("1e-40")  # far above what rounding to 60 digits can add to a log of a ratio of masses
MOST_WORK = 1_000_000  # products of masses in one check: a few seconds
CHANNELS = ("OptimalMechanism", "QuantizationMechanism")
MALFORMED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError, OSError)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came out of replaying a calibration.

    Parameters
    ----------
    status : {"holds", "fails", "too large", "not covered"}
    text : str
        What was found: the enclosed epsilon or delta, the output that shows a failure, or what is in the way.
    trusted : tuple of str
        What was not checked and is left to trust.
    """

    status: Status
    text: str
    trusted: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """Return the exit code: 0 holds, 1 fails, 2 neither is shown."""
        return {"holds": 0, "fails": 1}.get(self.status, 2)

    def to_json(self) -> str:
        """Return the verdict as JSON."""
        return json.dumps({"verdict": self.status, "text": self.text, "trusted": list(self.trusted)}, indent=2)

    def __str__(self) -> str:
        return "\n".join([f"{self.status}: {self.text}", *(f"  left to trust: {each}" for each in self.trusted)])


def verify(calibration: object, framework: str | Path | None = None) -> Verdict:
    """Replay a calibration, apart from the code that made it, on the exact laws of the doubles that are released.

    Parameters
    ----------
    calibration : Calibration or str
        A calibration, or the JSON text that its `to_json` returns, or that of a release.
    framework : str or path, optional
        The framework file: it is then what counts, and what the calibration says of the model is compared with it.

    Returns
    -------
    Verdict
        Nothing that a text or a file may hold raises an error: what cannot be read is "not covered".

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> calibration = bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0)
    >>> verify(calibration).status
    'holds'
    """
    trusted = ["that the words of the calibration (query, secrets, guarantee) say what its numbers and forms say"]
    try:
        require(
            framework is None or isinstance(framework, str | Path), "a framework that is no file: give its file's path"
        )
        with localcontext(ARITHMETIC):
            text: Any = calibration if isinstance(calibration, str) else getattr(calibration, "to_json")()  # noqa: B009
            found = _checked(json.loads(text), None if framework is None else Path(framework), trusted)
        return Verdict(status="holds", text=found, trusted=tuple(trusted))
    except StopError as stop:
        return Verdict(status=stop.args[0], text=stop.args[1], trusted=tuple(trusted))
    except MALFORMED as broken:
        return Verdict(status="not covered", text=f"a calibration or file that is not well formed ({broken!r:.80})")


def _checked(record: Any, path: Path | None, trusted: list[str]) -> str:
    record = record["calibration"] if record["format"] == "bnpriv release 1" else record
    require(record["format"] == "bnpriv calibration 1", "a text that is neither a calibration nor a release in JSON")
    model = record["model"]
    if path is None:
        trusted.append("that the model in the calibration is the declared one: no framework file was given")
    else:
        model = declared(model, path, trusted)
    require(type(model["records"]) is int and 1 <= model["records"] <= 2**62, "the number of records")
    for column in model["columns"].values():
        if column["type"] != "categorical":
            low, high, steps = column["lower"], column["upper"], column["steps"]
            whole = column["type"] == "real" or low + steps == high
            require(-(2**100) <= low < high <= 2**100 and 1 <= steps <= 2**31 and whole, "the bounds of a column")
    return _Check(record, model).run()


class _Check:
    """One claim: the noise, the guarantee, and the laws or bounds that are to bear it."""

    def __init__(self, record: Any, model: Any) -> None:
        self.model, self.work, self.worst, self.query = model, 0, ZERO, record["form"]
        self.n: int = model["records"]
        self.network = Nodes(model.get("network", {"models": 1, "nodes": {}, "driven": {}}))
        self.mechanism, self.noise, self.seen = record["mechanism"]["name"], record["noise"]["law"], 0
        self.decays, self.joints = dict[Any, Decimal](), dict[Any, Law]()
        self.epsilon, self.delta = Decimal(record["guarantee"]["epsilon"]), Decimal(record["guarantee"]["delta"])
        require(0 < self.epsilon < 10**6 and 0 <= self.delta < 1, "a guarantee out of range")
        if record["epsilon"] != record["guarantee"]["epsilon"]:
            raise StopError("fails", "the guarantee has another epsilon than the calibration")
        self.channel = StoredRows(record["noise"]["channel"]) if self.noise == "Channel" else None
        self.scale = ZERO if self.channel else number(record["noise"]["exact_scale"])
        if not self.channel and record["noise"]["scale"] != float(self.scale):
            raise StopError("fails", "the scale is not the exact scale beside it")
        drawn = self.noise in ("Laplace", "DiscreteLaplace")
        require(drawn or self.noise in ("NoNoise", "Channel"), f"{self.noise!r:.40} noise")
        require(self.scale.is_finite() and (self.scale > 0) == drawn, "the scale of the noise")
        self.weights = weights_of(record["noise"])

    @cached_property
    def form(self) -> Form:
        form = Form(self.query, self.model["columns"])
        if len(form.rows) != len(self.weights):
            raise StopError("fails", f"noise for {len(self.weights)} numbers where the answer has {len(form.rows)}")
        return form

    def spend(self, cost: int) -> None:
        self.work += cost
        if self.work > MOST_WORK:
            raise StopError("too large", f"more than {MOST_WORK:,} products of masses")

    def joint(self, *names: str, theta: int) -> Law:
        if (names, theta) not in self.joints:
            self.joints[names, theta] = self.network.joint(names, theta, self.spend)
        return self.joints[names, theta]

    def run(self) -> str:
        """Return in words what holds, by the laws of the answer where they are small enough, or by a bound."""
        if self.mechanism == "ColumnMechanism":
            return self.held("whatever the model is", self.cost(set(self.form.reads), self.n))
        if "left_out" in self.model:
            refuse(self.model["left_out"])
        if self.channel:
            return self.by_channel(self.channel)
        quilts = self.mechanism == "MarkovQuiltMechanism"
        known = quilts or self.mechanism in ("TightMechanism", "WassersteinMechanism", *CHANNELS)
        require(known, f"{self.mechanism!r:.40}")
        if quilts and self.model["notion"] != VALUE:
            return self.by_quilts()
        try:
            for label, first, second in self.families():
                self.compare(label, first, second)
            return self.held("by the laws of the released doubles")
        except (StopError, *MALFORMED) as stop:
            if stop.args[0] == "fails":
                raise
            self.work, self.worst, refused = 0, ZERO, stop
        if quilts:
            return self.by_quilts()
        if refused.args[0] == "too large" and self.by_records():
            return self.held("by the law of one record, for every record that may change")
        raise refused

    def held(self, how: str, told: Decimal | None = None) -> str:
        """Take note of an epsilon that is reached or bounded; stop where it passes the claim; say what holds."""
        if told is not None:
            self.seen, self.worst = self.seen + 1, max(self.worst, told)
        if self.worst > self.epsilon:
            raise StopError("fails", f"epsilon is {self.worst:.9g} where {self.epsilon:.9g} is claimed, {how}")
        require(self.seen, "secrets of which no two are possible")
        low, high = float(max(ZERO, self.worst - 2 * SLACK)), float(self.worst)
        excess = f" but for delta {self.delta:.6g}" if self.delta else ""
        return f"epsilon in [{math.nextafter(low, 0)!r}, {math.nextafter(high, math.inf)!r}]{excess}, {how}"

    @cached_property
    def added(self) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
        """Return what one record adds for every choice of extreme values of the columns that are read."""
        choices = [self.form.extremes(name, self.weights) for name in self.form.reads]
        self.spend(math.prod(map(len, choices)))
        records = (dict(zip(self.form.reads, cell, strict=True)) for cell in product(*choices))
        return {tuple(r.values()): tuple(map(Fraction, self.form.key(r), self.form.under)) for r in records}

    @cached_property
    def limits(self) -> list[tuple[Fraction, Fraction]]:
        """Return for every number, weighted, how wide the doubles range, and how far rounding can move two apart."""
        found = list[tuple[Fraction, Fraction]]()
        columns: list[tuple[Fraction, ...]] = list(zip(*self.added.values(), strict=True))
        for shift, under, each in zip(self.form.offset, self.form.under, columns, strict=True):
            low, high = shift + self.n * min(each), shift + self.n * max(each)
            largest, whole = max(abs(low), abs(high)), math.lcm(under, shift.denominator)
            doubles = whole & (whole - 1) == 0 and largest * whole <= 2**53
            unit = Fraction(0 if doubles else math.ulp(float(largest)))
            found.append((Fraction(float(high)) - Fraction(float(low)), unit))
        return [(weight * wide, weight * unit) for weight, (wide, unit) in zip(self.weights, found, strict=True)]

    def cost(self, moving: set[str], records: int) -> Decimal:
        """Return in scales of the noise how far, in the 1-norm, changes of so many records move the weighted answer."""
        groups, size, most, moved = defaultdict[Any, set[Any]](set), len(self.form.rows), Fraction(0), set[int]()
        self.spend(len(self.added) << size)
        for cell, point in self.added.items():
            groups[tuple(x for x, n in zip(cell, self.form.reads, strict=True) if n not in moving)].add(point)
        for points in groups.values():
            moved |= {k for k, numbers in enumerate(zip(*points, strict=True)) if len(set(numbers)) > 1}
            for signs in product((1, -1), repeat=size - 1):
                signed = list(map(operator.mul, (1, *signs), self.weights))
                sums = [sum(map(operator.mul, signed, point), Fraction(0)) for point in points]
                most = max(most, max(sums) - min(sums))
        far = records * most + sum((self.limits[k][1] for k in moved), Fraction(0))
        far = min(far, self.limits[0][0]) if size == 1 else far  # rounding keeps the order
        return ZERO if not most else decimal(far) / self.scale if self.scale else INFINITE

    def by_quilts(self) -> str:
        """Look for every attribute, model and ordered pair for columns whose change the noise hides: the near ones."""
        reads, records = self.form.reads, 1 if self.model["notion"] == VALUE else self.n
        known = {*self.network.states, *self.network.driven, *self.model.get("independent", ())}
        require(known.issuperset(reads), "a column of which the model says nothing")
        for name, pairs in self.model["protect"].items():
            near = {column for column in reads if name in self.network.drivers([column])}
            free = [column for column in reads if column not in near]
            self.spend(2 ** len(free))
            sets = [near | set(more) for size in range(len(free) + 1) for more in combinations(free, size)]
            costs = sorted(((self.cost(moving, records), moving) for moving in sets), key=lambda each: each[0])
            ways = [way for first, second in pairs for way in ((first, second), (second, first))]
            for theta, (first, second) in product(range(self.network.models), ways):
                told = min(self.quilt(name, theta, first, second, costs))
                if told >= 0:  # a secret of probability zero is no constraint
                    self.held(f"by the best quilt for {name}, {shown((first, second))} in model {theta}", told)
        return self.held("by the best quilt for every model and pair of secrets")

    def quilt(self, name: str, theta: int, first: Any, second: Any, costs: Sequence[Any]) -> Iterator[Decimal]:
        """Yield the epsilon that every near set bears; one that passes the claim by delta at most bears the claim."""
        for cost, moving in costs:
            nodes = self.network.drivers([column for column in self.form.reads if column not in moving])
            states, sides = self.network.states[name], (summed(), summed())
            for cell, p in self.joint(name, *nodes, theta=theta).items():
                for side, chosen in zip(sides, (first, second), strict=True):
                    if states[cell[0]] in chosen:
                        side[cell[1:]] += p
            a, b = merged([sides[0]]), merged([sides[1]])
            if not a or not b:
                yield -ONE
                return
            told = max(p / b[q] if q in b else INFINITE for q, p in a.items()).ln() + cost
            if told > self.epsilon and self.delta and cost < INFINITE:
                left = {q: self.epsilon - (p / b[q]).ln() if q in b else -INFINITE for q, p in a.items()}
                passed = (p * max(ZERO, 1 - left[q].exp(), 1 - ((left[q] - cost) / 2).exp()) for q, p in a.items())
                told = self.epsilon if sum(passed) + SLACK <= self.delta else told
            yield told
            if told <= self.epsilon:
                return

    def families(self) -> Iterator[tuple[str, Law, Law]]:
        """Yield the laws of the released doubles that are to be alike, for every attribute, model and pair."""
        sides = self.model.get("sides", [])
        for k, (first, second) in enumerate(zip(sides[::2], sides[1::2], strict=True)):
            yield f"pair {k}", self.side(first), self.side(second)
        for (name, secret), theta in product(self.model.get("protect", {}).items(), range(self.network.models)):
            parts = self.given(name, secret, theta)
            pairs: Any = pairs_of(secret, sorted(parts)) if isinstance(secret, dict) else secret
            unordered: dict[Any, Any] = {frozenset(tuple(side) for side in pair): pair for pair in pairs}
            for first, second in unordered.values():
                a, b = (merged([parts[each] for each in side if each in parts]) for side in (first, second))
                if a and b:
                    label = f"{name}, {shown((first, second))} in model {theta}"
                    yield label, self.released(a), self.released(b)

    def given(self, name: str, secret: Any, theta: int) -> dict[Any, Law]:
        """Return for every value of a secret the law of the exact sums, times its probability."""
        parts, form = defaultdict[Any, Law](summed), self.form
        if self.model["notion"] == DATASET:
            both = self.stacked(secret)
            one = summed((both.key(record), p) for record, _, p in self.records(self.network, theta, both))
            for key, p in self.power(one, self.n).items():
                parts[both.exact(key)[0]][key[1:]] += p
            return parts
        states = self.network.states[name]
        if self.model["notion"] == VALUE:
            for record, state, p in self.records(self.network, theta, form, name):
                parts[states[state]][form.key(record)] += p
            others = self.power(merged(list(parts.values())), self.n - 1)
            return {state: self.convolved(law, others) for state, law in parts.items()}
        nodes, known = [name, *(node for node in self.network.drivers(form.reads) if node != name)], dict[Any, Law]()
        for cell, p in self.network.joint(nodes, theta, self.spend).items():
            place, laws = dict(zip(nodes, cell, strict=True)), list[Any]()
            for column in form.reads:
                index, driven = 0, self.network.driven.get(column, [column] if column in self.network.states else [])
                for node in driven:
                    index = index * len(self.network.states[node]) + place[node]
                laws.append((column, index))
            key = tuple(laws)
            if key not in known:
                options = [form.values(column, self.model["laws"][column][k]) for column, k in laws]
                cells = [zip(*each, strict=True) for each in product(*options)]
                one = summed(
                    (form.key(dict(zip(form.reads, v, strict=True))), math.prod(m, start=ONE)) for v, m in cells
                )
                known[key] = self.power(one, self.n)
            self.spend(len(known[key]))
            for sums, mass in known[key].items():
                parts[states[cell[0]]][sums] += p * mass
        return parts

    def stacked(self, secret: Any) -> Form:
        """Return the form whose first number is the property of a secret, before those of the query."""
        own, query, shift = secret["form"], self.query, len(secret["form"]["terms"])
        rows = [[[k + shift, weight] for k, weight in row] for row in query["matrix"]]
        facts = {"terms": own["terms"] + query["terms"], "matrix": own["matrix"] + rows}
        return Form({**facts, "offset": own["offset"] + query["offset"]}, self.model["columns"])

    def records(self, network: Nodes, theta: int, form: Form, name: str = "") -> Iterator[tuple[Any, int, Decimal]]:
        """Yield records that stand for all, the state of `name` in each, and their masses."""
        nodes = [*form.reads, *([name] if name and name not in form.reads else [])]
        options: Any = [[self.option(form, n, *s) for s in enumerate(network.states[n])] for n in form.reads]
        for cell, p in network.joint(nodes, theta, self.spend).items():
            for chosen in product(*(values[k] for values, k in zip(options, cell, strict=False))):
                self.spend(1)
                record = dict(zip(form.reads, (value for value, _ in chosen), strict=True))
                mass = math.prod((mass for _, mass in chosen), start=p)
                yield record, cell[nodes.index(name)] if name else 0, mass

    def option(self, form: Form, name: str, place: int, state: Any) -> list[tuple[Any, Decimal]]:
        """Return the values of a column in one state of its node, with their masses."""
        if name in self.model.get("laws", {}):
            return form.values(name, self.model["laws"][name][place])
        column = form.columns[name]
        named = [each for each in column.get("categories", ()) if str(each) == str(state)]
        value = named[0] if column["type"] == "categorical" else float(state)
        require(named or column["lower"] <= value <= column["upper"], f"a state that is no value of {name!r:.80}")
        return [(value, ONE)]

    def one_record(self, side: Any) -> Law:
        return summed((self.form.key(r), p) for r, _, p in self.records(Nodes(side["network"]), 0, self.form))

    def side(self, facts: Any) -> Law:
        """Return the law of the answer that one side of a pair of distributions declares."""
        if "left_out" in facts:
            refuse(facts["left_out"])
        if "network" in facts:
            return self.released(self.power(self.one_record(facts), self.n))
        points = [tuple(map(float.fromhex, point)) for point in facts["points"]]
        return merged([{p: number(log).exp() for p, log in zip(points, facts["logs"], strict=True)}])

    def released(self, law: Law) -> Law:
        return summed((tuple(map(float, self.form.exact(key))), mass) for key, mass in law.items())

    def power(self, law: Law, n: int) -> Law:
        """Return the law of a sum of n independent draws."""
        if n < 2:
            return law if n else {(0,) * len(next(iter(law))): ONE}
        if len(law) != 2:
            half = self.power(law, n // 2)
            even = self.convolved(half, half)
            return self.convolved(even, law) if n % 2 else even
        (a, p), (b, q) = law.items()
        self.spend(n)
        mass, found = p**n, summed()
        for k in range(n + 1):
            found[tuple(x * (n - k) + y * k for x, y in zip(a, b, strict=True))] = mass
            mass = mass * (n - k) * q / ((k + 1) * p)
        return found

    def convolved(self, first: Law, second: Law) -> Law:
        self.spend(len(first) * len(second))
        pairs = product(first.items(), second.items())
        return summed((tuple(map(operator.add, a, b)), p * q) for (a, p), (b, q) in pairs)

    def compare(self, label: str, first: Law, second: Law) -> None:
        """Take note of the largest ratio of two laws after the noise; stop where it, or delta, passes the claim."""
        ratio, output = self.largest(first, second)
        told, shown = ratio.ln() + SLACK, f"the answer {', '.join(map(repr, output))} of {label} shows it"
        if told > self.epsilon and self.delta:
            excess = max(self.excess(first, second), self.excess(second, first)) + SLACK * (
                1 + self.epsilon.exp() / 10**14
            )
            if excess > self.delta:
                raise StopError("fails", f"delta is {excess:.9g} where {self.delta:.9g} is claimed, {shown}")
            told = self.epsilon
        self.held(shown, told)

    def largest(self, first: Law, second: Law) -> tuple[Decimal, Any]:
        """Return the largest ratio of the densities of two laws after the noise, and the output that shows it."""
        union = sorted(first.keys() | second.keys())
        if self.noise == "DiscreteLaplace" and any(x != int(x) for point in union for x in point):
            raise StopError("fails", "an answer that is no whole number, which discrete noise refuses")
        axes = [sorted(set(numbers)) for numbers in zip(*union, strict=True)]
        points = list(product(*axes)) if self.scale else union
        self.spend(4 * len(points))
        f, g = (self.smooth([law.get(point, ZERO) for point in points], axes) for law in (first, second))
        ordered = ((*sorted((p, q)), point) for p, q, point in zip(f, g, points, strict=True) if p or q)
        return max(((high / low if low else INFINITE), point) for low, high, point in ordered)

    def smooth(self, masses: list[Decimal], axes: Sequence[Sequence[Any]]) -> list[Decimal]:
        if not self.scale:
            return masses
        weighed = zip(axes, self.weights, strict=True)
        return smoothed(masses, [[self.decay(low, high, w) for low, high in pairwise(axis)] for axis, w in weighed])

    def decay(self, low: Any, high: Any, weight: Fraction) -> Decimal:
        gap = decimal(weight * (Fraction(high) - Fraction(low)))
        if gap not in self.decays:
            self.decays[gap] = (-gap / self.scale).exp()
        return self.decays[gap]

    def excess(self, first: Law, second: Law) -> Decimal:
        """Return the hockey-stick divergence of two laws after the noise."""
        ratio = self.epsilon.exp()
        signed = {p: first.get(p, ZERO) - ratio * second.get(p, ZERO) for p in first.keys() | second.keys()}
        if not self.scale:
            return sum((mass for mass in signed.values() if mass > 0), ZERO)
        require(len(next(iter(signed))) == 1, "several numbers with delta above 0")
        points: list[Any] = sorted(x for (x,) in signed)
        if whole := self.noise == "DiscreteLaplace":
            self.spend(int(points[-1] - points[0]))
            points = list(range(int(points[0]), int(points[-1]) + 1))
        decay = [self.decay(low, high, self.weights[0]) for low, high in pairwise(points)]
        left, right = recursions([signed.get((x,), ZERO) for x in points], decay)
        if not whole:
            return laplace_excess(left, right, decay)
        q, ends = self.decay(0, 1, self.weights[0]), max(ZERO, left[0] + right[0]) + max(ZERO, left[-1])
        inner = sum(max(ZERO, a + b) for a, b in zip(left, right, strict=True))
        return (inner + ends * q / (1 - q)) * (1 - q) / (1 + q)

    def by_channel(self, channel: StoredRows) -> str:
        """Replay the rows of a channel on the laws of the answer: no bound serves in their stead."""
        require(self.mechanism in CHANNELS and len(self.weights) == 1, f"{self.mechanism!r:.40} with a channel")
        for label, first, second in self.families():
            self.spend(2 * channel.size)
            self.compare(label, channel.released(first), channel.released(second))
        return self.held("by the rows of the channel and the laws of the exact doubles")

    def by_records(self) -> bool:
        """Return whether the law of one record bears the claim, times the number of records that change."""
        cases, sides = list[tuple[Law, Law, int]](), self.model.get("sides", [])
        if any("network" not in side for side in sides):
            return False
        for first, second in zip(sides[::2], sides[1::2], strict=True):
            cases.append((self.one_record(first), self.one_record(second), self.n))
        for secret, theta in product(self.model.get("protect", {}).values(), range(self.network.models)):
            if self.model["notion"] != DATASET:
                return False
            both, parts = self.stacked(secret), defaultdict[int, Law](summed)
            for record, _, p in self.records(self.network, theta, both):
                key = both.key(record)
                parts[key[0]][key[1:]] += p
            if len(parts) > 2:
                return False
            low, high = min(parts), max(parts)
            if low < high:
                least, unit = both.exact([self.n * low])[0], Fraction(high - low, both.under[0])
                cases.append((parts[low], parts[high], farthest(secret, self.n, least, unit)))
        moved = decimal(sum((unit for _, unit in self.limits), Fraction(0)))
        rounding = moved / self.scale if self.scale else ZERO
        for first, second, records in cases:
            laws = [{tuple(map(Fraction, k, self.form.under)): p for k, p in law.items()} for law in (first, second)]
            told = records * (self.largest(merged([laws[0]]), merged([laws[1]]))[0].ln() + SLACK) + rounding
            self.seen, self.worst = 1, max(self.worst, told)
        return self.worst <= self.epsilon
