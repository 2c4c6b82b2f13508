"""The law of a column given the two secrets that are told apart best: as numbers, in pages and in plots."""

from __future__ import annotations

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.networks.base import ImportReport
from bnpriv.errors import NetworkError
from bnpriv.kinds.graphs import model_class
from bnpriv.render.figures import TwoCurves, two_curves
from tests.later import Later
from tests.unit.views.report.test_density_report import SECRETS, network

stats = Later("scipy.stats")


def gaussian() -> bp.types.Influence:
    linear = bp.types.GaussianNetwork.linear(
        {"income": 40.0, "sat": 880.0}, {"income": 10.0, "sat": 150.0}, {"sat": {"income": 3.0}}
    )
    return bp.max_influence(linear, {"sat"}, "income", bp.apart(at_most=20))


def test_of_a_discrete_network_it_is_the_conditional_law() -> None:
    student = bp.example("student").network
    told = bp.max_influence(student, {"sat"}, "income")
    drawn = told.conditional()
    table = student.probabilities("sat")[0]
    assert told.pair is not None
    for side, law in ((told.pair.first, drawn.first), (told.pair.second, drawn.second)):
        (state,) = side
        np.testing.assert_allclose(law, table[:, student.states["income"].index(state)], rtol=1e-9)
    assert drawn.ticks == student.states["sat"] or list(drawn.ticks) == list(student.states["sat"])


def test_of_a_linear_gaussian_network_it_is_normal() -> None:
    drawn = gaussian().conditional("sat")
    values = np.array(drawn.values)
    np.testing.assert_allclose(drawn.first, stats.norm(880 + 3 * 30, 150).pdf(values), rtol=1e-9)
    np.testing.assert_allclose(drawn.second, stats.norm(880 + 3 * 50, 150).pdf(values), rtol=1e-9)


def test_of_a_network_of_densities_it_is_a_mixture_over_the_secret() -> None:
    drawn = bp.max_influence(network(), {"level"}, "rate", SECRETS["rate"]).conditional()
    values = np.array(drawn.values)
    rates = np.linspace(0.0, 0.3, 2001)
    weights = stats.beta(2, 3).pdf(rates)
    expected = (stats.norm(rates[:, None], 0.5).pdf(values) * weights[:, None]).sum(axis=0) / weights.sum()
    np.testing.assert_allclose(drawn.first, expected, rtol=2e-3)
    assert 0.99 < np.trapezoid(drawn.second, values) <= 1.0001


def test_of_a_finite_parameter_it_is_a_pair_of_bars() -> None:
    drawn = bp.max_influence(network(), {"kind"}, "rate", SECRETS["rate"]).conditional()
    assert drawn.finite
    assert sum(drawn.first) == pytest.approx(1.0, abs=1e-6)
    assert drawn.second[1] > drawn.first[1]


def test_where_nothing_is_told_there_is_nothing_to_draw() -> None:
    student = bp.example("student").network
    refused = bp.max_influence(student, {"gender"}, "income").conditional()
    assert isinstance(refused, bp.errors.Refusal)
    assert "something to compare" in refused.required
    with pytest.raises(bp.errors.RefusedError, match="something to compare"):
        bp.max_influence(student, {"gender"}, "income").plot_secrets()
    with pytest.raises(NetworkError, match="a column"):
        bp.max_influence(student, {"sat"}, "income").conditional("gender")


def test_plots_hold_both_curves() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    told = [
        gaussian(),
        bp.max_influence(bp.example("student").network, {"sat"}, "income"),
        bp.max_influence(network(), {"level"}, "rate", SECRETS["rate"]),
    ]
    for influence in told:
        drawing = influence.plot_secrets()
        labels = [text.get_text() for text in drawing.get_legend().get_texts()]
        assert len(labels) == 2
        assert all(influence.protected in label for label in labels)
        assert len(drawing.lines) + len(drawing.containers) == 2
        pyplot.close(drawing.figure)


def test_names_cannot_break_a_page() -> None:
    drawn = TwoCurves(
        values=[0.0, 1.0],
        first=[0.5, 0.5],
        second=[0.1, 0.9],
        finite=True,
        names=("<b>", "x"),
        title="<script>",
        desc="&",
        labels=["<i>", "y"],
    )
    page = two_curves(drawn, across="<u>")
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<u>" not in page


def test_model_classes_keep_what_drives_the_columns() -> None:
    from dataclasses import replace

    first = replace(bp.example("student").network, reading=ImportReport(columns={"score": ("sat", "income")}))
    second = replace(
        bp.DiscreteNetwork.from_tables(
            {name: first.probabilities(name)[0] * 0.5 + 0.5 / len(first.states[name]) for name in first.attributes},
            states=first.states,
            parents=first.graph.parents,
        ),
        reading=ImportReport(columns={"score": ("income", "sat")}),
    )
    assert model_class([first, second]).reading.columns == {"score": ("sat", "income")}
    with pytest.raises(NetworkError, match="driven by the same attributes"):
        model_class([first, replace(second, reading=ImportReport(columns={"score": ("sat",)}))])
