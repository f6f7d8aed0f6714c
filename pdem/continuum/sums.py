"""Sums over particles and contacts for every cell of a grid, the same for any division among ranks and threads.

Each number is divided among the cells in whole quanta, which are a power of two of its unit: as fine as 64 bits allow
for the sum of all. Sums of whole numbers are exact, so their order does not matter; the shares of one number add up to
it within the rounding of a share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.group import OneRank
from pdem.continuum.grid import GAUSSIAN, LUCY, images_of, points_per_cell, shares_of
from pdem.continuum.lucy import spread_lucy
from pdem.continuum.rows import add_parts, largest_of, write_actions, write_matter
from pdem.continuum.spreading import ROW, SUMS, Items, Spreading, nodes_along, spread_gaussian
from pdem.foundation.arrays import line_zeros
from pdem.foundation.kernels import threads
from pdem.simd.shares import LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pdem.containers.group import Group
    from pdem.continuum.grid import Grid

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

COUNT, MASS, SIZE = 0, 1, 2
MOMENTUM, MOVING, CONTACT, WALL = slice(3, 6), slice(6, 12), slice(12, 21), slice(21, 24)
"""Sums of a cell: of particles, their mass [kg], volume [m^3] or in 2D area [m^2], momentum [kg m/s], and m v v^T [J]
(xx, yy, zz, xy, xz, yz); of contacts f b^T [J], row by row; forces of walls [N]."""

PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""Components of m v v^T in the order of their sums."""

_ALONE = OneRank()
_LARGEST, _TOTAL = int(np.log2(LARGEST)), 61  # bits of one number, and of the sum of all
_FINE = 2.0**30
_MOST_NUMBERS = 1 << 25  # in the sums of all threads


class Matter(NamedTuple):
    """Particles, or clusters as a whole.

    Attributes
    ----------
    position, velocity : (n, 3) arrays
        [m, m/s].
    mass, size : (n,) arrays
        Mass [kg]; volume [m^3], in 2D area [m^2].
    kind : (n,) int64 array
        Number of the class that each belongs to.
    """

    position: Floats
    velocity: Floats
    mass: Floats
    size: Floats
    kind: Integers


class Actions(NamedTuple):
    """What acts along ways and at points.

    Attributes
    ----------
    begin, way : (n, 3) arrays
        Where a way begins, and the way; zeros for forces at points [m].
    force : (n, 3) array
        [N].
    at_wall : (n,) bool array
        Whether it is the force of a wall at a point, and no way.
    kind : (n,) int64 array
        Number of the class.
    """

    begin: Floats
    way: Floats
    force: Floats
    at_wall: NDArray[np.bool_]
    kind: Integers


def actions_of_contacts(
    centre: Floats,
    branch: Floats,
    force: Floats,
    is_pair: NDArray[np.bool_],
    kinds: Integers,
    point: Floats | None,
) -> Actions:
    """Return what acts in contacts: forces along branches, and those of walls on particles where branches end.

    Parameters
    ----------
    centre, branch, force : (n, 3) arrays
        Centre of the first body, way to the second or to the wall [m], force of the first on the second body [N].
    is_pair : (n,) bool array
        False at walls.
    kinds : (2, n) int64 array
        Classes of both bodies.
    point : (n, 3) array or None
        Places of contacts [m], where branches are divided between the classes of both bodies; None to leave them
        whole, with the class of the first.
    """
    wall, end = ~is_pair, centre + branch
    middle = end if point is None else np.where(is_pair[:, None], point, end)
    still = np.zeros((np.count_nonzero(wall), 3))
    parts = [
        (end[wall], still, -force[wall], np.ones(len(still), np.bool_), kinds[0, wall]),
        (centre, middle - centre, force, np.zeros(len(end), np.bool_), kinds[0]),
    ]
    if point is not None:
        beyond = (end - middle)[is_pair]
        parts.append(
            (middle[is_pair], beyond, force[is_pair], np.zeros(len(beyond), np.bool_), kinds[1, is_pair])
        )
    return Actions._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def field_sums(
    grid: Grid, edges: Floats, classes: int, matter: Matter, actions: Actions, group: Group = _ALONE
) -> Floats:
    """Return the sums (classes, cells, SUMS) of each class over the cells of a grid. Collective.

    Parameters
    ----------
    grid : Grid
        The cells.
    edges : (3, 3) array
        Of the box, as `pdem.continuum.grid.images_of` takes them.
    classes : int
        Number of classes; of a single one all are, whatever their kinds are.
    matter, actions : Matter, Actions
        What this rank has.
    group : Group
        All ranks.
    """
    size = classes * grid.total * SUMS
    total = line_zeros((max(min(threads(), _MOST_NUMBERS // size), 1), size), np.int64)
    of_matter, of_actions = np.empty((len(matter.mass), ROW)), np.empty((len(actions.kind), ROW))
    write_matter(matter.velocity, matter.mass, matter.size, of_matter)
    write_actions(actions.force, actions.way, actions.at_wall, of_actions)
    parts = (
        (matter.position, np.zeros(matter.position.shape), of_matter, matter.kind),
        (actions.begin, actions.way, of_actions, actions.kind),
    )
    quanta = np.empty(SUMS)
    for half, (begin, way, rows, kind) in enumerate(parts):
        scale = _scales(rows, group)
        rows *= scale
        quanta[half * ROW : (half + 1) * ROW] = 1.0 / scale
        target = (kind if classes > 1 else np.zeros_like(kind)) * (grid.total * SUMS) + half * ROW
        _spread(grid, edges, Items(begin, way, rows.reshape(-1), target), total)
    joined = group.add(total.sum(axis=0).reshape(classes * grid.total, SUMS))
    return (joined * quanta).reshape(classes, grid.total, SUMS)


def _scales(rows: Floats, group: Group) -> Floats:
    """Return for each column (ROW,) how many quanta make a unit: a power of two. Collective."""
    largest, parts = np.zeros(ROW), np.zeros(ROW, np.int64)
    largest_of(rows, largest)
    largest = group.largest(largest)
    add_parts(rows, np.divide(_FINE, largest, out=np.zeros(ROW), where=largest > 0.0), parts)
    total = group.add(parts).astype(np.float64) / _FINE * largest
    bits = np.minimum(_LARGEST - np.frexp(largest)[1], _TOTAL - np.frexp(total)[1])
    return np.ldexp(1.0, np.clip(bits, -1000, 1000))


def _spread(grid: Grid, edges: Floats, items: Items, total: Integers) -> None:
    """Add items to the sums of the workers."""
    longest = np.abs(items.way).max(axis=0, initial=0.0)
    length = float(np.sqrt((items.way**2).sum(axis=1)).max(initial=0.0))
    grid_now, lucy = _spreading(grid, edges, length), grid.kernel == LUCY
    if lucy:
        stride = 2 + int(np.ceil(2.0 * grid.reach * grid_now.inverse * grid_now.steps).max())
        room = 6 * stride + int(grid_now.across.prod())
    else:
        across = np.ceil(longest * grid_now.inverse).astype(np.int64)
        stride = int((across + 1 + grid_now.filled).max())
        room = nodes_along(length, grid.width) * (3 * stride + 1)
    rooms = np.zeros((len(total), room + 8))
    (spread_lucy if lucy else spread_gaussian)(tuple(items), tuple(grid_now), stride, rooms, total)


def _spreading(grid: Grid, edges: Floats, length: float) -> Spreading:
    """Return a grid as kernels take it, for ways of at most a length [m]."""
    inverse = 1.0 / grid.size
    inverse[grid.dimension :] = 0.0
    reach = grid.reach * inverse
    if grid.kernel == GAUSSIAN:
        shares = shares_of(grid)
        # between two columns of a table a cell has a share as soon as it has one in either of them
        more = np.where(inverse > 0.0, 1.0 / shares.steps, 0.0)
        images = images_of(edges, grid, length + float((more * grid.size).max()))
        return Spreading(grid.lower, inverse, grid.cells, images, grid.width, reach + more, *shares)
    behind = np.ceil(reach).astype(np.int64)
    across, images = 2 * behind + 1, images_of(edges, grid, length)
    return Spreading(
        grid.lower, inverse, grid.cells, images, grid.width, reach, behind, across, across, points_per_cell(grid),
        np.zeros(3, np.int64), np.zeros(1),
    )  # fmt: skip
