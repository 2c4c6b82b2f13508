"""Draws of a model's variables from a posterior, as InferenceData or DataTree hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member, subset, type_text
from bnpriv.core.networks.base import Posterior, TableFingerprint
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.expressions import ancestors
from bnpriv.io.pymc.finite import finite_states
from bnpriv.io.pymc.roles import Roles, models_that_fit
from bnpriv.io.pymc.structure import Structure, entry_names, halves
from bnpriv.kinds.draws.parameter_draws import DrawReading, ParameterDraws
from bnpriv.tables.public import fingerprint_of

MOST_ENTRIES = 100
"""Entries of a Deterministic that can be protected; one for every record is none of the few numbers of interest."""

POSTERIOR_REMEDY = "Pass what pm.sample returns, or a part of it such as idata.posterior[['mu', 'tau']]."


def check_thin(thin: object) -> None:
    """Refuse a step of draws that is no whole number from 1 on."""
    if isinstance(thin, bool) or not isinstance(thin, int) or thin < 1:
        raise NetworkError("thin must be a whole number from 1 on", found=f"{thin!r}", remedy="Pass for example 10.")


def drawn_variables(
    structure: Structure, posterior: Any, thin: int, fix: Iterable[str] | None, *, finite: bool = True
) -> dict[str, FloatArray]:
    """Return the draws of every variable that has some, of shape (draws, *shape).

    Parameters
    ----------
    structure : Structure
    posterior : InferenceData, DataTree or Dataset
    thin : int
    fix : iterable of str, optional
        The variables that are asked for; all by default.
    finite : bool
        Whether variables with finitely many values count by default.

    Raises
    ------
    NetworkError
        If there are none, they do not fit the model, or `thin` is below 1.
    """
    check_thin(thin)
    group: dict[str, Any] = variables_of(posterior)
    known = [v for v in structure.variables.values() if v.name in group and not v.observed and not v.is_function]
    if fix is not None:
        chosen = subset("fix", fix, [v.name for v in known], error=NetworkError)
        known = [v for v in known if v.name in chosen]
    elif not finite:
        known = [v for v in known if finite_states(v) is None]
    if not known:
        raise NetworkError(
            "a posterior needs draws of a parameter of the model",
            found=f"draws of {listing(group)}" if group else "no draws",
            remedy=f"{POSTERIOR_REMEDY} The model has {listing(structure.variables)}.",
        )
    found = {v.name: _draws(group[v.name], v.name, v.shape, thin, structure) for v in known}
    if len({len(draws) for draws in found.values()}) > 1:
        raise NetworkError(
            "all variables of a posterior must have as many draws", found="different numbers", remedy=POSTERIOR_REMEDY
        )
    return found


def parameter_draws(
    roles: Roles,
    model: Any,
    posterior: Any,
    known: Mapping[str, FloatArray],
    thin: int,
    reading: DrawReading,
    *,
    own: bool,
    every: bool,
) -> ParameterDraws:
    """Return all that a posterior says of a model's parameters, entry by entry.

    Parameters
    ----------
    roles : Roles
    model : pymc.Model
        Whose Deterministics count where the reading is "belief".
    posterior : InferenceData, DataTree or Dataset
    known : mapping from str to ndarray of shape (draws, *shape)
        Of the variables whose draws count.
    thin : int
    reading : {"belief", "models"}
    own : bool
        Whether the draws are declared to be independent.
    every : bool
        Whether all draws are models, however many there are.
    """
    group: dict[str, Any] = variables_of(posterior)
    variables = [roles.structure.variables[name] for name in known]
    found: dict[str, FloatArray] = {}
    for variable in variables:
        found |= _entries(known[variable.name], variable.names)
    own_names = frozenset(found)
    for each in model.deterministics if reading == "belief" else ():
        if _is_told(each, model, roles, known, group):
            found = {**_function(model, str(each.name), group, thin, roles.structure), **found}
    draws, chains = len(known[variables[0].name]), int(np.shape(group[variables[0].name].values)[0])
    step = -(-draws // models_that_fit(roles).models) if reading == "models" and thin == 1 and not every else 1
    return ParameterDraws(
        values={name: values[::step] for name, values in found.items() if len(values) == draws},
        functions=frozenset(found) - own_names,
        together={name: v.names for v in roles.parameters if v.is_joint for name in v.names},
        reading=reading,
        chains=chains if step == 1 else 1,
        posterior=Posterior(
            source=f"the data behind the draws of {listing(sorted(known))} by PyMC",
            draws=-(-draws // step),
            of=draws if step > 1 else None,
            independent=own,
            table=_table(roles, getattr(posterior, "observed_data", None)),
            belief=reading == "belief",
        ),
    )


def _entries(draws: FloatArray, names: Iterable[str]) -> dict[str, FloatArray]:
    return dict(zip(names, draws.reshape((len(draws), -1)).T, strict=True))


def _is_told(function: Any, model: Any, roles: Roles, known: Mapping[str, FloatArray], group: dict[str, Any]) -> bool:
    """Return whether draws of a Deterministic say something of new tables: it has some, and reads no column.

    Raises
    ------
    NetworkError
        If it has draws, but a parameter that it is computed from has none: this would not be drawn to go with it.
    """
    if function.name not in group:
        return False
    whole = {rv.name: name for name, parts in halves(model).items() for rv in parts}
    above = set(ancestors([function], ())).intersection(model.basic_RVs)
    inputs = {str(whole.get(each.name, each.name)) for each in above}
    if inputs & roles.own:
        return False
    loose = sorted(inputs.difference(known, roles.unused))
    if loose:
        raise NetworkError(
            "all that a Deterministic with posterior draws is computed from must have draws too",
            found=f"none for {listing(loose)} above {function.name!r}",
            remedy="Pass the draws of both, or leave out the Deterministic.",
        )
    return True


def _function(model: Any, name: str, group: dict[str, Any], thin: int, structure: Structure) -> dict[str, FloatArray]:
    """Return the draws of a Deterministic by entry; nothing where it has too many entries, or some overflow."""
    shape = tuple(np.asarray(group[name].values).shape[2:])
    if prod(shape) > MOST_ENTRIES or not bool(np.isfinite(np.asarray(group[name].values, dtype=np.float64)).all()):
        return {}
    return _entries(
        _draws(group[name], name, shape, thin, structure),
        entry_names(model.coords, model.named_vars_to_dims, name, shape),
    )


def variables_of(posterior: Any) -> dict[str, Any]:
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


def _draws(array: Any, name: str, shape: tuple[int, ...], thin: int, structure: Structure) -> FloatArray:
    dims = tuple(getattr(array, "dims", ()))
    if dims[:2] != ("chain", "draw"):
        raise NetworkError(
            f"the draws of {name!r} must have the dimensions chain and draw first",
            found=listing(dims) if dims else "none",
            remedy=POSTERIOR_REMEDY,
        )
    if np.iscomplexobj(array.values):
        raise NetworkError(
            f"the draws of {name!r} must be finite numbers", found="complex ones", remedy="Pass their real parts."
        )
    values = np.asarray(array.values, dtype=np.float64)
    if values.shape[2:] != shape:
        raise NetworkError(
            f"the draws of {name!r} must have the shape of the model's, {shape}",
            found=f"{values.shape[2:]}",
            remedy="Sample from this model, or one with the same dimensions.",
        )
    _check_labels(array, name, structure)
    values = values[:, ::thin].reshape((-1, *shape))
    if not len(values) or not bool(np.isfinite(values).all()):
        raise NetworkError(
            f"the draws of {name!r} must be finite numbers",
            found="none, or nan or inf",
            remedy="Sample again, or leave the draws out that failed.",
        )
    return values


def _check_labels(array: Any, name: str, structure: Structure) -> None:
    """Refuse draws whose entries are in another order than the model's, as far as dimensions and labels tell."""
    found = tuple(array.dims)[2:]
    # those without a name are called like this by ArviZ
    named = zip(structure.dims.get(name) or (None,) * len(found), range(len(found)), strict=True)
    expected = tuple(f"{name}_dim_{k}" if dim is None else dim for dim, k in named)
    wrong = "dimensions in another order" if set(found) == set(expected) and found != expected else ""
    for dim in found:
        labels: list[str] = [str(label) for label in array.coords[dim].values] if dim in array.coords else []
        own = [str(label) for label in structure.coords.get(dim, ())]
        if labels and own and labels != own:
            wrong = f"another order of {dim!r}" if sorted(labels) == sorted(own) else f"other labels of {dim!r}"
    if wrong:
        raise NetworkError(
            f"the entries of the draws of {name!r} must be those of the model, in its order",
            found=wrong,
            remedy="Give the model and the draws the same coordinates and dimensions.",
        )


def posterior_of(roles: Roles, posterior: Any) -> Posterior | None:
    """Return what is known of draws, or None if there are none."""
    if not roles.fixed:
        return None
    return Posterior(
        source=f"the data behind the draws of {listing(sorted(roles.fixed))} by PyMC",
        draws=roles.models,
        independent=False,
        table=_table(roles, getattr(posterior, "observed_data", None)),
    )


def weights_of(structure: Structure, posterior: Any, name: str, thin: int) -> FloatArray:
    """Return the log weights of draws, by the name of the variable that holds them.

    Raises
    ------
    NetworkError
        If there is none of that name, or it is not one finite number for each draw.
    """
    group: dict[str, Any] = variables_of(posterior)
    member("log_weights", name, group, error=NetworkError)
    return _draws(group[name], name, (), thin, structure)


def _table(roles: Roles, observed: Any) -> TableFingerprint | None:
    """Return hashes of the columns that the draws rest on, by the names that they have in the table to be released.

    Of tables with other numbers of records, such as groups and their members, it is the one with the model's columns.
    """
    group: dict[str, Any] = {} if observed is None else variables_of(observed)
    held = {name: np.asarray(array.values) for name, array in group.items()}
    variables = roles.structure.variables
    columns = {
        column: held[elements[0][0]].reshape(-1)[[k for _, k in elements]].tolist()
        for column, elements in roles.columns.items()
        if elements[0][0] in held and held[elements[0][0]].shape == variables[elements[0][0]].shape
    }
    own = {elements[0][0] for elements in roles.columns.values()}
    others = {name: values.tolist() for name, values in held.items() if values.ndim == 1 and name not in own}
    longest = max(map(len, (columns or others).values()), default=0)
    table = {name: values for name, values in {**others, **columns}.items() if len(values) == longest}
    return fingerprint_of(table) if longest > 1 else None
