"""The search for near sets without the sets that it tries first, and with influences that are bounds."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.influence.finite as finite_module
import bnpriv.core.influence.finite as ratios_module
import bnpriv.core.influence.largest_ratio as assignments_module
import bnpriv.core.mechanisms.quilt as search_module
from tests.contract.test_quilt_search import test_scale_equals_the_least_over_all_sets as equals_the_least
from tests.unit.core.influence.test_bounded_parts import LEAVES, SMALL_WORK, two_sides


@pytest.mark.parametrize("seed", [0, 4])
def test_branch_and_bound_alone_finds_the_least_scale(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module.QuiltSearch, "_grow", lambda *_: None)
    monkeypatch.setattr(search_module.QuiltSearch, "_take_groups", lambda *_: None)
    equals_the_least(seed)


def test_a_scale_from_bounds_is_valid_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    network = two_sides(np.random.default_rng(2)).of_level("parameters")
    schema = bp.Schema(records=9, columns={name: bp.Real(0, 1) for name in ("x", *LEAVES)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "i", source="a random draw")
    query = bp.linear(dict.fromkeys(("x", *LEAVES), 1.0))
    exact = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=4.0)
    assert exact.certificate.decisions[0].influence.kind == "exact"

    monkeypatch.setattr(assignments_module, "MOST_STEP_CELLS", 60)
    real = ratios_module.largest_ratios
    monkeypatch.setattr(ratios_module, "largest_ratios", lambda *given: real(*given[:-1], 2**17))
    monkeypatch.setattr(
        finite_module, "finite_influence", partial(finite_module.finite_influence, most_work=SMALL_WORK)
    )
    fresh = two_sides(np.random.default_rng(2)).of_level("parameters")
    framework = bp.DistributionalAttributePrivacy(fresh, schema, "i", source="a random draw")
    found = bp.MarkovQuiltMechanism().calibrate(framework, query, epsilon=4.0)
    assert found.scale >= exact.scale * (1 - 1e-12)
    decision = found.certificate.decisions[0]
    assert decision.influence.kind == "certified"
    assert decision.influence.lower == 0
    true = bp.max_influence(network, query.columns - decision.queried_near, "i")
    assert decision.influence.upper >= float(true) - 2 * true.error
