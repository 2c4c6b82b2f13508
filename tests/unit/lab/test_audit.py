"""Audits of all that can be audited: what keeps its claim, what does not, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import bnpriv as bp
from bnpriv.cli import app
from bnpriv.core.noise import DiscreteLaplace, Gaussian, Laplace, Noise
from bnpriv.errors import CertificateError, DataError, FrameworkError, ParameterError, SecretError
from bnpriv.lab.attacks.result import NumpySampler
from bnpriv.lab.audit import Audit, audit, with_noise
from bnpriv.mechanisms.serialize import claimed_calibration
from bnpriv.tables.private_table.counts import MoveNoise, SeededSampler

PLANTED = 0.815
"""Noise of so much of its scale is 18.5 % too small."""


def random(seed: int = 0) -> NumpySampler:
    return NumpySampler(np.random.default_rng(seed))


def small(at_most: float = 2.0, records: int = 40, **more: object) -> bp.DatasetAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"ill": [0.5, 0.5], "old": [[0.7, 0.4], [0.3, 0.6]]},
        states={"ill": ["no", "yes"], "old": ["no", "yes"]},
        parents={"old": ["ill"]},
        level="records",
    )
    columns = {name: bp.Categorical(["no", "yes"]) for name in ("ill", "old")}
    secret = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=at_most))
    schema = bp.Schema(records=records, columns=columns)
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="invented")


def parameters() -> bp.DistributionalAttributePrivacy:
    network = bp.DiscreteNetwork.from_tables(
        {"income": [0.6, 0.4], "sat": [[0.9, 0.1], [0.1, 0.9]]},
        states={"income": ["low", "high"], "sat": ["weak", "strong"]},
        parents={"sat": ["income"]},
    )
    schema = bp.Schema(records=100, columns={"sat": bp.Categorical(["fail", "pass"])})
    laws = {"sat": {"weak": 0.1, "strong": 0.9}}
    return bp.DistributionalAttributePrivacy(network, schema, "income", source="invented", laws=laws)


QUERY = bp.count(bp.col("ill") == "yes")


def tight(epsilon: float = 1.0) -> bp.types.Calibration:
    return bp.TightMechanism().calibrate(small(), QUERY, epsilon=epsilon)


def planted(calibration: bp.types.Calibration, noise: Noise) -> bp.types.Calibration:
    return replace(calibration, noise=noise)


def test_a_calibration_keeps_its_claim_and_one_with_too_little_noise_does_not() -> None:
    calibration = tight()
    good = audit(calibration, runs=20_000, sampler=random())
    assert 0.8 < good.bound < 1
    assert (good.epsilon, good.delta, good.exceeds) == (1.0, 0.0, False)
    assert good.verdict == "no more than the claim was seen"
    assert good.power is not None
    assert good.power > 0.95
    less = planted(calibration, replace(calibration.noise, scale=calibration.noise.scale * PLANTED))
    bad = audit(less, runs=20_000, sampler=random())
    assert 1 < bad.bound < 1 / PLANTED
    assert bad.exceeds
    assert bad.verdict == "exceeds the claim"
    assert audit(calibration, runs=20_000, sampler=random(), epsilon=0.5).exceeds


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("kind", [Laplace, DiscreteLaplace, Gaussian])
def test_noise_of_every_kind_is_drawn_as_a_release_draws_it(kind: type[Laplace], delta: float) -> None:
    exact = np.array([[1.0, 2.0], [5.0, 7.0], [3.0, 3.0]])
    noise = kind(2.0, 2, (1.0, 4.0))

    class Seen(NumpySampler):
        def laplace(self, values, scale):
            seen.append((tuple(values), scale))
            return tuple(values)

        gaussian = discrete_laplace = laplace

    seen: list[tuple[tuple[float, ...], float]] = []
    drawn = with_noise(noise, exact, Seen(np.random.default_rng(0)))
    assert drawn.tolist() == exact.tolist()
    assert seen == [((2.0, 7.0, 3.0), 0.5), ((1.0, 5.0, 3.0), 2.0)]


def test_the_optimal_channel_and_the_secure_noise_are_audited() -> None:
    channel = bp.mechanisms.OptimalMechanism().calibrate(small(records=12), QUERY, epsilon=1.0)
    found = audit(channel, runs=3000, sampler=random())
    assert 0.3 < found.bound < 1
    assert found.power_of == "of the pair told apart best"
    honest = audit(tight(), runs=500)
    assert not honest.exceeds


def test_vectors_and_parameters_are_audited() -> None:
    framework = parameters()
    query = bp.stack(bp.count(bp.col("sat") == "pass"), bp.proportion(bp.col("sat") == "fail"))
    calibration = bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0)
    good = audit(calibration, runs=5000, sampler=random())
    assert 0.2 < good.bound < 1
    assert good.secrets == "high against low"
    noise = replace(calibration.noise, scale=calibration.noise.scale / 3)
    assert audit(planted(calibration, noise), runs=5000, sampler=random()).exceeds


def test_sums_that_are_drawn_nearly_are_answered_from_whole_tables() -> None:
    stats = pytest.importorskip("scipy.stats")
    network = bp.DiscreteNetwork.from_tables({"sat": [0.5, 0.5]}, states={"sat": ["weak", "strong"]})
    schema = bp.Schema(records=30, columns={"sat": bp.Real(0, 100)})
    laws = {"sat": {"weak": stats.norm(30, 10), "strong": stats.norm(70, 10)}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "sat", source="invented", laws=laws)
    calibration = bp.ColumnMechanism().calibrate(framework, bp.mean("sat"), epsilon=2.0)
    found = audit(calibration, runs=100, sampler=random())
    assert found.outputs == 100
    assert found.secrets == "weak against strong"
    assert not found.exceeds
    noise = replace(calibration.noise, scale=calibration.noise.scale / 20)
    assert audit(planted(calibration, noise), runs=300, sampler=random()).exceeds


def test_private_tables_are_audited_by_the_numbers_that_they_hand_on() -> None:
    framework = small(at_most=2, records=200)
    table = bp.simulate(framework)
    for form, delta in (("fill", 0.0), ("trim", 1e-3)):
        made = bp.private_table(framework, table, epsilon=1.0, delta=delta, form=form, records_may_be_seen=True)
        good = audit(made, runs=2000, sampler=SeededSampler(np.random.default_rng(1)))
        assert 0.3 < good.bound < 1
        noise = made.rule.noise
        assert isinstance(noise, MoveNoise)
        less = replace(made, rule=replace(made.rule, noise=replace(noise, scale=noise.scale / 2)))
        assert audit(less, runs=2000, sampler=SeededSampler(np.random.default_rng(1))).exceeds
    few = bp.private_table(small(), bp.simulate(small()), epsilon=1.0, form="fill", records_may_be_seen=True)
    found = audit(few, runs=2000, sampler=SeededSampler(np.random.default_rng(1)))
    assert 0.3 < found.bound < 1
    hospital = bp.example("hospital")
    made = bp.private_table(hospital, bp.simulate(hospital), epsilon=1.0, records_may_be_seen=True)
    assert "\nPower: would have seen" in str(audit(made, runs=10))  # long secrets leave room for it


def test_a_function_is_audited_and_never_sees_the_secret() -> None:
    framework, seen = small(), set()
    noise = np.random.default_rng(3)

    def careful(table) -> float:
        seen.add((tuple(table.columns), bool(table.attrs)))
        return (table["ill"] == "yes").sum() + noise.laplace(0, 2)

    good = audit(careful, framework, epsilon=1.0, runs=700)
    assert seen == {(("ill", "old"), False)}
    assert good.audited == "careful"
    assert 0.2 < good.bound < 1
    bad = audit(
        lambda table: careful(table) * 0 + round((table["ill"] == "yes").sum()), framework, epsilon=1.0, runs=300
    )
    assert bad.bound > 2
    unclaimed = audit(careful, framework, runs=300)
    assert unclaimed.epsilon is None
    assert unclaimed.power is None
    assert not unclaimed.exceeds


@pytest.mark.slow
def test_sessions_are_audited(tmp_path) -> None:
    framework, ledgers = small(), itertools.count()

    def session(table) -> list[float]:
        with bp.Session(framework, table, budget=8.0, ledger=tmp_path / f"{next(ledgers)}.db") as asked:
            return [asked.release(QUERY, epsilon, even_if_useless=True).values[0] for epsilon in (2.0, 6.0)]

    assert audit(session, framework, epsilon=0.05, runs=126).exceeds


def test_frames_and_chosen_secrets_are_audited() -> None:
    framework = small()
    two = {"ill": 10}, {"ill": 30}
    frame = audit(lambda table: table.sample(30, random_state=1), framework, secrets=two, epsilon=1.0, runs=100)
    assert frame.exceeds
    assert frame.secrets == "10 against 30"
    other = audit(lambda table: (table["sat"] == "pass").mean(), parameters(), epsilon=0.5, runs=100)
    assert other.exceeds
    assert other.protected == "income"


def test_what_cannot_be_audited_is_refused() -> None:
    framework, calibration = small(), tight()
    with pytest.raises(ParameterError, match="an audit needs a calibration"):
        audit(3.0, framework)  # type: ignore[arg-type]
    with pytest.raises(FrameworkError, match="a framework is needed"):
        audit(len)
    with pytest.raises(ParameterError, match="the certificate says"):
        audit(calibration, secrets=({"ill": 1}, {"ill": 2}))
    with pytest.raises(ParameterError, match="confidence"):
        audit(calibration, confidence=1.0)
    with pytest.raises(ParameterError, match="two secrets"):
        audit(len, framework, secrets=({"ill": 1},))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a number, several"):
        audit(lambda table: "text", framework, runs=2)
    with pytest.raises(DataError, match="a number, several"):
        audit(lambda table: 10**400, framework, runs=2)
    for two in (({}, {}), (1, 2), ("ab", "cd"), ({"ill": 10}, {})):
        with pytest.raises(ParameterError, match="two secrets"):
            audit(len, framework, secrets=two, runs=2)  # type: ignore[arg-type]
    sizes = iter([1, 2])
    with pytest.raises(DataError, match="as many numbers") as refused:
        audit(lambda table: np.zeros(next(sizes)), framework, runs=2)
    assert "0.0" not in str(refused.value)
    with pytest.raises(SecretError, match="two secrets must be named"):
        audit(len, replace(framework, protect={"ill": bp.Secret('count(ill == "yes")')}), runs=2)


def test_ctrl_c_ends_it_with_what_was_seen() -> None:
    calls = iter(range(10**6))

    def tired(table) -> float:
        if next(calls) == 250:
            raise KeyboardInterrupt
        return float((table["ill"] == "yes").sum())

    found = audit(tired, small(), epsilon=1.0, runs=1000)
    assert found.stopped
    assert found.outputs == 250
    assert found.exceeds
    assert "stopped by Ctrl-C" in str(found)
    with pytest.raises(KeyboardInterrupt):
        audit(lambda table: (_ for _ in ()).throw(KeyboardInterrupt()), small(), runs=10)


def test_what_is_shown() -> None:
    found = audit(tight(), runs=2000, sampler=random())
    lines = str(found).split("\n")
    assert len(lines) <= 8
    assert max(map(len, lines)) <= 100
    assert "Power: would have seen 1.2 times the claim in" in str(found)
    told = json.loads(found.to_json())
    assert told["document"] == "audit"
    assert told["data"]["trail"][-1] == [2000, found.bound]
    assert "claimed" in found.to_html()
    assert "<svg" in found.to_html()
    pytest.importorskip("matplotlib")
    drawn = found.plot()
    assert drawn.get_xscale() == "log"
    assert math.isclose(drawn.get_lines()[1].get_ydata()[0], 1.0)
    assert isinstance(found, Audit)
    assert (found.power < 0.95, found.document.tone) == (True, "plain")
    assert replace(found, power=0.96).document.tone == "good"
    wide = replace(found, trail=(*found.trail, (400_000, found.bound))).to_html()
    assert ("10\u2076" in wide, "1,000,000" in wide) == (True, False)  # so long a label would be cut on a narrow page
    assert found.quiet == f"{found.bound:g}"


def test_the_shell_reads_the_noise_that_is_stored(tmp_path) -> None:
    framework, calibration = small(), tight()
    network = tmp_path / "small.toml"
    framework.to_file(network)
    stored = json.loads(calibration.to_json())
    honest, forged = tmp_path / "honest.json", tmp_path / "forged.json"
    honest.write_text(json.dumps({"format": "bnpriv release 1", "calibration": stored}))
    stored["noise"]["scale"] *= 0.5
    forged.write_text(json.dumps(stored))
    options = ["--framework", str(network), "--runs", "1000"]
    run = CliRunner().invoke(app, ["audit", str(honest), *options, "--html", str(tmp_path / "page.html")])
    assert run.exit_code == 0
    assert "No more than the claim was seen" in run.output
    assert (tmp_path / "page.html").exists()
    run = CliRunner().invoke(app, ["audit", str(forged), *options, "--json", "-"])
    assert run.exit_code == 1
    assert json.loads(run.output)["data"]["verdict"] == "exceeds the claim"
    claimed, epsilon, delta = claimed_calibration(forged.read_text(), framework)
    assert (claimed.noise.scales, epsilon, delta) == ((calibration.scale / 2,), 1.0, 0.0)
    stored["noise"]["law"] = "Gaussian"
    with pytest.raises(CertificateError, match="form of that"):
        claimed_calibration(json.dumps(stored), framework)
    with pytest.raises(CertificateError):
        claimed_calibration("{}", framework)


def test_only_the_scale_of_stored_noise_may_be_another() -> None:
    framework = parameters()
    query = bp.stack(bp.count(bp.col("sat") == "pass"), bp.proportion(bp.col("sat") == "fail"))
    stored = json.loads(bp.ColumnMechanism().calibrate(framework, query, epsilon=1.0).to_json())
    stored["noise"]["weights"] = [64 * weight for weight in stored["noise"]["weights"]]
    with pytest.raises(CertificateError, match="form of that"):
        claimed_calibration(json.dumps(stored), framework)


def test_outputs_without_a_square_are_combined_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    heads = np.random.default_rng(1)
    audit(lambda table: 1e308 * heads.choice([1, -1]), small(), epsilon=1.0, runs=100)
    assert not [each for each in recwarn if "overflow" in str(each.message)]
