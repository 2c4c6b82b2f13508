"""Tables and answers of Markov chains: sequences drawn given the state of one step."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bnpriv import checks
from bnpriv.bound import FloatArray
from bnpriv.checks import listing
from bnpriv.core.columns import State
from bnpriv.core.frameworks.attributes import ValuePrivacy
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.base import NormalForm, normal_form
from bnpriv.core.queries.contribution import answers
from bnpriv.core.secrets import SecretPair
from bnpriv.errors import FrameworkError, SecretError, SizeError
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.lab.sampling.game import AttackGame, KindSampler, MadeUp, SimulationRequest, states_among, zero_probability
from bnpriv.lab.sampling.records import MOST_DRAWN_NUMBERS, chosen, state_values
from bnpriv.mechanisms.chain import ChainDecision

MOST_VALUES_HELD = 2**22
"""Values of records that are held at once."""

STEPS_AROUND = 60
"""Steps on either side of a step of a chain of which it is asked what they change in an answer."""


class ChainSampler(KindSampler):
    """Draws from a `MarkovChain`."""

    def table_of_values(self, framework: ValuePrivacy, asked: SimulationRequest) -> MadeUp:
        """The column of the chain, the step in the middle given the secret."""
        chain, schema = framework.chain, framework.schema
        other = [name for name in schema.columns if name != chain.column]
        if other:
            raise FrameworkError(
                "every simulated column needs a distribution, and the chain is the distribution of one column",
                found=f"none for {listing(other)}",
                remedy="Leave the other columns out of the schema.",
            )
        for name in asked.secret:
            checks.member("the column of the chain", name, (chain.column,), error=SecretError)
        known = asked.secret.get(chain.column)
        inside = () if known is None else states_among("the secret must name states of", known, chain.state_space)
        lengths = chain.length if asked.records == chain.steps else (asked.records,)
        middle, parts, share = asked.records // 2, list[NDArray[np.int64]](), 1.0
        for length in lengths:
            begins = sum(map(len, parts))
            here = bool(inside) and begins <= middle < begins + length
            step = middle - begins if here else 0
            one = _part_of(chain, length)
            drawn = draw_chain(one, 1, asked.random, model=asked.model, step=step, inside=inside if here else ())
            parts.append(drawn[0])
            if here:
                law = _step_laws(one, step, asked.model)[-1]
                share = float(sum(law[chain.state_space.index(state)] for state in inside))
        values = state_values(schema, chain.column, chain.state_space)
        return MadeUp({chain.column: values[np.concatenate(parts)]}, min(1.0, share))

    def game_of_values(self, framework: ValuePrivacy, calibration: Calibration) -> AttackGame:
        """The game of the two states of a step that move the answer most; of the step that decided the noise."""
        chain = framework.chain
        form = normal_form(calibration.query, framework.schema)
        other = sorted(calibration.query.columns - {chain.column})
        if other:
            raise FrameworkError(
                "an answer is made up from the distribution of every queried column, and the chain is the distribution "
                "of one",
                found=f"none for {listing(other)}",
                remedy=f"Ask about {chain.column!r} alone.",
            )
        decisions = calibration.certificate.decisions
        decision = decisions[0] if decisions and isinstance(decisions[0], ChainDecision) else None
        part = int(np.argmax(chain.length)) if decision is None else chain.length.index(decision.quilt.length)
        step = chain.length[part] // 2 if decision is None else decision.quilt.step - 1
        model = 0 if decision is None else decision.model
        passed = _step_laws(_part_of(chain, chain.length[part]), step, model)
        told = _told_by_step(chain, form, passed, model)
        possible = np.flatnonzero(passed[-1] > 0).tolist()
        if len(possible) < 2:
            raise SecretError(
                "two values must be possible at the step that is rehearsed",
                found="one",
                remedy="Correct the transition matrix or the start.",
            )
        a, b = max(
            itertools.combinations(possible, 2), key=lambda two: float(np.abs(told[two[0]] - told[two[1]]).sum())
        )
        states = chain.state_space[a], chain.state_space[b]
        first, second = (partial(_answers, chain, form, model, part, step, state) for state in states)
        pair = SecretPair(frozenset({states[0]}), frozenset({states[1]}))
        return AttackGame(protected=chain.column, pair=pair, model=model, sides=(first, second))


def _answers(
    chain: MarkovChain,
    form: NormalForm,
    model: int,
    part: int,
    step: int,
    state: State,
    draws: int,
    random: np.random.Generator,
) -> FloatArray:
    """Exact answers of shape (draws, outputs), given the state of one step of one of the independent chains."""
    if draws * chain.steps > MOST_DRAWN_NUMBERS:
        raise SizeError(
            f"at most {MOST_DRAWN_NUMBERS:,} values of a chain are drawn under one secret",
            found=f"{draws * chain.steps:,}",
            remedy="Ask for fewer draws.",
        )
    values = state_values(form.schema, chain.column, chain.state_space)
    most = max(1, MOST_VALUES_HELD // chain.steps)
    found: list[FloatArray] = []
    for start in range(0, draws, most):
        count = min(most, draws - start)
        parts = [
            draw_chain(
                _part_of(chain, length),
                count,
                random,
                model=model,
                step=step if k == part else 0,
                inside=(state,) if k == part else (),
            )
            for k, length in enumerate(chain.length)
        ]
        found.append(answers(form, {chain.column: values[np.concatenate(parts, axis=1)]}).reshape(count, -1))
    return np.concatenate(found)


def _part_of(chain: MarkovChain, length: int) -> MarkovChain:
    """One of the independent chains of a chain."""
    return MarkovChain(chain.transition, chain.initial, length, states=chain.state_space, column=chain.column)


def _told_by_step(chain: MarkovChain, form: NormalForm, laws: Sequence[FloatArray], model: int) -> FloatArray:
    """The mean of what the steps around the last of `laws` add to the answer given its state.

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


def draw_chain(
    chain: MarkovChain,
    draws: int,
    random: np.random.Generator,
    *,
    model: int = 0,
    step: int = 0,
    inside: Collection[State] = (),
) -> NDArray[np.int64]:
    """Draw sequences of one chain, given that one step is in one of several states.

    Parameters
    ----------
    chain : MarkovChain
        Of one length.
    draws : int
    random : numpy.random.Generator
    model : int
        Index of the model in Theta.
    step : int
        Counted from 0.
    inside : collection of states, optional
        Any by default.

    Returns
    -------
    ndarray of shape (draws, steps)
        Places of states.

    Raises
    ------
    SecretError
        If the states have probability zero.

    Notes
    -----
    The step is drawn from its law given the states, what follows by the transition matrix, what came before by the
    reversed one, P(before = i | now = j) = P(before = i) P(i, j) / P(now = j).
    """
    matrix, (steps,) = chain.matrix(model), chain.length
    laws = _step_laws(chain, step, model)
    now = laws[-1] if not inside else np.where([state in inside for state in chain.state_space], laws[-1], 0.0)
    if not now.sum() > 0:
        remedy = "Choose states that the chain can be in at that step."
        raise zero_probability(f"probability zero in model {model}", remedy)
    drawn = np.empty((draws, steps), dtype=np.int64)
    drawn[:, step] = chosen(np.broadcast_to(now, (draws, len(now))), random)
    for place in range(step + 1, steps):
        drawn[:, place] = chosen(matrix[drawn[:, place - 1]], random)
    for place in range(step - 1, -1, -1):
        back = laws[place][np.newaxis] * matrix.T
        drawn[:, place] = chosen(back[drawn[:, place + 1]], random)
    return drawn


def _step_laws(chain: MarkovChain, step: int, model: int) -> list[FloatArray]:
    """The law of every step of a chain up to one, counted from 0; where the start may be any, it is uniform."""
    laws = [chain.first(model)]
    for _ in range(step):
        laws.append(laws[-1] @ chain.matrix(model))
    return laws
