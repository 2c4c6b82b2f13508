"""A new kind of network plugs in at one place: what columns tell; reports, plans, releases and sliders follow."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import Refusal
from bnpriv.influence.base import Influence, influence_of
from bnpriv.networks.base import NetworkMethods
from bnpriv.networks.graph import Graph
from bnpriv.networks.reading import NOTHING_READ
from tests.kinds import table


# the new kind, in under 60 lines
@dataclass(frozen=True)
class Whispers(NetworkMethods):
    """A game of whispers: every player hears from the one before, and keeps a share of what was told."""

    players: tuple[str, ...]
    share: float
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


class Heard:
    """Nothing but the largest influence is known of a game."""

    mu = None
    unknown = Refusal(required="the law of what is told", found="its largest value alone", remedy="Use delta 0.")

    def losses(self, influence: Influence) -> Refusal:
        return self.unknown

    def explain(self, influence: Influence) -> str:
        return f"{influence.protected} is whispered on, {float(influence):.3g} nats of it."

    def conditional(self, influence: Influence, column: str) -> Refusal:
        return self.unknown


@influence_of.register
def _(network: Whispers, columns, protected, pairs) -> Influence:
    border = network.graph.frontier(protected, columns)
    far = [abs(network.players.index(name) - network.players.index(protected)) for name in border]
    values = np.full((1, len(pairs)), sum(4 * network.share**steps for steps in far))
    return Influence(
        columns=frozenset(columns), protected=protected, frontier=border, pairs=tuple(pairs), values=values, error=0.0,
        kind="certified", pair=pairs[0], model=0, network=network, details=Heard(), how="certified",
    )  # fmt: skip


NAMES = ("anna", "ben", "cleo", "dan")
SCHEMA = bp.Schema(records=50, columns={name: bp.Real(0, 1) for name in NAMES})
GAME = bp.DistributionalAttributePrivacy(Whispers(NAMES, 0.5), SCHEMA, "anna", source="a game")


@pytest.fixture(scope="module")
def report() -> bp.types.InfluenceReport:
    return bp.influence_report(GAME, bp.mean("cleo"), 1.5)


def test_the_largest_influence_comes_first(report) -> None:
    assert [sorted(told.columns) for told in report.attributes[0].columns] == [["ben"], ["cleo"], ["dan"]]
    assert float(bp.max_influence(GAME.network, {"dan"}, "anna")) == 0.5


def test_a_report_in_every_form(report) -> None:
    assert "a game of whispers" in report.to_html()
    assert report.attributes[0].quilts
    assert report.attributes[0].path == (("anna", "ben"), ("ben", "cleo"))
    assert report.to_dict()["data"]["network"]["kind"] == "a game of whispers"
    assert len(report.to_pandas()) == 3
    assert "ben" in str(bp.influence_report(GAME.network, protect="anna"))


def test_a_plan_and_a_release(report) -> None:
    assert report.best is not None
    assert report.best.scale == 0.0  # cleo tells one nat, of 1.5
    calibration = bp.plan(GAME, bp.mean("ben"), 1.5).best
    assert calibration.scale == pytest.approx(1 / 1.5)  # ben tells two
    assert np.isfinite(bp.release(calibration, table(SCHEMA)).value)


def test_leaks() -> None:
    assert "anna" in str(bp.leaks(GAME, bp.mean("cleo")))


def test_a_slider(report) -> None:
    assert re.search(r'<input[^>]*type="range"', report.to_html())
