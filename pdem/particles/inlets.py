"""Entry of particles during a run: random positions in a region, or in the layer behind a face.

A position is keyed by the number of the particle and the number of the attempt (`pdem.numerics.random`), so that it
does not depend on the number of other particles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pdem.foundation import exact_math
from pdem.numerics.random import keyed_vectors
from pdem.particles import regions
from pdem.particles.random_places import PLACE_STREAM, random_places
from pdem.particles.regions import wrap_positions

if TYPE_CHECKING:
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.faces import Face
    from pdem.particles.particle_spheres import SphereGroups


class Inlet(Protocol):
    """Source of positions for the particles of one insertion.

    Attributes
    ----------
    room : float
        Volume of the space from which positions are drawn [m^3], in 2D its area [m^2].
    """

    room: float

    @property
    def bounds(self) -> regions.Bounds:
        """Corners of a box around all positions, (3,) each [m]."""

    def places(self, seed: int, numbers: Integers, spheres: SphereGroups, attempt: Integers) -> tuple[Floats, Booleans]:
        """Return a random position (n, 3) [m] for an attempt of each particle, and whether it is permitted.

        `spheres` are the spheres of the particles, with particles at 0.
        """


class RegionInlet:
    """Positions in a region, with particles completely inside.

    Parameters
    ----------
    region : Region
        The region.
    domain : Domain
        The box of the particles.
    """

    def __init__(self, region: regions.Region, domain: regions.RegionDomain) -> None:
        self._region, self._domain = region, domain
        self._unbounded = regions.unbounded_axes(region, domain)
        self.room = regions.size(region, domain.dimension)

    @property
    def bounds(self) -> regions.Bounds:
        """Corners of the box around the region."""
        return regions.bounds(self._region)

    def places(self, seed: int, numbers: Integers, spheres: SphereGroups, attempt: Integers) -> tuple[Floats, Booleans]:
        """Return a random position in the region for each particle, and whether the particle is completely inside."""
        positions = random_places(self._region, self._domain, seed, numbers, spheres.extents(), attempt)
        there = spheres.about(positions)
        inside = there.every(regions.contains(self._region, there.centre, there.radius, self._unbounded))
        return wrap_positions(positions, self._domain), inside


class FaceInlet:
    """Positions in the layer that particles fill when they pass through a face for some time.

    A particle is inserted when it has passed the plane completely. Its position on the face and the time since are
    random.

    Parameters
    ----------
    face : Face
        The face.
    velocity : (3,) array
        Mean velocity of the particles [m/s], with a component along the normal of the face.
    time : float
        Time in which the layer fills [s].
    largest : float
        Largest distance of a particle's surface from its centre [m].
    domain : Domain
        The box of the particles.
    """

    def __init__(self, face: Face, velocity: Floats, time: float, largest: float, domain: regions.RegionDomain) -> None:
        self._face, self._velocity, self._time, self._domain = face, velocity, time, domain
        along = float(exact_math.inner(velocity, face.normal))
        self._ahead = face.normal * np.sign(along)
        self._largest = largest
        self.room = face.area * abs(along) * time

    @property
    def bounds(self) -> regions.Bounds:
        """Corners of the box around the layer."""
        near = self._face.corners
        far = near + self._velocity * self._time + self._ahead * self._largest
        both = np.concatenate((near, far))
        return both.min(axis=0), both.max(axis=0)

    def places(self, seed: int, numbers: Integers, spheres: SphereGroups, attempt: Integers) -> tuple[Floats, Booleans]:
        """Return a random position in the layer for each particle, and whether it has passed the face completely."""
        uniform = keyed_vectors(seed, PLACE_STREAM + 3 * attempt, numbers)
        low, high = self._face.bounds
        across = np.stack([regions.along(spheres.centre, axis) for axis in self._face.axes], 1)
        below, above = (np.minimum(one, 0.5 * (high - low)) for one in spheres.extents(across))
        flat = low + below + uniform[:, :2] * (high - low - (below + above))
        behind = spheres.reach(-regions.along(spheres.centre, self._ahead))
        positions = self._face.points(flat) + behind[:, None] * self._ahead
        positions += (self._time * uniform[:, 2:]) * self._velocity
        there = spheres._replace(centre=across).about(flat)
        passed = there.every(self._face.holds(there.centre, there.radius))
        return wrap_positions(positions, self._domain), passed
