"""A large system as copies of a small periodic one; particles are created only where they are needed."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.containers.clusters import ParticleTable
    from pdem.foundation.array_types import Floats, Integers

    Columns = dict[str, NDArray[Any]]


class Tiling:
    """Copies of particles side by side along periodic axes.

    Parameters
    ----------
    particles : ParticleTable
        Particles of the small system, with all fields of a state. Members of clusters are next to their centre, even
        outside of the box.
    lower, length : (3,) arrays
        Box of the small system: corner and sides [m].
    copies : (3,) int sequence
        Number of copies along each axis.

    Attributes
    ----------
    count : int
        Particles of the large system.
    length : (3,) array
        Sides of one copy [m].
    lower, upper : (3,) arrays
        Corners of the large system [m].
    overhang : float
        Largest distance of members from the centre of their cluster [m].
    """

    def __init__(self, particles: ParticleTable, lower: Floats, length: Floats, copies: Sequence[int]) -> None:
        self._particles, self.length = particles, np.asarray(length, np.float64)
        self.copies = np.array(copies, np.int64)
        self.tiles = int(np.prod(self.copies))
        self.count = self.tiles * len(particles["id"])
        self.lower = np.asarray(lower, np.float64)
        self.upper = self.lower + self.copies * self.length
        self._centres = particles.centres()
        away = particles["position"] - self._centres
        self.overhang = float(np.sqrt(np.square(away).sum(axis=1)).max(initial=0.0))
        # Ids of a copy are consecutive like those of the original, as required for members of clusters.
        self._stride = int(particles["id"].max(initial=0)) + 1

    def sample(self, each: int) -> Floats:
        """Return positions (n, 3) [m] of the same number of particles in each tile, evenly chosen from their list."""
        position = self._particles["position"]
        few = position[np.linspace(0, len(position) - 1, min(each, len(position))).astype(np.int64)]
        corners = np.stack(np.meshgrid(*map(np.arange, self.copies), indexing="ij"), axis=-1).reshape(-1, 3)
        places: Floats = (few[None, :, :] + (corners * self.length)[:, None, :]).reshape(-1, 3)
        return places

    def count_in(self, box: Floats) -> int:
        """Return the number of particles in a box (6,) [m]; members of a cluster count at its centre."""
        first, end = (np.ceil((corner - self._centres) / self.length) for corner in (box[:3], box[3:]))
        tiles = np.clip(end, 0, self.copies) - np.clip(first, 0, self.copies)  # along each axis, for each particle
        return int(np.maximum(tiles, 0.0).prod(axis=1).sum())

    def tiles_in(self, lower: Floats, upper: Floats, periodic: Sequence[bool]) -> list[tuple[int, ...]]:
        """Return the tiles that a box (m) overlaps; along periodic axes tiles beyond the ends are images."""
        first = np.floor((lower - self.lower) / self.length).astype(np.int64)
        last = np.floor((upper - self.lower) / self.length).astype(np.int64)
        ends = self.copies - 1
        first, last = (
            np.where(periodic, one, np.clip(one, 0, ends)) for one in (first, last)
        )  # particles outside belong to the outer tiles
        ranges = [range(low, high + 1) for low, high in zip(first.tolist(), last.tolist(), strict=True)]
        return list(itertools.product(*ranges))

    def within(self, lower: Floats, upper: Floats, periodic: Sequence[bool]) -> tuple[Columns, Floats]:
        """Return the particles in a box, images included, and the positions of their originals (n, 3) [m].

        Parameters
        ----------
        lower, upper : (3,) arrays
            The box [m].
        periodic : three bool
            Axes along which the large system is periodic.
        """
        tiles = self.tiles_in(lower - self.overhang, upper + self.overhang, periodic)
        parts = [self._of_tile(tile, lower, upper) for tile in tiles]
        parts = parts or [{name: column[:0] for name, column in self._particles.items()}]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return found, self._at_home(found["position"], periodic)

    def _at_home(self, position: Floats, periodic: Sequence[bool]) -> Floats:
        """Return the positions of the originals of some images in the large system (n, 3) [m]."""
        turns = np.floor((position - self.lower) / (self.upper - self.lower))
        home: Floats = position - np.where(periodic, turns, 0.0) * (self.upper - self.lower)
        return home

    def _of_tile(self, tile: tuple[int, ...], lower: Floats, upper: Floats) -> Columns:
        """Return the particles of a tile in a box; an image has the id of its original."""
        position = self._particles["position"] + np.array(tile) * self.length
        rows = np.flatnonzero(((position >= lower) & (position < upper)).all(axis=1))
        number = int(np.ravel_multi_index(tuple(np.mod(tile, self.copies)), tuple(self.copies)))
        found = {name: column[rows] for name, column in self._particles.items()}
        cluster = np.where(found["cluster"] > 0, found["cluster"] + number * self._stride, 0)
        identity = found["id"] + number * self._stride
        return {**found, "position": position[rows], "id": identity, "cluster": cluster}

    def clusters_of(self, numbers: Integers) -> Columns:
        """Return columns of the clusters with these numbers in the large system."""
        small = self._particles.clusters
        tile, number = np.divmod(numbers - 1, self._stride)
        order = np.argsort(small["number"])
        rows = order[np.searchsorted(small["number"], number + 1, sorter=order)]
        places = np.stack(np.unravel_index(tile, tuple(self.copies)), axis=1) * self.length
        found = {name: column[rows] for name, column in small.items()}
        return {**found, "number": numbers, "position": found["position"] + places}


def copies_along(tiles: int, length: Floats, periodic: Sequence[bool]) -> tuple[int, int, int]:
    """Return the number of copies along each periodic axis for about `tiles` copies, in a box close to a cube.

    Parameters
    ----------
    tiles : int
        Total number of copies, at least 1.
    length : (3,) array
        Sides of one copy [m].
    periodic : three bool
        Axes along which several copies are possible.
    """
    copies = [1, 1, 1]
    axes = [axis for axis in range(3) if periodic[axis]]
    for left in range(len(axes), 0, -1):
        # The longest sides come first; shorter ones compensate for their rounding.
        axis = max(axes, key=lambda one: length[one])
        axes.remove(axis)
        rest = tiles / math.prod(copies)
        edge = (rest * math.prod(length[one] for one in (axis, *axes))) ** (1.0 / left)
        copies[axis] = max(1, round(min(edge / length[axis], rest)) if axes else round(rest))
    return copies[0], copies[1], copies[2]
