"""The site: every public name and every page is in it, links lead somewhere, nothing of a machine is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import reference_pages
import site_sources
import site_text

import bnpriv as bp
from benchmarks.page import PARTS, ran_on

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = ROOT / "build" / "site"


MACHINE = re.compile(r"(?<![\w.:/<>-])/(?:home|root|work|tmp|usr|opt|mnt|private|Users)/|file://| at 0x[0-9a-f]{6,}")


def pages() -> list[str]:
    """All pages that are no copies and not generated, as toctrees name them."""
    away = {*site_sources.COPIED, "api"}
    found = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    own = [path.with_suffix("").as_posix() for path in found if path.parts[0] not in away]
    copied = [target.rpartition(".")[0] for target in site_sources.copies().values()]
    return sorted({*own, *copied})


def test_every_public_name_is_in_the_reference() -> None:
    groups, listed = reference_pages.groups(), reference_pages.listed()
    assert all(groups.values())
    told = {name for names in groups.values() for name in names}
    assert told | {"BnprivError", *reference_pages.MODULES} == set(bp.__all__)
    assert "BnprivError" in listed["errors"]
    for module in reference_pages.MODULES:
        offered = set(reference_pages.offered(getattr(bp, module)))
        assert offered <= told.union(*listed.values()), module


def test_a_name_stands_once_in_the_reference() -> None:
    names = [*reference_pages.groups().values(), *reference_pages.listed().values()]
    everything = [name for each in names for name in each]
    assert len(everything) == len(set(everything))


def test_every_page_is_in_one_list_of_pages() -> None:
    generated = {f"api/{name}" for name in (*reference_pages.VERBS, *reference_pages.MODULES)}
    entries = [*site_sources.listed(), *site_sources.others()]
    assert sorted(entries) == sorted({*pages(), *generated} - {"index"})


@pytest.mark.parametrize(
    ("link", "source", "page", "leads"),
    [
        ("../tutorials/04-the-limit.ipynb", "docs/sessions.md", "sessions.md", "tutorials/04-the-limit.ipynb"),
        ("../docs/claims/draws.md", "tutorials/02-release.ipynb", "tutorials/02-release.ipynb", "../claims/draws.md"),
        ("../models/clinic/README.md", "docs/pymc.md", "pymc.md", "examples/clinic.md"),
        ("framework.toml", "models/clinic/README.md", "examples/clinic.md", "../../models/clinic/framework.toml"),
        ("docs/claims", "README.md", "index.md", "claims.md"),
        ("notation.md", "docs/pymc.md", "pymc.md", "notation.md"),
    ],
)
def test_links_of_the_repository_lead_to_pages(link: str, source: str, page: str, leads: str) -> None:
    assert site_sources.rewritten(f"see [this]({link}#there)", source, page) == f"see [this]({leads}#there)"


def test_other_links_stay() -> None:
    text = "[a](https://example.org/x.md) [b](#here) `f[x](y z)`"
    assert site_sources.rewritten(text, "docs/pymc.md", "pymc.md") == text


def test_names_in_docstrings_are_linked() -> None:
    assert site_sources.with_links("by `plan`, see docs/claims/tight.md, of `x`.") == (
        "by :py:obj:`~bnpriv.plan`, see :doc:`/claims/tight`, of ``x``."
    )


def test_the_reference_shows_all_verbs_in_their_order() -> None:
    found = re.findall(r"^## \[(\w+)\]\(api/(\w+)\.rst\)$", reference_pages.overview(), re.MULTILINE)
    assert [verb for _, verb in found][:5] == ["declare", "ask", "analyse", "calibrate", "release"]
    assert [verb for _, verb in found] == list(reference_pages.VERBS)
    assert reference_pages.overview().count("{py:obj}") == sum(map(len, reference_pages.groups().values()))


@pytest.mark.parametrize(
    ("text", "set_"),
    [
        ("phi_j of X_S under Theta", "\u03c6{sub}`j` of X{sub}`S` under \u0398"),
        ("||F(x)||_1 <= exp(eps - e)", "||F(x)||{sub}`1` \u2264 exp(\u03b5 - e)"),
        ("e_{theta,a}(Q) != D^k_K", "e{sub}`\u03b8,a`(Q) \u2260 D{sup}`k`{sub}`K`"),
        ("2^-53 and V^(-1/2), W_inf, cost_K", "2{sup}`-53` and V{sup}`-1/2`, W{sub}`inf`, cost{sub}`K`"),
        ("at_most, k_means_of, an eps-private answer", "at_most, k_means_of, an \u03b5-private answer"),
        ("epsilon, deltas, a non-delta", "epsilon, deltas, a non-delta"),
    ],
)
def test_letters_are_set_and_names_are_not(text: str, set_: str) -> None:
    assert site_text.lettered(text) == set_


def test_only_prose_is_changed() -> None:
    kept = "# phi_1\n\n    phi_1\n\n```\nphi_1\n```\n\n$$\nphi_1\n$$\n\n`phi_1` $phi_1$ [phi_1](phi_1.md)"
    assert site_text.in_prose(kept, site_text.lettered) == kept
    assert site_text.in_prose(f"{kept}\nx_1", site_text.lettered) == f"{kept}\nx{{sub}}`1`"


def test_names_of_pages_become_their_titles() -> None:
    assert site_text.titled("[notation.md](notation.md), [claim](a.md)") == "[](notation.md), [claim](a.md)"
    prose = site_text.linked("as in tight.md and nowhere.md", DOCS / "claims")
    assert prose == "as in [](tight.md) and nowhere.md"


def test_the_page_of_benchmarks_shows_what_was_printed_and_when() -> None:
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    shown = re.findall(r"`python ([^`]+)`:\n\n```\{literalinclude\} benchmarks/(\w+)\.txt", text)
    assert {name: command for command, name in shown} == PARTS
    assert {path.stem for path in (DOCS / "benchmarks").iterdir()} == set(PARTS)
    head = re.compile(r"20\d\d-\d\d-\d\d, Python [\d.]+, bnpriv .*; \d+ processors, [\d.]+ programs at work on them")
    assert re.match(head, ran_on())
    for name in PARTS:
        assert re.match(head, (DOCS / "benchmarks" / f"{name}.txt").read_text(encoding="utf-8")), name


class Page(HTMLParser):
    """The anchors of a page of the site, where its links lead, and what its pictures say."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.alts: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.alts.append(dict(attrs).get("alt") or "")
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@cache
def parsed(path: Path) -> Page:
    return Page(path)


def dead(site: Path) -> Iterator[str]:
    """The links within a site that lead to no file, or to no anchor of a page."""
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:  # of the theme
            continue
        for link in parsed(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists() or (
                parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in parsed(target).anchors
            ):
                yield f"{path.relative_to(site)}: {link}"


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">1</a><a href="b.html#y">2</a><a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<p id="x"><a href="https://example.org/z">4</a><a href="#q">5</a></p>')
    assert list(dead(tmp_path)) == ["a.html: b.html#y", "a.html: c.html", "b.html: #q"]


@pytest.mark.site
def test_links_of_the_site_lead_somewhere() -> None:
    assert (SITE / "index.html").exists(), "build it: sphinx-build -W -b html docs build/site"
    assert list(dead(SITE)) == []


@pytest.mark.site
def test_nothing_of_the_machine_is_in_the_site() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in SITE.rglob("*.html")}
    assert len(texts) > 150
    assert {path.name: found[0] for path, text in texts.items() if (found := MACHINE.search(text))} == {}


@pytest.mark.site
def test_every_public_name_has_a_page() -> None:
    listed = {"bnpriv": [name for names in reference_pages.groups().values() for name in names]}
    listed |= {f"bnpriv.{module}": names for module, names in reference_pages.listed().items()}
    missing = [
        f"{module}.{name}"
        for module, names in listed.items()
        for name in names
        if f'id="{module}.{name}"' not in (SITE / "api" / "names" / f"{module}.{name}.html").read_text(encoding="utf-8")
    ]
    assert missing == []


@pytest.mark.site
def test_formulas_need_no_other_host() -> None:
    assert (SITE / "_static" / "mathjax" / "tex-chtml.js").exists()
    loaded = [link for path in SITE.rglob("*.html") for link in parsed(path).links if link.endswith(".js")]
    assert [link for link in loaded if "://" in link] == []


@pytest.mark.site
def test_every_picture_says_what_it_shows() -> None:
    pages = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    said = [(path.relative_to(SITE), alt) for path in pages for alt in parsed(path).alts]
    assert len(said) > 20
    assert [each for each in said if not each[1] or re.search(r"\.(png|svg)$", each[1])] == []
