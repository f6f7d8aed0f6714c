"""Fills of regions with particles: their number and radii, obstacles, and lattices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.mesh import Mesh, join_meshes
from pdem.foundation.errors import CaseError
from pdem.foundation.memory import BYTES_PER_PARTICLE, largest_count
from pdem.foundation.random import keyed_uniform, keyed_vectors
from pdem.particles import regions
from pdem.particles.clearance import overlapping_pairs, touching_walls
from pdem.particles.lattice import estimated_site_count, height_order, lattice_sites

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.containers.sizes import SizeDistribution

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_RADIUS_STREAM = 0
_JITTER_STREAM = 32
_DRAWN_AT_ONCE = 4096
_ROUNDING = 1e-8
_BYTES_PER_SITE = 256


@dataclass(frozen=True, eq=False)
class FillRequest:
    """A region to be filled.

    Attributes
    ----------
    where : str
        Source of the request, for messages: ``case.toml: particles[0].fill``.
    sizes : SizeDistribution
        Of the radii.
    fill : Any
        The region with the settings of the fill, see `pdem.case.particles.FillKeys`.
    density : float
        Of the particles [kg/m^3].
    """

    where: str
    sizes: SizeDistribution
    fill: Any
    density: float = 1.0

    @property
    def region(self) -> regions.Region:
        """The region alone."""
        return self.fill  # every fill is a region with keys of its own


@dataclass(eq=False)
class PlacedGroup:
    """A group of particles with positions.

    Attributes
    ----------
    first_id : int
        Id of its first particle.
    radius : ndarray, shape (n,)
        In m.
    position : ndarray, shape (n, 3)
        In m; NaN for a particle that is not yet placed.
    velocity, angular_velocity : ndarray, shape (n, 3)
        In m/s and rad/s.
    """

    first_id: int
    radius: NDArray[np.float64]
    position: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    angular_velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def ids(self) -> NDArray[np.int64]:
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


def fill_radii(request: FillRequest, first_id: int, dimension: int) -> Floats:
    """Return the radii in m, shape (n,), of a fill.

    With a volume fraction, their number is the smallest that reaches it; with a mass, that which is nearest to it.
    """
    fill = request.fill
    if fill.mass is not None:
        target = fill.mass / request.density
        radii = _radii_of_volume(request, first_id, target, 3)
        filled = np.cumsum(_volumes(radii, 3))
        nearest = int(np.searchsorted(filled - 0.5 * _volumes(radii, 3), target, side="right"))
        return radii[:nearest]
    if fill.volume_fraction is None:
        return _random_radii(request, first_id, fill.count or 0)
    target = fill.volume_fraction * regions.size(request.region, dimension)
    return _radii_of_volume(request, first_id, target, dimension)


def _radii_of_volume(request: FillRequest, first_id: int, target: float, dimension: int) -> Floats:
    """Return the fewest random radii whose particles reach a volume [m^3], in 2D their discs an area [m^2]."""
    count = _DRAWN_AT_ONCE
    while True:
        _require_memory(request, count)
        radii = _random_radii(request, first_id, count)
        filled = np.cumsum(_volumes(radii, dimension))
        if filled[-1] >= target:
            return radii[: int(np.searchsorted(filled, target)) + 1]
        count = max(2 * count, int(1.1 * count * target / filled[-1]))


def random_radii(sizes: SizeDistribution, first_id: int, count: int, seed: int = 0) -> Floats:
    """Return random radii in m, shape (n,), keyed by ids from `first_id` on."""
    return sizes.radii(keyed_uniform(seed, _RADIUS_STREAM, np.arange(first_id, first_id + count)))


def _volumes(radii: Floats, dimension: int) -> Floats:
    return np.pi * radii**2 if dimension == 2 else 4.0 / 3.0 * np.pi * radii**3


def _random_radii(request: FillRequest, first_id: int, count: int) -> Floats:
    _require_memory(request, count)
    return random_radii(request.sizes, first_id, count, request.fill.seed)


def _require_memory(request: FillRequest, count: float, what: str = "particles", size: int = 0) -> None:
    limit = largest_count(size or BYTES_PER_PARTICLE)
    if count > limit:
        asked = f"asks for more than {limit:.3g} {what}, which is what this machine can hold"
        raise CaseError(f"{request.where}: {asked}; check the unit of the radius, or make the region smaller")


class Surroundings:
    """The domain, and the walls that particles of fills avoid.

    Parameters
    ----------
    domain : `pdem.particles.regions.Domain`
        The box of the particles.
    walls : callable or None
        Returns the meshes of the walls, and is called only if they are needed; None without walls.
    """

    def __init__(self, domain: regions.Domain, walls: Callable[[], Sequence[Mesh]] | None) -> None:
        self.domain = domain
        self._meshes = walls
        self._walls: Mesh | None = None

    def free(self, request: FillRequest, positions: Floats, radii: Floats) -> Booleans:
        """Return which spheres lie inside the region of a fill, clear of its excluded regions and of walls."""
        region = request.region
        unbounded = regions.open_axes(region, self.domain)
        unbounded[self.domain.dimension :] = True
        free = regions.contains(region, positions, radii, unbounded)
        for excluded in request.fill.exclude:
            free &= regions.distance(excluded, positions) >= radii
        if request.fill.avoid_walls and self._meshes is not None:
            candidates = np.flatnonzero(free)
            walls = self._joined_walls(self._meshes)
            hit, _, _ = touching_walls(
                positions[candidates],
                radii[candidates],
                walls.vertices,
                walls.facet_start,
                walls.facet_vertices,
            )
            free[candidates[hit]] = False
        return free

    def _joined_walls(self, meshes: Callable[[], Sequence[Mesh]]) -> Mesh:
        if self._walls is None:
            self._walls = join_meshes(meshes())
        return self._walls


def lattice_group(
    request: FillRequest, first_id: int, placed: list[PlacedGroup], surroundings: Surroundings
) -> PlacedGroup:
    """Return a group of particles on a lattice, clear of groups that are placed already.

    Raises
    ------
    CaseError
        If there are fewer sites than particles.
    """
    fill = request.fill
    sites = _free_sites(request, placed, surroundings)
    if fill.count is None and fill.volume_fraction is None and fill.mass is None:
        radii = _random_radii(request, first_id, len(sites))
    else:
        radii = fill_radii(request, first_id, surroundings.domain.dimension)
    if len(sites) < len(radii):
        raise CaseError(
            f"{request.where}: only {len(sites)} of {len(radii)} particles fit; "
            "enlarge the region, reduce gap or count"
        )
    return PlacedGroup(first_id, radii, sites[: len(radii)])


def _free_sites(request: FillRequest, placed: list[PlacedGroup], surroundings: Surroundings) -> Floats:
    fill, domain, region = request.fill, surroundings.domain, request.region
    radius = request.sizes.largest
    lower, upper = regions.bounds(region)
    free = regions.open_axes(region, domain)
    bounded = ~free & (np.arange(3) < domain.dimension)
    lower, upper = lower + np.where(bounded, radius, 0.0), upper - np.where(bounded, radius, 0.0)
    # slightly larger, so that touching spheres do not overlap by rounding
    pitch = 2.0 * radius * (1.0 + fill.gap) * (1.0 + 1e-12)
    _require_memory(
        request, estimated_site_count(upper - lower, pitch, domain.dimension), "sites", _BYTES_PER_SITE
    )
    sites = lattice_sites(lower, upper, pitch, free, fill.arrangement, domain.dimension)
    sites = sites[height_order(sites, np.asarray(domain.gravity), domain.dimension)]
    moved = sites + _jitter(fill, len(sites), radius * fill.gap * fill.jitter, domain.dimension)
    # jitter is limited at faces, so that no site is lost there
    limited = np.clip(moved, np.minimum(lower, sites), np.maximum(upper, sites))
    sites = np.where(bounded, limited, moved)
    radii = np.full(len(sites), radius)
    usable = surroundings.free(request, sites, radii * (1.0 - _ROUNDING))
    usable[_blocked(domain, sites, radii, placed)] = False
    return sites[usable]


def _jitter(fill: Any, count: int, reach: float, dimension: int) -> Floats:
    # inside a cube whose corners are at a distance of `reach`, so that neighbours never overlap
    uniform = keyed_vectors(fill.seed, _JITTER_STREAM, np.arange(count))
    jitter = (2.0 * uniform - 1.0) * reach / np.sqrt(dimension)
    jitter[:, dimension:] = 0.0
    return jitter


def _blocked(
    domain: regions.Domain, sites: Floats, radii: Floats, placed: list[PlacedGroup]
) -> NDArray[np.int64]:
    positions = np.concatenate([sites, *(one.position for one in placed)])
    if len(positions) == len(sites):
        return np.zeros(0, dtype=np.int64)
    sizes = np.concatenate([radii, *(one.radius for one in placed)])
    pairs, _ = overlapping_pairs(positions, sizes, domain)
    return pairs[(pairs[:, 0] < len(sites)) & (pairs[:, 1] >= len(sites)), 0]


def unplaced_error(request: FillRequest, number: int, total: int) -> CaseError:
    """Return the error for a random fill of which only `number` of `total` particles were placed."""
    return CaseError(
        f"{request.where}: gave up at {number} of {total} particles (the largest go first, so that this is "
        "not how many would fit); ask for fewer, enlarge the region, "
        'or use arrangement = "hexagonal" and let it settle'
    )
