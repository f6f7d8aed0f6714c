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

_NUMBER, _PLACE, _ROW = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_FOUR, _BITS = ir.VectorType(_NUMBER, 4), ir.VectorType(_PLACE, 4)
_SIGN = 63  # the bit of a number that tells its sign
_ARRAYS = 3


def _spread(builder: Any, number: Any) -> Any:
    """Return a vector of four times a whole number."""
    nothing = ir.Constant(_BITS, ir.Undefined)
    first = builder.insert_element(nothing, number, _ROW(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_ROW, 4), [_ROW(0)] * 4))


def row_sum(
    width: int, force: int, torque_lower: int, torque_higher: int
) -> Callable[..., tuple[float, ...]]:
    """Make a function for kernels that adds up the forces and torques of the contacts of one particle.

    Parameters
    ----------
    width : int
        Numbers of the row of a contact.
    force, torque_lower, torque_higher : int
        Where in a row the force on the particle with the higher id begins, and the torques on both. A vector has four
        numbers: one more is read behind the last row.

    Returns
    -------
    function
        Of the entries of all particles (twice a candidate, one more for its higher particle), the row of each
        candidate, all rows, the first of the entries to be added and the one behind the last. It returns force and
        torque, six numbers, added in this order. Arrays are flat; entries and rows int32, not negative.
    """

    def plain(
        entry: NDArray[Any], index: NDArray[Any], rows: NDArray[Any], begin: int, end: int
    ) -> tuple[float, ...]:
        total = [0.0] * 6
        for which in entry[begin:end]:
            is_higher = which & 1
            row = width * int(index[which >> 1])
            torque = row + (torque_higher if is_higher else torque_lower)
            for axis in range(3):
                total[axis] += (2.0 * is_higher - 1.0) * rows[row + force + axis]
                total[3 + axis] += rows[torque + axis]
        return tuple(total)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        entry, index, rows = (data_of(context, builder, signature, arguments, k) for k in range(_ARRAYS))
        begin, end = arguments[_ARRAYS:]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(_FOUR, [0.0] * 4)) for _ in range(2)]

        def add(which: int, value: Any) -> None:
            builder.store(builder.fadd(builder.load(sums[which]), value), sums[which])

        with cgutils.for_range_slice(builder, begin, end, ir.Constant(_PLACE, 1), intp=_PLACE) as (place, _):
            which = builder.load(builder.gep(entry, [place]))
            candidate = builder.zext(builder.lshr(which, _ROW(1)), _PLACE)
            number = builder.zext(builder.load(builder.gep(index, [candidate])), _PLACE)
            row = builder.mul(number, _PLACE(width))
            # by arithmetic: a choice would become a branch, which is foreseen wrongly every other time
            is_higher = builder.zext(builder.and_(which, _ROW(1)), _PLACE)
            torque = builder.mul(is_higher, _PLACE(torque_higher - torque_lower))
            pushed = builder.load(address_of(builder, rows, row, force, _BITS), align=8)
            sign = builder.shl(builder.xor(is_higher, _PLACE(1)), _PLACE(_SIGN))
            add(0, builder.bitcast(builder.xor(pushed, _spread(builder, sign)), _FOUR))
            row = builder.add(row, torque)
            add(1, builder.load(address_of(builder, rows, row, torque_lower, _FOUR), align=8))
        numbers = [
            builder.extract_element(builder.load(one), ir.Constant(_ROW, axis))
            for one in sums
            for axis in range(3)
        ]
        return context.make_tuple(builder, signature.return_type, numbers)

    def typed(context: Any, entry: Any, index: Any, rows: Any, begin: Any, end: Any) -> Any:
        return UniTuple(types.float64, 6)(entry, index, rows, types.int64, types.int64), generate

    return plain if numba.config.DISABLE_JIT else intrinsic(typed)
