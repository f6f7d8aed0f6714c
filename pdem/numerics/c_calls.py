"""Functions of C libraries that kernels call by their addresses."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from pdem.numerics.numba_private import cgutils, intrinsic_or_plain, ir, types

if TYPE_CHECKING:
    from numpy.typing import NDArray


def address_in(library: str, name: str) -> int:
    """Return the address of a function in a library or in the libraries that it is linked to; 0 if there is none.

    Parameters
    ----------
    library : str
        Path of a library that this process has loaded.
    name : str
        Name of the function.
    """
    try:
        return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
    except (AttributeError, OSError):
        return 0


def address_of(array: NDArray[Any]) -> int:
    """Return the address of an array's data; the array must not move while C uses it."""
    return int(array.ctypes.data)


def _generate_call(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    number = len(signature.args[1])
    kind = ir.FunctionType(ir.IntType(32), number * [ir.IntType(64)])
    called = builder.inttoptr(values[0], kind.as_pointer())
    return builder.sext(builder.call(called, cgutils.unpack_tuple(builder, values[1], number)), ir.IntType(64))


def _type_call(context: Any, address: Any, arguments: Any) -> Any:
    if not all(one == types.int64 for one in arguments):
        return None
    return types.int64(types.int64, arguments), _generate_call


def _call_interpreted(address: int, arguments: tuple[Any, ...]) -> int:
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *len(arguments) * [ctypes.c_int64])
    return int(kind(int(address))(*(int(one) for one in arguments)))


call_c = intrinsic_or_plain(_type_call, _call_interpreted)
"""Call the C function at an address with a tuple of arguments; return its `int`. For kernels.

Arguments are pointers and whole numbers, passed in registers as 64 bits; C reads shorter ones from the lower part.
"""
