"""Kinds of networks and notions of privacy plug in here: what each does in its own way is loaded when it is met.

A function with `by_kind` says what holds by default; the module of a kind registers what is otherwise. The kernel
imports no kind but its own: a kind outside it has one line in `PLUGGED_IN`. A network of one's own registers by
``influence_of.register`` in the module that declares it, and needs no line.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, singledispatch, update_wrapper
from importlib import import_module
from typing import Any, Generic, TypeVar

T = TypeVar("T")

PLUGGED_IN: dict[str, tuple[str, ...]] = {
    "DensityNetwork": (
        "bnpriv.influence.density.influence",
        "bnpriv.evidence.density_declared",
        "bnpriv.evidence.density_laws",
    ),
    "DiscreteNetwork": ("bnpriv.influence.finite",),
    "DistributionPrivacy": ("bnpriv.evidence.given_pairs",),
    "GaussianNetwork": (
        "bnpriv.influence.gaussian",
        "bnpriv.evidence.gaussian_declared",
        "bnpriv.evidence.gaussian_laws",
    ),
    "IntervalNetwork": ("bnpriv.influence.interval",),
    "MarkovChain": ("bnpriv.influence.chain.column", "bnpriv.influence.chain.tables"),
}
"""By the name of a class, the modules that register what is particular to it."""


@cache
def load(kind: type) -> None:
    """Load what is registered for a class and for those that it derives from."""
    for each in kind.__mro__:
        if each.__module__.startswith("bnpriv."):
            for module in PLUGGED_IN.get(each.__name__, ()):
                import_module(module)


class by_kind(Generic[T]):  # noqa: N801  (a decorator)
    """A function whose first argument decides what is done: by default what it says itself.

    Parameters
    ----------
    function : callable
        What holds where nothing is registered for the class of the first argument.
    """

    def __init__(self, function: Callable[..., T]) -> None:
        self._by_class = singledispatch(function)
        update_wrapper(self, function)

    @property
    def register(self) -> Any:
        """Register what holds for a class, as ``functools.singledispatch`` does."""
        return self._by_class.register

    def __call__(self, value: object, *args: Any, **named: Any) -> T:
        """Do what is registered for the class of `value`, or the default."""
        load(type(value))
        return self._by_class(value, *args, **named)
