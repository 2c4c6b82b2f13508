"""What the checker does not cover yet: one list, from which lines may only go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.io.examples import example_path, examples
from tests.kinds import KINDS

m = bp.mechanisms
BEYOND = (
    *(m.EigenvectorMechanism(), m.ExpectedValueMechanism(), m.DirectionalMechanism(noise="gaussian")),
    *(m.QuantizationMechanism(), m.RecordPrivacyMechanism(), m.GroupPrivacyMechanism(size=5)),
)
"""Mechanisms that a plan does not try by itself."""


def listed(text: str) -> dict[str, str]:
    """Read lines of a question and a mechanism, and how the verdict starts."""
    pairs = (line.partition(": ") for line in text.strip().splitlines())
    return {name.strip(): why for name, _, why in pairs}


NOT_YET = listed(
    """
density MarkovQuiltMechanism() with delta: not covered: an estimate: densities are
density MarkovQuiltMechanism(noise='gaussian') with delta: not covered: an estimate: densities are
tables TightMechanism(): not covered: an estimate, or a bound wit
tables TightMechanism() with delta: not covered: an estimate, or a bound wit
tables TightMechanism(noise='gaussian') with delta: not covered: an estimate, or a bound wit
tables WassersteinMechanism(): not covered: an estimate, or a bound wit
tables WassersteinMechanism() with delta: not covered: an estimate, or a bound wit
tables WassersteinMechanism(noise='gaussian') with delta: not covered: an estimate, or a bound wit
models TightMechanism(): not covered: an estimate, or a bound wit
models TightMechanism() with delta: not covered: an estimate, or a bound wit
models TightMechanism(noise='gaussian') with delta: not covered: an estimate, or a bound wit
models WassersteinMechanism(): not covered: an estimate, or a bound wit
models WassersteinMechanism() with delta: not covered: an estimate, or a bound wit
models WassersteinMechanism(noise='gaussian') with delta: not covered: an estimate, or a bound wit
admissions admitted TightMechanism(): not covered: 'men' is not normal given i
admissions admitted WassersteinMechanism(): not covered: 'men' is not normal given i
admissions all_men TightMechanism(): not covered: 'men' is not normal given i
admissions all_men WassersteinMechanism(): not covered: 'men' is not normal given i
admissions all_women TightMechanism(): not covered: 'women' is not normal given
admissions all_women WassersteinMechanism(): not covered: 'women' is not normal given
admissions difference TightMechanism(): not covered: 'men' is not normal given i
admissions difference WassersteinMechanism(): not covered: 'men' is not normal given i
schools mean_effect TightMechanism(): not covered: an estimate: densities are
schools mean_effect WassersteinMechanism(): not covered: an estimate: densities are
schools gains TightMechanism(): not covered: an estimate: densities are
schools gains WassersteinMechanism(): not covered: an estimate: densities are
schools large TightMechanism(): not covered: an estimate: densities are
schools large WassersteinMechanism(): not covered: an estimate: densities are
counties mean_radon TightMechanism(): not covered: an estimate: densities are
counties mean_radon WassersteinMechanism(): not covered: an estimate: densities are
counties high_radon TightMechanism(): not covered: an estimate: densities are
counties high_radon WassersteinMechanism(): not covered: an estimate: densities are
"""
)
"""By kind or example, mechanism and whether delta is above 0: why the checker does not say that it holds."""


def asked(
    framework: Any, query: Any, *mechanisms: Any, deltas: tuple[float, ...] = (0.0, 0.005)
) -> Iterator[tuple[str, Any]]:
    """Yield what can be calibrated, with some deltas, by the mechanism in words."""
    for mechanism in mechanisms:
        for delta in deltas:
            if mechanism.supports(framework, query, epsilon=1.0, delta=delta) is None:
                found = mechanism.calibrate(framework, query, epsilon=1.0, delta=delta)
                yield f"{mechanism}{' with delta' if delta else ''}", found


def unheld(name: str, calibrations: Iterator[tuple[str, Any]], path: Any = None) -> dict[str, str]:
    """Return what does not hold, and how the verdict starts."""
    verdicts = ((f"{name} {how}", bp.verify(each, path)) for how, each in calibrations)
    return {
        how: f"{verdict.status}: {verdict.text}"[:40].strip() for how, verdict in verdicts if verdict.status != "holds"
    }


def pinned(name: str) -> dict[str, str]:
    """Return the lines of one kind or example."""
    return {how: why for how, why in NOT_YET.items() if how.split(" ")[0] == name}


@pytest.mark.parametrize("name", [n if n != "dataset" else pytest.param(n, marks=pytest.mark.slow) for n in KINDS])
def test_kinds(name: str) -> None:
    kind = KINDS[name]()
    assert unheld(name, asked(kind.framework, kind.query, *m.STANDARD, *BEYOND)) == pinned(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", examples())
def test_examples(name: str) -> None:
    framework, path = bp.example(name), example_path(name)
    found = {}
    for text, query in bp.read_queries(path).items():
        found |= unheld(f"{name} {text}", asked(framework, query, *m.STANDARD, deltas=(0.0,)), path)
    assert found == pinned(name)


def test_every_line_is_of_a_kind_or_an_example() -> None:
    assert {how.split(" ")[0] for how in NOT_YET} <= {*KINDS, *examples()}
