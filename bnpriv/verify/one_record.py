"""A bound where the law of all records is too large: the law of one, for every record that may change."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product

from bnpriv.verify.answers import AnswerLaws
from bnpriv.verify.claim import Claim
from bnpriv.verify.compared import NoisyPair
from bnpriv.verify.moves import Moves
from bnpriv.verify.secrets import farthest
from bnpriv.verify.values import DATASET, SLACK, Law, merged, summed

Case = tuple[Law, Law, int]
"""The laws of what a record adds given each of two secrets, and how many records may change."""


def borne_by_records(claim: Claim, answers: AnswerLaws, comparison: NoisyPair) -> bool:
    """Whether the law of one record bears the claim, times the number of records that change."""
    cases = _cases(claim, answers)
    if cases is None:
        return False
    rounding = Moves(claim).rounding
    for first, second, records in cases:
        laws = [{tuple(map(Fraction, k, claim.form.under)): p for k, p in law.items()} for law in (first, second)]
        ratio, _ = comparison.largest(merged([laws[0]]), merged([laws[1]]))
        claim.note(records * (ratio.ln() + SLACK) + rounding)
    return claim.worst <= claim.epsilon


def _cases(claim: Claim, answers: AnswerLaws) -> list[Case] | None:
    """What is to be compared; None where the bound is not known for it."""
    found, sides = list[Case](), claim.model.get("sides", [])
    if any("network" not in side for side in sides):
        return None
    for first, second in zip(sides[::2], sides[1::2], strict=True):
        found.append((answers.one_record(first), answers.one_record(second), claim.n))
    for secret, theta in product(claim.model.get("protect", {}).values(), range(claim.network.models)):
        if claim.model["notion"] != DATASET:
            return None
        both, parts = answers.stacked(secret), defaultdict[int, Law](summed)
        for record, _, p in answers.records(claim.network, theta, both):
            key = both.key(record)
            parts[key[0]][key[1:]] += p
        if len(parts) > 2:
            return None
        low, high = min(parts), max(parts)
        if low < high:
            least, unit = both.exact([claim.n * low])[0], Fraction(high - low, both.under[0])
            found.append((parts[low], parts[high], farthest(secret, claim.n, least, unit)))
    return found
