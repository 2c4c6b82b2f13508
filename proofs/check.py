"""What the proofs state, read without Coq, and what they rest on, asked of Coq: ``python3 check.py`` after ``make``.

Whoever reads a theorem has to read its statement, what is given in its section, and the definitions in both; nobody has
to read the steps of a proof. So a file is taken apart into its sentences, proofs left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent / "docs" / "proofs.md"

AXIOMS = {
    "boolp.propositional_extensionality",
    "boolp.functional_extensionality_dep",
    "boolp.constructive_indefinite_description",
}
"""The three of the analysis library."""

UNPROVED = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check|Admit Obligations|Unset \w+ Checking"
    r"|type-in-type)\b"
)
GIVEN = ("Variable", "Variables", "Hypothesis", "Hypotheses", "Context", "Implicit")
DEFINED = ("Definition", "Fixpoint", "Record", "Inductive", "Notation", "Let")
PROVED = ("Theorem", "Corollary")
SMALL = ("Lemma", "Fact", "Remark", "Proposition")
LONGEST = 120
"""Characters of a line, at most."""

COMMENT = re.compile(r"\(\*|\*\)")
WORD = re.compile(r"[A-Za-z_][\w']*(?:\.[A-Za-z_][\w']*)*")


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence that a reader has to read: what is given, defined or stated."""

    file: str
    section: str
    kind: str
    name: str
    text: str
    """As it stands in the file, with the comment before it; of a definition that a proof ends, the term."""

    @cached_property
    def code(self) -> str:
        """The text without comments."""
        return uncommented(self.text)

    def within(self, section: str) -> bool:
        """Whether it stands in a section, or in one inside of it."""
        return f"{self.section}/".startswith(f"{section}/")

    @property
    def full_name(self) -> str:
        """The name after that of its file: ``quilt.quilt_laplace``."""
        return f"{self.file}.{self.name}"


def uncommented(text: str) -> str:
    """Return a text whose comments, which may be nested, are blanks; its lines keep their numbers."""
    parts, depth, start = [], 0, 0
    for mark in COMMENT.finditer(text):
        part = text[start : mark.start()]
        parts.append(re.sub(r"\S", " ", part) if depth else part)
        depth, start = depth + (1 if mark[0] == "(*" else -1), mark.end()
        parts.append("  ")
    return "".join(parts) + text[start:]


def sentences(file: str, text: str) -> list[Sentence]:
    """Return what a reader has to read of a file, in order.

    Parameters
    ----------
    file : str
        Its name without ``.v``.
    text : str
        What it holds.
    """
    plain = uncommented(text)
    found: list[Sentence] = []
    sections: list[str] = []
    start, in_proof, waiting = 0, False, None
    for end in re.finditer(r"\.(?=\s|$)", plain):
        code = plain[start : end.end()]
        # with the last comment before it, if nothing but one line's end stands between
        lead = text[start : start + len(code) - len(code.lstrip())].strip()
        whole = (lead[lead.rfind("(**") :] + "\n" if "(**" in lead else "") + text[start : end.end()].strip()[
            len(lead) :
        ].strip()
        start = end.end()
        words = [word for word in code.split() if word not in ("Local", "Global")]
        if in_proof:
            if waiting and words[0] == "refine":
                found.append(Sentence(file, *waiting[:3], f"{waiting[3]}\nProof.\n{code.strip()}\nDefined."))
                waiting = None
            in_proof = words[-1] not in ("Qed.", "Defined.", "Admitted.", "Abort.")
            continue
        if words[0] in ("Section", "Module"):
            sections.append(words[1].rstrip("."))
        elif words[0] == "End":
            sections.pop()
        elif words[0] == "Proof.":
            in_proof = True
        elif words[0] in GIVEN:
            found.append(Sentence(file, "/".join(sections), words[0], "", whole))
        elif words[0] in (*DEFINED, *PROVED, *SMALL):
            name = WORD.match(words[1])
            kept = Sentence(file, "/".join(sections), words[0], name[0] if name else "", whole)
            if words[0] in (*PROVED, *SMALL) or ":=" in code:
                found.append(kept)
            else:  # a proof follows: it makes the thing, or shows a small fact
                waiting = (kept.section, kept.kind, kept.name, kept.text) if words[0] == "Definition" else None
    return found


@dataclass(frozen=True)
class Proofs:
    """All files of a folder."""

    folder: Path = HERE

    @cached_property
    def texts(self) -> dict[str, str]:
        """What each file holds, by its name without ``.v``."""
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.v"))}

    @cached_property
    def read(self) -> dict[str, list[Sentence]]:
        """The sentences of each file."""
        return {file: sentences(file, text) for file, text in self.texts.items()}

    @cached_property
    def theorems(self) -> dict[str, Sentence]:
        """Every theorem and corollary, by its full name."""
        return {each.full_name: each for file in self.read.values() for each in file if each.kind in PROVED}

    def imports(self, file: str) -> list[str]:
        """Return the files of the folder that a file takes, the last first, as the last one's names win."""
        found = re.search(r"From bnpriv Require Import ([^.]*)\.", self.texts[file])
        return found[1].split()[::-1] if found else []

    def depth(self, file: str) -> int:
        """Return how many files stand below a file, one upon the other."""
        return 1 + max(map(self.depth, self.imports(file)), default=0)

    def defined(self, name: str, at: Sentence) -> Sentence | None:
        """Return what defines a name where a sentence stands."""
        file, _, last = name.rpartition(".")
        own = self.read[at.file][: self.read[at.file].index(at)]
        places = (
            [self.read.get(file, [])] if file else [own[::-1], *(self.read[each] for each in self.imports(at.file))]
        )
        for each in (each for place in places for each in place if each.kind not in GIVEN and each.name == last):
            if each.kind not in ("Let", "Notation") or (each.file == at.file and at.within(each.section)):
                return each
        return None

    def needed(self, theorem: Sentence) -> list[Sentence]:
        """Return all that a reader of a theorem has to read: itself, what is given, and what it speaks of."""
        found: list[Sentence] = []
        todo = [theorem]
        while todo:
            at = todo.pop()
            if at in found:
                continue
            found.append(at)
            own = self.read[at.file]
            given = (each for each in own[: own.index(at)] if each.kind in GIVEN)
            todo += [each for each in given if at.within(each.section)]
            todo += filter(None, (self.defined(name, at) for name in {*WORD.findall(at.code)}))
        return found


def quotation(proofs: Proofs, wanted: list[Sentence]) -> str:
    """Return sentences as a block of a page of the documentation, each file and section in order."""
    lines: list[str] = []
    for file in sorted(proofs.read, key=lambda file: (proofs.depth(file), file)):
        section = ""
        for each in (each for each in proofs.read[file] if each in wanted):
            if f"(* {file}.v *)" not in lines:
                lines += ["", f"(* {file}.v *)"]
            if each.section != section:
                lines += [
                    f"End {name}." for name in section.split("/")[::-1] if name and name not in each.section.split("/")
                ]
                lines += [
                    f"Section {name}." for name in each.section.split("/") if name and name not in section.split("/")
                ]
                section = each.section
            lines += ["", each.text] if each.text.startswith("(**") else [each.text]
        lines += [f"End {name}." for name in section.split("/")[::-1] if name]
    return "\n".join(lines[1:])


def problems(proofs: Proofs, table: str | None) -> list[str]:
    """Return what needs no Coq to be wrong: what is unproved, lines too long, a table that is not of the theorems.

    Parameters
    ----------
    proofs : Proofs
        The files.
    table : str or None
        The page with the table of theorems; None: not compared.
    """
    bad = []
    for file, text in proofs.texts.items():
        plain = uncommented(text).splitlines()
        bad += [f"{file}.v:{at}: {word[0]}" for at, line in enumerate(plain, 1) for word in UNPROVED.finditer(line)]
        bad += [
            f"{file}.v:{at}: a line of {len(line)}"
            for at, line in enumerate(text.splitlines(), 1)
            if len(line) > LONGEST
        ]
    outside = (each for file in proofs.read.values() for each in file if not each.section and each.kind in GIVEN)
    bad += [f"{each.file}.v: assumed outside of a section: {each.code.strip()}" for each in outside]
    if table is not None:
        rows = "\n".join(line for line in table.splitlines() if line.startswith("|"))
        named = set(re.findall(r"`([a-z_]+\.[a-z_0-9]+)`", rows))
        bad += [f"not in the table of docs/proofs.md: {name}" for name in sorted(proofs.theorems.keys() - named)]
        bad += [
            f"in the table of docs/proofs.md, and no theorem: {name}" for name in sorted(named - proofs.theorems.keys())
        ]
    return bad


def axioms(printed: str) -> set[str]:
    """Return what something rests on, from what Coq prints of it."""
    if "Closed under the global context" in printed:
        return set()
    # a name at the start of a line, its type after it; or a sentence about what was not checked
    lines = [line for line in printed.splitlines() if line and not line.startswith((" ", "Axioms:"))]
    return {line.split(" :")[0].strip() for line in lines}


def rests_on(proofs: Proofs, names: list[str], command: list[str]) -> set[str]:
    """Return what theorems rest on together, as Coq says."""
    asked = f"From bnpriv Require {' '.join(proofs.texts)}.\n"
    asked += f"Definition together := ({', '.join(f'@{name}' for name in names)}).\nPrint Assumptions together.\n"
    with tempfile.TemporaryDirectory() as place:
        question = Path(place) / "question.v"
        question.write_text(asked, encoding="utf-8")
        done = subprocess.run([*command, question], cwd=proofs.folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return axioms(done.stdout)


def main(command: list[str]) -> int:
    """Print what every theorem rests on, or the block of some; return 1 if anything is wrong."""
    start, proofs = time.monotonic(), Proofs()
    if command[0] == "--quote":
        print(quotation(proofs, [each for name in command[1:] for each in proofs.needed(proofs.theorems[name])]))
        return 0
    bad = problems(proofs, TABLE.read_text(encoding="utf-8") if TABLE.exists() else None)
    names = list(proofs.theorems)
    one_by_one = not rests_on(proofs, names, command) <= AXIOMS  # a question takes a second: is one to blame?
    for name in names:
        more = sorted(rests_on(proofs, [name], command) - AXIOMS) if one_by_one else []
        print(f"{name}: {', '.join(more) or 'proved'}")
        bad += [f"{name} rests on {each}" for each in more]
    lines = sum(text.count("\n") for text in proofs.texts.values())
    print(
        f"{len(proofs.texts)} files, {lines} lines, {len(proofs.theorems)} theorems, {time.monotonic() - start:.0f} s"
    )
    print("Proved means from no more than:", *sorted(AXIOMS), sep="\n  ")
    if bad:
        print("Wrong:", *bad, sep="\n  ", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["coqc", "-Q", ".", "bnpriv"]))
