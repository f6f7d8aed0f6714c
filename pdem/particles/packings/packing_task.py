"""Input and relaxation of a packing on one rank: groups of particles, regions, walls and obstacles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.detection.find_pairs import find_pairs
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.numerics.random import keyed_vectors
from pdem.particles import regions
from pdem.particles.clearance import near_triangles, triangle_distance
from pdem.particles.filling import particle_volumes, reaches
from pdem.particles.packings import soft_spheres
from pdem.particles.packings.soft_contacts import (
    BALL,
    BOX,
    CYLINDER,
    MEAN,
    MIXING,
    REGION_NUMBERS,
    STATE,
    TIME_STEP,
    VIRIAL,
    Crowd,
    SoftContactLists,
)
from pdem.particles.particle_spheres import SINGLE, ParticleShapes, SphereGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Integers
    from pdem.particles.filling import FillRequest, Surroundings

MARGIN = 3e-6
"""Relative enlargement of radii during the relaxation, so that spheres do not overlap in the end."""

SMALL = 1e-6
"""Overlap over the diameter that is negligible."""

BALANCED = 2e-4
"""Limit for balanced forces: mean square of the total force on a particle, over the mean square force of a contact."""

MOST_STEPS = 40_000
"""Largest number of steps in one relaxation; a packing close to jamming takes some thousands."""

SKIN = 0.12
"""Displacement of a sphere over its radius beyond which lists are made again."""

LARGEST_STEP = 0.1
"""Largest displacement in a step, over the radius."""

_PLACE_STREAM, _ATTEMPTS, _FREE = 48, 400, 0.5


@dataclass
class PackingPlaces:
    """Positions and orientations of particles.

    Attributes
    ----------
    position : (n, 3) array
        Positions in m.
    turn : (n, 4) array
        Unit quaternions, w first, that rotate from the coordinates of the shapes.
    """

    position: Floats
    turn: Floats

    def of(self, rows: Any) -> PackingPlaces:
        """Return positions and orientations of some particles."""
        return PackingPlaces(self.position[rows], self.turn[rows])

    def joined(self, others: PackingPlaces) -> PackingPlaces:
        """Return the concatenation with `others`."""
        return PackingPlaces(np.concatenate((self.position, others.position)), np.concatenate((self.turn, others.turn)))


@dataclass
class Packing:
    """Result of a relaxation.

    Attributes
    ----------
    places : PackingPlaces
        Positions and orientations of all particles.
    overlap : float
        Mean overlap over the diameter, of the remaining contacts; 0 without contacts.
    virial : float
        Sum of forces times branches [m^2], with the stiffness of `Law` as unit.
    reason : int
        Code for the end of the steps.
    """

    places: PackingPlaces
    overlap: float
    virial: float
    reason: int


@dataclass(frozen=True)
class Law:
    """Forces of contacts while a packing is pressed.

    Attributes
    ----------
    depth : float
        Overlap at which the mean stiffness of a contact is 1 [m].
    bent : bool
        Whether forces grow with the power 1.5 of the overlap; otherwise they are linear.
    size : float
        Effective radius at which the stiffness is 1 [m], if it grows with the root of the radius; 0 if it does not.
    hardness : (t,) array
        Stiffness of the triangles of walls over that of particles.
    small, balanced : float
        See `pdem.particles.packings.soft_spheres.relax`.
    """

    depth: float
    bent: bool
    size: float
    hardness: Floats
    small: float
    balanced: float


class Task:
    """All groups that are packed together, on the first rank.

    Parameters
    ----------
    requests : sequence of FillRequest
        Request of each group.
    first_ids : sequence of int
        First id of each group.
    obstacles : mapping of arrays
        ``position`` and ``radius`` of particles at rest.
    surroundings : Surroundings
        The domain and the walls.

    Attributes
    ----------
    steps : int
        Number of steps so far.
    """

    def __init__(
        self,
        requests: Sequence[FillRequest],
        first_ids: Sequence[int],
        obstacles: dict[str, NDArray[Any]],
        surroundings: Surroundings,
    ) -> None:
        self.requests, self.first_ids, self.surroundings = requests, first_ids, surroundings
        self.steps = 0
        self.domain = surroundings.domain
        self.obstacles = np.asarray(obstacles["position"]).reshape(-1, 3), np.asarray(obstacles["radius"])
        self.kind, self.numbers, self.excluded = _rows_of_regions(requests, self.domain)
        width = np.subtract(self.domain.upper, self.domain.lower)
        self.period = np.where(self.domain.periodic, width, 0.0)
        self.period[self.domain.dimension :] = 0.0
        avoids = any(one.fill.avoid_walls for one in requests)
        self.corners, self.facets = surroundings.corners() if avoids else (np.zeros((0, 3, 3)), np.zeros(0, np.int64))
        kinds = list({one.shape: None for one in requests if one.shape is not None})
        self._shapes = ParticleShapes(kinds)
        self._shape = [SINGLE if one.shape is None else kinds.index(one.shape) for one in requests]
        self.clustered = bool(kinds)

    def reaches(self, group: int, count: int) -> Floats:
        """Return the radii of the first particles of a group (n,) [m]; for clusters the distance of their surface."""
        return reaches(self.requests[group], self.first_ids[group], count)

    def volumes(self, group: int, reach: Floats) -> Floats:
        """Return the volumes of particles of a group from their radii `reach` (n,) [m^3], in 2D areas [m^2]."""
        request = self.requests[group]
        return particle_volumes(request, reach / request.reach, self.domain.dimension)

    def room(self) -> float:
        """Return the volume of the regions of all groups [m^3], in 2D the area [m^2]."""
        rooms = {f"{one.region} {one.fill.connected_to}": self.surroundings.room(one) for one in self.requests}
        return exact_math.total(rooms.values())

    def fraction(self, reach: Sequence[Floats]) -> float:
        """Return the volume fraction of all groups in their regions, in 2D the area fraction."""
        solid = [exact_math.total(self.volumes(group, one)) for group, one in enumerate(reach)]
        return exact_math.total(solid) / self.room()

    def seeds(self, group: int, begin: int, reach: Floats, turned: int = 0) -> PackingPlaces:
        """Return random positions of particles of a group, from the particle with number `begin` on.

        Positions are in the region of the group, with a distance of half the particle size from walls. `turned` is a
        different number for each attempt to find positions for the same particles.
        """
        request, count = self.requests[group], len(reach)
        lower, upper = regions.bounds(request.region)
        ids = self.first_ids[group] + begin + np.arange(count)
        found, left = PackingPlaces(np.zeros((count, 3)), request.oriented(ids)), np.arange(count)
        for attempt in range(turned * _ATTEMPTS, (turned + 1) * _ATTEMPTS):
            uniform = keyed_vectors(request.fill.seed, _PLACE_STREAM + 3 * attempt, ids[left])
            places = lower + uniform * (upper - lower)
            places[:, self.domain.dimension :] = 0.5 * (lower + upper)[self.domain.dimension :]
            free = self.surroundings.free(
                request, self._spheres(group, _FREE * reach[left], PackingPlaces(places, found.turn[left]))
            )
            found.position[left[free]] = places[free]
            left = left[~free]
            if not len(left):
                return found
        raise CaseError(f"{request.where}: no room is free of walls in this region; enlarge it")

    def _spheres(self, group: int, reach: Floats, places: PackingPlaces) -> SphereGroups:
        """Return the spheres of particles of a group."""
        columns = {"position": places.position, "radius": reach}
        if self._shape[group] != SINGLE:
            columns["shape"] = np.full(len(reach), self._shape[group])
            columns["orientation"] = places.turn
        return self._shapes.spheres(columns)

    def all_spheres(self, reach: Sequence[Floats], places: PackingPlaces) -> SphereGroups:
        """Return the spheres of all particles, one group after the other."""
        counts = [len(one) for one in reach]
        columns = {"position": places.position, "radius": np.concatenate(reach)}
        if self.clustered:
            columns["shape"], columns["orientation"] = np.repeat(self._shape, counts), places.turn
        return self._shapes.spheres(columns)

    def outside(self, reach: Sequence[Floats], places: PackingPlaces) -> Integers:
        """Return the particles that are outside of their container."""
        ends, found = np.cumsum([0, *map(len, reach)]), [np.zeros(0, np.int64)]
        for group, request in enumerate(self.requests):
            rows = slice(ends[group], ends[group + 1])
            if request.fill.connected_to is not None and len(reach[group]):
                inside = self.surroundings.connected(request, places.position[rows])
                found.append(ends[group] + np.flatnonzero(~inside))
        return np.concatenate(found)

    def drawn_spheres(self, reach: Sequence[Floats]) -> SphereGroups:
        """Return the spheres of all particles in the coordinates of their shapes, about 0."""
        count = sum(map(len, reach))
        return self.all_spheres(reach, PackingPlaces(np.zeros((count, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (count, 1))))

    def relax(
        self,
        places: PackingPlaces,
        reach: Sequence[Floats],
        bar: Any,
        *,
        scale: float = 1.0,
        most: int = MOST_STEPS,
        law: Law | None = None,
    ) -> Packing:
        """Push particles apart, from positions of all groups one after the other; see `soft_spheres.relax`.

        `scale` is the size of particles over their full size.
        """
        enlarged = scale if law is not None else scale * (1.0 + MARGIN)
        sizes = [enlarged * one for one in reach]
        crowd, bodies, motion = self._at_rest(places, sizes, 1.0 if law is not None else 1.0 + MARGIN, law)
        small, balanced = (SMALL, BALANCED) if law is None else (law.small, law.balanced)
        steps, reason = 0, soft_spheres.MOVED
        while reason == soft_spheres.MOVED and steps < most:
            lists = self._lists(crowd, bodies, motion)
            reason, taken = soft_spheres.relax(crowd, bodies, lists, motion, most - steps, small, balanced)
            steps += taken
            bar.update(taken)
        self.steps += steps
        state, done = motion.state, reason == soft_spheres.DONE
        found = (
            PackingPlaces(motion.centre, motion.turn)
            if self.clustered
            else PackingPlaces(motion.position[: len(places.position)].copy(), places.turn)
        )
        return Packing(found, 0.0 if done else float(state[MEAN]), float(state[VIRIAL]), reason)

    def _at_rest(
        self, places: PackingPlaces, sizes: Sequence[Floats], obstacle: float, law: Law | None
    ) -> tuple[Crowd, soft_spheres.SoftBodies, soft_spheres.SoftMotion]:
        """Return spheres and bodies in the form for kernels, at rest."""
        spheres = self.drawn_spheres(sizes)
        number, reach = np.diff(spheres.begin), np.concatenate(sizes)
        group = np.repeat(np.arange(len(sizes)), [len(one) for one in sizes])
        unit = float(spheres.radius.min(initial=np.inf))
        bodies = _bodies(spheres, reach, unit, clustered=self.clustered)
        motion = self._motion(places, bodies, len(spheres.radius))
        crowd = Crowd(
            np.concatenate((spheres.radius, self.obstacles[1] * obstacle)), np.repeat(group, number),
            self.kind, self.numbers, self.excluded, self.period,
            np.divide(1.0, self.period, out=np.zeros(3), where=self.period > 0.0),
            self.corners, np.zeros(0) if law is None else law.hardness,
            1.0 / law.depth if law is not None and law.bent else 0.0, 0.0 if law is None else law.size,
            self.domain.dimension,
        )  # fmt: skip
        return crowd, bodies, motion

    def _motion(self, places: PackingPlaces, bodies: soft_spheres.SoftBodies, count: int) -> soft_spheres.SoftMotion:
        """Return positions, velocities and forces of spheres and bodies at rest."""
        state = np.zeros(STATE)
        state[TIME_STEP], state[MIXING] = soft_spheres.FIRST, soft_spheres.TURNED
        rows, several = len(bodies.mass), len(bodies.reach) > 0
        velocity, force, none = np.zeros((rows, 3)), np.zeros((rows, 3)), np.zeros((0, 3))
        inner = np.zeros((count, 3)) if several else places.position
        motion = soft_spheres.SoftMotion(
            np.concatenate((inner, self.obstacles[0])), np.zeros((count, 3)) if several else force, velocity, force,
            places.position.copy() if several else none, places.turn.copy() if several else np.zeros((0, 4)),
            np.zeros((count, 3)) if several else none, np.zeros((count, 3)) if several else none, state,
        )  # fmt: skip
        soft_spheres.place_spheres(bodies, motion)
        return motion

    def _lists(
        self, crowd: Crowd, bodies: soft_spheres.SoftBodies, motion: soft_spheres.SoftMotion
    ) -> SoftContactLists:
        """Return lists of possible contacts, valid until a sphere has used up its skin; spheres are wrapped."""
        count, size, position = len(crowd.region), self.domain.dimension, motion.position
        wrapped = regions.wrap_positions(position[:count], self.domain)
        if len(bodies.reach):
            motion.shift[:] += wrapped - position[:count]
        position[:count] = wrapped
        skin = SKIN * crowd.radius[:count]
        reach = crowd.radius.copy()
        reach[:count] += skin
        pairs = find_pairs(
            position[:, :size], reach, lower=self.domain.lower[:size], upper=self.domain.upper[:size],
            periodic=self.domain.periodic[:size],
        ).pairs  # fmt: skip
        pairs = pairs[pairs[:, 0] < count]
        if len(bodies.reach):
            owner = np.repeat(np.arange(len(bodies.reach) + 1), [*np.diff(bodies.begin), len(reach) - count])
            pairs = pairs[owner[pairs[:, 0]] != owner[pairs[:, 1]]]
        first, second = np.ascontiguousarray(pairs.T)
        sphere, triangle = self._near_walls(position[:count], reach[:count])
        walls = np.searchsorted(sphere, np.arange(count + 1))
        return SoftContactLists(first, second, walls, triangle, position[:count].copy(), skin)

    def _near_walls(self, position: Floats, reach: Floats) -> tuple[Integers, Integers]:
        """Return pairs of spheres and triangles that may touch each other, sorted."""
        if not len(self.corners) or not len(reach):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        touched = []
        for near, triangle in near_triangles(position, float(reach.max()), self.corners):
            close = triangle_distance(position[near], self.corners[triangle]) <= reach[near]
            touched.append((near[close], triangle[close]))
        sphere, triangle = (np.concatenate([np.zeros(0, np.int64), *(one[k] for one in touched)]) for k in (0, 1))
        order = np.lexsort((triangle, sphere))
        return sphere[order], triangle[order]


def _bodies(spheres: SphereGroups, reach: Floats, unit: float, *, clustered: bool) -> soft_spheres.SoftBodies:
    """Return the moving bodies, from spheres in the coordinates of their shapes, about 0."""
    square = (reach / unit) * (reach / unit)
    if not clustered:
        return soft_spheres.SoftBodies(
            np.zeros(1, np.int64), np.zeros((0, 3)), np.zeros(0), square, LARGEST_STEP * reach
        )
    smallest = np.minimum.reduceat(spheres.radius, spheres.begin[:-1]) if len(reach) else reach
    return soft_spheres.SoftBodies(
        spheres.begin, spheres.centre, reach, np.repeat(square, 2),
        np.repeat(LARGEST_STEP * smallest, 2),
    )  # fmt: skip


def _rows_of_regions(
    requests: Sequence[FillRequest], domain: regions.RegionDomain
) -> tuple[Integers, Floats, Integers]:
    """Return kinds and parameters of regions and of excluded regions, see `Crowd`."""
    free = [(group, one) for group, request in enumerate(requests) for one in request.fill.exclude]
    kinds = []
    rows = np.zeros((len(requests) + len(free), REGION_NUMBERS))
    for row, region in zip(rows, [*(one.region for one in requests), *(one for _, one in free)], strict=True):
        kind, numbers = _row_of_region(region, domain)
        kinds.append(kind)
        row[: len(numbers)] = numbers
    excluded = [(group, len(requests) + number) for number, (group, _) in enumerate(free)]
    return np.array(kinds), rows, np.array(excluded, np.int64).reshape(-1, 2)


def _row_of_region(region: Any, domain: regions.RegionDomain) -> tuple[int, list[float]]:
    free = regions.unbounded_axes(region, domain)
    if region.shape == "box":
        return BOX, [*region.lower, *region.upper, *(~free)]
    if region.shape == "sphere":
        return BALL, [*region.centre, region.radius]
    axis = np.asarray(region.axis) / exact_math.norm(region.axis)
    ends = not np.any(free & (np.abs(axis) > 0.5))
    return CYLINDER, [*region.centre, *axis, region.radius, 0.5 * region.length, float(ends)]
