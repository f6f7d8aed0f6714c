"""The spheres that particles are made of while places are looked for: one each, or the members of clusters.

A particle to be placed has a position, that of its centre of mass, and a radius, which says how far it reaches. Where
it overlaps others, walls or the border of a region is a matter of its spheres.
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
"""Number of the shape of single spheres."""


class SphereGroups(NamedTuple):
    """The spheres of some particles.

    Attributes
    ----------
    begin : (n + 1,) int64 array
        Particle p has the spheres ``begin[p]`` to ``begin[p + 1]``, one or more.
    centre, radius : (m, 3) and (m,) arrays
        [m].
    """

    begin: Integers
    centre: Floats
    radius: Floats

    @property
    def are_single(self) -> bool:
        """Whether each particle has one sphere, about which it is."""
        return len(self.begin) == len(self.radius) + 1

    def every(self, holds: Booleans) -> Booleans:
        """Return for which particles (n,) something holds for all of their spheres (m,)."""
        if self.are_single:
            return holds
        return np.logical_and.reduceat(holds, self.begin[:-1])

    def reach(self, along: Floats) -> Floats:
        """Return how far particles (n,) reach into a direction in which their spheres are so far along (m,) [m]."""
        if self.are_single:
            return along + self.radius
        return np.maximum.reduceat(along + self.radius, self.begin[:-1])

    def extents(self, places: Floats | None = None) -> tuple[Floats, Floats]:
        """Return how far particles about 0 reach to both sides of each axis, (n, 3) each [m]; (n, 1) of single spheres.

        `places` (m, k) are where their spheres are along other axes.
        """
        if self.are_single:
            return (self.radius[:, None],) * 2
        along = (self.centre if places is None else places).T
        below, above = (np.stack([self.reach(sign * one) for one in along], 1) for sign in (-1.0, 1.0))
        return below, above

    def about(self, position: Floats) -> SphereGroups:
        """Return them moved from 0 to the positions of their particles (n, 3) [m]."""
        if self.are_single:
            return self._replace(centre=position)
        return self._replace(centre=self.centre + np.repeat(position, np.diff(self.begin), axis=0))

    def of(self, particles: Integers) -> SphereGroups:
        """Return those of some of the particles."""
        if self.are_single:
            return single_spheres(self.centre[particles], self.radius[particles])
        begin, sphere = _rows(self.begin[particles], np.diff(self.begin)[particles])
        return SphereGroups(begin, self.centre[sphere], self.radius[sphere])


def single_spheres(centre: Floats, radius: Floats) -> SphereGroups:
    """Return particles of one sphere each, (n, 3) and (n,) [m]."""
    return SphereGroups(np.arange(len(radius) + 1), centre, radius)


class ParticleShapes:
    """What particles are made of, by the number of their shape.

    Parameters
    ----------
    shapes : iterable of ClusterShape
        Those with the numbers 0, 1 and so on; `SINGLE` is a sphere.

    Attributes
    ----------
    smallest, largest : (S + 1,) arrays
        Radii of the spheres of each shape over how far it reaches; the last of single spheres.
    most : int
        Largest number of spheres.
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
            ``position`` (n, 3), ``radius`` (n,), how far each reaches [m]; and unless all are single spheres ``shape``
            (n,) and ``orientation`` (n, 4), unit quaternions from how the shapes are drawn, w first.
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
    """Return where groups of rows begin and end when one follows the other (n + 1,), and the rows in them (m,)."""
    begin = np.concatenate(([0], np.cumsum(size)))
    return begin, np.arange(begin[-1]) + np.repeat(first - begin[:-1], size)
