"""Arguments of the verbs: epsilon in its place; wrong orders, classes and other types are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import bnpriv as bp

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
    "a function": (lambda: ANY.plan(STUDENT, bp.count, 1.0), "found count itself, not what a call of it returns"),
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
        "found DistributionalAttributePrivacy itself, not what a call of it returns.",
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
