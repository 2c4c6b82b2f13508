"""Laws of one record of a column given discrete parameters, where PyMC's law is one that the field has a name for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import cast

import numpy as np

from bnpriv.adapters.pymc.evaluation import Evaluation
from bnpriv.adapters.pymc.finite import MOST_TABLE_ENTRIES, parent_points
from bnpriv.adapters.pymc.roles import Roles
from bnpriv.adapters.pymc.sets import Element
from bnpriv.bound import FloatArray


def record_laws(
    roles: Roles, drivers: Mapping[str, tuple[str, ...]], states: Mapping[str, tuple[float, ...]]
) -> dict[str, tuple[object, ...]]:
    """Return the laws of those columns whose records are independent and alike, for every state of their drivers.

    A column whose law has no counterpart, or differs between records, is left out.
    """
    found: dict[str, tuple[object, ...]] = {}
    for column, elements in roles.columns.items():
        if elements[0][0] in roles.own and not roles.fixed:
            laws = _laws(roles, elements, drivers[column], states)
            if laws is not None:
                found[column] = laws
    return found


def _laws(
    roles: Roles, elements: tuple[Element, ...], drivers: tuple[str, ...], states: Mapping[str, tuple[float, ...]]
) -> tuple[object, ...] | None:
    structure = roles.structure
    variable = structure.variables[elements[0][0]]
    make = _MADE.get(variable.law) if variable.is_plain else None
    above = tuple(structure.elements[name] for name in drivers)
    axes = [states[name] for name, _ in above]
    size = prod(len(axis) for axis in axes) * variable.size
    if make is None or size > MOST_TABLE_ENTRIES or any(parent in roles.own for parent in variable.parents):
        return None
    combinations = list(product(*axes))
    evaluation = Evaluation(variable, structure.variables)
    parameters = evaluation.parameters(parent_points(roles, variable, above, combinations), len(combinations))
    kept = [evaluation.of_element(parameters, k) for _, k in elements]
    if not all(np.array_equal(a, b) for each in kept[1:] for a, b in zip(kept[0], each, strict=True)):
        return None
    evaluation.log_density(np.zeros(len(combinations)), kept[0])  # raises if parameters are not valid
    names = structure.coords.get(f"{variable.name}_states")
    return tuple(make([each[row] for each in kept[0]], names) for row in range(len(combinations)))


def _bernoulli(parameters: list[FloatArray], names: object) -> object:
    p = float(parameters[0])
    return p if names is None else _named([1 - p, p], names)


def _categorical(parameters: list[FloatArray], names: object) -> object:
    from scipy.stats import rv_discrete

    p = parameters[0] / parameters[0].sum()
    if names is not None:
        return _named(p.tolist(), names)
    return rv_discrete(values=(np.arange(len(p)), p))()


def _named(probabilities: list[float], names: object) -> dict[object, float]:
    return dict(zip(cast("tuple[object, ...]", names), probabilities, strict=True))


def _family(name: str, arguments: Callable[[list[float]], Mapping[str, float]]) -> Callable[..., object]:
    def make(parameters: list[FloatArray], names: object) -> object:
        import scipy.stats

        return getattr(scipy.stats, name)(**arguments([float(each) for each in parameters]))

    return make


_MADE: Mapping[str, Callable[[list[FloatArray], object], object]] = {
    "Bernoulli": _bernoulli,
    "Categorical": _categorical,
    "Binomial": _family("binom", lambda p: {"n": p[0], "p": p[1]}),
    "BetaBinomial": _family("betabinom", lambda p: {"n": p[0], "a": p[1], "b": p[2]}),
    "DiscreteUniform": _family("randint", lambda p: {"low": p[0], "high": p[1] + 1}),
    "Poisson": _family("poisson", lambda p: {"mu": p[0]}),
    "Normal": _family("norm", lambda p: {"loc": p[0], "scale": p[1]}),
    "Exponential": _family("expon", lambda p: {"scale": p[0]}),
    "Beta": _family("beta", lambda p: {"a": p[0], "b": p[1]}),
    "StudentT": _family("t", lambda p: {"df": p[0], "loc": p[1], "scale": p[2]}),
}
