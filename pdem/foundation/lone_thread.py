"""One thread needs no pool: kernels that run on one thread call their loop directly.

Numba hands every parallel loop to its pool, also when that has one thread, and then waits for it: 30 to 60
microseconds a loop, some tenths of a millisecond a step. What numba calls to do so is a symbol of the process; here
it becomes a few instructions that call the loop itself if there is one thread, and the pool otherwise.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir

_SYMBOL = "numba_parallel_for"
_NAME = "call_loop_or_pool"
_engines: list[object] = []  # their machine code must stay as long as the process


def call_directly() -> None:
    """Have loops that are linked from now on called directly where there is one thread.

    The pool must have been started.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(str(_module(llvm.address_of_symbol(_SYMBOL)))),
        llvm.Target.from_default_triple().create_target_machine(),
    )
    engine.finalize_object()
    _engines.append(engine)
    llvm.add_symbol(_SYMBOL, engine.get_function_address(_NAME))


def _module(pool: int) -> ir.Module:
    """Return the function: arguments are the loop, its four arguments, two sizes, the number of threads."""
    pointer, whole = ir.IntType(8).as_pointer(), ir.IntType(64)
    module = ir.Module()
    kind = ir.FunctionType(ir.VoidType(), [pointer] * 5 + [whole] * 3)
    function = ir.Function(module, kind, _NAME)
    loop, *given = function.args[:5]
    alone, several = function.append_basic_block("alone"), function.append_basic_block("several")
    entry = function.insert_basic_block(0, "entry")
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed("==", function.args[7], whole(1)), alone, several)
    builder.position_at_end(alone)
    body = ir.FunctionType(ir.VoidType(), [pointer] * 4).as_pointer()
    builder.call(builder.bitcast(loop, body), given)
    builder.ret_void()
    builder.position_at_end(several)
    builder.call(builder.inttoptr(whole(pool), kind.as_pointer()), function.args)
    builder.ret_void()
    return module
