"""What every random variable of a model is to bnpriv, how long it takes to draw, and a hash of the model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member, near_first, type_text
from bnpriv.core.networks.base import ImportReport, NodeReading
from bnpriv.digest import sha256
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.backend import is_black_box
from bnpriv.io.pymc.expressions import Element, ancestors
from bnpriv.io.pymc.structure import Structure, Variable

# --------------------------------------------------------------------------------------------------
# What every random variable of a model is to bnpriv: a parameter, a column of the table, or fixed by a posterior.
# --------------------------------------------------------------------------------------------------

Columns = Mapping[str, str] | Iterable[str] | str | None


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
        variables = self.structure.variables.items()
        return tuple(variable for name, variable in variables if name not in rest and not variable.is_function)

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
        many = {each[0][0] for each in self.columns.values() if len(each) > 1}
        # with the columns that these are computed from
        made = [self.structure.variables[name] for name in many if self.structure.variables[name].is_function]
        many.update(above for variable in made for above in variable.parents)
        return self.own - many

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
        return tuple(sorted(set(found), key=self.rank.__getitem__))

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
        return tuple(self.structure.element(each) for each in sorted(found, key=self.rank.__getitem__))

    @cached_property
    def rank(self) -> Mapping[Element, int]:
        """Return the place of every element in the order of the model."""
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
    # what a column is computed from is in the table too
    made = [v for v in structure.variables.values() if v.is_function and v.name in own]
    own |= {above for each in made for above in each.parents if structure.variables[above].observed}
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


def sources_of(columns: Columns) -> Mapping[str, str]:
    """Return what each declared column names; nothing where none is declared.

    Raises
    ------
    NetworkError
        If they are no names.
    """
    if columns is None:
        return {}
    columns = [columns] if isinstance(columns, str) else columns
    if not isinstance(columns, Iterable):
        raise NetworkError("columns must be names", found=type_text(columns), remedy="Pass a list of them.")
    return cast("Mapping[str, str]", columns) if isinstance(columns, Mapping) else {name: name for name in columns}


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
    found: dict[str, tuple[Element, ...]] = {}
    reading = ImportReport(axes=structure.axes)
    for column, said in sources_of(columns).items():
        source = reading.own_name(said)
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
                f"column {column!r} must name a random variable or Deterministic of the model, or an element of one",
                found=repr(source),
                remedy=f"The random variables are {listing(near_first(source, structure.variables), 10)}"
                + (f"; the Deterministics {listing(sorted(structure.functions), 10)}." if structure.functions else "."),
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


def varies_with(roles: Roles, function: Element) -> tuple[str, ...]:
    """Return the parameters that stay loose where a function of parameters is protected and all others are fixed.

    Those of its inputs that act through it alone, if there are some, as z in mu + tau * z: then its other inputs are to
    it what parents are to a random variable. Otherwise all (docs/claims/belief.md). An input that is a function itself
    stands for what it varies with.
    """
    structure = roles.structure
    direct = structure.followed[1]
    counted, todo = set[Element](), [each for elements in roles.columns.values() for each in elements]
    below: dict[Element, set[Element]] = {}
    while todo:  # what has no way to a column does not count
        here = todo.pop()
        if here not in counted:
            counted.add(here)
            todo += direct[here[0]][here[1]]
    for here in counted:
        for above in direct[here[0]][here[1]]:
            below.setdefault(above, set()).add(here)

    def loose(here: Element) -> frozenset[Element]:
        if here[0] not in structure.expressions:
            return frozenset({here} if here[0] in roles.names else ())
        inputs = direct[here[0]][here[1]]
        alone = {each for each in inputs if below.get(each, set()) <= {here}}
        return frozenset[Element]().union(*map(loose, alone or inputs))

    found = loose(function)
    return tuple(structure.element(each) for each in sorted(found, key=roles.rank.__getitem__))


# --------------------------------------------------------------------------------------------------
# A hash of a PyMC model, by which calibrations tell models apart.
# --------------------------------------------------------------------------------------------------


def identity_of(roles: Roles) -> str:
    """A hash of all names, expressions, constants and draws of a model."""
    structure = roles.structure
    return sha256(
        repr(sorted(roles.columns.items())),
        *(part for name in sorted(roles.fixed) for part in (name, roles.fixed[name])),
        *(
            repr((name, variable.names, structure.coords.get(f"{name}_states"), variable.order))
            for name, variable in structure.variables.items()
        ),
        *_parts([each.rv for each in structure.variables.values()]),
    )


def functions_identity(structure: Structure) -> str:
    """A hash of what the Deterministics of a model are computed by."""
    names = sorted(structure.expressions)
    return sha256(repr(names), *_parts([structure.expressions[name] for name in names]))


def _parts(roots: Sequence[Any]) -> Iterator[str | bytes]:
    """Yield what tells expressions apart; what an operation is made of inside counts too."""
    places: dict[Any, int] = {}
    for here in ancestors(roots, set()):
        places[here] = len(places)
        if here.owner is not None:
            above = [places[each] for each in here.owner.inputs]
            yield repr((str(here.owner.op), here.owner.outputs.index(here), above))
            yield _code(here.owner.op)
            inside = getattr(here.owner.op, "fgraph", None)
            if inside is not None:
                yield from _parts([*inside.inputs, *inside.outputs])
            continue
        held = getattr(here, "data", None) if hasattr(here, "data") else _shared(here)
        array = np.asarray(held) if hasattr(here.type, "ndim") and held is not None else None
        yield repr((str(here.type), None if array is not None else repr(held)))
        if array is not None:
            yield repr(array.shape)
            yield array.tobytes()
    yield repr([places[root] for root in roots])


def _code(op: Any) -> bytes:
    """Return what tells an operation of the user's from others of its name: its code, and where it is in memory."""
    function = getattr(op, "_FromFunctionOp__fn", None)
    if is_black_box(op):
        return repr((_PROCESS, id(op))).encode()
    if function is None and type(op).__module__.split(".")[0] in ("pytensor", "pymc", "abc"):
        return b""
    code = getattr(function or cast(Any, type(op)).perform, "__code__", None)
    return repr((_PROCESS, id(op))).encode() + getattr(code, "co_code", b"")


_PROCESS = os.urandom(16)
"""Places in memory tell operations apart within one process only."""


def _shared(variable: Any) -> Any:
    """Return the value of a Data container or the length of a dimension; nothing for a random generator."""
    return variable.get_value() if hasattr(variable.type, "ndim") and hasattr(variable, "get_value") else None


# --------------------------------------------------------------------------------------------------
# How long tables of a model take to draw, reckoned from its laws: how many draws of a posterior can be models.
# --------------------------------------------------------------------------------------------------

SECONDS = 20.0
"""What drawing for one pair of secrets may take for all models together, unless thin= or with_sampling is given."""

MOST_MODELS, LEAST_MODELS = 25, 10
"""Draws of which each is a model, unless thin= says otherwise."""

MODEL_DRAWS, LEAST_MODEL_DRAWS = 4_000, 1_000
"""Draws under each secret and each of the models, unless with_sampling says otherwise."""

ANSWERED = 100.0
"""Nanoseconds for one number of a table when the query is answered: bounds, grid and exact sums."""

BASIC, COMPOSED, BY_HAND = 100.0, 500.0, 5_000.0
"""Nanoseconds for one number of a law that is drawn at once, of one that is made of others, of one of the user's."""

SLOW = {
    "LKJCorr": 8_000.0,
    "_lkjcorr": 8_000.0,
    "_lkjcholeskycov": 8_000.0,
    "Wishart": 8_000.0,
    "MatrixNormal": 2_000.0,
}
"""The same for laws that are drawn step by step, by the name of the law."""


@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """How many draws of a posterior are models, and how many tables are drawn for each under every secret."""

    models: int
    tables: int


def models_that_fit(roles: Roles) -> ModelWork:
    """Return how many draws are models: as many as can be drawn from in `SECONDS` for one pair, within limits.

    Where every draw is a model, tables are drawn anew for each of them, given either secret. It follows from the laws
    and sizes of the variables, so that the same models are taken on every machine.
    """
    one = 1e-9 * sum(_nanoseconds(roles, v) for v in roles.structure.variables.values() if v.name not in roles.unused)
    fit = int(SECONDS / (2 * one * MODEL_DRAWS))
    if fit >= LEAST_MODELS:
        return ModelWork(models=min(MOST_MODELS, fit), tables=MODEL_DRAWS)
    tables = int(SECONDS / (2 * one * LEAST_MODELS))
    return ModelWork(models=LEAST_MODELS, tables=max(LEAST_MODEL_DRAWS, tables // 100 * 100))


def drawing_seconds(roles: Roles, column: Variable, tables: int) -> float:
    """Return about how long tables of a column take to draw, with all that is above it."""
    needed, todo = set[str](), [column.name]
    while todo:
        name = todo.pop()
        if name not in needed:
            needed.add(name)
            todo += () if name in roles.fixed else roles.structure.variables[name].parents
    return (
        1e-9
        * tables
        * sum(_nanoseconds(roles, roles.structure.variables[name]) for name in needed - roles.fixed.keys())
    )


def _nanoseconds(roles: Roles, variable: Variable) -> float:
    """Return how long one draw of a variable takes, all its entries together."""
    own = ANSWERED if variable.name in roles.own else 0.0
    if variable.law in SLOW:
        return variable.size * (SLOW[variable.law] + own)
    if is_black_box(variable.rv.owner.op) or variable.law.startswith("CustomDist"):
        return variable.size * (BY_HAND + own)
    each = BASIC if variable.is_basic else COMPOSED
    if variable.law == "MultivariateNormal":  # a factor of the covariance for each draw
        each = COMPOSED + variable.shape[-1] ** 2 / 3
    return variable.size * (each + own)


def road(reading: ImportReport, secret: str, column: str) -> NodeReading:
    """Return how a plan can find noise for sums of a column; see `ImportReport.road`."""
    held = {name: each for each in reading.nodes for name in each.columns}
    node = held[member("a column of the model", column, held, error=NetworkError)]
    known = {each.name.partition("[")[0]: each for each in reading.nodes}
    own = known[member("a secret of the model", secret.partition("[")[0], known, error=NetworkError)]
    if node.treatment == "refused" or own.secret:
        return replace(node, treatment="refused", reason=own.secret or node.reason, seconds=0.0)
    exact = own.treatment == node.treatment == "exact" and own.role == "parameter"
    return node if exact else replace(node, treatment="draws")
