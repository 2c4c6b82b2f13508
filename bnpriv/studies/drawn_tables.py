"""Tables and answers of models that are known by forward draws: drawn until what is assumed holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.errors import Refusal, RefusedError, SecretError
from bnpriv.evidence.conditions import OfParameter, inside, side_words
from bnpriv.evidence.draws import columns_refusal, draws_refusal, parameter_sampler, sampled_laws
from bnpriv.evidence.properties import property_condition
from bnpriv.evidence.sampled import conditioned
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.mechanisms.base import Calibration
from bnpriv.networks.density import DensityNetwork
from bnpriv.secrets.values import Interval, IntervalPair
from bnpriv.studies.asked import (
    MOST_NUMBERS_HELD,
    Asked,
    Assumed,
    MadeUp,
    MadeUpColumns,
    ends_of,
    held,
    model_index,
    new_seed,
)
from bnpriv.studies.made_up import KindSampler
from bnpriv.studies.scenes import AttackGame, decided_constraint, game_of_drawn_pair
from bnpriv.tables.schema import Schema

PARAMETER_DRAWS = 20_000
"""Draws of parameters that tell how often numbers lie where a secret wants them."""

MOST_NUMBERS_TRIED = 2**34
"""Numbers in all tables that are drawn until one fits."""


class DensitySampler(KindSampler):
    """Draws from a `DensityNetwork`."""

    def columns(self, network: DensityNetwork, schema: Schema, asked: Asked) -> MadeUpColumns:
        """One table as the model draws it."""
        _check_columns(network, schema)
        names = tuple(schema.columns)
        drawn = network.simulate(names, 1, seed=new_seed(asked.random), given={}, records=asked.records)
        return {name: held(schema[name], drawn[name][0]) for name in names}

    def table_of_parameters(self, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
        """A table that is drawn below parameters that are as assumed."""
        return table_below(framework, cast("DensityNetwork", framework.network), asked)

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
        """The first whole table that has the property that is assumed."""
        network, schema = framework.forward, framework.schema
        assert network is not None
        if not asked.secret:
            return MadeUp(self.columns(network, schema, asked))
        _check_columns(network, schema)
        ((name, known),) = asked.secret.items()
        low, high = ends_of(name, known, "a value of the property")
        condition = property_condition(framework.protect[name], schema)
        side = frozenset({low}) if low == high else Interval(low, high)
        tried = condition.tried(asked.records)
        at_once = max(1, MOST_NUMBERS_HELD // (asked.records * len(schema.columns)))
        found: dict[str, NDArray[np.float64]] = {}
        met = 0
        for start in range(0, tried, at_once):
            count, seed = min(at_once, tried - start), new_seed(asked.random)
            drawn = network.simulate(tuple(schema.columns), count, seed=seed, given={}, records=asked.records)
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
        return MadeUp({column: held(schema[column], found[column]) for column in schema.columns}, met / tried)

    def game_of_parameters(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two secrets of a parameter."""
        return game_below(framework, cast("DensityNetwork", framework.network), calibration, {})


def _check_columns(network: DensityNetwork, schema: Schema) -> None:
    refusal = columns_refusal(network, schema, frozenset(schema.columns))
    if refusal is not None:
        raise refusal.error()


def table_below(framework: DistributionalAttributePrivacy, network: DensityNetwork, asked: Asked) -> MadeUp:
    """Draw parameters and columns together until the parameters lie where the secret wants them."""
    schema = framework.schema
    refusal = draws_refusal(framework, network, frozenset(schema.columns))
    if refusal is not None:
        raise refusal.error()
    model_index(1, asked.model)
    given, sides = _numbers(network, asked.secret)
    drawn = [name for name in schema.columns if name in network.reading.columns]
    share = _share(network, given, sides, asked)
    width = asked.records * (len(drawn) + 1)
    if width / share > MOST_NUMBERS_TRIED:
        raise RefusedError(
            f"the tables that are drawn until one fits may hold {MOST_NUMBERS_TRIED:.3g} numbers",
            found=f"about {width / share:.3g}, as one table of {1 / share:,.0f} fits",
            remedy="Choose wider or more probable intervals, or ask for fewer records.",
        )
    count = 1 if not sides else min(math.ceil(2 / share), max(1, MOST_NUMBERS_HELD // width))
    while True:
        seed = new_seed(asked.random)
        found = network.simulate((*sides, *drawn), count, seed=seed, given=given, records=asked.records)
        met = np.flatnonzero(_inside(found, sides, count)).tolist()
        if met:
            break
    columns = {name: held(schema[name], found[name][met[0]]) for name in drawn}
    for name in framework.independent:
        columns[name] = framework.column_laws[name][0].sample(asked.records, asked.random)
    return MadeUp({name: columns[name] for name in schema.columns}, share)


def _numbers(network: DensityNetwork, secret: Assumed) -> tuple[dict[str, float], dict[str, Interval]]:
    """The parameters that are set to a value, and those that lie between two numbers."""
    given: dict[str, float] = {}
    sides: dict[str, Interval] = {}
    for name, known in secret.items():
        checks.member("an attribute of the secret", name, network.parameters, error=SecretError)
        low, high = ends_of(name, known)
        if low < high or network.parameters[name].states is not None:
            sides[name] = Interval(low, high)
        elif network.settable(name):
            given[name] = low
        else:
            raise SecretError(
                "a single value of a parameter that depends on others cannot be drawn exactly",
                found=f"{name} = {low:g}",
                remedy=f'Write a narrow interval around it: secret={{"{name}": ({low:g}, ...)}}.',
            )
    return given, sides


def _share(network: DensityNetwork, given: Mapping[str, float], sides: Mapping[str, Interval], asked: Asked) -> float:
    """How often parameters lie where the secret wants them, which must not be hardly ever."""
    if not sides:
        return 1.0
    seed = new_seed(asked.random)
    found = network.simulate(tuple(sides), PARAMETER_DRAWS, seed=seed, given=given, records=asked.records)
    met = int(np.count_nonzero(_inside(found, sides, PARAMETER_DRAWS)))
    if met < 2:
        raise RefusedError(
            f"a secret must come up in at least 2 of {PARAMETER_DRAWS:,} draws of its parameters",
            found=str(met),
            remedy="Choose wider or more probable intervals.",
        )
    return met / PARAMETER_DRAWS


def _inside(found: Mapping[str, NDArray[np.float64]], sides: Mapping[str, Interval], count: int) -> NDArray[np.bool_]:
    """In which of so many draws all parameters lie where the secret wants them."""
    return reduce(np.logical_and, (inside(side, found[name]) for name, side in sides.items()), np.full(count, True))


def game_below(
    framework: DistributionalAttributePrivacy,
    network: DensityNetwork,
    calibration: Calibration,
    near: Mapping[str, IntervalPair],
) -> AttackGame:
    """The game of the pair that decided the noise; of `near` where values are hidden by their distance."""
    evidence = sampled_laws(framework, network, calibration.query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    constraint, decided = decided_constraint(evidence.asked, calibration)
    pairs = constraint.pairs
    if isinstance(pairs, Refusal):
        sampler = parameter_sampler(framework, network, calibration.query)
        condition = OfParameter(network.parameters[constraint.protected])
        pairs = [conditioned(sampler, condition, near[constraint.protected])]
    return game_of_drawn_pair(pairs, constraint, decided)
