"""Answers to a query on whole made-up tables, drawn given a secret: independent draws from the answer's exact law."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from bnpriv.errors import RefusedError
from bnpriv.evidence.pace import DrawTime, draw_time, paced
from bnpriv.laws import Draws
from bnpriv.networks import DensityNetwork, Parameter
from bnpriv.queries.arrays import answers
from bnpriv.queries.normal_form import NormalForm
from bnpriv.secrets.values import Interval
from bnpriv.tables.column_laws import ColumnLaw

TRIED = 20_000
"""Draws of a parameter alone, which tell how often a secret comes up."""

LEAST_MET = 2
"""In how many of them it must: a secret that is rarer than 1 in 10,000 takes too long."""

MOST_NUMBERS_AT_ONCE = 2**23
"""Numbers in the tables that are held at once."""

TRIAL_PATH = 2**32 - 2
"""Where the seeds stand of the tables that only show how long one takes."""

LEAST_TIMED_NUMBERS = 2**19
"""Fewer numbers in all tables take no time worth telling."""

MOST_SAMPLED_NUMBERS = 2**36
"""Numbers in all tables that are drawn for one protected attribute."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class AnswerSampler:
    """Draws answers to one query.

    Parameters
    ----------
    network : DensityNetwork
    form : NormalForm
        The query.
    columns : tuple of str
        The queried columns that the network draws.
    independent : mapping from str to ColumnLaw
        The other queried columns.
    """

    network: DensityNetwork
    form: NormalForm
    columns: tuple[str, ...]
    independent: Mapping[str, ColumnLaw]

    @property
    def width(self) -> int:
        """Return the numbers in one table."""
        return self.form.schema.records * max(1, len(self.columns) + len(self.independent))

    def answers(self, name: str, sides: Sequence[Interval]) -> dict[Interval, Draws]:
        """Return independent draws of the answer given that a parameter is in each of several intervals.

        Parameters
        ----------
        name : str
            The parameter.
        sides : sequence of Interval
            Each with positive probability, or a single value where that can be set.

        Returns
        -------
        dict from Interval to Draws
            The draws of disjoint intervals are independent of each other.

        Raises
        ------
        RefusedError
            If a single value cannot be conditioned on, or an interval is too rare.
        NetworkError
            If the simulator refuses.
        """
        parameter = self.network.parameters[name]
        single = [side for side in sides if side.low == side.high and not parameter.parents]
        kept = [side for side in sides if side not in single]
        for side in kept:
            if side.low == side.high and parameter.states is None:
                raise _not_conditioned(parameter, side)
        found = {side: self._set(name, side) for side in single}
        return {**found, **self._kept(name, kept)} if kept else found

    def _set(self, name: str, side: Interval) -> Draws:
        """Draw with the parameter set, which is to condition on it where it has no parents."""
        self._check_work(1.0)
        path = (*_words(name), *_words(f"{side.low!r}"))
        batches: list[NDArray[np.float64]] = []
        left = self.network.sampling.draws
        with paced(self._expected(left)) as advance:
            while left:
                count = min(left, max(1, MOST_NUMBERS_AT_ONCE // self.width))
                batches.append(self._batch((), count, (*path, len(batches)), {name: side.low})[1])
                left -= count
                advance(count)
        return Draws(np.concatenate(batches), seed=self.network.sampling.seed)

    def _kept(self, name: str, sides: Sequence[Interval]) -> dict[Interval, Draws]:
        """Draw from the model as it is and keep the tables whose parameter is inside."""
        rarest = self._shares(name, sides)
        self._check_work(rarest)
        wanted, path = self.network.sampling.draws, _words(name)
        kept: dict[Interval, list[NDArray[np.float64]]] = {side: [] for side in sides}
        have = dict.fromkeys(sides, 0)
        number = 0
        with paced(self._expected(math.ceil(1.05 * wanted / rarest))) as advance:
            while min(have.values()) < wanted:
                needed = math.ceil(1.05 * (wanted - min(have.values())) / rarest) + 16
                count = min(needed, max(1, MOST_NUMBERS_AT_ONCE // self.width))
                drawn, batch = self._batch((name,), count, (*path, number), {})
                for side in sides:
                    inside = (drawn[name] >= side.low) & (drawn[name] <= side.high)
                    kept[side].append(batch[inside])
                    have[side] += int(inside.sum())
                number += 1
                advance(count)
        seed = self.network.sampling.seed
        return {side: Draws(np.concatenate(parts)[:wanted], seed=seed) for side, parts in kept.items()}

    def _shares(self, name: str, sides: Sequence[Interval]) -> float:
        """Return how often the rarest of the intervals comes up."""
        seed = self._seed((*_words(name), 2**32 - 1))
        records = self.form.schema.records
        values = self.network.simulator((name,), TRIED, seed=seed, given={}, records=records)[name]
        met = {side: int(np.count_nonzero((values >= side.low) & (values <= side.high))) for side in sides}
        rarest = min(sides, key=lambda side: met[side])
        if met[rarest] < LEAST_MET:
            raise RefusedError(
                f"a secret must come up in at least {LEAST_MET} of {TRIED:,} draws of its parameter",
                found=f"{name} in {rarest} in {met[rarest]}",
                remedy="Choose a wider or a more probable interval.",
            )
        return met[rarest] / TRIED

    def _batch(
        self, names: tuple[str, ...], count: int, path: tuple[int, ...], given: Mapping[str, float]
    ) -> tuple[Mapping[str, NDArray[np.float64]], NDArray[np.float64]]:
        """Return draws of parameters, and of the answer, that belong together."""
        records = self.form.schema.records
        drawn: Mapping[str, NDArray[np.float64]] = {}
        asked = (*names, *self.columns)
        if asked:
            seed = self._seed(path)
            drawn = self.network.simulator(asked, count, seed=seed, given=given, records=records)
        tables: dict[str, NDArray[Any]] = {name: drawn[name] for name in self.columns}
        random = np.random.default_rng([self.network.sampling.seed, *path, 1])
        for name, law in self.independent.items():
            tables[name] = law.sample(count * records, random).reshape(count, records)
        return drawn, answers(self.form, tables)

    def _seed(self, path: tuple[int, ...]) -> int:
        """Return a seed of its own for every batch."""
        state = np.random.SeedSequence([self.network.sampling.seed, *path]).generate_state(1, np.uint64)
        return int(state[0] >> np.uint64(1))

    def _expected(self, tables: int) -> DrawTime:
        if tables * self.width < LEAST_TIMED_NUMBERS:
            return DrawTime(tables=tables, seconds=0.0)
        return draw_time(lambda few: self._batch((), few, (TRIAL_PATH, few), {}), tables)

    def _check_work(self, share: float) -> None:
        numbers = self.network.sampling.draws / share * self.width
        if numbers > MOST_SAMPLED_NUMBERS:
            raise RefusedError(
                f"the tables that are drawn for one attribute may hold {MOST_SAMPLED_NUMBERS:.3g} numbers",
                found=f"about {numbers:.3g}" + ("" if share == 1 else f", as 1 table of {1 / share:,.0f} is kept"),
                remedy="Take fewer draws, or more probable intervals.",
            )


def _not_conditioned(parameter: Parameter, side: Interval) -> RefusedError:
    return RefusedError(
        "a single value of a parameter that depends on others cannot be drawn exactly",
        found=f"{parameter.name} = {side}",
        remedy=f"Declare a narrow interval around it, such as bnpriv.intervals((({side}, ...), (...))).",
    )


def _words(text: str) -> tuple[int, ...]:
    """Return a text as numbers that a seed can be made of."""
    data = text.encode()
    return (len(data), *(int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)))
