"""Calls from kernels to kernels and to functions of Python by address, and readings of the processor's clock.

A kernel that calls a second kernel by name contains it: numba translates both again for every version of the second
kernel. By its address any version can be called, and the caller is translated once for all contact laws.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from pdem.numerics.loop_calls import ticks_in
from pdem.numerics.numba_private import INTERPRETED, cgutils, fingerprint, intrinsic_or_plain, ir, misfit, typeof, types

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = int | Callable[..., None]

_addresses: dict[tuple[Any, Any], Call] = {}


def call_of(kernel: Any, arguments: tuple[Any, ...]) -> Call:
    """Return the handle by which `call_kernel` calls the version of a kernel for arguments of these types.

    Parameters
    ----------
    kernel : kernel
        A kernel without a return value; compiled here if necessary.
    arguments : tuple
        Arguments of the call, or arguments of the same types.
    """
    if INTERPRETED:
        return kernel
    key = kernel, typeof(arguments) if misfit() else fingerprint.compute_fingerprint(arguments)
    if key not in _addresses:
        _addresses[key] = _address(kernel, tuple(typeof(one) for one in arguments))
    return _addresses[key]


def _address(kernel: Any, signature: tuple[Any, ...]) -> int:
    kernel.compile(signature)
    compiled = kernel.overloads[signature]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    assert address, f"{kernel} has no machine code"
    return address


def _generate_call(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    given = signature.args[1].types
    kind = context.call_conv.get_function_type(types.none, given)
    called = builder.inttoptr(values[0], kind.as_pointer())
    unpacked = cgutils.unpack_tuple(builder, values[1], len(given))
    context.call_conv.call_function(builder, called, types.none, given, unpacked)
    return context.get_dummy_value()


def _type_call(context: Any, call: Any, arguments: Any) -> Any:
    return types.none(call, arguments), _generate_call


def _call_interpreted(call: Any, arguments: tuple[Any, ...]) -> None:
    call(*arguments)


call_kernel = intrinsic_or_plain(_type_call, _call_interpreted)
"""Call a kernel by its handle from `call_of`, with a tuple of arguments of the types that `call_of` was given."""


def _generate_asking(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    kind = ir.FunctionType(ir.IntType(64), [])
    return builder.call(builder.inttoptr(values[0], kind.as_pointer()), [])


def _type_asking(context: Any, address: Any) -> Any:
    return types.int64(types.int64), _generate_asking


_asked: dict[int, Callable[[], int]] = {}


class PythonCall:
    """A function of Python without arguments that kernels call by its `address`, as long as this object exists.

    Parameters
    ----------
    function : callable
        Returns a whole number. If it raises, the kernel receives 1, and `reraise` raises the error.
    """

    def __init__(self, function: Callable[[], int]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int64)(self._call)
        self.address = ctypes.cast(self._entry, ctypes.c_void_p).value or 0
        if INTERPRETED:
            _asked[self.address] = self._call

    def _call(self) -> int:
        try:
            return self._function()
        except BaseException as error:  # no error can pass through a kernel
            self._error = error
            return 1

    def reraise(self) -> None:
        """Raise the error that the function has raised, if any."""
        if self._error is not None:
            raise self._error


def _ask_interpreted(address: int) -> int:
    return _asked[address]()


ask_python = intrinsic_or_plain(_type_asking, _ask_interpreted)
"""Call a `PythonCall` by its address; return its result. For kernels."""


def _generate_reading(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return ticks_in(builder.module, builder)


def _type_reading(context: Any) -> Any:
    return types.int64(), _generate_reading


def _read_nothing() -> int:
    return 0


processor_clock = intrinsic_or_plain(_type_reading, _read_nothing)
"""Return the ticks of the processor's clock; 0 if no clock can be read. For kernels."""
