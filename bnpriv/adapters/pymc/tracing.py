"""Which element of a model's random variables depends on which elements of those above it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.backend import (
    compiled,
    is_plain,
    is_random,
    is_truncated,
    random_variables,
    replaced,
    tensor,
    truncated_parameters,
)
from bnpriv.adapters.pymc.expressions import MOVES, ancestors, in_double, is_shape
from bnpriv.adapters.pymc.sets import Element, SetArray, filled, fits, joined, merged, own, through, union
from bnpriv.errors import NetworkError

Sets = Sequence[frozenset[Element]]


def traced(
    rvs: Mapping[str, Any],
) -> tuple[list[str], Mapping[str, tuple[int, ...]], Mapping[str, tuple[Any, ...]], Mapping[str, Sets]]:
    """How random variables hang together.

    Returns
    -------
    order : list of str
        Parents before children.
    shapes : mapping from str to tuple of int
    parameters : mapping from str to tuple of TensorVariable
        The parameters of every law that is not made of others, in double precision.
    dependence : mapping from str to sequence of frozenset of Element
        For every element those above it.

    Raises
    ------
    NetworkError
        If there is a cycle, a random variable that the model does not know, or a shape that is random.
    """
    order = _ordered(rvs)
    known = set(rvs.values())
    inputs = {name: _inputs(rv) for name, rv in rvs.items()}
    stand_ins = _stand_ins([rvs[name] for name in order])
    inner = ancestors([p for each in inputs.values() for p in each], known, values=True)
    shapes, values = _evaluated(inner, stand_ins)
    sets: dict[Any, SetArray] = {rv: own(name, shapes[rv]) for name, rv in rvs.items()}
    for variable in inner:
        if variable not in sets:
            sets[variable] = through(variable, sets, shapes, values)
    found = {name: _above(rv.owner.op, [sets[p] for p in inputs[name]], shapes[rv]) for name, rv in rvs.items()}
    plain = {name: _parameters(rv, inputs[name]) for name, rv in rvs.items()}
    parameters = {name: in_double(each, known) for name, each in plain.items()}
    return order, {name: shapes[rv] for name, rv in rvs.items()}, parameters, found


def _parameters(rv: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the parameters of a law that can be evaluated; none of one that is made of others."""
    op = rv.owner.op
    if isinstance(op, random_variables()) or is_plain(op):
        return inputs
    return truncated_parameters(rv) if is_truncated(op) else ()


def _inputs(rv: Any) -> tuple[Any, ...]:
    """Return the parameters of a variable's law; all that goes into it if it is made of others."""
    op = rv.owner.op
    if isinstance(op, random_variables()) or is_plain(op):
        return tuple(op.dist_params(rv.owner))
    return tuple(each for each in rv.owner.inputs if hasattr(each.type, "ndim"))


def _ordered(rvs: Mapping[str, Any]) -> list[str]:
    every = ancestors(list(rvs.values()), set())
    names = {rv: name for name, rv in rvs.items()}
    parts = _parts(names)
    for variable in ancestors(list(rvs.values()), set(), values=True):
        if variable in names or variable in parts or not _is_draw(variable):
            continue
        loop = not is_random(variable.owner.op)
        raise NetworkError(
            "every random variable must be declared in the model",
            found="random numbers drawn inside another operation" if loop else "one that has no name",
            remedy="Give it a name in the model instead of using its .dist().",
        )
    _refuse_random_shapes(names)
    return [names[variable] for variable in every if variable in names]


def _is_draw(variable: Any) -> bool:
    owner: Any = variable.owner
    takes = owner is not None and any(type(each.type).__name__ == "RandomGeneratorType" for each in owner.inputs)
    made = owner is not None and is_random(owner.op)
    return (takes or made) and type(variable.type).__name__ != "RandomGeneratorType"


def _parts(known: Collection[Any]) -> set[Any]:
    """Return the laws that others are made of, such as the components of a mixture: they have no name of their own."""
    parts: set[Any] = set()
    todo = list(known)
    while todo:
        law = todo.pop()
        if isinstance(law.owner.op, random_variables()):
            continue
        for each in law.owner.inputs:
            while each not in known and each.owner is not None and type(each.owner.op).__name__ in MOVES:
                each = each.owner.inputs[0]
            if each not in known and each not in parts and each.owner is not None and is_random(each.owner.op):
                parts.add(each)
                todo.append(each)
    return parts


def _refuse_random_shapes(names: Mapping[Any, str]) -> None:
    for rv, name in names.items():
        op = rv.owner.op
        size = op.size_param(rv.owner) if isinstance(op, random_variables()) or is_plain(op) else None
        if size is not None and any(_is_draw(each) for each in ancestors([size], set(), values=True)):
            raise NetworkError(
                "shapes must be fixed",
                found=f"a random one of {name!r}",
                remedy="Declare as many entries as there may be.",
            )


def _stand_ins(rvs: Sequence[Any]) -> Mapping[Any, Any]:
    """Return an array of the shape of each random variable, for shapes: ones, or zeros where they may be an index."""
    found: dict[Any, Any] = {}
    for rv in rvs:
        shape = _shape(rv, found)
        value = np.ones(shape) if str(rv.dtype).startswith("float") else np.zeros(shape)
        found[rv] = value.astype(rv.dtype)
    return found


def _shape(rv: Any, stand_ins: Mapping[Any, Any]) -> tuple[int, ...]:
    if None not in rv.type.shape:
        return tuple(rv.type.shape)
    return tuple(int(size) for size in _run([tensor().shape(rv)], stand_ins)[0])


def _run(outputs: Sequence[Any], stand_ins: Mapping[Any, Any]) -> list[Any]:
    """Return values of expressions with random variables replaced.

    Raises
    ------
    NetworkError
        If they cannot be computed.
    """
    inputs = {rv: rv.type() for rv in stand_ins}
    try:
        with np.errstate(all="ignore"):
            return compiled(list(inputs.values()), replaced(list(outputs), inputs), shapes=True)(*stand_ins.values())
    except Exception as error:  # whatever an operation raises for numbers that it was not made for
        raise NetworkError(
            "the shapes of all expressions must be known before any number is",
            found=f"one that is not ({type(error).__name__})",
            remedy="Give shape= or dims= to the variables.",
        ) from error


def _evaluated(
    inner: Sequence[Any], stand_ins: Mapping[Any, Any]
) -> tuple[Mapping[Any, tuple[int, ...]], Mapping[Any, Any]]:
    """Return the shapes of all expressions, and the values of those that depend on no random variable."""
    varying: set[Any] = set()
    for here in inner:
        given = here in stand_ins or _is_draw(here)
        above: list[Any] = [] if here.owner is None or given or is_shape(here) else here.owner.inputs
        if given or any(each in varying for each in above):
            varying.add(here)
    arrays = [each for each in inner if hasattr(each.type, "ndim") and each not in stand_ins]
    fixed = [each for each in arrays if each not in varying]
    loose = [each for each in arrays if each in varying and None in getattr(each.type, "shape", ())]
    found = _run([*fixed, *(tensor().shape(each) for each in loose)], stand_ins)
    values = dict(zip(fixed, found, strict=False))
    shapes = {each: tuple(getattr(each.type, "shape", ())) for each in arrays}
    shapes |= {each: np.shape(value) for each, value in (values | dict(stand_ins)).items()}
    return shapes | {each: tuple(map(int, size)) for each, size in zip(loose, found[len(fixed) :], strict=True)}, values


def _above(op: Any, given: Sequence[SetArray], shape: tuple[int, ...]) -> Sets:
    """Return for every element of a random variable what its law depends on."""
    if is_plain(op):
        cores = [merged(each, axes) for each, axes in zip(given, op.ndims_params, strict=True)]
        if all(fits(each.shape, shape) for each in cores):
            return tuple(joined(cores, shape).reshape(-1))
    return tuple(filled(shape, union(given)).reshape(-1))
