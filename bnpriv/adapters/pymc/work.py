"""How long tables of a model take to draw, reckoned from its laws: how many draws of a posterior can be models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from bnpriv.adapters.pymc.backend import is_black_box
from bnpriv.adapters.pymc.roles import Roles
from bnpriv.adapters.pymc.structure import Variable

SECONDS = 20.0
"""What drawing for one pair of secrets may take for all models together, unless thin= or with_sampling is given."""

MOST_MODELS, LEAST_MODELS = 25, 10
"""Draws of which each is a model, unless thin= says otherwise."""

MODEL_DRAWS, LEAST_MODEL_DRAWS = 4_000, 1_000
"""Draws under each secret and each of the models, unless with_sampling says otherwise."""

ANSWERED = 100.0
"""Nanoseconds for one number of a table when the query is answered: bounds, grid and exact sums."""

BASIC, COMPOSED, BY_HAND = 100.0, 500.0, 5_000.0
"""Nanoseconds for one number of a law that is drawn at once, of one that is made of others, of one of the user's."""

SLOW = {
    "LKJCorr": 8_000.0,
    "_lkjcorr": 8_000.0,
    "_lkjcholeskycov": 8_000.0,
    "Wishart": 8_000.0,
    "MatrixNormal": 2_000.0,
}
"""The same for laws that are drawn step by step, by the name of the law."""


@final
@dataclass(frozen=True, kw_only=True)
class ModelWork:
    """How many draws of a posterior are models, and how many tables are drawn for each under every secret."""

    models: int
    tables: int


def models_that_fit(roles: Roles) -> ModelWork:
    """Return how many draws are models: as many as can be drawn from in `SECONDS` for one pair, within limits.

    Where every draw is a model, tables are drawn anew for each of them, given either secret. It follows from the laws
    and sizes of the variables, so that the same models are taken on every machine.
    """
    one = 1e-9 * sum(_nanoseconds(roles, v) for v in roles.structure.variables.values() if v.name not in roles.unused)
    fit = int(SECONDS / (2 * one * MODEL_DRAWS))
    if fit >= LEAST_MODELS:
        return ModelWork(models=min(MOST_MODELS, fit), tables=MODEL_DRAWS)
    tables = int(SECONDS / (2 * one * LEAST_MODELS))
    return ModelWork(models=LEAST_MODELS, tables=max(LEAST_MODEL_DRAWS, tables // 100 * 100))


def _nanoseconds(roles: Roles, variable: Variable) -> float:
    """Return how long one draw of a variable takes, all its entries together."""
    own = ANSWERED if variable.name in roles.own else 0.0
    if variable.law in SLOW:
        return variable.size * (SLOW[variable.law] + own)
    if is_black_box(variable.rv.owner.op) or variable.law.startswith("CustomDist"):
        return variable.size * (BY_HAND + own)
    each = BASIC if variable.is_basic else COMPOSED
    if variable.law == "MultivariateNormal":  # a factor of the covariance for each draw
        each = COMPOSED + variable.shape[-1] ** 2 / 3
    return variable.size * (each + own)
