"""Texts and JSON that users read, kept in files: `python -m tests.golden.update` writes them anew, on purpose only.

For every shipped example without draws the report without a query, and for one of its queries the report, plan, leaks,
tradeoff and release; the plans of all its queries; the same for the kinds of models that no example shows. A refusal is
kept as its sentence. Hashes are left out, and so is a part of JSON that is the same as one before it. Plans do without
the best channel, and show two digits of the least error: what solvers find differs a little from version to version.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import bnpriv as bp
import bnpriv.mechanisms.optimal.mechanism as optimal_module
import bnpriv.mechanisms.plan as plan_module
from bnpriv.mechanisms.proved_limit import Limit, limit_of
from tests import kinds
from tests.kinds import Kind, table

FOLDER = Path(__file__).parent / "reports"
EPSILONS = (0.5, 2.0)
WIDTH = 110
HASH = re.compile(r"\b[0-9a-f]{64}\b")

ASKED = {
    "activity": "day",
    "census": "mean_age",
    "clinic": "nursing",
    "four-people": "ones",
    "hospital": "long_stays",
    "student": "high_sat",
    "survey": "living_standard",
}
"""The query of each example of which everything is kept: one with noise."""

DRAWN = ("admissions", "counties", "schools")
"""Examples whose laws are learned from draws, by PyMC: tests/models holds their numbers."""

UNSHOWN = ("interval", "gaussian", "density", "records", "normal", "laws", "networks")
"""Kinds of models without an example."""


class Halves:
    """A sampler that adds half a scale, a whole one, one and a half, ..."""

    def laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return tuple(value + scale * (k + 1) / 2 for k, value in enumerate(values))

    def gaussian(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return self.laplace(values, scale)

    def discrete_laplace(self, values: Sequence[float], scale: float) -> tuple[float, ...]:
        return tuple(float(round(value)) for value in self.laplace(values, scale))


class Subject:
    """A framework, a query and a table, and the contents of the files about them by name."""

    def __init__(self, framework: Any, query: bp.types.Query, data: object, delta: float = 0.0) -> None:
        self.framework, self.query, self.data, self.delta = framework, query, data, delta
        self.files: dict[str, Callable[[], str]] = {
            "report.txt": lambda: str(self.report),
            "report.json": lambda: self.report.to_json(),
            "report.md": lambda: self.report.to_markdown(),
            "plan.txt": lambda: str(self.plan),
            "plan.json": lambda: self.plan.to_json(),
            "leaks.txt": lambda: bp.leaks(framework, query).text,
            "tradeoff.txt": lambda: bp.tradeoff(framework, query, EPSILONS).text,
            "release.txt": lambda: str(self.release),
            "release.json": lambda: self.release.to_json(),
            "model.txt": lambda: str(self.model),
            "model.json": lambda: self.model.to_json(),
        }

    @cached_property
    def model(self) -> Any:
        return bp.influence_report(self.framework)

    @cached_property
    def report(self) -> Any:
        return bp.influence_report(self.framework, self.query, 1.0, self.delta)

    @cached_property
    def plan(self) -> Any:
        return bp.plan(self.framework, self.query, 1.0, self.delta)

    @cached_property
    def release(self) -> Any:
        return bp.release(self.plan.best, self.data, sampler=Halves())


def example(name: str) -> Subject:
    """Return a shipped example, with the plans of all its queries."""
    framework, data = bp.example(name), bp.example_data(name)
    queries = bp.read_queries(data.parent / "framework.toml")
    subject = Subject(framework, queries[ASKED[name]], data)
    others = [query for query in queries.values() if query is not subject.query]
    if others:
        subject.files["plans.txt"] = lambda: "\n\n".join(f"{q}\n{bp.plan(framework, q, 1.0)}" for q in others)
    return subject


def of_kind(name: str) -> Subject:
    """Return a kind of model that no example shows; a copy of its own, for which nothing was computed elsewhere."""
    kind: Kind = getattr(kinds, name)()
    return Subject(kind.framework, kind.query, table(kind.framework.schema), kind.delta)


def subjects() -> Iterator[tuple[str, Subject]]:
    """Yield what the files are about, by the name of its folder."""
    for name in ASKED:
        yield name, example(name)
    for name in UNSHOWN:
        yield f"kind-{name}", of_kind(name)


def rounded_limit(*question: Any) -> Limit:
    """Return the least error with two digits."""
    found = limit_of(*question)
    return found if found.least is None else replace(found, least=float(f"{found.least:.2g}"))


def content(name: str, write: Callable[[], str]) -> str:
    """Return what a file of that name holds: the text, or the sentence of a refusal."""
    try:
        with (
            mock.patch.object(optimal_module, "MOST_PLANNED_WORK", 0),
            mock.patch.object(plan_module, "limit_of", rounded_limit),
        ):
            text = HASH.sub("(hash)", write())
    except bp.BnprivError as refusal:
        return f"refused: {refusal}\n"
    return (compact(once(json.loads(text), set())) if name.endswith(".json") else text.rstrip()) + "\n"


def once(value: Any, seen: set[str]) -> Any:
    """Return JSON with every large part that stood before replaced by a word."""
    if not isinstance(value, dict | list):
        return value
    whole = json.dumps(value)
    if len(whole) > WIDTH and whole in seen:
        return "(as before)"
    seen.add(whole)
    return {k: once(v, seen) for k, v in value.items()} if isinstance(value, dict) else [once(v, seen) for v in value]


def compact(value: Any, margin: str = "") -> str:
    """Return JSON with every part on one line that fits there."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(line) + len(margin) <= WIDTH:
        return line
    inner = margin + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {compact(part, inner)}" for key, part in value.items()]
        return f"{{\n{inner}" + f",\n{inner}".join(parts) + f"\n{margin}}}"
    return f"[\n{inner}" + f",\n{inner}".join(compact(part, inner) for part in value) + f"\n{margin}]"


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for folder, subject in subjects():
        (FOLDER / folder).mkdir(parents=True)
        for file, write in subject.files.items():
            (FOLDER / folder / file).write_text(content(file, write), encoding="utf-8")
