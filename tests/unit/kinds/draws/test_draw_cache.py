"""Draws of a model that are kept and written to a file: the same numbers, by model, seed and number of draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bnpriv as bp
from bnpriv.errors import FileError, NetworkError
from bnpriv.kinds.draws.cache import DrawCache
from tests.later import optional

pm = optional("pymc")


def network(scale: float = 1.0) -> Any:
    with pm.Model() as model:
        mu = pm.HalfNormal("mu", scale)
        pm.Normal("y", mu, 1, observed=np.zeros(20))
    return bp.from_pymc(model)


class Counted:
    """A simulator that counts how often it draws."""

    def __init__(self, simulator: Any) -> None:
        self.simulator, self.calls = simulator, 0

    def __call__(self, *names: Any, **how: Any) -> Any:
        self.calls += 1
        return self.simulator(*names, **how)


def counted(scale: float = 1.0) -> tuple[Any, Counted]:
    made = network(scale)
    counter = Counted(made.simulator)
    object.__setattr__(made, "simulator", counter)
    return made, counter


def planned(made: Any, query: Any = None) -> float:
    schema = bp.Schema(records=20, columns={"y": bp.Real(-3, 3)})
    secrets = {"mu": bp.intervals(((0, 0.5), (1, 2)))}
    framework = bp.DistributionalAttributePrivacy(made, schema, secrets, source="made up")
    return float(bp.WassersteinMechanism().calibrate(framework, query or bp.mean("y"), epsilon=1.0, delta=0.04).scale)


def test_the_same_draws_are_not_made_twice_and_give_the_same_noise() -> None:
    cache = DrawCache()
    made, counter = counted()
    plain = planned(network())
    assert planned(cache.attached(made)) == plain
    calls = counter.calls
    assert calls > 0
    assert planned(cache.attached(made)) == plain
    planned(cache.attached(made), bp.count(bp.col("y") > 1))  # another query of the same column
    assert counter.calls == calls


def test_other_models_seeds_and_numbers_have_draws_of_their_own() -> None:
    cache = DrawCache()
    how: dict[str, Any] = {"seed": 1, "given": {}, "records": 20}
    drawn = [
        cache.attached(network()).simulator(["y"], 10, **how)["y"],
        cache.attached(network(2.0)).simulator(["y"], 10, **how)["y"],
        cache.attached(network()).simulator(["y"], 10, **how | {"seed": 2})["y"],
        cache.attached(network()).simulator(["y"], 11, **how)["y"],
        cache.attached(network()).simulator(["y"], 10, **how | {"given": {"mu": 5.0}})["y"],
        cache.attached(network()).simulator(["y"], 10, **how | {"given": {"mu": 6.0}})["y"],
    ]
    for k, one in enumerate(drawn):
        for other in drawn[:k]:
            assert not np.array_equal(one, other)
    assert len(cache.kept) == len(drawn)


def test_draws_are_written_and_read_again(tmp_path: Path) -> None:
    cache = DrawCache()
    scale = planned(cache.attached(network()))
    cache.save(tmp_path / "draws.npz")
    made, counter = counted()
    found = DrawCache.load(tmp_path / "draws.npz")
    assert found.size == cache.size
    assert planned(found.attached(made)) == scale
    assert counter.calls == 0
    with pytest.raises(ValueError, match="read-only"):
        next(iter(next(iter(found.kept.values())).values()))[0] = 1


def test_changed_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "draws.npz"
    cache = DrawCache()
    cache.attached(network()).simulator(["y"], 10, seed=0, given={}, records=20)
    cache.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    for change in ({"draws0": arrays["draws0"] + 1}, {"index": np.array("{}")}, {"index": np.array("no")}):
        np.savez(path, **arrays | change)
        with pytest.raises(FileError):
            DrawCache.load(path)
    np.savez(path, index=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(FileError):
        DrawCache.load(path)
    for content in (b"", b"PK\x03\x04", b"\x93NUMPY"):
        path.write_bytes(content)
        with pytest.raises(FileError):
            DrawCache.load(path)
    with pytest.raises(FileError):
        DrawCache.load(tmp_path / "none.npz")


def test_draws_beyond_the_limit_are_not_kept() -> None:
    cache = DrawCache(limit=1000)
    made, counter = counted()
    for _ in range(2):
        cache.attached(made).simulator(["y"], 10, seed=0, given={}, records=20)
    assert counter.calls == 2
    assert cache.size == 0


def test_models_that_are_linear_are_kept_by_their_draws_and_exact_ones_refused() -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=np.zeros(20))
    cache = DrawCache()
    linear = cache.attached(bp.from_pymc(model))
    assert isinstance(linear, bp.types.GaussianNetwork)
    linear.forward.simulator(["y"], 10, seed=0, given={}, records=20)
    assert len(cache.kept) == 1
    with pytest.raises(NetworkError, match="drawn from"):
        cache.attached(bp.types.GaussianNetwork(["a"], [0.0], [[1.0]]))
