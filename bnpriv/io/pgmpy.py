"""Networks from pgmpy and back: axes and states go by name, never by position."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import flag, listing, number, type_text, whole
from bnpriv.core.columns import State
from bnpriv.core.networks.base import REMEDIES, ImportReport, Level, foreign_remedy, level_of
from bnpriv.core.networks.declared import MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork, require_discrete
from bnpriv.errors import NetworkError, SizeError
from bnpriv.io.networks.formats import MOST_ATTRIBUTES, latent_notes, network_of
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.kinds.graphs import model_class, state_key
from bnpriv.text import name_text

if TYPE_CHECKING:
    from pgmpy.base import DAG
    from pgmpy.models import DiscreteBayesianNetwork, DynamicBayesianNetwork, LinearGaussianBayesianNetwork

NodeNames = Mapping[Any, str] | Callable[[Any], str]
"""What the nodes are to be called that pgmpy knows by numbers or tuples."""

MOST_UNROLLED = 2**22
"""Cells of all tables of a dynamic network that is unrolled: 32 MiB, held a few times while they are checked."""

# --------------------------------------------------------------------------------------------------
# What is read, what a node is called, and what is refused by name with the way that works.
# --------------------------------------------------------------------------------------------------

_GRAPH = (
    "Fit it first, as DiscreteBayesianNetwork(dag).fit(public_table), or pass data=public_table, and public= where it "
    "comes from."
)
_FACTORS = (
    "Its factors are no conditional probabilities. model.to_bayesian_model() gives edges; give them tables, each from "
    "VariableElimination(model).query([node, *parents]) divided by its sums."
)
_WRITE = "Write the same distributions in PyMC, and read that with bnpriv.from_pymc(model)."
_REGRESSIONS = (
    "Declare it with bnpriv.networks.GaussianNetwork.linear(intercepts, deviations, coefficients), or write it in "
    "PyMC, and read that with bnpriv.from_pymc(model)."
)
_OTHER_MODELS: Mapping[str, str] = {
    "FunctionalBayesianNetwork": f"Its distributions are functions of pyro. {_WRITE}",
    "SEMGraph": _REGRESSIONS,
    "SEMAlg": _REGRESSIONS,
    "DAG": _GRAPH,
    "PDAG": f"Choose directions with model.to_dag(). {_GRAPH}",
    "AncestralBase": "Put a latent node in place of every hidden common cause, and give all nodes tables.",
    "ADMG": "Put a latent node in place of every hidden common cause, and give all nodes tables.",
    "DiscreteMarkovNetwork": _FACTORS,
    "FactorGraph": f"Take model.to_markov_model(). {_FACTORS}",
    "ClusterGraph": f"Take the model that it was made of. {_FACTORS}",
    "MarkovChain": "Declare it with bnpriv.networks.MarkovChain(transition, initial, length).",
}
"""For classes of pgmpy that are not read, the way that works; a class counts for those derived from it."""


def _named(nodes: Iterable[Any], names: NodeNames | None) -> dict[Any, str]:
    """Return what every node is called.

    Raises
    ------
    NetworkError
        If there are no nodes, a name is no text, two nodes have one, or `names` has others than nodes.
    """
    known = list(nodes)
    if not known:
        raise NetworkError("a network needs an attribute", found="no nodes", remedy="Add nodes and their tables.")
    if isinstance(names, Mapping):
        given = dict(cast("Mapping[Any, object]", names))
        strange = [node for node in given if node not in known]
        if strange:
            raise NetworkError("names= must be of nodes", found=_shown(strange[0]), remedy="Check the spelling.")
        called: dict[Any, object] = {node: given.get(node, node) for node in known}
    else:
        called = {node: node if names is None else names(node) for node in known}
    wrong = [node for node, name in called.items() if not isinstance(name, str) or not name.strip()]
    if wrong:
        raise NetworkError(
            "an attribute's name must be a text that is not empty",
            found=f"the node {_shown(wrong[0])}",
            remedy='Pass names={node: "income", ...} for such nodes, or a function of a node, as names=str.',
        )
    if len(set(called.values())) < len(called):
        raise NetworkError("names= must tell nodes apart", found="one name for two", remedy="Name them differently.")
    return {node: str(name) for node, name in called.items()}


def _shown(node: object) -> str:
    return f"{name_text(repr(node))}, {type_text(node)}"


def _refuse_others(given: Sequence[object], read: Sequence[Any]) -> None:
    """Refuse what is not all of one kind that is read, by name."""
    strange = next((each for each in given if not isinstance(each, tuple(read))), None)
    strange = next((each for each in given if type(each).__name__ == "FunctionalBayesianNetwork"), strange)
    if given and strange is None and any(all(isinstance(each, kind) for each in given) for kind in read):
        return
    classes = () if strange is None else (base.__name__ for base in type(strange).__mro__)
    usual = "Give the attributes states or normal distributions, or use DiscreteNetwork.from_tables."
    usual = foreign_remedy(strange).replace(REMEDIES["pgmpy"], "") or usual
    kinds = "a DiscreteBayesianNetwork, a LinearGaussianBayesianNetwork or a DynamicBayesianNetwork"
    raise NetworkError(
        f"from_pgmpy reads {kinds}, or a list of one of them",
        found="an empty list" if not given else "several of these" if strange is None else type_text(strange),
        remedy=next((_OTHER_MODELS[name] for name in classes if name in _OTHER_MODELS), usual),
    )


def _learned(
    given: Sequence[Any], level: Level | None, names: NodeNames | None, data: object, public: object
) -> DiscreteNetwork:
    """Return draws of the tables of one graph, given a public table."""
    from pgmpy.base import DAG

    directed = len(given) == 1 and isinstance(given[0], cast(type, DAG))
    if not directed or level == "parameters" or given[0].latents:
        unseen = directed and bool(given[0].latents)
        raise NetworkError(
            "data= is for one DAG of records, all of whose nodes are columns",
            found="latent nodes" if unseen else "level='parameters'" if directed else listing(map(type_text, given)),
            remedy="Leave data= out and read a model with its tables.",
        )
    named = _named(given[0].nodes, names)
    graph = {name: [named[parent] for parent in given[0].predecessors(node)] for node, name in named.items()}
    return DiscreteNetwork.posterior(graph, data, public=cast(str, public))


# --------------------------------------------------------------------------------------------------
# Linear-Gaussian networks from pgmpy: regressions are copied, the covariance is computed here in full precision.
# --------------------------------------------------------------------------------------------------

Row = tuple[float, float, Mapping[str, float]]
"""Intercept, standard deviation and coefficients of one regression."""


def gaussian_from_pgmpy(theta: Sequence[Mapping[str, Row]], level: Level) -> GaussianNetwork:
    """Return the network of regressions, those of one model each, whose nodes mean what `level` says.

    Raises
    ------
    NetworkError
        If models differ in more than numbers.
    """
    first = theta[0]
    for k, rows in enumerate(theta):
        if rows.keys() != first.keys() or any(rows[name][2].keys() != first[name][2].keys() for name in first):
            raise NetworkError(
                "all models must have the same attributes and edges",
                found=f"others in model {k} than in model 0",
                remedy="A model class is one graph with several sets of numbers; a missing edge is a coefficient of 0.",
            )
    return GaussianNetwork.linear(
        {name: np.array([rows[name][0] for rows in theta]) for name in first},
        {name: np.array([rows[name][1] for rows in theta]) for name in first},
        {
            name: {parent: np.array([rows[name][2][parent] for rows in theta]) for parent in row[2]}
            for name, row in first.items()
            if row[2]
        },
        level=level,
    )


def _regressions(model: Any, names: NodeNames | None) -> dict[str, Row]:
    from pgmpy.factors.continuous import LinearGaussianCPD

    named = _named(model.nodes, names)
    known = {cpd.variable: cpd for cpd in model.get_cpds() if isinstance(cpd, cast(type, LinearGaussianCPD))}
    missing = [name for node, name in named.items() if node not in known]
    if missing:
        raise NetworkError(
            "every attribute needs a LinearGaussianCPD", found=f"none for {listing(missing)}", remedy="Add it."
        )
    return {
        name: _row(name, known[node], frozenset(named[parent] for parent in model.predecessors(node)), named)
        for node, name in named.items()
    }


def _row(name: str, cpd: Any, parents: frozenset[str], named: Mapping[Any, str]) -> Row:
    above = [named.get(parent, str(parent)) for parent in cpd.evidence]
    if frozenset(above) != parents or len(set(above)) != len(above):
        raise NetworkError(
            f"the regression of {name!r} must be on its parents in the graph, {listing(sorted(parents)) or 'none'}",
            found=f"one on {listing(above) or 'nothing'}",
            remedy="Make edges and LinearGaussianCPDs agree.",
        )
    try:
        beta = np.atleast_1d(np.asarray(cpd.beta, dtype=np.float64))
    except (TypeError, ValueError):
        beta = np.empty(0)
    if beta.shape != (len(above) + 1,):
        raise NetworkError(
            f"the regression of {name!r} needs an intercept and a coefficient per parent, {len(above) + 1} numbers",
            found=f"shape {beta.shape}",
            remedy="Give beta=[intercept, coefficients...], in the order of the evidence.",
        )
    deviation = number(f"the standard deviation of {name!r}", cpd.std, error=NetworkError)
    return float(beta[0]), deviation, dict(zip(above, map(float, beta[1:]), strict=True))


# --------------------------------------------------------------------------------------------------
# Dynamic networks: unrolled over steps, or read as the chain of one column.
# --------------------------------------------------------------------------------------------------


def _unrolled(model: Any, names: NodeNames | None, steps: int) -> dict[str, StatesAndTable]:
    """Return the tables of steps 0, 1, ...; those from the third step on are as in the second."""
    variables = list(dict.fromkeys(node[0] for node in model.nodes))
    named = _named(variables, names)
    above = {(node[0], node[1]): {(p[0], p[1]) for p in model.predecessors(node)} for node in model.nodes}
    tables = {(table.variable[0], table.variable[1]): table for table in model.cpds if hasattr(table, "state_names")}
    slices: list[dict[Any, tuple[Any, int, set[tuple[Any, int]]]]] = [{}, {}]
    for variable, name in named.items():
        first, second = tables.get((variable, 0)), tables.get((variable, 1))
        parents = above.get((variable, 1), {(parent, 1) for parent, _ in above[variable, 0]})
        if first is None or (second is None and any(step == 0 for _, step in parents)):
            raise NetworkError(
                "every variable needs a TabularCPD at step 0, and one at step 1 if it depends on step 0",
                found=f"none for {name} at step {int(first is not None)}",
                remedy="Add it with add_cpds.",
            )
        if second is not None:
            _refuse_mixed_up(name, first, second)
        slices[0][variable] = first, 0, above[variable, 0]
        slices[1][variable] = (first, 1, parents) if second is None else (second, 0, parents)
    cells = steps * sum(np.size(table.values) for table, _, _ in slices[1].values())
    if steps * len(named) > MOST_ATTRIBUTES or cells > MOST_UNROLLED:
        raise SizeError(
            f"a dynamic network is unrolled to at most {MOST_ATTRIBUTES:,} attributes and {MOST_UNROLLED:,} cells",
            found=f"{steps * len(named):,} attributes, {cells:,} cells",
            remedy="Take fewer steps, or chain=True for the values of one column.",
        )
    found: dict[str, StatesAndTable] = {}
    for step in range(steps):
        for variable, (table, shift, parents) in slices[min(step, 1)].items():
            later = step - min(step, 1)
            here = {(each, k): f"{named[each]}_{k + shift + later}" for each in named for k in (0, 1)}
            own = f"{named[variable]}_{step}"
            names_above = frozenset(f"{named[parent]}_{k + later}" for parent, k in parents)
            found[own] = _family(own, table, names_above, lambda node, here=here: here.get((node[0], node[1])))
    return found


def _refuse_mixed_up(name: str, first: Any, second: Any) -> None:
    """Refuse the numbers of step 0 under parents in another order, which `initialize_initial_state` writes."""
    before, after = [[node[0] for node in table.variables] for table in (first, second)]
    if before == after or set(before) != set(after) or len(before) != len(after):
        return
    turned = np.transpose(first.values, [before.index(each) for each in after])
    if np.array_equal(np.ravel(first.values), np.ravel(second.values)) and not np.array_equal(turned, second.values):
        raise NetworkError(
            f"the table of {name} at step 1 must have its parents in the order of its numbers",
            found="the numbers of step 0 with parents in another order, as initialize_initial_state() leaves them",
            remedy="Read the model as it was before that call, or give the table of step 1 yourself.",
        )


def _chain_of(network: DiscreteNetwork, length: int) -> MarkovChain:
    """Return the Markov chain whose first two steps are a network of one variable."""
    start, after = network.attributes[0], network.attributes[-1]
    column, states = start.removesuffix("_0"), network.states[start]
    if len(network.attributes) != 2 or {state_key(s) for s in states} != {state_key(s) for s in network.states[after]}:
        several = "other states at step 1" if len(network.attributes) == 2 else listing(network.attributes)
        raise NetworkError(
            "a chain is one variable that depends on itself one step before, with the same states at every step",
            found=several,
            remedy="Leave chain=True out: the network is unrolled over steps.",
        )
    order = [list(map(state_key, network.states[after])).index(state_key(state)) for state in states]
    laws = [(numbers[start], numbers[after][order]) for numbers in network.declared]
    initial = np.stack([law / law.sum() for law, _ in laws])
    later = np.stack([np.broadcast_to(table.reshape(len(states), -1), (len(states),) * 2) for _, table in laws])
    transition = np.swapaxes(later / later.sum(axis=1, keepdims=True), 1, 2)
    return MarkovChain(transition, initial, length, states=states, column=column)


# --------------------------------------------------------------------------------------------------
# The way in, and back.
# --------------------------------------------------------------------------------------------------

StatesAndTable = tuple[dict[str, tuple[State, ...]], FloatArray]
"""One table: the states along each axis, that of the attribute itself first, then its parents'; and the numbers."""


@overload
def from_pgmpy(
    model: DiscreteBayesianNetwork
    | DynamicBayesianNetwork
    | Sequence[DiscreteBayesianNetwork | DynamicBayesianNetwork],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: None = None,
    names: NodeNames | None = None,
    steps: int | None = None,
    chain: Literal[False] = False,
) -> DiscreteNetwork: ...


@overload
def from_pgmpy(
    model: DiscreteBayesianNetwork
    | DynamicBayesianNetwork
    | Sequence[DiscreteBayesianNetwork | DynamicBayesianNetwork],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None,
    names: NodeNames | None = None,
    steps: int | None = None,
    chain: Literal[False] = False,
) -> DiscreteNetwork | IntervalNetwork: ...


@overload
def from_pgmpy(
    model: LinearGaussianBayesianNetwork | Sequence[LinearGaussianBayesianNetwork],
    level: Level | None = None,
    *,
    names: NodeNames | None = None,
) -> GaussianNetwork: ...


@overload
def from_pgmpy(
    model: DynamicBayesianNetwork | Sequence[DynamicBayesianNetwork],
    level: Level | None = None,
    *,
    normalize: bool = False,
    names: NodeNames | None = None,
    steps: int,
    chain: Literal[True],
) -> MarkovChain: ...


@overload
def from_pgmpy(
    model: DAG, level: Level | None = None, *, names: NodeNames | None = None, data: object, public: str
) -> DiscreteNetwork: ...


def from_pgmpy(
    model: object,
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None = None,
    names: NodeNames | None = None,
    steps: int | None = None,
    chain: bool = False,
    data: object = None,
    public: str | None = None,
) -> DiscreteNetwork | IntervalNetwork | GaussianNetwork | MarkovChain:
    """Copy a pgmpy network, or several on one graph, into a network of bnpriv.

    Parameters
    ----------
    model : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, DynamicBayesianNetwork, or list of one of them
        Several models are the class Theta: same attributes and states, other edges or numbers.
    level : {"parameters", "records"}, optional
        What a node means: the parameter that governs the column of that name, or the column itself in one record. By
        default "parameters", but then a framework refuses a network whose states are values of its columns.
    normalize : bool
        Divide every column of every table by its sum, for tables printed with few decimals: a sum may then be 1 % off.
    missing_rows : {"any"}, optional
        Let every column without data (nan throughout) of the one model be any law; by default it is refused. It is
        never filled in.
    names : mapping or callable, optional
        What nodes are to be called: needed for those that are no texts, such as numbers and tuples.
    steps : int, optional
        Over how many steps a DynamicBayesianNetwork is unrolled; its attributes are then called ``income_0``,
        ``income_1``, ...
    chain : bool
        Read a DynamicBayesianNetwork of one variable as the chain of the values of one column, one record a step.
    data : table, str or path, optional
        A *public* table, from which the tables of a graph are learned (`DiscreteNetwork.posterior`); only the edges of
        the model count.
    public : str, optional
        Where `data` come from, in a sentence.

    Returns
    -------
    DiscreteNetwork, IntervalNetwork, GaussianNetwork or MarkovChain
        A copy: later changes of `model` do not reach it. By intervals only where a row is missing. Parents and states
        are in the order of the first model; several models with the same numbers throughout are one.

    Raises
    ------
    NetworkError
        If a model is of another type (the message says which way works), an attribute has no table or no name, a table
        does not fit the edges or the states, models differ in attributes or states, there is a cycle, a column does
        not sum to 1 within 1e-6, or a standard deviation is not above 0.
    SizeError
        If a dynamic network is unrolled over too many steps.

    Notes
    -----
    pgmpy's own `check_model` lets columns be off by 0.01, which in a rare state hides most of an influence; it is not
    used here. Sums that are 1 up to printed decimals are divided by, and ``network.reading.notes`` says so. pgmpy's
    `to_joint_gaussian` rounds to 8 decimals; the covariance is computed here instead. Latent nodes stay in the network,
    and a schema must have no column of their names.

    Examples
    --------
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> model = DiscreteBayesianNetwork([("income", "sat")])
    >>> names = {"income": ["low", "high"], "sat": ["low", "high"]}
    >>> model.add_cpds(
    ...     TabularCPD("income", 2, [[0.6], [0.4]], state_names={"income": names["income"]}),
    ...     TabularCPD("sat", 2, [[0.7, 0.2], [0.3, 0.8]], ["income"], [2], state_names=names),
    ... )
    >>> from_pgmpy(model).states["sat"]
    ('low', 'high')
    """
    known = level_of(level)
    with quiet():
        from pgmpy.models import DiscreteBayesianNetwork, DynamicBayesianNetwork, LinearGaussianBayesianNetwork
    given: list[Any] = list(cast("Sequence[object]", model)) if isinstance(model, (list, tuple)) else [model]
    if data is not None:
        return _learned(given, level, names, data, public)
    _refuse_others(given, (DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, DynamicBayesianNetwork))
    dynamic = isinstance(given[0], cast(type, DynamicBayesianNetwork))
    if dynamic != (steps is not None) or (flag("chain", chain) and not dynamic):
        raise NetworkError(
            "a DynamicBayesianNetwork, and no other model, is read over steps",
            found=type_text(given[0]) if dynamic else f"steps= or chain= for {type_text(given[0])}",
            remedy="Pass steps=12, say; for one variable also chain=True." if dynamic else "Leave them out.",
        )
    if isinstance(given[0], cast(type, LinearGaussianBayesianNetwork)):
        if normalize or missing_rows is not None:
            raise NetworkError(
                "a linear-Gaussian network has no tables to normalize or complete",
                found="normalize=True" if normalize else f"missing_rows={missing_rows!r}",
                remedy="Leave it out.",
            )
        network = gaussian_from_pgmpy([_regressions(each, names) for each in given], known)
        unseen = [name for name in network.attributes if name in _latent(given, names)]
        return network.read_as(ImportReport(latent=frozenset(unseen), notes=latent_notes(unseen)))
    if chain and (missing_rows is not None or level == "parameters"):
        raise NetworkError(
            "a chain is of level 'records', and has no rows without data",
            found=f"level={level!r}, missing_rows={missing_rows!r}",
            remedy="Leave them out.",
        )
    length = None if steps is None else whole("steps", steps, error=NetworkError, remedy="Pass for example 12.")
    over = 2 if chain else length
    theta = [_families(each, names) if over is None else _unrolled(each, names, over) for each in given]
    first = theta[0]
    states = {name: along[name] for name, (along, _) in first.items()}
    for k, families in enumerate(theta):
        _same_attributes(first, families, k)
    if any(along.keys() != each[name][0].keys() for each in theta for name, (along, _) in first.items()):
        alone = (cast(Any, from_pgmpy)(each, level, normalize=normalize, names=names, steps=steps) for each in given)
        if missing_rows is None and not chain:  # graphs of their own
            return model_class(list(alone))
        raise NetworkError(
            "chains, and rows without data, are read in models of one graph",
            found="edges that differ",
            remedy="Fill rows in, give an edge that does nothing, or read each model by itself.",
        )
    tables = {
        name: _shared([_aligned(families[name], list(along), states, k) for k, families in enumerate(theta)])
        for name, (along, _) in first.items()
    }
    parents = {name: list(along)[1:] for name, (along, _) in first.items()}
    latent = _latent(given, names)
    unseen = latent if over is None else [name for name in states if name.rpartition("_")[0] in latent]
    read = network_of((tables, states, parents), level, normalize, missing_rows, unseen)
    return _chain_of(cast(DiscreteNetwork, read), cast(int, length)) if chain else read


def _latent(given: Sequence[Any], names: NodeNames | None) -> frozenset[str]:
    """Return the names of the latent nodes of all models; of a dynamic network those of its variables."""
    found: set[str] = set()
    for model in given:
        unseen = {getattr(node, "node", node) for node in model.latents}
        named = _named(dict.fromkeys(getattr(node, "node", node) for node in model.nodes), names)
        found.update(name for node, name in named.items() if node in unseen)
    return frozenset(found)


def to_pgmpy(network: DiscreteNetwork, model: int = 0) -> DiscreteBayesianNetwork:
    """Copy one model of a network into a pgmpy network.

    Parameters
    ----------
    network : DiscreteNetwork
    model : int
        Which model of Theta.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        Its tables are those of `network` to within 1e-15.

    Raises
    ------
    NetworkError
        If there is no such model, or the network is given by intervals.

    Examples
    --------
    >>> coin = DiscreteNetwork.from_tables({"coin": [0.5, 0.5]}, states={"coin": ["heads", "tails"]})
    >>> to_pgmpy(coin).get_cpds("coin").state_names
    {'coin': ['heads', 'tails']}
    """
    network = require_discrete(network, "a pgmpy network")
    which = whole("model", model, least=0, error=NetworkError, remedy="Models are numbered from 0.")
    if which >= network.models:
        raise NetworkError(
            f"model must be below the number of models, {network.models}",
            found=str(which),
            remedy="Models are numbered from 0.",
        )
    with quiet():
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    network, which = network.of_model(which)
    made: Any = DiscreteBayesianNetwork()
    made.add_nodes_from(network.attributes)
    made.add_edges_from(network.graph.edges)
    for name in network.attributes:
        values = network.probabilities(name)[which]
        parents = network.tables[name].axes[1:]
        names = {axis: list(network.states[axis]) for axis in (name, *parents)}
        flat = values.reshape(len(values), -1)
        made.add_cpds(TabularCPD(name, len(values), flat, list(parents), list(values.shape[1:]), state_names=names))
    return cast("DiscreteBayesianNetwork", made)


@contextmanager
def quiet() -> Generator[None]:
    """Keep pgmpy's warnings and log lines to itself."""
    logger = logging.getLogger("pgmpy")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _families(model: Any, names: NodeNames | None) -> dict[str, StatesAndTable]:
    from pgmpy.factors.discrete import TabularCPD

    named = _named(model.nodes, names)
    tables = {table.variable: table for table in model.get_cpds() if isinstance(table, cast(type, TabularCPD))}
    missing = [name for node, name in named.items() if node not in tables]
    if missing:
        raise NetworkError(
            "every attribute needs a TabularCPD", found=f"none for {listing(missing)}", remedy="Add it with add_cpds."
        )
    return {
        name: _family(name, tables[node], frozenset(named[parent] for parent in model.predecessors(node)), named.get)
        for node, name in named.items()
    }


def _family(name: str, table: Any, parents: frozenset[str], named: Callable[[Any], str | None]) -> StatesAndTable:
    variables = [named(variable) or str(variable) for variable in table.variables]
    own = [k for k, variable in enumerate(variables) if variable == name]
    if len(own) != 1 or len(set(variables)) != len(variables) or set(variables) != {name, *parents}:
        raise NetworkError(
            f"the table of {name!r} must be over itself and its parents in the graph, {listing(sorted(parents))}",
            found=f"a table over {listing(variables)}",
            remedy="Make edges and TabularCPDs agree.",
        )
    declared = {named(variable): states for variable, states in table.state_names.items()}
    states = {axis: _states(name, axis, declared.get(axis)) for axis in variables}
    values = _numbers(name, table.values)
    shape = tuple(len(states[axis]) for axis in variables)
    if values.shape != shape:
        raise NetworkError(
            f"the table of {name!r} must have one entry per combination of states, shape {shape}",
            found=f"shape {values.shape}",
            remedy="Name as many states as the table has, for the attribute and for its parents.",
        )
    return {name: states[name], **states}, np.moveaxis(values, own[0], 0)


def _states(name: str, axis: str, declared: Sequence[object] | None) -> tuple[State, ...]:
    if declared is None:
        raise NetworkError(
            f"the table of {name!r} must name the states of {axis!r}",
            found="no names",
            remedy="Pass state_names to TabularCPD, for the attribute and for its parents.",
        )
    states: list[State] = []
    for state in declared:
        plain = cast(object, cast(Any, state).item()) if isinstance(state, np.generic) else state
        if not isinstance(plain, (str, int, float, bool)) or plain != plain:
            raise NetworkError(
                f"the states of {axis!r} must be strings, numbers or booleans",
                found=f"a {type(plain).__name__} in the table of {name!r}",
                remedy="Rename the states.",
            )
        states.append(plain)
    return tuple(states)


def _numbers(name: str, values: object) -> FloatArray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise NetworkError(
            f"the table of {name!r} must hold numbers", found="something else", remedy="Build it as a TabularCPD."
        ) from None


def _same_attributes(first: Mapping[str, StatesAndTable], families: Mapping[str, StatesAndTable], k: int) -> None:
    if first.keys() != families.keys():
        odd = sorted(first.keys() ^ families.keys())
        raise NetworkError(
            "all models must have the same attributes",
            found=f"{listing(odd)} not in all, model {k}",
            remedy="Add what is missing.",
        )


def _aligned(
    family: StatesAndTable, axes: Sequence[str], states: Mapping[str, tuple[State, ...]], k: int
) -> FloatArray:
    """Return the values with `axes` in that order, and the states along each in the order of `states`."""
    along, values = family
    values = np.transpose(values, [list(along).index(axis) for axis in axes])
    for position, axis in enumerate(axes):
        here = [state_key(state) for state in along[axis]]
        wanted = [state_key(state) for state in states[axis]]
        if sorted(here) != sorted(wanted):
            raise NetworkError(
                f"the states of {axis!r} must be the same in all its tables, {listing(states[axis])}",
                found=f"{listing(along[axis])} in the table of {next(iter(along))!r}, model {k}",
                remedy="Pass the same state_names to every TabularCPD that has this attribute.",
            )
        values = np.take(values, [here.index(key) for key in wanted], axis=position)
    return values


def _shared(values: Sequence[FloatArray]) -> FloatArray:
    """Stack the tables of all models, or keep one where all are the same."""
    stacked = np.stack(values)
    return stacked[:1] if bool(np.all(stacked == stacked[:1])) else stacked
