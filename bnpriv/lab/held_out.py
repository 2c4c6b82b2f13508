"""What is known of models that were not drawn, by draws that a calibration has not seen (docs/claims/held_out.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from bnpriv import checks
from bnpriv.bound import UNIT_ROUNDOFF
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence.laws import laws
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.law_decision import sampling_of
from bnpriv.core.mechanisms.law_mechanisms import coarse_enough, foretold_scale, unsupported
from bnpriv.core.networks.base import Network
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, NoNoise
from bnpriv.errors import BnprivError, ParameterError, Refusal, RefusedError
from bnpriv.kind import kind_of, notion_of
from bnpriv.loss.loss import PrivacyLoss
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from bnpriv.mechanisms.optimal.channel import Channel
from bnpriv.progress import SHORTER, watched
from bnpriv.render.document import Document, Items, Section, fact
from bnpriv.shown import Shown
from bnpriv.text import Json, upper_percent

FEW = 0.01
"""The share of models for which the number of draws is told that it takes."""


def halves(network: Network) -> tuple[Network, Network]:
    """Divide models that are independent draws: every second one for a calibration, the others held out.

    Parameters
    ----------
    network : Network
        Whose models are draws of a posterior, at least two.

    Returns
    -------
    Network, Network
        With the same attributes; `plan(..., held_out=...)` and `Calibration.held_out` take the second.

    Raises
    ------
    RefusedError
        If the models are no draws, or depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> from bnpriv.networks import DiscreteNetwork, Posterior
    >>> shares = np.random.default_rng(1).beta(20, 30, 100)
    >>> drawn = DiscreteNetwork.from_tables({"a": np.stack([shares, 1 - shares], axis=1)}, states={"a": ["x", "y"]})
    >>> drawn = replace(drawn, posterior_draws=Posterior(source="a survey", draws=100))
    >>> [half.models for half in halves(drawn)]
    [50, 50]
    """
    _require_draws(network)
    places = range(network.models)
    return _some(network, places[::2]), _some(network, places[1::2])


def _some(network: Network, models: Sequence[int]) -> Network:
    return kind_of(network).some(network, models)


def _require_draws(network: Network) -> None:
    drawn = network.posterior_draws
    if drawn is None or drawn.belief or network.models < 2:
        found = "models that were declared" if drawn is None else "one model"
        remedy = "Learn it with draws, DiscreteNetwork.posterior(..., draws=1000), or read draws by from_pymc."
    elif not drawn.independent:
        found = "draws of Markov chains, or of graphs, which depend on each other"
        remedy = (
            "Thin the chains to about their effective size, thin=..., and say so: from_pymc(..., independent=True)."
        )
    else:
        return
    raise RefusedError("what was not drawn is told by independent draws of the models", found=found, remedy=remedy)


# --------------------------------------------------------------------------------------------------
# The statement.
# --------------------------------------------------------------------------------------------------


def most_broken(broken: int, draws: int, miss: float) -> float:
    """The upper Clopper-Pearson limit of a share, rounded up.

    Parameters
    ----------
    broken, draws : int
        How many of how many independent draws.
    miss : float
        The probability with which the true share may be larger.

    Returns
    -------
    float

    Examples
    --------
    >>> round(most_broken(0, 299, 0.05), 6), round(most_broken(3, 100, 0.05), 4)
    (0.009969, 0.0757)
    """
    from scipy.special import betaincinv

    if broken >= draws:
        return 1.0
    if broken == 0:  # (1 - share)^draws is the probability of no such draw
        return min(1.0, -math.expm1(math.log(miss) / draws) * (1 + 2.0**-40))
    return min(1.0, float(betaincinv(broken + 1, draws - broken, 1 - miss)) * (1 + 1e-9))


def draws_for(share: float, miss: float) -> int:
    """How many held-out draws it takes, none of which may be broken, to show a share.

    Examples
    --------
    >>> draws_for(0.01, 0.05), draws_for(0.01, 0.05 / 10)
    (299, 528)
    """
    return math.ceil(math.log(miss) / math.log1p(-share) * (1 + 2.0**-40))


@dataclass(frozen=True, kw_only=True, repr=False)
class HeldOut(Shown):
    """For how many models that were not drawn a calibration may promise too much.

    Parameters
    ----------
    calibration : Calibration
        Fitted to other draws.
    draws, broken : int
        How many models were held out, and for how many of them the guarantee was not shown to hold.
    confidence : float
    among : int
        From how many calibrations this one may have been chosen by looking at the held-out draws or at the noise.
    """

    calibration: Calibration
    draws: int
    broken: int
    confidence: float
    among: int

    @property
    def _miss(self) -> float:
        return (1 - self.confidence) / self.among

    @cached_property
    def share(self) -> float:
        """The share of the posterior for which the guarantee may fail, at most, with the confidence."""
        return most_broken(self.broken, self.draws, self._miss)

    @property
    def needed(self) -> int:
        """How many held-out draws, none broken, it takes to show 1 %."""
        return draws_for(FEW, self._miss)

    @property
    def brief(self) -> str:
        """The statement in a few words."""
        return f"at most {upper_percent(self.share)} of others break it ({100 * self.confidence:g} % sure)"

    @property
    def sentence(self) -> str:
        """The statement in a sentence."""
        best = "" if self.among == 1 else f", whichever of {self.among} mechanisms is taken"
        return (
            f"Of {self.draws:,} models that were held out {self.broken:,} break the guarantee of "
            f"{self.calibration.mechanism}: with confidence {100 * self.confidence:g} % at most "
            f"{upper_percent(self.share)} of the posterior does{best}."
        )

    @property
    def section(self) -> Section:
        """It as a section of a document."""
        need = f"To show {100 * FEW:g} % it takes {self.needed:,} held-out draws of which none breaks it."
        how = (
            "The noise was fitted to other draws. A held-out model counts as broken unless the same mechanism, for it "
            "alone, asks for no more noise, or the loss of this noise under it is within epsilon and delta."
        )
        return Section(title="What was not drawn", id="held-out", blocks=(Items((self.sentence, need, how)),))

    @property
    def document(self) -> Document:
        """The statement, and what it rests on."""
        return Document(
            kind="held out",
            headline=self.sentence,
            short=(f"To show {100 * FEW:g} % it takes {self.needed:,} held-out draws of which none breaks it.",),
            facts=(fact("Query", str(self.calibration.query)),),
            sections=(self.section,),
            data=self.data,
        )

    @property
    def data(self) -> Json:
        """It as plain values."""
        counted = ("draws", "broken", "confidence", "among", "share", "needed")
        return {"mechanism": str(self.calibration.mechanism), **{name: getattr(self, name) for name in counted}}

    def __repr__(self) -> str:
        return f"HeldOut(draws={self.draws}, broken={self.broken}, share={self.share:.3g})"


def held_out(calibration: Calibration, network: Network, *, confidence: float = 0.95, among: int = 1) -> HeldOut:
    """Count for how many other draws of the posterior a calibration does not keep its promise.

    Parameters
    ----------
    calibration : Calibration
        Whose models are draws, none of which is in `network`.
    network : Network
        Independent draws of the same posterior: the second of `bnpriv.networks.halves`, or learned with another seed.
    confidence : float
    among : int
        From how many calibrations this one was chosen.

    Returns
    -------
    HeldOut

    Raises
    ------
    RefusedError
        If the models are no independent draws, or some of them are those that the noise was fitted to.
    ParameterError
        If the confidence is not between 0 and 1, `among` not at least 1, or `network` has other attributes.
    """
    (found,) = held_out_of_all([calibration], network, confidence=confidence, among=among)
    return found


def held_out_of_all(
    calibrations: Iterable[Calibration], network: Network, *, confidence: float = 0.95, among: int | None = None
) -> tuple[HeldOut, ...]:
    """The same for several calibrations of one question, of which any may be chosen afterwards."""
    listed = tuple(calibrations)
    if not listed:
        return ()
    chosen = checks.whole("among", len(listed) if among is None else among)
    if not 0 < checks.number("confidence", confidence) < 1:
        raise ParameterError("a confidence must be above 0 and below 1", found=f"{confidence:g}", remedy="Pass .95.")
    frameworks = _alone(listed[0].framework, network)
    broken = [0] * len(listed)
    for each in watched(frameworks, "the noise under {}", "held-out model", SHORTER):
        for k, calibration in enumerate(listed):
            broken[k] += not keeps(calibration, each)
    return tuple(
        HeldOut(calibration=calibration, draws=len(frameworks), broken=count, confidence=confidence, among=chosen)
        for calibration, count in zip(listed, broken, strict=True)
    )


def _alone(framework: Framework, network: Network) -> list[Framework]:
    """The framework with each model of a network alone."""
    _require_draws(network)
    fitted, *others = notion_of(framework).networks(framework) or (None,)
    if fitted is None or others or set(network.attributes) != set(fitted.attributes):
        raise ParameterError(
            "held-out draws must be of the network of the framework",
            found="another network, or none",
            remedy="Divide the network by bnpriv.networks.halves before the framework is made.",
        )
    _require_draws(fitted)
    both = fitted.posterior_draws, network.posterior_draws
    origins = [drawn and replace(drawn, draws=1, seed=None, of=None) for drawn in both]
    if origins[0] != origins[1]:
        raise RefusedError(
            "held-out draws must be of the posterior that the noise was fitted to",
            found="draws of another source, prior or public table",
            remedy="Divide one network by bnpriv.networks.halves.",
        )
    seen = {_some(fitted, [k]).identity() for k in range(fitted.models)}
    alone = [_some(network, [k]) for k in range(network.models)]
    common = sum(each.identity() in seen for each in alone)
    if common:
        raise RefusedError(
            "held-out draws must not be among those that the noise was fitted to",
            found=f"{common:,} of {network.models:,}",
            remedy="Divide the network by bnpriv.networks.halves, or learn another with another seed.",
        )
    (place,) = (each.name for each in fields(framework) if getattr(framework, each.name) is fitted)
    return [replace(cast(Any, framework), **{place: each}) for each in alone]


def keeps(calibration: Calibration, framework: Framework) -> bool:
    """Whether the noise of a calibration is shown to keep its guarantee in another framework."""
    guarantee = calibration.guarantee
    delta = guarantee.delta
    try:
        if _by_scale(calibration, framework):
            return True
        own = calibration.mechanism.calibrate(framework, calibration.query, epsilon=calibration.epsilon, delta=delta)
        if own.guarantee.kind == "estimate" or own.certificate.confidence is not None:
            return False  # noise learned from draws shows nothing, or not for sure
        if own.guarantee.epsilon <= guarantee.epsilon and own.guarantee.delta <= delta and _covers(calibration, own):
            return True
        return _by_laws(calibration, framework)
    except BnprivError:  # what cannot be shown counts as broken
        return False


def _covers(calibration: Calibration, other: Calibration) -> bool:
    """Whether the noise of one calibration is that of another with independent noise on top."""
    noise, least = calibration.noise, other.noise
    if isinstance(least, NoNoise):
        return True
    if type(noise) is type(least) and isinstance(noise, (Laplace, Gaussian, DiscreteLaplace)):
        return all(mine >= own for mine, own in zip(noise.scales, least.scales, strict=True))
    normal = (Gaussian, CorrelatedGaussian)  # of other noise a larger covariance says less
    if not isinstance(noise, normal) or not isinstance(least, normal):
        return False
    rest = noise.covariance - least.covariance * (1 + 64 * UNIT_ROUNDOFF * least.dimension)
    return bool(np.linalg.eigvalsh((rest + rest.T) / 2)[0] >= 0)


def _by_scale(calibration: Calibration, framework: Framework) -> bool:
    """Whether tight calibration finds that a scale of noise is enough: a look where calibrating would be a search."""
    noise, promised = calibration.noise, calibration.guarantee
    kind = "laplace" if isinstance(noise, Laplace) else "gaussian" if isinstance(noise, Gaussian) else None
    evidence = laws(framework, calibration.query)
    if kind is None or isinstance(evidence, Refusal) or len({*noise.scales}) > 1 or sampling_of(evidence) is not None:
        return False
    constraints = [coarse_enough(each, kind) for each in evidence.constraints()]
    if (kind == "gaussian") > (promised.delta > 0) or any(unsupported(each, evidence, kind) for each in constraints):
        return False
    left = filter(None, (each.left_to_hide(promised.epsilon) for each in constraints))
    needed = partial(
        foretold_scale,
        epsilon=promised.epsilon,
        delta=promised.delta,
        rounding=evidence.rounding,
        noise=kind,
        floor=calibration.scale,
    )
    return all(needed(each) <= calibration.scale for each in left)


def _by_laws(calibration: Calibration, framework: Framework) -> bool:
    """Whether the privacy loss of the noise under the laws of the answer is within epsilon and delta."""
    epsilon, delta = calibration.guarantee.epsilon, calibration.guarantee.delta
    evidence = laws(framework, calibration.query)
    known = isinstance(calibration.noise, (Channel, NoNoise, Laplace, Gaussian))
    if isinstance(evidence, Refusal) or evidence.dimension > 1 or not known:
        return False
    for constraint in evidence.constraints():
        if isinstance(constraint.pairs, Refusal):
            return False
        for pair in constraint.pairs:
            first, second = pair.first, pair.second
            if not isinstance(first, Atoms) or not isinstance(second, Atoms) or not pair.free or pair.sampled:
                return False
            loss = PrivacyLoss(first, second, calibration.noise)
            if any(each.delta(epsilon).upper > delta for each in (loss, loss.reversed)):
                return False
    return True
