"""Shares of numbers, four at a time: rows of polynomials of one variable, and sums in whole quanta.

Loops as short as these a compiler does not turn into vector code, because arrays might overlap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
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
        magic, bits = ir.Constant(_FOUR, [_MAGIC] * LANES), ir.Constant(_WHOLE, [_MAGIC_BITS] * LANES)
        columns = range(0, count, LANES)
        own = [
            builder.load(address_of(builder, numbers, arguments[3], column, _FOUR), align=_ALIGN)
            for column in columns
        ]
        with cgutils.for_range(builder, arguments[6], intp=_PLACE) as loop:
            place = builder.add(arguments[5], loop.index)
            share = _splat(builder, builder.load(address_of(builder, shares, place, 0, _NUMBER)))
            row = builder.add(arguments[1], builder.mul(loop.index, ir.Constant(_PLACE, count)))
            for column, mine in zip(columns, own, strict=True):
                shifted = builder.fadd(builder.fmul(share, mine, flags=_FUSED), magic, flags=_FUSED)
                whole = builder.sub(builder.bitcast(shifted, _WHOLE), bits)
                target = address_of(builder, sums, row, column, _WHOLE)
                builder.store(builder.add(builder.load(target, align=_ALIGN), whole), target, align=_ALIGN)
        return context.get_dummy_value()

    def typed(
        context: Any, sums: Any, at: Any, numbers: Any, place: Any, shares: Any, begin: Any, rows: Any
    ) -> Any:
        places = types.uint64, types.uint64
        return types.void(sums, types.uint64, numbers, types.uint64, shares, *places), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


def mixed_row(count: int) -> Callable[..., None]:
    """Make a function for kernels that adds up `count` rows of `LANES` numbers, each times two factors.

    Returns
    -------
    function
        Of a flat array, where the first of the first factors, of the second factors and of the rows stand in it, how
        far behind each of them the next one stands, and where the sum is written to. Places are not checked.
    """

    def plain(
        room: NDArray[Any], one: int, other: int, rows: int, stride: int, to: int
    ) -> None:  # pragma: no cover
        for lane in range(LANES):
            total = 0.0
            for node in range(count):
                behind = node * int(stride)
                total += room[int(one) + behind] * room[int(other) + behind] * room[int(rows) + behind + lane]
            room[int(to) + lane] = total

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room, total = data_of(context, builder, signature, arguments, 0), ir.Constant(_FOUR, [0.0] * LANES)
        for node in range(count):
            behind = builder.mul(arguments[4], ir.Constant(_PLACE, node))
            one, other, row = (
                builder.load(
                    address_of(builder, room, builder.add(arguments[place], behind), 0, kind), align=_ALIGN
                )
                for place, kind in ((1, _NUMBER), (2, _NUMBER), (3, _FOUR))
            )
            factor = _splat(builder, builder.fmul(one, other))
            total = builder.fadd(builder.fmul(factor, row, flags=_FUSED), total, flags=_FUSED)
        builder.store(total, address_of(builder, room, arguments[5], 0, _FOUR), align=_ALIGN)
        return context.get_dummy_value()

    def typed(context: Any, room: Any, one: Any, other: Any, rows: Any, stride: Any, to: Any) -> Any:
        return types.void(room, *[types.uint64] * 5), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)


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
