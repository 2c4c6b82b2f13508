"""Frameworks over interval networks: what they promise, and that whatever needs exact tables refuses them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.discrete import IntervalNetwork
from bnpriv.core.secrets import SecretPairs
from bnpriv.io.pgmpy import to_pgmpy
from tests import oracles
from tests.members import members

QUERY = bp.count(bp.col("height") > 180)
STUDENT = bp.example("student")


def framework(within: float) -> bp.DistributionalAttributePrivacy:
    network = IntervalNetwork.around(STUDENT.network, within)
    return bp.DistributionalAttributePrivacy(network, STUDENT.schema, "income", source="a test")


def test_the_guarantee_speaks_of_all_members() -> None:
    calibration = bp.MarkovQuiltMechanism().calibrate(framework(0.05), QUERY, epsilon=0.5)
    assert "any model within the declared intervals" in calibration.guarantee.sentence
    assert "any model within the declared intervals" in calibration.to_html()
    assert any("within the declared intervals" in line for line in calibration.certificate.assumptions)
    assert bp.types.Calibration.from_json(calibration.to_json(), framework(0.05)).scale == calibration.scale


def test_wider_intervals_need_more_noise_and_have_another_fingerprint() -> None:
    query = bp.linear({"sat": 1.0, "height": 1.0})
    widths = (0.0, 0.01, 0.05, 0.2)
    scales = [bp.MarkovQuiltMechanism().calibrate(framework(w), query, epsilon=2.0).scale for w in widths]
    known = bp.MarkovQuiltMechanism().calibrate(STUDENT, query, epsilon=2.0).scale
    assert scales == sorted(scales)
    assert scales[0] == pytest.approx(known, rel=1e-9)
    assert scales[-1] > 1.01 * scales[0]
    assert len({framework(w).fingerprint() for w in widths}) == len(widths)


def test_no_member_passes_the_calibrated_epsilon() -> None:
    """The exact law of the output under random members, with the noise that was calibrated for the intervals."""
    rng = np.random.default_rng(4)
    most: list[float] = []
    while len(most) < 25:
        case = oracles.random_case(rng, models=1, most_nodes=4)
        declared = case.framework
        protect = {name: SecretPairs(pairs) for name, pairs in declared.secrets.items()}
        wide = IntervalNetwork.around(declared.network, 0.08)
        among = bp.DistributionalAttributePrivacy(wide, declared.schema, protect, source="a test")
        scale = bp.MarkovQuiltMechanism().calibrate(among, case.query, epsilon=case.epsilon).scale
        some = members(wide, rng, [k % 3 > 0 for k in range(10)])
        truth = bp.DistributionalAttributePrivacy(some, declared.schema, protect, source="a test")
        most.append(oracles.output_epsilon(replace(case, framework=truth), scale) / case.epsilon)
    assert max(most) <= 1 + 1e-9
    assert np.median(most) > 0.2


def refusals() -> list[object]:
    wide = framework(0.05)
    calibration = bp.ColumnMechanism().calibrate(wide, QUERY, epsilon=1.0)
    return [
        lambda: bp.simulate(wide, 10),
        lambda: bp.rehearse(calibration),
        lambda: bp.check_model(wide.network, None),  # type: ignore[arg-type]
        lambda: to_pgmpy(wide.network),  # type: ignore[arg-type]
        lambda: bp.model_class([wide.network]),  # type: ignore[list-item]
        lambda: bp.DatasetAttributePrivacy(wide.network, wide.schema, {}, source="x"),  # type: ignore[arg-type]
        lambda: bp.TightMechanism().calibrate(wide, QUERY, epsilon=1.0),
        lambda: bp.WassersteinMechanism().calibrate(wide, QUERY, epsilon=1.0),
        lambda: bp.MarkovQuiltMechanism(noise="gaussian").calibrate(wide, QUERY, epsilon=1.0, delta=1e-6),
    ]


@pytest.mark.parametrize("k", range(9))
def test_what_needs_exact_tables_refuses_intervals(k: int) -> None:
    with pytest.raises(bp.BnprivError, match="needs exact tables; found an interval for every probability"):
        refusals()[k]()  # type: ignore[operator]


def test_reports_and_comparisons_take_intervals() -> None:
    wide = framework(0.05)
    report = bp.influence_report(wide, QUERY, 1.0)
    assert "any model within the declared intervals" in report.text
    assert "without an edge is not worked out" in report.text
    assert all(report.to_json() and report.to_html() and report.to_markdown() for _ in range(1))
    assert float(bp.influence_report(wide.network, protect="income").attributes[0].columns[0]) > 1.79
    assert bp.leaks(wide, QUERY).rows[0].attribute == "height"
    assert len(list(bp.markov_quilts(wide.network, "income"))) == len(list(bp.markov_quilts(STUDENT.network, "income")))
    assert "a network given by intervals in B" in bp.compare(STUDENT, wide, QUERY, epsilon=1.0).text
    assert "They differ in nothing" in bp.compare(wide, framework(0.05), QUERY, epsilon=1.0).text


def test_a_framework_file_may_widen_its_network(tmp_path: Path) -> None:
    network = "variable a { type discrete [ 2 ] { x, y }; } variable b { type discrete [ 2 ] { x, y }; } "
    network += "probability ( a ) { table 0.5, 0.5; } probability ( b | a ) { (x) 1.0, 0.0; (y) 0.4, 0.6; }"
    (tmp_path / "n.bif").write_text(network)
    text = 'notion = "distributional"\nsource = "s"\n[network]\nfile = "n.bif"\nwithin = {}\n[records]\ncount = 9\n'
    text += '[columns.b]\ntype = "integer"\nlower = 0\nupper = 1\n[protect.a]\n'
    file = tmp_path / "f.toml"
    file.write_text(text.format(0.05))
    wide = bp.read_framework(file)
    assert isinstance(wide, bp.DistributionalAttributePrivacy)
    assert isinstance(wide.network, IntervalNetwork)
    np.testing.assert_allclose(wide.network.upper["b"], [[1.0, 0.45], [0.05, 0.65]])
    np.testing.assert_allclose(wide.network.lower["b"], [[0.95, 0.35], [0.0, 0.55]])
    for bad in ("-0.1", "2", '"much"', "nan"):
        file.write_text(text.format(bad))
        with pytest.raises(bp.BnprivError, match="within"):
            bp.read_framework(file)


BAD = [
    ({"a": [0.5, 0.6]}, {"a": [0.7, 0.8]}, "must sum to 1"),
    ({"a": [0.1, 0.1]}, {"a": [0.3, 0.3]}, "must sum to 1"),
    ({"a": [0.5, 0.2]}, {"a": [0.4, 0.8]}, "0.5 to 0.4 for x"),
    ({"a": [-0.1, 0.2]}, {"a": [0.4, 0.8]}, "0 <= lower"),
    ({"a": [0.1, 0.2]}, {"a": [0.4, 1.8]}, "0 <= lower"),
    ({"a": [float("nan"), 0.2]}, {"a": [0.4, 0.8]}, "0 <= lower"),
    ({"a": [0.1]}, {"a": [0.4, 0.8]}, "shape"),
    ({}, {"a": [0.4, 0.8]}, "lower tables for nothing"),
    ({"a": [0.1, 0.1]}, {"a": [[0.4, 0.8], [0.4, 0.8]]}, "2 models"),
]


@pytest.mark.parametrize(("lower", "upper", "words"), BAD)
def test_intervals_that_are_none_are_refused(lower: dict, upper: dict, words: str) -> None:
    with pytest.raises(bp.BnprivError, match=words):
        bp.DiscreteNetwork.from_intervals(lower, upper, states={"a": ["x", "y"]})


def test_intervals_are_tightened() -> None:
    network = bp.DiscreteNetwork.from_intervals({"a": [0, 0.25, 0]}, {"a": [1, 1, 0.25]}, states={"a": list("xyz")})
    assert network.lower["a"].tolist() == [0, 0.25, 0]
    assert network.upper["a"].tolist() == [0.75, 1, 0.25]
    assert network.middle().probabilities("a").sum() == pytest.approx(1)


def test_a_shipped_model_may_be_known_roughly(tmp_path) -> None:
    """Also one whose file declares laws for the states of its nodes."""
    folder = Path(__file__).resolve().parents[4] / "models" / "clinic"
    for name in ("framework.toml", "clinic.bif"):
        (tmp_path / name).write_text((folder / name).read_text())
    path = tmp_path / "framework.toml"
    path.write_text(path.read_text().replace("[network]", "[network]\nwithin = 0.02"))
    framework = bp.read_framework(path)
    assert "any model within the declared intervals" in bp.influence_report(framework, bp.mean("age"), 1.0).text  # type: ignore[arg-type]
