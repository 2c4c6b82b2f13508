"""PyMC and PyTensor, imported where they are used, and expressions in terms of functions that NumPy has."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from functools import cache, reduce
from importlib import import_module
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import MissingExtraError

# --------------------------------------------------------------------------------------------------
# What PyTensor computes number by number without a compiler, in terms of functions that NumPy has for arrays.
# --------------------------------------------------------------------------------------------------


@cache
def whole_arrays() -> Any:
    """Return a rewriter that exchanges slow operations for equal ones that work on whole arrays."""
    import pytensor.graph.rewriting.basic as module
    import pytensor.tensor.elemwise as elementwise

    library: Any = module

    @library.node_rewriter([elementwise.Elemwise])
    def rewritten(fgraph: Any, node: Any) -> Any:
        rule = _RULES.get(type(node.op.scalar_op).__name__)
        made = None if rule is None else rule(node)
        same = made is not None and made.dtype == node.outputs[0].dtype and made.ndim == node.outputs[0].ndim
        return [made] if same else False

    return library.out2in(rewritten, name="whole_arrays")


def _library() -> Any:
    import pytensor.tensor as library

    return library


def _clipped(node: Any) -> Any:
    pt, (value, lower, upper) = _library(), node.inputs
    return pt.switch(pt.lt(value, lower), lower, pt.switch(pt.gt(value, upper), upper, value))


def _second(node: Any) -> Any:
    pt, (shaped, value) = _library(), node.inputs
    return pt.switch(pt.eq(shaped, shaped), value, value)


_EXACT = {
    "int64": ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    "float64": ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32"),
}
"""What a type holds without loss, by the type."""


def _converted(node: Any) -> Any:
    """Whole numbers to wider ones or to double precision; whatever loses digits stays as it is."""
    pt, (value,), kind = _library(), node.inputs, node.outputs[0].dtype
    exact = value.dtype in _EXACT.get(kind, ("bool",))
    return pt.mul(value, pt.constant(1, dtype=kind)) if exact else None


def _soft(node: Any) -> Any:
    """PyTensor's own cases, by which log(1 + exp(x)) neither overflows nor loses digits."""
    pt, (x,) = _library(), node.inputs
    large = pt.switch(pt.lt(x, 33.3), x + pt.exp(-x), x)
    return pt.switch(pt.lt(x, -37.0), pt.exp(x), pt.switch(pt.lt(x, 18.0), pt.log1p(pt.exp(x)), large))


def _log_one_minus(node: Any) -> Any:
    pt, (x,) = _library(), node.inputs
    return pt.switch(pt.lt(x, -0.6931471805599453), pt.log1p(-pt.exp(x)), pt.log(-pt.expm1(x)))


def _pairwise(node: Any) -> Any:
    return reduce(node.op, node.inputs) if len(node.inputs) > 2 else None


_RULES: Mapping[str, Callable[[Any], Any]] = {
    "Clip": _clipped,
    "Second": _second,
    "Cast": _converted,
    "Softplus": _soft,
    "Log1mexp": _log_one_minus,
    "Add": _pairwise,
    "Mul": _pairwise,
}

# --------------------------------------------------------------------------------------------------
# PyMC and PyTensor, imported where they are used; their types are partly unknown.
# --------------------------------------------------------------------------------------------------


def _module(name: str) -> Any:
    """A module of PyMC's or PyTensor's: imported when it is asked for, and of types that are partly unknown."""
    return import_module(name)


def pymc() -> Any:
    """Return PyMC.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return _module("pymc")
    except ImportError as error:
        raise MissingExtraError(
            "reading a PyMC model needs PyMC",
            found="no installation of it",
            remedy="Install it with: pip install 'bnpriv[pymc]'.",
        ) from error


def tensor() -> Any:
    """Return the tensors of PyTensor."""
    return _module("pytensor.tensor")


def vectorized(outputs: Any, swaps: Any) -> Any:
    """Return expressions for many points at once: inputs are exchanged for ones with an axis more in front."""
    return _module("pytensor.graph.replace").vectorize_graph(outputs, swaps)


def replaced(outputs: Any, swaps: Any) -> Any:
    """Return expressions with inputs exchanged."""
    return _module("pytensor.graph.replace").clone_replace(outputs, swaps)


def frozen(variables: list[Any], leaves: list[Any]) -> list[Any]:
    """Return expressions with copies of their data, which nobody else holds: theirs may be changed later."""
    own: dict[Any, Any] = {}
    for each in leaves:
        if not hasattr(each.type, "ndim"):
            continue
        if hasattr(each, "get_value"):
            value = np.array(each.get_value())
            own[each] = _module("pytensor.compile.sharedvalue").shared(value, name=each.name, shape=each.type.shape)
        elif isinstance(getattr(each, "data", None), np.ndarray):
            own[each] = type(each)(each.type, each.data.copy(), name=each.name)
    return replaced(variables, own)


def compiled(inputs: Any, outputs: Any, *, updates: Any = None, shapes: bool = False) -> Any:
    """Return a function that takes milliseconds to compile: nothing is translated to C.

    With `shapes` no more is computed than shapes need.
    """
    library = _module("pytensor")
    mode = library.compile.mode.Mode("py", "fast_compile" if shapes else whole_arrays())
    return library.function(inputs, outputs, updates=updates or {}, mode=mode, on_unused_input="ignore")


def of_many(variable: Any) -> Any:
    """Return an input like a variable with an axis for points before its own."""
    return tensor().tensor(dtype=variable.dtype, shape=(None, *variable.type.shape))


def own_generators(outputs: Any) -> tuple[Any, list[Any]]:
    """Return an expression, or several, with random generators of its own, and them: the model's are left alone."""
    library = _module("pymc.pytensorf")
    own = {rng: generator() for rng in library.find_rng_nodes(outputs if isinstance(outputs, list) else [outputs])}
    return replaced(outputs, own), list(own.values())


def generator() -> Any:
    """Return a random generator of its own for an expression."""
    return _module("pytensor.compile.sharedvalue").shared(np.random.default_rng(0))


def from_arrays(function: Callable[..., FloatArray], inputs: list[Any], axes: int, kind: str = "float64") -> Any:
    """Return what a function of arrays in double precision makes of expressions: an array of a type, so many axes."""
    pt, dtypes = tensor(), [*("float64" for _ in inputs), kind]
    shapes = [(None,) * n for n in (*(each.ndim for each in inputs), axes)]
    kinds = [pt.TensorType(dtype=dtype, shape=shape) for dtype, shape in zip(dtypes, shapes, strict=True)]
    made = _module("pytensor.compile.ops").wrap_py(kinds[:-1], kinds[-1:])(function)
    return made(*(pt.cast(each, "float64") for each in inputs))


def dense(array: Any) -> Any:
    """Return an expression for a matrix, which may be sparse, as one that is not."""
    return _module("pytensor.sparse").dense_from_sparse(array) if hasattr(array.type, "format") else array


def check() -> Any:
    """Return an operation that passes on its first input if the second holds, and raises ValueError if not."""
    return _module("pytensor.raise_op").CheckAndRaise(ValueError, "a parameter is not valid")


def updates_of(inputs: Any, outputs: Any) -> Any:
    """Return what generators become when expressions are drawn."""
    library = _module("pymc.pytensorf")
    return library.collect_default_updates(outputs=outputs if isinstance(outputs, list) else [outputs], inputs=inputs)


def reseed(generators: list[Any], random: np.random.Generator) -> None:
    """Give generators new seeds."""
    _module("pymc.pytensorf").reseed_rngs(generators, int(random.integers(2**31)))


def random_variables() -> Any:
    """Return the class of operations that draw from a distribution with parameters."""
    return _module("pytensor.tensor.random.op").RandomVariable


def is_random(op: Any) -> bool:
    """Return whether an operation draws from a distribution, one with parameters or one made of others."""
    return hasattr(op, "ndim_supp")


def is_custom(op: Any) -> bool:
    """Return whether an operation draws from a distribution that the user wrote."""
    custom = _module("pymc.distributions.custom")
    return isinstance(op, (custom.CustomDistRV, custom.CustomSymbolicDistRV))


def is_black_box(op: Any) -> bool:
    """Return whether an operation draws from a distribution of which there are functions only, no expression."""
    return is_simulator(op) or (is_custom(op) and isinstance(op, random_variables()))


def is_drawn(op: Any) -> bool:
    """Return whether a distribution of which there are functions only has one that draws."""
    held = getattr(op, "fn", None) or getattr(op, "_random_fn", None)
    # PyMC puts a function in the place of one that it was not given, which says so
    return held is not None and not getattr(held, "__qualname__", "").startswith("default_not_implemented.")


_PLAIN_MODULES = ("pytensor.tensor.random.basic", "pymc.distributions.continuous", "pymc.distributions.discrete")


def is_plain(op: Any) -> bool:
    """Return whether an operation draws single numbers from a distribution that has parameters and is not composed."""
    single = getattr(op, "ndim_supp", 1) == 0 and hasattr(op, "ndims_params")
    own = isinstance(op, random_variables()) or hasattr(cast(object, type(op)), "rv_op")
    many = type(op).__name__ != "InterpolatedRV"  # which PyMC has for one point at a time
    return bool(single and own and many and type(op).__module__ in _PLAIN_MODULES)


def is_truncated(op: Any) -> bool:
    """Return whether an operation draws single numbers from a plain law that is cut off, with a density of its own."""
    if type(op).__name__ != "TruncatedRV" or not is_plain(op.base_rv_op) or any(op.base_rv_op.ndims_params):
        return False
    own = [tensor().scalar(dtype="float64") for _ in op.base_rv_op.ndims_params]
    try:
        pymc().logcdf(of_parameters(op.base_rv_op, own), 0.0)
    except (NotImplementedError, TypeError):  # PyMC knows no distribution function, by which the density is divided
        return False
    return True


def truncated_parameters(rv: Any) -> tuple[Any, ...]:
    """Return the parameters of a law that is cut off, and the ends where it is."""
    *inputs, lower, upper = rv.owner.inputs
    law = rv.owner.op.base_rv_op
    return (*law.dist_params(law.make_node(*inputs)), lower, upper)


def cores_of(op: Any) -> tuple[int, ...]:
    """Return the number of dimensions of every parameter of a law, for one draw."""
    return (*op.base_rv_op.ndims_params, 0, 0) if type(op).__name__ == "TruncatedRV" else tuple(op.ndims_params)


def is_basic(op: Any) -> bool:
    """Return whether an operation draws numbers or vectors from a distribution of PyTensor's own."""
    return isinstance(op, random_variables()) and type(op).__module__ == _PLAIN_MODULES[0]


def of_parameters(op: Any, parameters: list[Any]) -> Any:
    """Return a random variable with the same kind of law and other parameters."""
    # with a generator, and without __call__: PyTensor 3 warns of what it will change there
    rng = generator()
    if type(op).__name__ == "TruncatedRV":
        *own, lower, upper = parameters
        return pymc().Truncated.dist(of_parameters(op.base_rv_op, own), lower=lower, upper=upper)
    if isinstance(op, random_variables()):
        return op.make_node(rng, None, *parameters).outputs[1]
    return cast(Any, type(op)).rv_op(*parameters, rng=rng)


def support(rv: Any, fixed: Callable[[Any], FloatArray | None]) -> tuple[float, float]:
    """Return the ends of the support of a variable's law, as its usual transformation tells; infinite if unknown.

    Parameters
    ----------
    rv : TensorVariable
    fixed : callable
        The value of an expression, or None if it varies.
    """
    transform, op = usual_transform(rv), rv.owner.op
    bounds = getattr(transform, "args_fn", None)
    if bounds is None:
        ends = {
            "LogTransform": (0.0, math.inf),
            "LogOddsTransform": (0.0, 1.0),
            "CircularTransform": (-math.pi, math.pi),
        }
        return ends.get(type(transform).__name__, (-math.inf, math.inf))
    ends = (None if end is None else tensor().as_tensor(end) for end in bounds(*rv.owner.inputs))
    low, high = (None if end is None else fixed(end) for end in ends)
    lower = -math.inf if low is None else float(low.min())
    upper = math.inf if high is None else float(high.max())
    if type(op).__name__ == "TruncatedRV":
        *inputs, _, _ = rv.owner.inputs
        inner = support(op.base_rv_op.make_node(*inputs).default_output(), fixed)
        return max(lower, inner[0]), min(upper, inner[1])
    return lower, upper


def usual_transform(rv: Any) -> Any:
    """Return the transformation of a variable's law to the whole line, or None."""
    try:
        return _module("pymc.distributions.transforms")._default_transform(rv.owner.op, rv)
    except NotImplementedError:
        return None


_LIBRARIES = frozenset({"pymc", "pytensor", "numpy", "scipy", "pandas", "xarray", "arviz"}) | sys.stdlib_module_names


def is_library(thing: Any) -> bool:
    """Return whether a module, function or class comes with PyMC or below it, and was not made on the way."""
    module = str(getattr(thing, "__module__", None) or getattr(thing, "__name__", ""))
    if module.split(".")[0] not in _LIBRARIES or module == "__main__":
        return False
    return not (isinstance(thing, type) and getattr(sys.modules.get(module), thing.__name__, None) is not thing)


def is_variable(thing: object) -> bool:
    """Return whether something is a variable of PyTensor's, one that stands for numbers in an expression."""
    return isinstance(thing, _module("pytensor.graph.basic").Variable)


def is_measurable(op: Any) -> bool:
    """Return whether PyMC takes an operation for one whose result is random."""
    return isinstance(op, _module("pymc.logprob.abstract").MeasurableOp)


def is_simulator(op: Any) -> bool:
    """Return whether an operation is a simulator, which PyMC's log density may draw from."""
    return isinstance(op, _module("pymc.distributions.simulator").SimulatorRV)


def functions_of(op: Any) -> list[object]:
    """Return the functions of the user's behind an operation: for drawing, for densities, or what it does at all."""
    kinds = [kind for kind in type(op).__mro__ if not is_library(kind)]
    held = getattr(op, "__dict__", {}).values()
    if not kinds:  # an operation of PyTensor's may be made of a function
        return [each for each in held if callable(each) and not isinstance(each, type)]
    modules = _module("pymc.distributions.distribution"), _module("pymc.logprob.abstract")
    tables = [getattr(module, name, None) for module in modules for name in _DISPATCHED]
    registered = [table.registry[kind] for table in tables if table for kind in kinds if kind in table.registry]
    return [*registered, *held, *(each for kind in kinds for each in vars(kind).values())]


_DISPATCHED = ("_logprob", "_logcdf", "_logccdf", "_icdf", "_support_point", "_change_dist_size")
