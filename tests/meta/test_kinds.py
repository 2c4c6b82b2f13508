"""Nobody asks what kind a network, or what notion a framework is: each brings one object that knows its own ways."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import get_args

import pytest

import bnpriv as bp
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.base import NetworkMethods
from bnpriv.kind import ANY_KIND, ANY_NOTION, NetworkKind, PrivacyNotion, kind_of, loaded, notion_of
from tests.meta.test_rooms import PACKAGE

NETWORKS = frozenset({"DiscreteNetwork", "IntervalNetwork", "GaussianNetwork", "DensityNetwork", "MarkovChain"})
FRAMEWORKS = frozenset(each.__name__ for each in get_args(Framework))
CLASSES = NETWORKS | FRAMEWORKS | {"Framework", "FRAMEWORKS"}

OWN: frozenset[str] = frozenset(
    {
        "core/networks/discrete.py",
        "kinds/draws/cache.py",
    }
)
"""Files of the kinds and the frameworks themselves, in which a class may look whether another value is like itself."""

STILL: dict[str, int] = {
    "mechanisms/gaussian/attribute.py": 4,
    "mechanisms/chain.py": 3,
    "views/closer_secrets.py": 1,
    "mechanisms/gaussian/covariance.py": 5,
    "views/curves.py": 1,
    "views/certificate.py": 1,
    "mechanisms/serialize.py": 11,
    "mechanisms/proved_limit.py": 1,
    "core/mechanisms/certificate.py": 3,
    "core/mechanisms/law_decision.py": 1,
    "mechanisms/usefulness.py": 1,
}
"""How many places still ask in a file; this may only shrink."""

OF_ONE_KIND = frozenset({"transition", "covariance", "parameters", "tables", "state_space"})
"""Members that tell a kind: to look whether a value has one is to ask."""

PLACE = re.compile(r"\"(bnpriv\.[\w.]+:\w+)\"")


def named(node: ast.expr | None) -> Iterator[str]:
    """Yield the classes that an expression names: one, several in a tuple or a union, in quotes too."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from named(each)
    elif isinstance(node, ast.BinOp):
        yield from named(node.left)
        yield from named(node.right)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from named(ast.parse(node.value, mode="eval").body)


def asked(node: ast.AST) -> Iterator[str]:
    """Yield the classes that a node of a tree asks about."""
    if isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in {"isinstance", "issubclass"} and len(node.args) == 2:
            yield from named(node.args[1])
        if called == "hasattr" and isinstance(node.args[1], ast.Constant) and node.args[1].value in OF_ONE_KIND:
            yield "Framework"
        if called == "register":
            yield from (name for each in node.args[:1] for name in named(each))
    elif isinstance(node, ast.MatchClass):
        yield from named(node.cls)
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(isinstance(each, ast.Call) and getattr(each.func, "id", "") == "type" for each in sides):
            yield from (name for each in sides for name in named(each))
    elif isinstance(node, ast.FunctionDef):
        registered = any(isinstance(each, ast.Attribute) and each.attr == "register" for each in node.decorator_list)
        if registered and node.args.args:
            yield from named(node.args.args[0].annotation)


def places(source: str) -> list[int]:
    """Return the lines in which a source asks for a kind or a notion."""
    nodes = ast.walk(ast.parse(source))
    return sorted(node.lineno for node in nodes if any(name in CLASSES for name in asked(node)))  # type: ignore[attr-defined]


def test_nobody_asks_what_kind_or_notion_it_is() -> None:
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in OWN and not name.startswith("kinds/"):
            found[name] = len(places(path.read_text(encoding="utf-8")))
    assert {name: count for name, count in found.items() if count > STILL.get(name, 0)} == {}


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, DiscreteNetwork)",
        "isinstance(x, (int, networks.MarkovChain))",
        "isinstance(x, int | ValuePrivacy)",
        "type(x) is GaussianNetwork",
        "match x:\n    case Dataset() | DatasetAttributePrivacy():\n        pass",
        "@f.register\ndef _(x: DensityNetwork, y: int): pass",
        '@f.register\ndef _(x: "DensityNetwork"): pass',
        "f.register(IntervalNetwork, g)",
        'hasattr(x, "transition")',
    ],
)
def test_a_question_is_found(text: str) -> None:
    assert len(places(text)) == 1


@pytest.mark.parametrize("text", ["isinstance(x, Refusal)", "def f(x: DiscreteNetwork): pass", "MarkovChain(x, 1)"])
def test_all_else_is_no_question(text: str) -> None:
    assert places(text) == []


def test_every_place_that_is_named_is_there() -> None:
    found = {place for path in PACKAGE.rglob("*.py") for place in PLACE.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 30
    assert all(loaded(place) is not None for place in found)


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_every_kind_has_an_object_of_its_own(name: str) -> None:
    kind = kind_of(getattr(bp.types, name))
    assert isinstance(kind, NetworkKind)
    assert kind is not ANY_KIND


@pytest.mark.parametrize("notion", get_args(Framework), ids=lambda each: each.__name__)
def test_every_notion_has_an_object_of_its_own(notion: type) -> None:
    assert isinstance(notion_of(notion), PrivacyNotion)
    assert notion_of(notion) is not ANY_NOTION


def test_a_class_without_a_kind_has_the_common_one() -> None:
    assert kind_of(NetworkMethods()) is ANY_KIND
    assert notion_of(object()) is ANY_NOTION
    with pytest.raises(bp.errors.NetworkError, match="must be known for this kind of network; found a NetworkMethods"):
        kind_of(NetworkMethods()).influence(NetworkMethods(), (), "a", ())
    with pytest.raises(AttributeError, match="NetworkKind has no member 'influnce'"):
        NetworkKind(influnce=len)
