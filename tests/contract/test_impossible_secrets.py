"""Row 43: secrets none of whose pairs is possible are refused by every verb, never answered with "tells nothing"."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence.structural import impossibility
from bnpriv.core.frameworks.question import Framework

STATES = {"u": ["a", "b", "c"], "w": ["0", "1"], "x": ["0", "1"]}
PARENTS = {"x": ["u", "w"]}
CHILD = np.array([[[0.7, 0.2], [0.4, 0.6], [0.5, 0.9]], [[0.3, 0.8], [0.6, 0.4], [0.5, 0.1]]])
QUERY = bp.count(bp.col("x") == "1")
SCHEMA = bp.Schema(records=20, columns={name: bp.Categorical(states) for name, states in STATES.items()})
LAWS = {name: {state: {"0": 0.6, "1": 0.4} for state in STATES[name]} for name in ("w", "x")}


def network(law: object, level: str = "parameters") -> bp.DiscreteNetwork:
    tables = {"u": law, "w": [0.5, 0.5], "x": CHILD}
    return bp.DiscreteNetwork.from_tables(tables, states=STATES, parents=PARENTS, level=level)  # type: ignore[arg-type]


def intervals(law: object) -> object:
    low = {"u": law, "w": [0.4, 0.4], "x": CHILD - 0.05}
    high = {"u": law, "w": [0.6, 0.6], "x": CHILD + 0.05}
    return bp.DiscreteNetwork.from_intervals(low, high, states=STATES, parents=PARENTS, level="parameters")  # type: ignore[arg-type]


CERTAIN = [1.0, 0.0, 0.0]
CHOSEN = {"u": bp.pairs(("b", "c"), ("a", frozenset({"b", "c"})))}


def distributional(law: object, protect: object) -> Framework:
    return bp.DistributionalAttributePrivacy(network(law), SCHEMA, protect, source="a test", laws=LAWS)  # type: ignore[arg-type]


def of_values(law: object, protect: object) -> Framework:
    return bp.ValuePrivacy(network(law, "records"), SCHEMA, protect, source="a test")  # type: ignore[arg-type]


def of_dataset(law: object, names: list[str]) -> Framework:
    secrets = {name: bp.Secret(bp.count(bp.col(name) == STATES[name][-1])) for name in names}
    return bp.DatasetAttributePrivacy(network(law, "records"), SCHEMA, secrets, source="a test")


def of_chain(transition: object, start: object) -> Framework:
    schema = bp.Schema(records=20, columns={"x": bp.Categorical(["0", "1"])})
    chain = bp.types.MarkovChain(transition, start, 20, states=["0", "1"])  # type: ignore[arg-type]
    return bp.ValuePrivacy(chain, schema, "x", source="a test")


IMPOSSIBLE: dict[str, Callable[[], Framework]] = {
    "parameters": lambda: distributional(CERTAIN, "u"),
    "parameters beside possible ones": lambda: distributional(CERTAIN, ["w", "u"]),
    "chosen pairs": lambda: distributional(CERTAIN, CHOSEN),
    "two models": lambda: distributional([CERTAIN, [0.0, 1.0, 0.0]], "u"),
    "intervals": lambda: bp.DistributionalAttributePrivacy(intervals(CERTAIN), SCHEMA, ["w", "u"], source="a test"),
    "values": lambda: of_values(CERTAIN, "u"),
    "values beside possible ones": lambda: of_values(CERTAIN, ["w", "u"]),
    "a data set": lambda: of_dataset(CERTAIN, ["u"]),
    "a data set beside a possible one": lambda: of_dataset(CERTAIN, ["w", "u"]),
    "a chain at rest": lambda: of_chain([[1.0, 0.0], [0.5, 0.5]], [1.0, 0.0]),
    "a chain that turns": lambda: of_chain([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0]),
    "a chain's limit": lambda: of_chain([[1.0, 0.0], [0.5, 0.5]], "stationary"),
}
MECHANISMS = (
    bp.MarkovQuiltMechanism(),
    bp.mechanisms.MarkovChainMechanism(),
    bp.mechanisms.MarkovChainMechanism(influence="spectral"),
    bp.TightMechanism(),
    bp.WassersteinMechanism(),
    bp.ColumnMechanism(),
)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_every_verb_refuses_a_framework_of_impossible_secrets(name: str) -> None:
    """Row 43."""
    framework = IMPOSSIBLE[name]()
    assert impossibility(framework) is not None
    for mechanism in MECHANISMS:
        for delta in (0.0, 1e-3):
            assert mechanism.supports(framework, QUERY, epsilon=1.0, delta=delta) is not None
            with pytest.raises(bp.BnprivError):
                mechanism.calibrate(framework, QUERY, epsilon=1.0, delta=delta)
    plan = bp.plan(framework, QUERY, 1.0)
    assert not plan.calibrations
    verbs: list[Callable[[], object]] = [
        lambda: plan.best,
        lambda: bp.influence_report(framework),  # type: ignore[call-overload]
        lambda: bp.influence_report(framework, QUERY),  # type: ignore[call-overload]
        lambda: bp.influence_report(framework, QUERY, 1.0),  # type: ignore[call-overload]
        lambda: bp.tradeoff(framework, QUERY, [0.5, 1.0]),
        lambda: bp.leaks(framework, QUERY),  # type: ignore[arg-type]
        lambda: bp.compare(framework, framework, QUERY),  # type: ignore[arg-type]
    ]
    for verb in verbs:
        with pytest.raises(bp.BnprivError):
            verb()


@pytest.mark.parametrize("make", [network, intervals])
def test_every_verb_refuses_impossible_secrets_of_a_network(make: Callable[[object], object]) -> None:
    """Row 43."""
    certain = make(CERTAIN)
    for protect in ("u", ["w", "u"], CHOSEN):
        with pytest.raises(bp.BnprivError, match="positive probability"):
            bp.influence_report(certain, protect=protect)  # type: ignore[call-overload]
    with pytest.raises(bp.BnprivError, match="positive probability"):
        bp.max_influence(certain, {"x"}, "u")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [network, intervals])
def test_the_matrix_has_a_row_without_a_number_and_the_reason(make: Callable[[object], object]) -> None:
    """Row 43: one certain attribute does not take the other rows along."""
    found = bp.influence_matrix(make(CERTAIN))  # type: ignore[arg-type]
    assert found.loc["u"].isna().all()
    assert set(found.attrs["refused"]) == {"u"}
    assert "'u' must have positive probability" in found.attrs["refused"]["u"]
    assert found.loc["w", "x"] > 0.5
    chosen = bp.influence_matrix(make(CERTAIN), {"u": CHOSEN["u"], "w": bp.pairs(("0", "1"))})  # type: ignore[arg-type]
    assert chosen.loc["u"].isna().all()
    assert list(chosen.index) == ["u", "w"]


@pytest.mark.parametrize("make", [network, intervals])
def test_leaks_say_that_nothing_is_there_to_be_told_not_that_no_path_leads_there(
    make: Callable[[object], object],
) -> None:
    """Row 43."""
    found = bp.leaks(make(CERTAIN), QUERY)  # type: ignore[arg-type]
    assert found["u"].reached == "no two of its states are possible"
    assert math.isnan(found["u"].nats)
    assert found["u"].belief is None
    assert found.rows[-1].attribute == "u"
    assert "0 " not in next(line for line in found.text.splitlines() if line.startswith("u"))
    assert "nan" not in found.text
    assert found["w"].nats > 0.5
    apart = bp.leaks(make([0.5, 0.3, 0.2]), bp.count(bp.col("w") == "1"))  # type: ignore[arg-type]
    assert apart["u"].reached == "no path leads to it"
    assert apart["u"].nats == 0


def test_some_impossible_pairs_are_dropped_and_told() -> None:
    """Row 43: the pairs that are left decide."""
    law = [0.5, 0.5, 0.0]
    told = "u: c against a in model 0"
    for framework in (distributional(law, "u"), of_values(law, "u")):
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, QUERY, epsilon=0.1)
        assert any(told in line for line in calibration.certificate.dropped)
        assert told in calibration.text
        assert calibration.scale > 0
        report = bp.influence_report(framework, QUERY, 1.0)  # type: ignore[call-overload]
        for page in (report.text, report.to_markdown(), report.to_html(), report.to_json()):
            assert "a secret has probability zero: u: a against c in model 0; " in page
    assert "c against a in model 0" in bp.influence_report(network(law), protect="u").text
    matrix = bp.influence_matrix(network(law))
    assert matrix.attrs["refused"] == {}
    assert "c against a in model 0" in matrix.attrs["dropped"]["u"]
    assert matrix.loc["u", "x"] > 0
    assert "left out" in bp.leaks(network(law), QUERY)["u"].reached


def test_models_in_which_a_chain_is_certain_are_dropped_and_told() -> None:
    """Row 43."""
    moving, resting = [[0.6, 0.4], [0.4, 0.6]], [[1.0, 0.0], [0.5, 0.5]]
    schema = bp.Schema(records=20, columns={"x": bp.Categorical(["0", "1"])})
    both = bp.types.MarkovChain([moving, resting], [1.0, 0.0], 20, states=["0", "1"])
    one = bp.types.MarkovChain(moving, [1.0, 0.0], 20, states=["0", "1"])
    scales = []
    for chain in (both, one):
        framework = bp.ValuePrivacy(chain, schema, "x", source="a test")
        calibration = bp.mechanisms.MarkovChainMechanism().calibrate(framework, QUERY, epsilon=1.0)
        scales.append(calibration.scale)
        assert ("in model 1 no two values" in calibration.text) == (chain is both)
        assert "InfluenceReport" in repr(bp.influence_report(framework))
    assert scales[0] == scales[1]


@pytest.mark.parametrize("chosen", [bp.intervals((0.0, 1.0)), bp.apart(at_most=1), "a", ("a", "b")])
def test_secrets_of_another_kind_are_refused_by_name(chosen: object) -> None:
    """Intervals of a discrete parameter raised AttributeError."""
    verbs: list[Callable[[], object]] = [
        lambda: distributional([0.5, 0.3, 0.2], {"u": chosen}),
        lambda: of_values([0.5, 0.3, 0.2], {"u": chosen}),
        lambda: bp.influence_report(network([0.5, 0.3, 0.2]), protect={"u": chosen}),  # type: ignore[dict-item]
        lambda: bp.max_influence(network([0.5, 0.3, 0.2]), {"x"}, "u", chosen),  # type: ignore[arg-type]
        lambda: bp.influence_matrix(network([0.5, 0.3, 0.2]), {"u": chosen}),  # type: ignore[dict-item]
    ]
    for verb in verbs:
        with pytest.raises(bp.errors.SecretError, match="pairs of its states"):
            verb()


PUBLISHED = Path(os.environ.get("BNPRIV_PUBLISHED_NETWORKS", ""))


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.is_file(), reason="BNPRIV_PUBLISHED_NETWORKS names no file of published networks")
def test_matrices_of_published_networks() -> None:
    """Row 43: a network is refused for its size only, never for a certain state; a row is refused where it must be."""
    refused = tried = 0
    for nodes in json.loads(gzip.decompress(PUBLISHED.read_bytes())).values():
        if len(nodes) > 15:
            continue
        try:
            found = bp.DiscreteNetwork.from_tables(
                {node: np.array(each["prob"], dtype=float) for node, each in nodes.items()},
                states={node: each["states"][0] for node, each in nodes.items()},
                parents={node: each["parents"] for node, each in nodes.items()},
                normalize=True,
            )
        except bp.errors.NetworkError:
            continue  # tables with nan
        matrix = bp.influence_matrix(found)
        tried += 1
        for node in matrix.index:
            certain = node in matrix.attrs["refused"]
            refused += certain
            assert matrix.loc[node].isna().sum() == (len(found.attributes) if certain else 1)
    assert tried > 40
    print(tried, "networks,", refused, "rows without a constraint")
