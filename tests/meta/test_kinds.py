"""Nobody asks what kind a network, or what notion a framework is: each brings one object that knows its own ways."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import get_args

import pytest

import bnpriv as bp
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.base import NetworkMethods
from bnpriv.kind import ANY_KIND, ANY_NOTION, NetworkKind, PrivacyNotion, kind_of, loaded, notion_of
from tests.meta.test_rooms import PACKAGE

NETWORKS = frozenset({"DiscreteNetwork", "IntervalNetwork", "GaussianNetwork", "DensityNetwork", "MarkovChain"})
FRAMEWORKS = frozenset(each.__name__ for each in get_args(Framework))
ABOVE = frozenset({"Network", "FiniteNetwork", "NetworkMethods", "Framework", "AttributeFramework", "FrameworkFacts"})
CLASSES = NETWORKS | FRAMEWORKS | ABOVE

OWN = frozenset({"core/networks/discrete.py"})
"""Files outside kinds/ of the kinds themselves, in which a class may look whether another value is like itself."""

OTHERS = frozenset(
    {
        'hasattr(value, "network")',
        'getattr(noise, "dimension", None)',
        'getattr(plain_laws(evidence), "sampling", None)',
        'getattr(posterior, "posterior", None)',
    }
)
"""Looks at what is no network and no framework: noise, laws, draws, and what was passed for a network."""


def members(given: type) -> frozenset[str]:
    """Return the public members of a class, with the fields of its values."""
    names = dir(given)
    fields = [each.name for each in dataclasses.fields(given)] if dataclasses.is_dataclass(given) else []
    return frozenset(name for name in names + fields if not name.startswith("_"))


MEMBERS = {
    **{name: members(getattr(bp.types, name)) for name in NETWORKS},
    **{each.__name__: members(each) for each in get_args(Framework)},
}


def of_some(group: frozenset[str]) -> frozenset[str]:
    """Return the members of some classes of a group only."""
    counted = Counter(chain.from_iterable(MEMBERS[each] for each in group))
    return frozenset(name for name, count in counted.items() if count < len(group))


OF_SOME = of_some(NETWORKS) | of_some(FRAMEWORKS)
"""Members of some kinds or notions only: to look whether a value has one is to ask."""

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
        looked = called == "hasattr" or (called == "getattr" and len(node.args) == 3)
        if looked and isinstance(node.args[1], ast.Constant) and node.args[1].value in OF_SOME:
            itself = isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
            if not itself and ast.unparse(node).replace("'", '"') not in OTHERS:
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


def disguises(source: str) -> list[str]:
    """Return the protocols in a source that `isinstance` can ask about and that some network or framework has."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef):
            continue
        if "runtime_checkable" in chain.from_iterable(map(named, node.decorator_list)):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            fields = {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
            found += [node.name] if any(methods | fields <= had for had in MEMBERS.values()) else []
    return found


def elsewhere() -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of all modules that are not of the kinds and the frameworks themselves."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name not in OWN and not name.startswith("kinds/"):
            yield name, path.read_text(encoding="utf-8")


def test_nobody_asks_what_kind_or_notion_it_is() -> None:
    assert {name: lines for name, source in elsewhere() if (lines := places(source))} == {}


def test_no_protocol_stands_for_a_kind_or_a_notion() -> None:
    assert {name: stand for name, source in elsewhere() if (stand := disguises(source))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "def models_text(self): ...",
        "tables: object",
        "@property\n    def independent(self): ...",
        "pairs: object\n    def fingerprint(self): ...",
    ],
)
def test_a_protocol_in_disguise_is_found(text: str) -> None:
    assert disguises(f"@runtime_checkable\nclass Some(Protocol):\n    {text}") == ["Some"]
    assert disguises(f"class Some(Protocol):\n    {text}") == []
    assert disguises(f"@typing.runtime_checkable\nclass Some(Protocol):\n    def other(self): ...\n    {text}") == []


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
        'getattr(x, "independent", ())',
    ],
)
def test_a_question_is_found(text: str) -> None:
    assert len(places(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(x, Refusal)",
        "def f(x: DiscreteNetwork): pass",
        "MarkovChain(x, 1)",
        'getattr(x, "level", "")',
        'getattr(self, "protect", None)',
    ],
)
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


def test_no_value_changes_what_its_class_is() -> None:
    """A seal and a fingerprint see fields, and not what was set beside them."""
    framework = bp.example("student")
    found = notion_of(framework)
    object.__setattr__(framework, "kind", "bnpriv.kinds.notions:VALUE_NOTION")
    assert notion_of(framework) is found


def test_no_place_outside_the_package_is_imported() -> None:
    class Strange:
        kind = "nothing:here"

    assert (kind_of(Strange()), notion_of(Strange())) == (ANY_KIND, ANY_NOTION)
