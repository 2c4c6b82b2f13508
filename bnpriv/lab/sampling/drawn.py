"""Made-up tables of models that draw them as a whole, and of jointly normal records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.core.column_laws import NumberLaw
from bnpriv.core.evidence.constraints import LawPair
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.law_decision import normals_of
from bnpriv.core.queries.base import normal_form
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Interval, IntervalPair
from bnpriv.errors import FrameworkError, Refusal, RefusedError, SecretError
from bnpriv.kinds.density.network import DensityNetwork
from bnpriv.kinds.draws.conditions import OfParameter, inside, side_words
from bnpriv.kinds.draws.laws import (
    columns_refusal,
    conditioned,
    draws_refusal,
    parameter_sampler,
    property_condition,
    sampled_laws,
)
from bnpriv.kinds.gaussian.columns import LinearForm, NormalColumnLaws, NormalLaws
from bnpriv.kinds.gaussian.intervals import NormalIntervals
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.lab.sampling import game as games

# --------------------------------------------------------------------------------------------------
# Tables and answers of models that are known by forward draws: drawn until what is assumed holds.
# --------------------------------------------------------------------------------------------------

PARAMETER_DRAWS = 20_000
"""Draws of parameters that tell how often numbers lie where a secret wants them."""

MOST_NUMBERS_TRIED = 2**34
"""Numbers in all tables that are drawn until one fits."""


class DensitySampler(games.KindSampler):
    """Draws from a `DensityNetwork`."""

    def columns(self, network: DensityNetwork, schema: Schema, asked: games.SimulationRequest) -> games.MadeUpColumns:
        """One table as the model draws it."""
        _check_columns(network, schema)
        names = tuple(schema.columns)
        drawn = network.simulate(names, 1, seed=games.new_seed(asked.random), given={}, records=asked.records)
        return {name: games.held(schema[name], drawn[name][0]) for name in names}

    def table_of_parameters(
        self, framework: DistributionalAttributePrivacy, asked: games.SimulationRequest
    ) -> games.MadeUp:
        """A table that is drawn below parameters that are as assumed."""
        return table_below(framework, cast("DensityNetwork", framework.network), asked)

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: games.SimulationRequest) -> games.MadeUp:
        """The first whole table that has the property that is assumed."""
        network, schema = framework.forward, framework.schema
        assert network is not None
        if not asked.secret:
            return games.MadeUp(self.columns(network, schema, asked))
        _check_columns(network, schema)
        ((name, known),) = asked.secret.items()
        low, high = games.ends_of(name, known, "a value of the property")
        condition = property_condition(framework.protect[name], schema)
        side = frozenset({low}) if low == high else Interval(low, high)
        tried = condition.tried(asked.records)
        at_once = max(1, games.MOST_NUMBERS_HELD // (asked.records * len(schema.columns)))
        found: dict[str, NDArray[np.float64]] = {}
        met = 0
        for start in range(0, tried, at_once):
            count, seed = min(at_once, tried - start), games.new_seed(asked.random)
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
        return games.MadeUp(
            {column: games.held(schema[column], found[column]) for column in schema.columns}, met / tried
        )

    def game_of_parameters(
        self, framework: DistributionalAttributePrivacy, calibration: Calibration
    ) -> games.AttackGame:
        """The game of two secrets of a parameter."""
        return game_below(framework, cast("DensityNetwork", framework.network), calibration, {})


def _check_columns(network: DensityNetwork, schema: Schema) -> None:
    refusal = columns_refusal(network, schema, frozenset(schema.columns))
    if refusal is not None:
        raise refusal.error()


def table_below(
    framework: DistributionalAttributePrivacy, network: DensityNetwork, asked: games.SimulationRequest
) -> games.MadeUp:
    """Draw parameters and columns together until the parameters lie where the secret wants them."""
    schema = framework.schema
    refusal = draws_refusal(framework, network, frozenset(schema.columns))
    if refusal is not None:
        raise refusal.error()
    games.model_index(1, asked.model)
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
    count = 1 if not sides else min(math.ceil(2 / share), max(1, games.MOST_NUMBERS_HELD // width))
    while True:
        seed = games.new_seed(asked.random)
        found = network.simulate((*sides, *drawn), count, seed=seed, given=given, records=asked.records)
        met = np.flatnonzero(_inside(found, sides, count)).tolist()
        if met:
            break
    columns = {name: games.held(schema[name], found[name][met[0]]) for name in drawn}
    for name in framework.independent:
        columns[name] = framework.column_laws[name][0].sample(asked.records, asked.random)
    return games.MadeUp({name: columns[name] for name in schema.columns}, share)


def _numbers(network: DensityNetwork, secret: games.Assumed) -> tuple[dict[str, float], dict[str, Interval]]:
    """The parameters that are set to a value, and those that lie between two numbers."""
    given: dict[str, float] = {}
    sides: dict[str, Interval] = {}
    for name, known in secret.items():
        checks.member("an attribute of the secret", name, network.parameters, error=SecretError)
        low, high = games.ends_of(name, known)
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


def _share(
    network: DensityNetwork, given: Mapping[str, float], sides: Mapping[str, Interval], asked: games.SimulationRequest
) -> float:
    """How often parameters lie where the secret wants them, which must not be hardly ever."""
    if not sides:
        return 1.0
    seed = games.new_seed(asked.random)
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
) -> games.AttackGame:
    """The game of the pair that decided the noise; of `near` where values are hidden by their distance."""
    evidence = sampled_laws(framework, network, calibration.query)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    constraint, decided = games.decided_constraint(evidence.asked, calibration)
    pairs = constraint.pairs
    if isinstance(pairs, Refusal):
        sampler = parameter_sampler(framework, network, calibration.query)
        condition = OfParameter(network.parameters[constraint.protected])
        pairs = [conditioned(sampler, condition, near[constraint.protected])]
    return games.game_of_drawn_pair(pairs, constraint, decided)


# --------------------------------------------------------------------------------------------------
# Tables and answers of jointly normal records, and of columns that are normal about jointly normal parameters.
# --------------------------------------------------------------------------------------------------


class GaussianSampler(games.KindSampler):
    """Draws from a `GaussianNetwork`."""

    def table_of_parameters(
        self, framework: DistributionalAttributePrivacy, asked: games.SimulationRequest
    ) -> games.MadeUp:
        """A table of columns that are normal about their parameters, of which the value or the place is given.

        The parameters are moved to the value that is wanted along their covariance with it, which is to condition on
        it.
        """
        network, schema, model = cast("GaussianNetwork", framework.network), framework.schema, asked.model
        if network.forward is not None or not set(schema.columns) <= set(framework.column_laws):
            return table_below(framework, _forward(network), asked)
        if len(asked.secret) > 1:
            raise games.one_secret(asked.secret)
        games.model_index(framework.models, model)
        numbers = asked.random.standard_normal((1, network.root.shape[2]))
        drawn: FloatArray = network.mean[model] + (numbers @ network.root[model].T)[0]
        share = None
        for name, known in asked.secret.items():
            place = network.attributes.index(checks.member("an attribute", name, network.attributes, error=SecretError))
            low, high = games.ends_of(name, known)
            carried = network.covariance[model][place]
            centre, deviation = float(network.mean[model][place]), math.sqrt(carried[place])
            value, share = _between(low, high, centre, deviation, asked.random)
            drawn = drawn + carried / float(carried[place]) * (value - float(drawn[place]))
        centres = {each: float(drawn[k]) for k, each in enumerate(network.attributes)}
        # a column about a parameter has the law of its distance from it, which is not clamped
        columns = dict[str, NDArray[Any]]()
        for name, column in schema.columns.items():
            law = framework.column_laws[name][0]
            if name in centres:
                deviation = dict(cast(NumberLaw, law).parameters)["scale"]
                values = centres[name] + deviation * asked.random.standard_normal(asked.records)
                columns[name] = games.held(column, values)
            else:
                columns[name] = law.sample(asked.records, asked.random)
        return games.MadeUp(columns, share)

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: games.SimulationRequest) -> games.MadeUp:
        """A table of records with a given value of a linear property, or one in an interval.

        A table with another value of the property is moved to the one that is wanted, every record by the same vector.
        """
        network, model = cast("GaussianNetwork", framework.network), asked.model
        schema = replace(framework.schema, records=asked.records)
        noise = asked.random.standard_normal((asked.records, network.root.shape[2]))
        drawn, share = network.mean[model] + noise @ network.root[model].T, None
        for name, known in asked.secret.items():
            linear = LinearForm.of(normal_form(framework.protect[name].property, schema))
            if isinstance(linear, Refusal):
                raise linear.error()
            named = dict(zip(linear.columns, linear.weights[0], strict=True))
            weights = np.array([float(named.get(attribute, 0)) for attribute in network.attributes])
            low, high = games.ends_of(name, known)
            carried, constant = weights @ network.covariance[model], float(linear.constant[0])
            centre = float(weights @ network.mean[model]) + constant
            deviation = math.sqrt(carried @ weights / asked.records)
            value, share = _between(low, high, centre, deviation, asked.random)
            drawn = drawn + carried / (carried @ weights) * (value - float(weights @ drawn.mean(axis=0)) - constant)
        columns = dict(zip(network.attributes, drawn.T, strict=True))
        return games.MadeUp({name: games.held(schema[name], columns[name]) for name in schema.columns}, share)

    def game_of_parameters(
        self, framework: DistributionalAttributePrivacy, calibration: Calibration
    ) -> games.AttackGame:
        """The game of two values of a parameter, by their normal laws or by forward draws."""
        found = _game_of_normals(framework, calibration)
        if found is not None:
            return found
        network = cast("GaussianNetwork", framework.network)
        return game_below(framework, _forward(network), calibration, _near(network, framework))

    def game_of_property(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> games.AttackGame:
        """The game of two values of a linear property."""
        found = _game_of_normals(framework, calibration)
        if found is not None:
            return found
        games.constraint_of(laws(framework, calibration.query), calibration)  # raises what the laws refuse
        return super().game_of_property(framework, calibration)


def _forward(network: GaussianNetwork) -> DensityNetwork:
    """The forward draws of a network.

    Raises
    ------
    FrameworkError
        If it has none.
    """
    if network.forward is None:
        raise FrameworkError(
            "made-up records need the distribution of every column given the number that its parameter is",
            found="parameters alone: how records spread around them is not declared",
            remedy="Pass laws={column: scipy.stats.norm(0, 8), ...} to the framework: a record is its parameter plus "
            "such a number. Or read a model with columns by bnpriv.from_pymc.",
        )
    return network.forward


def _game_of_normals(framework: Framework, calibration: Calibration) -> games.AttackGame | None:
    """The game of the two values that decided the noise, the farthest apart; None where laws are not normal."""
    evidence = laws(framework, calibration.query)
    if not isinstance(evidence, (NormalLaws, NormalColumnLaws)):
        return None
    constraint, decided = games.constraint_of(evidence, calibration)
    pair = evidence.told_apart(constraint.protected, constraint.model, decided)
    game = games.game_of_laws(evidence, calibration, pair)
    law = next((each for each in cast("Sequence[LawPair]", constraint.pairs) if each.pair == decided), None)
    if law is None or not isinstance(law.intervals, NormalIntervals):
        return game
    drawn = (partial(law.intervals.drawn, *normals_of(law), place) for place in (0, 1))
    return replace(game, sides=tuple(drawn), formula=games.AttackGame.formula)


def _near(network: GaussianNetwork, framework: DistributionalAttributePrivacy) -> dict[str, IntervalPair]:
    """For every attribute whose values are hidden by their distance two narrow intervals around its mean."""
    found: dict[str, IntervalPair] = {}
    for name, pairs in framework.secrets.items():
        if any(isinstance(pair, IntervalPair) for pair in pairs):
            continue
        middle, spread = float(network.mean[0][network.attributes.index(name)]), float(network.deviation(name)[0])
        half = min(pairs[0].farthest, 4 * spread) / 2
        width = half / 4
        first = Interval(middle - half, middle - half + width)
        found[name] = IntervalPair(first, Interval(middle + half - width, middle + half))
    return found


def _between(
    low: float, high: float, centre: float, deviation: float, random: np.random.Generator
) -> tuple[float, float | None]:
    """Draw a normal number given that it lies between two others; and how probable that is, None for a single value."""
    if low == high:
        return low, None
    from scipy.special import ndtr, ndtri

    ends: FloatArray = (np.array([low, high]) - centre) / deviation
    flip = -1.0 if ends[0] > 0 else 1.0  # the lower tail keeps its digits
    below, above = sorted(float(tail) for tail in ndtr(flip * ends))
    if not above > below:
        raise games.zero_probability("an interval out of reach of the model", "Choose values that the model allows.")
    drawn = centre + deviation * flip * float(ndtri(random.uniform(below, above)))
    return min(max(drawn, low), high), above - below
