"""The sections of a framework file: network, columns, secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, cast

from bnpriv.checks import whole
from bnpriv.core.columns import NOT_COUNTED, SPREADS, Binned, Categorical, NotCounted, State
from bnpriv.core.networks.base import Level, Network, Posterior
from bnpriv.core.networks.declared import MissingRows
from bnpriv.core.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.core.schema import Column, Schema
from bnpriv.core.secrets import Apart, IntervalPairs, Secret, SecretPairs, Side, apart, intervals, pairs
from bnpriv.digest import sha256
from bnpriv.errors import FrameworkError
from bnpriv.io.networks.files import read_network, read_text
from bnpriv.io.query_text import parse_query
from bnpriv.io.toml import TomlTable, kind_of, listed_or_none
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.kinds.graphs import model_class
from bnpriv.kinds.public_records import PublicRecords, public_records_in
from bnpriv.paths import user_path
from bnpriv.text import and_text

MOST_RECORD_BYTES = 2**30
"""Largest file of public records, 1 GiB."""

# --------------------------------------------------------------------------------------------------
# Sections of a framework file that declare bins of numbers, and labels of a raw table that count as one category.
# --------------------------------------------------------------------------------------------------


def binned(part: TomlTable, missing: float | NotCounted | None) -> Binned:
    """Return the column of ``type = "binned"``: edges, labels, and how numbers lie inside a bin.

    ``observed = true`` says that `within` holds frequencies of a public table.

    Raises
    ------
    FileError
        If a key is missing or of the wrong type.
    SchemaError
        If the column is not well formed.
    """
    optional: dict[str, Any] = {"missing": missing, "labels": part.values.get("labels"), "steps": grid_steps(part)}
    within = part.values.get("within", "uniform")
    if isinstance(within, dict):
        laws = part.section("within")
        within = {label: _inside(laws, label) for label in laws.values}
    return Binned(part.need("edges"), within=cast(Any, within), observed=part.boolean("observed"), **optional)


def grid_steps(part: TomlTable) -> int | None:
    """Return the number of steps of the grid to which sums round; None for the usual one.

    Raises
    ------
    FileError
        If it is no whole number.
    """
    steps = part.values.get("steps")
    if steps is None or (isinstance(steps, int) and not isinstance(steps, bool)):
        return steps
    raise part.refusal("steps must be a whole number", found=kind_of(steps), remedy="Write steps = 500.", key="steps")


def _inside(laws: TomlTable, label: str) -> object:
    given = laws.values[label]
    return numbers(laws, label, SPREADS) if isinstance(given, dict) else given


def numbers(part: TomlTable, key: str, rest: Sequence[str] = ()) -> dict[Any, Any]:
    """Return the table under `key` by the numbers that its keys write, or by some words: in TOML keys are texts.

    Raises
    ------
    FileError
        If a key is no number.
    """
    found: dict[Any, Any] = {}
    for text, mass in part.section(key).values.items():
        try:
            found[text if text in (*rest, NOT_COUNTED) else float(text)] = mass
        except ValueError:
            raise part.refusal(
                f"the keys of {key!r} must be numbers",
                found=repr(text[:80]),
                remedy='Write { 0 = 0.2, 40 = 0.8 }, and fractions in quotes: { "0.5" = 1.0 }.',
                key=key,
            ) from None
    return found


def value_law(part: TomlTable, column: Column) -> dict[Any, Any]:
    """Return the law ``values = { 0 = 0.2, 40 = 0.8 }`` of a column of numbers, or of bins by their labels.

    Raises
    ------
    FileError
        If it is no table, or a key is neither.
    """
    if isinstance(column, Categorical):
        raise part.refusal(
            "values are for columns of numbers",
            found="a categorical column",
            remedy='Write categorical = { "a" = 0.3, "b" = 0.7 }.',
            key="values",
        )
    given = part.section("values").values
    labels = isinstance(column, Binned) and bool(set(given).intersection(column.labels))
    return dict(given) if labels else numbers(part, "values")


def coarsened(part: TomlTable) -> Mapping[Any, Any]:
    """Return the labels that count as a category: a list, or one text in which they are separated by bars.

    Raises
    ------
    FileError
        If they are neither.
    """
    if "coarsen" not in part.values:
        return {}
    listed = part.section("coarsen")
    # keys of a TOML file are texts, whatever the categories are
    known = {str(category): category for category in part.need("categories")}
    return {known.get(key, key): _labels(listed, key) for key in listed.values}


def _labels(part: TomlTable, category: str) -> list[object]:
    given = part.values[category]
    if isinstance(given, str):
        return [label.strip() for label in given.split("|")]
    labels = listed_or_none(given)
    if labels is None:
        raise part.refusal(
            f"the labels of {category[:80]!r} must be a list, or a text with bars between them",
            found=kind_of(given),
            remedy='Write white = ["Sales", "Tech-support"] or white = "Sales | Tech-support".',
            key=category,
        )
    return labels


# --------------------------------------------------------------------------------------------------
# The sections of a framework file that declare a linear-Gaussian network and what it must hide.
# --------------------------------------------------------------------------------------------------

_KEYS = ("intercept", "deviation", "coefficients")


def declared_gaussian(part: TomlTable, usual: Level) -> GaussianNetwork:
    """Return the network of ``[network.attributes.NAME]``; a list of numbers has one for each model."""
    part = part.only(("attributes", "level"))
    level = cast(Level, part.string("level")) if "level" in part.values else usual
    attributes = part.section("attributes")
    rows = {name: attributes.section(name, _KEYS) for name in attributes.values}
    slopes = {name: row.section("coefficients").values for name, row in rows.items() if "coefficients" in row.values}
    with part.named():
        return GaussianNetwork.linear(
            {name: row.need("intercept") for name, row in rows.items()},
            {name: row.need("deviation") for name, row in rows.items()},
            cast(Any, slopes),
            level=level,
        )


def secret_of_continuous(part: TomlTable) -> Apart | IntervalPairs | None:
    """Return which values of a continuous parameter must not be told apart."""
    part = part.only(("at_most", "intervals"))
    if "at_most" in part.values and "intervals" in part.values:
        raise part.refusal("values are chosen by at_most or by intervals", found="both", remedy="Keep one of them.")
    with part.named():
        return _apart(part) or chosen_intervals(part)


def chosen_intervals(part: TomlTable) -> IntervalPairs | None:
    """Return the pairs of intervals of a section; None where there are none."""
    if "intervals" not in part.values:
        return None
    chosen = listed_or_none(part.values["intervals"])
    if chosen is None:
        found = kind_of(part.values["intervals"])
        remedy = "Write intervals = [[[30, 40], [50, 60]]]."
        raise part.refusal("intervals must be a list of pairs", found=found, remedy=remedy)
    with part.named():
        return intervals(*cast(Any, chosen))


# --------------------------------------------------------------------------------------------------
# The sections ``[protect.NAME]`` of a framework file.
# --------------------------------------------------------------------------------------------------

_STATES = ('pairs = [["low", "high"], ["low", ["middle", "high"]]]', "a state or a list of states", "Name states.")
_VALUES = ("pairs = [[40, 50], [40, [60, 70]]]", "a value or a list of values", "Name values of the property.")


def secret_of_parameter(part: TomlTable) -> SecretPairs | None:
    """Return which states of a parameter must not be told apart; None for all."""
    part = part.only(("pairs",))
    return _pairs(part, *_STATES)


def secret_of_table(part: TomlTable) -> Secret:
    """Return the property of a column that is hidden, and which of its values must not be told apart."""
    part = part.only(("property", "at_most", "pairs", "intervals"))
    given = [key for key in ("at_most", "pairs", "intervals") if key in part.values]
    if len(given) > 1:
        raise part.refusal(
            "values are chosen by at_most, by pairs or by intervals",
            found=and_text(given),
            remedy="Keep one of them, or none for all values.",
        )
    if "property" not in part.values:
        raise part.refusal(
            "property must be a text",
            found="none",
            remedy="Write for example property = \"proportion(NAME == 'STATE')\", with the column's own name and "
            "category; a count, total or mean of the column does too.",
            key="property",
        )
    with part.named():
        pairs = _apart(part) or _pairs(part, *_VALUES) or chosen_intervals(part)
        return Secret(parse_query(part.string("property")), pairs=pairs)


def _apart(part: TomlTable) -> Apart | None:
    return apart(at_most=part.need("at_most")) if "at_most" in part.values else None


def _pairs(part: TomlTable, example: str, members: str, remedy: str) -> SecretPairs | None:
    if "pairs" not in part.values:
        return None
    listed = listed_or_none(part.values["pairs"])
    couples = [listed_or_none(pair) for pair in listed or ()]
    if listed is None or any(pair is None or len(pair) != 2 for pair in couples):
        raise part.refusal(
            "pairs must be a list of pairs of secrets", found="something else", remedy=f"Write {example}."
        )

    def side(given: object) -> Side:
        several = listed_or_none(given)
        chosen = [given] if several is None else several
        if not all(isinstance(each, (str, int, float, bool)) for each in chosen):
            raise part.refusal(f"a secret must be {members}", found=kind_of(given), remedy=remedy)
        return frozenset(cast("list[State]", chosen))

    with part.named():
        return pairs(*((side(pair[0]), side(pair[1])) for pair in couples if pair))


# --------------------------------------------------------------------------------------------------
# The section ``[network]`` of a framework file: network files, a linear-Gaussian network, or a PyMC module.
# --------------------------------------------------------------------------------------------------

_WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")

NOTION_LEVELS: dict[str, Level] = {"distributional": "parameters", "dataset": "records", "value": "records"}
"""What a file may declare, and the level of the network that it needs."""

_OTHER_LEVEL: dict[Level, str] = {
    "records": 'Write level = "records" if its states are values of single records; a network of parameters goes with '
    'notion = "distributional".',
    "parameters": 'Write notion = "dataset" or notion = "value" if its states are values of single records, or '
    'level = "parameters" if a state says what a whole column is like.',
}


def declared_network(root: TomlTable, notion: str, given: Network | None) -> Network:
    """Return the declared network: linear-Gaussian if its attributes stand in the file itself, or the one given."""
    part = root.section("network")
    if "pymc" in part.values:
        part = part.only(("pymc",))
        module = part.string("pymc")
        if given is None:
            raise part.refusal(
                "the network is written in PyMC, and no file makes bnpriv run Python code",
                found=f"the module {module[:80]!r}",
                remedy="The shell cannot read such a model. In Python write "
                "bnpriv.read_framework(path, network=bnpriv.from_pymc(model)), then bnpriv.plan(...) and the like.",
            )
        return given
    only_its_own(part, given)
    if notion != "value" and "attributes" in part.values:
        return declared_gaussian(part, NOTION_LEVELS[notion])
    # without a level in the file a network of parameters has none that was declared: see the framework
    return _files_network(part, None if notion == "distributional" else NOTION_LEVELS[notion])


def note_other_level(root: TomlTable, notion: str, network: Network | None) -> bool:
    """Note a level in the file that is not the one of its notion; return whether it is so."""
    wanted = NOTION_LEVELS[notion]
    section = root.values.get("network")
    declared = isinstance(section, dict) and "level" in section
    if network is None or not declared or network.level == wanted:
        return False
    part = root.section("network")
    with root.problems.gathered(), part.named(key="level"):
        raise FrameworkError(
            f'notion = "{notion}" needs a network of level {wanted!r}',
            found=f"level {network.level!r}",
            remedy=_OTHER_LEVEL[wanted],
        )
    return True


def only_its_own(part: TomlTable, given: Network | None) -> None:
    """Refuse a network that is passed for a file that declares its own."""
    if given is not None:
        raise part.refusal(
            "a network is passed only for a file that names a PyMC module",
            found="a file that declares its own",
            remedy='Leave network= out, or write pymc = "model_pymc.py" in [network].',
        )


def _files_network(part: TomlTable, usual: Level | None) -> Network:
    """Return the network of one file, or the model class Theta: a model for each file, or all models close to them."""
    part = part.only(("file", "level", "normalize", "within", "missing_rows", "whole_numbers", "posterior", "records"))
    files = _files(part)
    paths = network_paths(part)
    level = cast(Level, part.string("level")) if "level" in part.values else usual
    normalize = part.boolean("normalize")
    absent = [name for name, path in zip(files, paths, strict=True) if not os.path.lexists(path)]
    if absent:
        raise part.refusal(
            "a network file must be there",
            found=f"no such file as {absent[0][:80]!r}",
            remedy="Check the name, or put the file in the folder of the framework file.",
            key="file",
        )
    gaps = part.values.get("missing_rows")
    if gaps is not None and len(files) > 1:
        raise part.refusal(
            "rows without data are read in a network of one model", found=f"{len(files)} files", remedy="Name one file."
        )
    with part.named():
        models = (
            read_network(paths[0], level, normalize=normalize, missing_rows=cast(MissingRows, gaps))
            if gaps is not None
            else _as_draws(
                part,
                model_class([read_network(path, level, normalize=normalize) for path in paths], labels=files),
                len(files),
            )
        )
        models = _with_whole_numbers(part, models)
        if "within" not in part.values:
            return models
        return IntervalNetwork.around(models, cast(float, part.values["within"]))


def _as_draws(part: TomlTable, models: DiscreteNetwork, draws: int) -> DiscreteNetwork:
    """Return models as draws from a posterior, if the file says so; guarantees then tell what lies beyond them."""
    if "posterior" not in part.values:
        return models
    if "within" in part.values:
        raise part.refusal(
            "draws from a posterior stay as they were drawn",
            found="within, beside posterior",
            remedy="Leave one of them out.",
            key="within",
        )
    said = part.section("posterior", ("source", "prior", "records", "graphs"))
    prior = said.string("prior") if "prior" in said.values else ""
    told = said.values.get("records")
    records = None if told is None else whole("records of [network.posterior]", told, error=FrameworkError)
    resamples = said.values.get("graphs")
    graphs = None if resamples is None else whole("graphs of [network.posterior]", resamples, error=FrameworkError)
    facts = Posterior(
        source=said.string("source"),
        prior=prior,
        draws=draws,
        independent=graphs is None,
        in_file=True,
        records=records,
        graphs=graphs,
    )
    return replace(models, posterior_draws=facts)


def declared_records(root: TomlTable, network: Network, schema: Schema) -> PublicRecords | None:
    """Return the public records of ``[network.records]``; None where there is no such section.

    Raises
    ------
    FileError
        If their file is missing, or is another one than was written.
    DataError
        If it is not well formed.
    """
    part = root.section("network")
    if "records" not in part.values:
        return None
    part = part.section("records", ("file", "sha256", "draws", "seed"))
    draws, seed = part.needs("draws", "seed")
    path = _beside(part, part.string("file"))
    if not os.path.lexists(path):
        raise part.refusal(
            "the file of public records must be there",
            found="none",
            remedy="Put it beside the framework file.",
            key="file",
        )
    text = read_text(path, MOST_RECORD_BYTES)
    if sha256(text) != part.string("sha256"):
        raise part.refusal(
            "the file of public records must be the one that was written with the framework",
            found="another content",
            remedy="Write the framework's files again, or run bnpriv init again with the public table that is meant.",
            key="sha256",
        )
    columns = {name: column for name, column in schema.columns.items() if name in network.attributes}
    with part.named():
        return public_records_in(text, columns, draws=cast(int, draws), seed=cast(int, seed))


def _with_whole_numbers(
    part: TomlTable, network: DiscreteNetwork | IntervalNetwork
) -> DiscreteNetwork | IntervalNetwork:
    """Return a network whose states are texts, as all in files, with whole numbers for those of some attributes."""
    named = listed_or_none(part.values.get("whole_numbers", []))
    names = [name for name in named or () if isinstance(name, str) and name in network.attributes]
    if named is None or len(names) != len(named):
        raise part.refusal(
            "whole_numbers must list attributes of the network",
            found="something else",
            remedy='Write whole_numbers = ["age"] for attributes whose states are whole numbers.',
            key="whole_numbers",
        )
    states: dict[str, tuple[State, ...]] = dict(network.states)
    for name in names:
        written = [state for state in states[name] if isinstance(state, str) and _WHOLE.fullmatch(state)]
        if len(written) != len(states[name]):
            raise part.refusal(
                f"the states of {name!r} must write whole numbers",
                found="another state",
                remedy="Leave it out of whole_numbers: its states are texts.",
                key="whole_numbers",
            )
        states[name] = tuple(map(int, written))
    return replace(network, states=states) if names else network


def _files(part: TomlTable) -> list[str]:
    listed = listed_or_none(part.values.get("file"))
    if listed is None:
        return [part.string("file")]
    files = [name for name in listed if isinstance(name, str) and name.strip()]
    if not files or len(files) != len(listed) or len(set(files)) != len(files):
        raise part.refusal(
            "file must be a text, or a list of different texts",
            found=f"{len(listed)} entries, {len(set(files))} different texts",
            remedy='Write file = ["one.bif", "two.bif"]: each file is one model.',
        )
    return files


def network_paths(part: TomlTable) -> list[Path]:
    """Return the paths of the network files that a section names.

    Raises
    ------
    FileError
        If it names none, or one that does not lie in the folder of the framework file.
    """
    return [_beside(part, name) for name in _files(part)]


def record_paths(part: TomlTable) -> list[Path]:
    """Return the path of the public records that the section of a network names; empty where it names none."""
    if "records" not in part.values:
        return []
    records = part.section("records")
    return [_beside(records, records.string("file"))]


def _beside(part: TomlTable, name: str) -> Path:
    """Return the path of a file that is named relative to the framework file and stays in its folder."""
    folder = user_path(part.label).parent
    plain = PurePosixPath(name)
    no_name = "\0" in name or "\\" in name or bool(PureWindowsPath(name).drive)
    outside = no_name or plain.is_absolute() or ".." in plain.parts
    if outside or not Path(os.path.realpath(folder / plain)).is_relative_to(os.path.realpath(folder)):
        raise part.refusal(
            "the network file must lie in the folder of the framework file, or below",
            found=repr(name[:80]),
            remedy="Put it there, and name it by a relative path with forward slashes.",
        )
    return folder / plain
