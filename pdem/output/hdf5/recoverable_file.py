"""HDF5 files that a full disk cannot damage: the content of the last flush remains until the next flush succeeds.

HDF5 cannot undo a failed write. If the disk is full when a file is closed, the file stays half open in the library, its
content is lost, and the program crashes at its end. Here HDF5 never encounters a full disk: it writes to a Python
object (h5py's driver ``fileobj``) that buffers in memory what must not, or cannot, be written to the disk yet.
"""

from __future__ import annotations

import atexit
import os
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import h5py

from pdem.foundation.files import write_at

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType


class _Pieces:
    """Byte ranges of a file that are not on the disk: pieces that neither overlap nor touch."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._data: list[bytearray] = []

    def __iter__(self) -> Any:
        """Return offset and bytes of each piece, in the order of their offsets."""
        return zip(self._begins, self._data, strict=True)

    def _touched(self, begin: int, end: int) -> slice:
        """Return the pieces that overlap or touch a byte range."""
        first = bisect_left(self._begins, begin)
        if first and self._begins[first - 1] + len(self._data[first - 1]) >= begin:
            first -= 1
        return slice(first, bisect_left(self._begins, end + 1, lo=first))

    def touches(self, begin: int, end: int) -> bool:
        """Return whether a byte range overlaps or touches a piece."""
        found = self._touched(begin, end)
        return found.start < found.stop

    def add(self, begin: int, data: bytes) -> None:
        """Add bytes; they replace overlapping parts of existing pieces."""
        found = self._touched(begin, begin + len(data))
        old = list(zip(self._begins[found], self._data[found], strict=True))
        first = min([begin, *(one for one, _ in old)])
        joined = bytearray(max([begin + len(data), *(one + len(some) for one, some in old)]) - first)
        for one, some in [*old, (begin, data)]:
            joined[one - first : one - first + len(some)] = some
        self._begins[found], self._data[found] = [first], [joined]

    def read_over(self, begin: int, content: bytearray) -> None:
        """Copy the pieces into the content of a file that starts at an offset."""
        end = begin + len(content)
        found = self._touched(begin, end)
        for one, some in zip(self._begins[found], self._data[found], strict=True):
            first, last = max(one, begin), min(one + len(some), end)
            if first < last:
                content[first - begin : last - begin] = some[first - one : last - one]

    def cut(self, end: int) -> None:
        """Remove all bytes from an offset on."""
        count = bisect_left(self._begins, end)
        del self._begins[count:], self._data[count:]
        if count:
            self._data[-1] = self._data[-1][: end - self._begins[-1]]

    def clear(self) -> None:
        """Remove all pieces."""
        self._begins, self._data = [], []


class RecoverableFile:
    """A file for HDF5 in which no write fails, and which keeps its old content until a flush succeeds.

    Bytes beyond the end of the file at the last flush are written to the disk immediately. Bytes that replace older
    ones are buffered in memory until the next flush, and so are bytes that do not fit on the disk. A failed flush
    restores the older bytes. A process that was forked from the one that opened the file writes nothing.

    Parameters
    ----------
    path : Path
        The file.
    new : bool
        Start with an empty file; it is removed if its first flush fails.

    Attributes
    ----------
    problem : OSError or None
        Error of the last flush, if it failed.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        self.problem: OSError | None = None
        self._path, self._process = path, os.getpid()
        self._descriptor = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_TRUNC if new else 0), 0o666)
        self._kept = self._end = os.fstat(self._descriptor).st_size
        self._place, self._is_cut, self._is_new, self._stays = 0, False, new, False
        self._pieces = _Pieces()

    def keep(self) -> None:
        """Stop writing: the file keeps the content of the last flush."""
        self._stays = True

    @property
    def _may_write(self) -> bool:
        return not self._stays and os.getpid() == self._process

    def seek(self, offset: int, origin: int = os.SEEK_SET) -> int:
        """Move to a position in the file and return it (bytes)."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._end}[origin]
        return self._place

    def tell(self) -> int:
        """Return the present position (bytes)."""
        return self._place

    def read(self, count: int) -> bytearray:
        """Return the next `count` bytes, zeros beyond the end of the file."""
        content, found = bytearray(count), 0
        with memoryview(content) as view:
            while found < count and (more := os.preadv(self._descriptor, [view[found:]], self._place + found)):
                found += more
        self._pieces.read_over(self._place, content)
        self._place += count
        return content

    def write(self, data: bytes) -> int:
        """Write bytes, to the disk or into memory; return their number."""
        begin = self._place
        self._place += len(data)
        self._fill_until(begin)
        self._end = max(self._end, self._place)
        if begin < self._kept or self._pieces.touches(begin, self._place) or not self._writes(begin, data):
            self._pieces.add(begin, data)
        return len(data)

    def _writes(self, begin: int, data: bytes) -> bool:
        """Write bytes to the disk; return whether all of them have been written."""
        if not self._may_write:
            return False
        try:
            write_at(self._descriptor, data, begin)
        except OSError:
            return False
        return True

    def truncate(self, end: int) -> int:
        """Set the end of the file, from the next flush on; return it (bytes)."""
        self._pieces.cut(end)
        self._fill_until(end)
        self._end, self._is_cut = end, True
        if self._may_write and os.fstat(self._descriptor).st_size > max(end, self._kept):
            os.ftruncate(self._descriptor, max(end, self._kept))
        return end

    def _fill_until(self, place: int) -> None:
        """Write zeros after the end, up to an offset, where the disk still has older bytes."""
        if self._end < min(place, self._kept):
            self._pieces.add(self._end, bytes(min(place, self._kept) - self._end))

    def flush(self) -> None:
        """Write all buffered bytes; if that fails, restore the old bytes and set `problem`."""
        if not self._may_write:
            return
        old: list[tuple[int, bytes]] = []
        try:
            for begin, data in self._pieces:
                before = max(min(begin + len(data), self._kept) - begin, 0)
                old.append((begin, os.pread(self._descriptor, before, begin)))
                write_at(self._descriptor, data, begin)
            if self._is_cut and os.fstat(self._descriptor).st_size != self._end:
                os.ftruncate(self._descriptor, self._end)
        except OSError as error:
            self.problem = error.with_traceback(None)
            self._put_back(old)
            return
        self._pieces.clear()
        self._kept, self._is_cut, self._is_new, self.problem = self._end, False, False, None

    def _put_back(self, old: list[tuple[int, bytes]]) -> None:
        with suppress(OSError):
            for begin, data in old:
                write_at(self._descriptor, data, begin)

    def close(self) -> None:
        """Close the file with the content of the last successful flush; remove a file without any.

        Raises
        ------
        OSError
            If the last flush has failed, or the file system reports a failure now.
        """
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if os.getpid() == self._process:
            with suppress(OSError):
                if os.fstat(descriptor).st_size > self._kept:
                    os.ftruncate(descriptor, self._kept)
            if self._is_new:
                self._path.unlink(missing_ok=True)
        os.close(descriptor)
        if self.problem is not None and not self._stays:
            raise self.problem

    def __del__(self) -> None:
        """Close the file of an `h5py.File` that was deleted without being closed."""
        with suppress(OSError, AttributeError):
            self.close()


_open_files: WeakSet[WritableHDF5] = WeakSet()


class WritableHDF5(h5py.File):  # type: ignore[misc]
    """An HDF5 file for writing: a flush or the end of a context writes all changes, or nothing.

    Parameters
    ----------
    path : Path
        The file.
    mode : str
        ``"w"`` for a new file, ``"r+"`` for an existing one.
    **options
        As for `h5py.File`.

    Raises
    ------
    OSError
        If it cannot be opened, or is not an HDF5 file.
    """

    def __init__(self, path: Path, mode: str, **options: Any) -> None:
        self._disk = RecoverableFile(path, new=mode == "w")
        try:
            super().__init__(self._disk, mode, **options)
        except BaseException:
            self._disk.close()
            raise
        _open_files.add(self)

    def flush(self) -> None:
        """Write all changes.

        Raises
        ------
        OSError
            If writing fails; the file keeps the content of the last flush, and all changes stay buffered.
        """
        super().flush()
        if self._disk.problem is not None:
            raise self._disk.problem

    def close(self) -> None:
        """Write all changes and close the file.

        Raises
        ------
        OSError
            If writing fails; the file is closed with the content of the last flush.
        """
        try:
            super().close()
        finally:
            _open_files.discard(self)
            self._disk.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; after an exception with the content of the last flush."""
        if kind is None:
            self.close()
            return
        self.abandon()

    def abandon(self) -> None:
        """Close the file with the content of the last flush."""
        self._disk.keep()
        with suppress(OSError, RuntimeError):
            self.close()


@atexit.register
def _close_all() -> None:
    """Close files that are still open: HDF5 would close them at exit, when Python can write no more."""
    for file in list(_open_files):
        with suppress(OSError, RuntimeError):
            file.close()
