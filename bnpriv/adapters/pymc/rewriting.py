"""What PyTensor computes number by number without a compiler, in terms of functions that NumPy has for arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any


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
