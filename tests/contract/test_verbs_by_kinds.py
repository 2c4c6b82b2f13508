"""What every verb does for every kind of model: one table, to be changed on purpose only."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import bnpriv as bp
from tests.kinds import KINDS, Kind


def text(value: object) -> None:
    """Expect words."""
    assert isinstance(value, str)
    assert len(value.split()) >= 3


def html(value: object) -> None:
    """Expect markup."""
    text(value)
    assert "<" in str(value)
    assert ">" in str(value)


def parsed(value: object) -> None:
    """Expect a JSON object or list that holds something."""
    assert isinstance(value, str)
    assert json.loads(value)


def number(value: object) -> None:
    """Expect a number that is at least 0."""
    assert isinstance(value, float)
    assert value >= 0


def finite(value: float) -> None:
    """Expect a number."""
    assert math.isfinite(value)


def rows(value: Any) -> None:
    """Expect a data frame that holds something."""
    assert len(value) > 0
    assert len(value.columns) > 0


def some(value: Any) -> None:
    """Expect something, and no refusal."""
    assert value is not None
    assert not isinstance(value, bp.errors.Refusal)
    assert not hasattr(value, "__len__") or len(value) > 0, "nothing in it"


def holds(verdict: Any) -> None:
    """Expect that a replay agrees; what it does not cover counts as refused."""
    if verdict.status != "holds":
        raise bp.errors.RefusedError(verdict.text, found=verdict.status, remedy="")


def round_trip(kind: Kind) -> Any:
    """Write the calibration as JSON and read it back."""
    again = bp.types.Calibration.from_json(kind.calibration.to_json(), kind.framework, kind.query)
    assert again.seal == kind.calibration.seal
    return again


def slider(kind: Kind) -> str:
    """Return the page, which must have a slider for epsilon."""
    assert re.search(r'<input[^>]*type="range"', kind.page), "the page has no slider"
    return kind.page


def declared(kind: Kind) -> Any:
    """Return what was declared about the secrets; None for all pairs of states."""
    protect = kind.framework.protect
    given = protect[kind.protected] if isinstance(protect, Mapping) else None
    if isinstance(given, bp.Secret):
        return None if kind.network.states else given.pairs
    return given


def matrix_pairs(kind: Kind) -> Any:
    """Return the declared secrets for a matrix of influences; None for every attribute with all pairs of states."""
    given = declared(kind)
    return None if given is None else {kind.protected: given}


VERBS: dict[str, tuple[Callable[[Kind], object], Callable[[Any], None]]] = {
    # the model
    "network._repr_html_": (lambda kind: kind.network._repr_html_(), html),
    "framework._repr_html_": (lambda kind: kind.framework._repr_html_(), html),
    "query._repr_html_": (lambda kind: kind.query._repr_html_(), html),
    "schema._repr_html_": (lambda kind: kind.framework.schema._repr_html_(), html),
    "framework.secrets": (lambda kind: kind.framework.secrets, some),
    "framework.fingerprint": (lambda kind: kind.framework.fingerprint(), some),
    "column_sensitivity": (
        lambda kind: float(bp.column_sensitivity(kind.query, kind.query.columns, kind.framework.schema)),
        number,
    ),
    "check_model": (lambda kind: str(bp.check_model(kind.network, kind.observations)), text),
    # what columns tell
    "max_influence": (
        lambda kind: bp.max_influence(kind.network, {kind.column}, kind.protected, declared(kind)),
        some,
    ),
    "markov_quilts": (lambda kind: list(bp.markov_quilts(kind.network, kind.protected)), some),
    "influence_matrix": (lambda kind: bp.influence_matrix(kind.network, matrix_pairs(kind)), rows),
    "influences": (lambda kind: kind.evidence, some),
    "influence": (lambda kind: kind.influence, some),
    "float(influence)": (lambda kind: float(kind.influence), number),
    "influence.bound": (lambda kind: float(kind.influence.bound), number),
    "influence.explain": (lambda kind: kind.influence.explain(), text),
    "influence.conditional": (lambda kind: kind.influence.conditional(), some),
    "influence.delta": (lambda kind: kind.influence.delta(1.0), number),
    "influence._repr_html_": (lambda kind: kind.influence._repr_html_(), html),
    # the report
    "influence_report": (lambda kind: kind.report, some),
    "report, no query": (lambda kind: str(bp.influence_report(kind.framework)), text),
    "report of network": (
        lambda kind: str(bp.influence_report(kind.network, protect=kind.framework.protect)),
        text,
    ),
    "str(report)": (lambda kind: str(kind.report), text),
    "report.to_json": (lambda kind: kind.report.to_json(), parsed),
    "report.to_markdown": (lambda kind: kind.report.to_markdown(), text),
    "report.to_html": (lambda kind: kind.page, html),
    "report._repr_html_": (lambda kind: kind.report._repr_html_(), html),
    "report.to_pandas": (lambda kind: kind.report.to_pandas(), rows),
    "report.to_csv": (lambda kind: kind.report.to_csv(), text),
    "report.beliefs": (lambda kind: kind.report.beliefs, some),
    "report.slider": (slider, html),
    # analysis
    "leaks": (lambda kind: str(kind.leaks), text),
    "leaks of network": (lambda kind: str(bp.leaks(kind.network, kind.query)), text),
    "leaks.to_pandas": (lambda kind: kind.leaks.to_pandas(), rows),
    "leaks._repr_html_": (lambda kind: kind.leaks._repr_html_(), html),
    "compare": (lambda kind: str(kind.comparison), text),
    "compare.to_pandas": (lambda kind: kind.comparison.to_pandas(), rows),
    "compare_with_public": (
        lambda kind: str(bp.compare_with_public(kind.framework, kind.observations, kind.query)),
        text,
    ),
    "compare._repr_html_": (lambda kind: kind.comparison._repr_html_(), html),
    "tradeoff": (lambda kind: str(kind.tradeoff), text),
    "tradeoff.to_pandas": (lambda kind: kind.tradeoff.to_pandas(), rows),
    "tradeoff._repr_html_": (lambda kind: kind.tradeoff._repr_html_(), html),
    "simulate": (lambda kind: bp.simulate(kind.framework), rows),
    "rehearse": (lambda kind: str(kind.rehearsal), text),
    "rehearse.to_pandas": (lambda kind: kind.rehearsal.to_pandas(), rows),
    "rehearse._repr_html_": (lambda kind: kind.rehearsal._repr_html_(), html),
    "audit": (lambda kind: str(bp.audit(kind.calibration, runs=40)), text),
    # noise
    "plan": (lambda kind: str(kind.plan), text),
    "plan.to_json": (lambda kind: kind.plan.to_json(), parsed),
    "plan.to_pandas": (lambda kind: kind.plan.to_pandas(), rows),
    "plan.to_html": (lambda kind: kind.plan.to_html(), html),
    "plan._repr_html_": (lambda kind: kind.plan._repr_html_(), html),
    "calibration.explain": (lambda kind: kind.calibration.explain(), text),
    "calibration.to_json": (lambda kind: kind.calibration.to_json(), parsed),
    "calibration.from_json": (round_trip, some),
    "calibration.to_html": (lambda kind: kind.calibration.to_html(), html),
    "calibration._repr_html_": (lambda kind: kind.calibration._repr_html_(), html),
    "calibration.misspecified": (lambda kind: str(kind.calibration.misspecified(1.1)), text),
    "verify": (lambda kind: bp.verify(kind.calibration), holds),
    # release
    "release": (lambda kind: float(kind.release.value), finite),
    "str(release)": (lambda kind: str(kind.release), text),
    "release.to_json": (lambda kind: kind.release.to_json(), parsed),
    "release.to_html": (lambda kind: kind.release.to_html(), html),
    "release._repr_html_": (lambda kind: kind.release._repr_html_(), html),
}
"""How each verb is called, and what is expected of the value that comes back."""

WORDS = {
    "works": ("works", ""),
    # refused
    "exact": ("refused: ", "needs exact tables"),
    "drawn": ("refused: ", "needs records that are independent draws"),
    "finite": ("refused: ", "needs a network whose attributes have finitely many states"),
    "spread": ("refused: ", "found parameters alone"),
    "undrawn": ("refused: draws need every queried column", "a parameter without a column"),
    "answers": ("refused: a made-up table needs the distribution of its records", "distributions of the answer alone"),
    "several": ("refused: the distribution of a column given a secret must be that of one value", ""),
    "struct": ("refused: a secret that columns tell about must be an attribute of a network", ""),
    "delta": ("refused: what a factor does is worked out for Laplace noise and delta 0", ""),
    "other": ("refused: what a factor does is worked out for Markov quilts and for noise that needs no model", ""),
    "columns": ("refused: ", "found distributions of an answer, which name no columns"),
    "counts": (
        "refused: a public table is compared with the distribution of one record",
        "found secrets of another notion",
    ),
    "covered": ("refused: ", "found not covered"),
    "together": ("refused: what single columns tell needs independent records", "records tell about each other"),
}
"""What a word of the table stands for: how it starts, and what else is said."""


def table_of(text: str) -> dict[str, dict[str, str]]:
    """Read a table whose first line names the kinds, and every other line a verb."""
    kinds, *lines = text.strip().splitlines()
    names = kinds.split()
    rows = (line.rsplit(maxsplit=len(names)) for line in lines)
    return {verb.strip(): dict(zip(names, words, strict=True)) for verb, *words in rows}


TABLE = table_of(
    """
                             discrete graphs   interval gaussian density  chain    records  dataset  normal   laws     networks tables   models
    network._repr_html_      works    works    works    works    works    works    works    works    works    -        -        -        -
    framework._repr_html_    works    works    works    works    works    works    works    works    works    works    works    works    works
    query._repr_html_        works    works    works    works    works    works    works    works    works    works    works    works    works
    schema._repr_html_       works    works    works    works    works    works    works    works    works    works    works    works    works
    framework.secrets        works    works    works    works    works    works    works    works    works    works    works    works    works
    framework.fingerprint    works    works    works    works    works    works    works    works    works    works    works    works    works
    column_sensitivity       works    works    works    works    works    works    works    works    works    works    works    works    works
    check_model              works    works    exact    finite   finite   drawn    works    works    finite   -        -        -        -
    max_influence            works    works    works    works    works    works    works    works    works    -        -        -        -
    markov_quilts            works    works    works    works    works    -        works    works    works    -        -        -        -
    influence_matrix         works    works    works    works    works    works    works    works    works    -        -        -        -
    influences               works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence                works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    float(influence)         works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence.bound          works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence.explain        works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence.conditional    works    works    exact    works    works    several  works    struct   struct   struct   struct   struct   struct
    influence.delta          works    works    exact    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence._repr_html_    works    works    works    works    works    works    works    struct   struct   struct   struct   struct   struct
    influence_report         works    works    works    works    works    works    works    works    works    works    works    works    works
    report, no query         works    works    works    works    works    works    works    works    works    works    works    works    works
    report of network        works    works    works    works    works    works    works    -        -        -        -        -        -
    str(report)              works    works    works    works    works    works    works    works    works    works    works    works    works
    report.to_json           works    works    works    works    works    works    works    works    works    works    works    works    works
    report.to_markdown       works    works    works    works    works    works    works    works    works    works    works    works    works
    report.to_html           works    works    works    works    works    works    works    works    works    works    works    works    works
    report._repr_html_       works    works    works    works    works    works    works    works    works    works    works    works    works
    report.to_pandas         works    works    works    works    works    works    works    works    works    works    works    works    works
    report.to_csv            works    works    works    works    works    works    works    works    works    works    works    works    works
    report.beliefs           works    works    works    works    works    works    works    works    works    works    works    works    works
    report.slider            works    works    works    works    works    works    works    works    works    works    works    works    works
    leaks                    works    works    works    works    works    works    works    works    works    columns  works    together together
    leaks of network         works    works    works    works    works    works    works    works    works    -        -        -        -
    leaks.to_pandas          works    works    works    works    works    works    works    works    works    columns  works    together together
    leaks._repr_html_        works    works    works    works    works    works    works    works    works    columns  works    together together
    compare                  works    works    works    works    works    works    works    works    works    works    works    works    works
    compare.to_pandas        works    works    works    works    works    works    works    works    works    works    works    works    works
    compare_with_public      counts   counts   counts   counts   counts   counts   counts   works    finite   counts   counts   finite   counts
    compare._repr_html_      works    works    works    works    works    works    works    works    works    works    works    works    works
    tradeoff                 works    works    works    works    works    works    works    works    works    works    works    works    works
    tradeoff.to_pandas       works    works    works    works    works    works    works    works    works    works    works    works    works
    tradeoff._repr_html_     works    works    works    works    works    works    works    works    works    works    works    works    works
    simulate                 works    works    exact    spread   undrawn  works    works    works    works    answers  works    works    works
    rehearse                 works    works    exact    spread   undrawn  works    works    works    works    works    works    works    works
    rehearse.to_pandas       works    works    exact    spread   undrawn  works    works    works    works    works    works    works    works
    rehearse._repr_html_     works    works    exact    spread   undrawn  works    works    works    works    works    works    works    works
    audit                    works    works    exact    spread   undrawn  works    works    works    works    works    works    works    works
    plan                     works    works    works    works    works    works    works    works    works    works    works    works    works
    plan.to_json             works    works    works    works    works    works    works    works    works    works    works    works    works
    plan.to_pandas           works    works    works    works    works    works    works    works    works    works    works    works    works
    plan.to_html             works    works    works    works    works    works    works    works    works    works    works    works    works
    plan._repr_html_         works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration.explain      works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration.to_json      works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration.from_json    works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration.to_html      works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration._repr_html_  works    works    works    works    works    works    works    works    works    works    works    works    works
    calibration.misspecified works    works    works    delta    delta    other    works    other    other    other    other    other    other
    verify                   works    works    works    works    covered  works    works    works    works    works    works    covered  covered
    release                  works    works    works    works    works    works    works    works    works    works    works    works    works
    str(release)             works    works    works    works    works    works    works    works    works    works    works    works    works
    release.to_json          works    works    works    works    works    works    works    works    works    works    works    works    works
    release.to_html          works    works    works    works    works    works    works    works    works    works    works    works    works
    release._repr_html_      works    works    works    works    works    works    works    works    works    works    works    works    works
"""  # noqa: E501  (a kind is a column)
)
"""What is so today: it works, or a refusal has a mathematical reason. CAPITALS would mark a refusal without such a
reason, in wrong words, or a crash: there is none. A dash: there is nothing to ask."""


def attempt(verb: str, kind: Kind) -> str:
    """Return what a cell of the table is today, in full."""
    do, expect = VERBS[verb]
    try:
        value = do(kind)
        if isinstance(value, bp.errors.Refusal):
            raise value.error()
        expect(value)
    except bp.BnprivError as error:
        return f"refused: {error.required}; found {error.found}"
    except Exception as error:
        return f"crashes: {type(error).__name__}: {error}"
    return "works"


CELLS = [(verb, kind, word) for verb, row in TABLE.items() for kind, word in row.items() if word != "-"]
TO_FILL = [(verb, kind) for verb, kind, word in CELLS if word.isupper()]


@pytest.mark.parametrize(("verb", "kind", "word"), CELLS, ids=[f"{verb}-{kind}" for verb, kind, _ in CELLS])
def test_cell(verb: str, kind: str, word: str) -> None:
    found = attempt(verb, KINDS[kind]())
    start, part = WORDS[word.lower()]
    assert found.startswith(start), f"the table, to be changed on purpose only, says {word}"
    assert part in found, f"the table, to be changed on purpose only, says {word}"


def test_the_table_is_whole() -> None:
    assert list(TABLE) == list(VERBS)
    assert all(list(row) == list(KINDS) for row in TABLE.values())
    assert {word.lower() for row in TABLE.values() for word in row.values()} == {*WORDS, "-"}


def test_no_cell_is_to_be_filled() -> None:
    assert TO_FILL == []
    assert not any(start.startswith("crashes") for start, _ in WORDS.values())


def refusal_of(verb: str, kind: Kind) -> str | None:
    """Return all that a refusal says, its remedy too."""
    try:
        VERBS[verb][0](kind)
    except bp.BnprivError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", ["interval", "gaussian", "density", "laws"])
def test_no_refusal_sends_from_one_verb_to_the_other(kind: str) -> None:
    for verb, other in (("simulate", "rehearse"), ("rehearse", "simulate")):
        refused = refusal_of(verb, KINDS[kind]())
        assert refused is None or other not in refused
