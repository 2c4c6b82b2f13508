"""Ledgers of the version before independent records were counted together: they open, and count the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import bnpriv as bp
from bnpriv.core.accounting.total import Entry
from bnpriv.errors import LedgerError, RefusedError
from bnpriv.ledger.counted import CountedAccount
from bnpriv.ledger.ledger import Ledger
from bnpriv.ledger.values import append_row, canonical, enter_chain, row_after, rows_of
from tests.later import Later

pd = Later("pandas")

RECORDS = 400
ROWS = Path(__file__).parents[2] / "golden" / "ledger_rows.json"
"""All rows but the first: the chain, the kind, and the content, as that version wrote them."""

SMOKERS = bp.count(bp.col("smokes") == "yes")
TOTALS = {"own law": "3/4", "columns": "3/4", "table": "5/4"}


@pytest.fixture(scope="module")
def people() -> bp.DatasetAttributePrivacy:
    yes_or_no = bp.Categorical(["no", "yes"])
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.75, 0.25], "smokes": [[0.75, 0.5], [0.25, 0.5]], "age": [0.25] * 4},
        states={"ill": ["no", "yes"], "smokes": ["no", "yes"], "age": ["0", "1", "2", "3"]},
        parents={"smokes": ["ill"]},
        level="records",
    )
    schema = bp.Schema(records=RECORDS, columns={"ill": yes_or_no, "smokes": yes_or_no, "age": bp.Integer(0, 3)})
    secret = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=2))
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a test")


@pytest.fixture(scope="module")
def groups() -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"group": [0.5, 0.5], "age": [[0.875, 0.25], [0.125, 0.75]]},
        states={"group": ["a", "b"], "age": ["young", "old"]},
        parents={"age": ["group"]},
    )
    schema = bp.Schema(records=RECORDS, columns={"group": bp.Integer(0, 9), "age": bp.Integer(0, 3)})
    return bp.DistributionalAttributePrivacy(network, schema, "group", source="a test")


@pytest.fixture(scope="module")
def data() -> object:
    columns = {
        "ill": ["no", "no", "no", "yes"] * 100,
        "smokes": ["no", "yes"] * 200,
        "age": [0, 1, 2, 3] * 100,
        "group": [k % 10 for k in range(RECORDS)],
    }
    return pd.DataFrame(columns)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A ledger with those rows, hashed again behind a first row of its own."""
    place = tmp_path / "ledger.db"
    ledger = Ledger.open(place, create=True)
    rows = json.loads(ROWS.read_text())

    def write(connection) -> None:
        heads = {0: rows_of(connection, 0)[-1].hash}
        lengths = {0: 1}
        for chain, kind, content in rows:
            row = row_after(
                heads[chain], chain=chain, sequence=lengths.setdefault(chain, 0), kind=kind, content=content
            )
            append_row(connection, row)
            heads[chain], lengths[chain] = row.hash, lengths[chain] + 1
            if kind == "account":
                enter_chain(connection, content["number"], row.hash)
                heads[content["number"]] = row.hash

    ledger._store.write(write)
    return place


@pytest.fixture
def account(
    place: Path, people: bp.DatasetAttributePrivacy, groups: bp.DistributionalAttributePrivacy
) -> Callable[[str], CountedAccount]:
    def opened(name: str) -> CountedAccount:
        return CountedAccount.opened(groups if name == "quilts" else people, place, None, name)

    return opened


def test_they_are_whole(place: Path) -> None:
    found = Ledger.open(place).verify()
    assert (found.accounts, found.charges, found.answers) == (4, 9, 9)


@pytest.mark.parametrize("name", ["own law", "columns", "table", "quilts"])
def test_they_count_the_same(name: str, account: Callable[[str], CountedAccount]) -> None:
    found = account(name)
    entries = [charge.entry for charge in found.charges]
    # after every release, as it was charged then
    for number, charge in enumerate(found.charges):
        assert found.admit(entries[:number], entries[number]) == charge.total
    assert found.charges[-1].total == Fraction(TOTALS.get(name, found.charges[-1].total))
    assert [canonical(Entry.from_json(entry).to_json()) for entry in entries] == list(map(canonical, entries))


def test_what_was_released_is_shown_again(place: Path, people: bp.DatasetAttributePrivacy, data: object) -> None:
    tight = bp.TightMechanism()
    with bp.Session(people, data, ledger=place, name="own law") as session:
        again = session.release(SMOKERS, 0.5, mechanism=tight, key="smokers")
        assert again.value == float.fromhex("0x1.8f953bfdc6538p+7")
        with pytest.raises(LedgerError, match="another release under this key"):
            session.release(SMOKERS, 0.25, mechanism=tight, key="smokers")
        assert (len(session.history), session.history.spent) == (2, Fraction(3, 4))


def test_what_counts_by_its_own_law_stays_alone(place: Path, people: bp.DatasetAttributePrivacy, data: object) -> None:
    """It was shown with that promise; what would count by records now is refused beside it, columns are added."""
    for name in ("own law", "table"):
        with bp.Session(people, data, ledger=place, name=name) as session:
            before = session.history.spent
            with pytest.raises(RefusedError):
                session.release(SMOKERS, 0.1, mechanism=bp.TightMechanism(), key="new")
            assert session.history.spent == before
            session.release(SMOKERS, 0.25, mechanism=bp.ColumnMechanism(), key="columns", even_if_useless=True)
            assert session.history.spent == before + Fraction(1, 4)


def test_an_account_of_columns_goes_on(place: Path, people: bp.DatasetAttributePrivacy, data: object) -> None:
    with bp.Session(people, data, ledger=place, name="columns") as session:
        session.release(SMOKERS, 0.5, mechanism=bp.TightMechanism(), key="new")
        session.release(SMOKERS, 0.25, mechanism=bp.TightMechanism(), key="newer")
        assert Fraction(5, 4) < session.history.spent <= Fraction(3, 2)
