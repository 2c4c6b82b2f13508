"""The checker on models made of public records, against enumeration of all tables; planted bugs; and its files."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence import laws as evidence_laws
from bnpriv.core.evidence.laws import law_of_one_record
from bnpriv.core.queries.base import normal_form
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.kinds import public_records
from bnpriv.kinds.public_records import PublicRecords, public_records_of
from bnpriv.mechanisms.serialize import MOST_STORED_NUMBERS
from tests.seeds import seeds

Person = tuple[float, int, str]
"""Values of x, y and ill."""

COLUMNS = {"x": bp.Binned([0, 1, 5]), "y": bp.Integer(0, 3), "ill": bp.Categorical(["no", "yes"], missing="yes")}
QUERIES: dict[str, Callable[[float, int, str], float]] = {
    "count(x >= 2)": lambda x, y, ill: x >= 2,
    "count((x >= 2) & (y != 1))": lambda x, y, ill: x >= 2 and y != 1,
    'count((ill == "yes") | (y == 3))': lambda x, y, ill: ill == "yes" or y == 3,
    "total(y)": lambda x, y, ill: y,
}
SECRETS: dict[str, tuple[str, Callable[[float, int, str], float]]] = {
    "ill": ('count(ill == "yes")', lambda x, y, ill: ill == "yes"),
    "y": ("total(y)", lambda x, y, ill: y),
}
INSIDE = {"[0, 1)": [0.5], "[1, 5]": [1.5, 2.5, 3.5, 4.5]}
"""What stands for numbers in a bin, where they lie evenly: no query here cuts between whole numbers."""


def networks(random: np.random.Generator, models: int) -> bp.DiscreteNetwork:
    """Return networks with the edges ill -> x and ill -> y, whose numbers are multiples of 1/16."""

    def law(size: int) -> list[float]:
        cuts = sorted(random.choice(np.arange(1, 16), size - 1, replace=False).tolist())
        return [(b - a) / 16 for a, b in pairwise([0, *cuts, 16])]

    found = []
    for _ in range(models):
        tables = {"ill": law(2), "x": np.transpose([law(2), law(2)]), "y": np.transpose([law(4), law(4)])}
        states = {"ill": ["no", "yes"], "x": list(INSIDE), "y": [0, 1, 2, 3]}
        parents = {"x": ["ill"], "y": ["ill"]}
        found.append(bp.DiscreteNetwork.from_tables(tables, states=states, parents=parents, level="records"))
    return bp.model_class(found)


def framework_of(seed: int, *, n: int = 3, most: int = 6, hidden: str = "ill") -> bp.DatasetAttributePrivacy:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, most + 1))
    rows = {
        "x": [None if x < 0 else float(x) / 2 for x in random.integers(-2, 12, size)],
        "y": random.integers(-1, 5, size).astype(float).tolist(),
        "ill": random.choice(["no", "yes", "unheard of"], size).tolist(),
    }
    schema = bp.Schema(records=n, columns=COLUMNS)
    return bp.DatasetAttributePrivacy(
        networks(random, 2),
        schema,
        {hidden: bp.Secret(bp.parse_query(SECRETS[hidden][0]))},
        source="made up",
        public_records=public_records_of(rows, COLUMNS, draws=3, seed=seed),
    )


# --------------------------------------------------------------------------------------------------
# The oracle: exact fractions, all tables, one by one.
# --------------------------------------------------------------------------------------------------


def people(
    framework: bp.DatasetAttributePrivacy, model: int, ends: Callable[[Person], tuple[float, float]] | None = None
) -> dict[Person, Fraction]:
    """Return the law of one record: of a network, or of a public table with one more record from a network.

    Where it is asked what somebody adds to a property and to a number (`ends`), there are two further public records.
    """
    network, public = framework.network, framework.public_records
    assert isinstance(network, bp.DiscreteNetwork)
    assert isinstance(public, PublicRecords)
    draw, found = model - network.models, defaultdict[Person, Fraction](Fraction)
    tables = {name: network.probabilities(name) for name in network.attributes}
    k, size = (model, 0) if draw < 0 else (draw % network.models, public.records)
    for (i, ill), (b, bin), (j, y) in product(*(enumerate(network.states[name]) for name in ("ill", "x", "y"))):
        chances = (float(tables["ill"][k][i]), float(tables["x"][k][b, i]), float(tables["y"][k][j, i]))
        mass = math.prod(Fraction(round(16 * p), 16) for p in chances) / (size + 1)
        for x in INSIDE[str(bin)]:
            found[x, int(y), str(ill)] += mass / len(INSIDE[str(bin)])
    if draw >= 0:
        known = []
        for x, y, ill in zip(*(public.columns[name].tolist() for name in ("x", "y", "ill")), strict=True):
            x = 2.5 if math.isnan(x) else min(max(x, 0.0), 5.0)
            known.append((x, int(min(max(y, 0), 3)), ill if ill == "no" else "yes"))
        if ends is not None:
            adds = sorted({ends(person) for person in {*found, *known}})
            least, most = ([f for s, f in adds if s == end[0]] for end in (adds[0], adds[-1]))
            further = [(adds[0][0], min(least)), (adds[-1][0], max(most))]
            if draw % 2:
                further = [(adds[0][0], max(least)), (adds[-1][0], min(most))]
            known += [next(person for person in {*found, *known} if ends(person) == end) for end in further]
        size = len(known)
        stream = hashlib.shake_256(f"bnpriv records {public.seed} {draw}".encode()).digest(8 * (size - 1))
        cuts = sorted(int.from_bytes(stream[8 * i : 8 * i + 8], "little") // 4 for i in range(size - 1))
        share = Fraction(public.records, public.records + 1)
        for person, (a, b) in zip(known, pairwise([0, *cuts, 2**62]), strict=True):
            found[person] += Fraction(b - a, 2**62) * share
    assert sum(found.values()) == 1
    return found


def told(framework: bp.DatasetAttributePrivacy, hidden: str, query: str, scale: float) -> float:
    """Return the largest log ratio of the densities of the noisy answer, over all models and pairs of secrets."""

    def adds(person: Person) -> tuple[float, float]:
        return SECRETS[hidden][1](*person), QUERIES[query](*person)

    worst = 0.0
    for model in range(framework.models):
        one = defaultdict[tuple[float, float], Fraction](Fraction)
        for person, mass in people(framework, model, adds).items():
            one[adds(person)] += mass
        given = defaultdict[float, dict[float, Fraction]](lambda: defaultdict(Fraction))
        for table in product(one.items(), repeat=framework.schema.records):
            mass = math.prod((p for _, p in table), start=Fraction(1))
            given[sum(g for (g, _), _ in table)][sum(f for (_, f), _ in table)] += mass
        outputs = {f for law in given.values() for f, mass in law.items() if mass}
        noisy = [
            [sum(float(p / sum(law.values())) * math.exp(-abs(f - t) / scale) for f, p in law.items()) for t in outputs]
            for law in given.values()
            if any(law.values())
        ]
        worst = max(
            worst, *(math.log(a / b) for first in noisy for second in noisy for a, b in zip(first, second, strict=True))
        )
    return worst


def enclosed(verdict: bp.types.Verdict) -> float:
    found = re.match(r"epsilon in \[(.*), (.*)\], by the distributions", verdict.text)
    assert found, str(verdict)
    return float(found[2])


def lowered(calibration: bp.types.Calibration, scale: float) -> str:
    """Return a calibration with noise of another scale."""
    record = json.loads(calibration.to_json())
    record["noise"].update(scale=scale, exact_scale=scale.hex())
    return json.dumps(record)


@pytest.mark.parametrize("hidden", SECRETS)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("seed", seeds(3, 40))
def test_it_finds_the_epsilon_of_all_tables_one_by_one(query: str, hidden: str, seed: int) -> None:
    framework = framework_of(seed, n=2 + seed % 2, hidden=hidden)
    calibration = bp.TightMechanism().calibrate(framework, query, epsilon=0.7)
    if calibration.scale == 0:
        return
    verdict = bp.verify(calibration)
    assert verdict.status == "holds", str(verdict)
    assert enclosed(verdict) == pytest.approx(told(framework, hidden, query, calibration.scale), rel=1e-9)
    less = 0.9 * calibration.scale
    verdict = bp.verify(lowered(calibration, less))
    if told(framework, hidden, query, less) > 0.7 * (1 + 1e-9):
        assert verdict.status == "fails", str(verdict)
    else:
        assert verdict.status == "holds", str(verdict)


def test_the_law_of_one_record_is_that_of_the_oracle() -> None:
    """Four records and six public ones, and the library's own law beside it."""
    framework = framework_of(11, n=4)
    for model in range(framework.models):
        exact = defaultdict[int, Fraction](Fraction)
        for person, mass in people(framework, model).items():
            exact[int(QUERIES["total(y)"](*person))] += mass
        law = law_of_one_record(framework, bp.total("y"), model)
        assert dict(zip(law.columns[0].tolist(), np.exp(law.logs), strict=True)) == pytest.approx(exact, rel=1e-12)


# --------------------------------------------------------------------------------------------------
# Planted bugs: somewhere in random problems noise is too small, and the checker says so.
# --------------------------------------------------------------------------------------------------


def killed(query: str = "count(x >= 2)", *, tried: int = 12) -> bool:
    """Return whether a random calibration fails."""
    for seed in range(tried):
        calibration = bp.TightMechanism().calibrate(framework_of(seed, n=2, most=4), query, epsilon=0.7)
        if bp.verify(calibration).status == "fails":
            return True
    return False


def test_noise_of_the_network_alone_is_told() -> None:
    framework = framework_of(4, n=4)
    query = bp.parse_query("count(x >= 2)")
    whole = bp.TightMechanism().calibrate(framework, query, epsilon=0.7)
    alone = bp.TightMechanism().calibrate(replace(framework, public_records=None), query, epsilon=0.7)
    assert alone.scale < whole.scale
    verdict = bp.verify(lowered(whole, alone.scale))
    assert verdict.status == "fails"
    assert re.search("in model [234]", verdict.text)


def test_the_sound_library_survives() -> None:
    assert not killed()


def test_weights_of_the_next_record(monkeypatch: pytest.MonkeyPatch) -> None:
    real = PublicRecords.weights
    monkeypatch.setattr(PublicRecords, "weights", lambda self, *draw: np.roll(real(self, *draw), 1))
    assert killed()


def test_no_further_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_records, "further_records", lambda columns, draw: [column[:0] for column in columns])
    assert killed()


def test_further_records_that_always_push_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    real = public_records.further_records
    monkeypatch.setattr(public_records, "further_records", lambda columns, draw: real(columns, 0))
    assert killed()


def test_the_network_at_weight_one_in_n(monkeypatch: pytest.MonkeyPatch) -> None:
    def law(self: PublicRecords, form: Any, draw: int, beside: WholeLaw) -> WholeLaw:
        found, n = real(self, form, draw, beside), self.records
        columns = [np.concatenate(each) for each in zip(found.columns, beside.columns, strict=True)]
        logs = np.concatenate([found.logs + math.log((n - 1) * (n + 1)), beside.logs]) - 2 * math.log(n)
        return WholeLaw.of(columns, logs, found.error)

    real = PublicRecords.law
    monkeypatch.setattr(PublicRecords, "law", law)
    assert killed()


def test_the_network_of_the_next_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def law(framework: bp.DatasetAttributePrivacy, query: Any, model: int) -> WholeLaw:
        public, draw = framework.public_records, model - framework.network.models
        if public is None or draw < 0:
            return real(framework, query, model)
        beside = real(framework, query, (draw + 1) % framework.network.models)
        return public.law(normal_form(query, framework.schema), draw, beside)

    real = evidence_laws.law_of_one_record
    monkeypatch.setattr(evidence_laws, "law_of_one_record", law)
    assert killed()


def test_classes_that_do_not_count_as_often_as_they_come_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws given that somebody is ill are mixed as if the network and the table had as many who are."""

    def law(self: PublicRecords, form: Any, draw: int, beside: WholeLaw) -> WholeLaw:
        found, n = real(self, form, draw, beside), self.records
        keys = list(zip(*(column.tolist() for column in found.columns), strict=True))
        known = zip(*(column.tolist() for column in beside.columns), strict=True)
        rest = dict(zip(known, np.exp(beside.logs), strict=True))
        other = np.array([rest.get(key, 0.0) for key in keys]) / (n + 1)
        own, classes = np.exp(found.logs) - other, found.columns[0]
        for each in np.unique(classes):
            here = classes == each
            own[here] *= n * other[here].sum() / max(own[here].sum(), 1e-9)
        return WholeLaw.of(found.columns, np.log(own + other), found.error)

    real = PublicRecords.law
    monkeypatch.setattr(PublicRecords, "law", law)
    assert killed()


# --------------------------------------------------------------------------------------------------
# Files: the public table beside the framework file, and what a calibration holds of it.
# --------------------------------------------------------------------------------------------------


def learned(records: int, n: int = 2000) -> bp.DatasetAttributePrivacy:
    """Return a framework of twenty networks and twenty draws."""
    random = np.random.default_rng(5)
    ill = random.random(records) < 0.3
    x, y = random.random(records) * np.where(ill, 5.0, 3.0), random.integers(0, 4, records).astype(float)
    public = PublicRecords({"ill": np.where(ill, "yes", "no"), "x": x, "y": y}, draws=20, seed=0)
    secret = bp.Secret(bp.parse_query('count(ill == "yes")'), pairs=bp.apart(at_most=5))
    schema = bp.Schema(records=n, columns=COLUMNS)
    network = networks(np.random.default_rng(7), 20)
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="made up", public_records=public)


@pytest.fixture
def written(tmp_path: Path) -> tuple[bp.types.Calibration, Path, Path]:
    """Return a calibration, the framework file and the public file beside it."""
    framework = learned(1000)
    *_, table, path = framework.to_file(tmp_path / "ours.toml")
    return bp.TightMechanism().calibrate(framework, "count(x >= 2)", epsilon=1.0), path, table


def test_it_replays_a_thousand_records_and_forty_models(written) -> None:
    calibration, path, _ = written
    for verdict in (bp.verify(calibration), bp.verify(calibration.to_json(), path)):
        assert verdict.status == "holds", str(verdict)
        assert "by the distribution of one record" in verdict.text
    assert bp.verify(lowered(calibration, 0.99 * calibration.scale)).status not in ("holds", "not covered")
    restored = type(calibration).from_json(calibration.to_json(), calibration.framework)
    assert restored.scale == calibration.scale


def test_a_public_file_that_is_missing_or_another_one_is_told(written) -> None:
    calibration, path, table = written
    text = table.read_text(encoding="utf-8")
    table.write_bytes(text.replace("\n", "\r\n").encode())  # as some systems copy texts
    assert bp.verify(calibration, path).status == "holds"
    table.write_text(text.replace("yes", "no", 1), encoding="utf-8")
    verdict = bp.verify(calibration, path)
    assert (verdict.status, "SHA-256" in verdict.text) == ("not covered", True)
    table.unlink()
    verdict = bp.verify(calibration, path)
    assert verdict.status == "not covered"
    assert "needs the public file 'ours-public-records.csv'" in verdict.text


def signed(table: Path, path: Path, text: str) -> None:
    """Write another public file, with its hash in the framework file."""
    old, new = (hashlib.sha256(each.encode()).hexdigest() for each in (table.read_text(encoding="utf-8"), text))
    table.write_text(text, encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("change", ["yes,", "draws = 20", "seed = 0", "[network.records]"])
def test_another_model_in_the_files_is_told(written, change: str) -> None:
    calibration, path, table = written
    text = path.read_text(encoding="utf-8")
    if change == "yes,":
        signed(table, path, table.read_text(encoding="utf-8").replace("yes,", "no,", 1))
    elif change == "[network.records]":
        path.write_text(re.sub(r"\[network\.records\]\n([a-z0-9]+ = .*\n)+", "", text), encoding="utf-8")
    else:
        path.write_text(text.replace(change, change.replace("0", "1")), encoding="utf-8")
    verdict = bp.verify(calibration, path)
    assert (verdict.status, verdict.text) == (
        "fails",
        "the calibration differs from the framework file in its public records",
    )


@pytest.mark.parametrize(
    "text", ['ill,x,y\n"no', "ill,x,y\nno,1\n", "ill,y\nno,1\n", "ill,x,y\nno,one,1\n", "ill,x,y\n", ""]
)
def test_a_public_file_that_is_no_table_is_not_covered(written, text: str) -> None:
    calibration, path, table = written
    signed(table, path, text)
    assert bp.verify(calibration, path).status == "not covered"


def test_a_large_public_table_is_read_from_its_file(tmp_path: Path) -> None:
    framework = learned(MOST_STORED_NUMBERS)
    calibration = bp.TightMechanism().calibrate(framework, "count(x >= 2)", epsilon=1.0)
    verdict = bp.verify(calibration)
    assert verdict.status == "too large"
    assert "needs the public file" in verdict.text
    *_, path = framework.to_file(tmp_path / "ours.toml")
    assert bp.verify(calibration, path).status == "holds"
    assert bp.verify(lowered(calibration, 0.9 * calibration.scale), path).status != "holds"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("draws", 0),
        ("draws", "2"),
        ("draws", 10**9),
        ("seed", 1.5),
        ("seed", None),
        ("columns", {}),
        ("columns", {"x": []}),
    ],
)
def test_hostile_records_in_a_calibration(name: str, value: object) -> None:
    calibration = bp.TightMechanism().calibrate(framework_of(0), "count(x >= 2)", epsilon=1.0)
    record = json.loads(calibration.to_json())
    record["model"]["public_records"][name] = value
    assert bp.verify(json.dumps(record)).status in ("not covered", "too large")


@pytest.mark.parametrize("missing", ["not counted", None, 5])
def test_it_counts_a_gap_as_it_is_declared(missing: object) -> None:
    columns = {"y": bp.Integer(0, 9, missing=missing), "ill": bp.Categorical(["no", "yes"])}  # type: ignore[arg-type]
    states = [*range(10), *(["not counted"] if missing == "not counted" else [])]
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], "y": [[1 / len(states)] * 2] * len(states)},
        states={"ill": ["no", "yes"], "y": states},
        parents={"y": ["ill"]},
        level="records",
    )
    # whoever is ill has a gap more often than others: what it counts as decides the noise
    values = {"y": [None] * 8 + [1.0] * 2 + [8.0] * 10, "ill": ["yes"] * 10 + ["no"] * 10}
    framework = bp.DatasetAttributePrivacy(
        network,
        bp.Schema(records=30, columns=columns),
        {"ill": bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=2))},
        source="made up",
        public_records=public_records_of(values, columns, draws=4),
    )
    calibration = bp.TightMechanism().calibrate(framework, bp.count(bp.col("y") >= 4), epsilon=1.0)
    found = bp.verify(calibration)
    assert found.status == "holds"
    forged = json.loads(calibration.to_json())
    forged["noise"] |= {"scale": calibration.scale * 0.9, "exact_scale": (calibration.scale * 0.9).hex()}
    assert bp.verify(json.dumps(forged)).status == "fails"
