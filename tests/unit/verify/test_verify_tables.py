"""The checker on private tables: its closed forms against enumeration, random tables, and faults planted in them."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Sequence
from decimal import localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.tables.private_table.counts import MoveNoise, SeededSampler, least_bound
from bnpriv.tables.private_table.private_table import PrivateTable
from bnpriv.tables.private_table.rule import Hidden, TableForm, TableRule, classes_of, rule_of, whole_sizes
from bnpriv.verify.check import ARITHMETIC, Verdict
from bnpriv.verify.forms import MovedRecords

RECORDS, LETTERS = 100_000, "abcdefgh"


def law(excess: float = 0.0, shortfall: float = 0.0, gap: float = 0.0, classes: int = 2) -> SimpleNamespace:
    """Return what a rule asks of the law of a record."""
    shares = [1 / classes] * classes
    return SimpleNamespace(text="a test", gap=gap, excess=excess, shortfall=shortfall, log_error=0.0, shares=shares)


def table(
    form: TableForm, epsilon: float, delta: float, classes: int, moved: int, known: object = None
) -> PrivateTable:
    """Return a private table of which only the numbers are there."""
    names = LETTERS[: classes - 1]
    schema = bp.Schema(records=RECORDS, columns={"x": bp.Categorical([*names, "z"])})
    listed = ", ".join(f'"{name}"' for name in names)
    secret = bp.Secret(
        'count(x == "a")' if classes == 2 else f"histogram(x, [{listed}])", pairs=bp.apart(at_most=moved)
    )
    hidden = Hidden(classes=classes_of([secret], schema), framework=None, law=known, source="a test")  # type: ignore[arg-type]
    rule = rule_of(hidden, form, epsilon, delta)
    assert isinstance(rule, TableRule), rule
    counts = [RECORDS // classes] * (classes - 1)
    noisy = rule.noise.noisy([*counts, RECORDS - sum(counts)], SeededSampler(np.random.default_rng(moved)))
    return PrivateTable(table=None, rule=rule, sizes=rule.sizes(noisy), noisy=noisy)


MADE: dict[str, Callable[[], PrivateTable]] = {
    "trim": lambda: table("trim", 1.0, 1e-6, 2, 10),
    "trim, five classes": lambda: table("trim", 0.5, 1e-5, 5, 4),
    "fill": lambda: table("fill", 1.0, 0.0, 2, 100, law()),
    "fill, six classes": lambda: table("fill", 2.0, 0.0, 6, 7, law(classes=6)),
    "fill, a distribution nearly known": lambda: table("fill", 1.0, 0.0, 2, 10, law(excess=0.02, shortfall=0.05)),
    "fill and trim": lambda: table("fill and trim", 1.0, 1e-6, 2, 10, law(gap=0.01)),
    "fill and trim, four classes": lambda: table("fill and trim", 1.0, 1e-5, 4, 3, law(gap=0.2, classes=4)),
}


@pytest.fixture(scope="module")
def made() -> dict[str, dict[str, Any]]:
    return {name: each().to_dict() for name, each in MADE.items()}


def edited(document: dict[str, Any], change: Callable[[Any], object], framework: Path | None = None) -> Verdict:
    """Return the verdict on a document after a change of its data."""
    copy = json.loads(json.dumps(document))
    change(copy["data"])
    return bp.verify(json.dumps(copy), framework)


def put(place: str, value: object) -> Callable[[Any], None]:
    """Return a change of one value, found by its keys."""
    *keys, last = place.split(".")

    def change(data: Any) -> None:
        for key in keys:
            data = data[int(key) if key.isdigit() else key]
        data[last] = value(data[last]) if callable(value) else value

    return change


def moves(vector: Sequence[int]) -> int:
    return sum(map(abs, vector)) // 2


@pytest.mark.parametrize(("classes", "scale", "far"), [(2, 1.3, 40), (3, 0.9, 22), (4, 0.6, 14)])
def test_tails_are_those_of_all_vectors(classes: int, scale: float, far: int) -> None:
    free = itertools.product(range(-far, far + 1), repeat=classes - 1)
    law_of = {(*each, -sum(each)): math.exp(-moves((*each, -sum(each))) / scale) for each in free}
    every = sum(law_of.values())
    with localcontext(ARITHMETIC):
        noise = MovedRecords(classes, Fraction(scale))
        for b in range(-3, 5):
            above = sum(p for z, p in law_of.items() if z[0] > b) / every
            more = sum(p * max(0, z[0] - b) for z, p in law_of.items()) / every
            assert float(noise.above(b)) == pytest.approx(above, rel=1e-5)
            assert float(noise.more(b)) == pytest.approx(more, rel=1e-5)
        for b in range(3):
            both = sum(p for z, p in law_of.items() if z[0] > b and z[1] > b + 1) / every
            assert float(noise.both_above(2 * b + 1)) == pytest.approx(both, rel=1e-4, abs=1e-12)
        for most, moved in ((4, 1), (5, 2)):
            low, high = noise.trimmed(most, moved)
            among = {z: p for z, p in law_of.items() if max(z) <= most}
            edge = sum(p for z, p in among.items() if z[0] > most - moved) / sum(among.values())
            assert float(low) <= edge * (1 + 1e-6)
            assert edge <= float(high) * (1 + 1e-6)


@pytest.mark.parametrize("classes", [2, 3, 20, 60, 100])
def test_delta_is_enclosed_closely_and_the_noise_of_the_package_has_it(classes: int) -> None:
    most = least_bound(classes, 10.0, 10, 1e-6)
    claimed = MoveNoise(classes=classes, scale=10.0, most=most).delta(10)
    with localcontext(ARITHMETIC):
        low, high = map(float, MovedRecords(classes, Fraction(10)).trimmed(most, 10))
    assert high <= claimed <= high * (1 + 1e-8)
    assert high * (1 - 2e-4) <= low <= high


def test_sizes_follow_from_noisy_numbers_by_a_rule_that_is_written_twice() -> None:
    from bnpriv.verify.check import _water

    rng = random.Random(1)
    for _ in range(500):
        numbers = [rng.randint(-30, 30) for _ in range(rng.randint(1, 6))]
        numbers.append(rng.randint(1, 40) - sum(numbers))
        assert _water(numbers) == list(whole_sizes(numbers))


@pytest.mark.parametrize("name", MADE)
def test_what_the_package_makes_holds(made: dict[str, dict[str, Any]], name: str) -> None:
    verdict = edited(made[name], lambda _: None)
    assert verdict.status == "holds", verdict
    assert any("no seed is kept" in each for each in verdict.trusted)
    assert any("no framework file" in each for each in verdict.trusted)


def test_random_tables_never_fail() -> None:
    rng, seen = random.Random(3), 0
    while seen < 300:
        classes, moved = rng.randint(2, 7), rng.randint(1, 12)
        epsilon, delta = 10 ** rng.uniform(-0.7, 0.7), 10 ** rng.uniform(-8, -3)
        form: TableForm = rng.choice(("fill", "trim", "fill and trim"))
        excess = rng.choice((0.0, epsilon / moved / 3))
        gap = 10 ** rng.uniform(-4, -0.3) if form == "fill and trim" else 0.0
        known = None if form == "trim" else law(excess, excess * rng.random(), gap, classes)
        verdict = bp.verify(table(form, epsilon, 0.0 if form == "fill" else delta, classes, moved, known))
        assert verdict.status == "holds", (form, epsilon, delta, classes, moved, excess, gap, verdict)
        seen += 1


@pytest.mark.parametrize("name", MADE)
def test_noise_that_is_a_hundredth_too_small_fails(made: dict[str, dict[str, Any]], name: str) -> None:
    verdict = edited(made[name], put("noise.scale", lambda scale: scale * 0.99))
    assert verdict.status == "fails"
    assert "epsilon is" in verdict.text


@pytest.mark.parametrize("name", [name for name in MADE if not name.startswith("fill,") and name != "fill"])
def test_a_delta_that_is_a_hundredth_too_small_is_found(made: dict[str, dict[str, Any]], name: str) -> None:
    """A trimmed table shows the failure; of another one no bound that is known bears the claim."""
    verdict = edited(made[name], put("guarantee.delta", lambda delta: delta * 0.99))
    assert verdict.status == ("fails" if name.startswith("trim") else "cannot be shown")
    assert "delta is" in verdict.text


@pytest.mark.parametrize(
    ("name", "place", "value", "status"),
    [
        ("trim", "records", RECORDS + 1, "fails"),
        ("trim", "moved", 11, "fails"),
        ("trim", "given_up", lambda most: most - 1, "fails"),
        ("trim", "classes.0.size", lambda size: size + 1, "fails"),
        ("trim", "classes.1.noisy", lambda noisy: noisy - 1, "fails"),
        ("trim", "noise.most", lambda most: most - 1, "fails"),
        ("trim", "noise.most", None, "fails"),
        ("trim", "form", "fill", "fails"),
        ("trim", "form", "trimmed", "not covered"),
        ("trim", "noise.scale", math.inf, "not covered"),
        ("trim", "noise.scale", 0.0, "not covered"),
        ("trim", "noise.kind", "gaussian", "not covered"),
        ("trim", "guarantee.epsilon", "nan", "not covered"),
        ("trim", "classes", [], "not covered"),
        ("fill", "guarantee.delta", 1e-6, "fails"),
        ("fill", "given_up", 3, "fails"),
        ("fill", "classes.0.size", lambda size: size + 1, "fails"),
        ("fill", "noise.most", 50, "fails"),
        ("fill", "law", None, "fails"),
        ("fill", "law.excess", 0.001, "fails"),
        ("fill", "law.shortfall", 0.03, "fails"),
        ("fill", "law.excess", None, "not covered"),
        ("fill and trim", "law.gap", lambda gap: gap * 1.01, "cannot be shown"),
        ("fill and trim", "noise.most", 200, "fails"),
    ],
)
def test_planted_faults_are_found(
    made: dict[str, dict[str, Any]], name: str, place: str, value: object, status: str
) -> None:
    assert edited(made[name], put(place, value)).status == status


DECLARED = """notion = "dataset"
[records]
count = 100000
[columns.x]
type = "categorical"
categories = ["a", "z"]
[protect.x]
"""


@pytest.mark.parametrize(
    ("secret", "status"),
    [
        ("property = 'count(x == \"a\")'\nat_most = 10", "holds"),
        ("property = 'count(x == \"a\")'\nat_most = 11", "fails"),
        ("property = 'count(x == \"a\")'", "fails"),
        ("property = 'proportion(x == \"a\")'\nat_most = 0.0001", "holds"),
        ("property = 'share(x == \"a\")'\nat_most = 0.00011", "fails"),
        ("property = 'count(x == \"a\")'\npairs = [[40, 50], [60, [51, 70]]]", "holds"),
        ("property = 'count(x == \"a\")'\npairs = [[40, 50], [60, [51, 71]]]", "fails"),
        ("property = 'histogram(x, [\"a\"])'\nat_most = 10", "holds"),
        ("property = 'crosstab(x, x)'\nat_most = 10.9", "holds"),
        ("property = 'histogram(x, [\"a\"])'", "fails"),
        ("property = 'mean(x)'\nat_most = 1", "not covered"),
        ("property = 'count(x == \"a\")'\nintervals = [[[1, 2], [3, 4]]]", "not covered"),
    ],
)
def test_the_framework_file_says_how_far_secrets_lie_apart(
    made: dict[str, dict[str, Any]], tmp_path: Path, secret: str, status: str
) -> None:
    file = tmp_path / "framework.toml"
    file.write_text(DECLARED + secret, encoding="utf-8")
    verdict = edited(made["trim"], lambda _: None, file)
    assert verdict.status == status, verdict
    assert not any("no framework file" in each for each in verdict.trusted)
    file.write_text((DECLARED + secret).replace("100000", "99999"), encoding="utf-8")
    assert edited(made["trim"], lambda _: None, file).status != "holds"


def test_a_calibrated_count_is_replayed_as_a_calibration(made: dict[str, dict[str, Any]]) -> None:
    framework = bp.DatasetAttributePrivacy(
        bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": ["a", "z"]}, level="records"),
        bp.Schema(records=20, columns={"x": bp.Categorical(["a", "z"])}),
        {"x": bp.Secret('count(x == "a")', pairs=bp.apart(at_most=3))},
        source="a test",
    )
    found = bp.TightMechanism().calibrate(framework, 'count(x == "a")', epsilon=1.0)
    record = found.to_dict()

    def calibrated(data: Any) -> None:
        data["noise"] = {"kind": "calibration", "calibration": record}
        data["records"], data["moved"] = 20, 3
        for each, number in zip(data["classes"], (5, 15), strict=True):
            each["size"] = each["noisy"] = number

    assert edited(made["fill"], calibrated).status == "holds"
    record["noise"]["exact_scale"] = (float.fromhex(record["noise"]["exact_scale"]) * 0.9).hex()
    record["noise"]["scale"] = float.fromhex(record["noise"]["exact_scale"])
    assert edited(made["fill"], calibrated).status == "fails"
    record["guarantee"]["epsilon"] = 1.1
    assert "other tables, or needs more" in edited(made["fill"], calibrated).text
    record["query"] = 'count(x == "z")'
    assert edited(made["fill"], calibrated).status == "not covered"


def test_hostile_tables_never_raise(made: dict[str, dict[str, Any]]) -> None:
    rng = random.Random(5)
    values = (None, -1, 0, 2**80, 1e308, "x", [], {}, True, 0.5, math.nan, "1e-999999999")
    for _ in range(300):
        document = json.loads(json.dumps(made[rng.choice(list(made))]))
        spot: Any = document["data"]
        while True:
            key = rng.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
            if not (isinstance(spot[key], (dict, list)) and spot[key] and rng.random() < 0.8):
                break
            spot = spot[key]
        spot[key] = rng.choice(values)
        assert bp.verify(json.dumps(document)).status in ("holds", "fails", "cannot be shown", "not covered")
