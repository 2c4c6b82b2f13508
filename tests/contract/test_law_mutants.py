"""Tests of the tests: planted bugs in the mechanisms on laws, each of which listing all tables must find."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.core.evidence.laws as dataset_module
import bnpriv.core.evidence.laws as parameters_module
import bnpriv.core.mechanisms.base as search_module
import bnpriv.core.mechanisms.law_mechanisms as tight_module
import bnpriv.core.mechanisms.law_mechanisms as wasserstein_module
import bnpriv.core.privacy_curves as laplace_module
import bnpriv.core.privacy_curves as product_module
from bnpriv.core.whole_numbers import WholeLaw
from bnpriv.laws import mixture
from tests.contract.test_law_mechanisms import CASES, cases, claim_holds

pytestmark = pytest.mark.mutants

CASES_EACH = 60
TIGHT, WASSERSTEIN = bp.TightMechanism(), bp.WassersteinMechanism()


def killed(kind: str, mechanism: bp.types.Mechanism, number: int = CASES_EACH, *, numbers: int = 1) -> bool:
    """Return whether listing all tables finds a claim that does not hold."""
    return any(
        not claim_holds(case, mechanism)
        for case in cases(kind, 17, number, numbers=numbers)
        if mechanism.supports(case.framework, case.query, epsilon=case.epsilon) is None
    )


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_the_sound_mechanisms_survive(kind: str, mechanism: bp.types.Mechanism) -> None:
    assert not killed(kind, mechanism, 20)
    assert not killed(kind, mechanism, 10, numbers=2)


@pytest.mark.parametrize("kind", CASES)
def test_tight_scale_ten_percent_low(monkeypatch, kind: str) -> None:
    real = search_module.least_scale
    monkeypatch.setattr(tight_module, "least_scale", lambda *args: 0.9 * real(*args))
    assert killed(kind, TIGHT)


def test_wasserstein_scale_ten_percent_low(monkeypatch) -> None:
    """Only cases where Wasserstein is tight can tell, such as a secret that the answer shows."""
    real = wasserstein_module._DistanceSearch._scale
    monkeypatch.setattr(
        wasserstein_module._DistanceSearch, "_scale", lambda *args, **options: 0.9 * real(*args, **options)
    )
    assert killed("dataset", WASSERSTEIN)


@pytest.mark.parametrize("kind", CASES)
def test_one_direction_only(monkeypatch, kind: str) -> None:
    def forward(self: laplace_module.LaplacePair, scale: float) -> float:
        p, q = self.first, self.second
        if scale > 0:
            p, q = (laplace_module._smoothed(self.atoms, logs, scale)[0] for logs in (p, q))
        with np.errstate(invalid="ignore"):
            gaps = np.where(np.isneginf(p), -np.inf, p - q)
        return float(max(0.0, np.max(gaps)))

    monkeypatch.setattr(laplace_module.LaplacePair, "epsilon", forward)
    assert killed(kind, TIGHT)


def test_one_direction_only_of_a_vector(monkeypatch) -> None:
    def forward(points, logs, scale):
        corners = np.array(list(itertools.product(*(np.unique(column) for column in points.T))))
        away = np.abs(corners[:, None, :] - points[None, :, :]).sum(axis=2) / scale
        p, q = (np.logaddexp.reduce(law - away, axis=1) for law in logs)
        return float(max(0.0, np.max(p - q)))

    monkeypatch.setattr(product_module, "_largest_on_simplex", forward)
    monkeypatch.setattr(product_module, "_largest_on_grid", forward)
    assert killed("dataset", TIGHT, numbers=2)


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_one_record_too_few(monkeypatch, mechanism: bp.types.Mechanism) -> None:
    real = dataset_module.Counts.apart

    def fewer(self, *args):
        distances, label = real(self, *args)
        return [each - 1 for each in distances if each > 1] or [1], label

    monkeypatch.setattr(dataset_module.Counts, "apart", fewer)
    monkeypatch.setattr(
        dataset_module.Counts, "listed", lambda self, *args: 10**9
    )  # leave the per-record rule alone: the exact laws do not use the distance
    assert killed("dataset", mechanism)


@pytest.mark.parametrize("mechanism", [TIGHT, WASSERSTEIN], ids=str)
def test_unconditional_instead_of_given_that_it_does_not_count(monkeypatch, mechanism: bp.types.Mechanism) -> None:
    real = WholeLaw.given

    def careless(both: WholeLaw, values: Iterable[int]) -> WholeLaw:
        chosen = list(values)
        if max(chosen) > both.columns[0].min():
            return real(both, chosen)
        return WholeLaw.of(both.columns[1:], both.logs, both.error)

    monkeypatch.setattr(WholeLaw, "given", careless)
    assert killed("dataset", mechanism)


def test_joint_instead_of_conditional_of_a_sum(monkeypatch) -> None:
    """Given a total, the law of the answer whatever the total is."""
    monkeypatch.setattr(
        WholeLaw, "given", lambda total, values: WholeLaw.of(total.columns[1:], total.logs, total.error)
    )
    assert killed("dataset", TIGHT)


@pytest.mark.parametrize(("kind", "module"), [("dataset", dataset_module), ("distributional", parameters_module)])
def test_mixture_weights_ignored(monkeypatch, kind: str, module) -> None:
    monkeypatch.setattr(
        module, "mixture_of", lambda weights, error, laws: mixture(np.full(len(laws), 1 / len(laws)), list(laws))
    )
    if kind == "dataset":
        real = dataset_module.constraints_of

        def by_laws(*args):
            exact = [each for each in real(*args) if not isinstance(each.pairs, bp.errors.Refusal)]
            return [replace(each, record=None) for each in exact] or real(*args)

        monkeypatch.setattr(dataset_module, "constraints_of", by_laws)
    assert killed(kind, TIGHT)


def test_first_model_only(monkeypatch) -> None:
    real = dataset_module.DatasetLaws.constraints
    monkeypatch.setattr(dataset_module.DatasetLaws, "constraints", lambda self: real(self)[:1])
    assert killed("dataset", TIGHT)


def test_values_counted_from_the_lower_bound(monkeypatch) -> None:
    """A bug that this oracle found: a total of 7 over a column from 1 to 3 was taken for 7 above the lowest total."""
    real = dataset_module.normal_form

    class FromTheLowerBound:
        def __init__(self, form) -> None:
            self.form = form

        def __getattr__(self, name: str):
            return getattr(self.form, name)

        def wholes(self):
            return [replace(whole, shift=0) for whole in self.form.wholes()]

    monkeypatch.setattr(dataset_module, "normal_form", lambda query, schema: FromTheLowerBound(real(query, schema)))

    def found() -> bool:
        for case in cases("dataset", 17, CASES_EACH):
            try:
                if not claim_holds(case, TIGHT):
                    return True
            except (bp.errors.SecretError, bp.errors.RefusedError):
                return True
        return False

    assert found()


def test_the_oracle_itself_tells_a_false_claim() -> None:
    from tests.contract.test_law_mechanisms import hockey_stick, law_loss

    f, g = {(0.0,): 0.2, (1.0,): 0.8}, {(0.0,): 0.8, (1.0,): 0.2}
    assert law_loss(f, g, 0.0) == pytest.approx(math.log(4))
    assert 0 < law_loss(f, g, 1.0) < 1.0
    zero, one = {(0.0,): 1.0}, {(1.0,): 1.0}
    assert law_loss(zero, one, 2.0) == pytest.approx(0.5)
    assert hockey_stick(zero, one, 2.0, 0.1, "laplace") == pytest.approx(1 - math.exp((0.1 - 0.5) / 2), rel=1e-9)
    # Phi(m / 2 - e / m) - exp(e) Phi(-m / 2 - e / m) for m = 1, e = 1
    assert hockey_stick(zero, one, 1.0, 1.0, "gaussian") == pytest.approx(0.12693673750664397, rel=1e-9)
