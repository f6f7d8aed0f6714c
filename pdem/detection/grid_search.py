"""The search of the hierarchical grid: along rows of cells, several spheres at a time (`simd.distance_filter`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdem.detection.grid_kernels import SortedSpheres, cell_along, centre_of, reach_of, row_bucket
from pdem.detection.grid_levels import Levels
from pdem.detection.neighbours import SEGMENTS
from pdem.numerics.geometry_kernels import inlined_geometry
from pdem.numerics.kernels import prange, threaded_kernel
from pdem.numerics.simd.distance_filter import append_lanes, bit_count, distance_filter
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats, Int32s, Integers

INFLATION = 1.0 + 1e-12
"""Factor on the search range, so that rounding at a cell border loses no pair."""


class PairArrays(NamedTuple):
    """Output arrays: both particles of each pair."""

    first: Int32s
    second: Int32s


class Query(NamedTuple):
    """A query for partners of a sphere: its slot, the level, the first slot to test, and the image of the sphere."""

    slot: int
    level: int
    after: int
    image: int


@inlined_geometry
def _range_along(
    levels: Levels, level: int, axis: int, coordinate: float, width: float, period: float
) -> tuple[int, int]:
    """Return the first cell of a query along an axis (unwrapped), and the number of further cells."""
    # both ends use the monotone operations of `cell_along`: no partner at a border is lost
    origin, inverse = levels.origin[level, axis], levels.inverse[level, axis]
    first = math.floor((coordinate - width - origin) * inverse)
    last = math.floor((coordinate + width - origin) * inverse)
    cells = levels.cells[level, axis]
    if period > 0.0:
        return first, min(last - first + 1, cells)
    first = max(first, 0)
    return first, min(last, cells - 1) - first + 1


@inlined_geometry
def _wrapped(cell: int, cells: int) -> int:
    """Return a cell of a periodic axis inside the grid; it avoids divisions, which are slow and rarely needed."""
    return cell if 0 <= cell < cells else cell % cells


@inlined_geometry
def _span(period: float) -> float:
    """Return the length after which an axis repeats: infinite on an open axis, where the period is 0."""
    return period if period > 0.0 else math.inf


@inlined_geometry
def _in_row(
    count: int, first: int, levels: Levels, level: int, row: tuple[int, int], cells: tuple[int, int],
    spheres: Floats,
) -> int:  # fmt: skip
    """Return a bit mask of the spheres in some cells of a row, for `count` spheres from the slot `first` on.

    `cells` are the first cell and the number of cells, which do not extend past the end of the row.
    """
    mask = 0
    for lane in range(count):
        x, y, z = centre_of(first + lane, spheres)
        behind = cell_along(levels, level, 0, x) - cells[0]
        if (
            0 <= behind < cells[1]
            and cell_along(levels, level, 1, y) == row[0]
            and cell_along(levels, level, 2, z) == row[1]
        ):
            mask |= 1 << lane
    return mask


@inlined_geometry
def _of_image(mask: int, first: int, query: Query, lean: Any, spheres: Floats) -> int:
    """Remove from a bit mask the spheres that are nearer to a different image of the query, across the layers.

    In a narrow box two images may be near a sphere: only one counts.
    """
    own = centre_of(query.slot, spheres)[2]
    for lane in range(LANES):
        if mask >> lane & 1:
            apart = (centre_of(first + lane, spheres)[2] - own) / lean.height
            mask -= 0 if math.floor(apart + 0.5) == query.image else 1 << lane
    return mask


@inlined_geometry
def _search_level(
    slot: int,
    level: int,
    after: int,
    levels: Levels,
    particles: SortedSpheres,
    period: Floats,
    lean: Any,
    pairs: PairArrays,
    at: int,
    stop: int,
) -> tuple[int, int, int]:
    """Find the partners of one sphere in one level, in slots from `after` on.

    Pairs are written from index `at` on; pairs beyond `stop` are only counted. Returns the next index, the numbers of
    distance tests and of visited rows.
    """
    place = centre_of(slot, particles.spheres)
    if lean is None:
        return _search_around(Query(slot, level, after, 0), place, levels, particles, period, lean, pairs, at, stop)
    checks = accesses = 0
    for image in range(-1, 2):  # layers are not wrapped: each image of the sphere has its own position in its row
        from_corner = place[0] + image * lean.offset - levels.origin[level, 0]
        moved = (
            levels.origin[level, 0] + (from_corner - lean.width * math.floor(from_corner / lean.width)), place[1],
            place[2] + image * lean.height,
        )  # fmt: skip
        at, tested, visited = _search_around(
            Query(slot, level, after, image), moved, levels, particles, period, lean, pairs, at, stop
        )
        checks += tested
        accesses += visited
    return at, checks, accesses


@inlined_geometry
def _search_around(
    query: Query,
    centre: tuple[float, float, float],
    levels: Levels,
    particles: SortedSpheres,
    period: Floats,
    lean: Any,
    pairs: PairArrays,
    at: int,
    stop: int,
) -> tuple[int, int, int]:
    """Find the partners of a sphere, or of its image, at the position `centre`; otherwise like `_search_level`."""
    spheres, start, order = particles
    slot, level, after, _ = query
    (x, y, z), reach = centre, reach_of(slot, spheres)
    width = (reach + levels.reach[level]) * INFLATION
    x0, nx = _range_along(levels, level, 0, x, width, period[0])
    y0, ny = _range_along(levels, level, 1, y, width, period[1])
    z0, nz = _range_along(levels, level, 2, z, width, period[2])
    checks = accesses = 0
    if nx <= 0 or ny <= 0 or nz <= 0:
        return at, checks, accesses
    base, buckets = levels.base[level], levels.buckets[level]
    columns, rows, layers = levels.cells[level, 0], levels.cells[level, 1], levels.cells[level, 2]
    dense = levels.dense[level] == 1
    whole = not dense and (nx > buckets or float(nx) * ny * nz > levels.population[level])
    if whole:  # a sparse level takes less work as a single row
        x0, nx, ny, nz, columns = 0, buckets, 1, 1, buckets
    mixed = not dense and not whole  # buckets may contain particles of other rows
    x0, row_z = _wrapped(x0, columns), _wrapped(z0, layers)
    own = order[slot]
    spans = _span(period[0]), _span(period[1]), _span(period[2])
    for _ in range(nz):
        row_y = _wrapped(y0, rows)
        for _ in range(ny):
            row = 0 if whole else row_bucket(levels, level, row_y, row_z)
            column, left = x0, nx
            accesses += 1
            while left > 0:  # two runs if the end of the cells or of the buckets cuts the row
                bucket = row + column
                length = min(left, columns - column)
                if not dense:
                    bucket &= buckets - 1
                    length = min(length, buckets - bucket)
                begin, end = max(start[base + bucket], after), start[base + bucket + length]
                for first in range(begin, end, LANES):
                    some = min(end - first, LANES)
                    mask = distance_filter(spheres, np.uint64(first), some, centre, reach, INFLATION, spans)
                    if mixed:
                        here = _in_row(some, first, levels, level, (row_y, row_z), (column, length), spheres)
                        mask, some = mask & here, bit_count(here)
                    if mask != 0 and lean is not None:
                        mask = _of_image(mask, first, query, lean, spheres)
                    append_lanes(order, np.uint64(first), mask, own, pairs, np.uint64(min(at, stop)))
                    at += bit_count(mask)
                    checks += some
                left -= length
                column += length
                column = 0 if column == columns else column
            row_y = 0 if row_y + 1 == rows else row_y + 1
        row_z = 0 if row_z + 1 == layers else row_z + 1
    return at, checks, accesses


@threaded_kernel
def search(
    count: int,
    top_down: bool,
    levels: Levels,
    level_of: NDArray[np.int8],
    particles: SortedSpheres,
    period: Floats,
    lean: Any,
    room: Integers,
    written: tuple[PairArrays, Integers, Integers],
) -> None:
    """Find every pair once; chunk c writes its ``found[c]`` pairs from ``room[c]`` on.

    A chunk needs `simd.transposition.LANES` free elements before ``room[c + 1]``; pairs beyond are only counted.
    `period` is in the order of the cells' axes; if `lean` is a `Lean` and not None, it is 0 across the layers.
    `written` holds the pairs, the number of pairs of each chunk, and its numbers of distance tests and visited rows.
    `particles` and the pairs are plain tuples of the fields.
    """
    # unpacked before the loop: inside, every sphere would unpack them and change reference counts of arrays
    sorted_spheres, pairs = SortedSpheres(*particles), PairArrays(*written[0])
    found, counters = written[1], written[2]
    order = sorted_spheres.order
    depth = len(levels.limit)
    for iteration in prange(SEGMENTS):
        chunk = (iteration * 37) % SEGMENTS  # spreads the large spheres, which come last, over threads
        at, stop = room[chunk], room[chunk + 1] - LANES
        checks = accesses = 0
        for slot in range(chunk * count // SEGMENTS, (chunk + 1) * count // SEGMENTS):
            own = level_of[order[slot]]
            for level in range(depth):
                if levels.population[level] == 0 or (level > own if top_down else level < own):
                    continue
                at, tested, visited = _search_level(
                    slot, level, slot + 1 if level == own else 0, levels, sorted_spheres, period, lean, pairs, at, stop
                )
                checks += tested
                accesses += visited
        found[chunk] = at - room[chunk]
        counters[chunk, 0] = checks
        counters[chunk, 1] = accesses
