"""The independent checker: what it shares with the package, what it finds, and what it does with hostile text."""

from __future__ import annotations

import ast
import importlib
import json
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.distributions import Atoms
from bnpriv.io.examples import example_path
from tests import replay
from tests.kinds import KINDS
from tests.later import Later

pd = Later("pandas")

YES_NO = bp.Categorical(["no", "yes"])


def edited(calibration: bp.types.Calibration, change) -> str:
    """Return the JSON of a calibration after a change of its values."""
    record = json.loads(calibration.to_json())
    change(record)
    return json.dumps(record)


def student(text: str = "mean(sat)", **options) -> bp.types.Calibration:
    return bp.MarkovQuiltMechanism().calibrate(bp.example("student"), bp.parse_query(text), epsilon=1.0, **options)


def secret_shown(chance: float, epsilon: float, **options) -> bp.types.Calibration:
    """Return a calibration for a count of 3 records that tells a secret with some chance."""
    pair = (Atoms([0, 1], [1 - chance, chance]), Atoms([0, 1], [0.5, 0.5]))
    mechanism = options.pop("mechanism", bp.TightMechanism(large_delta=True))
    return mechanism.calibrate(bp.DistributionPrivacy([pair], source="a test"), epsilon=epsilon, **options)


def test_it_imports_the_standard_library_only() -> None:
    """Its files may import each other, and nothing else that is not in every Python; each is short."""
    folder = Path(importlib.import_module("bnpriv.verify.check").__file__ or "").parent
    ours = {"bnpriv.verify", *(f"bnpriv.verify.{file.stem}" for file in folder.glob("*.py"))}
    for file in folder.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in names - ours} <= sys.stdlib_module_names
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not {call.id for call in calls if isinstance(call, ast.Name)} & {"__import__", "eval", "exec"}
        assert len(text.splitlines()) <= 520


@pytest.mark.parametrize("name", ["student", "hospital"])
def test_baselines_never_fail_although_they_promise_another_epsilon(name: str) -> None:
    """Their guarantee is that of the secrets, and what was asked for that of records."""
    query = {"student": "count(height > 180)", "hospital": 'count(smoker == "yes")'}[name]
    for mechanism in (
        bp.mechanisms.RecordPrivacyMechanism(),
        bp.mechanisms.GroupPrivacyMechanism(size=3),
        bp.mechanisms.GroupPrivacyMechanism(),
        bp.mechanisms.RecordPrivacyMechanism(noise="gaussian"),
    ):
        verdict = bp.verify(mechanism.calibrate(bp.example(name), query, epsilon=1.0, delta=1e-6))
        assert verdict.status != "fails", verdict


@pytest.mark.parametrize("model", ["student", "clinic", "hospital", "four-people"])
def test_shipped_queries_hold_against_their_files(model: str) -> None:
    framework, path = bp.example(model), example_path(model)
    dataset = isinstance(framework, bp.DatasetAttributePrivacy)
    mechanism = bp.TightMechanism() if dataset else bp.MarkovQuiltMechanism()
    for query in list(bp.read_queries(path).values())[:3]:
        calibration = mechanism.calibrate(framework, query, epsilon=1.0)
        for verdict in (bp.verify(calibration), bp.verify(calibration.to_json(), path)):
            assert verdict.status == "holds", str(verdict)


def test_random_calibrations_hold() -> None:
    found, told, _ = replay.replay(12, 60)
    assert found["holds"] == 60, told


def test_the_enclosed_epsilon_is_that_of_the_law() -> None:
    """Row 8: log(0.5 / 1e-300) at the answer that only one secret makes likely."""
    verdict = bp.verify(edited(secret_shown(1e-300, 1000.0 / 11), lambda record: None))
    assert verdict.status == "holds"
    told = bp.verify(
        edited(secret_shown(1e-300, 50.0), lambda r: r["noise"].update(law="NoNoise", scale=0.0, exact_scale="0x0p+0"))
    )
    assert told.status == "fails"
    assert f"{np.log(0.5) + 300 * np.log(10):.6g}"[:6] in told.text


@pytest.mark.parametrize(
    ("mechanism", "text", "status"),
    [
        (bp.ColumnMechanism(), "mean(sat)", "fails"),
        (bp.MarkovQuiltMechanism(), 'count(income == "low")', "cannot be shown"),
        (bp.MarkovQuiltMechanism(), "mean(sat)", "cannot be shown"),
    ],
    ids=str,
)
def test_an_edited_scale_is_told(mechanism: bp.types.Mechanism, text: str, status: str) -> None:
    """Two tables show it of noise for columns; under the laws that are declared less noise than a quilt's suffices."""
    calibration = mechanism.calibrate(bp.example("student"), bp.parse_query(text), epsilon=1.0)

    def lower(record) -> None:
        scale = 0.9 * record["noise"]["scale"]
        record["noise"].update(scale=scale, exact_scale=scale.hex())

    assert bp.verify(edited(calibration, lower)).status == status
    assert bp.verify(edited(calibration, lambda r: r["noise"].update(scale=1e9))).status == "fails"


def change_table(record) -> None:
    logs = record["model"]["network"]["nodes"]["sat"]["logs"][0]
    logs[:] = [float(np.log(1 / 3)).hex()] * len(logs)


def change_records(record) -> None:
    record["model"]["records"] = 9_999


def change_bounds(record) -> None:
    record["model"]["columns"]["sat"].update(upper=1599, steps=1199)


def change_secrets(record) -> None:
    record["model"]["protect"]["income"] = record["model"]["protect"]["income"][:2]


def test_an_epsilon_that_is_not_the_guarantees_fails() -> None:
    text = edited(student(), lambda record: record.update(epsilon=0.5))
    assert bp.verify(text).status == "fails"


@pytest.mark.parametrize("change", [change_table, change_records, change_bounds, change_secrets])
def test_what_the_framework_file_says_otherwise_fails(change) -> None:
    text = edited(student(), change)
    verdict = bp.verify(text, example_path("student"))
    assert verdict.status == "fails"
    assert "framework file" in verdict.text


def test_a_framework_file_of_another_model_fails() -> None:
    assert bp.verify(student().to_json(), example_path("clinic")).code != 0


def test_both_orders_of_a_pair_count() -> None:
    """Chosen in one order, told in the other: only P(1 | yes) = 0 shows the secret."""
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.5, 0.5], "x": [[0.1, 0.0], [0.9, 1.0]]},
        states={"u": ["no", "yes"], "x": ["0", "1"]},
        parents={"x": ["u"]},
        level="parameters",
    )
    schema = bp.Schema(records=3, columns={"x": bp.Integer(0, 1)})
    for chosen in (("no", "yes"), ("yes", "no")):
        framework = bp.DistributionalAttributePrivacy(network, schema, {"u": bp.pairs(chosen)}, source="a test")
        calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.total("x"), epsilon=1.0)
        assert bp.verify(calibration).status == "holds"

        def no_noise(record) -> None:
            record["model"]["protect"]["u"] = record["model"]["protect"]["u"][:1]
            record["noise"].update(law="NoNoise", scale=0.0, exact_scale="0x0p+0")

        assert bp.verify(edited(calibration, no_noise)).status == "fails"


def test_a_delta_that_is_left_out_fails() -> None:
    """A zero-noise answer that needs delta is not pure."""
    calibration = secret_shown(1.0, 1.0, delta=0.6)
    assert calibration.scale == 0
    assert bp.verify(calibration).status == "holds"
    assert bp.verify(edited(calibration, lambda r: r["guarantee"].update(delta=0.0))).status == "fails"
    assert bp.verify(edited(calibration, lambda r: r["guarantee"].update(delta=0.1))).status == "fails"


def test_an_excess_below_the_least_double_is_not_pure() -> None:
    """Row 8: with delta a quilt passes epsilon by 1e-400; the guarantee was called pure."""
    tables = {"v": [0.5, 0.5], "w": [[1.0, 1.0], [0.0, 1e-200]], "x": [[1.0, 1.0], [0.0, 1e-200]]}
    network = bp.DiscreteNetwork.from_tables(
        tables, states={name: ["0", "1"] for name in tables}, parents={"w": ["v"], "x": ["w"]}, level="parameters"
    )
    schema = bp.Schema(records=2, columns={"x": bp.Integer(0, 1)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "v", source="a test")
    mechanism = bp.MarkovQuiltMechanism(large_delta=True)
    calibration = mechanism.calibrate(framework, bp.total("x"), epsilon=1.0, delta=0.1)
    assert (calibration.scale, calibration.guarantee.delta) == (0.0, 0.1)
    assert bp.verify(calibration).status == "holds"


def test_the_law_of_a_normal_column_is_exact() -> None:
    """N(0, 1) against N(20, 1) in a cell of width 1e-17: 200 nats a record, tails of 50 deviations included."""
    scipy_stats = pytest.importorskip("scipy.stats")
    network = bp.DiscreteNetwork.from_tables({"x": [0.5, 0.5]}, states={"x": ["a", "b"]})
    schema = bp.Schema(records=5, columns={"x": bp.Real(-100.0, 200.0)})
    for other, text, nats in ((20, "count(x >= 0 & x < 1e-17)", 1000.0), (1, "count(x > 50)", 247.6)):
        laws = {"x": {"a": scipy_stats.norm(0, 1), "b": scipy_stats.norm(other, 1)}}
        framework = bp.DistributionalAttributePrivacy(network, schema, "x", source="a test", laws=laws)
        calibration = bp.TightMechanism().calibrate(framework, bp.parse_query(text), epsilon=1.0)

        def no_noise(record) -> None:
            record["noise"].update(law="NoNoise", scale=0.0, exact_scale="0x0p+0")

        told = bp.verify(edited(calibration, no_noise)).text
        assert told.startswith("epsilon is ")
        assert float(told.split()[2]) == pytest.approx(nats, rel=1e-4)


def test_the_last_digit_of_an_answer_counts() -> None:
    """Row 8 and theory of released doubles: .3 and .1 + .2 are two answers."""
    pair = (Atoms([0.3], [1.0]), Atoms([0.1 + 0.2], [1.0]))
    calibration = bp.TightMechanism().calibrate(bp.DistributionPrivacy([pair], source="a test"), epsilon=1.0)
    assert calibration.scale > 0
    assert bp.verify(calibration).status == "holds"


def test_the_rounding_of_answers_counts_where_their_laws_are_too_large() -> None:
    """A record moves the mean by 0.064, which rounding to doubles turns into 1."""
    low, states = 2.0**52, [2.0**52 + k for k in range(65)]
    network = bp.DiscreteNetwork.from_tables({"x": [1 / 65] * 65}, states={"x": states}, level="records")
    schema = bp.Schema(records=1000, columns={"x": bp.Real(low, low + 64, steps=64)})
    framework = bp.ValuePrivacy(network, schema, {"x": bp.pairs((states[0], states[-1]))}, source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.mean("x"), epsilon=1.0)
    assert calibration.scale == pytest.approx(1.064)
    verdict = bp.verify(calibration)
    assert verdict.status == "holds"
    assert "quilt" in verdict.text

    def of_the_exact_answer(record) -> None:
        record["noise"].update(scale=0.0641, exact_scale=(0.0641).hex())

    assert bp.verify(edited(calibration, of_the_exact_answer)).status == "cannot be shown"


def test_discrete_noise_for_fractions_fails() -> None:
    calibration = secret_shown(0.9, 0.5, mechanism=bp.TightMechanism(noise="discrete_laplace"))
    assert bp.verify(calibration).status == "holds"

    def halves(record) -> None:
        for side in record["model"]["sides"]:
            side["points"] = [[(0.5).hex()], [(1.0).hex()]]

    assert bp.verify(edited(calibration, halves)).status == "fails"


def test_what_is_not_covered_says_so() -> None:
    framework, query = bp.example("student"), bp.parse_query("mean(sat)")
    record = json.loads(bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0).to_json())
    record["noise"]["law"] = "DirectionalLaplace"
    verdict = bp.verify(json.dumps(record))
    assert (verdict.status, verdict.code) == ("not covered", 2)


def test_large_models_are_left_out_and_told() -> None:
    rng = np.random.default_rng(1)
    tables = {"u": [0.5, 0.5], "x": rng.dirichlet(np.ones(3), size=(3000, 2)).transpose(0, 2, 1)}
    network = bp.DiscreteNetwork.from_tables(
        tables, states={"u": ["a", "b"], "x": ["0", "1", "2"]}, parents={"x": ["u"]}, level="parameters"
    )
    schema = bp.Schema(records=3, columns={"x": bp.Integer(0, 2)})
    framework = bp.DistributionalAttributePrivacy(network, schema, "u", source="a test")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, bp.total("x"), epsilon=20.0)
    assert len(calibration.to_json()) < 20_000
    verdict = bp.verify(calibration)
    assert (verdict.status, verdict.code) == ("too large", 2)


def places(value, path=()):
    """Yield the place of everything in a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


HOSTILE = [
    None,
    True,
    -1,
    0,
    10**400,
    1e308,
    "",
    "nan",
    "inf",
    "1e999999999",
    "0x1p+99999",
    [],
    {},
    [[]],
    [1] * 50,
    "x",
]


@pytest.mark.parametrize("seed", range(4))
def test_hostile_calibrations_never_raise(seed: int) -> None:
    """Rows 16 and 30: any value in any place gives a verdict, and none takes long."""
    chosen = random.Random(seed)
    calibrations = (
        [student()] if not seed else [c for k in range(8) if (c := replay.calibrated(100 + seed, k)) is not None]
    )
    for calibration in calibrations:
        text = calibration.to_json()
        for _ in range(60):
            record = json.loads(text)
            place = chosen.choice(
                [path for path in places(record) if path and path[0] not in ("useful", "certificate")]
            )
            inner = record
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = chosen.choice(HOSTILE)
            assert bp.verify(json.dumps(record)).code in (0, 1, 2), place


@pytest.mark.parametrize(("name", "value"), [("dimension", 2**21), ("dimension", 2**62), ("weights", ["1e999"])])
def test_row_28_noise_for_very_many_numbers_is_not_written_out(name: str, value: object) -> None:
    record = json.loads(student().to_json())
    record["noise"][name] = value
    verdict = bp.verify(json.dumps(record))
    assert verdict.status == "not covered"
    assert verdict.text in ("the numbers of an answer", "the weights of the noise")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"format": "bnpriv calibration 1"}', "[" * 100_000, "1" * 10_000]
)
def test_what_is_no_calibration_is_not_covered(text: str) -> None:
    assert bp.verify(text).status == "not covered"


def test_a_file_that_cannot_be_read_is_not_covered(tmp_path: Path) -> None:
    broken = tmp_path / "framework.toml"
    for content in ("", "notion = 1", "[network]\nfile = 3", 'notion = "dataset"\n[columns]\nx = 1', "\0"):
        broken.write_text(content, encoding="utf-8")
        assert bp.verify(student().to_json(), broken).status == "not covered"
    assert bp.verify(student().to_json(), tmp_path / "missing.toml").status == "not covered"


def quiet(record) -> None:
    record["noise"].update(law="Laplace", scale=1e-3, exact_scale=(1e-3).hex())


@pytest.mark.parametrize("noun", [bp.total, bp.mean], ids=["total", "mean"])
def test_values_of_a_secret_that_are_nearly_equal_are_told_apart(noun) -> None:
    """Values of 30,000,000,000 and 6 more are different secrets, however small their relative difference."""
    low = 10**10
    network = bp.DiscreteNetwork.from_tables(
        {"u": [0.3, 0.3, 0.4], "y": [[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]]},
        states={"u": [low, low + 1, low + 2], "y": ["no", "yes"]},
        parents={"y": ["u"]},
        level="records",
    )
    schema = bp.Schema(records=3, columns={"u": bp.Integer(low, low + 2), "y": YES_NO})
    ends = (low, low + 2) if noun is bp.mean else (3 * low, 3 * low + 6)
    secret = bp.Secret(noun("u"), pairs=bp.pairs(ends))
    framework = bp.DatasetAttributePrivacy(network, schema, {"u": secret}, source="a test")
    found = bp.TightMechanism().calibrate(framework, bp.parse_query('count(y == "yes")'), epsilon=1.0)
    assert bp.verify(found).text.startswith("epsilon in [0.99999")
    assert bp.verify(edited(found, quiet)).status == "fails"


def test_a_secret_of_the_file_that_is_no_state_is_not_passed_over(tmp_path: Path) -> None:
    """The states are the texts 0 and 1; pairs = [[0, 1]] are numbers, and another attribute has true states."""
    (tmp_path / "n.bif").write_text(
        "network n { } variable a { type discrete [ 2 ] { 0, 1 }; } variable b { type discrete [ 2 ] { lo, hi }; }"
        "variable c { type discrete [ 2 ] { lo, hi }; } probability ( a ) { table 0.5, 0.5; }"
        "probability ( c ) { table 0.5, 0.5; } probability ( b | a ) { (0) 0.9, 0.1; (1) 0.1, 0.9; }",
        encoding="utf-8",
    )
    yes = 'type = "categorical"\ncategories = ["lo", "hi"]'
    declared = (
        'notion = "value"\nsource = "a test"\n[network]\nfile = "n.bif"\n[records]\ncount = 3\n[columns.a]\n'
        f'type = "integer"\nlower = 0\nupper = 1\n[columns.b]\n{yes}\n[columns.c]\n{yes}\n'
        '[protect.c]\n[protect.a]\npairs = [["0", "1"]]\n'
    )
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(declared, encoding="utf-8")
    bad.write_text(declared.replace('["0", "1"]', "[0, 1]"), encoding="utf-8")
    query = bp.parse_query('count(b == "hi")')
    found = bp.MarkovQuiltMechanism().calibrate(bp.read_framework(good), query, epsilon=1.0)
    assert bp.verify(found, good).status == "holds"
    assert bp.verify(edited(found, quiet), good).status == "fails"
    assert bp.verify(edited(found, quiet), bad).status == "not covered"


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from bnpriv.cli import main; sys.argv = ['bnpriv', *sys.argv[1:]]; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_shell_tells_by_its_exit_code(tmp_path: Path) -> None:
    stored = tmp_path / "calibration.json"
    stored.write_text(student().to_json(), encoding="utf-8")
    done = shell("verify", str(stored), "--framework", str(example_path("student")), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "holds"
    stored.write_text(edited(student(), change_table), encoding="utf-8")
    failed = shell("verify", str(stored), "--framework", str(example_path("student")))
    assert failed.returncode == 1
    assert failed.stdout.startswith("fails: ")
    stored.write_text("{", encoding="utf-8")
    assert shell("verify", str(stored)).returncode == 2
    missing = shell("verify", str(tmp_path / "missing.json"))
    assert missing.returncode == 2
    assert missing.stderr.startswith("refused: ")


NETWORK = """<BIF VERSION="0.3"><NETWORK><NAME>x</NAME>
<VARIABLE TYPE="nature"><NAME>u</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>v</NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME></VARIABLE>
<DEFINITION><FOR>u</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
<DEFINITION><FOR>v</FOR><TABLE>0.5 0.5</TABLE></DEFINITION></NETWORK></BIF>"""

DECLARED = """notion = "distributional"
source = "a test"
records = {count = 3}
[network]
file = "x.xmlbif"
level = "parameters"
[columns]
u = {type = "categorical", categories = ["n", "y"]}
v = {type = "categorical", categories = ["n", "y"]}
[protect.u]
[laws]
u = {low = {categorical = {n = 0.8, y = 0.2}}, high = {categorical = {n = 0.6, y = 0.4}}}
v = {low = {categorical = {n = 0.8, y = 0.2}}, high = {categorical = {n = 0.6, y = 0.4}}}
"""


def test_a_release_is_checked_by_its_calibration_and_laws_of_other_columns_do_not_count(tmp_path: Path) -> None:
    """A calibration keeps the nodes that count; the file, whose network is not read here, declares laws of others."""
    path = tmp_path / "framework.toml"
    (tmp_path / "x.xmlbif").write_text(NETWORK, encoding="utf-8")
    path.write_text(DECLARED, encoding="utf-8")
    query = bp.parse_query('count(u == "y")')
    calibration = bp.TightMechanism().calibrate(bp.read_framework(path), query, epsilon=0.5)
    assert bp.verify(calibration, path).status == "holds"
    released = bp.release(calibration, pd.DataFrame({"u": ["n", "y", "y"], "v": ["n", "n", "y"]}))
    verdict = bp.verify(released.to_json(), path)
    assert (verdict.status, verdict.trusted[-1]) == ("holds", "that the number released is the answer with that noise")
    path.write_text(DECLARED.replace("n = 0.6, y = 0.4", "n = 0.5, y = 0.5"), encoding="utf-8")
    verdict = bp.verify(calibration, path)
    assert (verdict.status, verdict.text) == (
        "fails",
        "the calibration differs from the framework file in its distributions of 'u'",
    )


def test_sentences_that_are_stored_are_not_those_that_are_restored() -> None:
    framework, made = bp.example("student"), student()
    stored = json.loads(made.to_json())
    stored["guarantee"]["sentence"] = "Single persons are protected."
    restored = bp.types.Calibration.from_json(json.dumps(stored), framework)
    assert restored.guarantee.sentence == made.guarantee.sentence


@pytest.mark.parametrize("given", [Path("release.json"), {"format": "bnpriv release 1"}])
def test_what_is_no_text_is_asked_for_as_one(given: object) -> None:
    assert bp.verify(given).text == "no text in JSON: of a file pass Path(...).read_text()"


def test_what_is_wrong_with_a_file_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "framework.toml"
    assert bp.verify(student(), path).text == "'framework.toml', which is no regular file"
    path.write_bytes(b"PAR1\xff")
    assert bp.verify(student(), path).text == "'framework.toml', which is no TOML in UTF-8"


def test_a_framework_that_is_no_file_is_asked_for_as_one() -> None:
    framework = bp.example("student")
    calibration = bp.MarkovQuiltMechanism().calibrate(framework, "count(height > 180)", epsilon=1.0)
    verdict = bp.verify(calibration, framework)
    assert verdict.status == "not covered"
    assert "give its file's path" in verdict.text


TOWN = """network town { property comment a; }
variable ward { type discrete [ 3 ] { Altstadt, "Nord", S\u00fcd }; } // not a row: (Nord) 1, 0;
variable "income band" { type discrete [ 3 ] { under 1500, "1500 - 3500", over 3500 }; }
variable benefit { property kind; type discrete [ 2 ] { no yes }; }
probability ( ward ) { table 0.45, 0.3, 0.25; }
probability ( income band | ward ) {
  (Altstadt) 0.2, 0.5, 0.3;
  ("Nord") 0.3, 0.5, 0.2;
  (S\u00fcd) 0.15, 0.45, 0.4;
}
probability ( benefit | "income band", ward ) {
  /* rows in any order */
  (over 3500, Altstadt) 0.98, 0.02; (over 3500, Nord) 0.97, 0.03; (over 3500, S\u00fcd) 0.96, 0.04;
  (under 1500, Altstadt) 0.55, 0.45; (under 1500, Nord) 0.5, 0.5; (under 1500, S\u00fcd) 0.6, 0.4;
  ("1500 - 3500", Altstadt) 0.88, 0.12; (1500 - 3500, Nord) 0.8, 0.2; (1500 - 3500, S\u00fcd) 0.9, 0.1;
}
"""

OF_TOWN = """notion = "dataset"
source = "a test"
records = {count = 6}
network = {file = "town.bif", level = "records"}
[columns]
ward = {type = "categorical", categories = ["Altstadt", "Nord", "S\u00fcd"]}
"income band" = {type = "categorical", categories = ["under 1500", "1500 - 3500", "over 3500"]}
benefit = {type = "categorical", categories = ["no", "yes"]}
[protect.benefit]
property = "count(benefit == 'yes')"
at_most = 1
"""


def test_quoted_names_and_blanks_in_a_bif_file_are_replayed(tmp_path: Path) -> None:
    """What `read_network` accepts is read here too; another number, or a comma that joins two words, is found."""
    path, network = tmp_path / "framework.toml", tmp_path / "town.bif"
    path.write_text(OF_TOWN, encoding="utf-8")
    network.write_text(TOWN, encoding="utf-8")
    framework = bp.read_framework(path)
    calibration = bp.TightMechanism().calibrate(framework, 'count(`income band` == "under 1500")', epsilon=1.0)
    verdict = bp.verify(calibration, path)
    assert verdict.status == "holds", verdict
    # the file of one model is not the file of another
    network.write_text(TOWN.replace("0.15, 0.45, 0.4", "0.16, 0.44, 0.4"), encoding="utf-8")
    assert bp.verify(calibration, path).text.endswith("tables of 'income band'")
    network.write_text(TOWN.replace("(under 1500, Nord) 0.5, 0.5", "(under 1500, Nord) 0.4, 0.6"), encoding="utf-8")
    assert bp.verify(calibration, path).text.endswith("tables of 'benefit'")


@pytest.mark.parametrize(
    "change",
    [("{ no yes }", "{ no, yes"), ('"1500 - 3500", Altstadt', "1500, Altstadt"), ("variable ward", "variable")],
)
def test_a_bif_file_that_is_not_whole_is_not_covered(change, tmp_path: Path) -> None:
    path, network = tmp_path / "framework.toml", tmp_path / "town.bif"
    path.write_text(OF_TOWN, encoding="utf-8")
    network.write_text(TOWN, encoding="utf-8")
    calibration = bp.TightMechanism().calibrate(bp.read_framework(path), "count(ward == 'Nord')", epsilon=1.0)
    network.write_text(TOWN.replace(*change), encoding="utf-8")
    assert bp.verify(calibration, path).status == "not covered"


@pytest.mark.parametrize(
    ("terms", "row"),
    [
        ([["steps", "sat", 1], ["steps", "sat", 2], ["steps", "sat", 2]], [[0, "-12/100"], [1, "1/10000"]]),
        ([["steps", "sat", 1], ["steps", "sat", 2]], [[-2, "-12/100"], [-1, "1/10000"]]),
        ([["product", "sat", "sat"]], [[0, "1/10000"]]),
        ([["steps", "sat", 2**62]], [[0, "1"]]),
    ],
    ids=["a square twice", "counted from the end", "a square as a product", "a power without end"],
)
def test_a_query_in_another_form_than_ours_is_not_taken_for_a_sum(terms: list[object], row: list[object]) -> None:
    record = json.loads(bp.ColumnMechanism().calibrate(bp.example("student"), "mean(sat)", epsilon=1.0).to_json())
    record["form"] = {"terms": terms, "matrix": [row], "offset": ["0"]}
    record["noise"]["scale"] = 1300.0
    record["noise"]["exact_scale"] = (1300.0).hex()  # enough for the sum, for no square
    assert bp.verify(json.dumps(record)).status in ("fails", "not covered")


def test_a_column_that_is_summed_twice_counts_twice() -> None:
    kind = KINDS["normal"]()
    record = json.loads(bp.TightMechanism().calibrate(kind.framework, kind.query, epsilon=1.0).to_json())
    form = record["form"]
    form["terms"] *= 2
    form["matrix"][0].insert(0, [1, str(9 * Fraction(form["matrix"][0][0][1]))])
    assert bp.verify(json.dumps(record)).status == "cannot be shown"
