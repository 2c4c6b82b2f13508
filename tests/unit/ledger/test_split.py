"""The split of a budget over questions: against a search over all scales, within the budget, and what to stack."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.accounting.accountant import Accountant
from bnpriv.core.accounting.total import Entry
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import ParameterError, RefusedError
from bnpriv.ledger import split as splitting
from bnpriv.ledger.history import scale_at_cost, total_with, with_scale
from bnpriv.ledger.split import AskedQuestion, realised

CLINIC, DATA = bp.example("clinic"), bp.example_data("clinic")
COST = bp.linear({"visits": 60, "infection": 4})
WARD = bp.linear({"liver_enzyme": 1, "infection": 2})
MADE = MarkovQuiltMechanism().calibrate(CLINIC, WARD, epsilon=0.5)
MODELLED = SimpleNamespace(family="records")


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
    assert not split.left_out
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
def test_what_passes_the_limit_gets_more_noise() -> None:
    """Whatever rates were found: what counts is the total of what is calibrated."""
    accountant, limit = Accountant(CLINIC), Fraction(3, 2)
    questions = [AskedQuestion.of(accountant, query, 0.75) for query in (COST, WARD)]
    found = splitting.shared(accountant, questions, limit)
    assert found is not None
    within = realised(accountant, questions, found[0] * 1.01, limit)
    assert within is not None
    assert within[1] <= limit
    assert total_with(accountant, map(Entry.of, within[0])) == within[1]


@pytest.mark.unhurried
def test_no_scales_on_a_grid_are_better() -> None:
    """Every pair of scales is tried by the accountant itself."""
    accountant, limit = Accountant(CLINIC), Fraction(3, 2)
    questions = [AskedQuestion.of(accountant, query, 0.75) for query in (COST, WARD)]
    best = math.inf
    for scales in itertools.product(np.geomspace(1.0, 40.0, 14), repeat=2):
        entries = [with_scale(each.entry, scale) for each, scale in zip(questions, scales, strict=True)]
        total = total_with(accountant, entries)
        if total is not None and total <= limit:
            best = min(best, sum(each.unit * scale for each, scale in zip(questions, scales, strict=True)))
    found = splitting.shared(accountant, questions, limit)
    assert found is not None
    assert found[1] <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_shares_keep_the_limit_and_nothing_near_is_better(seed: int) -> None:
    """Against made-up totals: the largest over rows of the least over near sets."""
    rng = np.random.default_rng([1818, seed])
    count = int(rng.integers(1, 4))
    fixed = np.sort(rng.uniform(0, 1.5, (2, 3)), axis=1)[:, ::-1]
    moved = np.sort(rng.uniform(0.1, 3, (count, 1, 3)), axis=2)
    units = rng.uniform(0.1, 2, count)

    def total(rates: np.ndarray) -> float:
        return float((fixed + (rates[:, None, None] * moved).sum(axis=0)).min(axis=1).max())

    class Made:
        left = 1000
        questions = tuple(SimpleNamespace(entry=MODELLED, made=MADE, unit=unit) for unit in units)
        fit = staticmethod(lambda rates: rates)
        __call__ = staticmethod(total)

    costs: Any = Made()
    found = splitting.best_rates(costs, [np.sqrt(units)], 2.0)
    assert found is not None
    rates, error = found
    assert total(rates) <= 2.0
    better = 0
    for _ in range(300):
        tried = rates * np.exp(rng.normal(0, 0.3, count))
        better += total(tried) <= 2.0 and float((units / tried).sum()) < error * (1 - 5e-3)
    assert not better


@pytest.mark.unhurried
def test_a_plan_of_stacks_uses_the_budget_and_errs_less_than_asking_each() -> None:
    """One shape of the noise for what is planned, calibrated and compared."""
    from bnpriv.ledger.values import Budget

    asked = [bp.stack("mean(visits)", "mean(infection)", "mean(liver_enzyme)"), bp.parse_query("mean(antiviral)")]
    split = splitting.split(Accountant(CLINIC), asked, Fraction(5), Budget(5.0))
    assert split.unspent == ""
    assert float(split.total) == pytest.approx(5.0, rel=1e-6)
    errors = [splitting.error_of(made) for made in split.calibrations]
    assert split.error == pytest.approx(sum(errors))
    each = [MarkovQuiltMechanism().calibrate(CLINIC, query, epsilon=2.5) for query in asked]
    both = MarkovQuiltMechanism().calibrate(CLINIC, bp.stack(*asked), epsilon=5.0)
    assert split.error <= min(sum(map(splitting.error_of, each)), splitting.error_of(both)) * (1 + 1e-9)
    assert split.equal_error == pytest.approx(sum(map(splitting.error_of, each)))


@pytest.mark.unhurried
def test_questions_of_independent_records_share_a_budget(tmp_path: Path) -> None:
    hospital = bp.example("hospital")
    session = bp.Session(hospital, bp.example_data("hospital"), budget=1.0, ledger=tmp_path / "ledger.db")
    asked = ['count(ward == "lungs")', 'count(smoker == "yes")', "mean(days)", "histogram(age_group)"]
    split = session.plan(asked)
    assert split.epsilon == pytest.approx(1.0, rel=1e-6)
    assert split.error < split.equal_error
    assert not split.left_out
    for made in split.calibrations:
        session.release(made)
    assert session.history.spent == split.total
    with pytest.raises(RefusedError, match=r"some use|nothing"):
        session.plan(asked)


@pytest.mark.unhurried
def test_what_would_be_useless_is_left_out_and_what_could_be_useful_is_named(tmp_path: Path) -> None:
    session = bp.Session(
        bp.example("hospital"), bp.example_data("hospital"), budget=0.15, ledger=tmp_path / "ledger.db"
    )
    asked = ["mean(days)", 'count(ward == "internal")', 'count(ward == "other")', "crosstab(age_group, ward)"]
    plan = session.plan([*asked, 'count(inhaler == "yes")', "histogram(ward)"])
    assert set(plan.left_out) <= {"crosstab(age_group, ward)", "histogram(ward)"}
    assert plan.left_out
    assert "left out, as" in plan.text
    assert f"Could be useful: {len(plan.useful)} of 6" in plan.text
    few = session.plan(plan.useful)
    assert few.useful == plan.useful
    for made in few.calibrations:
        assert made.useful.verdict in ("useful", "sharp")
    for made in plan.calibrations:
        session.release(made)
    assert session.history.spent == plan.total


def test_where_nothing_is_of_use_nothing_is_planned(tmp_path: Path) -> None:
    session = bp.Session(bp.example("hospital"), bp.example_data("hospital"), budget=1.0, ledger=tmp_path / "ledger.db")
    with pytest.raises(RefusedError, match="some use; found none: the cheapest takes"):
        session.plan(["mean(days)", "crosstab(age_group, ward)"], budget=0.001)


def test_a_function_of_the_caller_is_not_planned(tmp_path: Path) -> None:
    session = bp.Session(bp.example("hospital"), bp.example_data("hospital"), budget=1.0, ledger=tmp_path / "ledger.db")
    own = bp.custom(lambda table: 0.0, columns=["smoker"], sensitivity=1.0)
    with pytest.raises(RefusedError, match="told apart"):
        session.plan(["mean(days)", own])
    with pytest.raises(RefusedError, match="told apart"):
        session.workload(["mean(days)", own])


def test_what_goes_out_without_noise_leaves_budget_and_says_so(shared: bp.Session) -> None:
    split = shared.plan(["mean(visits)"])
    assert split.unspent.startswith("epsilon 1.89")
    assert "without noise" in split.text


@pytest.mark.unhurried
def test_three_parts_of_one_column_are_stacked() -> None:
    value = bp.col("liver_enzyme")
    parts = [value <= 20, (value > 20) & (value <= 40), value > 40]
    accountant = Accountant(CLINIC)
    asked = [AskedQuestion.of(accountant, bp.proportion(part), 0.125) for part in parts]
    asked.append(AskedQuestion.of(accountant, bp.mean("infection"), 0.125))
    (found, *_), *others = splitting.planned(accountant, asked, Fraction(1, 2), math.inf)
    assert len(others) == 1
    assert [each.asked for each in found if len(each.asked) > 1] == [tuple(str(bp.proportion(part)) for part in parts)]
    assert sum(len(each.asked) for each in found) == 4


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
    assert session.plan([WARD]).epsilon <= session.remaining
    with pytest.raises(RefusedError, match="budget"):
        bp.Session(CLINIC, DATA, ledger=session.ledger).release(antiviral, epsilon=50.0)


@pytest.mark.unhurried
def test_the_table_of_a_split_names_every_question(shared: bp.Session) -> None:
    split = shared.plan([COST, WARD])
    for shown in (split.text, split.to_markdown(), re.sub("<[^>]+>", "", split.to_html())):
        assert "If each got an equal part as an epsilon of its own" in shown
        for calibration in split.calibrations:
            assert str(calibration.query) in shown
