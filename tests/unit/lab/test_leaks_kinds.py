"""Leaks of networks and frameworks of every kind: the numbers are those by definition, or the refusal says why not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.lab.leaks import Leaks, leaks
from bnpriv.text import by_times
from tests import kinds, oracles
from tests.unit.verify.test_verify_public import framework_of


def test_leaks_of_a_gaussian_network_are_its_influences() -> None:
    kind = kinds.gaussian()
    framed, alone = leaks(kind.framework, kind.query), leaks(kind.network, kind.query)
    root = math.sqrt(kind.network.covariance[0, 1, 1])
    for row, chosen in (
        (framed["income"], bp.apart(at_most=5)),
        (alone["income"], bp.apart(at_most=10)),
        (alone["school"], bp.apart(at_most=root)),
    ):
        told = bp.max_influence(kind.network, {"sat"}, row.attribute, chosen)
        assert row.influence is not None
        assert row.nats == float(told) == math.inf
        assert row.influence.mu == pytest.approx(told.mu, rel=1e-12)
        assert row.delta == pytest.approx(told.delta(1.0), rel=1e-9)
    assert [row.stands_in for row in (framed["income"], framed["school"], alone["income"])] == [False, True, True]
    assert "Of income two values at most 10 apart are meant, as no secrets of it are declared." in alone.text
    assert "Of income only the protected pairs of secrets are meant." in framed.text
    assert "any factor (delta under 1 in a trillion)" in alone.text


def test_the_rarer_comes_after_where_nothing_bounds_both() -> None:
    found = leaks(kinds.gaussian().network, bp.mean("sat"))
    assert [row.attribute for row in found.rows] == ["sat", "school", "income"]
    assert found.rows[1].delta > found.rows[2].delta


def test_several_models_of_a_gaussian_network_stand_in_with_the_largest_deviation() -> None:
    both = bp.types.GaussianNetwork(
        attributes=("a", "b"), mean=[[0.0, 0.0]] * 2, covariance=[[[1.0, 0.5], [0.5, 1.0]], [[9.0, 0.5], [0.5, 1.0]]]
    )
    assert leaks(both, bp.mean("b"))["a"].influence.pairs[0].farthest == 3.0


def test_separated_attributes_of_a_gaussian_network_tell_nothing() -> None:
    apart = bp.types.GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {})
    row = leaks(apart, bp.mean("b"))["a"]
    assert (row.nats, row.delta, row.reached) == (0.0, None, "no path leads to it")


def test_a_parameter_with_a_density_has_no_secrets_but_declared_ones() -> None:
    kind = kinds.density()
    framed, alone = leaks(kind.framework, kind.query), leaks(kind.network, kind.query)
    told = bp.max_influence(kind.network, {"sat"}, "income", bp.intervals((0.0, 1.0)))
    assert framed["income"].nats == float(told)
    assert framed["income"].delta == told.delta(1.0)
    for row in (framed["school"], alone["school"], alone["income"]):
        assert math.isnan(row.nats)
        assert row.belief is None
        assert row.reached == "no secrets of it are declared"
    assert alone["sat"].read
    assert "nan" not in alone.text


@pytest.mark.parametrize("name", ["records", "dataset", "network"])
def test_leaks_over_records_are_those_of_one_record_by_brute_force(name: str) -> None:
    kind = kinds.records() if name == "network" else kinds.KINDS[name]()
    found = leaks(kind.network if name == "network" else kind.framework, kind.query)
    network = kinds.patients()
    law = oracles.joint(network, 0)
    pairs = bp.pairs(("no", "yes"))
    for attribute in ("ill", "smokes"):
        both = pairs.ordered(attribute, ["no", "yes"])
        exact = max(oracles.influence(network, law, ("coughs",), attribute, pair) for pair in both)
        assert math.isclose(found[attribute].nats, exact, rel_tol=1e-9)
        assert found[attribute].bounds_belief
        assert not found[attribute].chosen_pairs
    assert found["coughs"].read
    assert "values of an attribute in one record" in found.text


def each_column(found: Leaks) -> Iterator[tuple[str, float]]:
    for told in found.single:
        (name,) = told.columns
        yield name, float(told)


def test_what_columns_tell_about_which_of_two_networks_holds() -> None:
    kind = kinds.networks()
    found = leaks(kind.framework, bp.stack(kinds.COUGHS, bp.count(bp.col("smokes") == "yes")))
    sides = [kinds.patients(), kinds.patients(0.2, 0.5)]

    def far(*names: str) -> float:
        first, second = (oracles.marginal(side, oracles.joint(side, 0), names) for side in sides)
        return float(np.abs(np.log(first) - np.log(second)).max())

    (row,) = found.rows
    assert row.attribute == "the distribution"
    assert math.isclose(row.nats, far("coughs", "smokes"), rel_tol=1e-9)
    single = dict(each_column(found))
    assert list(single) == sorted(single, key=lambda name: -single[name])
    for name in ("ill", "smokes", "coughs"):
        assert math.isclose(single[name], far(name), rel_tol=1e-9)
    assert "Of all 100 records together the nats are at most 100 times as many." in found.text


def test_laws_without_a_network_name_no_columns() -> None:
    kind = kinds.laws()
    with pytest.raises(bp.errors.RefusedError, match="distributions of an answer, which name no columns"):
        leaks(kind.framework, kind.query)


def test_a_chain_reads_its_column_and_the_other_values_tell_too() -> None:
    kind = kinds.chain()
    for model in (kind.framework, kind.network):
        row = leaks(model, kind.query)["activity"]
        assert row.read
        assert row.nats == math.inf
        others = bp.max_influence(kind.network, {"activity"}, "activity")
        assert float(row.others) == float(others)
        assert math.isclose(float(others), 2 * math.log(0.6 / 0.4), rel_tol=1e-6)
        assert f"the other values move the odds {by_times(float(others))}" in row.reached


@pytest.mark.parametrize("name", ["records", "dataset", "chain", "networks", "gaussian", "density"])
def test_a_query_of_a_column_outside_the_model_is_refused(name: str) -> None:
    kind = kinds.KINDS[name]()
    for model in (kind.framework, kind.network):
        if model is not None:
            with pytest.raises(bp.BnprivError, match="shoe"):
                leaks(model, bp.total("shoe"))


def test_influences_of_columns_leave_out_public_records_and_say_so() -> None:
    framework = framework_of(1)
    alone = replace(framework, public_records=None)
    found, other = (bp.leaks(each, "count(x >= 2)") for each in (framework, alone))
    assert found["ill"].nats == other["ill"].nats == bp.leaks(framework.network, "count(x >= 2)")["ill"].nats
    said = "told under the models of the network alone"
    assert said in found.text
    assert said not in other.text
    report = bp.influence_report(framework, "count(x >= 2)")
    assert said in report.text
    assert re.search(r"any of 3 draws of weights for \d public records", report.text)
    assert said not in bp.influence_report(alone, "count(x >= 2)").text
