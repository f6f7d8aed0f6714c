"""Kernels that distribute points and straight segments over the cells of a grid.

Sums are integer numbers of quanta: they are the same in any order, so each thread has sums of its own, and the sums of
threads and ranks are added up afterwards.

Items become entries, each with the box of cells that have shares of it. An item has several entries if its segment is
long, or if periodic images are within reach of the grid. Entries are sorted by the first cells of their boxes. The
contributions of entries with the same first cells are summed in registers, so that memory is read and written once for
all of them. Shares are evaluated for several entries at a time, with vector instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.continuum.entries import begin_keys, entry_visitor, entry_writer, sort_entries
from pdem.continuum.items import Actions, Matter
from pdem.continuum.layout import BRANCHES, ROW, FieldCells, Work
from pdem.numerics.kernel_factory import inlined_closure, versioned_kernel
from pdem.numerics.kernels import inlined, prange
from pdem.numerics.simd.quantised_weights import AT_ONCE, box_adder
from pdem.numerics.simd.quantised_weights import PLACED as ROWS
from pdem.numerics.workers import share_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.foundation.array_types import Floats, Integers

    Three = tuple[int, int, int]

_add_matter, _add_branches = box_adder(ROW, ROW), box_adder(BRANCHES, ROW)


@inlined
def same_first_cells(first: int, last: int, work: Work, ends: Integers, one: int) -> tuple[int, int, int, int]:
    """Return the number of sorted entries with the same first cells as entry `first`, and the extent of their boxes.

    Entries up to `last` - 1 are considered. The extent is the largest number of planes, lines and cells of any of these
    boxes; ``ends[one]`` belongs to entry `first`.
    """
    key, number, planes, lines, along = work.keys[work.order[first]], 0, 1, 1, 1
    while first + number < last and work.keys[work.order[first + number]] == key:
        end = ends[one + number]
        planes, lines, along = max(planes, end[0]), max(lines, end[1]), max(along, end[2])
        number += 1
    return number, planes, lines, along


@inlined
def slots_of(key: int, cells: FieldCells) -> tuple[int, int, int, int]:
    """Return the class and the slots that a key encodes."""
    slots = cells.slots
    rest = key // slots[2]
    along, line, rest = key - rest * slots[2], rest % slots[1], rest // slots[1]
    return rest // slots[0], rest % slots[0], line, along


def sorted_spreader(nodes: int, write_boxes: Callable[..., None]) -> Any:
    """Make the function that adds sorted entries to sums, for the nodes and boxes of `spreading_kernel`."""
    ways, write_entries = nodes > 1, entry_writer(nodes)

    @inlined_closure
    def add_entries(
        key: int, one: int, number: int, many: Three, walls: bool, cells: FieldCells, work: Work, room: Any, sums: Any
    ) -> None:  # fmt: skip
        """Add some entries with the same first cells to the sums of their cells."""
        kind, plane, line, along = slots_of(key, cells)
        slots, begins, most = (plane, line, along), (cells.planes, cells.lines, cells.along), work.most
        line_apart = most * cells.box[2]
        first = (2 * kind + (1 if ways else 0)) * cells.cells[0] * cells.cells[1] * cells.cells[2] * ROW
        for done in range(0, number, AT_ONCE):
            row, rows = ROW * (one + done), min(AT_ONCE, number - done)
            shares = (ROW + ROWS) * most + one + done, most, line_apart, line_apart * cells.box[1]
            if ways and not walls:
                _add_branches(room, shares, row, rows, begins, slots, many, sums, first)
            else:
                _add_matter(room, shares, row, rows, begins, slots, many, sums, first)

    @inlined_closure
    def spread_sorted(
        first: int,
        last: int,
        items: Any,
        cells: FieldCells,
        grid: Any,
        scale: Any,
        walls: bool,
        work: Work,
        worker: int,
        sums: Any,
    ) -> None:
        """Add the sorted entries from `first` to `last` - 1 to the sums."""
        room, ends, most, box = work.rooms[worker], work.ends[worker], work.most, cells.box
        while first < last:
            number, one = min(most, last - first), 0
            write_entries(first, number, last, items, cells, scale, work, worker)
            shares = (ROW + ROWS) * most
            write_boxes(number, cells, grid, room, ROW * most, shares, most, shares + most * box[0] * box[1] * box[2])
            while one < number:
                same, planes, lines, along = same_first_cells(first + one, first + number, work, ends, one)
                key = work.keys[work.order[first + one]]
                add_entries(key, one, same, (planes, lines, along), walls, cells, work, room, sums)
                one += same
            first += number

    return spread_sorted


def spreading_kernel(phi: str, grid_type: Any, nodes: int, write_boxes: Callable[..., None]) -> Any:
    """Make the two kernels that distribute items over the cells of a grid.

    The first kernel counts the entries of each worker. Its arguments are plain tuples of the fields of items, of
    `FieldCells`, and of `Work`, and the output array. The second kernel adds to sums. Its arguments are the fields of
    items, of `FieldCells`, and of the grid for phi; the number of quanta per unit of each size; the number of classes;
    whether the items have forces of walls; the fields of `Work`; an array for the ends of entries; and the sums
    (workers, classes * 2 * cells * `ROW`), int64.

    Parameters
    ----------
    phi : str
        Name of phi, a part of the kernels' names.
    grid_type : type
        Type of the grid.
    nodes : int
        1 for `Matter`, `NODES` for `Actions`.
    write_boxes : function
        Writes the shares of boxes. Its arguments: number of entries, cells, grid, room, first index in the room of the
        rows of positions of entries (see `simd.shares.share_writer`), index of the shares of the first cell, distance
        to the shares of the next cell, and first free index.
    """
    visit_item, spread_sorted = entry_visitor(nodes), sorted_spreader(nodes, write_boxes)
    item_type = Actions if nodes > 1 else Matter

    @versioned_kernel(f"{phi}, {nodes}", threaded=True)
    def count(items: Any, cells: Any, work: Any, ends: Integers) -> None:
        for worker in prange(len(ends)):
            (first, last), at = share_of(worker, len(ends), len(item_type(*items).kind)), 0
            for p in range(first, last):
                at = visit_item(p, item_type(*items), FieldCells(*cells), Work(*work), at, worker, 1)
            ends[worker] = at

    @versioned_kernel(f"{phi}, {nodes}", threaded=True)
    def spread(
        items: Any, cells: Any, grid: Any, scale: Floats, classes: int, walls: bool, work: Any, ends: Integers,
        sums: Integers,
    ) -> None:  # fmt: skip
        for worker in prange(len(sums)):
            first, last = share_of(worker, len(sums), len(item_type(*items).kind))
            at = Work(*work).starts[worker]
            for p in range(first, last):
                at = visit_item(p, item_type(*items), FieldCells(*cells), Work(*work), at, worker, classes)
            ends[worker] = at
        begin_keys(Work(*work))
        for worker in prange(len(sums)):
            sort_entries(worker, ends[worker], Work(*work))
        total = 0
        for worker in range(len(sums)):
            total += ends[worker] - Work(*work).starts[worker]
        for worker in prange(len(sums)):
            begin, end = share_of(worker, len(sums), total)
            spread_sorted(
                begin, end, item_type(*items), FieldCells(*cells), grid_type(*grid), scale, walls, Work(*work), worker,
                sums[worker],
            )  # fmt: skip

    return count, spread
