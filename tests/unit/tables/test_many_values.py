"""Readings and bins beyond the usual sizes: of hundreds of labels or edges every one counts."""

from __future__ import annotations

import pytest

from bnpriv.core.columns import Binned, Categorical
from bnpriv.errors import SchemaError
from bnpriv.tables.readings import categories, keys_of

SIZE = 300


def test_every_label_of_hundreds_is_known() -> None:
    texts, numbers = [f"raw {k}" for k in range(SIZE)], [str(k) for k in range(SIZE)]
    coarse = Categorical(["x", "y"], coarsen={"y": texts})
    assert [keys_of(coarse, str)[text] for text in texts] == ["y"] * SIZE
    assert categories(texts, coarse) == ["y"] * SIZE
    named = Categorical(numbers)
    assert keys_of(named, float) == {float(k): str(k) for k in range(SIZE)}
    assert categories(range(SIZE), named) == numbers
    whole = Categorical(list(range(SIZE)))
    assert keys_of(whole, float) == {float(k): k for k in range(SIZE)}


def test_every_bin_of_hundreds_has_its_numbers() -> None:
    bins = Binned(range(SIZE + 1))
    assert [bins.bin_of(k + 0.5) for k in range(SIZE)] == list(bins.labels)
    for place in (1, 128, 256, SIZE):
        edges = list(map(float, range(SIZE + 1)))
        edges[place] = edges[place - 1]
        with pytest.raises(SchemaError, match="edges must increase"):
            Binned(edges)


def test_a_column_of_too_many_bins_is_refused_by_their_number() -> None:
    assert len(Binned(range(10_001)).labels) == 10_000
    with pytest.raises(SchemaError, match=r"at most 10,000 bins; found 10,001"):
        Binned(range(10_002))
