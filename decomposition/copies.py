"""Copies of particles that neighbours need, and copies that neighbours send: exchanged once per detection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from decomposition.layers import Cells, extents_of_levels, levels_of, mark_layer
from decomposition.packing import ghost_type, pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from decomposition.repeats import Repeats
    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Floats, Integers


class Sizes(NamedTuple):
    """Reach of particles, which depends on their size, and on their speed relative to a box that deforms.

    Attributes
    ----------
    reach : callable
        Returns the reaches [m] for radii [m], velocities [m/s] and positions [m].
    radii : (L,) array
        Largest radius of each level of size, in increasing order [m].
    """

    reach: Callable[[Floats, Floats, Floats], Any]
    radii: Floats

    def reach_of(self, copies: NDArray[Any]) -> Any:
        """Return the reaches of copies, rows of the type `decomposition.packing.ghost_type` [m]."""
        return self.reach(*(np.ascontiguousarray(copies[name]) for name in ("radius", "velocity", "position")))

    def reach_of_owned(self, particles: Particles) -> Any:
        """Return the reaches of the owned particles [m]."""
        return self.reach(particles.radius, particles.velocity, particles.position)


class Copied(NamedTuple):
    """Copies that a detection has exchanged with k neighbours.

    Attributes
    ----------
    rows : list of k int64 arrays
        Owned rows that were copied to each neighbour.
    ghosts : (g,) structured array
        Received rows of the type `decomposition.packing.ghost_type`, in the order of neighbours.
    numbers : (k,) int64 array
        Number of rows from each neighbour.
    """

    rows: list[Integers]
    ghosts: NDArray[Any]
    numbers: Integers


class Swap(Protocol):
    """Exchange of rows with neighbours, as in `decomposition.messages.Messages`."""

    def swap(self, partners: Integers, rows: NDArray[Any], sent: Integers) -> tuple[NDArray[Any], Integers]:
        """Send rows to ranks that also send rows here; return their rows in the order of ranks, and the row counts."""
        ...


def extents_of(particles: Particles, position: Floats, sizes: Sizes) -> Floats:
    """Return the extents (L, `EXTENT`) of particles at positions (n, 3) [m], separately for each level of size."""
    level = levels_of(particles.radius, sizes.radii)
    return extents_of_levels(position, sizes.reach_of_owned(particles), level, len(sizes.radii))


class Selection:
    """Selection of the particles that a rank copies to its neighbours.

    Parameters
    ----------
    particles : Particles
        Particles of this rank.
    sizes : Sizes
        Levels of size and reaches, the same on every rank.
    extents : (L, `EXTENT`) array
        Extents of this rank's particles; the row of a level includes all lower levels.
    repeats : Repeats
        Periodic images of the box.

    Attributes
    ----------
    particles : Particles
        Particles of this rank.
    levels : int
        Number of levels of size.
    """

    def __init__(self, particles: Particles, sizes: Sizes, extents: Floats, repeats: Repeats) -> None:
        self.particles, self.levels = particles, len(sizes.radii)
        self._sizes, self._widest, self._repeats = sizes, extents[:, 6].copy(), repeats
        self._position, self._reach = particles.position, sizes.reach_of_owned(particles)
        self._level = levels_of(particles.radius, sizes.radii)
        self._mark = np.zeros(particles.count, bool)
        self._cells: Cells | None = None

    def layer(self, extents: Floats) -> Integers:
        """Return the rows that may touch a particle of their own or a lower level on a rank with these extents."""
        mark_layer(self._position, self._reach, self._level, extents, tuple(self._repeats), self._mark)
        return np.flatnonzero(self._mark)

    def partners(self, rows: Integers, copies: NDArray[Any]) -> Integers:
        """Return the rows, other than `rows`, that may touch one of these copies of larger particles."""
        level = levels_of(copies["radius"], self._sizes.radii)
        if not len(self._mark) or level.max(initial=0) == 0:
            return np.empty(0, np.int64)
        if self._cells is None:
            self._cells = Cells(self._position, self._reach, self._level, self._widest, self._repeats)
        position, reach = np.ascontiguousarray(copies["position"]), self._sizes.reach_of(copies)
        self._mark[:] = False
        self._mark[rows] = True
        self._cells.mark_partners(position, reach, level, self._mark)
        self._mark[rows] = False
        return np.flatnonzero(self._mark)


def split_rows(rows: NDArray[Any], numbers: Integers) -> list[NDArray[Any]]:
    """Split rows into k arrays, one per neighbour; `numbers` (k,) are their lengths."""
    return np.split(rows, np.cumsum(numbers))[:-1]


def exchange_copies(messages: Swap, selection: Selection, neighbours: Integers, extents: Floats) -> Copied:
    """Exchange copies of particles with the neighbours of a rank, which call this function at the same time.

    With several levels of size there is a second round, for small particles near received copies of larger ones.

    Parameters
    ----------
    messages : Swap
        Messages to the other ranks.
    selection : Selection
        Selection of the particles of this rank.
    neighbours : (k,) int64 array
        Ranks in increasing order. The relation is symmetric: each has this rank as a neighbour.
    extents : (k, L, `EXTENT`) array
        Extents of the neighbours' particles; the row of a level includes all lower levels.
    """
    particles, rows = selection.particles, [selection.layer(one) for one in extents]
    ghosts, numbers = _swap(messages, particles, neighbours, rows)
    if selection.levels == 1:
        return Copied(rows, ghosts, numbers)
    came = split_rows(ghosts, numbers)
    more = [selection.partners(*both) for both in zip(rows, came, strict=True)]
    late, late_numbers = _swap(messages, particles, neighbours, more)
    joined = [np.concatenate(both) for both in zip(rows, more, strict=True)]
    return Copied(joined, *_interleaved(ghosts, numbers, late, late_numbers))


def _swap(
    messages: Swap, particles: Particles, neighbours: Integers, rows: list[Integers]
) -> tuple[NDArray[Any], Integers]:
    """Send the particles in `rows` to each neighbour; return the received rows, and their number per neighbour."""
    every = np.concatenate([*rows, np.empty(0, np.int64)])
    sent = np.array([len(one) for one in rows], np.int64)
    return messages.swap(neighbours, pack(particles, every, ghost_type(particles)), sent)


def _interleaved(
    one: NDArray[Any], numbers: Integers, other: NDArray[Any], more: Integers
) -> tuple[NDArray[Any], Integers]:
    """Merge rows that arrived in two messages per neighbour, sorted by neighbour; return them and their numbers."""
    source = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (numbers, more)])
    return np.concatenate((one, other))[np.argsort(source, kind="stable")], numbers + more
