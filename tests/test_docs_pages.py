"""Pages of the documentation: links that lead somewhere, and a table that knows every mechanism."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import first_picture
import private_table_picture
import pytest
import site_sources
import what_adds_up_picture

import bnpriv as bp

ROOT = Path(__file__).parents[1]
COPIES = {ROOT / "docs" / target for target in site_sources.copies().values()} - {ROOT / "docs" / "index.md"}
PAGES = sorted(
    {ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("models/*/*.md")} - COPIES
)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
CHOOSING = (ROOT / "docs" / "choosing-a-mechanism.md").read_text(encoding="utf-8")
BY_HAND = {
    "EigenvectorMechanism",
    "ExpectedValueMechanism",
    "GroupPrivacyMechanism",
    "QuantizationMechanism",
    "RecordPrivacyMechanism",
}
"""What `plan` does not try by itself, as the page says."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = [found for found in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in found]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_formulas_in_lists_are_indented() -> None:
    broken = re.compile(r"\n\$\$\n[^$]*\n\$\$\n\n? {2,4}\S")  # the list would end before them
    assert [page.name for page in PAGES if broken.search(page.read_text(encoding="utf-8"))] == []


def test_every_mechanism_has_a_row() -> None:
    rows = set(re.findall(r"^\| `(\w+Mechanism)`", CHOOSING, re.MULTILINE))
    assert rows == {name for name in bp.mechanisms.__all__ if name.endswith("Mechanism")} - {"Mechanism"}
    tried = {type(mechanism).__name__ for mechanism in bp.mechanisms.STANDARD}
    assert rows - tried == BY_HAND


def test_every_framework_has_a_row() -> None:
    rows = set(re.findall(r"^\| [^|`]+ \| `(\w+)` \|", CHOOSING, re.MULTILINE))
    assert rows == {name for name in bp.__all__ if name.endswith("Privacy")}


def test_the_page_on_pymc_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pymc")
    text = (ROOT / "docs" / "pymc.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for body in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(body, "docs/pymc.md", "exec"), namespace)
    assert "How sure that is" in str(namespace["page"])
    assert "An estimate" in namespace["plan"].text
    assert (tmp_path / "draws.npz").exists()


def test_the_page_on_engines_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    for body in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(body, "docs/engines.md", "exec"), namespace)
    assert str(namespace["from_file"]) == str(namespace["from_relation"])
    assert "do not add up" in namespace["tall"].text
    assert len(namespace["everything"].values) == 3


def run(name: str) -> dict[str, Any]:
    """Run all Python of a page, from the top to the end, and return its names."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "page"}
    for body in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(body, f"docs/{name}", "exec"), namespace)
    return namespace


def test_the_page_on_private_tables_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("private-tables.md")
    kept = found["kept"]
    assert (found["session"].spent, found["made"].table.name) == (1.0, "private.parquet")
    assert kept.spent_records.epsilon == pytest.approx(1.52)
    assert "1.52" in (ROOT / "docs" / "private-tables.md").read_text(encoding="utf-8")


def test_the_pages_on_other_libraries_and_many_models_run() -> None:
    assert "can be released" in run("importing.md")["plan"].text
    assert len(run("many-models.md")["experts"].parts) == 2


@pytest.mark.parametrize(("name", "wide"), [("first.svg", True), ("first-narrow.svg", False)])
def test_the_first_picture_is_what_its_program_draws(name: str, wide: bool) -> None:
    drawn = first_picture.picture(wide=wide)
    assert (first_picture.IMAGES / name).read_text(encoding="utf-8") == drawn
    # what it says of epsilon 1: rounded up
    assert f"{math.e:.2f} times as likely" in drawn
    assert f"{math.ceil(1000 / (1 + math.exp(-1))) / 10}&#160;% of the time" in drawn


def test_the_picture_of_a_private_table_is_of_what_was_measured() -> None:
    found = private_table_picture.errors()
    assert len(found) == len(private_table_picture.NAMES) == 12
    assert private_table_picture.PICTURE.read_text(encoding="utf-8") == private_table_picture.picture(found)
    # what the picture says: like one release alone, and far from all of them as one
    filled, alone, stacked = zip(*found, strict=True)
    assert sum(own <= 1.2 * other for own, other in zip(filled, alone, strict=True)) >= 10
    assert all(3 * own < other for own, other in zip(filled, stacked, strict=True))


def test_the_picture_of_what_adds_up_is_what_its_program_draws() -> None:
    found = what_adds_up_picture.laws()
    assert found.sum(axis=1) == pytest.approx([1, 1])
    # as the network says: 4 and 70 % have an inhaler
    assert found[:, [1, 3]].sum(axis=1) == pytest.approx([0.04, 0.7])
    assert what_adds_up_picture.PICTURE.read_text(encoding="utf-8") == what_adds_up_picture.picture(found)


def test_the_page_on_what_adds_up_runs() -> None:
    found = run("what-adds-up.md")
    assert found["first"].scale == found["second"].scale == 0
    assert found["one"].epsilon < 1e-9
    assert found["both"].epsilon == math.inf


def test_a_newcomer_gets_many_useful_answers() -> None:
    printed = (ROOT / "docs" / "benchmarks" / "useful_answers.txt").read_text(encoding="utf-8")
    rows = re.findall(r"^useful, of 30 +(\d+) +(\d+) +(\d+)$", printed, re.MULTILINE)
    assert len(rows) == 3
    for one_by_one, _, table in rows:
        assert int(one_by_one) >= 15
        assert int(table) == 30


def test_measured_errors_on_the_page_on_private_tables_are_those_that_were_printed() -> None:
    page = (ROOT / "docs" / "private-tables.md").read_text(encoding="utf-8")
    printed = private_table_picture.ERRORS.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.*)` \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \|$", page, re.MULTILINE)
    assert len(rows) >= 5
    for query, filled, alone, stacked in rows:
        line = next(line for line in printed.splitlines() if line.startswith(query + " "))
        cells = re.split(r"\s{2,}", line)
        assert (cells[1], cells[3], cells[5]) == (filled, alone, stacked), query


def test_the_page_on_useless_answers_runs() -> None:
    found = run("useless-answers.md")
    text = (ROOT / "docs" / "useless-answers.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^(\w+) = (?:noise|hidden)\(.*\)  # ([\d.,]+, \w+)$", text, re.MULTILINE))
    assert len(said) == 11
    for name, (scale, verdict) in ((name, found[name]) for name in said):
        assert said[name] == f"{scale:,.1f}".removesuffix(".0") + f", {verdict}", name
    assert "From epsilon 3.1 on the answer is released without noise" in found["tradeoff"].text
    assert found["leaks"].rows[0].attribute == "antiviral"
    assert (round(found["pure"], 2), round(found["approximate"], 2)) == (8.56, 7.24)


def test_the_page_on_questioning_a_model_runs() -> None:
    found = run("questioning-a-model.md")
    assert found["edges"] == {("income", "sat"): 0.0}
    assert "contradict 3 of 4 tested rows" in str(found["check"])
    assert "A needs no noise" in str(found["comparison"])
    assert found["worst"] > 0.5


def test_the_page_on_many_models_runs() -> None:
    namespace = run("many-models.md")
    assert namespace["theta"].models == 1000
    assert namespace["matrix"].loc["income", "sat"] > 1


def test_the_page_on_mechanisms_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    network = bp.DiscreteNetwork.from_tables(
        {"income": [0.5, 0.5], "meals": [[0.3, 0.7], [0.7, 0.3]]},
        states={"income": ["low", "high"], "meals": ["few", "many"]},
        parents={"meals": ["income"]},
        level="parameters",
    )
    schema = bp.Schema(records=20, columns={"meals": bp.Integer(0, 1)})
    laws = {"meals": {"few": 0.2, "many": 0.4}}
    framework = bp.DistributionalAttributePrivacy(network, schema, "income", source="invented", laws=laws)
    (tmp_path / "table.csv").write_text("meals\n" + "1\n0\n" * 10, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"bp": bp, "framework": framework, "query": bp.total("meals")}
    bodies = re.findall(r"^```python\n(.*?)^```$", CHOOSING, re.MULTILINE | re.DOTALL)
    assert len(bodies) == 2
    for body in bodies:
        exec(compile(body, "choosing-a-mechanism.md", "exec"), namespace)
    assert str(namespace["tight"]).startswith("total(meals) can be released")
    assert "The privacy loss is bounded" in str(namespace["curve"])
