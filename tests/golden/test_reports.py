"""Reports, plans, leaks, tradeoffs and releases say what they said: words exactly, numbers up to their last digits.

What differs on purpose is written anew with `python -m tests.golden.update`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest

import pytest

from bnpriv.io.examples import examples
from tests.golden.update import ASKED, DRAWN, FOLDER, UNSHOWN, content, example, of_kind

NUMBER = re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+|-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
STRICT = {"rel": 1e-9, "abs": 0.0}
LOOSE = {"kind-density": {"rel": 1e-6, "abs": 1e-11}}
"""A report on quadrature shows differences of almost equal numbers."""


def words_and_numbers(line: str) -> tuple[str, list[float]]:
    """Return a line with every number replaced by a mark and spaces counted once, and the numbers."""
    return " ".join(NUMBER.sub("#", line).split()), [number(each) for each in NUMBER.findall(line)]


def number(text: str) -> float:
    return float.fromhex(text) if "0x" in text else float(text.replace(",", ""))


def differences(stored: str, found: str, tolerance: Mapping[str, float] = STRICT) -> list[str]:
    """Return the pairs of lines that differ by more than rounding."""
    lines = zip_longest(stored.splitlines(), found.splitlines(), fillvalue="(no line)")
    return [f"- {old}\n+ {new}" for old, new in lines if not alike(old, new, tolerance)]


def alike(old: str, new: str, tolerance: Mapping[str, float]) -> bool:
    if old == new:
        return True
    (words, numbers), (other_words, others) = words_and_numbers(old), words_and_numbers(new)
    return words == other_words and numbers == pytest.approx(others, **tolerance)


@pytest.mark.parametrize("name", [*ASKED, *(f"kind-{kind}" for kind in UNSHOWN)])
def test_what_is_said(name: str) -> None:
    subject = of_kind(name.removeprefix("kind-")) if name.startswith("kind-") else example(name)
    assert {path.name for path in (FOLDER / name).iterdir()} == set(subject.files)
    found = list[str]()
    for file, write in subject.files.items():
        stored = (FOLDER / name / file).read_text(encoding="utf-8")
        changed = differences(stored, content(file, write), LOOSE.get(name, STRICT))
        found += [f"{name}/{file}", *changed[:5], f"({len(changed)} lines differ)"] if changed else []
    assert not found, "\n".join(["write it anew if this is meant: python -m tests.golden.update", *found])


def test_every_example_is_kept() -> None:
    assert {*ASKED, *DRAWN} == set(examples())
    assert {path.name for path in FOLDER.iterdir()} == {*ASKED, *(f"kind-{kind}" for kind in UNSHOWN)}


@pytest.mark.parametrize(
    ("stored", "found", "same"),
    [
        ("noise 1,465.5 of  sat", "noise 1465.5000000000002 of sat", True),
        ("noise 1,465.5 of sat", "noise 1465.6 of sat", False),
        ("noise 3 of sat", "error 3 of sat", False),
        ("0x1.8000000000000p+3", "0x1.8000000000001p+3", True),
        ("0x1.8000000000000p+3", "0x1.8001000000000p+3", False),
        ("-1 to 2e-9", "1 to 2e-9", False),
        ("tiny 4.7e-94", "tiny 4.8e-94", False),
        ("one\ntwo", "one", False),
    ],
)
def test_what_counts_as_different(stored: str, found: str, same: bool) -> None:
    assert (not differences(stored, found)) is same
