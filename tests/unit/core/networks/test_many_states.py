"""A node of every different value is told of: a column of fractions that nobody put into bins."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import bnpriv as bp
from bnpriv.errors import ManyStatesWarning
from tests.later import Later

pd = Later("pandas")


def learned(values: list[Any], **options: Any) -> bp.DiscreteNetwork:
    table = pd.DataFrame({"height": values})
    return bp.DiscreteNetwork.posterior({"height": []}, table, public="made up", draws=2, seed=1, **options)


def test_a_node_of_every_different_value_is_told_of() -> None:
    with pytest.warns(ManyStatesWarning, match=r"'height'.* 100 states.* from 100 records") as told:
        learned([150 + k / 7 for k in range(100)])
    found = told.pop(ManyStatesWarning)
    assert (found.filename, found.message.states, found.message.records) == (__file__, 100, 100)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (list(range(20)) * 5, {}),  # five records for each state
        (list(range(5)), {}),  # few states
        (["a", "b"], {}),
        (list(range(21)), {"states": {"height": list(range(21))}}),  # declared
    ],
)
def test_other_nodes_are_not(values: list[Any], options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned(values, **options)


def test_one_value_more_than_every_fifth_record_is_told_of() -> None:
    with pytest.warns(ManyStatesWarning, match="21 states"):
        learned(list(range(21)) * 4 + [0] * 16)
