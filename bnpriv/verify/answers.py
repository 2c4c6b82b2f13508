"""The exact laws of the doubles that are released, given each secret."""

from __future__ import annotations

import functools
import math
import operator
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

from bnpriv.verify import forms
from bnpriv.verify.changes import Moves
from bnpriv.verify.claim import Claim, NoisyPair, farthest, pairs_of, shown
from bnpriv.verify.columns import column_values
from bnpriv.verify.networks import Nodes
from bnpriv.verify.normal import TAIL_WORK, curve, exceeding

# --------------------------------------------------------------------------------------------------
# The exact laws of the doubles that are released, given each secret, by convolution with whole-number keys.
# --------------------------------------------------------------------------------------------------


class AnswerLaws:
    """The laws of the answer in the model of a claim."""

    def __init__(self, claim: Claim) -> None:
        self.claim, self.model, self.network = claim, claim.model, claim.network
        public = self.model.get("public_records")
        self.public = forms.WeightedRecords(public, self.model["columns"]) if public else None
        self.corner: Sequence[int] = ()
        """Toward which side of each number to look from far away, 0 for none; empty for the laws themselves."""

    @property
    def models(self) -> int:
        """How many models there are: those of the network, then the draws of public records."""
        return self.network.models + (self.public.draws if self.public else 0)

    def families(self) -> Iterator[tuple[str, forms.Law, forms.Law]]:
        """Yield the laws of the released doubles that are to be alike, for every attribute, model and pair."""
        sides = self.model.get("sides", [])
        for k, (first, second) in enumerate(zip(sides[::2], sides[1::2], strict=True)):
            yield f"pair {k}", self.side(first), self.side(second)
        for (name, secret), theta in product(self.model.get("protect", {}).items(), range(self.models)):
            yield from self.told_apart(name, secret, theta)

    def told_apart(self, name: str, secret: Any, theta: int) -> Iterator[tuple[str, forms.Law, forms.Law]]:
        """Yield the laws that are to be alike for one attribute in one model, for every pair of its secrets."""
        parts = self.given(name, secret, theta)
        pairs: Any = pairs_of(secret, sorted(parts)) if isinstance(secret, dict) else secret
        unordered: dict[Any, Any] = {frozenset(tuple(side) for side in pair): pair for pair in pairs}
        for first, second in unordered.values():
            a, b = (forms.merged([parts[each] for each in side if each in parts]) for side in (first, second))
            if a and b:
                label = f"{name}, {shown((first, second))} in model {theta}"
                yield label, self.released(a), self.released(b)

    def given(self, name: str, secret: Any, theta: int) -> dict[Any, forms.Law]:
        """For every value of a secret the law of the exact sums, times its probability."""
        if self.model["notion"] == forms.DATASET:
            return self.given_property(secret, theta)
        return (
            self.given_value(name, theta) if self.model["notion"] == forms.VALUE else self.given_parameter(name, theta)
        )

    def given_property(self, secret: Any, theta: int) -> dict[Any, forms.Law]:
        """The laws given every value of a property of the table."""
        parts = defaultdict[Any, forms.Law](forms.summed)
        both = self.stacked(secret)
        if len(secret["form"]["offset"]) > 1:
            raise forms.StopError("too large", "the distributions of the answer given several counts at once")
        for key, p in self.power(self.added(both, theta), self.claim.n).items():
            parts[both.exact(key)[0]][key[1:]] += p
        return parts

    def added(self, form: forms.Form, theta: int) -> forms.Law:
        """The law of what one record adds; the models of the network come first, then the draws of public records."""
        draw = theta - self.network.models
        chosen = theta if draw < 0 else draw % self.network.models
        own = forms.summed((form.key(record), p) for record, _, p in self.records(self.network, chosen, form))
        law = own if draw < 0 or self.public is None else self.public.law(form, draw, own, self.claim.spend)
        return self.seen(law)

    def given_value(self, name: str, theta: int) -> dict[Any, forms.Law]:
        """The laws given every value of a column in one record."""
        parts, form = defaultdict[Any, forms.Law](forms.summed), self.claim.form
        for record, (state,), p in self.records(self.network, theta, form, (name,)):
            parts[state][form.key(record)] += p
        seen = {state: self.seen(law) for state, law in parts.items()}
        others = self.power(forms.merged(list(seen.values())), self.claim.n - 1)
        return {state: self.convolved(law, others) for state, law in seen.items()}

    def given_parameter(self, name: str, theta: int) -> dict[Any, forms.Law]:
        """The laws given every state of a parameter."""
        parts, reads = defaultdict[Any, forms.Law](forms.summed), self.claim.form.reads
        nodes, known = [name, *(node for node in self.network.drivers(reads) if node != name)], dict[Any, forms.Law]()
        for cell, p in self.network.joint(nodes, theta, self.claim.spend).items():
            place = dict(zip(nodes, cell, strict=True))
            key = tuple((column, self.index(column, place)) for column in reads)
            if key not in known:
                known[key] = self.power(self.given_states(key), self.claim.n)
            self.claim.spend(len(known[key]))
            for sums, mass in known[key].items():
                parts[self.network.states[name][cell[0]]][sums] += p * mass
        return parts

    def index(self, column: str, place: dict[str, int]) -> int:
        """Which law a column has where the nodes that drive it are in given states."""
        index, states = 0, self.network.states
        for node in self.network.driven.get(column, [column] if column in states else []):
            index = index * len(states[node]) + place[node]
        return index

    def given_states(self, chosen: tuple[tuple[str, int], ...]) -> forms.Law:
        """The law of what one record adds where every column has a given one of its laws."""
        form, laws = self.claim.form, self.model["laws"]
        options = [column_values(form, column, laws[column][k]) for column, k in chosen]
        self.claim.spend(math.prod(map(len, options)))
        cells = [zip(*each, strict=True) for each in product(*options)]
        law = forms.summed(
            (form.key(dict(zip(form.reads, v, strict=True))), math.prod(m, start=forms.ONE)) for v, m in cells
        )
        return self.seen(law)

    def stacked(self, secret: Any) -> forms.Form:
        """The form whose first number is the property of a secret, before those of the query."""
        own, query, shift = secret["form"], self.claim.query, len(secret["form"]["terms"])
        rows = [[[k + shift, weight] for k, weight in row] for row in query["matrix"]]
        facts = {"terms": own["terms"] + query["terms"], "matrix": own["matrix"] + rows}
        return forms.Form({**facts, "offset": own["offset"] + query["offset"]}, self.model["columns"])

    def records(
        self, network: Nodes, theta: int, form: forms.Form, names: Sequence[str] = ()
    ) -> Iterator[tuple[Any, list[Any], Decimal]]:
        """Yield records that stand for all, the states of some nodes in each, and their masses."""
        nodes = [*form.reads, *(name for name in names if name not in form.reads)]
        options: Any = [[self.option(form, n, *s) for s in enumerate(network.states[n])] for n in form.reads]
        for cell, p in network.joint(nodes, theta, self.claim.spend).items():
            states = [network.states[name][cell[nodes.index(name)]] for name in names]
            for chosen in product(*(values[k] for values, k in zip(options, cell, strict=False))):
                self.claim.spend(1)
                record = dict(zip(form.reads, (value for value, _ in chosen), strict=True))
                mass = math.prod((mass for _, mass in chosen), start=p)
                yield record, states, mass

    def option(self, form: forms.Form, name: str, place: int, state: Any) -> list[tuple[Any, Decimal]]:
        """The values of a column in one state of its node, with their masses."""
        if name in self.model.get("laws", {}):
            return column_values(form, name, self.model["laws"][name][place])
        column = form.columns[name]
        if str(state) == forms.UNCOUNTED and (gap := forms.gaps(column)):
            return [(gap[0], forms.ONE)]
        forms.require("edges" not in column, f"the distribution of {name!r:.80} inside its bins")
        named = [each for each in column.get("categories", ()) if str(each) == str(state)]
        value = named[0] if column["type"] == "categorical" else float(state)
        forms.require(named or column["lower"] <= value <= column["upper"], f"a state that is no value of {name!r:.80}")
        return [(value, forms.ONE)]

    def one_record(self, side: Any) -> forms.Law:
        """The law of what one record adds in a network that is a side of a pair."""
        form = self.claim.form
        return self.seen(forms.summed((form.key(r), p) for r, _, p in self.records(Nodes(side["network"]), 0, form)))

    def side(self, facts: Any) -> forms.Law:
        """The law of the answer that one side of a pair of distributions declares."""
        if "left_out" in facts:
            forms.refuse(facts["left_out"])
        if "network" in facts:
            return self.released(self.power(self.one_record(facts), self.claim.n))
        points = [tuple(map(float.fromhex, point)) for point in facts["points"]]
        return forms.merged([{p: forms.number(log).exp() for p, log in zip(points, facts["logs"], strict=True)}])

    def released(self, law: forms.Law) -> forms.Law:
        """The law of the doubles nearest to the exact answers."""
        return forms.summed((tuple(map(float, self.claim.form.exact(key))), mass) for key, mass in law.items())

    def seen(self, law: forms.Law) -> forms.Law:
        """A law as noise shows it far out in a corner: of the numbers of the query only a factor for each is left."""
        if not self.corner:
            return law
        ways, units = zip(self.corner, self.claim.weights, strict=True), self.claim.form.under
        rates = [way * forms.decimal(w / under) / self.claim.scale for (way, w), under in zip(ways, units, strict=True)]
        self.claim.spend(8 * len(law))
        count, n = len(rates), self.claim.n
        far = {k: sum(map(operator.mul, map(Decimal, k[-count:]), rates), forms.ZERO) for k, p in law.items() if p}
        forms.require(
            all(abs(each) * n < MOST_FAR for each in far.values()), "answers too far apart for their exponentials"
        )
        return forms.summed((key[:-count], law[key] * each.exp()) for key, each in far.items())

    def power(self, law: forms.Law, n: int) -> forms.Law:
        """The law of a sum of n independent draws."""
        if n < 2:
            return law if n else {(0,) * len(next(iter(law))): forms.ONE}
        if len(law) != 2:
            half = self.power(law, n // 2)
            even = self.convolved(half, half)
            return self.convolved(even, law) if n % 2 else even
        (a, p), (b, q) = law.items()
        self.claim.spend(n)
        mass, found = p**n, forms.summed()
        for k in range(n + 1):
            found[tuple(x * (n - k) + y * k for x, y in zip(a, b, strict=True))] = mass
            mass = mass * (n - k) * q / ((k + 1) * p)
        return found

    def convolved(self, first: forms.Law, second: forms.Law) -> forms.Law:
        """The law of the sum of two independent numbers."""
        self.claim.spend(len(first) * len(second))
        pairs = product(first.items(), second.items())
        return forms.summed((tuple(map(operator.add, a, b)), p * q) for (a, p), (b, q) in pairs)


# --------------------------------------------------------------------------------------------------
# A bound where the law of all records is too large: the law of one, for every record that may change.
# --------------------------------------------------------------------------------------------------

Case = tuple[forms.Law, forms.Law, int, bool]
"""Laws of what a record adds given each of two secrets, how many may change, and whether no record is anything else."""


def borne_by_records(claim: Claim, answers: AnswerLaws, comparison: NoisyPair) -> bool:
    """Whether the law of one record bears the claim, times the number of records that change."""
    cases = _cases(claim, answers)
    if cases is None:
        return False
    rounding = Moves(claim).rounding
    if claim.normal:
        return _borne_by_sums(claim, answers, comparison, cases, rounding)
    for first, second, records, _ in cases:
        laws = [{tuple(map(Fraction, k, claim.form.under)): p for k, p in law.items()} for law in (first, second)]
        ratio, _ = comparison.largest(forms.merged([laws[0]]), forms.merged([laws[1]]))
        claim.note(records * (ratio.ln() + forms.SLACK) + rounding)
    if claim.worst <= claim.epsilon or not claim.delta:
        return claim.worst <= claim.epsilon
    claim.worst = forms.ZERO
    return _borne_by_sums(claim, answers, comparison, cases, rounding)


def _borne_by_sums(
    claim: Claim, answers: AnswerLaws, comparison: NoisyPair, cases: Sequence[Case], rounding: Decimal
) -> bool:
    """Whether the records that change bear the claim together, but for delta: docs/claims/k_fold.md."""
    # rounded answers are apart by epsilon behind Laplace noise, in total variation behind normal noise
    level = claim.epsilon - (forms.ZERO if claim.normal else rounding)
    left = claim.delta * (1 - forms.SLACK) - (1 + claim.epsilon.exp()) * rounding / 4 * claim.normal
    if level <= 0 or left <= 0:
        return False
    for one, other, records, two_classes in cases:
        first, second = ({tuple(map(Fraction, k, claim.form.under)): p for k, p in law.items()} for law in (one, other))
        first, second = forms.merged([first]), forms.merged([second])
        if not two_classes:
            return False
        if _coupled(claim, comparison, (first, second), records, level, left):
            continue
        for j in range(1, records + 1):
            sums = [answers.power(law, j) for law in (first, second)]
            if rounding * (not claim.normal) or max(comparison.excess(*both)[1] for both in (sums, sums[::-1])) > left:
                return False
    claim.bounded("by the records that change", claim.epsilon)
    return True


def _coupled(
    claim: Claim, comparison: NoisyPair, laws: tuple[forms.Law, forms.Law], records: int, level: Decimal, left: Decimal
) -> bool:
    """Whether it is enough that most of the records that change add the same under both secrets."""
    first, second = exceeding(*laws), exceeding(*laws[::-1])
    part = min(forms.ONE, sum(first.values(), forms.SLACK))
    claim.spend(len(first) * len(second))
    far = max((comparison.apart(x, y) for x in first for y in second), default=forms.ZERO)

    def told_by(m: int) -> Decimal:
        claim.spend(2 * TAIL_WORK)
        return curve(m * far, level) if claim.normal else Decimal(m * far > level)

    same, told, rest = forms.ONE - part, forms.ZERO, forms.ONE
    mass = same**records if same else forms.ZERO
    for m in range(records) if same else ():
        told, rest = told + mass * told_by(m), rest - mass
        if told > left or rest <= left * forms.SLACK:
            break
        mass *= part * (records - m) / ((m + 1) * same)
    return told + max(forms.ZERO, rest) * told_by(records) + forms.SLACK * left <= left


def exchanges(
    answers: AnswerLaws, secret: Any, values: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[Any, Any]], int] | None:
    """The classes between which records move from one secret of a pair to the other, and how many do at most.

    None where the property is a sum of many values. A class is what its records add to the property.
    """
    both, n = answers.stacked(secret), answers.claim.n
    if len(secret["form"]["offset"]) > 1:  # one class for every vector: a record may move from any to any other
        forms.require(not answers.public, "several counts at once in models of public records")
        return list(combinations(values, 2)), farthest(secret, n, Fraction(0), Fraction(1))
    # of two values, or three that are equally far apart, one record moves for every unit (docs/claims/classes.md)
    apart = {b - a for (a,), (b,) in pairwise(values)}
    if len(values) > 3 or len(apart) > 1:
        return None
    if not apart:
        return [], 0
    (unit,) = apart
    least, steps = both.exact([n * values[0][0]])[0], n * (len(values) - 1)
    return list(pairwise(values)), farthest(secret, steps, least, Fraction(unit, both.under[0]))


def _cases(claim: Claim, answers: AnswerLaws) -> list[Case] | None:
    """What is to be compared; None where the bound is not known for it."""
    found, sides = list[Case](), claim.model.get("sides", [])
    if any("network" not in side for side in sides):
        return None
    for first, second in zip(sides[::2], sides[1::2], strict=True):
        found.append((answers.one_record(first), answers.one_record(second), claim.n, True))
    for secret, theta in product(claim.model.get("protect", {}).values(), range(answers.models)):
        if claim.model["notion"] != forms.DATASET:
            return None
        both, numbers = answers.stacked(secret), len(secret["form"]["offset"])
        parts = defaultdict[tuple[int, ...], forms.Law](forms.summed)
        for key, p in answers.added(both, theta).items():
            parts[key[:numbers]][key[numbers:]] += p
        ways = exchanges(answers, secret, sorted(parts))
        if ways is None:
            return None
        found += [(parts[a], parts[b], ways[1], len(parts) == 2) for a, b in ways[0]]
    return found


# --------------------------------------------------------------------------------------------------
# Where that bears nothing: outputs beyond all answers may refute a claim (docs/claims/tight.md, beyond all answers).
# --------------------------------------------------------------------------------------------------

MOST_FAR = 10**16
"""Scales of the noise, beyond which exponentials of how far answers are apart could vanish."""

FAR_SLACK = Decimal("1e-30")
"""Far above what rounding to 60 digits can add to a log of powers of up to 2^62 factors."""


def refuted_beyond(claim: Claim, answers: AnswerLaws) -> None:
    """Stop where outputs beyond all answers refute a claim without delta; seek the corner number by number."""
    if claim.delta or claim.normal or not claim.scale or not all("network" in s for s in claim.model.get("sides", ())):
        return
    count, found = len(claim.weights), dict[Any, tuple[Decimal, str]]()
    try:
        claim.work, lost = 0, Moves(claim).rounding + FAR_SLACK
        plain = [(each, _compared(answers, each[1], *each[3:])) for each in _beyond(answers, [0] * count)]
        for start in (1, -1):
            claim.work, corner = 0, (start,) * count
            for j in range(-1, count):
                tried = tuple(-way if k == j else way for k, way in enumerate(corner))
                if tried not in found:
                    found[tried] = _told_beyond(answers, tried, plain)
                told, label = found[tried][0] - lost, found[tried][1]
                if told > claim.epsilon:
                    text = f"epsilon is {told:.9g} or more where {claim.epsilon:.9g} is claimed, an output beyond all"
                    sides = ", ".join("above" if way > 0 else "below" for way in tried)[:80]
                    raise forms.StopError("fails", f"{text} answers ({sides}) of {label} shows it")
                corner = max(corner, tried, key=lambda each: found[each][0])
    except (forms.StopError, ArithmeticError, MemoryError) as stop:
        if stop.args[:1] == ("fails",):
            raise


def _beyond(answers: AnswerLaws, corner: Sequence[int]) -> Iterator[Any]:
    """Yield attributes, secrets and models, what is left of values in a corner, and whether it is of one record."""
    answers.corner, model = corner, answers.model
    sides = model.get("sides", [])
    for k, both in enumerate(zip(sides[::2], sides[1::2], strict=True)):
        yield f"pair {k}", [((0,), (1,))], 0, {j: sum(answers.side(s).values()) for j, s in enumerate(both)}, False
    for (name, secret), theta in product(model.get("protect", {}).items(), range(answers.models)):
        if model["notion"] == forms.DATASET and "pairs" not in secret:
            # of two classes, or several counts, all records that change may change alike, so that one tells enough
            added = answers.added(answers.stacked(secret), theta)
            if len(added) == 2 or len(secret["form"]["offset"]) > 1:
                yield name, secret, theta, added, True
                continue
        laws = answers.given(name, secret, theta)
        yield name, secret, theta, {v: sum(law.values()) for v, law in laws.items()}, False


def _compared(answers: AnswerLaws, secret: Any, masses: forms.Law, of_one: bool) -> tuple[Any, int]:
    """The pairs of sets of values that are compared, and how many records change by themselves between them."""
    if "form" not in secret:
        return secret, 1
    values = sorted(v for v, p in masses.items() if p)
    if of_one:
        ways, records = exchanges(answers, secret, values) or (list[Any](), 0)
        return [((a,), (b,)) for a, b in ways], records
    if "pairs" in secret:
        answers.claim.spend(len(values) * sum(len(side) for pair in secret["pairs"] for side in pair))
        return pairs_of(secret, values), 1
    most = secret.get("at_most", math.inf) * (1 + 1e-12)
    last = [values[bisect_right(values, most, key=functools.partial(operator.add, -a)) - 1] for a in values]
    return [((a,), (b,)) for a, b in zip(values, last, strict=True)], 1


def _told_beyond(answers: AnswerLaws, corner: Sequence[int], plain: Sequence[Any]) -> tuple[Decimal, str]:
    """The largest log ratio of two densities in a corner, and what it is of."""
    best = forms.ZERO, ""
    for (name, _, theta, far, of_one), (each, (pairs, records)) in zip(_beyond(answers, corner), plain, strict=True):
        for pair in pairs if records else ():
            sides = [[v for v in side if each[3].get(v)] for side in pair]
            if all(sides):
                a, b = (sum((far[v] for v in side), forms.ZERO) / sum(each[3][v] for v in side) for side in sides)
                if (told := records * abs((a / b).ln())) > best[0]:
                    what = f"values that {records:,} records change" if of_one else shown(pair)[:200]
                    best = told, f"{name}, {what} in model {theta}"
    return best


# --------------------------------------------------------------------------------------------------
# Laws of columns that refute a promise of quilts: declared ones, or columns that show their parameters.
#
# A quilt bears a claim whatever the columns are like, given the parameters that drive them. Where none bears it, the
# claim is false if it is false under some laws of columns; otherwise nothing is shown.
# --------------------------------------------------------------------------------------------------


def by_quilts_unless_refuted(claim: Claim) -> str:
    """What holds by the best quilts; where none suffices, look for laws of columns that refute the claim."""
    moves = Moves(claim)
    try:
        return moves.by_quilts()
    except forms.StopError as stop:
        if stop.args[0] != forms.UNSHOWN:
            raise
        unshown = stop
    claim.work, claim.worst = 0, forms.ZERO
    try:
        # compare the laws of the answer for every attribute, model and pair
        answers, comparison, declared = AnswerLaws(claim), NoisyPair(claim), claim.model.get("laws", {})
        free = [name for name in claim.form.reads if name not in declared]
        told = f" where every record of {', '.join(free)} shows its parameter"[:200] if free else ""
        _, *records = moves.changes.shown(claim.n)
        for (name, pairs), theta in product(claim.model["protect"].items(), range(claim.network.models)):
            for pair in pairs:
                laws = {column: _showing(claim, column, name, pair, theta, records) for column in free}
                answers.model = {**claim.model, "laws": {**declared, **laws}}
                for label, first, second in answers.told_apart(name, [pair], theta):
                    comparison.compare(label + told, first, second)
    except forms.StopError as stop:
        if stop.args[0] == "fails":
            raise
    raise unshown


def _showing(claim: Claim, column: str, name: str, pair: Any, theta: int, records: list[Any]) -> list[Any]:
    """A law for every state of what drives a column: what one record holds, or another, by its chances."""
    states, chances = claim.network.states, (forms.summed(), forms.summed())
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
