"""Networks from pgmpy and back: axes and states go by name, never by position."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.checks import listing, number, text, type_text, whole
from bnpriv.core.columns import State
from bnpriv.core.networks.base import Level, level_of
from bnpriv.core.networks.declared import MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.core.networks.model_class import require_discrete, state_key
from bnpriv.errors import NetworkError
from bnpriv.kinds.gaussian.network import GaussianNetwork

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

# --------------------------------------------------------------------------------------------------
# Linear-Gaussian networks from pgmpy: regressions are copied, the covariance is computed here in full precision.
# --------------------------------------------------------------------------------------------------

Row = tuple[float, float, Mapping[str, float]]
"""Intercept, standard deviation and coefficients of one regression."""


def gaussian_from_pgmpy(models: Sequence[Any], level: Level) -> GaussianNetwork:
    """Return the network of LinearGaussianBayesianNetworks, one model each, whose nodes mean what `level` says.

    Raises
    ------
    NetworkError
        If an attribute has no regression, a regression does not fit the edges, or models differ in more than numbers.
    """
    theta = [_regressions(model) for model in models]
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


def _regressions(model: Any) -> dict[str, Row]:
    from pgmpy.factors.continuous import LinearGaussianCPD

    nodes = [text("an attribute's name", node, error=NetworkError) for node in model.nodes]
    known = {cpd.variable: cpd for cpd in model.get_cpds() if isinstance(cpd, cast(type, LinearGaussianCPD))}
    missing = [name for name in nodes if name not in known]
    if missing or not nodes:
        raise NetworkError(
            "every attribute needs a LinearGaussianCPD",
            found=f"none for {listing(missing)}" if nodes else "no attributes",
            remedy="Add it with add_cpds.",
        )
    return {name: _row(name, known[name], frozenset(map(str, model.predecessors(name)))) for name in nodes}


def _row(name: str, cpd: Any, parents: frozenset[str]) -> Row:
    above = [str(parent) for parent in cpd.evidence]
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


StatesAndTable = tuple[dict[str, tuple[State, ...]], FloatArray]
"""One table: the states along each axis, that of the attribute itself first, then its parents'; and the numbers."""


@overload
def from_pgmpy(
    model: DiscreteBayesianNetwork | Sequence[DiscreteBayesianNetwork],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: None = None,
) -> DiscreteNetwork: ...


@overload
def from_pgmpy(
    model: DiscreteBayesianNetwork | Sequence[DiscreteBayesianNetwork],
    level: Level | None = None,
    *,
    normalize: bool = False,
    missing_rows: MissingRows | None,
) -> DiscreteNetwork | IntervalNetwork: ...


@overload
def from_pgmpy(
    model: LinearGaussianBayesianNetwork | Sequence[LinearGaussianBayesianNetwork], level: Level | None = None
) -> GaussianNetwork: ...


def from_pgmpy(
    model: object, level: Level | None = None, *, normalize: bool = False, missing_rows: MissingRows | None = None
) -> DiscreteNetwork | IntervalNetwork | GaussianNetwork:
    """Copy a pgmpy network, or several on one graph, into a network of bnpriv.

    Parameters
    ----------
    model : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, or sequence of one of them
        Several models are the class Theta: same attributes, edges and states, other numbers.
    level : {"parameters", "records"}, optional
        What a node means: the parameter that governs the column of that name, or the column itself in one record. By
        default "parameters", but then a framework refuses a network whose states are values of its columns.
    normalize : bool
        Divide every column of every table by its sum, for tables printed with few decimals: a sum may then be 1 % off.
    missing_rows : {"any"}, optional
        Let every column without data (nan throughout) of the one model be any law; by default it is refused. It is
        never filled in.

    Returns
    -------
    DiscreteNetwork, IntervalNetwork or GaussianNetwork
        A copy: later changes of `model` do not reach it. By intervals only where a row is missing. Parents and states
        are in the order of the first model; several models with the same numbers throughout are one.

    Raises
    ------
    NetworkError
        If a model is of another type, an attribute has no table, a table does not fit the edges or the
        states, models differ in more than their numbers, there is a cycle, a column does not sum to 1 within 1e-9, or a
        standard deviation is not above 0.

    Notes
    -----
    pgmpy's own `check_model` lets columns be off by 0.01, which in a rare state hides most of an influence; it is not
    used here. Its `to_joint_gaussian` rounds to 8 decimals; the covariance is computed here instead. A latent node is
    read like any other: it is a node without a column.

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
        from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
    given: list[Any] = list(cast("Sequence[object]", model)) if isinstance(model, (list, tuple)) else [model]
    if given and all(isinstance(each, cast(type, LinearGaussianBayesianNetwork)) for each in given):
        if normalize or missing_rows is not None:
            raise NetworkError(
                "a linear-Gaussian network has no tables to normalize or complete",
                found="normalize=True" if normalize else f"missing_rows={missing_rows!r}",
                remedy="Leave it out.",
            )
        return gaussian_from_pgmpy(given, known)
    strange = [each for each in given if not isinstance(each, cast(type, DiscreteBayesianNetwork))]
    if strange or not given:
        raise NetworkError(
            "from_pgmpy reads a DiscreteBayesianNetwork or a LinearGaussianBayesianNetwork, or a list of one of them",
            found=type_text(strange[0]) if strange else "an empty list",
            remedy="Give the attributes states or normal distributions, or use DiscreteNetwork.from_tables.",
        )
    theta = [_families(each) for each in given]
    first = theta[0]
    states = {name: along[name] for name, (along, _) in first.items()}
    for k, families in enumerate(theta):
        _same_attributes(first, families, k)
    tables = {
        name: _shared([_aligned(families[name], list(along), states, k) for k, families in enumerate(theta)])
        for name, (along, _) in first.items()
    }
    parents = {name: list(along)[1:] for name, (along, _) in first.items()}
    return DiscreteNetwork.from_tables(
        tables, states=states, parents=parents, level=level, normalize=normalize, missing_rows=missing_rows
    )


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


def _families(model: Any) -> dict[str, StatesAndTable]:
    nodes = [text("an attribute's name", node, error=NetworkError) for node in model.nodes]
    if not nodes:
        raise NetworkError("a network needs an attribute", found="no nodes", remedy="Add nodes and their tables.")
    from pgmpy.factors.discrete import TabularCPD

    by_name = {table.variable: table for table in model.get_cpds() if isinstance(table, cast(type, TabularCPD))}
    missing = [name for name in nodes if name not in by_name]
    if missing:
        raise NetworkError(
            "every attribute needs a TabularCPD", found=f"none for {listing(missing)}", remedy="Add it with add_cpds."
        )
    return {name: _family(name, by_name[name], frozenset(map(str, model.predecessors(name)))) for name in nodes}


def _family(name: str, table: Any, parents: frozenset[str]) -> StatesAndTable:
    variables = [str(variable) for variable in table.variables]
    own = [k for k, variable in enumerate(variables) if variable == name]
    if len(own) != 1 or len(set(variables)) != len(variables) or set(variables) != {name, *parents}:
        raise NetworkError(
            f"the table of {name!r} must be over itself and its parents in the graph, {listing(sorted(parents))}",
            found=f"a table over {listing(variables)}",
            remedy="Make edges and TabularCPDs agree.",
        )
    states = {axis: _states(name, axis, table.state_names.get(axis)) for axis in variables}
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
    remedy = "A model class is one graph with several sets of tables."
    if first.keys() != families.keys():
        odd = sorted(first.keys() ^ families.keys())
        raise NetworkError(
            "all models must have the same attributes", found=f"{listing(odd)} not in all, model {k}", remedy=remedy
        )
    for name, (along, _) in first.items():
        found = families[name][0]
        if along.keys() != found.keys():
            raise NetworkError(
                f"{name!r} must have the same parents in all models, {listing(list(along)[1:])} as in model 0",
                found=f"{listing(list(found)[1:])} in model {k}",
                remedy=remedy,
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
