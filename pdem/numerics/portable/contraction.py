"""The rule that decides where a product and a sum are rounded once, the same for every processor.

A compiler that may contract chooses by itself where, by its version and by the processor, and each choice has other
bits. Here the choice is made in the code that numba generates from the source, before the compiler sees it:

*A product that is used once, by an addition or subtraction of the same function, becomes a fused multiply-add together
with it. If both numbers of a sum are such products, the first one is fused.*

The rule applies to operations with the flag ``contract``, which numba sets in kernels with the option
``fastmath={"contract"}``. The flags are then removed, so that the compiler has to compute the operations as they stand.
Processors without such an instruction call a function instead, which is slow and has the same bits.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numba

from pdem.foundation.errors import LaunchError
from pdem.numerics.numba_private import JITCPUCodegen, ir

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAG = "contract"
_SUMS = ("fadd", "fsub")
_SUFFIXES = {"double": "f64", "float": "f32"}


def contract(module: Any) -> None:
    """Apply the rule to all functions of a module of llvmlite, and remove the flags."""
    for function in list(module.functions):
        _Contraction(function).apply()


class _MultiplyAdd(ir.CallInstr):  # type: ignore[misc]
    """A fused multiply-add with the name of the sum that it replaces, by which other instructions refer to it."""

    def _set_name(self, name: str) -> None:
        self._name = name


class _Contraction:
    """The rule for one function, which counts how often each value is used."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._uses = Counter(id(value) for one in self._instructions() for value in _values(one))

    def apply(self) -> None:
        """Replace sums of products, and remove the flags."""
        for block in self._function.blocks:
            block.instructions[:] = [new for one in block.instructions for new in self._contracted(one)]
        for one in self._instructions():
            _remove_flag(one)

    def _instructions(self) -> Iterator[Any]:
        return (one for block in self._function.blocks for one in block.instructions)

    def _contracted(self, instruction: Any) -> list[Any]:
        """Return an instruction or, if it is a sum with a product that can be fused, its replacement."""
        if instruction.opname not in _SUMS or _FLAG not in instruction.flags:
            return [instruction]
        first, second = instruction.operands
        if self._is_product(first):
            return self._addition(instruction, first, second, negative=(False, instruction.opname == "fsub"))
        if self._is_product(second):
            return self._addition(instruction, second, first, negative=(instruction.opname == "fsub", False))
        return [instruction]

    def _is_product(self, value: Any) -> bool:
        is_product = getattr(value, "opname", "") == "fmul" and _FLAG in value.flags
        return is_product and self._uses[id(value)] == 1

    def _addition(self, old: Any, product: Any, summand: Any, negative: tuple[bool, bool]) -> list[Any]:
        """Return the instructions of a fused multiply-add, where product or summand may be negative."""
        block, kind, new = old.parent, old.type, []
        numbers = [*product.operands, summand]
        for place, is_negative in ((0, negative[0]), (2, negative[1])):
            if is_negative:
                numbers[place] = ir.Instruction(block, kind, "fneg", [numbers[place]])
                new.append(numbers[place])
        return [*new, _MultiplyAdd(block, _multiply_add(self._function.module, kind), numbers, old.name)]


def _values(instruction: Any) -> list[Any]:
    """Return the values that an instruction uses."""
    return [*instruction.operands, *(value for value, _ in getattr(instruction, "incomings", ()))]


def _remove_flag(instruction: Any) -> None:
    if _FLAG in instruction.flags:
        instruction.flags = [flag for flag in instruction.flags if flag != _FLAG]
    if _FLAG in getattr(instruction, "fastmath", ()):
        instruction.fastmath.discard(_FLAG)


def _multiply_add(module: Any, kind: Any) -> Any:
    """Return LLVM's function for a fused multiply-add of numbers or vectors."""
    is_vector = isinstance(kind, ir.VectorType)
    suffix = _SUFFIXES[str(kind.element if is_vector else kind)]
    name = f"llvm.fma.v{kind.count}{suffix}" if is_vector else f"llvm.fma.{suffix}"
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind] * 3), name)


_Library: Any = getattr(JITCPUCodegen, "_library_class", object)
if not hasattr(_Library, "add_ir_module"):
    raise LaunchError(
        f"numba {numba.__version__} offers no way to decide where products and sums are rounded once, so that results "
        "would have other bits: pip install 'numba>=0.68.1,<0.69'"
    )


class ContractedLibrary(_Library):  # type: ignore[misc]
    """The code of one compiled function, contracted by the rule of this module."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code of a module after its contraction."""
        contract(ir_module)
        super().add_ir_module(ir_module)


def contract_by_rule() -> None:
    """Let numba contract by the rule in this process, whatever else of numba is replaced."""
    JITCPUCodegen._library_class = ContractedLibrary
