"""How far draws of a posterior carry the law of an answer given a secret (docs/claims/belief.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bnpriv.errors import Refusal
from bnpriv.evidence.forward import AnswerSampler
from bnpriv.networks import DensityNetwork, drivers
from bnpriv.render.text import number_text
from bnpriv.secrets.values import Interval

LEAST_EFFECTIVE = 100
"""Independent draws that those of a posterior in a secret must be worth."""


def effective_of(forward: AnswerSampler, name: str, side: Interval) -> float | None:
    """Return how many independent draws of a posterior the law given a secret rests on; None if it rests on none."""
    drawn = forward.believed
    if drawn is None:
        return None
    behind = drivers(forward.network, frozenset(forward.columns))
    if name in drawn.values:
        return drawn.effective(name, side.low, side.high, behind)
    return drawn.draws * min([1.0, *(drawn.share(each) for each in behind.intersection(drawn.values))])


def sizes_refusal(forward: AnswerSampler, name: str, sizes: Mapping[Interval, float | None]) -> Refusal | None:
    """Return why too few draws of a posterior lie in a secret, or None if there are enough in each."""
    known = {side: size for side, size in sizes.items() if size is not None}
    if not known or forward.believed is None:
        return None
    side = min(known, key=lambda each: known[each])
    drawn, size = forward.believed, known[side]
    if side.low == side.high and not len(drawn.inside(name, side.low, side.high)):
        return None  # a single value is refused for what it is
    if size < LEAST_EFFECTIVE:
        return Refusal(
            required=f"draws of the posterior in a secret must be worth {LEAST_EFFECTIVE} independent ones",
            found=f"{name} in {side}: {_worth(size)} of {drawn.draws:,}",
            remedy=_more(drawn.draws, size),
        )
    wanted, confidence = forward.network.sampling.draws, forward.network.sampling.confidence
    if confidence is not None and name not in drawn.values:
        return Refusal(
            required="with a confidence the protected parameter needs draws of its own",
            found=f"none of {name}, below draws of others",
            remedy="Leave out the confidence, for an estimate, or pass draws of it too.",
        )
    if confidence is not None and size < wanted:
        return Refusal(
            required="with a confidence every draw of the posterior is used once, so that tables are independent",
            found=f"{name} in {side}: {_worth(size)} for {wanted:,} tables",
            remedy=f"Draw fewer tables: network.with_sampling(draws={math.floor(size)}, confidence={confidence:g}). "
            f"{_more(drawn.draws, size, wanted)}",
        )
    return None


def _worth(size: float) -> str:
    return f"draws worth {number_text(size)}"


def _more(draws: int, size: float, wanted: int = LEAST_EFFECTIVE) -> str:
    if size == 0:
        return "No draw lies in it: choose a wider or a more probable interval."
    return f"Take about {math.ceil(draws * wanted / size):,} draws of the posterior, or choose a wider interval."


def confidence_refusal(network: DensityNetwork) -> Refusal | None:
    """Return why laws from draws of a posterior carry no confidence, or None if they do."""
    drawn = network.drawn
    if drawn is None or drawn.reading == "models" or network.sampling.confidence is None:
        return None
    if drawn.posterior.independent:
        return None
    return Refusal(
        required="a confidence needs independent draws of the posterior",
        found="draws of Markov chains, which depend on each other",
        remedy="Leave out the confidence, for an estimate, or pass draws of a conjugate posterior with "
        "independent=True.",
    )
