"""A PyMC model's draws from a posterior; and models with densities: conditional densities and forward draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, member, subset, type_text
from bnpriv.core.networks.base import ImportReport, Posterior, TableFingerprint
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.backend import is_black_box, is_custom, is_plain, is_random, random_variables, support
from bnpriv.io.pymc.evaluation import Evaluation
from bnpriv.io.pymc.expressions import MOVES, Element, ancestors
from bnpriv.io.pymc.gaussian import finite_states, is_analytic
from bnpriv.io.pymc.roles import Roles, functions_identity, models_that_fit, varies_with
from bnpriv.io.pymc.structure import Structure, Variable, entry_names, fixed, halves, unsupported
from bnpriv.kinds.density.network import DensityNetwork, Given, Parameter
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


# --------------------------------------------------------------------------------------------------
# Which laws are known to give no single number a positive probability.
# --------------------------------------------------------------------------------------------------

_CONTINUOUS_IF_PARTS_ARE = frozenset(
    {
        "AutoRegressiveRV",
        "GARCH11RV",
        "KroneckerNormalRV",
        "LKJCorrRV",
        "MixtureRV",
        "MvStudentTRV",
        "PrecisionMvNormalRV",
        "RandomWalkRV",
        "ZeroSumNormalRV",
        "_LKJCholeskyCovRV",
    }
)


def has_no_atoms(rv: Any) -> bool:
    """Return whether a random variable is known to take every number with probability zero."""
    op = rv.owner.op
    if not str(rv.dtype).startswith("float") or is_custom(op) or is_black_box(op):
        return False
    if isinstance(op, random_variables()) or is_plain(op):
        return True
    if type(op).__name__ == "TruncatedRV":
        return is_plain(op.base_rv_op)
    parts = [each for each in map(_unmoved, rv.owner.inputs) if each.owner is not None and is_random(each.owner.op)]
    return type(op).__name__ in _CONTINUOUS_IF_PARTS_ARE and all(map(has_no_atoms, parts))


def _unmoved(part: Any) -> Any:
    while part.owner is not None and type(part.owner.op).__name__ in MOVES:
        part = part.owner.inputs[0]
    return part


def _function_has_no_atoms(structure: Structure, function: Element, loose: Collection[str]) -> bool:
    """Return whether a Deterministic is known to take every number with probability zero, all but some inputs given.

    An analytic function that is not constant has any one value on a set of measure zero only.
    """
    variable, place = structure.function(function[0]), function[1]
    above = [structure.variables[name] for name in variable.parents]
    smooth = all(has_no_atoms(v.rv) and (not v.is_joint or v.order or v.law == "MultivariateNormal") for v in above)
    if not smooth or not is_analytic(variable.parameters[0], [v.rv for v in above]):
        return False
    random = np.random.default_rng(0)
    points = {v.name: np.repeat(random.uniform(0.1, 0.9, (1, v.size)), 2, axis=0) for v in above}
    for name, k in (structure.elements[each] for each in loose):
        points[name][1, k] = random.uniform(0.1, 0.9)
    shaped = {v.name: points[v.name].reshape((2, *v.shape)).astype(v.rv.dtype) for v in above}
    first, second = Evaluation(variable, structure.variables).parameters(shaped, 2)[0].reshape((2, -1))[:, place]
    return bool(np.isfinite(first) and np.isfinite(second) and first != second)


CHUNK = 2**18
"""Numbers that are computed at once."""


def density_network(roles: Roles, reading: ImportReport, drawn: ParameterDraws | None = None) -> DensityNetwork:
    """Return the network of parameters by densities and draws, those of a posterior too where there are some."""
    evaluations = {name: Evaluation(v, roles.structure.variables) for name, v in roles.structure.variables.items()}
    parameters: dict[str, Parameter] = {}
    for variable in roles.parameters:
        states = finite_states(variable)
        lower, upper = support(variable.rv, fixed)
        for k, name in enumerate(variable.names):
            above = roles.above((variable.name, k))
            parameters[name] = Parameter(
                name=name,
                parents=tuple(roles.structure.element(each) for each in above),
                lower=lower,
                upper=upper,
                states=states,
                refused=unsupported(variable) or "",
                without_atoms=has_no_atoms(variable.rv),
                alike=evaluations[variable.name].marks[k] if has_density(variable) else "",
                log_density=_ElementDensity(evaluations[variable.name], k, above) if has_density(variable) else None,
            )
    if drawn is not None and drawn.reading == "belief":
        parameters = _believed(parameters, drawn)
    return DensityNetwork(
        parameters=parameters,
        model_hash=reading.identity,
        simulator=_Simulator(roles, evaluations),
        reading=reading,
        drawn=drawn,
        functions=_Functions(roles) if roles.structure.expressions else None,
    )


@dataclass(frozen=True, eq=False)
class _Functions:
    """The Deterministics of a model, which become parameters of its network once they are protected."""

    roles: Roles

    @property
    def identity(self) -> str:
        """A hash of what they are computed by."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        return functions_identity(self.roles.structure)

    def __call__(self, names: Iterable[object]) -> dict[str, Parameter]:
        """Return those that are named, without those that read a column or no parameter at all."""
        structure, found = self.roles.structure, dict[str, Parameter]()
        for name in names:
            element = structure.function_place(name)
            if element is not None and name not in self.roles.columns:  # of that name there is a column already
                variable = structure.function(element[0])
                above = [each for each in variable.above[element[1]] if each[0] not in self.roles.unused]
                if above and {each[0] for each in above} <= self.roles.names:
                    found[variable.names[element[1]]] = self._parameter(variable, element, above)
        return found

    def _parameter(self, variable: Variable, element: Element, above: Sequence[Element]) -> Parameter:
        roles = self.roles
        order, loose = sorted(above, key=roles.rank.__getitem__), varies_with(roles, element)
        return Parameter(
            name=variable.names[element[1]],
            parents=tuple(roles.structure.element(each) for each in order),
            lower=-np.inf,
            upper=np.inf,
            without_atoms=_function_has_no_atoms(roles.structure, element, loose),
            varies_with=loose,
        )


def _believed(parameters: Mapping[str, Parameter], drawn: ParameterDraws) -> dict[str, Parameter]:
    """Return parameters and functions of them that depend on each other as in a posterior: each on all.

    What has draws needs no law; what has none depends on what it depends on in the model.
    """
    found: dict[str, Parameter] = {}
    for name in (*drawn.values, *(each for each in parameters if each not in drawn.values)):
        if name not in drawn.values:
            found[name] = parameters[name]
            continue
        plain = Parameter(name=name, lower=-np.inf, upper=np.inf)
        own = replace(parameters.get(name, plain), log_density=None, alike="", refused="")
        found[name] = replace(own, parents=tuple(found))
    return found


def has_density(variable: Variable) -> bool:
    """Return whether the law of every element given the parameters is of a single number and known by its density.

    Whole numbers without end have none: a density is for numbers that fill an interval.
    """
    counts = not str(variable.rv.dtype).startswith("float") and finite_states(variable) is None
    return variable.has_parameters and not counts and not variable.is_joint and unsupported(variable) is None


@dataclass(frozen=True, eq=False)
class _ElementDensity:
    """The log density of one element given the elements above it."""

    evaluation: Evaluation
    k: int
    above: tuple[Element, ...]

    def __call__(self, value: FloatArray, *parents: FloatArray) -> FloatArray:
        width = max([self.evaluation.variable.size, *(v.size for v in self._parents)])
        step = max(1, CHUNK // width)
        parts = [
            self._part(value[i : i + step], [each[i : i + step] for each in parents])
            for i in range(0, len(value), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def _parents(self) -> list[Variable]:
        return [self.evaluation.variables[name] for name in self.evaluation.variable.parents]

    def _part(self, value: FloatArray, parents: list[FloatArray]) -> FloatArray:
        points = {v.name: np.ones((len(value), *v.shape), dtype=v.rv.dtype) for v in self._parents}
        for (name, k), given in zip(self.above, parents, strict=True):
            points[name].reshape((len(value), -1))[:, k] = given
        with np.errstate(all="ignore"):
            parameters = self.evaluation.parameters(points, len(value))
        return self.evaluation.log_density(value, self.evaluation.of_element(parameters, self.k))


@dataclass(frozen=True, eq=False)
class _Simulator:
    """Forward draws of parameters and columns, all points at once."""

    roles: Roles
    evaluations: dict[str, Evaluation]

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, Given], records: int
    ) -> Mapping[str, FloatArray]:
        """Return independent joint draws; see `bnpriv.kinds.density.network.Simulator`.

        Raises
        ------
        NetworkError
            If a law cannot be drawn from, a column has none, or its length is not the number of records.
        """
        wanted = list(dict.fromkeys(names))
        random = np.random.default_rng(seed)
        elements = {name: self._elements(name, records) for name in wanted}
        needed = self._needed({each[0] for found in elements.values() for each in found}, given)
        once = {name: self._variable(name) for name in needed if not self._repeats(name)}
        points: dict[str, FloatArray] = {}
        for name, variable in once.items():
            single = [each for each in variable.parents if self._repeats(each) and not self._is_given(name, given)]
            if single:
                raise NetworkError(
                    f"all columns above {name!r}, which has {variable.size:,} records, must have as many",
                    found=f"one record of {listing(single)}",
                    remedy="Declare them with the same shape.",
                )
            points[name] = (
                self._whole(name, draws, given)
                if self._is_given(name, given)
                else self._given(name, self._draw(name, points, draws, random), given)
            )
        later = [name for name in needed if name not in once]
        above = {parent for name in later for parent in self._variable(name).parents}
        again = {name: np.repeat(points[name], records, axis=0) for name in once if name in above}
        for name in later:
            again[name] = self._draw(name, again, draws * records, random)
        taken: dict[str, FloatArray] = {}
        for name in wanted:
            variable, place = elements[name][0]
            if name not in self.roles.columns:
                values = points[variable].reshape((draws, -1))[:, place]
            elif self._repeats(variable):
                values = again[variable].reshape((draws, records, -1))[:, :, place]
            else:
                values = points[variable].reshape((draws, -1))[:, [k for _, k in elements[name]]]
            taken[name] = values.astype(np.float64)
        return taken

    def _elements(self, name: str, records: int) -> tuple[Element, ...]:
        structure = self.roles.structure
        if name not in self.roles.columns:
            return (structure.elements.get(name) or cast(Element, structure.function_place(name)),)
        found = self.roles.columns[name]
        if found[0][0] not in self.roles.own:
            raise NetworkError(
                f"the records of column {name!r} need a distribution",
                found="a parameter that governs it, and no more",
                remedy="Declare the column in the model as a random variable under the parameter.",
            )
        if len(found) not in (1, records):
            raise NetworkError(
                f"column {name!r} has {len(found):,} records in the model: the schema must have as many",
                found=f"{records:,}",
                remedy=f"Declare Schema(records={len(found)}, ...).",
            )
        return found

    def _variable(self, name: str) -> Variable:
        """Return a random variable, or a Deterministic."""
        known = self.roles.structure.variables.get(name)
        return self.roles.structure.function(name) if known is None else known

    def _evaluation(self, name: str) -> Evaluation:
        if name not in self.evaluations:
            self.evaluations[name] = Evaluation(self._variable(name), self.roles.structure.variables)
        return self.evaluations[name]

    def _repeats(self, name: str) -> bool:
        """Return whether a variable stands for one record, so that it is drawn anew for each."""
        return name in self.roles.single

    def _needed(self, wanted: set[str], given: Mapping[str, Given]) -> list[str]:
        """Return the variables that must be known, parents before children; nothing is above what is given whole."""
        variables = self.roles.structure.variables
        found, todo = set[str](), list(wanted)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += () if self._is_given(name, given) else self._variable(name).parents
        return [*(name for name in variables if name in found), *sorted(found.difference(variables))]

    def _is_given(self, name: str, given: Mapping[str, Given]) -> bool:
        return bool(given) and all(element in given for element in self._variable(name).names)

    def _whole(self, name: str, draws: int, given: Mapping[str, Given]) -> FloatArray:
        """Return the values of a variable all of whose entries are given."""
        variable = self._variable(name)
        values = np.stack([np.broadcast_to(given[element], draws) for element in variable.names], axis=1)
        return _typed(values.reshape((draws, *variable.shape)), variable)

    def _draw(self, name: str, points: Mapping[str, FloatArray], count: int, random: np.random.Generator) -> FloatArray:
        variable = self._variable(name)
        reason = unsupported(variable)
        if reason is not None:
            raise NetworkError(f"{name!r} cannot be drawn", found=reason, remedy="Give it a proper distribution.")
        evaluation = self._evaluation(name)
        step = max(1, CHUNK // max(1, variable.size))
        parts = [
            evaluation.draw({p: points[p][i : i + step] for p in variable.parents}, min(step, count - i), random)
            for i in range(0, count, step)
        ]
        return np.concatenate(parts).astype(variable.rv.dtype)

    def _given(self, name: str, values: FloatArray, given: Mapping[str, Given]) -> FloatArray:
        variable = self._variable(name)
        for k, element in enumerate(variable.names):
            if element in given:
                if variable.is_joint:
                    raise NetworkError(
                        f"{element!r} cannot be set to a value: it is drawn together with others",
                        found=f"an entry of {name!r}",
                        remedy="Protect an interval around the value: bnpriv.intervals(((0.1, 0.2), (0.3, 0.4))).",
                    )
                values.reshape((len(values), -1))[:, k] = _typed(np.asarray(given[element], dtype=np.float64), variable)
        return values


def _typed(values: FloatArray, variable: Variable) -> FloatArray:
    """Return numbers that a variable is set to as it holds them.

    Raises
    ------
    NetworkError
        If it cannot hold one.
    """
    found = values.astype(variable.rv.dtype)
    if not np.array_equal(found, values):
        raise NetworkError(
            f"{variable.name!r} can be set to values that it takes only",
            found="a number that is none of them",
            remedy="Protect values that it takes: whole numbers of a count.",
        )
    return found
