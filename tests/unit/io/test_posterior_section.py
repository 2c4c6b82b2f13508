"""Network files that a framework file calls draws from a posterior: what guarantees say, and the way back to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy
from bnpriv.core.mechanisms.law_mechanisms import TightMechanism
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.errors import BnprivError
from bnpriv.io.framework_file import read_framework
from bnpriv.io.networks.texts import network_text
from bnpriv.io.starter.files import files_to_start
from bnpriv.io.starter.learn import written_tables
from bnpriv.io.starter.start import start
from bnpriv.views.report.report import influence_report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = ("no,no", "yes,no", "yes,yes", "no,yes", "yes,yes")
    (tmp_path / "public.csv").write_text("smokes,ill\n" + "\n".join(lines[k % 5] for k in range(200)), encoding="utf-8")
    (tmp_path / "ours.csv").write_text("smokes,ill\nyes,yes\nno,no\n", encoding="utf-8")
    return tmp_path


def begun(folder: Path) -> Path:
    place = folder / "framework.toml"
    ours, public = folder / "ours.csv", folder / "public.csv"
    text, files = files_to_start(str(ours), place, notion="dataset", learn=public, records=200, protect=["ill"])
    for path, content in {**files, place: text}.items():
        path.write_text(content, encoding="utf-8")
    return place


def promised(framework: object) -> str:
    assert isinstance(framework, DatasetAttributePrivacy)
    return TightMechanism().calibrate(framework, "count(smokes == 'yes')", epsilon=1.0).guarantee.sentence


def test_a_file_promises_what_python_does(folder: Path) -> None:
    ours, public = folder / "ours.csv", folder / "public.csv"
    said = promised(read_framework(begun(folder)))
    assert said == promised(start(ours, records=200, protect="ill", learn=public))
    assert "any of the 20 models drawn from a posterior (public data: public.csv, 200 public records)" in said
    assert "With confidence 95 % at most 19 % of the posterior lies above what is worst among the 20 draws," in said


def test_draws_of_a_file_go_back_to_a_file(folder: Path) -> None:
    framework = read_framework(begun(folder))
    assert isinstance(framework, DatasetAttributePrivacy)
    (folder / "again").mkdir()
    framework.to_file(folder / "again" / "framework.toml")
    again = read_framework(folder / "again" / "framework.toml")
    assert isinstance(again, DatasetAttributePrivacy)
    assert again.network.posterior_draws == framework.network.posterior_draws
    assert promised(again) == promised(framework)
    assert "\nrecords = 200\n" in (folder / "again" / "framework.toml").read_text(encoding="utf-8")
    report = influence_report(again)
    assert report.attributes[0].asked_likely is not None
    assert str(report) == str(influence_report(framework))


def test_without_the_section_they_are_declared_models(folder: Path) -> None:
    place = begun(folder)
    text = place.read_text(encoding="utf-8")
    head, rest = text.split("[network.posterior]")
    place.write_text(head + "[records]" + rest.split("[records]")[1], encoding="utf-8")
    said = promised(read_framework(place))
    assert "any one of the 20 declared models" in said
    assert "posterior lies" not in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("source = 'x'", "source = 3", "source"),
        ("source = 'x'", "", "source"),
        ("source = 'x'", "source = 'x'\nseeds = 3", "the unknown 'seeds'"),
        (
            "source = 'x'",
            "source = 'x'\nrecords = 0",
            r"f.toml, line 3, \[network\]: records of \[network.posterior\] must be at least 1",
        ),
        ('level = "records"', 'level = "records"\nwithin = 0.1', "stay as they were drawn"),
        ("[network.posterior]\nsource = 'x'", "posterior = 'x'", "posterior"),
    ],
)
def test_sections_that_are_not_well_formed(folder: Path, old: str, new: str, words: str) -> None:
    network = DiscreteNetwork.from_tables({"ill": [0.5, 0.5]}, states={"ill": ["no", "yes"]}, level="records")
    (folder / "a.xml").write_text(network_text(written_tables(network, 0), ".xml"), encoding="utf-8")
    text = (
        'notion = "dataset"\nsource = "x"\n[network]\nfile = "a.xml"\nlevel = "records"\n'
        "[network.posterior]\nsource = 'x'\n"
        '[records]\ncount = 9\n[columns.ill]\ntype = "categorical"\ncategories = ["no", "yes"]\n'
        "[protect.ill]\nproperty = 'count(ill == \"yes\")'\nat_most = 1\n"
    )
    (folder / "f.toml").write_text(text, encoding="utf-8")
    assert read_framework(folder / "f.toml")
    assert old in text
    (folder / "f.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(BnprivError, match=words):
        read_framework(folder / "f.toml")
