"""A new kind of network plugs in at one place: what columns tell; all verbs follow, or say why they cannot."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.core.influence.base import Influence
from bnpriv.core.networks.base import NOTHING_READ, NetworkMethods
from bnpriv.core.networks.graph import Graph
from bnpriv.kind import NetworkKind
from tests.contract.test_verbs_by_kinds import VERBS
from tests.kinds import Kind, refused_or, table
from tests.later import Later

stats = Later("scipy.stats")


# the new kind, in under 60 lines
class GameKind(NetworkKind):
    """What columns tell in a game of whispers; nothing else is known of it."""

    def influence(self, network, columns, protected, pairs) -> Influence:
        border = network.graph.frontier(protected, columns)
        far = [abs(network.players.index(name) - network.players.index(protected)) for name in border]
        values = np.full((1, len(pairs)), sum(4 * network.share**steps for steps in far))
        return Influence(
            columns=frozenset(columns), protected=protected, frontier=border, pairs=tuple(pairs), values=values,
            error=0.0, kind="certified", pair=pairs[0], model=0, network=network, how="certified",
        )  # fmt: skip


@dataclass(frozen=True)
class Whispers(NetworkMethods):
    """A game of whispers: every player hears from the one before, and keeps a share of what was told."""

    players: tuple[str, ...]
    share: float
    kind = GameKind()
    level, models, reading, posterior_draws = "parameters", 1, NOTHING_READ, None
    kind_text = "a game of whispers"

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.players

    @property
    def graph(self) -> Graph:
        return Graph({name: self.players[max(0, k - 1) : k] for k, name in enumerate(self.players)})

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.players, ("quiet", "loud"))

    def identity(self) -> bytes:
        return repr((self.players, self.share)).encode()


# all that it takes

NAMES = ("anna", "ben", "cleo", "dan")
SCHEMA = bp.Schema(records=50, columns={name: bp.Real(0, 1) for name in NAMES})
GAME = bp.DistributionalAttributePrivacy(Whispers(NAMES, 0.5), SCHEMA, "anna", source="a game")


@pytest.fixture(scope="module")
def report() -> bp.types.InfluenceReport:
    return bp.influence_report(GAME, bp.mean("cleo"), 1.5)


def test_a_kind_takes_two_classes_and_sixty_lines() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    made = source[source.index("# the new kind") : source.index("# all that it takes")]
    assert len(made.splitlines()) <= 60
    assert made.count("class ") == made.count("\nclass ") == 2


def test_the_largest_influence_comes_first(report) -> None:
    assert [sorted(told.columns) for told in report.attributes[0].columns] == [["ben"], ["cleo"], ["dan"]]
    assert float(bp.max_influence(GAME.network, {"dan"}, "anna")) == 0.5


def test_a_report_in_every_form(report) -> None:
    assert "a game of whispers" in report.to_html()
    assert report.attributes[0].quilts
    assert report.attributes[0].path == (("anna", "ben"), ("ben", "cleo"))
    assert report.to_dict()["data"]["network"]["kind"] == "a game of whispers"
    assert len(report.to_pandas()) == 3
    assert "ben" in bp.influence_report(GAME.network, protect="anna").text


def test_a_plan_and_a_release(report) -> None:
    assert report.best is not None
    assert report.best.scale == 0.0  # cleo tells one nat, of 1.5
    calibration = bp.plan(GAME, bp.mean("ben"), 1.5).best
    assert calibration.scale == pytest.approx(1 / 1.5)  # ben tells two
    assert np.isfinite(bp.release(calibration, table(SCHEMA)).value)


def test_leaks() -> None:
    assert "anna" in bp.leaks(GAME, bp.mean("cleo")).text


def test_a_slider(report) -> None:
    assert re.search(r'<input[^>]*type="range"', report.to_html())


# every verb, for the new kind under every notion that takes it


@dataclass(frozen=True)
class Rounds(Whispers):
    """The same of single records."""

    level = "records"


@dataclass(frozen=True)
class Loudness(Whispers):
    """The same with numbers for states."""

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        return {}


WORDS = bp.Schema(records=50, columns={name: bp.Categorical(["quiet", "loud"]) for name in NAMES})
LOUD = bp.count(bp.col("cleo") == "loud")
LAWS = {"quiet": stats.uniform(0, 0.5), "loud": stats.uniform(0.5, 0.5)}


@cache
def toy(name: str) -> Kind:
    """Return a kind of the table of verbs over a game."""
    if name == "values":
        network: Any = Rounds(NAMES, 0.5)
        return Kind(bp.ValuePrivacy(network, WORDS, "anna", source="a game"), LOUD, "cleo", "anna", network)
    network = Loudness(NAMES, 0.5) if name == "numbers" else Whispers(NAMES, 0.5)
    protect: Any = {"anna": bp.intervals((0.0, 1.0))} if name == "numbers" else "anna"
    laws = dict.fromkeys(NAMES, LAWS) if name == "with laws" else None
    framework = bp.DistributionalAttributePrivacy(network, SCHEMA, protect, source="a game", laws=laws)
    return Kind(framework, bp.mean("ben"), "ben", "anna", network)


MECHANISMS = [
    getattr(bp.mechanisms, name)(**({"size": 2} if name == "GroupPrivacyMechanism" else {}))
    for name in sorted(bp.mechanisms.__all__)
    if name.endswith("Mechanism") and name != "Mechanism"
]


def session(kind: Kind, folder: Any) -> str:
    """Release, ask what more costs, and share a budget."""
    schema = kind.framework.schema
    with bp.Session(kind.framework, table(schema), 5.0, folder / "ledger.db") as opened:
        opened.release(kind.query, epsilon=0.5)
        return str(opened.what_if(kind.query, epsilon=0.5)) + str(opened.plan([kind.query])) + str(opened.history)


def quilts(kind: Kind) -> Any:
    return bp.MarkovQuiltMechanism().calibrate(kind.framework, kind.query, epsilon=3.0)


def other(kind: Kind) -> Any:
    """Return the framework over a game in which less is kept."""
    field = "model" if isinstance(kind.framework, bp.ValuePrivacy) else "network"
    return replace(kind.framework, **{field: replace(kind.network, share=0.25)})


MORE: dict[str, Callable[[Kind, Any], object]] = {
    "session": session,
    "accountant": lambda kind, _: bp.Accountant(kind.framework).record(quilts(kind)).explain(),
    "accountant with delta": lambda kind, _: bp.Accountant(kind.framework).record(quilts(kind)).epsilon_at(0.01),
    "curve": lambda kind, _: str(kind.calibration.curve()),
    "a factor": lambda kind, _: str(quilts(kind).misspecified(1.1)),
    "rehearse quilts": lambda kind, _: bp.rehearse(quilts(kind), 50),
    "simulate": lambda kind, _: bp.simulate(kind.framework, 20),
    "simulate with a secret": lambda kind, _: bp.simulate(kind.framework, secret={"anna": "loud"}),
    "to_file": lambda kind, folder: kind.framework.to_file(folder / "game.toml"),
    "check_data": lambda kind, _: str(bp.check_data(kind.framework, table(kind.framework.schema))),
    "compare with another": lambda kind, _: bp.compare(kind.framework, other(kind), kind.query).text,
    "to_networkx": lambda kind, _: kind.network.to_networkx(),
    "model_class": lambda kind, _: bp.model_class([kind.network, other(kind).network]),
    "plot_secrets": lambda kind, _: kind.influence.plot_secrets(),
    "verify": lambda kind, _: bp.verify(quilts(kind)).text,
    "a dataset": lambda kind, _: bp.DatasetAttributePrivacy(
        kind.network, kind.framework.schema, {"anna": bp.Secret(LOUD, pairs=bp.apart(at_most=3))}, source="a game"
    ),
    "two distributions": lambda kind, _: bp.DistributionPrivacy(
        [(kind.network, other(kind).network)], schema=kind.framework.schema, source="a game"
    ),
    "tradeoff": lambda kind, _: bp.tradeoff(kind.framework, kind.query, [0.5, 1.0], delta=0.001).text,
    "report with delta": lambda kind, _: bp.influence_report(kind.framework, kind.query, 1.0, 0.001).text,
    **{
        f"{mechanism}": lambda kind, _, mechanism=mechanism: mechanism.calibrate(
            kind.framework, kind.query, epsilon=1.0, delta=0.001
        )
        for mechanism in MECHANISMS
    },
}
"""What the table of verbs has not, or has for the best mechanism alone."""

WRONG = re.compile(r"densit|linear-Gaussian network$|Whispers|Rounds|Loudness|interval for every|level 'records'$")
"""What no refusal may say that it found: other kinds, names of classes, what is no fault."""

TOYS = ("parameters", "with laws", "values", "numbers")
CASES = list(itertools.product(TOYS, (*VERBS, *MORE)))


def refused(name: str, verb: str, folder: Any) -> bp.BnprivError | None:
    """Return why a verb is refused for a toy, None if it works; anything else than a refusal is raised."""
    kind = toy(name)
    try:
        if verb in MORE:
            refused_or(MORE[verb](kind, folder))
        else:
            do, expect = VERBS[verb]
            expect(refused_or(do(kind)))
    except bp.BnprivError as error:
        return error
    return None


@pytest.mark.parametrize(("name", "verb"), CASES, ids=[f"{name}-{verb}" for name, verb in CASES])
def test_every_verb_works_or_says_why_not(name: str, verb: str, tmp_path) -> None:
    error = refused(name, verb, tmp_path)
    if error is None or verb == "verify":  # whose refusals are the names of classes in the stored model
        return
    assert error.required
    assert error.found
    assert error.remedy
    assert not WRONG.search(error.found), str(error)
    if "whose attributes have finitely many states" in error.required:
        assert name == "numbers", str(error)


def test_what_needs_tables_says_so_of_what_has_states_and_no_tables() -> None:
    for do in (MORE["simulate"], MORE["rehearse quilts"]):
        with pytest.raises(bp.BnprivError, match="needs the probability of every state, in tables; found a game of wh"):
            do(toy("parameters"), None)
        with pytest.raises(bp.BnprivError, match="independent draws from tables of their columns; found a game of wh"):
            do(toy("values"), None)
        with pytest.raises(bp.BnprivError, match="whose attributes have finitely many states; found a game of whisp"):
            do(toy("numbers"), None)
    for name in TOYS:
        with pytest.raises(bp.BnprivError, match="each with a probability; found a game of whispers"):
            MORE["a factor"](toy(name), None)


def test_no_module_ends_in_an_error_that_says_nothing() -> None:
    """What a module does not know is told by an error of this package; PyTensor's operations have one of their own."""
    modules = [path for path in Path(bp.__file__).parent.rglob("*.py") if "pymc" not in path.parts]
    assert len(modules) > 100
    assert [path.name for path in modules if "raise NotImplementedError" in path.read_text()] == []
