"""Tables and answers of jointly normal records, and of columns that are normal about jointly normal parameters."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.errors import FrameworkError, Refusal, SecretError
from bnpriv.evidence.laws import laws
from bnpriv.evidence.normal import LinearForm, NormalLaws
from bnpriv.evidence.normal_columns import NormalColumnLaws
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.framework import Framework
from bnpriv.mechanisms.base import Calibration
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.queries.normal_form import normal_form
from bnpriv.secrets.values import Interval, IntervalPair
from bnpriv.studies.asked import Asked, MadeUp, ends_of, held, model_index, one_secret, zero_probability
from bnpriv.studies.drawn_tables import game_below, table_below
from bnpriv.studies.made_up import KindSampler
from bnpriv.studies.scenes import AttackGame, constraint_of, game_of_laws
from bnpriv.tables.column_laws import NumberLaw


class GaussianSampler(KindSampler):
    """Draws from a `GaussianNetwork`."""

    def table_of_parameters(self, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
        """A table of columns that are normal about their parameters, of which the value or the place is given.

        The parameters are moved to the value that is wanted along their covariance with it, which is to condition on
        it.
        """
        network, schema, model = cast("GaussianNetwork", framework.network), framework.schema, asked.model
        if network.forward is not None or not set(schema.columns) <= set(framework.column_laws):
            return table_below(framework, _forward(network), asked)
        if len(asked.secret) > 1:
            raise one_secret(asked.secret)
        model_index(framework.models, model)
        numbers = asked.random.standard_normal((1, network.root.shape[2]))
        drawn: FloatArray = network.mean[model] + (numbers @ network.root[model].T)[0]
        share = None
        for name, known in asked.secret.items():
            place = network.attributes.index(checks.member("an attribute", name, network.attributes, error=SecretError))
            low, high = ends_of(name, known)
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
                columns[name] = held(column, values)
            else:
                columns[name] = law.sample(asked.records, asked.random)
        return MadeUp(columns, share)

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
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
            low, high = ends_of(name, known)
            carried, constant = weights @ network.covariance[model], float(linear.constant[0])
            centre = float(weights @ network.mean[model]) + constant
            deviation = math.sqrt(carried @ weights / asked.records)
            value, share = _between(low, high, centre, deviation, asked.random)
            drawn = drawn + carried / (carried @ weights) * (value - float(weights @ drawn.mean(axis=0)) - constant)
        columns = dict(zip(network.attributes, drawn.T, strict=True))
        return MadeUp({name: held(schema[name], columns[name]) for name in schema.columns}, share)

    def game_of_parameters(self, framework: DistributionalAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a parameter, by their normal laws or by forward draws."""
        found = _game_of_normals(framework, calibration)
        if found is not None:
            return found
        network = cast("GaussianNetwork", framework.network)
        return game_below(framework, _forward(network), calibration, _near(network, framework))

    def game_of_property(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> AttackGame:
        """The game of two values of a linear property."""
        found = _game_of_normals(framework, calibration)
        if found is not None:
            return found
        constraint_of(laws(framework, calibration.query), calibration)  # raises what the laws refuse
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
            "made-up records need the law of every column given the number that its parameter is",
            found="parameters alone: how records spread around them is not declared",
            remedy="Pass laws={column: scipy.stats.norm(0, 8), ...} to the framework: a record is its parameter plus "
            "such a number. Or read a model with columns by bnpriv.from_pymc.",
        )
    return network.forward


def _game_of_normals(framework: Framework, calibration: Calibration) -> AttackGame | None:
    """The game of the two values that decided the noise, the farthest apart; None where laws are not normal."""
    evidence = laws(framework, calibration.query)
    if not isinstance(evidence, (NormalLaws, NormalColumnLaws)):
        return None
    constraint, _ = constraint_of(evidence, calibration)
    first, second = (Interval(value, value) for value in evidence.values(constraint.protected, constraint.model))
    return game_of_laws(evidence, calibration, IntervalPair(first, second))


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
        raise zero_probability("an interval out of reach of the model", "Choose values that the model allows.")
    drawn = centre + deviation * flip * float(ndtri(random.uniform(below, above)))
    return min(max(drawn, low), high), above - below
