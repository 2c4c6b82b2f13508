"""Mutated and truncated network files: only our own errors come out, or a valid network, and soon.

A few hundred of each format are in every run. The large run is marked slow; `BNPRIV_MUTANTS` sets how many files it
tries, 100,000 by default, and `BNPRIV_SEED` which:

    BNPRIV_MUTANTS=1000000 BNPRIV_SEED=7 python -m pytest -m slow tests/unit/io/networks/test_files_mutated.py
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError
from bnpriv.io.networks.files import read_network
from tests.mutation import limited, mutate

SECONDS = 5.0
FEW = 400
MANY = int(os.environ.get("BNPRIV_MUTANTS", "100000"))
SEED = int(os.environ.get("BNPRIV_SEED", "20261120"))

BIF = b"""// a comment
network "student" { property author "a {b}" ; }
variable income { type discrete [ 2 ] { low, high }; }
variable "sat" { type discrete [ 3 ] { weak, fair, strong }; property position = (1, 2) ; }
variable height { type discrete [ 2 ] { "not tall", tall }; }
probability ( income ) { table 0.6, 0.4; }
probability ( sat | income ) { (high) 0.1, 0.3, 0.6; (low) 0.5, 0.3, 0.2; }
/* another comment */
probability ( height | sat, income ) {
  (weak, low) 0.5, 0.5; (fair, low) 0.4, 0.6; (strong, low) 1e-3, 0.999;
  (weak, high) 0.5, 0.5; (fair, high) 0.4, 0.6; (strong, high) 1, 0;
}
"""

XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<!-- a comment -->
<BIF VERSION="0.3"><NETWORK><NAME>student</NAME>
<VARIABLE TYPE="nature"><NAME>income</NAME><OUTCOME>low</OUTCOME><OUTCOME>h&amp;h</OUTCOME></VARIABLE>
<VARIABLE><NAME>sat</NAME><OUTCOME>weak</OUTCOME><OUTCOME>fair</OUTCOME><OUTCOME>strong</OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE><NAME>height</NAME><OUTCOME>not tall</OUTCOME><OUTCOME>tall</OUTCOME></VARIABLE>
<DEFINITION><FOR>income</FOR><TABLE>0.6 0.4</TABLE></DEFINITION>
<DEFINITION><FOR>sat</FOR><GIVEN>income</GIVEN><TABLE>0.5 0.3 0.2 0.1 0.3 0.6</TABLE></DEFINITION>
<DEFINITION><FOR>height</FOR><GIVEN>sat</GIVEN><GIVEN>income</GIVEN>
<TABLE>0.5 0.5 0.4 0.6 1e-3 0.999 0.5 0.5 0.4 0.6 1 0</TABLE></DEFINITION>
</NETWORK></BIF>
"""

NET = b"""% a comment
net { node_size = (80 40); }
node income { states = ("low" "high"); label = "families; {income}"; }
discrete node sat { states = ("weak", "fair", "strong"); position = (1 2); }
node height { states = ("not_tall" "tall"); }
potential (income) { data = (0.6 0.4); }
potential (sat | income) { data = ((0.5 0.3 0.2) % low
  (0.1 0.3 0.6)); }
potential (height | sat income) {
  data = (((0.5 0.5)(0.4 0.6)) ((1e-3 0.999)(0.5 0.5)) ((0.4 0.6)(1 0)));
}
"""

UAI = b"""BAYES
3
2 3 2
3
1 0
2 0 1
3 1 0 2

2
 0.6 0.4
6
 0.5 0.3 0.2
 0.1 0.3 0.6
12
 0.5 0.5 0.4 0.6 1e-3 0.999 0.5 0.5 0.4 0.6 1 0
"""

FILES = {".bif": BIF, ".xml": XML, ".net": NET, ".uai": UAI}


def check(network: DiscreteNetwork) -> None:
    """Check that a network that came out is valid."""
    for name in network.attributes:
        table = network.probabilities(name)
        assert table.shape[1:] == tuple(len(network.states[axis]) for axis in network.tables[name].axes)
        assert np.all(table >= 0)
        assert np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-9)


def outcome(path: Path, *, normalize: bool) -> str:
    """Return what came out of a file; whatever is not ours is let through."""
    try:
        with limited(SECONDS):
            network = read_network(path, normalize=normalize)
    except BnprivError as refused:
        complete = refused.__cause__ is None and refused.required and refused.found and refused.remedy
        return type(refused).__name__ if complete else "incomplete refusal"
    check(network)
    return "network"


def attack(path: Path, count: int, seed: int) -> Counter[str]:
    """Read mutants, and count what came out; the one that broke something is left at `path`."""
    rng = random.Random(f"{seed}{path.suffix}")
    found: Counter[str] = Counter()
    for _ in range(count):
        content = FILES[path.suffix]
        for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
            content = mutate(rng, content)
        path.write_bytes(content)
        found[outcome(path, normalize=rng.random() < 0.5)] += 1
    assert not found["incomplete refusal"]
    return found


@pytest.mark.parametrize("suffix", FILES)
def test_the_file_itself_is_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"whole{suffix}"
    path.write_bytes(FILES[suffix])
    network = read_network(path)
    assert set(network.attributes) == ({"var_0", "var_1", "var_2"} if suffix == ".uai" else {"income", "sat", "height"})
    check(network)


@pytest.mark.parametrize("suffix", FILES)
def test_every_truncation(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"short{suffix}"
    whole = len(FILES[suffix].rstrip())
    for length in range(whole):
        path.write_bytes(FILES[suffix][:length])
        with limited(SECONDS), pytest.raises(BnprivError):
            read_network(path)


@pytest.mark.parametrize("suffix", FILES)
def test_mutants(tmp_path: Path, suffix: str) -> None:
    found = attack(tmp_path / f"mutant{suffix}", FEW, SEED)
    assert found["network"] > 5  # the mutations are not so wild that nothing ever passes the scan
    assert found["FileError"] > FEW / 4


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FILES)
def test_many_mutants(tmp_path: Path, suffix: str) -> None:
    found = attack(tmp_path / f"mutant{suffix}", MANY // len(FILES), SEED + 1)
    print(suffix, dict(found))
    assert found["network"] > 0
