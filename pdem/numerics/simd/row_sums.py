"""Sums of the forces and torques of a particle's contacts, one whole row of numbers per addition.

A compiler adds force and torque of a contact in six scalar additions. Here a row is one vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.numba_private import UniTuple, cgutils, intrinsic_or_plain, ir, types
from pdem.numerics.simd.transposition import address_of, data_of, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBER, _PLACE, _LANE = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_FORCE, _RESISTANCE = ir.VectorType(_NUMBER, 8), ir.VectorType(_NUMBER, 4)
_ARMS = 6
_SIGNS = -1.0, 1.0
_IS_TORQUE = [3 <= lane < 6 for lane in range(8)]


def _plain(listed: NDArray[Any], rows: NDArray[Any], begin: int, end: int) -> tuple[float, ...]:
    total = np.zeros(6)
    for one in listed[begin:end]:
        row, side = rows[one >> 1], one & 1
        total[:3] += _SIGNS[side] * row[:3]
        total[3:] += row[_ARMS + side] * row[3:6]
    if rows.shape[1] > 8:
        for one in listed[begin:end]:
            total[3:] += _SIGNS[one & 1] * rows[one >> 1, 8:11]
    return tuple(total)


class _Rows:
    """Loads of rows and of their factors."""

    def __init__(self, builder: Any, listed: Any, rows: Any, width: Any) -> None:
        self._builder, self._listed, self._rows, self._width = builder, listed, rows, width
        values = ir.Constant(ir.ArrayType(_NUMBER, 2), list(_SIGNS))
        self._signs = cgutils.global_constant(builder, "signs", values)

    def find(self, place: Any) -> tuple[Any, Any]:
        """Return the beginning of the row at an index of the list, and the particle's side of the contact."""
        builder = self._builder
        number = builder.zext(builder.load(builder.gep(self._listed, [place])), _PLACE)
        side = builder.and_(number, _PLACE(1))
        return builder.mul(builder.lshr(number, _PLACE(1)), self._width), side

    def signed(self, side: Any, lanes: int) -> Any:
        """Return a vector with the sign of forces on this side."""
        sign = self._builder.load(self._builder.gep(self._signs, [_PLACE(0), side]))
        return spread(self._builder, sign, lanes)

    def force(self, row: Any, side: Any) -> Any:
        """Return force and torque of a row, followed by unused numbers."""
        builder = self._builder
        whole = builder.load(address_of(builder, self._rows, row, 0, _FORCE), align=8)
        arm = builder.load(address_of(builder, self._rows, builder.add(row, side), _ARMS, _NUMBER))
        mask = ir.Constant(ir.VectorType(ir.IntType(1), 8), _IS_TORQUE)
        factors = builder.select(mask, spread(builder, arm, 8), self.signed(side, 8))
        return builder.fmul(factors, whole)

    def resistance(self, row: Any, side: Any) -> Any:
        """Return the resistance of a row, followed by an unused number."""
        builder = self._builder
        whole = builder.load(address_of(builder, self._rows, row, _FORCE.count, _RESISTANCE), align=8)
        return builder.fmul(self.signed(side, _RESISTANCE.count), whole)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    listed, rows = (data_of(context, builder, signature, arguments, k) for k in range(2))
    begin, end = arguments[2:]
    array = context.make_array(signature.args[1])(context, builder, arguments[1])
    width = cgutils.unpack_tuple(builder, array.shape)[1]
    found = _Rows(builder, listed, rows, width)
    forces, resistances = (
        cgutils.alloca_once_value(builder, ir.Constant(kind, [0.0] * kind.count)) for kind in (_FORCE, _RESISTANCE)
    )

    def add_all(resists: bool) -> None:
        with cgutils.for_range_slice(builder, begin, end, _PLACE(1), intp=_PLACE) as (place, _):
            row, side = found.find(place)
            builder.store(builder.fadd(builder.load(forces), found.force(row, side)), forces)
            if resists:
                both = builder.fadd(builder.load(resistances), found.resistance(row, side))
                builder.store(both, resistances)

    with builder.if_else(builder.icmp_signed(">", width, _PLACE(_FORCE.count))) as (wide, narrow):
        with wide:
            add_all(True)
        with narrow:
            add_all(False)
    numbers = [builder.extract_element(builder.load(forces), _LANE(lane)) for lane in range(_ARMS)]
    for axis in range(3):
        more = builder.extract_element(builder.load(resistances), _LANE(axis))
        numbers[3 + axis] = builder.fadd(numbers[3 + axis], more)
    return context.make_tuple(builder, signature.return_type, numbers)


def _typed(context: Any, listed: Any, rows: Any, begin: Any, end: Any) -> Any:
    return UniTuple(types.float64, _ARMS)(listed, rows, types.int64, types.int64), _generate


sum_loads = intrinsic_or_plain(_typed, _plain)
"""Function for kernels that adds up force and torque of contacts in the order of the list.

Parameters
----------
listed : int32 array
    Twice the row of each contact, plus one where the particle is the higher one; no entry is negative.
rows : (n, 8 or 12) array
    Force (3) on the higher particle, torque over arm (3), arms of the lower and the higher particle, and in rows of
    12 a further torque (3) on the higher particle and an unused number.
begin, end : int
    First index of the list to add up, and the index after the last.

Returns
-------
tuple of six float
    Force and torque; the further torques are added up separately.
"""
