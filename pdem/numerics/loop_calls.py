"""Calls of threaded loops: direct on one thread, and timed, to measure the share of work on a single thread.

Numba passes every parallel loop to its pool, even to a pool of one thread, and then waits for it: 30 to 60 microseconds
a loop, some tenths of a millisecond a step. Numba calls the pool through a symbol of the process. Here this symbol
becomes a few instructions that call the loop directly if there is one thread, and the pool otherwise. They also add up
the ticks of the processor's clock during loops, if there is such a clock.
"""

from __future__ import annotations

import ctypes
import platform
from typing import TYPE_CHECKING, Any, NamedTuple

from pdem.numerics.numba_private import binding, ir, misfit

if TYPE_CHECKING:
    from collections.abc import Callable

_SYMBOL = "numba_parallel_for"
_NAME, _CLOCK, _TICKS, _INSIDE = "call_loop_or_pool", "read_clock", "loop_ticks", "inside_loop"
_POINTER, _WHOLE = ir.IntType(8).as_pointer(), ir.IntType(64)


class _Linked(NamedTuple):
    """Code that is linked into the process: its engine, which must stay in memory, and the clock."""

    engine: object
    ticks: ctypes.c_uint64
    clock: Callable[[], int]


_linked: list[_Linked] = []


class LoopTicks(NamedTuple):
    """Readings of the processor's clock.

    Attributes
    ----------
    now : int
        Ticks now.
    in_loops : int
        Total ticks within threaded loops, measured by the thread that calls them.
    """

    now: int
    in_loops: int


_HAS_CLOCK = platform.machine() in ("x86_64", "AMD64")


def has_clock() -> bool:
    """Return whether `read_loop_ticks` can read a clock: on some processors, once the pool is started."""
    return _HAS_CLOCK and bool(_linked)


def read_loop_ticks() -> LoopTicks:
    """Return the ticks of the processor's clock; requires `has_clock`."""
    last = _linked[-1]
    return LoopTicks(last.clock(), last.ticks.value)


def call_directly() -> None:
    """Let loops that are linked from now on be called directly if there is one thread.

    The pool must have been started. If numba's private parts do not fit, loops are passed to its pool.
    """
    if misfit():
        return
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(str(_module(binding.address_of_symbol(_SYMBOL)))),
        binding.Target.from_default_triple().create_target_machine(),
    )
    engine.finalize_object()
    ticks = ctypes.c_uint64.from_address(engine.get_global_value_address(_TICKS))
    clock = ctypes.CFUNCTYPE(ctypes.c_uint64)(engine.get_function_address(_CLOCK))
    _linked.append(_Linked(engine, ticks, clock))
    binding.add_symbol(_SYMBOL, engine.get_function_address(_NAME))


def _module(pool: int) -> ir.Module:
    """Return the functions. The arguments of the loop function: loop, four arguments, two sizes, number of threads."""
    module = ir.Module()
    clock = ir.Function(module, ir.FunctionType(_WHOLE, []), _CLOCK)
    builder = ir.IRBuilder(clock.append_basic_block("entry"))
    builder.ret(ticks_in(module, builder))
    kind = ir.FunctionType(ir.VoidType(), [_POINTER] * 5 + [_WHOLE] * 3)
    function = ir.Function(module, kind, _NAME)
    blocks = [function.append_basic_block(name) for name in ("entry", "alone", "several", "end")]
    builder = ir.IRBuilder(blocks[0])
    finish = _time_outermost(module, builder)
    builder.cbranch(builder.icmp_signed("==", function.args[7], _WHOLE(1)), blocks[1], blocks[2])
    builder.position_at_end(blocks[1])
    body = ir.FunctionType(ir.VoidType(), [_POINTER] * 4).as_pointer()
    builder.call(builder.bitcast(function.args[0], body), function.args[1:5])
    builder.branch(blocks[3])
    builder.position_at_end(blocks[2])
    builder.call(builder.inttoptr(_WHOLE(pool), kind.as_pointer()), function.args)
    builder.branch(blocks[3])
    builder.position_at_end(blocks[3])
    finish()
    builder.ret_void()
    return module


def ticks_in(module: ir.Module, builder: ir.IRBuilder) -> Any:
    """Return the reading of the processor's clock in a function that is being built; 0 if there is no clock."""
    if not _HAS_CLOCK:
        return _WHOLE(0)
    name = "llvm.readcyclecounter"
    known = module.globals.get(name)
    return builder.call(known or ir.Function(module, ir.FunctionType(_WHOLE, []), name), [])


def _time_outermost(module: ir.Module, builder: ir.IRBuilder) -> Callable[[], None]:
    """Start the timing of an outermost loop; return a function that ends it."""
    total, inside = (ir.GlobalVariable(module, _WHOLE, name) for name in (_TICKS, _INSIDE))
    total.initializer = inside.initializer = _WHOLE(0)
    outer, begin = builder.load(inside), ticks_in(module, builder)
    builder.store(_WHOLE(1), inside)

    def finish() -> None:
        spent = builder.sub(ticks_in(module, builder), begin)
        counted = builder.select(builder.icmp_signed("==", outer, _WHOLE(0)), spent, _WHOLE(0))
        builder.store(builder.add(builder.load(total), counted), total)
        builder.store(outer, inside)

    return finish
