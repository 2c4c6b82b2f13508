"""Edges by hand with a stated strength: what is read, what the corners cover, the road from shell and Python."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.cli import main
from bnpriv.core.columns import Binned, Categorical
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.networks.discrete import DiscreteNetwork, require_discrete
from bnpriv.errors import BnprivError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.starter import learn
from bnpriv.io.starter.codebook import node_states, read_codebook
from bnpriv.io.starter.learn import Strengths, stated, strengths_of
from bnpriv.io.starter.started import started

BOOK = """\
[columns.income]
shares = {low = 0.7, high = 0.3}
[columns.score]
type = "integer"
edges = [0, 50, 100]
shares = [0.4, 0.6]
[columns.sex]
categories = ["f", "m"]
shares = {m = 0.45, f = 0.55}
[columns.notes]
"""
CSV_BOOK = """\
column,type,lower,upper,categories,edges,shares
income,,,,low|high,,0.7|0.3
score,integer,,,,0|50|100,0.4|0.6
sex,,,,f|m,,0.55|0.45
notes,,,,,,
"""
RECORDS, APART = 5000, 50


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bnpriv", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        return int(stopped.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [f"{'low' if k % 3 else 'high'},{k * 37 % 101},{'fm'[k % 2]},x" for k in range(RECORDS)]
    (tmp_path / "table.csv").write_text("\n".join(["income,score,sex,notes", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "book.toml").write_text(BOOK, encoding="utf-8")
    return tmp_path


def begun(place: Path, **options: Any) -> DatasetAttributePrivacy:
    chosen = {"protect": "income", "edges": "income -> score", "strength": 2, "codebook": place / "book.toml"}
    return cast(DatasetAttributePrivacy, bp.start(place / "table.csv", records=RECORDS, **{**chosen, **options}))


def scale(framework: DatasetAttributePrivacy, query: bp.types.Query) -> float:
    return bp.TightMechanism().calibrate(framework, query, epsilon=1.0).scale


def test_a_count_needs_what_the_worst_member_needs(place: Path) -> None:
    """By the formula for one count: the odds of a high score twice those of its share, and half of them."""
    up, down = 2 * 0.6 / (2 * 0.6 + 0.4), 0.6 / (0.6 + 2 * 0.4)

    def loss(b: float) -> float:
        both = [(1 - p + p * math.exp(t)) for t in (1 / b, -1 / b) for p in (up, down)]
        return APART * max(abs(math.log(both[0] / both[1])), abs(math.log(both[2] / both[3])))

    found = scale(begun(place), bp.count(bp.col("score") >= 50))
    assert loss(found) <= 1 < loss(found * (1 - 1e-6))
    assert scale(begun(place), bp.count(bp.col("sex") == "f")) == 0


def random_member(
    columns: dict[str, Categorical], shares: dict[str, list[float]], strengths: Strengths, draws: np.random.Generator
) -> DiscreteNetwork:
    """Return a network whose rows have odds within the strengths of those of the shares, often at the ends."""
    tables: dict[str, Any] = dict(shares)
    for (above, below), factor in strengths.items():
        shape = len(shares[below]), len(shares[above])
        far = draws.uniform(0, 1, shape) if draws.integers(2) else draws.integers(0, 2, shape)
        weights = np.array(shares[below])[:, None] * factor**far
        tables[below] = weights / weights.sum(axis=0)
    return DiscreteNetwork.from_tables(
        tables,
        states={name: node_states(column) for name, column in columns.items()},
        parents={below: [above] for above, below in strengths},
        level="records",
    )


@pytest.mark.parametrize(
    ("sizes", "strengths"),
    [
        ({"s": 2, "a": 2, "b": 2}, {("s", "a"): 2.0, ("s", "b"): 3.0}),
        ({"s": 2, "a": 2, "b": 2}, {("s", "a"): 3.0, ("a", "b"): 2.0}),
        ({"s": 2, "a": 3, "b": 2}, {("s", "a"): 2.0}),
        ({"s": 2, "a": 5, "b": 2}, {("s", "a"): 1.5}),
        ({"s": 3, "a": 2, "b": 2}, {("s", "a"): 2.0}),
    ],
)
def test_no_member_needs_more_noise_than_the_corners(sizes: dict[str, int], strengths: Strengths) -> None:
    draws = np.random.default_rng(27)
    columns = {name: Categorical([f"{name}{k}" for k in range(size)]) for name, size in sizes.items()}
    shares = {name: draws.dirichlet(np.full(size, 3.0)).tolist() for name, size in sizes.items()}
    schema = bp.Schema(records=RECORDS, columns=columns)
    secret = {"s": bp.Secret(bp.count(bp.col("s") == "s1"), pairs=bp.apart(at_most=APART))}

    def asked(network: DiscreteNetwork) -> list[float]:
        framework = DatasetAttributePrivacy(network, schema, secret, source="a test")
        return [scale(framework, query) for query in queries]

    a, b = bp.col("a"), bp.col("b")
    both, either = (a == "a1") & (b == "b0"), ((a == "a1") & (b == "b0")) | ((a != "a1") & (b == "b1"))
    queries = [bp.count(a == "a1"), bp.count(b == "b1"), bp.count(both), bp.count(either)]
    queries.append(bp.histogram("a"))
    most = asked(stated(columns, shares, strengths, ["s"]))
    assert most[3] > 0
    for _ in range(15):
        found = asked(random_member(columns, shares, strengths, draws))
        assert all(need <= enough for need, enough in zip(found, most, strict=True))


def test_numbers_in_bins_need_no_more_than_the_corners(place: Path) -> None:
    framework, draws = begun(place), np.random.default_rng(3)
    columns = {name: cast(Categorical, framework.schema[name]) for name in ("income", "score", "sex")}
    shares = {"income": [0.7, 0.3], "score": [0.4, 0.6], "sex": [0.55, 0.45]}
    queries = [bp.mean("score"), bp.count(bp.col("score") > 70), bp.total("score")]
    most = [scale(framework, query) for query in queries]
    for _ in range(10):
        network = random_member(columns, shares, {("income", "score"): 2.0}, draws)
        member = DatasetAttributePrivacy(network, framework.schema, framework.protect, source="a test")
        assert all(scale(member, query) <= enough for query, enough in zip(queries, most, strict=True))


@pytest.mark.parametrize("states", [2, 3, 5])
def test_few_corners_cover_all_that_is_stated(states: int) -> None:
    draws = np.random.default_rng(states)
    shares, factor = draws.dirichlet(np.ones(states)), 2.5
    corners = learn._corners(shares.tolist(), factor, every=False)  # pyright: ignore[reportPrivateUsage]
    for far in product((0, 1), repeat=states):
        row = shares * factor ** np.array(far)
        weights = np.linalg.solve(corners.T, row / row.sum())
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1)


def test_too_many_corners_become_fewer_that_cover_more(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {name: Categorical([f"{name}{k}" for k in range(3)]) for name in "sa"}
    shares = {"s": [0.5, 0.3, 0.2], "a": [0.2, 0.2, 0.6]}
    assert stated(columns, shares, {("s", "a"): 2.0}, ["s"]).models == 6**3
    monkeypatch.setattr(learn, "MOST_STATED_MODELS", 200)
    assert stated(columns, shares, {("s", "a"): 2.0}, ["s"]).models == 3**3
    monkeypatch.setattr(learn, "MOST_STATED_MODELS", 20)
    with pytest.raises(BnprivError, match="at most 20 models"):
        stated(columns, shares, {("s", "a"): 2.0}, ["s"])


def test_a_strength_of_one_says_nothing(place: Path) -> None:
    assert scale(begun(place, strength=1), bp.count(bp.col("score") >= 50)) == 0


def test_both_codebooks_say_the_same(place: Path) -> None:
    (place / "book.csv").write_text(CSV_BOOK, encoding="utf-8")
    assert read_codebook(place / "book.toml") == read_codebook(place / "book.csv")
    assert read_codebook(place / "book.toml")["sex"].shares == (0.55, 0.45)
    score = begun(place, codebook=place / "book.csv").schema["score"]
    assert score == Binned([0, 50, 100], within="whole numbers")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("shares = {no = 0.8}", "at least two"),
        ("shares = {no = 80, yes = 20}", "their sum 1"),
        ("shares = {no = 1.0, yes = 0.0}", "above 0"),
        ('categories = ["no", "maybe"]\nshares = {no = 0.8, yes = 0.2}', "name the categories"),
        ('categories = ["no", "yes"]\nshares = [0.5, 0.3, 0.2]', "3 for 2"),
        ('categories = ["no", "yes"]\nshares = 0.5', "shares must be a list"),
        ('categories = ["no", "yes"]\nshares = ["", 0.2]', "above 0"),
        ('categories = ["no", "yes"]\nshares = [1e308, 1.7e308]', "their sum 1"),
        ("edges = [0, 10, 20]\nshares = [0.5, 0.3, 0.2]", "3 for 2"),
        ('type = "unknown"\ncategories = ["a", "b"]\nshares = [0.5, 0.5]', "2 for 0"),
        ('type = "unknown"\nedges = [0, 1, 2]\nshares = [0.5, 0.5]', "2 for 0"),
        ("edges = [0, 20, 10]\nshares = [0.5, 0.5]", "edges must increase"),
    ],
)
def test_shares_that_lie(place: Path, line: str, words: str) -> None:
    (place / "book.toml").write_text(BOOK.replace("[columns.notes]", f"[columns.notes]\n{line}"), encoding="utf-8")
    with pytest.raises(BnprivError, match=words):
        begun(place)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strength": None}, "found none"),
        ({"strength": 0.5}, r"from 1 \(says nothing\)"),
        ({"strength": math.nan}, r"from 1 \(says nothing\)"),
        ({"edges": "income -> score: much"}, "much'"),
        ({"edges": "income -> scor: 2"}, "scor"),
        ({"edges": "income, score"}, "must read"),
        ({"edges": [("income", "score")]}, "a text or a mapping"),
        ({"edges": {("income", "score", "sex"): 2}}, "income -> score -> sex"),
        *(({"edges": {("income", "score"): own}}, "a factor between odds") for own in (True, math.nan, 10**400, [2])),
        ({"edges": " , "}, "at least one"),
        ({"edges": "income -> notes"}, "notes"),
        ({"edges": "score -> income"}, "income -> score: an odds ratio"),
        ({"edges": "income -> score, sex -> score"}, "at most one edge"),
        ({"edges": "income -> score, sex -> sex"}, "cycle|itself"),
        ({"edges": None}, "needs a network"),
        ({"edges": None, "learn": "table"}, "a strength is that of edges by hand"),
        ({"protect": []}, "columns that are protected"),
        ({"notion": "distributional"}, "columns of one record"),
        ({"codebook": None}, "need shares"),
        ({"network": "given", "source": "a test"}, "given, or stated"),
    ],
)
def test_what_cannot_be_stated(place: Path, options: dict[str, Any], words: str) -> None:
    if "learn" in options:
        options = {**options, "learn": place / "public.csv"}
        (place / "public.csv").write_text("income,score,sex,notes\nlow,1,f,y\nhigh,2,m,z\n" * 3, encoding="utf-8")
    if "network" in options:
        options = {**options, "network": begun(place).network}
    with pytest.raises(BnprivError, match=words):
        begun(place, **options)


def test_strengths_of_edges() -> None:
    names: Sequence[str] = ["a", "b", "c: 2"]
    assert strengths_of("a > b: 3, a -> c: 2", 2, names) == {("a", "b"): 3.0, ("a", "c: 2"): 2.0}
    assert strengths_of("a -> b: 1.5, a -> b: 3", None, names) == {("a", "b"): 3.0}


def test_edges_whatever_columns_are_called(place: Path) -> None:
    odd: Sequence[str] = ["a > b, c: 2", "-> d"]
    assert strengths_of({("a > b, c: 2", "-> d"): None}, 3, odd) == {("a > b, c: 2", "-> d"): 3.0}
    by_text = begun(place, edges="income -> score: 1.5, income -> sex")
    assert begun(place, edges={("income", "score"): 1.5, ("income", "sex"): None}).source == by_text.source
    public = place / "public.csv"
    public.write_text("income,score,sex,notes\n" + "low,1,f,y\nhigh,2,m,z\nlow,2,m,z\n" * 40, encoding="utf-8")
    known = {"codebook": None, "strength": None, "learn": public, "draws": 2}
    found = [begun(place, edges=edges, **known).network for edges in ({("sex", "income"): None}, "sex -> income")]
    assert [each.graph.edges for each in found] == [(("sex", "income"),)] * 2
    np.testing.assert_array_equal(*(each.probabilities("income") for each in found))
    with pytest.raises(BnprivError, match="the table says how strong an edge is"):
        begun(place, edges={("sex", "income"): 2.0}, **known)


def test_what_could_be_learned_of_is_known_without_learning(place: Path) -> None:
    public = place / "public.csv"
    rows = "".join(f"low,1,f,note {k}\nhigh,2,m,remark {k}\n" for k in range(40))
    public.write_text(f"income,score,sex,notes\n{rows}", encoding="utf-8")
    known = started(place / "table.csv", learn=public, draws=0)
    assert (known.network, known.public_records, known.learned_from) == (None, None, 80)
    assert "come once" in known.left_out["notes"]
    by_hand = started(place / "table.csv", codebook=place / "book.toml", edges={}, draws=0)
    assert by_hand.left_out == {"notes": "the codebook has no shares of it"}
    with pytest.raises(BnprivError, match="draws"):
        begun(place, draws=0)


def test_from_the_shell_and_from_python(shell: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    edges = "income -> score: 1.5, income -> sex"
    code, _, told = shell(
        *("init", "table.csv", "--codebook", "book.toml", "--protect", "income", "--records", str(RECORDS)),
        *("--edges", edges, "--strength", "2", "-o", "framework.toml"),
    )
    assert code == 0, told
    text = (place / "framework.toml").read_text(encoding="utf-8")
    assert "somebody's statement" in text
    assert "#   income -> score: 1.5\n#   income -> sex: 2\n" in text
    assert "notes is left out, and no query can read it:\n# the codebook has no shares" in text
    framework, direct = read_framework("framework.toml"), begun(place, edges=edges)
    assert isinstance(framework, DatasetAttributePrivacy)
    assert framework.network.models == 16
    assert framework.source == direct.source
    assert "nothing of it learned" in framework.source
    assert (framework.schema, framework.protect) == (direct.schema, direct.protect)
    for name in framework.network.attributes:
        ours, theirs = (require_discrete(each.network, "a test").probabilities(name) for each in (framework, direct))
        assert ours.tolist() == theirs.tolist()
    assert framework.network.posterior_draws is None
    query = ("--query", "count(score >= 50)")
    code, out, told = shell("plan", "framework.toml", *query, "--epsilon", "1", "--full")
    assert code == 0, told
    assert "nothing of it learned" in " ".join(out.split())
    assert shell("check", "framework.toml", "table.csv")[0] == 0
    code, _, told = shell("release", "framework.toml", "table.csv", *query, "--epsilon", "1", "--json", "release.json")
    assert code == 0, told
    assert shell("verify", "release.json", "--framework", "framework.toml")[0] == 0
    code, _, told = shell("init", "table.csv", "--edges", edges, "--strength", "2")
    assert code == 2
    assert "-o framework.toml" in told


@pytest.mark.parametrize("page", ["README.md", "docs/your-own-table.md"])
def test_the_commands_of_the_pages_run(shell: Any, place: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    text = (Path(__file__).parents[4] / page).read_text(encoding="utf-8")
    book = next(body for body in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "shares" in body)
    command = next(body for body in re.findall(r"```console\n(.*?)```", text, re.DOTALL) if "--strength" in body)
    (place / "book.toml").write_text(book, encoding="utf-8")
    (place / "table.csv").write_text(",".join(read_codebook(place / "book.toml")) + "\n", encoding="utf-8")
    monkeypatch.chdir(place)
    assert shell(*shlex.split(command.replace("\\\n", " "))[1:])[0] == 0
    assert read_framework("framework.toml").network.models > 1
