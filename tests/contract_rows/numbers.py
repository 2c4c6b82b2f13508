"""Rows about numbers: epsilon, delta, scales, work that is too large, statements that need a proof."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import time
import warnings
from pathlib import Path

import numpy as np

import bnpriv as bp
from bnpriv.errors import BnprivError, ParameterError, QueryError, RefusedError, SizeError
from bnpriv.ledger.values import Budget
from bnpriv.tables.evaluate import try_sensitivity
from tests.contract_rows.evidence import STUDENT, TALL, all_refused, calibrated, framework, pair_of_nodes, refusal, row
from tests.later import Later

pd = Later("pandas")
NAN, INF = math.nan, math.inf


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError("the data were touched")


@row(14, "eps <= 0, NaN, inf, bool, str; delta < 0, >= 1, NaN")
def _(folder: Path) -> str:
    works = []
    for mechanism in (bp.ColumnMechanism(), bp.MarkovQuiltMechanism(), bp.WassersteinMechanism()):
        epsilons, deltas = (0, -1, NAN, INF, True, "1", None), (-1e-9, 1, NAN, True, "0")
        works += [lambda m=mechanism, e=e: m.calibrate(STUDENT, TALL, epsilon=e) for e in epsilons]
        works += [lambda m=mechanism, d=d: m.calibrate(STUDENT, TALL, epsilon=1.0, delta=d) for d in deltas]
    works += [lambda e=e: Budget(e) for e in (0, -1, NAN, INF, True, "1")]
    for work in works:
        refusal(work, kind=ParameterError)
    return f"{len(works)} of {len(works)} refused as parameters"


@row(15, "scale or sensitivity NaN, inf, negative; zero without a reason")
def _(folder: Path) -> str:
    bad = (NAN, INF, -1.0, 0.0)
    works = [lambda s=s, n=n: n(s) for s in bad for n in (bp.noise.Laplace, bp.noise.Gaussian)]
    works += [lambda s=s: bp.custom(len, columns=["height"], sensitivity=s) for s in (NAN, INF, -1.0)]
    shown = all_refused(works)
    independent = framework(pair_of_nodes(0.5))
    calibration = bp.MarkovQuiltMechanism().calibrate(independent, bp.total("x"), epsilon=1.0)
    assert calibration.scale == 0
    assert calibration.certificate.zero_noise_reason
    return f"{shown}; without noise only because: {calibration.certificate.zero_noise_reason[:60]}"


@row(33, "a user's own query function")
def _(folder: Path) -> str:
    liar = bp.custom(lambda table: 100 * table["height"].sum(), columns=["height"], sensitivity=1.0, name="liar")
    refusal(lambda: try_sensitivity(liar, STUDENT.schema), kind=QueryError)
    honest = bp.custom(
        lambda table: float((table["height"] > 180).sum()),
        columns=["height"],
        sensitivity={"height": 10_000.0},
        name="tall",
    )
    calibration = bp.ColumnMechanism().calibrate(STUDENT, honest, epsilon=1.0)
    assert "declared by the caller" in calibration.explain()
    return 'an understated sensitivity is refused; the certificate says "declared by the caller"'


@row(40, "a calibration that was changed")
def _(folder: Path) -> str:
    calibration = calibrated()
    quiet = dataclasses.replace(calibration, noise=bp.noise.Laplace(1e-9))
    other = calibrated()
    object.__setattr__(other.framework.schema.columns["height"], "upper", 1e6)
    try:
        changed = (
            quiet,
            dataclasses.replace(calibration, epsilon=9.0),
            dataclasses.replace(calibration, query=bp.total("height")),
            other,
        )
        for each in changed:
            refusal(lambda each=each: bp.release(each, Untouchable()), kind=RefusedError)
    finally:
        object.__setattr__(other.framework.schema.columns["height"], "upper", 220.0)
    return f"{len(changed)} of {len(changed)} refused before the data are touched"


@row(42, "eps of 1e-12, 709, 1000, 1e300; delta 5e-324")
def _(folder: Path) -> str:
    results = refusals = 0
    for mechanism in (bp.ColumnMechanism(), bp.MarkovQuiltMechanism(), bp.WassersteinMechanism(), bp.TightMechanism()):
        for epsilon in (5e-324, 1e-12, 1e-8, 100.0, 709.0, 1000.0, 1e300):
            for delta in (0.0, 5e-324, 1e-5):
                try:
                    with np.errstate(all="raise", under="ignore"):
                        made = mechanism.calibrate(STUDENT, TALL, epsilon=epsilon, delta=delta)
                except BnprivError:
                    refusals += 1
                else:
                    assert math.isfinite(made.scale)
                    assert made.scale >= 0
                    results += 1
    assert results
    return f"{results} results with a finite scale, {refusals} refusals of ours, 0 other exceptions"


@row(45, "work that would take minutes or gigabytes")
def _(folder: Path) -> str:
    started = time.process_time()
    wide = bp.histogram("height", np.linspace(120, 220, 6_001).tolist())
    error = refusal(lambda: bp.ColumnMechanism().calibrate(STUDENT, wide, epsilon=1.0), "comparisons", kind=SizeError)
    plan = bp.plan(STUDENT, bp.histogram("height", np.linspace(120, 220, 201).tolist()), epsilon=1.0)
    assert plan.refusals
    seconds = time.process_time() - started
    assert seconds < 60
    found = f"200 planned, {len(plan.refusals)} roads refused by size"
    return f"6,000 bins refused ({error.found[:40]}); {found}; {seconds:.0f} s"


@row(52, "a model that the user's own public table contradicts")
def _(folder: Path) -> str:
    columns = {"visits": bp.Binned([0, 1, 60]), "ill": bp.Categorical(["no", "yes"])}
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "visits": [[0.95, 0.3], [0.05, 0.7]]},
        states={"ill": ["no", "yes"], "visits": ["[0, 1)", "[1, 60]"]},
        parents={"visits": ["ill"]},
        level="records",
    )
    hidden = {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=30))}
    guess = bp.DatasetAttributePrivacy(network, bp.Schema(records=500, columns=columns), hidden, source="a guess")
    random = np.random.default_rng(0)
    ill = random.random(2000) < 0.3
    # declared evenly in [0, 1), and 0 for all others
    public = pd.DataFrame(
        {"ill": np.where(ill, "yes", "no"), "visits": np.where(ill, random.uniform(0.1, 20, 2000), 0)}
    )
    best = bp.plan(guess, "count(visits >= 0.1)", 1.0).best
    told = bp.compare_with_public(guess, public, "count(visits >= 0.1)").told
    assert told is not None
    assert told.low > 5
    asked = {"ledger": folder / "ledger.db", "budget": 1.0, "public": public}
    private = bp.simulate(guess, 500)
    refusal(lambda: bp.release(best, private, **asked), "must not contradict the model", kind=RefusedError)
    assert not (folder / "ledger.db").exists()
    true = [bp.simulate(guess, 300, seed=seed) for seed in range(10)]
    assert not any(bp.compare_with_public(guess, table, "count(visits >= 0.1)").contradicted for table in true)
    return f"epsilon 1 would tell {told} nats: refused before anything is charged; 0 of 10 tables of the model are"


@row(53, "statements about models that were not drawn")
def _(folder: Path) -> str:
    shown = []
    for mechanism in (bp.mechanisms.OptimalMechanism(), bp.TightMechanism()):
        told, seen = told_and_seen(mechanism)
        assert told is None or seen <= told, (
            f"{mechanism}: told at most {told:.1%}, seen {seen:.1%} of 400 fresh models"
        )
        shown.append(
            f"{type(mechanism).__name__} told {'nothing' if told is None else f'at most {told:.1%}'}, seen {seen:.1%}"
        )
    return "; ".join(shown)


def told_and_seen(mechanism: bp.types.Mechanism, states: int = 6, records: int = 2) -> tuple[float | None, float]:
    """Return which share of the posterior is told to lie above epsilon at most, and that of fresh models which does."""
    rng = np.random.default_rng(0)
    x = rng.random(150) < 0.5
    base = rng.dirichlet(np.full(states, 3.0))
    other = base * np.exp(rng.normal(size=states) * 0.5)
    drawn = np.where(x, rng.choice(states, 150, p=other / other.sum()), rng.choice(states, 150, p=base))
    public = pd.DataFrame({"x": np.where(x, "yes", "no"), "y": drawn})
    named = {"x": ["no", "yes"], "y": list(range(states))}
    network, fresh = (
        bp.DiscreteNetwork.posterior(
            {"x": [], "y": ["x"]}, public, public="older", draws=draws, seed=seed, states=named
        )
        for draws, seed in ((100, 1), (400, 2))
    )
    schema = bp.Schema(records=records, columns={"x": bp.Categorical(["no", "yes"]), "y": bp.Integer(0, states - 1)})
    hidden = bp.Secret("count(x == 'yes')", pairs=bp.pairs((0.0, float(records))))
    frame = bp.DatasetAttributePrivacy(network, schema, {"x": hidden}, source="older")
    calibration = mechanism.calibrate(frame, "sum(y)", epsilon=0.5)
    law = np.exp(fresh.tables["y"].values)
    order, yes = [list(fresh.states["y"]).index(k) for k in range(states)], list(fresh.states["x"]).index("yes")
    above = 0
    for one, two in zip(law[:, order, yes], law[:, order, 1 - yes], strict=True):
        first, second = (functools.reduce(np.convolve, [each] * records) for each in (one, two))
        above += loss_after(calibration.noise, first, second) > 0.5 * (1 + 1e-9)
    said = re.search(r"at most ([\d.]+) %", calibration.guarantee.beyond_text)
    return (float(said[1]) / 100 if said else None), above / len(law)


def loss_after(noise: object, first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest log ratio of two laws of a whole number after noise."""
    places = np.arange(len(first))
    if hasattr(noise, "numerators"):
        kernel = np.array([noise.numerators[noise.place(float(v))] for v in places], dtype=float) / noise.denominator
    elif getattr(noise, "scale", 0):
        kernel = np.exp(-np.abs(places[:, None] - places) / noise.scale)
    else:
        kernel = np.eye(len(places))
    return float(np.max(np.abs(np.log((first @ kernel) / (second @ kernel)))))


@row(37, "privacy-relevant warnings")
def _(folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = 1.0 / STUDENT.schema.records
        plain = bp.ColumnMechanism(noise="gaussian")
        error = refusal(lambda: plain.calibrate(STUDENT, TALL, epsilon=1.0, delta=large), "large_delta=True")
        waived = dataclasses.replace(plain, large_delta=True).calibrate(STUDENT, TALL, epsilon=1.0, delta=large)
    assert waived.scale > 0
    return f"an error, not a warning: {error.required[:50]}; large_delta=True waives it"
