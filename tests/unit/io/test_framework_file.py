"""Framework files: what they declare, and that everything else in them is refused by name."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from bnpriv.core.columns import Categorical, Integer, Real
from bnpriv.core.frameworks.attributes import DatasetAttributePrivacy, DistributionalAttributePrivacy
from bnpriv.core.frameworks.pairs import DistributionPrivacy
from bnpriv.core.frameworks.question import Framework
from bnpriv.core.networks.discrete import DiscreteNetwork
from bnpriv.core.secrets import Secret, apart, pairs
from bnpriv.errors import (
    BnprivError,
    FileError,
    FileProblemsError,
    FrameworkError,
    NetworkError,
    QueryError,
    SchemaError,
    SecretError,
)
from bnpriv.io import framework_file, framework_sections as framework_network
from bnpriv.io.examples import example_path
from bnpriv.io.framework_file import read_framework, read_hidden, read_queries
from bnpriv.io.networks.files import read_network
from bnpriv.io.query_text import parse_query
from bnpriv.io.toml import key_lines, line_of
from bnpriv.tables.readings import Dialect

NETWORK = """
variable income { type discrete [ 3 ] { low, middle, high }; }
variable sat { type discrete [ 2 ] { weak, strong }; }
probability ( income ) { table 0.3, 0.5, 0.2; }
probability ( sat | income ) { (low) 0.7, 0.3; (middle) 0.5, 0.5; (high) 0.3, 0.7; }
"""

TEXT = """
notion = "distributional"
source = "public census 2020"

[network]
file = "network.bif"
level = "parameters"
normalize = false

[records]
count = 1_000

[columns.income]
type = "categorical"
categories = ["low", "middle", "high"]
missing = "middle"

[columns.sat]
type = "integer"
lower = 400
upper = 1600
missing = 1000

[columns.height]
type = "real"
lower = 120
upper = 220.5
independent = true

[protect.income]
pairs = [["low", "high"], ["low", ["middle", "high"]]]

[queries]
"high scores" = "count(sat >= 1200)"
both = "stack(count(height > 180), mean(sat))"
"""


def write(folder: Path, text: str = TEXT, network: str = NETWORK, name: str = "framework.toml") -> Path:
    (folder / "network.bif").write_text(network, encoding="utf-8")
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def network_of(framework: Framework) -> DiscreteNetwork:
    assert not isinstance(framework, DistributionPrivacy)
    return framework.network


def test_reads_everything(tmp_path: Path) -> None:
    framework = read_framework(write(tmp_path))
    assert isinstance(framework, DistributionalAttributePrivacy)
    assert framework.source == "public census 2020"
    assert framework.schema.records == 1000
    assert framework.schema.columns == {
        "income": Categorical(["low", "middle", "high"], missing="middle"),
        "sat": Integer(400, 1600, missing=1000),
        "height": Real(120, 220.5),
    }
    assert framework.independent == {"height"}
    assert set(framework.network.attributes) == {"income", "sat"}
    assert list(map(str, framework.secrets["income"])) == [
        "low against high",
        "high against low",
        "low against {high, middle}",
        "{high, middle} against low",
    ]


def test_all_pairs_by_default_and_several_attributes(tmp_path: Path) -> None:
    text = TEXT.replace('pairs = [["low", "high"], ["low", ["middle", "high"]]]', "[protect.sat]")
    framework = read_framework(str(write(tmp_path, text)))
    assert isinstance(framework, DistributionalAttributePrivacy)
    assert {name: len(chosen) for name, chosen in framework.secrets.items()} == {"income": 6, "sat": 2}


def test_defaults(tmp_path: Path) -> None:
    short = TEXT.replace("normalize = false\n", "").split("[queries]")[0]
    assert network_of(read_framework(write(tmp_path, short))).level == "parameters"
    assert read_queries(tmp_path / "framework.toml") == {}


def test_normalize(tmp_path: Path) -> None:
    single = read_framework(write(tmp_path, network=NETWORK.replace("0.7, 0.3", "0.7, 0.3000001")))
    assert "each was divided by its sum" in str(single.network.reading.notes)
    off = NETWORK.replace("0.7, 0.3", "0.7, 0.30001")
    with pytest.raises(NetworkError, match=r"framework\.toml, line 5, \[network\]: .*normalize = true"):
        read_framework(write(tmp_path, network=off))
    assert read_framework(write(tmp_path, TEXT.replace("false", "true"), off)).models == 1


def test_network_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "networks").mkdir()
    path = write(tmp_path, TEXT.replace("network.bif", "networks/network.bif"))
    (tmp_path / "network.bif").rename(tmp_path / "networks" / "network.bif")
    assert read_framework(path).schema.records == 1000


def test_queries(tmp_path: Path) -> None:
    queries = read_queries(write(tmp_path))
    assert {name: sorted(query.columns) for name, query in queries.items()} == {
        "high scores": ["sat"],
        "both": ["height", "sat"],
    }


PROTECT = TEXT[TEXT.index("[protect.income]") : TEXT.index("[queries]")]

REFUSED: dict[str, tuple[str, str, type[BnprivError], str]] = {
    "no notion": ('notion = "distributional"', "", FileError, "found none. Write notion = \"dataset\""),
    "another notion": ("distributional", "causal", FileError, "found 'causal'"),
    "no source": ('source = "public census 2020"', "", FileError, "source must be a text; found none"),
    "an empty source": ("public census 2020", "", FileError, "an empty string"),
    "a source that is no text": ('"public census 2020"', "2020", FileError, "found a whole number"),
    "an unknown section": ("[records]", "[weather]\nwind = 1\n[records]", FileError, "the unknown 'weather'"),
    "a misspelt section": ("[queries]", "[querys]", FileError, "Did you mean 'queries'?"),
    "a misspelt key": ("lower = 120", "lowr = 120", FileError, "[columns.height]: the keys must be among"),
    "a nearest key": ("lower = 120", "lowr = 120", FileError, "Did you mean 'lower'?"),
    "a key of another type": ("missing = 1000", "categories = [1]", FileError, "the unknown 'categories'"),
    "a property": ("pairs =", 'property = "count(sat > 3)"\npairs =', FileError, "the unknown 'property'"),
    "at most": ("pairs =", "at_most = 3\npairs =", FileError, "[protect.income]: the keys must be among pairs"),
    "no network": ("[network]", "[records.network]", FileError, "a section [network] is needed"),
    "no file": ('file = "network.bif"', "", FileError, "[network]: file must be a text; found none"),
    "another level": ('"parameters"', '"records"', FrameworkError, "line 7, [network]: notion ="),
    "an unknown level": ('"parameters"', '"columns"', NetworkError, "level must be one of"),
    "normalize that is no truth value": ("normalize = false", 'normalize = "no"', FileError, "true or false"),
    "a missing network": ("network.bif", "networks.bif", FileError, "[network]: a network file must be there"),
    "a pickle": ("network.bif", "network.pkl", FileError, "pickle"),
    "an absolute path": ("network.bif", "/etc/network.bif", FileError, "in the folder of the framework file"),
    "a path upwards": ("network.bif", "../network.bif", FileError, "in the folder of the framework file"),
    "a path up and down": ("network.bif", "a/../network.bif", FileError, "in the folder of the framework file"),
    "a path with a drive": ("network.bif", "C:network.bif", FileError, "in the folder of the framework file"),
    "a path with backslashes": ('"network.bif"', "'a\\network.bif'", FileError, "in the folder of the framework file"),
    "no count": ("count = 1_000", "", FileError, "[records]: count is needed"),
    "a count of nothing": ("1_000", "0", SchemaError, "records must be at least 1"),
    "a count that is no number": ("1_000", "true", SchemaError, "records must be a whole number"),
    "a column that is no section": ("[columns.sat]", "[columns]\nsat = 3\n[columns.x]", FileError, "[columns.sat] is"),
    "no type": ('type = "real"', "", FileError, "[columns.height]: type must be a text"),
    "another type": ('"real"', '"float"', FileError, "one of real, integer, binned, categorical"),
    "no bound": ("lower = 120", "", FileError, "[columns.height]: lower is needed"),
    "an infinite bound": ("220.5", "inf", SchemaError, "[columns.height]: the upper bound must be finite"),
    "NaN": ("220.5", "nan", SchemaError, "must be finite"),
    "a date": ("220.5", "2020-01-01", SchemaError, "must be a number; found a date"),
    "inverted bounds": ("220.5", "20", SchemaError, "[columns.height]: lower must be below upper"),
    "missing outside the bounds": ("missing = 1000", "missing = 10", SchemaError, "[columns.sat]: missing must lie"),
    "no categories": ('["low", "middle", "high"]\nm', "[]\nm", SchemaError, "[columns.income]"),
    "categories of tables": ('["low", "middle", "high"]\nm', "[{a=1}]\nm", BnprivError, "[columns.income]"),
    "categories that are no list": ('["low", "middle", "high"]\nm', '"low"\nm', FileError, "categories must be a list"),
    "independent that is no truth value": ("independent = true", "independent = 1", FileError, "true or false"),
    "an independent node": ("missing = 1000", "independent = true", FrameworkError, "found sat"),
    "nothing protected": (PROTECT, "[protect]\n", FileError, "line 30: something must be protected"),
    "no section of what is protected": (PROTECT, "", FileError, "a section [protect] is needed"),
    "an unknown attribute": ("[protect.income]", "[protect.wealth]", SecretError, "wealth"),
    "pairs that are no list": ('[["low", "high"], ["low", ["middle", "high"]]]', '"low"', FileError, "list of pairs"),
    "a pair of three": ('["low", "high"],', '["low", "high", "middle"],', FileError, "list of pairs"),
    "a flat list": ('[["low", "high"], ["low", ["middle", "high"]]]', '["low", "high"]', FileError, "list of pairs"),
    "no pair": ('[["low", "high"], ["low", ["middle", "high"]]]', "[]", SecretError, "at least one pair"),
    "an empty side": ('["middle", "high"]]]', "[]]]", SecretError, "[protect.income]: a secret needs a state"),
    "overlapping sides": ('["middle", "high"]]]', '["low", "high"]]]', SecretError, "must be disjoint"),
    "an unknown state": ('["middle", "high"]]]', '["rich"]]]', SecretError, "'rich'"),
    "a side that is a table": ('["middle", "high"]]]', "{a = 1}]]", FileError, "a state or a list of states"),
    "a broken query": ("count(sat >= 1200)", "count(sat >=", QueryError, '[queries] "high scores"'),
    "a query that is no text": ('"count(sat >= 1200)"', "7", FileError, "high scores must be a text"),
    "a repeated key": ("count = 1_000", "count = 1\ncount = 2", FileError, "line 12: every key and every"),
    "no TOML": ("[network]", "[network", FileError, "must be TOML"),
    "brackets without end": ("1_000", "[" * 5000, FileError, "must be TOML"),
    "a number without end": ("1_000", "1" * 5000, FileError, "must be TOML"),
    "a key without end": ("count = 1_000", "a." * 5000 + "a = 1", FileError, "keys must be short; found a long one"),
    "a NUL": ("1_000", "1\0", FileError, "NUL"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    old, new, error, words = REFUSED[case]
    assert old in TEXT
    with pytest.raises(error) as refused:
        read_framework(write(tmp_path, TEXT.replace(old, new, 1)))
    assert words in str(refused.value)
    assert "framework.toml" in str(refused.value) or error is FileError
    assert refused.value.__cause__ is None


DATASET = """
notion = "dataset"
source = "a survey of other places"

[network]
file = "network.bif"
level = "records"

[records]
count = 200

[columns.income]
type = "categorical"
categories = ["low", "middle", "high"]

[columns.sat]
type = "integer"
lower = 400
upper = 1600

[protect.income]
property = "count(income == \\"high\\")"
at_most = 50

[laws.sat.weak]
normal = [950, 180]

[laws.sat.strong]
normal = [1150, 180]

[queries]
"high scores" = "count(sat >= 1200)"
"""
HIGH = parse_query('count(income == "high")')


def test_a_secret_under_a_name_that_is_no_column_is_told_which_name_it_takes(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match=r"This one is about 'income': write \[protect\.income\]"):
        dataset(tmp_path, DATASET.replace("[protect.income]", "[protect.rich_families]"))
    with pytest.raises(SecretError, match="Did you mean 'income'"):
        dataset(tmp_path, DATASET.replace("[protect.income]", "[protect.incom]"))


def dataset(folder: Path, text: str = DATASET) -> DatasetAttributePrivacy:
    framework = read_framework(write(folder, text))
    assert isinstance(framework, DatasetAttributePrivacy)
    return framework


def test_a_property_of_the_table(tmp_path: Path) -> None:
    framework = dataset(tmp_path)
    assert framework.network.level == "records"
    assert framework.schema.records == 200
    assert framework.source == "a survey of other places"
    assert framework.protect == {"income": Secret(HIGH, pairs=apart(at_most=50))}
    assert set(framework.column_laws) == {"sat"}
    assert len(framework.column_laws["sat"]) == 2


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("", None),
        ("at_most = 1.5", apart(at_most=1.5)),
        ("pairs = [[40, 50], [40, [60, 70]]]", pairs((40, 50), (40, [60, 70]))),
    ],
)
def test_the_pairs_of_a_property(tmp_path: Path, line: str, chosen: object) -> None:
    assert dataset(tmp_path, DATASET.replace("at_most = 50", line)).protect["income"].pairs == chosen


def test_the_level_of_a_dataset_is_records_by_default(tmp_path: Path) -> None:
    assert dataset(tmp_path, DATASET.replace('level = "records"', "")).network.level == "records"


REFUSED_DATASET: dict[str, tuple[str, str, type[BnprivError], str]] = {
    "the other level": ('"records"', '"parameters"', FrameworkError, "line 7, [network]: notion ="),
    "no property": ("property =", "# property =", FileError, "[protect.income]: property must be a text; found none"),
    "a property that is no text": ('"count(income == \\"high\\")"', "3", FileError, "property must be a text"),
    "a broken property": ('\\"high\\")"', '"', BnprivError, "[protect.income]"),
    "a property of another kind": ('"count(income == \\"high\\")"', '"moments(sat)"', BnprivError, "[protect.income]"),
    "a property of another column": ('income == \\"high\\"', "sat > 1200", SecretError, "a property of that column"),
    "both": ("at_most = 50", "at_most = 50\npairs = [[1, 2]]", FileError, "[protect.income]: values are chosen by"),
    "no distance": ("at_most = 50", "at_most = 0", BnprivError, "at_most"),
    "a distance that is no number": ("at_most = 50", 'at_most = "far"', BnprivError, "at_most"),
    "a misspelt key": ("at_most = 50", "atmost = 50", FileError, "Did you mean 'at_most'?"),
    "pairs that are no list": ("at_most = 50", "pairs = 3", FileError, "Write pairs = [[40, 50]"),
    "a side that is a table": ("at_most = 50", "pairs = [[1, {a = 1}]]", FileError, "a value or a list of values"),
    "an independent column": ("upper = 1600", "upper = 1600\nindependent = true", FileError, "unknown 'independent'"),
    "nothing protected": (
        DATASET[DATASET.index("[protect") : DATASET.index("[laws")], "[protect]\n", FileError, "must be protected",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED_DATASET)
def test_refused_in_a_dataset(tmp_path: Path, case: str) -> None:
    old, new, error, words = REFUSED_DATASET[case]
    assert old in DATASET
    with pytest.raises(error) as refused:
        read_framework(write(tmp_path, DATASET.replace(old, new, 1)))
    assert words in str(refused.value)
    assert "framework.toml" in str(refused.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    path = write(tmp_path)
    for name in ("framework.json", "framework", "framework.toml.pkl"):
        with pytest.raises(FileError, match=r"end in \.toml"):
            read_framework(tmp_path / name)
    with pytest.raises(FileError, match="no such file"):
        read_framework(tmp_path / "missing.toml")
    (tmp_path / "link.toml").symlink_to(path)
    with pytest.raises(FileError, match="symbolic link"):
        read_framework(tmp_path / "link.toml")
    path.write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(FileError, match="UTF-8"):
        read_queries(path)
    path.write_text("#" * (framework_file.MOST_FRAMEWORK_BYTES + 1))
    with pytest.raises(FileError, match="at most 262,144 bytes"):
        read_framework(path)


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    write(tmp_path / "elsewhere")
    (tmp_path / "here" / "folder").symlink_to(tmp_path / "elsewhere")
    path = write(tmp_path / "here", TEXT.replace("network.bif", "folder/network.bif"))
    with pytest.raises(FileError, match="in the folder of the framework file"):
        read_framework(path)


@pytest.mark.unhurried
def test_mutants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = read_network(write(tmp_path).parent / "network.bif", "parameters")

    def known(*_: object, **__: object) -> DiscreteNetwork:
        return network

    monkeypatch.setattr(framework_network, "read_network", known)
    rng = random.Random(20261120)
    path, passed = tmp_path / "mutant.toml", 0
    for _ in range(1500):
        a, b = sorted(rng.randrange(len(TEXT)) for _ in range(2))
        b = min(b, a + rng.choice((0, 1, 3, 20)))
        piece = rng.choice(("", "=", "[", "]", '"', "'", "\n", ".", "1", "-", "{", "}", "nan", "\x7f", "é", '"""', "#"))
        path.write_text(TEXT[:a] + piece + TEXT[b:], encoding="utf-8")
        try:
            read_framework(path)
            passed += 1
        except BnprivError as refused:
            assert refused.remedy  # noqa: PT017
    assert 50 < passed < 1450


def test_a_file_that_is_not_filled_in_is_told_all_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text('notion = "distributional"\n[network]\n[records]\n[columns.x]\n[columns."a b"]\n')
    with pytest.raises(FileError) as refused:
        read_framework(path)
    found = str(refused.value).splitlines()
    assert found[0].endswith("f.toml: a framework file must have no problem; found 6. Mend each of them:")
    for line, (place, key) in zip(
        found[1:],
        [
            ("", "source must be a text"),
            ("line 2, [network]", "file must be a text"),
            ("line 3, [records]", "count is needed"),
            ("line 4, [columns.x]", "type must be a text"),
            ('line 5, [columns."a b"]', "type must be a text"),
            ("", "a section [protect] is needed"),
        ],
        strict=True,
    ):
        assert line.partition(". ")[2].startswith(f"{place}: {key}" if place else key)


@pytest.mark.parametrize("wrong", ["columns = 3", "columns = [1]", "network = 1\nrecords = 2", "protect = 'x'"])
def test_what_is_no_table_is_told_with_all_that_is_missing(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "f.toml"
    path.write_text(f'notion = "dataset"\n{wrong}\n')
    with pytest.raises(FileProblemsError) as refused:
        read_framework(path)
    told = [problem.required for problem in refused.value.problems]
    assert len(told) == 5
    for section in ("[network]", "[records]", "[columns]", "[protect]"):
        assert sum(f"a section {section} is needed" in each for each in told) == 1


def test_all_problems_are_told_at_once_and_none_that_follows_from_another(tmp_path: Path) -> None:
    text = TEXT
    for old, new in {
        'source = "public census 2020"': "",
        "network.bif": "networks.bif",
        "count = 1_000": "count = 0",
        'missing = "middle"': 'missing = "rich"',
        "lower = 400": "lowr = 400",  # read as `lower`: it is not told to be missing too
        "upper = 220.5": "upper = 20",
        "count(sat >= 1200)": "count(sat >=",
        '["low", "high"],': '["low"],',
    }.items():
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(FileProblemsError) as refused:
        read_framework(write(tmp_path, text))
    told = str(refused.value)
    assert len(refused.value.problems) == 8
    for place, words in {
        "source must": "found none",
        "line 11, [records]": "records must be at least 1",
        "line 13, [columns.income]": "missing must be one of the categories",
        "line 20, [columns.sat]": "Did you mean 'lower'?",
        "line 24, [columns.height]": "lower must be below upper",
        "line 34, [queries]": '"high scores"',
        "line 30, [protect.income]": "list of pairs",
    }.items():
        assert any(place in line and words in line for line in told.splitlines()), (place, told)
    assert "networks.bif" in told
    assert "lower is needed" not in told


def test_secrets_and_laws_that_do_not_fit_are_told_one_by_one(tmp_path: Path) -> None:
    text = DATASET.replace("[protect.income]", "[protect.wealth]").replace("[950, 180]", "[950, -1]")
    text += '\n[protect.sat]\nproperty = "mean(income)"\n'
    with pytest.raises(FileProblemsError) as refused:
        read_framework(write(tmp_path, text))
    assert len(refused.value.problems) == 3
    assert {"wealth", "sat"} == {name for name in ("wealth", "sat") if f"[protect.{name}]" in str(refused.value)}


def test_what_is_common_to_all_secrets_is_told_once(tmp_path: Path) -> None:
    text = DATASET.replace('level = "records"', 'level = "parameters"')
    text += '\n[protect.sat]\nproperty = "mean(sat)"\n'
    with pytest.raises(FrameworkError, match="level 'parameters'"):
        read_framework(write(tmp_path, text))


def test_lines_are_found_whatever_the_toml_looks_like() -> None:
    text = (
        '# a = 1\n"a.b" = """\nx = 1\n[no]\n"""\n[[t]]\n\'q"\' = [\n  1, # ]\n  2,\n]\n'
        'c.d = {e = "="}\nz = 1 # [x]\n[ f . "g h" ]\n'
    )
    lines = key_lines(text)
    assert lines == {
        ("a.b",): 2,
        ("t",): 6,
        ("t", 'q"'): 7,
        ("t", "c"): 11,
        ("t", "c", "d"): 11,
        ("t", "z"): 12,
        ("f",): 13,
        ("f", "g h"): 13,
    }
    assert line_of(lines, ("t", "c", "d", "e")) == 11
    assert line_of(lines, ("nowhere",)) is None


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[records]", '[table]\nseparator = ":"\n[records]', "separator must be one of"),
        ("[records]", "[table]\ndecimal = 5\n[records]", "decimal must be one of"),
        ("[records]", '[table]\nthousands = "."\n[records]', "thousands must be one of"),
        ("[records]", '[table]\nseperator = ";"\n[records]', "unknown 'seperator'"),
        ("lower = 400", 'lower = 400\ndates = "DD.MM.YY"', "dates must be one of"),
        ("lower = 400", "lower = 400\nmissing_codes = 99", "missing_codes must list numbers, or dates"),
        ("lower = 400", 'lower = 400\nmissing_codes = ["x"]', "missing_codes must list numbers, or dates"),
        ("lower = 400", "lower = 400\nmissing_codes = [nan]", "missing_codes must list numbers, or dates"),
        ('categories = ["low"', 'dates = "DD.MM.YYYY"\ncategories = ["low"', "unknown 'dates'"),
    ],
)
def test_a_dialect_that_is_none_is_refused(before: str, after: str, words: str, tmp_path: Path) -> None:
    assert before in TEXT
    (tmp_path / "network.bif").write_text(NETWORK, encoding="utf-8")
    (tmp_path / "f.toml").write_text(TEXT.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(BnprivError) as refused:
        read_framework(tmp_path / "f.toml")
    assert words in str(refused.value)


def test_a_file_says_how_the_texts_of_its_table_are_written(tmp_path: Path) -> None:
    signs = '[table]\nseparator = "\\t"\ndecimal = ","\nthousands = " "\n[records]'
    read = "lower = 400\ndates = 'MM/DD/YYYY'\nmissing_codes = [1900-01-01, -1]"
    (tmp_path / "network.bif").write_text(NETWORK, encoding="utf-8")
    text = TEXT.replace("[records]", signs, 1).replace("lower = 400", read, 1)
    (tmp_path / "f.toml").write_text(text, encoding="utf-8")
    framework = read_framework(tmp_path / "f.toml")
    dates, codes = {"sat": "MM/DD/YYYY"}, {"sat": (-25567.0, -1.0)}
    expected = Dialect(separator="\t", decimal=",", thousands=" ", dates=dates, codes=codes)
    assert framework.schema.dialect == expected
    (tmp_path / "plain.toml").write_text(TEXT, encoding="utf-8")
    plain = read_framework(tmp_path / "plain.toml")
    assert plain.schema.dialect is None
    assert plain.fingerprint() != framework.fingerprint()
    *_, file = framework.to_file(tmp_path / "again.toml")
    assert read_framework(file).fingerprint() == framework.fingerprint()


def hospital(folder: Path) -> Path:
    """Copy the example to a folder, with and without its network."""
    source = example_path("hospital").parent
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "framework.toml").read_text(encoding="utf-8")
    start, end = text.index("[network]"), text.index("[records]")
    without = (text[:start] + text[end:]).replace("at_most = 100", "at_most = 10")
    (folder / "none.toml").write_text(without, encoding="utf-8")
    return folder


def test_a_file_without_a_network_is_read_whole(tmp_path: Path) -> None:
    here = hospital(tmp_path)
    (secret,), schema, network = read_hidden(here / "none.toml")  # type: ignore[misc]
    assert (str(secret), network) == ('count(disease == "yes"), values at most 10 apart', None)
    assert schema == read_framework(here / "framework.toml").schema
    whole = read_hidden(here / "framework.toml")
    assert isinstance(whole[0], DatasetAttributePrivacy)
    assert whole[1:] == (None, None)


def test_what_is_wrong_with_it_is_told_at_once(tmp_path: Path) -> None:
    here = hospital(tmp_path)
    text = (here / "none.toml").read_text(encoding="utf-8")
    wrong = text.replace('notion = "dataset"', 'notion = "value"').replace("count = 10_000", "count = 0")
    (here / "wrong.toml").write_text(wrong.replace("at_most", "at_mots"), encoding="utf-8")
    with pytest.raises(FileProblemsError) as kept:
        read_hidden(here / "wrong.toml")
    for part in ("notion = 'value'", "at_mots", "records"):
        assert part in str(kept.value)
    (here / "wrong.toml").write_text(text + "\n[laws.days]\nnormal = [3, 1]\n", encoding="utf-8")
    with pytest.raises(FileError, match="laws"):
        read_hidden(here / "wrong.toml")
    (here / "wrong.toml").write_text(text[: text.index("[protect")] + "[protect]\n", encoding="utf-8")
    with pytest.raises(FileError, match="something must be protected"):
        read_hidden(here / "wrong.toml")
    (here / "wrong.toml").write_text(text[: text.index("[protect")], encoding="utf-8")
    with pytest.raises(FileError, match="protect"):
        read_hidden(here / "wrong.toml")
