"""Discrete variables that pymc_extras has summed out of a model: they are read with the law that they had."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from typing import Any, cast

from bnpriv.checks import listing
from bnpriv.errors import NetworkError

SUMMED_OUT = "MarginalRV"
"""What the operation derives from that pymc_extras puts in the place of a variable and all below it."""

RESTORING = "pymc_extras.model.marginal.marginal_model"
"""Where pymc_extras has the function that undoes it."""


def with_summed_out(model: Any) -> Any:
    """Return a model with the variables that were summed out of it; the same where none was.

    Raises
    ------
    NetworkError
        If the version of pymc_extras that made it cannot undo it.
    """
    if not any(_is_summed(rv) for rv in getattr(model, "basic_RVs", ())):
        return model
    try:
        return cast(Any, import_module(RESTORING)).unmarginalize(model)
    except (ImportError, AttributeError) as error:
        raise NetworkError(
            "a model from which variables were summed out must be restored before it is read",
            found="a version of pymc_extras that cannot do so",
            remedy="Pass the model as it was before pymc_extras.marginalize.",
        ) from error


def refuse_lost(model: Any, restored: Any, drawn: Collection[str]) -> None:
    """Refuse a belief in which a variable that was summed out has no draws: what the data tell of it would be lost.

    Raises
    ------
    NetworkError
    """
    if restored is model:
        return
    before = {str(rv.name) for rv in model.basic_RVs}
    lost = [str(rv.name) for rv in restored.basic_RVs if rv.name not in before and rv.name not in drawn]
    if lost:
        raise NetworkError(
            "a belief needs draws of what was summed out of the model: the data behind the posterior tell of it too",
            found=f"none of {listing(lost)}",
            remedy="Pass pymc_extras.recover_marginals(idata, model=model). If the table to be released has others in "
            "their place, as of other people, pass the model as it was before pymc_extras.marginalize.",
        )


def _is_summed(rv: Any) -> bool:
    return any(base.__name__ == SUMMED_OUT for base in type(rv.owner.op).__mro__)
