"""Fills of regions with particles: their number and radii, and obstacles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.group import OneRank, on_each_rank
from pdem.containers.meshes.mesh import Mesh, join_meshes
from pdem.containers.meshes.mesh_splitting import triangle_fans
from pdem.foundation.errors import CaseError
from pdem.foundation.memory import BYTES_PER_PARTICLE, largest_count
from pdem.numerics.random import keyed_uniform
from pdem.particles import regions
from pdem.particles.clearance import touching_walls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pdem.containers.group import Group
    from pdem.containers.sizes import SizeDistribution
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.clusters.shapes import ClusterShape
    from pdem.particles.connected_room import ConnectedRoom
    from pdem.particles.packings.contact_forces import ContactForces
    from pdem.particles.particle_spheres import SphereGroups

_RADIUS_STREAM = 0
_DRAWN_AT_ONCE = 1 << 16
_VOLUME_UNITS = 2.0**40


@dataclass(frozen=True, eq=False)
class FillRequest:
    """A region to be filled.

    Attributes
    ----------
    where : str
        Source of the request, for messages: ``case.toml: particles[0].fill``.
    sizes : SizeDistribution
        Of the radii; those of clusters are of spheres of the same volume.
    fill : Any
        The region with the settings of the fill, see `pdem.case.sections.particles.FillKeys`.
    density : float
        Of the particles [kg/m^3].
    shape : ClusterShape or None
        Of clusters.
    orientations : callable or None
        Returns how clusters with some ids (n,) are turned at an attempt (n,): unit quaternions (n, 4), w first.
    forces : ContactForces or None
        Of contacts of packings under a pressure.
    """

    where: str
    sizes: SizeDistribution
    fill: Any
    density: float = 1.0
    shape: ClusterShape | None = None
    orientations: Callable[[Integers, Integers], Floats] | None = None
    forces: ContactForces | None = None

    @property
    def reach(self) -> float:
        """How far a particle reaches from its centre over its radius."""
        return 1.0 if self.shape is None else self.shape.reach / self.shape.equivalent_radius

    @property
    def members(self) -> int:
        """Spheres of a particle."""
        return 1 if self.shape is None else len(self.shape.radius)

    def oriented(self, ids: Integers, attempts: Integers | int = 0) -> Floats:
        """Return how particles are turned at attempts (n, 4); spheres are not."""
        if self.orientations is None:
            return np.tile((1.0, 0.0, 0.0, 0.0), (len(ids), 1))
        return self.orientations(ids, np.broadcast_to(attempts, len(ids)))

    @property
    def smallest_sphere(self) -> float:
        """Radius of the smallest sphere that a particle can have [m]."""
        share = 1.0 if self.shape is None else float(self.shape.radius.min()) / self.shape.equivalent_radius
        return self.sizes.smallest * share

    @property
    def counted(self) -> bool:
        """Whether the number of particles is given, or follows from what is."""
        return any(value is not None for value in (self.fill.count, self.fill.volume_fraction, self.fill.mass))

    @property
    def region(self) -> regions.Region:
        """The region alone."""
        return self.fill  # every fill is a region with keys of its own


@dataclass(eq=False)
class PlacedGroup:
    """The part of a group of particles with positions that this rank holds: ids in a row, of lower ranks before.

    Attributes
    ----------
    first_id : int
        Id of its first particle.
    radius : ndarray, shape (n,)
        In m; how far clusters reach.
    position : ndarray, shape (n, 3)
        In m; NaN for a particle that is not yet placed.
    velocity, angular_velocity : ndarray, shape (n, 3)
        In m/s and rad/s.
    shape : ClusterShape or None
        Of clusters.
    orientation : ndarray, shape (n, 4)
        Unit quaternions of clusters from how the shape is drawn, w first; those of spheres mean nothing.
    """

    first_id: int
    radius: Floats
    position: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    velocity: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    angular_velocity: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    shape: ClusterShape | None = None
    orientation: Floats = field(default_factory=lambda: np.zeros((0, 4)))

    @property
    def ids(self) -> Integers:
        """Identities of its particles, shape (n,)."""
        return np.arange(self.first_id, self.first_id + len(self.radius), dtype=np.int64)


@dataclass(eq=False)
class FillGroup(PlacedGroup):
    """A group of particles to be placed at random.

    Attributes
    ----------
    request : FillRequest
        Region and settings of the fill.
    """

    request: FillRequest = field(kw_only=True)


def fill_count(
    request: FillRequest, first_id: int, surroundings: Surroundings, over: Group | None = None
) -> int | None:
    """Return the number of particles of a fill on all ranks, None if neither that nor a volume is given. Collective.

    With a volume fraction, it is the smallest that reaches it; with a mass, that which is nearest to it.

    Raises
    ------
    CaseError
        On all ranks, if there are more than memory can hold.
    """
    over, fill = OneRank() if over is None else over, request.fill
    dimension = surroundings.domain.dimension
    if fill.mass is not None:
        return _count_of_volume(request, first_id, fill.mass / request.density, 3, over, nearest=True)
    if fill.volume_fraction is not None:
        room = on_each_rank(over, lambda: surroundings.room(request))
        target = fill.volume_fraction * room
        return _count_of_volume(request, first_id, target, dimension, over)
    if fill.count is not None:
        require_memory(request, fill.count, "particles", BYTES_PER_PARTICLE, over)
    count: int | None = fill.count
    return count


def _count_of_volume(
    request: FillRequest, first_id: int, target: float, dimension: int, over: Group, *, nearest: bool = False
) -> int:
    """Return the fewest particles that reach a volume [m^3], in 2D their discs an area [m^2], or that come nearest."""
    largest = np.array([request.sizes.largest])
    unit = float(particle_volumes(request, largest, dimension)[0]) / _VOLUME_UNITS
    # A little less, so that rounding does not ask for one more.
    wanted = int(target / unit * (1.0 - 1e-12))
    begin, filled, of_ranks = 0, 0, np.zeros(over.size, np.int64)
    while True:
        require_memory(request, begin, "particles", BYTES_PER_PARTICLE, over)
        of_ranks[:] = 0
        of_ranks[over.rank] = _units(request, first_id + begin + over.rank * _DRAWN_AT_ONCE, dimension, unit).sum()
        for volume in over.add(of_ranks).tolist():
            if filled + volume >= wanted:
                each = _units(request, first_id + begin, dimension, unit)
                units = np.cumsum(each)
                if nearest:
                    return begin + int(np.searchsorted(units - each // 2, wanted - filled, side="right"))
                return begin + int(np.searchsorted(units, wanted - filled)) + 1
            begin, filled = begin + _DRAWN_AT_ONCE, filled + volume


def _units(request: FillRequest, first_id: int, dimension: int, unit: float) -> Integers:
    """Return the volumes of a number of particles in whole units, whose sums are exact."""
    radii = random_radii(request.sizes, first_id, _DRAWN_AT_ONCE, request.fill.seed)
    return np.rint(particle_volumes(request, radii, dimension) / unit).astype(np.int64)


def random_radii(sizes: SizeDistribution, first_id: int, count: int, seed: int = 0) -> Floats:
    """Return random radii in m, shape (n,), keyed by ids from `first_id` on."""
    return sizes.radii(keyed_uniform(seed, _RADIUS_STREAM, np.arange(first_id, first_id + count)))


def reaches(request: FillRequest, first_id: int, count: int) -> Floats:
    """Return how far particles of a fill reach from their centres [m], shape (n,), keyed by ids from `first_id` on."""
    return request.reach * random_radii(request.sizes, first_id, count, request.fill.seed)


def particle_volumes(request: FillRequest, radii: Floats, dimension: int) -> Floats:
    """Return the volumes of particles [m^3], in 2D the areas of their cuts through the middle [m^2]."""
    if dimension == 3:
        return 4.0 / 3.0 * np.pi * radii**3
    return np.pi * (disc_radius(request) * radii) ** 2


def disc_radius(request: FillRequest) -> float:
    """Return the radius of the disc with the area of the cut through the middle of a particle, over its radius."""
    return 1.0 if request.shape is None else request.shape.disc_radius / request.shape.equivalent_radius


def require_memory(request: FillRequest, count: float, what: str, size: int, over: Group) -> None:
    """Refuse more things of a size [bytes] than the machines of all ranks can hold, as far as that is known.

    Raises
    ------
    CaseError
        With the limit.
    """
    limit = largest_count(size * request.members) * (1 if over.on_one_node else over.size)
    if count > limit:
        asked = f"asks for more than {limit:.3g} {what}, which is what this machine can hold"
        raise CaseError(f"{request.where}: {asked}; check the unit of the radius, or make the region smaller")


class Surroundings:
    """The domain, and the walls that particles of fills avoid.

    Parameters
    ----------
    domain : `pdem.particles.regions.RegionDomain`
        The box of the particles.
    walls : callable or None
        Returns the meshes of the walls, and is called only if they are needed; None without walls.
    """

    def __init__(self, domain: regions.RegionDomain, walls: Callable[[], Sequence[Mesh]] | None) -> None:
        self.domain = domain
        self._meshes = walls
        self._walls: Mesh | None = None
        self._facets: list[int] = []
        self._rooms: dict[str, ConnectedRoom] = {}

    def room(self, request: FillRequest) -> float:
        """Return the volume of the region of a fill [m^3], in 2D the area [m^2]; of what is connected with its point.

        Raises
        ------
        CaseError
            If the point is outside of the region or near a wall.
        MeshError
            If a wall cannot be read.
        """
        if request.fill.connected_to is None:
            return regions.size(request.region, self.domain.dimension)
        return self._connected(request).size

    def connected(self, request: FillRequest, points: Floats) -> Booleans:
        """Return which points (n, 3) [m] are connected with the point of a fill."""
        return self._connected(request).contains(regions.wrap_positions(points, self.domain))

    def _connected(self, request: FillRequest) -> ConnectedRoom:
        # imported late: it needs the compiler
        from pdem.particles.connected_room import ConnectedRoom, Container

        fill, radius = request.fill, request.smallest_sphere
        key = f"{request.region} {fill.connected_to} {fill.exclude} {radius}"
        if key not in self._rooms:
            part = Container(request.where, request.region, fill.connected_to, fill.exclude, radius)
            self._rooms[key] = ConnectedRoom(part, self.corners()[0], self.domain)
        return self._rooms[key]

    def corners(self) -> tuple[Floats, Integers]:
        """Return the triangles of all walls (t, 3, 3) [m], and the facet of each (t,)."""
        walls = self.walls()
        if walls is None:
            return np.zeros((0, 3, 3)), np.zeros(0, np.int64)
        triangles, facets = triangle_fans(walls.facet_start, walls.facet_vertices)
        return np.ascontiguousarray(walls.vertices[triangles]), facets

    def wall_of(self, facets: Integers) -> Integers:
        """Return the number of the wall of facets (n,) of all walls in one."""
        return np.searchsorted(np.cumsum(self._facets), facets, side="right")

    def inside(self, request: FillRequest, spheres: SphereGroups) -> Booleans:
        """Return which particles lie inside the region of a fill, clear of its excluded regions."""
        region, centres, radii = request.region, spheres.centre, spheres.radius
        inside = regions.contains(region, centres, radii, regions.unbounded_axes(region, self.domain))
        for excluded in request.fill.exclude:
            inside &= regions.distance(excluded, self._wrapped(request, centres)) >= radii
        if request.fill.connected_to is not None:
            some = np.flatnonzero(inside)
            inside[some] = self.connected(request, centres[some])
        return spheres.every(inside)

    def _wrapped(self, request: FillRequest, centres: Floats) -> Floats:
        """Return where the spheres of particles in the domain are; members of clusters may be across a side of it."""
        return centres if request.shape is None else regions.wrap_positions(centres, self.domain)

    def read_walls(self, requests: Sequence[FillRequest]) -> None:
        """Read the walls, if one of these fills avoids them.

        Raises
        ------
        MeshError
            If that is not possible.
        """
        wanted = any(one.fill.avoid_walls or one.fill.connected_to is not None for one in requests)
        if self._meshes is not None and wanted:
            self._joined_walls(self._meshes)

    def free(self, request: FillRequest, spheres: SphereGroups) -> Booleans:
        """Return which particles lie inside the region of a fill, clear of its excluded regions and of walls."""
        free = self.inside(request, spheres)
        if request.fill.avoid_walls and self._meshes is not None:
            some = np.flatnonzero(free)
            near, walls = spheres.of(some), self._joined_walls(self._meshes)
            hit, _, _ = touching_walls(
                self._wrapped(request, near.centre),
                near.radius,
                walls.vertices,
                walls.facet_start,
                walls.facet_vertices,
            )
            clear = np.ones(len(near.radius), np.bool_)
            clear[hit] = False
            free[some] = near.every(clear)
        return free

    def walls(self) -> Mesh | None:
        """Return the walls in one, None if there are none."""
        return None if self._meshes is None else self._joined_walls(self._meshes)

    def _joined_walls(self, meshes: Callable[[], Sequence[Mesh]]) -> Mesh:
        if self._walls is None:
            each = meshes()
            self._walls, self._facets = join_meshes(each), [one.facet_count for one in each]
        return self._walls


def unplaced_error(request: FillRequest, number: int, total: int) -> CaseError:
    """Return the error for a random fill of which only `number` of `total` particles were placed."""
    return CaseError(
        f"{request.where}: gave up at {number} of {total} particles (the largest go first, so that this is "
        "not how many would fit); ask for fewer, enlarge the region, "
        'or use arrangement = "packed"'
    )
