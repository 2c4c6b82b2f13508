"""The tables of a network as decimals: a mass is 0 only where it is declared 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import product
from typing import Any

from bnpriv.verify.values import ONE, Law, number, require, summed


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
        """A table whose cells are named by attributes and states, in whatever order these are declared."""
        named = ((zip(self.axes[name], cell, strict=True), p) for cell, p in self.at(name, theta).items())
        return {frozenset((each, str(self.states[each][k])) for each, k in pairs): p for pairs, p in named}

    def at(self, name: str, theta: int) -> Law:
        """The table of a node in a model."""
        return self.tables[name][min(theta, len(self.tables[name]) - 1)]

    def drivers(self, columns: Sequence[str]) -> list[str]:
        """The nodes that drive some columns, sorted."""
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
