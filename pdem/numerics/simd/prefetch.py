"""Prefetch: a request for data in memory some time before they are needed.

Processors predict the next addresses from the latest accesses. For data that are read column by column, in blocks, the
prediction covers too little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.numerics.arrays import LINE_BYTES
from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = LINE_BYTES // 8
"""Numbers in one cache line."""

_BYTES, _FLAG = ir.IntType(8).as_pointer(), ir.IntType(32)
_TO_WRITE, _TO_KEEP, _DATA = _FLAG(1), _FLAG(3), _FLAG(1)  # into the nearest cache; data, not instructions
_KIND = ir.FunctionType(ir.VoidType(), [_BYTES, _FLAG, _FLAG, _FLAG])


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    address = builder.bitcast(builder.gep(array.data, [arguments[1]]), _BYTES)
    prefetch = cgutils.get_or_insert_function(builder.module, _KIND, "llvm.prefetch.p0")
    builder.call(prefetch, [address, _TO_WRITE, _TO_KEEP, _DATA])
    return context.get_dummy_value()


def _typed(context: Any, numbers: Any, place: Any) -> Any:
    return types.void(numbers, place), _generate


def _plain(numbers: NDArray[Any], place: Any) -> None:
    """Do nothing: without machine code a prefetch has no benefit."""


fetch = intrinsic_or_plain(_typed, _plain)
"""Prefetch the cache line at an index of a flat array, for reading and writing. The index must not be negative, but may
be beyond the end. For kernels; it changes only when the processor waits for memory."""
