"""Shares of numbers, four at a time: rows of polynomials of one variable, and sums in whole quanta.

Loops as short as these a compiler does not turn into vector code, because arrays might overlap.
"""

from __future__ import annotations

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


def line_adder(count: int) -> Callable[..., None]:
    """Make a function for kernels that adds shares of a row of numbers to successive rows of sums, in whole quanta.

    Parameters
    ----------
    count : int
        Numbers of a row, a multiple of `LANES`.

    Returns
    -------
    function
        Of the flat int64 array of sums, where its first row begins, the flat array of numbers, where a row begins in
        that, the flat array of shares, where they begin in it, and how many there are. Numbers are in quanta, and
        smaller than `LARGEST`. Places are not checked.
    """

    def plain(
        sums: NDArray[Any], at: int, numbers: NDArray[Any], place: int, shares: NDArray[Any], begin: int, rows: int
    ) -> None:  # pragma: no cover  # fmt: skip
        for row in range(int(rows)):
            for column in range(count):
                share = shares[int(begin) + row] * numbers[int(place) + column]
                sums[int(at) + count * row + column] += round(share)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, numbers, shares = (data_of(context, builder, signature, arguments, one) for one in (0, 2, 4))
        columns = range(0, count, LANES)
        own = [
            builder.load(address_of(builder, numbers, arguments[3], column, _FOUR), align=_ALIGN)
            for column in columns
        ]
        _add_line(builder, (sums, arguments[1]), own, (shares, arguments[5]), arguments[6])
        return context.get_dummy_value()

    def typed(
        context: Any, sums: Any, at: Any, numbers: Any, place: Any, shares: Any, begin: Any, rows: Any
    ) -> Any:
        places = types.uint64, types.uint64
        return types.void(sums, types.uint64, numbers, types.uint64, shares, *places), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def box_adder(nodes: int, count: int) -> Callable[..., None]:
    """Make a function for kernels that adds a row of numbers to a box of rows of sums, in whole quanta.

    The share of a row is a sum over `nodes` places of products of three factors, one for each axis.

    Parameters
    ----------
    nodes : int
        Products of a share.
    count : int
        Numbers of a row, a multiple of `LANES`.

    Returns
    -------
    function
        Of a flat array, where the factors along x, y and z of the first place stand in it (3 int), how far behind each
        of them those of the next place stand, how many rows there are along each axis (3 int); the flat array of
        numbers, and where they begin in it; the flat int64 array of sums, where the first row begins in it, and how
        far behind it those of the next x and of the next y begin (2 int). Rows along z follow one another. The begin
        of the first array is written to; factors along z are read to the end of a vector of `LANES`. Places are not
        checked.
    """

    def plain(
        room: NDArray[Any], begins: tuple[int, int, int], stride: int, many: tuple[int, int, int],
        numbers: NDArray[Any], place: int, sums: NDArray[Any], at: int, steps: tuple[int, int],
    ) -> None:  # pragma: no cover  # fmt: skip
        own, (x, y, z), (plane, line) = numbers[int(place) : int(place) + count], begins, steps
        behind = int(stride) * np.arange(nodes)
        for i, j, k in np.ndindex(*many):
            share = (room[x + i + behind] * room[y + j + behind] * room[z + k + behind]).sum()
            row = int(at) + plane * i + line * j + count * k
            sums[row : row + count] += np.rint(share * own).astype(np.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room, numbers, sums = (data_of(context, builder, signature, arguments, one) for one in (0, 4, 6))
        begins, many, steps = (cgutils.unpack_tuple(builder, arguments[one]) for one in (1, 3, 8))
        stride, columns = arguments[2], range(0, count, LANES)
        behind = [builder.mul(stride, ir.Constant(_PLACE, node)) for node in range(nodes)]
        own = [
            builder.load(address_of(builder, numbers, arguments[5], column, _FOUR), align=_ALIGN)
            for column in columns
        ]

        def factors(axis: int, index: Any) -> list[Any]:
            begin = builder.add(begins[axis], index)
            places = (builder.add(begin, one) for one in behind)
            return [
                _splat(builder, builder.load(address_of(builder, room, one, 0, _NUMBER))) for one in places
            ]

        with cgutils.for_range(builder, many[0], intp=_PLACE) as along_x:
            of_plane = factors(0, along_x.index)
            first = builder.add(arguments[7], builder.mul(steps[0], along_x.index))
            with cgutils.for_range(builder, many[1], intp=_PLACE) as along_y:
                of_row = factors(1, along_y.index)
                of_line = [builder.fmul(one, other) for one, other in zip(of_plane, of_row, strict=True)]
                _write_line(builder, room, begins[2], behind, many[2], of_line)
                row = builder.add(first, builder.mul(steps[1], along_y.index))
                _add_line(builder, (sums, row), own, (room, ir.Constant(_PLACE, 0)), many[2])
        return context.get_dummy_value()

    def typed(
        context: Any, room: Any, begins: Any, stride: Any, many: Any, numbers: Any, place: Any, sums: Any, at: Any,
        steps: Any,
    ) -> Any:  # fmt: skip
        whole = types.int64
        return types.void(room, begins, whole, many, numbers, whole, sums, whole, steps), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def _write_line(
    builder: Any, room: Any, begin: Any, behind: list[Any], many: Any, factors: list[Any]
) -> None:
    """Write the shares of a line of rows to the begin of the room: sums of rows of the room times factors."""
    lanes = ir.Constant(_PLACE, LANES)
    vectors = builder.udiv(builder.add(many, ir.Constant(_PLACE, LANES - 1)), lanes)
    with cgutils.for_range(builder, vectors, intp=_PLACE) as along:
        lane, total = builder.mul(along.index, lanes), ir.Constant(_FOUR, [0.0] * LANES)
        for node, factor in zip(behind, factors, strict=True):
            place = builder.add(builder.add(begin, lane), node)
            here = builder.load(address_of(builder, room, place, 0, _FOUR), align=_ALIGN)
            total = builder.fadd(builder.fmul(factor, here, flags=_FUSED), total, flags=_FUSED)
        builder.store(total, address_of(builder, room, lane, 0, _FOUR), align=_ALIGN)


def _add_line(
    builder: Any, sums: tuple[Any, Any], own: list[Any], shares: tuple[Any, Any], many: Any
) -> None:
    """Add numbers in vectors, times shares, to successive rows of sums; both are arrays and places in them."""
    magic, bits = ir.Constant(_FOUR, [_MAGIC] * LANES), ir.Constant(_WHOLE, [_MAGIC_BITS] * LANES)
    with cgutils.for_range(builder, many, intp=_PLACE) as loop:
        place = builder.add(shares[1], loop.index)
        share = _splat(builder, builder.load(address_of(builder, shares[0], place, 0, _NUMBER)))
        row = builder.add(sums[1], builder.mul(loop.index, ir.Constant(_PLACE, LANES * len(own))))
        for column, mine in enumerate(own):
            shifted = builder.fadd(builder.fmul(share, mine, flags=_FUSED), magic, flags=_FUSED)
            whole = builder.sub(builder.bitcast(shifted, _WHOLE), bits)
            target = address_of(builder, sums[0], row, LANES * column, _WHOLE)
            builder.store(builder.add(builder.load(target, align=_ALIGN), whole), target, align=_ALIGN)


def cubic_row() -> Callable[..., None]:
    """Make a function for kernels that evaluates `LANES` polynomials of the third degree of one variable.

    Returns
    -------
    function
        Of a flat array, where the constants of these polynomials stand in it, how far behind them the coefficients of
        the next power stand, the variable, a factor of the values, another flat array, and where they begin in that.
    """

    def plain(
        table: NDArray[Any],
        at: int,
        width: int,
        variable: float,
        factor: float,
        values: NDArray[Any],
        to: int,
    ) -> None:  # pragma: no cover
        for lane in range(LANES):
            one, two, three, four = (
                float(table[int(at) + int(width) * power + lane]) for power in range(POWERS)
            )
            values[int(to) + lane] = factor * (((four * variable + three) * variable + two) * variable + one)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, values = (data_of(context, builder, signature, arguments, number) for number in (0, 5))
        variable = _splat(builder, arguments[3])

        def coefficients(power: int) -> Any:
            place = builder.add(arguments[1], builder.mul(arguments[2], ir.Constant(_PLACE, power)))
            return builder.load(address_of(builder, table, place, 0, _FOUR), align=_ALIGN)

        value = coefficients(3)
        for power in (2, 1, 0):
            product = builder.fmul(value, variable, flags=_FUSED)
            value = builder.fadd(product, coefficients(power), flags=_FUSED)
        value = builder.fmul(value, _splat(builder, arguments[4]))
        builder.store(value, address_of(builder, values, arguments[6], 0, _FOUR), align=_ALIGN)
        return context.get_dummy_value()

    def typed(
        context: Any, table: Any, at: Any, width: Any, variable: Any, factor: Any, values: Any, to: Any
    ) -> Any:
        places = types.uint64, types.uint64
        return types.void(table, *places, types.float64, types.float64, values, types.uint64), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def _splat(builder: Any, number: Any) -> Any:
    """Return a vector of `LANES` times one number."""
    undefined = ir.Constant(_FOUR, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))
