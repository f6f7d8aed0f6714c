"""Entries: items with boxes of cells that have shares of them, sorted by the first cells of their boxes.

An item is a particle at a point, or a force that acts along a straight segment (`way`), such as a branch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pdem.continuum.layout import (
    AHEAD,
    BRANCH_SIZE,
    BRANCHES,
    FIRST,
    ITEM,
    MIDDLE,
    NODE,
    PART,
    PLACED,
    ROW,
    SHARE,
    WALL_SIZE,
)
from pdem.numerics.kernel_factory import inlined_closure
from pdem.numerics.kernels import inlined
from pdem.numerics.simd.prefetch import fetch
from pdem.numerics.simd.quantised_weights import PLACED as ROWS
from pdem.numerics.simd.transposition import LANES

if TYPE_CHECKING:
    from pdem.continuum.items import Actions, Matter
    from pdem.continuum.layout import FieldCells, Work
    from pdem.foundation.array_types import Floats
    from pdem.numerics.vectors import Vector


@inlined
def place_of(p: int, begin: Floats, cells: FieldCells) -> Vector:
    """Return the first point of an item, in units of cells."""
    lower, inverse = cells.lower, cells.inverse
    return (
        (begin[p, 0] - lower[0]) * inverse[0], (begin[p, 1] - lower[1]) * inverse[1],
        (begin[p, 2] - lower[2]) * inverse[2],
    )  # fmt: skip


@inlined
def way_of(p: int, way: Floats, share: float, cells: FieldCells) -> Vector:
    """Return a fraction of the segment of an item, in units of cells."""
    inverse = cells.inverse
    return share * way[p, 0] * inverse[0], share * way[p, 1] * inverse[1], share * way[p, 2] * inverse[2]


@inlined
def parts_of(p: int, way: Floats, width: float) -> int:
    """Return the number of parts into which a segment is divided."""
    x, y, z, longest = way[p, 0], way[p, 1], way[p, 2], PART * width
    squared = x * x + y * y + z * z
    return 1 if squared <= longest * longest else max(math.ceil(math.sqrt(squared) / longest), 1)


@inlined
def image_at(number: int) -> int:
    """Return the periodic image with a number, in the order 0, 1, -1, 2, -2, and so on."""
    return (number + 1) // 2 * (2 * (number & 1) - 1)


@inlined
def slot_of(axis: int, first: float, cells: FieldCells) -> int:
    """Return the slot of a box with this first cell along an axis; -1 if none of its cells is in the grid."""
    slot, count = int(first), cells.cells[axis]
    if cells.period[axis] == count:
        return slot if 0 <= slot < count else slot % count
    slot += cells.ahead[axis]
    return slot if slot < cells.slots[axis] else -1


@inlined
def write_point(p: int, items: Matter, scale: Floats, room: Floats, to: int) -> None:
    """Write 1, mass, size, momentum, and the six components of m v v^T of a particle, in quanta."""
    m, x, y, z = items.mass[p], items.velocity[p, 0], items.velocity[p, 1], items.velocity[p, 2]
    unit, moving, u, v, w = scale[3], scale[4], m * x, m * y, m * z
    room[to], room[to + 1], room[to + 2] = scale[0], m * scale[1], items.size[p] * scale[2]
    room[to + 3], room[to + 4], room[to + 5] = u * unit, v * unit, w * unit
    room[to + 6], room[to + 7], room[to + 8] = u * x * moving, v * y * moving, w * z * moving
    room[to + 9], room[to + 10], room[to + 11] = u * y * moving, u * z * moving, v * z * moving


@inlined
def write_action(p: int, items: Actions, scale: Floats, room: Floats, to: int) -> None:
    """Write f b^T, row by row, of a force along a segment, and the force of a wall, in quanta."""
    push = scale[WALL_SIZE] if items.at_wall[p] else 0.0
    for i in range(3):
        for j in range(3):
            room[to + 3 * i + j] = items.force[p, i] * items.way[p, j] * scale[BRANCH_SIZE]
        room[to + BRANCHES + i] = items.force[p, i] * push


def entry_visitor(nodes: int) -> Any:
    """Make the function that writes the entries of an item; it returns the index after its last entry."""
    far = NODE if nodes > 1 else 0.0

    @inlined_closure
    def visit_box(
        p: int,
        middle: Vector,
        away: Vector,
        share: float,
        cells: FieldCells,
        work: Work,
        at: int,
        worker: int,
        kind: int,
    ) -> int:
        """Write an entry and count it, if its box intersects the grid; without an array for entries only count it."""
        x, y, z = middle[0] - away[0], middle[1] - away[1], middle[2] - away[2]
        x, y, z = math.floor(x), math.floor(y), math.floor(z)
        plane, line, along = slot_of(0, x, cells), slot_of(1, y, cells), slot_of(2, z, cells)
        if plane < 0 or line < 0 or along < 0:
            return at
        if len(work.placed) > 0:
            slots, placed = cells.slots, work.placed[at]
            key = ((kind * slots[0] + plane) * slots[1] + line) * slots[2] + along
            placed[MIDDLE], placed[MIDDLE + 1], placed[MIDDLE + 2], placed[SHARE] = (*middle, share)
            placed[FIRST], placed[FIRST + 1], placed[FIRST + 2], placed[ITEM] = x, y, z, p
            work.keys[at] = key
            work.counts[worker, key] += 1
        return at + 1

    @inlined_closure
    def visit_item(p: int, items: Any, cells: FieldCells, work: Work, at: int, worker: int, classes: int) -> int:
        """Write the entries of an item: one for each part of its segment and each image within reach of the grid."""
        x, y, z = place_of(p, items[0], cells)
        kind, parts = (items.kind[p] if classes > 1 else 0, parts_of(p, items.way, cells.width) if nodes > 1 else 1)
        share = 1.0 / parts
        a, b, c = way_of(p, items.way, share, cells) if nodes > 1 else (0.0, 0.0, 0.0)
        away = far * abs(a), far * abs(b), far * abs(c)
        images, period = cells.images, cells.period
        if parts == 1 and images[0] + images[1] + images[2] == 0:
            middle = x + 0.5 * a, y + 0.5 * b, z + 0.5 * c
            return visit_box(p, middle, away, share, cells, work, at, worker, kind)
        for part in range(parts):
            half = part + 0.5
            for i in range(2 * images[0] + 1):
                for j in range(2 * images[1] + 1):
                    for k in range(2 * images[2] + 1):
                        middle = (
                            x + half * a + image_at(i) * period[0],
                            y + half * b + image_at(j) * period[1],
                            z + half * c + image_at(k) * period[2],
                        )
                        at = visit_box(p, middle, away, share, cells, work, at, worker, kind)
        return at

    return visit_item


@inlined
def begin_keys(work: Work) -> None:
    """Turn numbers of entries into the first indices of each worker's entries, key after key."""
    total = 0
    for key in range(work.counts.shape[1]):
        for worker in range(len(work.counts)):
            count = work.counts[worker, key]
            work.counts[worker, key] = total
            total += count


@inlined
def sort_entries(worker: int, end: int, work: Work) -> None:
    """Write the order of a worker's entries, up to `end`, beginning at the first indices of their keys."""
    counts = work.counts[worker]
    for entry in range(work.starts[worker], end):
        key = work.keys[entry]
        work.order[counts[key]] = entry
        counts[key] += 1


@inlined
def fetch_point(p: int, items: Matter) -> None:
    """Prefetch the data of a particle."""
    fetch(items.velocity, 3 * p)
    fetch(items.mass, p)
    fetch(items.size, p)


@inlined
def fetch_action(p: int, items: Actions) -> None:
    """Prefetch the data of an action."""
    fetch(items.way, 3 * p)
    fetch(items.force, 3 * p)


def entry_writer(nodes: int) -> Any:
    """Make the function that writes numbers and positions of some entries, and the extent of their boxes."""
    ways, far = nodes > 1, NODE if nodes > 1 else 0.0
    write_row, fetch_item = (write_action, fetch_action) if ways else (write_point, fetch_point)

    @inlined_closure
    def write_entries(
        first: int, number: int, last: int, items: Any, cells: FieldCells, scale: Floats, work: Work, worker: int
    ) -> None:
        """Write `number` entries from `first` on; prefetch later ones, up to `last` - 1."""
        room, ends = work.rooms[worker], work.ends[worker]
        for one in range(number):
            fetch(work.placed, PLACED * work.order[min(first + one + 2 * AHEAD, last - 1)])
            fetch_item(int(work.placed[work.order[min(first + one + AHEAD, last - 1)], ITEM]), items)
            placed = work.placed[work.order[first + one]]
            p, share = int(placed[ITEM]), placed[SHARE]
            write_row(p, items, scale, room, ROW * one)
            way = way_of(p, items.way, share, cells) if ways else (0.0, 0.0, 0.0)
            to = ROW * work.most + one // LANES * (ROWS * LANES) + one % LANES
            for axis, along in enumerate(way):
                away = placed[MIDDLE + axis] - placed[FIRST + axis]
                room[to + LANES * axis], room[to + LANES * (3 + axis)] = -away, along
                ends[one, axis] = min(int(away + far * abs(along) + cells.reach[axis]) + 1, cells.box[axis])
            room[to + LANES * 6] = share

    return write_entries
