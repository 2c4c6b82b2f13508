"""A network as a framework file holds it: a section, and the files of its tables beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, final

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.errors import FileError
from bnpriv.kind import kind_of
from bnpriv.laws.base import SUM_TOLERANCE
from bnpriv.networks.base import Network
from bnpriv.networks.chain import MarkovChain
from bnpriv.networks.discrete import DiscreteNetwork, IntervalNetwork
from bnpriv.networks.file_texts import WrittenTable, WrittenTables, can_be_written, network_text, written_models
from bnpriv.networks.finite import FiniteNetwork
from bnpriv.networks.gaussian import GaussianNetwork
from bnpriv.render.new_files import numbered
from bnpriv.render.toml import short_number, toml_section
from bnpriv.tables.schema import State

IN_PYTHON = "Keep the framework in Python: write there what made it, and calibrate there."


@final
@dataclass(frozen=True)
class NetworkPart:
    """What stands in a framework file of a network, and the texts of other files by their names."""

    section: str
    files: Mapping[str, str]


def not_held(network: Network) -> FileError:
    """Why no framework file holds a network of such a kind."""
    return _refused(network, "networks of tables, linear-Gaussian networks and Markov chains")


def tables_section(network: DiscreteNetwork, stem: str) -> NetworkPart:
    """The section of a network of tables, which stand in files of their own beside the framework file `stem`.

    Raises
    ------
    SizeError
        If a file would be larger than one that is read.
    """
    return _of_tables(network, network.level if not network.reading.level_assumed else None, stem, {})


def intervals_section(network: IntervalNetwork, stem: str) -> NetworkPart:
    """The section of intervals, where they lie around a network that stands in files of its own.

    Raises
    ------
    FileError
        If they were declared otherwise.
    """
    level = network.level if not network.reading.level_assumed else None
    centre, width = network.around_it or (network, None)
    if kind_of(centre).by_intervals and not centre.declared:
        raise _refused(network, "intervals around the numbers of network files, and rows without data")
    more: dict[str, object] = {} if width is None else {"within": width}
    if kind_of(centre).by_intervals:
        more["missing_rows"] = "any"
    return _of_tables(centre, level, stem, more)


def regressions_section(network: GaussianNetwork, stem: str) -> NetworkPart:
    """The section of a linear-Gaussian network: the regression of every attribute.

    Raises
    ------
    FileError
        If it was not declared by its regressions.
    """
    rows = network.regressions
    drawn = network.posterior_draws is not None or network.forward is not None or network.reading.columns
    if rows is None or drawn:
        raise _refused(network, "linear-Gaussian networks that were declared by their regressions")
    sections = [toml_section(["network"], {"level": network.level})]
    for name in network.attributes:
        values = {"intercept": _per_model(rows.intercepts[name]), "deviation": _per_model(rows.deviations[name])}
        slopes = {parent: _per_model(slope) for parent, slope in rows.coefficients[name].items()}
        sections.append(
            toml_section(["network", "attributes", name], values | ({"coefficients": slopes} if slopes else {}))
        )
    return NetworkPart("\n\n".join(sections), {})


def chain_section(network: MarkovChain, stem: str) -> NetworkPart:
    """The section of a Markov chain."""
    transition, initial = network.declared
    lengths = list(network.length)
    values: dict[str, object] = {
        "transition": _nested(transition),
        "initial": network.start if initial is None else _nested(initial),
        "length": lengths[0] if len(lengths) == 1 else lengths,
        "states": list(network.state_space),
    }
    return NetworkPart(toml_section(["chain"], values), {})


def _of_tables(
    network: DiscreteNetwork | IntervalNetwork, level: str | None, stem: str, more: dict[str, object]
) -> NetworkPart:
    whole = [name for name in network.attributes if _are_whole(network.states[name])]
    models = [[_in_texts(table, whole) for table in model] for model in written_models(cast(FiniteNetwork, network))]
    suffix = next((each for each in (".bif", ".xml") if all(can_be_written(tables, each) for tables in models)), ".xml")
    names = [path.name for path in numbered(Path(stem + suffix), len(models))]
    texts = dict(zip(names, (network_text(tables, suffix) for tables in models), strict=True))
    values: dict[str, object] = {"file": names[0] if len(names) == 1 else names}
    if level is not None:
        values["level"] = level
    if whole:
        values["whole_numbers"] = whole
    if any(_is_rough(tables) for tables in models):
        values["normalize"] = True
    section = toml_section(["network"], values | more)
    drawn = network.posterior_draws
    if drawn is not None:
        said = {"source": drawn.source} | ({"prior": drawn.prior} if drawn.prior else {})
        section += "\n\n" + toml_section(["network", "posterior"], said)
    return NetworkPart(section, texts)


def _are_whole(states: tuple[State, ...]) -> bool:
    return all(type(state) is int for state in states)


def _in_texts(table: WrittenTable, whole: Sequence[str]) -> WrittenTable:
    """Return a table as a network file, whose states are texts, holds whole numbers."""
    return replace(table, states=tuple(map(str, table.states))) if table.name in whole else table


def _is_rough(tables: WrittenTables) -> bool:
    """Whether a sum is further from 1 than is read without leave."""
    with np.errstate(invalid="ignore"):
        return any(bool((np.abs(table.numbers.sum(axis=0) - 1) > SUM_TOLERANCE).any()) for table in tables)


def _per_model(numbers: FloatArray) -> object:
    found = [short_number(number) for number in numbers.tolist()]
    return found[0] if len(found) == 1 else found


def _nested(laws: FloatArray) -> object:
    return laws[0].tolist() if len(laws) == 1 else laws.tolist()


def _refused(network: Network, holds: str) -> FileError:
    return FileError(f"framework files hold {holds}", found=network.kind_text, remedy=IN_PYTHON)
