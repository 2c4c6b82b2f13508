"""Laws of columns that refute a promise of quilts: declared ones, or columns that show their parameters.

A quilt bears a claim whatever the columns are like, given the parameters that drive them. Where none bears it, the
claim is false if it is false under some laws of columns; otherwise nothing is shown.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from bnpriv.verify.answers import AnswerLaws
from bnpriv.verify.claim import Claim
from bnpriv.verify.compared import NoisyPair
from bnpriv.verify.moves import Moves
from bnpriv.verify.values import UNSHOWN, ZERO, StopError, summed


def by_quilts_unless_refuted(claim: Claim) -> str:
    """What holds by the best quilts; where none suffices, look for laws of columns that refute the claim."""
    moves = Moves(claim)
    try:
        return moves.by_quilts()
    except StopError as stop:
        if stop.args[0] != UNSHOWN:
            raise
        unshown = stop
    claim.work, claim.worst = 0, ZERO
    try:
        _refute(claim, moves)
    except StopError as stop:
        if stop.args[0] == "fails":
            raise
    raise unshown


def _refute(claim: Claim, moves: Moves) -> None:
    """Compare the laws of the answer for every attribute, model and pair."""
    answers, comparison, declared = AnswerLaws(claim), NoisyPair(claim), claim.model.get("laws", {})
    free = [name for name in claim.form.reads if name not in declared]
    told = f" where every record of {', '.join(free)} shows its parameter"[:200] if free else ""
    _, *records = moves.changes.shown()
    for (name, pairs), theta in product(claim.model["protect"].items(), range(claim.network.models)):
        for pair in pairs:
            laws = {column: _showing(claim, column, name, pair, theta, records) for column in free}
            answers.model = {**claim.model, "laws": {**declared, **laws}}
            for label, first, second in answers.told_apart(name, [pair], theta):
                comparison.compare(label + told, first, second)


def _showing(claim: Claim, column: str, name: str, pair: Any, theta: int, records: list[Any]) -> list[Any]:
    """A law for every state of what drives a column: what one record holds, or another, by its chances."""
    states, chances = claim.network.states, (summed(), summed())
    nodes = claim.network.driven.get(column, [column] if column in states else [])
    for (secret, *places), p in claim.joint(name, *nodes, theta=theta).items():
        for side, chosen in zip(chances, pair, strict=True):
            if states[name][secret] in chosen:
                side[tuple(places)] += p
    first, second = chances
    masses = [sum(each.values()) for each in chances]
    claim.spend(math.prod(len(states[node]) for node in nodes))
    cells = product(*(range(len(states[node])) for node in nodes))
    likelier = [first[cell] * masses[1] >= second[cell] * masses[0] for cell in cells]
    return [{"values": [records[not each][column]], "masses": ["0x1p+0"]} for each in likelier]
