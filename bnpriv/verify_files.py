"""What a stored calibration and a framework file declare, read for `bnpriv.verify` by code of its own.

Nothing of bnpriv is imported. Tables are decimals: a mass is 0 only where it is declared 0.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, NoReturn

from bnpriv.verify_bif import bif_nodes

Law = dict[Any, Decimal]

MOST_BYTES = 2**24
ZERO, ONE, HALF, INFINITE = Decimal(0), Decimal(1), Decimal("0.5"), Decimal("Infinity")
PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986280348253421170679")
FRACTION = re.compile(r"-?[0-9]{1,2000}(?:/[0-9]{1,2000})?")
NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
DISTRIBUTIONAL, DATASET, VALUE = (
    f"{name} privacy" for name in ("distributional attribute", "dataset attribute", "value")
)
NOTIONS = {"distributional": DISTRIBUTIONAL, "dataset": DATASET, "value": VALUE}


class StopError(Exception):
    """The end of a check: a status and a text."""


def refuse(reason: str) -> NoReturn:
    """End with a reason that was stored, which starts with its verdict."""
    status, _, text = reason.partition(": ")
    raise StopError("too large" if status == "too large" else "not covered", text)


def require(condition: object, what: str) -> None:
    """End as not covered unless a condition holds."""
    if not condition:
        raise StopError("not covered", what)


def number(text: Any) -> Decimal:
    """Return a hexadecimal double."""
    return Decimal(float.fromhex(text))


def decimal(exact: Fraction) -> Decimal:
    """Return the nearest decimal."""
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _fraction(text: Any) -> Fraction:
    require(isinstance(text, str) and FRACTION.fullmatch(text), "a weight that is no fraction")
    return Fraction(text)


def summed(cells: Iterable[tuple[Any, Decimal]] = ()) -> Law:
    """Return a law from its masses, those of one key added up; what is not there has mass 0."""
    found: Law = defaultdict(Decimal)
    for key, mass in cells:
        found[key] += mass
    return found


def merged(laws: Sequence[Law]) -> Law:
    """Return the sum of some laws, divided by its mass; empty if there is none."""
    found = summed(item for law in laws for item in law.items())
    total = sum(found.values())
    return {key: mass / total for key, mass in found.items() if mass}


class Nodes:
    """States, parents and tables: for every node and model a dict from (own state, *parents' states) to a mass."""

    def __init__(self, facts: Any) -> None:
        self.models, self.nodes, self.driven = facts["models"], facts["nodes"], facts["driven"]
        self.states = {name: node["states"] for name, node in self.nodes.items()}
        self.axes = {name: (name, *node["parents"]) for name, node in self.nodes.items()}
        self.tables = {name: [self.table(name, each) for each in node["logs"]] for name, node in self.nodes.items()}
        require(all(len(tables) in (1, self.models) for tables in self.tables.values()), "the number of models")

    def table(self, name: str, flat: Any) -> Law:
        """Read the own state as the slowest index, the last parent's as the fastest; divide columns by their sums."""
        masses = [number(each).exp() if isinstance(each, str) else each for each in flat]
        width = math.prod(len(self.states[each]) for each in self.axes[name][1:])
        require(len(masses) == width * len(self.states[name]) and min(masses) >= 0, f"the table of {name!r:.80}")
        sums = [sum(masses[k::width]) for k in range(width)]
        require(all(abs(each - 1) < Decimal("0.02") for each in sums), f"a column of {name!r:.80} that is no law")
        cells = product(*(range(len(self.states[each])) for each in self.axes[name]))
        return {cell: p / sums[k % width] for k, (cell, p) in enumerate(zip(cells, masses, strict=True)) if p}

    def labelled(self, name: str, theta: int) -> Law:
        """Return a table whose cells are named by attributes and states, in whatever order these are declared."""
        named = ((zip(self.axes[name], cell, strict=True), p) for cell, p in self.at(name, theta).items())
        return {frozenset((each, str(self.states[each][k])) for each, k in pairs): p for pairs, p in named}

    def at(self, name: str, theta: int) -> Law:
        """Return the table of a node in a model."""
        return self.tables[name][min(theta, len(self.tables[name]) - 1)]

    def drivers(self, columns: Sequence[str]) -> list[str]:
        """Return the nodes that drive some columns, sorted."""
        found = {node for column in columns for node in self.driven.get(column, [column])}
        return sorted(found & self.states.keys())

    def joint(self, names: Sequence[str], theta: int, spend: Any) -> Law:
        """Return P(states of `names`), without cells of mass 0: node by node, keeping what is still needed."""
        order, live, cells = list[str](), list[str](), summed()
        self.above(names, order)
        cells[()] = ONE
        for k, name in enumerate(order):
            needed = {*names, *(parent for later in order[k + 1 :] for parent in self.axes[later][1:])}
            kept, grown, table = [each for each in (*live, name) if each in needed], summed(), self.at(name, theta)
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


class Form:
    """A query: terms summed over records, whole weights over one denominator per number, and an offset."""

    def __init__(self, facts: Any, columns: Any) -> None:
        if "left_out" in facts:
            refuse(facts["left_out"])
        self.terms, self.columns = facts["terms"], columns
        rows = [{int(k): _fraction(weight) for k, weight in row} for row in facts["matrix"]]
        self.under = [math.lcm(*(weight.denominator for weight in row.values())) for row in rows]
        self.rows = [{k: int(w * u) for k, w in row.items()} for row, u in zip(rows, self.under, strict=True)]
        self.offset = [_fraction(shift) for shift in facts["offset"]]
        require(len(self.offset) == len(rows) > 0, "a query without numbers")
        self.cuts = defaultdict[str, list[Any]](list)
        for kind, name, value in [leaf for term in self.terms if term[0] == "indicator" for leaf in _leaves(term[1])]:
            self.cuts[name] += value if kind == "in" else [value]
        self.reads = sorted({*self.cuts, *(n for t in self.terms if t[0] != "indicator" for n in _powers(t))})

    def step(self, name: str, value: Any) -> int:
        """Return the grid step of a value, in doubles as every engine computes it."""
        lower, upper = float(self.columns[name]["lower"]), float(self.columns[name]["upper"])
        if self.columns[name]["type"] == "integer":
            return math.floor(float(value) + 0.5) - int(lower)
        return math.floor((float(value) - lower) * (self.columns[name]["steps"] / (upper - lower)) + 0.5)

    def ranges(self, name: str, cuts: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Return the ends of the ranges of a column of numbers into which some numbers cut it, themselves included."""
        lower, upper = self.columns[name]["lower"], self.columns[name]["upper"]
        whole = self.columns[name]["type"] == "integer"
        ends = {end for c in cuts for end in ((math.floor(c), math.ceil(c)) if whole else (float(c),))}
        points = sorted({lower, upper, *(end for end in ends if lower < end < upper)})
        gaps = [(a + 1, b - 1) if whole else (math.nextafter(a, b), math.nextafter(b, a)) for a, b in pairwise(points)]
        return [*((point, point) for point in points), *(gap for gap in gaps if gap[0] <= gap[1])]

    def extremes(self, name: str, weights: Sequence[Fraction]) -> list[Any]:
        """Return values of a column such that some table of them moves the weighted answer as far as any table."""
        column = self.columns[name]
        if column["type"] == "categorical":
            return column["categories"]
        found = {end for ends in self.ranges(name, self.cuts[name]) for end in ends}
        grid = (Fraction(column["upper"]) - Fraction(column["lower"])) / column["steps"]
        for k in self.vertices(name, weights):
            found |= {type(column["upper"])(column["lower"] + k * grid)} if 0 <= k <= column["steps"] else set()
        return sorted(found)

    def vertices(self, name: str, weights: Sequence[Fraction]) -> set[int]:
        """Return the grid steps beside the vertices of the parabolas that signed sums of weighted numbers are."""
        places = {t[2]: k for k, t in enumerate(self.terms) if t[0] == "steps" and t[1] == name}
        rows = [
            tuple(weight * Fraction(row.get(places.get(e, -1), 0), u) for e in (1, 2))
            for weight, row, u in zip(weights, self.rows, self.under, strict=True)
        ]
        found = set[int]()
        bent = 2 in places and any(term[0] == "product" and name in _powers(term) for term in self.terms)
        require(not bent, "squares of a column beside its product with another")
        rows = [row for row in rows if any(row)]
        for signs in product((1, -1), repeat=len(rows)) if 2 in places else ():
            one, two = (sum(map(operator.mul, signs, each), Fraction(0)) for each in zip(*rows, strict=True))
            found |= {math.floor(-one / (2 * two)), math.ceil(-one / (2 * two))} if two else set[int]()
        return found

    def values(self, name: str, law: Any) -> list[tuple[Any, Decimal]]:
        """Return values that stand for all that a column holds under a law, with their masses."""
        if "left_out" in law:
            refuse(law["left_out"])
        if "mixture" in law:
            masses = finite({"values": range(len(law["mixture"])), "masses": [mass for mass, _ in law["mixture"]]})
            parts = {k: self.values(name, law["mixture"][k][1]) for k in masses}
            return [(value, mass * masses[k]) for k, part in parts.items() for value, mass in part]
        if "uniform" in law:
            return self.evenly(name, law["uniform"])
        if "normal" not in law:
            return list(finite(law).items())
        column, (mean, deviation), cuts = self.columns[name], map(number, law["normal"]), list(self.cuts[name])
        require(deviation > 0 and mean.is_finite() and deviation.is_finite(), "a normal law")
        lower, upper, half = column["lower"], column["upper"], Fraction(column["type"] == "integer", 2)
        cuts += self.between_steps(name)
        found = list[tuple[Any, Decimal]]()
        with localcontext(prec=110):
            for low, high in self.ranges(name, cuts):
                middle, ends = (low if half else (Fraction(low) + Fraction(high)) / 2), (low - half, high + half)
                if not half and low < high:
                    ends = (math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
                left = -INFINITE if low == lower else (decimal(Fraction(ends[0])) - mean) / deviation
                right = INFINITE if high == upper else (decimal(Fraction(ends[1])) - mean) / deviation
                found.append((middle, normal(left, right)))
        return [(value, mass) for value, mass in found if mass]

    def between_steps(self, name: str) -> list[float]:
        """Return where the grid steps of a column that is summed meet."""
        column = self.columns[name]
        if not any(term[0] != "indicator" and name in _powers(term) for term in self.terms):
            return []
        require(column["steps"] <= 1000, "a sum of a density on more than 1,000 grid steps")
        lower, half = column["lower"], Fraction(column["type"] == "integer", 2)
        grid = (Fraction(column["upper"]) - Fraction(lower)) / column["steps"]
        return [float(lower + (k + Fraction(1, 2) + half) * grid) for k in range(column["steps"])]

    def evenly(self, name: str, ends: Any) -> list[tuple[Any, Decimal]]:
        """Return values and masses of numbers that lie evenly between two ends, or on whole numbers from one on."""
        whole = self.columns[name]["type"] == "integer"
        first, last = ends if whole else map(float.fromhex, ends)
        require(self.columns[name]["lower"] <= first <= last <= self.columns[name]["upper"], "a bin of a column")
        found = list[tuple[Any, Decimal]]()
        for low, high in self.ranges(name, [*self.cuts[name], *self.between_steps(name), first, last]):
            if whole:
                inside, width = max(0, min(high, last) - max(low, first) + 1), last - first + 1
            else:
                left, right = (
                    (low, high) if low == high else (math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
                )
                inside = max(Fraction(0), min(Fraction(right), Fraction(last)) - max(Fraction(left), Fraction(first)))
                width = Fraction(last) - Fraction(first)
            middle = low if whole else (Fraction(low) + Fraction(high)) / 2
            found.append((middle, decimal(Fraction(inside) / Fraction(width))))
        return [(value, mass) for value, mass in found if mass]

    def holds(self, predicate: Any, record: Mapping[str, Any]) -> bool:
        """Return whether a record satisfies a predicate."""
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
            else math.prod(self.step(name, record[name]) ** power for name, power in _powers(term).items())
            for term in self.terms
        ]
        return tuple(sum(weight * found[k] for k, weight in row.items()) for row in self.rows)

    def exact(self, sums: Sequence[int]) -> tuple[Fraction, ...]:
        """Return the exact answer from the sums of what records add."""
        return tuple(Fraction(k, u) + shift for k, u, shift in zip(sums, self.under, self.offset, strict=False))


def _powers(term: Any) -> dict[str, int]:
    """Return the powers of grid steps whose product a term sums."""
    return {term[1]: 1, term[2]: 1} if term[0] == "product" else {term[1]: term[2]}


def _leaves(predicate: Any) -> list[Any]:
    inner = predicate[0] in ("and", "or", "not")
    return [leaf for part in predicate[1:] for leaf in _leaves(part)] if inner else [predicate]


def finite(law: Any) -> Law:
    """Return a law of finitely many values."""
    masses = list(map(number, law["masses"]))
    require(min(masses) >= 0 and abs(sum(masses) - 1) < Decimal("1e-8"), "a law of a column")
    return {value: mass / sum(masses) for value, mass in zip(law["values"], masses, strict=True) if mass}


def tail(z: Decimal) -> Decimal:
    """Return P(Z > z) for a standard normal Z and z >= 0: a series of positive terms, or a continued fraction."""
    if z.is_infinite():
        return ZERO
    density = (-z * z / 2).exp() / (2 * PI).sqrt()
    if z > 6:
        under = z
        for k in range(1000, 0, -1):
            under = z + k / under
        return density / under
    term = total = z
    for k in range(3, 1000, 2):
        term *= z * z / k
        total += term
    return HALF - density * total


def normal(low: Decimal, high: Decimal) -> Decimal:
    """Return P(low < Z < high)."""
    if high - low < Decimal("1e-32"):  # the density of the middle is right to twice as many digits
        return (high - low) * (-(((low + high) / 2) ** 2) / 2).exp() / (2 * PI).sqrt()
    if low < 0 < high:
        return 1 - tail(-low) - tail(high)
    return tail(low) - tail(high) if low >= 0 else tail(-high) - tail(-low)


def shown(pair: Any) -> str:
    """Return a pair of secrets in words."""
    return " against ".join(" or ".join(map(str, side)) for side in pair)


def pairs_of(secret: Any, values: list[Fraction]) -> list[Any]:
    """Return the pairs of sets of possible values of a property that must not be told apart."""
    if "pairs" not in secret:
        most = secret.get("at_most", math.inf) * (1 + 1e-12)
        return [((a,), (b,)) for a, b in combinations(values, 2) if b - a <= most]
    return [[sorted({v for x in side for v in _meant(x, values)}) for side in pair] for pair in secret["pairs"]]


def _meant(number: Any, values: Sequence[Fraction]) -> list[Fraction]:
    """Return the values that are rounded to a number; if there is none, the nearest one, unless it is far off."""
    if not values:
        return []
    exact = Fraction(number)
    nearest = min(values, key=lambda value: abs(value - exact))
    far = abs(nearest - exact) > Fraction(1, 10**9) * max(1, abs(exact))
    return [value for value in values if float(value) == number] or ([] if far else [nearest])


def farthest(secret: Any, n: int, least: Fraction, unit: Fraction) -> int:
    """Return how many records change at most from one secret of a pair to the other, for a property that counts."""
    if "pairs" not in secret:
        return min(n, math.floor(secret["at_most"] / unit * (1 + 1e-12))) if "at_most" in secret else n
    sides = [[[k for x in side for k in _counts(x, n, least, unit)] for side in pair] for pair in secret["pairs"]]
    return max((abs(a - b) for first, second in sides for a in first for b in second), default=0)


def _counts(number: Any, n: int, least: Fraction, unit: Fraction) -> list[int]:
    """Return how many records may count where a property that counts is written as a number."""
    first, last = ((Fraction(number) + sign * Fraction(math.ulp(number)) - least) / unit for sign in (-1, 1))
    around = range(max(0, math.floor(first)), min(n, math.ceil(last)) + 1)
    require(len(around) <= 10**5, "a value of a secret that stands for very many")
    values = [least + k * unit for k in around]
    return [around[values.index(value)] for value in _meant(number, values)]


def declared(facts: Any, path: Path, trusted: list[str]) -> Any:
    """Return what a framework file declares, in the form of the facts that a calibration stores and must agree with."""
    try:
        toml = tomllib.loads(_read(path))
    except ValueError:
        raise StopError("not covered", f"{path.name!r:.80}, which is no TOML in UTF-8") from None
    network, known = toml.get("network", {}), toml["notion"] in NOTIONS and "chain" not in toml
    columns = {name: _column(column) for name, column in toml["columns"].items()}
    found: Any = {**facts, "notion": NOTIONS[toml["notion"]], "records": toml["records"]["count"], "columns": columns}
    _same(facts["notion"] == found["notion"] and facts["records"] == found["records"], "notion or number of records")
    _same(all(columns.get(name) == column for name, column in facts["columns"].items()), "columns")
    if "left_out" in facts:
        return found
    require(known and not {"within", "attributes"} & network.keys(), "a network that is no list of tables")
    files = network["file"] if isinstance(network["file"], list) else [network["file"]]
    if all(name.endswith(".bif") for name in files):
        models = [bif_nodes(_read(path.parent / name)) for name in files]
        merged = {n: {**node, "logs": [model[n]["logs"][0] for model in models]} for n, node in models[0].items()}
        require(all(m[n]["parents"] == merged[n]["parents"] for m in models for n in merged), "parents in two orders")
        found["network"] = {"models": len(models), "nodes": merged, "driven": {}}
        stored, read = Nodes(facts["network"]), Nodes(found["network"])
        for name, theta in product(stored.states, range(len(models))):
            _same(_alike(stored.labelled(name, theta), read.labelled(name, theta)), f"tables of {name!r}")
    else:
        trusted.append("the tables of the network: its file is not read here")
    states: Any = {name: list(map(str, node["states"])) for name, node in found["network"]["nodes"].items()}
    found["protect"] = {n: _secret(each, facts["protect"][n], states[n]) for n, each in toml["protect"].items()}
    _same(facts["protect"].keys() == found["protect"].keys(), "protected columns")
    found["independent"] = [name for name, column in toml["columns"].items() if column.get("independent")]
    found["laws"] = {}
    kept = states.keys() | set(found["independent"])  # nothing that counts depends on a node that was left out
    for name, given in toml.get("laws", {}).items():
        if name not in kept:
            continue
        found["laws"][name] = [
            _column_law(given[s] if name in states else given, columns[name]) for s in states.get(name, [0])
        ]
        both = zip(facts.get("laws", {}).get(name, []), found["laws"][name], strict=False)
        _same(all(_same_law(a, b) for a, b in both), f"laws of {name!r}")
    return found


def _read(path: Path) -> str:
    require(path.is_file(), f"{path.name!r:.80}, which is no regular file")  # a pipe might never end
    with open(path, "rb") as file:
        return file.read(MOST_BYTES).decode("utf-8-sig")


def _same(condition: object, what: str) -> None:
    if not condition:
        raise StopError("fails", f"the calibration differs from the framework file in its {what}")


def _alike(stored: Mapping[Any, Decimal], declared: Mapping[Any, Decimal]) -> bool:
    cells = stored.keys() | declared.keys()
    return all(
        abs(stored.get(c, ZERO) - declared.get(c, ZERO)) <= Decimal("1e-9") * declared.get(c, ZERO) for c in cells
    )


def _same_law(stored: Any, declared: Any) -> bool:
    return (
        _alike(finite(stored), finite(declared)) if "masses" in stored and "masses" in declared else stored == declared
    )


def _column(facts: Any) -> Any:
    if facts["type"] == "categorical":
        return {"type": "categorical", "categories": facts["categories"]}
    what = "columns of bins in a framework file; without the file their numbers in the calibration are replayed"
    require(facts["type"] != "binned", what)
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
        require(all({*side} <= {*states} for pair in pairs for side in pair), "a secret that is no state")
        return pairs
    plain = ["".join(each["property"].split()).replace("'", '"') for each in (declared, stored)]
    _same(plain[0] == plain[1] and declared.get("at_most") == stored.get("at_most"), "secrets")
    return {**stored, **({"pairs": pairs} if pairs else {})}


def _column_law(facts: Any, column: Any) -> Any:
    if "normal" in facts:
        return {"normal": [float(each).hex() for each in facts["normal"]]}
    if "values" in facts:
        numbers = sorted((float(value), mass) for value, mass in facts["values"].items())
        return {"values": [value for value, _ in numbers], "masses": [float(mass).hex() for _, mass in numbers]}
    values = column.get("categories", [0, 1])
    if "bernoulli" in facts:
        masses = [1 - facts["bernoulli"], facts["bernoulli"]]
    else:
        masses = [facts["categorical"].get(str(v).lower() if isinstance(v, bool) else str(v), 0) for v in values]
    return {"values": values, "masses": [float(mass).hex() for mass in masses]}
