"""Comparisons of frameworks of every notion and kind of network: the influences are those by definition."""

from __future__ import annotations

import dataclasses
import math
import re

import pytest

import bnpriv as bp
from tests import kinds, oracles
from tests.unit.verify.test_verify_public import framework_of

LEFT = ("chain", "dataset", "density", "discrete", "gaussian", "interval", "laws", "networks", "records")


@pytest.mark.parametrize("name", LEFT)
def test_a_framework_differs_in_nothing_from_one_that_is_declared_alike(name: str) -> None:
    one, other = kinds.KINDS[name](), getattr(kinds, name)()
    found = bp.compare(one.framework, other.framework, one.query)
    if name != "density":  # densities are functions, equal only to themselves
        assert found.differences == ()
    assert found.influences[0] == found.influences[1]
    assert found.plans[0].best.scale == found.plans[1].best.scale


def test_the_influence_of_a_gaussian_network_is_that_of_max_influence() -> None:
    kind = kinds.gaussian()
    found = bp.compare(kind.framework, kind.framework, kind.query, 0.01, 0.005)
    told = bp.max_influence(kind.network, {"sat"}, "income", bp.apart(at_most=5))
    assert found.influences[0]["income"] == float(told) == math.inf
    assert found.rarities[0]["income"] == told.delta(0.01)
    assert 0 < told.delta(0.01) < 1
    assert found.plans[0].best.scale == bp.plan(kind.framework, kind.query, 0.01, 0.005).best.scale
    assert "any factor, delta" in found.text
    assert "at epsilon 0.01 and delta 0.005" in found.text


@pytest.mark.parametrize("name", ["records", "dataset"])
def test_the_influence_of_records_is_that_of_one_record_by_brute_force(name: str) -> None:
    kind = kinds.KINDS[name]()
    found = bp.compare(kind.framework, kind.framework, kind.query)
    network = kinds.patients()
    pairs = bp.pairs(("no", "yes")).ordered("ill", ["no", "yes"])
    exact = max(oracles.influence(network, oracles.joint(network, 0), ("coughs",), "ill", pair) for pair in pairs)
    assert math.isclose(found.influences[0]["ill"], exact, rel_tol=1e-9)
    assert "Influences under A and B are those of the columns of one record." in found.text
    read = bp.compare(kind.framework, kind.framework, bp.count(bp.col("ill") == "yes"))
    assert read.influences[0] == {"ill": math.inf}


def test_columns_tell_which_network_holds_as_far_as_their_laws_differ() -> None:
    kind = kinds.networks()
    found = bp.compare(kind.framework, kind.framework, kind.query)
    laws = [coughing(*arguments) for arguments in ((), (0.2, 0.5))]
    exact = max(abs(math.log(a / b)) for a, b in zip(*laws, strict=True))
    assert math.isclose(found.influences[0]["the distribution"], exact, rel_tol=1e-9)


def coughing(*arguments: float) -> list[float]:
    """Return by multiplying the tables out how probable it is that somebody does not cough, and that somebody does."""
    network = kinds.patients(*arguments)
    return oracles.marginal(network, oracles.joint(network, 0), ("coughs",)).tolist()


def test_laws_without_a_network_name_no_columns_but_have_plans() -> None:
    laws, networks = kinds.laws(), kinds.networks()
    found = bp.compare(laws.framework, networks.framework, laws.query)
    assert found.influences[0] == {}
    assert found.protected == ("the distribution",)
    assert math.isnan(found.to_pandas().loc["influence on the distribution", "A"])
    assert found.plans[0].best.scale == laws.plan.best.scale


def test_frameworks_of_two_notions_side_by_side() -> None:
    records, dataset = kinds.records(), kinds.dataset()
    found = bp.compare(records.framework, dataset.framework, kinds.COUGHS)
    said = " ".join(found.differences)
    assert "notion: value privacy in A, dataset attribute privacy in B." in said
    assert "number of records: 100 in A, 30 in B." in said
    assert "secret of ill: the value of ill in any one record in A, the number of records" in said
    wide = bp.compare(kinds.discrete().framework, kinds.interval().framework, kinds.discrete().query)
    (kind,) = wide.differences
    assert kind.startswith("kind of network: a discrete network in A, ")


def test_other_secrets_and_other_laws_of_a_gaussian_network_are_named() -> None:
    kind = kinds.gaussian()
    nearer = dataclasses.replace(kind.framework, protect={"income": bp.apart(at_most=1)})
    (said,) = bp.compare(kind.framework, nearer, kind.query).differences
    assert said == "pairs of secrets of income: values at most 5 apart in A, values at most 1 apart in B."
    other = bp.types.GaussianNetwork.linear(
        {"income": 41.0, "school": 12.0, "sat": 840.0},
        {"income": 10.0, "school": 2.0, "sat": 150.0},
        {"school": {"income": 0.1}, "sat": {"school": 10.0}},
    )
    moved = dataclasses.replace(kind.framework, network=other)
    (said,) = bp.compare(kind.framework, moved, kind.query).differences
    assert said.startswith("other distributions of ")


def test_what_is_no_framework_is_refused() -> None:
    kind = kinds.records()
    with pytest.raises(bp.errors.FrameworkError, match="a framework is needed first"):
        bp.compare(kind.framework, kind.network, kind.query)


def test_public_records_beside_a_network_are_a_difference() -> None:
    one, other = framework_of(1, n=6), framework_of(2, n=6)
    told = bp.compare(one, dataclasses.replace(one, public_records=None), "count(x >= 2)", epsilon=1.0).text
    assert "models: 5 in A, 2 in B" in told
    assert "told under the models of the network alone" in told
    assert re.search(r"public records: \d in 3 draws \([0-9a-f]{8}\) in A, none in B", told)
    both = dataclasses.replace(one, public_records=other.public_records)
    told = bp.compare(one, both, "count(x >= 2)", epsilon=1.0).text
    assert "public records: " in told
