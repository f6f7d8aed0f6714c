"""Copies of particles that neighbours need, and those of theirs that come here: once for each detection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from decomposition.layers import Cells, levels_of, mark_layer
from decomposition.packing import GHOST, pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.repeats import Repeats
    from pdem.containers.particles import Particles

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]


class Sizes(NamedTuple):
    """How far particles reach, by their size, and by their speed relative to a box that deforms.

    Attributes
    ----------
    reach : callable
        Returns the reaches [m] of radii [m], velocities [m/s] and positions [m].
    radii : (L,) array
        Largest of each level of size, rising [m].
    """

    reach: Callable[[Floats, Floats, Floats], Any]
    radii: Floats

    def reach_of(self, copies: NDArray[Any]) -> Any:
        """Return the reaches of copies, rows of the type `decomposition.packing.GHOST` [m]."""
        return self.reach(
            *(np.ascontiguousarray(copies[name]) for name in ("radius", "velocity", "position"))
        )

    def reach_of_owned(self, particles: Particles) -> Any:
        """Return the reaches of the particles that a rank owns [m]."""
        return self.reach(particles.radius, particles.velocity, particles.position)


class Copied(NamedTuple):
    """Copies of a detection, k neighbours.

    Attributes
    ----------
    rows : list of k int64 arrays
        Owned rows that each neighbour has copies of.
    ghosts : (g,) structured array
        Rows of the type `decomposition.packing.GHOST` that have come, by neighbour.
    numbers : (k,) int64 array
        How many from each.
    """

    rows: list[Integers]
    ghosts: NDArray[Any]
    numbers: Integers


class Swap(Protocol):
    """What exchanges rows with neighbours: `decomposition.messages.Messages`."""

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Send rows to ranks that send some here; return theirs in the order of ranks, and how many."""
        ...


class Copier:
    """Says which owned particles are copied to which neighbour, and exchanges the copies.

    Parameters
    ----------
    messages : Swap
        To the other ranks.
    particles : Particles
        Of this rank.
    sizes : Sizes
        Of particles, the same on every rank.
    extents : (L, `EXTENT`) array
        Of the particles of this rank of each level and all below.
    repeats : Repeats
        How the box repeats.
    """

    def __init__(
        self, messages: Swap, particles: Particles, sizes: Sizes, extents: Floats, repeats: Repeats
    ) -> None:
        self._messages, self._particles, self._sizes = messages, particles, sizes
        self._extents, self._repeats = extents, repeats
        self._position, self._reach = particles.position, sizes.reach_of_owned(particles)
        self._level = levels_of(particles.radius, sizes.radii)
        self._mark = np.zeros(particles.count, bool)

    def exchange(self, neighbours: Integers, extents: Floats) -> Copied:
        """Exchange copies with the neighbours (k,), rising, of these extents (k, L, `EXTENT`)."""
        rows = [self._layer(one) for one in extents]
        ghosts, numbers = self._swap(neighbours, rows)
        if len(self._sizes.radii) == 1:
            return Copied(rows, ghosts, numbers)
        more = self._partners(rows, ghosts, numbers)
        late, late_numbers = self._swap(neighbours, more)
        joined = [np.concatenate(both) for both in zip(rows, more, strict=True)]
        return Copied(joined, *_interleaved(ghosts, numbers, late, late_numbers))

    def _swap(self, neighbours: Integers, rows: list[Integers]) -> tuple[NDArray[Any], Integers]:
        every = np.concatenate([*rows, np.empty(0, np.int64)])
        sent = np.array([len(one) for one in rows], np.int64)
        return self._messages.swap(neighbours, pack(self._particles, every, GHOST), sent)

    def _layer(self, extents: Floats) -> Integers:
        """Return the rows that may touch a particle of their own or a lower level of a rank with these extents."""
        mark_layer(self._position, self._reach, self._level, extents, tuple(self._repeats), self._mark)
        return np.flatnonzero(self._mark)

    def _partners(self, rows: list[Integers], ghosts: NDArray[Any], numbers: Integers) -> list[Integers]:
        """Return for each neighbour the rows besides those given that may touch a copy of a larger particle of its."""
        level, ends = levels_of(ghosts["radius"], self._sizes.radii), np.cumsum(numbers)
        more, cells = [np.empty(0, np.int64)] * len(rows), None
        for place in np.flatnonzero(numbers).tolist() if self._particles.count else ():
            part = slice(ends[place] - numbers[place], ends[place])
            if level[part].max() == 0:
                continue
            cells = self._cells() if cells is None else cells
            position = np.ascontiguousarray(ghosts["position"][part])
            reach = self._sizes.reach_of(ghosts[part])
            self._mark[:] = False
            self._mark[rows[place]] = True
            cells.mark_partners(position, reach, level[part], self._mark)
            self._mark[rows[place]] = False
            more[place] = np.flatnonzero(self._mark)
        return more

    def _cells(self) -> Cells:
        return Cells(self._position, self._reach, self._level, self._extents[:, 6].copy(), self._repeats)


def _interleaved(
    one: NDArray[Any], numbers: Integers, other: NDArray[Any], more: Integers
) -> tuple[NDArray[Any], Integers]:
    """Return rows that have come from each neighbour in two messages, by neighbour, and their numbers."""
    source = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (numbers, more)])
    return np.concatenate((one, other))[np.argsort(source, kind="stable")], numbers + more
