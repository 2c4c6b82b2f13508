"""Reports of data sets, single values of a chain, and pairs of distributions: each answers its own questions."""

from __future__ import annotations

import math
import re
from typing import Literal

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.finite import joint_law
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import NetworkError
from bnpriv.kinds.report_target import mixture_network
from tests import oracles
from tests.kinds import COUGHS, HEALTH, KINDS, SOURCE, patients


def test_a_data_set_says_which_property_and_how_far_apart() -> None:
    report = KINDS["dataset"]().report
    text = report.text
    assert "the number of records with ill = yes in this table (values at most 5 apart)" in text
    assert "what one record tells about itself" in text
    assert "The answer under the two worst secrets" not in text  # the section on the noise draws it
    assert report.laws is not None
    assert report.laws.first.points.shape[1] == 1


def test_columns_of_a_data_set_tell_what_they_tell_in_its_record_network() -> None:
    kind = KINDS["dataset"]()
    (row,) = kind.report.attributes
    for told in row.columns:
        assert float(told) == float(bp.max_influence(kind.network, told.columns, "ill"))
    assert float(row.asked) == float(bp.max_influence(kind.network, {"coughs"}, "ill"))
    alone = bp.influence_report(kind.network, protect=kind.framework.protect)
    assert [float(told) for told in alone.attributes[0].columns] == [float(told) for told in row.columns]


def test_without_an_epsilon_the_laws_of_a_data_set_are_shown_all_the_same() -> None:
    kind = KINDS["dataset"]()
    report = bp.influence_report(kind.framework, kind.query)
    assert report.plan is None
    assert report.laws.distance.upper > 0
    assert "the distribution of the answer moves by at most" in report.text
    assert bp.influence_report(kind.framework).laws is None


def test_declared_laws_have_an_answer_that_tells() -> None:
    report = KINDS["laws"]().report
    table = report.to_pandas()
    even, binomial = np.full(101, 1 / 101), np.array([math.comb(100, k) / 2**100 for k in range(101)])
    assert table["nats"].tolist() == [pytest.approx(np.abs(np.log(even / binomial)).max())]
    assert "Declare record networks" in report.text
    assert report.attributes == ()


def test_pairs_of_record_networks_say_what_each_column_tells_about_which_holds() -> None:
    kind = KINDS["networks"]()
    (row,) = kind.report.attributes
    first, second = patients(), patients(0.2, 0.5)
    for told in row.columns:
        (name,) = told.columns
        laws = [np.exp(joint_law(network, (name,)).values[0]) for network in (first, second)]
        assert float(told) == pytest.approx(np.abs(np.log(laws[0] / laws[1])).max(), rel=1e-9)


def test_joined_networks_of_which_nobody_said_the_level_still_have_none() -> None:
    def of(level: Literal["parameters", "records"] | None) -> bp.DiscreteNetwork:
        return bp.DiscreteNetwork.from_tables({"ill": [0.5, 0.5]}, states={"ill": ["no", "yes"]}, level=level)

    assert mixture_network([of(None), of("parameters")], "which", ["one", "two"]).reading.level_assumed
    assert not mixture_network([of("records"), of("records")], "which", ["one", "two"]).reading.level_assumed
    assert mixture_network([of("records"), of("records")], "which", ["one", "two"]).level == "records"


def test_networks_with_opposite_edges_are_not_joined() -> None:
    names = {"states": {"ill": ["no", "yes"], "smokes": ["no", "yes"]}, "level": "records"}
    table = [[0.8, 0.4], [0.2, 0.6]]
    one = DiscreteNetwork.from_tables({"ill": [0.9, 0.1], "smokes": table}, parents={"smokes": ["ill"]}, **names)
    two = DiscreteNetwork.from_tables({"smokes": [0.9, 0.1], "ill": table}, parents={"ill": ["smokes"]}, **names)
    with pytest.raises(NetworkError, match="no cycle"):
        mixture_network([one, two], "which", ["one", "two"])
    schema = bp.Schema(records=10, columns={name: HEALTH.columns[name] for name in names["states"]})
    framework = bp.DistributionPrivacy([(one, two)], schema=schema, source=SOURCE)
    report = bp.influence_report(framework, bp.count(bp.col("ill") == "yes"), 1.0)
    assert report.best is not None
    assert "no cycle" in report.text


@pytest.mark.parametrize("seed", range(12))
def test_a_joined_network_is_each_of_its_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = oracles.random_network(rng, 4, deterministic=0.2)
    names = drawn.attributes
    other = DiscreteNetwork.from_tables(
        {name: rng.dirichlet(np.ones(len(drawn.states[name]))) for name in names},
        states={name: drawn.states[name][::-1] for name in names},
        parents={},
        level=drawn.level,
    )
    both = mixture_network([drawn, other], "which", ["a", "b"])
    whole = np.exp(joint_law(both, ("which", *names)).values[0]) * 2
    for place, network in enumerate((drawn, other)):
        law = np.exp(joint_law(network, names).values[0])
        index = [[network.states[name].index(state) for state in both.states[name]] for name in names]
        assert whole[place] == pytest.approx(law[np.ix_(*index)], abs=1e-12)


def test_single_values_of_a_chain_say_what_their_neighbours_tell() -> None:
    report = KINDS["chain"]().report
    text = report.text
    assert "The other values of activity tell about each of them" in text
    assert "Noise per unit of sensitivity" in text
    assert "The answer under the two worst secrets" not in text
    assert bp.influence_report(report.framework).headline == (
        "One value of activity hides behind noise for 3.572 records at epsilon 1."
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_slider_shows_what_the_mechanism_calibrates(kind: str) -> None:
    made = KINDS[kind]()
    page = made.page
    assert re.search(r'<input[^>]*type="range"', page)
    assert f'"asked":{made.report.epsilon:g}' in page.replace("1.0,", "1,")


def test_advice_is_what_plans_say() -> None:
    kind = KINDS["dataset"]()
    report = kind.report
    found = re.search(r"It would be useful from epsilon ([\d.]+) on", report.text)
    assert found is not None
    assert bp.plan(kind.framework, COUGHS, float(found[1])).best.useful.verdict in ("useful", "sharp", "exact")
    assert report.best.useful.verdict == "coarse"


def test_a_release_without_noise_at_delta_above_0_does_not_claim_a_bound() -> None:
    kind = KINDS["gaussian"]()
    calibration = bp.MarkovQuiltMechanism().calibrate(kind.framework, kind.query, epsilon=5.0, delta=1e-4)
    assert calibration.scale == 0
    assert "tell at most" not in calibration.text
    assert "so rarely that delta is" in calibration.text


def test_tiny_numbers_of_a_chain_are_not_spelled_out() -> None:
    assert re.search(r"\de-\d", KINDS["chain"]().report.text) is None
