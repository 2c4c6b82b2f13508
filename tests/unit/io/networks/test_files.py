"""Network files: what the three formats say, what pgmpy says of them, and what is refused."""

from __future__ import annotations

import gzip
import importlib
import os
import pickle
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from bnpriv.errors import BnprivError, FileError, NetworkError, SizeError
from bnpriv.io.networks import formats
from bnpriv.io.networks.files import read_network
from tests.later import Later

readwrite = Later("pgmpy.readwrite")

VARIABLES = """network student { property author "a {b}" ; }
variable income { type discrete [ 2 ] { low, high }; }
variable sat { type discrete [ 3 ] { weak, fair, strong }; property position = (1, 2) ; }
"""
ROWS = """probability ( income ) { table 0.6, 0.4; }
probability ( sat | income ) { (high) 0.1, 0.3, 0.6; (low) 0.5, 0.3, 0.2; }
"""
BIF = VARIABLES + ROWS

XML = """<?xml version="1.0" encoding="UTF-8"?>
<!-- the internal document type of many files -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME | PROPERTY )* ) >
  <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
]>
<BIF VERSION="0.3"><NETWORK><NAME>student</NAME><PROPERTY>no equals sign</PROPERTY>
<VARIABLE TYPE="nature"><NAME> income </NAME><OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE><NAME>sat</NAME><OUTCOME>weak</OUTCOME><OUTCOME>fair</OUTCOME><OUTCOME>strong</OUTCOME></VARIABLE>
<DEFINITION><FOR>income</FOR><TABLE>0.6 <!-- low --> 0.4</TABLE></DEFINITION>
<DEFINITION><FOR>sat</FOR><GIVEN>income</GIVEN><TABLE>0.5 0.3 0.2
  0.1 0.3 0.6</TABLE></DEFINITION>
</NETWORK></BIF>
"""

NET = """% Hugin
net { node_size = (80 40); }
node income { states = ("low" "high"); label = "families; {income}"; }
discrete node sat { states = ("weak", "fair", "strong"); position = (1 2); }
potential (income) { data = (0.6 0.4); }
potential (sat | income) { data = ((0.5 0.3 0.2) % low
  (0.1 0.3 0.6)); }
"""

TEXTS = {".bif": BIF, ".xml": XML, ".xmlbif": XML, ".net": NET}


def put(folder: Path, content: str | bytes, suffix: str = ".bif") -> Path:
    path = folder / f"network{suffix}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("suffix", TEXTS)
def test_formats_say_the_same(tmp_path: Path, suffix: str) -> None:
    network = read_network(put(tmp_path, TEXTS[suffix], suffix.upper()), "records")
    assert network.states == {"income": ("low", "high"), "sat": ("weak", "fair", "strong")}
    assert network.graph.edges == (("income", "sat"),)
    assert network.level == "records"
    assert np.allclose(network.probabilities("income"), [[0.6, 0.4]], rtol=0, atol=1e-15)
    assert np.allclose(network.probabilities("sat"), [[[0.5, 0.1], [0.3, 0.3], [0.2, 0.6]]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["asia", "cancer", "alarm"])
def test_bundled_networks_are_what_pgmpy_reads(tmp_path: Path, name: str) -> None:
    models = Path(importlib.import_module("pgmpy").__file__).parent / "utils" / "example_models"
    text = gzip.decompress((models / f"{name}.bif.gz").read_bytes()).decode()
    model = readwrite.BIFReader(string=text).get_model()
    paths = [put(tmp_path, text)]
    for suffix, writer in ((".net", readwrite.NETWriter), (".xml", readwrite.XMLBIFWriter)):
        paths.append(tmp_path / f"network{suffix}")
        writer(model).write(paths[-1])
    for path in paths:
        network = read_network(path, normalize=True)
        assert set(network.attributes) == set(model.nodes)
        for table in model.get_cpds():
            assert network.tables[table.variable].axes == tuple(table.variables)
            assert network.states[table.variable] == tuple(table.state_names[table.variable])
            wanted = table.values / table.values.sum(axis=0)
            assert np.max(np.abs(network.probabilities(table.variable)[0] - wanted)) <= 1e-15


@pytest.mark.parametrize("suffix", TEXTS)
def test_columns_that_do_not_sum_to_one(tmp_path: Path, suffix: str) -> None:
    path = put(tmp_path, TEXTS[suffix].replace("0.6 ", "0.600002 ").replace("0.6,", "0.600002,"), suffix)
    with pytest.raises(NetworkError, match="normalize=True"):
        read_network(path)
    assert read_network(path, normalize=True).probabilities("income")[0, 0] > 0.6


@pytest.mark.parametrize("suffix", TEXTS)
def test_sums_off_by_printed_decimals_are_told(tmp_path: Path, suffix: str) -> None:
    path = put(tmp_path, TEXTS[suffix].replace("0.6 ", "0.6000001 ").replace("0.6,", "0.6000001,"), suffix)
    network = read_network(path)
    assert len(network.reading.notes) == 1
    assert "tables, income, sat, sum" in network.reading.notes[0] or "table of income sum" in network.reading.notes[0]
    assert network.identity() == read_network(path, normalize=True).identity()
    assert read_network(put(tmp_path, TEXTS[suffix], suffix)).reading.notes == ()


TURNED = {
    ".bif": """variable a { type discrete [ 2 ] { n, y }; } variable b { type discrete [ 2 ] { n, y }; }
probability ( a ) { table 0.5, 0.5; } probability ( b | a ) { (n) 0.9, 0.3; (y) 0.1, 0.7; }""",
    ".net": """net { } node a { states = ("n" "y"); } node b { states = ("n" "y"); }
potential (a) { data = (0.5 0.5); } potential (b | a) { data = ((0.9 0.3) (0.1 0.7)); }""",
}


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("suffix", TURNED)
def test_a_transposed_table_is_named(tmp_path: Path, suffix: str, normalize: bool) -> None:
    """Row 44."""
    with pytest.raises(NetworkError, match=r"the sums over a are 1\. Transpose"):
        read_network(put(tmp_path, TURNED[suffix], suffix), normalize=normalize)


@pytest.mark.parametrize("suffix", TEXTS)
def test_sums_far_from_one_are_not_divided_out(tmp_path: Path, suffix: str) -> None:
    """Row 44."""
    text = TEXTS[suffix].replace("0.6 ", "0.62 ").replace("0.6,", "0.62,")
    with pytest.raises(NetworkError, match="must sum to 1"):
        read_network(put(tmp_path, text, suffix), normalize=True)


UNUSUAL = {
    "no newline at the end": (".bif", BIF.strip()),
    "blanks after braces": (".bif", BIF.replace("}\n", "}  \n\n ")),
    "Windows lines": (".bif", BIF.replace("\n", "\r\n")),
    "a byte order mark": (".bif", "\ufeff" + BIF),
    "comments": (".bif", BIF.replace("{", "{ /* { */ // {\n")),
    "quotes": (".bif", BIF.replace("income", '"income"').replace("low, high", '"low""high"')),
    "a table for all": (
        ".bif",
        VARIABLES + ROWS.split("\n")[0] + "probability ( sat income ) { table .5 .1 .3 .3 .2 .6; }",
    ),
    "headers over lines": (".bif", BIF.replace("( sat |", "(\n sat\n |")),
    "rows of names with blanks": (".bif", BIF.replace("low", '"very low"')),
    "flat data": (".net", NET.replace("((0.5 0.3 0.2) %", "(0.5 0.3 0.2 %").replace("(0.1 0.3 0.6))", "0.1 0.3 0.6)")),
    "names that differ in case": (".bif", BIF.replace("income", "SAT")),
    "NET states with a blank": (".net", NET.replace('"low"', '"very low"')),
    "NET states beyond ASCII": (".net", NET.replace('"low"', '"näh"')),
    "names that need escapes": (".xml", XML.replace("low", "&lt;low &amp; lower&gt;")),
    "a document type elsewhere, not fetched": (".xml", XML.replace("BIF [", 'BIF SYSTEM "http://127.0.0.1/bif.dtd" [')),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_unusual_but_clear(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", None)  # nothing is ever fetched
    suffix, text = UNUSUAL[case]
    network = read_network(put(tmp_path, text, suffix))
    assert np.allclose(network.probabilities("sat"), [[[0.5, 0.1], [0.3, 0.3], [0.2, 0.6]]], rtol=0, atol=1e-15)


def bif(
    income: str = "table 0.6, 0.4;", sat: str = "(low) .5, .3, .2; (high) .1, .3, .6;", given: str = "income"
) -> str:
    return f"{VARIABLES}probability ( income ) {{ {income} }}\nprobability ( sat | {given} ) {{ {sat} }}\n"


ENTITY = '<!DOCTYPE BIF [ <!ENTITY a "b"> ]>'

REFUSED = {
    # what pgmpy would read as something else, or not at all
    "default rows": (".bif", bif(sat="default .5, .3, .2; (high) .1, .3, .6;"), "`default` is not read"),
    "a row twice": (".bif", bif(sat="(low) .5,.3,.2; (low) .1,.3,.6; (high) 1,0,0;"), "'low' again on line 5"),
    "a row missing": (".bif", bif(sat="(low) .5, .3, .2;"), "for 'high'; found none"),
    "a row of nobody": (".bif", bif(sat="(low) .5,.3,.2; (high) 1,0,0; (rich) 1,0,0;"), "found 'rich'"),
    "a short row": (".bif", bif(sat="(low) .5, .3; (high) .1, .3, .6;"), "row of 3 numbers"),
    "a short table": (".bif", bif("table 1;"), "must have 2 numbers; found 1"),
    "a word for a number": (".bif", bif("table half, half;"), "must hold numbers; found 'half'"),
    "not a number": (".bif", bif("table nanny, 1;"), "found 'nanny'"),
    "a very long number": (".bif", bif("table 0." + "1" * 99 + ", 1;"), "must hold numbers"),
    "no semicolon": (".bif", bif("table 0.6, 0.4"), "found 'table 0.6, 0.4' on line 4"),
    "no block's end": (".bif", BIF[:-3], "on line 5"),
    "no table": (".bif", VARIABLES + ROWS.split("\n")[0], "none for 'sat'"),
    "two tables": (".bif", BIF + ROWS.split("\n")[0], "one table"),
    "an attribute twice": (".bif", VARIABLES + BIF.split("\n", 1)[1], "'income' again"),
    "a state twice": (".bif", BIF.replace("low, high", "low, low"), "must be distinct"),
    "a wrong count of states": (".bif", BIF.replace("[ 2 ]", "[ 3 ]"), "3 states that it declares; found 2"),
    "a giant count of states": (".bif", BIF.replace("[ 2 ]", "[ 999999999 ]"), "999999999 states"),
    "a continuous variable": (".bif", BIF.replace("discrete", "continuous", 1), "Only discrete"),
    "an unknown parent": (".bif", bif(given="wealth"), "the unknown 'wealth'"),
    "its own parent": (".bif", bif(given="sat"), "distinct parents"),
    "a name with a bracket": (".bif", BIF.replace("income", "in(come"), "found 'in(come' on line 2"),
    "a control character": (".bif", BIF.replace("low", "l\x1bw"), "printable"),
    "only properties": (".bif", "network a { }", "found none"),
    "nothing": (".bif", "", "found none"),
    "another format": (".bif", XML, "BIF file is made of"),
    "an opening comment": (".bif", "/*" + BIF, "found none"),
    "data before potentials": (
        ".net",
        NET.replace("potential (income) { data = (0.6 0.4); }", ""),
        "none for 'income'",
    ),
    "a potential without data": (".net", NET.replace("data = (0.6 0.4);", ""), "one statement `data"),
    "data twice": (".net", NET.replace("data = (0.6", "data = (0.6 0.4); data = (0.6"), "found 2"),
    "transposed data": (".net", NET.replace("(0.5 0.3 0.2)", "(.5 .1)(.3 .3)").replace("(0.1 0.3", "(.2"), "nested as"),
    "an expression": (".net", NET.replace("data = (0.6 0.4)", "model_data = (Normal(0, 1))"), "expressions"),
    "a decision": (".net", NET.replace("discrete node", "decision"), "Only discrete nodes"),
    "a joint potential": (".net", NET.replace("(sat | income)", "(sat income)"), "one node given others"),
    "an unclosed string": (".net", NET.replace('"high"', '"high'), "NET file is made of"),
    "an entity": (".xml", XML.replace("<!DOCTYPE BIF [", '<!DOCTYPE BIF [ <!ENTITY a "b">'), "entities"),
    "a parameter entity": (
        ".xml",
        XML.replace("BIF [", 'BIF [ <!ENTITY % a SYSTEM "file:///etc/passwd"> %a;'),
        "entities",
    ),
    "an entity in other letters": (".xml", ENTITY.lower() + XML, "entities"),
    "an entity from elsewhere": (
        ".xml",
        XML.replace("BIF [", 'BIF SYSTEM "file:///etc/hosts" [').replace(">low<", ">&low;<"),
        "in the file itself; found a reference to 'low'",
    ),
    "another encoding": (".xml", XML.replace("UTF-8", "ISO-8859-1"), "encoding 'ISO-8859-1'"),
    "UTF-16": (".xml", XML.replace("UTF-8", "UTF-16").encode("utf-16"), "in UTF-8"),
    "UTF-16 without a mark": (".xml", ENTITY.encode("utf-16-le"), "NUL"),
    "broken XML": (".xml", XML[:-8], "unclosed token on line 15"),
    "another element": (".xml", XML.replace("PROPERTY", "SCRIPT"), "found 'SCRIPT' in 'NETWORK' on line 8"),
    "another type": (".xml", XML.replace('<VARIABLE TYPE="nature"', '<VARIABLE TYPE="utility"'), "type nature"),
    "two networks": (".xml", XML.replace("<BIF VERSION", "<BIF><NETWORK/></BIF><BIF VERSION"), "line"),
    "two tables at once": (".xml", XML.replace("</TABLE></DEF", "</TABLE><TABLE>1</TABLE></DEF", 1), "one TABLE"),
    "no outcome": (".xml", XML.replace("<OUTCOME>low</OUTCOME><OUTCOME>high</OUTCOME>", ""), "at least one"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    suffix, content, words = REFUSED[case]
    path = put(tmp_path, content, suffix)
    with pytest.raises(FileError) as refused:
        read_network(path)
    assert str(path) in str(refused.value)
    assert words in str(refused.value)
    assert refused.value.__cause__ is None


def lone(k: int) -> str:
    return f"variable v{k} {{ type discrete [ 1 ] {{ a }}; }} probability ( v{k} ) {{ table 1; }}"


def many(parents: int, states: int) -> str:
    """Return a file that declares a giant table in few bytes."""
    names = [f"v{k}" for k in range(parents + 1)]
    listed = ", ".join(f"s{k}" for k in range(states))
    blocks = [f"variable {name} {{ type discrete [ {states} ] {{ {listed} }}; }}" for name in names]
    roots = [f"probability ( {name} ) {{ table {', '.join(['1'] * states)}; }}" for name in names[:-1]]
    return "\n".join((*blocks, *roots, f"probability ( {names[-1]} | {', '.join(names[:-1])} ) {{ table 1; }}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (many(30, 2), "2,147,483,708 "),
        (many(40, 2), "parents of one attribute; found 40"),
        (many(4, 100), "10,000,000,400"),
        ("".join(map(lone, range(3000))), "attributes in one file; found 3,000"),
    ],
)
def test_sizes_come_before_tables(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SizeError, match=r"network\.bif: there may be at most") as refused:
        read_network(put(tmp_path, text))
    assert words.strip() in str(refused.value)


def test_a_cycle_is_named(tmp_path: Path) -> None:
    text = (
        VARIABLES + "probability ( income | sat ) { (weak) 1, 0; (fair) 1, 0; (strong) 1, 0; }\n" + ROWS.split("\n")[1]
    )
    with pytest.raises(NetworkError, match=r"income -> sat -> income|sat -> income -> sat"):
        read_network(put(tmp_path, text))


class Trap:
    """Tells whether it was ever unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[object, tuple[type, str, bool]]:
        return setattr, (Trap, "sprung", True)


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".npy", ".PKL", ".bif", ".xml", ".net", ".uai"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_are_never_opened(tmp_path: Path, suffix: str, protocol: int) -> None:
    path = put(tmp_path, pickle.dumps(Trap(), protocol=protocol), suffix)
    with pytest.raises(FileError, match="pickle" if protocol or "bif" not in suffix else "BIF") as refused:
        read_network(path)
    assert not Trap.sprung
    assert refused.value.remedy


@pytest.mark.parametrize("suffix", ["", ".txt", ".xdsl", ".bif.gz", ".json"])
def test_other_endings(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FileError, match=r"packed|must end in \.bif, \.xml, \.xmlbif, \.net, \.uai"):
        read_network(put(tmp_path, BIF, suffix))


def test_packed_content(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="a gzip file"):
        read_network(put(tmp_path, gzip.compress(BIF.encode())))


def test_only_regular_files(tmp_path: Path) -> None:
    path = put(tmp_path, BIF)
    (tmp_path / "link.bif").symlink_to(path)
    (tmp_path / "folder.bif").mkdir()
    os.mkfifo(tmp_path / "pipe.bif")
    cases = {
        "link.bif": "link",
        "folder.bif": "regular file|directory",
        "pipe.bif": "regular file",
        "missing.bif": "no such file",
    }
    for name, words in cases.items():
        with pytest.raises(FileError, match=words):
            read_network(tmp_path / name)
    for name in ("\0.bif", f"{'x' * 300}.bif", "~/network.bif", "/dev/zero"):
        with pytest.raises(FileError):
            read_network(name)
    assert read_network(str(path)).attributes == ("income", "sat")


def test_the_size_is_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "large.bif"
    with path.open("wb") as file:
        file.truncate(formats.MOST_NETWORK_BYTES + 1)
    with pytest.raises(FileError, match="8,388,608 bytes; found 8,388,609"):
        read_network(path)


def test_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    for suffix, text in TEXTS.items():
        read_network(put(tmp_path, text, suffix))
    assert capfd.readouterr() == ("", "")
    assert not recwarn.list


def test_reading_a_file_needs_no_other_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pgmpy", None)
    for suffix, text in TEXTS.items():
        assert read_network(put(tmp_path, text, suffix)).attributes == ("income", "sat")


def test_level_is_checked_first() -> None:
    with pytest.raises(BnprivError, match="level"):
        read_network("missing.bif", "columns")


def test_a_quote_in_a_name_is_refused_in_readable_words(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_text('variable a"b { type discrete [ 2 ] { x, y }; }\nvariable "c" { type', encoding="utf-8")
    with pytest.raises(FileError, match="no name holds quotes") as refusal:
        read_network(path, level="parameters")
    assert "\\x0" not in str(refusal.value)
