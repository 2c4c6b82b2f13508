"""Dataset attribute privacy and distribution privacy: what they take, and what they refuse with reason and remedy."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from tests.later import Later

pd = Later("pandas")

MECHANISMS = [bp.TightMechanism(), bp.WassersteinMechanism()]
ILL = bp.count(bp.col("ill") == 1)
COUGH = bp.count(bp.col("cough") == 1)


def network(*, level: str = "records", ill: object = (0.7, 0.3), models: bool = False) -> bp.DiscreteNetwork:
    tables = {"ill": np.array(ill), "cough": np.array([[0.6, 0.4], [0.4, 0.6]])}
    if models:
        tables = {name: np.broadcast_to(table, (2, *table.shape)) for name, table in tables.items() if name != "ill"}
        tables["ill"] = np.array(ill)
    return bp.DiscreteNetwork.from_tables(
        {"ill": tables["ill"], "cough": tables["cough"]},
        states={"ill": ["0", "1"], "cough": ["0", "1"]},
        parents={"cough": ["ill"]},
        level=level,
    )


def schema(records: int = 20, **columns: bp.Integer | bp.Real | bp.Categorical) -> bp.Schema:
    return bp.Schema(records=records, columns={"ill": bp.Integer(0, 1), "cough": bp.Integer(0, 1), **columns})


def dataset(
    secret: bp.Secret | None = None, *, records: int = 20, model: bp.DiscreteNetwork | None = None, **columns
) -> bp.DatasetAttributePrivacy:
    hidden = bp.Secret(ILL) if secret is None else secret
    return bp.DatasetAttributePrivacy(model or network(), schema(records, **columns), {"ill": hidden}, source="a test")


def says(error: bp.BnprivError, *words: str) -> None:
    """Check that an error says what was required and found, and what to do."""
    for part in (error.required, error.found, error.remedy):
        assert part
        assert part in str(error)
    for word in words:
        assert word in str(error), (word, str(error))


# --- declarations --------------------------------------------------------------------------------------------------


def test_the_wrong_level() -> None:
    with pytest.raises(bp.errors.FrameworkError) as caught:
        dataset(model=network(level="parameters"))
    says(caught.value, "level 'records'", "level 'parameters'")
    with pytest.raises(bp.errors.FrameworkError) as caught:
        bp.DistributionPrivacy([(network(level="parameters"), network())], schema=schema(), source="a test")
    says(caught.value, "level 'records'", "level 'parameters'")
    with pytest.raises(bp.errors.FrameworkError) as caught:
        bp.DistributionalAttributePrivacy(network(), schema(), "ill", source="a test")
    says(caught.value, "level 'parameters'")


def test_a_secret_about_another_column() -> None:
    with pytest.raises(bp.errors.SecretError) as caught:
        dataset(bp.Secret(COUGH))
    says(caught.value, "'ill'", "'cough'")


@pytest.mark.parametrize("protect", [{}, None, "ill", ["ill"]])
def test_protect_is_a_mapping(protect) -> None:
    with pytest.raises(bp.errors.SecretError) as caught:
        bp.DatasetAttributePrivacy(network(), schema(), protect, source="a test")
    says(caught.value)


def test_a_secret_that_is_no_secret() -> None:
    with pytest.raises(bp.errors.SecretError) as caught:
        bp.DatasetAttributePrivacy(network(), schema(), {"ill": ILL}, source="a test")
    says(caught.value, "Count")


def test_an_unknown_protected_column() -> None:
    with pytest.raises(bp.errors.SecretError, match="smokes"):
        bp.DatasetAttributePrivacy(network(), schema(), {"smokes": bp.Secret(ILL)}, source="a test")


@pytest.mark.parametrize(
    "query",
    [
        bp.moments(["ill"]),
        bp.stack(ILL, COUGH),
        bp.parse_query("variance(ill)"),
    ],
)
def test_a_secret_is_a_property_of_the_table(query: bp.types.Query) -> None:
    with pytest.raises(bp.errors.SecretError) as caught:
        bp.Secret(query)
    says(caught.value, "the difference of two", "histogram")


@pytest.mark.parametrize("at_most", [0, -1, float("nan"), float("inf"), "3"])
def test_apart_needs_a_positive_number(at_most) -> None:
    with pytest.raises(bp.errors.ParameterError):
        bp.apart(at_most=at_most)


def test_a_source_is_needed() -> None:
    with pytest.raises(bp.errors.FrameworkError):
        bp.DatasetAttributePrivacy(network(), schema(), {"ill": bp.Secret(ILL)}, source="")
    with pytest.raises(bp.errors.FrameworkError):
        bp.DistributionPrivacy([(bp.laws.Atoms([0], [1]), bp.laws.Atoms([1], [1]))], source=" ")


def test_secrets_in_words() -> None:
    assert str(bp.Secret(ILL)) == "count(ill == 1), all pairs of values"
    assert str(bp.Secret(ILL, pairs=bp.apart(at_most=2))) == "count(ill == 1), values at most 2 apart"
    assert "1 against 2" in str(bp.Secret(ILL, pairs=bp.pairs((1, 2))))


def test_fingerprints_tell_frameworks_apart() -> None:
    known = [
        dataset(),
        dataset(records=21),
        dataset(bp.Secret(ILL, pairs=bp.apart(at_most=2))),
        dataset(bp.Secret(ILL, pairs=bp.pairs((1, 2)))),
        dataset(bp.Secret(bp.proportion(bp.col("ill") == 1))),
        dataset(model=network(ill=(0.6, 0.4))),
    ]
    assert len({framework.fingerprint() for framework in known}) == len(known)
    assert dataset().fingerprint() == dataset().fingerprint()


# --- pairs of distributions ----------------------------------------------------------------------------------------

LINE, PLANE = bp.laws.Atoms([0, 1], [0.5, 0.5]), bp.laws.Atoms([[0, 1], [1, 0]], [0.5, 0.5])


@pytest.mark.parametrize(
    ("pairs", "word"),
    [
        ([], "none"),
        ([(LINE, PLANE)], "1 and 2"),
        ([(LINE, LINE), (PLANE, PLANE)], "several dimensions"),
        ([(LINE, bp.laws.Normal([0.0], [[1.0]]))], "Atoms and Normal"),
        ([(LINE, LINE), (network(), network())], "some of each"),
        ([(LINE, "law")], "Atoms and str"),
        ([(network(), network())], "schema"),
    ],
)
def test_pairs_that_do_not_fit(pairs, word: str) -> None:
    with pytest.raises(bp.errors.FrameworkError) as caught:
        bp.DistributionPrivacy(pairs, source="a test")
    says(caught.value, word)


def test_a_distribution_is_one_model() -> None:
    both = network(ill=((0.7, 0.3), (0.6, 0.4)), models=True)
    assert both.models == 2
    with pytest.raises(bp.errors.FrameworkError) as caught:
        bp.DistributionPrivacy([(network(), both)], schema=schema(), source="a test")
    says(caught.value, "number of models 2", "one pair per model")


def test_a_query_needs_a_schema() -> None:
    with pytest.raises(bp.errors.FrameworkError) as caught:
        bp.DistributionPrivacy([(LINE, LINE)], query=ILL, source="a test")
    says(caught.value, "schema")


@pytest.mark.parametrize("masses", [[0.5, 0.4], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]])
def test_laws_that_do_not_sum_to_one(masses) -> None:
    with pytest.raises(bp.BnprivError) as caught:
        bp.laws.Atoms([0, 1], masses)
    says(caught.value)


# --- what the mechanisms refuse ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
class TestRefusals:
    def test_a_column_that_is_no_node(self, mechanism: bp.types.Mechanism) -> None:
        query = bp.total("age")
        refusal = mechanism.supports(dataset(age=bp.Integer(0, 99)), query, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "age", "network")
        framework = bp.DistributionPrivacy(
            [(network(), network())], schema=schema(age=bp.Integer(0, 9)), source="a test"
        )
        refusal = mechanism.supports(framework, query, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "age", "both")

    @pytest.mark.parametrize("query", [bp.total("unknown"), bp.count(bp.col("unknown") == 1)])
    def test_an_unknown_column(self, mechanism: bp.types.Mechanism, query: bp.types.Query) -> None:
        with pytest.raises(bp.BnprivError) as caught:
            mechanism.calibrate(dataset(), query, epsilon=1)
        says(caught.value, "unknown")

    def test_a_column_without_a_law(self, mechanism: bp.types.Mechanism) -> None:
        framework = bp.DistributionalAttributePrivacy(
            network(level="parameters"), schema(), "ill", source="a test", laws={"ill": {"0": 0.2, "1": 0.8}}
        )
        assert mechanism.supports(framework, ILL, epsilon=1) is None
        refusal = mechanism.supports(framework, COUGH, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "cough", "laws")

    def test_a_density_is_no_finite_law(self, mechanism: bp.types.Mechanism) -> None:
        from scipy import stats

        framework = bp.DistributionalAttributePrivacy(
            network(level="parameters"),
            bp.Schema(records=20, columns={"cough": bp.Real(0, 100)}),
            "ill",
            source="a test",
            laws={"cough": {"0": stats.norm(40, 8), "1": stats.norm(60, 8)}},
        )
        refusal = mechanism.supports(framework, bp.total("cough"), epsilon=1)
        assert refusal is not None
        says(refusal.error(), "'cough'", "density")
        assert mechanism.supports(framework, bp.count(bp.col("cough") > 50), epsilon=1) is None

    @pytest.mark.parametrize("value", [21, -1, 2.5, "many"])
    def test_an_impossible_value(self, mechanism: bp.types.Mechanism, value) -> None:
        with pytest.raises(bp.BnprivError) as caught:
            mechanism.calibrate(dataset(bp.Secret(ILL, pairs=bp.pairs((3, value)))), COUGH, epsilon=1)
        says(caught.value, "value")

    def test_an_impossible_value_of_a_total(self, mechanism: bp.types.Mechanism) -> None:
        model = bp.DiscreteNetwork.from_tables(
            {"ill": [0.2, 0.3, 0.5]}, states={"ill": ["1", "2", "4"]}, level="records"
        )
        hidden = bp.Secret(bp.total("ill"), pairs=bp.pairs((4, 3)))
        framework = bp.DatasetAttributePrivacy(
            model, bp.Schema(records=2, columns={"ill": bp.Integer(1, 4)}), {"ill": hidden}, source="a test"
        )
        assert mechanism.supports(framework, ILL, epsilon=1) is None  # 2 + 2 and 1 + 2
        for value in (0, 7, 9, 2.5):
            hidden = bp.Secret(bp.total("ill"), pairs=bp.pairs((4, value)))
            framework = bp.DatasetAttributePrivacy(
                model, bp.Schema(records=2, columns={"ill": bp.Integer(1, 4)}), {"ill": hidden}, source="a test"
            )
            with pytest.raises(bp.BnprivError) as caught:
                mechanism.calibrate(framework, ILL, epsilon=1)
            says(caught.value, "value")

    def test_values_are_those_of_the_table(self, mechanism: bp.types.Mechanism) -> None:
        """A total over a column that starts at 1 is named as it is, not counted from the lower bound."""
        model = bp.DiscreteNetwork.from_tables({"ill": [0.4, 0.6]}, states={"ill": ["1", "2"]}, level="records")
        for value, fits in ((3, True), (6, True), (0, False), (2, False), (7, False)):
            hidden = bp.Secret(bp.total("ill"), pairs=bp.pairs((5, value)))
            framework = bp.DatasetAttributePrivacy(
                model, bp.Schema(records=3, columns={"ill": bp.Integer(1, 2)}), {"ill": hidden}, source="a test"
            )
            if fits:
                assert mechanism.calibrate(framework, bp.total("ill"), epsilon=1).scale > 0
            else:
                with pytest.raises(bp.BnprivError):
                    mechanism.calibrate(framework, bp.total("ill"), epsilon=1)

    def test_at_most_too_small(self, mechanism: bp.types.Mechanism) -> None:
        for hidden in (
            bp.Secret(ILL, pairs=bp.apart(at_most=0.5)),
            bp.Secret(bp.proportion(bp.col("ill") == 1), pairs=bp.apart(at_most=0.01)),
        ):
            with pytest.raises(bp.BnprivError) as caught:
                mechanism.calibrate(dataset(hidden), COUGH, epsilon=1)
            says(caught.value, "apart", "Choose a larger distance")

    @pytest.mark.parametrize("ill", [(1.0, 0.0), (0.0, 1.0)])
    def test_a_secret_with_one_value(self, mechanism: bp.types.Mechanism, ill) -> None:
        refusal = mechanism.supports(dataset(model=network(ill=ill)), COUGH, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "positive probability")

    def test_a_secret_with_one_value_in_one_model_is_dropped_there(self, mechanism: bp.types.Mechanism) -> None:
        both = network(ill=((1.0, 0.0), (0.7, 0.3)), models=True)
        one = network(ill=(0.7, 0.3))
        found = mechanism.calibrate(dataset(model=both), COUGH, epsilon=1)
        assert found.scale == pytest.approx(mechanism.calibrate(dataset(model=one), COUGH, epsilon=1).scale, rel=1e-12)
        assert len(found.certificate.dropped) == 1
        assert "model 0" in found.certificate.dropped[0]

    def test_a_custom_query(self, mechanism: bp.types.Mechanism) -> None:
        query = bp.custom(lambda table: float(table["ill"].sum()), columns=["ill"], sensitivity=1)
        records = bp.DistributionPrivacy([(network(), network())], schema=schema(), source="a test")
        for framework in (dataset(), records):
            refusal = mechanism.supports(framework, query, epsilon=1)
            assert refusal is not None
            says(refusal.error(), "custom query", "ColumnMechanism")

    def test_a_query_for_laws_without_one(self, mechanism: bp.types.Mechanism) -> None:
        refusal = mechanism.supports(bp.DistributionPrivacy([(LINE, LINE)], source="a test"), ILL, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "the framework has none", "query=")
        own = bp.DistributionPrivacy([(LINE, LINE)], query=ILL, schema=schema(), source="a test")
        refusal = mechanism.supports(own, COUGH, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "another query")
        assert mechanism.supports(own, ILL, epsilon=1) is None

    def test_networks_without_a_query(self, mechanism: bp.types.Mechanism) -> None:
        framework = bp.DistributionPrivacy([(network(), network())], schema=schema(), source="a test")
        refusal = mechanism.supports(framework, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "query")

    def test_laws_alone_cannot_be_released(self, mechanism: bp.types.Mechanism) -> None:
        pair = (LINE, bp.laws.Atoms([0, 1], [0.1, 0.9]))
        calibration = mechanism.calibrate(bp.DistributionPrivacy([pair], source="a test"), epsilon=0.5)
        assert calibration.scale > 0
        with pytest.raises(bp.BnprivError) as caught:
            bp.release(calibration, pd.DataFrame({"answer": ["known by its laws alone"]}))
        says(caught.value, "query")

    def test_a_support_beyond_the_limit(self, mechanism: bp.types.Mechanism) -> None:
        """Refused at once with the size, before anything is allocated."""
        model = bp.DiscreteNetwork.from_tables(
            {"ill": [0.2, 0.3, 0.5]}, states={"ill": ["0", "1", "1000"]}, level="records"
        )
        wide = bp.Schema(records=10**6, columns={"ill": bp.Integer(0, 1000)})
        hidden = bp.Secret(bp.total("ill"), pairs=bp.pairs((1, 2)))
        framework = bp.DatasetAttributePrivacy(model, wide, {"ill": hidden}, source="a test")
        refusal = mechanism.supports(framework, bp.total("ill"), epsilon=1)
        assert refusal is not None
        says(refusal.error(), "at most 1.05 million atoms", "500 billion", "1,000,000 records")

    def test_too_many_pairs(self, mechanism: bp.types.Mechanism) -> None:
        model = bp.DiscreteNetwork.from_tables(
            {"ill": [0.2, 0.3, 0.5]}, states={"ill": ["0", "1", "2"]}, level="records"
        )
        framework = bp.DatasetAttributePrivacy(
            model,
            bp.Schema(records=100, columns={"ill": bp.Integer(0, 2)}),
            {"ill": bp.Secret(bp.total("ill"))},
            source="a test",
        )
        refusal = mechanism.supports(framework, bp.total("ill"), epsilon=1)
        assert refusal is not None
        says(refusal.error(), "20,100", "2,000", "apart")

    def test_gaussian_noise_needs_delta(self, mechanism: bp.types.Mechanism) -> None:
        refusal = type(mechanism)(noise="gaussian").supports(dataset(), COUGH, epsilon=1)
        assert refusal is not None
        says(refusal.error(), "delta above 0", "Laplace")
        with pytest.raises(bp.errors.ParameterError):
            type(mechanism)(noise="cauchy")

    def test_a_delta_that_is_too_large(self, mechanism: bp.types.Mechanism) -> None:
        framework = dataset(bp.Secret(ILL, pairs=bp.apart(at_most=1)))
        assert mechanism.supports(framework, COUGH, epsilon=1, delta=0.2) is not None
        assert type(mechanism)(large_delta=True).supports(framework, COUGH, epsilon=1, delta=0.2) is None

    def test_normal_laws(self, mechanism: bp.types.Mechanism) -> None:
        pair = (bp.laws.Normal([0.0], [[1.0]]), bp.laws.Normal([0.5], [[1.0]]))
        assert mechanism.supports(bp.DistributionPrivacy([pair], source="a test"), epsilon=1) is None
        wider = (pair[0], bp.laws.Normal([0.5], [[2.0]]))
        refusal = mechanism.supports(bp.DistributionPrivacy([wider], source="a test"), epsilon=1)
        assert refusal is not None
        says(refusal.error(), "covariance")


# --- sizes that are foreseen, and values that one model alone rules out ---------------------------------------------


def test_too_many_atoms_for_a_gaussian_curve() -> None:
    pair = (bp.laws.Atoms.binomial(20_000, 0.5), bp.laws.Atoms.binomial(20_000, 0.51))
    framework = bp.DistributionPrivacy([pair], source="a test")
    mechanism = bp.TightMechanism(noise="gaussian", large_delta=True)
    assert mechanism.supports(framework, epsilon=0.1, delta=1e-6) is not None


def test_too_large_a_grid_for_the_record_rule() -> None:
    names = [f"c{k}" for k in range(2)]
    rows = np.linspace(1, 2, 20).reshape(10, 2)
    model = bp.DiscreteNetwork.from_tables(
        {"ill": [0.7, 0.3], **dict.fromkeys(names, rows / rows.sum(axis=0))},
        states={"ill": ["0", "1"], **{name: [str(k) for k in range(10)] for name in names}},
        parents={name: ["ill"] for name in names},
        level="records",
    )
    columns = {"ill": bp.Integer(0, 1), **dict.fromkeys(names, bp.Integer(0, 9))}
    framework = bp.DatasetAttributePrivacy(
        model, bp.Schema(records=1000, columns=columns), {"ill": bp.Secret(ILL)}, source="a test"
    )
    query = bp.stack(*(bp.count(bp.col(name) == k) for name in names for k in range(10)))
    assert bp.TightMechanism().supports(framework, query, epsilon=1) is not None


@pytest.mark.parametrize("chosen", [bp.pairs((1, 3)), bp.pairs((frozenset({0, 1}), 4)), bp.apart(at_most=1)])
def test_a_value_that_is_impossible_in_one_model_alone(chosen) -> None:
    both = bp.DiscreteNetwork.from_tables(
        {"ill": np.array([[0.2, 0.3, 0.5], [0.5, 0, 0.5]])}, states={"ill": ["0", "1", "2"]}, level="records"
    )
    framework = bp.DatasetAttributePrivacy(
        both,
        bp.Schema(records=3, columns={"ill": bp.Integer(0, 2)}),
        {"ill": bp.Secret(bp.total("ill"), pairs=chosen)},
        source="a test",
    )
    assert bp.TightMechanism().calibrate(framework, bp.total("ill"), epsilon=1).scale > 0


def test_exact_laws_of_a_count_over_two_thousand_records() -> None:
    framework = dataset(bp.Secret(ILL, pairs=bp.pairs((500, 510))), records=2000)
    assert bp.TightMechanism(noise="gaussian").supports(framework, COUGH, epsilon=1, delta=1e-6) is None


def test_chosen_pairs_of_states_and_of_values_of_a_property_count_both_ways() -> None:
    both = {("0", "1"), ("1", "0")}
    chosen = bp.pairs(("0", "1"))
    parameters = bp.DistributionalAttributePrivacy(
        network(level="parameters"), schema(), {"ill": chosen}, source="a test"
    )
    values = bp.ValuePrivacy(network(), schema(), {"ill": chosen}, source="a test")
    for framework in (parameters, values):
        assert {pair.sides for pair in framework.secrets["ill"]} == both
    hidden = dataset(bp.Secret(ILL, pairs=bp.pairs((3, 5), (3, frozenset({7, 8})))))
    assert {pair.sides for pair in hidden.secrets["ill"]} == {("3", "5"), ("5", "3"), ("3", "{7, 8}"), ("{7, 8}", "3")}
