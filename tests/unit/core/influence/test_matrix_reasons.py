"""A row of the matrix of influences without numbers says why, wherever the matrix is shown."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import bnpriv as bp
import bnpriv.lab.matrix as matrix_module
from tests.later import Later

pd = Later("pandas")
REASON = "a: some pair of secrets of 'a' must have positive probability"


@pytest.fixture(scope="module")
def network() -> bp.types.DiscreteNetwork:
    return bp.DiscreteNetwork.from_tables(
        {"a": [1.0, 0.0], "<b>": [[0.5, 0.5], [0.5, 0.5]]},
        states={"a": ["low", "high"], "<b>": ["low", "high"]},
        parents={"<b>": ["a"]},
    )


def test_the_frame_shows_why_a_row_is_empty(network) -> None:
    frame = bp.influence_matrix(network)
    assert np.isnan(frame.loc["a"]).all()
    assert REASON in repr(frame)
    assert REASON in str(frame)
    assert "&#x27;a&#x27; must have positive probability" in frame._repr_html_()
    assert REASON in repr(pickle.loads(pickle.dumps(frame)))


def test_what_is_made_of_the_frame_is_a_plain_one(network) -> None:
    frame = bp.influence_matrix(network)
    for other in (frame.loc[["<b>"]], frame.round(2), frame.T):
        assert type(other) is pd.DataFrame
        assert REASON not in repr(other)


def test_a_frame_without_empty_rows_prints_as_a_plain_one() -> None:
    frame = bp.influence_matrix(bp.example("student").network)
    assert isinstance(frame, pd.DataFrame)
    assert repr(frame) == repr(pd.DataFrame(frame))


def test_a_notebook_colours_what_tells_much_and_escapes_names(network) -> None:
    pytest.importorskip("jinja2")
    page = bp.influence_matrix(bp.example("student").network)._repr_html_()
    assert page.count("background-color: #ffcb8f") >= 1  # up to three times
    assert "1.792" in page
    assert "<b>" not in bp.influence_matrix(network)._repr_html_().replace("&lt;b&gt;", "")


def test_without_jinja_a_notebook_shows_the_plain_table(monkeypatch) -> None:
    frame = bp.influence_matrix(bp.example("student").network)
    monkeypatch.setattr(matrix_module, "find_spec", lambda name: None)
    assert frame._repr_html_() == pd.DataFrame(frame)._repr_html_()


def test_the_drawn_matrix_names_the_row_of_every_reason(network) -> None:
    matrix = bp.types.InfluenceMatrix.of(network)
    for shown in (str(matrix), matrix.to_markdown().replace("\\", ""), matrix.to_html()):
        assert "some pair of" in shown
    assert REASON in str(matrix)
