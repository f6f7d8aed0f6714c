"""The machine code of one function on disk, found when the function is first called.

When a function is defined, numba finds its folder, tries whether that can be written, and reads the function's source:
for all kernels of a package this takes longer than to load those that a run calls. Before it loads the first one, it
loads all that its compiler knows.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys

if TYPE_CHECKING:
    from collections.abc import Callable

_ENVIRONMENT = re.compile(r'@"?(_ZN08NumbaEnv[^"\s,)]*)')


class _Content(CompileResultCacheImpl):  # type: ignore[misc]
    """What is kept of a compiled function: environments of what is part of it only if code refers to them.

    Code rarely does, and each would have its module imported when the function is loaded, numba's own included.
    """

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Return it as numba writes it, with fewer environments."""
        *others, environments = super().reduce(cres)
        named = Counter(_ENVIRONMENT.findall(str(cres.library._final_module)))
        return (
            *others,
            tuple(one for one in environments if named[one.env_name] > 1),
        )  # one is its declaration


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Machine code by the types of the arguments; nothing is read before it is asked for.

    Parameters
    ----------
    function : callable
        What is compiled.
    """

    _impl_class = _Content

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

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, None if it is not on disk; of numba it needs the runtime alone."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


def kept_on_disk(compiled: Any, kind: type[KernelCache] = KernelCache) -> Any:
    """Return what numba has made of a function, and keep its machine code on disk from now on."""
    if not numba.config.DISABLE_JIT:
        compiled._cache = kind(compiled.py_func)
    return compiled
