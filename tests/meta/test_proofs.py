"""Claims and the proofs that a computer checks are tied together: neither can change alone. No Coq is needed for that.

Where Coq is installed, wrong hypotheses are planted, and it refuses each (marker `slow`).
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDER = ROOT / "proofs"

CHECKED = re.compile(r"^\[Checked by\]\(\.\./proofs\.md\): (.*?)\.\n(?=\n|\Z)", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`(\w+\.\w+)`")
BLOCK = re.compile(r"^```coq\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OF_FILE = re.compile(r"^\(\* (\w+)\.v \*\)\n", re.MULTILINE)
ROW = re.compile(r"^\| [^|]+ \| (\[[^|]+) \| (`[^|]+) \|$", re.MULTILINE)


@cache
def reader() -> ModuleType:
    """Return `proofs/check.py`, which reads files of Coq."""
    spec = importlib.util.spec_from_file_location("check", FOLDER / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check"] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def pages() -> dict[str, str]:
    """Return the claims, and the page about the proofs, by name."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted((DOCS / "claims").glob("*.md"))}
    return found | {"proofs": (DOCS / "proofs.md").read_text(encoding="utf-8")}


def key(sentence: object) -> tuple[str, str, str]:
    """Return what must be the same in a file and on a page: where a sentence stands, and its words."""
    return sentence.file, sentence.section, " ".join(sentence.text.split())  # type: ignore[attr-defined]


def problems(texts: dict[str, str], folder: Path = FOLDER) -> list[str]:
    """Return what is wrong between pages and proofs.

    Parameters
    ----------
    texts : dict from str to str
        The claims by name, and the page `proofs` with the table.
    folder : Path
        Where the proofs are.
    """
    proofs, bad = reader().Proofs(folder), []
    stated = {key(each) for file in proofs.read.values() for each in file}
    quoted: set[tuple[str, str, str]] = set()
    named: set[tuple[str, str]] = set()
    for page, text in texts.items():
        checked = CHECKED.search(text.partition("\n## ")[0])
        names = set(NAME.findall(checked[1])) if checked else set()
        if page != "proofs" and not checked:
            bad.append(f"{page} does not say what it is checked by")
        if checked and not names and not re.match(r"hand\. \w", checked[1]):
            bad.append(f"{page} names neither a theorem nor why it is checked by hand")
        bad += [f"{page} names {name}, which is no theorem" for name in sorted(names - proofs.theorems.keys())]
        named |= {(page, name) for name in names}
        for block in BLOCK.findall(text):
            parts = OF_FILE.split(block)[1:]
            for file, part in zip(parts[::2], parts[1::2], strict=True):
                for each in reader().sentences(file, part):
                    quoted.add(key(each))
                    if key(each) not in stated:
                        bad.append(f"{page} quotes what {file}.v does not state: {key(each)[2]}")
                    if each.full_name in proofs.theorems and each.full_name not in names:
                        bad.append(f"{page} quotes {each.full_name} and does not name it")
    for name, theorem in proofs.theorems.items():
        if not any(name == each for _, each in named):
            bad.append(f"no page names {name}")
        bad += [
            f"no page quotes what {name} rests on: {key(each)[2]}"
            for each in proofs.needed(theorem)
            if key(each) not in quoted
        ]
    rows = [
        (re.findall(r"\(claims/(\w+)\.md\)", row[1]), NAME.findall(row[2])) for row in ROW.finditer(texts["proofs"])
    ]
    shown = {(page, name) for pages, names in rows for page in pages for name in names}
    bad += [f"the table does not have {name} with the page {page}" for page, name in sorted(named - shown)]
    bad += [
        f"the table has {page} with {names}, of which it names none"
        for pages, names in rows
        for page in pages
        if not any((page, name) in named for name in names)
    ]
    return bad + reader().problems(proofs, texts["proofs"])


def test_every_claim_and_its_theorems_say_the_same() -> None:
    assert problems(pages()) == []


def changed(texts: dict[str, str], page: str, old: str, new: str) -> dict[str, str]:
    """Return pages of which one has other words."""
    assert old in texts[page]
    return texts | {page: texts[page].replace(old, new)}


@pytest.mark.parametrize(
    ("page", "old", "new", "problem"),
    [
        (
            "markov_quilt",
            "e <= eps -> D%:R",
            "D%:R",
            "markov_quilt quotes what quilt.v does not state: (** With discrete",
        ),
        ("markov_quilt", "forall q, far a q", "forall q, far b q", "markov_quilt quotes what quilt.v does not state"),
        ("markov_quilt", "expR (e + c)", "expR e", "no page quotes what quilt.quilt_mechanism rests on"),
        ("tight", "Hypotheses (inside", "Hypotheses (within", "no page quotes what records.per_record_up rests on"),
        ("proofs", "forall B : pred U", "exists B : pred U", "proofs quotes what pufferfish.v does not state"),
        (
            "tight",
            "`records.per_record`",
            "`records.per_records`",
            "tight names records.per_records, which is no theorem",
        ),
        ("tight", "[Checked by]", "[Read]", "tight does not say what it is checked by"),
        ("curves", ": hand. Integrals", ": hand.. Integrals", "curves names neither a theorem nor why"),
        (
            "posterior",
            "`held_out.none_broken_root`, a step only: that",
            "hand. That",
            "the table has posterior with ['held",
        ),
        (
            "shape",
            "`pufferfish.pufferfish_post",
            "`tables.trim`, `pufferfish.post",
            "the table does not have tables.trim with",
        ),
        (
            "proofs",
            "`tables.trim_conditioned`",
            "`tables.trims`",
            "in the table of docs/proofs.md, and no theorem: tables.trims",
        ),
        ("proofs", "`tables.trim_conditioned`", "", "not in the table of docs/proofs.md: tables.trim_conditioned"),
    ],
)
def test_a_page_that_changes_alone_is_found(page: str, old: str, new: str, problem: str) -> None:
    found = problems(changed(pages(), page, old, new))
    assert any(each.startswith(problem) for each in found), found


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            "quilt",
            "far_columns_independent -> influence_at_most",
            "influence_at_most",
            "markov_quilt quotes what quilt.v",
        ),
        ("noise", "Hypothesis b_gt0 : 0 < b.", "Hypothesis b_gt0 : 0 <= b.", "no page quotes what quilt.quilt_laplace"),
        (
            "records",
            "Section Class.",
            "Section Class.\nHypothesis small : (n < 9)%N.",
            "no page quotes what records.per_record",
        ),
        ("bridge", "Theorem bridge b", "Theorem bridges b", "no page names bridge.bridges"),
        ("tables", "End Trim.", "End Trim.\nAxiom easy : False.", "tables.v:139: Axiom"),
        (
            "tables",
            "End Trim.",
            "End Trim.\nVariable easy : False.",
            "tables.v: assumed outside of a section: Variable easy",
        ),
        ("tables", "Qed.\n\nEnd Trim.", "Admitted.\n\nEnd Trim.", "tables.v:136: Admitted"),
        ("tables", "End Trim.", f"End Trim. (*{120 * '-'}*)", "tables.v:138: a line of 134"),
    ],
)
def test_a_proof_that_changes_alone_is_found(tmp_path: Path, file: str, old: str, new: str, problem: str) -> None:
    folder = planted(tmp_path, file, old, new)
    found = problems(pages(), folder)
    assert any(each.startswith(problem) for each in found), found


def planted(folder: Path, file: str, *changes: str) -> Path:
    """Return a folder with the proofs, one of which has other words.

    Parameters
    ----------
    folder : Path
        Where to write them.
    file : str
        The proof to change.
    *changes : str
        Old words and new ones in turn; the old ones may stand in several places.
    """
    for path in FOLDER.glob("*.v"):
        shutil.copy(path, folder)
    text = (folder / f"{file}.v").read_text(encoding="utf-8")
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    (folder / f"{file}.v").write_text(text, encoding="utf-8")
    return folder


def test_comments_are_nested_and_lines_keep_their_numbers() -> None:
    text = "Section A. (* one (* two *)\n three. *)\nLemma b : c. Proof. by []. Qed.\nEnd A.\n"
    assert reader().uncommented(text).count("\n") == 4
    assert [(each.section, each.kind, each.code.strip()) for each in reader().sentences("f", text)] == [
        ("A", "Lemma", "Lemma b : c.")
    ]


PRINTED = """Axioms:
boolp.propositional_extensionality : forall P Q : Prop, P <-> Q -> P = Q
boolp.functional_extensionality_dep
  : forall (A : Type) (B : A -> Type) (f g : forall x : A, B x),
    (forall x : A, f x = g x) -> f = g
a.easy : False
"""


def test_what_coq_prints_is_read() -> None:
    assert reader().axioms(PRINTED) - reader().AXIOMS == {"a.easy"}
    assert reader().axioms("Closed under the global context\n") == set()


COQC = ("coqc", "-Q", ".", "bnpriv", "-w", "none")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the proofs, of which those are compiled that others below take."""
    library = ("coqtop", "-batch", "-require-import-from", "mathcomp", "exp")
    if shutil.which("coqc") is None or subprocess.run(library, capture_output=True, check=False).returncode:
        pytest.skip("Coq and its library of analysis are not installed")
    folder = tmp_path_factory.mktemp("compiled")
    for path in (*FOLDER.glob("*.v"), *FOLDER.glob("*.vo"), FOLDER / "Makefile", FOLDER / "check.py"):
        shutil.copy2(path, folder)  # with its time: what is compiled and not older stays
    made = ["make", "-s", "distributions.vo", "pufferfish.vo", "noise.vo", "clipped.vo"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    return folder


INDEPENDENT = "far_columns_independent -> influence_at_most e a b"
PLANTS = {
    "the far columns need not be independent": (
        "quilt",
        (INDEPENDENT, INDEPENDENT.replace("far_columns_independent", "True")),
        'The term "independent" has type "True"',
    ),
    "the influence is bounded in the other direction only": (
        "quilt",
        (INDEPENDENT, INDEPENDENT.replace("e a b", "e b a")),
        "Cannot apply lemma influence",
    ),
    "one record is bounded in the other direction only": (
        "records",
        ("(s + k <= n)%N -> one_record U true e m", "(s + k <= n)%N -> one_record U false e m"),
        'The term "step" has type',
    ),
    "secrets k apart cost k - 1 times one record": (
        "records",
        ("expR (k%:R * e) * (total U s m", "expR (k.-1%:R * e) * (total U s m"),
        "k.+1 does not match",
    ),
    "trim loses no more than what lies beyond c - (k - 1)": (
        "tables",
        ("+ beyond k (g'", "+ beyond k.-1 (g'"),
        "No applicable tactic",
    ),
    "surplus records are left out by position: the order of the true table shows": (
        "fill",
        ("together : forall G : 'I_n.+2,", "together : forall g G : 'I_n.+2,", "together x y", "@together g G x y"),
        "(in proof handed_on_free): Attempt to save an incomplete proof",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS)
def test_coq_refuses_a_wrong_hypothesis(compiled: Path, tmp_path: Path, plant: str) -> None:
    """It stops in the proof, where the right hypothesis was used: at what was planted, not at how it is written."""
    file, changes, said = PLANTS[plant]
    planted(tmp_path, file, *changes)
    for path in compiled.glob("*.vo"):
        shutil.copy2(path, tmp_path)
    done = subprocess.run([*COQC, f"{file}.v"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.slow
def test_what_is_assumed_or_left_open_is_told(compiled: Path, tmp_path: Path) -> None:
    for name in ("distributions.v", "distributions.vo", "check.py"):
        shutil.copy2(compiled / name, tmp_path)
    text = (FOLDER / "pufferfish.v").read_text(encoding="utf-8")
    text = re.sub(r"(?s)(Theorem post_processing.*?)Proof\..*?Qed\.", r"\1Proof. exact: easy. Qed.", text)
    text = re.sub(r"(?s)(Theorem alike_sets.*?)Proof\..*?Qed\.", r"\1Admitted.", text)
    axiom = "Axiom easy : forall P : Prop, P.\n\nSection Alike."
    (tmp_path / "pufferfish.v").write_text(text.replace("Section Alike.", axiom), encoding="utf-8")
    subprocess.run([*COQC, "pufferfish.v"], cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "check.py", *COQC]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert {
        "pufferfish.alike_sets: pufferfish.alike_sets",
        "pufferfish.post_processing: pufferfish.easy",
        "pufferfish.pufferfish_post_processing: pufferfish.easy",
        "pufferfish.alike_stand_ins: proved",
    } <= set(done.stdout.splitlines())
    assert re.search(r"^  pufferfish\.v:\d+: Axiom$", done.stderr, re.MULTILINE)
    assert re.search(r"^  pufferfish\.v:\d+: Admitted$", done.stderr, re.MULTILINE)
    assert "  pufferfish.alike_sets rests on pufferfish.alike_sets\n" in done.stderr
