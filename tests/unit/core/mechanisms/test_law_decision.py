"""What decided the noise of the law mechanisms, in words and as a picture."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.mechanisms import law_decision
from bnpriv.errors import LawError
from bnpriv.views.curves import drawable

PAIR = (bp.laws.Atoms([0, 1, 2], [0.2, 0.5, 0.3]), bp.laws.Atoms([0, 1, 2], [0.5, 0.4, 0.1]))


def test_the_certificate_names_the_pair_and_the_model() -> None:
    framework = bp.DistributionPrivacy([(PAIR[0], PAIR[0]), PAIR], source="a fixture")
    calibration = bp.TightMechanism().calibrate(framework, epsilon=0.3)
    decision = calibration.certificate.decisions[0]
    assert (decision.pair, decision.model) == ("1 against 2", 1)
    assert decision.scale == calibration.scale > 0
    assert "Distributions 1 and 2: the distribution" in calibration.text


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (bp.TightMechanism(), 0.0),
        (bp.TightMechanism(noise="discrete_laplace"), 0.0),
        (bp.WassersteinMechanism(noise="gaussian", large_delta=True), 1e-3),
    ],
    ids=str,
)
def test_draws_both_laws_and_both_noisy_densities(mechanism: bp.types.Mechanism, delta: float) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    calibration = mechanism.calibrate(bp.DistributionPrivacy([PAIR], source="a fixture"), epsilon=0.3, delta=delta)
    drawn = calibration.certificate.decisions[0].plot()
    assert len(drawn.lines) == 2
    for line in drawn.lines:
        x, y = line.get_xdata(), line.get_ydata()
        assert ((y[1:] + y[:-1]) / 2 * (x[1:] - x[:-1])).sum() == pytest.approx(1, abs=0.07)


def test_draws_normal_laws_too() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pair = bp.laws.Normal(0.0, 4.0), bp.laws.Normal(3.0, 4.0)
    framework = bp.DistributionPrivacy([pair], source="a fixture")
    calibration = bp.mechanisms.AttributeGaussianMechanism().calibrate(framework, epsilon=1.0, delta=1e-3)
    drawn = calibration.certificate.decisions[0].plot()
    for line in drawn.lines:
        x, y = line.get_xdata(), line.get_ydata()
        assert ((y[1:] + y[:-1]) / 2 * (x[1:] - x[:-1])).sum() == pytest.approx(1, abs=0.07)
    assert "The two distributions that decided the noise" in calibration.to_html()
    fixed = drawable(bp.laws.Normal(2.0, 0.0))
    assert fixed is not None
    assert fixed.support.tolist() == [2.0]


def test_laws_in_space_are_not_drawn() -> None:
    pair = (bp.laws.Atoms([[0, 0], [1, 0]], [0.5, 0.5]), bp.laws.Atoms([[0, 0], [1, 0]], [0.4, 0.6]))
    calibration = bp.WassersteinMechanism().calibrate(bp.DistributionPrivacy([pair], source="a fixture"), epsilon=1.0)
    with pytest.raises(LawError, match="one number"):
        calibration.certificate.decisions[0].plot()


def test_discrete_noise_is_whole() -> None:
    noise = (
        bp.TightMechanism(noise="discrete_laplace")
        .calibrate(bp.DistributionPrivacy([PAIR], source="a fixture"), epsilon=0.1)
        .noise
    )
    from bnpriv.core.noise import SecureSampler

    drawn = [noise.sample([5.0], SecureSampler())[0] for _ in range(4000)]
    assert all(value.is_integer() for value in drawn)
    mean = sum(abs(value - 5) for value in drawn) / len(drawn)
    assert mean == pytest.approx(noise.error(1).upper, rel=0.15)
    inside = sum(abs(value - 5) <= noise.quantile(0.9) for value in drawn) / len(drawn)
    assert inside >= 0.87


def test_the_page_draws_the_two_laws() -> None:
    framework = bp.example("four-people")
    query = bp.count(bp.col("x2") == 1)
    page = bp.WassersteinMechanism().calibrate(framework, query, epsilon=1.0).to_html()
    assert page.count('class="needles ') == 2
    assert page.count('class="density ') == 2
    assert "The two distributions that decided the noise" in page


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(), bp.WassersteinMechanism()], ids=str)
@pytest.mark.parametrize("together", [0.9, 0.55])
def test_what_the_rule_for_records_settles_is_not_searched(
    mechanism: bp.types.Mechanism, together: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the rule for records or the laws of the answer decide, the noise is that of a search of every model."""
    chances = np.linspace(together - 0.1, together, 12)
    tables = [[[chance, 0.45], [1 - chance, 0.55]] for chance in chances.tolist()]
    network = bp.DiscreteNetwork.from_tables(
        {"s": [[0.6, 0.4]] * 12, "a": tables},
        states={"s": ["0", "1"], "a": ["0", "1"]},
        parents={"a": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=30, columns={name: bp.Integer(0, 1) for name in "sa"})
    secret = {"s": bp.Secret(bp.count(bp.col("s") == 1), pairs=bp.apart(at_most=2))}
    framework = bp.DatasetAttributePrivacy(network, schema, secret, source="a fixture")

    def asked() -> tuple[float, dict[int, float]]:
        found = mechanism.calibrate(framework, bp.count(bp.col("a") == 1), epsilon=0.2)
        return found.scale, {each.model: each.scale for each in found.certificate.decisions}

    scale, few = asked()
    monkeypatch.setattr(law_decision, "MOST_CONSTRAINTS_SEARCHED", 12)
    searched, all_of_them = asked()
    assert scale == pytest.approx(searched, rel=2e-9)
    assert few.keys() == all_of_them.keys() == set(range(12))
    for model, enough in few.items():
        assert all_of_them[model] <= enough * (1 + 1e-12)
        assert enough <= scale
