"""Secrets of a property of a table are disjoint: it takes single values with positive probability."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import BnprivError
from tests.unit.kinds.draws.test_conditional_draws import ward

SCHEMA = bp.Schema(records=20, columns={"ill": bp.Integer(0, 1), "smokes": bp.Integer(0, 1)})
MEETING = [
    bp.intervals(((0, 8), (8, 20))),
    bp.intervals(((10, 20), (2, 4)), ((12, 20), (4, 12))),
    bp.pairs((0, 1e-10)),
    bp.pairs(({1, 0}, {1e-10, 3})),
]
APART = [bp.intervals(((0, 8), (8.5, 20))), bp.pairs((8, 9)), bp.pairs(({3, 8}, {4, 12}))]


def network(drawn: bool) -> bp.DiscreteNetwork | bp.networks.DensityNetwork:
    if drawn:
        return ward((2, 3))
    return bp.DiscreteNetwork.from_tables(
        {"ill": [0.6, 0.4], "smokes": [0.5, 0.5]}, states={"ill": [0, 1], "smokes": [0, 1]}, level="records"
    )


def calibrated(drawn: bool, secret: bp.Secret) -> object:
    framework = bp.DatasetAttributePrivacy(network(drawn), SCHEMA, {"ill": secret}, source="s")
    return bp.TightMechanism().calibrate(framework, bp.total("smokes"), epsilon=1.0)


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("noun", [bp.total, bp.mean])
@pytest.mark.parametrize("pairs", MEETING)
def test_secrets_with_a_value_in_common_are_refused(drawn: bool, noun: object, pairs: object) -> None:
    """Of 20 records exactly 8, or none, may count: that would be in both secrets, and the same tables kept for both."""
    with pytest.raises(BnprivError, match="must be disjoint"):
        calibrated(drawn, bp.Secret(noun("ill"), pairs=pairs))


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("pairs", APART)
def test_secrets_without_one_are_not(drawn: bool, pairs: object) -> None:
    secret = {"ill": bp.Secret(bp.total("ill"), pairs=pairs)}
    framework = bp.DatasetAttributePrivacy(network(drawn), SCHEMA, secret, source="s")
    assert framework.secrets["ill"]


def test_a_property_without_such_values_may_have_ranges_that_touch() -> None:
    normal = bp.types.GaussianNetwork.linear({"x": 0.0}, {"x": 1.0}, {"x": {}}, level="records")
    schema = bp.Schema(records=20, columns={"x": bp.Real(-9, 9)})
    secret = {"x": bp.Secret(bp.mean("x"), pairs=bp.intervals(((-0.5, 0), (0, 0.5))))}
    framework = bp.DatasetAttributePrivacy(normal, schema, secret, source="s")
    assert np.isfinite(framework.secrets["x"][0].farthest)
