"""What a kind of network, or a notion of privacy, does in its own way: one object each, and no other registry.

A class of networks names its kind, a class of frameworks its notion, by the class attribute `kind`: the object itself,
or where it stands, as "module:object". Then it is loaded when it is first asked, so that the kernel imports no plug-in.
Everybody else asks the object, and never what it is.

Values from later rooms (influences, laws, sections of files) are named in the docstrings and typed as `Any`: this
module stands at the bottom, and importing their types would lead in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from bnpriv.errors import NetworkError, Refusal

T = TypeVar("T")

TableEnds = tuple[Mapping[str, Any], Mapping[str, Any], tuple[str, ...]]
"""The least and the largest probabilities of every table, and the names of rows that may be any law."""


def loaded(place: str) -> Any:
    """The object at a place, "module:object", whose module is loaded when it is first asked for."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


class Overrides:
    """An object whose members may be given to the constructor.

    ``NetworkKind(influence="bnpriv.core.influence.finite:finite_influence")`` makes ``kind.influence(...)`` call
    ``finite_influence(...)``, whose module is imported at the first call.

    Parameters
    ----------
    **ways : callable, str or bool
        What stands for a member of that name. A function takes what the method takes, without `self`; it may be named
        by its place, "module:function", and is loaded when it is first called.
    """

    def __init__(self, **ways: Callable[..., Any] | str | bool) -> None:
        for name, way in ways.items():
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__} has no member {name!r}")
            setattr(self, name, _later(way) if isinstance(way, str) and callable(getattr(self, name)) else way)


def _later(place: str) -> Callable[..., Any]:
    return lambda *args, **named: loaded(place)(*args, **named)


@dataclass(frozen=True, kw_only=True)
class FurtherTable:
    """A table about one kind of network.

    Parameters
    ----------
    title : str
    intro : str
        What its numbers mean.
    header : tuple of str
    rows : tuple of tuple of str, int or float
        One entry for every heading; infinite where there is no bound.
    finding : str
        The most important of it as a sentence, without a full stop; empty if there is none.
    """

    title: str
    intro: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    finding: str = ""


class NetworkKind(Overrides):
    """What one kind of network does in its own way; by default what follows from its graph and its states.

    A kind must know `influence`. All else has a default: it follows from other members, is empty, or is a refusal. A
    kind is a value with some ways of its own, ``NetworkKind(influence=...)``, or an instance of a class that derives
    from this one.
    """

    exact_tables: bool = False
    """Whether a network holds the probability of every state, exactly."""
    by_intervals: bool = False
    """Whether bounds hold for all models within intervals at once."""
    whole_column: bool = False
    """Whether a network is the law of one column as a whole, whose records depend on each other."""

    keeps_draws: bool = False
    """Whether every draw of a posterior is a model, however many there are: laws in closed form take them all."""

    # which models there are

    def models_text(self, network: Any) -> str:
        """Which models a network stands for, where that is more than it counts; empty where it counts all."""
        return ""

    def foretold(self, network: Any) -> str:
        """What can be said of secrets before any is declared, such as how many draws they take; empty if nothing."""
        return ""

    def forward(self, network: Any) -> Any:
        """What draws whole tables from parameters and the columns that they drive; None where nothing does."""
        return None

    def unfixed(self, network: Any, protected: Iterable[object]) -> Any:
        """The network in which protected parameters, or functions of some, have laws of their own; None if none has."""
        return None

    def edges(self, network: Any) -> Mapping[tuple[str, str], int]:
        """The edges of the models, each with the number of models that have it."""
        models: int = network.models
        return dict.fromkeys(network.graph.edges, models)

    def graph_of(self, network: Any, model: int) -> Any:
        """The graph of one model."""
        return network.graph

    # what columns tell

    def influence(self, network: Any, columns: Iterable[str], protected: str, pairs: Sequence[Any]) -> Any:
        """The `Influence` of columns on a protected attribute, for given pairs of secrets; see `influence_of`."""
        raise NetworkError(
            "the influence of columns must be known for this kind of network",
            found=f"a {type(network).__name__}",
            remedy="Give its class a `kind` that knows it: see bnpriv.kind.NetworkKind.",
        )

    def losses(self, influence: Any) -> Any:
        """The whole law of what an influence tells, as `PrivacyLosses`; refused where only its largest value is known.

        Raises
        ------
        SizeError
            If a table would be too large.
        """
        return LARGEST_ALONE

    def estimated(
        self, network: Any, columns: Iterable[str], protected: str, pairs: Sequence[Any], delta: float, form: Any = None
    ) -> Any:
        """What columns tell at a chance delta, by draws, as `EstimatedInfluence`; None where nothing is drawn.

        With the normal form of a query what its answer tells, without noise.
        """
        return None

    def explain(self, influence: Any) -> str:
        """In words what attains an influence, or how it was found; by default how much is told."""
        return loaded("bnpriv.core.influence.base:bound_text")(influence)

    def conditional(self, influence: Any, column: str) -> Any:
        """The law of a column given each of the two secrets that are told apart best, as `TwoCurves`, or a refusal."""
        return LARGEST_ALONE

    def mu(self, influence: Any) -> float | None:
        """The largest Mahalanobis distance over models and pairs, rounded up; None where no law is normal."""
        return None

    def frontier(self, network: Any, protected: str, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of some attributes that the others do not separate from a protected one."""
        return network.graph.frontier(protected, columns)

    def alike(self, network: Any, protected: str) -> tuple[tuple[str, ...], ...]:
        """The other attributes in groups of which every member tells the same about a protected one."""
        return tuple((name,) for name in network.attributes if name != protected)

    def assumptions(self, network: Any) -> tuple[str, ...]:
        """What must hold of the network for its influences to be right."""
        return ()

    def unsupported(self, network: Any, names: Iterable[str]) -> Refusal | None:
        """Why nothing can be said of some attributes, or None."""
        return None

    def work(self, network: Any, border: tuple[str, ...], protected: str, pairs: Sequence[Any]) -> tuple[int, int]:
        """What an influence takes: the cells of its tables, and its privacy losses; 0 where a kind has own limits."""
        return 0, 0

    def budgeted(
        self, network: Any, border: tuple[str, ...], protected: str, pairs: Sequence[Any], most_work: int
    ) -> tuple[Any, int]:
        """An influence from tables of at most so many cells, and how many it took; by default nothing is limited."""
        return self.influence(network, border, protected, pairs), 0

    def rows(self, network: Any, chosen: Any, workers: int | None) -> Any:
        """What every attribute tells about chosen ones, as `InfluenceRows`; the models may be shared among workers."""
        return loaded("bnpriv.kinds.junction.rows:rows_one_by_one")(network, chosen)

    def lower_bound(
        self, network: Any, protected: str, pair: Any, model: int, columns: Iterable[str]
    ) -> Callable[[Iterable[str]], float]:
        """From subsets of columns to what they tell at least about one pair under one model; by default 0."""
        return lambda _: 0.0

    def tree_choice(self, network: Any, protected: str, pair: Any, model: int, costs: Any, most: float) -> Any:
        """The attributes that are best hidden from an observer of others, as `TreeChoice`; None where not known."""
        return None

    def edge_removal(self, network: Any) -> Callable[[str, str], Any] | None:
        """From the ends of an edge to the network without it; None where that is not known."""
        return None

    def gradient(self, influence: Any) -> Any:
        """How an influence moves with the entries of the tables, as `InfluenceGradient`, or a refusal."""
        return NO_GRADIENT

    def extra_tables(self, network: Any) -> tuple[FurtherTable, ...]:
        """What is known of this kind only, as tables that a report shows."""
        return ()

    def some(self, network: Any, models: Sequence[int]) -> Any:
        """The same network with some of its models, which are draws, in this order."""
        raise NetworkError(
            "models must be draws that can be taken one by one",
            found=network.kind_text,
            remedy="Learn a network by DiscreteNetwork.posterior, or read one by from_pymc with a posterior.",
        )

    # secrets

    def pairs(self, network: Any, attribute: str, given: object) -> tuple[Any, ...]:
        """The pairs of secrets of an attribute, from what was declared; see `pairs_of`."""
        return loaded("bnpriv.core.secrets:pairs_by_states")(network, attribute, given)

    def usual_pairs(self, network: Any, attribute: str) -> tuple[Any, ...]:
        """The pairs that stand for the secrets of an attribute of which none are declared: all pairs of its states."""
        states = network.states.get(attribute)
        return () if states is None else loaded("bnpriv.core.secrets:all_pairs")(states)

    def protected_secret(self, network: Any, attribute: str, secret: str, pairs: Sequence[Any]) -> Any:
        """What is protected of an attribute, as `ProtectedSecret`; `secret` is what must not be learned, as a noun."""
        return loaded("bnpriv.core.frameworks.protected:secret_by_states")(network, attribute, secret, pairs)

    def centred(self, network: Any) -> tuple[str, ...]:
        """The attributes that are a number about which the records of their column may lie."""
        return ()

    # laws of an answer

    def laws_of_records(self, framework: Any, query: Any) -> Any:
        """The `Laws` of an answer given a property of the table, where records are drawn from the network."""
        return loaded("bnpriv.core.evidence.laws:from_record_tables")(framework, query)

    def laws_of_parameters(self, framework: Any, query: Any) -> Any:
        """The `Laws` of an answer given a parameter of the network; refused by default."""
        return loaded("bnpriv.core.evidence.laws:laws_without_tables")(framework, query)

    # made-up tables and answers

    sampler: str = "bnpriv.lab.sampling.game:KindSampler"
    """What draws tables and answers given a secret, the class and its module; by default it says that it cannot."""

    # tables of probabilities and files

    def table_ends(self, network: Any, model: int) -> TableEnds | None:
        """The ends of the tables of one model; None where there are no tables."""
        return None

    def is_deterministic(self, network: Any, name: str) -> bool:
        """Whether a table holds zeros and ones alone: then no factor changes it."""
        return False

    def stored(self, network: Any, names: Iterable[str], most: int) -> Mapping[str, object]:
        """What a calibration stores of a network without exact tables, of what some columns and attributes depend on.

        In at most so many numbers; by default why the checker does not cover it.
        """
        return {"left_out": f"not covered: a {type(network).__name__}"}

    def section(self, network: Any, stem: str) -> Any:
        """What a framework file called `stem` holds of the network, as `NetworkPart`; refused by default."""
        raise loaded("bnpriv.io.framework_text:not_held")(network)


LARGEST_ALONE = Refusal(
    required="the whole distribution of what is told must be known",
    found="its largest value alone",
    remedy="Ask for delta=0.",
)

NO_GRADIENT = Refusal(
    required="a gradient is known for networks of tables",
    found="a network of another kind",
    remedy="Declare the attributes with finitely many states and a probability for each.",
)

ANY_KIND = NetworkKind()
"""Of a network whose class names no kind."""


class PrivacyNotion(Overrides):
    """What one notion of privacy does in its own way: which evidence follows from a framework."""

    secret_text: str | None = None
    """What its secrets are, as refusals name it; the name of the framework's class by default."""
    sampler: str = "bnpriv.lab.sampling.game:NotionSampler"
    """What draws tables and answers as a framework declares them, the class and its module."""

    def influences(self, framework: Any) -> Any:
        """What columns tell about the secrets, as `Influences`, or why nothing is known of that."""
        return loaded("bnpriv.core.evidence.structural:no_influences")(
            self.secret_text or f"a {type(framework).__name__}"
        )

    def structure(self, framework: Any) -> Any:
        """The same, whether the secrets are possible or not, computed anew; of notions that have influences."""
        raise AttributeError

    def laws(self, framework: Any, query: Any) -> Any:
        """The `Laws` of an answer under the secrets, or why they are not known."""
        return loaded("bnpriv.core.evidence.laws:no_laws")(self.secret_text or f"a {type(framework).__name__}")

    def subject(self, framework: Any, query: Any) -> Any:
        """What a report is about, as `ReportTarget`: by default the framework's own network and secrets."""
        return loaded("bnpriv.kinds.report_target:own_subject")(framework, query)

    def networks(self, framework: Any) -> tuple[Any, ...]:
        """The networks that a framework rests on; by default none."""
        return ()

    def models_text(self, framework: Any) -> str:
        """What the adversary may believe, where the number of models does not say it; else empty."""
        return ""

    def independent(self, framework: Any) -> frozenset[str] | None:
        """The columns that are declared independent of all that a network says; None where none can be."""
        return None

    def stored(self, framework: Any, query: Any) -> Mapping[str, object]:
        """What a stored calibration says of the models and secrets, as far as an answer depends on them."""
        return loaded("bnpriv.mechanisms.serialize:stored_network")(framework, query)

    def record_law(self, framework: Any, query: Any, model: int) -> Any:
        """The `WholeLaw` of what one record adds to an answer under one model; refused by default."""
        raise NO_RECORD_LAW.error()

    def together(self, framework: Any) -> Any:
        """What counts several answers of independent records by what they tell of one; a Refusal by default."""
        return NOT_BY_RECORDS

    def impossibility(self, framework: Any) -> Refusal | None:
        """Why the secrets are no constraint under any model, or None if some are."""
        return None

    def own_query(self, framework: Any) -> Any:
        """The query that a framework is about; None where it leaves the query open."""
        return None

    def hidden(self, framework: Any, shares: Any) -> Any:
        """What a private table hides, the `Hidden` numbers of records; refused by default."""
        raise NO_CLASSES.error()


NO_RECORD_LAW = Refusal(
    required="a public table is compared with the distribution of one record, given that a property of the table "
    "counts it",
    found="secrets of another notion",
    remedy="Compare the network with it: bnpriv.check_model(network, public_table).",
)

NOT_BY_RECORDS = Refusal(
    required="answers count record by record where secrets are numbers of independent records",
    found="secrets of another notion",
    remedy="Protect a count of the table: a DatasetAttributePrivacy.",
)

NO_CLASSES = Refusal(
    required="a private table hides how many records of the table are in some classes",
    found="secrets of another notion",
    remedy="Of a network of parameters hand on the columns that may go out, form='open columns'; else hide a count, in "
    "a DatasetAttributePrivacy or by a Secret alone.",
)

ANY_NOTION = PrivacyNotion()
"""Of a framework whose class names no notion."""


def kind_of(network: object) -> NetworkKind:
    """The kind of a network, which its class names."""
    return _named(network, ANY_KIND)


def notion_of(framework: object) -> PrivacyNotion:
    """The notion of a framework, which its class names."""
    return _named(framework, ANY_NOTION)


def is_framework(value: object) -> bool:
    """Whether the class of a value names a notion of privacy; the class itself is no framework."""
    return not isinstance(value, type) and notion_of(value) is not ANY_NOTION


def _named(value: object, other: T) -> T:
    """The object that the class of a value names as its kind; `other` where it names none of that sort."""
    # of the class: no value can change what it is, which neither its hash nor a seal would see
    named = getattr(value if isinstance(value, type) else type(value), "kind", None)
    if isinstance(named, str) and named.startswith("bnpriv.") and ":" in named:
        named = loaded(named)
    return named if isinstance(named, type(other)) else other
