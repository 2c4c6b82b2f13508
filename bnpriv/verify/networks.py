"""Networks as calibrations store them: of tables, of tables between ends, and of normal attributes.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from bnpriv.verify.forms import INFINITE, MOST_STORED_MODELS, ONE, ZERO, Law, number, require, summed, united

# --------------------------------------------------------------------------------------------------
# The tables of a network as decimals: a mass is 0 only where it is declared 0.
# --------------------------------------------------------------------------------------------------


class Ancestry:
    """The nodes of networks, their parents, and the columns that they drive."""

    states: dict[str, Any]
    axes: dict[str, tuple[str, ...]]
    driven: dict[str, list[str]]

    def drivers(self, columns: Sequence[str]) -> list[str]:
        """The nodes that drive some columns, sorted."""
        found = {node for column in columns for node in self.driven.get(column, [column])}
        return sorted(found & self.states.keys())

    def above(self, names: Sequence[str], order: list[str]) -> None:
        """List nodes and their ancestors, parents first."""
        for name in names:
            if name not in order:
                self.above(self.axes[name][1:], order)
                order.append(name)


class Nodes(Ancestry):
    """States, parents and tables: for every node and model a dict from (own state, *parents' states) to a mass.

    Where models have graphs of their own, `parts` are those of one graph each, in the order of the models.
    """

    def __init__(self, facts: Any) -> None:
        self.models, self.nodes, self.driven = facts["models"], facts["nodes"], facts["driven"]
        self.parts = [Nodes(each) for each in facts.get("graphs", ())]
        if self.parts:
            require(sum(part.models for part in self.parts) == self.models, "the number of models")
            self.states = {name: states for part in self.parts for name, states in part.states.items()}
            known = all(self.states[name] == states for part in self.parts for name, states in part.states.items())
            require(known, "states in two orders")
            return
        self.states = {name: node["states"] for name, node in self.nodes.items()}
        self.axes = {name: (name, *node["parents"]) for name, node in self.nodes.items()}
        self.tables = {name: [self.table(name, each) for each in node["logs"]] for name, node in self.nodes.items()}
        known = all(len(tables) in (1, self.models) for tables in self.tables.values())
        require(known and 0 < self.models <= MOST_STORED_MODELS, "the number of models")

    def table(self, name: str, flat: Any) -> Law:
        """Read the own state as the slowest index, the last parent's as the fastest; divide columns by their sums."""
        masses = [number(each).exp() if isinstance(each, str) else each for each in flat]
        width = math.prod(len(self.states[each]) for each in self.axes[name][1:])
        require(len(masses) == width * len(self.states[name]) and min(masses) >= 0, f"the table of {name!r:.80}")
        sums = [sum(masses[k::width]) for k in range(width)]
        require(
            all(abs(each - 1) < Decimal("0.02") for each in sums), f"a column of {name!r:.80} that is no distribution"
        )
        cells = product(*(range(len(self.states[each])) for each in self.axes[name]))
        return {cell: p / sums[k % width] for k, (cell, p) in enumerate(zip(cells, masses, strict=True)) if p}

    def of(self, theta: int) -> tuple[Nodes, int]:
        """The part that holds a model, and its number there."""
        for part in self.parts:
            if theta < part.models:
                return part, theta
            theta -= part.models
        return self, theta

    def labelled(self, name: str, theta: int) -> Law | None:
        """A table whose cells are named by attributes and states in any order; None where the model lacks the node."""
        if self.parts:
            part, theta = self.of(theta)
            return part.labelled(name, theta)
        if name not in self.states:
            return None
        named = ((zip(self.axes[name], cell, strict=True), p) for cell, p in self.at(name, theta).items())
        return {frozenset((each, str(self.states[each][k])) for each, k in pairs): p for pairs, p in named}

    def at(self, name: str, theta: int) -> Law:
        """The table of a node in a model."""
        return self.tables[name][min(theta, len(self.tables[name]) - 1)]

    def joint(self, names: Sequence[str], theta: int, spend: Any) -> Law:
        """Return P(states of `names`), without cells of mass 0: node by node, keeping what is still needed."""
        if self.parts:
            part, theta = self.of(theta)
            return part.joint(names, theta, spend)
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


# --------------------------------------------------------------------------------------------------
# Attributes that are jointly normal.
# --------------------------------------------------------------------------------------------------


class NormalNodes(Ancestry):
    """Attributes that are jointly normal under every model, and the columns that they drive."""

    def __init__(self, facts: Any) -> None:
        self.models, self.driven = facts["models"], facts["driven"]
        require(type(self.models) is int and 0 < self.models <= MOST_STORED_MODELS, "the number of models")
        self.regressions, self.given = facts.get("regressions", {}), facts.get("covariance")
        self.names: list[str] = list(self.regressions) or facts["attributes"]
        self.means = facts.get("mean")
        self.states = dict.fromkeys(self.names, ())

    def law(self, theta: int) -> tuple[dict[str, Decimal], dict[tuple[str, str], Decimal]]:
        """The means and the covariances of all attributes under a model."""
        if self.given is not None:
            means = dict(zip(self.names, map(number, _of(self.means, theta)), strict=True))
            rows = [list(map(number, row)) for row in _of(self.given, theta)]
            places = {name: k for k, name in enumerate(self.names)}
            pairs = ((a, b, *sorted((places[a], places[b]))) for a in self.names for b in self.names)
            return means, {(a, b): rows[high][low] for a, b, low, high in pairs}
        means, roots = dict[str, Decimal](), dict[str, dict[str, Decimal]]()
        todo = list(self.names)
        while todo:
            name = todo.pop(0)
            row = self.regressions[name]
            slopes = {parent: number(_of(slope, theta)) for parent, slope in row["coefficients"].items()}
            if not slopes.keys() <= roots.keys():
                require(any(not self.regressions[n]["coefficients"].keys() - roots.keys() for n in todo), "a cycle")
                todo.append(name)
                continue
            deviation = number(_of(row["deviation"], theta))
            require(deviation > 0, "a deviation that is not above 0")
            means[name] = number(_of(row["intercept"], theta)) + sum(s * means[p] for p, s in slopes.items())
            roots[name] = {name: deviation}
            for parent, slope in slopes.items():
                for source, size in roots[parent].items():
                    roots[name][source] = roots[name].get(source, ZERO) + slope * size
        return means, {
            (a, b): sum((x * roots[b].get(s, ZERO) for s, x in roots[a].items()), ZERO) for a in roots for b in roots
        }


def _of(several: Sequence[Any], theta: int) -> Any:
    """What belongs to a model; one stands for all."""
    return several[theta if len(several) > 1 else 0]


# --------------------------------------------------------------------------------------------------
# All networks whose probabilities lie between ends (docs/claims/intervals.md).
#
# A column of a table is any distribution between its ends, whatever the others are. What columns tell is the largest
# at vertices: one choice for both secrets, or one for each, where that is no less.
# --------------------------------------------------------------------------------------------------

SEGMENT_PIECES = 32
"""Into how many pieces a segment is cut whose columns enter both secrets and their priors."""

OFF_ONE = Decimal("1e-9")
"""By how much a column may miss a sum of one."""

PlaceInTable = tuple[int, ...]


class IntervalNodes(Ancestry):
    """Networks of tables between ends: for every node the vertices of each column, by its parents' states."""

    def __init__(self, facts: Any) -> None:
        self.models, self.parts, self.driven, nodes = 1, [], facts["driven"], facts["nodes"]
        self.states = {name: node["states"] for name, node in nodes.items()}
        self.axes = {name: (name, *node["parents"]) for name, node in nodes.items()}
        self.columns = dict[tuple[str, PlaceInTable], list[list[Decimal]]]()
        for name, node in nodes.items():
            ends = [[number(x) if isinstance(x, str) else x for x in node[end]] for end in ("lower", "upper")]
            places = list(product(*(range(len(self.states[each])) for each in node["parents"])))
            size = len(places)
            require(all(len(each) == size * len(node["states"]) for each in ends), f"the table of {name!r:.80}")
            for k, place in enumerate(places):
                self.columns[name, place] = vertices(ends[0][k::size], ends[1][k::size])

    def told(self, name: str, seen: Sequence[str], pair: Any, enough: Decimal, spend: Any) -> Decimal:
        """A bound on the log ratio over all networks of what is seen given the sides of a pair; below 0 if one is none.

        It is the least that is known, or at most `enough`.
        """
        sides = [[k for k, state in enumerate(self.states[name]) if state in side] for side in pair]
        order = list[str]()
        self.above([name, *seen], order)
        families = united({x, *self.axes[x]} - {name} for x in order if {x, *self.axes[x]} - {name})
        parts = [part for part in families if part & {*seen}]
        own = list[str]()
        self.above([name], own)
        for side in sides:  # a state that no network allows is no constraint
            if not any(map(self.possible, self.rows(name, own, side))):
                return -ONE
        told = ZERO
        for a, b in product(*sides):
            alone = [part for part in parts if not part & {*self.axes[name][1:]}]
            found = sum((self.part(name, part, seen, ([a], [b]), INFINITE, spend) for part in alone), ZERO)
            for part in parts:  # one at most enters the priors too
                found += ZERO if part in alone else self.part(name, part, seen, ([a], [b]), enough - found, spend)
            told = max(told, found)
        if told > enough and max(map(len, sides)) > 1:
            told = min(told, self.part(name, {*order}, seen, (sides[0], sides[1]), enough, spend))
        return told

    def possible(self, row: Any) -> bool:
        """Whether some network allows a product of columns."""
        pairs: list[tuple[Any, int]] = row
        return all(max(column[k] for column in self.columns[key]) for key, k in pairs)

    def rows(self, name: str, names: Sequence[str], side: Sequence[int], fixed: Mapping[str, int] | None = None) -> Any:
        """Return, for all states of some attributes, the columns whose product is their mass, with the own state."""
        fixed = fixed or {}
        options = [side if x == name else [fixed[x]] if x in fixed else range(len(self.states[x])) for x in names]
        found = list[list[Any]]()
        for values in product(*options, *([side] if name not in names else [])):
            known = dict(zip([*names, name], values, strict=False))
            found.append([((x, tuple(known[each] for each in self.axes[x][1:])), known[x]) for x in names])
        return found

    def part(
        self, name: str, inside: set[str], given: Sequence[str], sides: Any, enough: Decimal, spend: Any
    ) -> Decimal:
        """The largest log ratio given two sides, of attributes that are independent of all others given the state."""
        points, order, own = all(len(side) == 1 for side in sides), list[str](), list[str]()
        self.above([name, *inside], order)
        self.above([name], own)
        both = not points or bool(inside & {*self.axes[name][1:]})  # what lies above enters both secrets and priors
        names = [x for x in order if x in inside or (both and x == name)]
        priors: Any = [self.rows(name, own, side) for side in sides] if both else [[[]], [[]]]
        top, seen = ZERO, [x for x in given if x in inside]
        for values in product(*(range(len(self.states[x])) for x in seen)):
            fixed = dict(zip(seen, values, strict=True))
            rows = [self.rows(name, names, side, fixed) for side in sides]
            ratio = _Extreme(self, name, {*own} if both else set(), points, {*seen}).ratio(
                rows, priors, enough.exp(), spend
            )
            top = max(top, ratio)
            if top > enough.exp():
                break
        return top.ln() if top else ZERO


class _Extreme:
    """The largest ratio of two masses over all choices of the columns that they are made of."""

    def __init__(self, network: IntervalNodes, name: str, above: set[str], points: bool, seen: set[str]) -> None:
        self.network, self.name, self.lossy, self.points, self.seen = network, name, above, points, seen

    def options(self, key: Any, state: int) -> tuple[Any, list[Any]]:
        """By what a column is known, and what it may be: its vertices, or two ends where one entry of it counts."""
        x, columns = key[0], self.network.columns[key]
        alone = self.points and len(self.network.states[x]) > 2 if x == self.name else x in self.seen - self.lossy
        if not alone:
            return key, columns
        entries = [column[state] for column in columns]
        return (*key, state), [{state: end} for end in sorted({min(entries), max(entries)})]

    def ratio(self, rows: Any, priors: Any, enough: Decimal, spend: Any) -> Decimal:
        """The largest mass of one side over the least of the other, each over its prior."""
        known = dict[Any, list[Any]]()

        def named(table: Any) -> dict[tuple[Any, ...], Decimal]:
            """Products of columns that vary, with the sum of what does not of all of which they are a part."""
            found = summed()
            for row in table:
                pairs = [(*self.options(key, state), state) for key, state in row]
                known.update((var, options) for var, options, _ in pairs)
                share = math.prod((options[0][state] for _, options, state in pairs if len(options) == 1), start=ONE)
                found[tuple((var, state) for var, options, state in pairs if len(options) > 1)] += share
            return {factors: share for factors, share in found.items() if share}

        sides = [(named(own), named(prior)) for own, prior in zip(rows, priors, strict=True)]
        free = [var for var in known if len(known[var]) > 1]
        cut = [var for var in free if var[0] in self.lossy and len(var) == 2 and len(known[var]) == 2]
        joint = [var for var in free if var[0] not in self.lossy | {self.name} and self.name not in self.above(var[0])]
        used = [{var for table in side for factors in table for var, _ in factors} for side in sides]
        apart = [[var for var in free if var not in cut and var not in joint and var in each] for each in used]
        chosen, top = {var: options[0] for var, options in known.items()}, ZERO

        def extreme(k: int, best: Any) -> Decimal | None:
            found = list[Decimal]()
            for each in product(*(known[var] for var in apart[k])):
                chosen.update(zip(apart[k], each, strict=True))
                spend(sum(1 + len(factors) for table in sides[k] for factors in table))
                own, prior = (
                    sum((math.prod((chosen[v][j] for v, j in factors), start=p) for factors, p in table.items()), ZERO)
                    for table in sides[k]
                )
                found += [own / prior] if prior else []
            return best(found) if found else None

        for each in product(*(known[var] for var in joint)):
            chosen.update(zip(joint, each, strict=True))
            seen = dict[Any, Any]()
            todo = [((0,) * len(cut), (SEGMENT_PIECES,) * len(cut))]
            while todo:
                low, high = todo.pop()
                corners = list(product(*zip(low, high, strict=True)))
                for place in corners:
                    if place not in seen:
                        for var, k in zip(cut, place, strict=True):
                            first, second = known[var]
                            chosen[var] = _between(first, second, Decimal(k) / SEGMENT_PIECES)
                        seen[place] = extreme(0, max), extreme(1, min)
                above, below = ([seen[c][k] for c in corners if seen[c][k] is not None] for k in (0, 1))
                if not above or not below or not max(above):
                    continue
                found, wide = (
                    max(above) / min(below) if min(below) else INFINITE,
                    [b - a for a, b in zip(low, high, strict=True)],
                )
                if found <= enough or max(wide, default=1) == 1:
                    top = max(top, found)
                    if top > enough:
                        return top
                    continue
                k = wide.index(max(wide))
                middle = (low[k] + high[k]) // 2
                todo += [(low, (*high[:k], middle, *high[k + 1 :])), ((*low[:k], middle, *low[k + 1 :]), high)]
        return top

    def above(self, name: str) -> tuple[str, ...]:
        """The parents of a node."""
        return self.network.axes[name][1:]


def _between(first: Sequence[Decimal], second: Sequence[Decimal], share: Decimal) -> list[Decimal]:
    return [a + share * (b - a) for a, b in zip(first, second, strict=True)]


def vertices(lower: Sequence[Decimal], upper: Sequence[Decimal]) -> list[list[Decimal]]:
    """The vertices of all distributions between ends; ends that miss a sum of one by rounding are divided by theirs."""
    require(all(0 <= a <= b <= 1 for a, b in zip(lower, upper, strict=True)), "ends of probabilities")
    for ends in (lower, upper):
        if abs(sum(ends) - 1) <= OFF_ONE:
            return [[each / sum(ends) for each in ends]]
    require(sum(lower) < 1 < sum(upper), "ends between which no distribution lies")
    found = list[list[Decimal]]()
    for k in range(len(lower)):
        others = [j for j in range(len(lower)) if j != k]
        for sides in product((0, 1), repeat=len(others)):
            chosen = {j: (lower, upper)[side][j] for j, side in zip(others, sides, strict=True)}
            rest = 1 - sum(chosen.values(), ZERO)
            column = [chosen.get(j, rest) for j in range(len(lower))]
            if lower[k] <= rest <= upper[k] and column not in found:
                found.append(column)
    return found


def read_nodes(facts: Any) -> Any:
    """The networks that a calibration stores: of tables, or of ends of tables."""
    return (IntervalNodes if facts.get("ends") else Nodes)(facts)
