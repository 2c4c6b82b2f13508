"""Exact answers to a query, made up under either of two secrets without making up records where laws suffice."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.errors import FrameworkError, SecretError, SizeError
from bnpriv.evidence.records import node_cells, record_law
from bnpriv.evidence.sampled import SampledSide
from bnpriv.influence.elimination import joint_law
from bnpriv.laws.atoms import Atoms
from bnpriv.laws.base import log_sum
from bnpriv.laws.normal import Normal
from bnpriv.laws.whole import WholeLaw
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.discrete import DiscreteNetwork
from bnpriv.networks.factors import LogTable, sum_out
from bnpriv.queries.arrays import answers
from bnpriv.queries.base import Query
from bnpriv.queries.normal_form import NormalForm, normal_form
from bnpriv.studies.records import draw_chain, state_values
from bnpriv.tables.schema import Schema, State

Draw = Callable[[int, np.random.Generator], FloatArray]
"""From a number of draws to exact answers of shape (draws, outputs)."""

MOST_DRAWN_NUMBERS = 2**27
"""Numbers that are drawn for the answers under one secret."""

MOST_VALUES_HELD = 2**22
"""Values of records that are held at once."""

STEPS_AROUND = 60
"""Steps on either side of a step of a chain of which it is asked what they change in an answer."""


@final
@dataclass(frozen=True, eq=False)
class OfRecords:
    """Answers that are sums over independent records.

    Parameters
    ----------
    form : NormalForm
    parts : sequence of (WholeLaw, counts)
        How many records have which law; counts are of shape (choices,), one of which is drawn for every answer.
    weights : ndarray of shape (choices,)
        Probabilities of the choices.
    """

    form: NormalForm
    parts: Sequence[tuple[WholeLaw, NDArray[np.int64]]]
    weights: FloatArray

    def __call__(self, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers of shape (draws, outputs)."""
        places = random.choice(len(self.weights), size=draws, p=self.weights)
        wholes = self.form.wholes()
        totals = np.zeros((draws, len(wholes)))
        for law, counts in self.parts:
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


def law_given(
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
        raise SecretError(
            "the secret must have positive probability",
            found=f"probability zero in model {model}",
            remedy="Choose states that the model allows.",
        )
    given = LogTable(axes=tuple(axes), values=values - log_sum(values.ravel()), error=2 * table.error)
    cells = node_cells(form, names, network.states)
    return record_law(form, cells, given if protected in names else sum_out(given, (protected,)))


@final
@dataclass(frozen=True, eq=False)
class OfLaw:
    """Answers of a known law."""

    law: Atoms | Normal

    def __call__(self, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers of shape (draws, outputs)."""
        if isinstance(self.law, Normal):
            return random.multivariate_normal(self.law.mean, self.law.covariance, size=draws)
        weights = self.law.probabilities / self.law.probabilities.sum()
        return self.law.points[random.choice(self.law.size, size=draws, p=weights)]


@final
@dataclass(frozen=True, eq=False)
class OfForward:
    """Answers of a model that is known by forward draws, given a secret."""

    given: SampledSide

    def __call__(self, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers of shape (draws, outputs)."""
        sampler = self.given.sampler.reseeded(draws, int(random.integers(2**31)))
        found = sampler.answers(self.given.condition, [self.given.side])[self.given.side]
        return found.values.reshape(draws, -1)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class OfChain:
    """Answers about the column of a chain, given the state of one step.

    Parameters
    ----------
    chain : MarkovChain
    form : NormalForm
    model : int
    part, step : int
        Which of the independent chains, and which of its steps, counted from 0.
    state : state
    """

    chain: MarkovChain
    form: NormalForm
    model: int
    part: int
    step: int
    state: State

    def __call__(self, draws: int, random: np.random.Generator) -> FloatArray:
        """Return exact answers of shape (draws, outputs)."""
        if draws * self.chain.steps > MOST_DRAWN_NUMBERS:
            raise SizeError(
                f"at most {MOST_DRAWN_NUMBERS:,} values of a chain are drawn under one secret",
                found=f"{draws * self.chain.steps:,}",
                remedy="Ask for fewer draws.",
            )
        values = state_values(self.form.schema, self.chain.column, self.chain.state_space)
        most = max(1, MOST_VALUES_HELD // self.chain.steps)
        batches = [min(most, draws - start) for start in range(0, draws, most)]
        return np.concatenate([self._batch(count, values, random) for count in batches])

    def _batch(self, draws: int, values: NDArray[np.generic], random: np.random.Generator) -> FloatArray:
        parts = [
            draw_chain(
                part_of(self.chain, length),
                draws,
                random,
                model=self.model,
                step=self.step if k == self.part else 0,
                inside=(self.state,) if k == self.part else (),
            )
            for k, length in enumerate(self.chain.length)
        ]
        table = {self.chain.column: values[np.concatenate(parts, axis=1)]}
        return answers(self.form, table).reshape(draws, -1)


def part_of(chain: MarkovChain, length: int) -> MarkovChain:
    """Return one of the independent chains of a chain."""
    return MarkovChain(chain.transition, chain.initial, length, states=chain.state_space, column=chain.column)


def told_by_step(chain: MarkovChain, form: NormalForm, laws: Sequence[FloatArray], model: int) -> FloatArray:
    """Return the mean of what the steps around the last of `laws` add to the answer given its state.

    Returns
    -------
    ndarray of shape (states, outputs)
    """
    values = state_values(form.schema, chain.column, chain.state_space)
    own = answers(form, {chain.column: values[:, np.newaxis]}).reshape(len(values), -1)
    matrix, total = chain.matrix(model), own.copy()
    after = own
    for _ in range(min(STEPS_AROUND, max(chain.length) - len(laws))):
        after = matrix @ after
        total += after
    # a state is reached from where it can be: given the state j, the step before was i with weight P(i) P(i, j)
    back = np.eye(len(values))
    for law in reversed(laws[max(0, len(laws) - 1 - STEPS_AROUND) : -1]):
        weights = law[:, np.newaxis] * matrix
        sums = weights.sum(axis=0)
        back = back @ (weights / np.where(sums > 0, sums, 1.0)).T
        total += back @ own
    return total


def even(weights: FloatArray) -> FloatArray:
    """Return logs of weights as probabilities."""
    found = np.exp(weights - log_sum(weights))
    return found / math.fsum(found)
