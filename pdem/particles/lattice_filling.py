"""Particles on the sites of lattices: numbered by height, clear of walls and other groups; each rank has a part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.containers.exchange import Alone
from pdem.containers.global_order import part_of
from pdem.containers.group import on_each_rank
from pdem.foundation import exact_math
from pdem.foundation.errors import CaseError
from pdem.numerics.random import keyed_vectors
from pdem.particles import regions
from pdem.particles.clearance import overlapping_pairs
from pdem.particles.filling import PlacedGroup, fill_count, reaches, require_memory
from pdem.particles.particle_spheres import single_spheres

if TYPE_CHECKING:
    from pdem.containers.exchange import Exchange
    from pdem.containers.group import Group
    from pdem.foundation.array_types import Booleans, Floats, Integers
    from pdem.particles.filling import FillRequest, Surroundings

_JITTER_STREAM = 32
_ROUNDING = 1e-8
_BYTES_PER_SITE = 256


# distances of neighbouring rows in y and of layers in z over the pitch, and the numbers after which they repeat
_SPACING = {"cubic": np.array([1.0, 1.0, 1.0]), "hexagonal": np.array([1.0, np.sqrt(0.75), np.sqrt(2.0 / 3.0)])}
_REPEAT = {"cubic": np.array([1, 1, 1]), "hexagonal": np.array([1, 2, 2])}
_SLACK = 1e-9


def lattice_group(
    request: FillRequest,
    first_id: int,
    placed: list[PlacedGroup],
    surroundings: Surroundings,
    over: Exchange | None = None,
) -> PlacedGroup:
    """Return this rank's part of a group of particles on a lattice, clear of the groups in `placed`. Collective.

    Parameters
    ----------
    request : FillRequest
        Region and settings of the fill.
    first_id : int
        First id of the whole group.
    placed : list of PlacedGroup
        Other groups; each rank has a part of each.
    surroundings : Surroundings
        Domain and walls.
    over : Exchange, optional
        The ranks; by default this process alone.

    Raises
    ------
    CaseError
        On all ranks, if there are fewer sites than particles.
    """
    over = Alone() if over is None else over
    sites = _free_sites(request, placed, surroundings, over)
    total = int(over.add(np.array([len(sites)]))[0])
    count = fill_count(request, first_id, surroundings, over)
    wanted = total if count is None else count
    if total < wanted:
        raise CaseError(
            f"{request.where}: only {total} of {wanted} particles fit; enlarge the region, reduce gap or count"
        )
    begin = over.before(len(sites))
    sites = sites[: max(wanted - begin, 0)]
    first = first_id + min(begin, wanted)
    ids = np.arange(first, first + len(sites))
    return PlacedGroup(
        first, reaches(request, first, len(sites)), sites, shape=request.shape, orientation=request.oriented(ids)
    )


def _free_sites(request: FillRequest, placed: list[PlacedGroup], surroundings: Surroundings, over: Exchange) -> Floats:
    """Return this rank's part of the sites (n, 3) [m], with the lowest sites on the first rank."""
    fill, domain, region = request.fill, surroundings.domain, request.region
    radius = request.reach * request.sizes.largest
    lower, upper = regions.bounds(region)
    free = regions.open_axes(region, domain)
    bounded = ~free & (np.arange(3) < domain.dimension)
    lower, upper = lower + np.where(bounded, radius, 0.0), upper - np.where(bounded, radius, 0.0)
    # slightly larger, so that touching spheres do not overlap by rounding
    pitch = 2.0 * radius * (1.0 + fill.gap) * (1.0 + 1e-12)
    lattice = LatticeSites(lower, upper, pitch, free, fill.arrangement, domain.dimension)
    require_memory(request, lattice.count, "sites", _BYTES_PER_SITE, over)
    sites, number = lattice.sites(*part_of(lattice.count, over.rank, over.size))
    keys = height_keys(sites, np.asarray(domain.gravity), domain.dimension, over)
    rows = over.in_order([keys, number])
    sites = rows.take(sites)
    reach = radius * fill.gap * fill.jitter
    moved = sites + _jitter(fill, rows.begin, len(sites), reach, domain.dimension)
    # jitter is limited at faces, so that no site is lost there
    limited = np.clip(moved, np.minimum(lower, sites), np.maximum(upper, sites))
    sites = np.where(bounded, limited, moved)
    radii = np.full(len(sites), radius)
    balls = single_spheres(sites, radii * (1.0 - _ROUNDING))
    usable = on_each_rank(over, lambda: surroundings.free(request, balls))
    usable[_blocked(domain, sites, radii, placed, over)] = False
    return sites[usable]


def _jitter(fill: Any, first: int, count: int, reach: float, dimension: int) -> Floats:
    # inside a cube with corners at the distance `reach`, so that neighbours never overlap
    uniform = keyed_vectors(fill.seed, _JITTER_STREAM, np.arange(first, first + count))
    jitter = (2.0 * uniform - 1.0) * reach / np.sqrt(dimension)
    jitter[:, dimension:] = 0.0
    return jitter


def _blocked(
    domain: regions.RegionDomain, sites: Floats, radii: Floats, placed: list[PlacedGroup], over: Exchange
) -> Integers:
    """Return the rows of this rank's sites that overlap particles of placed groups. Collective.

    Each site and each particle is sent to the ranks with the parts of space that it touches.
    """
    others = {
        "position": np.concatenate([np.zeros((0, 3)), *(one.position for one in placed)]),
        "radius": np.concatenate([np.zeros(0), *(one.radius for one in placed)]),
    }
    if not int(over.add(np.array([len(others["radius"])]))[0]):
        return np.zeros(0, np.int64)
    over.divide(sites)
    rank = np.full(len(sites), over.rank)
    columns = {"position": sites, "radius": radii, "row": np.arange(len(sites)), "rank": rank}
    here = over.route(columns, over.owners(sites))
    largest = float(over.largest(np.array([radii.max(initial=0.0)]))[0])
    rows, ranks = over.near(others["position"], others["radius"] + largest)
    near = over.route({name: column[rows] for name, column in others.items()}, ranks)
    pairs, _ = overlapping_pairs(
        np.concatenate((here["position"], near["position"])), np.concatenate((here["radius"], near["radius"])), domain
    )
    count = len(here["row"])
    hit = np.unique(pairs[(pairs[:, 0] < count) & (pairs[:, 1] >= count), 0])
    return over.route({"row": here["row"][hit]}, here["rank"][hit])["row"]


class LatticeSites:
    """The numbered sites of a lattice; neighbours are at least a pitch apart.

    Parameters
    ----------
    lower, upper : ndarray, shape (3,)
        Box of the sites, in m: a sphere's radius inside the faces of the region.
    pitch : float
        Least distance of two sites, in m.
    free : ndarray of bool, shape (3,)
        Axes along which the box is a whole period; the lattice is stretched to fit.
    arrangement : {"cubic", "hexagonal"}
        Simple cubic (square), or hexagonal close-packed with rows along x and layers along z (triangular).
    dimension : {2, 3}
        In 2D there is one layer, halfway between the faces.

    Attributes
    ----------
    count : int
        Number of sites, layer by layer and row by row; includes some sites beyond the box.
    """

    def __init__(
        self, lower: Floats, upper: Floats, pitch: float, free: Booleans, arrangement: str, dimension: int
    ) -> None:
        spacing, repeat, length = _SPACING[arrangement] * pitch, _REPEAT[arrangement], upper - lower
        counts = np.floor(np.maximum(length, 0.0) / spacing + _SLACK)
        counts = np.where(free, counts // repeat * repeat, counts + 1)
        if dimension == 2:
            counts[2] = 1
        self._counts = counts
        self.count = 0 if np.any(length[:dimension] < 0.0) else int(math.prod(counts.tolist()))
        self._spacing = np.where(free & (np.arange(3) < dimension), length / np.maximum(counts, 1.0), spacing)
        self._lower, self._upper, self._limit = lower, upper, upper + _SLACK * pitch
        self._unlimited = free | (np.arange(3) >= dimension)
        self._staggered, self._dimension = arrangement == "hexagonal", dimension

    def sites(self, begin: int, end: int) -> tuple[Floats, Integers]:
        """Return the sites inside the box (m, 3) [m] with numbers from `begin` to `end` - 1, and their numbers."""
        number = np.arange(begin, end)
        rows, column = np.divmod(number, max(int(self._counts[0]), 1))
        layer, row = np.divmod(rows, max(int(self._counts[1]), 1))
        index = np.stack([column, row, layer], axis=-1).astype(np.float64)
        if self._staggered:
            odd_row, odd_layer = index[:, 1] % 2.0, index[:, 2] % 2.0
            index[:, 0] += 0.5 * ((odd_row + odd_layer) % 2.0)
            index[:, 1] += odd_layer / 3.0
        sites = self._lower + index * self._spacing
        if self._dimension == 2:
            sites[:, 2] = 0.5 * (self._lower[2] + self._upper[2])
        inside = np.all((sites <= self._limit) | self._unlimited, axis=1)
        return sites[inside], number[inside]


def height_keys(sites: Floats, gravity: Floats, dimension: int, over: Group) -> Integers:
    """Return integers that increase with the height of sites (m, 3): against gravity, or along the last axis."""
    up = -gravity if np.any(gravity) else np.eye(3)[dimension - 1]
    # Equal heights differ by rounding errors; with rounded heights layers stay together on every machine.
    height = exact_math.inner(sites, up / exact_math.norm(up))
    scale = float(over.largest(np.array([np.max(np.abs(height), initial=1e-300)]))[0])
    return np.rint(height / scale * 1e9).astype(np.int64)
