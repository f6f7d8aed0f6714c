"""The machine code of one function on disk, found when the function is first called.

Numba looks for the folder of every function, tries whether it can be written, and reads the function's source when
the function is defined: for the kernels of a package that takes longer than to load those that a run calls.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

if TYPE_CHECKING:
    from collections.abc import Callable


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Machine code by the types of the arguments; nothing is read before it is asked for.

    Parameters
    ----------
    function : callable
        What is compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = repr(function)
        self._py_func = function
        self.enable()

    @cached_property
    def _impl(self) -> Any:
        return self._impl_class(self._py_func)

    @cached_property
    def _cache_path(self) -> str:
        path: str = self._impl.locator.get_cache_path()
        return path

    @cached_property
    def _cache_file(self) -> IndexDataCacheFile:
        stamp = self._impl.locator.get_source_stamp()
        return IndexDataCacheFile(self._cache_path, self._impl.filename_base, stamp)


def kept_on_disk(compiled: Any, kind: type[KernelCache] = KernelCache) -> Any:
    """Return what numba has made of a function, and keep its machine code on disk from now on."""
    if not numba.config.DISABLE_JIT:
        compiled._cache = kind(compiled.py_func)
    return compiled
