"""The sum of what a particle's contacts do to it, three numbers at once.

A compiler adds up force and torque of a contact in six additions of one number. Here both are vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import UniTuple
from numba.extending import intrinsic

from pdem.simd.transposition import address_of, data_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_FOUR = ir.VectorType(_NUMBER, 4)
_HALF = 3
_ARRAYS = 2


def row_sum(width: int) -> Callable[..., tuple[float, ...]]:
    """Make a function for kernels that adds up the forces and torques of the contacts of one particle.

    Parameters
    ----------
    width : int
        From one row to the next; a row begins with force and torque. A vector has four numbers: one more is read behind
        the last row.

    Returns
    -------
    function
        Of the list of rows that act on each particle, all rows, the first place of the list to be added and the one
        behind the last. It returns force and torque, six numbers, added in this order. Arrays are flat; the list has
        int32, not negative.
    """

    def plain(listed: NDArray[Any], rows: NDArray[Any], begin: int, end: int) -> tuple[float, ...]:
        total = [0.0] * (2 * _HALF)
        for row in listed[begin:end]:
            for axis in range(2 * _HALF):
                total[axis] += rows[width * int(row) + axis]
        return tuple(total)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        listed, rows = (data_of(context, builder, signature, arguments, k) for k in range(_ARRAYS))
        begin, end = arguments[_ARRAYS:]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(_FOUR, [0.0] * 4)) for _ in range(2)]
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(_PLACE, 1), intp=_PLACE) as (place, _):
            number = builder.zext(builder.load(builder.gep(listed, [place])), _PLACE)
            row = builder.mul(number, _PLACE(width))
            for half, one in enumerate(sums):
                value = builder.load(address_of(builder, rows, row, _HALF * half, _FOUR), align=8)
                builder.store(builder.fadd(builder.load(one), value), one)
        numbers = [
            builder.extract_element(builder.load(one), ir.Constant(_LANE, axis))
            for one in sums
            for axis in range(_HALF)
        ]
        return context.make_tuple(builder, signature.return_type, numbers)

    def typed(context: Any, listed: Any, rows: Any, begin: Any, end: Any) -> Any:
        return UniTuple(types.float64, 2 * _HALF)(listed, rows, types.int64, types.int64), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)
