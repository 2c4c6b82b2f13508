"""The split of a budget over questions: against a search over all scales, within the budget, and what to stack."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.entries import Entry
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.ledger import split as splitting
from bnpriv.ledger.history import scale_at_cost, total_with, with_scale
from bnpriv.ledger.split import AskedQuestion, NearCosts, Sharing, best_sharing

CLINIC, DATA = bp.example("clinic"), bp.example_data("clinic")
COST = bp.linear({"visits": 60, "infection": 4})
WARD = bp.linear({"liver_enzyme": 1, "infection": 2})


@pytest.fixture
def session(tmp_path: Path) -> bp.Session:
    return bp.Session(CLINIC, DATA, budget=2.0, ledger=tmp_path / "ledger.db")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> bp.Session:
    """For tests that release nothing."""
    return bp.Session(CLINIC, DATA, budget=2.0, ledger=tmp_path_factory.mktemp("shared") / "ledger.db")


@pytest.mark.unhurried
def test_a_split_is_within_the_budget_and_better_than_equal_parts(session: bp.Session) -> None:
    split = session.plan([COST, WARD, bp.mean("visits")])
    assert session.remaining == 2.0
    assert split.epsilon <= 2.0
    assert split.epsilon == pytest.approx(2.0, rel=1e-6)
    assert split.error < split.equal_error
    for calibration in split.calibrations:
        session.release(calibration)
    assert session.history.spent == split.total


def test_the_influence_is_paid_once(shared: bp.Session) -> None:
    split = shared.plan([WARD, bp.linear({"liver_enzyme": 2, "infection": 1})], budget=0.9)
    assert split.epsilon <= 0.9
    assert split.alone > 0.9 + 0.5


@pytest.mark.unhurried
def test_a_split_goes_on_from_what_was_released(session: bp.Session) -> None:
    session.release(WARD, epsilon=0.7)
    before = session.remaining
    split = session.plan([WARD], budget=0.5)
    assert split.epsilon <= 0.5
    assert split.calibrations[0].scale < MarkovQuiltMechanism().calibrate(CLINIC, WARD, epsilon=0.7).scale
    session.release(split.calibrations[0])
    assert before - session.remaining == pytest.approx(split.epsilon, abs=1e-9)


@pytest.mark.unhurried
def test_a_split_takes_no_more_than_is_left(session: bp.Session) -> None:
    session.release(WARD, epsilon=1.5)
    left = session.remaining
    assert left < 1.0
    split = session.plan([COST], budget=1.0)
    assert split.epsilon <= left
    session.release(split.calibrations[0])


def test_the_least_scale_at_a_cost_keeps_within_it() -> None:
    quilt = MarkovQuiltMechanism()
    first, second = (Entry.of(quilt.calibrate(CLINIC, query, epsilon=0.7)) for query in (WARD, COST))
    accountant = Accountant(CLINIC, entries=(first,))
    most = total_with(accountant, [second])
    assert most is not None
    for limit in (most, most * 2, most * 50):
        scale = scale_at_cost(accountant, second, limit)
        total, less = (total_with(accountant, [with_scale(second, each)]) for each in (scale, scale * (1 - 1e-5)))
        assert total is not None
        assert total <= limit
        assert less is None or less > limit


@pytest.mark.unhurried
def test_what_column_releases_cost_is_no_longer_there_to_be_split(session: bp.Session) -> None:
    session.release(WARD, mechanism=ColumnMechanism(), epsilon=0.5, even_if_useless=True)
    split = session.plan([COST, WARD])
    assert split.before == Fraction(1, 2)
    assert split.epsilon <= 1.5
    assert split.epsilon == pytest.approx(1.5, rel=1e-6)


@pytest.mark.unhurried
def test_a_split_that_would_pass_its_limit_is_refused(shared: bp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rates were found: what counts is the total of the accountant."""

    def too_much(*given: Any) -> Sharing | None:
        found = best_sharing(*given)
        return found and dataclasses.replace(found, rates=tuple(1.01 * rate for rate in found.rates))

    monkeypatch.setattr(splitting, "best_sharing", too_much)
    with pytest.raises(RefusedError, match="a total that passes it"):
        shared.plan([COST, WARD])


@pytest.mark.unhurried
def test_no_scales_on_a_grid_are_better() -> None:
    """Every pair of scales is tried by the accountant itself."""
    questions = [AskedQuestion.of(CLINIC, query) for query in (COST, WARD)]
    accountant, limit = Accountant(CLINIC), 1.5
    best = math.inf
    for scales in itertools.product(np.geomspace(1.0, 40.0, 14), repeat=2):
        entries = [with_scale(each.entry, scale) for each, scale in zip(questions, scales, strict=True)]
        total = total_with(accountant, entries)
        if total is not None and total <= limit:
            best = min(best, sum(each.weight * scale for each, scale in zip(questions, scales, strict=True)))
    from bnpriv.core.evidence.structural import influences
    from bnpriv.ledger.split import rows_of

    rows = rows_of(influences(CLINIC), [], [each.entry for each in questions])  # type: ignore[arg-type]
    found = best_sharing(rows, [each.weight for each in questions], limit)
    assert found is not None
    assert found.error <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_shares_keep_the_limit_and_nothing_near_is_better(seed: int) -> None:
    rng = np.random.default_rng([1818, seed])
    count = int(rng.integers(1, 4))
    rows = [
        NearCosts(
            fixed=np.sort(rng.uniform(0, 1.5, (2, 3)), axis=1)[:, ::-1].copy(),
            moved=np.broadcast_to(np.sort(rng.uniform(0.1, 3, (count, 1, 3)), axis=2), (count, 2, 3)).copy(),
        )
    ]
    weights = rng.uniform(0.1, 2, count).tolist()
    found = best_sharing(rows, weights, 2.0)
    assert found is not None

    def total(rates: np.ndarray) -> float:
        with np.errstate(invalid="ignore"):
            paid = np.where(rows[0].moved > 0, rates[:, None, None] * rows[0].moved, 0.0).sum(axis=0)
        return float((rows[0].fixed + paid).min(axis=1).max())

    rates = np.array(found.rates)
    assert np.isfinite(rates).all()
    assert total(rates) <= 2.0 * (1 + 1e-9)
    for _ in range(300):
        tried = rates * np.exp(rng.normal(0, 0.3, count))
        if total(tried) <= 2.0:
            assert float(np.sum(np.array(weights) / tried)) >= found.error * (1 - 1e-3)


@pytest.mark.unhurried
def test_three_parts_of_one_column_are_stacked(shared: bp.Session) -> None:
    value = bp.col("liver_enzyme")
    parts = [value <= 20, (value > 20) & (value <= 40), value > 40]
    split = shared.plan([bp.mean("infection"), *(bp.proportion(part) for part in parts)], budget=0.5)
    assert split.stacked == (tuple(str(bp.proportion(part)) for part in parts),)
    assert "stack(proportion" in str(split)
    assert sum(map(len, split.questions)) == 4


def test_what_needs_no_noise_gets_none(shared: bp.Session) -> None:
    split = shared.plan([COST, bp.mean("visits")])
    assert [made.scale > 0 for made in split.calibrations] == [True, False]


@pytest.mark.unhurried
def test_questions_that_cannot_be_split_are_refused(session: bp.Session) -> None:
    with pytest.raises(ParameterError, match="questions"):
        session.plan([])
    with pytest.raises(ParameterError):
        session.plan([COST], budget=-1.0)
    antiviral = bp.count(bp.col("antiviral") == 1)
    # a column without noise was released: what it tells is paid for, and does not shrink
    session.release(bp.mean("liver_enzyme"), epsilon=1.5)
    assert session.plan([antiviral]).epsilon <= session.remaining
    with pytest.raises(RefusedError, match="budget"):
        bp.Session(CLINIC, DATA, ledger=session.ledger).release(antiviral, epsilon=50.0)


@pytest.mark.unhurried
def test_the_table_of_a_split_names_every_question(shared: bp.Session) -> None:
    split = shared.plan([COST, WARD])
    for shown in (str(split), split.to_markdown(), split.to_html()):
        assert "If each got an equal part as an epsilon of its own" in shown
        for calibration in split.calibrations:
            assert str(calibration.query) in shown
