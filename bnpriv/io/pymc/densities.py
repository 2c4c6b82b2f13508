"""Models that are neither discrete nor linear-Gaussian: conditional densities and forward draws."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.networks.base import ImportReport
from bnpriv.errors import NetworkError
from bnpriv.io.pymc.backend import is_black_box, is_custom, is_plain, is_random, random_variables, support
from bnpriv.io.pymc.evaluation import Evaluation
from bnpriv.io.pymc.expressions import MOVES, Element
from bnpriv.io.pymc.gaussian import finite_states, is_analytic
from bnpriv.io.pymc.roles import Roles, functions_identity, varies_with
from bnpriv.io.pymc.structure import Structure, Variable, fixed, unsupported
from bnpriv.kinds.density.network import DensityNetwork, Given, Parameter
from bnpriv.kinds.draws.parameter_draws import ParameterDraws

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
