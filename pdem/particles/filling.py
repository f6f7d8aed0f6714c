"""Fills of regions with particles: the number and radii of particles, and obstacles."""

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
        Size distribution of the radii; a cluster has the size of the sphere of the same volume.
    fill : Any
        The region with the settings of the fill, see `pdem.case.sections.particles.FillKeys`.
    density : float
        Density of the particles [kg/m^3].
    shape : ClusterShape or None
        Shape of clusters.
    orientations : callable or None
        Returns the orientations of clusters with some ids (n,) at an attempt (n,): unit quaternions (n, 4), w first.
    forces : ContactForces or None
        Contact forces of packings under a pressure.
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
        """Largest distance of a particle's surface from its centre, over its radius."""
        return 1.0 if self.shape is None else self.shape.reach / self.shape.equivalent_radius

    @property
    def members(self) -> int:
        """Number of spheres of a particle."""
        return 1 if self.shape is None else len(self.shape.radius)

    def oriented(self, ids: Integers, attempts: Integers | int = 0) -> Floats:
        """Return the orientations of particles at attempts (n, 4); spheres keep the orientation of the shape."""
        if self.orientations is None:
            return np.tile((1.0, 0.0, 0.0, 0.0), (len(ids), 1))
        return self.orientations(ids, np.broadcast_to(attempts, len(ids)))

    @property
    def smallest_sphere(self) -> float:
        """Radius of the smallest sphere in any particle of the fill [m]."""
        share = 1.0 if self.shape is None else float(self.shape.radius.min()) / self.shape.equivalent_radius
        return self.sizes.smallest * share

    @property
    def counted(self) -> bool:
        """Whether the number of particles is given, or follows from other keys."""
        return any(value is not None for value in (self.fill.count, self.fill.volume_fraction, self.fill.mass))

    @property
    def region(self) -> regions.Region:
        """The region without the settings of the fill."""
        return self.fill  # every fill is a region with additional keys


@dataclass(eq=False)
class PlacedGroup:
    """The part of a placed group of particles on this rank: consecutive ids, after the ids of lower ranks.

    Attributes
    ----------
    first_id : int
        Id of its first particle.
    radius : ndarray, shape (n,)
        In m; for clusters the largest distance of the surface from the centre.
    position : ndarray, shape (n, 3)
        In m; NaN for a particle that is not placed yet.
    velocity, angular_velocity : ndarray, shape (n, 3)
        In m/s and rad/s.
    shape : ClusterShape or None
        Shape of clusters.
    orientation : ndarray, shape (n, 4)
        Unit quaternions, w first, that rotate clusters from the coordinates of the shape; meaningless for spheres.
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
        """Ids of the particles, shape (n,)."""
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
    """Return the number of particles of a fill on all ranks, None if neither it nor a volume is given. Collective.

    A volume fraction gives the smallest number that reaches it; a mass gives the number with the nearest mass.

    Raises
    ------
    CaseError
        On all ranks, if the particles do not fit into memory.
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
    """Return the fewest particles that reach a volume [m^3] (2D: an area of discs [m^2]), or that are nearest to it."""
    largest = np.array([request.sizes.largest])
    unit = float(particle_volumes(request, largest, dimension)[0]) / _VOLUME_UNITS
    # A little less, so that rounding does not require one more.
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
    """Return the volumes of a number of particles in integer units, which have exact sums."""
    radii = random_radii(request.sizes, first_id, _DRAWN_AT_ONCE, request.fill.seed)
    return np.rint(particle_volumes(request, radii, dimension) / unit).astype(np.int64)


def random_radii(sizes: SizeDistribution, first_id: int, count: int, seed: int = 0) -> Floats:
    """Return random radii in m, shape (n,), keyed by ids from `first_id` on."""
    return sizes.radii(keyed_uniform(seed, _RADIUS_STREAM, np.arange(first_id, first_id + count)))


def reaches(request: FillRequest, first_id: int, count: int) -> Floats:
    """Return the largest distances of surfaces from centres of particles of a fill [m], shape (n,).

    They are keyed by ids from `first_id` on.
    """
    return request.reach * random_radii(request.sizes, first_id, count, request.fill.seed)


def particle_volumes(request: FillRequest, radii: Floats, dimension: int) -> Floats:
    """Return the volumes of particles [m^3], in 2D the areas of their sections through the middle [m^2]."""
    if dimension == 3:
        return 4.0 / 3.0 * np.pi * radii * radii * radii
    discs = disc_radius(request) * radii
    return np.pi * discs * discs


def disc_radius(request: FillRequest) -> float:
    """Return the radius of the disc with the area of a particle's section through the middle, over its radius."""
    return 1.0 if request.shape is None else request.shape.disc_radius / request.shape.equivalent_radius


def require_memory(request: FillRequest, count: float, what: str, size: int, over: Group) -> None:
    """Raise an error for more objects of a size [bytes] than fit into the memory of all ranks, if it is known.

    Raises
    ------
    CaseError
        The message has the limit.
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
        """Return the volume of the region of a fill [m^3], in 2D the area [m^2]; of the connected part only.

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
        # imported here: it needs the compiler
        from pdem.particles.connected_room import ConnectedRoom, Container

        fill, radius = request.fill, request.smallest_sphere
        key = f"{request.region} {fill.connected_to} {fill.exclude} {radius}"
        if key not in self._rooms:
            part = Container(request.where, request.region, fill.connected_to, fill.exclude, radius)
            self._rooms[key] = ConnectedRoom(part, self.corners()[0], self.domain)
        return self._rooms[key]

    def corners(self) -> tuple[Floats, Integers]:
        """Return the triangles of all walls (t, 3, 3) [m], and the facet of each triangle (t,)."""
        walls = self.walls()
        if walls is None:
            return np.zeros((0, 3, 3)), np.zeros(0, np.int64)
        triangles, facets = triangle_fans(walls.facet_start, walls.facet_vertices)
        return np.ascontiguousarray(walls.vertices[triangles]), facets

    def wall_of(self, facets: Integers) -> Integers:
        """Return the wall indices of facets (n,) of the joined walls."""
        return np.searchsorted(np.cumsum(self._facets), facets, side="right")

    def inside(self, request: FillRequest, spheres: SphereGroups) -> Booleans:
        """Return which particles are inside the region of a fill, clear of its excluded regions."""
        region, centres, radii = request.region, spheres.centre, spheres.radius
        inside = regions.contains(region, centres, radii, regions.unbounded_axes(region, self.domain))
        for excluded in request.fill.exclude:
            inside &= regions.distance(excluded, self._wrapped(request, centres)) >= radii
        if request.fill.connected_to is not None:
            some = np.flatnonzero(inside)
            inside[some] = self.connected(request, centres[some])
        return spheres.every(inside)

    def _wrapped(self, request: FillRequest, centres: Floats) -> Floats:
        """Return the wrapped positions of spheres of particles in the domain; cluster members may be across a side."""
        return centres if request.shape is None else regions.wrap_positions(centres, self.domain)

    def read_walls(self, requests: Sequence[FillRequest]) -> None:
        """Read the walls, if one of these fills avoids them.

        Raises
        ------
        MeshError
            If a wall cannot be read.
        """
        wanted = any(one.fill.avoid_walls or one.fill.connected_to is not None for one in requests)
        if self._meshes is not None and wanted:
            self._joined_walls(self._meshes)

    def free(self, request: FillRequest, spheres: SphereGroups) -> Booleans:
        """Return which particles are inside the region of a fill, clear of its excluded regions and of walls."""
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
        """Return the joined walls, None if there are none."""
        return None if self._meshes is None else self._joined_walls(self._meshes)

    def _joined_walls(self, meshes: Callable[[], Sequence[Mesh]]) -> Mesh:
        if self._walls is None:
            each = meshes()
            self._walls, self._facets = join_meshes(each), [one.facet_count for one in each]
        return self._walls


def unplaced_error(request: FillRequest, number: int, total: int) -> CaseError:
    """Return the error for a random fill with only `number` of `total` particles placed."""
    return CaseError(
        f"{request.where}: gave up at {number} of {total} particles (the largest go first, so that this is "
        "not how many would fit); ask for fewer, enlarge the region, "
        'or use arrangement = "packed"'
    )
