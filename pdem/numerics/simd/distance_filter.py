"""Selection of the spheres near a point, `LANES` at a time: vector code that appends them to a list.

Most spheres that a neighbour search tests are not near. A branch for each would be predicted wrongly for all near ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.numba_private import UniTuple, cgutils, intrinsic_or_plain, ir, types
from pdem.numerics.simd.transposition import LANES, address_of, compressed, data_of, lanes_below, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Triple = tuple[float, float, float]

COORDINATES = 4
"""Columns of a sphere: centre (3) and reach."""

_NUMBER, _PLACE, _INDEX, _BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)
_VALUES, _INDICES, _FLAGS = (ir.VectorType(kind, LANES) for kind in (_NUMBER, _INDEX, _BIT))
_MASK = ir.IntType(LANES)


def _plain_mask(
    spheres: NDArray[Any], first: Any, count: int, centre: Triple, reach: float, slack: float, spans: Triple
) -> int:
    room, mask = len(spheres) // COORDINATES, 0
    for lane in range(min(count, LANES)):
        squared, at = 0.0, int(first) + lane
        for axis in range(3):
            apart = abs(spheres[axis * room + at] - centre[axis])
            squared += min(apart, spans[axis] - apart) ** 2
        limit = (spheres[3 * room + at] + reach) * slack
        mask |= int(squared <= limit * limit) << lane
    return mask


def _generate_mask(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = data_of(context, builder, signature, arguments, 0)
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    room = builder.udiv(array.nitems, _PLACE(COORDINATES))
    _, first, count, centre, reach, slack, spans = arguments

    def column(number: int) -> Any:
        place = builder.add(builder.mul(room, _PLACE(number)), first)
        return builder.load(address_of(builder, data, place, 0, _VALUES), align=8)

    absolute = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VALUES, [_VALUES]), f"llvm.fabs.v{LANES}f64"
    )
    squared = None
    for axis in range(3):
        here, span = (spread(builder, builder.extract_value(vector, axis), LANES) for vector in (centre, spans))
        apart = builder.call(absolute, [builder.fsub(column(axis), here)])
        other = builder.fsub(span, apart)
        nearest = builder.select(builder.fcmp_ordered("<", other, apart), other, apart)
        square = builder.fmul(nearest, nearest)
        squared = square if squared is None else builder.fadd(squared, square)
    limit = builder.fmul(builder.fadd(column(3), spread(builder, reach, LANES)), spread(builder, slack, LANES))
    near = builder.fcmp_ordered("<=", squared, builder.fmul(limit, limit))
    counted = lanes_below(builder, count, LANES)
    return builder.zext(builder.bitcast(builder.and_(near, counted), _MASK), _PLACE)


def _typed_mask(
    context: Any, spheres: Any, first: Any, count: Any, centre: Any, reach: Any, slack: Any, spans: Any
) -> Any:
    number, three = types.float64, UniTuple(types.float64, 3)
    return types.int64(spheres, types.uint64, types.int64, three, number, number, three), _generate_mask


distance_filter = intrinsic_or_plain(_typed_mask, _plain_mask)
"""Function for kernels that returns a bit mask of the spheres near a given sphere; the lowest bit is the first one.

Parameters
----------
spheres : array
    Flat array: columns of `COORDINATES` numbers, with room for `LANES` more after the last sphere.
first, count : int
    First sphere to test, and how many spheres to test, limited to `LANES`.
centre, reach : tuple of three float, float
    Centre and reach of the given sphere [m]. Spheres are near if their distance is at most the sum of both reaches.
slack : float
    Factor on this sum.
spans : tuple of three float
    Period of space along each axis [m]; infinite along axes that are not periodic.
"""


def _plain_append(
    numbers: NDArray[Any], first: Any, mask: int, own: int, pairs: tuple[NDArray[Any], NDArray[Any]], at: Any
) -> None:
    for lane in range(LANES):
        if mask >> lane & 1:
            pairs[0][int(at)], pairs[1][int(at)] = own, numbers[int(first) + lane]
            at += 1


def _generate_append(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    numbers = data_of(context, builder, signature, arguments, 0)
    _, first, mask, own, pairs, at = arguments
    one, other = (
        context.make_array(kind)(context, builder, builder.extract_value(pairs, k)).data
        for k, kind in enumerate(signature.args[4])
    )
    flags = builder.bitcast(builder.trunc(mask, _MASK), _FLAGS)
    found = builder.load(address_of(builder, numbers, first, 0, _INDICES), align=4)
    packed = compressed(builder, found, flags)
    builder.store(spread(builder, own, LANES), address_of(builder, one, at, 0, _INDICES), align=4)
    builder.store(packed, address_of(builder, other, at, 0, _INDICES), align=4)
    return context.get_dummy_value()


def _typed_append(context: Any, numbers: Any, first: Any, mask: Any, own: Any, pairs: Any, at: Any) -> Any:
    kind = types.void(numbers, types.uint64, types.int64, types.int32, pairs, types.uint64)
    return kind, _generate_append


append_lanes = intrinsic_or_plain(_typed_append, _plain_append)
"""Function for kernels that writes pairs of one particle with the particles of a bit mask.

Parameters
----------
numbers : int32 array
    Numbers of the particles, with room for `LANES` more after the last one.
first : int
    Index of the particle of the lowest bit.
mask : int
    Mask of the particles to pair.
own : int32
    The first particle of each pair.
pairs : (array, array)
    Both particles of pairs, int32.
at : int
    Index of the first output. From there on, `LANES` entries may be written.
"""


def _generate_count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ctpop(arguments[0])


def _typed_count(context: Any, mask: Any) -> Any:
    return types.int64(types.int64), _generate_count


bit_count = intrinsic_or_plain(_typed_count, np.bitwise_count)
"""Function for kernels that returns the number of set bits of a whole number."""
