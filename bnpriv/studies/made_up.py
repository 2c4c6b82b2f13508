"""What a made-up table is drawn from: one registration for each notion, and for each kind of network of parameters."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, Refusal, RefusedError, SecretError
from bnpriv.evidence.draws import draws_refusal
from bnpriv.frameworks.dataset import DatasetAttributePrivacy
from bnpriv.frameworks.distributional import DistributionalAttributePrivacy
from bnpriv.frameworks.framework import Framework
from bnpriv.frameworks.pairs import DistributionPrivacy, draws_tables
from bnpriv.frameworks.value import ValuePrivacy
from bnpriv.networks.base import Network
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.density import DensityNetwork
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.exact import no_tables, require_discrete
from bnpriv.networks.forward import forward_of
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.studies.asked import MOST_NUMBERS_HELD, Asked, MadeUp, held, new_seed
from bnpriv.studies.drawn_tables import table_with_property, whole_table
from bnpriv.studies.normal import normal_parameters, normal_records
from bnpriv.studies.parameters import Assumed, draw_parameters, law_given, model_index, require_laws, secret_probability
from bnpriv.studies.records import (
    Property,
    draw_chain,
    draw_places,
    draw_with_property,
    record_columns,
    require_nodes,
    state_values,
    step_laws,
)
from bnpriv.tables.column_laws import ColumnLaw, NumberLaw
from bnpriv.tables.schema import Schema, State

PARAMETER_DRAWS = 20_000
"""Draws of parameters that tell how often numbers lie where a secret wants them."""

MOST_NUMBERS_TRIED = 2**34
"""Numbers in all tables that are drawn until one fits."""

NO_RECORDS = Refusal(
    required="a made-up table needs the law of its records",
    found="laws of the answer alone, which say of no table how probable it is",
    remedy="Declare pairs of record networks, from which the law of any answer follows too.",
)


def unknown_notion(framework: object, what: str) -> FrameworkError:
    """Return why nothing can be made up for a notion of privacy that did not register how its tables are drawn."""
    return FrameworkError(
        f"{what} needs a notion of privacy that says how tables are drawn",
        found=checks.type_text(framework),
        remedy="Use one of the frameworks of bnpriv.",
    )


@singledispatch
def made_up(framework: Framework, asked: Asked) -> MadeUp:
    """Return a table drawn as a framework describes it; one registration for each notion.

    Raises
    ------
    FrameworkError
        If the law of a column is not declared.
    SecretError
        If the secret is unknown or has probability zero.
    """
    raise unknown_notion(framework, "a made-up table")


@made_up.register
def _(framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
    return of_parameters(framework.network, framework, asked)


@singledispatch
def of_parameters(network: object, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
    """Draw parameters given the secret, then every column by its own law; by default from tables of states."""
    exact = require_discrete(framework.network, "a made-up table")
    model_index(framework.models, asked.model)
    below = (
        [] if exact.forward is None else [name for name in framework.schema.columns if name in exact.reading.columns]
    )
    below = [name for name in below if name not in framework.column_laws]
    require_laws(framework, [name for name in framework.schema.columns if name not in below])
    drawn = draw_parameters(exact, asked.random, secret=asked.secret, model=asked.model)
    columns = _drawn_below(framework, exact, below, drawn, asked) if below else {}
    for name in framework.schema.columns:
        if name not in columns:
            columns[name] = law_given(framework, name, drawn).sample(asked.records, asked.random)
    columns = {name: columns[name] for name in framework.schema.columns}
    return MadeUp(columns=columns, probability=secret_probability(exact, asked.secret, asked.model))


@of_parameters.register
def _(network: GaussianNetwork, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
    schema = framework.schema
    if network.forward is not None or not set(schema.columns) <= set(framework.column_laws):
        return _forward(framework, require_forward(network), asked)
    if len(asked.secret) > 1:
        raise one_secret(asked.secret)
    model_index(framework.models, asked.model)
    centres, share = normal_parameters(network, asked.secret, asked.model, asked.random)
    # a column about a parameter has the law of its distance from it, which is not clamped
    laws = {name: framework.column_laws[name][0] for name in schema.columns}
    columns = {
        name: held(column, centres[name] + _deviation(laws[name]) * asked.random.standard_normal(asked.records))
        if name in centres
        else laws[name].sample(asked.records, asked.random)
        for name, column in schema.columns.items()
    }
    return MadeUp(columns=columns, probability=share)


def _drawn_below(
    framework: DistributionalAttributePrivacy,
    network: DiscreteNetwork,
    names: Sequence[str],
    states: Mapping[str, State],
    asked: Asked,
) -> dict[str, NDArray[Any]]:
    """Draw columns whose laws no table holds, given the states of all parameters."""
    forward = network.forward
    assert forward is not None
    given = {
        name: (forward.parameters[name].states or ())[network.states[name].index(state)]
        for name, state in states.items()
    }
    rows = None if forward.drawn is None else np.array([asked.model])
    seed = new_seed(asked.random)
    found = forward.simulate(names, 1, seed=seed, given=given, records=asked.records, rows=rows)
    return {name: held(framework.schema[name], found[name][0]) for name in names}


def _deviation(law: ColumnLaw) -> float:
    return dict(cast(NumberLaw, law).parameters)["scale"]


@of_parameters.register
def _(network: DensityNetwork, framework: DistributionalAttributePrivacy, asked: Asked) -> MadeUp:
    return _forward(framework, network, asked)


def require_forward(network: GaussianNetwork) -> DensityNetwork:
    """Return the forward draws of a network.

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


def _forward(framework: DistributionalAttributePrivacy, network: DensityNetwork, asked: Asked) -> MadeUp:
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
    return MadeUp(columns={name: columns[name] for name in schema.columns}, probability=share)


def _numbers(network: DensityNetwork, secret: Assumed) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """Return the parameters that are set to a value, and those that lie between two numbers."""
    given: dict[str, float] = {}
    sides: dict[str, tuple[float, float]] = {}
    for name, known in secret.items():
        checks.member("an attribute of the secret", name, network.parameters, error=SecretError)
        ends = (known, known) if isinstance(known, (str, int, float)) else tuple(known)
        numbers = [checks.number(f"the secret about {name!r}", end, error=SecretError) for end in ends]
        if len(numbers) != 2 or not numbers[0] <= numbers[1]:
            raise SecretError(
                f"the secret about {name!r} must be a number, or the two ends of an interval",
                found=listing(numbers),
                remedy=f'Write secret={{"{name}": (30, 40)}}.',
            )
        parameter = network.parameters[name]
        if numbers[0] == numbers[1] and parameter.states is None:
            if not network.settable(name):
                raise SecretError(
                    "a single value of a parameter that depends on others cannot be drawn exactly",
                    found=f"{name} = {numbers[0]:g}",
                    remedy=f'Write a narrow interval around it: secret={{"{name}": ({numbers[0]:g}, ...)}}.',
                )
            given[name] = numbers[0]
        else:
            sides[name] = (numbers[0], numbers[1])
    return given, sides


def _share(
    network: DensityNetwork, given: Mapping[str, float], sides: Mapping[str, tuple[float, float]], asked: Asked
) -> float:
    """Return how often parameters lie where the secret wants them, which must not be hardly ever."""
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


def _inside(
    found: Mapping[str, NDArray[np.float64]], sides: Mapping[str, tuple[float, float]], count: int
) -> NDArray[np.bool_]:
    inside = np.full(count, True)
    for name, (low, high) in sides.items():
        inside &= (found[name] >= low) & (found[name] <= high)
    return inside


@made_up.register
def _(framework: ValuePrivacy, asked: Asked) -> MadeUp:
    model_index(framework.models, asked.model)
    return of_values(framework.network, framework.schema, asked)


@singledispatch
def of_values(network: Network, schema: Schema, asked: Asked) -> MadeUp:
    """Draw records of which the one in the middle is as the secret says; one registration for each kind of model."""
    raise no_tables(network, "a made-up table")


@of_values.register
def _(network: DiscreteNetwork, schema: Schema, asked: Asked) -> MadeUp:
    require_nodes(network, schema)
    places = dict(draw_places(network, asked.records, asked.random, asked.model))
    if asked.secret:
        one = draw_parameters(network, asked.random, secret=asked.secret, model=asked.model)
        for name, state in one.items():
            places[name][asked.records // 2] = network.states[name].index(state)
    return MadeUp(
        columns=record_columns(network, schema, {}, places, asked.random),
        probability=secret_probability(network, asked.secret, asked.model),
    )


@of_values.register
def _(network: MarkovChain, schema: Schema, asked: Asked) -> MadeUp:
    other = [name for name in schema.columns if name != network.column]
    if other:
        raise FrameworkError(
            "every simulated column needs a law, and the chain is the law of one column",
            found=f"none for {listing(other)}",
            remedy="Leave the other columns out of the schema.",
        )
    for name in asked.secret:
        checks.member("the column of the chain", name, (network.column,), error=SecretError)
    inside = _states(asked.secret.get(network.column), network.state_space)
    lengths = network.length if asked.records == network.steps else (asked.records,)
    middle, parts, share = asked.records // 2, list[NDArray[np.int64]](), 1.0
    for length in lengths:
        begins = sum(map(len, parts))
        here = bool(inside) and begins <= middle < begins + length
        step = middle - begins if here else 0
        one = MarkovChain(network.transition, network.initial, length, states=network.state_space)
        drawn = draw_chain(one, 1, asked.random, model=asked.model, step=step, inside=inside if here else ())
        parts.append(drawn[0])
        if here:
            law = step_laws(one, step, asked.model)[-1]
            share = float(sum(law[network.state_space.index(state)] for state in inside))
    values = state_values(schema, network.column, network.state_space)
    return MadeUp(columns={network.column: values[np.concatenate(parts)]}, probability=min(1.0, share))


def _states(known: State | Collection[State] | None, states: Sequence[State]) -> tuple[State, ...]:
    """Return the states that a secret names, which must be some of `states`."""
    named: Iterable[State] = () if known is None else (known,) if isinstance(known, (str, int, float)) else known
    listed = tuple(named)
    unknown = [state for state in listed if state not in states]
    if unknown or (known is not None and not listed):
        raise SecretError(
            f"the secret must name states of {listing(states)}",
            found=listing(map(repr, unknown)),
            remedy=checks.spelling(next(iter(unknown), None), states),
        )
    return listed


@made_up.register
def _(framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
    if framework.forward is None:
        require_nodes(framework.network, framework.schema)
    model_index(framework.models, asked.model)
    for name in asked.secret:
        checks.member("a protected column", name, framework.protect, error=SecretError)
    if len(asked.secret) > 1:
        raise one_secret(asked.secret)
    if framework.forward is not None:
        return table_with_property(framework, framework.forward, asked)
    return of_records(framework.network, framework, asked)


def one_secret(given: Assumed) -> SecretError:
    """Return the refusal of several secrets at once."""
    return SecretError(
        "a table is made up with one property given",
        found=f"the properties of {listing(given)}",
        remedy="Assume the value of one of them.",
    )


@singledispatch
def of_records(network: object, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
    """Draw records of a network, given a property of their table; by default from its tables."""
    network, schema = require_discrete(framework.network, "a made-up table"), framework.schema
    if not asked.secret:
        places = draw_places(network, asked.records, asked.random, asked.model)
        columns = record_columns(network, schema, framework.column_laws, places, asked.random)
        return MadeUp(columns=columns)
    ((name, known),) = asked.secret.items()
    hidden = Property(framework=framework, secret=framework.protect[name], model=asked.model, records=asked.records)
    numerators = hidden.numerators((known,) if isinstance(known, (str, int, float)) else known)
    columns = draw_with_property(hidden, numerators, asked.random)
    return MadeUp(columns=columns, probability=min(1.0, math.exp(hidden.log_mass(numerators))))


@of_records.register
def _(network: GaussianNetwork, framework: DatasetAttributePrivacy, asked: Asked) -> MadeUp:
    schema = Schema(records=asked.records, columns=framework.schema.columns)
    properties = {name: secret.property for name, secret in framework.protect.items()}
    columns, share = normal_records(network, schema, properties, asked.secret, asked.model, asked.random)
    return MadeUp(columns={name: held(schema[name], columns[name]) for name in schema.columns}, probability=share)


@made_up.register
def _(framework: DistributionPrivacy, asked: Asked) -> MadeUp:
    if not framework.of_records:
        raise NO_RECORDS.error()
    model_index(framework.models, asked.model)
    ((name, pairs),) = framework.secrets.items()
    for given in asked.secret:
        checks.member("what is protected", given, (name,), error=SecretError)
    sides = {
        text: cast(Network, side)
        for pair in (pairs[asked.model], *pairs)
        for text, side in zip(pair.sides, (pair.first, pair.second), strict=True)
    }
    chosen = _states(asked.secret.get(name), tuple(sides))
    if len(chosen) > 1:
        raise SecretError(
            "a table comes from one distribution", found=listing(chosen), remedy=f'Write secret={{"{name}": ...}}.'
        )
    network = sides[str(chosen[0])] if chosen else next(iter(sides.values()))
    forward = forward_of(network) if draws_tables(network) else None
    if forward is not None:
        schema = Schema(records=asked.records, columns=framework.schema.columns)
        return MadeUp(columns=whole_table(forward, schema, asked))
    assert isinstance(network, DiscreteNetwork)
    require_nodes(network, framework.schema)
    places = draw_places(network, asked.records, asked.random)
    return MadeUp(columns=record_columns(network, framework.schema, {}, places, asked.random))
