"""Linear-Gaussian networks: every attribute is a linear function of its parents with normal noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from bnpriv.bound import UNIT_ROUNDOFF, FloatArray
from bnpriv.checks import listed, listing, subset, text, type_text
from bnpriv.core.networks.base import (
    NO_STATES,
    NOTHING_READ,
    ImportReport,
    Level,
    NetworkMethods,
    Posterior,
    columns_identity,
    level_of,
)
from bnpriv.core.networks.declared import models_of
from bnpriv.core.networks.graph import Graph
from bnpriv.core.secrets import Interval, Pair, ValuesApart
from bnpriv.errors import NetworkError
from bnpriv.kind import NetworkKind, kind_of
from bnpriv.kinds.density.network import USUAL_CELLS, DensityNetwork, resampled
from bnpriv.text import Json

# --------------------------------------------------------------------------------------------------
# Linear regressions of attributes on their parents, as they were declared.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Regressions:
    """The linear regression of every attribute on its parents, for one model or several.

    Parameters
    ----------
    intercepts, deviations : mapping from str to ndarray of shape (models,)
    coefficients : mapping from str to mapping from str to ndarray of shape (models,)
        One entry for each attribute, empty if it has no parents.
    """

    intercepts: Mapping[str, FloatArray]
    deviations: Mapping[str, FloatArray]
    coefficients: Mapping[str, Mapping[str, FloatArray]]

    @property
    def named(self) -> dict[str, FloatArray]:
        """All numbers, with what each is."""
        found = {f"intercept {name}": value for name, value in self.intercepts.items()}
        found |= {f"deviation {name}": value for name, value in self.deviations.items()}
        return found | {
            f"{name} given {parent}": value
            for name, above in self.coefficients.items()
            for parent, value in above.items()
        }


# --------------------------------------------------------------------------------------------------
# Columns whose records are normal about numbers that are affine in parameters.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalColumn:
    """A column whose records, given the parameters, are independent and normal with means affine in these.

    Parameters
    ----------
    drivers : tuple of str, length p
        The parameters that its means depend on.
    base : ndarray of shape (models, rows)
        Of every record what is left of its mean when all drivers are 0; one row, or model, stands for all.
    slopes : ndarray of shape (models, rows, p)
        By how much the mean of a record grows with each driver.
    deviation : ndarray of shape (models, rows)
        Of a record about its mean.
    """

    drivers: tuple[str, ...]
    base: FloatArray
    slopes: FloatArray
    deviation: FloatArray

    @property
    def rows(self) -> int:
        """Return how many records it has; 1 if all are alike."""
        return self.base.shape[1]

    def under(self, model: int) -> NormalColumn:
        """Return the same under one model alone."""
        return self.of_models([model])

    def of_models(self, models: Sequence[int]) -> NormalColumn:
        """Return the same under some models."""
        base, slopes, deviation = (
            each if len(each) == 1 else each[list(models)] for each in (self.base, self.slopes, self.deviation)
        )
        return NormalColumn(drivers=self.drivers, base=base, slopes=slopes, deviation=deviation)


T = TypeVar("T")

SYMMETRY = 1e-12
"""Largest difference of two mirrored entries of a correlation matrix that is taken for rounding."""

MOST_ROUNDING_ERROR = 1e-4
"""Networks whose rounding errors could be larger than this, relatively, are refused as singular."""

LEAST_VARIANCE = 2.0**-800
"""Products of covariances, of standard deviations and of their roots are still doubles of full precision."""

_NONSINGULAR = "Leave out attributes that are functions of others, or give them noise of their own."


def _usual_pairs(network: GaussianNetwork, attribute: str) -> tuple[ValuesApart, ...]:
    """Any two values as far apart as the largest standard deviation of the attribute under any model."""
    place = network.attributes.index(attribute)
    return (ValuesApart(math.sqrt(float(network.covariance[:, place, place].max()))),)


def _assumptions(network: GaussianNetwork) -> tuple[str, ...]:
    return ("All parameters together are normal under every model.",)


def _centred(network: GaussianNetwork) -> tuple[str, ...]:
    return network.attributes


def _some(network: GaussianNetwork, models: Sequence[int]) -> GaussianNetwork:
    """The network with some of its models."""
    places, forward, columns = list(models), network.forward, network.normal_columns
    drawn = network.posterior_draws and replace(network.posterior_draws, draws=len(places))
    found = network.read_as(network.reading, posterior_draws=drawn)
    arrays = {name: vars(network)[name][places] for name in ("mean", "covariance", "root")}
    if forward is not None and forward.models > 1:
        forward = kind_of(forward).some(forward, places)
    if columns is not None:
        columns = {name: column.of_models(places) for name, column in columns.items()}
    vars(found).update(arrays, regressions=None, forward=forward, normal_columns=columns)
    return found


def _stored(network: GaussianNetwork, names: Iterable[str], most: int) -> Json:
    """The regressions of what drives some columns and its ancestors, or of a covariance the rows of the former."""
    asked = set(names)
    driven = {name: list(above) for name, above in network.reading.columns.items() if name in asked}
    kept = {node for name in asked for node in driven.get(name, [name])}.intersection(network.attributes)
    facts: Json = {"models": network.models, "driven": driven}
    rows = network.regressions
    if rows is None:
        places = [k for k, name in enumerate(network.attributes) if name in kept]
        chosen = network.covariance[:, places][:, :, places]
        law = {"mean": _hexed(network.mean[:, places]), "covariance": _hexed(chosen)}
        return {"normal": {**facts, "attributes": [network.attributes[k] for k in places], **law}}
    todo = list(kept)
    while todo:
        above = set(network.graph.parents[todo.pop()]) - kept
        kept |= above
        todo += above
    told: Json = {
        name: {
            "intercept": _hexed(rows.intercepts[name]),
            "deviation": _hexed(rows.deviations[name]),
            "coefficients": {parent: _hexed(slope) for parent, slope in rows.coefficients[name].items()},
        }
        for name in network.attributes
        if name in kept
    }
    return {"normal": {**facts, "regressions": told}}


def _hexed(numbers: FloatArray) -> list[object]:
    return [float(each).hex() if each.ndim == 0 else _hexed(each) for each in numbers]


GAUSSIAN_KIND = NetworkKind(
    stored=_stored,
    some=_some,
    keeps_draws=True,
    forward=attrgetter("forward"),
    unfixed="bnpriv.kinds.finite:unfixed_protecting",
    influence="bnpriv.kinds.gaussian.influence:gaussian_influence",
    mu="bnpriv.kinds.gaussian.influence:largest_distance",
    losses="bnpriv.kinds.gaussian.influence:gaussian_losses",
    explain="bnpriv.kinds.gaussian.influence:explain_distance",
    conditional="bnpriv.kinds.gaussian.influence:two_normals",
    assumptions=_assumptions,
    usual_pairs=_usual_pairs,
    centred=_centred,
    laws_of_records="bnpriv.kinds.gaussian.columns:laws_of_normal_records",
    laws_of_parameters="bnpriv.kinds.gaussian.columns:laws_of_normal_parameters",
    sampler="bnpriv.lab.sampling.drawn:GaussianSampler",
    section="bnpriv.io.framework_text:regressions_section",
)


@dataclass(frozen=True, eq=False)
class GaussianNetwork(NetworkMethods):
    """The joint normal law of the columns' parameters, or of the columns of one record; several are the class Theta.

    Parameters
    ----------
    attributes : sequence of str
        The m attributes.
    mean : array of shape (m,) or (models, m)
    covariance : array of shape (m, m) or (models, m, m)
        Symmetric and positive definite.
    level : {"parameters", "records"}
        What a node means: the parameter that governs the column of that name, or the column itself in one record.

    Raises
    ------
    NetworkError
        If names repeat, shapes do not fit, an entry is not finite, or a covariance is not symmetric or singular.

    Notes
    -----
    A covariance alone does not say what is separated from what: its graph has all edges. `GaussianNetwork.linear`
    knows the graph, and keeps its precision where noises differ by many orders of magnitude.

    Examples
    --------
    >>> GaussianNetwork(["income", "sat"], [40.0, 1000.0], [[100.0, 300.0], [300.0, 40_000.0]])
    GaussianNetwork(attributes=2, edges=1, models=1)
    """

    kind = GAUSSIAN_KIND

    attributes: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    level: Level = field(default="parameters", kw_only=True)
    graph: Graph = field(init=False, repr=False)
    root: FloatArray = field(init=False, repr=False)
    """Factors of shape (models, m, k): the covariance is ``root @ root.T``."""
    rounding: float = field(init=False, repr=False)
    """Bound on the rounding error of what is computed from `root`, relative to the size of the attributes."""

    posterior_draws: Posterior | None = field(default=None, init=False, repr=False)
    """Where the models were drawn from, if they are draws of a posterior."""
    reading: ImportReport = field(default=NOTHING_READ, init=False, repr=False)
    """How the model was read from another library, and what drives the columns that are no attribute."""
    forward: DensityNetwork | None = field(default=None, init=False, repr=False)
    """The same model by forward draws, from which laws of answers are learned; None if there are none."""
    unfixed: DensityNetwork | None = field(default=None, init=False, repr=False)
    """The same model with parameters that are fixed to draws here, for secrets about them; None if none is."""
    normal_columns: Mapping[str, NormalColumn] | None = field(default=None, init=False, repr=False)
    """Columns below the attributes whose records are normal about affine functions of these; None if none are known."""
    regressions: Regressions | None = field(default=None, init=False, repr=False, compare=False)
    """The regressions as they were declared, from which files are written; None for a covariance."""

    def __post_init__(self) -> None:
        names = _names(self.attributes)
        mean = _stacked("mean", self.mean, 1, len(names))
        covariance = _stacked("covariance", self.covariance, 2, len(names))
        models = models_of({"mean": mean, "covariance": covariance}, "part")
        _sized(covariance)
        deviations = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        correlation = covariance / (deviations[:, :, np.newaxis] * deviations[:, np.newaxis, :])
        if not bool(np.all(np.abs(correlation - correlation.swapaxes(1, 2)) <= SYMMETRY)):
            raise NetworkError("a covariance must be symmetric", found="another matrix", remedy="Correct the entries.")
        # the condition of a covariance given in doubles is all that is known of it
        rounding = _error(np.linalg.cond(correlation), len(names))
        graph = Graph({name: names[:k] for k, name in enumerate(names)})
        root = deviations[:, :, np.newaxis] * _cholesky(correlation)
        self._settle(names, mean, covariance, graph, root, rounding, models, self.level)

    @classmethod
    def linear(
        cls,
        intercepts: Mapping[str, ArrayLike],
        deviations: Mapping[str, ArrayLike],
        coefficients: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        *,
        level: Level = "parameters",
    ) -> GaussianNetwork:
        """Declare a network by the linear regression of every attribute on its parents.

        Parameters
        ----------
        intercepts : mapping from str to float or array of shape (models,)
            What is left of the mean of every attribute when all its parents are 0.
        deviations : mapping from str to float or array of shape (models,)
            Standard deviation of the noise of every attribute, above 0.
        coefficients : mapping from str to mapping from str to float or array of shape (models,), optional
            For every attribute with parents the coefficient of each.
        level : {"parameters", "records"}
            What a node means, as above.

        Returns
        -------
        GaussianNetwork

        Raises
        ------
        NetworkError
            If names do not fit, there is a cycle, a number is not finite, or a deviation is not above 0.

        Examples
        --------
        >>> network = GaussianNetwork.linear(
        ...     {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
        ... )
        >>> network.mean.tolist(), network.covariance.tolist()
        ([[40.0, 1000.0]], [[[100.0, 300.0], [300.0, 23400.0]]])
        """
        intercepts, deviations = _mapping("intercepts", intercepts), _mapping("deviations", deviations)
        slopes = _mapping("coefficients", {} if coefficients is None else coefficients)
        subset("coefficients", slopes, intercepts, error=NetworkError)
        given = {name: dict(_mapping(f"coefficients of {name!r}", slopes.get(name, {}))) for name in intercepts}
        graph = Graph({name: tuple(parents) for name, parents in given.items()})
        names = _names(tuple(intercepts))
        if set(deviations) != set(names):
            raise NetworkError(
                "every attribute needs an intercept and a deviation",
                found=f"one of them alone for {listing(sorted(set(deviations) ^ set(names)))}",
                remedy="Give both.",
            )
        rows = Regressions(
            intercepts={name: _numbers(f"the intercept of {name!r}", intercepts[name]) for name in names},
            deviations={name: _numbers(f"the deviation of {name!r}", deviations[name]) for name in names},
            coefficients={
                name: {
                    parent: _numbers(f"the coefficient of {parent!r} for {name!r}", value)
                    for parent, value in above.items()
                }
                for name, above in given.items()
            },
        )
        models = models_of(rows.named, "part")
        mean, root = np.zeros((models, len(names))), np.zeros((models, len(names), len(names)))
        terms = np.zeros_like(root)
        with np.errstate(over="ignore", invalid="ignore"):
            for name in graph.nodes:
                k = names.index(name)
                mean[:, k], root[:, k, k] = rows.intercepts[name], _positive(rows.deviations[name])
                terms[:, k, k] = root[:, k, k]
                for parent, slope in rows.coefficients[name].items():
                    j = names.index(parent)
                    mean[:, k] += slope * mean[:, j]
                    root[:, k] += slope[:, np.newaxis] * root[:, j]
                    terms[:, k] += np.abs(slope)[:, np.newaxis] * terms[:, j]
            covariance = root @ root.swapaxes(1, 2)
        _finite("mean", mean)
        _sized(covariance)
        network = cls.__new__(cls)
        lengths = np.linalg.norm(root, axis=2, keepdims=True)
        # coefficients of opposite signs may cancel what they carry: the sum of the sizes of the terms tells how much
        cancelled = (np.linalg.norm(terms, axis=2, keepdims=True) / lengths).max(axis=(1, 2))
        rounding = _error(np.linalg.cond(root / lengths) * cancelled, len(names))
        network._settle(names, mean, covariance, graph, root, rounding, models, level)
        object.__setattr__(network, "regressions", rows)
        return network

    def _settle(
        self,
        names: tuple[str, ...],
        mean: FloatArray,
        covariance: FloatArray,
        graph: Graph,
        root: FloatArray,
        rounding: float,
        models: int,
        level: Level,
    ) -> None:
        for what, array in {"mean": mean, "covariance": covariance, "root": root}.items():
            whole = np.ascontiguousarray(np.broadcast_to(array, (models, *array.shape[1:])))
            whole.flags.writeable = False
            object.__setattr__(self, what, whole)
        vars(self).update(attributes=names, graph=graph, rounding=rounding, level=level_of(level))

    def read_as(self, reading: ImportReport, **known: object) -> GaussianNetwork:
        """Return the same network with what is known of where it comes from.

        Parameters
        ----------
        reading : ImportReport
            What its nodes mean.
        **known
            Some of `posterior_draws`, `forward`, `unfixed` and `normal_columns`; the others stay.
        """
        network = copy(self)
        vars(network).update(reading=reading, **known)
        return network

    def with_sampling(
        self, *, draws: int = 10_000, seed: int = 0, confidence: float | None = None, cells: int = USUAL_CELLS
    ) -> GaussianNetwork:
        """Return the same network with another way to learn the law of an answer from draws.

        Parameters
        ----------
        draws, seed, confidence, cells
            As in `DensityNetwork.with_sampling`.

        Raises
        ------
        NetworkError
            If there is no way to draw from it, or a number is out of range.
        """
        forward, unfixed = resampled((self.forward, self.unfixed), draws, seed, confidence, cells)
        return self.read_as(self.reading, forward=forward, unfixed=unfixed)

    @property
    def models(self) -> int:
        """Return the number of models in Theta."""
        return len(self.mean)

    def deviation(self, attribute: str) -> FloatArray:
        """Return the standard deviation of an attribute under every model."""
        return np.linalg.norm(self.root[:, self.attributes.index(self.require(attribute))], axis=1)

    states = NO_STATES
    """No states: attributes may be any number."""

    kind_text = "a linear-Gaussian network"
    """The kind of network, with its article."""

    def identity(self) -> bytes:
        """Return the joint laws, where they come from and how they are drawn from, for a hash."""
        parts = [
            columns_identity(self.reading),
            repr((self.attributes, self.models, self.graph.edges)).encode(),
            b"" if self.level == "parameters" else self.level.encode(),
            self.mean.tobytes(),
            self.root.tobytes(),
            b"" if self.posterior_draws is None else repr(self.posterior_draws).encode(),
            b"" if self.forward is None else repr(self.forward.sampling).encode(),
        ]
        return b"".join(parts)

    def __repr__(self) -> str:
        return (
            f"GaussianNetwork(attributes={len(self.attributes)}, edges={len(self.graph.edges)}, models={self.models})"
        )


def _names(declared: Sequence[str]) -> tuple[str, ...]:
    names = tuple(text("an attribute's name", name, error=NetworkError) for name in listed(declared) or ())
    if not names or len(set(names)) != len(names):
        found = type_text(declared) if not names else listing(names)
        raise NetworkError("attributes must be a list of distinct names", found=found, remedy="Rename them.")
    return names


def _mapping(what: str, declared: Mapping[str, T]) -> Mapping[str, T]:
    if not isinstance(cast(object, declared), Mapping):
        raise NetworkError(
            f"{what} must be given by name", found=type_text(declared), remedy='Write for example {"income": 40.0}.'
        )
    return declared


def _stacked(what: str, declared: ArrayLike, axes: int, size: int) -> FloatArray:
    array = _array(what, declared)
    array = array[np.newaxis] if array.ndim == axes else array
    if array.shape[1:] != (size,) * axes or array.shape[0] < 1:
        raise NetworkError(
            f"{what} must have shape {(size,) * axes}, or an axis for models before it",
            found=f"shape {array.shape}",
            remedy="Order it as the attributes.",
        )
    return _finite(what, array)


def _numbers(what: str, declared: ArrayLike) -> FloatArray:
    array = np.atleast_1d(_array(what, declared))
    if array.ndim != 1 or not array.size:
        raise NetworkError(
            f"{what} must be a number, or one per model", found=f"shape {array.shape}", remedy="Flatten it."
        )
    return _finite(what, array)


def _array(what: str, declared: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(declared)
        if array.dtype.kind in "iufO":  # not truth values, strings, dates or complex numbers
            return np.array(array, dtype=np.float64)
        found = f"entries of type {array.dtype}"
    except (TypeError, ValueError, OverflowError):
        found = "something else"
    raise NetworkError(f"{what} must hold numbers", found=found, remedy="Give plain numbers.")


def _finite(what: str, array: FloatArray) -> FloatArray:
    if not bool(np.isfinite(array).all()):
        raise NetworkError(f"{what} must be finite", found="nan or inf", remedy="Correct the entries.")
    return array


def _sized(covariance: FloatArray) -> None:
    """Refuse variances of which a double keeps few digits, and those that are none."""
    variances = _positive(np.diagonal(covariance, axis1=1, axis2=2))
    if not bool(((variances >= LEAST_VARIANCE) & (variances <= 1 / LEAST_VARIANCE)).all()):
        raise NetworkError(
            f"variances must be from {LEAST_VARIANCE:.0e} to {1 / LEAST_VARIANCE:.0e}",
            found="smaller or larger ones",
            remedy="Declare the columns in another unit.",
        )


def _positive(array: FloatArray) -> FloatArray:
    if not bool((array > 0).all()):
        raise NetworkError(
            "a covariance must not be singular", found="a variance that is not above 0", remedy=_NONSINGULAR
        )
    return array


def _cholesky(correlation: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise NetworkError(
            "a covariance must be positive definite",
            found="a combination of attributes with a negative variance",
            remedy="Correct the entries.",
        ) from None


def _error(condition: FloatArray, size: int) -> float:
    error = 16 * size**2 * UNIT_ROUNDOFF * float(np.max(condition))
    if not error <= MOST_ROUNDING_ERROR:
        raise NetworkError(
            "a covariance must not be singular",
            found=f"a condition number of {float(np.max(condition)):.3g}",
            remedy=_NONSINGULAR,
        )
    return error


def value_range(side: object) -> tuple[float, float]:
    """The least and the largest value of a secret that is an interval or a set of numbers."""
    if isinstance(side, Interval):
        return side.low, side.high
    values = [float(value) for value in cast("frozenset[float]", side)]
    return min(values), max(values)


def farthest_values(pair: Pair, centre: float) -> tuple[float, float]:
    """The two values of a pair that are farthest apart; values within a distance are put around `centre`."""
    if isinstance(pair, ValuesApart):
        return centre - pair.farthest / 2, centre + pair.farthest / 2
    (low, high), (other_low, other_high) = value_range(pair.first), value_range(pair.second)
    return (low, other_high) if other_high - low >= high - other_low else (high, other_low)
