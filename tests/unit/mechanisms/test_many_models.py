"""Many models and pairs of secrets: few of them are searched for their own noise, and long work is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bnpriv as bp
from bnpriv import progress as pace
from bnpriv.core.distributions import Atoms
from bnpriv.core.evidence import constraints
from bnpriv.core.evidence.constraints import RecordPair
from bnpriv.core.privacy_curves import LaplacePair
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.errors import LongDrawingWarning


def public_framework(models: int, records: int = 40) -> bp.DatasetAttributePrivacy:
    rng = np.random.default_rng(3)
    tables = {"ill": [0.7, 0.3], "smokes": np.moveaxis(rng.dirichlet([6.0, 4.0], size=(models, 2)), 1, 2)}
    network = bp.DiscreteNetwork.from_tables(
        tables,
        states={"ill": ["no", "yes"], "smokes": ["no", "yes"]},
        parents={"smokes": ["ill"]},
        level="records",
    )
    yes_no = bp.Categorical(["no", "yes"])
    schema = bp.Schema(records=records, columns={"ill": yes_no, "smokes": yes_no})
    secret = bp.Secret(bp.count(bp.col("ill") == "yes"), pairs=bp.apart(at_most=3))
    return bp.DatasetAttributePrivacy(network, schema, {"ill": secret}, source="a test")


def test_few_of_many_pairs_are_searched_and_the_scale_is_that_of_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search takes some fifty levels: a pair that needs no more noise than another is looked at a few times."""
    rng = np.random.default_rng(5)
    points = np.arange(6.0)
    pairs = [
        (Atoms(points, rng.dirichlet(np.full(6, 3.0))), Atoms(points, rng.dirichlet(np.full(6, 3.0))))
        for _ in range(60)
    ]
    tight, calls, epsilon = bp.TightMechanism(), [0], LaplacePair.epsilon

    def counted(self: LaplacePair, scale: float) -> float:
        calls[0] += 1
        return epsilon(self, scale)

    alone = [tight.calibrate(bp.DistributionPrivacy([pair], source="a test"), epsilon=0.5).scale for pair in pairs]
    monkeypatch.setattr(LaplacePair, "epsilon", counted)
    together = tight.calibrate(bp.DistributionPrivacy(pairs, source="a test"), epsilon=0.5)
    assert together.scale == pytest.approx(max(alone), rel=1e-12)
    framework = public_framework(1)
    calls[0] = 0
    found = tight.calibrate(framework, "count(smokes == 'yes')", 0.05)
    listed = sum(40 + 1 - k for k in (1, 2, 3))
    assert found.scale > 0
    assert calls[0] < 10 * listed, calls


def test_small_numerators_are_different_doubles_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is certain agrees with what is counted, at the edge and beyond it."""

    def record(numerators: list[int], below: int) -> RecordPair:
        law = WholeLaw.of([np.array(numerators)], np.full(len(numerators), -np.log(len(numerators))), 0.0)
        return RecordPair(pair="", numerators=(law, law), denominators=(below,), distances=(1,), kind="exact")

    edge = constraints.MOST_APART
    cases = [([edge - 1, edge, -edge, 0], 7), ([1, 2, 3], 3**40), ([2**53, 2**53 + 1], 1), ([0, 1], 2**1074 * 8)]
    quick = [record(*case).distinct for case in cases]
    monkeypatch.setattr(constraints, "MOST_APART", -1)
    assert quick == [record(*case).distinct for case in cases] == [True, True, False, False]


@pytest.mark.parametrize("mechanism", [bp.TightMechanism(), bp.WassersteinMechanism()])
def test_long_work_over_models_is_told_with_what_makes_it_short(
    mechanism: bp.types.Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework = public_framework(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongDrawingWarning)
        mechanism.calibrate(framework, "count(smokes == 'yes')", 1.0)
    monkeypatch.setattr(pace, "LONG_SECONDS", 0.0)
    with pytest.warns(LongDrawingWarning) as told:
        mechanism.calibrate(public_framework(5), "count(smokes == 'yes')", 1.0)
    texts = [str(each.message) for each in told]
    shorter = ". Fewer posterior draws (draws=, thin=) or models take less"
    for part in ("the distributions of the answer", "the noise"):
        start = f"To work out {part} under 4 more models takes about "
        assert any(text.startswith(start) and text.endswith(shorter) for text in texts), texts
