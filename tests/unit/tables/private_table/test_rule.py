"""Which form a private table has, what it promises, and what is refused before any data are read."""

from __future__ import annotations

import math
from itertools import product

import pytest

import bnpriv as bp
from bnpriv.errors import FrameworkError, ParameterError, Refusal, RefusedError, SecretError
from bnpriv.tables.private_table.counts import CalibratedCount, MoveNoise
from bnpriv.tables.private_table.made_up import RecordLaw
from bnpriv.tables.private_table.rule import (
    ONE_LAW,
    Hidden,
    TableRule,
    chosen_rule,
    classes_of,
    hidden_by,
    rule_of,
    rules_of,
    whole_sizes,
)

YES_NO = bp.Categorical(["no", "yes"])
SCHEMA = bp.Schema(records=10_000, columns={"ill": YES_NO, "smokes": YES_NO})


def network(ill: float = 0.3, smokes: tuple[float, float] = (0.2, 0.6)) -> bp.DiscreteNetwork:
    """Return a network of two columns; `smokes` are the shares of the healthy and of the ill."""
    return bp.DiscreteNetwork.from_tables(
        {"ill": [1 - ill, ill], "smokes": [[1 - share for share in smokes], list(smokes)]},
        states={"ill": ["no", "yes"], "smokes": ["no", "yes"]},
        parents={"smokes": ["ill"]},
        level="records",
    )


def framework(*models: bp.DiscreteNetwork, apart: float = 10, records: int = 10_000) -> bp.DatasetAttributePrivacy:
    """Return a framework that hides how many are ill."""
    from bnpriv.kinds.graphs import model_class

    return bp.DatasetAttributePrivacy(
        models[0] if len(models) == 1 else model_class(models),
        bp.Schema(records=records, columns=SCHEMA.columns),
        {"ill": bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=apart))},
        source="a test",
    )


ILL = bp.Secret('count(ill == "yes")', pairs=bp.apart(at_most=10))


def rule(asked: object, form: str | None, epsilon: float = 1.0, delta: float = 0.0, **given: object) -> TableRule:
    """Return the rule of a table."""
    return chosen_rule(hidden_by(asked, **{"schema": None, "law": None, "shares": None, **given}), form, epsilon, delta)  # type: ignore[arg-type]


def test_without_a_delta_a_table_is_filled_and_with_one_it_is_trimmed() -> None:
    filled = rule(framework(network()), None)
    assert (filled.form, filled.guarantee.delta, filled.guarantee.kind) == ("fill", 0.0, "exact")
    assert filled.noise == MoveNoise(classes=2, scale=math.nextafter(10.0, math.inf)) or filled.noise.mean_moves < 10.1
    trimmed = rule(framework(network()), None, delta=1e-6)
    assert (trimmed.form, trimmed.given_up, trimmed.law) == ("trim", 137, None)
    assert 0 < trimmed.guarantee.delta <= 1e-6
    assert "from one distribution (any distribution at all) and sees" in trimmed.guarantee.sentence


def test_a_secret_by_itself_is_enough_to_trim() -> None:
    alone = rule(ILL, "trim", delta=1e-6, schema=SCHEMA)
    assert alone.given_up == 137
    assert alone.sizes((3000, 7000)) == (2863, 6863)
    assert alone.sizes((100, 9900)) == (0, 9763)


def test_noise_is_never_below_the_scale_that_is_promised() -> None:
    for epsilon, apart in product((0.1, 0.3, 1.0, 3.0), (1, 7, 30)):
        noise = rule(framework(network(), apart=apart), "fill", epsilon).noise
        assert isinstance(noise, MoveNoise)
        assert noise.scale * epsilon >= apart


def test_models_that_differ_in_the_shares_alone_are_filled_for_free() -> None:
    one, three = (rule(framework(*each), "fill") for each in ([network()], [network(0.2), network(0.3), network(0.5)]))
    assert three.noise.mean_moves == pytest.approx(one.noise.mean_moves, rel=1e-6)


def test_models_that_nearly_agree_are_paid_for() -> None:
    near = rule(framework(network(), network(smokes=(0.2, 0.61))), "fill")
    assert isinstance(near.noise, MoveNoise)
    # one record in k may be .61 / .6 times, or .4 / .39 times, as likely
    excess = max(math.log(0.61 / 0.6), math.log(0.39 / 0.4))
    assert near.noise.scale == pytest.approx(10 / (1 - 10 * excess), rel=1e-6)
    assert near.guarantee.kind == "certified"


def test_models_that_differ_much_are_not_filled() -> None:
    far = framework(network(), network(smokes=(0.2, 0.9)))
    found = rules_of(hidden_by(far, None, None, None), 1.0, 1e-6)
    assert isinstance(found["fill"], Refusal)
    assert isinstance(found["trim"], TableRule)
    with pytest.raises(RefusedError, match="trim"):
        rule(far, "fill")


def test_a_little_trim_and_a_little_fill() -> None:
    near = framework(network(), network(smokes=(0.2, 0.61)), apart=50)
    found = rules_of(hidden_by(near, None, None, None), 0.5, 1e-4)
    both = found["fill and trim"]
    assert isinstance(both, TableRule)
    assert both.law is not None
    assert both.guarantee.delta <= 1e-4
    noise = both.noise
    assert isinstance(noise, MoveNoise)
    told = min(noise.passes(both.given_up, 50), both.law.gap * noise.other_places(both.given_up, 50))
    less = min(noise.passes(both.given_up - 1, 50), both.law.gap * noise.other_places(both.given_up - 1, 50))
    assert told <= 1e-4 < less


def test_records_of_a_public_table_are_no_law() -> None:
    import pandas as pd

    from bnpriv.kinds.public_records import PublicRecords

    public = pd.DataFrame({"ill": ["no", "yes", "no", "no"], "smokes": ["no", "yes", "yes", "no"]})
    records = PublicRecords({name: public[name].to_numpy() for name in public}, draws=3, seed=0)
    for law in (public, "public.csv", records):
        with pytest.raises(RefusedError, match="would be told from real ones"):
            rule(ILL, "fill", schema=SCHEMA, law=law)
    declared = framework(network())
    beside = bp.DatasetAttributePrivacy(
        declared.network, declared.schema, declared.protect, source="a test", public_records=records
    )
    with pytest.raises(RefusedError, match="all models must nearly agree"):
        rule(beside, "fill")
    assert rule(beside, "trim", delta=1e-6).given_up == 137


@pytest.mark.parametrize(
    ("given", "form", "delta", "match"),
    [
        ({}, "trim", 0.0, "delta"),
        ({}, "fill", 0.0, "law="),
        ({}, "fill and trim", 1e-6, "law="),
        ({"law": network()}, "fill and trim", 1e-6, "form='fill'"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(given: dict[str, object], form: str, delta: float, match: str) -> None:
    with pytest.raises(RefusedError, match=match):
        rule(ILL, form, delta=delta, schema=SCHEMA, **given)


def test_a_class_that_would_be_empty_is_refused_by_the_model_or_the_number_of_records() -> None:
    hospital = bp.example("hospital")
    with pytest.raises(
        RefusedError, match=r"1,366 records of every class are given up.*about 966.*up to about 70 records apart"
    ):
        rule(hospital, "trim", delta=1e-6)
    with pytest.raises(RefusedError, match=r"200 records in all.*closer, up to about 7 records"):
        rule(ILL, "trim", delta=1e-6, schema=bp.Schema(records=200, columns=SCHEMA.columns))
    with pytest.raises(RefusedError, match=r"found 9 records in all.*are closer; choose"):
        rule(ILL, "trim", delta=1e-6, schema=bp.Schema(records=9, columns=SCHEMA.columns))


def test_small_tables_take_the_least_noise() -> None:
    found = rule(framework(network(), apart=3, records=10), "fill")
    assert isinstance(found.noise, CalibratedCount)
    assert found.noise.mean_moves < 0.6 * 3


def test_several_secrets_need_one_law_for_all_records() -> None:
    both = [ILL, bp.Secret('count(smokes == "yes")', pairs=bp.apart(at_most=4))]
    found = rule(both, "trim", delta=1e-6, schema=SCHEMA)
    assert found.guarantee.models_text == ONE_LAW
    assert len(found.classes) == 4
    assert found.classes.moved == 10
    assert rule({"ill": ILL}, "trim", delta=1e-6, schema=SCHEMA).given_up == 137


def test_two_distributions_that_differ_in_a_share() -> None:
    pair = bp.DistributionPrivacy([(network(0.3), network(0.31))], schema=SCHEMA, source="a test")
    found = rule(pair, None, shares='count(ill == "yes")')
    assert isinstance(found.noise, CalibratedCount)
    assert found.form == "fill"
    single = bp.plan(pair, 'count(ill == "yes")', 1.0).best
    assert found.noise.mean_moves <= single.expected_error * 1.001
    assert "the 2 declared distributions" in found.guarantee.sentence
    other = bp.DistributionPrivacy([(network(0.3), network(0.3, (0.2, 0.7)))], schema=SCHEMA, source="a test")
    with pytest.raises(RefusedError, match="share of one class"):
        rule(other, "fill", shares='count(ill == "yes")')
    with pytest.raises(ParameterError, match="shares="):
        rule(pair, None)
    with pytest.raises(RefusedError, match="form='fill'"):
        rule(pair, "trim", delta=1e-6, shares='count(ill == "yes")')


@pytest.mark.parametrize(
    ("asked", "given", "error"),
    [
        (ILL, {}, ParameterError),
        # its promise would be about models from which nobody knows how far that law is
        (framework(network()), {"law": network(0.5)}, ParameterError),
        (framework(network()), {"schema": SCHEMA}, ParameterError),
        ("ill", {"schema": SCHEMA}, ParameterError),
        ([], {"schema": SCHEMA}, ParameterError),
        (None, {"schema": SCHEMA}, ParameterError),
        (bp.Secret("mean(age)"), {"schema": bp.Schema(records=9, columns={"age": bp.Integer(0, 9)})}, SecretError),
    ],
)
def test_arguments_that_do_not_fit(asked: object, given: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        rule(asked, "trim", delta=1e-6, **given)


def test_numbers_out_of_range() -> None:
    hidden = hidden_by(ILL, SCHEMA, None, None)
    for epsilon, delta, form in (
        (0, 0, None),
        (-1, 0, None),
        (1, 1, None),
        (1, -0.1, None),
        (1, 1e-6, "cut"),
        (math.nan, 0, None),
    ):
        with pytest.raises(ParameterError):
            chosen_rule(hidden, form, epsilon, delta)


def test_jointly_normal_records_are_refused() -> None:
    with pytest.raises(FrameworkError, match="trim"):
        rule(_normal(), "fill")


def _normal() -> bp.DatasetAttributePrivacy:
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    model = LinearGaussianBayesianNetwork([("a", "b")])
    model.add_cpds(LinearGaussianCPD("a", [0], 1), LinearGaussianCPD("b", [0, 1], 1, evidence=["a"]))
    schema = bp.Schema(records=50, columns={"a": bp.Real(-5, 5), "b": bp.Real(-5, 5)})
    hidden = bp.Secret("mean(a)", pairs=bp.apart(at_most=0.1))
    return bp.DatasetAttributePrivacy(bp.from_pgmpy(model, level="records"), schema, {"a": hidden}, source="a test")


def test_sizes_are_whole_and_keep_their_sum() -> None:
    for noisy in product(range(-4, 7), repeat=3):
        if sum(noisy) < 0:
            continue
        sizes = whole_sizes(noisy)
        assert sum(sizes) == sum(noisy)
        assert all(0 <= size <= max(0, number) for size, number in zip(sizes, noisy, strict=True))
    assert whole_sizes([4, 5]) == (4, 5)


def test_forms_are_told_apart_by_name() -> None:
    hidden = hidden_by(framework(network()), None, None, None)
    assert isinstance(rule_of(hidden, "fill", 1.0, 0.0), TableRule)
    assert isinstance(rule_of(hidden, "trim", 1.0, 0.0), Refusal)


def test_of_several_classes_no_record_may_be_made_up_more_often_than_the_noise_hides() -> None:
    """Of two classes a record less in the one is a record more in the other, which pays for twice as much."""
    law = RecordLaw(draw=lambda numbers, sampler: {}, text="a distribution", excess=0.005, shortfall=0.008)
    schema = bp.Schema(records=1_000, columns={"ward": bp.Categorical(["a", "b", "c"])})
    for query, held in (('count(ward == "a")', True), ("histogram(ward)", False)):
        classes = classes_of([bp.Secret(query, pairs=bp.apart(at_most=100))], schema)
        found = rule_of(Hidden(classes=classes, framework=None, law=law, source=""), "fill", 1.0, 0.0)
        assert isinstance(found, TableRule) is held


def test_what_cannot_be_shared_evenly_is_taken_from_the_first() -> None:
    """As it is replayed by `bnpriv verify`."""
    assert whole_sizes((-1, 3, 3)) == (0, 2, 3)
    assert whole_sizes((4, -5, 4, 4)) == (2, 0, 2, 3)
