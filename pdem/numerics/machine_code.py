"""Generation of machine code only for functions that are called, not for functions that are inlined.

Numba generates machine code for every function that it compiles, with two wrappers for calls from Python and C. An
inlined function is never called, and neither are the three stages through which the body of a threaded loop passes on
its way into its kernel. Optimising and translating each of these again used half of the compile time of a contact law.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba

from pdem.numerics.numba_private import INTERPRETED, CPUDispatcher, JITCPUCodegen, binding, misfit
from pdem.numerics.portable.contraction import ContractedLibrary, contract_by_rule

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOP_BODY = "__numba_parfor_gufunc"
_LOOP_WRAPPERS = "parallelgufuncwrapper", "<numba.np.ufunc.wrappers._GufuncWrapper"

_STORED = "machine code"
"""Label of stored content with machine code, its LLVM code, and the names of its functions."""

_environments: dict[str, Any] = {}
"""Python environments of compiled functions, by the name of the variable that will point to each environment."""

_write_environment: Any = getattr(JITCPUCodegen, "set_env", None)


def _set_environment(codegen: Any, name: str, environment: Any) -> None:
    """Set a variable like ``JITCPUCodegen.set_env``, as soon as there is machine code that contains the variable."""
    _environments[name] = environment
    if codegen._engine.get_global_value_address(name):
        _write_environment(codegen, name, environment)


class LazyCodeLibrary(ContractedLibrary):
    """The code of one compiled function, in LLVM's language until the address of a function is requested.

    For a kernel from the disk only machine code is used, unless a kernel that calls it is compiled.
    """

    _has_machine_code = False
    _shared_module: Any
    _stored_bitcode: bytes | None = None
    _stored_names: frozenset[str] = frozenset()

    def _optimize_final_module(self) -> None:
        if not self.name.startswith(_LOOP_WRAPPERS):
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def _generate(self) -> None:
        if not self._has_machine_code:
            self._has_machine_code = True
            super()._finalize_final_module()
            for variable in self._final_module.global_variables:
                if variable.name in _environments:
                    _write_environment(self._codegen, variable.name, _environments[variable.name])

    def _defines(self, name: str) -> bool:
        module = self._final_module if self._shared_module is None else self._shared_module
        return name in self._stored_names or _is_defined(module, name)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if there is no function of this name or nobody calls it."""
        self._ensure_finalized()
        if self.name.startswith(_LOOP_BODY) or not self._defines(name):
            return 0
        self._generate()
        return int(super().get_pointer_to_function(name))

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._stored_bitcode is not None:
            self._shared_module = binding.parse_bitcode(self._stored_bitcode)
            self._stored_bitcode = None
        return super()._get_module_for_linking()

    def serialize_using_object_code(self) -> tuple[str, str, Any]:
        """Return the content to store on disk, with machine code only if it exists."""
        bitcode = self._get_module_for_linking().as_bitcode()
        if not self._has_machine_code:
            return self.name, "bitcode", bitcode
        names = frozenset(function.name for function in self.get_defined_functions())
        return self.name, _STORED, (self._get_compiled_object(), bitcode, names)

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> Any:
        name, kind, stored = state
        if kind != _STORED:
            return super()._unserialize(codegen, state)
        library = codegen.create_library(name)
        code, library._stored_bitcode, library._stored_names = stored
        library.enable_object_caching()
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols |= library._stored_names
        return library


def _is_defined(module: Any, name: str) -> bool:
    try:
        return not module.get_function(name).is_declaration
    except NameError:
        return False


class InlinedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that is inlined into its callers. For calls from Python it is compiled separately."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the function as machine code of its own."""
        return self._alone(*arguments)

    @cached_property
    def _alone(self) -> Any:
        wrapped = {**self.targetoptions, "forceinline": False, "no_cpython_wrapper": False}
        del wrapped["nopython"], wrapped["boundscheck"]
        return numba.njit(**wrapped)(self.py_func)


def inlined_dispatcher(function: Callable[..., Any], **options: Any) -> Any:
    """Return the compiled `function` without the wrappers for calls from Python and C."""
    if INTERPRETED:
        return function
    if misfit():
        return numba.njit(forceinline=True, **options)(function)
    chosen = {"nopython": True, "boundscheck": None, "forceinline": True}
    return InlinedDispatcher(function, targetoptions={**chosen, "no_cpython_wrapper": True, **options})


def generate_when_called() -> None:
    """Let numba compile into `LazyCodeLibrary` in this process, if that fits numba."""
    contract_by_rule()
    if misfit():
        return
    JITCPUCodegen._library_class = LazyCodeLibrary
    JITCPUCodegen.set_env = _set_environment
