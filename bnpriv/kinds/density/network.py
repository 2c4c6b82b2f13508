"""Networks of continuous parameters that are known by their conditional densities and by forward draws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Protocol

import numpy as np

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import Categorical
from bnpriv.core.frameworks.protected import ProtectedSecret, interval_secret
from bnpriv.core.frozen import Cache, ReadOnly
from bnpriv.core.networks.base import (
    NO_STATES,
    NOTHING_READ,
    Forward,
    ImportReport,
    Level,
    Network,
    NetworkMethods,
    Posterior,
    columns_identity,
    drivers,
)
from bnpriv.core.networks.graph import Graph
from bnpriv.core.queries.base import normal_form
from bnpriv.core.queries.builtin import Count, Difference, Proportion
from bnpriv.core.queries.contribution import answers
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Apart, IntervalPair, Pair, Secret, chosen_intervals, interval_pair, of_values
from bnpriv.errors import BnprivError, NetworkError, Refusal, SecretError
from bnpriv.kind import NetworkKind
from bnpriv.kinds.draws.parameter_draws import ParameterDraws, RowNumbers
from bnpriv.services import service

MOST_DRAWS = 10_000_000
MOST_DENSITY_CELLS = 100_000

LEAST_DIFFERENT = 0.99
"""Share of independent draws of continuous parameters that differ from each other: rounding makes some alike."""

USUAL_CELLS = 2_000
"""Cells in which draws of one law are gathered: the noise is then within a few percent of that for the draws."""


Given = float | FloatArray
"""The value that a parameter is set to: one for all draws, or one for each."""


class LogDensity(Protocol):
    """The log density, or log mass, of a parameter given its parents."""

    def __call__(self, value: FloatArray, *parents: FloatArray) -> FloatArray:
        """Return it for arrays of one shape (points,), the parents in the order of `Parameter.parents`.

        It is -inf outside the support.
        """
        ...


class Simulator(Protocol):
    """Independent forward draws."""

    def __call__(
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, Given], records: int
    ) -> Mapping[str, FloatArray]:
        """Return independent joint draws.

        Parameters
        ----------
        names : iterable of str
            Parameters and columns.
        draws : int
        seed : int
        given : mapping from str to float or ndarray of shape (draws,)
            Parameters that are set to a value, in all draws or in each, with no effect on what lies above them:
            conditioning on them where they have no parents, or all parents are given too.
        records : int
            Of every column.

        Returns
        -------
        mapping from str to ndarray
            A parameter's of shape (draws,), a column's of shape (draws, records); draw k of all belongs together.
        """
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameter:
    """A number that columns or other parameters depend on.

    Parameters
    ----------
    name : str
    parents : tuple of str
    lower, upper : float
        Ends of its support whatever the parents are; may be infinite.
    states : tuple of float, optional
        All its values, ascending, if they are finitely many; then `log_density` is a log mass.
    log_density : LogDensity, optional
        None if it cannot be had, for example for the entries of a vector that depend on each other.
    alike : str
        Parameters with the same mark, which is not empty, and the same parents have the same law given these.
    refused : str
        Why it has no law at all, so that nothing below it can be reckoned with; empty if it has one.
    without_atoms : bool
        Whether it is known to take every value with probability zero; it is where it has a density.
    varies_with : tuple of str
        Of a function of parameters those that vary with it where all others are given; empty for a random number.
    """

    name: str
    parents: tuple[str, ...] = ()
    lower: float
    upper: float
    states: tuple[float, ...] | None = None
    log_density: LogDensity | None = field(default=None, compare=False)
    alike: str = ""
    refused: str = ""
    without_atoms: bool = False
    varies_with: tuple[str, ...] = ()

    @property
    def is_continuous(self) -> bool:
        """Return whether it is known to take every value with probability zero."""
        return self.states is None and (self.without_atoms or self.log_density is not None)


class Functions(Protocol):
    """Functions of parameters that a model has names for."""

    @property
    def identity(self) -> str:
        """A hash of what they are computed by."""
        ...

    def __call__(self, names: Iterable[object]) -> Mapping[str, Parameter]:
        """Return those that are named, as parameters below those that they are computed from."""
        ...


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the law of an answer is learned from draws.

    Parameters
    ----------
    draws : int
        Under every secret.
    seed : int
    confidence : float, optional
        None for an estimate; a number such as 0.95 for bounds that hold with it, which take many draws. It is for one
        epsilon and delta; to choose among k by their noise ask for 1 - 0.05 / k.
    cells : int
        Where an answer has more different values than that, nearby draws are gathered in so many cells at most; in a
        tenth of them where it has several numbers, as distances between these take long.
    """

    draws: int = 10_000
    seed: int = 0
    confidence: float | None = None
    cells: int = USUAL_CELLS

    def told_apart(self, dimension: int) -> int:
        """Return how many values of an answer with so many numbers are told apart."""
        return self.cells if dimension == 1 else max(2, self.cells // 10)


@dataclass(frozen=True, kw_only=True, eq=False)
class DensityNetwork(NetworkMethods):
    """Continuous parameters of a table's columns, known by conditional densities and by forward draws.

    Made by `bnpriv.from_pymc` from models that are neither discrete nor linear-Gaussian.

    Parameters
    ----------
    parameters : mapping from str to Parameter
        All parameters by name.
    model_hash : str
        By which calibrations tell models apart.
    simulator : Simulator
    reading : ImportReport
        How the model was read, and what drives the columns.
    sampling : Sampling
        How laws of answers are learned from draws.
    drawn : ParameterDraws, optional
        Draws of a posterior, and how they are read; None for the model with its priors.
    functions : Functions, optional
        Of the parameters, which are parameters too once they are protected.

    Raises
    ------
    NetworkError
        If a parent is unknown, there is a cycle, or draws are of something that is no parameter.
    """

    kind = "bnpriv.kinds.density.network:DENSITY_KIND"

    parameters: Mapping[str, Parameter]
    model_hash: str
    simulator: Simulator = field(compare=False)
    reading: ImportReport = NOTHING_READ
    sampling: Sampling = field(default_factory=Sampling)
    drawn: ParameterDraws | None = None
    functions: Functions | None = field(default=None, compare=False, repr=False)
    kept: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))
        self.graph  # noqa: B018  (raises)
        for name in () if self.drawn is None else self.drawn.values:
            self.require(name)
        if self.drawn is not None and self.drawn.posterior.independent:
            self._check_independent(self.drawn)

    def _check_independent(self, drawn: ParameterDraws) -> None:
        """Refuse draws that are declared independent and come again, which continuous parameters do not."""
        different = drawn.different([name for name in drawn.parameters if self.parameters[name].is_continuous])
        if different < LEAST_DIFFERENT * drawn.draws:
            raise NetworkError(
                "independent draws of continuous parameters do not come again",
                found=f"{different:,} different ones among {drawn.draws:,}",
                remedy="Pass every draw once; draws of a chain that stands still, or drawn again by their weights, "
                "are not independent: leave out independent=True.",
            )

    @property
    def graph(self) -> Graph:
        """Return which parameter depends directly on which."""
        return self._graph

    @cached_property
    def _graph(self) -> Graph:
        return Graph({name: parameter.parents for name, parameter in self.parameters.items()})

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the parameters."""
        return tuple(self.parameters)

    @property
    def level(self) -> Level:
        """Return what a node means: the parameter that governs the column of that name."""
        return "parameters"

    @property
    def models(self) -> int:
        """Return the number of models: the draws of which each is one, otherwise 1."""
        return 1 if self.drawn is None or self.drawn.reading == "belief" else self.drawn.draws

    @property
    def posterior_draws(self) -> Posterior | None:
        """Return where parameters were drawn from, or None if nothing was."""
        return None if self.drawn is None else self.drawn.posterior

    states = NO_STATES
    """No states: attributes may be any number."""

    kind_text = "a network of densities"
    """The kind of network, with its article."""

    def identity(self) -> bytes:
        """Return the model's hash and how it is drawn from, for a hash."""
        own = repr(("densities", self.model_hash, self.sampling)).encode()
        made = sorted((each.name, each.varies_with) for each in self.parameters.values() if each.varies_with)
        if made and self.functions is not None:
            own += repr((made, self.functions.identity)).encode()
        return columns_identity(self.reading) + own + (b"" if self.drawn is None else self.drawn.identity())

    def simulate(
        self,
        names: Iterable[str],
        draws: int,
        *,
        seed: int,
        given: Mapping[str, Given],
        records: int,
        rows: RowNumbers | None = None,
        loose: frozenset[str] = frozenset(),
    ) -> Mapping[str, FloatArray]:
        """Return joint draws of parameters and columns, as `Simulator` does, below the draws of a posterior.

        Parameters
        ----------
        names, draws, seed, given, records
            As of `Simulator`.
        rows : ndarray of shape (draws,), optional
            Which draws of the posterior parameters are taken from; by default each as often as the others.
        loose : frozenset of str
            Parameters that are drawn forward although they have draws.

        Raises
        ------
        NetworkError
            If the simulator refuses.
        """
        known = self.drawn
        if known is None:
            return self.simulator(names, draws, seed=seed, given=given, records=records)
        wanted = list(dict.fromkeys(names))
        rows = known.taken(np.arange(known.draws), draws, np.random.default_rng(seed)) if rows is None else rows
        taken = {**known.at(rows, known.fixed(loose)), **given} if given else known.at(rows, known.fixed(loose))
        forward = [name for name in wanted if name not in known.functions]
        found: Mapping[str, FloatArray] = {}
        if forward:
            found = self.simulator(forward, draws, seed=seed, given=taken, records=records)
        return {name: found[name] if name in found else known.values[name][rows] for name in wanted}

    def protecting(self, names: Iterable[object]) -> DensityNetwork:
        """Return the network in which functions of parameters that are named are parameters, below the others."""
        asked = [name for name in names if name not in self.parameters]
        made: Mapping[str, Parameter] = {} if self.functions is None or not asked else self.functions(asked)
        return replace(self, parameters={**self.parameters, **made}) if made else self

    def draws_needed(self, name: str, low: float, high: float) -> int:
        """Return how many draws of the posterior, such as there are, it takes to hide that a parameter is in a range.

        Parameters
        ----------
        name : str
        low, high : float
            In the unit of the parameter, both included.

        Raises
        ------
        NetworkError
            If it is not read as a belief from draws of that parameter, or none of them is in the range.
        """
        found: int = service("draws.needed")(self, self.require(name), low, high)
        return found

    def settable(self, name: str, fixed: frozenset[str] = frozenset()) -> bool:
        """Return whether to set a parameter is to condition on it.

        It is where nothing is above it, or only what is fixed; a parameter that has draws in a belief depends on all
        others that have.

        Parameters
        ----------
        name : str
        fixed : frozenset of str
            Parameters that are given.
        """
        if self.drawn is not None and self.drawn.reading == "belief" and name in self.drawn.values:
            return False
        return fixed.issuperset(self.parameters[name].parents)

    def between(self, protected: str, columns: frozenset[str]) -> frozenset[str]:
        """Return a protected parameter with those that lie below it and above, or are, what drives some columns.

        Parameters
        ----------
        protected : str
        columns : frozenset of str
        """
        above = self.graph.ancestral(drivers(self, columns))
        loose = self.parameters[protected].varies_with or (protected,)
        below = {each for each in above if not self.graph.ancestral((each,)).isdisjoint(loose)}
        return frozenset({protected, *loose} | below)

    def alike(self, protected: str) -> tuple[tuple[str, ...], ...]:
        """Return the other parameters in groups of which every member tells the same about a protected one.

        Members have the same law given the same parents, and none is above the protected parameter, so that a member
        with all that is above the two looks like any other member with that.
        """
        above = self.graph.ancestral((self.require(protected),))
        groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for name, parameter in self.parameters.items():
            if name != protected:
                mark = "" if name in above else parameter.alike
                groups.setdefault((mark or f"one {name}", parameter.parents), []).append(name)
        return tuple(tuple(members) for members in groups.values())

    def refusal(self, names: Iterable[str], known: frozenset[str] = frozenset()) -> Refusal | None:
        """Return why nothing can be said of some parameters: one that they are or that is above them has no law.

        Parameters
        ----------
        names : iterable of str
        known : frozenset of str
            Parameters that need no law.
        """
        for name in self.graph.nodes:
            reason = self.parameters[name].refused
            if reason and name not in known and name in self.graph.ancestral(names):
                return Refusal(
                    required="every parameter on the way between secret and query needs a proper distribution",
                    found=f"{name!r}: {reason}",
                    remedy="Give it a proper distribution in the model.",
                )
        return None

    @property
    def forward(self) -> DensityNetwork | None:
        """What draws whole tables: the network itself, if it has columns that its parameters drive."""
        return self if self.reading.columns else None

    @property
    def usual_sampling(self) -> bool:
        """Whether laws are learned from draws as they are unless somebody asks otherwise."""
        return self.sampling == Sampling()

    def with_sampling(
        self, *, draws: int = 10_000, seed: int = 0, confidence: float | None = None, cells: int = USUAL_CELLS
    ) -> DensityNetwork:
        """Return the same network with another way to learn the law of an answer from draws.

        Parameters
        ----------
        draws, seed, confidence, cells
            As in `Sampling`.

        Raises
        ------
        NetworkError
            If a number is not whole, there are too few or too many draws or cells, or the confidence is not above 0
            and below 1.
        """
        draws, cells = (
            checks.whole(name, each, error=NetworkError) for name, each in (("draws", draws), ("cells", cells))
        )
        seed = checks.whole("seed", seed, least=0, error=NetworkError)
        for what, number, most in (("draws", draws, MOST_DRAWS), ("cells", cells, MOST_DENSITY_CELLS)):
            if not 2 <= number <= most:
                raise NetworkError(f"{what} must be between 2 and {most:,}", found=f"{number:,}", remedy="Change it.")
        if confidence is not None and not 0 < confidence < 1:
            raise NetworkError(
                "a confidence must be above 0 and below 1", found=f"{confidence:g}", remedy="Pass for example 0.95."
            )
        sampling = Sampling(draws=draws, seed=seed, confidence=confidence, cells=cells)
        return replace(self, sampling=sampling)

    def __repr__(self) -> str:
        return f"DensityNetwork(parameters={len(self.parameters)}, edges={len(self.graph.edges)})"


def resampled(
    networks: Iterable[DensityNetwork | None], draws: int, seed: int, confidence: float | None, cells: int
) -> tuple[DensityNetwork | None, ...]:
    """Return what draws tables from a network, each with another way to learn laws from draws.

    Raises
    ------
    NetworkError
        If there is no way to draw from it, or a number is out of range.
    """
    known = tuple(networks)
    if all(each is None for each in known):
        raise NetworkError(
            "drawing needs the distributions of columns",
            found="a network of parameters alone",
            remedy="Read a model with columns by from_pymc.",
        )
    return tuple(
        each and each.with_sampling(draws=draws, seed=seed, confidence=confidence, cells=cells) for each in known
    )


# --------------------------------------------------------------------------------------------------
# What their kind does in its own way.
# --------------------------------------------------------------------------------------------------


SUGGESTED_FROM = 2000
"""Draws of a parameter from which intervals are suggested."""

SUGGESTED_TABLES, MOST_SUGGESTED_NUMBERS = 500, 2**20
"""Number of tables from which ranges of a property are suggested, and the numbers they may hold in all."""

LEAST_SUGGESTED = 0.02
"""Least frequency of a suggested interval among the values."""

MOST_PAIRS = 4


def neighbours_text(values: FloatArray, distance: float, *, touching: bool) -> str:
    """A declaration of pairs of adjacent intervals, each as long as a given distance.

    Parameters
    ----------
    values : ndarray of shape (draws,)
        As they are drawn; intervals that are rare among them are left out.
    distance : float
    touching : bool
        Whether intervals may have an end in common; otherwise there is a small gap, of one where values are whole.

    Returns
    -------
    str
        Empty if no two intervals next to each other come up often enough.

    Examples
    --------
    >>> neighbours_text(np.linspace(0, 3, 1000), 1.0, touching=True)
    'bnpriv.intervals(((0, 1), (1, 2)), ((1, 2), (2, 3)))'
    >>> neighbours_text(np.arange(100.0), 20.0, touching=False)[:46]
    'bnpriv.intervals(((0, 19), (20, 39)), ((20, 39'
    """
    finite = values[np.isfinite(values) & (np.abs(values) < distance * 2.0**50)]
    cells, counts = np.unique(np.floor(finite / distance), return_counts=True)
    often = {int(cell) for cell, count in zip(cells, counts, strict=True) if count >= LEAST_SUGGESTED * len(values)}
    middle = float(np.median(finite)) / distance if len(finite) else 0.0
    pairs = sorted((cell for cell in often if cell + 1 in often), key=lambda cell: abs(cell + 1 - middle))
    whole = bool((values == np.round(values)).all()) and distance >= 2 and distance == round(distance)
    gap = 0.0 if touching else 1.0 if whole else distance / 1000

    def interval(cell: int) -> str:
        # the two sides must be disjoint where the property takes single values
        return f"({cell * distance:.9g}, {(cell + 1) * distance - gap:.9g})"

    chosen = (f"({interval(cell)}, {interval(cell + 1)})" for cell in sorted(pairs[:MOST_PAIRS]))
    listed = ", ".join(chosen)
    return f"bnpriv.intervals({listed})" if listed else ""


def suggested_ranges(secret: Secret, schema: Schema, forward: Forward) -> str:
    """Adjacent ranges of a given length that occur in drawn tables; empty if none are known.

    Parameters
    ----------
    secret : Secret
        Whose values are to be so far apart that pairs could not be listed.
    schema : Schema
    forward : Forward
        The model that draws tables.
    """
    names = tuple(sorted(secret.property.columns))
    tables = min(SUGGESTED_TABLES, MOST_SUGGESTED_NUMBERS // (schema.records * len(names)))
    columns = [schema[name] for name in names]
    in_words = any(isinstance(each, Categorical) and str in map(type, each.categories) for each in columns)
    if not isinstance(secret.pairs, Apart) or not tables or in_words:  # the columns of a model are drawn as numbers
        return ""
    try:
        drawn = forward.simulate(names, tables, seed=0, given={}, records=schema.records)
        values = answers(normal_form(secret.property, schema), {name: drawn[name] for name in names})
    except BnprivError:  # what cannot be drawn is refused where draws are needed
        return ""
    return neighbours_text(values.reshape(-1), secret.pairs.at_most, touching=False)


def refuse_unknown(network: Network, name: object) -> None:
    """Refuse what cannot be protected although a model knows it: as an unknown name the remedy would not help.

    Raises
    ------
    SecretError
        If it is a function of parameters, a parameter that is fixed to draws, or a vector as a whole.
    """
    if not isinstance(name, str):
        return
    stem, entries = name.partition("[")[0], [each for each in network.attributes if each.startswith(f"{name}[")]
    if network.reading.functions & {name, stem} and not any(each.startswith(f"{stem}[") for each in network.attributes):
        axes = network.reading.axes.get(stem, ())
        entry = f"{stem}[{', '.join(labels[0] for _, labels in axes)}]" if axes else f"{stem}[0]"
        why = next((node.secret for node in network.reading.nodes if node.name == stem and node.secret), "")
        raise SecretError(
            "a function of parameters can be protected by one of its numbers, in a model that draws columns from what "
            "it is computed from",
            found=f"the Deterministic {name!r}" + (f": {why}" if why else ""),
            remedy=f"Name an entry if it is a vector, as {entry!r}, declare the columns in the model, and leave out "
            f"fix=. Or protect a parameter: {listing(network.attributes, 6)}.",
        )
    if stem in {node.name.partition("[")[0] for node in network.reading.nodes if node.role == "fixed"}:
        raise SecretError(
            "what is protected must not be fixed to draws of a posterior",
            found=f"{name!r}, which is in this network",
            remedy="Read the model by from_pymc(model, posterior=idata) without fix=, or without it among the names, "
            "and protect it in DistributionalAttributePrivacy.",
        )
    if entries:
        raise SecretError(
            "of a vector single entries can be protected",
            found=f"{name!r}, which has the entries {listing(entries, 6)}",
            remedy=f"Name an entry, for example {entries[0]!r}, or several, each with its secrets.",
        )


def require_property(name: str, secret: Secret, schema: Schema, forward: Forward | None) -> None:
    """Refuse a property of a table whose law is not known: of normal columns, or where a model draws whole tables.

    Raises
    ------
    SecretError
        If it is no number of a normal law, or draws could not be collected for each secret of a pair.
    """
    if secret.of_cells:
        raise SecretError(
            "several counts at once are hidden where every record is in one of finitely many cells, by itself",
            found=f"{secret.property} over a network that is none of records with states",
            remedy="Hand on a private table, which needs no model: private_table(secret, data, epsilon, delta, "
            "schema=schema).",
        )
    if forward is None and isinstance(secret.property, (Count, Proportion, Difference)):
        raise SecretError(
            f"the secret of {name!r}, whose distribution is normal, must be a mean, a total or a linear",
            found=str(secret.property),
            remedy=f"Write Secret(mean({name!r}), pairs=apart(at_most=5)).",
        )
    if forward is None and secret.pairs is None:
        raise SecretError(
            f"the secret of {name!r} needs a distance: any two values of a normal number cannot be hidden",
            found="all pairs of values",
            remedy="Pass pairs=apart(at_most=5), or pairs=intervals(((30, 40), (50, 60))).",
        )
    if forward is not None and isinstance(secret.pairs, Apart | None):
        text = suggested_ranges(secret, schema, forward)
        raise SecretError(
            f"the pairs of {name!r}, a property of drawn tables, must be chosen one by one: the distribution of an "
            "answer is learned from tables that have a value, and such pairs hold values that come up in no table",
            found=str(secret),
            remedy=f"Choose ranges that come up often enough, pairs={text or 'intervals(((30, 40), (50, 60)))'}, or "
            "values, pairs=pairs((40, 50)).",
        )
    chosen = () if isinstance(secret.pairs, Apart | None) else secret.pairs.chosen
    if any(math.isinf(pair.farthest) and not isinstance(pair, IntervalPair) for pair in chosen):
        raise SecretError(
            "values of a property are numbers", found="something else among the chosen ones", remedy="Give numbers."
        )


def _pairs(network: DensityNetwork, attribute: str, given: object) -> tuple[Pair, ...]:
    if isinstance(given, Apart):
        raise _no_distance(network, attribute, given)
    # under a model that a draw is, what is protected has its law in the model, not that of the draws
    believed = network.drawn is not None and network.drawn.reading == "belief"
    drawn = network.drawn.values.get(attribute) if network.drawn is not None and believed else None
    return _interval_pairs(network.parameters[attribute], given, drawn)


def _interval_pairs(parameter: Parameter, given: object, drawn: FloatArray | None = None) -> tuple[IntervalPair, ...]:
    """The pairs of secrets of a parameter of a network of densities: as declared, or all pairs of its states.

    Intervals may share an end where the parameter takes every single value with probability zero, or is known by draws
    alone and none of them is that end: it can then be dropped from one of the two without any change.

    Raises
    ------
    SecretError
        If it has no pairs of intervals or states.
    """
    states = parameter.states or ()
    found = chosen_intervals(given)
    if found is not None:
        touching = next((pair for pair in found if pair.touches and _may_be_shared(parameter, pair, drawn)), None)
        if touching is not None:
            raise SecretError(
                f"the secrets of a pair must be disjoint where a value may be taken often, as by {parameter.name!r}",
                found=f"{touching}, which have the end {_shared(touching):g} in common",
                remedy=f"Leave that end out of one of them, as in {_apart_text(touching)}.",
            )
        return found
    if given is None and len(states) > 1:
        return tuple(interval_pair(pair) for pair in itertools.combinations(states, 2))
    raise SecretError(
        f"the secrets of the parameter {parameter.name!r} of a network of densities must be intervals or values",
        found="none" if given is None else checks.type_text(given),
        remedy=f"Protect {{{parameter.name!r}: bnpriv.intervals(((30, 40), (50, 60)))}} for two ranges, with your "
        "own numbers, or bnpriv.intervals((35, 55)) for two values.",
    )


def _shared(pair: IntervalPair) -> float:
    """The end that the intervals of a pair share."""
    return pair.first.high if pair.first.high == pair.second.low else pair.first.low


def _may_be_shared(parameter: Parameter, pair: IntervalPair, drawn: FloatArray | None) -> bool:
    """Whether the shared end of a pair may be a value that occurs."""
    if parameter.is_continuous:
        return False
    return drawn is None or parameter.states is not None or bool(np.any(drawn == _shared(pair)))


def _apart_text(pair: IntervalPair) -> str:
    """The pair written so that the shared end is in one interval only."""
    low, high = sorted((pair.first, pair.second), key=lambda side: side.low)
    end = low.high - 1e-6 * (low.high - low.low)
    return f"bnpriv.intervals((({low.low:g}, {end:.10g}), ({high.low:g}, {high.high:g})))"


def _no_distance(network: DensityNetwork, attribute: str, given: Apart) -> SecretError:
    """Why values so far apart are refused where laws are learned from draws, with intervals to declare."""
    parameter = network.parameters[attribute]
    try:
        drawn = network.simulate((attribute,), SUGGESTED_FROM, seed=0, given={}, records=1)[attribute]
        text = neighbours_text(drawn, given.at_most, touching=parameter.is_continuous)
    except NetworkError:  # what cannot be drawn is refused where draws are needed
        text = ""
    ranges = (
        f"intervals next to each other, for example protect={{{attribute!r}: {text}}}"
        if text
        else "intervals that come up often, or a larger distance"
    )
    return SecretError(
        f"the secrets of {attribute!r} must be intervals: the distribution of an answer is learned from draws in a "
        "secret, and no two of them have one value",
        found=f"any two values at most {given.at_most:g} apart, infinitely many pairs",
        remedy=f"Declare {ranges}. What is protected is then in which interval it lies, not where in it.",
    )


def _usual_pairs(network: DensityNetwork, attribute: str) -> tuple[Pair, ...]:
    """All pairs of the values of a parameter that has finitely many; nothing for others."""
    parameter = network.parameters[attribute]
    return _interval_pairs(parameter, None) if len(parameter.states or ()) > 1 else ()


def _protected_secret(network: DensityNetwork, attribute: str, secret: str, pairs: Sequence[Pair]) -> ProtectedSecret:
    return interval_secret(attribute, secret, of_values(pairs), network.parameters[attribute].states or ())


def _some(network: DensityNetwork, models: Sequence[int]) -> DensityNetwork:
    """The network with some of the draws that are its models."""
    return network if network.drawn is None else replace(network, drawn=network.drawn.some(models))


BY_QUADRATURE = (
    "not covered: an estimate: densities are integrated without a proved error, or drawn from by the code of the model"
)


def _stored(network: DensityNetwork, names: Iterable[str], most: int) -> Mapping[str, object]:
    """What a checker may know without densities: which parameters have an ancestor in common."""
    asked = set(names)
    driven = {name: list(above) for name, above in network.reading.columns.items() if name in asked}
    drivers = {node for name in asked for node in driven.get(name, [name])}.intersection(network.graph.nodes)
    above = {name: sorted(network.graph.ancestral((name,))) for name in sorted(drivers)}
    return {"left_out": BY_QUADRATURE, "driven": driven, "above": above}


DENSITY_KIND = NetworkKind(
    stored=_stored,
    some=_some,
    forward=attrgetter("forward"),
    unfixed=DensityNetwork.protecting,
    alike=DensityNetwork.alike,
    influence="bnpriv.kinds.density.influence:density_influence",
    losses="bnpriv.kinds.density.influence:density_losses",
    estimated="bnpriv.kinds.draws.estimated_influence:reported_influence",
    explain="bnpriv.kinds.density.influence:explain_refinement",
    conditional="bnpriv.kinds.density.influence:density_conditional",
    budgeted="bnpriv.kinds.density.influence:unlimited_influence",
    unsupported=DensityNetwork.refusal,
    pairs=_pairs,
    usual_pairs=_usual_pairs,
    foretold="bnpriv.kinds.draws.laws:foretold",
    protected_secret=_protected_secret,
    laws_of_parameters="bnpriv.kinds.draws.laws:laws_of_densities",
    sampler="bnpriv.lab.sampling.drawn:DensitySampler",
)
