"""A framework that hides fewer pairs of secrets than another: no mechanism that hides more errs by less."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from bnpriv.errors import BnprivError
from bnpriv.evidence.counts import Counts
from bnpriv.evidence.dataset import network_record_law
from bnpriv.evidence.sums import sums_bound
from bnpriv.frameworks.framework import Framework
from bnpriv.networks.exact import require_discrete
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import normal_form
from bnpriv.render.text import number_text
from bnpriv.secrets.apart import Apart
from bnpriv.secrets.properties import Secret
from bnpriv.secrets.states import pairs

if TYPE_CHECKING:
    from bnpriv.frameworks.dataset import DatasetAttributePrivacy

VALUES = 5
"""Values of a property that are left, neighbours as far apart as any that must not be told apart."""

MOST_ANSWER_SUMS = 50_000
"""Sums over records, at most, that the law of an answer then has: a fraction of a second for all laws together."""


class FewPairs(NamedTuple):
    """A framework with a few pairs of secrets, and which these are, in words."""

    framework: DatasetAttributePrivacy
    text: str


def few_pairs(framework: Framework, query: Query) -> FewPairs | None:
    """Return a framework that hides a few likely values of a property that counts; None where there is none.

    The property of the first protected column is taken, around what it is on average under the first model.
    """
    if not framework.properties:
        return None
    framework = cast("DatasetAttributePrivacy", framework)  # the only notion that hides such properties
    name, secret = next(iter(framework.properties.items()))
    if not isinstance(secret.pairs, Apart | None):
        return None
    try:
        values = _likely(framework, secret, query)
        if len(values) < 2:
            return None
        chosen = pairs(*pairwise(values))
        fewer = replace(framework, protect={name: Secret(secret.property, pairs=chosen)})
    except BnprivError:
        return None
    return FewPairs(
        fewer, f"{len(values)} likely values of the secret, {number_text(values[0])} to {number_text(values[-1])}"
    )


def _likely(framework: DatasetAttributePrivacy, secret: Secret, query: Query) -> list[float]:
    """Return likely values of a property that counts records; none where laws would be large, or it does not count."""
    schema, network = framework.schema, require_discrete(framework.network, framework.notion)
    one = network_record_law(network, schema, secret.property, framework.column_laws)
    answer = network_record_law(network, schema, query, framework.column_laws)
    sides = np.unique(one.columns[0])
    if len(sides) != 2 or sums_bound([answer], schema.records) > MOST_ANSWER_SUMS:
        return []
    low, high = (int(value) for value in sides)
    counts = Counts.of(normal_form(secret.property, schema).wholes()[0], schema.records, low, high)
    chance = math.exp(one.log_mass([high]))
    spread = 2 * math.ceil(math.sqrt(schema.records * chance * (1 - chance)))
    step = counts.apart(secret, None)[0][-1] if isinstance(secret.pairs, Apart) else spread
    middle = round(schema.records * chance)
    places = [middle + (k - VALUES // 2) * step for k in range(VALUES)]
    return [float(counts.low + k * counts.unit) for k in places if 0 <= k <= schema.records]
