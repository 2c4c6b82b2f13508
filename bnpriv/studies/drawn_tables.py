"""Made-up tables of models that draw them as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import RefusedError, SecretError
from bnpriv.evidence.conditions import SecretSide, inside, side_words
from bnpriv.evidence.draws import columns_refusal
from bnpriv.evidence.properties import property_condition
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.networks.density import DensityNetwork
from bnpriv.secrets.values import Interval
from bnpriv.studies.asked import MOST_NUMBERS_HELD, Asked, MadeUp, MadeUpColumns, held, new_seed
from bnpriv.tables.schema import Schema


def table_with_property(framework: DatasetAttributePrivacy, network: DensityNetwork, asked: Asked) -> MadeUp:
    """Draw whole tables until one has the property that is assumed."""
    schema = Schema(records=asked.records, columns=framework.schema.columns)
    if not asked.secret:
        return MadeUp(columns=whole_table(network, schema, asked))
    _check_columns(network, schema)
    ((name, known),) = asked.secret.items()
    condition, side = property_condition(framework.protect[name], schema), _side_of(name, known)
    tried = condition.tried(asked.records)
    width = asked.records * len(schema.columns)
    at_once = max(1, MOST_NUMBERS_HELD // width)
    found: dict[str, NDArray[np.float64]] = {}
    met = 0
    for start in range(0, tried, at_once):
        count = min(at_once, tried - start)
        drawn = network.simulate(
            tuple(schema.columns), count, seed=new_seed(asked.random), given={}, records=asked.records
        )
        fits = np.flatnonzero(inside(side, condition.values(drawn), condition.near))
        if len(fits) and not met:
            found = {column: drawn[column][fits[0]] for column in schema.columns}
        met += len(fits)
    if met < 2:
        raise RefusedError(
            f"a secret must come up in at least 2 of {tried:,} tables",
            found=f"{condition.name} in {side_words(side)} in {met}",
            remedy="Choose a wider or a more probable interval.",
        )
    columns = {column: held(schema[column], found[column]) for column in schema.columns}
    return MadeUp(columns=columns, probability=met / tried)


def whole_table(network: DensityNetwork, schema: Schema, asked: Asked) -> MadeUpColumns:
    """Return one table as a model draws it."""
    _check_columns(network, schema)
    names = tuple(schema.columns)
    drawn = network.simulate(names, 1, seed=new_seed(asked.random), given={}, records=schema.records)
    return {name: held(schema[name], drawn[name][0]) for name in names}


def _check_columns(network: DensityNetwork, schema: Schema) -> None:
    refusal = columns_refusal(network, schema, frozenset(schema.columns))
    if refusal is not None:
        raise refusal.error()


def _side_of(name: str, known: object) -> SecretSide:
    """Return the values of a property that are assumed: one, or those between two numbers."""
    ends = (known, known) if isinstance(known, (str, int, float)) else tuple(cast("Iterable[object]", known))
    numbers = [checks.number(f"the secret about {name!r}", end, error=SecretError) for end in ends]
    if len(numbers) != 2 or not numbers[0] <= numbers[1]:
        raise SecretError(
            f"the secret about {name!r} must be a value of the property, or the two ends of an interval",
            found=listing(numbers),
            remedy=f'Write secret={{"{name}": (30, 40)}}.',
        )
    return frozenset({numbers[0]}) if numbers[0] == numbers[1] else Interval(*numbers)
