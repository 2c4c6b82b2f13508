"""What the reading of a gallery model foretells of a plan, against the plan."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import NetworkError, RefusedError
from tests.later import Later, optional

pm = optional("pymc")
xarray = optional("xarray")
gallery = optional("benchmarks.gallery_models")
made = Later("benchmarks.pymc_gallery")

pytestmark = [
    pytest.mark.filterwarnings("ignore::bnpriv.errors.LongDrawingWarning"),
    pytest.mark.filterwarnings("ignore:The effect of Potentials"),
]

ROOT = Path(__file__).resolve().parents[4]
QUICK = ("eight_schools_effect", "rat_tumours_with_potential", "uplift", "batting")
FEW = {"belief": 4000, "models": 2}


def names() -> list[str]:
    """Return the names of the gallery's models, without importing PyMC while tests are collected."""
    parsed = ast.parse((ROOT / "benchmarks" / "gallery_models.py").read_text(encoding="utf-8"))
    functions = [each for each in parsed.body if isinstance(each, ast.FunctionDef)]
    return [each.name for each in functions if each.decorator_list]


def cases() -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names()]


def test_no_model_of_the_gallery_is_left_out() -> None:
    assert names() == list(gallery.GALLERY)


def drawn(model: Any, count: int) -> Any:
    """Return draws of all parameters and Deterministics from the priors, as a posterior holds them."""
    found = [each for each in (*model.free_RVs, *model.deterministics) if not _reads(each, model.observed_RVs)]
    with model:
        values = pm.draw(found, draws=count, random_seed=3)
    ordered = type(pm.distributions.transforms.ordered)
    values = [  # whose order a sampler keeps, and pymc.draw does not
        np.sort(drawn) if isinstance(model.rvs_to_transforms.get(each), ordered) else drawn
        for each, drawn in zip(found, values, strict=True)
    ]
    return made.dataset(model, {str(each.name): np.asarray(v)[None] for each, v in zip(found, values, strict=True)})


def _reads(variable: Any, others: Any) -> bool:
    from bnpriv.io.pymc.expressions import ancestors

    return not set(ancestors([variable], ())).isdisjoint(others)


@pytest.mark.parametrize("reading", ["prior", "belief", "models"])
@pytest.mark.parametrize("name", cases())
def test_the_road_that_a_reading_foretells_is_that_of_the_plan(name: str, reading: Any) -> None:
    case, model = gallery.GALLERY[name], gallery.GALLERY[name].build()
    if improper := name == "neighbours_improper":
        reading = "prior"  # there are no draws from its priors either
    if reading == "prior" and (model.potentials or improper):
        with pytest.raises(NetworkError, match="ICAR is improper" if improper else "the Potential"):
            bp.from_pymc(model)
        return
    posterior = {} if reading == "prior" else {"posterior": drawn(model, FEW[reading]), "reading": reading}
    network = bp.from_pymc(model, **posterior)
    road = network.reading.road(case.protect, case.column)
    few = getattr(network, "with_sampling", lambda draws: network)(draws=500)
    schema = bp.Schema(records=case.records, columns={case.column: case.values})
    private = bp.DistributionalAttributePrivacy(
        few, schema, {case.protect: bp.intervals(case.secrets)}, source="the gallery"
    )
    found, told = None, ""
    try:
        found = bp.TightMechanism(large_delta=True).calibrate(private, bp.mean(case.column), epsilon=1.0, delta=0.05)
    except RefusedError as error:
        told = str(error)
    if found is not None:
        assert found.guarantee.kind == {"exact": "exact", "draws": "estimate"}[road.treatment]
    elif "a secret must come up" in told or "in a secret must be worth" in told:  # which depends on the intervals
        assert road.treatment == "draws"
    else:
        assert road.treatment == "refused"
        assert road.reason.partition(";")[0] in told
        # what is left is noise that hides the column whole, whatever the model is
        assert bp.ColumnMechanism().calibrate(private, bp.mean(case.column), epsilon=1.0, delta=0.05).scale > 0


@pytest.mark.parametrize("name", ["eight_schools_effect", "rat_tumours_with_potential"])
def test_the_plan_itself_takes_the_road(name: str) -> None:
    case, model = gallery.GALLERY[name], gallery.GALLERY[name].build()
    network = bp.from_pymc(model, posterior=drawn(model, 4000), reading="belief")
    schema = bp.Schema(records=case.records, columns={case.column: case.values})
    secret = {case.protect: bp.intervals(case.secrets)}
    private = bp.DistributionalAttributePrivacy(network, schema, secret, source="the gallery")
    plan = bp.plan(private, bp.mean(case.column), 1.0, 0.001)
    assert network.reading.road(case.protect, case.column).treatment == "draws"
    assert (type(plan.best.mechanism).__name__, plan.best.guarantee.kind) == ("TightMechanism", "estimate")
    assert plan.best.scale < 0.5 * case.span


def test_the_seconds_that_are_foretold_are_those_of_the_laws_above_a_column() -> None:
    def by_hand(mean: Any, rng: Any = None, size: Any = None) -> Any:
        return rng.normal(mean, 1, size=size)

    with pm.Model() as model:
        a, far = pm.Normal("a"), pm.CustomDist("far", 0.0, random=by_hand, shape=100)
        pm.Normal("x", a, pm.HalfNormal("s"), observed=np.zeros(50))
        pm.Normal("y", far.sum(), 1, observed=np.zeros(2))
    network = bp.from_pymc(model, columns=["x", "y"])
    x, y = (network.reading.road("a", name).seconds for name in ("x", "y"))
    assert 0.1 < x < 2  # 2 x 10,000 tables of 50 numbers, some 100 ns or more for each
    assert 5 < y < 50  # of 100 numbers that a function of the user's draws, some 5,000 ns for each
    assert "in about 10" in network.reading.road("far", "y").reason
    with pytest.raises(NetworkError, match="a column of the model"):
        network.reading.road("a", "z")
