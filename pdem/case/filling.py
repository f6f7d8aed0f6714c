"""Particles of ``fill`` groups: how many, how large, what they avoid, and those on a lattice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.case import regions
from pdem.case.clearance import overlapping_pairs, touching_walls
from pdem.case.lattice import lattice_sites, lattice_size, up_order
from pdem.case.memory import BYTES_PER_PARTICLE, largest_count
from pdem.case.messages import shown_key
from pdem.case.wall_files import read_walls
from pdem.containers.mesh import Mesh, join_meshes
from pdem.foundation.errors import CaseError
from pdem.foundation.random import keyed_uniform, keyed_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pdem.case.model import Case
    from pdem.case.particles import ParticleGroup

    Floats = NDArray[np.float64]
    Booleans = NDArray[np.bool_]

_RADIUS_STREAM = 0
_JITTER_STREAM = 32
_DRAWN_AT_ONCE = 4096
_ROUNDING = 1e-8
_BYTES_PER_SITE = 256


@dataclass(eq=False)
class PlacedGroup:
    """A group of particles on its way to the table.

    Attributes
    ----------
    index : int
        Of the group in the case.
    group : ParticleGroup
        What was asked for.
    first_id : int
        Id of its first particle.
    radius : ndarray, shape (n,)
        In m.
    position : ndarray, shape (n, 3)
        In m; not a number while a particle has no place.
    velocity, angular_velocity : ndarray, shape (n, 3)
        In m/s and rad/s.
    """

    index: int
    group: ParticleGroup
    first_id: int
    radius: NDArray[np.float64]
    position: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    angular_velocity: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def ids(self) -> NDArray[np.int64]:
        """Identities of its particles, shape (n,)."""
        return np.arange(self.first_id, self.first_id + len(self.radius), dtype=np.int64)


def filled_radii(case: Case, index: int, first_id: int) -> Floats:
    """Return the radii in m, shape (n,), of a group that is not read from a file.

    For a fill by volume fraction the number of particles is the first one that reaches it.
    """
    group = case.particles[index]
    if group.positions is not None:
        return _drawn(case, index, first_id, len(group.positions))
    assert group.fill is not None
    if group.fill.volume_fraction is None:
        return _drawn(case, index, first_id, group.fill.count or 0)
    wanted = group.fill.volume_fraction * regions.size(region_of(group.fill), case.domain.dimension)
    drawn = _DRAWN_AT_ONCE
    while True:
        _require_memory(case, index, drawn)
        radii = _drawn(case, index, first_id, drawn)
        filled = np.cumsum(_space(radii, case.domain.dimension))
        if filled[-1] >= wanted:
            return radii[: int(np.searchsorted(filled, wanted)) + 1]
        drawn = max(2 * drawn, int(1.1 * drawn * wanted / filled[-1]))


def region_of(fill: Any) -> regions.AnyRegion:
    """Return the region of a fill."""
    return fill  # every fill is a region with keys of its own


def _space(radii: Floats, dimension: int) -> Floats:
    return np.pi * radii**2 if dimension == 2 else 4.0 / 3.0 * np.pi * radii**3


def _drawn(case: Case, index: int, first_id: int, count: int) -> Floats:
    group = case.particles[index]
    sizes = group.sizes()
    assert sizes is not None
    _require_memory(case, index, count)
    seed = group.fill.seed if group.fill is not None else 0
    return sizes.radii(keyed_uniform(seed, _RADIUS_STREAM, np.arange(first_id, first_id + count)))


def _require_memory(case: Case, index: int, count: float, what: str = "particles", size: int = 0) -> None:
    limit = largest_count(size or BYTES_PER_PARTICLE)
    if count > limit:
        where = shown_key(["particles", index, "fill"])
        asked = f"asks for more than {limit:.3g} {what}, which is what this machine can hold"
        raise CaseError(
            f"{case.source}: {where}: {asked}; check the unit of the radius, or make the region smaller"
        )


class Surroundings:
    """Walls and regions that places have to avoid.

    Parameters
    ----------
    case : Case
        The case.
    meshes : sequence of Mesh or None
        Its walls; None reads them once they are needed.
    """

    def __init__(self, case: Case, meshes: Sequence[Mesh] | None) -> None:
        self._case = case
        self._meshes = meshes
        self._walls: Mesh | None = None

    def free(self, fill: Any, positions: Floats, radii: Floats) -> Booleans:
        """Return which spheres lie inside the region of a fill and clear of all that it has to avoid."""
        domain, region = self._case.domain, region_of(fill)
        unbounded = regions.open_axes(region, domain)
        unbounded[domain.dimension :] = True
        free = regions.contains(region, positions, radii, unbounded)
        for excluded in fill.exclude:
            free &= regions.distance(excluded, positions) >= radii
        if fill.avoid_walls and self._case.walls:
            candidates = np.flatnonzero(free)
            walls = self._joined_walls()
            hit, _, _ = touching_walls(
                positions[candidates],
                radii[candidates],
                walls.vertices,
                walls.facet_start,
                walls.facet_vertices,
            )
            free[candidates[hit]] = False
        return free

    def _joined_walls(self) -> Mesh:
        if self._walls is None:
            self._walls = join_meshes(self._meshes if self._meshes is not None else read_walls(self._case))
        return self._walls


def lattice_group(
    case: Case, index: int, first_id: int, taken: list[PlacedGroup], surroundings: Surroundings
) -> PlacedGroup:
    """Return a group whose particles are on a lattice, clear of the groups that have their places already.

    Raises
    ------
    CaseError
        If there are fewer sites than particles.
    """
    group = case.particles[index]
    fill: Any = group.fill
    sites = _free_sites(case, index, taken, surroundings)
    if fill.count is None and fill.volume_fraction is None:
        radii = _drawn(case, index, first_id, len(sites))
    else:
        radii = filled_radii(case, index, first_id)
    if len(sites) < len(radii):
        where = shown_key(["particles", index, "fill"])
        raise CaseError(
            f"{case.source}: {where}: only {len(sites)} of {len(radii)} particles fit; "
            "enlarge the region, reduce gap or count"
        )
    return PlacedGroup(index, group, first_id, radii, sites[: len(radii)])


def _free_sites(case: Case, index: int, taken: list[PlacedGroup], surroundings: Surroundings) -> Floats:
    group = case.particles[index]
    fill: Any = group.fill
    sizes, domain, region = group.sizes(), case.domain, region_of(fill)
    assert sizes is not None
    radius = sizes.largest
    lower, upper = regions.bounds(region)
    free = regions.open_axes(region, domain)
    bounded = ~free & (np.arange(3) < domain.dimension)
    lower, upper = lower + np.where(bounded, radius, 0.0), upper - np.where(bounded, radius, 0.0)
    # A little more than asked for, so that rounding makes no touching spheres overlap.
    pitch = 2.0 * radius * (1.0 + fill.gap) * (1.0 + 1e-12)
    _require_memory(
        case, index, lattice_size(upper - lower, pitch, domain.dimension), "sites", _BYTES_PER_SITE
    )
    sites = lattice_sites(lower, upper, pitch, free, fill.arrangement, domain.dimension)
    sites = sites[up_order(sites, np.asarray(domain.gravity), domain.dimension)]
    moved = sites + _jitter(fill, len(sites), radius * fill.gap * fill.jitter, domain.dimension)
    # At a face jitter is cut short, so that no site is lost there.
    limited = np.clip(moved, np.minimum(lower, sites), np.maximum(upper, sites))
    sites = np.where(bounded, limited, moved)
    radii = np.full(len(sites), radius)
    usable = surroundings.free(fill, sites, radii * (1.0 - _ROUNDING))
    usable[_blocked(case, sites, radii, taken)] = False
    return sites[usable]


def _jitter(fill: Any, count: int, reach: float, dimension: int) -> Floats:
    # Inside a cube whose corners are `reach` away, so that two neighbours never meet.
    uniform = keyed_vectors(fill.seed, _JITTER_STREAM, np.arange(count))
    jitter = (2.0 * uniform - 1.0) * reach / np.sqrt(dimension)
    jitter[:, dimension:] = 0.0
    return jitter


def _blocked(case: Case, sites: Floats, radii: Floats, taken: list[PlacedGroup]) -> NDArray[np.int64]:
    positions = np.concatenate([sites, *(one.position for one in taken)])
    if len(positions) == len(sites):
        return np.zeros(0, dtype=np.int64)
    sizes = np.concatenate([radii, *(one.radius for one in taken)])
    pairs, _ = overlapping_pairs(positions, sizes, case.domain)
    return pairs[(pairs[:, 0] < len(sites)) & (pairs[:, 1] >= len(sites)), 0]


def does_not_fit(case: Case, placed: PlacedGroup, number: int, wanted: int) -> CaseError:
    """Return the error for random fills of which only a part found its place: `number` of those `wanted`."""
    where = shown_key(["particles", placed.index, "fill"])
    return CaseError(
        f"{case.source}: {where}: gave up at {number} of {wanted} particles (the largest go first, so that this is "
        "not how many would fit); ask for fewer, enlarge the region, "
        'or use arrangement = "hexagonal" and let it settle'
    )
