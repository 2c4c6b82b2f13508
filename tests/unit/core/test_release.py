"""Release: what is refused before data are touched, what is printed, and that post-processing keeps its promises."""

from __future__ import annotations

import functools
import json
import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

import bnpriv as bp
from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.frameworks.attributes import DistributionalAttributePrivacy
from bnpriv.core.mechanisms.column import ColumnMechanism
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.noise import Gaussian, Laplace, Noise, NoNoise
from bnpriv.core.queries.asked import count, mean, stack, total
from bnpriv.core.queries.base import Query
from bnpriv.core.queries.builtin import custom
from bnpriv.core.queries.predicates import col
from bnpriv.core.release import Release, release
from bnpriv.core.schema import Schema
from bnpriv.errors import DataError, QueryError, RefusedError
from tests.later import Later

pl = Later("polars")

SCHEMA = Schema(
    records=4,
    columns={"height": Real(120, 220), "age": Integer(0, 120, missing=7), "gender": Categorical(["f", "m"])},
)
TALL = count(col("height") > 165)


@functools.cache
def data() -> pl.DataFrame:
    return pl.DataFrame(
        {"height": [150.0, None, 190.0, 1e9], "age": [1, 2, None, 500], "gender": ["f", "m", None, "?"]}
    )


@dataclass(frozen=True)
class Framework:
    schema: Schema = SCHEMA
    public_records: None = None


@dataclass(frozen=True)
class Guarantee:
    sentence: str = "Nobody learns the secret."


@dataclass(frozen=True)
class Certificate:
    zero_noise_reason: str | None = None


@dataclass(frozen=True)
class Useful:
    """Stands in for the verdict on an answer."""

    verdict: str = "sharp"
    useless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """Stands in for the calibration of a mechanism: exactly what a release reads of it."""

    query: Query
    noise: Noise
    certificate: Certificate = field(default_factory=Certificate)
    framework: Framework = field(default_factory=Framework)
    guarantee: Guarantee = field(default_factory=Guarantee)
    useful: Useful = field(default_factory=Useful)

    def changed(self) -> bool:
        return False

    def to_dict(self) -> dict[str, object]:
        return {"query": str(self.query)}


def printed(released: Release) -> str:
    """Return the whole that a release says, its noise and query in the calibration of a real mechanism."""
    network = DiscreteNetwork.from_tables({"gender": [0.5, 0.5]}, states={"gender": ["few", "many"]})
    framework = DistributionalAttributePrivacy(
        network, SCHEMA, "gender", source="invented", independent=["height", "age"]
    )
    stub = released.calibration
    made = ColumnMechanism().calibrate(framework, TALL, epsilon=1.0)
    return replace(released, calibration=replace(made, query=stub.query, noise=stub.noise)).text


@dataclass(frozen=True)
class Shift:
    """Adds a fixed error, and remembers what it was given."""

    error: float = 0.0
    seen: list[tuple[float, ...]] = field(default_factory=list)

    def laplace(self, values, scale):
        self.seen.append(tuple(values))
        return tuple(value + self.error for value in values)

    gaussian = laplace


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError("the data were touched")


EXACT = Calibration(TALL, NoNoise(), Certificate("no queried column tells about the secret"))


def test_the_exact_answer_goes_to_the_sampler_as_the_nearest_double():
    sampler = Shift(0.25)
    released = release(Calibration(mean("height"), Laplace(1.0)), data(), sampler=sampler)
    grid = Fraction(100, 2**20)
    steps = sum(SCHEMA["height"].step(value) for value in (150.0, 170.0, 190.0, 220.0))
    assert sampler.seen == [(float(120 + grid * steps / 4),)]
    assert released.value == sampler.seen[0][0] + 0.25


def test_one_number_or_several():
    one = release(Calibration(TALL, Laplace(1.0)), data(), sampler=Shift(0.5))
    assert one.value == 3.5
    both = release(Calibration(stack(TALL, total("age")), Laplace(1.0, 2)), data(), sampler=Shift(-1.0))
    assert both.value == (2.0, 1 + 2 + 7 + 120 - 1)
    assert both.labels == ("count(height > 165)", "total(age)")


def test_noise_of_a_release_is_fresh_by_default():
    calibration = Calibration(TALL, Gaussian(1.0))
    assert release(calibration, data()).value != release(calibration, data()).value


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_zero_noise_needs_a_reason(reason):
    with pytest.raises(RefusedError, match="certificate"):
        release(Calibration(TALL, NoNoise(), Certificate(reason)), Untouchable())


def test_zero_noise_with_a_reason_gives_the_exact_answer():
    released = release(EXACT, data())
    assert released.value == 3.0
    assert released.interval() == (3.0, 3.0)
    assert released.rounded().interval() == (3.0, 3.0)
    assert "count(height > 165) = 3 (no noise)" in printed(released)


def test_noise_for_another_number_of_outputs_is_refused_before_data_are_touched():
    with pytest.raises(RefusedError, match="2 numbers"):
        release(Calibration(stack(TALL, TALL), Laplace(1.0)), Untouchable())


def test_a_refuted_sensitivity_is_refused_before_data_are_touched():
    query = custom(lambda table: table["age"].sum(), columns=["age"], sensitivity=1.0)
    with pytest.raises(QueryError, match="declared"):
        release(Calibration(query, Laplace(1.0)), Untouchable())


def test_a_custom_query_is_released():
    query = custom(lambda table: table["age"].max(), columns=["age"], sensitivity=120.0, name="oldest")
    released = release(Calibration(query, Laplace(1.0)), data(), sampler=Shift(0.5))
    assert released.value == 120.5
    assert released.labels == ("custom(oldest)",)
    with pytest.raises(QueryError, match="whole number"):
        released.rounded()


def test_data_errors_come_through_and_nothing_is_drawn():
    sampler = Shift()
    with pytest.raises(DataError):
        release(Calibration(TALL, Laplace(1.0)), data().head(3), sampler=sampler)
    assert not sampler.seen


def test_intervals_are_simultaneous():
    calibration = Calibration(stack(TALL, total("age")), Laplace(2.0, 2))
    released = release(calibration, data(), sampler=Shift(0.0))
    reach = calibration.noise.quantile(0.9)
    for (low, high), value in zip(released.interval(0.9), released.value, strict=True):
        assert low == pytest.approx(value - reach, rel=1e-12)
        assert high == pytest.approx(value + reach, rel=1e-12)
        assert low < value - reach < value + reach < high
    assert released.interval(0.99)[0][0] < released.interval(0.9)[0][0]


@pytest.mark.parametrize("error", [-3.7, -0.5, 0.0, 0.49, 0.5, 2.2, 5.9, 40.0, -40.0])
def test_post_processing_keeps_the_exact_answer_inside(error):
    # noise just as large as the interval allows: every version must still hold the exact answer, 3
    level = 0.8
    scale = max(abs(error), 1e-3) / Laplace(1.0).quantile(level) * (1 + 1e-12)
    released = release(Calibration(TALL, Laplace(scale)), data(), sampler=Shift(error))
    versions = [released, released.clamped(), released.rounded(), released.rounded().clamped()]
    for version in [*versions, released.clamped().rounded(), released.rounded().rounded()]:
        low, high = version.interval(level)
        assert low <= 3 <= high
        assert low <= version.value <= high
    assert 0 <= released.clamped().value <= 4
    assert released.rounded().value == round(3 + error)
    assert released.value == 3 + error


def test_only_whole_numbered_answers_are_rounded():
    query = stack(TALL, mean("height"), total("age"), total("height"))
    released = release(Calibration(query, Laplace(1.0, 4)), data(), sampler=Shift(0.3))
    rounded = released.rounded()
    assert rounded.values[0] == 3.0
    assert rounded.values[2] == 130.0
    assert rounded.values[1] == released.values[1]
    assert rounded.values[3] == released.values[3]
    assert rounded.margins == (0.5, 0.0, 0.5, 0.0)
    with pytest.raises(QueryError):
        release(Calibration(mean("height"), Laplace(1.0)), data()).rounded()


def test_clamping_uses_the_range_of_the_query():
    for error, clamped in ((1e6, 220.0), (-1e6, 120.0), (0.0, None)):
        released = release(Calibration(mean("height"), Laplace(1.0)), data(), sampler=Shift(error))
        assert released.clamped().value == (clamped or released.value)
        assert released.clamped().margins == released.margins


def test_what_is_printed():
    query = stack(count((col("height") > 165) & (col("gender") == "f")), total("age"))
    text = printed(release(Calibration(query, Laplace(0.01, 2)), data(), sampler=Shift(0.0)))
    assert re.search(
        r'^count\(\(height > 165\) & \(gender == "f"\)\) +2\.00[0-9]* +1\.9[0-9]* and 2\.[0-9]+$', text, re.MULTILINE
    )
    assert "at once" in text
    assert "the odds between the two secrets of a protected pair move by at most 2.72 times" in text
    assert "height: a missing value counts as 170, one outside 120 to 220 as the nearest bound" in text
    assert "age: a missing value counts as 7" in text
    assert "gender: a missing or undeclared category counts as 'f'" in text


@pytest.mark.parametrize("scale", [1e-9, 0.3, 7.0, 1e6, 1e300])
@pytest.mark.parametrize("error", [0.0, -0.2, 1e20])
def test_numbers_of_any_size_can_be_printed(scale, error):
    released = release(Calibration(TALL, Laplace(scale)), data(), sampler=Shift(error))
    assert "\ncount(height > 165) = " in printed(released)


def test_the_repr_holds_released_values_only():
    released = release(Calibration(TALL, Laplace(1.0)), data(), sampler=Shift(0.5))
    assert repr(released) == "Release(count(height > 165) = 3.5)"


def test_json():
    released = release(Calibration(stack(TALL, total("age")), Laplace(1.0, 2)), data(), sampler=Shift(0.5))
    facts = json.loads(released.to_json())
    assert facts["format"] == "bnpriv release 1"
    assert [number["value"] for number in facts["release"]] == [3.5, 130.5]
    assert [tuple(number["interval_95"]) for number in facts["release"]] == list(released.interval())
    assert facts["calibration"] == {"query": str(released.calibration.query)}
    assert "missing" in facts["missing_rule"]


@pytest.mark.unhurried
def test_simultaneous_intervals_hold_as_often_as_they_say():
    calibration = Calibration(stack(*[TALL] * 50), Laplace(1.0, 50))
    inside = 0
    for _ in range(200):
        low_high = release(calibration, data()).interval(0.9)
        inside += all(low <= 3 <= high for low, high in low_high)
    # 6 standard deviations of a binomial variable
    assert abs(inside - 180) <= 6 * math.sqrt(200 * 0.9 * 0.1)


def test_numbers_in_different_units_are_drawn_to_scales_of_their_own():
    """A total in the millions left of a mean beside it no more than a stroke."""
    query = bp.stack("mean(height)", "total(height)")
    calibration = bp.ColumnMechanism().calibrate(bp.example("student"), query, epsilon=100.0)
    released = bp.release(calibration, bp.example_data("student"))
    drawings = [str(row[2].drawing) for row in released.document.answer[0].rows]
    assert all('x="0" y="5" width="1000" height="36" class="span"' in drawing for drawing in drawings)
    assert "range 1,200,000 to 2,200,000" in drawings[1]


def test_a_number_beside_its_interval_is_said_to_be_so() -> None:
    calibration = ColumnMechanism().calibrate(bp.example("student"), count(col("height") > 180), epsilon=1.0)
    released = release(calibration, bp.example_data("student"))
    beside, inside = (str(replace(released, base=(value,))) for value in (-5000.0, 1000.0))
    assert "Noise is not cut" in beside
    assert "Noise is not cut" not in inside
