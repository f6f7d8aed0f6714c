"""Machine code of single functions on disk, searched when the function is first called.

When a function is defined, numba searches its folder, tests whether the folder can be written, and reads the function's
source. For all kernels of a package this takes longer than loading the kernels that a run calls. Before numba loads the
first kernel, it loads everything that its compiler uses.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from collections import Counter
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdem.numerics.cache import damaged, exclusive, not_stored, place_in_package, places
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


_DIGEST = 16
"""Number of bytes of the digest at the beginning of a file."""


def _sealed(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


class KernelFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The files of one function: an index, and machine code for each signature. Processes may write concurrently.

    Numba reads the index, picks the next free file name and writes index and machine code, without a lock. Two
    processes that add different signatures can then pick the same name, and an entry of the index leads to the wrong
    machine code. While only the index is written, it may lead to a file of older sources. Here

    * an index is read and written under a lock, so that no entry is lost;
    * the file name of machine code follows from its signature, so that even without locks a name never leads to wrong
      code;
    * machine code exists before the index names it; numba writes each of the two files atomically;
    * each file begins with a digest of its content, so that a damaged file counts as missing.
    """

    def __init__(self, path: str, name: str, stamp: object, others: Sequence[str] = ()) -> None:
        super().__init__(path, name, stamp)
        self._others = [KernelFiles(one, name, stamp) for one in others]

    def save(self, key: object, data: object) -> None:
        """Store machine code for a signature."""
        content = self._dump((self._source_stamp, key))
        name = self._data_name(int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big"))
        self._save_data(name, data)
        with exclusive(Path(self._cache_path) / "write.lock"):
            self._save_index({**self._load_index(), key: name})

    def load(self, key: object) -> Any:
        """Return machine code for a signature from the first folder that contains it; None if no folder does."""
        for files in (self, *self._others):
            with suppress(OSError):  # an unreadable file counts as missing
                if (found := super(KernelFiles, files).load(key)) is not None:
                    return found
        return None

    def _load_index(self) -> dict[object, str]:
        try:
            version, stamp, entries = pickle.loads(self._content(self._index_path))
        except FileNotFoundError:
            return {}
        return entries if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, entries: dict[object, str]) -> None:
        with self._open_for_write(self._index_path) as file:
            file.write(_sealed(self._dump((self._version, self._source_stamp, entries))))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._content(self._data_path(name)))

    def _save_data(self, name: str, data: object) -> None:
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_sealed(self._dump(data)))

    def _content(self, path: str) -> bytes:
        """Return the content of a file; a file that is damaged or may be the work of a different user is missing."""
        if not self._is_own(path):
            raise FileNotFoundError(path)
        with open(path, "rb") as file:
            digest, content = file.read(_DIGEST), file.read()
        if digest != _sealed(content)[:_DIGEST]:
            damaged(path)
            raise FileNotFoundError(path)
        return content

    def _is_own(self, path: str) -> bool:
        """Return whether no other user can have written a file; see `pdem.numerics.cache_places`."""
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
    """The folder of the kernels of one source, within the folder of all kernels."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> KernelFolder | None:
        """Return the folder for a function; None if the function has no file."""
        return cls(py_func, py_file) if os.path.exists(py_file) else None

    def ensure_cache_path(self) -> None:
        """Create the folder, which nobody else may write."""
        path = Path(self.get_cache_path())
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            keep_private(path)

    def others(self) -> list[str]:
        """Return the folders of this source within the further folders that are read."""
        folders = [one for one in places().read if one != places().kept]
        names = [(one, place_in_package(self._py_file, one)) for one in folders]
        usual = UserProvidedCacheLocator.get_suitable_cache_subpath(self._py_file)
        return [str(one / (name or usual)) for one, name in names]

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the name of the folder: the location of the source within pdem, or numba's name for other sources."""
        return place_in_package(py_file) or str(super().get_suitable_cache_subpath(py_file))


class _Content(CompileResultCacheImpl):  # type: ignore[misc]
    """The stored content of a compiled function. It includes environments of inlined functions only if code uses them.

    Code rarely uses them, and loading the function would import the module of each environment, numba's own included.
    """

    _locator_classes = (KernelFolder, *getattr(CompileResultCacheImpl, "_locator_classes", ())[1:])

    def reduce(self, cres: Any) -> tuple[Any, ...]:
        """Return the content in numba's form, with fewer environments."""
        *others, reloads, environments = super().reduce(cres)
        code = str(cres.library._final_module)
        named = Counter(_ENVIRONMENT.findall(code))
        used = tuple(one for one in environments if named[one.env_name] > 1)  # the first occurrence is the declaration
        return (*others, [*reloads, load_hashing] if _SECRETS in code else reloads, used)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Machine code by the types of the arguments; nothing is read before a kernel is needed.

    Parameters
    ----------
    function : callable
        The function that is compiled.
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
        """Return the code for a signature, None if it is not on disk; this needs only numba's runtime."""
        runtime.initialize(target_context)
        return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the code for a signature; if this is impossible, the code is used without being stored."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            not_stored(error)


def kept_on_disk(compiled: Any, kind: type[KernelCache] = KernelCache) -> Any:
    """Return a compiled function, and store its machine code on disk in future."""
    if not INTERPRETED and not misfit():
        compiled._cache = kind(compiled.py_func)
    return compiled
