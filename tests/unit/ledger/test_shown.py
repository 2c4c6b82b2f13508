"""What a session says: prices, its history and its page, and the costs in a plan."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.mechanisms.quilt import MarkovQuiltMechanism
from bnpriv.errors import RefusedError
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.session import LedgerPage
from tests.later import Later

pd = Later("pandas")

ROOT = Path(__file__).resolve().parents[3]
CLINIC, DATA = bp.example("clinic"), bp.example_data("clinic")
WARD = bp.linear({"liver_enzyme": 1, "infection": 2})
COST = bp.linear({"visits": 60, "infection": 4})


def begun(folder: Path) -> bp.Session:
    session = bp.Session(CLINIC, DATA, budget=2.0, ledger=folder / "ledger.db")
    session.release(WARD, epsilon=0.7)
    return session


@pytest.fixture
def session(tmp_path: Path) -> bp.Session:
    return begun(tmp_path)


def test_every_short_form_is_eight_lines_and_ends_with_what_to_do(session: bp.Session, tmp_path: Path) -> None:
    workload = session.workload(["mean(visits)", "mean(infection)"], 0.5)
    shown = [session, session.history, session.accountant, session.what_if(WARD, epsilon=0.7), workload, workload.split]
    shown += [session.plan(["mean(visits)"], 0.5), LedgerPage.of(Ledger.open(tmp_path / "ledger.db"))]
    shown += [bp.from_differential_privacy(1.0, columns=["visits"], name="Tumult")]
    for each in shown:
        lines = str(each).splitlines()
        assert len(lines) <= 8
        assert max(map(len, lines)) <= 100
        assert "Next: " in lines[-1]
        assert len(each.explain().splitlines()) <= 40
    assert session.quiet == "1.3"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> bp.Session:
    """For tests that release nothing."""
    return begun(tmp_path_factory.mktemp("shared"))


def test_a_price_reads_aloud(shared: bp.Session) -> None:
    text = shared.what_if(WARD, epsilon=0.7).text
    for part in (
        "linear(liver_enzyme: 1, infection: 2) would add epsilon 0.1087 and leave 1.191.",
        "Alone it would cost epsilon 0.7. What columns tell is paid once, and each protected attribute is counted for",
        "Error: at most 55.14 with 95 % probability",
        "All releases together then: epsilon 0.808678",
        "Left of the budget then: 1.19132",
    ):
        assert part in text


def test_a_price_of_the_first_release_speaks_of_no_earlier_ones(tmp_path: Path) -> None:
    session = bp.Session(CLINIC, DATA, budget=2.0, ledger=tmp_path / "ledger.db")
    free = bp.mean("visits")
    assert "Its guarantee is epsilon 0.9; what it tells is less." in session.what_if(free, epsilon=0.9).text
    asked = session.ask(free, error=1.0).text
    assert "Alone" not in asked
    assert "earlier" not in asked


def test_a_price_above_its_own_epsilon_says_why(tmp_path: Path) -> None:
    """Whether two columns agree goes with the secret: each of them alone tells nothing."""
    agree = [[[0.55, 0.45], [0.45, 0.55]], [[0.45, 0.55], [0.55, 0.45]]]
    tables = {"a": [0.5, 0.5], "b": [0.5, 0.5], "secret": agree}
    states = {name: ["no", "yes"] for name in tables}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"secret": ["a", "b"]}, level="parameters")
    schema = bp.Schema(records=2, columns={name: bp.Real(0, 1) for name in tables})
    framework = bp.DistributionalAttributePrivacy(network, schema, protect="secret", source="made up")
    table = pd.DataFrame({name: [0.0, 1.0] for name in tables})
    session = bp.Session(framework, table, budget=2.0, ledger=tmp_path / "ledger.db")
    session.release(bp.mean("a"), epsilon=0.1)
    price = session.what_if(bp.mean("b"), epsilon=0.1, mechanism=MarkovQuiltMechanism())
    assert price.epsilon == pytest.approx(math.log(0.55 / 0.45))
    assert "Alone it would cost epsilon 0.1. Columns may tell more together than apart." in price.text


def test_a_price_that_does_not_fit_says_so(shared: bp.Session) -> None:
    price = shared.what_if(bp.mean("mood_score"), epsilon=5.0, mechanism=ColumnMechanism())
    assert not price.fits
    assert price.remaining < 0
    assert "would add epsilon 5: more than is left." in price.text
    assert "it does not fit" in price.text


def test_what_cannot_be_counted_says_why_and_what_to_do(tmp_path: Path) -> None:
    framework = bp.example("four-people")
    table = pd.DataFrame({"x1": [0, 1, 1, 0], "x2": [1, 1, 0, 0]})
    query, channel = bp.mean("x1"), bp.mechanisms.OptimalMechanism()
    session = bp.Session(framework, table, budget=3.0, ledger=tmp_path / "ledger.db")
    assert session.what_if(query, epsilon=1.0, mechanism=channel).fits  # alone it may be released
    session.release(query, epsilon=1.0, mechanism=channel, even_if_useless=True)
    assert isinstance(session.what_if(query, epsilon=1.0).calibration.mechanism, ColumnMechanism)  # nothing else adds
    again = session.what_if(query, epsilon=1.0, mechanism=channel)
    assert not again.fits
    assert "cannot be released beside what was released." in again.text
    assert "bp.stack(...)" in again.text
    with pytest.raises(RefusedError, match="by its own distribution alone"):
        session.release(again, even_if_useless=True)
    session.release(query, epsilon=1.0, even_if_useless=True)
    assert session.remaining == 1.0


def test_equal_noise_and_equal_cost_in_a_plan(shared: bp.Session) -> None:
    plan = bp.plan(CLINIC, WARD, 0.7, session=shared)
    assert plan.session is not None
    first, *_, last = plan.session.costs
    assert isinstance(first.cost.calibration.mechanism, MarkovQuiltMechanism)
    assert first.cost.epsilon == pytest.approx(2 / first.cost.calibration.scale)  # a change of 2, over the scale
    assert first.scale == pytest.approx(2 / 0.7, rel=1e-5)  # the influence is paid: all of .7 is for noise
    assert isinstance(last.cost.calibration.mechanism, ColumnMechanism)
    assert last.cost.epsilon == pytest.approx(0.7)
    assert last.scale == last.cost.calibration.scale
    assert "What it costs as the next release of the session" in plan.text
    assert "session" in plan.to_dict()["data"]
    exact = bp.plan(CLINIC, bp.mean("visits"), 0.7, session=shared).session
    assert exact is not None
    assert (exact.costs[0].cost.calibration.scale, exact.costs[0].scale, exact.costs[0].error) == (0, 0, 0)
    assert bp.plan(CLINIC, WARD, 0.7).session is None


def test_the_history_has_a_bar_of_the_budget(session: bp.Session) -> None:
    session.release(WARD, epsilon=0.7)
    card = session.history._repr_html_()
    assert "<svg" in card
    assert "Spent: epsilon 0.8087 of 2." in card
    table = session.history.to_pandas()
    assert table["added"].tolist() == pytest.approx([0.7, 0.10867], abs=1e-5)
    assert table["total"].tolist() == pytest.approx([0.7, 0.80867], abs=1e-5)
    assert repr(session.history) == "History(releases=2, spent=0.808678)"
    shown = session.history.text
    assert session.history.releases[0].time[:10] in shown
    assert "key" not in shown.split("release, day")[1]
    session.release(WARD, epsilon=0.7, key="week 12")
    assert "week 12" in session.history.text
    assert "sees all 3 answers, the odds" in session.text


def test_what_rounding_leaves_of_a_budget_is_nothing(session: bp.Session) -> None:
    for made in session.plan([COST, bp.mean("visits")]).calibrations:
        session.release(made)
    assert 0 < session.remaining < 1e-6
    assert repr(session) == "Session('data', budget=2, remaining=0)"
    assert "left: 0 of 2" in session.to_html()


def test_the_bar_says_what_its_lines_are(session: bp.Session, shared: bp.Session) -> None:
    session.release(WARD, epsilon=0.7)
    assert "a dashed line after each release" in session.to_html()
    assert "sees both answers" in session.text
    assert "a dashed line after each release" not in shared.to_html()
    assert "narrow: the next release" in shared.what_if(WARD, epsilon=0.7).to_html()


def test_an_empty_history_can_be_shown(tmp_path: Path) -> None:
    empty = bp.Session(CLINIC, DATA, budget=2.0, ledger=tmp_path / "ledger.db")
    assert empty.history.text.startswith("Nothing was released; the budget is epsilon 2.")
    assert len(empty.history.to_pandas()) == 0
    assert empty.to_html()


def test_the_page_tells_what_was_told_about_each_attribute(shared: bp.Session) -> None:
    page = shared.text
    for part in (
        "1 release: 0.7 of epsilon 2 is spent, 1.3 is left.",
        "Told so far about infection: epsilon 0.7",
        "Told so far about opioid_use: epsilon",
        "A belief of 10 % in a secret becomes at most",
        "The guarantee, word for word",
        "What the budget does not count",
        shared.head,
    ):
        assert part in page


def test_row_31_names_are_escaped(tmp_path: Path) -> None:
    session = bp.Session(CLINIC, DATA, budget=2.0, ledger=tmp_path / "ledger.db", name="<script>alert(1)</script>")
    session.release(WARD, epsilon=0.7, key="<b>week</b>")
    for shown in (session.to_html(), session.history.to_html(), session._repr_html_()):
        assert "<script>alert" not in shown
        assert "<b>week" not in shown


def test_row_35_nothing_shown_holds_the_table(shared: bp.Session) -> None:
    assert repr(shared) == "Session('data', budget=2, remaining=1.3)"
    assert str(DATA) not in shared.text


def test_the_page_on_sessions_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {"__name__": "page"}
    for body in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(body, "docs/sessions.md", "exec"), found)
    assert (tmp_path / "ledger.db").exists()
    assert found["smokers"].calibration.useful.verdict == "useful"
    planned, chosen = found["plan"].calibrations, found["chosen"].calibrations
    assert len(found["session"].history) == 1 + len(planned) + len(chosen)
    assert found["session"].remaining == pytest.approx(0, abs=1e-6)
    assert sum(answer.value for answer in found["answers"]) == pytest.approx(10_000)


def test_a_ledger_in_the_working_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a place it is a file wherever the program was started: another folder has another budget."""
    monkeypatch.chdir(tmp_path)
    framework, data = bp.example("student"), bp.example_data("student")
    with bp.Session(framework, data, budget=1.0) as session:
        assert (tmp_path / "ledger.db").is_file()
        assert repr(session) == "Session('data', budget=1, remaining=1, ledger 'ledger.db' in the working folder)"
    with bp.Session(framework, data, ledger=tmp_path / "ledger.db") as session:
        assert "working folder" not in repr(session)
