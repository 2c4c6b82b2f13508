"""Draws of a model's variables from a posterior, as InferenceData or DataTree hold them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bnpriv.adapters.pymc.finite import finite_states
from bnpriv.adapters.pymc.roles import Roles
from bnpriv.adapters.pymc.structure import Structure
from bnpriv.bound import FloatArray
from bnpriv.checks import listing, subset, type_text
from bnpriv.errors import NetworkError
from bnpriv.networks import Posterior
from bnpriv.networks.learning.fingerprint import fingerprint_of
from bnpriv.networks.posterior import TableFingerprint

POSTERIOR_REMEDY = "Pass what pm.sample returns, or a part of it such as idata.posterior[['mu', 'tau']]."


def draws_of(structure: Structure, posterior: Any, thin: int, fix: Iterable[str] | None) -> dict[str, FloatArray]:
    """Return the draws of every continuous variable that has some, of shape (draws, *shape).

    Variables with finitely many values stay parameters: a model of Theta says how probable their values are.

    Raises
    ------
    NetworkError
        If there are none, they do not fit the model, or `thin` is below 1.
    """
    if isinstance(thin, bool) or not isinstance(thin, int) or thin < 1:
        raise NetworkError("thin must be a whole number from 1 on", found=f"{thin!r}", remedy="Pass for example 10.")
    if posterior is None:
        if thin != 1 or fix is not None:
            raise NetworkError("thin and fix go with posterior=", found="one alone", remedy="Leave it out.")
        return {}
    group: dict[str, Any] = _group(posterior)
    names = [str(name) for name in group]
    variables = [v for v in structure.variables.values() if v.name in names and not v.observed]
    known = [variable.name for variable in variables if finite_states(variable) is None]
    if fix is not None:
        known = sorted(subset("fix", fix, known, error=NetworkError), key=known.index)
    if not known:
        raise NetworkError(
            "a posterior needs draws of a continuous variable of the model",
            found=f"draws of {listing(names)}" if names else "no draws",
            remedy=f"{POSTERIOR_REMEDY} The model has {listing(structure.variables)}.",
        )
    return {name: _draws(group[name], name, structure.variables[name].shape, thin) for name in known}


def _group(posterior: Any) -> dict[str, Any]:
    """Return the part with posterior draws: a mapping from names to arrays with the dimensions chain and draw."""
    try:
        inner = getattr(posterior, "posterior", None)
        group = posterior if inner is None else inner
        names = list(getattr(group, "data_vars", group))
        return {str(name): group[name] for name in names}
    except (TypeError, KeyError, AttributeError) as error:
        raise NetworkError(
            "a posterior must hold arrays by name", found=type_text(posterior), remedy=POSTERIOR_REMEDY
        ) from error


def _draws(array: Any, name: str, shape: tuple[int, ...], thin: int) -> FloatArray:
    dims = tuple(getattr(array, "dims", ()))
    if dims[:2] != ("chain", "draw"):
        raise NetworkError(
            f"the draws of {name!r} must have the dimensions chain and draw first",
            found=listing(dims) if dims else "none",
            remedy=POSTERIOR_REMEDY,
        )
    values = np.asarray(array.values, dtype=np.float64)
    if values.shape[2:] != shape:
        raise NetworkError(
            f"the draws of {name!r} must have the shape of the model's, {shape}",
            found=f"{values.shape[2:]}",
            remedy="Sample from this model, or one with the same dimensions.",
        )
    values = values[:, ::thin].reshape((-1, *shape))
    if not len(values) or not bool(np.isfinite(values).all()):
        raise NetworkError(
            f"the draws of {name!r} must be finite numbers",
            found="none, or nan or inf",
            remedy="Sample again, or leave the draws out that failed.",
        )
    return values


def posterior_of(roles: Roles, posterior: Any) -> Posterior | None:
    """Return what is known of draws, or None if there are none."""
    if not roles.fixed:
        return None
    return Posterior(
        source=f"what the draws of {listing(sorted(roles.fixed))} by PyMC were made from",
        draws=roles.models,
        independent=False,
        table=_table(roles, getattr(posterior, "observed_data", None)),
    )


def _table(roles: Roles, observed: Any) -> TableFingerprint | None:
    """Return hashes of the columns that the draws rest on, by the names that they have in the table to be released."""
    renamed = {elements[0][0]: column for column, elements in roles.columns.items()}
    columns: dict[str, list[Any]] = {}
    group = {} if observed is None else _group(observed)
    for name, array in group.items():
        values: Any = np.asarray(array.values)
        if values.ndim == 1 and values.size > 1:
            columns[renamed.get(name, name)] = values.tolist()
    longest = max(map(len, columns.values()), default=0)
    table = {name: values for name, values in columns.items() if len(values) == longest}
    return fingerprint_of(table) if table else None
