"""Networks of continuous parameters that are known by their conditional densities and by forward draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, final

from bnpriv.bound import FloatArray
from bnpriv.errors import NetworkError, Refusal
from bnpriv.networks.base import NO_STATES, Level, NetworkMethods, columns_identity
from bnpriv.networks.graph import Graph
from bnpriv.networks.kept import Kept
from bnpriv.networks.reading import NOTHING_READ, Reading
from bnpriv.tables.readonly import ReadOnly
from bnpriv.tables.schema import State

MOST_DRAWS = 10_000_000
MOST_DENSITY_CELLS = 100_000


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
        self, names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, float], records: int
    ) -> Mapping[str, FloatArray]:
        """Return independent joint draws.

        Parameters
        ----------
        names : iterable of str
            Parameters and columns.
        draws : int
        seed : int
        given : mapping from str to float
            Parameters that are set to a value, with no effect on what lies above them: conditioning on them where
            they have no parents, nothing else where they have.
        records : int
            Of every column.

        Returns
        -------
        mapping from str to ndarray
            A parameter's of shape (draws,), a column's of shape (draws, records); draw k of all belongs together.
        """
        ...


@final
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

    @property
    def is_continuous(self) -> bool:
        """Return whether it is known to take every value with probability zero."""
        return self.states is None and (self.without_atoms or self.log_density is not None)


@final
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
        Where an answer has more different values than that, nearby draws are gathered in at most so many cells.
    """

    draws: int = 10_000
    seed: int = 0
    confidence: float | None = None
    cells: int = 200


@final
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
    reading : Reading
        How the model was read, and what drives the columns.
    sampling : Sampling
        How laws of answers are learned from draws.

    Raises
    ------
    NetworkError
        If a parent is unknown or there is a cycle.
    """

    parameters: Mapping[str, Parameter]
    model_hash: str
    simulator: Simulator = field(compare=False)
    reading: Reading = NOTHING_READ
    sampling: Sampling = field(default_factory=Sampling)
    kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", ReadOnly(self.parameters))
        self.graph  # noqa: B018  (raises)

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
        """Return the number of models."""
        return 1

    @property
    def posterior_draws(self) -> None:
        """Return None: nothing was drawn."""
        return None

    @property
    def states(self) -> Mapping[str, tuple[State, ...]]:
        """Return no states: attributes may be any number."""
        return NO_STATES

    @property
    def kind_text(self) -> str:
        """Return what kind of network it is."""
        return "a network of densities"

    def identity(self) -> bytes:
        """Return the model's hash and how it is drawn from, for a hash."""
        own = repr(("densities", self.model_hash, self.sampling)).encode()
        return columns_identity(self.reading) + own

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

    def refusal(self, names: Iterable[str]) -> Refusal | None:
        """Return why nothing can be said of some parameters: one that they are or that is above them has no law."""
        for name in self.graph.nodes:
            reason = self.parameters[name].refused
            if reason and name in self.graph.ancestral(names):
                return Refusal(
                    required="every parameter on the way between secret and query needs a proper law",
                    found=f"{name!r}: {reason}",
                    remedy="Give it a proper distribution in the model.",
                )
        return None

    def with_sampling(
        self, *, draws: int = 10_000, seed: int = 0, confidence: float | None = None, cells: int = 200
    ) -> DensityNetwork:
        """Return the same network with another way to learn the law of an answer from draws.

        Parameters
        ----------
        draws, seed, confidence, cells
            As in `Sampling`.

        Raises
        ------
        NetworkError
            If there are too few or too many draws or cells, or the confidence is not above 0 and below 1.
        """
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
