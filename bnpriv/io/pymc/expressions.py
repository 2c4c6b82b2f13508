"""Walks over the expressions of a model, how sets of elements go through them, and what a Potential stands for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bnpriv.errors import NetworkError
from bnpriv.io.pymc.backend import compiled, replaced, tensor

# --------------------------------------------------------------------------------------------------
# Walks over the expressions of a model, and the same expressions in double precision.
# --------------------------------------------------------------------------------------------------

MOVES = frozenset(
    {"DimShuffle", "Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "Reshape", "SpecifyShape", "ViewOp", "Alloc"}
)
"""Operations that move the elements of what they are given first, to places that the rest tells."""

INSERTS = frozenset({"IncSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1"})
"""Operations that put the elements of what they are given second among those of the first, or add them to these."""

_LOW = ("float16", "float32")


def ancestors(roots: Sequence[Any], stops: Collection[Any], *, values: bool = False) -> list[Any]:
    """Return everything above `roots` and themselves, inputs first, not going beyond `stops`.

    Parameters
    ----------
    roots : sequence of Variable
    stops : set or mapping of Variable
    values : bool
        Leave out what matters for its shape only.

    Raises
    ------
    NetworkError
        If there is a cycle.
    """
    done: dict[Any, None] = {}
    open_: set[Any] = set()
    todo: list[tuple[Any, bool]] = [(root, False) for root in reversed(roots)]
    while todo:
        here, left = todo.pop()
        if left:
            open_.discard(here)
            done[here] = None
            continue
        if here in done:
            continue
        if here in open_:
            raise NetworkError(
                "the dependence graph must have no cycle",
                found=f"one through {here.name or 'a deterministic expression'!r}",
                remedy="Declare every variable before it is used, and change none afterwards.",
            )
        open_.add(here)
        todo.append((here, True))
        if here.owner is not None and here not in stops and not (values and is_shape(here)):
            todo += [(above, False) for above in reversed(here.owner.inputs) if above not in done]
    return list(done)


def is_shape(variable: Any) -> bool:
    """Return whether a variable is the shape, or a part of it, of an array whose shape no random number changes."""
    return type(variable.owner.op).__name__ in ("Shape", "Shape_i") and _fixed(variable.owner.inputs[0])


def _fixed(array: Any) -> bool:
    if array.owner is None or None not in array.type.shape or hasattr(array.owner.op, "ndim_supp"):
        return True
    return type(array.owner.op).__name__ in ("Elemwise", "DimShuffle") and all(map(_fixed, array.owner.inputs))


def in_double(roots: Sequence[Any], stops: Collection[Any]) -> tuple[Any, ...]:
    """Return the same expressions computed in double precision.

    Whole numbers and short decimals are kept in the smallest type that holds them exactly, and what is computed from
    them alone would be so in single precision.
    """
    known: dict[Any, Any] = {}
    for here in ancestors(roots, stops):
        owner: Any = here.owner
        if owner is None or here in stops:
            single = getattr(here, "dtype", "") in _LOW and hasattr(here, "data")
            known[here] = tensor().constant(np.asarray(here.data, dtype=np.float64)) if single else here
            continue
        above = [known[each] for each in owner.inputs]
        low = getattr(here, "dtype", "") in _LOW
        same = not low and all(a is b for a, b in zip(above, owner.inputs, strict=True))
        known[here] = here if same else _again(owner, owner.outputs.index(here), above, low=low)
    return tuple(known[root] for root in roots)


def _again(owner: Any, place: int, above: Sequence[Any], *, low: bool) -> Any:
    """Return what an operation makes of other inputs, in double precision if it made single."""
    op, kind = owner.op, type(owner.op).__name__
    if low:
        above = [_wide(each, whole=kind == "Elemwise") for each in above]
        if kind == "Elemwise" and type(op.scalar_op).__name__ == "Cast":
            return above[0]
        if kind == "MakeVector":
            op = type(op)(dtype="float64")
        elif kind in ("Sum", "Prod"):
            op = type(op)(axis=op.axis)
    try:
        return op.make_node(*above).outputs[place]
    except TypeError:  # a law made of others, or a loop, takes its numbers as they were
        pairs = zip(above, owner.inputs, strict=True)
        alike = (a if a.type == b.type or not hasattr(b, "dtype") else tensor().cast(a, b.dtype) for a, b in pairs)
        return op.make_node(*alike).outputs[place]


def _wide(variable: Any, *, whole: bool) -> Any:
    """Return a variable in double precision if it has single, or, with `whole`, holds whole numbers."""
    kinds = ("int", "uint", "float") if whole else _LOW
    return tensor().cast(variable, "float64") if str(getattr(variable, "dtype", "")).startswith(kinds) else variable


# --------------------------------------------------------------------------------------------------
# How sets of elements go through the operations of a model: what each entry of an array depends on.
#
# Operations that compute entry by entry, add up entries along axes, or move entries to other places are followed
# exactly; after any other every entry may depend on all that went in. So no dependence is missed, and few are
# invented.
# --------------------------------------------------------------------------------------------------

Element = tuple[str, int]
"""A random variable and the place of an element of it, in C order."""

SetArray = NDArray[Any]
"""An array of frozensets of elements."""

EMPTY_SET: frozenset[Element] = frozenset()


def own(name: str, shape: tuple[int, ...]) -> SetArray:
    """Return an array of a random variable's own elements."""
    sets = np.empty(shape, dtype=object)
    for k, index in enumerate(np.ndindex(*shape)):
        sets[index] = frozenset({(name, k)})
    return sets


def filled(shape: tuple[int, ...], value: frozenset[Element]) -> SetArray:
    """Return an array with the same set everywhere."""
    sets = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        sets[index] = value
    return sets


def through(
    variable: Any, sets: Mapping[Any, SetArray], shapes: Mapping[Any, tuple[int, ...]], values: Mapping[Any, Any]
) -> SetArray:
    """Return the sets of what an operation makes.

    Parameters
    ----------
    variable : Variable
    sets : mapping from Variable to SetArray
        Of what goes in.
    shapes : mapping from Variable to tuple of int
    values : mapping from Variable to ndarray
        Of what depends on no random variable.
    """
    shape = shapes.get(variable, ())
    if variable.owner is None or is_shape(variable):
        return filled(shape, EMPTY_SET)
    op, above = variable.owner.op, variable.owner.inputs
    given = [sets.get(each, filled((), EMPTY_SET)) for each in above]
    kind = type(op).__name__
    if type(getattr(op, "scalar_op", None)).__name__ == "Second":  # the second, with the shape of the first
        given = given[1:]
    found = None
    if kind == "Elemwise" and all(fits(each.shape, shape) for each in given):
        found = joined(given, shape)
    elif kind in ("Join", "MakeVector"):
        found = _side_by_side(op, given, values.get(above[0]))
    elif kind in INSERTS or (kind in MOVES and not any(map(_some, given[1:]))):
        found = _moved(variable.owner, given, [values.get(each, getattr(each, "data", None)) for each in above])
    elif kind in ("AdvancedSubtensor", "AdvancedSubtensor1"):
        found = _picked(op, above[1:], given, shape)
    elif kind in ("Sum", "Prod", "Max"):
        found = _reduced(given[0], op.axis)
    return found if found is not None and found.shape == shape else filled(shape, union(given))


def _moved(node: Any, given: Sequence[SetArray], values: Sequence[Any]) -> SetArray | None:
    """Return where an operation that moves elements puts them, found by moving their places."""
    moving = 2 if type(node.op).__name__ in INSERTS else 1
    if any(map(_some, given[moving:])) or not getattr(node.op, "set_instead_of_inc", True):
        return None
    places, flat = list(values), [EMPTY_SET]
    for k in range(moving):
        places[k] = np.arange(len(flat), len(flat) + given[k].size, dtype=np.int64).reshape(given[k].shape)
        flat += given[k].reshape(-1).tolist()
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    try:
        node.op.perform(node, places, storage)
        landed = np.asarray(storage[0][0])
    except Exception:  # an operation that cannot be followed is taken for one that mixes everything
        return None
    if landed.size and not (landed.min() >= 1 and landed.max() < len(flat)):
        return None
    sets = np.empty(landed.shape, dtype=object)
    for index in np.ndindex(*landed.shape):
        sets[index] = flat[int(landed[index])]
    return sets


def _side_by_side(op: Any, given: Sequence[SetArray], first: Any) -> SetArray | None:
    """Return the sets of arrays that are joined; the axis belongs to the operation, or is the first that goes in."""
    if type(op).__name__ == "MakeVector":
        return np.array([*(each[()] for each in given), None], dtype=object)[:-1]
    if isinstance(getattr(op, "axis", None), int):
        return np.concatenate(list(given), axis=op.axis)
    return None if first is None else np.concatenate(given[1:], axis=int(first))


def _picked(op: Any, index: Sequence[Any], given: Sequence[SetArray], shape: tuple[int, ...]) -> SetArray | None:
    """Return the sets of ``table[index, ...]`` for arrays that depend on something: any entry may have been picked.

    Slices and new axes put the axes of the index elsewhere, as masks do; they are not followed.
    """
    if any(getattr(each, "dtype", "bool") == "bool" for each in index) or not _leading(op, len(index)):
        return None
    try:
        axes = np.broadcast_shapes(*(each.shape for each in given[1:]))
    except ValueError:
        return None
    if shape[: len(axes)] != axes or len(shape) != len(axes) + given[0].ndim - (len(given) - 1):
        return None
    indices = joined(given[1:], axes)
    spread = indices.reshape((*axes, *(1,) * (len(shape) - len(axes))))
    return joined([filled((), union(given[:1])), spread], shape)


def _leading(op: Any, count: int) -> bool:
    """Return whether an index begins with all its arrays and takes whole axes after them, if the operation tells."""
    listed = getattr(op, "idx_list", None)
    if listed is None:
        return True
    return list(listed[:count]) == list(range(count)) and all(each == slice(None) for each in listed[count:])


def _reduced(sets: SetArray, axis: Any) -> SetArray:
    """Return the unions along axes; along all if `axis` is None."""
    axes = range(sets.ndim) if axis is None else [each % sets.ndim for each in np.atleast_1d(axis)]
    kept = [each for each in range(sets.ndim) if each not in axes]
    return merged(sets.transpose([*kept, *axes]), len(axes))


def joined(given: Sequence[SetArray], shape: tuple[int, ...]) -> SetArray:
    """Return the unions over arrays at every place of a shape that all fit."""
    sets = filled(shape, EMPTY_SET)
    spread = [np.broadcast_to(each, shape) for each in given if _some(each)]
    for index in np.ndindex(*shape):
        sets[index] = EMPTY_SET.union(*(each[index] for each in spread))
    return sets


def union(given: Sequence[SetArray]) -> frozenset[Element]:
    """Return the union of all sets in arrays."""
    return EMPTY_SET.union(*(each for array in given for each in array.reshape(-1)))


def _some(sets: SetArray) -> bool:
    return any(sets.reshape(-1))


def fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether arrays of one shape spread to another."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def merged(sets: SetArray, axes: int) -> SetArray:
    """Return the unions over the last `axes` axes."""
    kept = sets.shape[: sets.ndim - axes]
    merged = np.empty(kept, dtype=object)
    for index in np.ndindex(*kept):
        merged[index] = union([sets[index]]) if axes else sets[index]
    return merged


# --------------------------------------------------------------------------------------------------
# What a Potential stands for: the kinds that models have in common, and what says the same as a distribution.
# --------------------------------------------------------------------------------------------------

_PROBABILITIES = frozenset({"Erf", "Erfc", "Erfcx", "BetaInc", "GammaInc", "GammaIncC", "Log1mexp", "Log1mExp"})
"""Functions by which PyMC computes how probable it is that a number lies below another."""

SUM_TO_ZERO = "It asks for a sum near zero: declare pymc.ZeroSumNormal in place of the vector."
CONDITION = (
    "It asks for a condition: declare distributions that keep it, by pymc.Truncated, whose bounds may be parameters, "
    "or by a first number and positive differences that are added to it."
)
CENSORED = "It stands for values of which a bound is known: declare them by pymc.Censored, of the distribution itself."
CUT_OFF = "It divides by the probability of an interval: declare pymc.Truncated in place of the distribution."
LIKELIHOOD = (
    "It stands for data: declare these as observed, by the distribution whose log density it is, or by "
    "pymc.CustomDist with dist=."
)
OF_COLUMN = "Declare the column by the distribution that it has together with it, as pymc.CustomDist with dist=."
OWN_PRIOR = (
    "It depends on parameters alone. Where it is a prior, declare the numbers in which it is simple, and these "
    "parameters as Deterministics of them, as mean = pymc.Beta(...), size = pymc.Pareto(...), a = mean * size; where "
    "it stands for data, declare these as observed, by pymc.Censored or pymc.Truncated if a bound is what is known."
)


def replaces(potential: Any, known: Collection[Any], *, of_column: bool = False) -> str:
    """Return what to declare in place of a Potential, by the operations that it is made of.

    Parameters
    ----------
    potential : TensorVariable
    known : collection of TensorVariable
        The random variables of the model.
    of_column : bool
        Whether it depends on a column of the table.
    """
    above = ancestors([potential], known)
    own = [each for each in above if each in known]
    kinds = {_kind(each) for each in above if each.owner is not None and each not in known}
    if _asks_for_zero(potential, above, own):
        return SUM_TO_ZERO
    if "CheckParameterValue" not in kinds and any(map(_excludes, above)):
        return CONDITION
    if kinds & _PROBABILITIES:
        return CUT_OFF if _value(potential, own, 0.5) > 0 else CENSORED
    if of_column:
        return OF_COLUMN
    return LIKELIHOOD if any(map(_is_data, above)) else OWN_PRIOR


def _kind(variable: Any) -> str:
    op = variable.owner.op
    return type(op.scalar_op if type(op).__name__ == "Elemwise" else op).__name__


def _excludes(variable: Any) -> bool:
    """Return whether it is chosen between numbers of which one is minus infinity."""
    if variable.owner is None or _kind(variable) != "Switch":
        return False
    constants = (each for each in ancestors(variable.owner.inputs[1:], ()) if hasattr(each, "data"))
    return any(bool(np.isneginf(np.asarray(each.data, dtype=np.float64)).any()) for each in constants)


def _is_data(variable: Any) -> bool:
    """Return whether it holds several numbers that are declared with the model."""
    if variable.owner is not None or not hasattr(variable.type, "ndim") or variable.type.ndim == 0:
        return False
    held = variable.get_value() if hasattr(variable, "get_value") else getattr(variable, "data", ())
    return str(variable.dtype).startswith("float") and np.size(held) > 1


def _asks_for_zero(potential: Any, above: Sequence[Any], own: Sequence[Any]) -> bool:
    """Return whether it depends on the sum of one vector alone, and is largest where that is zero."""
    if len(own) != 1 or own[0].type.ndim == 0:
        return False
    sums = {
        each for each in above if each.owner is not None and _kind(each) == "Sum" and own[0] in ancestors([each], own)
    }
    if not sums or own[0] in ancestors([potential], sums, values=True):
        return False
    at_zero = _value(potential, own, 0.0)
    return bool(np.isfinite(at_zero)) and at_zero > max(_value(potential, own, each) for each in (-1.0, 1.0))


def _value(potential: Any, own: Sequence[Any], at: float) -> float:
    """Return a Potential where all that is above it has one value; nan where there is none."""
    inputs = [each.type() for each in own]
    sizes = [tuple(1 if n is None else n for n in each.type.shape) for each in own]
    try:
        found = compiled(inputs, replaced(potential, dict(zip(own, inputs, strict=True))))
        return float(
            np.sum(found(*(np.full(size, at).astype(each.dtype) for size, each in zip(sizes, own, strict=True))))
        )
    except Exception:  # whatever an operation raises for numbers that it was not made for
        return float("nan")
