"""The report of a Markov chain: what neighbouring values tell about a single one, and what noise that needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from bnpriv.frameworks import ValuePrivacy, observer_text
from bnpriv.influence.chain import ChainQuilt, ExactInfluence, SpectralBound, chain_scale, spectral_refusal, together
from bnpriv.mechanisms.pages import from_whom
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.verdict import verdict_text
from bnpriv.networks import MarkovChain
from bnpriv.queries.base import Query
from bnpriv.render import Json
from bnpriv.render.text import number_text, percent_text
from bnpriv.report.parts import Parts, ShortReport, Table, answer_dict

FORMAT = "bnpriv chain report 1"

DISTANCES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Distances of the values whose influence is shown."""

FORGOTTEN = 1e-6
"""Influences of more distant values than the first that tells less are not shown."""

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Budgets for which the noise is shown."""

MOST_STATES = 20
"""States that are listed."""

MEANING = (
    "A value is hidden together with its neighbours: the values some steps before and after it still tell something "
    "about it, in nats; the noise hides those between, with what is left of epsilon."
)


@final
@dataclass(frozen=True, kw_only=True)
class NeighbourInfluence:
    """What the two values at one distance tell about the value between, at the worst step and model.

    Parameters
    ----------
    distance : int
        In steps, to both sides.
    exact, spectral : float
        In nats; infinite where they may rule a value out, or where there is no bound.
    """

    distance: int
    exact: float
    spectral: float


@final
@dataclass(frozen=True, kw_only=True)
class ChainNoise:
    """The noise per unit of sensitivity at one epsilon.

    Parameters
    ----------
    epsilon : float
    quilt : ChainQuilt
        The step that needs the most, with its best quilt.
    spectral, published : float
        What the bounds would need; infinite where there are none.
    """

    epsilon: float
    quilt: ChainQuilt
    spectral: float
    published: float

    @property
    def exact(self) -> float:
        """Return the scale from exact influences."""
        return self.quilt.score


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class ChainReport(ShortReport):
    """What the values of a chain tell about each other, and what noise a query needs.

    Print it for plain text; a notebook shows it by itself.

    Parameters
    ----------
    framework : ValuePrivacy
        Over a `MarkovChain`.
    chain : MarkovChain
    neighbours : tuple of NeighbourInfluence
    noises : tuple of ChainNoise
    query : Query or None
    plan : Plan or None
        Every mechanism for the query at the given epsilon.

    Examples
    --------
    >>> import bnpriv as bp
    >>> chain = bp.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 100, states=["rest", "walk"])
    >>> schema = bp.Schema(records=100, columns={"activity": bp.Categorical(["rest", "walk"])})
    >>> report = bp.influence_report(bp.ValuePrivacy(chain, schema, "activity", source="a study"))
    >>> round(report.noises[3].exact, 6)
    3.571792
    """

    framework: ValuePrivacy
    chain: MarkovChain
    neighbours: tuple[NeighbourInfluence, ...]
    noises: tuple[ChainNoise, ...]
    query: Query | None = None
    plan: Plan | None = None

    @property
    def headline(self) -> str:
        """Return what becomes of the answer, or what it takes to hide one value."""
        if self.query is not None and self.plan is not None and self.plan.calibrations:
            return f"{self.query} {verdict_text(self.plan.best)}."
        column = self.framework.protected[0]
        at_one = next(noise for noise in self.noises if noise.epsilon == 1.0)
        return f"One value of {column} hides behind noise for {number_text(at_one.exact)} records at epsilon 1."

    def __repr__(self) -> str:
        return f"ChainReport({self.framework.protected[0]})"

    def to_dict(self) -> Json:
        """Return the report as plain values; docs/chain-report-schema.md names every field."""
        return {
            "format": FORMAT,
            "source": self.framework.source,
            "column": self.framework.protected[0],
            "states": [str(state) for state in self.chain.state_space],
            "lengths": list(self.chain.length),
            "start": self.chain.start,
            "models": self.chain.models,
            "neighbours": [
                {"distance": row.distance, "exact": _number(row.exact), "spectral": _number(row.spectral)}
                for row in self.neighbours
            ],
            "noises": [
                {
                    "epsilon": row.epsilon,
                    "exact": row.exact,
                    "spectral": _number(row.spectral),
                    "published": _number(row.published),
                }
                for row in self.noises
            ],
            "query": None if self.query is None else str(self.query),
            "answer": answer_dict(self.plan),
        }

    @property
    def parts(self) -> Parts:
        """Return the report without its form."""
        chain, column = self.chain, self.framework.protected[0]
        several = f"{len(chain.length)} chains of together {chain.steps:,} steps"
        return Parts(
            headline=self.headline,
            lead=MEANING,
            facts=[
                ("What is protected", f"{column} in any one record, which may be {_states(chain)}"),
                ("From whom", from_whom(observer_text(chain.models)).rstrip(".")),
                ("The chain", f"{chain.steps:,} steps" if len(chain.length) == 1 else several),
                ("Its start", {"given": "the given law", "stationary": "stationary", "any": "any law"}[chain.start]),
                ("Model from", self.framework.source),
            ],
            tables=[
                Table(
                    title="What the values before and after tell about the one between, in nats",
                    header=("steps away", "exact", "spectral bound"),
                    rows=[[f"{n.distance:,}", number_text(n.exact), number_text(n.spectral)] for n in self.neighbours],
                    words=3,
                ),
                Table(
                    title="Noise per unit of sensitivity",
                    header=("epsilon", "exact", "spectral", "as published", "values hidden", "quilt"),
                    rows=[_noise_row(noise) for noise in self.noises],
                    words=5,
                ),
            ],
            figures=(),
            plan=self.plan,
            assumptions=_assumptions(self),
        )


def chain_report(framework: ValuePrivacy, chain: MarkovChain, query: Query | None, plan: Plan | None) -> ChainReport:
    """Return the report; `bnpriv.influence_report` is the way in."""
    exact = [ExactInfluence(chain, model) for model in range(chain.models)]
    bounds = {
        published: []
        if spectral_refusal(chain)
        else [SpectralBound.of(chain, model, published=published) for model in range(chain.models)]
        for published in (False, True)
    }

    def least(told: list[SpectralBound], epsilon: float) -> float:
        found = [chain_scale(chain.length, epsilon, each) for each in told]
        return max((quilt.score for quilt in found if quilt is not None), default=np.inf)

    noises: list[ChainNoise] = []
    for epsilon in EPSILONS:
        quilts = [quilt for told in exact if (quilt := chain_scale(chain.length, epsilon, told)) is not None]
        worst = max(quilts, key=lambda quilt: quilt.score)  # of some model, else `impossibility` refuses
        spectral, published = (least(bounds[form], epsilon) for form in (False, True))
        noises.append(ChainNoise(epsilon=epsilon, quilt=worst, spectral=spectral, published=published))
    return ChainReport(
        framework=framework,
        chain=chain,
        neighbours=tuple(_neighbours(chain, exact, bounds[False])),
        noises=tuple(noises),
        query=query,
        plan=plan,
    )


def _neighbours(
    chain: MarkovChain, exact: list[ExactInfluence], bounds: list[SpectralBound]
) -> list[NeighbourInfluence]:
    """Return influences at a step in the middle, where both sides are there."""
    length = max(chain.length)
    middle = (length + 1) // 2
    rows: list[NeighbourInfluence] = []
    for distance in DISTANCES:
        if distance >= middle or distance > length - middle:
            break
        told = [_at(each, length, middle, distance) for each in exact]
        bound = [_at(each, length, middle, distance) for each in bounds]
        spectral = max(bound, default=np.inf)
        rows.append(NeighbourInfluence(distance=distance, exact=max(told), spectral=spectral))
        if max(told) < FORGOTTEN:
            break
    return rows


def _at(told: ExactInfluence | SpectralBound, length: int, place: int, distance: int) -> float:
    step = next(group for group in told.steps(length) if group.first <= place <= group.last)
    return max(0.0, float(together(told.left(step, distance), told.right(step, distance)).max()))


def _noise_row(noise: ChainNoise) -> list[str]:
    quilt = noise.quilt
    sides = [("before", quilt.before), ("after", quilt.after)]
    shown = " and ".join(f"{distance:,} {side}" for side, distance in sides if distance is not None)
    return [
        f"{noise.epsilon:g}",
        *(number_text(value) for value in (noise.exact, noise.spectral, noise.published)),
        f"{quilt.near:,}",
        shown or "none",
    ]


def _states(chain: MarkovChain) -> str:
    names = [str(state) for state in chain.state_space[:MOST_STATES]]
    if chain.start == "stationary":
        law = chain.first(0)
        names = [f"{name} ({percent_text(float(share))})" for name, share in zip(names, law, strict=False)]
    more = f" and {len(chain.state_space) - MOST_STATES} more" if len(chain.state_space) > MOST_STATES else ""
    return f"{', '.join(names)}{more}"


def _assumptions(report: ChainReport) -> list[str]:
    certified = report.plan.best.certificate.assumptions if report.plan and report.plan.calibrations else ()
    own = (
        "Each value depends on the values before it through the last one alone, with the declared transition matrix.",
        "The chain was not learned from the table that is to be protected.",
    )
    return list(dict.fromkeys((*own, *certified)))


def _number(value: float) -> float | str:
    return "inf" if np.isinf(value) else value
