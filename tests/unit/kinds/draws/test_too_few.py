"""Too few draws of a posterior: foretold by its network, and said first by plans and reports."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError, Refusal, RefusedError
from tests.later import optional

pm = optional("pymc")

CHAINS, STEPS = 2, 500
RARE, LIKELY = (1.9, 2.4), (0.0, 0.5)


def belief(*, moving: bool = True, **options: Any) -> Any:
    with pm.Model() as model:
        mu, sd = pm.Normal("mu", 0, 1), pm.HalfNormal("sd", 1)
        pm.Normal("x", mu, sd, observed=np.zeros(4))
    random = np.random.default_rng(3)
    steps = random.normal(size=(CHAINS, STEPS))
    for k in range(1, STEPS if not moving else 1):
        steps[:, k] = 0.95 * steps[:, k - 1] + math.sqrt(1 - 0.95**2) * steps[:, k]
    drawn = {"mu": steps, "sd": random.exponential(1, (CHAINS, STEPS))}
    return bp.from_pymc(model, posterior=drawn, reading="belief", **options)


def private(network: Any, *sides: tuple[float, float]) -> Any:
    schema = bp.Schema(records=4, columns={"x": bp.Real(-9, 9), "apart": bp.Real(0, 1)})
    return bp.DistributionalAttributePrivacy(
        network, schema, {"mu": bp.intervals(sides)}, source="a test", independent=["apart"]
    )


@pytest.mark.parametrize("moving", [True, False])
def test_a_plan_and_a_report_say_first_what_the_network_foretold(moving: bool) -> None:
    network = belief(moving=moving)
    framework = private(network, LIKELY, RARE)
    needed = network.draws_needed("mu", *RARE)
    plan = bp.plan(framework, "mean(x)", 1.0, 0.01)
    assert re.fullmatch(
        rf"\d+ useful draws? of mu in \[1.9, 2.4\] where 100 are needed: take {needed:,} of the posterior", plan.too_few
    )
    report = bp.influence_report(framework, "mean(x)", 1.0, 0.01)
    for shown in (plan, report):
        for text in (str(shown), shown.explain(), shown.text):
            first, second, *_ = text.split("\n")
            assert first == f"{plan.too_few}."
            assert second.startswith("mean(x) is useless with the noise that it needs at epsilon 1.")
        assert len(str(shown).split("\n")) <= 8
        assert plan.too_few in shown.to_markdown().replace("\\", "")
        assert plan.too_few in shown.to_html()
        assert shown.to_dict()["headline"] == plan.too_few
    assert report.headline == f"{plan.too_few}."
    assert "choose a wider interval" in report.explain()
    assert plan.best.mechanism in [bp.mechanisms.MarkovQuiltMechanism(), bp.mechanisms.ColumnMechanism()]


def test_as_many_draws_as_were_foretold_are_enough() -> None:
    network = belief()
    assert network.draws_needed("mu", *LIKELY) <= CHAINS * STEPS < network.draws_needed("mu", *RARE)
    with_sampling = network.with_sampling(draws=1000)
    plan = bp.plan(private(with_sampling, LIKELY, (-0.5, 0.0)), "mean(x)", 1.0, 0.01)
    assert plan.too_few == ""
    assert str(plan).startswith("mean(x)")


def test_where_no_draw_lies_another_secret_is_needed() -> None:
    plan = bp.plan(private(belief(), LIKELY, (50, 51)), "mean(x)", 1.0, 0.01)
    assert plan.too_few == "No draw of mu in [50, 51] where 100 are needed: choose a more probable secret"


def test_an_answer_that_needs_no_noise_lacks_nothing() -> None:
    plan = bp.plan(private(belief(), LIKELY, RARE), "mean(apart)", 1.0, 0.01)
    assert (plan.best.scale, plan.too_few) == (0.0, "")


def test_a_confidence_takes_a_draw_for_every_table() -> None:
    network = belief(independent=True).with_sampling(draws=5000, confidence=0.9)
    secrets = LIKELY, (-0.5, 0.0)
    plan = bp.plan(private(network, *secrets), "mean(x)", 1.0, 0.2)
    assert re.match(r"\d+ useful draws of mu in .* where 5,000 are needed: take [\d,]+ of", plan.too_few)
    plan = bp.plan(private(network, *secrets), "mean(x)", 1.0, 0.01)
    found = re.fullmatch(
        r"5,000 tables drawn under each secret where ([\d,]+) are needed for a confidence", plan.too_few
    )
    assert found is not None
    assert f"Take at least {found[1]} draws" in plan.text


def test_a_network_tells_how_much_of_the_posterior_a_secret_takes() -> None:
    assert "100 useful draws, that is of these 1,000 about 10 % (mu and sd)" in str(belief(independent=True))
    slow = belief(moving=False)
    told = re.search(r"about (\d+) %|more than all", str(slow))
    assert told is not None
    share = slow.drawn.share("mu")
    assert (told[1] is None) == (share * CHAINS * STEPS < 100)
    as_models = bp.from_pymc(*_model_and_draws())
    assert "useful draws" not in str(as_models)


def _model_and_draws() -> Any:
    with pm.Model() as model:
        pm.Normal("x", pm.Gamma("mu", 1, 1), 1, observed=np.zeros(4))
    return (model,)


def test_ranges_without_draws_have_no_number() -> None:
    network = belief()
    with pytest.raises(NetworkError, match=r"found none of 'mu' from 50 to 51. Choose a wider range"):
        network.draws_needed("mu", 50, 51)
    with pytest.raises(NetworkError, match="an attribute must be one of"):
        network.draws_needed("nu", 0, 1)
    (model,) = _model_and_draws()
    for other in (bp.from_pymc(model), bp.from_pymc(model, posterior={"mu": np.ones((2, 9))})):
        with pytest.raises(NetworkError, match='reading="belief"'):
            other.draws_needed("mu", 0, 1)


def test_what_is_said_first_survives_being_raised() -> None:
    why = Refusal(required="a", found="b", remedy="C.", headline="Too few")
    with pytest.raises(RefusedError) as caught:
        raise why.error()
    assert Refusal.of(caught.value) == why
    assert Refusal.of(NetworkError("a", found="b", remedy="C.")).headline == ""
