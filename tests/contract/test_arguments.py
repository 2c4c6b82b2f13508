"""Arguments of the verbs: epsilon in its place; wrong orders, classes and other types are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import networkx as nx
import pytest

import bnpriv as bp
from bnpriv.core.noise import SecureSampler

if TYPE_CHECKING:
    import pandas as pd
    from pgmpy.models import DiscreteBayesianNetwork

STUDENT = bp.example("student")
DATA = bp.example_data("student")
QUERY = bp.count(bp.col("height") > 180)
MARKOV = cast(Any, bp.MarkovQuiltMechanism)
ANY = cast(Any, bp)


def refusal(call: Callable[[], object]) -> str:
    """Return what a refused call says."""
    with pytest.raises(bp.BnprivError) as refused:
        call()
    return str(refused.value)


def test_epsilon_and_delta_go_in_order() -> None:
    by_name = MARKOV().calibrate(STUDENT, QUERY, epsilon=0.5, delta=1e-6)
    assert MARKOV().calibrate(STUDENT, QUERY, 0.5, 1e-6).to_json() == by_name.to_json()
    assert MARKOV().supports(STUDENT, QUERY, 0.5, 1e-6) is None


def test_a_calibration_without_epsilon_is_refused() -> None:
    assert "epsilon must be a number" in refusal(lambda: MARKOV().calibrate(STUDENT, QUERY))
    assert "epsilon must be a number" in refusal(lambda: MARKOV().supports(STUDENT, QUERY))


@pytest.mark.unhurried
def test_a_calibration_releases_itself() -> None:
    calibration = MARKOV().calibrate(STUDENT, QUERY, 1.0)
    released = calibration.release(DATA)
    assert isinstance(released, bp.types.Release)
    assert released.to_json() == bp.release(calibration, DATA).to_json()  # without noise, so always the same


def test_a_calibration_passes_the_sampler_on() -> None:
    class Still:
        """Adds nothing."""

        def laplace(self, values: Any, scale: float) -> Any:
            assert scale > 0
            return tuple(values)

    calibration = bp.ColumnMechanism().calibrate(STUDENT, "mean(height)", 1.0)
    assert calibration.scale > 0
    found = calibration.release(DATA, sampler=cast(Any, Still()))
    assert found.value == pytest.approx(bp.release(calibration, DATA, sampler=cast(Any, Still())).value)


def test_a_changed_calibration_does_not_release_itself() -> None:
    calibration = MARKOV().calibrate(STUDENT, QUERY, 1.0)
    object.__setattr__(calibration, "query", bp.count(bp.col("height") > 150))
    assert "a calibration must be what its mechanism returned" in refusal(lambda: calibration.release(DATA))


ORDER: dict[str, tuple[Callable[[], object], str]] = {
    "plan(query, framework)": (lambda: ANY.plan(QUERY, STUDENT, 1.0), "found a Count before it. Swap the two."),
    "plan(text, framework)": (lambda: ANY.plan("mean(sat)", STUDENT, 1.0), "found a str before it. Swap the two."),
    "calibrate(query, framework)": (lambda: MARKOV().calibrate(QUERY, STUDENT, 1.0), "found a Count before it."),
    "tradeoff(query, framework)": (lambda: ANY.tradeoff(QUERY, STUDENT, [1.0]), "found a Count before it."),
    "plan(framework, epsilon, query)": (
        lambda: ANY.plan(STUDENT, 1.0, QUERY),
        "a query is needed; found a float. The query comes first, then epsilon and delta.",
    ),
    "calibrate(framework, epsilon, query)": (
        lambda: MARKOV().calibrate(STUDENT, 1.0, QUERY),
        "a query is needed; found a float. The query comes first, then epsilon and delta.",
    ),
    "release(data, calibration)": (
        lambda: ANY.release(DATA, MARKOV().calibrate(STUDENT, QUERY, 1.0)),
        "a calibration is needed first, then the table; found a PosixPath before it. Write release(calibration, data)",
    ),
    "release(plan, data)": (
        lambda: ANY.release(bp.plan(STUDENT, QUERY, 1.0), DATA),
        "found a Plan. Release one of the calibrations of the plan, for example plan.best.",
    ),
    "release(framework, data)": (
        lambda: ANY.release(STUDENT, DATA),
        "found a DistributionalAttributePrivacy. Calibrate first, for example calibration = plan(framework,",
    ),
    "the class": (
        lambda: MARKOV.calibrate(STUDENT, QUERY, 1.0),
        "a mechanism is called on an instance; found a call on the class",
    ),
    "the class, epsilon named": (
        lambda: MARKOV.calibrate(STUDENT, QUERY, epsilon=1.0),
        "Put parentheses behind the class: MarkovQuiltMechanism().calibrate(framework, query, epsilon).",
    ),
    "the class supports": (lambda: MARKOV.supports(STUDENT, QUERY, 1.0), "found a call on the class"),
    "a function": (lambda: ANY.plan(STUDENT, bp.count, 1.0), "found the function count. Call it."),
    "a name": (
        lambda: ANY.plan("student", QUERY, 1.0),
        "found a str. Read it with bnpriv.read_framework(path), or take bnpriv.example(name).",
    ),
    "a path": (lambda: ANY.plan(Path("student.toml"), QUERY, 1.0), "Read it with bnpriv.read_framework(path)"),
    "a query alone": (lambda: ANY.plan(QUERY, 1.0, 1.0), "found a Count. Write for example plan(framework, query,"),
    "a network": (
        lambda: ANY.plan(STUDENT.network, QUERY, 1.0),
        "found a DiscreteNetwork. Build one, for example DistributionalAttributePrivacy(network, schema, protect",
    ),
    "the class of frameworks": (
        lambda: ANY.plan(bp.DistributionalAttributePrivacy, QUERY, 1.0),
        "found the class DistributionalAttributePrivacy. Build one, for example",
    ),
    "epsilon as text": (
        lambda: ANY.plan(STUDENT, QUERY, "1.0"),
        "epsilon must be a number; found a str (text in quotes). Choose the bound on the log odds",
    ),
}


@pytest.mark.parametrize("case", ORDER)
def test_what_is_in_the_wrong_place_is_named(case: str) -> None:
    call, says = ORDER[case]
    assert says in refusal(call)


NETWORK = STUDENT.network
SCHEMA = STUDENT.schema
NOTION = ANY.DistributionalAttributePrivacy


def table() -> pd.DataFrame:
    """Return a table."""
    import pandas as pd

    return pd.DataFrame({"height": [170.0]})


def of_pgmpy() -> DiscreteBayesianNetwork:
    """Return a model of pgmpy."""
    from pgmpy.models import DiscreteBayesianNetwork

    return DiscreteBayesianNetwork([("income", "sat")])


class BayesNet:
    """Stands for a model of pyAgrum, which is not installed."""


BayesNet.__module__ = "pyagrum.pyagrum"

USES: dict[str, Callable[[Any], object]] = {
    "max_influence": lambda model: ANY.max_influence(model, {"sat"}, "income"),
    "influence_matrix": ANY.influence_matrix,
    "influence_report": lambda model: ANY.influence_report(model, protect="income"),
    "leaks": lambda model: ANY.leaks(model, QUERY),
    "check_model": lambda model: ANY.check_model(model, table()),
    "model_class": lambda model: ANY.model_class([model]),
    "distributional attribute privacy": lambda model: NOTION(model, SCHEMA, "income", source="x"),
    "dataset attribute privacy": lambda model: ANY.DatasetAttributePrivacy(model, SCHEMA, {}, source="x"),
    "value privacy": lambda model: ANY.ValuePrivacy(model, SCHEMA, "income", source="x"),
    "plan": lambda model: ANY.plan(model, QUERY, 1.0),
    "compare with public": lambda model: ANY.compare_with_public(model, table(), QUERY),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("model", "says"),
    [
        (of_pgmpy, "found a DiscreteBayesianNetwork. Copy it with bnpriv.from_pgmpy(model)."),
        (BayesNet, "found a BayesNet. Copy it with bnpriv.from_pyagrum(bn)."),
        (nx.DiGraph, "found a DiGraph. A graph has no probabilities: add them with"),
        (lambda: bp.DiscreteNetwork, "found the class DiscreteNetwork. "),
        (table, "found a DataFrame. "),
        (lambda: None, "found nothing. "),
    ],
    ids=["pgmpy", "pyAgrum", "networkx", "a class", "a table", "nothing"],
)
@pytest.mark.unhurried
def test_the_model_of_another_library_is_refused_with_its_converter(
    use: str, model: Callable[[], object], says: str
) -> None:
    assert says in refusal(lambda: USES[use](model()))


def test_a_framework_where_a_network_is_needed() -> None:
    assert "Pass the network of the framework, framework.network." in refusal(
        lambda: ANY.max_influence(STUDENT, {"sat"}, "income")
    )


DECLARED: dict[str, tuple[Callable[[], object], str]] = {
    "schema as a dict": (
        lambda: NOTION(NETWORK, {"height": bp.Real(1, 2)}, "income", source="x"),
        "a schema is needed; found a dict. Write Schema(records=1000, columns={...}).",
    ),
    "schema as a table": (
        lambda: NOTION(NETWORK, table(), "income", source="x"),
        "found a DataFrame. Declare it from public knowledge, never from the data.",
    ),
    "schema before network": (
        lambda: NOTION(SCHEMA, NETWORK, "income", source="x"),
        "a network is needed; found a Schema.",
    ),
    "schema of a sensitivity": (
        lambda: ANY.column_sensitivity(QUERY, SCHEMA, {"height"}),
        "a schema is needed; found a set.",
    ),
    "framework as schema": (
        lambda: ANY.column_sensitivity(QUERY, {"height"}, STUDENT),
        "Pass the schema of the framework, framework.schema.",
    ),
    "the class of a column": (
        lambda: bp.Schema(records=10, columns={"a": cast(Any, bp.Real)}),
        "found the class Real. Write Real(lower, upper), Integer(lower, upper), Binned(edges) or Categorical([...]).",
    ),
    "a slip in protect": (
        lambda: NOTION(NETWORK, SCHEMA, "incme", source="x"),
        "found 'incme'. Did you mean 'income'?",
    ),
    "an unknown column in protect": (
        lambda: NOTION(NETWORK, SCHEMA, "shoes", source="x"),
        "a protected attribute must be one of income, gender, height, weight, sat; found 'shoes'. Check the spelling.",
    ),
    "a slip in a state": (
        lambda: NOTION(NETWORK, SCHEMA, {"income": bp.pairs(("low", "hihg"))}, source="x"),
        "found 'hihg'. Did you mean 'high'?",
    ),
    "a slip in independent": (
        lambda: NOTION(NETWORK, SCHEMA, "income", source="x", independent=["hieght"]),
        "found hieght. Did you mean 'height'?",
    ),
    "protect is nothing": (
        lambda: NOTION(NETWORK, SCHEMA, None, source="x"),
        'found nothing. Write protect="income", or',
    ),
    "protect is a number": (lambda: NOTION(NETWORK, SCHEMA, 3, source="x"), "found an int. Write protect="),
    "protect is a secret": (
        lambda: NOTION(NETWORK, SCHEMA, bp.Secret("count(height > 170)"), source="x"),
        "found a Secret. Write protect=",
    ),
    "protect of the record notions": (
        lambda: ANY.ValuePrivacy(bp.example("hospital").network, SCHEMA, None, source="x"),
        "found nothing. Write protect=",
    ),
    "pairs as a number": (
        lambda: ANY.Secret(QUERY, 50),
        "found an int. Write pairs=apart(at_most=50), or pairs=pairs(",
    ),
    "pairs as a list": (lambda: ANY.Secret(QUERY, [(40, 50)]), "found a list. Write pairs=apart(at_most=50)"),
    "pairs as the function": (lambda: ANY.Secret(QUERY, bp.pairs), "found a function. Write pairs=apart(at_most=50)"),
    "pairs as a name": (lambda: ANY.influence_matrix(NETWORK, "income"), 'found a str. Write pairs={"income": None}'),
    "one pair of laws": (
        lambda: ANY.DistributionPrivacy((bp.laws.Atoms([0], [1]), bp.laws.Atoms([1], [1])), source="x"),
        "found an Atoms for a pair. Write DistributionPrivacy([(first, second)], ...).",
    ),
    "a slip in a parent": (
        lambda: bp.DiscreteNetwork.from_tables(
            {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.5, 0.5]]},
            states={"a": ["x", "y"], "b": ["x", "y"]},
            parents={"b": ["A"]},
        ),
        "found the unknown A. Did you mean 'a'?",
    ),
    "one network as a class": (lambda: ANY.model_class(NETWORK), "Pass a list: model_class([one, other])."),
    "a slip in an option": (lambda: MARKOV(noise="gausian"), "found 'gausian'. Did you mean 'gaussian'?"),
    "a slip in a query": (lambda: bp.plan(STUDENT, "mean(heigth)", 1.0), "found 'heigth'. Did you mean 'height'?"),
    "a slip in a query of a network": (lambda: bp.leaks(NETWORK, "mean(heigth)"), "Did you mean 'height'?"),
    "a slip in a sensitivity": (lambda: bp.column_sensitivity(QUERY, {"heigth"}, SCHEMA), "Did you mean 'height'?"),
    "a slip in an attribute": (
        lambda: bp.max_influence(NETWORK, {"saat"}, "income"),
        "found saat. Did you mean 'sat'?",
    ),
    "a slip in a row": (lambda: bp.leaks(NETWORK, QUERY)["incme"], "found 'incme'. Did you mean 'income'?"),
    "a slip in a category": (
        lambda: bp.plan(STUDENT, 'count(gender == "F")', 1.0),
        "found 'F'. Did you mean 'f'? Texts stand between quotes; values that are not declared count as missing.",
    ),
    "a slip in an example": (lambda: bp.example("studnt"), "found 'studnt'. Did you mean 'student'?"),
    "a slip in a level": (lambda: ANY.from_pgmpy(of_pgmpy(), level="record"), "Did you mean 'records'?"),
    "one epsilon": (
        lambda: ANY.tradeoff(STUDENT, QUERY, 1.0),
        "epsilons is a list; found a float. Pass [0.1, 0.5, 1.0].",
    ),
    "a plan to rehearse": (
        lambda: ANY.rehearse(bp.plan(STUDENT, QUERY, 1.0)),
        "found a Plan. Rehearse for example plan(",
    ),
    "a calibration to simulate": (
        lambda: ANY.simulate(MARKOV().calibrate(STUDENT, QUERY, 1.0)),
        "Pass the framework of the calibration, calibration.framework.",
    ),
    "a secret without its attribute": (
        lambda: ANY.simulate(STUDENT, secret="high"),
        'Write secret={"income": "high"}.',
    ),
    "a query in the place of protect": (
        lambda: ANY.influence_report(NETWORK, "income"),
        'Pass protect="name", or build',
    ),
    "a table as a path": (
        lambda: ANY.read_framework(table()),
        "a path is needed; found a DataFrame. Pass the path of a file",
    ),
    "a model as a path": (
        lambda: ANY.read_network(of_pgmpy()),
        "found a DiscreteBayesianNetwork. Copy it with bnpriv.from_pgmpy",
    ),
    "queries of a framework": (
        lambda: ANY.read_queries(STUDENT),
        "a path is needed; found a DistributionalAttributePri",
    ),
    "the name of an example": (
        lambda: bp.read_framework("student"),
        "the examples are read with bnpriv.example(name).",
    ),
    "a folder": (lambda: bp.read_framework(DATA.parent), "Give the file in this folder."),
    "a list as data": (
        lambda: ANY.release(MARKOV().calibrate(STUDENT, QUERY, 1.0), [1, 2]),
        "found a list. Pass a pandas",
    ),
    "an object as text": (
        lambda: ANY.types.Calibration.from_json(MARKOV().calibrate(STUDENT, QUERY, 1.0), STUDENT),
        "Pass what Calibration.to_json, a release's to_json or release --json wrote.",
    ),
}


@pytest.mark.parametrize("case", DECLARED)
def test_what_a_beginner_declares_is_refused_with_what_was_meant(case: str) -> None:
    call, says = DECLARED[case]
    assert says in refusal(call)


def test_a_column_named_almost_like_a_node_is_no_independent_column() -> None:
    schema = bp.Schema(records=10, columns={"heigth": bp.Real(100, 200), "shoes": bp.Integer(30, 50)})
    framework = bp.DistributionalAttributePrivacy(NETWORK, schema, "income", source="x")
    slip = MARKOV().supports(framework, "mean(heigth)", 1.0)
    other = MARKOV().supports(framework, "mean(shoes)", 1.0)
    assert slip.remedy == "Is 'height' in the network the same column? Give both one name."
    assert "independent" in other.remedy


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: ANY.MarkovQuiltMechanism(common_quilt="yes"), "common_quilt must be True or False; found a str."),
        (lambda: ANY.MarkovQuiltMechanism(large_delta=1), "large_delta must be True or False; found an int."),
        (lambda: ANY.ColumnMechanism(large_delta=None), "large_delta must be True or False"),
        (lambda: ANY.TightMechanism(large_delta="no"), "large_delta must be True or False; found a str."),
        (lambda: ANY.WassersteinMechanism(noise=True), "noise must be one of laplace, gaussian"),
        (lambda: ANY.mechanisms.MarkovChainMechanism(influence="spectal"), "Did you mean 'spectral'?"),
    ],
)
def test_options_of_mechanisms_that_merely_count_as_true_are_refused(build: Callable[[], object], says: str) -> None:
    assert says in refusal(build)


@pytest.mark.parametrize(
    "sampler", [3, "secure", object(), 0, SecureSampler], ids=lambda sampler: type(sampler).__name__
)
def test_what_draws_no_noise_is_refused_before_any_data_are_read(sampler: object) -> None:
    calibration = bp.plan(STUDENT, "mean(height)", 1.0).best
    found = refusal(lambda: ANY.release(calibration, "no such file.csv", sampler=sampler))
    assert found.startswith("a sampler draws this noise by its method laplace")
