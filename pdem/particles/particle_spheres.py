"""The spheres of particles that are to be placed: one sphere each, or the members of clusters.

A particle to be placed has the position of its centre of mass and a radius, the largest distance of its surface from
the centre. Overlaps with other particles, walls or the border of a region are tested with its spheres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.particles.clusters.quaternions import rotated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.clusters.shapes import ClusterShape

SINGLE = -1
"""Shape number of single spheres."""


class SphereGroups(NamedTuple):
    """The spheres of some particles.

    Attributes
    ----------
    begin : (n + 1,) int64 array
        Particle p has the spheres ``begin[p]`` to ``begin[p + 1]``, at least one.
    centre, radius : (m, 3) and (m,) arrays
        Centres and radii [m].
    """

    begin: Integers
    centre: Floats
    radius: Floats

    @property
    def are_single(self) -> bool:
        """Whether each particle is a single sphere with the particle's centre."""
        return len(self.begin) == len(self.radius) + 1

    def every(self, holds: Booleans) -> Booleans:
        """Return for which particles (n,) a condition holds for all of their spheres (m,)."""
        if self.are_single:
            return holds
        return np.logical_and.reduceat(holds, self.begin[:-1])

    def reach(self, along: Floats) -> Floats:
        """Return the extents of particles (n,) in a direction, from the positions of spheres along it (m,) [m]."""
        if self.are_single:
            return along + self.radius
        return np.maximum.reduceat(along + self.radius, self.begin[:-1])

    def extents(self, places: Floats | None = None) -> tuple[Floats, Floats]:
        """Return the extents of particles about 0 to both sides of each axis, (n, 3) each [m].

        The shape is (n, 1) for single spheres. `places` (m, k) are the positions of their spheres along further axes.
        """
        if self.are_single:
            return (self.radius[:, None],) * 2
        along = (self.centre if places is None else places).T
        below, above = (np.stack([self.reach(sign * one) for one in along], 1) for sign in (-1.0, 1.0))
        return below, above

    def about(self, position: Floats) -> SphereGroups:
        """Return the spheres, moved from 0 to the positions of their particles (n, 3) [m]."""
        if self.are_single:
            return self._replace(centre=position)
        return self._replace(centre=self.centre + np.repeat(position, np.diff(self.begin), axis=0))

    def of(self, particles: Integers) -> SphereGroups:
        """Return the spheres of some of the particles."""
        if self.are_single:
            return single_spheres(self.centre[particles], self.radius[particles])
        begin, sphere = _rows(self.begin[particles], np.diff(self.begin)[particles])
        return SphereGroups(begin, self.centre[sphere], self.radius[sphere])


def single_spheres(centre: Floats, radius: Floats) -> SphereGroups:
    """Return particles of one sphere each, (n, 3) and (n,) [m]."""
    return SphereGroups(np.arange(len(radius) + 1), centre, radius)


class ParticleShapes:
    """Spheres of particles, by the number of their shape.

    Parameters
    ----------
    shapes : iterable of ClusterShape
        Shapes with the numbers 0, 1 and so on; `SINGLE` is a sphere.

    Attributes
    ----------
    smallest, largest : (S + 1,) arrays
        Radii of the spheres of each shape over the largest distance of its surface from its centre; the last entry is
        for single spheres.
    most : int
        Largest number of spheres of a particle.
    """

    def __init__(self, shapes: Iterable[ClusterShape] = ()) -> None:
        shapes = list(shapes)
        radii = [*(one.radius / one.reach for one in shapes), np.ones(1)]
        places = [*((one.centre - one.solid.centre) / one.reach for one in shapes), np.zeros((1, 3))]
        self._size = np.array([len(one) for one in radii])
        self._first = np.cumsum(self._size) - self._size
        self._radius, self._centre = np.concatenate(radii), np.concatenate(places)
        self.smallest, self.largest = (np.array([end(one) for one in radii]) for end in (np.min, np.max))
        self.most = int(self._size.max())

    def limits(self, columns: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats]:
        """Return the smallest and the largest radius of the spheres of each particle, (n,) [m]; see `spheres`."""
        radius, shape = columns["radius"], columns.get("shape")
        return (radius, radius) if shape is None else (radius * self.smallest[shape], radius * self.largest[shape])

    def spheres(self, columns: Mapping[str, NDArray[Any]]) -> SphereGroups:
        """Return the spheres of particles.

        Parameters
        ----------
        columns : columns
            ``position`` (n, 3); ``radius`` (n,), the largest distance of each surface from its centre [m]; and unless
            all are single spheres ``shape`` (n,) and ``orientation`` (n, 4), unit quaternions, w first, that rotate
            from the coordinates of the shapes.
        """
        position, reach = columns["position"], columns["radius"]
        if "shape" not in columns:
            return single_spheres(position, reach)
        shape = columns["shape"]
        begin, sphere = _rows(self._first[shape], self._size[shape])
        particle = np.repeat(np.arange(len(reach)), self._size[shape])
        away = rotated(columns["orientation"][particle], self._centre[sphere])
        size = reach[particle]
        return SphereGroups(begin, position[particle] + size[:, None] * away, size * self._radius[sphere])


def _rows(first: Integers, size: Integers) -> tuple[Integers, Integers]:
    """Return the bounds of consecutive groups of rows (n + 1,), and the rows of all groups (m,)."""
    begin = np.concatenate(([0], np.cumsum(size)))
    return begin, np.arange(begin[-1]) + np.repeat(first - begin[:-1], size)
