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

from pdem.contact.pairs.layout import FORCE_ROW
from pdem.foundation.transposition import address_of, data_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORCE, TORQUE_LOWER, TORQUE_HIGHER = 3, 0, 6
"""Where in the row of a contact its force and torques begin. A vector has four numbers: one more is read behind the
last row."""

_NUMBER, _PLACE, _ROW = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_FOUR = ir.VectorType(_NUMBER, 4)
_ARRAYS = 3


def _plain(
    entry: NDArray[Any], index: NDArray[Any], forces: NDArray[Any], begin: int, end: int
) -> tuple[float, ...]:
    total = [0.0] * 6
    for which in entry[begin:end]:
        side = which & 1
        row = FORCE_ROW * int(index[which >> 1])
        turn = row + (TORQUE_HIGHER if side else TORQUE_LOWER)
        for axis in range(3):
            total[axis] += (2.0 * side - 1.0) * forces[row + FORCE + axis]
            total[3 + axis] += forces[turn + axis]
    return tuple(total)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    entry, index, forces = (data_of(context, builder, signature, arguments, k) for k in range(_ARRAYS))
    begin, end = arguments[_ARRAYS:]
    nothing = ir.Constant(_FOUR, [0.0] * 4)
    sums = [cgutils.alloca_once_value(builder, nothing) for _ in range(2)]

    def add(which: Any, value: Any) -> None:
        builder.store(builder.fadd(builder.load(sums[which]), value), sums[which])

    with cgutils.for_range_slice(builder, begin, end, ir.Constant(_PLACE, 1), intp=_PLACE) as (place, _):
        which = builder.load(builder.gep(entry, [place]))
        candidate = builder.zext(builder.lshr(which, _ROW(1)), _PLACE)
        row = builder.mul(
            builder.zext(builder.load(builder.gep(index, [candidate])), _PLACE), _PLACE(FORCE_ROW)
        )
        is_higher = builder.trunc(which, ir.IntType(1))
        torque = builder.select(is_higher, _PLACE(TORQUE_HIGHER), _PLACE(TORQUE_LOWER))
        force = builder.load(address_of(builder, forces, row, FORCE, _FOUR), align=8)
        add(0, builder.select(is_higher, force, builder.fneg(force)))
        add(1, builder.load(address_of(builder, forces, builder.add(row, torque), 0, _FOUR), align=8))
    numbers = [
        builder.extract_element(builder.load(one), ir.Constant(_ROW, axis))
        for one in sums
        for axis in range(3)
    ]
    return context.make_tuple(builder, signature.return_type, numbers)


def _typed(context: Any, entry: Any, index: Any, forces: Any, begin: Any, end: Any) -> Any:
    place, number = types.int64, types.float64
    return UniTuple(number, 6)(entry, index, forces, place, place), _generate


sum_row = _plain if numba.config.DISABLE_JIT else intrinsic(_typed)
"""For kernels. Of the entries of all rows, the force index of each candidate, all forces, and the first
of the entries to be added and the one behind the last: return force and torque, six numbers, added in this order.
Arrays are flat; entries and force indices int32, not negative."""
