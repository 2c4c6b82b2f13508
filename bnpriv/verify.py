"""Replay a stored calibration apart from the code that made it (docs/verify.md): nothing of bnpriv is imported.

Sums over records are whole numbers, released answers are the doubles nearest to exact fractions, and masses are
decimals of 60 digits without a least exponent. Masses are only added, multiplied and divided: all digits but the last
few are right, and a mass is 0 only where it is.
"""

from __future__ import annotations

import json
import math
import operator
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, Literal, NoReturn

Status = Literal["holds", "fails", "too large", "not covered"]
Law = dict[Any, Decimal]

ARITHMETIC = Context(prec=60, Emin=-(10**17), Emax=10**17)
SLACK = Decimal("1e-40")  # far above what rounding to 60 digits can add to a log of a ratio of masses
MOST_WORK = 400_000  # products of masses in one check: about a second
MOST_BYTES = 2**24
ZERO, ONE, INFINITE = Decimal(0), Decimal(1), Decimal("Infinity")
FRACTION = re.compile(r"-?[0-9]{1,2000}(?:/[0-9]{1,2000})?")
DISTRIBUTIONAL, DATASET, VALUE = (
    f"{name} privacy" for name in ("distributional attribute", "dataset attribute", "value")
)
NOTIONS = {"distributional": DISTRIBUTIONAL, "dataset": DATASET, "value": VALUE}
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
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
        A calibration, or the JSON text that its `to_json` returns.
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
    >>> bp.verify(calibration).status
    'holds'
    """
    trusted = ["that the normal forms in the calibration say what the texts of query and secrets say"]
    try:
        with localcontext(ARITHMETIC):
            text: Any = calibration if isinstance(calibration, str) else getattr(calibration, "to_json")()  # noqa: B009
            found = _checked(json.loads(text), None if framework is None else Path(framework), trusted)
        return Verdict(status="holds", text=found, trusted=tuple(trusted))
    except _StopError as stop:
        return Verdict(status=stop.args[0], text=stop.args[1], trusted=tuple(trusted))
    except MALFORMED as broken:
        return Verdict(status="not covered", text=f"a calibration or file that is not well formed ({broken!r:.80})")


class _StopError(Exception):
    """The end of a check: a status and a text."""


def _refuse(reason: str) -> NoReturn:
    status, _, text = reason.partition(": ")
    raise _StopError("too large" if status == "too large" else "not covered", text)


def _require(condition: object, what: str) -> None:
    if not condition:
        raise _StopError("not covered", what)


def _number(text: Any) -> Decimal:
    return Decimal(float.fromhex(text))


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _fraction(text: Any) -> Fraction:
    _require(isinstance(text, str) and FRACTION.fullmatch(text), "a weight that is no fraction")
    return Fraction(text)


def _checked(record: Any, path: Path | None, trusted: list[str]) -> str:
    _require(record["format"] == "bnpriv calibration 1", "a text that is no calibration")
    model = record["model"]
    if path is None:
        trusted.append("that the model in the calibration is the declared one: no framework file was given")
    else:
        model = _declared(model, path, trusted)
    _require(type(model["records"]) is int and 1 <= model["records"] <= 2**62, "the number of records")
    for column in model["columns"].values():
        if column["type"] != "categorical":
            low, high, steps = column["lower"], column["upper"], column["steps"]
            whole = column["type"] == "real" or low + steps == high
            _require(-(2**100) <= low < high <= 2**100 and 1 <= steps <= 2**31 and whole, "the bounds of a column")
    return _Check(record, model).run()


class _Network:
    """States, parents and tables: for every node and model a dict from (own state, *parents' states) to a mass."""

    def __init__(self, facts: Any) -> None:
        self.models, self.nodes, self.driven = facts["models"], facts["nodes"], facts["driven"]
        self.states = {name: node["states"] for name, node in self.nodes.items()}
        self.axes = {name: (name, *node["parents"]) for name, node in self.nodes.items()}
        self.tables = {name: [self.table(name, each) for each in node["logs"]] for name, node in self.nodes.items()}
        _require(all(len(tables) in (1, self.models) for tables in self.tables.values()), "the number of models")

    def table(self, name: str, flat: Any) -> Law:
        """Read the own state as the slowest index, the last parent's as the fastest; divide columns by their sums."""
        masses = [_number(each).exp() if isinstance(each, str) else each for each in flat]
        width = math.prod(len(self.states[each]) for each in self.axes[name][1:])
        _require(len(masses) == width * len(self.states[name]) and min(masses) >= 0, f"the table of {name!r:.80}")
        sums = [sum(masses[k::width]) for k in range(width)]
        _require(all(abs(each - 1) < Decimal("0.02") for each in sums), f"a column of {name!r:.80} that is no law")
        cells = product(*(range(len(self.states[each])) for each in self.axes[name]))
        return {cell: p / sums[k % width] for k, (cell, p) in enumerate(zip(cells, masses, strict=True)) if p}

    def labelled(self, name: str, theta: int) -> Law:
        """Return a table whose cells are named by attributes and states, in whatever order these are declared."""
        named = ((zip(self.axes[name], cell, strict=True), p) for cell, p in self.at(name, theta).items())
        return {frozenset((each, str(self.states[each][k])) for each, k in pairs): p for pairs, p in named}

    def at(self, name: str, theta: int) -> Law:
        return self.tables[name][min(theta, len(self.tables[name]) - 1)]

    def drivers(self, columns: Sequence[str]) -> list[str]:
        found = {node for column in columns for node in self.driven.get(column, [column])}
        return sorted(found & self.states.keys())

    def joint(self, names: Sequence[str], theta: int, spend: Any) -> Law:
        """Return P(states of `names`), without cells of mass 0: node by node, keeping what is still needed."""
        order, live, cells = list[str](), list[str](), _law()
        self.above(names, order)
        cells[()] = ONE
        for k, name in enumerate(order):
            needed = {*names, *(parent for later in order[k + 1 :] for parent in self.axes[later][1:])}
            kept, grown, table = [each for each in (*live, name) if each in needed], _law(), self.at(name, theta)
            spend(len(cells) * len(self.states[name]))
            for cell, p in cells.items():
                known = dict(zip(live, cell, strict=True))
                for state in range(len(self.states[name])):
                    known[name] = state
                    if q := table.get(tuple(known[each] for each in self.axes[name])):
                        grown[tuple(known[each] for each in kept)] += p * q
            live, cells = kept, grown
        places = [live.index(name) for name in names]
        return {tuple(cell[k] for k in places): p for cell, p in cells.items()}

    def above(self, names: Sequence[str], order: list[str]) -> None:
        """List nodes and their ancestors, parents first."""
        for name in names:
            if name not in order:
                self.above(self.axes[name][1:], order)
                order.append(name)


def _law() -> Law:
    return defaultdict(Decimal)


def _merged(laws: Sequence[Law]) -> Law:
    """Return the sum of some laws, divided by its mass; empty if there is none."""
    found = _law()
    for law in laws:
        for key, mass in law.items():
            found[key] += mass
    total = sum(found.values())
    return {key: mass / total for key, mass in found.items() if mass}


class _Form:
    """A query: terms summed over records, whole weights over one denominator per number, and an offset."""

    def __init__(self, facts: Any, columns: Any) -> None:
        if "left_out" in facts:
            _refuse(facts["left_out"])
        self.terms, self.columns = facts["terms"], columns
        rows = [{int(k): _fraction(weight) for k, weight in row} for row in facts["matrix"]]
        self.under = [math.lcm(*(weight.denominator for weight in row.values())) for row in rows]
        self.rows = [{k: int(w * u) for k, w in row.items()} for row, u in zip(rows, self.under, strict=True)]
        self.offset = [_fraction(shift) for shift in facts["offset"]]
        _require(len(self.offset) == len(rows) > 0, "a query without numbers")
        self.cuts = defaultdict[str, list[Any]](list)
        for kind, name, value in [leaf for term in self.terms if term[0] == "indicator" for leaf in _leaves(term[1])]:
            self.cuts[name] += value if kind == "in" else [value]
        self.squared = any(term[0] == "steps" and term[2] != 1 for term in self.terms)
        self.reads = sorted({*self.cuts, *(term[1] for term in self.terms if term[0] == "steps")})

    def step(self, name: str, value: Any) -> int:
        """Return the grid step of a value, in doubles as every engine computes it."""
        lower, upper = float(self.columns[name]["lower"]), float(self.columns[name]["upper"])
        if self.columns[name]["type"] == "integer":
            return math.floor(float(value) + 0.5) - int(lower)
        return math.floor((float(value) - lower) * (self.columns[name]["steps"] / (upper - lower)) + 0.5)

    def extremes(self, name: str) -> list[Any]:
        """Return values of a column such that some table of them moves the answer as far as any table."""
        column = self.columns[name]
        if column["type"] == "categorical":
            return column["categories"]
        whole, cuts, lower, upper = column["type"] == "integer", self.cuts[name], column["lower"], column["upper"]
        ends = {end for c in cuts for end in ((math.floor(c), math.ceil(c)) if whole else (float(c),))}
        points = sorted({lower, upper, *(end for end in ends if lower < end < upper)})
        gaps = [(a + 1, b - 1) if whole else (math.nextafter(a, b), math.nextafter(b, a)) for a, b in pairwise(points)]
        return [*points, *(end for low, high in gaps if low <= high for end in {low, high})]

    def holds(self, predicate: Any, record: Mapping[str, Any]) -> bool:
        kind = predicate[0]
        if kind in ("and", "or"):
            return (all if kind == "and" else any)(self.holds(part, record) for part in predicate[1:])
        if kind == "not":
            return not self.holds(predicate[1], record)
        value = record[predicate[1]]
        if self.columns[predicate[1]]["type"] == "integer":
            value = math.floor(value + 0.5)
        return value in predicate[2] if kind == "in" else getattr(operator, NAMES[kind])(value, predicate[2])

    def key(self, record: Mapping[str, Any]) -> tuple[int, ...]:
        """Return what a record adds, in units of one over the denominators."""
        found = [
            int(self.holds(term[1], record))
            if term[0] == "indicator"
            else self.step(term[1], record[term[1]]) ** term[2]
            for term in self.terms
        ]
        return tuple(sum(weight * found[k] for k, weight in row.items()) for row in self.rows)

    def exact(self, sums: Sequence[int]) -> tuple[Fraction, ...]:
        return tuple(Fraction(k, u) + shift for k, u, shift in zip(sums, self.under, self.offset, strict=False))


def _leaves(predicate: Any) -> list[Any]:
    inner = predicate[0] in ("and", "or", "not")
    return [leaf for part in predicate[1:] for leaf in _leaves(part)] if inner else [predicate]


class _Check:
    """One claim: the noise, the guarantee, and the laws or bounds that are to bear it."""

    def __init__(self, record: Any, model: Any) -> None:
        self.model, self.work, self.worst, self.query = model, 0, ZERO, record["form"]
        self.n: int = model["records"]
        self.network = _Network(model.get("network", {"models": 1, "nodes": {}, "driven": {}}))
        self.mechanism, self.noise, self.seen = record["mechanism"]["name"], record["noise"]["law"], 0
        self.decays, self.joints = dict[Any, Decimal](), dict[Any, Law]()
        self.epsilon, self.delta = Decimal(record["guarantee"]["epsilon"]), Decimal(record["guarantee"]["delta"])
        _require(0 < self.epsilon < 10**6 and 0 <= self.delta < 1, "a guarantee out of range")
        self.scale = _number(record["noise"]["exact_scale"])
        if record["noise"]["scale"] != float(self.scale):
            raise _StopError("fails", "the scale is not the exact scale beside it")
        _require(self.noise in ("Laplace", "DiscreteLaplace", "NoNoise"), f"{self.noise!r:.40} noise")
        _require(self.scale.is_finite() and (self.scale > 0) == (self.noise != "NoNoise"), "the scale of the noise")

    @cached_property
    def form(self) -> _Form:
        return _Form(self.query, self.model["columns"])

    def spend(self, cost: int) -> None:
        self.work += cost
        if self.work > MOST_WORK:
            raise _StopError("too large", f"{self.work:,} products of {MOST_WORK:,}")

    def joint(self, *names: str, theta: int) -> Law:
        if (names, theta) not in self.joints:
            self.joints[names, theta] = self.network.joint(names, theta, self.spend)
        return self.joints[names, theta]

    def run(self) -> str:
        """Return in words what holds, by the laws of the answer where they are small enough, or by a bound."""
        if self.mechanism == "ColumnMechanism":
            return self.held("whatever the model is", self.cost(set(self.form.reads), self.n))
        if "left_out" in self.model:
            _refuse(self.model["left_out"])
        quilts = self.mechanism == "MarkovQuiltMechanism"
        _require(quilts or self.mechanism in ("TightMechanism", "WassersteinMechanism"), f"{self.mechanism!r:.40}")
        if quilts and self.model["notion"] != VALUE:
            return self.by_quilts()
        try:
            for label, first, second in self.families():
                self.compare(label, first, second)
            return self.held("by the laws of the released doubles")
        except (_StopError, *MALFORMED) as stop:
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
            raise _StopError("fails", f"epsilon is {self.worst:.9g} where {self.epsilon:.9g} is claimed, {how}")
        _require(self.seen, "secrets of which no two are possible")
        worst = float(self.worst)
        excess = f" but for delta {self.delta:.6g}" if self.delta else ""
        return f"epsilon in [{math.nextafter(worst, 0)!r}, {math.nextafter(worst, math.inf)!r}]{excess}, {how}"

    @cached_property
    def added(self) -> dict[tuple[Any, ...], tuple[Fraction, ...]]:
        """Return what one record adds for every choice of extreme values of the columns that are read."""
        _require(not self.form.squared, "a bound for sums of squares")
        choices = [self.form.extremes(name) for name in self.form.reads]
        self.spend(math.prod(map(len, choices)))
        records = (dict(zip(self.form.reads, cell, strict=True)) for cell in product(*choices))
        return {tuple(r.values()): tuple(map(Fraction, self.form.key(r), self.form.under)) for r in records}

    @cached_property
    def limits(self) -> list[tuple[Fraction, Fraction]]:
        """Return for every number how wide the released doubles range, and how far rounding can move two apart."""
        found = list[tuple[Fraction, Fraction]]()
        columns: list[tuple[Fraction, ...]] = list(zip(*self.added.values(), strict=True))
        for shift, under, each in zip(self.form.offset, self.form.under, columns, strict=True):
            low, high = shift + self.n * min(each), shift + self.n * max(each)
            largest, whole = max(abs(low), abs(high)), math.lcm(under, shift.denominator)
            doubles = whole & (whole - 1) == 0 and largest * whole <= 2**53
            unit = Fraction(0 if doubles else math.ulp(float(largest)))
            found.append((Fraction(float(high)) - Fraction(float(low)), unit))
        return found

    def cost(self, moving: set[str], records: int) -> Decimal:
        """Return in scales of the noise how far, in the 1-norm, changes of some columns of so many records move."""
        groups, size, most, moved = defaultdict[Any, set[Any]](set), len(self.form.rows), Fraction(0), set[int]()
        self.spend(len(self.added) << size)
        for cell, point in self.added.items():
            groups[tuple(x for x, n in zip(cell, self.form.reads, strict=True) if n not in moving)].add(point)
        for points in groups.values():
            moved |= {k for k, numbers in enumerate(zip(*points, strict=True)) if len(set(numbers)) > 1}
            for signs in product((1, -1), repeat=size - 1):
                sums = [sum(map(operator.mul, (1, *signs), point), Fraction(0)) for point in points]
                most = max(most, max(sums) - min(sums))
        far = records * most + sum((self.limits[k][1] for k in moved), Fraction(0))
        far = min(far, self.limits[0][0]) if size == 1 else far  # rounding keeps the order
        return ZERO if not most else _decimal(far) / self.scale if self.scale else INFINITE

    def by_quilts(self) -> str:
        """Look for every attribute, model and ordered pair for columns whose change the noise hides: the near ones."""
        reads, records = self.form.reads, 1 if self.model["notion"] == VALUE else self.n
        known = {*self.network.states, *self.network.driven, *self.model.get("independent", ())}
        _require(known.issuperset(reads), "a column of which the model says nothing")
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
                    self.held(f"by the best quilt for {name}, {_text((first, second))} in model {theta}", told)
        return self.held("by the best quilt for every model and pair of secrets")

    def quilt(self, name: str, theta: int, first: Any, second: Any, costs: Sequence[Any]) -> Iterator[Decimal]:
        """Yield the epsilon that every near set bears; one that passes the claim by delta at most bears the claim."""
        for cost, moving in costs:
            nodes = self.network.drivers([column for column in self.form.reads if column not in moving])
            states, sides = self.network.states[name], (_law(), _law())
            for cell, p in self.joint(name, *nodes, theta=theta).items():
                for side, chosen in zip(sides, (first, second), strict=True):
                    if states[cell[0]] in chosen:
                        side[cell[1:]] += p
            a, b = _merged([sides[0]]), _merged([sides[1]])
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
            pairs: Any = _pairs(secret, sorted(parts)) if isinstance(secret, dict) else secret
            unordered: dict[Any, Any] = {frozenset(tuple(side) for side in pair): pair for pair in pairs}
            for first, second in unordered.values():
                a, b = (_merged([parts[each] for each in side if each in parts]) for side in (first, second))
                if a and b:
                    label = f"{name}, {_text((first, second))} in model {theta}"
                    yield label, self.released(a), self.released(b)

    def given(self, name: str, secret: Any, theta: int) -> dict[Any, Law]:
        """Return for every value of a secret the law of the exact sums, times its probability."""
        parts, form = defaultdict[Any, Law](_law), self.form
        if self.model["notion"] == DATASET:
            both = self.stacked(secret)
            one = _summed((both.key(record), p) for record, _, p in self.records(self.network, theta, both))
            for key, p in self.power(one, self.n).items():
                parts[both.exact(key)[0]][key[1:]] += p
            return parts
        states = self.network.states[name]
        if self.model["notion"] == VALUE:
            for record, state, p in self.records(self.network, theta, form, name):
                parts[states[state]][form.key(record)] += p
            others = self.power(_merged(list(parts.values())), self.n - 1)
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
                options = [_values(self.model["laws"][column][k]) for column, k in laws]
                cells = [zip(*each, strict=True) for each in product(*options)]
                one = _summed((form.key(dict(zip(form.reads, v, strict=True))), math.prod(m)) for v, m in cells)
                known[key] = self.power(one, self.n)
            self.spend(len(known[key]))
            for sums, mass in known[key].items():
                parts[states[cell[0]]][sums] += p * mass
        return parts

    def stacked(self, secret: Any) -> _Form:
        """Return the form whose first number is the property of a secret, before those of the query."""
        own, query, shift = secret["form"], self.query, len(secret["form"]["terms"])
        rows = [[[k + shift, weight] for k, weight in row] for row in query["matrix"]]
        facts = {"terms": own["terms"] + query["terms"], "matrix": own["matrix"] + rows}
        return _Form({**facts, "offset": own["offset"] + query["offset"]}, self.model["columns"])

    def records(self, network: _Network, theta: int, form: _Form, name: str = "") -> Iterator[tuple[Any, int, Decimal]]:
        """Yield records that stand for all, the state of `name` in each, and their masses."""
        nodes = [*form.reads, *([name] if name and name not in form.reads else [])]
        options: Any = [[self.option(form, n, *s) for s in enumerate(network.states[n])] for n in form.reads]
        for cell, p in network.joint(nodes, theta, self.spend).items():
            for chosen in product(*(values[k] for values, k in zip(options, cell, strict=False))):
                self.spend(1)
                record = dict(zip(form.reads, (value for value, _ in chosen), strict=True))
                mass = math.prod((mass for _, mass in chosen), start=p)
                yield record, cell[nodes.index(name)] if name else 0, mass

    def option(self, form: _Form, name: str, place: int, state: Any) -> list[tuple[Any, Decimal]]:
        """Return the values of a column in one state of its node, with their masses."""
        if name in self.model.get("laws", {}):
            return _values(self.model["laws"][name][place])
        column = form.columns[name]
        named = [each for each in column.get("categories", ()) if str(each) == str(state)]
        value = named[0] if column["type"] == "categorical" else float(state)
        _require(named or column["lower"] <= value <= column["upper"], f"a state that is no value of {name!r:.80}")
        return [(value, ONE)]

    def one_record(self, side: Any) -> Law:
        return _summed((self.form.key(r), p) for r, _, p in self.records(_Network(side["network"]), 0, self.form))

    def side(self, facts: Any) -> Law:
        """Return the law of the answer that one side of a pair of distributions declares."""
        if "left_out" in facts:
            _refuse(facts["left_out"])
        if "network" in facts:
            return self.released(self.power(self.one_record(facts), self.n))
        points = [tuple(map(float.fromhex, point)) for point in facts["points"]]
        return _merged([{p: _number(log).exp() for p, log in zip(points, facts["logs"], strict=True)}])

    def released(self, law: Law) -> Law:
        return _summed((tuple(map(float, self.form.exact(key))), mass) for key, mass in law.items())

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
        mass, found = p**n, _law()
        for k in range(n + 1):
            found[tuple(x * (n - k) + y * k for x, y in zip(a, b, strict=True))] = mass
            mass = mass * (n - k) * q / ((k + 1) * p)
        return found

    def convolved(self, first: Law, second: Law) -> Law:
        self.spend(len(first) * len(second))
        pairs = product(first.items(), second.items())
        return _summed((tuple(map(operator.add, a, b)), p * q) for (a, p), (b, q) in pairs)

    def compare(self, label: str, first: Law, second: Law) -> None:
        """Take note of the largest ratio of two laws after the noise; stop where it, or delta, passes the claim."""
        ratio, output = self.largest(first, second)
        told, shown = ratio.ln() + SLACK, f"the answer {', '.join(map(repr, output))} of {label} shows it"
        if told > self.epsilon and self.delta:
            excess = max(self.excess(first, second), self.excess(second, first)) + SLACK * (
                1 + self.epsilon.exp() / 10**14
            )
            if excess > self.delta:
                raise _StopError("fails", f"delta is {excess:.9g} where {self.delta:.9g} is claimed, {shown}")
            told = self.epsilon
        self.held(shown, told)

    def largest(self, first: Law, second: Law) -> tuple[Decimal, Any]:
        """Return the largest ratio of the densities of two laws after the noise, and the output that shows it."""
        union = sorted(first.keys() | second.keys())
        if self.noise == "DiscreteLaplace" and any(x != int(x) for point in union for x in point):
            raise _StopError("fails", "an answer that is no whole number, which discrete noise refuses")
        axes = [sorted(set(numbers)) for numbers in zip(*union, strict=True)]
        points = list(product(*axes)) if self.scale else union
        self.spend(4 * len(points))
        f, g = (self.smooth([law.get(point, ZERO) for point in points], axes) for law in (first, second))
        ordered = ((*sorted((p, q)), point) for p, q, point in zip(f, g, points, strict=True) if p or q)
        return max(((high / low if low else INFINITE), point) for low, high, point in ordered)

    def smooth(self, masses: list[Decimal], axes: Sequence[Sequence[Any]]) -> list[Decimal]:
        stride = 1
        for axis in reversed(axes) if self.scale else ():
            decay = [self.decay(low, high) for low, high in pairwise(axis)]
            for start in range(len(masses)):
                if start // stride % len(axis) == 0:
                    line = slice(start, start + stride * len(axis), stride)
                    masses[line] = map(operator.add, *_recursions(masses[line], decay))
            stride *= len(axis)
        return masses

    def decay(self, low: Any, high: Any) -> Decimal:
        gap = _decimal(Fraction(high) - Fraction(low))
        if gap not in self.decays:
            self.decays[gap] = (-gap / self.scale).exp()
        return self.decays[gap]

    def excess(self, first: Law, second: Law) -> Decimal:
        """Return the hockey-stick divergence of two laws after the noise."""
        ratio = self.epsilon.exp()
        signed = {p: first.get(p, ZERO) - ratio * second.get(p, ZERO) for p in first.keys() | second.keys()}
        if not self.scale:
            return sum((mass for mass in signed.values() if mass > 0), ZERO)
        _require(len(next(iter(signed))) == 1, "several numbers with delta above 0")
        points: list[Any] = sorted(x for (x,) in signed)
        if whole := self.noise == "DiscreteLaplace":
            self.spend(int(points[-1] - points[0]))
            points = list(range(int(points[0]), int(points[-1]) + 1))
        decay = [self.decay(low, high) for low, high in pairwise(points)]
        left, right = _recursions([signed.get((x,), ZERO) for x in points], decay)
        ends = max(ZERO, left[0] + right[0]) + max(ZERO, left[-1])
        if whole:
            q = self.decay(0, 1)
            inner = sum(max(ZERO, a + b) for a, b in zip(left, right, strict=True))
            return (inner + ends * q / (1 - q)) * (1 - q) / (1 + q)
        for a, b, r in zip(left, right, decay, strict=False):
            # between two atoms the density is a exp(-t) + b exp(t): it changes its sign at most once
            turn = min(max((-a / b).sqrt(), ONE), 1 / r) if a * b < 0 else ONE
            for low, high in ((ONE, turn), (turn, 1 / r)):
                ends += max(ZERO, a * (1 / low - 1 / high) + b * (high - low))
        return ends / 2

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
            both, parts = self.stacked(secret), defaultdict[int, Law](_law)
            for record, _, p in self.records(self.network, theta, both):
                key = both.key(record)
                parts[key[0]][key[1:]] += p
            if len(parts) > 2:
                return False
            low, high = min(parts), max(parts)
            if low < high:
                least, unit = both.exact([self.n * low])[0], Fraction(high - low, both.under[0])
                cases.append((parts[low], parts[high], _farthest(secret, self.n, least, unit)))
        moved = _decimal(sum((unit for _, unit in self.limits), Fraction(0)))
        rounding = moved / self.scale if self.scale else ZERO
        for first, second, records in cases:
            laws = [{tuple(map(Fraction, k, self.form.under)): p for k, p in law.items()} for law in (first, second)]
            told = records * (self.largest(_merged([laws[0]]), _merged([laws[1]]))[0].ln() + SLACK) + rounding
            self.seen, self.worst = 1, max(self.worst, told)
        return self.worst <= self.epsilon


def _summed(cells: Iterator[tuple[Any, Any]]) -> Law:
    found = _law()
    for key, mass in cells:
        found[key] += mass
    return found


def _text(pair: Any) -> str:
    return " against ".join(" or ".join(map(str, side)) for side in pair)


def _recursions(masses: Sequence[Decimal], decay: Sequence[Decimal]) -> tuple[list[Decimal], list[Decimal]]:
    """Return what reaches every point from itself and the left, and from the right, through noise that decays."""
    left, right = [masses[0]], [ZERO]
    for mass, r in zip(masses[1:], decay, strict=True):
        left.append(mass + left[-1] * r)
    for mass, r in zip(masses[:0:-1], decay[::-1], strict=True):
        right.append((mass + right[-1]) * r)
    return left, right[::-1]


def _values(law: Any) -> list[tuple[Any, Decimal]]:
    """Return the values of a column under a law, with their masses."""
    if "left_out" in law:
        _refuse(law["left_out"])
    masses = list(map(_number, law["masses"]))
    _require(min(masses) >= 0 and abs(sum(masses) - 1) < Decimal("1e-8"), "a law of a column")
    return [(value, mass / sum(masses)) for value, mass in zip(law["values"], masses, strict=True) if mass]


def _pairs(secret: Any, values: list[Fraction]) -> list[Any]:
    """Return the pairs of sets of possible values of a property that must not be told apart."""
    if "pairs" not in secret:
        most = secret.get("at_most", math.inf) * (1 + 1e-12)
        return [((a,), (b,)) for a, b in combinations(values, 2) if b - a <= most]
    close = Fraction(1, 10**9)
    return [
        [[v for v in values if any(abs(v - Fraction(x)) <= close * max(1, abs(v)) for x in side)] for side in pair]
        for pair in secret["pairs"]
    ]


def _farthest(secret: Any, n: int, least: Fraction, unit: Fraction) -> int:
    """Return how many records change at most from one secret of a pair to the other, for a property that counts."""
    if "pairs" not in secret:
        return min(n, math.floor(secret["at_most"] / unit * (1 + 1e-12))) if "at_most" in secret else n
    sides = [[[round((Fraction(x) - least) / unit) for x in side] for side in pair] for pair in secret["pairs"]]
    return max(abs(a - b) for first, second in sides for a in first for b in second)


def _declared(facts: Any, path: Path, trusted: list[str]) -> Any:
    """Return what a framework file declares, in the form of the facts that a calibration stores and must agree with."""
    toml = tomllib.loads(_read(path))
    network, known = toml.get("network", {}), toml["notion"] in NOTIONS and "chain" not in toml
    columns = {name: _column(column) for name, column in toml["columns"].items()}
    found: Any = {**facts, "notion": NOTIONS[toml["notion"]], "records": toml["records"]["count"], "columns": columns}
    _same(facts["notion"] == found["notion"] and facts["records"] == found["records"], "notion or number of records")
    _same(all(columns.get(name) == column for name, column in facts["columns"].items()), "columns")
    if "left_out" in facts:
        return found
    _require(known and not {"within", "attributes"} & network.keys(), "a network that is no list of tables")
    files = network["file"] if isinstance(network["file"], list) else [network["file"]]
    if all(name.endswith(".bif") for name in files):
        models = [_bif(_read(path.parent / name)) for name in files]
        merged = {n: {**node, "logs": [model[n]["logs"][0] for model in models]} for n, node in models[0].items()}
        _require(all(m[n]["parents"] == merged[n]["parents"] for m in models for n in merged), "parents in two orders")
        found["network"] = {"models": len(models), "nodes": merged, "driven": {}}
        stored, read = _Network(facts["network"]), _Network(found["network"])
        for name, theta in product(stored.states, range(len(models))):
            _same(_alike(stored.labelled(name, theta), read.labelled(name, theta)), f"tables of {name!r}")
    else:
        trusted.append("the tables of the network: its file is not read here")
    states: Any = {name: list(map(str, node["states"])) for name, node in found["network"]["nodes"].items()}
    found["protect"] = {n: _secret(each, facts["protect"][n], states[n]) for n, each in toml["protect"].items()}
    _same(facts["protect"].keys() == found["protect"].keys(), "protected columns")
    found["independent"] = [name for name, column in toml["columns"].items() if column.get("independent")]
    found["laws"] = {}
    for name, given in toml.get("laws", {}).items():
        found["laws"][name] = [
            _column_law(given[s] if name in states else given, columns[name]) for s in states.get(name, [0])
        ]
        both = zip(facts.get("laws", {}).get(name, []), found["laws"][name], strict=False)
        pairs = [(dict(_values(a)), dict(_values(b))) for a, b in both if not {"left_out"} & {*a, *b}]
        _same(all(_alike(a, b) for a, b in pairs), f"laws of {name!r}")
    return found


def _read(path: Path) -> str:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES).decode("utf-8-sig")


def _same(condition: object, what: str) -> None:
    if not condition:
        raise _StopError("fails", f"the calibration was made for other {what} than the framework file declares")


def _alike(stored: Mapping[Any, Decimal], declared: Mapping[Any, Decimal]) -> bool:
    cells = stored.keys() | declared.keys()
    return all(
        abs(stored.get(c, ZERO) - declared.get(c, ZERO)) <= Decimal("1e-9") * declared.get(c, ZERO) for c in cells
    )


def _column(facts: Any) -> Any:
    if facts["type"] == "categorical":
        return {"type": "categorical", "categories": facts["categories"]}
    steps = 2**20 if facts["type"] == "real" else facts["upper"] - facts["lower"]
    return {"type": facts["type"], "lower": facts["lower"], "upper": facts["upper"], "steps": steps}


def _secret(declared: Any, stored: Any, states: list[str]) -> Any:
    """Return a section [protect.NAME] as a calibration stores it; what it stores must agree."""
    listed = declared.get("pairs", [] if "property" in declared else list(combinations(states, 2)))
    pairs: list[Any] = [[side if isinstance(side, list) else [side] for side in pair] for pair in listed]
    known = stored.get("pairs", []) if "property" in declared else stored
    sets = [{frozenset(frozenset(map(str, side)) for side in pair) for pair in each} for each in (pairs, known)]
    _same(sets[0] == sets[1], "pairs of secrets")
    if "property" not in declared:
        return pairs
    plain = ["".join(each["property"].split()).replace("'", '"') for each in (declared, stored)]
    _same(plain[0] == plain[1] and declared.get("at_most") == stored.get("at_most"), "secrets")
    return {**stored, **({"pairs": pairs} if pairs else {})}


def _column_law(facts: Any, column: Any) -> Any:
    if "normal" in facts:
        return {"left_out": "not covered: a normal law"}
    values = column.get("categories", [0, 1])
    if "bernoulli" in facts:
        masses = [1 - facts["bernoulli"], facts["bernoulli"]]
    else:
        masses = [facts["categorical"].get(str(v).lower() if isinstance(v, bool) else str(v), 0) for v in values]
    return {"values": values, "masses": [float(mass).hex() for mass in masses]}


def _bif(text: str) -> dict[str, Any]:
    """Return the nodes of a file in the usual form of BIF: one table, or one row per states of the parents."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).replace('"', " ").replace(",", " ")
    declared = re.findall(r"variable\s+([^\s{]+)\s*\{[^{}]*\{([^{}]*)\}[^{}]*\}", text)
    states, nodes = {name: listed.split() for name, listed in declared}, dict[str, Any]()
    for name, given, body in re.findall(r"probability\s*\(\s*([^\s|)]+)\s*\|?([^)]*)\)\s*\{([^{}]*)\}", text):
        rows = {tuple(a.split()): b.split() for a, b in re.findall(r"\(([^)]*)\)([^;]*);", body)}
        cells = product(states[name], *(states[parent] for parent in given.split()))
        flat = (
            [rows[cell[1:]][states[name].index(cell[0])] for cell in cells] if rows else body.split(";")[0].split()[1:]
        )
        logs = [[Decimal(float(p)) for p in flat]]
        nodes[name] = {"states": states[name], "parents": given.split(), "logs": logs}
    return nodes
