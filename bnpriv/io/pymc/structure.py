"""The random variables of a PyMC model, their elements, and which element depends on which."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib.util import find_spec
from inspect import getattr_static
from itertools import product
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Literal, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import type_text
from bnpriv.core.networks.base import Axes, ImportReport
from bnpriv.errors import NetworkError
from bnpriv.io.pymc import backend, expressions as expr
from bnpriv.io.pymc.backend import is_basic, is_plain
from bnpriv.io.pymc.expressions import fits, joined, own

# --------------------------------------------------------------------------------------------------
# What Python functions can get hold of: by closures, defaults, globals, methods and partial applications.
# --------------------------------------------------------------------------------------------------

_NO_NAMES = frozenset[str]()


def reachable(roots: Iterable[object]) -> Sequence[Any]:
    """Return the PyTensor variables and PyMC models that functions, or objects with functions, can get hold of.

    Of modules, classes and objects of the user's only what some function names is followed; so an object may hold a
    variable that none of its methods in use speaks of.
    """
    start, names, before = list(roots), _NO_NAMES, None
    found: Sequence[Any] = ()
    while names != before:
        before = names
        found, names = _walk(start, names)
    return found


def _walk(roots: Sequence[object], names: frozenset[str]) -> tuple[Sequence[Any], frozenset[str]]:
    """Return what is found if code uses these names, and these names with those of all code on the way."""
    todo, found = list(roots), list[Any]()
    seen: dict[int, object] = {}  # it keeps what it has seen alive, and so its id
    while todo:
        here = todo.pop()
        if id(here) in seen:
            continue
        seen[id(here)] = here
        if _is_found(here):
            found.append(here)
            continue
        if isinstance(here, FunctionType) and not backend.is_library(here):
            names |= _names(here.__code__)
        todo += _within(here, names)
    return found, names


def _is_found(thing: object) -> bool:
    return backend.is_variable(thing) or isinstance(thing, backend.pymc().Model)


def _within(here: object, names: frozenset[str]) -> Iterable[object]:
    if isinstance(here, FunctionType):
        return _of_function(here)
    if isinstance(here, BuiltinFunctionType):
        return (here.__self__,)
    if isinstance(here, MethodType):
        owner = here.__self__
        held = (owner,) if _is_found(owner) else _of_object(owner, names)
        return here.__func__, *held
    if isinstance(here, partial):
        return here.func, *here.args, *here.keywords.values()
    if isinstance(here, Mapping):
        return cast(Mapping[object, object], here).values()
    if isinstance(here, (list, tuple, set, frozenset)):
        return cast(Iterable[object], here)
    if isinstance(here, np.ndarray):
        array = cast(Any, here)
        return array.ravel().tolist() if array.dtype == object else ()
    return _of_object(here, names | {"__call__"})


def _of_function(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if callable(held) or not backend.is_library(function):  # PyMC's own keep the parameters of a law too
            yield held
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
    if not backend.is_library(function):
        used = _names(function.__code__)
        yield from (function.__globals__[name] for name in used if name in function.__globals__)


def _of_object(here: object, names: frozenset[str]) -> Iterator[object]:
    """Yield what code may use of a module, a class or an object of the user's; all that an object of PyMC's holds."""
    if isinstance(here, (ModuleType, type)):
        yield from () if backend.is_library(here) else _named(vars(here), names)
        return
    # a decorated, static or class method, or a property
    yield from (getattr_static(here, name, None) for name in ("__wrapped__", "__func__", "fget"))
    held: Mapping[str, object] = getattr(here, "__dict__", {})
    whole = type(here).__module__.split(".")[0] == "pymc"  # such as the parts of a Gaussian process
    yield from held.values() if whole else _named(held, names)
    for kind in type(here).__mro__:
        if not backend.is_library(kind):
            yield from _named(vars(kind), names)
            slots = getattr(kind, "__slots__", ())
            yield from (getattr(here, name, None) for name in slots if name in names)


def _named(held: Mapping[str, object], names: frozenset[str]) -> Iterator[object]:
    return (held[name] for name in names if name in held)


def _names(code: CodeType) -> frozenset[str]:
    """Return the globals, attributes and keys that code uses, and the functions written inside it."""
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    keys = (each for each in code.co_consts if isinstance(each, str) and each.isidentifier())
    return frozenset(code.co_names).union(keys, *inner)


# --------------------------------------------------------------------------------------------------
# Variables that a user's function brings into a law from outside, so that the law does not show them as parameters.
# --------------------------------------------------------------------------------------------------


def refuse_captured(model: Any) -> None:
    """Refuse a model with a law that uses a random variable without taking it as a parameter.

    Three nets, each of which sees what the others may not: what the functions behind an operation can reach, what is
    drawn anew inside an operation, and what is left in the log density that PyMC makes.

    Raises
    ------
    NetworkError
        If there is one, or if a function of the user's for the log density fails.
    """
    known = {rv: str(rv.name) for rv in model.basic_RVs}
    values = {value: known[rv] for rv, value in model.rvs_to_values.items() if rv in known}
    for rv, name in known.items():
        # walked through the laws of others too, up to the next variable with a name
        above = [rv, *(each for each in expr.ancestors(rv.owner.inputs, known) if each not in known)]
        owners = {each.owner: None for each in above if each.owner is not None}
        functions = [model.rvs_to_transforms.get(rv)]
        used = _by_functions(owners, functions, known | values, model) or _inside(rv, owners, known)
        if used is None and any(_is_users(owner.op) for owner in _all(owners)):
            used = _in_density(model, rv, known, values)
        if used is not None:
            raise NetworkError(
                "a distribution must take all that it depends on as a parameter: PyMC cannot tell what a function uses "
                "besides",
                found=f"{used} in the distribution of {name!r}",
                remedy="Pass it, as in pm.CustomDist('x', s, dist=lambda s, size: ...) or OpFromGraph([s], ...).",
            )


def _is_users(op: Any) -> bool:
    return backend.is_custom(op) or not backend.is_library(type(op))


def _all(owners: Iterable[Any]) -> Iterator[Any]:
    """Yield applied operations and those inside them, at any depth."""
    todo = list(owners)
    while todo:
        owner = todo.pop()
        yield owner
        todo += _captured_within(owner)


def _captured_within(owner: Any) -> list[Any]:
    """Return the operations inside one that make its numbers; what only moves generators on is left out."""
    inside = getattr(owner.op, "fgraph", None)
    if inside is None:
        return []
    numbers = [each for each in inside.outputs if not _is_generator(each)]
    return list({each.owner: None for each in expr.ancestors(numbers, ()) if each.owner is not None})


def _by_functions(owners: Iterable[Any], functions: Iterable[Any], known: Mapping[Any, str], model: Any) -> str | None:
    """Return a variable that a function behind an operation, or behind a transform, can reach."""
    roots = [*functions, *(each for owner in _all(owners) for each in backend.functions_of(owner.op))]
    for found in reachable(roots):
        if found is model:
            return "the model itself"
        for each in expr.ancestors([found], ()) if hasattr(found, "owner") else ():
            if each in known:
                return repr(known[each])
    return None


def _inside(rv: Any, owners: Iterable[Any], known: Mapping[Any, str]) -> str | None:
    """Return a variable that is drawn again inside an operation, which made a copy of it.

    The copy keeps the name, and takes its random numbers from the same generator, which goes into the operation. Laws
    of the user's must not share a generator at all: their draws would depend on each other.
    """
    names, others = set(known.values()), [other for other in known if other is not rv]
    for owner in owners:
        copies = [each for each in _all(_captured_within(owner)) if backend.is_random(each.op)]
        for output in (output for each in copies for output in each.outputs):
            if output.name in names:
                return repr(output.name)
        kinds: set[object] = {type(each.op) for each in copies}
        # loops may take the generator of a variable along without using it; those that draw are refused elsewhere
        generators = _generators(owner) if copies and backend.is_random(owner.op) else set[Any]()
        for other in others:
            alike = type(other.owner.op) in kinds or _is_users(owner.op)
            if alike and not generators.isdisjoint(_generators(other.owner)):
                return repr(known[other])
    return None


def _generators(owner: Any) -> set[Any]:
    return {each for each in owner.inputs if _is_generator(each)}


def _is_generator(variable: Any) -> bool:
    return type(variable.type).__name__ == "RandomGeneratorType"


def _in_density(model: Any, rv: Any, known: Mapping[Any, str], values: Mapping[Any, str]) -> str | None:
    """Return what stays random in the log density that PyMC makes of a variable, its parameters being given."""
    if backend.is_simulator(rv.owner.op):
        return None
    above = [each for each in expr.ancestors(rv.owner.inputs, known) if each in known]
    given = backend.replaced(rv, {each: each.type() for each in above})
    try:
        with warnings.catch_warnings(), model:
            warnings.simplefilter("ignore")
            density = backend.pymc().logp(given, given.type())
    except (NotImplementedError, RuntimeError):  # PyMC has none for this law, which is told where one is needed
        return None
    except Exception as error:  # whatever a function of the user's raises
        raise NetworkError(
            "a log density that the user wrote must be computable",
            found=f"{type(error).__name__} for {rv.name!r}",
            remedy="Correct logp= or dist= of it; model.logp() fails too.",
        ) from error
    reached = expr.ancestors([density], ())
    for each in reached:
        if each in values:
            return repr(values[each])
    owners = _all({each.owner: None for each in reached if each.owner is not None})
    drawn = [
        each
        for owner in owners
        if backend.is_random(owner.op) or backend.is_measurable(owner.op)
        for each in owner.outputs
    ]
    named = [known.get(each) or each.name for each in drawn if each in known or each.name]
    return None if not drawn else repr(named[0]) if named else "a random variable"


# --------------------------------------------------------------------------------------------------
# Columns of which PyMC was given some values and not others: one random variable again, as it was declared.
# --------------------------------------------------------------------------------------------------


def halves(model: Any) -> Mapping[str, tuple[Any, Any]]:
    """Return for columns with missing values the two random variables into which PyMC split them."""
    known = {rv.name: rv for rv in model.basic_RVs}
    wholes = [name.removesuffix("_unobserved") for name in known if name.endswith("_unobserved")]
    return {
        name: (known[f"{name}_observed"], known[f"{name}_unobserved"])
        for name in wholes
        if f"{name}_observed" in known and name in model.named_vars
    }


def is_mendable(parts: tuple[Any, Any]) -> bool:
    """Return whether two halves are of a law of single numbers with parameters that are numbers."""
    return all(is_plain(rv.owner.op) and not any(rv.owner.op.ndims_params) for rv in parts)


def mended(model: Any, name: str, parts: tuple[Any, Any]) -> Any:
    """Return the random variable of all records of a column: its law, and nothing of what was observed.

    Raises
    ------
    NetworkError
        If it is another expression of two variables that are called like its halves.
    """
    pt, whole = backend.tensor(), model.named_vars[name]
    lengths = [int(rv.type.shape[0]) for rv in parts]
    inputs = [rv.type() for rv in parts]
    join = backend.compiled(inputs, backend.replaced(whole, dict(zip(parts, inputs, strict=True))))

    def joined(numbers: FloatArray) -> FloatArray:
        halves = np.split(numbers, lengths[:1])
        return join(*(values.astype(rv.dtype) for values, rv in zip(halves, parts, strict=True)))

    numbers = np.arange(float(sum(lengths)))
    places = joined(numbers).astype(np.int64)
    odd = numbers**2 + 7  # what only moves numbers moves these to the same places
    fits = np.array_equal(np.sort(places, axis=None), numbers) and np.array_equal(joined(odd), odd[places])
    if not fits:
        raise NetworkError(
            f"{name!r} must be a column with missing values, as PyMC splits it",
            found="another expression of its parts",
            remedy="Rename it, or its parts.",
        )
    own = zip(*(rv.owner.op.dist_params(rv.owner) for rv in parts), strict=True)
    spread = [[pt.alloc(pt.squeeze(each), n) for each, n in zip(pair, lengths, strict=True)] for pair in own]
    parameters = [pt.join(0, *pair)[places.ravel()].reshape(places.shape) for pair in spread]
    rv = backend.of_parameters(parts[0].owner.op, parameters)
    rv.name = name
    return rv


# --------------------------------------------------------------------------------------------------
# Vectors whose entries PyMC keeps in order by a transform: the law that this makes of the declared one.
# --------------------------------------------------------------------------------------------------

Order = Literal["", "ascending", "descending"]

MOST_REDRAWS = 10_000
"""Vectors are drawn again at most so often until their entries are in order."""

_INCREASING = frozenset({"LogTransform", "LogExpM1", "LogOddsTransform", "Interval"})


def order_of(model: Any, rv: Any) -> Order | None:
    """Return in which order the entries of a variable are kept, or None if its transform is another."""
    chosen, usual = model.rvs_to_transforms.get(rv), backend.usual_transform(rv)
    names = [type(each).__name__ for each in getattr(chosen, "transform_list", [chosen])]
    own = type(usual).__name__
    if names in ([own], ["NoneType"]) or ({names[0], own} == {"LogTransform", "LogExpM1"} and len(names) == 1):
        return ""
    # an increasing transform before keeps the order
    if names[-1] != "Ordered" or not set(names[:-1]) <= _INCREASING & {own}:
        return None
    last = getattr(chosen, "transform_list", [chosen])[-1]
    if getattr(last, "positive", False):
        return None
    return "ascending" if getattr(last, "ascending", True) else "descending"


def in_order(drawn: FloatArray, order: Order) -> FloatArray:
    """Return vectors with their entries in order: independent and alike ones have the law given the order."""
    found = np.sort(drawn, axis=-1)
    return found if order == "ascending" else found[..., ::-1]


def given_order(draw: Callable[[int], FloatArray], count: int, order: Order) -> FloatArray:
    """Return `count` draws of whole vectors, each the first of which the entries are in order."""
    found = draw(count)
    wrong = _wrong(found, order)
    for _ in range(MOST_REDRAWS):
        rows = np.flatnonzero(wrong.reshape((count, -1)).any(axis=1))
        if not len(rows):
            return found
        again = draw(len(rows))
        found[rows] = np.where(wrong[rows][..., np.newaxis], again, found[rows])
        wrong[rows] &= _wrong(again, order)
    raise ValueError("entries that are hardly ever in order")


def _wrong(drawn: FloatArray, order: Order) -> Any:
    steps = np.diff(drawn, axis=-1)
    return (steps < 0 if order == "ascending" else steps > 0).any(axis=-1)


# --------------------------------------------------------------------------------------------------
# Which element of a model's random variables depends on which elements of those above it.
# --------------------------------------------------------------------------------------------------

Sets = Sequence[frozenset[expr.Element]]
DependsOn = Mapping[str, Sets]


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
    shapes, _, sets = _led_through(rvs, inputs, stand_ins)
    found = {name: _above(rv.owner.op, [sets[p] for p in inputs[name]], shapes[rv]) for name, rv in rvs.items()}
    plain = {name: _parameters(rv, inputs[name]) for name, rv in rvs.items()}
    parameters = {name: expr.in_double(each, known) for name, each in plain.items()}
    return order, {name: shapes[rv] for name, rv in rvs.items()}, parameters, found


def followed(rvs: Mapping[str, Any], functions: Mapping[str, Any]) -> tuple[Mapping[str, tuple[int, ...]], DependsOn]:
    """How random variables hang together through functions of some, which stand between as if they were variables.

    Returns
    -------
    shapes : mapping from str to tuple of int
        Of the functions.
    dependence : mapping from str to sequence of frozenset of Element
        For every element of a variable or function those that it is computed or drawn from, and nothing above these.
    """
    nodes = {**rvs, **functions}
    names = {node: name for name, node in nodes.items()}
    stand_ins = _stand_ins([each for each in expr.ancestors(list(names), set()) if each in names])
    inputs = {name: _inputs(node) if name in rvs else tuple(node.owner.inputs) for name, node in nodes.items()}
    shapes, values, sets = _led_through(nodes, inputs, stand_ins)
    found = {name: _above(rv.owner.op, [sets[p] for p in inputs[name]], shapes[rv]) for name, rv in rvs.items()}
    made = {name: tuple(expr.through(node, sets, shapes, values).reshape(-1)) for name, node in functions.items()}
    return {name: shapes[node] for name, node in functions.items()}, found | made


def _led_through(
    nodes: Mapping[str, Any], inputs: Mapping[str, Sequence[Any]], stand_ins: Mapping[Any, Any]
) -> tuple[Mapping[Any, tuple[int, ...]], Mapping[Any, Any], dict[Any, expr.SetArray]]:
    """Return shapes and known values of all between nodes and their inputs, and which elements of nodes each takes."""
    inner = expr.ancestors([each for above in inputs.values() for each in above], set(nodes.values()), values=True)
    shapes, values = _evaluated(inner, stand_ins)
    sets: dict[Any, expr.SetArray] = {node: own(name, shapes[node]) for name, node in nodes.items()}
    for variable in inner:
        if variable not in sets:
            sets[variable] = expr.through(variable, sets, shapes, values)
    return shapes, values, sets


def _parameters(rv: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the parameters of a law that can be evaluated; none of one that is made of others."""
    op = rv.owner.op
    if isinstance(op, backend.random_variables()) or is_plain(op):
        return inputs
    return backend.truncated_parameters(rv) if backend.is_truncated(op) else ()


def _inputs(rv: Any) -> tuple[Any, ...]:
    """Return the parameters of a variable's law; all that goes into it if it is made of others."""
    op = rv.owner.op
    if isinstance(op, backend.random_variables()) or is_plain(op):
        return tuple(op.dist_params(rv.owner))
    return tuple(each for each in rv.owner.inputs if hasattr(each.type, "ndim"))


def _ordered(rvs: Mapping[str, Any]) -> list[str]:
    every = expr.ancestors(list(rvs.values()), set())
    names = {rv: name for name, rv in rvs.items()}
    parts = _parts(names)
    for variable in expr.ancestors(list(rvs.values()), set(), values=True):
        if variable in names or variable in parts or not _is_draw(variable):
            continue
        loop = not backend.is_random(variable.owner.op)
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
    made = owner is not None and backend.is_random(owner.op)
    return (takes or made) and type(variable.type).__name__ != "RandomGeneratorType"


def _parts(known: Collection[Any]) -> set[Any]:
    """Return the laws that others are made of, such as the components of a mixture: they have no name of their own."""
    parts: set[Any] = set()
    todo = list(known)
    while todo:
        law = todo.pop()
        if isinstance(law.owner.op, backend.random_variables()):
            continue
        for each in law.owner.inputs:
            while each not in known and each.owner is not None and type(each.owner.op).__name__ in expr.MOVES:
                each = each.owner.inputs[0]
            if each not in known and each not in parts and each.owner is not None and backend.is_random(each.owner.op):
                parts.add(each)
                todo.append(each)
    return parts


def _refuse_random_shapes(names: Mapping[Any, str]) -> None:
    for rv, name in names.items():
        op = rv.owner.op
        size = op.size_param(rv.owner) if isinstance(op, backend.random_variables()) or is_plain(op) else None
        if size is not None and any(_is_draw(each) for each in expr.ancestors([size], set(), values=True)):
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
    return tuple(int(size) for size in _run([backend.tensor().shape(rv)], stand_ins)[0])


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
            return backend.compiled(list(inputs.values()), backend.replaced(list(outputs), inputs), shapes=True)(
                *stand_ins.values()
            )
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
        above: list[Any] = [] if here.owner is None or given or expr.is_shape(here) else here.owner.inputs
        if given or any(each in varying for each in above):
            varying.add(here)
    arrays = [each for each in inner if hasattr(each.type, "ndim") and each not in stand_ins]
    fixed = [each for each in arrays if each not in varying]
    loose = [each for each in arrays if each in varying and None in getattr(each.type, "shape", ())]
    found = _run([*fixed, *(backend.tensor().shape(each) for each in loose)], stand_ins)
    values = dict(zip(fixed, found, strict=False))
    shapes = {each: tuple(getattr(each.type, "shape", ())) for each in arrays}
    shapes |= {each: np.shape(value) for each, value in (values | dict(stand_ins)).items()}
    return shapes | {each: tuple(map(int, size)) for each, size in zip(loose, found[len(fixed) :], strict=True)}, values


def _above(op: Any, given: Sequence[expr.SetArray], shape: tuple[int, ...]) -> Sets:
    """Return for every element of a random variable what its law depends on."""
    if is_plain(op):
        cores = [expr.merged(each, axes) for each, axes in zip(given, op.ndims_params, strict=True)]
        if all(fits(each.shape, shape) for each in cores):
            return tuple(joined(cores, shape).reshape(-1))
    return tuple(expr.filled(shape, expr.union(given)).reshape(-1))


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
    is_function : bool
        Whether it is a Deterministic: its one parameter is the expression that it is computed by.
    changed : str
        The Potential that makes its law another than the declared one; empty if there is none.
    """

    name: str
    rv: Any
    law: str
    shape: tuple[int, ...]
    names: tuple[str, ...]
    parameters: tuple[Any, ...]
    parents: tuple[str, ...]
    above: tuple[frozenset[expr.Element], ...]
    is_joint: bool
    observed: bool
    order: Order = ""
    is_function: bool = False
    changed: str = ""

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
        return self.is_plain or (bool(self.parameters) and backend.is_truncated(self.rv.owner.op))

    @property
    def is_basic(self) -> bool:
        """Return whether many draws of its law, of numbers or vectors, can be had at once."""
        return is_basic(self.rv.owner.op)


def fixed(expression: Any) -> FloatArray | None:
    """Return the value of an expression that depends on no random variable, or None if it depends on one."""
    owners = (each.owner for each in expr.ancestors([expression], set(), values=True) if each.owner is not None)
    if any(hasattr(owner.op, "dist_params") for owner in owners):
        return None
    return np.asarray(backend.compiled([], expr.in_double([expression], ())[0])(), dtype=np.float64)


IMPROPER = {
    "FlatRV": "Flat is improper, it has no distribution; write pymc.Normal with a wide sigma",
    "HalfFlatRV": "HalfFlat is improper, it has no distribution; write pymc.HalfNormal with a wide sigma",
    "ICARRV": "ICAR is improper, it has no distribution; write pymc.CAR with alpha below 1, as alpha=0.99",
}
"""Laws that are none, and what to write instead, by PyTensor's names."""


def unsupported(variable: Variable) -> str | None:
    """Return why neither densities nor draws of a variable can be had, and what to write; None if they can."""
    if variable.changed:
        return f"the Potential {variable.changed!r} changes its distribution"
    if variable.is_function:
        return None
    # the laws that it is made of count too, such as the first step of a walk
    for each in (variable.rv, *_parts([variable.rv])):
        op = each.owner.op
        if each.name in variable.parents:
            continue
        if type(op).__name__ in IMPROPER and not backend.is_custom(op):
            return IMPROPER[type(op).__name__]
        if backend.is_black_box(op) and not backend.is_drawn(op):
            return "a CustomDist of which only a log density is known cannot be drawn; give it random= or dist="
        if type(op).__name__ == "PolyaGammaRV" and find_spec("polyagamma") is None:
            return "PyMC draws PolyaGamma by the package polyagamma, which is not installed; install it"
    return None


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
    expressions : mapping from str to TensorVariable
        Those that are computed from declared random variables.
    """

    variables: Mapping[str, Variable]
    coords: Mapping[str, Sequence[object]]
    dims: Mapping[str, tuple[str | None, ...]]
    functions: frozenset[str] = frozenset()
    expressions: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def followed(self) -> tuple[Mapping[str, tuple[int, ...]], DependsOn]:
        """Return the shapes of the Deterministics, and what every element depends on, these standing between."""
        return followed({name: v.rv for name, v in self.variables.items() if not v.is_function}, self.expressions)

    @cached_property
    def _made(self) -> dict[str, Variable]:
        return {}

    def function(self, name: str) -> Variable:
        """Return a Deterministic as a variable that is computed from the random ones above it."""
        if name not in self._made:
            expression, (shapes, direct) = self.expressions[name], self.followed
            above = tuple(self.random_above(each) for each in direct[name])
            order = list(self.variables)
            parents = tuple(sorted({each[0] for found in above for each in found}, key=order.index))
            self._made[name] = Variable(
                name=name,
                rv=expression,
                law="Deterministic",
                shape=shapes[name],
                names=entry_names(self.coords, self.dims, name, shapes[name]),
                parameters=expr.in_double([expression], {self.variables[each].rv for each in parents}),
                parents=parents,
                above=above,
                is_joint=False,
                observed=any(self.variables[each].observed for each in parents),
                is_function=True,
            )
        return self._made[name]

    def function_place(self, name: object) -> expr.Element | None:
        """Return the Deterministic, and the place in it, that a name stands for; None if for none."""
        stem = name.partition("[")[0] if isinstance(name, str) else ""
        if stem not in self.expressions or name not in self.function(stem).names:
            return None
        return stem, self.function(stem).names.index(str(name))

    def random_above(self, elements: Iterable[expr.Element]) -> frozenset[expr.Element]:
        """Return the elements of random variables among some, and those that the others are computed from."""
        found, todo = set[expr.Element](), list(elements)
        while todo:
            each = todo.pop()
            if each[0] not in self.expressions:
                found.add(each)
            else:
                todo += self.followed[1][each[0]][each[1]]
        return frozenset(found)

    def with_columns(self, names: Iterable[str]) -> Structure:
        """Return the structure in which Deterministics that are named, as a whole or by an entry, are variables."""
        asked = {stem for name in names if (stem := name.partition("[")[0]) in self.expressions}
        made = {name: self.function(name) for name in sorted(asked)}
        return replace(self, variables={**self.variables, **made}) if made else self

    @cached_property
    def children(self) -> Mapping[str, frozenset[str]]:
        """Return for every variable those that depend on it directly."""
        below: dict[str, set[str]] = {name: set() for name in self.variables}
        for name, variable in self.variables.items():
            for parent in variable.parents:
                below[parent].add(name)
        return {name: frozenset(found) for name, found in below.items()}

    def is_column(self, name: str) -> bool:
        """Return whether a variable can be a column: nothing random depends on it, or it is observed like what does."""
        below = [each for each in self.children[name] if not self.variables[each].is_function]
        whole = all(self.variables[child].observed and self.is_column(child) for child in below)
        return not below or (self.variables[name].observed and whole)

    @cached_property
    def axes(self) -> Mapping[str, Axes]:
        """Return the dimensions of every vector, and of Deterministics by their coordinates, with their labels."""
        shapes = {name: variable.shape for name, variable in self.variables.items() if variable.shape}
        for name in self.functions:
            dims = [each for each in self.dims.get(name, ()) if each is not None and each in self.coords]
            if dims and len(dims) == len(self.dims[name]):
                shapes[name] = tuple(len(self.coords[dim]) for dim in dims)
        return {name: axes_of(self.coords, self.dims.get(name), shape) for name, shape in shapes.items()}

    def element(self, name: expr.Element) -> str:
        """Return the name of an element."""
        return self.variables[name[0]].names[name[1]]

    @cached_property
    def elements(self) -> Mapping[str, expr.Element]:
        """Return the elements by name; a variable with one element has its name."""
        return {text: (name, k) for name, variable in self.variables.items() for k, text in enumerate(variable.names)}


def structure_of(model: Any) -> Structure:
    """Return the random variables of a model.

    Raises
    ------
    NetworkError
        If it is no PyMC model, has a cycle, a variable in single precision, or a law that uses others without taking
        them as parameters.
    """
    library = backend.pymc()
    if not isinstance(model, library.Model):
        remedy = "Call model.build() first." if hasattr(model, "backend") else "Pass the model."
        raise NetworkError("a pymc.Model is needed", found=type_text(model), remedy=remedy)
    if not model.basic_RVs:
        raise NetworkError("a model needs a random variable", found="none", remedy="Declare the parameters in it.")
    for rv in model.basic_RVs:
        _check(model, rv)
    refuse_captured(model)
    observed = {rv.name for rv in model.observed_RVs}.union(halves(model))
    declared = _whole(model)
    made = _computed(model, declared)
    nodes = dict(zip((*declared, *made), _frozen([*declared.values(), *made.values()]), strict=True))
    variables = dict(_read(model, declared, {name: nodes[name] for name in declared}, observed))
    _check_names(variables)
    coords = {name: tuple(values) for name, values in model.coords.items() if values is not None}
    functions = frozenset(str(each.name) for each in model.deterministics)
    found = Structure(
        variables=variables,
        coords=coords,
        dims=dict(model.named_vars_to_dims),
        functions=functions,
        expressions={name: nodes[name] for name in made},
    )
    reading = ImportReport(axes=found.axes)
    for name in (*variables, *functions):
        if "[" in name and (stem := name.partition("[")[0]) in found.axes:
            labels = (each for _, each in found.axes[stem])
            if reading.own_name(name) in (f"{stem}[{', '.join(place)}]" for place in product(*labels)):
                raise _alike(name, stem, name)
    return found


def _computed(model: Any, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Deterministics that are computed from declared random variables and nothing else that is random."""
    known, found = set(declared.values()), dict[str, Any]()
    for each in model.deterministics:
        above = [here for here in expr.ancestors([each], known, values=True) if here in known or _is_draw(here)]
        if above and known.issuperset(above) and each.name not in declared:
            found[str(each.name)] = each
    return found


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
            "a distribution must be what the variable is declared with: PyMC's sampler restricts it by a transform",
            f"{type(model.rvs_to_transforms.get(rv)).__name__} of {rv.name!r}",
            "Leave transform= out, or declare numbers with a density of their own that are kept in order by ordered.",
        ),
    ):
        if wrong:
            raise NetworkError(required, found=found, remedy=remedy)


def changed_by_potentials(model: Any) -> dict[str, str]:
    """Return the variables that lie above a Potential, each with its name.

    It is a factor of the joint density, so that neither they nor what is above them have the laws that are declared;
    what is below them has, given them.
    """
    parts = {rv: name for name, pair in halves(model).items() for rv in pair}
    found: dict[str, str] = {}
    for potential in model.potentials:
        for each in set(expr.ancestors([potential], ())).intersection(model.basic_RVs):
            found.setdefault(str(parts.get(each, each.name)), str(potential.name))
    return found


def refuse_potential(model: Any, name: str, column: str) -> None:
    """Refuse a Potential that changes a law, with the distribution that says the same.

    Parameters
    ----------
    model : pymc.Model
    name : str
    column : str
        A column that it depends on, empty if on none: then draws of a posterior hold all that it says.

    Raises
    ------
    NetworkError
    """
    potential = next(each for each in model.potentials if each.name == name)
    remedy = expr.replaces(potential, model.basic_RVs, of_column=bool(column))
    if not column:
        remedy += " Or pass draws of all that is above it by posterior=, which hold it."
    raise NetworkError(
        "a model must be a product of conditional distributions",
        found=f"the Potential {name!r}" + (f", which depends on the column {column!r}" if column else ""),
        remedy=remedy,
    )


def _check_names(variables: Mapping[str, Variable]) -> None:
    seen: dict[str, str] = {}
    for variable in variables.values():
        for name in variable.names:
            if name in seen:
                raise _alike(name, seen[name], variable.name)
            seen[name] = variable.name


def _alike(name: str, one: str, other: str) -> NetworkError:
    return NetworkError(
        "names must tell all entries of variables apart",
        found=f"{name!r} in {one!r} and {other!r}",
        remedy="Rename one of them.",
    )


def _frozen(every: list[Any]) -> list[Any]:
    """Return expressions with data that nobody else holds."""
    above = expr.ancestors(every, ())
    for each in _inside_element(above):  # arrays of constants may be the user's, and changed later
        if each.owner is None and isinstance(getattr(each, "data", None), np.ndarray) and hasattr(each.type, "ndim"):
            each.data = each.data.copy()
    return backend.frozen(every, [each for each in above if each.owner is None])


def _read(
    model: Any, declared: Mapping[str, Any], rvs: Mapping[str, Any], observed: set[str]
) -> Iterable[tuple[str, Variable]]:
    names, shapes, parameters, dependence = traced(rvs)
    changed = changed_by_potentials(model)
    for name in names:
        rv, shape = rvs[name], shapes[name]
        order = order_of(model, declared[name]) or ""
        # entries that are kept in order depend on what any of them does
        sets = dependence[name]
        sets = [expr.EMPTY_SET.union(*sets)] * len(sets) if order else sets
        yield (
            name,
            Variable(
                name=name,
                rv=rv,
                law=_law(rv),
                shape=shape,
                names=entry_names(model.coords, model.named_vars_to_dims, name, shape),
                parameters=parameters[name],
                parents=tuple(sorted({element[0] for each in sets for element in each}, key=names.index)),
                above=tuple(frozenset(each) for each in sets),
                is_joint=bool(order) or _is_joint(rv, set(rvs.values())),
                observed=name in observed,
                order=order,
                changed=changed.get(name, ""),
            ),
        )


def _inside_element(above: Iterable[Any]) -> Iterable[Any]:
    """Yield all that operations are made of, at any depth."""
    held = [getattr(each.owner.op, "fgraph", None) for each in above if each.owner is not None]
    for graph in {id(each): each for each in held if each is not None}.values():
        inside = expr.ancestors(list(graph.outputs), ())
        yield from inside
        yield from _inside_element(inside)


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
    used = [each for each in expr.ancestors([each for inputs in below for each in inputs], ()) if each in parts]
    if used:
        raise NetworkError(
            "nothing may depend on a column with missing values",
            found=f"what depends on {parts[used[0]]!r}",
            remedy="Leave the observed values out or fill them in: only their number counts here.",
        )
    return rvs | {name: mended(model, name, pair) for name, pair in split.items()}


def _is_joint(rv: Any, known: set[Any]) -> bool:
    """Return whether elements may depend on each other; what a distribution of the user's says of it is not trusted."""
    inside = [each for each in expr.ancestors(rv.owner.inputs, known) if each not in known and each.owner is not None]
    users = (backend.is_custom(each.owner.op) or backend.is_black_box(each.owner.op) for each in [rv, *inside])
    return bool(rv.owner.op.ndim_supp) or any(users)


def _law(rv: Any) -> str:
    printed = getattr(rv.owner.op, "_print_name", None)
    return str(printed[0]) if printed else type(rv.owner.op).__name__.removesuffix("RV")


def entry_names(
    coords: Mapping[str, Sequence[object] | None],
    dims: Mapping[str, Sequence[str | None]],
    name: str,
    shape: tuple[int, ...],
) -> tuple[str, ...]:
    """Return names such as theta[Choate]: by the coordinates of the dimensions, else by number."""
    if not shape:
        return (name,)
    axes = axes_of(coords, dims.get(name), shape)
    return tuple(f"{name}[{', '.join(place)}]" for place in product(*(labels for _, labels in axes)))


def axes_of(
    coords: Mapping[str, Sequence[object] | None], dims: Sequence[str | None] | None, shape: tuple[int, ...]
) -> Axes:
    """Return the dimensions of a vector with the labels of their entries."""
    named = dims or (None,) * len(shape)
    labels = [_labels((coords.get(dim) or ()) if dim else (), size) for dim, size in zip(named, shape, strict=True)]
    if len(shape) > 1:  # a comma in a label would read like the next dimension
        labels = [
            each if not any(", " in label for label in each) else [str(k) for k in range(len(each))] for each in labels
        ]
    return tuple((dim or "", tuple(each)) for dim, each in zip(named, labels, strict=True))


def _labels(coords: Sequence[object], size: int) -> list[str]:
    labels: list[str] = [str(label) for label in coords] if len(coords) == size else []
    return labels if len(set(labels)) == size else [str(k) for k in range(size)]
