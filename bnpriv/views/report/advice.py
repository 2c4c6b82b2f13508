"""What to try next where an answer is coarse or useless: what each step would gain is computed, not guessed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

from bnpriv.core.distributions import Atoms
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.mechanisms.base import Calibration
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.law_decision import LawDecision
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import Count, Difference, Stack
from bnpriv.core.queries.sensitivity import answer_range
from bnpriv.core.schema import Schema
from bnpriv.core.secrets import Apart, Secret, SecretPairs, apart, pairs
from bnpriv.errors import BnprivError
from bnpriv.mechanisms.baselines import epsilon_for_scale
from bnpriv.mechanisms.optimal.channel import comparable
from bnpriv.mechanisms.plan import Plan
from bnpriv.mechanisms.usefulness import LEVEL, LIMITS, POOR_ANSWERS
from bnpriv.progress import tell
from bnpriv.render.document import Code, Items, Names, Section, Text
from bnpriv.text import Json, and_text, nats_text, number_text
from bnpriv.toml import toml_key
from bnpriv.views.calibration import errors_text, is_weighted
from bnpriv.views.report.analysis import quilt_calibration
from bnpriv.views.report.values import Analysis, ScaleCurve, epsilon_at

# --------------------------------------------------------------------------------------------------
# What a release would be if values of a property had to stay apart by less: a weaker promise, never made by itself.
# --------------------------------------------------------------------------------------------------


TRIED_SHARES = (0.1, 0.01)
"""Distances that are tried, as shares of that which is protected now."""

LESS = 0.8
"""An error that is not smaller by this factor is no gain."""


@dataclass(frozen=True, kw_only=True)
class CloserStep:
    """What a mechanism would do if only values so close to each other were protected.

    Parameters
    ----------
    distances : mapping from str to float
        For every protected attribute how far apart values that must not be told apart would be at most.
    calibration : Calibration
    """

    distances: Mapping[str, float]
    calibration: Calibration

    @property
    def sentence(self) -> str:
        """What would be protected, and how far releases would err."""
        found = self.calibration
        secrets = {each.attribute: each.secret for each in found.guarantee.secrets}
        values = [f"{secrets[name]} at most {_written(far)} apart" for name, far in self.distances.items()]
        reach = found.quantile(LEVEL)
        err = f"err by at most {errors_text(found)} ({found.useful.verdict})" if reach else "be exact"
        return f"Were only values of {and_text(values)} protected, 95 % of releases by {found.mechanism} would {err}."

    def to_json(self) -> Json:
        """Return it as plain values."""
        found = self.calibration
        return {
            "apart": [{"attribute": name, "at_most": far} for name, far in self.distances.items()],
            "mechanism": str(found.mechanism),
            "expected_error": found.expected_error,
            "verdict": found.useful.verdict,
        }


@dataclass(frozen=True, kw_only=True)
class CloserSecrets:
    """What the best mechanism would do if only closer values of the properties were protected.

    Parameters
    ----------
    steps : tuple of CloserStep
        The largest distances first, up to those at which the answer is useful.
    """

    steps: tuple[CloserStep, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What would be gained, and what is given up for it."""
        places = [
            f"pairs=bp.apart(at_most={far}), in a file at_most = {far} under [protect.{toml_key(name)}]"
            for name, far in ((name, _written(far)) for name, far in self.steps[0].distances.items())
        ]
        return (
            *(step.sentence for step in self.steps),
            "That is a weaker promise: values farther apart could be told apart better. What is protected is your "
            f"choice, made before any noise, and never made for you: {'; '.join(places)}.",
        )

    @property
    def section(self) -> Section:
        """Return it as a section of a document."""
        return Section(title="If less were protected", id="closer-secrets", blocks=(Items(self.sentences),))


def closer_secrets(calibrations: Sequence[Calibration]) -> CloserSecrets | None:
    """Return what closer secrets would gain for the best noise that looks at secrets at all; None if nothing.

    Parameters
    ----------
    calibrations : sequence of Calibration
        Those of a plan, least expected error first.
    """
    # errors of channels are averaged over the laws of the pairs, which are others where secrets are closer
    added = (each for each in calibrations if each.averaged_over is None)
    best = next((each for each in added if not isinstance(each.mechanism, ColumnMechanism)), None)
    if best is None or best.guarantee.kind == "estimate" or best.certificate.confidence is not None:
        return None
    found = list[CloserStep]()
    for distances, framework in _frameworks(best):
        try:
            closer = best.mechanism.calibrate(framework, best.query, epsilon=best.epsilon, delta=best.delta)
        except BnprivError:
            break
        if closer.ranked_error < LESS * best.ranked_error:
            found.append(CloserStep(distances=distances, calibration=closer))
        if closer.useful.verdict not in POOR_ANSWERS:
            break
    return CloserSecrets(steps=tuple(found)) if found else None


def _written(far: float) -> str:
    """Return a distance as code and files write it."""
    return f"{far:.15g}"


def _frameworks(best: Calibration) -> Iterator[tuple[dict[str, float], Framework]]:
    """Yield the framework with closer and closer secrets."""
    framework = best.framework
    secrets = {name: each for name, each in framework.chosen_secrets.items() if isinstance(each, Secret)}
    if not secrets:
        return
    tried: dict[str, float] = {}
    for share in TRIED_SHARES:
        distances = {name: _distance(secret, framework.schema, share) for name, secret in secrets.items()}
        known = {name: far for name, far in distances.items() if far is not None}
        if len(known) < len(distances) or known == tried:
            return
        tried = known
        protect = {name: replace(secrets[name], pairs=apart(at_most=far)) for name, far in known.items()}
        yield known, replace(framework, protect=protect)


def _distance(secret: Secret, schema: Schema, share: float) -> float | None:
    """Return a share of the distance up to which values are protected; None where pairs were chosen one by one."""
    if not (secret.pairs is None or isinstance(secret.pairs, Apart)):
        return None
    lower, upper = answer_range(secret.property, schema)
    width = float(upper[0] - lower[0])
    most = min(width, secret.pairs.at_most) if isinstance(secret.pairs, Apart) else width
    far = share * most
    counted = secret.property.parts[0] if isinstance(secret.property, Difference) else secret.property
    if secret.of_cells or isinstance(counted, Count):
        return float(max(1, math.floor(far))) if most > 1 else None
    return float(f"{far:.1g}") if 0 < far < math.inf else None


# --------------------------------------------------------------------------------------------------
# What to try next.
# --------------------------------------------------------------------------------------------------


LIMIT = {verdict: share for share, verdict in LIMITS}["useful"]
"""The largest share of its range by which a useful answer errs."""

MOST_EPSILON = 20.0
"""Above it an answer is not called private."""

TINY = 1e-6
"""The delta that is tried; a tenth of one over the number of records if that is less."""

MOST_PARTS = 4
"""Numbers of an answer that are tried alone."""

EPSILON_DIGITS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
"""Epsilons that are tried, in every power of ten."""

GAIN = 0.8
"""An error that is not smaller by this factor is no gain."""

MUCH = 3.0
"""Where calibrations take long, mechanisms that err so many times as much as the best one are left out."""

MOST_QUICK_ATOMS = 1000
"""Laws with more atoms take long to be calibrated."""

AT_WHICH = "To find out from which epsilon on the answer would be useful"


def advice(report: Analysis) -> tuple[Text, ...]:
    """Return what to try next, the simplest first; nothing where the answer is of use, or nothing was asked."""
    if report.plan is None or report.query is None or report.framework is None:
        return ()
    if report.best is None:
        return tuple(dict.fromkeys(reason.remedy for _, reason in report.plan.refusals))[:MOST_PARTS]
    if report.best.useful.verdict not in POOR_ANSWERS:
        return ()
    return tuple(_steps(report, report.plan, report.framework, report.query))


def _steps(report: Analysis, made: Plan, framework: Framework, query: Query) -> Iterator[Text]:
    best = made.best
    mendable = tuple(_mendable(made))
    if report.curves is not None and made.calibrations and not any(map(is_weighted, made.calibrations)):
        enough = useful_from(made, report.curves, best.scale * LIMIT / best.useful.share)
    else:
        enough = _first_useful(made, best.epsilon)
    yield from mendable
    if enough <= MOST_EPSILON:
        yield f"It would be useful from epsilon {number_text(enough, 2)} on."
    elif not mendable:
        yield "No epsilon below 20 makes this answer useful: ask something else, such as a query of fewer columns."
    if best.delta == 0 and best.guarantee.kind != "estimate":
        delta = min(TINY, 0.1 / framework.schema.records)
        yield from _gain(made, framework, query, f"With delta {nats_text(delta)},", delta=delta)
    if isinstance(query, Stack):
        for part in query.parts[:MOST_PARTS]:
            yield from _alone(made, framework, part)
    closer = _closer(framework)
    if closer is not None:
        what, changed = closer
        yield from _gain(made, changed, query, what, delta=best.delta)
    elif (nearer := made.closer or closer_secrets(made.calibrations)) is not None:
        yield from nearer.sentences
    free = _free_columns(report, query)
    if free:
        told = ": each tells so little that a query of it alone needs no noise."
        yield "Ask about ", Names(free, most=6), told


def _mendable(made: Plan) -> Iterator[str]:
    """Yield what would make the laws of the answer known, where only noise that hides whole columns was found."""
    certificate = made.best.certificate
    if made.best.useful.verdict != "useless" or any(isinstance(each, LawDecision) for each in certificate.decisions):
        return
    for mechanism, why in made.refusals:
        if isinstance(mechanism, TightMechanism) and mechanism.noise == "laplace":
            # what lacks is said first in a report
            yield why.remedy if why.headline else f"{mechanism} was not possible: {why}"


def useful_from(made: Plan, curves: Iterable[ScaleCurve], scale: float) -> float:
    """Return the least epsilon, rounded up to two digits, at which some mechanism's noise has at most a given scale.

    Of the mechanisms that a plan names, the Markov quilt mechanism by its curves.
    """
    by_laws = (epsilon_for_scale(calibration, scale) for calibration in made.calibrations)
    least = min(epsilon_at(curves, scale), *by_laws)
    if math.isinf(least):
        return least
    step = 10.0 ** (math.floor(math.log10(least)) - 1)
    return math.ceil(least / step * (1 + 1e-9)) * step


def _first_useful(made: Plan, asked: float) -> float:
    """Return the least of some epsilons at which a mechanism of a plan is useful; infinite if none is."""
    levels = [step * 10.0**power for power in range(-3, 2) for step in EPSILON_DIGITS]
    levels = [level for level in levels if asked < level <= MOST_EPSILON]
    best, start, tried = made.best, perf_counter(), 0

    def is_useful(level: float) -> bool:
        nonlocal tried
        found, tried = least_noise(made, best.framework, best.query, level, best.delta), tried + 1
        if tried == 1:  # each halving takes as long as the first
            tell(AT_WHICH, (perf_counter() - start) * math.log2(len(levels)), "takes about {}")
        return found is not None and found.useful.verdict not in POOR_ANSWERS

    place = bisect_left(levels, True, key=is_useful)
    return levels[place] if place < len(levels) else math.inf


def least_noise(made: Plan, framework: Framework, query: Query, epsilon: float, delta: float) -> Calibration | None:
    """Return the calibration with the least expected error of the mechanisms that a plan found to support a query.

    The others are not tried, whatever else changes: to find out that they do not support it either may take long.
    Where calibrations take long only the mechanisms that err little are.
    """
    found: list[Calibration] = []
    most = MUCH * made.best.ranked_error if is_costly(made) else math.inf
    for each in made.calibrations:
        if each.ranked_error > most:
            continue
        try:
            found.append(each.mechanism.calibrate(framework, query, epsilon=epsilon, delta=delta))
        except BnprivError:
            continue
    return min(found, key=lambda calibration: calibration.ranked_error, default=None)


def is_costly(made: Plan) -> bool:
    """Return whether some calibration of a plan takes quadratures, many draws or laws with many atoms."""
    return any(map(_takes_long, made.calibrations))


def _takes_long(calibration: Calibration) -> bool:
    certificate = calibration.certificate
    laws = [decision.first for decision in certificate.decisions if isinstance(decision, LawDecision)]
    large = any(isinstance(law, Atoms) and law.logs.size > MOST_QUICK_ATOMS for law in laws)
    return calibration.guarantee.kind == "estimate" or certificate.confidence is not None or large


def _gain(made: Plan, framework: Framework, query: Query, what: str, *, delta: float) -> Iterator[str]:
    """Yield how large the error would be under other conditions, where that is a gain."""
    found = least_noise(made, framework, query, made.best.epsilon, delta)
    alike = found is not None and comparable(found.averaged_over, made.best.averaged_over)
    if found is not None and alike and found.ranked_error < GAIN * made.best.ranked_error:
        yield f"{what} 95 % of releases would {_error_text(found)}."


def _alone(made: Plan, framework: Framework, part: Query) -> Iterator[Text]:
    """Yield what would become of one number of the answer alone, where it would be of use."""
    found = least_noise(made, framework, part, made.best.epsilon, made.best.delta)
    if found is not None and found.useful.verdict not in POOR_ANSWERS:
        yield "Ask ", Code(str(part)), f" alone: 95 % of releases would {_error_text(found)}."


def _error_text(calibration: Calibration) -> str:
    reach = calibration.quantile(0.95)
    if reach == 0:
        return "not err at all, as no noise is needed"
    return f"err by at most {errors_text(calibration)} ({calibration.useful.verdict})"


def _closer(framework: Framework) -> tuple[str, Framework] | None:
    """Return the framework with secrets half as far apart, or of neighbouring states only, and what that is."""
    halves = {name: half for name, given in framework.chosen_secrets.items() if (half := _half(given)) is not None}
    if halves and len(halves) == len(framework.chosen_secrets):
        return "With secrets half as far apart,", replace(framework, protect=halves)
    return _neighbours(framework)


def _half(given: object) -> Apart | Secret | None:
    if isinstance(given, Apart):
        return apart(at_most=given.at_most / 2)
    if isinstance(given, Secret) and isinstance(given.pairs, Apart) and given.pairs.at_most >= 2:
        return replace(given, pairs=apart(at_most=given.pairs.at_most // 2))
    return None


def _neighbours(framework: Framework) -> tuple[str, Framework] | None:
    """Return a framework that protects neighbouring states only, where all pairs of more than two are protected."""
    chosen: dict[str, SecretPairs] = {}
    for secret in framework.protected_secrets:
        states = framework.secret_states.get(secret.attribute, ())
        if len(states) < 3 or not secret.bounds_belief:
            return None
        chosen[secret.attribute] = pairs(*pairwise(states))
    try:
        return "Protecting neighbouring states only,", replace(framework, protect=chosen)
    except BnprivError:  # a property of the table has no states
        return None


def _free_columns(report: Analysis, query: Query) -> tuple[str, ...]:
    """Return the columns that the query does not read and that alone need no noise at this epsilon."""
    if quilt_calibration(report.plan) is None or report.epsilon is None or report.framework is None:
        return ()
    rows: Sequence[frozenset[str]] = [
        frozenset(name for told in row.columns if float(told) <= report.epsilon for name in told.columns)
        for row in report.attributes
    ]
    columns = report.framework.schema.columns
    return tuple(sorted(frozenset(columns).intersection(*rows) - query.columns))
