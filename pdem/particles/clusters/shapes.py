"""Shapes made of spheres in the form for simulations, and orientations of clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pdem.containers.clusters import ShapeArrays
from pdem.containers.principal_axes import principal_axes
from pdem.containers.sphere_union import slice_area
from pdem.foundation import exact_math
from pdem.foundation.rotations import quaternion_of
from pdem.numerics.random import keyed_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pdem.containers.meshes.solid import Solid
    from pdem.foundation.array_types import Floats, Integers

_ORIENTATION_STREAM = 1 << 60
_POINTS = 200
_STREAMS = 1024
"""Random numbers for an orientation: two for each of `_POINTS` in each of two discs, and some spare ones."""


@dataclass(frozen=True, eq=False)
class ClusterShape:
    """A shape: its spheres in their original coordinates, and its mass properties.

    Attributes
    ----------
    centre, radius : (n, 3) and (n,) arrays
        Centres and radii of the spheres [m].
    solid : Solid
        Volume, centre of mass and inertia for the density 1.
    moments : (3,) array
        Principal moments for the density 1 [m^5].
    axes : (3, 3) array
        Principal axes in columns.
    """

    centre: Floats
    radius: Floats
    solid: Solid
    moments: Floats
    axes: Floats

    @classmethod
    def of(cls, centre: Floats, radius: Floats, solid: Solid) -> ClusterShape:
        """Return the shape of these spheres with the mass properties of a solid.

        If all centres are in one plane of constant z, this plane is a plane of symmetry: rounding must not tilt the
        shape, or a case of dimension 2 would not stay flat.
        """
        if np.ptp(centre[:, 2]) == 0.0 and abs(solid.centre[2] - centre[0, 2]) < 1e-9 * float(radius.max()):
            solid = _flat(solid, float(centre[0, 2]))
        moments, axes = principal_axes(solid.inertia)
        if not solid.inertia[2, :2].any():
            axes[2, :2] = axes[:2, 2] = 0.0
        return cls(centre, radius, solid, moments, axes)

    @property
    def offset(self) -> Floats:
        """Positions of the spheres relative to the centre of mass, along the principal axes (n, 3) [m]."""
        return exact_math.matmul(self.centre - self.solid.centre, self.axes)

    @property
    def frame(self) -> Floats:
        """Quaternion (4,), w first, that rotates principal axes to the axes of the original coordinates."""
        return np.array(quaternion_of(self.axes))

    @property
    def reach(self) -> float:
        """Largest distance of the surface from the centre of mass [m]."""
        return float((exact_math.norm(self.offset) + self.radius).max())

    @property
    def equivalent_radius(self) -> float:
        """Radius of the sphere of the same volume [m]."""
        return float(exact_math.cbrt(0.75 / np.pi * self.solid.volume))

    @property
    def disc_radius(self) -> float:
        """Radius of the disc with the same area as the section across z through the centre of mass [m]."""
        return math.sqrt(slice_area(self.centre, self.radius, float(self.solid.centre[2])) / math.pi)

    @property
    def mass_share(self) -> float:
        """Volume over the volume of all its spheres, at most 1: lower bound of effective over own mass of a sphere."""
        whole = 4.0 / 3.0 * math.pi * exact_math.total(self.radius * self.radius * self.radius)
        return min(1.0, self.solid.volume / whole)


def _flat(solid: Solid, height: float) -> Solid:
    """Return a solid with the plane of constant z [m] as plane of symmetry, without rounding errors against it."""
    centre, inertia = solid.centre.copy(), solid.inertia.copy()
    centre[2] = height
    inertia[2, :2] = inertia[:2, 2] = 0.0
    return solid._replace(centre=centre, inertia=inertia)


def shape_arrays(shapes: Sequence[ClusterShape]) -> ShapeArrays:
    """Return shapes in the form for kernels."""
    sizes = [len(one.radius) for one in shapes]
    return ShapeArrays(
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64),
        np.concatenate([np.zeros((0, 3)), *(one.offset for one in shapes)]),
        np.concatenate([np.zeros(0), *(one.radius for one in shapes)]),
        np.array([one.solid.volume for one in shapes], np.float64),
        np.array([one.moments for one in shapes], np.float64).reshape(-1, 3),
        np.array([one.reach for one in shapes], np.float64),
    )  # fmt: skip


def random_orientations(seed: int, ids: Integers, dimension: int, attempts: Integers | int = 0) -> Floats:
    """Return unit quaternions (n, 4), uniform over all rotations, in 2D about z; keyed by ids and attempts.

    From points in two discs by rejection (G. Marsaglia, Ann. Math. Stat. 43 (1972) 645): products and roots alone, so
    that bits are the same on all processors.
    """
    stream = _ORIENTATION_STREAM + _STREAMS * np.broadcast_to(attempts, len(ids))
    (a, b), one = _points_in_disc(seed, stream, ids)
    if dimension == 2:
        scale = 1.0 / np.sqrt(one)
        return np.column_stack((a * scale, np.zeros((len(ids), 2)), b * scale))
    (c, d), two = _points_in_disc(seed, stream + 2 * _POINTS, ids)
    scale = np.sqrt((1.0 - one) / two)
    return np.column_stack((a, b, c * scale, d * scale))


def _points_in_disc(seed: int, stream: Integers, ids: Integers) -> tuple[Floats, Floats]:
    """Return points (2, n) in the unit disc, keyed by ids, and the squares of their distances from its centre (n,)."""
    found, pending = np.full((2, len(ids)), 0.5), np.arange(len(ids))
    for attempt in range(_POINTS):
        if not len(pending):
            break
        place = 2.0 * keyed_vectors(seed, stream[pending] + 2 * attempt, ids[pending], 2).T - 1.0
        inside = place[0] * place[0] + place[1] * place[1] < 1.0
        found[:, pending[inside]] = place[:, inside]
        pending = pending[~inside]
    return found, found[0] * found[0] + found[1] * found[1]
