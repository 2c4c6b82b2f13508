"""What is said of PyMC models: refusals that name the way out, and reports that say what is not known, once."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import SecretError
from tests.later import optional

pm = optional("pymc")

SCHEMA = bp.Schema(records=40, columns={"score": bp.Real(0, 100)})
HALVES = bp.intervals(((-20, 0), (0, 20)))


@cache
def two_arms() -> Any:
    with pm.Model(coords={"arm": ["control", "treated"]}) as model:
        level = pm.Normal("level", 50, 5, dims="arm")
        spread = pm.HalfNormal("spread", 5)
        pm.Deterministic("difference", level[1] - level[0])
        pm.Deterministic("gain", pm.math.maximum(level[1] - level[0], 0.0))
        pm.Normal("score", level[np.repeat([0, 1], 20)], spread, observed=np.zeros(40))
    return model


@cache
def believed(draws: int = 1000) -> Any:
    """Read the model under its priors, as the page on PyMC says."""
    drawn = pm.sample_prior_predictive(draws, model=two_arms(), random_seed=1).prior
    return bp.from_pymc(two_arms(), posterior=drawn, reading="belief", independent=True)


def protecting(network: Any, name: str, secrets: Any = HALVES) -> Any:
    return bp.DistributionalAttributePrivacy(network, SCHEMA, {name: secrets}, source="a prior")


def test_a_difference_is_protected_by_ranges_that_touch_where_no_draw_is_the_common_end() -> None:
    touching = protecting(believed(), "difference")
    apart = protecting(believed(), "difference", bp.intervals(((-20, -1e-9), (0, 20))))
    one, two = (bp.TightMechanism().calibrate(each, bp.mean("score"), epsilon=1.0).scale for each in (touching, apart))
    assert 0 < one == pytest.approx(two, rel=0.1)  # tables are drawn anew for other ranges


def test_a_function_that_often_takes_the_common_end_is_refused_with_the_pair_to_write_instead() -> None:
    with pytest.raises(SecretError, match=r"the end 0 in common.*intervals\(\(\(-20, -2e-05\), \(0, 20\)\)\)"):
        protecting(believed(), "gain")


def test_a_function_is_protected_under_the_priors_as_in_the_belief_that_is_drawn_from_them() -> None:
    networks = bp.from_pymc(two_arms()), believed()
    scales = (
        bp.TightMechanism().calibrate(protecting(each, "difference"), bp.mean("score"), epsilon=1.0).scale
        for each in networks
    )
    prior, belief = scales
    assert 0 < prior == pytest.approx(belief, rel=0.35)  # each is an estimate, from draws of its own


def test_a_vector_is_refused_with_the_names_of_its_entries() -> None:
    with pytest.raises(SecretError, match=r"level\[control\].*Name an entry, for example 'level\[control\]'"):
        protecting(bp.from_pymc(two_arms()), "level", bp.intervals(((40, 50), (50, 60))))


def test_a_report_says_once_what_draws_do_not_tell_and_what_would_help() -> None:
    """Draws in the secret are too few: the way out stands in the answer box, not behind "not possible" alone."""
    report = bp.influence_report(protecting(believed(120), "difference"), bp.mean("score"), 1.0)
    text = report.text
    assert "What leaks most: What control" not in text
    assert "is not known: nothing bounds it" in text
    assert text.count("In numbers") == 1
    numbers = text[text.index("In numbers") : text.index("The queried columns")]
    assert numbers.count("where 100 are needed") == 1
    tries = next(line for line in text.splitlines() if line.startswith("What to try next"))
    assert "was not possible" not in tries  # the reason stands in the answer, the way out is told here
    assert "draws of the posterior" in tries
    assert "No epsilon below 20" not in tries
    noise = next(line for line in text.splitlines() if line.startswith("What noise it needs, and why:"))
    assert noise.endswith("hides any change of all queried columns; no model is needed.")
    page = report.to_html()
    assert re.search(r"<td[^>]*>not known</td>", page)
    assert "path of the leak" not in page


def test_of_many_models_that_need_much_the_same_few_are_listed() -> None:
    drawn = pm.sample_prior_predictive(400, model=two_arms(), random_seed=1).prior
    network = bp.from_pymc(two_arms(), posterior=drawn, reading="models", independent=True, thin=40)
    subject = protecting(network, "level[treated]", bp.intervals(((40, 50), (50, 60))))
    reasons = bp.TightMechanism().calibrate(subject, bp.mean("score"), epsilon=1.0).certificate.reasons
    assert len(reasons) == 4
    assert reasons[-1] == "7 more decisions, for which no more noise is needed."
