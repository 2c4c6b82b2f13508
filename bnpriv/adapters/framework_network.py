"""The section ``[network]`` of a framework file: network files, a linear-Gaussian network, or a PyMC module."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import cast

from bnpriv.adapters.files import read_network
from bnpriv.adapters.gaussian_section import declared_gaussian
from bnpriv.adapters.toml_file import TomlTable, listed_or_none
from bnpriv.errors import FrameworkError
from bnpriv.networks.base import Network
from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork, Level
from bnpriv.networks.missing_rows import MissingRows
from bnpriv.networks.model_class import model_class
from bnpriv.networks.posterior import Posterior
from bnpriv.paths import user_path
from bnpriv.tables.schema import State

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
    part = part.only(("file", "level", "normalize", "within", "missing_rows", "whole_numbers", "posterior"))
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
    said = part.section("posterior", ("source", "prior"))
    prior = said.string("prior") if "prior" in said.values else ""
    facts = Posterior(source=said.string("source"), prior=prior, draws=draws, in_file=True)
    return replace(models, posterior_draws=facts)


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
