"""Replay a stored calibration or private table apart from the code that made it (docs/verify.md).

Nothing of the rest is imported.

Sums over records are whole numbers, released answers are the doubles nearest to exact fractions, and masses are
decimals of 60 digits without a least exponent. StandIns are only added, multiplied and divided: all digits but the last
few are right, and a mass is 0 only where it is.
"""

from __future__ import annotations

import csv
import json
import os
import textwrap
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from bnpriv.verify.answers import AnswerLaws, borne_by_records, by_quilts_unless_refuted, refuted_beyond
from bnpriv.verify.chains import by_chain
from bnpriv.verify.changes import Moves, hiding_records
from bnpriv.verify.claim import HIDE_RECORDS, Claim, NoisyPair
from bnpriv.verify.declared import declared, declared_moves
from bnpriv.verify.forms import DATASET, SLACK, UNSHOWN, VALUE, ZERO, MovedRecords, StopError, decimal, refuse, require
from bnpriv.verify.linear_gaussian import by_normals
from bnpriv.verify.networks import IntervalNodes
from bnpriv.verify.one_record import OneRecord, swapped
from bnpriv.verify.totals import recounted

Status = Literal["holds", "fails", "cannot be shown", "too large", "not covered"]

ARITHMETIC = Context(prec=60, Emin=-(10**17), Emax=10**17)
CHANNELS = ("OptimalMechanism", "QuantizationMechanism")
BY_LAWS = (
    *("TightMechanism", "WassersteinMechanism", "ExpectedValueMechanism", "DirectionalMechanism"),
    *("AttributeGaussianMechanism", "EigenvectorMechanism", "DirectionalUncertaintyMechanism"),
    "OptimalGaussianMechanism",
)
MALFORMED = (
    *(LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError, OSError),
    csv.Error,
)


COMPOSED_LOSSES = "the losses of several records that change, composed behind noise on several numbers"

AFTERWARDS = (
    "Next: give both files to whoever wants to check it again.",
    "Next: do not rely on it; calibrate again with the framework that is meant.",
    "Next: nothing is shown either way; docs/verify.md says what can be replayed.",
)
"""What to do, by the exit code."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came out of replaying a calibration.

    Parameters
    ----------
    status : {"holds", "fails", "cannot be shown", "too large", "not covered"}
        A claim that fails is false: an output, two tables, or a file shows it. One that cannot be shown is borne by no
        bound that is known here, and refuted by nothing that was tried.
    text : str
        What was found: the enclosed epsilon or delta, what shows a failure, or what is in the way.
    trusted : tuple of str
        What was not checked and is left to trust.
    """

    status: Status
    text: str
    trusted: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: 0 holds, 1 fails, 2 neither is shown."""
        return {"holds": 0, "fails": 1}.get(self.status, 2)

    def to_json(self) -> str:
        """The verdict as JSON."""
        return json.dumps({"verdict": self.status, "text": self.text, "trusted": list(self.trusted)}, indent=2)

    def __str__(self) -> str:
        trusted = [f"Left to trust: {'; '.join(self.trusted)}."] if self.trusted else []
        lines = [f"{self.status}: {self.text}.", *trusted, AFTERWARDS[self.code]]
        return "\n".join(row for line in lines for row in textwrap.wrap(line, 100, break_on_hyphens=False))


def verify(calibration: object, framework: str | Path | None = None) -> Verdict:
    """Replay a calibration, apart from the code that made it, on the exact laws of the doubles that are released.

    Parameters
    ----------
    calibration : Calibration, PrivateTable, Accountant, Session or str
        What is to be checked, or the JSON text that its `to_json` or `transcript` returns, or that of a release.
    framework : str or path, optional
        The framework file: it is then what counts, and what the calibration says of the model is compared with it.

    Returns
    -------
    Verdict
        Nothing that a text or a file may hold raises an error: what cannot be read is "not covered".

    Examples
    --------
    >>> import bnpriv as bp
    >>> query = bp.count(bp.col("height") > 180)
    >>> calibration = bp.MarkovQuiltMechanism().calibrate(bp.example("student"), query, epsilon=1.0)
    >>> verify(calibration).status
    'holds'
    """
    trusted = ["that the words of the calibration (query, secrets, guarantee) say what its numbers and forms say"]
    try:
        require(
            framework is None or isinstance(framework, str | Path), "a framework that is no file: give its file's path"
        )
        with localcontext(ARITHMETIC):
            text: Any = calibration
            if not isinstance(calibration, str):
                written = getattr(calibration, "transcript", None) or getattr(calibration, "to_json", None)
                if written is None:
                    raise StopError("not covered", "no text in JSON: of a file pass Path(...).read_text()")
                text = written()
            found = _checked(
                json.loads(text), None if framework is None else Path(os.path.expanduser(framework)), trusted
            )
        return Verdict(status="holds", text=found, trusted=tuple(trusted))
    except StopError as stop:
        return Verdict(status=stop.args[0], text=stop.args[1], trusted=tuple(trusted))
    except json.JSONDecodeError:
        text = "the text is no JSON: give what to_json, release --json or ledger export --framework wrote, not its path"
        return Verdict(status="not covered", text=text)
    except MALFORMED as broken:
        return Verdict(status="not covered", text=f"a calibration or file that is not well formed ({broken!r:.80})")


def _checked(record: Any, path: Path | None, trusted: list[str]) -> str:
    if record["format"] == "bnpriv report 2" and record["document"] == "private table":
        return _table(record["data"], path, trusted)
    if record["format"] == "bnpriv transcript 1":
        return recounted(record, _model(record["model"], path, trusted), trusted, _replayed)
    if record["format"] == "bnpriv release 1":
        trusted.append("that the number released is the answer with that noise")
        record = record["calibration"]
    require(
        record["format"] == "bnpriv calibration 1", "a text that is no calibration, release or private table in JSON"
    )
    return _replayed(Claim(record, _model(record["model"], path, trusted)))


def _model(model: Any, path: Path | None, trusted: list[str]) -> Any:
    """The model that is to bear a claim: that of the framework file, if there is one."""
    if path is None:
        trusted.append("that the model in the calibration is the declared one: no framework file was given")
    else:
        model = declared(model, path, trusted)
    require(type(model["records"]) is int and 1 <= model["records"] <= 2**62, "the number of records")
    for column in model["columns"].values():
        if column["type"] != "categorical":
            low, high, steps = column["lower"], column["upper"], column["steps"]
            whole = column["type"] == "real" or low + steps == high
            require(-(2**100) <= low < high <= 2**100 and 1 <= steps <= 2**31 and whole, "the bounds of a column")
    return model


def _replayed(claim: Claim) -> str:
    """In words what holds, by the laws of the answer where they are small enough, or by a bound."""
    if claim.mechanism == "ColumnMechanism":
        return Moves(claim).by_columns()
    if claim.mechanism in HIDE_RECORDS and (held := hiding_records(claim)):
        return held
    if "left_out" in claim.model:
        held = not claim.channel and Moves(claim).by_independence()
        return held or refuse(claim.model["left_out"])
    if "normal" in claim.model or any("normal" in side for side in claim.model.get("sides", ())):
        return by_normals(claim)
    if claim.mechanism == "MarkovChainMechanism":
        require(not claim.normal, "normal noise on the values of a chain")
        return by_chain(claim)
    require("chain" not in claim.model, f"{claim.mechanism!r:.40} of a chain")
    if claim.channel:
        # replay the rows of a channel on the laws of the answer: no bound serves in their stead
        require(claim.mechanism in CHANNELS and len(claim.weights) == 1, f"{claim.mechanism!r:.40} with a channel")
        comparison = NoisyPair(claim)
        for label, first, second in AnswerLaws(claim).families():
            claim.spend(2 * claim.channel.size)
            comparison.compare(label, claim.channel.released(first), claim.channel.released(second))
        return claim.borne("by the rows of the channel and the distributions of the exact doubles")
    quilts = claim.mechanism == "MarkovQuiltMechanism"
    known = quilts or claim.mechanism in (*BY_LAWS, *CHANNELS, *HIDE_RECORDS)
    require(known, f"{claim.mechanism!r:.40}")
    if isinstance(claim.network, IntervalNodes):
        require(quilts, f"{claim.mechanism!r:.40} with a network of intervals")
        return Moves(claim).by_quilts()
    if quilts and claim.model["notion"] != VALUE:
        return by_quilts_unless_refuted(claim)
    answers, comparison = AnswerLaws(claim), NoisyPair(claim)
    if claim.covariance:
        comparison.moved = Moves(claim).before_the_last_noise()
    try:
        for label, first, second in answers.families():
            comparison.compare(label, first, second)
        return claim.borne("by the distributions of the released doubles")
    except (StopError, *MALFORMED) as stop:
        if stop.args[:1] == ("fails",):  # where memory ends the error has no words
            raise
        claim.work, claim.worst, refused = 0, ZERO, stop
    if quilts:
        return Moves(claim).by_quilts()
    large, bound = refused.args[:1] == ("too large",), ZERO
    try:
        if (large or refused.args[:1] == (UNSHOWN,)) and borne_by_records(claim, answers, comparison):
            return claim.borne("by the distribution of one record, for every record that may change")
        bound, claim.worst = claim.worst, ZERO
    except StopError as stop:
        refused = stop
    if large:
        refuted_beyond(claim, answers)
    composed = claim.normal and len(claim.weights) > 1 and claim.mechanism == "TightMechanism"
    if refused.args[:1] == (UNSHOWN,) and composed:
        raise StopError("too large", COMPOSED_LOSSES)
    counted = claim.model["notion"] == DATASET and "public_records" not in claim.model and claim.noise == "Laplace"
    if claim.mechanism in HIDE_RECORDS and counted:
        # a baseline says what the accountant says of it alone (theorem 4 of docs/claims/accountant.md)
        claim.work, left = 0, claim.epsilon - Moves(claim).rounding
        units = zip(claim.weights, claim.form.under, strict=True)
        numbers = [(k, weight / Fraction(claim.scale) / under) for k, (weight, under) in enumerate(units)]
        for secret in claim.model["protect"].values():
            swapped([OneRecord(claim, numbers, (), Fraction(0))], secret, left, ZERO)
        claim.note(claim.epsilon)
        return claim.borne("by what the answer tells of one record, for every record that may change")
    if large and bound and bound.is_finite():
        known = f"epsilon may be {bound:.9g} where {claim.epsilon:.9g} is claimed, by the distribution of one record"
        raise StopError(UNSHOWN, f"{known}; of all: {refused.args[1]}")
    raise refused


# --------------------------------------------------------------------------------------------------
# Private tables (docs/claims/private_table.md): the noise on the numbers of records of the classes, and the sizes.
# --------------------------------------------------------------------------------------------------

TABLE_TRUST = (
    "that the classes are the cells of what is protected, and that the words say what the numbers say",
    "that noise and records were drawn as it is said: no seed is kept, see docs/decisions/private-tables-no-seed.md",
)


def _table(data: Any, path: Path | None, trusted: list[str]) -> str:
    """In words what holds of a private table."""
    n, k, form, classes = data["records"], data["moved"], data["form"], data["classes"]
    law: Any = data["law"]
    given_up, noise = data["given_up"], data["noise"]
    sizes, noisy = ([each[name] for each in classes] for name in ("size", "noisy"))
    whole = all(type(x) is int and abs(x) <= 2**62 for x in (n, k, given_up, *sizes, *noisy))
    told = [*(data["guarantee"][name] for name in ("epsilon", "delta")), noise.get("scale", 0), *_numbers_of(law)]
    whole = whole and all(type(x) in (int, float) for x in told)  # a text may stand for a fraction of 10^9 digits
    require(whole and n >= 1 and k >= 1 and 2 <= len(classes) <= 200, "numbers of records of a private table")
    epsilon, delta = (Fraction(data["guarantee"][name]) for name in ("epsilon", "delta"))
    require(form in ("fill", "trim", "fill and trim") and epsilon > 0 and 0 <= delta < 1, "the form of a private table")
    trusted[:] = TABLE_TRUST
    if path is None:
        trusted.append(f"that the secrets are at most {k:,} records apart: no framework file was given")
    elif not all(ours >= theirs for ours, theirs in zip((n, k, -n), declared_moves(path), strict=True)):
        raise StopError("fails", "the framework file has another number of records, or secrets that are further apart")
    if law is not None:
        trusted.append(f"how far {law['text']!r:.200} may be off from the distribution of a record under any model")
    if sum(noisy) != n or sizes != (_water(noisy) if form == "fill" else [max(0, x - given_up) for x in noisy]):
        raise StopError("fails", "the numbers of records that are handed on do not follow from the noisy ones")
    if (form == "trim") != (law is None) or (form == "fill" and (given_up or delta)):
        raise StopError("fails", f"what a table of the form {form!r} has, or has not, is otherwise here")
    if noise["kind"] == "calibration":
        record = noise["calibration"]
        require(form == "fill" and data["law"]["gap"] == 0 and len(classes) == 2, "a calibrated count of another form")
        require(record["query"] == f"count({classes[0]['condition']})", "a calibration of another count")
        off = 2 * n * max(Fraction(data["law"][name]) for name in ("excess", "shortfall"))
        if Fraction(record["guarantee"]["epsilon"]) + off > epsilon or record["model"]["records"] != n:
            raise StopError("fails", "the calibration is for other tables, or needs more than is left of epsilon")
        require(not record["guarantee"]["delta"], "a calibrated count with a delta")
        return _checked(record, None, trusted)
    return _moved(data, epsilon, delta)


def _numbers_of(law: Any) -> list[Any]:
    return [law[name] for name in ("excess", "shortfall", "gap")] if law else []


def _moved(data: Any, epsilon: Fraction, delta: Fraction) -> str:
    """In words what holds of a private table by noise that moves records between classes."""
    k, form, given_up, noise = data["moved"], data["form"], data["given_up"], data["noise"]
    classes = data["classes"]
    law: Any = data["law"]
    scale, most = Fraction(noise["scale"]), noise["most"]
    require(noise["kind"] == "moves" and 0 < scale <= 2**62, "the noise of a private table")
    rate = 1 / scale
    if form == "fill":
        excess, shortfall = (Fraction(law[name]) for name in ("excess", "shortfall"))
        # a record less in one class and more in another, with and without made-up ones in their places
        rate = max(rate + excess, shortfall - rate) if len(classes) == 2 else max(rate, shortfall) + excess
    if k * rate > epsilon:
        raise StopError(
            "fails", f"epsilon is {float(k * rate):.9g} where {float(epsilon):.9g} is claimed, by the noise"
        )
    moves, low = MovedRecords(len(classes), scale), ZERO
    high = ZERO if form == "fill" else moves.filled(given_up, k, Decimal(law["gap"])) if law else None
    if high is None:
        if most != given_up:
            raise StopError("fails", "noise that is not bounded by the records that are given up")
        low, high = moves.trimmed(most, k)
    elif most is not None:
        raise StopError("fails", "noise that is bounded, where records are made up")
    if high * (1 - SLACK) > decimal(delta):
        status = "fails" if low > decimal(delta) else UNSHOWN
        raise StopError(status, f"delta is {high:.9g} where {float(delta):.9g} is claimed")
    failing = f" but for delta {high:.6g}" if form != "fill" else ""
    return f"epsilon {float(k * rate):.9g}{failing}, by the noise on the numbers of records of {len(classes)} classes"


def _water(noisy: list[int]) -> list[int]:
    """Numbers that are not negative, of the same sum: what is owed is taken evenly, the rest from the first."""
    owed, filled = -sum(min(0, x) for x in noisy), [max(0, x) for x in noisy]
    low, high = 0, max(filled)
    while low < high:  # the largest level to which all can give
        level = (low + high + 1) // 2
        low, high = (level, high) if sum(min(x, level) for x in filled) <= owed else (low, level - 1)
    rest = owed - sum(min(x, low) for x in filled)
    found = list[int]()
    for x in filled:
        more = int(x > low and rest > 0)
        rest -= more
        found.append(x - min(x, low) - more)
    return found
