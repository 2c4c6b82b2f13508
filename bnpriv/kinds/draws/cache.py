"""Draws of a model that are kept, so that the same are not made twice, and can be written to a file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from bnpriv.bound import FloatArray
from bnpriv.digest import sha256
from bnpriv.errors import FileError, NetworkError
from bnpriv.kinds.density.network import DensityNetwork, Simulator
from bnpriv.kinds.gaussian.network import GaussianNetwork
from bnpriv.paths import user_path

ForwardNetwork = TypeVar("ForwardNetwork", DensityNetwork, GaussianNetwork)
Drawn = Mapping[str, FloatArray]

MOST_KEPT_BYTES = 2**31
"""Draws beyond are not kept."""

CACHE_FORMAT = 1


@dataclass(frozen=True, eq=False)
class DrawCache:
    """Forward draws of models, kept by model, seed and number of draws.

    A second plan, or another query of the same columns, takes the draws that were made before. Draws hold nothing of
    any table: they are made from the model alone.

    Parameters
    ----------
    limit : int
        Most bytes that are kept; draws beyond are made again.

    Examples
    --------
    >>> import bnpriv
    >>> import pymc as pm
    >>> with pm.Model() as model:
    ...     rate = pm.Gamma("rate", 2, 1)
    ...     visits = pm.Poisson("visits", rate, shape=50)
    >>> cache = DrawCache()
    >>> network = cache.attached(bnpriv.from_pymc(model, columns="visits"))
    >>> first = network.simulator(["visits"], 100, seed=1, given={}, records=50)
    >>> again = network.simulator(["visits"], 100, seed=1, given={}, records=50)
    >>> again["visits"] is first["visits"], cache
    (True, DrawCache(batches=1, bytes=40000))
    """

    limit: int = MOST_KEPT_BYTES
    kept: dict[str, Drawn] = field(default_factory=dict[str, Drawn], init=False, repr=False)
    drawers: dict[str, Simulator] = field(default_factory=dict[str, Simulator], init=False, repr=False)
    """The models themselves: functions of the user's are told apart by where they are in memory."""

    @property
    def size(self) -> int:
        """Return the bytes that are kept."""
        return sum(values.nbytes for drawn in self.kept.values() for values in drawn.values())

    def attached(self, network: ForwardNetwork) -> ForwardNetwork:
        """Return a network that is drawn from through this cache.

        Parameters
        ----------
        network : DensityNetwork, or GaussianNetwork with columns
            As `bnpriv.from_pymc` returns it.

        Raises
        ------
        NetworkError
            If nothing is drawn from the network.
        """
        if isinstance(network, DensityNetwork):
            functions = network.functions
            model = network.model_hash if functions is None else f"{network.model_hash} {functions.identity}"
            self.drawers.setdefault(model, network.simulator)
            simulator = _Remembered(network.simulator, model, self)
            return cast(ForwardNetwork, replace(network, simulator=simulator))
        if network.forward is None:
            raise NetworkError(
                "only a model that is drawn from has draws to keep",
                found="an exact one without columns",
                remedy="Read the columns too, with columns= or as observed variables.",
            )
        forward, unfixed = self.attached(network.forward), network.unfixed and self.attached(network.unfixed)
        return cast(ForwardNetwork, network.read_as(network.reading, forward=forward, unfixed=unfixed))

    def save(self, path: str | Path) -> None:
        """Write all draws to a file of NumPy's, npz.

        Parameters
        ----------
        path : str or Path
        """
        listed: list[dict[str, Any]] = []
        arrays: dict[str, Any] = {}
        for key, drawn in self.kept.items():
            for name, values in drawn.items():
                place = f"draws{len(listed)}"
                listed.append({"key": key, "name": name, "place": place, "digest": _digest(values)})
                arrays[place] = values
        text = json.dumps({"format": CACHE_FORMAT, "entries": listed})
        with user_path(path).open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, index=np.array(text), **arrays)

    @classmethod
    def load(cls, path: str | Path, *, limit: int = MOST_KEPT_BYTES) -> DrawCache:
        """Read draws that `save` wrote.

        A release rests on draws as it rests on the model: read a file only if you would read the model from there.

        Parameters
        ----------
        path : str or Path
        limit : int

        Raises
        ------
        FileError
            If it is no such file, or changed since it was written.
        """
        found = cls(limit)
        try:
            with np.load(user_path(path), allow_pickle=False) as file:
                index = json.loads(str(file["index"]))
                if index["format"] != CACHE_FORMAT:
                    raise ValueError("format")
                for entry in index["entries"]:
                    values = file[entry["place"]]
                    if values.dtype != np.float64 or _digest(values) != entry["digest"]:
                        raise ValueError("digest")
                    values.flags.writeable = False
                    cast("dict[str, FloatArray]", found.kept.setdefault(entry["key"], {}))[entry["name"]] = values
        except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise FileError(
                "kept draws are read from a file that DrawCache.save wrote",
                found=f"another, or a changed one ({type(error).__name__})",
                remedy="Draw again and save the draws.",
            ) from error
        return found

    def __repr__(self) -> str:
        return f"DrawCache(batches={len(self.kept)}, bytes={self.size})"


@dataclass(frozen=True, eq=False)
class _Remembered:
    """A simulator whose draws are kept."""

    simulator: Simulator
    model: str
    cache: DrawCache

    def __call__(self, names: Iterable[str], draws: int, **how: Any) -> Drawn:
        wanted = tuple(names)
        # a hash of all that draws depend on; another version of the library may draw in another way
        facts = repr((CACHE_FORMAT, version("bnpriv"), self.model, wanted, draws))
        key = sha256(facts, *(part for name in sorted(how) for part in (name, *_parts(how[name]))))
        if key not in self.cache.kept:
            found = dict(self.simulator(wanted, draws, **how))
            if self.cache.size + sum(values.nbytes for values in found.values()) > self.cache.limit:
                return found
            for values in found.values():
                values.flags.writeable = False
            self.cache.kept[key] = found
        return self.cache.kept[key]


def _parts(value: Any) -> Iterator[str | FloatArray]:
    if isinstance(value, Mapping):
        for name, each in sorted(cast("Mapping[str, Any]", value).items()):
            yield repr(name)
            yield from _parts(each)
    elif isinstance(value, np.ndarray):
        array = cast("FloatArray", value)
        yield repr((array.dtype.str, array.shape))
        yield array
    else:
        yield repr(sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else value)


def _digest(values: FloatArray) -> str:
    return sha256(repr(values.shape), values)
