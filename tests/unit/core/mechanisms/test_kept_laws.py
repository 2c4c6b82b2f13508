"""Laws that do not depend on epsilon are worked out once for a framework, and change no number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.evidence import constraints, records as sums
from bnpriv.core.evidence.laws import laws
from bnpriv.core.mechanisms import k_fold, law_decision as departures
from bnpriv.errors import Refusal

EPSILONS = (0.3, 1.0, 3.0)


def framework(models: int = 3, records: int = 3000, at_most: int = 7) -> bp.DatasetAttributePrivacy:
    """Return several models of a bit that follows a secret: too many pairs for exact laws of the answer."""
    chances = [[0.35, 0.55 + 0.01 * k] for k in range(models)]
    network = bp.DiscreteNetwork.from_tables(
        {"s": [0.6, 0.4], "a": np.array([[[1 - low, 1 - high], [low, high]] for low, high in chances])},
        states={"s": ["0", "1"], "a": ["0", "1"]},
        parents={"a": ["s"]},
        level="records",
    )
    schema = bp.Schema(records=records, columns={name: bp.Integer(0, 1) for name in "sa"})
    secret = {"s": bp.Secret(bp.count(bp.col("s") == 1), pairs=bp.apart(at_most=at_most))}
    return bp.DatasetAttributePrivacy(network, schema, secret, source="a test")


def counted(patch: pytest.MonkeyPatch, module: object, name: str, calls: dict[str, int], what: str) -> None:
    """Count the calls of a function of a module."""
    called = getattr(module, name)

    def one_more(*values: Any) -> Any:
        calls[what] += 1
        return called(*values)

    patch.setattr(module, name, one_more)


def test_sums_and_their_distances_are_worked_out_once_for_all_epsilons(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"sums": 0, "distances": 0}
    counted(monkeypatch, constraints, "summed", made, "sums")
    counted(monkeypatch, departures, "w_infinity_bounds", made, "distances")
    declared, query = framework(), bp.count(bp.col("a") == 1)
    found = [bp.WassersteinMechanism().calibrate(declared, query, epsilon=epsilon) for epsilon in EPSILONS]
    assert made == {"sums": 3 * 7 * 2, "distances": 3 * 7}
    for epsilon, kept in zip(EPSILONS, found, strict=True):
        assert bp.WassersteinMechanism().calibrate(framework(), query, epsilon=epsilon).to_json() == kept.to_json()


@pytest.mark.parametrize(("at_most", "few"), [(7, True), (360, True), (361, False)])
def test_the_largest_sum_alone_tells_that_all_of_them_are_few(
    at_most: int, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"bounds": 0}
    counted(monkeypatch, k_fold, "sums_bound", asked, "bounds")
    evidence = laws(framework(1, at_most=at_most), bp.count(bp.col("a") == 1))
    assert not isinstance(evidence, Refusal)
    (constraint,) = evidence.constraints()
    assert constraint.record is not None
    assert (k_fold.sums_of_records(constraint.record, 0.0) is not None) == few
    assert few == (sum(range(2, at_most + 2)) <= k_fold.MOST_SUMS)
    assert (asked["bounds"] == 1) == (at_most == 7)


def test_laws_are_compared_as_long_as_that_is_quick_for_all_models_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is given up for time is named, and the rule for one record takes its place with no less noise."""
    query = bp.count(bp.col("a") == 1)

    def scale_and_refusal(models: int) -> tuple[float, Refusal | None]:
        declared = framework(models, records=40, at_most=3)
        evidence = laws(declared, query)
        assert not isinstance(evidence, Refusal)
        pairs = evidence.constraints()[0].pairs
        found = bp.TightMechanism().calibrate(declared, query, epsilon=0.2)
        return found.scale, pairs if isinstance(pairs, Refusal) else None

    least, none = scale_and_refusal(4)
    assert none is None
    work = {"MOST_TOTAL": 41 * (40 + 39 + 38) * 3, "MOST_TOTAL_PRODUCTS": 41**2 * 41 * 3 // 6}
    for name, most in work.items():
        with monkeypatch.context() as only:
            only.setattr(sums, name, most)
            assert scale_and_refusal(3)[1] is None
            scale, refusal = scale_and_refusal(4)
        assert scale >= least
        assert refusal is not None
        assert "up to 41 atoms, for 117 pairs of secrets under 4 models" in str(refusal)
