"""TakenDraws of a model's variables from a posterior, as InferenceData or DataTree hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member, subset, type_text
from bnpriv.core.networks.base import Posterior, TableFingerprint
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.expressions import ancestors
from bnpriv.io.pymc.gaussian import finite_states
from bnpriv.io.pymc.roles import Roles, models_that_fit
from bnpriv.io.pymc.structure import Structure, entry_names, halves
from bnpriv.kinds.draws.parameter_draws import DrawReading, ParameterDraws
from bnpriv.tables.public import fingerprint_of

MOST_ENTRIES = 100
"""Entries of a Deterministic that can be protected; one for every record is none of the few numbers of interest."""

POSTERIOR_REMEDY = (
    "Pass what pm.sample returns, its group posterior or prior, a part of it such as idata.posterior[['mu', 'tau']], "
    "az.extract(idata), or a dict of arrays of shape (chains, draws, *shape)."
)

GROUPS = ("posterior", "prior")
"""The groups of ArviZ that hold draws of parameters, the first that there is before the others."""


class TakenDraws(NamedTuple):
    """TakenDraws in the one form in which they are read: arrays with the dimensions chain and draw first."""

    posterior: dict[str, Any]
    observed_data: Any
    prior: bool


def draws_of(posterior: Any, structure: Structure, *, independent: bool) -> TakenDraws:
    """Return draws in whatever form they came.

    Parameters
    ----------
    posterior : InferenceData, DataTree, Dataset, DataArray or mapping from str to array
        Of arrays without dimensions the first are chain and draw, or draw alone, as the shapes of the model tell.
    structure : Structure
        Of the model that they are of.
    independent : bool
        Whether their order says nothing.

    Raises
    ------
    NetworkError
        If they have another form, or an order from which it cannot be told how they depend on each other.
    """
    held = [name for name in GROUPS if hasattr(getattr(posterior, name, None), "data_vars")]
    group = getattr(posterior, held[0]) if held else posterior
    if hasattr(group, "dims") and not hasattr(group, "data_vars"):
        group = {group.name: group}  # one variable alone, as az.extract returns it
    found = variables_of(group)
    if any(hasattr(array, "data_vars") for array in found.values()):
        raise NetworkError(
            "draws must be in a group named posterior or prior",
            found=f"the groups {listing(found)}",
            remedy=POSTERIOR_REMEDY,
        )
    leading: set[int] = {
        np.ndim(array) - len(structure.variables[name].shape)
        for name, array in found.items()
        if not hasattr(array, "dims") and name in structure.variables
    }
    every = {
        name: _by_chain(array, name, independent=independent)
        if hasattr(array, "dims")
        else _plain(array, name, leading)
        for name, array in found.items()
    }
    prior = held[:1] == ["prior"]  # what is drawn from priors rests on no data
    return TakenDraws(every, None if prior else getattr(posterior, "observed_data", None), prior)


def _plain(array: Any, name: str, leading: set[int]) -> Any:
    """Return an array without dimensions as one with them."""
    if len(leading) != 1 or not leading <= {1, 2} or np.ndim(array) < min(leading):
        raise NetworkError(
            "arrays of draws must all have the shape of their variable behind chain and draw, or behind draw",
            found=f"the shape {np.shape(array)} for {name!r}",
            remedy=POSTERIOR_REMEDY,
        )
    values = np.asarray(array)[None] if leading == {1} else np.asarray(array)
    if values.shape[0] > values.shape[1]:
        raise NetworkError(
            "arrays of draws must have chains first, then draws",
            found=f"{values.shape[0]:,} chains of {values.shape[1]:,} draws for {name!r}",
            remedy="Exchange the first two axes, or give them their names as xarray does.",
        )
    return _array(values, ("chain", "draw", *(f"{name}_dim_{k}" for k in range(values.ndim - 2))), {})


def _array(values: Any, dims: tuple[str, ...], coords: Mapping[str, Any]) -> Any:
    from xarray import DataArray

    return DataArray(values, dims=dims, coords=coords)


def _by_chain(array: Any, name: str, *, independent: bool) -> Any:
    """Return an array with chain and draw first: both in one dimension are taken apart, one chain may have no name."""
    stacked = [] if "chain" in array.dims or "chain" not in array.coords else [*array.coords["chain"].dims]
    if len(stacked) == 1 and "draw" in array.coords and array.coords["draw"].dims == tuple(stacked):
        places = np.stack([np.asarray(array.coords[each].values) for each in ("chain", "draw")])
        order = np.lexsort(places[::-1])
        chains, steps = (np.unique(each) for each in places)
        whole = np.array(np.meshgrid(chains, steps, indexing="ij")).reshape(2, -1)
        if np.array_equal(places[:, order], whole) and len(np.unique(np.diff(steps))) <= 1:
            shape = (len(chains), len(steps))
        elif independent:
            order, shape = np.arange(len(order)), (1, len(order))
        else:
            raise NetworkError(
                "how draws depend on each other is told from all of each chain, in order",
                found=f"some draws of {name!r}, as az.extract(num_samples=...) picks them",
                remedy="Pass az.extract(idata), or idata; thin=10 takes every tenth draw.",
            )
        array = array.transpose(*stacked, ...)
        rest = array.dims[1:]
        values = np.asarray(array.values)[order].reshape((*shape, *array.shape[1:]))
        kept = {dim: array.coords[dim].values for dim in rest if dim in array.coords}
        return _array(values, ("chain", "draw", *rest), kept)
    if "draw" in array.dims and "chain" not in array.dims:
        array = array.expand_dims("chain")
    steps = array.indexes.get("draw")
    if steps is not None and steps.is_unique and not steps.is_monotonic_increasing:
        array = array.sortby("draw")  # how draws depend on each other is told by their order
    return array.transpose("chain", "draw", ...) if {"chain", "draw"} <= {*array.dims} else array


def check_thin(thin: object) -> None:
    """Refuse a step of draws that is no whole number from 1 on."""
    if isinstance(thin, bool) or not isinstance(thin, int) or thin < 1:
        raise NetworkError("thin must be a whole number from 1 on", found=f"{thin!r}", remedy="Pass for example 10.")


def drawn_variables(
    structure: Structure, posterior: TakenDraws, thin: int, fix: Iterable[str] | None, *, finite: bool = True
) -> dict[str, FloatArray]:
    """Return the draws of every variable that has some, of shape (draws, *shape).

    Parameters
    ----------
    structure : Structure
    posterior : TakenDraws
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
    group = posterior.posterior
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
    posterior: TakenDraws,
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
    posterior : TakenDraws
    known : mapping from str to ndarray of shape (draws, *shape)
        Of the variables whose draws count.
    thin : int
    reading : {"belief", "models"}
    own : bool
        Whether the draws are declared to be independent.
    every : bool
        Whether all draws are models, however many there are.
    """
    group = posterior.posterior
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
            source=_source(posterior, known),
            draws=-(-draws // step),
            of=draws if step > 1 else None,
            independent=own,
            table=_table(roles, posterior.observed_data),
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


def own_graph(model: Any) -> dict[str, tuple[str, ...]]:
    """Return the graph of a model as its user declared it: variables and Deterministics with their parents."""
    whole = {rv: name for name, parts in halves(model).items() for rv in parts}
    named = {each: str(whole.get(each, each.name)) for each in (*model.basic_RVs, *model.deterministics)}
    found: dict[str, dict[str, None]] = {}
    for each, name in named.items():
        above = ancestors(each.owner.inputs, named) if each.owner is not None else []
        found.setdefault(name, {}).update({named[one]: None for one in above if one in named and named[one] != name})
    return {name: tuple(above) for name, above in found.items()}


def inner_variables(
    graph: Mapping[str, tuple[str, ...]], structure: Structure, drawn: ParameterDraws
) -> frozenset[str]:
    """Return the entries of variables that matter through one Deterministic alone, entry by entry.

    As of the standard normal numbers of a hierarchy that is written without its centre, which nobody asks about: of the
    parents of the Deterministic it is the only one with as many entries.
    """
    children = {name: [child for child, above in graph.items() if name in above] for name in graph}
    sizes = Counter(name.partition("[")[0] for name in drawn.functions)
    found = set[str]()
    for function, size in sizes.items():
        above = [structure.variables[name] for name in graph.get(function, ()) if name in structure.variables]
        alike = [variable for variable in above if variable.size == size]
        if len(alike) == 1 and children[alike[0].name] == [function]:
            found.update(alike[0].names)
    return frozenset(found)


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
    """Return the arrays of a group by name."""
    try:
        names: Iterable[Any] = posterior.data_vars if hasattr(posterior, "data_vars") else posterior
        return {str(name): posterior[name] for name in list(names)}
    except (TypeError, LookupError, AttributeError) as error:
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
    if array.dtype.kind not in "biuf":
        raise NetworkError(
            f"the draws of {name!r} must be numbers", found=f"the type {array.dtype}", remedy=POSTERIOR_REMEDY
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


def posterior_of(roles: Roles, posterior: TakenDraws, *, independent: bool) -> Posterior | None:
    """Return what is known of draws, or None if there are none."""
    if not roles.fixed:
        return None
    return Posterior(
        source=_source(posterior, roles.fixed),
        draws=roles.models,
        independent=independent,
        table=_table(roles, posterior.observed_data),
    )


def _source(posterior: TakenDraws, names: Iterable[str]) -> str:
    data = "no data, as draws are of the priors" if posterior.prior else "the data behind the draws"
    return f"{data} of {listing(sorted(names))} by PyMC"


def weights_of(structure: Structure, posterior: TakenDraws, name: str, thin: int) -> FloatArray:
    """Return the log weights of draws, by the name of the variable that holds them.

    Raises
    ------
    NetworkError
        If there is none of that name, or it is not one finite number for each draw.
    """
    group = posterior.posterior
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
