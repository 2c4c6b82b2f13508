"""Hostile arguments of the mechanisms for normal laws, of the attacks and of what reads public tables.

Each gives a result or a refusal in words; no foreign exception, no warning (rows 14, 39, 42 and 46).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

import bnpriv as bp
from bnpriv import mechanisms
from bnpriv.core.distributions import Normal
from bnpriv.core.noise import Laplace
from bnpriv.lab.attacks.likelihood_ratio import likelihood_ratio_attack
from bnpriv.lab.attacks.shadow import shadow_attack
from bnpriv.mechanisms.directional import DirectionalLaplace
from bnpriv.mechanisms.gaussian.noise import CorrelatedGaussian
from tests.later import Later

pd = Later("pandas")

ANY = cast(Any, mechanisms)
FAMILY: list[Any] = [
    mechanisms.AttributeGaussianMechanism,
    mechanisms.ExpectedValueMechanism,
    mechanisms.DirectionalMechanism,
    mechanisms.EigenvectorMechanism,
    mechanisms.DirectionalUncertaintyMechanism,
    mechanisms.OptimalGaussianMechanism,
    mechanisms.OptimalMechanism,
    mechanisms.GroupPrivacyMechanism,
    mechanisms.RecordPrivacyMechanism,
    bp.ColumnMechanism,
    bp.WassersteinMechanism,
    bp.TightMechanism,
    bp.MarkovQuiltMechanism,
]
NUMBERS: list[Any] = [math.nan, math.inf, -math.inf, -1, 0, -0.0, 5e-324, 1e308, 10**400, True, 1j, Decimal("nan")]
OTHERS: list[Any] = ["x", "", "a" * 10_000, b"x", None, [], {}, (), set(), range(3), iter([1]), [1, [2]], len, int]
ARRAYS: list[Any] = [np.array([1.0]), np.array(1.0), np.array([]), np.float32(1), np.datetime64("2020-01-01")]
HOSTILE = [*NUMBERS, *OTHERS, *ARRAYS, Fraction(1, 3), object()]

TWO = Normal([100, 101], [[22, -6], [-6, 13]]), Normal([99, 102], [[22, -6], [-6, 13]])
OF_LAWS = bp.DistributionPrivacy([TWO], source="a test")
ONE_NUMBER = bp.DistributionPrivacy([(Normal(0.0, 9.0), Normal(5.0, 9.0))], source="a test")
HOSPITAL = bp.example("hospital")
STAY = bp.stack(bp.mean("days"), bp.count(bp.col("smoker") == "yes"))


def refused(call: Callable[[], object]) -> bool:
    """Return whether a call was refused, in words and not too many; any other exception is a failure."""
    found: bp.BnprivError | None = None
    try:
        call()
    except bp.BnprivError as error:
        found = error
    assert found is None or (found.required and found.found and found.remedy and len(str(found)) < 600)
    return found is not None


@pytest.mark.parametrize("mechanism", FAMILY, ids=lambda each: each.__name__)
def test_options_of_any_type_are_taken_or_refused(mechanism: Any) -> None:
    for option in mechanism().options() | {"weights": None}:
        taken = [value for value in HOSTILE if not refused(lambda o=option, v=value: mechanism(**{o: v}))]
        for value in taken:  # what is taken can be printed, stored and compared
            made = mechanism(**{option: value})
            assert str(made)
            assert made == made
            json.dumps(made.options(), allow_nan=False)
        assert not any(isinstance(value, (complex, str, bytes, Decimal)) for value in taken)
        assert not any(isinstance(value, float) and not math.isfinite(value) for value in taken)


BAD_WEIGHTS: list[Any] = [(0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), ("1", 1), (True, 1), [[1, 2]], 5, "ab", b"ab"]
BAD_WEIGHTS += [(10**400, 1), {1: 2}, np.array([[1.0, 2.0]]), np.array(3.0), iter([1, 2]), {1, 2}]


@pytest.mark.parametrize("mechanism", FAMILY, ids=lambda each: each.__name__)
def test_every_mechanism_checks_its_weights(mechanism: Any) -> None:
    for weights in BAD_WEIGHTS:
        assert refused(lambda w=weights: mechanism(weights=w))
    for weights in ((64, 1), [64, 1], np.array([64.0, 1.0]), range(1, 3)):
        assert mechanism(weights=weights).weights == tuple(map(float, weights))


@pytest.mark.parametrize("mechanism", FAMILY, ids=lambda each: each.__name__)
def test_extreme_weights_are_calibrated_or_refused(mechanism: Any) -> None:
    for weights in ((1e-300, 1e300), (5e-324, 1), (1e308, 1e-308), (1e200, 1), (2.0**-60, 2.0**60), (1,), (1, 1, 1)):
        for framework, query in ((OF_LAWS, None), (HOSPITAL, STAY)):
            made = mechanism(weights=weights)
            refused(lambda m=made, f=framework, q=query: str(m.calibrate(f, q, epsilon=1.0, delta=1e-6)))


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.AttributeGaussianMechanism(weights=(64, 1), constant="textbook"),
        mechanisms.GroupPrivacyMechanism(weights=(64, 1), size=3),
        mechanisms.RecordPrivacyMechanism(weights=(64, 1)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_calibration_with_chosen_weights_is_stored_with_them(mechanism: bp.types.Mechanism) -> None:
    of_laws = isinstance(mechanism, mechanisms.AttributeGaussianMechanism)
    framework, query, delta = (OF_LAWS, None, 1e-3) if of_laws else (HOSPITAL, STAY, 0.0)
    calibration = mechanism.calibrate(framework, query, epsilon=1.0, delta=delta)
    again = bp.types.Calibration.from_json(calibration.to_json(), framework)
    assert again.mechanism == mechanism
    assert again.noise.scales == calibration.noise.scales
    assert calibration.noise.scales[1] == 64 * calibration.noise.scales[0]
    assert "weights=(64.0, 1.0)" in str(mechanism)


LAW = Normal(0.0, 1.0)
BAD_APPROXIMATIONS: list[Any] = [
    *HOSTILE,
    LAW,
    [1],
    [(1, 2)],
    [(LAW,)],
    [(LAW, LAW, LAW)],
    [None],
    [{1: 2}],
    [({}, {})],
]
BAD_APPROXIMATIONS += [[({"mean": 1}, {"mean": 2})], [({"mean": 0, "covariance": 1, "bogus": 3},) * 2], (LAW, LAW)]
BAD_APPROXIMATIONS += [[({"mean": "x", "covariance": 1},) * 2]]


def test_approximations_of_any_type_are_taken_or_refused() -> None:
    for given in BAD_APPROXIMATIONS:
        empty = isinstance(given, (list, tuple)) and not given
        assert refused(lambda a=given: ANY.AttributeGaussianMechanism(relaxation=0.05, approximations=a)) != empty
    far = [(Normal(1e150, 1.0), Normal(-1e150, 1.0))], [(Normal(0.0, 5e-324),) * 2], [(Normal([0, 0], np.eye(2)),) * 2]
    for given in far:
        made = mechanisms.AttributeGaussianMechanism(relaxation=0.05, approximations=given)
        refused(lambda m=made: m.calibrate(ONE_NUMBER, epsilon=1.0, delta=1e-3))


@pytest.mark.parametrize("mechanism", FAMILY, ids=lambda each: each.__name__)
def test_frameworks_queries_and_parameters_of_any_type(mechanism: Any) -> None:
    for value in HOSTILE:
        assert refused(lambda v=value: mechanism().calibrate(v, STAY, epsilon=1.0, delta=1e-6))
        assert refused(lambda v=value: mechanism().calibrate(HOSPITAL, v, epsilon=1.0, delta=1e-6))
        refused(lambda v=value: mechanism().calibrate(OF_LAWS, epsilon=v, delta=1e-3))
        refused(lambda v=value: mechanism().calibrate(OF_LAWS, epsilon=1.0, delta=v))


def table(**columns: Any) -> Any:
    """Return a public table of 200 people, with other columns."""
    return pd.DataFrame({"age": [30, 40, 50, 60] * 50, "rich": [0, 0, 1, 1] * 50} | columns)


RICH = bp.col("rich") == 1
USUAL: dict[str, Any] = {"query": bp.mean("age"), "property": RICH, "values": (0.4, 0.6), "records": 20}


def both(data: Any, **changed: Any) -> tuple[bool, bool]:
    """Return whether either road from a public table refuses."""
    given = USUAL | changed
    tables = {"shadow_tables": 10, "test_tables": 10}
    return (
        refused(lambda: bp.laws.laws_by_property(data, **given)),
        refused(lambda: shadow_attack(data, **given, classifier=Guess(0), **tables)),
    )


class Guess:
    """Says always the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any) -> None:
        """Learn nothing."""

    def predict(self, X: Any) -> Any:
        """Return what was given, for every row if it is a number."""
        return np.full(len(X), self.answer) if isinstance(self.answer, (int, float, str)) else self.answer


ODD_VALUES: list[Any] = [
    (),
    (0.4,),
    (math.nan, 0.4),
    (1.1, 0.4),
    ("x", 0.4),
    (None, 0.4),
    (10**400, 1),
    {0.4: 1, 0.6: 2},
]
ODD_VALUES += [{0.4, 0.6}, iter([0.4, 0.6]), np.array([[0.4, 0.6]]), "46", (0.4 + 0j, 0.6), (True, False)]


@pytest.mark.parametrize("name", ["values", "records", "query", "property"])
def test_what_is_asked_of_public_tables(name: str) -> None:
    odd = {"values": ODD_VALUES, "records": [1, 200, 201, 10**9, 10**30, 2.0, "20"], "query": [], "property": []}
    odd["query"] = ["mean(age", bp.linear({"age": 1e308}), bp.linear({"age": 5e-324}), bp.moments(["age"]), RICH]
    for value in (*HOSTILE, *odd[name]):
        both(table(), **{name: value})
    for value in odd["values"] if name == "values" else ():
        assert both(table(), values=value)[1]


@pytest.mark.parametrize("name", ["schema", "covariance", "resamples", "seed"])
def test_options_of_laws_by_property(name: str) -> None:
    for value in (*HOSTILE, 99, 10**12):
        refused(lambda v=value: bp.laws.laws_by_property(table(), **USUAL, **{name: v}))


@pytest.mark.parametrize("name", ["defence", "shadow_tables", "test_tables", "classifier", "schema", "seed"])
def test_options_of_shadow_attacks(name: str) -> None:
    given = USUAL | {"shadow_tables": 10, "test_tables": 10, "classifier": Guess(0)}
    classes: list[Any] = [Guess, ONE_NUMBER, bp.ColumnMechanism(), 10**12, Laplace(1e308)]
    classes += [Guess(None), Guess([0]), Guess(np.zeros((20, 1)))]
    for value in (*HOSTILE, *classes):
        if name != "classifier" or value is not None:
            refused(lambda v=value: shadow_attack(table(), **(given | {name: v})))


def test_classifiers_and_defences_of_shadow_attacks_that_are_none() -> None:
    given = USUAL | {"shadow_tables": 10, "test_tables": 10, "classifier": Guess(0)}
    for answer in (math.nan, "a"):
        assert shadow_attack(table(), **(given | {"classifier": Guess(answer)})).accuracy == 0
    for bad in (Guess, Guess(None), Guess([0]), Guess(np.zeros((20, 1)))):
        assert refused(lambda c=bad: shadow_attack(table(), **(given | {"classifier": c})))
    for bad in (ONE_NUMBER, bp.ColumnMechanism(), bp.ColumnMechanism, 5, "x", Laplace(1e308)):
        assert refused(lambda d=bad: shadow_attack(table(), **(given | {"defence": d})))


def test_likelihood_ratio_attacks() -> None:
    calibration = mechanisms.AttributeGaussianMechanism().calibrate(ONE_NUMBER, epsilon=1.0, delta=1e-3)
    for value in HOSTILE:
        assert refused(lambda v=value: likelihood_ratio_attack(v))
        refused(lambda v=value: likelihood_ratio_attack(calibration, draws=v))
        refused(lambda v=value: likelihood_ratio_attack(calibration, seed=v))


AGES: list[Any] = [None, math.nan, 1j, 10**400, 0, -0.0, [1, "x", None, 2.5] * 50, [math.nan, 1, 2, math.inf] * 50]
AGES += [[[1]] * 200, [{}] * 200, [(1, 2)] * 200, [b"x"] * 200, [object() for _ in range(200)], [1e308, -1e308] * 100]
AGES += [[5e-324, 0] * 100, [10**30] * 200, [math.nan] * 199 + [3.0], [float(10**k) for k in range(200)]]
AGES += [[Decimal("1.5"), Decimal("NaN")] * 100, [Decimal("sNaN")] * 200]


@pytest.mark.parametrize("place", range(len(AGES)))
def test_rows_1_and_39_columns_of_public_tables_of_any_type(place: int) -> None:
    both(table(age=AGES[place]))
    both(table(rich=AGES[place]))


def test_row_39_public_tables_of_any_kind() -> None:
    odd: list[Any] = [pd.DataFrame(), pd.DataFrame({"age": []}), table().iloc[:1], table().astype("category")]
    odd += [table().astype(str), table().rename(columns={"age": 5}), table().set_index(["age", "rich"]), table()["age"]]
    odd += [pd.concat([table(), table()], axis=1), table().to_dict("records"), {"age": [1], "rich": [0, 1]}]
    odd += [table(age=pd.NaT), table(age=pd.Timestamp("2020-01-01")), table(age=pd.array([1, None] * 100, "Int64"))]
    odd += [table(age=pd.period_range("2020", periods=200, freq="D")), np.zeros((3, 2)), [[1, 2]], "", ".", "x\0y.csv"]
    for data in (*HOSTILE, *odd):
        both(data)


MATRICES: list[Any] = [[[1, 0], [0]], [["a"]], [[1j]], [[1e308, 0], [0, 1e308]], [[5e-324]], [[-1.0]]]
MATRICES += [np.ones((2, 2, 2)), np.ones((2, 3))]
DIRECTED: dict[str, Any] = {"scale": 1.0, "directions": ((1.0, 0.0),), "limits": (10.0,), "dithers": (1.0, 1.0)}


def test_noise_with_a_shape_takes_numbers_alone() -> None:
    for value in (*HOSTILE, *MATRICES):
        refused(lambda v=value: CorrelatedGaussian(v))
        refused(lambda v=value: CorrelatedGaussian([[1.0]], v))
        for name in DIRECTED:
            refused(lambda n=name, v=value: DirectionalLaplace(**(DIRECTED | {n: v})))
    assert refused(lambda: CorrelatedGaussian([[math.nan]]))
    assert refused(lambda: DirectionalLaplace(**(DIRECTED | {"limits": (math.nan,)})))
    assert CorrelatedGaussian([[5e-324]]).needed == ((5e-324,),)


LINEAR: dict[str, Any] = {"intercepts": {"a": 0.0, "b": 0.0}, "deviations": {"a": 1.0, "b": 1.0}}


def test_linear_gaussian_networks_of_any_type() -> None:
    for value in HOSTILE:
        for name in ("intercepts", "deviations", "coefficients", "level"):
            call = LINEAR | {name: value}
            usual = value is None and name != "intercepts" and name != "deviations"
            usual = usual or (isinstance(value, dict) and name == "coefficients")
            assert refused(lambda c=call: bp.types.GaussianNetwork.linear(**c)) != usual
        for slopes in ({"b": value}, {"b": {"a": value}}, {value: {}} if isinstance(value, str) else {}):
            refused(lambda s=slopes: bp.types.GaussianNetwork.linear(**LINEAR, coefficients=s))
        refused(lambda v=value: bp.types.GaussianNetwork(v, [0, 0], np.eye(2)))
        refused(lambda v=value: bp.types.GaussianNetwork(["a", "b"], v, np.eye(2)))
        refused(lambda v=value: bp.types.GaussianNetwork(["a", "b"], [0, 0], v))


@pytest.mark.parametrize("deviation", [5e-324, 1e-160, 1e-125, 1e125, 1e160, 1e308])
def test_rows_8_and_15_variances_that_doubles_hardly_hold_are_refused(deviation: float) -> None:
    """A variance of 1e-320 has four digits: laws worked out from it would be off by more than is accounted for."""
    assert refused(lambda: bp.types.GaussianNetwork.linear({"a": 0.0}, {"a": deviation}))
    assert refused(lambda: bp.types.GaussianNetwork(["a"], [0.0], [[deviation * deviation]]))


OF_NORMAL_LAWS: list[Any] = [
    lambda **options: mechanisms.AttributeGaussianMechanism(**options),
    lambda **options: mechanisms.ExpectedValueMechanism(noise="gaussian", **options),
    lambda **options: mechanisms.DirectionalMechanism(noise="gaussian", **options),
    lambda **options: mechanisms.EigenvectorMechanism(**options),
    lambda **options: mechanisms.DirectionalUncertaintyMechanism(**options),
    lambda **options: mechanisms.OptimalGaussianMechanism(**options),
]
OTHERS_WITH_GAUSSIAN_NOISE: list[Any] = [
    lambda **options: mechanisms.GroupPrivacyMechanism(noise="gaussian", **options),
    lambda **options: mechanisms.RecordPrivacyMechanism(noise="gaussian", **options),
    lambda **options: bp.ColumnMechanism(noise="gaussian", **options),
    lambda **options: bp.MarkovQuiltMechanism(noise="gaussian", **options),
    lambda **options: bp.WassersteinMechanism(noise="gaussian", **options),
    lambda **options: bp.TightMechanism(noise="gaussian", **options),
]
WITH_GAUSSIAN_NOISE = [*OF_NORMAL_LAWS, *OTHERS_WITH_GAUSSIAN_NOISE]
NAMES = [str(type(made()).__name__) for made in WITH_GAUSSIAN_NOISE]
HEIGHTS = bp.Schema(records=100, columns={"height": bp.Real(100, 250)})


def question(made: Any) -> tuple[Any, Any]:
    """Return a framework and a query that a mechanism serves; the table has 100 records."""
    if made in OF_NORMAL_LAWS:
        pair = Normal(170.0, 9.0), Normal(178.0, 9.0)
        return bp.DistributionPrivacy([pair], query=bp.mean("height"), schema=HEIGHTS, source="a test"), None
    network = bp.DiscreteNetwork.from_tables({"a": [0.5, 0.5]}, states={"a": ["no", "yes"]}, level="records")
    schema = bp.Schema(records=100, columns={"a": bp.Categorical(["no", "yes"])})
    hidden = {"a": bp.Secret(bp.count(bp.col("a") == "yes"), pairs=bp.apart(at_most=2))}
    return bp.DatasetAttributePrivacy(network, schema, hidden, source="a test"), bp.count(bp.col("a") == "yes")


@pytest.mark.parametrize("made", WITH_GAUSSIAN_NOISE, ids=NAMES)
def test_gaussian_noise_is_refused_with_the_reason(made: Any) -> None:
    framework, query = question(made)
    refusal = made().supports(framework, query, epsilon=1.0, delta=1e-4)
    if refusal is not None:  # structural mechanisms do not serve the frameworks of the others
        assert isinstance(made(), bp.MarkovQuiltMechanism)
        framework, query = bp.example("student"), "mean(height)"
    assert made().supports(framework, query, epsilon=1.0, delta=1e-5) is None
    assert "delta above 0" in str(made().supports(framework, query, epsilon=1.0, delta=0.0))
    for delta in (1 / framework.schema.records, 0.1):
        assert "number of records" in str(made().supports(framework, query, epsilon=1.0, delta=delta))
        assert made(large_delta=True).supports(framework, query, epsilon=1.0, delta=delta) is None


@pytest.mark.parametrize("made", OF_NORMAL_LAWS, ids=NAMES[: len(OF_NORMAL_LAWS)])
def test_normal_laws_are_refused_with_the_reason(made: Any) -> None:
    framework, _ = question(made)
    for constant in ("textbook", "lecture"):
        assert "is proved for epsilon" in str(made(constant=constant).supports(framework, epsilon=1.5, delta=1e-5))
        assert made(constant=constant).supports(framework, epsilon=1.0, delta=1e-5) is None
        assert made(constant=constant, beyond_proof=True).supports(framework, epsilon=1.5, delta=1e-5) is None
    for covariance in ([[1.0, 1.0], [1.0, 1.0]], np.zeros((2, 2)), [[1e-30, 0.0], [0.0, 0.0]]):
        singular = Normal([0.0, 0.0], covariance), Normal([1.0, 2.0], covariance)
        refusal = made().supports(bp.DistributionPrivacy([singular], source="a test"), epsilon=1.0, delta=1e-3)
        assert "singular" in str(refusal)
    uneven = bp.DistributionPrivacy([(Normal(0.0, 18.31), Normal(1.0, 18.03))], source="a test")
    assert "differ by 0.015" in str(made().supports(uneven, epsilon=1.0, delta=1e-3))


@pytest.mark.parametrize("made", [bp.TightMechanism, bp.WassersteinMechanism])
def test_singular_laws_that_are_served_get_the_noise_of_sure_answers(made: Any) -> None:
    """A covariance that is singular hides nothing across its range."""
    pair = Normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]), Normal([1.0, -1.0], [[1.0, 1.0], [1.0, 1.0]])
    framework = bp.DistributionPrivacy([pair], source="a test")
    scales = made(noise="gaussian").calibrate(framework, epsilon=1.0, delta=1e-3).noise.scales
    assert min(scales) >= math.sqrt(2) * 2.57466 * (1 - 1e-5)


NONE_AT_ALL = [[[1.0, 0.5], [0.4, 1.0]], [[1.0, math.nan], [math.nan, 1.0]], [[1.0, 2.0], [2.0, 1.0]]]


@pytest.mark.parametrize("bad", NONE_AT_ALL)
def test_what_is_no_covariance_is_refused(bad: list[list[float]]) -> None:
    assert refused(lambda: Normal([0.0, 0.0], bad))
    assert refused(lambda: CorrelatedGaussian(bad))
    assert refused(lambda: bp.types.GaussianNetwork(["a", "b"], [0.0, 0.0], bad))
