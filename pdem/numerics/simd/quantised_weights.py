"""Shares of cells in eight items at a time, and sums in whole quanta.

A compiler does not turn loops this short into vector code, because arrays might overlap.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types
from pdem.numerics.simd.listed_rows import GROUP
from pdem.numerics.simd.transposition import LANES, address_of, data_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pdem.foundation.array_types import Floats

LARGEST = 2.0**51
"""Bound of shares that are added up in whole quanta: they must be smaller than this number of quanta."""

PLACED = 7
"""Rows of `LANES` numbers with the positions of items: the first of these rows, see `share_writer`."""

AT_ONCE = 8
"""Rows that are added to the sums of cells at a time."""

_MAGIC = 1.5 * 2.0**52
"""Adding this to a number of quanta leaves the nearest whole number in the low bits."""

_MAGIC_BITS = 0x4338000000000000
_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_WIDE = ir.VectorType(_NUMBER, LANES)
_ALIGN = 8
_FUSED = ("contract",)


def box_adder(count: int, apart: int) -> Callable[..., None]:
    """Make a function for kernels that adds shares of rows of numbers to the sums of cells, in whole quanta.

    Parameters
    ----------
    count, apart : int
        Numbers of a row; distance between rows.

    Returns
    -------
    function
        Its arguments:

        1. a flat array;
        2. the index of the share of the first row in the first cell (the shares of further rows follow), and the
           distances of the shares to the next cell, line and plane (4 int);
        3. the index of the first row of numbers, in quanta, in the same array;
        4. the number of rows (at most `AT_ONCE`);
        5. three flat int64 arrays with the beginnings of the sums of planes, of lines and of cells, negative for none;
        6. the indices of the first plane, line and cell in these arrays (3 int);
        7. the numbers of planes, lines and cells (3 int);
        8. the flat int64 array of sums;
        9. the index at which the sums begin.

        Numbers are smaller than `LARGEST`. Indices are not checked.
    """

    def plain(
        room: Floats, shares: tuple[int, int, int, int], begin: int, rows: int,
        begins: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], firsts: tuple[int, int, int],
        counts: tuple[int, int, int], sums: NDArray[Any], to: int,
    ) -> None:  # pragma: no cover  # fmt: skip
        for number, place in product(range(int(rows)), np.ndindex(*(int(many) for many in counts))):
            where = [int(one[int(at) + cell]) for one, at, cell in zip(begins, firsts, place, strict=True)]
            share = room[int(shares[0]) + number + int(np.dot(place, shares[:0:-1]))]
            own = room[int(begin) + number * apart :][:count]
            if min(where) >= 0:
                cell = int(to) + sum(where)
                sums[cell : cell + count] += np.rint(share * own).astype(np.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room, sums = (data_of(context, builder, signature, arguments, one) for one in (0, 7))
        begins = [
            context.make_array(kind)(context, builder, one).data
            for kind, one in zip(signature.args[4], cgutils.unpack_tuple(builder, arguments[4]), strict=True)
        ]
        code = _BoxCode(builder, (room, sums, begins), arguments, _groups(count), apart)
        end = builder.append_basic_block("added")
        switch = builder.switch(arguments[3], end)
        for rows in range(1, AT_ONCE + 1):
            block = builder.append_basic_block("rows")
            switch.add_case(ir.Constant(_PLACE, rows), block)
            builder.position_at_end(block)
            code.add(rows)
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    def typed(
        context: Any, room: Any, shares: Any, begin: Any, rows: Any, begins: Any, firsts: Any, counts: Any, sums: Any,
        to: Any,
    ) -> Any:  # fmt: skip
        whole = types.int64
        return types.void(room, shares, whole, whole, begins, firsts, counts, sums, whole), generate

    return intrinsic_or_plain(typed, plain)


class _BoxCode:
    """Code of the function of `box_adder`: its arrays (room, sums, begins), its arguments, and groups of numbers."""

    def __init__(
        self, builder: Any, arrays: tuple[Any, Any, list[Any]], arguments: Any, groups: list[Any], apart: int
    ) -> None:
        self.builder, (self.room, self.sums, self.begins), self.groups = builder, arrays, groups
        self.apart, self.begin, self.to = apart, arguments[2], arguments[8]
        of_axes = (cgutils.unpack_tuple(builder, arguments[one]) for one in (1, 5, 6))
        (self.shares, *self.behind), self.firsts, self.counts = of_axes

    def add(self, rows: int) -> None:
        """Append the code that adds `rows` rows, plane after plane; their numbers stay in registers."""
        builder, numbers = self.builder, []
        for row in range(rows):
            places = ((_behind(builder, self.begin, row * self.apart + column), kind) for column, kind in self.groups)
            numbers.append([_load(builder, self.room, place, kind) for place, kind in places])
        self.add_cells(0, self.shares, self.to, numbers)

    def add_cells(self, axis: int, shares: Any, to: Any, numbers: list[list[Any]]) -> None:
        """Append the loop over the cells along an axis, with the loops over the following axes inside."""
        builder = self.builder
        with cgutils.for_range(builder, self.counts[axis], intp=_PLACE) as loop:
            place = builder.add(self.firsts[axis], loop.index)
            begin = _load(builder, self.begins[axis], place, _PLACE)
            with builder.if_then(builder.icmp_signed(">=", begin, ir.Constant(_PLACE, 0))):
                own, cell = (
                    builder.add(shares, builder.mul(self.behind[2 - axis], loop.index)),
                    builder.add(to, begin),
                )
                if axis < 2:
                    self.add_cells(axis + 1, own, cell, numbers)
                else:
                    self.add_cell(own, cell, numbers)

    def add_cell(self, shares: Any, to: Any, numbers: list[list[Any]]) -> None:
        """Append the code for one cell."""
        builder, rows = self.builder, len(numbers)
        of_rows = [_load(builder, self.room, _behind(builder, shares, row), _NUMBER) for row in range(rows)]
        for group, (column, kind) in enumerate(self.groups):
            whole, magic = _whole(kind), _constant(_MAGIC, kind)
            target = address_of(builder, self.sums, to, column, whole)
            total = builder.load(target, align=_ALIGN)
            for share, own in zip(of_rows, numbers, strict=True):
                product = builder.fmul(_splat(builder, share, kind), own[group], flags=_FUSED)
                shifted = builder.fadd(product, magic, flags=_FUSED)
                total = builder.add(total, builder.bitcast(shifted, whole))
            taken = _splat(builder, ir.Constant(_PLACE, -rows * _MAGIC_BITS % 2**64), whole)
            builder.store(builder.add(total, taken), target, align=_ALIGN)


def _groups(count: int) -> list[tuple[int, Any]]:
    """Return the groups of adjacent numbers that a vector handles: first number of each, and type of the vector."""
    found, first = [], 0
    while first < count:
        many = min(GROUP, 1 << ((count - first).bit_length() - 1))
        found.append((first, ir.VectorType(_NUMBER, many) if many > 1 else _NUMBER))
        first += many
    return found


def share_writer(
    weights: Sequence[float], apart: float, reach: float, coefficients: Sequence[float]
) -> Callable[..., None]:
    """Make a function for kernels that writes the shares of cells along three axes, for nodes on `LANES` segments.

    Shares are differences of the integral of a function of one coordinate. The function is cut off at a distance from
    its centre; there its integral is 0 and 1.

    Parameters
    ----------
    weights : sequence of float
        Weights of the nodes.
    apart : float
        Distance of two successive nodes, divided by the length of the segment.
    reach : float
        Distance from the centre at which the function is cut off.
    coefficients : sequence of float
        Coefficients of (integral - 1/2) / x, a polynomial of 2 (x / reach)^2 - 1 with the coordinate x.

    Returns
    -------
    function
        Its arguments:

        1. a flat array;
        2. the index of `PLACED` rows of `LANES` numbers in it: for each axis the distance from the beginning of the
           function about the middle node to the beginning of the first cell, for each axis the segment, both in units
           of cells, and a factor of all shares;
        3. the index at which shares are written, rows of `LANES`: cell after cell, then node after node, then axis
           after axis;
        4. the number of rows from one node to the next;
        5. the numbers of cells along the axes (3 int);
        6. a flat array of the lengths of cells along the axes.

        Indices are not checked.
    """
    nodes = len(weights)
    steps = [(node - (nodes - 1) / 2.0) * apart for node in range(nodes)]

    def plain(
        room: Floats, at: int, to: int, stride: int, counts: tuple[int, int, int], lengths: Floats
    ) -> None:  # pragma: no cover
        given = room[int(at) : int(at) + PLACED * LANES].reshape(PLACED, LANES).copy()
        for axis, node in product(range(3), range(nodes)):
            faces = given[axis] - steps[node] * given[3 + axis] + np.arange(int(counts[axis]) + 1)[:, None]
            x = faces * lengths[axis] - reach
            below = 0.5 + x * np.polynomial.polynomial.polyval(2.0 * (x / reach) ** 2 - 1.0, coefficients)
            below = np.where(x >= reach, 1.0, np.where(x <= -reach, 0.0, below))
            below[0], below[-1] = 0.0, 1.0
            share = np.diff(below, axis=0) * (weights[node] * given[6] if axis == 0 else 1.0)
            begin = int(to) + (axis * nodes + node) * int(stride) * LANES
            room[begin : begin + share.size] = share.ravel()

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room, lengths = (data_of(context, builder, signature, arguments, one) for one in (0, 5))
        rows = [
            _load(builder, room, builder.add(arguments[1], ir.Constant(_PLACE, LANES * row)), _WIDE)
            for row in range(PLACED)
        ]
        counts = cgutils.unpack_tuple(builder, arguments[4])
        code = _ShareCode(builder, room, reach, coefficients)
        for axis, count in enumerate(counts):
            length = _splat(builder, _load(builder, lengths, ir.Constant(_PLACE, axis), _NUMBER))
            for node, weight in enumerate(weights):
                away = builder.fmul(rows[3 + axis], _constant(-steps[node]), flags=_FUSED)
                face = builder.fmul(builder.fadd(rows[axis], away, flags=_FUSED), length)
                behind = builder.mul(arguments[3], ir.Constant(_PLACE, LANES * (axis * nodes + node)))
                factor = builder.fmul(rows[6], _constant(weight)) if axis == 0 else None
                code.write_node(
                    builder.fsub(face, _constant(reach)), length, count, builder.add(arguments[2], behind), factor
                )
        return context.get_dummy_value()

    def typed(context: Any, room: Any, at: Any, to: Any, stride: Any, counts: Any, lengths: Any) -> Any:
        whole = types.int64
        return types.void(room, whole, whole, whole, counts, lengths), generate

    return intrinsic_or_plain(typed, plain)


class _ShareCode:
    """Code of the function of `share_writer`."""

    def __init__(self, builder: Any, room: Any, reach: float, coefficients: Sequence[float]) -> None:
        self.builder, self.room, self.reach, self.coefficients = builder, room, reach, coefficients

    def write_node(self, first: Any, length: Any, count: Any, to: Any, factor: Any) -> None:
        """Append the shares of cells with faces at equal distances, from the beginning of the first cell on."""
        builder, one = self.builder, ir.Constant(_PLACE, 1)
        before = cgutils.alloca_once_value(builder, _constant(0.0))
        last = builder.sub(count, one)
        with cgutils.for_range(builder, last, intp=_PLACE) as loop:
            number = _splat(builder, builder.sitofp(builder.add(loop.index, one), _NUMBER))
            face = builder.fadd(builder.fmul(number, length, flags=_FUSED), first, flags=_FUSED)
            below = self.below(face)
            self.write(builder.fsub(below, builder.load(before)), factor, to, loop.index)
            builder.store(below, before)
        self.write(builder.fsub(_constant(1.0), builder.load(before)), factor, to, last)

    def write(self, share: Any, factor: Any, to: Any, row: Any) -> None:
        """Append the store of the shares of a cell."""
        builder = self.builder
        place = builder.add(to, builder.mul(row, ir.Constant(_PLACE, LANES)))
        share = share if factor is None else builder.fmul(share, factor)
        builder.store(share, address_of(builder, self.room, place, 0, _WIDE), align=_ALIGN)

    def below(self, place: Any) -> Any:
        """Return the integral up to a coordinate."""
        builder, reach = self.builder, self.reach
        squared = builder.fmul(builder.fmul(place, place), _constant(2.0 / reach**2), flags=_FUSED)
        variable = builder.fadd(squared, _constant(-1.0), flags=_FUSED)
        *others, value = (_constant(one) for one in self.coefficients)
        for one in reversed(others):
            value = builder.fadd(builder.fmul(value, variable, flags=_FUSED), one, flags=_FUSED)
        found = builder.fadd(builder.fmul(value, place, flags=_FUSED), _constant(0.5), flags=_FUSED)
        behind = builder.fcmp_ordered(">=", place, _constant(reach))
        found = builder.select(behind, _constant(1.0), found)
        return builder.select(builder.fcmp_ordered("<=", place, _constant(-reach)), _constant(0.0), found)


def box_writer(nodes: int) -> Callable[..., None]:
    """Make a function for kernels that writes the shares of the cells of boxes, for `LANES` segments.

    A share is a sum over `nodes` of products of three factors, one per axis.

    Parameters
    ----------
    nodes : int
        Number of products in a share.

    Returns
    -------
    function
        Its arguments: a flat array; the index of the factors in it, as `share_writer` writes them; the number of rows
        from one node to the next; the numbers of cells along the axes (3 int); the index at which the shares of the
        first cell are written; the distance to the shares of the next cell. Indices are not checked.
    """

    def plain(
        room: Floats, begin: int, stride: int, counts: tuple[int, int, int], to: int, behind: int
    ) -> None:  # pragma: no cover
        size = 3 * nodes * int(stride) * LANES
        factors = room[int(begin) : int(begin) + size].reshape(3, nodes, int(stride), LANES)
        across = [factors[axis, :, : int(many)] for axis, many in enumerate(counts)]
        box = np.einsum("niw,njw,nkw->ijkw", *across).reshape(-1, LANES)
        for number, shares in enumerate(box):
            place = int(to) + number * int(behind)
            room[place : place + LANES] = shares

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room = data_of(context, builder, signature, arguments, 0)
        begin, stride, counts, to, behind = arguments[1:]
        counts, lanes = cgutils.unpack_tuple(builder, counts), ir.Constant(_PLACE, LANES)
        apart = builder.mul(stride, lanes)
        rows = [builder.add(begin, builder.mul(apart, ir.Constant(_PLACE, one))) for one in range(3 * nodes)]

        def factors(axis: int, index: Any) -> list[Any]:
            begins = rows[axis * nodes : (axis + 1) * nodes]
            return [_load(builder, room, builder.add(one, builder.mul(index, lanes)), _WIDE) for one in begins]

        with cgutils.for_range(builder, counts[0], intp=_PLACE) as x:
            of_x, plane = factors(0, x.index), builder.mul(x.index, counts[1])
            with cgutils.for_range(builder, counts[1], intp=_PLACE) as y:
                products = [builder.fmul(*both) for both in zip(of_x, factors(1, y.index), strict=True)]
                line = builder.mul(builder.add(plane, y.index), counts[2])
                with cgutils.for_range(builder, counts[2], intp=_PLACE) as z:
                    place = builder.add(to, builder.mul(builder.add(line, z.index), behind))
                    share = _sum_of_products(builder, products, factors(2, z.index))
                    builder.store(share, address_of(builder, room, place, 0, _WIDE), align=_ALIGN)
        return context.get_dummy_value()

    def typed(context: Any, room: Any, begin: Any, stride: Any, counts: Any, to: Any, behind: Any) -> Any:
        whole = types.int64
        return types.void(room, whole, whole, counts, whole, whole), generate

    return intrinsic_or_plain(typed, plain)


def _sum_of_products(builder: Any, ones: list[Any], others: list[Any]) -> Any:
    total = builder.fmul(ones[0], others[0], flags=_FUSED)
    for one, other in zip(ones[1:], others[1:], strict=True):
        total = builder.fadd(builder.fmul(one, other, flags=_FUSED), total, flags=_FUSED)
    return total


def _behind(builder: Any, place: Any, number: int) -> Any:
    return builder.add(place, ir.Constant(_PLACE, number))


def _whole(kind: Any) -> Any:
    """Return the type of whole numbers with the same number of lanes."""
    return ir.VectorType(_PLACE, kind.count) if isinstance(kind, ir.VectorType) else _PLACE


def _constant(number: float, kind: Any = _WIDE) -> Any:
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def _load(builder: Any, data: Any, place: Any, kind: Any) -> Any:
    return builder.load(address_of(builder, data, place, 0, kind), align=_ALIGN)


def _splat(builder: Any, number: Any, kind: Any = _WIDE) -> Any:
    """Return a vector with one number in all lanes, or the number itself if the type is no vector."""
    if not isinstance(kind, ir.VectorType):
        return number
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_LANE, kind.count), [0] * kind.count))
