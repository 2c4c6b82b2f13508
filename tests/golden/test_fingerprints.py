"""Ledgers and stored calibrations keep fingerprints: these are what they were when they were first written.

A change here makes every ledger of a framework refuse it, and every stored calibration of it unreadable.
"""

from __future__ import annotations

from importlib.metadata import version

import pytest

import bnpriv as bp
from bnpriv.digest import digest

FRAMEWORKS = {
    "activity": "fd6bd27499e4fc5241ac444492b167086c2cb4c654ab5399b0111aebd155db41",
    "admissions": "69944e1f34b4b51dfe9312c18bc34c6aef19945d3836b8c8725543b985b9ea3f",
    "census": "5f158a6e7cf1f4d981fbe7844d6d1d4ec41a656e66965b4b81da39dcc2cd1f2a",
    "clinic": "9c21b2e2e6423b49d0b7ffe94f8cf3d1654666690308b43586d003e3d9d96587",
    "counties": "673803edfbeb0f23af03bf3c5ce566b1e4eb591aa85b2b4498bfb02507ceb157",
    "four-people": "c5ef538763fea510556b56b33e96f06032e4e3e65554bc76e0e3a8089886854e",
    "hospital": "a9051045b2bd38b4473b9b7b64b46bac8ba1ae62a0122b5cae546996848d133f",
    "schools": "46b248556983d61f4a5a4adfb9a04c61ce43ff584e05b3eb52a1642b46de9ab6",
    "student": "f9521bf3a73f8e998dd33f21a5d554ee1046fe036bfd73fd91d2dd12c64fbc38",
    "survey": "e9348b87ce18ac0aba960c4e3430d78e9fc5b517183465acd06a7b237e51cb63",
}

SECRETS = {
    'bp.count(c("a")=="x")': "40f628cc48133e54248343e3af9c32c96a2e05e150fb60a9c810d32ff473aeb5",
    'bp.count((c("a")=="x")&(c("n")>2))': "da0dc360804fc73ba209ed46e7f0a5aed30a3e2b20b85738cf41b376af2ecce4",
    'bp.count((c("a")=="x")|~(c("n")>2))': "c1d7aae7209bed2c100753b789e0f9841db7f7f2deb55d825f4981950a56b60d",
    'bp.count(c("a").isin(["x","y"]))': "0045e3443ccb489a0411524c7c7d296bee98aecbc9c7a62918b468c14b79a1a9",
    'bp.proportion(c("a")=="x")': "5db405aff36db34dfdae7d8b2c66cf1105f526da1e26fc30543817e619ba9141",
    'bp.total("n")': "b8534d278bd75f1e9d5ba593d74e00e1dd31eeb45f373239c87346e02ea81e44",
    'bp.mean("n")': "0438bc7fbf69c6e6c6758954436b76554ce2ece0f3288b973e5bd1e670d0c4e2",
    'bp.linear({"n":.5})': "8225b4400cfb86a11d698129175df75849b002316223ab8520c7abfcd2680aea",
    'bp.histogram("n",[0,5,10])': "dce4b3ad8356dde0710c835c4c8ff57876eefa5d61aa0f93edcaabca0f8e8697",
    'bp.moments(["n"])': "89de2ee4a2fcad43b747b2740e144d43857987fc32f2386e6a72f546c38b1241",
    'bp.stack(bp.total("n"),bp.mean("n"))': "38a4002b6e9bcf5fb3906aea2bca40545cfe62a9b69067ea886736958c228cac",
    'bp.crosstab("a","b")': "7f912cf6545992dc29a22d78378939fdba3ebfd2c4a05e4004da9db24de63036",
    'bp.count(c("n")>1).by("a")': "4bb2bca81067caaf11585e10f94adeaa3c2dd69697d78d6be3d631edbcd74df2",
    'bp.parse_query("median(n, [0, 5, 10])")': "f6988381dcd0f02f614d52a8407d25d90bbaf57a9d2ce0514aad2b4ea6fed8b5",
    'bp.parse_query("variance(n)")': "3b07d64b270b2ea1dc60dae60caea106d2ee4034d1502ee8bc8acd6d3badddd9",
    'bp.parse_query("std(n)")': "8fce6a93e04943a5cb71c48d4f0ceabb458880f0e3d1da0d7f21568924006f98",
    'bp.parse_query("covariance(n, m)")': "de26ffd104bf1093742cc5894147be8e2838ed8641c6c1fc029780deaf778230",
    "bp.apart(at_most=3)": "1cdf0fb43ba7cdecf59c06b5c8e602b464d1294c93b80640076439aa950b0130",
    "bp.pairs((1,2))": "df6faa5e71d9ef83da8de9ed15fead9e74359a572cbd722431f5a2d40b950cf6",
    'bp.pairs(({"x"},{"y"}))': "b936a2c604a9342982773794454795942125e234ef570e8fccadec338cf332ea",
    "bp.intervals((0,1),(2,3))": "2db5cacad83853c1180f734823868f74137cd4979010b060e20ab3f0a1784249",
    'bp.Secret(bp.count(c("a")=="x"), pairs=bp.apart(at_most=3))': "fd6b9e8f3746fe11d1e0a8e73c336ff8723ef419aebd62b485c8794ea1c79dbf",  # noqa: E501
    'bp.Secret(bp.mean("n"), pairs=None)': "8c1d5661063f733a9be36d49c559cb5ce9eecbe211c1df754c88a2cd830ff71a",
    'bp.Secret(bp.total("n"), pairs=bp.pairs((1,2)))': "067bda5f2b9ce010bf8e16eb3f3f6477d0439cdfc30a96d76fddde63028fc213",  # noqa: E501
}


LATER_PYMC = {"counties": "a7b182eefb2718bacb6d1073921467e213f2c6c2fb9cc507fa7ee7998d32b8e4"}
"""Where the next major release of PyMC writes the same model as another graph."""


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_frameworks_keep_their_fingerprints(name: str) -> None:
    later = LATER_PYMC if int(version("pymc").partition(".")[0]) > 5 else {}
    assert bp.example(name).fingerprint() == (FRAMEWORKS | later)[name]


@pytest.mark.parametrize("declared", SECRETS)
def test_secrets_keep_their_hashes(declared: str) -> None:
    assert digest(eval(declared, {"bp": bp, "c": bp.col})) == SECRETS[declared]
