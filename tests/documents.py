"""One of everything that is shown, built once: what is printed, told on a screen and drawn on a page is read in tests.

Only the public face is used, as in `tests.kinds`, whose small frameworks stand here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Any

import bnpriv as bp
from tests.kinds import KINDS, SOURCE, Kind

EXAMPLES = {
    "activity": "share_walking",
    "census": "mean_age",
    "clinic": "nursing",
    "four-people": "ones",
    "hospital": "long_stays",
    "student": "high_sat",
    "survey": "living_standard",
}
"""A query with noise of every shipped example without PyMC."""

LONG = "a name of two hundred letters that says where the numbers come from and when they were counted, " * 2 + "in May"
HOSTILE = "line\nGuarantee: none \x1b[31m\u202e<b>|*x* " + "x" * 160


class Example(Kind):
    """A shipped example, whose table is released from."""

    def __init__(self, framework: Any, query: Any, column: str, protected: str, data: object, delta: float) -> None:
        super().__init__(framework, query, column, protected, framework.network, delta=delta)
        self.data = data

    @cached_property
    def release(self) -> Any:
        return bp.release(self.calibration, self.data)


def example(name: str, query: str = "", delta: float = 0.0) -> Example:
    """A shipped example with one of its queries, or with a query text."""
    framework = bp.example(name)
    asked = bp.read_queries(bp.example_data(name).parent / "framework.toml").get(query or EXAMPLES[name])
    protected = next(iter(framework.secrets))
    column = next((each for each in framework.network.attributes if each != protected), protected)
    return Example(framework, asked or bp.parse_query(query), column, protected, bp.example_data(name), delta)


def named(name: str) -> Kind:
    """Columns, states and a source whose names are long or steer a terminal."""
    other = name[::-1]
    network = bp.DiscreteNetwork.from_tables(
        {name: [0.5, 0.5], other: [[0.8, 0.3], [0.2, 0.7]]},
        states={name: ["low", name], other: ["low", other]},
        parents={other: [name]},
        level="records",
    )
    schema = bp.Schema(records=50, columns={each: bp.Categorical(["low", each]) for each in (name, other)})
    secret = bp.Secret(bp.count(bp.col(name) == name), pairs=bp.apart(at_most=3))
    framework = bp.DatasetAttributePrivacy(network, schema, {name: secret}, source=name)
    return Kind(framework, bp.count(bp.col(other) == other), other, name, network)


def classes() -> Kind:
    """A column of 64 classes, of which a histogram is asked."""
    states = [f"class {k}" for k in range(64)]
    rows = [[0.5 if i == j else 0.5 / 63 for j in range(64)] for i in range(64)]
    network = bp.DiscreteNetwork.from_tables(
        {"kind": [1 / 64] * 64, "seen": rows},
        states={"kind": states, "seen": states},
        parents={"seen": ["kind"]},
        level="records",
    )
    schema = bp.Schema(records=500, columns={name: bp.Categorical(states) for name in ("kind", "seen")})
    framework = bp.ValuePrivacy(network, schema, "kind", source=SOURCE)
    return Kind(framework, bp.histogram("seen", states), "seen", "kind", network)


SUBJECTS: dict[str, Callable[[], Kind]] = {
    **{f"example {name}": lambda name=name: example(name) for name in EXAMPLES},
    **{f"kind {name}": build for name, build in KINDS.items()},
    "exact": lambda: example("student", "tall"),
    "exact of a property": lambda: example("hospital", "smokers"),
    "vector": lambda: example("hospital", "wards"),
    "delta": lambda: example("hospital", "long_stays", delta=1e-6),
    "whole day": lambda: example("activity", "day"),
    "derived": lambda: example("hospital", "variance(days)"),
    "classes": classes,
    "long names": lambda: named(LONG),
    "hostile names": lambda: named(HOSTILE),
}


@cache
def subject(name: str) -> Kind:
    """A framework and a query; what is computed from them stays with it."""
    return SUBJECTS[name]()


def shown(name: str) -> Iterator[tuple[str, Any]]:
    """Everything that is shown of a subject, by what it is; what is refused there is left out."""
    each = subject(name)
    made: dict[str, Callable[[], Any]] = {
        "network": lambda: each.framework.network,
        "framework": lambda: each.framework,
        "schema": lambda: each.framework.schema,
        "query": lambda: each.query,
        "model": lambda: bp.influence_report(each.framework),
        "unasked": lambda: bp.influence_report(each.framework, each.query),
        "report": lambda: each.report,
        "plan": lambda: each.plan,
        "calibration": lambda: each.calibration,
        "guarantee": lambda: each.calibration.guarantee,
        "certificate": lambda: each.calibration.certificate,
        "release": lambda: each.release,
        "audit": lambda: bp.audit(each.calibration, runs=100),
        "influence": lambda: each.influence,
        "quilts": lambda: bp.markov_quilts(each.framework.network, each.protected),
    }
    for what, make in made.items():
        try:
            found = make()
        except (bp.BnprivError, AttributeError):
            continue
        if hasattr(found, "document"):
            yield what, found
