"""Private parts of numba and llvmlite, imported here only, and the test whether the installed versions fit.

pdem uses three parts of numba that may change with any release: the generation and storage of machine code
(`machine_code`, `kernel_cache`), the pool of threads (`thread_pool`, `loop_calls`), and the low-level interface of
intrinsics (`simd` and further modules). All of them are imported here; `tests/test_layers.py` rejects other imports.

The first two parts make starts and steps faster and change no bit. If they do not fit an installation, kernels are
plain functions of numba: each process compiles all kernels that it calls, which takes minutes. Untested versions are
tried once per machine by `pdem.numerics.numba_trial`, in separate processes, because code that does not fit may crash.

The import of this module determines, before anything is compiled, where machine code is stored (see
`pdem.numerics.cache`) and for which features of the processor it is compiled.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import llvmlite
import numba

from pdem.foundation.errors import LaunchError
from pdem.numerics.cache import cache_directory
from pdem.numerics.portable.target import target

try:
    from llvmlite import binding, ir
    from numba import typeof
    from numba.core import cgutils, types
    from numba.core import event as compile_event
    from numba.core.registry import cpu_target
    from numba.core.types.containers import Tuple, UniTuple
    from numba.extending import intrinsic
except ImportError as _error:  # there is no substitute for these imports
    raise LaunchError(
        f"numba {numba.__version__} with llvmlite {llvmlite.__version__} is not what pdem was made for ({_error}): "
        "pip install 'numba>=0.68.1,<0.69'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "INTERPRETED",
    "CPUDispatcher",
    "CompileResultCacheImpl",
    "FunctionCache",
    "IndexDataCacheFile",
    "JITCPUCodegen",
    "JITCodeLibrary",
    "Tuple",
    "UniTuple",
    "UserProvidedCacheLocator",
    "binding",
    "cgutils",
    "compile_event",
    "cpu_target",
    "fingerprint",
    "intrinsic",
    "intrinsic_or_plain",
    "ir",
    "misfit",
    "openmp_pool",
    "parallel_options",
    "runtime",
    "thread_pool",
    "typeof",
    "types",
    "warning_of_misfit",
]  # fmt: skip


# These settings precede any use of the compiler, which reads them when it is created: a process that queries the
# processor earlier would compile different code. They are set in numba's configuration and not in the environment,
# because child processes choose for themselves.
numba.config.CACHE_DIR = str(cache_directory())
numba.config.CPU_NAME, numba.config.CPU_FEATURES = target()

TESTED = (("0.68", "0.50"),)
"""Versions of numba and of llvmlite, without their last numbers, that pdem's tests have covered."""

PLAIN = "PDEM_PLAIN_NUMBA"
"""Environment variable: ``1`` avoids private parts, ``0`` uses them without a trial."""

INTERPRETED = bool(numba.config.DISABLE_JIT)
"""Whether numba's compiler is disabled, so that kernels are functions of Python."""

_TRIAL_SECONDS = 300.0
_TRIAL = "import sys; from pdem.numerics.numba_trial import try_kernels; sys.exit(try_kernels({}) or 0)"

_lacking: list[str] = []


def _part(module: str, name: str, *members: str) -> Any:
    """Return a private class or module of numba; record it in `_lacking` if it or one of its members is missing."""
    try:
        part = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        _lacking.append(str(error))
        return object
    _lacking.extend(f"{module}.{name} has no {one}" for one in members if not hasattr(part, one))
    return part


JITCodeLibrary: Any = _part(
    "numba.core.codegen", "JITCodeLibrary", "_ensure_finalized", "_finalize_dynamic_globals",
    "_finalize_final_module", "_get_compiled_object", "_get_module_for_linking", "_optimize_final_module",
    "_set_compiled_object", "_unserialize", "_verify_declare_only_symbols", "enable_object_caching",
    "get_defined_functions", "get_pointer_to_function", "serialize_using_object_code",
)  # fmt: skip
JITCPUCodegen: Any = _part(
    "numba.core.codegen", "JITCPUCodegen", "_library_class", "create_library", "magic_tuple", "set_env"
)
CPUDispatcher: Any = _part("numba.core.registry", "CPUDispatcher", "compile", "enable_caching")
IndexDataCacheFile: Any = _part(
    "numba.core.caching", "IndexDataCacheFile", "_data_name", "_data_path", "_dump", "_load_data", "_load_index",
    "_open_for_write", "_save_data", "_save_index",
)  # fmt: skip
UserProvidedCacheLocator: Any = _part(
    "numba.core.caching", "UserProvidedCacheLocator", "from_function", "get_cache_path", "get_suitable_cache_subpath"
)
CompileResultCacheImpl: Any = _part(
    "numba.core.caching", "CompileResultCacheImpl", "_locator_classes", "filename_base", "locator", "reduce"
)
FunctionCache: Any = _part(
    "numba.core.caching", "FunctionCache", "_index_key", "_load_overload", "enable", "load_overload"
)
runtime: Any = _part("numba.core.runtime", "rtsys", "initialize")
"""Numba's support for running compiled code."""

thread_pool: Any = _part(
    "numba.np.ufunc", "parallel", "NUM_THREADS", "_is_initialized", "_launch_threads"
)  # fmt: skip
"""Numba's pool of threads."""

fingerprint: Any = _part("numba", "_dispatcher", "compute_fingerprint")
"""``compute_fingerprint`` of arguments: bytes that distinguish their types, computed much faster than the types."""

_ParallelOptions: Any = _part("numba.core.cpu_options", "ParallelOptions")


def parallel_options(choices: dict[str, bool]) -> Any:
    """Return the option ``parallel`` of ``numba.njit`` as an object, so that numba need not create it per function."""
    return choices if _ParallelOptions is object else _ParallelOptions(choices)


def openmp_pool() -> bool:
    """Load numba's OpenMP threads; return whether the system has them."""
    try:
        importlib.import_module("numba.np.ufunc.omppool")
    except ImportError:
        return False
    return True


def load_hashing() -> None:
    """Pass this process's string hash numbers to compiled code, by importing a module of numba's compiler."""
    importlib.import_module("numba.cpython.hashing")


def intrinsic_or_plain(typed: Callable[..., Any], plain: Callable[..., Any]) -> Any:
    """Return an intrinsic for kernels or, if nothing is compiled, the equivalent function of Python.

    Parameters
    ----------
    typed : callable
        Returns the signature and the code generator, from a typing context and the types of the arguments.
    plain : callable
        Equivalent in Python.
    """
    return plain if INTERPRETED else intrinsic(typed)


@cache
def misfit() -> str:
    """Return the reason why numba's private parts are not used; empty if they are used."""
    choice = os.environ.get(PLAIN, "")
    if choice == "1":
        return f"{PLAIN} is 1"
    if _lacking:
        return "; ".join(_lacking)
    versions = tuple(one.__version__.rpartition(".")[0] for one in (numba, llvmlite))
    return "" if choice == "0" or versions in TESTED or INTERPRETED else _tried_misfit()


def warning_of_misfit() -> str:
    """Return a warning for users if private parts are not used against the user's choice; else an empty text."""
    reason = misfit()
    if not reason or reason.startswith(PLAIN):
        return ""
    return (
        f"numba {numba.__version__} with llvmlite {llvmlite.__version__} was not tested with this version of pdem, and "
        f"does not fit it ({reason}): each start compiles all kernels, which takes minutes; results are the same; "
        "pip install 'numba>=0.68.1,<0.69' restores quick starts"
    )


def _tried_misfit() -> str:
    """Return the result of a trial of this installation, stored for later processes."""
    kept = cache_directory() / f"trial-numba{numba.__version__}-llvmlite{llvmlite.__version__}.txt"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    found = _try()
    with suppress(OSError):  # without a file the next process tries again
        kept.write_text(found, encoding="utf-8")
    return found


def _try() -> str:
    """Run the trial in two processes, the second with the kernels of the first; return the reason of a misfit."""
    modules = os.pathsep.join(path or os.getcwd() for path in sys.path)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": modules, "NUMBA_CACHE_DIR": folder, PLAIN: "0"}
        for stored in (False, True):
            if problem := _problem([sys.executable, "-P", "-c", _TRIAL.format(stored)], environment):
                return problem
    return ""


def _problem(command: list[str], environment: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"its trial: {error}"
    lines = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else lines[-1] if lines else f"its trial ends with {done.returncode}"
