"""Numbers that will be needed soon are asked for before they are.

Processors guess what comes next from what was read last. Of a stream that is read column by column, in blocks, they
guess too little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdem.numerics.arrays import LINE_BYTES
from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = LINE_BYTES // 8
"""Numbers that come together from memory."""

_BYTES, _FLAG = ir.IntType(8).as_pointer(), ir.IntType(32)
_TO_WRITE, _TO_KEEP, _DATA = _FLAG(1), _FLAG(3), _FLAG(1)  # in the nearest cache; numbers, not instructions
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
    """Do nothing: without machine code there is nothing to gain."""


fetch = intrinsic_or_plain(_typed, _plain)
"""Of a flat array, and a place in it (not negative; it may be behind the end): have the line there brought to be read
and written. For kernels; it changes nothing but when memory is waited for."""
