"""Rigid clusters of spheres: shapes, and the clusters of one rank.

A cluster is one rigid body. Its spheres, the *members*, are ordinary particles for detection and contacts. Their
positions and velocities follow from the state of the cluster. The same rank owns the cluster and all of its members.
The members have consecutive ids in the order of the spheres of the shape. The number of a cluster is the id of its
first member plus one, so that 0 marks spheres without a cluster.

The state of a cluster is one row of numbers, which is sent to other ranks without conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.foundation import exact_math

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pdem.containers.particles import Particles
    from pdem.foundation.array_types import Booleans, Floats, Int32s, Integers

CENTRE, SPEED, ORIENTATION, MOMENTUM, SHAPE, SCALE, MATERIAL = 0, 3, 6, 10, 13, 14, 15
"""First indices of the parts of a cluster's state: centre of mass (3) [m], its velocity (3) [m/s], unit quaternion
w, x, y, z (4) that rotates the principal axes of the shape to directions in space, angular momentum in space (3)
[kg m^2/s], number of the shape, its scale, index of the material."""

STATE = 16
"""Length of a cluster's state."""

COLUMNS: Mapping[str, tuple[int, int]] = {
    "position": (CENTRE, 3), "velocity": (SPEED, 3), "orientation": (ORIENTATION, 4),
    "angular_momentum": (MOMENTUM, 3), "shape": (SHAPE, 1), "scale": (SCALE, 1), "material": (MATERIAL, 1),
}  # fmt: skip
"""First index and length of each part of a state, by its name in files."""


class ShapeArrays(NamedTuple):
    """Shapes in the form for kernels: spheres relative to the centre of mass, along principal axes, for the scale 1.

    Attributes
    ----------
    begin : (S + 1,) int64 array
        Shape s has the spheres ``begin[s]`` to ``begin[s + 1]``.
    offset : (N, 3) array
        Centres [m].
    radius : (N,) array
        Radii [m].
    volume : (S,) array
        Volumes [m^3].
    moments : (S, 3) array
        Principal moments for the density 1 [m^5].
    reach : (S,) array
        Largest distance of the surface from the centre of mass [m].
    """

    begin: Integers
    offset: Floats
    radius: Floats
    volume: Floats
    moments: Floats
    reach: Floats

    @property
    def sizes(self) -> Integers:
        """Number of spheres of each shape."""
        return np.diff(self.begin)

    @property
    def equivalent_radius(self) -> Floats:
        """Radius (S,) of the sphere of the same volume as each shape [m]."""
        return np.asarray(exact_math.cbrt(0.75 / np.pi * self.volume))


NO_SHAPES = ShapeArrays(
    np.zeros(1, np.int64), np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros((0, 3)), np.zeros(0)
)
"""The shapes of a case of single spheres."""


def places_of_owners(position: Floats, cluster: Integers, number: Integers, centre: Floats) -> Floats:
    """Return the position (n, 3) that determines the owner of each particle: for members the cluster's centre [m].

    Parameters
    ----------
    position, cluster : (n, 3) and (n,) arrays
        Positions of the particles [m], and numbers of their clusters, 0 for single spheres.
    number, centre : (c,) and (c, 3) arrays
        Numbers of the clusters, in any order, and positions of their centres [m].
    """
    places, members = np.array(position), np.flatnonzero(cluster)
    if len(members):
        places[members] = centre[_rows_of(number, cluster[members])]
    return places


def _rows_of(number: Integers, wanted: Integers) -> Integers:
    """Return the rows of some cluster numbers (m,) in `number` (c,), which has any order; -1 for missing ones."""
    order = np.argsort(number)
    if not len(order):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(number, wanted, sorter=order), len(order) - 1)
    rows = order[place]
    return np.where(number[rows] == wanted, rows, -1)


class ParticleTable(dict[str, Any]):
    """Columns of particles by name of the field, and of the clusters to which some particles belong.

    Attributes
    ----------
    clusters : dict of ndarray
        Columns of clusters, see `COLUMNS`; empty for a case without shapes.
    """

    def __init__(self, columns: Mapping[str, Any], clusters: Mapping[str, NDArray[Any]] | None = None) -> None:
        super().__init__(columns)
        self.clusters = dict(getattr(columns, "clusters", {}) if clusters is None else clusters)

    def centres(self) -> Floats:
        """Return the position (n, 3) that determines the owner of each particle, see `places_of_owners` [m]."""
        if not self.clusters:
            return np.array(self["position"])
        number, centre = self.clusters["number"], self.clusters["position"]
        return places_of_owners(self["position"], self["cluster"], number, centre)


class Clusters:
    """The clusters of one rank, followed by copies of clusters of other ranks.

    Parameters
    ----------
    shapes : ShapeArrays
        All shapes of the case.

    Attributes
    ----------
    count, ghosts : int
        Numbers of owned clusters and of copies.
    number : (n,) int64 array
        Cluster numbers: of owned clusters, increasing, then of copies.
    image : (count, 3) int32 array
        Number of periods of the box that each owned cluster has crossed, along each axis.
    """

    def __init__(self, shapes: ShapeArrays) -> None:
        self.shapes = shapes
        self.count, self.ghosts = 0, 0
        self.number = np.zeros(0, np.int64)
        self.image = np.zeros((0, 3), np.int32)
        self._states = np.zeros((0, STATE))

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        """Return the numbers of clusters and copies."""
        return f"Clusters({self.count} owned, {self.ghosts} ghosts, {len(self.shapes.volume)} shapes)"

    @property
    def states(self) -> Floats:
        """States of owned clusters, then of copies, (n, `STATE`); a view."""
        return self._states

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_") or name not in COLUMNS:
            raise AttributeError(f"clusters have no {name!r}; there are {', '.join(COLUMNS)}")
        begin, width = COLUMNS[name]
        part = self._states[: self.count, begin : begin + width]
        return part if width > 1 else part[:, 0]

    @property
    def radius(self) -> Floats:
        """Radius (count,) of the sphere of the same volume as each owned cluster [m]."""
        return self.shapes.equivalent_radius[self.shape.astype(np.int64)] * self.scale

    def replace(self, number: Integers, image: Int32s, states: Floats) -> None:
        """Replace the owned clusters by these, sorted by their numbers; copies are dropped."""
        order = np.argsort(number)
        self.number, self.image = number[order], np.ascontiguousarray(image[order])
        self._states = np.ascontiguousarray(states[order])
        self.count, self.ghosts = len(order), 0

    def keep(self, kept: Booleans) -> None:
        """Remove the owned clusters that are not marked in `kept` (count,)."""
        mine = slice(0, self.count)
        self.replace(self.number[mine][kept], self.image[kept], self._states[mine][kept])

    def chosen(self, kept: Booleans) -> Clusters:
        """Return a copy of the owned clusters that are marked in `kept` (count,)."""
        copy, mine = Clusters(self.shapes), slice(0, self.count)
        copy.replace(self.number[mine], self.image, self._states[mine])
        copy.keep(kept)
        return copy

    def take_ghosts(self, number: Integers) -> None:
        """Make room for copies of clusters with these numbers; their states arrive later."""
        states = np.zeros((self.count + len(number), STATE))
        states[: self.count] = self._states[: self.count]
        self._states, self.ghosts = states, len(number)
        self.number = np.concatenate((self.number[: self.count], number))

    def rows_of(self, number: Integers) -> Integers:
        """Return the rows of clusters, owned or copies, by their numbers; -1 for clusters that are not on this rank."""
        return _rows_of(self.number, number)

    def centres(self, particles: Particles) -> Floats:
        """Return the position (n, 3) that determines the owner of each owned particle, see `places_of_owners` [m]."""
        return places_of_owners(particles.position, particles.cluster, self.number[: self.count], self.position)

    def as_columns(self) -> dict[str, NDArray[Any]]:
        """Return copies of all columns of the owned clusters, by name: see `COLUMNS`."""
        columns: dict[str, NDArray[Any]] = {"number": self.number[: self.count].copy(), "image": self.image.copy()}
        for name in COLUMNS:
            columns[name] = np.ascontiguousarray(getattr(self, name))
        return columns | {name: columns[name].astype(np.int32) for name in ("shape", "material")}


def states_of(columns: Mapping[str, NDArray[Any]]) -> Floats:
    """Return the states (n, `STATE`) of clusters from their columns, see `COLUMNS`."""
    parts = [np.asarray(columns[name], np.float64).reshape(-1, width) for name, (_, width) in COLUMNS.items()]
    return np.concatenate(parts, axis=1)
