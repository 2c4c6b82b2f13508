"""The checker's search for the largest log ratio of one record, against all weights tried one by one."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest

from bnpriv.verify.check import ARITHMETIC
from bnpriv.verify.forms import ZERO, decimal
from bnpriv.verify.one_record import Atom, Exchange, NoiseWeights, NoisyRow

searched = import_module("bnpriv.verify.one_record")  # `bnpriv.verify` is a function

Case = tuple[list[Atom], list[NoisyRow], Exchange, Fraction]


def problem(rng: random.Random) -> Case:
    """Draw two distributions of a record on what some numbers and others tell apart, and further records."""
    rates = [
        rng.choice([None, Fraction(1, 10), Fraction(1), Fraction(4), Fraction(1, 3)]) for _ in range(rng.randint(1, 4))
    ]
    levels = [rng.choice([[0, 1], [0, 1], [0, 2, 7], [-1, 0, 3, 4]]) for _ in rates]
    atoms: list[Atom] = [
        (rng.choice("xyz"), tuple(rng.choice(each) for each in levels)) for _ in range(rng.randint(2, 7))
    ]
    atoms = list(dict.fromkeys(atoms))
    ends = [Fraction(rng.choice([0, 0, 1]), 10)] * 2

    def law(end: Fraction) -> dict[Atom, Decimal]:
        weights = [rng.choice([0, 1, 1, 5, 40]) for _ in atoms]
        whole = sum(weights) or 1
        return {a: decimal((1 - end) * Fraction(w, whole)) for a, w in zip(atoms, weights, strict=True) if w}

    further = (atoms, atoms) if any(ends) else ((), ())
    exchange = Exchange(law(ends[0]), law(ends[1]), (decimal(ends[0]), decimal(ends[1])), further)
    return atoms, list(enumerate(rates)), exchange, rng.choice([Fraction(0), Fraction(0), Fraction(1, 2)])


def tried(case: Case) -> float:
    """The largest log ratio over all values of all numbers and all events of what others see."""
    atoms, numbers, exchange, band = case
    values = [sorted({atom[1][row] for atom in atoms}) for row, _ in numbers]
    seen, best = sorted({atom[0] for atom in atoms}), 0.0
    for point in itertools.product(*values):
        weight = {
            atom: math.prod(
                float(u == f) if rate is None else math.exp(-abs(u - f) * rate)
                for u, f, (_, rate) in zip(point, atom[1], numbers, strict=True)
            )
            for atom in atoms
        }
        for chosen in itertools.product((1.0, math.exp(band)), repeat=len(seen)):
            event = dict(zip(seen, chosen, strict=True))
            above, below = (sum(float(p) * weight[a] * event[a[0]] for a, p in law.items()) for law in exchange[:2])
            if exchange.possible[0]:
                above += float(exchange.ends[0]) * math.exp(band) * max(weight.values())
                below += float(exchange.ends[1]) * min(weight.values())
            if above:
                best = max(best, math.log(above / below) if below else math.inf)
    return best


@pytest.mark.parametrize("points", [1, 6, 2**10])
@pytest.mark.parametrize("seed", range(60))
def test_the_search_finds_the_largest_ratio(seed: int, points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MOST_GRID_POINTS", points)
    case = problem(random.Random(seed))
    atoms, numbers, exchange, band = case
    with localcontext(ARITHMETIC):
        weights = NoiseWeights(atoms, numbers, lambda _: None)
        factor = decimal(band).exp()
        found = weights.largest(exchange, factor, ZERO)
        assert float(found) == pytest.approx(tried(case), rel=1e-9, abs=1e-12)
        assert weights.largest(exchange, factor, Decimal(10**6)) == max(found, 10**6)
        if any(rate is None for _, rate in numbers) or not exchange.first:
            return
        box = [(0, len(axis.steps)) for axis in weights.axes]
        assert weights.bound(exchange, factor, box) >= found - Decimal("1e-25")


def test_equal_counts_are_one_axis_and_a_count_of_the_others_too() -> None:
    atoms: list[Atom] = [("", (0, 1, 0)), ("", (1, 0, 0))]
    numbers: list[NoisyRow] = [(0, Fraction(1, 2)), (1, Fraction(1, 3)), (2, Fraction(9))]
    with localcontext(ARITHMETIC):
        weights = NoiseWeights(atoms, numbers, lambda _: None)
        assert [axis.steps for axis in weights.axes] == [[decimal(Fraction(5, 6))]]


def test_a_claim_about_many_counts_is_shown_by_few_boxes() -> None:
    """Twenty counts: of a million points no more than a few are looked at."""
    rng = random.Random(1)
    atoms: list[Atom] = list({("", tuple(rng.randint(0, 1) for _ in range(20))): None for _ in range(20)})
    laws: list[Any] = [{atom: Decimal(rng.randint(1, 9)) for atom in atoms} for _ in range(2)]
    laws = [{atom: p / sum(law.values()) for atom, p in law.items()} for law in laws]
    exchange, spent = Exchange(*laws, (ZERO, ZERO), ((), ())), list[int]()
    with localcontext(ARITHMETIC):
        numbers: list[NoisyRow] = [(row, Fraction(1, 100)) for row in range(20)]
        weights = NoiseWeights(atoms, numbers, spent.append)
        corner = [(len(axis.steps), len(axis.steps)) for axis in weights.axes]
        assert len(corner) > 15
        for _ in range(3):  # a corner that no other one passes by a single number
            for j in range(len(corner)):
                sides = [[*corner[:j], (k, k), *corner[j + 1 :]] for k in (0, 1)]
                corner = max(sides, key=lambda box: weights.on_grid(exchange, Decimal(1), box)[0])
        reached, _ = weights.on_grid(exchange, Decimal(1), corner)
        spent.clear()
        claimed = reached * Decimal("1.0001")
        assert weights.largest(exchange, Decimal(1), claimed) == claimed
    assert sum(spent) < 10**6
