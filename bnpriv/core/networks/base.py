"""The protocol of a network, where it came from, and what a posterior's draws stand for."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

from bnpriv.checks import member, type_text
from bnpriv.core.columns import State
from bnpriv.core.networks.graph import Graph
from bnpriv.errors import NetworkError, ParameterError
from bnpriv.kind import ANY_KIND, NetworkKind, kind_of
from bnpriv.services import service
from bnpriv.shown import HasCard

if TYPE_CHECKING:
    import networkx as nx

    from bnpriv.render.document import Document

# --------------------------------------------------------------------------------------------------
# How a model of another library was read: what became of its variables, and which of them drive columns.
# --------------------------------------------------------------------------------------------------

Treatment = Literal["exact", "quadrature", "draws", "refused"]
NodeRole = Literal["parameter", "column", "fixed", "function"]

Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""The dimensions of a vector, each with its name, empty where it has none, and the labels of its entries."""


@dataclass(frozen=True, kw_only=True)
class NodeReading:
    """What became of one random variable of a model that was read.

    Parameters
    ----------
    name : str
        The variable, or one element of it.
    law : str
        Its law, for example "Normal".
    role : {"parameter", "column", "fixed", "function"}
        A parameter that columns depend on, a column of the table, a number fixed to draws of a posterior, or a function
        of parameters.
    treatment : {"exact", "quadrature", "draws", "refused"}
        How guarantees reckon with it.
    reason : str
        Why.
    secret : str
        Why it cannot be protected; empty if it can be.
    columns : tuple of str
        The columns of the table that it holds.
    seconds : float
        About how long drawing takes for a pair of secrets, where answers about these columns are drawn.
    """

    name: str
    law: str
    role: NodeRole
    treatment: Treatment
    reason: str
    secret: str = ""
    columns: tuple[str, ...] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.name} ({self.law}): {self.role}, {self.treatment}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """How a model of another library was read, variable by variable.

    Parameters
    ----------
    nodes : tuple of NodeReading
        One per random variable.
    columns : mapping from str to tuple of str
        The columns that are no attribute of the network, each with the attributes that drive it: given these, its
        records say nothing more about any attribute.
    laws : mapping from str to tuple
        For such columns whose records are independent and alike the declared law of one record for every combination
        of states of the attributes that drive it, the last one changing fastest.
    identity : str
        A hash of the model.
    functions : frozenset of str
        Functions of attributes that the model has names for, such as the Deterministics of PyMC, and that are none of
        the network.
    level_assumed : bool
        Whether nobody said what a node means, so that it is taken for the parameter of the column of that name.
    latent : frozenset of str
        Attributes that the model says nobody observes: no table has a column of them.
    notes : tuple of str
        What was changed in reading, and what is assumed, in sentences.
    axes : mapping from str to Axes
        For every vector its dimensions with the labels of their entries.
    own_graph : mapping from str to tuple of str
        Where attributes depend on each other otherwise than in the model, as given data: the model's own variables and
        named functions with their parents.
    inner : frozenset of str
        Attributes that matter through one function alone, which has draws too and is listed in their place.
    """

    nodes: tuple[NodeReading, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    laws: Mapping[str, tuple[object, ...]] = field(default_factory=dict[str, tuple[object, ...]])
    identity: str = ""
    functions: frozenset[str] = frozenset()
    level_assumed: bool = False
    latent: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    axes: Mapping[str, Axes] = field(default_factory=dict[str, Axes])
    own_graph: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    inner: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return "\n".join([*map(str, self.nodes), *self.notes]) or "Read as it is."

    def own_name(self, name: Any) -> Any:
        """The name that an entry of a vector has in its network; of anything else the name as it is.

        An entry may be named by labels, by dimensions in any order, or, where no label is a number, by its place.

        Examples
        --------
        >>> reading = ImportReport(axes={"theta": (("school", ("Choate", "Deerfield")),)})
        >>> [reading.own_name(name) for name in ("theta[1]", "theta[school=Choate]", "theta['Choate']", "mu")]
        ['theta[Deerfield]', 'theta[Choate]', 'theta[Choate]', 'mu']
        """
        stem = name.partition("[")[0] if isinstance(name, str) else ""
        return service("names.own")(self.axes[stem], name) if stem in self.axes else name

    def road(self, secret: str, column: str) -> NodeReading:
        """How a plan can find noise for sums of a column so that they do not tell of a secret that it depends on.

        Returns
        -------
        NodeReading
            Of the column: treatment "exact"; "draws", so that the guarantee is an estimate, or certified where a
            confidence is asked for; or "refused", with why, so that only noise that hides the column whole is left.
        """
        return service("network.road")(self, secret, column)


def modelled(network: Network, columns: Iterable[str]) -> frozenset[str]:
    """Those of `columns` that the network says something about: its attributes, and the columns they drive.

    The others are declared independent, or unknown. Nothing is asked of the graph about them: they tell nothing of any
    attribute, so that no noise need hide them.
    """
    return frozenset(columns).intersection((*network.attributes, *network.reading.columns))


def drivers(network: Network, columns: Iterable[str]) -> frozenset[str]:
    """The attributes that stand for `columns`: themselves, or the parameters that drive them.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> reading = ImportReport(columns={"height": ("mean", "deviation")})
    >>> network = SimpleNamespace(attributes=("income", "mean", "deviation"), reading=reading)
    >>> sorted(drivers(network, {"height", "income", "weather"}))
    ['deviation', 'income', 'mean']
    """
    found = {name for column in modelled(network, columns) for name in network.reading.columns.get(column, (column,))}
    return frozenset(found).intersection(network.attributes)


def driven_by(network: Network, columns: Iterable[str], attributes: Collection[str]) -> frozenset[str]:
    """Those of `columns` that are one of `attributes`, or driven by one of them."""
    return frozenset(name for name in columns if not drivers(network, {name}).isdisjoint(attributes))


NOTHING_READ = ImportReport()
"""The report of a network that was declared directly, not read."""

LEVEL_ASSUMED = ImportReport(level_assumed=True)
"""The report of a network whose level was not given, and was assumed."""


def own_names(network: object, names: Any) -> Any:
    """A name, or several, as a network has them (`ImportReport.own_name`); anything else is given back as it is."""
    reading: ImportReport = getattr(network, "reading", NOTHING_READ)
    one = isinstance(names, str) or not isinstance(names, Iterable)
    return reading.own_name(names) if one else [reading.own_name(name) for name in cast("Iterable[Any]", names)]


# --------------------------------------------------------------------------------------------------
# Posterior draws: what the models were drawn from, how many, and what may lie beyond them.
# --------------------------------------------------------------------------------------------------

CONFIDENCE = 0.95
"""Confidence of the statement about the share of the posterior beyond the draws."""


@dataclass(frozen=True, kw_only=True)
class TableFingerprint:
    """Hashes that identify a table without showing any of its values.

    Parameters
    ----------
    records : int
        The number of records.
    columns : mapping from str to str
        For every column a hash of its values in the order of the records.
    rows : str
        A hash of the records over all these columns, the same in whatever order they come.
    """

    records: int
    columns: Mapping[str, str]
    rows: str

    def __repr__(self) -> str:
        return f"TableFingerprint(records={self.records}, columns={sorted(self.columns)}, rows={self.rows!r})"


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """The posterior that the models of a model class were drawn from.

    Parameters
    ----------
    source : str
        The public data, in a sentence.
    draws : int
        How many models were drawn.
    seed : int or None
        With which they can be drawn again.
    prior : str
        The prior of every column of the tables.
    table : TableFingerprint or None
        The public table, to be told from the one that is to be released.
    independent : bool
        Whether the draws are independent of each other. Those of a Markov chain are not: then nothing is said about
        what lies beyond them.
    same_table_is_public : bool
        Whether it was declared that the table to be released may be the public one.
    belief : bool
        Whether the posterior itself is the observer's law, in place of every draw being a model.
    of : int or None
        How many draws there were, where fewer are models: evenly spaced ones, as many as can be drawn from in some
        seconds.
    in_file : bool
        Whether the tables are numbers as files hold them: read from a framework's files, or learned to be written.
    records : int or None
        How many public records there were; None where nobody said.
    graphs : int or None
        In how many resamples of the public table the graphs were found; None where one graph was given or found.

    Notes
    -----
    docs/claims/posterior.md says what the draws stand for.

    Examples
    --------
    >>> thousand = Posterior(source="a public census", draws=1000, seed=1, prior="uniform")
    >>> f"{thousand.beyond():.5f}"
    '0.00300'
    """

    source: str
    draws: int
    seed: int | None = None
    prior: str = ""
    table: TableFingerprint | None = None
    independent: bool = True
    same_table_is_public: bool = False
    belief: bool = field(default=False, repr=False)
    of: int | None = field(default=None, repr=False)
    in_file: bool = field(default=False, repr=False)
    records: int | None = field(default=None, repr=False)
    graphs: int | None = field(default=None, repr=False)

    def beyond(self, confidence: float = CONFIDENCE, *, among: int = 1) -> float:
        """The share of the posterior that may lie above the largest of the draws, at a given confidence.

        Parameters
        ----------
        confidence : float
        among : int
            From how many numbers the one in question may have been chosen after looking at the draws.

        Raises
        ------
        ParameterError
            If the confidence is not above 0 and below 1, or the draws depend on each other.
        """
        if not 0 < confidence < 1:
            raise ParameterError(
                "a confidence must be above 0 and below 1", found=f"{confidence:g}", remedy="Pass for example 0.95."
            )
        if not self.independent:
            raise ParameterError(
                "what lies beyond the draws is known for independent draws",
                found="draws that depend on each other",
                remedy="Draw from a conjugate posterior.",
            )
        # N draws all miss a share s of the posterior with probability (1 - s)^N <= exp(-s N); a choice among k scales
        # adds k such probabilities
        share = (math.log(among) - math.log1p(-confidence)) / self.draws
        return min(1.0, math.nextafter(share * (1 + 2.0**-50), math.inf))

    @property
    def models_text(self) -> str:
        """The models an adversary may believe in, as a phrase."""
        if self.belief:
            return f"the posterior, known by {self.draws:,} draws (public data: {self.source})"
        how = "drawn from a posterior" if self.graphs is None else f"of graphs found in {self.graphs:,} resamples"
        return f"any of the {self.draws:,} models {how} (public data: {self.source})"

    def fitted_sentence(self, what: str) -> str:
        """The sentence that nothing is known beyond the draws about anything fitted to them."""
        if self.belief or not self.independent:
            return self.sentence
        return f"{what} fitted to the {self.draws:,} draws: nothing is known about models that were not drawn."

    @property
    def sentence(self) -> str:
        """The sentence on what lies beyond the draws, for one number that depends on the model alone."""
        return self._said(1, "in any one number that was chosen beforehand")

    def sentence_among(self, among: int) -> str:
        """The same sentence for a scale of noise that may have been chosen among several.

        Parameters
        ----------
        among : int
            How many there were to choose from.
        """
        return self._said(among, "if secrets, query, epsilon and delta were chosen beforehand")

    def _said(self, among: int, condition: str) -> str:
        if self.belief:
            how = "independent draws" if self.independent else "draws of Markov chains, which depend on each other"
            return (
                f"The observer is taken to hold the posterior itself, known by {self.draws:,} {how}, and the model for "
                "whatever has no draws, of which the public data must tell through the rest alone; somebody who knows "
                "one of the other parameters holds another distribution."
            )
        if self.graphs is not None:
            return (
                f"The graphs were found in {self.graphs:,} resamples of the public table, which is an estimate and no "
                "posterior: nothing is known about models that were not drawn."
            )
        if not self.independent:
            return (
                f"The {self.draws:,} draws of the posterior depend on each other: nothing is known about models that "
                "were not drawn."
            )
        share = _percent(self.beyond(among=among))
        return (
            f"With confidence {100 * CONFIDENCE:g} % at most {share} of the posterior lies "
            f"above what is worst among the {self.draws:,} draws, {condition}."
        )


def _percent(share: float) -> str:
    """A share in percent with two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    # a share that is above a step by rounding alone counts as the step
    return f"{min(100.0, math.ceil(100 * share / step - 1e-9) * step):.3g} %"


# --------------------------------------------------------------------------------------------------
# The network protocol: all that frameworks, reports and mechanisms ask of a network.
# --------------------------------------------------------------------------------------------------

Level = Literal["parameters", "records"]
"""What a node means: the parameter that governs the column of that name, or the column itself in one record."""

LEVELS: tuple[Level, ...] = ("parameters", "records")

NO_STATES: Mapping[str, tuple[State, ...]] = MappingProxyType({})
"""The states of a network whose attributes may be any number."""


def level_of(declared: Level | None) -> Level:
    """A declared level, "parameters" by default.

    Raises
    ------
    NetworkError
        If it is none.
    """
    return "parameters" if declared is None else cast(Level, member("level", declared, LEVELS, error=NetworkError))


class Network(Protocol):
    """A Bayesian network over attributes, or several on one graph (the model class Theta).

    What differs from kind to kind is asked of its `bnpriv.kind.NetworkKind`. Nobody asks which kind a network is.
    """

    @property
    def kind(self) -> NetworkKind | str:
        """The operations that its kind has of its own, or where they are, as "module:object"."""
        ...

    @property
    def attributes(self) -> tuple[str, ...]:
        """The nodes."""
        ...

    @property
    def graph(self) -> Graph:
        """The directed graph: which attribute depends directly on which."""
        ...

    @property
    def models(self) -> int:
        """Number of models in Theta; 1 where bounds hold for all of them at once."""
        ...

    @property
    def level(self) -> Level:
        """What a node means: the parameter that governs the column of that name, or the column in one record."""
        ...

    @property
    def reading(self) -> ImportReport:
        """How the model was read from another library, and what drives the columns that are no attribute."""
        ...

    @property
    def posterior_draws(self) -> Posterior | None:
        """Where the models were drawn from, if they are draws of a posterior."""
        ...

    @property
    def states(self) -> Mapping[str, tuple[State, ...]]:
        """The states of every attribute that has finitely many; nothing for attributes that may be any number."""
        ...

    @property
    def kind_text(self) -> str:
        """The kind of network, with its article: "a linear-Gaussian network"."""
        ...

    def require(self, attribute: str) -> str:
        """Check that `attribute` is a node, and give back its own name.

        Raises
        ------
        NetworkError
            If it is not.
        """
        ...

    def same_law(self, other: Network, attribute: str) -> bool:
        """Whether another network is of the same kind, with the same law of an attribute given its parents."""
        ...

    def identity(self) -> bytes:
        """Bytes that tell the network from others, for a hash: what drives columns, laws, provenance."""
        ...


class NetworkMethods(HasCard):
    """Methods that all kinds of networks share."""

    kind: ClassVar[NetworkKind | str] = ANY_KIND

    def require(self: Network, attribute: str) -> str:
        """Check that `attribute` is a node, and give back its own name.

        Raises
        ------
        NetworkError
            If it is not.
        """
        return member("an attribute", self.reading.own_name(attribute), self.attributes, error=NetworkError)

    def same_law(self: Network, other: Network, attribute: str) -> bool:
        """Whether another network is of the same kind with the same laws of all attributes."""
        return type(self) is type(other) and self.identity() == other.identity()

    def to_networkx(self: Network) -> nx.DiGraph[str]:
        """The graph as a `networkx.DiGraph` of its own: which attribute depends directly on which.

        Every node has an attribute "states", empty where it may be any number.

        Examples
        --------
        >>> from bnpriv.networks import DiscreteNetwork
        >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
        >>> coin.to_networkx().nodes["coin"]
        {'states': ('heads', 'tails')}
        """
        import networkx as nx

        graph = nx.DiGraph(self.graph.directed)
        for name in graph:
            graph.add_node(name, states=self.states.get(name, ()))
        return graph

    @property
    def document(self: Network) -> Document:
        """The network as a document, drawn where it is small enough to be read."""
        return service("network.document")(self)


def columns_identity(reading: ImportReport) -> bytes:
    """Bytes that tell which attributes drive the columns, for a hash; empty where every column is an attribute."""
    if not reading.columns:
        return b""
    return repr(("columns", sorted(reading.columns.items()), reading.identity)).encode()


# --------------------------------------------------------------------------------------------------
# What may be passed where a network is needed, and how it becomes one.
# --------------------------------------------------------------------------------------------------

REMEDIES = {
    "pgmpy": "Copy it with bnpriv.from_pgmpy(model).",
    "pyagrum": "Copy it with bnpriv.from_pyagrum(bn).",
    "pymc": "Read it with bnpriv.from_pymc(model).",
    "networkx": "A graph has no probabilities: add them with DiscreteNetwork.from_tables(tables, parents=...).",
}
"""How to convert a model, by the library that it comes from."""


def require_network(value: object) -> None:
    """Refuse what is no network of bnpriv, and say how it becomes one.

    Raises
    ------
    NetworkError
        If it has no attributes and no level.

    Examples
    --------
    >>> require_network("student.bif")
    Traceback (most recent call last):
    bnpriv.errors.NetworkError: a network is needed; found a str. Read it with bnpriv.read_network(path).
    """
    if hasattr(value, "attributes") and hasattr(value, "level") and not inspect.isclass(value):
        return
    remedy = foreign_remedy(value) or "Build one, for example with DiscreteNetwork.from_tables(...)."
    if getattr(value, "network", None) is not None:
        remedy = "Pass the network of the framework, framework.network."
    raise NetworkError("a network is needed", found=type_text(value), remedy=remedy)


def foreign_remedy(value: object) -> str:
    """How a model of another library, or a file, becomes a network; empty for anything else."""
    if isinstance(value, (str, Path)):
        return "Read it with bnpriv.read_network(path)."
    return REMEDIES.get(type(value).__module__.partition(".")[0].lower(), "")


# --------------------------------------------------------------------------------------------------
# Networks that can draw whole tables forward.
# --------------------------------------------------------------------------------------------------

Forward = Any
"""A network of densities with columns that its parameters drive, so that it can draw whole tables."""


def forward_of(network: object) -> Forward | None:
    """The part of a network that draws whole tables, from parameters to columns; None if there is none.

    Examples
    --------
    >>> from bnpriv.networks import DiscreteNetwork
    >>> forward_of(DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": [0, 1]})) is None
    True
    """
    return kind_of(network).forward(network)


def unfixed_of(network: Network, protected: Collection[object]) -> Network:
    """The network in which given parameters, or functions of some, are not fixed to draws, if there is one.

    Parameters
    ----------
    network : network
        Where all that has draws may be fixed, so that what stays has exact laws, or is a network of records.
    protected : collection of str
        Those that must keep their laws.

    Returns
    -------
    network
        The same where nothing of the kind is fixed.
    """
    if network.level == "parameters" and frozenset(network.attributes).issuperset(protected):
        return network
    unfixed: Network | None = kind_of(network).unfixed(network, protected)
    return network if unfixed is None or not frozenset(unfixed.attributes).issuperset(protected) else unfixed
