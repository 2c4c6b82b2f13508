"""Maximum flow from demands to supplies: blocking flows on layers (Dinic), with sets of atoms as bits of integers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bnpriv.laws.base import FloatArray
from bnpriv.transport.tolerance import FLOW

DUST = 1e-15
"""What is left of a demand or a supply counts as nothing below this part of it."""

ROUNDS = 16
"""How often rounding is cleared away before a flow is given up."""


@dataclass(kw_only=True, eq=False)
class Flow:
    """What each supply gives to each demand; grows, while more pairs come into reach.

    Parameters
    ----------
    need : ndarray of shape (K,)
        The demands.
    room : ndarray of shape (L,)
        The supplies.
    amounts : list of dict from int to float
        For every supply what it gives to each demand.
    """

    need: FloatArray
    room: FloatArray
    amounts: list[dict[int, float]]
    _wants: list[float] = field(init=False)
    _spare: list[float] = field(init=False)
    _givers: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._settle()

    @classmethod
    def empty(cls, need: FloatArray, room: FloatArray) -> Flow:
        """Return the flow of nothing."""
        return cls(need=need, room=room, amounts=[{} for _ in room])

    def copy(self) -> Flow:
        """Return an independent copy."""
        return Flow(need=self.need, room=self.room, amounts=[dict(given) for given in self.amounts])

    def reversed(self, empty: Flow, factor: float) -> Flow:
        """Return `factor` times this flow with the two sides exchanged, for the demands and supplies of `empty`."""
        amounts: list[dict[int, float]] = [{} for _ in empty.room]
        for j, given in enumerate(self.amounts):
            for i, amount in given.items():
                amounts[i][j] = amount * factor
        return Flow(need=empty.need, room=empty.room, amounts=amounts)

    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the demands and the supplies of all pairs between which something flows."""
        found = [(i, j) for j, given in enumerate(self.amounts) for i in given]
        both = np.array(found, dtype=np.intp).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def served(self) -> tuple[FloatArray, FloatArray]:
        """Return what each demand gets and each supply gives, added up anew."""
        got = [0.0] * len(self.need)
        for row in self.amounts:
            for i, amount in row.items():
                got[i] += amount
        return np.array(got), np.array([sum(row.values()) for row in self.amounts], dtype=np.float64)

    def fill(self, reach: list[int], allowance: float) -> tuple[int, int] | None:
        """Send as much as `reach` permits: for every demand the supplies in reach, as bits.

        Returns
        -------
        None
            If at most `allowance` of the demands is left over.
        (demands, supplies)
            Otherwise a cut, as bits: demands that reach these supplies only, and ask for more than they have; empty
            if rounding hides which it is.
        """
        for _ in range(ROUNDS):
            cut = self._saturate(reach, allowance)
            got, given = self.served()
            over = given - self.room > FLOW * self.room
            left = float(np.sum(np.maximum(self.need - got, 0.0), where=self.need - got > FLOW * self.need))
            if not np.any(over) and (cut is not None or left <= allowance):
                return cut
            self._settle()
        return 0, 0

    def _settle(self) -> None:
        """Take up demands and supplies from the amounts, rid of what rounding has piled up."""
        for j in np.flatnonzero(self.served()[1] > self.room).tolist():
            shrink = float(self.room[j]) / sum(self.amounts[j].values()) * (1 - DUST)
            self.amounts[j] = {i: amount * shrink for i, amount in self.amounts[j].items()}
        got, given = self.served()
        self._wants = np.where(self.need - got > DUST * self.need, self.need - got, 0.0).tolist()
        self._spare = np.where(self.room - given > DUST * self.room, self.room - given, 0.0).tolist()
        self._givers = [sum(1 << i for i in row) for row in self.amounts]

    def _saturate(self, reach: list[int], allowance: float) -> tuple[int, int] | None:
        while True:
            sources = _bits([want > 0 for want in self._wants])
            if not sources or (allowance and sum(self._wants) <= allowance):
                return None
            free = _bits([spare > 0 for spare in self._spare])
            layers, cut = self._layers(reach, sources, free)
            if cut is not None:
                return cut
            for source in _members(sources):
                while self._wants[source] > 0 and self._send(reach, layers, source):
                    pass

    def _layers(
        self, reach: list[int], sources: int, free: int
    ) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
        """Walk from the demands that want more, along pairs in reach and back along what flows, to a spare supply."""
        layers: list[tuple[int, int]] = []
        demands, supplies, front = sources, 0, sources
        while front:
            new = 0
            for i in _members(front):
                new |= reach[i]
            new &= ~supplies
            if new & free:
                return [*layers, (front, new & free)], None
            layers.append((front, new))
            supplies |= new
            back = 0
            for j in _members(new):
                back |= self._givers[j]
            front = back & ~demands
            demands |= front
        return layers, (demands, supplies)

    def _send(self, reach: list[int], layers: list[tuple[int, int]], source: int) -> bool:
        """Send along one path through the layers; atoms found to lead nowhere leave them."""
        depth, path = 0, [source]
        while path:
            demands, supplies = layers[depth]
            i = path[-1]
            ahead = reach[i] & supplies
            if not ahead:
                layers[depth] = demands & ~(1 << i), supplies
                path = path[:-2]
                depth -= 1
                continue
            j = _lowest(ahead)
            if depth == len(layers) - 1:
                self._push([*path, j])
                if not self._spare[j]:
                    layers[depth] = demands, supplies & ~(1 << j)
                return True
            back = self._givers[j] & layers[depth + 1][0]
            if not back:
                layers[depth] = demands, supplies & ~(1 << j)
                continue
            path += [j, _lowest(back)]
            depth += 1
        return False

    def _push(self, path: list[int]) -> None:
        """Send what fits along demand, supply, ..., supply: every next demand gives up what the one before gets."""
        returns = list(zip(path[1:-1:2], path[2::2], strict=True))
        amount = min(self._wants[path[0]], self._spare[path[-1]], *(self.amounts[j][i] for j, i in returns))
        for i, j in zip(path[::2], path[1::2], strict=True):
            self.amounts[j][i] = self.amounts[j].get(i, 0.0) + amount
            self._givers[j] |= 1 << i
        for j, i in returns:
            self.amounts[j][i] -= amount
            if self.amounts[j][i] <= 0:
                del self.amounts[j][i]
                self._givers[j] &= ~(1 << i)
        self._wants[path[0]] = _rest(self._wants[path[0]], amount, float(self.need[path[0]]))
        self._spare[path[-1]] = _rest(self._spare[path[-1]], amount, float(self.room[path[-1]]))


def _rest(value: float, amount: float, whole: float) -> float:
    return value - amount if value - amount > DUST * whole else 0.0


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _members(bits: int) -> list[int]:
    found: list[int] = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _bits(flags: list[bool]) -> int:
    return int("".join("1" if flag else "0" for flag in reversed(flags)), 2)


def reach_bits(near: NDArray[np.bool_]) -> list[int]:
    """Return the rows of a matrix as bits of integers, column 0 lowest."""
    packed = np.packbits(near, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def flags(bits: int, size: int) -> NDArray[np.bool_]:
    """Return a set given as bits of an integer as an array of `size` flags."""
    raw = np.frombuffer(bits.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    return np.unpackbits(raw, count=size, bitorder="little").astype(np.bool_)
