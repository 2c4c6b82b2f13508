"""Columns of which PyMC was given some values and not others: one random variable again, as it was declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.backend import compiled, is_plain, of_parameters, replaced, tensor
from bnpriv.bound import FloatArray
from bnpriv.errors import NetworkError


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
    pt, whole = tensor(), model.named_vars[name]
    lengths = [int(rv.type.shape[0]) for rv in parts]
    inputs = [rv.type() for rv in parts]
    join = compiled(inputs, replaced(whole, dict(zip(parts, inputs, strict=True))))

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
    rv = of_parameters(parts[0].owner.op, parameters)
    rv.name = name
    return rv
