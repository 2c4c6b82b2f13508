"""What every random variable of a model is to bnpriv: a parameter, a column of the table, or fixed by a posterior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast, final

from bnpriv.adapters.pymc.sets import Element
from bnpriv.adapters.pymc.structure import Structure, Variable
from bnpriv.bound import FloatArray
from bnpriv.checks import listing, type_text
from bnpriv.errors import NetworkError

Columns = Mapping[str, str] | Iterable[str] | str | None


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Roles:
    """The variables of a model by role.

    Parameters
    ----------
    structure : Structure
    fixed : mapping from str to ndarray of shape (draws, *shape)
        Variables that are fixed to draws of a posterior.
    columns : mapping from str to tuple of Element
        For every column the elements of a random variable that are its values, or the parameter that governs it.
    own : frozenset of str
        The variables that are columns.
    unused : frozenset of str
        Observed variables that are neither: what is known from them is in the posterior.
    """

    structure: Structure
    fixed: Mapping[str, FloatArray]
    columns: Mapping[str, tuple[Element, ...]]
    own: frozenset[str]
    unused: frozenset[str]

    @cached_property
    def parameters(self) -> tuple[Variable, ...]:
        """Return the variables that are parameters, parents before children."""
        rest = self.own | self.unused | self.fixed.keys()
        return tuple(variable for name, variable in self.structure.variables.items() if name not in rest)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of the variables that are parameters."""
        return frozenset(variable.name for variable in self.parameters)

    @property
    def models(self) -> int:
        """Return how many models there are: draws, or one."""
        return next((len(draws) for draws in self.fixed.values()), 1)

    @cached_property
    def single(self) -> frozenset[str]:
        """Return the variables of which every column holds one element: that stands for one record, whichever it is."""
        return self.own.difference(each[0][0] for each in self.columns.values() if len(each) > 1)

    def models_of(self, variable: Variable) -> int:
        """Return how many laws a variable has given its parents: one, or as many as there are draws."""
        return self.models if any(name in self.fixed for name in variable.parents) else 1

    def above(self, element: Element) -> tuple[Element, ...]:
        """Return the parameters that the law of an element depends on, in the order of the model.

        Entries of a vector with a joint law depend on those before them.
        """
        variable = self.structure.variables[element[0]]
        found = [each for each in variable.above[element[1]] if each[0] in self.names]
        if variable.is_joint and element[0] in self.names:
            found += [(element[0], k) for k in range(element[1])]
        return tuple(sorted(set(found), key=self._rank.__getitem__))

    def drivers(self, column: str) -> tuple[str, ...]:
        """Return the parameters that a column depends on, by itself or through other columns."""
        found: set[Element] = set()
        todo, seen = list(self.columns[column]), set[Element]()
        while todo:
            element = todo.pop()
            if element in seen:
                continue
            seen.add(element)
            if element[0] in self.names:
                found.add(element)
            elif element[0] not in self.fixed:
                todo += self.structure.variables[element[0]].above[element[1]]
        return tuple(self.structure.element(each) for each in sorted(found, key=self._rank.__getitem__))

    @cached_property
    def _rank(self) -> Mapping[Element, int]:
        every = ((name, k) for name, variable in self.structure.variables.items() for k in range(variable.size))
        return {element: rank for rank, element in enumerate(every)}


def roles_of(
    structure: Structure, columns: Columns, fixed: Mapping[str, FloatArray], known: Collection[str] = ()
) -> Roles:
    """Return the role of every variable; those that are `known` have draws too, but stay parameters.

    Raises
    ------
    NetworkError
        If a column is no random variable, observed data lie among the parameters, or a variable above a fixed one is
        not fixed.
    """
    declared = declared_columns(structure, columns)
    held = [each for elements in declared.values() for each in elements if structure.is_column(each[0])]
    own = {name for name, _ in held}
    if twice := sorted({structure.element(each) for each, count in Counter(held).items() if count > 1}):
        raise NetworkError(
            "every column must have a random variable of its own",
            found=f"{twice[0]!r} in two columns",
            remedy="Query one of them, or declare as many variables as there are columns.",
        )
    unused = {v.name for v in structure.variables.values() if v.observed and v.name not in own}
    drawn = {*fixed, *known}
    _check_observed(structure, unused, drawn)
    for name in drawn:
        loose = [each for each in structure.variables[name].parents if each not in drawn and each not in unused]
        if loose:
            raise NetworkError(
                "all that lies above a variable with posterior draws must have draws too",
                found=f"none for {listing(loose)} above {name!r}",
                remedy="Pass the draws of both, or leave out the lower one.",
            )
    roles = Roles(
        structure=structure, fixed=fixed, columns=declared, own=frozenset(own), unused=frozenset(unused - fixed.keys())
    )
    if not roles.parameters and not roles.columns and not fixed:
        raise NetworkError(
            "a model needs a parameter to protect, or columns", found="neither", remedy="Add random variables to it."
        )
    return roles


def declared_columns(structure: Structure, columns: Columns) -> dict[str, tuple[Element, ...]]:
    """Return for every column the elements of a variable that are its values, or the parameter that governs it.

    Raises
    ------
    NetworkError
        If a column is no random variable, or two have one name.
    """
    if columns is None:
        observed = [v for v in structure.variables.values() if v.observed and structure.is_column(v.name)]
        return {name: found for variable in observed for name, found in _of_variable(structure, variable).items()}
    if isinstance(columns, str):
        columns = [columns]
    if not isinstance(columns, Iterable):
        raise NetworkError("columns must be names", found=type_text(columns), remedy="Pass a list of them.")
    sources = cast("Mapping[str, str]", columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    found: dict[str, tuple[Element, ...]] = {}
    for column, source in sources.items():
        if source in structure.variables:
            variable = structure.variables[source]
            if not structure.is_column(source) and variable.size > 1:
                raise NetworkError(
                    f"column {column!r} needs one parameter",
                    found=f"the {variable.size} entries of {source!r}",
                    remedy=f"Name one of them, for example {variable.names[0]!r}.",
                )
            parts = _of_variable(structure, variable)
            alone = len(parts) == 1
            held = {column if alone else name.replace(source, column, 1): each for name, each in parts.items()}
        elif source in structure.elements:
            held = {column: (structure.elements[source],)}
        else:
            raise NetworkError(
                f"column {column!r} must name a random variable of the model, or an element of one",
                found=repr(source),
                remedy=f"The random variables are {listing(structure.variables)}.",
            )
        if twice := held.keys() & found.keys():
            raise NetworkError(
                "columns must have names of their own", found=f"{listing(sorted(twice))} twice", remedy="Rename one."
            )
        found |= held
    return found


def _of_variable(structure: Structure, variable: Variable) -> dict[str, tuple[Element, ...]]:
    """Return the columns that a variable holds: one whose elements are the records, or one per entry of a row."""
    if len(variable.shape) < 2:
        return {variable.name: tuple((variable.name, k) for k in range(variable.size))}
    width = variable.shape[-1]
    labels = [variable.names[k][len(variable.name) + 1 : -1].rsplit(", ", 1)[-1] for k in range(width)]
    places = {
        label: tuple((variable.name, k) for k in range(j, variable.size, width)) for j, label in enumerate(labels)
    }
    return {f"{variable.name}[{label}]": elements for label, elements in places.items()}


def _check_observed(structure: Structure, unused: Iterable[str], drawn: Iterable[str]) -> None:
    for name in unused:
        above = set(structure.variables[name].parents)
        if structure.children[name] or not above <= {*drawn, *unused}:
            raise NetworkError(
                "observed data among the parameters need posterior=",
                found=f"data for {name!r}, which is no column at the end of the graph",
                remedy="Pass posterior=idata with draws of what is above it, name it in columns=, or remove the data.",
            )
