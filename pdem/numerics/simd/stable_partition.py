"""Partition of a short list of numbers without branches: marked numbers first.

The touching contacts of a particle change now and then. A branch for each contact would be predicted wrongly for some
contacts of every particle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types
from pdem.numerics.simd.transposition import address_of, compressed, data_of, lanes_below, number_of_flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 16
"""Length of the longest list."""

_PLACE, _INDEX = ir.IntType(64), ir.IntType(32)
_INDICES = ir.VectorType(_INDEX, MOST)
_NONE = ir.Constant(_INDICES, [0] * MOST)


def _plain(numbers: NDArray[Any], first: Any, count: int, marks: NDArray[Any]) -> int:
    part = numbers[int(first) : int(first) + count]
    marked = marks[part >> 1] > 0
    part[:] = np.concatenate((part[marked], part[~marked]))
    return int(marked.sum())


def _marks_of(builder: Any, numbers: Any, marks: Any) -> Any:
    """Return the mark of each number; half of the number, rounded down, is the index of its mark."""
    found = ir.Constant(_INDICES, ir.Undefined)
    places = builder.lshr(numbers, ir.Constant(_INDICES, [1] * MOST))
    for lane in range(MOST):
        place = builder.zext(builder.extract_element(places, _INDEX(lane)), _PLACE)
        found = builder.insert_element(found, builder.load(builder.gep(marks, [place])), _INDEX(lane))
    return found


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    numbers, marks = (data_of(context, builder, signature, arguments, number) for number in (0, 3))
    _, first, count, _ = arguments
    address = address_of(builder, numbers, first, 0, _INDICES)
    counted = lanes_below(builder, builder.trunc(count, _INDEX), MOST)
    listed = builder.select(counted, builder.load(address, align=4), _NONE)
    marked = builder.and_(builder.icmp_signed(">", _marks_of(builder, listed, marks), _NONE), counted)
    store = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [_INDICES, _INDICES.as_pointer(), _INDEX, counted.type]),
        f"llvm.masked.store.v{MOST}i32.p0",
    )  # fmt: skip
    both = cgutils.alloca_once(builder, _INDEX, _PLACE(2 * MOST))
    many = number_of_flags(builder, marked)
    for flags, place in ((marked, _PLACE(0)), (builder.and_(builder.not_(marked), counted), many)):
        some = compressed(builder, listed, flags)
        builder.store(some, address_of(builder, both, place, 0, _INDICES), align=4)
    ordered = builder.load(address_of(builder, both, _PLACE(0), 0, _INDICES), align=4)
    builder.call(store, [ordered, address, _INDEX(4), counted])
    return many


def _typed(context: Any, numbers: Any, first: Any, count: Any, marks: Any) -> Any:
    return types.int64(numbers, types.uint64, types.int64, marks), _generate


stable_partition = intrinsic_or_plain(_typed, _plain)
"""Function for kernels that moves the marked numbers of a list to its front; returns how many numbers are marked.

The order among marked and among unmarked numbers stays the same.

Parameters
----------
numbers : int32 array
    Array with the list, and with room for `MOST` numbers from the beginning of the list on. No number is negative.
first, count : int
    Beginning and length of the list; the length is at most `MOST`.
marks : int32 array
    Mark for half of each number, positive if the number is marked. The array is not empty.
"""
