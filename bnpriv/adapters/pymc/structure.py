"""The random variables of a PyMC model, their elements, and which element depends on which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, final

import numpy as np

from bnpriv.adapters.pymc.backend import (
    compiled,
    frozen,
    is_basic,
    is_black_box,
    is_custom,
    is_plain,
    is_truncated,
    pymc,
)
from bnpriv.adapters.pymc.captured import refuse_captured
from bnpriv.adapters.pymc.expressions import ancestors, in_double
from bnpriv.adapters.pymc.missing import halves, is_mendable, mended
from bnpriv.adapters.pymc.ordered import Order, order_of
from bnpriv.adapters.pymc.sets import EMPTY_SET, Element
from bnpriv.adapters.pymc.tracing import traced
from bnpriv.bound import FloatArray
from bnpriv.checks import type_text
from bnpriv.errors import NetworkError


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Variable:
    """A random variable of the model.

    Parameters
    ----------
    name : str
    rv : TensorVariable
        Read only.
    law : str
        Its distribution, for example "Normal".
    shape : tuple of int
    names : tuple of str
        Of its elements, in C order.
    parameters : tuple of TensorVariable
        Of its distribution, computed in double precision.
    parents : tuple of str
        The variables above it.
    above : tuple of frozenset of Element
        For every element the elements of other variables that its law depends on.
    is_joint : bool
        Whether elements depend on each other given the parameters.
    observed : bool
    order : {"", "ascending", "descending"}
        In which its entries are kept, along the last axis.
    """

    name: str
    rv: Any
    law: str
    shape: tuple[int, ...]
    names: tuple[str, ...]
    parameters: tuple[Any, ...]
    parents: tuple[str, ...]
    above: tuple[frozenset[Element], ...]
    is_joint: bool
    observed: bool
    order: Order

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return len(self.names)

    def constant(self, place: int) -> FloatArray | None:
        """Return a parameter of the law that depends on no random variable, or None if it depends on one."""
        return fixed(self.parameters[place])

    @property
    def is_plain(self) -> bool:
        """Return whether its law is of single numbers and has parameters, and is not made of other laws."""
        return is_plain(self.rv.owner.op)

    @property
    def has_parameters(self) -> bool:
        """Return whether its law is of single numbers, and known by its density given parameters."""
        return self.is_plain or (bool(self.parameters) and is_truncated(self.rv.owner.op))

    @property
    def is_basic(self) -> bool:
        """Return whether many draws of its law, of numbers or vectors, can be had at once."""
        return is_basic(self.rv.owner.op)


def fixed(expression: Any) -> FloatArray | None:
    """Return the value of an expression that depends on no random variable, or None if it depends on one."""
    owners = (each.owner for each in ancestors([expression], set(), values=True) if each.owner is not None)
    if any(hasattr(owner.op, "dist_params") for owner in owners):
        return None
    return np.asarray(compiled([], in_double([expression], ())[0])(), dtype=np.float64)


_REFUSED = {
    "Flat": "an improper prior has no law",
    "HalfFlat": "an improper prior has no law",
    "Simulator": "a simulator has no density",
}


def unsupported(variable: Variable) -> str | None:
    """Return why neither densities nor draws of a variable can be had, or None if they can."""
    if variable.law in _REFUSED:
        return _REFUSED[variable.law]
    if is_black_box(variable.rv.owner.op):
        return "a custom distribution without dist= is not supported"
    return None


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Structure:
    """The random variables of a model, parents before children.

    Parameters
    ----------
    variables : mapping from str to Variable
    coords : mapping from str to sequence
        Of the model.
    dims : mapping from str to tuple of str or None
        Of the variables and Deterministics that have some.
    functions : frozenset of str
        The Deterministics of the model.
    """

    variables: Mapping[str, Variable]
    coords: Mapping[str, Sequence[object]]
    dims: Mapping[str, tuple[str | None, ...]]
    functions: frozenset[str] = frozenset()

    @cached_property
    def children(self) -> Mapping[str, frozenset[str]]:
        """Return for every variable those that depend on it directly."""
        below: dict[str, set[str]] = {name: set() for name in self.variables}
        for name, variable in self.variables.items():
            for parent in variable.parents:
                below[parent].add(name)
        return {name: frozenset(found) for name, found in below.items()}

    def is_column(self, name: str) -> bool:
        """Return whether a variable can be a column: nothing depends on it, or it is observed like all that does."""
        below = self.children[name]
        whole = all(self.variables[child].observed and self.is_column(child) for child in below)
        return not below or (self.variables[name].observed and whole)

    def element(self, name: Element) -> str:
        """Return the name of an element."""
        return self.variables[name[0]].names[name[1]]

    @cached_property
    def elements(self) -> Mapping[str, Element]:
        """Return the elements by name; a variable with one element has its name."""
        return {text: (name, k) for name, variable in self.variables.items() for k, text in enumerate(variable.names)}


def structure_of(model: Any) -> Structure:
    """Return the random variables of a model.

    Raises
    ------
    NetworkError
        If it is no PyMC model, has a Potential, a cycle, a variable in single precision, or a law that uses others
        without taking them as parameters.
    """
    library = pymc()
    if not isinstance(model, library.Model):
        raise NetworkError("a pymc.Model is needed", found=type_text(model), remedy="Pass the model.")
    if model.potentials:
        raise NetworkError(
            "a model must be a product of conditional laws",
            found=f"the Potential {model.potentials[0].name!r}",
            remedy="Declare the law that it stands for: pymc.Censored for values that are only known to lie beyond a "
            "bound, pymc.Truncated for values that cannot, pymc.CustomDist with dist= for any other law.",
        )
    if not model.basic_RVs:
        raise NetworkError("a model needs a random variable", found="none", remedy="Declare the parameters in it.")
    for rv in model.basic_RVs:
        _check(model, rv)
    refuse_captured(model)
    observed = {rv.name for rv in model.observed_RVs}.union(halves(model))
    variables = dict(_read(model, observed))
    _check_names(variables)
    coords = {name: tuple(values) for name, values in model.coords.items() if values is not None}
    functions = frozenset(str(each.name) for each in model.deterministics)
    dims = dict(model.named_vars_to_dims)
    return Structure(variables=variables, coords=coords, dims=dims, functions=functions)


def _check(model: Any, rv: Any) -> None:
    """Refuse a random variable whose law is not what its declaration says, or is not known."""
    op, split = type(rv.owner.op).__name__, halves(model)
    missing = rv.name.removesuffix("_unobserved").removesuffix("_observed")
    order = order_of(model, rv)
    for wrong, required, found, remedy in (
        (
            rv.dtype == "float32",
            "a model must compute in double precision",
            f"{rv.name!r} in single precision",
            "Set pytensor.config.floatX = 'float64' before the model is made.",
        ),
        (
            op == "PartialObservedRV" or (missing in split and not is_mendable(split[missing])),
            "observed vectors, and categories, must have no missing values: they would become parameters",
            f"missing values of {missing!r}",
            "Leave the observed values out or fill them in: only their number counts here.",
        ),
        (
            op == "MinibatchRandomVariable",
            "a model must be of whole columns",
            f"{rv.name!r} with total_size",
            "Leave out pymc.Minibatch and total_size; no data are used here.",
        ),
        (
            order is None or (order != "" and not is_plain(rv.owner.op)),
            "a law must be what the variable is declared with: PyMC's sampler restricts it by a transform",
            f"{type(model.rvs_to_transforms.get(rv)).__name__} of {rv.name!r}",
            "Leave transform= out, or declare numbers with a density of their own that are kept in order by ordered.",
        ),
    ):
        if wrong:
            raise NetworkError(required, found=found, remedy=remedy)


def _check_names(variables: Mapping[str, Variable]) -> None:
    seen: dict[str, str] = {}
    for variable in variables.values():
        for name in variable.names:
            if name in seen:
                raise NetworkError(
                    "names must tell all entries of variables apart",
                    found=f"{name!r} in {seen[name]!r} and {variable.name!r}",
                    remedy="Rename one of them.",
                )
            seen[name] = variable.name


def _read(model: Any, observed: set[str]) -> Iterable[tuple[str, Variable]]:
    declared = _whole(model)
    every = list(declared.values())
    above = ancestors(every, ())
    for each in _inside(above):  # arrays of constants may be the user's, and changed later
        if each.owner is None and isinstance(getattr(each, "data", None), np.ndarray) and hasattr(each.type, "ndim"):
            each.data = each.data.copy()
    rvs = dict(zip(declared, frozen(every, [each for each in above if each.owner is None]), strict=True))
    names, shapes, parameters, dependence = traced(rvs)
    for name in names:
        rv, shape = rvs[name], shapes[name]
        order = order_of(model, declared[name]) or ""
        # entries that are kept in order depend on what any of them does
        sets = dependence[name]
        sets = [EMPTY_SET.union(*sets)] * len(sets) if order else sets
        yield (
            name,
            Variable(
                name=name,
                rv=rv,
                law=_law(rv),
                shape=shape,
                names=entry_names(model, name, shape),
                parameters=parameters[name],
                parents=tuple(sorted({element[0] for each in sets for element in each}, key=names.index)),
                above=tuple(frozenset(each) for each in sets),
                is_joint=bool(order) or _is_joint(rv, set(rvs.values())),
                observed=name in observed,
                order=order,
            ),
        )


def _inside(above: Iterable[Any]) -> Iterable[Any]:
    """Yield all that operations are made of, at any depth."""
    held = [getattr(each.owner.op, "fgraph", None) for each in above if each.owner is not None]
    for graph in {id(each): each for each in held if each is not None}.values():
        inside = ancestors(list(graph.outputs), ())
        yield from inside
        yield from _inside(inside)


def _whole(model: Any) -> dict[str, Any]:
    """Return the random variables, columns with missing values as they were declared.

    Raises
    ------
    NetworkError
        If something depends on a column with missing values.
    """
    split = halves(model)
    parts = {rv: name for name, pair in split.items() for rv in pair}
    rvs = {rv.name: rv for rv in model.basic_RVs if rv not in parts}
    below = [rv.owner.inputs for rv in model.basic_RVs]
    used = [each for each in ancestors([each for inputs in below for each in inputs], ()) if each in parts]
    if used:
        raise NetworkError(
            "nothing may depend on a column with missing values",
            found=f"what depends on {parts[used[0]]!r}",
            remedy="Leave the observed values out or fill them in: only their number counts here.",
        )
    return rvs | {name: mended(model, name, pair) for name, pair in split.items()}


def _is_joint(rv: Any, known: set[Any]) -> bool:
    """Return whether elements may depend on each other; what a distribution of the user's says of it is not trusted."""
    inside = [each for each in ancestors(rv.owner.inputs, known) if each not in known and each.owner is not None]
    return bool(rv.owner.op.ndim_supp) or any(is_custom(each.owner.op) for each in [rv, *inside])


def _law(rv: Any) -> str:
    printed = getattr(rv.owner.op, "_print_name", None)
    return str(printed[0]) if printed else type(rv.owner.op).__name__.removesuffix("RV")


def entry_names(model: Any, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """Return names such as theta[Choate]: by the coordinates of the dimensions, else by number."""
    if not shape:
        return (name,)
    dims: tuple[str | None, ...] = model.named_vars_to_dims.get(name) or (None,) * len(shape)
    labels: list[list[str]] = [_labels(model, dim, size) for dim, size in zip(dims, shape, strict=True)]
    if len(shape) > 1:  # a comma in a label would read like the next dimension
        labels = [
            each if not any(", " in label for label in each) else [str(k) for k in range(len(each))] for each in labels
        ]
    return tuple(f"{name}[{', '.join(place)}]" for place in product(*labels))


def _labels(model: Any, dim: str | None, size: int) -> list[str]:
    coords: Sequence[object] = (model.coords.get(dim) or ()) if dim is not None else ()
    labels: list[str] = [str(label) for label in coords] if len(coords) == size else []
    return labels if len(set(labels)) == size else [str(k) for k in range(size)]
