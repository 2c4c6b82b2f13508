"""Pages of the documentation: links that lead somewhere, and a table that knows every mechanism."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bnpriv as bp

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("models/*/*.md")]
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
    assert "An estimate" in str(namespace["plan"])
    assert (tmp_path / "draws.npz").exists()
