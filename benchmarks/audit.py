"""What audits see, and how often they are wrong: ``python -m benchmarks.audit [seen] [false] [foreign]``.

* `seen`: outputs until 18.5 % too little noise is seen, as many mechanisms add it (median of three audits);
* `false`: 1,000 audits of mechanisms that keep their claim, each stopped when it looks best;
* `foreign`: pipelines of another library with and without a fault.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

import bnpriv as bp
from bnpriv.core.noise import DiscreteLaplace, Laplace, SecureSampler
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.lab.audit import audit, audited
from bnpriv.lab.betting import Wealth, blocks
from bnpriv.tables.private_table.counts import MoveNoise, SeededSampler

PLANTED = 0.815  # 18.5 % too little
DELTA = 0.01
MOST = 10**6
EPSILONS = (0.1, 1.0, 3.0)
AUDITS, OUTPUTS = 1000, 4000
QUERY = 'count(ill == "yes")'


def framework(records: int = 40) -> bp.DatasetAttributePrivacy:
    """Records of which the number of ill ones is hidden, within 2 of each other."""
    network = bp.DiscreteNetwork.from_tables({"ill": [0.5, 0.5]}, states={"ill": ["no", "yes"]}, level="records")
    schema = bp.Schema(records=records, columns={"ill": bp.Categorical(["no", "yes"])})
    secret = bp.Secret(QUERY, pairs=bp.apart(at_most=2))
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="invented")


def laplace(epsilon: float, share: float) -> object:
    """A count with Laplace noise of a share of the scale that it needs."""
    made = bp.WassersteinMechanism().calibrate(framework(), QUERY, epsilon=epsilon)
    return replace(made, noise=Laplace(made.scale * share))


def discrete(epsilon: float, share: float) -> object:
    """The same with whole-number noise."""
    made = bp.WassersteinMechanism().calibrate(framework(), QUERY, epsilon=epsilon)
    return replace(made, noise=DiscreteLaplace(made.scale * share))


def gaussian(epsilon: float, share: float) -> object:
    """The same with normal noise and a delta."""
    plan = bp.plan(framework(), QUERY, epsilon, DELTA)
    made = next(each for each in plan.calibrations if type(each.noise).__name__ == "Gaussian" and each.scale < 100)
    return replace(made, noise=replace(made.noise, scale=made.noise.scale * share))


def channel(epsilon: float, share: float) -> object:
    """The channel of least error, calibrated for a larger epsilon than it is sold for."""
    optimal = bp.mechanisms.OptimalMechanism()
    made = optimal.calibrate(framework(12), QUERY, epsilon=epsilon)
    return replace(made, noise=optimal.calibrate(framework(12), QUERY, epsilon=epsilon / share).noise)


def table(epsilon: float, share: float) -> object:
    """A private table of 200 records, filled."""
    hidden = framework(200)
    made = bp.private_table(hidden, bp.simulate(hidden), epsilon=epsilon, form="fill", records_may_be_seen=True)
    noise = made.rule.noise
    assert isinstance(noise, MoveNoise)
    return replace(made, rule=replace(made.rule, noise=replace(noise, scale=noise.scale * share)))


MADE: dict[str, Callable[[float, float], object]] = {
    "Laplace": laplace,
    "discrete Laplace": discrete,
    f"Gaussian, delta {DELTA:g}": gaussian,
    "optimal channel": channel,
    "private table": table,
}


def refuted(name: str, made: object, most: int, seed: int) -> int | None:
    """After how many outputs the claim is refuted, at any time up to `most`; None where it is not."""
    random = np.random.default_rng([seed, 1])
    sampler = (SeededSampler if name == "private table" else NumpySampler)(random)
    source = audited(made, None, None, 0, sampler, random)
    assert source.epsilon is not None
    wealth, seen = None, 0
    for size in blocks(most):
        secrets = random.integers(2, size=size) > 0
        outputs = source.draw(secrets, random)
        # the claim alone: whether what lies below is refuted too could only make alarms rarer
        claims = np.array([source.epsilon])
        if wealth is None:
            wealth = Wealth(epsilons=claims, delta=source.delta, confidence=0.99, numbers=outputs.shape[1])
        wealth.see(outputs, secrets)
        seen += size
        if wealth.bound:
            return seen
    return None


def seen() -> None:
    """Print how many outputs it takes to see 18.5 % too little noise."""
    print(f"Outputs until {100 * (1 - PLANTED):g} % too little noise is seen with 99 % confidence; three audits each\n")
    print(f"{'noise':<22}" + "".join(f"{f'epsilon {epsilon:g}':>27}" for epsilon in EPSILONS))
    for name, make in MADE.items():
        cells: list[str] = []
        for epsilon in EPSILONS:
            made = make(epsilon, PLANTED)
            found = [refuted(name, made, MOST, seed) for seed in range(3)]
            cells.append(
                " ".join(
                    "over 1,000,000" if each is None else f"{each:,}"
                    for each in sorted(found, key=lambda n: n or MOST + 1)
                )
            )
        print(f"{name:<22}" + "".join(f"{cell:>27}" for cell in cells), flush=True)


def false() -> None:
    """Print how often audits of what keeps its claim are wrong."""
    each = AUDITS // (len(MADE) * len(EPSILONS)) + 1
    alarms, audits = 0, 0
    for name, make in MADE.items():
        for epsilon in EPSILONS:
            made = make(epsilon, 1.0)
            alarms += sum(refuted(name, made, OUTPUTS, seed) is not None for seed in range(each))
            audits += each
    print(
        f"\nFalse alarms: {alarms} of {audits:,} audits of the same mechanisms with enough noise, {OUTPUTS:,} outputs "
        f"each,\nstopped when they looked best ({100 * alarms / audits:.2f} %; at most 1 % are to be expected)"
    )


def foreign() -> None:
    """Print what is seen of pipelines of another library."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, metric = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def pipeline(sensitivity: float, before: float = 0.0, after: float = 0.0) -> Callable[[object], float]:
        measure = dp.m.make_laplace(domain, metric, scale=sensitivity / 1.0)

        def released(table: object) -> float:
            number = float((table["ill"] == "yes").sum())  # type: ignore[index]
            number = before * round(number / before) if before else number
            number = measure(number)
            return after * round(number / after) if after else number

        return released

    print("\nPipelines with OpenDP, claimed epsilon 1, numbers of ill records at most 2 apart\n")
    print(f"{'pipeline':<58}{'bound':>8}{'outputs':>9}  verdict")
    two = {"ill": 14}, {"ill": 16}
    for what, made in (
        ("sensitivity 2, as it is", pipeline(2.0)),
        ("sensitivity 2, rounded to tens after the noise", pipeline(2.0, after=10.0)),
        ("sensitivity 1 declared, records move it by 2", pipeline(1.0)),
        ("sensitivity 2, rounded to tens before the noise", pipeline(2.0, before=10.0)),
    ):
        found = audit(made, framework(), secrets=two, epsilon=1.0, runs=1500)
        at = next((n for n, bound in found.trail if bound >= 1), found.outputs)
        print(f"{what:<58}{found.bound:>8.3f}{at:>9,}  {found.verdict}", flush=True)


def speed() -> None:
    """Print how long everyday audits take."""
    made = bp.WassersteinMechanism().calibrate(framework(), QUERY, epsilon=1.0)
    print()
    for what, sampler in (
        ("noise of a release", SecureSampler()),
        ("NumPy's noise", NumpySampler(np.random.default_rng(0))),
    ):
        began = time.perf_counter()
        audit(made, runs=100_000, sampler=sampler)
        print(f"100,000 outputs of a count with {what}: {time.perf_counter() - began:.1f} s")


PARTS = {"seen": seen, "false": false, "foreign": foreign, "speed": speed}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
