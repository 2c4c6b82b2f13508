"""Which element of a model's arrays depends on which elements of the random variables above it.

Every operation between two random variables is looked at once. Those that compute element by element, or move elements
to other places, are followed exactly; after any other every element may depend on all that went in. So no dependence is
missed, and few are invented.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.adapters.pymc.backend import compiled, is_plain, random_variables, replaced, tensor
from bnpriv.errors import NetworkError

Element = tuple[str, int]
"""A random variable and the place of an element of it, in C order."""

Sets = Sequence[frozenset[Element]]
NOTHING: frozenset[Element] = frozenset()


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Traced:
    """What was found, by name.

    Parameters
    ----------
    order : list of str
        The random variables, parents before children.
    shapes : mapping from str to tuple of int
    parameters : mapping from str to tuple of TensorVariable
        The parameters of every variable's law in double precision.
    dependence : mapping from str to sequence of frozenset of Element
        For every element those above it.
    """

    order: list[str]
    shapes: Mapping[str, tuple[int, ...]]
    parameters: Mapping[str, tuple[Any, ...]]
    dependence: Mapping[str, Sets]


def traced(rvs: Mapping[str, Any]) -> Traced:
    """Return order, shapes, parameters and dependence of random variables.

    Raises
    ------
    NetworkError
        If there is a cycle, or a random variable that the model does not know.
    """
    order = _ordered(rvs)
    inputs = {name: tuple(rv.owner.op.dist_params(rv.owner)) for name, rv in rvs.items()}
    inner = [var for name in rvs for var in ancestors(inputs[name], set(rvs.values()))]
    values = _values({name: rvs[name] for name in order}, inner)
    shapes = {name: np.shape(values[rv]) for name, rv in rvs.items()}
    sets: dict[Any, NDArray[Any]] = {rv: _own(name, shapes[name]) for name, rv in rvs.items()}
    for variable in inner:
        if variable not in sets:
            sets[variable] = _through(variable, sets, values)
    found: dict[str, Sets] = {}
    for name, rv in rvs.items():
        found[name] = _above(rv.owner.op, [sets[p] for p in inputs[name]], shapes[name])
    doubled = {name: in_double(inputs[name], set(rvs.values())) for name in rvs}
    return Traced(order=order, shapes=shapes, parameters=doubled, dependence=found)


def ancestors(roots: Sequence[Any], stops: set[Any]) -> list[Any]:
    """Return everything above `roots` and themselves, inputs first, not going beyond `stops`.

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
        if here.owner is not None and here not in stops:
            todo += [(above, False) for above in reversed(here.owner.inputs) if above not in done]
    return list(done)


def in_double(roots: Sequence[Any], stops: set[Any]) -> tuple[Any, ...]:
    """Return the same expressions computed in double precision.

    Whole numbers and short decimals are kept in the smallest type that holds them exactly, and what is computed from
    them alone would be so in single precision.
    """
    known: dict[Any, Any] = {}
    for here in ancestors(roots, stops):
        owner: Any = here.owner
        if owner is None or here in stops:
            single = getattr(here, "dtype", "") in ("float16", "float32") and hasattr(here, "data")
            known[here] = tensor().constant(np.asarray(here.data, dtype=np.float64)) if single else here
            continue
        above = [known.get(each, each) for each in owner.inputs]
        low = getattr(here, "dtype", "") in ("float16", "float32")
        if low:
            above = [_wide(each) for each in above]
        same = all(a is b for a, b in zip(above, owner.inputs, strict=True))
        known[here] = here if same else owner.op.make_node(*above).outputs[owner.outputs.index(here)]
    return tuple(known[root] for root in roots)


def _wide(variable: Any) -> Any:
    dtype = str(getattr(variable, "dtype", ""))
    return tensor().cast(variable, "float64") if dtype.startswith(("int", "uint", "float")) else variable


def _ordered(rvs: Mapping[str, Any]) -> list[str]:
    every = ancestors(list(rvs.values()), set())
    names = {rv: name for name, rv in rvs.items()}
    _refuse_unknown(every, rvs)
    return [names[variable] for variable in every if variable in names]


def _refuse_unknown(every: Sequence[Any], rvs: Mapping[str, Any]) -> None:
    known = set(rvs.values())
    parts = {part for rv in known if not isinstance(rv.owner.op, random_variables()) for part in rv.owner.inputs}
    for variable in every:
        owner: Any = variable.owner
        if owner is None or not isinstance(owner.op, random_variables()) or variable is not owner.outputs[1]:
            continue
        if variable not in known and variable not in parts:
            raise NetworkError(
                "every random variable must be declared in the model",
                found="one that has no name",
                remedy="Give it a name in the model instead of using its .dist().",
            )


def _values(rvs: Mapping[str, Any], inner: Sequence[Any]) -> Mapping[Any, Any]:
    """Return one value of everything, for its shape: random variables are ones, or zeros where they may be an index."""
    stand_ins: dict[Any, Any] = {}
    for rv in rvs.values():
        shape = _shape(rv, stand_ins)
        value = np.ones(shape) if str(rv.dtype).startswith("float") else np.zeros(shape)
        stand_ins[rv] = tensor().constant(value.astype(rv.dtype))
    wanted = [v for v in dict.fromkeys(inner) if hasattr(v.type, "ndim") and v not in stand_ins]
    values = dict(zip(wanted, compiled([], replaced(wanted, stand_ins))(), strict=True)) if wanted else {}
    return values | {rv: value.data for rv, value in stand_ins.items()}


def _shape(rv: Any, stand_ins: Mapping[Any, Any]) -> tuple[int, ...]:
    """Return the shape of a random variable; one that is made of others is drawn for it."""
    if all(size is not None for size in rv.type.shape):
        return tuple(rv.type.shape)
    node = rv.owner
    if isinstance(node.op, random_variables()):
        parts = list(node.op._infer_shape(node.op.size_param(node), node.op.dist_params(node)))
        return tuple(int(size) for size in compiled([], replaced(parts, stand_ins))())
    with np.errstate(all="ignore"):
        return np.shape(compiled([], replaced(rv, stand_ins))())


def _own(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    sets = np.empty(shape, dtype=object)
    for k, index in enumerate(np.ndindex(*shape)):
        sets[index] = frozenset({(name, k)})
    return sets


def _filled(shape: tuple[int, ...], value: frozenset[Element]) -> NDArray[Any]:
    sets = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        sets[index] = value
    return sets


def _through(variable: Any, sets: Mapping[Any, NDArray[Any]], values: Mapping[Any, Any]) -> NDArray[Any]:
    """Return the sets of what an operation makes."""
    shape = np.shape(values[variable]) if variable in values else ()
    if variable.owner is None:
        return _filled(shape, NOTHING)
    op, above = variable.owner.op, variable.owner.inputs
    given = [sets.get(each, _filled((), NOTHING)) for each in above]
    kind = type(op).__name__
    if type(getattr(op, "scalar_op", None)).__name__ == "Second":  # the second, with the shape of the first
        given = given[1:]
    if kind == "Elemwise" and all(_fits(each.shape, shape) for each in given):
        return _joined(given, shape)
    if kind in MOVES and all(not _some(each) for each in given[1:]):
        moved = _moved(op, variable.owner, given[0], [values.get(each) for each in above[1:]])
        if moved is not None and moved.shape == shape:
            return moved
    if kind in ("AdvancedSubtensor", "AdvancedSubtensor1") and len(shape) >= 1:
        return _picked(given, shape)
    return _filled(shape, _union(given))


MOVES = frozenset(
    {"DimShuffle", "Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "Reshape", "SpecifyShape", "ViewOp", "Alloc"}
)


def _moved(op: Any, node: Any, first: NDArray[Any], rest: Sequence[Any]) -> NDArray[Any] | None:
    """Return where an operation that moves elements puts them, found by moving their places."""
    places = np.arange(1, first.size + 1, dtype=np.int64).reshape(first.shape)
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    try:
        op.perform(node, [places, *rest], storage)
        landed = np.asarray(storage[0][0])
    except Exception:  # an operation that cannot be followed is taken for one that mixes everything
        return None
    if landed.size and not (landed.min() >= 1 and landed.max() <= first.size):
        return None
    flat = first.reshape(-1)
    sets = np.empty(landed.shape, dtype=object)
    for index in np.ndindex(*landed.shape):
        sets[index] = flat[int(landed[index]) - 1]
    return sets


def _picked(given: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the sets of ``table[index]`` for an index that depends on something: any entry may have been picked."""
    table, indices = _union(given[:1]), [each for each in given[1:] if each.ndim]
    if not all(_fits(each.shape, shape[: each.ndim]) for each in indices):
        return _filled(shape, _union(given))
    spread = [each.reshape((*each.shape, *(1,) * (len(shape) - each.ndim))) for each in indices]
    scalars = _union([each for each in given[1:] if not each.ndim])
    return _joined([_filled((), table | scalars), *spread], shape)


def _joined(given: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[Any]:
    sets = _filled(shape, NOTHING)
    spread = [np.broadcast_to(each, shape) for each in given if _some(each)]
    for index in np.ndindex(*shape):
        sets[index] = NOTHING.union(*(each[index] for each in spread))
    return sets


def _union(given: Sequence[NDArray[Any]]) -> frozenset[Element]:
    return NOTHING.union(*_each(given))


def _each(given: Sequence[NDArray[Any]]) -> Iterator[frozenset[Element]]:
    for array in given:
        yield from array.reshape(-1)


def _some(sets: NDArray[Any]) -> bool:
    return any(sets.reshape(-1))


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _above(op: Any, given: Sequence[NDArray[Any]], shape: tuple[int, ...]) -> Sets:
    """Return for every element of a random variable what its law depends on."""
    if is_plain(op):
        cores = [_merged(each, axes) for each, axes in zip(given, op.ndims_params, strict=True)]
        if all(_fits(each.shape, shape) for each in cores):
            return tuple(_joined(cores, shape).reshape(-1))
    return tuple(_filled(shape, _union(given)).reshape(-1))


def _merged(sets: NDArray[Any], axes: int) -> NDArray[Any]:
    """Return the unions over the last `axes` axes."""
    kept = sets.shape[: sets.ndim - axes]
    merged = np.empty(kept, dtype=object)
    for index in np.ndindex(*kept):
        merged[index] = _union([sets[index]]) if axes else sets[index]
    return merged
