"""Parameters drawn given a secret, and records drawn from a network of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.column_laws import ColumnLaw, bin_laws
from bnpriv.core.columns import Categorical, State
from bnpriv.core.distributions import binomial_logs, log_sum
from bnpriv.core.evidence import laws as answer_laws
from bnpriv.core.evidence.laws import laws
from bnpriv.core.evidence.records import node_cells, record_law, state_cells
from bnpriv.core.evidence.structural import influences
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy, ValuePrivacy
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.networks.factors import LogTable, marginal, sum_out
from bnpriv.core.noise import Noise
from bnpriv.core.queries.base import NormalForm, Query, normal_form
from bnpriv.core.queries.contribution import answers
from bnpriv.core.schema import Column, Schema, has_gaps, is_whole
from bnpriv.core.secrets import Secret, SecretPair
from bnpriv.core.whole_numbers import WholeLaw, summed
from bnpriv.errors import FrameworkError, Refusal, RefusedError, SecretError, SizeError
from bnpriv.kinds.draws.laws import SampledLaws
from bnpriv.kinds.public_records import BITS, PublicRecords
from bnpriv.lab.attacks.likelihood_ratio import Answers, known_noise, settings, weighed
from bnpriv.lab.sampling import game
from bnpriv.lab.sampling.drawn import game_below
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.toml import toml_key

# --------------------------------------------------------------------------------------------------
# Parameters drawn from their exact joint law given a secret, and the laws of columns that hang on them.
# --------------------------------------------------------------------------------------------------


def draw_parameters(
    network: DiscreteNetwork, random: np.random.Generator, *, secret: game.Assumed | None = None, model: int = 0
) -> dict[str, State]:
    """Draw one state for every attribute from the exact joint law given a secret.

    Parameters
    ----------
    network : DiscreteNetwork
    random : numpy.random.Generator
    secret : mapping from str to state or collection of states, optional
        What is true of some attributes.
    model : int
        Index of the model in Theta.

    Returns
    -------
    dict from str to state
        Parents before children.

    Raises
    ------
    SecretError
        If the secret is no state of the network, or has probability zero.
    ParameterError
        If there is no such model.
    SizeError
        If a table on the way would be too large.
    """
    network, model = network.of_model(game.model_index(network.models, model))
    tables, evidence = _known(network, secret or {}, model)
    graph, drawn = network.graph, dict[str, int]()
    for name in network.attributes:
        # what matters for this state: the evidence below it, and all that lies above either
        needed = graph.ancestral([name, *(table.axes[0] for table in evidence)])
        relevant = [*evidence, *(tables[other] for other in network.attributes if other in needed)]
        law = np.exp(marginal([_fixed(table, drawn) for table in relevant], (name,)).values[0])
        if not law.sum() > 0:
            remedy = "Choose states that the model allows together."
            raise game.zero_probability(f"probability zero in model {model}", remedy)
        drawn[name] = int(random.choice(len(law), p=law / law.sum()))
    return {name: network.states[name][place] for name, place in drawn.items()}


def secret_probability(network: DiscreteNetwork, secret: game.Assumed, model: int) -> float:
    """How probable a secret is under a model."""
    network, model = network.of_model(game.model_index(network.models, model))
    tables, evidence = _known(network, secret, model)
    if not evidence:
        return 1.0
    needed = network.graph.ancestral([table.axes[0] for table in evidence])
    relevant = [*evidence, *(tables[name] for name in network.attributes if name in needed)]
    return min(1.0, math.exp(float(marginal(relevant, ()).values[0])))


def _known(network: DiscreteNetwork, secret: game.Assumed, model: int) -> tuple[dict[str, LogTable], list[LogTable]]:
    """The tables of one model, and one table for each attribute of a secret: 0 where it holds, else -inf."""
    tables = {
        name: LogTable(axes=table.axes, values=table.values[[min(model, len(table.values) - 1)]], error=table.error)
        for name, table in network.tables.items()
    }
    evidence: list[LogTable] = []
    for name, known in secret.items():
        checks.member("an attribute of the secret", name, network.attributes, error=SecretError)
        states = network.states[name]
        allowed = game.states_among(f"the secret about {name!r} must name its states", known, states)
        values = np.array([[0.0 if state in allowed else -np.inf for state in states]])
        evidence.append(LogTable(axes=(name,), values=values))
    return tables, evidence


def _fixed(table: LogTable, drawn: Mapping[str, int]) -> LogTable:
    """A table without the axes of attributes that are drawn."""
    index = tuple(drawn.get(axis, slice(None)) for axis in table.axes)
    kept = tuple(axis for axis in table.axes if axis not in drawn)
    return LogTable(axes=kept, values=np.array(table.values[:, *index]), error=table.error)


def require_laws(framework: DistributionalAttributePrivacy, columns: Iterable[str]) -> None:
    """Refuse columns whose law is not declared.

    Raises
    ------
    FrameworkError
        It names the keys to add.
    """
    missing = [name for name in columns if name not in framework.column_laws]
    if not missing:
        return
    name = missing[0]
    law, key = _example(framework.schema[name]), toml_key(name)
    states = framework.network.states.get(name)
    if states is None:
        keys = (
            f'laws={{"{name}": {law[0]}}} and declare it independent, or [laws.{key}] {law[1]} in a framework file, '
            f"with independent = true in [columns.{key}]"
        )
    else:
        keys = (
            f'laws={{"{name}": {{{states[0]!r}: {law[0]}, ...}}}} with every state of its node, or '
            f"[laws.{key}.{toml_key(str(states[0]))}] {law[1]} in a framework file"
        )
    raise FrameworkError(
        "every simulated column needs a distribution", found=f"none for {listing(missing)}", remedy=f"Add {keys}."
    )


def _example(column: Column) -> tuple[str, str]:
    """How a law of such a column is written in Python and in a framework file."""
    if isinstance(column, Categorical):
        return "{category: probability, ...}", "categorical = {category = probability, ...}"
    if is_whole(column) and (column.lower, column.upper) == (0, 1):
        return "p", "bernoulli = p"
    return "scipy.stats.norm(mean, sd)", "normal = [mean, sd]"


# --------------------------------------------------------------------------------------------------
# Tables and answers of networks of tables: records drawn from them, also with a given property.
# --------------------------------------------------------------------------------------------------

Places = Mapping[str, NDArray[np.int64]]
"""For every attribute the places of the states of all records."""

RECORDS_AT_ONCE = 2**18
"""Records that are drawn at once where only some are kept."""

MOST_RECORDS_TRIED = 2**26
"""Records that are drawn to keep those that are asked for."""

MOST_DRAWN_NUMBERS = 2**27
"""Numbers that are drawn for the answers under one secret."""

ONE_CHOICE = np.ones(1)


class TablesSampler(game.KindSampler):
    """Draws from a `DiscreteNetwork`."""

    def columns(self, network: DiscreteNetwork, schema: Schema, asked: game.SimulationRequest) -> game.MadeUpColumns:
        """Independent records of one model, whose columns are its nodes."""
        game.require_nodes(network, schema)
        places = draw_places(network, asked.records, asked.random)
        return record_columns(network, schema, {}, places, asked.random)

    def table_of_parameters(
        self, framework: DistributionalAttributePrivacy, asked: game.SimulationRequest
    ) -> game.MadeUp:
        """Parameters given the secret, then every column by its own law, or below what the model draws forward."""
        network, schema = cast("DiscreteNetwork", framework.network), framework.schema
        game.model_index(framework.models, asked.model)
        forward = network.forward
        below = [name for name in schema.columns if forward is not None and name in network.reading.columns]
        below = [name for name in below if name not in framework.column_laws]
        require_laws(framework, [name for name in schema.columns if name not in below])
        drawn = draw_parameters(network, asked.random, secret=asked.secret, model=asked.model)
        places = {name: network.states[name].index(state) for name, state in drawn.items()}
        columns: dict[str, NDArray[Any]] = {}
        if forward is not None and below:
            given = {name: (forward.parameters[name].states or ())[place] for name, place in places.items()}
            rows = None if forward.drawn is None else np.array([asked.model])
            seed = game.new_seed(asked.random)
            found = forward.simulate(below, 1, seed=seed, given=given, records=asked.records, rows=rows)
            columns = {name: game.held(schema[name], found[name][0]) for name in below}
        for name in schema.columns:
            if name not in columns:
                law = framework.column_laws[name][framework.law_place(name, places)]
                columns[name] = law.sample(asked.records, asked.random)
        columns = {name: columns[name] for name in schema.columns}
        return game.MadeUp(columns, secret_probability(network, asked.secret, asked.model))

    def table_of_values(self, framework: ValuePrivacy, asked: game.SimulationRequest) -> game.MadeUp:
        """Independent records, the one in the middle given the secret."""
        network, schema = cast("DiscreteNetwork", framework.network), framework.schema
        game.require_nodes(network, schema)
        places = draw_places(network, asked.records, asked.random, asked.model)
        if asked.secret:
            one = draw_parameters(network, asked.random, secret=asked.secret, model=asked.model)
            for name, state in one.items():
                places[name][asked.records // 2] = network.states[name].index(state)
        columns = record_columns(network, schema, {}, places, asked.random)
        return game.MadeUp(columns, secret_probability(network, asked.secret, asked.model))

    def table_of_property(self, framework: DatasetAttributePrivacy, asked: game.SimulationRequest) -> game.MadeUp:
        """Independent records whose property has the value that is assumed, or one of several."""
        if not asked.secret:
            return game.MadeUp(model_columns(framework, asked.records, asked.random, asked.model))
        ((name, known),) = asked.secret.items()
        hidden = _property(framework, name, asked.model, asked.records)
        values = (known,) if isinstance(known, (str, int, float)) else known
        if hidden.secret.of_cells:
            wanted, log = hidden.of_cells(values)
            return game.MadeUp(drawn_records(hidden, wanted, asked.random), min(1.0, math.exp(log)))
        numerators = hidden.numerators(values)
        columns = drawn_records(hidden, hidden.draw(numerators, asked.random), asked.random)
        return game.MadeUp(columns, min(1.0, math.exp(hidden.total.log_mass(numerators))))

    def answers(self, network: DiscreteNetwork, schema: Schema, query: Query) -> game.Draw:
        """Answers to tables of independent records."""
        parts = ((answer_laws.network_record_law(network, schema, query), np.array([schema.records])),)
        return partial(of_records, normal_form(query, schema), parts, ONE_CHOICE)

    def game_of_parameters(
        self, framework: DistributionalAttributePrivacy, calibration: Calibration
    ) -> game.AttackGame:
        """The game of two secrets of a parameter, whose guesser weighs all combinations of states."""
        network, query = cast("DiscreteNetwork", framework.network), calibration.query
        if network.forward is not None and isinstance(laws(framework, query), SampledLaws):
            return game_below(framework, network.forward, calibration, {})
        form = normal_form(query, framework.schema)
        require_laws(framework, sorted(query.columns))
        protected, pair, model = _decided_states(framework, calibration)
        chances = settings(framework, query.columns, protected, pair, model)
        known = Answers(framework=framework, form=form)

        def drawn(shares: FloatArray, draws: int, random: np.random.Generator) -> FloatArray:
            counts = random.multinomial(draws, shares)
            parts = [known.draw(chances.states(int(k)), int(counts[k]), random) for k in np.flatnonzero(counts)]
            return random.permutation(np.concatenate(parts))

        def by_weight(first: FloatArray, second: FloatArray, noise: Noise) -> game.Guessed | None:
            if isinstance(noise, Channel):  # no density around an exact answer
                return None
            correct, complete = weighed(chances, known, known_noise(noise), first, second)
            said: list[str] = []
            if known.approximate:
                which = listing(known.approximate, 3)
                said.append(
                    f"Sums of values ({which}) were drawn from normal distributions with exact mean and covariance."
                )
            if not complete:
                said.append(
                    "The guesser knows the likeliest combinations of parameter states only: there are too many."
                )
            return correct, tuple(said)

        return game.AttackGame(
            protected=protected,
            pair=pair,
            model=model,
            sides=(partial(drawn, chances.first), partial(drawn, chances.second)),
            formula=by_weight,
            require=lambda noise: isinstance(noise, Channel) or known_noise(noise),
            approximate=lambda: known.approximate,
        )

    def game_of_values(self, framework: ValuePrivacy, calibration: Calibration) -> game.AttackGame:
        """The game of one record in either state, among others as the network draws them."""
        network, schema, query = cast("DiscreteNetwork", framework.network), framework.schema, calibration.query
        form = normal_form(query, schema)
        protected, pair, model = _decided_states(framework, calibration)
        rest = answer_laws.network_record_law(network, schema, query, None, model), np.array([schema.records - 1])
        given = (record_law_given(network, schema, query, protected, side, model) for side in (pair.first, pair.second))
        first, second = (partial(of_records, form, ((law, np.array([1])), rest), ONE_CHOICE) for law in given)
        return game.AttackGame(protected=protected, pair=pair, model=model, sides=(first, second))

    def game_of_property(self, framework: DatasetAttributePrivacy, calibration: Calibration) -> game.AttackGame:
        """The game of two numbers of records that count, as far apart as the secret allows and around the likeliest."""
        schema, query = framework.schema, calibration.query
        evidence = laws(framework, query)
        constraint, decided = game.constraint_of(evidence, calibration)
        secret, model = framework.protect[constraint.protected], constraint.model
        both, _ = answer_laws.class_laws(framework, query, secret, model)
        values = [int(value) for value in np.unique(both.columns[0])]
        found = answer_laws.moves(secret, schema, values)
        if found is None:
            return game.game_of_laws(evidence, calibration)
        given, logs = [both.given([value]) for value in values], np.array([both.log_mass([value]) for value in values])
        most = found.distances[-1]
        if secret.of_cells:
            way = found.classes.get(decided, (values[1], values[0]))
            between = values.index(way[1]), values.index(way[0])
            tables = [(counted, ONE_CHOICE) for counted in _moved_records(np.exp(logs), schema.records, between, most)]
            names = [answer_laws.OTHERS, *(name for name, _ in answer_laws.cells_of(secret, schema))]
            texts = [", ".join(f"{names[v]}: {n:,}" for v, n in zip(values, *each, strict=True)) for each, _ in tables]
        else:
            counts = answer_laws.Counts.of(secret, schema, *values)
            chosen = counts.pairs(secret)
            low = min(max(_likeliest(logs, schema.records) - most // 2, 0), counts.n - most)
            sides = frozenset({low}), frozenset({low + most})
            if chosen is not None:
                sides = max(chosen.values(), key=lambda two: max(abs(a - b) for a in two[0] for b in two[1]))
            tables = [_class_counts(logs, schema.records, side) for side in sides]
            texts = [counts.text(side) for side in sides]
        form = normal_form(query, schema)
        first, second = (
            partial(of_records, form, tuple(zip(given, counted.T, strict=True)), weights) for counted, weights in tables
        )
        pair = SecretPair(*(frozenset({text}) for text in texts))
        return game.AttackGame(protected=constraint.protected, pair=pair, model=model, sides=(first, second))


def _likeliest(logs: FloatArray, records: int) -> int:
    """How many steps all records are above the class of the least value, where that is likeliest; about so of three."""
    if len(logs) == 2:
        return int(np.argmax(binomial_logs(records, logs[1], logs[0])[0]))
    return round(records * float(np.exp(logs) @ np.arange(len(logs))))


def _class_counts(logs: FloatArray, records: int, side: Iterable[int]) -> tuple[NDArray[np.int64], FloatArray]:
    """The numbers of records of two or three classes, given so many steps, with their chances."""
    from scipy.special import gammaln

    rows = [(records - steps, steps) for steps in sorted(side)]
    if len(logs) == 3:
        high = [(steps, k) for steps in sorted(side) for k in range(max(0, steps - records), steps // 2 + 1)]
        rows = [(records - steps + k, steps - 2 * k, k) for steps, k in high]
    counted = np.array(rows, dtype=np.int64)
    chances = counted @ logs - np.asarray(gammaln(counted + 1.0), dtype=np.float64).sum(axis=1)
    chances = np.exp(chances - log_sum(chances))
    return counted, chances / math.fsum(chances)


def _moved_records(
    chances: FloatArray, records: int, between: tuple[int, int], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two tables' numbers of records of all classes, near what is expected, with some moved between two of them."""
    counted = np.floor(records * chances).astype(np.int64)
    counted[np.argmax(chances)] += records - counted.sum()
    a, b = between
    both = counted[a] + counted[b]
    moved = min(most, both)
    low = min(max(counted[a] - moved // 2, 0), both - moved)
    sides = np.stack([counted, counted])
    sides[:, a] = low, low + moved
    sides[:, b] = both - sides[:, a]
    return sides[:1], sides[1:]


def _decided_states(framework: Framework, calibration: Calibration) -> tuple[str, SecretPair, int]:
    """The attribute, pair and model that decided the noise, or that the queried columns tell most about."""
    for decision in calibration.certificate.decisions[:1]:
        pair = getattr(decision, "pair", None)
        if isinstance(pair, SecretPair):
            return decision.protected, pair, decision.model
    evidence = influences(framework)
    if isinstance(evidence, Refusal):
        raise evidence.error()
    columns = calibration.query.columns
    refusal = evidence.covers(columns)
    if refusal is not None:
        raise refusal.error()
    driven = {name: evidence.driven(columns, name) for name in evidence.secrets}
    told = {name: evidence.influence(columns - driven[name], name) for name in evidence.secrets}
    name = max(told, key=lambda name: (bool(driven[name]), float(told[name])))
    pair = told[name].pair
    if pair is None:
        raise SecretError(
            f"some pair of secrets of {name!r} must have positive probability",
            found="none in any model",
            remedy="Correct the table of the protected attribute, or choose other secrets.",
        )
    return name, cast(SecretPair, pair), told[name].model


def draw_places(network: DiscreteNetwork, count: int, random: np.random.Generator, model: int = 0) -> Places:
    """Draw independent records, every attribute given its parents.

    Parameters
    ----------
    network : DiscreteNetwork
    count : int
        Number of records.
    random : numpy.random.Generator
    model : int
        Index of the model in Theta.

    Returns
    -------
    mapping from str to ndarray of shape (count,)
        Places of states.
    """
    drawn: dict[str, NDArray[np.int64]] = {}
    network, model = network.of_model(model)
    for name in network.graph.nodes:
        table = network.tables[name]
        values = table.values[min(model, len(table.values) - 1)]
        above = [axis for axis in table.axes if axis != name]
        law = np.exp(np.moveaxis(values, table.axes.index(name), -1))
        rows = law[tuple(drawn[parent] for parent in above)] if above else np.broadcast_to(law, (count, len(law)))
        drawn[name] = chosen(rows, random)
    return drawn


def chosen(rows: FloatArray, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw one place from each row of weights, of shape (rows, places)."""
    ends = np.cumsum(rows, axis=1)
    return np.count_nonzero(random.random((len(rows), 1)) * ends[:, -1:] >= ends, axis=1).astype(np.int64)


def record_columns(
    network: DiscreteNetwork,
    schema: Schema,
    laws: Mapping[str, Sequence[ColumnLaw]],
    places: Places,
    random: np.random.Generator,
) -> dict[str, NDArray[Any]]:
    """The values of the columns of `schema` for records whose states are drawn.

    Raises
    ------
    FrameworkError
        If a state is no value of its column, and no law of the column is declared.
    """
    known = {**bin_laws(schema, network.states, laws), **laws}
    columns: dict[str, NDArray[Any]] = {}
    for name in schema.columns:
        if name not in known:
            columns[name] = state_values(schema, name, network.states[name])[places[name]]
            continue
        parts = [law.sample(int(np.count_nonzero(places[name] == k)), random) for k, law in enumerate(known[name])]
        columns[name] = np.empty(len(places[name]), dtype=np.result_type(*(part.dtype for part in parts)))
        for k, part in enumerate(parts):
            columns[name][places[name] == k] = part
    return columns


def model_columns(
    framework: DatasetAttributePrivacy, count: int, random: np.random.Generator, model: int
) -> dict[str, NDArray[Any]]:
    """The columns of independent records of one model: of the network, or public ones among which it counts as one."""
    network, public = cast("DiscreteNetwork", framework.network), cast("PublicRecords | None", framework.public_records)
    schema, draw = framework.schema, model - network.models
    places = draw_places(network, count, random, model if draw < 0 else draw % network.models)
    columns = record_columns(network, schema, framework.column_laws, places, random)
    if public is None or draw < 0:
        return columns
    rows = np.searchsorted(np.cumsum(public.weights(draw)), random.integers(1 << BITS, size=count), side="right")
    shown = random.integers(public.records + 1, size=count) > 0
    told = {name: game.held(schema[name], public.columns[name][rows]) for name in columns}
    return {name: np.where(shown, told[name], column) for name, column in columns.items()}


def state_values(schema: Schema, name: str, states: Sequence[State]) -> NDArray[Any]:
    """The values of a column that the states of its node stand for.

    Raises
    ------
    FrameworkError
        If a state is no value of the column.
    """
    column = schema[name]
    values = state_cells(name, column, states).values.tolist()
    if isinstance(column, Categorical):
        return np.array(values, dtype=object if has_gaps(column) else None)
    return np.array(values, dtype=np.int64 if is_whole(column) and not has_gaps(column) else np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Property:
    """A property of a protected column under one model, and the values that it can have.

    Parameters
    ----------
    framework : DatasetAttributePrivacy
    secret : Secret
    model : int
    records : int
        In the table.
    """

    framework: DatasetAttributePrivacy
    secret: Secret
    model: int
    records: int
    _sums: dict[int, WholeLaw] = field(default_factory=dict[int, WholeLaw], init=False)

    @cached_property
    def asked(self) -> Query:
        """The property as a query of one number; of several counts at once, that of the class of a record."""
        return answer_laws.class_query(self.secret, self.framework.schema)

    @cached_property
    def form(self) -> NormalForm:
        """The same in whole numbers."""
        return normal_form(self.asked, replace(self.framework.schema, records=self.records))

    @cached_property
    def one(self) -> WholeLaw:
        """The law of what one record adds to the numerator of the property."""
        return answer_laws.law_of_one_record(replace(self.framework, schema=self.form.schema), self.asked, self.model)

    @cached_property
    def total(self) -> WholeLaw:
        """The law of the numerator, but for its shift."""
        return self.sum(self.records)

    def sum(self, records: int) -> WholeLaw:
        """The law of what so many records add."""
        if records not in self._sums:
            self._sums[records] = summed((self.one, records))
        return self._sums[records]

    def numerators(self, values: Collection[State]) -> list[int]:
        """The numerators, but for the shift, that stand for values of the property.

        Raises
        ------
        SecretError
            If none is possible.
        """
        scale, steps = self.form.wholes()[0], self.one.columns[0]
        if self.one.size == 2:
            low, high = map(int, steps)
            counts = answer_laws.Counts.of(self.secret, self.form.schema, low, high).possible(frozenset(values))
            found = [self.records * low + (high - low) * count for count in counts]
        else:
            known = {Fraction(int(each) + scale.shift, scale.denominator): int(each) for each in self.total.columns[0]}
            found = [known[value] for value in answer_laws.meant(values, known)]
        possible = np.isin(np.array(found, dtype=self.total.columns[0].dtype), self.total.columns[0])
        kept = [numerator for numerator, holds in zip(found, possible, strict=True) if holds]
        if not kept:
            raise answer_laws.impossible(listing(values))
        return sorted(kept)

    def of_cells(self, counts: Collection[State]) -> tuple[dict[int, int], float]:
        """How many records each class has, from the counts of all cells, and the log of their probability.

        Raises
        ------
        SecretError
            If they are not possible.
        """
        listed = [int(count) if isinstance(count, (int, float)) and count == int(count) else -1 for count in counts]
        classes = dict(enumerate([self.records - sum(listed), *listed]))
        logs = dict(zip(map(int, self.one.columns[0]), self.one.logs.tolist(), strict=True))
        wanted = {k: count for k, count in classes.items() if count}
        if (
            len(listed) != len(self.secret.property.outputs(self.form.schema))
            or min(classes.values()) < 0
            or not (wanted.keys() <= logs.keys())
        ):
            raise answer_laws.impossible(listing(counts))
        log = math.lgamma(self.records + 1) + sum(n * logs[k] - math.lgamma(n + 1) for k, n in wanted.items())
        return wanted, log

    def draw(self, numerators: Collection[int], random: np.random.Generator) -> dict[int, int]:
        """Draw how many records add what, given that their sum is one of several numerators.

        Returns
        -------
        dict from int to int
            The number of records by what each of them adds.

        Notes
        -----
        The sum of one half of the records given that of all has law P(x) P(s - x) / P(s); halves are halved in turn.
        """
        places = np.flatnonzero(np.isin(self.total.columns[0], np.array(list(numerators))))
        first = int(self.total.columns[0][places[_drawn(self.total.logs[places], random)]])
        found = dict.fromkeys(map(int, self.one.columns[0]), 0)
        if self.one.size == 2:
            low, high = found
            found[high] = (first - self.records * low) // (high - low)
            found[low] = self.records - found[high]
            return found
        left = [(self.records, first)]
        while left:
            records, value = left.pop()
            if records == 1:
                found[value] += 1
                continue
            one, other = self.sum(records // 2), self.sum(records - records // 2)
            rest = value - one.columns[0]
            places = np.minimum(np.searchsorted(other.columns[0], rest), other.size - 1)
            logs = np.where(other.columns[0][places] == rest, one.logs + other.logs[places], -np.inf)
            half = int(one.columns[0][_drawn(logs, random)])
            left += [(records // 2, half), (records - records // 2, value - half)]
        return found


_latest: list[Property] = []
"""The property of which a table was drawn last: what is worked out for it serves many tables."""


def _property(framework: DatasetAttributePrivacy, name: str, model: int, records: int) -> Property:
    secret = framework.protect[name]
    for kept in _latest:  # the same object: to hash a framework takes longer than to draw a table
        if kept.framework is framework and (kept.secret, kept.model, kept.records) == (secret, model, records):
            return kept
    _latest[:] = [Property(framework=framework, secret=secret, model=model, records=records)]
    return _latest[0]


def _drawn(logs: FloatArray, random: np.random.Generator) -> int:
    """Draw a place by the logs of weights."""
    weights = np.exp(logs - log_sum(logs))
    return int(random.choice(len(weights), p=weights / weights.sum()))


def drawn_records(hidden: Property, wanted: Mapping[int, int], random: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Draw a table with so many records that add what to a property.

    Parameters
    ----------
    hidden : Property
    wanted : mapping from int to int
        How many records add what.
    random : numpy.random.Generator

    Returns
    -------
    dict from str to ndarray of shape (records,)
        The columns.

    Raises
    ------
    RefusedError
        If a kind of record that is needed hardly ever comes up.

    Notes
    -----
    Each of them is a record of the model given what it adds, and they stand in random order, because the records are
    alike.
    """
    framework, scale = hidden.framework, hidden.form.wholes()[0]
    wanted = {value: count for value, count in wanted.items() if count}
    kept: dict[int, list[dict[str, NDArray[Any]]]] = {value: [] for value in wanted}
    left, tried = dict(wanted), 0
    while any(left.values()):
        rarest = min(np.exp(hidden.one.log_mass([value])) / count for value, count in left.items() if count)
        batch = min(RECORDS_AT_ONCE, int(1.1 / rarest) + 64) if rarest > 0 else RECORDS_AT_ONCE
        columns = model_columns(framework, batch, random, hidden.model)
        alone = answers(hidden.form, {name: columns[name][:, np.newaxis] for name in hidden.asked.columns})
        added = np.rint(alone * scale.denominator) - scale.shift
        for value, count in left.items():
            here = np.flatnonzero(added == value)[:count]
            kept[value].append({name: column[here] for name, column in columns.items()})
            left[value] -= len(here)
        tried += batch
        if tried > MOST_RECORDS_TRIED:
            raise RefusedError(
                "records that a table is made of must come up in draws of the model",
                found=f"{sum(left.values()):,} missing after {tried:,} draws",
                remedy="Assume a more probable value of the property, or ask for fewer records.",
            )
    order = random.permutation(hidden.records)
    parts = [part for several in kept.values() for part in several]
    return {name: np.concatenate([part[name] for part in parts])[order] for name in framework.schema.columns}


def of_records(
    form: NormalForm,
    parts: Sequence[tuple[WholeLaw, NDArray[np.int64]]],
    weights: FloatArray,
    draws: int,
    random: np.random.Generator,
) -> FloatArray:
    """Answers that are sums over independent records, of shape (draws, outputs).

    Parameters
    ----------
    form : NormalForm
    parts : sequence of (WholeLaw, counts)
        How many records have which law; counts are of shape (choices,), one of which is drawn for every answer.
    weights : ndarray of shape (choices,)
        Probabilities of the choices.
    draws : int
    random : numpy.random.Generator
    """
    places = random.choice(len(weights), size=draws, p=weights)
    wholes = form.wholes()
    totals = np.zeros((draws, len(wholes)))
    for law, counts in parts:
        totals += _sums(law, counts[places], random)
    shifts = np.array([float(whole.shift) for whole in wholes])
    return (totals + shifts) / np.array([float(whole.denominator) for whole in wholes])


def _sums(law: WholeLaw, counts: NDArray[np.int64], random: np.random.Generator) -> FloatArray:
    """Return sums of so many independent draws of a law, of shape (draws, outputs)."""
    most = int(counts.max(initial=0))
    if len(counts) * min(most, law.size) > MOST_DRAWN_NUMBERS:
        raise SizeError(
            f"at most {MOST_DRAWN_NUMBERS:,} numbers are drawn for the answers under one secret",
            found=f"{len(counts) * min(most, law.size):,}",
            remedy="Ask for fewer draws.",
        )
    values = np.stack([column.astype(np.float64) for column in law.columns], axis=1)
    weights = np.exp(law.logs - log_sum(law.logs))
    weights /= weights.sum()
    if law.size <= most:
        return random.multinomial(counts, weights) @ values
    totals = np.zeros((len(counts), law.dimension))
    for k in range(most):
        drawn = values[random.choice(law.size, size=len(counts), p=weights)]
        totals += np.where((counts > k)[:, np.newaxis], drawn, 0.0)
    return totals


def record_law_given(
    network: DiscreteNetwork, schema: Schema, query: Query, protected: str, side: Collection[State], model: int
) -> WholeLaw:
    """Return what a record adds to an answer given that its protected column has one of several states.

    Raises
    ------
    FrameworkError
        If a queried column is no node, or a state no value of its column.
    SecretError
        If the states have probability zero.
    """
    names = sorted(query.columns)
    form = normal_form(query, schema)
    missing = [name for name in names if name not in network.attributes]
    if missing:
        raise FrameworkError(
            "every queried column must be a node of the network of records",
            found=listing(missing),
            remedy="Add the column to the network, without parents if it depends on nothing.",
        )
    axes = names if protected in names else [protected, *names]
    table = joint_law(network, axes)
    values = table.values[[min(model, len(table.values) - 1)]]
    inside = np.array([state in side for state in network.states[protected]])
    shape = [-1 if name == protected else 1 for name in ("", *axes)]
    values = np.where(inside.reshape(shape), values, -np.inf)
    if not np.any(values > -np.inf):
        raise game.zero_probability(f"probability zero in model {model}", "Choose states that the model allows.")
    given = LogTable(axes=tuple(axes), values=values - log_sum(values.ravel()), error=2 * table.error)
    cells = node_cells(form, names, network.states)
    return record_law(form, cells, given if protected in names else sum_out(given, (protected,)))
