"""Linear-Gaussian networks from pgmpy: regressions are copied, the covariance is computed here in full precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from bnpriv.checks import listing, number, text
from bnpriv.errors import NetworkError
from bnpriv.networks.base import Level
from bnpriv.networks.gaussian import GaussianNetwork

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
