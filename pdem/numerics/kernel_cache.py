"""The machine code of one function on disk, found when the function is first called.

When a function is defined, numba finds its folder, tries whether that can be written, and reads the function's source:
for all kernels of a package this takes longer than to load those that a run calls. Before it loads the first one, it
loads all that its compiler knows.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.numerics.cache import exclusive, not_stored, place_in_package, places
from pdem.numerics.cache_places import doubt_of, keep_private
from pdem.numerics.numba_private import (
    INTERPRETED,
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
    load_hashing,
    misfit,
    runtime,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_ENVIRONMENT = re.compile(r'@"?(_ZN08NumbaEnv[^"\s,)]*)')

_SECRETS = "_numba_hashsecret"


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function: an index, and machine code for each signature. Processes may write at the same time.

    Numba reads the index, picks the next free file name and writes index and machine code, without a lock: two
    processes that add different signatures can then pick one name, and an entry of the index leads to the other's
    machine code. It leads to a file of older sources while only the index is written. Here

    * an index is read and written under a lock: no entry is lost;
    * machine code has a file name of its own by what it is for: even where there are no locks a name never leads to
      other code;
    * it is there before the index names it; both are put in place whole, by numba itself.
    """

    def __init__(self, path: str, name: str, stamp: object, others: Sequence[str] = ()) -> None:
        super().__init__(path, name, stamp)
        self._others = [KernelFiles(one, name, stamp) for one in others]

    def save(self, key: object, data: object) -> None:
        """Keep machine code for a signature."""
        content = self._dump((self._source_stamp, key))
        name = self._data_name(int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big"))
        self._save_data(name, data)
        with exclusive(Path(self._cache_path) / "write.lock"):
            self._save_index({**self._load_index(), key: name})

    def load(self, key: object) -> Any:
        """Return machine code for a signature from the first folder that has it, None if there is none."""
        for files in (self, *self._others):
            with suppress(OSError):  # what cannot be read is not there
                if (found := super(KernelFiles, files).load(key)) is not None:
                    return found
        return None

    def _load_index(self) -> dict[object, str]:
        return super()._load_index() if self._is_own(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        if not self._is_own(self._data_path(name)):
            raise FileNotFoundError(name)
        return super()._load_data(name)

    def _is_own(self, path: str) -> bool:
        """Return whether nobody else has written a file, or put it there; see `pdem.numerics.cache_places`."""
        try:
            folder = os.stat(self._cache_path)
            owners = (os.getuid(), 0, folder.st_uid)
            return not (doubt_of(folder, None) or doubt_of(os.stat(path), owners))
        except OSError:
            return False

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        with super()._open_for_write(filepath) as file:
            keep_private(file.fileno())
            yield file


class KernelFolder(UserProvidedCacheLocator):  # type: ignore[misc]
    """The folder of a source's kernels in the folder of all."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> KernelFolder | None:
        """Return that of a function, None if it has no file."""
        return cls(py_func, py_file) if os.path.exists(py_file) else None

    def ensure_cache_path(self) -> None:
        """Make the folder, which nobody else may write."""
        path = Path(self.get_cache_path())
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            keep_private(path)

    def others(self) -> list[str]:
        """Return the folders of this source in the further ones in which kernels are looked for."""
        folders = [one for one in places().read if one != places().kept]
        names = [(one, place_in_package(self._py_file, one)) for one in folders]
        usual = UserProvidedCacheLocator.get_suitable_cache_subpath(self._py_file)
        return [str(one / (name or usual)) for one, name in names]

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return its name: where the source is in pdem, not where pdem is; numba's for other sources."""
        return place_in_package(py_file) or str(super().get_suitable_cache_subpath(py_file))


class _Content(CompileResultCacheImpl):  # type: ignore[misc]
    """What is kept of a compiled function: environments of what is part of it only if code refers to them.

    Code rarely does, and each would have its module imported when the function is loaded, numba's own included.
    """

    _locator_classes = (KernelFolder, *getattr(CompileResultCacheImpl, "_locator_classes", ())[1:])

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Return it as numba writes it, with fewer environments."""
        *others, reloads, environments = super().reduce(cres)
        code = str(cres.library._final_module)
        named = Counter(_ENVIRONMENT.findall(code))
        used = tuple(one for one in environments if named[one.env_name] > 1)  # one is its declaration
        return (*others, [*reloads, load_hashing] if _SECRETS in code else reloads, used)


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
    def _cache_file(self) -> KernelFiles:
        locator = self._impl.locator
        others = locator.others() if isinstance(locator, KernelFolder) else ()
        return KernelFiles(self._cache_path, self._impl.filename_base, locator.get_source_stamp(), others)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, None if it is not on disk; of numba it needs the runtime alone."""
        runtime.initialize(target_context)
        return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the code for a signature; where that cannot be done, the code is used all the same."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            not_stored(error)


def kept_on_disk(compiled: Any, kind: type[KernelCache] = KernelCache) -> Any:
    """Return what numba has made of a function, and keep its machine code on disk from now on."""
    if not INTERPRETED and not misfit():
        compiled._cache = kind(compiled.py_func)
    return compiled
