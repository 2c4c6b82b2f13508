"""The Markov quilt mechanism: noise hides the columns near a secret, a quilt shields it from the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from bnpriv.core.evidence.structural import Influences, influences
from bnpriv.core.mechanisms.base import Mechanism, Search, found_scale, noise_of
from bnpriv.core.mechanisms.certificate import Certificate
from bnpriv.core.mechanisms.column import noise_refusal
from bnpriv.core.mechanisms.quilt_search import MOST_SEARCH_CELLS, QuiltSearch
from bnpriv.core.mechanisms.weights import Found
from bnpriv.core.noise import ContinuousNoise
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.sensitivity import separate_columns
from bnpriv.errors import Refusal

if TYPE_CHECKING:
    from bnpriv.core.frameworks.question import Framework


@dataclass(frozen=True, kw_only=True)
class MarkovQuiltMechanism(Mechanism):
    """Noise from the best Markov quilt for every protected attribute, model and pair of secrets.

    With delta above 0 a quilt may tell too much in rare states: the losses of quilt and noise are composed, and only
    what passes epsilon counts, up to delta.

    Parameters
    ----------
    common_quilt : bool
        Use one quilt per protected attribute for all models and pairs, as published; never less noise.
    noise : {"laplace", "gaussian"}
        Laplace noise for the 1-norm; Gaussian noise for the 2-norm, which needs delta above 0.
    large_delta : bool
        Waive the refusal of a delta of one over the number of records or more.
    weights : sequence of float, optional
        Of the parts of the answer, powers of two; None takes the best of three public shapes, as in `Mechanism`.

    Raises
    ------
    ParameterError
        If `noise` is neither.

    Notes
    -----
    Zhang, Ohrimenko, Cummings, "Attribute Privacy" (FAccT 2022), algorithm 3, with the optimal quilt of
    docs/claims/markov_quilt.md: for every protected attribute i, model and ordered pair, the least of
    D_K F / (epsilon - e(A minus K | i)) over the subsets K of the queried columns A; then the largest of these. With
    delta above 0 see docs/claims/approximate_quilt.md.

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0).scale
    0.0
    """

    common_quilt: bool = False
    noise: ContinuousNoise = "laplace"
    large_delta: bool = False
    claim: ClassVar[str] = "markov_quilt.md"

    def _decide(self, framework: Framework, query: Query, epsilon: float, delta: float) -> Search | Refusal:
        evidence = influences(framework)
        if isinstance(evidence, Refusal):
            return evidence
        if evidence.no_quilts is not None:
            return evidence.no_quilts
        # Gaussian noise has no largest loss: it composes with all that columns tell, not with the most they tell
        if delta and self.noise == "gaussian":
            losses = evidence.influence(frozenset(), next(iter(evidence.secrets))).losses
            if isinstance(losses, Refusal):
                return losses
        refusal = evidence.covers(query.columns)
        refusal = refusal or noise_refusal(self.noise, framework, delta, large_delta=self.large_delta)
        return refusal or partial(self._search, evidence, framework, query, epsilon, delta)

    def _search(self, evidence: Influences, framework: Framework, query: Query, epsilon: float, delta: float) -> Found:
        norm = 1 if self.noise == "laplace" else 2
        # independent columns tell nothing about any secret, so that noise need not hide them
        queried = evidence.modelled(query.columns)
        separate = separate_columns(query, framework.schema, norm)
        search = QuiltSearch(
            evidence=evidence,
            queried=queried,
            sensitivity=lambda near: evidence.sensitivity(query, near, norm),
            blocks=tuple(block & queried for block in separate if block & queried),
            epsilon=epsilon,
            delta=delta,
            noise=self.noise,
            common=self.common_quilt,
            # each protected attribute gets its share of the work, so that none depends on the order
            work_limit=MOST_SEARCH_CELLS // len(evidence.secrets),
        )
        found = (search.decide(name) for name in evidence.secrets)
        # every attribute must be protected by the one noise: the largest scale decides
        decisions = sorted(found, key=lambda decision: (-decision.scale, -decision.influence.upper))
        scale = found_scale(decisions[0].scale, epsilon, delta)
        approximate = "Approximate Markov quilt mechanism" if delta else "Markov quilt mechanism"
        certificate = Certificate(
            theorem=f"{approximate} for attributes (Zhang, Ohrimenko, Cummings 2022) with the optimal quilt",
            claim="approximate_quilt.md" if delta else self.claim,
            decisions=tuple(decisions),
            sensitivity=decisions[0].sensitivity,
            source=framework.source,
            assumptions=(*evidence.assumptions, *query.assumptions),
            dropped=tuple(
                f"{name}: {pair} in model {model}, a secret has probability zero"
                for name in evidence.secrets
                for pair, model in evidence.influence(frozenset(), name).dropped
            ),
            notes=tuple(dict.fromkeys(search.notes)),
            zero_noise_reason=None if scale else "; ".join(decision.text for decision in decisions),
        )
        # without noise, and without a loss beyond epsilon, the guarantee is pure
        spent = delta if scale or any(decision.excess for decision in decisions) else 0.0
        return Found(noise_of(self.noise, scale, query.dimension(framework.schema)), certificate, spent)
