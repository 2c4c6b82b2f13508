"""What privacy costs: the best mechanism and its error for many epsilons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from bnpriv import checks
from bnpriv.core.frameworks import guarantee as odds
from bnpriv.core.frameworks.question import Framework, require_framework, require_query
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.queries.base import Query
from bnpriv.errors import ParameterError
from bnpriv.mechanisms.plan import Plan, plan
from bnpriv.progress import progress, tracked
from bnpriv.render.document import Code, Document, Table
from bnpriv.render.figures import axes, label
from bnpriv.shown import Shown
from bnpriv.text import by_times, number_text, shorten
from bnpriv.views.calibration import calibration_row, verdict_badge

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_OTHERWISE = {"coarse": "is coarse", "useless": "is useless", "unknown": "cannot be judged: its range is not declared"}


@dataclass(frozen=True, kw_only=True)
class Tradeoff(Shown):
    """The plan for one query at many epsilons; print it.

    Parameters
    ----------
    query : Query
    epsilons : tuple of float
        Increasing.
    plans : tuple of Plan
        One per epsilon.
    """

    query: Query
    epsilons: tuple[float, ...]
    plans: tuple[Plan, ...]

    @property
    def best(self) -> tuple[Calibration, ...]:
        """Return the calibration with the least expected error for each epsilon."""
        return tuple(chosen.best for chosen in self.plans)

    @property
    def noiseless_from(self) -> float | None:
        """Return the least of the epsilons from which on no noise is needed, None if noise always is."""
        return self._from([best.scale == 0 for best in self.best])

    @property
    def useful_from(self) -> float | None:
        """Return the least of the epsilons from which on the answer is useful or better, None if it never is."""
        return self._from([best.useful.verdict not in _OTHERWISE for best in self.best])

    def _from(self, holds: list[bool]) -> float | None:
        """The first of the last epsilons for all of which something holds."""
        last = list(takewhile(lambda each: each[1], zip(self.epsilons[::-1], holds[::-1], strict=True)))
        return last[-1][0] if last else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """In words from where on the answer is useful, and released as it is."""
        verdicts = [_OTHERWISE.get(best.useful.verdict, "") for best in self.best]
        useful, noiseless = self.useful_from, self.noiseless_from
        if useful is None and noiseless is None:
            return (self._sentence(None, "", [f"{verdict}, and needs noise" for verdict in verdicts]),)
        without = "the answer is released without noise"
        if useful == noiseless:
            return (self._sentence(noiseless, without, verdicts),)
        return (
            self._sentence(useful, "the answer is useful", verdicts),
            self._sentence(noiseless, without, ["needs noise"] * len(self.plans)),
        )

    def _sentence(self, found: float | None, then: str, otherwise: Sequence[str]) -> str:
        """From where on `then` holds, and what the answer does before, which is told for every epsilon."""
        if found is None:
            return f"Even at epsilon {self.epsilons[-1]:g}, the largest tried, the answer {otherwise[-1]}."
        place = self.epsilons.index(found)
        if place == 0:
            return f"At every epsilon tried, from {found:g} on, {then}."
        return f"From epsilon {found:g} on {then}; at {self.epsilons[place - 1]:g} it still {otherwise[place - 1]}."

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per epsilon: mechanism, scale, mean error, error of 19 in 20, verdict, belief."""
        import pandas as pd

        best = self.best
        return pd.DataFrame(
            {
                "epsilon": list(self.epsilons),
                "mechanism": [str(one.mechanism) for one in best],
                "scale": [one.scale for one in best],
                "expected_error": [one.expected_error for one in best],
                "quantile_95": [one.quantile(0.95) for one in best],
                "verdict": [one.useful.verdict for one in best],
                "belief": [one.guarantee.belief(odds.PRIOR) for one in best],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean error of the best mechanism over epsilon, both on logarithmic axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        drawn = axes(ax)
        errors = zip(self.epsilons, (one.expected_error for one in self.best), strict=True)
        noisy = [(epsilon, error) for epsilon, error in errors if error > 0]
        if noisy:
            drawn.plot(*zip(*noisy, strict=True), marker="o", label="mean error")
            drawn.set_yscale("log")
        drawn.set_xscale("log")
        if self.noiseless_from is not None:
            drawn.axvspan(self.noiseless_from, self.epsilons[-1], alpha=0.2, color="tab:green", label="no noise")
        drawn.set_xlabel("epsilon")
        drawn.set_ylabel("mean error")
        drawn.set_title(label(str(self.query)))
        drawn.legend()
        return drawn

    @property
    def document(self) -> Document:
        """Return the best mechanism at every epsilon, and from where on the answer is useful."""
        rows = [
            (
                f"{epsilon:g}",
                one.guarantee.moved_text(),
                (Code(str(one.mechanism)),),
                number_text(one.scale),
                number_text(one.expected_error),
                (verdict_badge(one),),
            )
            for epsilon, one in zip(self.epsilons, self.best, strict=True)
        ]
        every = [*zip(self.epsilons, self.best, strict=True)]
        few = [every[k] for k in sorted({0, len(every) // 2, len(every) - 1})]
        moved = "10 % becomes" if self.best[0].guarantee.with_belief else "odds move by"
        table = Table(
            caption="The mechanism that errs least at every epsilon",
            header=("epsilon", moved, "mechanism", "scale", "mean error", "answer"),
            rows=rows,
            numbers=(0, 1, 3, 4),
        )
        return Document(
            kind="tradeoff",
            headline=("What privacy costs ", Code(str(self.query))),
            lead=" ".join(self.sentences),
            short=(
                *self.sentences,
                *(_line(epsilon, one) for epsilon, one in few),
                f"Protected: {shorten(self.best[0].guarantee.protected_text, 80)}.",
                "Next: bp.plan(framework, query, epsilon) at the epsilon that you choose; .explain() has the table.",
            ),
            number="" if self.useful_from is None else f"{self.useful_from:g}",
            answer=(table,),
            data={
                "query": str(self.query),
                "useful_from": self.useful_from,
                "noiseless_from": self.noiseless_from,
                "epsilons": [
                    {"epsilon": epsilon, "best": calibration_row(one)}
                    for epsilon, one in zip(self.epsilons, self.best, strict=True)
                ],
            },
        )


def _line(epsilon: float, one: Calibration) -> str:
    """What an epsilon buys, in a line of what is printed."""
    guarantee = one.guarantee
    belief = f"10 % becomes at most {guarantee.moved_text()}"
    told = belief if guarantee.with_belief else f"the odds move {by_times(guarantee.nats)}"
    return f"Epsilon {epsilon:g} ({told}): {one.useful.verdict}, mean error {number_text(one.expected_error)}."


def tradeoff(
    framework: Framework, query: Query | str | None, epsilons: Iterable[float], delta: float = 0.0
) -> Tradeoff:
    """Plan one query at many epsilons.

    Parameters
    ----------
    framework : Framework
        Network, schema and secrets.
    query : Query or str or None
        What is to be released; None where the framework has a query of its own.
    epsilons : iterable of float
        Above 0, in any order.
    delta : float
        The failure probability that is allowed at every epsilon.

    Returns
    -------
    Tradeoff
        Print it, or plot it.

    Raises
    ------
    ParameterError
        If there is no epsilon, or one is out of range.
    RefusedError
        If no mechanism supports the query.
    QueryError, SchemaError
        If the query does not fit the schema.

    Examples
    --------
    >>> import bnpriv as bp
    >>> found = tradeoff(bp.example("student"), bp.count(bp.col("height") > 180), [0.1, 0.5, 1.0])
    >>> found.noiseless_from
    0.5
    >>> print(found.sentences[0])
    From epsilon 0.5 on the answer is released without noise; at 0.1 it still is coarse.
    """
    require_framework(framework, query)
    query = require_query(framework, query)
    if not isinstance(epsilons, Iterable):
        raise ParameterError("epsilons is a list", found=checks.type_text(epsilons), remedy="Pass [0.1, 0.5, 1.0].")
    asked = tuple(sorted({checks.epsilon(epsilon) for epsilon in epsilons}))
    if not asked:
        raise ParameterError("at least one epsilon is needed", found="none", remedy="Pass [0.1, 0.5, 1.0].")
    with progress("planning"):
        plans = tuple(plan(framework, query, epsilon, delta) for epsilon in tracked(asked, f"{len(asked)} epsilons"))
    for chosen in plans:
        _ = chosen.best  # refuses here, not when the table is printed
    return Tradeoff(query=query, epsilons=asked, plans=plans)
