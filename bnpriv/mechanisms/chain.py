"""The Markov quilt mechanism for the single values of a Markov chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from bnpriv.bound import UNIT_ROUNDOFF, Kind
from bnpriv.checks import listing
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Mechanism, Search, noise_of
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import record_sensitivity
from bnpriv.errors import Refusal
from bnpriv.kinds.chain.column import ChainQuilt, ExactInfluence, SpectralBound, chain_scale, spectral_refusal
from bnpriv.kinds.chain.network import MarkovChain
from bnpriv.text import Json, by_times, number_text

# --------------------------------------------------------------------------------------------------
# What decided the noise of a chain.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ChainDecision:
    """The step of a chain that needs the most noise, under one model.

    Parameters
    ----------
    protected : str
        The column that the chain drives.
    model : int
        The index in Theta.
    quilt : ChainQuilt
        The step with its best quilt.
    scale : float
        Noise scale that it needs.
    kind : {"exact", "certified"}
        How well the influence is known.
    models : int, optional
        How many models Theta has; with a single one its index is not said.
    """

    protected: str
    model: int
    quilt: ChainQuilt
    scale: float
    kind: Kind
    models: int = 1

    @property
    def text(self) -> str:
        """Return the decision in a sentence."""
        near = self.quilt.near
        hidden = f"{near:,} {'value' if near == 1 else 'values'} around it"
        return f"{self.protected}, {self._step}: {self._shield}; noise hides {hidden}; scale {number_text(self.scale)}."

    @property
    def why(self) -> str:
        """Return in a sentence what the noise hides, and what the rest tells."""
        near = self.quilt.near
        hidden = f"the value of {self.protected} at" if near == 1 else f"{near:,} values of {self.protected} around"
        return f"It hides {hidden} {self._step}; {self._shield}."

    @property
    def _step(self) -> str:
        """Return which step it is."""
        which = f" (model {self.model})" if self.models > 1 else ""
        return f"step {self.quilt.step:,} of {self.quilt.length:,}{which}"

    @property
    def _shield(self) -> str:
        """Return what the values around the hidden ones tell."""
        sides = [
            f"{distance:,} {'step' if distance == 1 else 'steps'} {side}"
            for distance, side in ((self.quilt.before, "before"), (self.quilt.after, "after"))
            if distance is not None
        ]
        if not sides:
            return "no values are far enough to be left out"
        values = "value" if len(sides) == 1 else "values"
        verb = "moves" if len(sides) == 1 else "move"
        return f"the {values} {' and '.join(sides)} {verb} the odds {by_times(self.quilt.influence)}"

    def to_json(self) -> Json:
        """Return the decision as plain values."""
        return {
            "protected": self.protected,
            "model": self.model,
            "step": self.quilt.step,
            "length": self.quilt.length,
            "before": self.quilt.before,
            "after": self.quilt.after,
            "influence": self.quilt.influence,
            "near": self.quilt.near,
            "kind": self.kind,
            "scale": self.scale,
        }


MOST_EXACT_ERROR = 1e-9
"""Influences that are known less exactly, in nats, are called certified."""

InfluenceMethod = Literal["exact", "spectral", "published"]


@dataclass(frozen=True, kw_only=True)
class MarkovChainMechanism(Mechanism):
    """Laplace noise that hides every single value of a Markov chain, for any sum over its steps.

    Parameters
    ----------
    influence : {"exact", "spectral", "published"}
        What distant steps tell about a step: exact, bounded by the spectrum of the transition matrix, or bounded as in
        the paper, which needs more noise.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `influence` is none of these.

    Notes
    -----
    Song, Wang, Chaudhuri, "Pufferfish Privacy Mechanisms for Correlated Data" (SIGMOD 2017), algorithms 3 and 4; see
    docs/claims/markov_chain.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> chain = bp.types.MarkovChain([[0.6, 0.4], [0.4, 0.6]], "stationary", 100, states=["rest", "walk"])
    >>> schema = bp.Schema(records=100, columns={"activity": bp.Categorical(["rest", "walk"])})
    >>> framework = bp.ValuePrivacy(chain, schema, "activity", source="a study")
    >>> query = bp.count(bp.col("activity") == "walk")
    >>> round(bp.mechanisms.MarkovChainMechanism().calibrate(framework, query, epsilon=1.0).scale, 6)
    3.571792
    """

    influence: InfluenceMethod = "exact"
    claim: ClassVar[str] = "markov_chain.md"
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"influence": ("exact", "spectral", "published")}

    def concerns(self, framework: Framework) -> bool:
        """Return whether the framework is about a chain."""
        return framework.chain is not None

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        if framework.chain is None:
            return Refusal(
                required="the mechanism hides the values of a Markov chain",
                found=f"a {type(framework).__name__}",
                remedy="Use ValuePrivacy over a MarkovChain, or another mechanism.",
            )
        stray = query.columns.difference(framework.protected)
        if stray:
            return Refusal(
                required="a query of a chain reads the column that it drives",
                found=listing(sorted(stray)),
                remedy="Query that column alone, or use ColumnMechanism.",
            )
        refusal = None if self.influence == "exact" else spectral_refusal(framework.chain)
        return refusal or partial(self._search, framework.chain, framework, query, epsilon)

    def _search(self, chain: MarkovChain, framework: Framework, query: Query, epsilon: float) -> Found:
        (column,) = framework.protected
        sensitivity = record_sensitivity(query, query.columns, framework.schema)
        found = [(model, self._worst(chain, model, epsilon)) for model in range(chain.models)]
        decisions = [
            ChainDecision(
                protected=column,
                model=model,
                quilt=quilt,
                scale=sensitivity.upper * quilt.score * (1 + 4 * UNIT_ROUNDOFF),
                models=chain.models,
                kind="exact" if self.influence == "exact" and quilt.error <= MOST_EXACT_ERROR else "certified",
            )
            for model, quilt in found
            if quilt is not None
        ]
        decisions.sort(key=lambda decision: -decision.scale)
        scale = decisions[0].scale  # some model has a step with two possible values, else `impossibility` refuses
        start = {"given": "the given", "stationary": "the stationary", "any": "any"}[chain.start] + " distribution"
        several = f" {len(chain.length)} independent chains, each" if len(chain.length) > 1 else " one chain,"
        certificate = Certificate(
            theorem="Markov quilt mechanism for chains (Song, Wang, Chaudhuri 2017)",
            claim=self.claim,
            decisions=tuple(decisions[:1]),
            sensitivity=sensitivity,
            source=framework.source,
            assumptions=(f"The records are the steps of{several} with {start} at its first step.", *query.assumptions),
            dropped=tuple(
                f"{column}: in model {model} no two values are possible at any step"
                for model, quilt in found
                if quilt is None
            ),
            zero_noise_reason=None if scale else "the answer does not depend on the data",
        )
        return Found(noise_of("laplace", scale, query.dimension(framework.schema)), certificate, 0.0)

    def _worst(self, chain: MarkovChain, model: int, epsilon: float) -> ChainQuilt | None:
        if self.influence == "exact":
            return chain_scale(chain.length, epsilon, ExactInfluence(chain, model))
        bound = SpectralBound.of(chain, model, published=self.influence == "published")
        return chain_scale(chain.length, epsilon, bound)
