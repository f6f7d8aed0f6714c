"""Copies of particles that neighbours need, and those of theirs that come here: once for each detection."""

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
        """Return the reaches of copies, rows of the type `decomposition.packing.ghost_type` [m]."""
        return self.reach(*(np.ascontiguousarray(copies[name]) for name in ("radius", "velocity", "position")))

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
        Rows of the type `decomposition.packing.ghost_type` that have come, by neighbour.
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


def extents_of(particles: Particles, position: Floats, sizes: Sizes) -> Floats:
    """Return the extents (L, `EXTENT`) of particles at these positions (n, 3) [m], of each level alone."""
    level = levels_of(particles.radius, sizes.radii)
    return extents_of_levels(position, sizes.reach_of_owned(particles), level, len(sizes.radii))


class Selection:
    """Says which particles of a rank are copied to another one.

    Parameters
    ----------
    particles : Particles
        Of this rank.
    sizes : Sizes
        Of particles, the same on every rank.
    extents : (L, `EXTENT`) array
        Of the particles of this rank of each level and all below.
    repeats : Repeats
        How the box repeats.

    Attributes
    ----------
    particles : Particles
        As given.
    levels : int
        Of size.
    """

    def __init__(self, particles: Particles, sizes: Sizes, extents: Floats, repeats: Repeats) -> None:
        self.particles, self.levels = particles, len(sizes.radii)
        self._sizes, self._widest, self._repeats = sizes, extents[:, 6].copy(), repeats
        self._position, self._reach = particles.position, sizes.reach_of_owned(particles)
        self._level = levels_of(particles.radius, sizes.radii)
        self._mark = np.zeros(particles.count, bool)
        self._cells: Cells | None = None

    def layer(self, extents: Floats) -> Integers:
        """Return the rows that may touch a particle of their own or a lower level of a rank with these extents."""
        mark_layer(self._position, self._reach, self._level, extents, tuple(self._repeats), self._mark)
        return np.flatnonzero(self._mark)

    def partners(self, rows: Integers, copies: NDArray[Any]) -> Integers:
        """Return the rows besides those given that may touch one of these copies of larger particles."""
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
    """Return the rows of each of k neighbours, so many (k,) after the other."""
    return np.split(rows, np.cumsum(numbers))[:-1]


def exchange_copies(messages: Swap, selection: Selection, neighbours: Integers, extents: Floats) -> Copied:
    """Exchange copies of particles with the neighbours of a rank; they all call this at the same time.

    With more than one level of size there is a second round: of small particles near copies of larger ones.

    Parameters
    ----------
    messages : Swap
        To the other ranks.
    selection : Selection
        Of the particles of this rank.
    neighbours : (k,) int64 array
        Ranks, rising; each has this one among its own.
    extents : (k, L, `EXTENT`) array
        Of their particles of each level and all below.
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
    """Send the particles in these rows to each neighbour; return those that come, and how many from each."""
    every = np.concatenate([*rows, np.empty(0, np.int64)])
    sent = np.array([len(one) for one in rows], np.int64)
    return messages.swap(neighbours, pack(particles, every, ghost_type(particles)), sent)


def _interleaved(
    one: NDArray[Any], numbers: Integers, other: NDArray[Any], more: Integers
) -> tuple[NDArray[Any], Integers]:
    """Return rows that have come from each neighbour in two messages, by neighbour, and their numbers."""
    source = np.concatenate([np.repeat(np.arange(len(counts)), counts) for counts in (numbers, more)])
    return np.concatenate((one, other))[np.argsort(source, kind="stable")], numbers + more
