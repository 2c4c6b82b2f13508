"""Recount what several releases tell together, from a stored transcript (docs/claims/accountant.md).

At one transcript all answers are one answer with noise of several scales, whatever was asked after what was seen. So
what bounds one answer, for every pair of tables or of distributions of a record, bounds the total of all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

from bnpriv.verify.changes import Changes, Moves
from bnpriv.verify.claim import HIDE_RECORDS, MOST_WORK, Claim, shown
from bnpriv.verify.forms import (
    DATASET,
    INFINITE,
    ONE,
    SLACK,
    UNSHOWN,
    VALUE,
    ZERO,
    Form,
    StopError,
    columns_of,
    decimal,
    fraction,
    refuse,
    require,
    united,
)
from bnpriv.verify.networks import IntervalNodes, Nodes, NormalNodes
from bnpriv.verify.normal import gaussian_epsilon
from bnpriv.verify.one_record import NoisyRow, OneRecord, swapped

MOST_RECOUNT_WORK = 16 * MOST_WORK
"""Products of masses in the recount of one total: some ten seconds."""

MOST_CHECKED = 2**8
"""The most releases after each of which the total is counted again; of more the last total only."""

LARGEST_WITH_DELTA = 8
"""What theorem 5 counts up to."""

LAWS_OF_NOISE = {"laplace": "Laplace", "gaussian": "Gaussian", None: "NoNoise"}
FAMILIES = ("column", "quilt", "records", "own law")
WORDS_TRUSTED = "that the words (queries, secrets) say what the numbers and forms say"
LATER = "that the ledger ends here: compare the hash with the last one that a release printed"


def recounted(record: Any, model: Any, trusted: list[str], replayed: Callable[[Claim], str]) -> str:
    """In words what all releases of a transcript tell together, after each of them.

    Parameters
    ----------
    record, model : dict
        The transcript, and the model that is to bear its totals.
    trusted : list of str
        What is not checked is added.
    replayed : callable
        Replays the claim of a single release.
    """
    delta, charges, told = fraction(record["delta"]), record["charges"], ""
    trusted[0] = WORDS_TRUSTED
    if record["rows"]:
        charges, told = chained(record["rows"], delta)
        _intact(record["rows"][0]["payload"]["framework"] == record["framework"], "an account of another framework")
        trusted.append(LATER)
    require(charges, "a transcript without a release")
    together = _Together(record, model, [each["entry"] for each in charges], trusted, replayed)
    totals = {k: fraction(each["total"]) for k, each in enumerate(charges, start=1) if each["total"] is not None}
    last, said = len(charges), ""
    require(last in totals, "a transcript of which nothing bounds the total")
    for number in (last, *(k for k in totals if k < last <= MOST_CHECKED)):
        try:
            how = together.borne(number, totals[number], delta, MOST_RECOUNT_WORK // (1 if number == last else last))
        except StopError as stop:
            if stop.args[0] == "too large" and number < last:
                trusted.append(f"the totals after release {number:,} and later ones, but for the last")
                break
            raise StopError(stop.args[0], f"{stop.args[1]}, after release {number:,} of {last:,}") from None
        said = said or how
    if MOST_CHECKED < last == len(totals):
        trusted.append("the totals before the last one")
    several = "1 release" if last == 1 else f"{last:,} releases"
    beside = f" but for delta {float(delta):.6g}" if delta else ""
    return f"epsilon {float(totals[last]):.9g}{beside} for {several} together, {said}{told}"


# --------------------------------------------------------------------------------------------------
# The chain of an account (docs/claims/ledger.md): the row that opened it, and its own rows.
# --------------------------------------------------------------------------------------------------


def chained(rows: Sequence[Any], delta: Fraction) -> tuple[list[Any], str]:
    """What was charged to the account of some rows, and in words where they end.

    Raises
    ------
    StopError
        If a row does not follow from those before it, or a total passes the budget.
    """
    opening, *others = rows
    account, start = opening["payload"], opening["hash"]
    _followed([opening], opening["previous"], opening["sequence"])
    named = opening["kind"] == "account" and {row["chain"] for row in others} <= {account["number"]}
    _intact(named, "rows of other accounts")
    charges, waiting = dict[int, Any](), set[int]()
    for row in _followed(others, start):
        payload = row["payload"]
        if row["kind"] == "charge":
            charges[row["sequence"]] = payload
            waiting.add(row["sequence"])
            _intact(fraction(payload["total"]) <= fraction(account["epsilon"]), "a charge above the budget")
        else:
            _intact(row["kind"] == "answer" and payload["charge"] in waiting, "an answer without a charge")
            waiting.remove(payload["charge"])
    keys = [each["key"] for each in charges.values() if each["key"] is not None]
    _intact(len(keys) == len(set(keys)), "a key that was used twice")
    _intact(fraction(account["delta"]) == delta, "another delta than that of the budget")
    budget = float(fraction(account["epsilon"]))
    ends = f"the {len(rows):,} rows of its account follow from each other, up to {rows[-1]['hash']}"
    return list(charges.values()), f", within a budget of {budget:.9g}; {ends}"


def _followed(rows: Sequence[Any], head: str, first: int = 0) -> Sequence[Any]:
    for place, row in enumerate(rows, start=first):
        written = [head, place, row["kind"], row["payload"]]
        text = json.dumps(written, sort_keys=True, separators=(",", ":"), allow_nan=False)
        found = hashlib.sha256(text.encode()).hexdigest()
        same = row["previous"] == head and row["sequence"] == place and row["hash"] == found
        _intact(
            same, f"row {place} of chain {row['chain']} of the ledger, which does not follow from what is before it"
        )
        head = found
    return rows


def _intact(condition: object, what: str) -> None:
    if not condition:
        raise StopError("fails", what)


# --------------------------------------------------------------------------------------------------
# What some releases tell together.
# --------------------------------------------------------------------------------------------------


class _Release:
    """A release as a ledger keeps it, with the normal form of its query; None where there is none."""

    def __init__(self, entry: Mapping[str, Any], record: Any, model: Any) -> None:
        self.entry, self.family, self.columns = entry, entry["family"], set(entry["columns"])
        self.epsilon, self.delta = fraction(entry["epsilon"]), fraction(entry["delta"])
        self.noise, self.scale = entry["noise"], Fraction(float.fromhex(entry["scale"]))
        self.outside = [fraction(each) for each in entry.get("record", ())]
        self.facts = None if self.outside else record["forms"].get(entry["query"])
        self.form = None if self.facts is None or "left_out" in self.facts else Form(self.facts, model["columns"])
        self.written = [float.fromhex(each) for each in entry["weights"]]
        self.weights = list(map(Fraction, self.written)) or [Fraction(1)] * (len(self.form.rows) if self.form else 1)
        known = self.family in FAMILIES and self.noise in LAWS_OF_NOISE and (self.noise is None or self.scale > 0)
        require(known and min(self.weights) > 0 <= self.epsilon and 0 <= self.delta < 1, "a release out of range")
        if self.form and (set(self.form.reads) != self.columns or len(self.weights) != len(self.form.rows)):
            raise StopError("fails", f"a query with other columns or numbers than it says: {entry['query']!r:.80}")

    @property
    def named(self) -> str:
        """It in words."""
        return f"{self.entry['mechanism']} of {self.entry['query']!r:.60}"

    @property
    def record(self) -> Any:
        """It as a calibration that claims what it promises by itself."""
        law = LAWS_OF_NOISE[self.noise]
        name, _, options = self.entry["mechanism"].partition("(")
        name = "TightMechanism" if name in HIDE_RECORDS else name  # what it promises of the secrets alone
        name = "ColumnMechanism" if self.family == "column" else name
        return _calibration(
            self.facts,
            name,
            {"law": "DiscreteLaplace" if law == "Laplace" and "discrete" in options else law},
            (float(self.scale) if self.noise else 0.0, self.written),
            (float(self.epsilon), float(self.delta)),
        )


def _calibration(facts: Any, name: str, noise: Any, drawn: tuple[float, Any], promised: tuple[float, float]) -> Any:
    scale, weights = drawn
    return {
        "mechanism": {"name": name, "options": {}},
        "form": facts,
        "noise": {**noise, "scale": scale, "exact_scale": scale.hex(), "weights": weights or None,
                  "dimension": len(facts["offset"])},
        "guarantee": {"epsilon": promised[0], "delta": promised[1]},
        "epsilon": promised[0],
    }  # fmt: skip


class _Together:
    """The releases of a transcript under one model."""

    def __init__(
        self, record: Any, model: Any, entries: Sequence[Any], trusted: list[str], replayed: Callable[[Claim], str]
    ) -> None:
        self.model, self.fixed, self.trusted, self.replayed = model, record["fixed"], trusted, replayed
        self.releases = [_Release(entry, record, model) for entry in entries]
        self.limit, self.n = MOST_RECOUNT_WORK, model["records"]
        self.known, self.changes, self.work = set[int](), dict[int, Changes](), 0

    def borne(self, number: int, total: Fraction, delta: Fraction, limit: int) -> str:
        """In words what bears that the first releases tell no more than a total, but for delta."""
        self.limit, self.work = limit, 0
        releases = self.releases[:number]
        modelled = [each for each in releases if each.family != "column"]
        columns = [each for each in releases if each.family == "column"]
        families = {each.family for each in modelled}
        if len(families) > 1 or (families == {"own law"} and len(modelled) > 1):
            raise StopError("fails", "releases that no theorem counts together")
        require(all(each.entry["kind"] != "estimate" for each in modelled), "a release that rests on an estimate")
        for each in columns:
            self.by_itself(each)
        rest = total - sum((each.epsilon for each in columns), Fraction(0))
        room = delta - sum((each.delta for each in columns), Fraction(0))
        _bear(rest >= 0 and room >= 0, "the columns that are hidden cost more than the total")
        if not modelled:
            return "whatever the model is"
        stated = any(self.model.get(each) for each in ("protect", "sides", "chain", "left_out"))
        require(stated, "a transcript that protects nothing")
        before = releases[: releases.index(modelled[0])]
        _bear(not any(each.delta for each in before), "a column release with a delta comes before others")
        grown = decimal(sum((each.epsilon for each in before), Fraction(0))).exp()
        pure, own = not any(each.delta for each in releases), modelled[0]
        ways = list[Callable[[], str]]()
        if pure and families != {"own law"}:
            theorem = self.by_quilts if families == {"quilt"} else self.by_records
            ways.append(lambda: theorem(modelled, rest))
        if self.fixed and delta and (families == {"quilt"} or not columns):
            counted = self.by_fixed_quilts if families == {"quilt"} else self.by_records_with_delta
            ways.append(lambda: counted(modelled, rest, delta, room, grown))
        # with delta either the first release by itself counts or what it fixed, whatever follows
        if len(modelled) == 1 and not own.outside and (pure or not self.fixed or own is releases[-1]):
            ways.append(lambda: self.alone(own, rest, room, grown))
        require(ways, "releases that no theorem counts at this delta")
        refused = list[StopError]()
        for way in ways:
            try:
                return way()
            except StopError as stop:
                if stop.args[0] == "fails":
                    raise
                refused.append(stop)
        # where a way was too large, that no other bears the total says nothing
        raise next((each for each in refused if each.args[0] != UNSHOWN), refused[-1])

    def alone(self, own: _Release, rest: Fraction, room: Fraction, grown: Decimal) -> str:
        """What the only release that counts by the model promises by itself."""
        _bear(own.epsilon <= rest, f"{own.named} promises {float(own.epsilon):.9g} by itself")
        _bear(decimal(own.delta) * grown <= decimal(room) + SLACK, f"{own.named} has a larger delta by itself")
        self.by_itself(own)
        return "by what one release promises by itself, and columns that are hidden"

    def by_itself(self, release: _Release) -> None:
        """Replay what a release promises by itself; what cannot be is left to trust."""
        if id(release) in self.known:
            return
        self.known.add(id(release))
        try:
            require(release.form and not (release.noise is None and release.family == "own law"), "a release")
            self.replayed(Claim(release.record, self.model))
        except StopError as stop:
            if stop.args[0] not in ("not covered", "too large"):
                raise StopError(stop.args[0], f"{release.named}: {stop.args[1]}") from None
            self.trust(f"what {release.named} promises by itself: check its own JSON")

    def stacked(self, releases: Iterable[_Release]) -> tuple[Claim, dict[int, int]]:
        """All queries of some releases as one, each once, and where the numbers of each release start in it."""
        facts: Any = {"terms": [], "matrix": [], "offset": []}
        starts, known = dict[int, int](), dict[str, int]()
        for each in releases:
            if each.facts is None or each.form is None:
                continue
            if each.entry["query"] not in known:
                known[each.entry["query"]] = len(facts["offset"])
                shift = len(facts["terms"])
                facts["terms"] += each.facts["terms"]
                facts["matrix"] += [[[k + shift, weight] for k, weight in row] for row in each.facts["matrix"]]
                facts["offset"] += each.facts["offset"]
            starts[id(each)] = known[each.entry["query"]]
        record = _calibration(facts, "together", {"law": "Laplace"}, (1.0, []), (1.0, 0.0))
        return Claim(record, self.model, self.limit), starts

    def moves(self, releases: Sequence[_Release]) -> Moves:
        """What it costs to hide columns in all releases with Laplace noise, or none, that count by quilts."""
        added = [each for each in releases if each.noise != "gaussian"]
        moves = Moves(
            self.stacked(releases)[0], lambda moving, n: sum((self.shift(each, moving, n) for each in added), ZERO)
        )
        moves.form.reads = sorted(set[str]().union(*(each.columns for each in releases)))
        return moves

    # theorem 1

    def by_quilts(self, releases: Sequence[_Release], rest: Fraction) -> str:
        """The influence of far columns once, and what each noise lets through of the near ones."""
        if "left_out" in self.model:
            refuse(self.model["left_out"])
        moves = self.moves(releases)
        if "normal" not in self.model:
            moves.claim.epsilon = decimal(rest) + SLACK
            return moves.by_quilts()
        # what is correlated with a normal number shows it without bound, all else nothing
        nodes, records = NormalNodes(self.model["normal"]), 1 if self.model["notion"] == VALUE else self.n
        known = {*nodes.states, *nodes.driven, *self.model.get("independent", ())}
        require(known.issuperset(moves.form.reads), "a column of which the model says nothing")
        for name, theta in product(self.model["protect"], range(nodes.models)):
            _, shared = nodes.law(theta)
            near = {c for c in moves.form.reads if any(shared[name, node] for node in nodes.drivers([c]))}
            told = moves.cost(near, records)
            _bear(told <= decimal(rest) + SLACK, f"the noise costs {told:.9g} for {name}")
        return "by the noise on all columns that are correlated with what is protected"

    # theorem 4

    def by_records(self, releases: Sequence[_Release], rest: Fraction) -> str:
        """What all answers tell of one record, for every record that secrets exchange."""
        require(self.model["notion"] == DATASET, "records as secrets of another notion")
        if "left_out" in self.model:
            refuse(self.model["left_out"])
        require(all(each.outside or (each.form and each.noise != "gaussian") for each in releases), "a custom query")
        _bear(not any(each.outside and each.outside[1] for each in releases), "another tool's release has a delta")
        rounding = sum((self.rounding(each) for each in releases if each.noise), Fraction(0))
        for name, secret in self.model["protect"].items():
            seen = [each for each in releases if each.form or self.is_seen(each.columns)]
            beside = sum((each.outside[0] for each in releases if each not in seen), Fraction(0))
            parts = [self.part(part) for part in self.parts(name, secret, seen) or [[]]]
            swapped(parts, secret, decimal(rest - rounding), decimal(beside))
        return "by what all answers tell of one record, for every record that may change"

    def rounding(self, release: _Release) -> Fraction:
        """What rounding to doubles adds, in scales of the noise."""
        form: Any = release.form
        changes = Changes(form, release.weights, self.n, lambda _: None)
        return sum((changes.limits(k)[1] for k in changes.all), Fraction(0)) / release.scale

    def is_seen(self, columns: set[str]) -> bool:
        """Whether the distribution of what others read is known: by states, and of public records by categories."""
        if "public_records" not in self.model:
            return columns <= Nodes(self.model["network"]).states.keys()
        laws, facts = self.model.get("laws", {}), self.model["columns"]
        return all(facts[name]["type"] == "categorical" and name not in laws for name in columns)

    def part(self, releases: Sequence[_Release]) -> OneRecord:
        """What is seen of a record through some releases."""
        claim, starts = self.stacked(releases)
        numbers = list[NoisyRow]()
        for each in releases:
            for k, weight in enumerate(each.weights if each.form else ()):
                row = starts[id(each)] + k
                numbers.append((row, weight / each.scale / claim.form.under[row] if each.noise else None))
        seen = sorted(set[str]().union(*(each.columns for each in releases if each.outside)))
        return OneRecord(claim, numbers, seen, sum((e.outside[0] for e in releases if e.outside), Fraction(0)))

    def parts(self, name: str, secret: Any, releases: Sequence[_Release]) -> list[list[_Release]]:
        """Releases in groups of which the columns are independent given the class: apart in the moral graph."""
        network = self.model["network"]
        nodes, read = network["nodes"], set[str]().union(*map(columns_of, secret["form"]["terms"]))
        whole = "graphs" in network or "public_records" in self.model or name in self.model.get("laws", {})
        if whole or read != {name} or len(nodes[name]["states"]) != 2:
            return [list(releases)]
        above = {name}.union(*(each.columns for each in releases))
        while more := {parent for each in above for parent in nodes[each]["parents"]} - above:
            above |= more
        tied = united({each, *nodes[each]["parents"]} - {name} for each in above)
        groups = list[tuple[set[str], list[_Release]]]()
        for each in releases:
            reads = set[str]().union(*(tie for tie in tied if tie & each.columns))
            met = [group for group in groups if group[0] & reads]
            groups = [group for group in groups if group not in met]
            groups.append((reads.union(*(r for r, _ in met)), [*(e for _, es in met for e in es), each]))
        return [group for _, group in groups]

    # theorem 5

    def by_records_with_delta(
        self, releases: Sequence[_Release], rest: Fraction, delta: Fraction, room: Fraction, grown: Decimal
    ) -> str:
        """What a coupling of one record on all columns that may be read lets through, record by record."""
        fixed = set(self.fixed["columns"])
        _bear(
            grown == 1 and room == delta and all(each.columns <= fixed for each in releases), "other columns are read"
        )
        most = Decimal(LARGEST_WITH_DELTA)
        for secret in self.model["protect"].values():
            known = self.is_seen(fixed)
            one = OneRecord(self.stacked(())[0], (), sorted(fixed) if known else (), Fraction(0))
            cases, records = one.exchanges(secret)
            far, apart = max(records.values(), default=0), ONE
            if known:
                apart = max((each for case in cases.values() for each in case.apart()), default=ZERO)
            if not far:
                continue
            swaps = (most.exp() - 1) / ((most / far).exp() - 1) * apart
            told, failing = ZERO, ZERO
            for each in releases:
                if each.outside:
                    told, failing = told + decimal(each.outside[0]), failing + decimal(each.outside[1]) * swaps
                elif each.noise == "gaussian":
                    told += gaussian_epsilon(self.shift(each, each.columns, 1), decimal(each.delta) / swaps)
                    failing += decimal(each.delta)
                else:
                    told += self.shift(each, each.columns, 1)
            _bear(told < 10**6, "a release without noise")
            told = far * (1 + apart * (told.exp() - 1)).ln()
            _bear(told <= min(most, decimal(rest) + SLACK), f"it is {told:.9g}")
            _bear(failing <= decimal(delta) + SLACK, f"delta is {failing:.9g}")
        return "by a coupling of one record on all columns that may be read"

    def shift(self, release: _Release, moving: set[str], records: int) -> Decimal:
        """How far changes of some columns move an answer, in scales of its noise."""
        moving = moving & release.columns
        if release.form is None:
            self.trust(f"how far a change of its columns moves the answer to {release.entry['query']!r:.60}")
            far = Fraction(float.fromhex(release.entry["moved"])) if moving else Fraction(0)
            steps = release.entry.get("steps")
            far = min(far, sum((Fraction(float.fromhex(steps[c])) for c in moving), Fraction(0))) if steps else far
        else:
            if id(release) not in self.changes:
                norm = 2 if release.noise == "gaussian" else 1
                self.changes[id(release)] = Changes(release.form, release.weights, self.n, self.spend, norm)
            far = self.changes[id(release)].bound(moving, records)
        return decimal(far / release.scale) if release.noise else INFINITE if far else ZERO

    # theorem 3

    def by_fixed_quilts(
        self, releases: Sequence[_Release], rest: Fraction, delta: Fraction, room: Fraction, grown: Decimal
    ) -> str:
        """The same sets of near columns for all releases, with a delta for what the others tell and one for noise."""
        require("network" in self.model, "totals with delta over a network without tables")
        fixed, told = set(self.fixed["columns"]), decimal(fraction(self.fixed["told"]))
        self.trust("that the near columns and their part of the delta were fixed by the first release")
        gaussian = [each for each in releases if each.noise == "gaussian"]
        failing = (sum((decimal(each.delta) for each in gaussian), ZERO) + told) * grown
        _bear(failing <= decimal(room) + SLACK, "the deltas of the releases are larger")
        _bear(all(each.columns <= fixed for each in releases), "other columns are read than the first release fixed")
        moves, records = self.moves(releases), 1 if self.model["notion"] == VALUE else self.n
        moves.form.reads = sorted(fixed)
        network, free = moves.claim.network, self.model.get("independent", ())
        require(fixed <= {*network.states, *network.driven, *free}, "a column of which the model says nothing")
        for name, pairs in self.model["protect"].items():
            given: Any = self.fixed["near"][name]
            both = [[*way] for pair in pairs for way in (pair, pair[::-1])]
            _intact(all(way in given["pairs"] for way in both), "near columns that are not fixed for every pair")
            costs = list[Decimal]()
            for near in map(set, given["sets"]):
                _intact(
                    all(c in near for c in fixed if name in network.drivers([c])), "a near set without its own columns"
                )
                by_noise = sum(
                    (gaussian_epsilon(self.shift(e, near, records), decimal(e.delta)) for e in gaussian), ZERO
                )
                costs.append(moves.cost(near, records) + by_noise)
            ordered: list[Any] = given["pairs"]
            for theta, (k, (first, second)) in product(range(network.models), enumerate(ordered)):
                chosen: int = given["chosen"][theta][k]
                near, left = set(given["sets"][chosen]), decimal(rest) - costs[chosen] + SLACK
                if isinstance(network, IntervalNodes):
                    seen = network.drivers([column for column in moves.form.reads if column not in near])
                    told_apart = network.told(name, seen, (first, second), left, moves.claim.spend)
                    _bear(told_apart <= left, f"{name} is told by {told_apart:.9g}, {shown((first, second))}")
                    continue
                a, b = moves.far_laws(name, theta, (first, second), near)
                if not a or not b:
                    continue
                passed = (
                    sum((max(ZERO, p - left.exp() * b.get(q, ZERO)) for q, p in a.items()), ZERO) if left >= 0 else ONE
                )
                _bear(
                    passed <= told + SLACK, f"the noise costs {costs[chosen]:.9g} for {name}, {shown((first, second))}"
                )
        return "by the sets of near columns that the first release fixed"

    def trust(self, what: str) -> None:
        """Note what is left to trust, once."""
        self.trusted += [] if what in self.trusted else [what]

    def spend(self, cost: int) -> None:
        """Note products of masses; stop where they are too many."""
        self.work += cost
        if self.work > self.limit:
            raise StopError("too large", f"more than {self.limit:,} products of masses")


def _bear(condition: object, what: str) -> None:
    if not condition:
        raise StopError(UNSHOWN, f"no bound that is known here is as small as what is claimed: {what}")
