"""Selection of the numbers that do not exceed a limit: vector code that appends their indices to a list.

Every step scans a list of candidates, and few of them are due. A branch for each would be predicted wrongly for most of
the due ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pdem.numerics.numba_private import intrinsic_or_plain, ir, types
from pdem.numerics.simd.transposition import address_of, compressed, data_of, lanes_below, number_of_flags, spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

DUE_LANES = 16
"""Numbers in single precision that are compared at a time."""

ALWAYS, NEVER = np.float32(-1.0), np.float32(np.nan)
"""Numbers below any limit from 0 on, and numbers below no limit."""

ROUNDED_UP, ROUNDED_DOWN = 1.0 + 2.0**-22, 1.0 - 2.0**-22
"""Factors that change a number by more than rounding to single precision does."""

_INDEX = ir.IntType(32)
_VALUES, _INDICES = (ir.VectorType(kind, DUE_LANES) for kind in (ir.FloatType(), _INDEX))
_NUMBERED = ir.Constant(_INDICES, list(range(DUE_LANES)))


def make_due(due: NDArray[np.float32]) -> None:
    """Make all numbers due for the next list, except for the numbers that never are."""
    np.minimum(due, ALWAYS, out=due)


def _plain_append(due: NDArray[Any], first: Any, count: int, limit: Any, listed: NDArray[Any], at: Any) -> int:
    places = np.arange(int(first), int(first) + min(count, DUE_LANES))
    found = places[due[places] <= limit]
    listed[int(at) : int(at) + len(found)] = found
    return len(found)


def _generate_append(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    due, listed = (data_of(context, builder, signature, arguments, number) for number in (0, 4))
    _, first, count, limit, _, at = arguments
    values = builder.load(address_of(builder, due, first, 0, _VALUES), align=4)
    is_due = builder.fcmp_ordered("<=", values, spread(builder, limit, DUE_LANES))
    flags = builder.and_(is_due, lanes_below(builder, builder.trunc(count, _INDEX), DUE_LANES))
    places = builder.add(_NUMBERED, spread(builder, builder.trunc(first, _INDEX), DUE_LANES))
    found = compressed(builder, places, flags)
    builder.store(found, address_of(builder, listed, at, 0, _INDICES), align=4)
    return number_of_flags(builder, flags)


def _typed_append(context: Any, due: Any, first: Any, count: Any, limit: Any, listed: Any, at: Any) -> Any:
    return types.int64(due, types.uint64, types.int64, types.float32, listed, types.uint64), _generate_append


append_due = intrinsic_or_plain(_typed_append, _plain_append)
"""Function for kernels that lists the indices of numbers not larger than a limit; returns their count.

Parameters
----------
due : float32 array
    The numbers, with room for `DUE_LANES` more after the last one. NaN is never listed.
first, count : int
    First number to compare, below 2**31, and how many numbers to compare, limited to `DUE_LANES`.
limit : float32
    The limit.
listed : int32 array
    Output: the indices of these numbers.
at : int
    Index of the first output. From there on, `DUE_LANES` entries may be written.
"""
