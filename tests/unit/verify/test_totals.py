"""The checker on totals of several releases: random sessions, ledgers, and faults planted in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from decimal import localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.core.accounting.total import gaussian_epsilon as by_the_library
from bnpriv.io.examples import example_path
from bnpriv.ledger.session import Session
from bnpriv.verify.check import ARITHMETIC, Verdict
from bnpriv.verify.forms import decimal
from bnpriv.verify.totals import gaussian_epsilon
from tests.sessions import lowered, recount

PATH = example_path("hospital")
HOSPITAL, STUDENT = bp.read_framework(PATH), bp.example("student")
ASKED = ('count(smoker == "yes")', 'count(inhaler == "yes")', "histogram(ward)")


def counted(framework: Any, mechanism: bp.types.Mechanism, *queries: Any, epsilon: float = 0.3) -> bp.Accountant:
    """Return an accountant of some releases."""
    found = bp.Accountant(framework)
    for query in queries:
        found = found.record(mechanism.calibrate(framework, query, epsilon=epsilon))
    return found


def replayed(text: str, change: Callable[[Any], None]) -> Verdict:
    """Replay a transcript in which something was changed."""
    record = json.loads(text)
    change(record)
    return bp.verify(json.dumps(record))


def with_less_noise(record: Any) -> None:
    entry = record["charges"][0]["entry"]
    entry["scale"] = (0.99 * float.fromhex(entry["scale"])).hex()


def by_delta(delta: float) -> tuple[bp.Accountant, float]:
    found = counted(STUDENT, bp.MarkovQuiltMechanism(noise="gaussian"))
    for query in (bp.mean("sat"), bp.count(bp.col("sat") > 1200)):
        calibration = bp.MarkovQuiltMechanism(noise="gaussian").calibrate(STUDENT, query, epsilon=1.0, delta=delta / 4)
        found = found.record(calibration)
    return found, delta


SESSIONS: dict[str, Callable[[], tuple[bp.Accountant, float]]] = {
    "records": lambda: (counted(HOSPITAL, bp.TightMechanism(), *ASKED, "mean(days)"), 0.0),
    "quilts": lambda: (
        counted(STUDENT, bp.MarkovQuiltMechanism(), bp.mean("sat"), bp.count(bp.col("height") > 180)),
        0.0,
    ),
    "columns": lambda: (counted(STUDENT, bp.ColumnMechanism(), bp.mean("sat"), bp.mean("height")), 0.0),
    "quilts beside columns": lambda: (
        counted(STUDENT, bp.ColumnMechanism(), bp.mean("sat")).record(
            bp.MarkovQuiltMechanism().calibrate(STUDENT, bp.mean("height"), epsilon=0.5)
        ),
        0.0,
    ),
    "another tool": lambda: (
        counted(HOSPITAL, bp.TightMechanism(), ASKED[0]).record(
            bp.from_differential_privacy(0.01, columns=["inhaler"])
        ),
        0.0,
    ),
    "another tool with delta": lambda: (
        bp.Accountant(HOSPITAL)
        .record(bp.from_differential_privacy(0.01, columns=["inhaler"], delta=1e-11))
        .record(bp.from_differential_privacy(0.02, columns=["inhaler"], delta=1e-11)),
        1e-5,
    ),
    "Gaussian noise": lambda: by_delta(1e-5),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_total_holds_and_one_a_hundredth_too_low_is_found(name: str) -> None:
    accountant, delta = SESSIONS[name]()
    text = accountant.transcript(delta)
    verdict = bp.verify(text)
    assert verdict.status == "holds", verdict
    assert float(verdict.text.split()[1]) == pytest.approx(accountant.epsilon_at(delta), rel=1e-6)
    assert bp.verify(lowered(text, 0.99)).status == "cannot be shown"
    if accountant.entries[0].noise:
        assert replayed(text, with_less_noise).code


def test_what_holds_is_what_the_framework_file_declares() -> None:
    text = counted(HOSPITAL, bp.TightMechanism(), *ASKED).transcript()
    verdict = bp.verify(text, PATH)
    assert verdict.status == "holds"
    assert not any("no framework file" in each for each in verdict.trusted)
    record = json.loads(text)
    tables = record["model"]["network"]["nodes"]["smoker"]["logs"]
    half = len(tables[0]) // 2
    tables[0] = tables[0][half:] + tables[0][:half]
    assert bp.verify(json.dumps(record), PATH).status == "fails"


def test_what_is_too_large_for_one_theorem_is_not_refuted_by_another() -> None:
    """One release alone, whose model was left out: that its own promise is larger shows nothing."""

    def without(record: Any) -> None:
        record["model"] = {key: record["model"][key] for key in ("notion", "records", "columns")}
        record["model"]["left_out"] = "too large: many numbers"

    assert replayed(lowered(counted(HOSPITAL, bp.TightMechanism(), ASKED[0]).transcript(), 0.9), without).status == (
        "too large"
    )


@pytest.mark.parametrize("name", ["records", "quilts"])
def test_a_transcript_that_protects_nothing_shows_nothing(name: str) -> None:
    accountant, delta = SESSIONS[name]()
    assert (
        replayed(accountant.transcript(delta), lambda record: record["model"].update(protect={})).status
        == "not covered"
    )


def test_two_fair_coins_that_are_equal_for_the_ill_have_no_total() -> None:
    """Each alone tells nothing; a ledger that counted them as nothing would be found out."""
    states = {name: ["no", "yes"] for name in ("ill", "A", "B")}
    tables = {"ill": [0.9, 0.1], "A": [0.5, 0.5], "B": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}
    network = bp.DiscreteNetwork.from_tables(tables, states=states, parents={"B": ["ill", "A"]}, level="records")
    schema = bp.Schema(records=50, columns={name: bp.Categorical(each) for name, each in states.items()})
    secret = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=10))
    framework = bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="two coins")
    both = counted(framework, bp.TightMechanism(), 'count(A == "yes")', 'count(B == "yes")')
    record = json.loads(both.transcript())
    assert record["charges"][-1]["total"] is None
    record["charges"][-1]["total"] = "1/1000000"
    assert bp.verify(json.dumps(record)).status == "cannot be shown"


def test_what_no_theorem_counts_together_fails() -> None:
    accountant = counted(HOSPITAL, bp.TightMechanism(), *ASKED[:2])

    def alone(record: Any) -> None:
        for charge in record["charges"]:
            charge["entry"]["family"] = "own law"

    assert replayed(accountant.transcript(), alone).status == "fails"

    def mixed(record: Any) -> None:
        record["charges"][0]["entry"]["family"] = "quilt"

    assert replayed(accountant.transcript(), mixed).status == "fails"

    def hidden(record: Any) -> None:  # noise that hides no column is no column release
        record["charges"][0]["entry"].update(family="column", mechanism="ColumnMechanism()")

    assert replayed(accountant.transcript(), hidden).status == "fails"


def test_a_column_of_which_a_normal_model_says_nothing_is_not_free(tmp_path: Path) -> None:
    network = bp.networks.GaussianNetwork.linear({"a": 0.0, "b": 0.0}, {"a": 1.0, "b": 1.0}, {"b": {"a": 1.0}})
    schema = bp.Schema(records=20, columns={name: bp.Real(-9, 9) for name in "abc"})
    framework = bp.DistributionalAttributePrivacy(network, schema, {"a": bp.apart(at_most=1)}, source="a book")
    framework.to_file(tmp_path / "framework.toml")
    accountant = bp.Accountant(framework)
    for mechanism, name in ((bp.MarkovQuiltMechanism(), "b"), (bp.ColumnMechanism(), "c")):
        accountant = accountant.record(mechanism.calibrate(framework, bp.mean(name), epsilon=1.0))
    record = json.loads(accountant.transcript())
    assert bp.verify(json.dumps(record), tmp_path / "framework.toml").status == "holds"
    # as if it counted by the model, with hardly any noise
    record["charges"][1]["entry"].update(family="quilt", mechanism="MarkovQuiltMechanism()", scale=(1e-3).hex())
    record["charges"][1]["total"] = "1001/1000"
    assert bp.verify(json.dumps(record), tmp_path / "framework.toml").status == "not covered"


def test_a_release_whose_numbers_do_not_fit_its_query_fails() -> None:
    text = counted(HOSPITAL, bp.TightMechanism(), *ASKED).transcript()

    def fewer(record: Any) -> None:
        record["charges"][-1]["entry"]["weights"] = ["0x1p+0"]

    assert replayed(text, fewer).status == "fails"

    def others(record: Any) -> None:
        record["charges"][0]["entry"]["columns"] = ["inhaler"]

    assert replayed(text, others).status == "fails"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the transcript of three releases and of one of another tool, and the last hash."""
    folder = tmp_path_factory.mktemp("totals")
    data = folder / "hospital.csv"
    rows = "old,yes,no,lungs,no,3\n" * HOSPITAL.schema.records
    data.write_text("age_group,smoker,disease,ward,inhaler,days\n" + rows)
    session = Session(HOSPITAL, data, budget=2.0, ledger=folder / "ledger.db")
    for query in ASKED:
        session.release(query, epsilon=0.3, even_if_useless=True)
    session.record_external(bp.from_differential_privacy(0.001, columns=["smoker"], name="OpenDP"))
    return session.transcript(), session.head


def test_a_ledger_is_counted_again_with_its_chain(ledger: tuple[str, str]) -> None:
    text, head = ledger
    verdict = bp.verify(text, PATH)
    assert verdict.status == "holds"
    assert head in verdict.text
    assert "within a budget of 2" in verdict.text


def rehashed(record: Any) -> None:
    """Give all rows hashes that follow from what they say."""
    head = record["rows"][0]["previous"]
    for row in record["rows"]:
        written = [head, row["sequence"], row["kind"], row["payload"]]
        row["previous"] = head
        head = hashlib.sha256(json.dumps(written, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
        row["hash"] = head


@pytest.mark.parametrize("place", range(1, 8))
def test_a_row_that_was_changed_or_left_out_is_found(ledger: tuple[str, str], place: int) -> None:
    def changed(record: Any) -> None:
        record["rows"][place]["payload"]["more"] = 1

    def missing(record: Any) -> None:
        del record["rows"][place]

    assert replayed(ledger[0], changed).status == "fails"
    assert replayed(ledger[0], missing).code == (1 if place < 7 else 0)  # the end is told by the last hash alone


def test_rows_that_were_written_anew_must_still_be_true(ledger: tuple[str, str]) -> None:
    def lower(record: Any) -> None:
        for row in record["rows"]:
            if row["kind"] == "charge":
                row["payload"]["total"] = str(Fraction(row["payload"]["total"]) * Fraction(99, 100))
        rehashed(record)

    assert replayed(ledger[0], lower).status == "cannot be shown"

    def smaller(record: Any) -> None:
        record["rows"][0]["payload"]["epsilon"] = "1/2"
        rehashed(record)

    assert replayed(ledger[0], smaller).status == "fails"

    def twice(record: Any) -> None:
        record["rows"].insert(3, json.loads(json.dumps(record["rows"][2])))
        for k, row in enumerate(record["rows"][1:]):
            row["sequence"] = k
        rehashed(record)

    assert replayed(ledger[0], twice).status == "fails"

    def earlier(record: Any) -> None:  # the first total alone is too low
        payload = next(row["payload"] for row in record["rows"] if row["kind"] == "charge")
        payload["total"] = "1/100"
        rehashed(record)

    verdict = replayed(ledger[0], earlier)
    assert verdict.status == "cannot be shown"
    assert "after release 1 of 4" in verdict.text


def test_what_fits_its_hashes_but_not_its_account_fails(ledger: tuple[str, str]) -> None:
    def keyed(record: Any) -> None:
        for row in record["rows"]:
            if row["kind"] == "charge":
                row["payload"]["key"] = "one"
        rehashed(record)

    def loose(record: Any) -> None:
        record["delta"] = "1/2"

    def other(record: Any) -> None:
        record["rows"][3]["chain"] = "another"

    for change in (keyed, loose, other):
        assert replayed(ledger[0], change).status == "fails"


def test_deltas_beside_columns_grow_and_add_up() -> None:
    delta, noisy = 1e-6, {"noise": "gaussian"}
    quilt = bp.MarkovQuiltMechanism(**noisy).calibrate(STUDENT, bp.mean("sat"), epsilon=1.0, delta=delta)
    pure = bp.ColumnMechanism().calibrate(STUDENT, bp.mean("height"), epsilon=0.3)
    column = bp.ColumnMechanism(**noisy).calibrate(STUDENT, bp.mean("height"), epsilon=0.3, delta=delta)
    first, last = (bp.Accountant(STUDENT).record(a).record(b) for a, b in ((pure, quilt), (quilt, column)))

    def claimed(accountant: bp.Accountant, share: float, *, turned: bool = False) -> str:
        def change(record: Any) -> None:
            record["charges"] = record["charges"][:: -1 if turned else 1]
            record["charges"][0]["total"], record["charges"][1]["total"] = None, "5"
            record["delta"] = str(Fraction(share * delta))

        return replayed(accountant.transcript(delta=2 * delta), change).status

    assert (claimed(first, 1.34), claimed(first, 1.36)) == ("cannot be shown", "holds")  # exp(0.3) is 1.35
    assert (claimed(last, 2.01), claimed(last, 3.01)) == ("cannot be shown", "holds")
    assert claimed(last, 10.0, turned=True) == "cannot be shown"


def test_near_columns_are_fixed_for_all_pairs() -> None:
    accountant, delta = by_delta(1e-5)
    record = json.loads(accountant.transcript(delta=delta))
    record["fixed"]["near"]["income"]["pairs"].pop()
    assert bp.verify(json.dumps(record)).status == "fails"


def test_hostile_transcripts_raise_nothing(ledger: tuple[str, str], tmp_path: Path) -> None:
    plain = json.loads(ledger[0])
    for name in plain:
        for value in (None, [], {}, "x", -1, 1e300):
            assert bp.verify(json.dumps({**plain, name: value})).status in ("not covered", "fails", "holds")
    for value in (None, [], {}, "x", -1, "nan", "1/0"):
        for name in plain["rows"][1]["payload"]["entry"]:
            record = json.loads(ledger[0])
            record["rows"][1]["payload"]["entry"][name] = value
            rehashed(record)
            bp.verify(json.dumps(record))


def test_gaussian_noise_costs_what_the_library_says() -> None:
    with localcontext(ARITHMETIC):
        for shift, delta in ((0.01, 1e-6), (0.5, 1e-9), (3.0, 1e-3), (1.0, 0.9), (0.0, 0.0)):
            told = gaussian_epsilon(decimal(Fraction(shift)), decimal(Fraction(delta)))
            assert float(told) == pytest.approx(by_the_library(shift, delta), abs=1e-9)


@pytest.mark.slow
def test_random_sessions() -> None:
    found, told = recount(20261127, 200, 0.99)
    assert not any(found[status] for status in ("fails", "cannot be shown")), told
    assert found["holds"] > 180
    assert sum(count for name, count in found.items() if name.endswith(": cannot be shown")) > 100
