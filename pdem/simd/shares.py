"""Shares of numbers, four at a time: rows of polynomials of one variable, and sums in whole quanta.

Loops as short as these a compiler does not turn into vector code, because arrays might overlap.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from pdem.simd.transposition import address_of, data_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LANES = 4
"""Numbers that are handled at a time."""

POWERS = 4
"""Coefficients of a polynomial of the third degree."""

LARGEST = 2.0**50
"""Shares that are added up in whole quanta have to be smaller than this many quanta."""

_MAGIC = 1.5 * 2.0**52
"""Added to a number of quanta it leaves the nearest whole number in the low bits."""

_MAGIC_BITS = 0x4338000000000000
_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_FOUR, _WHOLE = ir.VectorType(_NUMBER, LANES), ir.VectorType(_PLACE, LANES)
_ALIGN = 8
_FUSED = ("contract",)


def list_adder(count: int) -> Callable[..., None]:
    """Make a function for kernels that adds shares of a row of numbers to a list of rows of sums, in whole quanta.

    Parameters
    ----------
    count : int
        Numbers of a row, a multiple of `LANES`.

    Returns
    -------
    function
        Of the flat array of numbers, where a row begins in it, how many quanta make a unit of each; the flat array of
        shares, where they begin in it, a flat int64 array that says for each share where a row of sums begins, where it
        begins in that, how many there are, and the flat int64 array of sums. Numbers are smaller than `LARGEST` quanta.
        Places are not checked.
    """

    def plain(
        numbers: NDArray[Any], place: int, units: NDArray[Any], shares: NDArray[Any], begin: int, rows: NDArray[Any],
        first: int, many: int, sums: NDArray[Any],
    ) -> None:  # pragma: no cover  # fmt: skip
        own = numbers[int(place) : int(place) + count] * units
        for number in range(int(many)):
            row = int(rows[int(first) + number])
            sums[row : row + count] += np.rint(shares[int(begin) + number] * own).astype(np.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, units, shares, rows, sums = (
            data_of(context, builder, signature, arguments, one) for one in (0, 2, 3, 5, 8)
        )
        zero, columns = ir.Constant(_PLACE, 0), range(0, count, LANES)
        own = [
            builder.fmul(*(_four(builder, *one, column) for one in ((numbers, arguments[1]), (units, zero))))
            for column in columns
        ]
        magic = ir.Constant(_FOUR, [_MAGIC] * LANES)
        bits = ir.Constant(_WHOLE, [_MAGIC_BITS] * LANES)
        with cgutils.for_range(builder, arguments[7], intp=_PLACE) as loop:
            place, number = (builder.add(begin, loop.index) for begin in (arguments[4], arguments[6]))
            share = _splat(builder, builder.load(address_of(builder, shares, place, 0, _NUMBER)))
            row = builder.load(address_of(builder, rows, number, 0, _PLACE))
            for column, mine in enumerate(own):
                shifted = builder.fadd(builder.fmul(share, mine, flags=_FUSED), magic, flags=_FUSED)
                whole = builder.sub(builder.bitcast(shifted, _WHOLE), bits)
                target = address_of(builder, sums, row, LANES * column, _WHOLE)
                builder.store(builder.add(builder.load(target, align=_ALIGN), whole), target, align=_ALIGN)
        return context.get_dummy_value()

    def typed(
        context: Any, numbers: Any, place: Any, units: Any, shares: Any, begin: Any, rows: Any, first: Any, many: Any,
        sums: Any,
    ) -> Any:  # fmt: skip
        whole = types.int64
        return types.void(numbers, whole, units, shares, whole, rows, whole, whole, sums), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def box_lister(nodes: int) -> Callable[..., int]:
    """Make a function for kernels that lists the cells of a box: what share each has, and where its sums are.

    A share is a sum over `nodes` of products of three factors, one for each axis.

    Parameters
    ----------
    nodes : int
        Products of a share.

    Returns
    -------
    function
        Of a flat array, where the factors along the axes stand in it for the first node (3 int), how far behind each of
        them those of the next node stand, how many cells there are along each axis (3 int); a flat int64 array of
        places, where those along the axes stand in it (3 int), what is added to the sum of three of them; the flat
        int64 array that places are written to, and where shares and places are written: shares into the first array.
        Returns where both end. Cells along z follow one another, then those along y; lines without a share are left
        out. Factors are not negative, and there are no more along z than from one node to the next.
        What stands behind factors, shares and places is read and written to the end of two vectors of `LANES`. Places
        are not checked.
    """

    def plain(
        room: NDArray[Any], begins: tuple[int, int, int], stride: int, many: tuple[int, int, int], rows: NDArray[Any],
        firsts: tuple[int, int, int], target: int, places: NDArray[Any], to: int,
    ) -> int:  # pragma: no cover  # fmt: skip
        behind, (x, y, z), (u, v, w) = int(stride) * np.arange(nodes), begins, firsts
        for i, j in np.ndindex(*many[:2]):
            products = room[x + i + behind] * room[y + j + behind]
            for k in range(many[2] if products.any() else 0):
                room[to] = (products * room[z + k + behind]).sum()
                places[to] = target + rows[u + i] + rows[v + j] + rows[w + k]
                to += 1
        return to

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays = [data_of(context, builder, signature, arguments, one) for one in (0, 4, 7)]
        return _BoxCode(builder, arrays, arguments, nodes).generate()

    def typed(
        context: Any, room: Any, begins: Any, stride: Any, many: Any, rows: Any, firsts: Any, target: Any, places: Any,
        to: Any,
    ) -> Any:  # fmt: skip
        whole = types.int64
        return whole(room, begins, whole, many, rows, firsts, whole, places, whole), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


class _BoxCode:
    """Code of the function of `box_lister`: its arrays (room, rows, places), and its arguments."""

    def __init__(self, builder: Any, arrays: list[Any], arguments: Any, nodes: int) -> None:
        self.builder, self.arrays, self.stride, self.target = builder, arrays, arguments[2], arguments[6]
        self.begins, self.many, self.firsts = (
            cgutils.unpack_tuple(builder, arguments[one]) for one in (1, 3, 5)
        )
        self.behind = [builder.mul(self.stride, ir.Constant(_PLACE, node)) for node in range(nodes)]
        self.to = cgutils.alloca_once_value(builder, arguments[8])

    def generate(self) -> Any:
        """Append all lines; return where they end."""
        builder = self.builder
        with builder.if_else(_is(builder, self.stride, LANES)) as (one, more):
            with one:
                self.add_short_lines(1)
            with more, builder.if_else(_is(builder, self.stride, 2 * LANES)) as (two, others):
                with two:
                    self.add_short_lines(2)
                with others:
                    self.add_lines(self.write_long_line)
        return builder.load(self.to)

    def add_lines(self, write_line: Callable[[list[Any], Any, Any], None]) -> None:
        """Append line after line; `write_line` takes its factors, where it begins, and where it is written."""
        builder, none = self.builder, ir.Constant(_PLACE, 0)
        with cgutils.for_range(builder, self.many[0], intp=_PLACE) as x:
            of_x, plane = self.factors(0, x.index), builder.add(self.target, self.row(0, x.index))
            with cgutils.for_range(builder, self.many[1], intp=_PLACE) as y:
                of_y = self.factors(1, y.index)
                products = [builder.fmul(one, other) for one, other in zip(of_x, of_y, strict=True)]
                line, to = builder.add(plane, self.row(1, y.index)), builder.load(self.to)
                write_line(products, _splat_whole(builder, line), to)
                length = builder.select(_any(builder, products), self.many[2], none)
                builder.store(builder.add(to, length), self.to)

    def add_short_lines(self, vectors: int) -> None:
        """Append lines that are so short that all factors and places along z are held while they are written."""
        lanes = [ir.Constant(_PLACE, LANES * vector) for vector in range(vectors)]
        held = [self.along_z(lane) for lane in lanes]

        def write_line(products: list[Any], more: Any, to: Any) -> None:
            for lane, cells in zip(lanes, held, strict=True):
                self.write_cells(products, cells, more, self.builder.add(to, lane))

        self.add_lines(write_line)

    def write_long_line(self, products: list[Any], more: Any, to: Any) -> None:
        """Write a line, vector after vector."""
        builder, lanes = self.builder, ir.Constant(_PLACE, LANES)
        vectors = builder.udiv(builder.add(self.many[2], ir.Constant(_PLACE, LANES - 1)), lanes)
        with cgutils.for_range(builder, vectors, intp=_PLACE) as z:
            lane = builder.mul(z.index, lanes)
            self.write_cells(products, self.along_z(lane), more, builder.add(to, lane))

    def write_cells(self, products: list[Any], cells: tuple[list[Any], Any], more: Any, to: Any) -> None:
        """Write shares and places of some cells of a line."""
        builder, (room, _, places), total = self.builder, self.arrays, None
        for factor, share in zip(products, cells[0], strict=True):
            product = builder.fmul(factor, share, flags=_FUSED)
            total = product if total is None else builder.fadd(product, total, flags=_FUSED)
        builder.store(total, address_of(builder, room, to, 0, _FOUR), align=_ALIGN)
        builder.store(builder.add(cells[1], more), address_of(builder, places, to, 0, _WHOLE), align=_ALIGN)

    def factors(self, axis: int, index: Any) -> list[Any]:
        """Return the factors of a plane or line, one for each node."""
        begin = self.builder.add(self.begins[axis], index)
        places = (self.builder.add(begin, one) for one in self.behind)
        return [_splat(self.builder, _number(self.builder, self.arrays[0], one)) for one in places]

    def row(self, axis: int, index: Any) -> Any:
        """Return where the sums of a plane or line begin."""
        return _number(self.builder, self.arrays[1], self.builder.add(self.firsts[axis], index), _PLACE)

    def along_z(self, lane: Any) -> tuple[list[Any], Any]:
        """Return factors, one for each node, and places of some cells of each line."""
        builder, begin = self.builder, self.builder.add(self.begins[2], lane)
        shares = [_four(builder, self.arrays[0], builder.add(begin, one)) for one in self.behind]
        return shares, _four(builder, self.arrays[1], builder.add(self.firsts[2], lane), kind=_WHOLE)


def share_writer(weights: tuple[float, ...], apart: float) -> Callable[..., None]:
    """Make a function for kernels that writes the shares of cells along three axes for the nodes of a way.

    Shares are polynomials of the third degree of the place in an interval of a cell, from a table.

    Parameters
    ----------
    weights : tuple of float
        Of the nodes.
    apart : float
        Distance of two successive nodes, over the length of the way.

    Returns
    -------
    function
        Of the place in the middle of the nodes, and of the way (3 float each), both in units of cells, and a factor of
        all shares; the first cells that shares are written of (3 float); the flat array of the table, the flat array
        of the numbers of intervals in a cell, four numbers, and of the places in the table at which the cell of a place
        stands, four more; how far one power is behind another in the table; how many vectors of
        `LANES` shares are written of each node; and the flat array that they are written to: node after node, and so
        axis after axis. Places are not checked.
    """
    nodes = len(weights)
    steps_from_middle = [(node - (nodes - 1) / 2.0) * apart for node in range(nodes)]

    def plain(
        middle: tuple[float, float, float], way: tuple[float, float, float], factor: float,
        firsts: tuple[float, float, float], table: NDArray[Any], axes: NDArray[Any], width: int, vectors: int,
        room: NDArray[Any],
    ) -> None:  # pragma: no cover  # fmt: skip
        many, steps, begins = LANES * int(vectors), axes[:LANES], axes[LANES:]
        for axis, (node, weight) in product(range(3), enumerate(weights)):
            place = middle[axis] + steps_from_middle[node] * way[axis]
            interval = (place - np.floor(place)) * steps[axis]
            number = min(np.floor(interval), steps[axis] - 1.0)
            at = int(begins[axis] + POWERS * width * number + firsts[axis] - np.floor(place)) + np.arange(
                many
            )
            one, two, three, four = (table[at + int(width) * power] for power in range(POWERS))
            u, scale = interval - number, factor * weight if axis == 0 else 1.0
            to = (axis * nodes + node) * many
            room[to : to + many] = scale * (((four * u + three) * u + two) * u + one)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, axes, room = (data_of(context, builder, signature, arguments, one) for one in (4, 5, 8))
        vectors_of = (_axes(builder, cgutils.unpack_tuple(builder, arguments[one])) for one in (0, 1, 3))
        (middle, way, firsts), width, vectors = vectors_of, arguments[6], arguments[7]
        places = (
            builder.fadd(middle, builder.fmul(way, _constant(step), flags=_FUSED), flags=_FUSED)
            for step in steps_from_middle
        )
        found = [_intervals(builder, place, firsts, axes, width) for place in places]
        with cgutils.for_range(builder, vectors, intp=_PLACE) as loop:
            lane = builder.mul(loop.index, ir.Constant(_PLACE, LANES))
            for axis in range(3):
                for node, (at, variable) in enumerate(found):
                    which = ir.Constant(_LANE, axis)
                    begin = builder.fptosi(builder.extract_element(at, which), _PLACE)
                    u = _splat(builder, builder.extract_element(variable, which))
                    value = _cubic(builder, table, builder.add(begin, lane), width, u)
                    if axis == 0:
                        scale = builder.fmul(arguments[2], ir.Constant(_NUMBER, weights[node]))
                        value = builder.fmul(value, _splat(builder, scale))
                    many = builder.mul(vectors, ir.Constant(_PLACE, LANES * (axis * nodes + node)))
                    to = builder.add(many, lane)
                    builder.store(value, address_of(builder, room, to, 0, _FOUR), align=_ALIGN)
        return context.get_dummy_value()

    def typed(
        context: Any, middle: Any, way: Any, factor: Any, firsts: Any, table: Any, axes: Any, width: Any, vectors: Any,
        room: Any,
    ) -> Any:  # fmt: skip
        number, whole = types.float64, types.int64
        return types.void(middle, way, number, firsts, table, axes, whole, whole, room), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def _intervals(builder: Any, place: Any, firsts: Any, axes: Any, width: Any) -> tuple[Any, Any]:
    """Return where the polynomials of the first cells stand in a table, and their variable, axis by axis."""
    zero, powers = ir.Constant(_PLACE, 0), builder.mul(width, ir.Constant(_PLACE, POWERS))
    steps, begins, cell = (
        _four(builder, axes, zero),
        _four(builder, axes, zero, LANES),
        _floor(builder, place),
    )
    interval, last = builder.fmul(builder.fsub(place, cell), steps), builder.fsub(steps, _constant(1.0))
    number = _floor(builder, interval)
    number = builder.select(builder.fcmp_ordered("<", number, last), number, last)
    behind = builder.fmul(number, _splat(builder, builder.sitofp(powers, _NUMBER)))
    first = builder.fsub(builder.fadd(begins, firsts), cell)
    return builder.fadd(first, behind), builder.fsub(interval, number)


def _cubic(builder: Any, table: Any, at: Any, width: Any, variable: Any) -> Any:
    """Return the values of `LANES` polynomials of the third degree."""
    coefficients = [
        _four(builder, table, builder.add(at, builder.mul(width, ir.Constant(_PLACE, power))))
        for power in range(POWERS)
    ]
    value = coefficients.pop()
    while coefficients:
        product = builder.fmul(value, variable, flags=_FUSED)
        value = builder.fadd(product, coefficients.pop(), flags=_FUSED)
    return value


def _axes(builder: Any, numbers: list[Any]) -> Any:
    """Return a vector of three numbers, and 0."""
    found = _constant(0.0)
    for axis, number in enumerate(numbers):
        found = builder.insert_element(found, number, ir.Constant(_LANE, axis))
    return found


def _constant(number: float) -> Any:
    return ir.Constant(_FOUR, [number] * LANES)


def _floor(builder: Any, value: Any) -> Any:
    kind = ir.FunctionType(_FOUR, [_FOUR])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.floor.v4f64"), [value])


def _any(builder: Any, products: list[Any]) -> Any:
    """Return whether any of some vectors of one number each, which are not negative, is not 0."""
    total = products[0]
    for one in products[1:]:
        total = builder.fadd(total, one)
    first = builder.extract_element(total, ir.Constant(_LANE, 0))
    return builder.fcmp_ordered("!=", first, ir.Constant(_NUMBER, 0.0))


def _is(builder: Any, whole: Any, number: int) -> Any:
    return builder.icmp_signed("==", whole, ir.Constant(_PLACE, number))


def _number(builder: Any, data: Any, place: Any, kind: Any = _NUMBER) -> Any:
    return builder.load(address_of(builder, data, place, 0, kind))


def _four(builder: Any, data: Any, place: Any, behind: int = 0, kind: Any = _FOUR) -> Any:
    return builder.load(address_of(builder, data, place, behind, kind), align=_ALIGN)


def _splat(builder: Any, number: Any) -> Any:
    """Return a vector of `LANES` times one number."""
    undefined = ir.Constant(_FOUR, ir.Undefined)
    return _spread(builder, undefined, number)


def _splat_whole(builder: Any, number: Any) -> Any:
    """Return a vector of `LANES` times one whole number."""
    return _spread(builder, ir.Constant(_WHOLE, ir.Undefined), number)


def _spread(builder: Any, undefined: Any, number: Any) -> Any:
    first = builder.insert_element(undefined, number, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))
