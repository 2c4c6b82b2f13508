"""Secrets of parameters without draws and density: tables are kept, and some draws of a posterior give most of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.laws import laws
from bnpriv.core.networks.base import ImportReport, Posterior
from bnpriv.errors import BnprivError
from bnpriv.kinds.density.network import DensityNetwork, Parameter
from bnpriv.kinds.draws.parameter_draws import ParameterDraws

SCHEMA = bp.Schema(records=4, columns={"x": bp.Real(-50, 50)})
STATES = bp.intervals((0, 1))


def simulate(
    names: Iterable[str], draws: int, *, seed: int, given: Mapping[str, object], records: int
) -> dict[str, np.ndarray]:
    """Return tables about a level; an outbreak raises them, and is the more probable the higher the level is."""
    random = np.random.default_rng(seed)
    level = np.broadcast_to(np.asarray(given["level"], dtype=float), draws)
    outbreak = (random.random(draws) < probability(level)).astype(float)
    x = (level + outbreak)[:, np.newaxis] + random.standard_normal((draws, records))
    found = {"level": level, "outbreak": outbreak, "x": x}
    return {name: found[name] for name in names}


def probability(level: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(12 - 4 * level))


def network(levels: np.ndarray, logs: np.ndarray | None = None) -> DensityNetwork:
    wide = {"lower": -np.inf, "upper": np.inf}
    return DensityNetwork(
        parameters={
            "level": Parameter(name="level", **wide),
            "outbreak": Parameter(name="outbreak", parents=("level",), lower=0.0, upper=1.0, states=(0.0, 1.0)),
        },
        model_hash="outbreak",
        simulator=simulate,
        reading=ImportReport(columns={"x": ("level", "outbreak")}),
        drawn=ParameterDraws(
            values={"level": levels},
            reading="belief",
            chains=1,
            posterior=Posterior(source="other years", draws=len(levels), belief=True),
            log_weights=logs,
        ),
    ).with_sampling(draws=2000)


def evidence(known: DensityNetwork) -> object:
    private = bp.DistributionalAttributePrivacy(known, SCHEMA, {"outbreak": STATES}, source="other years")
    return laws(private, bp.mean("x"))


def test_a_state_that_a_few_draws_alone_give_is_refused() -> None:
    """Of 1,000 draws about ten give nearly all tables with an outbreak, however many tables are drawn."""
    levels = np.random.default_rng(0).normal(0, 1, 1000)
    weights = probability(levels)
    assert weights.sum() ** 2 / (weights**2).sum() < 15
    (constraint,) = evidence(network(levels)).constraints()
    assert "must be worth 100 independent ones" in str(constraint.pairs)
    with pytest.raises(BnprivError, match=r"outbreak in \[?1.*draws worth 2"):
        raise constraint.pairs.error()


@pytest.mark.parametrize("weighted", [False, True])
def test_what_they_are_worth_is_never_above_the_size_of_their_weights(weighted: bool) -> None:
    random = np.random.default_rng(1)
    levels = random.normal(1.5, 1.0, 20_000)
    logs = -((levels - 1.5) ** 2) / 4 if weighted else np.zeros(20_000)
    (constraint,) = evidence(network(levels, logs if weighted else None)).constraints()
    (pair,) = constraint.pairs
    sides = [np.exp(logs) * share for share in (probability(levels), 1 - probability(levels))]
    least = min(side.sum() ** 2 / (side**2).sum() for side in sides)
    assert 100 < pair.sampled.effective < 1.1 * least


def test_a_state_that_no_draw_has_is_refused() -> None:
    """A parameter with finitely many values and draws of its own, of which none is one of the secrets."""
    kinds = np.random.default_rng(2).integers(0, 2, 1000).astype(float)
    known = network(np.zeros(1000))
    drawn = ParameterDraws(
        values={"outbreak": kinds, "level": np.random.default_rng(3).normal(size=1000)},
        reading="belief",
        chains=1,
        posterior=Posterior(source="other years", draws=1000, belief=True),
    )
    parameters = {
        "level": known.parameters["level"],
        "outbreak": Parameter(name="outbreak", lower=0.0, upper=2.0, states=(0.0, 1.0, 2.0)),
    }
    known = DensityNetwork(
        parameters=parameters, model_hash="kinds", simulator=simulate, reading=known.reading, drawn=drawn
    )
    private = bp.DistributionalAttributePrivacy(known, SCHEMA, ["outbreak"], source="other years")
    with pytest.raises(BnprivError, match=r"found outbreak in 2: draws worth 0 of 1,000\. No draw lies in it"):
        bp.TightMechanism().calibrate(private, bp.mean("x"), epsilon=1.0, delta=0.01)
