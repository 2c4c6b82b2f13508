"""What a framework file and its network files declare, read by code of its own and compared with what is stored.

Nothing of the rest of bnpriv is imported.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any, cast
from xml.parsers import expat

from bnpriv.verify import forms
from bnpriv.verify.chains import probabilities
from bnpriv.verify.claim import farthest
from bnpriv.verify.columns import column_facts, law_facts, laws_of_bins, same_law
from bnpriv.verify.networks import Nodes, NormalNodes, read_nodes

# --------------------------------------------------------------------------------------------------
# BIF: names may be quoted and hold blanks.
# --------------------------------------------------------------------------------------------------

BIF_PIECE = re.compile(
    r'"(?P<quoted>[^"]*)"|//[^\n]*|/\*(?s:.*?)\*/|(?P<mark>[{}()\[\]|,;])'
    r'|(?P<word>(?:(?!//|/\*)[^\s{}()\[\]|,;"])+)'
)
BRACKETS = {"{": "}", "(": ")", "[": "]"}
BifToken = tuple[bool, str]
"""Whether it is a mark that stands outside quotes, and its text."""


def bif_nodes(text: str) -> dict[str, Any]:
    """The states, parents and table of every node of a file in the usual form of BIF."""
    tokens, states, nodes, at = _tokens(text), dict[str, list[str]](), dict[str, Any](), 0
    given = list[tuple[list[BifToken], list[BifToken]]]()
    while at < len(tokens):
        head, at = _until(tokens, at, "{")
        body, at = _until(tokens, at, "}")
        kind, *rest = head
        if kind[1] == "variable":
            states[_name(rest)] = _outcomes(body)
        elif kind[1] == "probability":
            given.append((rest[1:-1], body))
    for header, body in given:
        own, parents = _family(header, states)
        nodes[own] = {"states": states[own], "parents": parents, "logs": [_table(own, parents, body, states)]}
    return nodes


def _tokens(text: str) -> list[BifToken]:
    found = ((each["mark"], each["word"], each["quoted"]) for each in BIF_PIECE.finditer(text))
    kept = ((mark is not None, mark or word or quoted) for mark, word, quoted in found)
    return [(mark, " ".join(each.split())) for mark, each in kept if each is not None]


def _until(tokens: Sequence[BifToken], at: int, end: str) -> tuple[list[BifToken], int]:
    """The tokens before a mark outside all brackets that open on the way, and the place behind it."""
    start, open_marks = at, list[str]()
    while tokens[at] != (True, end) or open_marks:
        mark, text = tokens[at]
        if mark and text in BRACKETS:
            open_marks.append(BRACKETS[text])
        elif mark and open_marks and text == open_marks[-1]:
            open_marks.pop()
        at += 1
    return list(tokens[start:at]), at + 1


def _split(tokens: Sequence[BifToken], mark: str) -> list[list[BifToken]]:
    parts: list[list[BifToken]] = [[]]
    for token in tokens:
        if token == (True, mark):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _name(tokens: Sequence[BifToken]) -> str:
    return " ".join(text for _, text in tokens)


def _names(tokens: Sequence[BifToken], count: int) -> list[str]:
    """Return names: what stands between commas or, where that does not give so many, every word of its own."""
    parts = [_name(part) for part in _split(tokens, ",")]
    return parts if len(parts) == count else [text for mark, text in tokens if not mark]


def _outcomes(body: Sequence[BifToken]) -> list[str]:
    """The states of a variable block, which reads `type discrete [ count ] { states };` beside properties."""
    for statement in _split(body, ";"):
        if statement[:2] == [(False, "type"), (False, "discrete")]:
            start = statement.index((True, "{"))
            return _names(statement[start + 1 : -1], int(statement[3][1]))
    raise ValueError("a variable without states")


def _family(header: Sequence[BifToken], states: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The node and the parents that the head of a probability block names."""
    own, *given = _split(header, "|")
    if not given and _name(own) not in states:  # the old style: the first name is conditioned on the rest
        name, *parents = [text for mark, text in own if not mark]
        return name, parents
    if not given or not given[0]:
        return _name(own), []
    if _name(given[0]) in states:
        return _name(own), [_name(given[0])]
    commas = given[0].count((True, ","))
    parents = _names(given[0], commas + 1)
    known = all(each in states for each in parents)
    return _name(own), parents if known else [text for mark, text in given[0] if not mark]


def _table(own: str, parents: Sequence[str], body: Sequence[BifToken], states: Mapping[str, Any]) -> list[Decimal]:
    """The numbers with the own state as the slowest index and the last parent's as the fastest."""
    rows = dict[tuple[str, ...], list[Decimal]]()
    for statement in _split(body, ";"):
        if statement[:1] == [(False, "table")]:
            return _numbers(statement[1:])
        if statement[:1] == [(True, "(")]:
            end = statement.index((True, ")"))
            rows[tuple(_names(statement[1:end], len(parents)))] = _numbers(statement[end + 1 :])
    columns = [rows[given] for given in product(*(states[parent] for parent in parents))]
    return [column[k] for k in range(len(states[own])) for column in columns]


def _numbers(tokens: Sequence[BifToken]) -> list[Decimal]:
    return [Decimal(float(text)) for mark, text in tokens if not mark]


# --------------------------------------------------------------------------------------------------
# XMLBIF: names may hold blanks, brackets and any other sign.
# --------------------------------------------------------------------------------------------------

ENTITY = re.compile(r"<!\s*ENTITY", re.IGNORECASE)
BLOCKS = ("VARIABLE", "DEFINITION")


def xmlbif_nodes(text: str) -> dict[str, Any]:
    """The states, parents and table of every node of a file.

    Raises
    ------
    ValueError
        If it is no XML, or declares an entity, which may stand for text without end.
    """
    if ENTITY.search(text):
        raise ValueError("an entity")
    try:
        blocks = _blocks(text)
    except expat.ExpatError:
        raise ValueError("no XML") from None
    states = {_one(block, "NAME"): block["OUTCOME"] for tag, block in blocks if tag == "VARIABLE"}
    return dict(_node(block, states) for tag, block in blocks if tag == "DEFINITION")


def _node(block: Mapping[str, list[str]], states: Mapping[str, list[str]]) -> tuple[str, Any]:
    """A node whose table has its own state as the slowest index; in the file that is the fastest."""
    own, parents = _one(block, "FOR"), block["GIVEN"]
    numbers = [Decimal(float(text)) for text in _one(block, "TABLE").split()]
    size, rows = len(states[own]), math.prod(len(states[parent]) for parent in parents)
    if len(numbers) != size * rows:
        raise ValueError("a table of another size")
    table = [p for k in range(size) for p in numbers[k::size]]
    return own, {"states": states[own], "parents": parents, "logs": [table]}


def _one(block: Mapping[str, list[str]], tag: str) -> str:
    (text,) = block[tag]
    return text


def _blocks(text: str) -> list[tuple[str, defaultdict[str, list[str]]]]:
    """What stands directly in variables and definitions; no tree is built of the rest."""
    blocks, path, words = list[tuple[str, defaultdict[str, list[str]]]](), list[str](), list[str]()

    def start(tag: str, _: Mapping[str, str]) -> None:
        if tag in BLOCKS:
            blocks.append((tag, defaultdict(list)))
        path.append(tag)
        words.clear()

    def end(tag: str) -> None:
        path.pop()
        if path and path[-1] in BLOCKS:
            blocks[-1][1][tag].append("".join(words).strip())
        words.clear()

    parser = expat.ParserCreate("utf-8")
    parser.specified_attributes = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, words.append
    parser.Parse(text.encode(), True)
    return blocks


# --------------------------------------------------------------------------------------------------
# What a framework file declares, set beside what a calibration stores.
# --------------------------------------------------------------------------------------------------

MOST_BYTES = 2**24
CELLS, SHARE_TEXTS = ("histogram", "crosstab"), ("proportion", "share")
NOTIONS = {"distributional": forms.DISTRIBUTIONAL, "dataset": forms.DATASET, "value": forms.VALUE}
READERS = {".bif": bif_nodes, ".xml": xmlbif_nodes, ".xmlbif": xmlbif_nodes}


def declared(facts: Any, path: Path, trusted: list[str]) -> Any:
    """What a framework file declares, in the form of the facts that a calibration stores and must agree with."""
    toml = _toml(path)
    network, known = toml.get("network", {}), toml["notion"] in NOTIONS
    columns = {name: column_facts(column) for name, column in toml["columns"].items()}
    found: Any = {**facts, "notion": NOTIONS[toml["notion"]], "records": toml["records"]["count"], "columns": columns}
    _same(facts["notion"] == found["notion"] and facts["records"] == found["records"], "notion or number of records")
    differing = [name for name, column in facts["columns"].items() if columns.get(name) != column]
    _same(not differing, f"column {differing[0]!r:.80}" if differing else "")
    if "chain" in toml:
        return _chain(facts, toml, found)
    if "pymc" in network:
        trusted.append("that model and secrets are those of the file, whose model is a program")
        return found
    if "left_out" in facts and not (known and "protect" in facts and _are_read(network.get("file", ""))):
        if "above" in facts:
            trusted.append("that the model, which the file does not hold, has the graph in the calibration")
        return found
    forms.require(known and "missing_rows" not in network, "rows about which nothing is known, in a framework file")
    if "attributes" in network:
        return _normal(toml, facts, found)
    if "within" in network:
        forms.require(_are_read(network["file"]), "intervals around tables whose file is not read here")
        around = Nodes(_network({}, network["file"], path.parent, trusted))
        found["network"] = _within(around, Decimal(network["within"]))
        _same("left_out" in facts or _same_ends(facts["network"], found["network"]), "tables")
    else:
        found["network"] = _network(facts, network["file"], path.parent, trusted)
    found.pop("public_records", None)
    if "records" in network:
        asked = {name: columns[name] for name in facts["columns"]}
        found["public_records"] = _public_records(network["records"], path.parent, asked)
    if "left_out" not in facts:
        _same(_public(facts, columns) == _public(found, columns), "public records")
    found.pop("left_out", None)  # what the calibration has no room for, the files say
    states: Any = {name: list(map(str, each)) for name, each in read_nodes(found["network"]).states.items()}
    found["protect"] = {n: _secret(each, facts["protect"][n], states[n]) for n, each in toml["protect"].items()}
    _same(facts["protect"].keys() == found["protect"].keys(), "protected columns")
    found["independent"] = [name for name, column in toml["columns"].items() if column.get("independent")]
    found["laws"] = _laws(toml, states, found)
    for name, laws in found["laws"].items():
        both = zip(facts.get("laws", {}).get(name, []), laws, strict=False)
        _same(all(same_law(a, b) for a, b in both), f"distributions of {name!r:.80}")
    return found


def _chain(facts: Any, toml: Any, found: Any) -> Any:
    """The Markov chain of a file in place of the one that is stored, which must agree."""
    chain, (column,) = toml["chain"], toml["protect"]
    rows, first, length = chain["transition"], chain["initial"], chain["length"]
    matrices: Any = [rows] if isinstance(rows[0][0], int | float) else rows
    read: dict[str, Any] = {"column": column, "length": length if isinstance(length, list) else [length]}
    read["states"] = chain.get("states", [str(k) for k in range(len(matrices[0]))])
    read["transition"] = [[[float(p).hex() for p in row] for row in matrix] for matrix in matrices]
    laws: Any = first if isinstance(first, str) or isinstance(first[0], list) else [first]
    read["initial"] = laws if isinstance(laws, str) else [[float(p).hex() for p in row] for row in laws]
    both = facts.get("chain", read), read
    starts = [c["initial"] if isinstance(c["initial"], str) else "" for c in both]
    words = [(c["column"], *map(str, (*c["states"], *c["length"], s))) for c, s in zip(both, starts, strict=True)]
    _same(
        len({*words}) == 1 and forms.alike(*(forms.summed(enumerate(probabilities(c))) for c in both)), "Markov chain"
    )
    return {**{name: fact for name, fact in found.items() if name != "left_out"}, "chain": read}


def declared_moves(path: Path) -> tuple[int, int, int]:
    """The number of records, how many of them lie between two secrets of a framework file, and minus the first."""
    toml = _toml(path)
    n, found = toml["records"]["count"], 0
    forms.require(
        toml["notion"] == "dataset" and type(n) is int and 1 <= n <= 2**62, "a file that hides no numbers of records"
    )
    for secret in toml["protect"].values():
        kind = secret["property"].split("(")[0].strip()
        forms.require(kind in (*CELLS, *SHARE_TEXTS, "count") and "intervals" not in secret, f"the secret {kind!r:.40}")
        sides: list[Any] = [
            [side if isinstance(side, list) else [side] for side in pair] for pair in secret.get("pairs", [])
        ]
        forms.require(not (sides and kind in CELLS), "chosen pairs of several counts")
        unit = Fraction(1, n if kind in SHARE_TEXTS else 1)
        # a difference of counts lies between -n and n; of what is none the distances are the same
        found = max(found, farthest({**secret, **({"pairs": sides} if sides else {})}, 2 * n, -n * unit, unit))
    return n, min(n, found), -n


def _toml(path: Path) -> Any:
    try:
        return tomllib.loads(_read(path))
    except ValueError:
        raise forms.StopError("not covered", f"{path.name!r:.80}, which is no TOML in UTF-8") from None


def _read(path: Path) -> str:
    forms.require(os.path.isfile(path), f"{path.name!r:.80}, which is no regular file")  # a pipe might never end
    with open(path, "rb") as file:
        return file.read(MOST_BYTES).decode("utf-8-sig")


def _same(condition: object, what: str) -> None:
    if not condition:
        raise forms.StopError("fails", f"the calibration differs from the framework file in its {what}")


def _network(facts: Any, named: Any, folder: Path, trusted: list[str]) -> Any:
    """The tables of the network files, a model each; those that are stored where no file of theirs is read."""
    if not _are_read(named):
        trusted.append("the tables of the network: its file is not read here")
        return facts["network"]
    files = [folder / name for name in _listed(named)]
    models = [READERS[file.suffix.lower()](_read(file)) for file in files]
    first = models[0]
    forms.require(all(m[n]["states"] == first[n]["states"] for m in models for n in first), "states in two orders")
    found: Any = {"models": len(models), "nodes": {}, "driven": {}}
    if all(m[n]["parents"] == first[n]["parents"] for m in models for n in first):
        found["nodes"] = {n: {**node, "logs": [m[n]["logs"][0] for m in models]} for n, node in first.items()}
    else:  # a graph for each model
        found["graphs"] = [{"models": 1, "nodes": model, "driven": {}} for model in models]
    if "network" in facts:
        _same_tables(facts["network"], found)
    return found


def _within(around: Nodes, width: Decimal) -> Any:
    """The ends of tables that lie around those of some networks with one graph."""
    forms.require(not around.parts, "intervals around networks of several graphs")
    nodes = dict[str, Any]()
    for name, axes in around.axes.items():
        cells = list(product(*(range(len(around.states[each])) for each in axes)))
        masses = [[around.at(name, theta).get(cell, forms.ZERO) for theta in range(around.models)] for cell in cells]
        ends = {
            "lower": [max(forms.ZERO, min(p) - width) for p in masses],
            "upper": [min(forms.ONE, max(p) + width) for p in masses],
        }
        nodes[name] = {"states": around.states[name], "parents": list(axes[1:]), **ends}
    return {"models": 1, "ends": True, "driven": {}, "nodes": nodes}


def _same_ends(stored: Any, found: Any) -> bool:
    """Whether ends are the declared ones but for rounding, which is also that of sums."""
    for name, node in stored["nodes"].items():
        read = found["nodes"].get(name, {})
        if any(list(map(str, read.get(key, []))) != list(map(str, node[key])) for key in ("states", "parents")):
            return False
        pairs = zip(node["lower"] + node["upper"], read["lower"] + read["upper"], strict=True)
        if any(abs(forms.number(a) - b) > forms.ROUNDING for a, b in pairs):
            return False
    return bool(stored.get("ends"))


def _public_records(section: Any, folder: Path, columns: Any) -> Any:
    """Some columns of the file of public records, as a calibration stores them."""
    path = folder / section["file"]
    if not os.path.isfile(path):
        raise forms.StopError(
            "not covered", f"a model that needs the public file {path.name!r:.80} beside the framework file"
        )
    if os.path.getsize(path) > MOST_BYTES:
        raise forms.StopError("too large", f"a public file of more than {MOST_BYTES >> 20} MiB")
    text = _read(path).replace("\r\n", "\n").replace("\r", "\n")
    same = hashlib.sha256(text.encode()).hexdigest() == section["sha256"]
    forms.require(same, f"a public file {path.name!r:.80} that is not the one of the framework file, by its SHA-256")
    names, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    read = {name: [_cell(column, cell) for cell in cells[name]] for name, column in columns.items()}
    return {"draws": section["draws"], "seed": section["seed"], "columns": read}


def _public(facts: Any, columns: Any) -> object:
    return forms.WeightedRecords(facts["public_records"], columns).all if "public_records" in facts else None


def _cell(column: Any, text: str) -> Any:
    if column["type"] == "categorical":
        return next((category for category in column["categories"] if str(category) == text), None)
    return float(text) if text else None


def _listed(named: Any) -> Any:
    return cast(Any, named) if isinstance(named, list) else [named]


def _normal(toml: Any, facts: Any, found: Any) -> Any:
    """What a file declares of a linear-Gaussian network, its secrets and how records lie about their parameters."""

    def listed(numbers: Any) -> list[str]:
        return [float(each).hex() for each in _listed(numbers)]

    rows: Any = {
        name: {
            "intercept": listed(row["intercept"]),
            "deviation": listed(row["deviation"]),
            "coefficients": {parent: listed(slope) for parent, slope in row.get("coefficients", {}).items()},
        }
        for name, row in toml["network"]["attributes"].items()
    }
    stored = facts["normal"].get("regressions", {})
    _same(stored and all(rows.get(name) == row for name, row in stored.items()), "network")
    several = (each for row in rows.values() for each in (*row["coefficients"].values(), *list(row.values())[:2]))
    found["normal"] = {"models": max(map(len, several)), "driven": {}, "regressions": rows}
    _same(facts["normal"]["models"] == found["normal"]["models"], "number of models")
    _same(facts["protect"].keys() == toml["protect"].keys(), "protected columns")
    for name, secret in toml["protect"].items():
        known = facts["protect"][name]
        plain = ["".join(each.get("property", "").split()).replace("'", '"') for each in (secret, known)]
        _same(plain[0] == plain[1] and _values(secret, found["normal"], name) == _values(known, {}, name), "secrets")
    for name, laws in facts.get("laws", {}).items():
        law = law_facts(toml.get("laws", {}).get(name, {}), found["columns"][name], toml["columns"][name])
        _same(same_law(laws[0], law), f"distributions of {name!r:.80}")
    _same(
        sorted(facts.get("independent", []))
        == sorted(n for n in facts["columns"] if toml["columns"][n].get("independent")),
        "independent columns",
    )
    return found


def _values(secret: Any, normal: Any, name: str) -> Any:
    """Which values of a number must not be told apart, as a file or a calibration says it: a distance, or intervals."""
    if "apart" in secret or "at_most" in secret:
        apart = float.fromhex(secret["apart"]) if "apart" in secret else secret["at_most"]
        return float(f"{apart:.12g}")
    if "intervals" not in secret and "pairs" not in secret:  # as far apart as the largest deviation
        nodes = NormalNodes(normal)
        usual = math.sqrt(float(max(nodes.law(theta)[1][name, name] for theta in range(nodes.models))))
        return float(f"{usual:.12g}")
    found = set[Any]()
    for pair in secret.get("intervals", secret.get("pairs")):
        sides: Any = [side if isinstance(side, list) else [side, side] for side in pair]
        if "intervals" in secret:
            found.add(frozenset(tuple(float.fromhex(x) if isinstance(x, str) else x for x in side) for side in sides))
        else:
            found |= {frozenset(((one, one), (other, other))) for one, other in product(*sides)}
    return found


def _are_read(named: Any) -> bool:
    return all(Path(name).suffix.lower() in READERS for name in _listed(named))


def _same_tables(stored: Any, found: Any) -> None:
    _same(stored["models"] == found["models"], "number of models")
    before, read = Nodes(stored), Nodes(found)
    for name, theta in product(before.states, range(found["models"])):
        table, same = before.labelled(name, theta), read.labelled(name, theta)
        known = table is None or (same is not None and forms.alike(table, same))  # stored is what an answer depends on
        _same(known, f"tables of {name!r:.80}" + (f" in model {theta}" if found["models"] > 1 else ""))


def _laws(toml: Any, states: Mapping[str, list[str]], found: Any) -> Any:
    """The laws of columns, one for each state of their nodes: declared, or inside bins."""
    laws, columns = dict[str, Any](), found["columns"]
    kept = states.keys() | set(found["independent"])  # nothing that counts depends on a node that was left out
    for name, given in toml.get("laws", {}).items():
        if name in kept:
            each = states.get(name, [""])
            own = toml["columns"][name]
            law = {"categorical" if "categories" in columns[name] else "values": {forms.UNCOUNTED: 1.0}}
            given = {forms.UNCOUNTED: law, **given} if forms.gaps(columns[name]) else given
            laws[name] = [law_facts(given[s] if name in states else given, columns[name], own) for s in each]
    if found["notion"] == forms.DATASET:
        for name, column in columns.items():
            if "edges" in column and name in states and name not in laws:
                inside = laws_of_bins(toml["columns"][name], column)
                forms.require(set(inside) == set(states[name]), f"states of {name!r:.80} that are not its bins")
                laws[name] = [inside[state] for state in states[name]]
    return laws


def _secret(declared: Any, stored: Any, states: list[str]) -> Any:
    """A section [protect.NAME] as a calibration stores it; what it stores must agree."""
    listed = declared.get("pairs", [] if "property" in declared else list(combinations(states, 2)))
    pairs: list[Any] = [[side if isinstance(side, list) else [side] for side in pair] for pair in listed]
    known = stored.get("pairs", []) if "property" in declared else stored
    sets = [{frozenset(frozenset(map(str, side)) for side in pair) for pair in each} for each in (pairs, known)]
    _same(sets[0] == sets[1], "pairs of secrets")
    if "property" not in declared:
        forms.require(all({*side} <= {*states} for pair in pairs for side in pair), "a secret that is no state")
        return pairs
    plain = ["".join(each["property"].split()).replace("'", '"') for each in (declared, stored)]
    _same(plain[0] == plain[1] and declared.get("at_most") == stored.get("at_most"), "secrets")
    return {**stored, **({"pairs": pairs} if pairs else {})}
