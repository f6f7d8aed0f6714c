"""Files that several ranks write together: one makes the file and its rooms, each fills in its own rows.

Rows go to their place by plain positional writes, block by block on the threads of the rank, each block with its
check. What goes wrong on any rank is told to all before anybody goes on, so that all end alike.
"""

from __future__ import annotations

import os
import struct
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from pdem.foundation.machine import default_threads
from pdem.output.storage import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray

    from pdem.containers.global_order import Rows

BLOCK_ROWS = 1 << 15
"""Rows of a column that have one check; no block is divided between ranks."""

CHECK_BYTES = 12
_WORD_BYTES = 8


class Ranks(Protocol):
    """The ranks that write a file: part of `pdem.containers.exchange.Exchange`, all of it collective."""

    @property
    def rank(self) -> int:
        """Number of this rank."""
        ...

    @property
    def threads(self) -> int:
        """Threads of this rank."""
        ...

    @property
    def on_one_node(self) -> bool:
        """Whether all ranks are on this node."""
        ...

    def share(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        ...

    def first(self, value: Any) -> Any:
        """Return the value of the first rank that has one, on every rank; None if all gave None."""
        ...

    def collect(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | None:
        """Return the columns of all ranks, joined in the order of ranks, on rank 0; None elsewhere."""
        ...


class _Alone:
    """A process that writes alone."""

    rank = 0
    on_one_node = True

    @property
    def threads(self) -> int:
        """Threads that check and write."""
        return default_threads()

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def first(self, value: Any) -> Any:
        """Return the value."""
        return value

    def collect(self, columns: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]] | None:
        """Return the columns."""
        return columns


ALONE: Ranks = _Alone()
"""This process, which has no others beside it."""


@dataclass(frozen=True)
class Table:
    """Columns that all ranks hold together.

    Attributes
    ----------
    columns : mapping of ndarray
        This rank's rows; with the same names, types and shapes of a row on every rank.
    rows : Rows or None
        How they get into the order of the file; None: rank 0 has them all.
    """

    columns: Mapping[str, NDArray[Any]]
    rows: Rows | None = None

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a whole column."""
        own = self.columns[name].shape
        return own if self.rows is None else (self.rows.total, *own[1:])

    def take(self, name: str, rank: int) -> tuple[int, NDArray[Any]]:
        """Return the rows of a column that `rank`, the one who asks, is to write, and where they begin. Collective."""
        if self.rows is not None:
            return self.rows.begin, self.rows.take(self.columns[name])
        whole = self.columns[name]
        return 0, whole if rank == 0 else whole.reshape(-1)[:0]


def whole_tables(groups: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, Table]:
    """Return groups of columns that this process has all of as tables."""
    return {name: Table(columns) for name, columns in groups.items()}


def block_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return the bytes of a block of a column."""
    return BLOCK_ROWS * row_bytes(dtype, shape)


def row_bytes(dtype: np.dtype, shape: tuple[int, ...]) -> int:
    """Return the bytes of a row of a column; a number without rows is one."""
    return int(dtype.itemsize * np.prod(shape[1:], dtype=np.int64))


def bytes_of(column: NDArray[Any]) -> memoryview:
    """Return the bytes of a column, which are not copied if they are in one piece."""
    return np.ascontiguousarray(column).reshape(-1).view(np.uint8).data


def check_of(data: memoryview) -> bytes:
    """Return the check of a block: its CRC-32 and the sum of its words of 8 bytes.

    The one sees where bits are, the other has the length to tell apart as many states as there will ever be. A
    cryptographic digest takes four times as long as both, longer than a good disk takes to write the block.
    """
    words = np.frombuffer(data[: len(data) // _WORD_BYTES * _WORD_BYTES], "<u8")
    return struct.pack("<IQ", zlib.crc32(data), int(words.sum(dtype=np.uint64)))


def checks_of(column: NDArray[Any]) -> bytes:
    """Return the checks of all blocks of a column, one after the other."""
    data, step = bytes_of(column), block_bytes(column.dtype, column.shape)
    return b"".join(check_of(data[first : first + step]) for first in range(0, len(data), step or 1))


def write_at(descriptor: int, data: memoryview, offset: int) -> None:
    """Write all bytes at their place in a file."""
    while len(data):
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def read_at(descriptor: int, data: memoryview, offset: int) -> None:
    """Fill `data` with what is at its place in a file.

    Raises
    ------
    OSError
        If the file ends before.
    """
    while len(data):
        found = os.preadv(descriptor, [data], offset)
        if not found:
            raise OSError(f"file ends at byte {offset}")
        data, offset = data[found:], offset + found


def on_first(ranks: Ranks, work: Callable[[], Any]) -> Any:
    """Call `work` on rank 0 and return its result on all. Collective.

    Raises
    ------
    OSError
        On all ranks, if it failed as files do.
    """
    result, problem = None, None
    if ranks.rank == 0:
        try:
            result = work()
        except (OSError, RuntimeError) as error:
            problem = reason(error)
    result, problem = ranks.share((result, problem))
    if problem is not None:
        raise OSError(problem)
    return result


class PartWriter:
    """What one rank does to a file that is there already.

    After the first write that fails nothing is written; `finish` tells all ranks.

    Parameters
    ----------
    path : path
        The file; opened when there is something to write.
    ranks : Ranks
        Who writes.
    """

    def __init__(self, path: Path, ranks: Ranks) -> None:
        self._path, self._ranks = path, ranks
        self._descriptor = -1
        self._problem: str | None = None
        self._pool = ThreadPoolExecutor(ranks.threads)
        self._disk = ThreadPoolExecutor(1)
        self._on_the_way: list[Future[None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()
        self._disk.shutdown()
        with suppress(OSError):
            self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def put(self, offset: int, rows: NDArray[Any]) -> None:
        """Write rows, which begin at byte `offset` of the file."""
        self._each_block(rows, lambda piece, first: write_at(self._descriptor, piece, offset + first))

    def put_kept(self, offset: int, rows: NDArray[Any]) -> NDArray[np.uint8]:
        """Write rows and bring them to the disk in the meantime; return the checks of their blocks (k, 12)."""

        def put_block(piece: memoryview, first: int) -> bytes:
            write_at(self._descriptor, piece, offset + first)
            return check_of(piece)

        checks = self._each_block(rows, put_block)
        if checks:  # so that the disk has work while the next column is made
            self._on_the_way.append(self._disk.submit(os.fsync, self._descriptor))
        return np.frombuffer(b"".join(checks), np.uint8).reshape(-1, CHECK_BYTES)

    def _each_block(self, rows: NDArray[Any], work: Callable[[memoryview, int], Any]) -> list[Any]:
        """Call `work` with each block and its first byte; return what that gave, nothing after a failure."""
        data, step = bytes_of(rows), block_bytes(rows.dtype, rows.shape)
        if self._problem is not None or not len(data):
            return []
        try:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_WRONLY)
            if len(data) <= step:  # a thread would be woken for nothing
                return [work(data, 0)]
            firsts = range(0, len(data), step)
            return list(self._pool.map(lambda first: work(data[first : first + step], first), firsts))
        except OSError as error:
            self._problem = reason(error)
            return []

    def finish(self, *, keep: bool) -> None:
        """Return once all ranks have written, with `keep` once everything is on the disk. Collective.

        Raises
        ------
        OSError
            On all ranks, if any of them failed.
        """
        self._pool.shutdown()  # after a failure some may still write
        try:
            for flush in self._on_the_way:  # a disk tells of a failure once, and may have told these
                flush.result()
            if keep and self._descriptor >= 0:
                os.fsync(self._descriptor)
            self._close()
        except OSError as error:
            self._problem = self._problem or reason(error)
        problem = self._ranks.first(self._problem)
        if problem is not None:
            raise OSError(problem)
