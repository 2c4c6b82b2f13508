"""Bayesian networks of pyAgrum: arrays and labels go by name."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from bnpriv.checks import type_text
from bnpriv.core.columns import State
from bnpriv.core.networks.base import REMEDIES, Level, foreign_remedy, level_of
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError
from bnpriv.io.networks.formats import network_of

_NO_BAYES_NET = {
    "InfluenceDiagram": "An influence diagram has decisions and utilities: give every decision a probability table, "
    "leave out the utilities, and pass the BayesNet of what is left.",
    "MarkovRandomField": "Its factors are no conditional probabilities: declare a BayesNet.",
    "CredalNet": "Give its lower and upper tables to bnpriv.DiscreteNetwork.from_intervals.",
    "BayesNetFragment": "Pass fragment.toBN().",
}
"""For classes of pyAgrum that are not read, the way that works."""

_WHOLE_TYPES, _NUMERICAL_TYPE = (2, 4), 3
"""pyAgrum's types of variables whose labels are whole numbers (integer, range), or other numbers."""


def from_pyagrum(bn: Any, level: Level | None = None, *, normalize: bool = False) -> DiscreteNetwork:
    """Copy a Bayesian network of pyAgrum; several make a class with `bnpriv.model_class`.

    Parameters
    ----------
    bn : pyagrum.BayesNet
        Labels are states: whole numbers of range and integer variables, numbers of numerical ones, texts of the others.
    level : {"parameters", "records"}, optional
        What a node means: the parameter that governs the column of that name, or the column itself in one record. By
        default "parameters", but then a framework refuses a network whose states are values of its columns.
    normalize : bool
        Divide every column of every table by its sum, which may then be 1 % off.

    Returns
    -------
    DiscreteNetwork
        A copy: later changes of `bn` do not reach it.

    Raises
    ------
    NetworkError
        If it is no BayesNet (the message says which way works), a column does not sum to 1 within 1e-6, or an entry is
        negative or not finite.

    Notes
    -----
    pyAgrum is not imported here: what is asked of `bn` is the same in its releases from 2.0 to 3.3.

    Examples
    --------
    >>> from_pyagrum({"coin": [0.5, 0.5]})
    Traceback (most recent call last):
    bnpriv.errors.NetworkError: from_pyagrum reads a pyagrum.BayesNet; found a dict. Pass the network itself.
    """
    level_of(level)
    classes = [each.__name__ for each in type(bn).__mro__ if each.__module__.partition(".")[0] == "pyagrum"]
    if "BayesNet" not in classes:
        usual = foreign_remedy(bn).replace(REMEDIES["pyagrum"], "") or "Pass the network itself."
        raise NetworkError(
            "from_pyagrum reads a pyagrum.BayesNet",
            found=type_text(bn),
            remedy=next((_NO_BAYES_NET[name] for name in classes if name in _NO_BAYES_NET), usual),
        )
    variables = {variable.name(): variable for variable in map(bn.variable, sorted(bn.nodes()))}
    states = {name: _states(variable) for name, variable in variables.items()}
    tables, parents = dict[str, Any](), dict[str, list[str]]()
    for name in variables:
        table = bn.cpt(name)
        axes = list(table.names)[::-1]  # an array of pyAgrum has its variables the other way round
        parents[name] = [axis for axis in axes if axis != name]
        tables[name] = np.moveaxis(np.array(table.toarray(), dtype=np.float64), axes.index(name), 0)
    # no rows are missing by leave, and so there are no intervals
    return cast(DiscreteNetwork, network_of((tables, states, parents), level, normalize, None))


def _states(variable: Any) -> tuple[State, ...]:
    labels = tuple(map(str, variable.labels()))
    if variable.varType() in _WHOLE_TYPES:
        return tuple(map(int, labels))
    if variable.varType() == _NUMERICAL_TYPE:
        return tuple(float(variable.numerical(k)) for k in range(len(labels)))
    return labels
